# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The removal of compute hosts that are gone for good: find, judge, plan, carry out, carry on; look what is left.

Nothing is undone: a rollback ends the operation where it is. The machine itself is never touched, and neither are the
entries of Ceph's blocklist and the compute_id files: they keep a machine that comes back from its old disks.
"""

from __future__ import annotations

import typing as t

from ..engine import runner
from ..engine.lifecycle import OpenJournal
from ..engine.planned import Planned, Prepared
from ..engine.server_run import ServerRun
from ..engine.systems import Systems
from ..engine.waiting_requests import count as count_requests
from ..model import approval, findings
from ..model.findings import Checked
from ..reports.terminal import findings_text
from . import evidence, steps, verify
from . import plan as plans
from . import preflight as checks

Result = t.Dict[str, t.Any]
_END = "end it; what was removed stays removed"
_STAYS = (
    "Entries of Ceph's blocklist, compute_id files, request specs and records of cinder-volume are left as they are"
)


class Removal(Planned):
    """The removal of one or more hosts that the operator names."""

    PREFIX = "remove_"

    def __init__(self, run: ServerRun) -> None:
        super().__init__(run)
        #: What is left at the end of this run.
        self._left: t.Optional[Checked] = None

    # --- what it says of itself

    @property
    def hosts(self) -> t.List[str]:
        """The hosts that are asked for, each once."""
        return list(dict.fromkeys(str(name) for name in self.run.options["hosts"]))

    @property
    def keep(self) -> t.List[str]:
        """What is to stay."""
        return sorted({str(word) for word in self.run.options["keep"]})

    def operation_text(self) -> str:
        """Return what is asked for."""
        return f"removal of {', '.join(self.hosts)}"

    def kind(self) -> str:
        """Return the kind of journal: one removal is open at a time."""
        return plans.KIND

    def goal_text(self, journal: Result) -> str:
        """Return what an open operation is to do."""
        return f"removal of {journal['subject']}"

    def asks_for_another(self, journal: Result) -> bool:
        """Whether other hosts are named, or something else is to stay."""
        about = journal["about"]
        return sorted(self.hosts) != sorted(about["hosts"]) or self.keep != about["keep"]

    def rollback_text(self, journal: Result) -> t.Optional[str]:
        """Return what a rollback does."""
        return _END

    def current_state_text(self, journal: t.Optional[Result]) -> str:
        """Return nothing: the steps say it."""
        return ""

    def status_lines(self, now: str) -> t.List[str]:
        """Return nothing beside the steps."""
        return []

    def result_fields(self, journal: t.Optional[Result]) -> Result:
        """Return the hosts."""
        return {"hosts": self.hosts if journal is None else list(journal["about"]["hosts"])}

    def undone_text(self, journal: Result, why: str) -> str:
        """Return what the end of an operation leaves."""
        return f"the run has ended the removal of {journal['subject']}. What was removed stays removed"

    # --- judging

    def prepare(self) -> Prepared:
        """Read, judge and plan."""
        found = evidence.read(self.run.systems, self.run, self.hosts)
        checked = checks.preflight(found, self.hosts)
        for name in self.hosts:
            # What waits there is read by a step. What was not looked at is named, and stays.
            checked += count_requests(self.run.options, self.run.systems.cloud, name, dead=True)
        report = self.judged(checked, found.bundle.collected_at, len(self.hosts), 0, ready=True)
        plan = plans.plan(found, self.hosts, self.keep, self.run.operation_id)
        about = {"hosts": self.hosts, "keep": self.keep}
        approved = {**about, "overrides": approval.of_overrides(self.run.overrides)}
        told = {"hosts": self.hosts, "report": report}
        would = f"without --check, the run would remove {', '.join(self.hosts)}. {_STAYS}"
        return Prepared(plan, about, approved, told, would)

    # --- carrying out

    def actions(self, systems: Systems, open_journal: OpenJournal) -> t.Dict[str, runner.Action]:
        """Return what carries out the steps."""
        return steps.actions(systems, lambda name: evidence.read(systems, self.run, [name]), self.run.overrides)

    def ended_fields(self, journal: Result) -> Result:
        """Return what is left of the hosts. If anything is, the run fails."""
        hosts, keep = list(journal["about"]["hosts"]), list(journal["about"]["keep"])
        found = evidence.read(self.run.systems, self.run, hosts)
        left = verify.left(found, hosts, keep) + Checked(tuple(checks.unread(found.bundle)))
        for name in hosts:
            left += _told(journal, f"read_queues:{name}") + _told(journal, f"delete_queues:{name}")
        self._left = left
        said = findings_text(left, self.run.overrides)
        self.run.say(said)
        report = findings.report(left, self.run.clock.now(), len(hosts), 0, self.run.overrides)
        return {"report": report, **({"failed": True} if self._is_left() else {})}

    def _is_left(self) -> t.List[str]:
        """Return the codes of what is left."""
        left = self._left or Checked()
        return sorted({item.code for item in left.findings if item.severity != findings.INFO and item.code != "SG121"})

    def finished_text(self, journal: Result) -> str:
        """Return what is left, or that nothing is."""
        codes = self._is_left()
        if codes:
            return f"not removed: something of {journal['subject']} is left ({', '.join(codes)}). {_STAYS}"
        return f"{journal['subject']} is removed from Nova, placement and neutron. {_STAYS}"


def _told(journal: Result, step: str) -> Checked:
    """Return what a step has noted for the report."""
    noted = (journal.get("memory") or {}).get(step) or {}
    found = tuple(findings.from_report(entry) for entry in noted.get("findings") or ())
    unread = tuple(findings.Unchecked(**entry) for entry in noted.get("unchecked") or ())
    return Checked(found, unread)


def carry_out(run: ServerRun) -> Result:
    """Do what was asked for. Raises StackguardError and StepError."""
    return t.cast("Result", Removal(run).carry_out())
