# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The return of a host, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import NO_CLOUD, NO_CODE, UNKNOWN, Entry, Refusal

NAME = "Nova: return"
GIVEN = {"return_host": "compute1"}

ENTRY = Entry(
    given=GIVEN,
    nothing="return_host needs -e return_host=VALUE",
    placeholder="compute1 does not answer Ansible",
    nobody="compute1",
    no_cloud="one of the following is required: nova_api_db_url",
    more=GIVEN,
    stale=frozenset({"report.html"}),
    hosts={"return_host": {}},
    ends={
        NAME: ("failed", NO_CLOUD),
        "Nova: return, status": ("successful", "no return of compute1 is open"),
        "Nova: return, abort": ("successful", "there is nothing to abort"),
    },
    refusals={
        "no name": Refusal(NAME, "return_host is", {"return_host": "a b"}, more={"return_host": None}),
        "not in the inventory": Refusal(
            NAME,
            "must have the Nova name nobody; found: no host",
            {"return_host": "nobody"},
            more={"return_host": "nobody"},
        ),
        "no action": Refusal(
            NAME, "return_action must be one of: apply, resume, status, abort", GIVEN, {"return_action": "start"}
        ),
        "no dictionary": Refusal(NAME, "nova_cell_db_urls", GIVEN, {"nova_cell_db_urls": "cell1"}),
        "override": Refusal(NAME, NO_CODE, {**GIVEN, "stackguard_awx_overrides": UNKNOWN}),
    },
)
