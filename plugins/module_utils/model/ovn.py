# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What OVN and neutron's database hold of compute hosts, as frozen dataclasses. Pure.

A chassis has a C(name), which is the host's system-id and never changes, and a C(hostname), which neutron and Nova go
by. A port of the northbound database names either of them in C(options:requested-chassis).
"""

from __future__ import annotations

import dataclasses
import typing as t

from .host_facts import Unread

#: The key of a port's options by which OVN decides where the port is bound.
REQUESTED = "requested-chassis"
#: Labels that neutron keeps beside a port, and that hold the name of a host.
HOST_ID = "neutron:host_id"
PARENT_HOSTNAME = "neutron:parent_hostname"
VIRTUAL = "virtual"
ROUTER = "router"
#: Types of logical switch ports that no chassis binds because of C(requested-chassis): ovn-northd copies the option of
#: a router's port to no Port_Binding (northd/northd.c, ovn_port_update_sbrec).
NOT_BOUND = (VIRTUAL, ROUTER)
#: Owner of the port by which a router reaches a provider network.
ROUTER_GATEWAY = "network:router_gateway"


@dataclasses.dataclass(frozen=True)
class OvnEncap:
    """A tunnel endpoint of a chassis."""

    type: str
    ip: str


@dataclasses.dataclass(frozen=True)
class OvnChassis:
    """A row of Chassis in the southbound database. ``nb_cfg``: of its Chassis_Private; None: there is none."""

    uuid: str
    name: str
    hostname: str
    encaps: t.List[OvnEncap]
    nb_cfg: t.Optional[int] = None


@dataclasses.dataclass(frozen=True)
class OvnPortBinding:
    """A row of Port_Binding. Chassis are uuids; ``requested``: what C(options:requested-chassis) resolves to."""

    uuid: str
    logical_port: str
    type: str
    chassis: t.Optional[str]
    requested: t.Optional[str]
    #: The text of C(options:requested-chassis); None: unset.
    option: t.Optional[str]
    up: t.Optional[bool]
    #: Further chassis, while a server migrates.
    additional: t.List[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class OvnSwitchPort:
    """A row of Logical_Switch_Port; its ``name`` is the id of neutron's port."""

    uuid: str
    name: str
    type: str
    requested: t.Optional[str]
    host_id: t.Optional[str]
    parent_hostname: t.Optional[str]
    activation_strategy: t.Optional[str]
    up: t.Optional[bool]
    #: The port that carries it, where it is a subport.
    parent_name: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class OvnConnection:
    """A row of Connection in the southbound database: where it listens, and the role of those who connect."""

    target: str
    role: str


@dataclasses.dataclass(frozen=True)
class OvnFacts:
    """What the two databases hold. ``scope``: names of hosts that were asked for; empty: the whole cloud."""

    read_at: str
    scope: t.List[str]
    chassis: t.Optional[t.List[OvnChassis]]
    #: Of the chassis in scope. Of the whole cloud only those whose requested chassis resolves to none.
    port_bindings: t.Optional[t.List[OvnPortBinding]]
    #: Of the hosts in scope; None too where the whole cloud was asked for.
    switch_ports: t.Optional[t.List[OvnSwitchPort]]
    #: Names of chassis that routers' gateways name.
    gateways: t.Optional[t.List[str]]
    connections: t.Optional[t.List[OvnConnection]]
    #: Milliseconds until ovn-northd had carried out a change; None: it was not tried, or did not answer.
    northd_ms: t.Optional[int] = None
    #: Where the southbound database was reached.
    southbound: str = ""
    unread: t.List[Unread] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class OvnBindingRow:
    """A row of neutron's C(ml2_port_bindings)."""

    port_id: str
    host: str
    vnic_type: t.Optional[str]
    vif_type: t.Optional[str]
    #: JSON, or empty.
    profile: t.Optional[str]
    status: t.Optional[str]


@dataclasses.dataclass(frozen=True)
class OvnLevelRow:
    """A row of neutron's C(ml2_port_binding_levels)."""

    port_id: str
    host: str
    level: int


@dataclasses.dataclass(frozen=True)
class OvnSegmentRow:
    """A row of neutron's C(segmenthostmappings)."""

    segment_id: str
    host: str


@dataclasses.dataclass(frozen=True)
class NeutronBindings:
    """The rows of neutron's database that go by the name of a host, where OVN binds the ports."""

    bindings: t.List[OvnBindingRow]
    levels: t.List[OvnLevelRow]
    segments: t.List[OvnSegmentRow]


def chassis_of(facts: OvnFacts, hostname: str) -> t.List[OvnChassis]:
    """Return every chassis with this hostname; none too where the chassis were not read."""
    return [entry for entry in facts.chassis or [] if entry.hostname == hostname]


def users(facts: OvnFacts, chassis: OvnChassis) -> t.List[str]:
    """Return the ports that a chassis has bound, or that ask for it."""
    return sorted(
        entry.logical_port
        for entry in facts.port_bindings or []
        if chassis.uuid in (entry.chassis, entry.requested, *entry.additional)
    )


def hostname_keys(external_ids: t.Mapping[str, str]) -> t.List[str]:
    """Return the keys of Open vSwitch that say the hostname of the chassis; the first one counts.

    ovn-controller reads C(hostname-SYSTEM_ID) before C(hostname) (lib/ovn-util.c, get_chassis_external_id_value).
    """
    keys = (f"hostname-{external_ids.get('system-id')}", "hostname")
    return [key for key in keys if key in external_ids]
