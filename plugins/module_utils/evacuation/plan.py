# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of an evacuation, for people and for the journal. Pure. Who goes where: C(capacity/planner.py)."""

from __future__ import annotations

import typing as t

from ..capacity.planner import Assignments, waves
from ..hazards.clients import Known
from ..hazards.disks import Disk, Effect, Kind
from ..model.plan import CONTROLLER, Change, Plan, Step
from ..model.requests import EvacuationRequest
from ..model.wording import count

KIND = "evacuate"


def plan(
    request: EvacuationRequest,
    fence: str,
    assignments: Assignments,
    images: t.Mapping[str, t.Collection[str]],
    reason: str,
    refused: t.Mapping[str, t.Mapping[str, Known]],
    disks: t.Optional[t.Mapping[str, t.Sequence[Disk]]] = None,
) -> Plan:
    """Return the steps of an evacuation, for people and for the journal.

    ``images``: by server, those to be guarded; ``refused``: Ceph fsid to the addresses that go on its OSD blocklist,
    and why each. ``disks``: by server, all of them.
    """
    guarded = sum(len(names) for names in images.values())
    rounds = waves(assignments.assigned)
    snapshot = f"stackguard-{request.operation_id}"
    steps = [
        Step(
            "fence",
            f"fence {request.host} ({fence}), and verify the fence",
            CONTROLLER,
            "fence",
            {"fence": fence},
            [
                Change(f"Ceph {fsid}", f"OSD blocklist: {address}", "not listed", f"refused ({why.text})")
                for fsid, addresses in sorted(refused.items())
                for address, why in sorted(addresses.items())
            ],
        ),
        Step(
            "hold_down",
            "force the compute service down and keep it disabled",
            CONTROLLER,
            "hold_down",
            {"host": request.host, "reason": reason},
            [Change(f"compute service of {request.host}", "disabled_reason", "(as it is)", reason)],
        ),
        Step(
            "guard",
            f"use guard snapshots to protect {guarded} images against deletion",
            CONTROLLER,
            "guard",
            {"operation_id": request.operation_id},
            [Change(name, "snapshot", "(none)", snapshot) for names in images.values() for name in names],
        ),
        Step(
            "evacuate",
            f"evacuate {count(len(assignments.assigned), 'server')} in {count(len(rounds), 'round')}",
            CONTROLLER,
            "evacuate",
            {"target_state": request.target_state},
            [
                Change(
                    f"server {place.name} ({place.uuid})",
                    "host",
                    request.host,
                    f"{place.host}: {place.why}",
                    measured=True,
                )
                for place in assignments.assigned
            ]
            + [
                _moved(disk, place.name, request.host)
                for place in assignments.assigned
                for disk in (disks or {}).get(place.uuid, ())
                if disk.kind == Kind.VOLUME or disk.evacuation != Effect.NOTHING
            ],
        ),
        Step("unguard", "remove the guard snapshots", CONTROLLER, "unguard", {"operation_id": request.operation_id}),
        *([_remove_chassis(request.host)] if request.remove_chassis else []),
    ]
    notes = [f"{entry.name} ({entry.uuid}) stays on its host: {entry.code}" for entry in assignments.unassigned]
    return Plan(f"{KIND}-{request.host.casefold()}", request.operation_id, request.host, steps, notes)


def _moved(disk: Disk, server: str, host: str) -> Change:
    """Return what an evacuation does to a disk that is no image of its own."""
    where = f"{disk.kind.value} {disk.name} of {server} ({disk.home or 'place not known'})"
    if disk.kind == Kind.VOLUME:
        return Change(where, "connected to", host, "the new host")
    return Change(where, "content", f"of {host}", disk.evacuation.value)


def _remove_chassis(host: str) -> Step:
    """The last step: which chassis it is, and whether it may go, is read when the servers are away."""
    return Step(
        "remove_chassis",
        f"remove the OVN chassis of {host} if the machine is off and no port uses the chassis",
        CONTROLLER,
        "remove_chassis",
        {"host": host},
        [Change(f"OVN southbound database: chassis of {host}", "chassis", "(as it is)", "removed")],
    )
