# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures of tests on a lab with OVN, whose playbooks have access to its databases: test modules import them."""

from __future__ import annotations

import contextlib
import time

import pytest

from . import guests as guestkit
from .fixtures import documented_grants
from .playbook import Playbooks

#: The host that is renamed, which is the gateway chassis, too.
OLD = "compute1"
#: What a busy machine loses by itself, in milliseconds in one piece.
NOISE_MS = 100


@pytest.fixture(scope="module")
def access(chassis):
    """Variables of playbooks: the ways into OVN's databases."""
    return {"ovn_nb_connection": chassis.facts["nb"], "ovn_sb_connection": chassis.facts["sb"]}


@pytest.fixture(scope="module")
def books(lab, access):
    """Playbooks with them, and with a database user that has exactly the documented rights."""
    return Playbooks(lab, {"cloud": "lab", **access, **guestkit.grant(lab, "sg_ovn", documented_grants())})


@pytest.fixture(scope="module")
def kept_servers(lab):
    """Ids of three running servers on compute1."""
    made = guestkit.create(lab, "kept", "3", "--on", OLD)
    assert {row["status"] for row in made} == {"ACTIVE"}
    yield [row["id"] for row in made]
    for row in made:
        lab.command("guests", "delete", row["id"])


@pytest.fixture(scope="module")
def undisturbed(probe):
    """What the machine loses by itself while no playbook runs, in milliseconds in one piece."""
    with probe.running() as run:
        time.sleep(20)
    print(f"\nnothing is done:\n{run.told()}")
    return longest_outage(run)


def longest_outage(run):
    """The longest gap of all directions, in milliseconds."""
    return max(result["longest_outage_ms"] for result in run.results.values())


def assert_nothing_lost(run, undisturbed):
    """No gap that is longer than what the machine loses by itself, and no TCP connection lost."""
    assert longest_outage(run) <= max(NOISE_MS, undisturbed), run.told()
    assert {result["tcp_error"] for result in run.results.values()} == {None}, run.told()


@contextlib.contextmanager
def nothing_lost(chassis, probe, undisturbed):
    """No change of a binding, no gap in any direction, no TCP connection lost, while the body runs."""
    for host in chassis.lab.hosts:
        engine = chassis.lab.info["hosts"][host].get("engine")
        inside = f"{engine} exec ovn_controller " if engine else ""
        chassis.lab.ssh(host, f"{inside}ovn-appctl -t ovn-controller inc-engine/recompute")
    chassis.sync()
    bindings = chassis.bindings()
    with probe.running() as run, chassis.watched() as changes:
        yield
        time.sleep(2)
    print(f"\n{run.told()}")
    assert changes.bindings == [], changes.told()
    assert chassis.bindings() == bindings
    assert_nothing_lost(run, undisturbed)
