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


def ended_migrations(options: t.Mapping[str, t.Any], uuids: t.Collection[str]) -> t.Set[str]:
    """Return which of these uuids are migrations that have ended. Raises DatabaseError, also for one silent cell."""
    found: t.Set[str] = set()
    if not uuids:
        return found
    c = schema.table(schema.CELL, "migrations").c
    wanted = sorted(uuids)
    for cell in nova.list_cells(options):
        if cell.url is None:
            raise DatabaseError(f"cell {cell.name}: {cell.problem or 'no URL'}")
        with database.snapshot(cell.url) as connection:
            for start in range(0, len(wanted), CHUNK):
                statement = sa.select(c.uuid, c.status).where(c.uuid.in_(wanted[start : start + CHUNK]))
                found |= {str(uuid) for uuid, status in connection.execute(statement) if status in ENDED}
    return found
