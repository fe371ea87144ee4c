# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of moving servers within their zones, and of emptying a host. Pure."""

from __future__ import annotations

import typing as t

from ..capacity.placement import COLD
from ..model.facts import ApiService
from ..model.plan import CONTROLLER, Change, Plan, Step
from ..model.requests import MigrationRequest
from ..model.wording import count
from .preflight import MoveDecision, method_of, reason_of

#: One operation that moves servers is open at a time: two would count on the same memory.
KIND = "migrate"
#: Seconds in which nova-compute takes notice that it is enabled.
ENABLE = 180

Status = t.Dict[str, t.Any]


def plan(
    request: MigrationRequest,
    decision: MoveDecision,
    service: t.Optional[ApiService] = None,
    provider: t.Optional[str] = None,
) -> Plan:
    """Return the steps. ``service`` and ``provider``: of the host that is emptied."""
    params, changes = moving(request, decision, provider)
    assigned = decision.assignments.assigned
    move = Step(
        "move", f"move {count(len(assigned), 'server')}, each within its zone", CONTROLLER, "move", params, changes
    )
    subject = request.drain_host or ", ".join(sorted(server.name for server in decision.servers)) or "no server"
    notes = [
        f"{entry.name} ({entry.uuid}) stays on its host: {entry.code}" for entry in decision.assignments.unassigned
    ]
    if any(method_of(guest.status, request) == COLD and guest.status == "ACTIVE" for guest in decision.guests):
        notes.append("For a cold migration, Nova stops a running server and starts the server again on the new host.")
    if request.drain_host is None or service is None or provider is None:
        return Plan(KIND, request.operation_id, subject, [move], notes)
    before = {"status": service.status, "reason": service.disabled_reason}
    held = {"status": "disabled", "reason": reason_of(request.operation_id)}
    after = _after(request, before)
    where = {"host": request.drain_host, "service_id": service.id, "provider": provider, "timeout": ENABLE}
    steps = [
        _status("hold", f"disable the compute service of {request.drain_host}", where, before, held),
        move,
        _status("leave", _leaving(after), where, held, after),
    ]
    if after["status"] == "disabled":
        notes.append(f"the compute service of {request.drain_host} stays disabled: {after['reason']}")
    return Plan(KIND, request.operation_id, subject, steps, notes)


def moving(
    request: MigrationRequest, decision: MoveDecision, provider: t.Optional[str]
) -> t.Tuple[t.Dict[str, t.Any], t.List[Change]]:
    """Return the params of a step that moves, and what it changes. ``provider``: of the host that is emptied."""
    guests = {guest.uuid: guest for guest in decision.guests}
    changes = [
        Change(
            f"server {place.name} ({place.uuid})",
            f"host ({method_of(guests[place.uuid].status, request)} migration, zone {decision.zones[place.uuid]})",
            str(guests[place.uuid].source),
            f"{place.host}: {place.why}",
            measured=True,
        )
        for place in decision.assignments.assigned
    ]
    listed = [
        {
            "uuid": server.id,
            "name": server.name,
            "host": server.host,
            "zone": decision.zones[server.id],
            "status": server.status,
        }
        for server in decision.servers
    ]
    params = {"host": request.drain_host, "provider": provider, "servers": listed, "timeout": request.timeout}
    return params, changes


def _after(request: MigrationRequest, before: Status) -> Status:
    """Only what this operation disabled does it enable, and only where that is asked for."""
    if before["status"] == "enabled" and request.enable_after:
        return {"status": "enabled", "reason": None}
    drained = f"drained (stackguard operation {request.operation_id})"
    return {"status": "disabled", "reason": before["reason"] or drained}


def _leaving(after: Status) -> str:
    return "enable the compute service" if after["status"] == "enabled" else "leave the compute service disabled"


def _status(name: str, title: str, where: t.Mapping[str, t.Any], before: Status, after: Status) -> Step:
    changes = [
        Change(f"compute service of {where['host']}", what, str(before[what]), str(after[what]))
        for what in ("status", "reason")
        if before[what] != after[what]
    ]
    params = {**where, "before": before, "after": after}
    return Step(name, title, CONTROLLER, name, params, changes)
