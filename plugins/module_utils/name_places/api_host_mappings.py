# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name in ``host_mappings`` of the API database: which cell a host is in. Pure."""

from __future__ import annotations

import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.commands import Commands, for_host, typed
from ..model.facts import HostMappingRow
from ..model.findings import (
    BLOCKER,
    WARNING,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import Index, Item, Items, same_name
from ..model.plan import PlanError, RowChange
from .place import (
    NamePlace,
    NameTable,
    Renaming,
    StoredName,
    StoredNames,
    Text,
    needed,
)


class HostMappings(NamePlace):
    """Host mappings. The table has no soft deletion."""

    text = Text(
        "API database, `host_mappings.host`",
        "API database",
        "the run updates one row, in the same transaction as the rows of `aggregate_hosts`",
        "the run restores the old name in the row that the rename changed",
    )
    codes = ("SG302", "SG310")
    steps = ("api_database",)
    table = NameTable("api", "host_mappings", ("host",))
    noun = "host mapping"

    def stored(self, index: Index) -> StoredNames:
        """Every mapping."""
        for row in _mappings(index) or []:
            yield StoredName(Subject("host", row.host, host=row.host), "host_mappings.host", row.host)

    def unread(self, index: Index) -> Items:
        """The table was not read."""
        if _mappings(index) is None:
            yield Unchecked("SG302", "all", "the host mappings were not read")

    def stale(self, index: Index) -> Items:
        """SG302: a mapping of a name that no compute service has, or to a cell that its service is not in."""
        if not index.cells_read("services"):
            return
        for row in _mappings(index) or []:
            found = index.services_by_host.get(row.host, [])
            if not found and index.in_scope(row.host):
                yield _stale(index, row)
            wrong = [cell for cell, _row in found if cell.uuid and row.cell_uuid and cell.uuid != row.cell_uuid]
            if wrong and len(wrong) == len(found):
                evidence = {"mapped to": row.cell_name, "service is in": [cell.name for cell in wrong]}
                remedy = remedy_text("SG302", "cell-wrong", cell=row.cell_uuid or "CELL", host=row.host)
                gone, found_by = _deletion(row), ("nova-manage", "cell_v2", "discover_hosts", "--by-service")
                commands = (*gone, *typed(found_by)) if gone else ()
                yield finding("SG302", Subject("host", row.host, host=row.host), evidence, remedy, commands=commands)

    def rows(self, renaming: Renaming) -> t.List[RowChange]:
        """The host's one mapping. Raises PlanError where it has none or several."""
        old, new = renaming.before.host, renaming.after.host
        api = needed(renaming.api, "the API database")
        rows = [
            RowChange("api", "host_mappings", "id", row.id, {"host": old}, {"host": new}, f"host mapping {row.id}")
            for row in needed(api.host_mappings, "host mappings")
            if row.host == old
        ]
        if len(rows) != 1:
            raise PlanError(f"{old} has {len(rows)} host mappings; exactly 1 is expected")
        return rows


def _mappings(index: Index) -> t.Optional[t.List[HostMappingRow]]:
    databases = index.bundle.databases
    return databases.api.host_mappings if databases and databases.api else None


def _stale(index: Index, row: HostMappingRow) -> Item:
    alike = sorted(str(name) for name in index.services_by_host if same_name(name, row.host))
    evidence = {"host mapping": row.host, "cell": row.cell_name, "similar service names": alike}
    remedy = remedy_text("SG302", "name-of-no-service", cell=row.cell_uuid or "CELL", host=row.host)
    level = BLOCKER if alike else WARNING
    return finding("SG302", Subject("host", row.host, host=row.host), evidence, remedy, level, _deletion(row))


def _deletion(row: HostMappingRow) -> Commands:
    """Return the command, which needs the cell (nova/cmd/manage.py, 27 to 34); none if a shell would look at a name."""
    cell = typed(("nova-manage", "cell_v2", "delete_host", "--cell_uuid"), row.cell_uuid)
    return for_host((*cell, "--host"), row.host) if cell else ()


PLACE = HostMappings()
