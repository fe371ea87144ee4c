# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All evidence of a run in one file, C(evidence.jsonl): a JSON object a line.

    {"kind": "evidence", "schema": 2, "cloud": 1, "hosts": 2, "requested": ["api", "hosts"], "unreachable": {}, ...}
    {"kind": "cloud", "servers": 40, ...}
    {"kind": "server", ...}                                40 lines
    {"kind": "host", "inventory_name": "compute1", ...}    2 lines, each what hosts/NAME.json holds
    {"kind": "end", "records": {"cloud": 1, "host": 2, "server": 40}}

The header says what was asked for, what was not read, and which operations there were. Every other line is a record of
facts. What grows with a cloud (:data:`PARTS`) is no list in the line of its owner: there is its number (null: unread),
and its records follow in lines of their own. By these numbers and the last line, no beginning of a file is evidence of
fewer hosts.

A reader refuses a file that is not whole, or of which any record is wrong. What is many and seldom looked at (guests of
hosts, ports) it does not keep: a :class:`StoredList` or :class:`StoredDict` reads it again from the open file. Guests
are judged then, everything else at once.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import functools
import io
import json
import os
import re
import typing as t

from ..model.facts import (
    SCHEMA,
    ApiAgent,
    ApiAggregate,
    ApiHypervisor,
    ApiMigration,
    ApiPort,
    ApiServer,
    ApiService,
    BlockStorage,
    Bundle,
    CellFacts,
    CellLinks,
    CloudFacts,
    ComputeNodeRow,
    DatabaseFacts,
    FactsError,
    GuestDefinition,
    HostFacts,
    InstanceRow,
    LinkFacts,
    MigrationRow,
    ResourceProvider,
    ServiceRow,
    Volume,
    VolumeAttachment,
    VolumeService,
    from_plain,
    to_plain,
)
from ..model.garbage import garbage_collection_paused
from .installed import collection_version

HEADER, END = "evidence", "end"
#: What the header calls C(collected_at), as the report does.
GENERATED_AT = "generated_at"
VERSION = "version"


class Part(t.NamedTuple):
    """A field whose records have lines of their own."""

    field: str
    kind: str
    cls: t.Type[t.Any]
    #: Of a dictionary: the field of a record that is its key.
    key: t.Optional[str] = None
    #: Whether the field holds one record, and no list.
    single: bool = False


#: In the order of the lines.
PARTS: t.Dict[type, t.Tuple[Part, ...]] = {
    Bundle: (
        Part("cloud", "cloud", CloudFacts, single=True),
        Part("databases", "databases", DatabaseFacts, single=True),
        Part("links", "links", LinkFacts, single=True),
        Part("recorded", "recorded_definition", GuestDefinition, key="uuid"),
        Part("hosts", "host", HostFacts, key="inventory_name"),
    ),
    CloudFacts: (
        Part("services", "service", ApiService),
        Part("hypervisors", "hypervisor", ApiHypervisor),
        Part("servers", "server", ApiServer),
        Part("aggregates", "aggregate", ApiAggregate),
        Part("providers", "provider", ResourceProvider),
        Part("migrations", "migration", ApiMigration),
        Part("agents", "agent", ApiAgent),
        Part("ports", "port", ApiPort),
        Part("block_storage", "block_storage", BlockStorage, single=True),
    ),
    BlockStorage: (
        Part("volumes", "volume", Volume),
        Part("services", "volume_service", VolumeService),
        Part("strays", "stray_attachment", VolumeAttachment),
    ),
    DatabaseFacts: (Part("cells", "cell", CellFacts),),
    CellFacts: (
        Part("services", "service_row", ServiceRow),
        Part("compute_nodes", "compute_node_row", ComputeNodeRow),
        Part("instances", "instance_row", InstanceRow),
        Part("migrations", "migration_row", MigrationRow),
    ),
    LinkFacts: (Part("cells", "cell_links", CellLinks),),
}
KINDS = frozenset(part.kind for parts in PARTS.values() for part in parts)
#: Kinds that no other records belong to.
LEAVES = frozenset(part.kind for parts in PARTS.values() for part in parts if part.cls not in PARTS)
#: Parts of a host that are not kept: each grows with its guests.
OF_GUESTS = ("domains", "definitions", "qemu_processes")
#: Ports that are read again at once.
TOGETHER = 200
_TWO_FILES = "Check whether lines are missing, or the file was put together from several files"
_NO_VOLUMES: t.List[str] = []
_FIRST_KEY = re.compile(rb'\s*\{\s*"(\w+)"')


# --- writing --------------------------------------------------------------------------------------------------


def lines(bundle: Bundle) -> t.Iterator[str]:
    """Yield the lines of the file: no large cloud is text at once. The same evidence gives the same lines."""
    counts: t.Counter[str] = collections.Counter()
    for kind, plain in _flat(HEADER, bundle):
        if kind == HEADER:
            plain.update({VERSION: collection_version(), GENERATED_AT: plain.pop("collected_at")})
        else:
            counts[kind] += 1
        yield _line(kind, plain)
    yield _line(END, {"records": counts})


def _flat(kind: str, record: t.Any) -> t.Iterator[t.Tuple[str, t.Dict[str, t.Any]]]:
    """Yield a record as plain data, and then those that belong to it, each with its kind."""
    owned: t.Dict[Part, t.Any] = {part: getattr(record, part.field) for part in PARTS.get(type(record), ())}
    alone = dataclasses.replace(record, **{part.field: None for part in owned}) if owned else record
    yield kind, {**to_plain(alone), **{part.field: _number(part, value) for part, value in owned.items()}}
    for part, value in owned.items():
        for item in _records(part, value):
            yield from _flat(part.kind, item)


def _number(part: Part, value: t.Any) -> t.Optional[int]:
    return None if value is None else 1 if part.single else len(value)


def _records(part: Part, value: t.Any) -> t.Iterable[t.Any]:
    if value is None:
        return ()
    if part.key:
        return (value[key] for key in sorted(value))
    return [value] if part.single else t.cast("t.Iterable[t.Any]", value)


def _line(kind: str, plain: t.Mapping[str, t.Any]) -> str:
    """Return a line that begins with its kind. One that json indents takes minutes for a large cloud."""
    return f'{{"kind": "{kind}", {json.dumps(plain, sort_keys=True)[1:]}\n'


# --- reading --------------------------------------------------------------------------------------------------


@garbage_collection_paused()
def load(path: str) -> Bundle:
    """Read a file. Raises FactsError for one that is not whole, or of another version."""
    try:
        with open(path, "rb") as stream:
            return _Reader(path, stream).bundle()
    except OSError as error:
        raise FactsError(f"{path}: {error.strerror}", FactsError.UNREADABLE) from error


class _File:
    """An evidence file that stays open, so that it is the same one however often a new one takes its name."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._stamp = self._now()
        #: The host that was read last: checks look at one several times in a row.
        self._last: t.Tuple[int, t.Optional[HostFacts]] = (-1, None)

    def __del__(self) -> None:
        os.close(self._descriptor)

    def _now(self) -> t.Tuple[int, int]:
        found = os.fstat(self._descriptor)
        return found.st_size, found.st_mtime_ns

    def _text(self, start: int, length: int) -> bytes:
        """Return a part. Raises FactsError where the file was written to since it was opened."""
        try:
            data = os.pread(self._descriptor, length, start)
            same = self._now() == self._stamp
        except OSError as error:
            raise FactsError(f"{self.path}: {error.strerror}", FactsError.UNREADABLE) from error
        if not same or len(data) != length:
            raise FactsError(f"{self.path}: the file changed while it was read", FactsError.CHANGED)
        return data

    def records(self, cls: t.Type[t.Any], where: str, start: int, length: int) -> t.List[t.Any]:
        """Return the records of some lines, which were JSON when they were read first. Raises FactsError."""
        plain = [json.loads(line) for line in self._text(start, length).splitlines()]
        return [from_plain(cls, {key: one[key] for key in one if key != "kind"}, where) for one in plain]

    def of_guests(self, field: str, where: str, start: int, length: int) -> t.Any:
        """Return a part of a host, the same object for as long as no other host is looked at. Raises FactsError."""
        if self._last[0] != start:
            self._last = (-1, None)
            self._last = (start, self.records(HostFacts, where, start, length)[0])
        return getattr(self._last[1], field)


_T = t.TypeVar("_T")


class StoredList(collections.abc.Sequence, t.Generic[_T]):  # type: ignore[type-arg]
    """A list that is read again from the file whenever it is looked at. Its length is known."""

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
            said = f"{self._count} records were read, but the file has {seen} records now"
            raise FactsError(said, FactsError.CHANGED)

    def __getitem__(self, index: t.Any) -> t.Any:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (list, StoredList)) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


class StoredDict(collections.abc.Mapping, t.Generic[_T]):  # type: ignore[type-arg]
    """A dictionary that is read again from the file whenever it is looked at. Its length is known."""

    __slots__ = ("_count", "_read")

    def __init__(self, count: int, read: t.Callable[[], t.Mapping[str, _T]]) -> None:
        self._count = count
        self._read = read

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> t.Iterator[str]:
        return iter(self._read())

    def __getitem__(self, key: str) -> _T:
        return self._read()[key]

    def __repr__(self) -> str:
        return repr(dict(self))


def _object(pairs: t.List[t.Tuple[str, t.Any]]) -> t.Dict[str, t.Any]:
    """Return a JSON object. Raises ValueError for one in which a key appears twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        ((key, _times),) = collections.Counter(key for key, _value in pairs).most_common(1)
        raise ValueError(f"the key {key!r} appears twice")
    return found


#: Looking for keys that appear twice takes half as long again: only a record that others belong to is worth it.
_QUICK, _STRICT = json.JSONDecoder(), json.JSONDecoder(object_pairs_hook=_object)


class _Reader:
    """Facts from the lines of a file, from the first to the last."""

    def __init__(self, path: str, stream: io.BufferedReader) -> None:
        self._path = path
        self._stream = stream
        self._file = _File(path, os.dup(stream.fileno()))
        self._number = 0
        #: Where the line begins that was read last, and its length.
        self._start, self._length = 0, 0
        self._counts: t.Counter[str] = collections.Counter()
        #: Equal strings, and equal amounts of resources, are one object.
        self._known: t.Dict[t.Any, t.Any] = {}
        self._version: t.Any = None

    def bundle(self) -> Bundle:
        self._check_beginning()
        try:
            found = t.cast(Bundle, self._with_parts(HEADER, Bundle, self._header()))
            self._check_end()
        except FactsError as error:
            mine = collection_version()
            if self._version in (None, mine):
                raise
            raise FactsError(
                f"{error}. Version {self._version} of the collection wrote the file, and version {mine} reads it",
                error.problem,
                error.place,
                error.line,
            ) from error
        return found

    def _check_beginning(self) -> None:
        first = _FIRST_KEY.match(self._stream.peek(256))
        key = first.group(1).decode() if first else ""
        if key in {field.name for field in dataclasses.fields(Bundle)}:
            raise FactsError(
                f"{self._path}: the file is an evidence.json of version 0.2.0 or of an earlier version of the "
                "collection. This version reads only evidence.jsonl. Run the audit again, or audit the file with the "
                "version that wrote it",
                FactsError.OLD,
            )
        if key != "kind":
            raise FactsError(
                f'{self._path}: the file is no evidence.jsonl, because it does not begin with {{"kind": "{HEADER}"',
                FactsError.NO_EVIDENCE,
            )

    def _header(self) -> t.Dict[str, t.Any]:
        plain = self._line(HEADER)
        if plain.get("schema") != SCHEMA:
            said = f"the schema is {plain.get('schema')!r}, but this version reads only schema {SCHEMA}"
            raise self._error(FactsError.SCHEMA, said)
        self._version = plain.pop(VERSION, None)
        if GENERATED_AT in plain:
            plain["collected_at"] = plain.pop(GENERATED_AT)
        return plain

    def _check_end(self) -> None:
        read = {kind: number for kind, number in self._counts.items() if kind != HEADER}
        told = self._line(END)
        if told != {"records": read}:
            said = f"the file has the records {read}, but its last line says {told}. {_TWO_FILES}"
            raise self._error(FactsError.END, said)
        if self._stream.read(1):
            raise self._error(FactsError.MORE, f"the file goes on after its last record. {_TWO_FILES}")

    def _where(self, kind: str) -> str:
        return f"{self._path}, line {self._number}: {kind}"

    def _line(self, kind: str) -> t.Dict[str, t.Any]:
        """Return the next record, which has to be of this kind."""
        line = self._stream.readline()
        self._start, self._length = self._start + self._length, len(line)
        self._number += 1
        if not line.endswith(b"\n"):
            raise self._error(FactsError.CUT_OFF, "the file is cut off. Copy it again, or run the audit again")
        try:
            plain = (_QUICK if kind in LEAVES else _STRICT).decode(str(line, "utf-8"))
        except json.JSONDecodeError as error:
            raise self._error(FactsError.JSON, f"not JSON: {error.msg}, at character {error.pos + 1}") from error
        except (ValueError, RecursionError) as error:
            raise self._error(FactsError.JSON, f"not JSON: {error}") from error
        found = plain.pop("kind", None) if isinstance(plain, dict) else None
        if found != kind and found not in (*KINDS, HEADER, END):
            raise self._error(
                FactsError.KIND,
                f"unknown kind of record {found!r}. Check whether a newer version of the collection wrote the file",
                str(found),
            )
        if found != kind:
            said = f"expected a record of the kind {kind!r}, found {found!r}. {_TWO_FILES}"
            raise self._error(FactsError.ORDER, said, str(found))
        self._counts[kind] += 1
        return t.cast("t.Dict[str, t.Any]", plain)

    def _error(self, problem: str, text: str, place: str = "") -> FactsError:
        return FactsError(f"{self._path}, line {self._number}: {text}", problem, place, self._number)

    def _from_plain(self, cls: t.Type[_T], plain: t.Any, kind: str) -> _T:
        """Return what a record holds. Raises FactsError, with the line and the field."""
        try:
            return from_plain(cls, plain, self._where(kind))
        except FactsError as error:
            place = error.place.replace(self._where(kind), kind, 1)
            raise FactsError(str(error), error.problem, place, self._number) from None

    def _with_parts(self, kind: str, cls: t.Type[t.Any], plain: t.Dict[str, t.Any]) -> t.Any:
        """Return a record with those that belong to it, which are the next lines."""
        where = self._where(kind)
        numbers = {part: plain[part.field] for part in PARTS[cls] if plain.get(part.field) is not None}
        alone: t.Dict[str, t.Any] = {part.field: None if part.single else {} if part.key else [] for part in numbers}
        made = self._from_plain(cls, {**plain, **alone}, kind)
        for part, number in numbers.items():
            if not isinstance(number, int) or isinstance(number, bool) or number < 0 or (part.single and number != 1):
                found = number if isinstance(number, int) else type(number).__name__
                said = f"{part.field}: expected the number of its records, found {found}"
                raise FactsError(f"{where}.{said}", FactsError.NUMBER, f"{kind}.{part.field}", self._number)
        return dataclasses.replace(made, **{part.field: self._values(part, number) for part, number in numbers.items()})

    def _values(self, part: Part, number: int) -> t.Any:
        if part.single:
            return self._record(part)
        if part.cls is ApiPort:
            return self._later(part, number)
        if part.key is None:
            return [self._record(part) for _number in range(number)]
        found: t.Dict[str, t.Any] = {}
        for _number in range(number):
            record = self._record(part)
            key = getattr(record, part.key)
            if key in found:
                said = f"the {part.kind} {key} appears twice. {_TWO_FILES}"
                raise self._error(FactsError.TWICE, said, f"{part.kind} {key}")
            found[key] = record
        return found

    def _record(self, part: Part) -> t.Any:
        plain = self._line(part.kind)
        if part.cls in PARTS:
            return self._with_parts(part.kind, part.cls, plain)
        if part.cls is HostFacts:
            return self._host(part, plain)
        if part.cls is not ApiPort:
            self._share(plain)
        made = self._from_plain(part.cls, plain, part.kind)
        if part.cls is ApiServer and not made.volumes:
            # Most servers have none, and a list for each would be as large as a name.
            object.__setattr__(made, "volumes", _NO_VOLUMES)
        elif part.cls is ResourceProvider and made.allocations is not None:
            # What an instance holds is mostly what others hold too.
            one = self._known.setdefault
            held = {key: one(tuple(amounts.items()), amounts) for key, amounts in made.allocations.items()}
            return dataclasses.replace(made, allocations=held)
        return made

    def _share(self, plain: t.Dict[str, t.Any]) -> None:
        """Let equal strings of records that are kept be one object, keys as well."""
        one = self._known.setdefault
        for field, value in plain.items():
            if value.__class__ is str:
                plain[field] = one(value, value)
            elif value.__class__ is dict:
                plain[field] = {one(key, key): item for key, item in value.items()}

    def _host(self, part: Part, plain: t.Dict[str, t.Any]) -> HostFacts:
        """Return a host whose guests stay in the file, and are judged when they are looked at."""
        # Hosts come last, and have little in common with what came before.
        self._known.clear()
        where = self._where(part.kind)
        guests: t.Dict[str, t.Any] = {}
        for field in OF_GUESTS:
            value = plain.get(field)
            if isinstance(value, (list, dict)):
                read = functools.partial(self._file.of_guests, field, where, self._start, self._length)
                is_list = isinstance(value, list)
                guests[field] = StoredList(len(value), [read]) if is_list else StoredDict(len(value), read)
                plain[field] = type(value)()
        return dataclasses.replace(self._from_plain(HostFacts, plain, part.kind), **guests)

    def _later(self, part: Part, number: int) -> t.Any:
        """Return a list of records of which only the places are kept: each was looked at."""
        places: t.List[t.Callable[[], t.List[t.Any]]] = []
        for first in range(0, number, TOGETHER):
            start = self._start + self._length
            for _number in range(first, min(first + TOGETHER, number)):
                self._record(part)
            length = self._start + self._length - start
            places.append(functools.partial(self._file.records, part.cls, self._path, start, length))
        return StoredList(number, places)
