# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A slice of an audit without a compute host: green where that is asked for, and never taken for hosts read."""

from __future__ import annotations

import json
import sys

import pytest

from ansible_collections.stackguard.nova.tests.unit.awx.jobs import Controller

pytestmark = pytest.mark.ansible

HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
HOSTS = {"compute1": HERE, "compute2": HERE}


def left(reports):
    return {path.name for path in reports.iterdir()} if reports.exists() else set()


def test_a_slice_without_a_compute_host_has_nothing_to_do(tmp_path, short_tmp):
    controller = Controller(tmp_path, short_tmp, audit_accept_empty=True, stackguard_ceph_host=["compute1"])
    cloud = controller.launch("Nova: audit, the cloud", HOSTS, workflow=7)
    parts = tmp_path / "awx" / "audits" / "7" / "parts"
    # What an earlier job of this number has left would be taken for what this one has read.
    reports = parts / "hosts-2"
    reports.mkdir(parents=True)
    for name in ("report.json", "evidence.jsonl", "kept.txt"):
        (reports / name).write_text("{}")
    empty = controller.launch("Nova: audit, the hosts", {}, workflow=8, artifacts=cloud.artifacts)
    assert empty.status == "successful", empty.stdout
    told = empty.told
    assert (told["operation"], told["state"], told["verdict"], told["counts"]) == ("audit", "none", None, {})
    assert (told["codes"], told["report"], told["report_dir"]) == ([], [], str(reports))
    assert left(reports) == {"kept.txt"}
    assert not (tmp_path / "state").exists()
    assert list(short_tmp.glob("stackguard-*")) == []
    one = controller.launch("Nova: audit, the hosts", {"compute1": HERE}, workflow=8, artifacts=cloud.artifacts)
    assert (one.status, "state" in one.told) == ("successful", False), one.stdout
    # The last slice to end may be the empty one, and another one, with compute2, has left nothing.
    last = controller.launch("Nova: audit, put together", HOSTS, workflow=7, artifacts=empty.artifacts)
    assert last.status == "failed", last.stdout
    report = json.loads((parts.parent / "report.json").read_text())
    assert (report["verdict"], report["hosts"]) == ("block", 2)
    silent = {item["object"]["id"] for item in report["findings"] if item["code"] == "SG114"}
    assert "compute2" in silent


def test_without_the_option_it_is_refused(tmp_path, short_tmp):
    controller = Controller(tmp_path, short_tmp)
    given = {"stackguard": {"report_dir": str(tmp_path / "awx" / "parts" / "cloud")}, "audit_accept_empty": False}
    job = controller.launch("Nova: audit, the hosts", {}, workflow=8, artifacts=given)
    assert (job.status, job.told["state"], job.told["verdict"]) == ("failed", "refused", "block"), job.stdout


def test_nobody_in_any_slice_is_refused_where_they_are_put_together(tmp_path, short_tmp):
    """A misspelt pattern is the same in all of them, and no host would be missed."""
    controller = Controller(tmp_path, short_tmp, audit_accept_empty=True, audit_hosts="nobody")
    cloud = controller.launch("Nova: audit, the cloud", HOSTS, workflow=7)
    empty = controller.launch("Nova: audit, the hosts", HOSTS, workflow=8, artifacts=cloud.artifacts)
    assert (empty.status, empty.told["state"]) == ("successful", "none"), empty.stdout
    last = controller.launch("Nova: audit, put together", HOSTS, workflow=7, artifacts=empty.artifacts)
    assert (last.status, last.told["state"], last.told["verdict"]) == ("failed", "refused", "block"), last.stdout
