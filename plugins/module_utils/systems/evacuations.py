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

import datetime
import typing as t
from concurrent import futures

from ansible_collections.stackguard.nova.plugins.module_utils import evacuating, facts, moving, releases
from ansible_collections.stackguard.nova.plugins.module_utils.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems import cloud_reads, http, moves
from ansible_collections.stackguard.nova.plugins.module_utils.systems.http import COMPUTE, NETWORK, PLACEMENT

KEEP = "2.68"
STOP = "2.95"
#: Server groups of all projects, with policy and rules.
GROUPS = "2.64"
TOPOLOGY = "2.78"
#: Status, reason and forced_down in one body.
SERVICE = "2.53"
#: Required and forbidden traits; roots in the summaries.
CANDIDATES = "1.29"
#: Calls for single servers at the same time.
PARALLEL = 8

Json = t.Dict[str, t.Any]
_T = t.TypeVar("_T")


# --- reading --------------------------------------------------------------------------------------------------


def read_evacuation(
    connection: t.Any,
    cloud: facts.CloudFacts,
    host: str,
    leaving: t.Optional[t.Sequence[facts.ApiServer]] = None,
    numa: t.Optional[t.Mapping[str, t.List[facts.NumaCell]]] = None,
) -> facts.EvacuationFacts:
    """Read what decides where servers of ``host`` could go; ``cloud``: narrowed to it, read just before.

    ``leaving``: these servers instead, of whatever hosts; ``cloud`` is narrowed to all of theirs. ``numa``: what was
    read before of servers that have not moved since, whose topology stays as it is.
    Never raises for a part that cannot be read: see ``unread``.
    """
    unread: t.List[facts.Unread] = []

    def part(name: str, read: t.Callable[[], _T]) -> t.Optional[_T]:
        try:
            return read()
        except ApiError as error:
            unread.append(facts.Unread(name, error.message))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            unread.append(facts.Unread(name, f"the answer is not understood: {type(error).__name__} {error}"))
        return None

    servers = moving.guests_of(cloud, host) or [] if leaving is None else leaving
    groups = part("groups", lambda: list_groups(connection, {server.id for server in servers}))
    return facts.EvacuationFacts(
        read_at=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        host=host,
        targets=part("targets", lambda: list_targets(connection)),
        groups=groups,
        member_hosts=part("member_hosts", lambda: _member_hosts(connection, groups or [], servers)),
        numa=part("numa", lambda: _numa(connection, servers, numa or {})),
        offers=part("offers", lambda: _offers(connection, cloud, servers)),
        unread=unread,
    )


def each(things: t.Sequence[str], read: t.Callable[[str], _T]) -> t.Dict[str, _T]:
    """Read something of each thing, a few at the same time. Raises what the first that fails raises."""
    with futures.ThreadPoolExecutor(PARALLEL) as threads:
        return dict(zip(things, threads.map(read, things)))


def list_targets(connection: t.Any) -> t.List[facts.EvacuationTarget]:
    """Return every compute host with a node, by name. Three reads for the whole cloud."""
    nodes = {node.service_host: node for node in cloud_reads.list_hypervisors(connection)}
    free = moves.free_capacity(connection)
    found = []
    for item in cloud_reads.raw_services(connection):
        # A service of a cell that does not answer has no id: nothing can be sent there.
        if item.get("id") and item["host"] in nodes:
            service, node = cloud_reads.service_of(item), nodes[item["host"]]
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
    answers = each(others, lambda uuid: moves.get_server(connection, uuid))
    known.update({uuid: answer.get("OS-EXT-SRV-ATTR:host") for uuid, answer in answers.items() if answer is not None})
    return {uuid: host for uuid, host in known.items() if host}


def _numa(
    connection: t.Any, servers: t.Sequence[facts.ApiServer], known: t.Mapping[str, t.List[facts.NumaCell]]
) -> t.Dict[str, t.List[facts.NumaCell]]:
    def read(uuid: str) -> t.List[facts.NumaCell]:
        answer = http.call(connection, COMPUTE, "GET", f"/servers/{uuid}/topology", TOPOLOGY)
        page = answer["pagesize_kb"]
        return [facts.NumaCell(int(cell["memory_mb"]), page) for cell in answer["nodes"]]

    # A server without NUMA or page size in its flavor may have it from its image: each is asked, once.
    found = each([server.id for server in servers if server.id not in known], read)
    return {server.id: known[server.id] if server.id in known else found[server.id] for server in servers}


def _offers(
    connection: t.Any, cloud: facts.CloudFacts, servers: t.Sequence[facts.ApiServer]
) -> t.Dict[str, t.List[str]]:
    """Ask placement once for each kind of server."""
    needs = moving.held_by(cloud, servers)
    kinds: t.Dict[str, t.List[str]] = {}
    queries: t.Dict[str, t.Dict[str, str]] = {}
    for server in servers:
        if server.flavor is None:
            continue
        amounts = needs.get(server.id) or evacuating.of_flavor(server.flavor, bool(server.image))
        params = candidates_query(amounts, server.flavor.extra_specs or {})
        key = repr(sorted(params.items()))
        queries[key] = params
        kinds.setdefault(key, []).append(server.id)
    offered = each(sorted(queries), lambda key: _candidates(connection, queries[key]))
    return {uuid: offered[key] for key, uuids in kinds.items() for uuid in uuids}


def candidates_query(amounts: t.Mapping[str, int], specs: t.Mapping[str, str]) -> t.Dict[str, str]:
    """Return what to ask placement for: resources, and the traits that a flavor requires or forbids."""
    query = {"resources": ",".join(f"{name}:{amount}" for name, amount in sorted(amounts.items()) if amount)}
    words = {"required": "", "forbidden": "!"}
    traits = [
        f"{words[value]}{name[len('trait:') :]}"
        for name, value in sorted(specs.items())
        if name.startswith("trait:") and value in words
    ]
    return {**query, **({"required": ",".join(traits)} if traits else {})}


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


def last_evacuation(connection: t.Any, uuid: str) -> t.Optional[Json]:
    """Return a server's newest evacuation record, or None."""
    params = {"instance_uuid": uuid, "migration_type": "evacuation", "limit": 1}
    found = http.items(connection, COMPUTE, "/os-migrations", "migrations", moves.MIGRATIONS, params)
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
    items = http.pages(connection, COMPUTE, "/os-migrations", "migrations", moves.MIGRATIONS, params, marker="uuid")
    found: t.Dict[str, str] = {}
    for item in items:
        found.setdefault(str(item["instance_uuid"]), str(item["status"]))
    return found


def ports_left(connection: t.Any, host: str, servers: t.Container[str]) -> t.List[facts.ApiPort]:
    """Return the ports of these servers that are still bound to a host."""
    return [port for port in cloud_reads.list_ports(connection, host) if port.device_id in servers]


def ports_of(connection: t.Any, server: str) -> t.List[facts.ApiPort]:
    """Return a server's ports."""
    items = http.pages(connection, NETWORK, "/ports", "ports", None, {"device_id": server})
    return [cloud_reads.port_of(item) for item in items]


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
    service = moves.find_service(connection, host)
    if service is None:
        raise ApiError(f"no compute service of {host}")
    if _matches(service, body):
        return service
    http.call(connection, COMPUTE, "PUT", f"/os-services/{service.id}", SERVICE, body=body)
    service = moves.find_service(connection, host)
    if service is None or not _matches(service, body):
        raise ApiError(f"compute service of {host} is not as it was set: {service}")
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
