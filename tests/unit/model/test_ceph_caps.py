# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What caps let a Ceph user do to the OSD blocklist: nothing that is not certain."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.ceph_caps import blocklisting, reads, writes_images

RM = 'allow command "osd blocklist" with blocklistop=rm'


@pytest.mark.parametrize(
    ("mon", "add", "remove"),
    [
        ("allow *", True, True),
        ("allow all", True, True),
        ("allow rw", True, True),
        ("allow rwx", True, True),
        ("allow r, allow w", True, True),
        ("allow service osd rw", True, True),
        ("profile rbd", True, False),
        ("allow profile rbd", True, False),
        ("profile simple-rados-client-with-blocklist", True, False),
        (f"profile rbd, {RM}", True, True),
        (f"profile rbd; {RM}", True, True),
        (f"profile rbd, {RM.replace('=rm', '=add')}", True, False),
        ('profile rbd, allow command "osd blacklist" with blacklistop=rm', True, True),
        ("allow command 'osd blocklist'", True, True),
        (f'profile rbd, {RM}, allow command "mgr dump", allow command "fs dump"', True, True),
        ("allow r", False, False),
        ("allow w", False, False),
        ("allow r, allow service mds rw", False, False),
        ("profile simple-rados-client", False, False),
        ('allow r, allow command "osd blocklist ls"', False, False),
        ("", False, False),
    ],
)
def test_caps_that_are_understood(mon, add, remove):
    assert blocklisting(mon) == (add, remove)


@pytest.mark.parametrize(
    ("mon", "add", "remove"),
    [
        ("allow * network 192.0.2.0/24", None, None),
        ("profile unheard-of", None, None),
        ("profile rbd, profile unheard-of", True, None),
        ('profile rbd, allow command "osd blocklist" with blocklistop=rm addr regex "^192"', True, None),
        ("deny everything", None, None),
    ],
)
def test_what_is_not_understood_neither_allows_nor_forbids(mon, add, remove):
    assert blocklisting(mon) == (add, remove)


@pytest.mark.parametrize(
    ("osd", "may"),
    [
        ("profile rbd", True),
        ("profile rbd pool=vms", True),
        ("profile rbd pool=volumes, profile rbd pool=vms, profile rbd-read-only pool=images", True),
        ("allow class-read object_prefix rbd_children, allow rwx pool=vms", True),
        ("allow *", True),
        ("allow rwx", True),
        ("allow rw pool=vms, allow x pool=vms", True),
        ("profile rbd pool=volumes", False),
        ("profile rbd-read-only pool=vms", False),
        ("profile rbd-read-only", False),
        # librbd calls classes.
        ("allow rw pool=vms", False),
        ("allow r", False),
        ("", False),
        ("profile rbd pool=vms namespace=other", None),
        ("allow rwx tag rbd data=vms", None),
        ("profile unheard-of", None),
    ],
)
def test_who_may_make_a_snapshot_in_a_pool(osd, may):
    assert writes_images(osd, "vms") is may


def test_of_an_unknown_pool_only_caps_for_all_pools_are_certain():
    assert (writes_images("profile rbd", None), writes_images("profile rbd pool=vms", None)) == (True, None)
    # Whichever pool it is.
    assert writes_images("profile rbd-read-only pool=vms, allow r", None) is False


@pytest.mark.parametrize(
    ("mon", "mgr", "fs"),
    [
        ("allow *", True, True),
        ("allow r", True, True),
        ("profile rbd", False, False),
        ('profile rbd, allow command "mgr dump"', True, False),
        ('profile rbd, allow command "mgr dump", allow command "fs dump"', True, True),
        ("profile rbd, allow service mgr r", True, False),
        ("profile rbd, allow service mds rw", False, True),
        ("profile unheard-of", None, None),
    ],
)
def test_who_may_read_where_daemons_are(mon, mgr, fs):
    assert (reads(mon, "mgr dump"), reads(mon, "fs dump")) == (mgr, fs)
