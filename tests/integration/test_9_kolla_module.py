# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rename in place whose rename_recreate_command runs kolla-ansible's own, unmodified module.

The module creates the containers, before the rename and in it. It compares them with what its roles ask for, as each
`kolla-ansible deploy` does: what it finds after the rename is what it found before, or the next deploy would create
them again. Under docker that is nothing.
"""

from __future__ import annotations

import pytest
from labkit import state
from labkit.guests import NEW
from labkit.kolla_fixtures import (
    OLD,
    PATIENCE,
    assert_named,
    books,
    engine,
    guests,
    lab,
    renamed,
    servers,
)
from labkit.kolla_module import KollaModule

__all__ = ["books", "lab", "servers"]

pytestmark = pytest.mark.matrix("kolla-module", l2="ovs", deploy="kolla:compute1")


#: podman 4.3 says "shareable" of every container, also of nova_compute, which has the host's IPC namespace.
OF_PODMAN = {"nova_compute": [{"name": "ipc_mode", "current": "shareable", "desired": "host"}]}


@pytest.fixture
def always(lab):
    """The differences that the module finds in what it has created a moment ago."""
    return OF_PODMAN if engine(lab) == "podman" else {}


@pytest.fixture(scope="module")
def kolla(lab, tmp_path_factory):
    return KollaModule(lab, OLD, tmp_path_factory.mktemp("kolla"))


def test_what_the_module_finds_in_what_it_has_created(lab, servers, kolla, always):
    before = guests(lab)
    kolla.run("recreate_or_restart_container", *renamed(lab))
    assert kolla.differences(*renamed(lab)) == always
    state.assert_same(before, guests(lab), "guests")
    assert_named(lab, OLD)


def test_a_rename_by_the_module_leaves_nothing_more_to_create(lab, servers, books, kolla, always):
    before, identity = guests(lab), state.identity(lab, OLD)
    words = {"rename_recreate_command": kolla.command, "rename_recreate_host": "localhost"}
    result = books.rename(OLD, NEW, variables=words, timeout=PATIENCE).ok()
    print(f"\nrename, containers by kolla-ansible's module: {result.seconds:.1f} s")
    state.assert_same(before, guests(lab), "guests")
    state.assert_same(identity, state.identity(lab, NEW), "records")
    assert_named(lab, NEW)
    assert kolla.differences(*renamed(lab)) == always


def test_a_second_rename_by_the_module_goes_back(lab, servers, books, kolla, always):
    before = guests(lab)
    words = {"rename_recreate_command": kolla.command, "rename_recreate_host": "localhost"}
    books.rename(NEW, OLD, variables=words, timeout=PATIENCE).ok()
    state.assert_same(before, guests(lab), "guests")
    assert_named(lab, OLD)
    assert kolla.differences(*renamed(lab)) == always
