# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that stands against adopting a host that was already renamed, all of it at once. Pure.

First it must be proven whose host it is. Then all preconditions of a rename hold, but for what the host's state itself
explains: nova-compute refuses to start, and places disagree. They are judged by the level evidence
(:mod:`adopted_names`).
"""

from __future__ import annotations

import typing as t

from ...hazards import identity, in_flight, owners
from ...model.codes.catalogue import remedy_text
from ...model.facts import Bundle
from ...model.findings import (
    BLOCKER,
    INFO,
    NO_OVERRIDE,
    Checked,
    Finding,
    Subject,
    finding,
)
from ...model.lookups import (
    ComputeNode,
    Index,
    Items,
    gather,
    migration_evidence,
    migration_subject,
    open_evacuation,
    same_name,
)
from ...model.requests import FORWARD, RenameRequest
from ...model.stored_names import name_key
from ..in_place import preflight as rename_checks
from . import adopted_names
from .adopted_names import Adoption, NotAdoptable


def preflight(bundle: Bundle, request: RenameRequest) -> t.Tuple[Checked, t.Optional[Adoption]]:
    """Return every reason against, and what was found; None: it is not proven whose host it is."""
    try:
        adoption = adopted_names.look(bundle, request)
    except NotAdoptable as refused:
        # Names that no node has: then it is not the guests who are in the wrong place.
        wrong_names = any(isinstance(item, Finding) and item.code == "SG119" for item in refused.items)
        more = [] if wrong_names else [*_guests_elsewhere(bundle, request)]
        return rename_checks.once(gather([*refused.items, *more])), None
    checked = rename_checks.preflight_rename(adoption.level, adoption.request)
    moving = gather(_moving(adoption))
    told = {item.object.id for item in moving.findings}
    kept = tuple(
        item
        for item in checked.findings
        # The host's own migration under the name that it gets: nobody else has taken the name.
        if not _explained(adoption, item) and not (item.code == "SG310" and item.object.id in told)
    )
    own = gather(
        [
            _found(adoption),
            *_both_directions(bundle, request),
            *_in_use(adoption),
            *_agents_in_use(adoption),
            *_forced_down(adoption),
            *_second_not_shown(adoption),
            *_mapped_elsewhere(adoption),
            *_network(adoption),
        ]
    )
    return rename_checks.once(own + moving + Checked(kept, checked.unchecked)), adoption


def _guests_elsewhere(bundle: Bundle, request: RenameRequest) -> Items:
    """SG108, SG132: guests that are not, or not only, where the database has them: nothing may be started before."""
    host = bundle.hosts.get(request.inventory_name)
    if host is None or host.domains is None:
        return
    index = Index(bundle)
    names = (request.rename_from, request.rename_to)
    for item in identity.domains(index, host):
        if not isinstance(item, Finding):
            continue
        if item.code == "SG108" and item.evidence["database"][1] not in names:
            yield item
        # Rows that still have the host's other name are what an adoption is for.
        if item.code == "SG132" and {item.object.host, *item.evidence["domains on"]} - set(names):
            yield item
    yield from _both_directions(bundle, request)


def _both_directions(bundle: Bundle, request: RenameRequest) -> Items:
    """SG509: guests that were evacuated from either name: a start of nova-compute would destroy what runs here."""
    index = Index(bundle)
    for place, row in index.migrations:
        # MySQL finds the source without case.
        own = any(same_name(row.source_compute, name) for name in (request.rename_from, request.rename_to))
        if open_evacuation(row) and own:
            remedy = remedy_text("SG509", "evacuated-from-adopted-host", name=row.source_compute)
            yield finding("SG509", migration_subject(row), migration_evidence(row, place), remedy, BLOCKER)


def _explained(adoption: Adoption, item: Finding) -> bool:
    """Whether a finding says only what an adoption is for."""
    wrong = item.evidence.get("wrong")
    if item.code == "SG118" and rename_checks.CURRENT in item.evidence and len(wrong or ()) == 1:
        return True
    known = {
        adoption.node.hypervisor_hostname,
        *(row.node for row in adoption.cell.instances or [] if row.host in (adoption.source.host, adoption.goal.host)),
        *(place for entry in adoption.places if entry.place == "placement" for place in entry.names),
    }
    name = adoption.goal.hypervisor_hostname
    # A row of the host has this name: what else had it would have collided with that row.
    return item.code == "SG709" and item.evidence.get(rename_checks.NOT_SEARCHED) == name and name in known


def _found(adoption: Adoption) -> Finding:
    """SG131: what each place says, and what changes."""
    request, doubts = adoption.request, _doubts(adoption)
    forward = request.adopt == FORWARD
    goal = adopted_names.NEW if forward else adopted_names.OLD
    evidence: t.Dict[str, t.Any] = {
        "goal": adoption.goal.host,
        "places": {
            place.place: f"{place.state} ({', '.join(place.names)})" if place.names else place.state
            for place in adoption.places
        },
        "changes": [place.place for place in adoption.places if place.state != goal],
    }
    if adoption.second_service is not None:
        evidence["second compute service, which the last step deletes"] = adoption.second_service.uuid
    if adoption.identity_file is not None:
        evidence["compute_id file, corrected"] = adoption.identity_file.path
    subject = Subject("host", request.inventory_name, host=request.rename_from)
    if doubts:
        evidence["why the compute node may be another machine's"] = doubts
        evidence["addresses of this machine"] = adoption.host.addresses
        evidence["address of the compute node"] = adoption.node.host_ip
        remedy = remedy_text("SG131", "machine-unproven")
        return finding("SG131", subject, evidence, remedy, BLOCKER)
    remedy = remedy_text("SG131", "machine-proven", goal=adoption.goal.host)
    return finding("SG131", subject, evidence, remedy, INFO)


def _doubts(adoption: Adoption) -> t.List[str]:
    """Why it is not known that the compute node, with either of the names, is this machine's."""
    row = adoption.node
    node = ComputeNode(row.uuid, row.host, row.hypervisor_hostname, row.hypervisor_type, f"cell {adoption.cell.name}")
    names = (adoption.source.host, adoption.goal.host)
    # Services that report themselves are SG107: see _in_use.
    whose = owners.owner(Index(adoption.found), adoption.host, node, names, services=False)
    return [*(f"{name} has an identity or a name of the compute node" for name in whose.others), *whose.doubts]


def _in_use(adoption: Adoption) -> Items:
    """SG107: a service reports itself that no nova-compute of this host reports: another machine has this name.

    One nova-compute reports one service: of two that are up, one is another machine's.
    """
    cloud, host = adoption.found.cloud, adoption.host
    reporting = {row.id for row in (cloud.services if cloud else None) or [] if row.state == "up"}
    services = [adoption.service, *([adoption.second_service] if adoption.second_service else [])]
    up = [row for row in services if row.uuid in reporting]
    runs = owners.runs_compute(host, adoption.request.compute_units)
    if not up or runs is None or (runs and len(up) == 1):
        return
    for row in up:
        subject = Subject("host", host.inventory_name, host=row.host)
        evidence = {
            "compute service": row.uuid,
            "state": "up",
            "nova-compute on this host": "running" if runs else "not running",
        }
        if len(up) > 1:
            evidence["both services are up"] = ", ".join(str(entry.host) for entry in up)
        remedy = remedy_text("SG107", "service-up-without-nova-compute")
        yield finding("SG107", subject, evidence, remedy)


def _forced_down(adoption: Adoption) -> Items:
    """SG704: somebody holds the second service down, perhaps for an evacuation. The first one's is judged anyway."""
    cloud, second = adoption.found.cloud, adoption.second_service
    for row in (cloud.services if cloud else None) or []:
        if second is not None and row.id == second.uuid and row.forced_down:
            evidence = {"second compute service": row.id, "state": row.state, "forced_down": True}
            remedy = remedy_text("SG704", "second-service-forced-down", host=row.host)
            yield finding("SG704", Subject("service", row.id, host=row.host), evidence, remedy, BLOCKER)


def _moving(adoption: Adoption) -> Items:
    """SG702, SG703: migrations of the host under the name that it gets. Its other name's are judged anyway."""
    index = Index(adoption.found)
    for place, row in index.migrations_by_host.get(name_key(str(adoption.goal.host)), []):
        if not open_evacuation(row):  # see _both_directions
            yield from in_flight.migration_items(index, place, row, BLOCKER)


def _second_not_shown(adoption: Adoption) -> Items:
    """SG301: the last step deletes the second service through the API, which must know the service."""
    cloud, second = adoption.found.cloud, adoption.second_service
    if second is None or any(row.id == second.uuid for row in (cloud.services if cloud else None) or []):
        return
    evidence = {"second compute service": second.uuid, "compute API": "no compute service with this uuid"}
    remedy = remedy_text("SG301", "api-without-second-service")
    yield finding("SG301", Subject("service", str(second.uuid), host=second.host), evidence, remedy)


def _agents_in_use(adoption: Adoption) -> Items:
    """SG107: an agent is alive under both names: one machine has one agent of a kind."""
    cloud = adoption.found.cloud
    names = {adoption.source.host, adoption.goal.host}
    alive = [row for row in (cloud.agents if cloud else None) or [] if row.alive and row.host in names]
    for agent in adoption.surplus_agents:
        same = sorted(str(row.host) for row in alive if row.binary == agent.binary)
        if len(same) > 1:
            subject = Subject("host", f"{adoption.request.inventory_name}:{agent.binary}", agent.binary, agent.host)
            remedy = remedy_text("SG107", "agent-alive-under-both-names")
            yield finding("SG107", subject, {"agent": agent.binary, "alive under": same}, remedy)


def _mapped_elsewhere(adoption: Adoption) -> Items:
    """SG302: a repeated mapping to another cell may be all that leads to a host there. No run deletes it."""
    for row in adoption.surplus_mappings:
        if row.cell_uuid != adoption.cell.uuid:
            subject = Subject("host", f"{adoption.request.inventory_name}:host mapping {row.id}", host=row.host)
            other = row.cell_name or row.cell_uuid
            evidence = {"host": row.host, "mapped to": other, "cell": adoption.cell.name}
            remedy = remedy_text(
                "SG302", "second-mapping-to-another-cell", cell=other, uuid=row.cell_uuid or "CELL", host=row.host
            )
            yield finding("SG302", subject, evidence, remedy)


def _network(adoption: Adoption) -> Items:
    """SG305, SG317: names of the network that no step can put right from the middle."""
    from_plan = adoption.request
    subject = Subject("host", f"{from_plan.inventory_name}:network", "network", from_plan.rename_from)
    if adopted_names.ovn_is_mixed(adoption):
        remedy = remedy_text("SG317", "ovn-has-both-names", name=adoption.source.host)
        places = {place.place: list(place.names) for place in adoption.places if place.place.startswith("neutron")}
        why = "the run changes OVN only from one hostname to another"
        yield finding("SG317", subject, {"part": "names", **places, NO_OVERRIDE: why}, remedy)
    elif adopted_names.needs_neutron_database(adoption):
        remedy = remedy_text("SG305", "both-names-without-database")
        evidence = {"goal": adoption.goal.host, "neutron_db_url": "not set", NO_OVERRIDE: "neutron has both names"}
        yield finding("SG305", subject, evidence, remedy)
