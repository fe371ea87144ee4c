# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the outcome of a run leaves in the directory of reports."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import typing as t

from ..module_utils.records import evidence
from ..module_utils.reports.outcome import Outcome


def write(
    outcome: Outcome,
    directory: str,
    files: t.Mapping[str, t.Any],
    stale: t.Iterable[str],
    report: bool,
    at: str,
) -> Outcome:
    """Write further files and C(report.json), and remove stale ones; return the outcome, with why one was not written.

    C(report.json) comes last: where another file could not be written, its verdict is block. ``report``: whether one is
    written for a run that did not judge. ``at``: now, ISO 8601.
    """

    def write_files() -> None:
        for name, content in files.items():
            evidence.save_part(directory, name, content)
        for name in stale:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, name))

    def write_report() -> None:
        content = outcome.report or (outcome.undecided(at) if report else None)
        if content is not None:
            evidence.save_part(directory, "report.json", content)

    for step in (write_files, write_report):
        try:
            step()
        except OSError as error:
            why = f"{error.filename or directory}: {error.strerror}: the report was not written."
            outcome = dataclasses.replace(outcome, unwritten=outcome.unwritten or why)
    return outcome
