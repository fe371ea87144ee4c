# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that move servers are documented as their actions take them."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.stackguard.nova.plugins.action import server_migrate as migrate_action
from ansible_collections.stackguard.nova.plugins.action import server_resize as resize_action
from ansible_collections.stackguard.nova.plugins.doc_fragments import approved_plan, moves, overrides
from ansible_collections.stackguard.nova.plugins.modules import server_migrate, server_resize


@pytest.mark.parametrize(
    ("action", "module"),
    [(migrate_action, server_migrate), (resize_action, server_resize)],
)
def test_every_option_is_documented_as_it_is_taken(action, module):
    taken = action.ActionModule.arguments()
    fragments = (moves.ModuleDocFragment, approved_plan.ModuleDocFragment, overrides.ModuleDocFragment)
    shared = {
        name: option for entry in fragments for name, option in yaml.safe_load(entry.DOCUMENTATION)["options"].items()
    }
    own = yaml.safe_load(module.DOCUMENTATION)["options"]
    documented = {**shared, **own}
    assert not set(shared) & set(own)
    assert set(documented) == set(taken)
    for name, option in taken.items():
        for key in ("type", "elements", "default", "choices", "required"):
            assert documented[name].get(key) == option.get(key), (name, key)
