# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every operation with an ``<prefix>_action`` lives by the same rules: asked, resumed, met by a second run, taken back.

Each operation is its real code; the systems around it are the fakes of its own tests. A :class:`Life` says how it is
begun and cut off, and what of the world it could change.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import types

import pytest
import yaml

from ansible_collections.stackguard.nova.plugins.module_utils.engine import run_owner
from ansible_collections.stackguard.nova.plugins.module_utils.links import operation as repair_links
from ansible_collections.stackguard.nova.plugins.module_utils.links.plan import LinkRequest
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.records import batches, journal_read
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.tests.unit import journaled, linked, operations
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import Life as Evacuating
from ansible_collections.stackguard.nova.tests.unit.life import DEAD, OTHER, Killed, Life
from ansible_collections.stackguard.nova.tests.unit.operations import test_rename as rename_reports
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Rename(Life):
    """A step on the host is done; the run that did it let go."""

    def begin_world(self, tmp_path, monkeypatch):
        self.directory = str(tmp_path)
        self.made = rename_reports.resuming.__wrapped__(tmp_path, monkeypatch)
        host = fleet().cloud.bundle.hosts["compute1"]
        self.made.run.systems.host.facts = lambda _arguments: host
        # Neither name is the host's: whether one is well already is told in tests/unit/modules.
        self.made._args.update(rename_from="compute8", evidence_dir=str(tmp_path / "evidence"))

    def cut(self):
        run = {"token": "old", "operator": "ann", "controller": "c", "ended": "t"}
        rename_reports.left_open(self.directory, run)
        (journal,) = self.open
        journals.write(self.directory, {**journal, "about": {**journal["about"], "rename_from": "compute8"}})

    def act(self, action):
        self.made._args["action"] = action
        return self.made.carry_out()

    def let_the_owner_live(self):
        self.owner({**run_owner.this_run(), **run_owner.place(), "token": "old", "operator": "ann"})

    def world(self):
        return None


class Evacuate(Life):
    """Its fence is made and its guards are set."""

    back = "abort"

    def begin_world(self, tmp_path, monkeypatch):
        self.life = Evacuating(tmp_path, monkeypatch)

    def cut(self):
        self.life.run(dies_at=4)

    def act(self, action):
        return self.life.run(action=action, take_over=False)

    def let_the_owner_live(self):
        self.owner({**run_owner.this_run(), "controller": "c"})

    def world(self):
        life = self.life
        # Held once more, it is held.
        return [
            sorted(set(life.done)),
            life.guards,
            life.blocklist,
            repr(life.service),
            life.nova.servers,
            life.nova.asked,
        ]


class Links(Life):
    """A batch is written down and committed, and not marked. A lock in the database keeps a second run out."""

    def begin_world(self, tmp_path, monkeypatch):
        self.found = linked.healthy().wrong("SG211")
        self.repaired, self.locked, self.kills = False, False, False
        patch = monkeypatch.setattr
        patch(repair_links.nova, "advisory_lock", self.lock)
        patch(repair_links.nova, "url_of", lambda _options, name: name)
        patch(repair_links.nova, "probe_grants", lambda *_given: [])
        patch(repair_links.link_reads, "read_links", lambda *_given, **_more: self.read())
        patch(repair_links.link_rows, "is_cluster", lambda _url: False)
        patch(repair_links.link_rows, "recheck", lambda *_given: [])
        patch(repair_links.link_rows, "fate", lambda *_given, **_more: batches.DONE)
        patch(repair_links.link_rows, "apply_batch", self.apply)
        patch(repair_links.link_rows, "take_back", self.take_back)

    @contextlib.contextmanager
    def lock(self, _url, _name):
        if self.locked:
            raise Conflict("it is held")
        yield types.SimpleNamespace(still_held=lambda: True)

    def read(self):
        return (linked.healthy() if self.repaired else self.found).bundle.links

    def apply(self, _url, batch, write_down):
        write_down(batch)
        self.repaired = True
        if self.kills:
            raise Killed
        return repair_links.link_rows.BatchOutcome(changed=batch)

    def take_back(self, _url, batch):
        self.repaired = False
        return repair_links.link_rows.BatchOutcome(changed=batch)

    def cut(self):
        self.kills = True
        with pytest.raises(Killed):
            self.act("apply")
        self.kills = False

    def act(self, action):
        urls = {
            "nova_api_db_url": "mysql+pymysql://n:p@db/a",
            "nova_cell_db_urls": {"cell1": "mysql+pymysql://n:p@db/c"},
        }
        given = journaled.life(self.state, urls, "repair_", mine=OTHER)
        run = repair_links.RepairRun(**given, bundle=self.found.bundle, operation_id="op1")
        return repair_links.carry_out(run, LinkRequest((), ("SG211",), 1000, 1000), action, None)

    def let_the_owner_live(self):
        self.locked = True

    def world(self):
        return self.repaired


def found_beside():
    """The lives in the tests of single operations, in this directory: ``LIVES``, by the prefix of their variables."""
    here = pathlib.Path(__file__)
    for path in sorted(here.parent.glob("test_*.py")):
        if path.name != here.name and "\nLIVES = " in path.read_text():
            yield importlib.import_module(f"{operations.__name__}.{path.stem}").LIVES


LIVES = {"rename": Rename, "evacuate": Evacuate, "repair": Links}
for lives in found_beside():
    assert not lives.keys() & LIVES.keys()
    LIVES.update(lives)
#: Pins have no operation that is open: the same rules for their file are in operations/test_pin_zones.py.
NO_OPERATION = {"pin"}


@pytest.fixture(params=LIVES)
def life(request, tmp_path, monkeypatch):
    return LIVES[request.param](tmp_path, monkeypatch)


@pytest.fixture
def cut(life):
    """The operation is open; its run was killed."""
    life.cut()
    if life.open[0]["run"] in (OTHER, journaled.HERE):
        life.owner(DEAD)
    assert [entry["state"] for entry in life.open] == [journals.OPEN]
    return life


def test_every_operation_with_an_action_is_here():
    specs = [yaml.safe_load(path.read_text()) for path in ROOT.glob("roles/*/meta/argument_specs.yml")]
    options = {name for spec in specs for name in spec["argument_specs"].get("main", {}).get("options", {})}
    assert {name[: -len("_action")] for name in options if name.endswith("_action")} == set(LIVES) | NO_OPERATION


# --- nothing is open ------------------------------------------------------------------------------------------


def is_nothing_open(told):
    """An action plugin ends as refused, and keeps no error; the files are compared beside it."""
    return told.get("state") in ("none", "refused") or told.get("problem") == "nothing-open"


def test_asked_while_nothing_is_open_it_says_so_and_changes_nothing(life):
    before = life.seen()
    failed, told = life.run("status")
    assert (failed, told["changed"]) == (False, False)
    assert told["state"] == "none", told["msg"]
    assert life.seen() == before


def test_a_resume_begins_nothing(life):
    before = life.seen()
    failed, told = life.run("resume")
    assert (failed, told["changed"]) == (True, False)
    assert is_nothing_open(told), told["msg"]
    assert life.seen() == before


def test_what_is_not_open_is_not_taken_back(life):
    before = life.seen()
    _failed, told = life.run(life.back)
    assert told["changed"] is False
    assert is_nothing_open(told), told["msg"]
    assert life.seen() == before


# --- one is open ----------------------------------------------------------------------------------------------


def test_asked_about_an_open_operation_it_names_it_and_changes_nothing(cut):
    (journal,), before = cut.open, cut.seen()
    failed, told = cut.run("status")
    assert (failed, told["changed"], told["operation_id"]) == (False, False, journal["operation_id"])
    assert f"is {journal['state']}" in told["msg"], told["msg"]
    assert cut.seen() == before


@pytest.mark.parametrize("action", ["apply", "resume", "back"])
def test_a_second_run_beside_one_that_lives_is_refused(cut, action):
    cut.let_the_owner_live()
    before = cut.seen()
    failed, told = cut.run(cut.back if action == "back" else action)
    assert (failed, told["changed"]) == (True, False)
    assert "SG707" in told["msg"], told["msg"]
    assert cut.seen() == before


@pytest.mark.parametrize("action", ["apply", "resume"])
def test_a_killed_run_is_resumed_to_its_end(cut, action):
    (journal,) = cut.open
    failed, told = cut.run(action)
    assert not failed, told["msg"]
    assert not cut.open
    assert ended(cut, journal) == journals.FINISHED


def test_taken_back_its_journal_is_closed(cut):
    (journal,) = cut.open
    failed, told = cut.run(cut.back)
    assert not failed, told["msg"]
    assert not cut.open
    assert ended(cut, journal) == journals.ROLLED_BACK
    _failed, again = cut.run("status")
    assert again["state"] == "none", again["msg"]


@pytest.mark.parametrize(("action", "state"), [("apply", journals.FINISHED), ("back", journals.ROLLED_BACK)])
def test_killed_while_it_is_closed_it_is_closed_by_the_same_command(cut, monkeypatch, action, state):
    """The last state is written, and the journal is not among the closed ones yet."""
    (journal,) = cut.open
    action = cut.back if action == "back" else action
    killed_while_it_is_closed(cut, monkeypatch, action)
    assert [entry["state"] for entry in cut.open] == [state]
    before = cut.seen()[1]
    failed, told = cut.run(action)
    assert not failed, told["msg"]
    assert cut.seen()[1] == before, "nothing was left to do"
    assert not cut.open
    assert ended(cut, journal) == state


@pytest.mark.parametrize("action", ["apply", "resume"])
def test_what_was_taken_back_is_not_carried_on_with(cut, monkeypatch, action):
    (journal,) = cut.open
    killed_while_it_is_closed(cut, monkeypatch, cut.back)
    before = cut.seen()[1]
    cut.run(action)
    assert cut.seen()[1] == before
    if cut.open:
        assert not cut.run(cut.back)[0]
    assert ended(cut, journal) == journals.ROLLED_BACK


def killed_while_it_is_closed(life, monkeypatch, action):
    real = journals._make_directory

    def make(directory):
        if os.path.basename(directory) == "closed":
            raise Killed
        real(directory)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(journals, "_make_directory", make)
        life.act(action)
    if life.open[0]["run"] == OTHER:
        life.owner(DEAD)


def ended(life, journal):
    """The state in which an operation was closed. Who ended it is in its journal, and what was done."""
    (closed,) = journals.list_closed(life.directory, journal["kind"])
    assert closed["operation_id"] == journal["operation_id"]
    assert closed["run"] != journal.get("run")
    assert len(closed["history"]) > len(journal["history"])
    assert {"schema", "kind", "subject", "about", "plan", "steps", "started_at", "updated_at"} <= set(closed)
    return closed["state"]


#: Journals that are not understood: of its own kind or of another one, and which version finishes them.
UNKNOWN = {
    "torn": (None, '{"schema": 1, "ki', journal_read.WRITER),
    "newer": (None, '{"schema": 2}', journal_read.NEWER),
    "of a kind that is to come": ("maintain-a", '{"schema": 1, "collection_version": "9.9.9"}', " 9.9.9 "),
    "of version 0.1": ("evacuate", '{"schema": 1, "kind": "evacuate", "about": {"host": "a"}}', " 0.1 "),
}


@pytest.mark.parametrize("action", ["apply", "resume", "status", "back"])
@pytest.mark.parametrize("name", UNKNOWN)
def test_beside_a_journal_that_is_not_understood_nothing_is_done(cut, action, name):
    (journal,) = cut.open
    kind, content, finisher = UNKNOWN[name]
    path = os.path.join(cut.directory, f"{kind or journal['kind']}.json")
    pathlib.Path(path).write_text(content)
    before = cut.seen()
    failed, told = cut.run(cut.back if action == "back" else action)
    assert (failed, told["changed"], told.get("state", "refused")) == (True, False, "refused")
    assert "SG706" in told["msg"]
    assert path in told["msg"]
    assert finisher in told["msg"]
    assert cut.seen() == before
