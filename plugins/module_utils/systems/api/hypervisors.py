# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The nodes of compute hosts, which the API calls hypervisors."""

from __future__ import annotations

import typing as t

from ...model import facts
from ...model.errors import ApiError
from . import http

#: uuid as id. From 2.75 every server is listed, from 2.88 each host is asked for its uptime.
HYPERVISORS = "2.53"


def list_hypervisors(connection: t.Any, pattern: t.Optional[str] = None) -> t.List[facts.ApiHypervisor]:
    """Return all hypervisors, or those whose host name contains a pattern (which the API does not page)."""
    path = "/os-hypervisors/detail"
    if pattern is None:
        items = list(http.pages(connection, http.COMPUTE, path, "hypervisors", HYPERVISORS))
    else:
        items = _matching(connection, path, pattern)
    return [
        facts.ApiHypervisor(
            id=item["id"],
            hypervisor_hostname=item["hypervisor_hostname"],
            service_host=(item.get("service") or {}).get("host"),
            hypervisor_type=item.get("hypervisor_type"),
            state=item.get("state"),
            status=item.get("status"),
            host_ip=item.get("host_ip"),
        )
        for item in items
    ]


def _matching(connection: t.Any, path: str, pattern: str) -> t.List[t.Dict[str, t.Any]]:
    params = {"hypervisor_hostname_pattern": pattern}
    try:
        return http.items(connection, http.COMPUTE, path, "hypervisors", HYPERVISORS, params)
    except ApiError as error:
        if error.data.get("status") == 404:
            return []
        raise


def find_node(connection: t.Any, host: str) -> t.Optional[facts.ApiHypervisor]:
    """Return the node of a host: Nova shows it only once the host is mapped to a cell."""
    for node in list_hypervisors(connection):
        if node.service_host == host:
            return node
    return None
