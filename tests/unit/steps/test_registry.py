# SPDX-License-Identifier: GPL-3.0-or-later
"""Every step of every plan has exactly one implementation."""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine import needs
from ansible_collections.stackguard.nova.plugins.module_utils.rename import steps as registry
from ansible_collections.stackguard.nova.plugins.module_utils.return_host import operation as return_host
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.steps import HostRunner

ROOT = pathlib.Path(__file__).resolve().parents[3]
UTILS = ROOT / "plugins" / "module_utils"
NOBODY = types.SimpleNamespace(options={}, monotonic=lambda: 0.0, at_end=[])


def steps_of(plan):
    """(where, action) of each Step that a file of a plan makes. A name that is no literal: see CALLED."""
    made = set()
    for node in ast.walk(ast.parse((UTILS / plan).read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Step":
            where, action = node.args[2], node.args[3]
            assert isinstance(where, ast.Name), ast.dump(where)
            made.add((where.id, action.value if isinstance(action, ast.Constant) else f"({ast.unparse(action)})"))
    return made


#: What a parameter stands for, where a plan makes several steps by one function.
CALLED = {("moves/plan.py", "(name)"): ("hold", "leave")}


#: What hosts can do and no plan names.
NO_STEP = {
    "hold_containers": "what the step recreate_containers asks for where a name is wrong (rename/containers/steps.py)",
    "new_containers": "what the step recreate_containers asks for before and after it (rename/containers/steps.py)",
    "restart_units": "what the step compute_up asks for if nova-compute has to start again (rename/in_place/steps.py)",
}


def controller(plan):
    found = set()
    for where, action in steps_of(plan):
        if where == "CONTROLLER":
            found |= set(CALLED[plan, action]) if action.startswith("(") else {action}
    return found


def host_actions():
    return set(HostRunner("/nonexistent", True).actions)


#: Every plan that has steps, and every file that carries steps out on the controller: whatever is in the wings.
PLANS = sorted(path.relative_to(UTILS).as_posix() for path in UTILS.rglob("*plan.py") if "Step(" in path.read_text())
FILES = sorted(
    path.relative_to(UTILS).as_posix() for path in UTILS.rglob("*steps.py") if "\ndef actions(" in path.read_text()
)
#: Plan, and the file that advances its steps and marks each.
BY_OPERATION = {
    "evacuation/plan.py": "evacuation/operation.py",
    "return_host/plan.py": "return_host/operation.py",
}
#: Plan of rows, and what carries all of them out: its steps are what a person approves. The operation
#: that is named first calls it, when it has written down what was before.
BY_ROWS = {
    "links/plan.py": ("links/operation.py", "links/steps.py", "link_rows.apply_batch"),
    "zones/pins/plan.py": ("zones/pins/operation.py", "zones/pins/steps.py", "zone_pins.carry_out"),
}
ELSEWHERE = {**BY_OPERATION, **BY_ROWS}
ON_CONTROLLER = [plan for plan in PLANS if plan not in ELSEWHERE]
RENAME = "rename/"


def actions_of(file):
    """What a file of steps carries out."""
    module = ".".join(file.removesuffix(".py").split("/"))
    actions = importlib.import_module(f"{registry.__package__.rpartition('.')[0]}.{module}").actions
    return set(actions(NOBODY, *[None] * (len(inspect.signature(actions).parameters) - 1)))


def files_of(plan):
    """The files that carry a plan out: those of its folder; of a rename, those of its whole wing."""
    folder = RENAME if plan.startswith(RENAME) else plan.rpartition("/")[0] + "/"
    return [file for file in FILES if file.startswith(folder)]


def test_the_directories_are_looked_at():
    assert {"rename/in_place/plan.py", "moves/plan.py", "zones/resize/plan.py", *ELSEWHERE} <= set(PLANS)
    assert {"rename/in_place/steps.py", "moves/steps.py", "rename/requests/queue_steps.py"} <= set(FILES)


@pytest.mark.parametrize("plan", ON_CONTROLLER)
def test_each_step_on_the_controller_has_one_implementation_in_the_files_of_its_plan(plan):
    found = [name for file in files_of(plan) for name in actions_of(file)]
    assert [found.count(name) for name in sorted(controller(plan))] == [1] * len(controller(plan)), plan


def test_each_implementation_on_the_controller_is_in_a_plan_and_there_is_no_second_one():
    found = sorted(name for file in FILES for name in actions_of(file))
    assert found == sorted({name for plan in ON_CONTROLLER for name in controller(plan)})


def test_where_a_plan_is_carried_out_elsewhere_it_is_there():
    assert set(ELSEWHERE) <= set(PLANS)
    assert len(ELSEWHERE) == sum(map(len, (BY_OPERATION, BY_ROWS))), "in two ways"


@pytest.mark.parametrize("plan", sorted(BY_ROWS))
def test_rows_are_changed_by_one_function_that_the_operation_calls(plan):
    operation, file, function = BY_ROWS[plan]
    module = ".".join(file.removesuffix(".py").split("/"))
    package = registry.__package__.rpartition(".")[0]
    assert callable(getattr(importlib.import_module(f"{package}.{module}"), function.partition(".")[2]))
    tree = ast.parse((UTILS / operation).read_text())
    assert function in {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert len({action for _where, action in steps_of(plan)}) == 1
    assert file not in FILES, "it has no steps that are carried out one by one"


def test_a_rename_is_carried_out_by_all_files_of_its_plans():
    assert set(registry.of_rename(NOBODY, None)) == {name for file in files_of(RENAME) for name in actions_of(file)}


def test_a_second_implementation_is_refused(monkeypatch):
    monkeypatch.setattr(registry.queues, "actions", lambda _systems: {"cell_rows": object()})
    with pytest.raises(ValueError, match="two implementations of cell_rows"):
        registry.of_rename(NOBODY, None)


@pytest.mark.parametrize("plan", [plan for plan in PLANS if plan != "return_host/plan.py"])
def test_each_step_on_a_host_has_an_implementation_there(plan):
    assert {action for where, action in steps_of(plan) if where == "HOST"} <= host_actions()


def test_each_step_on_a_host_that_has_an_implementation_is_in_a_plan():
    planned = {action for plan in PLANS for where, action in steps_of(plan) if where == "HOST"}
    assert host_actions() - planned == set(NO_STEP)


def named(file):
    """The module that a file of a wing is."""
    parts = file.relative_to(UTILS).with_suffix("").parts
    return ".".join([registry.__package__.rpartition(".")[0], *parts])


def test_an_evacuation_begins_and_ends_each_step_of_its_plan():
    operation = UTILS / BY_OPERATION["evacuation/plan.py"]
    files = [operation, *sorted(path for path in operation.parent.rglob("*.py") if path != operation)]
    marked = {
        (getattr(importlib.import_module(named(file)), node.args[0].id), node.args[1].attr)
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "mark"
    }
    wanted = {action for _where, action in steps_of("evacuation/plan.py")}
    assert marked >= {(action, state) for action in wanted for state in ("APPLYING", "DONE")}
    assert {action for action, _state in marked} == wanted


def test_a_return_carries_out_each_step_of_its_plan_once():
    """By a method of its own; what only Ansible can do the role provides, one task file for each need."""
    assert set(return_host.STEPS) == {action for _where, action in steps_of("return_host/plan.py")}
    assert all(callable(getattr(return_host.HostReturn, name)) for name in return_host.STEPS.values())
    files = {path.stem for path in (ROOT / "roles" / "return_host" / "tasks").glob("need_*.yml")}
    kinds = (needs.READ_HOST, needs.READ_CEPH, needs.READ_CLOUD, needs.END_DOMAINS, needs.MOVE_ASIDE, needs.LIFT)
    assert files == {f"need_{kind}" for kind in kinds}
