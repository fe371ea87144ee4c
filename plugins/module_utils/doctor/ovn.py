# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the doctor says of OVN's databases: reached, of a known version, and open to what a rename changes. Pure."""

from __future__ import annotations

import typing as t

from ..model.doctor import (
    FAILED,
    NOT_CHECKED,
    OK,
    Asked,
    CloudState,
    Result,
)
from ..model.doctor_ovn import (
    NORTHBOUND,
    OvnDatabaseState,
    OvnState,
)
from ..model.network_agents import BINDING_AGENTS, OVN_AGENTS

REACHED, RIGHTS = "ovn_database", "ovn_rights"
#: Operations that do not begin with OVN without the databases, and those that leave something unchecked or undone.
_REFUSE = ("rename_host",)
_USE = ("audit", "evacuate_host", "return_host", "remove_host")
_OPTIONS = {NORTHBOUND: "ovn_nb_connection"}
_SET = (
    "copy ovn_nb_connection and ovn_sb_connection from neutron's [ovn] section into the variables, for example "
    "ovn_nb_connection: tcp:HOST:6641"
)
_LIST = {
    NORTHBOUND: "ovn-nbctl get-connection",
    "southbound": "ovn-sbctl --columns=target,role,read_only list Connection",
}


def judge(asked: Asked, state: t.Optional[OvnState], cloud: t.Optional[CloudState]) -> t.List[Result]:
    """Return both parts of each database; of both as one where neither was asked."""
    if state is None:
        first = _not_given(asked, cloud)
        rest = OK if first.state == OK else NOT_CHECKED
        return [first, Result("databases", "ovn", RIGHTS, rest, first.seen if rest == OK else "no connection is set")]
    if state.problem is not None:
        return [
            Result("databases", "ovn", REACHED, FAILED, state.problem, state.fix),
            Result("databases", "ovn", RIGHTS, NOT_CHECKED, "the run did not read the databases"),
        ]
    return [result for database in state.databases for result in _database(database)]


def _not_given(asked: Asked, cloud: t.Optional[CloudState]) -> Result:
    def result(state: str, seen: str, fix: str = "") -> Result:
        return Result("databases", "ovn", REACHED, state, seen, fix)

    users = [name for name in asked.operations if name in (*_REFUSE, *_USE)]
    if not users:
        return result(OK, "ovn_nb_connection is not set, and no requested operation uses it")
    kinds = cloud.agents if cloud else None
    if not kinds:
        # Neutron's list is empty while its workers see no events of OVN, and for users that are no administrators.
        seen = (
            "ovn_nb_connection is not set, and neutron showed no agents. If the cloud has OVN, set this option for "
            f"these operations: {', '.join(users)}"
        )
        return result(NOT_CHECKED, seen)
    found = sorted(set(kinds) & set(OVN_AGENTS))
    needing = [name for name in users if name in _REFUSE]
    if found and needing:
        seen = (
            f"ovn_nb_connection is not set, and {', '.join(needing)} needs this option for these agents: "
            f"{', '.join(found)}"
        )
        return result(FAILED, seen, _SET)
    if found:
        seen = f"ovn_nb_connection is not set, and {', '.join(users)} cannot check these agents: {', '.join(found)}"
        return result(NOT_CHECKED, seen, _SET)
    binding = sorted(set(cloud.alive_agents if cloud else []) & set(BINDING_AGENTS))
    if not binding:
        seen = (
            "ovn_nb_connection is not set, and the doctor does not know whether the cloud has OVN: neutron shows "
            "neither an OVN agent nor a live Open vSwitch, Linux bridge or Macvtap agent"
        )
        return result(NOT_CHECKED, seen, _SET)
    return result(OK, f"not needed: neutron shows no OVN agent, and these other agents are alive: {', '.join(binding)}")


def _database(database: OvnDatabaseState) -> t.List[Result]:
    option = _OPTIONS.get(database.name, "ovn_sb_connection")

    def result(part: str, state: str, seen: str, fix: str = "") -> Result:
        return Result("databases", f"ovn {database.name}", part, state, seen, fix)

    if database.problem is not None:
        fix = (
            f"correct {option}, or make sure that the Ansible controller can reach {database.remote}; for a clustered "
            "database, list every member"
        )
        return [
            result(REACHED, FAILED, database.problem, fix),
            result(RIGHTS, NOT_CHECKED, "the database was not reached"),
        ]
    return [_reached(result, database), _rights(result, database, option)]


def _reached(result: t.Callable[..., Result], database: OvnDatabaseState) -> Result:
    if database.lacking:
        seen = f"this version of OVN is older than the tested versions, and has no {', '.join(database.lacking)}"
        return result(
            REACHED, FAILED, seen, "upgrade OVN to 22.03 or newer: apt-get install --only-upgrade ovn-central"
        )
    if database.silent:
        silent = "; ".join(f"{member}: {reason}" for member, reason in sorted(database.silent.items()))
        seen = (
            f"the leader answers, but these members do not answer: {silent}. A run fails if one of these members "
            "becomes the leader"
        )
        return result(REACHED, NOT_CHECKED, seen)
    return result(REACHED, OK, database.remote)


def _rights(result: t.Callable[..., Result], database: OvnDatabaseState, option: str) -> Result:
    if database.writable is None:
        return result(RIGHTS, NOT_CHECKED, database.reason or "the doctor made no test change in the database")
    if database.writable:
        return result(RIGHTS, OK, "the database permits changes (the doctor made a test change and rolled it back)")
    fix = (
        f"set {option} to the unix socket of the database, or to a TCP port of the database. The port must not be "
        "read-only, and must have no RBAC role. To list the ports: "
    )
    return result(RIGHTS, FAILED, database.reason, fix + _LIST[database.name])
