# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections that many short transactions share: as many as said, as bounded as new ones, and opened again."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from world import World

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import DatabaseError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine

MINE = {"mysql": "SELECT connection_id()", "postgresql": "SELECT pg_backend_pid()"}
END = {"mysql": "KILL {}", "postgresql": "SELECT pg_terminate_backend({})"}


def number(connection: sa.Connection) -> int:
    return int(connection.exec_driver_sql(MINE[connection.dialect.name]).scalar_one())


def read(url: str) -> int:
    with engine.snapshot(url) as connection:
        return number(connection)


def write(url: str) -> int:
    with engine.transaction(url, engine.BRIEF) as connection:
        return number(connection)


def test_reads_and_writes_have_one_connection_each(world: World) -> None:
    url = world.url("cell")
    with engine.kept_open():
        reads = {read(url) for _ in range(3)}
        writes = {write(url) for _ in range(3)}
        with engine.kept_open():
            reads.add(read(url))
        reads.add(read(url))
    assert len(reads) == len(writes) == 1
    assert reads.isdisjoint(writes)
    assert read(url) not in reads, "nothing is kept after the block"


def test_a_snapshot_sees_what_was_committed_before_it(world: World) -> None:
    url = world.url("cell")
    hosts = sa.text("SELECT host FROM instances WHERE id = 1")
    with engine.kept_open():
        with engine.snapshot(url) as connection:
            assert connection.execute(hosts).scalar_one() != "moved"
        world.update("cell", "instances", 1, host="moved")
        with engine.snapshot(url) as connection:
            assert connection.execute(hosts).scalar_one() == "moved"


def test_what_failed_leaves_nothing_behind(world: World) -> None:
    """Neither a transaction nor a lock: the next one on the connection commits what is its own."""
    url = world.url("cell")
    with engine.kept_open():
        with pytest.raises(RuntimeError), engine.transaction(url, engine.BRIEF) as connection:
            connection.execute(sa.text("UPDATE instances SET host = 'lost' WHERE id = 1"))
            raise RuntimeError
        assert read(url)
        with engine.transaction(url, engine.BRIEF) as connection:
            connection.execute(sa.text("UPDATE instances SET node = 'kept' WHERE id = 1"))
        with engine.snapshot(url) as connection:
            host, node = connection.execute(sa.text("SELECT host, node FROM instances WHERE id = 1")).one()
    assert (host != "lost", node) == (True, "kept")


def test_one_that_the_server_ended_is_opened_again(world: World) -> None:
    """As it ends those that were silent for longer than a write may be, while a journal was written."""
    url = world.url("cell")
    with engine.kept_open():
        for use in (read, write):
            before = use(url)
            with world.server.admin(world.names["cell"]) as admin:
                admin.exec_driver_sql(END[admin.dialect.name].format(before))
            assert use(url) != before


def test_one_that_ends_during_a_write_fails_it(world: World) -> None:
    url = world.url("cell")
    with engine.kept_open():
        with pytest.raises(DatabaseError), engine.transaction(url, engine.BRIEF) as connection:
            connection.execute(sa.text("UPDATE instances SET host = 'lost' WHERE id = 1"))
            with world.server.admin(world.names["cell"]) as admin:
                admin.exec_driver_sql(END[admin.dialect.name].format(number(connection)))
            number(connection)
        with engine.snapshot(url) as connection:
            assert connection.execute(sa.text("SELECT host FROM instances WHERE id = 1")).scalar_one() != "lost"


SILENCE = {"mysql": "SELECT @@SESSION.wait_timeout", "postgresql": "SHOW idle_in_transaction_session_timeout"}


def silence(connection: sa.Connection) -> str:
    return str(connection.exec_driver_sql(SILENCE[connection.dialect.name]).scalar_one())


def test_reads_are_not_bounded_by_the_silence_of_writes(world: World) -> None:
    url = world.url("cell")
    with engine.kept_open():
        with engine.snapshot(url) as connection:
            before = silence(connection)
        write(url)
        with engine.snapshot(url) as connection:
            assert silence(connection) == before
        with engine.transaction(url, engine.BRIEF) as connection:
            assert silence(connection).rstrip("s") == str(engine.BRIEF.idle) != before.rstrip("s")


def test_a_url_that_is_none_is_told_as_ever() -> None:
    with engine.kept_open(), pytest.raises(DatabaseError, match="must begin with"):
        read("nonsense")
