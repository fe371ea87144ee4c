# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Containers that keep the name with which they were created: what a rename has to create again, and whether it can.

An engine copies the host's name into a container when it creates the container (SG123). A rename in place puts such a
container aside under another name, and the operator's deployment tool creates it again. Pure.
"""

from __future__ import annotations

import dataclasses
import shlex
import typing as t

from . import deployment as deployments
from .deployment_facts import (
    DOCKER,
    NOVA_COMPUTE,
    PODMAN,
    DeployedUnit,
    Deployment,
    ServiceProcess,
)
from .host_facts import HostFacts, NameSpace
from .requests import RenameRequest

LIBVIRT = ("libvirtd", "virtqemud")
#: What kolla's unit of libvirt is named after.
_LIBVIRT_UNIT = "nova-libvirt"
OVN_CONTROLLER = "ovn-controller"
#: Words that mean something to a shell only.
_SHELL = ("&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1")


@dataclasses.dataclass(frozen=True)
class NamedContainer:
    """A container with a host name of its own, and the unit that starts it. ``id``: the engine's, 64 digits."""

    name: str
    unit: str
    #: The program that the unit starts: another one of that name may be the first in the path.
    engine: str
    id: str
    program: str
    hostname: str

    @property
    def is_libvirt(self) -> bool:
        """Whether libvirt runs in it."""
        return self.program in LIBVIRT

    @property
    def is_compute(self) -> bool:
        """Whether nova-compute runs in it."""
        return self.program == NOVA_COMPUTE


def named(facts: HostFacts) -> t.List[NamedContainer]:
    """Return the containers that a rename has to create again: libvirt, then the agents, then nova-compute.

    ovs-vswitchd and ovn-controller are none of them: Open vSwitch's external_ids say the host's name to them, and
    whoever recreates ovs-vswitchd cuts off the guests. Two containers that one unit seems to start are none: the other
    is somebody else's, and nothing here says which.
    """
    found: t.Dict[str, NamedContainer] = {}
    strange: t.Set[str] = set()
    for entry in (facts.deployment.frozen if facts.deployment else ()) if is_kolla(facts) else ():
        made = _of_process(facts.deployment, entry) if facts.deployment and goes_by_name(entry.program) else None
        if made is not None and found.setdefault(made.name, made).id != made.id:
            strange.add(made.name)
    certain = [entry for entry in found.values() if entry.name not in strange]
    return sorted(certain, key=lambda entry: (entry.is_compute, not entry.is_libvirt, entry.name))


def goes_by_name(program: str) -> bool:
    """Whether the name of its UTS namespace is the identity of a program."""
    return program == NOVA_COMPUTE or program in LIBVIRT or program.startswith("neutron-")


def is_kolla(facts: HostFacts) -> bool:
    """Whether kolla-ansible has deployed a host: the collection recreates no other containers."""
    found = deployments.of_host(facts)
    return found is not None and found.kind == deployments.KOLLA


def is_copied_at_start(facts: HostFacts, path: str) -> bool:
    """Whether kolla's nova-compute copies a compute_id file at each start, and does not start without the file.

    Its config.json names the file as required (kolla-ansible 22.2.0, roles/nova-cell/templates/nova-compute.json.j2).
    """
    return is_kolla(facts) and path == f"{deployments.KOLLA_CONFIG}/compute_id"


def _of_process(found: Deployment, entry: ServiceProcess) -> t.Optional[NamedContainer]:
    units = [unit for unit in found.units if unit.container and unit.engine == entry.engine and _starts(unit, entry)]
    if len(units) != 1 or entry.engine not in (PODMAN, DOCKER) or not entry.container_id or not entry.hostname:
        return None
    unit = units[0]
    return NamedContainer(
        str(unit.container), unit.name, unit.command or entry.engine, entry.container_id, entry.program, entry.hostname
    )


def _starts(unit: DeployedUnit, entry: ServiceProcess) -> bool:
    program = deployments.program_of(unit.name)
    return program == (_LIBVIRT_UNIT if entry.program in LIBVIRT else entry.program)


def why_not(facts: HostFacts, request: RenameRequest, entry: NameSpace) -> t.Optional[str]:
    """Return why a rename in place cannot create the container of a service again; None: it can.

    Without a process there is no container that is certain: the engine may have several.
    """
    if request.commands.given:
        return (
            "Unset rename_stop_command and rename_start_command, because the run stops and starts the containers "
            "through their systemd units."
        )
    pids = {f"process {item.pid}": item.program for item in (facts.deployment.processes if facts.deployment else ())}
    program = pids.get(entry.what)
    if program is None:
        return "Start the service, and run the same command again."
    if not any(made.program == program for made in named(facts)):
        return f"Check the systemd units of the containers, because the run does not know which unit starts {program}."
    if not request.recreate_command:
        return (
            "Set rename_recreate_command to the command that creates missing containers of this host, such as "
            "kolla-ansible deploy-containers --limit HOST."
        )
    return _not_a_command(request.recreate_command)


def _not_a_command(line: str) -> t.Optional[str]:
    """Return why a line cannot be executed without a shell: else it fails when the host has its new name already."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        return f"Correct the quotes in rename_recreate_command: {error}."
    if not words:
        return "Set rename_recreate_command to a command: the value is blank."
    shell = [word for word in words if word in _SHELL]
    if shell:
        return (
            f"Write rename_recreate_command as bash -c '...', because the command contains {shell[0]}, which needs a "
            "shell."
        )
    return None
