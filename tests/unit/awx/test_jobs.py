# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Job templates through ansible-runner, on this machine alone: all that is given arrives, and nothing leaks.

Verbosity is the highest everywhere, and every secret is one that nobody else uses.
"""

from __future__ import annotations

import json
import sys

import pytest

from ansible_collections.stackguard.nova.tests.labkit.canary import Canaries
from ansible_collections.stackguard.nova.tests.unit.awx.data import LINES, TEMPLATES, asked
from ansible_collections.stackguard.nova.tests.unit.awx.jobs import Controller
from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import entries

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
HOSTS = {"compute1": HERE, "compute2": HERE}
#: Templates of every playbook, with the playbook: how they end where no system answers.
ENDINGS = {template: name for name, entry in entries().items() for template in entry.ends}


@pytest.fixture
def canaries():
    return Canaries()


def credentials(canaries):
    auth = {"auth_url": "http://127.0.0.1:1/v3", "username": "admin", "project_name": "admin"}
    auth.update(password=canaries["cloud"], user_domain_name="Default", project_domain_name="Default")
    return {
        "OpenStack clouds.yaml": {"clouds": json.dumps({"clouds": {"mine": {"auth": auth}}}), "cloud": "mine"},
        "Nova databases": {
            "nova_api_db_url": f"mysql+pymysql://nova:{canaries.url('nova')}@127.0.0.1:1/nova_api",
            "neutron_db_url": f"mysql+pymysql://neutron:{canaries.url('neutron')}@127.0.0.1:1/neutron",
            "stackguard_rabbit_urls": f"rabbit://nova:{canaries.url('rabbit')}@127.0.0.1:1/",
        },
        "OVN databases": {
            "ovn_nb_connection": "ssl:127.0.0.1:1",
            "ovn_sb_connection": "ssl:127.0.0.1:1",
            "ovn_private_key": f"-----BEGIN PRIVATE KEY-----\n{canaries['ovn']}\n-----END PRIVATE KEY-----\n",
            "ovn_certificate": "no certificate",
            "ovn_ca_cert": "no certificate",
        },
        "Fence of compute hosts": {"username": "fence", "password": canaries["fence"]},
    }


@pytest.mark.parametrize("name", ENDINGS)
def test_a_job_that_reaches_nothing_says_so_changes_nothing_and_gives_nothing_away(tmp_path, short_tmp, canaries, name):
    entry = entries()[ENDINGS[name]]
    answers = {key: value for key, value in entry.answered.items() if key in asked(TEMPLATES[name])}
    with canaries.watched():
        job = Controller(tmp_path, short_tmp).launch(name, HOSTS, answers, credentials(canaries), verbosity=4)
    status, words = entry.ends[name]
    assert job.status == status, job.stdout
    assert words in job.told["message"].replace("\\", ""), job.artifacts
    assert job.told["operation"] == LINES[name].playbook
    assert not job.told.get("changed")
    assert (job.told["verdict"] == "block") == (status == "failed"), "AWX decides by it"
    assert "PLAY RECAP" in job.stdout
    assert canaries.argv == set()
    assert canaries.left(tmp_path, short_tmp, but=job.given) == []
    assert list(short_tmp.glob("stackguard-*")) == [], "evidence was left behind"


@pytest.mark.matrix("playbooks")
@pytest.mark.parametrize("name", ["Nova: repair links, check", "Nova: repair links"])
def test_a_repair_without_its_database_is_a_block_in_the_report_too(tmp_path, short_tmp, canaries, name):
    reports = tmp_path / "awx" / "jobs" / "1"
    reports.mkdir(parents=True)
    (reports / "report.json").write_text('{"verdict": "pass"}')
    job = Controller(tmp_path, short_tmp).launch(name, HOSTS, {}, credentials(canaries))
    report = json.loads((reports / "report.json").read_text())
    assert (job.status, job.told["verdict"], report["verdict"]) == ("failed", "block", "block"), job.stdout
    assert report["counts"]["unchecked"] == len(report["unchecked"]) > 0
    assert "127.0.0.1:1/nova_api" in json.dumps(report["unchecked"])


def test_the_secrets_really_were_there(tmp_path, short_tmp, canaries):
    """What the tests above do not find, they would find: it is in what the job was given."""
    job = Controller(tmp_path, short_tmp).launch(
        "Nova: rename, status", HOSTS, ANSWERS_OF_STATUS, credentials(canaries)
    )
    kinds = {kind.partition(",")[0] for _, kind in canaries.left(*job.given[:3])}
    assert {"cloud", "nova", "neutron", "ovn"} <= kinds


ANSWERS_OF_STATUS = {"rename_from": "compute1", "rename_to": "renamed1"}


def test_an_answer_is_text_whatever_it_looks_like(tmp_path, short_tmp):
    """AWX takes no Jinja from a survey: the playbook sees the braces."""
    answers = {"rename_from": "{{ lookup('pipe', 'touch " + str(tmp_path / "pwned") + "') }}", "rename_to": "renamed1"}
    job = Controller(tmp_path, short_tmp).launch("Nova: rename, status", HOSTS, answers)
    assert job.status == "failed"
    assert not (tmp_path / "pwned").exists()
    assert "rename_from" in job.stdout


def test_an_audit_in_slices_is_one_audit(tmp_path, short_tmp):
    """The workflow's nodes as AWX runs them: each has what those before it published, slices see only their hosts."""
    controller = Controller(tmp_path, short_tmp)
    cloud = controller.launch("Nova: audit, the cloud", HOSTS, workflow=7)
    assert cloud.status == "successful", cloud.stdout
    slices = [
        # a workflow of its own, with the artifacts of the outer one
        controller.launch("Nova: audit, the hosts", {name: HERE}, workflow=8, artifacts=cloud.artifacts)
        for name in HOSTS
    ]
    assert [job.status for job in slices] == ["successful"] * 2, slices[0].stdout
    # A third slice has failed before it left anything.
    everybody = {**HOSTS, "compute3": HERE}
    last = controller.launch("Nova: audit, put together", everybody, workflow=7, artifacts=slices[-1].artifacts)
    assert last.status == "failed", last.stdout
    assert "verdict block" in last.told["message"]
    whole = tmp_path / "awx" / "audits" / "7"
    report = json.loads((whole / "report.json").read_text())
    assert report["hosts"] == 3
    assert "compute3" in {item["object"]["id"] for item in report["findings"] if item["code"] == "SG114"}
    header, *_records = (whole / "evidence.jsonl").read_text().splitlines()
    assert set(json.loads(header)["failures"]) == {"api", "databases"}
