# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pages of operations: written by real runs of the action plugins, and opened in a real browser.

STACKGUARD_TEST_PICTURES=DIRECTORY keeps pictures, to be looked at.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import time
import types

import pytest

from ansible_collections.stackguard.nova.plugins.action import compute_host_rename, server_migrate
from ansible_collections.stackguard.nova.plugins.plugin_utils import operation_pages
from ansible_collections.stackguard.nova.plugins.plugin_utils.journal_host import LocalState
from ansible_collections.stackguard.nova.tests.unit.browser import Browser
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import Life
from ansible_collections.stackguard.nova.tests.unit.pictured import HOSTILE_NAME, drained, evacuated, renamed, report

RUNS = {"renamed": renamed, "evacuated": evacuated, "drained": drained}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    started = Browser(tmp_path_factory.mktemp("profile"))
    try:
        yield started
    finally:
        started.close()


def opened(browser, run, tmp_path):
    (tmp_path / "report.html").write_text(operation_pages.html(run), encoding="utf-8")
    browser.send("Emulation.clearDeviceMetricsOverride")
    browser.send("Page.navigate", url="about:blank")
    browser.calls.clear()
    browser.errors.clear()
    browser.open(tmp_path / "report.html")
    return browser


def keep(tmp_path):
    return pathlib.Path(os.environ.get("STACKGUARD_TEST_PICTURES") or tmp_path)


@pytest.mark.parametrize("name", RUNS)
def test_it_renders_in_each_theme_on_a_phone_and_on_paper(browser, tmp_path, name):
    shown = opened(browser, RUNS[name](), tmp_path)
    assert shown.run("document.querySelectorAll('#plan tbody > tr').length") >= 3
    for theme in ("light", "dark"):
        shown.theme(theme)
        shown.picture(keep(tmp_path) / f"{name}-{theme}.png", 1250, 1400)
    shown.send("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    shown.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert shown.run("document.documentElement.scrollWidth") <= 390
    shown.picture(keep(tmp_path) / f"{name}-phone.png", 390, 844)
    shown.send("Emulation.clearDeviceMetricsOverride")
    assert shown.pdf().startswith(b"%PDF")
    assert [url for url in shown.calls if not url.startswith("file://")] == []
    assert shown.errors == []


def test_a_page_without_findings_has_nothing_to_search_and_no_error(browser, tmp_path):
    shown = opened(browser, dataclasses.replace(renamed(), report=None), tmp_path)
    assert shown.run("document.getElementById('search')") is None
    shown.run("document.querySelector('.copy').click()")
    limit = time.monotonic() + 30
    while shown.run("document.querySelector('.copy').textContent") != "copied":
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert shown.errors == []


def test_a_long_name_breaks_no_other_column(browser, tmp_path):
    shown = opened(browser, evacuated(name=HOSTILE_NAME * 4), tmp_path)
    shown.send("Emulation.setDeviceMetricsOverride", width=1250, height=1400, deviceScaleFactor=1, mobile=False)
    shown.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    cells = "document.querySelectorAll('.servers [data-label] bdi, .changed del')"
    assert set(shown.run(f"Array.from({cells}, (one) => one.getClientRects().length)")) == {1}


def test_paper_has_the_history_and_no_text_larger_than_its_head(browser, tmp_path):
    shown = opened(browser, evacuated(), tmp_path)
    shown.send("Emulation.setEmulatedMedia", media="print")
    try:
        shown.run("dispatchEvent(new Event('beforeprint'))")
        assert shown.run("document.querySelector('#events details').open") is True
        size = "Array.from(document.querySelectorAll('{}'), (one) => parseFloat(getComputedStyle(one).fontSize))"
        assert max(shown.run(size.format(".parts li, .legend li"))) < min(shown.run(size.format("h2")))
    finally:
        shown.send("Emulation.setEmulatedMedia", media="")


def test_findings_are_searched_as_in_an_audit(browser, tmp_path):
    shown = opened(browser, renamed(), tmp_path)
    shown.run("document.getElementById('search').value = 'no-such-word'")
    shown.run("document.querySelector('.tools input[value=info]').dispatchEvent(new Event('change'))")
    assert shown.run("document.getElementById('told').textContent") == "0 of 1 findings"


def test_no_name_does_anything(browser, tmp_path):
    run = evacuated(name=HOSTILE_NAME)
    shown = opened(
        browser,
        dataclasses.replace(run, report=report("SG512", HOSTILE_NAME, HOSTILE_NAME), cloud=HOSTILE_NAME),
        tmp_path,
    )
    shown.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert shown.run("document.querySelectorAll('img, iframe, object, embed').length") == 0
    assert shown.run("document.scripts.length") == 1
    assert shown.errors == []


# --- written by runs ------------------------------------------------------------------------------------------


def page_of(life):
    return (life.reports / "report.html").read_text(encoding="utf-8")


def test_an_evacuation_leaves_its_page_beside_its_report(tmp_path, monkeypatch):
    life = Life(tmp_path, monkeypatch)
    result = life.run()
    text = page_of(life)
    assert result["operation_id"] in text
    assert "Evacuation of a dead host: <bdi>compute1</bdi>" in text
    assert "fence proof" in text
    assert "2 of 2</b> servers off the host" in text
    assert "return_host=compute1" in text
    assert json.loads((life.reports / "report.json").read_text())["schema"] == 1
    assert (life.reports / "report.html").stat().st_mode & 0o777 == 0o600


def test_a_run_whose_page_cannot_be_made_ends_as_it_would(tmp_path, monkeypatch):
    life = Life(tmp_path, monkeypatch)

    def fail(_shown):
        raise ValueError("no page")

    monkeypatch.setattr(operation_pages, "html", fail)
    assert not life.run()["failed"]
    assert not (life.reports / "report.html").exists()
    assert (life.reports / "report.json").exists()


def left_by(plugin, tmp_path, args, journal, result, own=False):
    """What a plugin leaves of a result, with this journal on its state host. ``own``: the run has the operation."""
    state = LocalState(str(tmp_path / "state"), False)
    if journal is not None:
        state.call([{"op": "journal_open", "journal": {**journal, "state": "open"}}])
        if journal["state"] in ("finished", "rolled-back"):
            state.call([{"op": "journal_close", "journal": journal}])
    action = object.__new__(plugin)
    action._task = types.SimpleNamespace(check_mode=False)
    mine = dict(journal["run"]) if own else {"operator": "bob"}
    run = types.SimpleNamespace(state=state, overrides=(), mine=mine, options=args)
    given = {"report_dir": str(tmp_path / "reports"), "cloud": {"auth": {"password": "secret"}}, **args}
    action._leave_page(given, run, result, "2026-11-21T06:00:00Z")
    path = tmp_path / "reports" / "report.html"
    return path.read_text(encoding="utf-8") if path.exists() else None


DRAIN = {"prefix": "drain", "drain_host": "compute1", "servers": None, "region_name": None}
RENAME = {"rename_from": "compute1", "rename_to": "cn1", "strategy": "in_place", "hypervisor_hostname": None}


def test_a_drain_leaves_its_page_by_the_journal_that_it_closed(tmp_path):
    run = drained()
    text = left_by(server_migrate.ActionModule, tmp_path, DRAIN, run.journal, run.result)
    assert "Drain of a compute host: <bdi>compute1</bdi>" in text
    assert "3 of 3" in text
    # A cloud that is no name may hold a password.
    assert "secret" not in text


def test_a_rename_leaves_its_page_with_the_ways_that_are_left(tmp_path):
    run = renamed(state="open", done=1)
    text = left_by(compute_host_rename.ActionModule, tmp_path, RENAME, run.journal, run.result)
    assert "rename_action=resume" in text
    assert "rename_action=rollback" in text


def test_a_run_that_broke_off_shows_its_own_operation_and_no_other(tmp_path):
    run = renamed(state="open", done=1)
    broken = {"failed": True, "state": "unknown", "msg": "the cable was cut"}
    text = left_by(compute_host_rename.ActionModule, tmp_path / "own", RENAME, run.journal, broken, own=True)
    assert run.journal["operation_id"] in text
    text = left_by(compute_host_rename.ActionModule, tmp_path / "other", RENAME, run.journal, broken)
    assert run.journal["operation_id"] not in text


def test_a_status_of_nothing_leaves_the_page_that_is_there(tmp_path):
    nothing = {"changed": False, "state": "none", "msg": "no rename is open"}
    assert left_by(compute_host_rename.ActionModule, tmp_path, RENAME, None, nothing, own=False) is None


def test_a_task_of_no_playbook_leaves_no_page(tmp_path):
    run = drained()
    assert left_by(server_migrate.ActionModule, tmp_path, {**DRAIN, "prefix": ""}, run.journal, run.result) is None
