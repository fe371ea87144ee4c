# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every remedy of every code, by state. What raises a finding chooses the state; the text is only here. Pure."""

from __future__ import annotations

import typing as t

from . import evacuations, hosts, moving, renames
from .remedy import Remedies, Remedy


def _merged(*parts: Remedies) -> Remedies:
    found: t.Dict[str, t.Dict[str, Remedy]] = {}
    for part in parts:
        for code, states in part.items():
            known = found.setdefault(code, {})
            assert not known.keys() & states.keys(), f"{code}: {known.keys() & states.keys()} twice"
            known.update(states)
    return found


REMEDIES: Remedies = _merged(hosts.REMEDIES, evacuations.REMEDIES, renames.REMEDIES, moving.REMEDIES)


def remedy_text(code: str, state: str, **values: t.Any) -> str:
    """Return what to do about a code in a state. Raises KeyError for an unknown one, and for a value that is missing."""
    return REMEDIES[code][state].text.format(**values)
