# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A repair that is refused because nothing could be read. What it does to databases: tests/integration_db."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine.approval import SHA256
from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import OpenJournal
from ansible_collections.stackguard.nova.plugins.module_utils.hazards.link_rules import REPAIRABLE
from ansible_collections.stackguard.nova.plugins.module_utils.links import operation as repair_links
from ansible_collections.stackguard.nova.plugins.module_utils.links.plan import LinkRequest
from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import SCHEMA, Bundle
from ansible_collections.stackguard.nova.tests.unit.journaled import State, life
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

#: Nobody listens on port 1.
GONE = "mysql+pymysql://nova:secret@127.0.0.1:1/nova_api"


def run_of(state, options, operation_id="op1", **given):
    nothing = Bundle(SCHEMA, "", {}, {}, None, None)
    given = life(state, options, "repair_", **given)
    return repair_links.RepairRun(**given, bundle=nothing, operation_id=operation_id)


@pytest.fixture
def repair(tmp_path):
    def run(check_mode, overrides=(), **options):
        made = run_of(State(tmp_path / "state"), options, check_mode=check_mode, overrides=overrides)
        return repair_links.carry_out(made, LinkRequest((), REPAIRABLE, 1000, 1000), "apply")

    return run


@pytest.mark.parametrize("options", [{"nova_api_db_url": GONE}, {}], ids=["unreachable", "no url"])
@pytest.mark.parametrize("overrides", [(), (findings.Override("SG201", "databases", "a trial"),)])
def test_a_database_that_cannot_be_read_refuses_and_the_report_does_not_only_warn(repair, options, overrides):
    with pytest.raises(repair_links.Refused, check=problem_is("refused")) as raised:
        repair(True, overrides, **options)
    report = raised.value.data["report"]
    assert (report["verdict"], report["findings"]) == ("block", [])
    assert {entry["code"] for entry in report["unchecked"]} >= set(REPAIRABLE)
    assert "secret" not in str(report)


def test_a_repair_ends_before_it_judges_where_its_lock_is_out_of_reach(repair):
    """No report then: the role writes one that nothing was decided (tests/unit/awx/test_jobs.py)."""
    with pytest.raises(StackguardError, match=r"127\.0\.0\.1:1") as raised:
        repair(False, nova_api_db_url=GONE)
    assert not isinstance(raised.value, repair_links.Refused)


# --- resume and status ----------------------------------------------------------------------------------------


@pytest.fixture
def opened(tmp_path):
    """A run that finds an open repair of SG211 of compute1, with one batch written."""
    made = run_of(State(tmp_path / "state"), {"nova_api_db_url": GONE}, "op2")
    request = LinkRequest(("compute1",), ("SG211",), 1000, 1000)
    about = {**repair_links._asked(request), SHA256: None}
    open_journal = OpenJournal.open(made, repair_links._planned(made, request), about)
    repair_links._rows(open_journal).write(1, [])
    return made


def asked(*codes, hosts=()):
    return LinkRequest(tuple(hosts), codes or tuple(REPAIRABLE), 1000, 1000)


def test_a_resume_takes_hosts_and_codes_of_the_open_repair(opened, monkeypatch):
    taken = []
    monkeypatch.setattr(repair_links, "_repair", lambda _run, request, _journal: taken.append(request))
    repair_links.carry_out(opened, asked(), "resume", None)
    assert [(request.hosts, request.codes) for request in taken] == [(("compute1",), ("SG211",))]


@pytest.mark.parametrize("request_", [asked("SG212"), asked(hosts=["compute2"])], ids=["codes", "hosts"])
def test_a_resume_of_something_else_than_is_open_is_refused(opened, request_):
    with pytest.raises(StackguardError, match="SG706"):
        repair_links.carry_out(opened, request_, "resume", None)


def test_a_status_names_the_open_repair_and_reads_no_database(opened):
    before = opened.state.open
    shown = repair_links.carry_out(opened, asked(), "status", None)
    assert (shown["changed"], shown["state"], shown["operation_id"]) == (False, "open", "op2")
    assert shown["batches"] == {"written": 1}
    assert "SG211 of compute1" in shown["msg"]
    assert "repair_action=resume" in shown["msg"]
    assert opened.state.open == before


@pytest.mark.parametrize("action", ["apply", "resume"])
def test_a_code_that_cannot_be_repaired_is_named_before_what_is_open(opened, action):
    with pytest.raises(StackguardError, match="SG999"):
        repair_links.carry_out(opened, asked("SG999"), action)
