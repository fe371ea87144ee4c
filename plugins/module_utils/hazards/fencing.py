# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which addresses of a dead host Ceph is to refuse, what that covers, and who else has the disks. Pure.

SG506, SG507, SG518. A wrong address is worse than none: one that the host does not use fences nothing and looks like
proof, and one of another machine takes Ceph away from everything that runs there. So an address is put on the list only
if it is the dead host's (:func:`checks.clients.identify`), and never where it is also somebody else's: another host's,
the controller's, a gateway's, or that of a daemon of the cluster itself.

A disk is covered by an address that was seen as this host's client of the disk's own cluster. What is only known to be
the host's (Nova's C(host_ip)) may be on the list, and covers nothing.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity.leaving_guests import Guest
from ..model.codes.catalogue import remedy_text
from ..model.commands import typed
from ..model.facts import (
    Bundle,
    CephRights,
    EvacuationFacts,
    HostFacts,
    RbdFacts,
)
from ..model.fences.catalogue import (
    OF_MACHINE,
    either,
    of_addresses,
)
from ..model.findings import (
    BLOCKER,
    NO_ADDRESSES,
    WARNING,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import Items
from ..model.names import conf_host
from ..model.requests import EvacuationRequest
from . import clients
from .clients import (
    Client,
    EvidenceElsewhere,
    Known,
    KnownAddresses,
    Origin,
    plain,
)


@dataclasses.dataclass(frozen=True)
class Addresses:
    """What Ceph is to refuse, by cluster: address to why it is taken for the host's.

    ``proven``: those of them that were seen as this host's client of that cluster. Keep them in the journal: given back
    as ``earlier`` they still prove what they prove when the servers that showed them have left. An address that the
    operator only named is none of them: it counts in the runs in which he names it.
    ``uncovered``: server to why a blocklist of these addresses does not cover each of its disks.
    """

    by_cluster: t.Mapping[str, t.Mapping[str, Known]]
    strangers: t.Tuple[Client, ...] = ()
    uncovered: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    problems: t.Tuple[Finding, ...] = ()
    proven: t.Mapping[str, t.Tuple[str, ...]] = dataclasses.field(default_factory=dict)

    @property
    def wanted(self) -> t.Dict[str, t.List[str]]:
        """Return cluster to the addresses, sorted: what a fence of addresses takes."""
        return {fsid: sorted(why) for fsid, why in sorted(self.by_cluster.items()) if why}

    @property
    def refused(self) -> t.List[str]:
        """Return all addresses."""
        return sorted({address for why in self.by_cluster.values() for address in why})

    @property
    def seen(self) -> t.Dict[str, t.Dict[str, Known]]:
        """Return the proven ones by cluster, each with why it is taken for the host's."""
        return {
            fsid: {address: self.by_cluster[fsid][address] for address in found} for fsid, found in self.proven.items()
        }

    @property
    def origins(self) -> t.Dict[str, Origin]:
        """Return from what each address is known, in whichever cluster."""
        return {address: entry.origin for why in self.by_cluster.values() for address, entry in why.items()}


def addresses(
    bundle: Bundle,
    about: EvacuationFacts,
    guests: t.Sequence[Guest],
    request: EvacuationRequest,
    given: t.Sequence[str] = (),
    elsewhere: t.Optional[EvidenceElsewhere] = None,
    known: t.Optional[KnownAddresses] = None,
) -> Addresses:
    """Return the addresses from which the source writes these servers' disks. ``given``: by the operator.

    ``known``: what :func:`checks.clients.identify` said of the same, where it was asked already.
    """
    known = known or clients.identify(bundle, about, guests, request, given, elsewhere)
    listed: t.Dict[str, t.Dict[str, Known]] = {}
    for fsid, own in known.own.items():
        why = dict(own)
        like = clients.like_peers(bundle, about, request, fsid)
        if like is not None and like not in known.others:
            why.setdefault(
                like,
                Known(
                    Origin.HOST_IP,
                    "Nova's host_ip for this host (a probable address, because all other hosts connect to this Ceph "
                    "cluster from their host_ip)",
                ),
            )
        listed[fsid] = why
    # A daemon of a cluster is not shut out of any cluster: the same machine would lose both.
    daemons = {address: fsid for fsid, found in known.services.items() for address in found or ()}
    allowed = {
        fsid: {address: entry for address, entry in why.items() if address not in daemons}
        for fsid, why in listed.items()
    }
    counts = {fsid: tuple(sorted(set(why) & set(allowed[fsid]))) for fsid, why in known.own.items()}
    counts = {fsid: found for fsid, found in counts.items() if found}
    doubtful = _doubtful(bundle, request, known, listed)
    problems = [
        *_wrong(request, given, known),
        *_hyperconverged(request, listed, daemons),
        *_unread(bundle, request, known, listed),
        *_none(request, allowed, guests, known),
    ]
    return Addresses(
        _without(allowed, doubtful),
        tuple(unknown(known)),
        uncovered(guests, known, counts),
        tuple(problems),
        {fsid: tuple(sorted(why)) for fsid, why in _without(_seen(_only(known.own, counts)), doubtful).items()},
    )


def _only(
    listed: t.Mapping[str, t.Mapping[str, Known]], wanted: t.Mapping[str, t.Sequence[str]]
) -> t.Dict[str, t.Dict[str, Known]]:
    return {fsid: {address: listed[fsid][address] for address in found} for fsid, found in wanted.items()}


def _seen(listed: t.Mapping[str, t.Mapping[str, Known]]) -> t.Dict[str, t.Dict[str, Known]]:
    return {
        fsid: {address: entry for address, entry in why.items() if clients.is_seen(entry.origin)}
        for fsid, why in listed.items()
    }


def _without(
    listed: t.Mapping[str, t.Mapping[str, Known]], doubtful: t.Mapping[str, t.Container[str]]
) -> t.Dict[str, t.Dict[str, Known]]:
    found = {
        fsid: {address: entry for address, entry in why.items() if address not in doubtful.get(fsid, ())}
        for fsid, why in listed.items()
    }
    return {fsid: why for fsid, why in found.items() if why}


def _doubtful(
    bundle: Bundle, request: EvacuationRequest, known: KnownAddresses, listed: t.Mapping[str, t.Mapping[str, Known]]
) -> t.Dict[str, t.List[str]]:
    """Return the addresses that may be a manager's or MDS's: nothing but locks shows them, and those were not read.

    Whatever the fence is, they are not put on a list, and are not noted as proven.
    """
    found = {fsid: sorted(set(why) - known.mine) for fsid, why in sorted(listed.items())}
    return {
        fsid: strange
        for fsid, strange in found.items()
        if strange
        and not request.infrastructure
        and (known.services.get(fsid) is None or _unread_daemons(bundle, fsid))
    }


def _wrong(request: EvacuationRequest, given: t.Sequence[str], known: KnownAddresses) -> t.Iterator[Finding]:
    """An address that the operator named, or that Nova knows, and that is somebody else's."""
    host = Subject("host", request.host)
    for address in given:
        evidence = {"evacuate_blocklist_addresses": address}
        ip = plain(address)
        if ip is None:
            yield finding("SG506", host, evidence, remedy_text("SG506", "address-invalid"))
        elif ip in known.others:
            remedy = remedy_text("SG506", "address-of-another-machine")
            yield finding("SG506", host, {**evidence, "belongs to": known.others[ip]}, remedy)


def _hyperconverged(
    request: EvacuationRequest, listed: t.Mapping[str, t.Mapping[str, Known]], daemons: t.Mapping[str, str]
) -> t.Iterator[Finding]:
    found = sorted({address for why in listed.values() for address in why if address in daemons})
    for address in found:
        evidence = {
            "address": address,
            "belongs to": f"a monitor, manager, OSD or MDS of cluster {daemons[address]}",
            "would stop": "a blocklist entry would stop all Ceph daemons and clients (such as radosgw) on the machine",
        }
        remedy = remedy_text("SG506", "address-of-ceph-daemon", fences=either(OF_MACHINE))
        yield finding("SG506", Subject("host", request.host), evidence, remedy)


def _unread(
    bundle: Bundle, request: EvacuationRequest, known: KnownAddresses, listed: t.Mapping[str, t.Mapping[str, Known]]
) -> t.Iterator[Finding]:
    """SG709: without the addresses of a cluster's daemons it is not known whether one of them would be shut out.

    Nova's own Ceph user (profile rbd) may read those of monitors and OSDs only. That is enough where each address is
    known to be the dead host's own, by Nova or by what was read on it: a daemon there is on the dead machine.
    """
    for fsid, addresses_ in sorted(listed.items()):
        unread = _unread_daemons(bundle, fsid)
        strange = sorted(set(addresses_) - known.mine)
        if known.services.get(fsid) is None or (unread and strange and not request.infrastructure):
            evidence = {"not read": unread or ["infrastructure"], "cluster": fsid, "addresses": strange}
            yield finding("SG709", Subject("host", request.host), evidence, remedy_text("SG709", "ceph-daemons-unread"))


def _unread_daemons(bundle: Bundle, fsid: str) -> t.List[str]:
    """Return which daemons' addresses no reader of a cluster could read."""
    views = [
        {entry.part: entry.reason for entry in rbd.infrastructure_unread}
        for _facts, rbd in _views(bundle, fsid)
        if rbd.infrastructure is not None
    ]
    parts = set.intersection(*(set(view) for view in views)) if views else set()
    return sorted(f"{part}: {views[0][part]}" for part in parts)


def _none(
    request: EvacuationRequest,
    allowed: t.Mapping[str, t.Mapping[str, Known]],
    guests: t.Sequence[Guest],
    known: KnownAddresses,
) -> t.Iterator[Finding]:
    if guests and not any(allowed.values()):
        seen = {fsid: candidates(known, fsid) for fsid in sorted(allowed)}
        evidence = {NO_ADDRESSES: [], "Ceph clusters with disks of the host's servers": sorted(allowed)}
        evidence.update({f"seen in {fsid}": found for fsid, found in seen.items() if found})
        remedy = remedy_text("SG506", "address-unknown", fences=either(OF_MACHINE))
        yield finding("SG506", Subject("host", request.host), evidence, remedy)


# --- what is covered ------------------------------------------------------------------------------------------


def uncovered(
    guests: t.Sequence[Guest],
    known: KnownAddresses,
    listed: t.Mapping[str, t.Collection[str]],
) -> t.Dict[str, str]:
    """Return the servers with a disk that a blocklist does not cover, and why. ``listed``: cluster to addresses.

    An address covers a disk if it is listed in the disk's cluster and was seen as this host's client there.
    """
    images, volumes = known.disks.images, known.disks.volumes
    by_server: t.Dict[str, t.Dict[str, t.List[clients.SeenImage]]] = {}
    for name, entries in images.items():
        by_server.setdefault(name.partition("_")[0], {})[name] = entries
    own = {fsid: set(why) & set(listed.get(fsid, ())) for fsid, why in known.own.items()}
    found: t.Dict[str, str] = {}
    for guest in guests:
        places = by_server.get(guest.uuid, {})
        places.update({name: images.get(name, []) for name in guest.images or () if name not in places})
        own_volumes = {f"volume {name}": known.disks.places.get(name, []) for name in volumes.get(guest.uuid, [])}
        places.update(own_volumes)
        if guest.images is None:
            found[guest.uuid] = "the list of the server's disks was not read"
        for name, entries in sorted(places.items()):
            reason = _not_covered(guest, entries, known, own)
            if not entries and name in own_volumes and name.partition(" ")[2] in known.disks.elsewhere:
                reason = "the volume is not in Ceph, and a blocklist of Ceph covers nothing else"
            elif not entries and name in own_volumes and known.disks.unread:
                reason = f"{reason}, and did not read: {'; '.join(known.disks.unread)}"
            if reason is not None:
                found.setdefault(guest.uuid, f"{name}: {reason}")
    return found


def _not_covered(
    guest: Guest,
    entries: t.Sequence[clients.SeenImage],
    known: KnownAddresses,
    own: t.Mapping[str, t.Collection[str]],
) -> t.Optional[str]:
    if not entries:
        return "the run did not find the disk in the Ceph clusters that the run read"
    for entry in entries:
        if entry.fsid is None:
            return "the id of the disk's cluster was not read"
        if not own.get(entry.fsid):
            lacking = f"the run found no address that this host uses as a client of Ceph cluster {entry.fsid}"
            seen = candidates(known, entry.fsid)
            return (
                (
                    f"{lacking}. The run found these addresses of unknown clients: {', '.join(seen)}. If one of these "
                    "addresses belongs to the host, add this address to evacuate_blocklist_addresses"
                )
                if seen
                else lacking
            )
        if entry.image.watchers is None or entry.image.locks is None:
            return "the run did not read the complete list of the disk's clients (watchers and locks)"
        for client in clients.of_image(entry, guest.uuid):
            if known.is_own(client) and client.ip not in own[entry.fsid]:
                return (
                    f"the disk's {client.kind} at {client.address} belongs to the host that you evacuate, but the "
                    f"fence does not put the address of this {client.kind} on the blocklist"
                )
            # A running server's lock is its QEMU's: the host may reach Ceph from an address that is not known.
            writes = client.kind == clients.WATCHER or guest.status != "SHUTOFF"
            if writes and known.whose(client) is None and not known.is_own(client):
                return (
                    f"the disk's {client.kind} belongs to an unknown client: "
                    f"{client.address or 'a client without address'}"
                )
    return None


def candidates(known: KnownAddresses, fsid: str) -> t.List[str]:
    """Return the addresses seen in a cluster whose owner is not known, for the finding. One may be the dead host's."""
    found: t.Dict[str, str] = {}
    for client in known.disks.clients:
        if client.fsid == fsid and client.ip and not known.is_own(client) and known.whose(client) is None:
            found.setdefault(client.ip, f"{client.ip} ({client.kind} of {client.pool}/{client.image})")
    return [text for _ip, text in sorted(found.items())]


# --- strangers ------------------------------------------------------------------------------------------------


def unknown(known: KnownAddresses) -> t.List[Client]:
    """Return the clients of these servers' disks that are neither the dead host nor another compute host."""
    return [
        client
        for client in known.disks.clients
        if not known.is_own(client) and known.hosts.get(client.ip or "") is None
    ]


def strangers(
    bundle: Bundle,
    about: EvacuationFacts,
    guests: t.Sequence[Guest],
    request: EvacuationRequest,
    elsewhere: t.Optional[EvidenceElsewhere] = None,
    known: t.Optional[KnownAddresses] = None,
) -> Items:
    """SG507: a client that is not known has a server's disk. It keeps that server only, whatever the fence is.

    A watcher is a blocker: the client lives, and may write. It is not the dead host's, so that no fence ends it.

    A lock without a watcher is a warning. librbd keeps a watcher for as long as a client has an image open for writing:
    one that holds only a lock is gone, or cut off. A QEMU that opens the image breaks the lock of a client without a
    watcher, and has that client put on the OSD blocklist before (rbd_blocklist_on_break_lock, on by default): if it
    comes back, it can not write. So a lock alone lets nobody write. But it may be one that an operator or a tool made
    by hand (rbd lock add), and then no QEMU can write either: it has to be looked at. A lock of another compute host
    is what a server that was moved while it was stopped leaves behind.
    """
    known = known or clients.identify(bundle, about, guests, request, None, elsewhere)
    names = {guest.uuid: guest.name for guest in guests}
    found = [client for client in known.disks.clients if not known.is_own(client)]
    watching = {_place(client) for client in found if client.kind == clients.WATCHER}
    for client in found:
        of_host = known.hosts.get(client.ip or "")
        if client.kind == clients.WATCHER and of_host is None:
            yield _stranger(client, names[client.uuid], known.whose(client))
        elif client.kind == clients.LOCK and _place(client) not in watching:
            yield _stale(client, names[client.uuid], of_host or known.whose(client))


def _place(client: Client) -> t.Tuple[t.Optional[str], str, str, t.Optional[str]]:
    return client.fsid, client.pool, client.image, client.ip


def _evidence(client: Client, whose: t.Optional[str]) -> t.Dict[str, t.Any]:
    return {
        "image": f"{client.pool}/{client.image}",
        "cluster": client.fsid,
        "client": client.address,
        "kind": client.kind if client.kind == clients.WATCHER or client.managed else "lock made by hand",
        "belongs to": whose or "not known",
    }


def _stranger(client: Client, name: str, whose: t.Optional[str]) -> Finding:
    place = f"{client.pool}/{client.image}"
    remedy, look = (
        remedy_text("SG507", "unknown-watcher", image=place),
        typed(("rbd", "status"), place),
    )
    if clients.is_volume(client.image):
        look = ()
        remedy = clients.who_has_volume(client.image)
    if whose is None:
        remedy = f"{remedy} {remedy_text('SG507', 'watcher-of-nobody-known')}"
    subject = Subject("instance", client.uuid, name)
    return finding("SG507", subject, _evidence(client, whose), remedy, commands=look)


def _stale(client: Client, name: str, whose: t.Optional[str]) -> Finding:
    place = f"{client.pool}/{client.image}"
    remedy = remedy_text("SG507", "lock-without-watcher", image=place)
    subject, look = Subject("instance", client.uuid, name), typed(("rbd", "lock", "ls"), place)
    return finding("SG507", subject, _evidence(client, whose), remedy, WARNING, look)


# --- may the Ceph user do it? ---------------------------------------------------------------------------------


def rights(bundle: Bundle, fsids: t.Iterable[str], fence_kind: t.Optional[str]) -> Items:
    """SG518: for a fence of addresses a reader's user must be able to add entries, and should to remove them."""
    if not of_addresses(fence_kind):
        return
    for fsid in sorted(set(fsids)):
        views = _views(bundle, fsid)
        able = [entry for entry in views if _may_add(entry[1])]
        if not able:
            yield _lacking(fsid, views)
        elif not any(rbd.rights is not None and rbd.rights.remove for _facts, rbd in able):
            facts, rbd = able[0]
            evidence = {"cluster": fsid, "may add": True, "may remove": rbd.rights.remove if rbd.rights else None}
            yield finding("SG518", _reader(facts), evidence, _permission("may-not-remove", facts, rbd), WARNING)


def lock_breaking(
    bundle: Bundle, fsids: t.Iterable[str], source: t.Optional[str], severity: str = BLOCKER, same: bool = False
) -> Items:
    """SG518: the user as which QEMU opens the images must be able to break a dead client's lock, whatever the fence.

    A QEMU writes only with the lock of its image. librbd puts the client that holds it on the OSD blocklist before it
    breaks the lock. Without that right the guest starts, and all its writes wait or fail. Users are asked, not hosts:
    caps are a user's. ``source``: the dead host, which is no destination. ``same``: the user that reads is judged
    already, for the fence.

    Where the run reads as another user that may break locks, it is a warning: to make a guard snapshot, that user takes
    the lock of the image, and gives it back. Seen on the lab: the guest writes. A volume has no guard.
    """
    for fsid in sorted(set(fsids)):
        users: t.Dict[str, t.List[t.Tuple[HostFacts, RbdFacts]]] = {}
        for facts, rbd in _views(bundle, fsid):
            if source is None or conf_host(facts) != source:
                users.setdefault(_user(facts), []).append((facts, rbd))
        for user, views in sorted(users.items()):
            known = ((facts, rbd.nova_rights or rbd.rights) for facts, rbd in views)
            asked = [(facts, own) for facts, own in known if own is not None]
            if same and all(rbd.nova_rights is None for _facts, rbd in views):
                continue
            if any(own.add for _facts, own in asked):
                continue
            refused = [(facts, own) for facts, own in asked if own.add is False]
            if refused:
                guarding = any(rbd.nova_rights is not None and _may_add(rbd) for _facts, rbd in views)
                yield _no_breaking(fsid, user, *refused[0], WARNING if guarding else severity)
            else:
                why = "; ".join(sorted({own.reason or "no reason given" for _facts, own in asked})) or "not asked"
                text = f"whether client.{user} of cluster {fsid} is allowed to break a dead client's lock: {why}"
                yield Unchecked("SG518", _reader(views[0][0]).id, text)


def _user(facts: HostFacts) -> str:
    return (facts.nova_conf.rbd_user if facts.nova_conf else None) or "USER"


def _no_breaking(fsid: str, user: str, facts: HostFacts, own: CephRights, severity: str) -> Finding:
    evidence = {
        "cluster": fsid,
        "user": f"client.{user}",
        "may break the lock of a dead client": False,
        "reason": own.reason or "no reason given",
    }
    remedy = remedy_text("SG518", "may-not-break-locks", user=user)
    return finding("SG518", _reader(facts), evidence, remedy, severity)


def _views(bundle: Bundle, fsid: str) -> t.List[t.Tuple[HostFacts, RbdFacts]]:
    found = [(facts, facts.rbd) for _name, facts in sorted(bundle.hosts.items())]
    return [(facts, rbd) for facts, rbd in found if rbd is not None and rbd.fsid == fsid]


def _may_add(rbd: RbdFacts) -> bool:
    return rbd.rights is not None and rbd.rights.add is True and rbd.blocklist_word is not None


def _lacking(fsid: str, views: t.Sequence[t.Tuple[HostFacts, RbdFacts]]) -> Finding:
    # The host that has read most is the one to put right.
    asked = [entry for entry in views if entry[1].rights is not None] or list(views)
    if not asked:
        evidence: t.Dict[str, t.Any] = {"cluster": fsid, "readers": []}
        return finding("SG518", Subject("host", f"cluster {fsid}"), evidence, remedy_text("SG518", "no-reader"))
    facts, rbd = asked[0]
    evidence = {
        "cluster": fsid,
        "may add": rbd.rights.add if rbd.rights else None,
        "may remove": rbd.rights.remove if rbd.rights else None,
        "command": rbd.blocklist_word or "not read",
        "reason": rbd.rights.reason if rbd.rights else "not read",
    }
    return finding("SG518", _reader(facts), evidence, _permission("may-not-add", facts, rbd), BLOCKER)


def _reader(facts: HostFacts) -> Subject:
    return Subject("host", conf_host(facts) or facts.inventory_name)


def _permission(state: str, facts: HostFacts, rbd: RbdFacts) -> str:
    return remedy_text("SG518", state, user=_user(facts), word=rbd.blocklist_word or "blocklist")
