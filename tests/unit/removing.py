# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cloud from which hosts are removed: each system forgets what it is asked to, and nothing else."""

from __future__ import annotations

import dataclasses

from ansible_collections.stackguard.nova.plugins.module_utils.engine.runner import StepError, TimedOutError
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import Plan
from ansible_collections.stackguard.nova.plugins.module_utils.remove import plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.remove import preflight, steps, verify
from ansible_collections.stackguard.nova.tests.unit import builders


def attested(*names):
    """What the operator says of each host."""
    return [Override("SG506", name, "its disks are wiped") for name in names]


def with_links(bundle):
    """The links of a bundle, as the reader has them: every service and node that exists."""
    rows = [
        facts.CellLinks(
            name=cell.name,
            uuid=cell.uuid,
            location=cell.location,
            revision=cell.revision,
            has_compute_id=cell.has_compute_id,
            services=[row for row in cell.services or [] if not row.deleted],
            compute_nodes=[row for row in cell.compute_nodes or [] if not row.deleted],
            deleted_nodes=[],
            instances={},
            migrations=[],
            pci_devices=[],
            totals={},
        )
        for cell in bundle.databases.cells or []
    ]
    return dataclasses.replace(bundle, links=facts.LinkFacts(builders.AT, [], rows))


def found(some, ended=(), open_journals=(), closed=()):
    """What a removal reads of a cloud of the builders: no host is read, and each node's provider has Nova's traits."""
    nodes = {row.uuid for cell in some.bundle.databases.cells for row in cell.compute_nodes or []}
    cloud = some.bundle.cloud
    if cloud.providers is not None:
        rows = [
            dataclasses.replace(
                row,
                strays=row.allocations,
                has_compute_trait=row.has_compute_trait is not False if row.uuid in nodes else row.has_compute_trait,
            )
            for row in cloud.providers
        ]
        cloud = dataclasses.replace(cloud, providers=rows)
    bundle = dataclasses.replace(some.bundle, hosts={}, cloud=cloud)
    return preflight.Found(with_links(bundle), dict(ended), tuple(open_journals), frozenset(closed))


class World:
    """A cloud that changes: what the steps call, and what they read."""

    def __init__(self, some, monkeypatch, ended=()):
        held = [dataclasses.replace(row, allocations=row.allocations or {}) for row in some.rows("providers")]
        self.some, self.ended, self.left_queues = some.put("providers", held), ended, {}
        for module, name in (
            (steps.compute_services, "find_service"),
            (steps.compute_services, "delete_service"),
            (steps.row_sets, "delete_and_make"),
            (steps.row_sets, "nodes_of_service"),
            (steps.row_sets, "instances_of_node"),
            (steps.resource_providers, "release_allocation"),
            (steps.resource_providers, "delete_provider"),
            (steps.resource_providers, "provider_consumers"),
            (steps.network, "delete_agent"),
            (steps.network, "agents_now"),
            (steps.masakari, "delete_ha_host"),
            (steps.host_aggregates, "list_aggregates"),
            (steps.host_aggregates, "refresh_aggregate"),
            (steps.waiting_requests, "look_into"),
            (steps.waiting_requests, "remove_queues"),
        ):
            monkeypatch.setattr(module, name, getattr(self, name))
        #: What a step asks before it changes something, such as whether this is still its operation.
        self.cloud, self.options, self.asked = None, {}, 0
        self.remarks = []
        #: Agents that neutron still shows, and for how many looks.
        self.deleted, self.late = [], 0
        #: Queues that are gone.
        self.emptied = set()

    # --- what a step is given

    def read(self, _name):
        return found(self.some, self.ended)

    def still_ours(self):
        self.asked += 1

    fresh = still_ours

    def remark(self, text):
        self.remarks.append(text)

    def url(self, _database):
        return ""

    # --- Nova

    def find_service(self, _cloud, host):
        return next((row for row in self.some.rows("api_services") if row.host == host), None)

    def delete_service(self, _cloud, uuid):
        (row,) = [row for row in self.some.rows("api_services") if row.id == uuid]
        if any(entry.host == row.host and not entry.deleted for entry in self.some.rows("instances")):
            raise ApiError("the host has servers", status=409)
        some = self.some.drop("api_services", {"id": uuid})
        nodes = [entry.uuid for entry in some.rows("compute_nodes") if entry.host == row.host and not entry.deleted]
        some = some.put("services", [_deleted(entry, entry.host == row.host) for entry in some.rows("services")])
        some = some.put("compute_nodes", [_deleted(one, one.host == row.host) for one in some.rows("compute_nodes")])
        for name in ("host_mappings", "aggregate_hosts"):
            some = some.put(name, [entry for entry in some.rows(name) if entry.host != row.host])
        shown = [
            dataclasses.replace(entry, hosts=[host for host in entry.hosts if host != row.host])
            for entry in some.rows("aggregates")
        ]
        some = some.put("aggregates", shown).put(
            "hypervisors", [entry for entry in some.rows("hypervisors") if entry.service_host != row.host]
        )
        # Placement refuses a provider that somebody holds, and Nova says nothing of it.
        held = {entry.uuid for entry in some.rows("providers") if entry.allocations}
        keep = [entry for entry in some.rows("providers") if entry.uuid not in nodes or entry.uuid in held]
        self.some = some.put("providers", keep)

    def nodes_of_service(self, _url, number, host):
        rows = [row for row in self.some.rows("compute_nodes") if not row.deleted]
        return [(row.id, row.uuid) for row in rows if row.host == host or row.service_id == number]

    def instances_of_node(self, _url, number, host):
        rows = [row for row in self.some.rows("instances") if not row.deleted]
        return len([row for row in rows if row.host == host or row.compute_id == number])

    def delete_and_make(self, _url, rows, added, before_commit):
        before_commit()
        assert not added
        for row in rows:
            kept = [entry for entry in self.some.rows(row["table"]) if entry.id != row["id"]]
            self.some = self.some.put(row["table"], kept)
            if row["table"] == "aggregate_hosts":
                host, identity = row["host"], row["aggregate_id"]
                shown = [
                    entry
                    if entry.id != identity
                    else dataclasses.replace(entry, hosts=[one for one in entry.hosts if one != host])
                    for entry in self.some.rows("aggregates")
                ]
                self.some = self.some.put("aggregates", shown)
        return len(rows), 0

    def list_aggregates(self, _cloud):
        return self.some.rows("aggregates")

    def refresh_aggregate(self, _cloud, identity):
        assert identity in {row.id for row in self.some.rows("aggregates")}

    # --- placement

    def release_allocation(self, _cloud, consumer, provider, resources):
        (row,) = [row for row in self.some.rows("providers") if row.uuid == provider]
        assert row.allocations[consumer] == resources
        rest = {key: value for key, value in row.allocations.items() if key != consumer}
        self.some = self.some.change("providers", {"uuid": provider}, allocations=rest)
        return True

    def delete_provider(self, _cloud, provider):
        (row,) = [row for row in self.some.rows("providers") if row.uuid == provider]
        below = [entry for entry in self.some.rows("providers") if entry.parent_provider_uuid == provider]
        assert not row.allocations and not below
        self.some = self.some.drop("providers", {"uuid": provider})

    def provider_consumers(self, _cloud, provider):
        found_rows = [row for row in self.some.rows("providers") if row.uuid == provider]
        return sorted(found_rows[0].allocations or {}) if found_rows else None

    # --- the others

    def delete_agent(self, _cloud, identity):
        self.deleted += [row for row in self.some.rows("agents") if row.id == identity]
        self.some = self.some.drop("agents", {"id": identity})

    def agents_now(self, _cloud, host):
        shown = [*self.some.rows("agents"), *(self.deleted if self.late > 0 else [])]
        self.late -= 1
        return [row for row in shown if row.host == host]

    def wait(self, what, timeout, seen):
        for _second in range(timeout):
            if seen() is not None:
                return
        raise TimedOutError(what())

    def delete_ha_host(self, _cloud, identity, name):
        rows = self.some.bundle.cloud.ha_hosts
        kept = [row for row in rows if (row.id, row.name) != (identity, name)]
        self.some = self.some.cloud(ha_hosts=kept)
        return kept != rows

    def look_into(self, _options, _cloud, host):
        return list(self.left_queues.get(host, ())), {f"compute.{host}": []}

    def remove_queues(self, _options, _cloud, host, _ids):
        self.emptied.add(host)
        return {}

    # --- a whole removal

    def plan(self, *names, keep=()):
        return plans.plan(self.read(""), names, keep, "op1")

    def remove(self, *names, keep=(), overrides=None, stop_after=None):
        """Carry a removal out; returns what is left. ``stop_after``: steps after which the run is killed."""
        plan = self.plan(*names, keep=keep)
        self.go(plan, attested(*names) if overrides is None else overrides, stop_after)
        return verify.left(self.read(""), names, keep)

    def go(self, plan: Plan, overrides, stop_after=None):
        actions, memory = steps.actions(self, self.read, overrides), {}
        for number, step in enumerate(plan.steps):
            if number == stop_after:
                return
            memory[step.name] = actions[step.action].apply(step.params, memory).memory or {}


def _deleted(row, gone):
    return dataclasses.replace(row, deleted=row.id) if gone and not row.deleted else row


__all__ = ["StepError", "World", "attested", "found", "with_links"]
