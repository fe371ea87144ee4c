# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is read to know whether a cloud, its hosts and its databases are ready, and what is said of each. Pure.

A part is ok only where something was read that says so. What could not be read is C(not checked), which is never ok.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .doctor_host import HostState
from .doctor_ovn import OvnState
from .facts import DatabaseLock, Grant

OK = "ok"
FAILED = "failed"
NOT_CHECKED = "not checked"

#: What is looked at, by source. An operator accepts a part that is not checked by its name here.
PARTS: t.Dict[str, t.Tuple[str, ...]] = {
    "api": ("credentials", "compute_api", "placement_api", "network_api", "volume_api", "volume_pools", "api_clock"),
    "databases": (
        *("database", "database_rights", "database_lock", "database_clock"),
        *("ovn_database", "ovn_rights"),
    ),
    "hosts": (
        *("reached", "python", "root", "nova_conf", "libvirt", "rbd", "ceph_caps", "ceph_volumes"),
        *("host_journals", "host_clock"),
    ),
    "journals": ("journals",),
}
SOURCES = tuple(PARTS)
ALL_PARTS = tuple(part for parts in PARTS.values() for part in parts)

#: What runs on compute hosts works with this one.
OLDEST_PYTHON = (3, 9)
#: MiB that a directory of journals should have free: a journal of a rename with 1000 guests has some 2 MiB.
FREE_MB = 100
#: Seconds.
CLOCK_TOLERANCE = 10.0


@dataclasses.dataclass(frozen=True)
class ClockOffset:
    """Between which two amounts another clock is ahead of the controller's, in seconds: an answer takes its time."""

    least: float
    most: float

    @staticmethod
    def between(before: float, first: float, last: float, after: float) -> ClockOffset:
        """Make it of the controller's time before and after, and of the other's ``first`` and ``last`` in between."""
        return ClockOffset(round(last - after, 3), round(first - before, 3))


@dataclasses.dataclass(frozen=True)
class DoctorHost:
    """What became of one host: its state and clock, or why there is none."""

    name: str
    state: t.Optional[HostState] = None
    clock: t.Optional[ClockOffset] = None
    #: ``unreachable`` or ``failed``, where there is no state.
    kind: str = ""
    reason: str = ""
    #: The version of the host's Python where the module could not run.
    python: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class RightsProbe:
    """One request that administrators alone may make. ``found``: items in the answer; None: there was none."""

    part: str
    request: str
    found: t.Optional[int] = None
    status: t.Optional[int] = None
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class CloudState:
    """What the APIs answer."""

    #: Why the login failed; None: it succeeded.
    problem: t.Optional[str] = None
    user: str = ""
    project: str = ""
    probes: t.List[RightsProbe] = dataclasses.field(default_factory=list)
    #: Kinds of network agents; None: not read.
    agents: t.Optional[t.List[str]] = None
    clock: t.Optional[ClockOffset] = None
    clock_reason: str = ""
    #: Kinds of which an agent is alive.
    alive_agents: t.List[str] = dataclasses.field(default_factory=list)
    #: Whether the catalogue has Cinder; None: not read. Whether it hides the hosts of attachments.
    cinder: t.Optional[bool] = None
    hidden_hosts: bool = False
    #: Ceph's pools that Cinder has volumes in; None: not read.
    volume_pools: t.Optional[t.List[str]] = None


@dataclasses.dataclass(frozen=True)
class DatabaseState:
    """What one database answers. ``name`` as plans have it: C(api), C(cell:NAME), C(neutron)."""

    name: str
    location: str = ""
    #: Why it could not be reached.
    problem: t.Optional[str] = None
    #: ``mysql`` or ``postgresql``, the name of the database and the account, as the server says.
    dialect: str = ""
    database: str = ""
    user: str = ""
    grants: t.Optional[t.List[Grant]] = None
    clock: t.Optional[ClockOffset] = None


@dataclasses.dataclass(frozen=True)
class DatabasesState:
    """What all databases answer. ``problem``: why the cells are not known."""

    databases: t.List[DatabaseState] = dataclasses.field(default_factory=list)
    problem: t.Optional[str] = None
    lock: t.Optional[DatabaseLock] = None
    lock_reason: str = ""
    #: Operations of which no file says which privileges they need.
    undeclared: t.Sequence[str] = ()
    #: Whether a URL was given for neutron's.
    neutron: bool = False
    #: None: no connection to OVN's was given.
    ovn: t.Optional[OvnState] = None


@dataclasses.dataclass(frozen=True)
class Asked:
    """What is to be found out. ``operations``: names of playbooks. ``accepted``: parts that may stay unchecked."""

    sources: t.Sequence[str] = SOURCES
    operations: t.Sequence[str] = ()
    accepted: t.Sequence[str] = ()
    tolerance: float = CLOCK_TOLERANCE
    free_mb: int = FREE_MB
    cloud: str = ""
    #: C(stackguard_volume_pools).
    volume_pools: t.Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Result:
    """What is said of one part of one subject (a host, an API, a database). ``fix``: what to run where it failed."""

    source: str
    subject: str
    part: str
    state: str
    seen: str
    fix: str = ""


def passes(results: t.Sequence[Result], accepted: t.Sequence[str]) -> bool:
    """Whether everything is ok, or at worst not checked in a part that may be. Nothing at all is no pass."""
    return bool(results) and all(
        result.state == OK or (result.state == NOT_CHECKED and result.part in accepted) for result in results
    )
