# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The removal of hosts, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import NO_CODE, UNKNOWN, Entry, Refusal

NAME = "Nova: remove"
ANSWERS = {"remove_host": "compute9"}
#: Of a run that has no database: nothing else shows that a host has no server.
NO_URL = "nova_api_db_url is required"

ENTRY = Entry(
    given=ANSWERS,
    answers=ANSWERS,
    nothing="remove_host needs -e remove_host=VALUE",
    more=ANSWERS,
    stale=frozenset({"report.html"}),
    hosts={"remove_host": {}},
    ends=dict.fromkeys(
        (NAME, "Nova: remove, check", "Nova: remove, status", "Nova: remove, roll back"), ("failed", NO_URL)
    ),
    nobody=NO_URL,
    no_cloud=NO_URL,
    placeholder=NO_URL,
    refusals={
        "no name": Refusal(NAME, "remove_host is", {"remove_host": "a/b"}, more={"remove_host": None}),
        "override": Refusal(NAME, NO_CODE, {**ANSWERS, "stackguard_awx_overrides": UNKNOWN}),
    },
)
