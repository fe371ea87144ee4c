# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Missing links of instances are written first and read back under their locks: what others did meanwhile is seen.

Two instances link nothing. Before the transaction that links both begins, and after it is journaled, another writer
changes what the first one rests on, mostly without the trace that Nova leaves (``updated_at``).
"""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
import sqlalchemy as sa
from link_runs import State, repair_rows, request, run, undo_repair
from world import World, uid

from ansible_collections.stackguard.nova.plugins.module_utils.links import steps as link_rows
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine, links


@pytest.fixture
def state(tmp_path: pathlib.Path) -> State:
    """A directory for the journal."""
    return State(tmp_path / "state")


@pytest.fixture
def missing(world: World) -> World:
    """Instances 1 and 3 link nothing; each is on a node of its own."""
    for number in (1, 3):
        world.update("cell", "instances", number, compute_id=None)
    return world


def linked(world: World) -> dict[t.Any, t.Any]:
    return {row[0]: row[1] for row in world.rows("cell", "instances", "compute_id") if row[0] in (1, 3)}


def meddle(world: World, state: State, do: t.Callable[[], None]) -> list[int]:
    """Do something once, when the first batch is about to be journaled. Returns the calls of the journal."""
    calls: list[int] = []

    def between() -> None:
        calls.append(1)
        if len(calls) == 1:
            do()

    state.between = ("batch_write", between)
    return calls


def journaled(state: State) -> list[dict[str, t.Any]]:
    (path,) = state.directory.glob("repair_links-*/batch-*.json")
    rows: list[dict[str, t.Any]] = json.loads(path.read_text())["rows"]
    return rows


def test_both_are_linked_and_one_statement_writes_them(missing: World, state: State) -> None:
    """What the other tests here disturb: one UPDATE for both, and the link of each is its own node's."""
    written: list[str] = []

    def note(_connection: t.Any, _cursor: t.Any, text: str, *_more: t.Any) -> None:
        written.extend([text] if text.startswith("UPDATE instances") and "compute_nodes" in text else [])

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        result = repair_rows(run(missing.options(), state), request("SG211"))
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
    assert (linked(missing), result["counts"]["changed"], len(written)) == ({1: 1, 3: 2}, 2, 1)
    undo_repair(run(missing.options(), state))
    assert linked(missing) == {1: None, 3: None}


CHANGES: dict[str, dict[str, t.Any]] = {
    "another link": {"compute_id": 2},
    "another host": {"host": "compute2", "node": "compute2.example"},
    "a host of other case": {"host": "COMPUTE1"},
    "another state": {"vm_state": "shelved_offloaded"},
    "a task": {"task_state": "migrating"},
    "another uuid": {"uuid": "00000000-0000-4000-8000-00000000beef"},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_an_instance_that_changes_meanwhile_is_left_alone(
    missing: World, state: State, changes: dict[str, t.Any]
) -> None:
    calls = meddle(missing, state, lambda: missing.update("cell", "instances", 1, **changes))
    result = repair_rows(run(missing.options(), state), request("SG211"))
    assert linked(missing) == {1: changes.get("compute_id"), 3: 2}
    assert (result["counts"]["changed"], result["counts"]["skipped"], len(calls)) == (1, 1, 2)
    assert [row["change"]["key"] for row in journaled(state)] == [3], "the journal has what was committed"


def test_an_instance_that_is_deleted_meanwhile_is_left_alone(missing: World, state: State) -> None:
    meddle(missing, state, lambda: missing.update("cell", "instances", 1, deleted=1))
    result = repair_rows(run(missing.options(), state), request("SG211"))
    assert (linked(missing), result["counts"]["gone"]) == ({1: None, 3: 2}, 1)


def test_an_instance_whose_migration_begins_meanwhile_is_left_alone(missing: World, state: State) -> None:
    meddle(
        missing, state, lambda: missing.migration(77, "compute1", "compute2", "preparing", instance=uid("instance", 1))
    )
    result = repair_rows(run(missing.options(), state), request("SG211"))
    assert (linked(missing), result["counts"]["skipped"]) == ({1: None, 3: 2}, 1)


@pytest.mark.parametrize("changes", [{"hypervisor_hostname": "renamed.example"}, {"deleted": 1}, {"host": "COMPUTE1"}])
def test_a_node_that_changes_meanwhile_is_linked_by_nobody(
    missing: World, state: State, changes: dict[str, t.Any]
) -> None:
    meddle(missing, state, lambda: missing.update("cell", "compute_nodes", 1, **changes))
    result = repair_rows(run(missing.options(), state), request("SG211"))
    assert (linked(missing), result["counts"]["skipped"]) == ({1: None, 3: 2}, 1)


def test_a_write_of_nova_that_changes_nothing_here_is_journaled_again(missing: World, state: State) -> None:
    """The journal has the time of it: by that, what became of the batch is known after a kill."""
    stamp = "2026-11-21 06:01:00"
    calls = meddle(missing, state, lambda: missing.update("cell", "instances", 1, updated_at=stamp))
    repair_rows(run(missing.options(), state), request("SG211"))
    assert (linked(missing), len(calls)) == ({1: 1, 3: 2}, 2)
    assert {row["change"]["key"]: row["stamp"] for row in journaled(state)}[1] == stamp


def test_what_is_read_back_is_locked(missing: World, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the reading back and the commit, nobody else changes the instances."""
    read, calls, refused = links.read_rows, [], []

    def then(*arguments: t.Any) -> t.Any:
        found = read(*arguments)
        calls.append(1)
        # The first reading is before the journal, without a lock.
        if len(calls) == 1:
            return found
        wait = "lock_timeout = '1s'" if missing.server.backend == "postgresql" else "innodb_lock_wait_timeout = 1"
        with missing.server.admin(missing.names["cell"]) as other:
            other.exec_driver_sql(f"SET SESSION {wait}")
            for number in (1, 3):
                with pytest.raises(sa.exc.DBAPIError, match=r"(?i)lock"):
                    other.exec_driver_sql(f"UPDATE instances SET vm_state = 'x' WHERE id = {number}")
                other.rollback()
                refused.append(number)
        return found

    monkeypatch.setattr(link_rows.links, "read_rows", then)
    repair_rows(run(missing.options(), state), request("SG211"))
    assert (linked(missing), refused) == ({1: 1, 3: 2}, [1, 3])


def test_no_instance_outside_the_batch_is_locked(world: World) -> None:
    """By its index of compute_id, InnoDB locked every instance of the cell that links nothing, until the commit."""
    nodes, each, first = 60, 25, 100_000
    with world.server.admin(world.names["cell"]) as made:
        columns = "vcpus, memory_mb, local_gb, vcpus_used, memory_mb_used, local_gb_used, hypervisor_version"
        for node in range(first, first + nodes):
            made.exec_driver_sql(
                f"INSERT INTO compute_nodes (id, uuid, host, hypervisor_hostname, hypervisor_type, cpu_info, deleted, "
                f"mapped, {columns}) VALUES ({node}, 'node{node}', 'h{node}', 'h{node}.example', 'QEMU', '', 0, 1, "
                "1, 1, 1, 0, 0, 0, 1)"
            )
            keys = range(first + (node - first) * each, first + (node - first + 1) * each)
            values = ", ".join(f"({key}, 'i{key}', 'h{node}', 'h{node}.example', 'active', 0)" for key in keys)
            made.exec_driver_sql(f"INSERT INTO instances (id, uuid, host, node, vm_state, deleted) VALUES {values}")
        made.commit()
        tables = "TABLE instances, compute_nodes" if world.server.backend != "postgresql" else ""
        made.exec_driver_sql(f"ANALYZE {tables}").close()
        made.commit()
    batch, last = range(first, first + 300), first + nodes * each - 1
    with pytest.raises(RuntimeError, match="enough"), engine.transaction(world.url("cell"), engine.BRIEF) as connection:
        links.set_missing_nodes(connection, batch)
        with world.server.admin(world.names["cell"]) as other:
            for key in (first + 300, last):
                rows = other.exec_driver_sql(f"SELECT id FROM instances WHERE id = {key} FOR UPDATE NOWAIT")
                assert rows.scalars().all() == [key]
            other.rollback()
            with pytest.raises(sa.exc.DBAPIError, match=r"(?i)lock|nowait"):
                other.exec_driver_sql(f"SELECT id FROM instances WHERE id = {first} FOR UPDATE NOWAIT")
            other.rollback()
        raise RuntimeError("enough")


def test_a_row_that_is_not_as_it_was_judged_is_not_journaled_with_others(
    missing: World, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the journal, a resume reported it as repaired and as not proven at once."""
    look = link_rows._expected_of_all

    def then(url: str, batch: t.Any) -> t.Any:
        missing.update("cell", "instances", 1, vm_state="stopped")
        return look(url, batch)

    monkeypatch.setattr(link_rows, "_expected_of_all", then)
    result = repair_rows(run(missing.options(), state), request("SG211"))
    assert (linked(missing), result["counts"]["skipped"]) == ({1: None, 3: 2}, 1)
    assert [row["change"]["key"] for row in journaled(state)] == [3]


def test_a_list_of_keys_is_of_numbers_alone(missing: World) -> None:
    """It is one parameter that the driver writes: text must not get there."""
    with engine.snapshot(missing.url("cell")) as connection:
        assert set(links.read_rows(connection, [1, 3], ("host",))) == {1, 3}
        with pytest.raises(ValueError, match="invalid literal"):
            links.read_rows(connection, t.cast("t.Any", ["1) OR (1=1"]), ("host",))
