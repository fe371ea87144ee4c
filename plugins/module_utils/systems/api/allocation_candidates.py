# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What placement offers for a server: the question, as the scheduler would ask it, and the hosts of the answer."""

from __future__ import annotations

import typing as t

from ...capacity import leaving_guests
from ...model import facts
from . import http, resource_providers

#: Required and forbidden traits; nested providers and their roots in the summaries.
CANDIDATES = "1.29"


def free_capacity(connection: t.Any) -> t.Dict[str, t.Dict[str, int]]:
    """Return root provider uuid to resource class to what is free. A provider with no memory left is not shown."""
    params = {"resources": "MEMORY_MB:1"}
    answer = http.call(connection, http.PLACEMENT, "GET", "/allocation_candidates", CANDIDATES, params=params)
    free: t.Dict[str, t.Dict[str, int]] = {}
    for uuid, summary in answer["provider_summaries"].items():
        held = free.setdefault(summary.get("root_provider_uuid") or uuid, {})
        for resource, amounts in summary["resources"].items():
            held[resource] = held.get(resource, 0) + amounts["capacity"] - amounts["used"]
    return free


def list_offers(connection: t.Any, query: t.Mapping[str, str]) -> t.List[str]:
    """Return the root providers of the hosts that placement offers for a query."""
    answer = http.call(connection, http.PLACEMENT, "GET", "/allocation_candidates", CANDIDATES, params=query)
    roots = {uuid: summary.get("root_provider_uuid") or uuid for uuid, summary in answer["provider_summaries"].items()}
    return sorted(
        {roots.get(uuid, uuid) for request in answer["allocation_requests"] for uuid in request["allocations"]}
    )


def candidates_query(amounts: t.Mapping[str, int], specs: t.Mapping[str, str]) -> t.Dict[str, str]:
    """Return what to ask placement for: resources, the traits that a flavor requires or forbids, numbered groups.

    Groups with a word instead of a number are left out: the answer is wider then, and the scheduler has the last word.
    """
    query = {"resources": _amounts(amounts), **_traits("", specs)}
    groups = {suffix: held for suffix, held in leaving_guests.granular(specs).items() if suffix.isdigit()}
    for suffix, held in groups.items():
        query.update({f"resources{suffix}": _amounts(held), **_traits(suffix, specs)})
    return {**query, **({"group_policy": specs.get("group_policy", "none")} if groups else {})}


def zone_query(flavor: facts.ServerFlavor, root: bool, aggregates: t.Sequence[str]) -> t.Dict[str, str]:
    """Return what to ask placement for. Never more than the scheduler would: what fits is never said not to fit."""
    specs = flavor.extra_specs or {}
    amounts = leaving_guests.of_flavor(flavor, root)
    if specs.get("hw:cpu_policy") in ("dedicated", "mixed"):
        amounts.pop("VCPU", None)
    for name, value in specs.items():
        if name.startswith("resources:") and value.isdigit():
            amounts[name[len("resources:") :]] = int(value)
    query = candidates_query(amounts, specs)
    return {**query, **({"member_of": "in:" + ",".join(sorted(aggregates))} if aggregates else {})}


def scheduled(query: t.Mapping[str, str]) -> t.Dict[str, str]:
    """Return the same question without hosts that the scheduler passes over.

    nova-compute takes the trait off some time after its service is enabled, up to a minute
    (nova/scheduler/request_filter.py compute_status_filter, nova/compute/manager.py, 26 to 34).
    """
    traits = [f"!{resource_providers.DISABLED_TRAIT}", *filter(None, query.get("required", "").split(","))]
    return {**query, "required": ",".join(traits)}


def _amounts(amounts: t.Mapping[str, int]) -> str:
    return ",".join(f"{name}:{amount}" for name, amount in sorted(amounts.items()) if amount)


def _traits(suffix: str, specs: t.Mapping[str, str]) -> t.Dict[str, str]:
    words, head = {"required": "", "forbidden": "!"}, f"trait{suffix}:"
    traits = [
        f"{words[value]}{name[len(head) :]}"
        for name, value in sorted(specs.items())
        if name.startswith(head) and value in words
    ]
    return {f"required{suffix}": ",".join(traits)} if traits else {}
