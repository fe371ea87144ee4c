# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The chassis that a dead host leaves in OVN: reported when its servers are away.

OVN keeps it for ever: its tunnels stay, and a machine that replaces the host cannot register with the same tunnel
address. It is removed only where the operator asks for that (C(remove_chassis)), and only by a fence that has just
proved that the machine is off: OVN's databases do not say whose cloud they are (:mod:`preflight`).
Neutron's list of agents is always read, since only it says which chassis is alive.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...engine.lifecycle import Clock
from ...model.codes.catalogue import remedy_text
from ...model.errors import ApiError
from ...model.facts import ApiAgent
from ...model.findings import (
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ...model.network_agents import (
    OVN_AGENTS,
    OVN_CONTROLLERS,
    signs_of_ovn,
)
from ...model.ovn import OvnChassis, OvnFacts, chassis_of, users
from ...records import evidence
from ...systems.api import (
    compute_services,
    http,
    network,
    server_records,
)
from ...systems.ovn import reading
from . import preflight as checks
from . import steps

CODE = "SG328"
#: Hosts that a reason names.
_NAMED = 5
Options = t.Mapping[str, t.Any]
Evidence = t.Dict[str, t.Any]
Unread = t.Tuple[Unchecked, ...]
Objection = checks.Objection
#: Why nothing is removed where a run evacuates no server: it has no fence, and so no proof.
_NO_SERVER = "the run evacuated no server, so it does not remove the chassis"


@dataclasses.dataclass(frozen=True)
class ChassisOutcome:
    """What came of the removal. Without a name and a reason: no removal was asked for."""

    #: The chassis that is gone.
    name: t.Optional[str] = None
    #: Why none was removed.
    why: str = ""
    #: The same as a key.
    problem: str = ""
    #: Whether a removal was due: then one that found nothing to remove is reported, too.
    due: bool = True


def without_evacuation(options: Options) -> ChassisOutcome:
    """Return what comes of a removal where the host has no server: nothing was fenced, so nothing is removed."""
    asked = bool(options.get("remove_chassis"))
    return ChassisOutcome(why=_NO_SERVER if asked else "", problem="no-server" if asked else "", due=False)


@dataclasses.dataclass(frozen=True)
class ChassisRemoval:
    """The removal of the chassis of one dead host."""

    connection: t.Any
    options: Options
    host: str
    clock: Clock

    def decide(self, noted: t.Optional[str], at_once: bool = False) -> t.Union[OvnChassis, Objection, ChassisOutcome]:
        """Return the chassis that may be removed, what stands against that, or that it is gone already.

        ``noted``: the chassis that an earlier run was about to remove. ``at_once``: neutron was asked shortly before.
        """
        try:
            seen = self._read(at_once)
        except ApiError as error:
            return Objection("not-read", f"the run could not read the state of {self.host}: {error.message}")
        if noted and checks.is_gone(self.host, noted, seen):
            return ChassisOutcome(noted)
        return checks.against(self.host, seen) or chassis_of(seen.ovn, self.host)[0]

    def _read(self, at_once: bool) -> checks.ChassisFacts:
        service = compute_services.find_service(self.connection, self.host)
        servers = sorted(server.name for server in server_records.servers_on(self.connection, self.host))
        ovn = self._databases()
        # The last of all: a machine that comes up shows itself here.
        agents = (network.agents_now if at_once else network.list_agents)(self.connection, self.host)
        return checks.ChassisFacts(service, servers, ovn, agents)

    def _databases(self) -> OvnFacts:
        return reading.read_ovn(self.options, [self.host])

    def remove(self, name: str, unproven: t.Callable[[], t.Optional[str]]) -> ChassisOutcome:
        """Read everything again, delete the chassis of this name, and see it gone.

        ``unproven``: says why the fence does not prove, just now, that the machine is off; None: it does.
        """
        found = self.decide(name, at_once=True)
        if isinstance(found, ChassisOutcome):
            return found
        if isinstance(found, Objection):
            return ChassisOutcome(why=found.why, problem=found.problem)
        why, problem = (unproven(), "not-fenced")
        if found.name != name:
            why, problem = f"{self.host} no longer has the chassis {name}", "renewed"
        if why is None:
            clock, problem = self.clock, "not-gone"
            http.may_change(self.connection)
            why = steps.remove(self.connection, found, self._databases, clock.sleep, clock.monotonic)
        return ChassisOutcome(None if why else name, why or "", problem if why else "")


def look_after(
    connection: t.Any, options: Options, host: str, directory: str, outcome: ChassisOutcome
) -> t.Tuple[Checked, ChassisOutcome]:
    """Return what is left of the host after a removal, and what came of it: the chassis may be there again."""
    checked = look(connection, options, host, directory)
    if outcome.name and any("hostname" in item.evidence for item in checked.findings):
        outcome = ChassisOutcome(
            why=f"a new chassis of {host} appeared after the run had removed the chassis {outcome.name}",
            problem="appeared",
        )
    if not outcome.why:
        return checked, outcome
    found = [
        dataclasses.replace(item, evidence={**item.evidence, "not removed": outcome.why, "kept": outcome.problem})
        for item in checked.findings
    ]
    # Asked for, and not done: that is never silent.
    said = f"the run removed no chassis: {outcome.why}"
    none = () if found or not outcome.due else (Unchecked(CODE, host, said),)
    return Checked(tuple(found), (*checked.unchecked, *none)), outcome


def look(connection: t.Any, options: Options, host: str, directory: str) -> Checked:
    """Return what of the host is left in OVN: by neutron's agents, and by OVN's databases where those are given.

    ``directory``: what was read of the other hosts (:func:`records.evidence.load_dir`).
    """
    agents, no_agents = _agents(connection, host)
    given = reading.given(options)
    chassis, no_databases = _chassis(options, host) if given else (None, ())
    if not (given or agents or no_agents):
        no_agents = _unseen(host, directory)
    alive = {agent.id: agent.alive for agent in agents}
    found = [(name, {**seen, "alive": alive.get(name)}) for name, seen in (chassis or {}).items()]
    for agent in _of_no_chassis(agents, chassis or {}):
        seen = {"agent": agent.agent_type, "alive": agent.alive}
        # Another cloud's database, or a hostname that is not Nova's name: the agent is no less there.
        found.append((agent.id, seen if chassis is None else {**seen, "in the southbound database": False}))
    return Checked(tuple(_finding(host, name, seen) for name, seen in found), (*no_agents, *no_databases))


def _agents(connection: t.Any, host: str) -> t.Tuple[t.List[ApiAgent], Unread]:
    try:
        return [agent for agent in network.list_agents(connection, host) if agent.agent_type in OVN_AGENTS], ()
    except ApiError as error:
        return [], (Unchecked(CODE, host, f"the network agents were not read: {error.message}"),)


def _unseen(host: str, directory: str) -> Unread:
    """Say that nothing is known where other hosts have OVN, and neutron shows no agent of this one.

    An empty list is no proof: neutron's workers make OVN's agents up from events, and hide them from users that are no
    administrators.
    """
    hosts = evidence.load_dir(directory).hosts
    shown = sorted(name for name, facts in hosts.items() if signs_of_ovn("", facts, None))
    if not shown:
        return ()
    said = (
        "the run did not read OVN's databases, because neither ovn_nb_connection nor ovn_sb_connection is set. Neutron "
        f"shows no agent of the host. Other hosts of this cloud use OVN ({', '.join(shown[:_NAMED])}), so this host "
        "possibly uses OVN, too"
    )
    return (Unchecked(CODE, host, said),)


def _of_no_chassis(agents: t.Sequence[ApiAgent], chassis: t.Mapping[str, Evidence]) -> t.List[ApiAgent]:
    """Return agents that stand for a chassis beside those of ``chassis``.

    The agents for metadata belong to the chassis of a controller: they count only where nothing else shows one.
    """
    controllers = [agent for agent in agents if agent.agent_type in OVN_CONTROLLERS]
    if not controllers and not chassis:
        return list(agents)
    return [agent for agent in controllers if agent.id not in chassis]


def _chassis(options: Options, host: str) -> t.Tuple[t.Optional[t.Dict[str, Evidence]], Unread]:
    """Return what the databases hold of the host's chassis, by name; None: it was not read."""
    facts = reading.read_ovn(options, [host])
    if facts.chassis is None or facts.port_bindings is None:
        return None, (Unchecked(CODE, host, f"OVN's databases were not read: {_reason(facts)}"),)
    found = {entry.name: _evidence(facts, entry) for entry in chassis_of(facts, host)}
    if facts.gateways is None:
        said = f"the run could not read whether the chassis is a gateway chassis of a router: {_reason(facts)}"
        return found, (Unchecked(CODE, host, said),)
    return found, ()


def _evidence(facts: OvnFacts, chassis: OvnChassis) -> Evidence:
    return {
        "hostname": chassis.hostname,
        "tunnel endpoints": [f"{encap.type} {encap.ip}" for encap in chassis.encaps],
        "gateway of routers": None if facts.gateways is None else chassis.name in facts.gateways,
        "ports bound to it": users(facts, chassis),
    }


def _reason(facts: OvnFacts) -> str:
    return "; ".join(entry.reason for entry in facts.unread) or "no reason was given"


def _finding(host: str, name: str, evidence: Evidence) -> Finding:
    return finding(CODE, Subject("host", name, host=host), evidence, _remedy(name, evidence["alive"]))


def _remedy(name: str, alive: t.Optional[bool]) -> str:
    if alive:
        return remedy_text(CODE, "chassis-alive")
    delete = remedy_text(CODE, "chassis-dead", chassis=name)
    return f"{remedy_text(CODE, 'liveness-unread')} {delete}" if alive is None else delete
