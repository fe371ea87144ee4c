# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Private MariaDB and PostgreSQL servers on 127.0.0.1, with a data directory that is thrown away.

They need the programs only (Debian: mariadb-server, postgresql); a server that runs on the machine is not touched.
"""

from __future__ import annotations

import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import sqlalchemy as sa

PASSWORD = "se:cr%2Fet%40x"  # what a URL must quote, quoted
PLAIN_PASSWORD = "se:cr/et@x"
SCHEMA = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "schema"


class ServerError(Exception):
    """A server that is not installed or does not start."""


def program(name: str, *places: str) -> str:
    """Return a program's path. Its absence is a failure, not a reason to skip."""
    for pattern in places:
        found = sorted(glob.glob(pattern))
        if found:
            return found[-1]
    path = shutil.which(name)
    if path is None:
        raise ServerError(f"{name} is not installed (apt-get install mariadb-server postgresql)")
    return path


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def account(name: str) -> dict[str, object]:
    """Return what subprocess needs to become a server's own account; nothing where we are not root."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam(name)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class Server:
    """A private server. ``admin_url`` has all rights; :meth:`url` names a database and a user."""

    backend = ""
    owner = ""

    def __init__(self) -> None:
        # In memory where that is possible: the tests are about transactions, not about disks.
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"stackguard-{self.backend}-", dir=place))
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self._engines: dict[str, sa.Engine] = {}
        if os.geteuid() == 0:
            shutil.chown(self.directory, self.owner, self.owner)

    def start(self) -> None:
        """Initialise the data directory, start, and wait until it answers."""
        self._initialise()
        with open(self.directory / "server.log", "wb") as log:
            # Should the tests be killed, the server goes with them.
            command = [program("setpriv"), "--pdeathsig", "KILL", *self._command()]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, **account(self.owner))
        end = time.monotonic() + 180
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(sa.exc.SQLAlchemyError), self.admin() as connection:
                connection.execute(sa.select(1))
                return
            time.sleep(0.1)
        raise ServerError(f"{self.backend} does not start:\n{(self.directory / 'server.log').read_text()[-2000:]}")

    def stop(self) -> None:
        """Stop it at once and remove its data."""
        if self.process is not None:
            # PostgreSQL's fast shutdown: a killed one leaves a shared memory segment.
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10 if self.backend == "postgresql" else 0.1)
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def kill_and_restart(self) -> None:
        """Kill the server hard, as a power cut would, and start it again on the same data."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self._initialise = lambda: None  # type: ignore[method-assign]
        self.start()

    @contextlib.contextmanager
    def admin(self, database: str = ""):
        """An administrator's connection, each statement committed."""
        if database not in self._engines:
            self._engines[database] = sa.create_engine(
                self.url(database), isolation_level="AUTOCOMMIT", pool_pre_ping=True
            )
        with self._engines[database].connect() as connection:
            yield connection

    def run(self, text: str, database: str = "") -> list[tuple[object, ...]]:
        """Run one statement and return its rows."""
        with self.admin(database) as connection:
            result = connection.exec_driver_sql(text.replace("%", "%%"))
            return [tuple(row) for row in result] if result.returns_rows else []

    def url(self, database: str = "", user: str = "", driver: str = "") -> str:
        raise NotImplementedError

    def _initialise(self) -> None:
        raise NotImplementedError

    def _command(self) -> list[str]:
        raise NotImplementedError

    def create(self, database: str, recorded: str) -> None:
        """Create a database from a recorded schema, such as ``34-cell``."""
        raise NotImplementedError


class MariaDb(Server):
    """MariaDB."""

    backend = "mariadb"
    owner = "mysql"

    def url(self, database: str = "", user: str = "", driver: str = "mysql+pymysql") -> str:
        name = f"{user}:{PASSWORD}" if user else f"root:{PASSWORD}"
        return f"{driver}://{name}@127.0.0.1:{self.port}/{database}"

    def _initialise(self) -> None:
        install = program("mariadb-install-db")
        data = self.directory / "data"
        subprocess.run(
            [
                install,
                "--no-defaults",
                f"--datadir={data}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ],
            check=True,
            capture_output=True,
            **account(self.owner),
        )
        start = self.directory / "init.sql"
        start.write_text(
            f"CREATE OR REPLACE USER root@'127.0.0.1' IDENTIFIED BY '{PLAIN_PASSWORD}';\n"
            "GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n"
        )
        start.chmod(0o644)

    def _command(self) -> list[str]:
        return [
            program("mariadbd", "/usr/sbin/mariadbd"),
            "--no-defaults",
            f"--datadir={self.directory / 'data'}",
            # A server that starts deletes what it takes for its own leftovers there: never in a directory of others.
            f"--tmpdir={self.directory}",
            f"--socket={self.directory / 'socket'}",
            f"--pid-file={self.directory / 'pid'}",
            f"--init-file={self.directory / 'init.sql'}",
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            "--skip-log-bin",
            "--innodb-flush-log-at-trx-commit=1",
            "--innodb-buffer-pool-size=256M",
            "--skip-name-resolve",
        ]

    def create(self, database: str, recorded: str) -> None:
        self.run(f"CREATE DATABASE `{database}` CHARACTER SET utf8mb3")
        text = (SCHEMA / self.backend / f"{recorded}.sql").read_text()
        client = [program("mariadb"), "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-uroot", database]
        environment = {**os.environ, "MYSQL_PWD": PLAIN_PASSWORD}
        subprocess.run(client, input=text.encode(), check=True, env=environment)


class Postgres(Server):
    """PostgreSQL."""

    backend = "postgresql"
    owner = "postgres"

    def url(self, database: str = "", user: str = "", driver: str = "postgresql+psycopg") -> str:
        name = f"{user}:{PASSWORD}" if user else f"postgres:{PASSWORD}"
        return f"{driver}://{name}@127.0.0.1:{self.port}/{database or 'postgres'}"

    def _initialise(self) -> None:
        secret = self.directory / "password"
        secret.write_text(PLAIN_PASSWORD)
        secret.chmod(0o644)
        subprocess.run(
            [
                program("initdb", "/usr/lib/postgresql/*/bin/initdb"),
                f"--pgdata={self.directory / 'data'}",
                "--username=postgres",
                "--auth=scram-sha-256",
                f"--pwfile={secret}",
                "--encoding=UTF8",
                "--no-locale",
            ],
            check=True,
            capture_output=True,
            cwd="/",
            **account(self.owner),
        )

    def _command(self) -> list[str]:
        return [
            program("postgres", "/usr/lib/postgresql/*/bin/postgres"),
            "-D",
            str(self.directory / "data"),
            "-p",
            str(self.port),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            f"unix_socket_directories={self.directory}",
            "-c",
            "dynamic_shared_memory_type=mmap",  # a killed server leaves nothing outside its directory
        ]

    def create(self, database: str, recorded: str) -> None:
        self.run(f'CREATE DATABASE "{database}"')
        text = (SCHEMA / self.backend / f"{recorded}.sql").read_text()
        client = [program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port)]
        environment = {**os.environ, "PGPASSWORD": PLAIN_PASSWORD}
        subprocess.run(
            [*client, "-U", "postgres", database],
            input=text.encode(),
            check=True,
            env=environment,
            stdout=subprocess.DEVNULL,
        )


SERVERS = {"mariadb": MariaDb, "postgresql": Postgres}
