# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What remedies order that cannot be taken back: when each may be shown, what must be known, what it destroys. Pure.

A remedy is an act: an operator types it at 3 a.m. None may end the only copy of a guest or start a second one, whatever
was not read. A test looks for the texts that order such acts, and fails for one that is not here.
"""

from __future__ import annotations

import dataclasses
import typing as t

REBOOT, START, STOP, RESET = "reboot", "start", "stop", "reset"
DELETION, ADOPTION, PURGE, UPDATE = "deletion", "adoption", "purge", "update"
KINDS = (REBOOT, START, STOP, RESET, DELETION, ADOPTION, PURGE, UPDATE)

#: Facts that must have been read.
EVERY_HOST = "the domains and QEMU processes of every compute host"
NOVAS_HOST = "the domains of the host that Nova shows"
THIS_HOST = "the domains and QEMU processes of this host"
WATCHERS = "the watchers of the server's disks"
MIGRATIONS = "the unfinished migrations, and the last one of the server"
CELLS = "the instances of every cell"
SERVICES = "the compute services, the compute nodes and their links"
PROVIDERS = "the resource providers, with their allocations"
FORECAST = "all that the forecast of a start of nova-compute needs (audit/remedies.py puts the start off otherwise)"
PEOPLE = "nothing that a run can read: the text has a person find it out first"

#: What is destroyed.
NOTHING = "nothing"
RUNNING_COPY = "the memory of one QEMU, and what its guest has not written yet"
RECORD = "a record that the run does not restore"
QUEUED = "the requests in the queue"
LINK = "the wrong value, which the journal of repair_links keeps"


@dataclasses.dataclass(frozen=True)
class RemedyAct:
    """One text that orders such acts. ``file``: where it is, below module_utils; ``words``: a part of it."""

    codes: t.Tuple[str, ...]
    file: str
    words: str
    kinds: t.Tuple[str, ...]
    shown: str
    read: t.Tuple[str, ...]
    destroys: str


def _acts(file: str, *rows: t.Tuple[str, str, t.Tuple[str, ...], str, t.Tuple[str, ...], str]) -> t.List[RemedyAct]:
    return [RemedyAct(tuple(codes.split()), file, *rest) for codes, *rest in rows]  # type: ignore[arg-type]


#: By file. Each row: codes, a part of the text, kinds, when it may be shown, what must have been read, what is lost.
REMEDY_ACTS: t.Tuple[RemedyAct, ...] = (
    # --- guests and their disks
    # --- who a host is
    # --- services, agents, queues, leftovers
    *_acts(
        "hazards/queues.py",
        (
            "SG307",
            "The run left the queue unchanged. Delete the queue",
            (DELETION,),
            "a rename is over",
            ("the queue",),
            QUEUED,
        ),
    ),
    *_acts(
        "rename/in_place/plan.py",
        (
            "SG307",
            "delete the queue yourself",
            (DELETION,),
            "a rename is over, and the run had no access to RabbitMQ",
            (PEOPLE,),
            QUEUED,
        ),
    ),
    *_acts(
        "rename/in_place/plan.py",
        (
            "SG305",
            "delete the record of the agent (openstack network agent delete)",
            (DELETION,),
            "a rename without OVN is over, and rows of segmenthostmappings are missing",
            (PEOPLE,),
            "a record that the L2 agent makes again at its start",
        ),
    ),
)
