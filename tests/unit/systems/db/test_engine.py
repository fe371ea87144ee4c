# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lock of an operation on databases that refuse it, or that know it on one node only.

Only the driver is a stand-in: it answers as Percona XtraDB Cluster and Galera do. Real servers:
tests/integration_db/test_changing.py.
"""

from __future__ import annotations

import pymysql
import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import runner
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict, DatabaseError
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import steps as rename
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine, nova

URL = "mysql+pymysql://nova:hunter2hunter2@db.example/nova_api"
PROHIBITED = (1105, "Percona-XtraDB-Cluster prohibits use of GET_LOCK with pxc_strict_mode = ENFORCING")


class Server:
    """What a server answers, by a word of the statement; an exception is raised."""

    def __init__(self, version="8.0.36", wsrep=None, lock=1):
        self.asked = []
        self.lost = False
        self.answers = {
            "VERSION()": [(version,)],
            "wsrep_on": [] if wsrep is None else [("wsrep_on", wsrep)],
            "get_lock": lock if isinstance(lock, Exception) else [(lock,)],
            "is_used_lock": [(1,)],
            "release_lock": [(1,)],
            "isolation": [("REPEATABLE-READ",)],
            "sql_mode": [("", "")],
            "lower_case": [("0", "0")],
        }

    def answer(self, statement):
        self.asked.append(statement)
        if self.lost:
            raise pymysql.err.OperationalError(2013, "Lost connection to MySQL server during query")
        found = next((rows for word, rows in self.answers.items() if word in statement), [("",)])
        if isinstance(found, Exception):
            raise found
        return list(found)


class Connection:
    """A connection of the driver."""

    def __init__(self, server):
        self.server = server

    def cursor(self, *_kind):
        return Cursor(self.server)

    def get_server_info(self):
        return self.server.answers["VERSION()"][0][0]

    def character_set_name(self):
        return "utf8mb4"

    def _nothing(self, *_given):
        pass

    ping = commit = rollback = close = autocommit = _nothing


class Cursor:
    """Its cursor."""

    description = (("a", 253, None, None, None, None, None), ("b", 253, None, None, None, None, None))
    rowcount, lastrowid, arraysize = 1, 0, 1

    def __init__(self, server):
        self.server = server
        self.rows = []

    def execute(self, statement, _parameters=None):
        self.rows = self.server.answer(statement)
        self.description = Cursor.description[: len(self.rows[0]) if self.rows else 2]

    def fetchone(self):
        return self.rows.pop(0) if self.rows else None

    def fetchall(self):
        rows, self.rows = self.rows, []
        return rows

    def close(self):
        pass


@pytest.fixture
def serve(monkeypatch):
    def make(**given):
        server = Server(**given)
        monkeypatch.setattr(pymysql, "connect", lambda **_kwargs: Connection(server))
        return server

    return make


def probe():
    return nova.probe_lock({"nova_api_db_url": URL})


def test_percona_refuses_and_the_preflight_says_so(serve):
    serve(wsrep="ON", lock=pymysql.err.OperationalError(*PROHIBITED))
    found = probe()
    assert found.scope == facts.LOCK_REFUSED
    assert "prohibits use of GET_LOCK" in found.reason
    assert "(1105)" in found.reason
    assert "hunter2" not in found.reason


@pytest.mark.parametrize(
    ("wsrep", "scope"),
    [
        ("ON", facts.LOCK_LOCAL),
        ("1", facts.LOCK_LOCAL),
        ("OFF", facts.LOCK_EXCLUSIVE),
        (None, facts.LOCK_EXCLUSIVE),
    ],
)
def test_a_node_of_galera_is_told_from_a_server_alone(serve, wsrep, scope):
    server = serve(version="10.11.6-MariaDB", wsrep=wsrep)
    assert probe().scope == scope
    assert any("release_lock" in statement for statement in server.asked), "a probe leaves nothing behind"


@pytest.mark.parametrize("error", [(1105, "Unknown error"), (1040, "Too many connections"), (1227, "Access denied")])
def test_what_fails_for_another_reason_is_no_refused_lock(serve, error):
    serve(lock=pymysql.err.OperationalError(*error))
    with pytest.raises(DatabaseError) as raised:
        probe()
    assert raised.value.data == {}
    with pytest.raises(runner.StepError, match=str(error[0])), rename.lock({"nova_api_db_url": URL}, "name"):
        raise AssertionError("the run went on")


def test_a_run_goes_on_without_the_lock_that_percona_refuses(serve):
    """The window failed there. The host that keeps the journal keeps other runs out."""
    serve(wsrep="ON", lock=pymysql.err.OperationalError(*PROHIBITED))
    with rename.lock({"nova_api_db_url": URL}, "name") as held:
        assert held.still_held()


def test_a_failover_of_galera_ends_no_run(serve):
    server = serve(version="10.11.6-MariaDB", wsrep="ON")
    with rename.lock({"nova_api_db_url": URL}, "name") as held:
        server.lost = True
        assert held.still_held()


def test_a_lock_that_counts_and_is_lost_ends_a_run(serve):
    server = serve(version="10.11.6-MariaDB", wsrep="OFF")
    with rename.lock({"nova_api_db_url": URL}, "name") as held:
        assert held.still_held()
        server.lost = True
        assert not held.still_held()


@pytest.mark.parametrize("wsrep", ["ON", None])
def test_a_lock_that_another_run_holds_refuses_even_where_one_node_alone_knows_it(serve, wsrep):
    serve(wsrep=wsrep, lock=0)
    with pytest.raises(runner.StepError, match="SG707 lock-held"), rename.lock({"nova_api_db_url": URL}, "name"):
        raise AssertionError("the run went on")
    with pytest.raises(Conflict), engine.advisory_lock(URL, "name"):
        raise AssertionError("the lock was taken")
