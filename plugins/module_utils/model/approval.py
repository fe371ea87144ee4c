# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What of a plan a person approves: what was decided. Pure.

Check mode shows a plan and its C(plan_sha256). A run that is given this value carries out that plan or refuses. So
the value stands for what was decided (the request, names, rows, the set of servers, the fence) and for nothing that
differs from run to run: ids of operations, times, measurements, and where each server finds room.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing as t

from .findings import Override
from .plan import Change, Plan

Json = t.Dict[str, t.Any]

#: Stands for the id of the operation, which each run makes for itself.
OPERATION_ID = "OPERATION"
#: Differences that a message shows; the rest is counted.
SHOWN = 20


def of_plan(plan: Plan, request: t.Mapping[str, t.Any]) -> Json:
    """Return what was decided, as plain JSON: the request, and each step with the values that it changes.

    ``request``: what was asked for, and the set of servers. Values that are measured again do not count.
    """
    steps = [{"name": step.name, "changes": _of_changes(step.changes)} for step in plan.steps]
    # A plan without a step is of no operation.
    own = plan.operation_id if plan.operation_id != "none" else ""
    text = json.dumps({"operation": plan.kind, "request": dict(request), "steps": steps})
    return t.cast("Json", json.loads(text.replace(own, OPERATION_ID) if own else text))


def _of_changes(changes: t.Iterable[Change]) -> t.List[Json]:
    """In an order of their own: in which a reading returned them says nothing."""
    rows = sorted((entry.where, entry.what, entry.before, entry.after) for entry in changes if not entry.measured)
    return [dict(zip(("where", "what", "before", "after"), row)) for row in rows]


def of_overrides(overrides: t.Iterable[Override]) -> t.List[str]:
    """Return which findings the operator passes. The reason is a person's own words, and decides nothing."""
    return sorted(f"{entry.code} {entry.object}" for entry in overrides)


def sha256(decided: t.Mapping[str, t.Any]) -> str:
    """Return the value that stands for what was decided: 64 hexadecimal digits."""
    text = json.dumps(decided, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def document(decided: t.Mapping[str, t.Any], plan: Plan) -> Json:
    """Return what C(plan.json) holds: what counts, and the whole plan for people."""
    return {"schema": 1, "plan_sha256": sha256(decided), "decided": dict(decided), "plan": dataclasses.asdict(plan)}


def differences(approved: t.Mapping[str, t.Any], now: t.Mapping[str, t.Any]) -> t.List[str]:
    """Return one line for each value that is in one plan only: C(-) approved, C(+) now."""
    before, after = dict(_values(approved)), dict(_values(now))
    lines = []
    for path in [*before, *(path for path in after if path not in before)]:
        if before.get(path) == after.get(path):
            continue
        lines += [f"- {path}: {before[path]}"] if path in before else []
        lines += [f"+ {path}: {after[path]}"] if path in after else []
    left = len(lines) - SHOWN
    return [*lines[:SHOWN], *([f"and {left} more"] if left > 0 else [])]


def _values(value: t.Any, path: str = "") -> t.Iterator[t.Tuple[str, str]]:
    """Each value with its path. An entry of a list is found by what it says, not by its position."""
    if isinstance(value, dict):
        for key, entry in sorted(value.items()):
            yield from _values(entry, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for entry in value:
            if isinstance(entry, dict) and {"name", "changes"} <= set(entry):
                yield f"{path}: {entry['name']}", "in the plan"
                yield from _values(entry["changes"], f"{path} {entry['name']}")
            elif isinstance(entry, dict) and {"where", "what"} <= set(entry):
                yield f"{path}: {entry['where']} {entry['what']}", f"{entry['before']} -> {entry['after']}"
            else:
                yield f"{path} {json.dumps(entry, sort_keys=True)}", "in the plan"
    else:
        yield path, json.dumps(value, sort_keys=True)
