# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What nova-compute would do if it started on a host now: refuse, destroy, delete, orphan. Pure.

The rules for domains, of releases 26 to 34 (nova/compute/manager.py):

* C(_destroy_evacuated_instances): a domain whose instance has an evacuation record with this host as its source, in
  C(accepted), C(pre-migrating) or C(done), is destroyed. By name alone: where the instance lives now is not asked.
  Disks in RBD count as shared and stay, also those of an instance that is deleted (seen on 34).
* C(_cleanup_running_deleted_instances), run at start: a domain whose instance is deleted is reaped with its disks
  (C(running_deleted_instance_action), C(reap) by default), shut down, or left.
* Any other domain is left as it is. One whose instance lives elsewhere goes on running: two writers.

:func:`restart` is what the gate before a returning host needs of it. :func:`start` is all of it, release by release:
refusals with the text that nova-compute prints (none in 26), the domains, and the compute nodes. Read from the source
of 27.1.0, 29.0.1, 31.0.0 and 34.0.0: C(nova/service.py) (C(start)), C(nova/compute/manager.py) (C(init_host),
C(update_available_resource)), C(nova/virt/node.py), C(nova/compute/resource_tracker.py) (C(_init_compute_node)).

What a start does with guests that were in the middle of something is in C(hazards/recovery.py). Rows are looked
up by name as their database compares names (C(model/stored_names.py)); where that is not known, neither is the
outcome, and a guest's worse fate is reported. What nova-compute makes of C([DEFAULT] host) is in
C(model/host_domain.py).

Two questions are answered apart: what a start destroys, and whether nova-compute starts. What only refuses is in the
table of C(start_table.py), with what is not judged. Not forecast: rows whose guest stays as it is.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity.measured import RUNNING
from ..model.codes.catalogue import remedy_text
from ..model.facts import (
    CellFacts,
    ComputeNodeRow,
    Domain,
    HostFacts,
    InstanceRow,
    MigrationRow,
    ServiceRow,
)
from ..model.findings import (
    INFO,
    WARNING,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import (
    FINISHED,
    Index,
    Items,
    domain_subject,
    file_uuid,
    open_evacuation,
    same_name,
    same_uuid,
    uuid_files,
    uuid_key,
)
from ..model.names import (
    conf_host,
    configured_host,
    refused_host,
)
from ..model.problems import ProblemError
from ..model.stored_names import found_as, name_key, why_unknown
from ..model.wording import quoted_text
from . import guest_places, start_rules, start_table
from .recovery import (
    ABORTED,
    DESTROYED,
    DESTROYED_WITH_DISKS,
    LEFT,
    PARTIAL,
    POWERED_OFF,
    REBOOTED,
    REBOOTED_SOFTLY,
    REDRIVEN,
    RESUMED,
    REVERTED,
    STARTED,
    STARTED_AND_OFF,
    SYNCED,
    UNPAUSED,
    Recovery,
    RecoveryContext,
    reaping,
    recovery,
)
from .start_rules import Refusal

EVACUATED = "_destroy_evacuated_instances"
DELETED = "_cleanup_running_deleted_instances"


@dataclasses.dataclass(frozen=True)
class Fate:
    """What would become of one domain. ``lives``: the host that Nova has for its instance; None: deleted or nowhere."""

    domain: Domain
    action: str
    rule: t.Optional[str]
    lives: t.Optional[str]
    #: Whether Nova's databases still have the instance.
    exists: bool
    #: The evacuation record, where that is the rule.
    migration: t.Optional[str] = None
    #: On what it depends: a setting, or what was not read, so that this is the worse of two.
    note: t.Optional[str] = None


class UnreadError(ProblemError, ValueError):
    """What the forecast needs was not read: which part. It is never guessed."""


def fates(index: Index, facts: HostFacts) -> t.List[Fate]:
    """Return what would become of every domain of a host. Raises :class:`UnreadError`."""
    host = conf_host(facts)
    missing = [
        name
        for name, known in (
            ("nova.conf", facts.nova_conf is not None),
            ("the environment of nova-compute", facts.nova_conf is None or facts.nova_conf.environment is not None),
            ("the host name in nova-compute's container", configured_host(facts) is not None),
            ("domains", facts.domains is not None),
            ("instances", index.cells_read("instances")),
            ("migrations", index.cells_read("migrations")),
        )
        if not known
    ]
    if missing:
        raise UnreadError(f"not read: {', '.join(missing)}")
    if host is None:
        raise UnreadError(f"nova-compute refuses its configured host name: {refused_host(facts)}")
    return [_fate(index, facts, host, domain) for domain in facts.domains or []]


def _fate(index: Index, facts: HostFacts, host: str, domain: Domain) -> Fate:
    rows = [row for _cell, row in index.instance_rows_by_uuid.get(domain.uuid, [])]
    live = next((row for row in rows if not row.deleted), None)
    record, note = _record(index, host, domain.uuid)
    lives, exists = (live.host if live else None), live is not None
    # Nova looks for the rows of its domains: where none is left, the record is about nobody (_get_instances_on_driver).
    if record is not None and (rows or index.narrowed):
        rbd = facts.nova_conf is not None and facts.nova_conf.images_type == "rbd"
        # Local disks: Nova asks the destination whether they are shared; the answer is not known here.
        action = DESTROYED if rbd else DESTROYED_WITH_DISKS
        return Fate(domain, action, EVACUATED, lives, exists, record.uuid or str(record.id), note)
    if rows and not exists:
        # Whatever its vm_state was: rows deleted while they were soft-deleted are looked for too
        # (db/main/api.py, instance_get_all_by_filters_sort, with soft_deleted False).
        action, note = reaping(facts.nova_conf, domain.state, index.host_releases(facts) or ())
        return Fate(domain, action, DELETED, None, False, note=note)
    if live is not None and live.vm_state == "deleted":
        return _half_deleted(facts, host, domain, live, index.host_releases(facts) or ())
    return Fate(domain, LEFT, None, lives, exists)


def _half_deleted(facts: HostFacts, host: str, domain: Domain, row: InstanceRow, releases: t.Sequence[int]) -> Fate:
    """The deletion got as far as its C(vm_state): Nova shows no such server any more, and its domain is here."""
    action, note = reaping(facts.nova_conf, domain.state, releases) if row.host == host else (LEFT, None)
    return Fate(domain, action, None if action == LEFT else PARTIAL, row.host, True, note=note)


def _record(index: Index, host: str, uuid: str) -> t.Tuple[t.Optional[MigrationRow], t.Optional[str]]:
    """Return the evacuation by which a domain is destroyed, and what is not known of it."""
    column = "migrations.source_compute"
    doubtful: t.Tuple[t.Optional[MigrationRow], t.Optional[str]] = (None, None)
    for cell, row in index.evacuations_by_instance.get(uuid, []):
        found = found_as(cell, column, row.source_compute, host)
        if found:
            return row, None
        if found is None:
            doubtful = row, why_unknown(cell, column, str(row.source_compute), host)
    return doubtful


def restart(index: Index, facts: HostFacts) -> Items:
    """SG113, SG108, SG509: what a start would destroy that lives here, or leave that lives elsewhere."""
    host = conf_host(facts) or facts.inventory_name
    try:
        found = fates(index, facts)
    except UnreadError as error:
        evidence = {"reason": str(error)}
        yield finding(
            "SG709",
            Subject("host", facts.inventory_name, host=host),
            evidence,
            remedy_text("SG709", "forecast-unread"),
        )
        return
    for fate in found:
        yield from _judged(index, fate, facts, host)
    yield from _records(index, host, {fate.domain.uuid for fate in found})


def _judged(index: Index, fate: Fate, facts: HostFacts, host: str) -> Items:
    subject = domain_subject(fate.domain, facts)
    evidence = {
        "domain": [fate.domain.name, fate.domain.state],
        "at the next start": fate.action,
        "rule": fate.rule,
        "Nova's host": fate.lives,
        "migration": fate.migration,
        **({"condition": fate.note} if fate.note else {}),
    }
    if fate.rule == PARTIAL:
        yield finding("SG113", subject, evidence, remedy_text("SG113", "half-deleted"), WARNING)
        return
    if fate.exists and same_name(fate.lives, host):
        if fate.action != LEFT:
            yield finding("SG113", subject, evidence, remedy_text("SG113", "evacuated-instance-is-back"))
        return
    if fate.domain.state in RUNNING and fate.exists:
        state = "guest-on-novas-host" if _runs_there(index, fate) else "guest-unseen-on-novas-host"
        remedy = remedy_text("SG108", state, host=fate.lives, uuid=fate.domain.uuid)
        # SG509 where a start would end it: it is still a second writer until then.
        yield finding("SG108", subject, evidence, remedy)
    elif fate.exists and any(row.status == FINISHED for row in index.migrations_by_instance.get(fate.domain.uuid, [])):
        remedy = remedy_text("SG509", "off-and-resize-waits", uuid=fate.domain.uuid)
        yield finding("SG509", subject, evidence, remedy, INFO)
    elif fate.exists:
        state = "off-and-guest-on-novas-host" if _runs_there(index, fate) else "off-and-guest-unseen-on-novas-host"
        remedy = remedy_text("SG509", state, host=fate.lives, uuid=fate.domain.uuid)
        yield finding("SG509", subject, evidence, remedy, WARNING)
    elif fate.action in (DESTROYED, DESTROYED_WITH_DISKS):
        yield finding("SG509", subject, evidence, remedy_text("SG509", "server-deleted"), WARNING)
    elif fate.rule is None:
        yield Unchecked(
            "SG110",
            fate.domain.uuid,
            (
                "no action is needed: Nova's databases have no instance for this domain, so nova-compute leaves the "
                "domain unchanged at its next start"
            ),
        )


def _runs_there(index: Index, fate: Fate) -> bool:
    """Whether the guest was seen running where Nova shows it: then what is here is not the only copy."""
    shown = guest_places.ShownServer(fate.domain.uuid, fate.domain.nova_name, fate.lives, None, None, "databases")
    return any(place.stray for place in guest_places.look(index, [shown]))


def _records(index: Index, host: str, domains: t.Container[str]) -> Items:
    """SG509: evacuations that the next start completes; harmless while no such instance comes back before it."""
    for place, row in index.migrations_by_host.get(name_key(host), []):
        finds = open_evacuation(row) and index.evacuated_from(place, row, host) is not False
        if finds and row.instance_uuid not in domains:
            evidence = {"read from": place, "migration": row.uuid or row.id, "status": row.status}
            remedy = remedy_text("SG509", "domain-gone")
            yield finding("SG509", Subject("instance", row.instance_uuid or "", host=host), evidence, remedy, INFO)


# --- the whole start ------------------------------------------------------------------------------------------

#: A service's version from which nova-compute has a compute_id file (nova/objects/service.py, NODE_IDENTITY_VERSION).
NODE_IDENTITY_VERSION = 65
#: The first release with compute_id files and refusals; the first that looks for guests under a new service; the
#: first that leaves orphaned nodes alone (nova/compute/manager.py).
REFUSES_SINCE, NEW_HOST_CHECK_SINCE, ORPHANS_LEFT_SINCE = 27, 29, 29
#: The first release whose resource tracker is told its service (nova/compute/resource_tracker.py).
SERVICE_COMPARED_SINCE = 28
DUPLICATE = "_init_compute_node"

CREATED = "created"
UNDELETED = "undeleted"
ORPHANED = "destroyed with all its allocations"
WARNED = "kept, with a warning in nova-compute's log"
KEPT = "kept"

STARTS, REFUSES, UNKNOWN = "starts", "refuses", "unknown"


@dataclasses.dataclass(frozen=True)
class NodeFate:
    """What would become of a compute node. ``uuid``: None where nova-compute would make one up."""

    uuid: t.Optional[str]
    hypervisor_hostname: t.Optional[str]
    action: str
    rule: str


@dataclasses.dataclass(frozen=True)
class Start:
    """What nova-compute would do if it started on a host now. ``outcome``: whether it does: starts, refuses or unknown.

    ``releases``: those that its nova-compute may be of; ``unread``: why a part of what it destroys could not be told.
    Where it is only not known whether it starts, guests and nodes are told as if it does: no more is destroyed.
    """

    inventory_name: str
    host: t.Optional[str]
    releases: t.Tuple[int, ...]
    outcome: str
    refusal: t.Optional[Refusal]
    #: Guests that would be touched. Those that are left as they are are not here.
    guests: t.Tuple[Fate, ...]
    nodes: t.Tuple[NodeFate, ...]
    new_service: bool
    unread: t.Tuple[str, ...] = ()
    #: Why it is not known whether it starts.
    doubts: t.Tuple[str, ...] = ()

    @property
    def destroys_known(self) -> bool:
        """Whether all that it destroys is told."""
        return not self.unread

    @property
    def destroys(self) -> t.List[Fate]:
        """Guests that would be destroyed, with or without their disks."""
        return [fate for fate in self.guests if fate.action in (DESTROYED, DESTROYED_WITH_DISKS)]

    @property
    def told(self) -> str:
        """The outcome in one line."""
        if self.outcome == UNKNOWN and self.unread:
            return "unknown: " + "; ".join(dict.fromkeys([*self.unread, *self.doubts]))
        parts = [f"refuses: {self.refusal.text}"] if self.refusal else ["starts"]
        if self.outcome == UNKNOWN:
            parts = [f"not known whether it starts: {'; '.join(self.doubts)}"]
        parts += [_told(fate) for fate in self.guests[:_SHOWN]]
        if len(self.guests) > _SHOWN:
            parts.append(f"and {len(self.guests) - _SHOWN} more guests")
        parts += [f"node {node.hypervisor_hostname} is {node.action}" for node in self.nodes if node.action != KEPT]
        begun = self.refusal is None or not self.refusal.early
        parts += ["nova-compute creates a new service"] if self.new_service and begun else []
        return "; ".join([*parts, *self.unread])


#: Guests that one line names.
_SHOWN = 3


def _told(fate: Fate) -> str:
    note = f" ({fate.note})" if fate.note else ""
    return f"{fate.domain.nova_name or fate.domain.name} is {fate.action}{note}"


def unknown_start(inventory_name: str, reason: str) -> Start:
    """Return that of a host nothing is known. ``reason``: why it could not be read."""
    return Start(inventory_name, None, (), UNKNOWN, None, (), (), False, (f"the host was not read: {reason}",))


def start(index: Index, facts: HostFacts) -> Start:
    """Return what a start of nova-compute would do on a host, by the rules of its release."""
    host = conf_host(facts)
    known = index.host_releases(facts) or ()
    words = refused_host(facts)
    if words is not None and facts.nova_conf is not None and facts.nova_conf.environment is not None:
        # nova/conf/netconf.py: before anything else is done, and in every release.
        refused = Refusal("HostDomain", quoted_text(f"is not valid: {words}"))
        return Start(facts.inventory_name, None, known, REFUSES, refused, (), (), False)
    missing = _missing(index, facts, known)
    if missing or host is None:
        nothing = (f"not read: {', '.join(missing)}",)
        return Start(facts.inventory_name, host, known, UNKNOWN, None, (), (), False, nothing)
    case = _Case(index, facts, host, known)
    if case.doubts:
        return Start(facts.inventory_name, host, known, UNKNOWN, None, (), (), False, tuple(case.doubts))
    found = {release: case.refusal(release) for release in known}
    doubts = tuple(case.start_doubts)
    refusal = found[known[0]]
    if len(set(found.values())) > 1:
        # Packages name one release. Whatever it is, no more is destroyed than by one that starts.
        doubts, refusal = (*doubts, "the result depends on the Nova release: " + ", ".join(map(str, known))), None
    if refusal is not None and refusal.early:
        return Start(facts.inventory_name, host, known, REFUSES, refusal, (), (), False)
    nodes = case.nodes(min(known), refusal)
    stumbled, unsaid = case.refusal_by_orphan(nodes)
    refusal = stumbled or refusal
    guests, unread = case.guests(reaps=refusal is None)
    if refusal is not None and refusal.evacuated_only:
        guests = tuple(fate for fate in guests if fate.rule == EVACUATED)
    # It is made before the resource tracker looks at the nodes (nova/service.py, start).
    new = case.service is None and not (refusal and refusal.evacuated_only)
    outcome = STARTS if refusal is None else REFUSES
    if refusal is None and doubts:
        outcome = UNKNOWN
    return Start(facts.inventory_name, host, known, outcome, refusal, guests, nodes, new, (*unread, *unsaid), doubts)


def _missing(index: Index, facts: HostFacts, known: t.Sequence[int]) -> t.List[str]:
    """What no outcome can be told without."""
    identified = bool(known) and max(known) < REFUSES_SINCE
    files = [] if identified else [entry for entry in uuid_files(facts) if entry.unread]
    parts = (
        ("nova.conf", facts.nova_conf is not None),
        ("the environment of nova-compute", facts.nova_conf is None or facts.nova_conf.environment is not None),
        ("the host name in nova-compute's container", configured_host(facts) is not None),
        ("libvirt's host name", facts.libvirt is not None),
        ("the domains", facts.domains is not None),
        ("compute_id files", facts.compute_id_files is not None or identified),
        *[(f"{entry.path} as nova-compute reads it ({entry.error})", False) for entry in files],
        ("Nova's release", bool(known)),
        ("services of every cell", index.cells_read("services") and index.in_scope(conf_host(facts))),
        ("compute nodes of every cell", index.cells_read("compute_nodes") and index.in_scope(conf_host(facts))),
    )
    return [name for name, is_known in parts if not is_known]


_Row = t.TypeVar("_Row", ServiceRow, ComputeNodeRow)


class _Case:
    """One host, with the rows that its nova-compute would find: by name, as its database compares names."""

    def __init__(self, index: Index, facts: HostFacts, host: str, releases: t.Tuple[int, ...]) -> None:
        self._index = index
        self._facts = facts
        self._host = host
        self._releases = releases
        self._serves = True
        #: What the outcome depends on and is not known.
        self.doubts: t.List[str] = []
        #: Why it is not known whether it starts.
        self.start_doubts: t.List[str] = []
        libvirt = facts.libvirt
        self._hypervisor_hostname = libvirt.hostname if libvirt else ""
        services = self._found("services.host", index.services_by_name.get(name_key(host), []))
        self._cell: t.Optional[CellFacts] = services[0][0] if services else None
        self.service: t.Optional[ServiceRow] = services[0][1] if services else None
        nodes = [item for item in index.node_rows_by_name.get(name_key(host), []) if self._mine(item[0])]
        found = self._found("compute_nodes.host", nodes)
        #: Compute nodes with this host's name: in the host's cell, or in all cells if the cell is not known.
        self._named = [row for _cell, row in found]
        #: Those of them that bear libvirt's name too.
        self._alike = [row for cell, row in found if self._is_node(cell, row)]

    def _found(self, column: str, rows: t.Sequence[t.Tuple[CellFacts, _Row]]) -> t.List[t.Tuple[CellFacts, _Row]]:
        """Return the rows that their databases find by the host's name; what is not known is a doubt."""
        result = []
        for cell, row in rows:
            found = found_as(cell, column, row.host, self._host)
            if found:
                result.append((cell, row))
            elif found is None:
                self.doubts.append(why_unknown(cell, column, str(row.host), self._host))
        return result

    def _is_node(self, cell: CellFacts, row: ComputeNodeRow) -> bool:
        column, name = "compute_nodes.hypervisor_hostname", self._hypervisor_hostname
        found = found_as(cell, column, row.hypervisor_hostname, name)
        if found is None:
            self.doubts.append(why_unknown(cell, column, str(row.hypervisor_hostname), name))
        return bool(found)

    def _mine(self, cell: CellFacts) -> bool:
        return self._cell is None or cell.uuid == self._cell.uuid

    # --- refusing

    def refusal(self, release: int) -> t.Optional[Refusal]:
        """Return the first reason why a nova-compute of this release does not start; None: none is known."""
        if release < REFUSES_SINCE:
            return None
        later = release >= start_table.IDENTITY_LATER_SINCE
        places = (
            (start_table.IDENTITY_LATER if later else start_table.IDENTITY_FIRST, self._identity(release)),
            (start_table.NAMES, self._renamed()),
            (start_table.SERVICE_NAME, self._service_of_another_name(release)),
            (start_table.NODE, self._duplicate(release)),
            *self._configured(release),
        )
        return min(((at, found) for at, found in places if found), key=lambda place: place[0], default=(0, None))[1]

    def _identity(self, release: int) -> t.Optional[Refusal]:
        return self._unusable_files() or (
            self._lost_identity() if self.service else self._guests_of_a_new_service(release)
        )

    def _configured(self, release: int) -> t.List[t.Tuple[int, Refusal]]:
        """What refuses by nova.conf and by how guests are made, with its place; what is in doubt is noted."""
        start = self._facts.start
        if start is None:
            self.start_doubts.append("the run did not read the options by which nova-compute may refuse to start")
            return []
        guests, read = self._processed()
        about = start_rules.Situation(self._facts, start, release, guests, read, self._allocated())
        refusals, doubts = start_table.judge(about)
        self.start_doubts += [doubt for doubt in doubts if doubt not in self.start_doubts]
        return refusals

    def _allocated(self) -> t.Optional[t.Set[str]]:
        """Return of which classes placement has allocations on this host; None: unread."""
        cloud = self._index.bundle.cloud
        if cloud is None or cloud.providers is None:
            return None
        own = [row for row in cloud.providers if any(same_uuid(row.uuid, node.uuid) for node in self._own())]
        if not own or any(row.allocations is None for row in own):
            return None
        return {name for row in own for amounts in (row.allocations or {}).values() for name in amounts}

    def _processed(self) -> t.Tuple[t.List[t.Tuple[InstanceRow, t.Optional[Domain]]], bool]:
        """Return the guests that nova-compute looks at, in the order of their rows, and whether they are all."""
        if not self._index.cells_read("instances") or not self._index.cells_read("migrations"):
            return [], False
        domains = {domain.uuid: domain for domain in self._facts.domains or []}
        rows = sorted((row for _cell, row in self._index.instances_by_host.get(self._host, [])), key=lambda row: row.id)
        gone = {row.uuid: _record(self._index, self._host, row.uuid)[0] is not None for row in rows}
        return [(row, domains.get(row.uuid)) for row in rows if not gone[row.uuid]], True

    def _unusable_files(self) -> t.Optional[Refusal]:
        """virt/node.py, read_local_node_uuid: 27 to 34 alike. It catches FileNotFoundError and ValueError only."""
        files = uuid_files(self._facts)
        rule = "read_local_node_uuid"
        for entry in files:
            if entry.os_error is not None:
                return Refusal(rule, entry.os_error)
            if entry.uuid is None:
                text = quoted_text(f"Invalid node identity configuration: Unable to parse UUID from {entry.path}")
                return Refusal(rule, text)
        for before, entry in zip(files, files[1:]):
            if not same_uuid(entry.uuid, files[0].uuid):
                pair = quoted_text(f"UUID {entry.uuid} in {entry.path} does not match {before.uuid}")
                return Refusal(rule, quoted_text(f"Invalid node identity configuration: {pair}"))
        return None

    def _lost_identity(self) -> t.Optional[Refusal]:
        """compute/manager.py, _ensure_existing_node_identity: 27 to 34 alike."""
        if uuid_files(self._facts) or self.service is None:
            return None
        rule = "_ensure_existing_node_identity"
        version = self.service.version or 0
        if version >= NODE_IDENTITY_VERSION:
            return Refusal(
                rule,
                quoted_text(
                    "No local node identity found, but this is not our first startup on this host. Refusing to start "
                    "after potentially having lost that state!"
                ),
            )
        if not self._named:
            # Seen on 34: the query raises before nova-compute comes to say "Upgrading from service version ...".
            return Refusal(rule, quoted_text(f"Compute host {self._host} could not be found."))
        if len(self._named) > 1:
            text = quoted_text("Multiple nodes found in database, manual node uuid configuration required")
            return Refusal(rule, text)
        return None

    def _guests_of_a_new_service(self, release: int) -> t.Optional[Refusal]:
        """compute/manager.py, _sanity_check_new_host: since 29."""
        if release < NEW_HOST_CHECK_SINCE or not self._facts.domains:
            return None
        return Refusal(
            "_sanity_check_new_host",
            quoted_text(
                "My hypervisor has existing instances, but I appear to be a new service in this database. Possible "
                "database configuration error, refusing to start!"
            ),
        )

    def _renamed(self) -> t.Optional[Refusal]:
        """compute/manager.py, _get_nodes and _check_for_host_rename: 27 to 34 alike, names compared byte by byte."""
        for node in self._own():
            if node.hypervisor_hostname != self._hypervisor_hostname:
                return Refusal(
                    "_get_nodes",
                    quoted_text(
                        f"My compute node {node.uuid} has hypervisor_hostname {node.hypervisor_hostname} but virt "
                        f"driver reports it should be {self._hypervisor_hostname}. Possible rename detected, refusing "
                        "to start!"
                    ),
                )
        for node in self._own():
            if node.host != self._host:
                return Refusal(
                    "_check_for_host_rename",
                    quoted_text(
                        f"My node {node.uuid} has host {node.host!r} but my host is {self._host!r}; Possible rename "
                        "detected, refusing to start!"
                    ),
                )
        return None

    def _service_of_another_name(self, release: int) -> t.Optional[Refusal]:
        """compute/resource_tracker.py, set_service_ref: the name that the database found is compared byte by byte."""
        if release < SERVICE_COMPARED_SINCE or self.service is None or self.service.host == self._host:
            return None
        text = quoted_text("Resource tracker initialized with service that does not match host")
        return Refusal("set_service_ref", text, early=False)

    def _duplicate(self, release: int) -> t.Optional[Refusal]:
        """compute/resource_tracker.py, _init_compute_node: after guests and orphans were looked at; 27 to 34 alike."""
        if self._own() or self._was_deleted():
            return None
        name = self._hypervisor_hostname
        # A node that is destroyed as an orphan is no more in the way.
        alike = [row for row in self._alike if release >= ORPHANS_LEFT_SINCE or row.hypervisor_hostname == name]
        if alike:
            text = quoted_text(f"Duplicate compute node record found for host {self._host} node {name}")
            return Refusal(DUPLICATE, text, early=False)
        return None

    # --- nodes

    def _uuid(self) -> t.Optional[str]:
        """The identity that it would have: of the file, or of the node that an upgrade writes into the file."""
        uuid = file_uuid(self._facts)
        upgrade = self.service is not None and (self.service.version or 0) < NODE_IDENTITY_VERSION
        return self._named[0].uuid if uuid is None and upgrade and len(self._named) == 1 else uuid

    def _own(self) -> t.List[ComputeNodeRow]:
        uuid = self._uuid()
        rows = self._index.node_rows_by_uuid.get(uuid_key(uuid), []) if uuid else []
        return [row for cell, row in rows if self._mine(cell)]

    def _was_deleted(self) -> bool:
        uuid = self._uuid()
        return uuid is not None and uuid_key(uuid) in self._index.deleted_node_uuids

    def nodes(self, release: int, refusal: t.Optional[Refusal]) -> t.Tuple[NodeFate, ...]:
        """Return what becomes of its own node and of those that bear its name.

        Orphans come first (manager.py, update_available_resource): also where its own node ends the start.
        """
        if refusal is None:
            return (*self._own_nodes(release), *self._orphans(release))
        return self._orphans(release) if refusal.rule == DUPLICATE else ()

    def _own_nodes(self, release: int) -> t.List[NodeFate]:
        # Release 26 looks its node up by host and node name (resource_tracker.py, _get_compute_node).
        own = self._own() if release >= REFUSES_SINCE else self._alike
        result = [NodeFate(row.uuid, row.hypervisor_hostname, KEPT, DUPLICATE) for row in own]
        if not own:
            undelete = release >= REFUSES_SINCE and self._was_deleted()
            uuid = self._uuid() if release >= REFUSES_SINCE else None
            result.append(NodeFate(uuid, self._hypervisor_hostname, UNDELETED if undelete else CREATED, DUPLICATE))
        return result

    def _orphans(self, release: int) -> t.Tuple[NodeFate, ...]:
        """manager.py, update_available_resource: what bears its host name and is not what libvirt reports."""
        orphans = [row for row in self._named if row.hypervisor_hostname != self._hypervisor_hostname]
        action = ORPHANED if release < ORPHANS_LEFT_SINCE else WARNED
        return tuple(
            NodeFate(row.uuid, row.hypervisor_hostname, action, "update_available_resource") for row in orphans
        )

    def refusal_by_orphan(self, nodes: t.Sequence[NodeFate]) -> t.Tuple[t.Optional[Refusal], t.Tuple[str, ...]]:
        """Return how the start ends over an orphan without a resource provider, and what of this was not read.

        scheduler/client/report.py, delete_resource_provider, before 29: nobody catches the provider tree's
        ValueError. The orphan is destroyed by then, so that the next start is another.
        """
        cloud = self._index.bundle.cloud
        for node in nodes:
            if node.action != ORPHANED or node.uuid is None:
                continue
            if cloud is None or cloud.providers is None or cloud.scope:
                told = (
                    f"the run did not read whether node {node.hypervisor_hostname} has a resource provider. "
                    "nova-compute exits at its start if the resource provider is missing"
                )
                return None, (told,)
            if not any(same_uuid(provider.uuid, node.uuid) for provider in cloud.providers):
                text = quoted_text(f"No such provider {node.uuid}")
                return Refusal("delete_resource_provider", text, early=False), ()
        return None, ()

    # --- guests

    def guests(self, reaps: bool) -> t.Tuple[t.Tuple[Fate, ...], t.Tuple[str, ...]]:
        """Return guests that would be touched, and what of this could not be told.

        ``reaps``: whether it comes as far as its periodic tasks.
        """
        try:
            found = fates(self._index, self._facts)
        except UnreadError as error:
            return (), (f"the guests of the host: {error}",)
        self._serves = reaps
        local = {fate.domain.uuid for fate in found}
        found = [self._recovered(fate) for fate in found] + self._absent(local)
        # Domains of deleted instances end in the periodic tasks of the start, after all that can end the start itself.
        touched = [fate for fate in found if fate.action != LEFT and (reaps or fate.rule not in (DELETED, PARTIAL))]
        return tuple(touched), ()

    def _recovered(self, fate: Fate) -> Fate:
        """manager.py, _init_instance: of a guest that no record of an evacuation is about, and that lives here."""
        if fate.rule is not None or fate.lives != self._host:
            return fate
        rows = [row for _cell, row in self._index.instance_rows_by_uuid.get(fate.domain.uuid, []) if not row.deleted]
        found = self._recovery(rows[0], fate.domain.state) if rows else None
        return (
            fate if found is None else dataclasses.replace(fate, action=found.action, rule=found.rule, note=found.note)
        )

    def _absent(self, local: t.Container[str]) -> t.List[Fate]:
        """Guests of this host that libvirt has no domain of, and that are deleted or started all the same."""
        result = []
        for _cell, row in self._index.instances_by_host.get(self._host, []):
            if row.uuid in local or _record(self._index, self._host, row.uuid)[0] is not None:
                continue
            found = self._recovery(row, None)
            if found is not None:
                domain = _no_domain(row)
                result.append(Fate(domain, found.action, found.rule, row.host, True, note=found.note))
        return result

    def _recovery(self, row: InstanceRow, state: t.Optional[str]) -> t.Optional[Recovery]:
        conf = self._facts.nova_conf
        if conf is None:
            return None
        migrating = row.uuid in self._index.abortable
        return recovery(row, RecoveryContext(state, conf, self._releases, migrating, self._serves))


def _no_domain(row: InstanceRow) -> Domain:
    """What stands for a guest that libvirt does not have."""
    name = row.display_name or row.uuid
    return Domain(row.uuid, name, "no domain", False, None, None, 0, 0, name, None, None, None, [], [], "")


__all__ = [
    "ABORTED",
    "CREATED",
    "DELETED",
    "DESTROYED",
    "DESTROYED_WITH_DISKS",
    "EVACUATED",
    "KEPT",
    "LEFT",
    "ORPHANED",
    "PARTIAL",
    "POWERED_OFF",
    "REBOOTED",
    "REBOOTED_SOFTLY",
    "REDRIVEN",
    "REFUSES",
    "RESUMED",
    "REVERTED",
    "STARTED",
    "STARTED_AND_OFF",
    "STARTS",
    "SYNCED",
    "UNDELETED",
    "UNKNOWN",
    "UNPAUSED",
    "WARNED",
    "Fate",
    "NodeFate",
    "Refusal",
    "Start",
    "UnreadError",
    "fates",
    "restart",
    "start",
    "unknown_start",
]
