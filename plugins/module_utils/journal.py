# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal of an operation: one JSON file, written before and after each step, that survives a kill.

Each write goes to a temporary file, is forced to disk, and takes the journal's name in one rename; then the
directory is forced to disk too. A reader therefore sees a whole journal, the old one or the new one, never a
torn one. One operation of a kind is open at a time in a directory: opening uses C(O_EXCL).

Runs on compute hosts: Python 3.9, standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import typing as t

SCHEMA = 1

#: States of a step.
PENDING = "pending"
APPLYING = "applying"
DONE = "done"
UNDOING = "undoing"
UNDONE = "undone"

#: States of an operation; the last two are final.
OPEN = "open"
ROLLING_BACK = "rolling-back"
FINISHED = "finished"
ROLLED_BACK = "rolled-back"
FINAL = (FINISHED, ROLLED_BACK)


class JournalError(Exception):
    """A journal that cannot be opened, read or written: which file, and why."""


def path_of(directory: str, kind: str) -> str:
    """Return the file of the open operation of a kind."""
    return os.path.join(directory, f"{kind}.json")


def open_new(directory: str, journal: t.Dict[str, t.Any]) -> None:
    """Create the journal of a new operation. Raises :class:`JournalError` where one is open already."""
    _make_directory(directory)
    path = path_of(directory, journal["kind"])
    claim = path + ".claim"
    try:
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        # A claim without a journal is an opening that was killed before it wrote anything: it holds nothing.
        if os.path.exists(path):
            raise JournalError(f"{path}: an operation is open already") from None
    if os.path.exists(path):
        raise JournalError(f"{path}: an operation is open already")
    try:
        # Of two openings at once, one may find the claim of the other before its journal: only a link can refuse.
        _store(path, journal, os.link)
    except FileExistsError:
        raise JournalError(f"{path}: an operation is open already") from None


def read(directory: str, kind: str) -> t.Optional[t.Dict[str, t.Any]]:
    """Return the open journal of a kind, or None where there is none.

    Raises :class:`JournalError` for one that cannot be read: that is never taken for "no journal".
    """
    path = path_of(directory, kind)
    try:
        with open(path, encoding="utf-8") as stream:
            journal = json.load(stream)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise JournalError(f"{path}: {error}") from error
    if not isinstance(journal, dict) or journal.get("schema") != SCHEMA:
        raise JournalError(f"{path}: not a journal of schema {SCHEMA}")
    return journal


def write(directory: str, journal: t.Dict[str, t.Any]) -> None:
    """Replace the journal, atomically and durably."""
    _store(path_of(directory, journal["kind"]), journal, os.replace)


def _store(path: str, journal: t.Dict[str, t.Any], place: t.Callable[[str, str], None]) -> None:
    temporary = f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        descriptor = os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(journal, stream, indent=1, sort_keys=True)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        place(temporary, path)
        if os.path.exists(temporary):
            os.unlink(temporary)
        sync_directory(os.path.dirname(path))
    except FileExistsError:
        os.unlink(temporary)
        raise
    except OSError as error:
        raise JournalError(f"{path}: {error}") from error


def put(
    directory: str,
    journal: t.Dict[str, t.Any],
    before: t.Optional[t.Mapping[str, t.Any]] = None,
    counted: t.Optional[t.Collection[str]] = None,
) -> t.List[t.Dict[str, t.Any]]:
    """Replace an open journal, if the run that it names still has it.

    ``before``: the run that had it until now, where another one takes it up. ``counted``: servers in transit of other
    operations that this one has counted (C(UUID HOST)); where others have sent more since, nothing is written and the
    list of what they have in transit is returned. Comparing and writing is one act, under a lock of the directory.

    Raises :class:`JournalError` where another run has taken the operation up, or it is no longer open.
    """
    with _locked(directory):
        stored = read(directory, journal["kind"])
        if stored is None or stored.get("operation_id") != journal["operation_id"]:
            raise JournalError(
                f"{path_of(directory, journal['kind'])}: operation {journal['operation_id']} is not open"
            )
        if stored.get("run") != (journal.get("run") if before is None else before):
            raise JournalError(f"operation {journal['operation_id']} was taken up by another run: this one ends")
        others = in_transit_of_others(directory, journal) if counted is not None else []
        if any(label(entry) not in (counted or ()) for entry in others):
            return others
        write(directory, journal)
        return []


def in_transit(journal: t.Mapping[str, t.Any]) -> t.List[t.Dict[str, t.Any]]:
    """Return the servers that an operation has sent, or is about to, and that have not arrived, by its journal."""
    memory = journal.get("memory") or {}
    # C(riding): what version 0.1 of this collection called them.
    sent = memory["in_transit"] if "in_transit" in memory else memory.get("riding") or []
    return [dict(entry) for entry in (*sent, *(memory.get("intended") or []))]


def in_transit_of_others(directory: str, journal: t.Mapping[str, t.Any]) -> t.List[t.Dict[str, t.Any]]:
    """Return what every other open operation of this directory has in transit. Raises :class:`JournalError`."""
    mine = journal.get("operation_id")
    others = [entry for entry in list_open(directory) if entry.get("operation_id") != mine]
    return [entry for other in others for entry in in_transit(other)]


def label(entry: t.Mapping[str, t.Any]) -> str:
    """Return what tells one server in transit from another: where it goes is a part of it."""
    return f"{entry.get('uuid')} {entry.get('target')}"


@contextlib.contextmanager
def _locked(directory: str) -> t.Iterator[None]:
    _make_directory(directory)
    descriptor = os.open(os.path.join(directory, ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def mark(directory: str, kind: str, operation_id: str, note: t.Mapping[str, t.Any]) -> None:
    """Note one event in the open journal: ``{"at", "step", "step_state", "state", "text", "memory"}``.

    All but ``at`` are optional. ``memory`` is kept for later steps under the step's name.

    Raises :class:`JournalError` where the open journal is not that operation's: two runs never share one.
    """
    journal = read(directory, kind)
    if journal is None or journal.get("operation_id") != operation_id:
        raise JournalError(f"{path_of(directory, kind)}: operation {operation_id} is not the open one")
    write(directory, noted(journal, note))


def noted(journal: t.Mapping[str, t.Any], note: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """Return the journal with an event noted. Pure."""
    result = dict(journal)
    if note.get("state"):
        result["state"] = note["state"]
    if note.get("step"):
        result["steps"] = {**journal.get("steps", {}), note["step"]: note.get("step_state", PENDING)}
    if note.get("memory") is not None:
        result["memory"] = {**journal.get("memory", {}), note["step"]: note["memory"]}
    result["updated_at"] = note["at"]
    event = {key: value for key, value in note.items() if value is not None}
    result["history"] = [*journal.get("history", []), event]
    return result


def close(directory: str, journal: t.Dict[str, t.Any]) -> str:
    """Write the final state, put the journal among the closed ones, and return its new path."""
    if journal.get("state") not in FINAL:
        raise JournalError(f"operation {journal.get('operation_id')} is {journal.get('state')}: not to be closed")
    write(directory, journal)
    path = path_of(directory, journal["kind"])
    closed = os.path.join(directory, "closed")
    _make_directory(closed)
    target = os.path.join(closed, f"{journal['kind']}-{journal['operation_id']}.json")
    os.replace(path, target)
    if os.path.exists(path + ".claim"):
        os.unlink(path + ".claim")
    sync_directory(closed)
    sync_directory(directory)
    return target


def list_open(directory: str) -> t.List[t.Dict[str, t.Any]]:
    """Return every open journal of a directory, of whatever kind. Raises :class:`JournalError`."""
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise JournalError(f"{directory}: {error}") from error
    journals = [read(directory, name[: -len(".json")]) for name in names if name.endswith(".json")]
    return [journal for journal in journals if journal is not None]


def list_closed(directory: str, kind: str) -> t.List[t.Dict[str, t.Any]]:
    """Return the closed journals of a kind, the oldest first. Raises :class:`JournalError`."""
    closed = os.path.join(directory, "closed")
    try:
        names = sorted(os.listdir(closed))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise JournalError(f"{closed}: {error}") from error
    wanted = [name for name in names if name.startswith(f"{kind}-") and name.endswith(".json")]
    journals = [read(closed, name[: -len(".json")]) for name in wanted]
    return sorted(
        (journal for journal in journals if journal is not None),
        key=lambda journal: (str(journal.get("started_at")), str(journal.get("operation_id"))),
    )


def _make_directory(directory: str) -> None:
    os.makedirs(directory, mode=0o700, exist_ok=True)
    os.chmod(directory, 0o700)


def sync_directory(directory: str) -> None:
    """Force a directory's entries to disk. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
