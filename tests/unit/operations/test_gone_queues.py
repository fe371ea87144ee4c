# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The queues of a host that is gone: looked into, and deleted with what was seen there and nothing else."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import waiting_requests
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import waiting
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import BrokerError
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.rabbit import Rabbit

HOST, QUEUE = "compute1", "compute.compute1"


@pytest.fixture
def rabbit(monkeypatch):
    return Rabbit(monkeypatch)


def look():
    return waiting_requests.look_into({}, None, HOST)


def test_what_waits_is_judged_and_left(rabbit):
    rabbit.where = lambda _uuid: "compute2"
    sent = rabbit.send("stop_instance", guest(1, 1))
    judged, ids = look()
    assert [(entry.verdict, entry.host) for entry in judged] == [(waiting.REMOVE, "compute2")]
    assert ids == {QUEUE: [sent], "compute-alt.compute1": []}
    assert rabbit.waiting() == ["stop_instance"]


def test_queues_go_with_what_was_seen(rabbit):
    rabbit.send("stop_instance", guest(1, 1))
    assert waiting_requests.remove_queues({}, None, HOST, look()[1]) == {}
    assert set(rabbit.queues) == {"compute.compute2", "compute.compute3"}


def test_a_request_that_came_since_keeps_its_queue(rabbit):
    _judged, ids = look()
    rabbit.send("start_instance", guest(1, 1))
    assert list(waiting_requests.remove_queues({}, None, HOST, ids)) == [QUEUE]
    assert rabbit.waiting() == ["start_instance"]


def test_a_queue_that_somebody_reads_is_not_looked_into_and_is_told(rabbit):
    rabbit.consumers[QUEUE] = 1
    with pytest.raises(BrokerError):
        look()
    assert waiting_requests.listening({}, None, [HOST, "compute9"]) == {HOST: [QUEUE], "compute9": []}


def test_of_a_broker_that_is_not_read_nothing_is_said(monkeypatch):
    Rabbit(monkeypatch, access=False)
    assert waiting_requests.listening({}, None, [HOST]) == {}
    with pytest.raises(BrokerError):
        look()


def test_a_broker_that_no_other_nova_compute_reads_is_none(rabbit):
    rabbit.consumers = {}
    assert waiting_requests.listening({}, None, [HOST]) == {}
    with pytest.raises(BrokerError):
        waiting_requests.remove_queues({}, None, HOST, {QUEUE: []})
