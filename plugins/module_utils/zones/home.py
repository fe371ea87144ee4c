# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which zone does a server belong to? Of one on a host, the host's; of a shelved one on no host, what all facts name.

A shelved server that was offloaded has no host. Four facts may name its zone: its pin, the zone of the host that
shelved it, the zone that Nova has recorded, and those of its volumes. None alone is proof: an attempt to unshelve it
elsewhere leaves its zone in the record and, if it named one, in the pin; a host may have changed its zone since; and
with C(cross_az_attach) a volume may be anywhere. So all that name one must name the same, or a person does. Pure.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..hazards import zones
from ..model.codes.catalogue import remedy_text
from ..model.facts import OFFLOADED, ApiServer, ZoneFacts
from ..model.findings import Finding, Subject, finding


@dataclasses.dataclass(frozen=True)
class Home:
    """The zone of a server. ``why``: how it is known; ``finding``: what speaks against it, or why it is not known."""

    zone: t.Optional[str]
    why: str = ""
    finding: t.Optional[Finding] = None


def asked_server(facts: ZoneFacts, uuid: str) -> t.Union[ApiServer, Finding]:
    """Return the one server that was asked for, or why there is none."""
    server = next((entry for entry in facts.servers or [] if entry.id == uuid), None)
    if server is not None:
        return server
    subject = Subject("instance", uuid)
    if facts.servers is None:
        return finding("SG709", subject, {"server": "not read"}, remedy_text("SG709", "asked-servers-unread"))
    return finding("SG710", subject, {"server": "not found"}, remedy_text("SG710", "asked-server-absent"))


def without_zone(facts: ZoneFacts, server: ApiServer) -> Finding:
    """SG709: the host of a server is in no zone that can be told, or in two."""
    found = zones.zones_by_host(facts.aggregates or []).get(str(server.host), [])
    evidence = {"host": server.host, "zones of its host": found}
    return finding("SG709", zones.subject_of(server), evidence, remedy_text("SG709", "host-without-single-zone"))


def find(facts: ZoneFacts, server: ApiServer, named: t.Optional[str] = None) -> Home:
    """Return the zone of a server. ``named``: the one that a person names where the facts name several, or none."""
    places = zones.Places(facts)
    if server.host is not None:
        zone = places.zone_of(server.host)
        return Home(zone, f"it is on {server.host}", None if zone else without_zone(facts, server))
    missing = unread(facts, server)
    if missing is not None:
        return Home(None, finding=missing)
    told = _told(facts, server, places)
    said = sorted({zone for found in told.values() for zone in found})
    if named is None and len(said) == 1:
        return Home(said[0], f"known from {', '.join(told)}")
    if named is not None and named in (said or _existing(facts)):
        return Home(named, "you named it")
    evidence = {**told, "named": named, "host that shelved it": _shelved(facts, server).host}
    if named is None:
        state = "zones-of-shelved-differ" if said else "zone-of-shelved-unknown"
    else:
        state = "named-zone-is-another" if named in _existing(facts) else "named-zone-unknown"
    contradicted = named if state == "named-zone-is-another" else None
    item = finding("SG409", zones.subject_of(server), evidence, remedy_text("SG409", state))
    return Home(contradicted, "you named it, and an override passes the other facts", item)


def unread(facts: ZoneFacts, server: ApiServer) -> t.Optional[Finding]:
    """SG709: something that may name the zone of a shelved server was not read."""
    missing = [name for name in ("aggregates", "services", "pins", "shelved") if getattr(facts, name) is None]
    missing += [name for name in ("pins", "shelved") if server.id not in (getattr(facts, name) or {server.id: None})]
    if any(volume not in (facts.volumes or {}) for volume in server.volumes):
        missing.append("volumes")
    if not missing:
        return None
    evidence = {"not read": missing, "reasons": [f"{entry.part}: {entry.reason}" for entry in facts.unread]}
    return finding("SG709", zones.subject_of(server), evidence, remedy_text("SG709", "zone-of-shelved-unread"))


def _shelved(facts: ZoneFacts, server: ApiServer) -> t.Any:
    return (facts.shelved or {})[server.id]


def _existing(facts: ZoneFacts) -> t.Set[str]:
    shown = {str(service.zone) for service in facts.services or [] if service.zone}
    return zones.carried(facts.aggregates or []) | shown


def _told(facts: ZoneFacts, server: ApiServer, places: zones.Places) -> t.Dict[str, t.List[str]]:
    """Return what each fact names, without those that name nothing. A zone that is no more names nothing."""
    shelved, pin = _shelved(facts, server), (facts.pins or {})[server.id]
    recorded = None if shelved.tried else server.availability_zone
    volumes = {(facts.volumes or {})[volume] for volume in server.volumes}
    told = {
        "its pin": {pin} & places.carried,
        "the host that shelved it": {places.zone_of(shelved.host)} - {None},
        "Nova's record": {recorded} & _existing(facts),
        "its volumes": volumes & places.carried,
    }
    return {name: sorted(str(zone) for zone in found) for name, found in told.items() if found}


def is_offloaded(server: ApiServer) -> bool:
    """Whether a server is shelved and on no host."""
    return server.status == OFFLOADED and server.host is None
