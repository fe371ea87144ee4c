# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is read of a server whose live migration has arrived, and which Nova still shows on the source. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .facts import ApiServer, Bundle, CellFacts
from .findings import Checked


@dataclasses.dataclass(frozen=True)
class ArrivalRows:
    """What the database of a server's cell holds of it. Times: ISO 8601, as Nova wrote them.

    ``cell``: all compute services and nodes of the cell, the row of this one server, and its migrations.
    """

    cell: CellFacts
    #: When the server's row was last written; None: never since it was made.
    row_written: t.Optional[str]
    #: The same of each of its migrations, by id.
    migration_written: t.Mapping[int, t.Optional[str]]
    #: What its row of C(instance_extra) holds beside flavor and keypairs.
    holds: t.Tuple[str, ...]
    pci_devices: int
    volumes: int


@dataclasses.dataclass(frozen=True)
class ArrivalFacts:
    """Everything that decides whether the row of an arrived server may be corrected."""

    #: The hosts as this run has read them, and the server's cell.
    bundle: Bundle
    rows: ArrivalRows
    server: ApiServer
    #: What the server and its newest migration hold, by provider and resource class.
    allocations: t.Mapping[str, t.Mapping[str, int]]
    migration_allocations: t.Mapping[str, t.Mapping[str, int]]
    #: Root provider of each provider of those.
    roots: t.Mapping[str, str]
    #: By port of the server: the hosts that it has a binding for, and whether that is the active one.
    bindings: t.Mapping[str, t.Mapping[str, bool]]
    #: What waits in the queues of source and destination: findings, and why it is not known.
    waiting: Checked


@dataclasses.dataclass(frozen=True)
class ArrivedRow:
    """The change of the server's row: what it must still hold, and where the guest runs.

    ``written``: C(updated_at) at the last look. ``row_compute_id``: whether this Nova has C(compute_id) (28 and newer).
    """

    cell: str
    id: int
    uuid: str
    host: str
    node: t.Optional[str]
    compute_id: t.Optional[int]
    task: t.Optional[str]
    written: t.Optional[str]
    dest: str
    dest_node: str
    dest_id: int
    row_compute_id: bool
