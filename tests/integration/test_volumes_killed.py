# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evacuations of servers on volumes, killed at random: the same command again ends them, and nothing is wrong then."""

from __future__ import annotations

import random
import time

import pytest
from labkit import evacuation, killing
from labkit.deadhost import OTHER, by_power, evacuate, returned, start
from labkit.volumes import KINDS, booted

pytestmark = pytest.mark.matrix("volumes-killed", cinder="ceph,nfs,san")
#: Seconds in which an evacuation of three servers has begun and not ended, on an idle machine.
FROM, TO = 8, 45


@pytest.mark.parametrize("seed", range(5))
def test_killed_twice_at_random(readable, volumes, playbooks, seed):
    """Two kills each: ten in all."""
    lab, dice = readable, random.Random(seed)
    servers = booted(lab, *dice.sample(sorted(KINDS), 3))
    evacuation.kill(lab, "compute1")
    for _kill in range(2):
        process = start(playbooks, fence="power", variables=by_power(lab))
        time.sleep(dice.uniform(FROM, TO))
        killing.kill(process)
    evacuate(playbooks, fence="power", variables=by_power(lab)).ok()
    for server in servers.values():
        found = lab.server(server)
        assert (found["status"], found["OS-EXT-SRV-ATTR:host"]) == ("ACTIVE", OTHER)
    assert volumes.wrong() == []
    returned(lab, playbooks)
    assert volumes.wrong() == []
