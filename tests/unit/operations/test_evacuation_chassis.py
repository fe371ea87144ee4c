# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The chassis of a dead host: always reported, removed only as planned and after the fence was read again."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import ApiAgent
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Checked
from ansible_collections.stackguard.nova.plugins.module_utils.operations import evacuation_chassis
from ansible_collections.stackguard.nova.plugins.module_utils.operations.lifecycle import Stopped
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import network
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import Life

REMOVE = {
    "remove_chassis": True,
    "ovn_nb_connection": "tcp:192.0.2.100:6641",
    "ovn_sb_connection": "tcp:192.0.2.100:6642",
}
AGENT = ApiAgent("system-id", "OVN Controller agent", "ovn-controller", "compute1", False, True, None)


@pytest.fixture
def life(tmp_path, monkeypatch):
    return Life(tmp_path, monkeypatch)


@pytest.fixture
def removals(monkeypatch):
    """What is done to OVN: a list of hosts; put a reason into ``reasons`` and it is kept."""
    done, reasons = [], []

    def remove(_connection, _options, host):
        done.append(host)
        if reasons:
            raise Stopped(reasons[0])
        return "chassis system-id removed"

    monkeypatch.setattr(evacuation_chassis, "remove", remove)
    monkeypatch.setattr(evacuation_chassis, "look", lambda *_arguments: Checked())
    return done, reasons


def codes(report):
    return [(item["code"], item["severity"], item["object"]["id"]) for item in report["findings"]]


def test_an_agent_that_the_host_leaves_is_reported_and_nothing_is_removed(life):
    life.agents = [AGENT, ApiAgent("l2", "Open vSwitch agent", "agent", "compute1", False, True, None)]
    done = life.run()
    assert (done["failed"], life.open()) == (False, None)
    assert codes(life.report()) == [("SG328", "warning", "system-id")]
    assert "openstack network agent delete system-id" in life.report()["findings"][0]["remedy"]
    assert life.report()["verdict"] == "warn"


def test_agents_that_were_not_read_are_no_none(life, monkeypatch):
    def refuse(*_arguments):
        raise ApiError("503: no answer")

    monkeypatch.setattr(network, "list_agents", refuse)
    life.run()
    assert [item["code"] for item in life.report()["unchecked"]] == ["SG328"]


def test_it_is_removed_as_the_last_step_after_the_fence_was_read_again(life, removals):
    done = life.run(**REMOVE)
    assert (done["failed"], removals[0], life.open()) == (False, ["compute1"], None)
    kinds = life.kinds()
    assert kinds[-1] == "fence", "read back once more, after the guards were removed"
    (journal,) = life.closed()
    assert journal["steps"]["chassis"] == "done"


def test_without_the_option_it_is_not_touched(life, removals):
    life.run()
    assert removals[0] == []
    assert "chassis" not in life.closed()[0]["steps"]


def test_a_host_that_is_on_again_keeps_it_and_the_operation_stays_open(life, removals):
    def answer(need):
        if need["kind"] == "unguard":
            life.power = "On"

    life.answer = answer
    done = life.run(**REMOVE)
    assert (done["failed"], removals[0], life.open() is not None) == (True, [], True)


def test_what_stands_against_it_leaves_the_operation_open_and_the_same_command_resumes(life, removals):
    done_, reasons = removals
    reasons.append("the chassis of compute1 is kept: ports are bound to it, or ask for it: gateway")
    done = life.run(**REMOVE)
    assert done["failed"] and "gateway" in done["msg"] and life.open()["steps"]["chassis"] == "applying"
    assert life.report()["verdict"] == "block", "it was asked for, and is not done"
    reasons.clear()
    done = life.run(**REMOVE)
    assert (done["failed"], life.open(), done_) == (False, None, ["compute1", "compute1"])


def test_the_option_can_be_taken_back_to_end_it(life, removals):
    removals[1].append("kept")
    life.run(**REMOVE)
    done = life.run()
    assert (done["failed"], life.open(), removals[0]) == (False, None, ["compute1"])


def test_check_mode_shows_it_and_does_nothing(life, removals):
    life.run(check=True, **REMOVE)
    assert removals[0] == []
    assert any("remove the chassis of compute1 from OVN" in line for line in life.said)


def test_without_connections_the_option_is_refused(life, removals):
    done = life.run(remove_chassis=True)
    assert done["failed"] and "ovn_nb_connection" in done["msg"]
    assert removals[0] == []
