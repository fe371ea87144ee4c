# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the journal of an evacuation holds, typed. There is one journal for each dead host.

    about.servers       who was on the host when it began, with power state and images
    about.chosen        whether a person chose them; absent in journals of version 0.2.0
    about.fence         the kind of fence that was requested last
    about.addresses     Ceph fsid to addresses that this operation was to list, each with the key of its origin
    about.proven        the same of those that were seen as the host's, see :class:`clients.Origin`
    about.blocklisted   Ceph fsid to addresses that are on its OSD blocklist for this operation
    memory.proof        the newest proof of the fence, for people: it is read again before each act
    memory.in_transit   servers that were sent and have not arrived
    memory.intended     servers that are about to be sent: other operations count them too
    memory.arrived      servers that were verified elsewhere
    memory.sent         servers that were ever sent
    memory.tried        by server, the hosts on which it failed
    memory.guarded      servers that may have a guard snapshot
    memory.chassis_kept why the chassis was not removed, as a key
    memory.chassis      the chassis that is about to be removed from OVN, or is

Of an operation that has ended the journal may be of version 0.1 (C(kind) is C(evacuate)): then only its host, its id
and the state of its service are of use.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity.measured import IncomingServer
from ..hazards import clients
from ..model import findings, task_results
from ..model.facts import NumaCell, from_plain, to_plain
from ..records import journal as journals
from .steps import InTransit

Json = t.Dict[str, t.Any]

KIND = "evacuate"
CHOSEN = "chosen"
RUNNING, STOPPED = "running", "stopped"


@dataclasses.dataclass(frozen=True)
class DiskImage:
    """An image as it was when the operation began, with the cluster and pool where it was."""

    id: str
    fsid: str
    pool: str


@dataclasses.dataclass(frozen=True)
class PlannedServer:
    """A server of the operation, as it was when it began. ``numa``: None: unread."""

    uuid: str
    name: str
    status: str
    images: t.Dict[str, DiskImage] = dataclasses.field(default_factory=dict)
    numa: t.Optional[t.List[NumaCell]] = None
    #: C(running) or C(stopped) before the host died; None: not known.
    power: t.Optional[str] = None
    #: Uuids of its volumes; None: a journal of an earlier version.
    volumes: t.Optional[t.List[str]] = None
    #: Its disks that are files of a shared directory, with their inodes.
    files: t.Dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def ids(self) -> t.Dict[str, str]:
        """Image name to Ceph's id."""
        return {name: image.id for name, image in self.images.items()}

    @property
    def homes(self) -> t.Dict[str, t.Tuple[str, str]]:
        """Image name to cluster and pool."""
        return {name: (image.fsid, image.pool) for name, image in self.images.items()}


def kind_of(host: str) -> str:
    """Return the kind of a host's journal: one for each dead host. Nova's databases compare names without case."""
    return f"{KIND}-{host.casefold()}"


def is_of(journal: t.Mapping[str, t.Any], host: str) -> bool:
    """Whether a journal is that of an evacuation of this host: one that has ended may be of any version."""
    kind = str(journal.get("kind"))
    about = journal.get("about") or {}
    return (kind == KIND or kind.startswith(f"{KIND}-")) and str(about.get("host")).casefold() == host.casefold()


def servers_of(journal: t.Mapping[str, t.Any]) -> t.List[PlannedServer]:
    """Return the servers of an operation. Raises :class:`FactsError`."""
    return [from_plain(PlannedServer, entry, "journal.servers") for entry in journal["about"]["servers"]]


def in_transit(journal: t.Mapping[str, t.Any], clocks: bool = False) -> t.List[InTransit]:
    """Return who was sent and has not arrived. ``clocks``: keep when each was sent, which says nothing in another run.

    Raises :class:`FactsError`.
    """
    noted = (journal.get("memory") or {}).get("in_transit") or []
    found = [from_plain(InTransit, entry, "journal.memory") for entry in noted]
    return found if clocks else [dataclasses.replace(entry, started=None) for entry in found]


def tried(journal: t.Mapping[str, t.Any]) -> t.Dict[str, t.Dict[str, str]]:
    """Return, by server, the hosts on which it failed."""
    found = (journal.get("memory") or {}).get("tried") or {}
    return {str(uuid): dict(hosts) for uuid, hosts in found.items()}


def sent(journal: t.Mapping[str, t.Any]) -> t.Set[str]:
    """Return who was ever sent."""
    return set(map(str, (journal.get("memory") or {}).get("sent") or []))


def guarded(journal: t.Mapping[str, t.Any]) -> t.Set[str]:
    """Return who may have a guard snapshot."""
    return set(map(str, (journal.get("memory") or {}).get("guarded") or []))


def was_fenced(journal: t.Mapping[str, t.Any]) -> bool:
    """Whether the fence was read back at some time: then it is read again before anything is done."""
    return bool(journal.get("steps", {}).get("fence") == journals.DONE)


def fenced_by(journal: t.Mapping[str, t.Any]) -> t.Optional[str]:
    """Return the fence that was proven last; None: none was, or a fence of another kind was begun since."""
    about = journal["about"]
    if "fenced_by" in about:
        return t.cast("t.Optional[str]", about["fenced_by"])
    return t.cast("t.Optional[str]", about.get("fence")) if was_fenced(journal) else None


def same_outage(
    closed: t.Sequence[t.Mapping[str, t.Any]], holds: t.Iterable[t.Optional[str]], reason_of: t.Callable[[str], str]
) -> t.List[t.Mapping[str, t.Any]]:
    """Return the operations since whose hold the host has not been given back, the newest first.

    ``closed``: journals that have ended, the oldest first. ``holds``: why the service is disabled, now and before the
    open operation: each operation notes what it found, so that one leads to the one before it.
    """
    found, wanted = [], {hold for hold in holds if hold}
    for journal in reversed(closed):
        if reason_of(str(journal["operation_id"])) in wanted:
            found.append(journal)
            wanted.add(str((journal["about"].get("service") or {}).get("reason")))
    return found


def without(listed: t.Mapping[str, t.Iterable[str]], kept: t.Mapping[str, t.Iterable[str]]) -> t.Dict[str, t.List[str]]:
    """Return addresses by Ceph fsid but those of ``kept``."""
    found = {fsid: sorted(set(addresses) - set(kept.get(fsid) or ())) for fsid, addresses in listed.items()}
    return {fsid: addresses for fsid, addresses in found.items() if addresses}


def together(parts: t.Iterable[t.Mapping[str, t.Iterable[str]]]) -> t.Dict[str, t.List[str]]:
    """Return the addresses of all, by Ceph fsid."""
    found: t.Dict[str, t.Set[str]] = {}
    for part in parts:
        for fsid, addresses in part.items():
            found.setdefault(str(fsid), set()).update(map(str, addresses))
    return {fsid: sorted(addresses) for fsid, addresses in found.items()}


def blocklisted(journal: t.Mapping[str, t.Any]) -> t.Dict[str, t.List[str]]:
    """Return Ceph fsid to addresses that this operation has on a blocklist."""
    listed = journal["about"].get("blocklisted") or {}
    return {str(fsid): list(found) for fsid, found in listed.items()}


def powers_before(closed: t.Sequence[t.Mapping[str, t.Any]], host: str) -> t.Dict[str, str]:
    """Return, by server, the power state that earlier operations on this host noted: a failed spawn hides it.

    ``closed``: journals that have ended, the oldest first. Only of servers that stayed on the host then: one that left
    it and came back has a life in between.
    """
    found: t.Dict[str, str] = {}
    for journal in closed:
        if not is_of(journal, host) or journal["kind"] == KIND:
            continue
        left = set(map(str, (journal.get("memory") or {}).get("arrived") or []))
        for entry in servers_of(journal):
            found.pop(entry.uuid, None)
            if entry.power is not None and entry.uuid not in left:
                found[entry.uuid] = entry.power
    return found


def plain(servers: t.Iterable[PlannedServer]) -> t.List[Json]:
    """Return servers as a journal keeps them."""
    return [t.cast("Json", to_plain(entry)) for entry in servers]


def plain_checked(checked: findings.Checked) -> t.Dict[str, t.Any]:
    """Return what was found as plain data, for the scratch of a run."""
    return {
        "findings": [to_plain(item) for item in checked.findings],
        "unchecked": [to_plain(item) for item in checked.unchecked],
    }


def checked_of(plain: t.Mapping[str, t.Any]) -> findings.Checked:
    """Return the same again."""
    return findings.Checked(
        tuple(findings.from_report(item) for item in plain.get("findings") or []),
        tuple(findings.Unchecked(**item) for item in plain.get("unchecked") or []),
    )


def without_guard(home: t.Mapping[str, t.Any]) -> t.Set[str]:
    """Return the images of a pool on which no guard of ours is, as the host that removed them says."""
    result: Json = home.get("result") or {}
    if not task_results.ended_well(result) or (result.get("fsid"), result.get("pool")) != (home["fsid"], home["pool"]):
        return set()
    found = {str(image["image"]) for image in result.get("images") or [] if not image.get("guarded")}
    # Its owner deleted it, or a rebuild made it again: our snapshot is not on it.
    return found | {str(name) for part in ("gone", "replaced") for name in result.get(part) or []}


def of_host(addresses: t.Any) -> t.List[str]:
    """Return those that more than locks shows to be the dead host's. A journal whose words are not known: none."""
    known = addresses if isinstance(addresses, dict) else {}
    return sorted(address for address, origin in known.items() if clients.shows_host(origin))


def origins(listed: t.Mapping[str, t.Mapping[str, clients.Known]]) -> t.Dict[str, t.Dict[str, str]]:
    """Return addresses by cluster as a journal keeps them: each with the key of its origin."""
    return {fsid: {address: entry.origin.value for address, entry in found.items()} for fsid, found in listed.items()}


def proven_addresses(journal: t.Mapping[str, t.Any]) -> t.Iterator[t.Tuple[str, str, str]]:
    """Yield each address that an operation has seen as the host's, with its cluster and its origin.

    None that was only named, and none whose origin is a word that is not known. Version 0.2.0 kept addresses alone:
    they are not forgotten, and count as the careful case.
    """
    for fsid, addresses in (journal["about"].get("proven") or {}).items():
        known = addresses if isinstance(addresses, dict) else dict.fromkeys(addresses, clients.Origin.LOCKS.value)
        for address, origin in known.items():
            if clients.is_seen(origin):
                yield str(address), str(fsid), str(origin)


def addresses_of(journal: t.Mapping[str, t.Any]) -> Json:
    """Return the addresses that an operation was to list, by cluster."""
    return dict(journal["about"].get("addresses") or {})


def incoming(entry: t.Mapping[str, t.Any]) -> IncomingServer:
    """Return a server in transit of another operation as something that its destination will have."""
    size = entry.get("size_mib")
    cells = tuple(from_plain(NumaCell, cell, "journal") for cell in entry.get("cells") or ())
    return IncomingServer(str(entry["uuid"]), str(entry["target"]), int(size or 0), cells, {}, size is not None)


def home_failed(home: t.Mapping[str, t.Any]) -> str:
    """Say where guard snapshots were not made or removed, and why."""
    where = f"{home.get('fsid')}/{home.get('pool')} through {home.get('reader')}"
    return f"the run could not make or remove guard snapshots in {where}: {task_results.why(home.get('result'))}"
