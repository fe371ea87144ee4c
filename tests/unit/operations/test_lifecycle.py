# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Journals of operations: one for each dead host, one run that writes it, and what other operations have in transit."""

from __future__ import annotations

import dataclasses
import json
import threading

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import lifecycle, runner
from ansible_collections.stackguard.nova.plugins.module_utils.engine.approval import SHA256
from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import OpenJournal, Refused
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import CONTROLLER, Plan, Step
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal_read
from ansible_collections.stackguard.nova.plugins.module_utils.records.installed import collection_version
from ansible_collections.stackguard.nova.plugins.plugin_utils.journal_host import LocalState
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

AT = "2026-11-21T06:00:00+00:00"


def plan(operation="0123456789ab", host="compute1"):
    steps = [Step("fence", "fence it", CONTROLLER, "fence", {}), Step("guard", "guard it", CONTROLLER, "guard", {})]
    return Plan(f"evacuate-{host}", operation, host, steps, [])


@pytest.fixture
def run_of(tmp_path):
    def make(pid, controller="c", take_over=True, cloud_id=None):
        clock = lifecycle.Clock(lambda: AT, lambda: 0.0, lambda: 0.0, lambda _seconds: None)
        mine = {"controller": controller, "pid": pid, "pid_start": "0"}
        state = LocalState(str(tmp_path / "state"), False)
        options = {"take_over": take_over}
        given = (state, clock, lambda _said: None, mine, options, (), False, "evacuate_", lambda: cloud_id, False)
        return lifecycle.Run(*given)

    return make


def opened(run, **given):
    return OpenJournal.open(run, plan(**given), {"host": given.get("host", "compute1"), "servers": [], SHA256: None})


def only(run):
    (journal,) = lifecycle.open_journals(run)
    return journal


def test_an_operation_is_opened_noted_and_closed(run_of):
    run = run_of(10**8)
    open_journal = opened(run)
    open_journal.mark("fence", journals.APPLYING)
    open_journal.mark("fence", journals.DONE, "power state Off and Off")
    open_journal.remember(arrived=["a"])
    open_journal.tell(fence="power")
    stored = only(run)
    assert (stored["steps"]["fence"], stored["memory"], stored["about"]["fence"]) == (
        "done",
        {"arrived": ["a"]},
        "power",
    )
    assert (open_journal.state_of("fence"), open_journal.state_of("guard"), open_journal.memory) == (
        "done",
        "pending",
        {"arrived": ["a"]},
    )
    open_journal.close(journals.FINISHED, "ended")
    assert lifecycle.open_journals(run) == []
    (closed,) = lifecycle.closed_journals(run, "evacuate")
    assert (closed["state"], closed["operation_id"]) == ("finished", "0123456789ab")


def test_a_run_whose_operation_another_has_taken_up_can_not_write(run_of):
    first = opened(run_of(10**8))
    second = OpenJournal.take_up(run_of(10**8 + 1), dict(first.journal), "resumed")
    second.note("its own")
    before = only(second.run)
    for write in (
        lambda: first.note("too late"),
        lambda: first.mark("fence", journals.DONE),
        lambda: first.remember(sent=["a"]),
        lambda: first.close(journals.FINISHED, "ended"),
    ):
        with pytest.raises(StackguardError, match=r"0123456789ab", check=problem_is("journal-unreadable")):
            write()
    assert only(second.run) == before


def test_of_two_runs_that_take_up_the_same_operation_one_has_it(run_of):
    first = opened(run_of(10**8))
    journal = dict(first.journal)
    OpenJournal.take_up(run_of(10**8 + 1), dict(journal), "resumed")
    with pytest.raises(StackguardError, match=r"0123456789ab", check=problem_is("journal-unreadable")):
        OpenJournal.take_up(run_of(10**8 + 2), dict(journal), "resumed")


def test_a_run_that_ended_its_operation_is_not_written_to_by_an_older_one(run_of):
    first = opened(run_of(10**8))
    second = OpenJournal.take_up(run_of(10**8 + 1), dict(first.journal), "resumed")
    second.close(journals.FINISHED, "ended")
    with pytest.raises(StackguardError, check=problem_is("journal-unreadable")):
        first.note("too late")
    assert lifecycle.open_journals(first.run) == []


def test_a_run_of_another_controller_is_taken_over_only_where_the_operator_says_so(run_of):
    first = opened(run_of(10**8))
    with pytest.raises(StackguardError, match=r"SG707.*stackguard_take_over=true"):
        OpenJournal.take_up(run_of(1, controller="another", take_over=False), dict(first.journal), "resumed")
    assert OpenJournal.take_up(run_of(1, controller="another"), dict(first.journal), "resumed").operation_id


def test_a_second_opening_for_the_same_host_is_refused(run_of):
    opened(run_of(10**8))
    with pytest.raises(StackguardError, check=problem_is("journal-unreadable")):
        opened(run_of(10**8 + 1), operation="another")
    assert only(run_of(1))["operation_id"] == "0123456789ab"


def test_two_dead_hosts_are_evacuated_at_the_same_time(run_of):
    """D10: the second dead host of the rack could not be begun."""
    opened(run_of(10**8))
    opened(run_of(10**8 + 1), operation="another", host="compute2")
    assert {entry["kind"] for entry in lifecycle.open_journals(run_of(1))} == {"evacuate-compute1", "evacuate-compute2"}


def test_of_two_openings_at_once_one_is_refused(run_of):
    for turn in range(20):
        ended, barrier = [], threading.Barrier(4)

        def begin(number, turn=turn, ended=ended, barrier=barrier):
            run = run_of(10**8 + number)
            barrier.wait()
            try:
                ended.append(opened(run, operation=f"operation{number}", host=f"host{turn}").operation_id)
            except StackguardError:
                ended.append(None)

        threads = [threading.Thread(target=begin, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (winner,) = [entry for entry in ended if entry]
        stored = [entry for entry in lifecycle.open_journals(run_of(1)) if entry["kind"] == f"evacuate-host{turn}"]
        assert [entry["operation_id"] for entry in stored] == [winner]


def old_journal(directory, name="evacuate", operation="0123456789ab", **more):
    """A journal as version 0.1 wrote it."""
    run = {"controller": "c", "pid": 1, "pid_start": "long ago"}
    made = {**runner.new_journal(Plan(name, operation, "compute9", [], []), {"host": "compute9"}, AT), "run": run}
    directory.mkdir(exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps({**made, **more}))


def test_a_journal_says_which_version_wrote_it_last(run_of):
    open_journal = opened(run_of(10**8))
    assert only(open_journal.run)[journals.VERSION] == collection_version()
    journals.write(str(open_journal.run.state._runner.state_dir), {**only(open_journal.run), journals.VERSION: "0.0.1"})
    taken = OpenJournal.take_up(run_of(10**8 + 1), only(open_journal.run), "resumed")
    assert only(taken.run)[journals.VERSION] == collection_version()


def test_a_journal_of_version_0_2_0_is_taken_up(run_of):
    """It does not say which version wrote it, nor the cloud."""
    first = opened(run_of(10**8))
    early = {key: value for key, value in first.journal.items() if key not in (journals.VERSION, lifecycle.CLOUD_ID)}
    first.close(journals.FINISHED, "ended")
    first.run.state.call([{"op": "journal_open", "journal": early}])
    second = OpenJournal.take_up(run_of(10**8 + 1), only(first.run), "resumed")
    second.close(journals.FINISHED, "ended")


@pytest.mark.parametrize(
    ("kind", "content", "finisher"),
    [
        ("evacuate", None, "version 0.1 "),
        ("evacuate-compute1", None, "version 0.1 "),
        ("rename", None, "version 0.1 "),
        ("repair_links", None, "version 0.1 "),
        ("zone-pins", None, "version 0.2.0 "),
        ("evacuate-compute1", "{", journal_read.WRITER),
        ("resize-a", '{"schema": 2}', journal_read.NEWER),
        ("remove-compute1", '{"schema": 1, "collection_version": "9.9.9"}', "version 9.9.9 "),
    ],
)
def test_beside_a_journal_that_is_not_understood_nothing_is_open_or_begun(run_of, tmp_path, kind, content, finisher):
    run, path = run_of(10**8), tmp_path / "state" / f"{kind}.json"
    old_journal(tmp_path / "state", kind)
    if content is not None:
        path.write_text(content)
    before = path.read_text()
    for look in (lambda: lifecycle.open_journals(run), lambda: lifecycle.read_open_journal(run, "evacuate-compute1")):
        with pytest.raises(Refused) as refused:
            look()
        assert str(path) in refused.value.message
        assert finisher in refused.value.message
        report = refused.value.data["report"]
        (item,) = report["findings"]
        assert (report["verdict"], item["code"], item["evidence"]["journal"]) == ("block", "SG706", str(path))
        assert item["evidence"]["kind"] == kind
    assert path.read_text() == before


def test_what_has_begun_is_not_ended_by_a_journal_that_another_version_writes(run_of, tmp_path):
    open_journal = opened(run_of(10**8))
    old_journal(tmp_path / "state")
    open_journal.mark("fence", journals.DONE)
    open_journal.read_again()
    open_journal.close(journals.FINISHED, "ended")


def test_what_version_0_1_has_ended_is_not_opened_again(run_of, tmp_path):
    closed = tmp_path / "state" / "closed"
    closed.mkdir(parents=True)
    old_journal(closed, "repair_links-0123456789ab", kind="repair_links", state=journals.FINISHED)
    run = run_of(10**8)
    (journal,) = lifecycle.closed_journals(run, "repair_links")
    with pytest.raises(Refused, match=r"SG706 .*version 0\.1 "):
        OpenJournal.reopen(run, journal, journals.ROLLING_BACK, "rollback started")
    assert lifecycle.open_journals(run) == []


def test_what_has_ended_can_be_opened_again_to_be_taken_back(run_of):
    first = opened(run_of(10**8))
    first.close(journals.FINISHED, "ended")
    (closed,) = lifecycle.closed_journals(first.run, "evacuate")
    again = OpenJournal.reopen(run_of(10**8 + 1), closed, journals.ROLLING_BACK, "rollback started")
    assert (only(again.run)["state"], only(again.run)["run"]["pid"]) == ("rolling-back", 10**8 + 1)
    with pytest.raises(StackguardError, check=problem_is("journal-unreadable")):
        OpenJournal.reopen(run_of(10**8 + 2), closed, journals.ROLLING_BACK, "rollback started")


def test_what_steps_have_noted_is_read_again_and_kept(run_of):
    open_journal = opened(run_of(10**8))
    open_journal.keep("guard", journals.APPLYING, {"seen": 1})
    assert open_journal.memory == {}
    open_journal.read_again()
    assert (open_journal.memory, open_journal.state_of("guard")) == ({"guard": {"seen": 1}}, "applying")


def test_files_beside_the_journal_are_written_by_the_run_that_has_the_operation(run_of):
    first = opened(run_of(10**8))
    batch = {"op": "batch_write", "kind": "rows", "operation_id": first.operation_id, "number": 1, "rows": ["a"]}
    first.call([batch])
    second = OpenJournal.take_up(run_of(10**8 + 1), dict(first.journal), "resumed")
    for write in (
        lambda: first.call([{**batch, "rows": ["b"]}]),
        lambda: first.keep("guard", journals.DONE, {}),
        first.read_again,
    ):
        with pytest.raises(StackguardError, match=r"SG707 .* has taken over operation"):
            write()
    assert second.call([{**batch, "op": "batch_read"}])[0]["rows"] == ["a"]
    second.close(journals.FINISHED, "ended")
    with pytest.raises(StackguardError, match="no longer open"):
        second.read_again()


# --- what others have in transit ------------------------------------------------------------------------------


def trip(uuid, target="compute3"):
    return {"uuid": uuid, "name": uuid, "target": target, "size_mib": 1024}


def test_a_server_that_another_operation_has_sent_and_was_not_counted_is_returned_and_nothing_is_written(run_of):
    other = opened(run_of(10**8), operation="another", host="compute2")
    mine = opened(run_of(10**8 + 1))
    other.remember(in_transit=[trip("a")])
    before = [entry for entry in lifecycle.open_journals(mine.run) if entry["operation_id"] == mine.operation_id]
    mine.remember(write=False, intended=[trip("b")])
    (uncounted,) = mine.write(counted=[])
    assert (uncounted["uuid"], uncounted["target"]) == ("a", "compute3")
    after = [entry for entry in lifecycle.open_journals(mine.run) if entry["operation_id"] == mine.operation_id]
    assert after == before
    # To another host is not the same server in transit.
    assert mine.write(counted=["a compute4"])
    assert mine.write(counted=["a compute3"]) == []
    (after,) = [entry for entry in lifecycle.open_journals(mine.run) if entry["operation_id"] == mine.operation_id]
    assert after["memory"]["intended"] == [trip("b")]


def test_a_server_that_another_operation_is_about_to_send_counts(run_of):
    other = opened(run_of(10**8), operation="another", host="compute2")
    mine = opened(run_of(10**8 + 1))
    other.remember(intended=[trip("a")])
    assert [entry["uuid"] for entry in mine.write(counted=[])] == ["a"]


def test_own_servers_in_transit_are_no_others(run_of):
    mine = opened(run_of(10**8))
    mine.remember(in_transit=[trip("a")], intended=[trip("b")])
    assert mine.write(counted=[]) == []


def test_beside_a_journal_that_is_not_understood_nothing_is_counted_and_nothing_written(run_of, tmp_path):
    """Its operation may have servers in transit, too."""
    mine = opened(run_of(10**8))
    before = only(mine.run)
    old_journal(tmp_path / "state", memory={"riding": [trip("a")]})
    with pytest.raises(StackguardError, match=r"SG706 .*evacuate\.json"):
        mine.write(counted=[])
    (tmp_path / "state" / "evacuate.json").unlink()
    assert only(mine.run) == before


# --- status and report ----------------------------------------------------------------------------------------


def test_status_names_the_operation_its_run_and_each_step(run_of):
    open_journal = opened(run_of(10**8))
    open_journal.mark("fence", journals.DONE)
    told = lifecycle.status_text(only(open_journal.run), ["fence: power"])
    assert "operation 0123456789ab (evacuate-compute1 compute1) is open" in told
    assert "on c" in told
    assert "1. done      fence it" in told
    assert told.endswith("fence: power")


def test_a_run_that_decided_nothing_is_no_pass():
    report = lifecycle.undecided("compute1", "no cloud", AT)
    assert (report["verdict"], report["findings"]) == ("block", [])
    assert [(entry["code"], entry["reason"]) for entry in report["unchecked"]] == [
        ("SG709", "nothing was decided: no cloud")
    ]


# --- two clouds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "mine", "same"),
    [
        ("nova1 in RegionOne", "nova1 in RegionOne", True),
        ("nova1 in RegionOne", "nova1 in RegionTwo", False),
        ("nova1 in RegionOne", "nova2 in RegionOne", False),
        # A cell came or went since.
        ("cell-a,cell-b", "cell-b,cell-c", True),
        ("cell-a", "cell-b", False),
        # A journal of an earlier version; and a run that can not tell where it is.
        (None, "nova1 in RegionOne", True),
        ("nova1 in RegionOne", None, False),
        (None, None, True),
    ],
)
def test_an_operation_of_another_cloud_is_neither_read_nor_taken_up(run_of, theirs, mine, same):
    """Two clouds have a compute1, and one controller keeps the journals of both in the same directory."""
    open_journal = opened(run_of(10**8, cloud_id=theirs))
    kind, later = str(open_journal.journal["kind"]), run_of(10**8 + 1, cloud_id=mine)
    if same:
        assert lifecycle.read_open_journal(later, kind) is not None
        OpenJournal.take_up(later, dict(open_journal.journal), "resumed").close(journals.FINISHED, "ended")
        assert len(lifecycle.closed_journals(later, "evacuate")) == 1
        return
    for ask in (
        lambda: lifecycle.read_open_journal(later, kind),
        lambda: OpenJournal.take_up(later, dict(open_journal.journal), "resumed"),
    ):
        with pytest.raises(Refused, check=problem_is("operation-open")) as refused:
            ask()
        assert str(theirs) in refused.value.message
        assert "stackguard_state_dir" in refused.value.message
    assert only(later) == open_journal.journal
    open_journal.close(journals.FINISHED, "ended")
    assert lifecycle.closed_journals(later, "evacuate") == []


def test_status_shows_an_operation_of_another_cloud(run_of):
    open_journal = opened(run_of(10**8, cloud_id="one"))
    later = run_of(10**8 + 1, cloud_id="two")
    shown = dataclasses.replace(later, options={"action": lifecycle.STATUS})
    assert lifecycle.read_open_journal(shown, str(open_journal.journal["kind"])) == open_journal.journal
