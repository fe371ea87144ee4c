# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What `make check` runs: the tests of the pure rooms, none that starts a process."""

from __future__ import annotations

import ast
import importlib.util
import re

from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT


def rooms():
    (named,) = re.findall(
        r"^CHECKED := \$\(addprefix tests/unit/,(.*)\)$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    return named.split()


def names(function):
    """Every name that a function uses."""
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}


def test_it_runs_the_pure_rooms():
    spec = importlib.util.spec_from_file_location("consistency", ROOT / "tests" / "gates" / "consistency.py")
    consistency = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(consistency)
    assert sorted(rooms()) == sorted(consistency.PURE)


def test_what_starts_a_process_is_marked():
    unmarked = []
    for room in rooms():
        for path in sorted((ROOT / "tests" / "unit" / room).rglob("test_*.py")):
            tree = ast.parse(path.read_text())
            if any(isinstance(node, ast.Assign) and "mark.ansible" in ast.unparse(node) for node in tree.body):
                continue
            own = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
            starting, before = {"subprocess"}, set()
            while starting != before:
                before = set(starting)
                starting |= {node.name for node in own if names(node) & starting}
            for node in own:
                marks = [ast.unparse(mark) for mark in node.decorator_list]
                asked = {argument.arg for argument in node.args.args} if isinstance(node, ast.FunctionDef) else set()
                if (
                    node.name.startswith("test_")
                    and (asked | names(node)) & starting
                    and "pytest.mark.ansible" not in marks
                ):
                    unmarked.append(f"{path.name}: {node.name}")
    assert unmarked == []
