# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Guard snapshots and the blocklist: made once, seen afterwards, and removed wholly."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.facts import BlocklistEntry, RbdImage, RbdSnapshot
from ansible_collections.stackguard.nova.plugins.module_utils.systems import guard
from ansible_collections.stackguard.nova.plugins.module_utils.systems.rbd import CephError, GoneError

ONE = "8961cf04-0ee7-44b1-9ed3-a4b18e535683"
TWO = "0b2c6e0e-5b0c-4b0e-8d0e-5f0a6f0f7a11"


class Pool:
    """A pool in memory; ``broken`` images refuse, ``deaf`` ones say yes and do nothing."""

    via = "memory"

    def __init__(self, *names):
        self.snapshots = {name: [] for name in names}
        self.broken, self.deaf, self.unread = set(), set(), set()
        self.blocked, self.calls = [], []

    def names(self):
        return list(self.snapshots)

    def images(self, names):
        return [
            RbdImage(
                name,
                id=f"id-{name}",
                snapshots=None if name in self.unread else [RbdSnapshot(entry) for entry in self.snapshots[name]],
            )
            for name in names
            if name in self.snapshots
        ]

    def _refuse(self, image):
        if image in self.broken:
            raise CephError("permission denied")
        if image not in self.snapshots:
            raise GoneError("gone")

    def create_snapshot(self, image, snapshot):
        self._refuse(image)
        self.calls.append(("create", image))
        if snapshot in self.snapshots[image]:
            return False
        if image not in self.deaf:
            self.snapshots[image].append(snapshot)
        return True

    def remove_snapshot(self, image, snapshot):
        self._refuse(image)
        self.calls.append(("remove", image))
        if snapshot not in self.snapshots[image]:
            return False
        self.snapshots[image].remove(snapshot)
        return True

    def blocklist(self):
        return [BlocklistEntry(entry) for entry in self.blocked]

    def block(self, address, seconds):
        assert seconds > 86400 * 365
        self.calls.append(("block", address))
        if address not in self.deaf:
            self.blocked.append(address)

    def unblock(self, address):
        if address not in self.deaf:
            self.blocked.remove(address)


def pool():
    return Pool(f"{ONE}_disk", f"{ONE}_disk.swap", f"{TWO}_disk", "backup")


def test_every_image_of_the_servers_is_guarded_once():
    there = pool()
    done = guard.guard(there, "op1", [ONE])
    assert done.snapshot == "stackguard-op1"
    assert [(entry.image, entry.id, entry.changed) for entry in done.images] == [
        (f"{ONE}_disk", f"id-{ONE}_disk", True),
        (f"{ONE}_disk.swap", f"id-{ONE}_disk.swap", True),
    ]
    assert there.snapshots[f"{TWO}_disk"] == []
    again = guard.guard(there, "op1", [ONE])
    assert [entry.changed for entry in again.images] == [False, False]
    assert len(there.calls) == 2


def test_check_mode_makes_nothing():
    there = pool()
    assert all(entry.changed for entry in guard.guard(there, "op1", [ONE], check=True).images)
    assert there.calls == []


def test_a_server_without_images_is_told():
    assert guard.guard(pool(), "op1", [ONE, "5f0a6f0f-0000-4b0e-8d0e-0b2c6e0e5b0c"]).without == [
        "5f0a6f0f-0000-4b0e-8d0e-0b2c6e0e5b0c"
    ]


@pytest.mark.parametrize("how", ["broken", "deaf", "unread"])
def test_an_image_without_its_guard_is_an_error_and_the_others_are_guarded(how):
    there = pool()
    getattr(there, how).add(f"{ONE}_disk")
    with pytest.raises(CephError, match=f"no guard on {ONE}_disk:"):
        guard.guard(there, "op1", [ONE, TWO])
    assert there.snapshots[f"{TWO}_disk"] == ["stackguard-op1"]


def test_guards_go_and_nothing_else_does():
    there = pool()
    there.snapshots[f"{ONE}_disk"] = ["stackguard-op1", "stackguard-op2", "mine"]
    there.snapshots[f"{TWO}_disk"] = ["stackguard-op1"]
    done = guard.unguard(there, "op1", [ONE])
    assert [entry.image for entry in done.images] == [f"{ONE}_disk"]
    assert there.snapshots[f"{ONE}_disk"] == ["stackguard-op2", "mine"]
    assert there.snapshots[f"{TWO}_disk"] == ["stackguard-op1"]
    everywhere = guard.unguard(there, "op1", [])
    assert [entry.image for entry in everywhere.images] == [f"{TWO}_disk"]
    assert guard.unguard(there, "op1", []).images == []


def test_one_guard_that_stays_does_not_keep_the_others():
    there = pool()
    for name in (f"{ONE}_disk", f"{TWO}_disk"):
        there.snapshots[name] = ["stackguard-op1"]
    there.broken.add(f"{ONE}_disk" if ONE < TWO else f"{TWO}_disk")
    with pytest.raises(CephError, match="still on"):
        guard.unguard(there, "op1", [])
    assert sum(bool(entries) for entries in there.snapshots.values()) == 1


def test_an_image_whose_snapshots_are_unread_is_tried():
    there = pool()
    there.snapshots[f"{ONE}_disk"] = ["stackguard-op1"]
    there.unread.add(f"{ONE}_disk")
    guard.unguard(there, "op1", [ONE])
    assert there.snapshots[f"{ONE}_disk"] == []


def test_addresses_are_blocked_once_and_seen():
    there = pool()
    done = guard.block(there, ["192.0.2.11", "2001:db8::1"], ["192.0.2.12"])
    assert done.entries == ["192.0.2.11:0/0", "[2001:db8::1]:0/0"]
    assert done.changed == done.entries
    assert guard.block(there, ["192.0.2.11"], []).changed == []
    assert guard.block(pool(), ["192.0.2.11"], [], check=True).changed == ["192.0.2.11:0/0"]


def test_an_entry_that_does_not_show_is_an_error():
    there = pool()
    there.deaf.add("192.0.2.11:0/0")
    with pytest.raises(CephError, match="not on the OSD blocklist"):
        guard.block(there, ["192.0.2.11"], [])
    there.blocked = ["192.0.2.11:0/0"]
    with pytest.raises(CephError, match="still on the OSD blocklist"):
        guard.unblock(there, ["192.0.2.11"])


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "::1", "0.0.0.0", "fe80::1", "compute1", "192.0.2.0/24", "192.0.2.12"]
)
def test_what_must_not_be_blocked_is_refused_before_anything_is(address):
    there = pool()
    with pytest.raises(CephError):
        guard.block(there, ["192.0.2.11", address], ["192.0.2.12"])
    assert there.blocked == []


def test_addresses_are_let_in_again():
    there = pool()
    there.blocked = ["192.0.2.11:0/0", "192.0.2.13:0/0"]
    assert guard.unblock(there, ["192.0.2.11", "192.0.2.14"]).changed == ["192.0.2.11:0/0"]
    assert there.blocked == ["192.0.2.13:0/0"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        # Recorded from Ceph 16, with a user of profile rbd.
        ("osd blocklist: error -13: access denied", "let an administrator do ceph osd blocklist rm 192.0.2.11:0/0"),
        ("ceph osd blocklist rm: exit status 13: Error EACCES: access denied", "allow command"),
        ("osd blocklist: no answer within 30 s", "no answer within 30 s$"),
    ],
)
def test_who_may_not_let_in_again_is_told_what_to_do(monkeypatch, said, told):
    there = pool()
    there.blocked = ["192.0.2.11:0/0"]

    def refuse(_address):
        raise CephError(said)

    monkeypatch.setattr(there, "unblock", refuse)
    with pytest.raises(CephError, match=told):
        guard.unblock(there, ["192.0.2.11"])
