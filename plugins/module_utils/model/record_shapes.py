# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shape of the records that an operator selects from: which fields each has, and what a value can be. Pure.

A shape is derived from the dataclass of the facts, so that it never differs from them. What only the data can say (the
keys of a server's metadata) is added from the records themselves.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import typing as t

#: What JMESPath calls the types of values.
STRING, NUMBER, BOOLEAN, ARRAY, OBJECT = "string", "number", "boolean", "array", "object"


class Shape:
    """What a value can be. This one: anything, of which nothing is known."""

    @property
    def types(self) -> t.FrozenSet[str]:
        """Types of JMESPath; empty: any."""
        return frozenset()


@dataclasses.dataclass(frozen=True)
class Scalar(Shape):
    """Text, a number or a boolean."""

    kinds: t.FrozenSet[str]

    @property
    def types(self) -> t.FrozenSet[str]:
        """Its types."""
        return self.kinds


@dataclasses.dataclass(frozen=True)
class Listing(Shape):
    """A list."""

    item: Shape

    @property
    def types(self) -> t.FrozenSet[str]:
        """Its type."""
        return frozenset({ARRAY})


@dataclasses.dataclass(frozen=True)
class Fields(Shape):
    """An object with these fields and no other. ``what``: for people, such as "a server"."""

    what: str
    fields: t.Mapping[str, Shape]

    @property
    def types(self) -> t.FrozenSet[str]:
        """Its type."""
        return frozenset({OBJECT})


@dataclasses.dataclass(frozen=True)
class Keys(Shape):
    """An object whose keys its owner chooses."""

    what: str
    value: Shape

    @property
    def types(self) -> t.FrozenSet[str]:
        """Its type."""
        return frozenset({OBJECT})


@dataclasses.dataclass(frozen=True)
class Missing(Shape):
    """A part that no record has: it was not read, or there is none."""

    what: str


ANYTHING = Shape()
TEXT = Scalar(frozenset({STRING}))
COUNT = Scalar(frozenset({NUMBER}))
FLAG = Scalar(frozenset({BOOLEAN}))
_NONE: t.Any = type(None)
_SCALARS: t.Mapping[t.Any, Scalar] = {str: TEXT, int: COUNT, float: COUNT, bool: FLAG}


def shape_of(hint: t.Any, what: str) -> Shape:
    """Return the shape of a type as facts are written to JSON."""
    if hint in _SCALARS:
        return _SCALARS[hint]
    if dataclasses.is_dataclass(hint):
        hints = t.get_type_hints(hint)
        names = [field.name for field in dataclasses.fields(t.cast(t.Any, hint))]
        return Fields(what, {name: shape_of(hints[name], name) for name in names})
    origin, arguments = t.get_origin(hint), [entry for entry in t.get_args(hint) if entry is not _NONE]
    if origin is t.Union and len(arguments) == 1:
        return shape_of(arguments[0], what)
    if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping) and len(arguments) == 2:
        return Keys(what, shape_of(arguments[1], f"a value of {what}"))
    if isinstance(origin, type) and issubclass(origin, collections.abc.Sequence) and arguments:
        return Listing(shape_of(arguments[0], f"an entry of {what}"))
    return ANYTHING


def observed(shape: Shape, values: t.Sequence[t.Any]) -> Shape:
    """Return the shape with the keys that these values have. Without a value nothing is added: none can be missing."""
    if not values:
        return shape
    there = [value for value in values if value is not None]
    if not there and isinstance(shape, (Fields, Keys, Listing)):
        return Missing(getattr(shape, "what", "the list"))
    if isinstance(shape, Listing):
        return Listing(observed(shape.item, [item for value in there for item in value]))
    if isinstance(shape, Fields):
        known = shape.fields.items()
        return Fields(shape.what, {name: observed(entry, [one.get(name) for one in there]) for name, entry in known})
    if isinstance(shape, Keys):
        names = sorted({str(name) for value in there for name in value})
        given = {name: [one[name] for one in there if name in one] for name in names}
        return Fields(shape.what, {name: observed(shape.value, given[name]) for name in names})
    return shape
