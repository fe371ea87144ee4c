# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is cleared on a host that comes back, in which order. Pure.

The order is the safety: what could write is ended while Ceph still refuses it. No step needs to be taken back, and each
is made anew from what is still there: interrupted, the same command goes on.
"""

from __future__ import annotations

import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.checks.returning import Clearing
from ansible_collections.stackguard.nova.plugins.module_utils.plans.model import CONTROLLER, HOST, Change, Plan, Step
from ansible_collections.stackguard.nova.plugins.module_utils.words import count


def plan(host: str, clearing: Clearing, status: str, uri: str) -> Plan:
    """Return the steps. ``status``: what a released service gets; ``uri``: libvirt's on the host."""
    steps = [*_domains(host, clearing, uri), *_blocklist(clearing), *_service(host, clearing, status)]
    return Plan("return", "none", host, steps, notes(host, clearing))


def notes(host: str, clearing: Clearing) -> t.List[str]:
    """Return what is left to the operator, in their order."""
    if clearing.held_until_start is not None:
        return [
            f"then start nova-compute on {host}: its service stays disabled and forced down",
            "then run return_host again: it lets the service go, which Nova refuses before",
        ]
    return ["nova-compute is not started: that is yours to do, when this has ended"]


def domain_params(clearing: Clearing, uri: str) -> t.Dict[str, t.Any]:
    """Return what the host is told: each domain with what guards its end."""
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


def _blocklist(clearing: Clearing) -> t.Iterator[Step]:
    if clearing.addresses:
        changes = [Change("Ceph", f"OSD blocklist: {address}", "refused", "let in") for address in clearing.addresses]
        params = {"addresses": list(clearing.addresses)}
        yield Step("blocklist", "Take this host off Ceph's blocklist", HOST, "unblock", params, changes)


def _service(host: str, clearing: Clearing, status: str) -> t.Iterator[Step]:
    if clearing.reason is not None:
        before = f"disabled, forced down ({clearing.reason})"
        changes = [Change("compute API", f"nova-compute of {host}", before, f"{status}, not forced down")]
        yield Step("release", "Let the compute service go", CONTROLLER, "release", {"reason": clearing.reason}, changes)
