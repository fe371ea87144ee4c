# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate that keeps proof from being made anywhere but where something was read back."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def gate():
    spec = importlib.util.spec_from_file_location("consistency", ROOT / "tests" / "gates" / "consistency.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("FenceProof('power', 'a', 'b', 'c', 'd', 'e')", True),
        ("fence_proof.FenceProof(**stored)", True),
        ("facts.from_plain(FenceProof, stored)", True),
        ("isinstance(fence, fence_proof.FenceProof)", False),
        ("fence_proof.prove('power', target, answers, at)", False),
        ("Reading('said to be off', 'localhost')", True),
        ("dataclasses.replace(fence.Reading, read='off')", True),
    ],
)
def test_a_proof_is_made_by_its_makers_only(gate, tmp_path, monkeypatch, line, refused):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "one.py").write_text(line)
    monkeypatch.setattr(gate, "ROOT", tmp_path)
    assert bool(list(gate.proofs(tmp_path / "plugins"))) is refused


def test_the_collection_keeps_to_it(gate):
    assert list(gate.proofs()) == []


# --- the house ------------------------------------------------------------------------------------------------

_OURS = "ansible_collections.stackguard.nova.plugins.module_utils"


@pytest.mark.parametrize(
    ("path", "line", "refused"),
    [
        ("rename/in_place/preflight.py", "from ...systems.api import http", "may use it"),
        ("rename/in_place/preflight.py", f"from {_OURS}.systems.api import http", "may use it"),
        ("rename/in_place/preflight.py", "import sqlalchemy as sa", "pure"),
        ("rename/in_place/preflight.py", "from ...hazards import zones", None),
        ("rename/in_place/plan.py", "from . import preflight", None),
        ("rename/in_place/plan.py", "from ...engine import lifecycle", "may use it"),
        ("rename/in_place/steps.py", "from ...engine import lifecycle", None),
        ("rename/in_place/steps.py", "from ...moves import mover", "another wing"),
        ("rename/drain/steps.py", "from ...moves import mover", None),
        ("evacuation/operation.py", "from ..moves import mover", None),
        ("moves/operation.py", "from ..evacuation import plan", "another wing"),
        ("hazards/zones.py", "from ..rename.in_place import preflight", "does not stand on"),
        ("hazards/zones.py", "from ..systems.api import http", "does not stand on"),
        ("systems/api/http.py", "from ...hazards import zones", "does not stand on"),
        ("systems/api/http.py", "from ..db import engine", None),
        ("systems/db/engine.py", "from ..api import http", "another system (api)"),
        ("systems/api/http.py", "from ...model.errors import StackguardError", None),
        ("model/facts.py", "from ..records import journal", "does not stand on"),
        ("engine/lifecycle.py", "from ..zones.resize import operation", "does not stand on"),
        ("zones/resize/operation.py", "from ...helpers import lines", "no floor and no wing"),
        ("helpers/lines.py", "", "no floor and no wing"),
        ("lines.py", "", "no floor and no wing"),
    ],
)
def test_every_file_is_on_a_floor_or_in_a_wing_and_imports_what_that_may(gate, tmp_path, path, line, refused):
    utils = tmp_path / "plugins" / "module_utils"
    there = ("systems/api/http", "systems/db/engine", "rename/in_place/preflight", "hazards/zones", "model/errors")
    more = ("engine/lifecycle", "moves/mover", "evacuation/plan", "zones/resize/operation", "records/journal")
    for name in (*there, *more, path.removesuffix(".py")):
        (utils / name).parent.mkdir(parents=True, exist_ok=True)
        (utils / f"{name}.py").write_text("")
    (utils / path).write_text(line)
    found = list(gate.house(tmp_path))
    assert [refused in problem for problem in found] == [True] if refused else found == []


def test_the_collection_keeps_to_its_house(gate):
    assert list(gate.house()) == []
    assert list(gate.relative_imports()) == []


def test_an_absolute_import_of_ours_is_refused(gate, tmp_path):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "one.py").write_text(f"from {_OURS}.model import facts")
    assert len(list(gate.relative_imports(tmp_path))) == 1


def test_a_program_in_a_string_imports_what_is_there(gate, tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "ROOT", tmp_path)
    for name in ("tests", "lab", "plugins/module_utils/model"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "plugins" / "module_utils" / "model" / "facts.py").write_text("")
    program = tmp_path / "tests" / "one.py"
    program.write_text(f'CODE = """\nfrom {_OURS}.model import facts\nfrom {_OURS}.model.facts import Bundle\n"""')
    assert list(gate.imports(tmp_path)) == []
    program.write_text(f'CODE = "from {_OURS}.systems import host"')
    assert ["systems.host" in problem for problem in gate.imports(tmp_path)] == [True]
