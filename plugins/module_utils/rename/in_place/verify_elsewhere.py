# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rollback, and a guest that lives on another host by now: SG125, SG108. Pure."""

from __future__ import annotations

import typing as t

from ...model.codes.catalogue import remedy_text
from ...model.facts import Domain
from ...model.findings import Finding, Subject, finding

#: libvirt's words for a domain without a QEMU.
OFF = ("shutoff", "crashed")


class AwayGuest(t.Protocol):
    """See rename/in_place/elsewhere_steps.py."""

    @property
    def uuid(self) -> str:
        """The instance's."""

    @property
    def host(self) -> t.Optional[str]:
        """Where it lives."""

    @property
    def port(self) -> t.Optional[str]:
        """The port that tells so."""


def check(away: t.Sequence[AwayGuest], domains: t.Sequence[Domain]) -> t.Iterator[Finding]:
    """SG125: each guest whose row or port is not this operation's to take back. SG108: its QEMU runs here as well."""
    states = {domain.uuid: domain.state for domain in domains}
    for uuid in sorted({entry.uuid for entry in away}):
        mine = [entry for entry in away if entry.uuid == uuid]
        subject = Subject("instance", uuid, host=mine[0].host)
        if states.get(uuid, OFF[0]) not in OFF:
            remedy = remedy_text("SG108", "lives-elsewhere-before-rollback", uuid=uuid, other=mine[0].host)
            seen = {"guest lives on": mine[0].host, "domain on this host": states[uuid]}
            yield finding("SG108", Subject("domain", uuid, host=mine[0].host), seen, remedy)
        evidence: t.Dict[str, t.Any] = {
            "guest lives on": mine[0].host,
            "domain on this host": states.get(uuid, "none"),
            "ports on that host": sorted(entry.port for entry in mine if entry.port),
        }
        remedy = remedy_text("SG125", "lives-elsewhere-before-rollback")
        yield finding("SG125", subject, evidence, remedy)
