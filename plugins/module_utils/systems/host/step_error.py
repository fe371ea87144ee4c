# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The error of a request on the compute host."""

from __future__ import annotations

from ...model.problems import ProblemError


class HostStepError(ProblemError):
    """A request that failed. ``changed_meanwhile``: a guard did not hold, and the request changed nothing."""

    def __init__(self, message: str, changed_meanwhile: bool = False, problem: str = "") -> None:
        super().__init__(message, problem)
        self.changed_meanwhile = changed_meanwhile
