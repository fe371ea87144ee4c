# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which uuid a host's compute_id file must hold: that of its compute node in the database, or none at all. Pure.

A wrong uuid is worse than none: nova-compute would take over another host's node, or undelete an old one. So the uuid
comes from the database row and only where nothing speaks against it; nothing is generated and nothing is guessed.
"""

from __future__ import annotations

import dataclasses
import typing as t
import uuid as uuids

from ..capacity.measured import RUNNING
from ..model.facts import (
    Bundle,
    CellFacts,
    ComputeNodeRow,
    HostFacts,
)
from ..model.names import conf_host
from ..model.times import moment

_T = t.TypeVar("_T")

#: Seconds for which what was read of the databases is good.
EVIDENCE_MAX_AGE = 3600
#: Seconds without a report after which a nova-compute is silent: Nova's service_down_time is 60 s by default.
SILENCE = 300
#: Seconds by which two clocks may differ.
CLOCKS = 60


#: Why something speaks against an identity: a key, and the same in words.
Against = t.Tuple[str, str]


class IdentityError(ValueError):
    """The evidence does not tell the host's uuid beyond doubt: why. ``problems``: the same as keys."""

    def __init__(self, *against: Against) -> None:
        super().__init__("; ".join(text for _problem, text in against))
        self.problems = tuple(problem for problem, _text in against)


@dataclasses.dataclass(frozen=True)
class ComputeIdChoice:
    """The uuid, what it follows from, and the file that is to hold it.

    ``unseen``: hosts that did not answer or whose files were not read, so that a copy of the uuid there is not known.
    """

    uuid: str
    cell: str
    node_id: int
    host: str
    hypervisor_hostname: str
    path: str
    unseen: t.List[str]


def decide(bundle: Bundle, facts: HostFacts, path: t.Optional[str], now: str) -> ComputeIdChoice:
    """Return what the host's compute_id file must hold. ``facts``: the host as it is now; ``now``: ISO 8601, UTC.

    Raises :class:`IdentityError` with every reason against.
    """
    host = _needed(conf_host(facts), facts, "nova_conf")
    node = _needed(facts.libvirt, facts, "libvirt").hostname
    cell, row = _row(bundle, host, node)
    identity = _uuid(row)
    target = _target(facts, path)
    against = [*_too_old(bundle, now), *_alive_elsewhere(bundle, cell, facts, host, identity)]
    against += [*_same_uuid_elsewhere(bundle, cell, row, identity), *_own_files(facts, target, identity)]
    against += _other_hosts(bundle, facts.inventory_name, identity)
    if against:
        raise IdentityError(*against)
    return ComputeIdChoice(identity, cell.name, row.id, host, node, target, _unseen(bundle, facts.inventory_name))


def _needed(value: t.Optional[_T], facts: HostFacts, part: str) -> _T:
    if value is None:
        reasons = [item.reason for item in facts.unread if item.part == part]
        said = f"the run could not read {part} of the host: {'; '.join(reasons) or 'no reason is known'}"
        raise IdentityError((f"unread-{part}", said))
    return value


def _row(bundle: Bundle, host: str, node: str) -> t.Tuple[CellFacts, ComputeNodeRow]:
    """Return the one existing row of the host. A row that shares only one of the two names makes it doubtful."""
    rows = [(cell, row) for cell in _cells(bundle, host) for row in _nodes(cell) if not row.deleted]
    own = [(cell, row) for cell, row in rows if row.host == host]
    related = [(cell, row) for cell, row in rows if _alike(row.host, host) or _alike(row.hypervisor_hostname, node)]
    if not own:
        hint = f"; rows with similar names: {_list(related)}" if related else ""
        raise IdentityError(("no-node", f"no cell has an existing compute node of host {host}{hint}"))
    if any(row.hypervisor_type == "ironic" for _cell, row in own):
        raise IdentityError(
            ("ironic", f"host {host} has ironic nodes: a compute_id file cannot hold the uuids of ironic nodes")
        )
    if len(related) > 1:
        raise IdentityError(
            ("several-nodes", f"{len(related)} existing compute nodes have the name {host} or {node}: {_list(related)}")
        )
    cell, row = own[0]
    if row.hypervisor_hostname != node:
        said = (
            f"compute node {row.uuid} of host {host} has the name {row.hypervisor_hostname} in the database, but "
            f"libvirt reports the name {node} for this host"
        )
        raise IdentityError(("other-name", said))
    return cell, row


def _cells(bundle: Bundle, host: str) -> t.List[CellFacts]:
    if bundle.databases is None:
        raise IdentityError(("unread-databases", "the databases were not read"))
    if bundle.databases.cells is None:
        raise IdentityError(("unread-cells", "the list of cells was not read"))
    for cell in bundle.databases.cells:
        if cell.scope and host not in cell.scope:
            said = f"the facts of cell {cell.name} cover the hosts {', '.join(cell.scope)}, but not host {host}"
            raise IdentityError(("narrowed", said))
    return bundle.databases.cells


def _nodes(cell: CellFacts) -> t.List[ComputeNodeRow]:
    if cell.compute_nodes is None:
        reasons = "; ".join(item.reason for item in cell.unread) or "no reason is known"
        raise IdentityError(("unread-nodes", f"compute nodes of cell {cell.name} were not read: {reasons}"))
    return cell.compute_nodes


def _alike(name: t.Optional[str], other: str) -> bool:
    # MySQL compares names without regard to case, and Nova finds rows through MySQL.
    return name is not None and name.lower() == other.lower()


def _list(rows: t.Sequence[t.Tuple[CellFacts, ComputeNodeRow]]) -> str:
    return ", ".join(
        f"{row.uuid} (cell {cell.name}, host {row.host}, node {row.hypervisor_hostname})" for cell, row in rows
    )


def _uuid(row: ComputeNodeRow) -> str:
    if row.uuid is None:
        raise IdentityError(("no-uuid", f"compute node {row.id} of host {row.host} has no uuid"))
    try:
        return str(uuids.UUID(row.uuid))
    except ValueError:
        said = f"compute node {row.id} of host {row.host} has {row.uuid!r}, which is not a uuid"
        raise IdentityError(("no-uuid", said)) from None


def _target(facts: HostFacts, path: t.Optional[str]) -> str:
    """Return the file: the operator's, or where Nova itself writes it, in state_path."""
    files = facts.compute_id_files
    if files is None or facts.nova_conf is None:
        raise IdentityError(("unread-files", "the host's compute_id files were not read"))
    places = [item.path for item in files if item.read_by_nova]
    target = path or f"{facts.nova_conf.state_path.rstrip('/')}/compute_id"
    if target not in places:
        said = (
            f"nova-compute does not read {target}. Set path to one of the files that nova-compute reads: "
            f"{', '.join(places)}"
        )
        raise IdentityError(("other-path", said))
    return target


def _too_old(bundle: Bundle, now: str) -> t.Iterator[Against]:
    """Why the databases must be read again. A time that is not known, or that is to come, is no recent one."""
    read = moment(bundle.databases.read_at if bundle.databases else None)
    today = moment(now)
    age = None if read is None or today is None else (today - read).total_seconds()
    if age is None or not -CLOCKS <= age <= EVIDENCE_MAX_AGE:
        when = bundle.databases.read_at if bundle.databases else None
        yield (
            "old-databases",
            (
                f"the databases were read at {when or 'an unknown time'}. Run cell_info again, because the module "
                f"accepts only facts from the last {EVIDENCE_MAX_AGE // 60} minutes"
            ),
        )


def _alive_elsewhere(
    bundle: Bundle, cell: CellFacts, facts: HostFacts, host: str, identity: str
) -> t.Iterator[Against]:
    """Why another machine may be this host: its nova-compute reports to Nova, and nothing shows that it is this one.

    A process of nova-compute proves nothing: on a second machine it runs, and refuses to serve without the file. The
    guests of the host prove it. A file that has the uuid already is left as it is, and gives nobody an identity.
    """
    written = any(item.exists and item.uuid == identity for item in facts.compute_id_files or [])
    guests = {row.uuid for row in cell.instances or [] if not row.deleted and row.host == host}
    if written or any(domain.uuid in guests and domain.state in RUNNING for domain in facts.domains or []):
        return
    for shown in (bundle.cloud.services if bundle.cloud else None) or []:
        # Nova can keep these reports elsewhere than in the database (servicegroup_driver): the API knows them all.
        if shown.binary == "nova-compute" and _alike(shown.host, host) and shown.state == "up":
            yield "alive-in-api", f"Nova shows the nova-compute service of {host} as up, {_not_proven(host)}"
    read = moment(bundle.databases.read_at if bundle.databases else None)
    if cell.services is None:
        said = f"the services of cell {cell.name} were not read. Another machine may use the host name {host} in Nova"
        yield "unread-services", said
    for service in cell.services or []:
        seen = moment(service.last_seen_up)
        same = service.binary == "nova-compute" and not service.deleted and _alike(service.host, host)
        if same and service.last_seen_up and (not read or not seen or (read - seen).total_seconds() < SILENCE):
            yield (
                "alive",
                f"the nova-compute service of {host} reported to Nova at {service.last_seen_up}, {_not_proven(host)}",
            )


def _not_proven(host: str) -> str:
    return (
        f"but this machine runs no guest of {host}. Verify that no other machine has the host name {host}. Then stop "
        f"nova-compute on this machine, wait {SILENCE // 60} minutes, and read the databases again"
    )


def _same_uuid_elsewhere(bundle: Bundle, own: CellFacts, row: ComputeNodeRow, identity: str) -> t.Iterator[Against]:
    cells = bundle.databases.cells if bundle.databases and bundle.databases.cells else []
    for cell in cells:
        for other in _nodes(cell):
            if other.uuid == identity and (cell.uuid, other.id) != (own.uuid, row.id):
                yield (
                    "uuid-of-another-node",
                    f"compute node {other.id} of host {other.host} in cell {cell.name} also has the uuid {identity}",
                )


def _own_files(facts: HostFacts, target: str, identity: str) -> t.Iterator[Against]:
    for item in facts.compute_id_files or []:
        if not item.exists:
            continue
        if item.error is not None:
            yield "invalid-file", f"{item.path} exists, but contains no valid uuid: {item.error}"
        elif item.uuid != identity:
            yield (
                "other-uuid",
                f"{item.path} contains {item.uuid}, but the uuid of this host's compute node is {identity}",
            )


def _other_hosts(bundle: Bundle, own: str, identity: str) -> t.Iterator[Against]:
    for name, host in sorted(bundle.hosts.items()):
        for item in host.compute_id_files or []:
            if name != own and item.uuid == identity:
                yield "uuid-on-another-host", f"{item.path} on host {name} also contains the uuid {identity}"


def _unseen(bundle: Bundle, own: str) -> t.List[str]:
    unread = {name for name, host in bundle.hosts.items() if host.compute_id_files is None}
    return sorted((unread | set(bundle.unreachable)) - {own})
