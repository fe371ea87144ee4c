# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Will libvirt take the planned name? SG124, decided by a rehearsal before the first store is written. Pure.

Nova's C(hypervisor_hostname) is what libvirt says, and libvirt says what the host's resolver makes of the kernel's
name. The databases bear the new name before the host does, and by drain the service is deleted by then: a name that
libvirt does not take is found too late there.
"""

from __future__ import annotations

import typing as t

from ...model.codes.catalogue import remedy_text
from ...model.facts import Bundle, HostFacts, Rehearsal
from ...model.findings import (
    NO_OVERRIDE,
    Checked,
    Subject,
    Unchecked,
    finding,
)
from ...model.lookups import Item, Items, gather
from ...model.requests import RenameRequest
from .preflight import Case, missing


def check(bundle: Bundle, request: RenameRequest, in_place: bool = True) -> Checked:
    """Compare what libvirt would say with the plan. ``in_place`` False: the host is drained and registers anew."""
    case = Case(bundle, request, in_place)
    return gather(_check(case, case.host)) if case.host is not None and case.after is not None else Checked()


_STOPS = "the rename would stop after it has changed the databases"


def _check(case: Case, host: HostFacts) -> Items:
    after, tried = case.after, host.rehearsal
    if after is None:
        return
    if tried is None or tried.hostname is None or tried.name != (after.os or host.kernel_hostname):
        reason = (
            "the new host name was not tested" if tried is None else tried.reason or f"{tried.name} was tested instead"
        )
        remedy = remedy_text("SG709", "name-not-rehearsed")
        reason = f"the name that libvirt would use for the host is not known: {reason}"
        other = tried is not None and tried.hostname not in (None, after.hypervisor_hostname) and not tried.undecided
        yield missing(case, "rehearsal", reason, remedy, _STOPS if other else None)
        return
    undecided = [*tried.undecided, *_no_control(host, tried)]
    if tried.hostname != after.hypervisor_hostname:
        yield _otherwise(case, tried, undecided)
    elif undecided and not case.in_place:
        # The proof comes behind the point of no return.
        remedy = remedy_text("SG124", "rehearsal-undecided", name=tried.name)
        yield _told(case, tried, {"undecided": undecided}, remedy)
    elif undecided:
        yield Unchecked("SG124", case.request.inventory_name, "; ".join(undecided))


def _no_control(host: HostFacts, tried: Rehearsal) -> t.List[str]:
    """The same question of the host as it is must give what libvirt says now: else it is not libvirt's."""
    if host.libvirt is None or tried.now == host.libvirt.hostname:
        return []
    return [f"libvirt reports the host name {host.libvirt.hostname}, but the resolver returns {tried.now}"]


def _otherwise(case: Case, tried: Rehearsal, undecided: t.List[str]) -> Item:
    planned = case.after.hypervisor_hostname if case.after else None
    evidence = {"planned": planned, "resolver": tried.unresolved or "answered", "undecided": undecided}
    if not tried.undecided:
        evidence[NO_OVERRIDE] = _STOPS
    remedy = remedy_text("SG124", "libvirt-name-not-planned", found=tried.hostname, planned=planned, name=tried.name)
    return _told(case, tried, evidence, remedy)


def _told(case: Case, tried: Rehearsal, evidence: t.Mapping[str, t.Any], remedy: str) -> Item:
    subject = Subject("host", case.request.inventory_name, tried.name, case.old)
    seen = {"the kernel's name": tried.name, "libvirt would use": tried.hostname, **evidence}
    return finding("SG124", subject, seen, remedy)
