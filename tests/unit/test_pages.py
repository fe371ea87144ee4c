# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A guide can be used at once: its command is near, its risk is marked, what it quotes exists, tables render.

What it cannot see is whether a page is good: people with a task and a clock see that.
"""

from __future__ import annotations

import ast
import functools
import itertools
import pathlib
import re
import shlex

import pytest
import yaml

from ansible_collections.stackguard.nova.plugins.plugin_utils import run_input
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT
from ansible_collections.stackguard.nova.tests.unit.test_commands_in_pages import PAGES, commands

GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
#: Playbooks that change nothing. A guide whose commands call another one says what can be lost.
READ_ONLY = {"audit", "doctor", "explain"}
PLAYBOOK = re.compile(r"(?:stackguard\.nova\.)?(?P<name>[a-z_]+?)(?:\.yml)?")
#: What an operator puts their own value in place of: a name in capitals, three dots.
OWN_VALUE = re.compile(r"…|\.\.\.|\b[A-Z][A-Z_ ]+\b")
#: Not ours: connection options, and those of Ansible itself.
FOREIGN = {"cloud", "auth", "auth_type", "region_name", "interface", "validate_certs", "ca_cert", "code", "text"}


def name_of(page: pathlib.Path) -> str:
    return str(page.relative_to(ROOT))


@functools.cache
def specs() -> dict[str, run_input.Spec]:
    found = {}
    for path in sorted((ROOT / "roles").glob("*/meta/argument_specs.yml")):
        entries = yaml.safe_load(path.read_text())["argument_specs"]
        found[path.parts[-3]] = entries["begin" if path.parts[-3] == "common" else "main"].get("options") or {}
    return found


# --- the first command, the risk ---------------------------------------------------------------------------------


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_the_first_command_is_near(page: pathlib.Path) -> None:
    before, block, _rest = re.split(r"(^(?: {4}|```))", page.read_text(), maxsplit=1, flags=re.MULTILINE)
    assert block and len(before.split()) <= 300, len(before.split())


def changing(page: pathlib.Path) -> set[str]:
    called = {playbook for command in commands(page.read_text()) for playbook, _given in calls(command)}
    return called & set(specs()) - READ_ONLY


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_a_page_whose_playbook_changes_something_names_the_one_risk(page: pathlib.Path) -> None:
    risks = re.findall(r"^> \*\*The one risk\.?\*\*", page.read_text(), re.MULTILINE)
    assert len(risks) == (1 if changing(page) else len(risks))
    assert len(risks) <= 1


# --- commands ----------------------------------------------------------------------------------------------------


def calls(command: str) -> list[tuple[str, dict[str, object]]]:
    """The playbook of a command, and the variables that it passes, as Ansible reads them."""
    words = shlex.split(command, comments=True)
    names = [found["name"] for word in words[1:] if (found := PLAYBOOK.fullmatch(word)) and found["name"] in specs()]
    given: dict[str, object] = {}
    for option, value in itertools.pairwise(words):
        if option in {"-e", "--extra-vars"} and not value.startswith("@"):
            given.update(yaml.safe_load(value) if value.startswith("{") else dict(pairs(value)))
    return [(name, given) for name in names]


def pairs(value: str) -> list[tuple[str, str]]:
    if value.startswith("text="):
        return [("text", value.removeprefix("text="))]  # All that follows is the text, for explain alone.
    return [(name, rest) for name, _equals, rest in (word.partition("=") for word in shlex.split(value))]


def wrong(playbook: str, given: dict[str, object]) -> list[str]:
    known = {**specs()[playbook], **specs()["common"]}
    strange = [name for name in given if name not in known and name not in FOREIGN]
    literal = {name: value for name, value in given.items() if name in known and not OWN_VALUE.search(str(value))}
    _values, problems = run_input.validate({name: known[name] for name in literal}, literal)
    return [f"{playbook} takes no {name}" for name in strange] + problems


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_each_command_is_one_that_the_specifications_take(page: pathlib.Path) -> None:
    given = [call for command in commands(page.read_text()) for call in calls(command)]
    assert not [problem for playbook, variables in given for problem in wrong(playbook, variables)]


@pytest.mark.parametrize(
    "command",
    [
        "ansible-playbook evacuate_host.yml -e @cloud.yml -e evacuate_hosts=compute1",
        "ansible-playbook stackguard.nova.evacuate_host -e evacuate_fence=hope",
        'ansible-playbook audit.yml -e \'{"audit_sources": ["stars"]}\'',
    ],
)
def test_a_command_that_the_specifications_do_not_take_is_found(command: str) -> None:
    ((playbook, given),) = calls(command)
    assert wrong(playbook, given)


# --- what it quotes ----------------------------------------------------------------------------------------------


@functools.cache
def said() -> str:
    """All texts of plugins, roles and playbooks, with a mark for what is filled in."""
    texts = []
    for path in sorted((ROOT / "plugins").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
                texts.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(re.sub(r"\{\w*\}|%\w", "\0", node.value))
    files = sorted([*(ROOT / "roles").rglob("tasks/*.yml"), *(ROOT / "playbooks").rglob("*.yml")])
    texts += [re.sub(r"\{\{.*?\}\}", "\0", path.read_text(), flags=re.DOTALL) for path in files]
    return " ".join(" ".join(texts).split())


#: Words of a message that are a cloud's own: hosts, servers, numbers, ids, times, values.
FILLED = re.compile(r"\S*\d\S*|…|\.\.\.|\b[A-Z]+\b")


def quoted(page: pathlib.Path) -> list[str]:
    """The messages of a page's "If it stops": the code spans of its first column that are sentences."""
    section = re.split(r"^#+ .*[Ii]f it stops.*$", page.read_text(), maxsplit=1, flags=re.MULTILINE)[1:]
    table = re.split(r"^## ", section[0], maxsplit=1, flags=re.MULTILINE)[0] if section else ""
    rows = re.findall(r"^\|([^|]*)\|", table, re.MULTILINE)
    return [span for row in rows for span in re.findall(r"`([^`]+)`", row) if len(span.split()) > 2]


def unsaid(message: str) -> list[str]:
    """Parts of a message, between what is filled in, that nothing says."""
    parts = [" ".join(part.split()) for part in FILLED.split(message)]
    return [part for part in parts if len(part.split()) > 1 and part.strip(" :,.").casefold() not in said().casefold()]


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_a_message_that_a_guide_quotes_exists(page: pathlib.Path) -> None:
    assert not {message: parts for message in quoted(page) if (parts := unsaid(message))}


def test_a_message_that_nothing_says_is_found() -> None:
    assert unsaid("The operation of compute1 is still ajar") and not unsaid("refused, nothing was changed")


# --- tables ------------------------------------------------------------------------------------------------------


def broken_tables(text: str) -> list[str]:
    """Lines of tables that no reader sees as one: reflowed, without their rule, or with another number of cells."""
    found = []
    outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    found += [
        line for line in outside.splitlines() if re.search(r"\|\s*:?-{3,}", line) and not line.lstrip().startswith("|")
    ]
    for block in re.findall(r"(?:^\|.*\n?)+", outside, re.MULTILINE):
        rows = [re.sub(r"`[^`]*`", lambda span: span[0].replace("|", "/"), row) for row in block.splitlines()]
        cells = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
        if len(rows) < 2 or not re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", rows[1].rstrip()):
            found.append(rows[0])
        found += [row for row, count in zip(rows, cells) if count != cells[0]]
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_table_renders(page: pathlib.Path) -> None:
    assert not broken_tables(page.read_text())


@pytest.mark.parametrize(
    "text",
    ["| you want | do | |---|---| | to evacuate | that |\n", "| a | b |\n| c | d |\n", "| a | b |\n|---|---|\n| c |\n"],
)
def test_a_table_that_does_not_render_is_found(text: str) -> None:
    assert broken_tables(text)
