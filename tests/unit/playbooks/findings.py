# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The query of a report, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import NO_NUMBER, Entry, Refusal

NAME = "Nova: findings"
#: No earlier run has left a report.
NOTHING = "report.json: No such file or directory"
ANSWERS = {"findings_job": 7}

ENTRY = Entry(
    given={},
    answers=ANSWERS,
    nothing=NOTHING,
    placeholder=NOTHING,
    nobody="findings_report",
    no_cloud="findings_report",
    reports=False,
    more={"count": None},
    hosts={"findings_hosts": ("main", {})},
    ends={NAME: ("failed", NOTHING)},
    refusals={
        "no expression": Refusal(
            NAME, "the expression is not valid JMESPath", {**ANSWERS, "findings_query": "findings[?"}
        ),
        "no field": Refusal(
            NAME, "a finding has no field 'sverity'", {**ANSWERS, "findings_query": "findings[].sverity"}
        ),
        "no code": Refusal(NAME, "'SG1113' is not a finding code", {**ANSWERS, "findings_codes": "SG1113"}),
        "no number": Refusal(NAME, NO_NUMBER, ANSWERS, {"findings_max_age_minutes": "soon"}),
    },
)
