# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""In which zones are the hosts, and what holds the servers there? SG401 to SG405, of a whole cloud. Pure.

A host's zone is that of its aggregates (nova/availability_zones.py). Nova takes any one of several, so that servers
pinned to the other cannot be moved where they belong.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import releases
from ..model.codes.catalogue import remedy_text
from ..model.facts import Bundle, CloudFacts, ZoneFacts
from ..model.findings import (
    Checked,
    CountedOnly,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import Items, gather
from ..model.wording import NOT_LISTED
from . import volumes, zones

#: Servers show their pin since then (release 29).
PINS_SINCE = "2.96"
_PINS = ("SG401", "SG402", "SG404")


def check(bundle: Bundle, at_most: t.Optional[int] = None) -> Checked:
    """Check every host of every aggregate, and every server. ``at_most``: findings of one code on servers."""
    return gather([*_several(bundle), *_pins(bundle, at_most), *_volumes(bundle)])


def zones_of(bundle: Bundle) -> t.Optional[t.Dict[str, t.Dict[str, t.List[str]]]]:
    """Return hosts to their zones, each with the aggregates that say so; None: unread. The databases speak first."""
    databases, cloud = bundle.databases, bundle.cloud
    members: t.List[t.Tuple[t.Optional[str], t.Optional[str], str]]
    if databases is not None and databases.api is not None and databases.api.aggregate_hosts is not None:
        members = [
            (row.host, row.availability_zone, row.aggregate_name or str(row.aggregate_id))
            for row in databases.api.aggregate_hosts
        ]
    elif cloud is not None and cloud.aggregates is not None:
        members = [(host, entry.availability_zone, entry.name) for entry in cloud.aggregates for host in entry.hosts]
    else:
        return None
    found: t.Dict[str, t.Dict[str, t.List[str]]] = {}
    for host, zone, aggregate in sorted(members, key=repr):
        if host is not None and zone is not None:
            found.setdefault(host, {}).setdefault(zone, []).append(aggregate)
    return found


def _several(bundle: Bundle) -> Items:
    found = zones_of(bundle)
    if found is None:
        yield Unchecked("SG403", "all", "the aggregates were not read")
        return
    for host, several in sorted(found.items()):
        if len(several) > 1:
            remedy = remedy_text("SG403", "several-zones")
            yield finding("SG403", Subject("host", host, host=host), {"zones to aggregates": several}, remedy)


def _pins(bundle: Bundle, at_most: t.Optional[int]) -> Items:
    """SG401, SG402, SG404: no blockers here, since nothing is about to be moved."""
    why = _unread(bundle.cloud)
    if why is not None or bundle.cloud is None:
        yield from (Unchecked(code, "all", why or "") for code in _PINS)
        return
    facts = _facts(bundle.cloud)
    places = zones.Places(facts)
    found = [entry for server in facts.servers or [] for entry in zones.pinned(facts, server, places)]
    told: t.Dict[str, int] = {}
    for entry in zones.milder(found, _PINS):
        told[entry.code] = told.get(entry.code, 0) + 1
        if at_most is None or told[entry.code] <= at_most:
            yield entry
    for code, number in sorted(told.items()):
        if at_most is not None and number > at_most:
            yield CountedOnly(code, "all", f"{number - at_most} {NOT_LISTED}")


def _volumes(bundle: Bundle) -> Items:
    """SG405, by Cinder's own word of each volume's zone."""
    cloud = bundle.cloud
    servers = volumes.servers_with_volumes((cloud.servers if cloud else None) or [])
    if cloud is None or not servers:
        return
    yield from volumes.unread(bundle, "SG405", servers)
    if cloud.aggregates is None or cloud.services is None:
        yield Unchecked("SG405", "all", "the aggregates or the services were not read")
        return
    known = cloud.block_storage.by_id if cloud.block_storage else {}
    facts = dataclasses.replace(_facts(cloud), volumes={uuid: volume.zone for uuid, volume in known.items()})
    places = zones.Places(facts)
    for server in servers:
        if all(uuid in known for uuid in server.volumes):
            yield from zones.volumes(facts, server, places)


def _unread(cloud: t.Optional[CloudFacts]) -> t.Optional[str]:
    if cloud is None or cloud.servers is None or cloud.aggregates is None or cloud.services is None:
        return "the run could not read the servers, aggregates or services from the API"
    offered = cloud.compute_max_microversion
    if offered is None or releases.microversion_tuple(offered) < releases.microversion_tuple(PINS_SINCE):
        return (
            f"the API of this Nova does not offer microversion {PINS_SINCE} (release 29), which shows availability "
            "zone pins. To read the pins, run the playbook pin_servers with --check"
        )
    return None


def _facts(cloud: CloudFacts) -> ZoneFacts:
    servers = cloud.servers or []
    return ZoneFacts(
        read_at=cloud.read_at,
        compute_max_microversion=cloud.compute_max_microversion,
        services=cloud.services,
        hypervisors=None,
        aggregates=cloud.aggregates,
        members=None,
        servers=servers,
        pins={server.id: server.pinned_availability_zone for server in servers},
        pins_from="compute API",
    )
