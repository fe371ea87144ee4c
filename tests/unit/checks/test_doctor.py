# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The doctor's checks over what was read: each has a case that fails, one that passes, and one that is not checked."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.doctor import checks
from ansible_collections.stackguard.nova.plugins.module_utils.doctor import report as reports
from ansible_collections.stackguard.nova.plugins.module_utils.model import doctor, facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.doctor import (
    FAILED,
    NOT_CHECKED,
    OK,
    Asked,
    ClockOffset,
    CloudState,
    DatabasesState,
    DatabaseState,
    DoctorHost,
    RightsProbe,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.doctor_host import (
    CephAccess,
    CephCaps,
    Directory,
    HostState,
)

#: What decides a part: who needs the lock of the databases, neutron's database, and rights in Ceph.
ALL = ("audit", "rename_host", "evacuate_host", "return_host", "repair_links")
NOW = ClockOffset(-0.5, 0.4)
JOURNALS = Directory("/var/lib/stackguard", "/var/lib/stackguard", True, 0, 0o700, True, False, 5000, 0)
CAPS = CephCaps("client.nova", 'profile rbd, allow command "osd blocklist" with blocklistop=rm', "profile rbd", "")
CEPH = CephAccess("1f0a", "library")
HOST = HostState(
    inventory_name="compute1",
    python="3.11.2",
    python_path="/usr/bin/python3",
    own_uid=0,
    packages="apt-get",
    began=1.0,
    ended=2.0,
    nova_conf_files=["/etc/nova/nova.conf"],
    images_type="rbd",
    libvirt="9.0.0",
    libvirt_binding=True,
    rbd_binding=True,
    ceph_user="nova",
    ceph=CEPH,
    caps=CAPS,
    volume_pools={"volumes": ""},
    journals=JOURNALS,
)
CLOUD = CloudState(
    user="admin",
    project="admin",
    probes=[
        RightsProbe("compute_api", "GET compute /os-services", 2),
        RightsProbe("compute_api", "GET compute /servers/detail", 0),
        RightsProbe("placement_api", "GET placement /resource_providers", 0),
        RightsProbe("network_api", "GET network /agents", 3),
        RightsProbe("volume_api", "GET block_storage /os-services", 1),
    ],
    cinder=True,
    volume_pools=["volumes"],
    agents=["DHCP agent", "Open vSwitch agent"],
    alive_agents=["DHCP agent", "Open vSwitch agent"],
    clock=NOW,
)


def grant(table="services", columns=("host",), action="update", allowed=True, database="cell:cell1"):
    error = None if allowed else f"{action.upper()} command denied to user for table {table} (1142)"
    return facts.Grant(database, table, list(columns), action, allowed, error)


def database(name="api", **more):
    return DatabaseState(
        name,
        "db1/nova_api",
        **{
            "dialect": "mysql",
            "database": "nova_api",
            "user": "stackguard@10.0.0.%",
            "grants": [grant()],
            "clock": NOW,
            **more,
        },
    )


DATABASES = DatabasesState(
    [database(), database("cell:cell1", database="nova")], lock=facts.DatabaseLock(facts.LOCK_EXCLUSIVE), neutron=True
)


def judged(asked=None, cloud=CLOUD, databases=DATABASES, hosts=(HOST,), journals=JOURNALS):
    """Results by (subject, part)."""
    answers = [host if isinstance(host, DoctorHost) else DoctorHost(host.inventory_name, host, NOW) for host in hosts]
    keeper = DoctorHost("localhost", dataclasses.replace(HOST, journals=journals), NOW)
    found = checks.judge(asked or Asked(operations=ALL, volume_pools=["volumes"]), cloud, databases, answers, keeper)
    assert len({(result.subject, result.part) for result in found}) == len(found), "each has one result"
    assert all(result.seen for result in found)
    assert all(result.fix for result in found if result.state == FAILED), "what failed has its command"
    return {(result.subject, result.part): result for result in found}


def host_part(part, **changes):
    return judged(hosts=[dataclasses.replace(HOST, **changes)])["compute1", part]


def test_all_is_ok_and_every_part_has_a_result():
    found = judged()
    assert {result.state for result in found.values()} == {OK}
    assert {part for _subject, part in found} == set(doctor.ALL_PARTS)
    assert doctor.passes(list(found.values()), ())


def test_only_what_was_asked_for_is_judged():
    found = judged(Asked(sources=["api"], volume_pools=["volumes"]), databases=None)
    assert {part for _subject, part in found} == set(doctor.PARTS["api"])
    assert doctor.passes(list(found.values()), ())


def test_a_source_that_was_asked_for_and_not_read_does_not_pass():
    for source in doctor.SOURCES:
        found = checks.judge(Asked(sources=[source]), None, None, [], None)
        assert found and not doctor.passes(found, doctor.ALL_PARTS), source
    assert not doctor.passes([], doctor.ALL_PARTS)


# --- the cloud ------------------------------------------------------------------------------------------------


def test_credentials_that_are_refused_leave_the_rest_not_checked():
    found = judged(Asked(sources=["api"], cloud="production"), CloudState(problem="OpenStack: unauthorized (401)"))
    assert found["cloud", "credentials"].state == FAILED
    assert "openstack --os-cloud production token issue" in found["cloud", "credentials"].fix
    assert {found["cloud", part].state for part in doctor.PARTS["api"][1:]} == {NOT_CHECKED}


@pytest.mark.parametrize("part", ["compute_api", "placement_api", "network_api", "volume_api"])
def test_a_user_who_is_no_administrator(part):
    probes = [
        RightsProbe(part, probe.request, None, 403, "Policy does not allow it") if probe.part == part else probe
        for probe in CLOUD.probes
    ]
    cloud = dataclasses.replace(CLOUD, probes=probes, user="it's me")
    found = judged(cloud=cloud)["cloud", part]
    assert (found.state, "Policy does not allow it" in found.seen) == (FAILED, True)
    assert found.fix.endswith("openstack role add --project admin --user 'it'\\''s me' admin")


def test_an_api_that_does_not_answer_asks_for_no_role():
    probe = RightsProbe("placement_api", "GET placement /resource_providers", None, 503, "no server available")
    found = judged(cloud=dataclasses.replace(CLOUD, probes=[*CLOUD.probes[:2], probe, *CLOUD.probes[3:]]))
    assert found["cloud", "placement_api"].state == FAILED
    assert "openstack catalog list" in found["cloud", "placement_api"].fix


def test_neutron_hides_its_agents_so_that_none_proves_nothing():
    probes = [*CLOUD.probes[:3], RightsProbe("network_api", "GET network /agents", 0), CLOUD.probes[4]]
    found = judged(cloud=dataclasses.replace(CLOUD, probes=probes, agents=None))
    assert found["cloud", "network_api"].state == NOT_CHECKED


def test_a_cloud_without_a_compute_service():
    probes = [RightsProbe("compute_api", "GET compute /os-services", 0), *CLOUD.probes[1:]]
    found = judged(cloud=dataclasses.replace(CLOUD, probes=probes))
    assert (found["cloud", "compute_api"].state, "discover_hosts" in found["cloud", "compute_api"].fix) == (
        FAILED,
        True,
    )


# --- volumes --------------------------------------------------------------------------------------------------


def test_a_cloud_without_cinder_needs_nothing_of_it():
    none = dataclasses.replace(CLOUD, cinder=False, volume_pools=[], probes=CLOUD.probes[:4])
    found = judged(cloud=none, hosts=[dataclasses.replace(HOST, volume_pools={"volumes": "denied"})])
    parts = [found["cloud", "volume_api"], found["cloud", "volume_pools"], found["compute1", "ceph_volumes"]]
    assert [part.state for part in parts] == [OK, OK, OK]


def test_hosts_of_attachments_are_shown_to_administrators():
    found = judged(cloud=dataclasses.replace(CLOUD, hidden_hosts=True))["cloud", "volume_api"]
    assert (found.state, "openstack role add" in found.fix) == (FAILED, True)


def test_a_pool_that_the_variable_lacks_is_told_with_the_value_to_set():
    found = judged(cloud=dataclasses.replace(CLOUD, volume_pools=["hdd", "volumes"]))
    assert found["cloud", "volume_pools"].state == FAILED
    assert found["cloud", "volume_pools"].fix.endswith("stackguard_volume_pools: [hdd, volumes]")
    # The others are looked at all the same.
    assert found["compute1", "ceph_volumes"].state == OK
    only = judged(cloud=dataclasses.replace(CLOUD, volume_pools=["hdd"]))
    assert only["compute1", "ceph_volumes"].state == NOT_CHECKED


def test_a_pool_may_be_read_or_not_without_cinders_word():
    unread = dataclasses.replace(CLOUD, volume_pools=None)
    assert judged(cloud=unread)["cloud", "volume_pools"].state == NOT_CHECKED
    assert judged(cloud=unread)["compute1", "ceph_volumes"].state == OK
    denied = dataclasses.replace(HOST, volume_pools={"volumes": "denied"})
    assert judged(cloud=unread, hosts=[denied])["compute1", "ceph_volumes"].state == NOT_CHECKED


def test_caps_for_the_pool_of_volumes_lose_nothing():
    found = host_part("ceph_volumes", volume_pools={"volumes": "denied"})
    assert f"mon '{CAPS.mon}' osd 'profile rbd, profile rbd-read-only pool=volumes'" in found.fix


# --- clocks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clock", "state"),
    [
        (ClockOffset(-1, 1), OK),
        (ClockOffset(9, 10), OK),
        (ClockOffset(10.5, 12), FAILED),
        (ClockOffset(-60, -59), FAILED),
        (ClockOffset(-1, 11), NOT_CHECKED),
        (ClockOffset(-30, 30), NOT_CHECKED),
        (None, NOT_CHECKED),
    ],
)
def test_a_clock_is_ok_only_where_the_answer_proves_it(clock, state):
    found = judged(
        cloud=dataclasses.replace(CLOUD, clock=clock),
        databases=dataclasses.replace(DATABASES, databases=[database(clock=clock)]),
        hosts=[DoctorHost("compute1", HOST, clock)],
    )
    for key in (("cloud", "api_clock"), ("api", "database_clock"), ("compute1", "host_clock")):
        assert found[key].state == state, key


def test_a_clock_is_measured_by_what_must_be_true():
    # The host's clock is 100 s ahead: asked at 10, read at 112 and 113 of its own clock, answered at 14.
    clock = ClockOffset.between(10, 112, 113, 14)
    assert (clock.least, clock.most) == (99, 102)


# --- databases ------------------------------------------------------------------------------------------------


def test_no_url_fails_and_leaves_the_rest_not_checked():
    found = judged(databases=DatabasesState(problem=facts.LEFT_OUT[facts.NO_API_DATABASE], neutron=True))
    assert found["api", "database"].state == FAILED
    assert {found["api", part].state for part in ("database_rights", "database_clock", "database_lock")} == {
        NOT_CHECKED
    }


def test_a_database_that_is_not_reached():
    databases = [database(), database("cell:cell2", problem="Connection refused (2003)")]
    found = judged(databases=dataclasses.replace(DATABASES, databases=databases))
    assert (found["cell:cell2", "database"].state, found["cell:cell2", "database_rights"].state) == (
        FAILED,
        NOT_CHECKED,
    )
    assert "nova_cell_db_urls" in found["cell:cell2", "database"].fix
    assert found["api", "database"].state == OK


def test_cells_that_could_not_be_listed_are_a_failure():
    found = judged(databases=dataclasses.replace(DATABASES, problem="SELECT denied", databases=[database()]))
    assert found["cells", "database"].state == FAILED


def test_an_api_database_without_a_cell_is_a_failure():
    found = judged(databases=dataclasses.replace(DATABASES, databases=[database()]))
    assert found["cells", "database"].state == FAILED
    assert "list_cells" in found["cells", "database"].fix
    assert found["cells", "database_rights"].state == NOT_CHECKED
    found = judged(databases=dataclasses.replace(DATABASES, databases=[database(), database("cell:cell1")]))
    assert ("cells", "database") not in found


def test_missing_rights_come_with_the_statement_that_grants_them():
    missing = [
        grant("aggregate_metadata", ("id", "key"), "select", False),
        grant("services", ("id", "binary"), "select", False),
        grant("services", ("host",), "update", False),
        grant("services", ("host",), "lock", False),
        grant("compute_nodes"),
    ]
    found = judged(databases=dataclasses.replace(DATABASES, databases=[database(grants=missing)]))
    result = found["api", "database_rights"]
    assert (result.state, "4 of 5 privileges are missing" in result.seen) == (FAILED, True)
    assert result.fix.splitlines() == [
        "GRANT SELECT (id, `key`) ON nova_api.aggregate_metadata TO 'stackguard'@'10.0.0.%';",
        "GRANT SELECT (id, `binary`), UPDATE (host) ON nova_api.services TO 'stackguard'@'10.0.0.%';",
    ]
    postgres = database(dialect="postgresql", user="stack guard", grants=missing[1:4])
    found = judged(databases=dataclasses.replace(DATABASES, databases=[postgres]))
    assert found["api", "database_rights"].fix == (
        'GRANT SELECT (id, "binary"), UPDATE (host) ON services TO "stack guard";'
    )


def test_rights_that_were_not_probed_are_not_checked():
    found = judged(databases=dataclasses.replace(DATABASES, databases=[database(grants=None)]))
    assert found["api", "database_rights"].state == NOT_CHECKED


@pytest.mark.parametrize(
    ("scope", "operations", "state"),
    [
        (facts.LOCK_EXCLUSIVE, ALL, OK),
        (facts.LOCK_LOCAL, ALL, OK),
        (facts.LOCK_REFUSED, ALL, FAILED),
        (facts.LOCK_REFUSED, ("rename_host",), OK),
        (None, ALL, NOT_CHECKED),
    ],
)
def test_the_lock_of_the_database(scope, operations, state):
    lock = facts.DatabaseLock(scope, "pxc_strict_mode") if scope else None
    databases = dataclasses.replace(DATABASES, lock=lock, lock_reason="no answer")
    assert judged(Asked(operations=operations), databases=databases)["api", "database_lock"].state == state


@pytest.mark.parametrize(
    ("agents", "state"),
    [(["Open vSwitch agent"], FAILED), (["OVN Controller agent"], FAILED), (["DHCP agent"], OK), (None, NOT_CHECKED)],
)
def test_the_database_of_neutron_is_needed_where_hosts_have_an_l2_agent_or_ovns(agents, state):
    databases = dataclasses.replace(DATABASES, neutron=False)
    found = judged(cloud=dataclasses.replace(CLOUD, agents=agents), databases=databases)
    assert found["neutron", "database"].state == state
    found = judged(Asked(operations=["audit"]), dataclasses.replace(CLOUD, agents=agents), databases)
    assert ("neutron", "database") not in found


# --- hosts ----------------------------------------------------------------------------------------------------


def test_no_host_at_all_is_a_failure():
    assert judged(hosts=())["compute", "reached"].state == FAILED


def test_a_host_shows_which_ceph_answers_and_how():
    assert host_part("rbd").seen == "Ceph cluster 1f0a answers, through python3-rbd and python3-rados"
    found = host_part("rbd", ceph=CephAccess("1f0a", "command"))
    assert found.seen == "Ceph cluster 1f0a answers, through the commands rbd and ceph"


def test_a_host_that_does_not_answer_says_so_in_a_sentence():
    found = judged(hosts=[DoctorHost("compute9", kind="unreachable", reason="Connection refused")])
    assert found["compute9", "reached"].seen == "compute9 does not answer Ansible: Connection refused"
    assert {found["compute9", part].state for part in doctor.PARTS["hosts"][1:]} == {NOT_CHECKED}


def test_a_python_that_is_too_old():
    found = judged(hosts=[DoctorHost("compute9", kind="failed", reason="SyntaxError", python="3.6.8")])
    assert (found["compute9", "reached"].state, found["compute9", "python"].state) == (OK, FAILED)
    assert "ansible_python_interpreter" in found["compute9", "python"].fix
    found = judged(hosts=[DoctorHost("compute9", kind="failed", reason="no space left", python="3.11.2")])
    assert (found["compute9", "reached"].state, found["compute9", "python"].state) == (FAILED, NOT_CHECKED)
    found = judged(hosts=[DoctorHost("compute9", kind="failed", reason="no space left")])
    assert found["compute9", "reached"].state == FAILED


@pytest.mark.parametrize(
    ("part", "changes", "state", "fix"),
    [
        ("root", {"own_uid": 1000}, FAILED, "ansible_become: true"),
        ("nova_conf", {"nova_conf_files": None}, FAILED, "stackguard_nova_conf_files"),
        ("libvirt", {"libvirt": None, "libvirt_binding": False}, FAILED, "apt-get install python3-libvirt "),
        ("libvirt", {"libvirt": None}, FAILED, "systemctl status libvirtd"),
        ("rbd", {"ceph": None, "rbd_binding": False}, FAILED, "apt-get install python3-rbd python3-rados"),
        ("rbd", {"ceph": None, "rbd_binding": False, "packages": "dnf"}, FAILED, "dnf install python3-rbd"),
        ("rbd", {"ceph": None, "rbd_binding": False, "ceph_by_command": True}, FAILED, "ceph --id nova fsid"),
        ("rbd", {"ceph": None}, FAILED, "stackguard_ceph_conf"),
        ("rbd", {"ceph": CephAccess("1f0a", "command"), "rbd_binding": False}, OK, ""),
        ("rbd", {"ceph": None, "rbd_binding": False, "images_type": "qcow2"}, OK, ""),
        ("rbd", {"ceph": None, "images_type": None}, NOT_CHECKED, ""),
        ("ceph_volumes", {"volume_pools": None}, NOT_CHECKED, ""),
        ("ceph_volumes", {"volume_pools": {"volumes": "denied"}}, FAILED, "profile rbd-read-only pool=volumes"),
        ("ceph_volumes", {"volume_pools": {"volumes": "denied"}, "caps": None}, FAILED, "ceph auth get client.nova"),
        ("ceph_caps", {"caps": None}, NOT_CHECKED, "ceph auth get client.nova"),
        ("ceph_caps", {"caps": None, "images_type": "qcow2"}, OK, ""),
        ("ceph_caps", {"caps": None, "images_type": None}, NOT_CHECKED, "doctor_ceph_reader"),
        ("ceph_caps", {"caps": dataclasses.replace(CAPS, mon="profile unheard-of")}, NOT_CHECKED, ""),
    ],
)
def test_a_part_of_a_host(part, changes, state, fix):
    assert host_part(part).state == OK, "as it is"
    found = host_part(part, **changes)
    assert (found.state, fix in found.fix) == (state, True), found


def test_caps_that_do_not_let_entries_be_removed_are_completed_and_nothing_is_lost():
    """Those for the MDS were: CephFS that the hosts mount was gone."""
    caps = CephCaps("client.nova", "profile rbd", "profile rbd pool=vms", "profile rbd", {"mds": "allow rw fsname=x"})
    found = host_part("ceph_caps", caps=caps)
    assert found.state == FAILED and "is not allowed to remove OSD blocklist entries" in found.seen
    assert found.fix == (
        'on a Ceph node: ceph auth caps client.nova mon \'profile rbd, allow command "osd blocklist" with '
        "blocklistop=rm' osd 'profile rbd pool=vms' mgr 'profile rbd' mds 'allow rw fsname=x'"
    )


def test_caps_that_do_not_let_guard_snapshots_be_made_are_found_before_a_host_is_dead():
    """N8d: ok by the caps for the monitors alone."""
    reading = dataclasses.replace(CAPS, osd="profile rbd-read-only pool=vms")
    found = host_part("ceph_caps", caps=reading, images_pool="vms")
    assert found.state == FAILED and "make snapshots in the pool vms" in found.seen
    assert "osd 'profile rbd-read-only pool=vms, profile rbd pool=vms'" in found.fix
    assert (
        host_part("ceph_caps", caps=dataclasses.replace(CAPS, osd="profile rbd pool=vms"), images_pool="vms").state
        == OK
    )
    other = dataclasses.replace(CAPS, osd="profile rbd pool=vms namespace=other")
    assert host_part("ceph_caps", caps=other, images_pool="vms").state == NOT_CHECKED
    # Who only returns a host makes none.
    hosts = [dataclasses.replace(HOST, caps=reading, images_pool="vms")]
    assert judged(Asked(operations=["return_host"]), hosts=hosts)["compute1", "ceph_caps"].state == OK


def test_what_the_user_may_not_read_of_the_daemons_is_named():
    assert "mgr dump" in host_part("ceph_caps").seen
    whole = dataclasses.replace(CAPS, mon=f'{CAPS.mon}, allow command "mgr dump", allow command "fs dump"')
    assert "mgr dump" not in host_part("ceph_caps", caps=whole).seen.partition(" is allowed to ")[2]


def test_caps_are_asked_for_only_by_operations_that_fence_by_the_blocklist():
    hosts = [dataclasses.replace(HOST, caps=CephCaps("client.nova", "allow r", "", ""))]
    for operations, state in ((["evacuate_host"], FAILED), (["return_host"], FAILED), (["audit", "rename_host"], OK)):
        assert judged(Asked(operations=operations), hosts=hosts)["compute1", "ceph_caps"].state == state


@pytest.mark.parametrize(
    ("changes", "words", "fix"),
    [
        ({"is_directory": False}, "is not a directory", "install -d -m 0700"),
        ({"read_only": True, "writable": False}, "is read-only", "remount,rw"),
        ({"writable": False, "own_uid": 1000}, "is not allowed to write", "as root: install -d -m 0700 -o 1000"),
        ({"uid": 1000}, "belongs to user id 1000", "chown"),
        ({"mode": 0o755}, "other users can read", "chmod 0700"),
        ({"free_mb": 99}, "99 MiB free", "df -h"),
    ],
)
def test_a_directory_of_journals_that_no_operation_could_use(changes, words, fix):
    wrong = dataclasses.replace(JOURNALS, **changes)
    found = judged(hosts=[dataclasses.replace(HOST, journals=wrong)], journals=wrong)
    for key in (("compute1", "host_journals"), ("localhost", "journals")):
        assert found[key].state == FAILED and words in found[key].seen and fix in found[key].fix, found[key]


def test_a_directory_of_journals_that_is_not_there_yet():
    missing = dataclasses.replace(JOURNALS, nearest="/var/lib", uid=5, mode=0o755)
    assert judged(journals=missing)["localhost", "journals"].state == OK
    unread = judged(hosts=[dataclasses.replace(HOST, journals=None)], journals=None)
    assert (unread["compute1", "host_journals"].state, unread["localhost", "journals"].state) == (NOT_CHECKED,) * 2


def test_a_host_of_journals_that_does_not_answer():
    keeper = DoctorHost("keeper", kind="unreachable", reason="Connection refused")
    (found,) = checks.judge(Asked(sources=["journals"]), None, None, [], keeper)
    assert (found.state, found.seen) == (FAILED, "keeper does not answer Ansible: Connection refused")


# --- reports --------------------------------------------------------------------------------------------------


def test_what_is_not_checked_passes_only_where_its_part_is_accepted():
    hosts = [dataclasses.replace(HOST, caps=None)]
    found = list(judged(hosts=hosts).values())
    for accepted, verdict in (((), "block"), (("rbd",), "block"), (("ceph_caps",), "pass")):
        assert reports.report(found, Asked(accepted=accepted), "now")["verdict"] == verdict
    failed = list(judged(hosts=[dataclasses.replace(HOST, own_uid=5)]).values())
    assert not doctor.passes(failed, doctor.ALL_PARTS), "a failure is never accepted"


def test_the_report_has_every_result_and_its_numbers():
    found = list(judged(hosts=[dataclasses.replace(HOST, caps=None, own_uid=5)]).values())
    plain = json.loads(reports.report_json(reports.report(found, Asked(), "now")))
    assert plain["counts"] == {"ok": len(found) - 2, "failed": 1, "not_checked": 1}
    assert len(plain["results"]) == len(found)
    assert {tuple(sorted(result)) for result in plain["results"]} == {
        ("fix", "part", "seen", "source", "state", "subject")
    }


def test_the_table_begins_with_what_failed_and_folds_what_is_alike():
    hosts = [
        dataclasses.replace(HOST, inventory_name=f"compute{number}", own_uid=5 if number < 20 else 0, caps=None)
        for number in range(40)
    ]
    lines = reports.table(list(judged(hosts=hosts).values()), ["ceph_caps"]).splitlines()
    assert lines[0].split()[:3] == ["failed", "root", "compute0,"]
    assert lines[0].endswith("and 12 more")
    assert lines[2].split()[0] == "do:" and "ansible_become" in lines[2]
    assert any(line.startswith("accepted     ceph_caps") for line in lines)
    assert lines[-1].endswith(f"{20} failed, {40} not checked")
    assert len(lines) < 60


def test_rights_of_an_operation_that_declares_none_are_not_checked():
    databases = dataclasses.replace(DATABASES, undeclared=["throw_away"])
    found = judged(databases=databases)["api", "database_rights"]
    assert (found.state, "throw_away" in found.seen) == (NOT_CHECKED, True)
    missing = dataclasses.replace(databases, databases=[database(grants=[grant(allowed=False)])])
    assert judged(databases=missing)["api", "database_rights"].state == FAILED
