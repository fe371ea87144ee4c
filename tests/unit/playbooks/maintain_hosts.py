# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The maintenance of hosts in series, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import NO_CLOUD, NO_CODE, UNKNOWN, Entry, Refusal

NAME = "Nova: maintain"
ANSWERS = {"maintain_hosts": "compute1"}
GIVEN = {**ANSWERS, "maintain_reboot": True}

ENTRY = Entry(
    given=GIVEN,
    answers={**ANSWERS, "maintain_reboot": "true"},
    nothing="maintain_hosts needs -e maintain_hosts=VALUE",
    nobody="stackguard_compute_hosts",
    more={"hosts": {}},
    stale=frozenset({"report.html"}),
    hosts={"maintain_hosts": {"maintain_reboot": True}},
    ends=dict.fromkeys(
        (NAME, "Nova: maintain, check", "Nova: maintain, status", "Nova: maintain, abort"), ("failed", NO_CLOUD)
    ),
    refusals={
        "no name": Refusal(NAME, "maintain_hosts is", {**GIVEN, "maintain_hosts": "a/b"}),
        "all hosts": Refusal(NAME, "maintain_hosts must name hosts", {**GIVEN, "maintain_hosts": "all"}),
        "no number": Refusal(NAME, "maintain_keep_free: must be 0 or more", GIVEN, {"maintain_keep_free": -1}),
        "override": Refusal(NAME, NO_CODE, {**GIVEN, "stackguard_awx_overrides": UNKNOWN}),
    },
)
