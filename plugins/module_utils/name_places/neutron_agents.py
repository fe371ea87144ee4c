# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name of a host's agents in neutron: ports bind only to a host with a live agent of exactly its name. Pure."""

from __future__ import annotations

import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.facts import ApiAgent
from ..model.findings import (
    BLOCKER,
    WARNING,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import Index, Item, Items
from ..model.plan import Change
from .place import (
    NamePlace,
    NameTable,
    Renaming,
    StoredName,
    StoredNames,
    Text,
    needed,
)


class NeutronAgents(NamePlace):
    """Network agents, in neutron's database and as its API shows them."""

    text = Text(
        "neutron database, `agents.host`",
        "network API; also neutron's database if `neutron_db_url` is set",
        "if `neutron_db_url` is set, the run writes the new name and a fresh heartbeat into each agent row of the "
        "host, then changes the ports. If `neutron_db_url` is not set, the agent registers under the new name, and "
        "the run deletes the agent's old record",
        "if `neutron_db_url` is set, the run restores the old name in the agent rows, and writes a fresh heartbeat "
        "into these rows. If `neutron_db_url` is not set, the agent registers under the old name again",
    )
    codes = ("SG305", "SG310")
    steps = ("neutron", "new_agents", "delete_agents")
    table = NameTable("neutron", "agents", ("host",), beside=("heartbeat_timestamp",))
    noun = "agent"

    def stored(self, index: Index) -> StoredNames:
        """Every agent, as shown and as stored."""
        cloud, databases = index.bundle.cloud, index.bundle.databases
        for agent in (cloud.agents if cloud else None) or []:
            yield StoredName(Subject("host", agent.id, agent.agent_type, agent.host), "neutron agents", agent.host)
        for row in (databases.neutron.agents if databases and databases.neutron else None) or []:
            subject = Subject("host", row.id, row.agent_type, row.host)
            yield StoredName(subject, "neutron database agents", row.host)

    def unread(self, index: Index) -> Items:
        """The API was not read."""
        if index.bundle.cloud is None or index.bundle.cloud.agents is None:
            yield Unchecked("SG305", "all", "the network agents were not read")

    def stale(self, index: Index) -> Items:
        """SG305: a name that is a compute host's but for its case, or that database and API call differently."""
        cloud, databases = index.bundle.cloud, index.bundle.databases
        rows = (databases.neutron.agents if databases and databases.neutron else None) or []
        stored = {row.id: row.host for row in rows}
        folded = {name.casefold(): name for name in index.compute_hosts}
        for agent in (cloud.agents if cloud else None) or []:
            other = stored.get(agent.id, agent.host)
            compute = folded.get(agent.host.casefold())
            if other != agent.host:
                yield _finding(agent, {"neutron API": agent.host, "neutron database": other}, BLOCKER)
            elif compute is not None and compute != agent.host and agent.host not in index.compute_hosts:
                yield _finding(agent, {"agent": agent.host, "compute service": compute}, BLOCKER)

    def changes(self, renaming: Renaming) -> t.List[Change]:
        """The host of each."""
        old, new = renaming.before.host, renaming.after.host
        return [
            Change(f"network agent {agent.id} ({agent.agent_type})", "host", old, new) for agent in own_agents(renaming)
        ]


def own_agents(renaming: Renaming) -> t.List[ApiAgent]:
    """Return the agents of the old name. Raises PlanError where they were not read."""
    agents = needed(renaming.cloud.agents, "network agents")
    return [agent for agent in agents if agent.host == renaming.before.host]


def dead_agents(index: Index) -> Items:
    """SG305, of the agent and not of its name: an agent of a compute host that is not alive."""
    for agent in (index.bundle.cloud.agents if index.bundle.cloud else None) or []:
        if agent.host in index.compute_hosts and not agent.alive:
            yield _finding(agent, {"alive": False, "agent": agent.host}, WARNING)


def _finding(agent: ApiAgent, evidence: t.Mapping[str, t.Any], severity: str) -> Item:
    return finding(
        "SG305",
        Subject("host", agent.id, agent.agent_type, agent.host),
        {"type": agent.agent_type, **evidence},
        remedy_text("SG305", "agent-dead-or-misnamed"),
        severity,
    )


PLACE = NeutronAgents()
