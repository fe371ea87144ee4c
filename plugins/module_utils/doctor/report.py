# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the doctor found, as a table for people and as JSON for programs. Pure."""

from __future__ import annotations

import dataclasses
import json
import textwrap
import typing as t

from ..model.doctor import (
    FAILED,
    NOT_CHECKED,
    OK,
    Asked,
    Result,
    passes,
)
from ..model.wording import count

SCHEMA = 1
_STATES = (FAILED, NOT_CHECKED, OK)
_WIDTH = 150
#: Subjects of the table that is folded: a thousand hosts with nothing wrong are one line.
_MANY = 8


def counts(results: t.Sequence[Result]) -> t.Dict[str, int]:
    """Return the number of results by state."""
    return {state.replace(" ", "_"): sum(1 for result in results if result.state == state) for state in _STATES}


def report(results: t.Sequence[Result], asked: Asked, generated_at: str) -> t.Dict[str, t.Any]:
    """Return what doctor.json holds."""
    return {
        "schema": SCHEMA,
        "verdict": "pass" if passes(results, asked.accepted) else "block",
        "generated_at": generated_at,
        "sources": list(asked.sources),
        "operations": list(asked.operations),
        "accepted_unchecked": list(asked.accepted),
        "counts": counts(results),
        "results": [dataclasses.asdict(result) for result in results],
    }


def report_json(plain: t.Mapping[str, t.Any]) -> str:
    """Return doctor.json."""
    return json.dumps(plain, indent=1, sort_keys=True) + "\n"


def table(results: t.Sequence[Result], accepted: t.Sequence[str]) -> str:
    """Return what failed with its fixes, what was not checked, and a line for each part that is ok."""
    rows = [line for state in _STATES for line in _rows([r for r in results if r.state == state], state, accepted)]
    return "\n".join([*rows, summary(results)])


def summary(results: t.Sequence[Result]) -> str:
    """Return the numbers in one line."""
    numbers = counts(results)
    states = ", ".join(f"{numbers[state.replace(' ', '_')]} {state}" for state in (OK, FAILED, NOT_CHECKED))
    return f"{count(len(results), 'check')}: {states}"


def _rows(results: t.Sequence[Result], state: str, accepted: t.Sequence[str]) -> t.Iterator[str]:
    alike: t.Dict[t.Tuple[str, ...], t.List[Result]] = {}
    for result in results:
        # Of what is ok nobody reads a thousand rows. What is wrong differs in its words, or is one thing to do.
        key = (result.source, result.part, "" if state == OK else f"{result.seen}\n{result.fix}")
        alike.setdefault(key, []).append(result)
    for group in alike.values():
        yield from _row(group, state, accepted)


def _row(group: t.Sequence[Result], state: str, accepted: t.Sequence[str]) -> t.Iterator[str]:
    first = group[0]
    names = [result.subject for result in group]
    subject = names[0] if len(names) == 1 else f"{', '.join(names[:_MANY])}"
    if len(names) > _MANY:
        subject += f" and {len(names) - _MANY} more"
    label = "accepted" if state == NOT_CHECKED and first.part in accepted else state
    seen = first.seen if state != OK or len(group) == 1 else ""
    yield f"{label:11}  {first.part:16}  {subject}"
    if seen:
        yield from _indented("seen", seen)
    if first.fix:
        yield from _indented("do", first.fix, wrap=False)


def _indented(word: str, text: str, wrap: bool = True) -> t.Iterator[str]:
    lines = [line for part in text.splitlines() for line in (textwrap.wrap(part, _WIDTH) if wrap else [part])]
    for number, line in enumerate(lines):
        # A command is one line, to be copied.
        yield f"             {word + ':' if number == 0 else '':6}{line}"
