# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which servers get which pin, how, and why not others. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...hazards import zones
from ...model.codes.catalogue import remedy_text
from ...model.facts import CELL_DOWN, ApiServer, ZoneFacts
from ...model.findings import Checked, Finding, Subject, finding
from ...model.lookups import gather
from ...model.plan import CONTROLLER, Change, Plan, Step
from .. import home
from ..resize import preflight as resize

#: Hosts and servers of silent cells that a finding names.
SHOWN = 10

PINNED, UNPINNED = "pinned", "unpinned"


#: Of a row of the file with old pins: it is of a restore, and tells no old pin.
RESTORES = "restores"


@dataclasses.dataclass(frozen=True)
class OldPin:
    """The pin that a server had before the first change, and every pin that runs were about to write since then."""

    server: str
    name: str
    before: t.Optional[str]
    written: t.Tuple[t.Optional[str], ...]

    def was_written(self, pin: t.Optional[str]) -> bool:
        """Return True if a run may have written this pin. Any other one is somebody else's, or the old one."""
        return pin != self.before and pin in self.written


@dataclasses.dataclass(frozen=True)
class PinRequest:
    """What is asked for. ``zone``: only servers that are in it may be pinned; None: each to the zone that it is in."""

    state: str = PINNED
    zone: t.Optional[str] = None
    strategy: str = "auto"
    has_database: bool = False
    #: By server, the pin that it is to get back; only these are changed then.
    restore: t.Optional[t.Mapping[str, OldPin]] = None


@dataclasses.dataclass(frozen=True)
class PinChange:
    """One server's pin, before and after. ``method``: ``pin_api`` or ``pin_db``."""

    server: str
    name: str
    host: t.Optional[str]
    before: t.Optional[str]
    after: t.Optional[str]
    method: str


@dataclasses.dataclass(frozen=True)
class PinPlan:
    """What is to be changed, what is right already (uuids), and what cannot be.

    ``others``: servers whose pins somebody else has changed since: a restore leaves them alone.
    """

    changes: t.List[PinChange]
    already: t.List[str]
    problems: t.List[Finding]
    others: t.List[str] = dataclasses.field(default_factory=list)


def old_pins(rows: t.Iterable[t.Mapping[str, t.Any]]) -> t.Dict[str, OldPin]:
    """Return by server what the rows of the file say, the oldest first.

    A pin that one of these runs wrote is never an old pin. One that somebody else has written in between is.
    """
    found: t.Dict[str, OldPin] = {}
    for row in rows:
        if row.get(RESTORES):
            continue
        known = found.get(row["server"])
        if known is not None and (row["before"] == known.before or known.was_written(row["before"])):
            found[row["server"]] = dataclasses.replace(known, written=(*known.written, row["after"]))
        else:
            found[row["server"]] = OldPin(row["server"], row["name"], row["before"], (row["after"],))
    return found


def rows_of(rows: t.Iterable[t.Mapping[str, t.Any]], operation_id: str, restores: bool) -> t.Dict[str, PinChange]:
    """Return by server what one operation was to change: its oldest pin and its newest."""
    found: t.Dict[str, PinChange] = {}
    for row in rows:
        if row["operation_id"] == operation_id and bool(row.get(RESTORES)) == restores:
            change = PinChange(**{field.name: row[field.name] for field in dataclasses.fields(PinChange)})
            first = found.get(change.server)
            found[change.server] = change if first is None else dataclasses.replace(change, before=first.before)
    return found


def plan(facts: ZoneFacts, request: PinRequest) -> PinPlan:
    """Decide for every server that was read."""
    changes: t.List[PinChange] = []
    already: t.List[str] = []
    problems: t.List[Finding] = []
    others: t.List[str] = []
    if facts.silent and request.restore is None:
        remedy = remedy_text("SG709", "cells-silent-for-pins")
        evidence = {"not read": facts.silent[:SHOWN], "hosts and servers": len(facts.silent)}
        problems.append(finding("SG709", Subject("host", "all"), evidence, remedy))
    for server in facts.servers or []:
        item = _decide(facts, server, request)
        if isinstance(item, Finding):
            problems.append(item)
        elif item is not None:
            changes.append(item)
        elif request.restore is not None and (facts.pins or {})[server.id] != request.restore[server.id].before:
            others.append(server.id)
        else:
            already.append(server.id)
    return PinPlan(changes, already, problems, others)


def _decide(facts: ZoneFacts, server: ApiServer, request: PinRequest) -> t.Union[PinChange, Finding, None]:
    subject = zones.subject_of(server)
    if server.status == CELL_DOWN:
        remedy = remedy_text("SG709", "cell-of-server-silent")
        return finding(
            "SG709", subject, {"status": CELL_DOWN, "not read": ["the cell of the server does not answer"]}, remedy
        )
    if facts.aggregates is None or facts.pins is None or server.id not in facts.pins:
        reasons = [f"{entry.part}: {entry.reason}" for entry in facts.unread] or [
            "the request spec of the server was not read"
        ]
        return finding("SG709", subject, {"not read": reasons}, remedy_text("SG709", "pin-unread"))
    before = facts.pins[server.id]
    after = _wanted(facts, server, before, request)
    if isinstance(after, Finding):
        return after
    if after == before:
        return None
    if server.task_state is not None:
        return finding("SG701", subject, {"task_state": server.task_state}, remedy_text("SG701", "pin-waits-for-task"))
    method, why = method_of(facts, server, before, after, request)
    if method is None:
        remedy = remedy_text("SG705", "pin-strategy-without-option")
        return finding("SG705", subject, {"pinned to": before, "wanted": after, "why not": why}, remedy)
    return PinChange(server.id, server.name, server.host, before, after, method)


def _wanted(
    facts: ZoneFacts, server: ApiServer, before: t.Optional[str], request: PinRequest
) -> t.Union[str, Finding, None]:
    """Return the pin that a server is to have, or why it gets none."""
    if request.restore is not None:
        kept = request.restore[server.id]
        # Whoever changed it since has the last word.
        return kept.before if kept.was_written(before) else before
    if request.state == UNPINNED:
        return None
    subject, known = zones.subject_of(server), facts.aggregates or []
    place = home.find(facts, server) if home.is_offloaded(server) else home.Home(zones.zone_of(facts, server.host))
    if place.finding is not None:
        return place.finding
    zone = place.zone
    evidence = {"pinned to": before, "host": server.host, "zone of its host": zone}
    if zone is None:
        return finding("SG709", subject, evidence, remedy_text("SG709", "host-of-pin-without-single-zone"))
    if zone not in zones.carried(known):
        return finding("SG402", subject, evidence, remedy_text("SG402", "zone-without-aggregate"))
    held = zones.constraint(before, known)
    if held not in (None, zone) or request.zone not in (None, zone):
        remedy = remedy_text("SG404", "pin-wanted-to-another-zone")
        return finding("SG404", subject, {**evidence, "wanted": request.zone or zone}, remedy)
    return zone


def method_of(
    facts: ZoneFacts, server: ApiServer, before: t.Optional[str], after: t.Optional[str], request: PinRequest
) -> t.Tuple[t.Optional[str], str]:
    """The API unpins, and pins what is not pinned to the zone that it is in. The database takes any change."""
    api = None
    if not resize.by_api(facts.compute_max_microversion):
        api = (
            f"this Nova offers microversion {facts.compute_max_microversion}, but a pin through the API needs "
            f"{resize.PIN_API}"
        )
    elif after is not None and (before is not None or after != _current(facts, server)):
        api = (
            "the API can pin a server only to the current zone of the server, and only if the server has no pin; "
            f"Nova shows this server in {_current(facts, server)}, pinned to {before}"
        )
    problems = {"pin_api": api, "pin_db": None if request.has_database else "nova_api_db_url is not set"}
    for method in ("pin_api", "pin_db") if request.strategy == "auto" else (request.strategy,):
        if problems[method] is None:
            return method, ""
    named = problems if request.strategy == "auto" else {request.strategy: problems[request.strategy]}
    return None, ", and ".join(str(problem) for problem in named.values())


def _current(facts: ZoneFacts, server: ApiServer) -> t.Optional[str]:
    """Return the zone to which the API pins a server: of one on no host, the one that Nova has recorded."""
    return server.availability_zone if server.host is None else zones.zone_of(facts, server.host)


def as_plan(kind: str, operation_id: str, subject: str, rows: t.Iterable[PinChange]) -> Plan:
    """Return every pin as a plan. Neither a server's name nor its host counts: it is pinned to a zone."""
    changes = [
        Change(
            f"server {row.server}", f"pinned availability zone, method {row.method}", str(row.before), str(row.after)
        )
        for row in rows
    ]
    steps = [Step("pins", "change the pins", CONTROLLER, "pins", {}, changes)] if changes else []
    return Plan(kind, operation_id, subject, steps)


def told(facts: ZoneFacts, plan_: PinPlan, accepted: bool = False) -> Checked:
    """Return what a report tells: all that is wrong with zones, and why servers cannot be pinned, each once.

    Only the latter forbid a run. ``accepted``: not even they do, since these servers are left out.
    """
    known = {(item.code, item.object.id) for item in plan_.problems}
    general = zones.check(facts)
    others = [item for item in general.findings if (item.code, item.object.id) not in known]
    problems = zones.milder(plan_.problems, {item.code for item in plan_.problems} if accepted else ())
    return Checked(unchecked=general.unchecked) + gather([*zones.milder(others, zones.GENERAL), *problems])


def without_changed(checked: Checked, servers: t.Collection[str]) -> Checked:
    """Return what is left of it when the pins of these servers have changed."""
    left = [item for item in checked.findings if item.code not in zones.OF_PINS or item.object.id not in servers]
    return Checked(tuple(left), checked.unchecked)


def table(plan_: PinPlan) -> str:
    """Return the changes as a table for people."""
    rows = [("SERVER", "NAME", "HOST", "BEFORE", "AFTER", "BY")]
    rows += [
        (row.server, row.name, str(row.host or "-"), str(row.before or "-"), str(row.after or "-"), row.method)
        for row in plan_.changes
    ]
    return _columns(rows)


#: How a pin is now, beside what the file says of it.
AS_WRITTEN, AS_BEFORE, CHANGED_SINCE = "as written", "as before", "changed by another user"
DELETED, NOT_SHOWN, NOT_READ = "deleted", "not shown by Nova", "not read"


@dataclasses.dataclass(frozen=True)
class RecordedPin:
    """One server of the file, and its pin of now."""

    server: str
    name: str
    before: t.Optional[str]
    written: t.List[t.Optional[str]]
    now: t.Optional[str]
    state: str


def recorded(kept: OldPin, shown: bool, deleted: bool, pins: t.Optional[t.Mapping[str, t.Any]]) -> RecordedPin:
    """Say how the pin is now. ``shown``: whether Nova shows the server; ``pins``: those that were read."""
    now = (pins or {}).get(kept.server)
    if not shown:
        state = DELETED if deleted else NOT_SHOWN
    elif pins is None or kept.server not in pins:
        state = NOT_READ
    elif kept.was_written(now):
        state = AS_WRITTEN
    else:
        state = AS_BEFORE if now == kept.before else CHANGED_SINCE
    return RecordedPin(kept.server, kept.name, kept.before, list(kept.written), now, state)


def recorded_table(rows: t.Iterable[RecordedPin]) -> str:
    """Return what the file holds and what is now, as a table for people."""
    lines = [("SERVER", "NAME", "BEFORE", "WRITTEN", "NOW", "STATE")]
    lines += [
        (row.server, row.name, row.before or "-", row.written[-1] or "-", row.now or "-", row.state) for row in rows
    ]
    return _columns(lines)


def _columns(rows: t.Sequence[t.Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
