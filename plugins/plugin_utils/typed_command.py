# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command that started this run, as ansible-playbook took it."""

from __future__ import annotations

import functools
import os
import re
import typing as t

from ansible import constants, context
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.splitter import parse_kv
from ansible.utils.vars import load_extra_vars

from ..module_utils.reports.launched_job import LaunchedJob
from ..module_utils.reports.typed_command import TypedCommand
from . import playbooks, run_input

#: Options that a second run needs as well: the word, and the setting of ansible.cfg that needs none.
_OPTIONS: t.Mapping[str, t.Tuple[str, str]] = {
    "ask_vault_pass": ("-J", "DEFAULT_ASK_VAULT_PASS"),
    "vault_password_files": ("--vault-password-file", ""),
    "vault_ids": ("--vault-id", ""),
    "remote_user": ("-u", "DEFAULT_REMOTE_USER"),
    "private_key_file": ("--private-key", "DEFAULT_PRIVATE_KEY_FILE"),
    "ask_pass": ("-k", "DEFAULT_ASK_PASS"),
    "become": ("-b", "DEFAULT_BECOME"),
    "become_method": ("--become-method", "DEFAULT_BECOME_METHOD"),
    "become_user": ("--become-user", "DEFAULT_BECOME_USER"),
    "become_ask_pass": ("-K", "DEFAULT_BECOME_ASK_PASS"),
}
#: Connection options that are no dictionary, and never secret.
_CONNECTION = ("cloud", "region_name", "interface", "validate_certs", "ca_cert")
#: Values that may hold a password although the variable is not secret.
_SECRET_NAME = re.compile(r"(_command|_options|_urls?|_env)\Z")
_SECRET_VALUE = re.compile(r"://[^/\s]*@")
_ARCHIVE = "/runner/env/"
_PLAYBOOK = re.compile(r"stackguard\.nova\.(\w+)\Z")


@functools.cache
def typed_command() -> t.Optional[TypedCommand]:
    """Return the command; None: it was none of ansible-playbook, or of several playbooks."""
    options = context.CLIARGS
    names = list(options.get("args") or ())
    if len(names) != 1 or "check" not in options:
        return None
    words: t.List[str] = []
    inventory = list(options.get("inventory") or ())
    if inventory != list(constants.DEFAULT_HOST_LIST):
        words += [word for one in inventory for word in ("-i", _short(one))]
    for name, (word, setting) in _OPTIONS.items():
        given = options.get(name)
        if given and given != getattr(constants, setting, None):
            values = [given] if isinstance(given, (str, bool)) else list(given)
            words += [part for one in values for part in ((word,) if one is True else (word, str(one)))]
    shown: t.Dict[str, t.Any] = {}
    hidden: t.List[str] = []
    launched = False
    for text in options.get("extra_vars") or ():
        if str(text).startswith("@"):
            launched = launched or str(text).startswith(f"@{_ARCHIVE}")
            words += ["-e", f"@{_short(str(text)[1:])}"]
            continue
        given = _given(str(text))
        if run_input.CUT in given:
            return None  # Ansible has cut a value, and the command of the rest would be another one.
        for name, value in given.items():
            if _may_show(name, value):
                shown[name] = value
            else:
                hidden.append(name)
    job = _job(names[0])
    launched = launched or job is not None
    return TypedCommand(names[0], tuple(words), shown, tuple(dict.fromkeys(hidden)), _beside(names[0]), launched, job)


def _job(playbook: str) -> t.Optional[LaunchedJob]:
    """Return what AWX gives every job of the job: extra variables, which Ansible has read when it began."""
    given = getattr(load_extra_vars, "extra_vars", None) or {}
    if not run_input.is_job(given):
        return None
    name = os.path.splitext(os.path.basename(playbook))[0].rpartition(".")[2]
    template = str(given.get("awx_job_template_name") or "")
    return LaunchedJob(template, name, given.get("awx_workflow_job_id") is not None)


def _short(path: str) -> str:
    """Return a path as it may be typed here."""
    here = os.path.relpath(path) if os.path.isabs(path) else path
    return path if here.startswith("..") else here


def _given(text: str) -> t.Dict[str, t.Any]:
    found = DataLoader().load(text) if text.lstrip()[:1] in ("{", "[") else parse_kv(text)
    return {str(name): value for name, value in found.items()} if isinstance(found, dict) else {}


def _may_show(name: str, value: t.Any) -> bool:
    """Return True for a variable of ours that is no secret. What is not known may be one."""
    if (
        _SECRET_NAME.search(name)
        or _SECRET_VALUE.search(str(value))
        or (name in _CONNECTION and isinstance(value, dict))
    ):
        return False
    specs = run_input.read_specs(DataLoader()).values()
    known = [spec[name] for spec in specs if name in spec]
    if name in _CONNECTION:
        return not isinstance(value, dict)
    return bool(known) and not any(option.get("no_log") for option in known)


def _beside(playbook: str) -> t.Dict[str, str]:
    """Return the files beside the playbook that are called as ours are."""
    if _PLAYBOOK.match(playbook):
        return {}
    directory = os.path.dirname(playbook)
    paths = {name: os.path.join(directory, f"{name}.yml") for name in [*playbooks.operations(), *playbooks.OTHERS]}
    return {name: path for name, path in paths.items() if os.path.isfile(path)}
