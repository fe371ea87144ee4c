# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can go wrong outside this collection, as exceptions that carry data. Python 3.9, standard library only."""

from __future__ import annotations

import typing as t

from .problems import ProblemError


class StackguardError(ProblemError):
    """Base of all. ``data`` is plain JSON data for a module's failure: what was expected, what was found.

    Neither the message nor the data ever holds a password: whoever raises it has removed them.
    """

    def __init__(self, message: str, problem: str = "", **data: t.Any) -> None:
        super().__init__(message, problem)
        self.message = message
        self.data: t.Dict[str, t.Any] = data


class DatabaseError(StackguardError):
    """A database refused, did not answer, or broke off.

    ``data["unknown_outcome"]`` is true where the connection was lost during a commit: the rows must be read again.
    """


class ApiError(StackguardError):
    """An API refused or did not answer. ``data["status"]``: the HTTP status, where there was one."""


class Conflict(StackguardError):  # noqa: N818 (it is what happened, not a mistake)
    """What was read before is no longer so, and nothing was changed. ``data`` says what was expected and found."""


class BrokerError(StackguardError):
    """The message broker refused, did not answer, or broke off."""


class OvnError(DatabaseError):
    """One of OVN's databases refused, did not answer, or broke off; or ovn-northd did not carry a change out."""
