# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which ports have a binding that a failed live migration left."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import network

PORTS = {"p1": "server1", "p2": "server1", "p3": "server2", "gone": "server2"}


def test_only_inactive_ones_are_returned_by_server(monkeypatch: pytest.MonkeyPatch) -> None:
    active = {"host": "compute1", "status": "ACTIVE", "vif_type": "ovs"}
    bindings = {
        "p1": [active, {"host": "compute2", "status": "INACTIVE"}],
        "p2": [active, {"host": "compute3", "status": "INACTIVE"}],
        "p3": [active],
    }
    asked: list[t.Any] = []

    def list_ports(_cloud: t.Any, devices: t.Sequence[str]) -> list[facts.ApiPort]:
        asked.append(list(devices))
        return [
            facts.ApiPort(port, "compute1", "ovs", "ACTIVE", server, "compute:az1")
            for port, server in PORTS.items()
            if server in devices
        ]

    def get_or_none(_cloud: t.Any, service: str, path: str) -> t.Optional[dict[str, t.Any]]:
        assert service == "network"
        found = bindings.get(path.split("/")[2])
        return None if found is None else {"bindings": found}

    monkeypatch.setattr(network, "list_ports", list_ports)
    monkeypatch.setattr(network.http, "get_or_none", get_or_none)
    monkeypatch.setattr(network, "PORT_DEVICES", 1)
    assert network.inactive_bindings(object(), ["server1", "server2"]) == {"server1": ["compute2", "compute3"]}
    assert asked == [["server1"], ["server2"]]
