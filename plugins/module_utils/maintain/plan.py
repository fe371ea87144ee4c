# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of a series of maintained hosts, batch by batch, and of one host that is only enabled. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity import series
from ..model.facts import ApiService
from ..model.plan import CONTROLLER, Change, Plan, Step
from ..model.wording import count
from .preflight import DRAINED, SeriesDecision, SeriesRequest, held_as

#: One series is open at a time: two would count on the same spare hosts.
KIND = "maintain"


def kind_of_enabling(host: str) -> str:
    """Return the kind of journal of one host that is enabled. Nova's databases compare names without case."""
    return f"enable-{host.casefold()}"


#: Seconds in which nova-compute takes notice that it is enabled.
ENABLE = 180

Json = t.Dict[str, t.Any]
Status = t.Dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Work:
    """What is done on an empty host: the operator's C(tasks), a C(command), or a reboot. ``seconds``: to come back."""

    tasks: str = ""
    command: str = ""
    reboot: bool = False
    seconds: int = 1800

    @property
    def text(self) -> str:
        """Say it, for people."""
        if self.reboot:
            return "reboot"
        return f"run the tasks of {self.tasks}" if self.tasks else f"run the command {self.command}"


@dataclasses.dataclass(frozen=True)
class Extras:
    """What is done beside: C(test) is a test server (image, flavor, network, project)."""

    refill: bool = False
    test: t.Optional[Json] = None


def plan(request: SeriesRequest, decision: SeriesDecision, work: Work, extras: Extras, operation_id: str) -> Plan:
    """Return the steps of a series."""
    steps: t.List[Step] = []
    notes: t.List[str] = []
    total, done = len(request.hosts), 0
    for number, batch in enumerate(decision.batches, 1):
        steps += _batch(number, batch, (done, total), decision, request, work, extras, operation_id)
        done += len(batch.hosts)
        notes += _notes(batch, decision)
    hours = series.seconds(decision.batches, work.seconds / 3, request.moves.per_source) / 3600
    notes.append(
        f"about {hours:.1f} hours, if guests move at {series.ASSUMED_RATE:.0f} MiB/s and the work on a host takes "
        f"{work.seconds // 3} s; the run tells more exactly after its first host"
    )
    return Plan(KIND, operation_id, ", ".join(request.hosts), steps, notes)


def enabling(
    host: str, service: ApiService, provider: str, test: t.Optional[Json], operation_id: str, kind: str
) -> Plan:
    """Return the steps that enable a host that is proven. ``service``: as it is now."""
    before = {"status": "disabled", "reason": f"its test server has failed (stackguard operation {operation_id})"}
    steps: t.List[Step] = []
    if service.status != "enabled":
        before = _before(service)
        steps += _enable(host, before, service, provider)
    return Plan(kind, operation_id, host, [*steps, *_test(host, test, before, service, provider)])


def _batch(
    number: int,
    batch: series.Batch,
    so_far: t.Tuple[int, int],
    decision: SeriesDecision,
    request: SeriesRequest,
    work: Work,
    extras: Extras,
    operation_id: str,
) -> t.Iterator[Step]:
    named = ", ".join(batch.hosts)
    place = f"host {so_far[0] + 1} of {so_far[1]}"
    rest = list(request.hosts[so_far[0] :])
    yield Step(
        f"room:{number}",
        f"{place} ({named}): find out whether the zone still has room",
        CONTROLLER,
        "room",
        {"hosts": list(batch.hosts), "rest": rest, "total": so_far[1], "number": number},
    )
    for host in batch.hosts:
        service = decision.services[host]
        before, held = _before(service), {"status": "disabled", "reason": held_as(operation_id)}
        yield Step(
            f"hold:{host}",
            f"disable the compute service of {host}",
            CONTROLLER,
            "hold_host",
            {**_where(host, service, decision.providers[host]), "before": before, "after": held},
            _changes(host, before, held),
        )
    # All are disabled before the first of their servers moves: none goes to a host that is emptied next.
    for host in batch.hosts:
        moving = batch.assigned if len(batch.hosts) == 1 else decision.guests.get(host, ())
        yield Step(
            f"move:{host}",
            f"move all servers of {host}, each within its zone",
            CONTROLLER,
            "drain",
            {"host": host, "provider": decision.providers[host], "servers": [], "timeout": request.moves.timeout},
            [
                Change(f"servers of {host}", "number", str(len(moving)), "0", measured=True),
            ],
        )
    yield Step(
        f"work:{number}",
        f"{named}: {work.text}",
        CONTROLLER,
        "work",
        {"hosts": list(batch.hosts), "number": number},
        [Change(host, "maintenance", "", work.text) for host in batch.hosts],
    )
    yield from _prove(batch.hosts, number, operation_id)
    for host in batch.hosts:
        service = decision.services[host]
        yield from _enable(
            host,
            {"status": "disabled", "reason": held_as(operation_id)},
            service,
            decision.providers[host],
            _after(service),
        )
        if _after(service)["status"] == "enabled":
            held = {"status": "disabled", "reason": held_as(operation_id)}
            yield from _test(host, extras.test, held, service, decision.providers[host])
    if extras.refill:
        for host in batch.hosts:
            yield Step(
                f"refill:{host}",
                f"move the servers back to {host} that it had before",
                CONTROLLER,
                "refill",
                {"host": host, "number": number, "timeout": request.moves.timeout},
            )


def _prove(hosts: t.Sequence[str], number: int, operation_id: str) -> t.Iterator[Step]:
    held = held_as(operation_id)
    yield Step(
        f"prove:{number}",
        f"prove that {', '.join(hosts)} may take guests",
        CONTROLLER,
        "prove",
        {"hosts": list(hosts), "number": number, "held_as": held},
    )


def _enable(
    host: str, before: Status, service: ApiService, provider: str, after: t.Optional[Status] = None
) -> t.Iterator[Step]:
    wanted = after or {"status": "enabled", "reason": None}
    title = f"enable the compute service of {host}"
    if wanted["status"] != "enabled":
        title = f"leave the compute service of {host} disabled, as it was"
    params = {**_where(host, service, provider), "before": before, "after": wanted}
    yield Step(f"enable:{host}", title, CONTROLLER, "enable", params, _changes(host, before, wanted))


def _test(host: str, test: t.Optional[Json], before: Status, service: ApiService, provider: str) -> t.Iterator[Step]:
    """``before``: what the host gets again if its test fails."""
    if test:
        title = f"start a test server on {host}, live-migrate it away, and delete it"
        enable = {**_where(host, service, provider), "before": before, "after": {"status": "enabled", "reason": None}}
        params = {"host": host, "test": dict(test), "enable": enable}
        yield Step(f"test:{host}", title, CONTROLLER, "test", params, [Change(host, "test server", "", "one, deleted")])


def _where(host: str, service: ApiService, provider: str) -> Json:
    return {"host": host, "service_id": service.id, "provider": provider, "timeout": ENABLE}


def _before(service: ApiService) -> Status:
    return {"status": service.status, "reason": service.disabled_reason}


def _after(service: ApiService) -> Status:
    """A host that somebody has disabled for a reason of his own stays so; one that was drained is enabled."""
    if service.status == "enabled" or (service.disabled_reason or "").startswith(DRAINED):
        return {"status": "enabled", "reason": None}
    return _before(service)


def _changes(host: str, before: Status, after: Status) -> t.List[Change]:
    return [
        Change(f"compute service of {host}", what, str(before[what]), str(after[what]))
        for what in ("status", "reason")
        if before[what] != after[what]
    ]


def _notes(batch: series.Batch, decision: SeriesDecision) -> t.Iterator[str]:
    for host in batch.hosts:
        after = _after(decision.services[host])
        if after["status"] != "enabled":
            yield f"{host} was disabled before ({after['reason']}), and stays so"
    yield (
        f"{', '.join(batch.hosts)}: {count(len(batch.assigned), 'server')} with {batch.moved_mib} MiB would move, as "
        "measured now"
    )
