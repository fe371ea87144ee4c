# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which RabbitMQ is whose, by the cell_mappings of real servers, and by what the operator says instead."""

from __future__ import annotations

import pytest
import servers
from documented_users import user_with_documented_rights
from world import CELL1, World, uid

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import DatabaseError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import brokers

URL = "rabbit://nova:geheim@mq1:5672/cell1"


def stored(world: World, url: str) -> None:
    world.update("api", "cell_mappings", 2, transport_url=url)


def found(world: World, user: str = "", **more: object) -> list[brokers.CellBroker]:
    return brokers.list_brokers({**world.options(user), **more})


def test_the_transport_url_of_each_cell_is_its_broker_and_deleted_services_are_names_too(any_release: World) -> None:
    stored(any_release, URL)
    any_release.service(77, "gone1", deleted=77)
    any_release.service(78, "controller1", "nova-conductor")
    # Of these, somebody has archived the service.
    any_release.insert("api", "host_mappings", id=79, cell_id=2, host="left1")
    any_release.insert("api", "aggregate_hosts", id=80, aggregate_id=1, host="left2")
    (cell,) = found(any_release, user_with_documented_rights(any_release))
    assert (cell.cell, cell.url, cell.problem, cell.unread) == ("cell1", URL, None, None)
    assert (cell.names, cell.left) == ({"compute1", "compute2", "gone1"}, {"left1", "left2"})
    assert "geheim" not in repr(cell)


@pytest.mark.parametrize("url", ["none:///", "", "{scheme}://{username}:{password}@{hostname}:{port}/"])
def test_a_cell_without_a_usable_url_has_a_problem_and_is_not_left_out(world: World, url: str) -> None:
    stored(world, url)
    (cell,) = found(world)
    assert cell.url is None
    assert brokers.VARIABLE in (cell.problem or "")
    for given in (URL, {"cell1": URL}, {CELL1: URL}):
        (cell,) = found(world, rabbit_urls=given)
        assert (cell.url, cell.problem) == (URL, None)


def test_a_user_without_the_right_to_the_column_has_a_problem_and_may_say_the_url(world: World) -> None:
    stored(world, URL)
    user = user_with_documented_rights(world, but="transport_url")
    on = {"mysql": "GRANT SELECT (id, uuid, name, database_connection, disabled) ON {}.cell_mappings TO '{}'@'%'"}
    on["postgresql"] = "GRANT SELECT (id, uuid, name, database_connection, disabled) ON cell_mappings TO {1}"
    backend = "postgresql" if world.server.backend == "postgresql" else "mysql"
    world.server.run(on[backend].format(world.names["api"], user), world.names["api"])
    (cell,) = found(world, user)
    assert (cell.url, cell.names) == (None, {"compute1", "compute2"})
    assert "transport_url" in (cell.problem or "")
    assert servers.PLAIN_PASSWORD not in (cell.problem or "")
    (cell,) = found(world, user, rabbit_urls=URL)
    assert cell.url == URL


def test_one_url_is_not_the_broker_of_two_cells(world: World) -> None:
    world.cell_mapping(9, "cell2", uid("cell", 2), world.url("cell"))
    with pytest.raises(DatabaseError, match="2 cells"):
        found(world, rabbit_urls=URL)
    first, second = found(world, rabbit_urls={"cell2": URL})
    assert (first.url, second.url) == (None, URL)


@pytest.mark.parametrize("given", [{"cell9": URL}, ["rabbit://"], 5])
def test_what_fits_no_cell_is_refused(world: World, given: object) -> None:
    with pytest.raises(DatabaseError, match=brokers.VARIABLE) as raised:
        found(world, rabbit_urls=given)
    assert "geheim" not in str(raised.value)


def test_without_the_api_database_the_operators_word_is_all(world: World) -> None:
    assert brokers.list_brokers({}) == []
    (cell,) = brokers.list_brokers({"rabbit_urls": URL})
    assert (cell.cell, cell.url, cell.names) == (brokers.ONLY_CELL, URL, None)


def test_a_cell_whose_database_does_not_answer_has_no_names(world: World) -> None:
    stored(world, URL)
    (cell,) = found(world, nova_cell_db_urls={"cell1": "mysql://nova:geheim@127.0.0.1:1/nova_cell1"})
    assert (cell.names, cell.url) == (None, URL)
    assert cell.unread
    assert "geheim" not in cell.unread
