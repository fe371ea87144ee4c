# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The queues of a host in its cell's RabbitMQ, asked over AMQP.

AMQP, not the management API: it is what nova-compute itself uses, so its URL is at hand and its account may do it; the
answers are of this moment, where the management API's are sampled every few seconds. What it does not tell is which
messages a consumer holds unacknowledged: they come back to the queue when that consumer's connection ends, so they
are seen after nova-compute has stopped.

nova-compute reads C(compute.HOST), and since release 33 C(compute-alt.HOST) (nova/compute/rpcapi.py, RPC_TOPIC and
RPC_TOPIC_ALT; oslo.messaging names the queue TOPIC.SERVER). Nothing is ever declared here, and nothing is published.
"""

from __future__ import annotations

import contextlib
import json
import ssl
import time
import typing as t

from ...model import facts
from ...model.errors import BrokerError
from . import url as broker_url

try:
    import amqp
    from amqp import exceptions as amqp_errors
except ImportError:
    AMQP = False
else:
    AMQP = True

MISSING = "reading RabbitMQ needs the Python library amqp on the Ansible controller: pip install 'amqp>=5.0'"
#: Seconds.
CONNECT_TIMEOUT = 10
ANSWER_TIMEOUT = 30
#: Bytes: no queue can have a longer name (AMQP's short string), whatever a host is to be called.
LONGEST = 255
#: How often, and how many seconds apart, a queue is looked at until its counts stand still.
LOOKS, BETWEEN_LOOKS = 10, 0.5
#: Seconds between looks at a queue whose consumer is to go.
BETWEEN_PATIENT_LOOKS = 5
#: Messages of one queue that are looked at: where more wait, the queue is left alone. Most are events of neutron.
LIMIT = 5000


class Broker:
    """A connection, opened when first needed. A context manager: what it holds unacknowledged goes back at its end."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: t.Any = None

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, *_details: t.Any) -> None:
        self.close()

    def close(self) -> None:
        """Close it. That it is lost already is no error."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(amqp_errors.AMQPError, OSError):
                connection.close()

    def queue(self, name: str) -> t.Optional[facts.Queue]:
        """Return a queue's counts, or None where there is no such queue. Raises :class:`BrokerError`."""
        if len(name.encode()) > LONGEST:
            return None
        with self._channel() as channel:
            try:
                found = channel.queue_declare(name, passive=True)
            except amqp_errors.NotFound:
                return None
            return facts.Queue(name, int(found.message_count), int(found.consumer_count))

    def counts(self, names: t.Iterable[str]) -> t.Iterator[facts.Queue]:
        """Yield the counts of those queues that exist. Raises :class:`BrokerError`."""
        for name in names:
            found = self.queue(name)
            if found is not None:
                yield found

    def waiting(self, name: str) -> t.List[facts.QueuedRequest]:
        """Return the requests that wait in a queue, and leave them there. Raises :class:`BrokerError`.

        To be asked of queues without a consumer only: what is looked at is withheld from everybody meanwhile.
        """
        with self._channel() as channel:
            return [found for _tag, found in _taken(channel, name)]

    def waiting_if_idle(self, name: str) -> t.List[facts.QueuedRequest]:
        """Return what waits in a queue that nobody reads; nothing where there is none, or somebody does."""
        found = self.queue(name)
        return self.waiting(name) if found is not None and not found.consumers else []

    def remove(self, name: str, reported: t.Container[str]) -> t.Optional[str]:
        """Delete a queue in which nothing is but requests of these ids; return why it was left, None: it is gone.

        Raises :class:`BrokerError`.
        """
        found = self._at_rest(name)
        if found is None:
            return None
        if found.consumers:
            return f"the queue has {found.consumers} consumers"
        with self._channel() as channel:
            taken = _taken(channel, name)
            strange = [request for _tag, request in taken if request.id not in reported]
            if strange:
                # Closing the channel puts all of them back.
                return f"the queue has {len(strange)} requests that are not in the report of the run"
            for tag, _request in taken:
                channel.basic_ack(tag)
            try:
                channel.queue_delete(name, if_unused=True, if_empty=True)
                return None
            except amqp_errors.PreconditionFailed:
                return "a request or a consumer arrived while the run was removing the queue"
            except amqp_errors.AMQPNotImplementedError:
                # A quorum queue knows no such condition, and the refusal has ended the connection.
                self.close()
        return self._remove_quorum_queue(name)

    def take(self, name: str, ids: t.Container[str]) -> t.List[str]:
        """Remove the requests of these ids from a queue that nobody reads; return the ids that are gone.

        Everything else stays, in its order. Raises :class:`BrokerError`, also where the queue has a consumer at any of
        several looks: what it was given meanwhile cannot be seen.
        """
        if self.idle(name) is None:
            return []
        with self._channel() as channel:
            taken = [(tag, request.id) for tag, request in _taken(channel, name) if request.id in ids]
            for tag, _id in taken:
                channel.basic_ack(tag)
        return [found_id for _tag, found_id in taken]

    def idle(self, name: str, patience: float = 0.0) -> t.Optional[facts.Queue]:
        """Return the counts of a queue in which no consumer was seen twice; None: there is no such queue.

        ``patience``: seconds to wait for consumers to go: RabbitMQ counts a dead host's until its heartbeats are
        missed. Raises :class:`BrokerError` where one stays.
        """
        end = time.monotonic() + patience
        while True:
            # Counts that never stood still were seen once only: a consumer may come and go among them.
            looks = (self._at_rest(name), self.queue(name))
            consumers = max(found.consumers if found is not None else 0 for found in looks)
            if not consumers:
                return looks[1]
            if time.monotonic() >= end:
                raise BrokerError(f"queue {name} has {consumers} consumers")
            time.sleep(BETWEEN_PATIENT_LOOKS)

    def _at_rest(self, name: str) -> t.Optional[facts.Queue]:
        """Return a queue's counts once they stand still.

        What was looked at and given back is in a quorum queue again a moment later: in between it looks empty.
        """
        before = self.queue(name)
        for _look in range(LOOKS):
            time.sleep(BETWEEN_LOOKS)
            now = self.queue(name)
            if now == before:
                break
            before = now
        return before

    def _remove_quorum_queue(self, name: str) -> t.Optional[str]:
        found = self._at_rest(name)
        if found is None:
            return None
        if found.messages or found.consumers:
            return (
                f"{found.messages} requests and {found.consumers} consumers arrived while the run was removing "
                "the queue"
            )
        with self._channel() as channel:
            lost = channel.queue_delete(name)
        return (
            f"{lost} requests arrived while the run was removing the queue, and RabbitMQ deleted them with the queue"
            if lost
            else None
        )

    @contextlib.contextmanager
    def _channel(self) -> t.Iterator[t.Any]:
        """A channel of its own for each question: an answer that is an error closes it."""
        with self._errors():
            if self._connection is None:
                self._connection = self._connect()
            channel = self._connection.channel()
            try:
                yield channel
            finally:
                if channel.is_open and self._connection is not None:
                    channel.close()

    @contextlib.contextmanager
    def _errors(self) -> t.Iterator[None]:
        try:
            yield
        except BrokerError:
            raise
        except _errors() as error:
            self.close()
            # "from None": the library's own exception may hold the URL, and tracebacks are printed.
            raise BrokerError(f"RabbitMQ {broker_url.location(self._url)}: {self._reason(error)}") from None

    def _reason(self, error: BaseException) -> str:
        text = " ".join(str(error).split()) or type(error).__name__
        return broker_url.redact(text, self._url)

    def _connect(self) -> t.Any:
        if not AMQP:
            raise BrokerError(MISSING)
        address = broker_url.parsed(self._url)
        reasons = []
        for node in address.nodes:
            connection = amqp.Connection(
                host=node.place,
                userid=node.user,
                password=node.password,
                login_method="PLAIN",
                virtual_host=address.vhost,
                ssl=_tls(address.tls, node.host) if address.tls else False,
                connect_timeout=CONNECT_TIMEOUT,
                read_timeout=ANSWER_TIMEOUT,
                write_timeout=ANSWER_TIMEOUT,
            )
            try:
                connection.connect()
            except _errors() as error:
                reasons.append(f"{node.place}: {self._reason(error)}")
            else:
                return connection
        raise BrokerError(f"RabbitMQ refuses the login: {'; '.join(reasons)}")


def _errors() -> t.Tuple[t.Type[BaseException], ...]:
    """What the library raises: its own, and those of sockets and of TLS."""
    return (amqp_errors.AMQPError, OSError) if AMQP else (OSError,)


def _tls(files: broker_url.Tls, host: str) -> t.Dict[str, t.Any]:
    return {
        "ca_certs": files.ca_file,
        "certfile": files.cert_file,
        "keyfile": files.key_file,
        "cert_reqs": ssl.CERT_REQUIRED,
        "server_hostname": host.strip("[]"),
    }


def _taken(channel: t.Any, name: str) -> t.List[t.Tuple[t.Any, facts.QueuedRequest]]:
    """Take every message out, unacknowledged: each with its delivery tag. They go back when the channel closes."""
    found: t.List[t.Tuple[t.Any, facts.QueuedRequest]] = []
    while True:
        message = channel.basic_get(name)
        if message is None:
            return found
        if len(found) == LIMIT:
            raise BrokerError(f"more than {LIMIT} requests wait in queue {name}")
        found.append((message.delivery_tag, request_of(name, message.body)))


def request_of(queue: str, body: t.Union[str, bytes]) -> facts.QueuedRequest:
    """Return what a message asks for; its arguments stay unread, for they hold passwords and tokens.

    oslo.messaging sends JSON in JSON (common.py, serialize_msg): C({"oslo.message": "{\\"method\\": ...}"}). Raises
    :class:`BrokerError` for anything else: what is not understood must not be taken for reported.
    """
    try:
        message = json.loads(json.loads(body)["oslo.message"])
        return facts.QueuedRequest(
            queue,
            str(message["_unique_id"]),
            str(message["method"]),
            message.get("_context_request_id"),
            sorted(set(_instances(message.get("args")))),
            message.get("_context_timestamp"),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BrokerError(f"{queue}: a message in this queue is not a request of Nova") from None


def _instances(value: t.Any) -> t.Iterator[str]:
    """The uuids of the instances among a request's arguments, each a serialised object."""
    if isinstance(value, list):
        for item in value:
            yield from _instances(item)
    elif isinstance(value, dict) and "nova_object.name" not in value:
        for item in value.values():
            yield from _instances(item)
    elif isinstance(value, dict) and value["nova_object.name"] == "Instance":
        yield str((value.get("nova_object.data") or {}).get("uuid"))
