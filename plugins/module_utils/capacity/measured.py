# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Guests that must leave a dead host and hosts that could take them, as plans and checks look at them. Pure.

Built from the evidence. What the evidence does not say is a reason against a host or a guest, never a guess.
"""

from __future__ import annotations

import dataclasses
import math
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import placement
from ansible_collections.stackguard.nova.plugins.module_utils.model import releases, server_state
from ansible_collections.stackguard.nova.plugins.module_utils.model.aggregates import Rules
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import (
    ApiAggregate,
    ApiMigration,
    ApiServer,
    Bundle,
    Domain,
    EvacuationFacts,
    HostFacts,
    NumaCell,
    RbdFacts,
    RbdImage,
    ServerFlavor,
    ServerGroup,
    TargetHost,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.names import conf_host
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import EvacuationRequest

#: Small pages, KiB (x86-64 and the others that Nova's libvirt driver runs on by default).
SMALL_PAGE = 4
GIB = 1024**3

#: Server statuses that can be evacuated: vm_state ACTIVE, STOPPED or ERROR (nova/compute/api.py, evacuate; 26 to 34).
#: PAUSED, SUSPENDED and RESCUE are refused by Nova with 409.
STATUSES = ("ACTIVE", "SHUTOFF", "ERROR")

AFFINITY, ANTI_AFFINITY = "affinity", "anti-affinity"

#: Before this release the scheduler may compare a pin with the host's zone (AvailabilityZoneFilter), whether some
#: aggregate carries that zone or not.
PINS_BY_AGGREGATE = 28

power_before = server_state.power_before


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a guest does not go to a host: the code under which it would be told, and the words."""

    code: str
    text: str


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
    #: Names of the images that must be there; None: cannot be told.
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
    #: What must be reset before Nova takes it, as the operator allows it: values of :data:`requests.RESETS`.
    resets: t.Tuple[str, ...] = ()
    #: How it ran before its host died: ``running``, ``stopped``; None: not known.
    power: t.Optional[str] = None

    @property
    def reset(self) -> t.Optional[str]:
        """What must be reset, in one word for people; None: nothing."""
        return ", ".join(self.resets) or None

    @property
    def size(self) -> int:
        """All its memory, MiB."""
        return self.memory_mib + sum(cell.memory_mib for cell in self.cells)


#: NUMA node and page size in KiB.
Pages = t.Tuple[t.Optional[int], int]


@dataclasses.dataclass(frozen=True)
class Destination:
    """A host that could take guests. ``room_mib``: measured, after headroom and what is promised; None: unread."""

    host: str
    provider: str
    zone: t.Optional[str]
    room_mib: t.Optional[int]
    #: Free huge pages by NUMA node and size; None: unread.
    pages: t.Optional[t.Mapping[Pages, int]]
    free: t.Mapping[str, int]
    #: ``rbd``, ``local`` or None: unread.
    storage: t.Optional[str]
    #: Names of the images in its pool, of the instances asked for; None: unread.
    images: t.Optional[t.FrozenSet[str]]
    #: Instances whose images were asked for; empty: all.
    asked: t.FrozenSet[str] = frozenset()
    #: What keeps every guest from it.
    problems: t.Tuple[Reason, ...] = ()
    #: For people: how ``room_mib`` came about.
    account: t.Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class IncomingServer:
    """A guest that this run has sent to a host. ``needs``: of placement, where it may not hold them there yet."""

    uuid: str
    host: str
    memory_mib: int
    cells: t.Tuple[NumaCell, ...] = ()
    needs: t.Mapping[str, int] = dataclasses.field(default_factory=dict)
    #: False: how large it is was not read, so that nothing is known to be left on that host.
    known: bool = True


# --- disks ----------------------------------------------------------------------------------------------------


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
        seen = f"the server has ephemeral disks of {whole // GIB} GiB, and the flavor allows {flavor.ephemeral} GiB"
        return SpawnImages(tuple(sorted({*wanted, *names})), f"{seen}: one may be missing")
    return SpawnImages(wanted)


def images_of(rbd: t.Optional[RbdFacts], uuid: str) -> t.Optional[t.Dict[str, RbdImage]]:
    """Return the images of one instance by name; None: unread, or it was not asked for."""
    if rbd is None or rbd.images is None or (rbd.instances and uuid not in rbd.instances):
        return None
    return {image.name: image for image in rbd.images if image.name.startswith(f"{uuid}_")}


# --- memory ---------------------------------------------------------------------------------------------------

#: Domain states in which QEMU holds memory.
RUNNING = ("running", "blocked", "paused", "shutdown", "pmsuspended", "nostate")


def untouched_mib(domain: Domain) -> int:
    """Return what a running guest may still take of the host's small pages, MiB.

    Resident memory that was not read counts as none: the guest may still take everything.
    """
    if domain.state not in RUNNING or domain.hugepage_kib is not None:
        return 0
    return max(0, domain.memory_mib - (domain.rss_mib or 0))


def free_pages(facts: HostFacts) -> t.Optional[t.Dict[Pages, int]]:
    """Return free huge pages by NUMA node and size. Pages promised somewhere are taken off every node."""
    if facts.hugepages is None:
        return None
    return {(entry.numa_node, entry.size_kib): max(0, entry.free - entry.reserved) for entry in facts.hugepages}


def room(
    facts: HostFacts, request: EvacuationRequest, sent: t.Sequence[IncomingServer]
) -> t.Optional[t.Dict[str, int]]:
    """Return the account of a host's measured room, MiB: ``room`` and what it is made of; None: unread."""
    if facts.memory is None or facts.domains is None:
        return None
    reserved = (facts.nova_conf.reserved_host_memory_mb or 0) if facts.nova_conf else 0
    headroom = max(request.headroom_mib, reserved)
    untouched = sum(untouched_mib(domain) for domain in facts.domains)
    there = {domain.uuid for domain in facts.domains if domain.state in RUNNING}
    way = sum(demand_mib(entry.memory_mib, request) for entry in sent if entry.uuid not in there)
    available = facts.memory.available_mib
    return {
        "available": available,
        "headroom": headroom,
        "untouched by running guests": untouched,
        "servers in transit": way,
        "room": available - headroom - untouched - way,
    }


def demand_mib(memory_mib: int, request: EvacuationRequest) -> int:
    """Return what a guest takes of the measured memory, MiB: its small pages, and QEMU's own. Never rounded down."""
    return math.ceil(memory_mib / request.overcommit) + request.overhead_mib


# --- hosts ----------------------------------------------------------------------------------------------------


def by_nova_name(bundle: Bundle) -> t.Dict[str, HostFacts]:
    """Return host facts by what Nova calls the host: what is read on the host decides, not the inventory."""
    named = ((conf_host(facts), facts) for facts in bundle.hosts.values())
    return {name: facts for name, facts in named if name is not None}


def destinations(
    bundle: Bundle, about: EvacuationFacts, request: EvacuationRequest, sent: t.Sequence[IncomingServer] = ()
) -> t.List[Destination]:
    """Return every compute host but the source, by name, with what stands against it."""
    hosts = by_nova_name(bundle)
    found = [
        _destination(target, hosts.get(target.host), request, [entry for entry in sent if entry.host == target.host])
        for target in about.targets or []
        if target.host != request.host
    ]
    return sorted(found, key=lambda entry: entry.host)


def _destination(
    target: TargetHost, facts: t.Optional[HostFacts], request: EvacuationRequest, sent: t.Sequence[IncomingServer]
) -> Destination:
    problems = list(_state_problems(target))
    if facts is None:
        problems.append(Reason("SG709", "this host was not read"))
        free = target.free or {}
        return Destination(
            target.host, target.provider, target.zone, None, None, free, None, None, problems=tuple(problems)
        )
    account = room(facts, request, sent)
    if account is None:
        problems.append(Reason("SG709", f"its memory or its domains were not read{_why(facts, 'memory', 'domains')}"))
    pages = free_pages(facts)
    there = {domain.uuid for domain in facts.domains or []}
    unknown = sorted(entry.uuid for entry in sent if not entry.known and entry.uuid not in there)
    if unknown:
        problems.append(
            Reason("SG709", f"servers of unknown size are in transit to this host: {', '.join(unknown[:5])}")
        )
    for entry in sent:
        if pages is not None and entry.uuid not in there:
            pages = take_pages(pages, entry.cells) or dict.fromkeys(pages, 0)
    storage, images = _storage(facts)
    return Destination(
        host=target.host,
        provider=target.provider,
        zone=target.zone,
        room_mib=None if account is None else account["room"],
        pages=pages,
        free=_free(target, sent),
        storage=storage,
        images=images,
        asked=frozenset(facts.rbd.instances if facts.rbd else ()),
        problems=tuple(problems),
        account=account or {},
    )


def _free(target: TargetHost, sent: t.Sequence[IncomingServer]) -> t.Dict[str, int]:
    """Return what placement has left. What is on its way may be held there already: then too little is counted."""
    free = dict(target.free or {})
    for entry in sent:
        for name, amount in entry.needs.items():
            free[name] = free.get(name, 0) - amount
    return free


def _state_problems(target: TargetHost) -> t.Iterator[Reason]:
    if target.state != "up" or target.forced_down:
        yield Reason("SG512", "its compute service is down")
    if target.status != "enabled":
        yield Reason("SG512", f"its compute service is disabled ({target.disabled_reason or 'no reason given'})")
    if target.free is None:
        yield Reason("SG512", "placement has no inventory of this host")


def _why(facts: HostFacts, *parts: str) -> str:
    reasons = [f"{entry.part}: {entry.reason}" for entry in facts.unread if entry.part in parts]
    return f" ({'; '.join(reasons)})" if reasons else ""


def _storage(facts: HostFacts) -> t.Tuple[t.Optional[str], t.Optional[t.FrozenSet[str]]]:
    if facts.nova_conf is None:
        return None, None
    if facts.nova_conf.images_type != "rbd":
        return "local", frozenset()
    if facts.rbd is None or facts.rbd.images is None:
        return "rbd", None
    return "rbd", frozenset(image.name for image in facts.rbd.images)


def take_pages(pages: t.Mapping[Pages, int], cells: t.Sequence[NumaCell]) -> t.Optional[t.Dict[Pages, int]]:
    """Return the pages that are left after these cells, each on one NUMA node of the host; None: they do not fit.

    No two cells of a guest share a node (nova/virt/hardware.py, numa_fit_instance_to_host). The largest cell goes
    first, to the node with most free pages of its size. Nova may choose other nodes: it has the last word.
    """
    left, used = dict(pages), set()
    for cell in sorted(cells, key=lambda cell: -cell.memory_mib):
        size = cell.page_kib or SMALL_PAGE
        wanted = -(-cell.memory_mib * 1024 // size)
        fitting = [
            (count, node) for (node, kib), count in left.items() if kib == size and count >= wanted and node not in used
        ]
        if not fitting:
            return None
        node = max(fitting, key=lambda entry: (entry[0], -(entry[1] if entry[1] is not None else -1)))[1]
        used.add(node)
        left[(node, size)] -= wanted
    return left


# --- guests ---------------------------------------------------------------------------------------------------


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
    allowed = reset is not None and set(reset.needed) <= set(request.resets)
    return dataclasses.replace(
        found,
        images=None if expected is None else expected.names,
        problems=(*_guest_problems(server, expected, about, request), *found.problems),
        resets=reset.needed if reset is not None and allowed else (),
        power=power_before(server),
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
        barred=barred,
        avoided=avoided,
    )


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
        yield Reason("SG709", "the image or flavor was not read: the server's disks are not known")
    elif expected.doubt:
        yield Reason("SG504", expected.doubt)


def _state_of(server: ApiServer, request: EvacuationRequest) -> t.Iterator[Reason]:
    """What Nova refuses until it is reset, unless the operator allows that."""
    reset = server_state.reset_of(server)
    missing = [word for word in reset.needed if word not in request.resets] if reset else []
    option = f"evacuate_reset_states=[{', '.join(missing)}]"
    if server.task_state is not None and (reset is None or "task" in missing):
        way = f": {option} resets it once the host is proven dead" if missing else ", which no option resets"
        yield Reason("SG701", f"a task is in progress: {server.task_state}{way}")
    if server.status == "VERIFY_RESIZE":
        yield Reason(
            "SG710", "its resize waits for the owner: the server stays until the owner confirms or reverts the resize"
        )
    elif server.status not in (*STATUSES, *server_state.LOST_STATES):
        yield Reason("SG710", f"it is {server.status}: Nova evacuates only servers that are {', '.join(STATUSES)}")
    elif server.status in server_state.LOST_STATES and (reset is None or set(missing) - {"task"}):
        word, loss = server_state.LOST_STATES[server.status]
        yield Reason(
            "SG710",
            (
                f"it is {server.status}: with evacuate_reset_states=[{word}] the run evacuates it, and the server "
                f"loses {loss}"
            ),
        )


def _unread_of(
    server: ApiServer, zone: t.Optional[str], cells: t.Optional[t.Sequence[NumaCell]], about: EvacuationFacts
) -> t.Iterator[Reason]:
    if server.flavor is None:
        yield Reason("SG709", "the flavor was not read: the memory that the server needs is not known")
    if zone is None:
        yield Reason("SG709", "the zone of its host was not read")
    if cells is None:
        yield Reason("SG709", "the NUMA topology was not read: the page sizes that the server needs are not known")
    if about.groups is None or about.member_hosts is None:
        yield Reason("SG709", "server groups were not read")
    if about.offers is None or server.id not in about.offers:
        yield Reason("SG709", "the candidates of placement were not read")


def unguarded(guests: t.Iterable[Guest]) -> t.List[str]:
    """Return, by name, the guests without any image in Nova's pool: there is nothing to guard, all is in volumes."""
    return sorted(guest.name for guest in guests if guest.images == ())


# --- what others have sent -------------------------------------------------------------------------------------

#: Migration type to the statuses in which something is still to arrive (nova/compute/manager.py, nova/conductor;
#: 26 to 34). A resize that is finished holds its memory there until it is confirmed, whether it runs or not.
_MOVES = ("accepted", "pre-migrating", "migrating", "post-migrating", "finished", "confirming")
ARRIVING: t.Mapping[str, t.Tuple[str, ...]] = {
    "evacuation": ("accepted", "pre-migrating"),
    "live-migration": ("accepted", "queued", "preparing", "running", "post-migrating"),
    "migration": _MOVES,
    "resize": _MOVES,
}
#: Before these are over, the scheduler may not have taken placement's resources of the destination.
UNCLAIMED = ("accepted", "queued")
REVERTING = "reverting"


def in_transit(about: EvacuationFacts) -> t.List[IncomingServer]:
    """Return what every migration under way still takes of its destination, by Nova's own records, of any host.

    Whether its domain runs there already is seen when the destination is measured (:func:`destinations`): then it
    takes nothing more. One whose size was not read says so.
    """
    servers = {entry.uuid: entry for entry in about.transit or []}
    found = []
    for row in about.migrations or []:
        host = arriving_at(row)
        if host is None or row.instance_uuid is None:
            continue
        entry = servers.get(row.instance_uuid)
        if entry is None and about.transit is not None:
            # It is gone: its record was left behind, and takes nothing.
            continue
        flavor = entry.flavor if entry else None
        if entry is None or flavor is None or entry.cells is None:
            found.append(IncomingServer(row.instance_uuid, host, 0, known=False))
            continue
        huge = tuple(cell for cell in entry.cells if (cell.page_kib or SMALL_PAGE) > SMALL_PAGE)
        memory = max(0, flavor.ram - sum(cell.memory_mib for cell in huge))
        needs = taken_by(flavor, False) if row.status in UNCLAIMED else {}
        found.append(IncomingServer(row.instance_uuid, host, memory, huge, needs))
    return merge_sent(found)


def arriving_at(row: ApiMigration) -> t.Optional[str]:
    """Return the host at which a migration will end; None: it has ended, or that is not known yet."""
    if row.status == REVERTING:
        return row.source_compute
    return row.dest_compute if row.status in ARRIVING.get(row.migration_type or "", ()) else None


def merge_sent(*lists: t.Iterable[IncomingServer]) -> t.List[IncomingServer]:
    """Return these as one list: the same server to the same host counts once, with the larger numbers.

    The same server to two hosts counts at both: nobody can say which of the two is right.
    """
    found: t.Dict[t.Tuple[str, str], IncomingServer] = {}
    for entry in (entry for some in lists for entry in some):
        key = (entry.uuid, entry.host)
        other = found.get(key)
        found[key] = entry if other is None else _larger(other, entry)
    return [found[key] for key in sorted(found)]


def _larger(one: IncomingServer, other: IncomingServer) -> IncomingServer:
    if not (one.known and other.known):
        return one if one.known else other
    needs = {name: max(one.needs.get(name, 0), other.needs.get(name, 0)) for name in sorted({*one.needs, *other.needs})}
    return IncomingServer(one.uuid, one.host, max(one.memory_mib, other.memory_mib), one.cells or other.cells, needs)


def refused_by_scheduler(reason: str) -> bool:
    """Return whether Nova says that the scheduler took no host: nothing was tried there. By Nova's own words."""
    return "no valid host" in reason.casefold()
