# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ports, against answers recorded from a real cloud: bound to another name, guarded, read back."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError, Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import network
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.systems.api.cassette import Player, writes

NOBODY = "00000000-0000-0000-0000-00000000dead"


def recorded_ports(name: str) -> list[dict[str, str]]:
    answers = Player(name)._answers.values()
    ids = {entry["path"].rpartition("/")[2] for entries in answers for entry in entries} - {NOBODY}
    return [{"id": port, "vif_type": "ovs"} for port in sorted(ids)]


def test_ports() -> None:
    player = Player("ports_right")
    ports = recorded_ports("ports_right")
    calls: list[int] = []
    rebound = network.rebind_ports(player, ports, "compute1", "cn7", lambda: calls.append(len(player.asked)))
    assert rebound == network.Rebound(len(ports), 0, [])
    assert len(calls) == 2
    assert calls[0] == 0, "heartbeats are refreshed before the first port"
    assert calls[1] == 3, "the first port goes alone: GET, PUT, GET"
    for entry in writes(player):
        assert entry["json"] == {"port": {"binding:host_id": "cn7"}}
        assert entry["headers"]["If-Match"].startswith("revision_number=")
    before = len(writes(player))
    assert network.rebind_ports(player, ports, "compute1", "cn7") == network.Rebound(0, len(ports), [])
    assert len(writes(player)) == before
    assert network.rebind_ports(player, [{"id": NOBODY, "vif_type": "ovs"}], "compute1", "cn7").gone == [NOBODY]
    assert network.rebind_ports(player, [], "compute1", "cn7", lambda: calls.append(-1)) == network.Rebound(0, 0, [])
    assert -1 not in calls
    with pytest.raises(Conflict, match=r"compute2", check=problem_is("port-bound-expected")):
        network.rebind_port(player, ports[0]["id"], "compute2", "cn8")


AGENT = {"id": "a", "agent_type": "OVN Metadata agent", "binary": "b", "host": "compute1", "admin_state_up": True}


@pytest.mark.parametrize(
    ("kind", "answers", "alive", "looks"),
    [
        ("OVN Metadata agent", [False, False, True], True, 3),
        ("OVN Controller agent", [True], True, 1),
        ("OVN Controller agent", [False] * 99, False, 4),
        ("Open vSwitch agent", [False], False, 1),
    ],
)
def test_an_agent_of_ovn_has_the_time_to_answer_the_ping_of_the_list(monkeypatch, kind, answers, alive, looks) -> None:
    """A first list after a quiet time calls living agents dead: a preflight would refuse a healthy host."""
    asked: list[bool] = []
    clock = [0.0]

    def pages(*_arguments):
        asked.append(answers[len(asked)])
        return [{**AGENT, "agent_type": kind, "alive": asked[-1]}]

    monkeypatch.setattr(network.http, "pages", pages)
    monkeypatch.setattr(network.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(
        network.time, "sleep", lambda _seconds: clock.__setitem__(0, clock[0] + network.PING_ANSWER / 3)
    )
    assert [agent.alive for agent in network.list_agents(None, "compute1")] == [alive]
    assert len(asked) == looks


def test_a_name_without_a_live_agent_shows_on_the_first_port() -> None:
    player = Player("ports_wrong")
    (first,) = recorded_ports("ports_wrong")
    others = recorded_ports("ports_right")
    with pytest.raises(ApiError, match=r"binding_failed", check=problem_is("port-bound-vif")):
        network.rebind_ports(player, [first, *others], "compute1", "ghost")
    assert {entry["path"] for entry in player.asked} == {f"/ports/{first['id']}"}


def test_a_failed_binding_is_tried_again_once_the_agent_lives() -> None:
    """A port that bears the new name already, but with a failed binding, is no port that is as wanted."""
    player = Player("ports_wrong")
    (first,) = recorded_ports("ports_wrong")
    failed = {"binding:host_id": "ghost", "binding:vif_type": "binding_failed"}
    player.edit("network", f"/ports/{first['id']}", lambda entry: entry["answer"]["port"].update(failed))
    with pytest.raises(ApiError, match="binding_failed"):
        network.rebind_port(player, first["id"], "compute1", "ghost", "ovs")
    assert len(writes(player)) == 1
    assert network.rebind_port(player, first["id"], "compute1", "ghost", "binding_failed") is False


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
    assert network.rebind_port(player, port, "compute1", "cn7", "ovs") is True
    stubborn = _Contended(99)
    stuck = next(entries for key, entries in stubborn._answers.items() if f"/ports/{port}" in key and '"GET"' in key)
    del stuck[1:]
    with pytest.raises(ApiError, check=problem_is("other-users-changed")):
        network.rebind_port(stubborn, port, "compute1", "cn7", "ovs")
