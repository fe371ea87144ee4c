# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is asked of Cinder: by list where there are many, all pages, and what an account may not see is unread."""

from __future__ import annotations

import json
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import block_storage, http
from ansible_collections.stackguard.nova.tests.unit.small_cinder import PASSWORD, SmallCinder
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer
from ansible_collections.stackguard.nova.tests.unit.zoned import server

CATALOG = ["compute", "volumev3"]


def connection(cinder, servers=None):
    """Nova knows the hosts of these servers."""

    def compute(path, _method, **_given):
        if path == "/os-services":
            return Answer(200, {"services": [{"host": "compute1", "binary": "nova-compute", "id": 1}]})
        uuid = path.rpartition("/")[2]
        if uuid not in (servers or {}):
            return Answer(404, {"itemNotFound": {"message": "not found"}})
        return Answer(200, {"server": {"id": uuid, "OS-EXT-SRV-ATTR:host": servers[uuid]}})

    there = types.SimpleNamespace
    data = there(max_microversion=(2, 104))
    return there(
        block_storage=there(request=cinder.request),
        compute=there(request=compute, get_endpoint_data=lambda: data),
        service_catalog=[{"type": name} for name in CATALOG],
    )


def read(cinder, *servers, whole=False, catalog=CATALOG, others=None):
    return block_storage.read_block_storage(connection(cinder, others), servers, catalog, whole)


def parts(found):
    return [entry.part for entry in found.unread]


def with_volumes(number, cinder=None):
    cinder = cinder or SmallCinder()
    for index in range(number):
        cinder.volume(f"v{index:04}").attach(f"a{index:04}", f"v{index:04}", f"s{index:04}")
    return cinder, [server(id=f"s{index:04}", volumes=[f"v{index:04}"]) for index in range(number)]


def test_a_server_with_a_volume():
    cinder, servers = with_volumes(1)
    found = read(cinder, *servers)
    assert found.unread == []
    (volume,) = found.volumes
    assert (volume.id, volume.status, volume.zone, volume.backend) == ("v0000", "in-use", "az1", "controller@ceph#ceph")
    assert (volume.protocol, volume.kind, volume.in_ceph, volume.exported_by_name) == ("ceph", "rbd", True, False)
    (row,) = volume.rows_of("s0000")
    assert (row.host, row.status, row.driver, row.place) == ("compute1", "attached", "rbd", "volumes/volume-v0000")
    assert found.computes == ["compute1"]
    assert [(one.host, one.state) for one in found.services] == [("controller@ceph", "up")]
    assert facts.from_plain(facts.BlockStorage, facts.to_plain(found)) == found


def test_no_secret_of_a_connection_is_kept():
    cinder, servers = with_volumes(2)
    for whole in (False, True):
        assert PASSWORD not in json.dumps(facts.to_plain(read(cinder, *servers, whole=whole)))


@pytest.mark.parametrize("number", [block_storage.SINGLY + 1, 250])
@pytest.mark.parametrize("largest", [7, 100, 1000])
def test_many_are_listed_on_all_pages(number, largest):
    cinder, servers = with_volumes(number, SmallCinder(largest=largest))
    found = read(cinder, *servers)
    assert found.unread == []
    assert [(volume.id, volume.attachments[0].host) for volume in found.volumes] == [
        (f"v{index:04}", "compute1") for index in range(number)
    ]
    assert not [path for path, *_rest in cinder.asked if path.startswith("/volumes/v")]


def test_a_few_are_asked_for_singly():
    cinder, servers = with_volumes(300)
    found = read(cinder, *servers[:3])
    assert (len(found.volumes), "/volumes/detail" in {path for path, *_rest in cinder.asked}) == (3, False)
    assert found.whole is False


@pytest.mark.parametrize("largest", [25, 100, 1000])
def test_all_members_of_a_volume_are_read_however_small_a_page_is(largest):
    cinder, servers = with_volumes(1, SmallCinder(largest=largest))
    for number in range(300):
        cinder.attach(f"m{number:03}", "v0000", f"member{number}")
    assert len(read(cinder, *servers, others={}).volumes[0].attachments) == 301


def test_a_reserved_row_has_no_host_and_is_seen():
    cinder, servers = with_volumes(1)
    cinder.attach("b", "v0000", "s0000", None, "reserved")
    for whole in (False, True):
        rows = read(cinder, *servers, whole=whole).volumes[0].attachments
        assert [(row.id, row.host, row.status) for row in rows] == [
            ("a0000", "compute1", "attached"),
            ("b", None, "reserved"),
        ]


def test_a_row_of_a_volume_that_the_server_does_not_have_is_a_stray():
    cinder, servers = with_volumes(1)
    cinder.volume("other").attach("b", "other", "s0000", None, "reserved")
    assert [row.id for row in read(cinder, *servers).strays] == ["b"]
    whole = read(cinder, *servers, whole=True)
    assert (whole.strays, [volume.id for volume in whole.volumes]) == ([], ["other", "v0000"])


def test_hosts_of_other_servers_are_novas():
    """Cinder's name of a host may be from before a rename."""
    cinder, servers = with_volumes(1)
    cinder.attach("b", "v0000", "other", "old-name").attach("c", "v0000", "gone", "compute3")
    assert read(cinder, *servers, others={"other": "compute2"}).sharers == {"other": "compute2", "gone": None}


def test_without_volumes_only_the_services_are_asked_for():
    """A cinder-volume may run on a host whose servers have no volume."""
    cinder = SmallCinder()
    found = read(cinder, server(volumes=[]))
    assert (found.volumes, [entry.host for entry in found.services], found.unread) == ([], ["controller@ceph"], [])
    assert [path for path, *_more in cinder.asked] == ["/os-services"]
    for catalog, services in ((None, None), (["compute"], [])):
        found = read(cinder, server(volumes=[]), whole=True, catalog=catalog)
        assert (found.services, parts(found)) == (services, [])


@pytest.mark.parametrize("catalog", [None, ["compute"]])
def test_volumes_without_a_block_storage_service_are_unread(catalog):
    found = read(SmallCinder(), server(volumes=["v1"]), catalog=catalog)
    assert (found.volumes, parts(found)) == (None, ["volumes"])
    assert found.why_unread("v1") == found.unread[0].reason


@pytest.mark.parametrize(
    ("refused", "unread", "volumes"),
    [
        ("/volumes", "volumes", None),
        ("/attachments", "attachments", None),
        ("/os-services", "services", 3),
        ("/scheduler-stats", "protocols", 3),
    ],
)
def test_what_is_refused_is_unread(refused, unread, volumes):
    cinder, servers = with_volumes(3)
    cinder.refused = (refused,)
    found = read(cinder, *servers)
    assert parts(found) == [unread]
    assert (found.volumes and len(found.volumes)) == volumes
    assert found.services is None if refused == "/os-services" else found.services


def test_an_account_of_one_project_sees_nothing_of_the_others():
    """Cinder ignores all_tenants of who is no administrator: a short list is no list."""
    cinder, servers = with_volumes(3)
    cinder.admin = False
    cinder.volumes["v0002"]["project"] = "p2"
    found = read(cinder, *servers)
    assert ([volume.id for volume in found.volumes], parts(found)) == (["v0000", "v0001"], ["volume v0002", "hosts"])
    cinder, servers = with_volumes(100)
    cinder.admin = False
    for row in cinder.volumes.values():
        row["project"] = "p2"
    found = read(cinder, *servers)
    assert (found.volumes, parts(found)) == (None, ["volumes"])


def test_a_cinder_that_repeats_a_page_does_not_hold_us(monkeypatch):
    cinder, servers = with_volumes(1)
    same = Answer(200, {"attachments": [{"id": "a", "volume_id": "v0000"}] * http.PAGE})
    real = cinder.request
    monkeypatch.setattr(
        cinder, "request", lambda path, *args, **given: same if "attachments" in path else real(path, *args, **given)
    )
    assert parts(read(cinder, *servers)) == ["attachments"]
    with pytest.raises(ApiError):
        block_storage.list_attachments(connection(cinder), ["s"], [], whole=True)
