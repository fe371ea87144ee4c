# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the host has a file of nova-compute's container: while it runs, when it is stopped, and where nobody knows."""

from __future__ import annotations

import json

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.container_files import ContainerFiles, copies
from ansible_collections.stackguard.nova.tests.unit import deployed

FOLDER = "/etc/kolla/nova-compute"
CONF = "/etc/ceph/ceph.conf"


def kolla(tmp_path, running=True, entries=(("ceph.conf", CONF),)):
    tree = deployed.kolla(tmp_path, running=running)
    pairs = [{"source": f"/var/lib/kolla/config_files/{source}", "dest": target} for source, target in entries]
    return tree.file(f"{FOLDER}/config.json", json.dumps({"config_files": pairs}))


def files(tree, pid=None):
    return ContainerFiles(pid, FOLDER, (), str(tree.proc), str(tree.root))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (("ceph.conf", CONF), {CONF: f"{FOLDER}/ceph.conf"}),
        (("ceph.conf", "/etc/ceph/"), {CONF: f"{FOLDER}/ceph.conf"}),
        # kolla-ansible until Wallaby
        (("ceph*", "/etc/ceph/"), {CONF: f"{FOLDER}/ceph.conf", "/etc/ceph/ceph.key": f"{FOLDER}/ceph.key"}),
        (("more", "/opt/more"), {"/opt/more/a": f"{FOLDER}/more/a", "/opt/more/b/c": f"{FOLDER}/more/b/c"}),
        (("more", "/opt/"), {"/opt/more/a": f"{FOLDER}/more/a", "/opt/more/b/c": f"{FOLDER}/more/b/c"}),
        (("missing", "/opt/missing"), {}),
        (("none*", "/opt/"), {}),
    ],
)
def test_what_kolla_copies(tmp_path, entry, expected):
    tree = kolla(tmp_path, entries=[entry])
    for name in ("ceph.conf", "ceph.key", "more/a", "more/b/c"):
        tree.file(f"{FOLDER}/{name}")
    assert copies(FOLDER, str(tree.root)) == expected


@pytest.mark.parametrize("text", ["{", "[]", '{"config_files": [{"source": "/var/lib/kolla/config_files/a"}]}', "{}"])
def test_a_list_that_cannot_be_parsed_copies_nothing(tmp_path, text):
    tree = deployed.kolla(tmp_path).file(f"{FOLDER}/config.json", text)
    assert copies(FOLDER, str(tree.root)) == {}
    assert copies("/nowhere", str(tree.root)) == {}


def test_a_source_outside_the_directory_is_not_looked_for(tmp_path):
    tree = deployed.kolla(tmp_path).file("/etc/shadow")
    pairs = [{"source": "/etc/shadow", "dest": "/opt/shadow"}]
    tree.file(f"{FOLDER}/config.json", json.dumps({"config_files": pairs}))
    assert copies(FOLDER, str(tree.root)) == {}


def test_a_stopped_container_has_what_it_copies_at_its_next_start(tmp_path):
    tree = kolla(tmp_path, running=False).file(f"{FOLDER}/ceph.conf")
    assert files(tree).on_host(CONF) == f"{tree.root}{FOLDER}/ceph.conf"
    # The host's own file of that name is another one.
    tree.file("/etc/ceph/ceph.client.nova.keyring")
    assert files(tree).on_host("/etc/ceph/ceph.client.nova.keyring") is None


def test_a_running_container_has_what_it_has_now(tmp_path):
    tree = kolla(tmp_path).file(f"{FOLDER}/ceph.conf", "next").file("/etc/ceph/ceph.conf", "of the host")
    assert files(tree, 900).on_host(CONF) == f"{tree.root}{FOLDER}/ceph.conf", "not there yet"
    inside = tree.root / "merged" / "etc" / "ceph"
    inside.mkdir(parents=True)
    (inside / "ceph.conf").write_text("now")
    assert files(tree, 900).on_host(CONF) == f"{tree.proc}/900/root{CONF}"
    # In a volume: the host's own path of that lasts longer than the process.
    volume = f"{tree.root}{deployed.VOLUMES['podman']}/nova_compute/_data/compute_id"
    assert files(tree, 900).on_host("/var/lib/nova/compute_id") == volume
    assert files(tree, 900).on_host("/etc/ceph/other.conf") is None


def test_without_kolla_only_a_running_container_is_known(tmp_path):
    tree = deployed.edpm(tmp_path)
    inside = tree.root / "merged" / "etc"
    inside.mkdir()
    (inside / "ceph.conf").write_text("now")
    running = ContainerFiles(900, None, (), str(tree.proc), str(tree.root))
    assert running.on_host("/etc/ceph.conf") == f"{tree.proc}/900/root/etc/ceph.conf"
    assert ContainerFiles(None, None, (), str(tree.proc), str(tree.root)).on_host("/etc/ceph.conf") is None
