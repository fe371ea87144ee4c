# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evidence, objects and times in words, natural order, and the pages of codes as paragraphs. Pure."""

from __future__ import annotations

import datetime
import re
import typing as t

from ..model.findings import Finding, Subject
from ..model.times import moment
from ..model.wording import visible

#: Entries of a list that one line names.
_LISTED = 4
_NUMBERS = re.compile(r"(\d+)")
#: One piece of a paragraph: whether it is code, and the text.
Piece = t.Tuple[bool, str]


def in_words(evidence: t.Mapping[str, t.Any]) -> str:
    """Return evidence as one line for people. The whole of it is the JSON beside it."""
    return "; ".join(f"{_key(name)}: {_value(value)}" for name, value in evidence.items())


def _key(name: t.Any) -> str:
    return str(name).replace("_", " ")


def _value(value: t.Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, t.Mapping):
        return "(" + ", ".join(f"{_key(name)} {_value(item)}" for name, item in value.items()) + ")"
    if isinstance(value, (list, tuple)):
        more = f" and {len(value) - _LISTED} more" if len(value) > _LISTED else ""
        return ", ".join(_value(item) for item in value[:_LISTED]) + more if value else "none"
    return str(value)


def label(subject: Subject) -> str:
    """Return what people know an object by: its name, a service's host, else its id."""
    host = subject.host if subject.kind == "service" else None
    return visible(subject.name or host or subject.id)


def host_of(item: Finding) -> t.Optional[str]:
    """Return the host that a finding is of, by the name that the finding has for it."""
    return item.object.host or (item.object.id if item.object.kind == "host" else None)


def duration(seconds: int) -> str:
    """Return a length of time for people."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def clock(text: t.Optional[str], seconds: bool = False) -> str:
    """Return a time for people, in UTC; what is no time stays as it is."""
    found = moment(text)
    form = "%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M UTC"
    return found.astimezone(datetime.timezone.utc).strftime(form) if found else str(text or "")


def natural(text: str) -> t.List[t.Tuple[int, int, str]]:
    """Return a key that sorts compute2 before compute10."""
    return [
        (0, int(part), part) if part.isdigit() and part.isascii() else (1, 0, part.casefold())
        for part in _NUMBERS.split(text)
        if part
    ]


_ITEM = re.compile(r"^(?:- |\d+\. )", re.MULTILINE)


def page_of(text: str) -> t.List[t.Tuple[str, t.List[Piece]]]:
    """Return the page of a code as (h, p, li or pre) blocks. Its title is left out: it stands above already."""
    blocks: t.List[t.Tuple[str, t.List[Piece]]] = []
    for part in re.split(r"\n{2,}", text):
        lines = part.strip("\n").splitlines()
        if not lines or lines[0].startswith(("# ", "<!--")):
            continue
        if all(line.startswith("    ") for line in lines):
            blocks.append(("pre", [(False, "\n".join(line[4:] for line in lines))]))
        elif lines[0].startswith("## "):
            blocks.append(("h", _pieces(lines[0][3:])))
        elif _ITEM.match(lines[0]):
            items = _ITEM.split("\n".join(lines))
            blocks += [("li", _pieces(" ".join(item.split()))) for item in items if item.strip()]
        elif lines[0].startswith("|"):
            rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines[2:]]
            blocks += [("li", _pieces(": ".join(filter(None, row)))) for row in rows]
        else:
            blocks.append(("p", _pieces(" ".join(" ".join(lines).split()))))
    return blocks


def _pieces(text: str) -> t.List[Piece]:
    # A link to another page leads nowhere in a report that has left its machine.
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    parts = [(number % 2 == 1, piece) for number, piece in enumerate(plain.split("`")) if piece]
    return [(code, piece if code else _EMPHASIS.sub(r"\2", piece)) for code, piece in parts]


_EMPHASIS = re.compile(r"(\*{1,2})(?=\S)(.+?)\1")
