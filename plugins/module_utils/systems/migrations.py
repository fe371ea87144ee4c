# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What moves of servers within their zones ask of the APIs, and of the evidence that the hosts left."""

from __future__ import annotations

import dataclasses
import typing as t
import uuid as uuids

from ansible_collections.stackguard.nova.plugins.module_utils import evidence, facts
from ansible_collections.stackguard.nova.plugins.module_utils.checks.migration import Evidence
from ansible_collections.stackguard.nova.plugins.module_utils.systems import cloud_reads, evacuations, http, zones

#: Agents, ports and the catalogue decide nothing here.
PARTS = tuple(part for part in cloud_reads.PARTS if part not in ("catalog", "agents", "ports"))


def candidates(connection: t.Any, given: t.Any) -> t.List[facts.ApiServer]:
    """Return the servers among which a selection chooses: those of these uuids, or all of the cloud.

    Raises :class:`ApiError`.
    """
    words = given if isinstance(given, list) else []
    if words and all(_is_uuid(str(word)) for word in words):
        found = evacuations.each([str(word) for word in words], lambda uuid: zones.get_server(connection, uuid))
        return [server for server in found.values() if server is not None]
    microversion = zones.servers_microversion(connection)
    items = http.pages(connection, http.COMPUTE, "/servers/detail", "servers", microversion, {"all_tenants": "1"})
    return [cloud_reads.server_of(item, whole=True) for item in items]


def _is_uuid(word: str) -> bool:
    try:
        uuids.UUID(word)
    except ValueError:
        return False
    return True


def collect(
    connection: t.Any,
    directory: str,
    sources: t.Sequence[str],
    wanted: t.Optional[t.Collection[str]],
    api_db_url: t.Optional[str] = None,
) -> Evidence:
    """Return what decides the move of the servers of ``sources``: all of them, or those of ``wanted``.

    Hosts are taken as they were read into ``directory``. Raises :class:`FactsError` for what is there and is no
    evidence; what the APIs do not answer is told as unread.
    """
    cloud = cloud_reads.read_cloud(connection, sources, PARTS)
    servers = [
        server for server in cloud.servers or [] if server.host in sources and (wanted is None or server.id in wanted)
    ]
    about = evacuations.read_evacuation(connection, cloud, "", servers)
    bundle = dataclasses.replace(evidence.load_dir(directory, cloud.read_at), cloud=cloud)
    return Evidence(bundle, about, zones.read_zones(connection, servers, api_db_url, whole=False))
