# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who is on a host, by all sources."""

from __future__ import annotations

from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import host_account
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer
from ansible_collections.stackguard.nova.tests.unit.systems.api.answering_cloud import HOST

FLAVOR = {"vcpus": 1, "ram": 1024, "disk": 10, "ephemeral": 0, "swap": 0, "original_name": "m1", "extra_specs": {}}


def shown(uuid, host=HOST, status="ACTIVE", **more):
    base = {"id": uuid, "name": uuid, "status": status, "OS-EXT-SRV-ATTR:host": host, "OS-EXT-STS:task_state": None}
    return {**base, "flavor": FLAVOR, **more}


def holds(cloud, *uuids):
    held = {uuid: {"resources": {"MEMORY_MB": 1024}} for uuid in uuids}
    cloud.gives("/resource_providers/rp/allocations", allocations=held)


def test_nobody_is_there_by_all_sources(cloud):
    account = host_account.account_of(cloud, HOST)
    assert account.empty
    unpaged = [params for path, _version, params in cloud.asked if path == "/servers"]
    assert unpaged == [{"all_tenants": "1"}], "with a limit Nova leaves out cells that do not answer"


def test_a_server_that_the_list_lacks_is_found_through_placement(cloud):
    holds(cloud, "silent", "lost", "leaked", "moved", "forgotten")
    cloud.gives("/servers/silent", server={"id": "silent", "status": "UNKNOWN"})
    cloud.gives("/servers/lost", 500, computeFault={"message": "cell timed out"})
    cloud.gives("/servers/moved", server=shown("moved", host="compute9"))
    cloud.gives("/servers/forgotten", server=shown("forgotten"))
    account = host_account.account_of(cloud, HOST)
    assert not account.empty
    assert sorted(account.unlisted) == ["forgotten", "leaked", "lost", "silent"]
    assert account.unlisted["silent"] == "the cell of this server does not answer"
    assert "cell timed out" in account.unlisted["lost"]


def test_who_is_about_to_come_is_named(cloud):
    """N8b: a build, an unshelve or a resize to the dead host was explained away; its request waits for the host."""
    holds(cloud, "new", "shelved", "growing", "away")
    cloud.gives("/servers/new", server=shown("new", host=None, status="BUILD"))
    cloud.gives("/servers/shelved", server=shown("shelved", host=None, status="SHELVED_OFFLOADED"))
    growing = shown("growing", host="compute9", status="RESIZE")
    cloud.gives("/servers/growing", server={**growing, "OS-EXT-STS:task_state": "resize_migrated"})
    cloud.gives("/servers/away", server=shown("away", host="compute9"))
    account = host_account.account_of(cloud, HOST)
    assert (sorted(account.coming), account.unlisted, account.empty) == (["growing", "new", "shelved"], {}, False)


def test_what_a_migration_holds_is_explained(cloud):
    holds(cloud, "m1")
    cloud.gives("/os-migrations", migrations=[{"id": 1, "uuid": "m1", "status": "finished"}])
    assert host_account.account_of(cloud, HOST).unlisted == {}


def test_soft_deleted_servers_are_on_the_host(cloud):
    holds(cloud, "gone")

    def listed(params):
        rows = [shown("gone", status="SOFT_DELETED"), shown("long-gone", status="DELETED")]
        return Answer(200, {"servers": rows if params.get("deleted") else []})

    cloud.answers["/servers/detail"] = listed
    account = host_account.account_of(cloud, HOST)
    assert (account.soft_deleted, account.unlisted, account.empty) == ({"gone": "gone"}, {}, False)


def test_cells_that_do_not_answer_are_named(cloud):
    cloud.gives("/os-services", services=[{"binary": "nova-compute", "host": HOST, "status": "UNKNOWN"}])
    cloud.gives("/servers", servers=[{"id": "a", "status": "UNKNOWN", "links": []}, {"id": "b", "name": "b"}])
    assert host_account.account_of(cloud, HOST).cells_down == ["a", HOST]
