# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that are accepted for the sake of shared defaults, and do nothing."""

from __future__ import annotations

import typing as t

from . import screen

#: Of openstack.cloud: one set of defaults is to serve its modules and ours.
WITHOUT_EFFECT = ("wait", "timeout")


def set_on_task(task: t.Any) -> t.List[str]:
    """Return those that the task itself sets. Its arguments hold what module_defaults add, too."""
    groups = [values for entry in task.module_defaults or [] for values in entry.values()]
    defaults = {name for values in groups if isinstance(values, dict) for name in values}
    return [name for name in WITHOUT_EFFECT if name in task.args and name not in defaults]


def warn(task: t.Any) -> None:
    """Say so where somebody relies on one."""
    for name in set_on_task(task):
        screen.warn(
            f"{task.action}: {name} has no effect. The module accepts {name} so that you can use the same defaults for "
            "this module and for the modules of openstack.cloud"
        )
