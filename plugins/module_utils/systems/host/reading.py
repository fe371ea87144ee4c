# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What reading a host has in common: errors whose own words suffice, and parts that fail each by itself."""

from __future__ import annotations

import functools
import threading
import typing as t

from ...model.host_facts import Unread
from ...model.problems import ProblemError
from ...records.journal_read import JournalError

_A = t.TypeVar("_A")
_T = t.TypeVar("_T")


class HostError(ProblemError):
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
    call = _Call(reader)
    call.start()
    call.join(seconds)
    if call.is_alive():
        raise ReadError(f"{what}: no answer within {seconds:g} s", problem="timed-out")
    return call.result()


def side_by_side(function: t.Callable[[_A], _T], items: t.Iterable[_A]) -> t.List[_T]:
    """Return what ``function`` returns for each item, in their order, each in a thread of its own.

    For few items that each may wait. The pools of C(concurrent.futures) import logging, which costs each host 5 ms.
    """
    calls = [_Call(functools.partial(function, item)) for item in items]
    for call in calls:
        call.start()
    return [call.result() for call in calls]


class _Call(threading.Thread, t.Generic[_T]):
    """One call in a thread. It does not keep the process from ending."""

    def __init__(self, function: t.Callable[[], _T]) -> None:
        super().__init__(daemon=True)
        self._function = function
        self._value: t.Optional[t.Tuple[_T]] = None
        self._error: t.Optional[BaseException] = None

    def run(self) -> None:
        """Keep what the function returns or raises."""
        try:
            self._value = (self._function(),)
        except BaseException as error:  # noqa: BLE001 - handed over to the caller
            self._error = error

    def result(self) -> _T:
        """Wait for its end, and return what it returned. Raises what it raised."""
        self.join()
        if self._value is None:
            raise self._error or RuntimeError("a thread of the run ended without a result and without an error")
        return self._value[0]


def reason(error: BaseException) -> str:
    """Return an error's own words; for errors of other kinds their type too."""
    if isinstance(error, (HostError, JournalError)):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return f"{type(error).__name__}: {error}"
