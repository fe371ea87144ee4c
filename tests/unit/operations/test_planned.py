# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Operations that are planned as a whole: found by their names, and asked for by a role as their options say."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.stackguard.nova.plugins.action.operation import ActionModule
from ansible_collections.stackguard.nova.plugins.module_utils.operations import lifecycle, planned
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT

ROOM = ROOT / "plugins" / "module_utils" / "operations"
NAMES = sorted(path.stem for path in ROOM.glob("*.py") if "\nOPERATION = " in path.read_text())
#: Options of every operation, which the module takes itself.
OF_ALL = {"action", "take_over", "expect_plan"}


def roles():
    """What each role that uses the role `planned_operation` gives it, by the name of its operation."""
    found = {}
    for path in sorted((ROOT / "roles").glob("*/tasks/main.yml")):
        for task in yaml.safe_load(path.read_text()):
            if (task.get("ansible.builtin.include_role") or {}).get("name") == "stackguard.nova.planned_operation":
                found.setdefault(task["vars"]["planned_operation"], []).append((path.parents[1].name, task["vars"]))
    return found


def test_each_operation_has_one_role_and_each_role_an_operation():
    assert NAMES
    assert sorted(roles()) == NAMES
    assert [len(users) for users in roles().values()] == [1] * len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_roles_variables_are_the_operations_options(name):
    ((role, given),) = roles()[name]
    operation = planned.named(name)
    specification = yaml.safe_load((ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text())
    variables = specification["argument_specs"]["main"]["options"]
    assert given["planned_role"] == role
    assert f"{role.partition('_')[0]}_" == operation.PREFIX
    own = {key[len(operation.PREFIX) :]: value for key, value in variables.items() if key.startswith(operation.PREFIX)}
    assert set(own) >= OF_ALL
    assert not any("aliases" in option for option in operation.ARGUMENTS.values()), "they stay beside the option"
    called = {option: variable for variable, option in operation.CALLED.items()}
    taken = {called.get(key, key): option for key, option in operation.ARGUMENTS.items()}
    assert set(own) - OF_ALL == set(taken)
    for key, option in taken.items():
        for part in ("type", "elements", "choices", "required"):
            assert own[key].get(part) == option.get(part), (key, part)
        assert own[key].get("default") in (option.get("default"), ""), key
    assert own["action"]["choices"] == list(ActionModule.ACTIONS)
    assert {*given.get("planned_hosts", []), *given.get("planned_names", [])} <= set(variables)


@pytest.mark.parametrize("name", NAMES)
def test_no_option_of_an_operation_is_one_of_the_module(name):
    assert not set(ActionModule.arguments()) & set(planned.named(name).ARGUMENTS)


@pytest.mark.parametrize("name", ["nothing", "lifecycle", "../resize", "planned", "Resize", ""])
def test_what_is_no_such_operation_is_refused(name):
    with pytest.raises(lifecycle.Refused, match="has no operation with the name"):
        planned.named(name)
