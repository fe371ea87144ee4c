# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an evacuation changes in Ceph, each of which can be done again: guard snapshots, and the blocklist.

A guard snapshot makes Nova's deletion of a disk fail (facts of Nova, 4.3), so that data survives whatever a failed
spawn deletes. It must go afterwards: while it is there Nova cannot delete the disk, and says that it did.

A blocklist entry for C(IP:0/0) makes the OSDs refuse every client of that address, whatever still runs there. It
expires; until then only the entry's removal lets the address in again.

Nothing succeeds by absence: no address, an image that is not there, or another cluster than expected is an error before
anything is changed, and what was changed is read back.

Runs on a compute host: Python 3.9, standard library and the distribution's bindings only.
"""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
import re
import time
import typing as t
from concurrent import futures

from ...model.host_facts import BlocklistEntry, RbdImage
from ..host import nova_compute
from ..host.reading import HostError, Parts, ReadError
from . import addresses as ceph_addresses
from . import places, rbd
from .rbd import (
    Ceph,
    CephError,
    GoneError,
    RbdOptions,
)

PREFIX = "stackguard-"
#: Snapshots at the same time. Each waits for the monitors' next round (C(paxos_propose_interval), a second), and all
#: that come until then are one change of the OSD map. A command is a process of its own: fewer of those.
PARALLEL, PROCESSES = 32, 8
#: The monitors' refusal, as the bindings and as the command tell it.
_DENIED = re.compile(r"error -13\b|EACCES|access denied", re.IGNORECASE)
#: Five years: an entry that runs out by itself would let a forgotten host write again. Who returns the host, or audits
#: the cloud, removes it.
BLOCK_SECONDS = 5 * 365 * 86400
#: An entry is as good as a new one while this share of the time that is asked for is left.
_GOOD_FOR = 0.9
#: The rights on the monitors that all of this needs.
CAPS = (
    'profile rbd, allow command "osd blocklist", allow command "mgr dump", allow command "mgr metadata", '
    'allow command "fs dump"'
)
#: What somebody may say instead of reading it: C(profile rbd) may read all the rest.
_CAN_BE_SAID = ("infrastructure mgr dump", "infrastructure fs dump")


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
    service = nova_compute.find_service("nova-compute", units)
    try:
        nova = nova_compute.nova_facts(nova_compute.load(files, (), service), service)
    except HostError:
        if not (pool and user):
            raise
        # The operator says all that is needed, of a host that need not be a compute host.
        return RbdOptions(pool, user, conf, tuple(command))
    if not pool and nova.images_type != "rbd":
        raise ReadError(
            f"images_type is {nova.images_type}, so this host has no disks in Ceph, and nova.conf does not show which "
            "pool to use. Set the module option 'pool' to the name of a Ceph pool"
        )
    return places.options(nova, service, pool, user, conf, command)


def expect_cluster(ceph: Ceph, fsid: t.Optional[str] = None) -> str:
    """Return the id of the cluster that this is. Raises :class:`CephError` where another one is expected."""
    found = ceph.fsid()
    if fsid and fsid.strip().casefold() != found.casefold():
        raise CephError(
            f"this host is connected to Ceph cluster {found}, expected {fsid}. Nothing was done",
            problem="other-cluster",
        )
    return found


def now() -> str:
    """Return the time, by this host's clock."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


# --- guard snapshots ------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class GuardedImage:
    """One image and its guard: ``changed`` is true where it was made or removed now (or would be).

    ``guarded``: whether the snapshot was there when the image was read back.
    """

    image: str
    id: t.Optional[str]
    changed: bool
    guarded: bool = False


@dataclasses.dataclass(frozen=True)
class GuardResult:
    """What was done. ``without``: instances of which the pool has no image at all, which proves nothing.

    ``gone``, ``replaced``: images that were named, and are not there any more, or have another id than was named.
    """

    snapshot: str
    images: t.List[GuardedImage]
    without: t.List[str]
    gone: t.List[str] = dataclasses.field(default_factory=list)
    replaced: t.List[str] = dataclasses.field(default_factory=list)


#: Images by name, each with Ceph's own id.
Images = t.Mapping[str, str]


def guard(
    ceph: Ceph,
    operation_id: str,
    instances: t.Sequence[str],
    images: t.Optional[Images] = None,
    check: bool = False,
) -> GuardResult:
    """Make an operation's guard snapshot on every image of the instances and every image named; see that it is there.

    ``images``: those that must be guarded. Raises :class:`CephError`, before anything is made, where the pool lacks one
    of them or has another under its name; and one that names every image without a guard: those that were made stay,
    for the next try.
    """
    snapshot = f"{PREFIX}{operation_id}"
    named = images or {}
    if not instances and not named:
        raise CephError(
            "the options 'servers' and 'images' are both empty. Set at least one of the two options",
            problem="options-servers-images",
        )
    before = _images(ceph, instances, named)
    _refuse_unexpected(before, named)
    missing = [image for image in before if not _has(image, snapshot)]
    changed = {image.name for image in missing}
    after = before if check else _made(ceph, before, missing, snapshot, named)
    return GuardResult(
        snapshot,
        [GuardedImage(image.name, image.id, image.name in changed, _has(image, snapshot)) for image in after],
        _without(instances, before),
    )


def _without(instances: t.Sequence[str], images: t.Sequence[RbdImage]) -> t.List[str]:
    """Return the instances of which the pool has no image at all."""
    known = {rbd.instance_of(image.name) for image in images}
    return [uuid for uuid in instances if uuid.casefold() not in known]


def _refuse_unexpected(found: t.Sequence[RbdImage], named: Images) -> None:
    there = {image.name: image for image in found}
    problems = {}
    for name, identity in named.items():
        if name not in there:
            problems[name] = "the pool has no image with this name"
        elif not identity or there[name].id != identity:
            problems[name] = f"the image id is {there[name].id or 'unread'}, expected {identity or 'unknown'}"
    if problems:
        raise CephError(
            f"no guard snapshot was made, because the pool has unexpected contents: {_told(problems)}",
            problem="no-guard-unexpected",
        )


def _made(
    ceph: Ceph, before: t.Sequence[RbdImage], missing: t.Sequence[RbdImage], snapshot: str, named: Images
) -> t.List[RbdImage]:
    """Make the snapshots that are missing, and return all images as they are then."""
    problems = _each(ceph, missing, lambda image: _make(ceph, image.name, snapshot))
    after = {image.name: image for image in ceph.images([image.name for image in before])}
    for image in before:
        seen = after.get(image.name)
        if seen is None:
            problems.setdefault(image.name, "the image no longer exists, so other software must have deleted it")
        elif image.id is not None and seen.id is not None and seen.id != image.id:
            problems.setdefault(
                image.name,
                "other software replaced the image with a new image of the same name after the run had read the image",
            )
        elif not _has(seen, snapshot):
            problems.setdefault(image.name, "the run requested the snapshot, but the snapshot does not exist")
    if problems:
        raise CephError(f"no guard snapshot was made on {_told(problems)}", problem="no-guard-snapshot")
    _refuse_unexpected(list(after.values()), named)
    return [after[image.name] for image in before]


def unguard(
    ceph: Ceph,
    operation_id: str,
    instances: t.Sequence[str],
    images: t.Optional[Images] = None,
    check: bool = False,
) -> GuardResult:
    """Remove an operation's guard snapshots from the images of the instances and from those named.

    Where neither is named: from wherever in the pool they are. An image that was named and is gone, or has another id,
    is in the result: its guard was not removed, it is not there. Every image is tried before :class:`CephError` names
    those that still have one.
    """
    snapshot = f"{PREFIX}{operation_id}"
    named = images or {}
    present = _images(ceph, instances, named)
    there = {image.name: image for image in present}
    found = [image for image in present if image.snapshots is None or _has(image, snapshot)]
    if not check:
        _remove(ceph, found, snapshot)
    changed = {image.name for image in found}
    return GuardResult(
        snapshot,
        [
            GuardedImage(image.name, image.id, image.name in changed, check and _has(image, snapshot))
            for image in present
            if image.name in changed or image.name in named
        ],
        _without(instances, present),
        sorted(name for name in named if name not in there),
        sorted(name for name, identity in named.items() if name in there and there[name].id != identity),
    )


def _remove(ceph: Ceph, found: t.Sequence[RbdImage], snapshot: str) -> None:
    problems = _each(ceph, found, lambda image: ceph.remove_snapshot(image.name, snapshot))
    for image in ceph.images([image.name for image in found]) if found else []:
        if _has(image, snapshot):
            problems.setdefault(
                image.name, ("the run requested the removal of the snapshot, but the snapshot still exists")
            )
    if problems:
        raise CephError(f"the guard snapshot is still on {_told(problems)}", problem="guard-snapshot-still")


def _images(ceph: Ceph, instances: t.Sequence[str], named: Images) -> t.List[RbdImage]:
    everywhere = not instances and not named
    # Nova writes uuids in lower case.
    wanted = {uuid.casefold() for uuid in instances}
    names = {name for name in ceph.names() if name in named or _belongs(name, wanted, everywhere)}
    return ceph.images(sorted(names))


def _belongs(name: str, instances: t.Container[str], everywhere: bool) -> bool:
    instance = rbd.instance_of(name)
    return instance is not None and (everywhere or instance in instances)


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
            return image.name, f"{error}, because other software deleted the image during the run"
        except CephError as error:
            return image.name, str(error)
        return image.name, None

    with futures.ThreadPoolExecutor(PROCESSES if ceph.via == rbd.COMMAND else PARALLEL) as threads:
        return {name: problem for name, problem in threads.map(one, images) if problem is not None}


def _told(problems: t.Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {problem}" for name, problem in sorted(problems.items()))


# --- blocklist ------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class BlockedHost:
    """One address and the entry that stands for it: C(IP:0/0), or a range that has it. ``changed``: just now."""

    address: str
    entry: str
    until: t.Optional[str]
    changed: bool


@dataclasses.dataclass(frozen=True)
class BlocklistResult:
    """What was done, and what was read afterwards.

    ``listed``: those of the addresses that Ceph refuses now. ``covered``: entries that still shut out an address which
    was to be let in: ranges that are not of this address alone, and so somebody else's.
    """

    entries: t.List[BlockedHost]
    listed: t.List[str]
    covered: t.List[BlockedHost] = dataclasses.field(default_factory=list)

    @property
    def changed(self) -> t.List[str]:
        """The entries that were added or removed."""
        return [entry.entry for entry in self.entries if entry.changed]


def hosts_of(addresses: t.Sequence[str]) -> t.List[str]:
    """Return addresses in their usual form, each once. Raises :class:`CephError` for none, and for what is not one."""
    if not addresses:
        raise CephError("the list of addresses is empty. Nothing was done", problem="no-addresses")
    try:
        return list(dict.fromkeys(ceph_addresses.normal(address) for address in addresses))
    except ValueError as error:
        raise CephError(f"not an IP address: {error}") from error


def entry_of(address: str) -> str:
    """Return the entry that stands for all clients of an address. Raises CephError for what is no plain address."""
    (host,) = hosts_of([address])
    parsed = ipaddress.ip_address(host)
    refused = parsed.is_loopback or parsed.is_unspecified or parsed.is_multicast or parsed.is_link_local
    if refused or parsed.is_reserved:
        raise CephError(
            f"{address} belongs to no host or to several hosts, so the run does not put this address on the blocklist"
        )
    return ceph_addresses.entry_of(host)


def block(
    ceph: Ceph,
    addresses: t.Sequence[str],
    own: t.Sequence[str],
    seconds: int = BLOCK_SECONDS,
    check: bool = False,
    infrastructure: t.Sequence[str] = (),
    never: t.Sequence[str] = (),
    host_addresses: t.Sequence[str] = (),
) -> BlocklistResult:
    """Put addresses on the OSD blocklist and see them there. ``own``: addresses of this host, which are refused.

    ``infrastructure``: addresses of the cluster's managers and MDS, for a Ceph user that may not read them. They are
    refused, like all that can be read, and there are no others. ``never``: addresses that are refused, and that say
    nothing of the cluster. ``host_addresses``: those of ``addresses`` that are known to be the dead host's. A manager
    or MDS there is on the dead machine, so that these may go on the list where managers and MDS are unread.

    An entry that is there is kept while it, or a range that has the address, is good for nearly as long as was asked.

    Raises :class:`CephError`, before anything is done, for no address, for one that must not be blocked, and where the
    cluster's own addresses are not known.
    """
    hosts = hosts_of(addresses)
    entries = {host: entry_of(host) for host in hosts}
    mine = set(hosts_of(own)) if own else set()
    for host in hosts:
        if host in mine:
            raise CephError(
                f"{host} is an address of the host on which the module runs, so the run does not put this address on "
                "the blocklist"
            )
    refused = set(hosts_of(never)) if never else set()
    for host in hosts:
        if host in refused:
            raise CephError(f"{host} is one of the addresses that must never be on the blocklist", problem="no-address")
    _refuse_infrastructure(ceph, hosts, infrastructure, host_addresses)
    moment = time.time()
    before = ceph.blocklist()
    wanted = [host for host in hosts if not _lasts(before, host, seconds, moment)]
    if check:
        return _blocked(before, entries, wanted)
    for host in wanted:
        ceph.block(entries[host], seconds)
    after = ceph.blocklist()
    # Since Pacific a second entry for the same address is ignored, so that the first one's time is not prolonged. To
    # take it off first would let the host write for a moment: a range of this one address goes beside it.
    short = [host for host in wanted if _ends_too_soon(after, host, seconds, moment)]
    for host in short:
        ceph.block(ceph_addresses.range_of(host), seconds, as_range=True)
    after = ceph.blocklist() if short else after
    _refuse_missing(after, hosts)
    for host in short:
        if _ends_too_soon(after, host, seconds, moment):
            raise CephError(
                f"the blocklist entry for {host} expires too soon, and Ceph does not extend the entry: "
                f"{_until(after, host)}",
                problem="blocklist-entry-expires",
            )
    return _blocked(after, entries, wanted)


def listed(ceph: Ceph, addresses: t.Sequence[str]) -> BlocklistResult:
    """Read the OSD blocklist, and nothing else. Raises :class:`CephError` for an address that is not on it, or none."""
    hosts = hosts_of(addresses)
    found = ceph.blocklist()
    _refuse_missing(found, hosts)
    return _blocked(found, {host: ceph_addresses.entry_of(host) for host in hosts}, [])


def unblock(ceph: Ceph, addresses: t.Sequence[str], check: bool = False) -> BlocklistResult:
    """Take addresses off the OSD blocklist and see that they are gone. Raises :class:`CephError`, also for none.

    A range of more than one address is left alone: the result's ``covered`` has those that still shut one out.
    """
    hosts = hosts_of(addresses)
    before = ceph.blocklist()
    wanted = {host: [entry for entry in before if _is_of_one(entry, host)] for host in hosts}
    if not check:
        for entry in (entry for found in wanted.values() for entry in found):
            _unblock(ceph, entry)
    after = before if check else ceph.blocklist()
    left = sorted(entry.address for host in hosts for entry in after if not check and _is_of_one(entry, host))
    if left:
        raise CephError(f"these addresses are still on the OSD blocklist: {', '.join(left)}", problem="still-listed")
    others = [(host, entry) for host in hosts for entry in _covering(after, host) if not _is_of_one(entry, host)]
    still = {host for host, _entry in others}
    return BlocklistResult(
        [
            BlockedHost(host, _plain(entry.address), entry.until, True)
            for host, found in wanted.items()
            for entry in found
        ]
        + [
            BlockedHost(host, ceph_addresses.entry_of(host), None, False) for host, found in wanted.items() if not found
        ],
        [host for host in hosts if host in still or (check and wanted[host])],
        [BlockedHost(host, entry.address, entry.until, False) for host, entry in others],
    )


def _refuse_infrastructure(
    ceph: Ceph, hosts: t.Sequence[str], said: t.Sequence[str], of_host: t.Sequence[str] = ()
) -> None:
    parts = Parts()
    # Whoever owns an address that is not known may be a manager or MDS.
    enough = bool(said) or set(hosts) <= set(hosts_of(of_host) if of_host else [])
    known = set(rbd.infrastructure(ceph, parts) or []) | set(hosts_of(said) if said else [])
    for host in hosts:
        if host in known:
            raise CephError(
                f"{host} is an address of the Ceph cluster, so the run does not put this address on the blocklist",
                problem="of-the-cluster",
            )
    unread = [entry for entry in parts.unread if not (enough and entry.part in _CAN_BE_SAID)]
    if unread:
        told = "; ".join(f"{entry.part}: {entry.reason}" for entry in unread)
        raise CephError(
            "the run puts no address on the blocklist, because the run cannot read all addresses of the Ceph cluster "
            f"({told}). Set stackguard_ceph_infrastructure or the option infrastructure (in the "
            "module rbd_blocklist) to the addresses of the managers and MDS daemons. As an alternative, allow the "
            "Ceph user to read these addresses: first run ceph auth get client.USER, which shows the existing caps. "
            f"Then run ceph auth caps client.USER mon '{CAPS}' osd 'EXISTING OSD CAPS', and add all other existing "
            "caps to this command, because it replaces all caps of the user",
            problem="unread-infrastructure",
        )


def _refuse_missing(found: t.Sequence[BlocklistEntry], hosts: t.Sequence[str]) -> None:
    lacking = sorted(host for host in hosts if not _covering(found, host))
    if lacking:
        raise CephError(f"these addresses are not on the OSD blocklist: {', '.join(lacking)}", problem="not-listed")


def _blocked(
    found: t.Sequence[BlocklistEntry], entries: t.Mapping[str, str], changed: t.Container[str]
) -> BlocklistResult:
    best = {host: _best(found, host) for host in entries}
    return BlocklistResult(
        [
            BlockedHost(
                host, entry if seen is None else _plain(seen.address), seen.until if seen else None, host in changed
            )
            for (host, entry), seen in zip(entries.items(), best.values())
        ],
        [host for host, seen in best.items() if seen is not None],
    )


def _covering(entries: t.Sequence[BlocklistEntry], host: str) -> t.List[BlocklistEntry]:
    address = ipaddress.ip_address(host)
    return [
        entry for entry in entries for network in [ceph_addresses.shuts_out(entry)] if network and address in network
    ]


def _is_of_one(entry: BlocklistEntry, host: str) -> bool:
    network = ceph_addresses.shuts_out(entry)
    return network is not None and network == ipaddress.ip_network(host)


def _best(entries: t.Sequence[BlocklistEntry], host: str) -> t.Optional[BlocklistEntry]:
    """Return the entry that shuts a host out for longest."""
    return max(_covering(entries, host), key=lambda entry: _moment(entry.until) or 0.0, default=None)


def _lasts(entries: t.Sequence[BlocklistEntry], host: str, seconds: int, moment: float) -> bool:
    best = _best(entries, host)
    until = _moment(best.until) if best else None
    return until is not None and until - moment >= _GOOD_FOR * seconds


def _ends_too_soon(entries: t.Sequence[BlocklistEntry], host: str, seconds: int, moment: float) -> bool:
    """Whether an entry is known to end too soon: one whose end is not understood has just been made again."""
    best = _best(entries, host)
    return best is not None and _moment(best.until) is not None and not _lasts(entries, host, seconds, moment)


def _until(entries: t.Sequence[BlocklistEntry], host: str) -> str:
    best = _best(entries, host)
    return f"{best.address} until {best.until}" if best else "the blocklist entry does not exist"


def _moment(until: t.Optional[str]) -> t.Optional[float]:
    """Return a time of Ceph's in seconds; older releases write it without its zone."""
    for form in ("%Y-%m-%dT%H:%M:%S.%f%z", "%Y-%m-%d %H:%M:%S.%f%z", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f"):
        try:
            parsed = datetime.datetime.strptime(until or "", form)  # noqa: DTZ007 - a zone is put in below
        except ValueError:
            continue
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=datetime.timezone.utc)).timestamp()
    return None


def _unblock(ceph: Ceph, entry: BlocklistEntry) -> None:
    text = _plain(entry.address)
    try:
        ceph.unblock(text, as_range=True) if entry.range else ceph.unblock(text)
    except CephError as error:
        if not _DENIED.search(str(error)):
            raise
        word = "blacklist" if "blacklist" in str(error) else "blocklist"
        raise CephError(
            f"{error}. This Ceph user is not allowed to remove addresses from the blocklist (profile rbd only allows "
            f"a user to add addresses). Use a Ceph user with the mon caps 'profile rbd, allow command \"osd {word}\"', "
            f"or have an administrator run ceph osd {word} {'range ' if entry.range else ''}rm {text}. Then run the "
            "same command again.",
            problem="ceph-user-not",
        ) from error


def _plain(address: str) -> str:
    for prefix in ("v1:", "v2:", "any:", "cidr:"):
        if address.startswith(prefix):
            return address[len(prefix) :]
    return address
