# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers as Nova shows them: listed, one by one, with locks, shares and topology.

Nova leaves the servers of a cell that does not answer out of every list that is paged, sorted or filtered, and says
nothing (api/openstack/compute/servers.py, _is_cell_down_supported). Who needs a complete list asks
:func:`list_servers`.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model import facts, releases
from ...model.errors import ApiError
from ...model.wording import one_line
from . import compute_services, flavors, http

Json = t.Dict[str, t.Any]
Item = t.Mapping[str, t.Any]

#: Allocations of a consumer, with its project.
ALLOCATIONS = "1.12"
#: Servers without what newer releases add.
SERVERS = "2.53"
#: pinned_availability_zone (29 and newer).
PIN_SHOWN = "2.96"
#: NUMA cells of a server.
TOPOLOGY = "2.78"
#: Shares of a server.
SHARES = "2.97"
#: Locks with a reason, shown and filtered by.
LOCKS = "2.73"
#: Silent hosts that a message names.
SHOWN = 10


class NotShownError(ApiError):
    """Nova does not show a server, and nothing proves that it is deleted."""


class SilentCellError(ApiError):
    """A cell did not answer: a list of servers lacks the cell's servers."""


@dataclasses.dataclass(frozen=True)
class ServerList:
    """What Nova listed. ``silent``: hosts, and uuids of servers, whose cell did not answer before, during or after."""

    servers: t.List[facts.ApiServer]
    silent: t.List[str]

    def complete(self) -> t.List[facts.ApiServer]:
        """Return the servers. Raises :class:`SilentCellError` where some may be missing."""
        if self.silent:
            raise SilentCellError(silence(self.silent))
        return self.servers


def silence(silent: t.Sequence[str]) -> str:
    """Say which cells did not answer."""
    more = f" and {len(silent) - SHOWN} more" if len(silent) > SHOWN else ""
    return f"a cell does not answer, so Nova's list of servers is incomplete: {', '.join(silent[:SHOWN])}{more}"


def list_servers(
    connection: t.Any,
    microversion: str,
    hosts: t.Sequence[str] = (),
    whole: bool = False,
    expected: t.Collection[str] = (),
) -> ServerList:
    """Return the servers of all projects, on these hosts or everywhere, and which cells did not answer.

    ``whole``: as of :func:`server_of`. ``expected``: uuids of servers by another source, read just before: what the
    list lacks is asked for singly, and its cell did not answer if Nova knows it. Asked for the whole cloud, every cell
    must answer; asked for hosts, theirs: one that Nova does not know may be in any cell.
    """
    before = compute_services.raw_services(connection)
    found = [
        # Of a whole cloud the flavors and metadata of a million servers would only be carried about.
        server_of(item, whole=whole or bool(hosts))
        for host in hosts or (None,)
        for item in _paged(connection, {"host": host} if host else {}, microversion)
    ]
    after = compute_services.raw_services(connection)
    silent = {*_silent(before, hosts), *_silent(after, hosts)}
    lacking = sorted(set(expected) - {server.id for server in found})
    left_out = http.each(lacking, lambda uuid: _left_out(connection, uuid))
    silent |= {uuid for uuid in lacking if left_out[uuid]}
    return ServerList(found, sorted(silent))


def _left_out(connection: t.Any, uuid: str) -> bool:
    """Whether this is a server that a list should have. A consumer of placement may be a migration, too."""
    try:
        item = raw_server(connection, uuid)
    except ApiError:
        return True
    return item is not None and item.get("status") != "SOFT_DELETED"


def _paged(connection: t.Any, params: t.Mapping[str, str], microversion: str) -> t.Iterator[Json]:
    given = {"all_tenants": "1", **params}
    return http.pages(connection, http.COMPUTE, "/servers/detail", "servers", microversion, given)


def _silent(services: t.Sequence[Item], hosts: t.Sequence[str]) -> t.Set[str]:
    silent = compute_services.silent_hosts(services)
    if not hosts or not silent:
        return silent
    wanted = {host.casefold() for host in hosts}
    known = {str(item["host"]).casefold() for item in services}
    return {name for name in silent if name.casefold() in wanted} | (silent if wanted - known else set())


def server_of(item: Item, whole: bool = False) -> facts.ApiServer:
    """Build a server. In a cell that does not answer only id, project and C(UNKNOWN) are known.

    ``whole``: with flavor, image, config drive and metadata.
    """
    image = item.get("image")
    return facts.ApiServer(
        id=item["id"],
        name=one_line(item.get("name") or ""),
        project_id=item.get("tenant_id"),
        status=item["status"],
        host=item.get("OS-EXT-SRV-ATTR:host"),
        hypervisor_hostname=item.get("OS-EXT-SRV-ATTR:hypervisor_hostname"),
        task_state=item.get("OS-EXT-STS:task_state"),
        vm_state=item.get("OS-EXT-STS:vm_state"),
        power_state=item.get("OS-EXT-STS:power_state"),
        availability_zone=item.get("OS-EXT-AZ:availability_zone"),
        locked=item.get("locked"),
        pinned_availability_zone=item.get("pinned_availability_zone"),
        volumes=[volume["id"] for volume in item.get("os-extended-volumes:volumes_attached") or ()],
        flavor=flavors.flavor_of(item.get("flavor")) if whole else None,
        image=(image["id"] if isinstance(image, dict) else image) if whole else None,
        config_drive=bool(item["config_drive"]) if whole and "config_drive" in item else None,
        metadata=item.get("metadata") if whole else None,
    )


def servers_on(connection: t.Any, host: str) -> t.List[facts.ApiServer]:
    """Return every server of a host, of whatever project. Raises :class:`SilentCellError`."""
    return list_servers(connection, SERVERS, [host]).complete()


def servers_since(connection: t.Any, host: t.Optional[str], since: t.Optional[str]) -> t.List[facts.ApiServer]:
    """Return the servers, of one host or of all, that changed since then, the deleted among them.

    ``since``: ISO 8601, by Nova's clock; None: all that exist. The caller asks singly for each server that the list
    lacks: servers of a cell that does not answer are not in it.
    """
    params = {**({"host": host} if host else {}), **({"changes-since": since} if since else {})}
    return [server_of(item) for item in _paged(connection, params, SERVERS)]


def server_as_listed(connection: t.Any, uuid: str) -> t.Optional[facts.ApiServer]:
    """Return one server as the lists have it, or None where it is gone."""
    item = raw_server(connection, uuid)
    return None if item is None else server_of(item)


def raw_server(connection: t.Any, uuid: str) -> t.Optional[Json]:
    """Return one server as the API says, or None where it is gone."""
    answer = http.get_or_none(connection, http.COMPUTE, f"/servers/{uuid}", SERVERS)
    return None if answer is None else t.cast("Json", answer["server"])


def servers_microversion(connection: t.Any) -> str:
    """Return the microversion that servers are read with: one that shows pins, where there is one."""
    return releases.lower_microversion(PIN_SHOWN, http.max_microversion(connection, http.COMPUTE))


def whole_server(connection: t.Any, uuid: str) -> t.Optional[facts.ApiServer]:
    """Return one server with its flavor, and its pin where this Nova shows it; None: there is none."""
    answer = http.get_or_none(connection, http.COMPUTE, f"/servers/{uuid}", servers_microversion(connection))
    return None if answer is None else server_of(answer["server"], whole=True)


def named_servers(connection: t.Any, name: str) -> t.List[str]:
    """Return the uuids of all servers of that very name. Raises :class:`SilentCellError`: there may be more.

    Nova's filter is a regular expression, in any case.
    """
    before = compute_services.raw_services(connection)
    params = {"all_tenants": "1"}
    items = list(http.pages(connection, http.COMPUTE, "/servers", "servers", servers_microversion(connection), params))
    silent = _silent(before, ()) | _silent(compute_services.raw_services(connection), ())
    if silent:
        raise SilentCellError(silence(sorted(silent)))
    return sorted(item["id"] for item in items if item["name"] == name)


def is_running(connection: t.Any, uuid: str) -> bool:
    """Whether nova-compute finds a guest running at this moment, whatever status Nova shows. Raises :class:`ApiError`.

    Diagnostics ask the driver for the power state first, and refuse with 409 unless it is running: a paused guest, too
    (compute/manager.py, get_instance_diagnostics; read in 34).
    """
    try:
        answer = http.get_or_none(connection, http.COMPUTE, f"/servers/{uuid}/diagnostics", SERVERS)
    except ApiError as error:
        if error.data.get("status") == 409:
            return False
        raise
    return answer is not None


def is_deleted(connection: t.Any, uuid: str) -> bool:
    """Whether Nova has the record of a deleted server. False: it has none, or its row is archived.

    A 404 alone is no proof: another cloud and another project's credentials answer the same.
    """
    items = _paged(connection, {"deleted": "True", "uuid": uuid}, SERVERS)
    return any(item["id"] == uuid and item.get("status") == "DELETED" for item in items)


def is_gone(connection: t.Any, uuid: str) -> bool:
    """Whether a server that Nova does not show is deleted. Raises :class:`ApiError`: not an administrator.

    The caller knows that this is the server's own cloud (lifecycle.refuse_other_cloud): another one has no trace of the
    server either. Either Nova still has the record of the deleted server. Or that row is archived, and placement has no
    allocations of the server: one that is on a host has some until it is deleted (compute/manager.py,
    _complete_deletion). Both answers are for administrators only.
    """
    if is_deleted(connection, uuid):
        return True
    return not http.call(connection, http.PLACEMENT, "GET", f"/allocations/{uuid}", ALLOCATIONS)["allocations"]


def existing_server(connection: t.Any, uuid: str) -> t.Optional[facts.ApiServer]:
    """Return one server with its flavor and pin; None: its owner deleted it. Raises :class:`NotShownError`."""
    server = whole_server(connection, uuid)
    if server is not None:
        return None if server.status in ("DELETED", "SOFT_DELETED") else server
    try:
        if is_gone(connection, uuid):
            return None
        why = "has no record that the server was deleted"
    except ApiError as error:
        if error.data.get("status") != 403:
            raise
        why = f"the OpenStack user of the run has no permission to see whether the server was deleted ({error})"
    raise NotShownError(
        f"Nova does not show server {uuid}, and {why}. Verify that the credentials belong to an administrator of the "
        "server's cloud"
    )


def soft_deleted(connection: t.Any, host: str) -> t.Dict[str, str]:
    """Return the soft-deleted servers of a host, uuid to name.

    Only a list of deleted servers has them (db/main/api.py, instance_get_all_by_filters_sort)."""
    items = _paged(connection, {"host": host, "deleted": "True", "status": "SOFT_DELETED"}, SERVERS)
    return {
        str(item["id"]): one_line(str(item.get("name") or "")) for item in items if item.get("status") == "SOFT_DELETED"
    }


def shares_of(connection: t.Any, servers: t.Sequence[facts.ApiServer], known: t.Mapping[str, int]) -> t.Dict[str, int]:
    """Return how many shares each server has; none where this Nova knows no shares.

    ``known`` stays as it was: a share is attached and detached by the server's own nova-compute.
    """
    offered = http.max_microversion(connection, http.COMPUTE)
    if releases.microversion_tuple(offered) < releases.microversion_tuple(SHARES):
        return {server.id: 0 for server in servers}

    def read(uuid: str) -> int:
        return len(http.items(connection, http.COMPUTE, f"/servers/{uuid}/shares", "shares", SHARES))

    found = http.each([server.id for server in servers if server.id not in known], read)
    return {server.id: known[server.id] if server.id in known else found[server.id] for server in servers}


def numa_cells(connection: t.Any, uuid: str) -> t.List[facts.NumaCell]:
    """Return the NUMA cells of a server, each with its page size, KiB; None: no size was asked for."""
    answer = http.call(connection, http.COMPUTE, "GET", f"/servers/{uuid}/topology", TOPOLOGY)
    page = answer["pagesize_kb"]
    return [facts.NumaCell(int(cell["memory_mb"]), page) for cell in answer["nodes"]]


def guest_states(connection: t.Any, hosts: t.Iterable[str], uuids: t.Iterable[str] = ()) -> t.List[facts.GuestState]:
    """Return the servers of these hosts, of whatever project, and those of ``uuids``, wherever they are now.

    A paged list leaves out every server of a cell that does not answer (nova/compute/multi_cell_list.py), and those
    that are soft-deleted: what of ``uuids`` it lacks is asked for singly. One that is gone is left out. Raises ApiError
    where Nova does not know a server's state.
    """
    found: t.Dict[str, facts.GuestState] = {}
    for host in hosts:
        found.update({guest.uuid: guest for guest in _listed(connection, {"host": host})})
    missing = sorted(set(uuids) - set(found))
    singly = http.each(missing, lambda uuid: _single(connection, uuid))
    found.update({uuid: guest for uuid, guest in singly.items() if guest is not None})
    return [found[uuid] for uuid in sorted(found)]


def locked_for(connection: t.Any, reason: str) -> t.List[facts.GuestState]:
    """Return the servers that are locked for this very reason, wherever they are, of the cells that answer."""
    return [guest for guest in _listed(connection, {"locked": "true"}) if guest.reason == reason]


def _listed(connection: t.Any, params: t.Mapping[str, str]) -> t.List[facts.GuestState]:
    return [_state(row) for row in _paged(connection, params, LOCKS)]


def _single(connection: t.Any, uuid: str) -> t.Optional[facts.GuestState]:
    answer = http.get_or_none(connection, http.COMPUTE, f"/servers/{uuid}", LOCKS)
    return None if answer is None else _state(answer["server"])


def _state(row: t.Mapping[str, t.Any]) -> facts.GuestState:
    # A server of a cell that does not answer is shown with little more than its uuid (2.69; views/servers.py).
    if "locked" not in row or "OS-EXT-STS:task_state" not in row:
        raise ApiError(
            f"Nova does not know the state of server {row['id']}: the cell of this server does not answer",
            problem="unknown-server",
        )
    return facts.GuestState(
        row["id"],
        one_line(row.get("name") or ""),
        row.get("OS-EXT-SRV-ATTR:host"),
        row["OS-EXT-STS:task_state"],
        bool(row["locked"]),
        row.get("locked_reason"),
    )
