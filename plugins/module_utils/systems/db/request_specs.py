# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads and changes the zone in the request specs of Nova's API database.

Nova rewrites a whole spec whenever it saves one. So a change is made only on the row as it is at that moment, locked,
and one that Nova overwrote meanwhile is seen by reading it again: whoever calls does so, with no task in progress.
"""

from __future__ import annotations

import typing as t

from ...model import request_spec
from ...model.errors import Conflict, DatabaseError
from . import engine, schema

try:
    import sqlalchemy as sa
except ImportError:
    SQLALCHEMY = False  # reported by the module, see systems/db/engine.py

#: Keys in one statement.
CHUNK = 500

CHANGED, ALREADY, GONE = "changed", "already", "gone"


def read_zones(url: str, uuids: t.Sequence[str]) -> t.Dict[str, t.Optional[str]]:
    """Return server uuid to the zone in its spec. One without a spec, or with one not understood, is left out.

    Raises :class:`DatabaseError`.
    """
    spec = schema.table(schema.API, "request_specs").c
    found: t.Dict[str, t.Optional[str]] = {}
    with engine.snapshot(url) as connection:
        for start in range(0, len(uuids), CHUNK):
            chunk = list(uuids[start : start + CHUNK])
            statement = sa.select(spec.instance_uuid, spec.spec).where(spec.instance_uuid.in_(chunk))
            for uuid, text in connection.execute(statement):
                try:
                    found[uuid] = request_spec.zone_of(text)
                except request_spec.SpecError:
                    continue
    return found


def swap_zone(
    url: str,
    uuid: str,
    before: t.Optional[str],
    after: t.Optional[str],
    before_commit: t.Callable[[], None] = lambda: None,
) -> str:
    """Change the zone in one spec: ``changed``, or ``already`` where it is as wanted, or ``gone`` without a spec.

    Nothing else of the text is written anew. ``before_commit``: the last word, while the row is locked.

    Raises :class:`Conflict` with nothing changed where the zone is neither, :class:`DatabaseError` where the database
    fails or the spec is not understood.
    """
    spec = schema.table(schema.API, "request_specs")
    with engine.transaction(url) as connection:
        statement = sa.select(spec.c.id, spec.c.spec).where(spec.c.instance_uuid == uuid).with_for_update()
        rows = connection.execute(statement).all()
        if not rows:
            return GONE
        if len(rows) > 1:
            raise DatabaseError(f"server {uuid} has {len(rows)} request specs, but exactly 1 is expected")
        identity, text = rows[0]
        try:
            found = request_spec.zone_of(text)
            wanted = request_spec.with_zone(text, after)
        except request_spec.SpecError as error:
            raise DatabaseError(f"the request spec of server {uuid}: {error}") from None
        if found == after:
            return ALREADY
        if found != before:
            raise Conflict(
                f"the request spec of server {uuid} has zone {found}, expected {before}", expected=before, found=found
            )
        # The row is locked; the old text guards it all the same, byte by byte.
        guard = sa.and_(spec.c.id == identity, schema.exact(connection, spec.c.spec) == _bytes(connection, text))
        done = connection.execute(sa.update(spec).where(guard).values(spec=wanted))
        if done.rowcount != 1:
            raise Conflict(f"the request spec of server {uuid} changed since it was read")
        before_commit()
    return CHANGED


def _bytes(connection: sa.Connection, text: str) -> t.Any:
    """MySQL compares the column as binary, PostgreSQL as text of the C collation."""
    return text.encode() if connection.dialect.name == "mysql" else text
