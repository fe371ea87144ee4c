# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of ceph_readers: which hosts look into Ceph, one for each cluster and pool."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

from ..module_utils.capacity import ceph_readers
from ..module_utils.model.facts import FactsError, to_plain
from ..module_utils.records import evidence
from ..plugin_utils import screen

Result = t.Dict[str, t.Any]

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "evidence_dir": {"type": "path", "required": True},
    "exclude": {"type": "list", "elements": "str", "default": []},
}


class ActionModule(ActionBase):
    """Choose from the evidence."""

    _supports_check_mode = True
    _supports_async = False

    @screen.result
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> Result:
        """Return the readers."""
        super().run(tmp, task_vars)
        _validation, args = self.validate_argument_spec(ARGUMENTS)
        try:
            bundle = evidence.load_dir(self._loader.path_dwim(str(args["evidence_dir"])))
        except FactsError as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        found = ceph_readers.readers(bundle, args["exclude"])
        volumes = ceph_readers.volume_pools(bundle, found, args["exclude"])
        names = list(dict.fromkeys([*(reader.name for reader in found), *volumes]))
        return {"changed": False, "readers": to_plain(found), "names": names, "volume_pools": volumes}
