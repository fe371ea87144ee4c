# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connections: read-only snapshots, guarded write transactions, advisory locks, and errors without secrets.

SQLAlchemy 2 Core over PyMySQL (MySQL, MariaDB, Galera) or psycopg 3 (PostgreSQL). The statements sent as text here
are constants that no dialect-neutral construct exists for; none is built from a name or a value.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import threading
import time
import traceback
import typing as t

from ...model import urls
from ...model.errors import Conflict, DatabaseError

try:
    import sqlalchemy as sa
    from sqlalchemy import exc, pool
except ImportError:
    SQLALCHEMY_ERROR: t.Optional[str] = traceback.format_exc()
else:
    SQLALCHEMY_ERROR = None

#: Seconds.
CONNECT_TIMEOUT = 10
STATEMENT_TIMEOUT = 300
LOCK_TIMEOUT = 20
#: The driver gives up on a silent server somewhat later than the server gives up on a statement.
SOCKET_TIMEOUT = STATEMENT_TIMEOUT + 30
#: A write transaction whose client says nothing for so long (it was stopped, its network was cut) is rolled back by the
#: server, and its locks are gone.
IDLE_TIMEOUT = 10


@dataclasses.dataclass(frozen=True)
class Limits:
    """What bounds a write transaction, in seconds. ``whole``: no statement is begun later than this after the first."""

    lock: int
    statement: int
    idle: int
    whole: t.Optional[int] = None


#: For transactions that lock rows which a running nova-compute writes: its heartbeat (each 10 s by default) waits for
#: them, and Nova calls it down after 60 s.
BRIEF = Limits(lock=3, statement=5, idle=5, whole=15)

#: Server error codes that say "somebody else is changing this": deadlock, lock wait timeout, and MariaDB's
#: "record has changed since last read" (innodb_snapshot_isolation).
_MYSQL_BUSY = (1020, 1205, 1213)
_POSTGRES_BUSY = ("40001", "40P01", "55P03")
#: Access denied for a table, a column, a database; to PostgreSQL: insufficient privilege.
#: What Percona XtraDB Cluster answers to GET_LOCK while pxc_strict_mode is ENFORCING or MASTER.
_PXC_PROHIBITED = 1105


class _Kept(threading.local):
    """Of this thread, in :func:`kept_open`: engines by URL and what they are for."""

    engines: t.Optional[t.Dict[t.Tuple[str, str], sa.Engine]] = None


_KEPT = _Kept()
_READS = "reads"
_WRITES = "writes"
#: A snapshot sees one moment; in a write, each statement sees the newest committed rows.
_ISOLATION = {_READS: "REPEATABLE READ", _WRITES: "READ COMMITTED"}
#: What is known of a session, and lasts as long as its connection: whether it is one of a cluster, its bounds.
_CLUSTER = "stackguard_cluster"
_BOUNDS = "stackguard_bounds"


@contextlib.contextmanager
def kept_open() -> t.Iterator[None]:
    """Within the block, snapshots of a database take turns on one connection, and write transactions on another.

    For many short ones in a row: to connect takes longer than to write a thousand rows. Each has its own bounds as on
    a new connection (a session of MySQL that has them already is not told them once more); a write leaves its bound of
    silence behind, which is why reads have a connection of their own. One that the server has closed meanwhile is
    opened anew before it is used. Of this thread only.
    """
    if _KEPT.engines is not None:
        yield
        return
    _KEPT.engines = {}
    try:
        yield
    finally:
        engines, _KEPT.engines = _KEPT.engines, None
        for one in engines.values():
            one.dispose()


def _engine_for(url: str, use: str) -> sa.Engine:
    if _KEPT.engines is None:
        return engine(url, isolation=_ISOLATION[use])
    key = (urls.normalise(url), use)
    if key not in _KEPT.engines:
        _KEPT.engines[key] = engine(url, keep=True, isolation=_ISOLATION[use])
    return _KEPT.engines[key]


def engine(url: str, keep: bool = False, isolation: t.Optional[str] = None) -> sa.Engine:
    """Return an engine that opens one connection at a time. Raises :class:`DatabaseError`. ``keep``: and keeps it."""
    normal = urls.normalise(url)
    try:
        return _engine(normal, keep, isolation)
    except ImportError as error:
        raise DatabaseError(f"the Python driver for {normal.partition(':')[0]} is not installed: {error}") from None
    except (exc.SQLAlchemyError, ValueError, TypeError) as error:
        raise DatabaseError(f"the URL of a database cannot be parsed: {urls.redact(str(error), url)}") from None


def _engine(url: str, keep: bool, isolation: t.Optional[str]) -> sa.Engine:
    parsed = sa.engine.make_url(url)
    arguments: t.Dict[str, t.Any] = {"connect_timeout": CONNECT_TIMEOUT}
    if parsed.get_backend_name() == "mysql":
        for name in ("read_timeout", "write_timeout"):
            if name not in parsed.query:
                arguments[name] = SOCKET_TIMEOUT
    else:
        arguments["application_name"] = "stackguard"
    # hide_parameters: values stay out of messages; NullPool: nothing stays open behind our back.
    how: t.Dict[str, t.Any] = {"poolclass": pool.NullPool}
    if keep:
        how = {"poolclass": pool.QueuePool, "pool_size": 1, "pool_pre_ping": True}
    if isolation is not None:
        how["isolation_level"] = isolation
    return sa.create_engine(parsed, connect_args=arguments, hide_parameters=True, **how)


def reason(error: BaseException, *database_urls: t.Optional[str]) -> str:
    """Return what the server or driver said, on one line, without statement, parameters or secrets."""
    origin = getattr(error, "orig", None) or error
    code = _mysql_code(error)
    text = str(origin.args[1]) if code is not None and len(origin.args) > 1 else str(origin)
    text = " ".join(text.split()) or type(origin).__name__
    return urls.redact(f"{text} ({code})" if code is not None else text, *database_urls)


def _mysql_code(error: BaseException) -> t.Optional[int]:
    arguments = getattr(getattr(error, "orig", None), "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None


def _sqlstate(error: BaseException) -> t.Optional[str]:
    return getattr(getattr(error, "orig", None), "sqlstate", None)


def is_busy(error: BaseException) -> bool:
    """Whether the server says that another transaction was in the way. Nothing was changed then."""
    return _mysql_code(error) in _MYSQL_BUSY or _sqlstate(error) in _POSTGRES_BUSY


def translate(error: BaseException, url: str) -> t.Union[DatabaseError, Conflict]:
    """Return our exception for a driver's: a duplicate name or a busy row is a conflict, the rest an error."""
    text = f"database {urls.location(url)}: {reason(error, url)}"
    if isinstance(error, exc.IntegrityError) or is_busy(error):
        return Conflict(text)
    return DatabaseError(text)


def _errors(error: BaseException, url: str) -> t.NoReturn:
    # "from None": the driver's own exception may hold the URL, and tracebacks are printed.
    raise translate(error, url) from None


@contextlib.contextmanager
def snapshot(url: str) -> t.Iterator[sa.Connection]:
    """A read-only transaction that sees one moment of the whole database. Raises :class:`DatabaseError`."""
    try:
        with _engine_for(url, _READS).connect() as plain, _read_only(plain) as connection:
            yield connection
    except exc.SQLAlchemyError as error:
        _errors(error, url)


@contextlib.contextmanager
def _read_only(connection: sa.Connection) -> t.Iterator[sa.Connection]:
    mysql = connection.dialect.name == "mysql"
    if not mysql:
        connection = connection.execution_options(postgresql_readonly=True)
    with connection.begin() as transaction:
        _bound(connection, STATEMENT_TIMEOUT, LOCK_TIMEOUT)
        _newest(connection)
        if mysql:
            connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        try:
            yield connection
        finally:
            transaction.rollback()


@contextlib.contextmanager
def transaction(url: str, limits: t.Optional[Limits] = None) -> t.Iterator[sa.Connection]:
    """A write transaction: committed at the end, rolled back on any exception.

    READ COMMITTED: each statement sees the newest committed rows, and rows that are only looked at are not locked;
    what guards is SELECT ... FOR UPDATE. Raises :class:`DatabaseError` or :class:`Conflict` with nothing changed;
    where the connection is lost during the commit, a DatabaseError with C(unknown_outcome).

    Nothing but SQL belongs inside: the server ends a transaction whose client is silent for long (C(limits)).
    """
    limits = limits or Limits(LOCK_TIMEOUT, STATEMENT_TIMEOUT, IDLE_TIMEOUT)
    committing = False
    try:
        with _engine_for(url, _WRITES).connect() as connection:
            begun = connection.begin()
            _bound(connection, limits.statement, limits.lock, limits.idle)
            _newest(connection)
            if limits.whole is not None:
                _bound_whole(connection, limits.whole, url)
            try:
                yield connection
            except BaseException:
                _quiet_rollback(begun)
                raise
            committing = True
            begun.commit()
            committing = False
    except exc.SQLAlchemyError as error:
        if committing and not (isinstance(error, exc.IntegrityError) or is_busy(error)):
            raise DatabaseError(
                f"database {urls.location(url)}: the connection was lost during the commit, so it is not known "
                f"whether the change was committed: {reason(error, url)}",
                unknown_outcome=True,
            ) from None
        _errors(error, url)


@contextlib.contextmanager
def rehearsal(url: str) -> t.Iterator[sa.Connection]:
    """A transaction like :func:`transaction` that is always rolled back: for finding out what would be allowed."""
    try:
        with engine(url, isolation=_ISOLATION[_WRITES]).connect() as connection:
            begun = connection.begin()
            try:
                _bound(connection, STATEMENT_TIMEOUT, LOCK_TIMEOUT, IDLE_TIMEOUT)
                yield connection
            finally:
                _quiet_rollback(begun)
    except exc.SQLAlchemyError as error:
        _errors(error, url)


def _quiet_rollback(begun: sa.RootTransaction) -> None:
    # The first error is the one to tell; a connection that cannot roll back is dropped, and the server rolls back.
    with contextlib.suppress(exc.SQLAlchemyError):
        begun.rollback()


def _bound(connection: sa.Connection, statement: int, lock: int, idle: t.Optional[int] = None) -> None:
    """Bound statements and lock waits on the server, in seconds: for this session, in PostgreSQL for this transaction.

    ``idle``: let the server end the session, and so the transaction, where the client says nothing for so long.
    """
    if connection.dialect.name != "mysql":
        bounds = {"statement_timeout": statement, "lock_timeout": lock}
        if idle is not None:
            bounds["idle_in_transaction_session_timeout"] = idle
        said = [sa.func.set_config(name, str(seconds * 1000), True) for name, seconds in bounds.items()]
        connection.execute(sa.select(*said))
        return
    wanted = (statement, lock, idle)
    if connection.info.get(_BOUNDS) == wanted:
        return
    connection.info.pop(_BOUNDS, None)
    connection.exec_driver_sql("SET " + ", ".join(_mysql_bounds(connection, statement, lock, idle)))
    connection.info[_BOUNDS] = wanted


def _mysql_bounds(connection: sa.Connection, statement: int, lock: int, idle: t.Optional[int]) -> t.Iterator[str]:
    mariadb = getattr(connection.dialect, "is_mariadb", False)
    yield f"SESSION innodb_lock_wait_timeout = {lock:d}"
    # MySQL bounds statements that only read; one that writes is bounded by its lock waits.
    yield (
        f"SESSION max_statement_time = {statement:d}"
        if mariadb
        else f"SESSION max_execution_time = {statement * 1000:d}"
    )
    if idle is None:
        return
    # MySQL has no such bound for transactions: the one for sessions does it, since this session has but one of them.
    yield f"SESSION wait_timeout = {idle:d}"
    if mariadb:
        # Where the administrator has set these, they count, and not wait_timeout.
        for name in ("idle_transaction_timeout", "idle_write_transaction_timeout", "idle_readonly_transaction_timeout"):
            yield f"SESSION {name} = {idle:d}"


def _bound_whole(connection: sa.Connection, seconds: int, url: str) -> None:
    """Begin no further statement after so long: many slow ones add up, each within its own bound."""
    end = time.monotonic() + seconds

    def in_time(*_arguments: t.Any) -> None:
        if time.monotonic() > end:
            raise Conflict(
                f"database {urls.location(url)}: the transaction took longer than {seconds} s and was rolled back"
            )

    sa.event.listen(connection, "before_cursor_execute", in_time)


def is_cluster(connection: sa.Connection) -> bool:
    """Whether this is a node of a Galera cluster: row locks hold on this node only, and others are written, too."""
    if _CLUSTER not in connection.info:
        connection.info[_CLUSTER] = _is_one_of_several(connection)
    return bool(connection.info[_CLUSTER])


def _newest(connection: sa.Connection) -> None:
    """On a node of a Galera cluster, see all that other nodes had committed when a statement begins."""
    if is_cluster(connection):
        connection.exec_driver_sql("SET SESSION wsrep_sync_wait = 7")


def utc_now(connection: sa.Connection) -> sa.ColumnElement[t.Any]:
    """Return the expression for the server's own clock, in UTC without a zone, as neutron writes its heartbeats."""
    if connection.dialect.name == "mysql":
        return sa.func.utc_timestamp()
    return sa.func.timezone("utc", sa.func.clock_timestamp())


# --- operation lock -------------------------------------------------------------------------------------------


class AdvisoryLock:
    """A named lock held by one open connection; gone when that is. See :func:`advisory_lock`.

    ``local``: it keeps out whoever asks the same server, and the database has others (Galera).
    """

    def __init__(self, connection: sa.Connection, key: t.Any, local: bool) -> None:
        self._connection = connection
        self._key = key
        self.local = local

    def still_held(self) -> bool:
        """Ask the server whether this very connection still holds the lock. False also when it does not answer."""
        try:
            with self._connection.begin():
                return bool(self._connection.execute(_held(self._connection, self._key)).scalar())
        except exc.SQLAlchemyError:
            return False


@contextlib.contextmanager
def advisory_lock(url: str, name: str) -> t.Iterator[AdvisoryLock]:
    """Hold an operation lock for as long as the block runs: MySQL GET_LOCK, PostgreSQL pg_try_advisory_lock.

    It needs no table and no grant, and a killed process leaves none behind. On Galera it holds on one node only. Raises
    :class:`Conflict` where another holds it; :class:`DatabaseError` where the database does not answer, and with
    C(lock_refused) where it has no such lock.
    """
    try:
        with engine(url).connect() as connection:
            key = _key(connection, name)
            try:
                with connection.begin():
                    local = _is_one_of_several(connection)
                    taken = connection.execute(_take(connection, key)).scalar()
            except exc.DBAPIError as error:
                if _mysql_code(error) == _PXC_PROHIBITED and "GET_LOCK" in str(error.orig):
                    text = f"database {urls.location(url)}: {reason(error, url)}"
                    raise DatabaseError(text, lock_refused=True) from None
                raise
            if not taken:
                raise Conflict(f"another operation has the lock {name}", lock=name)
            try:
                yield AdvisoryLock(connection, key, local)
            finally:
                _release(connection, key)
    except exc.SQLAlchemyError as error:
        _errors(error, url)


def _key(connection: sa.Connection, name: str) -> t.Any:
    """MySQL takes names up to 64 characters and compares them without case; PostgreSQL takes a signed 64-bit number."""
    digest = hashlib.sha256(name.encode()).digest()
    if connection.dialect.name == "mysql":
        return f"stackguard:{digest.hex()[:48]}"
    return int.from_bytes(digest[:8], "big", signed=True)


def _is_one_of_several(connection: sa.Connection) -> bool:
    """Whether the server is a node of Galera: its variable is not known to others, or is OFF."""
    if connection.dialect.name != "mysql":
        return False
    row = connection.exec_driver_sql("SHOW VARIABLES LIKE 'wsrep_on'").first()
    return row is not None and str(row[1]).upper() in ("ON", "1")


def _take(connection: sa.Connection, key: t.Any) -> sa.Select[t.Any]:
    if connection.dialect.name == "mysql":
        return sa.select(sa.func.get_lock(key, 0))
    return sa.select(sa.func.pg_try_advisory_lock(sa.cast(key, sa.BigInteger)))


def _held(connection: sa.Connection, key: t.Any) -> sa.Select[t.Any]:
    if connection.dialect.name == "mysql":
        return sa.select(sa.func.is_used_lock(key) == sa.func.connection_id())
    locks = sa.table(
        "pg_locks", *[sa.column(name) for name in ("locktype", "pid", "classid", "objid", "objsubid", "granted")]
    )
    return (
        sa.select(sa.func.count())
        .select_from(locks)
        .where(
            locks.c.locktype == "advisory",
            locks.c.pid == sa.func.pg_backend_pid(),
            sa.cast(locks.c.classid, sa.BigInteger) == (key >> 32) & 0xFFFFFFFF,
            sa.cast(locks.c.objid, sa.BigInteger) == key & 0xFFFFFFFF,
            locks.c.objsubid == 1,
            locks.c.granted,
        )
    )


def _release(connection: sa.Connection, key: t.Any) -> None:
    release = (
        sa.func.release_lock(key)
        if connection.dialect.name == "mysql"
        else sa.func.pg_advisory_unlock(sa.cast(key, sa.BigInteger))
    )
    # Closing the connection, which follows, releases it too.
    with contextlib.suppress(exc.SQLAlchemyError), connection.begin():
        connection.execute(sa.select(release))
