# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a plan is made of: steps, and every value they change, before and after.

A plan is data. Check mode prints it, the journal keeps it, and the runner executes that very plan: nothing is
looked up again between printing and doing. Pure: no I/O, no clock, no Ansible. Python 3.9, standard library only.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .problems import ProblemError

#: A step runs on the compute host, or on the controller (databases and APIs).
HOST = "host"
CONTROLLER = "controller"


class PlanError(ProblemError, ValueError):
    """The facts do not allow a plan; a preflight check says so in more words."""


@dataclasses.dataclass(frozen=True)
class RowChange:
    """A guarded change of one database row: ``key`` names it, ``before`` must be what it holds, exactly.

    ``before`` also holds columns that guard without changing (``deleted``). ``after`` holds only what changes.
    ``database``: ``cell:NAME``, ``api`` or ``neutron``.
    """

    database: str
    table: str
    key_column: str
    key: t.Any
    before: t.Dict[str, t.Any]
    after: t.Dict[str, t.Any]
    label: str

    def reversed(self) -> RowChange:
        """Return the change that takes this one back."""
        guard = {**self.before, **self.after}
        back = {column: self.before[column] for column in self.after}
        return dataclasses.replace(self, before=guard, after=back)


@dataclasses.dataclass(frozen=True)
class Change:
    """One value before and after, for people: in the diff, and in the journal.

    ``measured``: it depends on a measurement, such as where a server finds room, and the run measures again.
    """

    where: str
    what: str
    before: str
    after: str
    measured: bool = False


@dataclasses.dataclass(frozen=True)
class Step:
    """One step. ``action`` names the code that carries it out, ``params`` is all that it is told."""

    name: str
    title: str
    where: str
    action: str
    params: t.Dict[str, t.Any]
    changes: t.List[Change] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Plan:
    """An ordered list of steps. ``kind`` is ``rename``; ``subject`` is what it is about, for people."""

    kind: str
    operation_id: str
    subject: str
    steps: t.List[Step]
    notes: t.List[str] = dataclasses.field(default_factory=list)
