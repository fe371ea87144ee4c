# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The queues of a host in a real RabbitMQ: what waits is read and stays; only what was reported is ever removed."""

from __future__ import annotations

import pytest
from rabbit import QUOTED, Rabbit, request

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import BrokerError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Queue
from ansible_collections.stackguard.nova.plugins.module_utils.systems.broker.queues import Broker

NAME = "compute.compute1"


@pytest.fixture(scope="module")
def rabbit():
    server = Rabbit()
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(params=["classic", "quorum"])
def queue(request, rabbit):
    """An empty queue of the host's old name."""
    with rabbit.channel() as channel:
        channel.queue_delete(NAME)
    rabbit.declare(NAME, request.param)
    return NAME


def test_what_waits_is_told_and_stays(rabbit, queue):
    sent = [request(1), request(2, "snapshot_instance", "u2")]
    rabbit.send(queue, *sent)
    with Broker(rabbit.url()) as broker:
        found = broker.waiting(queue)
        assert [(one.id, one.method, one.request_id, one.instances) for one in found] == [
            ("id1", "stop_instance", "req-1", ["u1"]),
            ("id2", "snapshot_instance", "req-2", ["u2"]),
        ]
        assert "geheim" not in repr(found)
    assert sorted(rabbit.bodies(queue)) == sorted(sent)


def test_a_queue_is_counted_and_one_that_is_not_there_is_none_and_is_not_made(rabbit, queue):
    rabbit.send(queue, request(1))
    with Broker(rabbit.url()) as broker:
        assert broker.queue(queue) == Queue(queue, 1, 0)
        assert broker.queue("compute.nobody") is None
        assert broker.queue("compute.nobody") is None
        assert broker.remove("compute.nobody", ()) is None
        assert broker.queue(f"compute.{'x' * 300}") is None, "no host of such a name can have a queue"


def test_a_queue_with_reported_requests_only_is_removed(rabbit, queue):
    rabbit.send(queue, request(1), request(2))
    with Broker(rabbit.url()) as broker:
        assert broker.remove(queue, {"id1", "id2"}) is None
        assert broker.queue(queue) is None


def test_a_request_that_came_since_keeps_the_queue_and_all_that_is_in_it(rabbit, queue):
    sent = [request(1), request(2), request(3)]
    rabbit.send(queue, *sent)
    with Broker(rabbit.url()) as broker:
        assert broker.remove(queue, {"id1", "id2"}) == "the queue has 1 requests that are not in the report of the run"
    assert sorted(rabbit.bodies(queue)) == sorted(sent)


def test_a_queue_that_a_nova_compute_reads_is_left(rabbit, queue):
    with rabbit.channel() as channel, Broker(rabbit.url()) as broker:
        channel.basic_consume(queue, callback=lambda _message: None)
        assert broker.queue(queue) == Queue(queue, 0, 1)
        assert broker.remove(queue, ()) == "the queue has 1 consumers"
        assert broker.queue(queue) == Queue(queue, 0, 1)


def test_what_is_no_request_of_novas_is_not_taken_for_reported(rabbit, queue):
    rabbit.send(queue, request(1), '{"oslo.message": "{}"}')
    with Broker(rabbit.url()) as broker:
        with pytest.raises(BrokerError, match="not a request of Nova"):
            broker.waiting(queue)
        with pytest.raises(BrokerError, match="not a request of Nova"):
            broker.remove(queue, {"id1"})
    assert len(rabbit.bodies(queue)) == 2


def test_more_than_can_be_looked_at_is_an_error_and_stays(rabbit, queue, monkeypatch):
    monkeypatch.setattr("ansible_collections.stackguard.nova.plugins.module_utils.systems.broker.queues.LIMIT", 2)
    rabbit.send(queue, request(1), request(2), request(3))
    with Broker(rabbit.url()) as broker, pytest.raises(BrokerError, match="more than 2 requests"):
        broker.waiting(queue)
    assert len(rabbit.bodies(queue)) == 3


def test_what_is_taken_is_gone_and_the_rest_stays_in_its_order(rabbit, queue):
    sent = [request(1), request(2, "finish_resize"), request(3), request(4, "external_instance_event")]
    rabbit.send(queue, *sent)
    with Broker(rabbit.url()) as broker:
        assert broker.idle(queue).messages == 4
        assert broker.take(queue, {"id1", "id3", "id9"}) == ["id1", "id3"]
        assert [one.id for one in broker.waiting(queue)] == ["id2", "id4"]
        assert broker.idle(queue).messages == 2
        assert broker.take("compute.nobody", {"id1"}) == []
    assert rabbit.bodies(queue) == [sent[1], sent[3]]


def test_a_connection_that_is_lost_before_the_removal_ends_loses_nothing(rabbit, queue):
    rabbit.send(queue, request(1), request(2))
    broker = Broker(rabbit.url())
    assert [one.id for one in broker.waiting(queue)] == ["id1", "id2"]
    broker.close()
    assert len(rabbit.bodies(queue)) == 2


def test_a_queue_with_a_consumer_is_neither_idle_nor_taken_from(rabbit, queue):
    with rabbit.channel() as channel, Broker(rabbit.url()) as broker:
        channel.basic_consume(queue, callback=lambda _message: None)
        with pytest.raises(BrokerError, match="consumers"):
            broker.idle(queue)
        with pytest.raises(BrokerError, match="consumers"):
            broker.take(queue, {"id1"})
    with Broker(rabbit.url()) as broker:
        assert broker.idle(queue, patience=10).consumers == 0, "the consumer's connection has ended"


def test_one_message_that_is_no_request_keeps_all_of_them(rabbit, queue):
    rabbit.send(queue, request(1), "not json")
    with Broker(rabbit.url()) as broker, pytest.raises(BrokerError, match="not a request of Nova"):
        broker.take(queue, {"id1"})
    assert len(rabbit.bodies(queue)) == 2


# --- ways in --------------------------------------------------------------------------------------------------


def asked(url):
    with Broker(url) as broker:
        return broker.queue("compute.nobody")


def test_tls_is_spoken_and_the_certificate_verified(rabbit):
    assert asked(f"{rabbit.url('amqps')}?ssl_ca_file={rabbit.ca_file}") is None
    assert asked(f"{rabbit.url(port=rabbit.tls_port)}?ssl=true&ssl_ca_file={rabbit.ca_file}") is None
    with pytest.raises(BrokerError, match=r"(?i)certificate verify failed"):
        asked(rabbit.url("amqps"))
    other = rabbit.url("amqps").replace("localhost", "127.0.0.1")
    with pytest.raises(BrokerError, match=r"(?i)certificate verify failed"):
        asked(f"{other}?ssl_ca_file={rabbit.ca_file}")


def test_the_next_node_is_asked_where_one_does_not_answer(rabbit):
    assert asked(f"rabbit://nova:x@localhost:1,{rabbit.url().partition('://')[2]}") is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"password": "wr%40ng-pass"}, "ACCESS_REFUSED"),
        ({"vhost": "other"}, "vhost other not found"),
        ({"port": 1}, "Connection refused"),
    ],
)
def test_who_is_not_let_in_is_told_why_without_the_password(rabbit, change, why):
    with pytest.raises(BrokerError, match=why) as raised:
        asked(rabbit.url(**change))
    for secret in ("wr@ng-pass", "wr%40ng-pass", QUOTED, "se:cr/et@x"):
        assert secret not in str(raised.value)
    assert raised.value.__suppress_context__ or raised.value.__cause__ is None
