# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What changed in guests' definitions since they were recorded, and what a next start changes. SG601 to SG607. Pure.

Devices are compared by identity (the user's alias, MAC, serial, source, target), never as text. A guest that ran and
runs is compared as it runs, any other as it would start. Nova writes a new definition at every hard reboot, rebuild,
resize and cold migration (virt/libvirt/driver.py, C(_get_guest_xml)): what it will write is not predicted here. What
is told as the next start's is what libvirt itself would start: where that differs from what runs, they differ already.
"""

from __future__ import annotations

import re
import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.facts import (
    Bundle,
    Definition,
    Device,
    GuestDefinition,
    HostFacts,
)
from ..model.findings import Checked, Subject, Unchecked, finding
from ..model.lookups import Item, Items, gather
from ..model.names import conf_host

CODES = ("SG601", "SG602", "SG603", "SG604", "SG605", "SG606", "SG607")
#: Of a host's guests that were never recorded, how many are named.
_NAMED = 20
#: A version in a machine type: pc-q35-7.2, pc-i440fx-rhel7.6.0, s390-ccw-virtio-8.0.
_VERSION = re.compile(r"\d+\.\d+")


def check(bundle: Bundle) -> Checked:
    """Check every guest whose definition was read."""
    items: t.List[Item] = []
    for name in sorted(bundle.hosts):
        items += host_items(bundle, bundle.hosts[name])
    return gather([*items, *unread(bundle)])


def unread(bundle: Bundle) -> Items:
    """Say that no host's definitions were read."""
    if not any(facts.definitions is not None for facts in bundle.hosts.values()):
        for code in CODES:
            yield Unchecked(code, "all", "the definitions of guests were not read")


def host_items(bundle: Bundle, facts: HostFacts) -> Items:
    """Check the guests of one host."""
    if facts.definitions is None:
        if any(entry.part == "definitions" for entry in facts.unread):
            for code in CODES:
                yield Unchecked(code, facts.inventory_name, "the definitions of the host's guests were not read")
        return
    if bundle.recorded is None:
        for code in ("SG601", "SG602", "SG604", "SG605", "SG607"):
            yield Unchecked(code, facts.inventory_name, "the run did not look for earlier records of the guests")
    yield from _compared(facts.inventory_name, conf_host(facts), facts.definitions, bundle.recorded)


def _compared(
    inventory_name: str,
    host: t.Optional[str],
    guests: t.Sequence[GuestDefinition],
    recorded: t.Optional[t.Mapping[str, GuestDefinition]],
) -> Items:
    strangers = []
    for guest in guests:
        subject = Subject("domain", guest.uuid, guest.name, host or inventory_name)
        yield from _alone(guest, subject)
        before = (recorded or {}).get(guest.uuid)
        if before is not None:
            yield from since(before, guest, subject)
        elif recorded is not None:
            strangers.append(guest.name)
    if strangers:
        named = {"guests": len(strangers), "named": strangers[:_NAMED]}
        remedy = remedy_text("SG607", "never-recorded")
        yield finding("SG607", Subject("host", inventory_name, host=host), named, remedy)


def _alone(guest: GuestDefinition, subject: Subject) -> Items:
    """SG603, SG606: what is told of a guest without a record."""
    now = guest.live or guest.inactive
    if now is not None and now.machine_type is not None and not _VERSION.search(now.machine_type):
        remedy = remedy_text("SG603", "machine-type-unversioned")
        yield finding("SG603", subject, {"machine type": now.machine_type}, remedy)
    if guest.live is not None and guest.inactive is not None:
        changes = changed(guest.live, guest.inactive)
        if changes:
            remedy = remedy_text("SG606", "changes-at-next-start")
            yield finding("SG606", subject, {"changes at the next start": changes}, remedy)


def since(before: GuestDefinition, guest: GuestDefinition, subject: Subject) -> Items:
    """SG601, SG602, SG604, SG605: what changed since the record."""
    # libvirt shows more of a guest that runs: like is compared with like.
    old, now = (before.live, guest.live) if before.live and guest.live else (before.inactive, guest.inactive)
    if old is None or now is None or old.sha256 == now.sha256:
        return
    times = {"recorded": before.read_at, "now": guest.read_at}
    moved = _moved(old.devices, now.devices)
    if moved:
        devices = {**times, "devices": moved, **_came_and_went(old, now)}
        yield finding("SG601", subject, devices, remedy_text("SG601", "devices-moved"))
    order = _order(old.devices, now.devices)
    if order:
        yield finding("SG602", subject, {**times, **order}, remedy_text("SG602", "disks-reordered"))
    if old.machine_type != now.machine_type:
        machine_types = {**times, "machine type": [old.machine_type, now.machine_type]}
        yield finding("SG604", subject, machine_types, remedy_text("SG604", "machine-type-changed"))
    if old.cpu != now.cpu:
        yield finding("SG605", subject, {**times, "cpu": [old.cpu, now.cpu]}, remedy_text("SG605", "cpu-changed"))


def changed(one: Definition, other: Definition) -> t.Dict[str, t.Any]:
    """Return what a guest would notice between two definitions; empty: nothing."""
    result: t.Dict[str, t.Any] = {}
    moved = _moved(one.devices, other.devices)
    if moved:
        result["devices"] = moved
    result.update(_order(one.devices, other.devices))
    result.update(_came_and_went(one, other))
    if one.machine_type != other.machine_type:
        result["machine type"] = [one.machine_type, other.machine_type]
    # libvirt expands the model of a guest that runs (host-model, check=full): no difference of the machine.
    return result


def _by_identity(devices: t.Sequence[Device]) -> t.Dict[t.Tuple[str, str], Device]:
    return {(device.kind, device.identity): device for device in devices}


def _moved(old: t.Sequence[Device], now: t.Sequence[Device]) -> t.Dict[str, t.List[t.Optional[str]]]:
    """Devices that are in both and have another address or target. One without any address has not moved."""
    here = _by_identity(now)
    moved: t.Dict[str, t.List[t.Optional[str]]] = {}
    for key, device in _by_identity(old).items():
        other = here.get(key)
        if other is None:
            continue
        if device.address != other.address and device.address is not None and other.address is not None:
            moved[" ".join(key)] = [device.address, other.address]
        elif device.what != other.what:
            moved[" ".join(key)] = [device.what, other.what]
    return moved


def _order(old: t.Sequence[Device], now: t.Sequence[Device]) -> t.Dict[str, t.List[str]]:
    """The order of the disks that are in both, where it differs: what a guest boots from, and calls the first."""
    both = {device.identity for device in old if device.kind == "disk"}
    both &= {device.identity for device in now if device.kind == "disk"}
    before, after = (
        [device.identity for device in devices if device.kind == "disk" and device.identity in both]
        for devices in (old, now)
    )
    return {"order of disks before": before, "order of disks after": after} if before != after else {}


def _came_and_went(old: Definition, now: Definition) -> t.Dict[str, t.List[str]]:
    before, after = _by_identity(old.devices), _by_identity(now.devices)
    parts = {
        "added": sorted(" ".join(key) for key in set(after) - set(before)),
        "removed": sorted(" ".join(key) for key in set(before) - set(after)),
    }
    return {name: found for name, found in parts.items() if found}
