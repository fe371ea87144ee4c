# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory plugin, through ansible-inventory and ansible-playbook, against a small Nova behind HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types

import pytest
import yaml

from ansible_collections.stackguard.nova.plugins.inventory import compute
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import StackguardError
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT
from ansible_collections.stackguard.nova.tests.unit.small_nova import Answer
from ansible_collections.stackguard.nova.tests.unit.zoned_http import serving

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

SECRET = "very-secret-password"


def service(host, zone="nova", **more):
    base = {"id": f"uuid of {host}", "host": host, "binary": "nova-compute", "state": "up", "status": "enabled"}
    return {**base, "zone": zone, "forced_down": False, "disabled_reason": None, "updated_at": None, **more}


class Nova:
    def __init__(self, *services):
        self.services, self.asked, self.status = list(services), [], 200
        version = types.SimpleNamespace(max_microversion=(2, 96))
        self.compute = types.SimpleNamespace(get_endpoint_data=lambda: version)

    def request(self, path, method, microversion, params, _body):
        self.asked.append((method, path, microversion))
        assert (method, path, params) == ("GET", "/os-services", {"binary": "nova-compute"})
        if self.status != 200:
            return Answer(self.status, {"forbidden": {"message": "Policy does not allow it"}})
        return Answer(200, {"services": self.services})


FLEET = (
    service("compute1.example", "az1"),
    service("compute2.example", "az1", status="disabled", disabled_reason="{{ 7 * 6 }}"),
    service("compute3.example", "az-2", state="down", forced_down=True),
)


@pytest.fixture
def nova():
    return Nova(*FLEET)


@pytest.fixture
def run(tmp_path, short_tmp, nova):
    with serving(nova) as (url, _seen):
        auth = {"auth_url": url, "username": "admin", "password": SECRET, "project_name": "admin"}
        auth.update(user_domain_name="Default", project_domain_name="Default")
        (tmp_path / "clouds.yaml").write_text(json.dumps({"clouds": {"mine": {"auth": auth}}}))

        def program(*words, cloud="mine", env=None, **options):
            given = {"plugin": "stackguard.nova.compute", "cloud": cloud, **options}
            (tmp_path / "nova_compute.yml").write_text(yaml.safe_dump(given))
            argv = [sys.executable, "-m", "ansible", *words]
            known = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_NOCOLOR": "1"}
            known.update(ANSIBLE_HOME=str(tmp_path / "home"), TMPDIR=str(short_tmp), **(env or {}))
            done = subprocess.run(argv, env=known, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert SECRET not in done.stdout + done.stderr
            assert "Traceback" not in done.stdout + done.stderr
            return done

        yield program


@pytest.fixture
def listed(run):
    def inventory(**options):
        done = run("inventory", "-i", "nova_compute.yml", "--list", **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout, object_hook=text)

    return inventory


def text(found):
    """What Nova says is marked as text that is no template."""
    return found["__ansible_unsafe"] if set(found) == {"__ansible_unsafe"} else found


def names(found, group="compute"):
    return sorted(found.get(group, {}).get("hosts", []))


def test_every_compute_service_is_a_host_of_compute_and_of_its_zone(listed, nova):
    found = listed()
    assert names(found) == ["compute1.example", "compute2.example", "compute3.example"]
    assert names(found, "zone_az1") == ["compute1.example", "compute2.example"]
    assert names(found, "zone_az_2") == ["compute3.example"]
    variables = found["_meta"]["hostvars"]["compute3.example"]
    assert variables["stackguard_nova_host"] == "compute3.example"
    assert variables["nova_service"]["state"] == "down" and variables["nova_service"]["forced_down"] is True
    assert nova.asked == [("GET", "/os-services", "2.69")], "down cells are named from 2.69 on"


def test_short_names_keep_the_name_of_nova(listed):
    found = listed(inventory_name="short", zone_groups=False, group="hypervisors")
    assert names(found, "hypervisors") == ["compute1", "compute2", "compute3"]
    assert found["_meta"]["hostvars"]["compute1"]["stackguard_nova_host"] == "compute1.example"
    assert not [group for group in found if group.startswith("zone_")]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"include_disabled": False}, ["compute1.example", "compute3.example"]),
        ({"include_down": False}, ["compute1.example", "compute2.example"]),
        ({"include_down": False, "include_disabled": False}, ["compute1.example"]),
    ],
)
def test_hosts_can_be_left_out_by_their_state(listed, options, left):
    assert names(listed(**options)) == left


def test_compose_and_groups_see_what_nova_says_and_nothing_in_it_is_a_template(listed):
    found = listed(
        inventory_name="short",
        compose={"ansible_host": "inventory_hostname ~ '.mgmt'", "why": "nova_service.disabled_reason"},
        keyed_groups=[{"key": "nova_service.status", "prefix": "nova"}],
        groups={"gone": "nova_service.state == 'down'"},
    )
    assert found["_meta"]["hostvars"]["compute1"]["ansible_host"] == "compute1.mgmt"
    assert found["_meta"]["hostvars"]["compute2"]["why"] == "{{ 7 * 6 }}"
    assert (names(found, "nova_disabled"), names(found, "gone")) == (["compute2"], ["compute3"])


PLAY = [{"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.debug": {"msg": "it ran on"}}]}]


def unread(done, words):
    told = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1, told
    assert "the compute hosts could not be read" in told and words in told, told
    assert "it ran on" not in told and "PLAY" not in told, told


@pytest.fixture
def play(run, tmp_path):
    (tmp_path / "play.json").write_text(json.dumps(PLAY))
    return lambda **options: run("playbook", "-i", "nova_compute.yml", "play.json", **options)


def test_services_that_could_not_be_read_end_the_run(play, nova):
    nova.status = 403
    unread(play(), "Policy does not allow")


def test_a_cloud_that_is_not_known_ends_the_run(play):
    unread(play(cloud="none-such"), "Cloud none-such was not found")


def test_a_cloud_without_a_compute_service_ends_the_run(play, nova):
    nova.services = []
    unread(
        play(),
        ("no nova-compute service is registered in Nova, or Nova does not show nova-compute services to this user"),
    )


def test_an_option_that_does_not_exist_ends_the_run(play):
    unread(play(inventory_name="long"), "inventory_name")


def test_a_cell_that_does_not_answer_ends_the_run_or_its_hosts_are_included_by_name(play, listed, nova):
    nova.services.append({"host": "lost.example", "binary": "nova-compute", "status": "UNKNOWN"})
    unread(play(), "names but no other data for lost.example, because the cell of these hosts does not answer")
    unread(play(include_unread=True, include_down=False), "names but no other data for lost.example")
    found = listed(include_unread=True)
    assert "lost.example" in names(found)
    assert found["_meta"]["hostvars"]["lost.example"]["nova_service"] == {"host": "lost.example", "status": "UNKNOWN"}


def test_two_hosts_of_one_short_name_end_the_run(play, nova):
    nova.services.append(service("compute1.other"))
    unread(
        play(inventory_name="short"), "compute1.example and compute1.other would both have the inventory name compute1"
    )


def test_without_end_run_it_is_an_error_like_that_of_any_plugin(play, nova):
    nova.status = 403
    done = play(end_run=False)
    assert done.returncode == 0 and "Policy does not allow" in " ".join((done.stdout + done.stderr).split())
    done = play(end_run=False, env={"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1"})
    assert done.returncode == 1


def test_a_cached_list_is_used_until_it_is_flushed(run, tmp_path, nova):
    cache = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(tmp_path / "cache")}

    def hosts(*more, **options):
        done = run("inventory", "-i", "nova_compute.yml", "--list", *more, **cache, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return names(json.loads(done.stdout))

    before = hosts()
    nova.services.append(service("compute4.example"))
    assert hosts() == before
    assert len(hosts("--flush-cache")) == 4
    assert SECRET not in "".join(path.read_text() for path in (tmp_path / "cache").iterdir())


def test_only_a_file_of_its_name_is_taken(tmp_path):
    plugin = compute.InventoryModule()
    for name, taken in {"nova_compute.yml": True, "rack7.nova_compute.yaml": True, "inventory.yml": False}.items():
        (tmp_path / name).write_text("plugin: stackguard.nova.compute\n")
        assert plugin.verify_file(str(tmp_path / name)) is taken


def test_two_zones_of_one_group_are_an_error():
    zones = [service("a", "az-1"), service("b", "az_1")]
    with pytest.raises(StackguardError, match="az-1 and az_1 would both get the group zone_az_1"):
        compute.zone_groups(zones, "zone_")
    assert compute.zone_groups(zones[:1], "zone_") == {"az-1": "zone_az_1"}


def test_its_connection_options_are_those_of_the_modules(run):
    done = run("doc", "-t", "inventory", "--json", "stackguard.nova.compute")
    assert done.returncode == 0, done.stderr
    options = json.loads(done.stdout)["stackguard.nova.compute"]["doc"]["options"]
    assert set(compute.connection.OPENSTACK_SPEC) <= set(options)
    assert {"compose", "keyed_groups", "groups", "strict", "cache"} <= set(options)


def test_the_example_is_a_file_of_the_plugin(run, tmp_path):
    text = (ROOT / "examples" / "nova_compute.yml").read_text()
    found = yaml.safe_load(text)
    assert (found["plugin"], found["cloud"]) == ("stackguard.nova.compute", "production")
    done = run("inventory", "-i", "nova_compute.yml", "--graph", **{**found, "cloud": "mine"})
    assert "compute1.example" in done.stdout, done.stderr
