# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""May a shelved server be started again in its zone? Pure.

One that is still on its host is started there. One that was offloaded is scheduled as if it were new: the request names
its zone, and pins it to that zone.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...hazards import guest_places, zones
from ...model.codes.catalogue import remedy_text
from ...model.facts import OFFLOADED, ApiMigration, ApiServer, ZoneFacts
from ...model.findings import Checked, Finding, Unchecked, finding
from ...model.lookups import Items, gather
from .. import home

#: Server statuses that Nova unshelves (C(compute/api.py), C(unshelve); 26 to 34).
STATUSES = ("SHELVED", OFFLOADED)
#: What Nova keeps of the volumes of an offloaded server (C(compute/manager.py), C(_terminate_volume_connections)).
RESERVED = ("reserved", "in-use")


@dataclasses.dataclass(frozen=True)
class ShelvedDisks:
    """What an offloaded server is made from again: by uuid the statuses of images and volumes. None: unread."""

    images: t.Optional[t.Mapping[str, str]] = None
    volumes: t.Optional[t.Mapping[str, str]] = None


@dataclasses.dataclass(frozen=True)
class UnshelveDecision:
    """What was found, and what is to be done where nothing forbids it."""

    checked: Checked
    server: t.Optional[ApiServer] = None
    zone: t.Optional[str] = None
    #: The zone that the request names; None: none.
    ask: t.Optional[str] = None


def preflight(
    facts: ZoneFacts, uuid: str, place: home.Home, disks: ShelvedDisks, last: t.Optional[ApiMigration] = None
) -> UnshelveDecision:
    """Judge the unshelving of one server. ``place``: its zone; ``last``: its newest migration."""
    server = home.asked_server(facts, uuid)
    if isinstance(server, Finding):
        return UnshelveDecision(gather([server]))
    rule = remedy_text("SG710", "statuses-of-unshelve", statuses=" or ".join(STATUSES))
    items = [*zones.state(server, STATUSES, rule), *([place.finding] if place.finding else [])]
    if server.host is not None:
        items += [*guest_places.by_record(server, last), *_own_host(facts, server)]
    if place.zone is None:
        return UnshelveDecision(gather([*items, *zones.hosts(facts)]), server)
    items += zones.hosts(facts, {place.zone})
    items += zones.volumes(facts, server, zone=place.zone)
    if not home.is_offloaded(server):
        return UnshelveDecision(gather(items), server, place.zone)
    items += [*zones.room(facts, server, place.zone), *_disks(server, disks)]
    known = zones.carried(facts.aggregates or [])
    if place.zone not in known and known:
        evidence = {"zone": place.zone, "zones with an aggregate": sorted(known)}
        remedy = remedy_text("SG402", "zone-of-shelved-without-aggregate")
        items.append(finding("SG402", zones.subject_of(server), evidence, remedy))
    return UnshelveDecision(gather(items), server, place.zone, place.zone if place.zone in known else None)


def _own_host(facts: ZoneFacts, server: ApiServer) -> Items:
    """SG406: a request to a host that is down waits in its queue, and is carried out whenever it comes back."""
    service = next((row for row in facts.services or [] if row.host == server.host), None)
    if service is None or service.state != "up" or service.forced_down:
        evidence = {"hosts": {server.host: ["the host's compute service is down"]}}
        yield finding("SG406", zones.subject_of(server), evidence, remedy_text("SG406", "host-of-shelved-down"))


def _disks(server: ApiServer, disks: ShelvedDisks) -> Items:
    """SG710: what the server is made from is not there. Nova sets it to ERROR without its image."""
    subject, of_image = zones.subject_of(server), server.image != ""
    if (of_image and disks.images is None) or disks.volumes is None:
        missing = ["the image that Nova made to shelve the server, or its volumes"]
        yield finding("SG709", subject, {"not read": missing}, remedy_text("SG709", "disks-of-shelved-unread"))
        return
    images = dict(disks.images or {})
    if of_image and "active" not in images.values():
        yield finding("SG710", subject, {"images": images}, remedy_text("SG710", "image-of-shelved-absent"))
    lost = {volume: status for volume, status in disks.volumes.items() if status not in RESERVED}
    if lost:
        yield finding("SG710", subject, {"volumes": lost}, remedy_text("SG710", "volumes-of-shelved-lost"))
    if of_image:
        yield Unchecked("SG508", server.id, "the run does not look for an old disk in Ceph: an audit does")
    yield Unchecked("SG523", server.id, "nothing tells what an offloaded server needs of a host: it has no domain")
