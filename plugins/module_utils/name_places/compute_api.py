# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names that the compute API shows of services, hypervisors and servers. Pure."""

from __future__ import annotations

import typing as t

from ..model.findings import Subject
from ..model.lookups import COMPUTE, Index, same_uuid
from .place import (
    NamePlace,
    StoredName,
    StoredNames,
    Text,
    WantedName,
)


class ComputeApi(NamePlace):
    """What the compute API shows: the rows of the cells. The place of a row reports where the two differ."""

    text = Text(
        "compute API: services, hypervisors, servers",
        "compute API",
        "no call is needed: the run changes rows of the cell database, and the compute API shows these rows",
        "no call is needed: the run changes rows of the cell database, and the compute API shows these rows",
    )
    codes = ("SG310",)
    steps = ("cell_database",)

    def stored(self, index: Index) -> StoredNames:
        """Hosts of services and servers, both names of hypervisors."""
        cloud = index.bundle.cloud
        for service in (cloud.services if cloud else None) or []:
            subject = Subject("service", service.id, service.binary, service.host)
            yield StoredName(subject, "compute API", service.host)
        for node in (cloud.hypervisors if cloud else None) or []:
            subject = Subject("compute_node", node.id, node.hypervisor_hostname, node.service_host)
            yield StoredName(subject, "compute API hypervisor", node.hypervisor_hostname)
            yield StoredName(subject, "compute API service host", node.service_host)
        for server in (cloud.servers if cloud else None) or []:
            subject = Subject("instance", server.id, server.name, server.host)
            yield StoredName(subject, "compute API servers", server.host)

    def holds(self, entry: StoredName, names: t.Collection[str]) -> bool:
        """A rename covers nova-compute only."""
        other = entry.subject.kind == "service" and entry.subject.name != COMPUTE
        return not other and entry.name in names

    def is_own(self, entry: StoredName, wanted: WantedName) -> bool:
        """By uuid; a server by its host."""
        if entry.subject.kind == "instance":
            return entry.name == wanted.old
        own = wanted.service_uuid if entry.subject.kind == "service" else wanted.node_uuid
        return same_uuid(entry.subject.id, own)


PLACE = ComputeApi()
