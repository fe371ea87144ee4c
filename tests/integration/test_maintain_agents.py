# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A maintained host whose network agent does not come back, on labs with Open vSwitch agents and with OVN's chassis.

Neutron shows an agent as alive for a minute after its death: the run must have heard of it since.
"""

from __future__ import annotations

import pytest
from labkit import guests
from labkit.fixtures import documented_grants
from labkit.maintaining import ENABLED, boots, firmware, maintain, running, series, services
from labkit.playbook import Playbooks
from labkit.zoning import FAR, NEIGHBOUR

__all__ = ["firmware", "series"]

pytestmark = pytest.mark.matrix("maintain-ovs")

UNITS = {"ovs": "neutron-openvswitch-agent", "ovn": "ovn-controller"}


@pytest.fixture(scope="module")
def books(lab):
    """Playbooks with access to all that this lab has."""
    ovn = lab.info["ovn"] if lab.info["l2"] == "ovn" else {}
    ways = {"ovn_nb_connection": ovn["nb"], "ovn_sb_connection": ovn["sb"]} if ovn else {}
    return Playbooks(lab, {"cloud": "lab", **ways, **guests.grant(lab, "sg_agents", documented_grants())})


def alive(lab, host):
    return {agent.agent_type: agent.is_alive for agent in lab.cloud.network.agents() if agent.host == host}


def where(lab):
    return {uuid: lab.server(uuid)["OS-EXT-SRV-ATTR:host"] for uuid in running(lab).values()}


def test_an_agent_that_does_not_come_back_stops_the_series(series, books, tmp_path):
    """It was alive a moment before. Started again, the same command goes on."""
    lab, there, unit = series, running(series), UNITS[series.info["l2"]]
    tasks = tmp_path / "tasks.yml"
    tasks.write_text(f"- name: Stop the agent\n  ansible.builtin.command: systemctl kill -s KILL {unit}\n")
    given = {"maintain_reboot": None, "maintain_tasks": str(tasks), "maintain_hosts": [NEIGHBOUR, FAR]}
    lab.ssh(NEIGHBOUR, f"mkdir -p /run/systemd/system/{unit}.service.d")
    lab.ssh(NEIGHBOUR, f"printf '[Service]\\nRestart=no\\n' > /run/systemd/system/{unit}.service.d/sg.conf")
    lab.ssh(NEIGHBOUR, "systemctl daemon-reload")
    try:
        refused = maintain(books, **given).failed()
        assert "SG716" in refused.codes
        assert services(lab)[NEIGHBOUR][1].startswith("stackguard:maintain:")
        assert services(lab)[FAR] == ("enabled", None)
        assert refused.stats["hosts"][FAR]["state"] == "waiting"
    finally:
        lab.ssh(NEIGHBOUR, f"rm -r /run/systemd/system/{unit}.service.d; systemctl daemon-reload")
        lab.ssh(NEIGHBOUR, f"systemctl start {unit}")
    tasks.write_text("- name: Change nothing\n  ansible.builtin.command: 'true'\n  changed_when: false\n")
    assert maintain(books, **given).ok().stats["state"] == "finished"
    assert (services(lab), running(lab)) == (ENABLED, there)


def test_a_host_is_rebooted_with_its_agents_and_takes_its_servers_back(series, books, firmware):
    lab, there, before = series, running(series), boots(series)
    hosts = where(lab)
    assert maintain(books, maintain_hosts=[NEIGHBOUR], maintain_refill="same").ok().stats["state"] == "finished"
    assert boots(lab)[NEIGHBOUR] != before[NEIGHBOUR]
    assert all(alive(lab, NEIGHBOUR).values()) and alive(lab, NEIGHBOUR)
    assert (services(lab), running(lab)) == (ENABLED, there)
    assert {uuid for uuid, host in where(lab).items() if host == NEIGHBOUR} == {
        uuid for uuid, host in hosts.items() if host == NEIGHBOUR
    }
