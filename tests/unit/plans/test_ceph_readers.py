# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who looks into Ceph: one host for each cluster and pool, never the first that answered."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import ceph_readers
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence
from ansible_collections.stackguard.nova.tests.unit.builders import healthy
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD


def sees(fsid, pool, images=()):
    return facts.RbdFacts("library", fsid, pool, [], None if images is None else list(images), None, opened=False)


def cloud():
    """compute1 and compute2 of az1, compute3 of az2, compute4 of another pool, compute5 with local disks."""
    some = healthy(hosts=6, guests=0)
    for number, place in enumerate([("f", "vms"), ("f", "vms"), ("g", "vms"), ("f", "ssd")], 1):
        some = some.host(f"compute{number}", rbd=sees(*place))
    return some


def chosen(some, *exclude):
    return [(reader.name, reader.fsid, reader.pool) for reader in ceph_readers.readers(some.bundle, exclude)]


def test_each_cluster_and_pool_has_one_reader():
    assert chosen(cloud()) == [("compute4", "f", "ssd"), ("compute1", "f", "vms"), ("compute3", "g", "vms")]


def test_the_host_that_comes_back_and_one_that_ceph_refuses_are_none():
    assert chosen(cloud(), "compute1")[1] == ("compute2", "f", "vms")
    assert chosen(cloud().host("compute1", rbd=sees("f", "vms", None)))[1] == ("compute2", "f", "vms")
    assert chosen(cloud(), "compute3") == [("compute4", "f", "ssd"), ("compute1", "f", "vms")]
    assert chosen(cloud().host("compute3", rbd=dataclasses.replace(sees("g", "vms"), fsid=None))) == [
        ("compute4", "f", "ssd"),
        ("compute1", "f", "vms"),
    ]


@pytest.mark.ansible
def test_as_a_task(tmp_path):
    for name, found in cloud().bundle.hosts.items():
        evidence.save_host(str(tmp_path / "evidence"), name, found)
    given = {"evidence_dir": str(tmp_path / "evidence"), "exclude": ["compute1"]}
    tasks = [
        {"stackguard.nova.ceph_readers": given, "register": "told"},
        {"ansible.builtin.copy": {"content": "{{ told | to_json }}", "dest": str(tmp_path / "told")}},
    ]
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
    (tmp_path / "play.json").write_text(json.dumps([play]))
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
    argv = [sys.executable, "-m", "ansible", "playbook", str(tmp_path / "play.json")]
    done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads((tmp_path / "told").read_text())
    assert told["names"] == ["compute4", "compute2", "compute3"]
    assert told["readers"][1] == {"name": "compute2", "fsid": "f", "pool": "vms"}
