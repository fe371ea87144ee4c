# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The unshelving of a server, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import (
    NO_CLOUD,
    NO_CODE,
    NO_NUMBER,
    UNKNOWN,
    Entry,
    Refusal,
)

NAME = "Nova: unshelve"
ANSWERS = {"unshelve_server": "web1"}

ENTRY = Entry(
    given=ANSWERS,
    answers=ANSWERS,
    nothing="unshelve_server needs -e unshelve_server=VALUE",
    more={"server": None, "zone": None, "why": None},
    ends=dict.fromkeys(
        (NAME, "Nova: unshelve, check", "Nova: unshelve, status", "Nova: unshelve, roll back"), ("failed", NO_CLOUD)
    ),
    refusals={
        "no name": Refusal(NAME, "unshelve_server is", {"unshelve_server": " web1"}),
        "no zone": Refusal(NAME, "unshelve_zone is", {**ANSWERS, "unshelve_zone": " az1"}),
        "no number": Refusal(NAME, NO_NUMBER, ANSWERS, {"unshelve_timeout": "soon"}),
        "override": Refusal(NAME, NO_CODE, {**ANSWERS, "stackguard_awx_overrides": UNKNOWN}),
    },
)
