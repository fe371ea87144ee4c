# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a rename in place: facts in, ordered steps out. Pure.

Ids and uuids never change; only names do. The order matters more than anything else here:

1. The compute service is disabled with the operation's id, so that the scheduler sends nothing here, and so that
   a second operation sees the first. The guests are locked, so that their owners' requests are refused and not lost,
   and what they have asked for ends while nova-compute still runs.
2. nova-compute, then the L2 agent, are stopped and kept from starting: from now on no process takes a half-renamed
   host for a new one. Flows of a stopped agent stay, so the guests keep their network.
3. Cell database, API database, placement, neutron: each bears the new name before the host does. In neutron the
   agent's row is renamed with a fresh heartbeat *first*: a port bound to a name without a live agent becomes
   C(binding_failed) and a running agent puts it on the dead VLAN.
4. The host's own name and files; libvirt must then say what compute_nodes says.
5. The L2 agent is started and seen alive before nova-compute (else binding_failed). Where no guest was evacuated
   meanwhile, nova-compute is started and proves itself: its log line, the service up, the inventory's generation
   moving.
6. Everything is read once more, requests of guests' owners too; then the guests are unlocked, and the service gets
   back the status it had.

Without neutron's database the agents' rows cannot be renamed, so 3 to 5 are in another order (an operator who
overrides SG305 by name accepts what it costs): the host's name, the L2 agent under its new name, which registers
anew, then the ports, then the old agents' records. From the agent's first synchronisation (some 12 s) until its port
is bound to the new name a guest is cut off. Taken back, the ports must follow the *old* agent, when that runs again:
so their way home is a step of its own that comes before the agent is stopped, and is undone after it is started.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model import deployment as deployments
from ...model import names as naming
from ...model.codes.catalogue import remedy_text
from ...model.deployment_facts import NOVA_COMPUTE
from ...model.facts import (
    ApiAgent,
    ApiPort,
    ApiService,
    Bundle,
    CellFacts,
    CloudFacts,
    ComputeNodeRow,
    DatabaseFacts,
    HostFacts,
    ResourceProvider,
    ServiceRow,
    Unit,
    to_plain,
)
from ...model.network_agents import L2_AGENTS, has_ovn
from ...model.plan import (
    CONTROLLER,
    HOST,
    Change,
    Plan,
    PlanError,
    RowChange,
    Step,
)
from ...model.requests import RenameRequest
from ...model.wording import count
from ...name_places import (
    catalogue,
    host_itself,
    neutron_agents,
    neutron_ports,
    placement_providers,
)
from ...name_places.place import Renaming, needed, row_changes
from ..containers import plan as rename_containers
from ..ovn import plan as ovn
from ..requests import plan as queues
from . import verify_guests as guests

KIND = "rename"


class PlanContext:
    """What every part of the plan looks up, found once."""

    def __init__(self, bundle: Bundle, request: RenameRequest) -> None:
        self.request = request
        self.host = needed(bundle.hosts.get(request.inventory_name), f"facts of host {request.inventory_name}")
        own = needed(naming.conf_host(self.host), "nova.conf (the host name that nova-compute uses)")
        if own != request.rename_from:
            raise PlanError(
                f"nova-compute on this host uses the name {own}, not {request.rename_from}", problem="other-host-name"
            )
        self.databases: DatabaseFacts = needed(bundle.databases, "the databases")
        self.cloud: CloudFacts = needed(bundle.cloud, "the APIs")
        self.cell, self.node = _home(self.databases, request.rename_from)
        self.service = _service_row(self.cell, request.rename_from)
        self.api_service = _api_service(self.cloud, self.service)
        self.before, self.after = naming.rename(
            self.host,
            needed(self.node.hypervisor_hostname, "hypervisor_hostname of the compute node"),
            request.rename_to,
            request.hypervisor_hostname,
        )

    @property
    def provider(self) -> ResourceProvider:
        """The root provider of the compute node, by uuid."""
        return self.renaming.provider

    @property
    def renaming(self) -> Renaming:
        """What the places of the name take from the facts."""
        return Renaming(
            self.cell,
            self.node,
            self.service,
            self.api_service,
            self.databases.api,
            self.cloud,
            self.before,
            self.after,
        )


def plan(bundle: Bundle, request: RenameRequest) -> Plan:
    """Return the plan of a rename in place. Raises :class:`PlanError` or :class:`naming.NamesError`."""
    context = PlanContext(bundle, request)
    agents = agent_units_of(context)
    steps = [disable(context), *_before_the_stop(context)]
    steps.append(stop(context, "stop_compute", "nova-compute", compute_units_of(context), True))
    # Taken back just before nova-compute starts under the old name: a rollback looks for evacuations too.
    steps.append(_no_evacuation(context, "no_evacuation_before"))
    if _has_ovn(context):
        steps += _middle_with_ovn(context)
    elif _agents_register_anew(context):
        steps += _middle_with_new_agents(context, agents)
    else:
        steps += _middle(context, agents)
    steps += [
        _guests(context, "guests", True),
        _no_evacuation(context, "no_evacuation"),
        start(context, "start_compute", "nova-compute", compute_units_of(context), True),
        _compute_up(context),
        _guests(context, "guests_after", False),
        _lost_requests(context),
        *([queues.report(context.before.host)] if _looks_into_queues(context) else []),
        _audit(context),
        *([queues.remove(context.before.host)] if _looks_into_queues(context) else []),
        *_unlock(context),
        _enable(context),
    ]
    steps = rename_containers.arranged(context.host, request, (context.before, context.after), steps)
    subject = f"{context.before.host} -> {context.after.host}"
    return Plan(KIND, request.operation_id, subject, steps, _notes(context))


def _before_the_stop(context: PlanContext) -> t.List[Step]:
    """Owners ask for nothing more, and what they have asked for ends: what comes later is in no queue of a name."""
    old = context.before.host
    params = {**_whose(context), "timeout": context.request.settle_timeout}
    settle = Step("settle", f"wait until no guest of {old} has a task in progress", CONTROLLER, "settle", params)
    drain = [queues.drain(old, context.after.host, context.request.settle_timeout)]
    settled = [settle, *(drain if _looks_into_queues(context) else []), _guests_settled(context)]
    if not context.request.lock_guests:
        return settled
    params = {**_whose(context), "reason": reason_of(context.request.operation_id)}
    changes = [Change(f"guests of {old}", "locked", "as they are", f"locked: {params['reason']}")]
    return [Step("lock_guests", f"lock the guests of {old}", CONTROLLER, "lock_guests", params, changes), *settled]


def _unlock(context: PlanContext) -> t.List[Step]:
    if not context.request.lock_guests:
        return []
    params = {**_whose(context), "reason": reason_of(context.request.operation_id)}
    title = "unlock the guests that this operation locked"
    return [Step("unlock_guests", title, CONTROLLER, "unlock_guests", params)]


def _lost_requests(context: PlanContext) -> Step:
    params = {
        **_whose(context),
        "queues": [] if _looks_into_queues(context) else [context.before.host],
        "timeout": context.request.settle_timeout,
    }
    title = "find requests that arrived after the plan was made, and wait until these requests end"
    return Step("lost_requests", title, CONTROLLER, "lost_requests", params)


def _looks_into_queues(context: PlanContext) -> bool:
    return context.request.has_broker and context.before.host != context.after.host


def _no_evacuation(context: PlanContext, name: str) -> Step:
    title = "verify that no guest was evacuated during the operation"
    return Step(name, title, CONTROLLER, "no_evacuation", {"hosts": _both_names(context)})


def _whose(context: PlanContext) -> t.Dict[str, t.Any]:
    """Whose requests: the guests of the host under either name. A list of the API may leave one out: by uuid too."""
    old = context.before.host
    rows = needed(context.cell.instances, f"instances of cell {context.cell.name}")
    uuids = sorted(row.uuid for row in rows if not row.deleted and row.host == old)
    return {"hosts": _both_names(context), "uuids": uuids}


def _both_names(context: PlanContext) -> t.List[str]:
    return list(dict.fromkeys((context.before.host, context.after.host)))


#: Which of a command's timeouts counts for a step, by its action.
TIMEOUTS = {
    "service_status": "start_timeout",
    "stop_units": "stop_timeout",
    "start_units": "start_timeout",
    "compute_up": "start_timeout",
    "recreate_containers": "start_timeout",
    "register": "start_timeout",
    "ovn_hostname": "agent_timeout",
    "ovn_verified": "agent_timeout",
    "ovn_chassis": "agent_timeout",
    "agents_alive": "agent_timeout",
    "new_agents": "agent_timeout",
    "ports": "agent_timeout",
    "ports_home": "agent_timeout",
    "settle": "settle_timeout",
    "drain_queues": "settle_timeout",
    "lost_requests": "settle_timeout",
}


def with_timeouts(made: Plan, timeouts: t.Mapping[str, int]) -> Plan:
    """Return the plan of a journal as the run that resumes it carries it out.

    Timeouts are those of the command that resumes: what was too short is not so for ever.
    """
    return dataclasses.replace(made, steps=[_revised(step, timeouts) for step in made.steps])


def _revised(step: Step, timeouts: t.Mapping[str, int]) -> Step:
    timeout = timeouts.get(TIMEOUTS.get(step.action, ""))
    if timeout is None or "timeout" not in step.params:
        return step
    return dataclasses.replace(step, params={**step.params, "timeout": timeout})


def _middle(context: PlanContext, agents: t.Sequence[Unit]) -> t.List[Step]:
    """From nova-compute stopped to the agents alive, agents' rows renamed in neutron's database."""
    steps = [stop(context, "stop_agents", "L2 agent", agents, False)] if agents else []
    steps += [_cell_database(context), _api_database(context), _placement(context)]
    neutron = _neutron(context)
    if neutron is not None:
        steps.append(neutron)
    steps.append(host_names(context))
    if agents:
        steps += [start(context, "start_agents", "L2 agent", agents, False), _agents_alive(context)]
    return steps


def _middle_with_ovn(context: PlanContext) -> t.List[Step]:
    """The same with OVN, whose agents keep running: the ports follow first, then the host's own name changes."""
    about = _ovn(context)
    return [
        _cell_database(context),
        _api_database(context),
        _placement(context),
        *ovn.steps(about),
        host_names(context),
        *ovn.proof(about, _own_agents(context), _own_ports(context)),
    ]


def _has_ovn(context: PlanContext) -> bool:
    return has_ovn(_own_agents(context)) and context.before.host != context.after.host


def _ovn(context: PlanContext) -> ovn.OvnRenaming:
    neutron = context.databases.neutron
    return ovn.renaming(
        context.databases.ovn,
        neutron.bindings if neutron is not None else None,
        context.host,
        (context.before, context.after),
        context.request.agent_timeout,
    )


def _middle_with_new_agents(context: PlanContext, agents: t.Sequence[Unit]) -> t.List[Step]:
    """The same without neutron's database: nothing may come between the agent's start and its ports."""
    return [
        _ports_home(context),
        stop(context, "stop_agents", "L2 agent", agents, False),
        _cell_database(context),
        _api_database(context),
        _placement(context),
        host_names(context),
        start(context, "start_agents", "L2 agent", agents, False),
        new_agents(context.after.host, _l2_agents(context), context.request.agent_timeout),
        _ports(context),
        delete_agents(context.before.host, _l2_agents(context)),
    ]


def reason_of(operation_id: str) -> str:
    """Return the disabled_reason that marks a host as held by an operation."""
    return f"stackguard:{KIND}:{operation_id}"


# --- steps ----------------------------------------------------------------------------------------------------


def disable(context: PlanContext) -> Step:
    """The step that disables the compute service with the operation's id, and what takes that back."""
    service = context.api_service
    reason = reason_of(context.request.operation_id)
    params = {
        "service_id": service.id,
        "before": {"status": service.status, "reason": service.disabled_reason},
        "after": {"status": "disabled", "reason": reason},
        "provider": context.provider.uuid,
        "timeout": context.request.start_timeout,
    }
    changes = [
        Change(f"compute service {service.id}", "status", service.status, "disabled"),
        Change(f"compute service {service.id}", "disabled_reason", service.disabled_reason or "", reason),
    ]
    return Step("disable_service", "disable the compute service", CONTROLLER, "service_status", params, changes)


def _enable(context: PlanContext) -> Step:
    service = context.api_service
    params = {
        "service_id": service.id,
        "before": {"status": "disabled", "reason": reason_of(context.request.operation_id)},
        "after": {"status": service.status, "reason": service.disabled_reason},
        "provider": context.provider.uuid,
        "timeout": context.request.start_timeout,
    }
    changes = [Change(f"compute service {service.id}", "status", "disabled", service.status)]
    title = (
        "enable the compute service, and verify that nova-compute updates its inventory"
        if service.status == "enabled"
        else "restore the old status of the compute service"
    )
    return Step("enable_service", title, CONTROLLER, "service_status", params, changes)


def _unit_params(context: PlanContext, units: t.Sequence[Unit], use_commands: bool, timeout: int) -> t.Dict[str, t.Any]:
    commands = context.request.commands if use_commands and context.request.commands.given else None
    outlives = use_commands and not commands and deployments.may_outlive(context.host, units)
    return {
        # A container may run on without its unit: then the process says so.
        **({"programs": [NOVA_COMPUTE]} if outlives else {}),
        "units": []
        if commands
        else [
            {
                "name": unit.name,
                "active": unit.active_state in ("active", "activating"),
                "enabled": unit.unit_file_state,
            }
            for unit in units
        ],
        "stop_command": commands.stop if commands else None,
        "start_command": commands.start if commands else None,
        "mask_command": commands.mask if commands else None,
        "unmask_command": commands.unmask if commands else None,
        "timeout": timeout,
    }


def stop(context: PlanContext, name: str, what: str, units: t.Sequence[Unit], compute: bool) -> Step:
    """The step that stops units and keeps them from starting. ``compute``: nova-compute, or the operator's command."""
    params = _unit_params(context, units, compute, context.request.stop_timeout)
    if compute:
        params["log_file"] = log_file_of(context)
    changes = [
        Change(f"{context.request.inventory_name} unit {unit['name']}", "state", "started", "stopped and masked")
        for unit in params["units"]
    ]
    return Step(name, f"stop and mask {what}", HOST, "stop_units", params, changes)


def start(context: PlanContext, name: str, what: str, units: t.Sequence[Unit], compute: bool) -> Step:
    """The step that starts again what was active when it was stopped."""
    params = _unit_params(context, units, compute, context.request.start_timeout)
    changes = [
        Change(f"{context.request.inventory_name} unit {unit['name']}", "state", "stopped and masked", "started")
        for unit in params["units"]
        if unit["active"]
    ]
    return Step(name, f"start {what}", HOST, "start_units", params, changes)


def _cell_database(context: PlanContext) -> Step:
    old, new = context.before, context.after
    database = f"cell:{context.cell.name}"
    rows, counted = _rows(context, "cell")
    params = {
        "database": database,
        "rows": to_plain(rows),
        "old": {"host": old.host, "node": old.hypervisor_hostname},
        "new": {"host": new.host, "node": new.hypervisor_hostname},
    }
    title = f"update cell database {context.cell.name}: {counted}"
    return Step("cell_database", title, CONTROLLER, "cell_rows", params, row_changes(rows))


def _rows(context: PlanContext, database: str) -> t.Tuple[t.List[RowChange], str]:
    """Return the rows of every place in a database, and how many of each."""
    found = [(place.noun, place.rows(context.renaming)) for place in catalogue.in_database(database)]
    return [row for _noun, rows in found for row in rows], ", ".join(count(len(rows), noun) for noun, rows in found)


def _api_database(context: PlanContext) -> Step:
    rows, counted = _rows(context, "api")
    params = {
        "database": "api",
        "rows": to_plain(rows),
        "old": context.before.host,
        "new": context.after.host,
        "aggregates": sorted({row.before["aggregate_id"] for row in rows if "aggregate_id" in row.before}),
    }
    return Step(
        "api_database", f"update the API database: {counted}", CONTROLLER, "api_rows", params, row_changes(rows)
    )


def _placement(context: PlanContext) -> Step:
    place = placement_providers.PLACE
    providers = [row._asdict() for row in place.renamed(context.renaming)]
    title = f"rename {count(len(providers), place.noun)} in placement"
    return Step("placement", title, CONTROLLER, "providers", {"providers": providers}, place.changes(context.renaming))


def _neutron(context: PlanContext) -> t.Optional[Step]:
    old, new = context.before.host, context.after.host
    agents = [agent.id for agent in _own_agents(context)]
    ports = _own_ports(context)
    if old == new or not (agents or ports):
        return None
    params = {
        "old": old,
        "new": new,
        "agents": agents,
        "database": bool(agents),
        "ports": [{"id": port.id, "vif_type": port.binding_vif_type} for port in ports],
    }
    changes = [*neutron_agents.PLACE.changes(context.renaming), *neutron_ports.PLACE.changes(context.renaming)]
    title = f"update {count(len(agents), 'agent')} and {count(len(ports), 'port')} in neutron"
    return Step("neutron", title, CONTROLLER, "neutron", params, changes)


def _own_agents(context: PlanContext) -> t.List[ApiAgent]:
    return neutron_agents.own_agents(context.renaming)


def _own_ports(context: PlanContext) -> t.List[ApiPort]:
    return neutron_ports.own_ports(context.renaming)


def _agents_register_anew(context: PlanContext) -> bool:
    """Whether the agents cannot keep their rows. Raises PlanError where these were to be changed and were not read."""
    agents = _own_agents(context)
    if not agents or context.before.host == context.after.host:
        return False
    if context.request.has_neutron_db:
        needed(needed(context.databases.neutron, "neutron's database").agents, "neutron's agents")
        return False
    return True


def _l2_agents(context: PlanContext) -> t.List[ApiAgent]:
    return [agent for agent in _own_agents(context) if agent.agent_type in L2_AGENTS]


def _port_params(context: PlanContext) -> t.Dict[str, t.Any]:
    return {
        "old": context.before.host,
        "new": context.after.host,
        "binaries": sorted({agent.binary for agent in _l2_agents(context)}),
        "ports": [
            {"id": port.id, "vif_type": port.binding_vif_type, "active": port.status == "ACTIVE"}
            for port in _own_ports(context)
        ],
        "timeout": context.request.agent_timeout,
    }


def _ports_home(context: PlanContext) -> Step:
    params = _port_params(context)
    title = f"record the binding of {count(len(params['ports']), 'port')} for a rollback"
    return Step("ports_home", title, CONTROLLER, "ports_home", params)


def _ports(context: PlanContext) -> Step:
    params, ports = _port_params(context), _own_ports(context)
    title = f"bind {count(len(ports), 'port')} to the new name once the L2 agent is alive"
    changes = neutron_ports.PLACE.changes(context.renaming)
    return Step("ports", title, CONTROLLER, "ports", params, changes)


def new_agents(host: str, agents: t.Sequence[ApiAgent], timeout: int) -> Step:
    """Wait until agents of the same kinds have registered under the new name."""
    params = {"host": host, "binaries": sorted({agent.binary for agent in agents}), "timeout": timeout}
    return Step("new_agents", "wait for the L2 agent to report under the new name", CONTROLLER, "new_agents", params)


def delete_agents(host: str, agents: t.Sequence[ApiAgent]) -> Step:
    """Delete the records of agents that will never report under the old name again."""
    gone = [{"id": agent.id, "type": agent.agent_type} for agent in agents]
    changes = [Change(f"network agent {agent['id']} ({agent['type']})", "host", host, "deleted") for agent in gone]
    params = {"agents": gone, "host": host}
    title = f"delete {count(len(gone), 'agent')} that neutron has under the old name"
    return Step("delete_agents", title, CONTROLLER, "delete_agents", params, changes)


def host_names(context: PlanContext, emptied: bool = False) -> Step:
    """The step that changes the host's own name and the lines of files that bear it.

    ``emptied``: no guest is on the host. No port of a guest is there that the order could cut off.
    """
    host, old, new = context.host, context.before, context.after
    edits = host_itself.line_edits(host, old, new)
    # With OVN and guests the chassis' hostname has a step of its own, before this one.
    external = {} if _has_ovn(context) and not emptied else host_itself.external_ids(host, old, new)
    params = {
        "static_hostname": {"before": old.os, "after": new.os} if new.os and new.os != old.os else None,
        "line_edits": edits,
        "ovs_external_ids": external,
        "libvirt": {
            "uri": needed(host.libvirt, "libvirt").uri,
            "before": old.hypervisor_hostname,
            "after": new.hypervisor_hostname,
        },
    }
    where = context.request.inventory_name
    changes = []
    if params["static_hostname"]:
        changes.append(Change(where, "host name", old.os or "", new.os or ""))
    changes += [
        Change(f"{where} {edit['path']} line {edit['number']}", "text", edit["before"], edit["after"]) for edit in edits
    ]
    changes += [
        Change(f"{where} Open vSwitch", f"external_ids:{key}", value["before"], value["after"])
        for key, value in sorted(external.items())
    ]
    changes.append(Change(f"{where} libvirt", "host name (reported)", old.hypervisor_hostname, new.hypervisor_hostname))
    return Step(
        "host_names",
        "change the host name in the operating system and in configuration files",
        HOST,
        "host_names",
        params,
        changes,
    )


def rehearsal(bundle: Bundle, request: RenameRequest) -> t.Optional[t.Dict[str, t.Any]]:
    """Return what to try beforehand of the host's own names; None: no plan can be made, and other reasons say why."""
    try:
        context = PlanContext(bundle, request)
        edits = host_itself.line_edits(context.host, context.before, context.after)
    except (PlanError, naming.NamesError):
        return None
    lines = [edit for edit in edits if edit["path"] == host_itself.ETC_HOSTS]
    return {"name": context.after.os or context.host.kernel_hostname, "line_edits": lines}


def _agents_alive(context: PlanContext) -> Step:
    agents = _own_agents(context)
    params = {
        "agents": [agent.id for agent in agents],
        "restarted": [agent.id for agent in agents if agent.agent_type in L2_AGENTS],
        "ports": [port.id for port in _own_ports(context) if port.status == "ACTIVE"],
        "old": context.before.host,
        "new": context.after.host,
        "timeout": context.request.agent_timeout,
    }
    return Step(
        "agents_alive", "wait for the L2 agent to report under the new name", CONTROLLER, "agents_alive", params
    )


def _compute_up(context: PlanContext) -> Step:
    params = {
        "service_id": context.api_service.id,
        "host": context.after.host,
        "node_uuid": context.node.uuid,
        "log_file": log_file_of(context),
        "units": [unit.name for unit in compute_units_of(context)],
        "timeout": context.request.start_timeout,
        "pass_interval": context.host.nova_conf.update_resources_interval if context.host.nova_conf else None,
    }
    return Step("compute_up", "verify that nova-compute started correctly", CONTROLLER, "compute_up", params)


def _guests_settled(context: PlanContext) -> Step:
    """What owners asked for until they were locked is done: a guest that is another by it ends the run in time."""
    step = _guests(context, "guests_settled", True)
    title = f"compare {count(len(step.params['domains']), 'domain')} with the plan"
    return dataclasses.replace(step, title=title, params={**step.params, "before_stop": True})


def _guests(context: PlanContext, name: str, strict: bool) -> Step:
    """Compare every domain with what it was. Before nova-compute starts, only a person can have touched one: strict."""
    domains = guests.as_before(needed(context.host.domains, "domains"))
    params = {"domains": domains, "boot_id": context.host.boot_id, "strict": strict}
    when = "before" if strict else "after"
    title = f"compare the process, uuid and definition of {count(len(domains), 'domain')} {when} nova-compute starts"
    return Step(name, title, CONTROLLER, "guests", params)


def _audit(context: PlanContext) -> Step:
    params = {
        "inventory_name": context.request.inventory_name,
        "old": to_plain(context.before),
        "new": to_plain(context.after),
        "service": {"id": context.service.id, "uuid": context.service.uuid},
        "node": {"id": context.node.id, "uuid": context.node.uuid},
        "provider": context.provider.uuid,
        "cell": context.cell.name,
        "instances": sorted(
            row["key"] for row in _cell_database(context).params["rows"] if row["table"] == "instances"
        ),
        "allocations": context.provider.allocations,
    }
    return Step("audit", "verify that the old name is gone everywhere", CONTROLLER, "audit", params)


def _notes(context: PlanContext) -> t.List[str]:
    notes = [
        *deployment_notes(context),
        (
            "Nova does not support a rename. Write the new name into the variables of your deployment tool before the "
            "tool configures this host again."
        ),
    ]
    if not _looks_into_queues(context):
        notes.append(remedy_text("SG307", "broker-not-given", host=context.before.host))
    notes += [
        (
            "The run does not change DNS, certificates, ssh known hosts or monitoring. It also does not change "
            "/etc/hosts of other hosts."
        ),
    ]
    if _has_ovn(context):
        notes += ovn.notes(_ovn(context))
    elif _agents_register_anew(context):
        notes.append(
            f"The guests lose their network for some seconds ({count(len(_own_ports(context)), 'port')}). The "
            "interruption starts when the L2 agent synchronises under the new name. The interruption ends when the "
            "ports are bound to the new name. A rollback interrupts the network again."
        )
    elif _l2_agents(context) and context.before.host != context.after.host:
        # neutron, services/segments/db.py: a record that was there, with the same configurations, maps nothing.
        notes.append(remedy_text("SG305", "segments-not-mapped", host=context.after.host))
    if context.after.os is None:
        notes.append(
            f"The host name of the operating system ({context.host.kernel_hostname}) is not the name in Nova, so the "
            "run does not change the host name of the operating system."
        )
    return notes


def deployment_notes(context: PlanContext) -> t.List[str]:
    """Say what was detected, and what the run takes from it."""
    found = deployments.of_host(context.host)
    if found is None:
        return []
    units = ", ".join(unit.name for unit in compute_units_of(context)) or "no unit"
    taken = "the commands of rename_stop_command and rename_start_command"
    return [f"Deployment: {found.text}. The run uses {taken if context.request.commands.given else units}."]


# --- look-ups -------------------------------------------------------------------------------------------------


def _home(databases: DatabaseFacts, host: str) -> t.Tuple[CellFacts, ComputeNodeRow]:
    found = [
        (cell, node)
        for cell in needed(databases.cells, "the cells")
        for node in needed(cell.compute_nodes, f"compute nodes of cell {cell.name}")
        if not node.deleted and node.host == host
    ]
    if len(found) != 1:
        raise PlanError(f"host {host} has {len(found)} existing compute nodes; exactly 1 is expected")
    return found[0]


def _service_row(cell: CellFacts, host: str) -> ServiceRow:
    found = [
        service
        for service in needed(cell.services, f"services of cell {cell.name}")
        if not service.deleted and service.host == host and service.binary == "nova-compute"
    ]
    if len(found) != 1:
        raise PlanError(
            f"host {host} has {len(found)} existing nova-compute services in cell {cell.name}; exactly 1 is expected"
        )
    return found[0]


def _api_service(cloud: CloudFacts, row: ServiceRow) -> ApiService:
    for service in needed(cloud.services, "compute services"):
        if service.id == row.uuid:
            return service
    raise PlanError(f"the API shows no compute service {row.uuid}")


def compute_units_of(context: PlanContext) -> t.List[Unit]:
    """Return the units of nova-compute that exist on the host."""
    return _units(context.host, context.request.compute_units)


def agent_units_of(context: PlanContext) -> t.List[Unit]:
    """Return the units of L2 agents; none where neutron knows no agent of the host."""
    if not _own_agents(context):
        return []
    return _units(context.host, context.request.agent_units)


def _units(host: HostFacts, names: t.Sequence[str]) -> t.List[Unit]:
    found = naming.units_named(needed(host.units, "units"), names)
    return [unit for unit in found if unit.load_state == "loaded"]


def log_file_of(context: PlanContext) -> t.Optional[str]:
    """Return the file that nova-compute logs to; None: the systemd journal. Raises PlanError where that is unread."""
    found = needed(context.host.nova_conf, "nova.conf").log_file
    return None if found is None else deployments.on_host(context.host, found)
