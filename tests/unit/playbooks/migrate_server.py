# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The migration of servers, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import (
    NO_CLOUD,
    NO_CODE,
    NO_NUMBER,
    UNKNOWN,
    Entry,
    Refusal,
)

NAME = "Nova: migrate"
ANSWERS = {"migrate_servers": "[?name=='web1']"}

ENTRY = Entry(
    given={"migrate_servers": ["web1"]},
    answers=ANSWERS,
    nothing="migrate_server needs -e migrate_servers=NAMES",
    nobody="stackguard_compute_hosts",
    stale=frozenset({"placements.json", "report.html"}),
    ends={NAME: ("failed", NO_CLOUD)},
    refusals={
        "nothing": Refusal(NAME, "migrate_servers=NAMES", {"migrate_servers": ""}),
        "nobody": Refusal(NAME, "migrate_servers=NAMES", ANSWERS, {"migrate_servers": []}),
        "no number": Refusal(NAME, NO_NUMBER, ANSWERS, {"migrate_server_timeout": "soon"}),
        "override": Refusal(NAME, NO_CODE, {**ANSWERS, "stackguard_awx_overrides": UNKNOWN}),
    },
)
