# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A command that a page prints can be copied: its quotes are closed, each option has its value, its playbook exists."""

from __future__ import annotations

import pathlib
import re
import shlex

import pytest

from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("roles/*/README.md"))]
FENCED = re.compile(r"```.*?\n(.*?)```", re.DOTALL)
INDENTED = re.compile(r"(?:^|\n\n)((?: {4,}.*\n?)+)")
#: Options of ansible-playbook that need a value.
VALUED = {"-e", "--extra-vars", "-i", "--inventory", "-l", "--limit", "-f", "--forks", "--vault-password-file"}
PLAYBOOKS = {path.stem for path in (ROOT / "playbooks").glob("*.yml")}
OURS = "stackguard.nova."


def commands(text: str) -> list[str]:
    """The calls of ansible-playbook in the code blocks of a page: lines that end with a backslash are joined."""
    blocks = [*FENCED.findall(text), *INDENTED.findall(FENCED.sub("", text))]
    lines = [line.strip() for block in blocks for line in re.sub(r"\\\n\s*", " ", block).splitlines()]
    return [line for line in lines if re.match(r"(\$ )?(\w+=\S+ )*ansible-playbook ", line)]


def faults(command: str) -> list[str]:
    try:
        words = shlex.split(command, comments=True)
    except ValueError as error:
        return [str(error)]
    found = [
        f"{option} has no value"
        for option, value in zip(words, [*words[1:], ""])
        if option in VALUED and (not value or value.startswith("-"))
    ]
    found += ["a backslash within a line" for word in words if word != word.lstrip()]
    called = [word[len(OURS) :] for word in words if word.startswith(OURS)]
    return found + [f"no playbook {name}" for name in called if name not in PLAYBOOKS and not name.startswith("awx.")]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_command_in_a_page_can_be_copied(page: pathlib.Path) -> None:
    assert not [(command, found) for command in commands(page.read_text()) if (found := faults(command))]


def test_the_pages_have_commands() -> None:
    assert sum(len(commands(page.read_text())) for page in PAGES) > 40


@pytest.mark.parametrize(
    ("block", "wrong"),
    [
        ("    ansible-playbook stackguard.nova.audit -i x -e\n    a=b \\ -e @c.yml\n", "-e has no value"),
        ("    ansible-playbook stackguard.nova.audit -i x \\ -e a=b\n", "a backslash within a line"),
        ('    ansible-playbook stackguard.nova.doctor -e \'{"a": ["b",\n    "c"]}\'\n', "No closing quotation"),
        ("    ansible-playbook stackguard.nova.rename -i x\n", "no playbook rename"),
        ("```console\n$ ansible-playbook stackguard.nova.audit -i\n```\n", "-i has no value"),
    ],
)
def test_what_a_line_break_destroys_is_found(block: str, wrong: str) -> None:
    (command,) = commands("A text:\n\n" + block)
    assert wrong in faults(command)


def test_a_command_over_two_lines_is_one() -> None:
    block = "    ansible-playbook stackguard.nova.audit -i x \\\n        -e a=b --check\n"
    (command,) = commands(block)
    assert faults(command) == []
