# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Do the ids that tie services, nodes, instances and migrations together say the same as the names? SG201-SG231. Pure.

What is wrong, and what about it is certain, is decided in C(link_rules.py); here it is put into words. A link of an
instance on which something is in progress is not judged: it is C(unchecked), with the reason.
"""

from __future__ import annotations

import dataclasses
import itertools
import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.commands import Commands, playbook
from ..model.facts import (
    Bundle,
    CellLinks,
    ComputeNodeRow,
    LinkInstance,
    LinkMigration,
    LinkPciDevice,
)
from ..model.findings import (
    Checked,
    CountedOnly,
    Finding,
    Override,
    Subject,
    Unchecked,
    finding,
    overridden,
)
from ..model.lookups import Item, Items, gather
from ..model.names import conf_host
from ..model.wording import NOT_LISTED, NOT_LOOKED_AT, count
from .link_rules import (
    BY_INSTANCE,
    BY_NODE,
    CODES,
    IRONIC,
    REPAIRABLE,
    SINCE_28,
    Links,
    Verdict,
    WrongLink,
)

#: Whether Nova mends it by itself (compute/resource_tracker.py, 28 to 34: _init_compute_node for service_id,
#: _ensure_compute_id_for_instances for compute_id).
_SERVICE_HEALS = (
    "nova-compute 28 or later on this host repairs service_id when its periodic task update_available_resource runs "
    "for the second time after a start. nova-compute 27 or earlier never repairs service_id"
)
_ID_HEALS = (
    "if the instance's host runs nova-compute 28 or later, nova-compute repairs compute_id at the next run of "
    "nova-compute's periodic task update_available_resource. nova-compute 27 or earlier never repairs compute_id"
)
HEALS: t.Mapping[str, str] = {
    "SG201": _SERVICE_HEALS,
    "SG202": _SERVICE_HEALS,
    "SG203": f"{_SERVICE_HEALS}. If you delete the other host's service before the repair, Nova also deletes this node",
    "SG204": (
        "nova-compute makes its service when it starts on this host. 29 and later refuse that start while the host has "
        "guests. Nova has no other way to repair the link"
    ),
    "SG205": "never",
    "SG206": (
        "nova-compute creates a missing resource provider the next time that its periodic task "
        "update_available_resource runs, but repairs nothing else"
    ),
    "SG207": "when no existing instance links to this compute node any more (see SG213)",
    "SG211": _ID_HEALS,
    "SG212": _ID_HEALS,
    "SG213": f"{_ID_HEALS}. The repair needs an existing node with the same host name and node name as the instance",
    "SG214": (
        "On the instance's host (instances.host), a periodic task of nova-compute sets compute_id to the id of this "
        "host's compute node, and logs 'Correcting compute_id'. If instances.host is wrong, the new compute_id is "
        "wrong, too"
    ),
    "SG215": "never",
    "SG216": "never",
    "SG217": "never",
    "SG221": "never",
    "SG231": "never",
}


def check(bundle: Bundle, at_most: t.Optional[int] = None) -> Checked:
    """Check every link that was read. ``at_most``: findings of one code; None: all. What is left out is counted."""
    links = Links(bundle)
    return gather([*_undecided(links), *_revisions(links), *_judged(links, at_most)])


def _judged(links: Links, at_most: t.Optional[int]) -> t.List[Item]:
    items: t.List[Item] = []
    told: t.Dict[str, int] = {}
    for wrong in links.wrong():
        told[wrong.code] = told.get(wrong.code, 0) + 1
        if at_most is None or told[wrong.code] <= at_most:
            items.append(item(wrong, links.verdict(wrong)))
    for code, number in sorted(told.items()):
        if at_most is not None and number > at_most:
            items.append(CountedOnly(code, "all", f"{number - at_most} {NOT_LISTED}"))
    return items


class InProgress(Unchecked):
    """A link that looks wrong while something is in progress with its row: it is not judged now."""


def item(wrong: WrongLink, verdict: Verdict) -> t.Union[Finding, Unchecked]:
    """Return what a report says of one wrong link."""
    subject = subject_of(wrong)
    if verdict.busy:
        return InProgress(wrong.code, subject.id, f"the link between the database rows looks wrong, but {verdict.why}")
    evidence: t.Dict[str, t.Any] = {"read from": f"cell {wrong.cell.name}", **_evidence(wrong)}
    evidence["heals by itself"] = HEALS[wrong.code]
    remedy = remedy_text(wrong.code, "link-wrong")
    repair: Commands = ()
    if verdict.after is not None:
        evidence["certain"] = {**verdict.after, "because": verdict.why}
        remedy = f"{remedy} {remedy_text(wrong.code, 'repair-certain', codes=wrong.code)}"
        host = subject.host or (subject.id if subject.kind == "host" else None)
        repair = playbook("repair_links", host, "repair_hosts", f"repair_codes={wrong.code}")
    elif wrong.code in REPAIRABLE:
        evidence["not repaired because"] = verdict.why
    return finding(wrong.code, subject, evidence, remedy, commands=repair)


def subject_of(wrong: WrongLink) -> Subject:
    """Return what a wrong link is about."""
    row = wrong.row
    if isinstance(row, LinkInstance):
        return Subject("instance", row.uuid, row.display_name, row.host)
    if isinstance(row, LinkMigration):
        return Subject("migration", row.uuid or str(row.id), row.instance_uuid, row.dest_compute)
    if isinstance(row, LinkPciDevice):
        return Subject("pci_device", str(row.id), row.address, row.node_host)
    return Subject("compute_node", row.uuid or str(row.id), row.hypervisor_hostname, row.host)


def _evidence(wrong: WrongLink) -> t.Dict[str, t.Any]:
    row = wrong.row
    seen = dict(wrong.seen or {})
    names: t.Tuple[str, ...]
    if isinstance(row, LinkInstance):
        names = ("host", "node", "compute_id", "vm_state")
    elif isinstance(row, LinkMigration):
        names = ("migration_type", "status", "dest_compute", "dest_node", "dest_compute_id")
    elif isinstance(row, LinkPciDevice):
        names = ("status", "instance_uuid", "compute_node_id", "node_uuid")
    elif isinstance(row, ComputeNodeRow):
        names = ("id", "host", "hypervisor_hostname", "service_id")
    else:
        names = ("id", "host", "hypervisor_hostname", "instances")
    return {**{name: getattr(row, name) for name in names}, **seen}


# --- what remains ---------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Remaining:
    """Wrong links that stay: of the codes that were asked for, of others, and those of both that an override accepts.

    ``in_flight``: instances that look wrong while something is in progress on them. ``codes``: of ``asked`` and
    ``other``. ``unread``: what could not be looked at, and may hold links of the codes that were asked for.
    """

    asked: int
    other: int
    accepted: int
    in_flight: int
    codes: t.Tuple[str, ...]
    unread: t.List[str]

    @property
    def wrong(self) -> int:
        """Links that are wrong, accepted or not."""
        return self.asked + self.other + self.accepted


def remaining(
    links: Links, codes: t.Collection[str], planned: t.Sequence[WrongLink] = (), overrides: t.Sequence[Override] = ()
) -> Remaining:
    """Count what is wrong, without what is ``planned`` to be repaired."""
    mended = {(id(wrong.cell), wrong.code, wrong.row.id) for wrong in planned}
    numbers = {"asked": 0, "other": 0, "accepted": 0, "in flight": 0}
    seen: t.Set[str] = set()
    for wrong in links.wrong():
        if (id(wrong.cell), wrong.code, wrong.row.id) in mended:
            continue
        kind = _remains(wrong, links.verdict(wrong), codes, overrides)
        numbers[kind] += 1
        seen.update({wrong.code} if kind in ("asked", "other") else ())
    unread = list(_unread(links, codes))
    return Remaining(
        numbers["asked"], numbers["other"], numbers["accepted"], numbers["in flight"], tuple(sorted(seen)), unread
    )


def _remains(wrong: WrongLink, verdict: Verdict, codes: t.Collection[str], overrides: t.Sequence[Override]) -> str:
    if verdict.busy:
        return "in flight"
    told = item(wrong, verdict) if overrides else None
    if isinstance(told, Finding) and overridden(told, overrides):
        return "accepted"
    return "asked" if wrong.code in codes else "other"


def _unread(links: Links, codes: t.Collection[str]) -> t.Iterator[str]:
    """Say what was to be read for these codes and was not. What a release does not have is not among it."""
    if links.facts is None or links.facts.cells is None:
        yield "the cells"
        return
    yield from (f"{entry.part}: {entry.reason}" for entry in links.facts.unread)
    for cell in links.cells:
        for entry in cell.unread:
            if set(_codes_of(entry.part)) & set(codes):
                yield f"cell {cell.name}: {entry.part}: {entry.reason}"
        for code, total in sorted(cell.totals.items()):
            more = total - len(_rows_of(cell, code))
            if more > 0 and code in codes:
                yield f"cell {cell.name}: {more} more rows with the finding {code}"


def remaining_text(left: Remaining, planned: bool, unchecked: t.Sequence[str] = ()) -> str:
    """Say what remains in one sentence. ``unchecked``: codes that could not be decided everywhere."""
    verb = "would remain" if planned else "remain" if left.wrong != 1 else "remains"
    if left.wrong:
        said = [f"{count(left.wrong, 'wrong link')} {verb}"]
    elif planned:
        said = ["as far as the run could check, no wrong link would remain"]
    else:
        said = ["as far as the run could check, no wrong link remains" if unchecked else "no wrong link remains"]
    if left.codes:
        said[0] += f" ({', '.join(left.codes)}; links requested for repair: {left.asked})"
    if left.accepted:
        said.append(f"number of wrong links whose findings you have overridden: {left.accepted}")
    if left.in_flight:
        said.append(
            f"the run did not check {count(left.in_flight, 'instance')}, because a task or migration is in progress"
        )
    if left.unread:
        said.append(f"not read: {', '.join(left.unread)}")
    if unchecked:
        said.append(
            f"for at least one object, the run did not complete these checks (see report.json): {', '.join(unchecked)}"
        )
    return "; ".join(said)


# --- what could not be decided --------------------------------------------------------------------------------


def _undecided(links: Links) -> Items:
    if links.facts is None or links.facts.cells is None:
        reasons = [entry.reason for entry in (links.facts.unread if links.facts else [])]
        why = ": ".join(["the links between the database records were not read", *reasons])
        yield from (Unchecked(code, "all", why) for code in CODES)
        return
    for entry in links.facts.unread:
        yield from (Unchecked(code, "all", f"{entry.part}: {entry.reason}") for code in CODES)
    if not links.cells:
        yield from (Unchecked(code, "all", "there is no cell except cell0") for code in CODES)
    for cell in links.cells:
        yield from _undecided_in(links, cell)
    yield from _identity_undecided(links)


def _undecided_in(links: Links, cell: CellLinks) -> Items:
    place = f"cell {cell.name}"
    for entry in cell.unread:
        for code in _codes_of(entry.part):
            yield Unchecked(code, place, f"{entry.part}: {entry.reason}")
    unread = {code for entry in cell.unread for code in _codes_of(entry.part)}
    if not cell.has_compute_id and not unread.issuperset(SINCE_28):
        known = links.release(cell)
        release = f"Nova {' or '.join(map(str, known))}" if known else "this schema"
        for code in SINCE_28:
            yield Unchecked(code, place, f"{release} has no column compute_id, so there is nothing to compare")
        reason = f"{release} has no column compute_id, so the run checked only the column node of the instances"
        yield Unchecked("SG215", place, reason)
    if cell.compute_nodes is not None and not links.since_28(cell):
        reason = (
            "Nova releases before 28 do not set service_id, so the run compared only the nodes whose service_id is set "
            "(SG202, SG203)"
        )
        yield Unchecked("SG201", place, reason)
    for code, total in sorted(cell.totals.items()):
        more = total - len(_rows_of(cell, code))
        if more > 0:
            yield CountedOnly(code, place, f"{more} {NOT_LOOKED_AT}")


def _codes_of(part: str) -> t.Sequence[str]:
    """Return the codes that an unread part leaves open."""
    if part in CODES:
        return (part,)
    by_part: t.Mapping[str, t.Sequence[str]] = {
        "services": BY_NODE[:4],
        "compute_nodes": (*BY_NODE, *BY_INSTANCE, "SG221"),
        "moving": BY_INSTANCE,
        "scan": ("SG214", "SG216", "SG217"),
        "has_compute_id": (*SINCE_28, *BY_INSTANCE),
        "revision": (),  # SG705
        "servers": (),  # a number for the report
    }
    return by_part.get(part, CODES)


def _rows_of(cell: CellLinks, code: str) -> t.Sequence[t.Any]:
    others = {"SG207": cell.deleted_nodes, "SG221": cell.migrations, "SG231": cell.pci_devices}
    return (others[code] if code in others else cell.instances.get(code)) or []


def _identity_undecided(links: Links) -> Items:
    if links.providers is None:
        yield Unchecked("SG206", "all", "the resource providers were not read")
    hosts = {
        row.host
        for cell in links.cells
        for row in cell.compute_nodes or []
        if row.hypervisor_type != IRONIC and links.in_scope(row.host, row.hypervisor_hostname)
    }
    read = {conf_host(host) for host in links.bundle.hosts.values() if host.compute_id_files is not None}
    if hosts - read:
        names = ", ".join(itertools.islice(sorted(str(name) for name in hosts - read), 5))
        reason = f"the compute_id files were not read on {len(hosts - read)} of {len(hosts)} hosts: {names}"
        yield Unchecked("SG206", "all", reason + (", ..." if len(hosts - read) > 5 else ""))


def _revisions(links: Links) -> Items:
    """SG705: what is not known is read, and never written."""
    for cell in links.cells:
        if links.release(cell) is not None or cell.compute_nodes is None:
            continue
        evidence = {"schema revision": cell.revision, "unread": [entry.reason for entry in cell.unread]}
        remedy = remedy_text("SG705", "schema-unknown")
        yield finding("SG705", Subject("host", f"cell:{cell.name}", cell.name), evidence, remedy)
