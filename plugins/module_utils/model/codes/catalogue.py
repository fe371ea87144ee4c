# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every code, with its remedies. What raises a finding chooses the state; the text is only here. Pure."""

from __future__ import annotations

import typing as t

from . import definition, evacuation, identity, in_flight, links, names, volumes, zones
from .code import Code

CATALOGUE: t.Dict[str, Code] = {
    entry.code: entry
    for part in (identity, links, names, zones, evacuation, volumes, definition, in_flight)
    for entry in part.CODES
}


def remedy_text(code: str, state: str, **values: t.Any) -> str:
    """Return what to do about a code in a state. Raises KeyError for an unknown state, and for a missing value."""
    return CATALOGUE[code].remedies[state].text.format(**values)
