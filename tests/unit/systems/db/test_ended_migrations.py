# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which migrations have ended, of a cloud with several cells: a move between cells has a row in both."""

from __future__ import annotations

import contextlib
import types
import typing as t

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import DatabaseError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import migrations

Row = tuple[str, str, str, t.Optional[str]]


def ended(monkeypatch: pytest.MonkeyPatch, **cells: list[Row] | None) -> dict[str, str]:
    """``cells``: what each database answers; None: the cell has no URL."""
    listed = [
        types.SimpleNamespace(name=name, url=None if rows is None else name, problem=None)
        for name, rows in cells.items()
    ]

    @contextlib.contextmanager
    def snapshot(url: str) -> t.Iterator[t.Any]:
        yield types.SimpleNamespace(execute=lambda _statement: cells[url])

    monkeypatch.setattr(migrations.nova, "list_cells", lambda _options: listed)
    monkeypatch.setattr(migrations.database, "snapshot", snapshot)
    return migrations.ended_migrations({}, {"move"})


def row(status: str, task: str | None = None) -> Row:
    return ("move", "server", status, task)


def test_one_that_both_cells_have_has_ended_where_both_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ended(monkeypatch, one=[row("confirmed")], two=[]) == {"move": "server"}
    assert ended(monkeypatch, one=[row("confirmed")], two=[row("confirmed")]) == {"move": "server"}
    assert ended(monkeypatch, one=[row("confirmed")], two=[row("finished")]) == {}
    assert ended(monkeypatch, one=[row("finished")], two=[row("confirmed")]) == {}


def test_one_whose_server_has_a_task_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ended(monkeypatch, one=[row("reverted", "resize_reverting")]) == {}


def test_with_a_silent_cell_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DatabaseError):
        ended(monkeypatch, one=[row("confirmed")], two=None)
