# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs on real servers: what is certain and nothing else, guarded, journaled, taken back, gone on with."""

from __future__ import annotations

import json
import pathlib
import typing as t

import link_clouds
import pytest
import servers
from link_runs import Killed, State, repair_rows, request, resume_repair, run, show_repair, undo_repair, witness
from world import World, uid

from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import Refused
from ansible_collections.stackguard.nova.plugins.module_utils.hazards.link_rules import REPAIRABLE
from ansible_collections.stackguard.nova.plugins.module_utils.links import operation as repair_links
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import nova

IDS = ("host", "node", "compute_id")


@pytest.fixture
def state(tmp_path: pathlib.Path) -> State:
    """A directory for the journal."""
    return State(tmp_path / "state")


@pytest.fixture
def mixed(world: World) -> World:
    """One instance with a NULL, one with a dangling id, one that is right."""
    world.update("cell", "instances", 1, compute_id=None)
    world.update("cell", "instances", 2, compute_id=4711)
    world.update("cell", "instances", 3, compute_id=2)
    return world


def ids(world: World) -> list[t.Any]:
    return [row[-1] for row in world.rows("cell", "instances", *IDS)]


def counted(result: dict[str, t.Any]) -> dict[str, int]:
    return {name: number for name, number in result["counts"].items() if number}


def codes(result: dict[str, t.Any]) -> set[tuple[str, str]]:
    return {(item["code"], item["object"]["id"]) for item in result["report"]["findings"]}


def test_repaired_and_taken_back(mixed: World, state: State) -> None:
    before = mixed.rows("cell", "instances", *IDS)
    result = repair_rows(run(mixed.options(), state), request())
    assert (result["changed"], result["counts"]["changed"], result["state"]) == (True, 2, "finished")
    assert ids(mixed) == [1, 1, 2]
    assert codes(result) == set()
    assert result["report"]["counts"]["repaired"] == 2
    assert {row["outcome"] for row in result["repairs"]} == {"repaired"}
    again = repair_rows(run(mixed.options(), state), request())
    assert (again["changed"], again["state"]) == (False, "none")
    back = undo_repair(run(mixed.options(), state))
    assert (back["changed"], back["counts"]["changed"], back["state"]) == (True, 2, "rolled-back")
    assert mixed.rows("cell", "instances", *IDS) == before
    assert undo_repair(run(mixed.options(), state))["changed"] is False


def test_check_mode_shows_it_and_changes_nothing(mixed: World, tmp_path: pathlib.Path) -> None:
    before = mixed.rows("cell", "instances", *IDS)
    result = repair_rows(run(mixed.options(), State(tmp_path / "state", check_mode=True)), request())
    assert result["changed"] is True
    assert mixed.rows("cell", "instances", *IDS) == before
    assert not (tmp_path / "state").exists()
    assert codes(result) == {("SG211", uid("instance", 1)), ("SG212", uid("instance", 2))}
    text = str(result["diff"])
    assert "compute_id = NULL" in text
    assert "compute_id = 4711" in text
    assert (
        "certain: node 1 is the only existing node with host compute1 and hypervisor_hostname compute1.example" in text
    )


def test_only_the_codes_and_hosts_asked_for(mixed: World, state: State) -> None:
    repair_rows(run(mixed.options(), state), request("SG212"))
    assert ids(mixed) == [None, 1, 2]
    repair_rows(run(mixed.options(), state), request(hosts=["compute2"]))
    assert ids(mixed) == [None, 1, 2]
    with pytest.raises(repair_links.Refused, match="SG119"):
        repair_rows(run(mixed.options(), state), request(hosts=["compute7"]))
    with pytest.raises(StackguardError, match="the run cannot repair SG205"):
        repair_rows(run(mixed.options(), state), request("SG205"))


def test_more_rows_than_the_limit_are_refused(mixed: World, state: State) -> None:
    with pytest.raises(repair_links.Refused, match="SG715") as raised:
        repair_rows(run(mixed.options(), state), request(limit=1))
    assert ids(mixed) == [None, 4711, 2]
    assert len(raised.value.data["repairs"]) == 2
    assert repair_rows(run(mixed.options(), state), request(limit=2))["counts"]["changed"] == 2


def test_rows_not_looked_at_count_against_the_limit(
    mixed: World, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair_links.link_reads, "KEEP", 0)
    mixed.update("cell", "instances", 2, compute_id=None)
    with pytest.raises(repair_links.Refused, match="SG715"):
        repair_rows(run(mixed.options(), state), request(limit=0))


def test_a_row_that_changed_meanwhile_is_left_alone(mixed: World, state: State) -> None:
    # After everything was read, and before the first batch: when the journal is opened.
    state.between = ("journal_open", lambda: mixed.update("cell", "instances", 1, node="moved.example"))
    result = repair_rows(run(mixed.options(), state), request())
    assert counted(result) == {"changed": 1, "skipped": 1}
    assert ids(mixed) == [None, 1, 2]
    (told,) = [row for row in result["repairs"] if row["outcome"] != "repaired"]
    assert "node is 'moved.example', expected 'compute1.example'" in told["outcome"]


@pytest.mark.parametrize(
    ("meanwhile", "reason"),
    [
        (lambda world: world.update("cell", "instances", 1, task_state="resize_prep"), "task_state is 'resize_prep'"),
        (lambda world: world.update("cell", "instances", 1, host="COMPUTE1"), "host is 'COMPUTE1'"),
        (lambda world: world.update("cell", "instances", 1, deleted=1), "deleted the row after the run had read it"),
        (lambda world: world.update("cell", "compute_nodes", 1, deleted=1), "has changed"),
        (lambda world: world.update("cell", "compute_nodes", 1, host="cn7"), "has changed"),
        (
            lambda world: (
                world.migration(1, "compute1", "compute2", "migrating"),
                world.update("cell", "migrations", 1, instance_uuid=uid("instance", 1)),
            ),
            "the instance has an unfinished migration",
        ),
    ],
)
def test_whatever_happens_to_a_row_meanwhile(
    world: World, state: State, meanwhile: t.Callable[[World], None], reason: str
) -> None:
    world.update("cell", "instances", 1, compute_id=None)
    world.update("cell", "instances", 3, compute_id=2)
    state.between = ("journal_open", lambda: meanwhile(world))
    result = repair_rows(run(world.options(), state), request("SG211"))
    assert counted(result) == ({"gone": 1} if reason == "deleted the row after the run had read it" else {"skipped": 1})
    assert reason in result["repairs"][0]["outcome"]
    assert ids(world)[0] is None


def test_mended_by_nova_meanwhile(mixed: World, state: State) -> None:
    state.between = ("journal_open", lambda: mixed.update("cell", "instances", 1, compute_id=1))
    result = repair_rows(run(mixed.options(), state), request())
    assert counted(result) == {"changed": 1, "already": 1}
    undo_repair(run(mixed.options(), state))
    assert ids(mixed) == [1, 4711, 2], "what Nova wrote stays"


# --- killed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [pytest.param(1, marks=pytest.mark.matrix), 1000])
@pytest.mark.parametrize(
    "kill",
    [
        ("journal_open", "after"),
        ("batch_write", "before"),
        ("batch_write", "after"),
        ("batch_mark", "before"),
        ("batch_mark", "after"),
        ("journal_close", "before"),
    ],
)
@pytest.mark.parametrize("then", ["resume", "rollback"])
def test_killed_at_any_instant(mixed: World, state: State, kill: tuple[str, str], batch_size: int, then: str) -> None:
    before = mixed.rows("cell", "instances", *IDS)
    state.kill = kill
    with pytest.raises(Killed):
        repair_rows(run(mixed.options(), state), request(batch_size=batch_size))
    state.kill = None
    if then == "resume":
        shown = show_repair(run(mixed.options(), state))
        assert (shown["state"], shown["changed"]) == ("open", False)
        resume_repair(run(mixed.options(), state), request(batch_size=batch_size))
        assert ids(mixed) == [1, 1, 2]
        assert show_repair(run(mixed.options(), state))["state"] == "none"
    undo_repair(run(mixed.options(), state))
    assert mixed.rows("cell", "instances", *IDS) == before, "also what was written before the kill is taken back"
    assert nova.list_cells(mixed.options())  # the lock and the connections are gone with it


KILLS = [("batch_write", "after"), ("batch_mark", "before")]


@pytest.mark.parametrize("kill", KILLS, ids=["not committed", "committed"])
def test_killed_and_healed_by_nova_before_it_is_run_again(mixed: World, state: State, kill: tuple[str, str]) -> None:
    """Nova wrote the same values: who did is not known, so no rollback ever puts the old ones back, and it says so."""
    state.kill = kill
    with pytest.raises(Killed):
        repair_rows(run(mixed.options(), state), request())
    state.kill = None
    for number in (1, 2):
        mixed.update("cell", "instances", number, compute_id=1, updated_at="2026-11-21 06:01:00")
    shown = undo_repair(run(mixed.options(), State(state.directory, check_mode=True)))
    assert (counted(shown), shown["incomplete"]) == ({"unproven": 2}, True)
    resumed = repair_rows(run(mixed.options(), state), request())
    assert (counted(resumed), resumed["incomplete"], resumed["changed"]) == ({"unproven": 2}, False, False)
    assert "2 rows left unchanged, because the run cannot prove that this operation wrote the values" in resumed["msg"]
    back = undo_repair(run(mixed.options(), state))
    assert (counted(back), back["incomplete"]) == ({"unproven": 2}, True)
    for guest in (GUEST, uid("instance", 2)):
        assert guest in back["msg"]
    assert ids(mixed) == [1, 1, 2]


@pytest.mark.parametrize("kill", KILLS, ids=["not committed", "committed"])
def test_one_row_that_nova_did_not_write_tells_of_the_whole_batch(
    mixed: World, state: State, kill: tuple[str, str]
) -> None:
    state.kill = kill
    with pytest.raises(Killed):
        repair_rows(run(mixed.options(), state), request())
    state.kill = None
    mixed.update("cell", "instances", 1, compute_id=1, updated_at="2026-11-21 06:01:00")
    back = undo_repair(run(mixed.options(), state))
    assert back["incomplete"] is False
    # Committed: both are restored, also the one that Nova wrote the same value to. Not committed: Nova's stays.
    assert ids(mixed) == ([None, 4711, 2] if kill[0] == "batch_mark" else [1, 4711, 2])


@pytest.mark.parametrize("kill", [("journal_open", "after"), ("batch_mark", "before"), ("journal_close", "before")])
def test_a_killed_rollback_is_gone_on_with(mixed: World, state: State, kill: tuple[str, str]) -> None:
    before = mixed.rows("cell", "instances", *IDS)
    repair_rows(run(mixed.options(), state), request(batch_size=1))
    state.kill = kill
    with pytest.raises(Killed):
        undo_repair(run(mixed.options(), state))
    state.kill = None
    with pytest.raises(StackguardError, match=r"SG706.*rollback"):
        repair_rows(run(mixed.options(), state), request())
    assert show_repair(run(mixed.options(), state))["state"] == "rolling-back"
    assert resume_repair(run(mixed.options(), state), request())["state"] == "rolled-back"
    assert mixed.rows("cell", "instances", *IDS) == before


#: What journals have since version 0.2.0.
LATER = ("run", "plan", "steps", "collection_version")


@pytest.mark.parametrize("kill", [("batch_write", "after"), ("batch_mark", "after")])
def test_beside_what_version_0_1_began_nothing_is_done(mixed: World, state: State, kill: tuple[str, str]) -> None:
    """Its journal keeps neither a run nor a plan: only version 0.1 ends it, and no row is touched until then."""
    state.kill = kill
    with pytest.raises(Killed):
        repair_rows(run(mixed.options(), state), request(batch_size=1))
    state.kill = None
    (path,) = state.directory.glob("repair_links.json")
    early = {key: value for key, value in json.loads(path.read_text()).items() if key not in LATER}
    early["about"] = {key: value for key, value in early["about"].items() if key != "plan_sha256"}
    path.write_text(json.dumps(early))
    between = mixed.rows("cell", "instances", *IDS)
    for action in (repair_rows, resume_repair):
        with pytest.raises(Refused, match=r"SG706.*repair_links\.json.*version 0\.1"):
            action(run(mixed.options(), state), request())
    for action in (show_repair, undo_repair):
        with pytest.raises(Refused, match=r"SG706.*repair_links\.json.*version 0\.1"):
            action(run(mixed.options(), state))
    assert mixed.rows("cell", "instances", *IDS) == between
    assert json.loads(path.read_text()) == early


def test_an_open_repair_of_other_rows_is_not_gone_on_with(mixed: World, state: State) -> None:
    state.kill = ("batch_mark", "before")
    with pytest.raises(Killed):
        repair_rows(run(mixed.options(), state), request("SG211"))
    state.kill = None
    with pytest.raises(StackguardError, match=r"SG706.*SG211"):
        repair_rows(run(mixed.options(), state), request("SG212"))


def test_rollback_leaves_alone_what_changed_since(mixed: World, state: State) -> None:
    repair_rows(run(mixed.options(), state), request())
    mixed.update("cell", "instances", 1, host="compute2", node="compute2.example", compute_id=2)
    back = undo_repair(run(mixed.options(), state))
    assert counted(back) == {"changed": 1, "skipped": 1}
    assert ids(mixed) == [2, 4711, 2]
    assert back["incomplete"] is True
    assert (
        f"cell:cell1 instances id=1 (instance {GUEST}): skipped: the row changed after the run had read it"
        in back["msg"]
    )
    assert back["repairs"][0]["outcome"].startswith("skipped"), "what somebody has to look at comes first"


def test_a_second_rollback_says_what_the_first_one_left(mixed: World, state: State) -> None:
    """It ended as a success, whatever the first one had left."""
    first = repair_rows(run(mixed.options(), state), request())
    mixed.update("cell", "instances", 1, host="compute2", node="compute2.example", compute_id=2)
    undo_repair(run(mixed.options(), state))
    for wanted in (None, first["operation_id"]):
        again = undo_repair(run(mixed.options(), state), wanted)
        assert (again["changed"], again["incomplete"]) == (False, True)
        assert f"operation {first['operation_id']} did not restore 1 row" in again["msg"]


def test_a_second_rollback_takes_back_no_earlier_repair(mixed: World, state: State) -> None:
    """The same command twice took back two repairs."""
    first = repair_rows(run(mixed.options(), state), request("SG211"))
    second = repair_rows(run(mixed.options(), state), request("SG212"))
    undo_repair(run(mixed.options(), state))
    again = undo_repair(run(mixed.options(), state))
    assert (again["changed"], again["incomplete"], again["operation_id"]) == (False, False, second["operation_id"])
    assert "set repair_operation" in again["msg"]
    assert ids(mixed) == [1, 4711, 2]
    undo_repair(run(mixed.options(), state), first["operation_id"])
    assert ids(mixed) == [None, 4711, 2]


def test_what_was_deleted_since_leaves_nothing_to_restore(mixed: World, state: State) -> None:
    repair_rows(run(mixed.options(), state), request())
    mixed.update("cell", "instances", 1, deleted=1)
    back = undo_repair(run(mixed.options(), state))
    assert counted(back) == {"changed": 1, "gone": 1}
    assert back["incomplete"] is False


def test_a_named_operation_is_taken_back(mixed: World, state: State) -> None:
    first = repair_rows(run(mixed.options(), state), request("SG211"))
    repair_rows(run(mixed.options(), state), request("SG212"))
    undo_repair(run(mixed.options(), state), first["operation_id"])
    assert ids(mixed) == [None, 1, 2]
    with pytest.raises(StackguardError, match="no journal of operation nothing"):
        undo_repair(run(mixed.options(), state), "nothing")


def test_two_at_once(mixed: World, state: State) -> None:
    with nova.advisory_lock(mixed.url("api"), repair_links.LOCK), pytest.raises(StackguardError, match="SG707"):
        repair_rows(run(mixed.options(), state), request())
    assert ids(mixed) == [None, 4711, 2]


# --- what remains ---------------------------------------------------------------------------------------------


def test_a_repair_says_what_remains(mixed: World, state: State, tmp_path: pathlib.Path) -> None:
    mixed.update("cell", "instances", 3, compute_id=1)  # SG214: nothing proves which is right
    seen = repair_rows(run(mixed.options(), State(tmp_path / "other", check_mode=True)), request())
    assert "2 rows would be repaired; 1 wrong link would remain (SG214; links requested for repair: 1" in seen["msg"]
    done = repair_rows(run(mixed.options(), state), request())
    assert "2 rows repaired; 1 wrong link remains (SG214; links requested for repair: 1)" in done["msg"]
    assert (done["remaining"]["asked"], done["incomplete"]) == (1, True)
    again = repair_rows(run(mixed.options(), state), request())
    assert (again["changed"], again["incomplete"]) == (False, True)
    others = repair_rows(run(mixed.options(), state), request("SG211"))
    assert (others["remaining"]["asked"], others["remaining"]["other"], others["incomplete"]) == (0, 1, False)
    assert "1 wrong link remains (SG214; links requested for repair: 0)" in others["msg"]
    passed = [Override("SG214", uid("instance", 3), "known")]
    accepted = repair_rows(run(mixed.options(), state, overrides=passed), request())
    assert (accepted["remaining"]["accepted"], accepted["incomplete"]) == (1, False)


def test_a_cell_that_does_not_answer_is_not_repaired_in_green(mixed: World, state: State) -> None:
    options = {
        **mixed.options(),
        "nova_api_db_url": None,
        "nova_cell_db_urls": {"cell1": mixed.url("cell"), "cell2": mixed.server.url("no_such_database")},
    }
    result = repair_rows(run(options, state), request())
    assert result["changed"] is False, "duplicates in the other cell are not known"
    assert result["incomplete"] is True
    assert any("cell2" in text for text in result["remaining"]["not_looked_at"])


# --- only with proof ------------------------------------------------------------------------------------------


def here(*running: str, state: str = "running"):
    return witness("compute1", "compute1.example", uid("node", 1), running, state)


def there(*running: str):
    return witness("compute2", "compute2.example", uid("node", 2), running)


GUEST = uid("instance", 1)


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([], ("compute1", "compute1.example", 2)),
        ([here(GUEST)], ("compute1", "compute1.example", 2)),
        ([here(GUEST), there(GUEST)], ("compute1", "compute1.example", 2)),
        ([here(GUEST, state="shutoff"), there()], ("compute1", "compute1.example", 2)),
        ([here(), there()], ("compute1", "compute1.example", 2)),
        ([here(GUEST), there()], ("compute1", "compute1.example", 1)),
        ([here(), there(GUEST)], ("compute2", "compute2.example", 2)),
    ],
    ids=["no host read", "one host read", "on both", "not running", "on none", "names right", "id right"],
)
def test_an_id_that_contradicts_the_names(world: World, state: State, hosts: t.Any, expected: t.Any) -> None:
    world.update("cell", "instances", 1, compute_id=2)
    world.update("cell", "instances", 3, compute_id=2)
    result = repair_rows(run(world.options(), state, hosts), request())
    assert world.rows("cell", "instances", *IDS)[0][1:] == expected
    left = expected[0] == "compute1" and expected[2] == 2
    assert codes(result) == ({("SG214", GUEST)} if left else set())


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ([], 2),
        ([there()], 2),
        ([here()], 1),
        ([here(), witness("copy", "compute1.example", uid("node", 1))], 2),
        ([witness("compute2", "compute1.example", uid("node", 1))], 2),
        ([witness("compute1", "other.example", uid("node", 1))], 2),
        ([witness("compute1", "compute1.example", uid("node", 9))], 2),
    ],
    ids=[
        "no host read",
        "another read",
        "file found",
        "on two hosts",
        "of another name",
        "other libvirt",
        "other file",
    ],
)
def test_a_service_id_of_another_host(world: World, state: State, hosts: t.Any, expected: int) -> None:
    world.update("cell", "compute_nodes", 1, service_id=2)
    world.update("cell", "instances", 3, compute_id=2)
    repair_rows(run(world.options(), state, hosts), request("SG203"))
    assert world.rows("cell", "compute_nodes", "service_id")[0] == (1, expected)


def test_a_domain_that_runs_elsewhere_contradicts_the_names(mixed: World, state: State) -> None:
    repair_rows(run(mixed.options(), state, [here(), there(GUEST)]), request())
    assert ids(mixed) == [None, 1, 2]


def test_a_host_that_an_operation_holds_is_left_alone(mixed: World, state: State) -> None:
    mixed.update("cell", "services", 1, disabled_reason="stackguard:rename:abc")
    repair_rows(run(mixed.options(), state), request())
    assert ids(mixed) == [None, 4711, 2]


# --- rights, releases -----------------------------------------------------------------------------------------


def test_an_unknown_schema_is_never_written_to(mixed: World, state: State) -> None:
    mixed.server.run("UPDATE alembic_version SET version_num = 'ffffffffffff'", mixed.names["cell"])
    try:
        with pytest.raises(repair_links.Refused, match="SG705"):
            repair_rows(run(mixed.options(), state), request())
        passed = [Override("SG705", "cell:cell1", "the other cells")]
        result = repair_rows(run(mixed.options(), state, overrides=passed), request())
        assert result["changed"] is False
    finally:
        mixed.server.run("UPDATE alembic_version SET version_num = 'ab450ba04102'", mixed.names["cell"])
    assert ids(mixed) == [None, 4711, 2]


def test_a_user_who_may_only_read_is_told_what_is_missing(mixed: World, state: State) -> None:
    user = "linkreader"
    if mixed.server.backend == "postgresql":
        mixed.server.run(f"CREATE ROLE {user} LOGIN PASSWORD '{servers.PLAIN_PASSWORD}'")
        for kind in ("cell", "api"):
            mixed.server.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}", mixed.names[kind])
    else:
        mixed.server.run(f"CREATE USER '{user}'@'%' IDENTIFIED BY '{servers.PLAIN_PASSWORD}'")
        for kind in ("cell", "api"):
            mixed.server.run(f"GRANT SELECT ON {mixed.names[kind]}.* TO '{user}'@'%'")
    with pytest.raises(repair_links.Refused, match="SG311") as raised:
        repair_rows(run(mixed.options(user), state), request())
    assert "Grant UPDATE (host, node, compute_id) on instances" in raised.value.message
    assert servers.PLAIN_PASSWORD not in raised.value.message
    found = {item["code"] for item in raised.value.data["report"]["findings"]}
    assert {"SG211", "SG212", "SG311"} <= found, "the audit works all the same"
    # Nothing to be written: nothing is missing.
    mixed.update("cell", "instances", 1, compute_id=1)
    mixed.update("cell", "instances", 2, compute_id=1)
    assert repair_rows(run(mixed.options(user), state), request())["changed"] is False


def test_what_each_release_has_is_repaired(any_release: World, state: State) -> None:
    world = any_release
    if world.has_compute_id:
        world.update("cell", "instances", 3, compute_id=None)
    world.update("cell", "instances", 1, host=None, vm_state="shelved_offloaded")
    world.update("cell", "compute_nodes", 1, service_id=4711)
    hosts = [here(), there()]
    repair_rows(run(world.options(), state), request())
    assert world.rows("cell", "compute_nodes", "service_id")[0] == (1, 1)
    assert world.rows("cell", "instances", "node")[0] == (1, "compute1.example"), "the last trace of a domain"
    repair_rows(run(world.options(), state, hosts), request())
    assert world.rows("cell", "instances", "host", "node")[0] == (1, None, None)
    if world.has_compute_id:
        assert ids(world) == [None, 1, 2]


# --- whole clouds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clouds", [8, pytest.param(40, marks=pytest.mark.matrix)])
def test_corrupted_clouds_are_mended_where_it_is_certain(
    server: servers.Server, tmp_path: pathlib.Path, clouds: int
) -> None:
    """Nothing new is ever found after a repair, all that was called certain is gone, and a rollback is exact."""
    own = type(server)()
    try:
        own.start()
        cells = link_clouds.Cells(own)
        for seed in range(1000, 1000 + clouds):
            cloud = link_clouds.Cloud(seed)
            cells.fill(cloud)
            before = cells.rows()
            state = State(tmp_path / str(seed))
            rehearsed = repair_rows(
                run(cells.options(), State(tmp_path / str(seed), check_mode=True)), request(batch_size=3)
            )
            assert cells.rows() == before
            result = repair_rows(run(cells.options(), state), request(batch_size=3))
            assert result["counts"]["changed"] == rehearsed["counts"]["changed"]
            mended = {(row["code"], row["object"]["id"]) for row in result["repairs"]}
            assert codes(result) <= cloud.expected - mended, f"seed {seed}"
            certain = [item for item in result["report"]["findings"] if "certain" in item["evidence"]]
            assert certain == [], f"seed {seed}"
            assert {code for code, _key in mended} <= set(REPAIRABLE)
            again = repair_rows(run(cells.options(), state), request())
            assert again["changed"] is False
            undo_repair(run(cells.options(), state))
            assert cells.rows() == before, f"seed {seed}"
    finally:
        own.stop()
