# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The last lines of a run: the verdict is never better than the run, and commands are whole and without secrets."""

from __future__ import annotations

import shlex

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import (
    BLOCKER,
    Checked,
    Override,
    Subject,
    finding,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import report as report_of
from ansible_collections.stackguard.nova.plugins.module_utils.reports import closing, damage, terminal
from ansible_collections.stackguard.nova.plugins.module_utils.reports.typed_command import TypedCommand

COMMAND = TypedCommand(
    "evacuate_host.yml",
    ("-i", "my hosts", "-e", "@cloud.yml"),
    {"evacuate_host": "compute1", "evacuate_partial": True, "stackguard_state_host": "keeper"},
    files={"evacuate_host": "evacuate_host.yml", "return_host": "return_host.yml"},
)
TYPED = "ansible-playbook evacuate_host.yml -i 'my hosts' -e @cloud.yml"
BACK = "ansible-playbook return_host.yml -i 'my hosts' -e @cloud.yml"
GIVEN = "-e evacuate_host=compute1 -e stackguard_state_host=keeper"
REST = "-e '{\"evacuate_partial\": true}'"


def of(code, name="x", host="compute1", **more):
    return finding(code, Subject("host", name, None, host), {"a": [1, None]}, f"Remedy of {code}.", **more)


def judged(*items, overrides=()):
    return report_of(Checked(items), "2026-11-21T06:00:00Z", 1, 1, overrides)


def published(state="finished", verdict="pass", **more):
    return {"operation": "evacuate_host", "evacuate_host": "compute1", "state": state, "verdict": verdict, **more}


def starts(lines):
    return [line.split(":")[0] for line in lines if not line.startswith(" ")]


@pytest.mark.parametrize(("state", "word"), [("none", "NOTHING TO DO"), (None, "BLOCK"), ("refused", "BLOCK")])
def test_an_audit_of_nobody_is_not_called_a_verdict(state, word):
    told = {"operation": "audit", "verdict": None if state == "none" else "block", "counts": {}, "state": state}
    assert closing.lines(told, None, None, False)[0].partition(":")[0] == word


def test_what_is_lost_now_comes_before_what_the_next_start_loses_and_blockers_before_warnings():
    report = judged(*(of(code) for code in ("SG204", "SG606", "SG113", "SG109", "SG507", "SG401", "SG310", "SG114")))
    found = [fact.code for fact in damage.facts(report)]
    assert found == ["SG507", "SG109", "SG113", "SG204", "SG114", "SG310", "SG606", "SG401"]
    assert [damage.time_of(code) for code in ("SG507", "SG113", "SG114", "SG310")] == list(damage.TIMES)


def test_what_an_override_passes_and_what_is_for_information_is_no_worst_fact():
    passed = Override("SG109", "x", "known")
    assert damage.facts(judged(of("SG109"), of("SG607"), overrides=[passed])) == []
    assert [fact.code for fact in damage.facts(judged(of("SG109")), [passed])] == []


def test_a_fact_names_some_objects_and_counts_the_others():
    (fact,) = damage.facts(judged(*(of("SG109", f"x{number}", f"compute{number}") for number in range(1, 12))))
    assert "x1, x2, x3 and 8 more objects on compute1, compute2, compute3 and 8 more hosts" in fact.words


@pytest.mark.parametrize("failed", [True, False])
def test_a_run_that_failed_is_never_called_done(failed):
    (first, *_rest) = closing.lines(published(), None, COMMAND, failed)
    assert first.startswith("FAILED" if failed else "DONE")
    (first, *_rest) = closing.lines({"operation": "audit", "verdict": "pass"}, None, None, failed)
    assert first.startswith("FAILED" if failed else "PASS")


@pytest.mark.parametrize("verdict", ["pass", "warn"])
@pytest.mark.parametrize(("unchecked", "passes"), [(0, True), (1, False)])
def test_what_was_not_decided_is_no_pass(verdict, unchecked, passes):
    run = {"operation": "audit", "verdict": verdict, "counts": {"unchecked": unchecked}}
    (first, *_rest) = closing.lines(run, None, None, False)
    assert first.startswith("PASS") == passes
    assert first.startswith(closing.UNDECIDED) != passes


def test_a_verdict_that_is_not_known_blocks():
    (first,) = closing.lines({"operation": "audit", "verdict": None}, None, None, False)
    assert first.startswith("BLOCK")
    (first, *_rest) = closing.lines(published("what"), None, None, True)
    assert first.startswith("FAILED")
    (first, *_rest) = closing.lines(published("finished", "block"), None, None, False)
    assert not first.startswith("DONE")


def test_a_refusal_says_the_worst_its_remedy_the_command_and_the_report():
    report = judged(of("SG506"), of("SG514"))
    counts = {"blocker": 2, "warning": 0, "unchecked": 0}
    found = closing.lines(published("refused", "block", counts=counts), report, COMMAND, True, (), "/r/report.html")
    assert starts(found) == ["REFUSED", "Worst", "Next", "Report"]
    assert "2 blockers" in found[0]
    assert "SG506" in found[1] and "Remedy of SG506." in found[2]
    assert "0 " not in found[0]
    assert found[-2].strip() == f"{TYPED} --check {GIVEN} {REST}"


@pytest.mark.parametrize(
    ("state", "command"),
    [
        ("planned", f"{TYPED} {GIVEN} -e evacuate_expect_plan=55 {REST}"),
        ("open", f"{TYPED} {GIVEN} {REST}"),
        ("unknown", f"{TYPED} {GIVEN} -e evacuate_action=status {REST}"),
        ("evacuated", f"{BACK} --check -e stackguard_state_host=keeper -e return_host=compute1"),
    ],
)
def test_the_command_that_comes_next_is_whole(state, command):
    found = closing.lines(published(state, plan_sha256="55"), None, COMMAND, False)
    assert [line[8:] for line in found if line.startswith("Next:")] == [command]


def test_a_command_says_what_it_lacks_and_where_nobody_types_there_is_none():
    hidden = TypedCommand("stackguard.nova.evacuate_host", hidden=("evacuate_fence_command",))
    found = closing.lines(published("open", "block"), None, hidden, True)
    assert "evacuate_fence_command" in found[-1]
    launched = TypedCommand("evacuate_host.yml", launched=True)
    assert starts(closing.lines(published("open", "block"), None, launched, True)) == ["OPEN"]


def test_the_doctor_says_what_failed_first_and_how_to_fix_it():
    results = [{"state": state, "part": state, "subject": "cloud", "seen": "x", "fix": f"fix {state}"} for state in
               ("ok", "failed", "not checked")]  # fmt: skip
    told = {"operation": "doctor", "verdict": "block", "counts": {"ok": 1, "failed": 1, "not_checked": 1}}
    found = closing.lines(told, {"results": results}, COMMAND, True)
    assert starts(found) == ["BLOCK", "Worst", "Next"]
    assert found[-1].endswith("fix failed")


def test_a_message_that_was_shown_is_not_shown_again():
    told = published("failed", "block", message="no cloud\nmore")
    assert "Why" in starts(closing.lines(told, None, None, True))
    assert "Why" not in starts(closing.lines(told, None, None, True, {"no cloud"}))


def test_a_remedy_has_the_inventory_and_the_files_of_this_run():
    text = "Pin it: ansible-playbook stackguard.nova.return_host -i INVENTORY -e return_host=x, then start it."
    assert COMMAND.of_remedy(text) == (
        "Pin it: ansible-playbook return_host.yml -i 'my hosts' -e @cloud.yml -e stackguard_state_host=keeper "
        "-e return_host=x, then start it."
    )


def test_a_command_for_one_host_has_this_inventory_too():
    text = "make it reachable: ansible compute1 -i INVENTORY -m ping"
    assert COMMAND.of_remedy(text) == f"make it reachable: ansible compute1 {shlex.join(COMMAND.words)} -m ping"


def test_findings_of_one_remedy_are_one_paragraph_in_words():
    many = [of("SG506", f"x{number}") for number in range(40)]
    text = terminal.findings_text(Checked((*many, of("SG514", severity=BLOCKER))))
    assert text.count("Remedy of SG506.") == text.count("Remedy of SG514.") == 1
    assert "40 hosts" in text and "and 35 more" in text
    assert "a: 1, none" in text and "{" not in text
