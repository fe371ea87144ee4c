# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fence by command: the operator's command fences the host; another one succeeds only when the host is off. Pure."""

from __future__ import annotations

from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.fence import (
    MACHINE,
    Answers,
    FenceKind,
    FenceTarget,
    FenceText,
    ProofError,
    Reading,
    source_of,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.task_results import ended_well, why


class Command(FenceKind):
    """It proves what the operator's confirming command proves: that may be a port, so an answer contradicts nothing."""

    name = "command"
    text = FenceText(
        "`evacuate_fence_confirm_command` exits with 0",
        "the whole machine, if `evacuate_fence_confirm_command` is correct",
        "you have your own tool that switches off machines or network ports",
    )
    covers = MACHINE
    requires = ("fence_command", "fence_confirm_command")

    def read_back(self, target: FenceTarget, answers: Answers) -> Reading:
        """The confirming command exited with 0, and so did the fencing one where it was run."""
        for answer in answers:
            for name in ("commanded", "confirmed"):
                result = answer.get(name)
                if name == "commanded" and not answer.get("act"):
                    continue
                if not ended_well(result):
                    raise ProofError(f"{'fence' if name == 'commanded' else 'confirming'} command: {why(result)}")
        last = answers[-1].get("confirmed") if answers else None
        code = last.get("rc") if last else None
        if code != 0:
            raise ProofError(f"the confirming command ended with {'no exit status' if code is None else code}")
        command = str(target.options.get("fence_confirm_command") or "")
        return Reading(f"the confirming command exited with 0: {command}", source_of(answers))


FENCE = Command()
