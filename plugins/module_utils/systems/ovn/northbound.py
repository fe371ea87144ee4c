# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The northbound database: which chassis each port asks for, and the labels that neutron keeps beside it."""

from __future__ import annotations

import time
import typing as t

from ...model.errors import OvnError
from ...model.ovn import (
    HOST_ID,
    PARENT_HOSTNAME,
    REQUESTED,
    OvnSwitchPort,
)
from .database import (
    Conditions,
    OvnAccess,
    OvnDatabase,
)

SCHEMA = "OVN_Northbound"
PORTS = "Logical_Switch_Port"
_GLOBAL = "NB_Global"
_TABLES = {
    _GLOBAL: ("nb_cfg", "sb_cfg"),
    PORTS: ("name", "type", "options", "external_ids", "up", "parent_name"),
    "Gateway_Chassis": ("chassis_name",),
    "HA_Chassis": ("chassis_name",),
}
#: Ports that one transaction changes.
BATCH = 1000


def of_hosts(access: OvnAccess, names: t.Sequence[str], ports: t.Sequence[str] = ()) -> OvnDatabase:
    """Return the database with the ports that name one of these hosts or chassis; no names: no ports.

    A condition compares the whole value, so that a list of hosts matches none: ``ports`` are added by their name.
    """
    clauses = [["options", "includes", ["map", [[REQUESTED, name]]]] for name in names]
    for key in (HOST_ID, PARENT_HOSTNAME):
        clauses += [["external_ids", "includes", ["map", [[key, name]]]] for name in names]
    clauses += [["name", "==", port] for port in ports]
    conditions: Conditions = {PORTS: clauses}
    return OvnDatabase(access, SCHEMA, _TABLES, conditions)


def read_ports(database: OvnDatabase) -> t.List[OvnSwitchPort]:
    """Return the ports of the replica, by name."""
    return sorted(database.rows(PORTS, _port), key=lambda port: port.name)


def read_gateways(database: OvnDatabase) -> t.List[str]:
    """Return the names of chassis that routers' gateways name."""
    tables = [name for name in ("Gateway_Chassis", "HA_Chassis") if name not in database.absent]
    return sorted({name for table in tables for name in database.rows(table, lambda row: str(row.chassis_name))})


def requested(row: t.Any) -> t.Optional[str]:
    """Return what a port's row names."""
    found = row.options.get(REQUESTED)
    return None if found is None else str(found)


def _port(row: t.Any) -> OvnSwitchPort:
    return OvnSwitchPort(
        uuid=str(row.uuid),
        name=str(row.name),
        type=str(row.type),
        requested=requested(row),
        host_id=row.external_ids.get(HOST_ID),
        parent_hostname=row.external_ids.get(PARENT_HOSTNAME),
        activation_strategy=row.options.get("activation-strategy"),
        up=bool(row.up[0]) if row.up else None,
        parent_name=str(row.parent_name[0]) if row.parent_name else None,
    )


def point(
    database: OvnDatabase,
    moves: t.Mapping[str, str],
    keep: t.Optional[t.Mapping[str, str]] = None,
    labels: t.Optional[t.Mapping[str, str]] = None,
    sync: bool = True,
) -> t.Dict[str, t.Optional[str]]:
    """Let every port that names a key of ``moves`` name its value instead.

    Returns what each port that was changed named before; None: only its labels were changed.

    ``keep``: uuids of ports that name a chassis of their own, with its name: they name that, whatever of ``moves`` they
    name. ``labels``: the same as ``moves`` for neutron's labels, of every port. ``sync``: and wait until ovn-northd has
    carried it out. Up to :data:`BATCH` ports are changed by one transaction, which fails where a row is no longer as it
    was read, and is then tried again with the newer row. Raises :class:`OvnError`.
    """
    moves = {before: after for before, after in moves.items() if before != after}
    found: t.Dict[str, t.Optional[str]] = {}
    while True:
        changed, number = database.change(
            lambda idl, _txn: _point_some(idl, moves, keep or {}, labels or {}, sync),
        )
        if not changed:
            return found
        found.update(changed)
        if number is not None:
            _until_northd(database, number)


def _point_some(
    idl: t.Any, moves: t.Mapping[str, str], keep: t.Mapping[str, str], labels: t.Mapping[str, str], sync: bool
) -> t.Tuple[t.Dict[str, t.Optional[str]], t.Optional[int]]:
    changed: t.Dict[str, t.Optional[str]] = {}
    for row in list(idl.tables[PORTS].rows.values()):
        named = requested(row)
        wanted = _wanted(named, moves, keep.get(str(row.uuid)))
        relabelled = [(key, labels[row.external_ids[key]]) for key in _labelled(row, labels)]
        if wanted is not None:
            row.verify("options")
            row.setkey("options", REQUESTED, wanted)
        for key, value in relabelled:
            row.verify("external_ids")
            row.setkey("external_ids", key, value)
        if wanted is not None or relabelled:
            changed[str(row.name)] = named if wanted is not None else None
        if len(changed) == BATCH:
            break
    return changed, _bump(idl) if changed and sync else None


def _wanted(named: t.Optional[str], moves: t.Mapping[str, str], kept: t.Optional[str]) -> t.Optional[str]:
    """Return what a port must name instead; None: it is right, or names something else altogether."""
    if kept is None:
        return moves.get(named or "")
    return kept if named != kept and named in {*moves, *moves.values()} else None


def _labelled(row: t.Any, labels: t.Mapping[str, str]) -> t.List[str]:
    return [key for key in (HOST_ID, PARENT_HOSTNAME) if labels.get(row.external_ids.get(key) or "")]


def _bump(idl: t.Any) -> int:
    """Move the counter by which ovn-northd tells how far it is, and return its new value."""
    found = list(idl.tables[_GLOBAL].rows.values())
    if len(found) != 1:
        raise OvnError(f"{_GLOBAL} has {len(found)} rows, expected 1")
    found[0].verify("nb_cfg")
    number = int(found[0].nb_cfg) + 1
    found[0].nb_cfg = number
    return number


def synchronise(database: OvnDatabase) -> t.Tuple[int, int]:
    """Wait until ovn-northd has carried out everything; return the number that proves it, and the milliseconds.

    It changes a counter that neutron moves, too, whenever it looks whether chassis are alive. Raises
    :class:`OvnError`.
    """
    begun = time.monotonic()
    number = database.change(lambda idl, _txn: _bump(idl))
    _until_northd(database, number)
    return number, int((time.monotonic() - begun) * 1000)


def _until_northd(database: OvnDatabase, number: int) -> None:
    def seen() -> t.Optional[bool]:
        (found,) = database.rows(_GLOBAL, lambda row: int(row.sb_cfg)) or [0]
        return True if found >= number else None

    if database.wait(seen) is None:
        raise OvnError(
            f"ovn-northd has not applied the change within {database.timeout} s. Check whether ovn-northd is paused or "
            "stopped"
        )
