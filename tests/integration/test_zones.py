# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Zones: an unpinned server strays at a plain resize; resized by the collection it stays, and its pin is as before.

compute1 and compute2 are in az1, compute3 is in az2. Each test boots the guests that it needs, and deletes them.
"""

from __future__ import annotations

import pytest
from labkit import guests as guestkit
from labkit import killing, owners, waiting, zoning
from labkit.zoning import FAR, NEIGHBOUR, OTHER_ZONE, SOURCE, ZONE, enable, pin, spec, state_dir

matrix = pytest.mark.matrix


@pytest.fixture
def crowded(lab):
    """The other host of az1 is much fuller than that of az2: the scheduler's weighers prefer az2."""
    zoning.tidy(lab)
    zoning.crowd(lab)
    yield lab
    zoning.tidy(lab)


def boot(lab, *more):
    return zoning.boot(lab, "web", 1, *more)["web1"]


def offered(lab):
    return tuple(lab.cloud.compute.get_endpoint_data().max_microversion)


def resize(playbooks, uuid, flavor="micro", flags=(), **given):
    return playbooks.finish(start(playbooks, uuid, flavor, flags, **given), timeout=900)


def start(playbooks, uuid, flavor="micro", flags=(), **given):
    chosen = {"resize_server": uuid, "resize_flavor": flavor, "stackguard_state_dir": str(state_dir(playbooks.lab))}
    return playbooks.start("resize_server", (), variables={**chosen, **given}, flags=flags)


def stands(lab, uuid):
    server = lab.server(uuid)
    return server["OS-EXT-SRV-ATTR:host"], server["status"], server["flavor"]["original_name"], pin(lab, uuid)


# --- unguarded ------------------------------------------------------------------------------------------------


def test_unguarded_a_plain_resize_lands_in_the_other_zone(crowded):
    lab = crowded
    uuid = boot(lab)
    kind = lab.cloud.compute.find_flavor("micro").id
    lab.action(uuid, "resize", {"flavorRef": kind})
    guestkit.wait_for(lab, uuid, "VERIFY_RESIZE", timeout=300)
    assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == FAR
    assert lab.server(uuid)["OS-EXT-AZ:availability_zone"] == OTHER_ZONE


# --- guarded --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stopped", [pytest.param(False, id="running"), pytest.param(True, id="stopped", marks=matrix)])
def test_guarded_the_same_stays_in_its_zone(crowded, playbooks, stopped):
    lab = crowded
    uuid = boot(lab, *(["--stopped"] if stopped else []))
    checked = resize(playbooks, uuid, flags=["--check", "--diff"]).ok()
    status = "SHUTOFF" if stopped else "ACTIVE"
    assert "resize the server to micro" in checked.output
    assert stands(lab, uuid) == (SOURCE, status, "nano", None)
    result = resize(playbooks, uuid).ok()
    assert stands(lab, uuid) == (NEIGHBOUR, status, "micro", None)
    strategy = "pin_api" if offered(lab) >= (2, 104) else "pin_db"
    assert f"{strategy} keeps the server in {ZONE}" in result.output
    assert resize(playbooks, uuid).ok().changed == 0


@matrix
def test_pinned_in_the_database_it_stays_too(crowded, playbooks):
    lab = crowded
    uuid = boot(lab)
    resize(playbooks, uuid, resize_strategy="pin_db").ok()
    assert stands(lab, uuid) == (NEIGHBOUR, "ACTIVE", "micro", None)


@matrix
def test_the_pin_can_be_kept(crowded, playbooks):
    lab = crowded
    uuid = boot(lab)
    resize(playbooks, uuid, resize_keep_pin=True).ok()
    assert stands(lab, uuid) == (NEIGHBOUR, "ACTIVE", "micro", ZONE)


@matrix
def test_verify_reverts_the_stray(crowded, playbooks):
    lab = crowded
    uuid = boot(lab)
    result = resize(playbooks, uuid, resize_strategy="verify").failed()
    assert "SG407" in result.codes
    assert stands(lab, uuid) == (SOURCE, "ACTIVE", "nano", None)


@matrix
def test_a_zone_without_room_is_refused_before_anything_moves(crowded, playbooks):
    lab = crowded
    uuid = boot(lab)
    before = spec(lab, uuid)
    enable(lab, NEIGHBOUR, "disabled")
    result = resize(playbooks, uuid).failed()
    assert "SG406" in result.codes
    assert stands(lab, uuid) == (SOURCE, "ACTIVE", "nano", None)
    assert spec(lab, uuid) == before
    assert not zoning.migrations(lab, uuid), "nothing was moved"


#: What a run says when a step begins: it is killed there, and run again.
STEPS = (
    f"pin the server to {ZONE}",
    "resize the server to micro",
    f"verify that the server is in {ZONE}",
    "confirm the resize",
    "restore the server's old availability zone pin",
)


@matrix
@pytest.mark.parametrize("step", STEPS)
def test_killed_and_run_again_it_is_resized(crowded, playbooks, step):
    lab = crowded
    uuid = boot(lab)
    # The plan, which is shown first, bears the same words: the number and the total tell the step.
    number = STEPS.index(step) + 1
    killing.kill_when_said(start(playbooks, uuid), f"] {number}/{len(STEPS)} ")
    resize(playbooks, uuid).ok()
    assert stands(lab, uuid) == (NEIGHBOUR, "ACTIVE", "micro", None)


@matrix
def test_killed_and_taken_back_it_is_as_before(crowded, playbooks):
    lab = crowded
    uuid = boot(lab)
    killing.kill_when_said(start(playbooks, uuid), f"] 2/{len(STEPS)} ")
    resize(playbooks, uuid, resize_action="rollback").ok()
    assert stands(lab, uuid) == (SOURCE, "ACTIVE", "nano", None)


@matrix
def test_deleted_meanwhile_is_told_and_the_operation_is_closed(crowded, playbooks):
    lab = crowded
    uuid = boot(lab)
    process = start(playbooks, uuid)
    output = process.directory / "stdout"
    waiting.until("the resize begins", lambda: "] 2/5 " in output.read_text() or None, 300, 0.1)
    lab.command("guests", "delete", "web1")
    result = playbooks.finish(process, timeout=900).failed()
    assert "was deleted by its owner" in result.output
    assert not list(state_dir(lab).glob("resize-*.json"))


@matrix
def test_a_server_that_nova_does_not_show_ends_no_operation(crowded, playbooks):
    """A rollback with the credentials of another project is shown a 404, as of a deleted server."""
    lab = crowded
    uuid = boot(lab)
    killing.kill_when_said(start(playbooks, uuid), f"] 3/{len(STEPS)} ")
    wrong = {"cloud": None, "auth": owners.elsewhere(lab)}
    refused = resize(playbooks, uuid, resize_action="rollback", **wrong).failed()
    assert f"Nova does not show server {uuid}" in refused.output
    assert list(state_dir(lab).glob("resize-*.json")), "the operation is still open"
    assert lab.server(uuid)["status"] == "VERIFY_RESIZE"
    resize(playbooks, uuid, resize_action="rollback").ok()
    assert stands(lab, uuid) == (SOURCE, "ACTIVE", "nano", None)
    assert not list(state_dir(lab).glob("resize-*.json"))
