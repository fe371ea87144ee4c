# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of an unshelving that stays in its zone: unshelve, compare. Pure."""

from __future__ import annotations

import typing as t

from ...model.facts import ApiServer
from ...model.plan import CONTROLLER, Change, Plan, Step
from ...model.requests import UnshelveRequest

#: Before the server of a journal.
KIND = "unshelve-"


def kind_of(server: str) -> str:
    """Return the kind of journal: of a server, one unshelving is open at a time."""
    return f"{KIND}{server}"


def plan(
    request: UnshelveRequest, server: ApiServer, zone: str, ask: t.Optional[str], pin: t.Optional[str], why: str
) -> Plan:
    """Return the steps. ``ask``: the zone that the request names; ``pin``: the pin of now."""
    params = {
        "uuid": server.id,
        "name": server.name,
        "timeout": request.timeout,
        "status": server.status,
        "zone": zone,
        "ask": ask,
        "before": pin,
        "method": request.method,
    }
    subject = f"server {server.name} ({server.id})"
    changes = [Change(subject, "status", server.status, "ACTIVE")]
    notes = [f"The zone of the server is {zone}: {why}"]
    if server.host is not None:
        notes.append(f"The server is still on {server.host}, and starts there")
    if ask is not None and ask != pin:
        changes.append(Change(subject, "pinned availability zone", str(pin), ask))
        notes.append(
            f"Nova pins the server to the zone that the request names. The server stays pinned to {ask}; the playbook "
            "pin_servers with pin_state=unpinned unpins it"
        )
    steps = [
        Step("unshelve", f"unshelve the server in {zone}", CONTROLLER, "unshelve", params, changes),
        Step("compare", f"verify that the server is in {zone}", CONTROLLER, "verify_zone", params),
    ]
    return Plan(kind_of(server.id), request.operation_id, server.name, steps, notes)
