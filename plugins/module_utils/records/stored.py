# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading a saved C(evidence.json) record by record, in memory that does not grow with the guests of hosts.

Objects and lists that grow with a cloud (:data:`DEEP`) are read member by member; each record in them is parsed on its
own, and equal strings are one. Of a large file what is many and seldom looked at (:data:`LATER`, :data:`PORTS`) is not
kept at all: a :class:`StoredList` or :class:`StoredDict` stands for it, and parses it again from the file. It raises
FactsError where that is not the file that was read, or where a part is not what it should be: nothing that stands for
a list is ever shorter than the list.
"""

from __future__ import annotations

import codecs
import collections.abc
import contextlib
import dataclasses
import gc
import json
import os
import typing as t

from ..model.facts import (
    SCHEMA,
    ApiPort,
    ApiServer,
    Bundle,
    CellFacts,
    CellLinks,
    CloudFacts,
    DatabaseFacts,
    FactsError,
    HostFacts,
    LinkFacts,
    ResourceProvider,
    from_hint,
    from_plain,
)

#: Evidence up to this many bytes is kept in memory wholly.
IN_MEMORY = 64 * 2**20
#: Classes that are read member by member.
DEEP = (Bundle, CloudFacts, DatabaseFacts, CellFacts, LinkFacts, CellLinks)
#: Parts of a host that are not kept: each grows with its guests.
LATER = ("domains", "definitions", "qemu_processes")
#: Ports that are parsed at once.
TOGETHER = 200
_PIECE = 2**20
#: How far before the end of what was read an error may be that more text would heal: a number, an escape, a literal.
_MARGIN = 64
#: How much of a number may stand after what is a number by itself: the point, or the exponent with its sign.
_NUMBER = 2
#: The end of a value that nothing can be added to.
_CLOSED = '"]}'
_SPACE = " \t\n\r"
_NONE = type(None)
_NO_VOLUMES: t.List[str] = []


class _File:
    """An evidence file that stays open, so that it is the same one however often a new one takes its name."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._stamp = self._now()
        #: What was parsed last: checks look at one host several times in a row.
        self.last: t.Tuple[int, t.Any] = (-1, None)

    def __del__(self) -> None:
        os.close(self._descriptor)

    def _now(self) -> t.Tuple[int, int]:
        found = os.fstat(self._descriptor)
        return found.st_size, found.st_mtime_ns

    def text(self, start: int, length: int) -> bytes:
        """Return a part. Raises FactsError where the file was written to since it was opened."""
        try:
            data = os.pread(self._descriptor, length, start)
            same = self._now() == self._stamp
        except OSError as error:
            raise FactsError(f"{self.path}: {error.strerror}") from error
        if not same or len(data) != length:
            raise FactsError(f"{self.path}: the file changed while it was read")
        return data

    def remembered(self, start: int, make: t.Callable[[], t.Any]) -> t.Any:
        """Return what was parsed at a place, parsing it if it was not the last."""
        if self.last[0] != start:
            self.last = (-1, None)
            self.last = (start, make())
        return self.last[1]


class _Record:
    """A host in the file, and how its parts are converted."""

    __slots__ = ("file", "length", "start", "where")

    def __init__(self, file: _File, start: int, length: int, where: str) -> None:
        self.file, self.start, self.length, self.where = file, start, length, where

    def plain(self) -> t.Any:
        return self.file.remembered(self.start, self._parse)

    def _parse(self) -> t.Dict[str, t.Any]:
        return {"plain": _parsed(self.file, self.start, self.length)}

    def part(self, name: str) -> t.Any:
        """Return a part of the host, converted; the same object for as long as no other host is looked at."""
        made = self.plain()
        if name not in made:
            # Alone, with what makes it a host: what is wrong is told as of the whole.
            made[name] = _host_part(made["plain"], name, self.where)
        return made[name]


def _parsed(file: _File, start: int, length: int) -> t.Any:
    try:
        return json.loads(file.text(start, length))
    except ValueError as error:
        raise FactsError(f"{file.path}: not JSON: {error}") from error


def _host_part(plain: t.Mapping[str, t.Any], name: str, where: str) -> t.Any:
    rest = {key: None if key in LATER else value for key, value in plain.items()}
    return getattr(from_plain(HostFacts, {**rest, name: plain[name]}, where), name)


_T = t.TypeVar("_T")


class StoredList(collections.abc.Sequence, t.Generic[_T]):  # type: ignore[type-arg]
    """A list that is parsed whenever it is looked at, and said to be wrong then. Its length is known."""

    __slots__ = ("_count", "_parts")

    def __init__(self, count: int, parts: t.Sequence[t.Callable[[], t.Sequence[_T]]]) -> None:
        self._count = count
        self._parts = parts

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> t.Iterator[_T]:
        seen = 0
        for part in self._parts:
            found = part()
            seen += len(found)
            yield from found
        if seen != self._count:
            raise FactsError(f"{self._count} records were read, but the file has {seen} records now")

    def __getitem__(self, index: t.Any) -> t.Any:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (list, StoredList)) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


class StoredDict(collections.abc.Mapping, t.Generic[_T]):  # type: ignore[type-arg]
    """A dictionary that is parsed whenever it is looked at. Its length is known."""

    __slots__ = ("_count", "_part")

    def __init__(self, count: int, part: t.Callable[[], t.Mapping[str, _T]]) -> None:
        self._count = count
        self._part = part

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> t.Iterator[str]:
        return iter(self._part())

    def __getitem__(self, key: str) -> _T:
        return self._part()[key]

    def __repr__(self) -> str:
        return repr(dict(self))


class _Part:
    """A part of a host, when it is called."""

    __slots__ = ("_name", "_record")

    def __init__(self, record: _Record, name: str) -> None:
        self._record, self._name = record, name

    def __call__(self) -> t.Any:
        return self._record.part(self._name)


class _Ports:
    """Some ports that follow one another in the file, when it is called."""

    __slots__ = ("_file", "_first", "_length", "_start", "_where")

    def __init__(self, file: _File, start: int, length: int, where: str, first: int) -> None:
        self._file, self._start, self._length, self._where, self._first = file, start, length, where, first

    def __call__(self) -> t.List[ApiPort]:
        text = b"[" + self._file.text(self._start, self._length) + b"]"
        try:
            found = json.loads(text)
        except ValueError as error:
            raise FactsError(f"{self._file.path}: not JSON: {error}") from error
        return [
            from_plain(ApiPort, item, f"{self._where}[{self._first + number}]") for number, item in enumerate(found)
        ]


class _Text:
    """The text of a file, a piece at a time, as JSON."""

    def __init__(self, stream: t.BinaryIO) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._gone = 0
        self._ended = False

    @property
    def place(self) -> int:
        """How many bytes were consumed."""
        before = self._text[: self._at]
        return self._gone + (self._at if self._text.isascii() else len(before.encode()))

    def _more(self, size: int) -> None:
        if self._at:
            self._gone = self.place
            self._text = self._text[self._at :]
            self._at = 0
        data = self._stream.read(size)
        self._ended = len(data) < size
        self._text += self._decode(data, self._ended)

    def peek(self) -> str:
        """Return the next character that is no space, without consuming it; empty: there is none."""
        while True:
            while self._at < len(self._text):
                char = self._text[self._at]
                if char not in _SPACE:
                    return char
                self._at += 1
            if self._ended:
                return ""
            self._more(_PIECE)

    def take(self, wanted: str) -> str:
        """Consume the next character, which must be one of these. Raises ValueError."""
        char = self.peek()
        if not char:
            raise ValueError(f"the file is cut off at byte {self.place}")
        if char not in wanted:
            raise ValueError(f"Expecting {' or '.join(wanted)}: byte {self.place}")
        self._at += 1
        return char

    def value(self) -> t.Any:
        """Consume one value. Raises ValueError."""
        if self._at >= len(self._text) or self._text[self._at] in _SPACE:
            self.peek()
        while True:
            try:
                found, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                near = error.pos >= len(self._text) - _MARGIN or error.msg.startswith("Unterminated string")
                if self._ended or not near:
                    ends = error.pos >= len(self._text) or error.msg.startswith("Unterminated string")
                    cut = "the file is cut off: " if ends else ""
                    raise ValueError(f"{cut}{error.msg}: in the value that begins at byte {self.place}") from error
            else:
                # Of 1.5e+3 each beginning is a number, or ends with one.
                if end + _NUMBER < len(self._text) or self._ended or self._text[end - 1] in _CLOSED:
                    self._at = end
                    return found
            self._more(max(_PIECE, len(self._text) - self._at))

    def values(self) -> t.Iterator[t.Any]:
        """Yield each item of a list."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        while True:
            yield self.value()
            if not self._comma() and self.take(",]") == "]":
                return

    def _comma(self) -> bool:
        """Consume a comma as json writes it; anything else is looked at a character at a time."""
        found = self._text.startswith(", ", self._at)
        self._at += 2 if found else 0
        return found

    def members(self) -> t.Iterator[str]:
        """Yield the key of each member of an object, whose value is to be consumed before the next."""
        self.take("{")
        if self.peek() == "}":
            self.take("}")
            return
        while True:
            if self.peek() not in ("", '"'):
                raise ValueError(f"Expecting property name enclosed in double quotes: byte {self.place}")
            key = self.value()
            self.take(":")
            yield str(key)
            if self.take(",}") == "}":
                return

    def items(self) -> t.Iterator[int]:
        """Yield the number of each item of a list, which is to be consumed before the next."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        number = 0
        while True:
            self.peek()
            yield number
            number += 1
            if not self._comma() and self.take(",]") == "]":
                return


class _Reader:
    """Facts from the text."""

    def __init__(self, text: _Text, file: t.Optional[_File]) -> None:
        self._text = text
        #: None: everything is kept.
        self._file = file
        self._strings: t.Dict[str, str] = {}
        self._amounts: t.Dict[t.Tuple[t.Tuple[str, int], ...], t.Dict[str, int]] = {}

    def bundle(self) -> Bundle:
        if self._text.peek() != "{":
            raise FactsError("evidence: expected a JSON object")
        found = t.cast(Bundle, self._deep(Bundle, "evidence"))
        if self._text.peek():
            raise ValueError(f"Extra data after the evidence, at byte {self._text.place}")
        if found.schema != SCHEMA:
            raise FactsError(f"evidence: the schema is {found.schema!r}, but this version reads only schema {SCHEMA}")
        return found

    def _deep(self, cls: t.Any, where: str) -> t.Any:
        self._expect("{", "object", where)
        hints = t.get_type_hints(cls)
        values: t.Dict[str, t.Any] = {}
        for name in self._text.members():
            if name not in hints:
                raise FactsError(
                    f"{where}: unknown field {name!r}. Check whether a newer version of this collection wrote the file"
                )
            if name in values:
                raise FactsError(
                    f"{where}.{name}: the key appears twice. Check whether the file was put together from several files"
                )
            values[name] = self._read(hints[name], f"{where}.{name}")
        for field in dataclasses.fields(cls):
            no_default = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            if field.name not in values and no_default:
                raise FactsError(f"{where}.{field.name}: missing")
        return cls(**values)

    def _expect(self, char: str, what: str, where: str) -> None:
        if self._text.peek() != char:
            article = "an" if what == "object" else "a"
            raise FactsError(f"{where}: expected {article} {what}, found {type(self._text.value()).__name__}")

    def _read(self, hint: t.Any, where: str) -> t.Any:
        origin = t.get_origin(hint)
        if origin is t.Union:
            if self._text.peek() == "n":
                return self._plain(hint, where)
            return self._read(next(arg for arg in t.get_args(hint) if arg is not _NONE), where)
        if origin is list:
            self._expect("[", "list", where)
            (item,) = t.get_args(hint)
            if item is ApiPort and self._file is not None:
                return self._ports(self._file, where)
            if item not in DEEP and dataclasses.is_dataclass(item):
                return self._records(item, where)
            return [self._read(item, f"{where}[{number}]") for number in self._text.items()]
        if origin is dict:
            self._expect("{", "object", where)
            item = t.get_args(hint)[1]
            found: t.Dict[str, t.Any] = {}
            for key in self._text.members():
                if key in found:
                    raise FactsError(
                        f"{where}.{key}: the key appears twice. Check whether the file was put together from several "
                        "files"
                    )
                found[self._one(key)] = self._read(item, f"{where}.{key}")
            return found
        if hint in DEEP:
            return self._deep(hint, where)
        if hint is HostFacts and self._file is not None:
            # Hosts come after all that shares strings with one another.
            self._strings = {}
            return self._host(self._file, where)
        return self._plain(hint, where)

    def _plain(self, hint: t.Any, where: str) -> t.Any:
        return from_hint(hint, self._shared(self._text.value()), where)

    def _records(self, cls: t.Any, where: str) -> t.List[t.Any]:
        found: t.List[t.Any] = []
        share = self._strings.setdefault
        for number, plain in enumerate(self._text.values()):
            if plain.__class__ is dict:
                for key, value in plain.items():
                    if value.__class__ is str:
                        plain[key] = share(value, value)
            made = from_plain(cls, plain, f"{where}[{number}]")
            if cls is ApiServer and not made.volumes:
                # Most servers have none, and a list for each would be as large as a name.
                object.__setattr__(made, "volumes", _NO_VOLUMES)
            elif cls is ResourceProvider and made.allocations is not None:
                # Consumers are instances, and what they hold is mostly what others hold too.
                shared = {self._one(key): self._alike(amounts) for key, amounts in made.allocations.items()}
                made = dataclasses.replace(made, allocations=shared)
            found.append(made)
        return found

    def _alike(self, amounts: t.Dict[str, int]) -> t.Dict[str, int]:
        return self._amounts.setdefault(tuple(amounts.items()), amounts)

    def _one(self, text: str) -> str:
        return self._strings.setdefault(text, text)

    def _shared(self, value: t.Any) -> t.Any:
        """Return plain data in which equal strings are one."""
        kind = value.__class__
        if kind is str:
            return self._strings.setdefault(value, value)
        if kind is dict:
            for key, item in value.items():
                if item.__class__ is str:
                    value[key] = self._strings.setdefault(item, item)
                elif item.__class__ is dict or item.__class__ is list:
                    self._shared(item)
        elif kind is list:
            value[:] = [self._shared(item) for item in value]
        return value

    def _host(self, file: _File, where: str) -> HostFacts:
        """A host without what grows with its guests; that stays in the file, and is judged when it is looked at."""
        self._text.peek()
        start = self._text.place
        plain = self._text.value()
        record = _Record(file, start, self._text.place - start, where)
        later: t.Dict[str, t.Any] = {}
        for name, kind in (("domains", list), ("definitions", list), ("qemu_processes", dict)):
            part = plain.get(name) if isinstance(plain, dict) else None
            if isinstance(part, kind):
                make = _Part(record, name)
                later[name] = StoredDict(len(part), make) if kind is dict else StoredList(len(part), [make])
                plain[name] = kind()
        return dataclasses.replace(from_plain(HostFacts, self._shared(plain), where), **later)

    def _ports(self, file: _File, where: str) -> t.Any:
        """Ports stay in the file, and are judged when they are looked at."""
        parts: t.List[_Ports] = []
        start, number = 0, -1
        for number in self._text.items():
            if number % TOGETHER == 0:
                start = self._text.place
            self._text.value()
            if number % TOGETHER == TOGETHER - 1 or self._text.peek() == "]":
                first = number - number % TOGETHER
                parts.append(_Ports(file, start, self._text.place - start, where, first))
        return StoredList(number + 1, parts)


@contextlib.contextmanager
def without_collecting() -> t.Iterator[None]:
    """Look for no cycles: facts are none, and looking for them among millions takes as long as the work itself."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def load(path: str) -> Bundle:
    """Read a file. Raises FactsError."""
    try:
        with open(path, "rb") as stream:
            large = os.fstat(stream.fileno()).st_size > IN_MEMORY
            file = _File(path, os.dup(stream.fileno())) if large else None
            with without_collecting():
                return _Reader(_Text(stream), file).bundle()
    except FactsError:
        raise
    except OSError as error:
        raise FactsError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FactsError(f"{path}: not JSON: {error}") from error
