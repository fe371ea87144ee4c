# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ceph as a host sees it, both ways: stand-ins for the bindings and for the commands; the real ones on the lab.

What matters most: nothing that could not be read ever looks like "no image", "no watcher" or "no snapshot".
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import stat
import subprocess
import sys
import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import addresses as ceph_addresses
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import rbd
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import facts as host
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import nova_compute
from ansible_collections.stackguard.nova.plugins.modules import compute_host_info
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.modules.running import run
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

ONE = "8961cf04-0ee7-44b1-9ed3-a4b18e535683"
TWO = "0b2c6e0e-5b0c-4b0e-8d0e-5f0a6f0f7a11"
WATCHER = {"address": "10.99.0.11:0/123", "client": 4123, "cookie": 1}


#: nova-compute on the host itself.
SERVICE = nova_compute.Service("nova-compute", [], None, True)


def parts(read):
    return {entry.part for entry in read.unread}


# --- the commands ---------------------------------------------------------------------------------------------

FAKE = """#!{python}
import json, sys
world = json.load(open({world!r}))
program, words = sys.argv[0].rpartition("/")[2], [word for word in sys.argv[1:] if not word.startswith("--")]
flags = dict(word[2:].partition("=")[::2] for word in sys.argv[1:] if word.startswith("--"))
with open({log!r}, "a") as log:
    log.write(json.dumps([program] + sys.argv[1:]) + "\\n")
words = [program] + words + (["--long"] if "long" in flags else [])
key = " ".join(words + ([flags["image"]] if "image" in flags else []))
answer = world.get(key, {{"exit": 2, "said": "(2) No such file or directory"}})
if isinstance(answer, dict) and "exit" in answer:
    sys.stderr.write(answer["said"])
    sys.exit(answer["exit"])
print(answer if isinstance(answer, str) else json.dumps(answer))
"""


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """``rbd`` and ``ceph`` that answer from a mapping; the log says how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    world, log = tmp_path / "world.json", tmp_path / "log"
    log.touch()
    for name in ("rbd", "ceph"):
        program = folder / name
        program.write_text(FAKE.format(python=sys.executable, world=str(world), log=str(log)))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def set_up(answers):
        world.write_text(json.dumps(answers))
        return lambda: [json.loads(line) for line in log.read_text().splitlines()]

    return set_up


def image_answers(name, watchers=(), snapshots=()):
    return {
        f"rbd info {name}": {"name": name, "id": f"id-{name[:4]}", "size": 1 << 30},
        f"rbd status {name}": {"watchers": list(watchers)},
        f"rbd snap ls {name}": list(snapshots),
        f"rbd lock ls {name}": [{"id": "auto 1", "locker": "client.4123", "address": "10.99.0.11:0/123"}],
    }


#: As Ceph 16 tells it: the one that this machine has a route to is its own.
MONITORS = {"epoch": 1, "mons": [{"name": "a", "addr": "127.0.0.1:6789/0", "public_addr": "127.0.0.1:6789/0"}]}


def options(**changes):
    return rbd.RbdOptions(**{"pool": "vms", "via": rbd.COMMAND, **changes})


def healthy():
    return {
        "ceph fsid": {"fsid": "c1"},
        "ceph mon dump": MONITORS,
        "rbd ls": [f"{ONE}_disk", f"{ONE}_disk.swap", f"{TWO}_disk", "backup"],
        "ceph osd blocklist ls": [{"addr": "10.99.0.11:0/0", "until": "2031-01-01T00:00:00"}],
        **image_answers(f"{ONE}_disk", [WATCHER], [{"id": 4, "name": "s", "size": 5, "protected": "false"}]),
        **image_answers(f"{ONE}_disk.swap"),
        **image_answers(f"{TWO}_disk"),
    }


def test_commands_read_the_images_of_some_servers_and_call_nothing_for_others(commands):
    calls = commands(healthy())
    read = rbd.read_rbd(options(user="nova", conf="/etc/ceph/x.conf"), [ONE], blocklist=True)
    assert (read.via, read.fsid, read.pool, read.instances, read.unread) == ("command", "c1", "vms", [ONE], [])
    assert [image.name for image in read.images] == [f"{ONE}_disk", f"{ONE}_disk.swap"]
    disk, swap = read.images
    assert disk.watchers == [facts.RbdWatcher("10.99.0.11:0/123", "client.4123", "1")]
    assert disk.locks == [facts.RbdLock("10.99.0.11:0/123", "auto 1")]
    assert disk.snapshots == [facts.RbdSnapshot("s", 5, False)]
    assert (swap.watchers, swap.snapshots, swap.size) == ([], [], 1 << 30)
    assert read.blocklist == [facts.BlocklistEntry("10.99.0.11:0/0", "2031-01-01T00:00:00")]
    assert not any(TWO in word for call in calls() for word in call)
    for call in calls():
        assert "--id=nova" in call
        assert "--conf=/etc/ceph/x.conf" in call
        assert "--format=json" in call


def test_all_of_a_pool_is_one_process_and_watchers_are_unread_not_none(commands):
    answers = healthy()
    answers["rbd ls --long"] = [
        {"image": f"{ONE}_disk", "id": "a", "size": 1, "format": 2},
        {"image": f"{ONE}_disk", "snapshot": "stackguard-1", "size": 1, "format": 2, "protected": "true"},
        {"image": f"{ONE}_disk.swap", "id": "b", "size": 1, "format": 2},
        {"image": f"{TWO}_disk", "id": "c", "size": 1, "format": 2},
        {"image": "backup", "id": "d", "size": 1, "format": 2},
    ]
    calls = commands(answers)
    read = rbd.read_rbd(options())
    assert [image.name for image in read.images] == [f"{TWO}_disk", f"{ONE}_disk", f"{ONE}_disk.swap"]
    one = read.images[1]
    assert one.snapshots == [facts.RbdSnapshot("stackguard-1", 1, True)]
    assert one.watchers is None
    assert one.locks is None
    assert {"watchers", "locks"} <= parts(one)
    assert len(calls()) == 4


def test_an_image_that_the_long_listing_leaves_out_is_not_absent(commands):
    """``rbd ls --long`` skips what it cannot open."""
    answers = healthy()
    answers["rbd ls --long"] = [{"image": f"{TWO}_disk", "id": "c", "size": 1, "format": 2}]
    for what in ("info", "status", "snap ls", "lock ls"):
        answers[f"rbd {what} {ONE}_disk"] = {"exit": 1, "said": "(1) Operation not permitted"}
    commands(answers)
    read = rbd.read_rbd(options())
    assert [image.name for image in read.images] == [f"{TWO}_disk", f"{ONE}_disk", f"{ONE}_disk.swap"]
    refused = read.images[1]
    assert (refused.size, refused.snapshots, refused.watchers, refused.locks) == (None, None, None, None)
    assert "Operation not permitted" in refused.unread[0].reason


def test_an_image_deleted_meanwhile_is_left_out(commands):
    answers = healthy()
    for key in [key for key in answers if key.endswith(f"{ONE}_disk.swap")]:
        del answers[key]
    answers["rbd ls"] = [f"{ONE}_disk"]
    commands(answers)
    with rbd.connect(options()) as ceph:
        assert [image.name for image in ceph.images([f"{ONE}_disk", f"{ONE}_disk.swap"])] == [f"{ONE}_disk"]


def test_no_such_file_for_an_image_that_the_pool_lists_is_no_absence(commands):
    answers = healthy()
    for key in [key for key in answers if key.endswith(f"{ONE}_disk.swap")]:
        del answers[key]
    commands(answers)
    read = rbd.read_rbd(options(), [ONE])
    assert [image.name for image in read.images] == [f"{ONE}_disk", f"{ONE}_disk.swap"]
    assert read.images[1].watchers is None
    assert read.images[1].unread


@pytest.mark.parametrize("answer", ["", "not json", {}, {"status": []}, []])
def test_a_status_without_watchers_is_not_no_watcher(commands, answer):
    commands({**healthy(), f"rbd status {ONE}_disk": answer})
    disk = rbd.read_rbd(options(), [ONE]).images[0]
    assert disk.watchers is None
    assert "watchers" in parts(disk)
    assert disk.size == 1 << 30


def test_a_pool_that_cannot_be_listed_has_no_images_read(commands):
    commands({**healthy(), "rbd ls": {"exit": 2, "said": "error opening pool 'vms': (2) No such file or directory"}})
    read = rbd.read_rbd(options(), [ONE])
    assert read.images is None
    assert [entry.part for entry in read.unread] == ["images"]
    assert "error opening pool" in read.unread[0].reason


def test_a_blocklist_that_cannot_be_read_is_not_empty(commands):
    commands({**healthy(), "ceph osd blocklist ls": {"exit": 13, "said": "Error EACCES: access denied"}})
    read = rbd.read_rbd(options(), [ONE], blocklist=True)
    assert read.blocklist is None
    assert [entry.part for entry in read.unread] == ["blocklist"]


def test_a_blocklist_comes_as_two_documents(commands):
    """Recorded from Ceph 16: addresses, then ranges of them."""
    address = '[{"addr":"10.99.9.9:0/0","until":"2026-11-21T14:47:02.134176+0000"}]'
    ranges = '[{"range":"10.99.77.0:0/24","until":"2026-11-21T14:47:03.235211+0000"}]'

    def read(answer):
        commands({**healthy(), "ceph osd blocklist ls": answer})
        found = rbd.read_rbd(options(), [ONE], blocklist=True).blocklist
        return found and [entry.address for entry in found]

    assert read(f"\n{address}{ranges}") == ["10.99.9.9:0/0", "10.99.77.0:0/24"]
    assert read(f"\n{address}[]") == ["10.99.9.9:0/0"]
    assert rbd.read_rbd(options(), [ONE], blocklist=True).blocklist
    commands({**healthy(), "ceph osd blocklist ls": "\n[][]"})
    assert rbd.read_rbd(options(), [ONE], blocklist=True).blocklist == []
    commands({**healthy(), "ceph osd blocklist ls": f"{address}[trunc"})
    cut = rbd.read_rbd(options(), [ONE], blocklist=True)
    assert (cut.blocklist, [entry.part for entry in cut.unread]) == (None, ["blocklist"])


def test_where_a_host_reaches_ceph_from_is_what_its_kernel_would_choose(commands):
    commands(healthy())
    assert rbd.read_rbd(options(), [ONE]).client_address == "127.0.0.1"
    assert rbd.client_address(["192.0.2.1", "127.0.0.1:3300"]) == "127.0.0.1"
    assert rbd.client_address(["[::1]:3300"]) == "::1"
    with pytest.raises(rbd.CephError, check=problem_is("no-cluster")):
        rbd.client_address([])
    commands({**healthy(), "ceph mon dump": {"mons": []}})
    read = rbd.read_rbd(options(), [ONE])
    assert (read.client_address, [entry.part for entry in read.unread]) == (None, ["client_address"])
    assert read.images


def test_commands_that_are_not_there_say_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    read = rbd.read_rbd(options(), [ONE])
    assert (read.images, read.fsid) == (None, None)
    assert all("install ceph-common or python3-rbd" in entry.reason for entry in read.unread)


def test_a_command_that_hangs_ends(commands, monkeypatch):
    commands(healthy())

    def hang(argv, timeout, **_given):
        raise subprocess.TimeoutExpired(argv, timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    read = rbd.read_rbd(options(), [ONE])
    assert read.images is None
    assert "no answer within" in read.unread[0].reason


def test_words_before_the_commands_imply_them(commands):
    calls = commands(healthy())
    read = rbd.read_rbd(rbd.RbdOptions("vms", command=("env", "A=1")), [TWO])
    assert read.via == "command"
    assert [image.name for image in read.images] == [f"{TWO}_disk"]
    assert calls()


def test_commands_make_and_remove_snapshots_once(commands):
    calls = commands(
        {
            **healthy(),
            f"rbd snap create {ONE}_disk": "",
            f"rbd snap rm {ONE}_disk": "",
            f"rbd snap create {TWO}_disk": {"exit": 17, "said": "(17) File exists"},
        }
    )
    with rbd.connect(options()) as ceph:
        assert ceph.create_snapshot(f"{ONE}_disk", "guard") is True
        assert ceph.create_snapshot(f"{TWO}_disk", "guard") is False
        with pytest.raises(rbd.GoneError, check=problem_is("image-not-exist")):
            ceph.create_snapshot("nothing_disk", "guard")
        assert ceph.remove_snapshot(f"{ONE}_disk", "guard") is True
        assert ceph.remove_snapshot(f"{TWO}_disk", "guard") is False
        assert ceph.remove_snapshot("nothing_disk", "guard") is False
    assert any("--snap=guard" in call and f"--image={ONE}_disk" in call for call in calls())


def test_a_snapshot_that_cannot_be_removed_is_an_error(commands):
    commands({**healthy(), f"rbd snap rm {ONE}_disk": {"exit": 16, "said": "(16) Device or resource busy"}})
    with rbd.connect(options()) as ceph, pytest.raises(rbd.CephError, match="busy"):
        ceph.remove_snapshot(f"{ONE}_disk", "guard")
    answers = {**healthy(), f"rbd snap ls {ONE}_disk": [{"name": "guard", "size": 1, "protected": "false"}]}
    commands({**answers, f"rbd snap rm {ONE}_disk": {"exit": 2, "said": "(2) No such file or directory"}})
    with rbd.connect(options()) as ceph, pytest.raises(rbd.CephError, match="No such file"):
        ceph.remove_snapshot(f"{ONE}_disk", "guard")


def test_commands_block_and_unblock(commands):
    calls = commands(
        {"ceph osd blocklist add 10.0.0.1:0/0 60": "", "ceph osd blocklist rm 10.0.0.1:0/0": "un-blocklisting"}
    )
    with rbd.connect(options()) as ceph:
        ceph.block("10.0.0.1:0/0", 60)
        ceph.unblock("10.0.0.1:0/0")
    assert [call[1:4] for call in calls()] == [["osd", "blocklist", "add"], ["osd", "blocklist", "rm"]]


# --- the bindings ---------------------------------------------------------------------------------------------


class BindingError(Exception):
    pass


class ImageNotFound(BindingError):
    pass


class ImageExists(BindingError):
    pass


class FakeImage:
    def __init__(self, cluster, name, read_only):
        if name not in cluster.world:
            raise ImageNotFound(f"no image {name}")
        cluster.opened.append((name, read_only))
        self.about = cluster.world[name]
        if isinstance(self.about, Exception):
            raise self.about

    def _tell(self, key):
        if isinstance(self.about[key], Exception):
            raise self.about[key]
        return self.about[key]

    def id(self):
        return "abc"

    def size(self):
        return self._tell("size")

    def watchers_list(self):
        return iter(self._tell("watchers"))

    def list_lockers(self):
        return self._tell("locks")

    def features(self):
        return self._tell("features")

    def list_snaps(self):
        return iter(self._tell("snapshots"))

    def is_protected_snap(self, name):
        return name == "kept"

    def create_snap(self, name):
        if any(entry["name"] == name for entry in self.about["snapshots"]):
            raise ImageExists(name)
        self.about["snapshots"].append({"name": name, "size": 1, "namespace": 0})

    def remove_snap(self, name):
        left = [entry for entry in self.about["snapshots"] if entry["name"] != name]
        if left == self.about["snapshots"]:
            raise ImageNotFound(name)
        self.about["snapshots"] = left

    def close(self):
        pass


class Cluster:
    """A pool behind stand-ins of the two bindings."""

    def __init__(self, world):
        self.world, self.opened, self.commands, self.connect_error = world, [], [], None
        self.answers = {"osd blocklist ls": b'[{"addr": "10.0.0.1:0/0", "until": "x"}][]'}
        self.answers["mon dump"] = json.dumps(MONITORS).encode()
        self.options = {}
        #: Commands that the release does not know; pools that were opened, and that may not be; what the user may do.
        self.unknown, self.pools, self.closed, self.may = (), [], set(), {"add", "rm"}

    def told(self, asked):
        """What the monitors answer: recorded from Ceph 16."""
        if asked["prefix"] in self.unknown:
            return -22, b"", "command not known"
        action = asked.get("blocklistop") or asked.get("blacklistop")
        if asked.get("addr") == "stackguard/0" and asked["prefix"] not in self.answers:
            if action not in self.may:
                return -13, b"", "access denied"
            return -22, b"", "unable to parse address stackguard/0"
        answer = self.answers.get(asked["prefix"], b"")
        return (-13, b"", "access denied") if answer is None else (0, answer, "")

    def open(self, pool):
        self.pools.append(pool)
        if pool in self.closed:
            raise BindingError(f"error opening pool '{pool}'")
        return types.SimpleNamespace(close=lambda: None)

    def install(self, monkeypatch):
        cluster = self

        class Rados:
            def __init__(self, conffile, rados_id=None):
                cluster.options.update(conffile=conffile, rados_id=rados_id)

            def conf_set(self, name, value):
                cluster.options[name] = value

            def conf_get(self, _name):
                return "/etc/ceph/ceph.client.nova.keyring,/etc/ceph/keyring,"

            def connect(self, timeout):
                if cluster.connect_error:
                    raise cluster.connect_error

            def open_ioctx(self, pool):
                return cluster.open(pool)

            def get_fsid(self):
                return "c1"

            def mon_command(self, command, _data, timeout):
                asked = json.loads(command)
                cluster.commands.append(asked)
                return cluster.told(asked)

            def shutdown(self):
                cluster.options["shut down"] = True

        rados_module = types.SimpleNamespace(Rados=Rados, Error=BindingError)
        rbd_module = types.SimpleNamespace(
            RBD=lambda: types.SimpleNamespace(list=lambda _pool: list(cluster.world)),
            Image=lambda _pool, name, read_only=False: FakeImage(cluster, name, read_only),
            Error=BindingError,
            ImageNotFound=ImageNotFound,
            ImageExists=ImageExists,
        )
        monkeypatch.setitem(sys.modules, "rados", rados_module)
        monkeypatch.setitem(sys.modules, "rbd", rbd_module)
        return self


def about(**changes):
    return {
        "size": 5,
        "watchers": [{"addr": "10.0.0.1:0/9", "id": 7, "cookie": 3}],
        "locks": {"tag": "t", "exclusive": True, "lockers": [("client.7", "auto 3", "10.0.0.1:0/9")]},
        "snapshots": [{"name": "kept", "size": 4, "namespace": 0}, {"name": "mirror", "size": 4, "namespace": 4}],
        **changes,
    }


def library(**changes):
    return rbd.RbdOptions(**{"pool": "vms", **changes})


def test_the_bindings_read_the_same(monkeypatch):
    cluster = Cluster({f"{ONE}_disk": about(), f"{TWO}_disk": about(), "other": about()}).install(monkeypatch)
    read = rbd.read_rbd(library(user="nova", conf="/c"), [ONE], blocklist=True)
    assert (read.via, read.fsid, read.unread) == ("library", "c1", [])
    (disk,) = read.images
    assert disk == facts.RbdImage(
        f"{ONE}_disk",
        "abc",
        5,
        [facts.RbdSnapshot("kept", 4, True)],
        [facts.RbdWatcher("10.0.0.1:0/9", "client.7", "3")],
        [facts.RbdLock("10.0.0.1:0/9", "auto 3")],
    )
    assert read.blocklist == [facts.BlocklistEntry("10.0.0.1:0/0", "x")]
    assert cluster.opened == [(f"{ONE}_disk", True)], "an image opened for writing makes us a watcher"
    assert cluster.options["conffile"] == "/c"
    assert cluster.options["rados_id"] == "nova"
    assert cluster.options["shut down"]


def test_the_bindings_read_a_whole_pool_without_what_is_nobodys(monkeypatch):
    Cluster({f"{ONE}_disk": about(locks=[]), f"{TWO}_disk": about(), "other": about()}).install(monkeypatch)
    read = rbd.read_rbd(library())
    assert [image.name for image in read.images] == [f"{TWO}_disk", f"{ONE}_disk"]
    assert read.images[1].locks == []


@pytest.mark.parametrize(
    ("broken", "field"), [("watchers", "watchers"), ("locks", "locks"), ("snapshots", "snapshots"), ("size", "size")]
)
def test_a_part_that_the_bindings_cannot_read_is_unread(monkeypatch, broken, field):
    Cluster({f"{ONE}_disk": about(**{broken: BindingError("timed out")})}).install(monkeypatch)
    (disk,) = rbd.read_rbd(library(), [ONE]).images
    assert getattr(disk, field) is None
    assert parts(disk) == {field}


def test_an_image_that_the_bindings_cannot_open_is_not_absent(monkeypatch):
    Cluster({f"{ONE}_disk": BindingError("permission denied")}).install(monkeypatch)
    (disk,) = rbd.read_rbd(library(), [ONE]).images
    assert (disk.watchers, parts(disk)) == (None, {"image"})


def test_a_cluster_that_does_not_answer_is_an_error(monkeypatch):
    cluster = Cluster({}).install(monkeypatch)
    cluster.connect_error = BindingError("timed out")
    with pytest.raises(rbd.CephError, match="timed out"):
        rbd.read_rbd(library(), [ONE])
    assert cluster.options["shut down"]


def test_the_bindings_make_and_remove_snapshots_once(monkeypatch):
    cluster = Cluster({f"{ONE}_disk": about(snapshots=[])}).install(monkeypatch)
    with rbd.connect(library()) as ceph:
        assert [ceph.create_snapshot(f"{ONE}_disk", "guard") for _time in range(2)] == [True, False]
        assert [entry["name"] for entry in cluster.world[f"{ONE}_disk"]["snapshots"]] == ["guard"]
        assert [ceph.remove_snapshot(f"{ONE}_disk", "guard") for _time in range(2)] == [True, False]
        assert ceph.remove_snapshot("nothing_disk", "guard") is False
        with pytest.raises(rbd.GoneError):
            ceph.create_snapshot("nothing_disk", "guard")


def test_the_bindings_block_through_the_monitors(monkeypatch):
    cluster = Cluster({}).install(monkeypatch)
    with rbd.connect(library()) as ceph:
        ceph.block("10.0.0.1:0/0", 60)
        ceph.unblock("10.0.0.1:0/0")
        cluster.answers["osd blocklist"] = None
        with pytest.raises(rbd.CephError, match="access denied"):
            ceph.block("10.0.0.1:0/0", 60)
    assert cluster.commands[0] == {
        "prefix": "osd blocklist",
        "blocklistop": "add",
        "addr": "10.0.0.1:0/0",
        "expire": 60.0,
    }
    assert cluster.commands[1]["blocklistop"] == "rm"


def test_without_bindings_the_commands_are_taken(monkeypatch):
    for name in ("rados", "rbd"):
        monkeypatch.setitem(sys.modules, name, None)
    with rbd.connect(library()) as ceph:
        assert ceph.via == "command"
    with (
        pytest.raises(rbd.CephError, match=r"python3-rbd", check=problem_is("install-python3-rbd")),
        contextlib.ExitStack() as stack,
    ):
        stack.enter_context(rbd.connect(library(via=rbd.LIBRARY)))


# --- a container has the keyrings, or even the commands ---------------------------------------------------------


class Held:
    """Files of a container, of which the host knows one. ``command``: how commands run in it."""

    def __init__(self, command=()):
        self.command = command

    def on_host(self, path):
        return {"/etc/ceph/ceph.client.nova.keyring": "/etc/kolla/k"}.get(path)


def test_the_bindings_take_the_containers_keyring_and_the_hosts_own_where_it_has_none(monkeypatch):
    cluster = Cluster({}).install(monkeypatch)
    with rbd.connect(library(files=Held(), inside="/etc/ceph/ceph.conf")):
        assert cluster.options["keyring"] == "/etc/kolla/k,/etc/ceph/keyring"
    cluster.options.clear()
    with rbd.connect(library()):
        assert "keyring" not in cluster.options
    # With a configuration of the host's own, the host's keyring goes before the container's.
    with rbd.connect(library(conf="/root/ceph.conf", files=Held())):
        assert cluster.options["keyring"] == "/etc/kolla/k,/etc/ceph/keyring"
    monkeypatch.setattr(rbd.os.path, "exists", lambda path: path == "/etc/ceph/ceph.client.nova.keyring")
    with rbd.connect(library(conf="/root/ceph.conf", files=Held())):
        assert cluster.options["keyring"] == "/etc/ceph/ceph.client.nova.keyring,/etc/ceph/keyring"
    with rbd.connect(library(files=Held(), inside="/etc/ceph/ceph.conf")):
        assert cluster.options["keyring"] == "/etc/kolla/k,/etc/ceph/keyring"


def test_the_commands_take_the_containers_keyring(commands, tmp_path):
    calls = commands(healthy())
    program = tmp_path / "bin" / "ceph-conf"
    program.write_text("#!/bin/sh\necho /etc/ceph/ceph.client.nova.keyring,/etc/ceph/keyring,\n")
    program.chmod(0o755)
    given = options(user="nova", conf="/x.conf", files=Held(("podman", "exec", "a")), inside="/etc/ceph/ceph.conf")
    assert rbd.read_rbd(given, [ONE]).unread == []
    for call in calls():
        assert "--keyring=/etc/kolla/k,/etc/ceph/keyring" in call
        assert "--conf=/x.conf" in call


def test_keyrings_that_cannot_be_asked_for_are_an_error(commands, tmp_path):
    commands(healthy())
    given = options(files=Held(), inside="/etc/ceph/ceph.conf")
    program = tmp_path / "bin" / "ceph-conf"
    program.write_text("#!/bin/sh\necho broken >&2; exit 1\n")
    program.chmod(0o755)
    assert {entry.reason for entry in rbd.read_rbd(given, [ONE]).unread} >= {"ceph-conf: broken"}


def test_without_commands_those_of_the_container_run_with_its_own_paths(monkeypatch):
    inside = "/etc/ceph/ceph.conf"
    given = options(user="nova", conf="/etc/kolla/c", files=Held(("podman", "exec", "a")), inside=inside)
    found = options(user="nova", conf=inside, command=("podman", "exec", "a"))
    monkeypatch.setattr(rbd.shutil, "which", lambda _program: None)
    assert rbd.by_commands(given) == found
    # A container that does not run, an operator's own file of the host, and a host without containers.
    for other in (
        options(files=Held(), inside=inside),
        options(conf="/root/ceph.conf", files=Held(("podman", "exec", "a"))),
        options(),
    ):
        assert rbd.by_commands(other) == other
    monkeypatch.setattr(rbd.shutil, "which", lambda program: f"/usr/bin/{program}")
    assert rbd.by_commands(given) == given


def test_locks_and_watchers_of_old_releases_are_mappings():
    assert rbd.parse_locks({"auto 9": {"locker": "client.1", "address": "a:0/1"}}) == [facts.RbdLock("a:0/1", "auto 9")]
    assert rbd.parse_watchers({"watchers": {"watcher": WATCHER}}) == [
        facts.RbdWatcher("10.99.0.11:0/123", "client.4123", "1")
    ]


@pytest.mark.parametrize(
    ("name", "uuid"),
    [(f"{ONE}_disk", ONE), (f"{ONE}_disk.eph0", ONE), (ONE, None), ("backup", None), (f"x{ONE}_disk", None)],
)
def test_an_image_belongs_to_the_instance_of_its_name(name, uuid):
    assert rbd.instance_of(name) == uuid


# --- the cluster itself -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("192.0.2.1", ["192.0.2.1"]),
        ("192.0.2.1:6789/0", ["192.0.2.1"]),
        ("v2:192.0.2.1:3300/0", ["192.0.2.1"]),
        ("[v2:192.0.2.1:3300/0,v1:192.0.2.1:6789/0]", ["192.0.2.1"]),
        ("[v2:192.0.2.1:3300/0,v1:198.51.100.1:6789/0]", ["192.0.2.1", "198.51.100.1"]),
        ("[v2:[2001:db8::1]:3300/0,v1:[2001:db8::1]:6789/0]", ["2001:db8::1"]),
        ("[v2:192.0.2.1:3300/0,v2:[2001:db8::1]:3300/0]", ["192.0.2.1", "2001:db8::1"]),
        ("[2001:DB8::1]:6789/0", ["2001:db8::1"]),
        ("2001:db8::1", ["2001:db8::1"]),
        ("any:192.0.2.1:0/7", ["192.0.2.1"]),
        ("[::ffff:192.0.2.1]:0/7", ["192.0.2.1"]),
        *((nothing, []) for nothing in ("", "-", "-/0", ":/0", "0.0.0.0:0/0", "[::]:0/0")),
        ("(unrecognized address family 0)/0", []),
    ],
)
def test_addresses_are_understood_in_every_form_that_ceph_writes(text, addresses):
    assert ceph_addresses.plain(text) == addresses


@pytest.mark.parametrize("text", ["mon1.example:6789/0", "192.0.2:6789/0", "[v2:192.0.2.1:3300/0", "[x]:0/0", "x"])
def test_an_address_that_is_not_understood_is_not_no_address(text):
    with pytest.raises(ValueError, match=r"IP|does not appear"):
        ceph_addresses.plain(text)


def vector(*addresses):
    return {"addrvec": [{"type": f"v{2 - number % 2}", "addr": at, "nonce": 1} for number, at in enumerate(addresses)]}


def cluster_answers():
    """As Ceph 16 tells them, shortened: two networks, both protocols, IPv6, standbys, clients of the manager."""
    return {
        "mon dump": {
            "mons": [
                {"addr": "127.0.0.1:6789/0", "public_addrs": vector("127.0.0.1:3300", "127.0.0.1:6789")},
                {"addr": "-", "public_addrs": vector("[2001:db8::2]:3300")},
            ]
        },
        "osd dump": {
            "osds": [
                {
                    "public_addrs": vector("192.0.2.10:6800", "192.0.2.10:6801"),
                    "cluster_addrs": vector("198.51.100.10:6802"),
                    "heartbeat_back_addrs": vector("198.51.100.11:6806"),
                    "public_addr": "192.0.2.10:6801/7",
                    "state": ["exists", "up"],
                }
            ],
            "blocklist": {"203.0.113.66:0/0": "2031-01-01T00:00:00"},
        },
        "mgr dump": {
            "active_addrs": vector("192.0.2.20:6808"),
            "active_addr": "192.0.2.20:6809/1",
            "active_clients": [{"name": "rbd_support", **vector("192.0.2.21:0")}],
            "standbys": [{"gid": 4, "name": "y"}],
            "modules": ["prometheus"],
            "available_modules": [{"module_options": {"server_addr": {"name": "server_addr", "default_value": "::"}}}],
        },
        "mgr metadata": [
            {"name": "x", "addr": "192.0.2.20", "addrs": "192.0.2.20:0/1"},
            {"name": "y", "addr": "192.0.2.22", "addrs": "[v2:192.0.2.22:6800/1,v1:192.0.2.22:6801/1]"},
        ],
        "fs dump": {
            "standbys": [{"addr": "192.0.2.30:6801/1"}],
            "filesystems": [{"mdsmap": {"info": {"gid_7": {"addrs": vector("192.0.2.31:6800")}}}}],
        },
        "status": {
            "fsmap": {"by_rank": [], "up:standby": 0},
            "servicemap": {
                "services": {
                    "rgw": {"daemons": {"summary": "", "9": {"addr": "192.0.2.40:0/9", "metadata": {"addr": "?"}}}}
                }
            },
        },
    }


ALL = {
    *("127.0.0.1", "2001:db8::2", "192.0.2.10", "198.51.100.10", "198.51.100.11", "192.0.2.20", "192.0.2.21"),
    *("192.0.2.22", "192.0.2.30", "192.0.2.31", "192.0.2.40"),
}


def detailed(monkeypatch, **changes):
    cluster = Cluster({f"{ONE}_disk": about(), f"{TWO}_disk": about()}).install(monkeypatch)
    for question, answer in {**cluster_answers(), **changes}.items():
        cluster.answers[question] = answer if answer is None else json.dumps(answer).encode()
    return cluster


def test_all_addresses_of_the_clusters_own_daemons_are_read(monkeypatch):
    detailed(monkeypatch)
    read = rbd.read_rbd(library(), [ONE], more=rbd.ReadOptions(details=True))
    assert set(read.infrastructure) == ALL
    assert (read.infrastructure_unread, read.blocklist_word) == ([], "blocklist")
    assert [entry.address for entry in read.blocklist] == ["10.0.0.1:0/0"]
    assert read.unread == []
    assert facts.from_plain(facts.RbdFacts, facts.to_plain(read)) == read


def test_the_commands_read_the_same_addresses(commands):
    answers = {f"ceph {question}": answer for question, answer in cluster_answers().items()}
    commands({**healthy(), **answers})
    read = rbd.read_rbd(options(), [ONE], more=rbd.ReadOptions(details=True))
    assert set(read.infrastructure) == ALL
    assert read.infrastructure_unread == []


def test_managers_that_profile_rbd_may_not_read_are_unread_and_named(monkeypatch):
    """Recorded from Ceph 16: profile rbd may read monitors and OSDs, and neither managers nor MDS."""
    detailed(monkeypatch, **{"mgr dump": None, "fs dump": None})
    read = rbd.read_rbd(library(), [ONE], more=rbd.ReadOptions(details=True))
    assert "192.0.2.10" in read.infrastructure
    assert not {"192.0.2.20", "192.0.2.30"} & set(read.infrastructure)
    # That there is no MDS at all is told by the status.
    assert [entry.part for entry in read.infrastructure_unread] == ["infrastructure mgr dump"]


@pytest.mark.parametrize("fsmap", [{"by_rank": [{"name": "a"}], "up:standby": 0}, {"by_rank": [], "up:standby": 1}, {}])
def test_mds_that_cannot_be_read_are_unread_where_there_may_be_one(monkeypatch, fsmap):
    status = {**cluster_answers()["status"], "fsmap": fsmap}
    detailed(monkeypatch, **{"fs dump": None, "status": status})
    read = rbd.read_rbd(library(), [ONE], more=rbd.ReadOptions(details=True))
    assert [entry.part for entry in read.infrastructure_unread] == ["infrastructure fs dump"]


@pytest.mark.parametrize("question", ["mon dump", "osd dump", "mgr dump", "mgr metadata", "fs dump", "status"])
@pytest.mark.parametrize("answer", [{}, [], {"mons": [{"addr": "mon1.example:6789/0"}]}, [{"name": "x"}]])
def test_an_answer_of_another_shape_is_unread_and_not_empty(monkeypatch, question, answer):
    detailed(monkeypatch, **{question: answer})
    read = rbd.read_rbd(library(), [ONE], more=rbd.ReadOptions(details=True))
    assert read.infrastructure_unread


def test_monitors_of_several_protocols_and_of_the_new_one_only_are_known(monkeypatch):
    assert rbd.parse_monitors(cluster_answers()["mon dump"]) == [
        *("127.0.0.1:3300", "127.0.0.1:6789"),
        "[2001:db8::2]:3300",
    ]
    assert rbd.parse_monitors({"mons": [{"addr": "[2001:db8::1]:6789/0"}]}) == ["[2001:db8::1]:6789"]


# --- the list's name, and who may do what -----------------------------------------------------------------------


def before_pacific(cluster):
    """The monitors of Octopus: no command with the new word."""
    cluster.answers["osd blacklist ls"] = b'[{"addr": "10.0.0.7:0/0", "until": "2026-11-21 14:47:02.134176"}]'
    cluster.unknown = ("osd blocklist", "osd blocklist ls")
    return cluster


def test_before_pacific_the_list_is_called_blacklist_and_that_is_found_by_asking(monkeypatch):
    cluster = before_pacific(detailed(monkeypatch))
    read = rbd.read_rbd(library(), [ONE], more=rbd.ReadOptions(details=True))
    assert read.blocklist_word == "blacklist"
    assert [entry.address for entry in read.blocklist] == ["10.0.0.7:0/0"]
    asked = [command["prefix"] for command in cluster.commands if command["prefix"].startswith("osd bl")]
    assert asked.count("osd blocklist ls") == 1, "it is found out once"
    with rbd.connect(library()) as ceph:
        cluster.commands.clear()
        ceph.block("10.0.0.1:0/0", 60)
        ceph.unblock("10.0.0.1:0/0")
    assert [command.get("blacklistop") for command in cluster.commands] == [None, "add", "rm"]


def test_before_pacific_the_commands_find_it_out_as_well(commands):
    """Recorded from Ceph 16, for a command that it does not know."""
    unknown = {
        "exit": 22,
        "said": "no valid command found; 10 closest matches:\nosd perf\nError EINVAL: invalid command",
    }
    calls = commands(
        {
            **healthy(),
            "ceph osd blocklist ls": unknown,
            "ceph osd blacklist ls": [{"addr": "10.0.0.7:0/0", "until": "x"}],
            "ceph osd blacklist add 10.0.0.1:0/0 60": "",
        }
    )
    with rbd.connect(options()) as ceph:
        assert ceph.blocklist_word() == "blacklist"
        assert [entry.address for entry in ceph.blocklist()] == ["10.0.0.7:0/0"]
        ceph.block("10.0.0.1:0/0", 60)
    assert sum("blocklist" in call for call in calls()) == 1


def test_a_release_that_knows_neither_word_is_unread(monkeypatch):
    cluster = detailed(monkeypatch)
    cluster.unknown = ("osd blocklist", "osd blocklist ls", "osd blacklist", "osd blacklist ls")
    read = rbd.read_rbd(library(), [ONE], more=rbd.ReadOptions(details=True))
    assert (read.blocklist_word, read.blocklist) == (None, None)
    assert {"blocklist_word", "blocklist"} <= parts(read)
    assert (read.rights.add, read.rights.remove) == (None, None)
    assert "command not known" in read.rights.reason


def test_who_may_not_read_the_list_knows_its_name(monkeypatch):
    detailed(monkeypatch, **{"osd blocklist ls": None})
    read = rbd.read_rbd(library(), [ONE], more=rbd.ReadOptions(details=True))
    assert (read.blocklist, read.blocklist_word) == (None, "blocklist")


def test_a_cluster_that_does_not_answer_has_no_word_for_its_list(commands):
    commands({**healthy(), "ceph osd blocklist ls": {"exit": 1, "said": "timed out"}})
    with rbd.connect(options()) as ceph, pytest.raises(rbd.CephError, match="timed out"):
        ceph.blocklist_word()


@pytest.mark.parametrize(
    ("may", "rights"),
    [
        # Recorded from Ceph 16: profile rbd; with allow command "osd blocklist"; allow r.
        ({"add"}, (True, False)),
        ({"add", "rm"}, (True, True)),
        (set(), (False, False)),
    ],
)
def test_what_a_user_may_do_to_the_list_is_asked_without_changing_it(monkeypatch, may, rights):
    cluster = detailed(monkeypatch)
    cluster.may = may
    read = rbd.read_rbd(library(), [ONE], more=rbd.ReadOptions(details=True))
    assert (read.rights.add, read.rights.remove) == rights
    assert (read.rights.reason is None) == all(rights)
    orders = [command for command in cluster.commands if "blocklistop" in command]
    assert {order["addr"] for order in orders} == {"stackguard/0"}, "no address that could be put on the list"


def test_an_answer_that_proves_neither_is_no_right(monkeypatch):
    cluster = detailed(monkeypatch)
    cluster.answers["osd blocklist"] = b""
    with rbd.connect(library()) as ceph:
        rights = ceph.rights()
    assert rights.add is None
    assert "returned an invalid address" in rights.reason


DENIED = {"exit": 13, "said": "Error EACCES: access denied"}
BITS = {"exit": 22, "said": "Error EINVAL: Too many bits in range for that protocol!"}


@pytest.mark.parametrize(
    ("add", "remove", "rights"),
    [
        (BITS, "255.255.255.254:0/0 isn't blocklisted", (True, True)),
        (BITS, DENIED, (True, False)),
        (DENIED, DENIED, (False, False)),
        # A release that knows no ranges: its command refuses before the monitors do.
        ({"exit": 22, "said": "Invalid command: range not in add|rm"}, DENIED, (None, False)),
        ({"exit": 1, "said": "timed out"}, {"exit": 1, "said": "timed out"}, (None, None)),
    ],
)
def test_the_commands_ask_for_rights_without_changing_the_list(commands, add, remove, rights):
    calls = commands(
        {
            **healthy(),
            "ceph osd blocklist range add 192.0.2.1:0/1000 1": add,
            "ceph osd blocklist rm 255.255.255.254:0/0": remove,
            "ceph osd blacklist range add 192.0.2.1:0/1000 1": add,
        }
    )
    with rbd.connect(options()) as ceph:
        found = ceph.rights()
    assert (found.add, found.remove) == rights
    assert (found.reason is None) == all(rights)
    for call in calls():
        assert {"192.0.2.1:0/1000", "255.255.255.254:0/0"} & set(call)


def test_commands_put_a_range_on_the_list(commands):
    calls = commands(
        {"ceph osd blocklist range add 10.0.0.1:0/32 60": "", "ceph osd blocklist range rm 10.0.0.1:0/32": ""}
    )
    with rbd.connect(options()) as ceph:
        ceph.block("10.0.0.1:0/32", 60, as_range=True)
        ceph.unblock("10.0.0.1:0/32", as_range=True)
    assert len(calls()) == 2


def test_the_bindings_put_a_range_on_the_list(monkeypatch):
    cluster = Cluster({}).install(monkeypatch)
    with rbd.connect(library()) as ceph:
        ceph.block("10.0.0.1:0/32", 60, as_range=True)
    assert cluster.commands[0]["range"] == "range"


# --- names only, and volumes ------------------------------------------------------------------------------------


def test_a_destination_lists_names_in_one_call_and_opens_nothing(commands, monkeypatch):
    calls = commands(healthy())
    read = rbd.read_rbd(options(), more=rbd.ReadOptions(opened=False))
    assert [image.name for image in read.images] == [f"{TWO}_disk", f"{ONE}_disk", f"{ONE}_disk.swap"]
    assert (read.opened, read.fsid, read.pool, read.client_address) == (False, "c1", "vms", "127.0.0.1")
    for image in read.images:
        assert (image.id, image.size, image.snapshots, image.watchers, image.locks) == (None,) * 5
        assert [(entry.part, entry.reason) for entry in image.unread] == [("image", "not opened")]
    assert [call[1] for call in calls() if call[0] == "rbd"] == ["ls"]
    cluster = Cluster({f"{ONE}_disk": about()}).install(monkeypatch)
    assert [image.name for image in rbd.read_rbd(library(), [ONE], more=rbd.ReadOptions(opened=False)).images] == [
        f"{ONE}_disk"
    ]
    assert cluster.opened == []


def test_facts_of_an_older_version_are_those_of_opened_images():
    old = {
        "via": "library",
        "fsid": "c1",
        "pool": "vms",
        "instances": [],
        "images": [],
        "blocklist": [{"address": "x"}],
    }
    read = facts.from_plain(facts.RbdFacts, old)
    assert (read.opened, read.infrastructure, read.rights, read.volumes) == (True, None, None, None)


VOLUME = f"volume-{TWO}"


def volumes(*uuids, pools=("vms", "volumes"), **more):
    return rbd.ReadOptions(volumes=tuple(uuids), volume_pools=pools, **more)


def test_volumes_are_read_with_watchers_in_the_pools_asked_for(monkeypatch):
    cluster = Cluster({VOLUME: about(), f"{ONE}_disk": about(), f"volume-{ONE}": about()}).install(monkeypatch)
    read = rbd.read_rbd(library(), [ONE], more=volumes(TWO, pools=("volumes",)))
    ((pool, image),) = [(volume.pool, volume.image) for volume in read.volumes]
    assert (pool, image.name) == ("volumes", VOLUME)
    assert image.watchers == [facts.RbdWatcher("10.0.0.1:0/9", "client.7", "3")]
    assert (f"volume-{ONE}", True) not in cluster.opened
    assert cluster.pools == ["vms", "volumes"]
    assert facts.from_plain(facts.RbdFacts, facts.to_plain(read)) == read


def test_a_pool_of_volumes_that_may_not_be_opened_is_unread_and_not_empty(monkeypatch):
    cluster = Cluster({VOLUME: about()}).install(monkeypatch)
    cluster.closed = {"ssd"}
    read = rbd.read_rbd(library(), [ONE], more=volumes(TWO, pools=("ssd", "volumes")))
    assert [volume.pool for volume in read.volumes] == ["volumes"]
    assert [entry.part for entry in read.unread] == ["volumes ssd"]
    nothing = rbd.read_rbd(library(), [ONE], more=volumes(TWO, pools=("ssd",)))
    assert (nothing.volumes, [entry.part for entry in nothing.unread]) == (None, ["volumes ssd"])
    unnamed = rbd.read_rbd(library(), [ONE], more=volumes(TWO, pools=()))
    assert (unnamed.volumes, [entry.part for entry in unnamed.unread]) == (None, ["volumes"])


def test_all_volumes_of_a_pool_are_read_by_name_and_only_volumes(monkeypatch):
    others = {f"{VOLUME}.deleted": about(), "volume-of-somebody": about(), f"{ONE}_disk": about()}
    Cluster({VOLUME: about(), **others}).install(monkeypatch)
    read = rbd.read_rbd(library(), [ONE], more=volumes(rbd.EVERY, pools=("volumes",)))
    (found,) = read.volumes
    assert (found.image.name, len(found.image.watchers)) == (VOLUME, 1)


def test_volumes_for_which_there_is_no_time_are_unread_and_the_images_are_not(monkeypatch):
    Cluster({VOLUME: about(), f"{ONE}_disk": about()}).install(monkeypatch)
    monkeypatch.setattr(rbd.time, "monotonic", iter([0, *[rbd.PATIENCE] * 9]).__next__)
    with rbd.connect(library()) as ceph:
        read = rbd.facts_of(ceph, "vms", [ONE], more=volumes(rbd.EVERY, pools=("volumes",)))
    (found,) = read.volumes
    assert (found.image.watchers, [entry.part for entry in found.image.unread]) == (None, ["image"])
    assert len(read.images[0].watchers) == 1


def test_the_commands_read_volumes_and_say_which_pool_they_may_not(commands):
    calls = commands({**healthy(), "rbd ls": [VOLUME, f"{ONE}_disk"], **image_answers(VOLUME, [WATCHER])})
    read = rbd.read_rbd(options(), [ONE], more=volumes(TWO, pools=("volumes",)))
    assert [(volume.pool, volume.image.name) for volume in read.volumes] == [("volumes", VOLUME)]
    assert read.volumes[0].image.watchers
    assert ["rbd", "ls", "--pool=volumes"] in [call[:3] for call in calls()]
    commands({**healthy(), "rbd ls": {"exit": 1, "said": "(1) Operation not permitted"}})
    denied = rbd.read_rbd(options(), [ONE], more=volumes(TWO, pools=("volumes",)))
    assert denied.volumes is None
    assert {"volumes volumes", "images"} == parts(denied)


def test_volumes_that_were_not_asked_for_are_not_looked_for(monkeypatch):
    cluster = Cluster({VOLUME: about()}).install(monkeypatch)
    assert rbd.read_rbd(library(), [ONE]).volumes is None
    assert cluster.pools == ["vms"]
    assert not any(command["prefix"] in ("mgr dump", "osd dump", "osd blocklist") for command in cluster.commands)


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ({}, rbd.ReadOptions()),
        ({"rbd_open": False}, rbd.ReadOptions(opened=False)),
        (
            {"rbd_details": True, "rbd_volumes": (TWO,), "rbd_volume_pools": ("volumes",)},
            rbd.ReadOptions(details=True, volumes=(TWO,), volume_pools=("volumes",)),
        ),
    ],
)
def test_a_host_reads_of_ceph_what_it_is_asked_for(monkeypatch, given, more):
    asked = []
    monkeypatch.setattr(rbd, "read_rbd", lambda where, *rest: asked.append((where.pool, where.user, *rest)))
    nova = builders.healthy().bundle.hosts["compute1"].nova_conf
    host._rbd(host.HostOptions("compute1", rbd_instances=(ONE,), rbd_blocklist=True, **given), nova, SERVICE)
    assert asked == [("vms", "nova", (ONE,), True, more)]


def test_the_module_takes_every_option_of_what_is_read(monkeypatch):
    asked = []

    def read_host(options, _texts):
        asked.append(options)
        return builders.healthy().bundle.hosts["compute1"]

    monkeypatch.setattr(compute_host_info.host, "read_host", read_host)
    given = {"rbd": True, "rbd_open": False, "rbd_details": True, "rbd_volumes": [TWO], "rbd_volume_pools": ["volumes"]}
    run(compute_host_info.main, given)
    run(compute_host_info.main, {})
    found = [(one.rbd_open, one.rbd_details, one.rbd_volumes, one.rbd_volume_pools) for one in asked]
    assert found == [(False, True, (TWO,), ("volumes",)), (True, False, (), ())]


def test_whether_an_image_is_locked_at_all_is_read_both_ways(monkeypatch, commands):
    answers = healthy()
    for name, features in ((f"{ONE}_disk", ["layering", "exclusive-lock"]), (f"{ONE}_disk.swap", ["layering"])):
        answers[f"rbd info {name}"] = {**answers[f"rbd info {name}"], "features": features}
    commands(answers)
    assert [image.exclusive_lock for image in rbd.read_rbd(options(), [ONE]).images] == [True, False]
    assert rbd.read_rbd(options(), [TWO]).images[0].exclusive_lock is None
    world = {f"{ONE}_disk": about(features=61), f"{ONE}_disk.swap": about(features=1), f"{TWO}_disk": about()}
    Cluster(world).install(monkeypatch)
    assert [image.exclusive_lock for image in rbd.read_rbd(library(), [ONE]).images] == [True, False]
    # Not known: its locks decide, and nothing of it is unread.
    (disk,) = rbd.read_rbd(library(), [TWO]).images
    assert (disk.exclusive_lock, disk.unread) == (None, [])


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("(1) Operation not permitted", True),
        ("[errno 1] RBD permission error (error listing images)", True),
        ("(2) No such file or directory", False),
        ("timed out", False),
    ],
)
def test_not_allowed_to_look_is_told_from_not_there(commands, said, refused):
    """V4: both were "did not find the disk"."""
    commands({**healthy(), "rbd ls": {"exit": 2, "said": said}})
    found = rbd.read_rbd(options(), [ONE], more=volumes(TWO, pools=("volumes",)))
    (reason,) = [entry.reason for entry in found.unread if entry.part == "volumes volumes"]
    assert ("no access to the pool" in reason) == refused


def test_a_host_with_local_disks_looks_for_volumes_where_it_is_asked_to(monkeypatch):
    """V10: in a cloud whose hosts have no rbd in nova.conf, nobody looked into Ceph at all."""
    cluster = Cluster({VOLUME: about(), f"{ONE}_disk": about()}).install(monkeypatch)
    cluster.closed = {"ssd"}
    nova = builders.healthy().bundle.hosts["compute1"].nova_conf
    local = dataclasses.replace(nova, images_type="qcow2", images_rbd_pool=None)
    asked = host.HostOptions("compute1", rbd_instances=(ONE,), rbd_volumes=(TWO,), rbd_volume_pools=("ssd", "volumes"))
    found = host._rbd(asked, local, SERVICE)
    assert (found.pool, found.images, [entry.image.name for entry in found.volumes]) == ("volumes", [], [VOLUME])
    for options_ in (host.HostOptions("compute1"), host.HostOptions("compute1", rbd_volume_pools=("ssd",))):
        with pytest.raises(host.HostError):
            host._rbd(options_, local, SERVICE)


def test_beside_the_operators_user_that_of_nova_is_asked_for_its_rights(monkeypatch):
    cluster = Cluster({f"{ONE}_disk": about()}).install(monkeypatch)
    nova = builders.healthy().bundle.hosts["compute1"].nova_conf
    given = {"rbd_instances": (ONE,), "rbd_details": True}
    assert host._rbd(host.HostOptions("compute1", **given), nova, SERVICE).nova_rights is None
    assert host._rbd(host.HostOptions("compute1", **given, rbd_user="nova"), nova, SERVICE).nova_rights is None
    found = host._rbd(host.HostOptions("compute1", **given, rbd_user="stackguard"), nova, SERVICE)
    assert (found.nova_rights, cluster.options["rados_id"]) == (facts.CephRights(True, True), "nova")
    cluster.connect_error = BindingError("no keyring")
    assert rbd.rights_of(library()).add is None


# --- noout ----------------------------------------------------------------------------------------------------

#: Recorded from Ceph 16: the answer to who may, and to who may not.
SAID = 'Error EINVAL: unable to parse osd id or crush node or device class: "stackguard/0". '
NOT_AN_OSD = {"exit": 22, "said": SAID}


@pytest.mark.parametrize(
    ("add", "remove", "rights"),
    [
        (NOT_AN_OSD, NOT_AN_OSD, (True, True)),
        (NOT_AN_OSD, DENIED, (True, False)),
        (DENIED, DENIED, (False, False)),
        ({"exit": 22, "said": "Error EINVAL: command not known"}, DENIED, (None, False)),
        ({"exit": 1, "said": "timed out"}, "", (None, None)),
    ],
)
def test_whether_noout_may_be_set_is_asked_without_setting_it(commands, add, remove, rights):
    calls = commands({"ceph osd add-noout stackguard/0": add, "ceph osd rm-noout stackguard/0": remove})
    with rbd.connect(options()) as ceph:
        found = ceph.noout_rights()
    assert (found.add, found.remove) == rights
    assert (found.reason is None) == all(rights)
    assert all("stackguard/0" in call for call in calls())


def test_noout_is_set_of_single_osds_by_number(commands, monkeypatch):
    calls = commands({"ceph osd add-noout osd.3 osd.4": "", "ceph osd rm-noout osd.3": ""})
    with rbd.connect(options()) as ceph:
        ceph.noout([3, 4], True)
        ceph.noout([3], False)
    assert len(calls()) == 2
    cluster = Cluster({}).install(monkeypatch)
    cluster.answers["osd add-noout"] = b""
    with rbd.connect(library()) as ceph:
        ceph.noout([3, 4], True)
        cluster.answers["osd rm-noout"] = None
        assert ceph.noout_rights().remove is False
    assert cluster.commands[0] == {"prefix": "osd add-noout", "ids": ["osd.3", "osd.4"]}


def test_osds_that_cannot_be_read_are_unread(commands):
    commands({**healthy(), "ceph osd dump": {"exit": 13, "said": "Error EACCES: access denied"}})
    for which in (rbd.FLAGGED, rbd.ALL):
        read = rbd.read_rbd(options(), [ONE], more=rbd.ReadOptions(osds=which))
        assert read.osds is None
        assert "osds" in parts(read)
    assert read.noout_rights.add is None
