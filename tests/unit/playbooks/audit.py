# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import NO_CODE, UNKNOWN, Entry, Refusal

NAME = "Nova: audit"

ENTRY = Entry(
    given={},
    nothing="verdict block (fail_on blocker)",
    placeholder="verdict block (fail_on blocker)",
    nobody="audit_hosts",
    no_cloud="verdict block",
    more={"codes": [], "report": []},
    stale=frozenset({"report.html", "report.prom", "report.csv", "report.junit.xml", "forecast.json", "changes.json"}),
    ends={NAME: ("failed", "verdict block")},
    refusals={
        "override": Refusal(NAME, NO_CODE, {"stackguard_awx_overrides": UNKNOWN}),
        "nobody to read": Refusal(
            NAME, "audit_hosts (nobody) matches no host of the inventory", {"audit_hosts": "nobody"}
        ),
        "no source": Refusal(NAME, "audit_sources is empty", extra={"audit_sources": []}),
        "no boolean": Refusal(NAME, "'soon' is not a valid boolean", extra={"audit_ceph": "soon"}),
    },
)
