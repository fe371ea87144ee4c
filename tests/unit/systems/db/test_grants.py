# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documented grants are exactly those that the code needs."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import nova, schema
from ansible_collections.stackguard.nova.tests.unit.systems import grant_statements


@pytest.mark.parametrize("backend", ["mysql", "postgresql"])
@pytest.mark.parametrize("kind", [schema.CELL, schema.API, schema.NEUTRON])
def test_the_document_lists_them(backend: str, kind: str) -> None:
    wanted: dict[tuple[str, str], set[str]] = {}
    for grant in grant_statements.all_grants():
        if grant.kind == kind:
            wanted[grant.table, grant.action] = set(grant.columns)
    assert grant_statements.rights(grant_statements.documented(backend, kind)) == wanted


def test_what_is_updated_is_read_first() -> None:
    for kind, tables in schema.UPDATES.items():
        for table, columns in tables.items():
            assert set(columns) <= set(schema.columns_of(kind, table))
            assert "updated_at" not in columns
            assert "id" not in columns
            assert "uuid" not in columns


def test_every_cell_and_neutron_only_where_used() -> None:
    cells = [nova.Cell("cell1", "u1", "url"), nova.Cell("cell2", "u2", None, "no URL")]
    rights = nova.rename_rights(cells, neutron=False)
    assert {name for name, _table, _columns, _action in rights} == {"api", "cell:cell1", "cell:cell2"}
    per_cell = [grant for grant in schema.GRANTS if grant.kind == schema.CELL]
    assert len([right for right in rights if right[0] == "cell:cell2"]) == len(per_cell)
    assert ("neutron", "agents", ("host", "heartbeat_timestamp"), "update") in nova.rename_rights(cells, neutron=True)


def test_the_document_lists_what_the_repair_of_an_arrived_server_needs_more() -> None:
    section = grant_statements.DOCUMENT.read_text().partition("## For `repair_action=arrived`")[2].partition("\n## ")[0]
    wanted: dict[str, list[str]] = {}
    for grant in schema.ARRIVAL_GRANTS:
        wanted.setdefault(grant.table, []).append(f"{grant.action.upper()} ({', '.join(grant.columns)})")
    lines = [line.strip() for line in section.splitlines() if line.startswith("    GRANT ")]
    user = grant_statements.USER["mysql"]
    assert sorted(lines) == sorted(
        f"GRANT {', '.join(found)} ON nova.{name} TO {user};" for name, found in wanted.items()
    )
