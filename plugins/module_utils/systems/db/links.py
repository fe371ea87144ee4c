# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the links between services, compute nodes, instances and migrations out of every cell, as sets.

Each cell is read in one read-only transaction that sees one moment. Services and nodes are few and read whole, one
statement each; of instances, migrations and PCI devices only those come over the wire that look wrong, at most one
statement for each kind of finding, streamed. What each kind means is said in the facts of C(hazards/links.py).

Names are compared byte by byte: MySQL's own comparison takes C(compute1) and C(COMPUTE1) for one name.
"""

from __future__ import annotations

import datetime
import functools
import typing as t
from concurrent import futures

from ...model import facts, urls
from ...model.errors import Conflict, DatabaseError
from . import engine, nova, schema

try:
    import sqlalchemy as sa
    from sqlalchemy import exc
except ImportError:
    SQLALCHEMY = False  # reported by the module, see systems/db/engine.py

#: Rows of one kind that are kept of one cell; all are counted.
KEEP = 10_000
#: A migration in one of these links nothing any more: it ended, or it is only waiting for its source to clean up.
SETTLED = (*schema.FINAL_STATUSES, "done")
CLAIMED = ("claimed", "allocated")

_Row = t.TypeVar("_Row")
_Statement = t.Any
#: What is selected from, and the condition that makes a row of it wrong.
_Kind = t.Tuple["sa.FromClause", "sa.ColumnElement[bool]"]


def read_links(options: nova.Options, hosts: t.Sequence[str] = (), keep: int = KEEP) -> facts.LinkFacts:
    """Read the links of every cell but cell0. Never raises for a database that fails: see ``unread`` of each cell.

    ``hosts``: names of hosts or nodes to narrow instances, migrations and PCI devices to; empty: all.
    ``keep``: how many rows of one kind and cell are kept (all are counted).
    """
    given = nova.DatabaseOptions.of(options)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    unread: t.List[facts.Unread] = []
    if not given.nova_api_db_url:
        unread.append(facts.left_out("cells", facts.ONLY_NAMED_CELLS))
    try:
        cells = nova.list_cells(given)
    except DatabaseError as error:
        return facts.LinkFacts(now, list(hosts), None, [nova.unread_of("cells", error)])
    if not cells:
        return facts.LinkFacts(now, list(hosts), [], unread)
    with futures.ThreadPoolExecutor(min(nova.PARALLEL_CELLS, len(cells))) as threads:
        read = list(threads.map(lambda cell: read_cell(cell, hosts, keep), cells))
    return facts.LinkFacts(now, list(hosts), read, unread)


def read_cell(cell: nova.Cell, hosts: t.Sequence[str] = (), keep: int = KEEP) -> facts.CellLinks:
    """Read the links of one cell. A cell that does not answer has only its name, uuid and the reason."""
    if cell.url is None:
        return _unread_cell(cell, cell.problem or "no URL")
    try:
        with engine.snapshot(cell.url) as connection:
            return _LinkReader(connection, cell, hosts, keep).read()
    except DatabaseError as error:
        return _unread_cell(cell, error.message)


def _unread_cell(cell: nova.Cell, reason: str) -> facts.CellLinks:
    where = urls.location(cell.url) if cell.url else ""
    unread = [facts.Unread("cell", reason)]
    return facts.CellLinks(cell.name, cell.uuid, where, None, False, None, None, None, {}, None, None, {}, unread)


def _same(
    connection: sa.Connection, one: sa.ColumnElement[t.Any], other: sa.ColumnElement[t.Any]
) -> sa.ColumnElement[bool]:
    """Equal byte by byte; the bare comparison beside it is for the index."""
    return sa.and_(one == other, schema.exact(connection, one) == schema.exact(connection, other))


class _LinkReader:
    """One cell in one transaction. A part that fails is noted and takes no other with it."""

    def __init__(self, connection: sa.Connection, cell: nova.Cell, hosts: t.Sequence[str], keep: int) -> None:
        self._connection = connection
        self._cell = cell
        self._hosts = hosts
        self._keep = keep
        self._compute_id = False
        self._unread: t.List[facts.Unread] = []
        self._totals: t.Dict[str, int] = {}

    def read(self) -> facts.CellLinks:
        """Read everything."""
        revision = self._part("revision", self._revision)
        exists = self._part("has_compute_id", lambda: nova.sees_compute_id(self._connection, revision))
        self._compute_id = bool(exists)
        moving = self._part("moving", self._moving)
        instances: t.Dict[str, t.List[facts.LinkInstance]] = {}
        if exists is not None and moving is not None:
            instances = self._instances(moving)
        return facts.CellLinks(
            name=self._cell.name,
            uuid=self._cell.uuid,
            location=urls.location(self._cell.url or ""),
            revision=revision,
            has_compute_id=self._compute_id,
            services=self._part("services", self._services),
            compute_nodes=self._part("compute_nodes", self._nodes),
            deleted_nodes=self._part("SG207", self._deleted_nodes) if self._compute_id else None,
            instances=instances,
            migrations=self._part("SG221", self._migrations) if self._compute_id else None,
            pci_devices=self._part("SG231", self._pci_devices),
            totals=self._totals,
            unread=self._unread,
            servers=self._part("servers", self._servers) or 0,
        )

    def _part(self, name: str, read: t.Callable[[], _Row]) -> t.Optional[_Row]:
        try:
            with self._connection.begin_nested():
                return read()
        except exc.SQLAlchemyError as error:
            self._unread.append(facts.Unread(name, engine.reason(error, self._cell.url)))
        except DatabaseError as error:
            self._unread.append(facts.Unread(name, error.message))
        return None

    def _stream(self, statement: _Statement) -> t.Iterator[t.Any]:
        return iter(self._connection.execute(statement, execution_options={"yield_per": nova.FETCH}))

    def _kept(self, code: str, rows: t.Iterable[t.Any], make: t.Callable[[t.Any], _Row]) -> t.List[_Row]:
        """Keep the first of a stream, and count them all."""
        kept: t.List[_Row] = []
        total = 0
        for row in rows:
            total += 1
            if total <= self._keep:
                kept.append(make(row))
        self._totals[code] = total
        return kept

    def _exact(self, column: sa.ColumnElement[t.Any]) -> sa.ColumnElement[t.Any]:
        return schema.exact(self._connection, column)

    def _same(self, one: sa.ColumnElement[t.Any], other: sa.ColumnElement[t.Any]) -> sa.ColumnElement[bool]:
        return _same(self._connection, one, other)

    # --- whole tables

    def _revision(self) -> t.Optional[str]:
        heads = self._connection.execute(sa.select(schema.table(schema.CELL, "alembic_version").c.version_num))
        found = heads.scalars().all()
        return str(found[0]) if len(found) == 1 else None

    def _services(self) -> t.List[facts.ServiceRow]:
        c = schema.table(schema.CELL, "services").c
        columns = [c[name] for name in schema.COLUMNS[schema.CELL]["services"] if name != "last_seen_up"]
        statement = sa.select(*columns).where(c.deleted == 0).order_by(c.id)
        return [
            facts.ServiceRow(
                id=row.id,
                uuid=row.uuid,
                host=row.host,
                binary=row.binary,
                version=row.version,
                disabled=bool(row.disabled),
                disabled_reason=row.disabled_reason,
                forced_down=bool(row.forced_down),
                last_seen_up=None,  # when it last reported decides nothing here, and would make equal clouds differ
                deleted=row.deleted,
            )
            for row in self._stream(statement)
        ]

    def _nodes(self) -> t.List[facts.ComputeNodeRow]:
        c = schema.table(schema.CELL, "compute_nodes").c
        columns = [c[name] for name in schema.COLUMNS[schema.CELL]["compute_nodes"]]
        statement = sa.select(*columns).where(c.deleted == 0).order_by(c.id)
        return [
            facts.ComputeNodeRow(*(*row[:6], None if row[6] is None else str(row[6]), *row[7:]))
            for row in self._stream(statement)
        ]

    def _servers(self) -> int:
        i = schema.table(schema.CELL, "instances").c
        statement = sa.select(sa.func.count(i.id)).where(i.deleted == 0, self._in_scope())
        return int(self._connection.execute(statement).scalar_one())

    def _moving(self) -> t.Set[str]:
        c = schema.table(schema.CELL, "migrations").c
        statement = sa.select(c.instance_uuid).where(c.deleted == 0, self._unsettled(c.status))
        return {row[0] for row in self._stream(statement) if row[0] is not None}

    @staticmethod
    def _unsettled(status: sa.ColumnElement[t.Any]) -> sa.ColumnElement[bool]:
        return sa.or_(status.is_(None), status.not_in(SETTLED))

    # --- instances
    #
    # Joins, no subqueries that compare names: MariaDB keeps the answers of a subquery by its arguments, compares those
    # as the table's collation says, and so gives compute1 the answer of COMPUTE1.

    def _instances(self, moving: t.Set[str]) -> t.Dict[str, t.List[facts.LinkInstance]]:
        """Finding code to instances. Those that an index leads to have a statement each; the rest share one scan."""
        found: t.Dict[str, t.List[facts.LinkInstance]] = {}
        for code, kind in self._by_index().items():
            rows = self._part(code, functools.partial(self._instance_rows, code, kind, moving))
            if rows is not None:
                found[code] = rows
        scanned = self._part("scan", functools.partial(self._scan, moving))
        return {**found, **(scanned or {})}

    def _by_index(self) -> t.Dict[str, _Kind]:
        """Finding code to what is joined to the instances, and the condition that makes one of them wrong."""
        instances = schema.table(schema.CELL, "instances")
        i = instances.c
        if not self._compute_id:
            return {"SG215": (instances, sa.and_(i.host.is_(None), i.node.is_not(None)))}
        node = schema.table(schema.CELL, "compute_nodes").alias("linked")
        linked = node.c.id == i.compute_id
        left = sa.or_(i.node.is_not(None), i.compute_id.is_not(None))
        return {
            "SG211": (instances, sa.and_(i.host.is_not(None), i.node.is_not(None), i.compute_id.is_(None))),
            "SG212": (instances.outerjoin(node, linked), sa.and_(i.compute_id.is_not(None), node.c.id.is_(None))),
            "SG213": (instances.join(node, linked), self._dead(node.c.deleted)),
            "SG215": (instances, sa.and_(i.host.is_(None), left)),
        }

    def _scan(self, moving: t.Set[str]) -> t.Dict[str, t.List[facts.LinkInstance]]:
        """SG214, SG216 and SG217: each would read every instance, so all three are found in one reading.

        An instance whose link leads to an existing node of its own names has such a node: only others are looked up by
        name.
        """
        instances = schema.table(schema.CELL, "instances")
        i = instances.c
        node = schema.table(schema.CELL, "compute_nodes").alias("linked")
        own = schema.table(schema.CELL, "compute_nodes").alias("own")
        names = sa.and_(
            own.c.deleted == 0, self._same(own.c.host, i.host), self._same(own.c.hypervisor_hostname, i.node)
        )
        shelved = sa.and_(i.vm_state.is_not(None), i.vm_state == "shelved_offloaded")
        other: sa.ColumnElement[bool] = sa.false()
        source: sa.FromClause = instances.outerjoin(own, names)
        if self._compute_id:
            other = sa.and_(node.c.id.is_not(None), self._elsewhere(i, node.c))
            alone = sa.or_(node.c.id.is_(None), self._other_host(i, node.c), self._other_node(i, node.c))
            source = instances.outerjoin(node, sa.and_(node.c.id == i.compute_id, node.c.deleted == 0))
            source = source.outerjoin(own, sa.and_(alone, names))
            nameless = sa.and_(alone, own.c.id.is_(None))
        else:
            nameless = own.c.id.is_(None)
        kinds = {"SG214": other, "SG216": nameless, "SG217": shelved}
        if not self._compute_id:
            del kinds["SG214"]
        columns = [*self._instance_columns(), *[sa.case((kind, 1), else_=0) for kind in kinds.values()]]
        # "+ 0" keeps the server from the index on deleted, which would lead it through the whole table row by row.
        wanted = (i.deleted + 0 == 0, i.host.is_not(None), sa.or_(*kinds.values()), self._in_scope())
        found: t.Dict[str, t.List[facts.LinkInstance]] = {code: [] for code in kinds}
        self._totals.update(dict.fromkeys(kinds, 0))
        make = self._maker(moving)
        for row in self._stream(sa.select(*columns).select_from(source).where(*wanted)):
            for code, flag in zip(kinds, row[8:]):
                if flag:
                    self._totals[code] += 1
                    if len(found[code]) < self._keep:
                        found[code].append(make(row))
        return {code: sorted(rows, key=lambda row: row.id) for code, rows in found.items()}

    def _other_host(self, i: t.Any, node: t.Any) -> sa.ColumnElement[bool]:
        return self._exact(node.host).is_distinct_from(self._exact(i.host))

    def _other_node(self, i: t.Any, node: t.Any) -> sa.ColumnElement[bool]:
        return self._exact(node.hypervisor_hostname).is_distinct_from(self._exact(i.node))

    def _elsewhere(self, i: t.Any, node: t.Any) -> sa.ColumnElement[bool]:
        # The host of an ironic node is whichever service holds it just now: its name alone is the link.
        return sa.or_(
            self._other_node(i, node), sa.and_(self._other_host(i, node), sa.not_(node.hypervisor_type == "ironic"))
        )

    def _instance_columns(self) -> t.List[t.Any]:
        i = schema.table(schema.CELL, "instances").c
        link = i.compute_id if self._compute_id else sa.null().label("compute_id")
        return [i.id, i.uuid, i.display_name, i.host, i.node, link, i.vm_state, i.task_state]

    @staticmethod
    def _maker(moving: t.Set[str]) -> t.Callable[[t.Any], facts.LinkInstance]:
        shared: t.Dict[t.Optional[str], t.Optional[str]] = {}

        def make(row: t.Any) -> facts.LinkInstance:
            # A million instances bear few thousand host names.
            names = [shared.setdefault(value, value) for value in (row[3], row[4], row[6], row[7])]
            return facts.LinkInstance(
                row[0], row[1], row[2], names[0], names[1], row[5], names[2], names[3], row[1] in moving
            )

        return make

    @staticmethod
    def _dead(deleted: sa.ColumnElement[t.Any]) -> sa.ColumnElement[bool]:
        return sa.or_(deleted.is_(None), deleted != 0)

    def _instance_rows(self, code: str, kind: _Kind, moving: t.Set[str]) -> t.List[facts.LinkInstance]:
        source, where = kind
        i = schema.table(schema.CELL, "instances").c
        wanted = (i.deleted == 0, where, self._in_scope())
        statement = sa.select(*self._instance_columns()).select_from(source).where(*wanted).limit(self._keep + 1)
        rows = self._kept(code, self._stream(statement), self._maker(moving))
        if self._totals[code] > self._keep:
            # After an upgrade to 28 every instance is one of these: the server counts faster than it sends them.
            count = sa.select(sa.func.count(i.id)).select_from(source).where(*wanted)
            self._totals[code] = int(self._connection.execute(count).scalar_one())
        return sorted(rows, key=lambda row: row.id)

    def _in_scope(self) -> sa.ColumnElement[bool]:
        """Of a host or node that was asked for, by the instance's own names or by the node it links."""
        if not self._hosts:
            return sa.true()
        i = schema.table(schema.CELL, "instances").c
        mine = schema.named(self._connection, self._hosts, i.host, i.node)
        if not self._compute_id:
            return mine
        node = schema.table(schema.CELL, "compute_nodes").alias("scope")
        wanted = schema.named(self._connection, self._hosts, node.c.host, node.c.hypervisor_hostname)
        return sa.or_(mine, i.compute_id.in_(sa.select(node.c.id).where(wanted)))

    # --- what links deleted nodes, and migrations

    def _deleted_nodes(self) -> t.List[facts.DeletedNode]:
        i = schema.table(schema.CELL, "instances").c
        node = schema.table(schema.CELL, "compute_nodes").c
        columns = [node.id, node.uuid, node.host, node.hypervisor_hostname]
        statement = (
            sa.select(*columns, sa.func.count(i.id))
            .where(
                self._dead(node.deleted),
                i.compute_id == node.id,
                i.deleted == 0,
                schema.named(self._connection, self._hosts, node.host, node.hypervisor_hostname),
            )
            .group_by(*columns)
        )
        rows = self._kept("SG207", self._stream(statement), lambda row: facts.DeletedNode(*row))
        return sorted(rows, key=lambda row: row.id)

    def _migrations(self) -> t.List[facts.LinkMigration]:
        m = schema.table(schema.CELL, "migrations")
        i = schema.table(schema.CELL, "instances")
        node = schema.table(schema.CELL, "compute_nodes").alias("dest")
        right = sa.and_(
            node.c.id == m.c.dest_compute_id,
            node.c.deleted == 0,
            self._exact(node.c.host) == self._exact(m.c.dest_compute),
            self._exact(node.c.hypervisor_hostname) == self._exact(m.c.dest_node),
        )
        statement = (
            sa.select(
                m.c.id,
                m.c.uuid,
                # An enumeration to PostgreSQL.
                sa.cast(m.c.migration_type, sa.String(32)),
                m.c.status,
                m.c.instance_uuid,
                m.c.dest_compute,
                m.c.dest_node,
                m.c.dest_compute_id,
                i.c.task_state,
            )
            .select_from(m.outerjoin(i, i.c.uuid == m.c.instance_uuid).outerjoin(node, right))
            .where(
                m.c.deleted == 0,
                self._unsettled(m.c.status),
                m.c.dest_node.is_not(None),
                node.c.id.is_(None),
                schema.named(
                    self._connection, self._hosts, m.c.dest_compute, m.c.dest_node, m.c.source_compute, m.c.source_node
                ),
            )
        )
        rows = self._kept("SG221", self._stream(statement), lambda row: facts.LinkMigration(*row))
        return sorted(rows, key=lambda row: row.id)

    def _pci_devices(self) -> t.List[facts.LinkPciDevice]:
        device = schema.table(schema.CELL, "pci_devices").c
        node = schema.table(schema.CELL, "compute_nodes").c
        statement = sa.select(
            device.id,
            device.address,
            device.status,
            device.instance_uuid,
            device.compute_node_id,
            node.uuid,
            node.host,
        ).where(
            device.deleted == 0,
            device.status.in_(CLAIMED),
            node.id == device.compute_node_id,
            self._dead(node.deleted),
            schema.named(self._connection, self._hosts, node.host, node.hypervisor_hostname),
        )
        rows = self._kept("SG231", self._stream(statement), lambda row: facts.LinkPciDevice(*row))
        return sorted(rows, key=lambda row: row.id)


# --- repairing


def open_migrations(connection: sa.Connection, keys: t.Collection[int]) -> t.Set[str]:
    """Return the uuids of those of these instances (by id) that are in a migration that is not settled."""
    i, m = (schema.table(schema.CELL, name).c for name in ("instances", "migrations"))
    unsettled = sa.or_(m.status.is_(None), m.status.not_in(SETTLED))
    statement = sa.select(i.uuid).where(
        schema.one_of(connection, i.id, keys), m.instance_uuid == i.uuid, m.deleted == 0, unsettled
    )
    return {row[0] for row in connection.execute(statement)}


def read_rows(
    connection: sa.Connection, keys: t.Collection[int], columns: t.Sequence[str]
) -> t.Dict[int, t.Sequence[t.Any]]:
    """Return the values of instances by id: these columns, C(updated_at), and the id of a migration that is open."""
    i, m = (schema.table(schema.CELL, name).c for name in ("instances", "migrations"))
    statement = sa.select(i.id, *[i[name] for name in columns], i.updated_at, m.id.label("moving"))
    statement = statement.select_from(_with_open_migrations()).where(schema.one_of(connection, i.id, keys))
    return {row[0]: row[1:] for row in connection.execute(statement)}


def _with_open_migrations() -> sa.FromClause:
    instances, migrations = (schema.table(schema.CELL, name) for name in ("instances", "migrations"))
    m = migrations.c
    unsettled = sa.or_(m.status.is_(None), m.status.not_in(SETTLED))
    return instances.outerjoin(migrations, sa.and_(m.deleted == 0, m.instance_uuid == instances.c.uuid, unsettled))


def set_nodes(connection: sa.Connection, wanted: t.Mapping[int, int]) -> None:
    """Let instances link the nodes of their own names: instance id to node id. Both are locked, and were compared.

    One statement for all. Raises :class:`Conflict` where not each of them, and nothing else, has the link then.
    """
    if not wanted:
        return
    changed = _link_by_names(connection, wanted)
    i = schema.table(schema.CELL, "instances").c
    linked = sa.select(i.id, i.compute_id).where(schema.one_of(connection, i.id, wanted))
    found = {row[0]: row[1] for row in connection.execute(linked)}
    wrong = sum(1 for key, value in wanted.items() if found.get(key) != value)
    if changed != len(wanted) or wrong:
        _refuse(changed, len(wanted), f"; in {wrong} rows, compute_id would not point to the planned compute node")


def set_missing_nodes(connection: sa.Connection, keys: t.Collection[int]) -> None:
    """Let instances (by id) that link nothing link the nodes of their own names. Locks the instances.

    Which nodes they link then, and whether they are what they were, is for the caller to read back before it commits.
    Raises :class:`Conflict` where not each of them was changed.
    """
    changed = _link_by_names(connection, keys, missing=True)
    if changed != len(keys):
        _refuse(changed, len(keys))


def _refuse(changed: int, expected: int, more: str = "") -> t.NoReturn:
    raise Conflict(
        f"instances: {changed} links would change, expected {expected}{more}",
        table="instances",
        expected=expected,
        found=changed,
    )


def _link_by_names(connection: sa.Connection, keys: t.Iterable[int], missing: bool = False) -> int:
    instances, nodes = (schema.table(schema.CELL, name) for name in ("instances", "compute_nodes"))
    i, node = instances.c, nodes.c
    if missing and connection.dialect.name == "mysql":
        # Only the primary key may lead to the instances. By the index of compute_id InnoDB locks every instance of
        # the cell that links nothing, until the commit; by the one of host, every instance of these hosts.
        deleted, linked = i.deleted + 0, i.compute_id + 0
        own: t.List[sa.ColumnElement[t.Any]] = [sa.func.concat(i.host, ""), sa.func.concat(i.node, "")]
    else:
        deleted, linked, own = i.deleted, i.compute_id, [i.host, i.node]
    statement = sa.update(instances).where(
        schema.one_of(connection, i.id, keys),
        deleted == 0,
        node.deleted == 0,
        *([linked.is_(None)] if missing else []),
        *(one == other for one, other in zip((node.host, node.hypervisor_hostname), own)),
        schema.exact(connection, node.host) == schema.exact(connection, i.host),
        schema.exact(connection, node.hypervisor_hostname) == schema.exact(connection, i.node),
    )
    return int(connection.execute(statement.values(compute_id=node.id)).rowcount)
