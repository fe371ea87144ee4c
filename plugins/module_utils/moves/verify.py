# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG711: Nova says ERROR of a server after a move. Where does its QEMU run, and what is to be done? Pure.

A live migration that fails before its end leaves the guest running on its source, while Nova makes it ERROR. Made
ACTIVE again it is as before; but only where its QEMU runs there, and nowhere else.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..capacity.measured import RUNNING, by_nova_name
from ..hazards import volume_moves
from ..model.codes.catalogue import remedy_text
from ..model.facts import ApiServer, Bundle
from ..model.findings import (
    BLOCKER,
    WARNING,
    Finding,
    Subject,
    finding,
)
from ..model.lookups import Index, in_progress

CODE = "SG711"
#: libvirt's words for a guest that executes.
EXECUTES = ("running", "blocked")
#: The state of a QEMU that runs, and that libvirt does not show.
LOST = "not shown by libvirt"
#: Ends of a live migration that did not succeed.
FAILED = ("error", "failed", "cancelled")


@dataclasses.dataclass(frozen=True)
class FailedServer:
    """Where the QEMU of a server in ERROR was seen, on the hosts as they were just read."""

    server: ApiServer
    #: Host to the state of its domain there, of those in which QEMU is alive.
    runs: t.Mapping[str, str]
    #: Hosts where it could be and whose domains were not read.
    unread: t.Tuple[str, ...] = ()
    #: Why its state is not to be changed although its QEMU runs where Nova has it; None: nothing speaks against it.
    against: t.Optional[str] = None
    #: All compute hosts whose domains were not read.
    silent: t.Tuple[str, ...] = ()

    @property
    def at_home(self) -> bool:
        """Whether its QEMU runs on exactly the host that Nova has it on, and all others where it could be were read."""
        return list(self.runs) == [self.server.host] and not self.unread

    @property
    def is_really_active(self) -> bool:
        """Return True if the server runs once, on the host that Nova shows: its status ACTIVE would be true."""
        return self.at_home and self.against is None and self.runs[str(self.server.host)] in EXECUTES


def examine(
    bundle: Bundle,
    server: ApiServer,
    where: t.Iterable[str],
    was: t.Optional[str] = "ACTIVE",
    every: t.Iterable[str] = (),
) -> FailedServer:
    """Look for the QEMU of a server. ``where``: hosts that must have been read; ``was``: its status before the move.

    ``every``: all compute hosts. Only if all of them were read is it known that it runs nowhere.
    """
    hosts = by_nova_name(bundle)
    runs = {
        name: domain.state
        for name, facts in sorted(hosts.items())
        for domain in facts.domains or []
        if domain.uuid == server.id and domain.state in RUNNING
    }
    runs.update(
        {
            name: LOST
            for name, facts in sorted(hosts.items())
            if name not in runs and server.id in (facts.qemu_processes or {})
        }
    )
    every = list(every)
    needed = sorted({*where, *((server.host,) if server.host else ())})
    unread = tuple(name for name in needed if name not in hosts or hosts[name].domains is None)
    known = {*every, *bundle.unreachable}
    silent = tuple(sorted(name for name in known if name not in hosts or hosts[name].domains is None))
    return FailedServer(server, runs, unread, _against(bundle, server, was, every), silent)


def _against(bundle: Bundle, server: ApiServer, was: t.Optional[str], hosts: t.Sequence[str]) -> t.Optional[str]:
    if server.task_state is not None:
        return f"a task is in progress: {server.task_state}"
    if was != "ACTIVE":
        return f"the server's status before the move was {was or 'not recorded'}"
    index = Index(bundle)
    if not index.migrations_read:
        return "the migrations were not read, so the server may be migrating"
    moving = [row.status for _place, row in index.migrations if row.instance_uuid == server.id and in_progress(row)]
    if moving:
        return f"a migration of the server has the status {moving[0]}"
    # With Ceph and files the guest has its disk wherever Cinder thinks that it is.
    return volume_moves.elsewhere(bundle.cloud.block_storage if bundle.cloud else None, server, hosts)


def told(state: FailedServer) -> Finding:
    """SG711, with the command to type."""
    server = state.server
    evidence = {
        "Nova says": f"{server.status} on {server.host}",
        "its QEMU runs on": [f"{host} ({seen})" for host, seen in state.runs.items()],
        **({"not read": list(state.unread)} if state.unread else {}),
        **({"in addition": state.against} if state.against else {}),
    }
    return finding(CODE, _subject(server), evidence, _remedy(state), BLOCKER)


def restored(uuid: str, name: str, host: t.Optional[str]) -> Finding:
    """SG711 as a warning: it was ERROR, and was made ACTIVE."""
    evidence = {
        "Nova said": "ERROR after a failed move",
        "its QEMU ran on": host,
        "done": "the run set the server to ACTIVE again",
    }
    remedy = remedy_text(CODE, "made-active", uuid=uuid)
    return finding(CODE, Subject("instance", uuid, name, host), evidence, remedy, WARNING)


def _subject(server: ApiServer) -> Subject:
    return Subject("instance", server.id, server.name, server.host)


def _remedy(state: FailedServer) -> str:
    uuid, host = state.server.id, state.server.host
    if state.unread:
        return remedy_text(CODE, "possible-hosts-unread", hosts=", ".join(state.unread))
    if not state.runs and state.silent:
        return remedy_text(CODE, "on-no-host-that-was-read", hosts=", ".join(state.silent))
    if not state.runs:
        return remedy_text(CODE, "on-no-host", uuid=uuid)
    if len(state.runs) > 1:
        return remedy_text(CODE, "on-several-hosts", hosts=" and ".join(state.runs), uuid=uuid)
    if LOST in state.runs.values():
        (lost,) = state.runs
        return remedy_text(CODE, "not-shown-by-libvirt", host=lost, uuid=uuid)
    if not state.at_home:
        (other,) = state.runs
        return remedy_text(CODE, "on-another-host", host=host, other=other)
    if state.runs[str(host)] not in EXECUTES:
        return remedy_text(CODE, "does-not-execute", uuid=uuid, seen=state.runs[str(host)], host=host)
    return remedy_text(CODE, "executes", uuid=uuid, host=host)
