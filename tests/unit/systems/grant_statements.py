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
RESERVED = {"key": "`key`", "binary": "`binary`"}


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


def _name(column: str) -> str:
    return RESERVED.get(column, column)


def groups() -> dict[str, list[schema.Grantable]]:
    """Return the rights by the operations that need them: hosts (as the doctor asks for a rename), links, pins."""
    updates = [schema.Grantable(schema.CELL, name, columns, "update") for name, columns in schema.LINK_UPDATES.items()]
    return {
        "hosts": doctor.wanted(["rename_host"], neutron=True, ovn=True),
        "links": updates,
        "pins": list(schema.SPEC_GRANTS),
    }


def statements(grants: list[schema.Grantable]) -> list[str]:
    """Return the GRANT statements of MySQL for these rights in one database: one for each table."""
    lines = []
    for table in dict.fromkeys(grant.table for grant in grants):
        given = ", ".join(
            f"{action.upper()} ({', '.join(map(_name, columns))})"
            for action, columns in _columns([grant for grant in grants if grant.table == table]).items()
        )
        lines.append(f"GRANT {given} ON {DATABASES[grants[0].kind]}.{table} TO {USER['mysql']};")
    return lines


def _columns(grants: list[schema.Grantable]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for grant in grants:
        found[grant.action] = tuple(dict.fromkeys((*found.get(grant.action, ()), *grant.columns)))
    return found


def block(group: str) -> str:
    """Return the statements of a group, those of each database after its heading."""
    lines = []
    for kind, only_ovn, said in HEADINGS:
        mine = [grant for grant in groups()[group] if grant.kind == kind]
        here = [grant for grant in mine if (grant.table in schema.OVN_COLUMNS) == only_ovn]
        lines += [f"-- {said}", *statements(here)] if here else []
    return "\n".join(lines)


def documented(backend: str, kind: str) -> list[str]:
    """Return the GRANT statements that the document has for a database; for PostgreSQL changed as it says."""
    (mine,) = re.findall(r"^## MySQL.*?(?=^## )", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    lines = re.findall(rf"^GRANT .* ON {DATABASES[kind]}\..*;$", mine, re.MULTILINE)
    return lines if backend == "mysql" else [_of_postgresql(line) for line in lines]


def _of_postgresql(line: str) -> str:
    for old, new in {USER["mysql"]: USER["postgresql"], "`binary`": '"binary"', "`key`": "key"}.items():
        line = line.replace(old, new)
    return re.sub(r" ON \w+\.", " ON ", line)


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
