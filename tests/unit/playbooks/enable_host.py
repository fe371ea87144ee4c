# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The enabling of a host, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import NO_CLOUD, NO_CODE, UNKNOWN, Entry, Refusal

NAME = "Nova: enable"
GIVEN = {"enable_host": "compute1"}

ENTRY = Entry(
    given=GIVEN,
    answers=GIVEN,
    nothing="enable_host needs -e enable_host=VALUE",
    nobody="stackguard_compute_hosts",
    more=GIVEN,
    stale=frozenset({"report.html"}),
    hosts={"enable_host": {}},
    ends=dict.fromkeys(
        (NAME, "Nova: enable, check", "Nova: enable, status", "Nova: enable, abort"), ("failed", NO_CLOUD)
    ),
    refusals={
        "no name": Refusal(NAME, "enable_host is", {"enable_host": "-h"}, more={"enable_host": None}),
        "override": Refusal(NAME, NO_CODE, {**GIVEN, "stackguard_awx_overrides": UNKNOWN}),
    },
)
