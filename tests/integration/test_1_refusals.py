# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refused: every reason at once, an exit status, a report, and nothing changed anywhere.

Each case breaks one thing in the lab, takes a snapshot of every database and of the host, runs the playbook, and
compares; then it mends what it broke.
"""

from __future__ import annotations

import contextlib
import json
import uuid

import pytest
from labkit import guests as guestkit
from labkit import state
from labkit.fixtures import documented_grants
from labkit.guests import NEW

HOST = "compute1"


@contextlib.contextmanager
def replaced(lab, path, text, host=HOST):
    """A file of the host with other content."""
    lab.ssh(host, f"cp -a {path} /root/kept")
    try:
        lab.ssh(host, f"cat > {path}", stdin=text)
        yield
    finally:
        lab.ssh(host, f"mv /root/kept {path}")


@contextlib.contextmanager
def other_compute_id(lab, _guests):
    with replaced(lab, "/var/lib/nova/compute_id", str(uuid.uuid4()) + "\n"):
        yield


@contextlib.contextmanager
def task_in_flight(lab, guests):
    identity = guests["plain1"]["id"]
    lab.sql("cell1", "UPDATE instances SET task_state = 'rebooting' WHERE uuid = %s", identity)
    try:
        yield
    finally:
        lab.sql("cell1", "UPDATE instances SET task_state = NULL WHERE uuid = %s", identity)


@contextlib.contextmanager
def migration(lab, guest, kind, status):
    """A row of the migrations table, as Nova leaves it."""
    lab.sql(
        "cell1",
        "INSERT INTO migrations (created_at, uuid, instance_uuid, migration_type, status, source_compute, source_node,"
        " dest_compute, dest_node, deleted, hidden, cross_cell_move) VALUES"
        " (utc_timestamp(), %s, %s, %s, %s, 'compute1', 'compute1', 'compute2', 'compute2', 0, 0, 0)",
        str(uuid.uuid4()),
        guest["id"],
        kind,
        status,
    )
    identity = lab.value("cell1", "SELECT MAX(id) AS id FROM migrations")
    try:
        yield
    finally:
        lab.sql("cell1", "DELETE FROM migrations WHERE id = %s", identity)


@contextlib.contextmanager
def unreaped_evacuation(lab, guests):
    with migration(lab, guests["elsewhere1"], "evacuation", "done"):
        yield


@contextlib.contextmanager
def open_migration(lab, guests):
    with migration(lab, guests["plain2"], "live-migration", "running"):
        yield


@contextlib.contextmanager
def unconfirmed_resize(lab, guests):
    identity = guests["plain3"]["id"]
    flavor = lab.cloud.compute.find_flavor("micro").id
    lab.action(identity, "resize", {"flavorRef": flavor})
    guestkit.wait_for(lab, identity, "VERIFY_RESIZE")
    try:
        yield
    finally:
        lab.action(identity, "revertResize")
        guestkit.wait_for(lab, identity, "ACTIVE", host=HOST)


STRANGER = """<domain type='qemu'><name>stranger</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
<os><type arch='x86_64'>hvm</type></os></domain>"""


@contextlib.contextmanager
def unknown_domain(lab, _guests):
    lab.ssh(HOST, "cat > /root/stranger.xml && virsh -q define /root/stranger.xml", stdin=STRANGER)
    try:
        yield
    finally:
        lab.ssh(HOST, "virsh -q undefine stranger; rm /root/stranger.xml")


@contextlib.contextmanager
def missing_domain(lab, guests):
    identity = guests["stopped1"]["id"]
    xml = lab.ssh(HOST, f"virsh dumpxml --inactive --security-info {identity} && virsh -q undefine {identity}")
    try:
        yield
    finally:
        lab.ssh(HOST, "cat > /root/kept.xml && virsh -q define /root/kept.xml; rm /root/kept.xml", stdin=xml)


@contextlib.contextmanager
def loopback_name(lab, _guests):
    lab.ssh(HOST, f"cp -a /etc/hosts /root/kept && echo '127.0.0.1 {NEW}' >> /etc/hosts")
    try:
        yield
    finally:
        lab.ssh(HOST, "cat /root/kept > /etc/hosts && rm /root/kept")


@contextlib.contextmanager
def unknown_revision(lab, _guests):
    known = lab.value("cell1", "SELECT version_num FROM alembic_version")
    lab.sql("cell1", "UPDATE alembic_version SET version_num = 'ffffffffffff'")
    try:
        yield
    finally:
        lab.sql("cell1", "UPDATE alembic_version SET version_num = %s", known)


@contextlib.contextmanager
def other_operation(lab, _guests):
    """The compute service held by another operation, as its disabled reason says."""
    service = lab.service(HOST)["id"]
    body = {"status": "disabled", "disabled_reason": "stackguard:rename:0123456789ab"}
    lab.compute("PUT", f"/os-services/{service}", body)
    try:
        yield
    finally:
        lab.compute("PUT", f"/os-services/{service}", {"status": "enabled"})


@contextlib.contextmanager
def nothing(_lab, _guests):
    yield


#: name: (what is broken, codes that must be named, new name)
CASES = {
    "identity_mismatch": (other_compute_id, {"SG102"}, NEW),
    "task_in_flight": (task_in_flight, {"SG701"}, NEW),
    "migration_open": (open_migration, {"SG702"}, NEW),
    "unconfirmed_resize": (unconfirmed_resize, {"SG703"}, NEW),
    "unreaped_evacuation": (unreaped_evacuation, {"SG509"}, NEW),
    "unknown_domain": (unknown_domain, {"SG110"}, NEW),
    "missing_domain": (missing_domain, {"SG109"}, NEW),
    "new_name_taken": (nothing, {"SG111", "SG310"}, "compute2"),
    "invalid_name": (nothing, {"SG118"}, "cn_rack7;reboot"),
    "hostile_name": (nothing, {"SG118"}, "--<b>../ü$(reboot)%s&" + "x" * 300),
    "new_name_resolves_to_loopback": (loopback_name, {"SG111"}, NEW),
    "other_operation_open": (other_operation, {"SG706"}, NEW),
    "unknown_schema_revision": (unknown_revision, {"SG705"}, NEW),
}
#: Of each run of `make test`: what test_several_reasons_are_all_told_at_once does not have, and is made in seconds.
QUICK = ("missing_domain", "unknown_schema_revision")


def matrix_but(quick, names):
    """Parameters of which `make test` takes some, and `make test-matrix` the others, too."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.matrix("input")) for name in names]


def assert_refused(result, codes):
    result.failed()
    for code in codes:
        assert code in result.output, f"{code} is not in the output\n{result.told()}"
    assert result.report is not None, result.told()
    assert result.report["verdict"] == "block"
    kept = result.directory / "reports" / "evidence.jsonl"
    assert kept.stat().st_mode & 0o777 == 0o600
    header, *_records = kept.read_text().splitlines()
    assert json.loads(header)["generated_at"] == result.report["generated_at"]
    assert codes <= result.codes, f"report.json names {result.codes}, not {codes}\n{result.told()}"
    for finding in result.report["findings"]:
        assert finding["remedy"], finding
    assert result.stats["state"] == "refused", result.stats
    assert result.stats["changed"] is False
    assert result.stats["verdict"] == "block"


@pytest.mark.parametrize("case", matrix_but(QUICK, CASES))
def test_refused_and_nothing_changed(lab, guests, playbooks, case):
    broken, codes, new = CASES[case]
    with broken(lab, guests):
        before = state.everything(lab)
        result = playbooks.rename(new=new)
        after = state.everything(lab)
    assert_refused(result, codes)
    state.assert_same(before, after, "a refused run changed something")


def test_several_reasons_are_all_told_at_once(lab, guests, playbooks):
    codes = {"SG102", "SG110", "SG310", "SG509", "SG701"}
    with (
        other_compute_id(lab, guests),
        unknown_domain(lab, guests),
        unreaped_evacuation(lab, guests),
        task_in_flight(lab, guests),
    ):
        before = state.everything(lab)
        result = playbooks.rename(new="compute2")
        after = state.everything(lab)
    assert_refused(result, codes)
    state.assert_same(before, after, "a refused run changed something")


def test_a_missing_grant_is_told_and_nothing_changed(lab, guests, playbooks):
    without = ("api", "aggregate_hosts", "update")
    urls = guestkit.grant(lab, "sg_less", documented_grants(), without)
    urls.pop("neutron_db_url")
    before = state.everything(lab)
    result = playbooks.rename(variables=urls)
    assert_refused(result, {"SG311"})
    assert "aggregate_hosts" in result.output
    state.assert_same(before, state.everything(lab), "a refused run changed something")


@pytest.mark.parametrize("which", matrix_but(("nova_cell_db_urls",), ("nova_api_db_url", "nova_cell_db_urls")))
def test_an_unreachable_database_is_told_and_nothing_changed(lab, guests, playbooks, which):
    url = playbooks.variables["nova_api_db_url"].replace(":3306", ":3333")
    variables = {which: url if which == "nova_api_db_url" else {"cell1": url.replace("nova_api", "nova_cell1")}}
    before = state.everything(lab)
    result = playbooks.rename(variables=variables).failed()
    assert result.codes & {"SG311", "SG709"}, result.told()
    assert "3333" in result.output, result.told()
    state.assert_same(before, state.everything(lab), "a refused run changed something")


@pytest.mark.matrix("input")
def test_without_any_database_url_the_message_says_what_is_missing(lab, guests, playbooks):
    before = state.everything(lab)
    result = playbooks.rename(variables={"nova_api_db_url": None, "nova_cell_db_urls": None}).failed()
    assert "nova_api_db_url" in result.output
    state.assert_same(before, state.everything(lab), "a refused run changed something")


# --- bad input ------------------------------------------------------------------------------------------------


#: What a person may type wrong: the words, and what the answer has.
WRONG = {
    "no_new_name": (["rename_from=compute1"], "rename_to"),
    "no_old_name": (["rename_to=cn-rack7.example"], "rename_from"),
    "empty_new_name": (["rename_from=compute1", "rename_to="], "rename_to"),
    "unknown_host": (["rename_from=nosuchhost", "rename_to=cn-rack7.example"], "nosuchhost"),
    "unknown_action": (["rename_from=compute1", "rename_to=cn-rack7.example", "rename_action=undo"], "rollback"),
    "malformed_override": (
        ["rename_from=compute1", "rename_to=cn-rack7.example", '{"stackguard_overrides": [{"code": "SG110"}]}'],
        "stackguard_overrides",
    ),
    "unknown_code": (
        [
            "rename_from=compute1",
            "rename_to=cn-rack7.example",
            '{"stackguard_overrides": [{"code": "SG999", "object": "x", "reason": "y"}]}',
        ],
        "SG999",
    ),
    "absolute_code": (
        [
            "rename_from=compute1",
            "rename_to=cn-rack7.example",
            '{"stackguard_overrides": [{"code": "SG113", "object": "x", "reason": "y"}]}',
        ],
        "absolute",
    ),
    "nothing_to_resume": (
        ["rename_from=compute1", "rename_to=cn-rack7.example", "rename_action=resume"],
        "nothing to resume",
    ),
    "same_name": (["rename_from=compute1", "rename_to=compute1"], "compute1"),
}


@pytest.mark.parametrize("name", matrix_but(("unknown_host", "absolute_code", "nothing_to_resume"), WRONG))
def test_bad_input_is_told_in_a_sentence(lab, playbooks, name):
    words, told = WRONG[name]
    before = state.files(lab)
    result = playbooks.run("rename_host", *words)
    if words != ["rename_from=compute1", "rename_to=compute1"]:
        result.failed()
    assert told in result.output, result.told()
    assert "Unexpected" not in result.output, result.told()
    state.assert_same(before, state.files(lab), "changed")


def test_an_override_passes_a_finding_that_may_be_passed(lab, guests, playbooks):
    with unknown_domain(lab, guests):
        refused = playbooks.rename(flags=["--check"]).failed()
        (finding,) = [item for item in refused.report["findings"] if item["code"] == "SG110"]
        override = {"code": "SG110", "object": finding["object"]["id"], "reason": "a test"}
        passed = playbooks.rename(flags=["--check"], variables={"stackguard_overrides": [override]})
        elsewhere = {**override, "object": str(uuid.uuid4())}
        other = playbooks.rename(flags=["--check"], variables={"stackguard_overrides": [elsewhere]})
    passed.ok()
    assert passed.report["verdict"] == "warn", json.dumps(passed.report, indent=1)
    assert passed.report["counts"]["overridden"] == 1
    other.failed()
