# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small cloud for the doctor: Nova, placement and neutron that answer an administrator, behind HTTP."""

from __future__ import annotations

import email.utils
import time
import types

from ansible_collections.stackguard.nova.tests.unit import zoned_http
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer

SERVICE = {"id": "uuid of compute1", "host": "compute1", "binary": "nova-compute", "state": "up", "status": "enabled"}
LISTS = {
    "/os-services": {"services": [SERVICE]},
    "/os-hypervisors": {"hypervisors": [{"id": "uuid of compute1"}]},
    "/servers/detail": {"servers": []},
    "/os-aggregates": {"aggregates": []},
    "/os-migrations": {"migrations": []},
    "/resource_providers": {"resource_providers": []},
    "/agents": {"agents": [{"id": "a", "agent_type": "Open vSwitch agent"}]},
    "/volumes/detail": {"volumes": []},
    "/attachments/detail": {"attachments": []},
    "/quotas": {"quotas": []},
}


class Nova:
    """``refused``: the path that it may not read; ``empty``: where nothing is; ``ahead``: seconds of its clock."""

    def __init__(self):
        self.asked, self.refused, self.empty, self.ahead = [], None, None, 0
        version = types.SimpleNamespace(max_microversion=(2, 96))
        self.compute = types.SimpleNamespace(get_endpoint_data=lambda: version)

    def request(self, path, method, _microversion=None, _params=None, _body=None):
        self.asked.append((method, path))
        if path == self.refused:
            return Answer(403, {"forbidden": {"message": "Policy does not allow it"}})
        return Answer(200, {key: [] for key in LISTS[path]} if path == self.empty else LISTS[path])

    place = request


class Handler(zoned_http.Handler):
    """With neutron, and a clock."""

    TYPES = (*zoned_http.Handler.TYPES, "network")

    def date_time_string(self, timestamp=None):
        return email.utils.formatdate((timestamp or time.time()) + self.nova.ahead, usegmt=True)

    def network(self, path, params, body):
        if path in ("", "/"):
            links = [{"rel": "self", "href": f"{self.base}/network/v2.0/"}]
            return self.answer(200, {"versions": [{"id": "v2.0", "status": "CURRENT", "links": links}]})
        with self.lock:
            found = self.nova.request(path.removeprefix("/v2.0"), self.command)
        return self.answer(found.status_code, found.json())
