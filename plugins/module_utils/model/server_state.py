# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an evacuation does to one server: what Nova refuses, what is lost, what must be reset, how it ran before. Pure.

Read from Nova's source, 26 to 34: C(compute/api.py) C(evacuate) and its decorators, C(compute/manager.py)
C(rebuild_instance), C(api/openstack/compute/admin_actions.py).
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .facts import ApiServer, EvacuationFacts

RUNNING, STOPPED = "running", "stopped"

#: Requests that nova-compute of the dead host executes when it starts again, wherever the server is by then: its only
#: guard, the expected task state, comes after the driver's work (compute/manager.py, start_instance and others; 26 to
#: 34). Whoever resets such a task must have removed the request from the queue. To what owners call the request.
WAITING_TASKS: t.Mapping[str, str] = {
    "powering-off": "stop",
    "powering-on": "start",
    "suspending": "suspend",
    "resuming": "resume",
    "rescuing": "rescue",
    "unrescuing": "unrescue",
}

#: Tasks that end with their host, and leave the server as its vm_state says. To what is lost with each.
#: A server in any other task (deleting, rebuilding, migrating, resize_*, spawning ...) may have half of its disks, or
#: them elsewhere: no option resets that.
LOST_TASKS: t.Mapping[str, str] = {
    **dict.fromkeys(
        (
            "rebooting",
            "reboot_pending",
            "reboot_started",
            "rebooting_hard",
            "reboot_pending_hard",
            "reboot_started_hard",
        ),
        "the owner's reboot request. The start of the server on the new host has the same effect",
    ),
    **{
        task: f"the owner's {request} request. The run removes this request from the message queue of the dead host, "
        "because nova-compute would execute the request at its next start"
        for task, request in WAITING_TASKS.items()
    },
    "pausing": "the owner's pause request",
    "unpausing": "the owner's unpause request",
    "updating_password": "the owner's request for a new password",
    **dict.fromkeys(
        ("image_snapshot", "image_snapshot_pending", "image_pending_upload", "image_uploading", "image_backup"),
        "the image that the owner requested is incomplete: delete this image in Glance",
    ),
    **dict.fromkeys(
        ("shelving", "shelving_image_pending_upload", "shelving_image_uploading"),
        "the owner's shelve request. The image of this request stays incomplete: delete the image in Glance",
    ),
}

#: What Nova calls an active server with some of these tasks (api/openstack/common.py, _STATE_MAP).
TASK_STATUSES = ("REBOOT", "HARD_REBOOT", "PASSWORD")

#: Server status to the option's value that lets it be reset, and what is lost.
LOST_STATES: t.Mapping[str, t.Tuple[str, str]] = {
    "PAUSED": (
        "paused",
        "the contents of the server's memory (after its evacuation, a PAUSED server is stopped)",
    ),
    "SUSPENDED": (
        "suspended",
        "the server's memory image (after its evacuation, a SUSPENDED server is stopped)",
    ),
    "RESCUE": (
        "rescued",
        "the server's rescue system (the evacuated server boots from its own disk; UUID_disk.rescue stays in the pool)",
    ),
}

#: libvirt's numbers as Nova keeps them (C(compute/power_state.py)).
_POWER = {1: RUNNING, 3: STOPPED, 4: STOPPED, 6: STOPPED, 7: STOPPED}
PAUSED = 3
#: Instance actions after which a server runs or does not (C(compute/instance_actions.py)).
_ACTIONS = {
    **dict.fromkeys(("create", "start", "reboot", "unpause", "resume", "rescue", "unrescue", "unshelve"), RUNNING),
    **dict.fromkeys(("stop", "pause", "suspend", "shelve", "shelveOffload"), STOPPED),
}
#: What leaves a server's power state as it was, or is what this collection does.
_NEUTRAL = frozenset(
    (
        "evacuate",
        "resetState",
        "live-migration",
        "live_migration_cancel",
        "live_migration_force_complete",
        "migrate",
        "resize",
        "confirmResize",
        "revertResize",
        "lock",
        "unlock",
        "attach_interface",
        "detach_interface",
        "attach_volume",
        "detach_volume",
        "attach_share",
        "detach_share",
        "swap_volume",
        "extend_volume",
        "createImage",
        "createBackup",
        "changePassword",
        "refresh_volume_attachment",
        "trigger_crash_dump",
    )
)

_AMPHORA = re.compile(r"amphora-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")

#: The port kinds that Nova never moves to another host by evacuation (block_port_accelerators).
ACCELERATORS = ("accelerator-direct", "accelerator-direct-physical")


@dataclasses.dataclass(frozen=True)
class Reset:
    """What must be reset before Nova takes a server's evacuation: values of the option, and what is lost by it."""

    needed: t.Tuple[str, ...]
    losses: t.Tuple[str, ...]


# --- what Nova refuses ----------------------------------------------------------------------------------------


def refusals(server: ApiServer, about: EvacuationFacts) -> t.Iterator[str]:
    """Yield why Nova answers an evacuation of this server with an error, whatever its state.

    Ports with a resource request and accelerator profiles of a flavor are refused only below service version 59 and
    53 (Xena, Victoria): every release that this collection knows evacuates those.
    """
    if tpm_of(server, about):
        yield "Nova refuses to evacuate the server, because the state of its virtual TPM is on the dead host"
    if (about.shares or {}).get(server.id):
        yield "Nova refuses to evacuate the server, because the server has an attached manila share"
    if server.id in (about.accelerator_ports or ()):
        yield "Nova refuses to evacuate the server, because one of its ports is an accelerator port"


def tpm_of(server: ApiServer, about: EvacuationFacts) -> bool:
    """Return whether the flavor or the image asks for a virtual TPM."""
    specs = (server.flavor.extra_specs if server.flavor else None) or {}
    return bool(specs.get("hw:tpm_version") or properties_of(server, about).get("hw_tpm_version"))


def properties_of(server: ApiServer, about: EvacuationFacts) -> t.Mapping[str, str]:
    """Return the properties of a server's image; none where they were not read."""
    return (about.image_properties or {}).get(server.id, {})


def stored_machine_type(uuid: str, about: EvacuationFacts) -> t.Optional[str]:
    """Return the machine type that Nova puts into a new definition of a server; None: not known.

    Nova keeps it with the server's image properties, also where the image says nothing
    (virt/libvirt/driver.py, _register_machine_types and _configure_guest_by_virt_type; 26 to 34).
    """
    return (about.image_properties or {}).get(uuid, {}).get("hw_machine_type")


# --- what must be reset ---------------------------------------------------------------------------------------


def reset_of(server: ApiServer) -> t.Optional[Reset]:
    """Return what must be reset so that Nova evacuates a server; None: nothing, or no reset helps it."""
    needed, losses = [], []
    if server.status in LOST_STATES:
        word, loss = LOST_STATES[server.status]
        needed.append(word)
        losses.append(loss)
    if server.task_state is not None:
        if server.task_state not in LOST_TASKS:
            return None
        needed.append("task")
        losses.append(LOST_TASKS[server.task_state])
    return Reset(tuple(needed), tuple(losses)) if needed else None


# --- what is lost ---------------------------------------------------------------------------------------------


def losses(server: ApiServer, about: EvacuationFacts, target_state: str = "keep") -> t.List[str]:
    """Return what an evacuation costs a server, beside what every restart does."""
    found = []
    properties = properties_of(server, about)
    if properties.get("hw_firmware_type") == "uefi":
        secure = ", secure boot keys" if properties.get("os_secure_boot") in ("required", "optional") else ""
        found.append(f"the server's UEFI variables (boot entries{secure}), which exist only on the dead host")
    if power_before(server) == STOPPED or target_state == STOPPED:
        # All releases: spawn always starts it, and stop_instance follows, without a clean shutdown.
        found.append(
            "the server does not stay off during the evacuation: Nova boots the server briefly on the new host, then "
            "powers it off without a clean shutdown"
        )
    encrypted = (about.encrypted or {}).get(server.id)
    if encrypted:
        names = ", ".join(sorted(encrypted))
        found.append(
            "the server starts only if the user of this run is allowed to read the keys of the server's encrypted "
            f"volumes: {names}"
        )
    return found


# --- how it ran before ----------------------------------------------------------------------------------------


def power_before(server: ApiServer, actions: t.Optional[t.Sequence[t.Mapping[str, t.Any]]] = None) -> t.Optional[str]:
    """Return how a server ran before its host died: C(running), C(stopped), or None where nothing says it.

    What did not execute (stopped, paused, suspended) counts as stopped. An ACTIVE one whose power state says otherwise
    shut itself down just before, or its state was reset. Of a server in ERROR the status says nothing.
    Its power state still says it where the scheduler refused the evacuation (the conductor leaves it alone), and is
    NOSTATE (0) after a spawn that failed: the destination writes what it has, which is nothing. What is left then are
    the instance ``actions`` (newest first, as the API lists them): Nova keeps them, also where a guest shut itself
    down (a C(stop) of Nova's own). A journal of an earlier evacuation that noted it is a better witness than these.
    """
    if server.status in ("SHUTOFF", "PAUSED", "SUSPENDED"):
        return STOPPED
    if server.status == "RESCUE":
        return RUNNING
    if server.status in ("ACTIVE", *TASK_STATUSES):
        return _of_active(server, actions or ())
    if server.vm_state == "stopped":
        return STOPPED
    power = None if server.power_state is None else _POWER.get(server.power_state)
    return power or by_actions(actions or ())


def _of_active(server: ApiServer, actions: t.Sequence[t.Mapping[str, t.Any]]) -> t.Optional[str]:
    """Paused says little: its owner paused it and somebody reset its state, or QEMU paused it for an I/O error."""
    if server.power_state == PAUSED:
        return by_actions(actions)
    return STOPPED if _POWER.get(server.power_state or 0) == STOPPED else RUNNING


def by_actions(actions: t.Sequence[t.Mapping[str, t.Any]]) -> t.Optional[str]:
    """Return what the newest action that starts or stops a server made of it; None: none, it failed, or is strange."""
    for action in actions:
        name = str(action.get("action"))
        if name in _NEUTRAL:
            continue
        # An action's message is "Error" where it failed: how the server was left then, nobody wrote down.
        return None if action.get("message") else _ACTIONS.get(name)
    return None


def amphora(server: ApiServer) -> bool:
    """Return whether Octavia made this server: it names them so, and nobody else does."""
    return _AMPHORA.match(server.name) is not None
