# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Zones for tests: compute1 and compute2 in az1, compute3 in az2, one server on compute1. Everything agrees."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit.builders import AT, guest, node, service, uid

SMALL = facts.ServerFlavor(1, 1024, 10, 0, 0, "m1.small", {})
LARGE = facts.ServerFlavor(2, 4096, 10, 0, 0, "m1.large", {})
WEB = guest(1, 1)
ZONES = {"compute1": "az1", "compute2": "az1", "compute3": "az2"}


def compute(number, **changes):
    name = f"compute{number}"
    base = facts.ApiService(
        service(number), name, "nova-compute", "up", "enabled", False, None, zone=ZONES[name], updated_at=AT
    )
    return dataclasses.replace(base, **changes)


def aggregate(number, zone, *hosts):
    return facts.ApiAggregate(number, uid("aggregate", number), f"aggregate{number}", zone, list(hosts))


def server(**changes):
    base = facts.ApiServer(
        id=WEB,
        name="web1",
        project_id=uid("project"),
        status="ACTIVE",
        host="compute1",
        hypervisor_hostname="compute1",
        task_state=None,
        vm_state="active",
        power_state=1,
        availability_zone="az1",
        locked=False,
        flavor=SMALL,
        image="an image",
    )
    return dataclasses.replace(base, **changes)


def zoned(**changes):
    """The facts of one server, unpinned, for which placement offers every host of its zone."""
    base = facts.ZoneFacts(
        read_at=AT,
        compute_max_microversion="2.104",
        services=[compute(number) for number in (1, 2, 3)],
        hypervisors=[
            facts.ApiHypervisor(node(number), f"compute{number}", f"compute{number}", "QEMU", "up", "enabled")
            for number in (1, 2, 3)
        ],
        aggregates=[aggregate(1, "az1", "compute1", "compute2"), aggregate(2, "az2", "compute3")],
        members={uid("aggregate", 1): [node(1), node(2)], uid("aggregate", 2): [node(3)]},
        servers=[server()],
        pins={WEB: None},
        pins_from="compute API",
        volumes={},
        offers={WEB: [node(1), node(2)]},
    )
    return dataclasses.replace(base, **changes)
