# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GRANT statements that follow from the table of rights in systems/db/schema.py.

Prints them as they stand in docs/reference/grants.md:  python tests/unit/systems/grant_statements.py mysql|postgresql
"""

from __future__ import annotations

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / ".build" / "dev"))

from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import schema  # noqa: E402

DOCUMENT = ROOT / "docs" / "reference" / "grants.md"
#: What the document calls the databases.
DATABASES = {schema.CELL: "nova", schema.API: "nova_api", schema.NEUTRON: "neutron"}
USER = {"mysql": "'stackguard'@'%'", "postgresql": "stackguard"}
#: Words that a server would take for its own, as they must be written.
RESERVED = {"mysql": {"key": "`key`", "binary": "`binary`"}, "postgresql": {"binary": '"binary"'}}


def all_grants() -> list[schema.Grantable]:
    """Return all rights with one entry for each table and action: what is documented."""
    merged: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for grant in (
        *schema.GRANTS,
        *schema.OVN_GRANTS,
        *schema.LINK_GRANTS,
        *schema.SPEC_GRANTS,
        *schema.BROKER_GRANTS,
    ):
        key = (grant.kind, grant.table, grant.action)
        merged[key] = tuple(dict.fromkeys((*merged.get(key, ()), *grant.columns)))
    return [schema.Grantable(kind, name, columns, action) for (kind, name, action), columns in merged.items()]


def _name(column: str, backend: str) -> str:
    return RESERVED[backend].get(column, column)


def statements(kind: str, backend: str) -> list[str]:
    """Return the GRANT statements for one kind of database: one for each table."""
    grants = [grant for grant in all_grants() if grant.kind == kind]
    lines = []
    for table in dict.fromkeys(grant.table for grant in grants):
        rights = ", ".join(
            f"{grant.action.upper()} ({', '.join(_name(column, backend) for column in grant.columns)})"
            for grant in grants
            if grant.table == table
        )
        place = f"{DATABASES[kind]}.{table}" if backend == "mysql" else table
        lines.append(f"GRANT {rights} ON {place} TO {USER[backend]};")
    return lines


def documented(backend: str, kind: str) -> list[str]:
    """Return the GRANT statements that the document lists for a kind of server and of database."""
    text = DOCUMENT.read_text()
    section = re.split(r"^## ", text, flags=re.MULTILINE)
    (mine,) = [part for part in section if part.lower().startswith(backend)]
    parts = re.split(r"^### ", mine, flags=re.MULTILINE)
    (part,) = [part for part in parts if part.startswith(f"Database `{DATABASES[kind]}`")]
    return [line for line in part.splitlines() if line.startswith("GRANT SELECT")]


if __name__ == "__main__":
    for name in DATABASES:
        print("\n".join(statements(name, sys.argv[1])), end="\n\n")
