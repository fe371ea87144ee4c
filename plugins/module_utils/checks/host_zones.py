# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""In which zones are the hosts? SG403. Pure.

A host's zone is that of its aggregates (nova/availability_zones.py). Nova takes any one of several, so that servers
pinned to the other cannot be moved where they belong.
"""

from __future__ import annotations

import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.checks.common import Items, gather
from ansible_collections.stackguard.nova.plugins.module_utils.facts import Bundle
from ansible_collections.stackguard.nova.plugins.module_utils.findings import Checked, Subject, Unchecked, finding


def check(bundle: Bundle) -> Checked:
    """Check every host of every aggregate."""
    return gather(_several(bundle))


def zones_of(bundle: Bundle) -> t.Optional[t.Dict[str, t.Dict[str, t.List[str]]]]:
    """Return hosts to their zones, each with the aggregates that say so; None: unread. The databases speak first."""
    databases, cloud = bundle.databases, bundle.cloud
    members: t.List[t.Tuple[t.Optional[str], t.Optional[str], str]]
    if databases is not None and databases.api is not None and databases.api.aggregate_hosts is not None:
        members = [
            (row.host, row.availability_zone, row.aggregate_name or str(row.aggregate_id))
            for row in databases.api.aggregate_hosts
        ]
    elif cloud is not None and cloud.aggregates is not None:
        members = [(host, entry.availability_zone, entry.name) for entry in cloud.aggregates for host in entry.hosts]
    else:
        return None
    found: t.Dict[str, t.Dict[str, t.List[str]]] = {}
    for host, zone, aggregate in sorted(members, key=repr):
        if host is not None and zone is not None:
            found.setdefault(host, {}).setdefault(zone, []).append(aggregate)
    return found


def _several(bundle: Bundle) -> Items:
    found = zones_of(bundle)
    if found is None:
        yield Unchecked("SG403", "all", "the aggregates were not read")
        return
    for host, zones in sorted(found.items()):
        if len(zones) > 1:
            remedy = "Take it out of the aggregates of all zones but one: openstack aggregate remove host."
            yield finding("SG403", Subject("host", host, host=host), {"zones to aggregates": zones}, remedy)
