# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The southbound database: chassis, the ports that they have bound, and who may write what."""

from __future__ import annotations

import typing as t

from ...model.errors import Conflict
from ...model.ovn import (
    REQUESTED,
    OvnChassis,
    OvnConnection,
    OvnEncap,
    OvnPortBinding,
)
from .database import (
    Conditions,
    OvnAccess,
    OvnDatabase,
)

SCHEMA = "OVN_Southbound"
BINDINGS = "Port_Binding"
_TABLES = {
    "Chassis": ("name", "hostname", "encaps"),
    "Chassis_Private": ("name", "nb_cfg"),
    "Encap": ("type", "ip"),
    "Connection": ("target", "role"),
    BINDINGS: (
        *("logical_port", "type", "chassis", "requested_chassis", "options", "up"),
        *("additional_chassis", "requested_additional_chassis"),
    ),
}
#: Columns without which nothing can be said of a binding: before OVN 22.03.
NEEDED = (f"{BINDINGS}.requested_chassis", f"{BINDINGS}.up", "Chassis_Private")


#: Columns that name a chassis: all but the first of a list in C(requested-chassis) are additional ones.
CHASSIS_COLUMNS = ("chassis", "requested_chassis", "additional_chassis", "requested_additional_chassis")


def of_chassis(access: OvnAccess, uuids: t.Sequence[str] = (), names: t.Sequence[str] = ()) -> OvnDatabase:
    """Return the database with the bindings of these chassis (by uuid), and of ports that name one of ``names``."""
    clauses: t.List[t.List[t.Any]] = [
        [column, "includes", ["uuid", uuid]] for uuid in uuids for column in CHASSIS_COLUMNS
    ]
    clauses += [["options", "includes", ["map", [[REQUESTED, name]]]] for name in names]
    conditions: Conditions = {BINDINGS: clauses}
    return OvnDatabase(access, SCHEMA, _TABLES, conditions)


def of_unresolved(access: OvnAccess) -> OvnDatabase:
    """Return the database with those bindings whose requested chassis resolves to none."""
    return OvnDatabase(access, SCHEMA, _TABLES, {BINDINGS: [["requested_chassis", "==", ["set", []]]]})


def read_chassis(database: OvnDatabase) -> t.List[OvnChassis]:
    """Return every chassis, by name."""
    private: t.Dict[str, int] = {}
    if "Chassis_Private" not in database.absent:
        private = dict(database.rows("Chassis_Private", lambda row: (str(row.name), int(row.nb_cfg))))

    def make(row: t.Any) -> OvnChassis:
        encaps = sorted((str(entry.type), str(entry.ip)) for entry in row.encaps)
        made = [OvnEncap(kind, ip) for kind, ip in encaps]
        return OvnChassis(str(row.uuid), str(row.name), str(row.hostname), made, private.get(str(row.name)))

    return sorted(database.rows("Chassis", make), key=lambda chassis: chassis.name)


def read_bindings(database: OvnDatabase) -> t.List[OvnPortBinding]:
    """Return the bindings of the replica, by port."""
    absent = database.absent

    def make(row: t.Any) -> OvnPortBinding:
        further = [
            str(entry.uuid)
            for column in ("additional_chassis", "requested_additional_chassis")
            if f"{BINDINGS}.{column}" not in absent
            for entry in getattr(row, column)
        ]
        return OvnPortBinding(
            uuid=str(row.uuid),
            logical_port=str(row.logical_port),
            type=str(row.type),
            chassis=_only(row.chassis),
            requested=None if NEEDED[0] in absent else _only(row.requested_chassis),
            option=row.options.get(REQUESTED),
            up=None if NEEDED[1] in absent or not row.up else bool(row.up[0]),
            additional=sorted(further),
        )

    return sorted(database.rows(BINDINGS, make), key=lambda binding: binding.logical_port)


def bound_to(row: t.Any) -> t.Optional[str]:
    """Return the name of the chassis that has bound a port, by its row, where the port is up."""
    return str(row.chassis[0].name) if row.chassis and row.up and row.up[0] else None


def _only(chassis: t.Sequence[t.Any]) -> t.Optional[str]:
    return str(chassis[0].uuid) if chassis else None


def read_connections(database: OvnDatabase) -> t.List[OvnConnection]:
    """Return where the database listens, with the role of each."""
    rows = database.rows("Connection", lambda row: (str(row.target), str(row.role)))
    return [OvnConnection(target, role) for target, role in sorted(rows)]


def set_hostname(database: OvnDatabase, name: str, before: str, after: str) -> None:
    """Write the hostname of a chassis, as an administrator: with RBAC its own controller may not.

    Raises :class:`Conflict` where it is neither of the two, or gone; :class:`OvnError`.
    """

    def what(idl: t.Any, _txn: t.Any) -> t.Optional[str]:
        rows = [row for row in idl.tables["Chassis"].rows.values() if str(row.name) == name]
        found = str(rows[0].hostname) if rows else None
        if found == before:
            rows[0].verify("hostname")
            rows[0].hostname = after
        return found

    found = database.change(what)
    if found not in (before, after):
        raise Conflict(f"chassis {name}: the hostname is {found!r}, expected {before!r}")
