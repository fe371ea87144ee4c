# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The first task of every playbook: whatever is wrong with its command and its variables, told at once."""

from __future__ import annotations

import contextlib
import datetime
import os
import tempfile
import typing as t

from ansible import constants
from ansible.errors import AnsibleError
from ansible.module_utils.common.parameters import remove_values
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import lookup_loader

from ..module_utils.model import playbook_input as inputs
from ..module_utils.model.urls import redact
from ..module_utils.records import evidence
from ..module_utils.reports.outcome import Outcome
from ..plugin_utils import outcome_files, playbooks, run_input, screen

Result = t.Dict[str, t.Any]

CHECK, PUBLISH, END = "check", "publish", "end"

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "playbook": {"type": "str", "required": True, "choices": list(inputs.PLAYBOOKS)},
    "phase": {"type": "str", "default": CHECK, "choices": [CHECK, PUBLISH, END]},
}
DIRECTORY = "./stackguard-reports"


class ActionModule(ActionBase):
    """Judge the input; then clear the way for the run, or leave the report of its refusal."""

    _supports_check_mode = True
    _supports_async = False

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Return what the run may begin with, or fail with why it may not.

        Ansible takes what is published only from a task that succeeds: so a refusal has three phases, of which each
        judges anew. No variable is between them, since an extra variable would replace it.
        """
        super().run(tmp, task_vars)
        _validation, args = self.validate_argument_spec(ARGUMENTS)
        self._vars = task_vars or {}
        self._phase = args["phase"]
        # The value that the playbook gives, whatever an extra variable of that name says.
        self._name = str(self._task.get_vars().get("stackguard_playbook") or args["playbook"])
        self._playbook = inputs.PLAYBOOKS[self._name]
        try:
            given, raw, problems, wrong = self._judged()
        except AnsibleError as error:
            # Such as a vault without its password, in a variable that is not this collection's.
            given, raw, problems, wrong = None, {}, [run_input.reason(error)], {}
        directory = _directory(raw.get("stackguard_report_dir"))
        if problems or given is None:
            return self._refused(problems, inputs.published_names(self._playbook, raw, wrong), directory, raw)
        files = ("report.json",) * self._playbook.reports + self._playbook.files
        problem = _remove(directory, files)
        if problem is None and self._phase != CHECK:
            # What was wrong a moment ago ends this run, though it has gone away.
            problem = "The first check of the command and the variables failed. Run the same command again."
        if problem is not None:
            return self._refused([problem], {}, directory, raw)
        collects = self._playbook.collects(given)
        return {
            "changed": False,
            "playbook": self._name,
            "hosts": list(inputs.host_of(given, self._playbook.host)),
            "peers": list(self._playbook.peers(given)),
            "extra": sorted(given.extra),
            "literal": {name: redact(str(given.values[name])) for name in self._playbook.literal[:1]},
            "evidence_dir": tempfile.mkdtemp(prefix=evidence.TEMPORARY) if collects else "",
        }

    def _judged(self) -> t.Tuple[t.Optional[inputs.Given], Result, t.List[str], t.Dict[str, t.List[str]]]:
        """Return the input, what was typed, everything that is wrong, and what of it is about names."""
        old = run_input.old_core(self._loader)
        if old:
            # Whatever else is wrong may be so because of it.
            where, _unreadable = run_input.typed({"stackguard_report_dir": {"type": "raw"}}, self._vars, self._templar)
            return None, where, old, {}
        specs = run_input.read_specs(self._loader)
        spec = {**specs[run_input.COMMON], **specs[self._name]}
        extra = run_input.extra_variables(self._loader, self._playbook.literal)
        lines = [extra[name] for name in self._playbook.literal if name in extra]
        literal = dict(zip(self._playbook.literal, lines[:1]))
        problems = run_input.partial_run(self._name, self._playbook.limit)
        problems += run_input.wrong_variables(self._name, extra, self._vars, specs)
        every = {name: option for options in specs.values() for name, option in options.items()}
        raw, unreadable = run_input.typed({**every, **spec}, {**self._vars, **literal}, self._templar)
        unreadable = [text for text in unreadable if text.partition(":")[0] in spec]
        jinja = inputs.untemplated({**every, **spec}, raw)
        job = run_input.is_job(self._vars)
        unreadable += run_input.jinja_left([name for name in jinja if name in spec], job)
        raw = {name: value for name, value in raw.items() if name not in jinja}
        if not isinstance(raw.get("stackguard_report_dir", DIRECTORY), str):
            unreadable.append("stackguard_report_dir: the value is not the path of a directory.")
        lists = {name for name, option in spec.items() if option.get("type") == "list" and option["elements"] != "dict"}
        own = {name: inputs.as_list(raw[name]) if name in lists else raw[name] for name in spec if name in raw}
        missing = run_input.needed(self._name, spec, own)
        required = [name for name, option in spec.items() if option.get("required")]
        wrong = inputs.wrong_names(self._playbook, raw, required)
        optional = {name: {**option, "required": False} for name, option in spec.items()}
        values, errors = run_input.validate(optional, own)
        names = [text for texts in wrong.values() for text in texts]
        before = [*unreadable, *missing, *names, *errors]
        if before:
            return None, raw, [*problems, *before], wrong
        given = inputs.Given(
            values,
            raw,
            list(extra),
            self._matching,
            self._called,
            playbooks.operations(),
            job,
            self._connection_of,
        )
        return given, raw, [*problems, *(text for rule in self._playbook.rules for text in rule(given))], wrong

    def _matching(self, pattern: str) -> t.List[str]:
        lookup = lookup_loader.get("ansible.builtin.inventory_hostnames", loader=self._loader, templar=self._templar)
        return list(lookup.run([pattern], variables=self._vars))

    def _connection_of(self, host: str) -> str:
        """Return how Ansible connects to a host that a task is delegated to."""
        hostvars = self._vars["hostvars"]
        own = hostvars[host].get("ansible_connection") if host in hostvars else None
        return str(own or constants.DEFAULT_TRANSPORT)

    def _called(self, name: str) -> t.List[str]:
        """Return the inventory hosts with a name in Nova: by their variable, or else the one with this own name."""
        hostvars, every = self._vars["hostvars"], self._vars["groups"]["all"]
        named = {host: self._nova_name(hostvars, host) for host in every}
        return [host for host in every if named[host] == name] or [
            host for host in every if host == name and named[host] is None
        ]

    @staticmethod
    def _nova_name(hostvars: t.Any, host: str) -> t.Any:
        try:
            return hostvars[host].get("stackguard_nova_host")
        except AnsibleError as error:
            raise AnsibleError(f"stackguard_nova_host of {host}: {run_input.reason(error)}") from error

    def _refused(self, problems: t.Sequence[str], names: Result, directory: str, raw: Result) -> Result:
        """Fail, or tell the workflow and the report."""
        message = screen.told(self._without_secrets(" ".join(problems), raw))
        if self._phase == CHECK:
            return {"failed": True, "changed": False, "msg": "The run refuses to start. Nothing was changed."}
        told = {key: directory if value is inputs.REPORT_DIR else value for key, value in self._playbook.told.items()}
        result = {"failed": True, "changed": False, "state": "refused", "msg": message}
        at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        outcome = Outcome(self._name, result, {**names, **told}, at=at, tell=screen.told)
        outcome = outcome_files.write(outcome, directory, {}, self._playbook.files, self._playbook.reports, at)
        if self._phase == END:
            return {"failed": True, "changed": False, "msg": message}
        stats = {"data": {"stackguard": outcome.published()}, "per_host": False, "aggregate": False}
        return {"changed": False, "ansible_stats": stats}

    def _without_secrets(self, message: str, raw: Result) -> str:
        """Return the message without what no output may show: a value of the wrong type is in it."""
        specs = run_input.read_specs(self._loader)
        secret = [name for spec in specs.values() for name, option in spec.items() if option.get("no_log")]
        values = [value for source in (self._vars, raw) for name in secret for value in [source.get(name)] if value]
        texts = {str(part) for value in values for part in (value.values() if isinstance(value, dict) else [value])}
        return str(remove_values(message, texts))


def _directory(given: t.Any) -> str:
    """Return where reports go. Whatever is wrong with the variable, the reason must be told somewhere."""
    path = given if isinstance(given, str) and given.strip() else DIRECTORY
    return os.path.realpath(os.path.expanduser(path))


def _remove(directory: str, names: t.Iterable[str]) -> t.Optional[str]:
    """Remove what an earlier run left; return why it could not be removed."""
    for name in names:
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, name))
        except OSError as error:
            return f"{error.filename}: {error.strerror}: the report of an earlier run was not removed."
    return None
