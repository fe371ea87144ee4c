# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The drain of a host, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import NO_CLOUD, NO_CODE, UNKNOWN, Entry, Refusal

NAME = "Nova: drain"
GIVEN = {"drain_host": "compute1"}

ENTRY = Entry(
    given=GIVEN,
    nothing="drain_host needs -e drain_host=VALUE",
    nobody="stackguard_compute_hosts",
    more=GIVEN,
    stale=frozenset({"placements.json", "report.html"}),
    hosts={"drain_host": {}},
    ends={NAME: ("failed", NO_CLOUD)},
    refusals={
        "no name": Refusal(NAME, "drain_host is", {"drain_host": "-h"}, more={"drain_host": None}),
        "no boolean": Refusal(NAME, "'soon' is not a valid boolean", GIVEN, {"drain_enable_after": "soon"}),
        "nobody to read": Refusal(
            NAME,
            "stackguard_compute_hosts (nobody) matches no host of the inventory",
            GIVEN,
            {"stackguard_compute_hosts": "nobody"},
        ),
        "override": Refusal(NAME, NO_CODE, {**GIVEN, "stackguard_awx_overrides": UNKNOWN}),
    },
)
