# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a place is that stores the name of a compute host: read, judged, changed, changed back. Pure.

Each place is one file of this room with one entry, and :mod:`catalogue` lists them all. Checks, plan, SQL and the
documentation take from the entries what they need to know of a place.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import names as naming
from ..model.codes.catalogue import remedy_text
from ..model.facts import (
    ApiDbFacts,
    ApiService,
    CellFacts,
    CloudFacts,
    ComputeNodeRow,
    NameRow,
    ResourceProvider,
    ServiceRow,
)
from ..model.findings import Subject, Unchecked, finding
from ..model.lookups import Index, Item, Items, same_name
from ..model.plan import Change, PlanError, RowChange

_T = t.TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class StoredName:
    """One name that was read: whose it is, the store with its column, and what it says."""

    subject: Subject
    store: str
    name: t.Optional[str]


StoredNames = t.Iterator[StoredName]


@dataclasses.dataclass(frozen=True)
class WantedName:
    """The names that a rename wants (without case), and what the host itself already is: that is in no one's way."""

    inventory_name: str
    old: str
    new: t.FrozenSet[str]
    node_uuid: t.Optional[str]
    service_uuid: t.Optional[str]
    old_node: t.Optional[str]

    def wants(self, name: t.Optional[str]) -> bool:
        """Whether a name is one of the new ones."""
        return name is not None and name.casefold() in self.new


@dataclasses.dataclass(frozen=True)
class Renaming:
    """What a rename in place changes: the host's own rows as they were read, and its names before and after."""

    cell: CellFacts
    node: ComputeNodeRow
    service: ServiceRow
    api_service: ApiService
    api: t.Optional[ApiDbFacts]
    cloud: CloudFacts
    before: naming.Names
    after: naming.Names

    @property
    def provider(self) -> ResourceProvider:
        """The root provider of the compute node, by uuid."""
        for provider in needed(self.cloud.providers, "resource providers"):
            if provider.uuid == self.node.uuid:
                return provider
        raise PlanError(f"no resource provider has the uuid {self.node.uuid} of the compute node")


@dataclasses.dataclass(frozen=True)
class NameTable:
    """A table that a rename writes. ``database``: cell, api or neutron; ``beside``: columns written with the name.

    ``reads``: all columns that are read, C(id) first, and C(deleted) where there is one. Then nothing else has to know
    the table: it is read, changed and granted by what stands here (cell and api only). Empty: ``systems/db`` has a
    reader for it.
    """

    database: str
    table: str
    columns: t.Tuple[str, ...]
    beside: t.Tuple[str, ...] = ()
    reads: t.Tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Text:
    """What docs/reference/places.md says of a place: a cell of its table each."""

    #: The place, as an operator would look it up.
    place: str
    read_with: str
    change: str
    rollback: str
    remains: str = "nothing"


class NamePlace:
    """One place. What a place does not do is empty here."""

    text: t.ClassVar[Text]
    #: Codes of the findings about it, for the documentation.
    codes: t.ClassVar[t.Tuple[str, ...]] = ()
    #: The steps of a rename in place that change it; empty: a rename leaves it as it is.
    steps: t.ClassVar[t.Tuple[str, ...]] = ()
    #: The table that a rename writes; None: the place is no table of a database that this collection writes.
    table: t.ClassVar[t.Optional[NameTable]] = None
    #: What the plan counts of it.
    noun: t.ClassVar[str] = ""
    #: Whether a stale name in it stands against a rename of its host at once. What does not has a check of its own.
    against_rename: t.ClassVar[bool] = True

    def stored(self, index: Index) -> StoredNames:
        """Every live name in this place that was read."""
        return iter(())

    def holds(self, entry: StoredName, names: t.Collection[str]) -> bool:
        """Whether an entry says one of these names."""
        return entry.name in names

    def taken(self, index: Index, wanted: WantedName) -> StoredNames:
        """What has a new name already, and is not the host's own."""
        for entry in self.stored(index):
            if wanted.wants(entry.name) and not self.is_own(entry, wanted):
                yield entry

    def is_own(self, entry: StoredName, wanted: WantedName) -> bool:
        """Whether an entry is the renamed host's: by its old name, where nothing better says so."""
        return entry.name == wanted.old

    def unread(self, index: Index) -> Items:
        """What could not be decided, since the place was not read."""
        return iter(())

    def stale(self, index: Index) -> Items:
        """Names of no host, or that another place contradicts."""
        return iter(())

    def rows(self, renaming: Renaming) -> t.List[RowChange]:
        """The rows of :attr:`table` that a rename changes, guarded by what was read. Raises PlanError."""
        return []

    def changes(self, renaming: Renaming) -> t.List[Change]:
        """What a rename changes, for people. Raises PlanError."""
        return row_changes(self.rows(renaming))


class DeclaredTable(NamePlace):
    """A place that is columns of one table, with names of hosts in them, as :attr:`table` declares."""

    table: t.ClassVar[NameTable]
    #: The one of :attr:`codes` that stays undecided if the table was not read.
    unread_code: t.ClassVar[str]

    def read(self, index: Index) -> t.Iterator[t.Tuple[str, t.Optional[t.List[NameRow]]]]:
        """Each database that has the table, and its existing rows; None: not read."""
        databases = index.bundle.databases
        owners: t.List[t.Tuple[str, t.Union[CellFacts, ApiDbFacts]]] = []
        if self.table.database == "cell":
            owners += [(f"cell {cell.name}", cell) for cell in index.cells or []]
        elif databases is not None and databases.api is not None:
            owners.append(("API database", databases.api))
        for where, owner in owners:
            yield where, owner.name_rows.get(self.table.table)

    def stored(self, index: Index) -> StoredNames:
        """Every name in each of its columns."""
        for where, rows in self.read(index):
            for row in rows or []:
                for column in self.table.columns:
                    name = row.values.get(column)
                    if name is not None:
                        yield StoredName(Subject("host", name, host=name), f"{where} {self.table.table}.{column}", name)

    def unread(self, index: Index) -> Items:
        """No database that has it was read, or it was not read in one of them."""
        found = list(self.read(index))
        none = index.cells != [] if self.table.database == "cell" else True
        if any(rows is None for _where, rows in found) or (not found and none):
            yield Unchecked(self.unread_code, "all", f"{self.table.table} was not read")

    def rows(self, renaming: Renaming) -> t.List[RowChange]:
        """Every row with the old name."""
        old, new, table = renaming.before.host, renaming.after.host, self.table.table
        in_cell = self.table.database == "cell"
        owner = renaming.cell if in_cell else needed(renaming.api, "the API database")
        where = f"cell:{renaming.cell.name}" if in_cell else self.table.database
        found = []
        for row in needed(owner.name_rows.get(table), table):
            mine = [column for column in self.table.columns if row.values.get(column) == old]
            if mine:
                before, after = dict.fromkeys(mine, old), dict.fromkeys(mine, new)
                found.append(RowChange(where, table, "id", row.id, before, after, f"{self.noun} {row.id}"))
        return found


def row_changes(rows: t.Sequence[RowChange]) -> t.List[Change]:
    """Return each value that row changes write, for people."""
    return [
        Change(
            f"{row.database} {row.table} {row.key_column}={row.key} ({row.label})",
            column,
            str(row.before[column]),
            str(value),
        )
        for row in rows
        for column, value in sorted(row.after.items())
    ]


def needed(value: t.Optional[_T], what: str) -> _T:
    """Return what was read. Raises PlanError where it was not."""
    if value is None:
        raise PlanError(f"not read: {what}", problem="not-read")
    return value


def differs(
    subject: Subject,
    store: t.Tuple[str, str, t.Optional[str]],
    other: t.Tuple[str, t.Optional[str]],
    severity: t.Optional[str] = None,
) -> Item:
    """SG301: two places that must say one name do not. ``store``: where it was read, the column, its name."""
    place, column, name = store
    other_place, other_name = other
    evidence = {
        "read from": place,
        column: name,
        other_place: other_name,
        "differ only in case": same_name(name, other_name),
    }
    return finding("SG301", subject, evidence, remedy_text("SG301", "half-renamed"), severity)
