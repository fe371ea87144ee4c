# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rename where OVN is set up otherwise: with RBAC, with chassis named after hosts, without a hostname key.

What a rename does under packets is in test_4_ovn_rename.py, which runs on these labs, too.
"""

from __future__ import annotations

import time

import pytest
from labkit import guests as guestkit
from labkit import state, waiting
from labkit.guests import NEW
from labkit.ovn_fixtures import OLD, access, books
from labkit.ovn_ports import assert_follows, bound, port_of

__all__ = ["access", "books"]

rbac = pytest.mark.matrix("rename-ovn-rbac", l2="ovn", ovn="rbac")
no_key = pytest.mark.matrix("rename-ovn-no-key", l2="ovn", ovn="no-key")
system_id = pytest.mark.matrix("rename-ovn-system-id", l2="ovn", ovn="system-id")


@pytest.fixture(scope="module")
def server(lab):
    (made,) = guestkit.create(lab, "kept", "1", "--on", OLD)
    yield made["id"]
    lab.command("guests", "delete", made["id"])


def key(lab, name="hostname"):
    return lab.ssh(OLD, f"ovs-vsctl --if-exists get Open_vSwitch . external_ids:{name}").strip().strip('"')


# --- RBAC


@rbac
def test_unguarded_the_hostname_never_changes_and_the_chassis_is_deaf(lab, chassis, server):
    """What a deployment tool does on the host. A new port is not claimed, while those that are bound go on."""
    lab.ssh(OLD, f"ovs-vsctl set Open_vSwitch . external_ids:hostname={NEW}")
    try:
        log = "/var/log/ovn/ovn-controller.log"
        waiting.until(
            "RBAC's word", lambda: lab.ssh(OLD, f"grep -c 'RBAC rules for client' {log} || :").strip() != "0", 30
        )
        time.sleep(3)
        assert chassis.hostname(OLD) == OLD
        assert chassis.binding(port_of(lab, server).id) == bound(chassis, OLD)
    finally:
        lab.ssh(OLD, f"ovs-vsctl set Open_vSwitch . external_ids:hostname={OLD}")
    with_port(lab, chassis, OLD)


def with_port(lab, chassis, host):
    """A new server on the host gets its port: the chassis takes part."""
    (made,) = guestkit.create(lab, "later", "1", "--on", host)
    try:
        here = bound(chassis, OLD)
        port = port_of(lab, made["id"]).id
        waiting.until(lambda: f"bound, is {chassis.binding(port)}", lambda: chassis.binding(port) == here, 60)
    finally:
        lab.command("guests", "delete", made["id"])


@rbac
def test_with_nothing_but_the_role_of_a_chassis_it_is_refused_and_nothing_changes(lab, chassis, server, books):
    """The connection that the hosts have: it may read the southbound database, and write no hostname."""
    before = state.everything(lab)
    pki = chassis.facts["pki"]
    poor = {
        "ovn_sb_connection": chassis.facts["remote"],
        "ovn_private_key": f"{pki}/compute2.key",
        "ovn_certificate": f"{pki}/compute2.pem",
        "ovn_ca_cert": f"{pki}/ca.pem",
    }
    result = books.rename(OLD, NEW, variables=poor).failed()
    assert result.codes & {"SG325", "SG317"}, result.told()
    state.assert_same(before, state.everything(lab), "a refused run changed something")
    assert (chassis.hostname(OLD), key(lab)) == (OLD, OLD)


# --- no key


@no_key
def test_the_key_is_written_so_that_the_hosts_own_name_decides_nothing(lab, chassis, server, books):
    """Without a key, the host's new name would become the chassis' in the middle of a run, before its ports."""
    lab.ssh(OLD, "ovs-vsctl remove Open_vSwitch . external_ids hostname")
    chassis.sync()
    assert (key(lab), chassis.hostname(OLD)) == ("", OLD), "the host's own name"
    books.rename(OLD, NEW).ok()
    assert (key(lab), chassis.hostname(OLD)) == (NEW, NEW)
    with_port(lab, chassis, NEW)
    books.rename(NEW, OLD).ok()
    assert chassis.hostname(OLD) == OLD
    assert_follows(lab, chassis, server, OLD)


# --- a chassis named after its host


@system_id
def test_it_is_refused_and_nothing_changes(lab, chassis, server, books):
    before = state.everything(lab)
    result = books.rename(OLD, NEW).failed()
    assert "SG319" in result.codes, result.told()
    state.assert_same(before, state.everything(lab), "a refused run changed something")
    assert (chassis.hostname(OLD), chassis.name(OLD)) == (OLD, OLD)


@system_id
def test_overridden_the_host_is_renamed_and_the_chassis_keeps_its_name(lab, chassis, server, books):
    bindings = chassis.bindings()
    refused = books.rename(OLD, NEW).failed()
    (item,) = [item for item in refused.report["findings"] if item["code"] == "SG319"]
    word = [{"code": "SG319", "object": item["object"]["id"], "reason": "openvswitch_system_id is in host_vars"}]
    for old, new in ((OLD, NEW), (NEW, OLD)):
        given = {"stackguard_overrides": word} if old == OLD else {}
        with chassis.watched() as changes:
            books.rename(old, new, variables=given).ok()
        assert changes.bindings == [], changes.told()
        assert chassis.hostname(OLD) == new
        assert chassis.bindings() == bindings
        # The chassis is still called as the host was: the old name is all that the ports had to name.
        assert chassis.requesting(new) and (new == OLD or chassis.requesting(OLD) == [])
