# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OVN as the demonstration sees it, on a lab made with it: chassis, and where ports ask for one and are bound."""

from __future__ import annotations

import json
from typing import Any

from . import cloud

ACCESS = {"ovn_nb_connection": "nb", "ovn_sb_connection": "sb"}


def variables() -> dict[str, str]:
    """How the playbooks reach OVN's databases; nothing on a lab without OVN."""
    found = cloud.info()["ovn"]
    return {name: found[key] for name, key in ACCESS.items()} if found else {}


def names() -> list[str]:
    """Every hostname of a chassis, and every name by which a port asks for its chassis."""
    if not variables():
        return []
    chassis = [f"chassis {row['name']} {row['hostname']}" for row in _rows("sb", "Chassis", "name,hostname")]
    ports = [
        f"port {row['name']} {dict(row['options'][1]).get('requested-chassis')}"
        for row in _rows("nb", "Logical_Switch_Port", "name,options")
    ]
    return sorted([*chassis, *ports])


def bindings() -> list[str]:
    """Each port with the chassis that has it, the one that was asked for, and whether it is up."""
    if not variables():
        return []
    rows = _rows("sb", "Port_Binding", "logical_port,chassis,requested_chassis,up")
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def _rows(database: str, table: str, columns: str) -> list[dict[str, Any]]:
    program = {"nb": "ovn-nbctl", "sb": "ovn-sbctl"}[database]
    connection = cloud.info()["ovn"][database]
    told = cloud.run(
        program, f"--db={connection}", "--timeout=20", "--format=json", f"--columns={columns}", "list", table
    )
    found = json.loads(told)
    return [dict(zip(found["headings"], row)) for row in found["data"]]
