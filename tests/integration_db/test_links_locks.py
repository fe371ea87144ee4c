# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a repair of links locks, for how long, and what others may do meanwhile; and what is known after a kill.

nova-compute's heartbeat is an UPDATE of its row of ``services``. Whatever hangs, it must come through within seconds:
a minute without one, and Nova calls the host down, and lets its running guests be evacuated.
"""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
import typing as t

import pytest
import servers
import sqlalchemy as sa
from link_runs import Killed, State, repair_rows, request, run, undo_repair
from world import World

from ansible_collections.stackguard.nova.plugins.module_utils.links import operation as repair_links
from ansible_collections.stackguard.nova.plugins.module_utils.links import steps as link_rows
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict, DatabaseError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine, rows

HEARTBEAT = "UPDATE services SET report_count = report_count + 1, last_seen_up = '2026-11-21 06:00:10' WHERE id = 1"
#: A heartbeat that waits longer than this is a danger; Nova's service_down_time is 60 s.
SOON = 12.0
ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def state(tmp_path: pathlib.Path) -> State:
    """A directory for the journal."""
    return State(tmp_path / "state")


@pytest.fixture
def unlinked(world: World) -> World:
    """Both nodes without the id of their service: a repair of them locks rows of ``services``."""
    world.update("cell", "instances", 3, compute_id=2)
    for number in (1, 2):
        world.update("cell", "compute_nodes", number, service_id=None)
    return world


def service_ids(world: World) -> list[t.Any]:
    return [row[1] for row in world.rows("cell", "compute_nodes", "service_id")]


def statement(world: World, text: str, wait: int = 1) -> str | None:
    """Run a statement as another client would, with this patience. Returns the error."""
    limit = (
        f"SET lock_timeout = '{wait}s'"
        if world.server.backend == "postgresql"
        else f"SET SESSION innodb_lock_wait_timeout = {wait}"
    )
    with world.server.admin(world.names["cell"]) as connection:
        connection.exec_driver_sql(limit)
        try:
            connection.exec_driver_sql(text)
        except sa.exc.DBAPIError as error:
            return str(error)
    return None


def during_update(monkeypatch: pytest.MonkeyPatch, do: t.Callable[[], None]) -> None:
    """Do something in the middle of the first transaction, its rows locked and one of them written."""
    update, done = rows.update, []

    def disturbed(*arguments: t.Any) -> None:
        update(*arguments)
        if not done:
            done.append(True)
            do()

    monkeypatch.setattr(rows, "update", disturbed)


# --- no row is locked while the journal is written ------------------------------------------------------------


def test_heartbeats_come_through_while_the_journal_hangs(unlinked: World, state: State) -> None:
    """The state host does not answer for as long as it likes: no row is locked meanwhile."""
    refused: list[str | None] = []
    state.between = ("batch_write", lambda: refused.append(statement(unlinked, HEARTBEAT)))
    result = repair_rows(run(unlinked.options(), state), request("SG201"))
    assert refused == [None], "the heartbeat of nova-compute was held up by the journal"
    assert (service_ids(unlinked), result["counts"]["changed"]) == ([1, 2], 2)


def test_the_heartbeat_waits_while_the_link_is_written_and_the_service_cannot_go(
    unlinked: World, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard of the tests here: rows are locked in the transaction, and a deletion would be held up."""
    refused: list[str | None] = []
    during_update(monkeypatch, lambda: refused.append(statement(unlinked, "UPDATE services SET deleted = 1")))
    repair_rows(run(unlinked.options(), state), request("SG201"))
    assert len(refused) == 1 and refused[0] is not None and "lock" in refused[0].lower()
    assert statement(unlinked, HEARTBEAT) is None, "nothing is held any more"


def test_what_a_link_is_to_lead_to_stays_until_it_is_committed(
    unlinked: World, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another transaction, in the middle of a batch, cannot delete the node; a reader is not held up."""
    unlinked.update("cell", "instances", 1, compute_id=None)
    refused: list[str | None] = []

    def meddle() -> None:
        with unlinked.server.admin(unlinked.names["cell"]) as connection:
            assert connection.exec_driver_sql("SELECT host FROM compute_nodes WHERE id = 1").scalar() == "compute1"
        refused.append(statement(unlinked, "UPDATE compute_nodes SET deleted = 1 WHERE id = 1"))

    during_update(monkeypatch, meddle)
    repair_rows(run(unlinked.options(), state), request("SG211"))
    assert len(refused) == 1 and refused[0] is not None and "lock" in refused[0].lower()


# --- a client that hangs loses its locks ----------------------------------------------------------------------

HOLDER = """
    import sys, time
    sys.path.insert(0, sys.argv[1])
    import sqlalchemy as sa
    from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine as database, schema
    services = schema.table(schema.CELL, "services")
    with database.transaction(sys.argv[2], database.BRIEF) as connection:
        rows = sa.select(services.c.id).where(services.c.id == 1).with_for_update(read=True)
        assert connection.execute(rows).all()
        print("locked", flush=True)
        time.sleep(600)
"""


def test_a_client_that_is_stopped_in_mid_transaction_loses_its_locks_within_seconds(unlinked: World) -> None:
    arguments = [sys.executable, "-c", textwrap.dedent(HOLDER), str(ROOT / ".build" / "dev"), unlinked.url("cell")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None and holder.stdout.readline() == "locked\n"
            os.kill(holder.pid, signal.SIGSTOP)
            assert statement(unlinked, HEARTBEAT, wait=1) is not None, "the row is locked at first"
            began = time.monotonic()
            assert statement(unlinked, HEARTBEAT, wait=30) is None
            assert time.monotonic() - began < SOON
        finally:
            holder.kill()


def test_a_run_that_hangs_in_mid_transaction_loses_its_locks_and_what_it_wrote(
    unlinked: World, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    def hang() -> None:
        began = time.monotonic()
        assert statement(unlinked, HEARTBEAT, wait=30) is None
        waited.append(time.monotonic() - began)

    during_update(monkeypatch, hang)
    with pytest.raises(DatabaseError):
        repair_rows(run(unlinked.options(), state), request("SG201"))
    assert waited[0] < SOON
    assert service_ids(unlinked) == [None, None], "the server has rolled it back"
    result = repair_rows(run(unlinked.options(), state), request("SG201"))
    assert (service_ids(unlinked), result["state"]) == ([1, 2], "finished")
    undo_repair(run(unlinked.options(), state))
    assert service_ids(unlinked) == [None, None]


def test_many_slow_statements_do_not_add_up(unlinked: World) -> None:
    limits = engine.Limits(lock=3, statement=5, idle=5, whole=1)
    with pytest.raises(Conflict, match="longer than 1 s"), engine.transaction(unlinked.url("cell"), limits) as held:
        for _ in range(3):
            held.execute(sa.select(1))
            time.sleep(0.6)
    with engine.transaction(unlinked.url("cell"), limits) as held:
        held.execute(sa.select(1))


# --- what was journaled is what is committed ------------------------------------------------------------------


def test_a_row_that_nova_writes_after_the_journal_is_journaled_again(unlinked: World, state: State) -> None:
    """nova-compute wrote its row, and nothing of what matters here: it is repaired, and its new stamp is kept."""
    calls: list[int] = []

    def beat() -> None:
        calls.append(1)
        if len(calls) == 1:
            unlinked.update("cell", "compute_nodes", 1, updated_at="2026-11-21 06:01:00")

    state.between = ("batch_write", beat)
    state.kill = ("batch_mark", "before")
    with pytest.raises(Killed):
        repair_rows(run(unlinked.options(), state), request("SG201"))
    assert len(calls) == 2
    state.between = state.kill = None
    # It is known that all of it was committed, also of the row whose stamp moved before.
    result = undo_repair(run(unlinked.options(), state))
    assert (result["counts"]["changed"], result["incomplete"]) == (2, False)
    assert service_ids(unlinked) == [None, None]


def test_a_row_that_changes_after_the_journal_is_left_alone_and_the_journal_says_so(
    unlinked: World, state: State
) -> None:
    state.between = ("batch_write", lambda: unlinked.update("cell", "compute_nodes", 1, host="COMPUTE1"))
    state.kill = ("batch_mark", "before")
    with pytest.raises(Killed):
        repair_rows(run(unlinked.options(), state), request("SG201"))
    assert service_ids(unlinked) == [None, 2]
    state.between = state.kill = None
    result = undo_repair(run(unlinked.options(), state))
    assert (result["counts"]["changed"], result["counts"]["skipped"], result["incomplete"]) == (1, 0, False)
    assert service_ids(unlinked) == [None, None]


def test_what_was_journaled_and_then_done_by_nova_is_not_taken_back(unlinked: World, state: State) -> None:
    def heal() -> None:
        for number in (1, 2):
            unlinked.update("cell", "compute_nodes", number, service_id=number, updated_at="2026-11-21 06:01:00")

    state.between = ("batch_write", heal)
    result = repair_rows(run(unlinked.options(), state), request("SG201"))
    assert (result["counts"]["changed"], result["counts"]["already"]) == (0, 2)
    state.between = None
    undo_repair(run(unlinked.options(), state))
    assert service_ids(unlinked) == [1, 2]


def test_rows_that_others_write_all_the_time_end_the_run_with_nothing_changed(unlinked: World, state: State) -> None:
    seconds = iter(range(10, 60))
    state.between = (
        "batch_write",
        lambda: unlinked.update("cell", "compute_nodes", 1, updated_at=f"2026-11-21 06:01:{next(seconds)}"),
    )
    with pytest.raises(Conflict, match="other processes keep changing"):
        repair_rows(run(unlinked.options(), state), request("SG201"))
    assert service_ids(unlinked) == [None, None]
    state.between = None
    assert repair_rows(run(unlinked.options(), state), request("SG201"))["counts"]["changed"] == 2


@pytest.mark.parametrize("then", ["resume", "rollback"])
def test_killed_in_the_middle_of_the_transaction(
    unlinked: World, state: State, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    def die() -> None:
        raise Killed

    during_update(monkeypatch, die)
    with pytest.raises(Killed):
        repair_rows(run(unlinked.options(), state), request("SG201"))
    assert service_ids(unlinked) == [None, None]
    if then == "resume":
        repair_rows(run(unlinked.options(), state), request("SG201"))
        assert service_ids(unlinked) == [1, 2]
    undo_repair(run(unlinked.options(), state))
    assert service_ids(unlinked) == [None, None]


def test_a_commit_that_is_still_under_way_is_not_taken_for_none(unlinked: World, state: State) -> None:
    """The client is dead, its transaction is not yet: whether it was committed is asked when it has ended."""
    state.kill = ("batch_write", "after")
    with pytest.raises(Killed):
        repair_rows(run(unlinked.options(), state), request("SG201"))
    state.kill = None
    with sa.create_engine(unlinked.url("cell")).connect() as ghost:
        ghost.exec_driver_sql("UPDATE compute_nodes SET service_id = id")
        with pytest.raises(Conflict):
            repair_rows(run(unlinked.options(), state), request("SG201"))
        ghost.commit()
    repair_rows(run(unlinked.options(), state), request("SG201"))
    undo_repair(run(unlinked.options(), state))
    assert service_ids(unlinked) == [None, None], "it was committed, so it is taken back"


# --- after the commit -----------------------------------------------------------------------------------------


def test_a_target_that_changed_behind_the_lock_is_reported(unlinked: World, state: State) -> None:
    """As another node of a Galera cluster can do it, where the lock is not known."""
    state.between = ("batch_mark", lambda: unlinked.update("cell", "services", 1, host="renamed1"))
    result = repair_rows(run(unlinked.options(), state), request("SG201"))
    assert (result["counts"]["changed"], result["counts"]["doubtful"], result["incomplete"]) == (2, 1, True)
    assert "1 row repaired, but the target row of the link changed during the repair" in result["msg"]
    (row,) = [row for row in result["repairs"] if row["outcome"] != "repaired"]
    assert "services id=1 has changed" in row["outcome"]
    assert row["object"]["id"] in {item["object"]["id"] for item in result["report"]["findings"]}
    assert result["not_guaranteed"] == [], "this is one server"


def test_a_target_that_is_what_it_was_again_is_a_finding_all_the_same(unlinked: World, state: State) -> None:
    """The last look finds nothing wrong; that the ground moved under the repair is still said."""
    unlinked.update("cell", "services", 1, host="compute1")
    state.between = ("batch_mark", lambda: unlinked.update("cell", "services", 1, host="renamed1"))
    ended = repair_links.link_rows.recheck

    def again(url: str, made: t.Any) -> t.Any:
        found = ended(url, made)
        unlinked.update("cell", "services", 1, host="compute1")
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repair_links.link_rows, "recheck", again)
        result = repair_rows(run(unlinked.options(), state), request("SG201"))
    (item,) = result["report"]["findings"]
    assert (item["code"], "services id=1 has changed" in item["evidence"]["after the commit"]) == ("SG201", True)
    assert result["incomplete"] is True


class Galera(servers.MariaDb):
    """A node of a Galera cluster. Debian's mariadb-server brings the provider with it."""

    def __init__(self, peer: Galera | None = None) -> None:
        super().__init__()
        self.peer = peer
        self.group, self.incremental, self.transfer = (servers.free_port() for _ in range(3))

    def _command(self) -> list[str]:
        provider = servers.program("libgalera_smm.so", "/usr/lib/galera/libgalera_smm.so", "/usr/lib*/galera-4/*.so")
        listen = f"gmcast.listen_addr=tcp://127.0.0.1:{self.group};ist.recv_addr=127.0.0.1:{self.incremental}"
        return [
            *super()._command(),
            "--binlog-format=ROW",
            "--innodb-autoinc-lock-mode=2",
            "--wsrep-on=ON",
            f"--wsrep-provider={provider}",
            f"--wsrep-provider-options=base_port={self.group};{listen}",
            f"--wsrep-node-address=127.0.0.1:{self.group}",
            f"--wsrep-node-name=node{self.group}",
            "--wsrep-sst-method=rsync",
            f"--wsrep-sst-receive-address=127.0.0.1:{self.transfer}",
            f"--wsrep-cluster-address=gcomm://{f'127.0.0.1:{self.peer.group}' if self.peer else ''}",
            *([] if self.peer else ["--wsrep-new-cluster"]),
        ]


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> tuple[World, Galera]:
    """A cloud in a cluster of two nodes, whose nodes miss the id of their service, and the second node."""
    first = Galera()
    second = Galera(first)
    for node in (first, second):
        request.addfinalizer(node.stop)
        node.start()
    world = World(first, "34").empty().populated()
    world.update("cell", "instances", 3, compute_id=2)
    for number in (1, 2):
        world.update("cell", "compute_nodes", number, service_id=None)
    return world, second


def test_on_galera_the_result_says_what_its_locks_do_not_guarantee(
    cluster: tuple[World, Galera], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another node deletes a service that is locked on this one: not prevented, and never a silent green."""
    world, second = cluster
    # Without any right on the server: what bounds and orders a session is everybody's to set.
    world.server.run(f"CREATE USER repairer@'%' IDENTIFIED BY '{servers.PLAIN_PASSWORD}'")
    for kind in ("cell", "api"):
        world.server.run(f"GRANT SELECT, UPDATE ON {world.names[kind]}.* TO repairer@'%'")
    options = world.options("repairer")
    shown = repair_rows(run(options, State(tmp_path / "state", check_mode=True)), request("SG201"))
    assert service_ids(world) == [None, None]
    taken: list[object] = []
    delete = "UPDATE services SET deleted = id WHERE id = 1"
    during_update(monkeypatch, lambda: taken.append(second.run(delete, world.names["cell"])))
    done = repair_rows(run(options, State(tmp_path / "state")), request("SG201"))
    assert taken == [[]], "the other node knew of no lock"
    for result in (shown, done):
        (said,) = result["not_guaranteed"]
        assert said.startswith("cell:cell1 is a Galera cluster, where a lock is valid on one node only")
        assert said in result["msg"]
    left_alone = (service_ids(world), done["counts"]["skipped"]) == ([None, 2], 1)
    assert left_alone or done["counts"]["doubtful"] == 1, done
    with engine.transaction(world.url("cell", "repairer"), engine.BRIEF) as held:
        assert held.exec_driver_sql("SELECT @@wsrep_sync_wait").scalar() == 7


def test_one_server_is_no_cluster(world: World) -> None:
    assert link_rows.is_cluster(world.url("cell")) is False
