# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What people type for a name: which variable it is, what is wrong with it, what is accepted. Pure.

What a compute host is called is what Nova's API takes for one (nova/api/validation/parameter_types.py, fqdn: letters,
digits, dots, hyphens, underscores, at most 255), and begins with a letter or a digit: what begins with a hyphen or a
dot is an option or a path to somebody. Servers and flavors are called anything that can be printed on one line.
"""

from __future__ import annotations

import collections
import difflib
import json
import string
import typing as t

from .old_variables import CONSTANTS, GONE, ONE_RUN, SUCCESSORS

NAME_MAX = 255
_FIRST = frozenset(string.ascii_letters + string.digits)
_HOST = _FIRST | frozenset("._-")
_SHOWN = 60
ACCEPTED = {
    "host": (
        f"a compute host name that begins with a letter or a digit, and consists of 1 to {NAME_MAX} letters, digits, "
        "dots, hyphens and underscores"
    ),
    "name": f"a name or an id of 1 to {NAME_MAX} characters on one line",
    "text": "text on one line",
}
#: What may be a list of names.
ACCEPTED["hosts"] = ACCEPTED["host"]


#: From this length on a name with so many wrong characters is a known one that was misspelt.
_TYPOS = ((12, 2), (8, 1))
_SUGGESTED = 3


def unknown_variables(
    extra: t.Iterable[str], inventory: t.Iterable[str], known: t.Collection[str], prefixes: t.Collection[str]
) -> t.List[str]:
    """Return a sentence for each variable that no role reads, with the known names that are nearest to it.

    Extra variables are meant for this run: none with one of our prefixes may be unknown. An inventory serves other
    playbooks as well: there only misspelt names are refused.
    """
    given, everywhere = set(extra), {*extra, *inventory}
    old = {*SUCCESSORS, *CONSTANTS, *GONE} - set(known)
    found = [_successor(name) for name in sorted(old & everywhere)]
    found += [
        f"{name} is for one run: remove it from the inventory, and give it with -e."
        for name in sorted(everywhere.intersection(ONE_RUN) - given)
    ]
    given -= old
    for name in sorted(given - set(known)):
        typo = _misspelt(name, known)
        if typo:
            found.append(f"There is no variable {name}: did you mean {typo}?")
        elif name.partition("_")[0] in prefixes and "_" in name:
            near = difflib.get_close_matches(name, sorted(known), _SUGGESTED, 0.0)
            found.append(f"There is no variable {name}. The most similar names are {', '.join(near)}.")
    for name in sorted(set(inventory) - given - set(known) - old):
        typo = _misspelt(name, known)
        if typo:
            found.append(f"The inventory sets {name}, but there is no such variable: did you mean {typo}?")
    return found


def _successor(name: str) -> str:
    if name in SUCCESSORS:
        return f"There is no variable {name} any more: set {SUCCESSORS[name]} instead."
    if name in GONE:
        return f"There is no variable {name} any more: remove it ({GONE[name]})."
    return f"There is no variable {name} any more: remove it. Its value is now {CONSTANTS[name]}."


def _misspelt(name: str, known: t.Collection[str]) -> t.Optional[str]:
    """Return the known name that this one differs from in a character or two; None: it is a name of its own."""
    allowed = next((typos for length, typos in _TYPOS if len(name) >= length), 0)
    letters = collections.Counter(name)
    near = [(_distance(name, other), other) for other in sorted(known) if allowed and _alike(letters, other, allowed)]
    distance, nearest = min(near, default=(allowed + 1, ""))
    return nearest if distance <= allowed else None


def _alike(letters: t.Counter[str], other: str, allowed: int) -> bool:
    """Whether the names may be so near: an inventory has thousands of names, and the distance takes its time."""
    if abs(sum(letters.values()) - len(other)) > allowed:
        return False
    theirs = collections.Counter(other)
    return max(sum((letters - theirs).values()), sum((theirs - letters).values())) <= allowed


def _distance(one: str, other: str) -> int:
    """Return how many characters to put in, leave out, replace or swap: the restricted edit distance."""
    before: t.List[int] = []
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        after = [i]
        for j, right in enumerate(other, 1):
            best = min(row[j] + 1, after[j - 1] + 1, row[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                best = min(best, before[j - 2] + 1)
            after.append(best)
        before, row = row, after
    return row[-1]


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
                found.append(
                    f"{variable} is not valid: {_shown(one)} {', and '.join(wrong)}. Expected: {ACCEPTED[kind]}."
                )
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
        found.append(f"contains {' '.join(_shown(character) for character in strange[:8])}")
    return found


def _shown(value: t.Any) -> str:
    """As JSON: nothing in it reaches a terminal or a page as anything but text."""
    text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
