# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A diff that people can read: equal changes of many rows are one line with a count. Pure.

C(plan.json) has every row. A diff of ten thousand lines hides the one that is not like the others.
"""

from __future__ import annotations

import re
import typing as t

#: From so many rows on, equal changes are one line. The guests of a small host are shown each.
MANY = 10
#: Lines of one diff; what is left is counted.
LINES = 1000
#: From here on a text says which row it is, and not of which kind.
_ID = re.compile(r"[ :](?:\S*=|\(|[0-9a-f]{8}-[0-9a-f]{4}-|\d+$)")

Key = t.Tuple[str, str, str]


class Folded:
    """The changes of one entry of a diff, each equal one counted."""

    def __init__(self) -> None:
        self._groups: t.Dict[Key, t.Tuple[t.List[str], t.List[int]]] = {}
        self.rows = 0

    def add(self, where: str, before: str, after: str) -> None:
        """Take a row: which one it is, and its text before and after."""
        named, number = self._groups.setdefault((kind_of(where), before, after), ([], [0]))
        if len(named) < MANY - 1:
            named.append(where)
        number[0] += 1
        self.rows += 1

    def texts(self) -> t.Tuple[str, str]:
        """Return the text before and the text after: a line for each row that is like no other, in their order."""
        before: t.List[str] = []
        after: t.List[str] = []
        shown = 0
        for (kind, old, new), (named, (number,)) in self._groups.items():
            if len(before) >= LINES:
                break
            shown += number
            for where in named if number < MANY else [f"{kind} ({number} alike)"]:
                before.append(f"{where}: {old}\n")
                after.append(f"{where}: {new}\n")
        if shown < self.rows:
            after.append(f"and {self.rows - shown} more\n")
        return "".join(before), "".join(after)


def kind_of(where: str) -> str:
    """Return of which kind a row is, such as C(cell:cell1 instances) of C(cell:cell1 instances id=7 (...))."""
    found = _ID.search(where)
    return where[: found.start()] if found else where
