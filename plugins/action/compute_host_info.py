# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of compute_host_info: keeps a host's facts in the evidence directory and returns a digest.

A host that does not answer is evidence too, and is noted before the task ends as unreachable.
"""

from __future__ import annotations

import hashlib
import typing as t

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from ..module_utils.model.facts import (
    FactsError,
    HostFacts,
    from_plain,
    prepare,
)
from ..module_utils.model.host_facts import VOLUME
from ..module_utils.model.names import conf_host
from ..module_utils.records import evidence
from ..plugin_utils import screen

MODULE = "stackguard.nova.compute_host_info"
# Ansible loads this file once, and forks a process for each host.
prepare(HostFacts)


class ActionModule(ActionBase):
    """Run the module on the host, and keep what it returns."""

    _supports_check_mode = True
    _supports_async = False

    @screen.message
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> t.Dict[str, t.Any]:
        """Return the module's result, or a digest of it where there is an evidence directory."""
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        directory = arguments.pop("evidence_dir", None)
        name = str(arguments.get("inventory_name") or task_vars["inventory_hostname"])
        arguments["inventory_name"] = name
        if not directory:
            return self._read(arguments, task_vars)
        directory = self._on_controller(str(directory))
        try:
            result = self._read(arguments, task_vars)
        except AnsibleError as error:
            kind = "unreachable" if isinstance(error, AnsibleConnectionFailure) else "failed"
            evidence.save_unreachable(directory, name, f"{kind}: {error}")
            raise
        if result.get("unreachable") or result.get("failed"):
            kind = "unreachable" if result.get("unreachable") else "failed"
            evidence.save_unreachable(directory, name, f"{kind}: {result.get('msg') or 'no reason was given'}")
            return result
        return self._keep(directory, name, result)

    def _read(self, arguments: t.Dict[str, t.Any], task_vars: t.Any) -> t.Dict[str, t.Any]:
        return dict(self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars))

    def _on_controller(self, path: str) -> str:
        return str(self._loader.path_dwim(path))

    @staticmethod
    def _keep(directory: str, name: str, result: t.Dict[str, t.Any]) -> t.Dict[str, t.Any]:
        try:
            # What will be read from the file later must be readable now.
            facts = from_plain(HostFacts, result["host"], MODULE)
            evidence.save_texts(directory, dict(result.get("definitions") or {}))
        except FactsError as error:
            evidence.save_unreachable(directory, name, f"failed: {error}")
            return {"failed": True, "changed": False, "msg": f"the host's facts cannot be parsed: {error}"}
        path = evidence.save_host(directory, name, facts)
        with open(path, "rb") as stream:
            digest = hashlib.sha256(stream.read()).hexdigest()
        uuids = [domain.uuid for domain in facts.domains or []]
        disks = [disk for domain in facts.domains or [] for disk in domain.disks]
        volumes = [disk.ceph_volume for disk in disks if disk.ceph_volume is not None]
        return {
            "changed": False,
            "inventory_name": name,
            "path": path,
            "sha256": digest,
            "nova_host": conf_host(facts),
            "domains": None if facts.domains is None else len(uuids),
            "domain_uuids": uuids,
            "directory_uuids": sorted({left.uuid for left in facts.instances_path.left})
            if facts.instances_path
            else [],
            "volumes": {
                "pools": sorted({pool for pool, _uuid in volumes}),
                "uuids": sorted({image[len(VOLUME) :] for _pool, image in volumes}),
            },
            "unread": [{"part": item.part, "reason": item.reason} for item in facts.unread],
        }
