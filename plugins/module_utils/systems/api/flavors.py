# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Flavors: as a server shows its own, and as the cloud lists them."""

from __future__ import annotations

import typing as t

from ...model import facts
from . import http

Item = t.Mapping[str, t.Any]

#: Flavors with their extra specs.
FLAVORS = "2.61"


def flavor_of(item: t.Optional[Item]) -> t.Optional[facts.ServerFlavor]:
    """Build the flavor that a server carries (microversion 2.47 and later); None where it shows only an id."""
    if not item or "ram" not in item:
        return None
    # Nova answers an empty string for no swap in flavors, and a number in servers.
    sizes = {name: int(item.get(name) or 0) for name in ("vcpus", "ram", "disk", "ephemeral", "swap")}
    specs = item.get("extra_specs")
    return facts.ServerFlavor(
        **sizes, name=item.get("original_name"), extra_specs=None if specs is None else dict(specs)
    )


def find_flavor(connection: t.Any, word: str) -> t.Optional[t.Tuple[str, facts.ServerFlavor]]:
    """Return id and content of the flavor of this id or name; None: there is none."""
    params = {"is_public": "None"}
    items = list(http.pages(connection, http.COMPUTE, "/flavors/detail", "flavors", FLAVORS, params))
    found = [item for item in items if item["id"] == word] or [item for item in items if item["name"] == word]
    if not found:
        return None
    item = found[0]
    flavor = facts.ServerFlavor(
        vcpus=int(item["vcpus"]),
        ram=int(item["ram"]),
        disk=int(item["disk"]),
        ephemeral=int(item.get("OS-FLV-EXT-DATA:ephemeral") or 0),
        swap=int(item.get("swap") or 0),
        name=item["name"],
        extra_specs=dict(item.get("extra_specs") or {}),
    )
    return item["id"], flavor
