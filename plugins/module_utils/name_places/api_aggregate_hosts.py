# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The name in ``aggregate_hosts`` of the API database: the host's zone and what its scheduler filters go by. Pure."""

from __future__ import annotations

import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.facts import AggregateHostRow, ApiAggregate
from ..model.findings import Subject, Unchecked, finding
from ..model.lookups import Index, Item, Items, same_name
from ..model.plan import RowChange
from .place import (
    NamePlace,
    NameTable,
    Renaming,
    StoredName,
    StoredNames,
    Text,
    needed,
)


class AggregateHosts(NamePlace):
    """Members of aggregates, in the database and as the compute API shows them."""

    text = Text(
        "API database, `aggregate_hosts.host`",
        "API database and compute API",
        "the run updates every row of the host in one transaction. For each aggregate of the host, the run then sends "
        "the compute API an update that changes nothing. After this update, the schedulers use the new name",
        "the run restores the old name in the rows that the rename changed. For each aggregate of the host, the run "
        "then sends the compute API an update that changes nothing. After this update, the schedulers use the restored "
        "old name",
    )
    codes = ("SG303", "SG310")
    steps = ("api_database",)
    table = NameTable("api", "aggregate_hosts", ("host",))
    noun = "aggregate membership"

    def stored(self, index: Index) -> StoredNames:
        """Every member, as stored and as shown."""
        for row in _rows(index) or []:
            subject = Subject("aggregate", row.aggregate_uuid or str(row.aggregate_id), row.aggregate_name, row.host)
            yield StoredName(subject, "aggregate_hosts.host", row.host)
        for entry in _shown(index) or []:
            for host in entry.hosts:
                subject = Subject("aggregate", entry.uuid or str(entry.id), entry.name, host)
                yield StoredName(subject, "compute API aggregates", host)

    def unread(self, index: Index) -> Items:
        """Neither the table nor the API."""
        if _rows(index) is None and _shown(index) is None:
            yield Unchecked("SG303", "all", "the aggregates were not read")

    def stale(self, index: Index) -> Items:
        """SG303: a member that is no compute host, or that database and API do not agree on."""
        rows, shown = _rows(index), _shown(index)
        known = index.cells_read("services")
        for row in rows or []:
            if known and row.host not in index.services_by_host and index.in_scope(row.host):
                key = row.aggregate_uuid or str(row.aggregate_id)
                yield _stale_member(index, row.host, key, row.aggregate_name)
        if rows is not None and shown is not None:
            yield from _differ(index, rows, shown)
        if rows is None and index.api_services is not None:
            for entry in shown or []:
                for host in entry.hosts:
                    if host not in index.compute_hosts and index.in_api_scope(host):
                        yield _stale_member(index, host, entry.uuid or str(entry.id), entry.name)

    def rows(self, renaming: Renaming) -> t.List[RowChange]:
        """Every membership of the host."""
        old, new = renaming.before.host, renaming.after.host
        api = needed(renaming.api, "the API database")
        return [
            RowChange(
                "api",
                "aggregate_hosts",
                "id",
                row.id,
                {"host": old, "aggregate_id": row.aggregate_id},
                {"host": new},
                f"member of aggregate {row.aggregate_name}",
            )
            for row in needed(api.aggregate_hosts, "aggregate hosts")
            if row.host == old
        ]


def _rows(index: Index) -> t.Optional[t.List[AggregateHostRow]]:
    databases = index.bundle.databases
    return databases.api.aggregate_hosts if databases and databases.api else None


def _shown(index: Index) -> t.Optional[t.List[ApiAggregate]]:
    return index.bundle.cloud.aggregates if index.bundle.cloud else None


def _differ(index: Index, rows: t.Sequence[AggregateHostRow], shown: t.Sequence[ApiAggregate]) -> Items:
    databases = index.bundle.databases
    scope = databases.api.scope if databases and databases.api else []
    stored: t.Dict[int, t.Set[str]] = {}
    for row in rows:
        stored.setdefault(row.aggregate_id, set()).add(str(row.host))
    for entry in shown:
        hosts = {name for name in entry.hosts if not scope or any(same_name(name, known) for known in scope)}
        for name in sorted(hosts ^ stored.get(entry.id, set())):
            evidence = {"host": name, "in the database": name not in hosts, "in the compute API": name in hosts}
            subject = Subject("aggregate", entry.uuid or str(entry.id), entry.name, name)
            yield finding(
                "SG303",
                subject,
                evidence,
                remedy_text("SG303", "database-and-api-differ"),
            )


def _stale_member(index: Index, host: t.Optional[str], key: str, name: t.Optional[str]) -> Item:
    alike = sorted(other for other in index.compute_hosts if same_name(other, host))
    return finding(
        "SG303",
        Subject("aggregate", key, name, host),
        {"member": host, "similar service names": alike},
        remedy_text("SG303", "member-of-no-service"),
    )


PLACE = AggregateHosts()
