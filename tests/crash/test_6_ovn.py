# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rename with OVN, killed: at each spark of its own steps, and at random moments. No kill cuts a guest off.

compute1 is renamed, which is the gateway chassis. Packets run in all directions from before the first kill until the
rename has ended, and every change of a port's binding is recorded.
"""

from __future__ import annotations

import os
import random
import re
import time

import pytest
from labkit import killing, state, waiting
from labkit.fixtures import chassis, probe
from labkit.guests import NEW
from labkit.ovn_fixtures import (
    NOISE_MS,
    OLD,
    access,
    books,
    kept_servers,
    longest_outage,
    nothing_lost,
    undisturbed,
)
from labkit.ovn_ports import bound
from labkit.paused import Paused

__all__ = ["access", "books", "chassis", "kept_servers", "probe", "undisturbed"]

EACH, CHANCE = (pytest.mark.matrix(part, l2="ovn") for part in ("crash-ovn", "crash-ovn-random"))

#: Every spark of the steps that change or verify OVN and what neutron knows of it: part crash kills at the others.
OWN = r"^(apply|undo) (ovn_\w+|neutron_bindings|neutron_agents) "
OVN_STEPS = {"ovn_ports_by_chassis", "ovn_hostname", "neutron_bindings", "ovn_ports_by_host", "ovn_verified"}
TIMES = 20


def whole(lab, chassis, name, other):
    """The host has one name in every place, OVN's among them."""
    assert state.files(lab)["uname -n"] == name
    assert chassis.hostname(OLD) == name
    assert (chassis.requesting(other), chassis.requesting(chassis.name(OLD))) == ([], [])
    assert state.written(lab, other) == []
    service = lab.service(name)
    assert (service["status"], service["forced_down"]) == ("enabled", False)


def kill_at_each(books, file, old, new, action=None):
    """Run until a run ends by itself, each killed at a spark that none was killed at before; return the sparks."""
    for _number in range(200):
        env = {"STACKGUARD_TEST_SPARKS": str(file), "STACKGUARD_TEST_ONLY": OWN}
        result = books.rename(old, new, action, kill="next", env=env)
        if result.rc != -9:
            result.ok()
            return file.read_text().splitlines()
    raise AssertionError("it never ends")


def steps_of(seen, direction):
    found = (re.match(rf"{direction} (\w+) ", line) for line in seen)
    return {match.group(1) for match in found if match}


def names(chassis):
    """The host's name now, and the other one: each test renames from where the last one ended."""
    return (NEW, OLD) if chassis.hostname(OLD) == NEW else (OLD, NEW)


@EACH
def test_killed_at_each_step_of_ovn_the_same_command_finishes(
    lab, chassis, probe, kept_servers, books, undisturbed, tmp_path
):
    before, (name, other) = state.guests(lab), names(chassis)
    with nothing_lost(chassis, probe, undisturbed):
        seen = kill_at_each(books, tmp_path / "forward", name, other)
        print(f"\n{len(seen)} kills: {'; '.join(seen)}")
    assert steps_of(seen, "apply") >= OVN_STEPS
    whole(lab, chassis, other, name)
    state.assert_same(before, state.guests(lab), "guests")


@EACH
def test_a_rollback_killed_at_each_step_of_ovn_ends_as_before(
    lab, chassis, probe, kept_servers, books, undisturbed, tmp_path
):
    """The rename is killed when nearly all is done; the host keeps the name that it has."""
    before, (name, other) = state.guests(lab), names(chassis)
    with nothing_lost(chassis, probe, undisturbed):
        assert books.rename(name, other, kill="apply compute_up acted").rc == -9
        seen = kill_at_each(books, tmp_path / "backward", name, other, "rollback")
        print(f"\n{len(seen)} kills: {'; '.join(seen)}")
    assert steps_of(seen, "undo") >= OVN_STEPS - {"ovn_verified"}
    whole(lab, chassis, name, other)
    state.assert_same(before, state.guests(lab), "guests")


#: The chassis has the new hostname, and neutron's database the old one: what neutron writes now cuts the port off.
WINDOW = "apply ovn_hostname acted"


@EACH
def test_a_port_that_its_owner_updates_in_the_window_is_corrected_at_once(
    lab, chassis, probe, kept_servers, books, undisturbed, tmp_path
):
    (name, other), port = names(chassis), probe.ports[0]
    with probe.running() as run:
        paused = Paused(books, (name, other), WINDOW, tmp_path)
        for number in range(3):
            lab.cloud.network.update_port(port, description=f"update {number}")
            waiting.until("the port is corrected", lambda: port in chassis.requesting(chassis.name(OLD)), 20, 0.1)
        result = paused.go().ok()
        time.sleep(2)
    print(f"\n{run.told()}")
    (entry,) = (item for item in result.report["findings"] if item["code"] == "SG326")
    print(entry["evidence"])
    assert (entry["object"]["id"], entry["severity"]) == (port, "warning")
    # Neutron writes the port once more whenever it has gone down or up.
    assert entry["evidence"]["corrected"] >= 3
    cut_off = entry["evidence"]["milliseconds without its chassis"]
    assert longest_outage(run) <= max(NOISE_MS, undisturbed) + cut_off, run.told()
    whole(lab, chassis, other, name)
    assert chassis.binding(port) == bound(chassis, OLD)


@EACH
def test_while_no_run_watches_such_an_update_cuts_the_port_off_and_the_next_run_corrects_it(
    lab, chassis, probe, kept_servers, books, tmp_path
):
    """What the watch is for. The run is killed in the window; how long the port is cut off is the operator's time."""
    (name, other), port = names(chassis), probe.ports[0]
    paused = Paused(books, (name, other), WINDOW, tmp_path)
    paused.kill()
    books.finish(paused.process)
    assert chassis.binding(port) == bound(chassis, OLD), "the kill alone cuts nothing off"
    lab.cloud.network.update_port(port, description="while no run watches")
    waiting.until("the port is cut off", lambda: chassis.binding(port)[0] is None, 30, 0.2)
    result = books.rename(name, other, "resume").ok()
    assert ("SG326", port) in {(item["code"], item["object"]["id"]) for item in result.report["findings"]}
    whole(lab, chassis, other, name)
    assert chassis.binding(port) == bound(chassis, OLD)


@CHANCE
def test_killed_at_random_and_resumed_or_rolled_back_the_outcome_is_whole(
    lab, chassis, probe, kept_servers, books, undisturbed
):
    seed = os.environ.get("STACKGUARD_TEST_SEED", "16")
    dice, before = random.Random(seed), state.guests(lab)
    name, other = names(chassis)
    with nothing_lost(chassis, probe, undisturbed):
        for number in range(TIMES):
            process = books.start_rename([f"rename_from={name}", f"rename_to={other}"])
            killing.kill_at_share(lab, process, OLD, dice.random(), dice.uniform(0.0, 2.0))
            ended = books.finish(process).rc == 0
            way = dice.choice(["resume", "rollback"])
            begun = killing.steps_begun(lab, OLD)
            done = begun[0] or ["none"] if begun else ["all"] if ended else ["none"]
            if begun:
                books.rename(name, other, way).ok()
            name, other = (other, name) if chassis.hostname(OLD) == other else (name, other)
            print(f"\n{number}: killed at {done[-1]}, {way}: {name}")
            whole(lab, chassis, name, other)
    state.assert_same(before, state.guests(lab), "guests")
    if name == NEW:
        books.rename(NEW, OLD).ok()
