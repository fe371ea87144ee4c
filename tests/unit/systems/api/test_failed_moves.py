# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The last resize or cold migration of servers, where it failed once the server had left its source."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http, migration_records
from ansible_collections.stackguard.nova.tests.unit.zoned import server

HERE = server(id="one", host="compute2")


def found(monkeypatch: pytest.MonkeyPatch, *rows: tuple[str, str, str]) -> dict[str, facts.ApiMigration]:
    """``rows``: type, status and source of the server's migrations, the oldest first."""
    listed = [
        {
            "id": number,
            "uuid": f"m{number}",
            "migration_type": kind,
            "status": status,
            "instance_uuid": "one",
            "source_compute": source,
        }
        for number, (kind, status, source) in enumerate(rows)
    ]

    def wanted(params):
        kept = (key for key in ("status", "migration_type", "instance_uuid") if key in params)
        keys = list(kept)
        return [row for row in reversed(listed) if all(row[key] == params[key] for key in keys)]

    monkeypatch.setattr(http, "pages", lambda *given, **_more: wanted(given[5]))
    monkeypatch.setattr(http, "items", lambda *given: wanted(given[5])[: given[5]["limit"]])
    return migration_records.failed_moves(object(), [HERE, server(id="two", host="compute3")])


@pytest.mark.parametrize("kind", ["migration", "resize"])
def test_one_that_failed_after_its_source_is_there(monkeypatch, kind):
    assert [row.uuid for row in found(monkeypatch, (kind, "error", "compute1")).values()] == ["m0"]


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [("resize", "confirmed", "compute1")],
        [("resize", "error", "compute2")],
        [("resize", "error", "compute1"), ("migration", "confirmed", "compute3")],
        [("live-migration", "error", "compute1")],
    ],
    ids=["none", "confirmed", "never left its source", "another one since", "live"],
)
def test_any_other_is_not(monkeypatch, rows):
    assert found(monkeypatch, *rows) == {}


def test_a_live_migration_since_takes_nothing_away(monkeypatch):
    rows = [("resize", "error", "compute1"), ("live-migration", "completed", "compute3")]
    assert [row.uuid for row in found(monkeypatch, *rows).values()] == ["m0"]
