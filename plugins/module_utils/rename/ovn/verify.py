# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a rename with OVN: the same chassis, each port where it was, and no port that names the old host. Pure."""

from __future__ import annotations

import typing as t

from ...model.findings import (
    WARNING,
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ...model.ovn import NOT_BOUND, OvnFacts

_BACK = "Do not restart anything on the host. Check the evidence, then run rename_host with rename_action=rollback."
_UNUSED = (
    "No action is needed: OVN does not use the host name to bind a port of this type (see the evidence). When neutron "
    "next updates the port, neutron writes the new name."
)
Params = t.Mapping[str, t.Any]


def check(params: Params, facts: OvnFacts) -> Checked:
    """Compare what was read after the rename with the plan. What was not read is reported, and is no proof."""
    unread = [
        Unchecked("SG317", params["new"], f"the run did not read {part} from OVN's databases: {_reason(facts)}")
        for part in ("chassis", "port_bindings", "switch_ports", "gateways")
        if getattr(facts, part) is None
    ]
    if unread:
        return Checked(unchecked=tuple(unread))
    return Checked((*_chassis(params, facts), *_ports(params, facts), *_bindings(params, facts)))


def _reason(facts: OvnFacts) -> str:
    return "; ".join(entry.reason for entry in facts.unread) or "no reason was given"


def _chassis(params: Params, facts: OvnFacts) -> t.Iterator[Finding]:
    wanted, new, old = params["chassis"], params["new"], params["old"]
    found = [entry for entry in facts.chassis or [] if entry.hostname == new]
    if [entry.name for entry in found] != [wanted["name"]]:
        evidence: t.Dict[str, t.Any] = {"chassis": [entry.name for entry in found], "expected": wanted["name"]}
        yield finding("SG318", Subject("host", new, host=new), evidence, _BACK)
    elif found[0].uuid != wanted["uuid"]:
        # A clean stop of ovn-controller deletes the row. The chassis is the same one: the name says which.
        evidence = {"chassis": wanted["name"], "row before": wanted["uuid"], "row now": found[0].uuid}
        remedy = (
            "Check the networks of the guests. During the rename, ovn-controller was stopped, and the ports of the "
            "host had no chassis until ovn-controller started again."
        )
        yield finding("SG318", Subject("host", new, host=new), evidence, remedy, WARNING)
    left = [entry.name for entry in facts.chassis or [] if entry.hostname == old]
    if left:
        yield finding("SG322", Subject("host", old, host=old), {"chassis of the old hostname": left}, _BACK)
    if (wanted["name"] in params["gateways"]) != (wanted["name"] in (facts.gateways or [])):
        evidence = {"gateway before": wanted["name"] in params["gateways"]}
        remedy = (
            "Check which routers use this chassis as a gateway. During the rename, the chassis became a gateway "
            "chassis, or lost this role."
        )
        yield finding("SG324", Subject("host", new, host=new), evidence, remedy, WARNING)


def _ports(params: Params, facts: OvnFacts) -> t.Iterator[Finding]:
    old = params["old"]
    for port in facts.switch_ports or []:
        places: t.Dict[str, t.List[t.Optional[str]]] = {
            # A port in the middle of a move asks for several.
            "requested-chassis": [*(port.requested or "").split(",")],
            "neutron:host_id": [port.host_id],
            "neutron:parent_hostname": [port.parent_hostname],
        }
        stale = sorted(key for key, names in places.items() if old in names)
        if not stale:
            continue
        subject, evidence = Subject("port", port.name, host=old), {"old host name in": stale}
        if port.type in NOT_BOUND:
            # neutron's maintenance worker writes a gateway's port by what it read minutes ago.
            yield finding("SG322", subject, {**evidence, "type": port.type}, _UNUSED, WARNING)
        else:
            yield finding("SG322", subject, evidence, _BACK)


def _bindings(params: Params, facts: OvnFacts) -> t.Iterator[Finding]:
    # By the name: a row that was made again during the rename has another uuid.
    names = {entry.uuid: entry.name for entry in facts.chassis or []}
    mine = params["chassis"]["name"]
    now = {binding.uuid: binding for binding in facts.port_bindings or []}
    if mine not in names.values():
        return  # SG318
    for before in params["bindings"]:
        binding = now.get(before["uuid"])
        if binding is None:
            # Deleted by its owner, or asked for by another host since: the guests' own checks look at those.
            continue
        subject = Subject("port", before["port"], host=params["new"])
        bound, requested = names.get(binding.chassis or ""), names.get(binding.requested or "")
        evidence = {"chassis": bound, "requested chassis": requested, "up": binding.up}
        if before["asks"] and requested != mine:
            yield finding("SG322", subject, {**evidence, "expected": mine}, _BACK)
        elif bound != mine or not binding.up:
            # It still asks for this chassis, which claims it as soon as it is plugged.
            remedy = (
                "Check the guest that uses the port. The guest's interface is not plugged on the host, for example "
                "because the guest stopped."
            )
            yield finding("SG324", subject, evidence, remedy, WARNING)
