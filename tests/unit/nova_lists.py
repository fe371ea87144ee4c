# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What Nova lists while a cell does not answer: one rule for every Nova of the tests.

Read in releases 26 to 34: api/openstack/compute/servers.py (_is_cell_down_supported), compute/api.py (get_all,
_service_get_all_cells), api/openstack/compute/migrations.py.
"""

from __future__ import annotations

PAGING_SORTING = frozenset(("limit", "marker", "sort_key", "sort_dir"))
#: [api] max_limit.
MAX_LIMIT = 1000
HOST = "OS-EXT-SRV-ATTR:host"


def _at_least(microversion, least):
    return tuple(int(part) for part in (microversion or "2.1").split(".")) >= least


def names_silent_servers(params, microversion):
    """Whether Nova names the servers of a silent cell: never in a list that is paged, sorted or filtered."""
    filters = sorted(set(params) - PAGING_SORTING)
    return _at_least(microversion, (2, 69)) and not PAGING_SORTING & set(params) and filters in ([], ["all_tenants"])


def list_servers(rows, params=None, microversion=None, silent=(), max_limit=MAX_LIMIT):
    """Return the answer to GET /servers or /servers/detail.

    ``rows``: servers of the cells that answer, which Nova's filters of this request let pass; ``silent``: uuids of the
    others. Of the filters only C(host) is applied here.
    """
    params = dict(params or {})
    rows = [row for row in rows if "host" not in params or row.get(HOST) == params["host"]]
    if "marker" in params:
        rows = rows[[row["id"] for row in rows].index(params["marker"]) + 1 :]
    limit = min(int(params.get("limit") or max_limit), max_limit)
    page = rows[:limit]
    minimal = []
    if names_silent_servers(params, microversion):
        minimal = [{"id": uuid, "status": "UNKNOWN", "tenant_id": "p", "links": []} for uuid in silent]
        minimal = minimal[: limit - len(page)]
    answer = {"servers": minimal + page}
    if len(rows) > limit:
        answer["servers_links"] = [{"rel": "next"}]
    return answer


def list_services(rows, microversion=None, silent=()):
    """Return the answer to GET /os-services. ``silent``: hosts whose cell does not answer, by the host mappings."""
    there = [row for row in rows if row["host"] not in silent]
    if _at_least(microversion, (2, 69)):
        there += [{"binary": "nova-compute", "host": host, "status": "UNKNOWN"} for host in silent]
    return {"services": there}
