# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rulebooks start audits, and nothing else. Their form is checked by ansible-lint, which knows their schema."""

from __future__ import annotations

import yaml

from ansible_collections.stackguard.nova.tests.unit.awx.data import TEMPLATES
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

RULEBOOKS = ROOT / "extensions" / "eda" / "rulebooks"


def actions():
    for path in RULEBOOKS.glob("*.yml"):
        for ruleset in yaml.safe_load(path.read_text()):
            for rule in ruleset["rules"]:
                yield rule, rule.get("actions") or [rule["action"]]


def test_a_rulebook_starts_an_audit_and_nothing_else():
    started = []
    for rule, done in actions():
        for action in done:
            assert set(action) <= {"run_job_template", "debug"}, f"{rule['name']} may do only that"
            started += [action["run_job_template"]] if "run_job_template" in action else []
    assert started, "no audit is started"
    for job in started:
        template = TEMPLATES[job["name"]]
        assert template["playbook"] == "audit.yml"
        assert set(job["job_args"]["extra_vars"]) <= set(template["survey"])


def test_many_alerts_are_one_audit():
    for rule, done in actions():
        if any("run_job_template" in action for action in done):
            assert rule["throttle"]["once_within"]
