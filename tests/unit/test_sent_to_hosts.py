# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is sent to compute hosts: as little as can be, and no library that is not there."""

from __future__ import annotations

import ast
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "ansible_collections.stackguard.nova.plugins."
#: What is sent to compute hosts.
SENT = ("compute_host_info", "compute_host_step", "compute_id_file", "rbd_blocklist", "rbd_guard")


def closure(path, seen):
    """Every file of the collection that a file imports."""
    if path in seen:
        return seen
    seen.add(path)
    package = [*PACKAGE.rstrip(".").split("."), *path.relative_to(ROOT / "plugins").parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = package[: len(package) - node.level + 1] if node.level else []
        module = ".".join([*base, *filter(None, [node.module])])
        if not f"{module}.".startswith(PACKAGE):
            continue
        for name in (module, *(f"{module}.{alias.name}" for alias in node.names)):
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
    assert len(sent) > 3
    assert ROOT / "plugins" / "module_utils" / "model" / "facts.py" not in sent


#: What reading a host neither compiles nor executes, though some of it is sent: other operations of the module need it.
LATER = ("systems.ceph.rbd", "systems.host.line_edits", "systems.host.name_users", "records.journal")
IMPORTED = """
import sys
import ansible.module_utils.basic
from ansible_collections.stackguard.nova.plugins.modules import compute_host_info
print(*sorted(name for name in sys.modules if name.startswith("ansible_collections.stackguard.nova.plugins.")))
"""


def test_a_host_that_is_read_imports_only_what_reads_it():
    """A module comes without bytecode: whatever it imports is compiled on each host, in each run."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / ".build" / "dev")}
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True, env=env)
    imported = {name[len(PACKAGE) :] for name in done.stdout.split()}
    assert "modules.compute_host_info" in imported
    assert not [name for name in LATER if f"module_utils.{name}" in imported]
    files = [ROOT / "plugins" / pathlib.Path(*name.split(".")).with_suffix(".py") for name in imported]
    # 273 kB with what a start of nova-compute may refuse by: a new file should be worth its time on every host.
    assert sum(file.stat().st_size for file in files if file.exists()) < 283_000


def test_what_is_sent_to_be_read_has_a_bound():
    sent = closure(ROOT / "plugins" / "modules" / "compute_host_info.py", set())
    assert ROOT / "plugins" / "module_utils" / "records" / "journal.py" not in sent
    assert sum(file.stat().st_size for file in sent) < 356_000
