# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What people type for a name: which variable it is, what is wrong with it, what is accepted. Pure.

What a compute host is called is what Nova's API takes for one (nova/api/validation/parameter_types.py, fqdn: letters,
digits, dots, hyphens, underscores, at most 255), and begins with a letter or a digit: what begins with a hyphen or a
dot is an option or a path to somebody. Servers and flavors are called anything that can be printed on one line.
"""

from __future__ import annotations

import difflib
import json
import string
import typing as t

NAME_MAX = 255
_FIRST = frozenset(string.ascii_letters + string.digits)
_HOST = _FIRST | frozenset("._-")
_SHOWN = 60
ACCEPTED = {
    "host": (
        f"a name of a compute host is 1 to {NAME_MAX} letters, digits, dots, hyphens and underscores, "
        "of which the first is a letter or a digit"
    ),
    "name": f"a name or an id is 1 to {NAME_MAX} characters on one line",
    "text": "text on one line is expected",
}
#: What may be a list of names.
ACCEPTED["hosts"] = ACCEPTED["host"]


def unknown_variables(given: t.Sequence[str], known: t.Sequence[str]) -> t.List[str]:
    """Return a sentence for each variable that nobody reads, with the known one that is nearest to it.

    What differs in its beginning only (C(migrate_servers), C(drain_servers)) is near to it, too.
    """
    found = []
    for name in sorted(set(given) - set(known)):
        near = difflib.get_close_matches(name, sorted(known), 1, 0.5)
        hint = f": did you mean {near[0]}?" if near else "."
        found.append(f"There is no variable {name}{hint}")
    return found


def problems(variables: t.Mapping[str, t.Any], kind: str) -> t.List[str]:
    """Return a sentence for each name that is none of its kind: C(host), C(hosts) (lists of them), C(name), C(text).

    A value that is None was not given, and is nobody's fault.
    """
    found = []
    for variable, value in variables.items():
        names = value if kind == "hosts" and isinstance(value, (list, tuple)) else [] if value is None else [value]
        for one in names:
            wrong = _wrong(one, kind)
            if wrong:
                found.append(f"{variable} is {_shown(one)}, which {', and '.join(wrong)}: {ACCEPTED[kind]}.")
    return found


def _wrong(value: t.Any, kind: str) -> t.List[str]:
    if not isinstance(value, str):
        return ["is not text"]
    if not value:
        return ["is empty"]
    found = []
    if len(value) > NAME_MAX and kind != "text":
        found.append(f"has {len(value)} characters")
    if kind in ("name", "text"):
        strange = sorted({character for character in value if not character.isprintable()})
        if value != value.strip() and kind == "name":
            found.append("begins or ends with a space")
    else:
        strange = sorted(set(value) - _HOST)
        if value[0] in _HOST - _FIRST:
            found.append(f"begins with {_shown(value[0])}")
    if strange:
        found.append(f"has {' '.join(_shown(character) for character in strange[:8])} in it")
    return found


def _shown(value: t.Any) -> str:
    """As JSON: nothing in it reaches a terminal or a page as anything but text."""
    text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
