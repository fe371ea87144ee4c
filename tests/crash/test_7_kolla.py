# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rename in place of a host with containers, killed at random moments, and then resumed or rolled back.

Whatever is running at that moment (a step on the host, the operator's command that recreates), the guests run on, the
host is not started under half a name, and one run of resume or rollback ends with one name in every place.
"""

from __future__ import annotations

import os
import random

import pytest
from labkit import killing, state
from labkit.guests import NEW
from labkit.kolla_fixtures import (
    OLD,
    PATIENCE,
    assert_named,
    books,
    guests,
    guests_by_kernel,
    lab,
    libvirt_says,
    servers,
)

__all__ = ["books", "lab", "servers"]

SHAPE = {"l2": "ovs", "deploy": "kolla:compute1"}
#: In each of the two parts: a part has 45 minutes, and a kill with what follows takes three.
TIMES = 8
#: From here on a rollback has nothing to start: the old containers are being removed.
ONLY_FORWARD = "forget_containers"


@pytest.mark.matrix("crash-kolla", **SHAPE)
def test_killed_at_random_and_resumed_or_rolled_back_the_outcome_is_whole(lab, servers, books):
    killed_at_random(lab, books, os.environ.get("STACKGUARD_TEST_SEED", "17"))


@pytest.mark.matrix("crash-kolla-again", **SHAPE)
def test_the_same_at_other_moments(lab, servers, books):
    killed_at_random(lab, books, os.environ.get("STACKGUARD_TEST_SEED", "18"))


def killed_at_random(lab, books, seed):
    dice, before = random.Random(seed), guests(lab)
    name, other = OLD, NEW
    for number in range(TIMES):
        share, delay, way = dice.random(), dice.uniform(0, 6), dice.choice(["resume", "rollback"])
        process = books.start_rename([f"rename_from={name}", f"rename_to={other}"])
        killing.kill_at_share(lab, process, OLD, share, delay, PATIENCE)
        ended = books.finish(process).rc == 0
        state.assert_same(before, guests_by_kernel(before, lab), "guests, after the kill")
        found = killing.steps_begun(lab, OLD)
        steps = found[0] if found else []
        if found and ONLY_FORWARD in steps:
            way = "resume"
        if found:
            books.rename(name, other, way, timeout=PATIENCE).ok()
        if ended or (found and way == "resume"):
            name, other = other, name
        print(f"\n{number}: killed at {steps[-1] if steps else 'the end' if ended else 'nothing'}, {way}: {name}")
        assert libvirt_says(lab) == name
        state.assert_same(before, guests(lab), "guests")
        assert_named(lab, name)
    if name == NEW:
        books.rename(NEW, OLD, timeout=PATIENCE).ok()
        assert_named(lab, OLD)
