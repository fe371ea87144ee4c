# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demonstration compares before and after: guests of a host, and every place of a host's name."""

from __future__ import annotations

from . import cloud, ovn
from .screen import DemoError


class Seen:
    """The guests of a host: domains, and who has which image open."""

    def __init__(self, host: str, servers: dict[str, cloud.Server]) -> None:
        self.names = {server.id: name for name, server in servers.items()}
        self.domains = cloud.domains(host)
        unknown = set(self.domains) ^ set(self.names)
        if unknown:
            raise DemoError(f"other domains on {host} than expected: {sorted(unknown)}")
        self.watchers = {
            server.id: {image: cloud.watchers(image) for image in cloud.images(server)} for server in servers.values()
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seen) and (self.domains, self.watchers) == (other.domains, other.watchers)

    __hash__ = None  # type: ignore[assignment]

    def _clients(self, uuid: str) -> str:
        disks = self.watchers[uuid]
        return f"{sum(map(len, disks.values()))} of {len(disks)}"

    def _sorted(self) -> list[cloud.Domain]:
        return sorted(self.domains.values(), key=lambda domain: self.names[domain.uuid])

    def rows(self) -> list[tuple[str, ...]]:
        """A table of what was seen."""
        rows = [("guest", "domain uuid", "state", "QEMU pid", "dumpxml", "disks open")]
        for domain in self._sorted():
            pid = str(domain.pid or "-")
            rows.append(
                (self.names[domain.uuid], domain.uuid, domain.state, pid, domain.xml, self._clients(domain.uuid))
            )
        return rows

    def beside(self, after: Seen) -> list[tuple[str, ...]]:
        """Before and after, side by side."""
        rows = [("guest", "QEMU pid", "", "started (ticks)", "", "dumpxml", "", "disks open", "")]
        for old in self._sorted():
            new = after.domains.get(old.uuid)
            cells = [
                str(getattr(domain, field) or "-") if domain else "gone"
                for field in ("pid", "since", "xml")
                for domain in (old, new)
            ]
            rows.append((self.names[old.uuid], *cells, self._clients(old.uuid), after._clients(old.uuid)))
        return rows


_ROWS = {
    "cell1": (
        "SELECT 'service', id, uuid, host, disabled, disabled_reason FROM services WHERE deleted = 0 ORDER BY id",
        "SELECT 'node', id, uuid, host, hypervisor_hostname, service_id FROM compute_nodes WHERE deleted = 0",
        "SELECT 'instance', id, uuid, host, node, launched_on, compute_id FROM instances WHERE deleted = 0 ORDER BY id",
    ),
    "api": (
        "SELECT 'mapping', id, host FROM host_mappings ORDER BY id",
        "SELECT 'aggregate', id, aggregate_id, host FROM aggregate_hosts ORDER BY id",
    ),
    "placement": (
        "SELECT 'provider', id, uuid, name FROM resource_providers ORDER BY id",
        "SELECT 'allocation', id, resource_provider_id, consumer_id, used FROM allocations ORDER BY id",
    ),
    "neutron": (
        "SELECT 'port', port_id, host, vif_type FROM ml2_port_bindings ORDER BY port_id, host",
        "SELECT 'agent', id, agent_type, host FROM agents ORDER BY id",
    ),
}


def names(host: str) -> list[str]:
    """Every row that bears a host's name, and this host's own name and files."""
    lines = [
        line
        for database, queries in _ROWS.items()
        for query in queries
        for line in cloud.lab("db", "--batch", database, query).splitlines()
    ]
    lines += cloud.on_host(
        host,
        "hostname; hostnamectl --static; cat /etc/hosts; virsh hostname; cat /var/lib/nova/compute_id; "
        "systemctl is-active nova-compute; systemctl is-enabled nova-compute || true",
    ).splitlines()
    return lines + ovn.names()
