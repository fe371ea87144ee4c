# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The forecast with one rule less, for each rule that its source has.

A rule is what decides: an C(if) whose body leaves the function, one side of a conditional, one operand of C(and) or
C(or), one word of a table. Found in the syntax tree, so that a rule that is written tomorrow is removed as well. What
only asks whether something is there (C(x is None), C(x or 0)) is no rule.
"""

from __future__ import annotations

import ast
import copy
import importlib
import sys
import types

PACKAGE = "ansible_collections.stackguard.nova.plugins.module_utils"
FORECAST = f"{PACKAGE}.hazards.forecast"
#: What is made anew with a module that was changed, because it has taken names from it.
USERS = {
    f"{PACKAGE}.hazards.recovery": (FORECAST,),
    f"{PACKAGE}.model.stored_names": (f"{PACKAGE}.model.lookups", FORECAST),
    f"{PACKAGE}.model.host_domain": (f"{PACKAGE}.model.names", f"{PACKAGE}.model.lookups", FORECAST),
    FORECAST: (),
}
_LEAVES = (ast.Return, ast.Raise, ast.Continue)


def _guard(node):
    """Whether an expression only asks whether something is there, or stands for what is not."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _guard(node.operand)
    if isinstance(node, ast.BoolOp):
        return all(map(_guard, node.values))
    if isinstance(node, ast.Compare):
        last = node.comparators[-1]
        return isinstance(last, ast.Constant) and last.value is None
    empty = isinstance(node, (ast.Tuple, ast.List, ast.Dict)) and not ast.unparse(node).strip("()[]{}")
    return empty or isinstance(node, (ast.Constant, ast.Name, ast.Attribute))


class _Removals(ast.NodeVisitor):
    """Collects (name, how to change the tree) in the order of the source."""

    def __init__(self, without):
        self.found = []
        self._without = without
        self._where = []

    def visit_ClassDef(self, node):
        self.generic_visit(node)

    def visit_FunctionDef(self, node):
        if node.name in self._without:
            return
        self._where.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._where.pop()

    def visit_Assign(self, node):
        value = node.value
        if not self._where and isinstance(value, ast.Tuple) and isinstance(node.targets[0], ast.Name):
            for number, element in enumerate(value.elts):
                if isinstance(element, ast.Constant):
                    self._add(node, f"{node.targets[0].id}: {element.value}", _drop(value, number))
        self.generic_visit(node)

    def visit_If(self, node):
        if self._where and isinstance(node.body[-1], _LEAVES) and not _guard(node.test):
            self._add(node.test, f"if {ast.unparse(node.test)}", _put(node, "test", ast.Constant(False)))
        self.generic_visit(node)

    def visit_IfExp(self, node):
        if self._where and not _guard(node.test):
            self._add(node, f"never {ast.unparse(node.body)}", _put(node, "test", ast.Constant(False)))
            self._add(node, f"always {ast.unparse(node.body)}", _put(node, "test", ast.Constant(True)))
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        if self._where:
            word = "or" if isinstance(node.op, ast.Or) else "and"
            defaults = word == "or" and any(map(_guard, node.values[1:]))
            for number, operand in enumerate(node.values):
                if _guard(operand) or defaults:
                    continue
                # What is left of "a or" is never true, of "a and" always: as if the operand did not exist.
                empty = ast.Constant(word == "and")
                self._add(operand, f"{word} {ast.unparse(operand)}", _replace(node, number, empty))
        self.generic_visit(node)

    def visit_Compare(self, node):
        if self._where and isinstance(node.ops[0], (ast.In, ast.NotIn)) and isinstance(node.comparators[0], ast.Tuple):
            for number, element in enumerate(node.comparators[0].elts):
                self._add(element, f"in {ast.unparse(element)}", _drop(node.comparators[0], number))
        self.generic_visit(node)

    def _add(self, node, text, change):
        self.found.append((f"{'.'.join(self._where)}: {text}".lstrip(": "), change))


def _put(node, field, value):
    return lambda memo: setattr(memo[id(node)], field, value)


def _drop(node, number):
    return lambda memo: memo[id(node)].elts.pop(number)


def _replace(node, number, value):
    return lambda memo: memo[id(node)].values.__setitem__(number, value)


def removals(name, without=()):
    """Return (name of the rule, function that returns the forecast without it) for every rule of a module."""
    source = importlib.import_module(name)
    with open(source.__file__, encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    finder = _Removals(without)
    finder.visit(tree)
    counted, result = {}, []
    for text, change in finder.found:
        counted[text] = counted.get(text, 0) + 1
        label = text if counted[text] == 1 else f"{text} ({counted[text]})"
        result.append((label, lambda change=change: _changed(name, tree, change)))
    return result


def _changed(name, tree, change):
    memo = {}
    other = copy.deepcopy(tree, memo)
    change(memo)
    return _forecast(name, compile(ast.fix_missing_locations(other), name, "exec"))


def _forecast(name, code):
    """The forecast module, with one module of those that it is made of exchanged."""
    kept = {module: sys.modules.get(module) for module in (name, *USERS[name])}
    try:
        _run(name, code)
        for user in USERS[name]:
            with open(kept[user].__file__, encoding="utf-8") as stream:
                _run(user, compile(stream.read(), user, "exec"))
        return sys.modules[FORECAST]
    finally:
        sys.modules.update(kept)


def _run(name, code):
    module = types.ModuleType(name)
    module.__package__ = name.rpartition(".")[0]
    sys.modules[name] = module
    exec(code, module.__dict__)
