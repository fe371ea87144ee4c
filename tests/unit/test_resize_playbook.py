# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""resize_server.yml as a process, against a small Nova behind HTTP: it stays, strays, is refused, is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD
from ansible_collections.stackguard.nova.tests.unit.zoned_http import serving
from ansible_collections.stackguard.nova.tests.unit.zoned_nova import Nova

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible


class Playbook:
    """One journal, one report directory, one cloud."""

    def __init__(self, folder, auth_url):
        self.folder = folder
        auth = {"auth_url": auth_url, "username": "admin", "password": "s3cret-word", "project_name": "admin"}
        domains = {"user_domain_name": "Default", "project_domain_name": "Default"}
        clouds = {"clouds": {"small": {"auth": {**auth, **domains}, "region_name": "R"}}}
        (folder / "clouds.yaml").write_text(json.dumps(clouds))

    def start(self, *flags, **given):
        variables = {
            "cloud": "small",
            "resize_server": "web1",
            "resize_flavor": "m1.large",
            "stackguard_state_dir": str(self.folder / "state"),
            "stackguard_report_dir": str(self.folder / "reports"),
            "ansible_python_interpreter": sys.executable,
            **given,
        }
        (self.folder / "vars.json").write_text(json.dumps(variables))
        argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.resize_server", *flags]
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

    def codes(self):
        report = json.loads((self.folder / "reports" / "report.json").read_text())
        return {item["code"] for item in report["findings"] if item["severity"] == "blocker"}


@pytest.fixture
def cloud(tmp_path, request):
    """A small Nova, as the test wants it, and the playbook that reaches it."""
    nova = Nova(**getattr(request, "param", {}))
    with serving(nova) as (auth_url, seen):
        nova.seen = seen
        yield nova, Playbook(tmp_path, auth_url)


def test_it_stays_in_its_zone_and_twice_is_once(cloud):
    nova, playbook = cloud
    code, output = playbook.run("--check", "--diff")
    assert code == 0, output
    assert nova.calls == []
    code, output = playbook.run()
    assert code == 0, output
    assert nova.server == {"status": "ACTIVE", "host": "compute2", "flavor": "2", "task": None, "pin": None}
    assert "pin_api keeps the server in az1" in output
    assert "s3cret-word" not in output
    code, output = playbook.run()
    assert (code, "changed=0" in output) == (0, True)


@pytest.mark.matrix("playbooks")
@pytest.mark.parametrize("cloud", [{"max_microversion": (2, 96)}], indirect=True)
def test_a_stray_is_reverted_and_reported(cloud):
    nova, playbook = cloud
    code, output = playbook.run()
    assert code != 0, output
    assert playbook.codes() == {"SG407"}
    assert nova.server == {"status": "ACTIVE", "host": "compute1", "flavor": "1", "task": None, "pin": None}


@pytest.mark.matrix("playbooks")
def test_refused_it_leaves_a_report_and_the_server_as_it_was(cloud):
    nova, playbook = cloud
    code, output = playbook.run(resize_flavor="m1.huge")
    assert code != 0, output
    assert playbook.codes() == {"SG406"}
    assert nova.calls == []
    assert output.count("refused, and nothing was changed: SG406") >= 1
    assert '"findings"' not in output, "Ansible printed the whole value of the task that failed"
    code, output = playbook.run(resize_server="nobody")
    assert code != 0, output
    report = json.loads((playbook.folder / "reports" / "report.json").read_text())
    assert (report["verdict"], report["findings"]) == ("block", []), "the report of an earlier run"
    assert [(item["code"], "nobody" in item["reason"]) for item in report["unchecked"]] == [("SG709", True)]
    assert '"verdict": "block"' in output


@pytest.mark.parametrize("action", ["apply", "rollback"])
def test_killed_in_the_middle_it_is_carried_on_with_or_taken_back(cloud, action):
    nova, playbook = cloud
    nova.ticks = 10**6
    process = playbook.start()
    end = time.monotonic() + 120
    while ("resize",) not in nova.calls and time.monotonic() < end:
        time.sleep(0.05)
    assert ("resize",) in nova.calls, (playbook.folder / "output").read_text()
    process.kill()
    process.wait()
    # The task is a process of its own, and goes on without the playbook: nobody else may carry on meanwhile.
    code, output = playbook.run(resize_action=action)
    assert code != 0, output
    assert "SG707" in output
    (journal,) = (playbook.folder / "state").glob("*.json")
    os.kill(json.loads(journal.read_text())["run"]["pid"], signal.SIGKILL)
    nova.ticks, nova.left = 2, 1
    code, output = playbook.run(resize_action=action)
    assert code == 0, output
    host, flavor = ("compute2", "2") if action == "apply" else ("compute1", "1")
    assert nova.server == {"status": "ACTIVE", "host": host, "flavor": flavor, "task": None, "pin": None}
    assert nova.calls.count(("resize",)) == 1
    assert not list((playbook.folder / "state").glob("*.json"))
