# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Domains of a returning host that somebody else starts, and domains that libvirt does not let go: SG521, SG522. Pure.

A start of libvirt, or of the host, asks nobody where a server is now: what it starts here can be a second writer. Nova
starts its guests itself, and needs neither.
"""

from __future__ import annotations

import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.facts import Domain, HostFacts
from ..model.findings import BLOCKER, WARNING, Unchecked, finding
from ..model.lookups import (
    Index,
    Items,
    domain_subject,
    host_subject,
    same_name,
)

#: The unit that starts guests at boot, and its ON_BOOT with which it starts none.
GUESTS_UNIT = "libvirt-guests.service"
IGNORE = "ignore"
#: Nova's own managed save (C(virt/libvirt/driver.py), suspend).
SUSPENDED = "suspended"


def starting(index: Index, facts: HostFacts, host: str, ended: t.Container[str]) -> Items:
    """SG521: what starts guests on this host without Nova. ``ended``: domains that the run ends."""
    yield from _at_boot(facts)
    for domain in facts.domains or []:
        rows = [row for _cell, row in index.instance_rows_by_uuid.get(domain.uuid, []) if not row.deleted]
        if domain.uuid in ended or not rows:
            continue
        seen: t.Dict[str, t.Any] = {"autostart": domain.autostart} if domain.autostart else {}
        if domain.managed_save and not any(row.vm_state == SUSPENDED for row in rows):
            seen["managed save image"] = True
        away = [row.host for row in rows if not same_name(row.host, host)]
        if seen:
            evidence = {"domain": [domain.name, domain.state], **seen, "Nova shows it on": away or [host]}
            yield finding(
                "SG521", domain_subject(domain, facts), evidence, _remedy(domain), BLOCKER if away else WARNING
            )


def _remedy(domain: Domain) -> str:
    parts = []
    if domain.autostart:
        parts.append(remedy_text("SG521", "autostart", domain=domain.name))
    if domain.managed_save:
        parts.append(remedy_text("SG521", "managed-save", domain=domain.name))
    return " ".join(parts)


def _at_boot(facts: HostFacts) -> Items:
    if facts.units is None or facts.guests_on_boot is None:
        yield Unchecked("SG521", facts.inventory_name, "the unit or the settings of libvirt-guests were not read")
        return
    unit = next((unit for unit in facts.units if unit.name == GUESTS_UNIT), None)
    if unit is None or unit.blocked or unit.unit_file_state in ("disabled", "masked"):
        return
    if facts.guests_on_boot != IGNORE:
        evidence = {"unit": unit.name, "state": unit.unit_file_state, "ON_BOOT": facts.guests_on_boot}
        yield finding("SG521", host_subject(facts), evidence, remedy_text("SG521", "guests-on-boot"), WARNING)


def kept(domains: t.Iterable[Domain], facts: HostFacts) -> Items:
    """SG522: domains that the run is to end, and that libvirt refuses to undefine."""
    for domain in domains:
        if domain.snapshots:
            evidence = {"domain": [domain.name, domain.state], "snapshots and checkpoints": domain.snapshots}
            remedy = remedy_text("SG522", "snapshots", domain=domain.name)
            yield finding("SG522", domain_subject(domain, facts), evidence, remedy)
