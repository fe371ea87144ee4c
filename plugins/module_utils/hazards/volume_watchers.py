# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who has the servers' volumes in Ceph open, in an audit: SG507 of volumes, and SG527. Pure.

A volume of which nobody could look who has it open is undecided, with the reason; all of one reason are one line.
"""

from __future__ import annotations

import collections
import typing as t

from ..capacity.measured import RUNNING
from ..model.block_storage import ATTACHED, IN_USE, BlockStorage, Volume
from ..model.codes.catalogue import remedy_text
from ..model.facts import ApiServer, Bundle, HostFacts
from ..model.findings import Subject, Unchecked, finding
from ..model.lookups import Index, Item, Items
from ..model.names import conf_host
from . import clients, storage
from .clients import SeenImage

_ACTIVE = "ACTIVE"
_SG507, _SG527 = "SG507", "SG527"


class Survey:
    """The volumes of a cloud's servers. Hosts are added one after the other: of saved evidence each is parsed once."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._cloud = bundle.cloud
        listed = (bundle.cloud.servers if bundle.cloud else None) or []
        self._servers = {server.id: server for server in listed if server.volumes}
        #: Servers that run; what libvirt calls their volumes in Ceph, and those that are elsewhere, by uuid.
        self._running: t.Set[str] = set()
        self._images: t.Dict[str, str] = {}
        self._outside: t.Set[str] = set()
        self._read: t.Set[t.Optional[str]] = set()

    def add(self, facts: HostFacts) -> None:
        """Look at a host's guests."""
        if facts.domains is not None:
            self._read.add(conf_host(facts))
        for domain in facts.domains or () if self._servers else ():
            if domain.uuid not in self._servers:
                continue
            if domain.state in RUNNING:
                self._running.add(domain.uuid)
            for disk in domain.disks:
                if disk.serial and disk.ceph_volume is not None:
                    self._images[disk.serial] = disk.ceph_volume[1]
                elif clients.is_outside(disk):
                    self._outside.add(str(disk.serial))

    def items(self, index: Index) -> Items:
        """Return what is wrong, and what could not be looked at."""
        if self._cloud is None or self._cloud.servers is None:
            if any(facts.rbd is not None and facts.rbd.volumes for facts in self._bundle.hosts.values()):
                yield from (Unchecked(code, "volumes", "the servers were not read") for code in (_SG507, _SG527))
            return
        cinder = self._cloud.block_storage
        known = cinder.by_id if cinder is not None else {}
        of_volume: t.Dict[str, t.List[ApiServer]] = {}
        for server in self._servers.values():
            for uuid in server.volumes:
                of_volume.setdefault(uuid, []).append(server)
        seen, unread_pools = clients.volumes_seen(self._bundle), clients.unread_pools(self._bundle)
        owners = storage.owners(self._bundle)
        unread: t.Counter[str] = collections.Counter()
        unwatched: t.Dict[str, t.List[str]] = {}
        for uuid, servers in sorted(of_volume.items()):
            volume = known.get(uuid)
            if uuid in self._outside or (volume is not None and volume.in_ceph is False):
                continue
            image = self._image(uuid, volume)
            places = seen.get(image[len(clients.VOLUME) :], [])
            reason = clients.Disks({}, {}, {uuid: places}, (), unread=unread_pools).volume_unread(uuid)
            if reason is not None:
                unread[reason] += 1
                continue
            for entry in places:
                yield from self._twice(index, cinder, owners, entry, volume, servers)
            if not any(entry.image.watchers for entry in places) and (volume is None or volume.status == IN_USE):
                for server in servers:
                    unwatched.setdefault(server.id, []).append(uuid)
        yield from self._unwatched(unwatched)
        for reason, count in sorted(unread.items()):
            said = f"{count} volume{'s' if count > 1 else ''} of servers: {reason}"
            yield from (Unchecked(code, "volumes", said) for code in (_SG507, _SG527))

    def _image(self, uuid: str, volume: t.Optional[Volume]) -> str:
        """Return a volume's image. One that Cinder has moved to another pool has not its own uuid."""
        rows = volume.attachments if volume is not None else []
        places = [row.place.rpartition("/")[2] for row in rows if row.place]
        image = next(iter(places), None) or self._images.get(uuid) or ""
        return image if clients.is_volume(image) else f"{clients.VOLUME}{uuid}"

    def _twice(
        self,
        index: Index,
        cinder: t.Optional[BlockStorage],
        owners: t.Mapping[str, str],
        entry: SeenImage,
        volume: t.Optional[Volume],
        servers: t.Sequence[ApiServer],
    ) -> t.Iterator[Item]:
        """SG507: of two addresses that have the volume open one is not the host of any of its servers."""
        addresses = sorted({str(clients.address_of(watcher.address)) for watcher in entry.image.watchers or []})
        if len(addresses) < 2:
            return
        subject = Subject("image", f"{entry.pool}/{entry.image.name}")
        hosts = {server.host for server in servers if server.host is not None}
        ids = {server.id for server in servers}
        for row in volume.attachments if volume is not None else ():
            if row.server not in ids and row.status == ATTACHED and row.host is not None:
                # Another consumer's, which Nova does not know: Cinder alone says where.
                hosts.add(row.host)
        strange = [address for address in addresses if owners.get(address) not in hosts]
        if not strange:
            return
        busy = any(server.task_state is not None or index.migrations_by_instance.get(server.id) for server in servers)
        if busy or not index.migrations_read or (volume is not None and volume.status != IN_USE):
            reason = f"a move, or an act of Cinder's, may explain why clients at {', '.join(addresses)} have it open"
            yield Unchecked(_SG507, subject.id, reason)
        elif hosts - set(owners.values()) and not any(address in owners for address in strange):
            silent = ", ".join(sorted(hosts - set(owners.values())))
            yield Unchecked(_SG507, subject.id, f"{', '.join(strange)} may be addresses of {silent}, not read")
        else:
            evidence = {
                "watchers": addresses,
                "hosts": sorted({owners.get(address) or address for address in addresses}),
                "servers": sorted([server.id, str(server.host)] for server in servers),
                "seen by": list(entry.by),
            }
            remedy = clients.who_has_volume(entry.image.name, "volume-open-in-audit")
            yield finding(_SG507, subject, evidence, remedy)

    def _unwatched(self, volumes: t.Mapping[str, t.Sequence[str]]) -> Items:
        """SG527: servers that run, by Nova and on their host, and volumes of theirs that nobody has open."""
        silent = 0
        for uuid, names in sorted(volumes.items()):
            server = self._servers[uuid]
            if server.status != _ACTIVE or server.task_state is not None:
                continue
            if uuid in self._running:
                subject = Subject("instance", uuid, server.name, server.host)
                shown = sorted(set(names) & set(self._images))
                evidence = {"volumes": sorted(names), "in the guest's definition": shown}
                yield finding(_SG527, subject, evidence, remedy_text(_SG527, "unwatched", server=uuid))
            elif server.host not in self._read:
                silent += 1
        if silent:
            yield Unchecked(_SG527, "servers", f"{silent} servers with a volume that nobody has open: unread hosts")
