# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of a drain with OVN, against real ovsdb-servers and a real ovn-northd.

The chassis of an emptied host is read back under its new hostname, or the run stops before the service is enabled.
"""

from __future__ import annotations

import dataclasses
import time
import types

import pytest
from ovn_servers import Controller, OvnServers

from ansible_collections.stackguard.nova.plugins.module_utils.engine import runner
from ansible_collections.stackguard.nova.plugins.module_utils.engine import systems as kernel
from ansible_collections.stackguard.nova.plugins.module_utils.model.names import Names
from ansible_collections.stackguard.nova.plugins.module_utils.rename.drain import steps as rename_by_drain
from ansible_collections.stackguard.nova.plugins.module_utils.rename.ovn import drain_plan as plans
from ansible_collections.stackguard.nova.plugins.module_utils.rename.ovn import drain_steps as steps
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn import reading, southbound

OLD, NEW, OTHER = "compute1", "renamed1", "compute2"


class Scene:
    """An emptied host whose Open vSwitch says the new name by now, another host, and the step that verifies."""

    def __init__(self, servers):
        self.servers = servers
        self.name, self.other = servers.chassis(OLD, 1), servers.chassis(OTHER, 2)
        servers.ports(OTHER, ["moved"])
        self.external_ids = {"system-id": self.name, "hostname": OLD}
        self.controller = Controller(servers, self.name, OLD, [])
        self.stranger = Controller(servers, self.other, OTHER, ["moved"])
        host = types.SimpleNamespace(ovs_external_ids=dict(self.external_ids))
        self.at_end = []
        facts = reading.read_ovn(servers.options, [OLD, NEW], probe=True)
        names = (Names(OLD, OLD, OLD), Names(NEW, NEW, NEW))
        (self.step,) = plans.steps(facts, host, names, [], 5)

    def rename(self):
        """What the step host_names does to Open vSwitch."""
        self.external_ids["hostname"] = self.controller.hostname = NEW

    def systems(self):
        host = types.SimpleNamespace(
            facts=lambda _arguments: types.SimpleNamespace(ovs_external_ids=dict(self.external_ids), unread=[])
        )
        return kernel.Systems(self.servers.options, host, {}, time.sleep, time.monotonic, at_end=self.at_end)

    def verify(self, timeout=5):
        params = {**self.step.params, "timeout": timeout}
        return steps.actions(self.systems())["ovn_chassis"].apply(params, {})

    def hostname(self):
        return {row.name: row.hostname for row in southbound.read_chassis(self.stranger._database)}[self.name]

    def until(self, what):
        end = time.monotonic() + 10
        while not what():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.01)

    def close(self):
        for each in (self.controller, self.stranger):
            each.close()
        for close in self.at_end:
            close()


@pytest.fixture
def scene():
    servers = OvnServers()
    made = None
    try:
        servers.start()
        made = Scene(servers)
        yield made
    finally:
        if made is not None:
            made.close()
        servers.stop()


def test_a_chassis_with_the_new_hostname_passes(scene):
    scene.rename()
    done = scene.verify()
    assert f"chassis {scene.name} has the hostname {NEW}" in done.remark
    assert done.memory["findings"] == []


def test_a_chassis_that_keeps_the_old_hostname_stops_the_run(scene):
    """What the drain did before its host name step changed Open vSwitch: green, and no port could bind to the host."""
    with pytest.raises(runner.StepError, match=f"has the hostname {NEW} .*now: {OLD}"):
        scene.verify(timeout=1)


def test_a_port_that_asks_for_the_old_name_stops_the_run(scene):
    scene.rename()
    scene.servers.ports(OLD, ["stray"])
    with pytest.raises(runner.StepError, match="SG322") as caught:
        scene.verify()
    assert [item.object.id for item in caught.value.checked.findings] == ["stray"]
    scene.servers.update("stray", OTHER)
    scene.verify()


def test_other_tunnel_endpoints_stop_the_run(scene):
    scene.rename()
    scene.until(lambda: scene.hostname() == NEW)
    scene.servers.sb("set", "Encap", f"{_encap(scene)}", "ip=192.0.2.77")
    with pytest.raises(runner.StepError, match="SG318"):
        scene.verify()


def _encap(scene):
    return scene.servers.sb("--bare", "--columns=encaps", "list", "Chassis", scene.name)


def test_another_system_id_stops_the_run(scene):
    scene.rename()
    scene.external_ids["system-id"] = NEW
    with pytest.raises(runner.StepError, match="SG318"):
        scene.verify()


def test_a_controller_that_is_deaf_stops_the_run(scene):
    scene.rename()
    scene.until(lambda: scene.hostname() == NEW)
    scene.controller.paused.set()
    with pytest.raises(runner.StepError, match=f"ovn-controller of {NEW} confirms changes in OVN again"):
        scene.verify(timeout=1)


def test_with_rbac_the_run_writes_the_hostname(scene):
    """ovn-controller may not write it, and fails at everything from then on."""
    scene.controller.may_write_hostname = False
    scene.step = dataclasses.replace(scene.step, params={**scene.step.params, "rbac": True})
    scene.rename()
    scene.verify()
    assert scene.hostname() == NEW


def test_a_database_that_does_not_answer_is_no_proof(scene):
    scene.rename()
    scene.servers.access = dataclasses.replace(scene.servers.access, southbound="unix:/nonexistent/sb.sock")
    with pytest.raises(runner.StepError, match="OVN_Southbound"):
        scene.verify()


def test_it_can_be_carried_out_again(scene):
    scene.rename()
    assert scene.verify().remark == scene.verify().remark


@pytest.mark.parametrize("action", ["drain_audit", "new_service_status"])
def test_a_resume_at_a_later_step_reads_the_chassis_again(scene, action, monkeypatch):
    """The chassis was verified, the run was killed, and a deployment tool took the hostname back."""
    done = []
    monkeypatch.setattr(rename_by_drain.compute_services, "set_service_status", lambda *_arguments: done.append(1))
    monkeypatch.setattr(kernel.Systems, "cloud", None)
    later = rename_by_drain.actions(scene.systems(), None)[action]
    params = {"ovn": dict(scene.step.params), "status": "enabled", "reason": None}
    memory = {"register": {"service_id": "service", "provider": "node"}}
    scene.rename()
    scene.verify()
    scene.external_ids["hostname"] = scene.controller.hostname = OLD
    scene.until(lambda: scene.hostname() == OLD)
    with pytest.raises(runner.StepError, match="SG318"):
        later.apply(params, memory)
    assert done == []


def test_with_the_chassis_proven_again_the_service_is_enabled(scene, monkeypatch):
    done = []
    monkeypatch.setattr(rename_by_drain.compute_services, "set_service_status", lambda *_arguments: done.append(1))
    monkeypatch.setattr(kernel.Systems, "cloud", None)
    later = rename_by_drain.actions(scene.systems(), None)["new_service_status"]
    memory = {"register": {"service_id": "service", "provider": "node"}}
    scene.rename()
    scene.verify()
    later.apply({"ovn": dict(scene.step.params), "status": "enabled", "reason": None}, memory)
    assert done == [1]
    later.apply({"status": "enabled", "reason": None}, memory)
    assert done == [1, 1], "a journal of an earlier version, and a host without OVN"
