# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compute services, against answers recorded from a real cloud: changed once, guarded, read back."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError, Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import compute_services
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.systems.api.answering_cloud import Cloud
from ansible_collections.stackguard.nova.tests.unit.systems.api.cassette import Player, writes

NOBODY = "00000000-0000-0000-0000-00000000dead"


def a_service(player: Player) -> str:
    return next(
        item.id
        for item in map(compute_services.service_of, compute_services.raw_services(player))
        if item.host == "compute1"
    )


def test_service_status() -> None:
    player = Player("service_status")
    service = a_service(player)
    disabled = compute_services.set_service_status(player, service, "disabled", "stackguard:rename:1")
    assert (disabled.status, disabled.disabled_reason) == ("disabled", "stackguard:rename:1")
    assert [(entry["microversion"], entry["json"]) for entry in writes(player)] == [
        ("2.53", {"status": "disabled", "disabled_reason": "stackguard:rename:1"})
    ]
    compute_services.set_service_status(player, service, "disabled", "stackguard:rename:1")
    assert len(writes(player)) == 1, "it was so already"
    enabled = compute_services.set_service_status(
        player, service, "enabled", "a reason is nothing for an enabled service"
    )
    assert (enabled.status, enabled.disabled_reason) == ("enabled", None)
    assert writes(player)[1]["json"] == {"status": "enabled"}


def test_a_service_that_someone_changed_meanwhile_is_left_as_it_is() -> None:
    player = Player("service_status")
    service = a_service(player)
    states = r"stackguard:rename:2.*stackguard:rename:1"
    with pytest.raises(Conflict, match=states, check=problem_is("another-user-changed")):
        compute_services.set_service_status(
            player, service, "disabled", "stackguard:rename:1", ("disabled", "stackguard:rename:2")
        )
    assert not writes(player)
    player = Player("service_status")
    service = a_service(player)
    compute_services.set_service_status(player, service, "disabled", "stackguard:rename:1", ("enabled", None))
    assert len(writes(player)) == 1


def test_a_service_that_is_not_as_wanted_afterwards() -> None:
    player = Player("service_status")
    service = a_service(player)

    def stubborn(entry: dict[str, t.Any]) -> None:
        for item in entry["answer"]["services"]:
            item.update(status="enabled", disabled_reason=None)

    player.edit("compute", "/os-services", stubborn)
    with pytest.raises(ApiError, match="is enabled"):
        compute_services.set_service_status(player, service, "disabled", "stackguard:rename:1")


def test_no_such_service() -> None:
    with pytest.raises(ApiError, check=problem_is("no-compute-service")) as raised:
        compute_services.get_service(Player("service_status"), NOBODY)
    assert raised.value.data["status"] == 404


def test_deleting_a_service_that_is_gone_is_fine() -> None:
    compute_services.delete_service(Player("errors"), NOBODY)


@pytest.mark.parametrize(("numbers", "several"), [([2, 3, 4], False), ([2, 3, 2], True), ([], False)])
def test_two_services_with_one_number_are_in_two_cells(numbers, several):
    cloud = Cloud()
    cloud.gives("/os-services", services=[{"id": number, "host": f"compute{number}"} for number in numbers])
    assert compute_services.several_cells(cloud) is several
    assert cloud.asked == [("/os-services", "2.52", {"binary": "nova-compute"})]
