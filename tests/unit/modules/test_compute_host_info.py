# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""compute_host_info: the module, and what its action plugin keeps on the controller."""

from __future__ import annotations

import hashlib
import inspect
import json
import types

import pytest
import yaml
from ansible.errors import AnsibleConnectionFailure, AnsibleError

from ansible_collections.stackguard.nova.plugins.action import compute_host_info as action
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import facts as host
from ansible_collections.stackguard.nova.plugins.modules import compute_host_info as module
from ansible_collections.stackguard.nova.tests.unit import builders as make
from ansible_collections.stackguard.nova.tests.unit.modules.running import run


def test_the_modules_options_reach_the_reader(monkeypatch):
    seen = []
    read = make.healthy().bundle.hosts["compute1"]
    monkeypatch.setattr(host, "read_host", lambda options, texts: seen.append(options) or read)
    given = {
        "inventory_name": "compute1",
        "resolve_names": ["a"],
        "nova_conf_files": ["/n"],
        "libvirt_uri": "test:///x",
    }
    for check in (False, True):
        answer = run(module.main, given, check)
        assert not answer["changed"]
        assert facts.from_plain(facts.HostFacts, answer["host"]) == read
    assert seen[0] == seen[1]
    assert seen[0] == host.HostOptions("compute1", ("/n",), (), "test:///x", ("a",))


def test_documented_defaults_are_the_defaults():
    documented = yaml.safe_load(module.DOCUMENTATION)["options"]
    for name, option in module.argument_spec().items():
        assert documented[name].get("default") == option.get("default"), name
    options = inspect.signature(host.HostOptions).parameters
    assert list(options["agent_units"].default) == documented["agent_units"]["default"]
    assert list(options["compute_units"].default) == documented["compute_units"]["default"]


# --- the action plugin ------------------------------------------------------------------------------------------


@pytest.fixture
def plugin(tmp_path):
    """The plugin with a host that answers what ``plugin.answer`` is, or raises it."""
    task = types.SimpleNamespace(
        args={"evidence_dir": str(tmp_path), "resolve_names": ["x"]}, async_val=0, check_mode=False
    )
    loader = types.SimpleNamespace(path_dwim=lambda path: path)
    connection = types.SimpleNamespace(_shell=types.SimpleNamespace(tmpdir="/tmp"))
    made = action.ActionModule(task, connection, None, loader, None, None)
    made.calls = []
    made.answer = {"host": facts.to_plain(make.healthy().bundle.hosts["compute1"]), "unread": []}

    def execute(module_name, module_args, task_vars):
        made.calls.append((module_name, module_args))
        if isinstance(made.answer, Exception):
            raise made.answer
        return made.answer

    made._execute_module = execute
    made.act = lambda: made.run(task_vars={"inventory_hostname": "compute1"})
    return made


def test_a_digest_is_returned_and_the_facts_are_kept(plugin, tmp_path):
    result = plugin.act()
    path = tmp_path / "hosts" / "compute1.json"
    assert result == {
        "changed": False,
        "inventory_name": "compute1",
        "path": str(path),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "nova_host": "compute1",
        "domains": 2,
        "directory_uuids": [],
        "domain_uuids": sorted([make.guest(1, 1), make.guest(1, 2)], key=result["domain_uuids"].index),
        "unread": [],
        "volumes": {"uuids": [], "pools": []},
    }
    assert json.loads(path.read_text()) == plugin.answer["host"]
    assert plugin.calls == [
        ("stackguard.nova.compute_host_info", {"inventory_name": "compute1", "resolve_names": ["x"]})
    ]


def test_without_a_directory_the_facts_are_returned(plugin, tmp_path):
    del plugin._task.args["evidence_dir"]
    assert plugin.act() == plugin.answer
    assert list(tmp_path.iterdir()) == []


def test_unread_parts_are_told(plugin):
    plugin.answer["host"].update(domains=None, nova_conf=None, unread=[{"part": "domains", "reason": "why"}])
    result = plugin.act()
    assert (result["domains"], result["domain_uuids"], result["nova_host"]) == (None, [], None)
    assert result["unread"] == [{"part": "domains", "reason": "why"}]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"unreachable": True, "msg": "no route"}, "unreachable: no route"),
        ({"failed": True, "msg": "python is missing"}, "failed: python is missing"),
        ({"failed": True}, "failed: no reason was given"),
    ],
)
def test_a_host_that_does_not_answer_is_evidence_too(plugin, tmp_path, answer, reason):
    evidence.save_host(str(tmp_path), "compute1", plugin.answer["host"])
    plugin.answer = answer
    assert plugin.act() == answer
    loaded = evidence.load_dir(str(tmp_path))
    assert (loaded.hosts, loaded.unreachable) == ({}, {"compute1": reason})


def test_a_lost_connection_is_noted_and_stays_one(plugin, tmp_path):
    plugin.answer = AnsibleConnectionFailure("no route to host")
    with pytest.raises(AnsibleConnectionFailure):
        plugin.act()
    assert evidence.load_dir(str(tmp_path)).unreachable == {"compute1": "unreachable: no route to host"}


def test_what_ansible_itself_cannot_do_is_noted_too(plugin, tmp_path):
    evidence.save_host(str(tmp_path), "compute1", plugin.answer["host"])
    plugin.answer = AnsibleError("become is not possible")
    with pytest.raises(AnsibleError):
        plugin.act()
    loaded = evidence.load_dir(str(tmp_path))
    assert (loaded.hosts, loaded.unreachable) == ({}, {"compute1": "failed: become is not possible"})


def test_facts_that_cannot_be_understood_are_a_failure(plugin, tmp_path):
    plugin.answer["host"]["memory"] = 1
    result = plugin.act()
    assert result["failed"]
    assert "HostFacts" in result["msg"] or "memory" in result["msg"]
    assert "compute1" in evidence.load_dir(str(tmp_path)).unreachable


def test_definitions_are_kept_by_their_own_digest_and_not_returned(plugin, tmp_path):
    text = "<domain></domain>"
    digest = hashlib.sha256(text.encode()).hexdigest()
    plugin.answer["definitions"] = {digest: text}
    result = plugin.act()
    assert (tmp_path / "definitions" / f"{digest}.xml").read_text() == text
    assert "definitions" not in result


def test_a_definition_under_another_name_is_a_failure_and_leaves_nothing(plugin, tmp_path):
    plugin.answer["definitions"] = {"../../outside": "x"}
    result = plugin.act()
    assert result["failed"]
    assert "definitions" in result["msg"]
    assert list(tmp_path.glob("definitions")) == []
    assert (tmp_path / "unreachable" / "compute1.json").exists()
