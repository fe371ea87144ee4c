# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Resource providers, against answers recorded from a real cloud: renamed there and back, guarded, read back."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError, Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import resource_providers
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.systems.api.cassette import Player, writes

NOBODY = "00000000-0000-0000-0000-00000000dead"


def a_provider(player: Player) -> str:
    for answers in player._answers.values():
        if answers[0]["method"] == "PUT" and answers[0]["json"]["name"] == "cn7":
            return str(answers[0]["path"]).rpartition("/")[2]
    raise AssertionError


def test_provider_there_and_back() -> None:
    player = Player("provider")
    uuid = a_provider(player)
    assert resource_providers.rename_provider(player, uuid, "compute1", "cn7").name == "cn7"
    assert writes(player)[0]["json"] == {"name": "cn7", "parent_provider_uuid": None}
    assert writes(player)[0]["microversion"] == "1.14"
    assert resource_providers.rename_provider(player, uuid, "cn7", "compute1").name == "compute1"
    assert len(writes(player)) == 2
    assert resource_providers.rename_provider(player, uuid, "cn7", "compute1").name == "compute1"
    assert len(writes(player)) == 2, "it was so already"
    with pytest.raises(Conflict, match=r"compute1", check=problem_is("resource-provider-name")):
        resource_providers.rename_provider(player, uuid, "other", "cn9")
    with pytest.raises(Conflict, match="already exists"):
        resource_providers.rename_provider(player, uuid, "compute1", "compute2")
    with pytest.raises(Conflict, check=problem_is("no-provider")):
        resource_providers.rename_provider(player, NOBODY, "a", "b")


def test_a_child_stays_in_its_tree() -> None:
    player = Player("provider")
    uuid = a_provider(player)
    parent = {"parent_provider_uuid": "9b3d8f0c-3a86-4ac5-a3c5-c9e1f0a6f6de"}
    player.edit("placement", f"/resource_providers/{uuid}", lambda entry: entry["answer"].update(parent))
    with pytest.raises(AssertionError, match="never recorded"):
        resource_providers.rename_provider(player, uuid, "compute1", "cn7")
    assert writes(player)[0]["json"] == {"name": "cn7", **parent}


def test_traits_of_a_provider_come_with_their_generation() -> None:
    player = Player("provider")
    path = f"/resource_providers/{NOBODY}/traits"
    request = {"service": "placement", "method": "GET", "path": path, "microversion": "1.6"}
    answer: dict[str, t.Any] = {"traits": ["COMPUTE_STATUS_DISABLED", "HW_CPU_X86_VMX"]}
    player.record({**request, "status": 200, "answer": {**answer, "resource_provider_generation": 22}})
    found = resource_providers.get_provider_traits(player, NOBODY)
    assert (found.generation, found.traits) == (22, {"COMPUTE_STATUS_DISABLED", "HW_CPU_X86_VMX"})
    player.edit("placement", path, lambda entry: entry["answer"].pop("resource_provider_generation"))
    with pytest.raises(ApiError, check=problem_is("get-placement-answer")):
        resource_providers.get_provider_traits(player, NOBODY)


# --- what a consumer holds of a provider


HOST, OTHER = "provider-1", "provider-2"


class Placement:
    """One consumer's allocations, guarded by its generation as placement does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, held: dict[str, dict[str, int]]) -> None:
        self.held, self.generation = held, 7
        self.meanwhile = lambda: None
        monkeypatch.setattr(resource_providers.http, "call", self.call)

    def call(self, _cloud: t.Any, _service: str, method: str, path: str, version: str, body: t.Any = None) -> t.Any:
        assert (path, version) == (f"/allocations/{NOBODY}", "1.28")
        if method == "GET":
            if not self.held:
                return {"allocations": {}}
            shown = {uuid: {"generation": 1, "resources": dict(amounts)} for uuid, amounts in self.held.items()}
            found = {"allocations": shown, "consumer_generation": self.generation, "project_id": "p", "user_id": "u"}
            self.meanwhile()
            return found
        assert (body["project_id"], body["user_id"]) == ("p", "u")
        if body["consumer_generation"] != self.generation:
            raise ApiError("PUT placement: 409", status=409)
        self.held = {uuid: entry["resources"] for uuid, entry in body["allocations"].items()}
        self.generation += 1
        return {}


def release() -> bool:
    return resource_providers.release_allocation(object(), NOBODY, HOST, {"VCPU": 1})


def test_only_the_part_of_one_provider_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    placement = Placement(monkeypatch, {HOST: {"VCPU": 1}, OTHER: {"VCPU": 2}})
    assert release() is True
    assert placement.held == {OTHER: {"VCPU": 2}}
    assert release() is False, "it was so already"


def test_a_consumer_of_nothing_else_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    placement = Placement(monkeypatch, {HOST: {"VCPU": 1}})
    assert release() is True
    assert (placement.held, release()) == ({}, False)


def test_what_has_changed_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    placement = Placement(monkeypatch, {HOST: {"VCPU": 4}})
    with pytest.raises(Conflict, check=problem_is("allocation-changed")):
        release()
    placement.held = {HOST: {"VCPU": 1}}

    def change() -> None:
        placement.generation += 1

    placement.meanwhile = change
    with pytest.raises(Conflict, check=problem_is("allocation-changed")):
        release()
    assert placement.held == {HOST: {"VCPU": 1}}
