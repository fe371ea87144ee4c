# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Database users that have just the documented rights, each with a name of its own."""

from __future__ import annotations

import itertools

import servers
from world import World

from ansible_collections.stackguard.nova.tests.unit.systems import grant_statements

_users = itertools.count(1)


def user_with_documented_rights(world: World, but: str = "") -> str:
    """Make a user, run the document's statements for it, without those that contain ``but``."""
    user = f"stackguard{next(_users)}"
    postgres = world.server.backend == "postgresql"
    if postgres:
        world.server.run(f"CREATE ROLE {user} LOGIN PASSWORD '{servers.PLAIN_PASSWORD}'")
    else:
        world.server.run(f"CREATE USER '{user}'@'%' IDENTIFIED BY '{servers.PLAIN_PASSWORD}'")
    backend = "postgresql" if postgres else "mysql"
    for kind, database in world.names.items():
        for statement in grant_statements.documented(backend, kind):
            if but and but in statement:
                continue
            text = statement.replace("'stackguard'@'%'", f"'{user}'@'%'").replace("TO stackguard", f"TO {user}")
            text = text.replace(f" ON {grant_statements.DATABASES[kind]}.", f" ON {database}.")
            if not world.has_compute_id:
                if text.startswith("GRANT UPDATE (dest_compute_id)"):
                    continue
                text = text.replace(", compute_id", "").replace(", dest_compute_id", "")
            world.server.run(text, database)
    return user
