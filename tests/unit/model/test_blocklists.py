# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Entries of the OSD blocklist: whole addresses, single clients, ranges."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import blocklists
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import BlocklistEntry


@pytest.mark.parametrize(
    ("entry", "address"),
    [
        ("192.0.2.1:0/0", "192.0.2.1"),
        ("v1:192.0.2.1:0/0", "192.0.2.1"),
        ("[2001:db8::1]:0/0", "2001:db8::1"),
        ("[2001:DB8:0::1]:0/0", "2001:db8::1"),
        ("[::ffff:192.0.2.1]:0/0", "192.0.2.1"),
        ("192.0.2.1:0/77", None),
        ("192.0.2.1:6800/0", None),
        ("cidr:192.0.2.1:0/0", None),
        ("somewhere:0/0", None),
    ],
)
def test_only_an_entry_for_all_clients_is_one_of_a_whole_address(entry, address):
    assert blocklists.whole(BlocklistEntry(entry)) == address


def covers(entry, address, is_range=True):
    return blocklists.covers(BlocklistEntry(entry, range=is_range), address)


def test_a_range_covers_its_addresses_and_no_other():
    assert covers("192.0.2.0:0/24", "192.0.2.7")
    assert covers("192.0.2.0/24", "::ffff:192.0.2.7")
    assert covers("[2001:db8::]:0/64", "2001:db8::7")
    assert covers("cidr:192.0.2.0:0/24", "192.0.2.7", is_range=False)
    assert not covers("192.0.2.0:0/24", "198.51.100.7")
    assert not covers("192.0.2.0:0/24", "2001:db8::7")
    # One client, with a nonce that looks like bits.
    assert not covers("192.0.2.0:0/24", "192.0.2.7", is_range=False)
    assert not covers("192.0.2.7:0/0", "somewhere", is_range=False)
    assert not covers("somewhere:0/99", "192.0.2.7")
    assert blocklists.whole(BlocklistEntry("192.0.2.7:0/32", range=True)) == "192.0.2.7"
    assert blocklists.whole(BlocklistEntry("192.0.2.0:0/24", range=True)) is None


def test_an_entry_is_written_and_removed_as_ceph_takes_it():
    assert blocklists.entry_of("192.0.2.1") == "192.0.2.1:0/0"
    assert blocklists.entry_of("2001:DB8::1") == "[2001:db8::1]:0/0"
    assert blocklists.whole(BlocklistEntry(blocklists.entry_of("::ffff:192.0.2.1"))) == "192.0.2.1"
    assert blocklists.removal(BlocklistEntry("v1:192.0.2.1:0/0")) == "ceph osd blocklist rm 192.0.2.1:0/0"
    entry = BlocklistEntry("192.0.2.0:0/24", range=True)
    assert blocklists.removal(entry, "blacklist") == "ceph osd blacklist range rm 192.0.2.0/24"
