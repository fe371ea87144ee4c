# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random states of a compute host, as descriptions: rows, files, domains, configuration. Pure: nothing is touched.

``drawn(seed)`` always gives the same state. Each has one thing that it is about, in turn of :data:`FOCUSES`, so that
no rule of the forecast depends on luck; everything else is drawn. From :data:`CROWDED` on they are not drawn: each
guest shows one word of one rule, with nothing beside it that would have the same end.

labkit/statelab.py makes such a state on a host of the lab, and sees what its nova-compute does. Names in a description
are words (``here``, ``capitals``): which host it is made on decides what they stand for.
"""

from __future__ import annotations

import dataclasses
import random

#: Guests of a host. Each has a disk in Ceph, no port, and no operating system.
SLOTS = 6

VM_STATES = (
    *("active", "active", "active", "stopped", "stopped", "paused", "suspended", "error", "building", "resized"),
    *("soft-delete", "shelved", "shelved_offloaded", "rescued", "deleted"),
)
REBOOTS = (
    *("rebooting", "reboot_pending", "reboot_started"),
    *("rebooting_hard", "reboot_pending_hard", "reboot_started_hard"),
)
SNAPSHOTS = ("image_snapshot", "image_snapshot_pending", "image_pending_upload", "image_uploading")
BUILDS = ("scheduling", "block_device_mapping", "networking", "spawning")
REBUILDS = ("rebuilding", "rebuild_block_device_mapping", "rebuild_spawning")
TASKS = (
    *(None, None, None, None, *REBOOTS, *SNAPSHOTS, *BUILDS, *REBUILDS),
    *("deleting", "soft-deleting", "restoring", "powering-off", "powering-on", "pausing", "unpausing", "suspending"),
    *("resuming", "rescuing", "unrescuing", "shelving", "shelving_image_uploading", "shelving_offloading"),
    *("unshelving", "migrating", "resize_prep", "resize_migrating", "resize_migrated", "resize_finish"),
    *("resize_reverting", "resize_confirming", "updating_password", "image_backup"),
)
#: What libvirt has of a guest.
DOMAINS = ("running", "running", "running", "paused", "shutoff", "none")
#: instances.power_state as Nova writes it.
POWER = {"none": 0, "running": 1, "paused": 3, "shutoff": 4}


@dataclasses.dataclass(frozen=True)
class Record:
    """A row of C(migrations) of a guest. ``source``: here, capitals, blank (a blank behind the name), elsewhere."""

    kind: str
    status: str
    source: str = "here"
    deleted: bool = False


@dataclasses.dataclass(frozen=True)
class Guest:
    """One guest. ``lives``: its row's host: here, capitals, elsewhere, nowhere.

    ``row``: live; deleted (hours ago); just-deleted; purged, so that its domain is unknown to Nova. ``resize``: its
    disk has the snapshot of a resize, and its row the record of it.
    """

    about: str = "nothing"
    vm_state: str = "active"
    task_state: str | None = None
    power_state: int = 1
    domain: str = "running"
    lives: str = "here"
    row: str = "live"
    records: tuple[Record, ...] = ()
    resize: bool = False


@dataclasses.dataclass(frozen=True)
class State:
    """One host. Where a field has its default, everything is as it should be.

    ``file``, ``second``: C(compute_id) in state_path and beside nova.conf. ``host``: C([DEFAULT] host);
    ``variable``: the same by an environment variable, of a drop-in or of a file. ``kernel``: the host's own name.
    ``service``, ``node``: its rows. ``more``: a second node of its name.
    ``settings``: section, option and value of nova.conf. ``opts``: how ExecStart names a variable, where that is set,
    and C(host) in the file that it adds. ``broker``: right, or gone. ``provider``: a file of provider_config_location.
    """

    seed: int
    focus: str
    guests: tuple[Guest, ...]
    file: str = "right"
    second: str = "none"
    host: str | None = None
    variable: tuple[str, str] | None = None
    kernel: str = "right"
    service: str = "right"
    node: str = "right"
    more: str = "none"
    action: str | None = None
    timeout: int = 0
    resume: bool = False
    settings: tuple[tuple[str, str, str], ...] = ()
    opts: tuple[str, str, str] | None = None
    broker: str = "right"
    provider: str | None = None


UNTOUCHED = State(seed=-1, focus="nothing", guests=(Guest(),) * SLOTS)

# --- guests ---------------------------------------------------------------------------------------------------


def _untouched(_rng):
    return {}


def _evacuated(rng):
    status = rng.choice(("accepted", "pre-migrating", "done", "done", "done", "completed", "error", "running"))
    source = rng.choice(("here", "here", "here", "here", "capitals", "blank", "elsewhere"))
    records = [Record("evacuation", status, source, deleted=rng.random() < 0.2)]
    if rng.random() < 0.2:
        records.append(Record("evacuation", "completed"))
    row = rng.choice(("live", "live", "live", "live", "deleted", "purged"))
    values = {"records": tuple(records), "lives": rng.choice(("elsewhere", "here")), "row": row}
    return {**values, "domain": rng.choice(("running", "running", "paused", "shutoff", "none"))}


def _moved(rng):
    """A migration of another kind, which is no reason to destroy anything."""
    kind = rng.choice(("migration", "resize", "live-migration"))
    record = Record(kind, rng.choice(("done", "finished", "accepted", "running")))
    return {"records": (record,), "lives": rng.choice(("here", "elsewhere"))}


def _deleted(rng):
    values = {"row": rng.choice(("deleted", "deleted", "just-deleted")), "vm_state": "deleted"}
    if rng.random() < 0.25:
        values["vm_state"] = rng.choice(("soft-delete", "active", "error"))
    lives = rng.choice(("here", "here", "elsewhere"))
    return {**values, "lives": lives, "domain": rng.choice(("running", "running", "paused", "shutoff"))}


def _half_deleted(rng):
    task = rng.choice((None, None, "deleting", "powering-off"))
    lives = rng.choice(("here", "here", "here", "elsewhere", "capitals"))
    return {"vm_state": "deleted", "lives": lives, "task_state": task, "domain": rng.choice(DOMAINS)}


def _deleting(rng):
    state = rng.choice(("active", "active", "stopped", "error", "error", "soft-delete", "building"))
    lives = rng.choice(("here", "here", "here", "here", "elsewhere"))
    return {"vm_state": state, "task_state": "deleting", "domain": rng.choice(DOMAINS), "lives": lives}


def _rebooting(rng):
    state = rng.choice(("active", "active", "stopped", "paused", "suspended", "error", "resized"))
    domain = rng.choice(("running", "running", "shutoff", "paused", "none"))
    return {"vm_state": state, "task_state": rng.choice(REBOOTS), "domain": domain}


def _unpausing(rng):
    task = rng.choice(("unpausing", "unpausing", "unpausing", "pausing"))
    domain = rng.choice(("paused", "paused", "running", "shutoff"))
    return {"vm_state": "paused", "task_state": task, "domain": domain, "power_state": 3}


def _powering(rng):
    state = rng.choice(("active", "active", "stopped", "paused", "error"))
    return {
        "vm_state": state,
        "task_state": rng.choice(("powering-off", "powering-on")),
        "domain": rng.choice(DOMAINS),
    }


def _resizing(rng):
    state = rng.choice(("active", "active", "stopped", "error"))
    task = rng.choice(("resize_migrating", "resize_migrating", "resize_migrating", "resize_prep", "resize_migrated"))
    domain = rng.choice(("none", "none", "shutoff"))
    return {"vm_state": state, "task_state": task, "domain": domain, "resize": rng.random() < 0.7}


def _migrating(rng):
    record = Record("live-migration", rng.choice(("running", "running", "running", "preparing", "completed")))
    task = rng.choice(("migrating", "migrating", "migrating", None))
    return {"task_state": task, "records": (record,), "vm_state": rng.choice(("active", "active", "paused"))}


def _building(rng):
    if rng.random() < 0.3:
        return {"vm_state": "building", "task_state": rng.choice((*BUILDS, None, "powering-off"))}
    state = rng.choice(("active", "stopped", "stopped", "error", "paused"))
    task = rng.choice((*BUILDS, *REBUILDS, *REBUILDS))
    return {"vm_state": state, "task_state": task, "domain": rng.choice(("running", "shutoff", "none"))}


def _cleared(rng):
    """A task that the start takes away: what follows is for a guest without one."""
    task = rng.choice((*SNAPSHOTS, "resize_prep"))
    state = rng.choice(("active", "stopped", "error"))
    return {"vm_state": state, "task_state": task, "domain": rng.choice(("running", "shutoff", "none"))}


def _resumed(rng):
    state = rng.choice(("active", "active", "active", "paused", "suspended", "stopped"))
    task = rng.choice((None, None, None, "suspending", "shelving"))
    return {
        "vm_state": state,
        "task_state": task,
        "domain": rng.choice(("shutoff", "shutoff", "none", "paused")),
        "power_state": rng.choice((1, 1, 1, 4)),
    }


def _unlike(rng):
    """Nova and libvirt have different words for it."""
    state = rng.choice(("stopped", "stopped", "stopped", "paused", "suspended", "active", "rescued"))
    task = rng.choice((None, None, None, None, "suspending"))
    domain = rng.choice(("running", "running", "paused", "shutoff"))
    lives = rng.choice(("here", "here", "here", "here", "elsewhere", "capitals"))
    power = rng.choice((1, 4, 3))
    return {"vm_state": state, "task_state": task, "domain": domain, "lives": lives, "power_state": power}


def _unknown(rng):
    return {"row": "purged", "domain": rng.choice(("running", "paused", "shutoff"))}


def _elsewhere(rng):
    task = rng.choice((None, "deleting", "powering-off", "reboot_started"))
    lives = rng.choice(("elsewhere", "capitals", "nowhere"))
    return {"lives": lives, "task_state": task, "domain": rng.choice(("running", "paused", "shutoff"))}


def _any(rng):
    return {
        "vm_state": rng.choice(VM_STATES),
        "task_state": rng.choice(TASKS),
        "domain": rng.choice(DOMAINS),
        "power_state": rng.choice((0, 1, 1, 3, 4)),
    }


#: What a guest may be about.
GUESTS = {
    "nothing": _untouched,
    "evacuated": _evacuated,
    "moved": _moved,
    "deleted": _deleted,
    "half deleted": _half_deleted,
    "deleting": _deleting,
    "rebooting": _rebooting,
    "unpausing": _unpausing,
    "powering": _powering,
    "resizing": _resizing,
    "migrating": _migrating,
    "building": _building,
    "cleared": _cleared,
    "resumed": _resumed,
    "unlike": _unlike,
    "unknown": _unknown,
    "elsewhere": _elsewhere,
    "anything": _any,
}


def _guest(rng, about):
    values = GUESTS[about](rng)
    # What Nova has stored agrees with libvirt, unless that is what the guest is about.
    values.setdefault("power_state", POWER[values.get("domain", "running")])
    if about == "rebooting" and rng.random() < 0.5:
        values["power_state"] = 1
    return Guest(about=about, **values)


def _guests(rng, first=None):
    kinds = [kind for kind in GUESTS if kind != "nothing"]
    chosen = [first] if first else []
    chosen += [rng.choice(kinds) if rng.random() < 0.85 else "nothing" for _slot in range(SLOTS - len(chosen))]
    rng.shuffle(chosen)
    return tuple(_guest(rng, about) for about in chosen)


def _empty():
    """No guest at all, neither in libvirt nor in Nova."""
    return tuple(Guest(about="nobody", domain="none", lives="elsewhere", power_state=0) for _slot in range(SLOTS))


# --- the host -------------------------------------------------------------------------------------------------

INVALID = ("compute_1.", "-compute", "two words", "10.5", "bücher.example")
#: Settings by which nova-compute 34 refuses to start, whatever its guests are.
REFUSED = (
    (("DEFAULT", "force_raw_images", "False"),),
    (("compute", "max_disk_devices_to_attach", "0"),),
    (("compute", "cpu_dedicated_set", "0-1"), ("compute", "cpu_shared_set", "1")),
    (("compute", "cpu_shared_set", "0"), ("DEFAULT", "reserved_host_cpus", "1")),
    (("compute", "cpu_shared_set", "one"),),
    (("compute", "cpu_dedicated_set", "1-0"),),
    (("compute", "cpu_dedicated_set", "1,^1"),),
    (("DEFAULT", "vcpu_pin_set", "0-1"), ("compute", "cpu_dedicated_set", "1")),
    (("libvirt", "cpu_mode", "custom"),),
    (("libvirt", "cpu_mode", "host-model"), ("libvirt", "cpu_models", "Nehalem")),
    (("libvirt", "live_migration_tunnelled", "true"), ("libvirt", "live_migration_with_native_tls", "true")),
    (("libvirt", "volume_enforce_multipath", "true"),),
    (("libvirt", "swtpm_enabled", "true"), ("libvirt", "swtpm_user", "nobody-of-this-name")),
    (("pci", "alias", '{"name": "gpu"'),),
    (("pci", "device_spec", "{'vendor_id': '10de'}"),),
    (("pci", "passthrough_whitelist", '"10de"'),),
)
#: Settings that are plain enough to be judged, and by which it starts.
PLAIN = (
    (("DEFAULT", "force_raw_images", "true"),),
    (("DEFAULT", "reserved_huge_pages", "node:0,size:2048,count:0"),),
    (("compute", "max_disk_devices_to_attach", "26"),),
    (("libvirt", "volume_use_multipath", "true"),),
    (("pci", "alias", '{"name": "gpu", "vendor_id": "10de", "product_id": "1eb8", "device_type": "type-PF"}'),),
    (("pci", "device_spec", '{"address": "*:0a:00.*", "physical_network": "physnet1"}'),),
    (("pci", "passthrough_whitelist", '[{"vendor_id": "10de", "product_id": "1eb8"}]'),),
)
DEDICATED, SHARED = ("compute", "cpu_dedicated_set", "1"), ("compute", "cpu_shared_set", "0")
#: What a state is about, besides its guests, and what else it may be made of.
HOSTS = {
    "file missing": lambda rng: {"file": "missing"},
    "file without a uuid": lambda rng: {"file": rng.choice(("garbage", "empty"))},
    "file is a directory": lambda rng: {"file": "directory"},
    "file of nobody": lambda rng: {"file": "other"},
    "file in another form": lambda rng: {"file": rng.choice(("braces", "capitals", "no dashes", "line end"))},
    "file of a neighbour": lambda rng: {"file": "neighbour"},
    "file twice": lambda rng: {"second": rng.choice(("same", "same in capitals"))},
    "files disagree": lambda rng: {"second": rng.choice(("other", "garbage", "directory"))},
    "file beside nova.conf": lambda rng: {"file": "missing", "second": "same"},
    "service gone": lambda rng: {"service": "gone"},
    "service gone, no guests": lambda rng: {"service": "gone", "guests": _empty()},
    "service of another name": lambda rng: {"service": rng.choice(("capitals", "blank", "other"))},
    "upgrade": lambda rng: {"service": "old", "file": "missing"},
    "upgrade without a node": lambda rng: {
        "service": "old",
        "file": "missing",
        "node": rng.choice(("purged", "deleted", "other host")),
    },
    "upgrade with two nodes": lambda rng: {
        "service": "old",
        "file": "missing",
        "more": rng.choice(("orphan", "orphan in capitals")),
    },
    "old service": lambda rng: {"service": "old"},
    "node deleted": lambda rng: {"node": "deleted"},
    "node purged": lambda rng: {"node": "purged"},
    "new identity": lambda rng: {"node": "purged", "file": "other"},
    "node of another host": lambda rng: {"node": rng.choice(("other host", "host in capitals", "host with a blank"))},
    "node of another name": lambda rng: {"node": rng.choice(("other name", "name in capitals"))},
    "file and node differ": lambda rng: {
        "file": "other",
        "node": rng.choice(("name in capitals", "host in capitals", "other host", "deleted")),
    },
    "orphan": lambda rng: {"more": rng.choice(("orphan", "orphan", "orphan in capitals"))},
    "orphan without a provider": lambda rng: {"more": "orphan without a provider"},
    "host in capitals": lambda rng: {"host": "capitals"},
    "host in capitals, no guests": lambda rng: {
        "host": "capitals",
        "guests": _empty(),
        "service": rng.choice(("right", "gone")),
    },
    "host with a dot": lambda rng: {"host": "dot"},
    "host invalid": lambda rng: {"host": rng.choice(INVALID)},
    "host other": lambda rng: {"host": rng.choice(("other", "address"))},
    "host other, no guests": lambda rng: {
        "host": "other",
        "guests": _empty(),
        "file": rng.choice(("right", "other")),
    },
    "host same": lambda rng: {"host": "same"},
    "variable": lambda rng: {
        "variable": (rng.choice(("drop-in", "file")), rng.choice(("other", "dot", "same", "capitals")))
    },
    "kernel's name": lambda rng: {"kernel": "other", "host": rng.choice((None, "same"))},
    "cpus for pinned guests": lambda _rng: {"settings": (DEDICATED,)},
    "cpus for pinned guests, no guests": lambda _rng: {"settings": (DEDICATED,), "guests": _empty()},
    "cpus for unpinned guests": lambda _rng: {"settings": (SHARED,)},
    "cpus for both": lambda _rng: {"settings": (DEDICATED, SHARED)},
    "settings refused": lambda rng: {"settings": rng.choice(REFUSED)},
    "settings refused, file missing": lambda rng: {"settings": rng.choice(REFUSED), "file": "missing"},
    "settings plain": lambda rng: {"settings": rng.choice(PLAIN)},
    "provider config": lambda rng: {"provider": rng.choice(("meta: {schema_version: '1.0'}\n", "meta: [\n"))},
    "variable in ExecStart": lambda rng: {
        "opts": (
            rng.choice(("$NOVA_OPTS", "${NOVA_OPTS}", "$NOVA_OPTS $NOTHING")),
            rng.choice(("drop-in", "file")),
            rng.choice(("other", "same", "capitals")),
        )
    },
    "broker gone": lambda _rng: {"broker": "gone"},
}
#: What each state is about, in turn: a guest of each kind, then the host itself.
FOCUSES = tuple(f"guest {kind}" for kind in GUESTS if kind != "nothing") + tuple(HOSTS)


# --- crowded states ---------------------------------------------------------------------------------------------


def _each(tasks, **values):
    return [Guest(about="word", task_state=task, **values) for task in tasks]


def _off(task=None, **values):
    """One that Nova has as running, and that is off."""
    return Guest(**{"about": "word", "task_state": task, "domain": "shutoff", "power_state": 1, **values})


def _on(task=None, **values):
    return Guest(about="word", task_state=task, **values)


def _was(status, **values):
    about = {"lives": values.pop("lives", "elsewhere"), "row": values.pop("row", "live")}
    return Guest(about="word", records=(Record("evacuation", status, **values),), **about)


_STOPPED = {"vm_state": "stopped", "power_state": 4}
_GONE = {"vm_state": "deleted", "row": "deleted"}
_HALF = {"vm_state": "deleted"}
_RUNNING = Record("live-migration", "running")
_RESUMED = (
    *_each((*BUILDS, *REBUILDS), domain="shutoff"),
    _off("rebuilding", vm_state="stopped"),
    _off("rebuilding", vm_state="paused"),
    _off(vm_state="error"),
    _off("deleting", vm_state="error"),
    _off("resize_migrating", vm_state="error", resize=True),
    _off(vm_state="soft-delete"),
    _off(vm_state="building"),
    _off(domain="none"),
    _off(domain="paused"),
    _off(vm_state="stopped"),
    _off("suspending", vm_state="stopped"),
)
_COMPARED = (
    *_each((*SNAPSHOTS, "resize_prep", "migrating", "suspending"), **_STOPPED),
    _on(**_STOPPED),
    _on(domain="paused", **_STOPPED),
    _on("image_snapshot", vm_state="error"),
    _on("reboot_pending_hard", vm_state="error"),
    _on("migrating", records=(_RUNNING,), vm_state="active"),
    _on("migrating", records=(dataclasses.replace(_RUNNING, deleted=True),)),
    _on("migrating", records=(dataclasses.replace(_RUNNING, status="preparing"),)),
    _on(records=(_RUNNING,)),
    _on(lives="capitals", **_STOPPED),
    _on(lives="elsewhere", **_STOPPED),
)
_REBOOTED = (
    *_each(REBOOTS, domain="shutoff", power_state=4),
    *(_on("reboot_pending_hard", vm_state=state) for state in ("active", "stopped", "paused", "suspended")),
    _on("reboot_pending"),
    _on("reboot_pending", **_STOPPED),
    _on("rebooting"),
    _on("reboot_started_hard"),
    _on("reboot_pending_hard", vm_state="resized"),
    _off("reboot_pending", vm_state="paused", power_state=4),
    _off("reboot_started", vm_state="suspended", domain="paused", power_state=3),
    _off("rebooting_hard", domain="none", power_state=0),
)
_POWERED = (
    *(_on("powering-off", domain=domain, power_state=POWER[domain]) for domain in POWER),
    *(_on("powering-on", domain=domain, power_state=POWER[domain]) for domain in POWER),
    _on("unpausing", domain="paused", power_state=3, vm_state="paused"),
    _on("unpausing", vm_state="paused"),
    _on("pausing", domain="paused", power_state=3),
    _on("resize_migrating", domain="none", power_state=0),
)
_EVACUATED = (
    *(_was(status) for status in ("accepted", "pre-migrating", "done", "completed", "error")),
    _was("done", source="capitals"),
    _was("done", source="blank"),
    _was("done", source="elsewhere"),
    _was("done", deleted=True, lives="here"),
    _was("done", row="deleted"),
    _was("done", row="purged"),
    dataclasses.replace(_was("done", lives="here"), task_state="deleting", domain="none", power_state=0),
)
_REAPED = (
    _on(**_GONE),
    _on(domain="shutoff", **_GONE),
    _on(lives="elsewhere", **_GONE),
    _on(**_HALF),
    _on(domain="shutoff", **_HALF),
    _on(lives="elsewhere", **_HALF),
)
_LATE = (
    _on(**_GONE),
    _on(**_HALF),
    _on(**_STOPPED),
    _off(vm_state="stopped"),
    _on("powering-off"),
    _was("done"),
)
#: Guests, six to a state, and what the host is like.
_CROWDS = (
    (_RESUMED, {"resume": True}),
    (_COMPARED, {}),
    (_REBOOTED, {}),
    (_POWERED, {}),
    (_EVACUATED, {}),
    *((_REAPED, {"action": action}) for action in ("reap", "shutdown", "log", "noop")),
    (_REAPED, {"timeout": 3600}),
    (tuple(dataclasses.replace(guest, row="just-deleted") for guest in _REAPED[:3]), {"timeout": 3600}),
    (_LATE, {"file": "other", "resume": True}),
    (_LATE, {"file": "other", "resume": True, "more": "orphan"}),
)
CROWDED = 900


def _crowded():
    result = []
    for guests, values in _CROWDS:
        for first in range(0, len(guests), SLOTS):
            some = guests[first : first + SLOTS]
            filled = (*some, *[Guest()] * (SLOTS - len(some)))
            result.append(State(seed=CROWDED + len(result), focus="crowd", guests=filled, **values))
    return tuple(result)


CROWDS = _crowded()


def drawn(seed):
    """Return the state with this number."""
    if seed >= CROWDED:
        return CROWDS[seed - CROWDED]
    rng = random.Random(f"a host, {seed}")
    focus = FOCUSES[seed % len(FOCUSES)]
    kind = focus.removeprefix("guest ") if focus.startswith("guest ") else None
    values = {"guests": _guests(rng, kind)}
    if kind is None:
        values.update(HOSTS[focus](rng))
    elif rng.random() < 0.3:
        # Two things at once: what nova-compute meets first decides.
        values.update(HOSTS[rng.choice(("orphan", "host same", "file twice", "node deleted", "host with a dot"))](rng))
    values["action"] = rng.choice((None, None, "reap", "reap", "shutdown", "log", "noop"))
    values["timeout"] = rng.choice((0, 0, 0, 0, 3600))
    values["resume"] = rng.random() < 0.4
    return State(seed=seed, focus=focus, **values)


def without(guest, state):
    """Why what the forecast makes conditional does not come true for a guest; None: it does."""
    if guest.task_state == "resize_migrating" and not guest.resize:
        return "no record of the resize"
    if state.timeout and (guest.row == "just-deleted" or (guest.row == "live" and guest.vm_state == "deleted")):
        return "deleted a moment ago"
    return None
