# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every way to fence a dead host, in the order in which the documentation shows them. Pure."""

from __future__ import annotations

import typing as t

from . import attested, blocklist, command, power
from .fence import ADDRESSES, MACHINE, FenceKind

FENCES: t.Dict[str, FenceKind] = {
    entry.name: entry for entry in (power.FENCE, command.FENCE, blocklist.FENCE, attested.FENCE)
}
#: Fences that something can be read back of.
PROVABLE: t.Tuple[str, ...] = tuple(name for name, entry in FENCES.items() if entry.readings)

#: Of these, those that cover the machine with every disk.
OF_MACHINE: t.Tuple[str, ...] = tuple(name for name in PROVABLE if FENCES[name].covers == MACHINE)

#: Those that prove the machine to be without power.
POWERING_OFF: t.Tuple[str, ...] = tuple(name for name in PROVABLE if FENCES[name].powers_off)


def either(kinds: t.Sequence[str]) -> str:
    """Return kinds as a choice, for people: C(power, command or blocklist)."""
    return " or ".join(filter(None, (", ".join(kinds[:-1]), *kinds[-1:])))


def of_addresses(kind: t.Optional[str]) -> bool:
    """Whether a kind of fence covers addresses, and not the machine. False for what is no kind of fence."""
    entry = FENCES.get(kind or "")
    return entry is not None and entry.covers == ADDRESSES
