# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan that a person approved is the plan that is carried out, or nothing is.

A run in check mode writes C(plan.json) with its C(plan_sha256) into the report directory. A run that is given that
value as C(PREFIX_expect_plan) makes its own plan from what it reads now, and refuses where the two differ.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model import approval
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import Plan
from ansible_collections.stackguard.nova.plugins.module_utils.operations.lifecycle import Refused
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence

Json = t.Dict[str, t.Any]

PLAN_FILE = "plan.json"
#: In the journal's C(about), and in results.
SHA256 = "plan_sha256"
_DIGITS = re.compile(r"[0-9a-f]{64}")


@dataclasses.dataclass(frozen=True)
class Approver:
    """What one run was given. ``directory``: of the report, on the controller; ``variable``: as operators type it."""

    directory: t.Optional[str]
    expected: t.Optional[str]
    variable: str
    check_mode: bool

    def begin(self) -> None:
        """Refuse a value that can stand for no plan; in check mode remove the plan of an earlier run.

        Raises :class:`Refused`.
        """
        if self.expected and not _DIGITS.fullmatch(self.expected):
            raise Refused(
                f"{self.variable} is {json.dumps(self.expected)}: it must be the plan_sha256 of a run with --check, "
                "64 hexadecimal digits in lower case. Nothing was changed"
            )
        if self.check_mode and self.directory:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self._path(), PLAN_FILE))

    def approve(self, plan: Plan, request: t.Mapping[str, t.Any]) -> str:
        """Return the value that stands for a new plan. Raises :class:`Refused` where another one was approved."""
        decided = approval.of_plan(plan, request)
        value = approval.sha256(decided)
        if self.expected and self.expected != value:
            raise Refused(self._differs(decided, value))
        if self.check_mode and self.directory:
            evidence.save_part(self._path(), PLAN_FILE, approval.document(decided, plan))
        return value

    def hint(self, value: str) -> str:
        """Return what check mode shows below a plan: how to have this plan carried out and no other."""
        return f"To carry out this plan and no other: -e {self.variable}={value}"

    def resume(self, journal: t.Mapping[str, t.Any]) -> None:
        """Raise :class:`Refused` where an open operation was begun with another plan than the approved one."""
        begun = journal["about"].get(SHA256)
        if self.expected and begun != self.expected:
            with_plan = f"the plan {begun}" if begun else "a plan whose plan_sha256 its journal does not keep"
            raise Refused(
                f"{self.variable} is {self.expected}, but operation {journal['operation_id']} was begun with "
                f"{with_plan}. Nothing was changed. Resume it without {self.variable}, or end it first"
            )

    def _path(self) -> str:
        return os.path.abspath(os.path.expanduser(str(self.directory)))

    def _differs(self, decided: Json, value: str) -> str:
        head = f"the plan is not the approved one, and nothing was changed: {self.variable} is {self.expected}"
        lines = [f"{head}, the plan of now is {value}"]
        approved = self._approved()
        if approved is None:
            lines.append(
                f"No {PLAN_FILE} of the approved plan is in {self.directory}: run with --check to see the new plan"
            )
        else:
            lines += ["What differs (- approved, + now):", *approval.differences(approved, decided)]
        return "\n".join([*lines, "Run with --check again, and approve the plan that it shows"])

    def _approved(self) -> t.Optional[Json]:
        """Return what was decided by the approved plan, where its file is still there and is what it says."""
        if not self.directory:
            return None
        try:
            with open(os.path.join(self._path(), PLAN_FILE), encoding="utf-8") as stream:
                decided = json.load(stream)["decided"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not isinstance(decided, dict) or approval.sha256(decided) != self.expected:
            return None
        return decided
