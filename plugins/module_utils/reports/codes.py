# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Codes of findings, as an operator types them, their list, and which of them a line of a log belongs to. Pure."""

from __future__ import annotations

import difflib
import re
import textwrap
import typing as t

from ..model.findings import CATALOGUE
from ..model.log_words import ANY, ROWS, LogWords

_TYPED = re.compile(r"(?:SG)?[ -]?(\d{3})\Z", re.IGNORECASE)
_SHOWN = 40


#: What a terminal, a shell or JSON may do to a line: colours, quotes, backslashes and line breaks anywhere.
_NOISE = re.compile(r"(?:\x1b|\\x1b|\\u001b|\\033|#033|\^\[)\[[\d;]*m|\\[nrt]|[\s'\"`\\]+")
#: Characters that may stand for what differs from line to line; and the least part of a message that is looked for.
_GAP, _PART = 300, 16
_WORD = re.compile(r"[a-z_]{4,}")
_NEAR = 0.6


class NoCodeError(ValueError):
    """No code is called that, or no row has these words: which ones are near."""


def code_of(typed: str) -> str:
    """Return the code that is meant, such as C(SG113) for C(sg113) and C(113). Raises :class:`NoCodeError`."""
    text = typed.strip()
    match = _TYPED.match(text)
    code = f"SG{match.group(1)}" if match else _by_name().get(text.casefold(), text.upper())
    if code not in CATALOGUE:
        shown = ascii(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
        raise NoCodeError(f"{shown} is not a finding code. {_nearest(text, code)}")
    return code


def _by_name() -> t.Dict[str, str]:
    return {entry.slug: code for code, entry in CATALOGUE.items()}


def _nearest(typed: str, code: str) -> str:
    names = _by_name()
    number = int(code[2:]) if _TYPED.match(code) else None
    if number is not None:
        near = sorted(CATALOGUE, key=lambda known: abs(int(known[2:]) - number))[:3]
    else:
        near = difflib.get_close_matches(code, CATALOGUE, 3, 0.7)
    near += [names[name] for name in difflib.get_close_matches(typed.casefold(), names, 3, 0.7)]
    if not near:
        return "To list all codes, leave out the code."
    return (
        "The most similar codes are "
        + ", ".join(f"{item} ({CATALOGUE[item].slug})" for item in dict.fromkeys(near))
        + "."
    )


def listing() -> str:
    """Return all codes, a line each: code, name, severity and summary."""
    width = max(len(entry.slug) for entry in CATALOGUE.values())
    return "\n".join(
        f"{code}  {entry.slug:{width}}  {_severity(code):18}  {entry.summary}" for code, entry in CATALOGUE.items()
    )


def _severity(code: str) -> str:
    entry = CATALOGUE[code]
    return f"{entry.severity}, absolute" if entry.absolute else entry.severity


def log_rows(text: str) -> t.List[LogWords]:
    """Return the rows whose words are in the text, or that the text is a part of: the most specific first."""
    given = _squeezed(text)
    found = [
        row
        for row in ROWS
        if _pattern(row.words).search(given) or (len(given) >= _PART and given in _squeezed(row.words))
    ]
    return sorted(found, key=lambda row: -len(_squeezed(row.words.replace(ANY, ""))))


def _squeezed(text: str) -> str:
    return _NOISE.sub("", text).casefold()


def _pattern(words: str) -> t.Pattern[str]:
    return re.compile(f".{{0,{_GAP}}}?".join(re.escape(_squeezed(part)) for part in words.split(ANY)))


def log_answer(rows: t.Sequence[LogWords]) -> str:
    """Return what explain prints of these rows."""
    blocks = []
    for row in rows:
        release = f", Nova {row.releases}" if row.releases else ""
        lines = [row.words, f"  {row.log}{release}", *textwrap.wrap(row.means, 110, **_INDENT)]
        lines += [f"  {code} {CATALOGUE[code].slug}: {CATALOGUE[code].summary}" for code in row.codes]
        blocks.append("\n".join([*lines, *([f"  Read on in docs/{row.page}."] if row.page else [])]))
    page = f"The page of a code: ansible-playbook stackguard.nova.explain -e code={rows[0].codes[0]}"
    return "\n\n".join([*blocks, page])


_INDENT: t.Mapping[str, t.Any] = {"initial_indent": "  ", "subsequent_indent": "  "}


def no_row(text: str) -> str:
    """Return why no row was found, and which ones have many of the text's words."""
    words = set(_WORD.findall(text.casefold()))
    near = []
    for row in ROWS:
        theirs = set(_WORD.findall(row.words.casefold()))
        shared = len(theirs & words)
        if shared > 1 and shared >= _NEAR * len(theirs):
            near.append((-shared, f'"{row.words}" ({", ".join(row.codes)})'))
    similar = f" Similar: {'; '.join(entry for _shared, entry in sorted(near)[:3])}." if near else ""
    return (
        "No entry of docs/reference/log-words.md has the words of this text. That proves nothing: the page lists only "
        f"{len(ROWS)} messages. Try a part of the message without names and numbers.{similar}"
    )
