# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is asked of Nova to move a server: the scheduler checks the host."""

from __future__ import annotations

import types

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import server_actions
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer
from ansible_collections.stackguard.nova.tests.unit.zoned import WEB


class Recorder:
    """A Nova that takes whatever it is asked for."""

    def __init__(self, offered):
        self.asked = []
        data = types.SimpleNamespace(max_microversion=offered)
        self.compute = types.SimpleNamespace(request=self.request, get_endpoint_data=lambda: data)

    def request(self, path, method, microversion=None, json=None, **_given):
        self.asked.append((microversion, json))
        return Answer(202)


@pytest.mark.parametrize(
    ("offered", "microversion", "force"),
    [((2, 67), "2.30", {"force": False}), ((2, 68), "2.68", {}), ((2, 104), "2.68", {})],
)
def test_a_live_migration_names_a_host_that_the_scheduler_checks(offered, microversion, force):
    nova = Recorder(offered)
    server_actions.live_migrate(nova, WEB, "compute2")
    body = {"os-migrateLive": {"host": "compute2", "block_migration": "auto", **force}}
    assert nova.asked == [(microversion, body)]


def test_a_cold_migration_names_its_host_too():
    nova = Recorder((2, 104))
    server_actions.cold_migrate(nova, WEB, "compute2")
    assert nova.asked == [("2.56", {"migrate": {"host": "compute2"}})]
