# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The doctor as a process, on this machine and a small cloud behind HTTP: what it reports, and when it ends with 0."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import doctor
from ansible_collections.stackguard.nova.tests.unit import doctored
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD
from ansible_collections.stackguard.nova.tests.unit.test_playbook_reads import GONE, HERE
from ansible_collections.stackguard.nova.tests.unit.zoned_http import serving

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

SECRET = "very-secret-password"
DATABASE = f"mysql+pymysql://user:{SECRET}@127.0.0.1:1/nova_api"


@pytest.fixture
def nova():
    return doctored.Nova()


@pytest.fixture
def run(tmp_path, short_tmp, nova):
    conf = tmp_path / "nova.conf"
    conf.write_text("[DEFAULT]\nstate_path = /var/lib/nova\n[libvirt]\nimages_type = qcow2\n")
    with serving(nova, doctored.Handler) as (url, _seen):
        auth = {"auth_url": url, "username": "admin", "password": SECRET, "project_name": "admin"}
        auth.update(user_domain_name="Default", project_domain_name="Default")
        (tmp_path / "clouds.yaml").write_text(json.dumps({"clouds": {"mine": {"auth": auth}}}))

        def playbook(*options, hosts=None, **given):
            compute = {"compute1": HERE} if hosts is None else hosts
            inventory = {"compute": {"hosts": compute}, "keepers": {"hosts": {"keeper": GONE}}}
            (tmp_path / "inventory.json").write_text(json.dumps(inventory))
            own = {f"stackguard_{what}_dir": str(tmp_path / what) for what in ("state", "host_state")}
            variables = {
                "cloud": "mine",
                "stackguard_report_dir": str(tmp_path / "reports"),
                "stackguard_nova_conf_files": [str(conf)],
                **own,
                **given,
            }
            (tmp_path / "vars.json").write_text(json.dumps(variables))
            argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.doctor", *options]
            argv += ["-i", str(tmp_path / "inventory.json"), "-e", f"@{tmp_path / 'vars.json'}"]
            env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
            env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_STDOUT_CALLBACK="default", ANSIBLE_SHOW_CUSTOM_STATS="1")
            env.update(TMPDIR=str(short_tmp), ANSIBLE_HOST_KEY_CHECKING="0")
            done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
            told = done.stdout + done.stderr
            assert SECRET not in told
            assert "Traceback" not in told, told
            assert list(short_tmp.glob("stackguard-*")) == [], "what hosts answered is removed"
            assert not (tmp_path / "state").exists() and not (tmp_path / "host_state").exists(), "nothing is made"
            return done

        yield playbook


@pytest.fixture
def report(tmp_path):
    return lambda: json.loads((tmp_path / "reports" / "doctor.json").read_text())


def states(found):
    return {(result["subject"], result["part"]): result["state"] for result in found["results"]}


def test_with_a_cloud_alone_it_ends_with_0_and_has_changed_nothing(run, report, nova, tmp_path):
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "report.json").write_text('{"verdict": "pass"}')
    done = run(doctor_sources=["api"])
    assert done.returncode == 0, done.stdout + done.stderr
    found = report()
    assert (found["verdict"], set(states(found).values())) == ("pass", {"ok"})
    assert {part for _subject, part in states(found)} == set(doctor.PARTS["api"])
    assert {method for method, _path in nova.asked} == {"GET"}
    assert "changed=0" in done.stdout and "ready: 7 checks: 7 ok" in done.stdout
    assert '"operation": "doctor"' in done.stdout and '"verdict": "pass"' in done.stdout, "set_stats"
    assert json.loads((tmp_path / "reports" / "report.json").read_text()) == {"verdict": "pass"}, "it is the audit's"


@pytest.mark.matrix("playbooks")
def test_in_check_mode_it_does_the_same(run, report):
    assert run("--check", doctor_sources=["api"]).returncode == 0
    assert report()["verdict"] == "pass"


def test_a_user_who_is_no_administrator_is_a_failure_with_its_command(run, report, nova):
    nova.refused = "/servers/detail"
    done = run(doctor_sources=["api"])
    assert done.returncode == 2, done.stdout + done.stderr
    found = report()
    assert (found["verdict"], found["counts"]["failed"]) == ("block", 1)
    assert "openstack role add --project admin --user admin admin" in done.stdout
    last = done.stdout.partition("PLAY RECAP")[0].rpartition("TASK [")[2]
    assert "not ready: 7 checks: 6 ok, 1 failed, 0 not checked" in " ".join(last.split())


@pytest.mark.matrix("playbooks")
def test_what_is_not_checked_needs_the_option(run, report, nova, monkeypatch):
    monkeypatch.setitem(doctored.LISTS, "/agents", {"agents": []})
    for accepted, status in (([], 2), (["host_clock"], 2), (["network_api"], 0)):
        done = run(doctor_sources=["api"], doctor_accept_unchecked=accepted)
        assert done.returncode == status, done.stdout + done.stderr
        assert states(report())["cloud", "network_api"] == "not checked"


def test_all_that_is_wrong_is_reported_at_once(run, report):
    """One host that answers, one that does not, a database that is down, and a host of the journals that is silent."""
    done = run(hosts={"compute1": HERE, "compute2": GONE}, nova_api_db_url=DATABASE, stackguard_state_host="keeper")
    assert done.returncode == 2, done.stdout + done.stderr
    found = states(report())
    assert {part for _subject, part in found} == set(doctor.ALL_PARTS)
    assert found["compute1", "reached"] == found["compute1", "python"] == found["compute1", "nova_conf"] == "ok"
    assert found["compute1", "host_journals"] == found["compute1", "rbd"] == found["cloud", "credentials"] == "ok"
    assert found["compute1", "root"] == ("ok" if os.geteuid() == 0 else "failed")
    assert found["compute2", "reached"] == "failed" and found["compute2", "python"] == "not checked"
    assert found["api", "database"] == found["keeper", "journals"] == "failed"
    assert found["neutron", "database"] == "failed", "the cloud has an L2 agent"
    words = " ".join(done.stdout.split())
    assert "compute2 does not answer Ansible" in words and "keeper does not answer Ansible" in words


@pytest.mark.matrix("playbooks")
def test_journals_of_the_controller_are_looked_at_in_the_directory_that_is_named(run, report, tmp_path):
    assert run(doctor_sources=["journals"]).returncode == 0
    (result,) = report()["results"]
    assert (result["subject"], result["part"], result["state"]) == ("localhost", "journals", "ok")
    (tmp_path / "file").write_text("")
    done = run(doctor_sources=["journals"], stackguard_state_dir=str(tmp_path / "file"))
    assert done.returncode == 2 and report()["results"][0]["state"] == "failed"


@pytest.mark.matrix("playbooks")
def test_a_group_without_a_host_is_a_failure(run, report):
    done = run(doctor_sources=["hosts"], stackguard_compute_hosts="nobody")
    assert done.returncode == 2, done.stdout + done.stderr
    assert states(report()) == {("compute", "reached"): "failed"}


def test_a_refusal_removes_the_report_of_an_earlier_run(run, report, tmp_path):
    assert run(doctor_sources=["journals"]).returncode == 0
    done = run(doctor_sources=[])
    assert done.returncode == 2 and "Set doctor_sources to at least one source" in " ".join(done.stdout.split())
    assert not (tmp_path / "reports" / "doctor.json").exists()
    done = run(doctor_operation=["audit"])
    assert done.returncode == 2 and "did you mean doctor_operations?" in " ".join(done.stdout.split())
