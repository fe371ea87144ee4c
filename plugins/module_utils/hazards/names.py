# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Does every place that stores a host's name say the same one? SG301 to SG306, SG309. Pure.

The places are those of C(name_places/); each judges its own names. Names are compared byte by byte, as Nova's Python
does. A name that differs only in case is reported: MySQL finds it and hides the difference.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.facts import Bundle
from ..model.findings import BLOCKER, WARNING, Checked, Unchecked
from ..model.lookups import Index, Item, Items, gather, same_name
from ..name_places import neutron_agents
from ..name_places.catalogue import PLACES


def check(bundle: Bundle, index: t.Optional[Index] = None) -> Checked:
    """Check every name of every store that was read. ``index``: of the bundle, where there is one already."""
    index = index or Index(bundle)
    items: t.List[Item] = [item for place in PLACES for item in (*place.unread(index), *place.stale(index))]
    return gather([*items, *neutron_agents.dead_agents(index)])


def host_items(index: Index, host: str) -> Items:
    """What is decided of one host by its name, from every store that has it. Then a warning is a blocker as well."""
    for place in PLACES:
        for item in place.stale(index) if place.against_rename else ():
            if isinstance(item, Unchecked) or not same_name(item.object.host, host):
                continue
            half = item.code == "SG301" and item.severity == WARNING
            yield dataclasses.replace(item, severity=BLOCKER) if half else item
