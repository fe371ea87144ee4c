# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evacuations and renames under servers on volumes, killed at random: what ends them leaves nothing wrong."""

from __future__ import annotations

import os
import random
import time

import pytest
from labkit import evacuation, killing, state
from labkit import guests as guestkit
from labkit.deadhost import OTHER, SOURCE, by_power, evacuate, returned, start
from labkit.guests import NEW
from labkit.volumes import KINDS, booted

EVACUATIONS = pytest.mark.matrix("volumes-killed", cinder="ceph,nfs,san")
RENAMES = pytest.mark.matrix("volumes-rename-killed", cinder="ceph,nfs,san")
#: Seconds in which an evacuation of three servers has begun and not ended, on an idle machine.
FROM, TO = 8, 45
TIMES = 10


@EVACUATIONS
@pytest.mark.parametrize("seed", range(5))
def test_killed_twice_at_random(readable, volumes, playbooks, seed):
    """Two kills each: ten in all."""
    lab, dice = readable, random.Random(seed)
    servers = booted(lab, *dice.sample(sorted(KINDS), 3))
    evacuation.kill(lab, SOURCE)
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


@RENAMES
def test_ten_renames_there_and_back_each_killed_at_random_and_resumed(readable, volumes, playbooks):
    """No rename changes a record of Cinder, and the moves afterwards make each anew."""
    lab, dice = readable, random.Random(os.environ.get("STACKGUARD_TEST_SEED", "48"))
    servers = booted(lab, *KINDS)
    before, rows = state.guests(lab), volumes.rows()
    assert volumes.wrong() == []
    name, other = SOURCE, NEW
    for number in range(TIMES):
        process = playbooks.start_rename([f"rename_from={name}", f"rename_to={other}"])
        killing.kill_at_share(lab, process, SOURCE, dice.random(), dice.uniform(0, 3))
        ended, begun = playbooks.finish(process).rc == 0, killing.steps_begun(lab, SOURCE)
        print(f"\n{number}: {name} killed at {begun[0][-1:] if begun else 'the end' if ended else 'nothing'}")
        assert volumes.rows() == rows
        if not ended:
            playbooks.rename(name, other, "resume" if begun else None).ok()
        name, other = other, name
        assert state.files(lab)["uname -n"] == name
        assert (lab.service(name)["status"], killing.steps_begun(lab, SOURCE)) == ("enabled", None)
        state.assert_same(before, state.guests(lab), "guests")
        assert volumes.rows() == rows
        assert volumes.wrong(stale=True) == []
    assert name == SOURCE
    for host in (OTHER, SOURCE):
        playbooks.run("migrate_server", variables={"migrate_servers": list(servers.values())}).ok()
        for server in servers.values():
            guestkit.wait_for(lab, server, "ACTIVE", host=host)
        assert volumes.wrong() == []
