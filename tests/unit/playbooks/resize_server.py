# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The resize of a server, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import (
    NO_CLOUD,
    NO_CODE,
    NO_NUMBER,
    UNKNOWN,
    Entry,
    Refusal,
)

NAME = "Nova: resize"
ANSWERS = {"resize_server": "web1", "resize_flavor": "large"}

ENTRY = Entry(
    given={"resize_server": "web1", "resize_flavor": "big"},
    answers=ANSWERS,
    nothing="resize_server needs -e resize_server=VALUE",
    more={"server": None, "zone": None, "strategy": None, "why": None},
    ends={NAME: ("failed", NO_CLOUD), "Nova: resize, status": ("failed", NO_CLOUD)},
    refusals={
        "no name": Refusal(NAME, "resize_server is", {**ANSWERS, "resize_server": " web1"}),
        "no number": Refusal(NAME, NO_NUMBER, ANSWERS, {"resize_timeout": "soon"}),
        "override": Refusal(NAME, NO_CODE, {**ANSWERS, "stackguard_awx_overrides": UNKNOWN}),
    },
)
