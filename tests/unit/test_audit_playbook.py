# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""audit.yml as people run it, on this machine alone: what answers, what does not, and the same bytes again offline."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import CloudName, FactsError, to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD
from ansible_collections.stackguard.nova.tests.unit.saved_evidence import save_as
from ansible_collections.stackguard.nova.tests.unit.test_playbook_reads import BROKEN, GONE, HERE

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

FILES = (
    *("report.json", "report.html", "report.prom", "report.csv", "report.junit.xml"),
    *("forecast.json", "changes.json", "evidence.jsonl"),
)


@pytest.fixture
def run(tmp_path, short_tmp):
    def playbook(*options, hosts=None, reports="reports", **given):
        inventory = {"compute": {"hosts": hosts or {"compute1": HERE}}}
        (tmp_path / "inventory.json").write_text(json.dumps(inventory))
        variables = {"stackguard_report_dir": str(tmp_path / reports), **given}
        (tmp_path / "vars.json").write_text(json.dumps(variables))
        argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.audit", *options]
        argv += ["-i", str(tmp_path / "inventory.json"), "-e", f"@{tmp_path / 'vars.json'}"]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
        env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_STDOUT_CALLBACK="default", ANSIBLE_SHOW_CUSTOM_STATS="1")
        env.update(TMPDIR=str(short_tmp), ANSIBLE_HOST_KEY_CHECKING="0")
        return subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)

    return playbook


def kept(directory):
    return {name: (directory / name).read_bytes() for name in FILES}


def saved(tmp_path, some, name="saved.jsonl"):
    return save_as(tmp_path / name, some.bundle)


def test_hosts_that_do_not_answer_and_sources_that_fail_are_told_and_end_nothing(run, tmp_path, short_tmp):
    hosts = {"compute1": HERE, "compute2": BROKEN, "compute3": GONE}
    urls = {"nova_api_db_url": "mysql+pymysql://user:secret@127.0.0.1:1/nothing"}
    done = run(hosts=hosts, cloud="nothing", audit_ceph=False, **urls)
    told = done.stdout + done.stderr
    assert done.returncode not in (0, 250), told
    assert (tmp_path / "reports" / "report.json").exists(), told
    files = kept(tmp_path / "reports")
    assert "secret" not in told
    assert not [name for name, content in files.items() if b"secret" in content]
    report = json.loads(files["report.json"])
    assert (report["verdict"], report["hosts"]) == ("block", 3)
    silent = {item["object"]["id"] for item in report["findings"] if item["code"] == "SG114"}
    assert {"compute2", "compute3"} <= silent, told
    reasons = {item["code"]: item["evidence"] for item in report["findings"] if item["object"]["kind"] == "service"}
    assert "Cloud nothing was not found" in reasons["SG709"]["reason"], told
    assert "SG201" in {item["code"] for item in report["unchecked"]}
    assert list(short_tmp.glob("stackguard-*")) == [], told
    assert stat.S_IMODE((tmp_path / "reports" / "evidence.jsonl").stat().st_mode) == 0o600
    assert "verdict block" in done.stdout
    again = run(audit_evidence=str(tmp_path / "reports" / "evidence.jsonl"), reports="again", audit_fail_on="never")
    assert again.returncode == 0, again.stdout + again.stderr
    assert kept(tmp_path / "again") == files


@pytest.mark.parametrize("url", ["mysql+pymysql://user:secret@127.0.0.1:1/nova_api", "bogus://user:secret@db/nova_api"])
def test_a_database_that_is_down_or_mistyped_is_no_success_now_or_from_the_saved_evidence(run, tmp_path, url):
    """It was `verdict warn`, exit 0."""
    done = run(audit_sources=["databases"], nova_api_db_url=url)
    told = done.stdout + done.stderr
    assert done.returncode not in (0, 250), told
    report = json.loads((tmp_path / "reports" / "report.json").read_text())
    assert [(item["code"], item["object"]["id"]) for item in report["findings"]] == [("SG311", "databases")], told
    assert report["verdict"] == "block"
    again = run(audit_evidence=str(tmp_path / "reports" / "evidence.jsonl"), reports="again")
    assert again.returncode not in (0, 250), again.stdout + again.stderr
    assert kept(tmp_path / "again") == kept(tmp_path / "reports")


@pytest.mark.matrix("playbooks")
def test_journals_that_cannot_be_read_are_a_blocker(run, tmp_path):
    state = tmp_path / "state"
    state.write_text("no directory")
    done = run(audit_sources=["databases"], stackguard_state_dir=str(state / "below"))
    report = json.loads((tmp_path / "reports" / "report.json").read_text())
    assert done.returncode not in (0, 250)
    assert ("SG709", "operations") in {(item["code"], item["object"]["id"]) for item in report["findings"]}, done.stdout


def test_journals_that_are_not_understood_are_blockers_with_their_paths(run, tmp_path):
    """One on the host, one in the journal directory; and the directory was read."""
    paths = [tmp_path / "host" / "rename.json", tmp_path / "state" / "evacuate.json"]
    for path in paths:
        path.parent.mkdir(mode=0o700)
        path.write_text('{"schema": 1, "about": {"host": "compute9"}}')
    given = {"stackguard_state_dir": str(paths[1].parent), "stackguard_host_state_dir": str(paths[0].parent)}
    done = run(audit_sources=["hosts"], audit_ceph=False, **given)
    assert done.returncode not in (0, 250)
    report = json.loads((tmp_path / "reports" / "report.json").read_text())
    found = {item["evidence"]["journal"]: item for item in report["findings"] if item["code"] == "SG706"}
    assert set(found) == {str(path) for path in paths}, done.stdout
    assert [found[str(path)]["object"]["id"] for path in paths] == ["compute1", "compute9"]
    assert {item["severity"] for item in found.values()} == {"blocker"}
    assert {item["evidence"]["finish with"] for item in found.values()} == {"version 0.1 of the collection"}
    # Both were read: nothing says that they were not.
    assert "operations" not in {item["object"]["id"] for item in report["findings"]}
    again = run(audit_evidence=str(tmp_path / "reports" / "evidence.jsonl"), reports="again", audit_fail_on="never")
    assert again.returncode == 0, again.stdout + again.stderr
    assert kept(tmp_path / "again") == kept(tmp_path / "reports")


def test_saved_evidence_is_judged_without_any_host_or_cloud(run, tmp_path):
    done = run(audit_evidence=saved(tmp_path, healthy()), audit_fail_on="blocker", hosts={"compute1": GONE})
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "reports" / "report.json").read_text())
    assert report["findings"] == []
    assert "UNREACHABLE" not in done.stdout
    assert '"verdict": "warn"' in done.stdout  # the links and Ceph were not read


@pytest.mark.parametrize(("fail_on", "code"), [("never", 0), ("blocker", 2), ("warning", 2)])
def test_the_exit_code_is_what_was_asked_for(run, tmp_path, fail_on, code):
    some = healthy().drop("domains", {"uuid": guest(1, 1)})
    done = run(audit_evidence=saved(tmp_path, some), audit_fail_on=fail_on)
    assert done.returncode == code, done.stdout + done.stderr
    assert "SG109 missing-domain" in done.stdout
    assert "generated_at" not in done.stdout, "Ansible printed the whole value of the task that failed"


def complete(some, day):
    """Evidence of which nothing is missing, of a day."""
    return dataclasses.replace(some.bundle, collected_at=f"2026-11-{day}T06:00:00+00:00", named=CloudName("prod"))


@pytest.mark.matrix("playbooks")
def test_a_blocker_of_the_night_before_passes_and_a_new_one_does_not(run, tmp_path):
    one = healthy().drop("domains", {"uuid": guest(1, 1)})
    two = one.drop("domains", {"uuid": guest(1, 2)})
    nights = [
        evidence.save_part(str(tmp_path), f"night{day}.json", complete(some, day))
        for day, some in ((20, one), (21, one), (22, two))
    ]
    told = [run("--check", audit_evidence=nights[0], audit_fail_on="new_blocker").returncode]
    kept = tmp_path / "reports" / "previous-report.json"
    assert not kept.exists(), "check mode keeps no report"
    done = [run(audit_evidence=night, audit_fail_on="new_blocker") for night in nights]
    told += [one.returncode for one in done]
    # Nothing to compare with, twice; then known; then new.
    assert told == [2, 2, 0, 2], done[1].stdout + done[1].stderr
    assert "0 new blockers since the audit of 2026-11-20T06:00:00+00:00" in done[1].stdout
    changes = json.loads((tmp_path / "reports" / "changes.json").read_text())
    assert (changes["comparable"], changes["new_blockers"]) == (True, 1)
    assert [item["object"]["id"] for item in changes["new"]] == [guest(1, 2)]
    assert "badge new" in (tmp_path / "reports" / "report.html").read_text()
    assert 'stackguard_audit_new_blockers{cloud="prod"} 1' in (tmp_path / "reports" / "report.prom").read_text()
    before = (tmp_path / "reports" / "report.json").read_bytes()
    assert kept.read_bytes() == before
    assert kept.stat().st_mode & 0o777 == 0o600
    # Evidence of an earlier night is no later audit.
    assert run(audit_evidence=nights[1], audit_fail_on="never").returncode == 0
    assert kept.read_bytes() == before
    kept.write_text("[" * 100_000)
    damaged = run(audit_evidence=nights[2], audit_fail_on="new_blocker")
    assert damaged.returncode == 2
    assert "damaged" in damaged.stdout
    assert (tmp_path / "reports" / "report.json").read_bytes() == before == kept.read_bytes()
    kept.unlink()
    kept.mkdir()
    assert "damaged" in run("--check", audit_evidence=nights[2], audit_fail_on="new_blocker").stdout


def test_an_override_passes_a_blocker_and_only_that(run, tmp_path):
    some = healthy().drop("domains", {"uuid": guest(1, 1)})
    passed = [{"code": "SG109", "object": guest(1, 1), "reason": "known"}]
    done = run(audit_evidence=saved(tmp_path, some), stackguard_overrides=passed)
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(audit_evidence=saved(tmp_path, some), stackguard_overrides=passed, audit_fail_on="warning")
    assert done.returncode == 2


@pytest.mark.matrix("playbooks")
def test_slices_merge(run, tmp_path):
    whole = healthy()
    one = whole.unreachable("compute1")
    two = whole.unreachable("compute2").unreachable("compute3")
    paths = [saved(tmp_path, one, "one.jsonl"), saved(tmp_path, two, "two.jsonl")]
    assert run(audit_evidence=paths).returncode == 0
    assert run(audit_evidence=saved(tmp_path, whole), reports="whole").returncode == 0
    assert run(audit_evidence=paths[::-1], reports="reverse").returncode == 0
    assert kept(tmp_path / "reports") == kept(tmp_path / "whole") == kept(tmp_path / "reverse")


def test_a_directory_of_slices_is_all_of_them_and_never_beside_a_whole(tmp_path):
    whole = healthy()
    for name, part in (
        ("a", whole.unreachable("compute1")),
        ("b", whole.unreachable("compute2").unreachable("compute3")),
    ):
        saved(tmp_path / "slices", part, f"{name}/evidence.jsonl")
    assert evidence.load(str(tmp_path / "slices")) == evidence.merge([whole.bundle, whole.bundle])
    saved(tmp_path / "slices", whole.unreachable("compute1"), "evidence.jsonl")
    assert "compute1" in evidence.load(str(tmp_path / "slices")).unreachable
    (tmp_path / "empty").mkdir()
    with pytest.raises(FactsError, match="No such file"):
        evidence.load(str(tmp_path / "empty"))


@pytest.mark.parametrize("words", [("--limit", "compute1"), ("--limit", "compute1,localhost")])
def test_a_limit_is_refused(run, words):
    done = run(*words)
    assert done.returncode not in (0, 250)
    assert "without --limit" in done.stdout


@pytest.mark.matrix("playbooks")
def test_a_pattern_that_no_host_answers_to_is_refused(run):
    done = run(audit_hosts="nobody")
    assert done.returncode not in (0, 250)
    assert "audit_hosts (nobody) matches no host of the inventory" in done.stdout


def test_evidence_that_cannot_be_understood_is_refused_by_name(run, tmp_path):
    (tmp_path / "old.json").write_text(json.dumps({**to_plain(healthy().bundle), "schema": 1}))
    done = run(audit_evidence=str(tmp_path / "old.json"))
    assert done.returncode not in (0, 250)
    assert "old.json: the file is an evidence.json of version 0.2.0 or" in done.stdout
    assert not (tmp_path / "reports" / "evidence.jsonl").exists()
