# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the guests of a host are what they were when an operation began. Pure.

A guest can end by itself while nova-compute is stopped, and a host can reboot. Neither is a reason to leave a host
half renamed: such a guest is a warning, with the command that starts it. What only a person can have done (another
process, another definition, another domain) is a blocker, which the operator passes guest by guest. A QEMU process that
runs while libvirt shows its guest as off, or has no such domain, is a blocker too: Nova would start a second one.
"""

from __future__ import annotations

import typing as t

from ...capacity.measured import RUNNING
from ...model.codes.catalogue import remedy_text
from ...model.facts import Domain, HostFacts
from ...model.findings import BLOCKER, WARNING, Subject, finding
from ...model.lookups import Items, domain_subject

CODE = "SG120"
#: A guest as a plan keeps it: ``uuid``, ``name``, ``state``, ``pid``, ``pid_start``, ``xml_digest``.
DisksBefore = t.Mapping[str, t.Any]


def as_before(domains: t.Iterable[Domain]) -> t.List[t.Dict[str, t.Any]]:
    """Return what a plan keeps of each domain."""
    names = ("uuid", "name", "state", "pid", "pid_start", "xml_digest")
    return [{name: getattr(domain, name) for name in names} for domain in domains]


def changed(before: t.Sequence[DisksBefore], facts: HostFacts, boot_id: t.Optional[str], strict: bool) -> Items:
    """SG120: guests that are not what they were.

    ``boot_id``: that of the host when the plan was made; None: not known, and no reboot is assumed. ``strict``: before
    nova-compute starts, when nobody but a person on the host can have touched a guest. Later its owner can.
    """
    if facts.domains is None or facts.qemu_processes is None:
        part = "domains" if facts.domains is None else "qemu_processes"
        reason = next((entry.reason for entry in facts.unread if entry.part == part), "no reason was given")
        unread = "domains-unread-during-rename" if part == "domains" else "processes-unread-during-rename"
        remedy = remedy_text("SG709", unread)
        yield finding("SG709", Subject("host", facts.inventory_name), {"not read": part, "reason": reason}, remedy)
        return
    rebooted = bool(boot_id and facts.boot_id and boot_id != facts.boot_id)
    now = {domain.uuid: domain for domain in facts.domains}
    lost = {uuid: pid for uuid, pid in sorted(facts.qemu_processes.items()) if not is_running(now.get(uuid))}
    for uuid, pid in lost.items():
        yield _lost(uuid, pid, now.pop(uuid, None), facts)
    for old in before:
        if str(old["uuid"]) in lost:
            continue
        there = now.pop(str(old["uuid"]), None)
        if there is None:
            subject = Subject("domain", str(old["uuid"]), str(old["name"]), facts.inventory_name)
            remedy = remedy_text(CODE, "domain-gone")
            yield _finding(subject, {"before": old["state"], "now": "no such domain"}, remedy, strict)
        else:
            yield from _one(old, there, facts, rebooted, strict)
    for there in now.values():
        remedy = remedy_text(CODE, "domain-added")
        yield _finding(domain_subject(there, facts), {"before": "no such domain", "now": there.state}, remedy, strict)


def _one(old: DisksBefore, there: Domain, facts: HostFacts, rebooted: bool, strict: bool) -> Items:
    subject = domain_subject(there, facts)
    ran, runs = old["pid"] is not None or old["state"] in RUNNING, is_running(there)
    since = {"host": "the host has rebooted since the run made the plan"} if rebooted else {}
    if ran and not runs:
        evidence = {"before": old["state"], "now": there.state, **since}
        why = "the host rebooted" if rebooted else "the guest shut down, or a person stopped the guest on the host"
        remedy = remedy_text(CODE, "guest-ended", uuid=there.uuid)
        yield _finding(subject, {**evidence, "why": why}, remedy, strict=False)
        return
    if runs and there.pid is None:
        evidence = {"not read": "process", "state": there.state}
        remedy = remedy_text("SG709", "pid-file-unread")
        yield finding("SG709", subject, evidence, remedy)
        return
    same_process = (there.pid, there.pid_start) == (old["pid"], old["pid_start"])
    if not same_process:
        evidence = {"process before": old["pid"], "process now": there.pid, **since}
        remedy = remedy_text(CODE, "process-changed-by-reboot" if rebooted else "process-changed")
        yield _finding(subject, evidence, remedy, strict and not rebooted)
        return
    if there.name != old["name"] or there.xml_digest != old["xml_digest"]:
        evidence = {"definition before": [old["name"], old["xml_digest"]], "now": [there.name, there.xml_digest]}
        remedy = remedy_text(CODE, "definition-changed", uuid=there.uuid)
        yield _finding(subject, evidence, remedy, strict)
    if there.state != old["state"]:
        evidence = {"before": old["state"], "now": there.state}
        yield _finding(subject, evidence, remedy_text(CODE, "state-changed", uuid=there.uuid), strict=False)


def is_running(there: t.Optional[Domain]) -> bool:
    """Whether a domain has a QEMU, as far as libvirt says."""
    return there is not None and (there.pid is not None or there.state in RUNNING)


def _lost(uuid: str, pid: int, there: t.Optional[Domain], facts: HostFacts) -> t.Any:
    """A QEMU process of which libvirt knows nothing: whatever the moment, a blocker."""
    subject = domain_subject(there, facts) if there else Subject("domain", uuid, None, facts.inventory_name)
    evidence = {"libvirt": there.state if there else "no such domain", "QEMU process": pid}
    remedy = remedy_text(CODE, "process-unknown-to-libvirt", pid=pid)
    return finding(CODE, subject, evidence, remedy, BLOCKER)


def _finding(subject: Subject, evidence: t.Mapping[str, t.Any], remedy: str, strict: bool) -> t.Any:
    return finding(CODE, subject, evidence, remedy, BLOCKER if strict else WARNING)
