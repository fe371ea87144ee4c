# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps that make Nova show a server where its live migration has arrived. Pure.

The lock comes first: nobody but an administrator sends a request then. Row, allocation and bindings are what Nova's own
last writes would have changed. A step that fails leaves the server locked.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model.arrival import ArrivalFacts, ArrivedRow
from ...model.facts import MigrationRow
from ...model.plan import CONTROLLER, Change, Plan, Step

#: Before the server of a journal.
KIND = "arrival-"


def kind_of(server: str) -> str:
    """Return the kind of journal: one repair of a server is open at a time, those of others do not matter."""
    return f"{KIND}{server}"


def lock_reason(operation_id: str) -> str:
    """Return the reason under which the server is locked."""
    return f"stackguard:arrival:{operation_id}"


def plan(operation_id: str, name: str, facts: ArrivalFacts, row: ArrivedRow, migration: MigrationRow) -> Plan:
    """Return the steps. What of the row depends on the moment (task, last write) is looked at again before it."""
    where = f"server {name} ({row.uuid})"
    server = {"uuid": row.uuid, "name": name, "host": row.host, "dest": row.dest}
    lock = {**server, "reason": lock_reason(operation_id)}
    # Both change with each write of Nova's, the lock among them.
    wanted = {**dataclasses.asdict(row), "task": None, "written": None}
    held = {uuid: dict(entry) for uuid, entry in sorted(facts.migration_allocations.items())}
    allocations = {**server, "consumer": migration.uuid, "allocations": held}
    ports = {**server, "ports": sorted(facts.bindings)}
    steps = [
        Step("lock", f"lock the server ({lock['reason']})", CONTROLLER, "lock", lock),
        Step(
            "row",
            f"read everything again, and make Nova show the server on {row.dest}",
            CONTROLLER,
            "row",
            {**server, "row": wanted, "migration": migration.uuid},
            _row_changes(where, row),
        ),
        Step(
            "allocations",
            "release the allocation of the migration",
            CONTROLLER,
            "allocations",
            allocations,
            [
                Change(f"migration {migration.uuid}", f"allocation of provider {uuid}", _told(entry), "none")
                for uuid, entry in held.items()
            ],
        ),
        Step(
            "bindings",
            f"leave each port of the server with one binding, for {row.dest}",
            CONTROLLER,
            "bindings",
            ports,
            [
                Change(f"port {port}", "bindings", ", ".join(sorted(found)), row.dest)
                for port, found in sorted(facts.bindings.items())
                if dict(found) != {row.dest: True}
            ],
        ),
        Step("verify", "read the hosts again, and verify that everything agrees", CONTROLLER, "verify", server),
        Step("unlock", "unlock the server", CONTROLLER, "unlock", lock),
    ]
    return Plan(kind_of(row.uuid), operation_id, name, steps)


def _row_changes(where: str, row: ArrivedRow) -> t.List[Change]:
    before = {"host": row.host, "node": row.node, "compute_id": row.compute_id, "task_state": row.task}
    after = {"host": row.dest, "node": row.dest_node, "compute_id": row.dest_id, "task_state": None}
    return [
        Change(where, name, str(value), str(after[name]))
        for name, value in before.items()
        if value != after[name] and (name != "compute_id" or row.row_compute_id)
    ]


def _told(resources: t.Mapping[str, int]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in sorted(resources.items()))
