# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name in neutron's port bindings: ``binding:host_id`` of every port of a guest. Pure."""

from __future__ import annotations

import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.facts import ApiPort
from ..model.findings import (
    BLOCKER,
    WARNING,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import Index, Item, Items
from ..model.network_agents import has_ovn
from ..model.ovn import ROUTER_GATEWAY
from ..model.plan import Change
from .place import (
    NamePlace,
    Renaming,
    StoredName,
    StoredNames,
    Text,
    needed,
)

#: vif types that mean no traffic (neutron, portbindings).
NO_TRAFFIC = ("binding_failed", "unbound")
#: How the owner of a guest's port begins.
COMPUTE_OWNER = "compute:"


class NeutronPorts(NamePlace):
    """Ports."""

    text = Text(
        "neutron, `binding:host_id` of each port",
        "network API",
        "once the agent has the new name, the run makes one API call for each port. The call binds the port to the new "
        "host name. The run binds a trunk's parent port before the trunk's subports",
        "for each port, the run makes one API call that binds the port to the old host name. If you override SG125 for "
        "a guest that Nova evacuated during the operation, the rollback does not change this guest's port bindings",
    )
    codes = ("SG306", "SG310")
    steps = ("neutron", "ports")
    noun = "port"
    against_rename = False

    def stored(self, index: Index) -> StoredNames:
        """The binding of each port."""
        for port in (index.bundle.cloud.ports if index.bundle.cloud else None) or []:
            subject = Subject("port", port.id, host=port.binding_host_id)
            yield StoredName(subject, "neutron port bindings", port.binding_host_id)

    def unread(self, index: Index) -> Items:
        """The API was not read."""
        if index.bundle.cloud is None or index.bundle.cloud.ports is None:
            yield Unchecked("SG306", "all", "the ports were not read")

    def stale(self, index: Index) -> Items:
        """SG306: a guest's port that is bound to no compute host, or to another one than its guest's; no traffic."""
        for port in (index.bundle.cloud.ports if index.bundle.cloud else None) or []:
            if port.binding_host_id in index.compute_hosts:
                yield from port_items(index, port)
            elif _is_stale(index, port):
                yield _finding(port, {"binding:host_id": port.binding_host_id, "compute service": None}, BLOCKER)

    def changes(self, renaming: Renaming) -> t.List[Change]:
        """The binding of each."""
        old, new = renaming.before.host, renaming.after.host
        return [Change(f"port {port.id}", "binding:host_id", old, new) for port in own_ports(renaming)]


def own_ports(renaming: Renaming) -> t.List[ApiPort]:
    """Return the ports of the old name, subports after the parent of their trunk. Raises PlanError."""
    ports = needed(renaming.cloud.ports, "ports")
    own = [port for port in ports if port.binding_host_id == renaming.before.host]
    return sorted(own, key=lambda port: any(port.id in other.subports for other in own))


def _is_stale(index: Index, port: ApiPort) -> bool:
    known = bool(index.compute_hosts) and index.in_api_scope(port.binding_host_id)
    return bool(port.binding_host_id) and known and (port.device_owner or "").startswith(COMPUTE_OWNER)


def port_items(index: Index, port: ApiPort) -> Items:
    """SG306 of a port that is bound to a compute host."""
    if port.binding_vif_type in NO_TRAFFIC:
        severity = WARNING if _gateway_of_ovn(index, port) else BLOCKER
        yield _finding(port, {"binding:vif_type": port.binding_vif_type}, severity)
    live = [row for _cell, row in index.instance_rows_by_uuid.get(port.device_id, []) if not row.deleted]
    if not live or not (port.device_owner or "").startswith(COMPUTE_OWNER):
        return
    row = live[0]
    settled = row.task_state is None and not index.migrations_by_instance.get(row.uuid)
    if settled and row.host is not None and row.host != port.binding_host_id:
        yield _finding(port, {"binding:host_id": port.binding_host_id, "instances.host": row.host}, BLOCKER)


def _gateway_of_ovn(index: Index, port: ApiPort) -> bool:
    """Whether OVN carries a router's gateway, by the chassis of the router's port: neutron's binding only shows it.

    neutron, ovn_l3/plugin.py, update_router_gateway_port_bindings: it binds the port to whatever hostname the chassis
    has, also to one that no agent has.
    """
    cloud = index.bundle.cloud
    agents = [row for row in (cloud.agents if cloud else None) or [] if row.host == port.binding_host_id]
    return port.device_owner == ROUTER_GATEWAY and has_ovn(agents)


def _finding(port: ApiPort, evidence: t.Mapping[str, t.Any], severity: str) -> Item:
    return finding(
        "SG306",
        Subject("port", port.id, host=port.binding_host_id),
        {"device": port.device_id, "device_owner": port.device_owner, **evidence},
        remedy_text("SG306", "binding-wrong"),
        severity,
    )


PLACE = NeutronPorts()
