# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Volumes before a move, after it, and where a failed one left a server in ERROR."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import volume_moves
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import gather
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import ResizeRequest
from ansible_collections.stackguard.nova.plugins.module_utils.moves import preflight as moves
from ansible_collections.stackguard.nova.plugins.module_utils.moves import verify as failed_move
from ansible_collections.stackguard.nova.plugins.module_utils.zones.resize import preflight as resize
from ansible_collections.stackguard.nova.tests.unit import zoned
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.cinders import attachment, cinder, service, volume
from ansible_collections.stackguard.nova.tests.unit.moving_scene import REQUEST, Scene

ONE, TWO = guest(1, 1), guest(1, 2)
HOSTS = [f"compute{number}" for number in range(1, 6)]
CODES = ("SG308", "SG524", "SG525", "SG526")


def with_volumes(*rows, **storage):
    """compute1 with two guests; the first has the volume v1."""
    scene = Scene().server(ONE, volumes=["v1"])
    return scene._with(cloud=scene.cloud.cloud(block_storage=cinder(*rows, **storage)))


def judge(scene, request=REQUEST, overrides=()):
    return moves.preflight(scene.evidence("compute1"), request, overrides)


def told(checked):
    return sorted((item.code, item.object.id, item.severity) for item in checked.findings if item.code in CODES)


def undecided(checked):
    return sorted((item.code, item.object) for item in checked.unchecked if item.code in CODES)


def right(driver="rbd", **changes):
    return volume("v1", attachment(1, "v1", ONE, driver=driver), **changes)


@pytest.mark.parametrize("driver", ["rbd", "nfs", "iscsi"])
def test_a_volume_that_is_right_bars_nobody(driver):
    decision = judge(with_volumes(right(driver)))
    assert (told(decision.checked), undecided(decision.checked)) == ([], [])
    assert {entry.uuid for entry in decision.assignments.assigned} == {ONE, TWO}


@pytest.mark.parametrize(
    "scene",
    [
        with_volumes(right(status="error")),
        with_volumes(right(status="detaching")),
        with_volumes(right(), services=[service(state="down")]),
        with_volumes(right(), services=[]),
    ],
)
def test_one_that_is_not_ready_bars_its_server_only(scene):
    decision = judge(scene)
    assert told(decision.checked) == [("SG526", ONE, "blocker")]
    assert {entry.uuid for entry in decision.assignments.assigned} == {TWO}
    assert decision.refused(REQUEST, ())
    assert not decision.refused(dataclasses.replace(REQUEST, partial=True), ())
    passed = [Override("SG526", ONE, "the array serves it all the same")]
    assert {entry.uuid for entry in judge(scene, overrides=passed).assignments.assigned} == {ONE, TWO}


@pytest.mark.parametrize(
    "storage", [None, cinder(), cinder(right(), services=None), facts.BlockStorage(False, None, [])]
)
def test_a_cinder_that_was_not_read_is_unchecked(storage):
    scene = Scene().server(ONE, volumes=["v1"])
    decision = judge(scene._with(cloud=scene.cloud.cloud(block_storage=storage)))
    assert (told(decision.checked), undecided(decision.checked)) == ([], [("SG526", ONE)])


@pytest.mark.parametrize("driver", ["rbd", "iscsi"])
def test_what_an_earlier_move_left_is_a_warning_and_moves(driver):
    decision = judge(with_volumes(volume("v1", attachment(1, "v1", ONE, "compute3", driver=driver))))
    assert told(decision.checked) == [("SG524", ONE, "warning")]
    assert {entry.uuid for entry in decision.assignments.assigned} == {ONE, TWO}


def test_two_attachments_of_one_server_are_told():
    twice = volume("v1", attachment(1, "v1", ONE), attachment(2, "v1", ONE, None, "reserved"))
    assert told(judge(with_volumes(twice)).checked) == [("SG525", ONE, "warning")]


@pytest.mark.parametrize(
    ("stray", "codes"),
    [
        (attachment(9, "v9", ONE, None, "reserved"), [("SG525", ONE, "warning")]),
        # A volume that is being attached just now is connected; another server's is the audit's.
        (attachment(9, "v9", ONE), []),
        (attachment(9, "v9", "another", None, "reserved"), []),
    ],
)
def test_an_attachment_of_a_volume_that_the_server_has_no_more_is_told(stray, codes):
    bundle = with_volumes(volume("v1", attachment(1, "v1", ONE)), strays=[stray])
    assert told(judge(bundle).checked) == codes


def test_a_name_from_before_a_rename_is_not_told_since_the_move_ends_it():
    assert told(judge(with_volumes(volume("v1", attachment(1, "v1", ONE, "old", driver="iscsi")))).checked) == []


def test_one_with_a_task_is_not_judged():
    scene = with_volumes(volume("v1", attachment(1, "v1", ONE, None, "reserved"), status="reserved"))
    assert told(judge(scene.server(ONE, task_state="migrating")).checked) == []


def test_without_the_compute_services_nothing_is_elsewhere():
    checked = gather(volume_moves.before(cinder(right(), computes=None), [server()]))
    assert (told(checked), undecided(checked)) == ([], [("SG524", ONE)])


# --- after ----------------------------------------------------------------------------------------------------


def server(host="compute1", **changes):
    row = next(entry for entry in Scene().cloud.rows("servers") if entry.id == ONE)
    return dataclasses.replace(row, host=host, volumes=["v1"], **changes)


@pytest.mark.parametrize(
    ("rows", "status", "expected"),
    [
        ([attachment(1, "v1", ONE, "compute3")], "in-use", []),
        ([attachment(1, "v1", ONE, "COMPUTE3")], "in-use", []),
        ([attachment(1, "v1", ONE)], "in-use", ["SG524"]),
        ([attachment(1, "v1", ONE), attachment(2, "v1", ONE, "compute3")], "in-use", ["SG525"]),
        ([attachment(1, "v1", ONE, None, "reserved"), attachment(2, "v1", ONE, "compute3")], "in-use", ["SG525"]),
        ([attachment(1, "v1", ONE, None, "reserved")], "reserved", ["SG524", "SG526"]),
        ([attachment(1, "v1", ONE, "former-name", driver="iscsi")], "in-use", ["SG524"]),
    ],
)
def test_after_a_move_there_is_one_attachment_on_the_new_host(rows, status, expected):
    storage = cinder(volume("v1", *rows, status=status), whole=False)
    checked = gather(volume_moves.after(storage, [server("compute3")]))
    assert told(checked) == [(code, ONE, "warning") for code in expected]


def test_after_a_move_its_cinder_volume_may_be_down():
    storage = cinder(volume("v1", attachment(1, "v1", ONE, "compute3")), services=[service(state="down")])
    assert not gather(volume_moves.after(storage, [server("compute3")])).findings


@pytest.mark.parametrize("moved", [server("compute3", task_state="migrating"), server(None)])
def test_one_that_is_on_its_way_again_is_not_judged(moved):
    assert not gather(volume_moves.after(cinder(right()), [moved])).findings


def test_volumes_that_cinder_does_not_show_after_a_move_are_unchecked():
    assert undecided(gather(volume_moves.after(cinder(), [server("compute3")]))) == [("SG524", ONE)]


# --- in ERROR after a failed live migration -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "active"),
    [
        ([attachment(1, "v1", ONE, driver="nfs")], True),
        ([attachment(1, "v1", ONE, driver="iscsi")], True),
        ([attachment(1, "v1", ONE, "compute3", driver="nfs")], True),
        ([attachment(1, "v1", ONE, "compute3", driver="iscsi")], False),
        ([attachment(1, "v1", ONE, "former-name", driver="iscsi")], True),
    ],
)
def test_a_server_that_libvirt_refused_to_move_is_active_where_its_volumes_are(rows, active):
    """ "Unsafe migration" of a file share: Nova puts the attachments back, and leaves the server in ERROR."""
    scene = with_volumes(volume("v1", *rows, protocol=None)).server(ONE, status="ERROR")
    row = next(entry for entry in scene.cloud.rows("servers") if entry.id == ONE)
    found = failed_move.examine(scene.evidence("compute1").bundle, row, ["compute1", "compute3"], every=HOSTS)
    assert found.at_home
    assert found.is_really_active == active


# --- a resize -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("storage", "expected"),
    [
        (cinder(volume("v1", attachment(1, "v1", zoned.WEB))), []),
        (cinder(volume("v1", attachment(1, "v1", zoned.WEB), status="error")), [("SG526", zoned.WEB, "blocker")]),
        (cinder(volume("v1", attachment(1, "v1", zoned.WEB, "compute2"))), [("SG524", zoned.WEB, "warning")]),
    ],
)
def test_before_a_resize_it_is_the_same(storage, expected):
    found = zoned.zoned(servers=[zoned.server(volumes=["v1"])], volumes={"v1": "az1"})
    request = ResizeRequest(zoned.WEB, "2", "m1.large")
    decision = resize.preflight(found, request, storage=storage)
    assert told(decision.checked) == expected
    assert undecided(decision.checked) == []
    assert ("SG526", zoned.WEB) in undecided(resize.preflight(found, request).checked)
