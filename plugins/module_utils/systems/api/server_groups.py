# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Server groups, with their policies and members."""

from __future__ import annotations

import typing as t

from ...model import facts
from ...model.errors import ApiError
from . import http

#: Server groups of all projects, with policy and rules.
GROUPS = "2.64"


def list_groups(connection: t.Any, members: t.Container[str]) -> t.List[facts.ServerGroup]:
    """Return the server groups, of all projects, that have one of these members. The API pages by offset."""
    found: t.List[facts.ServerGroup] = []
    offset = 0
    for _page in range(http.MAX_PAGES):
        params = {"all_projects": "True", "limit": http.PAGE, "offset": offset}
        page = http.items(connection, http.COMPUTE, "/os-server-groups", "server_groups", GROUPS, params)
        found += [_group(item) for item in page if any(member in members for member in item["members"])]
        offset += len(page)
        if not page:
            return sorted(found, key=lambda group: group.id)
    raise ApiError(f"GET compute /os-server-groups: more than {http.MAX_PAGES} pages")


def _group(item: t.Mapping[str, t.Any]) -> facts.ServerGroup:
    limit = (item.get("rules") or {}).get("max_server_per_host")
    return facts.ServerGroup(
        item["id"], item.get("policy"), None if limit is None else int(limit), sorted(item["members"])
    )
