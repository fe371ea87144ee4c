# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host that keeps journals: requests in, results out, in order, up to the first that fails.

A compute host has more that can be asked for: steps.py.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model.host_facts import to_plain
from ...records import batches, journal, old_pins
from .reading import HostError
from .step_error import HostStepError

Params = t.Mapping[str, t.Any]
Result = t.Dict[str, t.Any]

#: What ends a request, with its reason for people.
ERRORS = (HostError, journal.JournalError, OSError)


@dataclasses.dataclass
class HostAnswer:
    """What came of a list of requests. ``error``: what the first failed one said; those after it were not begun."""

    results: t.List[Result]
    changed: bool = False
    error: t.Optional[str] = None
    changed_meanwhile: bool = False


class JournalKeeper:
    """Carries out requests about journals and what lies beside them. ``check_mode``: writes are skipped."""

    def __init__(self, state_dir: str, check_mode: bool = False) -> None:
        self.state_dir = state_dir
        self.check_mode = check_mode
        self.reads: t.Dict[str, t.Callable[[Params], Result]] = {
            "journal_read": self._journal_read,
            "still_ours": lambda request: _still_ours(state_dir, request),
            "journal_list": self._journal_list,
            "journal_closed": lambda request: {"journals": journal.list_closed(state_dir, request["kind"])},
            "batch_states": lambda request: {"states": list(batches.states(self._batches(request)).items())},
            "batch_read": lambda request: {"rows": batches.read(self._batches(request), int(request["number"]))},
            "pins_read": lambda _request: {"path": old_pins.path_of(state_dir), "kept": old_pins.read(state_dir)},
        }
        self.writes: t.Dict[str, t.Callable[[Params], t.Optional[Result]]] = {
            "journal_open": lambda request: journal.open_new(state_dir, request["journal"], request.get("ended")),
            "journal_mark": lambda request: journal.mark(
                state_dir,
                request["kind"],
                request["operation_id"],
                request["note"],
                _token(request),
                request.get("run"),
            ),
            "journal_claim": lambda request: {
                "journal": journal.claim(
                    state_dir,
                    request["kind"],
                    request["operation_id"],
                    request["run"],
                    request["previous"],
                    bool(request["certain"]),
                    request["at"],
                )
            },
            "journal_release": lambda request: journal.release(
                state_dir, request["kind"], request["operation_id"], request["token"], request["at"]
            ),
            "journal_put": lambda request: {
                "others": journal.put(state_dir, request["journal"], request.get("before"), request.get("counted"))
            },
            "journal_close": lambda request: {"path": journal.close(state_dir, request["journal"])},
            "batch_write": lambda request: batches.write(
                self._batches(request), int(request["number"]), request["rows"]
            ),
            "batch_mark": lambda request: batches.mark(
                self._batches(request), int(request["number"]), request["state"]
            ),
            "pins_begin": lambda request: old_pins.begin(
                state_dir, request["about"], request["rows"], request["previous"]
            ),
            "pins_ours": lambda request: old_pins.refuse_another(state_dir, request["run"]),
            "pins_end": lambda request: old_pins.end(
                state_dir, request["run"], bool(request["finished"]), request["settled"], request["not_made"]
            ),
        }

    def _journal_list(self, request: Params) -> Result:
        """Return all open journals; with C(unknown) also those that are not understood, which else are an error."""
        found, unknown = journal.survey(self.state_dir)
        if unknown and not request.get("unknown"):
            raise journal.UnknownJournalError(unknown)
        return {"journals": found, "unknown": to_plain(unknown)}

    def _journal_read(self, request: Params) -> Result:
        """Return the open journal of a kind. One of another kind that is not understood may be of the same host."""
        listed, kind = self._journal_list(request), request["kind"]
        return {
            "journal": next((entry for entry in listed["journals"] if entry["kind"] == kind), None),
            "unknown": listed["unknown"],
            "ended": journal.count_closed(self.state_dir, kind),
        }

    def _batches(self, request: Params) -> str:
        return batches.directory(self.state_dir, request["kind"], request["operation_id"])

    def run(self, requests: t.Sequence[Params]) -> HostAnswer:
        """Carry out requests in order, up to the first that fails."""
        outcome = HostAnswer([])
        for number, request in enumerate(requests, 1):
            label = f"request {number} ({_label(request)})"
            try:
                outcome.results.append(self._one(request, outcome))
            except HostStepError as error:
                outcome.error, outcome.changed_meanwhile = f"{label}: {error}", error.changed_meanwhile
                return outcome
            except ERRORS as error:
                outcome.error = f"{label}: {error}"
                return outcome
            except (KeyError, TypeError, ValueError) as error:
                outcome.error = f"{label}: malformed request: {type(error).__name__}: {error}"
                return outcome
        return outcome

    def _one(self, request: Params, outcome: HostAnswer) -> Result:
        name = request["op"]
        holder = request.get("holder")
        if holder is None or self.check_mode:
            return self._carry_out(request, outcome)
        with journal.executing(self.state_dir, holder, _label(request), opens=name == "journal_open"):
            return self._carry_out(request, outcome)

    def _carry_out(self, request: Params, outcome: HostAnswer) -> Result:
        name = request["op"]
        if name in self.reads:
            return {"ok": True, **self.reads[name](request)}
        if name not in self.writes:
            raise HostStepError("unknown op")
        if self.check_mode:
            return {"ok": True, "skipped": True}
        # Whatever it fails at, something may have changed by then.
        outcome.changed = True
        return {"ok": True, **(self.writes[name](request) or {})}


def _still_ours(state_dir: str, request: Params) -> Result:
    """Of a run that has nothing else to do here. With a token: that is compared, and the sign of life renewed."""
    if request.get("run") is not None:
        journal.refuse_of_another(state_dir, request["kind"], request["operation_id"], request["run"])
    return {}


def _token(request: Params) -> t.Optional[str]:
    holder = request.get("holder")
    return str(holder["token"]) if holder else None


def _label(request: Params) -> str:
    return " ".join(str(request[key]) for key in ("op", "action", "kind") if request.get(key))
