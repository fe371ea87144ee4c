# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What carries out the steps of plans: one implementation for each action that a plan names.

On the controller C(actions) of all files of steps in this wing carry them out, on hosts C(systems/host/steps.py).
Steps of an evacuation and of a return need what only Ansible can do (fences, other hosts): the operation asks for it.
Where a plan changes many rows alike, one function changes them all. C(tests/unit/steps/test_registry.py) names these,
and finds every plan and every C(actions) by itself.
"""

from __future__ import annotations

import typing as t

from ..engine.runner import Action
from ..engine.systems import Systems
from .adopt import steps as adopt
from .containers import steps as containers
from .drain import steps as rename_by_drain
from .in_place import steps as rename
from .ovn import drain_steps as ovn_drain
from .ovn import steps as ovn
from .requests import queue_steps as queues
from .requests import steps as guest_requests

_RENAME = (rename, adopt, guest_requests, queues, ovn, ovn_drain, rename_by_drain, containers)


def joined(*several: t.Mapping[str, Action]) -> t.Dict[str, Action]:
    """Return the actions of several files as one. Raises ValueError for a name twice."""
    found: t.Dict[str, Action] = {}
    for actions in several:
        for name, action in actions.items():
            if name in found:
                raise ValueError(f"two implementations of {name}")
            found[name] = action
    return found


def of_rename(systems: Systems, moves: rename_by_drain.GuestMoves) -> t.Dict[str, Action]:
    """Return the controller's actions of a rename, in place and by draining. Raises ValueError for a name twice."""
    others = [room.actions(systems) for room in _RENAME if room is not rename_by_drain]
    return joined(*others, rename_by_drain.actions(systems, moves))
