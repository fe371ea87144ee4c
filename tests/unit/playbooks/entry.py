# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the tests that run every playbook type, and what each playbook answers: one file for each, found by its name.

A playbook without its file fails :mod:`tests.unit.playbooks.test_entries`, and so does a file without its playbook.
"""

from __future__ import annotations

import dataclasses
import importlib
import pathlib
import typing as t

Json = dict[str, t.Any]

#: The files here that are no playbook's.
_OTHERS = ("entry", "test_entries")
NO_CLOUD = "Unable to establish connection to http://127.0.0.1:1/v3/auth/tokens"
NO_DATABASE = "database 127.0.0.1:1/nova_api: Can't connect to MySQL server"
#: An override that names no finding.
UNKNOWN = '[{"code": "SG999", "object": "x", "reason": "y"}]'
NO_CODE = "'SG999' is not a finding code"
NO_NUMBER = "cannot be converted to an int"


@dataclasses.dataclass(frozen=True)
class Refusal:
    """An AWX job that is refused for what was typed."""

    template: str
    #: Words of the message.
    words: str
    #: To the survey.
    answers: Json = dataclasses.field(default_factory=dict)
    #: Extra variables of the template: AWX takes no others.
    extra: Json = dataclasses.field(default_factory=dict)
    #: What else the workflow is told; None: what it is told of each refusal.
    more: Json | None = None


@dataclasses.dataclass(frozen=True)
class Entry:
    """One playbook. What has a default is what a playbook says that asks its cloud first."""

    #: What it is asked for.
    given: Json
    #: Words of the failure of a run for which nothing was typed, from a copy of examples/.
    nothing: str
    #: Each AWX template that is launched where no system answers: how it ends, and words of its message. The first is
    #: the one that goes furthest.
    ends: dict[str, tuple[str, str]]
    #: By a title: jobs that are refused for what was typed.
    refusals: dict[str, Refusal]
    #: What AWX's surveys are answered; None: ``given``.
    answers: Json | None = None
    #: What a workflow is told of each refusal beside what all are told.
    more: Json = dataclasses.field(default_factory=dict)
    #: Files beside report.json of an earlier run, which a refused one removes.
    stale: frozenset[str] = frozenset()
    #: Words of the failure in an inventory without a compute host,
    nobody: str = "no-such-cloud"
    #: of a run with two hosts that are this machine,
    no_cloud: str = "Cloud no-such-cloud was not found"
    #: and of the command of examples/README.md, as it stands there.
    placeholder: str = "keystone.example.invalid"
    #: It asks no system: whatever is missing, it ends with 0 and says the words above.
    needs_nothing: bool = False
    #: Whether it leaves report.json.
    reports: bool = True
    #: Variables with names of compute hosts, and what else must be typed.
    hosts: dict[str, Json] = dataclasses.field(default_factory=dict)

    @property
    def answered(self) -> Json:
        """What AWX's surveys are answered."""
        return self.given if self.answers is None else self.answers

    @property
    def template(self) -> str:
        """The AWX template that goes furthest."""
        return next(iter(self.ends))


def _read() -> dict[str, Entry]:
    here = pathlib.Path(__file__).parent
    names = sorted(path.stem for path in here.glob("*.py") if path.stem not in _OTHERS)
    package = __name__.rpartition(".")[0]
    return {name: importlib.import_module(f"{package}.{name}").ENTRY for name in names}


def entries() -> dict[str, Entry]:
    """Every playbook's entry, by the playbook's name."""
    if not _FOUND:
        _FOUND.update(_read())
    return _FOUND


_FOUND: dict[str, Entry] = {}
