# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rename of a compute host, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import NO_CLOUD, NO_NUMBER, Entry, Refusal

NAME = "Nova: rename"
BOTH = {"rename_from": "compute1", "rename_to": "renamed1"}

ENTRY = Entry(
    given={"rename_from": "compute1", "rename_to": "cn1"},
    answers=BOTH,
    nothing="rename_host needs -e rename_from=VALUE",
    placeholder="compute1 does not answer Ansible",
    nobody="compute1",
    no_cloud="one of the following is required: nova_api_db_url",
    more=BOTH,
    stale=frozenset({"evidence.jsonl", "report.html"}),
    hosts={"rename_from": {"rename_to": "renamed1"}, "rename_to": {"rename_from": "compute1"}},
    ends={
        NAME: ("failed", NO_CLOUD),
        "Nova: rename, status": ("successful", "no rename is open on this host"),
    },
    refusals={
        "no name": Refusal(
            NAME,
            'rename_from is not valid: "{{ 7 * 6 }}" contains " " "*" "{" "}"',
            {"rename_from": "{{ 7 * 6 }}", "rename_to": "x\ny"},
            more={"rename_from": None, "rename_to": None},
        ),
        "missing": Refusal(
            NAME,
            "rename_to=VALUE",
            {"rename_from": "compute1", "rename_to": ""},
            more={"rename_from": "compute1", "rename_to": None},
        ),
        "adopted without a direction": Refusal(
            NAME,
            "rename_adopt=forward or rename_adopt=back",
            BOTH,
            {"rename_action": "adopt"},
        ),
        "not in the inventory": Refusal(
            "Nova: rename, status",
            "0 inventory hosts have the Nova name nobody or renamed1",
            {"rename_from": "nobody", "rename_to": "renamed1"},
            more={"rename_from": "nobody", "rename_to": "renamed1"},
        ),
        "no number": Refusal("Nova: rename, check", NO_NUMBER, BOTH, {"rename_start_timeout": "soon"}),
        "override": Refusal(
            NAME,
            "missing required arguments: object, reason found in stackguard_overrides",
            BOTH,
            {"stackguard_overrides": [{"code": "SG110"}]},
        ),
        "override typed badly": Refusal(
            NAME,
            "overrides, line 2: expected CODE OBJECT: REASON",
            {**BOTH, "stackguard_awx_overrides": "SG110 guest1: a domain of the backup team\nSG110 guest2"},
        ),
        "override that cannot be": Refusal(
            NAME,
            "SG113 (restart-would-destroy) is an absolute finding, which cannot be overridden",
            {**BOTH, "stackguard_awx_overrides": "SG113 guest1: hurry"},
        ),
    },
)
