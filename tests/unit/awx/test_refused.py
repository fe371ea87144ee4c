# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A job that is refused for what was typed: the workflow is told why, and no report of an earlier run is left.

Nothing is reached: neither cloud nor database is given, and nobody looks for them.
"""

from __future__ import annotations

import json
import sys

import pytest

from ansible_collections.stackguard.nova.tests.unit.awx.data import TEMPLATES
from ansible_collections.stackguard.nova.tests.unit.awx.jobs import Controller

HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
HOSTS = {"compute1": HERE, "compute2": HERE}
RENAME = {"rename_from": "compute1", "rename_to": "renamed1"}
NEITHER = {"rename_from": None, "rename_to": None}
RESIZE = {"resize_server": "web1", "resize_flavor": "large"}
NO_SERVER = {"server": None, "zone": None, "strategy": None, "why": None}
EVACUATE = {"evacuate_host": "compute1", "evacuate_fence": "attested"}
AUDIT = {"codes": [], "report": []}
UNKNOWN = '[{"code": "SG999", "object": "x", "reason": "y"}]'
NO_CODE = "'SG999' is not a finding code"
SOON = "cannot be converted to an int"
#: Template, answers to the survey, extra variables of the template (AWX takes no others), words of the message, what
#: else the workflow is told.
CASES = {
    "rename, no name": (
        "Nova: rename",
        {"rename_from": "{{ 7 * 6 }}", "rename_to": "x\ny"},
        {},
        'rename_from is "{{ 7 * 6 }}", which has " " "*" "{" "}" in it',
        NEITHER,
    ),
    "rename, missing": ("Nova: rename", {"rename_from": "compute1", "rename_to": ""}, {}, "-e rename_to=NEW", {
        "rename_from": "compute1", "rename_to": None,
    }),
    "rename, not in the inventory": (
        "Nova: rename, status",
        {"rename_from": "nobody", "rename_to": "renamed1"},
        {},
        "0 inventory hosts answer to nobody or renamed1",
        {"rename_from": "nobody", "rename_to": "renamed1"},
    ),
    "rename, no number": ("Nova: rename, check", RENAME, {"rename_stop_timeout": "soon"}, SOON, RENAME),
    "rename, override": (
        "Nova: rename",
        RENAME,
        {"stackguard_overrides": [{"code": "SG110"}]},
        "missing required arguments: object, reason found in stackguard_overrides",
        RENAME,
    ),
    "rename, override typed badly": (
        "Nova: rename",
        {**RENAME, "stackguard_awx_overrides": "SG110 guest1: a domain of the backup team\nSG110 guest2"},
        {},
        "overrides, line 2: CODE OBJECT: REASON was expected",
        RENAME,
    ),
    "rename, override that cannot be": (
        "Nova: rename",
        {**RENAME, "stackguard_awx_overrides": "SG113 guest1: hurry"},
        {},
        "SG113 (restart-would-destroy) is absolute: it cannot be overridden",
        RENAME,
    ),
    "evacuate, no name": (
        "Nova: evacuate, check", {**EVACUATE, "evacuate_host": "../x"}, {}, "evacuate_host is", {"evacuate_host": None},
    ),
    "evacuate, no fence": (
        "Nova: evacuate",
        {**EVACUATE, "evacuate_fence": "command"},
        {},
        "evacuate_fence=command needs evacuate_fence_command and evacuate_fence_confirm_command too",
        {"evacuate_host": "compute1"},
    ),
    "evacuate, no number": (
        "Nova: evacuate", EVACUATE, {"evacuate_server_timeout": "soon"}, SOON, {"evacuate_host": "compute1"},
    ),
    "evacuate, override": (
        "Nova: evacuate",
        {**EVACUATE, "stackguard_awx_overrides": UNKNOWN},
        {},
        NO_CODE,
        {"evacuate_host": "compute1"},
    ),
    "return, no name": ("Nova: return", {"return_host": "a b"}, {}, "return_host is", {"return_host": None}),
    "return, not in the inventory": (
        "Nova: return", {"return_host": "nobody"}, {}, "no host answers to nobody", {"return_host": "nobody"},
    ),
    "return, no dictionary": (
        "Nova: return",
        {"return_host": "compute1"},
        {"nova_cell_db_urls": "cell1"},
        "nova_cell_db_urls",
        {"return_host": "compute1"},
    ),
    "return, override": (
        "Nova: return",
        {"return_host": "compute1", "stackguard_awx_overrides": UNKNOWN},
        {},
        NO_CODE,
        {"return_host": "compute1"},
    ),
    "drain, no name": ("Nova: drain", {"drain_host": "-h"}, {}, "drain_host is", {"drain_host": None}),
    "drain, no boolean": (
        "Nova: drain", {"drain_host": "compute1"}, {"drain_enable_after": "soon"}, "'soon' is not a valid boolean", {
            "drain_host": "compute1",
    }),
    "drain, nobody to read": (
        "Nova: drain",
        {"drain_host": "compute1"},
        {"migrate_peers": "nobody"},
        "drain_peers (nobody) is no host of the inventory",
        {"drain_host": "compute1"},
    ),
    "drain, override": (
        "Nova: drain",
        {"drain_host": "compute1", "stackguard_awx_overrides": UNKNOWN},
        {},
        NO_CODE,
        {"drain_host": "compute1"},
    ),
    "migrate, nothing": (
        "Nova: migrate", {"migrate_servers": ""}, {}, "migrate_server needs -e migrate_servers", {"drain_host": None},
    ),
    "migrate, no number": (
        "Nova: migrate",
        {"migrate_servers": "[?name=='web1']"},
        {"migrate_server_timeout": "soon"},
        SOON,
        {"drain_host": None},
    ),
    "migrate, override": (
        "Nova: migrate",
        {"migrate_servers": "[?name=='web1']", "stackguard_awx_overrides": UNKNOWN},
        {},
        NO_CODE,
        {"drain_host": None},
    ),
    "repair, no name": ("Nova: repair links", {"repair_hosts": "a/b"}, {}, "repair_hosts is", {}),
    "repair, no action": (
        "Nova: repair links",
        {},
        {"repair_action": "undo"},
        "value of repair_action must be one of: apply, resume, status, rollback, got: undo",
        {},
    ),
    "repair, override": ("Nova: repair links", {"stackguard_awx_overrides": UNKNOWN}, {}, NO_CODE, {}),
    "resize, no name": ("Nova: resize", {**RESIZE, "resize_server": " web1"}, {}, "resize_server is", NO_SERVER),
    "resize, no number": ("Nova: resize", RESIZE, {"resize_timeout": "soon"}, SOON, NO_SERVER),
    "resize, override": (
        "Nova: resize", {**RESIZE, "stackguard_awx_overrides": UNKNOWN}, {}, NO_CODE, NO_SERVER,
    ),
    "audit, override": ("Nova: audit", {"stackguard_awx_overrides": UNKNOWN}, {}, NO_CODE, AUDIT),
    "audit, nobody to read": (
        "Nova: audit", {"audit_hosts": "nobody"}, {}, "audit_hosts (nobody) is no host of the inventory", AUDIT,
    ),
    "audit, no number": ("Nova: audit", {}, {"audit_links_listed": "soon"}, SOON, AUDIT),
}  # fmt: skip
#: One template of each playbook, with what it needs.
LIMITED = {
    "Nova: audit": {},
    "Nova: rename": RENAME,
    "Nova: evacuate": EVACUATE,
    "Nova: return": {"return_host": "compute1"},
    "Nova: drain": {"drain_host": "compute1"},
    "Nova: migrate": {"migrate_servers": "[?name=='web1']"},
    "Nova: repair links": {},
    "Nova: resize": RESIZE,
}
#: What an earlier run may have left beside report.json, and what this one was decided by nothing of.
STALE = {
    "audit": {"report.html", "report.prom", "forecast.json"},
    "rename_host": {"evidence.json"},
    "evacuate_host": {"placements.json"},
    "drain_host": {"placements.json"},
    "migrate_server": {"placements.json"},
    "repair_links": {"repairs.json"},
}
OPERATIONS = {item["playbook"].removesuffix(".yml") for item in TEMPLATES.values()}


def operation_of(template):
    return TEMPLATES[template]["playbook"].removesuffix(".yml")


@pytest.fixture
def controller(tmp_path, short_tmp):
    return Controller(tmp_path, short_tmp)


@pytest.fixture
def reports(tmp_path):
    """The directory of the first job's reports, in which an earlier run has left everything that one can leave."""
    directory = tmp_path / "awx" / "jobs" / "1"
    directory.mkdir(parents=True)
    for name in {"report.json", "kept.txt"}.union(*STALE.values()):
        (directory / name).write_text('{"verdict": "pass"}')
    return directory


def assert_told(job, reports, template, words):
    """The job failed, with the reason in its output, its artifacts and its report; returns what the artifacts say."""
    operation = operation_of(template)
    assert job.status == "failed", job.stdout
    told = job.told
    assert words in " ".join(told["message"].split()), told
    last = job.stdout.rpartition("TASK [stackguard.nova.refuse : Stop, nothing was changed]")[2]
    assert words.split()[0] in last, job.stdout
    assert (told["operation"], told["state"], told["verdict"]) == (operation, "refused", "block")
    assert (told["changed"], told["counts"], told["operation_id"]) == (False, {}, None)
    report = json.loads((reports / "report.json").read_text())
    assert (report["schema"], report["verdict"], report["findings"]) == (1, "block", [])
    (entry,) = report["unchecked"]
    assert (entry["code"], entry["reason"]) == ("SG709", "nothing was decided: " + told["message"])
    assert report["counts"]["unchecked"] == 1
    assert {path.name for path in reports.iterdir()} & STALE.get(operation, set()) == set()
    assert (reports / "kept.txt").exists()
    return told, entry


def test_every_playbook_is_refused():
    assert {operation_of(template) for template, *_ in CASES.values()} == OPERATIONS
    assert {operation_of(template) for template in LIMITED} == OPERATIONS


@pytest.mark.parametrize("case", CASES)
def test_the_workflow_is_told_what_was_wrong_with_what_was_typed(tmp_path, short_tmp, controller, reports, case):
    template, answers, extra, words, more = CASES[case]
    job = controller.launch(template, HOSTS, answers, artifacts=extra)
    told, entry = assert_told(job, reports, template, words)
    if operation_of(template) == "audit":
        more = {**more, "report_dir": str(reports)}
    common = {"operation", "operation_id", "state", "changed", "verdict", "counts", "message"}
    assert {key: value for key, value in told.items() if key not in common} == more
    names = [value for key, value in more.items() if key.endswith(("_host", "_from"))]
    assert entry["object"] == (next(iter(names), None) or operation_of(template))
    assert list(short_tmp.glob("stackguard-*")) == [], "evidence was left behind"
    assert not (tmp_path / "state").exists()
    assert not (tmp_path / "host-state").exists()


#: Without the controller, plays are left out; with it, hosts.
@pytest.mark.parametrize(
    ("template", "limit"), [*((name, "compute1") for name in LIMITED), ("Nova: drain", "localhost,compute1")]
)
def test_a_limit_is_refused_and_told(controller, reports, template, limit):
    job = controller.launch(template, HOSTS, LIMITED[template], limit=limit)
    assert_told(job, reports, template, "without --limit")


def test_a_report_directory_that_cannot_be_one_does_not_swallow_the_reason(tmp_path, controller):
    (tmp_path / "file").write_text("")
    there = {"stackguard_report_dir": str(tmp_path / "file" / "below")}
    job = controller.launch("Nova: drain", HOSTS, {"drain_host": "-h"}, artifacts=there)
    assert job.status == "failed"
    assert "drain_host is" in job.told["message"]
    assert "drain_host is" in job.stdout.rpartition("TASK [")[2], job.stdout
