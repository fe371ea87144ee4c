# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Guard snapshots and the blocklist: made once, seen afterwards, and removed wholly. Nothing succeeds by absence."""

from __future__ import annotations

import contextlib
import datetime

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import BlocklistEntry, RbdImage, RbdSnapshot
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import guard_snapshots, rbd
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph.rbd import CephError, GoneError
from ansible_collections.stackguard.nova.plugins.modules import rbd_blocklist, rbd_guard
from ansible_collections.stackguard.nova.tests.unit.modules.running import run
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

ONE = "8961cf04-0ee7-44b1-9ed3-a4b18e535683"
TWO = "0b2c6e0e-5b0c-4b0e-8d0e-5f0a6f0f7a11"


class Pool:
    """A pool in memory; ``broken`` images refuse, ``deaf`` ones say yes and do nothing."""

    via = "memory"

    def __init__(self, *names):
        self.snapshots = {name: [] for name in names}
        self.broken, self.deaf, self.unread = set(), set(), set()
        self.blocked, self.calls, self.ids, self.lasts = [], [], {}, {}
        #: Ranges on the list; whether a second entry of an address prolongs the first one.
        self.ranges, self.prolongs = [], False
        self.answers = {
            "mon dump": {"mons": [{"public_addrs": {"addrvec": [{"type": "v2", "addr": "198.51.100.1:3300"}]}}]},
            "osd dump": {"osds": [{"cluster_addrs": {"addrvec": [{"type": "v1", "addr": "[2001:db8:9::2]:6801"}]}}]},
            "mgr dump": {"active_addr": "198.51.100.3:6801/1", "active_clients": [], "standbys": []},
            "fs dump": {"filesystems": [], "standbys": []},
            "status": {
                "fsmap": {"by_rank": [], "up:standby": 0},
                "servicemap": {"services": {"rgw": {"daemons": {"1": {"addr": "198.51.100.5:0/7"}}}}},
            },
        }

    def fsid(self):
        self.calls.append(("fsid", ""))
        return "c1"

    def ask(self, question):
        if isinstance(self.answers[question], Exception):
            raise self.answers[question]
        return self.answers[question]

    def names(self):
        return list(self.snapshots)

    def images(self, names):
        return [
            RbdImage(
                name,
                id=self.ids.get(name, f"id-{name}"),
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
        self.calls.append(("ls", ""))
        entries = [BlocklistEntry(entry, self.lasts.get(entry, far())) for entry in self.blocked]
        return entries + [BlocklistEntry(entry, self.lasts.get(entry, far()), True) for entry in self.ranges]

    def block(self, address, seconds, as_range=False):
        assert seconds > 86400 * 365
        self.calls.append(("block", address))
        if address in self.deaf:
            return
        if as_range:
            self.ranges.append(address)
        elif address not in self.blocked:
            self.blocked.append(address)
        elif self.prolongs:
            del self.lasts[address]

    def unblock(self, address, as_range=False):
        if address not in self.deaf:
            (self.ranges if as_range else self.blocked).remove(address)


def far(seconds=guard_snapshots.BLOCK_SECONDS):
    """A time as Ceph 16 writes it."""
    then = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return then.strftime("%Y-%m-%dT%H:%M:%S.%f+0000")


def orders(there):
    """What was asked for that changes something."""
    return [call for call in there.calls if call[0] not in ("ls", "fsid")]


def pool():
    return Pool(f"{ONE}_disk", f"{ONE}_disk.swap", f"{TWO}_disk", "backup")


def test_every_image_of_the_servers_is_guarded_once():
    there = pool()
    done = guard_snapshots.guard(there, "op1", [ONE])
    assert done.snapshot == "stackguard-op1"
    assert [(entry.image, entry.id, entry.changed) for entry in done.images] == [
        (f"{ONE}_disk", f"id-{ONE}_disk", True),
        (f"{ONE}_disk.swap", f"id-{ONE}_disk.swap", True),
    ]
    assert there.snapshots[f"{TWO}_disk"] == []
    again = guard_snapshots.guard(there, "op1", [ONE])
    assert [entry.changed for entry in again.images] == [False, False]
    assert len(there.calls) == 2


def test_check_mode_makes_nothing():
    there = pool()
    assert all(entry.changed for entry in guard_snapshots.guard(there, "op1", [ONE], check=True).images)
    assert there.calls == []


def test_a_server_without_images_is_told():
    assert guard_snapshots.guard(pool(), "op1", [ONE, "5f0a6f0f-0000-4b0e-8d0e-0b2c6e0e5b0c"]).without == [
        "5f0a6f0f-0000-4b0e-8d0e-0b2c6e0e5b0c"
    ]


@pytest.mark.parametrize("how", ["broken", "deaf", "unread"])
def test_an_image_without_its_guard_is_an_error_and_the_others_are_guarded(how):
    there = pool()
    getattr(there, how).add(f"{ONE}_disk")
    with pytest.raises(CephError, match=f"{ONE}", check=problem_is("no-guard-snapshot")):
        guard_snapshots.guard(there, "op1", [ONE, TWO])
    assert there.snapshots[f"{TWO}_disk"] == ["stackguard-op1"]


def test_guards_go_and_nothing_else_does():
    there = pool()
    there.snapshots[f"{ONE}_disk"] = ["stackguard-op1", "stackguard-op2", "mine"]
    there.snapshots[f"{TWO}_disk"] = ["stackguard-op1"]
    done = guard_snapshots.unguard(there, "op1", [ONE])
    assert [entry.image for entry in done.images] == [f"{ONE}_disk"]
    assert there.snapshots[f"{ONE}_disk"] == ["stackguard-op2", "mine"]
    assert there.snapshots[f"{TWO}_disk"] == ["stackguard-op1"]
    everywhere = guard_snapshots.unguard(there, "op1", [])
    assert [entry.image for entry in everywhere.images] == [f"{TWO}_disk"]
    assert guard_snapshots.unguard(there, "op1", []).images == []


def test_one_guard_that_stays_does_not_keep_the_others():
    there = pool()
    for name in (f"{ONE}_disk", f"{TWO}_disk"):
        there.snapshots[name] = ["stackguard-op1"]
    there.broken.add(f"{ONE}_disk" if ONE < TWO else f"{TWO}_disk")
    with pytest.raises(CephError, check=problem_is("guard-snapshot-still")):
        guard_snapshots.unguard(there, "op1", [])
    assert sum(bool(entries) for entries in there.snapshots.values()) == 1


def test_an_image_whose_snapshots_are_unread_is_tried():
    there = pool()
    there.snapshots[f"{ONE}_disk"] = ["stackguard-op1"]
    there.unread.add(f"{ONE}_disk")
    guard_snapshots.unguard(there, "op1", [ONE])
    assert there.snapshots[f"{ONE}_disk"] == []


def test_addresses_are_blocked_once_and_seen():
    there = pool()
    done = guard_snapshots.block(there, ["192.0.2.11", "2001:db8::1"], ["192.0.2.12"])
    assert [entry.entry for entry in done.entries] == ["192.0.2.11:0/0", "[2001:db8::1]:0/0"]
    assert done.changed == [entry.entry for entry in done.entries]
    assert done.listed == ["192.0.2.11", "2001:db8::1"]
    assert guard_snapshots.block(there, ["192.0.2.11"], []).changed == []
    assert guard_snapshots.block(pool(), ["192.0.2.11"], [], check=True).changed == ["192.0.2.11:0/0"]


def test_an_entry_that_does_not_show_is_an_error():
    there = pool()
    there.deaf.add("192.0.2.11:0/0")
    with pytest.raises(CephError, check=problem_is("not-listed")):
        guard_snapshots.block(there, ["192.0.2.11"], [])
    assert there.calls[-1] == ("ls", "")
    there.blocked = ["192.0.2.11:0/0"]
    with pytest.raises(CephError, check=problem_is("still-listed")):
        guard_snapshots.unblock(there, ["192.0.2.11"])


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "::1", "0.0.0.0", "fe80::1", "compute1", "192.0.2.0/24", "192.0.2.12", "::ffff:192.0.2.12"),
        *("::ffff:127.0.0.1", "169.254.1.1", "224.0.0.1", "255.255.255.255", "192.0.2.11:0/0", ""),
    ],
)
def test_what_must_not_be_blocked_is_refused_before_anything_is(address):
    there = pool()
    with pytest.raises(CephError):
        guard_snapshots.block(there, ["192.0.2.11", address], ["192.0.2.12"])
    assert there.blocked == []


def test_addresses_are_let_in_again():
    there = pool()
    there.blocked = ["192.0.2.11:0/0", "192.0.2.13:0/0"]
    assert guard_snapshots.unblock(there, ["192.0.2.11", "192.0.2.14"]).changed == ["192.0.2.11:0/0"]
    assert there.blocked == ["192.0.2.13:0/0"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        # Recorded from Ceph 16, with a user of profile rbd.
        ("osd blocklist: error -13: access denied", "have an administrator run ceph osd blocklist rm 192.0.2.11:0/0"),
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
        guard_snapshots.unblock(there, ["192.0.2.11"])


# --- nothing succeeds by absence --------------------------------------------------------------------------------


def test_a_pool_that_lacks_an_image_of_the_plan_is_refused_before_anything_is_guarded():
    """Seen in the review: ``guard.guard`` on a pool without the images succeeded, ``without`` both servers."""
    there = Pool("backup")
    with pytest.raises(CephError, match=f"{ONE}", check=problem_is("no-guard-unexpected")):
        guard_snapshots.guard(there, "op1", [ONE], {f"{ONE}_disk": f"id-{ONE}_disk"})
    there = pool()
    with pytest.raises(CephError, check=problem_is("no-guard-unexpected")):
        guard_snapshots.guard(there, "op1", [ONE], {f"{ONE}_disk": f"id-{ONE}_disk", "missing_disk": "x"})
    assert there.calls == []


@pytest.mark.parametrize("identity", ["another", "", None])
def test_an_image_that_was_made_again_under_its_name_is_refused_before_anything_is_guarded(identity):
    there = pool()
    with pytest.raises(CephError, match=f"{ONE}", check=problem_is("no-guard-unexpected")):
        guard_snapshots.guard(there, "op1", [ONE], {f"{ONE}_disk": identity})
    there.ids[f"{ONE}_disk"] = None
    with pytest.raises(CephError, check=problem_is("no-guard-unexpected")):
        guard_snapshots.guard(there, "op1", [ONE], {f"{ONE}_disk": f"id-{ONE}_disk"})
    assert there.calls == []


def test_the_very_images_of_the_plan_are_guarded_and_read_back():
    there = pool()
    done = guard_snapshots.guard(there, "op1", [], {f"{ONE}_disk": f"id-{ONE}_disk"})
    assert [(entry.image, entry.guarded, entry.changed) for entry in done.images] == [(f"{ONE}_disk", True, True)]
    assert orders(there) == [("create", f"{ONE}_disk")]
    checked = guard_snapshots.guard(pool(), "op1", [], {f"{ONE}_disk": f"id-{ONE}_disk"}, check=True)
    assert [(entry.guarded, entry.changed) for entry in checked.images] == [(False, True)]


def test_an_image_that_is_replaced_while_guards_are_made_is_no_success(monkeypatch):
    there = pool()
    make = there.create_snapshot

    def replaced(image, snapshot):
        there.ids[image] = "new"
        return make(image, snapshot)

    monkeypatch.setattr(there, "create_snapshot", replaced)
    with pytest.raises(CephError, check=problem_is("no-guard-snapshot")):
        guard_snapshots.guard(there, "op1", [TWO], {f"{TWO}_disk": f"id-{TWO}_disk"})


def test_an_image_that_is_deleted_while_guards_are_made_is_no_success(monkeypatch):
    there = pool()
    monkeypatch.setattr(there, "create_snapshot", lambda image, _snapshot: there.snapshots.pop(image))
    with pytest.raises(CephError, match=f"{TWO}", check=problem_is("no-guard-snapshot")):
        guard_snapshots.guard(there, "op1", [TWO])


def test_guards_of_nothing_are_refused():
    there = pool()
    with pytest.raises(CephError, check=problem_is("options-servers-images")):
        guard_snapshots.guard(there, "op1", [])
    assert there.calls == []


def test_an_image_that_is_gone_or_replaced_is_told_and_not_called_clean():
    there = pool()
    there.snapshots[f"{ONE}_disk"] = ["stackguard-op1"]
    there.ids[f"{TWO}_disk"] = "new"
    named = {f"{ONE}_disk": f"id-{ONE}_disk", f"{TWO}_disk": f"id-{TWO}_disk", "lost_disk": "id-lost"}
    done = guard_snapshots.unguard(there, "op1", [], named)
    assert (done.gone, done.replaced) == (["lost_disk"], [f"{TWO}_disk"])
    assert {entry.image: (entry.changed, entry.guarded) for entry in done.images} == {
        f"{ONE}_disk": (True, False),
        f"{TWO}_disk": (False, False),
    }
    clean = guard_snapshots.unguard(there, "op1", [], {f"{ONE}_disk": f"id-{ONE}_disk"})
    assert (clean.gone, clean.replaced, [entry.changed for entry in clean.images]) == ([], [], [False])


def test_a_guard_that_is_there_after_it_was_removed_is_an_error(monkeypatch):
    there = pool()
    there.snapshots[f"{ONE}_disk"] = ["stackguard-op1"]
    monkeypatch.setattr(there, "remove_snapshot", lambda _image, _snapshot: True)
    with pytest.raises(CephError, check=problem_is("guard-snapshot-still")):
        guard_snapshots.unguard(there, "op1", [ONE])


# --- the blocklist ----------------------------------------------------------------------------------------------


def test_a_fence_of_no_address_is_refused_before_ceph_is_asked():
    """Seen in the review: ``rbd_blocklist addresses=[]`` returned ok without a single call to Ceph, as proof."""
    there = pool()
    for call in (
        lambda: guard_snapshots.block(there, [], ["192.0.2.9"]),
        lambda: guard_snapshots.unblock(there, []),
        lambda: guard_snapshots.listed(there, []),
    ):
        with pytest.raises(CephError, check=problem_is("no-addresses")):
            call()
    assert there.calls == []


def test_a_fence_that_is_there_already_is_read_back_all_the_same():
    there = pool()
    there.blocked = ["192.0.2.11:0/0"]
    done = guard_snapshots.block(there, ["192.0.2.11"], [])
    assert (done.listed, done.changed) == (["192.0.2.11"], [])
    assert there.calls[-2:] == [("ls", ""), ("ls", "")]


@pytest.mark.parametrize("address", ["198.51.100.1", "2001:db8:9::2", "198.51.100.3", "198.51.100.5"])
def test_a_monitor_manager_osd_or_gateway_is_never_put_on_the_blocklist(address):
    """Seen in the review: to be blocked ``198.51.100.250: watcher of ...`` next to the dead host, for five years."""
    there = pool()
    with pytest.raises(CephError, match=f"{address}", check=problem_is("of-the-cluster")):
        guard_snapshots.block(there, ["192.0.2.11", address], [])
    assert orders(there) == []


def test_a_fence_is_refused_where_the_clusters_own_addresses_cannot_be_read():
    there = pool()
    there.answers["mgr dump"] = CephError("mgr dump: error -13: access denied")
    with pytest.raises(CephError, check=problem_is("unread-infrastructure")) as refused:
        guard_snapshots.block(there, ["192.0.2.11"], [])
    assert "ceph auth caps" in str(refused.value)
    assert orders(there) == []


def test_managers_that_the_ceph_user_may_not_read_can_be_named():
    there = pool()
    there.answers["mgr dump"] = there.answers["fs dump"] = CephError("error -13: access denied")
    with pytest.raises(CephError, match=r"198\.51\.100\.3", check=problem_is("of-the-cluster")):
        guard_snapshots.block(there, ["198.51.100.3"], [], infrastructure=["198.51.100.3"])
    assert guard_snapshots.block(there, ["192.0.2.11"], [], infrastructure=["198.51.100.3"]).listed == ["192.0.2.11"]


def test_addresses_that_are_never_listed_say_nothing_of_managers():
    """The controller's own addresses were taken for the statement that there are no other managers and MDS."""
    there = pool()
    there.answers["mgr dump"] = there.answers["fs dump"] = CephError("error -13: access denied")
    with pytest.raises(CephError, check=problem_is("unread-infrastructure")):
        guard_snapshots.block(there, ["192.0.2.11"], [], never=["203.0.113.200"])
    with pytest.raises(CephError, match=r"192\.0\.2\.11", check=problem_is("no-address")):
        guard_snapshots.block(pool(), ["192.0.2.11"], [], never=["::ffff:192.0.2.11"])
    assert orders(there) == []
    assert guard_snapshots.block(pool(), ["192.0.2.11"], [], never=["203.0.113.200"]).listed == ["192.0.2.11"]


def test_an_address_that_is_known_to_be_the_hosts_is_listed_though_managers_are_unread():
    there = pool()
    there.answers["mgr dump"] = there.answers["fs dump"] = CephError("error -13: access denied")
    for known in (["192.0.2.12"], []):
        with pytest.raises(CephError, check=problem_is("unread-infrastructure")):
            guard_snapshots.block(there, ["192.0.2.11", "192.0.2.12"], [], host_addresses=known)
    assert orders(there) == []
    assert guard_snapshots.block(there, ["192.0.2.11"], [], host_addresses=["192.0.2.11"]).listed == ["192.0.2.11"]
    # What can be read is refused all the same, and monitors and OSDs must be read.
    there.answers["osd dump"] = CephError("timed out")
    with pytest.raises(CephError, match="infrastructure osd dump: timed out"):
        guard_snapshots.block(there, ["192.0.2.11"], [], host_addresses=["192.0.2.11"])


def test_monitors_and_osds_cannot_be_named_instead_of_being_read():
    there = pool()
    there.answers["osd dump"] = CephError("timed out")
    with pytest.raises(CephError, match="infrastructure osd dump: timed out"):
        guard_snapshots.block(there, ["192.0.2.11"], [], infrastructure=["198.51.100.3"])
    assert orders(there) == []


def test_an_address_inside_a_range_is_shut_out_already():
    there = pool()
    there.ranges = ["192.0.2.0:0/24", "[2001:db8::]:0/64"]
    done = guard_snapshots.block(there, ["192.0.2.11", "2001:db8::11"], [])
    assert [(entry.entry, entry.changed) for entry in done.entries] == [
        ("192.0.2.0:0/24", False),
        ("[2001:db8::]:0/64", False),
    ]
    assert orders(there) == []
    assert guard_snapshots.block(there, ["192.0.3.11"], []).changed == ["192.0.3.11:0/0"]


@pytest.mark.parametrize(
    ("text", "is_range", "shut"),
    [
        ("192.0.2.11:0/0", False, True),
        ("v1:192.0.2.11:0/0", False, True),
        ("any:192.0.2.11:0/0", False, True),
        # One client only, with a nonce that looks like a network's length.
        ("192.0.2.11:0/24", False, False),
        ("192.0.2.11:6801/0", False, False),
        ("cidr:192.0.2.0:0/24", False, True),
        ("192.0.2.0:0/24", True, True),
        ("192.0.2.11:0/32", True, True),
        ("192.0.3.0:0/24", True, False),
        ("192.0.2.0:6800/24", True, False),
        ("[2001:db8::]:0/64", True, False),
        # An IPv6 client to the OSDs: the IPv4 one still writes.
        ("[::ffff:192.0.2.11]:0/0", False, False),
        ("nonsense", False, False),
    ],
)
def test_an_entry_shuts_out_what_the_osds_say_it_does(monkeypatch, text, is_range, shut):
    there = pool()
    monkeypatch.setattr(there, "blocklist", lambda: [BlocklistEntry(text, far(), is_range)])
    if shut:
        assert guard_snapshots.listed(there, ["192.0.2.11"]).listed == ["192.0.2.11"]
    else:
        with pytest.raises(CephError, match=r"192\.0\.2\.11", check=problem_is("not-listed")):
            guard_snapshots.listed(there, ["192.0.2.11"])


def test_a_v4_mapped_address_is_the_ipv4_address_that_it_is():
    there = pool()
    assert guard_snapshots.block(there, ["::ffff:192.0.2.11", "192.0.2.11"], []).listed == ["192.0.2.11"]
    assert there.blocked == ["192.0.2.11:0/0"]
    assert guard_snapshots.unblock(there, ["::FFFF:192.0.2.11"]).changed == ["192.0.2.11:0/0"]


@pytest.mark.parametrize("prolongs", [True, False])
def test_an_entry_that_expires_in_an_hour_is_made_to_last(prolongs):
    """Ceph 16 ignores a second entry for the same address; a range of the one address is put beside it."""
    there = pool()
    there.blocked, there.prolongs = ["192.0.2.11:0/0"], prolongs
    there.lasts["192.0.2.11:0/0"] = far(3600)
    done = guard_snapshots.block(there, ["192.0.2.11"], [])
    assert [(entry.address, entry.changed) for entry in done.entries] == [("192.0.2.11", True)]
    assert there.ranges == ([] if prolongs else ["192.0.2.11:0/32"])
    assert guard_snapshots.block(there, ["192.0.2.11"], []).changed == []
    assert guard_snapshots.unblock(there, ["192.0.2.11"]).listed == []
    assert (there.blocked, there.ranges) == ([], [])


def test_an_entry_that_cannot_be_made_to_last_is_an_error():
    there = pool()
    there.blocked, there.deaf = ["[2001:db8::1]:0/0"], {"[2001:db8::1]:0/128"}
    there.lasts["[2001:db8::1]:0/0"] = far(3600)
    with pytest.raises(CephError, check=problem_is("blocklist-entry-expires")):
        guard_snapshots.block(there, ["2001:db8::1"], [])


@pytest.mark.parametrize("until", ["2090-11-21 14:47:02.134176", "2090-11-21T14:47:02.134176+0000"])
def test_the_times_of_old_and_new_releases_are_understood(until):
    there = pool()
    there.blocked = ["192.0.2.11:0/0"]
    there.lasts["192.0.2.11:0/0"] = until
    assert guard_snapshots.block(there, ["192.0.2.11"], []).changed == []


def test_an_end_that_is_not_understood_is_not_taken_for_a_good_one():
    there = pool()
    there.blocked = ["192.0.2.11:0/0"]
    there.lasts["192.0.2.11:0/0"] = "some day"
    assert guard_snapshots.block(there, ["192.0.2.11"], []).changed == ["192.0.2.11:0/0"]
    assert orders(there) == [("block", "192.0.2.11:0/0")]


def test_an_address_that_somebody_elses_range_shuts_out_is_told_when_it_is_let_in():
    there = pool()
    there.blocked, there.ranges = ["192.0.2.11:0/0"], ["192.0.2.0:0/24"]
    done = guard_snapshots.unblock(there, ["192.0.2.11", "203.0.113.1"])
    assert done.changed == ["192.0.2.11:0/0"]
    assert [(entry.address, entry.entry) for entry in done.covered] == [("192.0.2.11", "192.0.2.0:0/24")]
    assert done.listed == ["192.0.2.11"]
    assert there.ranges == ["192.0.2.0:0/24"]


def test_check_mode_lets_nobody_in():
    there = pool()
    there.blocked = ["192.0.2.11:0/0"]
    done = guard_snapshots.unblock(there, ["192.0.2.11"], check=True)
    assert (done.changed, done.listed, there.blocked) == (["192.0.2.11:0/0"], ["192.0.2.11"], ["192.0.2.11:0/0"])


def test_another_cluster_than_expected_is_refused():
    there = pool()
    with pytest.raises(CephError, check=problem_is("other-cluster")):
        guard_snapshots.expect_cluster(there, "c2")
    assert guard_snapshots.expect_cluster(there, " C1") == guard_snapshots.expect_cluster(there) == "c1"


# --- the modules ------------------------------------------------------------------------------------------------


@pytest.fixture
def there(monkeypatch):
    """The modules, connected to a pool in memory."""
    memory = pool()

    @contextlib.contextmanager
    def connect(options):
        memory.calls.append(("connect", options.pool))
        yield memory

    monkeypatch.setattr(rbd, "connect", connect)
    monkeypatch.setattr(rbd_blocklist.facts, "addresses", lambda: ["192.0.2.12"])
    return memory


WHERE = {"pool": "vms", "rbd_user": "nova"}


def test_the_module_refuses_a_fence_of_no_address_before_it_connects(there):
    for state in ("present", "absent", "listed"):
        answer = run(rbd_blocklist.main, {**WHERE, "addresses": [], "state": state})
        assert (answer["failed"], answer["msg"]) == (True, "the list of addresses is empty. Nothing was done")
    assert there.calls == []


def test_the_module_fences_nothing_in_another_cluster(there):
    for module, what in ((rbd_blocklist, {"addresses": ["192.0.2.11"]}), (rbd_guard, {"servers": [ONE]})):
        given = {**WHERE, **what, "fsid": "c2", **({"operation_id": "op1"} if module is rbd_guard else {})}
        assert "connected to Ceph cluster c1, expected c2" in run(module.main, given)["msg"]
    assert orders(there) == [("connect", "vms"), ("connect", "vms")]
    assert there.snapshots[f"{ONE}_disk"] == []


def test_the_module_returns_what_a_proof_is_made_of(there):
    given = {**WHERE, "addresses": ["192.0.2.11"], "fsid": "c1"}
    done = run(rbd_blocklist.main, given)
    assert (done["changed"], done["fsid"], done["pool"], done["listed"]) == (True, "c1", "vms", ["192.0.2.11"])
    assert datetime.datetime.fromisoformat(done["read_at"]).tzinfo
    (entry,) = done["entries"]
    assert (entry["address"], entry["entry"], entry["changed"]) == ("192.0.2.11", "192.0.2.11:0/0", True)
    assert entry["until"]
    before = list(there.calls)
    read = run(rbd_blocklist.main, {**given, "state": "listed"})
    assert (read["changed"], read["listed"], read["changed_entries"]) == (False, ["192.0.2.11"], [])
    assert there.calls[len(before) :] == [("connect", "vms"), ("fsid", ""), ("ls", "")]


def test_a_fence_that_somebody_lifted_is_not_proven_again(there):
    answer = run(rbd_blocklist.main, {**WHERE, "addresses": ["192.0.2.11"], "state": "listed"})
    assert answer["failed"]
    assert answer["msg"] == "these addresses are not on the OSD blocklist: 192.0.2.11"


def test_the_module_warns_of_a_range_that_still_shuts_the_host_out(there, monkeypatch):
    warned = []
    monkeypatch.setattr(rbd_blocklist.AnsibleModule, "warn", lambda _module, text: warned.append(text))
    there.ranges = ["192.0.2.0:0/24"]
    answer = run(rbd_blocklist.main, {**WHERE, "addresses": ["192.0.2.11"], "state": "absent"})
    assert (answer["changed"], answer["listed"]) == (False, ["192.0.2.11"])
    assert [entry["entry"] for entry in answer["covered"]] == ["192.0.2.0:0/24"]
    assert warned == ["the OSD blocklist still contains the range 192.0.2.0:0/24, which covers 192.0.2.11"]


def test_the_module_guards_by_name_and_id_and_removes_wherever_they_are(there):
    images = {f"{ONE}_disk": f"id-{ONE}_disk"}
    done = run(rbd_guard.main, {**WHERE, "operation_id": "op1", "images": images, "fsid": "c1"})
    assert (done["changed"], done["fsid"], done["pool"]) == (True, "c1", "vms")
    assert [(entry["image"], entry["guarded"]) for entry in done["images"]] == [(f"{ONE}_disk", True)]
    assert "the module knows which disks to guard" in run(rbd_guard.main, {**WHERE, "operation_id": "op1"})["msg"]
    wrong = run(rbd_guard.main, {**WHERE, "operation_id": "op1", "images": {f"{ONE}_disk": "another"}})
    assert "the pool has unexpected contents" in wrong["msg"]
    swept = run(rbd_guard.main, {**WHERE, "operation_id": "op1", "state": "absent"})
    assert [entry["image"] for entry in swept["images"]] == [f"{ONE}_disk"]
    assert there.snapshots[f"{ONE}_disk"] == []
