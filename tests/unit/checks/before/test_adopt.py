# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An adoption takes the rows of a machine: whose they are must be proven by more than a file and names."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override, blocking_findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import RenameRequest
from ansible_collections.stackguard.nova.plugins.module_utils.rename.adopt import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.rename.adopt import preflight as adopt
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.clones import absent, clone, silent

PASSED = [Override("SG131", "compute2", "the machine got another address when it was renamed")]


def request(direction="forward"):
    return RenameRequest("compute2", "compute1", "compute2", "op1", adopt=direction, has_neutron_db=True)


def refusals(cloud, overrides=(), direction="forward"):
    checked, adoption = adopt.preflight(cloud.bundle, request(direction))
    refused = {item.code for item in blocking_findings(checked.findings, list(overrides))}
    if not refused:
        assert plans.plan(adoption).steps
    return refused


def at_the_address(cloud, **changes):
    return cloud.host("compute2", addresses=[builders.address(2), builders.address(1)], **changes)


@pytest.mark.parametrize("direction", ["forward", "back"])
@pytest.mark.parametrize("seen", [absent, builders.Cloud.unreachable])
def test_a_clone_of_a_host_that_was_switched_off_is_refused(seen, direction):
    cloud = seen(silent(clone())).resolve("compute1", builders.address(2))
    assert refusals(cloud, direction=direction) == {"SG131"}
    assert refusals(cloud, PASSED, direction) == set()
    assert refusals(cloud, [dataclasses.replace(PASSED[0], object="compute1")], direction) == {"SG131"}


def test_its_address_is_proof_if_nobody_else_can_be_the_owner():
    assert refusals(at_the_address(absent(silent(clone())))) == set()
    assert refusals(at_the_address(silent(clone()).unreachable("compute1"))) == {"SG131"}
    assert refusals(at_the_address(absent(silent(clone())).unreachable("compute3"))) == set()


def test_an_address_that_another_host_has_is_no_proof():
    cloud = at_the_address(absent(silent(clone())))
    assert "SG131" in refusals(cloud.host("compute3", addresses=[builders.address(1)]))


@pytest.mark.parametrize("state", ["running", "shutoff"])
def test_guests_of_the_node_are_proof_where_they_run(state):
    domains = [dataclasses.replace(builders.domain(1, number), state=state) for number in (1, 2)]
    cloud = absent(clone()).change("api_services", {"host": "compute1"}, state="down").host("compute2", domains=domains)
    assert ("SG131" in refusals(cloud)) == (state != "running")


def test_the_living_original_is_refused_whatever_is_overridden():
    assert refusals(clone(), PASSED) & {"SG107", "SG109", "SG310"}
    assert refusals(at_the_address(clone()), PASSED) & {"SG107", "SG109", "SG310"}


def test_a_service_that_reports_itself_is_told_once():
    cloud = at_the_address(absent(silent(clone())))
    cloud = cloud.change("api_services", {"host": "compute1"}, state="up")
    deployment = dataclasses.replace(cloud.bundle.hosts["compute2"].deployment, processes=[])
    units = [dataclasses.replace(row, active_state="failed") for row in cloud.bundle.hosts["compute2"].units]
    assert refusals(cloud.host("compute2", deployment=deployment, units=units)) == {"SG107"}


def test_what_was_not_read_of_the_machine_is_no_proof():
    assert refusals(absent(silent(clone())).host("compute2", addresses=None)) >= {"SG131", "SG709"}
    cloud = at_the_address(absent(silent(clone())))
    assert refusals(cloud.change("compute_nodes", {"host": "compute1"}, host_ip=None)) == {"SG131"}
