# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What reading a host has in common: errors whose own words suffice, and parts that fail each by itself."""

from __future__ import annotations

import threading
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model.host_facts import Unread
from ansible_collections.stackguard.nova.plugins.module_utils.records.journal_read import JournalError

_T = t.TypeVar("_T")


class HostError(Exception):
    """Something on a compute host is not as needed. The message says all, and holds nothing secret."""


class ReadError(HostError):
    """A part cannot be read: why."""


class Parts:
    """Reads parts, one by one, and notes what could not be read."""

    def __init__(self) -> None:
        self.unread: t.List[Unread] = []

    def read(self, part: str, reader: t.Callable[[], _T]) -> t.Optional[_T]:
        """Return the part, or None with a note of why not."""
        try:
            return reader()
        except Exception as error:  # noqa: BLE001 - a part that fails must never fail the whole
            self.note(part, reason(error))
            return None

    def note(self, part: str, why: str) -> None:
        """Note that a part could not be read, or not wholly."""
        self.unread.append(Unread(part, why))


def text_of(path: str, about: str = "") -> t.Optional[str]:
    """Return a file's text; None: there is no such file. Raises ReadError, with ``about`` before the path."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ReadError(f"{about}{path} cannot be read: {error.strerror}") from None


def within(seconds: float, what: str, reader: t.Callable[[], _T]) -> _T:
    """Return what ``reader`` returns, or raise what it raises; ReadError where it has not ended after ``seconds``.

    For calls into libraries that know no time limit. One that hangs is left behind in its thread; it does not keep the
    process from ending.
    """
    outcome: t.List[t.Tuple[t.Optional[_T], t.Optional[BaseException]]] = []

    def run() -> None:
        try:
            outcome.append((reader(), None))
        except BaseException as error:  # noqa: BLE001 - handed over to the caller
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise ReadError(f"{what}: no answer within {seconds:g} s")
    value, error = outcome[0]
    if error is not None:
        raise error
    return t.cast("_T", value)


def reason(error: BaseException) -> str:
    """Return an error's own words; for errors of other kinds their type too."""
    if isinstance(error, (HostError, JournalError)):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return f"{type(error).__name__}: {error}"
