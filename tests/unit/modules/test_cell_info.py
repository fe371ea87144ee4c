# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""cell_info: what it returns, what it writes down, and what it never shows."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.stackguard.nova.plugins.doc_fragments import databases as fragment
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.records.info_result import digest
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import connection
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine, nova
from ansible_collections.stackguard.nova.plugins.modules import cell_info
from ansible_collections.stackguard.nova.tests.unit import builders as make
from ansible_collections.stackguard.nova.tests.unit.modules.running import run

DEAD = "mysql+pymysql://nova:hunter2hunter2@127.0.0.1:1/nova_api"


def test_databases_that_do_not_answer() -> None:
    result = run(cell_info.main, {"nova_api_db_url": DEAD, "neutron_db_url": DEAD, "probe_rename": True}, True)
    assert not result["changed"]
    assert not result["complete"]
    assert [item["part"] for item in result["unread"]] == ["api", "cells", "neutron", "grants", "lock"]
    assert set(result["counts"].values()) == {0}
    assert result["refused"] == []
    assert result["databases"]["cells"] is None
    assert "hunter2" not in json.dumps(result)


def test_what_is_asked_for_reaches_the_reader(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    read = make.healthy().bundle.databases
    asked: list[t.Any] = []
    monkeypatch.setattr(nova, "read_databases", lambda *args, **kwargs: asked.append((args, kwargs)) or read)
    given = {"nova_api_db_url": DEAD, "hosts": ["compute1"], "instance_uuids": ["u"], "probe_rename": True}
    shown = run(cell_info.main, given, False)
    kept = run(cell_info.main, {**given, "evidence_dir": str(tmp_path)}, True)
    ((options, hosts), others) = asked[0]
    assert (options["nova_api_db_url"], hosts, others) == (
        DEAD,
        ["compute1"],
        {"rename": True, "instance_uuids": ["u"]},
    )
    assert facts.from_plain(facts.DatabaseFacts, shown["databases"]) == read
    assert "databases" not in kept
    assert kept["path"] == str(tmp_path / "databases.json")
    assert evidence.load_dir(str(tmp_path)).databases == read
    assert os.stat(kept["path"]).st_mode & 0o777 == 0o600
    assert kept["digest"] == shown["digest"] == digest(facts.to_plain(read))
    assert kept["counts"]["services"] == sum(len(cell.services or ()) for cell in read.cells or ())


def test_unread_parts_of_every_owner_are_named() -> None:
    gone = [facts.Unread("instances", "why")]
    cell = facts.CellFacts("cell1", "u", "", None, False, [], None, None, None, None, gone)
    api = facts.ApiDbFacts("", None, [], None, None, [facts.Unread("host_mappings", "why")])
    read = facts.DatabaseFacts("", api, [cell], None, None, [facts.Unread("neutron", "why")])
    assert [item["part"] for item in cell_info.unread(read)] == [
        "neutron",
        "api.host_mappings",
        "cells.cell1.instances",
    ]


def test_evidence_that_cannot_be_written(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    result = run(cell_info.main, {"nova_api_db_url": DEAD, "evidence_dir": str(tmp_path / "file")}, False)
    assert result["failed"]
    assert "evidence_dir" in result["msg"]


def test_no_database_at_all_is_refused() -> None:
    result = run(cell_info.main, {}, False)
    assert result["failed"]
    assert "one of the following is required" in result["msg"]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SQLALCHEMY_ERROR", "Traceback")
    result = run(cell_info.main, {"nova_api_db_url": DEAD}, False)
    assert result["failed"]
    assert "SQLAlchemy" in result["msg"]


def test_the_fragment_documents_the_options() -> None:
    documented = yaml.safe_load(fragment.ModuleDocFragment.DOCUMENTATION)["options"]
    assert {name: option["type"] for name, option in documented.items()} == {
        name: option["type"] for name, option in connection.DATABASE_SPEC.items()
    }
    assert all(option["no_log"] for option in connection.DATABASE_SPEC.values())
