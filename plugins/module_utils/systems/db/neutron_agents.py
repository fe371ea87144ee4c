# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a drain asks of a cell database and no API shows."""

from __future__ import annotations

import typing as t

from . import engine, schema

try:
    import sqlalchemy as sa
except ImportError:
    SQLALCHEMY = False  # reported by the module, see systems/db/engine.py


def other_nodes_of_service(url: str, service_id: int, host: str) -> t.List[str]:
    """Return existing compute nodes of other hosts that name this service.

    Deleting a service soft-deletes C(compute_nodes) by host *or* by service_id (C(db/main/api.py), service_destroy).
    Raises :class:`DatabaseError`.
    """
    node = schema.table(schema.CELL, "compute_nodes").c
    statement = (
        sa.select(node.uuid, node.host)
        .where(node.service_id == service_id, node.deleted == 0, node.host != host)
        .order_by(node.id)
    )
    with engine.snapshot(url) as connection:
        return [f"{row[0]} of {row[1]}" for row in connection.execute(statement).all()]
