# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""return_plan as a task: from an evidence directory to a plan or to every reason why not."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.tests.unit.checks.before.test_return_host import (
    HOST,
    ONE,
    at_home,
    back,
    ceph,
)
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD

pytestmark = pytest.mark.ansible


def journal(host="compute1", kind="evacuate-compute1", **about):
    return {"operation_id": "abc", "kind": kind, "state": "open", "started_at": "", "about": {"host": host, **about}}


@pytest.fixture
def task(tmp_path):
    def run(some, *flags, **options):
        for name, facts in some.bundle.hosts.items():
            evidence.save_host(str(tmp_path / "evidence"), name, facts)
        evidence.save_part(str(tmp_path / "evidence"), evidence.CLOUD, some.bundle.cloud)
        evidence.save_part(str(tmp_path / "evidence"), evidence.DATABASES, some.bundle.databases)
        given = {"return_host": "compute1", "inventory_name": "compute1", "ceph_names": ["compute2"]}
        given = {**given, "evidence_dir": str(tmp_path / "evidence"), "closed_journals": [journal()], **options}
        write = {"ansible.builtin.copy": {"content": "{{ told | to_json }}", "dest": str(tmp_path / "told")}}
        write = {**write, "check_mode": False, "diff": False}
        tasks = [{"stackguard.nova.return_plan": given, "register": "told", "ignore_errors": True}, write]
        play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
        (tmp_path / "play.json").write_text(json.dumps([play]))
        argv = [sys.executable, "-m", "ansible", "playbook", *flags, str(tmp_path / "play.json")]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
        done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads((tmp_path / "told").read_text()), done.stdout

    return run


def test_a_plan_is_returned_told_and_shown_as_a_diff(task):
    told, output = task(back(), "--check", "--diff")
    assert (told["state"], told["changed"]) == ("planned", True)
    assert [item["uuid"] for item in told["domains"]["domains"]] == [ONE]
    lift = {"fsid": "f", "pool": "vms", "reader": "compute2", "addresses": [HOST]}
    assert (told["lifts"], told["reason"], told["held"]) == ([lift], "", True)
    assert "End 1 domain of servers that live elsewhere" in output
    assert f"-libvirt on compute1: guest1 ({ONE}): running" in output


def test_every_reason_why_not_at_once(task):
    # One of several, and of an earlier version.
    journals = [journal("compute9", "evacuate-compute9"), journal(kind="evacuate")]
    told, _output = task(back(record=None), journals=journals)
    assert (told["state"], told["failed"]) == ("refused", True)
    assert "SG706" in told["msg"]
    assert "evacuate_action=resume" in told["msg"]
    assert "SG108" in told["msg"]
    assert "lifts" not in told


def test_an_open_evacuation_of_another_host_is_no_reason(task):
    told, _output = task(back(), journals=[journal("compute9", "evacuate-compute9")])
    assert (told["state"], told["changed"]) == ("planned", False)


def test_what_closed_evacuations_put_on_a_blocklist_is_lifted(task):
    blocklist = ["198.51.100.7:0/0", "198.51.100.8:0/0", "198.51.100.9:0/0"]
    some = back(rbd=ceph(blocklist=blocklist)).host("compute1", domains=[])
    old = journal(kind="evacuate", addresses=["198.51.100.7"], fence_proof={"addresses": ["198.51.100.7"]})
    new = journal(blocklisted={"f": ["198.51.100.8"], "g": []})
    told, _output = task(some, closed_journals=[old, new])
    assert [lift["addresses"] for lift in told["lifts"]] == [["198.51.100.7", "198.51.100.8"]]


def test_another_cluster_is_never_clear_whatever_is_overridden(task):
    some = back(state="shutoff").host("compute1", domains=[]).host("compute2", rbd=ceph(fsid="OTHER", blocklist=()))
    passed = [{"code": "SG709", "object": "compute1", "reason": "I know"}]
    told, _output = task(some, overrides=passed)
    assert (told["state"], told["failed"]) == ("refused", True)


def test_dead_disks_are_no_reason_against_the_lifting_and_never_a_green_end(task):
    """H8: both runs exited 0, verdict pass, while three ACTIVE servers had no watcher."""
    told, _output = task(at_home(watchers=(), blocklist=(f"{HOST}:0/0",)))
    assert (told["state"], told["report"]["verdict"]) == ("planned", "block")
    assert told["lifts"][0]["addresses"] == [HOST]
    told, _output = task(at_home(watchers=()))
    assert (told["state"], told["failed"], told["report"]["verdict"]) == ("disks-not-open", True, "block")
    assert f"openstack server reboot --hard {ONE}" in told["msg"]
    told, _output = task(at_home())
    assert (told["state"], told["report"]["verdict"]) == ("clear", "pass")
    # A disk that no host looked at: "clear", with an unchecked code that no one read.
    view = dataclasses.replace(ceph([f"{HOST}:0/77"], ()), instances=["00000000-0000-4000-8000-000000000000"])
    unseen = at_home().host("compute2", rbd=view)
    told, _output = task(unseen)
    assert (told["state"], told["failed"], told["report"]["verdict"]) == ("disks-not-open", True, "block")
    assert "whether running domains can use 1 disk is not known" in told["msg"]
    assert "cannot use its disks" not in told["msg"]
    image = next(item["object"]["id"] for item in told["report"]["findings"] if item["code"] == "SG709")
    told, _output = task(unseen, overrides=[{"code": "SG709", "object": image, "reason": "it reads its disk"}])
    assert (told["state"], told["report"]["verdict"]) == ("clear", "warn")
    passed = [{"code": "SG517", "object": ONE, "reason": "a disk behind NAT"}]
    told, _output = task(at_home(watchers=()), overrides=passed)
    assert (told["state"], told["report"]["verdict"]) == ("clear", "warn")


def test_only_the_approved_plan_is_returned(task, tmp_path):
    given = {"report_dir": str(tmp_path / "reports")}
    planned, _output = task(back(), "--check", **given)
    value = planned["plan_sha256"]
    assert json.loads((tmp_path / "reports" / "plan.json").read_text())["plan_sha256"] == value
    told, _output = task(back(), expect_plan=value, **given)
    assert (told["state"], told["plan_sha256"]) == ("planned", value)
    told, _output = task(back(), expect_plan=value, status="disabled", **given)
    assert (told["state"], told["failed"], told["report"]["verdict"]) == ("refused", True, "block")
    assert '- request.status: "enabled"' in told["msg"]
    assert "lifts" not in told
    told, _output = task(back(), expect_plan="yes")
    assert (told["state"], told["failed"]) == ("refused", True)
    assert 'return_expect_plan is "yes"' in told["msg"]
