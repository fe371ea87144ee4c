# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rename of a host whose ports are OVN's: no port is released, no flow changes, no packet is lost.

compute1 is renamed, which is the gateway chassis, too. What the obvious orders cut off is in test_3_ovn.py. The probe
is seen running before the playbook starts.
"""

from __future__ import annotations

import contextlib
import re
import time

import pytest
from labkit import guests as guestkit
from labkit import state, waiting
from labkit.guests import NEW
from labkit.ovn_fixtures import OLD, access, assert_nothing_lost, books, kept_servers, undisturbed

__all__ = ["access", "books", "kept_servers", "undisturbed"]

pytestmark = pytest.mark.matrix("rename-ovn", l2="ovn")

THERE, BACK = (OLD, NEW), (NEW, OLD)
MANY = 200


def ports_of(lab, kept_servers):
    found = lab.cloud.network.ports(fields=["id", "device_id", "binding:host_id", "binding:vif_type"])
    return {port.id: (port.binding_host_id, port.binding_vif_type) for port in found if port.device_id in kept_servers}


@pytest.mark.parametrize(("old", "new"), [THERE, BACK], ids=["there", "and_back"])
def test_no_port_is_released_and_no_packet_lost_while_a_host_is_renamed(
    lab, chassis, probe, kept_servers, books, undisturbed, old, new
):
    renamed_under_packets(lab, chassis, probe, kept_servers, books, undisturbed, old, new)
    if new == NEW:
        works_under_its_name(lab, chassis, kept_servers, new)


def test_nor_with_two_hundred_ports(lab, chassis, probe, kept_servers, books, undisturbed):
    with ports_on(lab, chassis, MANY):
        assert len(chassis.requesting(OLD)) >= MANY
        for old, new in (THERE, BACK):
            renamed_under_packets(lab, chassis, probe, kept_servers, books, undisturbed, old, new)


@contextlib.contextmanager
def ports_on(lab, chassis, number):
    """So many more ports, each plugged on the host as one that nobody answers behind."""
    network = lab.cloud.network
    net = network.find_network("net0", ignore_missing=False)
    wanted = {"network_id": net.id, "device_owner": "compute:probe", "device_id": "many", "binding:host_id": OLD}
    made = [port.id for port in network.create_ports([{**wanted, "name": f"many{n}"} for n in range(number)])]
    taps = {port: f"tap{port[:11]}" for port in made}
    try:
        plug = "".join(
            f" -- add-port br-int {tap} -- set Interface {tap} type=internal external_ids:iface-id={port}"
            for port, tap in taps.items()
        )
        lab.ssh(OLD, f"ovs-vsctl --timeout=120 {plug[4:]}")
        waiting.until("all of them bound", lambda: bound_up(chassis, made), 300, 5)
        # The metadata agent is busy with that many ports, and reports now and then meanwhile: a rename is refused then.
        waiting.until("agents that stay alive", alive_for(network, 60), 900, 10)
        yield made
    finally:
        unplug = "".join(f" -- --if-exists del-port br-int {tap}" for tap in taps.values())
        lab.ssh(OLD, f"ovs-vsctl --timeout=120 {unplug[4:]}")
        for port in made:
            network.delete_port(port)


def alive_for(network, seconds):
    """Whether the host's agents have been alive for so long, at each call."""
    since = [None]

    def seen():
        if not all(row.is_alive for row in network.agents(host=OLD)):
            since[0] = None
        elif since[0] is None:
            since[0] = time.monotonic()
        return since[0] is not None and time.monotonic() - since[0] >= seconds

    return seen


def bound_up(chassis, ports):
    bindings, here = chassis.bindings(), (chassis.name(OLD), chassis.name(OLD), True)
    return all(bindings.get(port) == here for port in ports)


def renamed_under_packets(lab, chassis, probe, kept_servers, books, undisturbed, old, new):
    """No change of a port's binding or of a flow of ports, no packet lost, everything under the new name."""
    quiet(chassis)
    before, identity = state.guests(lab), state.identity(lab, old)
    asked, bindings = chassis.requesting(old), chassis.bindings()
    assert set(probe.ports) <= set(asked)
    with probe.running() as run, chassis.watched() as changes:
        result = books.rename(old, new).ok()
        time.sleep(2)
    print(f"\nrename with OVN: {result.seconds:.1f} s\n{run.told()}\n{changes.told()}")
    assert changes.bindings == [], changes.told()
    assert flows_of_ports(changes) == [], changes.told()
    assert_nothing_lost(run, undisturbed)

    assert (chassis.hostname(OLD), chassis.bindings()) == (new, bindings)
    assert chassis.requesting(old) == []
    assert set(chassis.requesting(new)) ^ set(asked) == set(), "ports that ask for the host now, and did not, or did"
    assert chassis.requesting(chassis.name(OLD)) == []
    assert set(ports_of(lab, kept_servers).values()) == {(new, "ovs")}
    state.assert_same(identity, state.identity(lab, new), "records, the agents' rows among them")
    state.assert_same(before, state.guests(lab), "guests")
    assert state.written(lab, old) == []


def flows_of_ports(changes):
    """Changed flows but for those of neighbours that a router has learned by ARP: these age, and are learned again."""
    lines = [line for lines in changes.flows.values() for line in lines]
    return [line for line in lines if not re.search(r"table=(66|67)\b", line)]


def quiet(chassis):
    """Wait until nothing is left to do of what was done before.

    ovn-controller 23.03 keeps flows of a port that was migrated away from its host until it computes all anew, which
    a change of a chassis' hostname lets it do.
    """

    def seen():
        with chassis.watched() as changes:
            time.sleep(5)
        return not flows_of_ports(changes) and changes.bindings == []

    for host in chassis.lab.hosts:
        chassis.lab.ssh(host, "ovn-appctl -t ovn-controller inc-engine/recompute")
    chassis.sync()
    waiting.until("flows that stay", seen, 90)


def works_under_its_name(lab, chassis, kept_servers, host):
    """A new port, a stop and a start, a hard reboot, a live migration there and back: each port is on its chassis."""
    (made,) = guestkit.create(lab, "later", "1", "--on", host)
    try:
        on_chassis(lab, chassis, made["id"], OLD, host)
    finally:
        lab.command("guests", "delete", made["id"])
    server = kept_servers[0]
    lab.action(server, "os-stop")
    guestkit.wait_for(lab, server, "SHUTOFF")
    lab.action(server, "os-start")
    guestkit.wait_for(lab, server, "ACTIVE")
    on_chassis(lab, chassis, server, OLD, host)
    lab.action(server, "reboot", {"type": "HARD"})
    guestkit.wait_for(lab, server, "ACTIVE")
    on_chassis(lab, chassis, server, OLD, host)
    for own, name in (("compute2", "compute2"), (OLD, host)):
        lab.action(server, "os-migrateLive", {"host": name, "block_migration": "auto"})
        guestkit.wait_for(lab, server, "ACTIVE", host=name, timeout=300)
        on_chassis(lab, chassis, server, own, name)


def on_chassis(lab, chassis, server, own, name):
    """The server's port is on the chassis of the lab's host ``own``, and asks for it by ``name``."""
    (port,) = lab.cloud.network.ports(device_id=server)
    here = (chassis.name(own), chassis.name(own), True)
    waiting.until(lambda: f"{here}, is {chassis.binding(port.id)}", lambda: chassis.binding(port.id) == here, 60)
    assert port.id in chassis.requesting(name)


def test_without_access_to_ovn_it_is_refused_and_nothing_changes(lab, chassis, kept_servers, books):
    before, asked = state.everything(lab), chassis.requesting(OLD)
    result = books.rename(OLD, NEW, variables={"ovn_nb_connection": None, "ovn_sb_connection": None}).failed()
    assert "SG317" in result.codes, result.told()
    state.assert_same(before, state.everything(lab), "a refused run changed something")
    assert (chassis.hostname(OLD), chassis.requesting(OLD)) == (OLD, asked)


def test_a_port_in_the_middle_of_a_move_is_a_refusal(lab, chassis, probe, books):
    """A list of chassis is what a live migration leaves behind when it was broken off."""
    port = probe.ports[0]
    chassis.request([port], f"{OLD},compute2")
    try:
        result = books.rename(OLD, NEW).failed()
        assert "SG324" in result.codes, result.told()
        assert chassis.hostname(OLD) == OLD
    finally:
        chassis.request([port], OLD)
