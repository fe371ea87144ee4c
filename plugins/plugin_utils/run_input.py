# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run of a playbook was given: options of the command, variables, and what the roles specify of them."""

from __future__ import annotations

import glob
import os
import re
import typing as t

from ansible import context
from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.parsing.splitter import parse_kv
from ansible.release import __version__
from ansible.utils.vars import load_extra_vars

from ..module_utils.model import input_rules

Spec = t.Dict[str, t.Dict[str, t.Any]]

_ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
ROLES = os.path.join(_ROOT, "roles")
RUNTIME = os.path.join(_ROOT, "meta", "runtime.yml")
#: The role whose specification is that of all playbooks, and its entry point; other roles have "main".
COMMON, BEGIN = "common", "begin"
#: What all playbooks share begins with it; all else with the first word of its role.
SHARED = "stackguard"
#: The variable in which Ansible leaves the words of C(-e "NAME=VALUE") after a blank (ansible/parsing/splitter.py).
CUT = "_raw_params"
#: What roles set for themselves and that does not begin with a word of one role.
OF_ALL = r"stackguard_(clouds_files|input|playbook|report_path|state_connection)$"


def internal() -> t.List[str]:
    """Return regular expressions of the variables that roles set for themselves, by the names of the roles."""
    words = sorted({name.partition("_")[0] for name in os.listdir(ROLES) if os.path.isdir(os.path.join(ROLES, name))})
    return [f"stackguard_({'|'.join(words)})_", OF_ALL]


def read_specs(loader: t.Any) -> t.Dict[str, Spec]:
    """Return the options of every role, by its name."""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROLES, "*", "meta", "argument_specs.yml"))):
        role = path.split(os.sep)[-3]
        entries = loader.load_from_file(path)["argument_specs"]
        found[role] = dict(entries[BEGIN if role == COMMON else "main"].get("options") or {})
    return found


def partial_run(playbook: str, limit: str) -> t.List[str]:
    """Return why this command leaves something of the playbook out. ``limit``: what to say of a --limit."""
    options, found = context.CLIARGS, []
    if list(options.get("tags") or ["all"]) != ["all"] or options.get("skip_tags"):
        found.append(f"The playbook {playbook} has no tags, so run it without --tags and --skip-tags.")
    if options.get("subset"):
        found.append(limit)
    return found


def old_core(loader: t.Any) -> t.List[str]:
    """Return that this ansible-core is older than the collection needs (meta/runtime.yml). Ansible only warns."""
    # ansible-core brings it with it; where ansible-test imports plugins, it is not.
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    needed = str(loader.load_from_file(RUNTIME)["requires_ansible"])
    if SpecifierSet(needed).contains(Version(__version__).base_version):
        return []
    where = " In AWX, it is the ansible-core of the execution environment." if is_job(load_extra_vars(loader)) else ""
    return [f"This is ansible-core {__version__}, and stackguard.nova needs ansible-core {needed}.{where}"]


def is_job(variables: t.Mapping[str, t.Any]) -> bool:
    """Return True for a job of AWX."""
    return variables.get("awx_job_id") is not None


def jinja_left(names: t.Sequence[str], job: bool) -> t.List[str]:
    """Return a sentence for each option whose Jinja expression Ansible has not evaluated."""
    why = (
        "AWX gave this job the Jinja expression as a plain text. In AWX's job settings, set ALLOW_JINJA_IN_EXTRA_VARS "
        "to template."
        if job
        else "the value holds a Jinja expression, which was not templated. Give the value itself, or mark it neither "
        "with !unsafe nor as data that another task has read."
    )
    return [f"{name}: {why}" for name in names]


def extra_variables(loader: t.Any, literal: t.Sequence[str]) -> t.Dict[str, t.Any]:
    """Return the variables of -e. What is literal is never templated, whatever somebody wrote into a log.

    All that follows C(name=) in a -e is the value: Ansible would cut it at the first space, and make variables of words
    with C(=).
    """
    found = {str(name): value for name, value in load_extra_vars(loader).items()}
    typed_value = re.compile(rf"\s*({'|'.join(literal)})=(.*)\Z", re.DOTALL)
    for option in context.CLIARGS.get("extra_vars") or ():
        match = typed_value.match(option) if literal else None
        if match:
            for name in parse_kv(option):
                found.pop(str(name), None)
            found[match[1]] = match[2]
    # Character by character: a plain text, without Ansible's mark of a template.
    plain = {name: "".join(str(found[name])) for name in literal if found.get(name) is not None}
    return {**found, **plain}


def wrong_variables(
    playbook: str, extra: t.Collection[str], task_vars: t.Mapping[str, t.Any], specs: t.Mapping[str, Spec]
) -> t.List[str]:
    """Return a sentence for each variable that no role reads, that is old, or that only the playbook may set."""
    known = {name for spec in specs.values() for name in spec}
    prefixes = {SHARED, *(role.partition("_")[0] for role in specs)}
    own = sorted(name for name in extra if any(re.match(word, name) for word in internal()))
    found = []
    if own:
        found.append(
            f"Only the playbook {playbook} itself may set these variables: {', '.join(own)}. Run {playbook} without "
            "these extra variables."
        )
    if CUT in extra:
        found.append(
            "Ansible cut a value of -e at a blank, so the rest of it is lost. Write a value with blanks as "
            '-e \'{"NAME": "VALUE"}\', or into a file of variables.'
        )
    others = [name for name in extra if name not in own]
    return found + input_rules.unknown_variables(others, _of_inventory(task_vars), known, prefixes)


def _of_inventory(task_vars: t.Mapping[str, t.Any]) -> t.Set[str]:
    """The names of all that is set for any host, wherever it is set."""
    hostvars = task_vars["hostvars"]
    return {str(name) for host in task_vars["groups"]["all"] for name in hostvars[host]}


def typed(spec: Spec, task_vars: t.Mapping[str, t.Any], templar: t.Any) -> t.Tuple[t.Dict[str, t.Any], t.List[str]]:
    """Return the values that were given for these options, as they were typed, and what could not be templated."""
    found, problems = {}, []
    for name, option in spec.items():
        try:
            if name not in task_vars:
                continue
            value = templar.template(task_vars[name])
        except AnsibleError as error:
            problems.append(f"{name}: {reason(error)}")
            continue
        if value is None and option.get("default") not in (None, ""):
            problems.append(f"{name}: the value is null. Leave {name} out, or give it a value.")
        elif _is_cleared(option, value):
            problems.append(f"{name}: the value is empty. Leave {name} out, or give it a value.")
        elif value is not None:
            found[name] = value
    return found, problems


def _is_cleared(option: t.Mapping[str, t.Any], value: t.Any) -> bool:
    """Return True for an empty value that would replace a role's default, as a survey's answer that somebody clears.

    Where the default is empty, too, an empty value means just that, and so does a list of one's own, of which nothing
    is to be in it; what needs one or more of its choices has a rule. A list for what takes none would become a text.
    """
    kind, default = option.get("type", "str"), option.get("default")
    if kind == "list":
        return False
    if value == "":
        return default not in (None, "", [], {})
    return isinstance(value, (list, tuple)) and not value and (kind not in ("dict", "raw") or bool(default))


def reason(error: BaseException) -> str:
    """Return what is wrong, without where in which file: the innermost message of a chain."""
    inner: t.Optional[BaseException] = error
    while inner is not None and inner.__cause__ is not None:
        inner = inner.__cause__
    return str(getattr(inner, "message", None) or inner)


def validate(spec: Spec, values: t.Mapping[str, t.Any]) -> t.Tuple[t.Dict[str, t.Any], t.List[str]]:
    """Return the values as the specification takes them, with its defaults, and what is wrong with them."""
    done = ArgumentSpecValidator(spec).validate(dict(values), validate_role_argument_spec=True)
    return dict(done.validated_parameters), list(done.error_messages)


def needed(playbook: str, spec: Spec, values: t.Mapping[str, t.Any]) -> t.List[str]:
    """Return a sentence for each required variable that was not given, with what it is."""
    missing = [name for name, option in spec.items() if option.get("required") and name not in values]
    return [f"{playbook} needs -e {name}=VALUE. {_plain(spec[name]['description'])}" for name in missing]


def _plain(description: t.Any) -> str:
    """Return the first sentence of a description, without Ansible's markup."""
    text = description if isinstance(description, str) else description[0]
    text = re.sub(r"\b[COV]\((?:\w+:)?([^)]*)\)", r"\1", str(text))
    return f"{text.partition('. ')[0].rstrip('.')}."
