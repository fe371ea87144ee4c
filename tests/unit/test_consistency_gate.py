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


# --- rooms ----------------------------------------------------------------------------------------------------

_OURS = "ansible_collections.stackguard.nova.plugins.module_utils"


@pytest.mark.parametrize(
    ("path", "line", "refused"),
    [
        ("rename/in_place/preflight.py", f"from {_OURS}.systems.api import http", "which is above checks"),
        ("rename/in_place/preflight.py", "import sqlalchemy as sa", "are pure"),
        ("hazards/zones.py", f"from {_OURS}.checks.before.rename import preflight", "above checks/hazards"),
        ("rename/in_place/preflight.py", f"from {_OURS}.checks.hazards import zones", None),
        ("rename/in_place/plan.py", f"from {_OURS}.checks.before import rename", None),
        ("systems/api/http.py", f"from {_OURS}.checks.before import rename", "judge nothing"),
        ("systems/api/http.py", f"from {_OURS}.systems.db import engine", None),
        ("systems/db/engine.py", f"from {_OURS}.systems.api import http", "another system (api)"),
        ("systems/api/http.py", f"from {_OURS}.model.errors import StackguardError", None),
        ("rename/in_place/steps.py", f"from {_OURS}.operations import lifecycle", "above steps"),
        ("zones/resize/operation.py", f"from {_OURS}.operations import evacuate", "another operation"),
        ("zones/resize/operation.py", f"from {_OURS}.operations import lifecycle", None),
        # Nobody has to enter a new operation anywhere.
        ("operations/disable_host.py", f"from {_OURS}.operations import evacuate", "another operation"),
        ("evacuation/round.py", f"from {_OURS}.operations import evacuate", None),
        ("engine/run_owner.py", f"from {_OURS}.operations import evacuate", "shared by all"),
        ("zones/resize/operation.py", f"from {_OURS}.helpers import lines", "belongs to no room"),
        ("helpers/lines.py", "", "belongs to no room"),
        ("lines.py", "", "belongs to no room"),
        ("systems/radio/reads.py", "", "belongs to none of systems's own"),
    ],
)
def test_every_file_is_in_a_room_and_no_arrow_points_upwards(gate, tmp_path, path, line, refused):
    utils = tmp_path / "plugins" / "module_utils"
    there = ("systems/api/http", "systems/db/engine", "checks/before/rename", "checks/hazards/zones", "model/errors")
    for name in (*there, "operations/lifecycle", "operations/evacuate", path.removesuffix(".py")):
        (utils / name).parent.mkdir(parents=True, exist_ok=True)
        (utils / f"{name}.py").write_text("")
    (utils / path).write_text(line)
    found = list(gate.rooms(tmp_path))
    assert [refused in problem for problem in found] == [True] if refused else found == []


def test_the_collection_keeps_to_its_rooms(gate):
    assert list(gate.rooms()) == []
    names = {path.stem for path in (ROOT / gate.UTILS / "operations").glob("*.py")}
    assert set(gate.SHARED) <= names


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
