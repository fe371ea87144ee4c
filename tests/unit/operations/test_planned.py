# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An operation that is planned as a whole: its role has the options of its module, and hands all of them over."""

from __future__ import annotations

import re

import yaml

from ansible_collections.stackguard.nova.plugins.action.server_resize import ActionModule
from ansible_collections.stackguard.nova.plugins.module_utils.zones.resize.operation import Resize
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

ROLE = ROOT / "roles" / "resize_server"
#: Variables that are not called what their option is, with the prefix.
CALLED = {"timeout": "server_timeout"}
#: Options of every operation, with a variable of the role, and with one of all playbooks.
OF_ALL = {"action", "expect_plan"}
SHARED = {
    "overrides": "stackguard_overrides",
    "take_over": "stackguard_take_over",
    "state_dir": "stackguard_state_dir",
    "report_dir": "stackguard_report_path",
    "nova_api_db_url": "nova_api_db_url",
    "evidence_dir": "stackguard_input",
}


def variables():
    """The role's own variables, by their names without the prefix."""
    options = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    prefix = Resize.PREFIX
    assert prefix == "resize_"
    return {key[len(prefix) :]: value for key, value in options.items() if key.startswith(prefix)}


def handed_over():
    """What the role gives the module."""
    tasks = yaml.safe_load((ROLE / "tasks" / "main.yml").read_text())
    inner = [task for entry in tasks for task in entry.get("block", [entry])]
    (given,) = [task["stackguard.nova.server_resize"] for task in inner if "stackguard.nova.server_resize" in task]
    return given


def test_the_roles_variables_are_the_operations_options():
    own, options = variables(), ActionModule.arguments()
    assert set(own) >= OF_ALL
    assert {CALLED.get(key, key) for key in own} == set(options) - set(SHARED)
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text())
    for key, variable in own.items():
        option = options[CALLED.get(key, key)]
        for part in ("type", "elements", "choices", "required"):
            assert variable.get(part) == option.get(part), (key, part)
        assert variable.get("default") in (option.get("default"), ""), key
        assert defaults.get(f"resize_{key}") == variable.get("default"), key
    assert own["action"]["choices"] == list(ActionModule.ACTIONS)


def test_the_role_hands_every_option_over():
    given = handed_over()
    named = {CALLED.get(key, key): f"resize_{key}" for key in variables()}
    for option, variable in {**named, **SHARED}.items():
        assert re.search(rf"\b{variable}\b", given[option]), option
    assert set(ActionModule.arguments()) <= set(given)
