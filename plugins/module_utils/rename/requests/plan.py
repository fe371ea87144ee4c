# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of a rename that look into RabbitMQ, where its URL was given. Pure."""

from __future__ import annotations

from ...hazards import queues
from ...model.plan import CONTROLLER, Change, Step


def drain(old: str, new: str, timeout: int) -> Step:
    """Before nova-compute stops: it has taken what waits for it."""
    params = {"old": old, "new": new, "timeout": timeout}
    title = f"wait until RabbitMQ has no requests for {old}"
    return Step("drain_queues", title, CONTROLLER, "drain_queues", params)


def report(old: str) -> Step:
    """After its start under the new name: what came in between."""
    title = f"list the requests that are left in RabbitMQ for {old}"
    return Step("old_requests", title, CONTROLLER, "old_requests", {"old": old})


def remove(old: str) -> Step:
    """The end of it: a later host of the old name finds nothing to execute."""
    changes = [
        Change(f"RabbitMQ queue {name}", "queue", "as it is", "removed, if it exists") for name in queues.names_of(old)
    ]
    title = f"remove the queues of {old} from RabbitMQ"
    return Step("remove_queues", title, CONTROLLER, "remove_queues", {"old": old}, changes)
