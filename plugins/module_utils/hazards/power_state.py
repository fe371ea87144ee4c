# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Is a guest off that Nova shows as running? SG710. Pure.

When a host reboots, its guests are off, and Nova shows them as ACTIVE until nova-compute compares the two
(nova/compute/manager.py, C(_sync_power_states): soon after its start, then every C(sync_power_state_interval) seconds,
600 by default). libvirt refuses the live migration of such a guest, and Nova takes a migration whose domain does not
run for a complete one (nova/virt/libvirt/migration.py, C(find_job_type), 26 to 34): it removes the domain from the
source, with its disks where these are not shared, says that the server is on the destination, and finds no guest there.

So what was not read keeps the server where it is. The opposite, a guest that runs although Nova shows it as SHUTOFF, is
no hazard of a move: nova-compute powers it off by itself when it compares the two.
"""

from __future__ import annotations

import typing as t

from ..capacity.placement import LIVE
from ..model.codes.catalogue import remedy_text
from ..model.facts import ApiServer, HostFacts
from ..model.findings import Subject, finding
from ..model.lookups import Items, uuid_key

#: States of a libvirt domain whose QEMU runs: what a live migration can move.
RUNS = ("running", "paused", "blocked")


def check(
    host: str,
    servers: t.Iterable[ApiServer],
    facts: t.Optional[HostFacts],
    methods: t.Mapping[str, t.Optional[str]],
) -> Items:
    """Compare the servers of one host that would move live with its domains. ``methods``: how each status moves.

    ``facts`` None: unread. A server with a task is left to SG701, because its state in Nova and the one in libvirt
    change at different times. A server without a domain may have come after the host was read: the next run moves it.
    """
    live = [server for server in servers if server.task_state is None and methods.get(server.status) == LIVE]
    states = None
    if facts is not None and facts.domains is not None:
        states = {uuid_key(domain.uuid): domain.state for domain in facts.domains}
    for server in live:
        state = UNREAD if states is None else states.get(uuid_key(server.id), NO_DOMAIN)
        if state not in RUNS:
            evidence = {"status in Nova": server.status, "state in libvirt": state}
            remedy = remedy_text("SG710", _REMEDY_STATES.get(state, "shown-running-and-off"))
            yield finding("SG710", Subject("instance", server.id, server.name, host), evidence, remedy)


UNREAD, NO_DOMAIN, OFF = "not read", "no domain", "not running"
_REMEDY_STATES = {UNREAD: "libvirt-unread", NO_DOMAIN: "shown-running-without-domain"}
