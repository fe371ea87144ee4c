# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The zone in a stored request spec, read and replaced without touching any other character of the text. Pure.

A request spec is stored as the JSON of a versioned object. Nova reads it anew at every move. The key is never removed:
a spec without it cannot be loaded (C(objects/request_spec.py), C(obj_load_attr)).
"""

from __future__ import annotations

import json
import re
import typing as t

_DATA, _ZONE = "nova_object.data", "availability_zone"
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class SpecError(ValueError):
    """A text that is no request spec as Nova stores it: what is wrong with it."""


def zone_of(text: str) -> t.Optional[str]:
    """Return the zone that a spec bears; None: none. Raises :class:`SpecError`."""
    begin, end = _span(text)
    value = json.loads(text[begin:end])
    if value is not None and not isinstance(value, str):
        raise SpecError(f"{_ZONE} in the request spec must be a name or null")
    return value


def with_zone(text: str, zone: t.Optional[str]) -> str:
    """Return the same text with another zone. Raises :class:`SpecError`."""
    zone_of(text)
    begin, end = _span(text)
    return text[:begin] + json.dumps(zone) + text[end:]


def _span(text: str) -> t.Tuple[int, int]:
    """Return where the value of the zone begins and ends."""
    try:
        outer = _members(text, _skip(text, 0))
        name = json.loads(text[slice(*_one(outer, "nova_object.name"))])
        data = _members(text, _one(outer, _DATA)[0])
    except (ValueError, IndexError) as error:
        raise SpecError(f"the text is not a stored request spec: {error}") from None
    if name != "RequestSpec":
        raise SpecError(f"the object is a {name}, not a RequestSpec")
    return _one(data, _ZONE)


def _one(members: t.Sequence[t.Tuple[str, int, int]], key: str) -> t.Tuple[int, int]:
    found = [(begin, end) for name, begin, end in members if name == key]
    if len(found) != 1:
        raise SpecError(f"the request spec has the key {key!r} {len(found)} times, but exactly one is expected")
    return found[0]


def _members(text: str, at: int) -> t.List[t.Tuple[str, int, int]]:
    """Return key, begin and end of value of each member of the object that begins here."""
    if text[at] != "{":
        raise SpecError("an object is expected")
    found = []
    at = _skip(text, at + 1)
    while text[at] != "}":
        if text[at] != '"':
            raise SpecError("a key is expected")
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if text[at] != ":":
            raise SpecError("a colon is expected")
        begin = _skip(text, at + 1)
        _value, end = _DECODER.raw_decode(text, begin)
        found.append((key, begin, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
        elif text[at] != "}":
            raise SpecError("a comma is expected")
    return found


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
