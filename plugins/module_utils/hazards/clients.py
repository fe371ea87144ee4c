# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Images in Ceph, who has them open, and whose addresses these are. Pure.

An image is found by its cluster and pool (fsid, pool). A cluster whose fsid was not read is equal to none, not even to
another that was not read.

An address is the dead host's in a cluster only with evidence from that cluster, see :func:`identify`. Nova's
C(host_ip) alone says nothing about Ceph.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import typing as t

from ..capacity.leaving_guests import Guest
from ..capacity.measured import by_nova_name
from ..model import addresses, host_facts
from ..model.codes.catalogue import remedy_text
from ..model.facts import (
    Bundle,
    DomainDisk,
    EvacuationFacts,
    HostFacts,
    RbdFacts,
    RbdImage,
)
from ..model.names import conf_host
from ..model.requests import EvacuationRequest

WATCHER, LOCK = "watcher", "lock"
VOLUME = host_facts.VOLUME
#: Devices of a host that may be an image in Ceph: mapped by the kernel ([workarounds] rbd_volume_local_attach).
_MAYBE_CEPH = ("/dev/rbd", "/dev/mapper/crypt-")
#: Servers that write from the dead host, as far as Nova knows.
_ACTIVE = "ACTIVE"

#: Where an image is: cluster and pool.
Home = t.Tuple[str, str]


class Origin(str, enum.Enum):
    """From what an address is known to be the dead host's. A journal keeps the value, so no value ever changes."""

    #: Read on the host now, as its client address of the cluster.
    HOST = "host"
    #: The same, in an earlier run of this outage.
    EARLIER = "earlier"
    #: A watcher or lock of its servers has it, and it is known to be the host's.
    CLIENT = "client"
    #: The operator names it: that counts while he does.
    OPERATOR = "operator"
    #: Nova's host_ip, where every other host reaches the cluster from its own.
    HOST_IP = "host_ip"
    #: Nothing but locks shows it, see :func:`_agreed`: it may be a daemon's of the cluster.
    LOCKS = "locks"


@dataclasses.dataclass(frozen=True)
class Known:
    """Why an address is taken for the dead host's. ``origin`` decides; ``text`` is for people."""

    origin: Origin
    text: str


#: Origins that show the host itself. Any other word of a journal counts as the careful case.
_OF_HOST = frozenset({Origin.HOST, Origin.EARLIER, Origin.CLIENT, Origin.OPERATOR, Origin.HOST_IP})
#: Origins that a later run takes for seen: what an operator named counts in the runs in which he names it.
_SEEN = frozenset({Origin.HOST, Origin.EARLIER, Origin.CLIENT, Origin.LOCKS})


def shows_host(origin: t.Optional[str]) -> bool:
    """Return True if an origin, as a journal keeps it, shows the dead host itself; False if it is not known."""
    return origin in {entry.value for entry in _OF_HOST}


def is_seen(origin: t.Optional[str]) -> bool:
    """Return True if an origin, as a journal keeps it, still counts in a later run; False if it is not known."""
    return origin in {entry.value for entry in _SEEN}


# --- addresses ------------------------------------------------------------------------------------------------


def plain(address: t.Optional[str]) -> t.Optional[str]:
    """Return an IP address in its one form, an IPv4 address that IPv6 carries as IPv4; None: it is none."""
    return addresses.plain(address or "")


def address_of(ceph: t.Optional[str]) -> t.Optional[str]:
    """Return the IP address in Ceph's C(IP:PORT/NONCE), C([IP6]:PORT/NONCE) or C(v1:IP:PORT/NONCE); None: none."""
    text = (ceph or "").partition("/")[0]
    for prefix in ("v1:", "v2:", "any:"):
        text = text.removeprefix(prefix)
    host = text[1:].partition("]")[0] if text.startswith("[") else text.rpartition(":")[0]
    return plain(host)


# --- who sees what --------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class SeenImage:
    """An image, and where it was seen. ``by``: what Nova calls the hosts that saw it."""

    fsid: t.Optional[str]
    pool: str
    image: RbdImage
    by: t.Tuple[str, ...]

    @property
    def home(self) -> t.Optional[Home]:
        """Return cluster and pool; None: the cluster is not known."""
        return None if self.fsid is None else (self.fsid, self.pool)


_Key = t.Tuple[t.Optional[str], str, t.Optional[str]]
#: While it is gathered: by name, by place, what the hosts saw, and the hosts.
_Places = t.Dict[str, t.Dict[_Key, t.Tuple[t.List[RbdImage], t.List[str]]]]


def _key(rbd: RbdFacts, pool: str, by: str) -> _Key:
    # An fsid that was not read is equal to none: such a view stands alone.
    return (rbd.fsid, pool, None if rbd.fsid is not None else by)


def seen(bundle: Bundle, uuids: t.Optional[t.Container[str]] = None) -> t.Dict[str, t.List[SeenImage]]:
    """Return every image of these instances (None: all) by name: once for each cluster and pool it was seen in.

    Several hosts look at one pool one after the other, and some list names only: what any of them saw counts, and
    what one could not read is unread only where no other could.
    """
    found: _Places = {}
    for name, facts in sorted(by_nova_name(bundle).items()):
        rbd = facts.rbd
        if rbd is None or rbd.images is None:
            continue
        key = _key(rbd, rbd.pool, name)
        for image in rbd.images:
            if uuids is None or image.name.partition("_")[0] in uuids:
                _add(found, image.name, key, image, name)
    return _merged(found)


def volumes_seen(bundle: Bundle, volumes: t.Optional[t.Container[str]] = None) -> t.Dict[str, t.List[SeenImage]]:
    """Return the images of these volumes (None: all) by the volume's uuid: once for each cluster and pool."""
    found: _Places = {}
    for name, facts in sorted(by_nova_name(bundle).items()):
        rbd = facts.rbd
        if rbd is None or rbd.volumes is None:
            continue
        for entry in rbd.volumes:
            uuid = entry.image.name.removeprefix(VOLUME)
            if is_volume(entry.image.name) and (volumes is None or uuid in volumes):
                _add(found, uuid, _key(rbd, entry.pool, name), entry.image, name)
    return _merged(found)


def _add(found: _Places, name: str, key: _Key, image: RbdImage, by: str) -> None:
    images, hosts = found.setdefault(name, {}).setdefault(key, ([], []))
    hosts.append(by)
    # A thousand hosts that listed the name only say nothing more of it than the first.
    if not images or _opened(image) or image.unread != images[0].unread:
        images.append(image)


def _opened(image: RbdImage) -> bool:
    return any(part is not None for part in (image.id, image.size, image.snapshots, image.watchers, image.locks))


def _merged(found: _Places) -> t.Dict[str, t.List[SeenImage]]:
    return {
        name: [
            SeenImage(key[0], key[1], functools.reduce(_merge, images), tuple(hosts))
            for key, (images, hosts) in places.items()
        ]
        for name, places in found.items()
    }


def _merge(one: RbdImage, other: RbdImage) -> RbdImage:
    def both(name: str) -> t.Any:
        first, second = getattr(one, name), getattr(other, name)
        if first is None or second is None:
            return second if first is None else first
        return [*first, *(entry for entry in second if entry not in first)]

    merged = dataclasses.replace(
        one,
        id=one.id or other.id,
        size=one.size or other.size,
        snapshots=both("snapshots"),
        watchers=both("watchers"),
        locks=both("locks"),
    )
    whole = None not in (merged.id, merged.snapshots, merged.watchers, merged.locks)
    unread = [] if whole else [*one.unread, *(entry for entry in other.unread if entry not in one.unread)]
    return dataclasses.replace(merged, unread=unread)


@dataclasses.dataclass(frozen=True)
class Disks:
    """The disks of some servers, as all hosts see them: gathered once, since there may be many of both.

    ``images`` by name; ``volumes``: by server; ``places``: of the volumes, by the volume's uuid. ``elsewhere``: volumes
    that are known not to be in Ceph. ``unread``: why volumes may not have been found.
    """

    images: t.Mapping[str, t.List[SeenImage]]
    volumes: t.Mapping[str, t.List[str]]
    places: t.Mapping[str, t.List[SeenImage]]
    clients: t.Tuple[Client, ...]
    elsewhere: t.FrozenSet[str] = frozenset()
    unread: t.Tuple[str, ...] = ()

    def volume_unread(self, volume: str) -> t.Optional[str]:
        """Say why it is not known who has a volume open; None: it was read, or the volume is not in Ceph."""
        places = self.places.get(volume, [])
        if any(entry.image.watchers is None for entry in places):
            reasons = {item.reason for entry in places for item in entry.image.unread}
            return "; ".join(sorted(reasons)) or "the run did not read the watchers"
        if places or volume in self.elsewhere:
            return None
        return "; ".join(self.unread) or f"the run found no image {VOLUME}{volume} in the pools that it read"

    @property
    def clusters(self) -> t.List[str]:
        """Return the clusters that hold them, sorted."""
        entries = (entry for found in (self.images, self.places) for places in found.values() for entry in places)
        return sorted({entry.fsid for entry in entries if entry.fsid is not None})


def disks(bundle: Bundle, guests: t.Sequence[Guest]) -> Disks:
    """Return the disks of these servers, and every client of them that was seen."""
    images = seen(bundle, {guest.uuid for guest in guests})
    volumes = volumes_of(bundle, guests)
    wanted = {volume for names in volumes.values() for volume in names}
    places = volumes_seen(bundle, wanted)
    found = [
        client
        for name, entries in sorted(images.items())
        for entry in entries
        for client in of_image(entry, name.partition("_")[0])
    ]
    for uuid, names in sorted(volumes.items()):
        found += [client for name in names for entry in places.get(name, []) for client in of_image(entry, uuid)]
    elsewhere = not_in_ceph(bundle, {guest.uuid for guest in guests})
    return Disks(images, volumes, places, tuple(found), frozenset(elsewhere & wanted), unread_pools(bundle))


def is_volume(image: str) -> bool:
    """Whether an image is a volume of Cinder's, by its name."""
    return image.startswith(VOLUME)


def who_has_volume(image: str, state: str = "volume-open-at-evacuation") -> str:
    """Say what to do about a second client of a volume: it may be that of another server, and right.

    ``state``: of SG507; it says what goes on as soon as nobody else has the volume open.
    """
    return remedy_text("SG507", state, volume=image[len(VOLUME) :])


def not_in_ceph(bundle: Bundle, servers: t.Container[str]) -> t.Set[str]:
    """Return the volumes that are not in Ceph, by Cinder, or as a disk of one of these servers by libvirt."""
    storage = bundle.cloud.block_storage if bundle.cloud else None
    by_cinder = {volume.id for volume in (storage.volumes if storage else None) or [] if volume.in_ceph is False}
    domains = (domain for facts in bundle.hosts.values() for domain in facts.domains or [])
    shown = (disk for domain in domains if domain.uuid in servers for disk in domain.disks)
    return by_cinder | {str(disk.serial) for disk in shown if is_outside(disk)}


def is_outside(disk: DomainDisk) -> bool:
    """Whether a disk with a serial, such as a volume's, is known not to be in Ceph."""
    known = bool(disk.serial and disk.source)
    return known and disk.protocol != "rbd" and not str(disk.source).startswith(_MAYBE_CEPH)


def unread_pools(bundle: Bundle) -> t.Tuple[str, ...]:
    """Say which pools no host of their cluster could search for volumes, and why; or that no host searched at all."""
    failed: t.Dict[t.Optional[str], t.List[t.Dict[str, str]]] = {}
    for name, facts in sorted(by_nova_name(bundle).items()):
        rbd = facts.rbd
        if rbd is None:
            continue
        parts = [entry for entry in rbd.unread if entry.part.partition(" ")[0] == "volumes"]
        if rbd.volumes is not None or parts:
            said = {entry.part: f"{entry.part} (through {name}): {entry.reason}" for entry in parts}
            failed.setdefault(rbd.fsid, []).append(said)
    if not failed:
        why = {entry.reason for facts in bundle.hosts.values() for entry in facts.unread if entry.part == "rbd"}
        return ("no host searched Ceph for volumes", *sorted(why))
    return tuple(
        views[0][part]
        for _fsid, views in sorted(failed.items(), key=lambda item: str(item[0]))
        for part in sorted(set.intersection(*map(set, views)))
    )


def volumes_of(bundle: Bundle, guests: t.Iterable[Guest]) -> t.Dict[str, t.List[str]]:
    """Return the volumes of each of these servers, by the server's uuid."""
    wanted = {guest.uuid for guest in guests}
    servers = (bundle.cloud.servers if bundle.cloud else None) or []
    return {server.id: list(server.volumes) for server in servers if server.id in wanted and server.volumes}


# --- clients --------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Client:
    """One that has a disk of a server open (watcher), or had it last (lock). ``address``: Ceph's; ``ip``: plain."""

    uuid: str
    fsid: t.Optional[str]
    pool: str
    image: str
    kind: str
    address: str
    ip: t.Optional[str]
    #: Whether a lock is one that librbd manages (exclusive-lock); one made by hand has another cookie.
    managed: bool = False


def of_image(entry: SeenImage, uuid: str) -> t.Iterator[Client]:
    image = entry.image
    found = [(WATCHER, watcher.address, False) for watcher in image.watchers or []]
    found += [(LOCK, lock.address or "", (lock.cookie or "").startswith("auto ")) for lock in image.locks or []]
    for kind, address, managed in found:
        yield Client(uuid, entry.fsid, entry.pool, image.name, kind, address, address_of(address), managed)


# --- whose? ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class EvidenceElsewhere:
    """What the evidence of this reading does not hold.

    ``earlier``: addresses that were read on the dead host before, each with the cluster whose client it was there
    (None: only an address of the host). ``by_locks``: those of them that only locks showed. ``controllers``,
    ``gateways``: addresses that are never the dead host's.
    """

    earlier: t.Tuple[t.Tuple[str, t.Optional[str]], ...] = ()
    controllers: t.Tuple[str, ...] = ()
    gateways: t.Tuple[str, ...] = ()
    by_locks: t.FrozenSet[t.Tuple[str, t.Optional[str]]] = frozenset()


@dataclasses.dataclass(frozen=True)
class KnownAddresses:
    """Whose addresses are whose.

    ``own``: by cluster, addresses proven to be the dead host's as a client there, with the evidence. ``mine``: known
    to be the host's, for whatever. ``others``: of somebody else, and of whom. ``services``: by cluster, addresses of
    its monitors, managers, OSDs and MDS; None: unread.
    """

    own: t.Mapping[str, t.Mapping[str, Known]]
    mine: t.FrozenSet[str]
    others: t.Mapping[str, str]
    services: t.Mapping[str, t.Optional[t.FrozenSet[str]]]
    #: Of which host an address is, of those that Nova knows.
    hosts: t.Mapping[str, str]
    #: What it was found out from.
    disks: Disks

    def is_own(self, client: Client) -> bool:
        """Whether a client is the dead host."""
        if client.ip is None or client.ip in self.others:
            return False
        return client.ip in self.mine or client.ip in self.own.get(client.fsid or "", {})

    def whose(self, client: Client) -> t.Optional[str]:
        """Say whose address a client has; None: it is not known."""
        if client.ip is None:
            return None
        if client.ip in self.others:
            return self.others[client.ip]
        if client.ip in (self.services.get(client.fsid or "") or ()):
            return f"a monitor, manager, OSD or MDS of cluster {client.fsid}"
        return None


def identify(
    bundle: Bundle,
    about: EvacuationFacts,
    guests: t.Sequence[Guest],
    request: EvacuationRequest,
    given: t.Optional[t.Sequence[str]] = None,
    elsewhere: t.Optional[EvidenceElsewhere] = None,
) -> KnownAddresses:
    """Return whose addresses are whose. ``given``: by the operator; None: those of the request.

    In a cluster an address is the dead host's

    * where it was read on the host, now or earlier, as its client address of that cluster;
    * where a watcher or lock of its servers has it, and it is known to be the host's (read on it, Nova's host_ip);
    * where the operator names it;
    * where nothing of this is known there, and all running servers (two or more) agree, see :func:`_agreed`.
    """
    given = request.blocklist if given is None else given
    elsewhere = elsewhere or EvidenceElsewhere()
    source = own_facts(bundle, request)
    hosts = _hosts(bundle, about, request)
    others = {**_named(elsewhere.gateways, "a gateway"), **_named(elsewhere.controllers, "the controller"), **hosts}
    named = {address for address in map(plain, given) if address is not None}
    read = {*_read_on(source), *_host_ips(about, request)}
    read |= {address for address in (plain(entry) for entry, _fsid in elsewhere.earlier) if address is not None}
    mine = named | read
    found = disks(bundle, guests)
    at = _nova_hosts(bundle, about, request)
    known = KnownAddresses({}, frozenset(mine - set(others)), others, _services(bundle), at, found)
    own = {}
    for fsid in found.clusters:
        there = [client for client in found.clients if client.fsid == fsid]
        why = _as_client(source, fsid, elsewhere)
        for client in there:
            if client.ip in read and known.is_own(client):
                text = f"{client.kind} of {client.pool}/{client.image}"
                why.setdefault(client.ip, Known(Origin.CLIENT, text))
        for address in sorted(named):
            why.setdefault(address, Known(Origin.OPERATOR, "named by the operator"))
        why = {address: entry for address, entry in why.items() if address not in others}
        own[fsid] = why or _agreed(guests, known, fsid, there)
    return dataclasses.replace(known, own=own)


def _agreed(
    guests: t.Sequence[Guest], known: KnownAddresses, fsid: str, there: t.Sequence[Client]
) -> t.Dict[str, Known]:
    """Return the one address that locks the images of all running servers in a cluster, where nothing else is known.

    The exclusive lock (librbd's own, not one made by hand) of a running server's image is its QEMU's. So where every
    running server with images here has locks of one and the same address, no other unknown client is seen, and there
    are at least two such servers, it is the dead host's. One server agrees with itself only: whoever mapped its disk,
    such as a backup reader, has that lock too, and may be in the same network.
    """
    unknown = {client.ip for client in there if not known.is_own(client) and known.whose(client) is None}
    active = {guest.uuid for guest in guests if guest.status == _ACTIVE}
    images = [(name.partition("_")[0], entry) for name, places in known.disks.images.items() for entry in places]
    with_images = {uuid for uuid, entry in images if entry.fsid == fsid and uuid in active}
    blind = any(
        entry.image.locks is None or entry.image.watchers is None
        for _uuid, entry in images
        if entry.fsid in (fsid, None)
    )
    locks = [client for client in there if client.kind == LOCK and client.uuid in active]
    holders, locked = {client.ip for client in locks}, {client.uuid for client in locks}
    address = next(iter(holders)) if len(holders) == 1 else None
    if blind or address is None or unknown != {address} or not with_images <= locked:
        return {}
    if len(locked) < 2 or not all(client.managed for client in locks):
        return {}
    text = (
        f"from the locks alone: the locks of all {len(locked)} running servers in this Ceph cluster have this address"
    )
    return {address: Known(Origin.LOCKS, text)}


def like_peers(bundle: Bundle, about: EvacuationFacts, request: EvacuationRequest, fsid: str) -> t.Optional[str]:
    """Return the host's C(host_ip) where every other host that was read reaches this cluster from its own.

    It may be put on the list, since it is the host's. It proves nothing: it covers no disk.
    """
    host_ips = {target.host: plain(target.host_ip) for target in about.targets or []}
    reached = {
        name: plain(facts.rbd.client_address)
        for name, facts in by_nova_name(bundle).items()
        if name != request.host and facts.rbd is not None and facts.rbd.fsid == fsid and facts.rbd.client_address
    }
    alike = [address is not None and host_ips.get(name) == address for name, address in reached.items()]
    return host_ips.get(request.host) if alike and all(alike) else None


def source_facts(bundle: Bundle, request: EvacuationRequest) -> t.Optional[HostFacts]:
    """Return what was read on the source, if it answers."""
    by_inventory = bundle.hosts.get(request.inventory_name or "")
    return by_inventory or by_nova_name(bundle).get(request.host)


def own_facts(bundle: Bundle, request: EvacuationRequest) -> t.Optional[HostFacts]:
    """Return what was read on the source, unless the machine calls itself another host: then nothing of it is ours."""
    facts = source_facts(bundle, request)
    return facts if facts is not None and conf_host(facts) in (None, request.host) else None


def _read_on(facts: t.Optional[HostFacts]) -> t.Set[str]:
    if facts is None:
        return set()
    client = facts.rbd.client_address if facts.rbd else None
    found = (plain(address) for address in (*(facts.addresses or []), client))
    return {address for address in found if address is not None}


def _host_ips(about: EvacuationFacts, request: EvacuationRequest) -> t.Set[str]:
    found = (plain(target.host_ip) for target in about.targets or [] if target.host == request.host)
    return {address for address in found if address is not None}


def _as_client(source: t.Optional[HostFacts], fsid: str, elsewhere: EvidenceElsewhere) -> t.Dict[str, Known]:
    found = {}
    for entry, cluster in elsewhere.earlier:
        address = plain(entry)
        if address is not None and cluster == fsid:
            # What only locks showed is no better known in a second run.
            found[address] = (
                Known(Origin.LOCKS, "from the locks alone: an earlier run found this address")
                if (entry, cluster) in elsewhere.by_locks
                else Known(Origin.EARLIER, "an earlier run read this address on the host")
            )
    rbd = source.rbd if source is not None else None
    now = plain(rbd.client_address) if rbd is not None and rbd.fsid == fsid else None
    return {**found, **({now: Known(Origin.HOST, "read on the host")} if now is not None else {})}


def _nova_hosts(bundle: Bundle, about: EvacuationFacts, request: EvacuationRequest) -> t.Dict[str, str]:
    """Addresses of the compute hosts that are not the source, to what Nova calls them."""
    found = {plain(row.host_ip): row.host for row in about.targets or [] if row.host != request.host}
    for name, facts in sorted(by_nova_name(bundle).items()):
        if name != request.host:
            found.update(dict.fromkeys(_read_on(facts), name))
    return {address: host for address, host in found.items() if address is not None}


def _hosts(bundle: Bundle, about: EvacuationFacts, request: EvacuationRequest) -> t.Dict[str, str]:
    """Addresses of every host but the source, compute host or not, to their names."""
    source = own_facts(bundle, request)
    found = {}
    for name, facts in sorted(bundle.hosts.items()):
        if facts is not source:
            found.update(dict.fromkeys(_read_on(facts), conf_host(facts) or name))
    return {**found, **_nova_hosts(bundle, about, request)}


def _named(addresses: t.Sequence[str], whose: str) -> t.Dict[str, str]:
    found = (plain(address) for address in addresses)
    return {address: whose for address in found if address is not None}


def _services(bundle: Bundle) -> t.Dict[str, t.Optional[t.FrozenSet[str]]]:
    """Addresses of each cluster's own daemons, by any host that could read them."""
    found: t.Dict[str, t.Optional[t.FrozenSet[str]]] = {}
    for facts in bundle.hosts.values():
        rbd = facts.rbd
        if rbd is None or rbd.fsid is None:
            continue
        before = found.get(rbd.fsid)
        now = {plain(address) for address in rbd.infrastructure or []}
        found[rbd.fsid] = before
        if rbd.infrastructure is not None:
            found[rbd.fsid] = (before or frozenset()) | {address for address in now if address is not None}
    return found
