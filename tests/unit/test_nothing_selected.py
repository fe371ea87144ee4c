# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nothing selected is no success. Nothing left to do is one."""

from __future__ import annotations

import types

import pytest

from ansible_collections.stackguard.nova.plugins.action import server_zone_pin
from ansible_collections.stackguard.nova.plugins.module_utils.engine.lifecycle import Refused
from ansible_collections.stackguard.nova.plugins.module_utils.model import server_selection
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.moves import operation as move_servers
from ansible_collections.stackguard.nova.plugins.module_utils.zones.pins import operation as pin_zones
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import Life
from ansible_collections.stackguard.nova.tests.unit.journaled import State
from ansible_collections.stackguard.nova.tests.unit.operations import test_move_servers as moves
from ansible_collections.stackguard.nova.tests.unit.operations import test_pin_zones as pins
from ansible_collections.stackguard.nova.tests.unit.two_cells import TwoCells

NOBODY = "[?name=='nobody']"


@pytest.fixture
def life(tmp_path, monkeypatch):
    return Life(tmp_path, monkeypatch)


@pytest.fixture
def state(tmp_path):
    return State(tmp_path / "state")


@pytest.mark.parametrize("selection", [[], NOBODY])
def test_an_evacuation_of_nobody_fails_and_changes_nothing(life, selection):
    done = life.run(servers=selection)
    assert (done["failed"], life.nova.asked, life.open()) == (True, [], None)


def test_an_evacuation_that_has_ended_is_a_success_again(life):
    assert life.run()["failed"] is False
    again = life.run()
    assert (again["failed"], again["changed"]) == (False, False)


def test_a_selection_that_all_have_left_is_resumed_to_its_end(life):
    """The expression matches nobody on the dead host any more."""
    for calls in range(4, 12):
        if life.run(servers="[?status=='ACTIVE']", dies_at=calls) is None and life.nova.asked and life.open():
            break
    done = life.run(servers="[?status=='ACTIVE']")
    assert (done["failed"], life.open()) == (False, None)


@pytest.mark.parametrize("selection", [[], NOBODY, ["nobody"]])
def test_a_migration_of_nobody_is_refused(selection):
    run = types.SimpleNamespace(options={"servers": selection, "drain_host": None})
    run.systems = types.SimpleNamespace(cloud=TwoCells())
    with pytest.raises((Refused, server_selection.OptionError)):
        move_servers.Moves(run)._read()


def test_a_drain_of_an_empty_host_is_a_success(monkeypatch, state):
    nova = moves.Cloud(monkeypatch)
    assert nova.apply(state)["state"] == "finished"
    again = nova.apply(state)
    assert (again["state"], again.get("failed", False)) == ("none", False)


@pytest.mark.parametrize(
    "options",
    [
        {"servers": []},
        {"servers": NOBODY},
        {"servers": [], "hosts": ["compute1"]},
        {"servers": NOBODY, "hosts": ["compute1"]},
        {"hosts": []},
        {"servers": ["nobody"]},
    ],
)
def test_pins_of_nobody_are_refused(options):
    options = {**pins.OPTIONS, "all_servers": False, **options}
    if pin_zones.problem(options) is None:
        with pytest.raises(StackguardError):
            server_zone_pin._chosen(TwoCells(), options)


def test_pins_that_are_right_already_are_a_success(monkeypatch, state):
    cloud = pins.Cloud(monkeypatch)
    assert cloud.run(state)["failed"] is False
    assert (cloud.run(state)["failed"], cloud.run(state)["changed"]) == (False, False)


@pytest.mark.parametrize("given", [{"servers": []}, {"servers": ()}])
def test_an_empty_list_is_noticed_before_anything_is_asked(given):
    assert server_selection.expression_problem(given)


@pytest.mark.parametrize("given", [{}, {"servers": None}, {"servers": ""}, {"servers": ["web1"]}])
def test_what_was_not_given_selects_all(given):
    assert server_selection.expression_problem(given) is None
