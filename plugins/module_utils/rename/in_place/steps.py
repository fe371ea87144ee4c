# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the controller's steps of a rename do: databases and APIs, through C(systems/) only.

Each action can be carried out again and taken back, whether it was done wholly, partly or not at all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from ...engine.runner import (
    Action,
    Done,
    StepError,
)
from ...engine.service_status import ServiceStatus
from ...engine.systems import Memory, Params, Systems, as_step_error, noted
from ...hazards import identity, names
from ...model.errors import Conflict, DatabaseError
from ...model.facts import (
    SCHEMA,
    ApiAgent,
    ApiPort,
    Bundle,
    from_plain,
)
from ...model.findings import (
    BLOCKER,
    Checked,
    blocking_findings,
)
from ...model.lookups import gather
from ...model.plan import RowChange
from ...model.wording import count
from ...name_places import neutron_ports
from ...reports.terminal import findings_text
from ...systems.api import (
    cloud_facts,
    compute_services,
    host_aggregates,
    network,
    resource_providers,
)
from ...systems.db import engine as database
from ...systems.db import nova
from ...systems.db import rows as row_changes
from ...systems.ovn import reading
from . import elsewhere_steps as guests_elsewhere
from . import verify as rename
from . import verify_elsewhere as elsewhere
from . import verify_guests as guests


class NoLock:
    """In the place of a lock that the database does not have, or that only one of its servers knows.

    Such a one is held all the same. Losing it (a failover) ends no run: other servers never knew of it.
    """

    def still_held(self) -> bool:
        """Nothing can be lost."""
        return True


@contextlib.contextmanager
def lock(options: t.Mapping[str, t.Any], name: str) -> t.Iterator[t.Union[database.AdvisoryLock, NoLock]]:
    """Hold an operation's lock in the API database while the block runs. Raises StepError where another holds it.

    It is the second of two: the host that keeps the journal lets one run work, whatever the database is.
    """
    with contextlib.ExitStack() as stack:
        held: t.Union[database.AdvisoryLock, NoLock]
        try:
            held = stack.enter_context(database.advisory_lock(nova.url_of(options, "api"), name))
        except Conflict as error:
            raise StepError(f"SG707 lock-held: another run is working on this host: {error}") from error
        except DatabaseError as error:
            if not error.data.get("lock_refused"):
                raise StepError(str(error)) from error
            held = NoLock()
        if isinstance(held, database.AdvisoryLock) and held.local:
            held = NoLock()
        yield held


class CellRows:
    """Names in a cell database: one transaction."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Write the new names; refuse where the host's rows are no longer those that were planned."""
        return Done(self._write(params, _rows(params), params["old"]))

    def undo(self, params: Params) -> Done:
        """Write the old names. Noted: guests that live elsewhere by now, whose rows are left as they are."""
        rows = [row.reversed() for row in _rows(params)]
        with as_step_error():
            away = guests_elsewhere.instances(self.systems.url(params["database"]), rows)
        found = judge_elsewhere(self.systems, away)
        passed = tuple(sorted(entry.uuid for entry in away))
        rows = [row for row in rows if row.table != "instances" or row.before["uuid"] not in passed]
        told = self._write(params, rows, params["new"], passed)
        return Done(told + _left(passed), noted(found, self.systems.overrides))

    def _write(
        self,
        params: Params,
        rows: t.Sequence[RowChange],
        leaving: t.Mapping[str, str],
        passed: t.Tuple[str, ...] = (),
    ) -> str:
        url = self.systems.url(params["database"])
        complete = row_changes.Completeness(leaving["host"], leaving["node"], elsewhere=passed)
        with as_step_error():
            outcome = row_changes.apply_row_changes(url, rows, complete, before_commit=self.systems.fresh)
        return _outcome(outcome)


def judge_elsewhere(systems: Systems, away: t.Sequence[guests_elsewhere.GuestElsewhere]) -> Checked:
    """Return what is to be told of guests that live elsewhere. Raises StepError for one that no override names."""
    if not away:
        return Checked()
    domains = systems.host.facts(systems.info_arguments).domains
    if domains is None:
        raise StepError(
            "guests of this host are on other hosts now, and the run could not read the domains of this host",
            problem="guest-of-other-host",
        )
    found = Checked(tuple(elsewhere.check(away, domains)))
    told = findings_text(found, systems.overrides)
    if blocking_findings(found.findings, systems.overrides):
        raise StepError(f"guests of this host are on other hosts now:\n{told}", checked=found, problem="guest-uuids")
    systems.remark(told)
    return found


def _left(uuids: t.Collection[str]) -> str:
    return f"; these guests stay on their new hosts: {', '.join(sorted(uuids))}" if uuids else ""


class ApiRows:
    """Names in the API database, then the aggregates sent to the schedulers anew: they keep them in memory."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Write the new names."""
        return Done(self._write(params, _rows(params), params["old"]))

    def undo(self, params: Params) -> None:
        """Write the old names."""
        self._write(params, [row.reversed() for row in _rows(params)], params["new"])

    def _write(self, params: Params, rows: t.Sequence[RowChange], leaving: str) -> str:
        url = self.systems.url(params["database"])
        with as_step_error():
            outcome = row_changes.apply_row_changes(
                url, rows, row_changes.Completeness(leaving), before_commit=self.systems.fresh
            )
            for aggregate in params["aggregates"]:
                self.systems.still_ours()
                host_aggregates.refresh_aggregate(self.systems.cloud, aggregate)
        return _outcome(outcome)


def _rows(params: Params) -> t.List[RowChange]:
    return [from_plain(RowChange, row) for row in params["rows"]]


def _outcome(outcome: t.Any) -> str:
    text = f"{count(outcome.changed, 'row')} changed"
    if outcome.already:
        text += f", {outcome.already} already correct"
    if outcome.gone:
        text += f"; deleted by their owners during the operation: {', '.join(map(str, outcome.gone))}"
    return text


class Providers:
    """Names of resource providers, root and children."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Give each its new name."""
        self._rename(params, "before", "after")
        return Done(count(len(params["providers"]), "name"))

    def undo(self, params: Params) -> None:
        """Give each its old name."""
        self._rename(params, "after", "before")

    def _rename(self, params: Params, before: str, after: str) -> None:
        with as_step_error():
            for entry in params["providers"]:
                self.systems.still_ours()
                resource_providers.rename_provider(self.systems.cloud, entry["uuid"], entry[before], entry[after])


class Neutron:
    """Agents' rows first, with a fresh heartbeat, then the ports: a port is never bound to a name without an agent."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Move agents and ports to the new name. Noted: the last heartbeat that was written in the agents' place."""
        told = self._move(params, params["old"], params["new"])
        with as_step_error():
            agents = network.list_agents(self.systems.cloud, params["new"])
        return Done(told, {"heartbeats": {agent.id: agent.heartbeat_timestamp for agent in agents}})

    def undo(self, params: Params) -> Done:
        """Move agents and ports to the old name. Noted: guests that live elsewhere by now, with their ports."""
        ports, found = ports_to_take_back(self.systems, params)
        told = self._move({**params, "ports": ports}, params["new"], params["old"])
        return Done(told, noted(found, self.systems.overrides))

    def _move(self, params: Params, before: str, after: str) -> str:
        agents, database = params["agents"], params["database"]
        with as_step_error():
            if database:
                row_changes.rename_agents(
                    self.systems.url("neutron"), agents, before, after, before_commit=self.systems.fresh
                )
            network.rebind_ports(
                self.systems.cloud, params["ports"], before, after, lambda: self._beat(database, agents, after)
            )
        return f"{count(len(agents) if database else 0, 'agent')} and {count(len(params['ports']), 'port')} on {after}"

    def _beat(self, database: bool, agents: t.Sequence[str], host: str) -> None:
        self.systems.still_ours()
        if database:
            row_changes.beat_agents(self.systems.url("neutron"), agents, host)


def ports_to_take_back(systems: Systems, params: Params) -> t.Tuple[t.List[t.Dict[str, t.Any]], Checked]:
    """Return the planned ports without those of guests that live elsewhere, and what is to be told of these.

    Raises StepError for a guest that no override names.
    """
    with as_step_error():
        away = guests_elsewhere.ports(systems.cloud, params["ports"], (params["old"], params["new"]))
    found = judge_elsewhere(systems, away)
    gone = {entry.port for entry in away}
    return [port for port in params["ports"] if port["id"] not in gone], found


class AgentsAlive:
    """Wait until the agents of the new name report themselves: nova-compute must not start before.

    C(alive) alone proves nothing here: the heartbeat that renamed the agent's row lasts for agent_down_time (75 s),
    and so does the last one of an agent that was just stopped. A heartbeat that is another than that is the agent's.
    """

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Wait for every agent to be alive, and for a heartbeat of its own of those that were stopped."""
        noted = dict(memory.get("neutron", {}).get("heartbeats") or {})
        restarted = set(params.get("restarted", params["agents"]))
        late: t.List[str] = []

        def reports(agent: t.Optional[ApiAgent]) -> bool:
            if agent is None or not agent.alive:
                return False
            now = agent.heartbeat_timestamp
            # Not noted, by an older journal: the first one seen may be anybody's, the next one is the agent's.
            before = noted.setdefault(agent.id, now)
            return agent.id not in restarted or (now is not None and before is not None and now != before)

        def seen() -> t.Optional[str]:
            with as_step_error():
                found = {agent.id: agent for agent in network.list_agents(self.systems.cloud, params["new"])}
            late[:] = [wanted for wanted in params["agents"] if not reports(found.get(wanted))]
            return None if late else f"{count(len(params['agents']), 'agent')} alive"

        what = f"all agents on {params['new']} have sent a heartbeat"
        alive = self.systems.wait(lambda: f"{what} (no new heartbeat from: {', '.join(late)})", params["timeout"], seen)
        # An agent that lives and does not wire: nova-compute would be let loose on guests without a network.
        working = wait_for_ports(self.systems, set(params.get("ports") or ()), params["new"], params["timeout"])
        return Done(", ".join(filter(None, (alive, working))))

    def undo(self, params: Params) -> None:
        """Nothing was changed."""


class Ports:
    """Ports follow an agent that has registered under the new name: the way without neutron's database.

    Nothing to take back here: at that time no agent of the old name runs. See :class:`PortsHome`.
    """

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Bind every port to the new name, and see those that worked work again."""
        return Done(self.bind(params, params["old"], params["new"]))

    def undo(self, params: Params) -> None:
        """Nothing: a port bound to a name without a live agent fails."""

    def bind(self, params: Params, before: str, after: str) -> str:
        """Bind every port to a name that has live agents; wait until those that were ACTIVE are."""
        ports = params["ports"]
        with as_step_error():
            network.rebind_ports(self.systems.cloud, ports, before, after, self.systems.still_ours)
        working = wait_for_ports(
            self.systems, {port["id"] for port in ports if port["active"]}, after, params["timeout"]
        )
        return ", ".join(filter(None, (f"{count(len(ports), 'port')} bound to {after}", working)))


#: Seconds between two looks at which guests of ports run: an agent needs some 12 s to see all ports again.
LOOK_AT_GUESTS = 15.0


def wait_for_ports(systems: Systems, wanted: t.AbstractSet[str], host: str, timeout: float) -> str:
    """Wait until ports that worked work again, bound to a host; return how many. Neutron calls one DOWN in between.

    The port of a guest that does not run is not waited for: no agent finds an interface of it. The host rebooted, or
    the guest ended by itself; the guests are compared by steps of their own.
    """
    left: t.List[str] = []
    off: t.Set[str] = set()
    looks = [systems.monotonic()]

    def seen() -> t.Optional[str]:
        with as_step_error():
            found = {port.id: port for port in network.list_ports(systems.cloud, host)}
        # One that is not there was deleted by its owner: the rebinding saw every other one.
        left[:] = sorted(key for key in wanted & set(found) if found[key].status != "ACTIVE")
        if left and systems.monotonic() - looks[-1] >= LOOK_AT_GUESTS:
            looks.append(systems.monotonic())
            off.update(_of_guests_that_are_off(systems, [found[key] for key in left]))
        left[:] = [key for key in left if key not in off]
        return None if left else "all"

    if not wanted:
        return ""
    systems.wait(
        lambda: f"all ports on {host} are ACTIVE (ports that are not ACTIVE: {', '.join(left[:5])})", timeout, seen
    )
    working = f"{count(len(wanted) - len(off), 'port')} ACTIVE"
    return working + (f", {count(len(off), 'port')} not ACTIVE (guest stopped)" if off else "")


def _of_guests_that_are_off(systems: Systems, ports: t.Sequence[ApiPort]) -> t.Set[str]:
    """Return the ports whose guest does not run on the host. Whatever the host does not say is waited for."""
    facts = systems.host.facts(systems.info_arguments)
    if facts.domains is None or facts.qemu_processes is None:
        return set()
    running = {domain.uuid for domain in facts.domains if guests.is_running(domain)} | set(facts.qemu_processes)
    ours = [port for port in ports if (port.device_owner or "").startswith(neutron_ports.COMPUTE_OWNER)]
    return {port.id for port in ours if port.device_id not in running}


class PortsHome:
    """Nothing forward. Back, it comes when the agents of the old name run again and before nova-compute does."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Nothing to do: the plan bears the list."""
        return Done(f"{count(len(params['ports']), 'port')} bound to {params['old']}")

    def undo(self, params: Params) -> Done:
        """Wait for the old name's agents, bind the ports to it, and delete the agents' records of the new name."""
        cloud, old, new = self.systems.cloud, params["old"], params["new"]
        ports, found = ports_to_take_back(self.systems, params)
        agents = NewAgents(self.systems)
        # The last heartbeat of the agent that was stopped may do for binding: the sooner the ports are home, the less
        # is cut off. That the agent itself is back is seen afterwards.
        first = agents.wait(params["binaries"], old, params["timeout"])
        told = Ports(self.systems).bind({**params, "ports": ports}, new, old)
        agents.wait(params["binaries"], old, params["timeout"], first)
        with as_step_error():
            for agent in network.list_agents(cloud, new):
                if agent.binary in params["binaries"]:
                    network.delete_agent(cloud, agent.id)
        return Done(told, noted(found, self.systems.overrides))


class NewAgents:
    """Agents registered under the new name: nova-compute must not start before."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Wait for one alive agent of each kind. Nobody but the agent itself makes a record of that name."""
        self.wait(params["binaries"], params["host"], params["timeout"])
        return Done(f"{', '.join(params['binaries'])} alive")

    def undo(self, params: Params) -> None:
        """Nothing was changed."""

    def wait(
        self, binaries: t.Sequence[str], host: str, timeout: float, other_than: t.Optional[t.Mapping[str, str]] = None
    ) -> t.Dict[str, str]:
        """Wait for one alive agent of each kind, and return the heartbeat of each.

        ``other_than``: heartbeats that are no proof, since they were there before.
        """
        beats: t.Dict[str, str] = {}

        def seen() -> t.Optional[str]:
            with as_step_error():
                agents = [agent for agent in network.list_agents(self.systems.cloud, host) if agent.alive]
            beats.clear()
            beats.update({agent.binary: str(agent.heartbeat_timestamp) for agent in agents})
            late = [name for name in binaries if beats.get(name) in (None, (other_than or {}).get(name))]
            return None if late else "alive"

        self.systems.wait(lambda: f"the agents on {host} are alive", timeout, seen)
        return dict(beats)


class DeleteAgents:
    """Records of agents that will never report again."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Delete each."""
        with as_step_error():
            for agent in params["agents"]:
                self.systems.still_ours()
                network.delete_agent(self.systems.cloud, agent["id"])
        return Done(count(len(params["agents"]), "agent"))

    def undo(self, params: Params) -> None:
        """Nothing: an agent that starts makes its own record."""


class Guests:
    """Compare every domain with what it was: process, uuid, state, definition. Changes nothing.

    Noted: what differs, as findings, for the report of this run and of every later one.
    """

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Read the host, compare, and refuse what only a person can have done and has not named."""
        facts = self.systems.host.facts(self.systems.info_arguments)
        found = gather(guests.changed(params["domains"], facts, params.get("boot_id"), params["strict"]))
        refused = blocking_findings(found.findings, self.systems.overrides)
        if refused:
            names_ = ", ".join(f"{item.object.name or item.object.id} ({item.object.id})" for item in refused)
            if params.get("before_stop"):
                # nova-compute runs, and did what their owners asked for before they were locked.
                raise StepError(
                    f"guests have changed since the run read them: {names_}",
                    changed_meanwhile=True,
                    problem="guests-changed-since",
                )
            raise StepError(
                f"guests have changed:\n{findings_text(found, self.systems.overrides)}\nCheck {names_}. To continue, "
                "add an override for each guest to stackguard_overrides: the code of the finding, the uuid of the "
                "guest as object, and your reason. Then run the same command again",
                checked=found,
            )
        if not found.findings or params.get("before_stop"):
            # What is off by now is told by the next look, which is the one that counts.
            return Done(f"{count(len(params['domains']) - len(found.findings), 'guest')} unchanged")
        self.systems.remark(findings_text(found, self.systems.overrides))
        return Done(f"{count(len(found.findings), 'guest')} changed", noted(found, self.systems.overrides))

    def undo(self, params: Params) -> None:
        """Nothing was changed."""


class ComputeUp:
    """nova-compute proves itself: by its log, which must not refuse, and by a heartbeat under the new name.

    That the unit is active proves nothing: a refusing nova-compute exits with status 0, or stays and does nothing.
    A heartbeat does: the service joins its group only after init_host() has passed every check (nova/service.py).

    One line is no refusal if the next pass does not repeat it: "Error updating resources" is what a moment without
    placement, Ceph or the broker leaves. Passes are update_resources_interval seconds apart (compute/manager.py,
    update_available_resource, 26 to 34); where that is off, there is no next pass, and the line refuses.
    """

    TRANSIENT: t.ClassVar[str] = "Error updating resources"
    #: Intervals without that line that show a pass without it.
    PASSES: t.ClassVar[float] = 1.5
    #: Seconds from pass to pass where nova.conf says 0 (oslo.service's default), and in plans of before 0.2.
    INTERVAL: t.ClassVar[int] = 60

    REFUSALS: t.ClassVar[t.Tuple[str, ...]] = (
        "refusing to start",
        "Refusing to start",
        "manual node uuid configuration required",
        "InvalidConfiguration",
        "InvalidNodeConfiguration",
        "Duplicate compute node record",
        "Moving ComputeNode",
    )

    def __init__(self, systems: Systems) -> None:
        self.systems = systems
        #: Where the log stood when nova-compute was started again by this run; None: it was not.
        self._restarted: t.Optional[t.Mapping[str, t.Any]] = None

    def again(self, params: Params, memory: Memory) -> None:
        """Start nova-compute once more: what an earlier start said was of a state that may have been repaired since.

        The operator's own commands are not known to be safe to repeat: then the earlier start counts.
        """
        if memory.get("stop_compute") is None or not params["units"]:
            return
        place = {"op": "log_mark", "log_file": params["log_file"], "unit": params["units"][0]}
        start = {"op": "apply", "action": "restart_units", "params": {"units": params["units"]}}
        marked, _started = self.systems.host.call([place, start])
        self._restarted = marked["mark"]
        self.systems.remark("the run started nova-compute again, because the earlier start was not verified")

    def apply(self, params: Params, memory: Memory) -> Done:
        """Wait for both proofs; a line that refuses ends the wait at once."""
        self._transient: t.Optional[str] = None
        self._quiet_from: t.Optional[t.Mapping[str, t.Any]] = None
        self._quiet_since = 0.0
        interval = params.get("pass_interval") or self.INTERVAL
        quiet = interval * self.PASSES
        with as_step_error():
            first = compute_services.get_service(self.systems.cloud, params["service_id"])
        proofs: t.Dict[str, str] = {}

        def seen() -> t.Optional[str]:
            self._read_log(params, memory, proofs)
            with as_step_error():
                service = compute_services.get_service(self.systems.cloud, params["service_id"])
            if service.host == params["host"] and service.state == "up" and service.updated_at != first.updated_at:
                proofs["service"] = f"service up as {service.host}"
            if self._transient and self.systems.monotonic() - self._quiet_since < quiet:
                return None
            return ", ".join(proofs[key] for key in sorted(proofs)) if len(proofs) == 2 else None

        def lacks() -> str:
            said = f"; nova-compute logged: {self._transient}" if self._transient else ""
            if self._transient and quiet >= params["timeout"]:
                said += f"; nova-compute updates its resources every {interval} s: "
                said += f"set rename_start_timeout above {int(quiet)}"
            return (
                "nova-compute has started correctly (the log and the compute service must both confirm the start; "
                f"confirmed so far: {', '.join(proofs.values()) or 'none'}{said})"
            )

        return Done(self.systems.wait(lacks, params["timeout"], seen))

    def undo(self, params: Params) -> None:
        """Nothing was changed."""

    def _read_log(self, params: Params, memory: Memory, proofs: t.Dict[str, str]) -> None:
        mark = self._restarted or memory.get("stop_compute")
        if mark is None:
            proofs["log"] = (
                "log: not read, because rename_start_command starts nova-compute, and the run does not know where in "
                "the log the messages of the newest start begin"
            )
            return
        # "Verified node" is said at debug level only; "Determined node identity" always, before the checks.
        verified = f"Verified node {params['node_uuid']} matches my host {params['host']}"
        determined = f"Determined node identity {params['node_uuid']}"
        place = {"log_file": params["log_file"], "unit": params["units"][0] if params["units"] else None}
        requests = [
            {"op": "log_find", **place, "mark": mark, "needles": [verified, determined, *self.REFUSALS]},
            {"op": "log_find", **place, "mark": self._quiet_from or mark, "needles": [self.TRANSIENT]},
            {"op": "log_mark", **place},
        ]
        result, passing, now = self.systems.host.call(requests)
        found = {needle: line for needle, line in result["found"].items() if line}
        if passing["found"].get(self.TRANSIENT):
            # A later one is looked for from here on. What comes between the two readings is lost to none: a pass
            # that fails comes again each minute.
            self._transient = passing["found"][self.TRANSIENT]
            if (params.get("pass_interval") or 0) < 0:
                raise StepError(
                    f"nova-compute logged: {self._transient}. With a negative update_resources_interval, nova-compute "
                    "does not update its resources again, so the run cannot verify an update",
                    problem="no-update",
                )
            self._quiet_from, self._quiet_since = now["mark"], self.systems.monotonic()
            self.systems.remark(
                f"nova-compute logged: {self._transient}. The run waits until nova-compute has updated its resources "
                "without this error"
            )
        for needle in self.REFUSALS:
            if needle in found:
                raise StepError(f"nova-compute logged: {found[needle]}")
        if verified in found:
            proofs["log"] = "log: nova-compute verified its compute node"
        elif determined in found:
            proofs["log"] = (
                "log: after its start, nova-compute determined its compute node, and logged no error about its identity"
            )


class Audit:
    """Read everything once more. Whatever blocks stops the operation before the service is enabled again."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Read, check, and refuse on any blocker, and where a place of the name was not read."""
        expected = _expected(params)
        bundle = self._collect(params)
        named = [*self.systems.named_at_start, *self.systems.overrides]
        unread = Checked(unchecked=tuple(rename.unread(bundle, expected)))
        if unread.unchecked:
            said = findings_text(unread)
            raise StepError(
                f"after the rename, the run could not read some places that store the name:\n{said}",
                checked=unread,
                problem="places-not-read",
            )
        ours = rename.leftovers(bundle, expected) + rename.unchanged(bundle, expected)
        found = rename.deleted_since(bundle, expected, identity.check(bundle) + names.check(bundle))
        # An override passes what the host brought along, never what the rename itself left.
        refused = [*blocking_findings(ours.findings, []), *blocking_findings(found.findings, named)]
        if refused:
            checked = Checked(tuple(refused))
            raise StepError(f"findings after the rename:\n{findings_text(checked)}", checked=checked)
        checked = ours + found
        if checked.findings or checked.unchecked:
            self.systems.remark(findings_text(checked, named))
        kept = [item for item in found.findings if item.code == rename.DELETED_SINCE or item.severity == BLOCKER]
        instances = count(len(expected.instance_ids), "instance")
        told = f"the old name is gone; ids, uuids and allocations are unchanged ({instances})"
        return Done(told, noted(Checked(tuple(kept)), named))

    def undo(self, params: Params) -> None:
        """Nothing was changed."""

    def _collect(self, params: Params) -> Bundle:
        scope = sorted({*params["old"].values(), *params["new"].values()} - {None})
        facts = self.systems.host.facts(self.systems.info_arguments)
        with as_step_error():
            uuids = [domain.uuid for domain in facts.domains or []]
            databases = nova.read_databases(self.systems.options, scope, instance_uuids=uuids)
            if reading.given(self.systems.options):
                databases = dataclasses.replace(databases, ovn=reading.read_ovn(self.systems.options, scope))
            cloud = cloud_facts.read_cloud(self.systems.cloud, scope, node_uuids=[params["node"]["uuid"]])
        return Bundle(SCHEMA, facts.read_at, {params["inventory_name"]: facts}, {}, cloud, databases)


def _expected(params: Params) -> rename.RenamedHost:
    return rename.RenamedHost(
        inventory_name=params["inventory_name"],
        old_host=params["old"]["host"],
        old_node=params["old"]["hypervisor_hostname"],
        new_host=params["new"]["host"],
        new_node=params["new"]["hypervisor_hostname"],
        service_uuid=params["service"]["uuid"],
        service_id=params["service"]["id"],
        node_uuid=params["node"]["uuid"],
        node_id=params["node"]["id"],
        instance_ids=tuple(params["instances"]),
        allocations=params["allocations"],
    )


def actions(systems: Systems) -> t.Dict[str, Action]:
    """Return every controller action of a rename, by the name that plans use."""
    return {
        "service_status": ServiceStatus(systems),
        "cell_rows": CellRows(systems),
        "api_rows": ApiRows(systems),
        "providers": Providers(systems),
        "neutron": Neutron(systems),
        "agents_alive": AgentsAlive(systems),
        "ports_home": PortsHome(systems),
        "ports": Ports(systems),
        "new_agents": NewAgents(systems),
        "delete_agents": DeleteAgents(systems),
        "guests": Guests(systems),
        "compute_up": ComputeUp(systems),
        "audit": Audit(systems),
    }
