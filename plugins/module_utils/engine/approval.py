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

from ..model import approval, findings
from ..model.plan import Plan
from ..records import evidence
from .lifecycle import Refused, Run

Json = t.Dict[str, t.Any]

PLAN_FILE = "plan.json"
#: In the journal's C(about), and in results.
SHA256 = "plan_sha256"
#: In the journal's C(about): what was asked for, where a resume takes it from its own options.
REQUEST = "plan_request"
_DIGITS = re.compile(r"[0-9a-f]{64}")


@dataclasses.dataclass(frozen=True)
class Approver:
    """What one run was given. ``directory``: of the report, on the controller; ``variable``: as operators type it."""

    directory: t.Optional[str]
    expected: t.Optional[str]
    variable: str
    check_mode: bool
    #: C(plan.json) of the approved plan, where it is not in ``directory``: only to show what differs.
    file: t.Optional[str] = None

    @classmethod
    def of(cls, run: Run) -> Approver:
        """Return what a run was given by its options."""
        return cls.given(run.options, run.variable("expect_plan"), run.check_mode)

    @classmethod
    def given(cls, options: t.Mapping[str, t.Any], variable: str, check_mode: bool) -> Approver:
        """Return what options give. The value may be followed by C(@) and the path of the approved C(plan.json)."""
        value, found, path = str(options.get("expect_plan") or "").partition("@")
        return cls(options.get("report_dir"), value or (found or None), variable, check_mode, path or None)

    @property
    def asked(self) -> bool:
        """Whether anybody wants to know which plan it is."""
        return bool(self.check_mode or self.expected)

    def begin(self) -> None:
        """Refuse a value that can stand for no plan; in check mode remove the plan of an earlier run.

        Raises :class:`Refused`.
        """
        if self.expected and not _DIGITS.fullmatch(self.expected):
            raise Refused(
                f"{self.variable} is {json.dumps(self.expected)}, but must be the plan_sha256 of a run with --check "
                "(64 hexadecimal digits in lower case). Nothing was changed"
            )
        if self.check_mode and self.directory:
            with contextlib.suppress(FileNotFoundError), self._writing():
                os.unlink(os.path.join(self._path(), PLAN_FILE))

    def approve(self, plan: Plan, request: t.Mapping[str, t.Any], told: t.Optional[Json] = None) -> str:
        """Return the value that stands for a new plan. Raises :class:`Refused` where another one was approved.

        ``told``: what was found by then, C(report) and more, for the result of a refusal.
        """
        decided = approval.of_plan(plan, request)
        value = approval.sha256(decided)
        if self.expected and self.expected != value:
            data = {**(told or {})}
            if "report" in data:
                data["report"] = findings.as_refused(data["report"])
            raise Refused(self._differs(decided, value), **data)
        self._leave(decided, plan)
        return value

    def nothing(self, plan: Plan, request: t.Mapping[str, t.Any]) -> str:
        """Return the value that stands for a plan without a step: all is as it was asked for.

        It is no other plan's, so that a run that is given it changes nothing either. Where nothing is to be done
        nothing is refused: a run whose plan is carried out already ends as it did before.
        """
        decided = approval.of_plan(plan, request)
        self._leave(decided, plan)
        return approval.sha256(decided)

    def _leave(self, decided: Json, plan: Plan) -> None:
        if self.check_mode and self.directory:
            with self._writing():
                evidence.save_part(self._path(), PLAN_FILE, approval.document(decided, plan))

    def hint(self, value: str) -> str:
        """Return what check mode shows below a plan: how to have this plan carried out and no other."""
        return f"To apply exactly this plan: -e {self.variable}={value}"

    def resume(self, journal: t.Mapping[str, t.Any], request: t.Optional[t.Mapping[str, t.Any]] = None) -> None:
        """Raise :class:`Refused` where an open operation was begun with another plan than the approved one.

        ``request``: what this run asks for, where the rest of the operation follows it and not the journal.
        """
        if not self.expected:
            return
        begun, said = journal["about"].get(SHA256), f"{self.variable} is {self.expected}, but"
        name = self.variable
        ways = f"Nothing was changed. Resume the operation without {name}, or end the operation before you use {name}"
        if begun != self.expected:
            with_plan = f"the plan {begun}" if begun else "a plan whose plan_sha256 is missing in the journal"
            raise Refused(
                f"{said} operation {journal['operation_id']} began with {with_plan}. {ways}", problem="another-plan"
            )
        before = journal["about"].get(REQUEST)
        if request is not None and before != _plain(request):
            lines = approval.differences({"request": before or {}}, {"request": _plain(request)})
            asked = f"{said} the options of this run differ from the options of operation {journal['operation_id']}"
            raise Refused("\n".join([f"{asked}. {ways}", "Differences (- approved, + now):", *lines]))

    @contextlib.contextmanager
    def _writing(self) -> t.Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise Refused(
                f"{self._path()}: {error.strerror}: the run must write {PLAN_FILE} into this directory. Nothing was "
                "changed"
            ) from error

    def _path(self) -> str:
        return os.path.abspath(os.path.expanduser(str(self.directory)))

    def _differs(self, decided: Json, value: str) -> str:
        head = "the run changed nothing, because the current plan is not the approved plan"
        lines = [f"{head}: {self.variable} is {self.expected}, but the plan_sha256 of the current plan is {value}"]
        approved = self._approved()
        if approved is None:
            where = " or ".join(str(place) for place in (self.file, self.directory) if place)
            why = f"the {PLAN_FILE} of the approved plan is not in {where}" if where else "no report directory is set"
            lines.append(f"The run cannot show the differences, because {why}")
        else:
            lines += ["Differences (- approved, + now):", *approval.differences(approved, decided)]
        return "\n".join([*lines, "Run with --check again, and approve the plan that the run shows"])

    def _approved(self) -> t.Optional[Json]:
        """Return what was decided by the approved plan, where its file is still there and is what it says."""
        places = [self.file, os.path.join(self._path(), PLAN_FILE) if self.directory else None]
        found = (self._decided(place) for place in places if place)
        return next((decided for decided in found if decided is not None), None)

    def _decided(self, path: str) -> t.Optional[Json]:
        try:
            with open(path, encoding="utf-8") as stream:
                decided = json.load(stream)["decided"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not isinstance(decided, dict) or approval.sha256(decided) != self.expected:
            return None
        return decided


def _plain(request: t.Mapping[str, t.Any]) -> Json:
    """Return a request as a journal gives it back."""
    return t.cast("Json", json.loads(json.dumps(dict(request))))
