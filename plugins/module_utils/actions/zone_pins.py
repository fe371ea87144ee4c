# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pins many servers, one after the other. Each change is whole by itself: a run that was killed is begun again."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.actions import zone_pin
from ansible_collections.stackguard.nova.plugins.module_utils.errors import StackguardError
from ansible_collections.stackguard.nova.plugins.module_utils.plans.zone_pins import PinChange


@dataclasses.dataclass(frozen=True)
class Pinned:
    """How one change ended: ``changed``, ``already``, ``gone``, or ``failed`` with the reason."""

    server: str
    name: str
    before: t.Optional[str]
    after: t.Optional[str]
    method: str
    outcome: str
    reason: t.Optional[str] = None


FAILED = "failed"


def carry_out(
    cloud: t.Any, url: t.Optional[str], changes: t.Sequence[PinChange], say: t.Callable[[str], None]
) -> t.List[Pinned]:
    """Make every change. One that fails was not made, and does not keep the others from being made."""
    done = []
    for number, change in enumerate(changes, 1):
        reason = None
        try:
            outcome = zone_pin.Pins(cloud, change.method, url).swap(change.server, change.before, change.after)
        except StackguardError as error:
            outcome, reason = FAILED, str(error)
        said = reason or f"{change.before or 'no pin'} -> {change.after or 'no pin'} ({change.method}): {outcome}"
        say(f"{number}/{len(changes)} {change.name}: {said}")
        done.append(Pinned(change.server, change.name, change.before, change.after, change.method, outcome, reason))
    return done
