# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes through the APIs, against answers recorded from a real cloud: guarded, done once, read back."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError, Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import connection, host_changes, http, reads
from ansible_collections.stackguard.nova.tests.unit.systems.cassette import Player

NOBODY = "00000000-0000-0000-0000-00000000dead"


def writes(player: Player) -> list[dict[str, t.Any]]:
    return [entry for entry in player.asked if entry["method"] != "GET"]


# --- services -------------------------------------------------------------------------------------------------


def a_service(player: Player) -> str:
    return next(item.id for item in map(reads.service_of, reads.raw_services(player)) if item.host == "compute1")


def test_service_status() -> None:
    player = Player("service_status")
    service = a_service(player)
    disabled = host_changes.set_service_status(player, service, "disabled", "stackguard:rename:1")
    assert (disabled.status, disabled.disabled_reason) == ("disabled", "stackguard:rename:1")
    assert [(entry["microversion"], entry["json"]) for entry in writes(player)] == [
        ("2.53", {"status": "disabled", "disabled_reason": "stackguard:rename:1"})
    ]
    host_changes.set_service_status(player, service, "disabled", "stackguard:rename:1")
    assert len(writes(player)) == 1, "it was so already"
    enabled = host_changes.set_service_status(player, service, "enabled", "a reason is nothing for an enabled service")
    assert (enabled.status, enabled.disabled_reason) == ("enabled", None)
    assert writes(player)[1]["json"] == {"status": "enabled"}


def test_a_service_that_someone_changed_meanwhile_is_left_as_it_is() -> None:
    player = Player("service_status")
    service = a_service(player)
    with pytest.raises(Conflict, match=r"it is \w+.*expected disabled .stackguard:rename:2.\. Set it back"):
        host_changes.set_service_status(
            player, service, "disabled", "stackguard:rename:1", ("disabled", "stackguard:rename:2")
        )
    assert not writes(player)
    player = Player("service_status")
    service = a_service(player)
    host_changes.set_service_status(player, service, "disabled", "stackguard:rename:1", ("enabled", None))
    assert len(writes(player)) == 1


def test_a_service_that_is_not_as_wanted_afterwards() -> None:
    player = Player("service_status")
    service = a_service(player)

    def stubborn(entry: dict[str, t.Any]) -> None:
        for item in entry["answer"]["services"]:
            item.update(status="enabled", disabled_reason=None)

    player.edit("compute", "/os-services", stubborn)
    with pytest.raises(ApiError, match="is enabled"):
        host_changes.set_service_status(player, service, "disabled", "stackguard:rename:1")


def test_no_such_service() -> None:
    with pytest.raises(ApiError, match="no compute service") as raised:
        host_changes.get_service(Player("service_status"), NOBODY)
    assert raised.value.data["status"] == 404


def test_waiting_for_a_service() -> None:
    player = Player("service_status")
    service = a_service(player)
    seen: list[t.Any] = []
    up = host_changes.wait_service_up(player, service, None, 5, seen.append)
    assert up == seen[-1]
    with pytest.raises(ApiError, match="after 0 s"):
        player.edit(
            "compute", "/os-services", lambda entry: [item.update(state="down") for item in entry["answer"]["services"]]
        )
        host_changes.wait_service_up(player, service, None, 0)


def test_deleting_a_service_that_is_gone_is_fine() -> None:
    host_changes.delete_service(Player("errors"), NOBODY)


# --- providers ------------------------------------------------------------------------------------------------


def a_provider(player: Player) -> str:
    for answers in player._answers.values():
        if answers[0]["method"] == "PUT" and answers[0]["json"]["name"] == "cn7":
            return str(answers[0]["path"]).rpartition("/")[2]
    raise AssertionError


def test_provider_there_and_back() -> None:
    player = Player("provider")
    uuid = a_provider(player)
    assert host_changes.rename_provider(player, uuid, "compute1", "cn7").name == "cn7"
    assert writes(player)[0]["json"] == {"name": "cn7", "parent_provider_uuid": None}
    assert writes(player)[0]["microversion"] == "1.14"
    assert host_changes.rename_provider(player, uuid, "cn7", "compute1").name == "compute1"
    assert len(writes(player)) == 2
    assert host_changes.rename_provider(player, uuid, "cn7", "compute1").name == "compute1"
    assert len(writes(player)) == 2, "it was so already"
    with pytest.raises(Conflict, match="is called 'compute1', expected 'other'"):
        host_changes.rename_provider(player, uuid, "other", "cn9")
    with pytest.raises(Conflict, match="already exists"):
        host_changes.rename_provider(player, uuid, "compute1", "compute2")
    with pytest.raises(Conflict, match="is gone"):
        host_changes.rename_provider(player, NOBODY, "a", "b")


def test_a_child_stays_in_its_tree() -> None:
    player = Player("provider")
    uuid = a_provider(player)
    parent = {"parent_provider_uuid": "9b3d8f0c-3a86-4ac5-a3c5-c9e1f0a6f6de"}
    player.edit("placement", f"/resource_providers/{uuid}", lambda entry: entry["answer"].update(parent))
    with pytest.raises(AssertionError, match="never recorded"):
        host_changes.rename_provider(player, uuid, "compute1", "cn7")
    assert writes(player)[0]["json"] == {"name": "cn7", **parent}


# --- ports ----------------------------------------------------------------------------------------------------


def recorded_ports(name: str) -> list[dict[str, str]]:
    answers = Player(name)._answers.values()
    ids = {entry["path"].rpartition("/")[2] for entries in answers for entry in entries} - {NOBODY}
    return [{"id": port, "vif_type": "ovs"} for port in sorted(ids)]


def test_ports() -> None:
    player = Player("ports_right")
    ports = recorded_ports("ports_right")
    calls: list[int] = []
    rebound = host_changes.rebind_ports(player, ports, "compute1", "cn7", lambda: calls.append(len(player.asked)))
    assert rebound == host_changes.Rebound(len(ports), 0, [])
    assert len(calls) == 2
    assert calls[0] == 0, "heartbeats are refreshed before the first port"
    assert calls[1] == 3, "the first port goes alone: GET, PUT, GET"
    for entry in writes(player):
        assert entry["json"] == {"port": {"binding:host_id": "cn7"}}
        assert entry["headers"]["If-Match"].startswith("revision_number=")
    before = len(writes(player))
    assert host_changes.rebind_ports(player, ports, "compute1", "cn7") == host_changes.Rebound(0, len(ports), [])
    assert len(writes(player)) == before
    assert host_changes.rebind_ports(player, [{"id": NOBODY, "vif_type": "ovs"}], "compute1", "cn7").gone == [NOBODY]
    assert host_changes.rebind_ports(player, [], "compute1", "cn7", lambda: calls.append(-1)) == host_changes.Rebound(
        0, 0, []
    )
    assert -1 not in calls
    with pytest.raises(Conflict, match="is bound to 'cn7', expected 'compute2'"):
        host_changes.rebind_port(player, ports[0]["id"], "compute2", "cn8")


def test_a_name_without_a_live_agent_shows_on_the_first_port() -> None:
    player = Player("ports_wrong")
    (first,) = recorded_ports("ports_wrong")
    others = recorded_ports("ports_right")
    with pytest.raises(ApiError, match="is now binding_failed, it was ovs; no live network agent"):
        host_changes.rebind_ports(player, [first, *others], "compute1", "ghost")
    assert {entry["path"] for entry in player.asked} == {f"/ports/{first['id']}"}


def test_a_failed_binding_is_tried_again_once_the_agent_lives() -> None:
    """A port that bears the new name already, but with a failed binding, is no port that is as wanted."""
    player = Player("ports_wrong")
    (first,) = recorded_ports("ports_wrong")
    failed = {"binding:host_id": "ghost", "binding:vif_type": "binding_failed"}
    player.edit("network", f"/ports/{first['id']}", lambda entry: entry["answer"]["port"].update(failed))
    with pytest.raises(ApiError, match="binding_failed"):
        host_changes.rebind_port(player, first["id"], "compute1", "ghost", "ovs")
    assert len(writes(player)) == 1
    assert host_changes.rebind_port(player, first["id"], "compute1", "ghost", "binding_failed") is False


class _Contended(Player):
    """Somebody else changes the port before each of the first ``times`` writes."""

    def __init__(self, times: int) -> None:
        self.times = times
        super().__init__("ports_right")
        (self.stale,) = [
            entry for entries in Player("port_stale")._answers.values() for entry in entries if entry["status"] == 412
        ]

    def _play(self, service: str, path: str, method: str, **arguments: t.Any) -> t.Any:
        if method == "PUT" and self.times > 0:
            self.times -= 1
            stale = Player("port_stale")
            return stale._play(
                service,
                self.stale["path"],
                method,
                **{**arguments, "json": self.stale["json"], "headers": self.stale["headers"]},
            )
        return super()._play(service, path, method, **arguments)


def test_a_port_that_others_change_meanwhile_is_looked_at_again() -> None:
    port = recorded_ports("ports_right")[0]["id"]
    player = _Contended(1)
    # Nothing else was recorded between: the port is found as it was.
    first = next(entries for key, entries in player._answers.items() if f"/ports/{port}" in key and '"GET"' in key)
    first.insert(0, first[0])
    assert host_changes.rebind_port(player, port, "compute1", "cn7", "ovs") is True
    stubborn = _Contended(99)
    stuck = next(entries for key, entries in stubborn._answers.items() if f"/ports/{port}" in key and '"GET"' in key)
    del stuck[1:]
    with pytest.raises(ApiError, match="others changed port"):
        host_changes.rebind_port(stubborn, port, "compute1", "cn7", "ovs")


# --- aggregates and errors ------------------------------------------------------------------------------------


def test_an_aggregate_is_sent_anew_by_setting_nothing() -> None:
    player = Player("errors")
    host_changes.refresh_aggregate(player, 1)
    assert writes(player)[0]["json"] == {"set_metadata": {"metadata": {}}}
    with pytest.raises(ApiError, match="404: Aggregate 99 could not be found"):
        host_changes.refresh_aggregate(player, 99)


@pytest.mark.parametrize(
    ("service", "path", "microversion", "status", "text"),
    [
        ("compute", "/os-services", "2.999", 406, "Version 2.999 is not supported by the API"),
        ("placement", f"/resource_providers/{NOBODY}", "1.14", 404, "No resource provider with uuid"),
        ("network", f"/ports/{NOBODY}", None, 404, "could not be found"),
    ],
)
def test_the_services_own_words(service: str, path: str, microversion: str, status: int, text: str) -> None:
    with pytest.raises(ApiError, match=text) as raised:
        http.call(Player("errors"), service, "GET", path, microversion)
    assert raised.value.data == {"status": status, "service": service}


# --- connecting -----------------------------------------------------------------------------------------------

AUTH = {"auth_url": "http://127.0.0.1:1/v3", "username": "admin", "password": "hunter2hunter2", "project_name": "admin"}


def test_a_cloud_that_does_not_answer_is_told_without_the_password() -> None:
    with pytest.raises(ApiError) as raised:
        host_changes.connect(
            {"auth": {**AUTH, "auth_url": "http://admin:hunter2hunter2@127.0.0.1:1/v3"}, "cloud": None}
        )
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_cloud_that_is_not_configured() -> None:
    with pytest.raises(ApiError, match="nowhere"):
        host_changes.connect({"cloud": "nowhere"})


def test_a_dictionary_holds_everything() -> None:
    with pytest.raises(ApiError, match="so auth, interface cannot be set"):
        host_changes.connect({"cloud": {"auth": AUTH}, "auth": AUTH, "interface": "internal"})
    assert connection._keywords({"cloud": {"auth": AUTH}, "interface": "public"}) == {"auth": AUTH}


def test_options_are_those_of_openstack_cloud() -> None:
    keywords = connection._keywords(
        {
            "cloud": "c",
            "validate_certs": False,
            "ca_cert": "ca",
            "client_cert": "crt",
            "client_key": "key",
            "region_name": "r",
            "api_timeout": 5,
            "auth_type": "token",
            "auth": {},
            "interface": "admin",
            "hosts": [],
        }
    )
    assert keywords == {
        "cloud": "c",
        "verify": False,
        "cacert": "ca",
        "cert": "crt",
        "key": "key",
        "region_name": "r",
        "api_timeout": 5,
        "auth_type": "token",
        "auth": {},
        "interface": "admin",
    }
    spec = connection.openstack_spec(hosts={"type": "list"})
    assert set(connection.OPENSTACK_SPEC) < set(spec)
    assert spec["auth"]["no_log"]
    assert "hosts" not in connection.OPENSTACK_SPEC


def test_traits_of_a_provider_come_with_their_generation() -> None:
    player = Player("provider")
    path = f"/resource_providers/{NOBODY}/traits"
    request = {"service": "placement", "method": "GET", "path": path, "microversion": "1.6"}
    answer: dict[str, t.Any] = {"traits": ["COMPUTE_STATUS_DISABLED", "HW_CPU_X86_VMX"]}
    player.record({**request, "status": 200, "answer": {**answer, "resource_provider_generation": 22}})
    found = host_changes.get_provider_traits(player, NOBODY)
    assert (found.generation, found.traits) == (22, {"COMPUTE_STATUS_DISABLED", "HW_CPU_X86_VMX"})
    player.edit("placement", path, lambda entry: entry["answer"].pop("resource_provider_generation"))
    with pytest.raises(ApiError, match="not understood"):
        host_changes.get_provider_traits(player, NOBODY)
