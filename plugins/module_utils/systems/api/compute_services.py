# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The nova-compute services: as the API lists them, and how one is disabled, forced down, given back and deleted.

Every change looks first: what is already as wanted is left alone, and what is neither as it was read nor as wanted
is a :class:`Conflict`. Every change is read back.
"""

from __future__ import annotations

import typing as t

from ...model import facts
from ...model.errors import ApiError, Conflict
from . import http

Json = t.Dict[str, t.Any]
Item = t.Mapping[str, t.Any]

#: 2.53: uuid as id; 2.69: services of a cell that does not answer are named, not left out.
SERVICES = "2.69"
#: PUT /os-services/{uuid}: status, reason and forced_down in one body.
UPDATE = "2.53"
#: Below 2.53 a service has the number of its row as id.
NUMBERED = "2.52"
#: Status and reason of a compute service.
Status = t.Tuple[str, t.Optional[str]]


def raw_services(connection: t.Any) -> t.List[t.Dict[str, t.Any]]:
    """Return every nova-compute service as the API says; without C(id) where its cell does not answer."""
    return http.items(connection, http.COMPUTE, "/os-services", "services", SERVICES, params={"binary": "nova-compute"})


def silent_hosts(services: t.Iterable[Item]) -> t.Set[str]:
    """Return the hosts, of what :func:`raw_services` returned, whose cell did not answer."""
    return {str(item["host"]) for item in services if not item.get("id")}


def several_cells(connection: t.Any) -> bool:
    """Whether Nova shows more than one cell: every cell numbers its services on its own.

    False is no proof of one cell: services of two cells may happen to have no number in common.
    """
    rows = http.items(connection, http.COMPUTE, "/os-services", "services", NUMBERED, params={"binary": "nova-compute"})
    numbers = [item["id"] for item in rows]
    return len(set(numbers)) < len(numbers)


def service_of(item: Item) -> facts.ApiService:
    """Build a service from what C(/os-services) says of it."""
    return facts.ApiService(
        id=item["id"],
        host=item["host"],
        binary=item["binary"],
        state=item["state"],
        status=item["status"],
        forced_down=bool(item["forced_down"]),
        disabled_reason=item["disabled_reason"],
        zone=item.get("zone"),
        updated_at=item.get("updated_at"),
    )


def get_service(connection: t.Any, service_id: str) -> facts.ApiService:
    """Return one compute service by uuid (the API has no call for a single one). Raises :class:`ApiError`."""
    for item in raw_services(connection):
        if item.get("id") == service_id:
            return service_of(item)
    raise ApiError(f"no compute service {service_id}", status=404, service=http.COMPUTE, problem="no-compute-service")


def list_services(connection: t.Any) -> t.List[facts.ApiService]:
    """Return the nova-compute services of the cells that answer."""
    return services_of(raw_services(connection))


def services_of(rows: t.Iterable[Item]) -> t.List[facts.ApiService]:
    """Return the services among what :func:`raw_services` returned."""
    # One of a cell that does not answer comes without an id: nothing can be sent there.
    return [service_of(item) for item in rows if item.get("id")]


def find_service(connection: t.Any, host: str) -> t.Optional[facts.ApiService]:
    """Return the nova-compute service of a host, or None. Raises :class:`ApiError` where its cell does not answer."""
    for item in raw_services(connection):
        if item.get("host") == host:
            if not item.get("id"):
                raise ApiError(f"the cell of the compute service on {host} does not answer")
            return service_of(item)
    return None


def zones_of_hosts(connection: t.Any) -> t.Dict[str, t.Optional[str]]:
    """Return the zone that Nova shows of each compute host whose cell answers."""
    return {service.host: service.zone for service in list_services(connection)}


def zone_of_host(connection: t.Any, host: t.Optional[str]) -> t.Optional[str]:
    """Return the zone that Nova shows of a compute host now."""
    service = None if host is None else find_service(connection, host)
    return None if service is None else service.zone


def set_service_status(
    connection: t.Any,
    service_id: str,
    status: str,
    reason: t.Optional[str] = None,
    leaving: t.Optional[Status] = None,
) -> facts.ApiService:
    """Enable or disable a compute service and return it as read back. An enabled service has no reason.

    ``leaving``: what it must be now, where it is not yet as wanted; None: whatever it is. Raises :class:`Conflict`
    where someone has disabled or enabled it meanwhile, :class:`ApiError` also where it is not as wanted afterwards.
    """
    wanted = (status, reason if status == "disabled" else None)
    body: Json = {"status": status, **({"disabled_reason": wanted[1]} if wanted[1] else {})}
    service = get_service(connection, service_id)
    found = (service.status, service.disabled_reason)
    if leaving is not None and found != leaving and not _matches(service, body):
        raise Conflict(
            f"another user changed the compute service of {service.host}: the service is {_status(found)}. "
            f"Set the service to {_status(leaving)} (its state before the step) or to {_status(wanted)} (its state "
            "after the step)",
            service=service_id,
            expected=leaving,
            found=found,
            problem="another-user-changed",
        )
    return _set_service(connection, service, body)


def _status(status: Status) -> str:
    return f"{status[0]} ({status[1]})" if status[1] else status[0]


def hold_down(connection: t.Any, host: str, reason: str) -> facts.ApiService:
    """Disable a host's compute service with a reason, and force it down: in one request. Returns it as read back.

    Raises :class:`ApiError` where there is no such service, or it is not so afterwards.
    """
    body = {"status": "disabled", "disabled_reason": reason, "forced_down": True}
    return _set_service(connection, _service_of_host(connection, host), body)


def give_back(connection: t.Any, host: str, before: t.Mapping[str, t.Any]) -> facts.ApiService:
    """Give a compute service what it had before: C(status), C(reason) and C(forced_down). Returns it as read back."""
    body: Json = {"status": before["status"], "forced_down": bool(before["forced_down"])}
    if before["status"] == "disabled" and before.get("reason"):
        body["disabled_reason"] = before["reason"]
    return _set_service(connection, _service_of_host(connection, host), body)


def _service_of_host(connection: t.Any, host: str) -> facts.ApiService:
    service = find_service(connection, host)
    if service is None:
        raise ApiError(f"Nova has no compute service on {host}")
    return service


def _set_service(connection: t.Any, service: facts.ApiService, body: Json) -> facts.ApiService:
    """Set a service as ``body`` says, unless it is so already, and return it as read back."""
    if _matches(service, body):
        return service
    http.call(connection, http.COMPUTE, "PUT", f"/os-services/{service.id}", UPDATE, body=body)
    after = get_service(connection, service.id)
    if not _matches(after, body):
        raise ApiError(
            f"the run requested {body} for the compute service of {after.host} ({after.id}), but the service is "
            f"{after.status}, disabled_reason={after.disabled_reason}, forced_down={after.forced_down}"
        )
    return after


def _matches(service: facts.ApiService, body: Json) -> bool:
    """Whether a service is as a body says: status and reason, and whether it is forced down if the body says that."""
    if service.forced_down != body.get("forced_down", service.forced_down):
        return False
    return (service.status, service.disabled_reason) == (body["status"], body.get("disabled_reason"))


def delete_service(connection: t.Any, service_id: str) -> None:
    """Delete a compute service: Nova removes its aggregate memberships, provider, host mapping and node too.

    Nova refuses (409) while the host has instances or open migrations. A service that is gone already is fine.
    Stop nova-compute first, or it comes back. Raises :class:`ApiError`.
    """
    http.delete_if_there(connection, http.COMPUTE, f"/os-services/{service_id}", UPDATE)
