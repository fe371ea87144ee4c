# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan of a rename by draining: facts in, ordered steps out. Pure.

Nothing is renamed in any database. The host is emptied, its service deleted through the API, and a new host of the new
name registers itself. The order:

1. The compute service is disabled with the operation's id; each guest moves to another host of the same zone.
2. The host is seen empty (API, databases, libvirt); nova-compute and the L2 agent are stopped and kept from starting.
3. The service is deleted: Nova takes the aggregates' memberships, the provider, the host mapping and the node with it.
   This is the point of no return: before it a rollback takes everything back, after it there is only forward.
4. Names of the host, and the C(compute_id) file out of the way: with the old uuid Nova would undelete the old node.
   Containers of kolla-ansible copy that file at each start, and do not start without: it gets a new uuid. Where they
   have a host name of their own, libvirt's must have said the new name before 3, and all are created again after the
   file: the command that creates nova-compute's container starts nova-compute, so 5 comes before the agents.
5. nova-compute registers; the new service is disabled at once, so that no guest lands here before the aggregates say
   which zone this is; the host is mapped to its cell; the aggregates are joined again, in Nova and in placement.
6. With OVN the chassis must have the new hostname, and no port may ask for the old one.
7. Everything is read once more, the service gets the status it had, and the guests come back if that was asked for.
"""

from __future__ import annotations

import typing as t
import uuid

from ...capacity import placement
from ...model import containers
from ...model import deployment as deployments
from ...model.facts import (
    ApiAgent,
    Bundle,
    ComputeIdFile,
    Unit,
    to_plain,
)
from ...model.network_agents import is_undecided, ports_are_ovns
from ...model.plan import (
    CONTROLLER,
    HOST,
    Change,
    Plan,
    PlanError,
    Step,
)
from ...model.requests import MigrationRequest, RenameRequest
from ...model.wording import count
from ...moves import plan as moves
from ...moves.preflight import MoveDecision
from ..containers import plan as rename_containers
from ..in_place import plan as in_place
from ..ovn import drain_plan as ovn_drain

#: A drain is a rename: one journal of that kind is open on a host at a time, whatever the strategy.
KIND = in_place.KIND
#: The step after which there is no way back, by name.
POINT_OF_NO_RETURN = "delete_service"
#: The steps that move guests, by name: back to the host on rollback, away from it, and back to it at the end.
HOME, MOVE, RETURN = "guests_at_home", "move_guests", "return_guests"


#: The params of the step that verifies OVN's chassis; None: the plan has none.
_Proof = t.Optional[t.Mapping[str, t.Any]]


class _Drain:
    """What the steps of a drain look up, found once; the host's own part is that of a rename in place."""

    def __init__(
        self,
        bundle: Bundle,
        decision: MoveDecision,
        request: RenameRequest,
        options: placement.DrainOptions,
    ) -> None:
        self.base = in_place.PlanContext(bundle, request)
        self.request = request
        self.options = options
        self.old, self.new = self.base.before.host, self.base.after.host
        if self.old == self.new:
            raise PlanError(
                "the new name must differ from the old name, because a rename with rename_strategy=drain registers a "
                "new host in Nova",
                problem="new-name",
            )
        self.zone = placement.zone_of(self.base.cloud, self.old)
        self.decision = decision
        self.guests = [server.id for server in decision.servers]
        assigned = {place.uuid for place in decision.assignments.assigned}
        left = sorted(server.name for server in decision.servers if server.id not in assigned)
        if left:
            raise PlanError(
                f"no host of zone {self.zone} can take these guests: {', '.join(left)}", problem="no-host-of-zone"
            )

    @property
    def identity_files(self) -> t.List[ComputeIdFile]:
        """Every copy that exists: a deployment tool's copy would come back to where Nova reads it."""
        return [file for file in self.base.host.compute_id_files or [] if file.exists]

    @property
    def new_uuid(self) -> str:
        """What nova-compute gets where it does not start without a compute_id: no node ever had it.

        With one that is made of a name, Nova would undelete the node of a host that had this name before.
        """
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.request.operation_id}/{self.request.inventory_name}"))

    @property
    def is_renewed(self) -> bool:
        """Whether the new node must have that uuid."""
        return any(containers.is_copied_at_start(self.base.host, file.path) for file in self.identity_files)

    @property
    def agents(self) -> t.List[ApiAgent]:
        """The agents that are stopped here and must register anew. OVN's follow the chassis and its name."""
        units = {deployments.program_of(name) for name in self.agent_units}
        found = [agent for agent in self.old_agents if agent.binary in units]
        return [agent for agent in found if not agent.agent_type.startswith("OVN")]

    @property
    def old_agents(self) -> t.List[ApiAgent]:
        """Every agent of the old name."""
        return [agent for agent in self.base.cloud.agents or [] if agent.host == self.old]

    @property
    def has_ovn(self) -> bool:
        """Whether the host's ports are OVN's."""
        return ports_are_ovns(self.old_agents, self.old, self.base.host, self.base.databases.ovn)

    @property
    def agent_units(self) -> t.List[str]:
        """Names of the L2 agents' units."""
        return [unit.name for unit in in_place.agent_units_of(self.base)]


def plan(
    bundle: Bundle,
    decision: MoveDecision,
    request: RenameRequest,
    options: t.Optional[placement.DrainOptions] = None,
) -> Plan:
    """Return the plan of a rename by draining. ``decision``: where its guests go.

    Raises :class:`PlanError` or C(names.NamesError).
    """
    drain = _Drain(bundle, decision, request, options or placement.DrainOptions())
    base = drain.base
    compute_units, agent_units = in_place.compute_units_of(base), in_place.agent_units_of(base)
    names = (base.before, base.after)
    steps = [_home(drain), in_place.disable(base), _move(drain), _empty(drain)]
    steps.append(in_place.stop(base, "stop_compute", "nova-compute", compute_units, True))
    if agent_units:
        steps.append(in_place.stop(base, "stop_agents", "L2 agent", agent_units, False))
    steps += [_delete(drain), in_place.host_names(base, emptied=True)]
    if drain.identity_files:
        steps.append(_identity(drain))
    registered = [in_place.start(base, "start_compute", "nova-compute", compute_units, True), _register(drain)]
    agents = _agents(drain, agent_units)
    steps += [*registered, *agents] if rename_containers.needed_for(base.host, names) else [*agents, *registered]
    chassis = _ovn(drain)
    proof = next((step.params for step in chassis if step.action == "ovn_chassis"), None)
    steps += [_aggregates(drain), *chassis, _audit(drain, proof), _enable(drain, proof)]
    if drain.options.bring_back and drain.guests:
        steps.append(_return(drain))
    places = rename_containers.ContainerPlaces(
        "stop_agents" if agent_units else "stop_compute", "identity_file" if drain.identity_files else "host_names"
    )
    steps = rename_containers.arranged(base.host, request, names, steps, places, emptied=True)
    return Plan(KIND, request.operation_id, f"{drain.old} -> {drain.new}", steps, _notes(drain))


# --- steps ----------------------------------------------------------------------------------------------------


def limits_of(request: RenameRequest, options: placement.DrainOptions) -> t.Dict[str, t.Any]:
    """Return what each step that moves guests keeps to, as params."""
    return {
        "reason": in_place.reason_of(request.operation_id),
        "parallel": max(1, options.parallel),
        "timeout": options.timeout,
        "up_timeout": request.start_timeout,
    }


def move_request(limits: t.Mapping[str, t.Any], **more: t.Any) -> MigrationRequest:
    """Return what the mover is asked for: so many guests at a time, whichever their hosts."""
    parallel = dict.fromkeys(("parallel", "per_source", "per_destination"), limits["parallel"])
    rename = {"within": limits["reason"], "renames": True, "prefix": "rename"}
    return MigrationRequest(**parallel, timeout=limits["timeout"], **rename, **more)


def _moving_params(drain: _Drain, host: str) -> t.Dict[str, t.Any]:
    return {"host": host, "guests": drain.guests, **limits_of(drain.request, drain.options)}


def _home(drain: _Drain) -> Step:
    """First to be begun, so last to be taken back: when the service is enabled again guests can come home."""
    title = f"record the {count(len(drain.guests), 'guest')} on this host"
    return Step(HOME, title, CONTROLLER, "return_guests_on_rollback", _moving_params(drain, drain.old))


def _move(drain: _Drain) -> Step:
    params = _moving_params(drain, drain.old)
    moved, changes = moves.moving(move_request(params, drain_host=drain.old), drain.decision, drain.base.node.uuid)
    title = f"move {count(len(drain.guests), 'guest')} to other hosts in zone {drain.zone}"
    return Step(MOVE, title, CONTROLLER, "empty_host", {**params, **moved}, changes)


def _empty_params(drain: _Drain) -> t.Dict[str, t.Any]:
    base = drain.base
    return {
        "host": drain.old,
        "node": base.before.hypervisor_hostname,
        "service": base.service.id,
        "cell": base.cell.name,
        "provider": base.node.uuid,
    }


def _empty(drain: _Drain) -> Step:
    params = {**_empty_params(drain), "timeout": 120}
    return Step(
        "host_empty",
        "verify in the API, the databases and libvirt that the host is empty",
        CONTROLLER,
        "host_empty",
        params,
    )


def _delete(drain: _Drain) -> Step:
    base = drain.base
    members = _memberships(drain)
    params = {
        **_empty_params(drain),
        "service_id": base.api_service.id,
        "aggregates": [entry["id"] for entry in members],
    }
    changes = [
        Change(f"compute service {base.api_service.id}", "host", drain.old, "deleted"),
        Change(f"compute node {base.node.uuid}", "host", drain.old, "deleted"),
        Change(f"resource provider {base.node.uuid}", "name", base.provider.name, "deleted"),
        Change("host mapping", "host", drain.old, "deleted"),
    ]
    changes += [Change(f"aggregate {entry['name']}", "member", drain.old, "removed") for entry in members]
    title = "delete the compute service (after this step, a rollback is no longer possible)"
    return Step(POINT_OF_NO_RETURN, title, CONTROLLER, "delete_service", params, changes)


def _agents(drain: _Drain, units: t.Sequence[Unit]) -> t.List[Step]:
    """The agents go under their old name, and register under the new one."""
    steps = []
    if drain.agents:
        steps.append(in_place.delete_agents(drain.old, drain.agents))
    if units:
        steps.append(in_place.start(drain.base, "start_agents", "L2 agent", units, False))
        if drain.agents:
            steps.append(in_place.new_agents(drain.new, drain.agents, drain.request.agent_timeout))
    return steps


def _identity(drain: _Drain) -> Step:
    operation = drain.request.operation_id
    files: t.List[t.Dict[str, t.Any]] = [
        {"path": file.path, "before": file.uuid, "kept_as": f"{file.path}.stackguard-{operation}"}
        for file in drain.identity_files
    ]
    for file in files:
        if containers.is_copied_at_start(drain.base.host, file["path"]):
            file["renewed"] = drain.new_uuid
    where = drain.request.inventory_name
    changes = [Change(where, "compute_id file", str(file["path"]), str(file["kept_as"])) for file in files]
    changes += [
        Change(where, f"uuid in {file['path']}", str(file["before"]), "a new uuid")
        for file in files
        if file.get("renewed")
    ]
    title = "rename the old compute_id file, so that the host gets a new identity"
    return Step("identity_file", title, HOST, "identity_file", {"files": files}, changes)


def _register(drain: _Drain) -> Step:
    base = drain.base
    params = {
        "host": drain.new,
        "node": base.after.hypervisor_hostname,
        "old_service": base.api_service.id,
        "old_node": base.node.uuid,
        "new_node": drain.new_uuid if drain.is_renewed else None,
        "reason": in_place.reason_of(drain.request.operation_id),
        "log_file": in_place.log_file_of(base),
        "units": [unit.name for unit in in_place.compute_units_of(base)],
        "timeout": drain.request.start_timeout,
        "discover_timeout": drain.options.discover_timeout,
    }
    changes = [
        Change(f"compute service of {drain.new}", "host", "(none)", drain.new),
        Change(
            f"compute service of {drain.new}",
            "status",
            "(none)",
            "disabled (the service stays disabled until the host is in its aggregates)",
        ),
    ]
    title = "wait until nova-compute registers as a new host, and map the host to its cell"
    return Step("register", title, CONTROLLER, "register", params, changes)


def _memberships(drain: _Drain) -> t.List[t.Dict[str, t.Any]]:
    cloud = drain.base.cloud
    if cloud.aggregates is None:
        raise PlanError("the aggregates were not read")
    return [
        {"id": entry.id, "uuid": entry.uuid, "name": entry.name}
        for entry in sorted(cloud.aggregates, key=lambda entry: entry.id)
        if drain.old in entry.hosts
    ]


def _aggregates(drain: _Drain) -> Step:
    members = _memberships(drain)
    changes = [Change(f"aggregate {entry['name']}", "member", drain.old, drain.new) for entry in members]
    params = {"host": drain.new, "aggregates": members, "timeout": 180}
    title = f"add the host to {count(len(members), 'aggregate')}, in Nova and in placement"
    return Step("aggregates", title, CONTROLLER, "join_aggregates", params, changes)


def _ovn(drain: _Drain) -> t.List[Step]:
    base = drain.base
    if not drain.has_ovn:
        return []
    names = (base.before, base.after)
    return ovn_drain.steps(base.databases.ovn, base.host, names, drain.old_agents, drain.request.agent_timeout)


def _audit(drain: _Drain, ovn: _Proof) -> Step:
    base = drain.base
    params = {
        "inventory_name": drain.request.inventory_name,
        "old": to_plain(base.before),
        "new": to_plain(base.after),
        "zone": drain.zone,
        "old_service": base.api_service.id,
        "old_node": base.node.uuid,
        "aggregates": [entry["id"] for entry in _memberships(drain)],
        "guests": drain.guests,
        "ovn": ovn,
    }
    return Step("audit", "verify that the old name is gone everywhere", CONTROLLER, "drain_audit", params)


def _enable(drain: _Drain, ovn: _Proof) -> Step:
    service = drain.base.api_service
    held = in_place.reason_of(drain.request.operation_id)
    params = {"host": drain.new, "status": service.status, "reason": service.disabled_reason, "held": held, "ovn": ovn}
    changes = [Change(f"compute service of {drain.new}", "status", "disabled", service.status)]
    title = (
        "enable the new compute service"
        if service.status == "enabled"
        else "give the new compute service the status of the old compute service"
    )
    return Step("enable_service", title, CONTROLLER, "new_service_status", params, changes)


def _return(drain: _Drain) -> Step:
    changes = [
        Change(f"server {place.name} ({place.uuid})", "host", place.host, drain.new, measured=True)
        for place in drain.decision.assignments.assigned
    ]
    title = f"move {count(len(drain.guests), 'guest')} back to the host"
    return Step(RETURN, title, CONTROLLER, "move_guests_home", _moving_params(drain, drain.new), changes)


def _notes(drain: _Drain) -> t.List[str]:
    notes = [
        *in_place.deployment_notes(drain.base),
        (
            "The run live-migrates running guests. The run cold-migrates stopped guests, and confirms each cold "
            "migration at once."
        ),
        (
            "The host gets a new compute service, compute node and resource provider. If software outside Nova uses "
            "the old uuids, update the uuids in this software."
        ),
    ]
    base = drain.base
    if base.host.nova_conf is not None and base.host.nova_conf.images_type != "rbd" and drain.guests:
        notes.append("The disks are local, so Nova copies each disk over the network.")
    if base.after.os is None:
        notes.append(
            f"The host name in the operating system ({base.host.kernel_hostname}) differs from the name in Nova. "
            "The run does not change the host name in the operating system."
        )
    if drain.has_ovn:
        notes += [ovn_drain.ROUTED] if ovn_drain.is_verifiable(base.databases.ovn) else [ovn_drain.NOT_VERIFIED]
    elif is_undecided(drain.old_agents, base.host):
        notes.append(ovn_drain.NOT_KNOWN)
    if not drain.options.bring_back and drain.guests:
        notes.append(
            "The guests stay on their new hosts. To move the guests back at the end of the rename, use "
            "rename_drain_return=true."
        )
    return notes
