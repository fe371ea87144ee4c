# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the databases can be reached, with which rights and clocks: each is asked, and nothing is changed.

Rights are probed as before a rename (:func:`nova.probe_grants`): the very statements, on no row, rolled back. So rights
by roles and of whole databases count, and no list of grants is interpreted.
"""

from __future__ import annotations

import dataclasses
import datetime
import time
import typing as t

from ...model import urls
from ...model.doctor import (
    ClockOffset,
    DatabasesState,
    DatabaseState,
)
from ...model.errors import StackguardError
from . import engine, nova, schema

try:
    import sqlalchemy as sa
except ImportError:
    SQLALCHEMY = False  # reported by the action, see systems/db/engine.py

#: Operations that read all that an audit reads, those that read and set request specs, and those that use no database.
_MAINTAINERS = ("maintain_hosts", "enable_host")
_READERS = ("audit", "rename_host", "return_host", "repair_links", "remove_host", *_MAINTAINERS)
#: Those of them that look for requests that wait in RabbitMQ.
_BROKERS = ("audit", "rename_host", "return_host", "remove_host", *_MAINTAINERS)
#: Those that read and write the pin in a request spec, of a Nova whose API does not.
_SPECS = ("resize_server", "unshelve_server", "pin_servers")
_APIS_ONLY = ("evacuate_host", "drain_host", "migrate_server")


def undeclared(operations: t.Iterable[str]) -> t.List[str]:
    """Return the operations of which nothing says which rights they need: to be ready for them is not known."""
    return sorted(set(operations) - {*_READERS, *_SPECS, *_APIS_ONLY})


def wanted(
    operations: t.Collection[str], neutron: bool, ovn: bool = False, brokers: bool = True
) -> t.List[schema.Grantable]:
    """Return the rights that these operations need: those of docs/reference/grants.md, or some of them.

    ``neutron``: whether its database is one of them; ``ovn``: whether hosts have OVN; ``brokers``: whether only
    C(cell_mappings) says where RabbitMQ is. The action C(lock) is what a repair of links does to the rows that a link
    is to lead to: each server has its own opinion on which right that takes.
    """
    found: t.List[schema.Grantable] = []
    if set(operations) & set(_READERS):
        found += [right for right in schema.GRANTS if right.action == "select"]
        found += [right for right in schema.LINK_GRANTS if right.action == "select"]
    if brokers and set(operations) & set(_BROKERS):
        found += list(schema.BROKER_GRANTS)
    if "rename_host" in operations:
        found += [right for right in schema.GRANTS if right.action == "update"]
        found += list(schema.OVN_GRANTS) if ovn else []
    if "repair_links" in operations:
        found += [schema.Grantable(schema.CELL, name, cols, "update") for name, cols in schema.LINK_UPDATES.items()]
        targets = dict.fromkeys(schema.LINK_TARGETS.values())
        found += [schema.Grantable(schema.CELL, name, schema.LOCKS[name], "lock") for name in targets]
    if set(operations) & set(_SPECS):
        found += list(schema.SPEC_GRANTS)
    kinds = (schema.CELL, schema.API, *((schema.NEUTRON,) if neutron and "rename_host" in operations else ()))
    return list(dict.fromkeys(right for right in found if right.kind in kinds))


def read_databases_state(options: t.Mapping[str, t.Any], operations: t.Collection[str]) -> DatabasesState:
    """Ask every database. Never raises for one that fails."""
    given = nova.DatabaseOptions.of(options)
    problem: t.Optional[str] = None
    cells: t.List[nova.Cell] = []
    try:
        cells = nova.list_cells(given)
    except StackguardError as error:
        problem = error.message
    rights = wanted(operations, True, given.ovn, not options.get("rabbit_urls"))
    found = [_database(given, "api", given.nova_api_db_url, None, rights)] if given.nova_api_db_url else []
    found += [_database(given, cell.database, cell.url, cell.problem, rights) for cell in cells]
    if given.neutron_db_url:
        found.append(_database(given, "neutron", given.neutron_db_url, None, rights))
    lock, reason = None, "nova_api_db_url is not set"
    if given.nova_api_db_url:
        try:
            lock = nova.probe_lock(given)
        except StackguardError as error:
            reason = error.message
    unknown = undeclared(operations)
    return DatabasesState(found, problem, lock, reason, unknown, bool(given.neutron_db_url))


def _database(
    given: nova.DatabaseOptions,
    name: str,
    url: t.Optional[str],
    problem: t.Optional[str],
    rights: t.Sequence[schema.Grantable],
) -> DatabaseState:
    if url is None:
        return DatabaseState(name, problem=problem or "the run has no URL for this database")
    try:
        state = _about(name, url)
    except StackguardError as error:
        return DatabaseState(name, urls.location(url), problem=error.message)
    kind = name.partition(":")[0]
    here = [(name, right.table, right.columns, right.action) for right in rights if right.kind == kind]
    try:
        grants = nova.probe_grants(given, here)
    except StackguardError as error:
        return dataclasses.replace(state, problem=error.message)
    return dataclasses.replace(state, grants=grants)


def _about(name: str, url: str) -> DatabaseState:
    before = time.time()
    with engine.snapshot(url) as connection:
        mysql = connection.dialect.name == "mysql"
        account = sa.func.current_user() if mysql else sa.literal_column("current_user")
        place = sa.func.database() if mysql else sa.func.current_database()
        said, user, database = connection.execute(sa.select(engine.utc_now(connection), account, place)).one()
    after = time.time()
    moment = said.replace(tzinfo=datetime.timezone.utc).timestamp()
    # MySQL's has whole seconds.
    clock = ClockOffset.between(before, moment + (1 if mysql else 0), moment, after)
    return DatabaseState(
        name,
        urls.location(url),
        dialect="mysql" if mysql else "postgresql",
        database=str(database),
        user=str(user),
        clock=clock,
    )
