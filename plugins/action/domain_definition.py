# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of domain_definition: compare with the last record, then record."""

from __future__ import annotations

import typing as t

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase

from ansible_collections.stackguard.nova.plugins.module_utils.checks.hazards import definition
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import (
    FactsError,
    GuestDefinition,
    from_plain,
    to_plain,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import ordered
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.reports import terminal
from ansible_collections.stackguard.nova.plugins.plugin_utils import screen

MODULE = "stackguard.nova.domain_definition"

Result = t.Dict[str, t.Any]


class ActionModule(ActionBase):
    """Read on the host, compare and keep here."""

    _supports_check_mode = True
    _supports_async = False

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Return what changed since the last record."""
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        result = dict(self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars))
        directory = arguments.get("definitions_dir")
        if result.get("failed") or result.get("unreachable") or not directory:
            return result
        # Not from the module's invocation: ansible-core 2.21 returns none. The module has refused what is no boolean.
        records = boolean(arguments.get("record", True)) and not self._task.check_mode
        try:
            host = str(arguments.get("inventory_name") or task_vars["inventory_hostname"])
            return self._compared(host, self._loader.path_dwim(str(directory)), result, records)
        except FactsError as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        except OSError as error:
            return {"failed": True, "changed": False, "msg": f"definitions_dir {directory}: {error.strerror}"}

    @staticmethod
    def _compared(host: str, directory: str, result: Result, records: bool) -> Result:
        guests = [from_plain(GuestDefinition, entry, MODULE) for entry in result["guests"]]
        known = evidence.records(directory, guests)
        checked = definition.compared(host, guests, known)
        changed = False
        if records:
            changed = evidence.keep(directory, guests, known)
            evidence.save_texts(directory, dict(result["definitions"]))
        shown = terminal.findings_text(checked)
        if shown:
            screen.say(shown)
        findings = [to_plain(item) for item in ordered(checked.findings)]
        return {"changed": changed, "guests": result["guests"], "findings": findings}
