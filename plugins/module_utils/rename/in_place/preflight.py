# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that stands against a rename of a compute host, all of it at once. Pure.

The preconditions are those of the facts of nova, 3.2, and they fail closed: each part of the evidence that a rename
depends on and that was not read is a blocker of its own (SG709). What may be said of any host at any time comes from
the general checks; what is here is said of this rename.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ...hazards import (
    deployment,
    guest_places,
    identity,
    in_flight,
    names,
    owners,
)
from ...model import deployment as deployments
from ...model import input_rules, releases
from ...model import names as naming
from ...model.codes.catalogue import remedy_text
from ...model.commands import typed
from ...model.facts import (
    LOCK_EXCLUSIVE,
    NEUTRON_AGENT,
    ApiAgent,
    ApiPort,
    Bundle,
    CellFacts,
    ComputeNodeRow,
    FileLine,
    HostFacts,
    NameSpace,
    ResourceProvider,
    ServiceRow,
    Unit,
)
from ...model.findings import (
    BLOCKER,
    NO_OVERRIDE,
    WARNING,
    Checked,
    Subject,
    Unchecked,
    finding,
)
from ...model.host_facts import NOT_RUNNING
from ...model.lookups import (
    COMPUTE,
    Index,
    Item,
    Items,
    gather,
    instance_subject,
    same_name,
    uuid_key,
)
from ...model.names import conf_host
from ...model.network_agents import (
    L2_AGENTS,
    OVN_AGENTS,
    OVN_CONTROLLERS,
    has_ovn,
    signs_of_ovn,
)
from ...model.ovn import ROUTER_GATEWAY
from ...model.requests import RenameRequest
from ...name_places import neutron_ports
from ...name_places.catalogue import declared, written
from ...name_places.place import WantedName
from ..containers import preflight as containers
from ..ovn import preflight as ovn
from . import (
    attachments,
    hostnames,
    name_taken,
    name_users,
    resolution,
)

#: Evidence of SG709: a name that the reading was not asked for.
NOT_SEARCHED = "not searched"
#: Evidence of SG118: the new name is the host's name now.
CURRENT = "current name"
#: Owner of the ports that a trunk carries (neutron-lib, services/trunk/constants.py).
SUBPORT = "trunk:subport"
_HOST_PARTS = (
    "addresses",
    "compute_id_files",
    "nova_conf",
    "libvirt",
    "domains",
    "units",
    "resolutions",
    "etc_hosts",
    "open_operations",
    "name_spaces",
    "name_users",
    "deployment",
)
_CLOUD_PARTS = (
    "compute_max_microversion",
    "services",
    "hypervisors",
    "servers",
    "aggregates",
    "providers",
    "migrations",
    "agents",
    "ports",
)
_CELL_PARTS = ("services", "compute_nodes", "instances", "migrations")
_API_PARTS = ("host_mappings", "aggregate_hosts")


class Case:
    """One rename of any strategy, with what is known of the host, found once."""

    def __init__(self, bundle: Bundle, request: RenameRequest, in_place: bool) -> None:
        self.bundle = bundle
        self.index = Index(bundle)
        self.request = request
        self.in_place = in_place
        self.old = request.rename_from
        self.host: t.Optional[HostFacts] = bundle.hosts.get(request.inventory_name)
        self.subject = Subject("host", request.inventory_name, host=request.rename_from)

    @functools.cached_property
    def nodes(self) -> t.List[t.Tuple[CellFacts, ComputeNodeRow]]:
        """Existing compute nodes of the old name, in all cells."""
        return self.index.node_rows_by_host.get(self.old, [])

    @functools.cached_property
    def services(self) -> t.List[t.Tuple[CellFacts, ServiceRow]]:
        """Existing nova-compute services of the old name, in all cells."""
        return self.index.services_by_host.get(self.old, [])

    @property
    def node(self) -> t.Optional[ComputeNodeRow]:
        """The compute node, where there is exactly one."""
        return self.nodes[0][1] if len(self.nodes) == 1 else None

    @property
    def service(self) -> t.Optional[ServiceRow]:
        """The compute service, where there is exactly one."""
        return self.services[0][1] if len(self.services) == 1 else None

    @functools.cached_property
    def told(self) -> t.Union[t.Tuple[naming.Names, naming.Names], str, None]:
        """Names before and after; the reason why they cannot be told; None: not enough was read."""
        node = self.node.hypervisor_hostname if self.node else None
        if self.host is None or self.host.nova_conf is None or node is None:
            return None
        try:
            return naming.rename(self.host, node, self.request.rename_to, self.request.hypervisor_hostname)
        except naming.NamesError as error:
            return str(error)

    @property
    def after(self) -> t.Optional[naming.Names]:
        """Names after the rename, as far as they are known."""
        return self.told[1] if isinstance(self.told, tuple) else None

    @functools.cached_property
    def provider(self) -> t.Optional[ResourceProvider]:
        """The resource provider of the node's uuid."""
        uuid = self.node.uuid if self.node else None
        return self.index.providers_by_uuid.get(uuid_key(uuid)) if uuid else None

    @property
    def changes_host(self) -> bool:
        """Whether the host's name in Nova changes, and not libvirt's alone."""
        return self.old != self.request.rename_to

    @property
    def agents_register_anew(self) -> bool:
        """Whether a rename in place changes no row of an agent: each has to register under the new name by itself."""
        return self.changes_host and not self.request.has_neutron_db and not has_ovn(self.agents)

    @functools.cached_property
    def agents(self) -> t.List[ApiAgent]:
        """Network agents of the old name."""
        return [row for row in (self.bundle.cloud.agents if self.bundle.cloud else None) or [] if row.host == self.old]


def preflight_rename(bundle: Bundle, request: RenameRequest, in_place: bool = True) -> Checked:
    """Return every reason against a rename. ``in_place`` False: the host is drained and registers anew instead."""
    case = Case(bundle, request, in_place)
    items: t.List[Item] = [*_evidence(case), *_new_name(case), *_host_itself(case), *_home(case)]
    items += [*_other_services(case), *_name_spaces(case), *_deployment(case), *_name_users(case)]
    items += [*in_flight.release(case.index), *_release(case)]
    items += in_flight.host_items(case.index, case.old, case.host)
    items += names.host_items(case.index, case.old)
    items += _lock(case)
    items += name_taken.check(case.index, _taken_request(case), case.in_place)
    items += _volumes(case)
    if case.host is not None:
        items += resolution.check(bundle, case.host, case.old, request.rename_to)
        items += in_flight.ha_automation(case.index, case.host)
    if in_place:
        items += _in_place(case)
    return once(guest_places.joined(gather(items)))


def _in_place(case: Case) -> Items:
    yield from _links(case)
    yield from _network(case)
    yield from _ovn(case)
    yield from _ports(case)
    yield from _routed_unread(case)
    yield from _guest_ports(case)
    yield from _child_providers(case)
    yield from _grants(case)
    if case.host is not None:
        yield from unit_items(case, case.host)
        yield from configuration_items(case, case.host)


def once(checked: Checked) -> Checked:
    """Leave out what two checks said of one object in the same words."""
    seen: t.Set[t.Tuple[str, ...]] = set()
    kept = []
    for item in checked.findings:
        key = (item.code, item.object.kind, item.object.id, repr(item.evidence))
        if key not in seen:
            seen.add(key)
            kept.append(item)
    return Checked(tuple(kept), tuple(dict.fromkeys(checked.unchecked)))


# --- evidence -------------------------------------------------------------------------------------------------


def _evidence(case: Case) -> Items:
    if case.host is None:
        reason = case.bundle.unreachable.get(case.request.inventory_name, "the evidence has no facts of this host")
        yield finding(
            "SG114",
            case.subject,
            {"reason": reason},
            remedy_text("SG114", "unread-before-rename"),
        )
    for part, reason in [*_host_gaps(case), *_database_gaps(case), *_cloud_gaps(case)]:
        yield missing(case, part, reason)
    for where, name in _not_searched(case):
        reason = (
            f"the run did not search for {name}, because {name} is not in the list of the host names to search for. If "
            f"{name} is the host's new name in libvirt, set rename_hypervisor_hostname. If {name} is another name, "
            "leave the option 'hosts' empty in the modules cell_info and cloud_info"
        )
        yield missing(case, where, reason, more={NOT_SEARCHED: name})


def missing(
    case: Case,
    part: str,
    reason: str,
    remedy: t.Optional[str] = None,
    fixed: t.Optional[str] = None,
    more: t.Optional[t.Mapping[str, t.Any]] = None,
) -> Item:
    """SG709: a part of the evidence. ``fixed``: why no override passes it, if none does; ``more``: evidence."""
    subject = Subject("host", f"{case.request.inventory_name}:{part}", part, case.old)
    evidence = {"part": part, "reason": reason, **(more or {}), **_fixed(fixed)}
    return finding("SG709", subject, evidence, remedy or remedy_text("SG709", "unread-before-rename"))


def _host_gaps(case: Case) -> t.Iterator[t.Tuple[str, str]]:
    if case.host is None:
        return
    reasons = {entry.part: entry.reason for entry in case.host.unread}
    for part in _HOST_PARTS:
        if getattr(case.host, part) is None:
            yield part, reasons.get(part, "not read")
    if case.host.nova_conf is not None and case.host.nova_conf.environment is None:
        part = "nova_conf.environment"
        yield part, reasons.get(part, "not read")
    if case.host.resolutions is not None and case.request.rename_to not in {
        entry.name for entry in case.host.resolutions
    }:
        yield "resolutions", f"the run did not resolve the name {case.request.rename_to} on the host"


def _database_gaps(case: Case) -> t.Iterator[t.Tuple[str, str]]:
    databases = case.bundle.databases
    if databases is None:
        yield "databases", "not read"
        return
    reasons = {entry.part: entry.reason for entry in databases.unread}
    wanted = ["api", "cells"]
    if case.in_place:
        wanted += ["grants", *(["neutron"] if case.request.has_neutron_db else [])]
    for part in wanted:
        if part in reasons or getattr(databases, part) is None:
            yield f"databases.{part}", reasons.get(part, "not read")
    if databases.api is not None:
        yield from _gaps("api", databases.api, _API_PARTS)
    for cell in databases.cells or []:
        yield from _gaps(f"cell:{cell.name}", cell, _CELL_PARTS)
    if databases.cells is not None and not databases.cells:
        yield "databases.cells", "there is no cell"
    if databases.neutron is not None and databases.neutron.agents is None and case.in_place:
        yield from _gaps("neutron", databases.neutron, ("agents",))


def _gaps(where: str, owner: t.Any, parts: t.Sequence[str]) -> t.Iterator[t.Tuple[str, str]]:
    reasons = {entry.part: entry.reason for entry in owner.unread}
    missing_tables = [table for table in declared(where.partition(":")[0]) if table not in owner.name_rows]
    for part in [*(part for part in parts if getattr(owner, part) is None), *missing_tables]:
        yield f"databases.{where}.{part}", reasons.get(part, "not read")


def _not_searched(case: Case) -> t.Iterator[t.Tuple[str, str]]:
    """Yield where a reading that was narrowed did not ask for a name that matters here, and the name."""
    databases, cloud = case.bundle.databases, case.bundle.cloud
    if databases is not None and databases.api is not None:
        yield from _out_of_scope(case, "databases.api", databases.api.scope, False)
    for cell in (databases.cells if databases is not None else None) or []:
        yield from _out_of_scope(case, f"databases.cell:{cell.name}", cell.scope, True)
    if cloud is not None:
        yield from _out_of_scope(case, "cloud", cloud.scope, True)


def _out_of_scope(case: Case, where: str, scope: t.Sequence[str], nodes: bool) -> t.Iterator[t.Tuple[str, str]]:
    # ``nodes``: names of nodes matter there, too.
    wanted = [case.old, case.request.rename_to]
    if nodes and isinstance(case.told, tuple):
        before, after = case.told
        wanted += [after.hypervisor_hostname] if after.hypervisor_hostname != before.hypervisor_hostname else []
    for name in dict.fromkeys(wanted):
        # What no host can be called is not sent to an API: SG118, and SG310 is undecided.
        asked_for = where != "cloud" or not input_rules.problems({"name": name}, "host")
        if asked_for and scope and not any(same_name(name, entry) for entry in scope):
            yield where, name


def _cloud_gaps(case: Case) -> t.Iterator[t.Tuple[str, str]]:
    cloud = case.bundle.cloud
    if cloud is None:
        yield "cloud", "the APIs were not read"
        return
    reasons = {entry.part: entry.reason for entry in cloud.unread}
    for part in _CLOUD_PARTS:
        if getattr(cloud, part) is None:
            yield f"cloud.{part}", reasons.get(part, "not read")
    for part, reason in sorted(reasons.items()):
        # Parts of parts: services of a cell that does not answer, servers whose cell does not.
        if part.startswith(("services.", "servers.")):
            yield f"cloud.{part}", reason
    if case.provider is not None and case.provider.allocations is None and case.in_place:
        yield "cloud.providers.allocations", "the allocations of the host's resource provider were not read"


# --- the new name ---------------------------------------------------------------------------------------------


def _new_name(case: Case) -> Items:
    """SG118, SG111: see rename/in_place/hostnames.py for the sources of each limit."""
    new = case.request.rename_to
    subject = Subject("host", new, host=case.old)
    wrong = hostnames.problems(new)
    if new == case.old:
        wrong.append("this is the host's current name")
    extra = case.request.hypervisor_hostname
    if extra is not None:
        wrong += [f"rename_hypervisor_hostname {extra}: {problem}" for problem in hostnames.problems(extra)]
    wrong += _too_long(case)
    if isinstance(case.told, str) and not wrong:
        wrong.append(case.told)
    if wrong:
        remedy = remedy_text("SG118", "not-a-free-host-name")
        evidence = {"name": new, "wrong": wrong, **({CURRENT: True} if new == case.old else {})}
        yield finding("SG118", subject, evidence, remedy)
    if input_rules.problems({"rename_to": new}, "host"):
        yield Unchecked(
            "SG310",
            new,
            (
                "the run did not search the APIs for this name, because the name is invalid and no host can have an "
                "invalid name"
            ),
        )
    if new != new.lower() and not wrong:
        remedy = remedy_text("SG118", "capital-letters")
        yield finding("SG118", subject, {"name": new, "wrong": ["the name has capital letters"]}, remedy, WARNING)
    if hostnames.never_resolves(new):
        remedy = remedy_text("SG111", "reserved-domain")
        yield finding("SG111", subject, {"name": new}, remedy, BLOCKER)


def _too_long(case: Case) -> t.List[str]:
    after = case.after
    if after is None:
        return []
    wrong = []
    if after.os is not None and len(after.os) > hostnames.KERNEL_MAX:
        wrong.append(f"the name has {len(after.os)} characters; the kernel's limit is {hostnames.KERNEL_MAX}")
    old_node = (case.node.hypervisor_hostname if case.node else None) or ""
    longer = len(after.hypervisor_hostname) - len(old_node)
    for provider in _tree(case):
        length = len(provider.name) + longer
        if length > hostnames.PROVIDER_MAX:
            wrong.append(
                f"the new name of provider {provider.name} would have {length} characters; the limit is "
                f"{hostnames.PROVIDER_MAX}"
            )
    return wrong


def _tree(case: Case) -> t.List[ResourceProvider]:
    if case.provider is None:
        return []
    return [case.provider, *case.index.children.get(uuid_key(case.provider.uuid), [])]


def _taken_request(case: Case) -> WantedName:
    new = {case.request.rename_to, *([case.request.hypervisor_hostname] if case.request.hypervisor_hostname else [])}
    if isinstance(case.told, tuple):
        before, after = case.told
        new |= {after.host, *([after.os] if after.os else [])}
        if after.hypervisor_hostname != before.hypervisor_hostname:
            # Kept, it is nothing new: whoever else bears it is told as a duplicate (SG205).
            new.add(after.hypervisor_hostname)
    node, service = case.node, case.service
    return WantedName(
        inventory_name=case.request.inventory_name,
        old=case.old,
        new=frozenset(name.casefold() for name in new),
        node_uuid=node.uuid if node else None,
        service_uuid=service.uuid if service else None,
        old_node=node.hypervisor_hostname if node else None,
    )


# --- the host and its home ------------------------------------------------------------------------------------


def _host_itself(case: Case) -> Items:
    """What identity says of this host and of no other, and that it is the host that is meant."""
    if case.host is None:
        return
    own = conf_host(case.host)
    if own is not None and own != case.old:
        evidence = {"CONF.host": own, "rename_from": case.old, "differ only in case": same_name(own, case.old)}
        remedy = remedy_text("SG106", "conf-host-not-rename-from")
        if owners.copied_node(case.index, case.host) is None:
            remedy = f"{remedy} {remedy_text('SG106', 'no-copied-node')}"
        yield finding("SG106", case.subject, evidence, remedy)
    for item in identity.duplicates(case.index):
        # Where another host was not read, or not wholly, it is not known whether it is this one's double.
        if isinstance(item, Unchecked) or item.object.id == case.host.inventory_name:
            yield item
    for item in identity.host_items(case.index, case.host):
        # Unread parts are blockers here (SG709), and so is a host that no database knows (see _home).
        if not isinstance(item, Unchecked) and item.code != "SG119":
            yield item
    yield from _guest_places(case)
    yield from _no_peers(case)
    yield from _duplicate_node_name(case)


def _guest_places(case: Case) -> Items:
    """SG709: a guest of the host may be on a host that was not read. Where its domains are is told with the host."""
    rows = case.index.instances_by_host.get(case.old, [])
    for item in guest_places.against_touching(case.index, (guest_places.of_row(cell, row) for cell, row in rows)):
        # One without any domain is SG109.
        if isinstance(item, Unchecked) or (item.code == "SG709" and item.evidence["domains"]):
            yield item


def _name_spaces(case: Case) -> Items:
    """SG123: a service that keeps the old name whatever the host is called; SG709: one of which it is not known."""
    for entry in (case.host.name_spaces if case.host else None) or []:
        subject = Subject("host", f"{case.request.inventory_name}:{entry.service}", entry.service, case.old)
        if entry.own:
            remedy = containers.refusal(case.host, case.request, entry, case.after)
            if remedy is not None:
                evidence = {"service": entry.service, "seen": entry.what, "its host name": entry.hostname}
                yield finding("SG123", subject, evidence, remedy)
        elif entry.own is None and not _no_agent(case, entry):
            reason = (
                f"the run does not know whether {entry.service} uses the host name of the operating system "
                f"({entry.what}): {entry.reason}"
            )
            remedy = remedy_text("SG709", "host-name-of-service-unknown")
            yield missing(case, f"host name of {entry.service}", reason, remedy)


def _no_agent(case: Case, entry: NameSpace) -> bool:
    """Whether a container that may not be seen cannot matter: no agent runs here, and neutron has none of this host.

    The OVN controller agent is none of neutron's programs: it is ovn-controller, and Open vSwitch has its host name.
    """
    agents = case.bundle.cloud.agents if case.bundle.cloud else None
    stopped = entry.service == NEUTRON_AGENT and entry.kind == NOT_RUNNING
    programs = [agent for agent in agents or [] if agent.agent_type not in OVN_CONTROLLERS]
    return stopped and agents is not None and not any(same_name(agent.host, case.old) for agent in programs)


def _deployment(case: Case) -> Items:
    """SG130: what has to be stopped is not known, and the operator does not say it. SG126 to SG129: what it hides."""
    if case.host is None:
        return  # SG114
    for item in deployment.host_items(case.index, case.host):
        if isinstance(item, Unchecked):
            # A deployment that was not read is SG709; the rest says nothing against a rename.
            if case.host.deployment is not None:
                yield item
        elif case.in_place:
            yield containers.stricter(case.host, item)
        elif item.code != "SG127":
            # A host that is drained has no guests when its services stop; its compute_id files are removed.
            yield dataclasses.replace(item, severity=BLOCKER) if item.code == "SG129" else item
    found = deployments.of_host(case.host)
    if found is None or deployments.explicit(case.request):
        return  # SG709
    refusal = deployments.refusal(found)
    if refusal is not None:
        evidence = {"deployment": found.kind, "why": found.why or refusal, "seen": list(found.seen)}
        remedy = remedy_text("SG130", "units-of-nova-compute-unknown", refusal=refusal)
        yield finding("SG130", case.subject, evidence, remedy)


def _name_users(case: Case) -> Items:
    """SG312 to SG314: what else goes by the host's name, on it and in Masakari. SG709: what was not looked for."""
    cloud = case.bundle.cloud
    if cloud is not None:
        yield from name_users.masakari(cloud, case.old, case.request.rename_to)
        yield from name_users.blazar(cloud, case.old)
    found = case.host.name_users if case.host else None
    if case.host is None or found is None:
        return  # SG114, SG709
    reasons = {entry.part: entry.reason for entry in found.unread}
    for part in ("residents", "options", "cloud_init", "certificates"):
        if getattr(found, part) is None:
            yield missing(case, f"name_users.{part}", reasons.get(part, "not read"))
    names_of = case.told if isinstance(case.told, tuple) else None
    yield from name_users.check(case.subject, found, names_of)


def _volumes(case: Case) -> Items:
    """SG308: of a host that is drained the attachments are made anew. An adoption finds what has happened already."""
    severity = BLOCKER if case.request.adopt is None else WARNING
    if case.bundle.cloud is not None:
        yield from attachments.cinder_volume(case.bundle.cloud.block_storage, case.subject, case.host, severity)
    if case.in_place and case.changes_host:
        yield from attachments.stale(case.bundle, case.subject, case.request.rename_to, severity)


def _no_peers(case: Case) -> Items:
    """An inventory pattern that matches nothing is no error to Ansible: then nothing was compared."""
    if not {*case.bundle.hosts, *case.bundle.unreachable} - {case.request.inventory_name}:
        for code in ("SG107", "SG310"):
            why = "the run has read no other compute host: check stackguard_compute_hosts"
            yield Unchecked(code, "other compute hosts", why)


def _duplicate_node_name(case: Case) -> Items:
    name = case.node.hypervisor_hostname if case.node else None
    others = [
        (cell, row)
        for cell, row in case.index.node_rows
        if same_name(row.hypervisor_hostname, name) and row is not case.node
    ]
    for cell, row in others:
        yield finding(
            "SG205",
            Subject("compute_node", str(row.uuid), row.hypervisor_hostname, row.host),
            {"read from": f"cell {cell.name}", "host": row.host, "also": str(case.node.uuid) if case.node else None},
            remedy_text("SG205", "another-node-with-libvirt-name"),
        )
    scopes = [name for cell in case.index.cells or [] for name in cell.scope]
    if name is not None and scopes and not any(same_name(name, entry) for entry in scopes):
        yield Unchecked("SG205", name, "the run did not search the databases for other compute nodes of this name")


def _home(case: Case) -> Items:
    """Exactly one existing compute node and service, over all cells, in the same one (facts of nova, 3.2)."""
    index = case.index
    if not index.cells_read("services") or not index.cells_read("compute_nodes") or not index.in_scope(case.old):
        return  # SG709
    if not case.nodes and not case.services:
        alike = sorted({str(name) for name in index.services_by_host if same_name(name, case.old)})
        remedy = remedy_text("SG119", "old-name-unknown")
        yield finding("SG119", case.subject, {"searched for": case.old, "similar names": alike}, remedy)
        return
    yield from _too_many(case)
    if not case.nodes:
        for cell, service in case.services:
            yield identity.service_without_node(cell, service)
    if not case.services:
        for cell, row in case.nodes:
            subject = Subject("compute_node", str(row.uuid), row.hypervisor_hostname, row.host)
            remedy = remedy_text("SG204", "service-missing-before-rename")
            yield finding("SG204", subject, {"read from": f"cell {cell.name}", "host": row.host}, remedy)
    if case.node is not None and case.service is not None:
        yield from _one_home(case, case.service)


def _too_many(case: Case) -> Items:
    if len(case.nodes) > 1 or len(case.services) > 1:
        evidence = {
            "compute nodes": [[cell.name, row.uuid, row.hypervisor_hostname] for cell, row in case.nodes],
            "services": [[cell.name, row.uuid] for cell, row in case.services],
        }
        yield finding("SG205", case.subject, evidence, remedy_text("SG205", "several-rows-of-host"))


def _other_services(case: Case) -> Items:
    """SG301: Nova's other services of that name; a rename would leave them under the old one."""
    seen: t.Set[t.Optional[str]] = set()
    rows: t.List[t.Tuple[str, t.Optional[str], t.Optional[str], t.Optional[str]]] = [
        (f"cell {cell.name}", row.uuid, row.binary, row.host)
        for cell in case.index.cells or []
        for row in cell.services or []
        if not row.deleted
    ]
    rows += [("compute API", row.id, row.binary, row.host) for row in case.index.api_services or []]
    for place, uuid, binary, host in rows:
        if binary == COMPUTE or uuid in seen or not same_name(host, case.old):
            continue
        seen.add(uuid)
        evidence = {"read from": place, "binary": binary, "host": host}
        remedy = remedy_text("SG301", "other-service-of-nova", binary=binary, uuid=uuid)
        delete = typed(("openstack", "compute", "service", "delete"), uuid)
        yield finding("SG301", Subject("service", str(uuid), binary, host), evidence, remedy, commands=delete)


def _one_home(case: Case, service: ServiceRow) -> Items:
    (node_cell, _node), (service_cell, _service) = case.nodes[0], case.services[0]
    if node_cell is not service_cell:
        evidence: t.Dict[str, t.Any] = {"compute node": node_cell.name, "service": service_cell.name}
        yield finding("SG205", case.subject, evidence, remedy_text("SG205", "rows-in-two-cells"))
    databases, shown = case.bundle.databases, case.index.api_services
    if databases is not None and databases.api is not None and databases.api.host_mappings is not None:
        yield from identity.unmapped(case.index, service)
    if shown is not None and not any(entry.id == service.uuid and entry.binary == COMPUTE for entry in shown):
        evidence = {"service": service.uuid, "compute API": [entry.id for entry in shown if entry.host == case.old]}
        remedy = remedy_text("SG301", "api-without-service")
        yield finding("SG301", Subject("service", str(service.uuid), host=service.host), evidence, remedy)


def _release(case: Case) -> Items:
    """SG705: in place from 27 on; before, nothing ties the node to the host but its name (facts of nova, 1.3)."""
    if case.host is None:
        return
    known = case.index.host_releases(case.host)
    if known is None:
        evidence: t.Dict[str, t.Any] = {
            "nova package": case.host.nova_version,
            "service": case.service.version if case.service else None,
        }
        remedy = remedy_text("SG705", "release-unknown-before-rename")
        yield finding("SG705", Subject("host", case.request.inventory_name, host=case.old), evidence, remedy)
    elif case.in_place and not set(known) & set(releases.RENAME_IN_PLACE):
        evidence = {"release": list(known), "in place from": min(releases.RENAME_IN_PLACE)}
        remedy = remedy_text("SG705", "release-finds-node-by-name")
        yield finding("SG705", case.subject, evidence, remedy)


# --- links that say which node is this host's -----------------------------------------------------------------


def _links(case: Case) -> Items:
    """SG203, SG214: an id that says another thing than the name; a rename would keep the id and lose the name."""
    node, service = case.node, case.service
    if node is None or service is None:
        return
    if node.service_id is not None and node.service_id != service.id:
        cell = case.nodes[0][0]
        other = [row.host for entry, row in case.index.services if entry is cell and row.id == node.service_id]
        subject = Subject("compute_node", str(node.uuid), node.hypervisor_hostname, node.host)
        evidence = {"service_id": node.service_id, "its own service": service.id, "service of that id": other}
        # Narrowed, another host's service was not read: what may be another's is taken for it.
        code = "SG203" if other or case.index.narrowed else "SG202"
        yield finding(code, subject, evidence, remedy_text(code, "service-id-not-its-own"))
    for _cell, row in case.index.instances_by_host.get(case.old, []):
        if row.compute_id is not None and row.compute_id != node.id:
            evidence = {"compute_id": row.compute_id, "node of its host": node.id, "host": row.host}
            remedy = remedy_text("SG214", "compute-id-not-of-its-node")
            yield finding("SG214", instance_subject(row), evidence, remedy)


# --- network --------------------------------------------------------------------------------------------------


def _network(case: Case) -> Items:
    """SG305 (facts of the lab, "Rename and the Open vSwitch agent"; facts of nova, 3.1)."""
    for agent in case.agents:
        if agent.agent_type in L2_AGENTS:
            yield from _l2_agent(case, agent)
        elif agent.agent_type in OVN_AGENTS:
            pass  # Its name follows the chassis: see _ovn.
        elif is_distributed(agent):
            yield agent_item(agent, DISTRIBUTED, DRAIN_DISTRIBUTED, fixed=_keeps_its_name(case))
        else:
            remedy = remedy_text("SG305", "agent-of-network-node-before-rename")
            why = (
                "this agent belongs to a network node: after a rename, the places that store the agent's host name "
                "would still contain the old name"
            )
            yield agent_item(agent, why, remedy, fixed=_keeps_its_name(case))
        if agent.agent_type not in OVN_AGENTS:
            yield from _row(case, agent)
        if not agent.alive:
            remedy = remedy_text("SG305", "agent-not-alive-before-rename")
            yield agent_item(agent, "not alive", remedy, fixed=_ANEW if case.agents_register_anew else None)
    if case.host is not None and any(agent.agent_type in L2_AGENTS for agent in case.agents):
        yield from agent_on_host(case, case.host)


_BESIDE_OVN = "on a host with OVN, a rename in place cannot change the name of another agent"
_ANEW = "neutron_db_url is not set, so this agent would have to register under the new name after a restart"


def _keeps_its_name(case: Case) -> t.Optional[str]:
    """Say why an agent that is neither an L2 agent nor OVN's would keep the old name, whatever is overridden."""
    if not case.changes_host:
        return None
    return _BESIDE_OVN if has_ovn(case.agents) else _ANEW if case.agents_register_anew else None


def _row(case: Case, agent: ApiAgent) -> Items:
    """SG305: a rename changes the agent's row in neutron's database, and the database has none."""
    if not case.request.has_neutron_db:
        return
    databases = case.bundle.databases
    rows = databases.neutron.agents if databases and databases.neutron else None
    if rows is not None and not any(row.id == agent.id and row.host == case.old for row in rows):
        why = "neutron's database does not have this agent under the old name"
        remedy = remedy_text("SG305", "agent-not-in-database")
        yield agent_item(agent, why, remedy, fixed=why if case.changes_host else None)


def _ovn(case: Case) -> Items:
    """SG317 to SG327: a host whose ports are OVN's. SG327: one that has an L2 agent of its own beside it."""
    if not has_ovn(case.agents):
        yield from _ovn_without_agents(case)
    if not has_ovn(case.agents) or case.host is None or case.bundle.databases is None:
        return  # SG114, SG709
    for agent in case.agents:
        if agent.agent_type in L2_AGENTS:
            evidence = {"type": agent.agent_type, "alive": agent.alive, **_fixed(_keeps_its_name(case))}
            remedy = remedy_text("SG327", "l2-agent-beside-ovn")
            yield finding("SG327", Subject("host", agent.id, agent.agent_type, agent.host), evidence, remedy)
    ports = case.bundle.cloud.ports if case.bundle.cloud else None
    about = ovn.OvnHost(
        inventory_name=case.request.inventory_name,
        old=case.old,
        new=case.request.rename_to,
        host=case.host,
        databases=case.bundle.databases,
        ports=ports,
        has_neutron_db=case.request.has_neutron_db,
    )
    yield from ovn.check(about)


def _ovn_without_agents(case: Case) -> Items:
    """SG317: the agents do not say whose the ports are, and something else does: the wrong order would cut them off."""
    databases = case.bundle.databases
    signs = signs_of_ovn(case.old, case.host, databases.ovn if databases is not None else None)
    if signs:
        subject = Subject("host", f"{case.request.inventory_name}:agents", "agents", case.old)
        agents = sorted({agent.agent_type for agent in case.agents})
        why = "in OVN the host's ports would still request the old hostname, which no chassis has after the rename"
        evidence = {"part": "agents", "OVN": signs, f"agents of {case.old}": agents}
        evidence.update(_fixed(why if case.changes_host else None))
        remedy = remedy_text("SG317", "ovn-without-agents")
        yield finding("SG317", subject, evidence, remedy)


def agent_item(
    agent: ApiAgent, why: str, remedy: str, severity: t.Optional[str] = None, fixed: t.Optional[str] = None
) -> Item:
    """SG305: an agent of the host, why it stands in the way of a rename, and what to do.

    ``fixed``: why no override passes it, if none does.
    """
    subject = Subject("host", agent.id, agent.agent_type, agent.host)
    evidence = {"type": agent.agent_type, "why": why, "alive": agent.alive, **_fixed(fixed)}
    return finding("SG305", subject, evidence, remedy, severity)


def _fixed(why: t.Optional[str]) -> t.Dict[str, str]:
    """Return the evidence of a finding that no override passes, with the reason; none where it can be overridden."""
    return {} if why is None else {NO_OVERRIDE: why}


#: neutron db/dvr_mac_db.py, db/models/l3ha and ml2 models.py: rows by host name that no API shows.
DISTRIBUTED = (
    "distributed routing stores the host's name in neutron's tables dvr_host_macs and ml2_distributed_port_bindings, "
    "and a rename does not change these tables"
)
DRAIN_DISTRIBUTED = remedy_text("SG305", "distributed-routing")


def is_distributed(agent: ApiAgent) -> bool:
    """Whether an agent does distributed routing: an L3 agent of a compute host, or an L2 agent for it."""
    return agent.distributed or (agent.mode or "").startswith("dvr")


def _l2_agent(case: Case, agent: ApiAgent) -> Items:
    if is_distributed(agent):
        yield agent_item(agent, DISTRIBUTED, remedy_text("SG305", "distributed-routing-of-l2-agent"))
    if not case.request.has_neutron_db:
        why = (
            "without neutron's database the run cannot rename the agent's record, so the agent registers again. The "
            "guests lose their network for some seconds, from the agent's first synchronisation until the guests' "
            "ports are bound to the new name"
        )
        yield agent_item(agent, why, remedy_text("SG305", "agent-registers-anew"))


def agent_on_host(case: Case, host: HostFacts) -> Items:
    """The agent must call itself by the new name afterwards, and be one that can be stopped."""
    subject = Subject("host", f"{case.request.inventory_name}:neutron host", host=case.old)
    after = case.after
    evidence: t.Dict[str, t.Any]
    if host.neutron_host is not None and host.neutron_host != case.old:
        evidence = {"host= of the agent": host.neutron_host, "CONF.host": case.old}
        yield finding(
            "SG305",
            subject,
            evidence,
            remedy_text("SG305", "agent-has-another-host-name"),
        )
    elif host.neutron_host is None and after is not None and after.os != after.host:
        evidence = {"host= of the agent": None, "name it would use": after.os or host.kernel_hostname}
        yield finding("SG305", subject, evidence, remedy_text("SG305", "agent-has-name-of-system", host=case.old))
    stops = case.in_place and case.changes_host
    usable = ("loaded",) if stops else ("loaded", "masked")
    if host.units is not None and not _units(host.units, case.request.agent_units, usable):
        reason = "neutron shows an L2 agent of this host, but the run found no systemd unit of this agent"
        remedy = remedy_text("SG709", "agent-unit-unknown")
        why = "an L2 agent with the old name would put all ports of the guests on the dead VLAN"
        yield missing(case, "agent unit", reason, remedy, why if stops else None)


def _ports(case: Case) -> Items:
    """SG306: a port that does not work before the rename, or that is no guest's (facts of nova, 3.1)."""
    for port in (case.bundle.cloud.ports if case.bundle.cloud else None) or []:
        if port.binding_host_id != case.old:
            continue
        yield from neutron_ports.port_items(case.index, port)
        yield from _routed(case, port)
        if port.device_owner == SUBPORT:
            yield from subport_items(case, port)
        elif port.device_owner == ROUTER_GATEWAY and has_ovn(case.agents):
            continue  # The chassis stays the gateway: its name does not change.
        elif not (port.device_owner or "").startswith(neutron_ports.COMPUTE_OWNER):
            evidence = {"device_owner": port.device_owner, "device": port.device_id}
            remedy = remedy_text("SG306", "port-of-network-service-before-rename")
            yield finding("SG306", Subject("port", port.id, host=port.binding_host_id), evidence, remedy)
        elif case.nodes and port.device_id not in case.index.instance_rows_by_uuid:
            evidence = {"device_owner": port.device_owner, "device": port.device_id, "instance": "not of this host"}
            remedy = remedy_text("SG306", "port-of-unknown-server-before-rename")
            subject = Subject("port", port.id, host=port.binding_host_id)
            yield finding("SG306", subject, evidence, remedy, WARNING)


def subport_items(case: Case, port: ApiPort) -> Items:
    """SG306: a trunk's subport goes where its parent is (neutron, services/trunk/rpc/server.py); one without is odd."""
    parents = [
        entry for entry in (case.bundle.cloud.ports if case.bundle.cloud else None) or [] if port.id in entry.subports
    ]
    if any(entry.binding_host_id == case.old for entry in parents):
        return
    evidence = {
        "device_owner": port.device_owner,
        "trunk": port.device_id,
        "parent": {entry.id: entry.binding_host_id for entry in parents},
    }
    remedy = remedy_text("SG306", "subport-without-parent-here")
    yield finding("SG306", Subject("port", port.id, host=port.binding_host_id), evidence, remedy)


def _routed(case: Case, port: ApiPort) -> Items:
    """SG306: neutron binds an address of a segment only to a host that the segment is mapped to.

    neutron, db/ipam_backend_mixin.py: 409 where segmenthostmappings has no row of the host, and that row is made when
    an agent of the new name reports its bridge mappings, which is after the ports.
    """
    routed = case.bundle.cloud.routed_subnets if case.bundle.cloud else None
    if routed is None or port.subnets is None:
        return  # SG709
    found = sorted(set(routed) & set(port.subnets))
    if found:
        why = "neutron maps the segments to the new name only after an agent with this name has reported"
        evidence = {"subnets of a segment": found, "device": port.device_id}
        evidence.update(_fixed(why if case.changes_host else None))
        remedy = remedy_text("SG306", "port-on-routed-network")
        yield finding("SG306", Subject("port", port.id, host=port.binding_host_id), evidence, remedy)


def _routed_unread(case: Case) -> Items:
    cloud = case.bundle.cloud
    if cloud is None or cloud.ports is None:
        return  # SG709
    ports = [port for port in cloud.ports if port.binding_host_id == case.old]
    if ports and (cloud.routed_subnets is None or any(port.subnets is None for port in ports)):
        reason = next((entry.reason for entry in cloud.unread if entry.part == "routed_subnets"), "not read")
        yield missing(case, "cloud.routed_subnets", f"the host's ports may be on routed provider networks: {reason}")


def _guest_ports(case: Case) -> Items:
    """SG306: a guest's port that is not bound to the guest's host would be left out. SG709: ports not asked for."""
    cloud = case.bundle.cloud
    if cloud is None or cloud.ports is None:
        return  # SG709
    guests = {row.uuid for _cell, row in case.index.instances_by_host.get(case.old, [])}
    unasked = sorted(guests - set(cloud.port_devices)) if cloud.scope else []
    if unasked:
        reason = (
            f"the run did not read the ports of {len(unasked)} servers on this host (the host has {len(guests)} "
            f"servers), for example the ports of server {unasked[0]}"
        )
        remedy = remedy_text("SG709", "servers-changed-while-reading")
        yield missing(case, "cloud.ports.devices", reason, remedy)
    for port in cloud.ports:
        if port.device_id not in guests or not (port.device_owner or "").startswith(neutron_ports.COMPUTE_OWNER):
            continue
        if port.binding_host_id != case.old:
            subject = Subject("port", port.id, host=port.binding_host_id)
            evidence = {
                "device": port.device_id,
                "binding:host_id": port.binding_host_id,
                "binding:vif_type": port.binding_vif_type,
                "instances.host": case.old,
            }
            remedy = remedy_text("SG306", "guest-port-bound-elsewhere")
            yield finding("SG306", subject, evidence, remedy)


# --- placement and databases ----------------------------------------------------------------------------------


def _derived_providers(case: Case, children: t.Sequence[ResourceProvider]) -> Items:
    """SG304: neutron makes their uuids of the host's name (neutron-lib placement/utils.py; ml2 mech_agent.py)."""
    for child in children:
        why = "after the rename, neutron would not find this resource provider"
        evidence = {"child": child.name, "made by": "neutron, which derives the provider's uuid from the host's name"}
        evidence.update(_fixed(why if case.changes_host else None))
        remedy = remedy_text("SG304", "provider-made-by-neutron")
        yield finding(
            "SG304", Subject("resource_provider", child.uuid, child.name, case.old), evidence, remedy, BLOCKER
        )


def _child_providers(case: Case) -> Items:
    """SG304: children are renamed with their root; PCI and vGPU ones are Nova's to look up by name at start."""
    children = _tree(case)[1:]
    root = _tree(case)[0].name if _tree(case) else ""
    yield from _derived_providers(case, [child for child in children if child.name.startswith(f"{root}:")])
    if children:
        subject = Subject("resource_provider", children[0].root_provider_uuid or "", host=case.old)
        evidence = {"children": sorted(child.name for child in children)}
        remedy = remedy_text("SG304", "providers-below-the-host")
        yield finding("SG304", subject, evidence, remedy)


def _grants(case: Case) -> Items:
    """SG311: each right that is lacking; SG709: a right that was not tried."""
    databases = case.bundle.databases
    if databases is None or databases.grants is None:
        return
    for grant in databases.grants:
        if not grant.allowed and _concerns(case, grant.database):
            name = f"{grant.database}.{grant.table}"
            evidence = {"columns": grant.columns, "action": grant.action, "error": grant.error}
            columns = ", ".join(grant.columns)
            remedy = remedy_text("SG311", "right-lacking", action=grant.action, columns=columns, table=grant.table)
            yield finding("SG311", Subject("host", f"{name}:{grant.action}", name, case.old), evidence, remedy)
    tried = {(grant.database, grant.table) for grant in databases.grants if grant.action == "update"}
    for database, table in _needed_updates(case):
        if (database, table) not in tried:
            yield missing(
                case,
                f"grants.{database}.{table}",
                "the run did not test whether the database user has the privilege UPDATE on this table",
            )


def _lock(case: Case) -> Items:
    """SG712: the database's lock keeps nobody out. SG709: whether it can be taken is not known."""
    databases = case.bundle.databases
    if databases is None or (databases.lock is None and databases.grants is None):
        return  # SG709, or a drain of which nothing was tried
    if databases.lock is None:
        reasons = {entry.part: entry.reason for entry in databases.unread}
        yield missing(
            case, "lock", reasons.get("lock", "the run did not test whether the database grants the lock to the run")
        )
    elif databases.lock.scope != LOCK_EXCLUSIVE:
        evidence = {"scope": databases.lock.scope, "reason": databases.lock.reason}
        remedy = remedy_text("SG712", "lock-not-exclusive")
        yield finding("SG712", Subject("service", "nova_api", "API database", case.old), evidence, remedy)


def _concerns(case: Case, database: str) -> bool:
    return database != "neutron" or case.request.has_neutron_db


def _needed_updates(case: Case) -> t.Iterator[t.Tuple[str, str]]:
    for kind, tables in ((kind, written(kind)) for kind in ("cell", "api", "neutron")):
        if kind == "cell":
            owners = [f"cell:{cell.name}" for cell, _row in case.nodes]
        else:
            owners = [kind] if kind == "api" or (case.request.has_neutron_db and case.agents) else []
        for database in owners:
            for table in tables:
                yield database, table


# --- the host's units and files -------------------------------------------------------------------------------


def _units(units: t.Sequence[Unit], wanted: t.Sequence[str], states: t.Container[str]) -> t.List[Unit]:
    return [unit for unit in naming.units_named(units, wanted) if unit.load_state in states]


def unit_items(case: Case, host: HostFacts) -> Items:
    """nova-compute must be one that can be stopped and kept from starting, and must run now."""
    if host.units is None or case.request.commands.given:
        return
    found = _units(host.units, case.request.compute_units, ("loaded", "masked"))
    if not found:
        reason = "no systemd unit of nova-compute was found"
        remedy = remedy_text("SG709", "compute-unit-unknown")
        yield missing(case, "compute unit", reason, remedy)
    for unit in found:
        if unit.active_state != "active" or unit.blocked or unit.load_state == "masked":
            subject = Subject("service", unit.name, host=case.old)
            evidence = dataclasses.asdict(unit)
            remedy = remedy_text("SG704", "down-before-rename")
            yield finding("SG704", subject, evidence, remedy, BLOCKER)


#: What sets [DEFAULT] host before every file (oslo_config/sources/_environment.py).
_BY_ENVIRONMENT = "OS_DEFAULT__HOST"


def configuration_items(case: Case, host: HostFacts) -> Items:
    """SG312: a C(host =) line that cannot be edited as it stands."""
    after = case.after
    lines: t.List[t.Tuple[FileLine, str]] = []
    if host.nova_conf is not None and host.nova_conf.host is not None:
        lines += [(line, case.old) for line in host.nova_conf.host_lines]
        if _BY_ENVIRONMENT in (host.nova_conf.environment or []):
            why = f"the environment of nova-compute sets {_BY_ENVIRONMENT}, which takes precedence over every file"
            yield _line(case, _BY_ENVIRONMENT, why)
        elif not host.nova_conf.host_lines:
            yield _line(
                case,
                "nova.conf",
                "the option host is set, but the run found no configuration line that sets this option",
            )
    if case.agents:
        lines += [(line, host.neutron_host or "") for line in host.neutron_host_lines]
    for line, old in lines:
        try:
            naming.rename_in_option_line(line.text, old, after.host if after else old)
        except naming.NamesError as error:
            yield _line(case, f"{line.path}:{line.number}", str(error))


def _line(case: Case, where: str, why: str) -> Item:
    subject = Subject("host", f"{case.request.inventory_name}:{where}", where, case.old)
    remedy = remedy_text("SG312", "host-line-not-plain")
    return finding("SG312", subject, {"where": where, "why": why}, remedy, BLOCKER)
