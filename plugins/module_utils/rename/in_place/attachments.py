# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG308: what a rename means for the host's volumes, and for a cinder-volume that has the host's name. Pure.

A rename leaves Cinder's records under the old name. One finding each for what needs nothing and for what does: an
operator with hundreds of volumes reads numbers.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ...hazards import volumes
from ...model.block_storage import BlockStorage, Volume
from ...model.codes.catalogue import remedy_text
from ...model.facts import ApiServer, Bundle, HostFacts
from ...model.findings import BLOCKER, INFO, WARNING, Subject, Unchecked, finding
from ...model.lookups import Items, same_name

CODE = "SG308"
_Pair = t.Tuple[ApiServer, Volume]


def stale(bundle: Bundle, subject: Subject, new: str, severity: str = BLOCKER) -> Items:
    """SG308: volumes of the host's servers that Cinder has connected under another name than the new one.

    ``severity``: of two guests of the host that share a volume.
    """
    cloud = bundle.cloud
    if cloud is None or cloud.servers is None:
        return  # SG709
    servers = [server for server in cloud.servers if server.host == subject.host]
    yield from volumes.unread(bundle, CODE, servers)
    known = cloud.block_storage.by_id if cloud.block_storage else {}
    pairs = [(server, known[uuid]) for server in servers for uuid in server.volumes if uuid in known]
    # After an adoption back, the records have the name that the host gets.
    changed = [pair for pair in pairs if not all(same_name(row.host, new) for row in pair[1].rows_of(pair[0].id))]
    harmless = [pair for pair in changed if pair[1].exported_by_name is False]
    exported = [pair for pair in changed if pair[1].exported_by_name is not False]
    if harmless:
        yield finding(CODE, subject, _numbers(harmless), remedy_text(CODE, "rename-harmless"), INFO)
    if exported:
        shown = [[server.id, volume.id] for server, volume in exported[: volumes.SHOWN]]
        evidence = {**_numbers(exported), "servers and volumes": shown}
        yield finding(CODE, subject, evidence, remedy_text(CODE, "rename"), WARNING)
    yield from _shared(pairs, exported, severity)


def _numbers(pairs: t.Sequence[_Pair]) -> t.Dict[str, t.Any]:
    kinds = collections.Counter(
        volume.kind or "not known" for volume in {volume.id: volume for _server, volume in pairs}.values()
    )
    return {
        "servers": len({server.id for server, _volume in pairs}),
        "volumes": sum(kinds.values()),
        "kinds of connection": dict(sorted(kinds.items())),
    }


def _shared(pairs: t.Sequence[_Pair], exported: t.Sequence[_Pair], severity: str) -> Items:
    """SG308: two guests of the host on one volume: a driver takes the old and the new name for two hosts."""
    matter = {volume.id for _server, volume in exported}
    of_volume: t.Dict[str, t.List[ApiServer]] = collections.defaultdict(list)
    for server, volume in pairs:
        if volume.id in matter:
            of_volume[volume.id].append(server)
    found: t.Dict[str, t.Dict[str, t.List[str]]] = collections.defaultdict(dict)
    for uuid, servers in of_volume.items():
        for server in servers if len(servers) > 1 else ():
            found[server.id][uuid] = sorted(other.id for other in servers)
    by_id = {server.id: server for server, _volume in pairs}
    for uuid, shared in sorted(found.items()):
        server = by_id[uuid]
        subject = Subject("instance", uuid, server.name, server.host)
        remedy = remedy_text(CODE, "rename-shared")
        yield finding(CODE, subject, {"volumes and their servers on the host": shared}, remedy, severity)


def cinder_volume(
    storage: t.Optional[BlockStorage],
    subject: Subject,
    host: t.Optional[HostFacts],
    severity: str = BLOCKER,
) -> Items:
    """SG308: a cinder-volume that is registered under a name of the host, as it is unless it was given one of its own.

    Cinder takes the kernel's name, which may be short or not, whatever Nova calls the host (cinder/common/config.py).
    """
    if storage is None or storage.services is None:
        why = next((entry.reason for entry in (storage.unread if storage else ()) if entry.part == "services"), None)
        yield Unchecked(CODE, f"{subject.id}:cinder-volume", why or "the services of Cinder were not read")
        return
    names = {str(subject.host)}
    if host is not None:
        names |= {name for name in (host.kernel_hostname, host.static_hostname, host.fqdn) if name}
    found = sorted({entry for name in names for entry in volumes.cinder_volumes_on(storage, name)})
    if found:
        own = dataclasses.replace(subject, id=f"{subject.id}:cinder-volume", name="cinder-volume")
        yield finding(CODE, own, {"cinder-volume": found}, remedy_text(CODE, "rename-cinder-volume"), severity)
