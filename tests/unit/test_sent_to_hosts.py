# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is sent to compute hosts: as little as can be, and no library that is not there."""

from __future__ import annotations

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "ansible_collections.stackguard.nova.plugins."
#: What is sent to compute hosts.
SENT = ("compute_host_info", "compute_host_step", "compute_id_file", "domain_definition", "rbd_blocklist", "rbd_guard")


def closure(path, seen):
    """Every file of the collection that a file imports."""
    if path in seen:
        return seen
    seen.add(path)
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(PACKAGE):
            continue
        for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
            file = ROOT / "plugins" / pathlib.Path(*name[len(PACKAGE) :].split(".")).with_suffix(".py")
            if file.exists():
                closure(file, seen)
    return seen


@pytest.mark.parametrize("name", SENT)
def test_no_compute_host_needs_netaddr(name):
    sent = closure(ROOT / "plugins" / "modules" / f"{name}.py", set())
    assert len(sent) > 3
    assert not [path for path in sent if "import netaddr" in path.read_text()]


@pytest.mark.parametrize("name", SENT)
def test_no_compute_host_gets_the_facts_of_databases_and_apis(name):
    sent = closure(ROOT / "plugins" / "modules" / f"{name}.py", set())
    assert ROOT / "plugins" / "module_utils" / "model" / "facts.py" not in sent
