# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operator selects with a JMESPath expression: compiled once, checked against the shape of the records. Pure.

JMESPath answers null for a field that does not exist, and a filter with a misspelt field selects nothing, without a
word. So an expression that names a field that no record has is refused, and so is a comparison that cannot be true (a
number with a text), and a constant where a condition is to decide: C([?name=='a' || 'b']) selects every record. The
error names the expression, the place in it and the fields that there are.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import re
import typing as t

from .errors import StackguardError
from .record_shapes import (
    ANYTHING,
    ARRAY,
    BOOLEAN,
    COUNT,
    FLAG,
    NUMBER,
    STRING,
    TEXT,
    Fields,
    Keys,
    Listing,
    Missing,
    Scalar,
    Shape,
    observed,
)

try:
    import jmespath
    import jmespath.functions
    import jmespath.lexer
except ImportError:
    JMESPATH = False
else:
    JMESPATH = True

Node = t.Mapping[str, t.Any]

#: What the library says before and after its reason.
_AROUND = re.compile(r"^(?:Invalid|Bad) jmespath expression: |: Parse error at column.*$|:$", re.IGNORECASE)
_ORDERING = ("lt", "lte", "gt", "gte")
_PLACED = ("field", "function_expression", "literal")
_BOOLEAN = ("or_expression", "and_expression", "not_expression")
#: What reads something of a record. A list or an object that is written out is never empty, whatever it reads.
_READS = ("field", "current", "identity")
_WRITTEN_OUT = ("multi_select_list", "multi_select_dict")
#: Functions whose constants are looked for or put between, and are not the answer.
_LOOKS = ("contains", "starts_with", "ends_with", "join")
_SHOWN = 40
_NO_RECORDS = "the expression does not select records: end the expression with a filter, such as [?name=='web1']"


class SelectionError(StackguardError):
    """An expression that cannot be taken: where in it, and why."""

    #: The character of the expression that it is about, from 1; None: the whole expression.
    position: t.Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Selection:
    """One expression, ready for use."""

    expression: str
    parsed: t.Any = dataclasses.field(compare=False, repr=False)
    #: By the identity of a node of the parsed expression: at which character it begins, counted from 1.
    positions: t.Mapping[int, int] = dataclasses.field(compare=False, repr=False)

    def result(self, shape: Shape) -> Shape:
        """Return the shape of what it selects from a value of a shape. Raises :class:`SelectionError`."""
        return _Checker(self).of(self.parsed.parsed, shape)

    def records(self, records: t.Sequence[t.Mapping[str, t.Any]], record: Shape, key: str) -> t.List[str]:
        """Return the keys of the records that it selects. Raises :class:`SelectionError` for anything but records."""
        self.must_select(record, key)
        self.result(observed(Listing(record), [records]))
        found = self.search(list(records))
        if not isinstance(found, list) or not all(isinstance(entry, dict) and key in entry for entry in found):
            raise self.error("no-records", _NO_RECORDS)
        return [str(entry[key]) for entry in found]

    def must_select(self, record: Shape, key: str) -> None:
        """Refuse an expression that cannot select records of a list. Raises :class:`SelectionError`."""
        found = self.result(Listing(record))
        item = found.item if isinstance(found, Listing) else found
        listed = isinstance(found, Listing) or found == ANYTHING
        if not listed or not (item == ANYTHING or (isinstance(item, Fields) and key in item.fields)):
            raise self.error("no-records", _NO_RECORDS)

    def must_read(self) -> None:
        """Refuse an expression that can answer with a constant, whatever it reads. Raises :class:`SelectionError`."""
        for node in _answers(self.parsed.parsed):
            if node["type"] == "literal":
                raise self.error(
                    "constant", f"{_shown(node)} is a constant, not a field: use only names of fields", node
                )

    def search(self, data: t.Any) -> t.Any:
        """Return what it says of plain data. Raises :class:`SelectionError`."""
        try:
            return self.parsed.search(data)
        except jmespath.exceptions.JMESPathError as error:
            raise self.error("evaluation", _reason(error)) from error

    def error(self, problem: str, reason: str, node: t.Optional[Node] = None) -> SelectionError:
        """Return the error that names this expression and the place of a node in it."""
        position = None if node is None else self.positions.get(id(node))
        return _error(self.expression, problem, reason, position)


@functools.lru_cache(maxsize=64)
def compiled(expression: str) -> Selection:
    """Return an expression ready for use. Raises :class:`SelectionError`: it is none, or the library is missing."""
    if not JMESPATH:
        raise SelectionError(
            "the Python library jmespath is not installed on the Ansible controller", problem="no-jmespath"
        )
    try:
        parsed = jmespath.compile(expression)
        tokens = list(jmespath.lexer.Lexer().tokenize(expression))
    except jmespath.exceptions.JMESPathError as error:
        place = getattr(error, "lex_position", None)
        reason = f"the expression is not valid JMESPath: {_reason(error)}"
        raise _error(expression, "syntax", reason, None if place is None else int(place) + 1) from error
    return Selection(expression, parsed, _positions(parsed.parsed, tokens))


def _error(expression: str, problem: str, reason: str, position: t.Optional[int]) -> SelectionError:
    where = "" if position is None else f"at character {position}: "
    # The library says the expression again, as it is: not to a terminal.
    error = SelectionError(f"{expression!r}: {where}{reason.encode('unicode_escape').decode()}", problem)
    error.position = position
    return error


def _reason(error: Exception) -> str:
    return _AROUND.sub("", _AROUND.sub("", str(error).partition("\n")[0])).strip()


# --- where a name stands ----------------------------------------------------------------------------------------


def _positions(tree: Node, tokens: t.Sequence[t.Mapping[str, t.Any]]) -> t.Dict[int, int]:
    """The parser keeps no positions: names and constants in the order of the text are those of the tokens."""
    places: t.Dict[t.Tuple[str, str], t.List[int]] = {}
    for token, following in zip(tokens, tokens[1:]):
        kind = "literal" if token["type"] == "literal" else ""
        if token["type"] in ("unquoted_identifier", "quoted_identifier") and following["type"] != "colon":
            kind = "function_expression" if following["type"] == "lparen" else "field"
        if kind:
            places.setdefault((kind, str(token["value"])), []).append(int(token["start"]) + 1)
    found = {}
    for node in _in_order(tree):
        if node["type"] in _PLACED:
            waiting = places.get((node["type"], str(node["value"])))
            if waiting:
                found[id(node)] = waiting.pop(0)
    return found


def _in_order(node: Node) -> t.Iterator[Node]:
    """All nodes as they stand in the text. A filter's condition stands before what is taken of each."""
    yield node
    # Those of a slice are numbers.
    children = [child for child in node["children"] if isinstance(child, dict)]
    if node["type"] == "filter_projection":
        children = [children[0], children[2], children[1]]
    for child in children:
        yield from _in_order(child)


def _constant(node: Node) -> bool:
    """Whether it says the same of every record. C(true) and C(false) are meant as they stand."""
    if node["type"] == "literal":
        return not isinstance(node["value"], bool)
    return node["type"] in _WRITTEN_OUT or not any(child["type"] in _READS for child in _in_order(node))


def _answers(node: Node) -> t.Iterator[Node]:
    """All nodes that can be what an expression answers. What is only compared, or decides only, is not among them."""
    yield node
    children = [child for child in node["children"] if isinstance(child, dict)]
    if node["type"] in ("comparator", "not_expression") or (
        node["type"] == "function_expression" and node["value"] in _LOOKS
    ):
        return
    for child in children[:2] if node["type"] == "filter_projection" else children:
        yield from _answers(child)


def _shown(node: Node) -> str:
    value = node.get("value")
    return repr(value) if isinstance(value, str) else f"`{json.dumps(value)}`"


# --- what an expression says of a shape -------------------------------------------------------------------------


class _Checker:
    """Follows an expression through a shape, as JMESPath follows it through data."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection

    def of(self, node: Node, shape: Shape) -> Shape:
        """Return the shape of what a node selects."""
        method = getattr(self, f"_{node['type']}", None)
        if method is None:
            for child in node["children"]:
                self.of(child, ANYTHING)
            return ANYTHING
        return t.cast(Shape, method(node, shape))

    def _fail(self, node: Node, problem: str, reason: str) -> t.NoReturn:
        raise self.selection.error(problem, reason, node)

    # --- fields

    def _identity(self, _node: Node, shape: Shape) -> Shape:
        return shape

    _current = _identity

    def _field(self, node: Node, shape: Shape) -> Shape:
        name = str(node["value"])
        if isinstance(shape, Fields):
            if name not in shape.fields:
                self._fail(node, "no-field", _no_field(name, shape))
            return shape.fields[name]
        if isinstance(shape, Keys):
            return shape.value
        if isinstance(shape, Listing):
            self._fail(
                node,
                "no-field",
                f"a list has no field {name!r}: filter the list, for example with [?{name}=='TEXT'], or use [].{name}",
            )
        if isinstance(shape, Missing):
            self._fail(node, "no-record-has-it", f"no record has the field {shape.what}, so {name!r} selects nothing")
        if isinstance(shape, Scalar):
            self._fail(node, "no-field", f"{_words(shape.types)} has no field {name!r}")
        return ANYTHING

    def _subexpression(self, node: Node, shape: Shape) -> Shape:
        for child in node["children"]:
            shape = self.of(child, shape)
        return shape

    _index_expression = _subexpression
    _pipe = _subexpression

    # --- lists

    def _items(self, node: Node, shape: Shape) -> Shape:
        """Return the shape of the items of a list."""
        if isinstance(shape, Listing):
            return shape.item
        if isinstance(shape, Missing):
            self._fail(node, "no-record-has-it", f"no record has {shape.what}")
        if shape != ANYTHING:
            self._fail(node, "no-list", f"{_named(shape)} is not a list")
        return ANYTHING

    def _index(self, node: Node, shape: Shape) -> Shape:
        return self._items(node, shape)

    def _slice(self, node: Node, shape: Shape) -> Shape:
        self._items(node, shape)
        return shape

    def _projection(self, node: Node, shape: Shape) -> Shape:
        left, right = node["children"]
        return Listing(self.of(right, self._items(left, self.of(left, shape))))

    def _filter_projection(self, node: Node, shape: Shape) -> Shape:
        left, right, condition = node["children"]
        item = self._items(left, self.of(left, shape))
        self.of(condition, item)
        self._decides(condition)
        return Listing(self.of(right, item))

    def _decides(self, node: Node) -> None:
        """Refuse a condition that a constant decides. As a value a constant is right: C(metadata.priority || `9`)."""
        if node["type"] in _BOOLEAN:
            for child in node["children"]:
                self._decides(child)
        elif _constant(node):
            literal = node["type"] == "literal"
            said = f"the constant {_shown(node)}" if literal else "a constant"
            text = repr(node["value"]) if literal and isinstance(node["value"], str) else "'TEXT'"
            self._fail(
                node,
                "constant-condition",
                (f"{said} is always true or always false: compare a field with the constant, such as name=={text}"),
            )

    def _flatten(self, node: Node, shape: Shape) -> Shape:
        (child,) = node["children"]
        item = self._items(child, self.of(child, shape))
        return item if isinstance(item, Listing) else Listing(item)

    def _value_projection(self, node: Node, shape: Shape) -> Shape:
        left, right = node["children"]
        owner = self.of(left, shape)
        if isinstance(owner, Fields):
            return Listing(_alike([self.of(right, entry) for entry in owner.fields.values()]))
        return Listing(self.of(right, owner.value if isinstance(owner, Keys) else ANYTHING))

    # --- values

    def _literal(self, node: Node, _shape: Shape) -> Shape:
        return _of_literal(node["value"])

    def _comparator(self, node: Node, shape: Shape) -> Shape:
        left, right = (self.of(child, shape) for child in node["children"])
        placed = [child for child in _in_order(node) if id(child) in self.selection.positions]
        at = next((child for child in placed if child["type"] != "literal"), placed[0] if placed else node)
        if not any(child["type"] in _READS for child in _in_order(node)):
            self._fail(
                at,
                "both-constant",
                (
                    "both sides of the comparison are constants, so its result never changes: compare a field "
                    "with a constant"
                ),
            )
        if node["value"] in _ORDERING:
            for side in (left, right):
                if side.types and NUMBER not in side.types:
                    self._fail(at, "no-order", f"{_named(side)} has no order: JMESPath compares numbers only")
        elif left.types and right.types and not left.types & right.types:
            self._fail(
                at,
                "never-equal",
                f"the expression compares {_named(left)} with {_named(right)}, and these are never equal. {_WRITE}",
            )
        return FLAG

    def _or_expression(self, node: Node, shape: Shape) -> Shape:
        return _alike([self.of(child, shape) for child in node["children"]])

    _and_expression = _or_expression

    def _not_expression(self, node: Node, shape: Shape) -> Shape:
        self.of(node["children"][0], shape)
        self._decides(node["children"][0])
        return FLAG

    def _multi_select_list(self, node: Node, shape: Shape) -> Shape:
        return Listing(_alike([self.of(child, shape) for child in node["children"]]))

    def _multi_select_dict(self, node: Node, shape: Shape) -> Shape:
        pairs = {str(pair["value"]): self.of(pair["children"][0], shape) for pair in node["children"]}
        return Fields("the object", pairs)

    # --- functions

    def _function_expression(self, node: Node, shape: Shape) -> Shape:
        name, children = str(node["value"]), node["children"]
        table = jmespath.functions.Functions.FUNCTION_TABLE
        if name not in table:
            self._fail(
                node, "no-function", f"there is no function {name}: the functions are {', '.join(sorted(table))}"
            )
        signature = table[name]["signature"]
        variadic = bool(signature[-1].get("variadic"))
        if len(children) < len(signature) or (len(children) > len(signature) and not variadic):
            self._fail(node, "number-of-arguments", f"{name} takes {len(signature)} arguments, not {len(children)}")
        plain = [ANYTHING if child["type"] == "expref" else self.of(child, shape) for child in children]
        lists = [self._items(node, entry) for entry in plain if isinstance(entry, Listing)]
        item = lists[0] if lists else ANYTHING
        found = [
            self.of(child["children"][0], item) if child["type"] == "expref" else entry
            for child, entry in zip(children, plain)
        ]
        for child, entry, wanted in zip(children, plain, signature):
            self._argument(node, child, entry, wanted["types"])
        return _of_function(name, found, item)

    def _argument(self, node: Node, child: Node, shape: Shape, wanted: t.Sequence[str]) -> None:
        """JMESPath refuses an argument of another type when it meets one: here before the first record."""
        allowed = {entry.partition("-")[0] for entry in wanted}
        types = frozenset({"expref"}) if child["type"] == "expref" else shape.types
        if "expref" in allowed and "expref" not in types:
            self._fail(
                node, "type-of-argument", f"{node['value']} takes an expression that begins with &, such as &name"
            )
        if allowed and types and not types & allowed:
            self._fail(node, "type-of-argument", f"{node['value']} takes {_words(allowed)}, not {_named(shape)}")


#: What each function returns, where that is always the same.
_RETURNS: t.Mapping[str, Shape] = {
    **dict.fromkeys(("abs", "avg", "ceil", "floor", "length", "sum", "to_number"), COUNT),
    **dict.fromkeys(("contains", "starts_with", "ends_with"), FLAG),
    **dict.fromkeys(("join", "to_string", "type"), TEXT),
    "keys": Listing(TEXT),
    "values": Listing(ANYTHING),
}
_WRITE = (
    "In an expression, write a text in single quotes ('TEXT'), and a number or a boolean in backquotes (`1`, `true`)"
)


def _of_function(name: str, found: t.Sequence[Shape], item: Shape) -> Shape:
    if name in _RETURNS:
        return _RETURNS[name]
    if name in ("sort", "sort_by", "reverse"):
        return found[0]
    if name in ("max", "min", "max_by", "min_by"):
        return item
    if name == "map":
        return Listing(found[0])
    return ANYTHING


def _of_literal(value: t.Any) -> Shape:
    if isinstance(value, bool):
        return FLAG
    if isinstance(value, (int, float)):
        return COUNT
    if isinstance(value, str):
        return TEXT
    return Listing(_alike([_of_literal(entry) for entry in value])) if isinstance(value, list) else ANYTHING


def _alike(shapes: t.Sequence[Shape]) -> Shape:
    """Return the shape of something that is one of these."""
    return shapes[0] if shapes and all(shape == shapes[0] for shape in shapes) else ANYTHING


def _no_field(name: str, shape: Fields) -> str:
    names = sorted(shape.fields)
    if not names:
        return f"{shape.what} is empty in every record, so {name!r} selects nothing"
    near = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    quotes = (
        f" If {name} is a text, write {name} in single quotes in the expression: '{name}'." if name.isupper() else ""
    )
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{shape.what} has no field {name!r}: {hint}It has {', '.join(names[:_SHOWN])}{more}.{quotes}"


def _named(shape: Shape) -> str:
    what = getattr(shape, "what", None)
    return str(what) if what else _words(shape.types)


def _words(types: t.Collection[str]) -> str:
    words = {STRING: "a text", NUMBER: "a number", BOOLEAN: "a boolean", ARRAY: "a list"}
    return " or ".join(words.get(entry, f"an {entry}") for entry in sorted(types)) or "this value"
