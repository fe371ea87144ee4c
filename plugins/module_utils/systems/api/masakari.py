# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hosts of Masakari's failover segments."""

from __future__ import annotations

import typing as t

from ...model import facts
from . import http

#: Service type of Masakari.
HA = "instance-ha"


def list_ha_hosts(connection: t.Any, wanted: t.Callable[[str], bool]) -> t.List[facts.HaHost]:
    """Return the hosts of all failover segments whose names are wanted."""
    return [
        facts.HaHost(str(item["uuid"]), str(item["name"]), str(segment["name"]))
        for segment in _all_pages(connection, "/segments", "segments")
        for item in _all_pages(connection, f"/segments/{segment['uuid']}/hosts", "hosts")
        if wanted(item["name"])
    ]


def delete_ha_host(connection: t.Any, identity: str, name: str) -> bool:
    """Delete a host of a failover segment; return whether it was there. Raises ApiError.

    Masakari refuses it while it recovers a host of the segment. Another name under this uuid is another host's.
    """
    for segment in _all_pages(connection, "/segments", "segments"):
        path = f"/segments/{segment['uuid']}/hosts"
        for item in _all_pages(connection, path, "hosts"):
            if str(item["uuid"]) == identity and item["name"] == name:
                http.delete_if_there(connection, http.HA, f"{path}/{identity}")
                return True
    return False


def _all_pages(connection: t.Any, path: str, key: str) -> t.Iterator[t.Dict[str, t.Any]]:
    """Masakari pages without saying so: the next page is asked for until one is empty."""
    params: t.Dict[str, t.Any] = {}
    for _page in range(http.MAX_PAGES):
        page = http.items(connection, http.HA, path, key, params=params)
        if not page or page[-1]["uuid"] == params.get("marker"):
            return
        yield from page
        params = {"marker": page[-1]["uuid"]}
