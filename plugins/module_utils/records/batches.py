# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rows of an operation that changes very many, beside its journal: one file for each batch.

A batch is written (whole, forced to disk) before its transaction is committed, and takes another name when it is known
how that ended: the journal itself stays small however many rows there are.

    <state_dir>/<kind>-<operation id>/batch-000001.json            about to be committed
                                      batch-000001.done.json       committed
                                      batch-000001.void.json       not committed
                                      batch-000001.undone.json     taken back
                                      batch-000001.unproven.json   perhaps committed: never to be taken back

Python 3.9, standard library only.
"""

from __future__ import annotations

import os
import re
import typing as t

from . import journal as journals

WRITTEN = "written"
DONE = "done"
VOID = "void"
UNDONE = "undone"
UNPROVEN = "unproven"
STATES = (DONE, VOID, UNDONE, UNPROVEN)

_NAME = re.compile(r"batch-(\d{6,})(?:\.(done|void|undone|unproven))?\.json")


def directory(state_dir: str, kind: str, operation_id: str) -> str:
    """Return where an operation's batches are. Raises :class:`JournalError` for what is no operation id."""
    if not re.fullmatch(r"[0-9a-z_]+", kind) or not re.fullmatch(r"[0-9A-Za-z-]+", operation_id):
        raise journals.JournalError(f"{kind}: {operation_id} is not the id of an operation")
    return os.path.join(state_dir, f"{kind}-{operation_id}")


def write(place: str, number: int, rows: t.Sequence[t.Any]) -> None:
    """Write a batch, before its commit. Raises :class:`JournalError`."""
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
    except OSError as error:
        raise journals.JournalError(f"{place}: {error}") from error
    journals.write(place, {"schema": journals.SCHEMA, "kind": f"batch-{number:06}", "rows": list(rows)}, indent=None)


def mark(place: str, number: int, state: str) -> None:
    """Note how a batch ended. Raises :class:`JournalError` for one that is not there."""
    if state not in STATES:
        raise journals.JournalError(f"{place}: {state} is not a valid state of a batch")
    found = states(place)
    if number not in found:
        raise journals.JournalError(f"{place}: there is no batch {number}")
    try:
        os.replace(_path(place, number, found[number]), _path(place, number, state))
        journals.sync_directory(place)
    except OSError as error:
        raise journals.JournalError(f"{place}: {error}") from error


def states(place: str) -> t.Dict[int, str]:
    """Return the batches of an operation and their states, in order. Raises :class:`JournalError`."""
    try:
        names = os.listdir(place)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise journals.JournalError(f"{place}: {error}") from error
    matches = [match for match in map(_NAME.fullmatch, names) if match]
    return {
        int(match.group(1)): match.group(2) or WRITTEN for match in sorted(matches, key=lambda match: match.group(0))
    }


def read(place: str, number: int) -> t.List[t.Any]:
    """Return the rows of a batch. Raises :class:`JournalError`."""
    state = states(place).get(number)
    if state is None:
        raise journals.JournalError(f"{place}: there is no batch {number}")
    journal = journals.read_record(place, os.path.basename(_path(place, number, state))[: -len(".json")])
    return list((journal or {}).get("rows", []))


def _path(place: str, number: int, state: str) -> str:
    suffix = "" if state == WRITTEN else f".{state}"
    return os.path.join(place, f"batch-{number:06}{suffix}.json")
