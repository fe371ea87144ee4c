# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Five living hosts for tests of moves: odd ones in az1, even ones in az2, with two guests of 1 GiB each."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import MigrationRequest
from ansible_collections.stackguard.nova.plugins.module_utils.moves.preflight import Evidence
from ansible_collections.stackguard.nova.tests.unit import builders, evacuations
from ansible_collections.stackguard.nova.tests.unit.builders import AT, node, uid
from ansible_collections.stackguard.nova.tests.unit.zoned import aggregate

HOSTS = 5
REQUEST = MigrationRequest(drain_host="compute1", operation_id="op1")


class Scene:
    """Evidence of which every part can be changed; each change makes another scene."""

    def __init__(self):
        base = evacuations.scene(hosts=HOSTS, alive=True)
        self.cloud = base.cloud.change("api_services", {"host": "compute1"}, state="up").put("api_migrations", [])
        for name in self.cloud.bundle.hosts:
            # Their guests have touched all that they have.
            self.cloud = self._calm(name)
        uuids = [row.id for row in self.cloud.rows("servers")]
        self._about = dataclasses.replace(
            base.about,
            targets=[evacuations.target(number, state="up") for number in range(1, HOSTS + 1)],
            numa={uuid: [] for uuid in uuids},
            offers={uuid: [node(number) for number in range(1, HOSTS + 1)] for uuid in uuids},
            soft_deleted={},
        )
        self._pins = dict.fromkeys(uuids)
        self._zones = {}
        self._aggregates = [
            aggregate(1, "az1", "compute1", "compute3", "compute5"),
            aggregate(2, "az2", "compute2", "compute4"),
        ]

    def _calm(self, name):
        host = self.cloud.bundle.hosts[name]
        domains = [dataclasses.replace(row, rss_mib=row.memory_mib) for row in host.domains]
        conf = dataclasses.replace(host.nova_conf, reserved_host_memory_mb=0)
        return self.cloud.host(name, domains=domains, nova_conf=conf)

    def _with(self, **changes):
        other = object.__new__(Scene)
        other.__dict__ = {**self.__dict__, **changes}
        return other

    def server(self, uuid, **changes):
        return self._with(cloud=self.cloud.change("servers", {"id": uuid}, **changes))

    def servers(self, rows):
        return self._with(cloud=self.cloud.put("servers", rows))

    def holding(self, host, uuids):
        """Placement has these on the host, and nobody else."""
        rows = self.cloud.rows("providers")
        root = next(row.uuid for row in rows if row.name == host)
        some = next((entry for row in rows if row.uuid == root for entry in (row.allocations or {}).values()), {})
        kept = [
            dataclasses.replace(row, allocations={uuid: (row.allocations or {}).get(uuid, some) for uuid in uuids})
            if row.uuid == root
            else row
            for row in rows
        ]
        return self._with(cloud=self.cloud.put("providers", kept))

    def service(self, host, **changes):
        return self._with(cloud=self.cloud.change("api_services", {"host": host}, **changes))

    def migrations(self, *rows):
        return self._with(cloud=self.cloud.put("api_migrations", list(rows)))

    def unanswered(self, part):
        bundle = dataclasses.replace(
            self.cloud.bundle, cloud=dataclasses.replace(self.cloud.bundle.cloud, **{part: None})
        )
        return self._with(cloud=builders.Cloud(bundle))

    def pinned(self, uuid, zone):
        return self._with(_pins={**self._pins, uuid: zone})

    def zones(self, **changes):
        return self._with(_zones={**self._zones, **changes})

    def about(self, **changes):
        return self._with(_about=dataclasses.replace(self._about, **changes))

    def target(self, number, **changes):
        name = f"compute{number}"
        rows = [dataclasses.replace(row, **changes) if row.host == name else row for row in self._about.targets]
        return self.about(targets=rows)

    def in_two_zones(self, host):
        return self._with(_aggregates=[*self._aggregates, aggregate(3, "az3", host)])

    def unread(self, host):
        return self._with(cloud=self.cloud.unreachable(host, "timed out"))

    def memory(self, host, available):
        seen = dataclasses.replace(self.cloud.bundle.hosts[host].memory, available_mib=available)
        return self._with(cloud=self.cloud.host(host, memory=seen))

    def evidence(self, host, uuids=None, sources=()):
        """What is read of the servers of a host, or of those of these uuids."""
        cloud = self.cloud.bundle.cloud
        wanted = (host, *sources)
        leaving = [row for row in cloud.servers or [] if row.host in wanted and (uuids is None or row.id in uuids)]
        zones = facts.ZoneFacts(
            read_at=AT,
            compute_max_microversion="2.104",
            services=cloud.services,
            hypervisors=cloud.hypervisors,
            aggregates=self._aggregates,
            members={
                uid("aggregate", 1): [node(1), node(3), node(5)],
                uid("aggregate", 2): [node(2), node(4)],
                uid("aggregate", 3): [node(1)],
            },
            servers=leaving,
            pins=self._pins,
            pins_from="compute API",
        )
        bundle = dataclasses.replace(self.cloud.bundle, databases=None)
        return Evidence(bundle, self._about, dataclasses.replace(zones, **self._zones))
