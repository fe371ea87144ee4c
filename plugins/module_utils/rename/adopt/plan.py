# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan for a host that was already renamed: the steps of a rename, from the state that was found. Pure.

The rename is planned as if every place still said the first name (:mod:`adopted_names`). Then each value
that a step changes gets back what was found there. A step puts its place right whatever it says, and its undo restores
what was found, not what a rename would have found.

What a start of nova-compute under the other name has made is put aside under a name that no host has: every part of
that is a rename too, and so it can be undone. The last step of all deletes it through Nova.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model import names as naming
from ...model.lookups import COMPUTE, uuid_key
from ...model.plan import (
    CONTROLLER,
    HOST,
    Change,
    Plan,
    PlanError,
    RowChange,
    Step,
)
from ...model.wording import count
from ...name_places import host_itself
from ...name_places.place import needed, row_changes
from ..in_place import plan as rename
from . import adopted_names
from .adopted_names import Adoption

Json = t.Dict[str, t.Any]


def plan(adoption: Adoption) -> Plan:
    """Return the plan. Raises :class:`PlanError` or :class:`naming.NamesError`."""
    made = rename.plan(adoption.level, adoption.request)
    steps: t.List[Step] = []
    for step in made.steps:
        steps += _found(adoption, step)
    removal = [_remove_second(adoption)] if adoption.second_service is not None else []
    return dataclasses.replace(made, steps=[*steps, *removal], notes=[*_notes(adoption), *made.notes])


#: Steps of every rename that change nothing of a name.
_AROUND = ("service_status", "found_service_status", "lock_guests", "stop_units", "start_units", "unlock_guests")


def is_settled(adoption: Adoption) -> bool:
    """Whether nova-compute runs under the goal's name, and the plan has no name to change: in files, too."""
    if not adopted_names.is_settled(adoption):
        return False
    try:
        made = plan(adoption)
    except (PlanError, naming.NamesError):
        return False
    return not any(step.changes for step in made.steps if step.action not in _AROUND)


def rehearsal(adoption: Adoption) -> Json:
    """Return what to try beforehand of the host's own names."""
    edits = [edit for edit in _line_edits(adoption) if edit["path"] == host_itself.ETC_HOSTS]
    return {"name": adoption.goal.os or adoption.host.kernel_hostname, "line_edits": edits}


def _found(adoption: Adoption, step: Step) -> t.List[Step]:
    """Return a step of the rename with what was found in it, and the steps that go with it."""
    made = _FOUND[step.action](adoption, step) if step.action in _FOUND else step
    if step.name == "no_evacuation_before":
        return [made, *_before_rows(adoption)]
    return [made, *(_agents_aside(adoption) if step.name == "stop_agents" else [])]


# --- what is put aside and made -----------------------------------------------------------------------------------


def aside(adoption: Adoption) -> str:
    """Return the name of what is put aside: one that no host has."""
    return f"put-aside-by-stackguard-{adoption.request.operation_id}"


def _before_rows(adoption: Adoption) -> t.List[Step]:
    steps = []
    if adoption.identity_file is not None:
        steps.append(_identity_file(adoption))
    if adoption.second_service is not None:
        steps += _second_aside(adoption, aside(adoption))
    surplus = adoption.second_service is None and (adoption.surplus_mappings or adoption.surplus_members)
    if surplus or adoption.mapping_missing:
        steps.append(_api_row_set(adoption))
    if adoption.surplus_agents and not any(unit for unit in adoption.host.units or [] if _is_agent(adoption, unit)):
        steps += _agents_aside(adoption)
    return steps


def _is_agent(adoption: Adoption, unit: t.Any) -> bool:
    return bool(naming.units_named([unit], adoption.request.agent_units)) and unit.load_state in ("loaded", "masked")


def _identity_file(adoption: Adoption) -> Step:
    wrong = adoption.identity_file
    if wrong is None:
        raise AssertionError("the file is right")
    params = dataclasses.asdict(wrong)
    where = f"{adoption.request.inventory_name} {wrong.path}"
    changes = [Change(where, "uuid", wrong.before or "no file", wrong.after)]
    return Step("identity", "write the uuid of the host's compute node", HOST, "write_identity", params, changes)


def _second_aside(adoption: Adoption, name: str) -> t.List[Step]:
    service, node = adoption.second_service, adoption.second_node
    if service is None:
        raise AssertionError("there is no second compute service")
    where = f"cell:{adoption.cell.name}"
    guard = {"host": service.host, "binary": COMPUTE, "uuid": service.uuid, "deleted": 0}
    label = f"second service {service.uuid}"
    rows = [RowChange(where, "services", "id", service.id, guard, {"host": name}, label)]
    if node is not None:
        guard = {"host": node.host, "hypervisor_hostname": node.hypervisor_hostname, "uuid": node.uuid, "deleted": 0}
        after = {"host": name, "hypervisor_hostname": name}
        label = f"second compute node {node.uuid}"
        rows.append(RowChange(where, "compute_nodes", "id", node.id, guard, after, label))
    params = {"database": where, "rows": [dataclasses.asdict(row) for row in rows]}
    title = "give a temporary name to the host's second compute service"
    steps = [Step("second_aside", title, CONTROLLER, "rows_aside", params, row_changes(rows))]
    api_rows = _second_api_rows(adoption, name)
    if api_rows:
        params = {"database": "api", "rows": [dataclasses.asdict(row) for row in api_rows]}
        number = count(len(api_rows), "row")
        title = f"API database: write the temporary name of the host's second compute service into {number}"
        steps.append(Step("api_aside", title, CONTROLLER, "rows_aside", params, row_changes(api_rows)))
    providers = _second_providers(adoption, name)
    if providers:
        changes = [Change(f"resource provider {row['uuid']}", "name", row["before"], row["after"]) for row in providers]
        title = f"give a temporary name to {count(len(providers), 'resource provider')} of the second compute node"
        steps.append(Step("providers_aside", title, CONTROLLER, "providers_aside", {"providers": providers}, changes))
    return steps


def _second_api_rows(adoption: Adoption, name: str) -> t.List[RowChange]:
    """Its mapping and memberships: under its name, Nova deletes them with the service, and no other right is needed."""
    rows = [
        RowChange("api", "host_mappings", "id", row.id, {"host": row.host}, {"host": name}, f"host mapping {row.id}")
        for row in adoption.surplus_mappings
    ]
    for member in adoption.surplus_members:
        guard = {"host": member.host, "aggregate_id": member.aggregate_id}
        label = f"member of aggregate {member.aggregate_name}"
        rows.append(RowChange("api", "aggregate_hosts", "id", member.id, guard, {"host": name}, label))
    return rows


def _second_providers(adoption: Adoption, name: str) -> t.List[Json]:
    node = adoption.second_node
    if node is None:
        return []
    own = uuid_key(node.uuid or "")
    cloud = adoption.found.cloud
    found = [
        row
        for row in (cloud.providers if cloud else None) or []
        if own in (uuid_key(row.uuid), uuid_key(row.root_provider_uuid or ""))
    ]
    old = node.hypervisor_hostname or ""
    return [
        {"uuid": row.uuid, "before": row.name, "after": name + row.name[len(old) :]}
        for row in sorted(found, key=lambda row: row.name)
        if row.name.startswith(old)
    ]


def _remove_second(adoption: Adoption) -> Step:
    service, node = adoption.second_service, adoption.second_node
    if service is None:
        raise AssertionError("there is no second compute service")
    params = {
        "service": {"id": service.id, "uuid": service.uuid},
        "node": {"id": node.id, "uuid": node.uuid} if node is not None else None,
        "by_id": adoption.cell.has_compute_id,
        "name": aside(adoption),
        "kept": {"service": adoption.service.id, "node": adoption.node.id},
        "database": f"cell:{adoption.cell.name}",
    }
    changes = [Change(f"compute service {service.uuid}", "record", "put aside", "deleted")]
    title = "delete the second compute service, which has no guests"
    return Step("remove_second", title, CONTROLLER, "remove_second", params, changes)


def _api_row_set(adoption: Adoption) -> Step:
    removed: t.List[Json] = []
    if adoption.second_service is None:
        removed += [
            {"table": "host_mappings", "id": row.id, "host": row.host, "cell": row.cell_uuid}
            for row in adoption.surplus_mappings
        ]
        removed += [
            {"table": "aggregate_hosts", "id": row.id, "host": row.host, "aggregate_id": row.aggregate_id}
            for row in adoption.surplus_members
        ]
    added: t.List[Json] = []
    if adoption.mapping_missing:
        added = [{"table": "host_mappings", "host": adoption.goal.host, "cell": adoption.cell.uuid}]
    changes = [Change(f"api {row['table']} id={row['id']}", "row", row["host"], "deleted") for row in removed]
    changes += [Change(f"api {row['table']}", "row", "missing", row["host"]) for row in added]
    counted = f"delete {count(len(removed), 'duplicate row')}, add {count(len(added), 'missing row')}"
    title = f"correct the API database: {counted}"
    params = {"database": "api", "removed": removed, "added": added}
    return Step("api_row_set", title, CONTROLLER, "api_row_set", params, changes)


def _agents_aside(adoption: Adoption) -> t.List[Step]:
    if not adoption.surplus_agents:
        return []
    step = rename.delete_agents(adoption.surplus_agents[0].host, adoption.surplus_agents)
    title = f"delete {count(len(adoption.surplus_agents), 'duplicate agent record')} from neutron"
    return [dataclasses.replace(step, name="agents_aside", title=title)]


# --- what was found, in the steps of the rename -------------------------------------------------------------------


def _disabled(adoption: Adoption, step: Step) -> Step:
    """A rollback waits for nova-compute only where it ran: what refused to start refuses again."""
    params = {**step.params, "was_up": _was_up(adoption)}
    return Step(step.name, step.title, CONTROLLER, "found_service_status", params, step.changes)


def _was_up(adoption: Adoption) -> bool:
    """Whether nova-compute ran, and a start in the state that was found would bring it up again.

    One that still runs under the name that it had when it started does not: a rollback would wait for it in vain.
    """
    host, node = adoption.host, adoption.node
    names = {naming.conf_host(host), node.host, adoption.service.host}
    libvirt = host.libvirt.hostname if host.libvirt else None
    if len(names) != 1 or libvirt != node.hypervisor_hostname or adoption.identity_file is not None:
        return False
    services = (adoption.found.cloud.services if adoption.found.cloud else None) or []
    return any(row.id == adoption.service.uuid and row.state == "up" for row in services)


def _status(adoption: Adoption, step: Step) -> Step:
    return _disabled(adoption, step) if step.name == "disable_service" else step


def _units(adoption: Adoption, step: Step, starts: bool) -> Step:
    compute = step.name.endswith("_compute")
    ran = {unit.name: unit.active_state in ("active", "activating") for unit in adoption.host.units or []}
    units = [
        {**unit, "active": starts or (ran.get(unit["name"], False) and (not compute or _was_up(adoption)))}
        for unit in step.params["units"]
    ]
    if not starts:
        # A mask that was found is the operator's: a rollback leaves it, or the next boot starts nova-compute.
        masked = {unit.name for unit in adoption.host.units or [] if unit.load_state == "masked"}
        units = [{**unit, "masked": unit["name"] in masked} for unit in units]
    changes = step.changes if starts else _stopped(step, units)
    return dataclasses.replace(step, params={**step.params, "units": units}, changes=changes)


def _stopped(step: Step, units: t.Sequence[Json]) -> t.List[Change]:
    # The step has one change for each unit, see rename/in_place/plan.py.
    return [
        change if unit["active"] else dataclasses.replace(change, before="not up")
        for change, unit in zip(step.changes, units)
    ]


def _cell_rows(adoption: Adoption, step: Step) -> Step:
    tables: t.Dict[str, t.Sequence[t.Any]] = {
        "services": [adoption.service],
        "compute_nodes": [adoption.node],
        "instances": list(adoption.cell.instances or []),
        **adoption.cell.name_rows,
    }
    return _rows(step, tables, f"cell database {adoption.cell.name}")


def _api_rows(adoption: Adoption, step: Step) -> Step:
    databases = adoption.found.databases
    api = needed(databases.api if databases else None, "the API database")
    tables: t.Dict[str, t.Sequence[t.Any]] = {
        "host_mappings": api.host_mappings or [],
        "aggregate_hosts": api.aggregate_hosts or [],
        **api.name_rows,
    }
    return _rows(step, tables, "the API database")


def _rows(step: Step, tables: t.Mapping[str, t.Sequence[t.Any]], database: str) -> Step:
    """Put what was found into ``before``. A row that is right already stays in the plan: it is not a stranger's."""
    found = {(table, row.id): row for table, rows in tables.items() for row in rows}
    rows = []
    for plain in step.params["rows"]:
        if plain["key"] == adopted_names.MISSING:
            continue  # It is made, with the goal's name, by a step of its own.
        row = found[plain["table"], plain["key"]]
        values = getattr(row, "values", None)
        before = {
            column: (values[column] if values is not None and column in values else getattr(row, column, value))
            for column, value in plain["before"].items()
        }
        rows.append(RowChange(**{**plain, "before": before}))
    moved = [row for row in rows if any(row.before[column] != value for column, value in row.after.items())]
    params = {**step.params, "rows": [dataclasses.asdict(row) for row in rows]}
    title = f"update {database}: {count(len(moved), 'row')} to change, {len(rows) - len(moved)} already correct"
    return dataclasses.replace(step, title=title, params=params, changes=row_changes(moved))


def _providers(adoption: Adoption, step: Step) -> Step:
    cloud = adoption.found.cloud
    names = {row.uuid: row.name for row in (cloud.providers if cloud else None) or []}
    entries = [{**entry, "before": names[entry["uuid"]]} for entry in step.params["providers"]]
    moved = [entry for entry in entries if entry["before"] != entry["after"]]
    changes = [Change(f"resource provider {row['uuid']}", "name", row["before"], row["after"]) for row in moved]
    title = f"rename {count(len(moved), 'resource provider')} in placement"
    return dataclasses.replace(step, title=title, params={**step.params, "providers": moved}, changes=changes)


def _neutron(adoption: Adoption, step: Step) -> Step:
    """Back go the agents that were found under the source's name, and the ports if an agent went, or there is none."""
    cloud, source = adoption.found.cloud, adoption.source.host
    agents = {row.id for row in (cloud.agents if cloud else None) or [] if row.host == source}
    bound = {row.id for row in (cloud.ports if cloud else None) or [] if row.binding_host_id == source}
    moved = [agent for agent in step.params["agents"] if agent in agents]
    ports = [port for port in step.params["ports"] if port["id"] in bound]
    changes = [
        change
        for change in step.changes
        if any(key in change.where for key in [*moved, *(port["id"] for port in ports)])
    ]
    params = {**step.params, "found_agents": moved, "found_ports": ports if moved or not step.params["agents"] else []}
    title = f"update {count(len(moved), 'agent')} and {count(len(ports), 'port')} in neutron"
    return Step(step.name, title, CONTROLLER, "found_neutron", params, changes)


def _host_names(adoption: Adoption, step: Step) -> Step:
    host, goal = adoption.host, adoption.goal
    edits = _line_edits(adoption)
    name: t.Optional[Json] = None
    static = host.static_hostname if host.static_hostname is not None else host.kernel_hostname
    if goal.os is not None and {static, host.kernel_hostname} != {goal.os}:
        name = {"before": static, "after": goal.os}
        if host.kernel_hostname != static:
            name["kernel_before"] = host.kernel_hostname
    ids = host.ovs_external_ids or {}
    external = {
        key: {"before": ids[key], "after": value["after"]}
        for key, value in (step.params["ovs_external_ids"] or {}).items()
        if ids.get(key) != value["after"]
    }
    libvirt = {**step.params["libvirt"], "before": needed(host.libvirt, "libvirt").hostname}
    params = {
        **step.params,
        "static_hostname": name,
        "line_edits": edits,
        "ovs_external_ids": external,
        "libvirt": libvirt,
    }
    where = adoption.request.inventory_name
    changes = [Change(where, "host name", name["before"], name["after"])] if name else []
    changes += [
        Change(f"{where} {edit['path']} line {edit['number']}", "text", edit["before"], edit["after"]) for edit in edits
    ]
    changes += [
        Change(f"{where} Open vSwitch", f"external_ids:{key}", value["before"], value["after"])
        for key, value in sorted(external.items())
    ]
    if libvirt["before"] != libvirt["after"]:
        changes.append(Change(f"{where} libvirt", "host name (reported)", libvirt["before"], libvirt["after"]))
    return dataclasses.replace(step, params=params, changes=changes)


def _line_edits(adoption: Adoption) -> t.List[Json]:
    """Every line that does not say the goal's names, from the text that was found."""
    level = needed(adoption.level.hosts.get(adoption.host.inventory_name), "facts of the host")
    said = {
        adoption.source.hypervisor_hostname,
        adoption.host.libvirt.hostname if adoption.host.libvirt else None,
    } - {None, adoption.goal.host, adoption.goal.hypervisor_hostname, adoption.goal.os}
    table = {**naming.mapping(adoption.source, adoption.goal)}
    table.update({str(name): adoption.goal.hypervisor_hostname for name in said})
    for name in (adoption.goal.host, adoption.goal.hypervisor_hostname, adoption.goal.os):
        table.pop(str(name), None)
    edits: t.List[Json] = [
        dict(edit)
        for edit in host_itself.line_edits(level, adoption.source, adoption.goal)
        if edit["path"] != host_itself.ETC_HOSTS
    ]
    own = set(adoption.host.addresses or [])
    for line in needed(adoption.host.etc_hosts, "/etc/hosts"):
        text = naming.rename_in_hosts_line(line, table) if host_itself.is_own_address(line.address, own) else None
        if text is not None:
            edits.append({"path": host_itself.ETC_HOSTS, "number": line.number, "before": line.text, "after": text})
    texts = {
        (line.path, line.number): line.text
        for line in [
            *needed(adoption.host.nova_conf, "nova.conf").host_lines,
            *adoption.host.neutron_host_lines,
        ]
    }
    found = [{**edit, "before": texts.get((edit["path"], edit["number"]), edit["before"])} for edit in edits]
    return [edit for edit in found if edit["before"] != edit["after"]]


_FOUND: t.Dict[str, t.Callable[[Adoption, Step], Step]] = {
    "service_status": _status,
    "stop_units": lambda adoption, step: _units(adoption, step, False),
    "start_units": lambda adoption, step: _units(adoption, step, True),
    "cell_rows": _cell_rows,
    "api_rows": _api_rows,
    "providers": _providers,
    "neutron": _neutron,
    "host_names": _host_names,
}


def _notes(adoption: Adoption) -> t.List[str]:
    states = "; ".join(f"{place.place}: {place.state}" for place in adoption.places)
    notes = [
        (
            f"The host was already renamed in some or all places. The run writes the name {adoption.goal.host} in "
            f"every place. A rollback restores the state that the run found: {states}."
        )
    ]
    if adoption.second_service is not None:
        notes.append(
            f"The last step deletes compute service {adoption.second_service.uuid}. nova-compute created this service "
            "when nova-compute started under another name. A rollback does not restore the deleted compute service."
        )
    return notes
