# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A job of AWX: what a run says to do next names templates, since nobody there types a command. Pure.

The core says what to do in words of the command line, also where it runs on a compute host and knows of no AWX. Here is
each form of these words, and nothing else is touched: an option (C(-e NAME=VALUE), C(--check)), an action
(C(resize_action=rollback)), a playbook with options, and the same command again.
tests/unit/reports/test_launched_job.py looks for a form that is missing, in every text of the collection.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

Found = t.Match[str]

CHECK = "check"
#: What the names of a playbook's templates have beside that of the one that acts, by action.
SUFFIXES = {
    CHECK: ", check",
    "status": ", status",
    "rollback": ", roll back",
    "abort": ", abort",
    "restore": ", restore",
}
#: Actions that the template without a suffix carries out.
_FORWARD = ("", "apply", "resume", "forward")
_BACK = ("status", "rollback")
_ENDED = ("status", "abort")
#: The template of each playbook that acts, and the actions that have one of their own. A test compares them with
#: those of plugin_utils/awx_table.py.
TEMPLATES: t.Mapping[str, t.Tuple[str, t.Tuple[str, ...]]] = {
    "audit": ("Nova: audit", ()),
    "doctor": ("Nova: doctor", ()),
    "drain_host": ("Nova: drain", (CHECK, "rollback")),
    "enable_host": ("Nova: enable", (CHECK, *_ENDED)),
    "evacuate_host": ("Nova: evacuate", (CHECK, *_ENDED)),
    "explain": ("Nova: explain", ()),
    "maintain_hosts": ("Nova: maintain", (CHECK, *_ENDED)),
    "migrate_server": ("Nova: migrate", (CHECK, "rollback")),
    "pin_servers": ("Nova: pin", (CHECK, "status", "restore")),
    "rename_host": ("Nova: rename", (CHECK, *_BACK)),
    "remove_host": ("Nova: remove", (CHECK, *_BACK)),
    "repair_links": ("Nova: repair links", (CHECK, *_BACK)),
    "resize_server": ("Nova: resize", (CHECK, *_BACK)),
    "return_host": ("Nova: return", (CHECK, *_ENDED)),
    "unshelve_server": ("Nova: unshelve", (CHECK, *_BACK)),
}
#: The playbook whose variables begin with a word.
_PREFIXES = {name.partition("_")[0]: name for name in TEMPLATES if "_" in name}

_NAMES = "|".join(TEMPLATES)
_WORDS = "|".join(_PREFIXES)
_VALUE = r"""(?:'[^'\n]*'|"[^"\n]*"|[^\s`'",;)]*[^\s`'",;).:])"""
_GIVEN = rf"-e @\S+|-e {_VALUE}"
_ACTION = rf"\b(?:{_WORDS})_action=(?:[a-z_]+|[A-Z]+)"
_OPTION = rf"(?:-i INVENTORY|--check|--diff|{_GIVEN}|{_ACTION})"
_ONE = re.compile(r"(\w+)=([^\s'\"`]+)")

#: A playbook with its options, or one that is to be run.
_PLAYBOOK = re.compile(
    r"(?P<run>\b[Rr]un:? )?(?:the playbook )?(?P<typed>`?ansible-playbook )?`?(?:stackguard\.nova\.)?"
    rf"\b(?P<name>{_NAMES})(?:\.yml)?\b(?P<again>`? again\b)?"
    rf"(?P<options>(?:`?\s+(?:with |and )?`?(?:\\\s+)?{_OPTION})*)`?"
)
#: The command of this run.
_COMMAND = re.compile(
    r"\b(?P<run>[Rr]un)\s+(?:(?:the|this)\s+same(?:\s+Ansible)?|(?P<any>the|this)|its)\s+command\b(?:\s+again)?"
    rf"(?P<tail> to (?:resume|complete|finish)\b| with (?:-e )?`?\w+={_VALUE}`?| without (?:{_ACTION}|\w+))?"
)
_OTHER_WAY = re.compile(rf"\bor with (?:-e )?`?(?=(?:{_WORDS})_action=)")
_ACTION_ALONE = re.compile(rf"(?P<tick>`?)(?:-e )?\b(?P<word>{_WORDS})_action=(?P<action>[a-z_]+)(?P=tick)")
_WITHOUT_CHECK = re.compile(r"\b(?P<word>[Ww])ithout --check, the run would")
_THEN_WITHOUT = re.compile(r"\b(?:run (?:it|the command)|then) without\s+`?--check(?:\s+--diff)?`?")
_CHECK_AGAIN = re.compile(r"\b(?P<run>[Rr])un with --check again")
_EXACTLY = re.compile(rf"(?P<head>To apply exactly this plan)[:,] -e \w+_expect_plan={_VALUE}")
_OUT_OF_PLAN = re.compile(r"\b(?P<word>[Rr]esume)(?P<what> the operation)? without \w+_expect_plan")
_BEFORE_PLAN = re.compile(r"\bbefore you use \w+_expect_plan")
_PLAN = re.compile(r"\b\w+_expect_plan\b")
_TAKE_OVER = re.compile(r"\b(?:(?:set|add) `?(?:-e\s+)?|or `-e\s+)stackguard_take_over=true`?")
_ROLLBACK = re.compile(r"\brun the rollback again\b")
_PING = re.compile(r"\bansible (\S+) -m ansible\.builtin\.ping")
_OF_A_CHECK = re.compile(r"\ba run with --check\b")
_CHECKED = re.compile(r"(?:with )?`?--check(?:\s+--diff)?`?")
_DIFF = re.compile(r"--diff\b")
_TYPED = re.compile(r"(?<![\w-])-e\s+(?=['\"{]|\w+=)")


@dataclasses.dataclass(frozen=True)
class LaunchedJob:
    """What AWX says of the job."""

    #: Its job template.
    template: str
    #: The playbook.
    playbook: str = ""
    #: Whether it is a node of a workflow.
    in_workflow: bool = False

    @property
    def base(self) -> str:
        """The name of the template that acts."""
        name = self.template or TEMPLATES.get(self.playbook, ("",))[0] or "the job template"
        return next((name[: -len(end)] for end in SUFFIXES.values() if name.endswith(end)), name)

    def name(self, playbook: str, action: str = "", check: bool = False) -> str:
        """Return the template of an action of a playbook."""
        base, own = TEMPLATES.get(playbook, (self.base, tuple(SUFFIXES)))
        base = self.base if playbook == self.playbook else base
        key = CHECK if check and CHECK in own and action in _FORWARD else action
        if key in _FORWARD:
            return base
        if key in own:
            return f"{base}{SUFFIXES[key]}"
        return f"a template of your own ({playbook.partition('_')[0]}_action: {action})"

    def launch(
        self,
        playbook: str,
        variables: t.Optional[t.Mapping[str, t.Any]] = None,
        check: bool = False,
        again: bool = False,
    ) -> str:
        """Return what somebody does instead of a command. ``variables``: the answers to the survey, or the action."""
        given = {name: value for name, value in (variables or {}).items() if value not in (None, "", [])}
        if any(name.endswith("_expect_plan") for name in given):
            return self.exactly()
        action = next((str(value) for name, value in given.items() if name.endswith("_action")), "")
        answers = [f"{name}={value}" for name, value in given.items() if not name.endswith("_action")]
        found = f"launch {self.name(playbook, action, check)}{' again' if again else ''}"
        return f"{found} with {', '.join(answers)}" if answers else found

    def exactly(self) -> str:
        """Return how the plan of a check is carried out, and no other."""
        if self.in_workflow:
            return "approve it in this workflow"
        return f"launch the workflow that runs {self.base} after an approval"

    def again(self) -> str:
        """Return what is launched again where nothing says what has begun.

        The approved plan is that of the workflow's check. What has begun is resumed by the template itself.
        """
        if not self.in_workflow:
            return f"launch {self.template or self.base} again"
        if self.template != self.base:
            return "launch the workflow again"
        return f"launch the workflow again, or {self.base} if the operation has begun"

    def told(self, text: str) -> str:
        """Return a text whose commands, options and actions are templates."""
        for pattern, words in self._forms():
            text = pattern.sub(words, text)
        return text

    def _forms(self) -> t.Iterator[t.Tuple[t.Pattern[str], t.Callable[[Found], str]]]:
        """Return each form of a text with what takes its place, the whole ones before their parts."""
        yield _EXACTLY, lambda found: f"{found['head']}: {self.exactly()}"
        yield _OUT_OF_PLAN, lambda found: _like(found, f"launch {self.base} outside of the workflow")
        yield _BEFORE_PLAN, lambda _found: "before you launch the workflow"
        yield _PLAN, lambda _found: "the approved plan_sha256"
        yield _TAKE_OVER, lambda found: self._take_over(found[0])
        yield _WITHOUT_CHECK, lambda found: _like(found, f"{self.base} would")
        yield _CHECK_AGAIN, lambda found: _like(found, self._check_again())
        yield _COMMAND, self._of_this_run
        yield _PLAYBOOK, self._of_playbook
        yield _THEN_WITHOUT, lambda _found: 'launch the template without ", check"'
        yield _OTHER_WAY, lambda _found: "or launch "
        yield _ACTION_ALONE, lambda found: self._with_action(found["word"], found["action"])
        yield _ROLLBACK, lambda _found: f"launch {self.base}, roll back again"
        yield _PING, lambda found: f"the module ping on {found[1]}, in the inventory of AWX"
        yield _OF_A_CHECK, lambda _found: f"a job of {self.base}{SUFFIXES[CHECK]}"
        yield _CHECKED, lambda _found: "in check mode"
        yield _DIFF, lambda _found: "the diff"
        yield _TYPED, lambda _found: ""

    def _take_over(self, found: str) -> str:
        own = "launch a template of your own with stackguard_take_over=true"
        return f"or {own}" if found.startswith("or ") else own

    def _check_again(self) -> str:
        if self.in_workflow:
            return "launch the workflow again"
        return f"launch {self.base}{SUFFIXES[CHECK]} again"

    def _with_action(self, word: str, action: str) -> str:
        playbook = _PREFIXES[word]
        if playbook == "migrate_server" and self.playbook == "drain_host":
            playbook = self.playbook
        return self.name(playbook, action)

    def _of_this_run(self, found: Found) -> str:
        tail = found["tail"] or ""
        if found["any"] and not tail:
            return found[0]  # Another command, such as one that fences a host.
        way, _blank, rest = tail.strip().partition(" ")
        if way == "to":
            said = f"launch {self.base} again{tail}"
        elif way == "with":
            ((name, value),) = _ONE.findall(rest)[:1]
            word = name.partition("_")[0]
            if name.endswith("_action") and word in _PREFIXES:
                said = f"launch {self._with_action(word, value)}"
            else:
                said = f"launch a template of your own with {name}={value}"
        elif way == "without":
            said = f"launch {self.base}" + ("" if "=" in rest else f" without {rest}")
        else:
            said = self.again()
        return _like(found, said)

    def _of_playbook(self, found: Found) -> str:
        options = found["options"]
        if not (found["run"] or found["typed"] or options):
            return found[0]
        check = "--check" in options or "--diff" in options
        given = dict(_ONE.findall(options))
        said = self.launch(found["name"], given, check, bool(found["again"]))
        if found["run"] or found["typed"]:
            return _like(found, said)
        # Named between ticks or by its action, it is no order.
        return said.partition(" ")[2] if found[0].startswith("`") or " -" not in options else said


def _like(found: Found, words: str) -> str:
    """Return words that begin a sentence where those did whose place they take."""
    return words[0].upper() + words[1:] if found[0].lstrip("`")[0].isupper() else words
