# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads Nova's databases (API and every cell) and neutron's agents, in bulk, without changing anything.

Each database is read in one read-only transaction that sees one moment; each table is one statement. What cannot be
read becomes C(None) and an :class:`~..facts.Unread` that says why; a cell that does not answer stays in the list.

Names are matched as the database's collation matches them, and more: a row that differs from a wanted name only in
case is read too (MySQL takes the two for equal, and so does Nova). The checks decide what that means.

Guarded writes are in C(systems/db/rows.py), connections in C(systems/db/engine.py); their public names are here too.
"""

from __future__ import annotations

import dataclasses
import datetime
import typing as t
import uuid as uuids
from concurrent import futures

from ...model import facts, releases, urls
from ...model.errors import DatabaseError, StackguardError
from ...name_places.catalogue import declared
from ...name_places.place import NameTable
from . import engine as database
from . import neutron_bindings, schema
from .engine import AdvisoryLock, advisory_lock
from .rows import (
    Completeness,
    WrittenRows,
    agent_hosts,
    apply_row_changes,
    beat_agents,
    rename_agents,
    rows_state,
)

try:
    import sqlalchemy as sa
    from sqlalchemy import exc
except ImportError:
    SQLALCHEMY = False  # reported by the module, see systems/db/engine.py

#: Rows fetched at a time: a cell may hold a million instances.
FETCH = 5000
#: Cells read at the same time.
PARALLEL_CELLS = 8

_T = t.TypeVar("_T")
#: Database (``cell:NAME``, ``api``, ``neutron``), table, columns, action (``select`` or ``update``).
Wanted = t.Tuple[str, str, t.Sequence[str], str]


@dataclasses.dataclass(frozen=True)
class DatabaseOptions:
    """Where the databases are. URLs hold passwords: they are left out of every repr."""

    nova_api_db_url: t.Optional[str] = dataclasses.field(default=None, repr=False)
    #: Cell name (or uuid) to URL: used instead of what cell_mappings says.
    nova_cell_db_urls: t.Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    neutron_db_url: t.Optional[str] = dataclasses.field(default=None, repr=False)
    #: Whether the ports are OVN's: then neutron's rows of their bindings are read, and the rights to write them tried.
    ovn: bool = False

    @classmethod
    def of(cls, options: Options) -> DatabaseOptions:
        """Take them from a module's parameters: empty is unset."""
        if isinstance(options, DatabaseOptions):
            return options
        cells = {str(name): str(url) for name, url in (options.get("nova_cell_db_urls") or {}).items()}
        api, neutron = (options.get(name) or None for name in ("nova_api_db_url", "neutron_db_url"))
        return cls(api and str(api), cells, neutron and str(neutron), bool(options.get("ovn_nb_connection")))


#: A module's parameters will do: ``nova_api_db_url``, ``nova_cell_db_urls``, ``neutron_db_url`` are looked at.
Options = t.Union[DatabaseOptions, t.Mapping[str, t.Any]]


@dataclasses.dataclass(frozen=True)
class Cell:
    """A cell's name, uuid and URL; ``problem`` where there is no usable URL. The URL is left out of the repr."""

    name: str
    uuid: str
    url: t.Optional[str] = dataclasses.field(repr=False)
    problem: t.Optional[str] = None

    @property
    def database(self) -> str:
        """What plans and grants call this database."""
        return f"cell:{self.name}"


# --- everything -----------------------------------------------------------------------------------------------


def read_databases(
    options: Options,
    hosts: t.Sequence[str] = (),
    probe: t.Optional[t.Sequence[Wanted]] = None,
    rename: bool = False,
    instance_uuids: t.Sequence[str] = (),
) -> facts.DatabaseFacts:
    """Read all that the options name. Never raises for a database that fails: see ``unread`` of each part.

    ``hosts``: the names to narrow down to, compared with host and with node columns; empty: everything.
    ``instance_uuids``: instances to read as well, wherever they are, deleted ones too (domains seen on a host).
    ``probe``: rights to try as well (see :func:`probe_grants`); ``rename``: try those of a rename in place, and its
    lock. Without either, ``grants`` is None.
    """
    given = DatabaseOptions.of(options)
    unread: t.List[facts.Unread] = []
    api = _optional(unread, "api", lambda: _read_api(given, hosts))
    cells = _optional(unread, "cells", lambda: _read_cells(given, hosts, instance_uuids, unread))
    neutron = _optional(unread, "neutron", lambda: _read_neutron(given, hosts)) if given.neutron_db_url else None
    grants = None
    if probe is not None or rename:
        grants = _optional(unread, "grants", lambda: _all_grants(given, probe or (), rename))
    lock = _optional(unread, "lock", lambda: probe_lock(given)) if rename else None
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    return facts.DatabaseFacts(now, api, cells, neutron, grants, unread, lock)


def _all_grants(options: DatabaseOptions, probe: t.Sequence[Wanted], rename: bool) -> t.List[facts.Grant]:
    wanted = list(probe)
    if rename:
        wanted += rename_rights(list_cells(options), bool(options.neutron_db_url), options.ovn)
    return probe_grants(options, wanted)


def _optional(unread: t.List[facts.Unread], part: str, read: t.Callable[[], _T]) -> t.Optional[_T]:
    try:
        return read()
    except StackguardError as error:
        unread.append(unread_of(part, error))
        return None


def _read_api(options: DatabaseOptions, hosts: t.Sequence[str]) -> facts.ApiDbFacts:
    url = _api_url(options)
    unread: t.List[facts.Unread] = []
    with database.snapshot(url) as connection:
        parts = _Parts(connection, url, hosts, unread)
        return facts.ApiDbFacts(
            location=urls.location(url),
            revision=parts.read("revision", _revision(schema.API)),
            scope=list(hosts),
            host_mappings=parts.read("host_mappings", _host_mappings),
            aggregate_hosts=parts.read("aggregate_hosts", _aggregate_hosts),
            unread=unread,
            name_rows=_declared(schema.API, parts),
        )


def unread_of(part: str, error: StackguardError) -> facts.Unread:
    """Return that a part was not read, and why: an error that no database made names its cause."""
    return facts.Unread(part, error.message, error.data.get("cause"))


def _no_api_database() -> DatabaseError:
    return DatabaseError(facts.LEFT_OUT[facts.NO_API_DATABASE], cause=facts.NO_API_DATABASE)


def _api_url(options: DatabaseOptions) -> str:
    if not options.nova_api_db_url:
        raise _no_api_database()
    return options.nova_api_db_url


def _read_cells(
    options: DatabaseOptions,
    hosts: t.Sequence[str],
    instance_uuids: t.Sequence[str],
    unread: t.List[facts.Unread],
) -> t.List[facts.CellFacts]:
    cells = list_cells(options)
    if not options.nova_api_db_url:
        unread.append(facts.left_out("cells", facts.ONLY_NAMED_CELLS))
    if not cells:
        return []
    with futures.ThreadPoolExecutor(min(PARALLEL_CELLS, len(cells))) as threads:
        return list(threads.map(lambda cell: read_cell(cell, hosts, instance_uuids), cells))


def read_cell(cell: Cell, hosts: t.Sequence[str] = (), instance_uuids: t.Sequence[str] = ()) -> facts.CellFacts:
    """Read one cell. A cell that does not answer has only its name, uuid and the reason."""
    unread: t.List[facts.Unread] = []
    if cell.url is None:
        return _unread_cell(cell, hosts, cell.problem or "no URL")
    try:
        with database.snapshot(cell.url) as connection:
            parts = _Parts(connection, cell.url, hosts, unread)
            revision = parts.read("revision", _revision(schema.CELL))
            has_compute_id = parts.read("has_compute_id", lambda link, _hosts: [sees_compute_id(link, revision)])
            known = bool(has_compute_id and has_compute_id[0])
            return facts.CellFacts(
                name=cell.name,
                uuid=cell.uuid,
                location=urls.location(cell.url),
                revision=revision,
                has_compute_id=known,
                scope=list(hosts),
                services=parts.read("services", _services),
                compute_nodes=parts.read("compute_nodes", _compute_nodes),
                instances=parts.read("instances", _instances(known, instance_uuids)) if has_compute_id else None,
                migrations=parts.read("migrations", _migrations(known)) if has_compute_id else None,
                unread=unread,
                dialect=_dialect(connection),
                collations=parts.read("collations", _collations),
                name_rows=_declared(schema.CELL, parts),
            )
    except DatabaseError as error:
        return _unread_cell(cell, hosts, error.message)


def read_server_cell(cell: Cell, uuid: str) -> facts.CellFacts:
    """Read of a cell all compute services and nodes, one server unless it is deleted, and the server's migrations.

    ``unread`` says what could not be read. The URL of the cell must be known. Raises DatabaseError.
    """
    unread: t.List[facts.Unread] = []
    url = str(cell.url)
    instances, migrations = (schema.table(schema.CELL, name).c for name in ("instances", "migrations"))
    with database.snapshot(url) as connection:
        parts = _Parts(connection, url, [], unread)
        revision = parts.read("revision", _revision(schema.CELL))
        known = sees_compute_id(connection, revision)
        rows = sa.select(*_columns("instances", *(() if known else ("compute_id",))))
        moves = sa.select(*_columns("migrations", *(() if known else ("dest_compute_id",))))
        mine = _fetch(connection, rows.where(instances.uuid == uuid, instances.deleted == 0))
        found = [facts.InstanceRow(*(*row[:-1], _deleted(row[-1]))) for row in mine]
        own = _fetch(connection, moves.where(migrations.instance_uuid == uuid).order_by(migrations.id))
        return facts.CellFacts(
            name=cell.name,
            uuid=cell.uuid,
            location=urls.location(url),
            revision=revision,
            has_compute_id=known,
            scope=[],
            services=parts.read("services", _services),
            compute_nodes=parts.read("compute_nodes", _compute_nodes),
            instances=found,
            migrations=[facts.MigrationRow(*(*row[:-1], _deleted(row[-1]))) for row in own],
            unread=unread,
        )


def _unread_cell(cell: Cell, hosts: t.Sequence[str], reason: str) -> facts.CellFacts:
    where = urls.location(cell.url) if cell.url else ""
    parts = ("revision", "services", "compute_nodes", "instances", "migrations", *schema.DECLARED[schema.CELL])
    return facts.CellFacts(
        name=cell.name,
        uuid=cell.uuid,
        location=where,
        revision=None,
        has_compute_id=False,
        scope=list(hosts),
        services=None,
        compute_nodes=None,
        instances=None,
        migrations=None,
        unread=[facts.Unread(part, reason) for part in parts],
    )


def _read_neutron(options: DatabaseOptions, hosts: t.Sequence[str]) -> facts.NeutronDbFacts:
    url = options.neutron_db_url or ""
    unread: t.List[facts.Unread] = []
    with database.snapshot(url) as connection:
        parts = _Parts(connection, url, hosts, unread)
        return facts.NeutronDbFacts(
            location=urls.location(url),
            scope=list(hosts),
            agents=parts.read("agents", _agents),
            unread=unread,
            # Of a whole cloud these are as many as its ports, and nothing asks for them.
            bindings=parts.read("bindings", neutron_bindings.read_bindings) if options.ovn and hosts else None,
            inactive_bindings=None if hosts else parts.read("inactive_bindings", neutron_bindings.read_inactive),
        )


class _Parts:
    """Reads parts of one database, each within a savepoint: one that fails takes no other with it."""

    def __init__(
        self, connection: sa.Connection, url: str, hosts: t.Sequence[str], unread: t.List[facts.Unread]
    ) -> None:
        self._connection = connection
        self._url = url
        self._hosts = hosts
        self._unread = unread

    def read(self, part: str, rows: t.Callable[[sa.Connection, t.Sequence[str]], _T]) -> t.Optional[_T]:
        try:
            with self._connection.begin_nested():
                return rows(self._connection, self._hosts)
        except exc.SQLAlchemyError as error:
            self._unread.append(facts.Unread(part, database.reason(error, self._url)))
        except DatabaseError as error:
            self._unread.append(unread_of(part, error))
        return None


# --- cells ----------------------------------------------------------------------------------------------------


def list_cells(options: Options) -> t.List[Cell]:
    """Return every cell but cell0 (whose instances never reached a host), disabled ones included.

    Without an API database: the cells of C(nova_cell_db_urls), with an empty uuid. Raises :class:`DatabaseError`,
    also where C(nova_cell_db_urls) names a cell that does not exist.
    """
    options = DatabaseOptions.of(options)
    overrides = options.nova_cell_db_urls
    if not options.nova_api_db_url:
        if not overrides:
            raise _no_api_database()
        return [Cell(name, "", url) for name, url in sorted(overrides.items())]
    with database.snapshot(options.nova_api_db_url) as connection:
        mappings = schema.table(schema.API, "cell_mappings")
        statement = sa.select(mappings.c.uuid, mappings.c.name, mappings.c.database_connection).order_by(mappings.c.id)
        rows = connection.execute(statement).all()
    cells = [_cell(options, *row) for row in rows if row[0] != schema.CELL0_UUID]
    unknown = set(overrides) - {cell.name for cell in cells} - {cell.uuid for cell in cells}
    if unknown:
        raise DatabaseError(f"nova_cell_db_urls: no cell has the name {', '.join(sorted(unknown))}")
    return cells


def _cell(options: DatabaseOptions, uuid: str, name: t.Optional[str], connection: t.Optional[str]) -> Cell:
    override = options.nova_cell_db_urls.get(uuid) or options.nova_cell_db_urls.get(name or uuid)
    if override:
        return Cell(name or uuid, uuid, override)
    try:
        return Cell(name or uuid, uuid, urls.fill_template(connection or "", options.nova_api_db_url or ""))
    except DatabaseError as error:
        return Cell(name or uuid, uuid, None, error.message)


def url_of(options: Options, name: str) -> str:
    """Return the URL of one database, by the name plans use: ``api``, ``neutron`` or ``cell:NAME``.

    Raises :class:`DatabaseError` where it is not configured, or the list of cells cannot be read.
    """
    url, problem = _urls(DatabaseOptions.of(options), name).get(name, (None, "no such cell"))
    if url is None:
        raise DatabaseError(f"database {name}: {problem}")
    return url


def _urls(options: DatabaseOptions, *names: str) -> t.Dict[str, t.Tuple[t.Optional[str], t.Optional[str]]]:
    """URL, or reason why there is none. Cells are looked up only where one is asked for."""
    found: t.Dict[str, t.Tuple[t.Optional[str], t.Optional[str]]] = {
        "api": (options.nova_api_db_url, facts.LEFT_OUT[facts.NO_API_DATABASE]),
        "neutron": (options.neutron_db_url, "neutron_db_url is not set"),
    }
    if any(name.startswith("cell:") for name in names):
        found.update({cell.database: (cell.url, cell.problem) for cell in list_cells(options)})
    return found


# --- tables ---------------------------------------------------------------------------------------------------


def _fetch(connection: sa.Connection, statement: sa.Select[t.Any]) -> t.Iterator[t.Tuple[t.Any, ...]]:
    """Stream rows as tuples, with equal strings shared: a million instances bear few thousand host names."""
    shared: t.Dict[str, str] = {}
    result = connection.execute(statement, execution_options={"yield_per": FETCH})
    for row in result:
        yield tuple(shared.setdefault(value, value) if isinstance(value, str) else value for value in row)


def _columns(name: str, *left_out: str) -> t.List[sa.ColumnElement[t.Any]]:
    source = schema.table(schema.CELL, name)
    return [
        source.c[column] if column not in left_out else sa.null().label(column)
        for column in schema.COLUMNS[schema.CELL][name]
    ]


def _revision(kind: str) -> t.Callable[[sa.Connection, t.Sequence[str]], t.Optional[str]]:
    def read(connection: sa.Connection, _hosts: t.Sequence[str]) -> t.Optional[str]:
        version = schema.table(kind, "alembic_version")
        heads = connection.execute(sa.select(version.c.version_num)).scalars().all()
        return str(heads[0]) if len(heads) == 1 else None

    return read


def _dialect(connection: sa.Connection) -> str:
    mariadb = connection.dialect.name == "mysql" and getattr(connection.dialect, "is_mariadb", False)
    return "mariadb" if mariadb else str(connection.dialect.name)


def _collations(connection: sa.Connection, _hosts: t.Sequence[str]) -> t.Dict[str, str]:
    """Return the collations of the columns of names; only MySQL and MariaDB compare names by one."""
    if connection.dialect.name != "mysql":
        return {}
    names = ("table_schema", "table_name", "column_name", "collation_name")
    c = sa.table("columns", *[sa.column(name) for name in names], schema="information_schema").c
    wanted = [sa.and_(c.table_name == name, c.column_name == column) for name, column in sorted(schema.NAME_COLUMNS)]
    found = connection.execute(
        sa.select(c.table_name, c.column_name, c.collation_name).where(
            c.table_schema == sa.func.database(), sa.or_(*wanted)
        )
    ).all()
    # A column that this user does not see is missing here, and unread to the checks.
    return {f"{name}.{column}": str(collation) for name, column, collation in found if collation}


def sees_compute_id(connection: sa.Connection, revision: t.Optional[str]) -> bool:
    """Whether the columns of release 28 exist, as far as this user may see columns at all.

    Raises :class:`DatabaseError` where the revision says that they exist and the user sees none.
    """
    names = ("table_schema", "table_name", "column_name")
    columns = sa.table(
        "columns",
        *[sa.column(name) for name in names],
        schema="information_schema",
    )
    here = sa.func.database() if connection.dialect.name == "mysql" else sa.func.current_schema()
    found = connection.execute(
        sa.select(columns.c.table_name, columns.c.column_name).where(
            columns.c.table_schema == here,
            sa.or_(
                *[
                    sa.and_(columns.c.table_name == name, columns.c.column_name == column)
                    for name, column in sorted(schema.OPTIONAL)
                ]
            ),
        )
    ).all()
    exists = len(found) == len(schema.OPTIONAL)
    known = releases.of_main_revision(revision)
    if known and min(known) >= 28 and not exists:
        raise DatabaseError(
            "the database user is not allowed to read instances.compute_id and migrations.dest_compute_id"
        )
    return exists


def _services(connection: sa.Connection, hosts: t.Sequence[str]) -> t.List[facts.ServiceRow]:
    c = schema.table(schema.CELL, "services").c
    statement = sa.select(*_columns("services")).where(schema.named(connection, hosts, c.host)).order_by(c.id)
    return [
        facts.ServiceRow(
            id=row[0],
            uuid=row[1],
            host=row[2],
            binary=row[3],
            version=row[4],
            disabled=bool(row[5]),
            disabled_reason=row[6],
            forced_down=bool(row[7]),
            last_seen_up=time_of(row[8]),
            deleted=_deleted(row[9]),
        )
        for row in _fetch(connection, statement)
    ]


def _compute_nodes(connection: sa.Connection, hosts: t.Sequence[str]) -> t.List[facts.ComputeNodeRow]:
    c = schema.table(schema.CELL, "compute_nodes").c
    where = schema.named(connection, hosts, c.host, c.hypervisor_hostname)
    statement = sa.select(*_columns("compute_nodes")).where(where).order_by(c.id)
    return [
        facts.ComputeNodeRow(*(*row[:6], None if row[6] is None else str(row[6]), _deleted(row[7])))
        for row in _fetch(connection, statement)
    ]


def _instances(
    has_compute_id: bool, uuids: t.Sequence[str]
) -> t.Callable[[sa.Connection, t.Sequence[str]], t.List[facts.InstanceRow]]:
    """Existing instances in scope, and those of the given uuids wherever they are, deleted or not."""

    def read(connection: sa.Connection, hosts: t.Sequence[str]) -> t.List[facts.InstanceRow]:
        source = schema.table(schema.CELL, "instances")
        columns = _columns("instances", *(() if has_compute_id else ("compute_id",)))
        statement = sa.select(*columns).order_by(source.c.id)
        if hosts:
            wanted = schema.live_instances(connection, hosts, hosts, uuids)
            ids = sorted(connection.execute(wanted).scalars())
            chunks: t.List[sa.ColumnElement[bool]] = [
                source.c.id.in_(ids[start : start + FETCH]) for start in range(0, len(ids), FETCH)
            ]
        else:
            chunks = [sa.or_(source.c.deleted == 0, source.c.uuid.in_(list(uuids)))]
        return [
            facts.InstanceRow(*(*row[:-1], _deleted(row[-1])))
            for chunk in chunks
            for row in _fetch(connection, statement.where(chunk))
        ]

    return read


def _migrations(has_compute_id: bool) -> t.Callable[[sa.Connection, t.Sequence[str]], t.List[facts.MigrationRow]]:
    def read(connection: sa.Connection, hosts: t.Sequence[str]) -> t.List[facts.MigrationRow]:
        c = schema.table(schema.CELL, "migrations").c
        columns = _columns("migrations", *(() if has_compute_id else ("dest_compute_id",)))
        wanted = sa.or_(
            schema.unfinished(connection, hosts),
            schema.abortable(connection, hosts),
            schema.took_away(connection, hosts),
        )
        statement = sa.select(*columns).where(wanted).order_by(c.id)
        return [facts.MigrationRow(*(*row[:-1], _deleted(row[-1]))) for row in _fetch(connection, statement)]

    return read


def cells_of_hosts(url: str, hosts: t.Sequence[str]) -> t.Dict[str, t.Optional[str]]:
    """Return the uuid of the cell that each host is mapped to, by the API database's word. Raises DatabaseError."""
    with database.snapshot(url) as connection:
        return {row.host: row.cell_uuid for row in _host_mappings(connection, hosts)}


def with_cells(about: facts.EvacuationFacts, url: str, sources: t.Sequence[str]) -> facts.EvacuationFacts:
    """Add in which cell each host is: Nova moves and evacuates no server into another cell."""
    names = sorted({*sources, *(target.host for target in about.targets or [])})
    try:
        found = cells_of_hosts(url, names)
    except DatabaseError as error:
        return dataclasses.replace(about, unread=[*about.unread, facts.Unread("cells", error.message)])
    return dataclasses.replace(about, cells={host.casefold(): cell for host, cell in found.items()})


def _host_mappings(connection: sa.Connection, hosts: t.Sequence[str]) -> t.List[facts.HostMappingRow]:
    mapping = schema.table(schema.API, "host_mappings")
    cell = schema.table(schema.API, "cell_mappings")
    statement = (
        sa.select(mapping.c.id, mapping.c.host, cell.c.uuid, sa.func.coalesce(cell.c.name, cell.c.uuid))
        .select_from(mapping.outerjoin(cell, cell.c.id == mapping.c.cell_id))
        .where(schema.named(connection, hosts, mapping.c.host))
        .order_by(mapping.c.id)
    )
    return [facts.HostMappingRow(*row) for row in _fetch(connection, statement)]


def _aggregate_hosts(connection: sa.Connection, hosts: t.Sequence[str]) -> t.List[facts.AggregateHostRow]:
    member = schema.table(schema.API, "aggregate_hosts")
    aggregate = schema.table(schema.API, "aggregates")
    metadata = schema.table(schema.API, "aggregate_metadata")
    zone = sa.and_(metadata.c.aggregate_id == member.c.aggregate_id, metadata.c.key == "availability_zone")
    statement = (
        sa.select(
            member.c.id, member.c.host, member.c.aggregate_id, aggregate.c.uuid, aggregate.c.name, metadata.c.value
        )
        .select_from(member.outerjoin(aggregate, aggregate.c.id == member.c.aggregate_id).outerjoin(metadata, zone))
        .where(schema.named(connection, hosts, member.c.host))
        .order_by(member.c.id)
    )
    return [facts.AggregateHostRow(*row) for row in _fetch(connection, statement)]


def _agents(connection: sa.Connection, hosts: t.Sequence[str]) -> t.List[facts.NeutronAgentRow]:
    source = schema.table(schema.NEUTRON, "agents")
    statement = sa.select(*source.c).where(schema.named(connection, hosts, source.c.host)).order_by(source.c.id)
    return [facts.NeutronAgentRow(*(*row[:4], time_of(row[4]))) for row in _fetch(connection, statement)]


def _declared(kind: str, parts: _Parts) -> t.Dict[str, t.List[facts.NameRow]]:
    """Read each table that its place declares. One that can not be read is missing, with a reason among the unread."""
    found = {name: parts.read(name, _name_rows(kind, entry)) for name, entry in declared(kind).items()}
    return {name: rows for name, rows in found.items() if rows is not None}


def _name_rows(kind: str, entry: NameTable) -> t.Callable[[sa.Connection, t.Sequence[str]], t.List[facts.NameRow]]:
    def read(connection: sa.Connection, hosts: t.Sequence[str]) -> t.List[facts.NameRow]:
        c = schema.table(kind, entry.table).c
        where = schema.named(connection, hosts, *[c[column] for column in entry.columns])
        if "deleted" in entry.reads:
            where = sa.and_(where, c.deleted == 0)
        names = [column for column in entry.reads if column not in ("id", "deleted")]
        statement = sa.select(c.id, *[c[column] for column in names]).where(where).order_by(c.id)
        return [
            facts.NameRow(row[0], {name: None if value is None else str(value) for name, value in zip(names, row[1:])})
            for row in _fetch(connection, statement)
        ]

    return read


def time_of(value: t.Any) -> t.Optional[str]:
    """Return a time of a row in ISO 8601, as Nova wrote it."""
    return value.isoformat() if isinstance(value, datetime.datetime) else value


def _deleted(value: t.Optional[int]) -> int:
    """NULL is not live to Nova, which asks for C(deleted = 0)."""
    return -1 if value is None else value


# --- rights ---------------------------------------------------------------------------------------------------


def rename_rights(cells: t.Iterable[Cell], neutron: bool, ovn: bool = False) -> t.List[Wanted]:
    """Return the rights that a rename in place needs in these databases. ``ovn``: of a host with OVN."""
    databases = {schema.CELL: [cell.database for cell in cells], schema.API: ["api"]}
    databases[schema.NEUTRON] = ["neutron"] if neutron else []
    return [
        (name, grant.table, grant.columns, grant.action)
        for grant in (*schema.GRANTS, *(schema.OVN_GRANTS if ovn else ()))
        for name in databases[grant.kind]
    ]


def probe_lock(options: Options) -> facts.DatabaseLock:
    """Take a lock that nobody else takes, and let go of it. Raises :class:`DatabaseError` where that fails."""
    try:
        with advisory_lock(url_of(options, "api"), f"stackguard:probe:{uuids.uuid4().hex}") as lock:
            return facts.DatabaseLock(facts.LOCK_LOCAL if lock.local else facts.LOCK_EXCLUSIVE)
    except DatabaseError as error:
        if not error.data.get("lock_refused"):
            raise
        return facts.DatabaseLock(facts.LOCK_REFUSED, error.message)


def probe_grants(options: Options, wanted: t.Sequence[Wanted]) -> t.List[facts.Grant]:
    """Find out whether the user may run a plan's statements, by running them on no row, rolled back.

    An update is probed as it is done: SELECT ... FOR UPDATE, then UPDATE of each column with itself; C(lock) is
    SELECT ... FOR SHARE, C(delete) a DELETE. A refusal is
    a Grant with ``allowed`` False; a database that cannot be reached refuses everything. Raises
    :class:`DatabaseError` where the list of cells cannot be read.
    """
    names = list(dict.fromkeys(right[0] for right in wanted))
    known = _urls(DatabaseOptions.of(options), *names)
    grants: t.List[facts.Grant] = []
    for name in names:
        rights = [right for right in wanted if right[0] == name]
        url, problem = known.get(name, (None, "the run has no URL for a database with this name"))
        grants += _probe_database(url, problem, rights)
    return grants


def _probe_database(url: t.Optional[str], problem: t.Optional[str], rights: t.Sequence[Wanted]) -> t.List[facts.Grant]:
    if url is None:
        return [_grant(right, problem or "no URL") for right in rights]
    grants: t.List[facts.Grant] = []
    try:
        with database.rehearsal(url) as connection:
            for right in rights:
                grants += [_probe(connection, url, right)]
    except StackguardError as error:
        grants += [_grant(right, error.message) for right in rights[len(grants) :]]
    return grants


def _probe(connection: sa.Connection, url: str, right: Wanted) -> facts.Grant:
    name, table_name, columns, action = right
    kind = name.partition(":")[0]
    source = schema.ovn_table(table_name) if table_name in schema.OVN_COLUMNS else schema.table(kind, table_name)
    key = next(iter(source.c))
    present = [column for column in columns if _exists(connection, table_name, column)]
    if columns and not present:
        return _grant(right, None)
    try:
        with connection.begin_nested():
            if action == "select":
                connection.execute(sa.select(*[source.c[column] for column in present]).where(sa.false())).all()
            elif action == "delete":
                connection.execute(sa.delete(source).where(sa.false()))
            elif action == "lock":
                connection.execute(sa.select(key).where(sa.false()).with_for_update(read=True)).all()
            else:
                connection.execute(sa.select(key).where(sa.false()).with_for_update()).all()
                same = {column: source.c[column] for column in present}
                connection.execute(sa.update(source).where(sa.false()).values(same))
    except exc.SQLAlchemyError as error:
        return _grant(right, database.reason(error, url))
    return _grant(right, None)


def _exists(connection: sa.Connection, table_name: str, column: str) -> bool:
    # Before release 28 there is nothing to probe; where it exists and may not be seen, reading says so.
    return (table_name, column) not in schema.OPTIONAL or sees_compute_id(connection, None)


def _grant(right: Wanted, error: t.Optional[str]) -> facts.Grant:
    name, table_name, columns, action = right
    return facts.Grant(name, table_name, list(columns), action, error is None, error)


__all__ = [
    "AdvisoryLock",
    "Cell",
    "Completeness",
    "DatabaseOptions",
    "WrittenRows",
    "advisory_lock",
    "agent_hosts",
    "apply_row_changes",
    "beat_agents",
    "list_cells",
    "probe_grants",
    "probe_lock",
    "read_cell",
    "read_databases",
    "rename_agents",
    "rename_rights",
    "rows_state",
    "url_of",
]
