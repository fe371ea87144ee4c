# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading open journals. It is a file of its own since every compute host that is read gets it, and compiles it."""

from __future__ import annotations

import json
import os
import typing as t

from ..model.problems import ProblemError

SCHEMA = 1


class JournalError(ProblemError):
    """A journal that cannot be opened, read or written: which file, and why."""


def path_of(directory: str, kind: str) -> str:
    """Return the file of the open operation of a kind."""
    return os.path.join(directory, f"{kind}.json")


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
        raise JournalError(f"{path}: the file is not a journal of schema {SCHEMA}")
    return journal


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
