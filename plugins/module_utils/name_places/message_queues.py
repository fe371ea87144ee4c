# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name in RabbitMQ's queues: requests for ``compute.NAME`` are executed by whoever has the name. Pure."""

from __future__ import annotations

from .place import NamePlace, Text


class MessageQueues(NamePlace):
    """Queues and what waits in them, read by steps of their own (hazards/queues.py)."""

    text = Text(
        "RabbitMQ: the queues `compute.NAME` and, since Nova release 33, `compute-alt.NAME`",
        "RabbitMQ of the host's cell (`cell_mappings.transport_url`, or `stackguard_rabbit_urls`); if the run cannot "
        "read it, the report lists the queues as `unchecked`, with the commands to run",
        "if the run can read RabbitMQ, it removes the queues that have the old name, after nova-compute has "
        "created queues with the new name",
        "nothing to undo: nova-compute creates its queues when it starts",
        "if the run cannot read RabbitMQ, the queues that have the old name remain until an operator deletes these "
        "queues",
    )
    codes = ("SG307", "SG315", "SG316", "SG121")


PLACE = MessageQueues()
