# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pins of servers, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import NO_CLOUD, NO_CODE, UNKNOWN, Entry, Refusal

NAME = "Nova: pin"
ANSWERS = {"pin_servers": "[?name=='web1']"}
NONE = "pin_servers needs exactly one of these variables: -e pin_servers=NAMES"

ENTRY = Entry(
    given={"pin_servers": ["web1"]},
    answers=ANSWERS,
    nothing=NONE,
    more={"pins": None, "old_pins": None},
    stale=frozenset({"pins.json"}),
    hosts={"pin_hosts": {}},
    ends=dict.fromkeys((NAME, "Nova: pin, check", "Nova: pin, restore", "Nova: pin, status"), ("failed", NO_CLOUD)),
    refusals={
        "nothing": Refusal(NAME, "None of these variables is set", {"pin_servers": ""}),
        "two": Refusal(NAME, "Leave out all but one of pin_servers, pin_all", {**ANSWERS, "pin_all": "true"}),
        "three": Refusal(
            "Nova: pin, restore",
            "Leave out all but one of pin_servers, pin_hosts, pin_all",
            {**ANSWERS, "pin_hosts": "compute1", "pin_all": "true"},
        ),
        "two of a status": Refusal(
            "Nova: pin, status",
            "Leave out all but one of pin_servers, pin_hosts",
            extra={"pin_servers": ["web1"], "pin_hosts": ["compute1"]},
        ),
        "nobody": Refusal(NAME, "must not be empty lists", {"pin_servers": ""}, {"pin_servers": []}),
        "no hosts": Refusal(NAME, "must not be empty lists", {"pin_servers": ""}, {"pin_hosts": []}),
        "no name": Refusal(NAME, "pin_hosts is", {"pin_hosts": "a/b"}),
        "no boolean": Refusal(NAME, "'soon' is not a valid boolean", ANSWERS, {"pin_partial": "soon"}),
        "no action": Refusal(
            NAME,
            "value of pin_action must be one of: apply, restore, status, got: undo",
            ANSWERS,
            {"pin_action": "undo"},
        ),
        "override": Refusal(NAME, NO_CODE, {**ANSWERS, "stackguard_awx_overrides": UNKNOWN}),
    },
)
