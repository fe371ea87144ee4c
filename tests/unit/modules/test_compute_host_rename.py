# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""compute_host_rename before its first step: what it makes of evidence, in check mode."""

from __future__ import annotations

import json
import types

import pytest

from ansible_collections.stackguard.nova.plugins.action import compute_host_rename as action
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import Queue, Unread, to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Checked
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.rename import operation
from ansible_collections.stackguard.nova.plugins.module_utils.rename.drain import operation as drain_operation
from ansible_collections.stackguard.nova.tests.unit import builders, draining, handmade
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet


@pytest.fixture
def begin(tmp_path):
    """Begin the rename of a fleet's first host, with its evidence as readers leave it."""
    some = fleet()

    def says(hostname, **more):
        """What the host answers when it is asked what libvirt would call it."""
        return lambda request: {
            "results": [{"ok": True, "rehearsal": {"name": request["name"], "hostname": hostname, **more}}]
        }

    sound = says(some.new, now=some.old)

    def run(cloud, rehearsed=sound, **options):
        for name, facts in cloud.bundle.hosts.items():
            evidence.save_host(str(tmp_path), name, facts)
        for name, reason in cloud.bundle.unreachable.items():
            evidence.save_unreachable(str(tmp_path), name, reason)
        evidence.save_part(str(tmp_path), evidence.CLOUD, cloud.bundle.cloud)
        evidence.save_part(str(tmp_path), evidence.DATABASES, cloud.bundle.databases)
        args = {"rename_from": some.old, "rename_to": some.new, "evidence_dir": str(tmp_path), "neutron_db_url": "x"}
        task = types.SimpleNamespace(
            args={**args, **options}, async_val=0, check_mode=True, diff=False, module_defaults=[]
        )
        connection = types.SimpleNamespace(_shell=types.SimpleNamespace(tmpdir="/tmp"))
        made = action.ActionModule(task, connection, types.SimpleNamespace(diff=False), None, None, None)
        host = to_plain(cloud.bundle.hosts["compute1"])

        def execute(module_args, **_given):
            for request in module_args.get("requests", ()):
                run.asked.append(request)
                if request["op"] == "rehearse":
                    return rehearsed(request) if callable(rehearsed) else rehearsed
            return {"results": [{"ok": True, "journal": None}], "host": host}

        made._execute_module = execute
        return made.run(task_vars={"inventory_hostname": "compute1"})

    run.asked, run.says = [], says
    return run


def test_sound_evidence_is_planned(begin):
    answer = begin(fleet().cloud, peers=["compute2", "compute3"])
    found = [item["severity"] for item in answer["report"]["findings"]]
    assert (answer["state"], found) == ("planned", ["info"]), answer
    # RabbitMQ was not asked: no pass.
    told = [(item["code"], item["object"]) for item in answer["report"]["unchecked"]]
    assert (answer["report"]["verdict"], told) == ("warn", [("SG315", f"compute.{fleet().new}")])


def steps_of(answer):
    return [step["name"] for step in answer["plan"]["steps"]]


def queue_of(counts):
    """A broker with these queues: name to messages and consumers."""

    class Asked:
        def __init__(self, url):
            assert url == "rabbit://nova:geheim@mq1/"

        def __enter__(self):
            return self

        def __exit__(self, *_details):
            pass

        def queue(self, name):
            return Queue(name, *counts[name]) if name in counts else None

    return Asked


def test_with_rabbitmqs_url_its_queues_are_looked_at_in_check_mode_and_planned(begin, monkeypatch):
    old, new = fleet().old, fleet().new
    monkeypatch.setattr(operation.queue_actions, "Broker", queue_of({f"compute.{old}": (0, 1)}))
    answer = begin(fleet().cloud, peers=["compute2", "compute3"], rabbit_urls="rabbit://nova:geheim@mq1/")
    assert (answer["state"], answer["report"]["verdict"]) == ("planned", "pass"), answer
    names = steps_of(answer)
    assert names.index("settle") < names.index("drain_queues") < names.index("stop_compute")
    assert names.index("lost_requests") < names.index("old_requests") < names.index("remove_queues")
    assert names.index("remove_queues") < names.index("unlock_guests") < names.index("enable_service")
    assert "geheim" not in repr(answer)
    without = begin(fleet().cloud, peers=["compute2", "compute3"])
    assert not {"drain_queues", "old_requests", "remove_queues"} & set(steps_of(without))
    counts = {f"compute.{old}": (0, 1), f"compute.{new}": (2, 0)}
    monkeypatch.setattr(operation.queue_actions, "Broker", queue_of(counts))
    answer = begin(fleet().cloud, rabbit_urls="rabbit://nova:geheim@mq1/")
    assert (answer["failed"], answer["state"]) == (True, "refused")
    assert [item["code"] for item in answer["report"]["findings"] if item["severity"] == "blocker"] == ["SG315"]


def test_a_broker_that_is_not_the_hosts_is_refused_and_passed_by_name_it_is_not_used(begin, monkeypatch):
    monkeypatch.setattr(operation.queue_actions, "Broker", queue_of({}))
    given = {"rabbit_urls": "rabbit://nova:geheim@mq1/", "peers": ["compute2", "compute3"]}
    answer = begin(fleet().cloud, **given)
    assert (answer["failed"], answer["state"]) == (True, "refused")
    assert [item["code"] for item in answer["report"]["findings"] if item["severity"] == "blocker"] == ["SG316"]
    override = {"code": "SG316", "object": fleet().old, "reason": "RabbitMQ is being moved"}
    answer = begin(fleet().cloud, **given, overrides=[override])
    assert (answer["state"], answer["report"]["verdict"]) == ("planned", "warn")
    assert not {"drain_queues", "old_requests", "remove_queues"} & set(steps_of(answer))


PEERS = {"peers": ["compute2", "compute3"]}


def test_libvirt_is_asked_for_the_planned_name_with_the_planned_lines(begin, tmp_path):
    begin(fleet().cloud, **PEERS)
    (asked,) = [request for request in begin.asked if request["op"] == "rehearse"]
    assert asked["name"] == "renamed1"
    assert [(edit["path"], edit["after"]) for edit in asked["line_edits"]] == [("/etc/hosts", "192.0.2.2 renamed1")]
    # What decided is in the evidence, and decides the same again.
    kept = evidence.load(str(tmp_path / "evidence.jsonl"))
    assert kept.hosts["compute1"].rehearsal.hostname == "renamed1"


def test_a_name_that_libvirt_would_not_take_is_refused_before_the_first_store_whatever_is_overridden(begin):
    said = begin.says("renamed1.other.test", now="compute1")
    answer = begin(fleet().cloud, said, **PEERS)
    assert (answer["failed"], answer["state"]) == (True, "refused")
    (found,) = [item for item in answer["report"]["findings"] if item["code"] == "SG124"]
    assert "rename_hypervisor_hostname=renamed1.other.test" in found["remedy"]
    passed = [{"code": "SG124", "object": "compute1", "reason": "a trial"}]
    answer = begin(fleet().cloud, said, overrides=passed, **PEERS)
    assert (answer["failed"], answer["state"], answer["report"]["verdict"]) == (True, "refused", "block")
    assert (answer["report"]["counts"]["overridden"], "absolute: SG124" in answer["msg"]) == (0, True)
    answer = begin(fleet().cloud, said, hypervisor_hostname="renamed1.other.test", **PEERS)
    assert answer["state"] == "planned", answer["msg"]


def decided(monkeypatch):
    """The APIs say where the guests of the evidence can go."""

    def collect(_cloud, _directory, sources, wanted, _url):
        assert (sources, wanted) == ([fleet().old], None)
        return draining.evidence_of(fleet().cloud, fleet().old)

    monkeypatch.setattr(drain_operation.evidence, "collect", collect)
    monkeypatch.setattr(operation.kernel.Systems, "cloud", None)


def test_by_drain_the_plan_of_a_check_run_shows_where_each_guest_goes_and_is_approved_by_its_value(begin, monkeypatch):
    decided(monkeypatch)
    monkeypatch.setattr(operation.drain_actions, "other_nodes", lambda *_given: [])
    answer = begin(fleet().cloud, strategy="drain", drain_return=True, **PEERS)
    assert answer["state"] == "planned", answer["msg"]
    (move,) = [step for step in answer["plan"]["steps"] if step["name"] == "move_guests"]
    assert {change["after"].partition(":")[0] for change in move["changes"]} == {"compute3"}
    assert all("MiB of free real memory before this server" in change["after"] for change in move["changes"])
    again = begin(fleet().cloud, strategy="drain", drain_return=True, expect_plan=answer["plan_sha256"], **PEERS)
    assert again["plan_sha256"] == answer["plan_sha256"]


def test_by_drain_a_name_that_libvirt_would_not_take_is_refused_before_the_service_is_deleted(begin, monkeypatch):
    decided(monkeypatch)
    monkeypatch.setattr(operation.drain_actions, "other_nodes", lambda *_given: [])
    said = [begin.says("renamed1.other.test", now="compute1"), begin.says("renamed1", undecided=["nscd"])]
    for told in said:
        answer = begin(fleet().cloud, told, strategy="drain", **PEERS)
        assert (answer["failed"], answer["state"]) == (True, "refused")
        assert "SG124" in {item["code"] for item in answer["report"]["findings"] if item["severity"] == "blocker"}
    answer = begin(fleet().cloud, strategy="drain", **PEERS)
    assert "SG124" not in {item["code"] for item in answer["report"]["findings"]}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            {"failed": True, "msg": "no python"},
            "when the run tested the new name: the request failed on the compute host: no python",
        ),
        (
            {"unreachable": True, "msg": "gone"},
            "when the run tested the new name: the compute host does not answer: gone",
        ),
        ({"results": [{"ok": True}]}, "when the run tested the new name: 'rehearsal'"),
        (
            {"results": [{"ok": True, "rehearsal": {"name": "renamed1", "hostname": None, "reason": "no root"}}]},
            "no root",
        ),
    ],
)
def test_a_rehearsal_that_cannot_be_refuses(begin, answer, reason):
    refused = begin(fleet().cloud, answer, **PEERS)
    assert refused["state"] == "refused"
    (found,) = [item for item in refused["report"]["findings"] if item["code"] == "SG709"]
    assert found["evidence"]["part"] == "rehearsal"
    assert found["evidence"]["reason"].endswith(reason)


def test_what_cannot_be_rehearsed_is_undecided_and_told(begin):
    """systemd-resolved answers from outside, and for the old name."""
    for told in ({"now": "compute1", "undecided": ["systemd-resolved"]}, {"now": "compute1.dc1.test"}):
        answer = begin(fleet().cloud, begin.says("renamed1", **told), **PEERS)
        assert (answer["state"], answer["report"]["verdict"]) == ("planned", "warn")
        assert [item["code"] for item in answer["report"]["unchecked"]] == ["SG124", "SG315"]


def test_a_peer_that_left_no_trace_is_told_and_the_rename_stays_possible(begin):
    answer = begin(fleet().cloud, peers=["compute2", "compute9"])
    assert (answer["state"], answer["report"]["verdict"]) == ("planned", "warn"), answer
    told = {(item["code"], item["object"]) for item in answer["report"]["unchecked"]}
    assert told == {("SG107", "compute9"), ("SG310", "compute9"), ("SG315", f"compute.{fleet().new}")}


def test_what_cannot_be_planned_is_refused_whatever_was_overridden_and_the_report_says_so(begin):
    controller = builders.agent(1, fleet().old, "OVN Controller agent", "ovn-controller")
    cloud = fleet(l2_agents=False).cloud.add("agents", controller)
    names = ("OVN's databases", "neutron's port bindings", "external_ids of Open vSwitch")
    passed = [{"code": "SG317", "object": name, "reason": "a trial"} for name in names]
    for overrides in ([], passed):
        answer = begin(cloud, overrides=overrides)
        assert (answer["failed"], answer["changed"], answer["state"]) == (True, False, "refused")
        assert answer["report"]["verdict"] == "block"
        assert answer["msg"].startswith("refused, nothing was changed: ")
    assert "not read: OVN's databases" in answer["msg"]
    assert answer["report"]["counts"]["overridden"] >= 2


@pytest.mark.parametrize(
    ("child", "state"), [("compute1_pci_0", "finished"), ("compute1:NIC Switch agent:e", "refused")]
)
def test_what_no_plan_can_do_is_not_settled_though_every_place_has_one_name(begin, monkeypatch, child, state):
    monkeypatch.setattr(operation.queue_actions, "before_adoption", lambda *_given: Checked())
    cloud, before = handmade.begun("short")
    settled = builders.Cloud(handmade.bundle_of(cloud, before, ("up",)))
    given = {"action": "adopt", "adopt": "back", "rename_from": "compute1", "rename_to": "renamed1", **PEERS}
    answer = begin(settled.add("providers", builders.child_provider(1, child)), begin.says("compute1"), **given)
    assert (answer["state"], "SG304" in answer["msg"]) == (state, state == "refused"), answer["msg"]


# --- nothing is open ------------------------------------------------------------------------------------------

BETWEEN = {"rename_from": "compute8", "rename_to": "compute9"}
UNREAD = {"nova_conf": None, "unread": [Unread("nova_conf", "/etc/nova/nova.conf: Permission denied")]}


@pytest.mark.parametrize(
    ("asked", "names"),
    [("rollback", {}), ("resume", {"rename_from": "compute9", "rename_to": "compute1"})],
)
def test_where_nothing_is_open_the_name_that_was_asked_for_is_well(begin, asked, names):
    answer = begin(fleet().cloud, action=asked, **names)
    assert (answer.get("failed"), answer["changed"], answer["state"]) == (None, False, "none")
    assert answer["msg"].endswith(" compute1")


@pytest.mark.parametrize("asked", ["rollback", "resume"])
def test_another_name_is_told(begin, asked):
    answer = begin(fleet().cloud, action=asked, **BETWEEN)
    assert (answer["failed"], answer["state"]) == (True, "none")
    assert " compute1" in answer["msg"]


@pytest.mark.parametrize("asked", ["rollback", "resume"])
@pytest.mark.parametrize(("unread", "why"), [(UNREAD["unread"], "/etc/nova/nova.conf: Permission denied"), ([], "")])
def test_a_name_that_could_not_be_read_is_not_told_as_none(begin, asked, unread, why):
    cloud = fleet().cloud.host("compute1", nova_conf=None, unread=unread)
    answer = begin(cloud, action=asked, **BETWEEN)
    assert (answer["failed"], answer["changed"], answer["state"]) == (True, False, "none")
    assert "None" not in answer["msg"]
    assert "compute8 or compute9" in answer["msg"]
    assert not unread or f"({why})" in answer["msg"]
    assert "stackguard_nova_conf_files" in answer["msg"]


def test_a_host_whose_nova_conf_was_not_read_is_not_planned_for_whatever_was_overridden(begin):
    cloud = fleet().cloud.host("compute1", **UNREAD)
    refused = begin(cloud)
    assert refused["state"] == "refused"
    found = [item for item in refused["report"]["findings"] if item["severity"] == "blocker"]
    passed = [{"code": item["code"], "object": item["object"]["id"], "reason": "a trial"} for item in found]
    answer = begin(cloud, overrides=passed)
    assert (answer["failed"], answer["state"], answer["report"]["verdict"]) == (True, "refused", "block")
    assert (
        answer["msg"] == "refused, nothing was changed: not read: nova.conf (the host name that nova-compute uses)"
    ), answer["msg"]


# --- the approved plan ----------------------------------------------------------------------------------------


def test_the_plan_of_a_check_run_is_approved_by_its_value(begin, tmp_path):
    given = {"peers": ["compute2", "compute3"], "report_dir": str(tmp_path / "reports")}
    value = begin(fleet().cloud, **given)["plan_sha256"]
    found = json.loads((tmp_path / "reports" / "plan.json").read_text())
    assert found["plan_sha256"] == value
    assert found["decided"]["request"]["rename_to"] == fleet().new
    # Another operation, the same plan.
    again = begin(fleet().cloud, expect_plan=value, **given)
    assert (again["state"], again["plan_sha256"]) == ("planned", value)


@pytest.mark.parametrize(
    "change", [{"lock_guests": False}, {"neutron_db_url": ""}, {"stop_command": "/bin/stop"}, {"rename_to": "other9"}]
)
def test_another_plan_than_the_approved_one_is_refused(begin, tmp_path, change):
    value = begin(fleet().cloud, peers=["compute2", "compute3"])["plan_sha256"]
    rehearsed = begin.says(change.get("rename_to", fleet().new), now=fleet().old)
    answer = begin(
        fleet().cloud, rehearsed=rehearsed, peers=["compute2", "compute3"], expect_plan=value,
        report_dir=str(tmp_path / "reports"), **change,
    )  # fmt: skip
    assert (answer["failed"], answer["state"], answer["report"]["verdict"]) == (True, "refused", "block"), answer["msg"]
    assert not (tmp_path / "reports" / "plan.json").exists()


def test_a_value_that_can_stand_for_no_plan_is_refused(begin):
    answer = begin(fleet().cloud, expect_plan="yes")
    assert answer["failed"]
    assert 'rename_expect_plan is "yes"' in answer["msg"]
