# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is cleared on a host that comes back, in which order. Pure.

The order is the safety: what could write is ended while Ceph still refuses it. No step needs to be taken back, and each
is made from what is still there: after an interruption, the same command does the rest.
"""

from __future__ import annotations

import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.checks.before.return_host import Clearing
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import CONTROLLER, HOST, Change, Plan, Step
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count


def plan(host: str, clearing: Clearing, status: str, uri: str) -> Plan:
    """Return the steps. ``status``: what a released service gets; ``uri``: libvirt's on the host."""
    steps = [*_domains(host, clearing, uri), *_blocklist(clearing), *_service(host, clearing, status)]
    return Plan("return", "none", host, steps, notes(host, clearing))


def notes(host: str, clearing: Clearing) -> t.List[str]:
    """Return what is left to the operator, in order."""
    if clearing.held_until_start is not None and clearing.started:
        return [
            (
                f"nova-compute runs on {host} and has unfinished evacuation records: each start ends one record of a "
                "server"
            ),
            f"then restart nova-compute on {host}, wait for Join ServiceGroup in its log, and run return_host again",
        ]
    if clearing.held_until_start is not None:
        return [
            f"then start nova-compute on {host}: its service stays disabled and forced down",
            "then run return_host again: it releases the service, which Nova refuses before",
        ]
    return ["start nova-compute when this run has ended: return_host does not start it"]


def domain_params(clearing: Clearing, uri: str) -> t.Dict[str, t.Any]:
    """Return what the host gets: each domain with what guards its end."""
    keys = ("uuid", "name", "state", "pid", "pid_start")
    return {"uri": uri, "domains": [{key: getattr(domain, key) for key in keys} for domain in clearing.domains]}


def _domains(host: str, clearing: Clearing, uri: str) -> t.Iterator[Step]:
    if clearing.domains:
        title = f"End {count(len(clearing.domains), 'domain')} of servers that live elsewhere (disks stay in Ceph)"
        changes = [
            Change(
                f"libvirt on {host}", f"{domain.nova_name or domain.name} ({domain.uuid})", domain.state, "undefined"
            )
            for domain in clearing.domains
        ]
        yield Step("domains", title, HOST, "end_domains", domain_params(clearing, uri), changes)


def lift_params(clearing: Clearing) -> t.List[t.Dict[str, t.Any]]:
    """Return what each cluster's reader gets: the addresses, and the cluster and pool that it must be."""
    return [
        {"fsid": lift.fsid, "pool": lift.pool, "reader": lift.reader, "addresses": sorted(lift.addresses)}
        for lift in clearing.lifts
    ]


def _blocklist(clearing: Clearing) -> t.Iterator[Step]:
    if clearing.lifts:
        changes = [
            Change(f"Ceph {lift.fsid}", f"OSD blocklist: {address} ({why})", "refused", "not listed")
            for lift in clearing.lifts
            for address, why in sorted(lift.addresses.items())
        ]
        params = {"lifts": lift_params(clearing)}
        yield Step("blocklist", "Remove this host's entries from Ceph's blocklist", HOST, "unblock", params, changes)


def _service(host: str, clearing: Clearing, status: str) -> t.Iterator[Step]:
    if clearing.reason is not None:
        before = f"disabled, forced down ({clearing.reason})"
        changes = [Change("compute API", f"nova-compute of {host}", before, f"{status}, not forced down")]
        yield Step(
            "release", "Release the compute service", CONTROLLER, "release", {"reason": clearing.reason}, changes
        )
