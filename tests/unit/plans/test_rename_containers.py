# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A rename of a host whose containers keep their name: what is refused, what the plan adds, and in which order."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import containers, facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model import deployment as deployments
from ansible_collections.stackguard.nova.plugins.module_utils.model import names as naming
from ansible_collections.stackguard.nova.plugins.module_utils.model.deployment_facts import GuestProcess
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import PlanError
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import Commands
from ansible_collections.stackguard.nova.plugins.module_utils.rename.containers import plan as rename_containers
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place.preflight import preflight_rename
from ansible_collections.stackguard.nova.tests.unit import draining
from ansible_collections.stackguard.nova.tests.unit.builders import guest, kolla, process, unit
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet

AGENT = "neutron-openvswitch-agent"
PIDS = {"nova-compute": 4711, "libvirtd": 4712, AGENT: 4713}
SERVICES = {"nova-compute": "nova-compute", "libvirtd": "libvirt", AGENT: facts.NEUTRON_AGENT}
ORDER = ["nova_libvirt", "neutron_openvswitch_agent", "nova_compute"]


def boxed(name="compute1", engine="podman", **changes):
    """kolla-ansible with the L2 agent in a container, too; each container has an id of its own."""
    base = kolla(name, engine)
    running = [*base.processes, process(AGENT, f"/usr/bin/{AGENT}", None, engine, name, PIDS[AGENT])]
    running = [dataclasses.replace(entry, container_id=str(entry.pid % 10) * 64) for entry in running]
    return dataclasses.replace(base, **{"processes": running, **changes})


def boxed_fleet(command="recreate", name="compute1", style="short", deployment=None, **request):
    some = fleet(style=style)
    spaces = [
        facts.NameSpace(SERVICES[program], f"process {pid}", name is not None, name) for program, pid in PIDS.items()
    ]
    cloud = some.cloud.host(
        deployment=deployment or boxed(name),
        units=[
            unit("kolla-nova_compute-container.service"),
            unit("kolla-neutron_openvswitch_agent-container.service"),
        ],
        name_spaces=spaces,
    )
    asked = dataclasses.replace(some.request, recreate_command=command, **request)
    return dataclasses.replace(
        some, cloud=cloud, request=deployments.with_preset(asked, cloud.bundle.hosts["compute1"])
    )


def found(some, in_place=True):
    checked = preflight_rename(some.cloud.bundle, some.request, in_place=in_place)
    return {(item.code, item.object.name): item for item in checked.findings if item.severity == findings.BLOCKER}


def made(some):
    return rename.plan(some.cloud.bundle, some.request)


def drained(some):
    """The plan of a drain: the guests go to a host of the same zone."""
    return draining.plan_of(some.cloud, some.request)


def named(plan):
    return {step.name: step for step in plan.steps}


# --- refused or not -----------------------------------------------------------------------------------------------


def test_with_a_command_that_recreates_nothing_is_refused():
    assert found(boxed_fleet()) == {}


def test_without_such_a_command_each_service_is_refused_and_the_variable_named():
    refused = found(boxed_fleet(command=None))
    assert set(refused) == {("SG123", name) for name in SERVICES.values()}
    assert all("Set rename_recreate_command" in item.remedy for item in refused.values())
    assert all(item.absolute for item in refused.values())


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("kolla-ansible --limit 'compute1", "Correct the quotes"),
        ("  ", "the value is blank"),
        (". venv/bin/activate && kolla-ansible deploy-containers", "which needs a shell"),
    ],
)
def test_a_command_that_cannot_be_executed_is_refused_before_anything_is_changed(command, why):
    refused = found(boxed_fleet(command=command))
    assert set(refused) == {("SG123", name) for name in SERVICES.values()}
    assert all(why in item.remedy for item in refused.values())


def test_a_command_that_starts_a_shell_itself_is_not_refused():
    assert found(boxed_fleet(command="bash -c '. venv/bin/activate && kolla-ansible deploy-containers'")) == {}


def test_a_drain_needs_the_command_too():
    assert found(boxed_fleet(), in_place=False) == {}
    refused = found(boxed_fleet(command=None), in_place=False)
    assert set(refused) == {("SG123", name) for name in SERVICES.values()}
    assert all("Set rename_recreate_command" in item.remedy for item in refused.values())


def test_the_operators_own_commands_and_the_containers_do_not_go_together():
    refused = found(boxed_fleet(commands=Commands("stop", "start", "mask", "unmask")))
    assert {code for code, _name in refused} == {"SG123"}
    assert all("Unset rename_stop_command" in item.remedy for item in refused.values())


def test_a_service_that_does_not_run_is_refused():
    """Its container is not known for certain: the engine may have several."""
    some = boxed_fleet()
    stopped = facts.NameSpace("libvirt", "podman container nova_libvirt", True, "compute1", kind="container")
    spaces = some.cloud.bundle.hosts["compute1"].name_spaces
    some = dataclasses.replace(some, cloud=some.cloud.host(name_spaces=[spaces[0], stopped, spaces[2]]))
    (item,) = found(some).values()
    assert (item.code, item.object.name) == ("SG123", "libvirt")
    assert "Start the service" in item.remedy


def test_a_container_without_a_known_unit_is_refused():
    base = boxed()
    some = boxed_fleet(deployment=dataclasses.replace(base, units=[u for u in base.units if "libvirt" not in u.name]))
    (item,) = found(some).values()
    assert (item.code, item.object.name) == ("SG123", "libvirt")
    assert "does not know which unit starts libvirtd" in item.remedy


def test_a_second_container_with_the_same_program_is_refused():
    """Somebody's own libvirt: the unit would be taken to start that one."""
    base = boxed()
    ours = next(entry for entry in base.processes if entry.program == "libvirtd")
    theirs = dataclasses.replace(ours, pid=300, container_id="9" * 64)
    some = boxed_fleet(deployment=dataclasses.replace(base, processes=[theirs, *base.processes]))
    assert [entry.name for entry in containers.named(some.cloud.bundle.hosts["compute1"])] == [ORDER[1], ORDER[2]]
    (item,) = found(some).values()
    assert (item.code, item.object.name) == ("SG123", "libvirt")
    # A program of several processes in one container is one.
    workers = dataclasses.replace(base, processes=[*base.processes, dataclasses.replace(ours, pid=301)])
    assert found(boxed_fleet(deployment=workers)) == {}


def test_a_name_that_could_not_be_read_is_no_container_that_can_be_recreated():
    base = boxed()
    unread = [
        dataclasses.replace(entry, hostname=None) if entry.program == "libvirtd" else entry for entry in base.processes
    ]
    some = boxed_fleet(deployment=dataclasses.replace(base, processes=unread))
    assert ("SG123", "libvirt") in found(some)


def test_guests_that_end_with_libvirts_container_are_refused_whatever_is_overridden():
    inside = GuestProcess(guest(1, 1), 1001, "/machine.slice/libpod-1.scope/container", "podman", "2" * 64)
    some = boxed_fleet(deployment=boxed(guests=[inside]))
    (item,) = found(some).values()
    assert (item.code, item.absolute) == ("SG127", True)


def test_an_immutable_compute_id_is_refused_where_the_container_is_created_again():
    some = boxed_fleet(deployment=boxed(immutable=["/var/lib/nova/compute_id"]))
    (item,) = found(some).values()
    assert item.code == "SG129"
    shared = boxed_fleet(name=None, deployment=boxed(None, immutable=["/var/lib/nova/compute_id"]))
    assert found(shared) == {}


def test_a_name_that_is_neither_old_nor_new_is_refused():
    assert {code for code, _name in found(boxed_fleet(name="another"))} >= {"SG126"}


def test_a_host_that_keeps_its_own_name_needs_no_new_containers():
    """Only [DEFAULT] host changes: the name in the containers stays right."""
    some = boxed_fleet(command=None, name="node-17")
    conf = dataclasses.replace(some.cloud.bundle.hosts["compute1"].nova_conf, host="compute1")
    cloud = some.cloud.host(nova_conf=conf, kernel_hostname="node-17", static_hostname="node-17")
    some = dataclasses.replace(some, cloud=cloud)
    assert not any(code == "SG123" for code, _name in found(some))


# --- the plan -----------------------------------------------------------------------------------------------------


def test_where_containers_share_the_hosts_name_the_plan_is_as_ever():
    steps = named(made(boxed_fleet(command=None, name=None)))
    assert not {"set_compute_aside", "libvirt_name", "recreate_containers", "forget_containers"} & set(steps)
    assert "container_names" not in steps["host_names"].params


def test_libvirt_says_its_new_name_before_the_first_write_and_nova_compute_starts_after_the_last_look():
    names = [step.name for step in made(boxed_fleet()).steps]
    order = [
        *("stop_compute", "no_evacuation_before", "set_compute_aside", "libvirt_name", "stop_agents"),
        *("cell_database", "api_database", "placement", "neutron", "host_names", "guests", "no_evacuation"),
        *("stop_containers", "set_others_aside", "recreate_containers", "start_agents", "agents_alive"),
        *("start_compute", "compute_up", "guests_after", "audit", "enable_service", "forget_containers"),
    ]
    assert [name for name in names if name in order] == order
    assert len(set(names)) == len(names)


def test_each_container_is_known_by_its_id_and_the_old_ones_are_kept_until_the_end():
    steps = named(made(boxed_fleet()))
    recreated = steps["recreate_containers"].params
    assert [item["name"] for item in recreated["containers"]] == ORDER
    assert [item["id"][0] for item in recreated["containers"]] == ["2", "3", "1"]
    assert [item["unit"] for item in recreated["containers"]] == [f"kolla-{name}-container.service" for name in ORDER]
    assert recreated["name"] == "renamed1"
    aside = steps["set_compute_aside"].params["containers"] + steps["set_others_aside"].params["containers"]
    key = lambda item: item["name"]  # noqa: E731
    assert sorted(aside, key=key) == sorted(steps["forget_containers"].params["containers"], key=key)
    assert set(steps["set_compute_aside"].params["free"]) == {f"{name}.stackguard" for name in ORDER}
    assert [item["name"] for item in steps["set_compute_aside"].params["known"]] == ORDER[:2]
    assert steps["set_others_aside"].params["known"] == []
    assert [item["name"] for item in steps["stop_containers"].params["units"]] == [
        "kolla-nova_libvirt-container.service"
    ]


@pytest.mark.parametrize(("style", "wanted"), [("short", "renamed1"), ("mixed", "renamed1.dc1.test")])
def test_the_namespace_gets_the_name_that_libvirt_is_to_say(style, wanted):
    """The container's /etc/hosts does not know the new name; a name with a dot is taken as it is."""
    some = boxed_fleet(style=style)
    steps = named(made(some))
    assert steps["libvirt_name"].params["after"] == wanted
    assert steps["libvirt_name"].params["libvirt"]["after"] == wanted
    assert steps["libvirt_name"].params["before"] == "compute1"
    assert steps["recreate_containers"].params["name"] == "renamed1"
    (again,) = steps["host_names"].params["container_names"]
    assert (again["container"], again["after"]) == ("nova_libvirt", wanted)


def test_the_log_is_read_where_its_volume_is_on_the_host():
    """The first rename in the lab waited for lines of a file that is in no directory of the host."""
    folders = {**boxed().folders, "/var/log/kolla": "/volumes/kolla_logs/_data", "/var/log": "/elsewhere"}
    some = boxed_fleet(deployment=boxed(folders=folders))
    conf = dataclasses.replace(
        some.cloud.bundle.hosts["compute1"].nova_conf, log_file="/var/log/kolla/nova/nova-compute.log"
    )
    for name, path in (("a", "/volumes/kolla_logs/_data/nova/nova-compute.log"), ("b", None)):
        conf = conf if name == "a" else dataclasses.replace(conf, log_file=None)
        steps = named(made(dataclasses.replace(some, cloud=some.cloud.host(nova_conf=conf))))
        assert steps["stop_compute"].params["log_file"] == steps["compute_up"].params["log_file"] == path
    assert deployments.on_host(some.cloud.bundle.hosts["compute1"], "/var/logs/x") == "/var/logs/x"


def test_docker_is_asked_where_docker_made_them():
    steps = named(made(boxed_fleet(deployment=boxed(engine="docker"))))
    asked = {step.params["engine"] for step in steps.values() if "engine" in step.params}
    assert asked == {"/usr/bin/docker"}


def test_without_the_neutron_database_there_is_no_plan():
    """Between the agent's start and its ports there would be the time that the deployment tool needs."""
    some = boxed_fleet(has_neutron_db=False)
    with pytest.raises(PlanError, match="set neutron_db_url"):
        made(some)


def test_no_plan_without_the_command():
    with pytest.raises(PlanError, match="set rename_recreate_command"):
        made(boxed_fleet(command=None))


def test_ovn_controller_that_takes_its_name_from_its_container_is_no_plan():
    controller = process("ovn-controller", "/usr/bin/ovn-controller", None, "podman", "compute1", 4714)
    base = boxed()
    some = boxed_fleet(deployment=dataclasses.replace(base, processes=[*base.processes, controller]))
    host = some.cloud.bundle.hosts["compute1"]
    unnamed = dataclasses.replace(some, cloud=some.cloud.host(ovs_external_ids={"system-id": "x"}))
    with pytest.raises(
        PlanError,
        match=r"external_ids:hostname",
        check=problem_is("set-external-ids"),
    ):
        made(unnamed)
    told = dataclasses.replace(some, cloud=some.cloud.host(ovs_external_ids={"hostname": "compute1"}))
    assert "recreate_containers" in named(made(told))
    assert [entry.name for entry in containers.named(host)] == ORDER


def test_a_drain_deletes_nothing_before_libvirt_says_the_new_name():
    """Behind the deletion there is no way back: a name that libvirt does not take must be seen before it."""
    names = [step.name for step in drained(boxed_fleet()).steps]
    order = [
        *("move_guests", "host_empty", "stop_compute", "stop_agents", "set_compute_aside", "libvirt_name"),
        *("delete_service", "host_names", "identity_file"),
        # The command starts nova-compute: with the old uuid it would undelete the old node. Its new service is to be
        # disabled at once: the host is in none of its aggregates.
        *("stop_containers", "set_others_aside", "recreate_containers", "start_compute", "register"),
        *("start_agents", "new_agents", "aggregates", "enable_service", "forget_containers"),
    ]
    assert [name for name in names if name in order] == order
    assert len(set(names)) == len(names)


def test_a_drain_of_a_host_whose_containers_share_its_name_recreates_none():
    steps = named(drained(boxed_fleet(command=None, name=None)))
    assert not {"set_compute_aside", "libvirt_name", "recreate_containers", "forget_containers"} & set(steps)


@pytest.mark.parametrize("name", ["compute1", None])
def test_a_drain_gives_a_new_uuid_to_the_file_that_the_container_copies(name):
    """kolla's container does not start without it; that of the volume is a copy, and goes away."""
    some = boxed_fleet(command=name and "recreate", name=name)
    source, copy = "/etc/kolla/nova-compute/compute_id", "/volumes/nova_compute/_data/compute_id"
    uuid = "1" * 8 + "-0000-4000-8000-000000000000"
    files = [facts.ComputeIdFile(path, True, True, uuid) for path in (source, copy)]
    steps = named(drained(dataclasses.replace(some, cloud=some.cloud.host(compute_id_files=files))))
    step, new = steps["identity_file"], steps["register"].params["new_node"]
    assert new not in (None, uuid)
    assert [(file["path"], file.get("renewed")) for file in step.params["files"]] == [(source, new), (copy, None)]
    assert [(change.before, change.after) for change in step.changes if change.what == f"uuid in {source}"] == [
        (uuid, "a new uuid")
    ]


def test_an_agent_that_no_other_step_stops_is_stopped_with_libvirt():
    """With OVN the agents run until their containers are created again."""
    some = boxed_fleet()
    host = some.cloud.bundle.hosts["compute1"]
    names = (naming.Names("compute1", "compute1", "compute1"), naming.Names("renamed1", "renamed1", "renamed1"))
    around = [step for step in made(some).steps if step.name in ("no_evacuation_before", "host_names")]
    steps = {step.name: step for step in rename_containers.arranged(host, some.request, names, around)}
    assert [item["name"] for item in steps["stop_containers"].params["units"]] == [
        "kolla-nova_libvirt-container.service",
        "kolla-neutron_openvswitch_agent-container.service",
    ]
    assert "libvirt and neutron-openvswitch-agent" in steps["stop_containers"].title


def test_only_containers_with_a_name_of_their_own_are_touched():
    base = boxed()
    shared = [
        dataclasses.replace(entry, own_uts=False, hostname=None) if entry.program == "nova-compute" else entry
        for entry in base.processes
    ]
    steps = named(made(boxed_fleet(deployment=dataclasses.replace(base, processes=shared))))
    assert "set_compute_aside" not in steps
    assert [item["name"] for item in steps["recreate_containers"].params["containers"]] == ORDER[:2]


def test_the_timeout_of_the_run_that_resumes_counts():
    plan = rename.with_timeouts(made(boxed_fleet()), {"start_timeout": 7, "stop_timeout": 8})
    steps = named(plan)
    assert steps["recreate_containers"].params["timeout"] == 7
    assert steps["stop_containers"].params["timeout"] == 8
