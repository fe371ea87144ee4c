# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name in neutron's own rows of port bindings and segments, where OVN binds the ports. Pure."""

from __future__ import annotations

from ..model.findings import Subject, Unchecked
from ..model.lookups import Index, Items
from .place import (
    NamePlace,
    StoredName,
    StoredNames,
    Text,
)


class NeutronBindingRows(NamePlace):
    """Rows that neutron writes OVN's ports from."""

    text = Text(
        "neutron database, if the host uses OVN: `ml2_port_bindings.host`, `ml2_port_binding_levels.host`, "
        "`segmenthostmappings.host`",
        "neutron's database. The run reads these tables only if `ovn_nb_connection` and `ovn_sb_connection` are set",
        "after the chassis has the new hostname, the run updates every row that contains the old name, in one "
        "transaction",
        "the run restores the old name in the rows that the rename changed",
        "the field `parent_hostname` in `vif_details` of virtual ports keeps the old name",
    )
    codes = ("SG310", "SG324")
    steps = ("neutron_bindings",)
    noun = "row"
    against_rename = False

    def stored(self, index: Index) -> StoredNames:
        """Every host of each table."""
        databases = index.bundle.databases
        rows = databases.neutron.bindings if databases is not None and databases.neutron is not None else None
        if rows is None:
            return
        for binding in rows.bindings:
            yield StoredName(
                Subject("port", binding.port_id, host=binding.host), "ml2_port_bindings.host", binding.host
            )
        for level in rows.levels:
            yield StoredName(
                Subject("port", level.port_id, host=level.host), "ml2_port_binding_levels.host", level.host
            )
        for segment in rows.segments:
            subject = Subject("host", segment.segment_id, host=segment.host)
            yield StoredName(subject, "segmenthostmappings.host", segment.host)

    def unread(self, index: Index) -> Items:
        """They were to be read, and were not."""
        databases = index.bundle.databases
        if databases is None or databases.ovn is None or not databases.ovn.scope or databases.neutron is None:
            return
        if databases.neutron.bindings is None:
            yield Unchecked("SG324", "all", "the port bindings of neutron's database were not read")


PLACE = NeutronBindingRows()
