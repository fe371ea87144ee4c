# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the doctor reads of OVN's databases. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

NORTHBOUND, SOUTHBOUND = "northbound", "southbound"


@dataclasses.dataclass(frozen=True)
class OvnDatabaseState:
    """What one database answers. ``remote``: the connection; ``problem``: why it could not be used."""

    name: str
    remote: str
    problem: t.Optional[str] = None
    #: Tables and columns that a rename needs and this version of OVN does not have.
    lacking: t.List[str] = dataclasses.field(default_factory=list)
    #: Members of the connection that did not answer, each with the reason.
    silent: t.Dict[str, str] = dataclasses.field(default_factory=dict)
    #: Whether a change was permitted, which was not carried out; None: ``reason`` says why that is not known.
    writable: t.Optional[bool] = None
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class OvnState:
    """What both answer. ``problem``: why neither was asked: an option, a library or a file is missing."""

    databases: t.List[OvnDatabaseState] = dataclasses.field(default_factory=list)
    problem: t.Optional[str] = None
    #: What to do then.
    fix: str = ""
