# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deletes the chassis of a dead host through neutron, and looks in the southbound database whether it is gone.

Neutron deletes the rows of Chassis and of Chassis_Private. A living ovn-controller makes its chassis again at once.
"""

from __future__ import annotations

import typing as t

from ...model.errors import ApiError
from ...model.ovn import OvnChassis, OvnFacts
from ...systems.api import network

#: Seconds within which a deleted chassis must be gone, and between two looks.
GONE = 30.0
PAUSE = 1.0
#: Answers below this one are decisions of neutron's: nothing was deleted, and nothing will be.
UNDECIDED = 500


def remove(
    connection: t.Any,
    chassis: OvnChassis,
    read: t.Callable[[], OvnFacts],
    sleep: t.Callable[[float], None],
    monotonic: t.Callable[[], float],
) -> t.Optional[str]:
    """Delete a chassis, and return why it is not gone; None: it is.

    ``read``: reads the southbound database. What it shows decides, whatever neutron answered: an answer that was lost
    on its way is no failure, and a deletion that was accepted is no proof.
    """
    said = "neutron deleted the agent of the chassis"
    try:
        network.delete_agent(connection, chassis.name)
    except ApiError as error:
        status = error.data.get("status")
        said = f"neutron did not delete the agent of the chassis: {error.message}"
        if status is not None and int(status) < UNDECIDED:
            return said
    end = monotonic() + GONE
    while True:
        why = _still_there(chassis, read())
        if why is None or monotonic() >= end:
            return None if why is None else f"{said}; {why}"
        sleep(PAUSE)


def _still_there(chassis: OvnChassis, ovn: OvnFacts) -> t.Optional[str]:
    if ovn.chassis is None:
        reasons = "; ".join(entry.reason for entry in ovn.unread) or "no reason was given"
        return f"the run could not read whether the chassis is gone: {reasons}"
    left = [row for row in ovn.chassis if row.name == chassis.name or row.hostname == chassis.hostname]
    if not left:
        return None
    if any(row.uuid == chassis.uuid for row in left):
        return "the chassis is still in the southbound database"
    return (
        "the southbound database has a new chassis with the name or hostname of the removed chassis: "
        f"{left[0].name}. Check whether the machine of the removed chassis is powered on"
    )
