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
        ("fence_proof.power_proof('a', 'b', states, off, at, source)", False),
    ],
)
def test_a_proof_is_made_by_its_makers_only(gate, tmp_path, monkeypatch, line, refused):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "one.py").write_text(line)
    monkeypatch.setattr(gate, "ROOT", tmp_path)
    assert bool(list(gate.proofs(tmp_path / "plugins"))) is refused


def test_the_collection_keeps_to_it(gate):
    assert list(gate.proofs()) == []
