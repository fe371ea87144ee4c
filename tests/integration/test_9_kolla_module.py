# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rename in place whose rename_recreate_command runs kolla-ansible's own, unmodified module.

The module creates the containers, before the rename and in it. It compares them with what its roles ask for, as each
`kolla-ansible deploy` does: no difference before, and none after, or the next deploy would create them again.
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
    guests,
    lab,
    name_in,
    renamed,
    servers,
)
from labkit.kolla_module import KollaModule

__all__ = ["books", "lab", "servers"]

pytestmark = pytest.mark.matrix("kolla-module", l2="ovs", deploy="kolla:compute1")


@pytest.fixture(scope="module")
def kolla(lab, tmp_path_factory):
    return KollaModule(lab, OLD, tmp_path_factory.mktemp("kolla"))


def test_the_module_finds_no_difference_in_what_it_has_created(lab, servers, kolla):
    before = guests(lab)
    kolla.run("recreate_or_restart_container", *renamed(lab))
    assert kolla.differences(*renamed(lab)) == {}
    state.assert_same(before, guests(lab), "guests")
    assert_named(lab, OLD)


def test_a_rename_by_the_module_leaves_no_difference(lab, servers, books, kolla):
    before, identity = guests(lab), state.identity(lab, OLD)
    words = {"rename_recreate_command": kolla.command, "rename_recreate_host": "localhost"}
    result = books.rename(OLD, NEW, variables=words, timeout=PATIENCE).ok()
    print(f"\nrename, containers by kolla-ansible's module: {result.seconds:.1f} s")
    state.assert_same(before, guests(lab), "guests")
    state.assert_same(identity, state.identity(lab, NEW), "records")
    assert_named(lab, NEW)
    assert kolla.differences(*renamed(lab)) == {}
    # A deploy that finds no difference restarts a container whose configuration is new, and creates none.
    names = {container: name_in(lab, container) for container in renamed(lab)}
    kolla.run("recreate_or_restart_container", *renamed(lab))
    assert {container: name_in(lab, container) for container in renamed(lab)} == names == dict.fromkeys(names, NEW)


def test_a_second_rename_by_the_module_goes_back(lab, servers, books, kolla):
    before = guests(lab)
    words = {"rename_recreate_command": kolla.command, "rename_recreate_host": "localhost"}
    books.rename(NEW, OLD, variables=words, timeout=PATIENCE).ok()
    state.assert_same(before, guests(lab), "guests")
    assert_named(lab, OLD)
    assert kolla.differences(*renamed(lab)) == {}
