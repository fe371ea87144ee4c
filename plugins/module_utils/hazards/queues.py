# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The message queues of a host's two names: SG121, SG307, SG315, SG316. Pure."""

from __future__ import annotations

import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.commands import Commands, typed
from ..model.facts import Queue, QueuedRequest
from ..model.findings import (
    WARNING,
    Finding,
    Subject,
    Unchecked,
    finding,
)

#: What nova-compute listens to: the second since release 33 (nova/compute/rpcapi.py).
TOPICS = ("compute", "compute-alt")
#: A broker that could not be read, or in which the host's nova-compute reads no queue.
NOT_OURS = "SG316"


def names_of(host: str) -> t.List[str]:
    """Return the names of a host's queues."""
    return [f"{topic}.{host}" for topic in TOPICS]


def preflight(old: str, new: str, found: t.Mapping[str, t.Optional[Queue]]) -> t.Iterator[Finding]:
    """SG316: this is not the broker of the host's nova-compute. SG315: a queue of the new name that is not empty."""
    main = names_of(old)[0]
    own = found.get(main)
    if own is None or not own.consumers:
        evidence = {"queue": main, "exists": own is not None, "consumers": own.consumers if own else 0}
        yield finding(NOT_OURS, Subject("host", old), evidence, remedy_text(NOT_OURS, "no-consumer"))
    for name in names_of(new):
        queue = found.get(name)
        if queue is not None and (queue.messages or queue.consumers):
            yield finding("SG315", Subject("host", name, new), _counts(queue), _remedy(queue))


def _counts(queue: Queue) -> t.Dict[str, t.Any]:
    return {"queue": queue.name, "messages": queue.messages, "consumers": queue.consumers}


def _remedy(queue: Queue) -> str:
    if queue.consumers:
        return remedy_text("SG315", "name-in-use")
    return remedy_text("SG315", "messages-left", queue=queue.name)


def not_asked(old: str, reason: str) -> Finding:
    """SG316: the broker was to be asked, and was not."""
    return finding(NOT_OURS, Subject("host", old), {"reason": reason}, remedy_text(NOT_OURS, "broker-unread"))


def without_access(new: str, reason: str) -> Unchecked:
    """SG315 undecided: no broker was named, and the one of C(cell_mappings) could not be read."""
    why = (
        f"RabbitMQ was not read ({reason}). If the queues of the new name contain requests, "
        f"nova-compute executes these requests at its first start under that name. List the queues: {look(new)}"
    )
    return Unchecked("SG315", names_of(new)[0], why)


def look(host: str) -> str:
    """Return the command that shows a host's queues."""
    return f"rabbitmqctl list_queues name messages consumers | grep -E '^compute(-alt)?\\.{host}\\s'"


def requests(found: t.Iterable[QueuedRequest], reported: t.Container[str], old: str) -> t.Iterator[Finding]:
    """SG121: each request that was left in a queue of the old name, unless its id is among ``reported``."""
    for request in found:
        if request.request_id is not None and request.request_id in reported:
            continue
        evidence = {"queue": request.queue, "method": request.method, "request": request.request_id}
        for uuid in request.instances or (None,):
            look: Commands = ()
            remedy = remedy_text("SG121", "request-left")
            if uuid is not None and request.request_id is not None:
                seen = remedy_text("SG121", "request-of-known-server", uuid=uuid, request=request.request_id)
                remedy = f"{remedy} {seen}"
                look = typed(("openstack", "server", "event", "show"), uuid, request.request_id)
            subject = Subject("host", old) if uuid is None else Subject("instance", uuid, host=old)
            yield finding("SG121", subject, evidence, remedy, commands=look)


def left(name: str, why: str) -> Finding:
    """SG307: a queue of a name that the host no longer bears was not removed."""
    remedy = remedy_text("SG307", "queue-left", queue=name)
    return finding("SG307", Subject("host", name), {"queue": name, "why it was left": why}, remedy, WARNING)


def undecided(name: str, why: str) -> Unchecked:
    """SG307 undecided: a queue that could not be looked into is left as it is."""
    return Unchecked("SG307", name, f"{why}. {remedy_text('SG307', 'queue-unread', queue=name)}")
