# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate before a returning host: what is safe is cleared, what is not refuses, what is unread refuses too."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import ReturnRequest
from ansible_collections.stackguard.nova.plugins.module_utils.return_host import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.return_host import preflight as return_host
from ansible_collections.stackguard.nova.tests.unit.builders import (
    address,
    guest,
    healthy,
    kolla,
    node,
    packages,
    process,
    uid,
    unit,
)
from ansible_collections.stackguard.nova.tests.unit.cinders import attachment, cinder
from ansible_collections.stackguard.nova.tests.unit.cinders import volume as cinder_volume

ONE = guest(1, 1)
NIL = "00000000-0000-0000-0000-000000000000"
HOST = address(1)
HELD = "stackguard:evacuate:abc"
#: What compute1 says of Ceph itself: its cluster and its address, while the OSDs refuse it.
REFUSED = facts.RbdFacts(
    "library", "f", "vms", [NIL], None, None, [facts.Unread("images", "error 108")], HOST, opened=False
)


def ceph(watchers=(), blocklist=(f"{HOST}:0/0",), images=True, fsid="f", pool="vms"):
    """What compute2 sees of the guest's disk."""
    image = facts.RbdImage(f"{ONE}_disk", "1a2b", 1, [], [facts.RbdWatcher(item) for item in watchers], [], [])
    entries = [facts.BlocklistEntry(item) for item in blocklist]
    return facts.RbdFacts("library", fsid, pool, [ONE], [image] if images else [], entries)


def evacuation(host="compute1", is_open=False, operation="abc", at="2026-11-20T00:00:00Z", **fields):
    """What the journal of an evacuation says."""
    return facts.OperationRecord(operation, f"evacuate-{host}", "finished", at, is_open, host, **fields)


#: With the journal of the evacuation that holds the service in :func:`back`.
REQUEST = ReturnRequest("compute1", "compute1", ("compute2",), (evacuation(),))


def asked(*records, readers=("compute2",)):
    return dataclasses.replace(REQUEST, ceph_names=tuple(readers), records=records)


def lifted(some, request=REQUEST):
    """Cluster to reader and addresses."""
    return {lift.fsid: (lift.reader, *lift.addresses) for lift in judged(some, request).clearing.lifts}


def stopped(some):
    """nova-compute of compute1 does not run."""
    units = [
        dataclasses.replace(row, active_state="inactive") if "nova" in row.name else row for row in some.rows("units")
    ]
    return some.host("compute1", units=units, deployment=deployed())


def deployed(*processes):
    """How packages deploy compute1, with these processes of nova-compute."""
    others = [entry for entry in packages().processes if entry.program != "nova-compute"]
    return dataclasses.replace(packages(), processes=[*processes, *others])


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
    some = some.host("compute1", nova_conf=conf, domains=domains, rbd=REFUSED)
    return stopped(some).host("compute2", rbd=rbd or ceph())


def at_home(watchers=(f"{HOST}:0/77",), blocklist=(), hold=None):
    """compute1, whose one guest runs there and lives there."""
    return back(rbd=ceph(watchers, blocklist), hold=hold, record=None, lives="compute1")


def judged(some, request=REQUEST):
    return return_host.judge(some.bundle, request)


def blockers(some, request=REQUEST):
    return [item.code for item in findings.blocking_findings(judged(some, request).checked.findings, [])]


def ended(some, request=REQUEST):
    return [domain.uuid for domain in judged(some, request).clearing.domains]


def test_what_a_fenced_evacuation_left_is_cleared():
    some = back()
    assert blockers(some) == []
    clearing = judged(some).clearing
    assert [domain.uuid for domain in clearing.domains] == [ONE]
    assert lifted(some) == {"f": ("compute2", HOST)}
    assert (clearing.reason, clearing.held_until_start) == (None, HELD)


def test_the_order_is_domains_then_blocklist_then_a_start_and_then_the_service():
    plan = plans.plan("op", "compute1", judged(back()).clearing, "enabled", "qemu:///system")
    assert [step.name for step in plan.steps] == ["requests", "domains", "directories", "blocklist"]
    assert "start nova-compute" in plan.notes[0]
    assert "run return_host again" in plan.notes[1]
    (told,) = plan.steps[1].params["domains"]
    assert (told["uuid"], told["pid"], told["pid_start"]) == (ONE, 1001, 99)


def test_a_server_that_was_sent_twice_needs_a_second_start_and_the_note_says_so():
    # Nova completes one record of a server at each start: the one that is done can be left.
    some = back().host("compute1", domains=[]).host("compute2", rbd=ceph(blocklist=()))
    units = [dataclasses.replace(row, active_state="active") for row in some.rows("units")]
    some = some.host("compute1", units=units)
    assert blockers(some) == []
    clearing = judged(some).clearing
    assert (clearing.reason, clearing.held_until_start, clearing.started) == (None, HELD, True)
    plan = plans.plan("op", "compute1", clearing, "enabled", "u")
    assert not plan.steps
    assert "restart nova-compute on compute1" in plan.notes[1]


def test_the_service_is_let_go_once_its_start_has_completed_the_record():
    some = back(record="completed").host("compute1", domains=[]).host("compute2", rbd=ceph(blocklist=()))
    for running in (False, True):
        if running:
            units = [dataclasses.replace(row, active_state="active") for row in some.rows("units")]
            some = some.host("compute1", units=units)
        assert blockers(some) == []
        clearing = judged(some).clearing
        assert (clearing.reason, clearing.held_until_start) == (HELD, None)
        plan = plans.plan("op", "compute1", clearing, "enabled", "u")
        # What waits in RabbitMQ for a nova-compute that runs, it has taken.
        assert [step.name for step in plan.steps] == (["release"] if running else ["requests", "release"])


def test_another_hosts_record_does_not_keep_the_service():
    some = back(record="completed").migrate(ONE, "compute3", "compute1", "done", "evacuation")
    assert judged(some).clearing.reason == HELD


def test_a_clean_host_has_nothing_to_clear():
    some = at_home()
    assert blockers(some) == []
    assert judged(some).checked.unchecked == ()
    assert judged(some).clearing == return_host.Clearing(requests=True, instances_path="/var/lib/nova/instances")
    (look,) = plans.plan("op", "compute1", judged(some).clearing, "enabled", "u").steps
    assert look.name == "requests"


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


def test_an_evacuation_in_a_state_that_a_start_does_not_end_refuses():
    assert ended(back(record="preparing")) == []
    assert "SG702" in blockers(back(record="preparing"))


@pytest.mark.parametrize("record", ["accepted", "pre-migrating"])
def test_the_record_of_an_evacuation_that_has_arrived_is_no_reason_to_refuse(record):
    """Seen on the lab: nova-compute was killed at the destination, or RabbitMQ lost the request and it was sent again.

    The server was at the destination, and the record never ended.
    """
    some = back(record=record, state="shutoff", rbd=ceph(blocklist=()))
    assert "SG702" not in blockers(some)
    (told,) = [item for item in judged(some).checked.findings if item.code == "SG702"]
    assert (told.severity, told.object.name) == (findings.WARNING, ONE)
    assert "(the source of the migration) closes the migration record when it starts." in told.remedy
    # Its domain is not ended on that record.
    assert ended(back(record=record)) == []
    assert "SG108" in blockers(back(record=record))


@pytest.mark.parametrize("record", ["accepted", "pre-migrating"])
@pytest.mark.parametrize("row", [{"task_state": "rebuild_spawning"}, {"vm_state": "error"}, {"host": "compute2"}])
def test_the_record_of_an_evacuation_that_has_not_arrived_refuses(row, record):
    some = back(record=record).change("instances", {"uuid": ONE}, **row)
    assert "SG702" in blockers(some)
    gone = back(record=record, lives="compute1")
    assert "SG702" in blockers(gone)


def test_a_guest_that_lives_here_and_would_be_destroyed_refuses():
    some = back(lives="compute1")
    assert ended(some) == []
    assert "SG113" in blockers(some)


# --- what starts without Nova, what libvirt keeps -------------------------------------------------------------


def domain_of(some, **changes):
    return some.host("compute1", domains=[dataclasses.replace(row, **changes) for row in some.rows("domains")])


def only(some, code):
    return [item for item in judged(some).checked.findings if item.code == code]


def test_a_managed_save_image_of_a_server_that_runs_elsewhere_goes_with_its_domain():
    """H3: the check was green, and the run ended with 'Refusing to undefine while domain managed save image exists'."""
    some = domain_of(back(state="shutoff"), managed_save=True)
    assert (blockers(some), ended(some), only(some, "SG521")) == ([], [ONE], [])
    step = plans.plan("op", "compute1", judged(some).clearing, "enabled", "u").steps[1]
    assert step.params["domains"][0]["managed_save"] is True
    assert "managed save image" in step.changes[0].before
    plain = plans.plan("op", "compute1", judged(domain_of(some, managed_save=False)).clearing, "enabled", "u").steps[1]
    assert plain.params["domains"][0]["managed_save"] is False
    assert "managed save image" not in plain.changes[0].before


def test_a_managed_save_image_of_a_server_that_lives_here_is_left_and_told():
    some = domain_of(at_home(watchers=()), state="shutoff", managed_save=True)
    assert ended(some) == []
    assert [item.severity for item in only(some, "SG521")] == [findings.WARNING]
    suspended = some.change("instances", {"uuid": ONE}, vm_state="suspended")
    assert only(suspended, "SG521") == []


def test_snapshots_that_keep_libvirt_from_undefining_a_domain_refuse_before_the_run():
    some = domain_of(back(state="shutoff"), snapshots=1)
    assert blockers(some) == ["SG522"]
    assert only(domain_of(some, snapshots=0), "SG522") == []
    # Of a domain that stays, nobody minds.
    assert only(domain_of(at_home(), snapshots=1), "SG522") == []


def test_a_domain_that_libvirt_starts_by_itself():
    """N8c: what libvirt starts, it starts wherever the server is by then."""
    assert only(domain_of(back(), autostart=True), "SG521") == []
    elsewhere = domain_of(back(record="completed", state="shutoff"), autostart=True)
    assert ("SG521", findings.BLOCKER) in [(item.code, item.severity) for item in only(elsewhere, "SG521")]
    here = domain_of(at_home(), autostart=True)
    assert [(item.object.id, item.severity) for item in only(here, "SG521")] == [(ONE, findings.WARNING)]
    assert only(at_home(), "SG521") == []


def guests_unit(some, state="enabled", on_boot="start", **changes):
    entry = dataclasses.replace(unit("libvirt-guests.service"), unit_file_state=state, **changes)
    return some.host("compute1", units=[*some.rows("units"), entry], guests_on_boot=on_boot)


def test_libvirt_guests_starts_at_boot_what_ran_when_the_host_was_shut_down():
    (told,) = only(guests_unit(at_home()), "SG521")
    assert (told.object.kind, told.severity) == ("host", findings.WARNING)
    assert "systemctl mask libvirt-guests" in told.remedy
    assert only(guests_unit(at_home(), on_boot="ignore"), "SG521") == []
    assert only(guests_unit(at_home(), state="disabled"), "SG521") == []
    assert only(guests_unit(at_home(), state="masked", blocked=True), "SG521") == []
    assert "SG521" in [item.code for item in judged(at_home().host("compute1", guests_on_boot=None)).checked.unchecked]
    assert "SG521" in [item.code for item in judged(at_home().host("compute1", units=None)).checked.unchecked]


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
    # A container that was started by hand: its unit does not know of it.
    stopped = [dataclasses.replace(unit("kolla-nova_compute-container.service"), active_state="inactive")]
    assert blockers(back().host("compute1", units=stopped, deployment=kolla())) == ["SG510"]
    gone = dataclasses.replace(kolla(), processes=[])
    assert "SG510" not in blockers(back().host("compute1", units=stopped, deployment=gone))
    running = at_home().change("units", lambda row: "nova" in row.name, "compute1", active_state="active")
    assert blockers(running) == []


def too_late(some):
    """The findings of SG510."""
    return [item for item in judged(some).checked.findings if item.code == "SG510"]


@pytest.mark.parametrize(
    ("unit_of_it", "words"),
    [
        (None, "process 4711 of no unit"),
        ("session-3.scope", "process 4711 of unit session-3.scope"),
        # The unit says that it is stopped, and a process of it is left.
        ("nova-compute.service", "process 4711 of unit nova-compute.service"),
    ],
)
def test_a_nova_compute_that_runs_outside_its_unit_refuses_and_is_named(unit_of_it, words):
    """Its unit was masked and inactive: the blocklist entry was lifted under a process that somebody had started."""
    by_hand = process("nova-compute", "/usr/bin/nova-compute", unit_of_it)
    (item,) = too_late(back().host("compute1", deployment=deployed(by_hand)))
    assert (item.severity, item.evidence["runs"]) == ("blocker", [words])
    assert "kill" in item.remedy
    assert too_late(back()) == []


def test_a_unit_that_runs_and_its_own_process_are_one_finding():
    own = process("nova-compute", "/usr/bin/nova-compute", "nova-compute.service")
    some = back().change("units", lambda row: "nova" in row.name, "compute1", active_state="active")
    (item,) = too_late(some.host("compute1", deployment=deployed(own)))
    assert item.evidence["runs"] == ["nova-compute.service"]
    strange = process("nova-compute", "/opt/nova/bin/nova-compute", None, pid=4800)
    (item,) = too_late(some.host("compute1", deployment=deployed(own, strange)))
    assert item.evidence["runs"] == ["nova-compute.service", "process 4800 of no unit"]


def test_a_unit_that_cannot_be_masked_is_disabled_instead():
    (item,) = too_late(back().change("units", lambda row: "nova" in row.name, "compute1", active_state="active"))
    assert "systemctl mask --now nova-compute" in item.remedy
    name = "kolla-nova_compute-container.service"
    own = dataclasses.replace(unit(name), active_state="active", fragment_path=f"/etc/systemd/system/{name}")
    (item,) = too_late(back().host("compute1", units=[own], deployment=kolla()))
    assert f"systemctl disable --now {name}), then run return_host again. After" in item.remedy
    assert "mask" not in item.remedy


def test_the_word_that_no_unit_was_found_does_not_pass_a_nova_compute_that_runs():
    word = [findings.Override("SG510", "compute1", "this host has no unit; ps shows no nova-compute")]
    none = back().host("compute1", units=[])
    assert findings.blocking_findings(judged(none).checked.findings, word) == []
    by_hand = process("nova-compute", "/usr/bin/nova-compute")
    runs = none.host("compute1", deployment=deployed(by_hand))
    assert [item.code for item in findings.blocking_findings(judged(runs).checked.findings, word)] == ["SG510"]
    named = [findings.Override("SG510", "compute1:nova-compute", "it is only a container")]
    assert [item.code for item in findings.blocking_findings(judged(runs).checked.findings, named)] == ["SG510"]


def test_an_unknown_running_domain_keeps_the_blocklist():
    some = at_home(blocklist=(f"{HOST}:0/0",)).put("instances", []).put("servers", [])
    assert "SG110" in blockers(some)
    assert "SG110" not in blockers(some.host("compute2", rbd=ceph(blocklist=())))


@pytest.mark.parametrize("kind", ["evacuate", "evacuate-compute1"])
def test_an_open_evacuation_of_this_host_refuses_among_several_open_ones(kind):
    mine = dataclasses.replace(evacuation(is_open=True), kind=kind, host="COMPUTE1")
    resize = dataclasses.replace(mine, kind="resize-x")
    others = [evacuation("compute9", True, "def"), resize, facts.OperationRecord("ghi", "rename", "open", "", True)]
    (item,) = [item for item in judged(back(), asked(mine, *others)).checked.findings if item.code == "SG706"]
    assert "evacuate_action=resume" in item.remedy
    assert "SG706" not in blockers(back(), asked(*others))
    assert "SG706" not in blockers(back(), asked(dataclasses.replace(mine, open=False)))


def test_a_journal_on_the_host_that_is_not_understood_refuses():
    """It may be that of a rename, which has the host half renamed."""
    unknown = facts.UnknownJournal("/var/lib/stackguard/rename.json", "?", "version 0.1", "rename")
    found = judged(back().host("compute1", unknown_journals=[unknown])).checked.findings
    (item,) = [item for item in found if item.code == "SG706"]
    assert (item.code, item.severity, item.object.id) == ("SG706", "blocker", "compute1")
    assert item.evidence["journal"] == unknown.path


def test_another_operations_hold_refuses_and_the_operators_is_left():
    assert "SG707" in blockers(back(hold="stackguard:rename:abc"))
    some = back(hold="maintenance")
    assert blockers(some) == []
    assert judged(some).clearing.reason is None
    assert "SG704" in [item.code for item in judged(some).checked.findings]


def test_a_hold_whose_journal_is_on_another_controller_refuses():
    """return_host with another state directory: it lifted the fence of an evacuation that was under way."""
    some = back()
    others = [evacuation(operation="def"), evacuation("compute9"), dataclasses.replace(evacuation(), kind="rename-x")]
    for records in ((), others):
        (item,) = [entry for entry in judged(some, asked(*records)).checked.findings if entry.code == "SG707"]
        assert (item.severity, item.object.id, item.absolute) == ("blocker", "compute1", False)
        assert "stackguard_state_dir" in item.remedy
        assert item.evidence["disabled reason"] == HELD
        assert blockers(some, asked(*records)) == ["SG707"]
    # Its journal, open or closed, of either generation.
    assert blockers(some, asked(dataclasses.replace(evacuation(), kind="evacuate"))) == []
    assert "SG707" not in blockers(some, asked(evacuation(is_open=True)))
    # The operator lost the journal, and knows that the evacuation has ended.
    word = findings.Override("SG707", "compute1", "its journal is lost; the servers run elsewhere")
    assert findings.blocking_findings(judged(some, asked()).checked.findings, [word]) == []


def test_no_such_service():
    assert "SG119" in blockers(back().drop("api_services", {"host": "compute1"}))


def read_by_the_role(some):
    """The databases and the APIs as the role reads them: of return_host, and of the domains here."""
    return some.narrowed("compute1", keep=[row.uuid for row in some.rows("domains")])


def named(some, name):
    """The machine that answers for compute1 calls itself by another name."""
    return some.host("compute1", kernel_hostname=name)


@pytest.mark.parametrize("name", ["compute9", "compute1.example.org", "COMPUTE1"])
@pytest.mark.parametrize("files", [None, []])
def test_a_machine_that_is_not_return_host_refuses_by_its_name_and_no_word_passes_it(name, files):
    """ansible_host pointed to another machine: SG106 was not checked, and the fence of the real host was lifted."""
    strange = named(read_by_the_role(back(state="shutoff")), name)
    if files is not None:
        # Installed again: it has no compute_id file of the old one.
        strange = strange.host("compute1", compute_id_files=files)
    decision = judged(strange)
    (item,) = [item for item in decision.checked.findings if item.code == "SG106"]
    assert item.severity == "blocker"
    assert (item.evidence["CONF.host"], item.evidence["return_host"]) == (name, "compute1")
    assert "stackguard_nova_host" in item.remedy
    assert (decision.undecided, decision.clearing) == (True, return_host.Clearing())


def test_the_machine_that_is_return_host_is_judged_by_what_the_role_reads():
    some = read_by_the_role(back())
    assert blockers(some) == []
    assert lifted(some) == {"f": ("compute2", HOST)}
    # Its inventory name need not be the name that Nova has.
    bundle = some.bundle
    here = dataclasses.replace(bundle.hosts["compute1"], inventory_name="rack1")
    hosts = {**{name: entry for name, entry in bundle.hosts.items() if name != "compute1"}, "rack1": here}
    request = dataclasses.replace(REQUEST, inventory_name="rack1")
    decision = return_host.judge(dataclasses.replace(bundle, hosts=hosts), request)
    assert findings.blocking_findings(decision.checked.findings, []) == []
    assert decision.clearing.lifts


def with_uuids(some, *uuids):
    files = [
        facts.ComputeIdFile(f"/var/lib/nova{number}/compute_id", True, True, uuid, "nova", "nova", "0644")
        for number, uuid in enumerate(uuids)
    ]
    return some.host("compute1", compute_id_files=files)


def test_another_machine_of_the_same_name_refuses_by_its_compute_id_and_no_word_passes_it():
    """A replacement with the name of the old machine, which may still run."""
    some = read_by_the_role(back(state="shutoff"))
    other = uid("other", 1)
    for uuids in ((other,), (other, uid("other", 2)), (node(2),)):
        decision = judged(with_uuids(some, *uuids))
        (item,) = [item for item in decision.checked.findings if item.code == "SG102"]
        assert (item.severity, item.evidence["node of this host"]) == ("blocker", [node(1)])
        assert item.evidence["files"] == sorted(uuids)
        assert (decision.undecided, decision.clearing) == (True, return_host.Clearing())
    assert blockers(with_uuids(some, node(1).upper())) == []
    # One file is this host's: SG103 says that the other is not.
    assert blockers(with_uuids(some, node(1), other)) == ["SG103"]


def test_a_node_that_no_database_has_leaves_the_machine_unknown_and_refuses():
    some = read_by_the_role(back())
    decision = judged(some.cell(1, compute_nodes=[]))
    assert "SG709" in [item.code for item in findings.blocking_findings(decision.checked.findings, [])]
    assert (decision.undecided, decision.clearing) == (True, return_host.Clearing())


def test_a_name_that_nova_compute_refuses_or_that_could_not_be_read_is_not_this_hosts():
    some = back(state="shutoff")
    conf = dataclasses.replace(some.bundle.hosts["compute1"].nova_conf, host="-not a name-")
    decision = judged(some.host("compute1", nova_conf=conf))
    (item,) = decision.checked.findings
    assert (item.code, item.evidence["CONF.host"], decision.undecided) == ("SG106", None, True)
    assert item.evidence["why"]


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
        # Its own cluster is known by nobody.
        lambda some: some.host("compute1", rbd=None),
        # The images were listed, and not opened: nobody looked.
        lambda some: some.host("compute2", rbd=dataclasses.replace(ceph(), opened=False)),
        lambda some: some.host("compute2", rbd=ceph(fsid="OTHER")),
        lambda some: some.host("compute2", rbd=ceph(pool="ssd")),
        lambda some: some.host("compute1", domains=None),
        lambda some: some.host("compute1", nova_conf=None),
        lambda some: some.host("compute1", addresses=None),
        lambda some: some.host("compute1", qemu_processes=None),
        lambda some: some.host("compute1", compute_id_files=None),
        lambda some: some.host("compute1", libvirt=None),
        lambda some: some.host("compute1", deployment=None),
        lambda some: some.cell(1, services=None),
        lambda some: some.cell(1, compute_nodes=None),
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
    assert judged(some).clearing == return_host.Clearing()


def test_ceph_is_never_judged_by_the_host_itself():
    some = back().host("compute1", rbd=ceph())
    assert blockers(some, asked(readers=["compute1"])) == ["SG709"]


# --- D15: the right cluster, the right addresses --------------------------------------------------------------


def test_a_host_blocked_in_its_own_cluster_is_not_clear_because_another_cluster_was_looked_at():
    """D15: looked at through another cluster, it was clear, with 0 blockers and 0 steps."""
    some = back(state="shutoff").host("compute1", domains=[]).host("compute2", rbd=ceph(fsid="OTHER", blocklist=()))
    assert blockers(some) == ["SG709"]
    assert judged(some).undecided
    both = some.host("compute3", rbd=ceph())
    request = asked(evacuation(), readers=["compute2", "compute3"])
    assert blockers(both, request) == []
    assert lifted(both, request) == {"f": ("compute3", HOST)}


def test_a_host_installed_again_with_another_address_leaves_no_entry_of_the_old_one():
    """D15: 198.51.100.7 blocked, the host has another address: nothing was lifted."""
    some = back(rbd=ceph(blocklist=("198.51.100.7:0/0", "198.51.100.8:0/0"))).host("compute1", domains=[])
    assert lifted(some) == {}
    for record in (evacuation(blocklisted={"f": ["198.51.100.7"]}), evacuation(addresses=["198.51.100.7"])):
        assert blockers(some, asked(record)) == []
        assert lifted(some, asked(record)) == {"f": ("compute2", "198.51.100.7")}
    # A journal of another cluster, of another host, or of another kind says nothing of this entry.
    assert lifted(some, asked(evacuation("compute3", blocklisted={"f": ["198.51.100.7"]}))) == {}
    rename = dataclasses.replace(evacuation(blocklisted={"f": ["198.51.100.7"]}), kind="rename")
    assert lifted(some, asked(rename)) == {}


def test_the_backup_reader_that_an_evacuation_listed_gets_its_disks_back():
    """H2: after return_host the blocklist still had 10.99.2.1, and nothing named it."""
    some = back(rbd=ceph(blocklist=(f"{HOST}:0/0", "10.99.2.1:0/0"))).host("compute1", domains=[])
    record = evacuation(addresses=[HOST, "10.99.2.1"])
    assert lifted(some, asked(record)) == {"f": ("compute2", "10.99.2.1", HOST)}
    (lift,) = judged(some, asked(record)).clearing.lifts
    assert "abc" in lift.addresses["10.99.2.1"]


def test_an_address_that_has_a_new_owner_is_lifted_and_the_plan_names_the_owner():
    some = back(rbd=ceph(blocklist=(f"{address(3)}:0/0",))).host("compute1", domains=[])
    (lift,) = judged(some, asked(evacuation(blocklisted={"f": [address(3)]}))).clearing.lifts
    assert "compute3 now has" in lift.addresses[address(3)]
    # It keeps nothing on this host from writing: nova-compute may run.
    running = some.change("units", lambda row: "nova" in row.name, "compute1", active_state="active")
    assert blockers(running, asked(evacuation(blocklisted={"f": [address(3)]}))) == []


def test_each_cluster_is_cleared_through_a_host_of_its_own():
    old = "198.51.100.7"
    some = back(rbd=ceph()).host("compute1", domains=[])
    some = some.host("compute3", rbd=ceph(fsid="g", pool="ssd", blocklist=(f"{old}:0/0",)))
    record = evacuation(blocklisted={"f": [HOST], "g": [old]})
    request = asked(record, readers=["compute2", "compute3"])
    assert lifted(some, request) == {"f": ("compute2", HOST), "g": ("compute3", old)}
    params = plans.lift_params(judged(some, request).clearing)
    assert params[1] == {"fsid": "g", "pool": "ssd", "reader": "compute3", "addresses": [old]}


def test_a_cluster_that_a_journal_lists_and_nobody_reads_refuses_by_its_own_name():
    request = asked(evacuation(blocklisted={"gone": [HOST]}))
    (item,) = [item for item in judged(back(), request).checked.findings if item.code == "SG709"]
    assert item.object.id == "gone"
    assert blockers(back(), request) == ["SG709"]
    assert not judged(back(), request).undecided


def test_an_address_that_fences_another_host_is_not_lifted():
    some = back(rbd=ceph(blocklist=(f"{HOST}:0/0", "198.51.100.7:0/0"))).host("compute1", domains=[])
    mine = evacuation(blocklisted={"f": ["198.51.100.7"]})
    open_one = evacuation("compute9", True, "def", "2026-11-19T00:00:00Z", blocklisted={"f": ["198.51.100.7"]})
    later = evacuation("compute9", False, "def", "2026-11-21T00:00:00Z", blocklisted={"f": ["198.51.100.7"]})
    for other in (open_one, later):
        assert lifted(some, asked(mine, other)) == {"f": ("compute2", HOST)}
        assert told_by(some, "SG515", asked(mine, other)) == [("198.51.100.7", "warning")]
    earlier = dataclasses.replace(later, started_at="2026-11-01T00:00:00Z")
    assert set(lifted(some, asked(mine, earlier))["f"]) == {"compute2", "198.51.100.7", HOST}
    # This host's own address: a later closed one is not the other's any more, an open one is.
    assert HOST in lifted(some, asked(mine, dataclasses.replace(later, blocklisted={"f": [HOST]})))["f"]
    assert blockers(some, asked(mine, dataclasses.replace(open_one, blocklisted={"f": [HOST]}))) == ["SG515"]


def test_a_range_that_refuses_this_host_is_reported_and_left():
    ranges = [facts.BlocklistEntry(item, range=True) for item in ("192.0.2.0:0/24", "198.51.100.0:0/24")]
    some = back(rbd=dataclasses.replace(ceph(), blocklist=ranges)).host("compute1", domains=[])
    assert lifted(some) == {}
    (item,) = [item for item in judged(some).checked.findings if item.code == "SG515"]
    assert (item.severity, item.object.id) == ("blocker", "192.0.2.0/24")
    assert item.remedy.endswith("ceph osd blocklist range rm 192.0.2.0/24")


def test_a_blocked_management_address_is_no_fence_of_a_running_leftover():
    other = dataclasses.replace(REFUSED, client_address="198.51.100.7")
    some = back().host("compute1", rbd=other)
    assert ended(some) == []
    assert "SG108" in blockers(some)
    assert ended(some.host("compute2", rbd=ceph(blocklist=("198.51.100.7:0/0",)))) == [ONE]
    # By which address it reaches Ceph was not read: it may be any of them.
    unread = dataclasses.replace(REFUSED, client_address=None)
    assert "SG108" in blockers(back().host("compute1", rbd=unread, addresses=[HOST, "10.0.0.1"]))
    assert ended(back().host("compute1", rbd=unread, addresses=[HOST])) == [ONE]


def test_a_host_that_does_not_say_its_cluster_is_judged_by_that_of_its_journals():
    some = back().host("compute1", rbd=None)
    request = asked(evacuation(homes={"f": ["vms"]}, blocklisted={"f": [HOST]}))
    assert blockers(some, request) == []
    assert lifted(some, request) == {"f": ("compute2", HOST)}
    assert blockers(some, asked(evacuation(homes={"f": ["vms"], "g": ["vms"]}))) == ["SG709"]
    assert blockers(some, asked(evacuation(homes={"g": ["vms"]}))) == ["SG709"]


# --- H8: dead disks -------------------------------------------------------------------------------------------


def told_by(some, code, request=REQUEST):
    found = judged(some, request).checked.findings
    return [(item.object.id, item.severity) for item in found if item.code == code]


def test_a_guest_whose_disk_ceph_has_refused_is_reported_with_its_hard_reboot():
    """H8: QEMUs ran, their images had no watcher, both runs passed without any finding."""
    some = at_home(watchers=())
    (item,) = [item for item in judged(some).checked.findings if item.code == "SG517"]
    assert (item.object.id, item.severity) == (ONE, "blocker")
    assert item.remedy.endswith(f"openstack server reboot --hard {ONE}")
    assert item.evidence["watchers"] == {f"vms/{ONE}_disk": []}
    assert blockers(some) == ["SG517"]
    assert blockers(at_home()) == []


def test_the_entry_is_lifted_all_the_same_and_the_guest_stays_reported():
    some = at_home(watchers=(), blocklist=(f"{HOST}:0/0",))
    assert lifted(some) == {"f": ("compute2", HOST)}
    assert blockers(some) == ["SG517"]


def test_another_hosts_watcher_does_not_make_the_disk_alive():
    some = at_home(watchers=[f"{address(3)}:0/77"])
    assert blockers(some) == ["SG507", "SG517"]


def test_a_guest_whose_failed_spawn_left_a_qemu_on_another_host_is_refused_and_nothing_is_lifted():
    """The model, wild 873: the entry was lifted, the QEMU that was cut off wrote again, and two wrote one disk."""
    refused = (f"{HOST}:0/0",)
    spawned = at_home(watchers=[f"{address(3)}:0/77"], blocklist=refused)
    (item,) = [item for item in judged(spawned).checked.findings if item.code == "SG507"]
    assert (item.object.id, item.absolute) == (ONE, True)
    assert item.evidence["clients"] == {f"vms/{ONE}_disk": [f"{address(3)}:0/77"]}
    assert item.remedy.startswith(f"Run virsh destroy {ONE}")
    # libvirt there shows it, or only its process does: where Ceph shows nothing, that counts.
    domain = at_home().bundle.hosts["compute1"].domains[0]
    for there in ({"domains": [domain]}, {"domains": [], "qemu_processes": {ONE: 4711}}):
        seen = at_home(watchers=(), blocklist=refused).host("compute2", **there)
        (item,) = [item for item in judged(seen).checked.findings if item.code == "SG507"]
        assert item.evidence["runs on"] == ["compute2"]
    # A definition without a process is no second QEMU.
    off = at_home().host("compute2", domains=[dataclasses.replace(domain, state="shutoff", pid=None)])
    assert blockers(off) == []


def off(some):
    """The guest's domain is defined, and does not run."""
    return some.host(
        "compute1", domains=[dataclasses.replace(row, state="shutoff", pid=None) for row in some.rows("domains")]
    )


def without_domain(some):
    """Nova has the guest on compute1, and libvirt there does not."""
    return some.host("compute1", domains=[])


@pytest.mark.parametrize("here", [off, without_domain])
def test_a_server_that_runs_elsewhere_is_refused_also_where_its_domain_here_does_not_run(here):
    """Nova has it here, and nova-compute or its owner starts it: a second writer. The return ended as clear."""
    refused = (f"{HOST}:0/0",)
    spawned = here(at_home(watchers=[f"{address(3)}:0/77"], blocklist=refused))
    (item,) = [item for item in judged(spawned).checked.findings if item.code == "SG507"]
    assert (item.object.id, item.severity, item.absolute) == (ONE, "blocker", True)
    assert str(item.evidence["clients"]).count(f"{address(3)}:0/77") == 1
    assert "virsh destroy" not in item.remedy, "it may be the only copy"
    # Only libvirt there shows it.
    domain = at_home().bundle.hosts["compute1"].domains[0]
    seen = here(at_home(watchers=(), blocklist=refused)).host("compute2", domains=[domain])
    (item,) = [item for item in judged(seen).checked.findings if item.code == "SG507"]
    assert item.evidence["runs on"] == ["compute2"]
    # Nobody has it open.
    assert blockers(here(at_home(watchers=(), blocklist=refused))) == []


def test_a_domain_whose_server_was_evacuated_may_have_its_disk_open_elsewhere():
    some = off(back(rbd=ceph([f"{address(3)}:0/77"])))
    assert "SG507" not in blockers(some)
    assert ended(some) == [ONE]


def test_a_server_without_a_domain_whose_images_nobody_looked_at_is_not_clear():
    some = without_domain(at_home(watchers=()))
    view = ceph(blocklist=())
    for unread in (
        dataclasses.replace(view, instances=[NIL]),
        dataclasses.replace(view, images=[dataclasses.replace(view.images[0], watchers=None)]),
    ):
        (item,) = [item for item in judged(some.host("compute2", rbd=unread)).checked.findings if item.code == "SG709"]
        assert item.object.id == f"vms/{ONE}_disk"
        assert return_host.about_disks(item)
    assert blockers(some) == []


def test_a_disk_that_is_gone_from_the_pool_is_dead():
    assert blockers(at_home().host("compute2", rbd=ceph(blocklist=(), images=False))) == ["SG517"]


def test_a_guest_that_does_not_run_needs_no_watcher():
    some = at_home(watchers=())
    domains = [dataclasses.replace(row, state="shutoff") for row in some.rows("domains")]
    assert blockers(some.host("compute1", domains=domains)) == []


def test_watchers_unread_are_never_an_open_disk():
    view = ceph(blocklist=())
    view = dataclasses.replace(view, images=[dataclasses.replace(view.images[0], watchers=None)])
    assert blockers(at_home().host("compute2", rbd=view)) == ["SG709"]


def with_disks(some, *sources):
    (domain,) = some.rows("domains")
    disks = [facts.DomainDisk("vdb", source, "rbd") for source in sources]
    return some.host("compute1", domains=[dataclasses.replace(domain, disks=[*domain.disks, *disks])])


def test_swap_and_volumes_are_looked_at_and_the_config_drive_is_not():
    some = at_home()
    assert blockers(with_disks(some, f"vms/{ONE}_disk.config")) == []
    assert blockers(with_disks(some, f"vms/{ONE}_disk.swap")) == ["SG517"]
    volume = with_disks(some, "volumes/volume-1")
    assert blockers(volume) == ["SG709"]
    for watchers, codes in (([], ["SG517"]), ([facts.RbdWatcher(f"{HOST}:0/5")], [])):
        image = facts.RbdImage("volume-1", "v", 1, [], watchers, [])
        view = dataclasses.replace(ceph([f"{HOST}:0/77"], ()), volumes=[facts.RbdVolume("volumes", image)])
        assert blockers(volume.host("compute2", rbd=view)) == codes


def test_a_volume_that_another_server_has_attached_as_well_is_a_warning():
    """It may be multi-attached: which servers have it is not read for other hosts."""
    volume = with_disks(at_home(), "volumes/volume-1")
    watchers = [facts.RbdWatcher(f"{HOST}:0/5"), facts.RbdWatcher(f"{address(3)}:0/5")]
    image = facts.RbdImage("volume-1", "v", 1, [], watchers, [])
    view = dataclasses.replace(ceph([f"{HOST}:0/77"], ()), volumes=[facts.RbdVolume("volumes", image)])
    some = volume.host("compute2", rbd=view)
    assert blockers(some) == []
    (item,) = [item for item in judged(some).checked.findings if item.code == "SG507"]
    assert (item.severity, item.evidence["clients"]) == ("warning", {"volumes/volume-1": [f"{address(3)}:0/5"]})


def test_a_guest_whose_images_were_not_asked_for_is_not_known_to_use_its_disk():
    view = dataclasses.replace(ceph([f"{HOST}:0/77"], ()), instances=[NIL])
    assert blockers(at_home().host("compute2", rbd=view)) == ["SG709"]


def test_disks_of_a_deleted_server_do_not_keep_its_host_from_being_clear():
    """Its domain runs until nova-compute starts, which ends it, whatever its disks."""
    some = at_home(watchers=())
    assert blockers(some) == ["SG517"]
    rows = [dataclasses.replace(row, deleted=row.id) if row.uuid == ONE else row for row in some.rows("instances")]
    assert "SG517" not in blockers(some.put("instances", rows))


@pytest.mark.parametrize("record", [None, "done"])
def test_while_a_deleted_servers_guest_runs_with_a_volume_the_entry_stays(record):
    """The volume may be another server's by now, and the guest could write to it as soon as the entry is gone."""
    some = back(record=record)
    rows = [dataclasses.replace(row, deleted=row.id) if row.uuid == ONE else row for row in some.rows("instances")]
    some = some.put("instances", rows)
    image = facts.RbdImage("volume-1", "v", 1, [], [facts.RbdWatcher(f"{address(3)}:0/5")], [])
    view = dataclasses.replace(ceph(), volumes=[facts.RbdVolume("volumes", image)])
    running = with_disks(some, "volumes/volume-1").host("compute2", rbd=view)
    assert lifted(running), "there is something to lift"
    (item,) = [item for item in judged(running).checked.findings if item.code == "SG110"]
    assert (item.object.id, item.severity) == (ONE, "blocker")
    assert item.evidence["volumes"] == ["volumes/volume-1"]
    assert item.remedy.startswith("Run virsh destroy ")
    # It does not run; it has no volume; nothing is to be lifted.
    for passes in (off(running), some, running.host("compute2", rbd=dataclasses.replace(view, blocklist=[]))):
        assert "SG110" not in blockers(passes)


# --- servers on volumes ---------------------------------------------------------------------------------------

ROOT = "volumes/volume-v1"


def from_volume(*clients, state="running", seen=True, more=(), **changes):
    """The guest of compute1 lives there and boots from volume v1; ``clients``: who has it open."""
    some = at_home().change("servers", {"id": ONE}, image="", volumes=["v1", *(name for name, _who in more)])
    (domain,) = some.rows("domains")
    shown = [facts.DomainDisk("vda", ROOT, "rbd", "v1")]
    shown += [facts.DomainDisk("vdb", f"volumes/volume-{name}", "rbd", name) for name, _w in more]
    some = some.host("compute1", domains=[dataclasses.replace(domain, state=state, disks=shown)])
    found = [
        facts.RbdVolume(
            "volumes", facts.RbdImage(f"volume-{name}", name, 1, [], [facts.RbdWatcher(one) for one in who])
        )
        for name, who in (("v1", clients), *more)
    ]
    view = dataclasses.replace(ceph(blocklist=(), images=False), volumes=found if seen else None, **changes)
    return some.host("compute2", rbd=view)


def second_writer(some):
    return [item for item in judged(some).checked.findings if item.code == "SG507"]


@pytest.mark.parametrize("state", ["running", "shutoff"])
def test_a_second_client_of_a_root_volume_is_a_second_writer(state):
    """V9: a warning, as if it were some volume; the entry was lifted and the host clear."""
    own = [f"{HOST}:0/77"] if state == "running" else []
    (item,) = second_writer(from_volume(*own, f"{address(3)}:0/5", state=state))
    assert (item.severity, item.absolute, item.evidence["clients"]) == ("blocker", True, {ROOT: [f"{address(3)}:0/5"]})
    # It may be multi-attached: nobody is told to end what may be another server's.
    assert "virsh destroy" not in item.remedy and "openstack volume show v1" in item.remedy
    assert second_writer(from_volume(*own, state=state)) == []


def test_a_member_of_a_shared_root_volume_is_no_second_writer():
    some = from_volume(f"{HOST}:0/77", f"{address(2)}:0/5")
    rows = [attachment(1, "v1", ONE), attachment(2, "v1", "member", "compute2")]
    held = cinder_volume("v1", *rows, multiattach=True)
    for sharers, number in (({"member": "compute2"}, 0), ({"member": "compute3"}, 1), ({}, 1)):
        shown = some.cloud(block_storage=cinder(held, whole=False, sharers=sharers))
        assert len(second_writer(shown)) == number


@pytest.mark.parametrize(("driver", "severity"), [("rbd", "warning"), ("nfs", "warning"), ("iscsi", "blocker")])
def test_a_volume_that_a_failed_spawn_left_connected_elsewhere_keeps_the_host_from_being_clear(driver, severity):
    """V3: return_host ended green, and the next hard reboot of the server ended in ERROR without its domain."""
    held = cinder_volume("v1", attachment(1, "v1", ONE, "compute2", driver=driver), protocol=None)
    some = from_volume(f"{HOST}:0/77").cloud(block_storage=cinder(held, whole=False))
    (item,) = [item for item in judged(some).checked.findings if item.code == "SG524"]
    assert (item.object.id, item.severity, item.evidence["connected to"]) == (ONE, severity, "compute2")
    right = cinder_volume("v1", attachment(1, "v1", ONE, driver=driver), protocol=None)
    some = from_volume(f"{HOST}:0/77").cloud(block_storage=cinder(right, whole=False))
    assert "SG524" not in [item.code for item in judged(some).checked.findings]
    assert [item.code for item in judged(from_volume(f"{HOST}:0/77")).checked.unchecked] == ["SG524"]


def test_a_data_volume_of_a_server_on_volumes_stays_a_warning():
    some = from_volume(f"{HOST}:0/77", more=[("v2", [f"{HOST}:0/77", f"{address(3)}:0/5"])])
    (item,) = second_writer(some)
    assert (item.severity, list(item.evidence["clients"])) == ("warning", ["volumes/volume-v2"])
    assert "virsh destroy" not in item.remedy


def test_a_server_without_a_domain_whose_volume_another_client_has_is_refused():
    gone = without_domain(from_volume(f"{address(3)}:0/5"))
    (item,) = second_writer(gone)
    assert (item.object.id, item.severity) == (ONE, "blocker")
    assert "virsh destroy" not in item.remedy
    assert blockers(without_domain(from_volume())) == []
    # With a disk of its own, the volume may be another server's as well.
    data = gone.change("servers", {"id": ONE}, image="image-1")
    assert [item.severity for item in second_writer(data)] == ["warning"]


NO_ACCESS = facts.Unread("volumes volumes", "no access to the pool: [errno 1] RBD permission error")


@pytest.mark.parametrize("some", [from_volume(seen=False, state="shutoff"), without_domain(from_volume(seen=False))])
def test_a_volume_that_nobody_looked_at_is_not_clear_whether_the_guest_runs_or_not(some):
    (item,) = [item for item in judged(some).checked.findings if item.code == "SG709"]
    assert item.object.id.endswith("volume-v1")
    assert return_host.about_disks(item)
    assert blockers(some) == ["SG709"]
    for word in (ONE, item.object.id):
        passed = [findings.Override("SG709", word, "an NFS share, mounted here only")]
        assert findings.blocking_findings(judged(some).checked.findings, passed) == []


def test_the_cause_is_told_where_the_pool_may_not_be_read():
    (item,) = judged(from_volume(seen=False, unread=[NO_ACCESS])).checked.findings[:1]
    assert "no access to the pool" in str(item.evidence["unread"])


def test_the_image_of_a_guest_that_does_not_run_must_be_read_as_well():
    view = ceph(blocklist=())
    view = dataclasses.replace(view, images=[dataclasses.replace(view.images[0], watchers=None)])
    assert blockers(off(at_home(watchers=())).host("compute2", rbd=view)) == ["SG709"]


# --- what moves left in instances_path


def left(*keeps, some=None, name=ONE):
    place = facts.InstancesPath("/i", "ext4", True, [facts.LeftDirectory(ONE, name, 1, 2, list(keeps))])
    return (some or back(hold=None, record="completed")).host("compute1", domains=[], instances_path=place)


def test_what_a_move_left_is_moved_aside_after_the_domains():
    decision = judged(left())
    assert [entry.name for entry in decision.clearing.directories] == [ONE]
    plan = plans.plan("op", "compute1", decision.clearing, "enabled", "qemu:///system")
    (step,) = [step for step in plan.steps if step.name == "directories"]
    assert [(entry["name"], entry["inode"]) for entry in step.params["directories"]] == [(ONE, 1)]


def test_what_holds_a_disk_stays_and_the_host_is_not_clear():
    assert judged(left("disk")).clearing.directories == ()
    assert blockers(left("disk")) == ["SG713"]
    assert blockers(left()) == []


def test_where_instances_path_was_not_read_the_host_is_not_clear():
    assert blockers(left().host("compute1", instances_path=None)) == ["SG713"]


def test_the_directories_of_domains_that_are_to_be_ended_are_in_the_plan_from_the_start():
    plan = plans.plan("op", "compute1", judged(back()).clearing, "enabled", "qemu:///system")
    later = plans.plan("op", "compute1", judged(left(some=back())).clearing, "enabled", "qemu:///system")
    assert plans.beyond(later, plan) == []


# --- allocations of migrations that have ended


ENDED = uid("migration", 77)


def held(of=None, without=(), lives="compute1"):
    """A migration's uuid holds something of compute1's provider. ``of``: its server, if it has ended."""
    some = back(hold=None, record=None, lives=lives)
    known = next(row for row in some.bundle.cloud.providers if row.uuid == node(1)).allocations
    kept = {key: value for key, value in known.items() if key not in without}
    some = some.change("providers", {"uuid": node(1)}, allocations={**kept, ENDED: {"VCPU": 1}})
    return judged(some, dataclasses.replace(REQUEST, ended={ENDED: of} if of else {}))


def about_allocation(decision):
    return [(item.code, item.severity) for item in decision.checked.findings if item.object.id == ENDED]


@pytest.mark.parametrize("of", [uid("instance", 99), ONE], ids=["server elsewhere", "server here holds its own"])
def test_only_an_allocation_whose_migration_has_ended_is_cleared(of):
    decision = held(of)
    assert [(item.consumer, item.provider) for item in decision.clearing.allocations] == [(ENDED, node(1))]
    assert ENDED not in [item.object.id for item in decision.checked.findings]
    plan = plans.plan("op", "compute1", decision.clearing, "enabled", "qemu:///system")
    (step,) = [step for step in plan.steps if step.action == "release_allocations"]
    assert step.params["allocations"][0]["resources"] == {"VCPU": 1}


def test_any_other_is_named():
    decision = held()
    assert decision.clearing.allocations == ()
    assert (ENDED, "SG509") in [(item.object.id, item.code) for item in decision.checked.findings]


def test_the_only_allocation_of_a_server_of_the_host_stays_with_its_migration():
    """A revert that could not move it back: the server is here and holds nothing itself."""
    decision = held(ONE, without=(ONE,))
    assert decision.clearing.allocations == ()
    assert about_allocation(decision) == [("SG509", "warning")]
    gone = held(ONE, without=(ONE,), lives="compute2")
    assert [item.consumer for item in gone.clearing.allocations] == [ENDED]


def test_a_soft_deleted_server_of_the_host_keeps_its_own():
    """No list of servers has it, and its owner can have it back."""
    some = back(hold=None, record=None, lives="compute1")
    some = some.change("instances", {"uuid": ONE}, vm_state="soft-delete")
    some = some.put("servers", [row for row in some.rows("servers") if row.id != ONE])
    assert ("SG509", ONE) not in [(item.code, item.object.id) for item in judged(some).checked.findings]
    gone = some.change("instances", {"uuid": ONE}, host="compute3", node="compute3")
    assert ("SG509", ONE) in [(item.code, item.object.id) for item in judged(gone).checked.findings]
