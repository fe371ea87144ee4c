# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit was about: which cloud, when, how long, what was read and what was not. Pure.

Two audits can be compared only where this is the same, and nothing of it is missing (C(audit/changes.py)).
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.facts import Bundle, CloudName
from ..model.times import moment
from ..model.wording import count
from . import coverage

#: Evidence that does not say what was requested is complete only where all of these are in it.
_ALL = (coverage.HOSTS, coverage.API, coverage.DATABASES)


ROWS = "rows of the databases"
_LIST_MORE = "Repair the links that the report lists. The next audit then lists further links."
#: By source: what helps where it was not read.
_FIXES: t.Mapping[str, str] = {
    "compute hosts": (
        "Make sure that Ansible can reach these hosts (SG114 shows why each host was not read), and that audit_hosts "
        "matches all of these hosts."
    ),
    "APIs": "Use the credentials of an administrator, and add the entry 'api' to audit_sources.",
    "databases": (
        "Set nova_api_db_url, grant the privileges in docs/reference/grants.md, and add the entry 'databases' to "
        "audit_sources."
    ),
    "links": (
        "Set nova_api_db_url, grant the privileges in docs/reference/grants.md, and add the entry 'databases' to "
        "audit_sources."
    ),
    "Ceph": (
        "Set audit_ceph: true. For each Ceph cluster, at least one host must have a Ceph user that is allowed to list "
        "images and the blocklist."
    ),
    "journals of operations": (
        "Make sure that the audit can read the journal directory: stackguard_state_dir on stackguard_state_host."
    ),
    "definitions of guests": "Run with audit_definitions: true, and let Ansible become root on the hosts.",
}


@dataclasses.dataclass(frozen=True)
class Part:
    """One source. ``read``: True, False, or None where it was not requested."""

    what: str
    read: t.Optional[bool]
    detail: str

    @property
    def fix(self) -> str:
        """What helps where it was not read."""
        return "" if self.read else _FIXES.get(self.what, "")


@dataclasses.dataclass(frozen=True)
class Scope:
    """What an audit was about. ``seconds``: from the first reading to the last; None: the times are not known."""

    name: CloudName
    hosts: t.Tuple[str, ...]
    unread_hosts: t.Tuple[str, ...]
    requested: t.Tuple[str, ...]
    #: Sources of which anything was read.
    read: t.Tuple[str, ...]
    #: Databases, cell by cell, and Ceph clusters: by these one cloud differs from another of the same name.
    stores: t.Tuple[str, ...]
    parts: t.Tuple[Part, ...]
    seconds: t.Optional[int]

    @property
    def missing(self) -> t.List[str]:
        """Sources that were to be read and of which nothing is there."""
        return [source for source in self.requested or _ALL if source not in self.read and source != coverage.CEPH]

    def plain(self, counted: t.Iterable[str]) -> t.Dict[str, t.Any]:
        """Return C(scope) of C(report.json). ``counted``: codes of which rows were only counted. Hosts: C(fleet)."""
        codes = sorted(set(counted))
        parts = [{**dataclasses.asdict(part), "fix": part.fix} for part in self.parts]
        if codes:
            parts.append(
                {"what": ROWS, "read": False, "detail": f"only counted: {', '.join(codes)}", "fix": _LIST_MORE}
            )
        return {
            "cloud": self.name.cloud,
            "region": self.name.region,
            "seconds": self.seconds,
            "requested": list(self.requested),
            "read": list(self.read),
            "missing": self.missing,
            "stores": list(self.stores),
            "counted": codes,
            "parts": parts,
        }


def scope(bundle: Bundle) -> Scope:
    """Return what the evidence is about."""
    found = {
        coverage.HOSTS: bool(bundle.hosts),
        coverage.API: bundle.cloud is not None,
        coverage.DATABASES: bundle.databases is not None,
        coverage.CEPH: bool(_clusters(bundle)),
    }
    return Scope(
        bundle.named or CloudName(),
        tuple(sorted({*bundle.hosts, *bundle.unreachable})),
        tuple(sorted(bundle.unreachable)),
        tuple(sorted(bundle.requested)),
        tuple(sorted(source for source, read in found.items() if read and source not in bundle.failures)),
        tuple(sorted(_stores(bundle))),
        tuple(_parts(bundle)),
        _seconds(bundle),
    )


def _stores(bundle: Bundle) -> t.Iterator[str]:
    read = bundle.databases
    if read is not None and read.api is not None:
        yield f"api {read.api.location}"
    for cell in (read.cells if read else None) or []:
        yield f"cell {cell.name} {cell.location}"
    for fsid, pool in _clusters(bundle):
        yield f"ceph {fsid} {pool}"


def _clusters(bundle: Bundle) -> t.List[t.Tuple[str, str]]:
    views = [facts.rbd for facts in bundle.hosts.values() if facts.rbd is not None]
    return sorted({(str(rbd.fsid), str(rbd.pool)) for rbd in views if rbd.opened})


def _parts(bundle: Bundle) -> t.Iterator[Part]:
    total = len({*bundle.hosts, *bundle.unreachable})
    if total:
        yield Part("compute hosts", not bundle.unreachable, f"{len(bundle.hosts)} of {total}")
    else:
        yield _none("compute hosts", coverage.HOSTS, bundle)
    yield _whole("APIs", coverage.API, bundle, bundle.cloud, "")
    cells = bundle.databases.cells if bundle.databases else None
    yield _whole("databases", coverage.DATABASES, bundle, bundle.databases, count(len(cells), "cell") if cells else "")
    yield _optional("links", bundle.links, coverage.DATABASES in bundle.requested)
    clusters = _clusters(bundle)
    if clusters:
        yield Part("Ceph", True, count(len(clusters), "pool"))
    else:
        yield _none("Ceph", coverage.CEPH, bundle)
    yield _optional("journals of operations", bundle.operations, "operations" in bundle.failures)
    recorded = any(facts.definitions is not None for facts in bundle.hosts.values())
    yield Part("definitions of guests", True if recorded else None, "" if recorded else "not requested")


def _whole(what: str, source: str, bundle: Bundle, part: t.Any, detail: str) -> Part:
    if part is None or source in bundle.failures:
        return _none(what, source, bundle)
    unread = [entry.part for entry in part.unread if entry.cause not in coverage.ON_PURPOSE]
    if unread:
        return Part(what, False, f"not read: {', '.join(sorted(unread)[:5])}{' ...' if len(unread) > 5 else ''}")
    return Part(what, True, detail)


def _none(what: str, source: str, bundle: Bundle) -> Part:
    if source in bundle.failures:
        return Part(what, False, bundle.failures[source])
    return Part(what, False, "not read") if source in bundle.requested else Part(what, None, "not requested")


def _optional(what: str, part: t.Any, wanted: bool) -> Part:
    if part is not None:
        return Part(what, True, "")
    return Part(what, False, "not read") if wanted else Part(what, None, "not available, or not requested")


def _seconds(bundle: Bundle) -> t.Optional[int]:
    parts: t.List[t.Any] = [bundle.cloud, bundle.databases, bundle.links, *bundle.hosts.values()]
    times = [moment(str(part.read_at)) for part in parts if part is not None]
    known = [one for one in times if one is not None]
    return int((max(known) - min(known)).total_seconds()) if known and len(known) == len(times) else None
