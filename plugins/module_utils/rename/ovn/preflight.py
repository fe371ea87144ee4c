# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that stands against a rename in place of a host whose ports are OVN's. Pure.

SG317 to SG325 and SG327, each before anything is touched. What was not read refuses: a port that names a hostname that
no chassis has is released at once.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ...hazards import ovn as hazards
from ...model.codes.catalogue import remedy_text
from ...model.facts import ApiPort, DatabaseFacts, HostFacts
from ...model.findings import WARNING, Finding, Subject, finding, with_remedy
from ...model.lookups import Item, Items, same_name
from ...model.ovn import (
    NOT_BOUND,
    ROUTER_GATEWAY,
    VIRTUAL,
    NeutronBindings,
    OvnChassis,
    OvnFacts,
    OvnPortBinding,
    OvnSwitchPort,
    chassis_of,
)

#: The unit that writes the machine's name into Open vSwitch at boot.
RECORD_HOSTNAME = "ovs-record-hostname.service"
#: From this version on that unit leaves alone what is there (openvswitch daeab9548).
LEAVES_ALONE = (3, 2)
#: Before this version ovs-ctl wrote the name at every start, without a unit.
WITH_UNIT = (2, 15)
#: The port of a connection that names none.
_OVSDB_PORT = "6640"
TRUNK_OWNER = "trunk:subport"


@dataclasses.dataclass(frozen=True)
class OvnHost:
    """A host whose ports are OVN's, with what was read of it."""

    inventory_name: str
    old: str
    new: str
    host: HostFacts
    databases: DatabaseFacts
    #: Ports by the API that are bound to the host; None: not read.
    ports: t.Optional[t.Sequence[ApiPort]]
    has_neutron_db: bool

    @property
    def subject(self) -> Subject:
        """The host, for findings."""
        return Subject("host", self.inventory_name, host=self.old)

    @property
    def ovn(self) -> t.Optional[OvnFacts]:
        """OVN's databases."""
        return self.databases.ovn

    @property
    def rows(self) -> t.Optional[NeutronBindings]:
        """Neutron's rows."""
        return self.databases.neutron.bindings if self.databases.neutron else None

    @property
    def external(self) -> t.Mapping[str, str]:
        """Open vSwitch's external_ids."""
        return self.host.ovs_external_ids or {}

    @functools.cached_property
    def chassis(self) -> t.Optional[OvnChassis]:
        """The chassis, where there is exactly one."""
        found = chassis_of(self.ovn, self.old) if self.ovn else []
        return found[0] if len(found) == 1 else None


def check(about: OvnHost) -> Items:
    """Return every reason against the rename."""
    gaps = list(_unread(about))
    yield from gaps
    ovn = about.ovn
    if ovn is None or ovn.chassis is None:
        return
    yield from _chassis(about, ovn)
    yield from _new_name(about, ovn.chassis)
    yield from _system_id(about)
    yield from _recorded(about)
    yield from _encap(about, ovn.chassis)
    yield from _rbac(about, ovn)
    if gaps:
        return
    yield from hazards.half_renames(ovn)
    yield from _unsettled(about, ovn)
    yield from _differences(about, ovn)
    yield from _not_proven(about, ovn)


def check_emptied(about: OvnHost) -> Items:
    """Return every reason against a rename by draining: the chassis gets another hostname, and is verified after it."""
    for item in _unread_emptied(about):
        yield with_remedy(item, remedy_text("SG317", "drain-unread")) if isinstance(item, Finding) else item
    yield from _recorded(about)
    yield from _system_id(about)
    ovn = about.ovn
    if ovn is None or ovn.chassis is None:
        return
    yield from _chassis(about, ovn)
    yield from _new_name(about, ovn.chassis)
    yield from _encap(about, ovn.chassis)
    yield from _rbac(about, ovn)
    # A port that no guest takes along would ask for the old name for good, after the point of no return.
    known = {port.id for port in about.ports or [] if port.binding_host_id == about.old}
    for port in ovn.switch_ports or []:
        words = (port.requested or "").split(",")
        if about.new in words and (about.chassis is None or about.new != about.chassis.name):
            yield _port(about, port.name, {"requested-chassis": port.requested, "new name": about.new})
        elif about.old in words and about.ports is not None and port.name not in known:
            yield _port(
                about,
                port.name,
                {"requested-chassis": port.requested, "network API": "the port is not bound to the host"},
            )


def _unread_emptied(about: OvnHost) -> Items:
    """SG317: what the run needs to verify the chassis afterwards, each part by itself."""
    ovn = about.ovn
    if ovn is None:
        yield _gap(about, "OVN's databases", "ovn_nb_connection and ovn_sb_connection are not set")
    else:
        reason = "; ".join(entry.reason for entry in ovn.unread) or "not read"
        for part in ("chassis", "switch_ports", "connections"):
            if getattr(ovn, part) is None:
                yield _gap(about, part, reason)
        if ovn.northd_ms is None:
            yield _gap(about, "ovn-northd", f"ovn-northd did not process a change: {reason}")
    if about.host.ovs_external_ids is None:
        reasons = [entry.reason for entry in about.host.unread if entry.part == "ovs_external_ids"]
        yield _gap(about, "external_ids of Open vSwitch", "; ".join(reasons) or "not read")


def _unread(about: OvnHost) -> Items:
    """SG317: what was not read, each part by itself."""
    ovn = about.ovn
    if ovn is None:
        yield _gap(about, "OVN's databases", "ovn_nb_connection and ovn_sb_connection are not set")
    else:
        reason = "; ".join(entry.reason for entry in ovn.unread) or "not read"
        for part in ("chassis", "port_bindings", "switch_ports", "gateways", "connections"):
            if getattr(ovn, part) is None:
                yield _gap(about, part, reason)
        if ovn.northd_ms is None:
            yield _gap(about, "ovn-northd", f"ovn-northd did not process a change: {reason}")
        wanted = [name for name in (about.old, about.new) if name not in ovn.scope]
        if wanted:
            yield _gap(about, "scope", f"the run did not search OVN's databases for {', '.join(wanted)}")
    if not about.has_neutron_db:
        yield _gap(
            about,
            "neutron's database",
            "neutron_db_url is not set. The rename needs neutron's database: if a rename changed the port "
            "bindings only through the network API, each port of the host would stay DOWN",
        )
    elif about.rows is None:
        neutron = about.databases.neutron
        reasons = [entry.reason for entry in neutron.unread if entry.part == "bindings"] if neutron else []
        yield _gap(about, "neutron's port bindings", "; ".join(reasons) or "not read")
    if about.host.ovs_external_ids is None:
        reasons = [entry.reason for entry in about.host.unread if entry.part == "ovs_external_ids"]
        yield _gap(about, "external_ids of Open vSwitch", "; ".join(reasons) or "not read")
    if about.ports is None:
        yield _gap(about, "ports", "the ports were not read from the network API")


def _gap(about: OvnHost, part: str, reason: str) -> Item:
    subject = Subject("host", f"{about.inventory_name}:{part}", part, about.old)
    return finding("SG317", subject, {"part": part, "reason": reason}, remedy_text("SG317", "rename-unread"))


def _chassis(about: OvnHost, ovn: OvnFacts) -> Items:
    """SG318, SG321: exactly one chassis has the host's name, and it is the one of this host's Open vSwitch."""
    found, own = chassis_of(ovn, about.old), about.external.get("system-id")
    if about.host.ovs_external_ids is None or (len(found) == 1 and found[0].name == own):
        return
    mine = [entry for entry in ovn.chassis or [] if entry.name == own]
    if not found and mine:
        evidence = {"hostname of the chassis": mine[0].hostname, "Nova's host": about.old}
        remedy = remedy_text("SG321", "renamed-chassis-with-another-hostname")
        yield finding("SG321", about.subject, evidence, remedy)
        return
    evidence_ = {"chassis of this hostname": [entry.name for entry in found], "system-id": own}
    yield finding("SG318", about.subject, evidence_, remedy_text("SG318", "renamed-hostname-of-other-chassis"))


def _new_name(about: OvnHost, chassis: t.Sequence[OvnChassis]) -> Items:
    """SG318: a chassis may have the new name as its own name, too; a list of chassis is divided by commas."""
    # The host's own chassis may: the host gets back the name that its chassis was made with.
    others = [entry for entry in chassis if about.chassis is None or entry.uuid != about.chassis.uuid]
    taken = [entry.name for entry in others if same_name(entry.name, about.new)]
    if taken:
        evidence = {"chassis of this name": taken}
        yield finding("SG318", about.subject, evidence, remedy_text("SG318", "new-name-is-a-chassis"))


def _system_id(about: OvnHost) -> Items:
    """SG319: kolla-ansible's default, which its next run derives from the new name: the chassis becomes another one."""
    own, names = about.external.get("system-id"), (about.old, about.host.kernel_hostname, about.host.fqdn or "")
    if own and any(same_name(own, name) or same_name(own, name.partition(".")[0]) for name in names if name):
        evidence = {"system-id": own, "host": about.old}
        remedy = remedy_text("SG319", "system-id-from-name", system_id=own, new=about.new)
        yield finding("SG319", about.subject, evidence, remedy)


def _recorded(about: OvnHost) -> Items:
    """SG320: at the next boot the machine's name is written over the hostname of the chassis, and its ports are cut."""
    key = f"hostname-{about.external.get('system-id')}"
    if key in about.external:
        return  # It counts before the key that the unit writes.
    version = _version(about.host.ovs_version)
    units = about.host.units
    unit = next((entry for entry in units or [] if entry.name == RECORD_HOSTNAME), None)
    writes = unit is not None and unit.load_state != "masked" and unit.unit_file_state not in ("disabled", "masked")
    if version is not None and (version >= LEAVES_ALONE or (not writes and version >= WITH_UNIT and units is not None)):
        return
    tried = about.host.rehearsal
    canonical = tried.hostname if tried is not None and not tried.undecided else None
    if canonical == about.new:
        return
    evidence = {
        "Open vSwitch": about.host.ovs_version or "version not known",
        RECORD_HOSTNAME: unit.unit_file_state if unit else "not found",
        "hostname -f after the rename": canonical or "not known",
    }
    remedy = remedy_text("SG320", "unit-writes-hostname", unit=RECORD_HOSTNAME, new=about.new)
    yield finding("SG320", about.subject, evidence, remedy)


def _version(text: t.Optional[str]) -> t.Optional[t.Tuple[int, ...]]:
    return tuple(int(part) for part in text.split(".")) if text else None


def _encap(about: OvnHost, chassis: t.Sequence[OvnChassis]) -> Items:
    """SG323: another chassis holds this host's tunnel address, so this one cannot register again."""
    own = about.external.get("system-id")
    addresses = {entry.strip() for entry in (about.external.get("ovn-encap-ip") or "").split(",")} - {""}
    for other in chassis:
        shared = sorted({encap.ip for encap in other.encaps} & addresses)
        # SG318 reports one of the host's own name.
        if shared and other.name != own and other.hostname != about.old:
            evidence = {"chassis": other.name, "hostname": other.hostname, "address": shared}
            remedy = remedy_text("SG323", "renamed-host-shares-tunnel-address", chassis=other.name)
            yield finding("SG323", about.subject, evidence, remedy)


def _rbac(about: OvnHost, ovn: OvnFacts) -> Items:
    """SG325: ovn-controller may not write its hostname, and neither may this run."""
    roles = {port: entry.role for entry in ovn.connections or [] if entry.role for port in _ports_of(entry.target)}
    if not roles:
        return
    mine = {port for member in ovn.southbound.split(",") for port in _ports_of(member.strip())}
    shared = sorted(mine & set(roles))
    if shared:
        evidence = {"ovn_sb_connection": ovn.southbound, "role": roles[shared[0]], "port": shared[0]}
        yield finding("SG325", about.subject, evidence, remedy_text("SG325", "southbound-port-with-role"))


def _ports_of(target: str) -> t.List[str]:
    """Return the TCP port of a connection: PORT[:ADDRESS] where one listens, ADDRESS[:PORT] where one connects."""
    scheme, _colon, rest = target.partition(":")
    if scheme in ("pssl", "ptcp"):
        port = rest.partition(":")[0]
    elif scheme in ("ssl", "tcp"):
        port = rest.rpartition("]")[2].rpartition(":")[2] if rest.startswith("[") else rest.partition(":")[2]
    else:
        return []
    return [port or _OVSDB_PORT]


# --- ports ------------------------------------------------------------------------------------------------------


def _unsettled(about: OvnHost, ovn: OvnFacts) -> Items:
    """SG324: a port in the middle of something, or that does not work by now.

    One that asks for several chassis is found by the rows that refer to the host's: without a chassis, none is.
    """
    for port in ovn.switch_ports or []:
        words = (port.requested or "").split(",")
        if len(words) > 1 and about.old in words:
            yield _port(about, port.name, {"requested-chassis": port.requested})
        elif port.activation_strategy is not None and about.old in (port.host_id, *words):
            yield _port(about, port.name, {"activation-strategy": port.activation_strategy})
        elif about.new in words and (about.chassis is None or about.new != about.chassis.name):
            yield _port(about, port.name, {"requested-chassis": port.requested, "new name": about.new})
    rows = about.rows.bindings if about.rows else []
    for row in rows:
        if row.host == about.new:
            yield _port(about, row.port_id, {"ml2_port_bindings.host": row.host})
        elif row.host == about.old and row.status not in (None, "ACTIVE"):
            yield _port(about, row.port_id, {"ml2_port_bindings.status": row.status, "host": row.host})
    mine = about.chassis
    bindings = {entry.logical_port: entry for entry in ovn.port_bindings or []}
    for binding in bindings.values():
        if mine is not None and binding.additional and mine.uuid in (binding.chassis, binding.requested):
            yield _port(about, binding.logical_port, {"additional chassis": binding.additional})
    for port in ovn.switch_ports or []:
        if mine is not None and port.requested == about.old and port.type not in NOT_BOUND:
            yield from _bound(about, mine, port, bindings.get(port.name))


def _bound(about: OvnHost, mine: OvnChassis, port: OvnSwitchPort, binding: t.Optional[OvnPortBinding]) -> Items:
    """A port that names the host is bound there and up, unless its guest does not run."""
    if binding is None:
        yield _port(about, port.name, {"Port_Binding": None})
    elif binding.requested != mine.uuid or binding.chassis not in (None, mine.uuid):
        evidence = {"chassis": binding.chassis, "requested chassis": binding.requested, "expected": mine.uuid}
        yield _port(about, port.name, evidence)
    elif (binding.chassis is None or not binding.up) and _is_used(about, port.name):
        yield _port(about, port.name, {"chassis": binding.chassis, "up": binding.up, "its guest": "runs"})


def _is_used(about: OvnHost, port_id: str) -> bool:
    """Whether a port should work: neutron calls it ACTIVE, or its guest runs."""
    running = {domain.uuid for domain in about.host.domains or [] if domain.state == "running"}
    port = next((entry for entry in about.ports or [] if entry.id == port_id), None)
    return port is None or port.status == "ACTIVE" or port.device_id in running


def _port(about: OvnHost, port_id: str, evidence: t.Mapping[str, t.Any]) -> Item:
    return finding("SG324", Subject("port", port_id, host=about.old), evidence, remedy_text("SG324", "port-unsettled"))


def _differences(about: OvnHost, ovn: OvnFacts) -> Items:
    """SG324: neutron's API, its database and OVN must name the same ports of the host."""
    by_api = {port.id for port in about.ports or [] if port.binding_host_id == about.old}
    in_database = {row.port_id for row in about.rows.bindings if row.host == about.old} if about.rows else set()
    asking = {port.name for port in ovn.switch_ports or [] if port.requested == about.old}
    without = {port.name for port in ovn.switch_ports or [] if port.type == VIRTUAL}
    without |= {port.id for port in about.ports or [] if port.device_owner == ROUTER_GATEWAY}
    by_name = about.chassis.name if about.chassis else None
    without |= {port.name for port in ovn.switch_ports or [] if port.requested == by_name}
    for port in sorted(by_api ^ in_database | (asking ^ in_database) - without):
        evidence = {
            "network API": port in by_api,
            "neutron's database": port in in_database,
            "requested-chassis": port in asking,
        }
        remedy = remedy_text("SG324", "sources-differ")
        yield finding("SG324", Subject("port", port, host=about.old), evidence, remedy)


def _not_proven(about: OvnHost, ovn: OvnFacts) -> Items:
    """SG327: ports that a rename with OVN was not tried with."""
    remedy = remedy_text("SG327", "not-tried")
    for row in about.rows.bindings if about.rows else []:
        if row.host == about.old and (row.vnic_type or "normal") != "normal":
            subject = Subject("port", row.port_id, host=about.old)
            yield finding("SG327", subject, {"binding:vnic_type": row.vnic_type}, remedy)
    for port in about.ports or []:
        if port.binding_host_id == about.old and (port.subports or port.device_owner == TRUNK_OWNER):
            yield finding("SG327", Subject("port", port.id, host=about.old), {"trunk": port.device_owner}, remedy)
    for entry in ovn.switch_ports or []:
        if entry.parent_hostname == about.old:
            evidence = {"virtual port of a guest": entry.name, "vif_details": "the old host name stays in vif_details"}
            text = remedy_text("SG327", "virtual-port")
            yield finding("SG327", Subject("port", entry.name, host=about.old), evidence, text, WARNING)
