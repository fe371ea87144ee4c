# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The availability zone pins that servers had before they were changed: one file, which a restore takes.

    <state_dir>/pins/old-pins.json

Every old pin of a run is in the file, forced to disk, before the run changes the first pin. A run adds rows and
replaces none: rows that a killed run has written stay. Rows leave the file when their pins are restored.

The file says which run is at work: another one is refused, and a run that was taken over writes no more. It is not in
the state directory itself, where each JSON file is the journal of an operation.

Python 3.9, standard library only.
"""

from __future__ import annotations

import os
import typing as t

from . import journal as journals

Json = t.Dict[str, t.Any]

FOLDER = "pins"
KIND = "old-pins"


def path_of(state_dir: str) -> str:
    """Return the path of the file."""
    return os.path.abspath(journals.path_of(_folder(state_dir), KIND))


def read(state_dir: str) -> t.Optional[Json]:
    """Return what the file holds, or None where there is none. Raises :class:`JournalError`: it cannot be read."""
    return journals.read(_folder(state_dir), KIND)


def begin(
    state_dir: str, about: t.Mapping[str, t.Any], rows: t.Sequence[Json], previous: t.Optional[t.Mapping[str, t.Any]]
) -> None:
    """Add the rows of a run, and let the file be this run's.

    ``about``: C(operation_id), C(run), and what else the file says of the run. ``previous``: C(operation_id) and C(run)
    of the file that the run has read; None: there was none. Raises :class:`JournalError` where that has changed since.
    """
    with journals.locked(state_dir):
        stored = read(state_dir)
        if owner(stored) != (None if previous is None else dict(previous)):
            raise journals.JournalError(
                f"{path_of(state_dir)}: another run has changed pins since this run read them. Run the same command "
                "again"
            )
        _write(state_dir, {**about, "unfinished": True, "rows": [*(stored or {}).get("rows", []), *rows]})


def refuse_another(state_dir: str, run: t.Mapping[str, t.Any]) -> None:
    """Raise :class:`JournalError` (SG707) unless the file is still this run's."""
    with journals.locked(state_dir):
        _of_run(state_dir, run)


def end(
    state_dir: str,
    run: t.Mapping[str, t.Any],
    finished: bool,
    settled: t.Collection[str] = (),
    not_made: t.Collection[str] = (),
) -> None:
    """Let the file be nobody's. Raises :class:`JournalError` (SG707) where it is another run's.

    ``settled``: servers of which nothing is to be restored any more: their rows are removed. ``not_made``: servers
    whose last row, which this run has added, was not carried out: it is removed, for the pin is somebody else's. The
    rows of a restore tell no old pin, and stay until it is finished.
    """
    with journals.locked(state_dir):
        stored = _of_run(state_dir, run)
        rows, unmade = [], set(not_made)
        for row in reversed(stored["rows"]):
            if row["server"] in unmade:
                unmade.remove(row["server"])
            elif not finished if row.get("restores") else row["server"] not in settled:
                rows.append(row)
        _write(state_dir, {**stored, "run": {}, "unfinished": not finished, "rows": rows[::-1]})


def owner(stored: t.Optional[t.Mapping[str, t.Any]]) -> t.Optional[Json]:
    """Return which run the file is of, and which was the last."""
    return None if stored is None else {"operation_id": stored["operation_id"], "run": stored.get("run") or {}}


def _of_run(state_dir: str, run: t.Mapping[str, t.Any]) -> Json:
    stored = read(state_dir)
    if stored is None:
        raise journals.JournalError(f"{path_of(state_dir)} is no longer there")
    if (stored.get("run") or {}) != dict(run):
        raise journals.JournalError(journals.taken_over_text(stored))
    return stored


def _write(state_dir: str, content: t.Mapping[str, t.Any]) -> None:
    folder = _folder(state_dir)
    if not os.path.isdir(folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        journals.sync_directory(state_dir)
    journals.write(folder, {"schema": journals.SCHEMA, "kind": KIND, **content}, indent=None)


def _folder(state_dir: str) -> str:
    return os.path.join(state_dir, FOLDER)
