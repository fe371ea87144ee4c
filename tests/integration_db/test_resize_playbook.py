# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""resize_server.yml with C(pin_db): a real API database, and a small Nova whose scheduler reads the pin from it."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from world import World

from ansible_collections.stackguard.nova.tests.unit.test_resize_playbook import Playbook
from ansible_collections.stackguard.nova.tests.unit.zoned import WEB
from ansible_collections.stackguard.nova.tests.unit.zoned_http import serving
from ansible_collections.stackguard.nova.tests.unit.zoned_nova import Nova

pytestmark = pytest.mark.ansible


def text(zone: str | None, flavor: str = "1") -> str:
    data = {"instance_uuid": WEB, "availability_zone": zone, "flavor": {"flavorid": flavor}}
    return json.dumps({"nova_object.name": "RequestSpec", "nova_object.version": "1.14", "nova_object.data": data})


class DatabaseNova(Nova):
    """As releases before 34: the pin is in the database only, and each move writes the whole spec anew."""

    world: World

    def spec(self) -> str:
        return str(self.world.rows("api", "request_specs", "spec")[0][1])

    def _scheduled(self) -> t.Any:
        self.server["pin"] = json.loads(self.spec())["nova_object.data"]["availability_zone"]
        self.world.update("api", "request_specs", 1, spec=text(self.server["pin"], self._asked))
        return super()._scheduled()

    def revert(self) -> None:
        super().revert()
        zone = json.loads(self.spec())["nova_object.data"]["availability_zone"]
        self.world.update("api", "request_specs", 1, spec=text(zone, "1"))


@pytest.mark.parametrize("pin", [None, "nova"])
def test_it_stays_and_its_spec_has_its_old_zone(world: World, tmp_path: pathlib.Path, pin: str | None) -> None:
    world.insert("api", "request_specs", id=1, instance_uuid=WEB, spec=text(pin))
    nova = DatabaseNova(max_microversion=(2, 95))
    nova.world = world
    with serving(nova) as (auth_url, _seen):
        playbook = Playbook(tmp_path, auth_url)
        code, output = playbook.run(nova_api_db_url=world.url("api"))
        assert code == 0, output
    assert "pin_db keeps the server in az1" in output
    assert (nova.server["host"], nova.server["flavor"], nova.server["status"]) == ("compute2", "2", "ACTIVE")
    assert nova.spec() == text(pin, "2"), "Nova's own change is kept, and the pin is as before"
    assert "se:cr" not in output


def test_what_strays_is_reverted_and_its_spec_is_as_before(world: World, tmp_path: pathlib.Path) -> None:
    world.insert("api", "request_specs", id=1, instance_uuid=WEB, spec=text(None))
    nova = DatabaseNova(max_microversion=(2, 95))
    nova.world = world
    with serving(nova) as (auth_url, _seen):
        code, output = Playbook(tmp_path, auth_url).run(nova_api_db_url=world.url("api"), resize_strategy="verify")
        assert code != 0, output
    assert (nova.server["host"], nova.server["flavor"], nova.server["status"]) == ("compute1", "1", "ACTIVE")
    assert nova.spec() == text(None)
