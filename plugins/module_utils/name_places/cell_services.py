# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name in ``services.host`` of a cell's database. Pure."""

from __future__ import annotations

import typing as t

from ..model.findings import Subject, Unchecked
from ..model.lookups import COMPUTE, Index, Items, same_uuid
from ..model.plan import RowChange
from .place import (
    NamePlace,
    NameTable,
    Renaming,
    StoredName,
    StoredNames,
    Text,
    WantedName,
    differs,
)


class CellServices(NamePlace):
    """Existing services. A rename covers nova-compute; others of the name stand against it."""

    text = Text(
        "cell database, `services.host` of nova-compute",
        "cell database",
        "the run updates one row, in the same transaction as the other tables of the cell",
        "the run restores the old name in the row that the rename changed",
        "soft-deleted rows keep the old name. A soft-deleted row that already has the new name is no conflict, because "
        "the unique keys of the table include `deleted`",
    )
    codes = ("SG301", "SG310")
    steps = ("cell_database",)
    table = NameTable("cell", "services", ("host",))
    noun = "service"

    def stored(self, index: Index) -> StoredNames:
        """The host of each existing service, of any binary."""
        for cell in index.cells or []:
            for row in cell.services or []:
                if not row.deleted:
                    subject = Subject("service", row.uuid or str(row.id), row.binary, row.host)
                    yield StoredName(subject, f"cell {cell.name} services.host", row.host)

    def holds(self, entry: StoredName, names: t.Collection[str]) -> bool:
        """A rename covers nova-compute only: its preflight refuses where others have the name."""
        return entry.subject.name == COMPUTE and entry.name in names

    def is_own(self, entry: StoredName, wanted: WantedName) -> bool:
        """By its uuid."""
        return same_uuid(entry.subject.id, wanted.service_uuid)

    def unread(self, index: Index) -> Items:
        """Services and nodes are compared with each other: both must have been read."""
        if not index.cells_read("services") or not index.cells_read("compute_nodes"):
            yield Unchecked("SG301", "all", "in at least one cell, the run did not read the services and compute nodes")

    def stale(self, index: Index) -> Items:
        """SG301: node or API say another name (the trap of 27 and 28, facts of nova 1.3)."""
        nodes = {(cell.uuid, row.service_id): row for cell, row in index.node_rows if row.service_id is not None}
        shown = {service.id: service for service in index.api_services or []}
        for cell, row in index.services:
            subject = Subject("service", row.uuid or str(row.id), host=row.host)
            node = nodes.get((cell.uuid, row.id))
            here = (f"cell {cell.name}", "services.host", row.host)
            # A node of an existing service of its own is a wrong link (SG203), not a name.
            if node is not None and node.host != row.host and not index.services_by_host.get(node.host):
                yield differs(subject, here, ("compute_nodes.host", node.host))
            api = shown.get(row.uuid or "")
            if api is not None and api.host != row.host:
                yield differs(subject, here, ("compute API", api.host))

    def rows(self, renaming: Renaming) -> t.List[RowChange]:
        """The host's one service."""
        service = renaming.service
        return [
            RowChange(
                f"cell:{renaming.cell.name}",
                "services",
                "id",
                service.id,
                {"host": service.host, "binary": COMPUTE, "uuid": service.uuid, "deleted": 0},
                {"host": renaming.after.host},
                f"service {service.uuid}",
            )
        ]


PLACE = CellServices()
