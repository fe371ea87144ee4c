# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a remedy is: a text with places for names, and the guard of each act in it that cannot be taken back. Pure.

A remedy is an act: an operator types it at 3 a.m. None may end the only copy of a guest or start a second one, whatever
was not read.
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
class Act:
    """The guard of an act: its kinds, when its text may be shown, what must have been read, what it destroys."""

    kinds: t.Tuple[str, ...]
    shown: str
    read: t.Tuple[str, ...]
    destroys: str


@dataclasses.dataclass(frozen=True)
class Remedy:
    """What to do in one state. ``text``: with places such as C({host}). ``acts``: guards of what it orders."""

    text: str
    acts: t.Tuple[Act, ...] = ()


#: By code, then by state: of the facts, as a few words with hyphens.
Remedies = t.Dict[str, t.Dict[str, Remedy]]
