# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compute hosts as places to go to: services, nodes and what placement would still give, read as one."""

from __future__ import annotations

import typing as t

from ...model import facts
from . import (
    allocation_candidates,
    compute_services,
    hypervisors,
)


def list_targets(connection: t.Any) -> t.List[facts.TargetHost]:
    """Return every compute host with a node, by name. Three reads for the whole cloud."""
    nodes = {node.service_host: node for node in hypervisors.list_hypervisors(connection)}
    free = allocation_candidates.free_capacity(connection)
    found = []
    for service in compute_services.list_services(connection):
        node = nodes.get(service.host)
        if node is not None:
            found.append(
                facts.TargetHost(
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
