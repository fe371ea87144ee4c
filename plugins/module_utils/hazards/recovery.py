# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What nova-compute does at its start with a guest that lives on its host and was in the middle of something. Pure.

nova/compute/manager.py, C(_init_instance), for each live row whose host is C(CONF.host) byte by byte and that was not
evacuated. Read in 27.1.0 to 34.0.0; they differ in C(_REBOOTING_SINCE) and C(_SHUTDOWN_FAILS_SINCE).

* C(vm_state) deleted, the row live: C(_complete_partial_deletion) deletes the row, and the same start's
  C(_cleanup_running_deleted_instances) ends the domain, with its disks by default.
* C(task_state) deleting: C(_delete_instance), disks and all.
* reboots that were cut: C(_retry_reboot), C(reboot_instance).
* unpausing a paused guest: C(unpause_instance); powering-off: C(stop_instance); powering-on: C(start_instance), which
  the libvirt driver does by a hard reboot, whether the guest runs or not (C(power_on)).
* resize_migrating: the driver's C(finish_revert_migration), which takes disks back to the snapshot of the resize.
* migrating: C(_reset_live_migration) aborts a migration that is C(running), of a soft-deleted row too.
* C(resume_guests_state_on_host_boot): C(_resume_guests_state), a hard reboot of what Nova has as running and is off
  (the driver's C(resume_state_on_host_boot)).
* C(_sync_power_states), in the first round of the periodic tasks (C(run_immediately)), for what has no task by then:
  what is stopped in Nova and not off is stopped by force; what is active in Nova and suspended is stopped.

Everything else changes rows only: builds and rebuilds that were cut become ERROR, snapshots lose their task.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.facts import InstanceRow, NovaConf

DESTROYED = "destroyed"
DESTROYED_WITH_DISKS = "destroyed, and its disks deleted"
POWERED_OFF = "powered off"
STARTED = "started"
STARTED_AND_OFF = "started, and powered off again"
REBOOTED = "rebooted hard"
REBOOTED_SOFTLY = "rebooted"
UNPAUSED = "unpaused"
REVERTED = "returned to its state before the unfinished resize"
ABORTED = "kept here, and its live migration is aborted"
LEFT = "left as it is"

REDRIVEN = "_init_instance"
PARTIAL = "_complete_partial_deletion"
RESUMED = "_resume_guests_state"
SYNCED = "_sync_power_states"

#: From here on a reboot that had not begun is carried on with too where the guest is off (manager.py, _retry_reboot).
_REBOOTING_SINCE = 30
#: From here on C(running_deleted_instance_action = shutdown) calls the driver with one argument too many.
_SHUTDOWN_FAILS_SINCE = 31
#: libvirt's words by Nova's (nova/virt/libvirt/guest.py, LIBVIRT_POWER_STATE).
_RUNNING = ("running", "blocked")
_OFF = ("shutdown", "shutoff", "crashed")
#: instances.power_state of a guest that Nova has as running (nova/objects/fields.py, InstancePowerState).
_POWER_RUNNING = 1

_BUILDING = ("scheduling", "block_device_mapping", "networking", "spawning")
_REBUILDING = ("rebuilding", "rebuild_block_device_mapping", "rebuild_spawning")
_CLEARED = (
    "image_snapshot_pending",
    "image_pending_upload",
    "image_uploading",
    "image_snapshot",
    "resize_prep",
)
_SOFT = ("rebooting", "reboot_pending", "reboot_started")
_BEGUN = ("reboot_started", "reboot_started_hard")
_ASKED = ("rebooting", "rebooting_hard")
_HARD_REBOOT_FROM = ("active", "stopped", "paused", "suspended")


@dataclasses.dataclass(frozen=True)
class Recovery:
    """What becomes of a guest, by which function; ``note``: on what that depends and was not read."""

    action: str
    rule: str
    note: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class RecoveryContext:
    """What decides besides the row: libvirt's state of the domain (None: there is none), configuration, releases."""

    state: t.Optional[str]
    conf: NovaConf
    releases: t.Tuple[int, ...]
    #: Whether a migration of this instance has the status running.
    migrating: bool
    #: Whether the start comes as far as its periodic tasks.
    serves: bool = True

    @property
    def runs(self) -> bool:
        """Whether Nova has the guest as running, when it asks libvirt."""
        return self.state in _RUNNING


def recovery(row: InstanceRow, around: RecoveryContext) -> t.Optional[Recovery]:
    """Return what becomes of a guest, or None where it is left as it is."""
    task, state = row.task_state, row.vm_state
    if state == "soft-delete" or (state == "error" and task not in ("resize_migrating", "deleting")):
        return None
    if state == "deleted":
        return _partial(around)
    if state == "building" or task in _BUILDING or (state in ("active", "stopped") and task in _REBUILDING):
        return None
    if state != "error" and task in _CLEARED:
        task = None
    if task == "deleting":
        return Recovery(DESTROYED_WITH_DISKS, REDRIVEN)
    if _retried(task, state, around):
        return Recovery(_reboot(task, around), REDRIVEN)
    return _carried_on(task, around) or _resumed(row, task, around) or _synced(row, task, around)


def _partial(around: RecoveryContext) -> t.Optional[Recovery]:
    """The row goes, and what libvirt has of it is then a domain of a deleted instance, deleted a moment ago."""
    if around.state is None or not around.serves:
        return None
    action, note = reaping(around.conf, around.state, around.releases)
    return None if action == LEFT else Recovery(action, PARTIAL, note)


def reaping(
    conf: t.Optional[NovaConf], state: t.Optional[str], releases: t.Sequence[int]
) -> t.Tuple[str, t.Optional[str]]:
    """Return what becomes of domains of deleted instances, and on what that depends. ``state``: libvirt's.

    manager.py, C(_cleanup_running_deleted_instances), C(_deleted_old_enough). Unread is taken for Nova's default, which
    is the worst. When an instance was deleted is not read.
    """
    configured = conf.running_deleted_instance_action if conf else None
    action = {"noop": LEFT, "log": LEFT, "shutdown": POWERED_OFF}.get(configured or "reap", DESTROYED_WITH_DISKS)
    # Seen on 34: with shutdown the guest runs on, "Failed to power off instance" (power_off(context, instance)).
    vain = bool(releases) and min(releases) >= _SHUTDOWN_FAILS_SINCE
    if action == POWERED_OFF and (vain or state in _OFF):
        action = LEFT
    seconds = (conf.running_deleted_instance_timeout if conf else None) or 0
    note = (
        f"at least {seconds} s after the deletion of the server (running_deleted_instance_timeout)"
        if seconds > 0
        else None
    )
    return action, None if action == LEFT else note


def _retried(task: t.Optional[str], state: t.Optional[str], around: RecoveryContext) -> bool:
    begun: t.Tuple[str, ...] = _BEGUN
    if not around.releases or max(around.releases) >= _REBOOTING_SINCE:
        begun = (*_BEGUN, *_ASKED)
    return (
        (task == "reboot_pending" and state == "active")
        or (task == "reboot_pending_hard" and state in _HARD_REBOOT_FROM)
        or (task in begun and not around.runs)
    )


def _reboot(task: t.Optional[str], around: RecoveryContext) -> str:
    if not around.runs:
        return STARTED
    return REBOOTED_SOFTLY if task in _SOFT else REBOOTED


def _carried_on(task: t.Optional[str], around: RecoveryContext) -> t.Optional[Recovery]:
    if task == "unpausing" and around.state == "paused":
        return Recovery(UNPAUSED, REDRIVEN)
    if task == "powering-off":
        # One that is off, or that libvirt does not have, stays what it is; the row says so afterwards.
        off = around.state is None or around.state in _OFF
        return Recovery(LEFT if off else POWERED_OFF, REDRIVEN)
    if task == "powering-on":
        return Recovery(REBOOTED if around.runs else STARTED, REDRIVEN)
    if task == "resize_migrating":
        note = (
            "nova-compute reverts the resize only if the server has both a migration record and a snapshot with the "
            "name nova-resize. The run does not check whether the server has both"
        )
        return Recovery(REVERTED, REDRIVEN, note)
    if task == "migrating" and around.migrating:
        return Recovery(ABORTED, REDRIVEN)
    return None


def _resumed(row: InstanceRow, task: t.Optional[str], around: RecoveryContext) -> t.Optional[Recovery]:
    wanted = around.conf.resume_guests_state_on_host_boot
    off = around.state is None or around.state in _OFF
    if wanted is False or row.power_state != _POWER_RUNNING or not off:
        return None
    note = None if wanted else "unless resume_guests_state_on_host_boot is off (the run did not read this option)"
    # It is as stopped in Nova as before, and runs now.
    again = row.vm_state == "stopped" and _compared(task, around)
    return Recovery(STARTED_AND_OFF if again else STARTED, RESUMED, note)


def _synced(row: InstanceRow, task: t.Optional[str], around: RecoveryContext) -> t.Optional[Recovery]:
    """manager.py, C(_sync_instance_power_state); where it stops a guest that is off already, nothing becomes of it."""
    stopped = row.vm_state == "stopped" and around.state not in (None, "nostate", *_OFF)
    suspended = row.vm_state == "active" and around.state == "pmsuspended"
    if not (stopped or suspended) or not _compared(task, around):
        return None
    if around.conf.sync_power_state_interval is not None:
        return Recovery(POWERED_OFF, SYNCED)
    note = (
        "the run did not read sync_power_state_interval. If sync_power_state_interval is negative, nova-compute does "
        "not power off the guest"
    )
    return Recovery(POWERED_OFF, SYNCED, note)


def _compared(task: t.Optional[str], around: RecoveryContext) -> bool:
    """Whether Nova compares its power state with libvirt's; a task that is left keeps it from that."""
    interval = around.conf.sync_power_state_interval
    return around.serves and task in (None, "migrating") and (interval is None or interval >= 0)
