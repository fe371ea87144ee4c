# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which servers an operator selects, by name, uuid or JMESPath, in which order; what is wrong with such an option."""

from __future__ import annotations

import typing as t

from . import selection
from .errors import StackguardError
from .facts import ApiServer, to_plain
from .record_shapes import shape_of

#: What an expression of an operator selects from.
SERVER = shape_of(ApiServer, "a server")
#: A list that another play has made may be empty by mistake.
NOBODY = "servers: the list is empty, so it selects no server. To select all servers, do not set this option"


class OptionError(StackguardError):
    """An option that cannot be taken: which, and why."""


def check_numbers(args: t.Mapping[str, t.Any], least: t.Mapping[str, int]) -> None:
    """Refuse numbers below their least, and an overcommit that is none. Raises :class:`OptionError`."""
    for name, smallest in least.items():
        if args[name] < smallest:
            raise OptionError(f"{name}: {args[name]} is less than the minimum {smallest}")
    if not 0 < args["overcommit"] <= 10:
        raise OptionError(f"overcommit: {args['overcommit']} is not a factor between 0 and 10")


def listed(given: t.Any) -> t.Any:
    """Return names as they are typed with C(-e) as the list that they are; a filter has brackets, and stays."""
    if isinstance(given, str) and "[" not in given:
        return [word.strip() for word in given.split(",") if word.strip()] or None
    return given


def chosen_servers(given: t.Any, servers: t.Sequence[ApiServer], where: str = "this host") -> t.Optional[t.List[str]]:
    """Return uuids: of names or uuids, or of a JMESPath filter such as ``[?metadata.tier=='gold']``; None: all.

    Raises :class:`OptionError` for a name that nobody or more than one has, and for a filter that selects nobody.
    """
    if given in (None, ""):
        return None
    if isinstance(given, str):
        found = matching_servers(given, servers)
        if not found:
            raise OptionError(f"servers: {given!r} matches no server of {where}")
        return found
    if not isinstance(given, (list, tuple)):
        raise OptionError(
            f"servers: expected a list of names or uuids, or a JMESPath filter, but found {given!r}",
            problem="servers-expected-list",
        )
    if not given:
        raise OptionError(NOBODY)
    return [_uuid_of(str(word), servers, where) for word in given]


def matching_servers(given: str, servers: t.Sequence[ApiServer]) -> t.List[str]:
    """Return the uuids of the servers that a JMESPath filter matches. Raises :class:`OptionError`: it is none."""
    try:
        return selection.compiled(given).records([to_plain(server) for server in servers], SERVER, "id")
    except selection.SelectionError as error:
        raise OptionError(f"servers: {error}", problem="no-servers") from error


def expression_problem(args: t.Mapping[str, t.Any]) -> t.Optional[str]:
    """Return what is wrong with the expressions among the options, before any system is asked; None: nothing."""
    given, order, query = (args.get(name) for name in ("servers", "order", "power_state_query"))
    if isinstance(given, (list, tuple)) and not given:
        return NOBODY
    option = "servers"
    try:
        if isinstance(given, str) and given:
            selection.compiled(given).must_select(SERVER, "id")
        option = "order"
        if order:
            selection.compiled(order).result(SERVER)
        option = "power_state_query"
        if query:
            selection.compiled(query).must_read()
    except selection.SelectionError as error:
        return f"{option}: {error}"
    return None


def _uuid_of(word: str, servers: t.Sequence[ApiServer], where: str) -> str:
    found = [server.id for server in servers if word in (server.id, server.name)]
    if len(found) > 1:
        raise OptionError(
            f"{len(found)} servers of {where} have the name {word}. In the option 'servers', use the uuid of "
            "the server instead of its name"
        )
    # One that is not there is told by the checks, with everything else.
    return found[0] if found else word


def ordered_servers(expression: t.Optional[str], servers: t.Sequence[ApiServer]) -> t.List[str]:
    """Return uuids by a JMESPath sort key, such as ``metadata.priority``; those without a value are not named.

    Numbers sort as numbers, before words. Raises :class:`OptionError`.
    """
    if not expression:
        return []
    try:
        order = selection.compiled(expression)
        order.result(SERVER)
        keys = {server.id: _key(order.search(to_plain(server))) for server in servers}
    except selection.SelectionError as error:
        raise OptionError(f"order: {error}") from error
    return [uuid for uuid, key in sorted(keys.items(), key=lambda item: (item[1] or (), item[0])) if key is not None]


def _key(value: t.Any) -> t.Optional[t.Tuple[int, float, str]]:
    if value is None or isinstance(value, (dict, list)):
        return None
    try:
        return 0, float(value), ""
    except ValueError:
        return 1, 0.0, str(value)
