# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit says of volumes: connected to another host, left attachments, states, and a Cinder that is not read."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import volumes
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy
from ansible_collections.stackguard.nova.tests.unit.cinders import attachment, cinder, service, volume

ONE, TWO = guest(1, 1), guest(2, 1)
CODES = ("SG308", "SG524", "SG525", "SG526")


def cloud(storage, servers=None, on=None, **changes):
    """Three hosts; the first server has the volume v1."""
    bundle = (on or healthy()).bundle
    given = {ONE: {"volumes": ["v1"]}, **(servers or {})}
    shown = [dataclasses.replace(one, **given.get(one.id, {})) for one in bundle.cloud.servers]
    return dataclasses.replace(
        bundle, cloud=dataclasses.replace(bundle.cloud, servers=shown, block_storage=storage, **changes)
    )


def told(bundle):
    checked = volumes.check(Index(bundle))
    return [(item.code, item.object.id, item.severity) for item in checked if hasattr(item, "severity")]


def undecided(bundle):
    return [(item.code, item.object) for item in volumes.check(Index(bundle)) if not hasattr(item, "severity")]


def test_a_volume_on_its_servers_host_is_right():
    bundle = cloud(cinder(volume("v1", attachment(1, "v1", ONE))))
    assert (told(bundle), undecided(bundle)) == ([], [])
    assert {item.code for item in checks.check(bundle).findings} & set(CODES) == set()


@pytest.mark.parametrize(("driver", "state"), [("rbd", "harmless"), ("nfs", "harmless"), ("iscsi", "acts")])
def test_connected_to_another_compute_host(driver, state):
    """V3: a spawn failed on compute2, the server is on compute1."""
    bundle = cloud(cinder(volume("v1", attachment(1, "v1", ONE, "compute2", driver=driver), protocol=None)))
    (item,) = [item for item in checks.check(bundle).findings if item.code in CODES]
    assert (item.code, item.object.id, item.severity) == ("SG524", ONE, "warning")
    assert (item.evidence["connected to"], item.evidence["host of the server"]) == ("compute2", "compute1")
    assert (state == "acts") == ("ERROR" in item.remedy)


def test_upper_case_is_the_same_host():
    assert told(cloud(cinder(volume("v1", attachment(1, "v1", ONE, "COMPUTE1"))))) == []


@pytest.mark.parametrize(("driver", "severity"), [("rbd", "info"), ("nfs", "info"), ("fibre_channel", "warning")])
def test_a_name_that_no_host_has_is_one_from_before_a_rename(driver, severity):
    bundle = cloud(cinder(volume("v1", attachment(1, "v1", ONE, "old-name", driver=driver), protocol=None)))
    assert told(bundle) == [("SG308", ONE, severity)]


def test_a_back_end_of_unknown_kind_is_none_that_serves_every_host():
    rows = dataclasses.replace(attachment(1, "v1", ONE, "old-name"), driver=None)
    assert told(cloud(cinder(volume("v1", rows, protocol=None)))) == [("SG308", ONE, "warning")]


def test_a_server_that_moves_is_not_judged():
    storage = cinder(volume("v1", attachment(1, "v1", ONE, "compute2")))
    assert told(cloud(storage, {ONE: {"volumes": ["v1"], "task_state": "migrating"}})) == []
    moving = healthy().migrate(ONE, "compute1", "compute2", "running", "live-migration")
    assert told(cloud(storage, on=moving)) == []


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([attachment(1, "v1", ONE), attachment(2, "v1", ONE, None, "reserved")], ["SG525"]),
        ([attachment(1, "v1", ONE), attachment(2, "v1", "nobody", None, "reserved")], ["SG525"]),
        ([attachment(1, "v1", ONE), attachment(2, "v1", TWO, None, "reserved")], ["SG525"]),
        # Another consumer of Cinder, whose uuid Nova does not know, has it connected: nothing is said of that.
        ([attachment(1, "v1", ONE), attachment(2, "v1", "nobody", "image-host")], []),
    ],
)
def test_left_attachments(rows, code):
    bundle = cloud(cinder(volume("v1", *rows)))
    assert [item[0] for item in told(bundle)] == code


def test_a_narrowed_reading_says_nothing_of_servers_that_it_did_not_list():
    rows = [attachment(1, "v1", ONE), attachment(2, "v1", "elsewhere", None, "reserved")]
    assert told(cloud(cinder(volume("v1", *rows), whole=False))) == []


def test_while_a_cell_is_silent_nobody_knows_whether_a_server_is_gone():
    rows = [attachment(1, "v1", ONE), attachment(2, "v1", "nobody", None, "reserved")]
    silent = [facts.Unread(facts.SILENT_CELLS, "cell2 does not answer")]
    bundle = cloud(cinder(volume("v1", *rows)), unread=silent)
    assert (told(bundle), undecided(bundle)) == ([], [("SG525", "volumes")])


@pytest.mark.parametrize("status", ["error", "error_detaching", "attaching", "detaching", "maintenance"])
def test_a_volume_in_another_state(status):
    assert told(cloud(cinder(volume("v1", attachment(1, "v1", ONE), status=status)))) == [("SG526", ONE, "warning")]


def test_a_shelved_servers_volume_is_reserved():
    storage = cinder(volume("v1", attachment(1, "v1", ONE, None, "reserved"), status="reserved"))
    shelved = {"volumes": ["v1"], "status": "SHELVED_OFFLOADED", "host": None}
    assert told(cloud(storage, {ONE: shelved})) == []


@pytest.mark.parametrize("services", [(service(state="down"),), ()])
def test_a_back_end_that_nobody_serves(services):
    bundle = cloud(cinder(volume("v1", attachment(1, "v1", ONE)), services=services))
    assert told(bundle) == [("SG526", ONE, "warning")]


@pytest.mark.parametrize(("cluster", "codes"), [("c@ceph", []), ("other@ceph", ["SG526"]), (None, ["SG526"])])
def test_in_a_cluster_another_service_serves_it(cluster, codes):
    services = (service(state="down", cluster="c@ceph"), service("second@ceph", cluster=cluster))
    bundle = cloud(cinder(volume("v1", attachment(1, "v1", ONE)), services=services))
    assert [code for code, *_rest in told(bundle)] == codes


def test_a_back_end_that_the_account_is_not_shown_is_undecided():
    hidden = dataclasses.replace(volume("v1", attachment(1, "v1", ONE)), backend=None)
    assert (told(cloud(cinder(hidden))), undecided(cloud(cinder(hidden)))) == ([], [("SG526", ONE)])


def test_before_a_move_it_is_a_blocker():
    storage = cinder(volume("v1", attachment(1, "v1", ONE), status="error"))
    bundle = cloud(storage)
    (item,) = volumes.not_ready(storage, [one for one in bundle.cloud.servers if one.volumes])
    assert (item.severity, item.evidence["status"]) == ("blocker", "error")


def test_a_cinder_that_was_not_read_is_undecided():
    gone = facts.Unread("volumes", "GET block_storage /volumes/detail: 403: forbidden")
    silent = cinder(services=None)
    unread = dataclasses.replace(silent, volumes=None, unread=[gone])
    for storage, more in ((None, []), (unread, [("SG525", "volumes")]), (cinder(), [])):
        assert (told(cloud(storage)), undecided(cloud(storage))) == ([], [("SG524", ONE), *more])
    many = {one.id: {"volumes": ["v1"]} for one in healthy().bundle.cloud.servers}
    assert undecided(cloud(None, many))
    one = cloud(cinder(volume("v1", attachment(1, "v1", ONE)), services=None))
    assert undecided(one) == [("SG526", ONE)]
    assert undecided(cloud(cinder(volume("v1", attachment(1, "v1", ONE)), computes=None))) == [("SG524", ONE)]


def test_without_volumes_cinder_is_not_missed():
    assert (told(cloud(None, {ONE: {}})), undecided(cloud(None, {ONE: {}}))) == ([], [])


@pytest.mark.parametrize(("zone", "found"), [("az1", []), ("az2", [ONE]), ("lone", [])])
def test_a_volume_of_another_zone_is_told(zone, found):
    """A zone of volumes alone says nothing: many clouds have one for all."""
    bundle = cloud(cinder(volume("v1", attachment(1, "v1", ONE), zone=zone)))
    assert [item.object.id for item in checks.check(bundle).findings if item.code == "SG405"] == found


def test_zones_of_volumes_that_were_not_read_are_undecided():
    checked = checks.check(cloud(None))
    assert ("SG405", ONE) in [(item.code, item.object) for item in checked.unchecked]
    checked = checks.check(cloud(cinder(volume("v1", attachment(1, "v1", ONE))), aggregates=None))
    assert "SG405" in {item.code for item in checked.unchecked}
