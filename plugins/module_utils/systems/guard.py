# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an evacuation changes in Ceph, each of which can be done again: guard snapshots, and the blocklist.

A guard snapshot makes Nova's deletion of a disk fail (facts of Nova, 4.3), so that data survives whatever a failed
spawn deletes. It must go afterwards: while it is there Nova cannot delete the disk, and says that it did.

A blocklist entry for C(IP:0/0) makes the OSDs refuse every client of that address, whatever still runs there. It
expires; until then only the entry's removal lets the address in again.

Runs on a compute host: Python 3.9, standard library and the distribution's bindings only.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
import typing as t
from concurrent import futures

from ansible_collections.stackguard.nova.plugins.module_utils.facts import RbdImage
from ansible_collections.stackguard.nova.plugins.module_utils.systems import compute_service, rbd
from ansible_collections.stackguard.nova.plugins.module_utils.systems.rbd import Ceph, CephError, GoneError, RbdOptions
from ansible_collections.stackguard.nova.plugins.module_utils.systems.reading import ReadError

PREFIX = "stackguard-"
#: Snapshots at the same time. Each waits for the monitors' next round (C(paxos_propose_interval), a second), and all
#: that come until then are one change of the OSD map. A command is a process of its own: fewer of those.
PARALLEL, PROCESSES = 32, 8
#: The monitors' refusal, as the bindings and as the command tell it.
_DENIED = re.compile(r"error -13\b|EACCES|access denied", re.IGNORECASE)
#: Five years: an entry that runs out by itself would let a forgotten host write again.
BLOCK_SECONDS = 5 * 365 * 86400


def options_of(
    files: t.Sequence[str],
    units: t.Sequence[str],
    pool: t.Optional[str] = None,
    user: t.Optional[str] = None,
    conf: t.Optional[str] = None,
    command: t.Sequence[str] = (),
) -> RbdOptions:
    """Return where this host's nova-compute keeps disks; what is given goes before nova.conf.

    Raises ReadError or ConfError where nova.conf cannot be read, or keeps no disks in Ceph.
    """
    if pool and user:
        return RbdOptions(pool, user, conf, tuple(command))
    service = compute_service.find_service("nova-compute", units)
    nova = compute_service.nova_facts(compute_service.load(files, (), service), service)
    if not pool and nova.images_type != "rbd":
        raise ReadError(f"images_type is {nova.images_type}: this host keeps no disks in Ceph; name the pool")
    return RbdOptions(
        pool or nova.images_rbd_pool or "",
        user or nova.rbd_user,
        conf or nova.images_rbd_ceph_conf,
        tuple(command),
    )


# --- guard snapshots ------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Guarded:
    """One image and its guard: ``changed`` is true where it was made or removed now (or would be)."""

    image: str
    id: t.Optional[str]
    changed: bool


@dataclasses.dataclass(frozen=True)
class Guards:
    """What was done. ``without``: instances of which the pool has no image at all."""

    snapshot: str
    images: t.List[Guarded]
    without: t.List[str]


def guard(ceph: Ceph, operation_id: str, instances: t.Sequence[str], check: bool = False) -> Guards:
    """Make an operation's guard snapshot on every image of the instances, and see that it is there.

    Raises :class:`CephError` that names every image that has none; those that were made stay, for the next try.
    """
    snapshot = f"{PREFIX}{operation_id}"
    before = _images(ceph, instances)
    missing = [image for image in before if not _has(image, snapshot)]
    if not check:
        problems = _each(ceph, missing, lambda image: _make(ceph, image.name, snapshot))
        after = {image.name: image for image in _images(ceph, instances)}
        unguarded = {image.name for image in before if not _has(after.get(image.name, image), snapshot)}
        problems.update(dict.fromkeys(unguarded - set(problems), "it is not there after it was made"))
        if problems:
            raise CephError(f"no guard on {_told(problems)}")
    known = {rbd.instance_of(image.name) for image in before}
    changed = {image.name for image in missing}
    return Guards(
        snapshot,
        [Guarded(image.name, image.id, image.name in changed) for image in before],
        [uuid for uuid in instances if uuid not in known],
    )


def unguard(ceph: Ceph, operation_id: str, instances: t.Sequence[str], check: bool = False) -> Guards:
    """Remove an operation's guard snapshots from the images of the instances (none named: wherever they are).

    Every image is tried before :class:`CephError` names those that still have one.
    """
    snapshot = f"{PREFIX}{operation_id}"
    found = [image for image in _images(ceph, instances) if image.snapshots is None or _has(image, snapshot)]
    problems = {} if check else _each(ceph, found, lambda image: ceph.remove_snapshot(image.name, snapshot))
    if problems:
        raise CephError(f"the guard is still on {_told(problems)}")
    return Guards(snapshot, [Guarded(image.name, image.id, True) for image in found], [])


def _images(ceph: Ceph, instances: t.Sequence[str]) -> t.List[RbdImage]:
    names = [name for name in ceph.names() if rbd.instance_of(name) in instances or not instances]
    return ceph.images(sorted(name for name in names if rbd.instance_of(name)))


def _has(image: RbdImage, snapshot: str) -> bool:
    return any(entry.name == snapshot for entry in image.snapshots or [])


def _make(ceph: Ceph, image: str, snapshot: str) -> None:
    # GoneError: deleted between listing and making. What is not there needs no guard, but somebody deletes disks.
    ceph.create_snapshot(image, snapshot)


def _each(ceph: Ceph, images: t.Sequence[RbdImage], work: t.Callable[[RbdImage], t.Any]) -> t.Dict[str, str]:
    """Do it for all, a few at a time; return what went wrong by image."""

    def one(image: RbdImage) -> t.Tuple[str, t.Optional[str]]:
        try:
            work(image)
        except GoneError as error:
            return image.name, f"{error}: somebody deletes disks"
        except CephError as error:
            return image.name, str(error)
        return image.name, None

    with futures.ThreadPoolExecutor(PROCESSES if ceph.via == rbd.COMMAND else PARALLEL) as threads:
        return {name: problem for name, problem in threads.map(one, images) if problem is not None}


def _told(problems: t.Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {problem}" for name, problem in sorted(problems.items()))


# --- blocklist ------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Blocked:
    """What was done: entries (C(IP:0/0)) that are, or are not any more, on the list; and those that changed."""

    entries: t.List[str]
    changed: t.List[str]


def entry_of(address: str) -> str:
    """Return the entry that stands for all clients of an address. Raises CephError for what is no plain address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError as error:
        raise CephError(f"{address!r} is no IP address") from error
    if parsed.is_loopback or parsed.is_unspecified or parsed.is_multicast or parsed.is_link_local:
        raise CephError(f"{address} is no address of one host: it is not put on the blocklist")
    return f"[{parsed}]:0/0" if parsed.version == 6 else f"{parsed}:0/0"


def block(
    ceph: Ceph, addresses: t.Sequence[str], own: t.Sequence[str], seconds: int = BLOCK_SECONDS, check: bool = False
) -> Blocked:
    """Put addresses on the OSD blocklist and see them there. ``own``: addresses of this host, which are refused.

    Raises :class:`CephError`, before anything is done for an address that must not be blocked.
    """
    entries = list(dict.fromkeys(entry_of(address) for address in addresses))
    mine = {str(ipaddress.ip_address(address)) for address in own}
    for address in addresses:
        if str(ipaddress.ip_address(address)) in mine:
            raise CephError(f"{address} is an address of this very host: it is not put on the blocklist")
    wanted = [entry for entry in entries if entry not in _listed(ceph)]
    if check:
        return Blocked(entries, wanted)
    for entry in wanted:
        ceph.block(entry, seconds)
    lacking = sorted(set(entries) - _listed(ceph)) if wanted else []
    if lacking:
        raise CephError(f"not on the OSD blocklist after it was put there: {', '.join(lacking)}")
    return Blocked(entries, wanted)


def unblock(ceph: Ceph, addresses: t.Sequence[str], check: bool = False) -> Blocked:
    """Take addresses off the OSD blocklist and see that they are gone. Raises :class:`CephError`."""
    entries = list(dict.fromkeys(entry_of(address) for address in addresses))
    listed = _listed(ceph)
    wanted = [entry for entry in entries if entry in listed]
    if check:
        return Blocked(entries, wanted)
    for entry in wanted:
        _unblock(ceph, entry)
    left = sorted(set(wanted) & _listed(ceph)) if wanted else []
    if left:
        raise CephError(f"still on the OSD blocklist: {', '.join(left)}")
    return Blocked(entries, wanted)


def _unblock(ceph: Ceph, entry: str) -> None:
    try:
        ceph.unblock(entry)
    except CephError as error:
        if not _DENIED.search(str(error)):
            raise
        raise CephError(
            f"{error}. This Ceph user may not take addresses off the blocklist (profile rbd may only add them): name "
            f"one that may, with mon caps 'profile rbd, allow command \"osd blocklist\"'; or let an administrator do "
            f"ceph osd blocklist rm {entry}. Then run it again."
        ) from error


def _listed(ceph: Ceph) -> t.Set[str]:
    return {_plain(entry.address) for entry in ceph.blocklist()}


def _plain(address: str) -> str:
    for prefix in ("v1:", "v2:", "any:"):
        if address.startswith(prefix):
            return address[len(prefix) :]
    return address
