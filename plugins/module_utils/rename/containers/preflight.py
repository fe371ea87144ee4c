# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Containers with a host name of their own, before a rename: SG123 and SG129. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...model import containers
from ...model.codes.catalogue import remedy_text
from ...model.facts import HostFacts, NameSpace
from ...model.findings import BLOCKER, Finding
from ...model.names import Names
from ...model.requests import RenameRequest


def refusal(
    host: t.Optional[HostFacts],
    request: RenameRequest,
    entry: NameSpace,
    after: t.Optional[Names],
) -> t.Optional[str]:
    """Return the remedy of SG123 for a service that keeps its name; None: the plan creates its container again."""
    if host is None or after is None or not containers.is_kolla(host):
        return remedy_text("SG123", "no-container-of-kolla")
    if request.adopt is not None:
        # Whichever direction: that such a container follows has been shown for renames alone.
        return remedy_text("SG123", "adopted-with-containers", name=entry.hostname or "another name")
    if after.os in (None, host.static_hostname or host.kernel_hostname):
        return None  # the host's own name stays, and the copy of it is right
    why = containers.why_not(host, request, entry)
    if why is None:
        return None
    return remedy_text("SG123", "container-not-created-again", why=why)


def stricter(host: t.Optional[HostFacts], item: Finding) -> Finding:
    """SG129 blocks where nova-compute's container is created again: it cannot copy onto an immutable compute_id."""
    if host is None or item.code != "SG129" or not any(entry.is_compute for entry in containers.named(host)):
        return item
    return dataclasses.replace(item, severity=BLOCKER)
