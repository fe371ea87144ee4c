# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the guests of a host go that is renamed by draining, for tests with a cloud of :mod:`builders`."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.placement import DrainOptions
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.moves import preflight as moves
from ansible_collections.stackguard.nova.plugins.module_utils.rename.drain import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.rename.drain import preflight as checks
from ansible_collections.stackguard.nova.tests.unit.builders import AT, zone_of
from ansible_collections.stackguard.nova.tests.unit.evacuations import FLAVOR


def targets_of(cloud, free=32768):
    """Every host of the cloud as a place to go to."""
    nodes = {row.service_host: row for row in cloud.bundle.cloud.hypervisors or []}
    return [
        facts.TargetHost(
            row.host,
            nodes[row.host].hypervisor_hostname,
            nodes[row.host].id,
            row.zone or f"az{zone_of(number)}",
            row.state,
            row.status,
            row.forced_down,
            {"VCPU": 8, "MEMORY_MB": free},
            row.disabled_reason,
        )
        for number, row in enumerate(cloud.bundle.cloud.services or [], 1)
        if row.host in nodes
    ]


def evidence_of(cloud, host="compute1", targets=None):
    """What is read of the host's servers, each of a small flavor."""
    known = cloud.bundle.cloud
    servers = known.servers and [dataclasses.replace(row, flavor=row.flavor or FLAVOR) for row in known.servers]
    leaving = [row for row in servers or [] if row.host == host]
    uuids = [row.id for row in leaving]
    about = facts.EvacuationFacts(
        read_at=AT,
        host="",
        targets=targets_of(cloud) if targets is None else targets,
        groups=[],
        member_hosts={},
        numa={uuid: [] for uuid in uuids},
        offers={uuid: [node.id for node in known.hypervisors or []] for uuid in uuids},
        aggregates=known.aggregates,
        soft_deleted={},
    )
    nodes = {node.service_host: node.id for node in known.hypervisors or []}
    zones = facts.ZoneFacts(
        read_at=AT,
        compute_max_microversion=known.compute_max_microversion,
        services=known.services,
        hypervisors=known.hypervisors,
        aggregates=known.aggregates,
        members={
            row.uuid: [nodes[name] for name in row.hosts if name in nodes] for row in known.aggregates or [] if row.uuid
        },
        servers=leaving,
        pins={row.id: row.pinned_availability_zone for row in leaving},
        pins_from="compute API",
    )
    bundle = dataclasses.replace(cloud.bundle, databases=None, cloud=dataclasses.replace(known, servers=servers))
    return moves.Evidence(bundle, about, zones)


def decision_of(cloud, request, options=None, targets=None):
    """Where the guests go."""
    limits = plans.limits_of(request, options or DrainOptions())
    asked = plans.move_request(limits, drain_host=request.rename_from)
    return moves.preflight(evidence_of(cloud, request.rename_from, targets), asked)


def preflight(cloud, request, options=None, targets=None, others=()):
    """Everything against the rename."""
    options = options or DrainOptions()
    decision = decision_of(cloud, request, options, targets)
    return checks.preflight(cloud.bundle, decision, list(others), request, options)


def plan_of(cloud, request, options=None, targets=None):
    """The plan."""
    return plans.plan(cloud.bundle, decision_of(cloud, request, options, targets), request, options)
