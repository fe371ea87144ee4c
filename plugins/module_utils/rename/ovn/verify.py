# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a rename with OVN: the same chassis, each port where it was, and no port that names the old host. Pure."""

from __future__ import annotations

import typing as t

from ...model.codes.catalogue import remedy_text
from ...model.findings import (
    WARNING,
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ...model.ovn import NOT_BOUND, OvnFacts

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
        yield finding("SG318", Subject("host", new, host=new), evidence, remedy_text("SG318", "chassis-lost-in-rename"))
    elif found[0].uuid != wanted["uuid"]:
        # A clean stop of ovn-controller deletes the row. The chassis is the same one: the name says which.
        evidence = {"chassis": wanted["name"], "row before": wanted["uuid"], "row now": found[0].uuid}
        remedy = remedy_text("SG318", "chassis-made-again")
        yield finding("SG318", Subject("host", new, host=new), evidence, remedy, WARNING)
    left = [entry.name for entry in facts.chassis or [] if entry.hostname == old]
    if left:
        remedy = remedy_text("SG322", "chassis-with-old-name")
        yield finding("SG322", Subject("host", old, host=old), {"chassis of the old hostname": left}, remedy)
    if (wanted["name"] in params["gateways"]) != (wanted["name"] in (facts.gateways or [])):
        evidence = {"gateway before": wanted["name"] in params["gateways"]}
        remedy = remedy_text("SG324", "gateway-changed")
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
            remedy = remedy_text("SG322", "port-of-unbound-type-with-old-name")
            yield finding("SG322", subject, {**evidence, "type": port.type}, remedy, WARNING)
        else:
            yield finding("SG322", subject, evidence, remedy_text("SG322", "port-with-old-name"))


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
            remedy = remedy_text("SG322", "binding-asks-for-another")
            yield finding("SG322", subject, {**evidence, "expected": mine}, remedy)
        elif bound != mine or not binding.up:
            # It still asks for this chassis, which claims it as soon as it is plugged.
            yield finding("SG324", subject, evidence, remedy_text("SG324", "not-plugged"), WARNING)
