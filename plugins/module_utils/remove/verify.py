# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is left of hosts after their removal: SG331 of each that is not gone from everywhere. Pure."""

from __future__ import annotations

import typing as t

from ..hazards.removed_hosts import left_finding
from ..model.findings import Checked
from . import plan as plans
from . import preflight as checks

#: By what the operator keeps: the places of SG331.
_KEPT: t.Mapping[str, t.Tuple[str, ...]] = {
    plans.PROVIDERS: ("resource providers",),
    plans.AGENTS: ("network agents", "chassis of OVN"),
    plans.MASAKARI: ("hosts of Masakari",),
    plans.QUEUES: ("queues",),
}


def left(found: checks.Found, names: t.Sequence[str], keep: t.Collection[str]) -> Checked:
    """Return what is left of these hosts, without what is kept."""
    kept = {place for word in keep for place in _KEPT[word]}
    hosts = [checks.host_of(found, name).gone for name in names]
    return Checked(tuple(left_finding(host) for host in hosts if set(host.places) - kept))
