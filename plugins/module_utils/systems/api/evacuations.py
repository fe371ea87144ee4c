# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an evacuation asks of the APIs: where servers could go, what binds them, and the calls that send them.

Every call bears its microversion, chosen for what it means:

* evacuate at 2.68 keeps the power state that a server had, and knows no C(force): the scheduler checks the host that is
  named. From 2.95 the server is left stopped. Below 2.29 a host that is named would not be checked at all.
* openstacksdk's own C(evacuate_server) sends the highest microversion it knows, so 2.95 or newer: not used.
"""

from __future__ import annotations

import dataclasses
import datetime
import typing as t
from concurrent import futures

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import measured, placement
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, releases, server_state
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import host_changes, http, reads, server_moves
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.http import COMPUTE, NETWORK, PLACEMENT

KEEP = "2.68"
STOP = "2.95"
#: Server groups of all projects, with policy and rules.
GROUPS = "2.64"
TOPOLOGY = "2.78"
#: Status, reason and forced_down in one body.
SERVICE = "2.53"
#: Required and forbidden traits; roots in the summaries.
CANDIDATES = "1.29"
#: Shares of a server.
SHARES = "2.97"
#: Calls for single servers at the same time.
PARALLEL = 8
#: Statuses in which a migration may still bring a server to a host, of all types.
ARRIVING = tuple(
    sorted({status for statuses in measured.ARRIVING.values() for status in statuses} | {measured.REVERTING})
)
IMAGE, VOLUME = "image", "block_storage"
#: Image properties that decide something here begin so.
PROPERTIES = ("hw_", "os_", "trait:")

Json = t.Dict[str, t.Any]
_T = t.TypeVar("_T")


# --- reading --------------------------------------------------------------------------------------------------


def read_evacuation(
    connection: t.Any,
    cloud: facts.CloudFacts,
    host: str,
    leaving: t.Optional[t.Sequence[facts.ApiServer]] = None,
    numa: t.Optional[t.Mapping[str, t.List[facts.NumaCell]]] = None,
    known: t.Optional[facts.EvacuationFacts] = None,
) -> facts.EvacuationFacts:
    """Read what decides where servers of ``host`` could go; ``cloud``: narrowed to it, read just before.

    ``leaving``: these servers instead, of whatever hosts; ``cloud`` is narrowed to all of theirs: then what only a dead
    host's servers are asked for is left out. ``numa``: what was read before of servers that have not moved since, whose
    topology stays as it is. ``known``: an earlier reading of this operation: what cannot have changed is taken from it.
    Never raises for a part that cannot be read: see ``unread``.
    """
    unread: t.List[facts.Unread] = []

    def part(name: str, read: t.Callable[[], _T]) -> t.Optional[_T]:
        try:
            return read()
        except ApiError as error:
            unread.append(facts.Unread(name, error.message))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            unread.append(facts.Unread(name, f"the answer cannot be parsed: {type(error).__name__} {error}"))
        return None

    servers = placement.guests_of(cloud, host) or [] if leaving is None else leaving
    groups = part("groups", lambda: list_groups(connection, {server.id for server in servers}))
    migrations = part("migrations", lambda: list_arriving(connection))
    about = facts.EvacuationFacts(
        read_at=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        host=host,
        targets=part("targets", lambda: list_targets(connection)),
        groups=groups,
        member_hosts=part("member_hosts", lambda: _member_hosts(connection, groups or [], servers)),
        numa=part("numa", lambda: _numa(connection, servers, numa or (known.numa if known else None) or {})),
        offers=part("offers", lambda: _offers(connection, cloud, servers)),
        unread=unread,
        aggregates=part("aggregates", lambda: reads.list_aggregates(connection)),
        migrations=migrations,
        transit=part("transit", lambda: read_transit(connection, migrations or [], servers, known)),
    )
    if leaving is not None:
        return about
    return _about_the_dead(connection, about, cloud, servers, known, part)


class _Part(t.Protocol):
    """Reads a part, or notes why not."""

    def __call__(self, name: str, read: t.Callable[[], _T]) -> t.Optional[_T]:
        """Return what was read; None: see ``unread``."""


def _about_the_dead(
    connection: t.Any,
    about: facts.EvacuationFacts,
    cloud: facts.CloudFacts,
    servers: t.Sequence[facts.ApiServer],
    known: t.Optional[facts.EvacuationFacts],
    part: _Part,
) -> facts.EvacuationFacts:
    """Add what an evacuation costs the servers, and whether these are all."""
    before = known or about
    account = part("unlisted", lambda: account_of(connection, about.host, cloud))
    volumes = part("encrypted", lambda: _volumes(connection, servers, before.encrypted or {}))
    return dataclasses.replace(
        about,
        targets=part("targets", lambda: _counted(connection, about.targets, about.host)),
        image_properties=part(
            "image_properties",
            lambda: _properties(connection, servers, volumes or {}, before.image_properties or {}),
        ),
        shares=part("shares", lambda: _shares(connection, servers, before.shares or {})),
        accelerator_ports=part("accelerator_ports", lambda: _accelerators(connection, servers)),
        encrypted=None if volumes is None else _encrypted(servers, volumes, before.encrypted or {}),
        unlisted=None if account is None else account.unlisted,
        soft_deleted=None if account is None else account.soft_deleted,
        cells_down=None if account is None else account.cells_down,
    )


def _counted(
    connection: t.Any, targets: t.Optional[t.Sequence[facts.EvacuationTarget]], host: str
) -> t.Optional[t.List[facts.EvacuationTarget]]:
    """Say of each other host that is down how many still hold something of it."""
    if targets is None:
        return None
    down = {
        target.provider
        for target in targets
        if target.host != host and (target.state != "up" or target.forced_down) and target.status == "disabled"
    }
    held = each(sorted(down), lambda provider: server_moves.provider_consumers(connection, provider))
    counts = {provider: len(consumers or ()) for provider, consumers in held.items()}
    return [dataclasses.replace(target, consumers=counts.get(target.provider)) for target in targets]


# --- what others have sent


def list_arriving(connection: t.Any) -> t.List[facts.ApiMigration]:
    """Return every migration of the cloud that may still bring a server to a host. One list for each status."""
    found: t.Dict[int, facts.ApiMigration] = {}
    for status in ARRIVING:
        for row in reads.list_migrations(connection, status):
            if measured.arriving_at(row) is not None:
                found[row.id] = row
    return [found[key] for key in sorted(found)]


def read_transit(
    connection: t.Any,
    migrations: t.Sequence[facts.ApiMigration],
    servers: t.Sequence[facts.ApiServer],
    known: t.Optional[facts.EvacuationFacts] = None,
) -> t.List[facts.Transit]:
    """Return what the servers of these migrations are; one that is gone takes nothing, and is not here."""
    before = {entry.uuid: entry for entry in (known.transit if known else None) or [] if entry.flavor and entry.cells}
    here = {server.id: server for server in servers}

    def read(uuid: str) -> t.Optional[facts.Transit]:
        if uuid in before:
            return before[uuid]
        try:
            flavor = here[uuid].flavor if uuid in here else None
            if flavor is None:
                answer = server_moves.get_server(connection, uuid)
                if answer is None:
                    return None
                flavor = reads.flavor_of(answer.get("flavor"))
            return facts.Transit(uuid, flavor, _cells(connection, uuid))
        except ApiError:
            # One of them, in a cell that does not answer, must not hide all others: its size is not known.
            return facts.Transit(uuid, None)

    uuids = sorted({row.instance_uuid for row in migrations if row.instance_uuid})
    return [entry for entry in each(uuids, read).values() if entry is not None]


# --- is the list complete?


@dataclasses.dataclass(frozen=True)
class Account:
    """Who is on a host, by more than one source."""

    #: Uuids that the list of the host's servers has.
    listed: t.List[str]
    #: Consumers of its resource providers that no list explains, each with what Nova says of it.
    unlisted: t.Dict[str, str]
    #: Soft-deleted servers: uuid to name.
    soft_deleted: t.Dict[str, str]
    #: Hosts whose cell does not answer, and uuids of servers of which Nova shows only that they exist.
    cells_down: t.List[str]

    @property
    def empty(self) -> bool:
        """Whether nobody is on the host, by all sources."""
        return not (self.listed or self.unlisted or self.soft_deleted or self.cells_down)


def account_of(connection: t.Any, host: str, cloud: t.Optional[facts.CloudFacts] = None) -> Account:
    """Return who is on a host by Nova's lists, by placement, and by what Nova says of cells that do not answer.

    Nova leaves the servers of such a cell out of every list that is filtered or paged, and lists no soft-deleted ones.
    ``cloud``: narrowed to the host, read just before; None: read now. Raises :class:`ApiError`.
    """
    servers = None if cloud is None else placement.guests_of(cloud, host)
    listed = [server.id for server in (server_moves.servers_on(connection, host) if servers is None else servers)]
    down = [str(item["host"]) for item in reads.raw_services(connection) if not item.get("id")]
    records = http.items(connection, COMPUTE, "/servers", "servers", reads.SERVICES, {"all_tenants": "1"})
    down += [str(item["id"]) for item in records if item.get("status") == "UNKNOWN"]
    deleted = _soft_deleted(connection, host)
    strange = sorted(_consumers(connection, host, cloud) - set(listed) - set(deleted))
    said = each(strange, lambda uuid: _explained(connection, uuid, host))
    unlisted = {uuid: why for uuid, why in said.items() if why is not None}
    return Account(sorted(listed), unlisted, deleted, sorted(down))


def _soft_deleted(connection: t.Any, host: str) -> t.Dict[str, str]:
    """Only a list of deleted servers has them (db/main/api.py, instance_get_all_by_filters_sort)."""
    params = {"all_tenants": "1", "host": host, "deleted": "True", "status": "SOFT_DELETED"}
    items = http.pages(connection, COMPUTE, "/servers/detail", "servers", server_moves.SERVERS, params)
    return {str(item["id"]): str(item.get("name") or "") for item in items if item.get("status") == "SOFT_DELETED"}


def _consumers(connection: t.Any, host: str, cloud: t.Optional[facts.CloudFacts]) -> t.Set[str]:
    """Return who holds anything of the host's provider tree. A host without a node has no provider of its own."""
    if cloud is not None and cloud.providers is not None and cloud.hypervisors is not None:
        roots = [node.id for node in cloud.hypervisors if node.service_host == host]
        return {uuid for root in roots for uuid in placement.needs_of(cloud, root)}
    found: t.Set[str] = set()
    for node in reads.list_hypervisors(connection):
        if node.service_host == host:
            for provider in reads.list_providers(connection, in_tree=node.id):
                found |= set(server_moves.provider_consumers(connection, provider.uuid) or ())
    return found


def _explained(connection: t.Any, uuid: str, host: str) -> t.Optional[str]:
    """Return what is wrong with a consumer that no list of the host's servers has; None: there is a good reason."""
    try:
        answer = http.call(connection, COMPUTE, "GET", f"/servers/{uuid}", reads.SERVICES)["server"]
    except ApiError as error:
        if error.data.get("status") != 404:
            return error.message
        # A migration holds what its server has left behind, or would come back to.
        params = {"host": host, "limit": 1000}
        rows = http.pages(
            connection, COMPUTE, "/os-migrations", "migrations", server_moves.MIGRATIONS, params, marker="uuid"
        )
        if any(row.get("uuid") == uuid for row in rows):
            return None
        return "no server and no migration has this uuid"
    if answer.get("status") == "UNKNOWN":
        return "its cell does not answer"
    if answer.get("OS-EXT-SRV-ATTR:host") == host:
        return f"Nova shows the server on {host} ({answer.get('status')}), but not in the list of that host's servers"
    return None


# --- what a server loses, and what Nova refuses


def _volumes(
    connection: t.Any, servers: t.Sequence[facts.ApiServer], known: t.Mapping[str, t.Any]
) -> t.Dict[str, t.List[Json]]:
    """Return the volumes of each server that has any, as cinder shows them, but for servers known before."""
    wanted = {server.id: server.volumes for server in servers if server.volumes and server.id not in known}
    found = each(
        sorted({volume for volumes in wanted.values() for volume in volumes}),
        lambda uuid: http.call(connection, VOLUME, "GET", f"/volumes/{uuid}")["volume"],
    )
    return {uuid: [found[volume] for volume in volumes] for uuid, volumes in wanted.items()}


def _encrypted(
    servers: t.Sequence[facts.ApiServer],
    volumes: t.Mapping[str, t.Sequence[Json]],
    known: t.Mapping[str, t.List[str]],
) -> t.Dict[str, t.List[str]]:
    read = {uuid: [str(row["id"]) for row in rows if row.get("encrypted")] for uuid, rows in volumes.items()}
    return {server.id: read.get(server.id, known.get(server.id, [])) for server in servers}


def _properties(
    connection: t.Any,
    servers: t.Sequence[facts.ApiServer],
    volumes: t.Mapping[str, t.Sequence[Json]],
    known: t.Mapping[str, t.Dict[str, str]],
) -> t.Dict[str, t.Dict[str, str]]:
    """Return the properties of each server's image: Glance's, or those that its boot volume was made with.

    Nova keeps a copy of its own, which no API shows before microversion 2.98; an image that is gone is unread.
    """
    images = sorted({server.image for server in servers if server.image and server.id not in known})
    read = each(images, lambda image: _image(connection, image))
    found = {server.id: known[server.id] for server in servers if server.id in known}
    for server in servers:
        image = read.get(server.image) if server.image else None
        if server.id not in found and image is not None:
            found[server.id] = image
        for volume in volumes.get(server.id, ()) if server.image == "" else ():
            if volume.get("bootable") in ("true", True):
                found.setdefault(server.id, _wanted(volume.get("volume_image_metadata") or {}))
    return found


def _image(connection: t.Any, uuid: str) -> t.Optional[t.Dict[str, str]]:
    try:
        return _wanted(http.call(connection, IMAGE, "GET", f"/images/{uuid}"))
    except ApiError as error:
        if error.data.get("status") == 404:
            return None
        raise


def _wanted(properties: Json) -> t.Dict[str, str]:
    return {
        str(key): str(value)
        for key, value in properties.items()
        if str(key).startswith(PROPERTIES) and isinstance(value, (str, int, bool))
    }


def _shares(connection: t.Any, servers: t.Sequence[facts.ApiServer], known: t.Mapping[str, int]) -> t.Dict[str, int]:
    """Return how many shares each server has; none where this Nova knows no shares.

    ``known`` stays as it was: a share is attached and detached by the server's own nova-compute.
    """
    offered = http.max_microversion(connection, COMPUTE)
    if releases.microversion_tuple(offered) < releases.microversion_tuple(SHARES):
        return {server.id: 0 for server in servers}

    def read(uuid: str) -> int:
        return len(http.items(connection, COMPUTE, f"/servers/{uuid}/shares", "shares", SHARES))

    found = each([server.id for server in servers if server.id not in known], read)
    return {server.id: known[server.id] if server.id in known else found[server.id] for server in servers}


def _accelerators(connection: t.Any, servers: t.Sequence[facts.ApiServer]) -> t.List[str]:
    uuids, found = [server.id for server in servers], set()
    for start in range(0, len(uuids), reads.PORT_DEVICES):
        devices = uuids[start : start + reads.PORT_DEVICES]
        params = {"fields": ["id", "device_id", "binding:vnic_type"], "device_id": devices}
        for port in http.pages(connection, NETWORK, "/ports", "ports", None, params):
            if port.get("binding:vnic_type") in server_state.ACCELERATORS:
                found.add(str(port["device_id"]))
    return sorted(found)


def each(things: t.Sequence[str], read: t.Callable[[str], _T]) -> t.Dict[str, _T]:
    """Read something of each thing, a few at the same time. Raises what the first that fails raises."""
    with futures.ThreadPoolExecutor(PARALLEL) as threads:
        return dict(zip(things, threads.map(read, things)))


def list_targets(connection: t.Any) -> t.List[facts.EvacuationTarget]:
    """Return every compute host with a node, by name. Three reads for the whole cloud."""
    nodes = {node.service_host: node for node in reads.list_hypervisors(connection)}
    free = server_moves.free_capacity(connection)
    found = []
    for item in reads.raw_services(connection):
        # A service of a cell that does not answer has no id: nothing can be sent there.
        if item.get("id") and item["host"] in nodes:
            service, node = reads.service_of(item), nodes[item["host"]]
            found.append(
                facts.EvacuationTarget(
                    host=service.host,
                    node=node.hypervisor_hostname,
                    provider=node.id,
                    zone=service.zone,
                    state=service.state,
                    status=service.status,
                    forced_down=service.forced_down,
                    free=free.get(node.id),
                    disabled_reason=service.disabled_reason,
                    host_ip=node.host_ip,
                )
            )
    return sorted(found, key=lambda target: target.host)


def list_groups(connection: t.Any, members: t.Container[str]) -> t.List[facts.ServerGroup]:
    """Return the server groups, of all projects, that have one of these members. The API pages by offset."""
    found: t.List[facts.ServerGroup] = []
    offset = 0
    for _page in range(http.MAX_PAGES):
        params = {"all_projects": "True", "limit": http.PAGE, "offset": offset}
        page = http.items(connection, COMPUTE, "/os-server-groups", "server_groups", GROUPS, params)
        found += [_group(item) for item in page if any(member in members for member in item["members"])]
        offset += len(page)
        if not page:
            return sorted(found, key=lambda group: group.id)
    raise ApiError(f"GET compute /os-server-groups: more than {http.MAX_PAGES} pages")


def _group(item: t.Mapping[str, t.Any]) -> facts.ServerGroup:
    limit = (item.get("rules") or {}).get("max_server_per_host")
    return facts.ServerGroup(
        item["id"], item.get("policy"), None if limit is None else int(limit), sorted(item["members"])
    )


def _member_hosts(
    connection: t.Any, groups: t.Sequence[facts.ServerGroup], servers: t.Sequence[facts.ApiServer]
) -> t.Dict[str, str]:
    known = {server.id: server.host for server in servers}
    others = sorted({member for group in groups for member in group.members} - set(known))
    answers = each(others, lambda uuid: server_moves.get_server(connection, uuid))
    known.update({uuid: answer.get("OS-EXT-SRV-ATTR:host") for uuid, answer in answers.items() if answer is not None})
    return {uuid: host for uuid, host in known.items() if host}


def _numa(
    connection: t.Any, servers: t.Sequence[facts.ApiServer], known: t.Mapping[str, t.List[facts.NumaCell]]
) -> t.Dict[str, t.List[facts.NumaCell]]:
    # A server without NUMA or page size in its flavor may have it from its image: each is asked, once.
    found = each([server.id for server in servers if server.id not in known], lambda uuid: _cells(connection, uuid))
    return {server.id: known[server.id] if server.id in known else found[server.id] for server in servers}


def _cells(connection: t.Any, uuid: str) -> t.List[facts.NumaCell]:
    answer = http.call(connection, COMPUTE, "GET", f"/servers/{uuid}/topology", TOPOLOGY)
    page = answer["pagesize_kb"]
    return [facts.NumaCell(int(cell["memory_mb"]), page) for cell in answer["nodes"]]


def _offers(
    connection: t.Any, cloud: facts.CloudFacts, servers: t.Sequence[facts.ApiServer]
) -> t.Dict[str, t.List[str]]:
    """Ask placement once for each kind of server."""
    needs = placement.held_by(cloud, servers)
    kinds: t.Dict[str, t.List[str]] = {}
    queries: t.Dict[str, t.Dict[str, str]] = {}
    for server in servers:
        if server.flavor is None:
            continue
        specs = server.flavor.extra_specs or {}
        amounts = needs.get(server.id)
        if not amounts or measured.granular(specs):
            # What is allocated does not say which of it belongs to which group.
            amounts = measured.of_flavor(server.flavor, bool(server.image))
        params = scheduled(candidates_query(amounts, specs))
        key = repr(sorted(params.items()))
        queries[key] = params
        kinds.setdefault(key, []).append(server.id)
    offered = each(sorted(queries), lambda key: _candidates(connection, queries[key]))
    return {uuid: offered[key] for key, uuids in kinds.items() for uuid in uuids}


def candidates_query(amounts: t.Mapping[str, int], specs: t.Mapping[str, str]) -> t.Dict[str, str]:
    """Return what to ask placement for: resources, the traits that a flavor requires or forbids, numbered groups.

    Groups with a word instead of a number are left out: the answer is wider then, and the scheduler has the last word.
    """
    query = {"resources": _amounts(amounts), **_traits("", specs)}
    groups = {suffix: held for suffix, held in measured.granular(specs).items() if suffix.isdigit()}
    for suffix, held in groups.items():
        query.update({f"resources{suffix}": _amounts(held), **_traits(suffix, specs)})
    return {**query, **({"group_policy": specs.get("group_policy", "none")} if groups else {})}


def scheduled(query: t.Mapping[str, str]) -> t.Dict[str, str]:
    """Return the same question without hosts that the scheduler passes over.

    nova-compute takes the trait off some time after its service is enabled, up to a minute
    (nova/scheduler/request_filter.py compute_status_filter, nova/compute/manager.py, 26 to 34).
    """
    traits = [f"!{host_changes.DISABLED_TRAIT}", *filter(None, query.get("required", "").split(","))]
    return {**query, "required": ",".join(traits)}


def _amounts(amounts: t.Mapping[str, int]) -> str:
    return ",".join(f"{name}:{amount}" for name, amount in sorted(amounts.items()) if amount)


def _traits(suffix: str, specs: t.Mapping[str, str]) -> t.Dict[str, str]:
    words, head = {"required": "", "forbidden": "!"}, f"trait{suffix}:"
    traits = [
        f"{words[value]}{name[len(head) :]}"
        for name, value in sorted(specs.items())
        if name.startswith(head) and value in words
    ]
    return {f"required{suffix}": ",".join(traits)} if traits else {}


def _candidates(connection: t.Any, params: t.Mapping[str, str]) -> t.List[str]:
    answer = http.call(connection, PLACEMENT, "GET", "/allocation_candidates", CANDIDATES, params=params)
    roots = {uuid: summary.get("root_provider_uuid") or uuid for uuid, summary in answer["provider_summaries"].items()}
    return sorted(
        {roots.get(uuid, uuid) for request in answer["allocation_requests"] for uuid in request["allocations"]}
    )


# --- sending --------------------------------------------------------------------------------------------------


def evacuate(connection: t.Any, uuid: str, host: str, target_state: str = "keep") -> None:
    """Ask for a server's evacuation to a host that the scheduler checks. Raises :class:`ApiError`.

    ``target_state``: C(keep), or C(stopped), which needs microversion 2.95 (release 27).
    """
    version = STOP if target_state == "stopped" else KEEP
    offered = http.max_microversion(connection, COMPUTE)
    if releases.microversion_tuple(offered) < releases.microversion_tuple(version):
        raise ApiError(f"this Nova offers microversion {offered}, an evacuation with {target_state} needs {version}")
    body = {"evacuate": {"host": host}}
    http.call(connection, COMPUTE, "POST", f"/servers/{uuid}/action", version, body=body)


def reset_state(connection: t.Any, uuid: str) -> facts.ApiServer:
    """Make Nova take a server for ACTIVE, without a task: only one whose host is proven dead. Returns it as read back.

    C(os-resetState) writes vm_state and task_state and touches nothing else: the power state stays as it was last seen.
    From then on Nova takes the server's evacuation. Raises :class:`ApiError`, also where it is not so afterwards.
    """
    body = {"os-resetState": {"state": "active"}}
    http.call(connection, COMPUTE, "POST", f"/servers/{uuid}/action", server_moves.SERVERS, body=body)
    server = server_moves.server_as_listed(connection, uuid)
    if server is None:
        raise ApiError(f"server {uuid} no longer exists after its state was reset")
    if server.status != "ACTIVE" or server.task_state is not None:
        raise ApiError(f"server {uuid} is {server.status} ({server.task_state}) after its state was reset to active")
    return server


def list_actions(connection: t.Any, uuid: str) -> t.List[Json]:
    """Return a server's instance actions, the newest first: for :func:`evacuating.power_before`."""
    return http.items(
        connection, COMPUTE, f"/servers/{uuid}/os-instance-actions", "instanceActions", server_moves.INSTANCE_ACTIONS
    )


def last_evacuation(connection: t.Any, uuid: str) -> t.Optional[Json]:
    """Return a server's newest evacuation record, or None."""
    params = {"instance_uuid": uuid, "migration_type": "evacuation", "limit": 1}
    found = http.items(connection, COMPUTE, "/os-migrations", "migrations", server_moves.MIGRATIONS, params)
    return found[0] if found else None


def records(
    connection: t.Any, source: str, since: t.Optional[str] = None, status: t.Optional[str] = None
) -> t.Dict[str, str]:
    """Return by server the status of its newest evacuation record from a host.

    ``since``: ISO 8601, by Nova's clock: of those that changed since then; ``status``: of those with this status. Nova
    lists the newest first, and leaves a record out of the changes that was made and not touched again (C(updated_at) is
    empty; db/main/api.py, migration_get_all_by_filters).
    """
    params = {"source_compute": source, "migration_type": "evacuation"}
    params.update({"changes-since": since} if since else {})
    params.update({"status": status} if status else {})
    items = http.pages(
        connection, COMPUTE, "/os-migrations", "migrations", server_moves.MIGRATIONS, params, marker="uuid"
    )
    found: t.Dict[str, str] = {}
    for item in items:
        found.setdefault(str(item["instance_uuid"]), str(item["status"]))
    return found


def ports_left(connection: t.Any, host: str, servers: t.Container[str]) -> t.List[facts.ApiPort]:
    """Return the ports of these servers that are still bound to a host."""
    return [port for port in reads.list_ports(connection, host) if port.device_id in servers]


def hold_down(connection: t.Any, host: str, reason: str) -> facts.ApiService:
    """Disable a host's compute service with a reason, and force it down: in one request. Returns it as read back.

    Raises :class:`ApiError` where there is no such service, or it is not so afterwards.
    """
    return _set_service(connection, host, {"status": "disabled", "disabled_reason": reason, "forced_down": True})


def let_up(connection: t.Any, host: str, status: str, reason: t.Optional[str]) -> facts.ApiService:
    """Take the force from a compute service, and give it back the status that it had."""
    body: Json = {"status": status, "forced_down": False}
    return _set_service(connection, host, {**body, **({"disabled_reason": reason} if reason else {})})


def _set_service(connection: t.Any, host: str, body: Json) -> facts.ApiService:
    service = server_moves.find_service(connection, host)
    if service is None:
        raise ApiError(f"no compute service of {host}")
    if _matches(service, body):
        return service
    http.call(connection, COMPUTE, "PUT", f"/os-services/{service.id}", SERVICE, body=body)
    service = server_moves.find_service(connection, host)
    if service is None or not _matches(service, body):
        raise ApiError(f"compute service of {host} has changed since it was set: {service}")
    return service


def _matches(service: facts.ApiService, body: Json) -> bool:
    return (service.status, service.forced_down, service.disabled_reason) == (
        body["status"],
        body["forced_down"],
        body.get("disabled_reason"),
    )


def stop(connection: t.Any, uuid: str) -> None:
    """Ask Nova to stop a server. Raises :class:`ApiError`; one that is stopped already is none."""
    try:
        http.call(connection, COMPUTE, "POST", f"/servers/{uuid}/action", KEEP, body={"os-stop": None})
    except ApiError as error:
        # 409: it is not ACTIVE (any more), or a task of it is in progress; the next look shows.
        if error.data.get("status") != 409:
            raise


def give_back(connection: t.Any, host: str, before: t.Mapping[str, t.Any]) -> facts.ApiService:
    """Give a compute service what it had before: C(status), C(reason) and C(forced_down). Returns it as read back."""
    body: Json = {"status": before["status"], "forced_down": bool(before["forced_down"])}
    if before["status"] == "disabled" and before.get("reason"):
        body["disabled_reason"] = before["reason"]
    return _set_service(connection, host, body)
