# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that a task sets without effect are reported, those of a group's defaults are not."""

from __future__ import annotations

import types

import pytest

from ansible_collections.stackguard.nova.plugins.plugin_utils import without_effect


@pytest.mark.parametrize(
    ("args", "defaults", "said"),
    [
        ({"timeout": 600}, [], ["timeout"]),
        ({"timeout": 600, "wait": True}, [{"group/stackguard.nova.openstack": {"timeout": 600}}], ["wait"]),
        ({"cloud": "c"}, [], []),
        ({"wait": False}, [{"stackguard.nova.cloud_info": {"wait": False}}], []),
    ],
)
def test_only_what_the_task_itself_sets_without_effect_is_reported(args, defaults, said):
    task = types.SimpleNamespace(args=args, module_defaults=defaults, action="stackguard.nova.cloud_info")
    assert without_effect.set_on_task(task) == said
