# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is read on a compute host of how its services are deployed. :mod:`deployment` judges it, on the controller.

Python 3.9 and the standard library only: it is sent to every host.
"""

from __future__ import annotations

import dataclasses
import typing as t

NOVA_COMPUTE = "nova-compute"
#: Engines of a :class:`ServiceProcess`. The last one: it has a root directory of its own, and no engine is known.
PODMAN, DOCKER, KUBERNETES, LXC, OTHER_ROOT = "podman", "docker", "kubernetes", "lxc", "own root directory"


class Fact:
    """Equality, hash and text of a fact, written once: dataclass() writes and compiles them for each class anew.

    Each host would pay for that in each run.
    """

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ServiceProcess(Fact):
    """A process of nova-compute, libvirt or a network agent, as the host sees it."""

    program: str
    pid: int
    #: The path that it was started by, in its own root directory.
    command: str
    #: The systemd unit of the host whose control group it is in.
    unit: t.Optional[str]
    #: None: it is in no container.
    engine: t.Optional[str]
    container_id: t.Optional[str]
    #: Whether it has a UTS namespace of its own.
    own_uts: bool
    #: The host name in there; None: the host's own, or it could not be read.
    hostname: t.Optional[str]
    #: Seconds since 1970; None: not known.
    started_at: t.Optional[int]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class GuestProcess(Fact):
    """A QEMU and its control group. ``engine``: it is in the control group of a container, and dies with it."""

    uuid: str
    pid: int
    cgroup: str
    engine: t.Optional[str] = None
    container_id: t.Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DeployedUnit(Fact):
    """A unit file that says how services are deployed here. ``command``: the program that it starts."""

    name: str
    path: str
    command: t.Optional[str]
    engine: t.Optional[str] = None
    container: t.Optional[str] = None
    #: Whether each start creates the container, which then gets the host's name of that moment.
    recreates: bool = False


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PendingFile(Fact):
    """A configuration file of nova-compute whose content the running process does not have."""

    path: str
    reason: str


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Deployment(Fact):
    """How nova-compute, libvirt and the network agents of a host are deployed, without any judgement."""

    processes: t.List[ServiceProcess]
    guests: t.List[GuestProcess]
    units: t.List[DeployedUnit]
    #: Files and directories of deployment tools that exist here.
    signs: t.List[str]
    #: Directories of nova-compute's container to the host's directories that they are.
    folders: t.Dict[str, str]
    #: None: it is not known what the running nova-compute has read, and ``pending_unread`` says why.
    pending: t.Optional[t.List[PendingFile]]
    pending_unread: t.Optional[str] = None
    #: Those of nova-compute's compute_id files that have the attribute "immutable".
    immutable: t.List[str] = dataclasses.field(default_factory=list)

    @property
    def compute(self) -> t.List[ServiceProcess]:
        """The processes of nova-compute."""
        return [entry for entry in self.processes if entry.program == NOVA_COMPUTE]

    @property
    def frozen(self) -> t.List[ServiceProcess]:
        """Processes with a host name of their own that they have again after their next start.

        A container keeps the name that it was created with. One that is created at each start, and a unit with
        C(ProtectHostname=), take the host's name again.
        """
        recreated = {unit.name for unit in self.units if unit.recreates}
        return [
            entry
            for entry in self.processes
            if entry.own_uts and entry.engine is not None and entry.unit not in recreated
        ]
