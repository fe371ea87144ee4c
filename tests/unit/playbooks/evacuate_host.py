# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The evacuation, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import (
    NO_CLOUD,
    NO_CODE,
    NO_NUMBER,
    UNKNOWN,
    Entry,
    Refusal,
)

NAME = "Nova: evacuate"
GIVEN = {"evacuate_host": "compute1", "evacuate_fence": "attested"}

ENTRY = Entry(
    given=GIVEN,
    nothing="evacuate_host needs -e evacuate_host=VALUE",
    nobody="stackguard_compute_hosts",
    more={"evacuate_host": "compute1"},
    stale=frozenset({"placements.json", "report.html"}),
    hosts={"evacuate_host": {"evacuate_fence": "attested"}},
    ends={NAME: ("failed", NO_CLOUD)},
    refusals={
        "no name": Refusal(
            "Nova: evacuate, check",
            "evacuate_host is",
            {**GIVEN, "evacuate_host": "../x"},
            more={"evacuate_host": None},
        ),
        "no fence": Refusal(
            NAME,
            "evacuate_fence=command also needs evacuate_fence_command and evacuate_fence_confirm_command",
            {**GIVEN, "evacuate_fence": "command"},
        ),
        "no number": Refusal(NAME, NO_NUMBER, GIVEN, {"evacuate_max_parallel": "soon"}),
        "nobody": Refusal(NAME, "evacuate_servers is an empty list", GIVEN, {"evacuate_servers": []}),
        "override": Refusal(NAME, NO_CODE, {**GIVEN, "stackguard_awx_overrides": UNKNOWN}),
    },
)
