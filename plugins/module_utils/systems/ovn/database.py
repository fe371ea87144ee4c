# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One of OVN's databases: a replica of the tables that are needed, transactions, and a timeout on all of it.

ovsdbapp keeps the replica and finds the leader of a clustered database. Only rows that a condition selects are
replicated, so that a rename of one host does not copy the ports of a whole cloud.
"""

from __future__ import annotations

import dataclasses
import threading
import time
import typing as t

from ...model.errors import OvnError

try:
    from ovs import stream
    from ovsdbapp import exceptions
    from ovsdbapp.backend.ovs_idl import connection, idlutils, transaction
except ImportError:
    OVSDBAPP = False
else:
    OVSDBAPP = True

MISSING = "access to OVN requires the Python library ovsdbapp on the Ansible controller: pip install 'ovsdbapp>=2.0'"
#: Seconds that connecting, and one transaction, may take.
TIMEOUT = 20
#: Seconds that disconnecting may take.
_ENDING = 5
#: Seconds between two looks at the replica.
_LOOK = 0.01

#: Table to the clauses that select its rows (any of them); no entry: all rows; an empty list: none.
Conditions = t.Mapping[str, t.Sequence[t.Sequence[t.Any]]]
Tables = t.Mapping[str, t.Sequence[str]]
Listener = t.Callable[[str, t.Any], None]
_FILES = ("private_key", "certificate", "ca_cert")
_T = t.TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class OvnAccess:
    """Where the two databases are, and the files of a TLS connection."""

    northbound: str
    southbound: str
    private_key: t.Optional[str] = None
    certificate: t.Optional[str] = None
    ca_cert: t.Optional[str] = None
    timeout: int = TIMEOUT

    @classmethod
    def of(cls, options: t.Mapping[str, t.Any]) -> OvnAccess:
        """Take it from a module's parameters. Raises :class:`OvnError` where one of the two is not set."""
        names = ("ovn_nb_connection", "ovn_sb_connection")
        missing = [name for name in names if not options.get(name)]
        if missing:
            raise OvnError(f"{' and '.join(missing)}: not set")
        nb, sb = (str(options[name]) for name in names)
        key, certificate, authority = (options.get(f"ovn_{name}") or None for name in _FILES)
        return cls(nb, sb, key, certificate, authority)


class OvnDatabase:
    """A connection to one database. A context manager; opened by its start, or by :meth:`open`."""

    def __init__(
        self, access: OvnAccess, schema: str, tables: Tables, conditions: t.Optional[Conditions] = None
    ) -> None:
        self.remote = access.southbound if schema == "OVN_Southbound" else access.northbound
        self.schema = schema
        self.timeout = access.timeout
        #: Columns that this version of OVN does not have, as TABLE.COLUMN.
        self.absent: t.Set[str] = set()
        self._access, self._tables, self._conditions = access, tables, conditions or {}
        self._connection: t.Any = None
        self._listeners: t.List[Listener] = []
        self.idl: t.Any = None

    def __enter__(self) -> OvnDatabase:
        self.open()
        return self

    def __exit__(self, *_details: t.Any) -> None:
        self.close()

    def open(self) -> None:
        """Connect, and wait for the first copy of the rows. Raises :class:`OvnError`."""
        if not OVSDBAPP:
            raise OvnError(MISSING)
        _secure(self._access)
        # What ovs does before it has a connection has no timeout of its own.
        within(self.timeout + 5, self._start, f"{self.schema} at {self.remote}: no answer")

    def close(self) -> None:
        """Disconnect. That it is gone already is no error."""
        connected, self._connection = self._connection, None
        if connected is not None:
            # It waits for ever where the server does not answer the transaction in progress.
            ending = threading.Thread(target=connected.stop, kwargs={"timeout": _ENDING}, daemon=True)
            ending.start()
            ending.join(_ENDING)

    def listen(self, listener: t.Optional[Listener]) -> None:
        """Call a function with table and row whenever a row is new or changed; None: no more."""
        self._listeners[:] = [listener] if listener else []

    def rows(self, table: str, make: t.Callable[[t.Any], _T]) -> t.List[_T]:
        """Return what a function makes of each row of the replica, as of one moment. Raises :class:`OvnError`.

        The connection's own thread holds the lock while it works: one that hangs must not hang the run.
        """
        lock = self._connection.lock
        if not lock.acquire(timeout=self.timeout):
            raise OvnError(
                f"{self.schema} at {self.remote}: the connection has been busy for more than {self.timeout} s",
                problem="busy",
            )
        try:
            return [make(row) for row in list(self.idl.tables[table].rows.values())]
        finally:
            lock.release()

    def change(self, what: t.Callable[[t.Any, t.Any], _T]) -> _T:
        """Carry out one transaction, again with newer rows where one that it verified has changed meanwhile.

        ``what`` is called with the replica and the transaction. Raises :class:`OvnError`, with nothing changed unless
        it says otherwise.
        """
        command = _Command(self.idl, what)
        made = transaction.Transaction(self, self._connection, self.timeout, check_error=True, log_errors=False)
        made.add(command)
        try:
            done = made.commit()
        except exceptions.TimeoutException:
            raise OvnError(
                f"{self.schema} at {self.remote}: no answer within {self.timeout} s, so it is not known whether the "
                "change was made",
                unknown_outcome=True,
            ) from None
        except RuntimeError as error:  # whatever the server says
            raise OvnError(f"{self.schema} at {self.remote}: {' '.join(str(error).split())[:400]}") from None
        if done is None:
            raise OvnError(f"{self.schema} at {self.remote}: the transaction was aborted")
        return t.cast("_T", command.result)

    def wait(self, seen: t.Callable[[], t.Optional[_T]], timeout: t.Optional[float] = None) -> t.Optional[_T]:
        """Look at the replica until a function returns something; None: it did not in time."""
        end = time.monotonic() + (self.timeout if timeout is None else timeout)
        while True:
            found = seen()
            if found is not None or time.monotonic() > end:
                return found
            time.sleep(_LOOK)

    def _start(self) -> None:
        helper = idlutils.get_schema_helper(self.remote, self.schema)
        known = helper.schema_json["tables"]
        for table, columns in self._tables.items():
            if table not in known:
                self.absent.add(table)
                continue
            there = [column for column in columns if column in known[table]["columns"]]
            self.absent |= {f"{table}.{column}" for column in columns if column not in there}
            helper.register_columns(table, there)
        replica = _Replica(self.remote, helper, leader_only=True)
        replica.listeners = self._listeners
        for table, clauses in self._conditions.items():
            if table not in self.absent:
                # A clause over a column that this version does not have is an error of the whole connection.
                chosen = [list(clause) for clause in clauses if f"{table}.{clause[0]}" not in self.absent]
                replica.cond_change(table, chosen)
        made = connection.Connection(replica, self.timeout)
        made.start()
        self.idl, self._connection = replica, made


class _Command:
    """What ovsdbapp carries out within a transaction, as often as it has to be tried."""

    def __init__(self, idl: t.Any, what: t.Callable[[t.Any, t.Any], t.Any]) -> None:
        self._idl, self._what = idl, what
        self.result: t.Any = None

    def run_idl(self, txn: t.Any) -> None:
        self.result = self._what(self._idl, txn)

    def post_commit(self, txn: t.Any) -> None:
        """Nothing: what is new is in the replica."""


if OVSDBAPP:

    class _Replica(connection.OvsdbIdl):  # type: ignore[misc,unused-ignore]
        """Rows of one database, with the functions that are told of new ones."""

        listeners: t.Sequence[Listener] = ()

        def notify(self, event: str, row: t.Any, updates: t.Any = None) -> None:
            """Tell of a row that is new or changed; one that is gone has nothing to say."""
            if event != "delete":
                for listener in list(self.listeners):
                    listener(row._table.name, row)


def within(seconds: float, what: t.Callable[[], _T], words: str) -> _T:
    """Return what a function returns, in a thread that is left behind where it takes longer. Raises :class:`OvnError`.

    ``words``: what to say then.
    """
    found: t.List[_T] = []
    failed: t.List[BaseException] = []

    def run() -> None:
        try:
            found.append(what())
        except Exception as error:  # noqa: BLE001 (ovsdbapp raises no narrower one; told by the caller's thread)
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        if isinstance(failed[0], OvnError):
            raise failed[0]
        raise OvnError(f"{words}: {' '.join(str(failed[0]).split())[:400] or type(failed[0]).__name__}") from None
    if not found:
        raise OvnError(f"{words} within {int(seconds)} s")
    return found[0]


def _secure(access: OvnAccess) -> None:
    """Give ovs the files of a TLS connection: it keeps them for the whole process."""
    if "ssl:" not in f"{access.northbound},{access.southbound}":
        return
    given = (access.private_key, access.certificate, access.ca_cert)
    if not all(given):
        raise OvnError("OVN connections that begin with 'ssl:' need ovn_private_key, ovn_certificate and ovn_ca_cert")
    stream.Stream.ssl_set_private_key_file(access.private_key)
    stream.Stream.ssl_set_certificate_file(access.certificate)
    stream.Stream.ssl_set_ca_cert_file(access.ca_cert)
