# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rows of the API database: deleted if they are what was read, all or none, and no others."""

from __future__ import annotations

import contextlib

import pytest
import sqlalchemy as sa

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import removed_rows

MAPPING = {"table": "host_mappings", "id": 1, "values": {"host": "compute9"}}
MEMBER = {"table": "aggregate_hosts", "id": 7, "values": {"host": "compute9", "aggregate_id": 3}}


@pytest.fixture
def database(monkeypatch):
    """Two mappings and two memberships; returns the keys that are left."""
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE host_mappings (id INTEGER, cell_id INTEGER, host TEXT)"))
        connection.execute(sa.text("CREATE TABLE aggregate_hosts (id INTEGER, host TEXT, aggregate_id INTEGER)"))
        connection.execute(sa.text("INSERT INTO host_mappings VALUES (1, 1, 'compute9'), (2, 1, 'compute91')"))
        connection.execute(sa.text("INSERT INTO aggregate_hosts VALUES (7, 'compute9', 3), (8, 'compute91', 3)"))

    @contextlib.contextmanager
    def transaction(_url):
        with engine.begin() as connection:
            yield connection

    monkeypatch.setattr(removed_rows.engine, "transaction", transaction)

    def left():
        with engine.begin() as connection:
            return [
                list(connection.execute(sa.text(f"SELECT id FROM {name} ORDER BY id")).scalars())
                for name in ("host_mappings", "aggregate_hosts")
            ]

    return left


def test_what_was_read_goes_and_nothing_else(database):
    assert removed_rows.delete_rows("", [MEMBER, MAPPING]) == 2
    assert database() == [[2], [8]]


def test_what_is_gone_already_is_no_conflict(database):
    removed_rows.delete_rows("", [MAPPING])
    assert removed_rows.delete_rows("", [MAPPING, MEMBER]) == 1
    assert database() == [[2], [8]]


@pytest.mark.parametrize(
    "row",
    [
        {**MAPPING, "values": {"host": "Compute9"}},
        {**MAPPING, "id": 2},
        {**MEMBER, "values": {"host": "compute9", "aggregate_id": 4}},
    ],
)
def test_a_row_that_holds_something_else_keeps_all(database, row):
    with pytest.raises(Conflict):
        removed_rows.delete_rows("", [MEMBER, row] if row["table"] == "host_mappings" else [MAPPING, row])
    assert database() == [[1, 2], [7, 8]]


@pytest.mark.parametrize(
    "row",
    [
        {"table": "instances", "id": 1, "values": {"host": "compute9"}},
        {"table": "host_mappings", "id": 1, "values": {}},
        {"table": "aggregate_hosts", "id": 7, "values": {"host": "compute9"}},
    ],
)
def test_no_other_row_is_ever_deleted(database, row):
    with pytest.raises(ValueError, match="must not"):
        removed_rows.delete_rows("", [row])
    assert database() == [[1, 2], [7, 8]]


def test_the_last_word_takes_it_back(database):
    def lost():
        raise Conflict("another run has it")

    with pytest.raises(Conflict):
        removed_rows.delete_rows("", [MAPPING], lost)
    assert database() == [[1, 2], [7, 8]]
