# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading open journals. It is a file of its own since every compute host that is read gets it, and compiles it.

Every C(*.json) in a journal directory is an open journal. One that this version does not understand is never taken for
"no journal", and never for one of which only a part counts: it is an :class:`UnknownJournal`, and each operation that
looks for open journals there refuses (SG706).
"""

from __future__ import annotations

import json
import os
import typing as t

from ..model.host_facts import UnknownJournal
from ..model.problems import ProblemError

#: Of the journals of version 0.2.0 and newer. Those of version 0.1 have the same number, and another content.
SCHEMA = 1
#: The key of the version of the collection that wrote a journal last; version 0.2.0 did not note it.
VERSION = "collection_version"
#: Kinds of operations of which a directory has one journal, and beginnings of kinds with one for each host or server.
KINDS = ("maintain", "migrate", "remove", "rename", "repair_links")
KINDS_OF_ONE = ("arrival-", "enable-", "evacuate-", "resize-", "return-", "unshelve-")
#: What the description of every operation has had since version 0.2.0, be it empty.
PLAN = "plan_sha256"
STATES = ("open", "rolling-back", "finished", "rolled-back")

OF_0_1 = "version 0.1 of the collection"
OF_0_2 = "version 0.2.0 of the collection"
NEWER = "a newer version of the collection"
WRITER = "the version of the collection that wrote the file"

Json = t.Dict[str, t.Any]


class JournalError(ProblemError):
    """A journal that cannot be opened, read or written: which file, and why."""


class UnknownJournalError(JournalError):
    """Journals that this version does not understand (SG706): which files, why, and which version finishes them."""

    def __init__(self, unknown: t.Sequence[UnknownJournal]) -> None:
        super().__init__(refusal(unknown))
        self.unknown = tuple(unknown)


def path_of(directory: str, kind: str) -> str:
    """Return the file of the open operation of a kind."""
    return os.path.join(directory, f"{kind}.json")


def read(directory: str, kind: str) -> t.Optional[Json]:
    """Return the open journal of a kind, or None where there is none.

    Raises :class:`UnknownJournalError` for one that cannot be read or is of another schema. Whether its content is
    understood is seen by :func:`survey`.
    """
    found, why = _load(path_of(directory, kind))
    if why is None:
        return t.cast("t.Optional[Json]", found)
    raise UnknownJournalError([unknown_of(directory, kind, found, why)])


def read_record(directory: str, name: str) -> t.Optional[Json]:
    """Return a file of ours that is no open journal, such as a closed one. Raises :class:`JournalError`."""
    path = path_of(directory, name)
    found, why = _load(path)
    if why is None:
        return t.cast("t.Optional[Json]", found)
    raise JournalError(f"{path}: {why}")


def survey(directory: str) -> t.Tuple[t.List[Json], t.List[UnknownJournal]]:
    """Return every open journal of a directory, of whatever kind, and those that this version does not understand.

    Raises :class:`JournalError` where the directory cannot be read.
    """
    journals: t.List[Json] = []
    unknown: t.List[UnknownJournal] = []
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return journals, unknown
    except OSError as error:
        raise JournalError(f"{directory}: {error}") from error
    for kind in (name[: -len(".json")] for name in names if name.endswith(".json")):
        found, why = _load(path_of(directory, kind))
        if found is None and why is None:
            continue  # It was closed a moment ago.
        why = why or problem(found, kind)
        if why is None:
            journals.append(found)
        else:
            unknown.append(unknown_of(directory, kind, found, why))
    return journals, unknown


def list_open(directory: str) -> t.List[Json]:
    """Return every open journal of a directory, of whatever kind.

    Raises :class:`UnknownJournalError` where this version does not understand one of them.
    """
    journals, unknown = survey(directory)
    if unknown:
        raise UnknownJournalError(unknown)
    return journals


def problem(journal: t.Mapping[str, t.Any], kind: str) -> t.Optional[str]:
    """Return why this version does not understand an open journal of its schema; None: it does."""
    if kind not in KINDS and not kind.startswith(KINDS_OF_ONE):
        return f"the kind of operation {kind} is unknown"
    if journal.get("kind") != kind:
        return f"the file contains the journal of another kind of operation, {journal.get('kind')}"
    if not isinstance(journal.get("operation_id"), str) or not journal["operation_id"]:
        return "the journal has no operation id"
    if journal.get("state") not in STATES:
        return f"the state {journal.get('state')} is unknown"
    parts = {"about": dict, "steps": dict, "plan": dict, "run": dict, "history": list}
    wrong = [name for name, cls in parts.items() if not isinstance(journal.get(name), cls)]
    if "about" not in wrong and PLAN not in journal["about"]:
        wrong.append(f"about.{PLAN}")
    # Who takes up a rename proves by it that the run before has ended.
    if kind == "rename" and "run" not in wrong and not isinstance(journal["run"].get("token"), str):
        wrong.append("run.token")
    return f"the journal has no {', '.join(wrong)}" if wrong else None


def refusal(unknown: t.Sequence[UnknownJournal]) -> str:
    """Return why nothing is begun, resumed or ended beside such journals."""
    return " ".join(
        f"SG706 operation-open: this version of the collection does not understand the journal {entry.path} "
        f"({entry.reason}). Its operation may be unfinished. Finish the operation with {entry.finish_with}, then run "
        "the same command again."
        for entry in unknown
    )


def _load(path: str) -> t.Tuple[t.Any, t.Optional[str]]:
    """Return what a file holds, and why it is no journal of this schema. None and None: there is no file."""
    try:
        with open(path, encoding="utf-8") as stream:
            found = json.load(stream)
    except FileNotFoundError:
        return None, None
    except OSError as error:
        return None, f"the file cannot be read: {error.strerror}"
    except (ValueError, RecursionError) as error:
        return None, f"the file is not JSON: {error}"
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        return found, f"the file is not a journal of schema {SCHEMA}"
    return found, None


def unknown_of(directory: str, kind: str, found: t.Any, why: str) -> UnknownJournal:
    """Return what is known of a file that is not understood. ``found``: its content, as far as it is JSON."""
    journal: t.Mapping[str, t.Any] = found if isinstance(found, dict) else {}
    about = journal.get("about") if isinstance(journal.get("about"), dict) else {}
    schema = journal.get("schema")
    return UnknownJournal(
        path_of(directory, kind),
        why,
        finisher(journal, kind),
        _text(journal.get("kind")) or kind,
        _text(journal.get("operation_id")),
        _text(schema),
        _text(journal.get(VERSION)),
        _text((about or {}).get("host")),
    )


def finisher(journal: t.Mapping[str, t.Any], kind: str) -> str:
    """Return which version of the collection ends the operation."""
    version, schema = _text(journal.get(VERSION)), journal.get("schema")
    if version is not None:
        return f"version {version} of the collection"
    if isinstance(schema, int) and schema > SCHEMA:
        return NEWER
    if kind == "zone-pins":
        return OF_0_2
    about = journal.get("about")
    old = schema == SCHEMA and isinstance(about, dict) and PLAN not in about
    # One for all dead hosts: only version 0.1 had that file.
    return OF_0_1 if old or kind == "evacuate" else WRITER


def _text(value: t.Any) -> t.Optional[str]:
    return str(value) if isinstance(value, (str, int)) and value != "" else None
