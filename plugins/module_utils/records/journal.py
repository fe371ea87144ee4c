# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal of an operation: one JSON file, written before and after each step, that survives a kill.

Each write goes to a temporary file, is forced to disk, and takes the journal's name in one rename; then the
directory is forced to disk too. A reader therefore sees a whole journal, the old one or the new one, never a
torn one. One operation of a kind is open at a time in a directory.

What is compared with the journal and then written is one act, under a lock of the directory (C(flock): the kernel
lets go of it when the process ends, however it ends). Runs that name themselves by a token exclude each other here:
see :func:`claim` and :func:`executing`.

Runs on compute hosts: Python 3.9, standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time
import typing as t

from . import journal_read

SCHEMA = journal_read.SCHEMA
JournalError, UnknownJournalError = journal_read.JournalError, journal_read.UnknownJournalError
list_open, path_of, read = journal_read.list_open, journal_read.path_of, journal_read.read
read_record, survey, refusal = journal_read.read_record, journal_read.survey, journal_read.refusal
VERSION, problem, finisher = journal_read.VERSION, journal_read.problem, journal_read.finisher

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

#: Seconds without a sign of life after which another run may take an operation up.
LEASE = 60
#: Seconds to wait until the request of another run, which executes here, ends.
PATIENCE = 30


def open_new(directory: str, journal: t.Dict[str, t.Any], ended: t.Optional[int] = None) -> None:
    """Create the journal of a new operation. Raises :class:`JournalError` where one is open already.

    ``ended``: how many operations of this kind had ended when the plan was made (:func:`count_closed`). Where it is
    another number now, an operation came in between and the plan is of a time before it.
    """
    path = path_of(directory, journal["kind"])
    with locked(directory):
        if ended is not None and count_closed(directory, journal["kind"]) != ended:
            raise JournalError(
                f"{path}: another operation has ended since the run made this plan. Run the same command again",
                problem="another-ended",
            )
        try:
            # A link refuses what is there already, whoever made it.
            _store(path, journal, os.link)
        except FileExistsError:
            raise JournalError(f"{path}: an operation is already open", problem="operation-already-open") from None


def write(directory: str, journal: t.Dict[str, t.Any], indent: t.Optional[int] = 1) -> None:
    """Replace the journal, atomically and durably. ``indent``: None for one of many rows; json indents in Python."""
    _store(path_of(directory, journal["kind"]), journal, os.replace, indent)


def _store(
    path: str, journal: t.Dict[str, t.Any], place: t.Callable[[str, str], None], indent: t.Optional[int] = 1
) -> None:
    temporary = f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        descriptor = os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            # In one piece: json.dump writes each word by itself.
            stream.write(json.dumps(journal, indent=indent, sort_keys=indent is not None) + "\n")
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
    with locked(directory):
        stored = read(directory, journal["kind"])
        if stored is None or stored.get("operation_id") != journal["operation_id"]:
            raise JournalError(
                f"{path_of(directory, journal['kind'])} contains no open journal of operation {journal['operation_id']}"
            )
        _refuse_of_another(stored, journal.get("run") if before is None else before)
        others = in_transit_of_others(directory, journal) if counted is not None else []
        if any(label(entry) not in (counted or ()) for entry in others):
            return others
        write(directory, journal)
        return []


def in_transit(journal: t.Mapping[str, t.Any]) -> t.List[t.Dict[str, t.Any]]:
    """Return the servers that an operation has sent, or is about to, and that have not arrived, by its journal."""
    memory = journal.get("memory") or {}
    return [dict(entry) for entry in (*(memory.get("in_transit") or []), *(memory.get("intended") or []))]


def in_transit_of_others(directory: str, journal: t.Mapping[str, t.Any]) -> t.List[t.Dict[str, t.Any]]:
    """Return what every other open operation of this directory has in transit. Raises :class:`JournalError`."""
    mine = journal.get("operation_id")
    others = [entry for entry in list_open(directory) if entry.get("operation_id") != mine]
    return [entry for other in others for entry in in_transit(other)]


def label(entry: t.Mapping[str, t.Any]) -> str:
    """Return what tells one server in transit from another: where it goes is a part of it."""
    return f"{entry.get('uuid')} {entry.get('target')}"


@contextlib.contextmanager
def locked(directory: str) -> t.Iterator[None]:
    """Hold the lock of a directory while the block runs. Raises :class:`JournalError` where it is not to be had."""
    _make_directory(directory)
    with _flock(os.path.join(directory, ".lock")):
        yield


@contextlib.contextmanager
def _flock(path: str) -> t.Iterator[int]:
    """Hold a lock while the block runs. The descriptor is closed in children that are executed (PEP 446)."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        waited = 0.0
        while not _taken(descriptor):
            if waited >= PATIENCE:
                raise JournalError(f"{path}: {_holder_text(descriptor)} has held the lock for more than {PATIENCE} s")
            time.sleep(0.1)
            waited += 0.1
        yield descriptor
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder_text(descriptor: int) -> str:
    seen = _sign(descriptor)
    return f"process {seen['pid']} ({seen['what']})" if seen else "a process"


def mark(
    directory: str,
    kind: str,
    operation_id: str,
    note: t.Mapping[str, t.Any],
    token: t.Optional[str] = None,
    run: t.Optional[t.Mapping[str, t.Any]] = None,
) -> None:
    """Note one event in the open journal: ``{"at", "step", "step_state", "state", "text", "memory"}``.

    All but ``at`` are optional. ``memory`` is kept for later steps under the step's name. ``token``: of the run that
    marks, where the operation is one run's; ``run``: that run, as its journal names it.

    Raises :class:`JournalError` where the open journal is not that operation's, or another run's.
    """
    with locked(directory):
        stored = _of_run(directory, kind, operation_id, token)
        if run is not None:
            _refuse_of_another(stored, run)
        write(directory, noted(stored, note))


# --- one operation, one run ---------------------------------------------------------------------------------------


def claim(
    directory: str,
    kind: str,
    operation_id: str,
    run: t.Mapping[str, t.Any],
    previous: t.Optional[str],
    certain: bool = False,
    at: str = "",
) -> t.Dict[str, t.Any]:
    """Give an open operation to a run, and return its journal as it is then.

    ``run``: who takes it up, with its ``token``. ``previous``: the token of the run that was seen to have it, or None:
    where that is no longer so, another one was faster. ``certain``: that run is known to have ended, or its operator
    says so; otherwise it must have ended by itself, or have given no sign of life here for LEASE seconds.

    Raises :class:`JournalError`, and SG707 in it where another run has the operation.
    """
    _make_directory(directory)
    with _flock(_run_lock(directory, kind)) as signs, locked(directory):
        journal = _open(directory, kind, operation_id)
        before = journal.get("run") or {}
        token = before.get("token")
        if not isinstance(token, str):
            why = "the journal names no run that can be asked"
            raise UnknownJournalError([journal_read.unknown_of(directory, kind, journal, why)])
        if token != previous:
            raise JournalError(f"SG707 lock-held: {run_text(before)} resumed operation {operation_id} a moment ago")
        if not (certain or before.get("ended")):
            _refuse_while_it_may_live(signs, before)
        event = {"at": at, "text": f"resumed by {run_text(run)}"}
        journal = noted({**journal, "run": dict(run)}, event)
        write(directory, journal)
        _give_sign(signs, str(run["token"]), "claim")
        return journal


@contextlib.contextmanager
def executing(directory: str, holder: t.Mapping[str, t.Any], what: str, opens: bool = False) -> t.Iterator[None]:
    """Execute one request of a run: no other run can take its operation up before the request has ended.

    ``holder``: ``{"kind", "operation_id", "token"}``. ``opens``: the request opens the journal.

    Raises :class:`JournalError` where another run has taken the operation up, or it is no longer open.
    """
    kind, token = str(holder["kind"]), str(holder["token"])
    _make_directory(directory)
    with _flock(_run_lock(directory, kind)) as signs:
        if not opens:
            _of_run(directory, kind, str(holder["operation_id"]), token)
        _give_sign(signs, token, what)
        yield
        _give_sign(signs, token, "nothing")


def refuse_of_another(directory: str, kind: str, operation_id: str, run: t.Mapping[str, t.Any]) -> None:
    """Raise :class:`JournalError` (SG707) where another run has an operation, or has ended it."""
    with locked(directory):
        _refuse_of_another(_open(directory, kind, operation_id), run)


def release(directory: str, kind: str, operation_id: str, token: str, at: str) -> None:
    """Note that a run has ended, with its operation open: the next one need not wait. Nothing where it is closed."""
    with locked(directory):
        journal = read(directory, kind)
        if journal is None or journal["operation_id"] != operation_id:
            return
        run = journal.get("run") or {}
        if run.get("token") == token:
            write(directory, {**journal, "run": {**run, "ended": at}})


def run_text(run: t.Mapping[str, t.Any]) -> str:
    """Return who a run is, for people."""
    who = "@".join(str(run[key]) for key in ("operator", "controller") if run.get(key)) or "an unknown controller"
    begun = f", begun {run['begun_at']}" if run.get("begun_at") else ""
    return f"a run of {who} (process {run.get('pid', '?')}{begun})"


def taken_over_text(journal: t.Mapping[str, t.Any]) -> str:
    """Return why the run of an operation ends that another run has taken up."""
    who, operation = run_text(journal.get("run") or {}), journal["operation_id"]
    return f"SG707 lock-held: {who} has taken over operation {operation}, so this run ends"


def _run_lock(directory: str, kind: str) -> str:
    return os.path.join(directory, f".{kind}.run")


def _open(directory: str, kind: str, operation_id: str) -> t.Dict[str, t.Any]:
    journal = read(directory, kind)
    if journal is None or journal.get("operation_id") != operation_id:
        raise JournalError(
            f"SG707 lock-held: {path_of(directory, kind)}: operation {operation_id} is not the open operation: another "
            "run has ended it",
            problem="operation-not-open",
        )
    return journal


def _of_run(directory: str, kind: str, operation_id: str, token: t.Optional[str]) -> t.Dict[str, t.Any]:
    journal = _open(directory, kind, operation_id)
    run = journal.get("run") or {}
    if run.get("token") != token or (token is not None and run.get("ended")):
        raise JournalError(taken_over_text(journal))
    return journal


def _refuse_of_another(stored: t.Mapping[str, t.Any], run: t.Optional[t.Mapping[str, t.Any]]) -> None:
    if (stored.get("run") or {}) != (run or {}):
        raise JournalError(taken_over_text(stored))


def _refuse_while_it_may_live(signs: int, run: t.Mapping[str, t.Any]) -> None:
    seen = _sign(signs)
    if seen is None or seen.get("token") != run["token"]:
        # Nothing says when it lived last: from now on there is such a sign.
        _give_sign(signs, str(run["token"]), "nothing")
        age = 0
    else:
        # A sign from before a reboot is at least as old as the system is up.
        now = _uptime()
        age = int(now - seen["at"] if seen["boot_id"] == _boot_id() else now)
    if age < LEASE:
        raise JournalError(
            f"SG707 lock-held: {run_text(run)} was alive {age} s ago. Wait {LEASE - age} s, then run the same command "
            "again. If you know that the run with the lock has ended, set stackguard_take_over=true"
        )


def _give_sign(descriptor: int, token: str, what: str) -> None:
    """Write who is at work here, and when. One line in one write: a process that is killed leaves the old or the new.

    By this host's own clock since its boot: no other clock is compared with it, and nobody sets it.
    """
    sign = {"token": token, "pid": os.getpid(), "what": what, "boot_id": _boot_id(), "at": _uptime()}
    line = (json.dumps(sign) + "\n").encode()
    os.pwrite(descriptor, line, 0)
    os.ftruncate(descriptor, len(line))


def _sign(descriptor: int) -> t.Optional[t.Dict[str, t.Any]]:
    try:
        found = json.loads(os.pread(descriptor, 4096, 0).partition(b"\n")[0])
    except ValueError:
        return None
    return found if isinstance(found, dict) and {"token", "pid", "what", "boot_id", "at"} <= set(found) else None


def _uptime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
        return stream.read().strip()


# --- changes of the journal ---------------------------------------------------------------------------------------


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
    """Write the final state, put the journal among the closed ones, and return its new path.

    Raises :class:`JournalError` where that operation is not open, or another run has it.
    """
    if journal.get("state") not in FINAL:
        raise JournalError(
            f"operation {journal.get('operation_id')} is {journal.get('state')}, so the run cannot close the journal",
            problem="operation-cannot-close",
        )
    path = path_of(directory, journal["kind"])
    closed = os.path.join(directory, "closed")
    target = os.path.join(closed, f"{journal['kind']}-{journal['operation_id']}.json")
    with locked(directory):
        stored = _open(directory, journal["kind"], journal["operation_id"])
        _refuse_of_another(stored, journal.get("run"))
        write(directory, journal)
        _make_directory(closed)
        os.replace(path, target)
        sync_directory(closed)
        sync_directory(directory)
    return target


def count_closed(directory: str, kind: str) -> int:
    """Return how many operations of a kind have ended here. Raises :class:`JournalError`."""
    return len(_closed_names(directory, kind))


def _closed_names(directory: str, kind: str) -> t.List[str]:
    closed = os.path.join(directory, "closed")
    try:
        names = sorted(os.listdir(closed))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise JournalError(f"{closed}: {error}") from error
    return [name for name in names if name.startswith(f"{kind}-") and name.endswith(".json")]


def list_closed(directory: str, kind: str) -> t.List[t.Dict[str, t.Any]]:
    """Return the closed journals of a kind, the oldest first. Raises :class:`JournalError`."""
    closed = os.path.join(directory, "closed")
    journals = [read_record(closed, name[: -len(".json")]) for name in _closed_names(directory, kind)]
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
