# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What caps let a Ceph user do to the OSD blocklist: nothing that is not certain."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.ceph_caps import blocklisting

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
