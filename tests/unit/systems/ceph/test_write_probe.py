# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether Ceph can be written from a host: only what is read back proves it, and nothing stays behind."""

from __future__ import annotations

import contextlib
import json
import stat
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import rbd

#: Keeps attributes in a file, as a pool does; ``world`` says what it refuses, and what it reads back instead.
RADOS = """#!{python}
import json, sys
words = [word for word in sys.argv[1:] if not word.startswith("--")]
world = json.load(open({world!r}))
world["calls"].append([word for word in sys.argv[1:] if word.startswith("--pool") or not word.startswith("--")])
json.dump(world, open({world!r}, "w"))
act, name = words[0], words[1]
if act in world["refused"]:
    sys.stderr.write("error: " + world["refused"][act])
    sys.exit(1)
if act == "setxattr":
    world["objects"][name] = words[3]
elif act == "rm":
    world["objects"].pop(name, None)
else:
    print(world["instead"] or world["objects"][name])
json.dump(world, open({world!r}, "w"))
"""


@pytest.fixture
def pool(tmp_path, monkeypatch):
    """``rados`` with a pool; what it knows at the end."""
    world, program = tmp_path / "world.json", tmp_path / "rados"
    program.write_text(RADOS.format(python=sys.executable, world=str(world)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def set_up(refused=(), instead=""):
        empty = {"calls": [], "objects": {"rbd_header.1": "x"}, "refused": dict(refused), "instead": instead}
        world.write_text(json.dumps(empty))
        return lambda: json.loads(world.read_text())

    return set_up


def probe(via=rbd.COMMAND):
    return rbd.write_probe(rbd.RbdOptions(pool="vms", via=via))


def test_what_was_written_is_read_back_and_removed(pool):
    seen = pool()
    assert probe() is True
    assert [call[0] for call in seen()["calls"]] == ["setxattr", "getxattr", "rm"]
    assert all("--pool=vms" in call for call in seen()["calls"])
    assert seen()["objects"] == {"rbd_header.1": "x"}, "no image was touched"


@pytest.mark.parametrize("act", ["setxattr", "getxattr", "rm"])
def test_whatever_is_refused_proves_nothing(pool, act):
    """A client on the blocklist (108), a user that may only read (1), a pool that is full (28)."""
    seen = pool({act: "(108) Cannot send after transport endpoint shutdown"})
    with pytest.raises(rbd.CephError):
        probe()
    if act == "getxattr":
        assert seen()["objects"] == {"rbd_header.1": "x"}, "it is removed, whatever was read"


def test_what_is_not_what_was_written_proves_nothing(pool):
    """Another host that calls itself the same writes the same object."""
    pool(instead="another")
    with pytest.raises(rbd.CephError):
        probe()


class Bindings:
    """The Python bindings' pool: what is written to it is there."""

    def __init__(self, fails=None):
        self.fails, self.objects, self.done = fails, {}, []

    def _act(self, name):
        self.done.append(name)
        if name == self.fails:
            raise rbd.CephError(f"{name}: error 108")

    def written(self, name, text):
        """As the class does that has the bindings."""
        self._act("write")
        self.objects[name] = text
        try:
            self._act("read")
            return self.objects[name]
        finally:
            self._act("remove")
            del self.objects[name]


@pytest.mark.parametrize("fails", [None, "write", "read", "remove"])
def test_by_the_bindings_an_error_proves_nothing(monkeypatch, fails):
    ceph = Bindings(fails)
    monkeypatch.setattr(rbd, "connect", lambda _options: contextlib.nullcontext(ceph))
    if fails is None:
        assert probe(rbd.LIBRARY) is True and ceph.objects == {}
        return
    with pytest.raises(rbd.CephError):
        probe(rbd.LIBRARY)
