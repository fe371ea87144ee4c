# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What nova-compute would do to the domains of a host if it started there now, domain by domain. Pure.

The rules, of releases 26 to 34 (nova/compute/manager.py; see the facts of Nova, 1.4):

* C(_destroy_evacuated_instances): a domain whose instance has an evacuation record with this host as its source, in
  C(accepted), C(pre-migrating) or C(done), is destroyed. By name alone: where the instance lives now is not asked.
  Disks in RBD count as shared and stay; where the instance is deleted they go.
* C(_cleanup_running_deleted_instances), run at start: a domain whose instance is deleted is reaped with its disks
  (C(running_deleted_instance_action), C(reap) by default), shut down, or left.
* Any other domain is left as it is. One whose instance lives elsewhere goes on running: two writers.

This part is what the gate before a returning host needs; what else a start would do (refuse, orphan) is SG101 to SG119.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.checks.common import (
    Index,
    Items,
    domain_subject,
    open_evacuation,
    same_name,
)
from ansible_collections.stackguard.nova.plugins.module_utils.evacuating import RUNNING
from ansible_collections.stackguard.nova.plugins.module_utils.facts import Domain, HostFacts, InstanceRow
from ansible_collections.stackguard.nova.plugins.module_utils.findings import (
    INFO,
    WARNING,
    Subject,
    Unchecked,
    finding,
)
from ansible_collections.stackguard.nova.plugins.module_utils.names import conf_host

DESTROYED = "destroyed"
DESTROYED_WITH_DISKS = "destroyed, and its disks deleted"
POWERED_OFF = "powered off"
LEFT = "left as it is"

EVACUATED = "_destroy_evacuated_instances"
DELETED = "_cleanup_running_deleted_instances"

_STOPPED = "Keep nova-compute stopped."


@dataclasses.dataclass(frozen=True)
class Fate:
    """What would become of one domain. ``lives``: the host that Nova has for its instance; None: deleted or nowhere."""

    domain: Domain
    action: str
    rule: t.Optional[str]
    lives: t.Optional[str]
    #: Whether Nova's databases still have the instance.
    exists: bool
    #: The evacuation record, where that is the rule.
    migration: t.Optional[str] = None


class UnreadError(ValueError):
    """What the forecast needs was not read: which part. It is never guessed."""


def fates(index: Index, facts: HostFacts) -> t.List[Fate]:
    """Return what would become of every domain of a host. Raises :class:`UnreadError`."""
    host = conf_host(facts)
    missing = [
        name
        for name, known in (
            ("nova.conf", facts.nova_conf is not None and host is not None),
            ("domains", facts.domains is not None),
            ("instances", index.cells_read("instances")),
            ("migrations", index.cells_read("migrations")),
        )
        if not known
    ]
    if missing or host is None:
        raise UnreadError(f"not read: {', '.join(missing)}")
    return [_fate(index, facts, host, domain) for domain in facts.domains or []]


def _fate(index: Index, facts: HostFacts, host: str, domain: Domain) -> Fate:
    rows = [row for _cell, row in index.instance_rows_by_uuid.get(domain.uuid, [])]
    live = next((row for row in rows if not row.deleted), None)
    record = next(
        (
            row
            for _place, row in index.migrations_by_host.get(host.casefold(), [])
            if open_evacuation(row) and same_name(row.source_compute, host) and row.instance_uuid == domain.uuid
        ),
        None,
    )
    lives, exists = (live.host if live else None), live is not None
    if record is not None:
        rbd = facts.nova_conf is not None and facts.nova_conf.images_type == "rbd"
        # Local disks: Nova asks the destination whether they are shared; the answer is not known here.
        action = DESTROYED if exists and rbd else DESTROYED_WITH_DISKS
        return Fate(domain, action, EVACUATED, lives, exists, record.uuid or str(record.id))
    if rows and not exists:
        return Fate(domain, _reaping(facts, rows[0]), DELETED, None, False)
    return Fate(domain, LEFT, None, lives, exists)


def _reaping(facts: HostFacts, row: InstanceRow) -> str:
    if row.vm_state == "soft-delete":
        return LEFT
    action = facts.nova_conf.running_deleted_instance_action if facts.nova_conf else None
    # Unread is taken for Nova's default, which is the worst.
    return {"noop": LEFT, "log": LEFT, "shutdown": POWERED_OFF}.get(action or "reap", DESTROYED_WITH_DISKS)


def restart(index: Index, facts: HostFacts) -> Items:
    """SG113, SG108, SG509: what a start would destroy that lives here, or leave that lives elsewhere."""
    host = conf_host(facts) or facts.inventory_name
    try:
        found = fates(index, facts)
    except UnreadError as error:
        evidence = {"reason": str(error)}
        yield finding(
            "SG709", Subject("host", facts.inventory_name, host=host), evidence, f"{_STOPPED} Make it readable."
        )
        return
    for fate in found:
        yield from _judged(fate, facts, host)
    yield from _records(index, host, {fate.domain.uuid for fate in found})


def _judged(fate: Fate, facts: HostFacts, host: str) -> Items:
    subject = domain_subject(fate.domain, facts)
    evidence = {
        "domain": [fate.domain.name, fate.domain.state],
        "a start": fate.action,
        "rule": fate.rule,
        "Nova has it on": fate.lives,
        "migration": fate.migration,
    }
    if fate.exists and same_name(fate.lives, host):
        if fate.action != LEFT:
            remedy = f"{_STOPPED} The instance lives here: its evacuation record must be completed first."
            yield finding("SG113", subject, evidence, remedy)
        return
    if fate.domain.state in RUNNING and fate.exists:
        remedy = f"{_STOPPED} Nova has this guest on {fate.lives}: destroy the domain here (its disks stay in Ceph)."
        # SG509 where a start would end it: it is still a second writer until then.
        yield finding("SG108", subject, evidence, remedy)
    elif fate.exists:
        remedy = "A definition without a process, of a guest that lives elsewhere: undefine it (virsh undefine)."
        yield finding("SG509", subject, evidence, remedy, WARNING)
    elif fate.action == DESTROYED_WITH_DISKS:
        remedy = "The server is deleted in Nova. Keep what is needed of its disks before nova-compute starts."
        yield finding("SG509", subject, evidence, remedy, WARNING)
    elif fate.rule is None:
        yield Unchecked("SG110", fate.domain.uuid, "no database row knows this domain: a start leaves it alone")


def _records(index: Index, host: str, domains: t.Container[str]) -> Items:
    """SG509: evacuations that the next start completes; harmless while no such instance comes back before it."""
    for place, row in index.migrations_by_host.get(host.casefold(), []):
        if open_evacuation(row) and same_name(row.source_compute, host) and row.instance_uuid not in domains:
            evidence = {"read from": place, "migration": row.uuid or row.id, "status": row.status}
            remedy = "Start nova-compute once; move no such server back before it has."
            yield finding("SG509", Subject("instance", row.instance_uuid or "", host=host), evidence, remedy, INFO)
