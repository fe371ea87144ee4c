# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of compute_id_file: reads the host anew, decides on the uuid from the evidence, has it written."""

from __future__ import annotations

import datetime
import typing as t

from ansible.plugins.action import ActionBase

from ..module_utils.links import compute_id
from ..module_utils.model.facts import (
    FactsError,
    HostFacts,
    from_plain,
    to_plain,
)
from ..module_utils.records import evidence
from ..plugin_utils import screen

MODULE = "stackguard.nova.compute_id_file"
INFO = "stackguard.nova.compute_host_info"


class ActionModule(ActionBase):
    """Decide on the controller, write on the host."""

    _supports_check_mode = True
    _supports_async = False

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> t.Dict[str, t.Any]:
        """Read, decide, write."""
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        directory = arguments.get("evidence_dir")
        if not directory:
            return {
                "failed": True,
                "changed": False,
                "msg": (
                    "evidence_dir is required, because the module takes the uuid from the results of cell_info in this "
                    "directory"
                ),
            }
        asked = {
            "inventory_name": str(task_vars["inventory_hostname"]),
            **{key: arguments[key] for key in ("nova_conf_files", "libvirt_uri") if arguments.get(key)},
        }
        read = self._execute_module(module_name=INFO, module_args=asked, task_vars=task_vars)
        if read.get("failed") or read.get("unreachable"):
            return dict(read)
        try:
            facts = from_plain(HostFacts, read["host"], INFO)
            bundle = evidence.load_dir(self._loader.path_dwim(str(directory)))
            decision = compute_id.decide(bundle, facts, arguments.get("path"), _now())
        except (FactsError, compute_id.IdentityError) as error:
            return {"failed": True, "changed": False, "msg": f"refused, nothing was written: {error}"}
        arguments["decision"] = to_plain(decision)
        result = dict(self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars))
        if decision.unseen:
            unseen = ", ".join(decision.unseen)
            result.setdefault("warnings", []).append(
                "the run did not read the compute_id files of the following hosts, and each of these files might "
                f"contain the same uuid as the compute_id file of the play's host: {unseen}"
            )
        return result


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
