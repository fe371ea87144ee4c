# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Guests that must leave a host, as plans and checks look at them. Pure.

Built from the evidence. What the evidence does not say is a reason against a guest, never a guess.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import releases, server_state
from ..model.aggregates import Rules
from ..model.facts import (
    ApiAggregate,
    ApiServer,
    Bundle,
    EvacuationFacts,
    NumaCell,
    RbdFacts,
    RbdImage,
    ServerFlavor,
    ServerGroup,
)
from ..model.requests import EvacuationRequest
from . import placement

#: Small pages, KiB (x86-64 and the others that Nova's libvirt driver runs on by default).
SMALL_PAGE = 4
GIB = 1024**3

#: Server statuses that can be evacuated: vm_state ACTIVE, STOPPED or ERROR (nova/compute/api.py, evacuate; 26 to 34).
#: PAUSED, SUSPENDED and RESCUE are refused by Nova with 409.
STATUSES = ("ACTIVE", "SHUTOFF", "ERROR")

#: Before this release the scheduler may compare a pin with the host's zone (AvailabilityZoneFilter), whether some
#: aggregate carries that zone or not.
PINS_BY_AGGREGATE = 28

power_before = server_state.power_before


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a guest does not go to a host: the code of the finding, and the words.

    ``certain``: no override passes it. ``remedy``: what to do, where a code has one for each reason.
    """

    code: str
    text: str
    certain: bool = False
    remedy: str = ""

    def passed(self, codes: t.Container[str]) -> bool:
        """Whether overrides of these codes pass it."""
        return self.code in codes and not self.certain


@dataclasses.dataclass(frozen=True)
class Guest:
    """A server that leaves. Memory in MiB."""

    uuid: str
    name: str
    status: str
    #: Of small pages; guests of huge pages need only QEMU's own.
    memory_mib: int
    #: Cells that need huge pages.
    cells: t.Tuple[NumaCell, ...]
    #: Where it must stay; None: anywhere.
    zone: t.Optional[str]
    groups: t.Tuple[ServerGroup, ...]
    #: Resource class to amount, as its allocation holds on the source.
    needs: t.Mapping[str, int]
    #: Names of the images that must be there; None: not known.
    images: t.Optional[t.Tuple[str, ...]]
    #: Root providers that placement offers; None: unread.
    offers: t.Optional[t.FrozenSet[str]]
    #: What makes it impossible to decide anything, or keeps it from moving at all.
    problems: t.Tuple[Reason, ...] = ()
    #: The living host that it is on; None: on the host that all others leave too, which is no destination.
    source: t.Optional[str] = None
    #: Hosts to which it must not go for what their aggregates say, and those that come last; each with the reason.
    barred: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    avoided: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Hosts that cannot run it, or of which that is unknown, each with the reasons; the other: where it moves cold.
    unfit: t.Mapping[str, t.Tuple[Reason, ...]] = dataclasses.field(default_factory=dict)
    unfit_cold: t.Mapping[str, t.Tuple[Reason, ...]] = dataclasses.field(default_factory=dict)
    #: What must be reset before Nova takes it, as the operator allows it: values of :data:`requests.RESETS`.
    resets: t.Tuple[str, ...] = ()
    #: How it ran before its host died: ``running``, ``stopped``; None: not known.
    power: t.Optional[str] = None
    #: Whether some host sees an image of it in Ceph.
    in_ceph: bool = False

    @property
    def reset(self) -> t.Optional[str]:
        """What must be reset, in one word for people; None: nothing."""
        return ", ".join(self.resets) or None

    @property
    def size(self) -> int:
        """All its memory, MiB."""
        return self.memory_mib + sum(cell.memory_mib for cell in self.cells)


@dataclasses.dataclass(frozen=True)
class SpawnImages:
    """The images that a server's spawn looks for; ``doubt``: why the list is not certain."""

    names: t.Tuple[str, ...]
    doubt: t.Optional[str] = None


def expected_images(server: ApiServer, present: t.Optional[t.Mapping[str, RbdImage]]) -> t.Optional[SpawnImages]:
    """Return the images whose absence lets a failed spawn delete them all; None: flavor or image were not read.

    C(virt/libvirt/driver.py) C(_create_image): root unless the server boots from a volume, every ephemeral disk, swap.
    A config drive is not counted there. One ephemeral disk of the flavor's whole size is the usual case; how else the
    ephemeral space was split only Nova's block device records say, so anything else is in doubt unless the images
    that are there make up the whole.
    """
    flavor = server.flavor
    if flavor is None or server.image is None:
        return None
    root = (f"{server.id}_disk",) if server.image else ()
    # C(driver_block_device): a flavor with swap always makes a swap disk.
    swap = (f"{server.id}_disk.swap",) if flavor.swap else ()
    ephemeral = _ephemerals(server.id, flavor, present or {})
    return SpawnImages(root + ephemeral.names + swap, ephemeral.doubt)


def _ephemerals(uuid: str, flavor: ServerFlavor, present: t.Mapping[str, RbdImage]) -> SpawnImages:
    if not flavor.ephemeral:
        return SpawnImages(())
    names = [name for name in present if name.startswith(f"{uuid}_disk.eph") or name == f"{uuid}_disk.local"]
    sizes = [present[name].size for name in names]
    whole = sum(size or 0 for size in sizes)
    if not names:
        return SpawnImages((f"{uuid}_disk.eph0",))
    wanted = tuple(f"{uuid}_disk.eph{index}" for index in range(len(names)))
    if names == [f"{uuid}_disk.local"]:
        wanted = (f"{uuid}_disk.local",)
    if None in sizes or whole < flavor.ephemeral * GIB:
        seen = f"the server's ephemeral disks have {whole // GIB} GiB, but the flavor requires {flavor.ephemeral} GiB"
        return SpawnImages(tuple(sorted({*wanted, *names})), f"{seen}. An ephemeral disk may be missing")
    return SpawnImages(wanted)


def images_of(rbd: t.Optional[RbdFacts], uuid: str) -> t.Optional[t.Dict[str, RbdImage]]:
    """Return the images of one instance by name; None: unread, or it was not asked for."""
    if rbd is None or rbd.images is None or (rbd.instances and uuid not in rbd.instances):
        return None
    return {image.name: image for image in rbd.images if image.name.startswith(f"{uuid}_")}


def guests(bundle: Bundle, about: EvacuationFacts, request: EvacuationRequest) -> t.Optional[t.List[Guest]]:
    """Return the servers that leave, in the order in which they do; None: the servers were not read."""
    cloud = bundle.cloud
    if cloud is None:
        return None
    servers = placement.guests_of(cloud, request.host)
    if servers is None:
        return None
    source = placement.zone_of(cloud, request.host)
    needs = placement.held_by(cloud, servers)
    present = _images_by_server(bundle)
    aggregates = about.aggregates if about.aggregates is not None else cloud.aggregates
    zones = _Zones(source, aggregates, pins_by_aggregate(bundle))
    rules = Rules(about.aggregates)
    chosen = [server for server in servers if request.servers is None or server.id in request.servers]
    found = [
        _guest(server, zones.of(server), needs.get(server.id), present.get(server.id, {}), about, request, rules)
        for server in chosen
    ]
    return in_order(found, request.order)


class _Zones:
    """Where servers must stay, asked once for many."""

    def __init__(
        self, zone: t.Optional[str], aggregates: t.Optional[t.Sequence[ApiAggregate]], by_aggregate: bool
    ) -> None:
        self._zone = zone
        #: None: a pin counts, whatever carries it.
        self._carried = None
        if aggregates is not None and by_aggregate:
            self._carried = {entry.availability_zone for entry in aggregates}

    def of(self, server: ApiServer) -> t.Optional[str]:
        """Return the zone that a server must stay in: its pin, unless that holds it nowhere; else that of its host."""
        pin = server.pinned_availability_zone
        if pin and (self._carried is None or pin in self._carried):
            return pin
        return self._zone


def pins_by_aggregate(bundle: Bundle) -> bool:
    """Return whether a pin binds by placement's aggregates only, so that one which none carries holds nothing.

    So it is from release 28. The microversion does not tell 27 and 28 apart: what runs on the hosts does, where all of
    them say it. Not known: it is not so.
    """
    offered = bundle.cloud.compute_max_microversion if bundle.cloud else None
    possible = releases.of_microversion(offered)
    if possible is None:
        return False
    if min(possible) >= PINS_BY_AGGREGATE:
        return True
    running = {releases.of_package(facts.nova_version) for facts in bundle.hosts.values()}
    known = [release for release in running if release is not None]
    return (
        bool(known)
        and len(known) == len(running)
        and min(known) >= PINS_BY_AGGREGATE
        and max(possible) >= PINS_BY_AGGREGATE
    )


def in_order(found: t.Iterable[Guest], order: t.Sequence[str] = ()) -> t.List[Guest]:
    """Return guests as they are assigned: those that are named first, the others by size, the largest first."""
    rank = {uuid: index for index, uuid in enumerate(order)}
    return sorted(found, key=lambda guest: (rank.get(guest.uuid, len(rank)), -guest.size, guest.name, guest.uuid))


def _images_by_server(bundle: Bundle) -> t.Dict[str, t.Dict[str, RbdImage]]:
    """Every image that some host sees, by its server: only ephemeral disks' count and sizes are looked at here."""
    found: t.Dict[str, t.Dict[str, RbdImage]] = {}
    for facts in bundle.hosts.values():
        for image in (facts.rbd.images if facts.rbd is not None else None) or []:
            found.setdefault(image.name.partition("_")[0], {})[image.name] = image
    return found


def _guest(
    server: ApiServer,
    zone: t.Optional[str],
    needs: t.Optional[t.Mapping[str, int]],
    present: t.Mapping[str, RbdImage],
    about: EvacuationFacts,
    request: EvacuationRequest,
    rules: Rules,
) -> Guest:
    expected = expected_images(server, present)
    found = guest_of(server, zone, needs, about, rules)
    reset = server_state.reset_of(server)
    allowed = reset is not None and set(reset.needed) <= set(request.resets) and not _waits(server, request)
    return dataclasses.replace(
        found,
        images=None if expected is None else expected.names,
        problems=(*_guest_problems(server, expected, about, request), *found.problems),
        resets=reset.needed if reset is not None and allowed else (),
        power=power_before(server),
        in_ceph=bool(present),
    )


def guest_of(
    server: ApiServer,
    zone: t.Optional[str],
    needs: t.Optional[t.Mapping[str, int]],
    about: EvacuationFacts,
    rules: t.Optional[Rules] = None,
) -> Guest:
    """Return a server as one that leaves, with what is unread as its problems; without its images.

    ``rules``: of ``about.aggregates``, made once where there are many servers.
    """
    flavor = server.flavor
    cells = None if about.numa is None else about.numa.get(server.id)
    huge = tuple(cell for cell in cells or () if (cell.page_kib or SMALL_PAGE) > SMALL_PAGE)
    offers = None if about.offers is None else about.offers.get(server.id)
    hosts = [target.host for target in about.targets or []]
    properties = server_state.properties_of(server, about)
    barred, avoided = (Rules(about.aggregates) if rules is None else rules).against(server, hosts, properties)
    return Guest(
        uuid=server.id,
        name=server.name,
        status=server.status,
        memory_mib=max(0, (flavor.ram if flavor else 0) - sum(cell.memory_mib for cell in huge)),
        cells=huge,
        zone=zone,
        groups=tuple(group for group in about.groups or [] if server.id in group.members),
        needs=dict(needs or (taken_by(flavor, bool(server.image)) if flavor else {})),
        images=(),
        offers=None if offers is None else frozenset(offers),
        problems=tuple(_unread_of(server, zone, cells, about)),
        barred={**barred, **_in_other_cells(server.host, hosts, about)},
        avoided=avoided,
    )


def _in_other_cells(source: t.Optional[str], hosts: t.Sequence[str], about: EvacuationFacts) -> t.Dict[str, str]:
    """Hosts to which Nova moves no server of this one, because they are in another cell, each with the reason."""
    known = about.cells or {}
    own = known.get((source or "").casefold())
    if own is None:
        return {}
    others = [host for host in hosts if known.get(host.casefold()) != own]
    return dict.fromkeys(others, "the host is in another cell, and Nova does not move servers between cells")


def of_flavor(flavor: ServerFlavor, root: bool) -> t.Dict[str, int]:
    """Return what the scheduler asks placement for (nova/scheduler/utils.py, ResourceRequest), zeros left out.

    Extra specs may say otherwise (C(resources:VCPU=0)), and add classes. Numbered groups are asked for apart.
    """
    disk = (flavor.disk if root else 0) + flavor.ephemeral + -(-flavor.swap // 1024)
    amounts = {"VCPU": flavor.vcpus, "MEMORY_MB": flavor.ram, "DISK_GB": disk}
    for name, value in (flavor.extra_specs or {}).items():
        if name.startswith("resources:") and value.isdigit():
            amounts[name.partition(":")[2]] = int(value)
    return {name: amount for name, amount in amounts.items() if amount}


def taken_by(flavor: ServerFlavor, root: bool) -> t.Dict[str, int]:
    """Return all that a server of a flavor takes of a host: with its numbered groups."""
    amounts = of_flavor(flavor, root)
    for classes in granular(flavor.extra_specs or {}).values():
        for resource, amount in classes.items():
            amounts[resource] = amounts.get(resource, 0) + amount
    return amounts


def granular(specs: t.Mapping[str, str]) -> t.Dict[str, t.Dict[str, int]]:
    """Return the numbered groups that a flavor asks for: suffix to resource class to amount."""
    groups: t.Dict[str, t.Dict[str, int]] = {}
    for name, value in sorted(specs.items()):
        head, _colon, resource = name.partition(":")
        suffix = head[len("resources") :]
        if head.startswith("resources") and suffix and resource and value.isdigit():
            groups.setdefault(suffix, {})[resource] = int(value)
    return groups


def _guest_problems(
    server: ApiServer, expected: t.Optional[SpawnImages], about: EvacuationFacts, request: EvacuationRequest
) -> t.Iterator[Reason]:
    yield from _state_of(server, request)
    for text in server_state.refusals(server, about):
        yield Reason("SG710", text)
    if expected is None:
        yield Reason("SG709", "the image or the flavor was not read, so the disks of the server are not known")
    elif expected.doubt:
        yield Reason("SG504", expected.doubt)


def _waits(server: ApiServer, request: EvacuationRequest) -> bool:
    """Whether the request behind a server's task may still wait for the dead host, so that no reset ends it."""
    return server.task_state in server_state.WAITING_TASKS and not request.queue_read


def _state_of(server: ApiServer, request: EvacuationRequest) -> t.Iterator[Reason]:
    """What Nova refuses until it is reset, unless the operator allows that."""
    reset = server_state.reset_of(server)
    missing = [word for word in reset.needed if word not in request.resets] if reset else []
    option = f"evacuate_reset_states=[{', '.join(missing)}]"
    if reset is not None and "task" not in missing and _waits(server, request):
        yield Reason(
            "SG701",
            (
                f"a task of the server is in progress: {server.task_state}. The run does not reset this task, because "
                "the request of the task may wait in RabbitMQ until nova-compute of the dead host starts again. The "
                "finding SG329 shows why the run could not remove this request"
            ),
        )
    elif server.task_state is not None and (reset is None or "task" in missing):
        way = (
            f". With {option}, the run resets the server's task state as soon as it has proof that the host is dead"
            if missing
            else ". This collection has no option that resets this task"
        )
        yield Reason("SG701", f"a task of the server is in progress: {server.task_state}{way}")
    if server.status == "VERIFY_RESIZE":
        yield Reason(
            "SG710",
            "the server's owner must confirm or revert the resize before the run can evacuate the server",
        )
    elif server.status in server_state.TASK_STATUSES and server.task_state in server_state.LOST_TASKS:
        # Its task says it all: with the task, the status goes.
        return
    elif server.status not in (*STATUSES, *server_state.LOST_STATES):
        yield Reason(
            "SG710",
            f"the server is {server.status}, but Nova evacuates only servers in these states: {', '.join(STATUSES)}",
        )
    elif server.status in server_state.LOST_STATES and (reset is None or set(missing) - {"task"}):
        word, loss = server_state.LOST_STATES[server.status]
        yield Reason(
            "SG710",
            (
                f"the server is {server.status}. With evacuate_reset_states=[{word}], the run evacuates the server, "
                f"but the server loses {loss}"
            ),
        )


def _unread_of(
    server: ApiServer, zone: t.Optional[str], cells: t.Optional[t.Sequence[NumaCell]], about: EvacuationFacts
) -> t.Iterator[Reason]:
    if server.flavor is None:
        yield Reason("SG709", "the flavor was not read, so the memory that the server needs is not known")
    if zone is None:
        yield Reason("SG709", "the zone of the server's host was not read")
    if cells is None:
        yield Reason("SG709", "the NUMA topology was not read, so the page sizes that the server needs are not known")
    if about.groups is None or about.member_hosts is None:
        yield Reason("SG709", "the server groups were not read")
    if about.offers is None or server.id not in about.offers:
        yield Reason("SG709", "the allocation candidates of placement were not read")


def unguarded(guests: t.Iterable[Guest]) -> t.List[str]:
    """Return, by name, the guests without any image in Nova's pool: there is nothing to guard, all is in volumes."""
    return sorted(guest.name for guest in guests if guest.images == ())
