# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The zone in stored request specs, on real servers. That the documented rights are enough: see test_grants.py."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa
from world import World, uid

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict, DatabaseError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import engine as database
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import request_specs

SERVER, OTHER = uid("instance", 1), uid("instance", 2)


def text(zone: str | None, **more: object) -> str:
    """A spec as Nova writes it, with blanks and letters that another writer would change."""
    data = {"num_instances": 1, "availability_zone": zone, "project_id": "größe", "image": {"min_ram": 1.50}, **more}
    whole = {"nova_object.name": "RequestSpec", "nova_object.version": "1.14", "nova_object.data": data}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":  "))


def put(world: World, number: int, uuid: str, spec: str) -> None:
    world.insert("api", "request_specs", id=number, instance_uuid=uuid, spec=spec)


def specs(world: World) -> list[object]:
    return [row[2] for row in world.rows("api", "request_specs", "instance_uuid", "spec")]


def test_there_and_back_to_the_same_bytes(any_release: World) -> None:
    world = any_release
    put(world, 1, SERVER, text(None))
    put(world, 2, OTHER, text("az2"))
    url = world.url("api")
    assert request_specs.read_zones(url, [SERVER, OTHER, uid("instance", 3)]) == {SERVER: None, OTHER: "az2"}
    assert request_specs.swap_zone(url, SERVER, None, "az1") == "changed"
    assert specs(world) == [text("az1"), text("az2")]
    assert request_specs.swap_zone(url, SERVER, None, "az1") == "already"
    assert request_specs.swap_zone(url, SERVER, "az1", None) == "changed"
    assert specs(world) == [text(None), text("az2")]


def test_what_is_neither_is_left_alone(world: World) -> None:
    put(world, 1, SERVER, text("elsewhere"))
    with pytest.raises(Conflict, match="elsewhere"):
        request_specs.swap_zone(world.url("api"), SERVER, None, "az1")
    assert specs(world) == [text("elsewhere")]
    assert request_specs.swap_zone(world.url("api"), OTHER, None, "az1") == "gone"


@pytest.mark.parametrize("broken", ["", "{}", text(None).replace("availability_zone", "Availability_zone")])
def test_a_spec_that_is_not_understood_is_unread_and_refused(world: World, broken: str) -> None:
    put(world, 1, SERVER, broken)
    assert request_specs.read_zones(world.url("api"), [SERVER]) == {}
    with pytest.raises(DatabaseError, match="request spec"):
        request_specs.swap_zone(world.url("api"), SERVER, None, "az1")
    assert specs(world) == [broken]


def test_nova_that_saves_in_the_same_moment_is_not_overwritten(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save that holds the row is waited for, and its spec is the one that is changed."""
    put(world, 1, SERVER, text(None))
    monkeypatch.setattr(database, "LOCK_TIMEOUT", 2)
    url = world.url("api")
    table = sa.table("request_specs", sa.column("id"), sa.column("spec"))
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.connect() as nova, nova.begin():
        nova.execute(sa.update(table).values(spec=text("az2", num_instances=2)))
        with pytest.raises((Conflict, DatabaseError)):
            request_specs.swap_zone(url, SERVER, None, "az1")
    with pytest.raises(Conflict, match="az2"):
        request_specs.swap_zone(url, SERVER, None, "az1")
    assert specs(world) == [text("az2", num_instances=2)]
