# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""In which order a repair of links reads, journals and locks. What servers do about it: tests/integration_db."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.links import steps as link_rows
from ansible_collections.stackguard.nova.plugins.module_utils.links.plan import Repair
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Subject
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import RowChange
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine

CHANGE = RowChange("cell:cell1", "compute_nodes", "id", 1, {"service_id": None}, {"service_id": 1}, "node 1")
MADE = Repair("SG201", Subject("compute_node", "n1"), CHANGE, "because")


class Database:
    """Notes what is done, in order. ``stamps``: what the row's updated_at is at each look."""

    def __init__(self, monkeypatch, stamps):
        self.events = []
        self.stamps = list(stamps)
        monkeypatch.setattr(engine, "snapshot", lambda _url: self.opened("read"))
        monkeypatch.setattr(engine, "transaction", self.transaction)
        monkeypatch.setattr(link_rows, "_compared", self.compared)
        monkeypatch.setattr(link_rows.rows, "update", lambda *_: self.events.append("update"))

    def transaction(self, _url, limits=None):
        assert limits is engine.BRIEF
        return self.opened("transaction")

    @contextlib.contextmanager
    def opened(self, what):
        self.events.append(f"begin {what}")
        try:
            yield object()
        except BaseException:
            self.events.append(f"roll back {what}")
            raise
        self.events.append(f"end {what}")

    def compared(self, _connection, batch, lock):
        self.events.append("lock" if lock else "look")
        stamp = self.stamps.pop(0)
        return link_rows.BatchOutcome(changed=list(batch)), {made.change.key: stamp for made in batch}

    def journal(self, made):
        self.events.append(f"journal {made[0].stamp}")


READ = ["begin read", "look", "end read"]


def test_the_journal_is_written_while_no_row_is_locked(monkeypatch):
    there = Database(monkeypatch, stamps=["10:00", "10:00"])
    outcome = link_rows.apply_batch("url", [MADE], there.journal)
    assert there.events == [*READ, "journal 10:00", "begin transaction", "lock", "update", "end transaction"]
    assert [made.change for made in outcome.changed] == [CHANGE]


def test_a_journal_that_fails_has_locked_nothing(monkeypatch):
    there = Database(monkeypatch, stamps=["10:00"])

    def broken(_made):
        raise RuntimeError("no space left")

    with pytest.raises(RuntimeError):
        link_rows.apply_batch("url", [MADE], broken)
    assert there.events == READ


def test_only_what_was_journaled_is_committed(monkeypatch):
    there = Database(monkeypatch, stamps=["10:00", "10:01", "10:01", "10:01"])
    link_rows.apply_batch("url", [MADE], there.journal)
    first = [*READ, "journal 10:00", "begin transaction", "lock", "roll back transaction"]
    assert there.events == [
        *first, *READ, "journal 10:01", "begin transaction", "lock", "update", "end transaction",
    ]  # fmt: skip


def test_rows_that_others_write_all_the_time_are_given_up(monkeypatch):
    there = Database(monkeypatch, stamps=range(100))
    with pytest.raises(Conflict, match="other processes keep changing"):
        link_rows.apply_batch("url", [MADE], there.journal)
    assert "update" not in there.events
    assert there.events.count("begin transaction") == link_rows.TRIES


def test_nothing_to_change_is_neither_journaled_nor_locked(monkeypatch):
    there = Database(monkeypatch, stamps=["10:00"])
    already = link_rows.BatchOutcome(already=[MADE])
    monkeypatch.setattr(link_rows, "_compared", lambda *_arguments, **_options: (already, {1: "10:00"}))
    assert dataclasses.astuple(link_rows.apply_batch("url", [MADE], there.journal))[0] == []
    assert there.events == ["begin read", "end read"]
