# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The doctor on real servers: the documented rights are all, and a missing one comes with its GRANT statement."""

from __future__ import annotations

import pytest
import servers
from documented_users import user_with_documented_rights
from world import World

from ansible_collections.stackguard.nova.plugins.module_utils.doctor import checks
from ansible_collections.stackguard.nova.plugins.module_utils.model import doctor, facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db.doctor import read_databases_state
from ansible_collections.stackguard.nova.plugins.plugin_utils import playbooks
from ansible_collections.stackguard.nova.tests.unit.systems import grant_statements

ASKED = doctor.Asked(sources=["databases"], operations=playbooks.operations(), tolerance=3600)
KINDS = ["DHCP agent", "Open vSwitch agent"]


def judged(world: World, user: str) -> tuple[doctor.DatabasesState, dict[tuple[str, str], doctor.Result]]:
    state = read_databases_state(world.options(user), ASKED.operations)
    found = checks.judge(ASKED, doctor.CloudState(agents=KINDS, alive_agents=KINDS), state, [], None)
    return state, {(result.subject, result.part): result for result in found}


def test_with_the_documented_rights_all_is_ok(any_release: World) -> None:
    user = user_with_documented_rights(any_release)
    state, found = judged(any_release, user)
    assert {result.state for result in found.values()} == {doctor.OK}, found
    assert {database.name for database in state.databases} == {"api", "cell:cell1", "neutron"}
    assert all(database.user.partition("@")[0] == user for database in state.databases)
    assert state.lock is not None and state.lock.scope == facts.LOCK_EXCLUSIVE


@pytest.mark.parametrize(
    ("table", "kind", "subject"),
    [
        ("services", "cell", "cell:cell1"),
        ("pci_devices", "cell", "cell:cell1"),
        ("aggregate_metadata", "api", "api"),
        ("request_specs", "api", "api"),
        ("agents", "neutron", "neutron"),
    ],
)
def test_the_statement_that_comes_with_a_missing_right_grants_it(
    world: World, table: str, kind: str, subject: str
) -> None:
    on = f"ON {table} " if world.server.backend == "postgresql" else f"ON {grant_statements.DATABASES[kind]}.{table} "
    user = user_with_documented_rights(world, but=on)
    _state, found = judged(world, user)
    wrong = {key: result for key, result in found.items() if result.state != doctor.OK}
    assert set(wrong) == {(subject, "database_rights")}, wrong
    for statement in wrong[subject, "database_rights"].fix.splitlines():
        world.server.run(statement, world.names[kind])
    _state, found = judged(world, user)
    assert {result.state for result in found.values()} == {doctor.OK}, found


def test_a_new_user_gets_every_right_from_the_statements_that_are_shown(world: World) -> None:
    """As docs/reference/grants.md has it: to log in is enough to begin with."""
    user, postgres = "newcomer", world.server.backend == "postgresql"
    if postgres:
        world.server.run(f"CREATE ROLE {user} LOGIN PASSWORD '{servers.PLAIN_PASSWORD}'")
    else:
        world.server.run(f"CREATE USER '{user}'@'%' IDENTIFIED BY '{servers.PLAIN_PASSWORD}'")
        _state, found = judged(world, user)
        assert found["api", "database"].state == doctor.FAILED, "without a privilege it cannot log in"
        for kind, table in (("api", "cell_mappings"), ("cell", "alembic_version"), ("neutron", "agents")):
            world.server.run(f"GRANT SELECT ON {world.names[kind]}.{table} TO '{user}'@'%'")
    # Cells are known to who may read cell_mappings, columns of newer releases to who may see them.
    for _time in range(3):
        _state, found = judged(world, user)
        for (subject, part), result in found.items():
            if part == "database_rights" and result.state == doctor.FAILED:
                for statement in result.fix.splitlines():
                    world.server.run(statement, world.names[subject.partition(":")[0]])
    _state, found = judged(world, user)
    assert not {key: result for key, result in found.items() if result.state != doctor.OK}


def test_a_user_who_does_not_exist_is_a_failure_and_no_password_is_shown(world: World) -> None:
    state, found = judged(world, "nosuchuser")
    assert {result.state for key, result in found.items() if key[1] == "database"} == {doctor.FAILED}
    assert not [result for result in found.values() if result.state == doctor.OK and result.subject != "ovn"]
    assert "assword" not in repr(state).replace("using password: YES", "").replace("using password: ***", "").replace(
        "password authentication", ""
    )
