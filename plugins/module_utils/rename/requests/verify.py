# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was asked for while nova-compute was stopped: SG121, SG122, SG307, SG509, SG701. Pure."""

from __future__ import annotations

import typing as t

from ...hazards.queues import look
from ...model.codes.catalogue import remedy_text
from ...model.facts import (
    DatabaseFacts,
    GuestAction,
    GuestState,
    MigrationRow,
)
from ...model.findings import Finding, Subject, Unchecked, finding
from ...model.lookups import open_evacuation
from ...model.stored_names import found_as


def lost(guests: t.Sequence[GuestState], asked: t.Mapping[str, t.Sequence[GuestAction]]) -> t.Iterator[Finding]:
    """SG701: a task that nothing ends. SG121: an action that no nova-compute has taken up, or that never ended."""
    for guest in guests:
        if guest.task_state is not None:
            evidence = {"task_state": guest.task_state, "asked for": _told(asked.get(guest.uuid, ()))}
            remedy = remedy_text("SG701", "request-lost", uuid=guest.uuid)
            yield finding("SG701", _subject(guest), evidence, remedy)
        for entry in asked.get(guest.uuid, ()):
            if not entry.ended and guest.task_state is None:
                evidence = {"action": entry.action, "started": entry.started, "request": entry.request_id}
                remedy = remedy_text("SG121", "action-not-ended", uuid=guest.uuid, request=entry.request_id)
                yield finding("SG121", _subject(guest), evidence, remedy)


def _told(entries: t.Sequence[GuestAction]) -> t.List[str]:
    return [f"{entry.action} at {entry.started}" for entry in entries if not entry.ended]


def unlocked(guests: t.Iterable[GuestState]) -> t.Iterator[Finding]:
    """SG122: guests that were unlocked while the operation was open, and not by it."""
    for guest in guests:
        evidence = {"locked": guest.locked, "reason": guest.reason}
        remedy = remedy_text("SG122", "unlocked-during-operation", uuid=guest.uuid)
        yield finding("SG122", _subject(guest), evidence, remedy)


def bare_locks(guests: t.Iterable[GuestState]) -> t.Iterator[Finding]:
    """SG122: guests that are locked without a reason, after a run that was killed while it locked them."""
    for guest in guests:
        evidence = {"locked": guest.locked, "reason": guest.reason}
        remedy = remedy_text("SG122", "locked-without-reason", uuid=guest.uuid)
        yield finding("SG122", _subject(guest), evidence, remedy)


def evacuated(databases: DatabaseFacts, hosts: t.Sequence[str]) -> t.Iterator[Finding]:
    """SG509: evacuations away from these names that nova-compute would clean up after. SG709: cells not read."""
    for entry in databases.unread:
        if entry.part in ("api", "cells"):
            yield _unread(hosts[0], entry.part, entry.reason)
    if not databases.cells:
        # A rename has at least the cell of its host: no cell is no answer.
        yield _unread(hosts[0], "cells", "no cell was read")
    for cell in databases.cells or []:
        if cell.migrations is None:
            why = next((entry.reason for entry in cell.unread if entry.part == "migrations"), "no reason was given")
            yield _unread(hosts[0], f"migrations of cell {cell.name}", why)
        for row in cell.migrations or []:
            # None: how that database compares names is not known, and it may find the row.
            named = [found_as(cell, "migrations.source_compute", row.source_compute, host) for host in hosts]
            if open_evacuation(row) and any(answer is not False for answer in named):
                yield _evacuation(row)


def _unread(host: str, part: str, why: str) -> Finding:
    remedy = remedy_text("SG709", "evacuations-unread-during-rename")
    return finding("SG709", Subject("host", host), {"not read": part, "reason": why}, remedy)


def _evacuation(row: MigrationRow) -> Finding:
    evidence = {
        "migration": row.uuid or row.id,
        "status": row.status,
        "source": row.source_compute,
        "destination": row.dest_compute,
    }
    remedy = remedy_text("SG509", "evacuated-from-renamed-host")
    subject = Subject("migration", row.uuid or str(row.id), row.instance_uuid, row.source_compute)
    return finding("SG509", subject, evidence, remedy)


def unnoted(guests: t.Sequence[GuestState], known: t.Optional[t.Mapping[str, t.Any]]) -> t.Iterator[Unchecked]:
    """SG121: guests whose newest action was not noted before nova-compute stopped."""
    for guest in guests:
        if known is None or guest.uuid not in known:
            why = (
                "the run cannot check whether a user's request to this server was lost, because the run did not know "
                "the server's newest action when nova-compute stopped"
            )
            yield Unchecked("SG121", f"{guest.name} ({guest.uuid})", why)


def queues(names: t.Iterable[str]) -> t.Iterator[Unchecked]:
    """SG307: queues that may hold requests of before; a host that gets the name would execute them."""
    for name in names:
        why = (
            f"the run did not read RabbitMQ. RabbitMQ's queues may contain requests for {name}, and nova-compute of "
            f"the next host with this name would execute these requests. List the queues: {look(name)}. Delete each "
            f"listed queue that has no consumers: rabbitmqctl delete_queue compute.{name}"
        )
        yield Unchecked("SG307", f"compute.{name}", why)


def _subject(guest: GuestState) -> Subject:
    return Subject("instance", guest.uuid, guest.name, guest.host)
