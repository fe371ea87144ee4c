# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every variable that a message, a remedy, a code's page or a guide names is one that a role takes.

An operator types what he has read there. What begins like our variables and is none is listed here, with what it is.
"""

from __future__ import annotations

import ast
import functools
import re

import pytest
import yaml

from ansible_collections.stackguard.nova.plugins.module_utils.engine import lifecycle
from ansible_collections.stackguard.nova.plugins.plugin_utils import run_input
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

#: What begins like a variable and is something else.
NO_VARIABLES = {
    # A step, and rights of a rename.
    "return_guests": "a step of a rename by drain",
    "rename_agents": "a statement on neutron's database",
    "rename_rights": "what a rename may do in a database",
    # Options of the module compute_host_rename, which the role fills from rename_drain_*.
    "drain_return": "an option of a module",
    "drain_parallel": "an option of a module",
    "drain_timeout": "an option of a module",
    "enable_after": "an option of a module",
    "enable_distributed_routing": "an option of neutron",
    # How a server is pinned, and what pins it.
    "pin_api": "a value of resize_strategy",
    "pin_db": "a value of resize_strategy",
    # Nova's own words.
    "resize_prep": "a task_state",
    "resize_migrating": "a task_state",
    "resize_instance": "a method of nova-compute",
    "unshelve_instance": "the same",
    "remove_fixed_ip_from_instance": "the same",
    "remove_volume_connection": "the same",
    "stackguard_playbook": "what a playbook gives its first task",
    # What a connection is marked with.
    "stackguard_bounds": "a key of a connection's info",
    "stackguard_cluster": "the same",
    # Metrics.
    "stackguard_audit_": "what the names of metrics begin with",
    "stackguard_audit": "the same",
}
#: Variables that tasks set for themselves, by the role. Messages of plugins name none.
OWN = re.compile("|".join(run_input.internal()))
#: The page of old names is made of names that exist no more, docs/sphinx of Sphinx' words.
OTHER_PAGES = {ROOT / "docs" / "reference" / "upgrading.md", *(ROOT / "docs" / "sphinx").glob("*.md")}
DOCUMENTS = sorted({ROOT / "README.md", *(ROOT / "docs").glob("*/**/*.md")} - OTHER_PAGES)
SOURCES = sorted({*(ROOT / "plugins").rglob("*.py")} - {ROOT / "plugins/module_utils/model/old_variables.py"})
TASKS = sorted([*(ROOT / "roles").glob("*/tasks/*.yml"), *(ROOT / "playbooks").glob("*.yml")])


@functools.cache
def valid():
    specs = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "roles").glob("*/meta/argument_specs.yml"))]
    return {name for spec in specs for entry in spec["argument_specs"].values() for name in entry.get("options") or {}}


@functools.cache
def roles_and_modules():
    """Names of playbooks, roles and plugins, which messages name as well."""
    found = {path.name for path in (ROOT / "roles").iterdir()}
    plugins = [path for folder in ("modules", "filter", "lookup") for path in (ROOT / "plugins" / folder).glob("*.py")]
    return found | {path.stem for path in plugins}


@functools.cache
def steps():
    """Names of steps and of what carries them out: the first word of a role begins some of them, too."""
    found = set()
    for path in sorted((ROOT / "plugins" / "module_utils").rglob("*plan.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Step":
                found |= {text.value for text in (node.args[0], node.args[3]) if isinstance(text, ast.Constant)}
    return found


@functools.cache
def pattern():
    prefixes = {"stackguard", *(path.name.partition("_")[0] for path in (ROOT / "roles").iterdir())}
    words = "|".join(sorted(prefixes))
    # Not a part of a longer word, of a path or of Python's dotted names, and no call.
    return re.compile(rf"(?<![\w./-])((?:{words})_[a-z0-9_]+)(?![\w/(-]|\.\w)")


def named(text):
    return set(pattern().findall(text))


def strings(path):
    """All strings of a module but the docstrings of its code, which no operator sees."""
    tree = ast.parse(path.read_text())
    hidden = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
            yield node.value


def unknown(names):
    return names - valid() - roles_and_modules() - steps() - set(NO_VARIABLES)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_variable_that_a_message_names_exists(path):
    assert not {name for text in strings(path) for name in unknown(named(text))}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_variable_that_a_page_names_exists(path):
    assert not {name for name in unknown(named(path.read_text())) if not OWN.match(name)}


@pytest.mark.parametrize("path", TASKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_variable_that_a_task_reads_or_names_exists(path):
    of_all_roles = {"stackguard_clouds_files", "stackguard_report_path", "stackguard_state_connection"}
    assert not {name for name in unknown(named(path.read_text())) - of_all_roles if not OWN.match(name)}


#: Files whose `run.variable("action")` a drain or a migration says, too.
OF_MOVES = ("lifecycle.py", "move_servers.py")


def endings(path):
    """What a message puts after the prefix of the playbook that runs: `option("partial")`, of drains and migrations."""
    calls = ("option", "_option", *(("variable",) if path.name in OF_MOVES else ()))
    for node in ast.walk(ast.parse(path.read_text())):
        called = node.func if isinstance(node, ast.Call) else None
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if name in calls and isinstance(node.args[-1], ast.Constant):
            yield node.args[-1].value


def test_a_variable_whose_beginning_a_message_fills_in_exists_for_drains_and_migrations():
    found = {ending for path in SOURCES for ending in endings(path)}
    assert {"action", "partial", "live"} <= found, "nothing is looked at"
    own = found - set(lifecycle.SHARED)
    assert {f"{role}_{ending}" for ending in own for role in ("drain", "migrate")} <= valid()
    assert set(lifecycle.SHARED.values()) <= valid()


def test_no_step_is_called_as_a_variable_is():
    assert "unlock_guests" in steps(), "nothing is looked at"
    assert not steps() & valid()


def test_what_is_listed_as_no_variable_is_still_somewhere_and_is_none():
    everywhere = {name for path in SOURCES for text in strings(path) for name in named(text)}
    everywhere |= {name for path in DOCUMENTS for name in named(path.read_text())}
    assert set(NO_VARIABLES) <= everywhere
    assert not set(NO_VARIABLES) & valid()


@pytest.mark.parametrize("name", ["rename_stratgy", "evacuate_max_parralel", "drain_paralel", "stackguard_reports_dir"])
def test_a_name_that_is_wrong_by_a_letter_is_found(name):
    assert unknown(named(f"Set {name}=1, then run it again.")) == {name}
    assert unknown(named(f"see `{name}`: it decides.")) == {name}
