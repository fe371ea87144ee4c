# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a fence needs of the role: to act and to read back, or only to read back.

How often it is read back and what of the answers is proof stands at its kind: C(model/fences/).
"""

from __future__ import annotations

import typing as t

from ...engine import needs
from ...model.fences.catalogue import FENCES, of_addresses
from ...model.fences.fence import FenceTarget, Json, ProofError

#: Seconds between two readings.
BETWEEN = 5.0


def needs_of(kind: str, target: FenceTarget, act: bool) -> t.List[Json]:
    """Return what the role is to do. ``act`` false: only read back.

    Raises :class:`ProofError` where a fence of addresses has none, and for what is no fence that is read back.
    """
    fence = FENCES.get(kind)
    if fence is None or not fence.readings:
        raise ProofError(f"the run cannot read back the state of a fence of kind {kind!r}")
    if of_addresses(kind) and not (target.clusters and all(entry["addresses"] for entry in target.clusters)):
        raise ProofError(
            "the run knows no address of the host, so the run cannot add the host to the OSD blocklist",
            problem="knows-no-address",
        )
    clusters = target.clusters if of_addresses(kind) else ()
    asked = [needs.fence(kind, act, clusters)]
    for _reading in range(fence.readings - 1):
        asked += [needs.wait(BETWEEN), needs.fence(kind, False, clusters)]
    return asked
