# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a rename adds where services run in containers with a host name of their own (kolla-ansible). Pure.

1. After the stop of nova-compute its container is put aside: nobody starts the old name by hand.
2. libvirt gets its new name in the UTS namespace of its container, and says it, before the first write to a database.
3. After the host has its new name, the guests are compared and evacuations looked for: the next step starts
   nova-compute.
4. libvirt is stopped by its unit, which leaves the guests alone (SG127), and put aside with the agents. The operator's
   command creates all of them. Each must have the new name.
5. What was put aside is removed when all is over. Until then a rollback takes it back, with the old name in it.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model import containers
from ...model.containers import NamedContainer
from ...model.facts import HostFacts
from ...model.names import Names
from ...model.ovn import hostname_keys
from ...model.plan import (
    CONTROLLER,
    HOST,
    Change,
    PlanError,
    Step,
)
from ...model.requests import RenameRequest
from ...model.wording import count
from ...name_places.place import needed

#: What a container that was put aside is called.
ASIDE = ".stackguard"
#: Steps that come before the containers are created: nova-compute starts with its container.
_FIRST = ("guests", "no_evacuation")


class ContainerPlaces(t.NamedTuple):
    """After which steps of a plan containers have theirs.

    ``stopped``: the last stop before the first write; ``named``: the last that must be right when the operator's
    command starts nova-compute.
    """

    stopped: str
    named: str


IN_PLACE = ContainerPlaces("no_evacuation_before", "host_names")


def needed_for(host: HostFacts, names: t.Tuple[Names, Names]) -> t.List[NamedContainer]:
    """Return the containers that a rename creates again; none where the host's own name stays."""
    return containers.named(host) if names[1].os not in (None, names[0].os) else []


def arranged(
    host: HostFacts,
    request: RenameRequest,
    names: t.Tuple[Names, Names],
    steps: t.Sequence[Step],
    places: ContainerPlaces = IN_PLACE,
    emptied: bool = False,
) -> t.List[Step]:
    """Return the steps of a rename with those for containers among them. Raises PlanError.

    ``emptied``: no guest is on the host.
    """
    found = needed_for(host, names)
    if not found:
        return list(steps)
    about = _Renaming(host, request, names, found)
    about.check(steps, emptied)
    moved = {step.name: step for step in steps if step.name in _FIRST}
    result: t.List[Step] = []
    for step in steps:
        if step.name in moved:
            continue
        result.append(about.with_libvirt(step) if step.name == "host_names" else step)
        if step.name == places.stopped:
            result += [*about.compute_aside(), *about.libvirt_name()]
        if step.name == places.named:
            result += [moved[name] for name in _FIRST if name in moved]
            result += [*about.stop_others(steps), *about.others_aside(), about.recreate()]
    return [*result, about.forget()]


class _Renaming:
    """One host's containers, and the names before and after."""

    def __init__(
        self,
        host: HostFacts,
        request: RenameRequest,
        names: t.Tuple[Names, Names],
        found: t.Sequence[NamedContainer],
    ) -> None:
        self.host = host
        self.request = request
        self.before, self.after = names
        self.found = list(found)
        self.where = request.inventory_name
        self.engine = self.found[0].engine

    @property
    def compute(self) -> t.List[NamedContainer]:
        """The container of nova-compute, if it has a name of its own."""
        return [entry for entry in self.found if entry.is_compute]

    @property
    def libvirt(self) -> t.List[NamedContainer]:
        """The container of libvirt, if it has a name of its own."""
        return [entry for entry in self.found if entry.is_libvirt]

    def check(self, steps: t.Sequence[Step], emptied: bool) -> None:
        """Raise PlanError for what no order of these steps does without harm."""
        if not self.request.recreate_command:
            raise PlanError(
                "set rename_recreate_command: the containers of this host keep their old name until a deployment tool "
                "creates the containers again"
            )
        if not emptied and any(step.name == "new_agents" for step in steps):
            raise PlanError(
                "set neutron_db_url, so that the guests keep their network while the deployment tool creates the "
                "containers. An override of SG305 does not help"
            )
        controller = containers.OVN_CONTROLLER in {
            entry.program for entry in (self.host.deployment.frozen if self.host.deployment else ())
        }
        if controller and not hostname_keys(self.host.ovs_external_ids or {}):
            raise PlanError(
                "set external_ids:hostname in Open vSwitch. Without this key, ovn-controller uses the host name of its "
                "container, and a rename of the host does not change the host name of the container",
                problem="set-external-ids",
            )

    def _items(self, found: t.Sequence[NamedContainer]) -> t.List[t.Dict[str, str]]:
        return [
            {"name": entry.name, "id": entry.id, "unit": entry.unit, "aside": f"{entry.name}{ASIDE}"} for entry in found
        ]

    def _aside(self, name: str, found: t.Sequence[NamedContainer]) -> Step:
        """Give containers a name that nobody starts. All of these names must be free from the first step on."""
        items = self._items(found)
        params = {
            "engine": self.engine,
            "containers": items,
            "made_name": str(self.before.os),
            "free": [item["aside"] for item in self._items(self.found)] if found == self.compute else [],
            "known": [item for item in self._items(self.found) if item not in items] if found == self.compute else [],
        }
        changes = [
            Change(f"{self.where} container {item['name']}", "name", item["name"], item["aside"]) for item in items
        ]
        title = f"set {count(len(items), 'container')} aside: {_listed(found)}"
        return Step(name, title, HOST, "set_aside", params, changes)

    def compute_aside(self) -> t.List[Step]:
        """nova-compute's container, as soon as it is stopped."""
        return [self._aside("set_compute_aside", self.compute)] if self.compute else []

    def others_aside(self) -> t.List[Step]:
        """Those of libvirt and of the agents, shortly before all are created again."""
        found = [entry for entry in self.found if not entry.is_compute]
        return [self._aside("set_others_aside", found)] if found else []

    def _uts(self, entry: NamedContainer) -> t.Dict[str, t.Any]:
        # libvirt takes a name with a dot as it is, and resolves any other: the container's /etc/hosts is a copy from
        # its last start, and does not know the new name. So the namespace gets the name that libvirt is to say.
        return {
            "engine": self.engine,
            "container": entry.name,
            "before": entry.hostname,
            "after": self.after.hypervisor_hostname,
        }

    def _libvirt(self) -> t.Dict[str, str]:
        return {
            "uri": needed(self.host.libvirt, "libvirt").uri,
            "before": self.before.hypervisor_hostname,
            "after": self.after.hypervisor_hostname,
        }

    def libvirt_name(self) -> t.List[Step]:
        """libvirt says its new name before a database has it."""
        changes = [
            Change(f"{self.where} container {entry.name}", "host name", entry.hostname, self.after.hypervisor_hostname)
            for entry in self.libvirt
        ]
        return [
            Step(
                "libvirt_name",
                "set the new name in the libvirt container, and verify that libvirt reports the new name",
                HOST,
                "libvirt_name",
                {**self._uts(entry), "libvirt": self._libvirt()},
                changes,
            )
            for entry in self.libvirt
        ]

    def with_libvirt(self, step: Step) -> Step:
        """The host's names change with the name in libvirt's container: a reboot may have brought the old one back."""
        more = [self._uts(entry) for entry in self.libvirt]
        return dataclasses.replace(step, params={**step.params, "container_names": more}) if more else step

    @property
    def _known_inside(self) -> t.List[str]:
        """QEMUs in a container that the operator was warned of: they are no guests of Nova (SG127)."""
        found = self.host.deployment.guests if self.host.deployment else []
        return [guest.uuid for guest in found if guest.engine is not None]

    def stop_others(self, steps: t.Sequence[Step]) -> t.List[Step]:
        """Stop libvirt by its unit, and agents that run until now (OVN's).

        podman's first stop of libvirt takes 90 s where guests run, and the unit ends as failed.
        """
        stopped = {str(unit["name"]) for step in steps if step.action == "stop_units" for unit in step.params["units"]}
        found = [entry for entry in self.found if entry.unit not in stopped and not entry.is_compute]
        if not found:
            return []
        params = {
            "units": [{"name": entry.unit, "active": True, "enabled": "enabled"} for entry in found],
            "stop_command": None,
            "start_command": None,
            "mask_command": None,
            "unmask_command": None,
            "timeout": self.request.stop_timeout,
            "guests_outside": {
                "engine": self.engine,
                "containers": [entry.name for entry in found],
                "known": self._known_inside,
            },
        }
        changes = [
            Change(f"{self.where} unit {entry.unit}", "state", "started", "stopped and masked") for entry in found
        ]
        what = " and ".join("libvirt" if entry.is_libvirt else entry.program for entry in found)
        title = f"stop and mask {what} (the guests continue to run)"
        return [Step("stop_containers", title, HOST, "stop_units", params, changes)]

    def recreate(self) -> Step:
        """The operator's command creates the containers; each has to have the new name."""
        params = {
            "engine": self.engine,
            "containers": self._items(self.found),
            "name": self.after.os,
            "libvirt": self._libvirt(),
            "held": [entry.unit for entry in self.compute],
            "known_inside": self._known_inside,
            "timeout": self.request.start_timeout,
        }
        changes = [
            Change(f"{self.where} container {entry.name}", "host name", entry.hostname, str(self.after.os))
            for entry in self.found
        ]
        title = f"recreate {count(len(self.found), 'container')} with rename_recreate_command: {_listed(self.found)}"
        return Step("recreate_containers", title, CONTROLLER, "recreate_containers", params, changes)

    def forget(self) -> Step:
        """Remove what was put aside: nothing of the operation can fail any more."""
        params = {"engine": self.engine, "containers": self._items(self.found)}
        title = f"remove {count(len(self.found), 'old container')}"
        return Step("forget_containers", title, HOST, "forget_containers", params)


def _listed(found: t.Sequence[NamedContainer]) -> str:
    return ", ".join(entry.name for entry in found)
