# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""pin_servers.yml as a process, against a small Nova of two cells behind HTTP: pinned, killed, restored, refused."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD
from ansible_collections.stackguard.nova.tests.unit.two_cells import TwoCells
from ansible_collections.stackguard.nova.tests.unit.zoned_http import serving

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

ALL = {"pin_all": True}
NAMES = ("web11", "web12", "web21", "web22")


class Nova(TwoCells):
    """Four servers in az1, two in each cell. ``hold``: the change of a pin that does not come back until it is let."""

    def __init__(self):
        super().__init__()
        self.changes, self.hold = [], None
        self.held, self.let = threading.Event(), threading.Event()

    def request(self, path, method, microversion, params, body):
        if method == "PUT":
            self.changes.append(path.split("/")[2])
            if self.hold == len(self.changes):
                self.held.set()
                self.let.wait(120)
        return self._compute(path, method, microversion, params, body)

    def place(self, path, method, microversion, params):
        return self._place(path, method, microversion, params)

    @property
    def now(self):
        return {row["name"]: row["pinned_availability_zone"] for row in self.rows}

    def set(self, name, pin):
        (row,) = [row for row in self.rows if row["name"] == name]
        row["pinned_availability_zone"] = pin


class Playbook:
    """One file with old pins, one report directory, one cloud."""

    def __init__(self, folder, auth_url):
        self.folder = folder
        auth = {"auth_url": auth_url, "username": "admin", "password": "s3cret-word", "project_name": "admin"}
        domains = {"user_domain_name": "Default", "project_domain_name": "Default"}
        clouds = {"clouds": {"small": {"auth": {**auth, **domains}, "region_name": "R"}}}
        (folder / "clouds.yaml").write_text(json.dumps(clouds))
        self.file = folder / "state" / "pins" / "old-pins.json"

    def start(self, *flags, **given):
        variables = {
            "cloud": "small",
            "stackguard_state_dir": str(self.folder / "state"),
            "stackguard_report_dir": str(self.folder / "reports"),
            "ansible_python_interpreter": sys.executable,
            **given,
        }
        (self.folder / "vars.json").write_text(json.dumps(variables))
        argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.pin_servers", *flags]
        argv += ["-i", "localhost,", "-e", f"@{self.folder / 'vars.json'}"]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(self.folder / "home")}
        env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_SHOW_CUSTOM_STATS="1")
        env.update(OS_CLIENT_CONFIG_FILE=str(self.folder / "clouds.yaml"))
        with (self.folder / "output").open("w") as output:
            return subprocess.Popen(
                argv, env=env, cwd=self.folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    def run(self, *flags, **given):
        code = self.start(*flags, **given).wait(timeout=300)
        return code, (self.folder / "output").read_text()

    def ok(self, *flags, **given):
        code, output = self.run(*flags, **given)
        assert code == 0, output
        return output

    def failed(self, *flags, **given):
        code, output = self.run(*flags, **given)
        assert code not in (0, 250), output
        assert '"findings"' not in output, "Ansible printed the whole value of the task that failed"
        return output

    def read(self, name):
        return json.loads((self.folder / "reports" / name).read_text())

    @property
    def old(self):
        return {row["name"]: row["before"] for row in json.loads(self.file.read_text())["rows"]}


@pytest.fixture
def cloud(tmp_path):
    nova = Nova()
    with serving(nova) as (auth_url, _seen):
        yield nova, Playbook(tmp_path, auth_url)


def test_the_approved_pins_are_made_and_twice_is_once_and_restored(cloud):
    nova, playbook = cloud
    none, pinned = dict.fromkeys(NAMES), dict.fromkeys(NAMES, "az1")
    output = playbook.ok("--check", "--diff", **ALL)
    assert "pinned_availability_zone: az1" in output
    assert str(playbook.file) in output, "where the old pins would be written"
    assert (nova.now, playbook.file.exists(), "changed=1" in output) == (none, False, True)
    plan = playbook.read("plan.json")["plan_sha256"]
    assert f"-e pin_expect_plan={plan}" in output

    output = playbook.ok(**ALL, pin_expect_plan=plan)
    assert nova.now == pinned
    assert f"4 pins changed, 0 were already correct, 0 failed. The old pins are in {playbook.file}" in output
    report = playbook.read("report.json")
    assert (report["verdict"], report["findings"], report["old_pins"]["path"]) == ("pass", [], str(playbook.file))
    rows = playbook.read("pins.json")
    assert {row["name"]: (row["before"], row["after"], row["outcome"]) for row in rows} == dict.fromkeys(
        NAMES, (None, "az1", "changed")
    )
    assert playbook.old == none
    assert stat.S_IMODE(playbook.file.stat().st_mode) == 0o600
    assert f'"plan_sha256": "{plan}"' in output
    assert '"state": "finished"' in output
    assert "s3cret-word" not in output + playbook.file.read_text()

    output = playbook.ok(**ALL, pin_expect_plan=plan)
    assert "changed=0" in output
    output = playbook.ok(pin_action="status")
    assert "4 as written" in output
    assert {row["now"] for row in playbook.read("pins.json")} == {"az1"}

    # An owner has the last word.
    nova.set("web21", "az2")
    output = playbook.ok("--check", **ALL, pin_action="restore")
    assert nova.now == {**pinned, "web21": "az2"}
    output = playbook.ok(**ALL, pin_action="restore")
    assert nova.now == {**none, "web21": "az2"}
    assert "1 left unchanged, because another user has changed the pin: web21 (now az2)" in output
    assert playbook.old == {"web21": None}


def test_killed_in_the_middle_the_same_command_ends_it_and_a_restore_takes_the_oldest_pins(cloud):
    nova, playbook = cloud
    nova.set("web12", "az1")
    nova.hold = 2
    process = playbook.start(**ALL)
    assert nova.held.wait(120), (playbook.folder / "output").read_text()
    first = playbook.old
    assert first == {"web11": None, "web21": None, "web22": None}, "all of them, before the first is changed"
    process.kill()
    process.wait()
    pid = json.loads(playbook.file.read_text())["run"]["pid"]
    nova.hold = None
    # The task is a process of its own, and goes on without the playbook: nobody else may change pins meanwhile.
    os.kill(pid, signal.SIGSTOP)
    nova.let.set()
    for action in ("apply", "restore"):
        assert "SG707" in playbook.failed(**ALL, pin_action=action)
    os.kill(pid, signal.SIGKILL)
    output = playbook.ok(pin_action="status")
    assert f"process {pid}" in output
    playbook.ok(**ALL)
    assert set(nova.now.values()) == {"az1"}
    assert playbook.old == first
    playbook.ok(pin_servers="web11,web21,web22", pin_action="restore")
    assert nova.now == {**dict.fromkeys(NAMES), "web12": "az1"}


@pytest.mark.matrix("playbooks")
@pytest.mark.parametrize(
    "selection", [ALL, {"pin_servers": "[?status=='ACTIVE']"}, {"pin_hosts": "compute1"}, {"pin_servers": "web11"}]
)
def test_no_pin_changes_while_a_cell_is_silent(cloud, selection):
    nova, playbook = cloud
    nova.silent = {"compute2"}
    output = playbook.failed(**selection, pin_partial=True)
    report = playbook.read("report.json")
    assert report["verdict"] == "block"
    assert {item["code"] for item in report["findings"] if item["severity"] == "blocker"} >= {"SG709"}
    assert "compute2" in output
    assert (nova.changes, playbook.file.exists()) == ([], False)


@pytest.mark.matrix("playbooks")
def test_a_server_in_a_task_refuses_all_until_it_is_overridden(cloud):
    nova, playbook = cloud
    nova.rows[0]["OS-EXT-STS:task_state"] = "rebooting"
    output = playbook.failed(**ALL)
    assert "refused, and nothing was changed: 1 server cannot be pinned (SG701)" in output
    assert (nova.changes, playbook.file.exists()) == ([], False)
    assert playbook.read("report.json")["verdict"] == "block"
    override = {"code": "SG701", "object": guest(1, 1), "reason": "it reboots all day"}
    output = playbook.ok(**ALL, stackguard_overrides=[override])
    assert "1 server left out: web11 (SG701)" in output
    assert nova.now == {**dict.fromkeys(NAMES, "az1"), "web11": None}


@pytest.mark.matrix("playbooks")
@pytest.mark.parametrize(
    ("selection", "told"),
    [
        ({}, "None of these variables is set"),
        ({"pin_all": True, "pin_servers": ["web11"]}, "Leave out all but one of pin_servers, pin_all"),
        ({"pin_action": "restore"}, "None of these variables is set"),
    ],
)
def test_not_exactly_one_selection_is_refused_with_the_fix(cloud, selection, told):
    nova, playbook = cloud
    output = " ".join(playbook.failed(**selection).split())
    assert told in output
    assert "-e pin_servers=NAMES (a list of servers, or a JMESPath filter), -e pin_hosts=HOSTS, or -e pin_all=true" in (
        output
    )
    assert nova.changes == []


@pytest.mark.matrix("playbooks")
def test_another_plan_than_the_approved_one_is_refused(cloud):
    nova, playbook = cloud
    playbook.ok("--check", **ALL)
    plan = playbook.read("plan.json")["plan_sha256"]
    nova.set("web11", "az1")
    output = playbook.failed(**ALL, pin_expect_plan=plan)
    assert f"pin_expect_plan is {plan}" in output
    assert (nova.changes, playbook.file.exists()) == ([], False)
