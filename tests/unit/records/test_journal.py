# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The journal: whatever call a run dies in, a reader sees the whole old journal or the whole new one."""

from __future__ import annotations

import contextlib
import json
import os
import stat

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine.approval import SHA256
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation import record as evacuation
from ansible_collections.stackguard.nova.plugins.module_utils.links import plan as links
from ansible_collections.stackguard.nova.plugins.module_utils.links.arrived import plan as arrival
from ansible_collections.stackguard.nova.plugins.module_utils.maintain import plan as maintain
from ansible_collections.stackguard.nova.plugins.module_utils.moves import plan as moves
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal_read
from ansible_collections.stackguard.nova.plugins.module_utils.records.journal import JournalError
from ansible_collections.stackguard.nova.plugins.module_utils.remove import plan as remove
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.plugins.module_utils.return_host import plan as returns
from ansible_collections.stackguard.nova.plugins.module_utils.zones.resize import plan as resize
from ansible_collections.stackguard.nova.plugins.module_utils.zones.unshelve import plan as unshelve
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

#: Everything of C(os) that writing may call.
CALLS = ("open", "fdopen", "fsync", "replace", "close", "unlink", "makedirs", "chmod")


class Killed(BaseException):
    """The process is gone: nothing that catches errors may catch it."""


def new(state=journals.OPEN, kind="rename", operation="op1", **more):
    return {"schema": 1, "kind": kind, "operation_id": operation, "state": state, "steps": {}, "history": [], **more}


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "stackguard")


class Fuse:
    """Lets the n-th call of C(os) kill the process, before or after it did its work."""

    def __init__(self, monkeypatch, at, after):
        self.count, self.at, self.after = 0, at, after
        self.locks = []
        for name in CALLS:
            monkeypatch.setattr(os, name, self.wrap(getattr(os, name)))

    def wrap(self, real):
        def call(*args, **kwargs):
            self.count += 1
            mine = self.count == self.at
            if mine and not self.after:
                raise Killed
            result = real(*args, **kwargs)
            if str(args[0]).endswith((".lock", ".run")):
                self.locks.append(result)
            if mine:
                raise Killed
            return result

        return call

    def bury(self):
        """What the kernel does for a dead process: its locks go with its descriptors."""
        for descriptor in self.locks:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def killed_at(act, at, after):
    """Run ``act`` and kill it in its n-th call; whether it lived."""
    with pytest.MonkeyPatch.context() as patch:
        fuse = Fuse(patch, at, after)
        try:
            act()
        except Killed:
            patch.undo()
            fuse.bury()
            return False
        return True


def every_kill(act, prepare, judge):
    """Kill ``act`` in each of its calls, before and after, until it lives; judge what is left each time."""
    for after in (False, True):
        for at in range(1, 100):
            directory = prepare(f"{after}-{at}")
            lived = killed_at(lambda place=directory: act(place), at, after)
            judge(directory, lived)
            if lived:
                assert at > 3
                break
        else:
            raise AssertionError("it never lived")


@pytest.fixture
def fresh(tmp_path):
    def make(name, journal=None):
        directory = str(tmp_path / name)
        if journal is not None:
            journals.open_new(directory, journal)
        return directory

    return make


def test_a_torn_write_leaves_the_old_or_the_new(fresh):
    old, fresh_one = new(text="old" * 5000), new(text="new" * 9000)

    def judge(directory, lived):
        seen = journals.read(directory, "rename")
        assert seen in (old, fresh_one)
        assert not lived or seen == fresh_one
        # And writing goes on as if nothing had been.
        journals.write(directory, fresh_one)
        assert journals.read(directory, "rename") == fresh_one

    every_kill(lambda place: journals.write(place, fresh_one), lambda name: fresh(name, old), judge)


def test_an_opening_that_dies_can_be_done_again_unless_it_was_done(fresh):
    def judge(directory, lived):
        seen = journals.read(directory, "rename")
        assert seen in (None, new())
        assert not lived or seen == new()
        if seen is None:
            journals.open_new(directory, new(operation="op2"))
            assert journals.read(directory, "rename") == new(operation="op2")
        else:
            with pytest.raises(JournalError, check=problem_is("operation-already-open")):
                journals.open_new(directory, new(operation="op2"))

    every_kill(lambda place: journals.open_new(place, new()), fresh, judge)


def test_a_close_that_dies_is_open_or_closed_and_can_be_ended(fresh):
    done = new(journals.FINISHED)

    def judge(directory, _lived):
        seen = journals.read(directory, "rename")
        closed = os.path.join(directory, "closed", "rename-op1.json")
        assert (seen is None) == os.path.exists(closed)
        if seen is not None:
            assert seen in (new(), done)
            journals.close(directory, done)
        # Either way the next operation can begin.
        journals.open_new(directory, new(operation="op2"))
        assert journals.read(directory, "rename")["operation_id"] == "op2"

    every_kill(lambda place: journals.close(place, done), lambda name: fresh(name, new()), judge)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_refuses_is_told_and_the_old_journal_stays(directory, monkeypatch, call):
    journals.open_new(directory, new())

    def refuse(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(JournalError, match="No space left on device"):
        journals.write(directory, new(text="more"))
    monkeypatch.undo()
    assert journals.read(directory, "rename") == new()


def test_only_root_reads_it(directory):
    journals.open_new(directory, new())
    assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(journals.path_of(directory, "rename")).st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 2}', '"text"', "\x00" * 40])
def test_a_broken_journal_is_never_taken_for_none(directory, content):
    os.makedirs(directory)
    with open(journals.path_of(directory, "rename"), "w", encoding="utf-8") as stream:
        stream.write(content)
    with pytest.raises(JournalError):
        journals.read(directory, "rename")
    with pytest.raises(JournalError):
        journals.list_open(directory)
    with pytest.raises(JournalError):
        journals.open_new(directory, new())


def test_no_directory_is_no_journal(directory):
    assert journals.read(directory, "rename") is None
    assert journals.list_open(directory) == []


def test_kinds_do_not_disturb_one_another(directory):
    both = [understood(), understood(kind="repair_links")]
    for journal in both:
        journals.open_new(directory, journal)
    assert journals.list_open(directory) == both


# --- journals that are not understood -------------------------------------------------------------------------


def understood(name="rename", **more):
    """A journal as an operation of version 0.2.0 opens it."""
    about, run = {"plan_sha256": None, "host": "compute1"}, {"controller": "c", "pid": 1, "token": "t"}
    return {**new(kind=name), "about": about, "plan": {"steps": []}, "run": run, **more}


def test_the_kinds_that_are_understood_are_those_of_the_operations():
    """A record is read on compute hosts, where no operation is."""
    assert set(journal_read.KINDS) == {maintain.KIND, moves.KIND, remove.KIND, rename.KIND, links.KIND}
    kinds = (
        maintain.kind_of_enabling,
        arrival.kind_of,
        evacuation.kind_of,
        returns.kind_of,
        resize.kind_of,
        unshelve.kind_of,
    )
    of_one = {kind_of("a") for kind_of in kinds}
    assert {f"{kind}a" for kind in journal_read.KINDS_OF_ONE} == of_one
    assert set(journal_read.STATES) == {journals.OPEN, journals.ROLLING_BACK, *journals.FINAL}
    assert journal_read.PLAN == SHA256


def test_no_key_of_a_journal_may_be_lacking(directory):
    whole = understood()
    assert journals.problem(whole, "rename") is None
    for key in ("kind", "operation_id", "state", "about", "plan", "steps", "run", "history"):
        assert journals.problem({name: part for name, part in whole.items() if name != key}, "rename"), key
        assert journals.problem({**whole, key: 7}, "rename"), key
    assert journals.problem({**whole, "about": {"host": "compute1"}}, "rename")
    assert journals.problem({**whole, "run": {"controller": "c"}}, "rename"), "who has it cannot be asked"
    assert journals.problem(understood("migrate", run={"controller": "c"}), "migrate") is None
    assert journals.problem(understood("links"), "links"), "an unknown kind"


KINDS = ["rename", "migrate", "repair_links", "resize-a", "evacuate-compute1", "return-compute1"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("change", "finisher"),
    [
        ({"about": {"host": "compute1"}}, journal_read.OF_0_1),
        ({"schema": 2}, journal_read.NEWER),
        ({"schema": 2, "collection_version": "0.9.0"}, "version 0.9.0 of the collection"),
        ({"schema": "1"}, journal_read.WRITER),
        ({"state": "paused"}, journal_read.WRITER),
        ({"state": "paused", "collection_version": "0.9.0"}, "version 0.9.0 of the collection"),
        ({"kind": "another"}, journal_read.WRITER),
    ],
)
def test_what_could_be_read_of_one_is_told_with_the_version_that_finishes_it(directory, kind, change, finisher):
    journals.write(directory_of(directory), understood("migrate" if kind != "migrate" else "rename"))
    written = understood(kind, **change)
    path = os.path.join(directory, f"{kind}.json")
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(written, stream)
    found, (unknown,) = journals.survey(directory)
    assert len(found) == 1, "another operation is seen all the same"
    assert (unknown.path, unknown.finish_with, unknown.operation_id) == (path, finisher, "op1")
    assert (unknown.kind, unknown.host) == (written["kind"], "compute1")
    assert (unknown.schema, unknown.version) == (str(written["schema"]), change.get("collection_version"))
    with pytest.raises(journals.UnknownJournalError, match=r"^SG706 ") as refused:
        journals.list_open(directory)
    assert path in str(refused.value)
    assert finisher in str(refused.value)


@pytest.mark.parametrize("content", ["", "{", "[]", "7", "null", '{"schema": 1, "ki', "\udcff", "[" * 100000])
def test_a_file_of_which_nothing_can_be_read_is_one_too(directory, content):
    os.makedirs(directory)
    for name, finisher in (("rename", journal_read.WRITER), ("evacuate", journal_read.OF_0_1)):
        path = os.path.join(directory, f"{name}.json")
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(content)
        found, (unknown,) = journals.survey(directory)
        assert (found, unknown.path, unknown.kind, unknown.operation_id) == ([], path, name, None)
        assert unknown.finish_with == finisher
        with pytest.raises(journals.UnknownJournalError):
            journals.read(directory, name)
        os.unlink(path)
    os.mkdir(os.path.join(directory, "rename.json"))
    assert journals.survey(directory)[1][0].path.endswith("rename.json")


def test_beside_one_its_kind_is_neither_opened_nor_marked_nor_closed(directory):
    os.makedirs(directory)
    with open(os.path.join(directory, "rename.json"), "w", encoding="utf-8") as stream:
        stream.write('{"schema": 2, "kind": "rename", "operation_id": "op1"}')
    for act in (
        lambda: journals.open_new(directory, new()),
        lambda: journals.put(directory, new()),
        lambda: journals.mark(directory, "rename", "op1", {"at": "t"}),
        lambda: journals.close(directory, new(journals.FINISHED)),
        lambda: journals.release(directory, "rename", "op1", "t", "now"),
    ):
        with pytest.raises(JournalError):
            act()
    assert journals.survey(directory)[1][0].schema == "2"


def directory_of(directory):
    os.makedirs(directory, exist_ok=True)
    return directory


def test_marks_are_of_the_open_operation_alone(directory):
    journals.open_new(directory, new())
    journals.mark(directory, "rename", "op1", {"at": "t1", "step": "stop", "step_state": journals.APPLYING})
    seen = journals.read(directory, "rename")
    assert seen["steps"] == {"stop": "applying"}
    assert seen["history"] == [{"at": "t1", "step": "stop", "step_state": "applying"}]
    with pytest.raises(JournalError, check=problem_is("operation-not-open")):
        journals.mark(directory, "rename", "op2", {"at": "t2"})
    with pytest.raises(JournalError, check=problem_is("operation-not-open")):
        journals.mark(directory, "links", "op1", {"at": "t2"})


@pytest.mark.parametrize("state", [journals.OPEN, journals.ROLLING_BACK])
def test_what_is_not_final_is_not_closed(directory, state):
    journals.open_new(directory, new())
    with pytest.raises(JournalError, check=problem_is("operation-cannot-close")):
        journals.close(directory, new(state))
    assert journals.read(directory, "rename") == new()


def test_noting_changes_nothing_that_was_given():
    journal = new()
    noted = journals.noted(journal, {"at": "t", "state": journals.FINISHED, "text": None})
    assert journal == new()
    assert (noted["state"], noted["history"]) == ("finished", [{"at": "t", "state": "finished"}])
