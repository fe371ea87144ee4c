# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name in OVN's databases: the hostname of the chassis, and the host that each port asks for. Pure."""

from __future__ import annotations

from ..model.findings import Subject, Unchecked
from ..model.lookups import Index, Items
from .place import (
    NamePlace,
    StoredName,
    StoredNames,
    Text,
    WantedName,
)


class OvnPorts(NamePlace):
    """Chassis and logical switch ports."""

    text = Text(
        "OVN databases: `Chassis.hostname`; for each logical switch port, `options:requested-chassis` and neutron's "
        "labels",
        "OVN's northbound and southbound database, if `ovn_nb_connection` and `ovn_sb_connection` are set",
        "the run makes three changes in this order: (1) it changes the ports so that they request the chassis by its "
        "system-id; (2) it changes the hostname of the chassis; (3) it changes the ports so that they request the new "
        "hostname, and writes the new hostname into the labels of the ports",
        "the run undoes the three changes of the rename in reverse order",
        "the name of the chassis (its system-id), which no rename changes",
    )
    codes = ("SG310", "SG318", "SG322")
    steps = ("ovn_ports_by_chassis", "ovn_hostname", "ovn_ports_by_host")
    noun = "port"
    against_rename = False

    def stored(self, index: Index) -> StoredNames:
        """Every hostname of a chassis and every host that a port names."""
        databases = index.bundle.databases
        ovn = databases.ovn if databases is not None else None
        for chassis in (ovn.chassis if ovn else None) or []:
            yield StoredName(Subject("host", chassis.name, host=chassis.hostname), "OVN chassis", chassis.hostname)
        for port in (ovn.switch_ports if ovn else None) or []:
            subject = Subject("port", port.name, host=port.host_id or port.requested)
            for word in (port.requested or "").split(","):
                yield StoredName(subject, "OVN requested-chassis", word or None)
            yield StoredName(subject, "OVN neutron:host_id", port.host_id)
            yield StoredName(subject, "OVN neutron:parent_hostname", port.parent_hostname)

    def is_own(self, entry: StoredName, wanted: WantedName) -> bool:
        """By its old name."""
        return entry.name == wanted.old

    def unread(self, index: Index) -> Items:
        """They were to be read, and were not."""
        databases = index.bundle.databases
        ovn = databases.ovn if databases is not None else None
        if ovn is not None and (ovn.chassis is None or (ovn.scope and ovn.switch_ports is None)):
            yield Unchecked("SG322", "all", "the chassis or the logical switch ports in OVN's databases were not read")


PLACE = OvnPorts()
