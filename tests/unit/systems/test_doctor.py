# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the doctor reads: of a host, of a cloud behind HTTP, and which rights it looks for in databases."""

from __future__ import annotations

import contextlib
import os
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.doctor import DoctorHost
from ansible_collections.stackguard.nova.plugins.module_utils.model.doctor_host import CephAccess, CephCaps, HostState
from ansible_collections.stackguard.nova.plugins.module_utils.records import answers
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import doctor as api
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ceph import rbd
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import doctor as db
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import schema
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import doctor as host
from ansible_collections.stackguard.nova.tests.unit import doctored
from ansible_collections.stackguard.nova.tests.unit.systems import grant_statements
from ansible_collections.stackguard.nova.tests.unit.zoned_http import serving

KEY = "AQDsecretsecretsecretsecretsecretsecret=="

# --- a host ---------------------------------------------------------------------------------------------------


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "nova.conf"
    # Its default depends on where Nova is installed, which differs from machine to machine.
    state = "[DEFAULT]\nstate_path = /var/lib/nova\n"
    path.write_text(f"{state}[libvirt]\nimages_type = rbd\nimages_rbd_pool = vms\nrbd_user = nova\n")
    return str(path)


def read(tmp_path, **options):
    return host.read_state(host.StateOptions("compute1", **{"state_dir": str(tmp_path / "state"), **options}))


def test_a_host_shows_its_python_its_user_and_where_its_images_are(tmp_path, conf, monkeypatch):
    monkeypatch.setitem(sys.modules, "libvirt", None)
    state = read(tmp_path, nova_conf_files=(conf,), caps=False)
    assert (state.python_path, state.own_uid) == (sys.executable, os.geteuid())
    assert (state.images_type, state.ceph_user, state.nova_conf_files) == ("rbd", "nova", [conf])
    assert (state.libvirt_binding, state.libvirt) == (False, None)
    assert "libvirt" in state.why("libvirt")
    assert state.began <= state.ended


def test_a_nova_conf_that_is_not_there_is_unread_and_so_is_what_follows_from_it(tmp_path):
    state = read(tmp_path, nova_conf_files=(str(tmp_path / "none.conf"),))
    assert (state.nova_conf_files, state.images_type, state.caps) == (None, None, None)
    assert "none.conf" in state.why("nova_conf")


def test_a_host_that_keeps_journals_only_is_asked_for_nothing_else(tmp_path):
    state = read(tmp_path, only_journals=True)
    assert state.journals is not None
    assert (state.libvirt_binding, state.images_type, state.unread) == (None, None, [])


@pytest.mark.parametrize("exists", [True, False])
def test_the_directory_of_journals_is_looked_at_and_never_made(tmp_path, exists):
    if exists:
        (tmp_path / "a").mkdir(mode=0o750)
    found = host.directory(str(tmp_path / "a" / ".." / "a"))
    assert (found.exists, found.nearest) == (exists, str(tmp_path / "a") if exists else str(tmp_path))
    assert found.is_directory and found.writable and found.free_mb > 0
    assert (tmp_path / "a").exists() is exists
    (tmp_path / "file").write_text("")
    assert host.directory(str(tmp_path / "file" / "below")).is_directory is False


class FakeCeph:
    def __init__(self, answer):
        self.answer, self.asked = answer, []

    via = rbd.LIBRARY

    def fsid(self):
        return "1f0a"

    def caps(self, entity):
        self.asked.append(entity)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("reader", [None, "admin"])
def test_caps_are_read_by_auth_get_and_the_key_stays_where_it_is(tmp_path, conf, monkeypatch, reader):
    caps = {"mon": "profile rbd", "osd": "profile rbd", "mds": "allow rw"}
    ceph = FakeCeph([{"entity": "client.nova", "key": KEY, "caps": caps}])
    opened = []

    @contextlib.contextmanager
    def connect(options):
        opened.append(options.user)
        yield ceph

    monkeypatch.setattr(rbd, "connect", connect)
    state = read(tmp_path, nova_conf_files=(conf,), ceph_reader=reader)
    assert state.caps == CephCaps("client.nova", "profile rbd", "profile rbd", "", {"mds": "allow rw"})
    assert state.ceph == CephAccess("1f0a", "library")
    # Ceph is reached as nova-compute reaches it, whoever reads the caps.
    assert (opened, ceph.asked) == (["nova", reader or "nova"], ["client.nova"])
    assert KEY not in repr(state) + repr(facts.to_plain(state))


def test_a_ceph_that_does_not_answer_is_unread(tmp_path, conf, monkeypatch):
    def connect(_options):
        raise rbd.CephError("Ceph pool vms: no such keyring")

    monkeypatch.setattr(rbd, "connect", connect)
    state = read(tmp_path, nova_conf_files=(conf,), caps=False)
    assert (state.ceph, state.why("ceph")) == (None, "Ceph pool vms: no such keyring")


def test_each_pool_of_volumes_is_listed_as_a_run_does(tmp_path, conf, monkeypatch):
    users = []

    class Ceph(FakeCeph):
        def __init__(self, pool):
            self.pool = pool

        def names(self):
            if self.pool == "ssd":
                raise rbd.CephError("list the pool: [errno 1]")
            return []

    def connect(options):
        users.append(options.user)
        return contextlib.nullcontext(Ceph(options.pool))

    monkeypatch.setattr(rbd, "connect", connect)
    state = read(tmp_path, nova_conf_files=(conf,), caps=False, ceph_user="x", volume_pools=("ssd", "volumes"))
    assert (state.volume_pools["volumes"], bool(state.volume_pools["ssd"]), users[0]) == ("", True, "x")


@pytest.mark.parametrize(
    "answer",
    [rbd.CephError("auth get: error -13: access denied"), [], [{"entity": "client.other", "caps": {}}], {"key": KEY}],
)
def test_caps_that_may_not_be_read_are_unread(tmp_path, conf, monkeypatch, answer):
    monkeypatch.setattr(rbd, "connect", lambda _options: contextlib.nullcontext(FakeCeph(answer)))
    state = read(tmp_path, nova_conf_files=(conf,))
    assert state.caps is None and state.why("ceph_caps") != "it was not read"
    assert KEY not in repr(state)


def test_auth_get_is_asked_in_both_ways_and_never_by_a_blocklist_command(monkeypatch):
    asked = []
    library = rbd._Library(None, None, None, None)
    monkeypatch.setattr(library, "_command", lambda command, answers=True: asked.append(command))
    library.caps("client.nova")
    commands = rbd._Commands(rbd.RbdOptions("vms"))
    monkeypatch.setattr(commands, "_run", lambda program, words, answers: asked.append([program, *words]))
    commands.caps("client.nova")
    assert asked == [
        {"prefix": "auth get", "entity": "client.nova", "format": "json"},
        ["ceph", "auth", "get", "client.nova"],
    ]


# --- answers --------------------------------------------------------------------------------------------------


def test_a_host_that_left_no_answer_or_a_broken_one_has_failed(tmp_path):
    state = HostState("a/b", "3.11.2", "/usr/bin/python3", 0, "", 1.0, 2.0)
    answers.save(str(tmp_path), answers.HOSTS, DoctorHost("a/b", state))
    answers.save(str(tmp_path), answers.HOSTS, DoctorHost("broken"))
    (tmp_path / answers.HOSTS / "broken.json").write_text("{")
    kept, broken, none = answers.load(str(tmp_path), answers.HOSTS, ["a/b", "broken", "never"])
    assert kept == DoctorHost("a/b", state)
    assert (broken.kind, none.kind, none.reason) == ("failed", "failed", "the check of the host returned no result")
    assert answers.load(None, answers.HOSTS, ["x"])[0].kind == "failed"


# --- a cloud --------------------------------------------------------------------------------------------------


@pytest.fixture
def cloud():
    nova = doctored.Nova()
    with serving(nova, doctored.Handler) as (url, _seen):
        auth = {"auth_url": url, "username": "admin", "password": "p", "project_name": "admin"}
        auth.update(user_domain_name="Default", project_domain_name="Default")
        yield nova, {"auth": auth, "cloud": None, "region_name": None}


def test_an_administrator_is_answered_everywhere_and_nothing_but_get_is_sent(cloud):
    nova, options = cloud
    state = api.read_cloud_state(options)
    assert state.problem is None
    assert (state.user, state.project) == ("admin", "admin")
    assert {probe.part for probe in state.probes} == {"compute_api", "placement_api", "network_api"}
    assert [probe for probe in state.probes if probe.found is None] == []
    assert state.agents == ["Open vSwitch agent"]
    assert state.clock is not None and -3 < state.clock.least <= state.clock.most < 30
    assert {method for method, _path in nova.asked} == {"GET"}


@pytest.mark.parametrize("path", ["/os-services", "/servers/detail", "/resource_providers", "/agents"])
def test_what_is_refused_says_which_request_and_why(cloud, path):
    nova, options = cloud
    nova.refused = path
    state = api.read_cloud_state(options)
    (probe,) = [probe for probe in state.probes if probe.found is None]
    assert path in probe.request and probe.status == 403
    assert "Policy does not allow" in probe.reason


def test_volumes_are_asked_for_where_there_is_a_cinder(cloud, monkeypatch):
    _nova, options = cloud
    assert (api.read_cloud_state(options).cinder, api.read_cloud_state(options).volume_pools) == (False, [])
    shown = {"driver_volume_type": "rbd", "name": "hdd/volume-1"}
    attached = {"id": "a", "volume_id": "1", "connection_info": shown}
    info = {"storage_protocol": "ceph", "location_info": "ceph:/etc/ceph/ceph.conf:f:cinder:volumes"}
    rows = {
        "/volumes/detail": [{"id": "1", "attachments": [{"attachment_id": "a", "host_name": None}]}],
        "/attachments/detail": [attached],
        "/os-services": [],
        "/scheduler-stats/get_pools": [{"capabilities": info}, {"capabilities": {"storage_protocol": "nfs"}}],
    }
    own = api.http.items

    def items(connection, service, path, *rest):
        return rows[path] if service == api.http.VOLUME else own(connection, service, path, *rest)

    monkeypatch.setattr(api.http, "items", items)
    monkeypatch.setattr(api.http, "list_catalog", lambda _cloud: ["compute", "volumev3"])
    state = api.read_cloud_state(options)
    assert (state.cinder, state.hidden_hosts, state.volume_pools) == (True, True, ["hdd", "volumes"])
    assert len([probe for probe in state.probes if probe.part == "volume_api"]) == len(api.VOLUME_PROBES)


def test_a_neutron_without_agents_shows_an_administrator_its_quotas(cloud):
    nova, options = cloud
    nova.empty = "/agents"
    state = api.read_cloud_state(options)
    (probe,) = [probe for probe in state.probes if probe.part == "network_api"]
    assert probe.found and state.agents is None, "an empty list is not taken for none"


def test_no_agents_and_no_quotas_is_no_administrator(cloud):
    nova, options = cloud
    nova.empty, nova.refused = "/agents", "/quotas"
    state = api.read_cloud_state(options)
    (probe,) = [probe for probe in state.probes if probe.part == "network_api"]
    assert (probe.found, probe.status, state.agents) == (None, 403, None)


def test_credentials_that_are_not_taken_are_a_problem_without_a_secret(cloud):
    _nova, options = cloud
    options["auth"].update(auth_url="http://127.0.0.1:1/v3", password="very-secret")
    state = api.read_cloud_state(options)
    assert state.problem is not None and "very-secret" not in state.problem
    assert state.probes == []


def test_a_clock_that_is_wrong_is_seen_in_the_header(cloud):
    nova, options = cloud
    nova.ahead = 3600
    clock = api.read_cloud_state(options).clock
    assert clock is not None and 3500 < clock.least <= clock.most < 3700


# --- rights ---------------------------------------------------------------------------------------------------


def keys(rights):
    return {(right.kind, right.table, right.action, column) for right in rights for column in right.columns}


def test_for_all_operations_the_rights_are_those_of_the_document():
    everything = ("audit", "rename_host", "repair_links", "resize_server", "return_host")
    found = keys(db.wanted(everything, True, True))
    assert {
        (kind, table, "update" if action == "lock" else action, column) for kind, table, action, column in found
    } == (keys(grant_statements.all_grants()))


@pytest.mark.parametrize("operation", ["audit", "return_host"])
def test_who_only_reads_needs_no_update(operation):
    assert {right.action for right in db.wanted([operation], True)} == {"select"}


def test_each_operation_has_rights_of_its_own():
    assert db.wanted(["drain_host", "migrate_server", "evacuate_host"], True) == []
    spec = db.wanted(["resize_server"], True)
    assert {right.table for right in spec} == {"request_specs"}
    assert db.wanted(["pin_servers"], True) == spec
    assert schema.NEUTRON not in {right.kind for right in db.wanted(["rename_host"], False)}
    links = {(right.table, right.action) for right in db.wanted(["repair_links"], True) if right.action != "select"}
    assert links == {
        ("compute_nodes", "update"),
        ("instances", "update"),
        ("migrations", "update"),
        ("services", "lock"),
        ("compute_nodes", "lock"),
    }


def test_a_database_that_refuses_is_a_problem_without_its_password():
    url = "mysql+pymysql://user:very-secret@127.0.0.1:1/nova_api"
    state = db.read_databases_state({"nova_api_db_url": url, "neutron_db_url": url}, ["audit"])
    assert [(found.name, bool(found.problem), found.grants) for found in state.databases] == [
        ("api", True, None),
        ("neutron", True, None),
    ]
    assert state.problem and state.lock is None and state.lock_reason
    assert "very-secret" not in repr(state)
    assert db.read_databases_state({}, ["audit"]).problem == facts.LEFT_OUT[facts.NO_API_DATABASE]
