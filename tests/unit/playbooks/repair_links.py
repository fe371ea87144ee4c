# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The repair of links, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import NO_CODE, NO_DATABASE, UNKNOWN, Entry, Refusal

NAME = "Nova: repair links"

ENTRY = Entry(
    given={},
    nothing="nova_api_db_url is not set",
    placeholder="nova_api_db_url is not set",
    nobody="nova_api_db_url",
    no_cloud="nova_api_db_url is not set",
    stale=frozenset({"repairs.json"}),
    hosts={"repair_hosts": {}},
    ends={
        NAME: ("failed", NO_DATABASE),
        "Nova: repair links, check": ("failed", NO_DATABASE),
        "Nova: repair links, status": ("successful", "no repair of links is open"),
        "Nova: repair links, roll back": ("successful", "there is nothing to roll back"),
    },
    refusals={
        "no name": Refusal(NAME, "repair_hosts is", {"repair_hosts": "a/b"}),
        "no action": Refusal(
            NAME,
            "value of repair_action must be one of",
            extra={"repair_action": "undo"},
        ),
        "no host": Refusal(NAME, "must not be empty lists", extra={"repair_hosts": []}),
        "no code": Refusal(NAME, "must not be empty lists", extra={"repair_codes": []}),
        "override": Refusal(NAME, NO_CODE, {"stackguard_awx_overrides": UNKNOWN}),
    },
)
