# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options that an evacuation's modules share, and what is made of them: which servers, in which order, how."""

from __future__ import annotations

import typing as t

from ..model import approval, selection
from ..model.errors import StackguardError
from ..model.facts import ApiServer, to_plain
from ..model.fence_proof import Fence
from ..model.fences.catalogue import FENCES, POWERING_OFF, either
from ..model.findings import Override
from ..model.record_shapes import shape_of
from ..model.requests import (
    RESETS,
    TARGET_STATES,
    EvacuationRequest,
)

#: What an expression of an operator selects from.
SERVER = shape_of(ApiServer, "a server")

ACTIONS = ("apply", "resume", "status", "abort")

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "evacuate_host": {"type": "str", "required": True},
    "action": {"type": "str", "default": "apply", "choices": list(ACTIONS)},
    "phase": {"type": "str", "default": "advance", "choices": ["begin", "advance", "end"]},
    "answers": {"type": "list", "elements": "dict", "default": []},
    "failure": {"type": "str"},
    "inventory_name": {"type": "str"},
    "evidence_dir": {"type": "path", "required": True},
    "report_dir": {"type": "path"},
    "expect_plan": {"type": "str"},
    "state_dir": {"type": "path", "default": "/var/lib/stackguard"},
    "take_over": {"type": "bool", "default": False},
    "overrides": {"type": "list", "elements": "dict", "default": []},
    "fence": {"type": "str", "choices": list(FENCES)},
    "fence_confirm_command": {"type": "str"},
    "power_state_query": {"type": "str"},
    "power_off": {"type": "str"},
    "refence": {"type": "bool", "default": False},
    "also_blocklist": {"type": "bool", "default": False},
    "remove_chassis": {"type": "bool", "default": False},
    "attested_by": {"type": "str"},
    "proof_max_age": {"type": "int", "default": 120},
    "blocklist_addresses": {"type": "list", "elements": "str", "default": []},
    "ceph_infrastructure": {"type": "list", "elements": "str", "default": []},
    "never_blocklist": {"type": "list", "elements": "str", "default": []},
    "ceph_host": {"type": "str"},
    "servers": {"type": "raw"},
    "order": {"type": "str"},
    "max_parallel": {"type": "int", "default": 8},
    "memory_headroom_mb": {"type": "int", "default": 512},
    "guest_overhead_mb": {"type": "int", "default": 128},
    "overcommit": {"type": "float", "default": 1.0},
    "target_state": {"type": "str", "default": "keep", "choices": list(TARGET_STATES)},
    "partial": {"type": "bool", "default": False},
    "max_hosts": {"type": "int", "default": 1},
    "max_share": {"type": "float", "default": 0.1},
    "max_rounds": {"type": "int", "default": 200},
    "server_timeout": {"type": "int", "default": 1800},
    "measured_for": {"type": "int", "default": 120},
    "death_timeout": {"type": "int", "default": 120},
    "reset_states": {"type": "list", "elements": "str", "default": [], "choices": list(RESETS)},
}


#: A list that another play has made may be empty by mistake.
NOBODY = "servers: the list is empty, so it selects no server. To select all servers, do not set this option"


class OptionError(StackguardError):
    """An option that cannot be taken: which, and why."""


def request_of(
    args: t.Mapping[str, t.Any],
    operation_id: str,
    servers: t.Sequence[ApiServer],
    fence: t.Optional[Fence] = None,
) -> EvacuationRequest:
    """Return the request that the options make. ``servers``: those on the host. Raises :class:`OptionError`."""
    check_numbers(args, {"max_parallel": 1, "memory_headroom_mb": 0, "guest_overhead_mb": 0, "max_hosts": 1})
    chosen = chosen_servers(args["servers"], servers)
    return EvacuationRequest(
        host=args["evacuate_host"],
        operation_id=operation_id,
        inventory_name=args["inventory_name"],
        servers=None if chosen is None else tuple(chosen),
        order=tuple(ordered_servers(args["order"], servers)),
        parallel=args["max_parallel"],
        headroom_mib=args["memory_headroom_mb"],
        overhead_mib=args["guest_overhead_mb"],
        overcommit=args["overcommit"],
        target_state=args["target_state"],
        partial=args["partial"],
        max_hosts=args["max_hosts"],
        max_share=args["max_share"],
        fence=fence,
        closed=tuple(args["closed"]),
        blocklist=tuple(args["blocklist_addresses"]),
        infrastructure=tuple(args.get("ceph_infrastructure") or ()),
        also_blocklist=bool(args.get("also_blocklist")),
        resets=tuple(args.get("reset_states") or ()),
        remove_chassis=bool(args.get("remove_chassis")),
    )


def asked(args: t.Mapping[str, t.Any], overrides: t.Iterable[Override]) -> t.Dict[str, t.Any]:
    """Return what a person approves beside the plan's own values and the set of servers.

    A resume takes all of it from its own options: it is compared again, then.
    """
    return {
        "host": args["evacuate_host"],
        "fence": args["fence"],
        "also_blocklist": bool(args.get("also_blocklist")),
        "target_state": args["target_state"],
        "partial": args["partial"],
        "reset_states": sorted(args.get("reset_states") or ()),
        "max_hosts": args["max_hosts"],
        "max_share": args["max_share"],
        "overcommit": args["overcommit"],
        "headroom_mb": args["memory_headroom_mb"],
        "overhead_mb": args["guest_overhead_mb"],
        "overrides": approval.of_overrides(overrides),
        # Only where it is asked for: plans that were approved before the option came are still the same.
        **({"remove_chassis": True} if args.get("remove_chassis") else {}),
    }


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
        raise OptionError(f"servers: expected a list of names or uuids, or a JMESPath filter, but found {given!r}")
    if not given:
        raise OptionError(NOBODY)
    return [_uuid_of(str(word), servers, where) for word in given]


def matching_servers(given: str, servers: t.Sequence[ApiServer]) -> t.List[str]:
    """Return the uuids of the servers that a JMESPath filter matches. Raises :class:`OptionError`: it is none."""
    try:
        return selection.compiled(given).records([to_plain(server) for server in servers], SERVER, "id")
    except selection.SelectionError as error:
        raise OptionError(f"servers: {error}") from error


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


def removal_problem(args: t.Mapping[str, t.Any]) -> t.Optional[str]:
    """Return why a chassis cannot be removed with these options; None: it can, or no removal is asked for."""
    if not args.get("remove_chassis"):
        return None
    if args["fence"] not in POWERING_OFF:
        return (
            f"evacuate_remove_chassis=true needs a proof that the machine is off, but evacuate_fence={args['fence']} "
            f"gives no such proof. Set evacuate_fence={either(POWERING_OFF)}, or leave out evacuate_remove_chassis"
        )
    lacking = [name for name in ("ovn_nb_connection", "ovn_sb_connection") if not args.get(name)]
    if lacking:
        return (
            f"evacuate_remove_chassis=true needs {' and '.join(lacking)}, because the run reads OVN's databases to "
            f"find out whether a port uses the chassis. Set {' and '.join(lacking)}, or leave out "
            "evacuate_remove_chassis"
        )
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
