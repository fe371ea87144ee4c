# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What waits in RabbitMQ while a host is renamed. The real server's answers: tests/integration_db/test_broker.py."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import systems as kernel
from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import BrokerError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Queue, QueuedRequest, to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Subject, finding
from ansible_collections.stackguard.nova.plugins.module_utils.rename.requests import queue_steps as queues

OLD, NEW = "compute.old1", "compute.new1"
PARAMS = {"old": "old1", "new": "new1", "timeout": 60}


class RabbitMq:
    """Queues: name to messages and consumers. ``down``: what it says instead of answering."""

    def __init__(self, monkeypatch, **found):
        self.queues = {name: [list(messages), consumers] for name, (messages, consumers) in found.items()}
        self.down = None
        self.now = 0.0
        self.at = {}
        self.remarks = []
        monkeypatch.setattr(queues, "Broker", lambda _url: self)

    def systems(self, url="rabbit://nova:geheim@mq1/"):
        options = {"rabbit_urls": url, "rename_from": "old1", "rename_to": "new1"}
        return kernel.Systems(options, None, {}, self.sleep, lambda: self.now, remark=self.remarks.append)

    def sleep(self, seconds):
        self.now += seconds
        for at in [at for at in self.at if at <= self.now]:
            self.at.pop(at)()

    def __enter__(self):
        return self

    def __exit__(self, *_details):
        pass

    def queue(self, name):
        if self.down:
            raise BrokerError(self.down)
        if name not in self.queues:
            return None
        messages, consumers = self.queues[name]
        return Queue(name, len(messages), consumers)

    def waiting(self, name):
        assert self.queues[name][1] == 0, "what is looked at is withheld from whoever reads it"
        return list(self.queues[name][0])

    def waiting_if_idle(self, name):
        found = self.queue(name)
        return self.waiting(name) if found is not None and not found.consumers else []

    def remove(self, name, reported):
        if self.queue(name) is None:
            return None
        messages, consumers = self.queues[name]
        if consumers or any(message.id not in reported for message in messages):
            return "something came"
        del self.queues[name]
        return None


def asked(number, method="stop_instance", *uuids, queue=OLD):
    return QueuedRequest(queue, f"id{number}", method, f"req-{number}", list(uuids) or ["u1"])


def rabbit(monkeypatch, old=((), 1), **more):
    return RabbitMq(monkeypatch, **{OLD: old, **{f"compute.{name}": value for name, value in more.items()}})


def found_before(mq):
    checked, is_read = queues.preflight(mq.systems(), "old1", "new1")
    assert is_read is not any(item.code == "SG316" for item in checked.findings)
    return checked


# --- before -----------------------------------------------------------------------------------------------------


def test_a_host_whose_queue_is_read_and_a_free_new_name_say_nothing(monkeypatch):
    checked = found_before(rabbit(monkeypatch))
    assert (checked.findings, checked.unchecked) == ((), ())


@pytest.mark.parametrize("consumers", [0, 1])
def test_requests_that_wait_for_the_new_name_are_refused_whoever_reads_them(monkeypatch, consumers):
    checked = found_before(rabbit(monkeypatch, new1=([asked(1)], consumers)))
    assert [(item.code, item.severity, item.object.id) for item in checked.findings] == [("SG315", "blocker", NEW)]


def test_another_nova_compute_that_answers_under_the_new_name_is_refused(monkeypatch):
    (item,) = found_before(rabbit(monkeypatch, new1=((), 1))).findings
    assert (item.code, item.evidence["consumers"]) == ("SG315", 1)
    assert "and stop nova-compute on that host" in item.remedy


def test_the_second_queue_of_the_new_name_counts_too(monkeypatch):
    mq = rabbit(monkeypatch)
    mq.queues["compute-alt.new1"] = [[asked(1)], 0]
    assert [item.object.id for item in found_before(mq).findings] == ["compute-alt.new1"]


def test_an_empty_queue_of_the_new_name_that_nobody_reads_is_free(monkeypatch):
    assert found_before(rabbit(monkeypatch, new1=((), 0))).findings == ()


@pytest.mark.parametrize("old", [None, ((), 0)])
def test_a_broker_where_no_nova_compute_of_the_host_listens_is_not_believed(monkeypatch, old):
    mq = rabbit(monkeypatch, old=old or ((), 0))
    if old is None:
        del mq.queues[OLD]
    (item,) = found_before(mq).findings
    assert (item.code, item.severity) == ("SG316", "blocker")


def test_a_broker_that_lets_nobody_in_is_a_reason_against(monkeypatch):
    mq = rabbit(monkeypatch)
    mq.down = "RabbitMQ mq1: ACCESS_REFUSED"
    (item,) = found_before(mq).findings
    assert (item.code, item.evidence["reason"]) == ("SG316", "RabbitMQ mq1: ACCESS_REFUSED")


def test_without_a_url_nothing_is_asked_and_the_new_names_queue_is_undecided(monkeypatch):
    checked, is_read = queues.preflight(rabbit(monkeypatch).systems(None), "old1", "new1")
    assert (checked.findings, is_read) == ((), False)
    assert [(entry.code, entry.object) for entry in checked.unchecked] == [("SG315", NEW)]


# --- nova-compute still runs ------------------------------------------------------------------------------------


def test_nova_compute_is_stopped_only_when_nothing_waits_for_it(monkeypatch):
    mq = rabbit(monkeypatch, old=([asked(1)], 1))
    mq.at[5] = mq.queues[OLD][0].clear
    assert queues.DrainQueues(mq.systems()).apply(PARAMS, {}).remark == "no request is waiting"
    assert mq.now >= 5


def break_broker(mq):
    mq.down = "connection lost"


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda mq: None, "compute.old1: 1 request"),
        (lambda mq: mq.queues[OLD].__setitem__(1, 0), "nova-compute does not read"),
        (break_broker, "connection lost"),
    ],
)
def test_what_does_not_drain_or_cannot_be_seen_puts_everything_back(monkeypatch, spoil, why):
    mq = rabbit(monkeypatch, old=([asked(1)], 1))
    spoil(mq)
    with pytest.raises(StepError, match=why) as raised:
        queues.DrainQueues(mq.systems()).apply(PARAMS, {})
    assert raised.value.changed_meanwhile


def test_a_lock_that_is_lost_while_waiting_puts_nothing_back(monkeypatch):
    mq = rabbit(monkeypatch, old=([asked(1)], 1))
    systems = mq.systems()

    def lost():
        raise StepError("another run may be at work")

    systems.still_ours = lost
    with pytest.raises(StepError, match="another run") as raised:
        queues.DrainQueues(systems).apply(PARAMS, {})
    assert not raised.value.changed_meanwhile


# --- afterwards -------------------------------------------------------------------------------------------------


def at_the_end(mq, **memory):
    systems = mq.systems()
    looked = queues.OldRequests(systems).apply({"old": "old1"}, memory)
    return systems, looked


def codes(done):
    return [entry["code"] for entry in done.memory["findings"]], [entry["code"] for entry in done.memory["unchecked"]]


def test_each_request_that_slipped_in_is_reported_before_the_queue_goes(monkeypatch):
    mq = rabbit(monkeypatch, old=([asked(1, "snapshot_instance"), asked(2, "external_instance_event", "u1", "u2")], 0))
    systems, looked = at_the_end(mq)
    told = [(entry["object"]["id"], entry["evidence"]["method"]) for entry in looked.memory["findings"]]
    assert told == [("u1", "snapshot_instance")], "nobody misses an event of neutron, and no owner sent it"
    assert "openstack server event show u1 req-1" in looked.memory["findings"][0]["remedy"]
    assert OLD in mq.queues
    removed = queues.RemoveQueues(systems).apply({"old": "old1"}, {"old_requests": looked.memory})
    assert (removed.remark, codes(removed), OLD in mq.queues) == ("1 queue removed", ([], []), False)


def test_a_request_that_was_reported_by_its_action_is_not_reported_twice(monkeypatch):
    item = finding("SG121", Subject("instance", "u1"), {"request": "req-1"}, "Ask again.")
    mq = rabbit(monkeypatch, old=([asked(1), asked(2)], 0))
    _systems, looked = at_the_end(mq, lost_requests={"findings": [to_plain(item)]})
    assert [entry["evidence"]["request"] for entry in looked.memory["findings"]] == ["req-2"]
    assert looked.memory["ids"][OLD] == ["id1", "id2"]


def test_what_comes_after_the_report_keeps_its_queue(monkeypatch):
    mq = rabbit(monkeypatch, old=([asked(1)], 0))
    systems, looked = at_the_end(mq)
    mq.queues[OLD][0].append(asked(2))
    removed = queues.RemoveQueues(systems).apply({"old": "old1"}, {"old_requests": looked.memory})
    assert codes(removed) == (["SG307"], [])
    assert removed.memory["findings"][0]["severity"] == "warning", "never a pass"
    assert OLD in mq.queues


def test_a_queue_that_somebody_reads_is_reported_and_left_alone(monkeypatch):
    mq = rabbit(monkeypatch, old=([asked(1)], 1))
    systems, looked = at_the_end(mq)
    assert codes(looked) == (["SG307"], [])
    removed = queues.RemoveQueues(systems).apply({"old": "old1"}, {"old_requests": looked.memory})
    assert (removed.remark, OLD in mq.queues) == ("0 queues removed", True)


def test_a_broker_that_is_gone_at_the_end_leaves_the_queue_undecided_and_the_rename_ends(monkeypatch):
    mq = rabbit(monkeypatch, old=((), 0))
    mq.down = "connection lost"
    systems, looked = at_the_end(mq)
    assert codes(looked) == ([], ["SG307", "SG307"])
    assert looked.memory["ids"] == {}
    mq.down = None
    _systems, looked = at_the_end(mq)
    mq.down = "connection lost"
    assert codes(queues.RemoveQueues(systems).apply({"old": "old1"}, {"old_requests": looked.memory})) == (
        [],
        ["SG307"],
    )
    assert OLD in mq.queues


def test_a_rollback_takes_the_new_names_empty_queue_away_and_leaves_one_with_requests(monkeypatch):
    mq = rabbit(monkeypatch, new1=((), 0))
    queues.DrainQueues(mq.systems()).undo(PARAMS)
    assert (NEW in mq.queues, mq.remarks) == (False, [])
    mq = rabbit(monkeypatch, new1=([asked(1, queue=NEW)], 0))
    queues.DrainQueues(mq.systems()).undo(PARAMS)
    assert NEW in mq.queues
    assert "SG307" in mq.remarks[0]
    assert f"rabbitmqctl delete_queue {NEW}" in mq.remarks[0]


def test_a_rollback_takes_a_queue_with_events_of_neutron_alone_away(monkeypatch):
    """Two of them kept the queue, and it refused the next rename to that name."""
    mq = rabbit(monkeypatch, new1=([asked(1, "external_instance_event", queue=NEW)], 0))
    mq.queues["compute-alt.new1"] = [
        [asked(2, "external_instance_event", queue=NEW), asked(3, "stop_instance", queue=NEW)],
        0,
    ]
    queues.DrainQueues(mq.systems()).undo(PARAMS)
    assert (NEW in mq.queues, "compute-alt.new1" in mq.queues) == (False, True)


def test_a_rollback_without_the_url_goes_on(monkeypatch):
    mq = rabbit(monkeypatch, new1=((), 0))
    queues.DrainQueues(mq.systems(None)).undo(PARAMS)
    assert ("SG307" in mq.remarks[0], NEW in mq.queues) == (True, True)


# --- a host that was already renamed ------------------------------------------------------------------------------


@pytest.mark.parametrize(("direction", "kept"), [("forward", "new1"), ("back", "old1")])
def test_an_adoption_looks_for_what_waits_for_the_name_that_the_host_gets(monkeypatch, direction, kept):
    asked_for = []
    systems = rabbit(monkeypatch).systems()
    systems._connection = object()
    monkeypatch.setattr(queues.waiting_requests, "count", lambda *given: asked_for.append(("count", *given[2:])))
    monkeypatch.setattr(queues.waiting_requests, "examine", lambda *given: asked_for.append(("examine", *given[2:])))
    queues.before_adoption(systems, direction, check_mode=True)
    queues.before_adoption(systems, direction, check_mode=False)
    assert asked_for == [("count", kept), ("examine", kept, ["old1", "new1"])]
