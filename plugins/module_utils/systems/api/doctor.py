# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the APIs take the credentials, and for an administrator's: by requests that only read."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ...model.block_storage import CEPH, IN_USE
from ...model.doctor import ClockOffset, CloudState, RightsProbe
from ...model.errors import ApiError
from . import (
    block_storage,
    compute_services,
    host_aggregates,
    http,
    hypervisors,
    migration_records,
    resource_providers,
)
from . import connection as connections

#: Placement asks for the same right whatever is looked for, and lists all where nothing is.
_NO_PROVIDER = "stackguard-doctor"
#: Part, service, path, key of the list, microversion, parameters. None in a row needs more than an administrator, and
#: Nova's, placement's and neutron's own policies give none to less.
PROBES: t.Tuple[t.Tuple[str, str, str, str, t.Optional[str], t.Dict[str, str]], ...] = (
    ("compute_api", http.COMPUTE, "/os-services", "services", compute_services.SERVICES, {"binary": "nova-compute"}),
    ("compute_api", http.COMPUTE, "/os-hypervisors", "hypervisors", hypervisors.HYPERVISORS, {"limit": "1"}),
    ("compute_api", http.COMPUTE, "/servers/detail", "servers", "2.53", {"all_tenants": "1", "limit": "1"}),
    ("compute_api", http.COMPUTE, "/os-aggregates", "aggregates", host_aggregates.AGGREGATES, {}),
    ("compute_api", http.COMPUTE, "/os-migrations", "migrations", migration_records.MIGRATIONS, {"limit": "1"}),
    (
        "placement_api",
        http.PLACEMENT,
        "/resource_providers",
        "resource_providers",
        resource_providers.PROVIDERS,
        {"name": _NO_PROVIDER},
    ),
)
#: A page of each: what is not on it is no other right. Their last one has a line for each back end.
_PAGE = {"all_tenants": "1", "limit": str(http.PAGE)}
VOLUME_PROBES: t.Tuple[t.Tuple[str, str, str, str, t.Optional[str], t.Dict[str, str]], ...] = (
    ("volume_api", http.VOLUME, "/volumes/detail", "volumes", None, {**_PAGE, "status": IN_USE}),
    ("volume_api", http.VOLUME, "/attachments/detail", "attachments", block_storage.ATTACHMENTS, _PAGE),
    ("volume_api", http.VOLUME, "/os-services", "services", None, {"binary": "cinder-volume"}),
    ("volume_api", http.VOLUME, "/scheduler-stats/get_pools", "pools", None, {"detail": "true"}),
)
_AGENTS = "/agents"
_NO_EXTENSION = 404


def read_cloud_state(options: t.Mapping[str, t.Any]) -> CloudState:
    """Log in, and ask. Never raises for a cloud that refuses or does not answer."""
    try:
        cloud = connections.connect(options)
    except ApiError as error:
        return CloudState(problem=error.message)
    probes = [_probe(cloud, *row) for row in PROBES]
    agents, alive, about = _agents(cloud)
    clock, reason = _clock(cloud)
    user, project = _names(cloud)
    state = CloudState(None, user, project, [*probes, about], agents, clock, reason, alive)
    return _volumes(cloud, state)


def _probe(
    cloud: t.Any,
    part: str,
    service: str,
    path: str,
    key: str,
    microversion: t.Optional[str],
    params: t.Mapping[str, str],
) -> RightsProbe:
    return _ask(cloud, part, service, path, key, microversion, params)[0]


def _ask(
    cloud: t.Any,
    part: str,
    service: str,
    path: str,
    key: str,
    microversion: t.Optional[str],
    params: t.Mapping[str, str],
) -> t.Tuple[RightsProbe, t.Optional[t.List[t.Dict[str, t.Any]]]]:
    request = f"GET {service} {path}"
    try:
        rows = http.items(cloud, service, path, key, microversion, params)
        return RightsProbe(part, request, len(rows)), rows
    except ApiError as error:
        return RightsProbe(part, request, None, error.data.get("status"), error.message), None


def _volumes(cloud: t.Any, state: CloudState) -> CloudState:
    """Ask Cinder, where there is one, for one page of each list that an audit reads."""
    try:
        if not set(http.list_catalog(cloud)) & set(block_storage.TYPES):
            return dataclasses.replace(state, cinder=False, volume_pools=[])
    except ApiError as error:
        return dataclasses.replace(
            state, probes=[*state.probes, RightsProbe("volume_api", "catalogue", None, None, error.message)]
        )
    answers = [_ask(cloud, *row) for row in VOLUME_PROBES]
    volumes, attachments, _services, pools = ([] if rows is None else rows for _probe, rows in answers)
    shown = [entry for row in volumes for entry in row.get("attachments") or ()]
    found = {place.partition("/")[0] for place in map(block_storage.ceph_place, attachments) if place}
    for about in (row.get("capabilities") or {} for row in pools):
        # CLUSTER:CONF:FSID:USER:POOL (cinder/volume/drivers/rbd.py, 22 to 29).
        if str(about.get("storage_protocol")).lower() in CEPH and about.get("location_info"):
            found.add(str(about["location_info"]).rpartition(":")[2])
    read = answers[1][1] is not None and answers[3][1] is not None
    return dataclasses.replace(
        state,
        cinder=True,
        hidden_hosts=any(not entry.get("host_name") for entry in shown),
        volume_pools=sorted(found) if read else None,
        probes=[*state.probes, *(probe for probe, _rows in answers)],
    )


def _agents(cloud: t.Any) -> t.Tuple[t.Optional[t.List[str]], t.List[str], RightsProbe]:
    request = f"GET {http.NETWORK} {_AGENTS}"
    try:
        found = list(
            http.pages(cloud, http.NETWORK, _AGENTS, "agents", None, {"fields": ["id", "agent_type", "alive"]})
        )
    except ApiError as error:
        return None, [], RightsProbe("network_api", request, None, error.data.get("status"), error.message)
    kinds = sorted({str(item.get("agent_type")) for item in found})
    alive = sorted({str(item.get("agent_type")) for item in found if item.get("alive") is True})
    about = RightsProbe("network_api", request, len(found))
    if found:
        return kinds, alive, about
    # Neutron hides what a user may not see: an empty list proves nothing. The list of quotas is refused to all but
    # administrators (neutron/pecan_wsgi/controllers/quota.py, 2023.1 to 2026.2).
    quotas = _probe(cloud, "network_api", http.NETWORK, "/quotas", "quotas", None, {})
    if quotas.found is None:
        return None, [], about if quotas.status == _NO_EXTENSION else quotas
    # An administrator. A policy of this cloud's own may still hide the agents, so that there are none is not known.
    return None, [], dataclasses.replace(quotas, found=max(quotas.found, 1))


def _clock(cloud: t.Any) -> t.Tuple[t.Optional[ClockOffset], str]:
    before = time.time()
    try:
        said = http.date(cloud, http.COMPUTE)
    except ApiError as error:
        return None, error.message
    # The header says whole seconds.
    return ClockOffset.between(before, said + 1, said, time.time()), ""


def _names(cloud: t.Any) -> t.Tuple[str, str]:
    """Who logged in, for the command that gives a right."""
    try:
        access = cloud.session.auth.get_access(cloud.session)
        return str(access.username or "USER"), str(access.project_name or "PROJECT")
    except Exception:  # noqa: BLE001 - a plugin without such names; the command shows placeholders then
        return "USER", "PROJECT"
