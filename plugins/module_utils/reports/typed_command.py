# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command that started a run, and others made of it: whole, to be copied, without a secret. Pure."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import typing as t

from .launched_job import LaunchedJob

#: Characters that neither a shell nor Ansible's C(-e) looks at.
_PLAIN = re.compile(r"[A-Za-z0-9_.,:/@+-]+\Z")
#: What a remedy says for the operator's inventory, and the name of one of our playbooks before it.
_REMEDY = re.compile(r"ansible-playbook stackguard\.nova\.(\w+) -i INVENTORY")
_AD_HOC = re.compile(r"\bansible (\S+) -i INVENTORY")
_COLLECTION = "stackguard.nova."
#: Variables of all playbooks.
_SHARED = re.compile(r"(stackguard|nova|neutron|ovn)_|(cloud|region_name|interface|validate_certs|ca_cert)\Z")


@dataclasses.dataclass(frozen=True)
class TypedCommand:
    """What an operator typed."""

    #: The playbook, such as C(evacuate_host.yml) or C(stackguard.nova.evacuate_host).
    playbook: str
    #: Options of ansible-playbook, and C(-e @FILE), as words.
    words: t.Tuple[str, ...] = ()
    #: Variables that were given in the command and may be shown.
    variables: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    #: Variables that were given in the command and may hold a secret.
    hidden: t.Tuple[str, ...] = ()
    #: Playbooks that are files beside this one, by their names in the collection.
    files: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Whether a program such as AWX started it: there is nothing to type.
    launched: bool = False
    #: What is launched instead, where AWX has started it.
    job: t.Optional[LaunchedJob] = None

    @property
    def reminder(self) -> str:
        """What the commands lack; empty: nothing."""
        return f"Add these variables, which are not shown: {', '.join(self.hidden)}." if self.hidden else ""

    def again(self, more: t.Optional[t.Mapping[str, t.Any]] = None, check: bool = False) -> str:
        """Return the command of this playbook, with other variables besides; empty where nobody types one.

        In a job of AWX: what is launched.
        """
        if self.job is not None:
            given = {name: value for name, value in (more or {}).items() if value not in (None, "", [])}
            return self.job.launch(self.job.playbook, given, check, again=not given)
        return self._command(self.playbook, {**self.variables, **(more or {})}, check)

    def other(self, playbook: str, more: t.Optional[t.Mapping[str, t.Any]] = None, check: bool = False) -> str:
        """Return the command of another playbook of the collection: the same cloud and inventory.

        In a job of AWX: what is launched.
        """
        if self.job is not None:
            return self.job.launch(playbook, more, check)
        shared = {name: value for name, value in self.variables.items() if _SHARED.match(name)}
        return self._command(self.files.get(playbook, f"{_COLLECTION}{playbook}"), {**shared, **(more or {})}, check)

    def of_remedy(self, text: str) -> str:
        """Return a remedy whose commands have this inventory and these files of variables, or are templates of AWX."""
        if self.job is not None:
            return self.job.told(text)
        if self.launched:
            return text
        hosts = _AD_HOC.sub(lambda found: " ".join(map(shlex.quote, ("ansible", found[1], *self.words))), text)
        return _REMEDY.sub(lambda found: self.other(found.group(1)), hosts)

    def _command(self, playbook: str, variables: t.Mapping[str, t.Any], check: bool) -> str:
        if self.launched:
            return ""
        given = {name: value for name, value in variables.items() if value not in (None, "", [])}
        plain = {name: str(value) for name, value in given.items() if not isinstance(value, (dict, list, bool))}
        plain = {name: value for name, value in plain.items() if _PLAIN.match(value)}
        words = ["ansible-playbook", playbook, *self.words, *(["--check"] if check else [])]
        words += [word for name, value in plain.items() for word in ("-e", f"{name}={value}")]
        rest = {name: value for name, value in given.items() if name not in plain}
        words += ["-e", json.dumps(rest)] if rest else []
        return " ".join(map(shlex.quote, words))
