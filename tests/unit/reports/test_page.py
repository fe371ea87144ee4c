# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page by its input alone: a report.json, a plan.json and a context, with nothing of the run that left them."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit
from ansible_collections.stackguard.nova.plugins.module_utils.model import approval, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import CONTROLLER, Change, Plan, Step
from ansible_collections.stackguard.nova.plugins.module_utils.reports.page import Context, Next, gaps
from ansible_collections.stackguard.nova.plugins.module_utils.reports.typed_command import TypedCommand
from ansible_collections.stackguard.nova.plugins.plugin_utils import pages
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT
from ansible_collections.stackguard.nova.tests.unit.pictured import HOSTILE_NAME, report
from ansible_collections.stackguard.nova.tests.unit.reports.test_operation_run import Words
from ansible_collections.stackguard.nova.tests.unit.troubled import HOSTILE, troubled

PACKAGE = "ansible_collections.stackguard.nova.plugins."
UTILS = ROOT / "plugins" / "module_utils"


def planned(name="compute1"):
    """A plan.json as check mode leaves it."""
    steps = [Step("rows", f"change the rows of {name}", CONTROLLER, "rows", {}, [Change("row 1", "host", name, "cn1")])]
    plan = Plan("rename", "abc", f"{name} -> cn1", steps, [f"note of {name}"])
    return json.loads(json.dumps(approval.document(approval.of_plan(plan, {}), plan)))


#: A page judges nothing. An operation judges, and forecasts nothing, but by what the return of a host needs.
FOR_A_PAGE, FOR_AN_OPERATION = (".hazards.", ".capacity.", "utils.audit."), ("utils.audit.", ".hazards.forecast.")


@pytest.mark.parametrize(
    ("loaded", "none"),
    [
        ("module_utils.reports.page", FOR_A_PAGE),
        ("module_utils.reports.operation_run", FOR_A_PAGE),
        ("plugin_utils.pages", FOR_A_PAGE),
        ("action.compute_host_return", FOR_AN_OPERATION[:1]),
        *(
            (f"action.{name}", FOR_AN_OPERATION)
            for name in ("compute_host_rename", "server_migrate", "server_evacuate", "server_resize")
        ),
    ],
)
def test_an_operation_loads_nothing_of_the_audit(loaded, none):
    script = f"import sys, {PACKAGE}{loaded}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(BUILD / "dev")},
        capture_output=True,
        text=True,
        check=True,
    )
    ours = [name for name in done.stdout.split() if name.startswith(PACKAGE)]
    assert f"{PACKAGE}{loaded}" in ours
    assert [name for name in ours if any(part in f"{name}." for part in none)] == []


def test_the_audit_loads_what_an_operation_must_not():
    """The names that are looked for are names of today."""
    found = [f"utils.{'.'.join(path.relative_to(UTILS).with_suffix('').parts)}." for path in UTILS.rglob("*.py")]
    for part in {*FOR_A_PAGE, *FOR_AN_OPERATION}:
        assert any(part in name for name in found), part


def test_a_saved_report_and_a_saved_plan_are_enough():
    found = json.loads(json.dumps(report("SG113", "systemctl mask nova-compute keeps it.")))
    page = Words(pages.html(found, planned()["plan"], Context("Rename", "compute1 -> cn1")))
    assert ("section", {"class": "verdict block", "id": "verdict"}) in page.tags
    assert "SG113 restart-would-destroy" in page.text
    assert "What SG113 means" in page.text
    assert "1 planned." in page.text
    assert "change the rows of compute1" in page.text
    assert "neutron was not read" in page.text
    assert "systemctl mask nova-compute" in page.text


def test_the_saved_report_of_an_audit_gives_the_page_of_the_audit():
    found = audit.audited(troubled().bundle)
    # Not sorted: evidence is shown in the order in which a check names it.
    again = json.loads(json.dumps(found.report))
    assert pages.html(again, None, audit.context(found)) == pages.html(found.report, None, audit.context(found))


def test_nothing_is_a_page_too():
    page = Words(pages.html(None, None, Context("Nothing", next=())))
    assert "This run judged nothing." in page.text
    assert "Nothing." in page.text
    assert ("section", {"class": "verdict warn", "id": "verdict"}) in page.tags
    assert not [attrs for tag, attrs in page.tags if tag == "section" and attrs.get("id") in ("plan", "servers", "do")]


def test_what_was_not_decided_is_never_a_pass_without_a_word():
    unchecked = (findings.Unchecked("SG305", "all", "neutron was not read"),)
    told = findings.report(findings.Checked((), unchecked), "2026-11-21T06:00:00Z", 1, 1)
    page = Words(pages.html(told, None, Context("Rename")))
    assert ("section", {"class": "verdict warn", "id": "verdict"}) in page.tags
    assert "Everything was decided." not in page.text
    assert "1 check: neutron was not read. SG305" in page.text
    assert "Everything was decided." in Words(pages.html({**told, "unchecked": []}, None, Context("Rename"))).text


def test_gaps_of_one_reason_are_one():
    items = [{"code": code, "object": name, "reason": "x"} for code in ("SG2", "SG1") for name in ("b10", "b9")]
    (one, other) = gaps([*items, {"code": "SG3", "object": "all", "reason": ""}])
    assert (one["codes"], one["objects"], one["whole"]) == (["SG1", "SG2"], ["b9", "b10"], False)
    assert (other["reason"], other["whole"]) == ("no reason was noted", True)
    (many,) = gaps({"code": "SG1", "object": str(number), "reason": "x"} for number in range(300))
    assert (len(many["objects"]), many["more"]) == (50, 250)


@pytest.mark.parametrize("name", [*HOSTILE, HOSTILE_NAME])
def test_no_field_is_markup_or_steers_the_text_around_it(name):
    """Whatever field a name is in: of the report, of the plan, of the run and of the audit before."""
    told = report("SG401", name, name)
    told["unchecked"] = [{"code": "SG305", "object": name, "reason": name}]
    told["overrides"] = [{"code": "SG401", "object": name, "reason": name}]
    gone = {"code": "SG109", "slug": name, "severity": "blocker", "object": {"kind": "host", "id": name, "host": name}}
    changes = {
        "since": name,
        "comparable": False,
        "because": [name],
        "new": [],
        "gone": [],
        "not_seen": [gone],
        "known": 1,
    }
    server = {"uuid": name, "name": name, "from": name, "to": name, "state": name, "why": name, "guarded": True}
    plan = planned(name)["plan"]
    plan["steps"][0].update(state=name, at=name, took=name, text=name)
    context = Context(
        *(name, name, name, name, name),
        docs={"SG401": f"# x\n\n{name}"},
        word=name,
        headline=name,
        plan_sha256=name,
        typed=TypedCommand(name, (name,), {name: name}, (name,)),
        meaning=name,
        message=name,
        facts=[(name, name)],
        next=[Next(name, name)],
        servers=[server] * 60,
        proofs=[(name, name, name)],
        events=[(name, name)],
        changes=changes,
    )
    assert {field.name for field in dataclasses.fields(context)} - {"look", "overrides"} == {
        key for key in vars(context) if vars(context)[key] not in ((), "", None)
    }
    text = pages.html(told, plan, context)
    page = Words(text)
    assert [tag for tag, _attrs in page.tags if tag in ("img", "iframe", "object", "embed", "base", "form", "i")] == []
    assert [tag for tag, _attrs in page.tags].count("script") == 1
    assert not any(key.startswith("on") or key == "style" for _tag, attrs in page.tags for key in attrs)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "1337" not in text


def test_commands_of_remedies_are_those_of_this_cloud():
    remedy = "Run ansible-playbook stackguard.nova.return_host -i INVENTORY --check -e return_host=x."
    context = Context("Rename", typed=TypedCommand("rename_host.yml", ("-i", "my.yml", "-e", "@cloud.yml")))
    text = Words(pages.html(report("SG401", remedy), None, context)).text
    assert "ansible-playbook stackguard.nova.return_host -i my.yml -e @cloud.yml --check -e return_host=x." in text
    assert "INVENTORY" not in text


def test_what_is_not_there_is_not_counted():
    text = Words(pages.html(report(), None, Context("Rename"))).text
    assert "1 warning" in text
    assert not [word for word in ("0 blockers", "0 for information", "0 overridden") if word in text]
