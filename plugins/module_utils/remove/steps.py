# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the steps of a removal do. Before each, everything is read and judged again: nothing brings a record back.

A step whose object is gone already is done. What it would delete must be what was planned, by its id and by its name.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine import waiting_requests
from ..engine.runner import Action, Done, StepError
from ..engine.systems import Memory, Params, Systems, as_step_error, noted
from ..hazards import queues, waiting
from ..model.errors import ApiError, BrokerError, DatabaseError
from ..model.findings import Checked, Override, blocking_findings
from ..model.network_agents import OVN_CONTROLLERS
from ..model.wording import count
from ..reports.terminal import findings_text
from ..systems.api import compute_services, host_aggregates, masakari, network, resource_providers
from ..systems.db import row_sets
from . import plan as plans
from . import preflight as checks

#: Seconds in which neutron forgets an agent that it has deleted.
GONE = 60
#: Reads everything of one host again.
Read = t.Callable[[str], checks.Found]


@dataclasses.dataclass
class _Step:
    """One step, with what it is given. There is no way back from any of them."""

    systems: Systems
    read: Read
    overrides: t.Sequence[Override]

    def undo(self, params: Params) -> None:
        """Nothing: what was removed stays removed."""

    def safe(self, params: Params) -> checks.Host:
        """Read everything of the host again. Raises StepError where the host is not to be touched any more."""
        with as_step_error():
            found = self.read(str(params["host"]))
        checked = checks.again(found, str(params["host"]))
        standing = blocking_findings(checked.findings, self.overrides)
        if standing:
            raise StepError(
                f"{params['host']} is no longer safe to remove:\n{findings_text(Checked(tuple(standing)))}",
                changed_meanwhile=True,
                checked=Checked(tuple(standing)),
                problem="not-safe",
            )
        # Reading may have taken long.
        self.systems.still_ours()
        return checks.host_of(found, str(params["host"]))


class DeleteService(_Step):
    """Nova deletes the service with its node, mapping, memberships and provider."""

    def apply(self, params: Params, memory: Memory) -> Done:
        """Delete it, and see it gone."""
        if self._service(params) is None:
            return Done("the compute service was gone already")
        host = self.safe(params)
        with as_step_error():
            url = self.systems.url(f"cell:{params['cell']}")
            # What Nova is about to delete, and who would lose it.
            nodes = sorted(key for key, _uuid in row_sets.nodes_of_service(url, int(params["number"]), host.name))
            servers = [row_sets.instances_of_node(url, key if params["by_id"] else None, host.name) for key in nodes]
        if nodes != list(params["nodes"]) or any(servers):
            raise StepError(
                f"with the compute service of {host.name}, Nova would delete the compute nodes {nodes} with "
                f"{sum(servers)} servers, but the plan has the nodes {params['nodes']} without servers",
                changed_meanwhile=True,
                problem="not-as-planned",
            )
        self.systems.still_ours()
        with as_step_error():
            compute_services.delete_service(self.systems.cloud, str(params["service"]))
        if self._service(params) is not None:
            raise StepError(f"compute service {params['service']} of {host.name} still exists", problem="not-gone")
        return Done("Nova has deleted the compute service and its compute node")

    def _service(self, params: Params) -> t.Optional[t.Any]:
        with as_step_error():
            service = compute_services.find_service(self.systems.cloud, str(params["host"]))
        return service if service is not None and service.id == params["service"] else None


class DeleteRows(_Step):
    """Rows of the API database that Nova has not removed with the service."""

    def apply(self, params: Params, memory: Memory) -> Done:
        """Delete those that still are what was read, and let the schedulers know."""
        host = self.safe(params)
        if host.index.api_services_by_host.get(host.name):
            raise StepError(f"{host.name} has a compute service", changed_meanwhile=True, problem="not-as-planned")
        with as_step_error():
            deleted, _made = row_sets.delete_and_make(self.systems.url("api"), params["rows"], [], self.systems.fresh)
            known = {entry.id for entry in host_aggregates.list_aggregates(self.systems.cloud)}
            for identity in params["aggregates"]:
                if identity in known:
                    host_aggregates.refresh_aggregate(self.systems.cloud, identity)
        return Done(f"{count(deleted, 'row')} deleted; Nova or someone else had deleted the others")


class DeleteProvider(_Step):
    """The tree of a compute node that is gone, with what consumers hold of it that Nova does not need any more."""

    def apply(self, params: Params, memory: Memory) -> Done:
        """Release each part, guarded by what is held now; then delete the tree, children first."""
        provider, cloud = str(params["provider"]), self.systems.cloud
        host = self.safe(params)
        if host.gone.live_nodes:
            raise StepError(f"{host.name} has a compute node", changed_meanwhile=True, problem="not-as-planned")
        tree = checks.trees(host).get(provider)
        if tree is None:
            return self._gone(provider)
        held = checks.holders(host, tree)
        stay = {consumer: why for consumer, why in held.items() if why is not None}
        if stay:
            consumer, why = min(stay.items())
            said = f"resource provider {provider} stays: {consumer}: {why}"
            raise StepError(said, changed_meanwhile=True, problem="still-held")
        with as_step_error():
            for row in tree:
                for consumer, resources in sorted((row.allocations or {}).items()):
                    resource_providers.release_allocation(cloud, consumer, row.uuid, resources)
            for row in tree:
                resource_providers.delete_provider(cloud, row.uuid)
        done = self._gone(provider)
        return dataclasses.replace(done, remark=f"{done.remark}; {count(len(held), 'consumer')} released")

    def _gone(self, provider: str) -> Done:
        with as_step_error():
            if resource_providers.provider_consumers(self.systems.cloud, provider) is not None:
                raise StepError(
                    f"resource provider {provider} still exists, but is no longer known as one of a removed compute "
                    "node",
                    problem="not-gone",
                )
        return Done("the resource provider is gone")


class DeleteAgent(_Step):
    """The record of a network agent that is dead and that no port needs; with OVN, its chassis."""

    def apply(self, params: Params, memory: Memory) -> Done:
        """Delete it, and see it gone."""
        host = self.safe(params)
        cloud = host.found.bundle.cloud
        agents = [agent for agent in (cloud.agents if cloud else None) or [] if agent.id == params["agent"]]
        if not agents:
            return Done("the agent was gone already")
        ports = [port.id for port in (cloud.ports if cloud else None) or [] if port.binding_host_id == host.name]
        why = plans.why_agent_stays(host, agents[0], ports)
        if why is not None:
            raise StepError(f"agent {params['agent']} stays: {why}", changed_meanwhile=True, problem="still-needed")
        with as_step_error():
            network.delete_agent(self.systems.cloud, str(params["agent"]))

        def gone() -> t.Optional[str]:
            with as_step_error():
                left = network.agents_now(self.systems.cloud, host.name)
            return None if any(agent.id == params["agent"] for agent in left) else "gone"

        # Of OVN's agents each neutron-server keeps a list of its own, which follows the southbound database.
        self.systems.wait(lambda: f"neutron shows the agent {params['agent']} no more", GONE, gone)
        return Done("deleted, with its chassis" if agents[0].agent_type in OVN_CONTROLLERS else "deleted")


class DeleteHaHost(_Step):
    """The host in Masakari, which would evacuate a host that comes back with its name."""

    def apply(self, params: Params, memory: Memory) -> Done:
        """Delete it."""
        host = self.safe(params)
        with as_step_error():
            there = masakari.delete_ha_host(self.systems.cloud, str(params["ha_host"]), host.name)
        return Done("deleted" if there else "it was gone already")


class ReadQueues(_Step):
    """What waits in RabbitMQ for the name: written down and told before anything of it is removed."""

    def apply(self, params: Params, memory: Memory) -> Done:
        """Look. Noted: the ids of the messages, where all of them may go."""
        name, cloud = str(params["host"]), self.systems.cloud
        try:
            judged, ids = waiting_requests.look_into(self.systems.options, cloud, name)
        except (BrokerError, DatabaseError, ApiError) as error:
            found = Checked(unchecked=(waiting.unread(name, error.message),))
            self.systems.remark(findings_text(found, self.overrides))
            return Done("RabbitMQ was not read, so the queues stay", noted(found, self.overrides))
        needed = [entry for entry in judged if not _may_go(entry)]
        everything = frozenset(one for each in ids.values() for one in each)
        found = waiting.told(name, judged, frozenset() if needed else everything)
        if found.findings:
            self.systems.remark(findings_text(found, self.overrides))
        if needed:
            said = f"{count(len(needed), 'request')} may still be needed, so the queues stay"
            return Done(said, noted(found, self.overrides))
        return Done(
            f"{count(len(judged), 'message')}, none of which is needed", {**noted(found, self.overrides), "ids": ids}
        )


def _may_go(entry: waiting.Judged) -> bool:
    """Whether nobody misses a request: its server is elsewhere or gone, or it is an event that does nothing."""
    return entry.verdict == waiting.REMOVE or entry.request.id in waiting.harmless([entry.request])


class DeleteQueues(_Step):
    """The queues of the name, with what was told before and nothing else."""

    def apply(self, params: Params, memory: Memory) -> Done:
        """Delete each; one in which something else is, or that is read, is left and told."""
        ids = (memory.get(str(params["read"])) or {}).get("ids")
        if ids is None:
            return Done("the queues stay, as told before")
        host = self.safe(params)
        try:
            left = waiting_requests.remove_queues(self.systems.options, self.systems.cloud, host.name, ids)
        except (BrokerError, DatabaseError, ApiError) as error:
            found = Checked(unchecked=(waiting.unread(host.name, error.message),))
        else:
            found = Checked(tuple(queues.left(name, why) for name, why in sorted(left.items())))
        if found.findings or found.unchecked:
            self.systems.remark(findings_text(found, self.overrides))
            return Done("not all queues are deleted", noted(found, self.overrides))
        return Done("the queues are deleted")


def actions(systems: Systems, read: Read, overrides: t.Sequence[Override]) -> t.Dict[str, Action]:
    """Return what carries out each step of the plan."""
    given = (systems, read, overrides)
    return {
        "delete_gone_service": DeleteService(*given),
        "delete_rows": DeleteRows(*given),
        "delete_provider": DeleteProvider(*given),
        "delete_agent": DeleteAgent(*given),
        "delete_ha_host": DeleteHaHost(*given),
        "read_queues": ReadQueues(*given),
        "delete_queues": DeleteQueues(*given),
    }
