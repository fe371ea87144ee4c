# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets in what is wrong itself: URLs that are none, options of the wrong type, a cloud that refuses the password.

Each run has the highest verbosity. What is right but reaches nothing is in tests/unit/awx/test_jobs.py, a real cloud in
tests/integration/test_0_secrets.py.
"""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading

import pytest

from ansible_collections.stackguard.nova.tests.labkit.canary import Canaries
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}


@pytest.fixture
def canaries():
    return Canaries()


@pytest.fixture
def keystone():
    """Refuses whoever comes, as keystone does."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.dumps({"error": {"code": 401, "title": "Unauthorized", "message": "Invalid password"}}).encode()
            self.send_response(401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.do_POST()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v3"
        server.shutdown()


@pytest.fixture
def run(tmp_path, short_tmp, canaries):
    (tmp_path / "inventory.json").write_text(json.dumps({"compute": {"hosts": {"compute1": HERE, "compute2": HERE}}}))

    def playbook(name, variables, play=None):
        given = {
            "stackguard_report_dir": str(tmp_path / "reports"),
            "stackguard_state_dir": str(tmp_path / "state"),
            "stackguard_host_state_dir": str(tmp_path / "host-state"),
            **variables,
        }
        (tmp_path / "vars.json").write_text(json.dumps(given))
        if play is not None:
            (tmp_path / "play.json").write_text(json.dumps([play]))
        argv = [sys.executable, "-m", "ansible", "playbook", name, "-vvvv", "--diff"]
        argv += ["-i", str(tmp_path / "inventory.json"), "-e", f"@{tmp_path / 'vars.json'}"]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
        env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_SHOW_CUSTOM_STATS="1", TMPDIR=str(short_tmp))
        env.update(ANSIBLE_LOG_PATH=str(tmp_path / "log"), ANSIBLE_LOCAL_TEMP=str(short_tmp))
        with canaries.watched():
            done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        told = done.stdout + done.stderr
        assert canaries.found(told) == [], [line for line in told.splitlines() if canaries.found(line)]
        assert canaries.left(tmp_path, short_tmp, but=[tmp_path / "vars.json"]) == []
        assert canaries.argv == set()
        return done.returncode, told

    return playbook


def urls(canaries):
    return {
        "not a URL": f"nova {canaries['database']}",
        # As people forget to: @ ends the password too early.
        "not quoted": f"mysql+pymysql://nova:{canaries['database']}@127.0.0.1:1/nova_api",
    }


@pytest.mark.matrix("playbooks")
@pytest.mark.parametrize("what", ["not a URL", "not quoted"])
def test_a_url_that_is_none(run, canaries, what):
    url = urls(canaries)[what]
    code, told = run(
        "stackguard.nova.repair_links",
        {"nova_api_db_url": url, "nova_cell_db_urls": {"cell1": url}, "stackguard_compute_hosts": "compute1"},
    )
    assert code == 2, told[-3000:]


def test_a_cloud_that_refuses_the_password_and_urls_given_as_text(run, canaries, keystone):
    auth = {"auth_url": keystone, "username": "admin", "project_name": "admin", "password": canaries["cloud"]}
    auth.update(user_domain_name="Default", project_domain_name="Default")
    code, told = run(
        "stackguard.nova.rename_host",
        {
            "rename_from": "compute1",
            "rename_to": "renamed1",
            "auth": auth,
            "nova_api_db_url": f"mysql+pymysql://nova:{canaries.url('api')}@127.0.0.1:1/nova_api",
            # A dictionary is wanted.
            "nova_cell_db_urls": f"mysql+pymysql://nova:{canaries.url('cell')}@127.0.0.1:1/nova_cell1",
            "neutron_db_url": ["neutron", canaries["neutron"]],
            "stackguard_rabbit_urls": ["rabbit", canaries["rabbit"]],
        },
    )
    assert code == 2, told[-3000:]


@pytest.mark.parametrize("kind", [dict, str])
def test_options_of_power_modules(run, canaries, kind):
    """The role checks its arguments before anything else; what it says of those that are wrong."""
    options = {"baseuri": "bmc.example", "username": "admin", "password": canaries["power"]}
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "tasks": [{"name": "Begin", "ansible.builtin.include_role": {"name": "stackguard.nova.evacuate_host"}}],
    }
    given = options if kind is dict else f"baseuri bmc.example password {canaries['power']}"
    variables = {"evacuate_host": "compute1", "evacuate_fence": "power"}
    code, told = run(
        "play.json", {**variables, "evacuate_power_options": given, "evacuate_power_state_options": given}, play
    )
    assert "Validating arguments against arg spec" in told
    assert code == 2, told[-3000:]


def test_every_way_to_write_a_secret_is_looked_for(canaries, tmp_path):
    import base64

    secret = canaries["one"]
    for text in (
        f"x{secret}y",
        canaries.url("one"),
        *(base64.b64encode(b"a" * shift + secret.encode() + b"b" * 7).decode() for shift in range(3)),
    ):
        (tmp_path / "file").write_text(text)
        assert canaries.left(tmp_path), text
    (tmp_path / "file").write_text("nothing")
    assert canaries.left(tmp_path) == []
