# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which OSDs run on a compute host, whether noout can be set for them, and whether they are up again. SG719. Pure.

An OSD is a host's if the name that it gave its machine is exactly one of the host's. All else that can be known must
agree: its CRUSH bucket has the host's name (Ceph takes the part before the first dot), its address is the host's. An
OSD that is the host's by one of these and not by another is told, and never taken or left in silence: it may have
started before a rename, or there are two machines of one name.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import blocklists
from ..model.codes.catalogue import remedy_text
from ..model.facts import Bundle, CephOsd, HostFacts, RbdFacts
from ..model.findings import Finding, Subject, finding
from ..model.lookups import host_subject
from ..model.names import conf_host, short
from ..model.stored_names import name_key

CODE = "SG719"


@dataclasses.dataclass(frozen=True)
class HostOsds:
    """The OSDs of a host, and what stands against setting noout for them.

    ``readers``: inventory names of hosts that have read its cluster.
    """

    osds: t.Tuple[CephOsd, ...] = ()
    findings: t.Tuple[Finding, ...] = ()
    fsid: t.Optional[str] = None
    pool: t.Optional[str] = None
    readers: t.Tuple[str, ...] = ()


def of_host(bundle: Bundle, facts: HostFacts) -> HostOsds:
    """Return what is known of the OSDs on a host. Where that is not all, a finding says so."""
    own = facts.rbd
    if own is None or own.fsid is None:
        why = [entry.reason for entry in facts.unread if entry.part == "rbd"]
        why += [entry.reason for entry in (own.unread if own is not None else ()) if entry.part == "fsid"]
        return HostOsds(findings=(_unread(facts, why or ["Ceph was not read on this host"]),))
    views = _views(bundle, own.fsid, facts)
    read = {name: rbd for name, rbd in views.items() if rbd.osds is not None}
    if not read or facts.addresses is None:
        why = [entry.reason for rbd in views.values() for entry in rbd.unread if entry.part == "osds"]
        why += ["the addresses of the host were not read"] if facts.addresses is None else []
        return HostOsds(findings=(_unread(facts, why or ["no host has read the OSDs of its cluster"]),), fsid=own.fsid)
    reader, rbd = next(iter(read.items()))
    mine, doubts = _told(facts, rbd.osds or ())
    found = [_untold(facts, doubts)] if doubts else []
    if mine and not (rbd.noout_rights and rbd.noout_rights.add and rbd.noout_rights.remove):
        found.append(_not_permitted(facts, reader, rbd))
    return HostOsds(tuple(mine), tuple(found), own.fsid, rbd.pool, tuple(read))


def not_up(bundle: Bundle, facts: HostFacts, wanted: t.Collection[int]) -> t.Iterator[Finding]:
    """SG719: OSDs that were up before the work are not, or cannot be seen."""
    fsid = facts.rbd.fsid if facts.rbd is not None else None
    read = [rbd.osds for rbd in _views(bundle, fsid, facts).values() if rbd.osds is not None] if fsid else []
    if not read:
        yield _unread(facts, ["the OSDs were not read after the work"])
        return
    up = {osd.id for osd in read[0] if osd.up}
    down = sorted(set(wanted) - up)
    if down:
        osds = named(down)
        evidence = {"not up": osds, "up before the work": named(wanted)}
        remedy = remedy_text(CODE, "osd-not-up", host=_name(facts), osds=", ".join(osds))
        yield finding(CODE, _subject(facts, "up"), evidence, remedy)


def named(numbers: t.Iterable[int]) -> t.List[str]:
    """Return what Ceph calls OSDs."""
    return [f"osd.{number}" for number in sorted(numbers)]


def runs_on(osd: CephOsd, facts: HostFacts) -> bool:
    """Whether an OSD called its machine by one of this host's names. A name that is part of another is none."""
    return osd.hostname is not None and name_key(osd.hostname) in _names(facts)


def _names(facts: HostFacts) -> t.Set[str]:
    return {name_key(name) for name in (facts.kernel_hostname, facts.static_hostname, facts.fqdn) if name}


def _told(facts: HostFacts, osds: t.Iterable[CephOsd]) -> t.Tuple[t.List[CephOsd], t.Dict[str, t.List[str]]]:
    """Return the OSDs of the host, and what contradicts that these are all, by OSD."""
    names = _names(facts)
    buckets = names | {short(name) for name in names}
    own = set(filter(None, map(blocklists.plain, facts.addresses or ())))
    mine: t.List[CephOsd] = []
    doubts: t.Dict[str, t.List[str]] = {}
    for osd in osds:
        here = runs_on(osd, facts)
        mine += [osd] if here else []
        crush = {name_key(name) for name in osd.crush_hosts}
        addresses = set(filter(None, map(blocklists.plain, osd.addresses)))
        signs = {
            "its machine": here or _perhaps(osd.hostname, names),
            "its CRUSH buckets": bool(crush & buckets) if crush else here,
            "its addresses": bool(addresses & own) if addresses else here,
        }
        if len(set(signs.values())) > 1 or signs["its machine"] != here:
            doubts[f"osd.{osd.id}"] = [f"hostname {osd.hostname}", *osd.crush_hosts, *osd.addresses]
    return mine, doubts


def _perhaps(hostname: t.Optional[str], names: t.Collection[str]) -> bool:
    """Whether a name and one of the host's differ by a domain that only one of them has."""
    key = name_key(hostname or "")
    return any(short(key) == short(name) and (key == short(key) or name == short(name)) for name in names)


def _views(bundle: Bundle, fsid: t.Optional[str], facts: HostFacts) -> t.Dict[str, RbdFacts]:
    """Return what hosts have read of a cluster, the host's own view first."""
    others = [facts, *(other for _name, other in sorted(bundle.hosts.items()))]
    return {other.inventory_name: other.rbd for other in others if other.rbd is not None and other.rbd.fsid == fsid}


def _name(facts: HostFacts) -> str:
    return str(conf_host(facts) or facts.inventory_name)


def _subject(facts: HostFacts, part: str) -> Subject:
    whole = host_subject(facts)
    return Subject("host", f"{whole.id}:osds:{part}", "OSDs", whole.host)


def _unread(facts: HostFacts, why: t.Sequence[str]) -> Finding:
    remedy = remedy_text(CODE, "osds-unread", host=_name(facts))
    return finding(CODE, _subject(facts, "read"), {"reason": list(dict.fromkeys(why))}, remedy)


def _untold(facts: HostFacts, doubts: t.Mapping[str, t.Sequence[str]]) -> Finding:
    evidence = {
        "names of the host": sorted(_names(facts)),
        "addresses of the host": facts.addresses,
        "OSDs": dict(doubts),
    }
    osds = ", ".join(sorted(doubts))
    return finding(
        CODE, _subject(facts, "names"), evidence, remedy_text(CODE, "osds-untold", host=_name(facts), osds=osds)
    )


def _not_permitted(facts: HostFacts, reader: str, rbd: RbdFacts) -> Finding:
    rights = rbd.noout_rights
    evidence = {
        "read on": reader,
        "add-noout": rights.add if rights else None,
        "rm-noout": rights.remove if rights else None,
        "reason": rights.reason if rights else "not asked for",
    }
    return finding(CODE, _subject(facts, "rights"), evidence, remedy_text(CODE, "not-permitted"))
