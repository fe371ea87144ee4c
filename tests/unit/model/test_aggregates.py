# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which hosts a flavor's aggregates allow: the operators of extra specs, and which rules bind or only order."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.aggregates import Rules, satisfies

HOSTS = ("compute1", "compute2", "compute3")
SERVER = facts.ApiServer("a", "a", "project", "ACTIVE", "compute1", "compute1", None, "active", 1, "az1")


def aggregate(number, hosts, **metadata):
    return facts.ApiAggregate(number, str(number), f"aggregate{number}", None, list(hosts), metadata)


def server(specs=None, **changes):
    flavor = facts.ServerFlavor(1, 1024, 10, 0, 0, "m1", specs or {})
    return dataclasses.replace(SERVER, flavor=flavor, **changes)


@pytest.mark.parametrize(
    ("value", "wanted", "answer"),
    [
        ("ssd", "ssd", True),
        ("hdd", "ssd", False),
        ("hdd", "<or> ssd <or> hdd", True),
        ("tape", "<or> ssd <or> hdd", False),
        ("<or>", "<or> ssd <or> hdd", False),
        ("8", "= 4", True),
        ("2", "= 4", False),
        ("4.0", "== 4", True),
        ("5", "!= 4", True),
        ("4", ">= 4", True),
        ("5", "<= 4", False),
        ("many", ">= 4", False),
        ("b", "s> a", True),
        ("a", "s== a", True),
        ("a", "s!= a", False),
        ("gpu-a100", "<in> a100", True),
        ("aes avx sse", "<all-in> aes avx", True),
        ("aes", "<all-in> aes avx", False),
        ("4", ">=", False),
        ("", "", True),
    ],
)
def test_the_operators_of_extra_specs(value, wanted, answer):
    assert satisfies(value, wanted) is answer


def test_a_flavor_that_names_its_aggregate_goes_to_no_other_host():
    rules = Rules([aggregate(1, ["compute1", "compute3"], gpu="true, a100"), aggregate(2, ["compute2"], ssd="true")])
    barred, avoided = rules.against(server({"aggregate_instance_extra_specs:gpu": "true"}), HOSTS)
    assert list(barred) == ["compute2"]
    assert "gpu true" in barred["compute2"]
    assert avoided == {}


def test_a_demand_that_its_own_host_does_not_meet_is_not_enforced_and_only_orders():
    rules = Rules([aggregate(1, ["compute3"], gpu="true")])
    barred, avoided = rules.against(server({"aggregate_instance_extra_specs:gpu": "true"}), HOSTS)
    assert barred == {}
    assert sorted(avoided) == ["compute1", "compute2"]


def test_hosts_reserved_for_other_projects_come_last():
    rules = Rules(
        [aggregate(1, ["compute2"], filter_tenant_id="other"), aggregate(2, ["compute3"], filter_tenant_id2="project")]
    )
    barred, avoided = rules.against(server(), HOSTS)
    assert (barred, list(avoided)) == ({}, ["compute2"])


def test_hosts_for_other_images_and_for_servers_that_need_a_trait_come_last():
    metadata = {"trait:CUSTOM_LICENSED": "required"}
    rules = Rules([aggregate(1, ["compute2"], os_distro="windows"), aggregate(2, ["compute3"], **metadata)])
    _barred, avoided = rules.against(server(), HOSTS, {"os_distro": "debian"})
    assert sorted(avoided) == ["compute2", "compute3"]
    needs = server({"trait:CUSTOM_LICENSED": "required"})
    assert rules.against(needs, HOSTS, {"os_distro": "windows"}) == ({}, {})


def test_without_aggregates_nothing_is_said_against_a_host():
    assert Rules(None).against(server({"aggregate_instance_extra_specs:gpu": "true"}), HOSTS)[0] == {}
    assert Rules([]).against(server(), HOSTS) == ({}, {})
