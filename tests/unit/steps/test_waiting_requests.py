# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests for a dead host: which RabbitMQ is believed, what is read, and what is removed.

The real server's answers: tests/integration_db/test_broker.py.
"""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import waiting_requests
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import waiting
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError, BrokerError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Queue, QueuedRequest
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db.brokers import CellBroker

DEAD, QUEUE, ALT = "compute1", "compute.compute1", "compute-alt.compute1"


class World:
    """Two RabbitMQs by URL, Nova's servers, and what a run wrote down."""

    def __init__(self, monkeypatch):
        self.queues = {"mq1": {"compute.compute2": ([], 1), QUEUE: ([], 0)}, "mq2": {"compute.far": ([], 1)}}
        self.cells = [CellBroker("cell1", "rabbit://u:geheim@mq1/", None, frozenset({DEAD, "compute2"}))]
        self.servers, self.gone, self.noted, self.lost = {}, set(), [], None
        self.services = [{"id": "s", "host": "compute2", "state": "up"}, {"id": "t", "host": DEAD, "state": "down"}]
        monkeypatch.setattr(waiting_requests.brokers, "list_brokers", lambda _options: self.cells)
        monkeypatch.setattr(waiting_requests, "Broker", lambda url: Asked(self, url.rpartition("@")[2].strip("/")))
        monkeypatch.setattr(waiting_requests.server_records, "raw_server", lambda _c, uuid: self.servers.get(uuid))
        monkeypatch.setattr(waiting_requests.server_records, "is_gone", lambda _c, uuid: uuid in self.gone)
        monkeypatch.setattr(waiting_requests.compute_services, "raw_services", lambda _c: self.services)

    def wait(self, *requests, queue=QUEUE, consumers=0):
        self.queues["mq1"][queue] = (list(requests), consumers)

    def left(self, queue=QUEUE):
        return [request.id for request in self.queues["mq1"][queue][0]]

    def note(self, ids):
        assert self.left() == [request.id for request in self.queues["mq1"][QUEUE][0]]
        self.noted.append(ids)

    def settle(self, **more):
        return waiting_requests.settle({}, None, DEAD, self.note, patience=0, **more)


class Asked:
    """One RabbitMQ as the connection shows it."""

    def __init__(self, world, place):
        self.world, self.place = world, place

    def __enter__(self):
        return self

    def __exit__(self, *_details):
        pass

    def queue(self, name):
        if self.world.lost:
            raise BrokerError(self.world.lost)
        found = self.world.queues[self.place].get(name)
        return None if found is None else Queue(name, len(found[0]), found[1])

    def counts(self, names):
        return (found for found in map(self.queue, names) if found is not None)

    def idle(self, name, patience=0):
        found = self.queue(name)
        if found is not None and found.consumers:
            raise BrokerError(f"{name} has consumers")
        return found

    def waiting(self, name):
        requests, consumers = self.world.queues[self.place][name]
        assert consumers == 0, "what is looked at is withheld from whoever reads it"
        return list(requests)

    def take(self, name, ids):
        assert self.world.noted, "the ids are written down first"
        requests, consumers = self.world.queues[self.place][name]
        self.world.queues[self.place][name] = ([one for one in requests if one.id not in ids], consumers)
        return [one.id for one in requests if one.id in ids]


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def asked(number, method="start_instance", uuid="u1", queue=QUEUE):
    return QueuedRequest(queue, f"id{number}", method, f"req-{number}", [uuid])


def server(host, **more):
    return {"id": "u1", "status": "ACTIVE", "OS-EXT-SRV-ATTR:host": host, **more}


def codes(checked):
    return [item.code for item in checked.findings], [(item.code, item.object) for item in checked.unchecked]


# --- which RabbitMQ is believed


def test_an_empty_queue_of_a_proven_broker_says_nothing(world):
    assert codes(world.settle()) == ([], [])
    assert codes(waiting_requests.count({}, None, DEAD)) == ([], [])


@pytest.mark.parametrize("missing", [True, False], ids=["no queue", "no consumer"])
def test_a_missing_queue_in_a_broker_that_no_other_nova_compute_reads_is_not_nothing_waits(world, missing):
    world.queues["mq1"] = {} if missing else {"compute.compute2": ([], 0)}
    for checked in (world.settle(), waiting_requests.count({}, None, DEAD), waiting_requests.examine({}, None, DEAD)):
        assert codes(checked) == ([], [("SG329", DEAD)])


def test_the_consumer_of_the_dead_host_itself_proves_nothing(world):
    world.queues["mq1"] = {QUEUE: ([], 1)}
    assert codes(world.settle()) == ([], [("SG329", DEAD)])


def test_the_broker_of_another_cell_is_not_the_hosts(world):
    world.cells.append(CellBroker("cell2", "rabbit://u:geheim@mq2/", None, frozenset({"far"})))
    world.queues["mq1"] = {}
    assert codes(world.settle()) == ([], [("SG329", DEAD)]), "the other cell's broker answers, and is not asked"


def test_a_name_that_no_cell_knows_is_looked_for_in_all_of_them(world):
    world.cells = [
        CellBroker("cell1", "rabbit://u:geheim@mq1/", None, frozenset({"compute2"})),
        CellBroker("cell2", "rabbit://u:geheim@mq2/", None, frozenset({"far"})),
    ]
    world.queues["mq2"][QUEUE] = ([asked(1)], 0)
    (item,) = waiting_requests.count({}, None, DEAD).findings
    assert (item.code, item.object.id, item.severity) == ("SG329", DEAD, "warning")
    world.queues["mq2"]["compute.far"] = ([], 0)
    assert codes(waiting_requests.count({}, None, DEAD)) == ([], [("SG329", DEAD)]), "one of them is not proven"


def test_without_a_database_every_nova_compute_that_is_up_must_be_heard(world):
    world.cells = [CellBroker("the only cell", "rabbit://u:geheim@mq1/")]
    assert codes(world.settle()) == ([], [])
    world.services.append({"id": "f", "host": "far", "state": "up"})
    assert codes(world.settle()) == ([], [("SG329", DEAD)]), "far is in a cell whose RabbitMQ was not given"
    world.services[-1] = {"host": "far", "status": "UNKNOWN"}
    assert codes(world.settle()) == ([], [("SG329", DEAD)]), "a cell does not answer"


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [CellBroker("cell1", None, "a template", frozenset({DEAD}))],
        [CellBroker("cell1", "rabbit://u:geheim@mq1/", None, None, "no such table")],
    ],
    ids=["no access", "no url", "services unread"],
)
def test_what_is_not_known_of_the_cells_leaves_it_undecided(world, cells):
    world.cells = cells
    assert codes(world.settle()) == ([], [("SG329", DEAD)])


def test_no_password_is_told(world):
    world.lost = "connection lost"
    assert "geheim" not in repr(world.settle()) + repr(world.cells)


# --- what is removed


@pytest.mark.parametrize("method", ["start_instance", "rescue_instance", "stop_instance", "detach_volume"])
def test_a_request_for_a_server_that_is_elsewhere_goes_and_is_named(world, method):
    world.wait(asked(1, method), asked(2, "external_instance_event"))
    world.servers["u1"] = server("compute3")
    checked = world.settle()
    assert codes(checked) == (["SG121"], [])
    assert (world.noted, world.left()) == ([{QUEUE: ["id1"]}], ["id2"])
    assert codes(world.settle()) == ([], []), "the second look finds nothing, and writes nothing down"
    assert len(world.noted) == 1


def test_a_request_for_a_server_of_the_host_stays_unless_the_run_sends_the_server_away(world):
    world.wait(asked(1))
    world.servers["u1"] = server(DEAD)
    assert codes(world.settle()) == (["SG329"], [])
    assert world.left() == ["id1"]
    assert codes(world.settle(leaving={"u1"})) == (["SG121"], [])
    assert world.left() == []


@pytest.mark.parametrize("method", ["terminate_instance", "finish_resize", "rebuild_instance"])
def test_what_would_strand_a_server_stays_and_stands_against_a_start(world, method):
    world.wait(asked(1, method))
    world.servers["u1"] = server("compute3")
    assert codes(world.settle()) == (["SG330"], [])
    assert (world.left(), world.noted) == (["id1"], [])
    del world.servers["u1"]
    world.gone.add("u1")
    assert codes(world.settle()) == (["SG121"], [])


@pytest.mark.parametrize(
    "found", [None, {"id": "u1", "status": "UNKNOWN"}, {"id": "u1", "status": "ACTIVE"}], ids=["404", "cell", "policy"]
)
def test_a_server_that_nova_does_not_show_is_not_taken_for_deleted(world, found):
    world.wait(asked(1))
    world.servers["u1"] = found
    assert codes(world.settle()) == (["SG329"], [])
    assert world.left() == ["id1"]


def test_a_request_of_an_unknown_kind_in_the_other_queue_keeps_all(world):
    world.wait(asked(1))
    world.wait(asked(2, "brand_new", queue=ALT), queue=ALT)
    world.servers["u1"] = server("compute3")
    assert codes(world.settle())[0] == ["SG330", "SG329"]
    assert (world.left(), world.left(ALT), world.noted) == (["id1"], ["id2"], [])


def test_a_consumer_keeps_the_queue_unread(world):
    world.wait(asked(1), consumers=1)
    assert codes(world.settle()) == ([], [("SG329", DEAD)])
    assert world.left() == ["id1"]


def test_what_only_looks_removes_nothing_and_refuses(world):
    world.wait(asked(1))
    world.servers["u1"] = server("compute3")
    assert codes(waiting_requests.examine({}, None, DEAD)) == (["SG330"], [])
    world.servers["u1"] = server("older-name")
    assert [
        (item.code, item.severity) for item in waiting_requests.examine({}, None, DEAD, ["older-name"]).findings
    ] == [("SG329", "info")]
    assert (world.left(), world.noted) == (["id1"], [])


def test_a_broker_that_breaks_off_among_the_removals_tells_what_is_gone_and_that_the_rest_is_not_known(
    world, monkeypatch
):
    world.wait(asked(1))
    world.servers["u1"] = server("compute3")

    def lost(*_given):
        raise BrokerError("connection lost")

    monkeypatch.setattr(Asked, "take", lost)
    assert codes(world.settle()) == (["SG330"], [("SG329", DEAD)])


def test_an_api_that_does_not_say_where_a_server_is_leaves_all(world, monkeypatch):
    world.wait(asked(1))

    def refused(*_given):
        raise ApiError("503")

    monkeypatch.setattr(waiting_requests.server_records, "raw_server", refused)
    assert codes(world.settle()) == ([], [("SG329", DEAD)])
    assert world.left() == ["id1"]


# --- for an audit


def test_an_audit_counts_what_nobody_takes_and_needs_a_witness(world):
    world.wait(asked(1))
    found = waiting_requests.read_counts(world.cells[0])
    assert (found.witness, found.waiting) == ("compute2", [Queue(QUEUE, 1, 0)])
    assert [item.object.id for item in waiting.check([found])] == [DEAD]
    world.queues["mq1"]["compute.compute2"] = ([], 0)
    found = waiting_requests.read_counts(world.cells[0])
    assert (found.witness, found.waiting) == (None, None)
    # Names that only a mapping has kept may be of another cell: they are counted, and prove nothing.
    world.queues["mq1"]["compute.compute2"] = ([], 1)
    kept = CellBroker("cell9", "rabbit://u:geheim@mq1/", None, frozenset({"far"}), left=frozenset({"compute2", DEAD}))
    assert waiting_requests.read_counts(kept).waiting is None
    own = CellBroker("cell1", "rabbit://u:geheim@mq1/", None, frozenset({"compute2"}), left=frozenset({DEAD}))
    assert waiting_requests.read_counts(own).waiting == [Queue(QUEUE, 1, 0)]
    world.cells = []
    assert [entry.waiting for entry in waiting_requests.read_brokers({})] == [None]
