# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which migrations have ended: asked by their uuids, which no API takes. They are consumers in placement."""

from __future__ import annotations

import contextlib
import typing as t

from ...model.errors import DatabaseError
from . import engine as database
from . import nova, schema

# One that is missing is reported by the module, see systems/db/engine.py.
with contextlib.suppress(ImportError):
    import sqlalchemy as sa

#: Ends after which nothing needs what the migration holds. C(finished) waits for its confirmation; C(error) may be
#: repaired by hand, and C(done) is an evacuation's, which holds nothing (nova/objects/migration.py).
ENDED = ("confirmed", "reverted", "completed", "failed", "cancelled")
#: Uuids in one statement.
CHUNK = 500


def ended_migrations(options: t.Mapping[str, t.Any], uuids: t.Collection[str]) -> t.Dict[str, str]:
    """Return the servers of these migrations, of those that have ended. Raises DatabaseError, also for one silent cell.

    A move between cells has a row in both: it has ended where both say so. One whose server has a task has not: a
    revert writes C(reverted) on the destination, before the source takes its allocation back
    (nova/compute/resource_tracker.py, drop_move_claim_at_dest).
    """
    found: t.Dict[str, str] = {}
    if not uuids:
        return found
    lasting: t.Set[str] = set()
    moves, servers = (schema.table(schema.CELL, name) for name in ("migrations", "instances"))
    c, i = moves.c, servers.c
    joined = sa.outerjoin(moves, servers, sa.and_(i.uuid == c.instance_uuid, i.deleted == 0))
    wanted = sorted(uuids)
    for cell in nova.list_cells(options):
        if cell.url is None:
            raise DatabaseError(f"cell {cell.name}: {cell.problem or 'no URL'}")
        with database.snapshot(cell.url) as connection:
            for start in range(0, len(wanted), CHUNK):
                asked = c.uuid.in_(wanted[start : start + CHUNK])
                statement = sa.select(c.uuid, c.instance_uuid, c.status, i.task_state).select_from(joined).where(asked)
                for uuid, server, status, task in connection.execute(statement):
                    if status in ENDED and task is None:
                        found[str(uuid)] = str(server)
                    else:
                        lasting.add(str(uuid))
    return {uuid: server for uuid, server in found.items() if uuid not in lasting}
