# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""pin_servers on a real Nova: unpinned servers are pinned to where they are, and get their old pins back.

Both ways: through the API (the playbook, on Nova 34), and in the API database (the module, with C(pin_db)).
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import signal
import stat

import pytest
from labkit import guests as guestkit
from labkit import killing, waiting, zoning

pytestmark = pytest.mark.matrix

BOOK = """
- name: Pin
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Pin what is not pinned
      stackguard.nova.server_zone_pin:
        cloud: "{{ cloud }}"
        nova_api_db_url: "{{ nova_api_db_url }}"
        all_servers: true
        strategy: pin_db
        action: "{{ pin_action | default('apply') }}"
        state: "{{ pin_state | default('pinned') }}"
        partial: "{{ pin_partial | default(false) | bool }}"
        state_dir: "{{ stackguard_state_dir }}"
        report_dir: "{{ stackguard_report_dir }}"
"""
PINNED = {"loose1": "az1", "loose2": "az1", "loose3": "az1", "held1": "az2"}
LOOSE = {"loose1": None, "loose2": None, "loose3": None, "held1": "az2"}


@pytest.fixture
def cloud(lab):
    """Three servers of az1 without a pin, one of az2 that is pinned."""
    zoning.tidy(lab)
    guestkit.create(lab, "loose", "3", "--on", "compute1")
    guestkit.create(lab, "held", "1", "--zone", "az2")
    assert zones(lab) == LOOSE
    yield lab
    zoning.tidy(lab)


class Pins:
    """One of the two ways, and the file with the old pins."""

    def __init__(self, lab, playbooks, book=None):
        self.lab, self.playbooks, self.book = lab, playbooks, book
        self.file = zoning.state_dir(lab) / "pins" / "old-pins.json"

    def start(self, flags=(), **given):
        variables = {"stackguard_state_dir": str(zoning.state_dir(self.lab)), **given}
        if self.book is None:
            return self.playbooks.start("pin_servers", variables={"pin_all": True, **variables}, flags=flags)
        return self.playbooks.start(self.book, variables=variables, flags=flags)

    def run(self, flags=(), **given):
        return self.playbooks.finish(self.start(flags, **given))

    @property
    def old(self):
        """Server's name to the pin that a restore would give it: of each server the first row."""
        rows = json.loads(self.file.read_text())["rows"]
        return {row["name"]: row["before"] for row in reversed(rows) if not row.get("restores")}


@pytest.fixture(params=["api", "database"])
def pins(request, cloud, playbooks, tmp_path):
    if request.param == "api":
        return Pins(cloud, playbooks)
    return in_database(cloud, playbooks, tmp_path)


def in_database(cloud, playbooks, tmp_path):
    book = tmp_path / "pin.yml"
    book.write_text(BOOK)
    return Pins(cloud, playbooks, str(book))


def uuids(lab):
    return {row["name"]: row["id"] for row in guestkit.every(lab).values()}


def specs(lab):
    """Server's name to its whole request spec, as Nova stored it."""
    rows = lab.sql("api", "SELECT instance_uuid, spec FROM request_specs")
    names = {uuid: name for name, uuid in uuids(lab).items()}
    return {names[row["instance_uuid"]]: row["spec"] for row in rows if row["instance_uuid"] in names}


def zones(lab):
    return {name: json.loads(text)["nova_object.data"]["availability_zone"] for name, text in specs(lab).items()}


def set_zone(lab, name, zone):
    """Another operator changes a pin, to one that Nova's API would not give."""
    spec = json.loads(specs(lab)[name])
    spec["nova_object.data"]["availability_zone"] = zone
    update = "UPDATE request_specs SET spec = %s WHERE instance_uuid = %s"
    lab.sql("api", update, json.dumps(spec), uuids(lab)[name])


@contextlib.contextmanager
def held_back(lab, name):
    """Nobody can write the request spec of a server: a change of its pin, by API or in the database, waits."""
    other = copy.copy(lab)
    other._connections = {}
    other.sql("api", "START TRANSACTION")
    other.sql("api", "SELECT id FROM request_specs WHERE instance_uuid = %s FOR UPDATE", uuids(lab)[name])
    try:
        yield
    finally:
        other.sql("api", "ROLLBACK")
        other.database("api").close()


def test_a_whole_cloud_is_pinned_and_restored(pins):
    lab, before = pins.lab, specs(pins.lab)
    shown = pins.run(["--check", "--diff"]).ok()
    assert "loose1" in shown.output
    assert (specs(lab), pins.file.exists()) == (before, False), "check mode changed something"
    pins.run().ok()
    assert zones(lab) == PINNED
    assert specs(lab)["held1"] == before["held1"]
    assert pins.old == {"loose1": None, "loose2": None, "loose3": None}
    assert stat.S_IMODE(pins.file.stat().st_mode) == 0o600
    assert pins.run().ok().changed == 0
    pins.run(pin_action="restore").ok()
    assert zones(lab) == LOOSE
    assert pins.old == {}
    if pins.book:
        assert specs(lab) == before, "not one other character"


def test_the_playbook_says_where_the_old_pins_are_and_carries_out_the_approved_plan(cloud, playbooks):
    pins = Pins(cloud, playbooks)
    checked = pins.run(["--check", "--diff"]).ok()
    plan = json.loads((checked.directory / "reports" / "plan.json").read_text())["plan_sha256"]
    set_zone(cloud, "loose3", "az1")
    refused = pins.run(pin_expect_plan=plan).failed()
    assert f"pin_expect_plan is {plan}" in refused.output
    assert not pins.file.exists()
    set_zone(cloud, "loose3", None)
    done = pins.run(pin_expect_plan=plan).ok()
    assert zones(cloud) == PINNED
    assert done.report["old_pins"]["path"] == done.stats["old_pins"]["path"] == str(pins.file)
    assert str(pins.file) in done.output
    assert (done.stats["plan_sha256"], done.stats["state"], done.stats["pins"]["changed"]) == (plan, "finished", 3)
    assert [item["code"] for item in done.report["findings"] if item["code"] == "SG401"] == []
    asked = pins.run(pin_all=None, pin_action="status").ok()
    assert "3 as written" in asked.output


@pytest.mark.parametrize("then", ["apply", "restore"])
def test_killed_in_the_middle_and_run_again(pins, then):
    """Two servers are pinned, and the third is on its way: its change may even arrive after the kill."""
    lab = pins.lab
    others = [uuid for name, uuid in uuids(lab).items() if name in ("loose1", "loose3")]
    with held_back(lab, "loose2"):
        process = pins.start()
        there = lambda: [zoning.pin(lab, uuid) for uuid in others] == ["az1", "az1"] or None  # noqa: E731
        waiting.until("the other pins are changed", there, 120, 0.1)
        assert pins.old == {"loose1": None, "loose2": None, "loose3": None}
        killing.kill(process)
    # A request of the killed run that Nova has in hand is carried out, or fails.
    waiting.until("Nova has ended it", lambda: not writers(lab) or None, 120, 2)
    pins.run(pin_action=then).ok()
    assert zones(lab) == (PINNED if then == "apply" else LOOSE)
    if then == "apply":
        assert pins.old == {"loose1": None, "loose2": None, "loose3": None}
        pins.run(pin_action="restore").ok()
        assert zones(lab) == LOOSE


def writers(lab):
    """Transactions that read or write request specs at this moment."""
    statement = "SELECT trx_query FROM information_schema.innodb_trx WHERE trx_mysql_thread_id <> CONNECTION_ID()"
    return [row for row in lab.sql("api", statement) if "request_specs" in (row["trx_query"] or "")]


def test_a_restore_that_is_killed_is_run_again(pins):
    lab = pins.lab
    pins.run().ok()
    other = uuids(lab)["loose1"]
    with held_back(lab, "loose2"):
        process = pins.start(pin_action="restore")
        waiting.until("another pin is restored", lambda: zoning.pin(lab, other) is None or None, 120, 0.1)
        killing.kill(process)
    waiting.until("Nova has ended it", lambda: not writers(lab) or None, 120, 2)
    assert pins.old == {"loose1": None, "loose2": None, "loose3": None}
    pins.run(pin_action="restore").ok()
    assert (zones(lab), pins.old) == (LOOSE, {})


def test_what_an_owner_has_changed_since_is_named_and_left_alone(pins):
    lab = pins.lab
    pins.run().ok()
    set_zone(lab, "loose2", "elsewhere")
    done = pins.run(pin_action="restore").ok()
    assert zones(lab) == {**LOOSE, "loose2": "elsewhere"}
    if pins.book is None:
        assert "because another user has changed the pin: loose2 (now elsewhere)" in done.output
    assert pins.old == {"loose2": None}


def test_some_are_restored_and_the_others_stay(cloud, playbooks):
    pins = Pins(cloud, playbooks)
    pins.run().ok()
    pins.run(pin_all=None, pin_servers="loose1", pin_action="restore").ok()
    assert zones(cloud) == {**PINNED, "loose1": None}
    pins.run(pin_all=None, pin_hosts=["compute1"], pin_action="restore").ok()
    assert zones(cloud) == LOOSE


def test_a_second_run_beside_one_that_lives_is_refused(pins):
    with held_back(pins.lab, "loose2"):
        process = pins.start()
        waiting.until("it has begun", lambda: pins.file.exists() or None, 120, 0.1)
        pid = json.loads(pins.file.read_text())["run"]["pid"]
        os.kill(pid, signal.SIGSTOP)
    try:
        assert "SG707" in pins.run(pin_action="restore").failed().output
    finally:
        os.kill(pid, signal.SIGCONT)
    # The database may have ended the session of the stopped run.
    pins.playbooks.finish(process)
    pins.run().ok()
    assert zones(pins.lab) == PINNED


def test_a_pinned_server_is_still_a_server_to_nova(cloud, playbooks, tmp_path):
    """Nova loads the spec that was written: a cold migration is scheduled with it, within the zone."""
    in_database(cloud, playbooks, tmp_path).run().ok()
    uuid = uuids(cloud)["loose1"]
    cloud.action(uuid, "migrate", None)
    guestkit.wait_for(cloud, uuid, "VERIFY_RESIZE", timeout=300)
    assert cloud.server(uuid)["OS-EXT-SRV-ATTR:host"] == "compute2"
    cloud.action(uuid, "confirmResize", None)
    guestkit.wait_for(cloud, uuid, "ACTIVE", timeout=120)


def test_a_restore_tells_deleted_servers_from_those_that_nova_does_not_know(pins):
    """A 404 of other credentials counted as deleted, and the restore ended as a success."""
    lab = pins.lab
    pins.run().ok()
    gone = uuids(lab)["loose1"]
    lab.command("guests", "delete", "loose1")
    kept = json.loads(pins.file.read_text())
    unknown = {**kept["rows"][0], "server": "11111111-1111-4111-8111-111111111111", "name": "unknown1"}
    pins.file.write_text(json.dumps({**kept, "rows": [*kept["rows"], unknown]}))
    failed = pins.run(pin_action="restore").failed()
    assert "Nova does not show unknown1, and has no record that the server was deleted" in failed.output
    assert gone not in failed.output.partition("Nova does not show")[2].partition(".")[0]
    assert {name: zone for name, zone in zones(lab).items() if name != "held1"} == {"loose2": None, "loose3": None}
    assert pins.old == {"unknown1": None}
    pins.run(pin_action="restore", pin_partial=True).ok()
    assert pins.old == {}
