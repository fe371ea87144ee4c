# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cloud that answers what it was given to answer."""

from __future__ import annotations

import types

from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer

HOST = "compute1"


class Cloud:
    """Answers by method and path; what nobody prepared is 404. ``asked``: (path, microversion, params)."""

    def __init__(self, max_microversion=(2, 104)):
        self.answers, self.asked, self.posted = {}, [], []
        data = types.SimpleNamespace(max_microversion=max_microversion)
        for name in ("compute", "placement", "network", "image", "block_storage"):
            setattr(self, name, types.SimpleNamespace(request=self.request, get_endpoint_data=lambda: data))
        self.service_catalog = [{"type": "compute"}]
        self.gives("/os-services", services=[])
        self.gives("/servers", servers=[])
        self.gives("/servers/detail", servers=[])
        self.gives("/os-migrations", migrations=[])
        self.gives("/os-hypervisors/detail", hypervisors=[hypervisor(HOST)])
        self.gives("/resource_providers", resource_providers=[provider("rp")])
        self.gives("/resource_providers/rp/allocations", allocations={})

    def gives(self, path, status=200, **body):
        self.answers[path] = lambda _params: Answer(status, body)

    def request(self, path, method, microversion=None, params=None, json=None, **_given):
        self.asked.append((path, microversion, dict(params or {})))
        if method == "POST":
            self.posted.append((path, microversion, json))
        answer = self.answers.get(path)
        return answer(params or {}) if answer else Answer(404, {"itemNotFound": {"message": "not found"}})


def hypervisor(host):
    return {"id": "rp", "hypervisor_hostname": host, "service": {"host": host}, "hypervisor_type": "QEMU"}


def provider(uuid):
    return {"uuid": uuid, "name": HOST, "generation": 1, "root_provider_uuid": uuid, "parent_provider_uuid": None}
