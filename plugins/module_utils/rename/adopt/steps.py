# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the controller's steps do for a host that was already renamed, beside those of a rename.

Their undo restores what was found, see rename/adopt/plan.py.
"""

from __future__ import annotations

import typing as t

from ...engine.runner import Action, Done, StepError
from ...engine.service_status import ServiceStatus
from ...engine.systems import Memory, Params, Systems, as_step_error, noted
from ...model.errors import Conflict
from ...model.facts import from_plain
from ...model.plan import RowChange
from ...model.wording import count
from ...systems.api import compute_services, resource_providers
from ...systems.db import row_sets
from ...systems.db import rows as row_changes
from ..in_place.steps import Neutron, ports_to_take_back


class FoundServiceStatus(ServiceStatus):
    """The status of the compute service. A rollback expects no proof of a nova-compute that did not run before."""

    def undo(self, params: Params) -> None:
        """Set the status that was found."""
        if params["was_up"]:
            super().undo(params)
            return
        self._put(params, params["before"], params["after"])


class FoundNeutron(Neutron):
    """Agents and ports. A rollback moves what was found under the first name, and nothing else."""

    def undo(self, params: Params) -> Done:
        """Move these back. Where no agent was under that name, no port is bound to it: the binding would fail."""
        given = {**params, "agents": params["found_agents"], "ports": params["found_ports"]}
        given["database"] = bool(given["agents"])
        ports, found = ports_to_take_back(self.systems, given)
        told = self._move({**given, "ports": ports}, params["new"], params["old"])
        return Done(told, noted(found, self.systems.overrides))


class RowsAside:
    """Rows of a second service and its node, under a name that no host has."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Give them the name."""
        return Done(self._write(params, _rows(params)))

    def undo(self, params: Params) -> Done:
        """Give them the name that they had. What Nova has deleted since stays deleted."""
        with as_step_error():
            rows = row_sets.still_there(self.systems.url(params["database"]), _rows(params))
        return Done(self._write(params, [row.reversed() for row in rows]) if rows else "deleted already")

    def _write(self, params: Params, rows: t.Sequence[RowChange]) -> str:
        with as_step_error():
            done = row_changes.apply_row_changes(
                self.systems.url(params["database"]), rows, before_commit=self.systems.fresh
            )
        return f"{count(done.changed, 'row')} changed, {done.already} already correct"


class ProvidersAside:
    """Resource providers of a second node, under a name that no host has."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Give them the name."""
        with as_step_error():
            for entry in params["providers"]:
                self.systems.still_ours()
                resource_providers.rename_provider(self.systems.cloud, entry["uuid"], entry["before"], entry["after"])
        return Done(count(len(params["providers"]), "resource provider"))

    def undo(self, params: Params) -> None:
        """Give them the name that they had. What Nova has deleted since stays deleted."""
        for entry in params["providers"]:
            try:
                resource_providers.rename_provider(self.systems.cloud, entry["uuid"], entry["after"], entry["before"])
            except Conflict as error:
                if error.data.get("found") is not None:
                    raise StepError(str(error), changed_meanwhile=True) from error


class ApiRowSet:
    """Rows of the API database that say the same twice, or that are missing."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Delete the first, make the second."""
        return self._change(params["removed"], params["added"])

    def undo(self, params: Params) -> Done:
        """Make what was deleted with its id, and delete what was made."""
        return self._change(params["added"], params["removed"])

    def _change(self, removed: t.Sequence[Params], added: t.Sequence[Params]) -> Done:
        with as_step_error():
            deleted, made = row_sets.delete_and_make(
                self.systems.url("api"), removed, added, before_commit=self.systems.fresh
            )
        return Done(f"{count(deleted, 'row')} deleted, {made} made")


class RemoveSecond:
    """The service that a start under another name has made, with its node and its provider. It cannot be undone."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """See that nothing else goes with it, then let Nova delete it."""
        url, service, node = self.systems.url(params["database"]), params["service"], params["node"]
        with as_step_error():
            gone = row_sets.nodes_of_service(url, service["id"], params["name"])
            strange = [uuid for number, uuid in gone if node is None or number != node["id"]]
            if strange:
                raise StepError(
                    f"the run did not delete compute service {service['uuid']}, because Nova would also delete these "
                    f"compute nodes: {', '.join(strange)}"
                )
            used = (
                row_sets.instances_of_node(url, node["id"] if params["by_id"] else None, params["name"]) if node else 0
            )
            if used:
                raise StepError(
                    f"the run did not delete compute service {service['uuid']}, because its compute node has "
                    f"{count(used, 'instance')}"
                )
            self.systems.still_ours()
            compute_services.delete_service(self.systems.cloud, service["uuid"])
        return Done(f"compute service {service['uuid']} deleted")

    def undo(self, params: Params) -> None:
        """Nothing: the service had no guests, and Nova makes no other under this name."""


def _rows(params: Params) -> t.List[RowChange]:
    return [from_plain(RowChange, row) for row in params["rows"]]


def actions(systems: Systems) -> t.Dict[str, Action]:
    """Return every controller action that only an adoption has, by the name that plans use."""
    return {
        "found_service_status": FoundServiceStatus(systems),
        "found_neutron": FoundNeutron(systems),
        "rows_aside": RowsAside(systems),
        "providers_aside": ProvidersAside(systems),
        "api_row_set": ApiRowSet(systems),
        "remove_second": RemoveSecond(systems),
    }
