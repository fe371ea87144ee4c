# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate that keeps words out of texts that operators would have to read twice."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def gate():
    spec = importlib.util.spec_from_file_location("words", ROOT / "tests" / "gates" / "words.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("plugins/one.py", "REMEDY = 'Mend the link'", True),
        ("plugins/one.py", "REMEDY = f'{name} bears it'", True),
        ("plugins/one.py", "REMEDY = 'Repair the link'", False),
        ("plugins/one.py", 'def told():\n    """Nobody reads this but us."""\n    return {\'told\': 1}', False),
        ("plugins/one.py", "# nobody reads a comment", False),
        ("roles/one/tasks/main.yml", "- name: Tell it, and stop", True),
        ("roles/one/tasks/main.yml", "# tell", False),
        ("roles/one/README.md", "It carries on in green", True),
        ("playbooks/awx/one.yml", "description: Launched again, it resumes", False),
        ("docs/guides/one.md", "It registers anew", True),
        ("CONTRIBUTING.md", "anew", False),
    ],
)
def test_a_word_that_is_read_twice_is_refused_where_users_meet_it(gate, tmp_path, path, text, found):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text)
    assert bool(list(gate.problems(tmp_path))) is found


def test_the_collection_keeps_to_it(gate):
    assert list(gate.problems()) == []
