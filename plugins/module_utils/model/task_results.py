# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a task ended, by what it registered. Pure."""

from __future__ import annotations

import typing as t


def ended_well(result: t.Optional[t.Mapping[str, t.Any]]) -> bool:
    """Whether a task was run and did not fail."""
    return bool(result) and result is not None and not _bad(result)


def _bad(result: t.Mapping[str, t.Any]) -> bool:
    return bool(result.get("failed") or result.get("unreachable") or result.get("skipped"))


def why(result: t.Optional[t.Mapping[str, t.Any]]) -> str:
    """Say why a task did not do what was asked."""
    if not result:
        return "the task was not run"
    if result.get("unreachable"):
        return f"the host does not answer: {result.get('msg') or 'no reason given'}"
    return str(result.get("msg") or result.get("stderr") or "no reason given")
