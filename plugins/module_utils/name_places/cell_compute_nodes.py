# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names in ``compute_nodes`` of a cell's database: the host's, and libvirt's for the same machine. Pure."""

from __future__ import annotations

import typing as t

from ..model.findings import Subject
from ..model.lookups import Index, Items, same_uuid, uuid_key
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


class CellComputeNodes(NamePlace):
    """Existing compute nodes."""

    text = Text(
        "cell database, `compute_nodes.host` and `.hypervisor_hostname`",
        "cell database",
        "the run updates one row, in the same transaction as the other tables of the cell",
        "the run restores the old name in the row that the rename changed",
        "soft-deleted rows keep the old name. A soft-deleted row that already has the new name is no conflict, because "
        "the unique keys of the table include `deleted`",
    )
    codes = ("SG301", "SG310")
    steps = ("cell_database",)
    table = NameTable("cell", "compute_nodes", ("host", "hypervisor_hostname"))
    noun = "compute node"

    def stored(self, index: Index) -> StoredNames:
        """Both names of each node."""
        for cell, row in index.node_rows:
            subject = Subject("compute_node", row.uuid or str(row.id), row.hypervisor_hostname, row.host)
            yield StoredName(subject, f"cell {cell.name} compute_nodes.host", row.host)
            store = f"cell {cell.name} compute_nodes.hypervisor_hostname"
            yield StoredName(subject, store, row.hypervisor_hostname)

    def is_own(self, entry: StoredName, wanted: WantedName) -> bool:
        """By its uuid."""
        return same_uuid(entry.subject.id, wanted.node_uuid)

    def stale(self, index: Index) -> Items:
        """SG301: a node that the API shows under another name."""
        rows = {uuid_key(row.uuid): (cell, row) for cell, row in index.node_rows if row.uuid}
        for shown in (index.bundle.cloud.hypervisors if index.bundle.cloud else None) or []:
            found = rows.get(uuid_key(shown.id))
            if found is None:
                continue
            cell, row = found
            name = row.hypervisor_hostname
            if shown.hypervisor_hostname != name:
                subject = Subject("compute_node", str(row.uuid), name, row.host)
                here = (f"cell {cell.name}", "hypervisor_hostname", name)
                yield differs(subject, here, ("compute API", shown.hypervisor_hostname))

    def rows(self, renaming: Renaming) -> t.List[RowChange]:
        """The host's one node."""
        node, after = renaming.node, renaming.after
        return [
            RowChange(
                f"cell:{renaming.cell.name}",
                "compute_nodes",
                "id",
                node.id,
                {
                    "host": node.host,
                    "hypervisor_hostname": node.hypervisor_hostname,
                    "uuid": node.uuid,
                    "deleted": 0,
                },
                {"host": after.host, "hypervisor_hostname": after.hypervisor_hostname},
                f"compute node {node.uuid}",
            )
        ]


PLACE = CellComputeNodes()
