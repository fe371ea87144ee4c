# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records the schemas in tests/fixtures/schema, by letting nova-manage make them on private servers.

    python tests/integration_db/record_schema.py 34 /path/to/environment/with/nova

The environment needs that release of Nova, PyMySQL and psycopg2. Only the tables that the collection looks at are
kept, complete with every column and index. With a third argument (``neutron``) neutron's ``agents`` is recorded, from
an environment with neutron.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import servers

TABLES = {
    "cell": ["alembic_version", "services", "compute_nodes", "instances", "migrations", "pci_devices"],
    "api": [
        "alembic_version",
        "cell_mappings",
        "host_mappings",
        "aggregates",
        "aggregate_hosts",
        "aggregate_metadata",
        "request_specs",
    ],
    "neutron": ["agents"],
}
AGENTS_FROM_MODEL = """
import sys
import sqlalchemy
from neutron.db.models import agent
agent.Agent.__table__.create(sqlalchemy.create_engine(sys.argv[1]))
"""
HEADER = """\
-- SPDX-License-Identifier: GPL-3.0-or-later
-- Recorded by tests/integration_db/record_schema.py from {what}. Not to be edited.
"""


def synced(server: servers.Server, environment: pathlib.Path, neutron: bool) -> list[str]:
    """Let the release's own command make the tables; return the kinds of database made."""
    driver = {"mariadb": "mysql+pymysql", "postgresql": "postgresql+psycopg2"}[server.backend]
    kinds = ["neutron"] if neutron else ["cell", "api"]
    for kind in kinds:
        server.run(f"CREATE DATABASE {kind}" + (" CHARACTER SET utf8mb3" if server.backend == "mariadb" else ""))
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
        urls = {kind: server.url(kind, driver=driver) for kind in kinds}
        if neutron and server.backend == "postgresql":
            # neutron's migrations no longer run there; its model still makes the table.
            commands = [["python", "-c", AGENTS_FROM_MODEL, urls["neutron"]]]
        elif neutron:
            config.write(f"[database]\nconnection = {urls['neutron']}\n")
            commands = [["neutron-db-manage", "--config-file", config.name, "upgrade", "heads"]]
        else:
            config.write(f"[database]\nconnection = {urls['cell']}\n[api_database]\nconnection = {urls['api']}\n")
            base = ["nova-manage", "--config-file", config.name]
            commands = [[*base, "api_db", "sync"], [*base, "db", "sync", "--local_cell"]]
        config.flush()
        for name, *arguments in commands:
            subprocess.run(
                [environment / "bin" / name, *arguments],
                check=True,
                env={**os.environ, "OS_NOVA_DISABLE_EVENTLET_PATCHING": "1"},
            )
    return kinds


def dump(server: servers.Server, kind: str) -> str:
    """Return the statements that make the tables, and what alembic_version holds."""
    if server.backend == "mariadb":
        base = [
            "mariadb-dump",
            "--no-defaults",
            "-h127.0.0.1",
            f"-P{server.port}",
            "-uroot",
            "--skip-comments",
            "--compact",
        ]
        environment = {**os.environ, "MYSQL_PWD": servers.PLAIN_PASSWORD}
        text = output([*base, "--no-data", kind, *TABLES[kind]], environment)
        text = re.sub(r" AUTO_INCREMENT=\d+", "", text)
        if kind != "neutron":
            text += output([*base, "--no-create-info", kind, "alembic_version"], environment)
        return text
    base = ["pg_dump", "-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres", "--no-owner", "--no-privileges"]
    environment = {**os.environ, "PGPASSWORD": servers.PLAIN_PASSWORD}
    text = types(server, kind)
    tables = [argument for name in TABLES[kind] for argument in ("-t", name)]
    text += output([*base, "--schema-only", *tables, kind], environment)
    if kind != "neutron":
        text += output([*base, "--data-only", "--inserts", "-t", "alembic_version", kind], environment)
    lines = [
        line for line in text.splitlines() if line and not line.startswith(("--", "\\", "SET ", "SELECT pg_catalog"))
    ]
    return "\n".join(lines) + "\n"


def types(server: servers.Server, kind: str) -> str:
    """Return the enumerations, which pg_dump leaves out where only some tables are wanted."""
    rows = server.run(
        "SELECT t.typname, string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder) FROM pg_type t "
        "JOIN pg_enum e ON e.enumtypid = t.oid GROUP BY t.typname ORDER BY t.typname",
        kind,
    )
    return "".join(f'CREATE TYPE public."{name}" AS ENUM ({labels});\n' for name, labels in rows)


def output(command: list[str], environment: dict[str, str]) -> str:
    """Run a command and return what it prints."""
    return subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout


def main() -> None:
    """Record one release on both servers."""
    release, environment, neutron = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:] == ["neutron"]
    for backend, server_class in servers.SERVERS.items():
        server = server_class()
        try:
            server.start()
            for kind in synced(server, environment, neutron):
                name = "neutron" if kind == "neutron" else f"{release}-{kind}"
                path = servers.SCHEMA / backend / f"{name}.sql"
                path.parent.mkdir(parents=True, exist_ok=True)
                what = f"{'neutron' if neutron else 'Nova'} {release} on {backend}"
                path.write_text(HEADER.format(what=what) + dump(server, kind))
                print(path, len(path.read_text()))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
