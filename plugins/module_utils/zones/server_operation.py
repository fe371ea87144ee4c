# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the operations share that change one server within its zone: whose journal it is, and how it is taken back."""

from __future__ import annotations

import typing as t

from ..engine import server_run
from ..engine.lifecycle import OpenJournal, Refused
from ..engine.moved_volumes import check_one
from ..engine.planned import Planned
from ..engine.server_run import ServerRun
from ..model import findings, releases
from ..reports.terminal import findings_text
from ..systems.api import http, server_records
from .server_steps import TakeBackError

Result = t.Dict[str, t.Any]


class ServerOperation(Planned):
    """One operation on one server. A stray, a refusal by Nova, and an owner's own act are taken back at once."""

    #: Before the server of a journal: one such operation of a server is open at a time, those of others do not matter.
    KIND: t.ClassVar[str]
    #: The oldest microversion that it works with.
    OLDEST: t.ClassVar[str]
    #: What it does, before the name of the server.
    WHAT: t.ClassVar[str]

    def __init__(self, run: ServerRun) -> None:
        super().__init__(run)
        self.cloud = run.systems.cloud
        self._uuid: t.Optional[str] = None
        #: Codes of what is wrong with its volumes at the end.
        self._wrong = ""

    @property
    def identity(self) -> str:
        """The uuid of the server that is meant, also of one that is gone and whose journal is open."""
        if self._uuid is None:
            self._uuid = server_run.identity(self.run, self.KIND)
        return self._uuid

    def kind(self) -> str:
        """Return the kind of journal."""
        return f"{self.KIND}{self.identity}"

    def operation_text(self) -> str:
        """Return what is asked for."""
        return f"{self.WHAT} of {self.run.options['server']}"

    def current_state_text(self, journal: t.Optional[Result]) -> str:
        """Return how the server is."""
        now = self.as_it_is()
        return f"The server is {now}" if journal is None else f"{journal['subject']} is {now}"

    def as_it_is(self) -> str:
        """Return how the server is, for the end of a sentence."""
        try:
            server = server_records.existing_server(self.cloud, self.identity)
        except server_records.NotShownError:
            return "not shown by Nova"
        if server is None:
            return "deleted"
        task = f" ({server.task_state})" if server.task_state else ""
        where = f" on {server.host}" if server.host else ""
        return f"{server.status}{task}{where}, flavor {server.flavor.name if server.flavor else 'not read'}"

    def refuse_old(self) -> None:
        """Raise Refused (SG705) where this Nova is too old."""
        offered = http.max_microversion(self.cloud, http.COMPUTE)
        if releases.microversion_tuple(offered) < releases.microversion_tuple(self.OLDEST):
            raise Refused(
                f"SG705 release-unsupported: this Nova offers microversion {offered}, but the run needs {self.OLDEST}"
            )

    def result_fields(self, journal: t.Optional[Result]) -> Result:
        """Return the server and its zone."""
        if journal is None:
            return {"server": self.identity}
        return {"server": journal["about"]["server"], "zone": journal["about"]["zone"]}

    def forward(self, open_journal: OpenJournal) -> Result:
        """Carry it out. A stray, a refusal and a server whose owner took it elsewhere are taken back at once."""
        try:
            return super().forward(open_journal)
        except TakeBackError as error:
            # The journal knows what was begun since.
            open_journal.read_again()
            return self.backward(open_journal, str(error), error.finding)

    def ended_fields(self, journal: Result) -> Result:
        """Return what Cinder says of the server's volumes. If they are not as a move leaves them, the run fails."""
        if not journal["about"].get("volumes", True):
            return {}
        checked = check_one(self.run.systems, self.identity)
        if not checked.findings and not checked.unchecked:
            return {}
        self.run.say(findings_text(checked, self.run.overrides))
        self._wrong = ", ".join(sorted({item.code for item in checked.findings if item.severity != findings.INFO}))
        report = findings.report(checked, self.run.clock.now(), 0, 1, self.run.overrides)
        return {"report": report, **({"failed": True} if self._wrong else {})}

    def with_volumes(self, text: str) -> str:
        """Return how the operation ended, with what is wrong with the server's volumes."""
        if not self._wrong:
            return text
        return f"{text}. But Cinder does not have its volumes connected to its host, and only there: {self._wrong}"

    @staticmethod
    def said(journal: Result) -> str:
        """Return what the steps said, one after the other."""
        return "; ".join(str(event["text"]) for event in journal["history"] if event.get("step") and event.get("text"))
