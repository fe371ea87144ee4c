# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that the collection can say of a whole cloud from its evidence: what an audit tells. Pure.

A code that could not be decided, because a source was not read or failed, is told as such: nothing of it is "none".
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ..hazards import (
    definition,
    deployment,
    forecast,
    guest_places,
    host_zones,
    identity,
    in_flight,
    left_allocations,
    left_bindings,
    left_directories,
    left_snapshots,
    leftovers,
    links,
    memory,
    names,
    ovn,
    removed_hosts,
    renamed,
    storage,
    unfit,
    volume_watchers,
    volumes,
    waiting,
)
from ..model.facts import Bundle, HostFacts
from ..model.findings import CATALOGUE, Checked, Unchecked
from ..model.lookups import COMPUTE, Index, Item, Items, gather
from ..model.names import conf_host
from . import coverage

#: Codes that nothing can be said of without the compute hosts; the other sources' checks say so themselves.
_FROM_HOSTS = tuple(code for code, entry in CATALOGUE.items() if entry.from_hosts)


#: Codes that an audit decides; the others are of an operation. What it neither finds nor leaves undecided has passed.
AUDITED = (
    *("SG101", "SG102", "SG103", "SG104", "SG105", "SG106", "SG107", "SG108", "SG109", "SG110", "SG111", "SG112"),
    *("SG113", "SG114", "SG115", "SG116", "SG117", "SG119", "SG131", "SG132", *deployment.CODES),
    *("SG201", "SG202", "SG203", "SG204", "SG205", "SG206", "SG207", "SG211", "SG212", "SG213", "SG214", "SG215"),
    *("SG216", "SG217", "SG221", "SG231"),
    *("SG301", "SG302", "SG303", "SG304", "SG305", "SG306", "SG308", "SG309", "SG311"),
    *ovn.AUDITED,
    *("SG329", "SG331"),
    *("SG401", "SG402", "SG403", "SG404", "SG405", "SG408"),
    *("SG502", "SG507", "SG508", "SG509", "SG515", "SG516", "SG518", "SG523", "SG524", "SG525", "SG526", "SG527"),
    *("SG601", "SG602", "SG603", "SG604", "SG605", "SG606", "SG607"),
    *("SG701", "SG702", "SG703", "SG704", "SG705", "SG706", "SG709", "SG713"),
)


@dataclasses.dataclass(frozen=True)
class Looked:
    """What was found, and what nova-compute would do on each host."""

    checked: Checked
    starts: t.List[forecast.Start]


def look(
    bundle: Bundle,
    at_most: t.Optional[int] = None,
    also: t.Callable[[str, HostFacts], None] = lambda _name, _facts: None,
) -> Looked:
    """Check everything that was read. ``at_most``: wrong links of one code that are listed; None: all.

    All that looks at the guests of a host does it while that host is at hand, ``also`` too (by inventory name): see
    :func:`identity.check`.
    """
    index = Index(bundle)
    forecasts: t.Dict[str, forecast.Start] = {}
    defined: t.List[Item] = []
    crowded: t.List[Item] = []
    left: t.List[Item] = []
    deployed: t.List[Item] = []
    survey = unfit.Survey(bundle)
    watched = volume_watchers.Survey(bundle)

    def each(name: str, facts: HostFacts) -> None:
        forecasts[name] = forecast.start(index, facts)
        defined.extend(definition.host_items(bundle, facts))
        crowded.extend(memory.crowded(name, facts))
        left.extend(left_directories.check(index, facts))
        deployed.extend(deployment.host_items(index, facts))
        survey.add(facts)
        watched.add(facts)
        also(name, facts)
        _parse(facts)

    checked = identity.check(bundle, coverage.host_gaps, index, each)
    checked += names.check(bundle, index) + in_flight.check(bundle, index) + links.check(bundle, at_most)
    checked += (
        gather([*defined, *definition.unread(bundle)])
        + host_zones.check(bundle, at_most)
        + gather(crowded)
        + gather(left)
        + gather(left_allocations.check(index))
        + gather(left_bindings.check(index))
        + gather(volumes.check(index))
        + gather(watched.items(index))
        + gather(deployed)
        + gather(survey.items(host_zones.zones_of(bundle)))
        + gather(_ceph(index))
        + gather(leftovers.check(index))
        + gather(ovn.check(index))
        + gather(waiting.check(bundle.databases.brokers if bundle.databases else None, bundle.operations))
        + gather(_unread(index))
    )
    checked = guest_places.joined(once(checked))
    checked = removed_hosts.instead(index, renamed.instead(index, checked))
    return Looked(once(checked), _all_starts(bundle, forecasts))


def _parse(facts: HostFacts) -> None:
    """Look at all that grows with a host's guests: of saved evidence it is parsed then, and may be wrong.

    What no check asked for makes no verdict either way, but evidence that is wrong anywhere has none.
    """
    for part in (facts.domains, facts.definitions, facts.qemu_processes):
        collections.deque(part or (), maxlen=0)


def check(bundle: Bundle, at_most: t.Optional[int] = None) -> Checked:
    """Check everything that was read: what :func:`look` found."""
    return look(bundle, at_most).checked


def starts(bundle: Bundle) -> t.List[forecast.Start]:
    """Return what nova-compute would do on each host, by inventory name: of one that did not answer it is not known."""
    index = Index(bundle)
    return _all_starts(bundle, {name: forecast.start(index, facts) for name, facts in bundle.hosts.items()})


def _all_starts(bundle: Bundle, forecasts: t.Dict[str, forecast.Start]) -> t.List[forecast.Start]:
    forecasts.update({name: forecast.unknown_start(name, reason) for name, reason in bundle.unreachable.items()})
    return [forecasts[name] for name in sorted(forecasts)]


def once(checked: Checked) -> Checked:
    """Tell the same only once: links are looked at by name and by id."""
    seen: t.Set[t.Tuple[str, str]] = set()
    findings = []
    for item in checked.findings:
        key = (item.code, repr(item))
        if key not in seen:
            seen.add(key)
            findings.append(item)
    return Checked(tuple(findings), tuple(dict.fromkeys(checked.unchecked)))


def _ceph(index: Index) -> Items:
    """SG507, SG508: two clients on one disk, and what was left behind."""
    if not any(facts.rbd is not None and facts.rbd.opened for facts in index.bundle.hosts.values()):
        for code in ("SG507", "SG508"):
            yield Unchecked(code, "all", "Ceph was not read on any host")
        return
    yield from storage.watched_twice(index)
    yield from storage.locked_by_dead(index)
    yield from left_snapshots.check(index)
    yield from storage.leaks(index.bundle, leftovers.guarding(index), _gone(index))


def _gone(index: Index) -> t.Optional[t.Set[str]]:
    """Instances that are known to be deleted, by their rows. One that no row knows may be another cloud's."""
    if not index.cells_read("instances"):
        return None
    rows = index.instance_rows_by_uuid
    return {uuid for uuid, found in rows.items() if found and all(row.deleted for _cell, row in found)}


def _unread(index: Index) -> Items:
    """What a source that was not read, or a host that is missing, leaves undecided."""
    bundle = index.bundle
    yield from coverage.check(bundle)
    if not bundle.hosts and not bundle.unreachable:
        for code in _FROM_HOSTS:
            yield Unchecked(code, "all", "no compute host was read")
        return
    for name in sorted(bundle.unreachable):
        for code in ("SG113", "SG502"):
            yield Unchecked(code, name, f"the host was not read: {bundle.unreachable[name]}")
    yield from _strangers(index)


def _strangers(index: Index) -> Items:
    """Compute services of Nova that no host of the inventory bears the name of."""
    read = {conf_host(facts) for facts in index.bundle.hosts.values()}
    # A host that did not answer may be any of them under another name; its own name at least is told already.
    for host in sorted(index.compute_hosts - read - set(index.bundle.unreachable)):
        yield Unchecked(
            "SG114",
            host,
            f"Nova has a {COMPUTE} service with this name, but the audit has read no host with this name",
        )
