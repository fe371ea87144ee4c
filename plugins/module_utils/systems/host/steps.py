# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a plan's steps do on the compute host: requests in, results out, in order, up to the first that fails.

Every action can be carried out again and taken back, whether it was done wholly, partly or not at all; each is
guarded by the values that were read when the plan was made.
"""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import time
import typing as t

from ...model.host_facts import to_plain
from ...model.wording import count
from . import (
    commands,
    compute_id,
    containers,
    instance_dirs,
    libvirt,
    line_edits,
    logs,
    probes,
    processes,
    rehearsal,
    units,
)
from . import names as host_names
from .journal_keeper import ERRORS, JournalKeeper, Params, Result
from .step_error import HostStepError

#: What a stop must leave no process of, where the operator's own commands stop it.
PROGRAMS = ("nova-compute",)
#: Seconds that verifying a start of one unit may take.
START_TIMEOUT = 120


class HostAction(t.Protocol):
    """One kind of step."""

    def is_done(self, params: Params) -> Result:
        """Return ``{"done": bool}``."""

    def apply(self, params: Params) -> Result:
        """Do it."""

    def verify(self, params: Params) -> Result:
        """Prove that it is done, or raise."""

    def undo(self, params: Params) -> Result:
        """Take it back."""


# --- units ------------------------------------------------------------------------------------------------------


class _UnitAction:
    """What stopping and starting share: the units, or the operator's own commands in their place."""

    def __init__(
        self, state_dir: str, systemctl: units.Systemctl, sleep: t.Callable[[float], None] = time.sleep
    ) -> None:
        self.state_dir = state_dir
        self.systemctl = systemctl
        self.sleep = sleep

    def stop_begin(self, params: Params) -> Result:
        """Keep everything from starting, then ask it to stop. Units are not waited for; the operator's command is."""
        if _commands(params):
            units.mark("command", self.state_dir)
            _command(params.get("mask_command"), params)
            _command(params["stop_command"], params)
            return {}
        if params.get("guests_outside"):
            containers.refuse_guests_inside(params["guests_outside"])
        for name in _names(params):
            units.block(name, self.state_dir, self.systemctl)
        for name in _names(params):
            units.stop(name, self.systemctl)
        return {}

    def stop_poll(self, params: Params, settle: bool = True) -> Result:
        """Return ``{"stopped", "seconds", "state"}``. What is stopped is locked for good (``settle``)."""
        if _commands(params):
            left = _left(params)
            seconds = units.seconds_since("command", self.state_dir)
            return {
                "stopped": not left,
                "seconds": seconds,
                "state": _left_text(left) if left else "no process is left",
            }
        names = _names(params)
        shown = dict(zip(names, self.systemctl.show(names)))
        pending = [name for name in names if not units.is_stopped(shown[name])]
        if settle:
            for name in names:
                if name not in pending:
                    units.settle(name, self.systemctl)
        state = ", ".join(f"{name} {units.state_text(shown[name])}" for name in pending or names)
        left = _contained(params)
        seconds = max((units.seconds_since(name, self.state_dir) for name in names), default=0)
        if left:
            state = f"{state}; {_left_text(left)}"
        return {"stopped": not pending and not left, "seconds": seconds, "state": state}

    def _stop(self, params: Params) -> Result:
        self.stop_begin(params)
        while True:
            answer = self.stop_poll(params)
            if answer["stopped"]:
                return {}
            if answer["seconds"] > int(params["timeout"]):
                raise HostStepError(
                    f"the service has not stopped after {answer['seconds']} s: {answer['state']}",
                    problem="service-not-stopped",
                )
            self.sleep(1)

    def _verify_stopped(self, params: Params) -> Result:
        if _commands(params):
            left = _left(params)
            if left:
                raise HostStepError(_left_text(left))
            return {"remark": "no process is left"}
        names = _names(params)
        for name, shown in zip(names, self.systemctl.show(names)):
            if not units.is_blocked(name, shown, self.state_dir):
                raise HostStepError(f"{name} is not masked", problem="not-masked")
            if not units.is_stopped(shown):
                raise HostStepError(
                    f"{name} is not stopped: {units.state_text(shown)}, main process {shown.get('MainPID')}",
                    problem="not-stopped",
                )
        left = _contained(params)
        if left:
            raise HostStepError(_left_text(left))
        return {"remark": f"stopped and masked: {', '.join(_stopped_as(names, self.systemctl.show(names)))}"}

    def _start(self, params: Params) -> Result:
        if _commands(params):
            _command(params.get("unmask_command"), params)
            _command(params["start_command"], params)
            units.unmark("command", self.state_dir)
            return {}
        for name in _names(params):
            units.unblock(name, self.state_dir, self.systemctl, keep_mask=name in _masked_names(params))
        for name in _active_names(params):
            units.start(name, self.systemctl)
        return {}

    def _verify_started(self, params: Params) -> Result:
        if _commands(params):
            return {"remark": "started with start_command"}
        states = [
            f"{name} {units.wait_started(name, START_TIMEOUT, self.systemctl, self.sleep)}"
            for name in _active_names(params)
        ]
        return {"remark": ", ".join(states) or "not started, because the units were not active before"}

    def _is_started(self, params: Params) -> bool:
        names = _names(params)
        wanted = set(_active_names(params))
        return all(
            (name in _masked_names(params) or not units.is_blocked(name, shown, self.state_dir))
            and (name not in wanted or shown.get("ActiveState") == "active")
            for name, shown in zip(names, self.systemctl.show(names))
        )

    def _is_stopped(self, params: Params) -> bool:
        try:
            self._verify_stopped(params)
        except HostStepError:
            return False
        return True


class StopUnits(_UnitAction):
    """Stop units and keep them from starting; undone by letting those that were active start."""

    def is_done(self, params: Params) -> Result:
        """Whether all are stopped and kept from starting."""
        return {"done": self._is_stopped(params)}

    def apply(self, params: Params) -> Result:
        """Stop, and wait as long as the plan allows."""
        return self._stop(params)

    def verify(self, params: Params) -> Result:
        """Prove that nothing runs and nothing can start."""
        return self._verify_stopped(params)

    def undo(self, params: Params) -> Result:
        """Start what was active, and see it active."""
        self._start(params)
        return self._verify_started(params)


class StartUnits(_UnitAction):
    """Let units start and start those that were active; undone by stopping them."""

    def is_done(self, params: Params) -> Result:
        """Whether all may start, and all that were active are; never known of the operator's own commands."""
        return {"done": not _commands(params) and self._is_started(params)}

    def apply(self, params: Params) -> Result:
        """Start, without waiting."""
        return self._start(params)

    def verify(self, params: Params) -> Result:
        """See them active. It proves little of nova-compute: another step looks for its proofs."""
        return self._verify_started(params)

    def undo(self, params: Params) -> Result:
        """Stop, and wait as long as the plan allows."""
        self._stop(params)
        return self._verify_stopped(params)


class RestartUnits:
    """Start units anew that run, or that gave up. Nothing to prove here, and nothing to take back."""

    def __init__(self, systemctl: units.Systemctl) -> None:
        self.systemctl = systemctl

    def is_done(self, params: Params) -> Result:
        """Never: it is asked for where the last start did not do."""
        return {"done": False}

    def apply(self, params: Params) -> Result:
        """Restart each."""
        for name in params["units"]:
            units.restart(units.full_name(str(name)), self.systemctl)
        return {}

    def verify(self, params: Params) -> Result:
        """The proofs are another step's."""
        return {}

    def undo(self, params: Params) -> Result:
        """Nothing was changed."""
        return {}


def _commands(params: Params) -> bool:
    given = bool(params.get("stop_command") and params.get("start_command"))
    if not given and not params["units"]:
        raise HostStepError(
            "the run cannot stop and start the service, because the run knows no systemd unit of the service, and "
            "stop_command or start_command is not set",
            problem="cannot-toggle",
        )
    return given


def _names(params: Params) -> t.List[str]:
    return [units.full_name(str(unit["name"])) for unit in params["units"]]


def _stopped_as(names: t.Sequence[str], shown: t.Sequence[units.Properties]) -> t.List[str]:
    """Return the units' names, and how one ended that systemd takes for failed: it had to kill what was left."""
    failed = {name for name, found in zip(names, shown) if found.get("ActiveState") == "failed"}
    return [f"{name} (systemd shows the unit as failed)" if name in failed else name for name in names]


def _active_names(params: Params) -> t.List[str]:
    return [units.full_name(str(unit["name"])) for unit in params["units"] if unit["active"]]


def _masked_names(params: Params) -> t.List[str]:
    """Return the units that were masked before the operation began."""
    return [units.full_name(str(unit["name"])) for unit in params["units"] if unit.get("masked")]


def _left(params: Params) -> t.List[int]:
    programs = params.get("process_patterns") or PROGRAMS
    return sorted({pid for program in programs for pid in processes.running(str(program))})


def _contained(params: Params) -> t.List[int]:
    """Return what runs on in a container whose unit may have stopped without it."""
    return sorted({pid for program in params.get("programs") or () for pid in processes.running(str(program))})


def _left_text(pids: t.Sequence[int]) -> str:
    return f"processes are still running: {', '.join(map(str, pids))}"


def _command(line: t.Optional[str], params: Params) -> None:
    """Run one of the operator's own commands, without a shell. Its exit status decides."""
    if not line:
        return
    try:
        done = commands.run(shlex.split(line), int(params["timeout"]), merged=True)
    except subprocess.TimeoutExpired:
        raise HostStepError(f"{line}: did not end within {params['timeout']} s", problem="timed-out") from None
    except (OSError, ValueError) as error:
        raise HostStepError(f"{line}: {error}") from error
    if done.returncode:
        said = done.stdout.decode("utf-8", "replace").strip()[-logs.WIDTH :]
        raise HostStepError(f"{line}: exit status {done.returncode}: {said}", problem="exit-status")


# --- names ------------------------------------------------------------------------------------------------------


class HostNames:
    """The host's own name and the files that bear it. All of it is checked before the first of it is changed."""

    def __init__(self, state_dir: str) -> None:
        self.state_dir = state_dir

    def is_done(self, params: Params) -> Result:
        """Whether everything bears the new name."""
        try:
            self._prove(params, "after")
        except HostStepError:
            return {"done": False}
        return {"done": True}

    def apply(self, params: Params) -> Result:
        """Give the new names."""
        return self._change(params, "before", "after")

    def verify(self, params: Params) -> Result:
        """Prove that everything bears the new name, libvirt included."""
        self._prove(params, "after")
        return {"remark": f"libvirt reports the name {params['libvirt']['after']}"}

    def undo(self, params: Params) -> Result:
        """Give the old names back, and prove it."""
        self._change(params, "after", "before")
        self._prove(params, "before")
        return {"remark": f"libvirt reports the name {params['libvirt']['before']}"}

    def _change(self, params: Params, old: str, new: str) -> Result:
        lines = _line_edits(params, new)
        name, external = params.get("static_hostname"), params.get("ovs_external_ids") or {}
        try:
            self._check(lines, name, external)
        except (HostStepError, *ERRORS) as error:
            raise HostStepError(
                f"nothing was changed on this host: {error}", changed_meanwhile=True, problem="kernel-refused"
            ) from error
        line_edits.apply(lines, self.state_dir)
        if external:
            current = host_names.ovs_external_ids()
            for key in sorted(key for key in external if current.get(key) != external[key][new]):
                host_names.set_ovs_external_id(key, external[key][new])
        if name:
            host_names.set_name(name[new], self.state_dir)
            # A host that was renamed by hand may have had two: the kernel's was another than the static one.
            host_names.set_kernel_name(_kernel(name, new))
        for entry in params.get("container_names") or ():
            containers.set_name(entry, str(entry[new]))
        return {}

    def _check(self, lines: t.Sequence[line_edits.LineEdit], name: t.Optional[Params], external: Params) -> None:
        line_edits.check(lines, self.state_dir)
        if name:
            for what, value in _own_names():
                if value not in (name["before"], name["after"], _kernel(name, "before")):
                    raise HostStepError(f"{what} is {value}, neither {name['before']} nor {name['after']}")
        current = host_names.ovs_external_ids() if external else {}
        for key, values in external.items():
            if current.get(key) not in (values["before"], values["after"]):
                raise HostStepError(f"Open vSwitch external_ids:{key} is {current.get(key)}, not {values['before']}")

    def _prove(self, params: Params, wanted: str) -> None:
        left = line_edits.done(_line_edits(params, wanted), self.state_dir)
        if left:
            raise HostStepError(
                f"these lines differ from the expected lines: {line_edits.describe(left)}", problem="lines-differ"
            )
        name, external = params.get("static_hostname"), params.get("ovs_external_ids") or {}
        for what, value in _own_names() if name else []:
            expected = _kernel(name, wanted) if name and what == KERNEL else (name or {})[wanted]
            if value != expected:
                raise HostStepError(f"{what} is {value}, not {expected}")
        current = host_names.ovs_external_ids() if external else {}
        for key, values in external.items():
            if current.get(key) != values[wanted]:
                raise HostStepError(f"Open vSwitch external_ids:{key} is {current.get(key)}, not {values[wanted]}")
        about = params["libvirt"]
        # A container of libvirt may have been started a moment ago.
        seen = (containers.libvirt_says if params.get("container_names") else libvirt.hostname)(about["uri"])
        if seen != about[wanted]:
            raise HostStepError(
                f"libvirt reports the name {seen} for this host, not {about[wanted]}. Nova would use the name {seen}",
                problem="libvirt-name",
            )


def _line_edits(params: Params, wanted: str) -> t.List[line_edits.LineEdit]:
    found = [
        line_edits.LineEdit(str(item["path"]), int(item["number"]), str(item["before"]), str(item["after"]))
        for item in params["line_edits"]
    ]
    return found if wanted == "after" else [edit.reversed() for edit in found]


KERNEL = "the kernel's host name"


def _kernel(name: Params, wanted: str) -> str:
    """Return the kernel's host name before or after: the static one, unless the plan found another."""
    return str(name.get(f"kernel_{wanted}", name[wanted]))


def _own_names() -> t.List[t.Tuple[str, str]]:
    kernel, static = host_names.kernel_name(), host_names.static_name()
    names = [(KERNEL, kernel)]
    # None: no static name is set, so that the kernel's is all there is.
    return names if static is None else [*names, ("the static host name", static)]


class OvsHostname:
    """The hostname of OVN's chassis, as Open vSwitch's external_ids say it. ovn-controller carries it on at once.

    By ovs-vsctl, with its output as JSON: ovsdbapp is not installed on compute hosts, and they get nothing but what
    their distribution has.
    """

    def is_done(self, params: Params) -> Result:
        """Whether each key has its new value."""
        current = host_names.ovs_external_ids()
        return {"done": all(current.get(key) == value["after"] for key, value in params["keys"].items())}

    def apply(self, params: Params) -> Result:
        """Set the new values."""
        return self._set(params, "before", "after")

    def verify(self, params: Params) -> Result:
        """See them set."""
        if not self.is_done(params)["done"]:
            raise HostStepError("Open vSwitch external_ids do not have the new hostname")
        return {"remark": ", ".join(f"{key}={value['after']}" for key, value in sorted(params["keys"].items()))}

    def undo(self, params: Params) -> Result:
        """Set the old values; a key that was not there is removed."""
        return self._set(params, "after", "before")

    @staticmethod
    def _set(params: Params, old: str, new: str) -> Result:
        current = host_names.ovs_external_ids()
        if current.get("system-id") != params["system_id"]:
            raise HostStepError(
                f"Open vSwitch's system-id is {current.get('system-id')}, not {params['system_id']}: nothing was "
                "changed on this host",
                changed_meanwhile=True,
            )
        for key, value in params["keys"].items():
            if current.get(key) not in (value[old], value[new]):
                raise HostStepError(
                    f"Open vSwitch external_ids:{key} is {current.get(key)}, not {value[old]}: nothing was changed on "
                    "this host",
                    changed_meanwhile=True,
                )
        for key, value in sorted(params["keys"].items()):
            if value[new] is None:
                host_names.remove_ovs_external_id(key)
            elif current.get(key) != value[new]:
                host_names.set_ovs_external_id(key, value[new])
        return {}


# --- identity ---------------------------------------------------------------------------------------------------


class IdentityFile:
    """Put compute_id files out of Nova's sight, beside where they were: the host will get a new identity.

    C(renewed): the new uuid of a file that the container of nova-compute copies at each start, and does not start
    without.
    """

    def is_done(self, params: Params) -> Result:
        """Whether each is put away, and what is copied holds the new uuid."""
        return {"done": all(self._is_away(file) for file in params["files"])}

    @staticmethod
    def _is_away(file: t.Mapping[str, t.Any]) -> bool:
        path = str(file["path"])
        if not file.get("renewed"):
            return not os.path.lexists(path)
        found = compute_id.read_compute_id(path, True)
        return found.uuid == file["renewed"] and os.path.lexists(str(file["kept_as"]))

    def apply(self, params: Params) -> Result:
        """Rename each file that holds what it held when the plan was made."""
        for file in params["files"]:
            path, kept_as = str(file["path"]), str(file["kept_as"])
            if self._is_away(file) and os.path.lexists(kept_as):
                continue
            if os.path.lexists(path) or not os.path.lexists(kept_as):
                found = compute_id.read_compute_id(path, True)
                if not found.exists or found.uuid != file["before"]:
                    raise HostStepError(
                        f"{path} holds {found.uuid or found.error or 'nothing'}, not {file['before']}",
                        problem="other-value",
                    )
                self._move(path, kept_as)
            if file.get("renewed"):
                self._renew(path, kept_as, str(file["renewed"]))
        return {}

    def verify(self, params: Params) -> Result:
        """See them gone from where Nova looks."""
        if not self.is_done(params)["done"]:
            raise HostStepError("the old compute_id file still exists in a directory that nova-compute reads")
        return {"remark": f"renamed to {', '.join(str(file['kept_as']) for file in params['files'])}"}

    def undo(self, params: Params) -> Result:
        """Put them back; one that is there again is left alone, but for the new uuid that this step wrote."""
        for file in params["files"]:
            path, kept_as = str(file["path"]), str(file["kept_as"])
            if os.path.lexists(kept_as) and (file.get("renewed") or not os.path.lexists(path)):
                self._move(kept_as, path)
        return {}

    @staticmethod
    def _renew(path: str, kept_as: str, uuid: str) -> None:
        """Write the new uuid, readable by whoever could read the old one."""
        status = os.stat(kept_as)
        compute_id.create(path, uuid)
        os.chown(path, status.st_uid, status.st_gid)
        os.chmod(path, stat.S_IMODE(status.st_mode))

    @staticmethod
    def _move(source: str, target: str) -> None:
        os.rename(source, target)
        folder = os.open(os.path.dirname(target), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class WriteIdentity:
    """Put the uuid of the host's compute node into its compute_id file, which holds another or is lost."""

    def is_done(self, params: Params) -> Result:
        """Whether the file holds the uuid."""
        return {"done": compute_id.read_compute_id(str(params["path"]), True).uuid == params["after"]}

    def apply(self, params: Params) -> Result:
        """Write it, if the file holds what it held when the plan was made."""
        return self._replace(params, params["before"], params["after"])

    def verify(self, params: Params) -> Result:
        """See it there."""
        if not self.is_done(params)["done"]:
            raise HostStepError(
                f"{params['path']} does not contain the uuid {params['after']}", problem="uuid-not-written"
            )
        return {"remark": f"{params['path']} holds {params['after']}"}

    def undo(self, params: Params) -> Result:
        """Write back what was found; a file that did not exist is removed."""
        return self._replace(params, params["after"], params["before"])

    @staticmethod
    def _replace(params: Params, leaving: t.Optional[str], wanted: t.Optional[str]) -> Result:
        path = str(params["path"])
        found = compute_id.read_compute_id(path, True)
        if found.exists and found.uuid is not None and found.uuid == wanted:
            return {}
        if not found.exists and wanted is None:
            return {}
        # Killed between the removal and the new file, it has none of the two.
        if found.exists and (found.uuid is None or found.uuid != leaving):
            raise HostStepError(
                f"{path} holds {found.uuid or found.error or 'nothing'}, not {leaving}", changed_meanwhile=True
            )
        if found.exists:
            os.unlink(path)
        if wanted is not None:
            compute_id.create(path, str(wanted))
        return {}


# --- guests -----------------------------------------------------------------------------------------------------


class EndDomains:
    """End domains whose servers live elsewhere, each guarded by the process that was seen. It cannot be taken back."""

    def is_done(self, params: Params) -> Result:
        """Whether no domain and no QEMU of them is left."""
        return {"done": not self._left(params)}

    def apply(self, params: Params) -> Result:
        """Look at all of them first, then end one after the other."""
        uri = str(params["uri"])
        now = {domain.uuid: domain for domain in libvirt.read_domains(uri)}
        planned = [item for item in params["domains"] if str(item["uuid"]) in now]
        for item in planned:
            found = now[str(item["uuid"])]
            # One that was ended already, by an earlier run, has no process any more.
            if found.pid is not None and (found.pid, found.pid_start) != (item["pid"], item["pid_start"]):
                raise HostStepError(
                    f"the run ended no domain, because the QEMU process of {found.name} ({found.uuid}) has changed "
                    f"since the plan: the process is {found.pid} now, and was {item['pid']} in the plan",
                    changed_meanwhile=True,
                    problem="no-domain",
                )
        for item in planned:
            libvirt.end_domain(uri, str(item["uuid"]), bool(item.get("managed_save")))
        return {}

    def verify(self, params: Params) -> Result:
        """See that neither libvirt nor the process table has any of them."""
        left = self._left(params)
        if left:
            raise HostStepError(f"these domains are still on this host: {', '.join(left)}", problem="domains-left")
        return {"remark": f"{count(len(params['domains']), 'domain')} ended"}

    def undo(self, params: Params) -> Result:
        """Nothing can be taken back: their servers live elsewhere."""
        raise HostStepError(
            "the run ended this domain and cannot restore it: the server is on another host",
            problem="cannot-restore-domain",
        )

    @staticmethod
    def _left(params: Params) -> t.List[str]:
        wanted = {str(item["uuid"]) for item in params["domains"]}
        known = {domain.uuid for domain in libvirt.read_domains(str(params["uri"]))}
        return sorted(wanted & (known | set(processes.qemu_by_uuid())))


class MoveAside:
    """Rename what moves left in instances_path beside itself. Each is looked at again before."""

    def is_done(self, params: Params) -> Result:
        """Whether all are moved aside."""
        return {"done": not self._left(params)}

    def apply(self, params: Params) -> Result:
        """Move one after the other; what has changed meanwhile ends it."""
        for item in params["directories"]:
            instance_dirs.move_aside(str(params["path"]), item, str(params["operation"]), str(params["uri"]))
        return {}

    def verify(self, params: Params) -> Result:
        """See that none is where a move would meet it."""
        left = self._left(params)
        if left:
            raise HostStepError(f"these directories are still in {params['path']}: {', '.join(left)}", problem="left")
        return {"remark": f"moved aside: {', '.join(str(item['name']) for item in params['directories'])}"}

    def undo(self, params: Params) -> Result:
        """Nobody needs them where they were."""
        raise HostStepError("a directory that was moved aside stays there", problem="stays-aside")

    @staticmethod
    def _left(params: Params) -> t.List[str]:
        path, operation = str(params["path"]), str(params["operation"])
        return [
            str(item["name"]) for item in params["directories"] if not instance_dirs.is_aside(path, item, operation)
        ]


# --- requests ---------------------------------------------------------------------------------------------------


class HostRunner(JournalKeeper):
    """Carries out requests about journals and the host. ``check_mode``: those that would change it are skipped."""

    def __init__(
        self,
        state_dir: str,
        check_mode: bool = False,
        systemctl: t.Optional[units.Systemctl] = None,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(state_dir, check_mode)
        systemctl = systemctl or units.Systemctl()
        self.stop = StopUnits(state_dir, systemctl, sleep)
        self.actions: t.Dict[str, HostAction] = {
            "stop_units": self.stop,
            "start_units": StartUnits(state_dir, systemctl, sleep),
            "restart_units": RestartUnits(systemctl),
            "host_names": HostNames(state_dir),
            "ovs_hostname": OvsHostname(),
            "identity_file": IdentityFile(),
            "write_identity": WriteIdentity(),
            "end_domains": EndDomains(),
            "move_aside": MoveAside(),
            "set_aside": containers.SetAside(),
            "libvirt_name": containers.LibvirtName(),
            "new_containers": containers.NewContainers(state_dir, systemctl, sleep),
            "hold_containers": containers.HoldContainers(state_dir, systemctl, sleep),
            "forget_containers": containers.ForgetAside(sleep),
        }
        self.reads.update(
            {
                "is_done": lambda request: self._action(request).is_done(request["params"]),
                "verify": lambda request: self._action(request).verify(request["params"]),
                "stop_poll": lambda request: self.stop.stop_poll(request["params"], settle=not check_mode),
                "log_mark": lambda request: {"mark": logs.mark(request.get("log_file"), request.get("unit"))},
                "log_find": lambda request: {"found": logs.find(request["mark"], request["needles"])},
                "rehearse": lambda request: {
                    "rehearsal": to_plain(
                        rehearsal.rehearse(str(request["name"]), _line_edits(request, "after"), state_dir)
                    )
                },
                "guests_inside": lambda request: {"guests": containers.guests_inside(request["params"])},
                "probe_tcp": lambda request: {
                    "probes": probes.probe_tcp(request["targets"], float(request.get("timeout", 5)))
                },
                "compare_cpu": lambda request: {"probes": libvirt.compare_cpus(request["uri"], request["targets"])},
            }
        )
        self.writes.update(
            {
                "stop_begin": lambda request: self.stop.stop_begin(request["params"]),
                "apply": lambda request: self._action(request).apply(request["params"]),
                "undo": lambda request: self._action(request).undo(request["params"]),
            }
        )

    def _action(self, request: Params) -> HostAction:
        name = request["action"]
        if name not in self.actions:
            raise HostStepError(f"unknown action {name}")
        return self.actions[name]
