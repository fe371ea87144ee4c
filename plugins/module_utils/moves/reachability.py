# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Does a host reach the libvirt of a destination, so that a live migration can begin? Pure.

Nova sends a live migration off without a test. Where the destination's libvirt does not take the connection (a
firewall, a socket that is not enabled), the server ends in ERROR, and so does the next one.
"""

from __future__ import annotations

import dataclasses
import typing as t
import urllib.parse

from ..hazards.unfit import CpuProbe
from ..model.facts import NovaConf

#: libvirt's own ports, by transport (libvirt's C(uri.html), and ssh's).
PORTS = {"tcp": 16509, "tls": 16514, "ssh": 22, "libssh": 22, "libssh2": 22}
_SSH = ("ssh", "libssh", "libssh2")

#: Nova's names of the source and of the destination.
Pair = t.Tuple[str, str]


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """Where the source connects to. ``certain``: false where ssh's own configuration may name another port."""

    address: str
    port: int
    certain: bool = True


@dataclasses.dataclass(frozen=True)
class Probe:
    """One connection to be tried on the source host. ``turn``: how many servers had failed on it by then."""

    source: str
    dest: str
    address: str
    port: int
    turn: int = 0

    @property
    def on(self) -> str:
        """The host that does it."""
        return self.source


#: What a host is to be asked before anybody is sent.
Question = t.Union[Probe, CpuProbe]


@dataclasses.dataclass(frozen=True)
class Reach:
    """What is known of every pair that is needed."""

    #: To be tried now.
    missing: t.Tuple[Question, ...] = ()
    #: Destination to the reason why nobody is sent there.
    closed: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: Pairs that answered.
    proven: t.FrozenSet[Pair] = frozenset()
    #: Pairs of which it cannot be told, with the reason.
    unknown: t.Mapping[Pair, str] = dataclasses.field(default_factory=dict)


def endpoint(source: t.Optional[NovaConf], dest: t.Optional[NovaConf], name: str) -> t.Union[Endpoint, str]:
    """Return where a live migration to a destination connects to, or why that cannot be told.

    C(virt/libvirt/driver.py), C(_live_migration_uri) and C(pre_live_migration), releases 26 to 34: the destination's
    C(live_migration_inbound_addr), else its name, put into the source's C(live_migration_uri), else made of its
    C(live_migration_scheme), C(tcp) by default.
    """
    if source is None:
        return "nova.conf of the source host was not read"
    if dest is None:
        return "nova.conf of the destination host was not read"
    if source.virt_type not in ("kvm", "qemu"):
        return f"[libvirt] virt_type of the source host is {source.virt_type or 'not read'}"
    address = dest.live_migration_inbound_addr or name
    if ":" in address:
        address = f"[{address}]"
    template = source.live_migration_uri or f"qemu+{source.live_migration_scheme or 'tcp'}://%s/system"
    try:
        parts = urllib.parse.urlsplit(template % address)
        host, port = parts.hostname, parts.port
    except (TypeError, ValueError):
        return "[libvirt] live_migration_uri of the source host cannot be parsed"
    # libvirt takes TLS where a remote URI names no transport.
    transport = parts.scheme.partition("+")[2] or "tls"
    if not host or transport not in PORTS:
        return f"the transport of [libvirt] live_migration_uri is unknown: {transport}"
    return Endpoint(host, port or PORTS[transport], certain=transport not in _SSH or port is not None)


def reach(
    pairs: t.Iterable[Pair],
    confs: t.Mapping[str, t.Optional[NovaConf]],
    results: t.Sequence[t.Mapping[str, t.Any]],
    failures: t.Mapping[str, int],
    able: bool,
) -> Reach:
    """Judge pairs by what was tried. ``failures``: by destination; what was tried before the last one says nothing.

    ``able``: whether somebody tries what is missing.
    """
    last = {(entry["source"], entry["dest"]): entry for entry in results if "source" in entry}
    missing: t.List[Probe] = []
    closed: t.Dict[str, str] = {}
    proven: t.Set[Pair] = set()
    unknown: t.Dict[Pair, str] = {}
    for source, dest in sorted(set(pairs)):
        where = endpoint(confs.get(source), confs.get(dest), dest)
        entry = last.get((source, dest))
        if isinstance(where, str):
            unknown[source, dest] = where
        elif entry is None or int(entry["turn"]) < failures.get(dest, 0):
            if able:
                missing.append(Probe(source, dest, where.address, where.port, failures.get(dest, 0)))
            else:
                unknown[source, dest] = f"the run did not test the connection to {where.address} port {where.port}"
        elif entry.get("untried"):
            unknown[source, dest] = f"the connection from {source} could not be tested: {entry['untried']}"
        elif entry.get("error") is None:
            proven.add((source, dest))
        elif where.certain:
            told = f"{source} does not reach libvirt at {where.address} port {where.port}: {entry['error']}"
            closed.setdefault(dest, told)
        else:
            unknown[source, dest] = (
                f"{where.address} port {where.port} does not answer ({entry['error']}), but ssh may use another port"
            )
    return Reach(tuple(missing), closed, frozenset(proven), unknown)
