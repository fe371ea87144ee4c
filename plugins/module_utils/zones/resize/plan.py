# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of a resize that stays in its zone: pin, resize, compare, confirm, unpin. Pure."""

from __future__ import annotations

import typing as t

from ...model.facts import ApiServer
from ...model.plan import CONTROLLER, Change, Plan, Step
from ...model.requests import ResizeRequest

#: Before the server of a journal.
KIND = "resize-"


def kind_of(server: str) -> str:
    """Return the kind of journal: one resize of a server is open at a time, those of others do not matter."""
    return f"{KIND}{server}"


def plan(
    request: ResizeRequest,
    server: ApiServer,
    zone: str,
    pin: t.Optional[str],
    method: str,
    why: str,
) -> Plan:
    """Return the steps. ``method``: ``pin_api``, ``pin_db``, or another that changes no pin."""
    pins = method in ("pin_api", "pin_db")
    about = {"uuid": server.id, "name": server.name, "timeout": request.timeout}
    before = server.flavor
    old = [before.name, before.vcpus, before.ram, before.disk] if before else []
    move = {
        **about,
        "flavor": request.flavor,
        "flavor_name": request.flavor_name,
        "old_flavor": old,
        "host": server.host,
        "zone": zone,
        "status": server.status,
    }
    change = {**about, "method": method, "zone": zone, "before": pin}
    where = f"server {server.name} ({server.id})"
    steps = []
    if pins:
        told = [Change(where, "pinned availability zone", str(pin), zone)]
        steps.append(Step("pin", f"pin the server to {zone} ({method})", CONTROLLER, "pin", change, told))
    old_name = before.name if before else "(unread)"
    flavors = [Change(where, "flavor", str(old_name), request.flavor_name)]
    steps.append(Step("resize", f"resize the server to {request.flavor_name}", CONTROLLER, "resize", move, flavors))
    steps.append(
        Step("compare", f"verify that the server is in {zone}; if not, revert the resize", CONTROLLER, "compare", move)
    )
    if request.confirm:
        steps.append(Step("confirm", "confirm the resize", CONTROLLER, "confirm", move))
    if pins and not request.keep_pin:
        told = [Change(where, "pinned availability zone", zone, str(pin))]
        steps.append(Step("unpin", "restore the server's old availability zone pin", CONTROLLER, "unpin", change, told))
    notes = [f"{method} keeps the server in {zone}: {why}"]
    if not request.confirm:
        notes.append("The server stays in VERIFY_RESIZE (resize_confirm=false): confirm or revert the resize")
    if pins and request.keep_pin:
        notes.append(f"The server stays pinned to {zone} (resize_keep_pin=true)")
    return Plan(kind_of(server.id), request.operation_id, server.name, steps, notes)
