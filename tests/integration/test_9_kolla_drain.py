# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host as kolla-ansible makes it, renamed by draining: its containers are created again, and its compute_id file.

compute1 has containers, the others have packages. One story, told in order: refused, rolled back before anything is
deleted, killed behind the point of no return and resumed, a new server, a power failure, and the way back in one run.
"""

from __future__ import annotations

import pytest
from labkit import guests as guestkit
from labkit import killing, state
from labkit.guests import NEW
from labkit.kolla_fixtures import (
    HOST,
    OLD,
    PATIENCE,
    assert_agreed,
    books,
    container_ids,
    engine,
    journal,
    lab,
    renamed,
    servers,
)

__all__ = ["books", "lab", "servers"]

pytestmark = pytest.mark.matrix("drain-kolla", l2="ovs", deploy="kolla:compute1")

DRAIN = {"rename_strategy": "drain", "rename_drain_return": True}
#: What kolla's nova-compute copies at each start, and where to.
SOURCE = "/etc/kolla/nova-compute/compute_id"


def where(lab, servers):
    found = {uuid: lab.server(uuid) for uuid in servers}
    return {(row["OS-EXT-SRV-ATTR:host"], row["status"]) for row in found.values()}


def node(lab, name):
    """The existing compute node of a host: its uuid."""
    (row,) = lab.sql("cell1", "SELECT uuid FROM compute_nodes WHERE host = %s AND deleted = 0", name)
    return row["uuid"]


def identities(lab):
    """What is in the file that is copied, and in the copy that nova-compute reads."""
    copy = f"{engine(lab)} exec nova_compute cat /var/lib/nova/compute_id"
    return {lab.ssh(HOST, f"cat {SOURCE}").strip(), lab.ssh(HOST, copy).strip()}


def left(lab, name):
    """Existing rows of a name: the node, the service, the mapping, servers, ports, providers, agents."""
    queries = {
        "cell1": (
            "SELECT uuid FROM compute_nodes WHERE host = %s AND deleted = 0",
            "SELECT uuid FROM services WHERE host = %s AND deleted = 0",
            "SELECT uuid FROM instances WHERE host = %s AND deleted = 0",
        ),
        "api": ("SELECT id FROM host_mappings WHERE host = %s", "SELECT id FROM aggregate_hosts WHERE host = %s"),
        "placement": ("SELECT uuid FROM resource_providers WHERE name = %s",),
        "neutron": (
            "SELECT port_id FROM ml2_port_bindings WHERE host = %s",
            "SELECT id FROM agents WHERE host = %s",
        ),
    }
    return [row for database, asked in queries.items() for query in asked for row in lab.sql(database, query, name)]


def kill_at(books, lab, step, old=OLD, new=NEW):
    """Kill a run when it begins a step. The plan shows each step first; what the role does is no step."""
    words = [f"rename_from={old}", f"rename_to={new}"]
    times = 2 if journal(lab) is None and not step[0].isupper() else 1
    killing.kill_when_said(books.start_rename(words, variables=DRAIN), step, timeout=PATIENCE, times=times)


def test_without_a_command_that_recreates_a_drain_is_refused_before_a_guest_moves(lab, servers, books):
    result = books.rename(variables={**DRAIN, "rename_recreate_command": None}, timeout=PATIENCE).failed()
    assert result.codes == {"SG123"}, result.told()
    assert where(lab, servers) == {(OLD, "ACTIVE")}


def test_killed_when_libvirt_gets_its_name_and_rolled_back_nothing_is_deleted(lab, servers, books):
    uuid, old = node(lab, OLD), container_ids(lab)
    kill_at(books, lab, "set the new name in the libvirt container")
    assert journal(lab)["steps"]["delete_service"] == "pending"
    assert node(lab, OLD) == uuid
    books.rename(action="rollback", variables=DRAIN, timeout=PATIENCE).ok()
    assert_agreed(lab, OLD)
    assert (node(lab, OLD), container_ids(lab), identities(lab)) == (uuid, old, {uuid})
    assert where(lab, servers) == {(OLD, "ACTIVE")}
    assert left(lab, NEW) == []


def test_killed_behind_the_deletion_and_resumed_the_host_is_a_new_one(lab, servers, books):
    uuid, old = node(lab, OLD), container_ids(lab)
    kill_at(books, lab, "rename the old compute_id file")
    assert journal(lab)["steps"]["delete_service"] == "done"
    assert "A rollback is no longer possible" in books.rename(action="rollback", variables=DRAIN).failed().output
    kill_at(books, lab, "Run the command that recreates the containers")
    result = books.rename(variables=DRAIN, timeout=PATIENCE).ok()
    print(f"\ndrain of a kolla host, killed twice: the last run took {result.seconds:.1f} s")
    assert_agreed(lab, NEW)
    assert left(lab, OLD) == []
    assert not set(container_ids(lab).values()) & set(old.values())
    assert node(lab, NEW) != uuid
    assert identities(lab) == {node(lab, NEW)}
    assert where(lab, servers) == {(NEW, "ACTIVE")}
    assert books.rename(variables=DRAIN, timeout=PATIENCE).ok().changed == 0


def test_a_host_that_loses_its_power_keeps_its_new_identity(lab, servers):
    uuid = node(lab, NEW)
    before = guestkit.reports(lab, NEW)
    lab.command("host", HOST, "power-off")
    lab.command("host", HOST, "power-on")
    guestkit.wait_report(lab, NEW, before)
    assert_agreed(lab, NEW)
    assert (node(lab, NEW), identities(lab)) == (uuid, {uuid})
    for identity in servers:
        guestkit.wait_for(lab, identity, "SHUTOFF", timeout=300)
        lab.action(identity, "os-start")
        guestkit.wait_for(lab, identity, "ACTIVE", host=NEW)


def test_drained_back_in_one_run_the_old_node_stays_deleted(lab, servers, books):
    """A uuid that is made of the name, as kolla-ansible makes it, would undelete the node of before."""
    deleted = {row["uuid"] for row in lab.sql("cell1", "SELECT uuid FROM compute_nodes WHERE deleted <> 0")}
    result = books.rename(NEW, OLD, variables=DRAIN, timeout=PATIENCE).ok()
    print(f"\ndrain back: {result.seconds:.1f} s")
    assert_agreed(lab, OLD)
    assert left(lab, NEW) == []
    assert node(lab, OLD) not in deleted
    assert identities(lab) == {node(lab, OLD)}
    assert where(lab, servers) == {(OLD, "ACTIVE")}
    assert set(renamed(lab)) <= set(container_ids(lab))
    assert state.guests(lab)
