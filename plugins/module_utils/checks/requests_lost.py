# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was asked for while nova-compute was stopped: SG121, SG122, SG307, SG509, SG701. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.facts import ApiMigration, GuestAction, GuestState
from ansible_collections.stackguard.nova.plugins.module_utils.findings import (
    Finding,
    Subject,
    Unchecked,
    finding,
)


def lost(guests: t.Sequence[GuestState], asked: t.Mapping[str, t.Sequence[GuestAction]]) -> t.Iterator[Finding]:
    """SG701: a task that nothing ends. SG121: an action that no nova-compute has taken up, or that never ended."""
    for guest in guests:
        if guest.task_state is not None:
            evidence = {"task_state": guest.task_state, "asked for": _told(asked.get(guest.uuid, ()))}
            remedy = (
                "No nova-compute has this request. Give the server its state back, and run the same command again: "
                f"openstack server set --state active {guest.uuid}"
            )
            yield finding("SG701", _subject(guest), evidence, remedy)
        for entry in asked.get(guest.uuid, ()):
            if not entry.ended and guest.task_state is None:
                evidence = {"action": entry.action, "started": entry.started, "request": entry.request_id}
                remedy = (
                    "Tell its owner to ask again. An image that stays queued: openstack image delete. To see it: "
                    f"openstack server event show {guest.uuid} {entry.request_id}"
                )
                yield finding("SG121", _subject(guest), evidence, remedy)


def _told(entries: t.Sequence[GuestAction]) -> t.List[str]:
    return [f"{entry.action} at {entry.started}" for entry in entries if not entry.ended]


def unlocked(guests: t.Iterable[GuestState]) -> t.Iterator[Finding]:
    """SG122: guests that somebody unlocked while the operation was open."""
    for guest in guests:
        evidence = {"locked": guest.locked, "reason": guest.reason}
        remedy = f"Ask its owner what was done meanwhile: openstack server event list {guest.uuid}"
        yield finding("SG122", _subject(guest), evidence, remedy)


def evacuated(rows: t.Iterable[ApiMigration]) -> t.Iterator[Finding]:
    """SG509: evacuations away from the host that began while its service was down."""
    for row in rows:
        evidence = {
            "migration": row.uuid or row.id,
            "status": row.status,
            "source": row.source_compute,
            "destination": row.dest_compute,
        }
        remedy = (
            "Its start would destroy the domain here. See where the guest runs and who writes its disks; then name the "
            "migration in stackguard_overrides and run the same command again."
        )
        subject = Subject("migration", row.uuid or str(row.id), row.instance_uuid, row.source_compute)
        yield finding("SG509", subject, evidence, remedy)


def queues(names: t.Iterable[str]) -> t.Iterator[Unchecked]:
    """SG307: queues that may hold requests of before; a host that gets the name would execute them."""
    for name in names:
        look = f"rabbitmqctl list_queues name messages consumers | grep -E '^compute(-alt)?\\.{name}\\s'"
        why = (
            f"RabbitMQ was not asked whether requests wait for {name}: whichever host bears that name executes them. "
            f"Look: {look}. Without consumers, delete each: rabbitmqctl delete_queue compute.{name}"
        )
        yield Unchecked("SG307", f"compute.{name}", why)


def _subject(guest: GuestState) -> Subject:
    return Subject("instance", guest.uuid, guest.name, guest.host)
