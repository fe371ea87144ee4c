# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A fence by command: the operator's command fences the host; another one succeeds only when the host is off. Pure."""

from __future__ import annotations

import typing as t

from ..task_results import ended_well, why
from .fence import (
    MACHINE,
    Answers,
    FenceKind,
    FenceTarget,
    FenceText,
    ProofError,
    Reading,
    source_of,
)


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
                    what, host = "fence" if name == "commanded" else "fence_confirm", source_of([answer])
                    raise ProofError(f"evacuate_{what}_command: {_why(result, host)}")
        last = answers[-1].get("confirmed") if answers else None
        code = last.get("rc") if last else None
        if code != 0:
            shown = "no exit status" if code is None else code
            raise ProofError(f"evacuate_fence_confirm_command must exit with 0, but ended with {shown}")
        program = str(target.options.get("fence_confirm_command") or "").split(maxsplit=1)[:1]
        return Reading(f"evacuate_fence_confirm_command exited with 0: {''.join(program)}", source_of(answers))


def _why(result: t.Optional[t.Mapping[str, t.Any]], host: str) -> str:
    """Say why a command is no proof. Arguments and output are never shown: fence agents take passwords as arguments."""
    code = (result or {}).get("rc")
    if code is None:
        return why(result)
    return f"exit status {code}. To see the output of the command, run the command yourself on {host}"


FENCE = Command()
