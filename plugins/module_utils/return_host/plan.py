# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is cleared on a host that comes back, in which order. Pure.

The order is the safety: what could write is ended while Ceph still refuses it. No step is taken back, and each is made
from what is still there: a run that resumes makes its plan from what it reads then.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.facts import Domain, to_plain
from ..model.plan import CONTROLLER, HOST, Change, Plan, Step
from ..model.wording import count
from .preflight import Clearing

#: Names of the steps, in their order.
REQUESTS, DOMAINS, DIRECTORIES, ALLOCATIONS, BLOCKLIST, RELEASE = STEPS = (
    *("requests", "domains", "directories", "allocations", "blocklist", "release"),
)


def kind_of(host: str) -> str:
    """Return the kind of a host's journal: one for each host. Nova's databases compare names without case."""
    return f"return-{host.casefold()}"


def plan(operation_id: str, host: str, clearing: Clearing, status: str, uri: str) -> Plan:
    """Return the steps. ``status``: what a released service gets; ``uri``: libvirt's on the host."""
    steps = [
        *_requests(host, clearing),
        *_domains(host, clearing, uri),
        *_directories(host, clearing, uri),
        *_allocations(clearing),
        *_blocklist(clearing),
        *_service(host, clearing, status),
    ]
    return Plan(kind_of(host), operation_id, host, steps, notes(host, clearing))


def beyond(now: Plan, begun: Plan) -> t.List[str]:
    """Return what one plan would clear and another one would not, for people."""
    known = {key for key, _label in _cleared(begun)}
    return [label for key, label in _cleared(now) if key not in known]


def extended(begun: Plan, now: Plan) -> Plan:
    """Return the plan of an open operation with what is to be cleared now; a step that is not needed now is kept."""
    steps = {**{step.name: step for step in begun.steps}, **{step.name: step for step in now.steps}}
    return dataclasses.replace(begun, steps=[steps[name] for name in STEPS if name in steps], notes=now.notes)


def _cleared(made: Plan) -> t.Iterator[t.Tuple[t.Tuple[str, ...], str]]:
    """Each thing that a plan clears: what tells it from others, and what people call it."""
    for step in made.steps:
        for domain in step.params.get("domains") or ():
            yield (step.name, str(domain["uuid"])), f"domain {domain['name']} ({domain['uuid']})"
        for directory in step.params.get("directories") or ():
            yield (step.name, str(directory["name"])), f"directory {directory['name']} in {step.params['path']}"
        for held in step.params.get("allocations") or ():
            yield (step.name, held["consumer"]), f"allocation of migration {held['consumer']} on {held['name']}"
        for lift in step.params.get("lifts") or ():
            for address in lift["addresses"]:
                yield (
                    (step.name, str(lift["fsid"]), str(address)),
                    (f"blocklist entry {address} in Ceph cluster {lift['fsid']}"),
                )
        if step.name == REQUESTS:
            # Also in a plan of a version that did not look: a resume of it looks.
            yield (step.name,), "requests that wait in RabbitMQ"
        if step.name == RELEASE:
            yield (step.name, str(step.params["reason"])), f"disabled compute service ({step.params['reason']})"


def notes(host: str, clearing: Clearing) -> t.List[str]:
    """Return what is left to the operator, in order."""
    if clearing.held_until_start is not None and clearing.started:
        return [
            (
                f"nova-compute runs on {host}, but Nova still has unfinished evacuation records of this host. A server "
                "that was evacuated twice has two records, and each start of nova-compute completes only one of the "
                "two"
            ),
            f"restart nova-compute on {host}, wait until its log shows 'Join ServiceGroup', then run return_host again",
        ]
    if clearing.held_until_start is not None:
        return [
            (
                f"when this run has ended, start nova-compute on {host} (the compute service is still disabled and "
                "forced down)"
            ),
            (
                "when nova-compute has started, run return_host again. Only then can the run end the forced-down state "
                "of the compute service"
            ),
        ]
    return ["start nova-compute when this run has ended, unless it runs already: return_host does not start it"]


def domain_params(clearing: Clearing, uri: str) -> t.Dict[str, t.Any]:
    """Return what the host gets: each domain with what guards its end."""
    keys = ("uuid", "name", "state", "pid", "pid_start", "managed_save")
    return {"uri": uri, "domains": [{key: getattr(domain, key) for key in keys} for domain in clearing.domains]}


def _requests(host: str, clearing: Clearing) -> t.Iterator[Step]:
    """First of all: what must not be executed here goes while Ceph still refuses what this host writes."""
    if clearing.requests:
        title = "Read the requests that wait in RabbitMQ for this host, and remove those that must not be executed"
        change = Change("RabbitMQ", f"requests for {host}", "may wait", "none for a server of another host")
        yield Step(REQUESTS, title, CONTROLLER, "settle_requests", {}, [change])


def _domains(host: str, clearing: Clearing, uri: str) -> t.Iterator[Step]:
    if clearing.domains:
        title = (
            f"End {count(len(clearing.domains), 'domain')} whose servers are on other hosts (the disks stay in Ceph)"
        )
        changes = [
            Change(f"libvirt on {host}", f"{domain.nova_name or domain.name} ({domain.uuid})", *_ends(domain))
            for domain in clearing.domains
        ]
        yield Step(DOMAINS, title, HOST, "end_domains", domain_params(clearing, uri), changes)


def _ends(domain: Domain) -> t.Tuple[str, str]:
    """Return a domain before and after. Its managed save is memory of a disk that its server has written since.

    Nova removes it, too, when a start of nova-compute ends the domain (virt/libvirt/guest.py, delete_configuration).
    """
    if domain.managed_save:
        return f"{domain.state}, with a managed save image", "undefined, managed save image removed"
    return domain.state, "undefined"


def _directories(host: str, clearing: Clearing, uri: str) -> t.Iterator[Step]:
    """Those of domains that are to be ended count before: nothing says until then whether they are left over."""
    found = {entry.name: to_plain(entry) for entry in clearing.directories}
    names = sorted({*found, *(domain.uuid for domain in clearing.domains)})
    path = clearing.instances_path
    if names and path is not None:
        title = f"Move {count(len(names), 'directory of an instance', 'directories of instances')} aside on {host}"
        changes = [
            Change(f"{path} on {host}", name, "may be left", "moved aside, if it holds no disk") for name in names
        ]
        directories = [found.get(name, {"name": name, "uuid": name}) for name in names]
        params = {"path": path, "uri": uri, "directories": directories}
        yield Step(DIRECTORIES, title, HOST, "move_aside", params, changes)


def _allocations(clearing: Clearing) -> t.Iterator[Step]:
    if clearing.allocations:
        title = f"Remove {count(len(clearing.allocations), 'allocation')} of migrations that have ended"
        changes = [
            Change(f"placement, provider {held.name}", f"migration {held.consumer}", str(dict(held.resources)), "none")
            for held in clearing.allocations
        ]
        params = {"allocations": [to_plain(held) for held in clearing.allocations]}
        yield Step(ALLOCATIONS, title, CONTROLLER, "release_allocations", params, changes)


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
        yield Step(BLOCKLIST, "Remove this host's entries from Ceph's blocklist", HOST, "unblock", params, changes)


def _service(host: str, clearing: Clearing, status: str) -> t.Iterator[Step]:
    if clearing.reason is not None:
        before = f"disabled, forced down ({clearing.reason})"
        changes = [Change("compute API", f"nova-compute of {host}", before, f"{status}, not forced down")]
        yield Step(RELEASE, "Release the compute service", CONTROLLER, "release", {"reason": clearing.reason}, changes)
