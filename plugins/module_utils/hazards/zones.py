# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Would a move keep a server in its availability zone? SG401 to SG408. Pure.

Nova has one constraint only: the zone in the server's request spec (its pin), which the scheduler turns into placement
aggregates (C(scheduler/request_filter.py), C(map_az_to_placement_aggregate), 26 to 34). A pin to a name that no
aggregate carries adds nothing to the question, so that it counts here as no pin at all.

The zone of a host is that of its aggregates; of a host in none, the default zone that C(GET /os-services) shows.
"""

from __future__ import annotations

import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.commands import playbook, typed
from ..model.facts import (
    ApiAggregate,
    ApiServer,
    ApiService,
    ZoneFacts,
)
from ..model.findings import (
    WARNING,
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import COMPUTE, Items, gather

#: Hosts that a finding shows.
SHOWN = 20


# --- what zones there are -------------------------------------------------------------------------------------


def zones_by_host(aggregates: t.Iterable[ApiAggregate]) -> t.Dict[str, t.List[str]]:
    """Return host to the zones of its aggregates, sorted. A host in no zone's aggregate is not here."""
    found: t.Dict[str, t.Set[str]] = {}
    for aggregate in aggregates:
        for host in aggregate.hosts if aggregate.availability_zone else ():
            found.setdefault(host, set()).add(str(aggregate.availability_zone))
    return {host: sorted(zones) for host, zones in found.items()}


def carried(aggregates: t.Iterable[ApiAggregate]) -> t.Set[str]:
    """Return the zones that some aggregate carries: only these constrain anything."""
    return {aggregate.availability_zone for aggregate in aggregates if aggregate.availability_zone}


def constraint(pin: t.Optional[str], aggregates: t.Iterable[ApiAggregate]) -> t.Optional[str]:
    """Return the zone that a pin really holds a server in; None: it holds it nowhere."""
    return pin if pin is not None and pin in carried(aggregates) else None


class Places:
    """Where hosts are, looked up once for many servers."""

    def __init__(self, facts: ZoneFacts) -> None:
        #: None: the aggregates were not read.
        self.by_host = None if facts.aggregates is None else zones_by_host(facts.aggregates)
        self.carried = carried(facts.aggregates or ())
        # Of a host in no zone's aggregate Nova shows its default zone.
        self._defaults = {service.host: service.zone for service in reversed(_computes(facts))}

    def zone_of(self, host: t.Optional[str]) -> t.Optional[str]:
        """Return the one zone of a host; None: it is in two, or it cannot be told."""
        if self.by_host is None or host is None:
            return None
        zones = self.by_host.get(host, [])
        if zones:
            return zones[0] if len(zones) == 1 else None
        return self._defaults.get(host)


def zone_of(facts: ZoneFacts, host: t.Optional[str]) -> t.Optional[str]:
    """Return the one zone of a host; None: it is in two, or it cannot be told."""
    return Places(facts).zone_of(host)


def _computes(facts: ZoneFacts) -> t.List[ApiService]:
    return [service for service in facts.services or [] if service.binary == COMPUTE]


# --- hosts ----------------------------------------------------------------------------------------------------


def hosts(facts: ZoneFacts, only: t.Optional[t.Container[str]] = None) -> Items:
    """SG403 and SG408. ``only``: zones that matter; None: all."""
    if facts.aggregates is None:
        yield Unchecked("SG403", "aggregates", "the aggregates were not read")
        yield Unchecked("SG408", "aggregates", "the aggregates were not read")
        return
    for host, zones in sorted(zones_by_host(facts.aggregates).items()):
        if len(zones) > 1 and (only is None or any(zone in only for zone in zones)):
            names = sorted(item.name for item in facts.aggregates if item.availability_zone and host in item.hosts)
            remedy = remedy_text("SG403", "several-zones")
            yield finding("SG403", Subject("host", host), {"zones": zones, "aggregates": names}, remedy)
    for aggregate in facts.aggregates:
        if aggregate.availability_zone and (only is None or aggregate.availability_zone in only):
            yield from _copies(facts, aggregate)


def _copies(facts: ZoneFacts, aggregate: ApiAggregate) -> Items:
    """SG408: placement's copy of an aggregate is what the scheduler asks; Nova's is what everybody sees."""
    subject = Subject("aggregate", aggregate.uuid or str(aggregate.id), aggregate.name)
    if facts.members is None or facts.hypervisors is None or aggregate.uuid not in facts.members:
        yield Unchecked("SG408", aggregate.name, "placement's aggregates or the compute nodes were not read")
        return
    nodes: t.Dict[str, t.List[str]] = {}
    for node in facts.hypervisors:
        if node.service_host is not None:
            nodes.setdefault(node.service_host, []).append(node.id)
    there = set(facts.members[aggregate.uuid])
    for host in sorted(set(aggregate.hosts) - set(nodes)):
        yield Unchecked(
            "SG408",
            host,
            "the run did not read the host's compute node: the API hides a compute node that has no compute service "
            "or no host mapping",
        )
    lacking = sorted(host for host in aggregate.hosts if any(node not in there for node in nodes.get(host, [])))
    strange = sorted(
        host for host, ids in nodes.items() if host not in aggregate.hosts and any(node in there for node in ids)
    )
    if lacking or strange:
        evidence = {
            "zone": aggregate.availability_zone,
            "in Nova's aggregate, but not in placement's aggregate": lacking[:SHOWN],
            "in placement's aggregate, but not in Nova's aggregate": strange[:SHOWN],
        }
        remedy = remedy_text("SG408", "aggregates-differ")
        yield finding(
            "SG408", subject, evidence, remedy, commands=typed(("nova-manage", "placement", "sync_aggregates"))
        )


# --- servers --------------------------------------------------------------------------------------------------


def servers(facts: ZoneFacts) -> Items:
    """SG401, SG402, SG404 and SG405 of every server that was asked for."""
    if facts.servers is None:
        yield Unchecked("SG401", "servers", "the servers were not read")
        return
    places = Places(facts)
    for server in facts.servers:
        yield from pinned(facts, server, places)
        yield from volumes(facts, server, places)


def subject_of(server: ApiServer) -> Subject:
    """How a finding names a server."""
    return Subject("instance", server.id, server.name, server.host)


def state(server: ApiServer, statuses: t.Sequence[str], rule: str) -> Items:
    """SG701, SG703, SG710: what keeps a server from being moved. ``rule``: which statuses these are, a sentence."""
    subject = subject_of(server)
    if server.task_state is not None:
        yield finding("SG701", subject, {"task_state": server.task_state}, remedy_text("SG701", "busy-before-move"))
    if server.status == "VERIFY_RESIZE":
        yield finding("SG703", subject, {"status": server.status}, remedy_text("SG703", "resize-before-move"))
    elif server.status not in statuses:
        remedy = remedy_text("SG710", "status-unfit-for-move", statuses=" or ".join(statuses), rule=rule)
        yield finding("SG710", subject, {"status": server.status}, remedy)
    if server.locked:
        yield finding("SG710", subject, {"locked": True}, remedy_text("SG710", "locked-before-move"))


def pinned(facts: ZoneFacts, server: ApiServer, places: t.Optional[Places] = None) -> Items:
    """SG401: no pin. SG402: a pin that holds it nowhere. SG404: it is not where its pin says."""
    places = places or Places(facts)
    if places.by_host is None or facts.pins is None or server.id not in facts.pins:
        nothing = places.by_host is None
        missing = "the aggregates were not read" if nothing else "the server's request spec was not read"
        for code in ("SG401", "SG402", "SG404"):
            yield Unchecked(code, server.id, missing)
        return
    pin, zone = facts.pins[server.id], places.zone_of(server.host)
    evidence = {"pinned to": pin, "read from": facts.pins_from, "host": server.host, "zone of its host": zone}
    if pin is None:
        variable = "pin_hosts" if server.host is not None else "pin_servers"
        pins = playbook("pin_servers", server.host or server.id, variable)
        yield finding("SG401", subject_of(server), evidence, remedy_text("SG401", "unpinned"), commands=pins)
    elif pin not in places.carried:
        yield finding("SG402", subject_of(server), evidence, _ineffective(facts, str(pin), zone))
    elif server.host is not None and pin not in places.by_host.get(server.host, []):
        yield finding("SG404", subject_of(server), evidence, remedy_text("SG404", "outside-its-pin"))


def _ineffective(facts: ZoneFacts, pin: str, zone: t.Optional[str]) -> str:
    """Nova's documentation: never ask for the default zone by its name, and never give this name to an aggregate.

    The default zone has hosts and no aggregate. A zone that has neither was renamed or removed.
    """
    known = zone is not None and zone != pin
    own = remedy_text("SG402", "zone-of-host-known" if known else "zone-of-host-unknown", zone=zone)
    if is_default(facts, pin):
        if zone == pin:
            return remedy_text("SG402", "pinned-to-default-zone-of-its-host")
        return f"{own} {remedy_text('SG402', 'pinned-to-default-zone')}"
    return f"{own} {remedy_text('SG402', 'pinned-to-no-zone')}"


#: Nova's own default of default_availability_zone.
DEFAULT = "nova"


def is_default(facts: ZoneFacts, zone: str) -> bool:
    """Whether a name is that of the default zone: Nova shows it of a host that is in no zone's aggregate."""
    in_zones = zones_by_host(facts.aggregates or [])
    return zone == DEFAULT or any(row.zone == zone and row.host not in in_zones for row in _computes(facts))


def volumes(
    facts: ZoneFacts, server: ApiServer, places: t.Optional[Places] = None, zone: t.Optional[str] = None
) -> Items:
    """SG405: a volume is in another zone. One in a zone that no aggregate carries (a lone default) says nothing.

    ``zone``: the one that a server on no host is to be in.
    """
    if not server.volumes:
        return
    if facts.volumes is None or facts.aggregates is None:
        yield Unchecked("SG405", server.id, "the zones of the server's volumes, or the aggregates, were not read")
        return
    unread = sorted(volume for volume in server.volumes if volume not in facts.volumes)
    if unread:
        yield Unchecked("SG405", server.id, f"volumes that were not read: {', '.join(unread[:SHOWN])}")
    places = places or Places(facts)
    where, zone = ("zone of its host", places.zone_of(server.host)) if zone is None else ("its zone", zone)
    apart = {
        volume: facts.volumes[volume]
        for volume in server.volumes
        if facts.volumes.get(volume) in places.carried and facts.volumes[volume] != zone
    }
    if apart and zone is not None:
        remedy = remedy_text("SG405", "volume-in-another-zone")
        yield finding("SG405", subject_of(server), {where: zone, "volumes": apart}, remedy)


# --- moves ----------------------------------------------------------------------------------------------------


def against(
    facts: ZoneFacts, server: ApiServer, zone: str, same_host: bool = False
) -> t.Optional[t.Dict[str, t.List[str]]]:
    """Return, for every host of a zone, what keeps a server from it; None: that cannot be told.

    Placement was asked for no more than the scheduler asks it for: every host that Nova may choose is in its answer.
    """
    if facts.services is None or facts.hypervisors is None or facts.aggregates is None or facts.offers is None:
        return None
    offered = facts.offers.get(server.id)
    if offered is None:
        return None
    nodes: t.Dict[str, t.List[str]] = {}
    for node in facts.hypervisors:
        nodes.setdefault(str(node.service_host), []).append(node.id)
    places = Places(facts)
    return {
        service.host: list(_reasons(service, server, nodes.get(service.host, []), offered, same_host))
        for service in sorted(_computes(facts), key=lambda service: service.host)
        if places.zone_of(service.host) == zone
    }


def _reasons(
    service: ApiService, server: ApiServer, nodes: t.Sequence[str], offered: t.Container[str], same_host: bool
) -> t.Iterator[str]:
    if service.host == server.host and not same_host:
        yield "the server is already on this host, and a resize on the same host needs allow_resize_to_same_host"
    if service.state != "up" or service.forced_down:
        yield "the host's compute service is down"
    if service.status != "enabled":
        yield f"the host's compute service is disabled ({service.disabled_reason or 'no reason given'})"
    if not any(node in offered for node in nodes):
        yield "placement does not offer this host for the resources that the server needs"


def room(facts: ZoneFacts, server: ApiServer, zone: str, same_host: bool = False) -> Items:
    """SG406: no host of the zone can take the server. SG709: that cannot be told."""
    found = against(facts, server, zone, same_host)
    if found is None:
        reasons = [f"{entry.part}: {entry.reason}" for entry in facts.unread]
        evidence = {"zone": zone, "not read": reasons or ["the hosts and resources that placement offers in the zone"]}
        yield finding("SG709", subject_of(server), evidence, remedy_text("SG709", "room-of-zone-unread"))
    elif not any(not reasons for reasons in found.values()):
        shown = dict(list(found.items())[:SHOWN])
        yield finding("SG406", subject_of(server), {"zone": zone, "hosts": shown}, remedy_text("SG406", "zone-full"))


def landed(server: ApiServer, wanted: str, zone: t.Optional[str], remedy: str) -> t.Optional[Finding]:
    """SG407: after a move the server is in another zone than before. A zone that cannot be told is another one."""
    if zone == wanted:
        return None
    evidence = {"host": server.host, "zone of its host": zone, "zone before": wanted}
    return finding("SG407", subject_of(server), evidence, remedy)


#: What is wrong with zones, whatever is done there.
GENERAL = ("SG402", "SG403", "SG404", "SG408")
#: What the pin of a server settles or brings about.
OF_PINS = ("SG401", "SG402", "SG404")


def check(facts: ZoneFacts) -> Checked:
    """Everything that can be said of zones without a move: SG401 to SG405, and SG408."""
    return gather([*hosts(facts), *servers(facts)])


def milder(items: t.Iterable[t.Union[Finding, Unchecked]], codes: t.Container[str]) -> Items:
    """Return the items with some codes as warnings: an operation that handles them is not forbidden by them."""
    for item in items:
        if isinstance(item, Finding) and item.code in codes:
            yield finding(item.code, item.object, item.evidence, item.remedy, WARNING)
        else:
            yield item
