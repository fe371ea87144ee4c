# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Disks in Ceph: who can write them, where they are, what was left behind. SG505 to SG508. Pure.

The one rule: two clients that can write one disk destroy it. A host that was cut off loses its watchers after some 30
seconds while its guests live on, so that no watcher is needed, but proves nothing: proof is a fence.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity.leaving_guests import Guest, images_of
from ..capacity.measured import RUNNING, by_nova_name
from ..model import fence_proof
from ..model.block_storage import ATTACHED
from ..model.codes.catalogue import remedy_text
from ..model.commands import typed
from ..model.facts import (
    Bundle,
    EvacuationFacts,
    HostFacts,
    RbdImage,
)
from ..model.fences.catalogue import OF_MACHINE, PROVABLE, either
from ..model.findings import (
    ALIVE,
    BLOCKER,
    NO_PROOF,
    SILENT,
    WARNING,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import (
    Index,
    Items,
    domain_subject,
    same_name,
)
from ..model.names import conf_host
from ..model.requests import EvacuationRequest
from . import clients, fencing
from .clients import (
    Client,
    EvidenceElsewhere,
    Home,
    KnownAddresses,
    SeenImage,
    plain,
    source_facts,
)

#: Found below this module, asked for here as well.
seen, address_of = clients.seen, clients.address_of

#: What guard snapshots are called, before the operation's id.
GUARD = "stackguard-"


def owner(bundle: Bundle, ceph: str) -> t.Optional[str]:
    """Return the host that has an address, by what was read on it; None: no host that was read."""
    address = address_of(ceph)
    return None if address is None else owners(bundle).get(address)


def owners(bundle: Bundle) -> t.Dict[str, str]:
    """Addresses of the hosts that were read, to what Nova calls them. The first in order where several have one."""
    found: t.Dict[str, str] = {}
    for name, facts in sorted(by_nova_name(bundle).items()):
        for address in facts.addresses or []:
            found.setdefault(plain(address) or address, name)
    return found


# --- fenced? --------------------------------------------------------------------------------------------------


def fenced(
    bundle: Bundle,
    about: EvacuationFacts,
    guests: t.Sequence[Guest],
    request: EvacuationRequest,
    elsewhere: t.Optional[EvidenceElsewhere] = None,
    known: t.Optional[KnownAddresses] = None,
) -> Items:
    """SG506, SG709: is there a proof that is good now, what does it cover, and does anything contradict it?

    * Signs of life are running domains on the source, QEMU processes that libvirt does not show, and watchers at the
      host's own addresses. A watcher of anybody else is none: :func:`fencing.strangers`.
    * A fence of the machine proves it off: any sign of life contradicts that.
    * A fence of addresses proves that clusters refuse the host. What runs there does not matter for a server whose
      disks are all in these clusters; for any other it does.
    * An attestation counts where nothing contradicts it.
    """
    known = known or clients.identify(bundle, about, guests, request, None, elsewhere)
    refused = fence_proof.refusal(
        request.fence,
        request.host,
        request.operation_id,
        request.fence_kind,
        request.now,
        request.proof_max_age,
    )
    proof = request.fence
    if refused is None and isinstance(proof, fence_proof.FenceProof) and not proof.covers_machine:
        yield from _refused_addresses(bundle, guests, request, known, proof)
    else:
        yield from _off(bundle, guests, request, known, refused)
    yield from unread_watchers(known)
    yield from unread_volumes(bundle, guests, known, request)


def _off(
    bundle: Bundle,
    guests: t.Sequence[Guest],
    request: EvacuationRequest,
    known: KnownAddresses,
    refused: t.Optional[str],
) -> Items:
    host = Subject("host", request.host)
    signs = [*live_domains(bundle, request, guests), *own_watchers(known)]
    proven = refused is None and isinstance(request.fence, fence_proof.FenceProof)
    signs += _answered(bundle, request) if proven else []
    if signs:
        read = request.fence.read if proven and isinstance(request.fence, fence_proof.FenceProof) else None
        evidence = {ALIVE: signs, **({"contradicts": read} if read else {})}
        yield finding("SG506", host, evidence, remedy_text("SG506", "alive-though-off" if proven else "alive"))
    elif refused is not None:
        requested = request.fence_kind in PROVABLE
        without = {
            "fence": request.fence.kind if request.fence else None,
            "watchers": 0 if _all_read(guests, known) else None,
            "reachable": source_facts(bundle, request) is not None,
            NO_PROOF if requested else "reason": refused,
        }
        remedy = (
            remedy_text("SG506", "proof-not-read")
            if requested
            else remedy_text("SG506", "fence-gives-no-proof", fences=either(PROVABLE))
        )
        yield finding("SG506", host, without, remedy)
    yield from silent(bundle, request)


def _refused_addresses(
    bundle: Bundle,
    guests: t.Sequence[Guest],
    request: EvacuationRequest,
    known: KnownAddresses,
    proof: fence_proof.FenceProof,
) -> Items:
    uncovered = fencing.uncovered(guests, known, proof.clusters)
    domains = live_domains(bundle, request, guests)
    watchers = own_watchers_by_server(known)
    for guest in guests:
        reason, signs = uncovered.get(guest.uuid), watchers.get(guest.uuid, [])
        subject = Subject("instance", guest.uuid, guest.name)
        if reason is not None:
            alive = [*domains, *signs]
            evidence = {"not covered": reason, "proof": proof.read, **({ALIVE: alive} if alive else {})}
            yield finding("SG506", subject, evidence, remedy_text("SG506", "alive") if alive else _uncovered())
        elif signs:
            remedy = remedy_text("SG506", "refused-client-watches")
            yield finding("SG506", subject, {ALIVE: signs, "contradicts": proof.read}, remedy)
    if uncovered:
        yield from silent(bundle, request)


def bare(guests: t.Sequence[Guest], uncovered: t.Mapping[str, str]) -> Items:
    """SG506 for each server with a disk that a fence of addresses would not cover. Passed by the server's name only."""
    for guest in guests:
        if guest.uuid in uncovered:
            evidence = {"not covered": uncovered[guest.uuid]}
            yield finding("SG506", Subject("instance", guest.uuid, guest.name), evidence, _uncovered())


def _uncovered() -> str:
    return remedy_text("SG506", "disk-not-covered", fences=either(OF_MACHINE))


def silent(bundle: Bundle, request: EvacuationRequest) -> Items:
    """SG709: the source answers, and neither libvirt nor its processes say what runs there. Unread is not "none"."""
    facts = source_facts(bundle, request)
    if facts is not None and facts.domains is None and facts.qemu_processes is None:
        reasons = [f"{entry.part}: {entry.reason}" for entry in facts.unread if entry.part in _LIFE]
        evidence = {SILENT: reasons or ["domains", "qemu_processes"]}
        remedy = remedy_text("SG709", "source-silent")
        host = Subject("host", request.host)
        yield finding("SG709", host, evidence, remedy, commands=typed(("systemctl", "restart", "libvirtd")))


_LIFE = ("domains", "qemu_processes")


def live_domains(bundle: Bundle, request: EvacuationRequest, guests: t.Sequence[Guest] = ()) -> t.List[str]:
    """Return what runs on the source, where it answers, in words.

    Its running domains. Where libvirt is silent, every QEMU process; where it is not, those that libvirt has lost, of
    these servers.
    """
    facts = source_facts(bundle, request)
    if facts is None:
        return []
    running = [domain for domain in facts.domains or [] if domain.state in RUNNING]
    known = {domain.uuid for domain in running}
    servers = {guest.uuid for guest in guests}
    lost = {
        uuid: pid
        for uuid, pid in sorted((facts.qemu_processes or {}).items())
        if uuid not in known and (facts.domains is None or uuid in servers)
    }
    return [
        *(f"domain {domain.name} ({domain.uuid}) is {domain.state} on the host" for domain in running),
        *(
            f"a QEMU process of {uuid} runs on the host (process {pid}), but libvirt does not show this process"
            for uuid, pid in lost.items()
        ),
    ]


def _answered(bundle: Bundle, request: EvacuationRequest) -> t.List[str]:
    """Say so where a machine that was read as off answered later: it was switched on again."""
    facts, proof = source_facts(bundle, request), request.fence
    if facts is None or not isinstance(proof, fence_proof.FenceProof) or not proof.powered_off:
        return []
    seconds = fence_proof.age(proof, facts.read_at)
    if seconds is None or seconds <= fence_proof.SKEW:
        return []
    return [f"the host answered at {facts.read_at}, after its power state was read as off at {proof.at}"]


def own_watchers_by_server(known: KnownAddresses) -> t.Dict[str, t.List[str]]:
    """Return the watchers at the dead host's own addresses, in words, by server."""
    found: t.Dict[str, t.List[str]] = {}
    for client in known.disks.clients:
        if client.kind == clients.WATCHER and known.is_own(client):
            text = f"{client.pool}/{client.image} has a watcher at {client.address}"
            found.setdefault(client.uuid, []).append(text)
    return found


def own_watchers(known: KnownAddresses) -> t.List[str]:
    """Return the watchers at the dead host's own addresses, in words."""
    found = own_watchers_by_server(known)
    return sorted({text for texts in found.values() for text in texts})


def unread_watchers(known: KnownAddresses) -> Items:
    """SG709: an image whose watchers or id no host could read. Unread is not "no watcher"."""
    for name, places in sorted(known.disks.images.items()):
        for entry in places:
            if entry.image.watchers is None or entry.image.id is None:
                reasons = sorted({item.reason for item in entry.image.unread}) or ["not read"]
                evidence = {"unread": reasons, "seen by": list(entry.by)}
                remedy = remedy_text("SG709", "image-clients-unread")
                yield finding("SG709", Subject("image", f"{entry.pool}/{name}"), evidence, remedy)


def _all_read(guests: t.Sequence[Guest], known: KnownAddresses) -> bool:
    """Whether the watchers of every disk of these servers were read: else "none" is not known."""
    images = known.disks.images
    wanted = {name for guest in guests for name in guest.images or ()}
    volumes = [volume for guest in guests for volume in known.disks.volumes.get(guest.uuid, [])]
    return (
        all(guest.images is not None for guest in guests)
        and wanted <= set(images)
        and all(entry.image.watchers is not None for places in images.values() for entry in places)
        and all(known.disks.volume_unread(volume) is None for volume in volumes)
        and not known.disks.elsewhere & set(volumes)
    )


#: The key of evidence of what was not read of volumes: uuid to reason.
VOLUMES = "volumes"


def unread_volumes(
    bundle: Bundle, guests: t.Sequence[Guest], known: KnownAddresses, request: EvacuationRequest
) -> Items:
    """SG709: a server with a volume of which nobody knows who has it open. Unread is not "no watcher".

    Outside Ceph nobody can read that. A machine that is proven off has none open; a person's word is no proof.
    """
    outside = known.disks.elsewhere if request.fence_kind not in PROVABLE else frozenset()
    servers = {server.id: server for server in (bundle.cloud.servers if bundle.cloud else None) or []}
    for guest in guests:
        volumes = known.disks.volumes.get(guest.uuid, [])
        unread = {volume: reason for volume in volumes for reason in [known.disks.volume_unread(volume)] if reason}
        unread.update(
            {volume: "outside Ceph, nobody can tell who has it open" for volume in volumes if volume in outside}
        )
        server = servers.get(guest.uuid)
        if not volumes and server is not None and server.image == "":
            why = "the server boots from a volume, but Nova shows no volume of the server"
            yield Unchecked("SG709", guest.uuid, why)
        if unread:
            yield volumes_unread(Subject("instance", guest.uuid, guest.name), unread)


def volumes_unread(subject: Subject, unread: t.Mapping[str, str]) -> Finding:
    """SG709 for a server. ``unread``: volumes, each with the reason."""
    remedy = remedy_text("SG709", "volume-clients-unread")
    return finding("SG709", subject, {VOLUMES: dict(sorted(unread.items()))}, remedy)


# --- two writers ----------------------------------------------------------------------------------------------


def writers(
    bundle: Bundle,
    about: EvacuationFacts,
    guests: t.Sequence[Guest],
    request: EvacuationRequest,
    elsewhere: t.Optional[EvidenceElsewhere] = None,
    known: t.Optional[KnownAddresses] = None,
) -> Items:
    """SG507: before a guest is sent, nobody else may have its disk: not another host, never two, and no stranger."""
    known = known or clients.identify(bundle, about, guests, request, None, elsewhere)
    shared = _shared_volumes(bundle, known)
    servers = _servers_of_volumes(bundle)
    by_image: t.Dict[t.Tuple[str, str, str, str], t.List[Client]] = {}
    for client in known.disks.clients:
        if client.kind == clients.WATCHER:
            key = (client.uuid, client.fsid or "", client.pool, client.image)
            by_image.setdefault(key, []).append(client)
    for (uuid, _fsid, pool, name), watching in sorted(by_image.items()):
        own = {client.address for client in watching if known.is_own(client)}
        at = {client.address: known.hosts.get(client.ip or "") for client in watching}
        others = {address: host for address, host in at.items() if host and host not in shared.get(name, ())}
        if others or len(own) > max(1, len(servers.get(name, ()))):
            hosts = sorted({*others.values(), *([request.host] if own else [])})
            subject = Subject("image", f"{pool}/{name}", uuid)
            evidence = {"watchers": sorted({*own, *others}), "hosts": hosts}
            yield _two_clients(bundle, subject, evidence)
    yield from fencing.strangers(bundle, about, guests, request, elsewhere, known)
    yield from _leftover_domains(bundle, {guest.uuid for guest in guests}, request.host)


def _shared_volumes(bundle: Bundle, known: KnownAddresses) -> t.Dict[str, t.Set[str]]:
    """Return the images of multi-attached volumes, to the hosts of all their servers: these may have them open.

    Servers of other hosts were not listed: that they have the volume is Cinder's word, where they are Nova's.
    """
    mine = {volume for names in known.disks.volumes.values() for volume in names}
    found: t.Dict[str, t.Set[str]] = {}
    for server in (bundle.cloud.servers if bundle.cloud else None) or []:
        for volume in server.volumes:
            if volume in mine and server.host is not None:
                found.setdefault(f"{clients.VOLUME}{volume}", set()).add(server.host)
    for volume in mine:
        found.setdefault(f"{clients.VOLUME}{volume}", set()).update(sharing_hosts(bundle, volume))
    return found


def sharing_hosts(bundle: Bundle, volume: str) -> t.List[str]:
    """Return the host of each server that was not listed and has a multi-attached volume connected, by Cinder."""
    storage = bundle.cloud.block_storage if bundle.cloud else None
    known = storage.by_id.get(volume) if storage else None
    if storage is None or known is None or not known.multiattach:
        return []
    hosts = (storage.sharers.get(row.server or "") for row in known.attachments if row.status == ATTACHED)
    return [host for host in hosts if host is not None]


def _servers_of_volumes(bundle: Bundle) -> t.Dict[str, t.Set[str]]:
    """Return images of volumes, to the servers to which Nova shows them attached."""
    found: t.Dict[str, t.Set[str]] = {}
    for server in (bundle.cloud.servers if bundle.cloud else None) or []:
        for volume in server.volumes:
            found.setdefault(f"{clients.VOLUME}{volume}", set()).add(server.id)
    return found


def _leftover_domains(bundle: Bundle, uuids: t.Container[str], source: str) -> Items:
    """A failed evacuation may have left the guest running on its destination (facts of nova, 4.2, E8).

    Or the guest went there, and Nova lost its last write (SG132): it may be the only copy.
    """
    for name, facts in sorted(by_nova_name(bundle).items()):
        for domain in facts.domains or []:
            if name != source and domain.uuid in uuids and domain.state in RUNNING:
                evidence = {"domain": domain.name, "state": domain.state, "host": name, "Nova says": source}
                remedy = remedy_text("SG507", "evacuated-runs-elsewhere", host=name)
                yield finding("SG507", domain_subject(domain, facts), evidence, remedy)


def _double(subject: Subject, evidence: t.Mapping[str, t.Any]) -> Finding:
    return finding("SG507", subject, evidence, remedy_text("SG507", "opened-twice"))


def _two_clients(bundle: Bundle, subject: Subject, evidence: t.Mapping[str, t.Any]) -> Finding:
    """SG507 of a disk by its name, C(pool/image): a volume may be another server's as well, and both be right."""
    if not clients.is_volume(subject.id.partition("/")[2]):
        return _double(subject, evidence)
    also = _domains_with(bundle, subject.id, subject.name)
    remedy = clients.who_has_volume(subject.id.partition("/")[2])
    return finding("SG507", subject, {**evidence, **({"domains with the volume": also} if also else {})}, remedy)


def _domains_with(bundle: Bundle, source: str, server: t.Optional[str]) -> t.List[t.List[str]]:
    """Return host and domain of the other servers that have a disk in Ceph, as libvirt shows it."""
    return sorted(
        [name, domain.uuid]
        for name, facts in by_nova_name(bundle).items()
        for domain in facts.domains or []
        if domain.uuid != server and any(disk.protocol == "rbd" and disk.source == source for disk in domain.disks)
    )


def watched_twice(index: Index) -> Items:
    """SG507, without an evacuation: two addresses have one disk open, and no migration explains it."""
    for name, places in sorted(seen(index.bundle).items()):
        uuid = name.partition("_")[0]
        for entry in places:
            subject = Subject("image", f"{entry.pool}/{name}")
            if entry.image.watchers is None:
                yield Unchecked("SG507", subject.id, "the watchers of the image were not read")
                continue
            addresses = sorted({str(address_of(watcher.address)) for watcher in entry.image.watchers})
            if len(addresses) < 2:
                continue
            if not index.migrations_read or index.migrations_by_instance.get(uuid):
                yield Unchecked(
                    "SG507",
                    subject.id,
                    f"a migration may explain why clients at {', '.join(addresses)} have the image open",
                )
                continue
            hosts = [owner(index.bundle, watcher.address) or watcher.address for watcher in entry.image.watchers]
            yield _double(subject, {"watchers": addresses, "hosts": sorted(hosts), "seen by": list(entry.by)})


def locked_by_dead(index: Index) -> Items:
    """SG518: a guest has its image open and another client the lock (undecided); a user that may not break locks.

    That is a warning: nothing happens before a host dies.
    """
    clusters: t.Dict[str, t.Set[t.Optional[bool]]] = {}
    for name, places in sorted(seen(index.bundle).items()):
        for entry in places:
            image = entry.image
            if entry.fsid is not None:
                clusters.setdefault(entry.fsid, set()).add(image.exclusive_lock)
            if image.exclusive_lock is False or not image.watchers:
                continue
            if image.locks is None:
                yield Unchecked("SG518", f"{entry.pool}/{name}", "the locks of the image were not read")
                continue
            watching = {address_of(watcher.address) for watcher in image.watchers}
            dead = sorted({str(lock.address) for lock in image.locks if address_of(lock.address) not in watching})
            if dead:
                reason = f"nothing written yet: an earlier client ({', '.join(dead)}) still holds the lock of the image"
                yield Unchecked("SG518", f"{entry.pool}/{name}", reason)
    lockable = [fsid for fsid, features in clusters.items() if features != {False}]
    yield from fencing.lock_breaking(index.bundle, lockable, None, WARNING)


# --- where the disks are --------------------------------------------------------------------------------------


def pools(bundle: Bundle, guests: t.Sequence[Guest], hosts: t.Container[str], request: EvacuationRequest) -> Items:
    """SG505: an image in two pools; a host that looks into another pool than the one that holds the disks."""
    uuids = {guest.uuid for guest in guests}
    found: t.Set[Home] = set()
    for name, places in sorted(seen(bundle, uuids).items()):
        at = [entry for entry in places if entry.home is not None]
        found |= {entry.home for entry in at if entry.home is not None}
        if len(at) > 1:
            evidence = {"seen in": [[entry.fsid, entry.pool, list(entry.by)] for entry in at]}
            remedy = remedy_text("SG505", "two-images-of-one-name")
            yield finding("SG505", Subject("image", name), evidence, remedy)
        elif not at:
            by = sorted({host for entry in places for host in entry.by})
            unread = {"not read": "the id of the image's Ceph cluster", "seen by": by}
            yield finding(
                "SG709",
                Subject("image", name),
                unread,
                remedy_text("SG709", "cluster-of-image-unread"),
            )
    views = {
        name: (facts.rbd.fsid, facts.rbd.pool)
        for name, facts in by_nova_name(bundle).items()
        if facts.rbd is not None and _keeps_images(facts) and (name in hosts or name == request.host)
    }
    others = any(view in found for name, view in views.items() if name != request.host)
    for name, view in sorted(views.items()):
        if found and view not in found:
            known = {"cluster and pool": list(view), "the disks are in": sorted(map(list, found))}
            remedy = remedy_text("SG505", "host-uses-another-pool")
            yield finding("SG505", Subject("host", name), known, remedy, WARNING if others else BLOCKER)


def _keeps_images(facts: HostFacts) -> bool:
    """Whether a host has its images in Ceph, as far as is known; one with local disks is looked at for volumes only."""
    return facts.nova_conf is None or facts.nova_conf.images_type == "rbd"


def homes(bundle: Bundle, guests: t.Sequence[Guest]) -> t.Dict[str, Home]:
    """Return where each image of these servers is. One that was seen in two places, or in none known, is not here."""
    found: t.Dict[str, Home] = {}
    for name, places in seen(bundle, {guest.uuid for guest in guests}).items():
        at = [entry.home for entry in places if entry.home is not None]
        if len(at) == 1:
            found[name] = at[0]
    return found


def readers(bundle: Bundle, source: str) -> t.Dict[Home, t.List[str]]:
    """Return the inventory hosts that reach each cluster and pool, sorted. Never the source: it may be cut off."""
    found: t.Dict[Home, t.List[str]] = {}
    for name, facts in sorted(bundle.hosts.items()):
        rbd = facts.rbd
        if rbd is None or rbd.fsid is None or rbd.images is None:
            continue
        if not any(same_name(source, own) for own in (conf_host(facts), name)):
            found.setdefault((rbd.fsid, rbd.pool), []).append(name)
    return found


@dataclasses.dataclass(frozen=True)
class Unguarded:
    """Why a server is not under guard: a key, and in words."""

    problem: str
    text: str


def guarded(
    bundle: Bundle,
    servers: t.Mapping[str, t.Mapping[str, str]],
    homes: t.Mapping[str, Home],
    snapshot: str,
) -> t.Dict[str, Unguarded]:
    """Return the servers that must not be sent, and why: an image of theirs was not seen under guard.

    ``servers``: by uuid, the images and Ceph's ids of them, as the journal has them. ``snapshot``: the guard's name.
    """
    now = seen(bundle, servers)
    found: t.Dict[str, Unguarded] = {}
    for uuid, images in sorted(servers.items()):
        for name, identity in sorted(images.items()):
            reason = _unguarded(now.get(name, []), identity, homes.get(name), snapshot)
            if reason is not None:
                found.setdefault(uuid, Unguarded(reason.problem, f"{name}: {reason.text}"))
    return found


def _unguarded(
    places: t.Sequence[SeenImage], identity: str, home: t.Optional[Home], snapshot: str
) -> t.Optional[Unguarded]:
    if home is None:
        return Unguarded("no-home", "the cluster and the pool of the image are not known")
    if len([entry for entry in places if entry.home is not None]) > 1:
        return Unguarded("several-pools", "the image was found in more than one Ceph pool")
    image = next((entry.image for entry in places if entry.home == home), None)
    if image is None:
        return Unguarded("not-found", f"the image was not found in pool {home[1]} of cluster {home[0]}")
    if image.id is None or image.snapshots is None:
        return Unguarded("not-read", "the image was listed, but its id or its snapshots were not read")
    if image.id != identity:
        return Unguarded(
            "another-image",
            f"the image is not the disk that the run protected with a guard snapshot: the disk had the id {identity}, "
            f"but the image has the id {image.id}",
        )
    if snapshot not in {entry.name for entry in image.snapshots}:
        return Unguarded("no-guard", f"the image has no guard snapshot {snapshot}")
    return None


# --- what was left behind -------------------------------------------------------------------------------------


def leaks(
    bundle: Bundle, open_operations: t.Optional[t.Container[str]], gone: t.Optional[t.Container[str]] = None
) -> Items:
    """SG508: guard snapshots of operations that are not open; images of instances that are gone (``gone``).

    While a guard snapshot exists Nova cannot delete the image, says that it did, and a later rebuild or unshelve boots
    the old content (facts of nova, 4.3). ``gone``: uuids known to be deleted; None: not known, so undecided, as with
    ``open_operations``.
    """
    for name, places in sorted(seen(bundle).items()):
        for entry in places:
            image = Subject("image", f"{entry.pool}/{name}")
            if entry.image.snapshots is None:
                yield Unchecked("SG508", image.id, "the snapshots of the image were not read")
            for snapshot in entry.image.snapshots or []:
                if not snapshot.name.startswith(GUARD):
                    continue
                if open_operations is None:
                    reason = (
                        "the run did not read the journals of the operations, so the run does not know whether an open "
                        f"operation needs {snapshot.name}"
                    )
                    yield Unchecked("SG508", image.id, reason)
                elif snapshot.name[len(GUARD) :] not in open_operations:
                    place = f"{entry.pool}/{name}@{snapshot.name}"
                    remedy = remedy_text("SG508", "guard-left", snapshot=place)
                    evidence = {"snapshot": snapshot.name, "seen by": list(entry.by)}
                    yield finding("SG508", image, evidence, remedy, commands=typed(("rbd", "snap", "rm"), place))
            if gone is None:
                yield Unchecked("SG508", image.id, "the run did not read whether the instance still exists")
            elif name.partition("_")[0] in gone:
                evidence = {"instance": "deleted", "snapshots": [entry.name for entry in entry.image.snapshots or []]}
                remedy = remedy_text("SG508", "server-deleted", image=f"{entry.pool}/{name}")
                yield finding("SG508", image, evidence, remedy, commands=typed(("rbd", "rm"), f"{entry.pool}/{name}"))


@dataclasses.dataclass(frozen=True)
class DisksBefore:
    """What must be the same after an evacuation: Ceph's ids of the images, by name.

    ``homes``: the cluster and pool of each image, where they are known. ``volumes``: those of Cinder's, by uuid.
    """

    uuid: str
    ids: t.Mapping[str, str]
    homes: t.Mapping[str, Home] = dataclasses.field(default_factory=dict)
    name: t.Optional[str] = None
    volumes: t.Tuple[str, ...] = ()
    #: Other servers of the evacuation that Nova shows with one of these volumes, by the volume.
    shared: t.Mapping[str, t.FrozenSet[str]] = dataclasses.field(default_factory=dict)
    #: Disks that are files of a shared directory, with their inodes.
    files: t.Mapping[str, int] = dataclasses.field(default_factory=dict)


def unchanged(
    bundle: Bundle, before: DisksBefore, seen_now: t.Optional[t.Mapping[str, t.Sequence[SeenImage]]] = None
) -> Items:
    """SG504, SG709: before a guest is sent again, its disks are the very ones that were guarded.

    Where no host looked in the cluster and pool of a disk, nobody knows whether the disk is there.
    """
    now = seen(bundle, {before.uuid}) if seen_now is None else seen_now
    for name, identity in sorted(before.ids.items()):
        home = before.homes.get(name)
        if home is not None and not _looked_in(bundle, home, before.uuid):
            unread = {
                "not read": "none of the hosts that answer can reach this pool",
                "cluster": home[0],
                "pool": home[1],
                "image": name,
            }
            remedy = remedy_text("SG709", "pool-of-image-unread")
            yield finding("SG709", Subject("instance", before.uuid), unread, remedy)
            continue
        ids = sorted({str(entry.image.id) for entry in now.get(name, [])})
        if ids != [identity]:
            evidence = {"image": name, "id before": identity, "ids now": ids}
            remedy = remedy_text("SG504", "changed-before-send")
            server = Subject("instance", before.uuid)
            yield finding("SG504", server, evidence, remedy, commands=typed(("rbd", "trash", "ls")))


# --- after a guest has landed ---------------------------------------------------------------------------------


def landed(bundle: Bundle, before: DisksBefore, host: str, running: bool, dead_since: t.Optional[str] = None) -> Items:
    """SG504, SG507: the same images, exactly one watcher where it runs and none where not, the domain in one place.

    The destination may have listed names only: what any host read in the destination's cluster and pool counts.
    SG518, undecided: a dead client still has a disk's lock. ``dead_since``: when its host was known to be fenced.
    """
    views = by_nova_name(bundle)
    facts = views.get(host)
    now = _images_at(bundle, facts, before.uuid) if before.ids else {}
    subject = Subject("instance", before.uuid, before.name, host=host)
    if now is None or facts is None or facts.domains is None:
        yield finding(
            "SG709",
            subject,
            {"not read": "the server's disks and domains on the destination"},
            remedy_text("SG709", "landing-unread"),
        )
        return
    for name, identity in sorted(before.ids.items()):
        yield from _landed_image(subject, name, identity, now.get(name), running)
        if running and name in now:
            yield from _elsewhere(bundle, name, now[name], host, facts)
            if now[name].watchers is not None and now[name].id == identity:
                yield from _lock_of_dead(name, now[name], facts, dead_since)
    yield from _landed_files(before, facts, subject)
    yield from _landed_volumes(bundle, before, facts, subject, running, dead_since)
    for name, other in sorted(views.items()):
        states = [domain.state for domain in other.domains or [] if domain.uuid == before.uuid]
        alive = any(state in RUNNING for state in states)
        if name != host and alive:
            yield _double(Subject("domain", before.uuid, host=name), {"also runs on": name, "belongs on": host})
        if name == host and running and not alive:
            yield finding("SG109", subject, {"domain": states or None}, remedy_text("SG109", "landed-not-running"))


def _landed_files(before: DisksBefore, facts: HostFacts, subject: Subject) -> Items:
    """SG504, SG709: the destination still has the very files; where the share has fallen away, Nova makes new ones."""
    if not before.files:
        return
    place = facts.instances_path
    if place is None:
        evidence = {"not read": "instances_path of the destination"}
        yield finding("SG709", subject, evidence, remedy_text("SG709", "landing-unread"))
        return
    now = {disk.name: disk.inode for disk in place.disks or [] if disk.uuid == before.uuid}
    for name, inode in sorted(before.files.items()):
        if now.get(name) != inode:
            file = f"{place.path}/{before.uuid}/{name}"
            changed = {"file": file, "inode before": inode, "inode now": now.get(name)}
            yield finding("SG504", subject, changed, remedy_text("SG504", "file-changed-after-landing"))


def _landed_volumes(
    bundle: Bundle,
    before: DisksBefore,
    facts: HostFacts,
    subject: Subject,
    running: bool,
    dead_since: t.Optional[str],
) -> Items:
    """SG507, SG109: of a server that runs, its host has each volume in Ceph open, and nobody else; SG709: not read."""
    places = clients.volumes_seen(bundle, set(before.volumes))
    elsewhere = frozenset(clients.not_in_ceph(bundle, {before.uuid}))
    disks = clients.Disks({}, {}, places, (), elsewhere, clients.unread_pools(bundle))
    reasons = {volume: disks.volume_unread(volume) for volume in before.volumes}
    unread = {volume: reason for volume, reason in reasons.items() if reason is not None}
    if unread:
        yield volumes_unread(subject, unread)
    for volume in sorted(set(before.volumes) - set(unread)):
        for entry in places.get(volume, []):
            sharers = before.shared.get(volume, frozenset())
            yield from _landed_volume(bundle, before, entry, facts, subject, running, sharers)
            if running:
                yield from _lock_of_dead(f"{entry.pool}/{entry.image.name}", entry.image, facts, dead_since)


def _landed_volume(
    bundle: Bundle,
    before: DisksBefore,
    entry: SeenImage,
    facts: HostFacts,
    subject: Subject,
    running: bool,
    sharers: t.FrozenSet[str],
) -> t.Iterator[Finding]:
    source = f"{entry.pool}/{entry.image.name}"
    image = Subject("image", source, before.uuid, subject.host)
    addresses = [watcher.address for watcher in entry.image.watchers or []]
    here = [address for address in addresses if address_of(address) in _own_addresses(facts)]
    others = [address for address in addresses if address not in here or not running]
    # Another server of this evacuation has it as well: on the host on which libvirt shows that server with the volume.
    hosts = {host for host, uuid in _domains_with(bundle, source, before.uuid) if uuid in sharers} if sharers else set()
    others_of = sharing_hosts(bundle, entry.image.name.removeprefix(clients.VOLUME))
    hosts.update(others_of)
    most = 1 + len(sharers) + others_of.count(str(subject.host))
    strange = [address for address in others if owner(bundle, address) not in hosts]
    if strange and facts.addresses is None and running:
        evidence = {"not read": f"addresses of {subject.host}", "image": source, "watchers": addresses}
        remedy = remedy_text("SG709", "landing-unread")
        yield finding("SG709", image, evidence, remedy)
    elif strange or len(here) > most:
        evidence = {"watchers": addresses, "hosts": sorted({owner(bundle, one) or "not known" for one in addresses})}
        yield _two_clients(bundle, image, {**evidence, "belongs on": subject.host, "running": running})
    elif running and not here:
        yield _no_watcher(subject, source)


def _own_addresses(facts: HostFacts) -> t.Set[str]:
    """Return the addresses of a host; that by which it reaches Ceph is enough."""
    known = [*(facts.addresses or []), facts.rbd.client_address if facts.rbd else None]
    return {address for address in map(plain, known) if address is not None}


def _lock_of_dead(name: str, found: RbdImage, facts: HostFacts, dead_since: t.Optional[str]) -> Items:
    """SG518, undecided: QEMU has the image open, and a client that is gone has the lock. QEMU breaks it to write.

    librbd takes the lock with the first write: no lock, and its own lock, are good. Without the feature there is none.
    """
    if found.exclusive_lock is False:
        return
    if found.locks is None:
        yield Unchecked("SG518", name, "the run did not read the locks of the image")
        return
    dead = sorted({str(lock.address) for lock in found.locks if address_of(lock.address) not in _own_addresses(facts)})
    if dead:
        age = fence_proof.seconds_between(dead_since, facts.read_at)
        since = "" if age is None else f", {age:.0f} s after the host was fenced"
        reason = (
            f"nothing written yet: an earlier client ({', '.join(dead)}) still holds the lock{since}. The guest cannot "
            "write if the Ceph user of its host is not allowed to break the lock"
        )
        yield Unchecked("SG518", name, reason)


def _images_at(bundle: Bundle, facts: t.Optional[HostFacts], uuid: str) -> t.Optional[t.Dict[str, RbdImage]]:
    """Return an instance's images in the cluster and pool that a host uses; None: no host looked for them there."""
    rbd = facts.rbd if facts else None
    if rbd is None or rbd.fsid is None:
        return None
    home = (rbd.fsid, rbd.pool)
    if not _looked_in(bundle, home, uuid):
        return None
    return {
        name: entry.image for name, places in seen(bundle, {uuid}).items() for entry in places if entry.home == home
    }


def _looked_in(bundle: Bundle, home: Home, uuid: str) -> bool:
    """Whether any host looked for an instance's images in this cluster and pool."""
    views = [entry.rbd for entry in bundle.hosts.values() if entry.rbd is not None]
    return any((view.fsid, view.pool) == home and images_of(view, uuid) is not None for view in views)


def _elsewhere(bundle: Bundle, name: str, found: RbdImage, host: str, facts: HostFacts) -> t.Iterator[Finding]:
    """The one watcher of a server that runs is not at its host: another host's, or a stranger's. Its QEMU has none.

    The address by which the host reaches Ceph is enough. A stranger is one only where all addresses of the host were
    read.
    """
    watchers = [watcher.address for watcher in found.watchers or []]
    if len(watchers) != 1:
        return
    address = address_of(watchers[0])
    if address is not None and address in _own_addresses(facts):
        return
    at = owner(bundle, watchers[0])
    if at is None and facts.addresses is None:
        evidence = {"not read": f"addresses of {host}", "image": name, "watchers": watchers}
        yield finding(
            "SG709",
            Subject("image", name, host=host),
            evidence,
            remedy_text("SG709", "landing-unread"),
        )
    elif at != host:
        hosts = [at] if at is not None else []
        evidence = {"watchers": watchers, "hosts": hosts, "belongs on": host}
        yield _double(Subject("image", name), evidence if hosts else {**evidence, "belongs to": "not known"})


def _landed_image(
    subject: Subject, name: str, identity: str, found: t.Optional[RbdImage], running: bool
) -> t.Iterator[Finding]:
    if found is None or found.id != identity:
        evidence = {"image": name, "id before": identity, "id now": found.id if found else None}
        remedy = remedy_text("SG504", "changed-after-landing")
        yield finding("SG504", subject, evidence, remedy, commands=typed(("rbd", "trash", "ls")))
        return
    if found.watchers is None:
        yield finding(
            "SG709",
            subject,
            {"not read": f"watchers of {name}"},
            remedy_text("SG709", "landing-unread"),
        )
        return
    addresses = [watcher.address for watcher in found.watchers]
    if len(addresses) > int(running):
        yield _double(Subject("image", name), {"watchers": addresses, "running": running})
    elif running and not addresses and not _unopened(name):
        yield _no_watcher(subject, name)


def _unopened(name: str) -> bool:
    """Whether a server that runs need not have an image of its own open.

    A config drive is opened for reading only, and has no watcher. What a rescue left (disk.rescue, disk.config.rescue)
    no start opens: an evacuated server boots from its own disk.
    """
    suffix = name.partition("_disk")[2]
    return suffix.startswith(".config") or suffix.endswith(".rescue")


def _no_watcher(subject: Subject, image: str) -> Finding:
    return finding("SG109", subject, {"image": image, "watchers": 0}, remedy_text("SG109", "landed-disk-unopened"))
