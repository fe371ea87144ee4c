# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps that take a host's name along in OVN: ports, chassis, and neutron's rows. Pure.

A port is bound by the chassis that its C(requested-chassis) names, by the chassis' name or by its hostname. A port that
names neither is released at once, and its guest is cut off. So the order is:

1. Every port that names the old hostname names the chassis, whose name does not change.
2. The hostname changes: in Open vSwitch, from where ovn-controller takes it. ovn-controller keeps running: a clean stop
   of it deletes the chassis.
3. Neutron's rows change. Between 2 and 3 an update of a port by its owner writes the old hostname again: the run
   watches the northbound database from 1 to 4, and corrects that at once.
4. The ports name the new hostname, which is what neutron writes itself; its labels change with them.

Whatever was done of it, each port names something that its chassis is called: a run that ends in between cuts no guest
off. It is taken back in the reverse order.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model.facts import ApiAgent, ApiPort, HostFacts
from ...model.names import Names
from ...model.ovn import (
    NOT_BOUND,
    NeutronBindings,
    OvnChassis,
    OvnFacts,
    OvnPortBinding,
    OvnSwitchPort,
    chassis_of,
    hostname_keys,
)
from ...model.plan import (
    CONTROLLER,
    HOST,
    Change,
    PlanError,
    Step,
)
from ...model.wording import count
from ...name_places.place import needed


@dataclasses.dataclass(frozen=True)
class OvnRenaming:
    """What the steps take from the facts."""

    facts: OvnFacts
    rows: NeutronBindings
    chassis: OvnChassis
    external_ids: t.Mapping[str, str]
    old: str
    new: str
    where: str
    timeout: int

    @property
    def ports(self) -> t.List[OvnSwitchPort]:
        """Ports that name the old hostname."""
        return [port for port in self.facts.switch_ports or [] if port.requested == self.old]

    @property
    def labelled(self) -> t.List[OvnSwitchPort]:
        """Ports whose labels have the old hostname."""
        ports = self.facts.switch_ports or []
        return [port for port in ports if self.old in (port.host_id, port.parent_hostname)]

    @property
    def params(self) -> t.Dict[str, t.Any]:
        """What every step is told."""
        name = self.chassis.name
        kept = [port.uuid for port in self.facts.switch_ports or [] if port.requested == name and name != self.old]
        return {
            "old": self.old,
            "new": self.new,
            "chassis": {"name": name, "uuid": self.chassis.uuid},
            "keep": sorted(kept),
            "timeout": self.timeout,
        }


def renaming(
    facts: t.Optional[OvnFacts],
    rows: t.Optional[NeutronBindings],
    host: HostFacts,
    names: t.Tuple[Names, Names],
    timeout: int,
) -> OvnRenaming:
    """Return what the steps need. Raises :class:`PlanError` where something was not read, or is not one of a kind.

    ``names``: before and after. An override passes a finding, and never what is missing here.
    """
    read = needed(facts, "OVN's databases (ovn_nb_connection, ovn_sb_connection)")
    for part in ("chassis", "port_bindings", "switch_ports", "gateways", "connections", "northd_ms"):
        reason = next((entry.reason for entry in read.unread), "no reason was given")
        needed(getattr(read, part), f"{part} of OVN's databases: {reason}")
    external = needed(host.ovs_external_ids, "external_ids of Open vSwitch")
    old, new = names[0].host, names[1].host
    mine = chassis_of(read, old)
    if len(mine) != 1 or mine[0].name != external.get("system-id"):
        found = ", ".join(entry.name for entry in mine) or "none"
        raise PlanError(
            f"exactly one chassis must have the hostname {old}, and the name of this chassis must be the system-id of "
            f"Open vSwitch ({external.get('system-id')}). Found chassis: {found}. You cannot override this problem",
            problem="exactly-one-chassis",
        )
    others = [entry for entry in read.chassis or [] if entry.uuid != mine[0].uuid]
    if any(new in (entry.hostname, entry.name) for entry in others):
        raise PlanError(
            f"another chassis already has the name {new}. You cannot override this problem",
            problem="another-chassis-already",
        )
    stored = needed(rows, "the port bindings in neutron's database, which the run reads through neutron_db_url")
    return OvnRenaming(read, stored, mine[0], external, old, new, host.inventory_name, timeout)


def steps(about: OvnRenaming) -> t.List[Step]:
    """Return the steps that come before the host's own name changes, in order."""
    return [*_key(about), _ports_by_chassis(about), _hostname(about), _bindings(about), _ports_by_host(about)]


def proof(about: OvnRenaming, agents: t.Sequence[ApiAgent], ports: t.Sequence[ApiPort]) -> t.List[Step]:
    """Return the steps that look at all of it again, once the host has its new name."""
    without = _never_bound(about)
    bound = [
        {
            "port": binding.logical_port,
            "uuid": binding.uuid,
            "asks": binding.option is not None and binding.logical_port not in without,
        }
        for binding in about.facts.port_bindings or []
        if binding.chassis == about.chassis.uuid
    ]
    verified = {**about.params, "bindings": bound, "gateways": about.facts.gateways}
    alive = {
        "agents": [agent.id for agent in agents],
        "restarted": [],
        "ports": [port.id for port in ports if port.status == "ACTIVE"],
        "old": about.old,
        "new": about.new,
        "timeout": about.timeout,
    }
    title = f"OVN: verify the chassis and {count(len(bound), 'bound port')}"
    return [
        Step("ovn_verified", title, CONTROLLER, "ovn_verified", verified),
        Step("ovn_agents", "wait for OVN's agents to report under the new name", CONTROLLER, "agents_alive", alive),
    ]


def notes(about: OvnRenaming) -> t.List[str]:
    """Return what to know beside the steps."""
    tools = (
        "OVN: do not run a deployment tool on this host during the rename. A tool that writes the hostname into Open "
        "vSwitch cuts guests off from the network. Do not start neutron-ovn-db-sync-util during the rename: the run "
        "cannot detect whether neutron-ovn-db-sync-util is running."
    )
    found = [tools]
    if about.chassis.name in (about.facts.gateways or []):
        found.append(
            "OVN: this chassis is a gateway chassis of a router. The name of the chassis stays the same, so no gateway "
            "fails over."
        )
    return found


def _key(about: OvnRenaming) -> t.List[Step]:
    """Without the key the chassis follows the kernel's host name within a second, and its ports are released."""
    if hostname_keys(about.external_ids):
        return []
    params = {"system_id": about.chassis.name, "keys": {"hostname": {"before": None, "after": about.old}}}
    changes = [Change(f"{about.where} Open vSwitch", "external_ids:hostname", "", about.old)]
    return [
        Step(
            "ovn_key",
            "OVN: write the current hostname of the chassis into Open vSwitch",
            HOST,
            "ovs_hostname",
            params,
            changes,
        )
    ]


def _ports_by_chassis(about: OvnRenaming) -> Step:
    name = about.chassis.name
    bound = [binding.logical_port for binding in about.facts.port_bindings or [] if _is_bound(about, binding)]
    params = {**about.params, "ports": [port.name for port in about.ports], "bound": sorted(bound)}
    changes = [Change(f"OVN port {port.name}", "requested-chassis", about.old, name) for port in about.ports]
    title = f"OVN: write the system-id of the chassis into requested-chassis of {count(len(about.ports), 'port')}"
    return Step("ovn_ports_by_chassis", title, CONTROLLER, "ovn_ports_by_chassis", params, changes)


def _is_bound(about: OvnRenaming, binding: OvnPortBinding) -> bool:
    asked = binding.chassis == about.chassis.uuid and binding.requested == about.chassis.uuid
    return asked and binding.logical_port not in _never_bound(about)


def _never_bound(about: OvnRenaming) -> t.Set[str]:
    return {port.name for port in about.facts.switch_ports or [] if port.type in NOT_BOUND}


def _hostname(about: OvnRenaming) -> Step:
    present = hostname_keys(about.external_ids) or ["hostname"]
    keys = {
        key: {"before": about.old, "after": about.new}
        for key in present
        if about.external_ids.get(key, about.old) == about.old
    }
    rbac = any(entry.role for entry in about.facts.connections or [])
    params = {**about.params, "host": {"system_id": about.chassis.name, "keys": keys}, "rbac": rbac}
    changes = [
        *(Change(f"{about.where} Open vSwitch", f"external_ids:{key}", about.old, about.new) for key in sorted(keys)),
        Change(f"OVN chassis {about.chassis.name}", "hostname", about.old, about.new),
    ]
    return Step("ovn_hostname", "OVN: change the hostname of the chassis", CONTROLLER, "ovn_hostname", params, changes)


def _bindings(about: OvnRenaming) -> Step:
    rows = [
        *(["ml2_port_bindings", row.port_id] for row in about.rows.bindings if row.host == about.old),
        *(["ml2_port_binding_levels", row.port_id] for row in about.rows.levels if row.host == about.old),
        *(["segmenthostmappings", row.segment_id] for row in about.rows.segments if row.host == about.old),
    ]
    planned = sorted(map(list, {tuple(row) for row in rows}))
    params = {"old": about.old, "new": about.new, "rows": planned}
    changes = [Change(f"neutron {table} {key}", "host", about.old, about.new) for table, key in planned]
    title = f"neutron database: change the host name in {count(len(rows), 'row')} (port bindings and segments)"
    return Step("neutron_bindings", title, CONTROLLER, "neutron_bindings", params, changes)


def _ports_by_host(about: OvnRenaming) -> Step:
    name = about.chassis.name
    changes = [Change(f"OVN port {port.name}", "requested-chassis", name, about.new) for port in about.ports]
    for port in about.labelled:
        for label, value in (("neutron:host_id", port.host_id), ("neutron:parent_hostname", port.parent_hostname)):
            if value == about.old:
                changes.append(Change(f"OVN port {port.name}", label, about.old, about.new))
    title = f"OVN: write the new hostname into requested-chassis of {count(len(about.ports), 'port')}"
    return Step("ovn_ports_by_host", title, CONTROLLER, "ovn_ports_by_host", about.params, changes)
