# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""domain_definition as a task, with a stand-in for libvirt on the host: records, compares, and keeps its hands off."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD
from ansible_collections.stackguard.nova.tests.unit.model.test_domain_xml import LIVE

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

UUID = "8961cf04-0ee7-44b1-9ed3-a4b18e535683"
#: What the binding answers on this host: one guest, its XML from a file.
BINDING = f"""
import pathlib
VIR_ERR_NO_DOMAIN, VIR_DOMAIN_XML_INACTIVE = 42, 2
class libvirtError(Exception): pass
def registerErrorHandler(handler, context): pass
HERE = pathlib.Path(__file__).parent
class Domain:
    def isActive(self): return 1
    def isPersistent(self): return 1
    def UUIDString(self): return {UUID!r}
    def name(self): return "instance-00000001"
    def XMLDesc(self, flags): return (HERE / ("inactive.xml" if flags == 2 else "live.xml")).read_text()
class Connection:
    def listAllDomains(self, flags): return [Domain()]
    def close(self): pass
def openReadOnly(uri): return Connection()
"""


@pytest.fixture
def task(tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    (library / "libvirt.py").write_text(BINDING)

    def run(*flags, live=LIVE, inactive=None, **options):
        (library / "live.xml").write_text(live)
        (library / "inactive.xml").write_text(inactive or live)
        given = {"definitions_dir": str(tmp_path / "records"), **options}
        given = {key: value for key, value in given.items() if value is not None}
        write = {"ansible.builtin.copy": {"content": "{{ told | to_json }}", "dest": str(tmp_path / "told")}}
        write = {**write, "check_mode": False, "diff": False}
        read = {"stackguard.nova.domain_definition": given, "register": "told", "ignore_errors": True}
        play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [read, write]}
        play["environment"] = {"PYTHONPATH": str(library)}
        (tmp_path / "play.json").write_text(json.dumps([play]))
        argv = [sys.executable, "-m", "ansible", "playbook", *flags, str(tmp_path / "play.json")]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
        done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads((tmp_path / "told").read_text())

    return run


def codes(told):
    return [item["code"] for item in told["findings"]]


def test_a_guest_is_recorded_once_and_compared_from_then_on(task, tmp_path):
    first = task()
    assert (first["changed"], codes(first)) == (True, ["SG607"])
    again = task()
    assert (again["changed"], codes(again)) == (False, [])
    moved = task(live=LIVE.replace("slot='0x02'", "slot='0x09'"))
    assert (moved["changed"], codes(moved)) == (True, ["SG601"])
    assert codes(task(live=LIVE.replace("slot='0x02'", "slot='0x09'"))) == []
    assert len(list((tmp_path / "records" / "definitions").iterdir())) == 2
    assert "definitions" not in first


@pytest.mark.matrix("playbooks")
def test_nothing_is_recorded_in_check_mode_or_unless_asked_for(task, tmp_path):
    assert codes(task("--check")) == ["SG607"]
    assert task(record=False)["changed"] is False
    assert not (tmp_path / "records").exists()


def test_the_next_start(task):
    assert codes(task(inactive=LIVE.replace("pc-i440fx-7.2", "pc-i440fx-8.0"))) == ["SG606", "SG607"]


def test_without_a_directory_the_definitions_are_returned(task):
    told = task(definitions_dir=None)
    assert told["guests"][0]["uuid"] == UUID
    assert set(told["definitions"]) == {told["guests"][0]["live"]["sha256"]}


def test_a_guest_that_is_not_here_is_said_so(task):
    told = task(guests=[UUID, "11111111-2222-3333-4444-555555555555"])
    assert told["failed"]
    assert told["msg"] == "these guests are not on this host: 11111111-2222-3333-4444-555555555555"
    assert codes(task(guests=[UUID])) == ["SG607"]


@pytest.mark.matrix("playbooks")
def test_a_record_that_cannot_be_understood_is_refused(task, tmp_path):
    task()
    (tmp_path / "records" / "guests" / f"{UUID}.json").write_text("torn")
    assert "not JSON" in task()["msg"]
