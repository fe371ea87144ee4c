# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What forbids the removal of a host, and who holds its resource providers. Pure.

Nothing passes because it was not read: that is a finding. That the machine is gone is nothing that a run can read:
somebody attests it for each host by name (an override of SG506), and no word passes signs of life.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..hazards import in_flight, links
from ..hazards.link_rules import BY_NODE, Links
from ..hazards.removed_hosts import Gone, Known
from ..model.codes.catalogue import remedy_text
from ..model.facts import Bundle, ResourceProvider
from ..model.findings import ALIVE, Checked, Finding, Subject, Unchecked, finding
from ..model.lookups import COMPUTE, OURS, Index, Item, Items, gather, same_name, uuid_key
from ..model.names import short
from ..model.stored_names import name_key
from ..model.times import moment

CODE = "SG332"
#: Objects that a finding names.
SHOWN = 10
#: Seconds that the last sign of life of a nova-compute must lie behind the newest of the cloud: twice the time after
#: which Nova takes one for dead (service_down_time).
SILENT = 120
#: Parts of what the APIs say, all of which are needed.
PARTS = ("services", "hypervisors", "servers", "aggregates", "providers", "migrations", "agents", "ports", "ha_hosts")


@dataclasses.dataclass(frozen=True)
class Found:
    """What was read of the hosts that are to be removed.

    C(ended): consumers of their providers that are migrations which have ended, each with its server. C(closed): ids of
    operations that are closed. C(listening): by host, its queues that somebody reads, as far as RabbitMQ was read.
    """

    bundle: Bundle
    ended: t.Mapping[str, str]
    open_journals: t.Sequence[t.Mapping[str, t.Any]] = ()
    closed: t.FrozenSet[str] = frozenset()
    listening: t.Mapping[str, t.Sequence[str]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Host:
    """One of the hosts, with what was read."""

    found: Found
    index: Index
    name: str
    gone: Gone

    @property
    def subject(self) -> Subject:
        """Return how a finding names it."""
        return Subject("host", self.name, host=self.name)


def host_of(found: Found, name: str) -> Host:
    """Return a host with its places. Only this spelling of its name is meant."""
    index = Index(found.bundle)
    return Host(found, index, name, Gone(index, Known(index), [name]))


def preflight(found: Found, names: t.Sequence[str]) -> Checked:
    """Return everything that forbids the removal of one of these hosts."""
    # A schema that is not known is read, and never written.
    items: t.List[Item] = [*unread(found.bundle), *in_flight.release(Index(found.bundle))]
    for name in names:
        items += _host_items(host_of(found, name))
    return gather(items)


def again(found: Found, name: str) -> Checked:
    """Return what forbids a further step of a host: the same, but that it may be gone from everywhere by now."""
    return gather([*unread(found.bundle), *_safe_items(host_of(found, name))])


def _host_items(host: Host) -> Items:
    yield from _unknown(host)
    yield from _safe_items(host)


def _safe_items(host: Host) -> Items:
    for check in (_spellings, _links, _servers, _migrations, _operations, _machine, _rights):
        yield from check(host)


# --- what was read


def unread(bundle: Bundle) -> t.Iterator[Finding]:
    """Yield SG311 and SG709: a cell, a table or a part of the APIs that was not read, or a cell that is silent."""
    databases, cloud = bundle.databases, bundle.cloud
    parts: t.Dict[str, t.Any] = {"cells": databases and databases.cells, "api": databases and databases.api}
    for cell in (databases.cells if databases else None) or []:
        for table in ("services", "compute_nodes", "instances", "migrations"):
            parts[f"cell:{cell.name}:{table}"] = getattr(cell, table)
    if databases and databases.api:
        parts["api:host_mappings"] = databases.api.host_mappings
        parts["api:aggregate_hosts"] = databases.api.aggregate_hosts
    read = bundle.links
    parts["links"] = read and read.cells
    for links_of in (read.cells if read else None) or []:
        # Before release 28, no instance links a node by its id.
        tables = ("services", "compute_nodes", *(("deleted_nodes",) if links_of.has_compute_id else ()))
        for table in tables:
            parts[f"links:{links_of.name}:{table}"] = getattr(links_of, table)
    # No cell at all is no cloud of Nova's: a list of cells that is empty was not read.
    for part, value in sorted(parts.items()):
        if value is None or (part in ("cells", "links") and not value):
            evidence = {"not read": part, "reason": _why_unread(bundle, part)}
            yield finding("SG311", Subject("service", part), evidence, remedy_text("SG311", "part-unread"))
    missing = [part for part in PARTS if cloud is None or getattr(cloud, part) is None]
    reasons = {entry.part: entry.reason for entry in (cloud.unread if cloud else [])}
    silent = [part for part in reasons if part.startswith("services.") or part in ("servers.unknown", "ovn")]
    silent += ["servers.soft_deleted"] if "servers.soft_deleted" in reasons else []
    for part in sorted({*missing, *silent}):
        evidence = {"not read": part, "reason": reasons.get(part, "no reason was recorded")}
        yield finding("SG709", Subject("service", f"api:{part}"), evidence, remedy_text("SG709", "part-unread"))
    ovn = databases.ovn if databases else None
    if ovn is not None and (ovn.unread or ovn.chassis is None):
        reason = "; ".join(entry.reason for entry in ovn.unread) or "no reason was recorded"
        yield finding("SG709", Subject("service", "ovn"), {"reason": reason}, remedy_text("SG709", "part-unread"))


def _why_unread(bundle: Bundle, part: str) -> str:
    """Return what the databases said where a part was not read: of its cell, or of the whole."""
    databases, read = bundle.databases, bundle.links
    said = [
        entry
        for cells in ((databases.cells if databases else None), (read.cells if read else None))
        for cell in cells or []
        if f":{cell.name}:" in part
        for entry in cell.unread
    ]
    if not said and databases is not None:
        said = [*databases.unread, *(databases.api.unread if databases.api else [])]
    said = said or list(read.unread if read else [])
    return "; ".join(dict.fromkeys(entry.reason for entry in said)) or "no reason was recorded"


def _unknown(host: Host) -> Items:
    """SG332: nothing has this name, now or before. A name that was misspelt must not end in green."""
    cells = host.index.cells or []
    rows = [row.host for cell in cells for row in cell.services or []]
    rows += [row.host for cell in cells for row in cell.compute_nodes or []]
    if host.name in rows or host.gone.places or host.gone.signs_of_life:
        return
    evidence = {"similar names": sorted({str(row) for row in rows})[:SHOWN]}
    yield finding(CODE, host.subject, evidence, remedy_text(CODE, "unknown-name", host=host.name))


# --- its names and links


def _everywhere(host: Host) -> t.Set[str]:
    """Return the names of all compute services and nodes that exist: those of the links are never narrowed."""
    read = host.found.bundle.links
    cells = (read.cells if read else None) or []
    services = {str(row.host) for cell in cells for row in cell.services or [] if not row.deleted and row.host}
    nodes = {str(row.host) for cell in cells for row in cell.compute_nodes or [] if not row.deleted and row.host}
    return services | nodes | host.index.compute_hosts


def _spellings(host: Host) -> Items:
    """SG332: another host whose name MySQL takes for this one: what is deleted by name would be its, too."""
    others = sorted(name for name in _everywhere(host) if name_key(name) == name_key(host.name) and name != host.name)
    if others:
        remedy = remedy_text(CODE, "another-spelling")
        yield finding(CODE, host.subject, {"other names": others}, remedy)


def _links(host: Host) -> Items:
    """SG201 to SG207 of its services and nodes, and of nodes of other hosts that name one of its services."""
    known = Links(host.found.bundle)
    own = {(cell.uuid, row.id) for cell in known.cells for row in cell.services or [] if same_name(row.host, host.name)}
    for wrong in known.wrong():
        if wrong.code not in (*BY_NODE, "SG207"):
            continue
        if wrong.code == "SG206" and wrong.seen == {"resource provider": None}:
            # Somebody has deleted the provider before: what is left of a node that is removed, too.
            continue
        mine = same_name(getattr(wrong.row, "host", None), host.name)
        if mine or (wrong.cell.uuid, getattr(wrong.row, "service_id", None)) in own:
            item = links.item(wrong, known.verdict(wrong))
            if isinstance(item, Unchecked):
                # Something is in progress with it, so that it was not judged.
                remedy = remedy_text("SG709", "part-unread")
                item = finding("SG709", Subject("service", f"links:{item.object}"), {"reason": item.reason}, remedy)
            yield item


# --- its servers


def _servers(host: Host) -> Items:
    """SG332: a server in whatever state that has the host or one of its nodes, in any cell or in the API."""
    nodes = {name_key(name) for name in node_names(host)}
    key = name_key(host.name)
    found = {
        row.uuid: f"{row.vm_state}, task {row.task_state}, cell {cell.name}"
        for cell, row in host.index.instances
        if name_key(str(row.host)) == key or name_key(str(row.node)) in nodes
    }
    cloud = host.found.bundle.cloud
    for server in (cloud.servers if cloud else None) or []:
        if same_name(server.host, host.name):
            found.setdefault(server.id, server.status)
    if found:
        shown = dict(sorted(found.items())[:SHOWN])
        remedy = remedy_text(CODE, "has-servers")
        yield finding(CODE, host.subject, {"servers": shown, "number": len(found)}, remedy)


def node_names(host: Host) -> t.Set[str]:
    """Return the names of the nodes that the host has or had, and its own."""
    rows = [row for cell in host.index.cells or [] for row in cell.compute_nodes or [] if row.host == host.name]
    return {host.name, *(str(row.hypervisor_hostname) for row in rows if row.hypervisor_hostname)}


def node_uuids(host: Host) -> t.List[str]:
    """Return the uuids of the nodes that the host has or had, in cells that answered."""
    rows = [row for cell in host.index.cells or [] for row in cell.compute_nodes or [] if row.host == host.name]
    return sorted({str(row.uuid) for row in rows if row.uuid})


def _migrations(host: Host) -> Items:
    """SG509, SG702, SG703: migrations under way, waiting for a confirmation, or not cleaned up by their source."""
    for place, row in host.index.migrations_by_host.get(name_key(host.name), []):
        yield from in_flight.migration_items(host.index, place, row, "blocker")


def _operations(host: Host) -> Items:
    """SG706: an operation of this collection is open for the host, or holds its service and was not seen to end."""
    for journal in host.found.open_journals:
        about = journal.get("about") or {}
        hosts = [about.get("host"), *(about.get("hosts") or []), journal.get("subject")]
        if any(same_name(str(entry), host.name) for entry in hosts if entry) and journal.get("kind") != "remove":
            evidence = {"operation": journal.get("operation_id"), "kind": journal.get("kind")}
            remedy = remedy_text("SG706", "journal-open", operation=journal.get("operation_id"))
            yield finding("SG706", host.subject, evidence, remedy)
    for service in host.index.api_services_by_host.get(host.name, []):
        reason = service.disabled_reason or ""
        if reason.startswith(OURS) and reason.rpartition(":")[2] not in host.found.closed:
            for item in in_flight.service_status(service, "warning"):
                if isinstance(item, Finding) and item.code == "SG706":
                    yield item


# --- its machine


def _machine(host: Host) -> Items:
    """SG506: the machine is alive, or nothing proves that it is off, wiped or gone."""
    signs = [*host.gone.signs_of_life, *_heartbeats(host)]
    signs += [f"somebody reads the queue {name}" for name in host.found.listening.get(host.name, ())]
    evidence: t.Dict[str, t.Any] = {"machine": "the run reads nothing on it"}
    similar = sorted(
        name
        for name in _everywhere(host)
        if name_key(short(name)) == name_key(short(host.name)) and name_key(name) != name_key(host.name)
    )
    if similar:
        evidence["similar names of other hosts"] = similar
    if signs:
        evidence[ALIVE] = signs
    state = "removal-alive" if signs else "removal-unproven"
    yield finding("SG506", host.subject, evidence, remedy_text("SG506", state, host=host.name))


def _heartbeats(host: Host) -> t.Iterator[str]:
    """Yield what says that nova-compute of the host runs. One that is forced down looks down to Nova, and may run."""
    for service in host.index.api_services_by_host.get(host.name, []):
        if service.binary == COMPUTE and service.state == "up":
            yield f"Nova shows the compute service {service.id} as up"
    read = host.found.bundle.links
    rows = [row for cell in (read.cells if read else None) or [] for row in cell.services or [] if not row.deleted]
    own = [row for row in rows if row.host == host.name and row.last_seen_up]
    others = [moment(str(row.last_seen_up)) for row in rows if row.host != host.name and row.last_seen_up]
    newest = max((at for at in others if at is not None), default=None)
    for row in own:
        seen = moment(str(row.last_seen_up))
        if newest is None or seen is None:
            yield f"service {row.uuid}: no other nova-compute runs, so the age of its last heartbeat is not known"
        elif (newest - seen).total_seconds() < SILENT:
            yield f"service {row.uuid} sent a heartbeat at {row.last_seen_up}"


def _rights(host: Host) -> Items:
    """SG311: rows that only a deletion removes, since Nova has no service of theirs, and a user that may not."""
    databases = host.found.bundle.databases
    if databases is None or not ({"host mapping", "aggregates"} & set(host.gone.places)):
        return
    if host.index.api_services_by_host.get(host.name):
        return
    for grant in databases.grants or []:
        if grant.action == "delete" and not grant.allowed:
            evidence = {"action": grant.action, "error": grant.error}
            remedy = remedy_text("SG311", "right-lacking", action=grant.action, columns="", table=grant.table)
            yield finding("SG311", Subject("host", f"api.{grant.table}:delete", host=host.name), evidence, remedy)


# --- its resource providers


def trees(host: Host) -> t.Dict[str, t.List[ResourceProvider]]:
    """Return the providers of each tree whose root is, or was, a compute node of the host: children first.

    A root without a trait of Nova is none of Nova's, whatever its uuid.
    """
    own = {uuid_key(uuid) for uuid in node_uuids(host)}
    found: t.Dict[str, t.List[ResourceProvider]] = {}
    for root in host.index.providers or []:
        if uuid_key(root.uuid) in own and root.has_compute_trait and root.root_provider_uuid == root.uuid:
            found[root.uuid] = [*_below(host, root), root]
    return found


def _below(host: Host, parent: ResourceProvider) -> t.List[ResourceProvider]:
    children = [row for row in host.index.providers or [] if row.parent_provider_uuid == parent.uuid]
    return [row for child in sorted(children, key=lambda row: row.uuid) for row in (*_below(host, child), child)]


def holders(host: Host, tree: t.Sequence[ResourceProvider]) -> t.Dict[str, t.Optional[str]]:
    """Return the consumers of a tree, each with why its part must stay; None: it may go."""
    found: t.Dict[str, t.Optional[str]] = {}
    for provider in tree:
        if provider.allocations is None:
            found[provider.uuid] = "the allocations of the provider were not read"
        for consumer in provider.allocations or {}:
            found[consumer] = _why_it_holds(host, consumer)
    return found


def _why_it_holds(host: Host, consumer: str) -> t.Optional[str]:
    """Return why the part of a consumer must stay; None: it is Nova's, and provably not needed on this host."""
    rows = [row for _cell, row in host.index.instance_rows_by_uuid.get(consumer, [])]
    living = [row for row in rows if not row.deleted]
    if consumer in host.found.ended:
        return None
    if not rows:
        return "no cell has a server or an ended migration of this uuid: it may be another service's"
    if not living:
        return None
    (row, *more) = living
    if more or row.host is None or name_key(row.host) == name_key(host.name):
        return "Nova does not show the server on another host"
    if row.task_state is not None:
        return f"Nova is at work on the server ({row.task_state})"
    moving = [entry for entry in host.index.migrations_by_instance.get(consumer, []) if not entry.deleted]
    return "a migration of the server has not ended" if moving else None
