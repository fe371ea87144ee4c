# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""server_zone_pin on a real Nova: a cloud's unpinned servers are pinned to where they are, and the pins taken back."""

from __future__ import annotations

import json

import pytest
from labkit import guests as guestkit

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
        all_servers: "{{ omit if restore is defined else true }}"
        restore: "{{ restore | default(omit) }}"
        strategy: "{{ strategy | default('auto') }}"
        partial: "{{ partial | default(true) | bool }}"
      register: pinned

    - name: Make its directory
      ansible.builtin.file: {path: "{{ stackguard_report_dir }}", state: directory, mode: "0700"}
      check_mode: false
      changed_when: false

    - name: Keep what it returned
      ansible.builtin.copy:
        content: "{{ pinned | to_json }}"
        dest: "{{ stackguard_report_dir }}/pinned.json"
        mode: "0600"
      check_mode: false
      changed_when: false
"""


@pytest.fixture
def cloud(lab):
    """Two servers of az1 without a pin, one of az2 that is pinned."""
    lab.command("guests", "delete", "--all", check=False)
    guestkit.create(lab, "loose", "2", "--on", "compute1")
    guestkit.create(lab, "held", "1", "--zone", "az2")
    yield lab
    lab.command("guests", "delete", "--all", check=False)


@pytest.fixture
def pin(cloud, playbooks, tmp_path):
    book = tmp_path / "pin.yml"
    book.write_text(BOOK)

    def run(flags=(), **variables):
        done = playbooks.run(str(book), variables=variables, flags=flags).ok()
        return done, json.loads((done.directory / "reports" / "pinned.json").read_text())

    return run


def specs(lab):
    """Server's name to its whole request spec, as Nova stored it."""
    rows = lab.sql("api", "SELECT instance_uuid, spec FROM request_specs")
    names = {row["id"]: row["name"] for row in guestkit.every(lab).values()}
    return {names[row["instance_uuid"]]: row["spec"] for row in rows if row["instance_uuid"] in names}


def zones(lab):
    return {name: json.loads(text)["nova_object.data"]["availability_zone"] for name, text in specs(lab).items()}


@pytest.mark.parametrize("strategy", ["auto", "pin_db"])
def test_a_whole_cloud_is_pinned_and_unpinned(cloud, pin, strategy):
    loose, before = {"loose1": None, "loose2": None, "held1": "az2"}, specs(cloud)
    assert zones(cloud) == loose
    shown, told = pin(flags=["--check", "--diff"], strategy=strategy)
    assert sorted((row["name"], row["before"], row["after"]) for row in told["changes"]) == [
        ("loose1", None, "az1"),
        ("loose2", None, "az1"),
    ]
    assert "loose1" in shown.output
    assert specs(cloud) == before, "check mode changed something"
    _done, told = pin(strategy=strategy)
    assert zones(cloud) == {"loose1": "az1", "loose2": "az1", "held1": "az2"}
    assert specs(cloud)["held1"] == before["held1"]
    done, _again = pin(strategy=strategy)
    assert done.changed == 0
    pin(restore=told["changes"], strategy=strategy)
    assert zones(cloud) == loose
    if strategy == "pin_db":
        assert specs(cloud) == before, "not one other character"


def test_a_pinned_server_is_still_a_server_to_nova(cloud, pin):
    """Nova loads the spec that was written: a cold migration is scheduled with it, within the zone."""
    pin(strategy="pin_db")
    (uuid,) = [row["id"] for row in guestkit.every(cloud).values() if row["name"] == "loose1"]
    cloud.action(uuid, "migrate", None)
    guestkit.wait_for(cloud, uuid, "VERIFY_RESIZE", timeout=300)
    assert cloud.server(uuid)["OS-EXT-SRV-ATTR:host"] == "compute2"
    cloud.action(uuid, "confirmResize", None)
    guestkit.wait_for(cloud, uuid, "ACTIVE", timeout=120)


def test_a_restore_tells_deleted_servers_from_those_that_nova_does_not_know(cloud, pin, playbooks, tmp_path):
    """A 404 of other credentials counted as deleted, and the restore ended as a success."""
    _done, told = pin()
    (gone,) = [row["server"] for row in told["changes"] if row["name"] == "loose1"]
    cloud.command("guests", "delete", "loose1")
    unknown = {**told["changes"][0], "server": "11111111-1111-4111-8111-111111111111"}
    book, kept = str(tmp_path / "pin.yml"), [*told["changes"], unknown]
    refused = playbooks.run(book, variables={"restore": kept, "partial": False}).failed()
    assert f"Nova does not show {unknown['server']}, and has no record that the server was deleted" in refused.output
    assert (gone in refused.output.partition("Nova does not show")[2].partition(".")[0], zones(cloud)["loose2"]) == (
        False,
        "az1",
    )
    pin(restore=told["changes"], partial=False)
    assert zones(cloud)["loose2"] is None
