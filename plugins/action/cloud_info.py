# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Controller side of cloud_info: what a task sets without effect is reported. The module does the rest."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

from ..plugin_utils import screen, without_effect


class ActionModule(ActionBase):
    """Run the module."""

    _supports_check_mode = True
    _supports_async = False

    @screen.message
    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> t.Dict[str, t.Any]:
        """Return the module's result."""
        super().run(tmp, task_vars)
        without_effect.warn(self._task)
        return dict(self._execute_module(task_vars=task_vars))
