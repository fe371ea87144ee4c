# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names in ``instances`` of a cell's database: where a guest is, on which node, and where it was launched. Pure."""

from __future__ import annotations

import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.facts import CellFacts, InstanceRow
from ..model.findings import WARNING, finding
from ..model.lookups import (
    Index,
    Items,
    instance_subject,
    same_name,
)
from ..model.plan import PlanError, RowChange
from .place import (
    NamePlace,
    NameTable,
    Renaming,
    StoredName,
    StoredNames,
    Text,
    WantedName,
    differs,
    needed,
)


class CellInstances(NamePlace):
    """Existing instances."""

    text = Text(
        "cell database: `instances.host` and `.node`; `instances.launched_on` in rows where it contains the old name",
        "cell database",
        "the run updates every row of the host, in the same transaction as the other tables of the cell",
        "the run restores the old names in the rows that the rename changed. If you override SG125 for a guest that "
        "Nova evacuated during the operation, the rollback does not change the row of this guest",
        "soft-deleted rows",
    )
    codes = ("SG301", "SG310", "SG509")
    steps = ("cell_database",)
    table = NameTable("cell", "instances", ("host", "node", "launched_on"))
    noun = "instance"

    def stored(self, index: Index) -> StoredNames:
        """Host and node of each instance."""
        for cell, row in index.instances:
            subject = instance_subject(row)
            yield StoredName(subject, f"cell {cell.name} instances.host", row.host)
            yield StoredName(subject, f"cell {cell.name} instances.node", row.node)

    def is_own(self, entry: StoredName, wanted: WantedName) -> bool:
        """By its host. A guest of this host on a node of the new name is a half rename: :meth:`stale` reports it."""
        return entry.subject.host == wanted.old

    def stale(self, index: Index) -> Items:
        """SG301: what the API shows on another host, and a host and node that are no one existing compute node's."""
        yield from _shown_elsewhere(index)
        for cell, row in index.instances:
            yield from instance_names(index, cell, row)

    def rows(self, renaming: Renaming) -> t.List[RowChange]:
        """Every existing instance of the host. Raises PlanError for one that is on another node."""
        old, new, cell = renaming.before, renaming.after, renaming.cell
        rows = []
        for instance in needed(cell.instances, f"instances of cell {cell.name}"):
            if instance.deleted or instance.host != old.host:
                continue
            if instance.node != old.hypervisor_hostname:
                raise PlanError(
                    f"instance {instance.uuid} is on host {instance.host}, but its node {instance.node} is not the "
                    "node of this host"
                )
            before: t.Dict[str, t.Any] = {"host": instance.host, "node": instance.node, "uuid": instance.uuid}
            after = {"host": new.host, "node": new.hypervisor_hostname}
            if instance.launched_on == old.host:
                before["launched_on"], after["launched_on"] = old.host, new.host
            before["deleted"] = 0
            label = f"instance {instance.uuid}"
            rows.append(RowChange(f"cell:{cell.name}", "instances", "id", instance.id, before, after, label))
        return rows


def _shown_elsewhere(index: Index) -> Items:
    """The API answers from the same rows: what differs is another database, or moved between the two readings."""
    for shown in (index.bundle.cloud.servers if index.bundle.cloud else None) or []:
        live = [item for item in index.instance_rows_by_uuid.get(shown.id, []) if not item[1].deleted]
        if not live or shown.task_state is not None or live[0][1].task_state is not None:
            continue
        cell, row = live[0]
        if shown.host is not None and shown.host != row.host and not index.migrations_by_instance.get(row.uuid):
            here = (f"cell {cell.name}", "instances.host", row.host)
            yield differs(instance_subject(row), here, ("compute API", shown.host), WARNING)


def instance_names(index: Index, cell: CellFacts, row: InstanceRow) -> Items:
    """SG301: an host and node must be one existing compute node's (facts of nova, 2.2, I6; SG216 is the link)."""
    if row.host is None or not index.cells_read("compute_nodes"):
        return
    nodes = index.node_rows_by_host.get(row.host, [])
    if any(node.hypervisor_hostname == row.node for _cell, node in nodes):
        return
    seen: t.Dict[str, t.Any] = {
        "read from": f"cell {cell.name}",
        "instances.host": row.host,
        "instances.node": row.node,
        "nodes of this host": [node.hypervisor_hostname for _cell, node in nodes],
    }
    if not nodes:
        if not index.in_scope(row.host):
            return
        alike = sorted({str(name) for name in index.node_rows_by_host if same_name(name, row.host)})
        seen["similar host names"] = alike
    yield finding("SG301", instance_subject(row), seen, remedy_text("SG301", "half-renamed"))


PLACE = CellInstances()
