# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a rename by draining with OVN: the same chassis under the new hostname, and no port of the old one. Pure."""

from __future__ import annotations

import typing as t

from ...model.codes.catalogue import remedy_text
from ...model.facts import HostFacts
from ...model.findings import (
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ...model.ovn import NOT_BOUND, OvnFacts

Params = t.Mapping[str, t.Any]


def check(params: Params, facts: OvnFacts, host: HostFacts) -> Checked:
    """Compare what was read after the drain with the plan. What was not read is reported, and is no proof."""
    new, reasons = params["new"], "; ".join(entry.reason for entry in facts.unread) or "no reason was given"
    unread = [
        Unchecked("SG317", new, f"the run did not read {part} from OVN's databases: {reasons}")
        for part in ("chassis", "switch_ports")
        if getattr(facts, part) is None
    ]
    if params["system_id"] is not None and host.ovs_external_ids is None:
        why = [entry.reason for entry in host.unread if entry.part == "ovs_external_ids"]
        unread.append(Unchecked("SG317", new, f"external_ids of Open vSwitch were not read: {'; '.join(why)}"))
    if unread:
        return Checked(unchecked=tuple(unread))
    return Checked((*_chassis(params, facts), *_system_id(params, host), *_ports(params, facts)))


def _chassis(params: Params, facts: OvnFacts) -> t.Iterator[Finding]:
    name, old, new = params["chassis"]["name"], params["old"], params["new"]
    found = [entry for entry in facts.chassis or [] if entry.hostname == new]
    subject = Subject("host", new, host=new)
    if [entry.name for entry in found] != [name]:
        hostnames = [entry.hostname for entry in facts.chassis or [] if entry.name == name]
        evidence: t.Dict[str, t.Any] = {"chassis of the new hostname": [entry.name for entry in found]}
        evidence.update({"expected": name, "hostname of the host's chassis": hostnames})
        remedy = remedy_text("SG318", "hostname-not-set-after-drain", new=new)
        yield finding("SG318", subject, evidence, remedy)
    left = [entry.name for entry in facts.chassis or [] if entry.hostname == old]
    if left:
        remedy = remedy_text("SG322", "chassis-with-old-name-after-drain")
        yield finding("SG322", Subject("host", old, host=old), {"chassis of the old hostname": left}, remedy)
    for entry in facts.chassis or []:
        now = [[encap.type, encap.ip] for encap in entry.encaps]
        if entry.name == name and now != params["encaps"]:
            evidence = {"tunnel endpoints before": params["encaps"], "now": now}
            yield finding("SG318", subject, evidence, remedy_text("SG318", "tunnel-changed-during-drain"))


def _system_id(params: Params, host: HostFacts) -> t.Iterator[Finding]:
    now = (host.ovs_external_ids or {}).get("system-id")
    if params["system_id"] is not None and now != params["system_id"]:
        evidence = {"system-id before": params["system_id"], "now": now}
        remedy = remedy_text("SG318", "system-id-changed-during-drain")
        yield finding("SG318", Subject("host", params["new"], host=params["new"]), evidence, remedy)


def _ports(params: Params, facts: OvnFacts) -> t.Iterator[Finding]:
    # Neutron's labels are left out: it writes them when a port goes up, which that of a stopped guest does not. So is
    # a router's port, which OVN does not bind by the name.
    old = params["old"]
    for port in facts.switch_ports or []:
        if port.type not in NOT_BOUND and old in (port.requested or "").split(","):
            evidence = {"requested-chassis": port.requested, "neutron:host_id": port.host_id}
            remedy = remedy_text("SG322", "port-with-old-name-after-drain", port=port.name)
            yield finding("SG322", Subject("port", port.name, host=old), evidence, remedy)
