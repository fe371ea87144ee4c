# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fence by power: a module of the operator's choice switches the machine off, and reads it as off twice. Pure."""

from __future__ import annotations

import re
import typing as t

from .. import selection
from ..task_results import ended_well, why
from .fence import (
    MACHINE,
    Answers,
    FenceKind,
    FenceTarget,
    FenceText,
    Json,
    ProofError,
    Reading,
    source_of,
)

#: Keys under which modules give a machine's power state (Redfish: PowerState; others: power_state).
_STATE_KEY = re.compile(r"power_?state", re.IGNORECASE)
#: What a machine that is off says, unless the operator says otherwise.
OFF = "[Oo]ff|OFF"


class Power(FenceKind):
    """Read twice, some seconds apart: a machine that is restarted is off for a moment."""

    name = "power"
    text = FenceText(
        "your power module reports twice, some seconds apart, that the machine is off",
        "the whole machine, with every disk and every volume of any backend",
        "the BMC of the machine answers. The fence `power` is the best choice",
    )
    covers = MACHINE
    readings = 2
    powers_off = True
    requires = ("power_options", "power_state_options")

    def read_back(self, target: FenceTarget, answers: Answers) -> Reading:
        """Every reading says off, and there are two at least."""
        states = []
        for answer in answers:
            read = answer.get("read")
            if not ended_well(read):
                switched = answer.get("switched")
                first = "" if not switched or ended_well(switched) else f"; switch off: {why(switched)}"
                raise ProofError(f"{_unread(read, target.options)}{first}", problem="not-read")
            states.append(power_state(t.cast(Json, read), target.options))
        if len(states) < self.readings:
            raise ProofError(
                f"the power state was read {len(states)} times, but two readings are needed", problem="too-few-readings"
            )
        off = re.compile(target.options.get("power_off") or OFF)
        if not all(off.fullmatch(state) for state in states):
            raise ProofError(f"the power state was read as {', '.join(states)}", problem="not-off")
        return Reading(f"power state {' and '.join(states)}", source_of(answers))


def power_state(result: t.Mapping[str, t.Any], options: t.Mapping[str, t.Any]) -> str:
    """Return the power state in a module's result. Raises :class:`ProofError` unless exactly one resource matches."""
    query, pattern = options.get("power_state_query"), options.get("power_off")
    if query:
        try:
            selection.compiled(query).must_read()
            found = selection.compiled(query).search(dict(result))
        except selection.SelectionError as error:
            raise ProofError(f"power_state_query: {error}", problem="query-without-states") from error
        states = [str(item) for item in (found if isinstance(found, list) else [found]) if item is not None]
    else:
        states = list(_states(result))
        if not states and pattern:
            # Of a command: the operator's own pattern says which line is this machine's.
            states = [match.group(0) for match in re.finditer(pattern, str(result.get("stdout", "")))]
    if len(states) != 1:
        raise ProofError(
            f"the answer of the power module has {len(states)} power states, but the run needs exactly one: select "
            "the state of this machine with a JMESPath expression (power_state_query)",
            problem="no-power-states",
        )
    return states[0]


def _unread(read: t.Optional[t.Mapping[str, t.Any]], options: t.Mapping[str, t.Any]) -> str:
    """Say why a reading is no proof. One that was repeated in vain fails without a message, and has a state."""
    if read and read.get("attempts") and not read.get("msg"):
        try:
            return f"the power state was read as {power_state(read, options)}, {read['attempts']} times"
        except ProofError as error:
            return f"the power state was not read: {error}"
    return f"the power state was not read: {why(read)}"


def _states(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "invocation":
                continue
            if _STATE_KEY.fullmatch(str(key)) and isinstance(item, (str, bool, int)):
                yield str(item)
            else:
                yield from _states(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _states(item)


FENCE = Power()
