# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is under way, out of service, or of an unknown release: SG509, SG701 to SG708. Pure.

What merely happens in a cloud (a boot, a migration) is no fault of it: an audit tells it as ``info``. Before an
operation on a host the same is a blocker: see :func:`host_items`.
"""

from __future__ import annotations

import typing as t

from ..model import releases
from ..model.codes.catalogue import remedy_text
from ..model.commands import Commands, playbook
from ..model.facts import (
    ApiServer,
    ApiService,
    Bundle,
    EvacuationFacts,
    HostFacts,
    InstanceRow,
    MigrationRow,
    UnknownJournal,
)
from ..model.findings import (
    BLOCKER,
    INFO,
    WARNING,
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import (
    FINISHED,
    OURS,
    Index,
    Item,
    Items,
    gather,
    host_subject,
    in_progress,
    instance_subject,
    migration_evidence,
    migration_subject,
    open_evacuation,
    same_name,
)
from ..model.names import conf_host
from ..model.stored_names import name_key

#: Service type of Masakari in the catalogue.
MASAKARI = "instance-ha"


def check(bundle: Bundle, index: t.Optional[Index] = None) -> Checked:
    """Check the whole bundle, as an audit does. ``index``: of the bundle, where there is one already."""
    index = index or Index(bundle)
    items: t.List[Item] = [*_undecided(index), *release(index)]
    for _cell, row in index.instances:
        items += instance_task(row, INFO)
    if not index.cells:
        for server in (bundle.cloud.servers if bundle.cloud else None) or []:
            items += _server_task(server, INFO)
    for place, migration in index.migrations:
        items += migration_items(index, place, migration, INFO)
    for service in index.api_services or []:
        items += service_status(service, WARNING)
    for key in sorted(bundle.hosts):
        items += [*open_operations(bundle.hosts[key]), *host_release(index, bundle.hosts[key], WARNING)]
    items += [unknown_journal(entry) for entry in bundle.unknown_journals]
    return gather(items)


def host_items(index: Index, host: str, facts: t.Optional[HostFacts] = None) -> Items:
    """What stands against beginning anything on one host (``host``: its CONF.host)."""
    for _cell, row in index.instances_by_host.get(host, []):
        yield from instance_task(row, BLOCKER)
        if row.vm_state == "resized" and not index.migrations_by_instance.get(row.uuid):
            yield _resized(instance_subject(row), {"vm_state": row.vm_state, "migration": None}, BLOCKER)
    for place, migration in index.migrations_by_host.get(name_key(host), []):
        yield from migration_items(index, place, migration, BLOCKER)
    for service in index.api_services or []:
        if same_name(service.host, host):
            yield from service_status(service, BLOCKER)
    if facts is not None:
        yield from open_operations(facts)
        yield from host_release(index, facts, BLOCKER)


def _undecided(index: Index) -> Items:
    cloud = index.bundle.cloud
    if not index.cells_read("instances") and (index.cells or cloud is None or cloud.servers is None):
        yield Unchecked("SG701", "all", "the instances were not read")
    if not index.migrations_read:
        for code in ("SG509", "SG702", "SG703"):
            yield Unchecked(code, "all", "the migrations were not read")
    if index.api_services is None:
        yield Unchecked(
            "SG704",
            "all",
            "the run did not read the services from the compute API, and the databases do not show whether a "
            "service is up",
        )


# --- instances and migrations ---------------------------------------------------------------------------------


def instance_task(row: InstanceRow, severity: str) -> Items:
    """SG701: Nova is at work on it, and may overwrite what is changed now (nova/compute/task_states.py)."""
    if row.task_state is not None:
        evidence = {"task_state": row.task_state, "vm_state": row.vm_state, "host": row.host}
        yield finding("SG701", instance_subject(row), evidence, remedy_text("SG701", "nova-at-work"), severity)


def _server_task(server: ApiServer, severity: str) -> Items:
    if server.task_state is not None:
        subject = Subject("instance", server.id, server.name, server.host)
        evidence = {"task_state": server.task_state, "vm_state": server.vm_state, "host": server.host}
        yield finding("SG701", subject, evidence, remedy_text("SG701", "nova-at-work"), severity)


def _is_back(index: Index, host: t.Optional[str]) -> bool:
    """Whether Nova shows an instance on a host from which its evacuation is still open."""
    return host is not None and any(
        open_evacuation(row)
        and same_name(row.source_compute, host)
        and any(same_name(entry.host, host) for _cell, entry in index.instance_rows_by_uuid.get(row.instance_uuid, []))
        for _place, row in index.migrations_by_host.get(name_key(host), [])
    )


def migration_items(index: Index, place: str, row: MigrationRow, severity: str) -> Items:
    """SG509, SG702, SG703 of one unfinished migration; an evacuation's record outlives it until its source starts."""
    evidence = migration_evidence(row, place)
    subject = migration_subject(row)
    if open_evacuation(row):
        remedy = remedy_text("SG509", "evacuated-not-back", host=row.source_compute)
        commands: Commands = ()
        if _is_back(index, row.source_compute):
            commands = playbook("return_host", subject.host, "return_host")
            remedy = remedy_text("SG509", "evacuated-back", host=row.source_compute)
        # A record that waits for its source is a trap whoever looks; the evacuation itself is in progress.
        level = BLOCKER if severity == BLOCKER else WARNING
        yield finding("SG509", subject, evidence, remedy, level, commands)
    elif in_progress(row):
        yield finding("SG702", subject, evidence, remedy_text("SG702", "under-way"), severity)
    elif row.status == FINISHED:
        yield _resized(subject, evidence, severity)


def _resized(subject: Subject, evidence: t.Mapping[str, t.Any], severity: str) -> Item:
    return finding("SG703", subject, evidence, remedy_text("SG703", "resize-unconfirmed"), severity)


# --- services and operations ----------------------------------------------------------------------------------


def service_status(service: ApiService, severity: str) -> Items:
    """SG704, SG706: disabled, forced down, not up; disabled by an operation of this collection.

    ``severity``: of a service that is down or forced down. One that is merely disabled is never more than a warning.
    """
    subject = Subject("service", service.id, host=service.host)
    reason = service.disabled_reason or ""
    evidence = {
        "status": service.status,
        "state": service.state,
        "forced_down": service.forced_down,
        "disabled_reason": service.disabled_reason,
    }
    if reason.startswith(OURS):
        remedy, commands = _held_by(reason, service.host)
        yield finding("SG706", subject, evidence, remedy, commands=commands)
    if service.state != "up" or service.forced_down:
        yield finding("SG704", subject, evidence, remedy_text("SG704", "down"), severity)
    elif service.status != "enabled" and not reason.startswith(OURS):
        yield finding("SG704", subject, evidence, remedy_text("SG704", "disabled"), WARNING)


def _held_by(reason: str, host: t.Optional[str]) -> t.Tuple[str, Commands]:
    """Return what to do about a service that an operation has disabled. A drain and an evacuation leave it disabled.

    No command enables a drained host: no page may offer to enable a host that is still in maintenance.
    """
    kind = reason[len(OURS) :].partition(":")[0]
    if kind == "evacuate":
        return remedy_text("SG706", "disabled-by-evacuation"), playbook("return_host", host, "return_host")
    if kind == "drain":
        commands = playbook("drain_host", host, "drain_host", "drain_action=status")
        return remedy_text("SG706", "disabled-by-drain"), commands
    if kind == "maintain":
        commands = playbook("maintain_hosts", host, "maintain_hosts", "maintain_action=status")
        return remedy_text("SG706", "disabled-by-maintenance"), commands
    if kind == "rename":
        return remedy_text("SG706", "disabled-by-rename"), ()
    return remedy_text("SG706", "disabled-by-operation"), ()


def open_operations(facts: HostFacts) -> Items:
    """SG706: the journal of a run that did not end (or that runs now)."""
    if facts.open_operations is None:
        yield Unchecked("SG706", facts.inventory_name, "the journals of the host were not read")
    for entry in facts.open_operations or []:
        yield finding(
            "SG706",
            host_subject(facts),
            {
                "operation": entry.operation_id,
                "kind": entry.kind,
                "state": entry.state,
                "subject": entry.subject,
                "started": entry.started_at,
            },
            remedy_text("SG706", "journal-open", operation=entry.operation_id),
        )
    for unknown in facts.unknown_journals:
        yield unknown_journal(unknown, host_subject(facts))


def unknown_journal(entry: UnknownJournal, subject: t.Optional[Subject] = None) -> Finding:
    """SG706: a journal that this version does not understand may be that of an unfinished operation.

    ``subject``: the host on which it is; None: it is in the journal directory.
    """
    evidence = {
        "journal": entry.path,
        "not understood": entry.reason,
        "kind": entry.kind,
        "operation": entry.operation_id,
        "host": entry.host,
        "schema": entry.schema,
        "written by version": entry.version,
        "finish with": entry.finish_with,
    }
    remedy = remedy_text("SG706", "journal-not-understood", journal=entry.path, finish_with=entry.finish_with)
    return finding("SG706", subject or Subject("host", entry.host or entry.path, host=entry.host), evidence, remedy)


# --- releases -------------------------------------------------------------------------------------------------


def release(index: Index) -> Items:
    """SG705: a schema or an API that this collection was not written against, or that contradict one another."""
    databases, cloud = index.bundle.databases, index.bundle.cloud
    # A cell that did not answer at all is told elsewhere.
    cells = [cell for cell in index.cells or [] if cell.revision is not None or cell.services is not None]
    signs: t.List[t.Tuple[str, t.Optional[str], t.Optional[releases.Releases]]] = [
        (f"cell:{cell.name}", cell.revision, releases.of_main_revision(cell.revision)) for cell in cells
    ]
    if databases is not None and databases.api is not None:
        signs.append(("api", databases.api.revision, releases.of_api_revision(databases.api.revision)))
    if cloud is not None and cloud.compute_max_microversion is not None:
        offered = cloud.compute_max_microversion
        signs.append(("compute API", offered, releases.of_microversion(offered)))
    for place, sign, known in signs:
        if known is None:
            yield finding(
                "SG705",
                Subject("service", place),
                {"found": sign, "releases known": list(releases.KNOWN)},
                remedy_text("SG705", "cloud-release-unknown"),
            )
    yield from _contradiction(signs)


def _contradiction(signs: t.Sequence[t.Tuple[str, t.Optional[str], t.Optional[releases.Releases]]]) -> Items:
    known = [set(entry[2]) for entry in signs if entry[2] is not None]
    if known and not set.intersection(*known):
        yield finding(
            "SG705",
            Subject("service", "control plane"),
            {place: [sign, list(found or ())] for place, sign, found in signs},
            remedy_text("SG705", "releases-contradict"),
        )


def host_release(index: Index, facts: HostFacts, severity: str) -> Items:
    """SG705 of one host: unknown, newer than its database, or upgraded without a restart."""
    package = releases.of_package(facts.nova_version)
    if facts.nova_version is not None and package is None:
        yield _unknown(facts, {"nova package": facts.nova_version})
    for cell, row in index.services_by_host.get(conf_host(facts), []):
        running = releases.of_service_version(row.version)
        schema = releases.of_main_revision(cell.revision)
        seen: t.Dict[str, t.Any] = {
            "nova package": facts.nova_version,
            "services.version": row.version,
            "cell": [cell.name, cell.revision],
        }
        if running is None:
            yield _unknown(facts, seen)
        elif package is not None and package not in running:
            yield finding("SG705", host_subject(facts), seen, remedy_text("SG705", "installed-not-running"), severity)
        if schema is not None and package is not None and package > max(schema):
            yield finding("SG705", host_subject(facts), seen, remedy_text("SG705", "newer-than-schema"), severity)


def _unknown(facts: HostFacts, seen: t.Mapping[str, t.Any]) -> Item:
    evidence = {**seen, "releases known": list(releases.KNOWN)}
    return finding("SG705", host_subject(facts), evidence, remedy_text("SG705", "host-release-unknown"))


# --- high availability ----------------------------------------------------------------------------------------


def ha_automation(index: Index, facts: HostFacts) -> Items:
    """SG708: while the service is down, evacuation is allowed: whoever automates it must be told (facts, 3.2)."""
    cloud = index.bundle.cloud
    if cloud is None or cloud.catalog is None:
        yield Unchecked("SG708", facts.inventory_name, "the service catalogue was not read")
    elif MASAKARI in cloud.catalog:
        yield finding("SG708", host_subject(facts), {"catalogue": MASAKARI}, remedy_text("SG708", "masakari"))
    seen = {"detected": "no external high availability"}
    yield finding("SG708", host_subject(facts), seen, remedy_text("SG708", "none-detected"), INFO)


def unknown_host(host: str, known: t.Sequence[str]) -> Items:
    """SG119: no such host."""
    if host not in known:
        remedy = remedy_text("SG119", "host-unknown")
        yield finding("SG119", Subject("host", host), {"services": sorted(known)[:20]}, remedy)


def held_by_another(about: EvacuationFacts, host: str, mine: t.Container[str] = ()) -> Items:
    """SG707: another operation holds the host. ``mine``: reasons that are no lock."""
    for target in about.targets or []:
        reason = target.disabled_reason or ""
        if target.host == host and reason.startswith(OURS) and reason not in mine:
            remedy = remedy_text("SG707", "held-by-operation")
            yield finding("SG707", Subject("host", host), {"disabled_reason": reason}, remedy)


def moves_of(bundle: Bundle, there: t.Container[t.Optional[str]], remedy: t.Callable[[MigrationRow], str]) -> Items:
    """SG702, SG703: something is under way with one of these servers already.

    ``remedy``: what to do about a migration before the operation that asks.
    """
    for place, row in Index(bundle).migrations:
        code = migration_code(row) if row.instance_uuid in there else None
        if code:
            yield finding(code, migration_subject(row), migration_evidence(row, place), remedy(row))


def migration_code(row: MigrationRow) -> t.Optional[str]:
    """Return the code of a migration that is not over; None: it is."""
    if in_progress(row):
        return "SG702"
    return "SG703" if not row.deleted and row.status == "finished" else None
