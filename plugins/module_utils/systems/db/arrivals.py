# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The row of a server whose live migration has arrived: read with all that holds it, and corrected by compare-and-swap.

What Nova's own last write would have set is set: host, node, C(compute_id), task and progress
(nova/compute/manager.py, C(_do_post_live_migration_at_destination), 26 to 34).
"""

from __future__ import annotations

import contextlib
import typing as t

from ...model import facts
from ...model.arrival import ArrivalRows, ArrivedRow
from ...model.errors import Conflict, DatabaseError
from . import engine, nova, schema

# One that is missing is reported by the module, see systems/db/engine.py.
with contextlib.suppress(ImportError):
    import sqlalchemy as sa

#: What a column of instance_extra holds where it holds nothing.
_NOTHING = (None, "", "[]", "null")
CHANGED, ALREADY = "changed", "already"


def read_arrival(options: nova.Options, uuid: str) -> ArrivalRows:
    """Return what the cell of a server holds of it.

    Raises DatabaseError, also where a cell is silent (the server may be in it), and where no cell or several have it.
    """
    found = []
    for cell in nova.list_cells(options):
        if cell.url is None:
            raise DatabaseError(f"cell {cell.name}: {cell.problem or 'no URL'}")
        facts_of_cell = nova.read_server_cell(cell, uuid)
        if facts_of_cell.unread:
            raise DatabaseError(f"cell {cell.name}: {facts_of_cell.unread[0].reason}")
        if facts_of_cell.instances:
            found.append((cell, facts_of_cell))
    if len(found) != 1:
        raise DatabaseError(f"{len(found)} cells have a row of server {uuid}", problem="not-one-row")
    cell, rows = found[0]
    with engine.snapshot(str(cell.url)) as connection:
        return _beside(connection, rows, uuid)


def _beside(connection: sa.Connection, cell: facts.CellFacts, uuid: str) -> ArrivalRows:
    instances, migrations = (schema.table(schema.CELL, name).c for name in ("instances", "migrations"))
    extra = schema.table(schema.CELL, "instance_extra").c
    names = [name for name in schema.ARRIVAL_COLUMNS["instance_extra"] if name != "instance_uuid"]
    held = connection.execute(sa.select(*[extra[name] for name in names]).where(extra.instance_uuid == uuid)).all()
    written = connection.execute(
        sa.select(migrations.id, migrations.updated_at).where(migrations.instance_uuid == uuid)
    ).all()
    row = connection.execute(
        sa.select(instances.updated_at).where(instances.uuid == uuid, instances.deleted == 0)
    ).scalar_one()
    devices, mapping = (schema.table(schema.CELL, name).c for name in ("pci_devices", "block_device_mapping"))
    volumes = [mapping.destination_type == "volume", mapping.deleted == 0]
    return ArrivalRows(
        cell=cell,
        row_written=nova.time_of(row),
        migration_written={int(number): nova.time_of(at) for number, at in written},
        # One without a row holds what nobody can say.
        holds=tuple(name for name, value in zip(names, held[0]) if value not in _NOTHING)
        if held
        else ("instance_extra",),
        pci_devices=_count(connection, devices.instance_uuid == uuid, devices.deleted == 0),
        volumes=_count(connection, mapping.instance_uuid == uuid, *volumes),
    )


def _held(names: t.Sequence[str], values: t.Sequence[t.Any]) -> t.Tuple[str, ...]:
    return tuple(name for name, value in zip(names, values) if value not in _NOTHING)


def _count(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> int:
    return int(connection.execute(sa.select(sa.func.count()).where(*where)).scalar_one())


def write_arrival(url: str, change: ArrivedRow, before_commit: t.Callable[[], None]) -> str:
    """Set where an arrived server is, in one transaction; return whether that was changed, or so already.

    Raises :class:`Conflict` (nothing changed) where its row is not as it was read, or the destination's compute node is
    gone; DatabaseError. ``before_commit``: the last word, while the rows are locked.
    """
    source, nodes = (schema.table(schema.CELL, name) for name in ("instances", "compute_nodes"))
    after = _after(change)
    with engine.transaction(url) as connection:
        names = dict.fromkeys(("uuid", "host", "node", "task_state", "updated_at", "deleted", *after))
        columns = [source.c[name] for name in names]
        row = connection.execute(sa.select(*columns).where(source.c.id == change.id).with_for_update()).one_or_none()
        found = {} if row is None else dict(row._mapping)
        if found.get("uuid") != change.uuid or found["deleted"] != 0:
            raise Conflict(f"the row of server {change.uuid} is gone", problem="row-gone")
        if all(found[name] == value for name, value in after.items() if name != "progress"):
            return ALREADY
        _refuse_changed(change, found)
        node = sa.select(nodes.c.host, nodes.c.hypervisor_hostname).where(
            nodes.c.id == change.dest_id, nodes.c.deleted == 0
        )
        names_of_node = connection.execute(node.with_for_update(read=True)).one_or_none()
        if names_of_node is None or tuple(names_of_node) != (change.dest, change.dest_node):
            raise Conflict(f"the compute node of {change.dest} has changed", problem="node-changed")
        guards = [source.c[name] == value for name, value in _before(change).items()]
        result = connection.execute(
            sa.update(source).where(source.c.id == change.id, source.c.deleted == 0, *guards).values(after)
        )
        if result.rowcount != 1:
            raise Conflict(f"{result.rowcount} rows would change instead of 1", problem="row-count")
        before_commit()
    return CHANGED


def is_written(url: str, change: ArrivedRow) -> bool:
    """Return True if the row says where the guest runs. Raises DatabaseError."""
    c = schema.table(schema.CELL, "instances").c
    with engine.snapshot(url) as connection:
        found = connection.execute(sa.select(c.host, c.node).where(c.id == change.id)).one_or_none()
    return found is not None and tuple(found) == (change.dest, change.dest_node)


def _after(change: ArrivedRow) -> t.Dict[str, t.Any]:
    linked = {"compute_id": change.dest_id} if change.row_compute_id else {}
    return {"host": change.dest, "node": change.dest_node, "task_state": None, "progress": 0, **linked}


def _before(change: ArrivedRow) -> t.Dict[str, t.Any]:
    linked = {"compute_id": change.compute_id} if change.row_compute_id else {}
    return {"host": change.host, "node": change.node, "task_state": change.task, **linked}


def _refuse_changed(change: ArrivedRow, found: t.Mapping[str, t.Any]) -> None:
    wanted = {**_before(change), "updated_at": change.written}
    now = {**found, "updated_at": nova.time_of(found["updated_at"])}
    other = sorted(name for name, value in wanted.items() if now[name] != value)
    if other:
        told = ", ".join(f"{name} is {now[name]!r}, expected {wanted[name]!r}" for name in other)
        raise Conflict(f"the row of server {change.uuid} has changed: {told}", problem="row-changed")
