# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The last lines of a run in a terminal: verdict, worst fact, what to do next, where the report is. Pure."""

from __future__ import annotations

import typing as t

from ..model.doctor import FAILED
from ..model.findings import SEVERITIES
from ..model.wording import count
from ..records import journal as journals
from . import damage
from .operation_run import BLOCK, PASS, PUT_BACK, REACHED, STATES, WARN
from .outcome import NOTHING
from .typed_command import TypedCommand

Json = t.Mapping[str, t.Any]

#: Playbooks that judge, and change nothing.
JUDGES = ("audit", "doctor", "explain")
_VERDICTS = {PASS: "PASS", WARN: "PASS, with warnings"}
#: A pass with facts that were not read is not a pass.
UNDECIDED = "NOT ALL DECIDED, no blocker"
_OPEN = (journals.OPEN, journals.ROLLING_BACK, "resumed")
#: Characters of the worst fact: the report has it whole.
_WIDTH = 240
_AGAIN = ("refused", "failed", *PUT_BACK)


def lines(
    published: Json,
    report: t.Optional[Json],
    command: t.Optional[TypedCommand],
    failed: bool,
    told: t.Collection[str] = (),
    path: str = "",
) -> t.List[str]:
    """Return the last lines, those left out that would say nothing.

    ``published``: what a workflow gets. ``report``: C(report.json), or the doctor's C(doctor.json). ``failed``: whether
    Ansible ends the run as a failure, whatever was published.
    ``told``: lines that have been shown. ``path``: of the report.
    """
    facts = damage.facts(report) if report else []
    first = str(published.get("message") or "").partition("\n")[0]
    found = [_verdict(published, facts, failed)]
    wrong = next((entry for entry in (report or {}).get("results") or () if entry["state"] == FAILED), None)
    if facts:
        found.append(_cut(f"Worst:  {facts[0].words}"))
    elif wrong:
        found.append(_cut(f"Worst:  {wrong['part']} of {wrong['subject']}: {wrong['seen']}"))
    elif failed and first and first not in told:
        found.append(_cut(f"Why:    {first}"))
    fix = str((wrong or {}).get("fix") or "")
    fix = command.of_remedy(fix) if command else fix
    steps = [step for step in (fix, *_remedy(published, facts, command), *_command(published, command)) if step]
    found += [f"{'' if number else 'Next:'}".ljust(8) + step for number, step in enumerate(steps)]
    if command is not None and command.job is not None:
        found = [command.job.told(line) for line in found]
    if path:
        found.append(f"Report: {path}")
    return found


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]} ..."


def _verdict(published: Json, facts: t.Sequence[damage.Fact], failed: bool) -> str:
    """A run that failed is never called done."""
    subjects = [key for key in sorted(published) if key.endswith(("_host", "_from")) and published[key]]
    subject = " ".join([str(published.get("operation") or ""), *(str(published[key]) for key in subjects[:1])])
    state = STATES.get(str(published.get("state")))
    judged = published.get("operation") in JUDGES and published.get("state") != NOTHING
    if judged or state is None:
        word, meaning = _VERDICTS.get(str(published.get("verdict")), BLOCK.upper()), ""
        if word in _VERDICTS.values() and (published.get("counts") or {}).get("unchecked"):
            word = UNDECIDED
        word = "FAILED" if failed and word in (UNDECIDED, *_VERDICTS.values()) else word
    else:
        well = not failed and published.get("verdict") != BLOCK
        shown = state if well or state.look is not None else STATES["failed"]
        word, meaning = shown.word.upper(), shown.meaning.partition(". ")[0].rstrip(".")
    first = damage.fix_first(facts) if published.get("verdict") == BLOCK else ""
    return ". ".join(filter(None, (f"{word}: {subject}", meaning, first, _counted(published)))) + "."


def _counted(published: Json) -> str:
    """What was found, without zeros."""
    counts: Json = published.get("counts") or {}
    parts = [count(counts[severity], severity) for severity in SEVERITIES[:2] if counts.get(severity)]
    parts += [f"{counts[key]} {key.replace('_', ' ')}" for key in ("failed", "not_checked") if counts.get(key)]
    parts += [f"{counts['unchecked']} not decided"] if counts.get("unchecked") else []
    return ", ".join(parts)


def _remedy(published: Json, facts: t.Sequence[damage.Fact], command: t.Optional[TypedCommand]) -> t.Iterator[str]:
    """Return what to do about the worst fact, where it is in the way."""
    if not facts or (published.get("verdict") != BLOCK and published.get("operation") not in JUDGES):
        return
    item = facts[0].findings[0]
    yield command.of_remedy(item.remedy) if command else item.remedy
    yield from (command.of_remedy(text) if command else text for text in item.commands[:1])


def _command(published: Json, command: t.Optional[TypedCommand]) -> t.Iterator[str]:
    """Return the command that resumes the operation, applies its plan, or comes after it."""
    operation, state = str(published.get("operation") or ""), published.get("state")
    if command is None or operation in JUDGES:
        return
    prefix = f"{operation.partition('_')[0]}_"
    typed = ""
    if state == "planned" and published.get("verdict") != BLOCK:
        typed = command.again({f"{prefix}expect_plan": published.get("plan_sha256")})
    elif state in _OPEN:
        typed = command.again()
    elif state in _AGAIN:
        yield "After the remedy, check again:"
        typed = command.again({f"{prefix}action": None, f"{prefix}expect_plan": None}, check=True)
    elif state == "unknown":
        typed = command.again({f"{prefix}action": "status"})
    elif state in REACHED and operation == "rename_host":
        typed = command.other("audit")
    elif state in REACHED and operation == "evacuate_host":
        typed = command.other("return_host", {"return_host": published.get("evacuate_host")}, check=True)
    if typed:
        yield typed
        yield command.reminder
