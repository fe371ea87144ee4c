# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A lab with OVN: what reaches whom, what Nova's moves do to ports, and what the obvious orders of a rename cut off.

compute1 is the host that is renamed, and the gateway chassis. The probe is seen running before anything is done.
"""

from __future__ import annotations

import time

import pytest
from labkit import guests as guestkit
from labkit import waiting
from labkit.guests import NEW
from labkit.ovn_ports import assert_follows, bound, refused, server_on

pytestmark = pytest.mark.matrix("rename-ovn", l2="ovn")

OLD = "compute1"
#: Between the two halves of a wrong order: in practice minutes, until somebody notices.
BETWEEN = 3.0
#: How long the packets run on after the last change, to show whether it is over.
AFTER = 2.0
#: What a busy machine loses by itself, in one piece.
NOISE_MS = 100


@pytest.fixture
def ports(chassis, probe):
    """All ports that ask for the host by its name; whatever a test does, they and the chassis get it back."""
    asked = chassis.requesting(OLD)
    assert set(probe.ports) <= set(asked)
    yield asked
    chassis.request(asked, chassis.name(OLD))
    chassis.set_hostname(OLD, OLD)
    chassis.rebind(NEW, OLD)
    settle(chassis, asked, OLD)


def settle(chassis, ports, name):
    """Ask for the host's chassis by this name until all ports are bound there and up.

    Once ports were released, neutron handles their way down and up, and writes what it had read before it.
    """

    def seen():
        bindings = chassis.bindings()
        if {bindings[port] for port in ports if port in bindings} == {bound(chassis, OLD)}:
            return True
        chassis.request(ports, name)
        return False

    chassis.request(ports, name)
    waiting.until(lambda: f"ports bound, are {chassis.bindings()}", seen, 60, 2)


def outages(run):
    return {name: result["longest_outage_ms"] for name, result in run.results.items()}


@pytest.fixture(scope="module")
def undisturbed(chassis, probe):
    """A run in which nothing is done: what the machine loses by itself."""
    with probe.running() as run, chassis.watched() as changes:
        time.sleep(2 * BETWEEN)
    print(f"\nnothing is done:\n{run.told()}")
    assert changes.bindings == [], changes.told()
    return run


def test_ports_on_one_chassis_on_two_and_outside_reach_each_other(undisturbed):
    for name, result in undisturbed.results.items():
        assert result["sent"] > 100, (name, result)
        assert result.share < 0.02, (name, result)
        assert result["tcp_error"] is None, (name, result)


def test_the_order_that_cuts_nothing_off_is_seen_as_such(chassis, probe, ports, undisturbed):
    """By hand, there and back: ports name the chassis, the host's name changes, ports name the host."""
    with probe.running() as run, chassis.watched() as changes:
        for name in (NEW, OLD):
            chassis.request(ports, chassis.name(OLD))
            chassis.set_hostname(OLD, name)
            chassis.request(ports, name)
            time.sleep(1)
        time.sleep(AFTER)
    print(f"\nports, host, ports:\n{run.told()}\n{changes.told()}")
    assert changes.bindings == [], changes.told()
    assert changes.number_of_flows == 0, changes.told()
    limit = max(NOISE_MS, *outages(undisturbed).values())
    assert max(outages(run).values()) <= limit, run.told()
    assert {result["tcp_error"] for result in run.results.values()} == {None}


def host_first(chassis, ports):
    chassis.set_hostname(OLD, NEW)
    time.sleep(BETWEEN)
    chassis.rebind(OLD, NEW)
    chassis.request(ports, NEW)


def ports_first(chassis, ports):
    chassis.rebind(OLD, NEW)
    chassis.request(ports, NEW)
    time.sleep(BETWEEN)
    chassis.set_hostname(OLD, NEW)


@pytest.mark.parametrize("order", [host_first, ports_first])
def test_unguarded_it_cuts_every_direction_off_until_both_have_the_name(chassis, probe, ports, order):
    with probe.running() as run, chassis.watched() as changes:
        order(chassis, ports)
        time.sleep(AFTER)
    print(f"\n{order.__name__}:\n{run.told()}\n{changes.told()}")
    for name, length in outages(run).items():
        assert length >= BETWEEN * 1000 - NOISE_MS, (name, length)
    released = {row["logical_port"] for row in changes.bindings if row["chassis"] == []}
    assert set(probe.ports) <= released, changes.told()
    assert changes.flows[OLD], "the ports' flows went, and came back"
    settle(chassis, ports, NEW)


def test_unguarded_a_clean_stop_of_ovn_controller_cuts_off_what_leaves_the_host(lab, chassis, probe, ports):
    """systemctl stop, as Debian's unit has it: the chassis' row is deleted, and with it the others' tunnels to it."""
    with probe.running() as run, chassis.watched() as changes:
        lab.ssh(OLD, "systemctl stop ovn-controller")
        assert chassis.chassis(OLD) is None
        time.sleep(BETWEEN)
        lab.ssh(OLD, "systemctl start ovn-controller")
        waiting.until("the chassis", lambda: chassis.chassis(OLD), 30)
        chassis.sync()
        time.sleep(AFTER)
    print(f"\nclean stop of ovn-controller:\n{run.told()}\n{changes.told()}")
    assert outages(run)["other chassis to guest"] >= BETWEEN * 1000 - NOISE_MS, run.told()
    assert changes.bindings, changes.told()


# --- Nova's own moves


def test_a_live_migration_takes_the_port_along_there_and_back(lab, chassis):
    with server_on(lab, OLD) as (server, _port):
        assert_follows(lab, chassis, server, OLD)
        for host in ("compute2", OLD):
            lab.action(server, "os-migrateLive", {"host": host, "block_migration": "auto"})
            guestkit.wait_for(lab, server, "ACTIVE", host=host, timeout=300)
            assert_follows(lab, chassis, server, host)


def test_an_evacuation_takes_the_port_along_and_the_dead_host_does_not_take_it_back(lab, chassis):
    """On compute3, which has no end of the probe."""
    dead = "compute3"
    with server_on(lab, dead) as (server, port):
        service, before = lab.service(dead)["id"], guestkit.reports(lab, dead)
        lab.command("host", dead, "power-off")
        try:
            lab.compute("PUT", f"/os-services/{service}", {"forced_down": True})
            lab.action(server, "evacuate", {"host": OLD})
            guestkit.wait_for(lab, server, "ACTIVE", host=OLD, timeout=300)
            assert_follows(lab, chassis, server, OLD)
        finally:
            lab.command("host", dead, "power-on")
        # Its Open vSwitch still has the tap with this iface-id.
        waiting.until("its ovn-controller", lambda: refused(lab, dead, port), 60)
        assert_follows(lab, chassis, server, OLD)
        guestkit.wait_report(lab, dead, before)
        lab.compute("PUT", f"/os-services/{service}", {"forced_down": False})
        guestkit.wait_compute(lab, dead)
