# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operator types as PREFIX_expect_plan reaches the module, and what stands for a plan reaches the workflow."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

#: Role to prefix, module, and how its value gets to the task.
ROLES = {
    "rename_host": ("rename", "compute_host_rename"),
    "evacuate_host": ("evacuate", "server_evacuate"),
    "return_host": ("return", "compute_host_return"),
    "migrate_server": ("migrate", "server_migrate"),
    "repair_links": ("repair", "compute_link"),
    "resize_server": ("resize", "server_resize"),
    "unshelve_server": ("unshelve", "server_unshelve"),
    "remove_host": ("remove", "compute_host_remove"),
    "maintain_hosts": ("maintain", "compute_host_maintain"),
    "pin_servers": ("pin", "server_zone_pin"),
}
PUBLISHED_BY_THE_MODULE = {"evacuate_host"}
#: Roles that change nothing.
OTHERS = {"audit", "common", "doctor", "explain"}


def tasks(node):
    if isinstance(node, dict):
        yield node
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from tasks(item)


def of_role(role):
    for path in sorted((ROOT / "roles" / role / "tasks").glob("*.yml")):
        yield from tasks(yaml.safe_load(path.read_text()))


def specs(role):
    text = (ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text()
    return yaml.safe_load(text)["argument_specs"]["main"]["options"]


def test_every_role_that_changes_something_takes_an_approved_plan():
    roles = {path.name for path in (ROOT / "roles").iterdir()} - OTHERS
    assert roles == {*ROLES, "drain_host", "enable_host"}
    for role in roles:
        (name,) = [name for name in specs(role) if name.endswith("_expect_plan")]
        defaults = yaml.safe_load((ROOT / "roles" / role / "defaults" / "main.yml").read_text())
        assert name in defaults
        assert f"`{name}`" in (ROOT / "docs" / "reference" / "variables" / f"{role}.md").read_text()


@pytest.mark.parametrize("role", ROLES)
def test_the_value_reaches_the_module_and_its_plan_the_report_directory(role):
    prefix, module = ROLES[role]
    given = [task[f"stackguard.nova.{module}"] for task in of_role(role) if f"stackguard.nova.{module}" in task]
    # What only asks whether the operation is still this run's plans nothing.
    given = [args for args in given if args.get("phase") != "hold"]
    planning = [args for args in given if args.get("phase", "begin") != "end" and "expect_plan" in args]
    assert planning, "no task gives it"
    for args in planning:
        assert "stackguard_report_path" in args["report_dir"]
        value = args["expect_plan"]
        assert f"{prefix}_expect_plan" in value or f"stackguard_{prefix}_given.expect_plan" in value
    assert len(planning) == len(given), "a task of the module does not give it"


def test_a_drain_hands_its_own_in():
    for task in of_role("drain_host"):
        if "stackguard_migrate_given" in task.get("vars", {}):
            assert task["vars"]["stackguard_migrate_given"]["expect_plan"] == "{{ drain_expect_plan }}"
    defaults = yaml.safe_load((ROOT / "roles" / "drain_host" / "defaults" / "main.yml").read_text())
    assert defaults["drain_expect_plan"] == "{{ migrate_expect_plan | default('') }}"
    given = yaml.safe_load((ROOT / "roles" / "migrate_server" / "vars" / "main.yml").read_text())
    assert given["stackguard_migrate_given"]["expect_plan"] == "{{ migrate_expect_plan }}"


def published(role):
    """What a role hands to the task that publishes its outcome, each time."""
    outcome = "stackguard.nova.operation_outcome"
    found = [task[outcome] for task in of_role(role) if outcome in task]
    return [args for args in found if args["phase"] == "publish"]


@pytest.mark.parametrize("role", sorted(set(ROLES) - PUBLISHED_BY_THE_MODULE))
def test_the_workflow_gets_what_stands_for_the_plan_and_where_it_is(role):
    """With the module's result and the report directory, operation_outcome publishes both."""
    found = published(role)
    assert found
    for args in found:
        assert "_result" in args["result"] or "_step" in args["result"] or "_outcome" in args["result"]
        assert "stackguard_report_path" in args["report_dir"]


def test_every_run_ends_by_the_same_task():
    """No role publishes, or shows a summary, by itself."""
    for path in sorted((ROOT / "roles").iterdir()):
        assert not [task for task in of_role(path.name) if "ansible.builtin.set_stats" in task], path.name
    ends = {path.name for path in (ROOT / "roles").iterdir() if published(path.name)}
    assert ends >= {*ROLES, "audit", "doctor", "explain"}
