# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Is the new name of a host free in every place? SG310, and SG113 where it would destroy guests. Pure.

Names that differ only in case are taken: MySQL's unique keys say so. The places are those of C(name_places/).
"""

from __future__ import annotations

import typing as t

from ...model.codes.catalogue import remedy_text
from ...model.findings import INFO, Subject, finding
from ...model.lookups import (
    Index,
    Item,
    Items,
    migration_evidence,
    migration_subject,
    open_evacuation,
    same_name,
)
from ...name_places.catalogue import PLACES
from ...name_places.host_itself import unasked
from ...name_places.place import WantedName

#: Neutron keeps these rows when a chassis gets another hostname, or is deleted, and takes them up again: a row that is
#: there already is none that it adds (plugins/ml2/drivers/ovn, update_segment_host_mapping; services/segments/db.py).
_KEPT_BY_NEUTRON = {"segmenthostmappings.host"}


def check(index: Index, request: WantedName, in_place: bool = True) -> Items:
    """One finding for each object that bears a new name, with every place it does so in.

    ``in_place``: the run would write the name into these places, and not only let Nova and neutron make new rows.
    """
    found: t.Dict[t.Tuple[str, str], t.Tuple[Subject, t.List[t.List[t.Optional[str]]]]] = {}
    for entry in (entry for place in PLACES for entry in place.taken(index, request)):
        _subject, stores = found.setdefault((entry.subject.kind, entry.subject.id), (entry.subject, []))
        if [entry.store, entry.name] not in stores:
            stores.append([entry.store, entry.name])
    for subject, stores in found.values():
        if not in_place and {store for store, _name in stores} <= _KEPT_BY_NEUTRON:
            remedy = remedy_text("SG310", "segment-mapping-kept-by-neutron")
            yield finding("SG310", subject, {"found in": stores}, remedy, INFO)
        else:
            yield finding("SG310", subject, {"found in": stores}, remedy_text("SG310", "name-taken"))
    yield from _evacuations(index, request)
    yield from _deleted(index, request)
    yield from unasked(index, request.inventory_name)


# --- what is worse, and what is harmless ----------------------------------------------------------------------


def _evacuations(index: Index, request: WantedName) -> Items:
    """SG113: evacuations *from the new name* would be reaped on the renamed host at its first start.

    manager.py, _destroy_evacuated_instances, compares nothing but the name (26 to 34; facts of nova, 0.4).
    """
    for place, row in index.migrations:
        if open_evacuation(row) and request.wants(row.source_compute):
            remedy = remedy_text("SG113", "evacuated-from-new-name")
            evidence = {"rule": "_destroy_evacuated_instances", **migration_evidence(row, place)}
            yield finding("SG113", migration_subject(row), evidence, remedy)


def _deleted(index: Index, request: WantedName) -> Items:
    """Soft-deleted rows keep their name; the unique keys include ``deleted``, so they are in nobody's way."""
    for cell in index.cells or []:
        for service in cell.services or []:
            if service.deleted and request.wants(service.host):
                yield _harmless(Subject("service", service.uuid or str(service.id), host=service.host), cell.name)
        for node in cell.compute_nodes or []:
            if node.deleted and (request.wants(node.host) or request.wants(node.hypervisor_hostname)):
                key = node.uuid or str(node.id)
                if not same_name(node.uuid, request.node_uuid):
                    subject = Subject("compute_node", key, node.hypervisor_hostname, node.host)
                    yield _harmless(subject, cell.name)


def _harmless(subject: Subject, cell: str) -> Item:
    remedy = remedy_text("SG310", "row-soft-deleted")
    return finding("SG310", subject, {"read from": f"cell {cell}", "soft-deleted": True}, remedy, INFO)
