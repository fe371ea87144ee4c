# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Port bindings that failed live migrations left in neutron, of a whole cloud. SG713. Pure.

The next live migration of the server to that host fails: neutron has the binding already (nova/network/neutron.py,
bind_ports_to_host, 26 to 34). neutron's API shows them port by port only, which moves ask for their servers; of all
servers neutron's database tells.
"""

from __future__ import annotations

import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.findings import WARNING, Subject, Unchecked, finding
from ..model.lookups import Index, Items, in_progress, same_name

#: The part of what was read of neutron's database.
PART = "inactive_bindings"
#: Servers that a finding names.
SHOWN = 10


def check(index: Index) -> Items:
    """SG713 of each host for which ports of servers have an inactive binding, and no migration needs it."""
    neutron = index.bundle.databases.neutron if index.bundle.databases else None
    if neutron is None or neutron.scope:
        return
    cloud = index.bundle.cloud
    if neutron.inactive_bindings is None:
        why = next((entry.reason for entry in neutron.unread if entry.part == PART), "not read")
        yield Unchecked("SG713", "port bindings", why)
        return
    if cloud is None or cloud.ports is None or not index.migrations_read:
        if neutron.inactive_bindings:
            yield Unchecked("SG713", "port bindings", "the ports or the migrations were not read")
        return
    left: t.Dict[str, t.Set[str]] = {}
    for port in cloud.ports:
        for host in neutron.inactive_bindings.get(port.id, ()):
            moves = any(in_progress(row) for row in index.migrations_by_instance.get(port.device_id, []))
            compute = (port.device_owner or "").startswith("compute:")
            if compute and port.device_id and not moves and not same_name(port.binding_host_id, host):
                left.setdefault(host, set()).add(port.device_id)
    for host, servers in sorted(left.items()):
        evidence = {"servers": sorted(servers)[:SHOWN], "number": len(servers)}
        yield finding("SG713", Subject("host", host, host=host), evidence, remedy_text("SG713", "binding"), WARNING)
