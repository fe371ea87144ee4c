# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What must agree once the row of an arrived server is written. Pure."""

from __future__ import annotations

import typing as t

from ...model.arrival import ArrivalFacts
from .preflight import ArrivalCase, other_migration


def moved_on(facts: ArrivalFacts, dest: str) -> t.Optional[str]:
    """Return why what a move has left may not be cleared up any more: the server has left, or moves again.

    A resume may come weeks later: a binding for the source is that of a move back to it then.
    """
    case = ArrivalCase(facts)
    if case.row.host != dest:
        return f"Nova shows the server on {case.row.host}, not on {dest}"
    return other_migration(case)


def disagreements(
    facts: ArrivalFacts,
    dest: str,
    process: t.Optional[t.Sequence[t.Optional[int]]],
    left: t.Optional[t.Mapping[str, str]] = None,
) -> t.List[str]:
    """Return what does not agree with a guest that runs on ``dest`` alone.

    ``process``: its QEMU, number and start. ``left``: by port, the host whose inactive binding could not be removed.
    """
    case = ArrivalCase(facts)
    place, row, node, domain = case.place, case.row, case.node_of(dest), case.domain
    found: t.List[str] = []
    copies = [f"{copy.host}: {copy.told}" for copy in (*place.here, *place.there)]
    if place.unread:
        found.append(f"the run could not read {', '.join(place.unread)}")
    if case.dest != dest or domain is None or domain.state != "running":
        found.append(f"not exactly one domain, running on {dest}: {'; '.join(copies) or 'none'}")
    elif process is not None and [domain.pid, domain.pid_start] != list(process):
        found.append("the QEMU process is another one than before")
    if node is None or (row.host, row.node, row.task_state) != (dest, node.hypervisor_hostname, None):
        found.append(f"the row says host {row.host}, node {row.node}, task {row.task_state}")
    elif case.cell.has_compute_id and row.compute_id != node.id:
        found.append(f"the row says compute_id {row.compute_id}, expected {node.id}")
    if facts.server.host != dest:
        found.append(f"the API shows the server on {facts.server.host}")
    if node is None or {facts.roots[uuid] for uuid in facts.allocations} != {node.uuid}:
        found.append("the server's allocation is not on its host's provider alone")
    if facts.migration_allocations:
        found.append("the migration still holds an allocation")
    for port, bindings in sorted(facts.bindings.items()):
        kept = {left[port]: False} if left and port in left else {}
        if dict(bindings) != {dest: True, **kept}:
            found.append(f"port {port} is bound to {dict(bindings)}")
    return found
