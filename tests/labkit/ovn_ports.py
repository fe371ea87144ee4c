# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers' ports on a lab with OVN: where each must be bound, for neutron and in OVN's databases."""

from __future__ import annotations

import contextlib

from . import guests as guestkit
from . import waiting


def bound(chassis, host):
    """A port's binding: on the host's chassis, which is the one that was asked for, and up."""
    return (chassis.name(host), chassis.name(host), True)


@contextlib.contextmanager
def server_on(lab, host):
    made = guestkit.create(lab, "moved", "1", "--on", host)[0]
    try:
        yield made["id"], port_of(lab, made["id"]).id
    finally:
        lab.command("guests", "delete", made["id"])


def port_of(lab, server):
    (port,) = lab.cloud.network.ports(device_id=server)
    return port


def assert_follows(lab, chassis, server, host):
    """The server's port is where the server is: for neutron, for the northbound database, and for the chassis.

    Its status in neutron is not looked at: the last PUT of Nova 34 after a live migration takes it to DOWN, and as
    OVN's port stays up, nothing takes it back to ACTIVE (neutron 29).
    """
    port = port_of(lab, server)
    waiting.until(
        lambda: f"port on {host}, is {chassis.binding(port.id)}",
        lambda: chassis.binding(port.id) == bound(chassis, host),
        60,
    )
    port = port_of(lab, server)
    assert (port.binding_host_id, port.binding_vif_type) == (host, "ovs")
    assert port.id in chassis.requesting(host)


def refused(lab, host, port):
    """What ovn-controller of a host says where a tap with this port is plugged and the port asks for another host."""
    return lab.ssh(host, f"grep 'Not claiming lport {port}' /var/log/ovn/ovn-controller.log || :")
