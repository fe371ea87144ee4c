# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Links for tests: those of a healthy cloud, all right, and a way to spoil one.

What a reader calls wrong is given as it would give it: ``wrong(code, ...)`` puts an instance into the list of a code.
Guests are those of :mod:`builders`: ``guest(1, 2)`` is the second one of compute1.
"""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import links as checks
from ansible_collections.stackguard.nova.plugins.module_utils.hazards.link_rules import Links
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit import builders


@dataclasses.dataclass(frozen=True)
class Linked:
    """A bundle with links, and ways to change one thing of it. Cells count from 1."""

    bundle: facts.Bundle

    @property
    def links(self):
        return Links(self.bundle)

    @property
    def checked(self):
        return checks.check(self.bundle)

    @property
    def found(self):
        """(code, object id) of every finding."""
        return {(item.code, item.object.id) for item in self.checked.findings}

    def finding(self, code):
        (item,) = [item for item in self.checked.findings if item.code == code]
        return item

    def verdict(self, code):
        (wrong,) = [wrong for wrong in self.links.wrong() if wrong.code == code]
        return self.links.verdict(wrong)

    def cell(self, number=1, **changes):
        cells = list(self.bundle.links.cells)
        cells[number - 1] = dataclasses.replace(cells[number - 1], **changes)
        return self.read(cells=cells)

    def read(self, **changes):
        return self.given(links=dataclasses.replace(self.bundle.links, **changes))

    def given(self, **changes):
        return Linked(dataclasses.replace(self.bundle, **changes))

    def cloud(self, **changes):
        return self.given(cloud=dataclasses.replace(self.bundle.cloud, **changes))

    def host(self, name, **changes):
        hosts = {**self.bundle.hosts, name: dataclasses.replace(self.bundle.hosts[name], **changes)}
        return self.given(hosts=hosts)

    def without_hosts(self, *names):
        kept = {name: host for name, host in self.bundle.hosts.items() if names and name not in names}
        return self.given(hosts=kept)

    def row(self, what, number, in_cell=1, **changes):
        """Change a service (101 is that of compute1) or a node (201)."""
        rows = getattr(self.bundle.links.cells[in_cell - 1], what)
        changed = [dataclasses.replace(row, **changes) if row.id == number else row for row in rows]
        assert changed != rows, "nothing was changed: the test would prove nothing"
        return self.cell(in_cell, **{what: changed})

    def drop(self, what, number, in_cell=1):
        rows = getattr(self.bundle.links.cells[in_cell - 1], what)
        assert number in {row.id for row in rows}
        return self.cell(in_cell, **{what: [row for row in rows if row.id != number]})

    def add(self, what, row, in_cell=1):
        rows = getattr(self.bundle.links.cells[in_cell - 1], what)
        return self.cell(in_cell, **{what: [*rows, row]})

    def wrong(self, code, in_cell=1, **changes):
        """An instance that the reader found to be ``code``: guest 1 of compute1, but for the changes."""
        row = facts.LinkInstance(
            1001, builders.guest(1, 1), "guest1", "compute1", "compute1", 201, "active", None, False
        )
        cell = self.bundle.links.cells[in_cell - 1]
        rows = [*cell.instances.get(code, []), dataclasses.replace(row, **changes)]
        return self.cell(in_cell, instances={**cell.instances, code: rows})

    def migration(self, in_cell=1, **changes):
        """A migration whose link the reader found broken: finished, of guest 1 of compute1 to compute2."""
        known = (1, builders.uid("migration", 1), "resize", "finished", builders.guest(1, 1), "compute2", "compute2")
        row = facts.LinkMigration(*known, None, None)
        return self.add("migrations", dataclasses.replace(row, **changes), in_cell)


def healthy(hosts=3, cells=1, release=34):
    """Links of a cloud in which all are right, all hosts and providers read. Hosts are dealt out to cells in turn."""
    cloud = builders.healthy(hosts=hosts, guests=2, cells=cells, release=release).bundle
    rows = [
        facts.CellLinks(
            name=cell.name,
            uuid=cell.uuid,
            location=cell.location,
            revision=cell.revision,
            has_compute_id=cell.has_compute_id,
            services=cell.services,
            compute_nodes=cell.compute_nodes,
            deleted_nodes=[] if cell.has_compute_id else None,
            instances={},
            migrations=[] if cell.has_compute_id else None,
            pci_devices=[],
            totals={},
        )
        for cell in cloud.databases.cells
    ]
    return Linked(dataclasses.replace(cloud, links=facts.LinkFacts(builders.AT, [], rows)))


def node_row(number, **changes):
    """A node with the id 200 + number, by default alone with its names."""
    row = builders.node_row(number, f"compute{number}", f"compute{number}")
    return dataclasses.replace(row, **changes)
