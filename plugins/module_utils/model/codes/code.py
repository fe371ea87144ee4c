# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the catalogue says of a code: summary, severity, who may pass it, and what to do about it, by state. Pure.

A remedy is an act: an operator types it at 3 a.m. None may end the only copy of a guest or start a second one, whatever
was not read.
"""

from __future__ import annotations

import dataclasses
import typing as t

BLOCKER, WARNING, INFO = "blocker", "warning", "info"

#: Key of evidence with which no override passes a finding, though its code can be overridden otherwise; and why.
NO_OVERRIDE = "no override"
#: The same of single codes: signs of life; a proof that is none; nothing to put on a blocklist; a source that answers
#: and does not say what runs there.
ALIVE, NO_PROOF, NO_ADDRESSES = "alive", "no proof", "addresses for the blocklist"
SILENT = "the source host answers, but the run could not read what runs on this host"

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


@dataclasses.dataclass(frozen=True)
class Code:
    """One entry of the catalogue, with what else code asks of it.

    ``absolute``: no override passes it; ``absolute_with``: none passes one whose evidence has one of these keys.
    ``from_hosts``: nothing can be said of it without the compute hosts.
    ``repairable``: repair_links repairs at least some of it. ``since_28``: it looks at columns of release 28.
    ``of_server``: it keeps its own server only, where the operator lets the others go (evacuate_partial).
    ``of_destination``: it speaks against one destination, and an override by name passes it there.
    ``overridden_by``: which object an override names; ``override``: more about it, or instead of it.
    Without both no run is blocked by it. ``remedies``: what to do, by state of the facts.
    ``do``: what its page says before the remedies, where these do not say it all; ``why``: what is lost, and from what
    in Nova. Both are Markdown, for the page and for explain. ``reserved``: no check of this version reports it.
    """

    code: str
    slug: str
    severity: str
    summary: str
    absolute: bool = False
    absolute_with: t.Tuple[str, ...] = ()
    from_hosts: bool = False
    repairable: bool = False
    since_28: bool = False
    of_server: bool = False
    of_destination: bool = False
    overridden_by: str = ""
    override: str = ""
    do: str = ""
    why: str = ""
    reserved: bool = False
    remedies: t.Mapping[str, Remedy] = dataclasses.field(default_factory=dict)
