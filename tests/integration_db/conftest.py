# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real MariaDB and PostgreSQL with Nova's real schemas. Missing servers fail these tests; they do not skip them."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = ROOT / ".build" / "dev" / "ansible_collections" / "stackguard" / "nova"
if not LINK.is_symlink() or LINK.resolve() != ROOT:
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.unlink(missing_ok=True)
    LINK.symlink_to(ROOT, target_is_directory=True)
sys.path.insert(0, str(ROOT / ".build" / "dev"))
sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, str(ROOT / "tests"))

import servers  # noqa: E402
from labkit.matrix import pytest_collection_modifyitems  # noqa: E402, F401
from world import World  # noqa: E402

_running: dict[str, servers.Server] = {}
_worlds: dict[tuple[str, str], World] = {}


def _server(backend: str) -> servers.Server:
    if backend not in _running:
        server = servers.SERVERS[backend]()
        _running[backend] = server
        server.start()
    return _running[backend]


def _world(server: servers.Server, release: str) -> World:
    """Databases are made once, and filled anew for each test."""
    key = (server.backend, release)
    if key not in _worlds:
        _worlds[key] = World(server, release)
    return _worlds[key].empty().populated()


def pytest_sessionfinish() -> None:
    for server in _running.values():
        server.stop()


@pytest.fixture(params=sorted(servers.SERVERS))
def server(request: pytest.FixtureRequest) -> servers.Server:
    """A running private server, of each kind."""
    return _server(request.param)


@pytest.fixture
def own_server(request: pytest.FixtureRequest, server: servers.Server):
    """A server that the test may kill."""
    mine = type(server)()
    request.addfinalizer(mine.stop)
    mine.start()
    return mine


@pytest.fixture
def world(server: servers.Server) -> World:
    """Empty databases of Nova 34 and neutron, with two hosts and three instances in them."""
    return _world(server, "34")


@pytest.fixture
def maria() -> World:
    """The same on MariaDB alone, for what is not about databases."""
    return _world(_server("mariadb"), "34")


@pytest.fixture(params=["27", "29", "34"])
def any_release(request: pytest.FixtureRequest, server: servers.Server) -> World:
    """The same in the schemas of several releases."""
    return _world(server, request.param)
