# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a host reaches the Ceph of its nova-compute, which may have its configuration in a container only."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import guard_snapshots, places, rbd
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import deployment, nova_compute
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.container_files import ContainerFiles
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.reading import ReadError
from ansible_collections.stackguard.nova.tests.unit import builders, deployed
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

HOST = nova_compute.Service("nova-compute", [], 900, True)
CONTAINED = nova_compute.Service("nova-compute", [], 900, False)
STOPPED = nova_compute.Service("nova-compute", [], None, True)
NOVA = dataclasses.replace(
    builders.healthy().bundle.hosts["compute1"].nova_conf, files=[nova_compute.KOLLA_CONF], images_rbd_ceph_conf=None
)
PACKAGED = dataclasses.replace(NOVA, files=["/etc/nova/nova.conf"])
WORDS = ("podman", "exec", deployed.ID)


@pytest.fixture
def found(monkeypatch):
    """Files of the container that are somewhere on the host."""
    known = {}
    monkeypatch.setattr(ContainerFiles, "on_host", lambda _self, path: known.get(path))
    monkeypatch.setattr(deployment, "control_groups", lambda *_given: [deployed.SCOPES["podman"]])
    return known


def test_on_the_host_itself_paths_are_the_hosts(found):
    nova = dataclasses.replace(PACKAGED, images_rbd_ceph_conf="/etc/ceph/x.conf")
    for service in (HOST, STOPPED):
        assert places.options(nova, service) == rbd.RbdOptions("vms", "nova", "/etc/ceph/x.conf")
        assert places.options(PACKAGED, service) == rbd.RbdOptions("vms", "nova", None)


@pytest.mark.parametrize("named", [None, "/etc/ceph/x.conf"])
def test_a_file_of_the_container_is_read_where_the_host_has_it(found, named):
    inside = named or "/etc/ceph/ceph.conf"
    found[inside] = "/etc/kolla/nova-compute/x.conf"
    nova = dataclasses.replace(NOVA, images_rbd_ceph_conf=named)
    running = places.options(nova, CONTAINED)
    assert (running.conf, running.inside, running.command) == ("/etc/kolla/nova-compute/x.conf", inside, ())
    assert running.files == ContainerFiles(900, "/etc/kolla/nova-compute", WORDS)
    stopped = places.options(nova, STOPPED)
    assert (stopped.conf, stopped.files) == (running.conf, ContainerFiles(None, "/etc/kolla/nova-compute"))
    other = places.options(dataclasses.replace(nova, files=["/opt/nova.conf"]), CONTAINED)
    assert other.files == ContainerFiles(900, None, WORDS)


def test_a_file_that_is_on_no_known_path_is_an_error_and_never_the_hosts_own(found):
    for service in (CONTAINED, STOPPED):
        with pytest.raises(
            ReadError,
            match=r"/etc/ceph/ceph\.conf",
            check=problem_is("path-in-container-unknown"),
        ):
            places.options(NOVA, service)


def test_what_the_operator_gives_is_the_hosts(found):
    given = places.options(NOVA, CONTAINED, "pool", "me", "/root/ceph.conf")
    assert (given.pool, given.user, given.conf, given.inside) == ("pool", "me", "/root/ceph.conf", None)
    assert given.files is not None, "the keyring may still be the container's"
    words = places.options(NOVA, CONTAINED, None, None, None, ["docker", "exec", "nova_compute"])
    assert words == rbd.RbdOptions("vms", "nova", None, ("docker", "exec", "nova_compute"))


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (deployed.SCOPES["docker"], ("docker", "exec", deployed.ID)),
        (f"/kubepods/burstable/pod8/{deployed.ID}", ()),
        ("/system.slice/snap.openstack-hypervisor.nova-compute.service", ()),
    ],
)
def test_commands_run_in_the_containers_of_known_engines_only(found, monkeypatch, group, words):
    found["/etc/ceph/ceph.conf"] = "/x"
    monkeypatch.setattr(deployment, "control_groups", lambda *_given: [group])
    assert places.options(NOVA, CONTAINED).files.command == words


def test_a_process_that_has_ended_has_no_container(found, monkeypatch):
    def gone(*_given):
        raise FileNotFoundError

    found["/etc/ceph/ceph.conf"] = "/x"
    monkeypatch.setattr(deployment, "control_groups", gone)
    assert places.options(NOVA, CONTAINED).files.command == ()


# --- guards and blocklists: pool and user may be given -----------------------------------------------------------


@pytest.fixture
def serving(monkeypatch, found):
    monkeypatch.setattr(nova_compute, "find_service", lambda *_names: CONTAINED)
    monkeypatch.setattr(nova_compute, "load", lambda *_given: None)
    monkeypatch.setattr(nova_compute, "nova_facts", lambda *_given: NOVA)


def test_pool_and_user_do_not_say_where_ceph_is(serving, found):
    found["/etc/ceph/ceph.conf"] = "/etc/kolla/nova-compute/ceph.conf"
    where = guard_snapshots.options_of((), (), "pool", "me")
    assert (where.pool, where.user, where.conf) == ("pool", "me", "/etc/kolla/nova-compute/ceph.conf")
    assert guard_snapshots.options_of((), ()).pool == "vms"


def test_a_host_without_nova_needs_pool_and_user_only(serving, monkeypatch):
    def load(*_given):
        raise ReadError("no nova.conf was found")

    monkeypatch.setattr(nova_compute, "load", load)
    assert guard_snapshots.options_of((), (), "pool", "me") == rbd.RbdOptions("pool", "me", None)
    for pool, user in ((None, "me"), ("pool", None)):
        with pytest.raises(ReadError, match=r"no nova\.conf"):
            guard_snapshots.options_of((), (), pool, user)
