# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The OSDs of a cluster: on which machine each says that it runs, where CRUSH has it, and whether it has noout.

An OSD has noout by itself, or by a flag of the cluster, of a CRUSH node above it or of its device class
(C(OSDMap::is_noout)). Only what it has by itself is ever set or removed here, of OSDs that are named one by one: the
monitors take C(all), C(any), CRUSH nodes and device classes for the same argument. They answer that all is well for an
OSD that does not exist, too: what was changed is read back.

Runs on compute hosts: Python 3.9 and the standard library only.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ...model.host_facts import NOOUT_ITSELF, CephOsd
from ..host.reading import HostError, ReadError
from . import addresses

FLAG = "noout"
#: Seconds between two looks at whether OSDs are up.
PAUSE = 5

Json = t.Any
Ask = t.Callable[[str], Json]


class Monitors(t.Protocol):
    """What is needed of a connection to Ceph."""

    def ask(self, question: str) -> Json:
        """Return the monitors' answer to a command that only reads."""

    def noout(self, osds: t.Sequence[int], wanted: bool) -> None:
        """Set or remove noout of OSDs, by number."""


@dataclasses.dataclass(frozen=True)
class NooutResult:
    """The OSDs that were named, as they are in the end, and those that were changed (or would be)."""

    osds: t.List[CephOsd]
    changed: t.List[int]


def read(ask: Ask) -> t.List[CephOsd]:
    """Return every OSD of the cluster. Raises HostError, or ValueError for an answer that is not understood."""
    dump, tree, metadata = ask("osd dump"), ask("osd tree"), ask("osd metadata")
    return parse(dump, tree, metadata)


def read_flagged(ask: Ask) -> t.List[CephOsd]:
    """Return the OSDs that have noout by themselves. Where there are none, nothing else is read."""
    dump = ask("osd dump")
    if not any(FLAG in _states(entry) for entry in _records(dump, "osds", "osd dump")):
        return []
    found = parse(dump, ask("osd tree"), ask("osd metadata"))
    return [osd for osd in found if NOOUT_ITSELF in osd.noout]


def parse(dump: Json, tree: Json, metadata: Json) -> t.List[CephOsd]:
    """Read C(osd dump), C(osd tree) and C(osd metadata)."""
    said = {int(entry["id"]): entry.get("hostname") for entry in _list(metadata, "osd metadata")}
    nodes = {int(node["id"]): node for node in _records(tree, "nodes", "osd tree")}
    above: t.Dict[int, t.List[int]] = {}
    for identity, node in nodes.items():
        for child in node.get("children") or ():
            above.setdefault(int(child), []).append(identity)
    whole = FLAG in _flags(dump.get("flags_set", dump.get("flags", "")))
    of_nodes, of_classes = dump.get("crush_node_flags") or {}, dump.get("device_class_flags") or {}

    def one(entry: Json) -> CephOsd:
        number = int(entry["osd"])
        places = [nodes[identity] for identity in _ancestors(number, above)]
        device = str(nodes.get(number, {}).get("device_class") or "")
        names = [str(node["name"]) for node in [*places, *([nodes[number]] if number in nodes else [])]]
        noout = [NOOUT_ITSELF] if FLAG in _states(entry) else []
        noout += ["the cluster"] if whole else []
        noout += [f"CRUSH node {name}" for name in names if FLAG in _flags(of_nodes.get(name))]
        noout += [f"device class {device}"] if FLAG in _flags(of_classes.get(device)) else []
        hosts = sorted({str(node["name"]) for node in places if node.get("type") == "host"})
        hostname = said.get(number)
        found = addresses.plain(str(entry.get("public_addr") or "-"))
        return CephOsd(number, str(hostname) if hostname else None, hosts, found, bool(entry["up"]), noout)

    return sorted(map(one, _records(dump, "osds", "osd dump")), key=lambda osd: osd.id)


def mark(ceph: Monitors, osds: t.Sequence[int], wanted: bool, check: bool) -> NooutResult:
    """Set noout of those that have it in no way, or remove it from those that have it by themselves; read it back.

    Raises HostError. An OSD that is not there any more has no noout to remove.
    """
    before = _named(ceph, osds, gone=not wanted)
    changed = [osd.id for osd in before if (not osd.noout if wanted else NOOUT_ITSELF in osd.noout)]
    if not changed or check:
        return NooutResult(before, changed)
    ceph.noout(changed, wanted)
    after = _named(ceph, osds, gone=not wanted)
    wrong = [f"osd.{osd.id}" for osd in after if osd.id in changed and (NOOUT_ITSELF in osd.noout) != wanted]
    if wrong:
        state = "has no noout after it was set" if wanted else "still has noout after it was removed"
        raise ReadError(f"{', '.join(wrong)} {state}")
    return NooutResult(after, changed)


def listed(ceph: Monitors, osds: t.Sequence[int]) -> NooutResult:
    """Return these OSDs as they are. Raises HostError where one does not exist."""
    return NooutResult(_named(ceph, osds, gone=False), [])


def wait_up(ceph: Monitors, osds: t.Sequence[int], seconds: int) -> NooutResult:
    """Return these OSDs as soon as all are up, or after so many seconds as they are then."""
    until = time.monotonic() + seconds
    # Of a large cluster only the dump is small enough to be asked for every few seconds.
    while not set(osds) <= _up(ceph.ask("osd dump")) and time.monotonic() < until:
        time.sleep(PAUSE)
    return NooutResult(_named(ceph, osds, gone=True), [])


def _up(dump: Json) -> t.Set[int]:
    return {int(entry["osd"]) for entry in _records(dump, "osds", "osd dump") if entry.get("up")}


def _named(ceph: Monitors, osds: t.Sequence[int], gone: bool) -> t.List[CephOsd]:
    """Return the OSDs with these numbers. ``gone``: one that does not exist is no error."""
    if not osds:
        raise ReadError("no OSD was named")
    try:
        found = [osd for osd in read(ceph.ask) if osd.id in osds]
    except HostError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReadError(f"an answer of Ceph about its OSDs cannot be parsed: {error!r}") from error
    missing = sorted(set(osds) - {osd.id for osd in found})
    if missing and not gone:
        raise ReadError(f"the cluster has no {', '.join(f'osd.{number}' for number in missing)}")
    return found


def _ancestors(number: int, above: t.Mapping[int, t.Sequence[int]]) -> t.List[int]:
    found: t.List[int] = []
    waiting = list(above.get(number, ()))
    while waiting:
        identity = waiting.pop()
        if identity not in found:
            found.append(identity)
            waiting += above.get(identity, ())
    return sorted(found)


def _states(entry: Json) -> t.Sequence[str]:
    """Return what C(osd dump) says of one OSD. Raises ValueError where it does not: that is not "none"."""
    if not isinstance(entry.get("state"), list):
        raise ValueError("osd dump: an OSD without its state")
    return [str(word) for word in entry["state"]]


def _flags(value: Json) -> t.Sequence[str]:
    return value.split(",") if isinstance(value, str) else list(value or ())


def _records(answer: Json, part: str, what: str) -> t.List[Json]:
    if not isinstance(answer, dict) or not isinstance(answer.get(part), list):
        raise ValueError(f"{what}: the answer contains no {part}")
    return list(answer[part])


def _list(answer: Json, what: str) -> t.List[Json]:
    if not isinstance(answer, list):
        raise ValueError(f"{what}: the answer is not a list")
    return answer
