# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors that say by a key what is wrong: their messages are for people, and may change. Pure."""

from __future__ import annotations


class ProblemError(Exception):
    """An error with its message, and with ``problem``: what is wrong, as a key. Empty: the type says all."""

    def __init__(self, message: object = "", problem: str = "") -> None:
        super().__init__(message)
        self.problem = problem
