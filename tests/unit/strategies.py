# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random healthy fleets (hypothesis), with a rename of their first host."""

from __future__ import annotations

import dataclasses
import functools

from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import RenameRequest
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.builders import STYLES, healthy


@dataclasses.dataclass(frozen=True)
class Fleet:
    """A healthy cloud, how its hosts are called, and a rename of the first of them that nothing stands against."""

    cloud: builders.Cloud
    style: str
    cells: int
    request: RenameRequest

    def names(self, number):
        """The names of a host."""
        return STYLES[self.style](number)

    def cell(self, number):
        """The number of a host's cell."""
        return builders.cell_of(number, self.cells)

    @property
    def old(self):
        """What Nova calls the host that is renamed."""
        return self.request.rename_from

    @property
    def new(self):
        """What it is to be called."""
        return self.request.rename_to

    @property
    def new_node(self):
        """The node's name afterwards."""
        return self.request.hypervisor_hostname or (self.names(1).libvirt if self.style == "own" else self.new)

    def narrowed(self, cloud):
        """A cloud as a rename reads it: these names, and the instances of the domains of the host."""
        names = [self.old, self.new, *([self.request.hypervisor_hostname] if self.request.hypervisor_hostname else [])]
        host = cloud.bundle.hosts.get("compute1")
        return cloud.narrowed(*names, keep=[domain.uuid for domain in (host.domains if host else None) or []])


@functools.lru_cache(maxsize=1024)
def fleet(style="short", hosts=3, guests=2, cells=1, release=34, l2_agents=True):
    """A fleet and the rename of its first host."""
    old = STYLES[style](1).host
    new = "renamed1.dc1.test" if style == "full" else builders.NEW
    request = RenameRequest(
        inventory_name="compute1",
        rename_from=old,
        rename_to=new,
        operation_id="0123456789ab",
        hypervisor_hostname="renamed1.dc1.test" if style == "mixed" else None,
        has_neutron_db=True,
    )
    cloud = healthy(hosts, guests, cells, style, release, l2_agents, new)
    return Fleet(cloud.cloud(block_storage=facts.BlockStorage(False, [], [])), style, cells, request)


def fleets(min_hosts=2, min_guests=1, l2_agents=None, releases=(27, 28, 29, 30, 31, 32, 33, 34)):
    """Random fleets: sizes, cells, ways of naming, releases, with and without L2 agents."""
    return st.builds(
        fleet,
        style=st.sampled_from(sorted(STYLES)),
        hosts=st.integers(min_hosts, 6),
        guests=st.integers(min_guests, 4),
        cells=st.integers(1, 3),
        release=st.sampled_from(releases),
        l2_agents=st.booleans() if l2_agents is None else st.just(l2_agents),
    )
