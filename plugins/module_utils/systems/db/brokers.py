# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which RabbitMQ is whose: the broker of each cell, and the names that its nova-computes have or had.

The broker of a cell is the C(transport_url) of its row in C(cell_mappings) (nova/objects/cell_mapping.py); what
C(stackguard_rabbit_urls) says goes before it. A URL holds a password: it is left out of every repr and every text.
"""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from ...model.errors import DatabaseError
from ...model.lookups import COMPUTE
from . import engine as database
from . import nova, schema

# One that is missing is reported by the module, see systems/db/engine.py.
with contextlib.suppress(ImportError):
    import sqlalchemy as sa

#: The option of modules, and the variable of playbooks.
OPTION, VARIABLE = "rabbit_urls", "stackguard_rabbit_urls"
#: The cell of a cloud of which only one URL of RabbitMQ is known.
ONLY_CELL = "the only cell"


@dataclasses.dataclass(frozen=True)
class CellBroker:
    """The RabbitMQ of a cell. ``url`` None: not known, for ``problem``.

    ``names``: hosts of its compute services, soft-deleted ones included; None: the database was not read, for
    ``unread``. ``left``: names that no cell has a service of any more, and only a mapping or an aggregate has kept: of
    whichever cell, so that they prove nothing of a broker.
    """

    cell: str
    url: t.Optional[str] = dataclasses.field(repr=False)
    problem: t.Optional[str] = None
    names: t.Optional[t.FrozenSet[str]] = None
    unread: t.Optional[str] = None
    left: t.FrozenSet[str] = frozenset()


def list_brokers(options: t.Mapping[str, t.Any]) -> t.List[CellBroker]:
    """Return the broker of each cell but cell0. ``options``: those of the databases, and C(rabbit_urls).

    Without an API database: the brokers that C(rabbit_urls) names, without names of hosts. Raises
    :class:`DatabaseError` where the cells cannot be read, or C(rabbit_urls) does not fit them.
    """
    given = options.get(OPTION) or None
    if not options.get("nova_api_db_url"):
        return [CellBroker(cell, url) for cell, url in sorted(_given(given, None).items())]
    cells = nova.list_cells(options)
    urls = _given(given, cells)
    stored = {} if len(urls) == len(cells) else _transport_urls(str(options["nova_api_db_url"]))
    found = [_broker(cell, urls.get(cell.name), stored) for cell in cells]
    known = frozenset(name for entry in found for name in entry.names or ())
    try:
        left = _left_names(str(options["nova_api_db_url"])) - known
    except DatabaseError as error:
        return [dataclasses.replace(entry, names=None, unread=entry.unread or error.message) for entry in found]
    return [dataclasses.replace(entry, left=left) for entry in found]


def is_given(options: t.Mapping[str, t.Any]) -> bool:
    """Whether the operator named a RabbitMQ: then one that cannot be read is an error of the input."""
    return bool(options.get(OPTION))


def _given(given: t.Any, cells: t.Optional[t.Sequence[nova.Cell]]) -> t.Dict[str, str]:
    """Return the URL of each cell that C(rabbit_urls) names, by the cell's name."""
    if given is None:
        return {}
    if isinstance(given, str):
        if cells is None:
            return {ONLY_CELL: given}
        if len(cells) != 1:
            raise DatabaseError(
                f"{VARIABLE} is one URL, but the cloud has {len(cells)} cells "
                f"({', '.join(cell.name for cell in cells)}): write a dictionary of the name of each cell and its URL"
            )
        return {cells[0].name: given}
    if not isinstance(given, dict):
        raise DatabaseError(f"{VARIABLE} must be one URL, or a dictionary of names of cells and URLs")
    urls = {str(name): str(url) for name, url in given.items()}
    if cells is None:
        return urls
    known = {key: cell.name for cell in cells for key in (cell.uuid, cell.name)}
    unknown = sorted(set(urls) - set(known))
    if unknown:
        raise DatabaseError(f"{VARIABLE}: no cell has the name {', '.join(unknown)}")
    return {known[name]: url for name, url in urls.items()}


def _transport_urls(url: str) -> t.Dict[str, str]:
    """Return C(transport_url) by the uuid of the cell. A statement of its own: older users have no right to it."""
    mapping = schema.table(schema.API, "cell_mappings")
    try:
        with database.snapshot(url) as connection:
            rows = connection.execute(sa.select(mapping.c.uuid, mapping.c.transport_url)).all()
    except DatabaseError as error:
        return {"": f"the run could not read cell_mappings.transport_url: {error.message}"}
    return {str(row[0]): str(row[1] or "") for row in rows}


def _broker(cell: nova.Cell, given: t.Optional[str], stored: t.Mapping[str, str]) -> CellBroker:
    url, problem = given, None
    if url is None:
        url, problem = _stored(cell, stored)
    try:
        names, unread = _names(cell), None
    except DatabaseError as error:
        names, unread = None, error.message
    return CellBroker(cell.name, url, problem, names, unread)


def _stored(cell: nova.Cell, stored: t.Mapping[str, str]) -> t.Tuple[t.Optional[str], t.Optional[str]]:
    if "" in stored:
        return None, stored[""]
    url = stored.get(cell.uuid, "")
    if "{" in url:
        # Nova fills it in from [DEFAULT] transport_url of the process that reads it: that one is not known here.
        return None, f"the transport_url of cell {cell.name} is a template: set {VARIABLE}"
    if not url or url.startswith("none:"):
        return None, f"cell {cell.name} has no transport_url: set {VARIABLE}"
    return url, None


def _names(cell: nova.Cell) -> t.FrozenSet[str]:
    if cell.url is None:
        raise DatabaseError(cell.problem or "no URL")
    c = schema.table(schema.CELL, "services").c
    statement = sa.select(c.host).where(c.binary == COMPUTE).distinct()
    with database.snapshot(cell.url) as connection:
        return frozenset(str(row[0]) for row in connection.execute(statement) if row[0])


def _left_names(url: str) -> t.FrozenSet[str]:
    """Return names of hosts in the API database: a service may be gone, and its mapping or membership left."""
    found: t.Set[str] = set()
    with database.snapshot(url) as connection:
        for name in ("host_mappings", "aggregate_hosts"):
            rows = connection.execute(sa.select(schema.table(schema.API, name).c.host).distinct())
            found.update(str(row[0]) for row in rows if row[0])
    return frozenset(found)
