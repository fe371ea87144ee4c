# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is asked for and what is open decide what a run does: every combination, against a table written by hand."""

from __future__ import annotations

import ast
import itertools
import pathlib
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import Refused
from ansible_collections.stackguard.nova.plugins.module_utils.engine.operation import Operation
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError

MODULE_UTILS = pathlib.Path(__file__).resolve().parents[3] / "plugins" / "module_utils"
REASONS = ("beside", "another", "plan")


class Made(Operation):
    """It does nothing, and notes what it was to do. ``against``: what stands against acting on the open operation."""

    BACK = "abort"

    def __init__(self, action, opened, against):
        run = types.SimpleNamespace(options={"action": action}, check_mode=False, variable=str)
        super().__init__(run)
        self.opened, self.against, self.did = opened, against, []

    def _did(self, what):
        self.did.append(what)

    def _refuse(self, why):
        self._did(f"asked {why}")
        if why in self.against:
            raise Refused(why)

    def operation_text(self):
        return "nothing"

    def kind(self):
        return "nothing"

    def read_open_journal(self):
        return {} if self.opened else None

    def begin_new(self):
        self._did("begin")

    def resume_open(self, journal):
        self._did("resume")

    def show_open(self, journal):
        self._did("show")

    def end_open(self, journal):
        self._did("end")

    def nothing_open(self, action):
        self._did(f"nothing to {action}")

    def refuse_beside_another_run(self, journal):
        self._refuse("beside")

    def refuse_another(self, journal, action):
        assert action in ("resume", "abort")
        self._refuse("another")

    def refuse_another_plan(self, journal):
        self._refuse("plan")


def expected(action, opened, against):
    """The oracle: what is done, or the first reason why not."""
    if not opened:
        return {"apply": "begin"}.get(action, f"nothing to {action}")
    if action == "status":
        return "show"
    counts = REASONS[:2] if action == "abort" else REASONS
    return next((why for why in counts if why in against), {"abort": "end"}.get(action, "resume"))


@pytest.mark.parametrize("action", ["apply", "resume", "status", "abort"])
@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("against", [some for n in range(4) for some in itertools.combinations(REASONS, n)])
def test_an_open_operation_is_acted_on_where_nothing_stands_against_it(action, opened, against):
    made = Made(action, opened, against)
    wanted = expected(action, opened, against)
    if wanted in REASONS:
        with pytest.raises(Refused, match=wanted):
            made.carry_out()
        assert made.did == [f"asked {why}" for why in REASONS[: REASONS.index(wanted) + 1]]
    else:
        made.carry_out()
        assert made.did[-1] == wanted


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("action", ["rollback", "adopt", "Abort", ""])
def test_a_word_that_no_operation_knows_is_not_taken_for_the_way_back(action, opened):
    made = Made(action, opened, ())
    with pytest.raises(StackguardError):
        made.carry_out()
    assert made.did == []


def test_no_wing_decides_by_itself_what_an_action_does():
    """A second lifecycle would compare the action with apply and status, as a dispatch does."""
    compared = {
        str(path.relative_to(MODULE_UTILS))
        for path in MODULE_UTILS.rglob("operation.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Compare)
        and {ast.unparse(entry) for entry in [node.left, *node.comparators]} & {"lifecycle.STATUS", "'status'"}
    }
    assert compared == {"engine/operation.py", "rename/operation.py"}, "a rename shows the name while nothing is open"
