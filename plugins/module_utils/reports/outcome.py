# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a run of a playbook ended: what its workflow gets, its report, its last words. Pure.

Made of what the task of the operation registered, and of the tasks beside it: a host that does not answer ends a run
before there is a result.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import findings

Json = t.Dict[str, t.Any]

#: The state of a run that had nothing to do.
NOTHING = "none"
#: States of a run that has begun nothing: its report needs no word about a journal.
NOTHING_BEGUN = (NOTHING, "refused")
#: States of an operation that was taken back: nothing was judged, and what was found is told.
TAKEN_BACK = ("rolled-back", "aborted")
NO_RESULT = "the run ended without a result: see the output of the run"
AGAIN = "The operation is not finished. Run the same command again to resume."


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What is known of a run."""

    #: The playbook.
    operation: str
    #: What the module returned; empty: it was not called, or did not return.
    result: t.Mapping[str, t.Any]
    #: Further values for the workflow, and keys of the result that it gets as they are.
    known: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    keys: t.Sequence[str] = ()
    #: Results of other tasks that can have ended the run, each with C(host) and C(result).
    others: t.Sequence[t.Mapping[str, t.Any]] = ()
    report_dir: t.Optional[str] = None
    #: Whether the playbook carries an operation out; false: it judges only.
    acts: bool = True
    #: Why the report could not be written.
    unwritten: t.Optional[str] = None
    #: The time of now, ISO 8601.
    at: str = ""
    #: How a text is told that says what to do next.
    tell: t.Callable[[str], str] = str

    @property
    def succeeded(self) -> bool:
        """Whether the run did all that was asked for."""
        stopped = self.result.get("again") or self._silent or self._failed or self.unwritten
        return bool(self.result.get("succeeded")) and not stopped

    def _of_others(self, what: str) -> t.List[t.Mapping[str, t.Any]]:
        return [entry for entry in self.others if (entry.get("result") or {}).get(what)]

    @property
    def _silent(self) -> t.List[t.Mapping[str, t.Any]]:
        mine = [{"result": self.result}] if self.result.get("unreachable") else []
        return [*self._of_others("unreachable"), *mine]

    @property
    def _failed(self) -> t.List[t.Mapping[str, t.Any]]:
        return self._of_others("failed")

    @property
    def message(self) -> str:
        """The summary, or why there is none."""
        return self.tell(self._message)

    @property
    def _message(self) -> str:
        if self._silent:
            entry = self._silent[0]
            return silence_text(str(entry.get("host") or "the host"), entry["result"])
        said = self.result.get("msg")
        if self._failed and (said is None or self.result.get("succeeded")):
            said = self._failed[0]["result"].get("msg") or "no reason was given"
        if said is None:
            return "" if self.result.get("succeeded") else NO_RESULT
        return "\n".join(map(str, said)) if isinstance(said, (list, tuple)) else str(said)

    @property
    def last_words(self) -> str:
        """The summary for people, with what they do next."""
        again = self.tell(AGAIN) if self.result.get("again") else None
        return "\n".join(words for words in (self.message, again, self.unwritten) if words)

    @property
    def report(self) -> t.Optional[Json]:
        """C(report.json), where the run has judged.

        An operation judges before it acts. If it then fails, or is not finished, its findings stay and its verdict is
        block. One that was taken back has a report, too, which may be empty.
        """
        found = self.result.get("report")
        if not isinstance(found, t.Mapping):
            if self.acts and self.succeeded and self.result.get("state") in TAKEN_BACK:
                return findings.report(findings.Checked(), self.at, 0, 0)
            return None
        return findings.as_refused(found) if self._missed else dict(found)

    @property
    def _missed(self) -> bool:
        """Whether an operation did not do what was asked for. A playbook that only judges has its own verdict."""
        return self.acts and not self.succeeded

    def published(self) -> Json:
        """Return what C(set_stats) publishes under C(stackguard)."""
        own = ((self.result.get("ansible_stats") or {}).get("data") or {}).get("stackguard")
        said = "\n".join(words for words in (self.message, self.unwritten) if words)
        if own is not None:
            blocked = {"verdict": "block", "message": said} if self._missed else {}
            return {**own, **blocked, **self.known}
        judged = (self.report or {}) if self.acts else self.result
        judges = not self.acts and self.result.get("state") != NOTHING
        verdict = judged.get("verdict") or ("block" if judges or not self.succeeded else None)
        found: Json = {
            "operation": self.operation,
            "verdict": "block" if self.unwritten else verdict,
            "counts": judged.get("counts") or {},
            "message": said,
        }
        if self.acts:
            found.update(
                operation_id=self.result.get("operation_id"),
                state=self.result.get("state") or "failed",
                changed=bool(self.result.get("changed")),
            )
        if self.report_dir is not None:
            found["report_dir"] = self.report_dir
            found.update({"plan_sha256": self.result.get("plan_sha256")} if self.acts else {})
        found.update({key: self.result.get(key) for key in self.keys})
        return {**found, **self.known}

    def undecided(self, at: str) -> t.Optional[Json]:
        """Return the report of a failed run that judged nothing; None: it judged, or did not fail."""
        if self.report is not None or self.succeeded:
            return None
        reason = f"nothing was decided: {self.message}"
        if self.result.get("state") not in NOTHING_BEGUN and self.acts:
            reason += self.tell(
                " (run the same command again. If the operation has begun, its journal contains the state)"
            )
        names = [str(value) for key, value in self.known.items() if value and key.endswith(("_host", "_from"))]
        subject = names[0] if names else self.operation
        checked = findings.Checked(unchecked=(findings.Unchecked("SG709", subject, reason),))
        return findings.as_refused(findings.report(checked, at, 0, 0))


def silence_text(name: str, result: t.Mapping[str, t.Any]) -> str:
    """Return that a host does not answer, and why."""
    why = result.get("msg") or "no reason was given"
    return (
        f"{name} does not answer Ansible: {why}. The run has ended. Make the host reachable (test: "
        f"ansible {name} -m ansible.builtin.ping), then run the same command again."
    )
