# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The workflow that AWX gets from playbooks/awx, node by node through ansible-runner, on a real cloud.

What a node publishes goes to the next, as AWX passes it on; the approval between check and rename is a person's. How
jobs are made, and what they do where nothing answers: tests/unit/awx.
"""

from __future__ import annotations

import json
import pathlib
import tempfile

import pytest
import yaml
from labkit import guests as guestkit
from labkit import state
from labkit.fixtures import as_new, documented_grants

from ansible_collections.stackguard.nova.tests.unit.awx.data import WORKFLOWS
from ansible_collections.stackguard.nova.tests.unit.awx.jobs import Controller

HOST, NAME = "compute1", "cn-awx.example"


class Workflow:
    """One run of a workflow's templates. ``answers``: of its survey, which AWX gives to every node."""

    def __init__(self, lab, folder, tmp, answers):
        self.controller = Controller(folder, tmp, stackguard_host_state_dir="/var/lib/stackguard")
        inventory = json.loads(pathlib.Path(lab.info["inventory"]).read_text())["compute"]
        self.hosts = {name: {**inventory["vars"], **known} for name, known in inventory["hosts"].items()}
        self.answers, self.artifacts = answers, {}
        urls = guestkit.grant(lab, "sg_exact", documented_grants())
        self.secrets = [lab.info["password"], guestkit.PASSWORD]
        self.credentials = {
            "OpenStack clouds.yaml": {
                "clouds": json.dumps(yaml.safe_load(pathlib.Path(lab.info["clouds_yaml"]).read_text())),
                "cloud": lab.info["cloud"],
            },
            "Nova databases": {"nova_api_db_url": urls["nova_api_db_url"], "neutron_db_url": urls["neutron_db_url"]},
        }

    def node(self, template, **extra):
        asked = {key: value for key, value in self.answers.items() if "audit" not in template}
        job = self.controller.launch(
            template, self.hosts, {**asked, **extra}, self.credentials, workflow=1, artifacts=self.artifacts
        )
        self.artifacts = {**self.artifacts, **job.artifacts}
        assert not [secret for secret in self.secrets if secret in job.stdout + json.dumps(job.artifacts)]
        return job


@pytest.fixture(scope="module", autouse=True)
def usual(lab):
    """Whatever was tested before."""
    return as_new(lab)


@pytest.fixture
def tmp():
    with tempfile.TemporaryDirectory(prefix="sg") as directory:
        yield pathlib.Path(directory)


@pytest.mark.parametrize("audits", [False, pytest.param(True, marks=pytest.mark.matrix)], ids=["short", "audits"])
def test_audit_check_rename_audit_and_the_way_back(lab, tmp_path, tmp, audits):
    """Without its two audits in `make test`: what an audit says under AWX has tests without a lab."""
    nodes = WORKFLOWS["Nova: rename a compute host"]["simplified_workflow_nodes"]
    nodes = [node.get("unified_job_template") for node in nodes]
    assert nodes == ["Nova: audit", "Nova: rename, check", None, "Nova: rename", "Nova: audit"]
    assert lab.service(HOST)["state"] == "up"
    before = state.guests(lab, HOST)
    assert before
    there = Workflow(lab, tmp_path / "there", tmp, {"rename_from": HOST, "rename_to": NAME})
    if audits:
        audited = there.node("Nova: audit", audit_fail_on="never")
        assert audited.status == "successful", audited.stdout[-4000:]
        assert audited.told["operation"] == "audit"
    checked = there.node("Nova: rename, check")
    assert (checked.status, checked.told["state"]) == ("successful", "planned"), checked.stdout[-4000:]
    assert lab.service(HOST) is not None, "a check renames nothing"
    renamed = there.node("Nova: rename")
    assert (renamed.status, renamed.told["state"]) == ("successful", "finished"), renamed.stdout[-4000:]
    approved = checked.told["plan_sha256"]
    assert approved, "nothing stands for the plan that was approved"
    assert renamed.told["plan_sha256"] == approved, "what was carried out is not what was approved"
    assert lab.service(NAME)["state"] == "up"
    if audits:
        after = there.node("Nova: audit", audit_fail_on="never")
        assert after.told["operation"] == "audit"
        assert not [code for code in after.told["codes"] if code.startswith(("SG1", "SG3"))], after.told
    back = Workflow(lab, tmp_path / "back", tmp, {"rename_from": NAME, "rename_to": HOST})
    returned = back.node("Nova: rename")
    assert (returned.status, returned.told["state"]) == ("successful", "finished"), returned.stdout[-4000:]
    assert state.guests(lab, HOST) == before, "a guest is not the process that it was"
