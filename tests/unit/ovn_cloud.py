# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A healthy fleet whose hosts' ports are OVN's, with a rename of the first host that nothing stands against."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.ovn import (
    NeutronBindings,
    OvnBindingRow,
    OvnChassis,
    OvnConnection,
    OvnEncap,
    OvnFacts,
    OvnLevelRow,
    OvnPortBinding,
    OvnSegmentRow,
    OvnSwitchPort,
)
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.builders import AT, uid
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet

CONTROLLER = ("OVN Controller agent", "ovn-controller")


def chassis(number, hostname):
    """The chassis of a host; its name is a uuid."""
    return OvnChassis(
        uid("chassis", number), uid("system", number), hostname, [OvnEncap("geneve", f"192.0.2.{number}")], 1
    )


def ovn_fleet(guests=2, style="short", **how):
    """A fleet with OVN in the place of Open vSwitch agents."""
    some = fleet(style=style, guests=guests, l2_agents=False, **how)
    cloud = some.cloud
    hosts = {number: some.names(number) for number in (1, 2, 3)}
    agents = [builders.agent(number, names.host, *CONTROLLER) for number, names in hosts.items()]
    cloud = cloud.cloud(
        agents=[dataclasses.replace(row, id=uid("system", number)) for number, row in enumerate(agents, 1)]
    )
    cloud = cloud.change("ports", binding_vif_type="ovs")
    ports = [port for port in cloud.rows("ports") if port.binding_host_id == some.old]
    for number, names in hosts.items():
        ids = {"hostname": names.host, "system-id": uid("system", number), "ovn-encap-ip": f"192.0.2.{number}"}
        ids["ovn-remote"] = "tcp:192.0.2.100:6642"
        cloud = cloud.host(names.inventory, ovs_external_ids=ids, ovs_version="3.5.0", unread=[])
    rows = NeutronBindings(
        [OvnBindingRow(port.id, some.old, "normal", "ovs", "", "ACTIVE") for port in ports],
        [OvnLevelRow(port.id, some.old, 0) for port in ports],
        [OvnSegmentRow(uid("segment"), some.old)],
    )
    cloud = cloud.neutron_db(bindings=rows).databases(
        ovn=OvnFacts(
            read_at=AT,
            scope=[some.old, some.new],
            chassis=[chassis(number, names.host) for number, names in hosts.items()],
            port_bindings=[binding(port.id) for port in ports],
            switch_ports=[switch_port(port.id, some.old) for port in ports],
            gateways=[],
            connections=[OvnConnection("ptcp:6642", "")],
            northd_ms=12,
            southbound="tcp:192.0.2.100:6642",
        )
    )
    tried = facts.Rehearsal(some.new, some.new, now=some.names(1).libvirt)
    cloud = cloud.host("compute1", rehearsal=tried)
    return dataclasses.replace(some, cloud=cloud)


def binding(port, **changes):
    """A port that the first host's chassis has bound."""
    row = OvnPortBinding(uid("binding", port), port, "", uid("chassis", 1), uid("chassis", 1), "compute1", True)
    return dataclasses.replace(row, **changes)


def switch_port(port, host, **changes):
    """A port that names a host."""
    row = OvnSwitchPort(uid("lsp", port), port, "", host, host, None, None, True)
    return dataclasses.replace(row, **changes)


def with_ovn(some, **changes):
    """The fleet with other facts of OVN's databases."""
    ovn = dataclasses.replace(some.cloud.bundle.databases.ovn, **changes)
    return dataclasses.replace(some, cloud=some.cloud.databases(ovn=ovn))


def with_rows(some, **changes):
    """The fleet with other rows of neutron's bindings."""
    rows = dataclasses.replace(some.cloud.bundle.databases.neutron.bindings, **changes)
    return dataclasses.replace(some, cloud=some.cloud.neutron_db(bindings=rows))


def with_host(some, **changes):
    """The fleet with other facts of the host."""
    return dataclasses.replace(some, cloud=some.cloud.host("compute1", **changes))


def with_ids(some, **changes):
    """The fleet with other external_ids of the host's Open vSwitch; None: the key is not there."""
    ids = {**some.cloud.bundle.hosts["compute1"].ovs_external_ids, **changes}
    return with_host(some, ovs_external_ids={key: value for key, value in ids.items() if value is not None})
