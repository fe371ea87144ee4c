# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The doctor, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import Entry, Refusal

NAME = "Nova: doctor"

ENTRY = Entry(
    given={},
    nothing="not ready: ",
    placeholder="not ready: ",
    nobody="there is no host to check",
    no_cloud="not ready: ",
    reports=False,
    more={"report": []},
    stale=frozenset({"doctor.json"}),
    ends={NAME: ("failed", "not ready: ")},
    refusals={
        "no source": Refusal(
            NAME, "value of doctor_sources must be one or more of", extra={"doctor_sources": ["clouds"]}
        ),
        "no operation": Refusal(
            NAME, "value of doctor_operations must be one or more of", extra={"doctor_operations": ["throw_away"]}
        ),
        "nothing": Refusal(NAME, "Set doctor_sources", extra={"doctor_sources": []}),
        "no boolean": Refusal(NAME, "'soon' is not a valid boolean", extra={"stackguard_take_over": "soon"}),
    },
)
