# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Codes of findings, as an operator types them, and their list. Pure."""

from __future__ import annotations

import difflib
import re
import typing as t

from ..model.findings import CATALOGUE

_TYPED = re.compile(r"(?:SG)?[ -]?(\d{3})\Z", re.IGNORECASE)
_SHOWN = 40


class NoCodeError(ValueError):
    """No code is called that: which ones are near."""


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
