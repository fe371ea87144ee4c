# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The servers of a dead host, before the fence: who they are, what each loses, and whether these are all. Pure.

SG519 and SG520 are warnings: the evacuation is right, and its price is said before anything is touched. SG709 says who
is on the host by one source and not by another: a list that lacks somebody looks like one that is complete.
"""

from __future__ import annotations

import typing as t

from ..capacity.leaving_guests import Guest
from ..capacity.planner import Assignments
from ..hazards import volumes
from ..hazards.in_flight import MASAKARI
from ..model import server_state
from ..model.codes.catalogue import remedy_text
from ..model.facts import ApiServer, Bundle, EvacuationFacts
from ..model.findings import (
    BLOCKER,
    INFO,
    WARNING,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import OURS, Items
from ..model.requests import EvacuationRequest

#: Parts of what an evacuation asks the APIs without which somebody could be forgotten, or memory promised twice.
NEEDED = {
    "migrations": (
        "other operations may have sent servers to the same hosts, so the run could assign the same memory twice"
    ),
    "transit": (
        "the run does not know the flavors of the servers that other operations are moving, so the run could assign "
        "the same memory of a destination twice"
    ),
    "unlisted": "the server list may be incomplete",
}
#: Parts that only say more, to the code that cannot be decided without them.
WANTED = {
    "aggregates": "SG512",
    "image_properties": "SG519",
    "encrypted": "SG519",
    "shares": "SG710",
    "accelerator_ports": "SG710",
    "soft_deleted": "SG519",
    "cells_down": "SG709",
    "cells": "SG512",
}
#: Words by which automation says that it is at work on a host, in its service's reason.
AUTOMATION = ("masakari", "instanceha", "kdump")
#: Words by which it says that it is not any more.
ENDED = ("complete", "failed")


def check(
    bundle: Bundle,
    about: EvacuationFacts,
    request: EvacuationRequest,
    leaving: t.Sequence[Guest],
    assignments: Assignments,
) -> Items:
    """Return everything that is to be said of the servers and of whoever else may evacuate them."""
    yield from accounted(about, request)
    yield from undecided(about, request)
    servers = {server.id: server for server in (bundle.cloud.servers if bundle.cloud else None) or []}
    assigned = {assignment.uuid for assignment in assignments.assigned}
    for guest in leaving:
        server = servers.get(guest.uuid)
        if server is not None:
            yield from _losses(server, guest, about, request, guest.uuid in assigned)
            yield from _unread(server, about)
            yield from _service(server)
    yield from _volumes(bundle, about, [servers[guest.uuid] for guest in leaving if guest.uuid in servers])
    yield from last_resort(leaving, assignments, request.host)
    yield from automation(bundle, about, request)


# --- are these all? -------------------------------------------------------------------------------------------


def accounted(about: EvacuationFacts, request: EvacuationRequest) -> Items:
    """SG709: somebody holds resources of the host and is in no list, or the second source could not be read."""
    reasons = {entry.part: entry.reason for entry in about.unread}
    subject = Subject("host", request.host)
    for part in sorted(NEEDED):
        if part in reasons and getattr(about, part) is None:
            evidence = {"not read": f"{part}: {reasons[part]}", "so": NEEDED[part]}
            yield finding("SG709", subject, evidence, remedy_text("SG709", "evacuation-apis-unread"))
    for uuid, said in sorted((about.unlisted or {}).items()):
        remedy = remedy_text("SG709", "holder-not-listed", server=uuid)
        evidence = {"placement": "the server has allocations on this host", "Nova says": said}
        yield finding("SG709", Subject("instance", uuid, None, request.host), evidence, remedy)
    for uuid, said in sorted((about.coming or {}).items()):
        evidence = {"placement": "the server has allocations on this host", "Nova says": said}
        remedy = remedy_text("SG329", "server-may-come", host=request.host)
        yield finding("SG329", Subject("instance", uuid, None, request.host), evidence, remedy, WARNING)
    if request.host in (about.cells_down or ()):
        yield finding("SG709", subject, {"cell": "does not answer"}, remedy_text("SG709", "cell-of-source-down"))
    for uuid, name in sorted((about.soft_deleted or {}).items()):
        evidence = {"status": "SOFT_DELETED", "lost": "the server stays on the dead host, with its disks in the pool"}
        remedy = remedy_text("SG519", "soft-deleted", server=uuid)
        yield finding("SG519", Subject("instance", uuid, name, request.host), evidence, remedy)


def undecided(about: EvacuationFacts, request: EvacuationRequest) -> Items:
    """Return what could not be decided for parts that were not read."""
    for entry in about.unread:
        if entry.part in WANTED and getattr(about, entry.part) is None:
            yield Unchecked(WANTED[entry.part], request.host, f"{entry.part}: {entry.reason}")
    if about.cells is None and about.several_cells and all(entry.part != "cells" for entry in about.unread):
        why = (
            "cells: the cloud has more than one cell, and the run does not know the cell of each host. Nova evacuates "
            "a server only within the server's cell. Set nova_api_db_url"
        )
        yield Unchecked("SG512", request.host, why)
    if about.cells is not None and about.cells.get(request.host.casefold()) is None:
        yield Unchecked("SG512", request.host, "cells: the API database maps the host to no cell")
    others = sorted(word for word in about.cells_down or () if word != request.host)
    if others:
        yield Unchecked("SG709", request.host, f"a cell does not answer: {', '.join(others[:10])}")


# --- each of them ---------------------------------------------------------------------------------------------


def _losses(
    server: ApiServer, guest: Guest, about: EvacuationFacts, request: EvacuationRequest, assigned: bool
) -> Items:
    """SG519: what the evacuation costs this server."""
    lost = server_state.losses(server, about, request.target_state) if assigned else []
    reset = server_state.reset_of(server) if guest.resets else None
    if reset is not None:
        lost = [*reset.losses, *lost]
    if not lost:
        return
    evidence: t.Dict[str, t.Any] = {"lost": lost, "power state before": guest.power or "not known"}
    remedy = remedy_text("SG519", "loses")
    if reset is not None:
        evidence["reset"] = list(reset.needed)
        remedy = remedy_text("SG519", "loses-by-reset")
    yield finding("SG519", Subject("instance", server.id, server.name, server.host), evidence, remedy)


def _unread(server: ApiServer, about: EvacuationFacts) -> Items:
    """Parts that were read, but not of this server."""
    if about.image_properties is not None and server.id not in about.image_properties:
        yield Unchecked("SG519", server.id, "the image properties were not read (UEFI, virtual TPM)")
    if about.shares is not None and server.id not in about.shares:
        yield Unchecked("SG710", server.id, "the server's manila shares were not read")


def _service(server: ApiServer) -> Items:
    """SG520: somebody else replaces this server sooner than it could be evacuated."""
    if server_state.amphora(server):
        evidence = {"made by": "Octavia", "project": server.project_id}
        remedy = remedy_text("SG520", "amphora", server=server.id)
        yield finding("SG520", Subject("instance", server.id, server.name, server.host), evidence, remedy)


def last_resort(leaving: t.Sequence[Guest], assignments: Assignments, host: str) -> Items:
    """SG512, as a warning: only a host is left that the scheduler may refuse."""
    guests = {guest.uuid: guest for guest in leaving}
    for assignment in assignments.assigned:
        guest = guests.get(assignment.uuid)
        if guest is not None and assignment.host in guest.avoided:
            evidence = {"host": assignment.host, "the scheduler may refuse this host": guest.avoided[assignment.host]}
            remedy = remedy_text("SG512", "only-avoided-host-left")
            yield finding("SG512", Subject("instance", guest.uuid, guest.name, host), evidence, remedy, WARNING)


# --- their volumes --------------------------------------------------------------------------------------------


def _volumes(bundle: Bundle, about: EvacuationFacts, servers: t.Sequence[ApiServer]) -> Items:
    """SG405, SG524 to SG526: what Cinder says of the volumes. That it was not asked, or does not say, is undecided."""
    with_volumes = volumes.servers_with_volumes(servers)
    yield from volumes.unread(bundle, "SG526", with_volumes)
    storage = bundle.cloud.block_storage if bundle.cloud else None
    if storage is None or storage.volumes is None:
        return
    yield from volumes.not_ready(storage, with_volumes)
    yield from volumes.left(storage, with_volumes)
    yield from volumes.after_failed_spawn(storage, with_volumes)
    zones = {item.availability_zone for item in about.aggregates or [] if item.availability_zone}
    for server in with_volumes:
        where = {uuid: storage.by_id[uuid].zone for uuid in server.volumes if uuid in storage.by_id}
        apart = {uuid: zone for uuid, zone in where.items() if zone in zones and zone != server.availability_zone}
        if apart:
            evidence = {"zone of its host": server.availability_zone, "volumes": apart}
            subject = Subject("instance", server.id, server.name, server.host)
            yield finding("SG405", subject, evidence, remedy_text("SG405", "volume-in-another-zone"))


# --- who else -------------------------------------------------------------------------------------------------


def automation(bundle: Bundle, about: EvacuationFacts, request: EvacuationRequest) -> Items:
    """SG708: Masakari or InstanceHA is there; a blocker where it is at work on this very host.

    Not asked any more once the host is fenced: then this operation holds its service.
    """
    if request.fence is not None:
        return
    subject = Subject("host", request.host)
    cloud = bundle.cloud
    if cloud is None or cloud.catalog is None:
        yield Unchecked("SG708", request.host, "the service catalogue was not read")
    elif MASAKARI in cloud.catalog:
        yield finding("SG708", subject, {"catalogue": MASAKARI}, remedy_text("SG708", "masakari-at-evacuation"))
    for target in about.targets or []:
        reason = target.disabled_reason or ""
        if target.host != request.host or reason.startswith(OURS):
            continue
        words = reason.casefold()
        if any(word in words for word in AUTOMATION):
            ended = any(word in words for word in ENDED) and "detected" not in words
            remedy = remedy_text("SG708", "recovery-ended" if ended else "recovery-runs")
            evidence = {"disabled_reason": reason}
            yield finding("SG708", subject, evidence, remedy, INFO if ended else BLOCKER)
