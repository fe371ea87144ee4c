# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the controller's steps of a drain do: guests moved, the old host unregistered, the new one registered.

Guests are moved by the mover of all operations, see :mod:`mover`: away from the host, and back to it.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...engine.runner import (
    Action,
    Done,
    StepError,
    TimedOutError,
    plan_of,
)
from ...engine.service_status import DISABLED
from ...engine.systems import Memory, Params, Systems, as_step_error, noted
from ...hazards import power_state
from ...hazards.unfit import CpuProbe
from ...model.errors import ApiError
from ...model.facts import SCHEMA, Bundle
from ...model.findings import BLOCKER, Checked, blocking_findings
from ...model.lookups import uuid_key
from ...model.requests import MigrationRequest
from ...model.wording import count
from ...moves import mover
from ...moves.reachability import Question
from ...records import journal as journals
from ...reports.terminal import findings_text
from ...systems.api import (
    cloud_facts,
    compute_services,
    host_aggregates,
    hypervisors,
    resource_providers,
    server_records,
)
from ...systems.db import neutron_agents, nova
from ..in_place.steps import ComputeUp
from ..ovn import drain_steps as ovn_drain
from . import plan as plans
from . import preflight as checks

Json = t.Dict[str, t.Any]

#: Seconds after which libvirt is asked again what runs.
FRESH = 30.0


class DiscoveryError(StepError):
    """The new host is not mapped to a cell: somebody must run discover_hosts."""

    needs = "discover_hosts"


# --- guests, moved ----------------------------------------------------------------------------------------------


@dataclasses.dataclass
class GuestMoves:
    """The mover, as the steps of a rename use it. ``measured``: whether all hosts were measured for the next step."""

    context: mover.MoveContext
    #: Notes in the journal what a step has learnt.
    keep: t.Callable[[str, mover.RoundHistory], None]
    measured: bool

    def require_measurement(self, step: str) -> None:
        """Raise AgainError where the hosts are to be measured first, as they are after guests have moved."""
        if not self.measured:
            # A host that an earlier run closed may have been repaired since.
            self.keep(step, mover.RoundHistory())
            raise mover.AgainError("the run measures all compute hosts before it moves guests")
        self.measured = False

    def mover(self, systems: Systems, step: str, request: MigrationRequest, **given: t.Any) -> mover.MoveServers:
        """Return the mover of one step."""

        def keep(past: mover.RoundHistory) -> None:
            self.keep(step, past)

        outcome = mover.MovedServers()
        context = dataclasses.replace(self.context, request=request, outcome=outcome, keep=keep, **given)
        return mover.MoveServers(systems, context, step)


def probe_from_host(systems: Systems, bundle: Bundle, questions: t.Sequence[Question]) -> t.List[Json]:
    """Try connections from the host itself, and return how each ended.

    Raises ProbeError where other hosts are to compare CPUs first.
    """
    others = [question for question in questions if isinstance(question, CpuProbe)]
    if others:
        raise mover.ProbeError(bundle, others)
    targets = [dataclasses.asdict(question) for question in questions]
    try:
        (answer,) = systems.host.call([{"op": "probe_tcp", "targets": targets}])
    except StepError as error:
        return [{**target, "untried": str(error)} for target in targets]
    return list(answer["probes"])


class DomainStates:
    """Returns what libvirt of the host says of a guest, of some seconds ago at most.

    The host may have rebooted since it was measured, or since the last guest: see :mod:`hazards.power_state`.
    """

    def __init__(self, systems: Systems) -> None:
        self.systems = systems
        self._states: t.Optional[t.Dict[str, str]] = None
        self._read_at = 0.0

    def __call__(self, uuid: str) -> str:
        """Return the state of a guest's domain."""
        if self._states is None or self.systems.monotonic() - self._read_at > FRESH:
            self._read_at = self.systems.monotonic()
            try:
                domains = self.systems.host.facts(self.systems.info_arguments).domains
            except StepError as error:
                self.systems.remark(f"the run could not read libvirt of the host: {error}")
                domains = None
            self._states = None if domains is None else {uuid_key(row.uuid): row.state for row in domains}
        if self._states is None:
            return power_state.UNREAD
        state = self._states.get(uuid_key(uuid), power_state.NO_DOMAIN)
        if state not in power_state.RUNS:
            self._states = None
        return state


class MoveGuests:
    """Empty the host: the planned guests, and whoever came to it between plan and disabling."""

    def __init__(self, systems: Systems, moves: GuestMoves) -> None:
        self.systems = systems
        self.moves = moves

    def apply(self, params: Params, memory: Memory) -> Done:
        """Move every guest to another host of the zone."""
        self.moves.require_measurement(plans.MOVE)
        probes = list(self.moves.context.probes)
        while True:
            made = self._mover(params, probes=probes, state_of=DomainStates(self.systems))
            try:
                return _told(self.systems, made, made.apply(params, memory))
            except mover.ProbeError as error:
                probes += probe_from_host(self.systems, error.bundle, error.probes)

    def undo(self, params: Params) -> None:
        """End unfinished moves. Guests that have moved stay: see :class:`ReturnGuestsOnRollback`."""
        self._mover(params).undo(params)

    def _mover(self, params: Params, **given: t.Any) -> mover.MoveServers:
        return self.moves.mover(
            self.systems, plans.MOVE, plans.move_request(params, drain_host=params["host"]), **given
        )


class ReturnGuestsOnRollback:
    """Does nothing when applied. On rollback, move the guests back to the host.

    It is the first step, so that it is the last to be undone: the compute service is enabled again by then.
    """

    def __init__(self, systems: Systems, moves: GuestMoves) -> None:
        self.systems = systems
        self.moves = moves
        self._memory: Memory = {}

    def apply(self, params: Params, memory: Memory) -> Done:
        """Nothing to do: the plan has the list."""
        return Done(f"{count(len(params['guests']), 'guest')} on {params['host']}")

    def recall(self, memory: Memory) -> None:
        """Take note of what an earlier round has learnt."""
        self._memory = memory

    def undo(self, params: Params) -> t.Optional[Done]:
        """Move the guests back, if that is asked for with the rollback."""
        if not (self.systems.options.get("drain_return") and params["guests"]):
            return None
        left = (
            "All other changes of the rename are rolled back. To finish the rollback and leave these guests where "
            "they are now, run the same command with -e rename_drain_return=false"
        )
        return _move_home(self.systems, self.moves, plans.HOME, params, self._memory, left)


class ReturnGuests:
    """Move the guests of a list to a host: those that exist and are elsewhere."""

    def __init__(self, systems: Systems, moves: GuestMoves) -> None:
        self.systems = systems
        self.moves = moves

    def apply(self, params: Params, memory: Memory) -> Done:
        """Move each to the host. What its owner stopped, started or deleted meanwhile is taken as it is."""
        if self.systems.options.get("drain_return") is False:
            return Done("the run does not move the guests back, because rename_drain_return is now false")
        left = (
            "The host has its new name. To finish the operation and leave these guests where they are now, run the "
            "same command with -e rename_drain_return=false"
        )
        return _move_home(self.systems, self.moves, plans.RETURN, params, memory, left)

    def undo(self, params: Params) -> None:
        """Never reached: the old host is gone."""


def _move_home(systems: Systems, moves: GuestMoves, step: str, params: Params, memory: Memory, left: str) -> Done:
    """Move guests to a host that takes guests. ``left``: what an operator can do instead."""
    try:
        moves.require_measurement(step)
        _wait_until_usable(systems, params["host"], params["up_timeout"])
        made = moves.mover(systems, step, plans.move_request(params, destination=params["host"]))
        return _told(systems, made, made.apply({"host": None, "servers": _guests_now(systems, params)}, memory))
    except mover.AgainError:
        raise
    except StepError as error:
        raise StepError(f"{error}. {left}", checked=error.checked) from error


def _guests_now(systems: Systems, params: Params) -> t.List[Json]:
    """Return the guests of a list as the mover takes them. One that needs no other host has none here."""
    home, found = params["host"], []
    with as_step_error():
        zone = compute_services.zone_of_host(systems.cloud, home)
        for uuid in params["guests"]:
            server = server_records.raw_server(systems.cloud, uuid) or {}
            host = server.get("OS-EXT-SRV-ATTR:host")
            entry = {"uuid": uuid, "name": server.get("name", uuid), "status": server.get("status"), "zone": zone}
            found.append({**entry, "host": None if host == home else host})
    return found


def _wait_until_usable(systems: Systems, host: str, timeout: float) -> None:
    seen_first: t.List[t.Optional[str]] = []

    def usable() -> t.Optional[str]:
        # A fresh heartbeat: a migration asked for while nova-compute initialises can end in ERROR.
        with as_step_error():
            service = compute_services.find_service(systems.cloud, host)
            if service is None:
                return None
            seen_first.append(service.updated_at)
            enabled = service.state == "up" and service.status == "enabled" and not service.forced_down
            if not enabled or service.updated_at == seen_first[0]:
                return None
            # nova-compute takes the trait off some seconds after the API said that it is enabled.
            node = hypervisors.find_node(systems.cloud, host)
            traits = None if node is None else resource_providers.get_provider_traits(systems.cloud, node.id).traits
        return None if traits is None or DISABLED in traits else "usable"

    systems.wait(
        lambda: f"nova-compute on {host} has sent a heartbeat, and its service is enabled in Nova and in placement",
        timeout,
        usable,
    )


def _told(systems: Systems, made: mover.MoveServers, done: Done) -> Done:
    """Add what the moves have found, for the report of the run that ends the operation."""
    return Done(done.remark, {**(done.memory or {}), **noted(made.context.outcome.checked, systems.overrides)})


# --- the old host, unregistered -------------------------------------------------------------------------------------


class HostEmpty:
    """No guest is left: asked of the API, the databases and libvirt."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Wait until all three agree; a domain goes some seconds after its migration ended."""
        left: t.List[str] = []

        def seen() -> t.Optional[str]:
            left[:] = _left(self.systems, params)
            return None if left else "the host has no server, no instance row, no domain and no allocation"

        return Done(
            self.systems.wait(
                lambda: f"the host is empty (objects that must still disappear from the host: {', '.join(left[:5])})",
                params["timeout"],
                seen,
            )
        )

    def undo(self, params: Params) -> None:
        """Nothing was changed."""


def _left(systems: Systems, params: Params) -> t.List[str]:
    """Name what still is on the host."""
    with as_step_error():
        servers = server_records.servers_on(systems.cloud, params["host"])
        databases = nova.read_databases(systems.options, sorted({params["host"], params["node"]}))
    left = [f"server {server.name} ({server.id})" for server in servers]
    if databases.cells is None or any(cell.instances is None for cell in databases.cells):
        raise StepError("the run cannot read the cell databases, so the run does not know whether the host is empty")
    for cell in databases.cells:
        rows = [row for row in cell.instances or [] if row.host == params["host"] and not row.deleted]
        left += [f"instance row {row.uuid} in cell {cell.name}" for row in rows]
    domains = systems.host.facts(systems.info_arguments).domains
    if domains is None:
        raise StepError("the run cannot read libvirt, so the run does not know whether the host is empty")
    left += [f"domain {domain.name} ({domain.uuid}, {domain.state})" for domain in domains]
    return left + _allocations(systems, params.get("provider"))


def _allocations(systems: Systems, root: t.Optional[str]) -> t.List[str]:
    """Name who holds resources of a provider tree: Nova would keep a provider with allocations, and say nothing.

    ``root``: None in the journal of an earlier version.
    """
    if root is None:
        return []
    with as_step_error():
        tree = [provider.uuid for provider in resource_providers.list_providers(systems.cloud, in_tree=root)]
        held = {uuid: resource_providers.provider_consumers(systems.cloud, uuid) or [] for uuid in tree}
    return [f"allocation of {consumer} on {uuid}" for uuid in tree for consumer in held[uuid]]


class DeleteService:
    """The point of no return: Nova forgets the host."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Look once more, delete, and see everything gone."""
        if self._exists(params):
            left = _left(self.systems, params)
            if left:
                raise StepError(
                    f"the compute service was not deleted, because the host is not empty: {', '.join(left[:5])}",
                    problem="service-not-empty",
                )
            with as_step_error():
                others = neutron_agents.other_nodes_of_service(
                    self.systems.url(f"cell:{params['cell']}"), params["service"], params["host"]
                )
            if others:
                raise StepError(
                    "the compute service was not deleted, because Nova would also delete compute nodes of other hosts: "
                    f"{', '.join(others)}"
                )
            # Reading may have taken long, and nothing brings the service back.
            self.systems.still_ours()
            with as_step_error():
                compute_services.delete_service(self.systems.cloud, params["service_id"])
        return Done(self._verify(params))

    def undo(self, params: Params) -> None:
        """Refuse where it was deleted: nothing brings its node, provider and mapping back."""
        if not self._exists(params):
            raise StepError(
                f"the compute service {params['service_id']} of {params['host']} was deleted, with its compute node, "
                "resource provider and host mapping. A rollback is no longer possible. To finish the rename, run the "
                "same command without rename_action=rollback",
                problem="service-not-deleted",
            )

    def _exists(self, params: Params) -> bool:
        with as_step_error():
            service = compute_services.find_service(self.systems.cloud, params["host"])
        return service is not None and service.id == params["service_id"]

    def _verify(self, params: Params) -> str:
        cloud, provider = self.systems.cloud, params["provider"]
        with as_step_error():
            consumers = resource_providers.provider_consumers(cloud, provider)
            if consumers:
                raise StepError(
                    f"resource provider {provider} still exists, with allocations of {', '.join(consumers)}"
                )
            if consumers is not None:
                # Nova only logs where placement did not delete it.
                resource_providers.delete_provider(cloud, provider)
            # An aggregate that was deleted since has no member.
            hosts = {entry.id: entry.hosts for entry in host_aggregates.list_aggregates(cloud)}
            members = [identity for identity in params["aggregates"] if params["host"] in hosts.get(identity, [])]
            for identity in members:
                host_aggregates.leave_aggregate(cloud, identity, params["host"])
            if self._exists(params):
                raise StepError(f"compute service {params['service_id']} still exists")
        return "compute service, compute node, resource provider and aggregate memberships are deleted"


class Register:
    """nova-compute's new service seen, disabled at once, and its host mapped to its cell."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Wait for the service, then for the mapping. What nova-compute says in its log when it refuses ends it."""
        service_id = self._service(params, memory)
        node = self._mapped(params)
        if node == params["old_node"]:
            raise StepError(
                "the host started with its old identity, because nova-compute still reads a compute_id file with the "
                f"uuid {node}",
                problem="old-name-started",
            )
        if params.get("new_node") not in (None, node):
            raise StepError(
                f"the new compute node has the uuid {node}, expected {params['new_node']}: someone changed the "
                "compute_id file after the run wrote it. Check whether the uuid in the file belonged to another host",
                problem="another-compute-node",
            )
        told = f"service {service_id}, node {node}: the service is up, and the host is mapped to its cell"
        return Done(told, {"service_id": service_id, "provider": node})

    def undo(self, params: Params) -> None:
        """Never reached: the old host is gone."""

    def _service(self, params: Params, memory: Memory) -> str:
        found: t.List[str] = []

        def seen() -> t.Optional[str]:
            with as_step_error():
                service = compute_services.find_service(self.systems.cloud, params["host"])
                if service is not None and service.disabled_reason != params["reason"]:
                    compute_services.set_service_status(self.systems.cloud, service.id, "disabled", params["reason"])
            self._read_log(params, memory)
            if service is None or service.state != "up":
                return None
            found.append(service.id)
            return service.id

        return self.systems.wait(lambda: f"the compute service of {params['host']} is up", params["timeout"], seen)

    def _read_log(self, params: Params, memory: Memory) -> None:
        mark = memory.get("stop_compute")
        if mark is None:
            return
        request = {
            "op": "log_find",
            "log_file": params["log_file"],
            "unit": params["units"][0] if params["units"] else None,
            "mark": mark,
            "needles": list(ComputeUp.REFUSALS),
        }
        (result,) = self.systems.host.call([request])
        for line in result["found"].values():
            if line:
                raise StepError(f"nova-compute logged: {line}")

    def _mapped(self, params: Params) -> str:
        host = params["host"]

        def seen() -> t.Optional[str]:
            with as_step_error():
                node = hypervisors.find_node(self.systems.cloud, host)
                if node is None or resource_providers.provider_aggregates(self.systems.cloud, node.id) is None:
                    return None
            if node.hypervisor_hostname != params["node"]:
                raise StepError(
                    f"the new compute node has the name {node.hypervisor_hostname}, expected {params['node']}"
                )
            return node.id

        try:
            return self.systems.wait(lambda: f"host {host} is mapped to its cell", params["discover_timeout"], seen)
        except TimedOutError as error:
            raise DiscoveryError(
                f"{error}. Run nova-manage cell_v2 discover_hosts on a controller node of the cloud. Then run the "
                "same Ansible command again. To let the run map the host, set rename_discover_command and "
                "rename_discover_host"
            ) from error


def _is_gone(systems: Systems, identity: int) -> bool:
    """Whether Nova says of this very aggregate that it does not exist: one that a list lacks may only be unread."""
    try:
        host_aggregates.get_aggregate(systems.cloud, identity)
    except ApiError as error:
        if error.data.get("status") == 404:
            return True
        raise StepError(str(error)) from error
    return False


class JoinAggregates:
    """The host in exactly the aggregates its old name was in, in Nova and in placement."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Join each; one where only Nova knows the host is left and joined again.

        The run cannot join an aggregate that somebody has deleted since the plan: it warns, and leaves that one out.
        """
        provider = memory["register"]["provider"]
        gone = [entry for entry in params["aggregates"] if _is_gone(self.systems, entry["id"])]
        there = [entry for entry in params["aggregates"] if entry not in gone]
        for entry in gone:
            self.systems.remark(f"warning: aggregate {entry['name']} was deleted during the run")
        for entry in there:
            self._join(entry, params["host"], provider, params["timeout"])
        joined = ", ".join(entry["name"] for entry in there)
        return Done(f"joined {count(len(there), 'aggregate')}: {joined}")

    def undo(self, params: Params) -> None:
        """Never reached: the old host is gone."""

    def _join(self, entry: Json, host: str, provider: str, timeout: float) -> None:
        said: t.List[str] = []

        def seen() -> t.Optional[str]:
            try:
                return self._once(entry, host, provider)
            except ApiError as error:
                # 404: not mapped yet, as that API server sees it; 409: placement's generation moved meanwhile.
                if error.data.get("status") not in (404, 409):
                    raise StepError(f"aggregate {entry['name']}: {error}") from error
                said[:] = [str(error)]
                return None

        self.systems.wait(
            lambda: f"the host is in aggregate {entry['name']}{''.join(f' ({one})' for one in said)}", timeout, seen
        )

    def _once(self, entry: Json, host: str, provider: str) -> t.Optional[str]:
        cloud = self.systems.cloud
        if host not in host_aggregates.get_aggregate(cloud, entry["id"])["hosts"]:
            host_aggregates.join_aggregate(cloud, entry["id"], host)
        if entry["uuid"] in (resource_providers.provider_aggregates(cloud, provider) or []):
            return "joined"
        # Half done: Nova says "already has host" from now on, and zone-pinned guests find no valid host.
        self.systems.remark(
            f"aggregate {entry['name']}: Nova shows the host in the aggregate, but placement does not show the host in "
            "the aggregate yet. The run removes the host from the aggregate, and then adds the host again"
        )
        host_aggregates.leave_aggregate(cloud, entry["id"], host)
        return None


class NewServiceStatus:
    """Give the new service the status that the old one had."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Set it, once OVN's chassis is proven in this very run."""
        # Journals of earlier versions do not have it.
        ovn_drain.read_again(self.systems, params.get("ovn"))
        with as_step_error():
            service_id = memory["register"]["service_id"]
            # Journals of earlier versions do not say under which reason the service waits.
            held = ("disabled", params["held"]) if "held" in params else None
            compute_services.set_service_status(
                self.systems.cloud, service_id, params["status"], params["reason"], held
            )
        return Done(f"{params['status']}" + (f" ({params['reason']})" if params["reason"] else ""))

    def undo(self, params: Params) -> None:
        """Never reached: the old host is gone."""


class DrainAudit:
    """Read everything once more. Whatever blocks stops the operation before the service is enabled."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Read, check, and refuse on any blocker, and where a place of the name was not read."""
        ovn_drain.read_again(self.systems, params.get("ovn"))
        registered = memory["register"]
        expected = checks.ReplacedHost(
            inventory_name=params["inventory_name"],
            old=(params["old"]["host"], params["old"]["hypervisor_hostname"]),
            new=(params["new"]["host"], params["new"]["hypervisor_hostname"]),
            old_ids=(params["old_service"], params["old_node"]),
            new_ids=(registered["service_id"], registered["provider"]),
            zone=params["zone"],
            aggregates=tuple(params["aggregates"]),
            guests=tuple(params["guests"]),
            gone=tuple(identity for identity in params["aggregates"] if _is_gone(self.systems, identity)),
        )
        bundle = self._collect(params)
        with as_step_error():
            servers = {uuid: server_records.raw_server(self.systems.cloud, uuid) for uuid in expected.guests}
        zones = {
            uuid: server.get("OS-EXT-AZ:availability_zone") if server else None for uuid, server in servers.items()
        }
        checked = checks.audit(bundle, expected, zones)
        refused = blocking_findings(checked.findings, [])
        if refused:
            raise StepError(f"findings after the rename:\n{findings_text(Checked(tuple(refused)))}")
        if checked.unchecked:
            said = findings_text(Checked(unchecked=checked.unchecked))
            raise StepError(
                f"after the rename, the run could not read some places that store the name:\n{said}",
                problem="places-not-read",
            )
        told = Checked(tuple(item for item in checked.findings if item.severity != BLOCKER))
        if told.findings:
            self.systems.remark(findings_text(told))
        kept = "zone is" if expected.gone else "aggregates and zone are"
        return Done(
            f"the old name is gone; compute service, compute node and resource provider are new; {kept} unchanged",
            noted(told, []),
        )

    def undo(self, params: Params) -> None:
        """Nothing was changed."""

    def _collect(self, params: Params) -> Bundle:
        scope = sorted({*params["old"].values(), *params["new"].values()} - {None})
        facts = self.systems.host.facts(self.systems.info_arguments)
        with as_step_error():
            databases = nova.read_databases(self.systems.options, scope)
            cloud = cloud_facts.read_cloud(self.systems.cloud, scope)
        return Bundle(SCHEMA, facts.read_at, {params["inventory_name"]: facts}, {}, cloud, databases)


def other_nodes(systems: Systems, bundle: Bundle, host: str) -> t.List[str]:
    """Return compute nodes of other hosts that name the service of this host."""
    found: t.List[str] = []
    for cell in (bundle.databases.cells if bundle.databases else None) or []:
        for service in cell.services or []:
            if service.host == host and service.binary == "nova-compute" and not service.deleted:
                with as_step_error():
                    found += neutron_agents.other_nodes_of_service(systems.url(f"cell:{cell.name}"), service.id, host)
    return found


def only_forward(journal: t.Mapping[str, t.Any]) -> bool:
    """Whether the service was deleted: nothing can be taken back then."""
    return bool(journal["steps"].get(plans.POINT_OF_NO_RETURN) == journals.DONE)


def refuse_rollback(journal: t.Mapping[str, t.Any], systems: Systems) -> None:
    """Raise StepError where the service was deleted already, before anything of the journal is touched."""
    begun = journal["steps"].get(plans.POINT_OF_NO_RETURN, journals.PENDING)
    if begun in (journals.APPLYING, journals.DONE):
        step = next(step for step in plan_of(journal).steps if step.name == plans.POINT_OF_NO_RETURN)
        DeleteService(systems).undo(step.params)


def actions(systems: Systems, moves: GuestMoves) -> t.Dict[str, Action]:
    """Return every controller action that only a drain has, by the name that plans use."""
    return {
        "return_guests_on_rollback": ReturnGuestsOnRollback(systems, moves),
        "empty_host": MoveGuests(systems, moves),
        "host_empty": HostEmpty(systems),
        "delete_service": DeleteService(systems),
        "register": Register(systems),
        "join_aggregates": JoinAggregates(systems),
        "drain_audit": DrainAudit(systems),
        "new_service_status": NewServiceStatus(systems),
        "move_guests_home": ReturnGuests(systems, moves),
    }
