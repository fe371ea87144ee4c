# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What waits in RabbitMQ for a host that does not run, before anything of its name may start again.

:func:`count` looks from outside, for every check. :func:`settle` is for a run, after the fence: it reads what waits,
asks Nova where each server is at that moment, has the ids of what may go written down, and removes that and nothing
else. :func:`examine` is the same without the removal. Whatever was not seen is an :class:`Unchecked` of SG329 whose
object is the host.

A broker counts as read only if the queue of another nova-compute of its cell has a consumer there: a missing queue in
the wrong virtual host is never "nothing waits".
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..hazards import queues, waiting
from ..model import facts
from ..model.errors import ApiError, BrokerError, DatabaseError
from ..model.findings import Checked
from ..systems.api import compute_services, http, server_records
from ..systems.broker import url as broker_url
from ..systems.broker.queues import Broker
from ..systems.db import brokers
from ..systems.db.brokers import CellBroker

Options = t.Mapping[str, t.Any]
#: Ids of messages, by queue.
Ids = t.Dict[str, t.List[str]]

#: Seconds until RabbitMQ has noticed that a host is dead: two heartbeats of 60 s (oslo.messaging,
#: heartbeat_timeout_threshold), and some.
PATIENCE = 150
NO_ACCESS = f"the run has no access to RabbitMQ: set nova_api_db_url or {brokers.VARIABLE}"


def count(options: Options, connection: t.Any, host: str, dead: bool = False) -> Checked:
    """Return what waits for a host, counted from outside: SG329.

    ``options``: of the databases, and C(rabbit_urls). ``connection``: to the APIs, asked only where no database names
    the hosts of a cell. ``dead``: no nova-compute can read the queues, so a consumer hides what it was given.
    """
    try:
        found = [queue for entry in _proven(options, connection, [host]) for queue in _counts(entry, [host])]
    except (BrokerError, DatabaseError, ApiError) as error:
        return Checked(unchecked=(waiting.unread(host, error.message),))
    held = [f"queue {queue.name} has {queue.consumers} consumers" for queue in found if queue.consumers and dead]
    unread = (waiting.unread(host, "; ".join(held)),) if held else ()
    return Checked(tuple(waiting.counted(host, found)), unread)


def examine(options: Options, connection: t.Any, host: str, names: t.Collection[str] = ()) -> Checked:
    """Return what each request that waits for a host is, and leave all of them: SG329, SG330.

    ``names``: all names under which Nova may have the host's own servers now.
    """
    return _settle(options, connection, _Host(host, frozenset(names)), None, 0)


def settle(
    options: Options,
    connection: t.Any,
    host: str,
    note: t.Callable[[Ids], None],
    leaving: t.AbstractSet[str] = frozenset(),
    patience: float = PATIENCE,
) -> Checked:
    """Remove the requests that must not be executed on a host; return SG121 of each, SG330 and SG329 of the others.

    To be called only where the host is fenced. ``leaving``: uuids of the servers that this run sends away from the
    host: requests for them go, too. ``note``: writes down the ids of what is about to be removed, before anything is.
    ``patience``: seconds to wait until RabbitMQ no longer counts the host as a consumer.
    """
    return _settle(options, connection, _Host(host, frozenset(), leaving), note, patience)


@dataclasses.dataclass(frozen=True)
class _Host:
    """Whose queues are looked into, other names of its servers' host, and the servers that leave it."""

    name: str
    others: t.FrozenSet[str]
    leaving: t.AbstractSet[str] = frozenset()


def _settle(
    options: Options, connection: t.Any, of: _Host, note: t.Optional[t.Callable[[Ids], None]], patience: float
) -> Checked:
    host = of.name
    judged: t.List[waiting.Judged] = []
    removed: t.Set[str] = set()
    why: t.Optional[str] = "this run only looks" if note is None else None
    try:
        accesses = _proven(options, connection, [host])
        requests = [request for entry in accesses for request in _waiting(entry, host, patience)]
        judged = waiting.judge(requests, _places(connection, of, requests))
        ids = _ids(judged)
        if ids and note is not None:
            note(ids)
            for entry in accesses:
                http.may_change(connection)
                removed |= set(_take(entry, ids))
            why = None if removed >= {one for each in ids.values() for one in each} else "the run could not remove it"
    except (BrokerError, DatabaseError, ApiError) as error:
        so_far = waiting.told(host, judged, removed, error.message)
        return so_far + Checked(unchecked=(waiting.unread(host, error.message),))
    return waiting.told(host, judged, removed, why)


def _ids(judged: t.Iterable[waiting.Judged]) -> Ids:
    ids: Ids = {}
    for entry in judged:
        if entry.verdict == waiting.REMOVE:
            ids.setdefault(entry.request.queue, []).append(entry.request.id)
    return ids


def listening(options: Options, connection: t.Any, hosts: t.Sequence[str]) -> t.Dict[str, t.List[str]]:
    """Return the queues that somebody reads, by host; of a host whose RabbitMQ was not read nothing is said."""
    found: t.Dict[str, t.List[str]] = {}
    for host in hosts:
        try:
            counts = [queue for entry in _proven(options, connection, [host]) for queue in _counts(entry, [host])]
        except (BrokerError, DatabaseError, ApiError):
            continue
        found[host] = [queue.name for queue in counts if queue.consumers]
    return found


def look_into(options: Options, connection: t.Any, host: str) -> t.Tuple[t.List[waiting.Judged], Ids]:
    """Return what waits for a host that is gone, judged, and the ids of all messages by queue; nothing is changed.

    Raises BrokerError, DatabaseError, ApiError: also where RabbitMQ counts a consumer.
    """
    requests = [request for entry in _proven(options, connection, [host]) for request in _waiting(entry, host, 0)]
    ids: Ids = {name: [] for name in queues.names_of(host)}
    for request in requests:
        ids[request.queue].append(request.id)
    return waiting.judge(requests, _places(connection, _Host(host, frozenset()), requests)), ids


def remove_queues(options: Options, connection: t.Any, host: str, ids: Ids) -> t.Dict[str, str]:
    """Delete the queues of a host that is gone, if nothing is in them but messages of these ids.

    Returns why a queue was left, by queue. Raises BrokerError, DatabaseError, ApiError.
    """
    left: t.Dict[str, str] = {}
    for entry in _proven(options, connection, [host]):
        with Broker(entry.url) as broker:
            for name in sorted(ids):
                http.may_change(connection)
                why = broker.remove(name, frozenset(ids[name]))
                if why is not None:
                    left[name] = why
    return left


# --- the brokers


@dataclasses.dataclass(frozen=True)
class _Access:
    """A broker that was proven to be a cell's own."""

    cell: str
    url: str = dataclasses.field(repr=False)


def url_of(options: Options, hosts: t.Collection[str]) -> str:
    """Return the URL of the RabbitMQ of the cell that has a compute service of one of these names.

    Raises :class:`BrokerError`, DatabaseError: there is none, there are several, or its URL is not known.
    """
    found = _of_hosts(brokers.list_brokers(options), hosts)
    if len(found) != 1:
        named = ", ".join(entry.cell for entry in found) or "none"
        raise BrokerError(f"the run does not know the RabbitMQ of {' or '.join(hosts)} (cells: {named})")
    return _url(found[0])


def _of_hosts(found: t.Sequence[CellBroker], hosts: t.Collection[str]) -> t.List[CellBroker]:
    """Return the brokers in which queues of these names can be: of the cells that have one, or all of them."""
    if not found:
        raise BrokerError(NO_ACCESS)
    unread = [f"{entry.cell}: {entry.unread}" for entry in found if entry.unread]
    if unread:
        raise BrokerError(f"the run could not read the compute services of cell {'; '.join(unread)}")
    own = [entry for entry in found if entry.names is not None and entry.names.intersection(hosts)]
    return own or list(found)


def _url(entry: CellBroker) -> str:
    if entry.url is None:
        raise BrokerError(entry.problem or f"cell {entry.cell} has no URL of RabbitMQ")
    return entry.url


def _proven(options: Options, connection: t.Any, hosts: t.Collection[str]) -> t.List[_Access]:
    """Return the brokers of these hosts. Raises BrokerError where one is not proven to be its cell's own."""
    found = _of_hosts(brokers.list_brokers(options), hosts)
    living = None
    if any(entry.names is None for entry in found):
        living = _living(connection) - set(hosts)
    heard: t.Set[str] = set()
    for entry in found:
        names = living if entry.names is None else entry.names - set(hosts)
        heard |= _witnesses(_url(entry), entry.cell, names or frozenset(), every=living is not None)
    deaf = sorted((living or set()) - heard)
    if deaf:
        raise BrokerError(
            f"no RabbitMQ of {brokers.VARIABLE} has the queue of {', '.join(deaf[:5])}, whose nova-compute is up: a "
            "cell is missing there"
        )
    return [_Access(entry.cell, _url(entry)) for entry in found]


def _living(connection: t.Any) -> t.FrozenSet[str]:
    """Return the hosts whose nova-compute Nova shows as up. Raises ApiError where a cell does not answer."""
    services = compute_services.raw_services(connection)
    if any(not item.get("id") for item in services):
        raise ApiError("a cell of Nova does not answer, so the run does not know the hosts of each cell")
    return frozenset(str(item["host"]) for item in services if item.get("state") == "up")


def _witnesses(url: str, cell: str, names: t.Iterable[str], every: bool) -> t.Set[str]:
    """Return nova-computes that read their queues in this broker: the first, or all. Raises BrokerError for none."""
    heard: t.Set[str] = set()
    with Broker(url) as broker:
        for name in sorted(names):
            queue = broker.queue(queues.names_of(name)[0])
            if queue is not None and queue.consumers:
                heard.add(name)
                if not every:
                    break
    if not heard:
        raise BrokerError(_unproven(url, cell))
    return heard


def _unproven(url: str, cell: str) -> str:
    return (
        f"RabbitMQ {broker_url.location(url)} has no queue with a consumer of another nova-compute of cell {cell}, so "
        "nothing proves that it is the RabbitMQ of this cell"
    )


def read_brokers(options: Options) -> t.List[facts.BrokerFacts]:
    """Return what waits in the RabbitMQ of each cell, for all names of its compute services. Never raises.

    One of which nothing is known, not even its cell, stands for all.
    """
    try:
        found = brokers.list_brokers(options)
    except DatabaseError as error:
        return [facts.BrokerFacts("all", "", 0, None, None, error.message)]
    if not found:
        return [facts.BrokerFacts("all", "", 0, None, None, NO_ACCESS)]
    return [read_counts(entry) for entry in found]


def read_counts(entry: CellBroker) -> facts.BrokerFacts:
    """Return what waits in the RabbitMQ of a cell for its compute services, soft-deleted ones included."""
    location, names = "", sorted(entry.names or ())
    try:
        if entry.names is None:
            raise BrokerError(entry.unread or "the run does not know the compute services of the cell")
        url = _url(entry)
        location = broker_url.location(url)
        with Broker(url) as broker:
            asked = sorted({*names, *entry.left})
            found = list(broker.counts(queue for name in asked for queue in queues.names_of(name)))
        # Only a nova-compute of this cell proves that this is its broker.
        read = {queue.name.partition(".")[2] for queue in found if queue.consumers} & set(names)
        idle = [queue for queue in found if queue.messages and not queue.consumers]
        if not read:
            raise BrokerError(_unproven(url, entry.cell))
        return facts.BrokerFacts(entry.cell, location, len(names), idle, min(read))
    except BrokerError as error:
        return facts.BrokerFacts(entry.cell, location, len(names), None, None, error.message)


# --- the requests


def _counts(access: _Access, hosts: t.Iterable[str]) -> t.List[facts.Queue]:
    with Broker(access.url) as broker:
        return list(broker.counts(name for host in hosts for name in queues.names_of(host)))


def _waiting(access: _Access, host: str, patience: float) -> t.List[facts.QueuedRequest]:
    found: t.List[facts.QueuedRequest] = []
    with Broker(access.url) as broker:
        for name in queues.names_of(host):
            queue = broker.idle(name, patience)
            if queue is not None and queue.messages:
                found += broker.waiting(name)
    return found


def _take(access: _Access, ids: Ids) -> t.Set[str]:
    with Broker(access.url) as broker:
        return {gone for name in sorted(ids) for gone in broker.take(name, frozenset(ids[name]))}


def _places(
    connection: t.Any, of: _Host, requests: t.Iterable[facts.QueuedRequest]
) -> t.Dict[str, waiting.Whereabouts]:
    """Return where each server is now, by Nova's word of this moment."""
    uuids = sorted({uuid for request in requests if waiting.is_of_server(request) for uuid in request.instances})
    return http.each(uuids, lambda uuid: _place(connection, of, uuid))


def _place(connection: t.Any, of: _Host, uuid: str) -> waiting.Whereabouts:
    found = server_records.raw_server(connection, uuid)
    if found is None:
        gone = server_records.is_gone(connection, uuid)
        return waiting.Whereabouts(waiting.GONE if gone else waiting.UNKNOWN)
    if found.get("status") == "UNKNOWN":
        # The server's cell does not answer: Nova shows little more than the uuid.
        return waiting.Whereabouts(waiting.UNKNOWN)
    there = found.get("OS-EXT-SRV-ATTR:host")
    if there is None:
        known = "OS-EXT-SRV-ATTR:host" in found
        return waiting.Whereabouts(waiting.NOWHERE if known else waiting.UNKNOWN)
    if there not in {of.name, *of.others}:
        return waiting.Whereabouts(waiting.ELSEWHERE, str(there))
    return waiting.Whereabouts(waiting.LEAVING if uuid in of.leaving else waiting.HERE, str(there))
