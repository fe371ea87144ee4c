# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Unshelving: a server without a pin strays at a plain one; by the collection it starts in its zone, or stays shelved.

compute1 and compute2 are in az1, compute3 is in az2. Each test boots the guest that it needs, and deletes it.
"""

from __future__ import annotations

import pytest
from labkit import guests as guestkit
from labkit import killing, waiting, zoning
from labkit.zoning import FAR, NEIGHBOUR, OTHER_ZONE, SOURCE, ZONE, enable, pin, state_dir

matrix = pytest.mark.matrix
OFFLOADED = "SHELVED_OFFLOADED"


@pytest.fixture
def crowded(lab):
    """The other host of az1 is much fuller than that of az2: the scheduler's weighers prefer az2."""
    zoning.tidy(lab)
    zoning.crowd(lab)
    yield lab
    zoning.tidy(lab)


def boot(lab):
    return zoning.boot(lab, "web", 1)["web1"]


def shelve(lab):
    """A server of az1 that is shelved, and whose own host takes none."""
    uuid = boot(lab)
    lab.action(uuid, "shelve")
    guestkit.wait_for(lab, uuid, OFFLOADED, timeout=300)
    enable(lab, SOURCE, "disabled")
    return uuid


def unshelve(playbooks, uuid, flags=(), **given):
    return playbooks.finish(start(playbooks, uuid, flags, **given), timeout=900)


def start(playbooks, uuid, flags=(), **given):
    chosen = {"unshelve_server": uuid, "stackguard_state_dir": str(state_dir(playbooks.lab))}
    return playbooks.start("unshelve_server", (), variables={**chosen, **given}, flags=flags)


def stands(lab, uuid):
    server = lab.server(uuid)
    return server["OS-EXT-SRV-ATTR:host"], server["status"], pin(lab, uuid)


def attempts(lab, uuid):
    """How often an unshelving was asked for and has ended, without a host."""
    waiting.until("no task", lambda: lab.server(uuid)["OS-EXT-STS:task_state"] is None or None, 120)
    actions = lab.compute("GET", f"/servers/{uuid}/os-instance-actions")["instanceActions"]
    return len([row for row in actions if row["action"] == "unshelve"])


# --- unguarded ------------------------------------------------------------------------------------------------


def test_unguarded_a_plain_unshelving_lands_in_the_other_zone(crowded):
    lab = crowded
    uuid = shelve(lab)
    enable(lab, NEIGHBOUR, "disabled")
    lab.action(uuid, "unshelve")
    guestkit.wait_for(lab, uuid, "ACTIVE", timeout=300)
    assert stands(lab, uuid) == (FAR, "ACTIVE", None)
    assert lab.server(uuid)["OS-EXT-AZ:availability_zone"] == OTHER_ZONE


# --- guarded --------------------------------------------------------------------------------------------------


def test_guarded_it_is_refused_without_room_and_starts_in_its_zone(crowded, playbooks):
    lab = crowded
    uuid = shelve(lab)
    enable(lab, NEIGHBOUR, "disabled")
    assert "SG406" in unshelve(playbooks, uuid).failed().codes
    assert (stands(lab, uuid), attempts(lab, uuid)) == ((None, OFFLOADED, None), 0)
    enable(lab, NEIGHBOUR)
    checked = unshelve(playbooks, uuid, flags=["--check", "--diff"]).ok()
    assert f"unshelve the server in {ZONE}" in checked.output
    assert stands(lab, uuid) == (None, OFFLOADED, None)
    unshelve(playbooks, uuid).ok()
    assert stands(lab, uuid) == (NEIGHBOUR, "ACTIVE", ZONE)
    assert unshelve(playbooks, uuid).ok().changed == 0


@matrix
def test_after_an_attempt_that_found_no_host_its_zone_is_known(crowded, playbooks):
    lab = crowded
    uuid = shelve(lab)
    for host in (NEIGHBOUR, FAR):
        enable(lab, host, "disabled")
    lab.action(uuid, "unshelve")
    assert (attempts(lab, uuid), stands(lab, uuid)) == (1, (None, OFFLOADED, None))
    for host in (NEIGHBOUR, FAR):
        enable(lab, host)
    unshelve(playbooks, uuid).ok()
    assert stands(lab, uuid) == (NEIGHBOUR, "ACTIVE", ZONE)


@matrix
def test_a_zone_that_all_facts_contradict_takes_an_override(crowded, playbooks):
    lab = crowded
    uuid = shelve(lab)
    assert "SG409" in unshelve(playbooks, uuid, unshelve_zone=OTHER_ZONE).failed().codes
    assert stands(lab, uuid) == (None, OFFLOADED, None)
    word = [{"code": "SG409", "object": uuid, "reason": "az1 burns"}]
    unshelve(playbooks, uuid, unshelve_zone=OTHER_ZONE, stackguard_overrides=word).ok()
    assert stands(lab, uuid) == (FAR, "ACTIVE", OTHER_ZONE)


@matrix
def test_without_its_image_it_is_refused(crowded, playbooks):
    lab = crowded
    uuid = shelve(lab)
    (image,) = [image for image in lab.cloud.image.images() if image.name == "web1-shelved"]
    lab.cloud.image.delete_image(image.id)
    assert "SG710" in unshelve(playbooks, uuid).failed().codes
    assert stands(lab, uuid) == (None, OFFLOADED, None)


@matrix
def test_one_that_is_still_on_its_host_starts_there(crowded, playbooks):
    lab = crowded
    # Before nova-compute starts again: for a while after that the scheduler does not take the host.
    uuid = boot(lab)
    with zoning.configured(lab, SOURCE, {"DEFAULT": "shelved_offload_time = -1"}):
        lab.action(uuid, "shelve")
        guestkit.wait_for(lab, uuid, "SHELVED", timeout=300)
        unshelve(playbooks, uuid).ok()
        assert stands(lab, uuid) == (SOURCE, "ACTIVE", None)


@matrix
def test_a_shelved_server_can_be_pinned_and_a_plain_unshelving_then_stays(crowded, playbooks):
    lab = crowded
    uuid = shelve(lab)
    given = {"pin_servers": [uuid], "stackguard_state_dir": str(state_dir(lab))}
    playbooks.run("pin_servers", variables=given).ok()
    assert stands(lab, uuid) == (None, OFFLOADED, ZONE)
    lab.action(uuid, "unshelve")
    guestkit.wait_for(lab, uuid, "ACTIVE", timeout=300)
    assert stands(lab, uuid) == (NEIGHBOUR, "ACTIVE", ZONE)


@matrix
@pytest.mark.parametrize("step", [1, 2])
def test_killed_and_run_again_it_runs(crowded, playbooks, step):
    lab = crowded
    uuid = shelve(lab)
    killing.kill_when_said(start(playbooks, uuid), f"] {step}/2 ")
    unshelve(playbooks, uuid).ok()
    assert stands(lab, uuid) == (NEIGHBOUR, "ACTIVE", ZONE)
    assert attempts(lab, uuid) == 1


@matrix
def test_killed_and_ended_nothing_is_left_open(crowded, playbooks):
    lab = crowded
    uuid = shelve(lab)
    killing.kill_when_said(start(playbooks, uuid), "] 1/2 ")
    unshelve(playbooks, uuid, unshelve_action="rollback").ok()
    assert stands(lab, uuid) in ((None, OFFLOADED, None), (NEIGHBOUR, "ACTIVE", ZONE))
    assert not list(state_dir(lab).glob("unshelve-*.json"))
