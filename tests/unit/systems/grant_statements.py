# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The GRANT statements that follow from the rights in systems/db/schema.py, as docs/reference/grants.md has them.

tests/gates/generated.py writes them there, one block for each group of operations.
"""

from __future__ import annotations

import pathlib
import re

from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import doctor, schema

ROOT = pathlib.Path(__file__).resolve().parents[3]
DOCUMENT = ROOT / "docs" / "reference" / "grants.md"
#: What the document calls the databases.
DATABASES = {schema.CELL: "nova", schema.API: "nova_api", schema.NEUTRON: "neutron"}
USER = {"mysql": "'stackguard'@'%'", "postgresql": "stackguard"}
#: In the order of a block: a kind of database, whether only hosts with OVN need it, what to say of it.
HEADINGS = (
    (schema.API, False, "Nova's API database"),
    (schema.CELL, False, "Nova's database of a cell: the same for each cell"),
    (schema.NEUTRON, False, "neutron, if an L2 agent or OVN runs on the host"),
    (schema.NEUTRON, True, "only with OVN"),
)
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


def groups(backend: str) -> dict[str, list[schema.Grantable]]:
    """Return the rights by the operations that need them: hosts (as the doctor asks for a rename), links, pins."""
    # Only PostgreSQL asks for UPDATE before it locks a row.
    written = {**schema.LOCKS, **schema.LINK_UPDATES} if backend == "postgresql" else schema.LINK_UPDATES
    return {
        "hosts": doctor.wanted(["rename_host"], neutron=True, ovn=True),
        "links": [schema.Grantable(schema.CELL, name, columns, "update") for name, columns in written.items()],
        "pins": list(schema.SPEC_GRANTS),
    }


def _name(column: str, backend: str) -> str:
    return RESERVED[backend].get(column, column)


def statements(grants: list[schema.Grantable], backend: str) -> list[str]:
    """Return the GRANT statements for these rights in one database: one for each table."""
    lines = []
    for table in dict.fromkeys(grant.table for grant in grants):
        rights = ", ".join(
            f"{action.upper()} ({', '.join(_name(column, backend) for column in columns)})"
            for action, columns in _columns([grant for grant in grants if grant.table == table]).items()
        )
        place = f"{DATABASES[grants[0].kind]}.{table}" if backend == "mysql" else table
        lines.append(f"GRANT {rights} ON {place} TO {USER[backend]};")
    return lines


def _columns(grants: list[schema.Grantable]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for grant in grants:
        found[grant.action] = tuple(dict.fromkeys((*found.get(grant.action, ()), *grant.columns)))
    return found


def block(group: str, backend: str) -> str:
    """Return the statements of a group, those of each database after its heading."""
    grants, lines = groups(backend)[group], []
    for kind, only_ovn, said in HEADINGS:
        here = [grant for grant in grants if grant.kind == kind and (grant.table in schema.OVN_COLUMNS) == only_ovn]
        if here:
            # Statements of MySQL name their database, those of PostgreSQL are given in it.
            lines += [] if backend == "mysql" or only_ovn else [f"\\connect {DATABASES[kind]}"]
            lines += [f"-- {said}", *statements(here, backend)]
    return "\n".join(lines)


def documented(backend: str, kind: str) -> list[str]:
    """Return the GRANT statements that the document lists for a kind of server and of database."""
    section = re.split(r"^## ", DOCUMENT.read_text(), flags=re.MULTILINE)
    (mine,) = [part for part in section if part.lower().startswith(backend)]
    name = DATABASES[kind]
    if backend == "mysql":
        return re.findall(rf"^GRANT .* ON {name}\..*;$", mine, re.MULTILINE)
    parts = re.findall(rf"^\\connect {name}$(.*?)(?=^\\connect|^```)", mine, re.MULTILINE | re.DOTALL)
    return [line for part in parts for line in part.splitlines() if line.startswith("GRANT ")]


def rights(lines: list[str]) -> dict[tuple[str, str], set[str]]:
    """Return the columns of each table and action that such statements grant."""
    found: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        granted, place = line.removeprefix("GRANT ").split(" ON ")
        table = place.split()[0].rpartition(".")[2]
        for action, columns in re.findall(r"(SELECT|UPDATE) \(([^)]*)\)", granted):
            names = {column.strip('` "') for column in columns.split(",")}
            found.setdefault((table, action.lower()), set()).update(names)
    return found
