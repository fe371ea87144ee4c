# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kills an operation at each of its system calls, as kill -9 would, and lends it a systemd."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import types

from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import units

#: What changes a file system, or makes a change last.
CALLS = ("replace", "rename", "unlink", "link", "open", "fsync", "fchown", "fchmod", "rmdir", "makedirs")


class Killed(BaseException):
    """The process is gone: nothing that catches errors may catch it."""


class Fuse:
    """Burns at the n-th spark, and then at every one: a process that is gone does nothing more."""

    def __init__(self, at=None):
        self.at = at
        self.sparks = 0

    def spark(self):
        self.sparks += 1
        if self.at is not None and self.sparks >= self.at:
            raise Killed


@contextlib.contextmanager
def system_calls(monkeypatch, fuse):
    """Every call in CALLS is a spark, before it is made."""
    with monkeypatch.context() as patch:
        for name in CALLS:
            real = getattr(os, name)

            def call(*args, _real=real, **kwargs):
                fuse.spark()
                return _real(*args, **kwargs)

            patch.setattr(os, name, call)
        yield


def each_kill(monkeypatch, prepare, act, limit=400):
    """Yield what ``prepare(fuse)`` made, once for each call that ``act`` can be killed at, and once unkilled."""
    for at in range(1, limit):
        fuse = Fuse()
        world = prepare(fuse)
        fuse.at = at
        fuse.sparks = 0
        try:
            with system_calls(monkeypatch, fuse):
                act(world)
        except Killed:
            fuse.at = None
            yield world
            continue
        fuse.at = None
        yield world
        assert at > 1, "nothing was done that could be killed"
        return
    raise AssertionError("never ends")


class FakeSystemd:
    """systemd as far as units.py knows it: what it has loaded differs from what lies on disk until it reloads."""

    def __init__(self, folder: pathlib.Path, fuse=None, stop_polls=2, ends_as="inactive"):
        self.folder = folder
        self.fuse = fuse or Fuse()
        self.stop_polls = stop_polls
        self.ends_as = ends_as
        self.units = {}
        self.calls = []

    def add(self, name, active=True, own_file=False):
        if own_file:
            (self.folder / name).write_text("[Service]\n")
        self.units[name] = types.SimpleNamespace(
            state="active" if active else "inactive", pid=4711 if active else 0, masked=False, drop_in="", left=0
        )

    def systemctl(self):
        return units.Systemctl(run=self.run)

    def run(self, command, **_options):
        words = [word for word in command[1:] if word != "--"]
        self.calls.append(words)
        if words[0] != "show":
            self.fuse.spark()
        try:
            out = getattr(self, words[0].replace("-", "_"))(*words[1:])
        except KeyError as error:
            return subprocess.CompletedProcess(command, 1, b"", str(error.args[0]).encode())
        return subprocess.CompletedProcess(command, 0, (out or "").encode(), b"")

    def show(self, _properties, *names):
        return "\n\n".join(self._shown(name) for name in names) + "\n"

    def _shown(self, name):
        unit = self.units.get(name)
        if unit is None:
            return f"Id={name}\nLoadState=not-found\nActiveState=inactive\nMainPID=0"
        if unit.state == "deactivating":
            unit.left -= 1
            if unit.left <= 0:
                unit.state, unit.pid = self.ends_as, 0
        drop_in = str(self.folder / f"{name}.d" / units.DROP_IN) if unit.drop_in else ""
        return (
            f"Id={name}\nLoadState={'masked' if unit.masked else 'loaded'}\nActiveState={unit.state}\nSubState=x\n"
            f"MainPID={unit.pid}\nControlGroup=\nDropInPaths={drop_in}\nFragmentPath=/lib/{name}\n"
            f"ExecStart={{ path=/usr/bin/x ; argv[]=/usr/bin/x --config-file '/etc/a b' ; ignore_errors=no }}"
        )

    def daemon_reload(self):
        for name, unit in self.units.items():
            unit.masked = (self.folder / name).is_symlink()
            drop_in = self.folder / f"{name}.d" / units.DROP_IN
            unit.drop_in = drop_in.read_text() if drop_in.exists() else ""

    def mask(self, name):
        path = self.folder / name
        if path.exists() and not path.is_symlink():
            raise KeyError(f"Failed to mask unit: File '{path}' already exists.")
        if not path.is_symlink():
            path.symlink_to("/dev/null")
        self.daemon_reload()

    def unmask(self, name):
        if (self.folder / name).is_symlink():
            (self.folder / name).unlink()
        self.daemon_reload()

    def stop(self, _no_block, name):
        unit = self.units[name]
        assert not unit.masked or unit.state != "active", "the mask was loaded before the unit was stopped"
        if unit.state == "active":
            unit.state, unit.left = "deactivating", self.stop_polls

    def start(self, _no_block, name):
        if self.refuses(name):
            raise KeyError(f"{name}: refused")
        self.units[name].state, self.units[name].pid = "active", 4712

    def refuses(self, name):
        unit = self.units[name]
        guarded = unit.drop_in.partition("AssertPathExists=!")[2].strip()
        return unit.masked or bool(guarded and os.path.exists(guarded))

    def reset_failed(self, name):
        self.units[name].state = "inactive"

    def reboot(self):
        """What a boot would make of it: everything is loaded anew, and what may start does."""
        self.daemon_reload()
        for name, unit in self.units.items():
            unit.state, unit.pid = ("inactive", 0) if self.refuses(name) else ("active", 4713)
