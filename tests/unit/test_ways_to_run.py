# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inventories with a localhost of their own, playbooks by path, a virtual environment that is not activated, few forks.

Modules on the controller run in the Python of ansible-playbook, where the libraries are, whatever the inventory says of
localhost and whatever Python comes first in PATH.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT
from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import entries
from ansible_collections.stackguard.nova.tests.unit.test_playbook_reads import GONE, HERE

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

PROGRAM = pathlib.Path(sys.executable).parent / "ansible-playbook"
#: A Python that has none of the libraries, as the distribution's does not. It leaves a trace.
TRACE = """#!/bin/sh
echo used >>"{trace}"
exec {python} -S -E "$@"
"""
LOCAL = {"ansible_connection": "local"}


@pytest.fixture
def run(tmp_path, short_tmp):
    """Runs a playbook in the environment of cron; ``run.trace`` is there if the wrong Python was used."""
    (tmp_path / "bin").mkdir()
    trace = tmp_path / "wrong-python-was-used"
    for name in ("python3", "python"):
        (tmp_path / "bin" / name).write_text(TRACE.format(trace=trace, python=sys.executable))
        (tmp_path / "bin" / name).chmod(0o755)

    def playbook(name, *options, inventory=None, **given):
        shared = {"stackguard_report_dir": str(tmp_path / "reports"), "stackguard_state_dir": str(tmp_path / "state")}
        (tmp_path / "vars.json").write_text(json.dumps({"cloud": "no-such-cloud", **shared, **given}))
        if inventory is not None:
            (tmp_path / "inventory.json").write_text(json.dumps(inventory))
            options = ("-i", str(tmp_path / "inventory.json"), *options)
        env = {
            "PATH": f"{tmp_path / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "TMPDIR": str(short_tmp),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_HOST_KEY_CHECKING": "0",
            "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"),
        }
        if "PYTEST_XDIST_WORKER" in os.environ:
            env["ANSIBLE_LOCAL_TEMP"] = str(short_tmp / "local")
        argv = [str(PROGRAM), name, *options, "-e", f"@{tmp_path / 'vars.json'}"]
        return subprocess.run(
            argv, env=env, cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )

    playbook.trace, playbook.reports = trace, tmp_path / "reports"
    return playbook


def ended(done, words, status=2):
    told = done.stdout + done.stderr
    assert done.returncode == status, told
    assert "Traceback" not in told, told
    assert "not installed" not in told and "Failed to import" not in told, told
    assert words in " ".join(told.split()), told


def seen(run, code):
    """What was seen of the sources that were not read."""
    report = json.loads((run.reports / "report.json").read_text())
    return str([entry["evidence"] for entry in report["findings"] if entry["code"] == code])


#: Of an audit that needs a library of the controller for each source.
SOURCES = {"audit_sources": ["api", "databases"], "nova_api_db_url": "mysql+pymysql://user:secret@127.0.0.1:1/nothing"}


@pytest.mark.parametrize(
    "inventory",
    [
        {"all": {"hosts": {"localhost": LOCAL}}},
        {"all": {"hosts": {"localhost": {}}}},
        # what many give all hosts, meaning the compute hosts
        {"all": {"hosts": {"localhost": LOCAL}, "vars": {"ansible_python_interpreter": "python3"}}},
    ],
    ids=["local", "bare", "with-the-interpreter-of-all"],
)
def test_an_explicit_localhost(run, inventory):
    ended(run("stackguard.nova.audit", inventory=inventory, **SOURCES), "verdict block")
    assert not run.trace.exists(), "a module on the controller ran in another Python"
    assert "OpenStack: Cloud no-such-cloud was not found." in seen(run, "SG709")
    assert "Connection refused" in seen(run, "SG311")


@pytest.mark.matrix("playbooks")
def test_localhost_as_the_whole_inventory(run):
    ended(run("stackguard.nova.audit", "-i", "localhost,", **SOURCES), "verdict block")
    assert not run.trace.exists(), "a module on the controller ran in another Python"
    assert "OpenStack: Cloud no-such-cloud was not found." in seen(run, "SG709")


@pytest.mark.parametrize("name", entries())
def test_every_playbook_by_path_with_an_explicit_localhost(run, name):
    """From the checkout, and where the inventory has a localhost beside the compute hosts."""
    hosts = {"localhost": LOCAL}
    inventory = {"all": {"hosts": hosts}, "compute": {"hosts": {"compute1": HERE, "compute2": HERE}}}
    entry = entries()[name]
    done = run(str(ROOT / "playbooks" / f"{name}.yml"), "--forks", "5", inventory=inventory, **entry.given)
    ended(done, entry.no_cloud, 0 if entry.needs_nothing else 2)
    assert not run.trace.exists(), "a module on the controller ran in another Python"


def test_more_hosts_than_forks(run):
    """Five forks are Ansible's own default: the rest waits, and none is forgotten."""
    hosts = {f"compute{number}": GONE for number in range(1, 13)}
    done = run(
        "stackguard.nova.audit", "--forks", "5", inventory={"compute": {"hosts": hosts}}, audit_sources=["hosts"]
    )
    ended(done, "verdict block")
    report = json.loads((run.reports / "report.json").read_text())
    assert {entry["object"]["id"] for entry in report["findings"] if entry["code"] == "SG114"} == set(hosts)


@pytest.mark.matrix("playbooks")
@pytest.mark.parametrize("name", ["rename_host", "drain_host"])
def test_an_operation_with_more_hosts_than_forks(run, name):
    entry = entries()[name]
    hosts = {"compute1": HERE, **{f"compute{number}": GONE for number in range(2, 13)}}
    done = run(f"stackguard.nova.{name}", "--forks", "5", inventory={"compute": {"hosts": hosts}}, **entry.given)
    ended(done, entry.no_cloud)
    recap = done.stdout.partition("PLAY RECAP")[2]
    assert all(f"\n{host} " in recap for host in hosts), recap
