# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""May a server be resized within its zone, and how is it kept there? Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...hazards import guest_places, left_snapshots, unfit, volume_moves, zones
from ...model import releases
from ...model.block_storage import BlockStorage
from ...model.codes.catalogue import remedy_text
from ...model.facts import ApiMigration, ApiServer, Bundle, ZoneFacts
from ...model.findings import Checked, Finding, Unchecked, finding
from ...model.lookups import Items, gather
from ...model.requests import ResizeRequest
from .. import home

#: Microversion that pins a server by API (release 34).
PIN_API = "2.104"
#: Server statuses that Nova resizes: vm_state ACTIVE or STOPPED (C(compute/api.py), C(resize); 26 to 34).
STATUSES = ("ACTIVE", "SHUTOFF")

PINNED, BY_API, BY_DB, VERIFY = "pinned", "pin_api", "pin_db", "verify"


@dataclasses.dataclass(frozen=True)
class Choice:
    """How a server is kept in its zone, and why so. ``method`` None: it cannot be, ``why`` says what is missing."""

    method: t.Optional[str]
    why: str


@dataclasses.dataclass(frozen=True)
class ResizeDecision:
    """What was found, and what is to be done where nothing forbids it."""

    checked: Checked
    server: t.Optional[ApiServer] = None
    zone: t.Optional[str] = None
    #: The zone in the request spec as it was found.
    pin: t.Optional[str] = None
    choice: t.Optional[Choice] = None


def by_api(offered: t.Optional[str]) -> bool:
    """Whether this Nova pins a server by API."""
    return offered is not None and releases.microversion_tuple(offered) >= releases.microversion_tuple(PIN_API)


def choose(
    strategy: str, offered: t.Optional[str], has_database: bool, zone_carried: bool, pin: t.Optional[str], holds: bool
) -> Choice:
    """Choose how a server is kept in its zone.

    ``zone_carried``: an aggregate carries the zone of its host; ``holds``: its pin is to that very zone. A pin that
    holds it nowhere is changed in the database only: the API could not give it back (it pins to the current zone).
    """
    if holds:
        return Choice(PINNED, f"the server is already pinned to its zone {pin}")
    if strategy == VERIFY:
        return Choice(
            VERIFY,
            (
                "you chose this strategy. The run checks the zone after the resize, and reverts the resize if the zone "
                "has changed"
            ),
        )
    if not zone_carried:
        why = "no aggregate defines the zone of the server's host, so a pin cannot keep the server in this zone"
        return (
            Choice(VERIFY, f"{why}. The run checks the zone after the resize")
            if strategy == "auto"
            else Choice(None, why)
        )
    problems = {BY_API: _not_by_api(offered, pin), BY_DB: None if has_database else "nova_api_db_url is not set"}
    if strategy in problems:
        problem = problems[strategy]
        return Choice(None, problem) if problem else Choice(strategy, "you chose this strategy")
    if problems[BY_API] is None:
        return Choice(BY_API, f"this Nova can pin the server through the API (microversion {offered})")
    if problems[BY_DB] is None:
        return Choice(
            BY_DB, f"{problems[BY_API]}. nova_api_db_url is set, so the run pins the server in Nova's API database"
        )
    return Choice(VERIFY, f"{problems[BY_API]}, and {problems[BY_DB]}, so the run checks the zone after the resize")


def _not_by_api(offered: t.Optional[str], pin: t.Optional[str]) -> t.Optional[str]:
    if not by_api(offered):
        return f"this Nova offers microversion {offered}, but an availability zone pin through the API needs {PIN_API}"
    if pin is not None:
        return (
            f"the server is pinned to {pin}, which is not the zone of its host. The run does not replace this "
            f"pin through the API, because the API could not restore the pin to {pin} afterwards: the API pins a "
            "server only to the zone of the server's host"
        )
    return None


def preflight(
    facts: ZoneFacts,
    request: ResizeRequest,
    last: t.Optional[ApiMigration] = None,
    hosts: t.Optional[Bundle] = None,
    stored: t.Optional[str] = None,
    failed: t.Optional[ApiMigration] = None,
    storage: t.Optional[BlockStorage] = None,
) -> ResizeDecision:
    """Judge the resize of one server.

    ``last``: its newest migration; ``hosts``: the compute hosts, where they were read; ``stored``: its machine type as
    Nova has kept it; ``failed``: its last resize, if that failed on its destination; ``storage``: its volumes.
    """
    server = home.asked_server(facts, request.server)
    if isinstance(server, Finding):
        return ResizeDecision(gather([server]))
    rule = remedy_text("SG710", "statuses-of-resize", statuses=" or ".join(STATUSES))
    items = [*guest_places.by_record(server, last), *zones.state(server, STATUSES, rule)]
    items += zones.volumes(facts, server)
    items += volume_moves.before(storage, [server])
    items += left_snapshots.by_record(hosts, server, failed)
    if facts.aggregates is None or facts.services is None or facts.pins is None or server.id not in facts.pins:
        return ResizeDecision(gather([*items, _unread(facts, server)]), server)
    pin, zone = facts.pins[server.id], zones.zone_of(facts, server.host)
    # What a strategy handles does not forbid it. A server outside its pin would be taken there: that does.
    items += zones.milder(zones.pinned(facts, server), ("SG402",))
    if zone is None:
        return ResizeDecision(
            gather([*items, *zones.hosts(facts), home.without_zone(facts, server)]), server, None, pin
        )
    items += zones.hosts(facts, {zone})
    items += zones.room(facts, server, zone, request.same_host)
    items += _unfit(facts, server, zone, request, hosts, stored)
    holds = zones.constraint(pin, facts.aggregates) == zone
    choice = choose(
        request.strategy,
        facts.compute_max_microversion,
        request.has_database,
        zone in zones.carried(facts.aggregates),
        pin,
        holds,
    )
    if choice.method is None:
        evidence = {"strategy": request.strategy, "why not": choice.why}
        remedy = remedy_text("SG705", "resize-strategy-without-option")
        items.append(finding("SG705", zones.subject_of(server), evidence, remedy))
    return ResizeDecision(gather(items), server, zone, pin, choice)


def _unfit(
    facts: ZoneFacts,
    server: ApiServer,
    zone: str,
    request: ResizeRequest,
    hosts: t.Optional[Bundle],
    stored: t.Optional[str],
) -> Items:
    """SG523: the scheduler may choose each host of the zone that has room, whether it can run the server or not."""
    if hosts is None or not hosts.hosts:
        yield Unchecked(unfit.CODE, server.id, "the run has not read any compute host")
        return
    near = [
        host for host, reasons in (zones.against(facts, server, zone, request.same_host) or {}).items() if not reasons
    ]
    judge = unfit.Judge(hosts)
    needed = unfit.needs(judge.domain(server.host, server.id), server.host, live=False, stored=stored)
    yield from unfit.chosen_by_nova(judge, needed, zones.subject_of(server), near)


def _unread(facts: ZoneFacts, server: ApiServer) -> Finding:
    missing = [name for name in ("aggregates", "services", "pins") if getattr(facts, name) is None]
    if facts.pins is not None and server.id not in facts.pins:
        missing.append("pins")
    evidence = {"not read": missing, "reasons": [f"{entry.part}: {entry.reason}" for entry in facts.unread]}
    return finding("SG709", zones.subject_of(server), evidence, remedy_text("SG709", "pin-unread-for-resize"))
