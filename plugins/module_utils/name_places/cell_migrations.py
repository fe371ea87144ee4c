# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names in ``migrations`` of a cell's database. A rename leaves them: they are history. Pure."""

from __future__ import annotations

from ..model.codes.catalogue import remedy_text
from ..model.findings import Unchecked, finding
from ..model.lookups import (
    Index,
    Items,
    migration_evidence,
    migration_subject,
    open_evacuation,
)
from .place import (
    NamePlace,
    StoredName,
    StoredNames,
    Text,
    WantedName,
)


class CellMigrations(NamePlace):
    """Migrations that something is still to happen to."""

    text = Text(
        "cell database, `migrations.source_compute`, `.dest_compute`, `.source_node`, `.dest_node`",
        "cell databases, or the compute API if the run does not read the cell databases",
        "the run changes no row: an unfinished migration from or to the host blocks the rename, and the row of a "
        "finished migration keeps the old name",
        "the run has nothing to undo",
        "records of finished migrations",
    )
    codes = ("SG309", "SG310", "SG113", "SG509")
    against_rename = False

    def stored(self, index: Index) -> StoredNames:
        """All four names of each unfinished migration."""
        for place, row in index.migrations:
            for name in (row.source_compute, row.dest_compute, row.source_node, row.dest_node):
                yield StoredName(migration_subject(row), f"{place} migrations", name)

    def taken(self, index: Index, wanted: WantedName) -> StoredNames:
        """The same, but for evacuations from the new name: those are SG113."""
        for place, row in index.migrations:
            if open_evacuation(row) and wanted.wants(row.source_compute):
                continue
            for name in (row.source_compute, row.dest_compute, row.source_node, row.dest_node):
                if wanted.wants(name) and name not in (wanted.old, wanted.old_node):
                    yield StoredName(migration_subject(row), f"{place} migrations", name)

    def unread(self, index: Index) -> Items:
        """Neither the cells nor the API."""
        if not index.migrations_read:
            yield Unchecked("SG309", "all", "the migrations were not read")

    def stale(self, index: Index) -> Items:
        """SG309: a record that names no host: confirm, revert and clean-up go to a name that no host has."""
        known = index.compute_hosts
        if not known or not index.cells_read("services"):
            return
        for place, row in index.migrations:
            names = [name for name in (row.source_compute, row.dest_compute) if name and index.in_scope(name)]
            stale = [name for name in names if name not in known]
            if stale:
                evidence = {**migration_evidence(row, place), "no such compute host": stale}
                yield finding("SG309", migration_subject(row), evidence, remedy_text("SG309", "half-renamed"))


PLACE = CellMigrations()
