# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The life of every operation: what is asked for and what is open decide together what a run does.

    asked for          nothing is open                    an operation is open
    apply              begin a new one                    resume it
    resume             refuse: there is nothing to resume resume it
    status             say so                             show it, and change nothing
    rollback or abort  say so                             undo it, or end it without the rest

Whatever acts on an open operation refuses beside a run that carries it out, for another host or server than the
operation's own, and for another plan than the approved one. Each operation is a subclass, in its own wing.
"""

from __future__ import annotations

import abc
import typing as t

from ..model.errors import StackguardError
from . import lifecycle
from .approval import Approver
from .lifecycle import Json, Run


class Operation(abc.ABC):
    """One operation in the hands of one run."""

    #: What ends an open operation without the rest of it: C(rollback) or C(abort).
    BACK: t.ClassVar[str] = lifecycle.ROLLBACK

    def __init__(self, run: Run) -> None:
        self.run = run

    # --- what an operation says of itself

    @abc.abstractmethod
    def operation_text(self) -> str:
        """Return what is asked for, such as "resize of web1"."""

    @abc.abstractmethod
    def kind(self) -> str:
        """Return the kind of journal: of each, one operation is open at a time."""

    @abc.abstractmethod
    def begin_new(self) -> t.Any:
        """Begin a new operation. Raises Refused with every reason why not, and what a system raises."""

    @abc.abstractmethod
    def resume_open(self, journal: Json) -> t.Any:
        """Carry out the rest of an open operation; of one that is being undone, the rest of that."""

    @abc.abstractmethod
    def show_open(self, journal: Json) -> t.Any:
        """Return what is open. Changes nothing, not even which run has the operation."""

    @abc.abstractmethod
    def end_open(self, journal: Json) -> t.Any:
        """Undo an open operation, or end it without the rest."""

    @abc.abstractmethod
    def nothing_open(self, action: str) -> t.Any:
        """Return what comes of an action while nothing is open. Raises Refused: a resume begins nothing."""

    @abc.abstractmethod
    def refuse_another(self, journal: Json, action: str) -> None:
        """Raise Refused (SG706) if something else is asked for than what the open operation does."""

    # --- what an operation with a stricter rule does in its own way

    @property
    def action(self) -> str:
        """What is asked for: apply, resume, status, or :attr:`BACK`."""
        return str(self.run.options["action"])

    def read_open_journal(self) -> t.Optional[Json]:
        """Return the open journal. Raises Refused (SG706) for one that this version does not understand."""
        return lifecycle.read_open_journal(self.run, self.kind())

    def refuse_beside_another_run(self, journal: Json) -> None:
        """Raise StackguardError (SG707) while another run carries the open operation out."""
        self.run.refuse_while_carried_out(journal)

    def refuse_another_plan(self, journal: Json) -> None:
        """Raise Refused if the open operation has another plan than the one that was approved for this run."""
        self.approver.resume(journal)

    # --- its life

    @property
    def approver(self) -> Approver:
        """What a person has approved."""
        return Approver.of(self.run)

    def carry_out(self) -> t.Any:
        """Do what is asked for. Raises Refused: nothing was changed; and StackguardError and StepError."""
        action = self.action
        if action not in (lifecycle.APPLY, lifecycle.RESUME, lifecycle.STATUS, self.BACK):
            # Never taken for the way back: what is open would be undone by a word that nobody has decided on.
            raise StackguardError(f"{self.run.variable('action')}: this operation has no action {action}")
        forward = action in (lifecycle.APPLY, lifecycle.RESUME)
        if forward:
            self.approver.begin()
        journal = self.read_open_journal()
        if journal is None:
            return self.begin_new() if action == lifecycle.APPLY else self.nothing_open(action)
        if action == lifecycle.STATUS:
            return self.show_open(journal)
        self.refuse_beside_another_run(journal)
        self.refuse_another(journal, lifecycle.RESUME if forward else action)
        if not forward:
            return self.end_open(journal)
        self.refuse_another_plan(journal)
        return self.resume_open(journal)
