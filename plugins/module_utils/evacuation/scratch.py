# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run of an evacuation remembers between two calls, and what one call came to. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

Json = t.Dict[str, t.Any]

#: Its file in the evidence directory.
SCRATCH = "run/scratch.json"


@dataclasses.dataclass
class Scratch:
    """What a run remembers between two calls, in its evidence directory."""

    phase: str = "survey"
    operation_id: str = ""
    #: Kind of the journal that is open for this host; empty: none.
    kind: str = ""
    uuids: t.List[str] = dataclasses.field(default_factory=list)
    volumes: t.List[str] = dataclasses.field(default_factory=list)
    #: Readers that were asked to open the images: (fsid, pool) as ``fsid/pool`` to inventory names, the last in use.
    readers: t.Dict[str, t.List[str]] = dataclasses.field(default_factory=dict)
    #: Clusters whose first reader did not read all volumes: all readers open them.
    volumes_by_all: t.List[str] = dataclasses.field(default_factory=list)
    proof: t.Optional[Json] = None
    act: bool = True
    looks_since: t.Optional[float] = None
    #: Servers whose guards this run has verified.
    guarded: t.List[str] = dataclasses.field(default_factory=list)
    guarded_images: t.List[str] = dataclasses.field(default_factory=list)
    #: Servers whose guards were found gone in this run.
    free: t.List[str] = dataclasses.field(default_factory=list)
    rounds: int = 0
    #: What was found, look by look, for the report; of the rounds only the last.
    before: Json = dataclasses.field(default_factory=dict)
    last: Json = dataclasses.field(default_factory=dict)
    chassis: Json = dataclasses.field(default_factory=dict)
    #: What is said of the requests that wait in RabbitMQ for the host, and whether they were read: see the request.
    requests: Json = dataclasses.field(default_factory=dict)
    queue_read: bool = False
    #: What is to be done about them, in the last message of a run.
    requests_left: str = ""
    stopping: Json = dataclasses.field(default_factory=dict)
    arrived: t.List[Json] = dataclasses.field(default_factory=list)
    left: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    status: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    #: Servers on the dead host that the operation began without: no run of it sends them.
    late: t.List[str] = dataclasses.field(default_factory=list)
    #: What ends this run: empty while it goes on.
    message: str = ""
    #: The code of what a refusal is about.
    code: t.Optional[str] = None
    state: str = ""
    resumed: bool = False
    changed: bool = False
    collected_at: str = ""
    hosts: int = 0
    placements: Json = dataclasses.field(default_factory=dict)
    plan: t.Optional[Json] = None
    #: What stands for the plan of the operation, see approved_plan.
    plan_sha256: t.Optional[str] = None
    diff: t.List[Json] = dataclasses.field(default_factory=list)
    warned: t.List[str] = dataclasses.field(default_factory=list)
    #: Servers that have arrived by Nova's word.
    landed: t.List[str] = dataclasses.field(default_factory=list)
    #: Servers that were not as they should be when they were looked at once.
    doubted: t.List[str] = dataclasses.field(default_factory=list)
    #: How often this run has looked again for the last client of a QEMU that has ended.
    ending_looks: int = 0
    ended_well: bool = False
    over: bool = False
    #: Whether the journal is in the hands of this run.
    owned: bool = False
    #: Whether the fence was read back since it was asked for last.
    proven: bool = False
    #: Servers on the host or in transit: those that need a guard.
    staying: t.List[str] = dataclasses.field(default_factory=list)
    #: How often guards were asked for anew, because the pool was not as it had been read.
    reguards: int = 0
    #: Hosts that could not do in Ceph what was asked of them.
    bad: t.List[str] = dataclasses.field(default_factory=list)
    names: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    #: Whether a resume found none of its servers on the host. Then its fence is only read back.
    none_left: bool = False
    #: Inventory names of the hosts that matter in rounds; empty: all.
    near: t.List[str] = dataclasses.field(default_factory=list)
    #: The chassis that was removed from OVN; None: none was.
    removed_chassis: t.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class CallResult:
    """What one call came to. ``needs`` empty: the run has ended, and the rest says how."""

    needs: t.List[Json]
    scratch: Scratch
    report: t.Optional[Json] = None
