# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""OSDs as the monitors of Ceph 16 answer, in short; and noout set and removed of single ones."""

from __future__ import annotations

import contextlib

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.host_facts import NOOUT_ITSELF, CephOsd
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import osds
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.reading import HostError
from ansible_collections.stackguard.nova.plugins.modules import osd_noout
from ansible_collections.stackguard.nova.tests.unit.modules.running import run


class Monitors:
    """Three OSDs: two on compute1, of which one is down, and one on compute2."""

    def __init__(self):
        self.states = {0: ["exists", "up"], 1: ["exists"], 2: ["exists", "up"]}
        self.hosts = {0: "compute1", 1: "compute1", 2: "compute2"}
        self.flags = ["sortbitwise"]
        self.node_flags, self.class_flags = {}, {}
        self.orders = []
        self.deaf = False

    def ask(self, question):
        return {
            "osd dump": {
                "flags": ",".join(self.flags),
                "flags_set": self.flags,
                "crush_node_flags": self.node_flags,
                "device_class_flags": self.class_flags,
                "osds": [
                    {
                        "osd": number,
                        "up": int("up" in states),
                        "public_addr": f"192.0.2.{number}:6801/9390",
                        "state": list(states),
                    }
                    for number, states in self.states.items()
                ],
            },
            "osd tree": {
                "nodes": [
                    {"id": -1, "name": "default", "type": "root", "children": [-2, -3]},
                    {"id": -2, "name": "compute1", "type": "host", "children": [0, 1]},
                    {"id": -3, "name": "compute2", "type": "host", "children": [2]},
                    *(
                        {
                            "id": number,
                            "name": f"osd.{number}",
                            "type": "osd",
                            "device_class": "ssd" if number else "hdd",
                        }
                        for number in self.states
                    ),
                ],
                "stray": [],
            },
            "osd metadata": [
                {"id": number, "hostname": self.hosts[number]} if self.hosts.get(number) else {"id": number}
                for number in self.states
            ],
        }[question]

    def noout(self, numbers, wanted):
        self.orders.append((list(numbers), wanted))
        for number in [] if self.deaf else numbers:
            self.states[number] = [state for state in self.states[number] if state != "noout"]
            self.states[number] += ["noout"] if wanted else []


@pytest.fixture
def monitors():
    return Monitors()


def by_number(monitors):
    return {osd.id: osd for osd in osds.read(monitors.ask)}


def test_an_osd_is_read_with_its_machine_its_bucket_and_its_address(monitors):
    assert by_number(monitors)[1] == CephOsd(1, "compute1", ["compute1"], ["192.0.2.1"], False, [])


def test_one_that_never_started_has_no_machine(monitors):
    monitors.hosts[1] = None
    assert by_number(monitors)[1].hostname is None


def test_noout_is_told_by_what_it_comes_from(monitors):
    monitors.states[0].append("noout")
    monitors.node_flags = {"compute2": ["noout"], "default": ["noin"]}
    monitors.class_flags = {"ssd": ["noout"]}
    found = by_number(monitors)
    assert found[0].noout == [NOOUT_ITSELF]
    assert found[1].noout == ["device class ssd"]
    assert found[2].noout == ["CRUSH node compute2", "device class ssd"]
    monitors.flags.append("noout")
    assert by_number(monitors)[0].noout == [NOOUT_ITSELF, "the cluster"]


def test_of_flagged_ones_only_those_are_read_that_have_it_by_themselves(monitors):
    monitors.flags.append("noout")
    assert osds.read_flagged(lambda question: {"osd dump": monitors.ask("osd dump")}[question]) == []
    monitors.states[2].append("noout")
    assert [osd.id for osd in osds.read_flagged(monitors.ask)] == [2]


@pytest.mark.parametrize("broken", [{}, {"osds": [{"osd": 0, "up": 1}]}, {"osds": None}])
def test_an_answer_that_is_not_understood_is_never_none(broken):
    with pytest.raises((ValueError, KeyError)):
        osds.read_flagged(lambda _question: broken)


def test_noout_is_set_only_of_those_that_have_it_in_no_way(monitors):
    monitors.states[1].append("noout")
    done = osds.mark(monitors, [0, 1], True, check=False)
    assert (done.changed, monitors.orders) == ([0], [([0], True)])
    assert all(NOOUT_ITSELF in osd.noout for osd in done.osds)
    assert osds.mark(monitors, [0, 1], True, check=False).changed == [], "once"


def test_one_that_the_cluster_keeps_in_is_not_marked(monitors):
    monitors.flags.append("noout")
    assert osds.mark(monitors, [0], True, check=False).changed == []
    assert monitors.orders == []


def test_noout_is_removed_and_one_that_is_gone_has_none(monitors):
    monitors.states[0].append("noout")
    assert osds.mark(monitors, [0, 2, 77], False, check=False).changed == [0]
    assert monitors.orders == [([0], False)]


def test_a_check_changes_nothing(monitors):
    assert osds.mark(monitors, [0], True, check=True).changed == [0]
    assert monitors.orders == []


def test_what_is_read_back_decides(monitors):
    """The monitors answer that all is well for an OSD that they do not know."""
    monitors.deaf = True
    with pytest.raises(HostError):
        osds.mark(monitors, [0], True, check=False)
    monitors.states[0].append("noout")
    with pytest.raises(HostError):
        osds.mark(monitors, [0], False, check=False)


@pytest.mark.parametrize("numbers", [[], [77]])
def test_no_osd_is_no_answer(monitors, numbers):
    for act in (lambda: osds.mark(monitors, numbers, True, check=False), lambda: osds.listed(monitors, numbers)):
        with pytest.raises(HostError):
            act()
    assert monitors.orders == []


def test_a_wait_ends_when_all_are_up_or_with_its_time(monitors, monkeypatch):
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        monitors.states[1] = ["exists", "up"]

    monkeypatch.setattr(osds.time, "sleep", sleep)
    assert all(osd.up for osd in osds.wait_up(monitors, [0, 1], 60).osds)
    assert slept == [osds.PAUSE]
    monitors.states[1] = ["exists"]
    assert [osd.up for osd in osds.wait_up(monitors, [0, 1], 0).osds] == [True, False]


# --- the module -----------------------------------------------------------------------------------------------


@pytest.fixture
def connected(monitors, monkeypatch):
    monitors.fsid = lambda: "f1"
    monkeypatch.setattr(osd_noout.rbd, "connect", lambda _where: contextlib.nullcontext(monitors))
    return monitors


GIVEN = {"pool": "vms", "rbd_user": "nova", "nova_conf_files": ["/nowhere"]}


def test_the_module_sets_and_lists(connected):
    done = run(osd_noout.main, {**GIVEN, "osds": [0], "fsid": "f1"})
    assert (done["changed"], done["changed_osds"], done["reached"]) == (True, [0], True)
    read = run(osd_noout.main, {**GIVEN, "osds": [0], "state": "listed"})
    assert (read["changed"], read["osds"][0]["noout"]) == (False, [NOOUT_ITSELF])
    assert run(osd_noout.main, {**GIVEN, "osds": [0], "state": "absent"})["changed_osds"] == [0]


def test_another_cluster_is_never_marked(connected):
    answer = run(osd_noout.main, {**GIVEN, "osds": [0], "fsid": "f2"})
    assert (answer["failed"], answer["reached"]) == (True, False)
    assert connected.orders == []


def test_the_module_says_that_it_reached_the_cluster_and_failed(connected):
    connected.deaf = True
    answer = run(osd_noout.main, {**GIVEN, "osds": [0], "fsid": "f1"})
    assert (answer["failed"], answer["reached"]) == (True, True)
