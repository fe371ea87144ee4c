# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit was to read and did not read: SG114 (hosts), SG311 (databases), SG709 (APIs, Ceph, journals). Pure.

Each is a blocker: what the other parts say opens no gate. A part that was left out on purpose is undecided only. The
evidence alone decides, so that an audit of saved evidence ends as the one that saved it.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..hazards.identity import IDENTITY_PARTS
from ..model.codes.catalogue import remedy_text
from ..model.facts import (
    NO_API_DATABASE,
    NOT_ASKED_FOR,
    NOT_OPENED,
    ONLY_NAMED_CELLS,
    Bundle,
    CellFacts,
    CellLinks,
    HostFacts,
    RbdFacts,
    Unread,
)
from ..model.findings import Subject, Unchecked, finding
from ..model.lookups import Items
from ..model.names import conf_host

#: What an audit can be asked to read.
SOURCES = HOSTS, API, DATABASES, CEPH = "hosts", "api", "databases", "ceph"
_OF_SOURCE = {HOSTS: "SG709", API: "SG709", DATABASES: "SG311", CEPH: "SG709"}
#: The state of each of its remedies.
_STATE = "part-unread"
_NO_REASON = "the source was not read, and no reason was recorded"
#: Causes of parts that were left out on purpose.
ON_PURPOSE = (NOT_ASKED_FOR, NOT_OPENED, ONLY_NAMED_CELLS)
#: Fields of which None is an answer, or that whoever read was free not to ask for.
_MAY_BE_NONE = frozenset(
    (
        *("static_hostname", "fqdn", "ovs_external_ids"),
        # What a schema does not have; other checks report an unknown revision (SG705).
        *("revision", "deleted_nodes"),
        # What waits in RabbitMQ is undecided by SG329 itself.
        *("neutron", "grants", "blocklist", "brokers"),
    )
)
#: Parts of a host that no check of an audit reads: Open vSwitch (absent from many hosts), and notes for a rename.
_NO_CONCERN = ("ovs_external_ids", "nova_conf.host_lines", "nova_conf.log_file")
#: Parts of Ceph that only a fence needs. Ceph's `profile rbd` may not read all of them.
_FENCE_ONLY = ("infrastructure", "rights", "volumes")
_NAMED = 5

_Gaps = t.Dict[str, str]


def check(bundle: Bundle) -> Items:
    """Return a blocker for each part that was to be read and was not."""
    yield from _sources(bundle)
    yield from _api(bundle)
    yield from _databases(bundle)
    yield from _links(bundle)
    for name in sorted(bundle.hosts):
        yield from _host(bundle.hosts[name])
    yield from _clusters(bundle)


def _gaps(owner: t.Any, on_purpose: t.Collection[str] = ON_PURPOSE) -> _Gaps:
    """Return each part that was not read, with its reason; a None without any reason is a gap too."""
    found = {entry.part: entry.reason for entry in owner.unread if entry.cause not in on_purpose}
    named = {entry.part for entry in owner.unread}
    for field in dataclasses.fields(owner):
        # With a default: a version that did not know the field has left it out.
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and getattr(owner, field.name) is None and field.name not in {*named, *_none_of(owner)}:
            found[field.name] = _NO_REASON
    return found


def _none_of(owner: t.Any) -> t.FrozenSet[str]:
    # Before release 28 a cell has no such links.
    return _MAY_BE_NONE | {"migrations"} if isinstance(owner, CellLinks) else _MAY_BE_NONE


def _each(code: str, owner: str, gaps: _Gaps, more: t.Optional[t.Mapping[str, t.Any]] = None) -> Items:
    for part, reason in sorted(gaps.items()):
        evidence = {**(more or {}), "unread": {part: reason}}
        yield finding(code, Subject("service", f"{owner}:{part}"), evidence, remedy_text(code, _STATE))


def _left_out(code: str, owner: str, unread: t.Sequence[Unread], causes: t.Collection[str]) -> Items:
    for entry in unread:
        if entry.cause in causes:
            yield Unchecked(code, f"{owner}:{entry.part}", entry.reason)


# --- whole sources --------------------------------------------------------------------------------------------


def _sources(bundle: Bundle) -> Items:
    """A source that failed, or that was requested and left nothing, not even a reason."""
    nothing = {
        HOSTS: not bundle.hosts and not bundle.unreachable,
        API: bundle.cloud is None,
        DATABASES: bundle.databases is None,
    }
    reasons = {source: _NO_REASON for source in bundle.requested if nothing.get(source)}
    reasons.update(bundle.failures)
    for source, reason in sorted(reasons.items()):
        code = _OF_SOURCE.get(source, "SG709")
        yield finding(code, Subject("service", source), {"reason": reason}, remedy_text(code, _STATE))


# --- APIs and databases ---------------------------------------------------------------------------------------


def _api(bundle: Bundle) -> Items:
    if bundle.cloud is not None:
        yield from _each("SG709", API, _gaps(bundle.cloud))
        yield from _left_out("SG709", API, bundle.cloud.unread, (NOT_ASKED_FOR,))


def _databases(bundle: Bundle) -> Items:
    read = bundle.databases
    if read is None:
        return
    # Without an API database the operator has named the cells: only then is it left out on purpose.
    on_purpose = ON_PURPOSE if read.cells is None else (*ON_PURPOSE, NO_API_DATABASE)
    gaps = _gaps(read, on_purpose)
    if read.cells is None:
        yield finding("SG311", Subject("service", DATABASES), {"unread": gaps}, remedy_text("SG311", _STATE))
    else:
        yield from _each("SG311", DATABASES, gaps)
        yield from _left_out("SG311", DATABASES, read.unread, (NO_API_DATABASE, ONLY_NAMED_CELLS))
    if read.api is not None:
        yield from _each("SG311", f"{DATABASES}:api", _gaps(read.api), {"read from": read.api.location})
    if read.neutron is not None:
        yield from _each("SG311", f"{DATABASES}:neutron", _gaps(read.neutron), {"read from": read.neutron.location})
    for cell in read.cells or []:
        whole = (cell.services, cell.compute_nodes, cell.instances, cell.migrations)
        yield from _cell(f"cell:{cell.name}", cell, all(part is None for part in whole))


def _links(bundle: Bundle) -> Items:
    databases, links = bundle.databases, bundle.links
    if links is None:
        # Nothing of the databases is one finding, not two.
        if DATABASES in bundle.requested and databases is not None and DATABASES not in bundle.failures:
            yield finding("SG311", Subject("service", "links"), {"reason": _NO_REASON}, remedy_text("SG311", _STATE))
        return
    if links.cells is None:
        if databases is None or databases.cells is not None:
            yield finding("SG311", Subject("service", "links"), {"unread": _gaps(links)}, remedy_text("SG311", _STATE))
        return
    yield from _each("SG311", "links", _gaps(links))
    for cell in links.cells:
        silent = any(entry.part == "cell" for entry in cell.unread)
        if not (silent and f"cell:{cell.name}" in _silent_cells(bundle)):
            yield from _cell(f"links:{cell.name}", cell, silent)


def _silent_cells(bundle: Bundle) -> t.Set[str]:
    """Cells of which the databases' own finding says already that they do not answer."""
    cells = (bundle.databases.cells if bundle.databases else None) or []
    return {f"cell:{cell.name}" for cell in cells if cell.services is None and cell.instances is None}


def _cell(name: str, cell: t.Union[CellFacts, CellLinks], silent: bool) -> Items:
    """A cell that does not answer is one finding; of another each part is one, to be overridden by itself."""
    gaps, place = _gaps(cell), {"read from": cell.location}
    if silent:
        yield finding("SG311", Subject("service", name), {**place, "unread": gaps}, remedy_text("SG311", _STATE))
    else:
        yield from _each("SG311", name, gaps, place)


# --- hosts and Ceph -------------------------------------------------------------------------------------------


def host_gaps(facts: HostFacts) -> _Gaps:
    """Return what of a host an audit was to read and did not, with reasons."""
    # Each host is asked which Ceph cluster it sees; a host with local disks sees none.
    local = facts.nova_conf is not None and facts.nova_conf.images_type != "rbd"
    ignored = (*_NO_CONCERN, "rbd") if local else _NO_CONCERN
    return {part: reason for part, reason in _gaps(facts).items() if part not in ignored}


def _host(facts: HostFacts) -> Items:
    gaps = {part: reason for part, reason in host_gaps(facts).items() if part not in IDENTITY_PARTS}
    gaps.update(_rbd_gaps(facts.rbd) if facts.rbd is not None else {})
    host = conf_host(facts) or facts.kernel_hostname
    for part, reason in sorted(gaps.items()):
        subject = Subject("host", f"{facts.inventory_name}:{part}", host=host)
        yield finding("SG114", subject, {"unread": {part: reason}}, remedy_text("SG114", _STATE))


def _rbd_gaps(rbd: RbdFacts) -> _Gaps:
    gaps = {f"rbd.{part}": reason for part, reason in _gaps(rbd).items() if part.partition(" ")[0] not in _FENCE_ONLY}
    # An image that was deleted after it was listed is no gap.
    images = {
        image.name: entry.reason
        for image in rbd.images or []
        for entry in image.unread
        if entry.cause not in ON_PURPOSE and entry.part != "gone"
    }
    if images:
        names = sorted(images)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        gaps["rbd.images.opened"] = f"{', '.join(names[:_NAMED])}{more}: {images[names[0]]}"
    return gaps


def _clusters(bundle: Bundle) -> Items:
    """Each cluster and pool that a host sees was to be opened by one host."""
    if CEPH not in bundle.requested:
        return
    views = [facts.rbd for facts in bundle.hosts.values() if facts.rbd is not None]
    opened = {(rbd.fsid, rbd.pool) for rbd in views if rbd.opened}
    for fsid, pool in sorted({(rbd.fsid or "unknown", rbd.pool) for rbd in views}):
        if (fsid, pool) not in opened:
            reason = "the run has not read this pool on any host"
            yield finding(
                "SG709", Subject("service", f"{CEPH}:{fsid}:{pool}"), {"reason": reason}, remedy_text("SG709", _STATE)
            )
    with_ceph = [facts for facts in bundle.hosts.values() if facts.nova_conf and facts.nova_conf.images_type == "rbd"]
    if with_ceph and not views:
        reason = f"{len(with_ceph)} hosts have disks in Ceph, but Ceph was not read on any of these hosts"
        yield finding("SG709", Subject("service", CEPH), {"reason": reason}, remedy_text("SG709", _STATE))
