# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A removed host's chassis, on a lab with OVN: it stays while it is alive, and goes with the agents of its name."""

from __future__ import annotations

import pytest
from labkit import evacuation, waiting, zoning
from labkit import guests as guestkit
from labkit.fixtures import documented_grants
from labkit.ovn_fixtures import access, books

__all__ = ["access", "books"]

pytestmark = pytest.mark.matrix("maintain-ovn", l2="ovn")

HOST = "compute3"
SAID = [{"code": "SG506", "object": HOST, "reason": "its disks are wiped"}]


@pytest.fixture
def empty(lab):
    """compute3 has no server; compute1 is the only gateway chassis."""
    lab.reset()
    zoning.tidy(lab)
    # A reset takes the user of the databases with it.
    guestkit.grant(lab, "sg_ovn", documented_grants())
    yield lab
    lab.reset()


def remove(books, **more):
    given = {"remove_host": HOST, "stackguard_state_dir": str(zoning.state_dir(books.lab)), **more}
    return books.run("remove_host", variables={"stackguard_overrides": SAID, **given}, timeout=900)


def agents(lab, alive=None):
    found = [agent for agent in lab.cloud.network.agents() if agent.host == HOST]
    return [agent for agent in found if alive is None or agent.is_alive is alive]


def test_a_chassis_goes_once_it_is_dead_and_the_others_stay(empty, chassis, books):
    lab = empty
    others = {row["name"] for row in chassis.southbound("Chassis")} - {chassis.name(HOST)}
    lab.ssh(HOST, "systemctl kill -s KILL nova-compute; systemctl mask --runtime nova-compute")
    evacuation.wait_down(lab, HOST)
    # Its ovn-controller lives.
    assert "SG506" in remove(books).failed().codes
    assert chassis.chassis(HOST)
    lab.command("host", HOST, "power-off")
    waiting.until("neutron takes all of them for dead", lambda: not agents(lab, True) or None, 300, 10)
    # Without OVN's databases nothing shows that no port needs the chassis.
    blind = {"ovn_nb_connection": None, "ovn_sb_connection": None}
    done = remove(books, remove_keep=[], **blind).failed()
    (left,) = [item["evidence"]["left in"] for item in done.report["findings"] if item["code"] == "SG331"]
    assert set(left) == {"network agents"} and chassis.chassis(HOST)
    remove(books).ok()
    assert chassis.chassis(HOST) is None and agents(lab) == []
    assert {row["name"] for row in chassis.southbound("Chassis")} == others
