# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guarded changes on real servers: all or nothing, whatever happens meanwhile."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import typing as t

import pytest
import servers
import sqlalchemy as sa
from world import World, uid

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict, DatabaseError
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import elsewhere_steps as guests_elsewhere
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine as database
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import nova
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import rows as row_changes

Completeness = nova.Completeness
OLD = Completeness("compute1", "compute1.example")
NEW = Completeness("cn7", "cn7.example")


def reversed_(changes: t.Sequence[t.Any]) -> list[t.Any]:
    return [change.reversed() for change in changes]


def test_there_and_back(world: World) -> None:
    before = world.everything()
    url, changes = world.url("cell"), world.cell_changes()
    assert nova.rows_state(url, changes) == "before"
    assert nova.apply_row_changes(url, changes, OLD) == nova.WrittenRows(4, 0, [])
    assert nova.rows_state(url, changes) == "after"
    after = world.everything()
    assert after["services"] == [(1, "cn7"), (2, "compute2")]
    assert after["nodes"] == [(1, "cn7", "cn7.example"), (2, "compute2", "compute2.example")]
    assert after["instances"][:2] == [(1, "cn7", "cn7.example", "cn7"), (2, "cn7", "cn7.example", "cn7")]
    assert after["instances"][2] == before["instances"][2]
    assert nova.apply_row_changes(url, changes, OLD) == nova.WrittenRows(0, 4, [])
    assert nova.apply_row_changes(url, reversed_(changes), NEW) == nova.WrittenRows(4, 0, [])
    assert world.everything() == before
    assert nova.rows_state(url, reversed_(changes)) == "after"


def test_api_database_there_and_back(world: World) -> None:
    before = world.everything()
    url, changes = world.url("api"), world.api_changes()
    assert nova.apply_row_changes(url, changes, Completeness("compute1")).changed == 2
    assert world.everything()["mappings"] == [(1, "cn7"), (2, "compute2")]
    assert world.everything()["members"] == [(1, "cn7"), (2, "compute2")]
    assert nova.apply_row_changes(url, reversed_(changes), Completeness("cn7")).changed == 2
    assert world.everything() == before


def test_half_done_by_hand_is_finished(world: World) -> None:
    world.update("cell", "instances", 2, host="cn7", node="cn7.example", launched_on="cn7")
    url, changes = world.url("cell"), world.cell_changes()
    assert nova.rows_state(url, changes) == "mixed"
    assert nova.apply_row_changes(url, changes, OLD) == nova.WrittenRows(3, 1, [])


@pytest.mark.parametrize(
    ("table", "key", "values", "column"),
    [
        ("services", 1, {"host": "other"}, "host"),
        ("services", 1, {"uuid": uid("service", 7)}, "uuid"),
        ("services", 1, {"deleted": 1}, "deleted"),
        ("compute_nodes", 1, {"hypervisor_hostname": "other.example"}, "hypervisor_hostname"),
        ("instances", 2, {"host": "compute2", "node": "compute2.example"}, "host"),
        ("instances", 2, {"host": "cn7"}, "node"),
        ("instances", 2, {"host": "Compute1"}, "host"),
        ("instances", 2, {"host": "compute1 "}, "host"),
        ("instances", 2, {"host": None}, "host"),
    ],
)
def test_a_row_that_is_neither_stops_everything(
    world: World, table: str, key: int, values: dict[str, object], column: str
) -> None:
    world.update("cell", table, key, **values)
    before = world.everything()
    with pytest.raises(Conflict) as raised:
        nova.apply_row_changes(world.url("cell"), world.cell_changes(), OLD)
    assert world.everything() == before
    rows = raised.value.data["rows"]
    assert {(row["table"], row["key"]) for row in rows} == {(table, key)}
    assert column in {name for row in rows for name in row["column"].split(", ")}
    assert nova.rows_state(world.url("cell"), world.cell_changes()) == "conflict"


def test_a_row_that_is_gone_stops_everything(world: World) -> None:
    world.server.run("DELETE FROM compute_nodes WHERE id = 1", world.names["cell"])
    with pytest.raises(Conflict, match="compute_nodes id=1"):
        nova.apply_row_changes(world.url("cell"), world.cell_changes(), OLD)
    assert world.everything()["services"][0] == (1, "compute1")


def test_instances_deleted_meanwhile_are_passed_over(world: World) -> None:
    world.update("cell", "instances", 1, deleted=1)
    world.server.run("DELETE FROM instances WHERE id = 2", world.names["cell"])
    outcome = nova.apply_row_changes(world.url("cell"), world.cell_changes(), OLD)
    assert outcome == nova.WrittenRows(2, 0, ["instance 1", "instance 2"])
    assert world.everything()["instances"][0] == (1, "compute1", "compute1.example", "compute1")
    assert nova.rows_state(world.url("cell"), world.cell_changes()) == "after"


def renamed_and_evacuated(world: World, status: str = "done") -> None:
    """compute1 was renamed to cn7, then its second instance evacuated to compute2."""
    nova.apply_row_changes(world.url("cell"), world.cell_changes(), OLD)
    world.update("cell", "instances", 2, host="compute2", node="compute2.example")
    world.migration(90, "cn7", "compute2", status, "evacuation", instance=uid("instance", 2))


def test_a_rollback_tells_which_instances_live_elsewhere_by_now(world: World) -> None:
    url, back = world.url("cell"), reversed_(world.cell_changes())
    renamed_and_evacuated(world)
    assert guests_elsewhere.instances(url, back) == [
        guests_elsewhere.GuestElsewhere(uid("instance", 2), "compute2", "compute2.example")
    ]


@pytest.mark.parametrize(
    "values",
    [
        {"host": "cn7", "node": "compute2.example"},
        {"host": "compute2", "node": "cn7.example"},
        {"host": "CN7", "node": "CN7.example"},
        {"host": "cn7 ", "node": "compute2.example"},
        {"host": None, "node": None},
        {"deleted": 2},
    ],
)
def test_an_instance_that_is_only_half_elsewhere_is_not_one_of_them(world: World, values: dict[str, object]) -> None:
    renamed_and_evacuated(world)
    world.update("cell", "instances", 2, **{"host": "compute2", "node": "compute2.example", **values})
    assert guests_elsewhere.instances(world.url("cell"), reversed_(world.cell_changes())) == []


def test_a_row_that_is_left_elsewhere_lets_all_the_others_go_back(world: World) -> None:
    url, back = world.url("cell"), reversed_(world.cell_changes())
    renamed_and_evacuated(world)
    others = [row for row in back if row.before.get("uuid") != uid("instance", 2)]
    passing = dataclasses.replace(NEW, elsewhere=(uid("instance", 2),))
    with pytest.raises(Conflict, match="instances id=2"):
        nova.apply_row_changes(url, back, passing)
    with pytest.raises(Conflict, match="migrations id=90"):
        nova.apply_row_changes(url, others, NEW)
    assert nova.apply_row_changes(url, others, passing) == nova.WrittenRows(3, 0, [])
    rows = world.everything()["instances"]
    assert rows[0][1:3] == ("compute1", "compute1.example")
    assert rows[1][1:3] == ("compute2", "compute2.example")


@pytest.mark.parametrize("status", ["accepted", "pre-migrating", "migrating"])
def test_an_evacuation_that_has_not_arrived_is_never_passed(world: World, status: str) -> None:
    renamed_and_evacuated(world, status)
    others = [row for row in reversed_(world.cell_changes()) if row.before.get("uuid") != uid("instance", 2)]
    passing = dataclasses.replace(NEW, elsewhere=(uid("instance", 2),))
    before = world.everything()
    with pytest.raises(Conflict, match="migrations id=90"):
        nova.apply_row_changes(world.url("cell"), others, passing)
    assert world.everything() == before


def test_case_only(world: World) -> None:
    changes = world.cell_changes("COMPUTE1", "COMPUTE1.example")
    before = world.everything()
    assert nova.rows_state(world.url("cell"), changes) == "before"
    assert nova.apply_row_changes(world.url("cell"), changes, OLD).changed == 4
    assert world.everything()["services"][0] == (1, "COMPUTE1")
    assert world.everything()["nodes"][0] == (1, "COMPUTE1", "COMPUTE1.example")
    assert nova.rows_state(world.url("cell"), changes) == "after"
    assert nova.apply_row_changes(world.url("cell"), changes, OLD) == nova.WrittenRows(0, 4, [])
    back = Completeness("COMPUTE1", "COMPUTE1.example")
    assert nova.apply_row_changes(world.url("cell"), reversed_(changes), back).changed == 4
    assert world.everything() == before
    assert (
        nova.apply_row_changes(world.url("api"), world.api_changes("COMPUTE1"), Completeness("compute1")).changed == 2
    )


def test_names_beyond_ascii(world: World) -> None:
    changes = world.cell_changes("größe-計算", "größe-計算.example")
    assert nova.apply_row_changes(world.url("cell"), changes, OLD).changed == 4
    assert world.everything()["services"][0] == (1, "größe-計算")
    # MySQL's utf8mb3_general_ci takes these two for equal; nobody else does.
    assert nova.rows_state(world.url("cell"), world.cell_changes("grosse-計算", "grosse-計算.example")) == "conflict"


def test_a_name_that_is_taken(world: World) -> None:
    before = world.everything()
    with pytest.raises(Conflict, match=r"(?i)duplicate"):
        nova.apply_row_changes(world.url("cell"), world.cell_changes("compute2"), OLD)
    with pytest.raises(Conflict, match=r"(?i)duplicate"):
        nova.apply_row_changes(world.url("api"), world.api_changes("compute2"), Completeness("compute1"))
    assert world.everything() == before


def test_only_what_the_collection_changes_can_be_changed(world: World) -> None:
    (first, *_rest) = world.cell_changes()
    for bad in (
        dataclasses.replace(first, after={"uuid": uid("service", 9)}),
        dataclasses.replace(first, table="nova", after={"host": "x"}),
        dataclasses.replace(first, key_column="host"),
        dataclasses.replace(first, before={"uuid": first.before["uuid"]}),
        dataclasses.replace(first, before={**first.before, "password": 1}),
        dataclasses.replace(first, database="keystone"),
    ):
        with pytest.raises(ValueError, match="the collection must not make this change"):
            nova.apply_row_changes(world.url("cell"), [bad])
    with pytest.raises(ValueError, match="in the same database"):
        nova.apply_row_changes(world.url("cell"), [first, *world.api_changes()])


def test_many_rows_in_few_statements(world: World) -> None:
    world.server.run("DELETE FROM instances WHERE id IN (1, 2)", world.names["cell"])
    template = world.cell_changes()[2]
    columns = ("id", "uuid", "host", "node", "launched_on", "deleted")
    table = sa.table("instances", *[sa.column(name) for name in columns])
    rows = [(key, uid("instance", key), "compute1", "compute1.example", "compute1", 0) for key in range(10, 3510)]
    with world.server.admin(world.names["cell"]) as connection:
        connection.execute(sa.insert(table), [dict(zip(columns, row)) for row in rows])
    changes = world.cell_changes()[:2] + [
        dataclasses.replace(template, key=row[0], before={**template.before, "uuid": row[1]}) for row in rows
    ]
    statements = []
    recorded = sa.event.listen
    recorded(sa.Engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
    assert nova.apply_row_changes(world.url("cell"), changes, OLD).changed == 3502
    updates = [text for text in statements if text.startswith("UPDATE")]
    assert len(updates) == 2 + 4
    assert all("compute1" not in text for text in statements), "values are bound, never part of a statement"


# --- meanwhile ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "named"),
    [
        (lambda world: world.instance(9, "compute1", "compute1.example"), "instances id=9"),
        (lambda world: world.instance(9, "elsewhere", "compute1.example"), "instances id=9"),
        (lambda world: world.instance(9, "COMPUTE1", "x"), "instances id=9"),
        (lambda world: world.node(9, "compute1", "second.example"), "compute_nodes id=9"),
        (lambda world: world.node(9, None, "compute1.example"), "compute_nodes id=9"),
        (lambda world: world.migration(9, "compute1", "compute2", "accepted"), "migrations id=9"),
        (lambda world: world.migration(9, "compute2", "compute1", "finished", "resize"), "migrations id=9"),
        (lambda world: world.migration(9, "compute1", "compute2", "done", "evacuation", deleted=9), "migrations id=9"),
    ],
)
def test_what_appears_between_reading_and_applying(world: World, what: t.Callable[[World], None], named: str) -> None:
    changes = world.cell_changes()
    what(world)
    before = world.everything()
    with pytest.raises(Conflict, match=named):
        nova.apply_row_changes(world.url("cell"), changes, OLD)
    assert world.everything() == before


def test_what_does_not_matter_does_not_stop_it(world: World) -> None:
    world.service(8, "compute1", binary="nova-conductor")
    world.node(8, "compute1", "old.example", deleted=8)
    world.instance(8, "compute1", "compute1.example", deleted=8)
    world.migration(8, "compute1", "compute2", "completed", "live-migration")
    world.migration(9, "compute2", "compute1", "done", "evacuation")
    known = dataclasses.replace(OLD, known_migrations=(9,))
    assert nova.apply_row_changes(world.url("cell"), world.cell_changes(), known).changed == 4


def test_api_rows_that_appear(world: World) -> None:
    world.insert("api", "aggregates", id=2, uuid=uid("aggregate", 2), name="other")
    world.insert("api", "aggregate_hosts", id=9, host="compute1", aggregate_id=2)
    with pytest.raises(Conflict, match="aggregate_hosts id=9"):
        nova.apply_row_changes(world.url("api"), world.api_changes(), Completeness("compute1"))
    assert world.everything()["mappings"][0] == (1, "compute1")


def test_a_row_changed_by_an_open_transaction_is_waited_for_and_then_seen(world: World) -> None:
    """A tenant's delete or a move commits while we wait for its row lock: what it wrote is what is compared."""
    engine = sa.create_engine(world.url("cell"), poolclass=sa.pool.NullPool)
    instances = sa.table("instances", sa.column("id"), sa.column("host"), sa.column("deleted"))
    with engine.connect() as other:
        other.execute(sa.update(instances).where(instances.c.id == 1).values(host="moved"))
        failure: list[BaseException] = []

        def apply() -> None:
            try:
                nova.apply_row_changes(world.url("cell"), world.cell_changes(), OLD)
            except Conflict as error:
                failure.append(error)

        thread = threading.Thread(target=apply)
        thread.start()
        time.sleep(1)
        assert thread.is_alive(), "it waits for the row"
        other.commit()
        thread.join(30)
    assert "expected 'compute1'" in str(failure[0])
    assert "'moved'" in str(failure[0])
    assert world.everything()["services"][0] == (1, "compute1")


def test_a_row_that_stays_locked_is_a_conflict(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LOCK_TIMEOUT", 1)
    engine = sa.create_engine(world.url("cell"), poolclass=sa.pool.NullPool)
    instances = sa.table("instances", sa.column("id"), sa.column("host"))
    with engine.connect() as other:
        other.execute(sa.update(instances).where(instances.c.id == 1).values(host="moved"))
        with pytest.raises(Conflict, match=r"(?i)lock"):
            nova.apply_row_changes(world.url("cell"), world.cell_changes(), OLD)
        other.rollback()
    assert nova.rows_state(world.url("cell"), world.cell_changes()) == "before"


def test_the_row_count_is_the_last_guard(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the comparison ever wrong, the statement's own conditions would still tell."""
    world.update("cell", "instances", 2, host="other")
    monkeypatch.setattr(row_changes, "_state", lambda _change, _row: row_changes.BEFORE)
    before = world.everything()
    with pytest.raises(Conflict, match="1 rows would change instead of 2"):
        nova.apply_row_changes(world.url("cell"), world.cell_changes())
    assert world.everything() == before


def test_rows_found_are_counted_not_rows_changed(world: World) -> None:
    """MySQL counts changed rows unless told otherwise; a case-insensitive no-op would look like a lost row."""
    services = sa.table("services", sa.column("id"), sa.column("host"))
    with database.transaction(world.url("cell")) as connection:
        result = connection.execute(sa.update(services).where(services.c.id == 1).values(host="compute1"))
        assert result.rowcount == 1


# --- killed ---------------------------------------------------------------------------------------------------

_CHILD = """
import json, sys, time
sys.path.insert(0, {dev!r})
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import from_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import RowChange
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import nova, rows

real = rows._update
def update_and_wait(*arguments):
    real(*arguments)
    print("updated", flush=True)
    time.sleep(600)
rows._update = update_and_wait
changes = [from_plain(RowChange, item) for item in json.load(sys.stdin)]
nova.apply_row_changes({url!r}, changes)
"""


def test_killed_in_the_middle_of_the_transaction(world: World) -> None:
    import json

    from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import to_plain

    before = world.everything()
    dev = str(pathlib.Path(__file__).resolve().parents[2] / ".build" / "dev")
    script = _CHILD.format(dev=dev, url=world.url("cell"))
    child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps(to_plain(world.cell_changes())).encode())
    child.stdin.close()
    assert child.stdout.readline() == b"updated\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert world.everything() == before
    # The server lets go of the rows as soon as it sees the closed connection.
    assert nova.apply_row_changes(world.url("cell"), world.cell_changes(), OLD).changed == 4


def test_the_server_is_killed_in_the_middle(own_server: servers.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(own_server, "34").populated()
    before = world.everything()
    real = row_changes._update_alike

    def update_and_kill(*arguments: t.Any) -> None:
        real(*arguments)
        assert own_server.process is not None
        own_server.process.kill()
        own_server.process.wait()

    monkeypatch.setattr(row_changes, "_update_alike", update_and_kill)
    with pytest.raises(DatabaseError) as raised:
        nova.apply_row_changes(world.url("cell"), world.cell_changes(), OLD)
    assert not raised.value.data.get("unknown_outcome")
    assert servers.PLAIN_PASSWORD not in str(raised.value)
    own_server.kill_and_restart()
    assert world.everything() == before


def test_a_connection_lost_while_committing_is_told_as_unknown(world: World) -> None:
    def cut(connection: sa.Connection) -> None:
        if connection.dialect.name == "mysql":
            number = connection.exec_driver_sql("SELECT connection_id()").scalar()
            world.server.run(f"KILL {number}")
        else:
            number = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
            world.server.run(f"SELECT pg_terminate_backend({number})")

    sa.event.listen(sa.Engine, "commit", cut)
    try:
        with pytest.raises(DatabaseError, match="it is not known whether the change was committed") as raised:
            nova.apply_row_changes(world.url("cell"), world.cell_changes(), OLD)
    finally:
        sa.event.remove(sa.Engine, "commit", cut)
    assert raised.value.data == {"unknown_outcome": True}
    assert nova.rows_state(world.url("cell"), world.cell_changes()) == "before"


# --- lock -----------------------------------------------------------------------------------------------------


def test_the_operation_lock(world: World) -> None:
    url = world.url("api")
    with nova.advisory_lock(url, "stackguard:rename:compute1" + "x" * 100) as lock:
        assert lock.still_held()
        with (
            pytest.raises(Conflict, match="another operation"),
            nova.advisory_lock(url, lock_name := "stackguard:rename:compute1" + "x" * 100),
        ):
            pass
        with nova.advisory_lock(url, "stackguard:rename:compute2"):
            assert lock.still_held()
    with nova.advisory_lock(url, lock_name) as lock:
        assert lock.still_held()
        assert not lock.local, "this server is no node of Galera"


def test_a_probe_of_the_lock_leaves_none(world: World) -> None:
    options = world.options()
    for _time in range(2):
        assert nova.probe_lock(options).scope == "exclusive"
    assert nova.read_databases(options, ["compute1"], rename=True).lock == nova.probe_lock(options)
    assert nova.read_databases(options, ["compute1"]).lock is None


def test_what_the_last_look_refuses_is_rolled_back(world: World) -> None:
    """A run that stood still for longer than others wait: its rows are locked, changed, and must not be committed."""

    class StoodStillError(Exception):
        pass

    def refuse() -> None:
        raise StoodStillError

    with pytest.raises(StoodStillError):
        nova.apply_row_changes(world.url("cell"), world.cell_changes(), OLD, refuse)
    assert nova.rows_state(world.url("cell"), world.cell_changes()) == "before"
    with pytest.raises(StoodStillError):
        nova.rename_agents(world.url("neutron"), [uid("agent", 1)], "compute1", "cn7", refuse)
    assert nova.agent_hosts(world.url("neutron"), [uid("agent", 1)]) == {uid("agent", 1): "compute1"}
    assert nova.apply_row_changes(world.url("cell"), world.cell_changes(), OLD, lambda: None).changed == 4


def test_a_lost_lock_is_noticed(world: World) -> None:
    with nova.advisory_lock(world.url("api"), "compute1") as lock:
        if world.server.backend == "mariadb":
            for number, _user in world.server.run(
                "SELECT id, user FROM information_schema.processlist WHERE command = 'Sleep'"
            ):
                world.server.run(f"KILL {number}")
        else:
            world.server.run("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
        assert not lock.still_held()
        with nova.advisory_lock(world.url("api"), "compute1") as another:
            assert another.still_held()
            assert not lock.still_held()


# --- agents ---------------------------------------------------------------------------------------------------


def heartbeat(world: World, agent: str) -> t.Any:
    return dict(world.rows("neutron", "agents", "heartbeat_timestamp"))[agent]  # type: ignore[arg-type]


def test_agents_get_a_new_name_and_a_fresh_heartbeat(world: World) -> None:
    agent, url = uid("agent", 1), world.url("neutron")
    old = heartbeat(world, agent)
    assert nova.rename_agents(url, [agent], "compute1", "cn7") == nova.WrittenRows(1, 0)
    assert nova.agent_hosts(url, [agent, "unknown"]) == {agent: "cn7"}
    fresh = heartbeat(world, agent)
    clock = "SELECT utc_timestamp()" if world.server.backend == "mariadb" else "SELECT now() AT TIME ZONE 'utc'"
    now = world.server.run(clock)[0][0]
    assert abs((fresh - now).total_seconds()) < 5
    assert fresh > old
    world.update("neutron", "agents", agent, heartbeat_timestamp=old)
    assert nova.rename_agents(url, [agent], "compute1", "cn7") == nova.WrittenRows(0, 1)
    assert heartbeat(world, agent) > old
    world.update("neutron", "agents", agent, heartbeat_timestamp=old)
    nova.beat_agents(url, [agent], "cn7")
    assert heartbeat(world, agent) > old
    assert heartbeat(world, uid("agent", 2)) == old


def test_agents_of_another_host_are_left_alone(world: World) -> None:
    before = world.rows("neutron", "agents", "host", "heartbeat_timestamp")
    url = world.url("neutron")
    with pytest.raises(Conflict, match="expected 'compute1'"):
        nova.rename_agents(url, [uid("agent", 1), uid("agent", 2)], "compute1", "cn7")
    with pytest.raises(Conflict, match="None"):
        nova.rename_agents(url, [uid("agent", 9)], "compute1", "cn7")
    with pytest.raises(Conflict, match=r"(?i)duplicate"):
        nova.rename_agents(url, [uid("agent", 1)], "compute1", "compute2")
    with pytest.raises(Conflict):
        nova.beat_agents(url, [uid("agent", 1), uid("agent", 2)], "compute1")
    assert world.rows("neutron", "agents", "host", "heartbeat_timestamp") == before
