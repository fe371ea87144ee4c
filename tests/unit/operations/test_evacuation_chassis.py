# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The chassis of a dead host: always reported, and a living one is never named for deletion."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import ApiAgent
from ansible_collections.stackguard.nova.plugins.module_utils.model.host_facts import Unread
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import OvnFacts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import network
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn import reading
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import Life
from ansible_collections.stackguard.nova.tests.unit.ovn_cloud import chassis

BOTH = {"ovn_nb_connection": "tcp:192.0.2.100:6641", "ovn_sb_connection": "tcp:192.0.2.100:6642"}
AGENT = ApiAgent("system-id", "OVN Controller agent", "ovn-controller", "compute1", False, None)
METADATA = dataclasses.replace(AGENT, id="metadata", agent_type="OVN Metadata agent")
FACTS = OvnFacts("now", ["compute1"], [], [], [], [], [])


@pytest.fixture
def life(tmp_path, monkeypatch):
    return Life(tmp_path, monkeypatch)


@pytest.fixture
def without_servers(life):
    """An evacuation that has ended: the next run finds no server."""
    life.run()
    return life


@pytest.fixture
def databases(monkeypatch):
    """Let OVN's databases hold these facts."""

    def hold(**changes):
        monkeypatch.setattr(reading, "read_ovn", lambda *_arguments: dataclasses.replace(FACTS, **changes))

    return hold


def refuse(*_arguments):
    raise ApiError("503: no answer")


def codes(report):
    return [(item["code"], item["severity"], item["object"]["id"]) for item in report["findings"]]


def test_an_agent_that_the_host_leaves_is_reported(life):
    life.agents = [AGENT, METADATA, ApiAgent("l2", "Open vSwitch agent", "agent", "compute1", False, None)]
    done = life.run()
    assert (done["failed"], done["state"], life.open()) == (False, "evacuated", None)
    assert codes(life.report()) == [("SG328", "warning", "system-id")], "one chassis, one finding"
    assert "openstack network agent delete system-id" in life.report()["findings"][0]["remedy"]
    assert life.report()["verdict"] == "warn"


def test_an_agent_for_metadata_alone_shows_a_chassis_too(life):
    life.agents = [METADATA]
    life.run()
    assert codes(life.report()) == [("SG328", "warning", "metadata")]


def test_a_host_without_servers_is_no_pass_while_its_chassis_is_left(without_servers):
    """The same command again, after the evacuation: nothing to evacuate is not nothing left."""
    without_servers.agents = [AGENT]
    done = without_servers.run()
    assert (done["failed"], done["state"]) == (False, "clear")
    assert codes(without_servers.report()) == [("SG328", "warning", "system-id")]
    assert without_servers.report()["verdict"] == "warn"


@pytest.mark.parametrize("state", ["evacuated", "clear"])
def test_agents_that_were_not_read_are_no_none(life, monkeypatch, state):
    if state == "clear":
        life.run()
    monkeypatch.setattr(network, "list_agents", refuse)
    assert life.run()["state"] == state
    assert [item["code"] for item in life.report()["unchecked"]] == ["SG328"]
    assert life.report()["verdict"] != "pass"


def test_one_that_is_alive_is_not_named_for_deletion(life):
    life.agents = [dataclasses.replace(AGENT, alive=True)]
    life.run()
    (item,) = life.report()["findings"]
    assert item["evidence"]["alive"] is True
    assert "Do not delete the chassis" in item["remedy"] and "agent delete" not in item["remedy"]


def test_a_chassis_of_which_neutron_shows_no_agent_may_be_alive(life, databases):
    row = chassis(1, "compute1")
    databases(chassis=[row, chassis(2, "compute2")])
    life.run(**BOTH)
    (item,) = life.report()["findings"]
    assert (item["object"]["id"], item["evidence"]["alive"]) == (row.name, None)
    assert "First verify" in item["remedy"] and "ovn_sb_connection" in item["remedy"]


def test_databases_without_the_chassis_do_not_hide_the_agent(life, databases):
    databases(chassis=[chassis(2, "compute2")])
    life.agents = [AGENT]
    life.run(**BOTH)
    (item,) = life.report()["findings"]
    assert item["evidence"] == {"agent": AGENT.agent_type, "alive": False, "in the southbound database": False}


def test_routers_that_were_not_read_are_not_said_to_have_another_gateway(life, databases):
    databases(chassis=[chassis(1, "compute1")], switch_ports=None, gateways=None, unread=[Unread("ovn", "no answer")])
    life.run(**BOTH)
    (item,) = life.report()["findings"]
    assert item["evidence"]["gateway of routers"] is None
    assert ["no answer" in entry["reason"] for entry in life.report()["unchecked"]] == [True]


def test_databases_that_were_not_read_are_no_none(life, databases):
    databases(chassis=None, port_bindings=None, unread=[Unread("ovn", "no answer")])
    life.run(**BOTH)
    assert [item["code"] for item in life.report()["unchecked"]] == ["SG328"]


def test_no_agent_and_no_database_is_no_proof_where_other_hosts_have_ovn(life, monkeypatch):
    """Neutron hides agents from users that are no administrators, and forgets those of a chassis that is deleted."""
    ids = {"system-id": "two", "ovn-remote": "tcp:192.0.2.100:6642"}
    monkeypatch.setattr(life, "change", lambda some: some.at(2, ovs_external_ids=ids))
    done = life.run()
    assert (done["failed"], done["state"]) == (False, "evacuated")
    (entry,) = [item for item in life.report()["unchecked"] if item["code"] == "SG328"]
    assert "compute2" in entry["reason"] and "ovn_nb_connection" in entry["reason"]


def test_a_cloud_without_ovn_has_nothing_to_say_of_a_chassis(life):
    life.run()
    assert [item for item in life.report()["unchecked"] if item["code"] == "SG328"] == []
