# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""In a job of AWX nobody types a command: whatever a run says to do next names templates, in every text there is."""

from __future__ import annotations

import ast
import re

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.reports import closing
from ansible_collections.stackguard.nova.plugins.module_utils.reports.launched_job import (
    CHECK,
    SUFFIXES,
    TEMPLATES,
    LaunchedJob,
)
from ansible_collections.stackguard.nova.plugins.module_utils.reports.operation_run import OperationRun, context
from ansible_collections.stackguard.nova.plugins.module_utils.reports.typed_command import TypedCommand
from ansible_collections.stackguard.nova.tests.unit.awx import data
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

ALONE = LaunchedJob("Nova: resize", "resize_server")
CHECKED = LaunchedJob("Nova: resize, check", "resize_server", in_workflow=True)
NODE = LaunchedJob("Nova: resize", "resize_server", in_workflow=True)
#: Words of a command line.
TYPED = re.compile(
    r"(?<![\w-])-e\s+['\"{\w@]+=|--check|--diff|ansible-playbook|-i INVENTORY|(?<!instance)_action=|same\s+command"
    r"|\w_expect_plan"
)
SUM = "a" * 64


# --- every text of the collection

#: What an f-string has where a text names an option or an action.
VALUES = {
    "action": "resize_action",
    "variable('action')": "resize_action",
    "option('expect_plan')": "resize_expect_plan",
    "RESTORE": "restore",
    "RESUME": "resume",
    "ROLLBACK": "rollback",
    "APPLY": "apply",
    "ABORT": "abort",
    "run.back": "rollback",
    "self.variable": "resize_expect_plan",
    "_prefix(args)": "resize_",
    "name": "resize_server",
    "value": SUM,
}
#: Where commands are made, and where they are looked for.
MAKERS = {"launched_job.py", "typed_command.py", "commands.py", "operation_run.py", "screen.py"}
#: What is said of an option of the command line itself, which AWX does not use.
CUT = "Ansible cut a value of -e"


def filled(node):
    if isinstance(node, ast.Constant):
        return str(node.value)
    source = ast.unparse(node.value)
    return next((value for end, value in VALUES.items() if source == end or source.endswith(end)), "{" + source + "}")


def texts(path):
    """All texts of a module but the docstrings of its code, each f-string as one."""
    tree = ast.parse(path.read_text())
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    parts |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(map(filled, node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value


SOURCES = sorted(
    path
    for folder in ("action", "plugin_utils", "module_utils")
    for path in (ROOT / "plugins" / folder).rglob("*.py")
    if path.name not in MAKERS
)


def left(job, text):
    """Return the words of a command line that a job would show of a text."""
    told = job.told(text)
    assert job.told(told) == told, "what was told is told again on its way"
    # An option with a plan, which a message names, is no order to type it.
    return TYPED.findall(told)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_of_the_collection_offers_a_command_line_in_a_job(path):
    found = {text: left(job, text) for text in texts(path) for job in (ALONE, CHECKED, NODE)}
    assert not {text: words for text, words in found.items() if words and CUT not in text}


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "codes").glob("SG*.md")), ids=lambda path: path.stem)
def test_no_page_of_a_code_offers_one(path):
    assert left(LaunchedJob("Nova: explain", "explain"), path.read_text()) == []


# --- what takes their place


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Run the same command again.", ["Nova: resize again"]),
        ("Run the same command again to resume the operation.", ["Nova: resize again"]),
        (
            "resume the operation with resize_action=resume, or undo it with resize_action=rollback",
            ["Nova: resize,", "Nova: resize, roll back"],
        ),
        ("run the same command with -e resize_action=rollback", ["Nova: resize, roll back"]),
        ("Run rename_host with rename_action=status for this host", ["Nova: rename, status"]),
        ("then run return_host again", ["Nova: return again"]),
        (
            "run: ansible-playbook stackguard.nova.return_host -i INVENTORY --check -e return_host=h1",
            ["Nova: return, check"],
        ),
        ("-e evacuate_host=h1 -e evacuate_action=abort", ["evacuate_host=h1", "Nova: evacuate, abort"]),
        ("restore the old pins with pin_action=restore", ["Nova: pin, restore"]),
        ("Run with --check again, and approve it", ["Nova: resize, check again"]),
        ("Without --check, the run would resize web1", ["Nova: resize would"]),
        ("If the run there has ended, set stackguard_take_over=true", ["your own with stackguard_take_over=true"]),
        ("use rename_action=adopt (SG131)", ["your own (rename_action: adopt)"]),
        ("run the same command with -e rename_drain_return=false", ["your own with rename_drain_return=false"]),
    ],
)
def test_a_template_takes_the_place_of_a_command(text, names):
    told = ALONE.told(text)
    assert all(name in told for name in names), told
    assert told[0].isupper() == text[0].isupper() or not text[0].isalpha()


@pytest.mark.parametrize(
    "text",
    [
        "running_deleted_instance_action=log",
        "To see its output, run the command yourself on compute1",
        "Run virsh destroy instance-1",
        "openstack server set --state active web1",
        "the role rename_host, the playbook drain_host and return_host.yml",
        "qemu -e 1",
    ],
)
def test_other_words_stay(text):
    assert ALONE.told(text) == text


@pytest.mark.parametrize(
    ("job", "workflow", "template"), [(ALONE, False, True), (CHECKED, True, False), (NODE, True, True)]
)
def test_in_a_workflow_it_is_the_workflow_unless_something_has_begun(job, workflow, template):
    told = job.told("Fix the cause, then run the same command again.")
    assert (("the workflow" in told), ("Nova: resize" in told)) == (workflow, template)
    resumed = job.told("Run the same command again to resume the operation.")
    assert "Nova: resize again" in resumed
    assert "the workflow" not in resumed, "an open operation is resumed by its template, which expects no plan"


@pytest.mark.parametrize("job", [CHECKED, NODE])
def test_another_plan_is_approved_in_the_workflow(job):
    told = job.told(f"resize_expect_plan is {SUM}, but this is another. Run with --check again, and approve it")
    assert "the workflow again" in told
    assert SUM in told


def test_the_names_are_those_of_the_templates_that_are_configured():
    for playbook, (base, actions) in TEMPLATES.items():
        mine = {
            item["name"]: item for item in data.TEMPLATES.values() if item["playbook"] == f"playbooks/{playbook}.yml"
        }
        assert base in mine
        for action in actions:
            template = mine.pop(f"{base}{SUFFIXES[action]}")
            if action == CHECK:
                assert template["job_type"] == "check"
            else:
                assert action in template["extra_vars"].values()
        # Those of the sliced audit are no actions.
        assert set(mine) == {base} or playbook == "audit"


@pytest.mark.parametrize("name", [f"My own{end}" for end in ("", *SUFFIXES.values())])
def test_a_template_of_another_name_is_the_base_of_its_own(name):
    job = LaunchedJob(name, "resize_server")
    assert job.name("resize_server", "rollback") == "My own, roll back"
    assert job.name("return_host", check=True) == "Nova: return, check"


# --- pages and last lines

COMMAND = TypedCommand("playbooks/resize_server.yml", launched=True, job=ALONE)


@pytest.mark.parametrize(
    ("state", "name"),
    [
        ("open", "Nova: resize again"),
        ("planned", "Nova: resize"),
        ("refused", "Nova: resize, check"),
        ("unknown", "status"),
    ],
)
def test_the_last_lines_and_the_page_name_templates(state, name):
    published = {"operation": "resize_server", "state": state, "verdict": None, "plan_sha256": SUM}
    lines = closing.lines(published, None, COMMAND, state == "refused")
    assert any(name in line for line in lines), lines
    result = {"state": state, "plan_sha256": SUM, "msg": "Run the same command again."}
    journal = {
        "operation_id": "op1",
        "state": "open",
        "subject": "web1",
        "about": {},
        "memory": {},
        "plan": {"steps": []},
    }
    shown = OperationRun(
        "resize_server",
        "resize_",
        {"resize_server": "web1"},
        result,
        None,
        journal if state == "open" else None,
        "",
        typed=COMMAND,
    )
    page = context(shown)
    said = [page.message, page.meaning, *(part for row in page.next for part in (row.words, row.command))]
    assert any(name in text for text in said), said
    assert not [text for text in [*said, *lines] if TYPED.search(text)]


def test_a_command_of_a_remedy_is_a_template():
    text = "ansible-playbook stackguard.nova.return_host -i INVENTORY --check -e return_host=h1"
    assert "Nova: return, check" in COMMAND.of_remedy(text)
    assert COMMAND.other("audit") == "launch Nova: audit"
