# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options that an evacuation's modules share, and what is made of them: which servers, in which order, how."""

from __future__ import annotations

import typing as t

from ..model import approval
from ..model.facts import ApiServer
from ..model.fence_proof import Fence
from ..model.fences.catalogue import FENCES, POWERING_OFF, either
from ..model.findings import Override
from ..model.requests import (
    RESETS,
    TARGET_STATES,
    EvacuationRequest,
)
from ..model.server_selection import check_numbers, chosen_servers, ordered_servers

ACTIONS = ("apply", "resume", "status", "abort")

ARGUMENTS: t.Dict[str, t.Dict[str, t.Any]] = {
    "evacuate_host": {"type": "str", "required": True},
    "action": {"type": "str", "default": "apply", "choices": list(ACTIONS)},
    "phase": {"type": "str", "default": "advance", "choices": ["begin", "advance", "end", "hold"]},
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
    "ceph_host": {"type": "list", "elements": "str", "default": []},
    "servers": {"type": "raw"},
    "order": {"type": "str"},
    "max_parallel": {"type": "int", "default": 8},
    "memory_headroom_mb": {"type": "int", "default": 512},
    "overcommit": {"type": "float", "default": 1.0},
    "target_state": {"type": "str", "default": "keep", "choices": list(TARGET_STATES)},
    "partial": {"type": "bool", "default": False},
    "max_hosts": {"type": "int", "default": 1},
    "reset_states": {"type": "list", "elements": "str", "default": [], "choices": list(RESETS)},
}

#: What no operator turns, as options with one value.
FIXED: t.Dict[str, t.Any] = {
    # MiB that a QEMU process needs beside its guest's memory: measured, 60 to 110 with RBD disks.
    "guest_overhead_mb": 128,
    # One host in ten of a zone may be down before SG514 asks whether the network is; ``max_hosts`` allows more.
    "max_share": 0.1,
    # A bound for a run whose servers never settle: the next run goes on.
    "max_rounds": 200,
    # Seconds for one server. Nova itself gives up waiting for a VIF after 300, and a spawn over RBD copies nothing.
    "server_timeout": 1800,
    # Seconds for which measured memory counts; the planner takes off what it has sent since.
    "measured_for": 120,
    # Seconds until the watchers of a fenced host are gone: Ceph drops a client's after 30, a blocklisted one's at once.
    "death_timeout": 120,
}


def request_of(
    args: t.Mapping[str, t.Any],
    operation_id: str,
    servers: t.Sequence[ApiServer],
    fence: t.Optional[Fence] = None,
) -> EvacuationRequest:
    """Return the request that the options make. ``servers``: those on the host. Raises :class:`OptionError`."""
    check_numbers(args, {"max_parallel": 1, "memory_headroom_mb": 0, "max_hosts": 1})
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
