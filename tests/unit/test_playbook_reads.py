# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What rename_host.yml reads before it decides: with an open journal nothing but that, else every host that answers.

The playbook runs whole, as a process, on this machine alone; it ends where it would need a cloud. Whatever ends it: the
reason is told, report and workflow have it, the evidence directory is gone and no report of an earlier run is left.
"""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import runner
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
BROKEN = {"ansible_connection": "local", "ansible_python_interpreter": "/nonexistent/python"}
#: Nobody listens on port 1.
GONE = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_connection": "ssh"}


@pytest.fixture
def run(tmp_path, short_tmp):
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "report.json").write_text('{"verdict": "pass"}')
    (tmp_path / "reports" / "evidence.jsonl").write_text("{}")

    def playbook(*options, hosts=None, **given):
        inventory = {"compute": {"hosts": hosts or {"compute1": HERE, "compute2": BROKEN}}}
        (tmp_path / "inventory.json").write_text(json.dumps(inventory))
        variables = {
            "rename_from": "compute1",
            "rename_to": "renamed1",
            "stackguard_host_state_dir": str(tmp_path / "state"),
            "stackguard_report_dir": str(tmp_path / "reports"),
            "nova_api_db_url": "mysql+pymysql://user:secret@127.0.0.1:1/nothing",
            "cloud": "nothing",
            **given,
        }
        (tmp_path / "vars.json").write_text(json.dumps({key: value for key, value in variables.items() if value}))
        argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.rename_host", *options]
        argv += ["-i", str(tmp_path / "inventory.json"), "-e", f"@{tmp_path / 'vars.json'}"]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
        env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_STDOUT_CALLBACK="default", ANSIBLE_SHOW_CUSTOM_STATS="1")
        env.update(TMPDIR=str(short_tmp), ANSIBLE_HOST_KEY_CHECKING="0")
        return subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)

    return playbook


def test_an_open_rename_is_carried_on_with_whatever_other_hosts_and_the_cloud_answer(run, tmp_path):
    some = fleet()
    plan = rename.plan(some.cloud.bundle, some.request)
    about = {"rename_from": "compute1", "rename_to": "renamed1", "plan_sha256": None}
    opened = {**runner.new_journal(plan, about, "2026-01-01T00:00:00Z"), "run": {"token": "t", "controller": "c"}}
    journal.open_new(str(tmp_path / "state"), opened)
    told = run("--check").stdout
    assert "would resume this operation" in told or "compute1 -> renamed1: open" in told, told
    assert "skipping: [compute2]" in told, told
    assert "Collect facts from the APIs" not in told, told
    assert "failed=0" in told.partition("PLAY RECAP")[2], told


def test_without_one_everything_is_read_and_a_host_that_fails_does_not_end_the_run(run):
    told = run("--check").stdout
    assert "Collect facts from the APIs" in told, told
    recap = told.partition("PLAY RECAP")[2]
    (peer,) = [line for line in recap.splitlines() if line.startswith("compute2")]
    assert "failed=0" in peer, told
    assert "unreachable=0" in peer, told


# --- whatever ends it -------------------------------------------------------------------------------------------


class _Refusing(http.server.BaseHTTPRequestHandler):
    """An identity service that knows nobody."""

    def do_GET(self):
        port = self.server.server_address[1]
        links = [{"rel": "self", "href": f"http://127.0.0.1:{port}/v3/"}]
        self._answer(200, {"version": {"id": "v3.14", "status": "stable", "links": links}})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(401, {"error": {"code": 401, "title": "Unauthorized", "message": "authentication is required"}})

    def _answer(self, status, plain):
        body = json.dumps(plain).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        """Nothing on the terminal."""


@pytest.fixture
def keystone():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v3"
        server.shutdown()
        thread.join()


def ended(done, tmp_path, short_tmp):
    """The report of a run that failed, after everything that must hold of any."""
    told = done.stdout + done.stderr
    assert done.returncode not in (0, 250), told
    assert "secret" not in told, "a password is shown"
    assert list(short_tmp.glob("stackguard-*")) == [], told
    assert not (tmp_path / "reports" / "evidence.jsonl").exists(), "evidence of an earlier run was left"
    report = json.loads((tmp_path / "reports" / "report.json").read_text())
    assert (report["verdict"], report["counts"]["unchecked"]) == ("block", len(report["unchecked"])), told
    return report


def stats(told):
    """What the workflow gets, as the default callback prints it."""
    return told.partition("CUSTOM STATS:")[2]


@pytest.mark.matrix("playbooks")
@pytest.mark.parametrize("options", [(), ("--check",)])
def test_a_cloud_that_is_not_in_clouds_yaml(run, tmp_path, short_tmp, options):
    done = run(*options)
    (entry,) = ended(done, tmp_path, short_tmp)["unchecked"]
    assert "Cloud nothing was not found" in entry["reason"], done.stdout
    assert (entry["code"], entry["object"]) == ("SG709", "compute1")
    assert "Cloud nothing was not found" in stats(done.stdout)
    assert "Cloud nothing was not found" in done.stdout.partition("fatal: ")[2].partition("TASK")[0]


@pytest.mark.matrix("playbooks")
def test_a_wrong_password(run, tmp_path, short_tmp, keystone):
    auth = {"auth_url": keystone, "username": "admin", "password": "secret-1", "project_name": "admin"}
    auth.update(user_domain_id="default", project_domain_id="default")
    done = run(cloud=None, auth=auth)
    (entry,) = ended(done, tmp_path, short_tmp)["unchecked"]
    assert "401" in entry["reason"], done.stdout
    assert "401" in stats(done.stdout)


def test_a_host_that_does_not_answer(run, tmp_path, short_tmp):
    done = run(hosts={"compute1": GONE, "compute2": HERE})
    (entry,) = ended(done, tmp_path, short_tmp)["unchecked"]
    assert entry["reason"].startswith("nothing was decided: "), done.stdout
    assert "Connection refused" in entry["reason"], done.stdout
    assert "UNREACHABLE" in done.stdout
    assert "Collect facts from the other compute hosts" not in done.stdout


@pytest.mark.parametrize("given", [{}, {"rename_strategy": "drain"}, {"rename_action": "status"}])
@pytest.mark.parametrize(("name", "text"), [("rename", "torn"), ("migrate", '{"schema": 2}')])
def test_a_journal_that_is_not_understood(run, tmp_path, short_tmp, given, name, text):
    (tmp_path / "state" / "rename").mkdir(parents=True)
    (tmp_path / "state").chmod(0o700)
    path = tmp_path / "state" / f"{name}.json"
    path.write_text(text)
    done = run(**given)
    (entry,) = ended(done, tmp_path, short_tmp)["findings"]
    assert (entry["code"], entry["severity"], entry["evidence"]["journal"]) == ("SG706", "blocker", str(path))
    assert str(path) in done.stdout
    assert "Collect facts from the APIs" not in done.stdout
    assert path.read_text() == text


def test_a_variable_that_the_role_does_not_take(run, tmp_path, short_tmp):
    done = run(rename_start_timeout="soon")
    ended(done, tmp_path, short_tmp)
    assert "rename_start_timeout" in done.stdout
