# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs of links and pins of servers: the approved rows are changed, or none is. Also by a run that resumes."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import Refused
from ansible_collections.stackguard.nova.plugins.module_utils.links import operation as repair_links
from ansible_collections.stackguard.nova.plugins.module_utils.links.plan import LinkRequest
from ansible_collections.stackguard.nova.plugins.module_utils.records import batches
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.server_records import ServerList
from ansible_collections.stackguard.nova.plugins.module_utils.zones.pins import operation as pin_zones
from ansible_collections.stackguard.nova.tests.unit import journaled, linked
from ansible_collections.stackguard.nova.tests.unit.operations import test_pin_zones as pinning
from ansible_collections.stackguard.nova.tests.unit.operations.test_pin_zones import UUIDS

OTHER = "0" * 64
NODES = (201, 202, 203)


class Killed(BaseException):
    """The run was killed here."""


class Repairs:
    """Nodes whose links to their services are missing; each is a row of its own batch."""

    def __init__(self, tmp_path, monkeypatch):
        self.state, self.reports = journaled.State(tmp_path / "state"), tmp_path / "reports"
        self.wrong, self.fuse, self.said = list(NODES), None, []
        self.instance = None
        patch = monkeypatch.setattr
        patch(repair_links.nova, "advisory_lock", self.lock)
        patch(repair_links.nova, "url_of", lambda _options, name: name)
        patch(repair_links.nova, "probe_grants", lambda *_given: [])
        patch(repair_links.link_reads, "read_links", lambda *_given, **_more: self.cloud().bundle.links)
        patch(repair_links.link_rows, "is_cluster", lambda _url: False)
        patch(repair_links.link_rows, "recheck", lambda *_given: [])
        patch(repair_links.link_rows, "fate", lambda *_given, **_more: batches.DONE)
        patch(repair_links.link_rows, "apply_batch", self.apply)

    def cloud(self):
        cloud = linked.healthy(hosts=4)
        for number in self.wrong:
            cloud = cloud.row("compute_nodes", number, service_id=None)
        return cloud.wrong("SG211", **self.instance) if self.instance else cloud

    @contextlib.contextmanager
    def lock(self, _url, _name):
        yield types.SimpleNamespace(still_held=lambda: True)

    def apply(self, _url, batch, write_down):
        write_down(batch)
        for made in batch:
            self.wrong.remove(made.change.key)
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse == 0:
                raise Killed
        return repair_links.link_rows.BatchOutcome(changed=batch)

    def run(self, check=False, action="apply", expect=None, codes=("SG201",), hosts=(), size=1, operation_id="op1"):
        options = {"report_dir": str(self.reports), "expect_plan": expect}
        urls = {
            "nova_api_db_url": "mysql+pymysql://n:p@db/a",
            "nova_cell_db_urls": {"cell1": "mysql+pymysql://n:p@d/c"},
        }
        given = journaled.life(self.state, {**urls, **options}, "repair_", self.said, check_mode=check)
        run = repair_links.RepairRun(**given, bundle=self.cloud().bundle, operation_id=operation_id)
        return repair_links.carry_out(run, LinkRequest(hosts, codes, size, 1000), action, None)

    def planned(self, **more):
        done = self.run(check=True, **more)
        self.plan = json.loads((self.reports / "plan.json").read_text())
        assert done["plan_sha256"] == self.plan["plan_sha256"]
        return done["plan_sha256"]

    def refused(self, **more):
        before = list(self.wrong)
        with pytest.raises(Refused) as caught:
            self.run(**more)
        assert self.wrong == before
        return caught.value


@pytest.fixture
def repairs(tmp_path, monkeypatch):
    return Repairs(tmp_path, monkeypatch)


def test_the_approved_repair_is_carried_out_and_again(repairs):
    value = repairs.planned()
    assert f"-e repair_expect_plan={value}" in repairs.said[-1]
    done = repairs.run(expect=value)
    assert (done["state"], done["counts"]["changed"], done["plan_sha256"]) == ("finished", 3, value)
    assert repairs.run(expect=value)["state"] == "none"


def test_the_file_has_every_row(repairs):
    repairs.planned()
    (step,) = repairs.plan["decided"]["steps"]
    assert [(row["where"].split()[1], row["what"], row["before"], row["after"]) for row in step["changes"]] == [
        (f"id={number}", "service_id", "NULL", str(number - 100)) for number in NODES
    ]


@pytest.mark.parametrize("wrong", [NODES[:2], (*NODES, 204)], ids=["one is right by now", "one more is wrong"])
def test_other_rows_are_another_plan(repairs, wrong):
    value = repairs.planned()
    repairs.wrong = list(wrong)
    refused = repairs.refused(expect=value)
    sign, number = ("-", 203) if len(wrong) < len(NODES) else ("+", 204)
    assert f"{sign} steps cell:cell1 compute_nodes SG201: compute_nodes id={number}" in refused.message
    assert refused.data["report"]["verdict"] == "block"
    assert not repairs.state.open


def test_a_row_that_becomes_another_is_another_plan(repairs, monkeypatch):
    codes = ("SG201", "SG202")
    value = repairs.planned(codes=codes)
    real = repairs.cloud

    def other():
        repairs.wrong = [201, 202]
        return real().row("compute_nodes", 203, service_id=4711)

    monkeypatch.setattr(repairs, "cloud", other)
    with pytest.raises(Refused) as caught:
        repairs.run(expect=value, codes=codes)
    assert "service_id: NULL -> 103" in caught.value.message
    assert "service_id: 4711 -> 103" in caught.value.message


def test_another_request_is_another_plan(repairs):
    value = repairs.planned()
    assert '+ request.codes "SG211"' in repairs.refused(expect=value, codes=("SG201", "SG211")).message


def test_what_guards_a_row_is_no_other_plan(repairs):
    """The state of an instance changes all day; it is compared when the row is written."""
    repairs.wrong, values = [], set()
    for state in ("active", "stopped"):
        repairs.instance = {"compute_id": None, "vm_state": state}
        values.add(repairs.planned(codes=("SG211",)))
        assert repairs.plan["decided"]["steps"], "a row is repaired"
    assert len(values) == 1


def test_neither_order_nor_batches_nor_the_operation_is_another_plan(repairs, monkeypatch):
    value = repairs.planned()
    real = repairs.cloud

    def backwards():
        cloud = real()
        return cloud.cell(1, compute_nodes=list(reversed(cloud.bundle.links.cells[0].compute_nodes)))

    monkeypatch.setattr(repairs, "cloud", backwards)
    assert repairs.planned(size=1000, operation_id="0123456789ab") == value


def killed(repairs, batch, **more):
    repairs.fuse = batch
    with pytest.raises(Killed):
        repairs.run(**more)
    repairs.fuse = None


@pytest.mark.parametrize("batch", [1, 2])
def test_a_repair_that_was_killed_is_resumed_by_its_plan(repairs, monkeypatch, batch):
    monkeypatch.setattr(repair_links.plans, "SERVICE_ROWS", 1)
    value = repairs.planned()
    killed(repairs, batch, expect=value)
    assert len(repairs.wrong) == 3 - batch
    assert repairs.planned(action="resume") == value, "what was written counts with what is left"
    done = repairs.run(action="resume", expect=value)
    assert (done["state"], done["plan_sha256"], repairs.wrong) == ("finished", value, [])


def test_a_row_that_nobody_approved_is_not_repaired_by_a_resume(repairs, monkeypatch):
    monkeypatch.setattr(repair_links.plans, "SERVICE_ROWS", 1)
    value = repairs.planned()
    killed(repairs, 1, expect=value)
    repairs.wrong.append(204)
    told = repairs.refused(expect=value, action="resume").message
    assert "id=204" in told
    assert repairs.state.open
    assert repairs.run(action="resume")["state"] == "finished"


def test_nothing_to_repair_is_a_plan_too(repairs):
    wrong, repairs.wrong = repairs.wrong, []
    value = repairs.planned()
    repairs.wrong = wrong
    assert "id=201" in repairs.refused(expect=value).message


@pytest.mark.parametrize("value", ["yes", "none"])
def test_what_can_stand_for_no_plan_is_refused(repairs, value):
    assert "(64 " in repairs.refused(expect=value).message


# --- pins -----------------------------------------------------------------------------------------------------


class Pins:
    """The pins of a cloud of twelve servers."""

    def __init__(self, tmp_path, monkeypatch):
        self.cloud, self.state = pinning.Cloud(monkeypatch), journaled.State(tmp_path / "state")
        self.options = {"report_dir": str(tmp_path / "reports")}
        self.chosen = list(UUIDS)

    def run(self, check=False, operation_id="op1", **options):
        given = journaled.life(self.state, {**pinning.OPTIONS, **self.options, **options}, "", check_mode=check)
        servers = ServerList([self.cloud.server(uuid) for uuid in self.chosen], [])
        more = {"cloud": None, "chosen": lambda *_given: servers, "operation_id": operation_id, "keeper": "here"}
        return pin_zones.PinRun(**journaled.leased(given), **more).carry_out()

    def planned(self, **more):
        return self.run(check=True, **more)["plan_sha256"]

    def refused(self, **more):
        before = dict(self.cloud.pins)
        with pytest.raises(Refused) as caught:
            self.run(**more)
        assert self.cloud.pins == before
        return caught.value.message


@pytest.fixture
def pins(tmp_path, monkeypatch):
    return Pins(tmp_path, monkeypatch)


def test_the_approved_pins_are_made_and_again(pins):
    value = pins.planned()
    done = pins.run(expect_plan=value)
    assert (done["failed"], done["plan_sha256"], set(pins.cloud.pins.values())) == (False, value, {"az1"})
    assert pins.run(expect_plan=value)["changed"] is False


def test_another_set_of_servers_is_another_plan(pins):
    value = pins.planned()
    pins.chosen = UUIDS[:-1]
    told = pins.refused(expect_plan=value)
    assert f"- steps pins: server {UUIDS[-1]} pinned availability zone" in told
    assert f"expect_plan is {value}" in told
    assert not pins.state.open


def test_a_pin_that_its_owner_changed_is_another_plan(pins):
    value = pins.planned()
    pins.cloud.pins[UUIDS[0]] = "nowhere"
    assert f"server {UUIDS[0]}" in pins.refused(expect_plan=value)


def test_neither_order_nor_what_is_right_already_nor_the_operation_is_another_plan(pins, monkeypatch):
    pins.cloud.pins[UUIDS[5]] = "az1"
    value = pins.planned()
    pins.chosen = [uuid for uuid in reversed(UUIDS) if uuid != UUIDS[5]]
    monkeypatch.setattr(
        pins.cloud, "server", lambda uuid, real=pins.cloud.server: dataclasses.replace(real(uuid), name="renamed")
    )
    assert pins.planned(operation_id="0123456789ab") == value


@pytest.mark.parametrize("action", ["apply", "restore"])
def test_a_change_of_pins_that_was_killed_is_run_again_by_its_plan(pins, action):
    end = "az1"
    if action == "restore":
        pins.run()
        end = None
        pins.cloud.before[UUIDS[2]] = None
    value = pins.planned(action=action)
    pins.cloud.fuse = 6
    with pytest.raises(pinning.Killed):
        pins.run(expect_plan=value, action=action)
    pins.cloud.fuse = None
    assert pins.planned(action=action) == value, "what was written counts with what is left"
    last = pins.cloud.pins[UUIDS[-1]]
    pins.cloud.pins[UUIDS[-1]] = "nowhere"
    if action == "apply":
        assert f"server {UUIDS[-1]}" in pins.refused(action=action, expect_plan=value)
    pins.cloud.pins[UUIDS[-1]] = last
    done = pins.run(action=action, expect_plan=value)
    assert (done["failed"], done["plan_sha256"]) == (False, value)
    assert {pins.cloud.pins[uuid] for uuid in UUIDS if uuid != UUIDS[2]} == {end}


def test_another_request_does_not_go_by_the_plan_of_a_killed_run(pins):
    value = pins.planned()
    pins.cloud.fuse = 6
    with pytest.raises(pinning.Killed):
        pins.run(expect_plan=value)
    pins.cloud.fuse = None
    assert pins.planned(strategy="pin_db") != value
    pins.refused(strategy="pin_db", expect_plan=value)


def test_an_override_and_a_restore_are_other_plans(pins):
    value = pins.planned()
    assert pins.planned(partial=True) != value
    pins.run()
    assert pins.planned(action="restore") != value


def test_a_restore_that_failed_for_one_pin_is_run_again_by_its_plan(pins):
    pins.run()
    value = pins.planned(action="restore")
    pins.cloud.stuck = {UUIDS[3]}
    assert pins.run(action="restore", expect_plan=value)["failed"]
    pins.cloud.stuck = set()
    done = pins.run(action="restore", expect_plan=value)
    assert (done["failed"], pins.cloud.pins) == (False, pins.cloud.before)
    assert pinning.old_pins.read(pins.state.directory)["rows"] == []
