# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate before a returning host: what is safe is cleared, what is not refuses, what is unread refuses too."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.checks import returning
from ansible_collections.stackguard.nova.plugins.module_utils.plans import returning as plans
from ansible_collections.stackguard.nova.plugins.module_utils.requests import ReturnRequest
from ansible_collections.stackguard.nova.tests.unit.builders import address, guest, healthy, node

ONE = guest(1, 1)
HOST = address(1)
HELD = "stackguard:evacuate:abc"
REQUEST = ReturnRequest("compute1", "compute1", "compute2")


def ceph(watchers=(), blocklist=(f"{HOST}:0/0",), images=True):
    """What compute2 sees of the guest's disk."""
    image = facts.RbdImage(f"{ONE}_disk", "1a2b", 1, [], [facts.RbdWatcher(item) for item in watchers], [], [])
    entries = [facts.BlocklistEntry(item) for item in blocklist]
    return facts.RbdFacts("library", "f", "vms", [ONE], [image] if images else [], entries)


def stopped(some):
    """nova-compute of compute1 does not run."""
    units = [
        dataclasses.replace(row, active_state="inactive") if "nova" in row.name else row for row in some.rows("units")
    ]
    return some.host("compute1", units=units)


def back(state="running", rbd=None, hold=HELD, record="done", lives="compute3"):
    """compute1 after an evacuation of its one guest to compute3, its old QEMU still there."""
    some = healthy(guests=1)
    if lives != "compute1":
        some = some.change("instances", {"uuid": ONE}, "compute1", 1, host=lives, node=lives)
        some = some.change("servers", {"id": ONE}, host=lives).change(
            "ports", {"device_id": ONE}, binding_host_id=lives
        )
    if hold is not None:
        some = some.change(
            "api_services",
            {"host": "compute1"},
            state="down",
            status="disabled",
            disabled_reason=hold,
            forced_down=True,
        )
    if record:
        some = some.migrate(ONE, "compute1", "compute3", record, "evacuation")
    conf = dataclasses.replace(some.bundle.hosts["compute1"].nova_conf, images_type="rbd")
    domains = [dataclasses.replace(row, state=state) for row in some.rows("domains")]
    some = some.host("compute1", nova_conf=conf, domains=domains)
    return stopped(some).host("compute2", rbd=rbd or ceph())


def judged(some, request=REQUEST):
    return returning.judge(some.bundle, request)


def blockers(some, request=REQUEST):
    return [item.code for item in findings.standing(judged(some, request).checked.findings, [])]


def ended(some, request=REQUEST):
    return [domain.uuid for domain in judged(some, request).clearing.domains]


def test_what_a_fenced_evacuation_left_is_cleared():
    some = back()
    assert blockers(some) == []
    clearing = judged(some).clearing
    assert [domain.uuid for domain in clearing.domains] == [ONE]
    assert clearing.addresses == (HOST,)
    assert (clearing.reason, clearing.held_until_start) == (None, HELD)


def test_the_order_is_domains_then_blocklist_then_a_start_and_then_the_service():
    plan = plans.plan("compute1", judged(back()).clearing, "enabled", "qemu:///system")
    assert [step.name for step in plan.steps] == ["domains", "blocklist"]
    assert "start nova-compute" in plan.notes[0]
    assert "run return_host again" in plan.notes[1]
    (told,) = plan.steps[0].params["domains"]
    assert (told["uuid"], told["pid"], told["pid_start"]) == (ONE, 1001, 99)


def test_the_service_is_let_go_once_its_start_has_completed_the_record():
    some = back(record="completed").host("compute1", domains=[]).host("compute2", rbd=ceph(blocklist=()))
    for running in (False, True):
        if running:
            units = [dataclasses.replace(row, active_state="active") for row in some.rows("units")]
            some = some.host("compute1", units=units)
        assert blockers(some) == []
        clearing = judged(some).clearing
        assert (clearing.reason, clearing.held_until_start) == (HELD, None)
        plan = plans.plan("compute1", clearing, "enabled", "u")
        assert [step.name for step in plan.steps] == ["release"]


def test_another_hosts_record_does_not_keep_the_service():
    some = back(record="completed").migrate(ONE, "compute3", "compute1", "done", "evacuation")
    assert judged(some).clearing.reason == HELD


def test_a_clean_host_has_nothing_to_clear():
    some = stopped(healthy(guests=1)).host("compute2", rbd=ceph(blocklist=()))
    assert blockers(some) == []
    assert judged(some).clearing == returning.Clearing()
    assert plans.plan("compute1", judged(some).clearing, "enabled", "u").steps == []


@pytest.mark.parametrize(
    "rbd",
    [
        ceph(blocklist=()),
        ceph(blocklist=("192.0.2.99:0/0",)),
        # Ceph's own entry, of one client that lost its lock: others of this host may write.
        ceph(blocklist=(f"{HOST}:0/1234",)),
        ceph(watchers=[f"{HOST}:0/77"]),
        # An address that is not understood may be this host's.
        ceph(watchers=["somewhere"]),
        ceph(images=False),
    ],
)
def test_a_running_guest_that_may_still_write_refuses(rbd):
    assert ended(back(rbd=rbd)) == []
    assert "SG108" in blockers(back(rbd=rbd))


def test_a_watcher_elsewhere_is_the_guests_own():
    assert ended(back(rbd=ceph(watchers=[f"{address(3)}:0/77"]))) == [ONE]


def test_watchers_unread_refuse():
    view = ceph()
    view = dataclasses.replace(view, images=[dataclasses.replace(view.images[0], watchers=None)])
    assert "SG108" in blockers(back(rbd=view))


def test_a_definition_without_a_process_needs_no_fence():
    some = back(state="shutoff", rbd=ceph(blocklist=()))
    assert blockers(some) == []
    assert ended(some) == [ONE]


@pytest.mark.parametrize("record", [None, "completed", "failed"])
def test_without_an_evacuation_that_is_done_nothing_is_ended(record):
    assert ended(back(record=record)) == []
    assert "SG108" in blockers(back(record=record))


@pytest.mark.parametrize("record", ["accepted", "pre-migrating", "preparing"])
def test_an_evacuation_under_way_refuses(record):
    assert ended(back(record=record)) == []
    assert "SG702" in blockers(back(record=record))


def test_a_guest_that_lives_here_and_would_be_destroyed_refuses():
    some = back(lives="compute1")
    assert ended(some) == []
    assert "SG113" in blockers(some)


def test_local_disks_are_never_cleared():
    some = back()
    conf = dataclasses.replace(some.bundle.hosts["compute1"].nova_conf, images_type="qcow2")
    some = some.host("compute1", nova_conf=conf)
    assert ended(some) == []
    assert "SG108" in blockers(some)


def test_a_running_nova_compute_refuses_while_there_is_something_to_clear():
    some = back().change("units", lambda row: "nova" in row.name, "compute1", active_state="active")
    assert blockers(some) == ["SG510"]
    assert blockers(back().host("compute1", units=[])) == ["SG510"]
    healthy_one = healthy(guests=1).host("compute2", rbd=ceph(blocklist=()))
    assert blockers(healthy_one) == []


def test_an_unknown_running_domain_keeps_the_blocklist():
    some = stopped(healthy(guests=1)).host("compute2", rbd=ceph())
    some = some.put("instances", []).put("servers", [])
    conf = dataclasses.replace(some.bundle.hosts["compute1"].nova_conf, images_type="rbd")
    assert "SG110" in blockers(some.host("compute1", nova_conf=conf))
    assert "SG110" not in blockers(some.host("compute1", nova_conf=conf).host("compute2", rbd=ceph(blocklist=())))


def test_an_open_evacuation_refuses():
    request = dataclasses.replace(REQUEST, open_operation="abc")
    assert "SG706" in blockers(back(), request)


def test_another_operations_hold_refuses_and_the_operators_is_left():
    assert "SG707" in blockers(back(hold="stackguard:rename:abc"))
    some = back(hold="maintenance")
    assert blockers(some) == []
    assert judged(some).clearing.reason is None
    assert "SG704" in [item.code for item in judged(some).checked.findings]


def test_no_such_service():
    assert "SG119" in blockers(back().drop("api_services", {"host": "compute1"}))


def test_a_name_that_is_not_this_hosts_refuses():
    some = back().host("compute1", kernel_hostname="stranger")
    assert "SG106" in blockers(some)


def test_a_compute_id_that_is_gone_refuses():
    assert "SG101" in blockers(back().host("compute1", compute_id_files=[]))


def told(some, code):
    return [(item.object.id, item.severity) for item in judged(some).checked.findings if item.code == code]


def test_ports_and_allocations_left_behind_are_told():
    some = back().change("ports", {"device_id": ONE}, binding_host_id="compute1")
    assert [severity for _port, severity in told(some, "SG511")] == ["warning"]
    assert (ONE, "info") in told(some, "SG509")
    other = back(state="shutoff", record=None)
    assert (ONE, "warning") in told(other, "SG509")


def test_allocations_unread_are_undecided():
    some = back().change("providers", {"uuid": node(1)}, allocations=None)
    assert "SG509" in [item.code for item in judged(some).checked.unchecked]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda some: some.unreachable("compute1"),
        lambda some: some.unreachable("compute2"),
        lambda some: some.host("compute2", rbd=None),
        lambda some: some.host("compute2", rbd=dataclasses.replace(ceph(), images=None)),
        lambda some: some.host("compute2", rbd=dataclasses.replace(ceph(), blocklist=None)),
        lambda some: some.host("compute1", domains=None),
        lambda some: some.host("compute1", nova_conf=None),
        lambda some: some.host("compute1", addresses=None),
        lambda some: some.cell(1, instances=None),
        lambda some: some.cell(1, migrations=None),
        lambda some: some.without("databases"),
        lambda some: some.without("cloud"),
        lambda some: some.cloud(services=None),
        lambda some: some.cloud(servers=None),
        lambda some: some.cloud(ports=None),
        lambda some: some.cloud(providers=None),
    ],
)
def test_what_was_not_read_refuses_and_clears_nothing(spoil):
    some = spoil(back())
    assert blockers(some) == ["SG709"]
    assert judged(some).clearing == returning.Clearing()


def test_ceph_is_never_judged_by_the_host_itself():
    some = back().host("compute1", rbd=ceph())
    assert blockers(some, ReturnRequest("compute1", "compute1", "compute1")) == ["SG709"]
