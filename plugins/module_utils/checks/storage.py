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

from ansible_collections.stackguard.nova.plugins.module_utils.checks.common import (
    Index,
    Items,
    domain_subject,
    parse_address,
    same_address,
)
from ansible_collections.stackguard.nova.plugins.module_utils.evacuating import RUNNING, Guest, by_nova_name, images_of
from ansible_collections.stackguard.nova.plugins.module_utils.facts import Bundle, HostFacts, RbdImage
from ansible_collections.stackguard.nova.plugins.module_utils.findings import (
    BLOCKER,
    WARNING,
    Checked,
    Finding,
    Override,
    Subject,
    Unchecked,
    finding,
)
from ansible_collections.stackguard.nova.plugins.module_utils.requests import EvacuationRequest

#: What guard snapshots are called, before the operation's id.
GUARD = "stackguard-"
#: The key of evidence that makes SG506 absolute: signs of life.
ALIVE = "alive"

_FENCE = (
    "Fence it with proof: evacuate_fence=power, command or blocklist; or attest that it is dead "
    "(evacuate_fence=attested, with an override of SG506 for this host and your reason)."
)


def guard_name(operation_id: str) -> str:
    """Return the name of an operation's guard snapshots. Never an image's own, and not Nova's C(nova-resize)."""
    return f"{GUARD}{operation_id}"


# --- who sees what --------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Seen:
    """An image, and where it was seen."""

    fsid: t.Optional[str]
    pool: str
    image: RbdImage
    by: t.Tuple[str, ...]


def seen(bundle: Bundle, uuids: t.Optional[t.Container[str]] = None) -> t.Dict[str, t.List[Seen]]:
    """Return every image of these instances (None: all) by name: once for each cluster and pool it was seen in.

    Several hosts look at one pool one after the other: what any of them saw counts, and what one could not read is
    unread only where no other could.
    """
    found: t.Dict[str, t.Dict[t.Tuple[t.Optional[str], str], Seen]] = {}
    for name, facts in sorted(by_nova_name(bundle).items()):
        rbd = facts.rbd
        if rbd is None:
            continue
        for image in rbd.images or []:
            if uuids is not None and image.name.partition("_")[0] not in uuids:
                continue
            places = found.setdefault(image.name, {})
            key = (rbd.fsid, rbd.pool)
            before = places.get(key)
            merged = image if before is None else _merge(before.image, image)
            places[key] = Seen(rbd.fsid, rbd.pool, merged, (*(before.by if before else ()), name))
    return {name: list(places.values()) for name, places in found.items()}


def _merge(one: RbdImage, other: RbdImage) -> RbdImage:
    def both(name: str) -> t.Any:
        first, second = getattr(one, name), getattr(other, name)
        if first is None or second is None:
            return second if first is None else first
        return [*first, *(entry for entry in second if entry not in first)]

    return dataclasses.replace(
        one,
        id=one.id or other.id,
        size=one.size or other.size,
        snapshots=both("snapshots"),
        watchers=both("watchers"),
        locks=both("locks"),
    )


def address_of(ceph: t.Optional[str]) -> t.Optional[str]:
    """Return the IP address in Ceph's C(IP:PORT/NONCE), C([IP6]:PORT/NONCE) or C(v1:IP:PORT/NONCE); None: none."""
    text = (ceph or "").partition("/")[0]
    for prefix in ("v1:", "v2:", "any:"):
        text = text.removeprefix(prefix)
    host = text[1:].partition("]")[0] if text.startswith("[") else text.rpartition(":")[0]
    return str(parsed) if (parsed := parse_address(host)) is not None else None


def owner(bundle: Bundle, ceph: str) -> t.Optional[str]:
    """Return the host that has an address, by what was read on it; None: no host that was read."""
    address = address_of(ceph)
    for name, facts in sorted(by_nova_name(bundle).items()):
        if address is not None and any(same_address(address, own) for own in facts.addresses or []):
            return name
    return None


# --- fenced? --------------------------------------------------------------------------------------------------


def source_facts(bundle: Bundle, request: EvacuationRequest) -> t.Optional[HostFacts]:
    """Return what was read on the source, if it answers."""
    by_inventory = bundle.hosts.get(request.inventory_name or "")
    return by_inventory or by_nova_name(bundle).get(request.host)


def fenced(bundle: Bundle, guests: t.Sequence[Guest], request: EvacuationRequest) -> Items:
    """SG506: signs of life on the source, which nothing passes; else no proof of death, which only a word passes."""
    signs = [*live_domains(bundle, request), *_watched(bundle, guests, request)]
    if signs:
        remedy = "It lives: no override passes this. Fence it (evacuate_fence), wait until its guests are gone."
        yield finding("SG506", Subject("host", request.host), {ALIVE: signs}, remedy)
    elif request.fence is None:
        evidence = {"fence": None, "watchers": 0, "reachable": source_facts(bundle, request) is not None}
        yield finding("SG506", Subject("host", request.host), evidence, _FENCE)
    yield from unread_watchers(bundle, guests)


def live_domains(bundle: Bundle, request: EvacuationRequest) -> t.List[str]:
    """Return the domains that run on the source, where it answers, in words."""
    facts = source_facts(bundle, request)
    return [
        f"domain {domain.name} ({domain.uuid}) is {domain.state} there"
        for domain in (facts.domains if facts else None) or []
        if domain.state in RUNNING
    ]


def _watched(bundle: Bundle, guests: t.Sequence[Guest], request: EvacuationRequest) -> t.List[str]:
    uuids = {guest.uuid for guest in guests}
    return [
        f"{entry.pool}/{name} has a watcher at {watcher.address}"
        for name, places in sorted(seen(bundle, uuids).items())
        for entry in places
        for watcher in entry.image.watchers or []
        if owner(bundle, watcher.address) in (None, request.host)
    ]


def unread_watchers(bundle: Bundle, guests: t.Sequence[Guest]) -> Items:
    """SG709: an image whose watchers or id nobody could read. Unread is not "no watcher"."""
    for name, places in sorted(seen(bundle, {guest.uuid for guest in guests}).items()):
        for entry in places:
            if entry.image.watchers is None or entry.image.id is None:
                reasons = sorted({item.reason for item in entry.image.unread}) or ["not read"]
                evidence = {"unread": reasons, "seen by": list(entry.by)}
                remedy = "Give the Ceph user the right to look at it (profile rbd), then run it again."
                yield finding("SG709", Subject("image", f"{entry.pool}/{name}"), evidence, remedy)


def honoured(checked: Checked, overrides: t.Sequence[Override]) -> t.List[Override]:
    """Return the overrides that count: none passes an SG506 with signs of life."""
    living = {
        word
        for item in checked.findings
        if item.code == "SG506" and ALIVE in item.evidence
        for word in (item.object.id, item.object.name)
    }
    return [entry for entry in overrides if entry.code != "SG506" or entry.object not in living]


# --- two writers ----------------------------------------------------------------------------------------------


def writers(bundle: Bundle, guests: t.Sequence[Guest], request: EvacuationRequest) -> Items:
    """SG507: before a guest is sent, nobody else may have its disk: not another host, and never two."""
    for name, places in sorted(seen(bundle, {guest.uuid for guest in guests}).items()):
        for entry in places:
            watchers = entry.image.watchers or []
            hosts = {owner(bundle, watcher.address) or watcher.address for watcher in watchers}
            foreign = sorted(host for host in hosts if host != request.host)
            if len(watchers) > 1 or any(host in by_nova_name(bundle) for host in foreign):
                evidence = {"watchers": sorted(watcher.address for watcher in watchers), "hosts": sorted(hosts)}
                yield _double(Subject("image", f"{entry.pool}/{name}"), evidence)
    yield from _leftover_domains(bundle, {guest.uuid for guest in guests}, request.host)


def _leftover_domains(bundle: Bundle, uuids: t.Container[str], source: str) -> Items:
    """A failed evacuation may have left the guest running on its destination (facts of nova, 4.2, E8)."""
    for name, facts in sorted(by_nova_name(bundle).items()):
        for domain in facts.domains or []:
            if name != source and domain.uuid in uuids and domain.state in RUNNING:
                evidence = {"domain": domain.name, "state": domain.state, "host": name, "Nova says": source}
                yield _double(domain_subject(domain, facts), evidence)


def _double(subject: Subject, evidence: t.Mapping[str, t.Any]) -> Finding:
    remedy = "Find out which QEMU is the guest's, stop the other (virsh destroy), see that one watcher is left."
    return finding("SG507", subject, evidence, remedy)


def watched_twice(index: Index) -> Items:
    """SG507, without an evacuation: two addresses have one disk open, and no migration explains it."""
    for name, places in sorted(seen(index.bundle).items()):
        uuid = name.partition("_")[0]
        for entry in places:
            subject = Subject("image", f"{entry.pool}/{name}")
            if entry.image.watchers is None:
                yield Unchecked("SG507", subject.id, "its watchers were not read")
                continue
            addresses = sorted({str(address_of(watcher.address)) for watcher in entry.image.watchers})
            if len(addresses) < 2:
                continue
            if not index.migrations_read or index.migrations_by_instance.get(uuid):
                yield Unchecked("SG507", subject.id, f"a migration may be why {', '.join(addresses)} have it open")
                continue
            hosts = [owner(index.bundle, watcher.address) or watcher.address for watcher in entry.image.watchers]
            yield _double(subject, {"watchers": addresses, "hosts": sorted(hosts), "seen by": list(entry.by)})


# --- where the disks are --------------------------------------------------------------------------------------


def pools(bundle: Bundle, guests: t.Sequence[Guest], hosts: t.Container[str], request: EvacuationRequest) -> Items:
    """SG505: an image in two pools; a host that looks into another pool than the one that holds the disks."""
    uuids = {guest.uuid for guest in guests}
    homes: t.Set[t.Tuple[t.Optional[str], str]] = set()
    for name, places in sorted(seen(bundle, uuids).items()):
        homes |= {(entry.fsid, entry.pool) for entry in places}
        if len(places) > 1:
            evidence = {"seen in": [[entry.fsid, entry.pool, list(entry.by)] for entry in places]}
            remedy = "Find out which one is the server's disk. Never evacuate while two look alike."
            yield finding("SG505", Subject("image", name), evidence, remedy)
    views = {
        name: (facts.rbd.fsid, facts.rbd.pool)
        for name, facts in by_nova_name(bundle).items()
        if facts.rbd is not None and (name in hosts or name == request.host)
    }
    others = any(view in homes for name, view in views.items() if name != request.host)
    for name, view in sorted(views.items()):
        if homes and view not in homes:
            known = {"cluster and pool": list(view), "the disks are in": sorted(repr(home) for home in homes)}
            remedy = "It is left out. Give it the pool and the Ceph configuration of the others to use it."
            yield finding("SG505", Subject("host", name), known, remedy, WARNING if others else BLOCKER)


# --- what was left behind -------------------------------------------------------------------------------------


def leaks(bundle: Bundle, open_operations: t.Container[str], gone: t.Optional[t.Container[str]] = None) -> Items:
    """SG508: guard snapshots of operations that are not open; images of instances that are gone (``gone``).

    While a guard snapshot exists Nova cannot delete the image, says that it did, and a later rebuild or unshelve boots
    the old content (facts of nova, 4.3). ``gone``: uuids known to be deleted; None: not known, so undecided.
    """
    for name, places in sorted(seen(bundle).items()):
        for entry in places:
            image = Subject("image", f"{entry.pool}/{name}")
            if entry.image.snapshots is None:
                yield Unchecked("SG508", image.id, "its snapshots were not read")
            for snapshot in entry.image.snapshots or []:
                if snapshot.name.startswith(GUARD) and snapshot.name[len(GUARD) :] not in open_operations:
                    remedy = f"Remove it: rbd snap rm {entry.pool}/{name}@{snapshot.name}"
                    yield finding("SG508", image, {"snapshot": snapshot.name, "seen by": list(entry.by)}, remedy)
            if gone is None:
                yield Unchecked("SG508", image.id, "whether its instance still exists was not read")
            elif name.partition("_")[0] in gone:
                evidence = {"instance": "deleted", "snapshots": [entry.name for entry in entry.image.snapshots or []]}
                remedy = f"Nova says it deleted this server. Keep what is needed, then: rbd rm {entry.pool}/{name}"
                yield finding("SG508", image, evidence, remedy)


@dataclasses.dataclass(frozen=True)
class Before:
    """What must be the same after an evacuation: Ceph's ids of the images, by name."""

    uuid: str
    ids: t.Mapping[str, str]


def unchanged(bundle: Bundle, before: Before) -> Items:
    """SG504: before a guest is sent again, its disks are the very ones that were guarded."""
    now = seen(bundle, {before.uuid})
    for name, identity in sorted(before.ids.items()):
        ids = sorted({str(entry.image.id) for entry in now.get(name, [])})
        if ids != [identity]:
            evidence = {"image": name, "id before": identity, "ids now": ids}
            remedy = "It is gone, or was made anew. Send it nowhere; look for it: rbd trash ls, guard snapshots."
            yield finding("SG504", Subject("instance", before.uuid), evidence, remedy)


# --- after a guest has landed ---------------------------------------------------------------------------------


def landed(bundle: Bundle, before: Before, host: str, running: bool) -> Items:
    """SG504, SG507: the same images, exactly one watcher where it runs and none where not, the domain in one place."""
    views = by_nova_name(bundle)
    facts = views.get(host)
    now = images_of(facts.rbd if facts else None, before.uuid)
    subject = Subject("instance", before.uuid, host=host)
    if now is None or facts is None or facts.domains is None:
        yield finding("SG709", subject, {"not read": "its disks and domains there"}, "Read the destination again.")
        return
    for name, identity in sorted(before.ids.items()):
        yield from _landed_image(subject, name, identity, now.get(name), running)
    for name, other in sorted(views.items()):
        states = [domain.state for domain in other.domains or [] if domain.uuid == before.uuid]
        alive = any(state in RUNNING for state in states)
        if name != host and alive:
            yield _double(Subject("domain", before.uuid, host=name), {"also runs on": name, "belongs on": host})
        if name == host and running and not alive:
            yield finding("SG109", subject, {"domain": states or None}, "It does not run there: look at its log.")


def _landed_image(
    subject: Subject, name: str, identity: str, found: t.Optional[RbdImage], running: bool
) -> t.Iterator[Finding]:
    if found is None or found.id != identity:
        evidence = {"image": name, "id before": identity, "id now": found.id if found else None}
        remedy = "This is not the disk it had. Stop the server; look for the old one: rbd trash ls, guard snapshots."
        yield finding("SG504", subject, evidence, remedy)
        return
    if found.watchers is None:
        yield finding("SG709", subject, {"not read": f"watchers of {name}"}, "Read the destination again.")
        return
    addresses = [watcher.address for watcher in found.watchers]
    if len(addresses) > int(running):
        yield _double(Subject("image", name), {"watchers": addresses, "running": running})
    # A config drive is opened for reading only, and has no watcher.
    elif running and not addresses and not name.endswith("_disk.config"):
        yield finding("SG109", subject, {"image": name, "watchers": 0}, "No QEMU has its disk: look at its log.")
