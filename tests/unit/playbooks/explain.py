# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of a code, in the tests that run every playbook."""

from __future__ import annotations

from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import Entry, Refusal

NAME = "Nova: explain"

ENTRY = Entry(
    given={"explain_code": "SG113"},
    nothing="SG101 compute-id-missing blocker",
    placeholder="# SG113 restart-would-destroy",
    nobody="# SG113 restart-would-destroy",
    no_cloud="# SG113 restart-would-destroy",
    needs_nothing=True,
    reports=False,
    more={"code": None},
    ends={NAME: ("successful", "SG113 restart-would-destroy")},
    refusals={
        "no code": Refusal(
            NAME, "'SG1113' is not a finding code. The most similar codes are SG113", {"explain_code": "SG1113"}
        ),
    },
)
