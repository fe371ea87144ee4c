# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is read from answers of a real cloud (Nova 34), and what is said where they are missing or broken."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    cloud_facts,
    http,
    hypervisors,
    network,
    resource_providers,
    server_records,
)
from ansible_collections.stackguard.nova.tests.unit.systems.api.cassette import Player

SCOPE = ["compute1", "cn7"]


def reasons(read: facts.CloudFacts) -> dict[str, str]:
    return {item.part: item.reason for item in read.unread}


def causes(read: facts.CloudFacts) -> dict[str, str | None]:
    return {item.part: item.cause for item in read.unread}


def scoped() -> Player:
    """What was recorded of one host."""
    player = Player("read_scoped")
    player.answer_ports_of_servers()
    return player


def test_narrowed_to_a_host() -> None:
    read = cloud_facts.read_cloud(scoped(), SCOPE)
    assert read.unread == []
    assert read.scope == SCOPE
    assert read.compute_max_microversion == "2.104"
    assert read.catalog == ["compute", "identity", "image", "network", "placement"]
    (service,) = read.services or ()
    assert (service.host, service.binary, service.state, service.status) == (
        "compute1",
        "nova-compute",
        "up",
        "enabled",
    )
    assert (service.forced_down, service.disabled_reason, service.zone) == (False, None, "az1")
    (node,) = read.hypervisors or ()
    assert (node.hypervisor_hostname, node.service_host, node.hypervisor_type) == ("compute1", "compute1", "QEMU")
    assert {server.host for server in read.servers or ()} == {"compute1"}
    server = (read.servers or ())[0]
    assert (server.vm_state, server.task_state, server.power_state, server.locked) == ("active", None, 1, False)
    assert (server.availability_zone, server.pinned_availability_zone, server.volumes) == ("az1", None, [])
    assert [(item.id, item.name, item.availability_zone, item.hosts) for item in read.aggregates or ()] == [
        (1, "az1", "az1", ["compute1", "compute2"]),
        (2, "az2", "az2", ["compute3"]),
    ]
    (provider,) = read.providers or ()
    assert (provider.uuid, provider.name) == (node.id, "compute1")
    assert (provider.root_provider_uuid, provider.parent_provider_uuid) == (node.id, None)
    assert provider.aggregates == [(read.aggregates or ())[0].uuid]
    assert {"DISK_GB": 1, "MEMORY_MB": 64, "VCPU": 1} in (provider.allocations or {}).values()
    assert {server.id for server in read.servers or ()} <= set(provider.allocations or {})
    assert {migration.status for migration in read.migrations or ()} == {"finished"}
    migration = (read.migrations or ())[0]
    assert (migration.source_compute, migration.dest_compute, migration.migration_type) == (
        "compute1",
        "compute2",
        "migration",
    )
    (agent,) = read.agents or ()
    assert (agent.host, agent.binary, agent.alive) == ("compute1", "neutron-openvswitch-agent", True)
    assert {(port.binding_host_id, port.binding_vif_type) for port in read.ports or ()} == {("compute1", "ovs")}
    assert {port.device_id for port in read.ports or ()} >= {server.id for server in read.servers or ()}


def test_everything_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PAGE", 2)
    player = Player("read_all")
    player.answer_allocations()
    read = cloud_facts.read_cloud(player)
    assert read.unread == []
    assert sorted(service.host for service in read.services or ()) == ["compute1", "compute2", "compute3"]
    assert len({node.id for node in read.hypervisors or ()}) == 3
    assert len({server.id for server in read.servers or ()}) == 6
    assert len({port.id for port in read.ports or ()}) == 6 + 1 - 1
    assert len({agent.id for agent in read.agents or ()}) == 3
    assert {provider.allocations for provider in read.providers or ()} == {None}
    assert [provider.strays for provider in read.providers or ()] == [{}, {}, {}]
    aggregates = {item.name: item.uuid for item in read.aggregates or ()}
    assert {provider.name: provider.aggregates for provider in read.providers or ()} == {
        "compute1": [aggregates["az1"]],
        "compute2": [aggregates["az1"]],
        "compute3": [aggregates["az2"]],
    }
    assert len(player.asked) < 40


def test_a_servers_port_is_read_wherever_it_is_bound() -> None:
    player = scoped()
    key = "8b038c7b-4d48-486a-a4a9-36c51df531d1"

    def elsewhere(entry: dict[str, t.Any]) -> None:
        """Bound to a host that nobody asked for: only the question for its server finds it."""
        mine = [port for port in entry["answer"]["ports"] if port["device_id"] == key]
        if "device_id" not in entry["params"]:
            entry["answer"]["ports"] = [port for port in entry["answer"]["ports"] if port not in mine]
        for port in mine:
            port["binding:host_id"] = "compute9"

    player.edit("network", "/ports", elsewhere)
    read = cloud_facts.read_cloud(player, SCOPE)
    assert {port.device_id for port in read.ports or () if port.binding_host_id == "compute9"} == {key}
    assert read.port_devices == sorted(server.id for server in read.servers or ())
    without = cloud_facts.read_cloud(scoped(), SCOPE, [part for part in cloud_facts.PARTS if part != "servers"])
    assert without.ports
    assert without.port_devices == [], "servers that were not read are not said to have been asked for"


def test_ports_of_many_servers_are_asked_for_in_few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[t.Any] = []

    def answer(_connection: t.Any, host: str | None = None, devices: t.Sequence[str] = ()) -> list[t.Any]:
        asked.append(host or list(devices))
        return []

    monkeypatch.setattr(network, "list_ports", answer)
    servers = [facts.ApiServer(f"{number:036}", "", None, "ACTIVE", *[None] * 6) for number in range(200)]
    monkeypatch.setattr(server_records, "list_servers", lambda *_given: server_records.ServerList(servers, []))
    parts = ["compute_max_microversion", "servers", "ports"]
    read = cloud_facts.read_cloud(Player("read_scoped"), ["compute1"], parts)
    assert asked[0] == "compute1"
    assert [len(devices) for devices in asked[1:]] == [50, 50, 50, 50]
    assert (
        [device for devices in asked[1:] for device in devices]
        == read.port_devices
        == [server.id for server in servers]
    )


def test_every_request_says_its_microversion() -> None:
    player = scoped()
    cloud_facts.read_cloud(player, SCOPE)
    asked = {(entry["service"], entry["path"].split("/")[1], entry.get("microversion")) for entry in player.asked}
    assert {microversion is None for service, _path, microversion in asked if service == "network"} == {True}
    assert {(path, microversion) for service, path, microversion in asked if service == "compute"} == {
        ("os-services", "2.69"),
        ("os-hypervisors", "2.53"),
        ("servers", "2.96"),
        ("servers", "2.53"),
        ("os-aggregates", "2.41"),
        ("os-migrations", "2.59"),
    }
    assert {microversion for service, _path, microversion in asked if service == "placement"} == {"1.14", "1.19"}


def test_only_the_parts_asked_for() -> None:
    player = Player("read_scoped")
    read = cloud_facts.read_cloud(player, SCOPE, ["agents", "ports"])
    assert {entry["service"] for entry in player.asked} == {"network"}
    assert read.agents
    assert read.services is None
    assert causes(read)["services"] == facts.NOT_ASKED_FOR
    with pytest.raises(ValueError, match="no such part: guests"):
        cloud_facts.read_cloud(player, SCOPE, ["guests"])


def test_ports_of_soft_deleted_servers_are_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """They keep their ports, and are renamed with the host: without them no such host could be renamed."""
    asked: list[str] = []
    real = cloud_facts.network.list_ports

    def list_ports(connection: t.Any, host: t.Optional[str] = None, devices: t.Sequence[str] = ()) -> t.Any:
        asked.extend(devices)
        return [] if devices else real(connection, host)

    monkeypatch.setattr(cloud_facts.network, "list_ports", list_ports)
    player = scoped()
    gone = {"id": "gone", "name": "web9", "status": "SOFT_DELETED"}

    def add(entry: t.Any) -> None:
        if "deleted" in entry["params"]:
            entry["answer"]["servers"].append(gone)

    player.edit("compute", "/servers/detail", add)
    read = cloud_facts.read_cloud(player, SCOPE)
    assert "gone" in asked
    assert "gone" in read.port_devices
    assert "gone" not in {server.id for server in read.servers or []}


def fail(status: int, answer: t.Any) -> t.Callable[[dict[str, t.Any]], None]:
    return lambda entry: entry.update(status=status, answer=answer)


@pytest.mark.parametrize(
    ("service", "path", "part"),
    [
        ("compute", "/servers/detail", "servers"),
        ("compute", "/os-aggregates", "aggregates"),
        ("compute", "/os-migrations", "migrations"),
        ("placement", "/resource_providers", "providers"),
        ("network", "/agents", "agents"),
        ("network", "/ports", "ports"),
    ],
)
def test_a_part_that_is_refused_takes_no_other_with_it(service: str, path: str, part: str) -> None:
    player = scoped()
    player.edit(service, path, fail(403, {"forbidden": {"code": 403, "message": "Policy doesn't allow it"}}))
    # Without services all hypervisors would be listed, which was not recorded.
    parts = [name for name in cloud_facts.PARTS if (part, name) != ("services", "hypervisors")]
    read = cloud_facts.read_cloud(player, SCOPE, parts)
    assert getattr(read, part) is None
    assert [name for name, cause in causes(read).items() if cause != facts.NOT_ASKED_FOR] == [part]
    assert "403: Policy doesn't allow it" in reasons(read)[part]


def test_without_the_services_nobody_knows_whether_the_list_of_servers_is_complete() -> None:
    player = scoped()
    player.edit(
        "compute", "/os-services", fail(403, {"forbidden": {"code": 403, "message": "Policy doesn't allow it"}})
    )
    read = cloud_facts.read_cloud(player, SCOPE, [part for part in cloud_facts.PARTS if part != "hypervisors"])
    assert (read.services, read.servers) == (None, None)
    assert {"services", "servers"} <= {name for name, reason in reasons(read).items() if "403" in reason}


@pytest.mark.parametrize("part", ["ports", "agents"])
def test_an_empty_list_that_another_source_contradicts_was_not_read(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """A gateway that answers an empty list: the audit of a cloud with six guests and their ports did not notice."""
    monkeypatch.setattr(http, "PAGE", 2)

    def whole(empty: str | None) -> facts.CloudFacts:
        player = Player("read_all")
        player.answer_allocations()
        for path in ("/ports", "/agents"):
            name = path.strip("/")
            player.edit("network", path, lambda entry, name=name: bind(entry["answer"][name], name))
        if empty is not None:
            player.edit("network", f"/{empty}", lambda entry: entry["answer"].update({empty: []}))
        return cloud_facts.read_cloud(player, [])

    def bind(rows: list[t.Any], name: str) -> None:
        for row in rows if name == "ports" else ():
            row["binding:vif_type"] = "ovs"

    read = whole(part)
    assert getattr(read, part) is None
    assert part in reasons(read)
    read = whole(None)
    assert read.ports and read.agents
    assert not {"ports", "agents"} & set(reasons(read))


@pytest.mark.parametrize("answer", [[], {}, {"services": {}}, {"services": [{"id": "x"}]}, {"services": None}, None])
def test_an_answer_that_is_not_understood_is_unread(answer: t.Any) -> None:
    player = Player("read_scoped")
    player.edit("compute", "/os-services", fail(200, answer))
    read = cloud_facts.read_cloud(player, [], ["services"])
    assert read.services is None
    assert "services" in reasons(read)


def test_services_and_servers_of_a_cell_that_does_not_answer() -> None:
    player = Player("read_scoped")
    down = {"binary": "nova-compute", "host": "compute1", "status": "UNKNOWN"}
    player.edit("compute", "/os-services", lambda entry: entry["answer"]["services"].append(down))
    read = cloud_facts.read_cloud(player, ["compute1"], ["compute_max_microversion", "services", "servers"])
    assert len(read.services or ()) == 1
    assert reasons(read)["services.compute1"] == "the cell of this compute service does not answer"
    assert "compute1" in reasons(read)[facts.SILENT_CELLS]


def test_ports_say_their_subnets_and_trunks_and_subnets_their_segments() -> None:
    player = scoped()

    def trunk(entry: dict[str, t.Any]) -> None:
        for port in entry["answer"]["ports"]:
            port["fixed_ips"] = [{"subnet_id": "s1", "ip_address": "x"}, {"subnet_id": "s2", "ip_address": "y"}]
            port["trunk_details"] = {"trunk_id": "t", "sub_ports": [{"port_id": "sub1"}]}

    player.edit("network", "/ports", trunk)
    params = {"fields": ["id", "segment_id"], "id": ["s1", "s2"], "limit": 1000}
    asked = {"service": "network", "method": "GET", "path": "/subnets", "params": params}
    player.record({**asked, "status": 200, "answer": {"subnets": [{"id": "s1", "segment_id": "g"}, {"id": "s2"}]}})
    read = cloud_facts.read_cloud(player, SCOPE)
    assert {(tuple(port.subnets or ()), tuple(port.subports)) for port in read.ports or ()} == {
        (("s1", "s2"), ("sub1",))
    }
    assert (read.routed_subnets, read.unread) == (["s1"], [])
    player.edit("network", "/subnets", fail(403, {"forbidden": {"code": 403, "message": "no"}}))
    read = cloud_facts.read_cloud(player, SCOPE)
    assert read.routed_subnets is None
    assert "403" in reasons(read)["routed_subnets"]
    # Of a whole cloud nobody needs it.
    assert cloud_facts.read_cloud(player, [], ["catalog"]).routed_subnets is None


def test_agents_say_whether_they_route() -> None:
    player = scoped()
    agents = [
        {"agent_type": "L3 agent", "configurations": {"agent_mode": "dvr_snat"}},
        {"agent_type": "Open vSwitch agent", "configurations": {"enable_distributed_routing": True}},
        {"agent_type": "Open vSwitch agent", "configurations": {}},
    ]
    rest = {"binary": "b", "host": "compute1", "alive": True, "admin_state_up": True, "id": "a"}
    player.edit("network", "/agents", lambda entry: entry["answer"].update(agents=[{**rest, **row} for row in agents]))
    read = cloud_facts.read_cloud(player, ["compute1"], ["agents"])
    assert [(row.mode, row.distributed) for row in read.agents or ()] == [
        ("dvr_snat", False),
        (None, True),
        (None, False),
    ]


def test_case_variants_of_a_service_are_kept() -> None:
    player = Player("read_scoped")
    player.edit(
        "compute",
        "/os-services",
        lambda entry: entry["answer"]["services"].append({**entry["answer"]["services"][0], "host": "COMPUTE1"}),
    )
    read = cloud_facts.read_cloud(player, ["compute1"], ["services"])
    assert len({service.host.lower() for service in read.services or ()}) == 1
    assert "COMPUTE1" in {service.host for service in read.services or ()}


def test_a_service_without_endpoint_is_unread() -> None:
    player = Player("read_scoped")
    player.compute.get_endpoint_data = lambda: None
    read = cloud_facts.read_cloud(player, SCOPE, ["compute_max_microversion"])
    assert read.compute_max_microversion is None
    assert "compute: the service has no endpoint" in reasons(read)["compute_max_microversion"]


def test_an_older_cloud_is_asked_with_its_own_microversion() -> None:
    player = Player("read_scoped")
    player.compute._max = "2.95"
    with pytest.raises(AssertionError, match=r"'microversion': '2\.95'"):
        cloud_facts.read_cloud(player, SCOPE, ["servers"])


def test_a_node_of_another_name_than_its_host_is_found() -> None:
    """The API can search node names by pattern only: where that does not find a host's node, all are listed."""
    player = Player("read_all")
    (every,) = [
        entries for key, entries in player._answers.items() if "/os-hypervisors/detail" in key and "marker" not in key
    ]
    for entry in every:
        for item in entry["answer"]["hypervisors"]:
            item["hypervisor_hostname"] = f"node-of-{item['service']['host']}"
        entry["params"] = {"limit": 1000}
        entry["answer"].pop("hypervisors_links")
        host = entry["answer"]["hypervisors"][0]["service"]["host"]
        player.record(entry)
    nothing = {"service": "compute", "method": "GET", "path": "/os-hypervisors/detail", "microversion": "2.53"}
    message = {"itemNotFound": {"code": 404, "message": f"No hypervisor matching '{host}' could be found."}}
    player.record({**nothing, "params": {"hypervisor_hostname_pattern": host}, "status": 404, "answer": message})
    read = cloud_facts.read_cloud(player, [host], ["services", "hypervisors"])
    assert [item.hypervisor_hostname for item in read.hypervisors or ()] == [f"node-of-{host}"]


def test_a_name_that_the_api_takes_for_no_pattern_is_found_among_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The review: names that are no host names were sent as hypervisor_hostname_pattern, and answered with 400."""
    asked: list[t.Optional[str]] = []
    mine = facts.ApiHypervisor("1", "2001:db8::1", "2001:db8::1", "QEMU", "up", "enabled")
    other = facts.ApiHypervisor("2", "compute2", "compute2", "QEMU", "up", "enabled")

    def list_hypervisors(_connection: t.Any, pattern: t.Optional[str] = None) -> list[facts.ApiHypervisor]:
        asked.append(pattern)
        return [mine, other]

    monkeypatch.setattr(hypervisors, "list_hypervisors", list_hypervisors)
    reader = cloud_facts._Reader(None, ["2001:db8::1", "<b>x</b>"], ["hypervisors"])
    assert (reader.hypervisors([]), asked) == ([mine], [None])


# --- allocations of a whole cloud


NODE, ORPHAN, SHARED = "node-1", "orphan", "shared"


def placement(monkeypatch: pytest.MonkeyPatch, held: dict[str, dict[str, t.Any]], traits: dict[str, list[str]]) -> None:
    monkeypatch.setattr(resource_providers, "read_allocations", lambda _cloud, uuid: held[uuid])
    monkeypatch.setattr(
        resource_providers,
        "get_provider_traits",
        lambda _cloud, uuid: resource_providers.ProviderTraits(1, frozenset(traits[uuid])),
    )


def strays(known: dict[str, str], **now: t.Any) -> dict[str, tuple[t.Any, t.Any]]:
    """``now``: servers as they are, of those that are asked for, by consumer."""
    rows = [
        facts.ResourceProvider(NODE, "compute1", 1, NODE, None),
        facts.ResourceProvider("child", "compute1_gpu", 1, NODE, NODE),
        facts.ResourceProvider(ORPHAN, "compute9", 1, ORPHAN, None),
        facts.ResourceProvider(SHARED, "ceph", 1, SHARED, None),
    ]
    ask = lambda consumers: {uuid: now.get(uuid) for uuid in consumers}  # noqa: E731
    found = resource_providers.with_strays(object(), rows, {NODE: "compute1"}, known, ask)
    return {row.uuid: (row.strays and set(row.strays), row.has_compute_trait) for row in found}


def test_only_what_no_server_of_the_host_holds_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    held = {"own": {"VCPU": 1}, "elsewhere": {"VCPU": 2}, "ended": {"VCPU": 3}}
    placement(
        monkeypatch,
        {NODE: held, "child": {"own": {"VGPU": 1}}, ORPHAN: held},
        {ORPHAN: ["COMPUTE_NODE", "HW_CPU_X86_VMX"], SHARED: ["MISC_SHARES_VIA_AGGREGATE"]},
    )
    # Of a sharing provider, whose consumers are servers of every host, nothing is read: it would be a KeyError.
    elsewhere = server("elsewhere", host="compute3")
    assert strays({"own": "compute1", "elsewhere": "compute3"}, elsewhere=elsewhere) == {
        NODE: ({"elsewhere", "ended"}, None),
        "child": ({}, None),
        ORPHAN: ({"own", "elsewhere", "ended"}, True),
        SHARED: (None, False),
    }


def server(uuid: str, **given: t.Any) -> facts.ApiServer:
    return facts.ApiServer(**{**_blank(facts.ApiServer), "id": uuid, **given})


@pytest.mark.parametrize(
    "now",
    [
        {"host": None, "task_state": "spawning"},
        {"host": "compute3", "task_state": "migrating"},
        {"host": "compute1"},
        None,
    ],
    ids=["unshelved", "migrating", "arrived since the list", "deleted since the list"],
)
def test_a_server_on_its_way_is_no_stray(monkeypatch: pytest.MonkeyPatch, now: dict[str, t.Any] | None) -> None:
    placement(monkeypatch, {NODE: {"it": {"VCPU": 1}}, "child": {}, ORPHAN: {}}, {ORPHAN: [], SHARED: []})
    assert strays({"it": "compute3"}, it=now and server("it", **now))[NODE] == ({}, None)
    stays = server("it", host="compute3")
    assert strays({"it": "compute3"}, it=stays)[NODE] == ({"it"}, None)
    # Shelved, and nothing has it under way.
    assert strays({"it": "compute3"}, it=server("it", host=None))[NODE] == ({"it"}, None)


def test_a_server_that_was_made_since_the_list_is_no_stray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PAGE", 2)
    player = Player("read_all")
    player.answer_allocations()
    new, gone = "11111111-0000-0000-0000-000000000001", "22222222-0000-0000-0000-000000000002"
    uuid = (cloud_facts.read_cloud(player, [], ["hypervisors"]).hypervisors or ())[0].id
    player.edit(
        "placement",
        f"/resource_providers/{uuid}/allocations",
        lambda entry: entry["answer"]["allocations"].update({one: {"resources": {"VCPU": 1}} for one in (new, gone)}),
    )
    host = next(node.service_host for node in cloud_facts.read_cloud(player, [], ["hypervisors"]).hypervisors or ())
    known = facts.ApiServer(**{**_blank(facts.ApiServer), "id": new, "host": host})
    monkeypatch.setattr(server_records, "server_as_listed", lambda _cloud, one: known if one == new else None)
    read = cloud_facts.read_cloud(player)
    assert [set(provider.strays or ()) for provider in read.providers or () if provider.uuid == uuid] == [{gone}]


def test_where_placement_does_not_tell_the_providers_are_there_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PAGE", 2)
    player = Player("read_all")
    player.answer_allocations()

    def refuse(_cloud: t.Any, _uuid: str) -> t.Any:
        raise ApiError("GET placement: 503")

    monkeypatch.setattr(resource_providers, "read_allocations", refuse)
    read = cloud_facts.read_cloud(player)
    assert read.providers and {provider.strays for provider in read.providers} == {None}
    assert "providers.strays" in reasons(read)


def _blank(cls: t.Any) -> dict[str, t.Any]:
    return {field.name: None for field in dataclasses.fields(cls)}
