# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Containers with a host name of their own, in a rename: put aside, name changed, created again, removed.

A container is put aside by another name: then neither its unit nor a person starts it (C(podman start)), the
deployment tool finds none and creates one, and a rollback has the old one back, with the old name in it. Whatever is
renamed or removed is the container of that id, and no other.

The name in a container changes at once by its UTS namespace, and libvirt says the new one without a restart. That lasts
until the container's next start.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
import typing as t

from . import (
    commands,
    guest_groups,
    libvirt,
    name_spaces,
    units,
)
from .reading import HostError
from .step_error import HostStepError

Params = t.Mapping[str, t.Any]
Result = t.Dict[str, t.Any]
Sleep = t.Callable[[float], None]

#: Seconds for one command of an engine.
_PATIENCE = 120
#: Seconds until a libvirt that was started answers.
LIBVIRT_PATIENCE = 60
#: Tries to remove a container: its storage may be busy for a moment.
_TRIES = 5
_SET_NAME = "import socket, sys; socket.sethostname(sys.argv[1])"


@dataclasses.dataclass(frozen=True)
class Container:
    """A container as its engine shows it. ``pid``: 0 where it does not run."""

    id: str
    pid: int


class Engine:
    """podman or docker. ``run`` is replaced in tests."""

    def __init__(self, name: str, run: t.Optional[t.Callable[..., t.Any]] = None) -> None:
        self.name = name
        self._run = run or commands.run

    def find(self, name: str) -> t.Optional[Container]:
        """Return a container; None: there is none of that name. Raises HostStepError."""
        try:
            said = self.call("container", "inspect", "--format", "{{.Id}} {{.State.Running}} {{.State.Pid}}", name)
        except _NoContainerError:
            return None
        words = said.split()
        if len(words) != 3:
            raise HostStepError(f"{self.name} container inspect {name}: the answer cannot be parsed")
        return Container(words[0], int(words[2]) if words[1] == "true" else 0)

    def made_name(self, name: str) -> t.Optional[str]:
        """Return the host name that a container gets at each start; None: the host's. Raises HostStepError."""
        said = self.call("container", "inspect", "--format", "{{.HostConfig.UTSMode}}|{{.Config.Hostname}}", name)
        mode, sign, made = said.strip().partition("|")
        if not sign:
            raise HostStepError(f"{self.name} container inspect {name}: the answer cannot be parsed")
        return None if mode == "host" else made

    def rename(self, old: str, new: str) -> None:
        """Give a container another name. Raises HostStepError."""
        self.call("rename", old, new)

    def remove(self, name: str, sleep: Sleep) -> None:
        """Remove a container, whether it runs or not; its volumes stay. Raises HostStepError."""
        for left in reversed(range(_TRIES)):
            try:
                self.call("rm", "--force", name)
            except _NoContainerError:
                return
            except HostStepError:
                if not left:
                    raise
                sleep(1)
            else:
                return

    def call(self, *arguments: str) -> str:
        """Run one command of the engine. Raises HostStepError."""
        what = f"{self.name} {' '.join(arguments[:2])}"
        try:
            done = self._run([self.name, *arguments], _PATIENCE, variables={"LC_ALL": "C"})
        except subprocess.TimeoutExpired:
            raise HostStepError(f"{what}: no answer within {_PATIENCE} s") from None
        except OSError as error:
            raise HostStepError(f"{what}: {error.strerror}") from None
        if done.returncode:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())[-400:]
            kind = _NoContainerError if "no such container" in said.casefold() else HostStepError
            raise kind(f"{what}: {said}")
        return str(done.stdout.decode("utf-8", "replace"))


class _NoContainerError(HostStepError):
    """The engine knows no container of that name."""


def _engine(params: Params) -> Engine:
    return Engine(str(params["engine"]))


# --- put aside --------------------------------------------------------------------------------------------------


class SetAside:
    """Give stopped containers a name that neither a unit nor a deployment tool knows; undone by the old name."""

    def is_done(self, params: Params) -> Result:
        """Whether none has its name any more."""
        engine = _engine(params)
        return {"done": all(_is(engine.find(str(item["aside"])), item) for item in params["containers"])}

    def apply(self, params: Params) -> Result:
        """Look at all of them first, then rename one after the other."""
        engine = _engine(params)
        todo = [item for item in params["containers"] if not _is(engine.find(str(item["aside"])), item)]
        for item in todo:
            self._check(engine, item)
        for name in params.get("free") or ():
            if engine.find(str(name)) is not None and name not in {item["aside"] for item in params["containers"]}:
                raise HostStepError(_left_over(engine, str(name)), changed_meanwhile=True, problem="left-over")
        # A later step sets these aside: nothing but preparations is done now, and can be undone at once.
        for item in params.get("known") or ():
            _same(engine.find(str(item["name"])), item)
        for item in todo:
            engine.rename(str(item["name"]), str(item["aside"]))
        return {}

    @staticmethod
    def _check(engine: Engine, item: Params) -> None:
        found = _same(engine.find(str(item["name"])), item)
        if found.pid:
            raise HostStepError(
                f"container {item['name']} still runs (process {found.pid})",
                changed_meanwhile=True,
                problem="container-still-runs",
            )
        if engine.find(str(item["aside"])) is not None:
            raise HostStepError(_left_over(engine, str(item["aside"])), changed_meanwhile=True, problem="left-over")

    def verify(self, params: Params) -> Result:
        """See them under the other name only."""
        engine = _engine(params)
        for item in params["containers"]:
            if not _is(engine.find(str(item["aside"])), item):
                raise HostStepError(f"container {item['name']} is not named {item['aside']}")
            if engine.find(str(item["name"])) is not None:
                raise HostStepError(f"a new container {item['name']} exists", problem="new-container-exists")
        return {"remark": ", ".join(f"{item['name']} is now {item['aside']}" for item in params["containers"])}

    def undo(self, params: Params) -> Result:
        """Give the old names back. What has another container's name by now is left, and said.

        Somebody may have removed what was put aside (C(podman container prune)). Then a container that was created
        under the old name serves as well.
        """
        engine = _engine(params)
        for item in params["containers"]:
            here, aside = engine.find(str(item["name"])), engine.find(str(item["aside"]))
            if _is(here, item):
                continue
            if not _is(aside, item):
                if here is not None and engine.made_name(str(item["name"])) == params.get("made_name", ""):
                    continue
                raise HostStepError(
                    f"the old container {item['name']} no longer exists: let your deployment tool create the container "
                    f"with the host name {params.get('made_name', 'that the host had before the rename')}, then run "
                    "the rollback again",
                    problem="old-container-no",
                )
            if here is not None:
                raise HostStepError(
                    f"{engine.name} has another container {item['name']}: remove that container, then run the rollback "
                    "again",
                    problem="another-container-remove",
                )
            engine.rename(str(item["aside"]), str(item["name"]))
        return {}


def _is(found: t.Optional[Container], item: Params) -> bool:
    return found is not None and found.id == item["id"]


def _same(found: t.Optional[Container], item: Params) -> Container:
    """Return the container, if it is the one that the plan knows. Raises HostStepError."""
    if found is None or found.id != item["id"]:
        is_now, key = ("was removed", "container-removed") if found is None else ("was created again", "container-new")
        raise HostStepError(
            f"container {item['name']} {is_now} after the run had read it",
            changed_meanwhile=True,
            problem=key,
        )
    return found


def _left_over(engine: Engine, name: str) -> str:
    return f"a container {name} is left over from an earlier operation: remove it with {engine.name} rm {name}"


class ForgetAside:
    """Remove what was put aside, when the operation has come to its end. It cannot be taken back."""

    def __init__(self, sleep: Sleep = time.sleep) -> None:
        self.sleep = sleep

    def is_done(self, params: Params) -> Result:
        """Whether none is left."""
        engine = _engine(params)
        return {"done": all(engine.find(str(item["aside"])) is None for item in params["containers"])}

    def apply(self, params: Params) -> Result:
        """Remove each that is the one that was put aside."""
        engine = _engine(params)
        for item in params["containers"]:
            if _is(engine.find(str(item["aside"])), item):
                engine.remove(str(item["aside"]), self.sleep)
        return {}

    def verify(self, params: Params) -> Result:
        """See none of them."""
        if not self.is_done(params)["done"]:
            raise HostStepError("an old container that the run renamed still exists", problem="old-container-renamed")
        return {"remark": f"removed {', '.join(str(item['aside']) for item in params['containers'])}"}

    def undo(self, params: Params) -> Result:
        """Nothing: a rollback says what is missing where it needs it."""
        return {}


# --- guests in a container --------------------------------------------------------------------------------------


def guests_inside(params: Params) -> t.List[str]:
    """Return guests in the control group of a container, except those C(known) to be there. Raises HostStepError.

    They end with the container. What the deployment tool created since the plan may start guests there.
    """
    engine = _engine(params)
    found = [engine.find(str(name)) for name in params["containers"]]
    ids = {item.id for item in found if item is not None}
    return [uuid for uuid in guest_groups.inside(ids) if uuid not in params.get("known", ())] if ids else []


def refuse_guests_inside(params: Params) -> None:
    """Raise HostStepError where a stop of these containers ends a guest."""
    doomed = guests_inside(params)
    if doomed:
        raise HostStepError(
            f"the step would end these guests, because each guest is in the control group of a container that the step "
            f"stops: {', '.join(doomed)} (SG127)",
            problem="would-end-processes",
        )


# --- the name in a container ------------------------------------------------------------------------------------


def set_name(params: Params, name: str, run: t.Optional[t.Callable[..., t.Any]] = None) -> None:
    """Set the name in a container's UTS namespace, and never the host's. Raises HostStepError."""
    pid = _running(params)
    if not _own(pid) or name_spaces.name_in(pid) == name:
        return
    command = ["nsenter", f"--target={pid}", "--uts", sys.executable, "-I", "-c", _SET_NAME, name]
    try:
        done = (run or commands.run)(command, _PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostStepError(f"nsenter --target={pid} --uts: {error}") from error
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[-400:]
        raise HostStepError(f"nsenter --target={pid} --uts: {said}")


def _running(params: Params) -> int:
    name = str(params["container"])
    found = _engine(params).find(name)
    if found is None or not found.pid:
        raise HostStepError(f"container {name} is not running", problem="container-not-running")
    return found.pid


def _own(pid: int) -> bool:
    """Whether a process has a UTS namespace of its own. Raises HostStepError where it is not known."""
    try:
        return os.readlink(f"/proc/{pid}/ns/uts") != name_spaces.host_namespace("/proc")
    except (OSError, HostError) as error:
        raise HostStepError(f"process {pid}: {error}") from error


def libvirt_says(uri: str, sleep: Sleep = time.sleep, patience: float = LIBVIRT_PATIENCE) -> str:
    """Return libvirt's host name, and wait for a libvirt that was just started. Raises HostError."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return libvirt.hostname(uri)
        except HostError:
            if time.monotonic() > deadline:
                raise
        sleep(1)


class LibvirtName:
    """libvirt's new name before anything is written: in the UTS namespace of its container, read through libvirt."""

    def is_done(self, params: Params) -> Result:
        """Whether libvirt says the new name."""
        return {"done": libvirt.hostname(str(params["libvirt"]["uri"])) == params["libvirt"]["after"]}

    def apply(self, params: Params) -> Result:
        """Set the name. Where libvirt says another one, the old name is back before the error is told."""
        set_name(params, str(params["after"]))
        seen = libvirt_says(str(params["libvirt"]["uri"]))
        if seen != params["libvirt"]["after"]:
            set_name(params, str(params["before"]))
            raise HostStepError(
                f"libvirt reports the name {seen} for this host, not {params['libvirt']['after']}. The run has "
                f"restored the name {params['before']} in container {params['container']}",
                changed_meanwhile=True,
                problem="libvirt-name",
            )
        return {}

    def verify(self, params: Params) -> Result:
        """Read it through libvirt."""
        seen = libvirt.hostname(str(params["libvirt"]["uri"]))
        if seen != params["libvirt"]["after"]:
            raise HostStepError(f"libvirt reports the name {seen} for this host, not {params['libvirt']['after']}")
        return {"remark": f"libvirt reports the name {seen}"}

    def undo(self, params: Params) -> Result:
        """Set the old name, and read it through libvirt."""
        set_name(params, str(params["before"]))
        seen = libvirt_says(str(params["libvirt"]["uri"]))
        if seen != params["libvirt"]["before"]:
            raise HostStepError(f"libvirt reports the name {seen} for this host, not {params['libvirt']['before']}")
        return {}


def _refuse_old_name(engine: Engine, item: Params, wanted: str) -> None:
    """Raise HostStepError for a container that a unit would start under another name than the host's new one."""
    name = str(item["name"])
    found = engine.find(name)
    if found is None:
        return
    if found.id == item["id"]:
        raise HostStepError(
            f"the old container {name} has its old name again. To repair this, run {engine.name} rename {name} "
            f"{item['aside']}. Then run the playbook again"
        )
    made = engine.made_name(name)
    if made not in (None, wanted):
        raise HostStepError(
            f"a container named {name} exists, and the host name inside this container is {made}. To remove the "
            f"container, run {engine.name} rm --force {name}. Then run the playbook again"
        )


# --- created again ----------------------------------------------------------------------------------------------


class NewContainers:
    """Let the operator's deployment tool create containers again: their units may start; then look at what it made."""

    def __init__(self, state_dir: str, systemctl: units.Systemctl, sleep: Sleep = time.sleep) -> None:
        self.state_dir = state_dir
        self.systemctl = systemctl
        self.sleep = sleep

    def is_done(self, params: Params) -> Result:
        """Whether every container is there with the new name."""
        shown = self.verify(params)
        return {"done": not shown["missing"] and not shown["waiting"] and not shown["wrong"]}

    def apply(self, params: Params) -> Result:
        """Let the units start. They start nothing yet: their containers are put aside.

        A unit that has failed, after a slow stop or after a boot without its container, may start at once. Somebody may
        have created a container in the meantime, or given one its old name back: no unit may start that.
        """
        engine = _engine(params)
        for item in params["containers"]:
            _refuse_old_name(engine, item, str(params["name"]))
        for item in params["containers"]:
            name = units.full_name(str(item["unit"]))
            units.unblock(name, self.state_dir, self.systemctl)
            (shown,) = self.systemctl.show([name])
            if shown.get("ActiveState") == "failed":
                self.systemctl.call("reset-failed", "--", name)
        return {}

    def verify(self, params: Params) -> Result:
        """Return containers that are C(missing), those that do not run yet (C(waiting)), and C(wrong) names.

        One that was created and not started, because the tool was killed in between, counts as missing.
        """
        engine = _engine(params)
        result: t.Dict[str, t.List[str]] = {"missing": [], "waiting": [], "wrong": []}
        for item in params["containers"]:
            name, found = str(item["name"]), engine.find(str(item["name"]))
            if found is None or found.id == item["id"]:
                result["missing"].append(name)
            elif not found.pid:
                result["waiting" if self._starts(item) else "missing"].append(name)
            else:
                seen = name_spaces.name_in(found.pid)
                if seen is None:
                    result["waiting"].append(name)
                elif seen != params["name"]:
                    result["wrong"].append(f"{name} has the host name {seen}, not {params['name']}")
        if not any(result.values()):
            self._libvirt(params, result)
        return dict(result)

    def _starts(self, item: Params) -> bool:
        (shown,) = self.systemctl.show([units.full_name(str(item["unit"]))])
        return shown.get("ActiveState") in ("active", "activating")

    @staticmethod
    def _libvirt(params: Params, result: t.Dict[str, t.List[str]]) -> None:
        about = params["libvirt"]
        try:
            seen = libvirt.hostname(str(about["uri"]))
        except HostError:
            result["waiting"].append("libvirt")
            return
        if seen != about["after"]:
            result["wrong"].append(f"libvirt reports the name {seen} for this host, not {about['after']}")

    def undo(self, params: Params) -> Result:
        """Hold the units again, stop them, and remove the new containers. The old ones are never removed here."""
        engine = _engine(params)
        called = [str(item["name"]) for item in params["containers"]]
        known = params.get("known_inside", ())
        refuse_guests_inside({"engine": params["engine"], "containers": called, "known": known})
        names = [units.full_name(str(item["unit"])) for item in params["containers"]]
        for name in names:
            units.block(name, self.state_dir, self.systemctl)
        for name in names:
            units.stop(name, self.systemctl)
        self._wait_stopped(names, int(params["timeout"]))
        for item in params["containers"]:
            found = engine.find(str(item["name"]))
            if found is not None and found.id != item["id"]:
                engine.remove(str(item["name"]), self.sleep)
        return {}

    def _wait_stopped(self, names: t.Sequence[str], timeout: int) -> None:
        _wait_stopped(self.systemctl, names, timeout, self.sleep)


def _wait_stopped(systemctl: units.Systemctl, names: t.Sequence[str], timeout: int, sleep: Sleep) -> None:
    deadline = time.monotonic() + timeout
    while True:
        left = [name for name, shown in zip(names, systemctl.show(names)) if not units.is_stopped(shown)]
        if not left:
            return
        if time.monotonic() > deadline:
            raise HostStepError(
                f"these units have not stopped after {timeout} s: {', '.join(left)}", problem="units-not-stopped"
            )
        sleep(1)


class HoldContainers:
    """Hold and stop units again whose containers were created with a wrong name. The next try lets them start."""

    def __init__(self, state_dir: str, systemctl: units.Systemctl, sleep: Sleep = time.sleep) -> None:
        self.state_dir = state_dir
        self.systemctl = systemctl
        self.sleep = sleep

    def is_done(self, params: Params) -> Result:
        """Whether none of them runs."""
        names = self._names(params)
        return {"done": all(units.is_stopped(shown) for shown in self.systemctl.show(names))}

    def apply(self, params: Params) -> Result:
        """Hold and stop them."""
        names = self._names(params)
        for name in names:
            units.block(name, self.state_dir, self.systemctl)
        for name in names:
            units.stop(name, self.systemctl)
        if names:
            _wait_stopped(self.systemctl, names, int(params["timeout"]), self.sleep)
        return {}

    def verify(self, params: Params) -> Result:
        """See none of them run."""
        if not self.is_done(params)["done"]:
            raise HostStepError("a unit is running, but the run must keep this unit stopped")
        return {}

    def undo(self, params: Params) -> Result:
        """Nothing: the step that lets them start is its own way back."""
        return {}

    @staticmethod
    def _names(params: Params) -> t.List[str]:
        return [units.full_name(str(name)) for name in params.get("held") or ()]
