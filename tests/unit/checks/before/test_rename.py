# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The preflight of a rename: a healthy fleet passes, and each thing that is spoiled is told by its own code alone."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import identity
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import Commands
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import hostnames
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename_plan
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import verify as rename
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place.preflight import preflight_rename
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.corruptions import CORRUPTIONS, HARMLESS, NARROWED, NEEDS_AGENTS
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet, fleets


def blockers(cloud, request, **options):
    checked = preflight_rename(cloud.bundle, request, **options)
    return {item.code for item in checked.findings if item.severity == findings.BLOCKER}


def told(cloud, request):
    return {item.code for item in preflight_rename(cloud.bundle, request).findings}


@given(fleets(), st.booleans())
def test_a_healthy_fleet_may_be_renamed(some, narrow):
    cloud = some.narrowed(some.cloud) if narrow else some.cloud
    checked = preflight_rename(cloud.bundle, some.request)
    assert [(item.code, item.severity) for item in checked.findings] == [("SG708", "info")]
    assert {item.code for item in checked.unchecked} <= ({"SG205"} if narrow else set())
    assert rename_plan.plan(cloud.bundle, some.request).steps


@pytest.mark.parametrize(
    ("name", "narrow"),
    [(name, False) for name in sorted(CORRUPTIONS)]
    + [(name, True) for name in sorted(CORRUPTIONS) if "unread" not in name and "does_not_answer" not in name],
)
def test_a_corruption_is_told_by_its_codes_alone(name, narrow):
    spoil, expected = CORRUPTIONS[name]
    some = fleet()
    cloud = spoil(some)
    assert blockers(some.narrowed(cloud) if narrow else cloud, some.request) == set(
        NARROWED.get(name, expected) if narrow else expected
    )


@pytest.mark.parametrize("style", sorted(builders.STYLES))
def test_a_second_node_of_a_name_that_stays_is_a_duplicate_and_no_taken_name(style):
    some = fleet(style=style)
    spoil, expected = CORRUPTIONS["second_node_of_the_same_hypervisor_hostname"]
    assert blockers(spoil(some), some.request) == set(expected)


@settings(max_examples=200)
@given(fleets(l2_agents=True, releases=(28, 29, 30, 31, 32, 33, 34)), st.sampled_from(sorted(CORRUPTIONS)))
def test_in_any_fleet_a_corruption_is_told_by_its_codes_alone(some, name):
    spoil, expected = CORRUPTIONS[name]
    assert blockers(spoil(some), some.request) == set(expected)


@settings(max_examples=100)
@given(fleets(l2_agents=False, releases=(27, 34)), st.sampled_from(sorted(set(CORRUPTIONS) - NEEDS_AGENTS)))
def test_the_same_without_agents(some, name):
    spoil, expected = CORRUPTIONS[name]
    assert blockers(spoil(some), some.request) == set(expected)


@given(fleets(l2_agents=True), st.lists(st.sampled_from(sorted(CORRUPTIONS)), min_size=1, max_size=4, unique=True))
def test_no_plan_is_made_of_what_is_spoiled_unless_the_checks_say_so(some, names):
    """Whatever is spoiled: either the checks forbid the rename, or a plan can be made."""
    cloud = some.cloud
    for name in names:
        try:
            cloud = CORRUPTIONS[name][0](dataclasses.replace(some, cloud=cloud))
        except (AssertionError, AttributeError, LookupError, StopIteration, TypeError):
            continue  # two corruptions of one thing
    if not blockers(cloud, some.request):
        rename_plan.plan(cloud.bundle, some.request)


@pytest.mark.parametrize(("asked", "lacking"), [("none", True), ("all but one", True), ("all", False)])
def test_ports_of_every_guest_must_have_been_asked_for(asked, lacking):
    some = fleet()
    cloud = some.narrowed(some.cloud)
    devices = {"none": [], "all but one": cloud.bundle.cloud.port_devices[1:], "all": cloud.bundle.cloud.port_devices}
    checked = preflight_rename(cloud.cloud(port_devices=devices[asked]).bundle, some.request)
    parts = {item.evidence.get("part") for item in checked.findings if item.code == "SG709"}
    assert parts == ({"cloud.ports.devices"} if lacking else set())


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_what_is_harmless_forbids_nothing(name):
    spoil, expected = HARMLESS[name]
    some = fleet()
    cloud = spoil(some)
    assert blockers(cloud, some.request) == set()
    assert told(cloud, some.request) - {"SG708"} == set(expected) - {"SG708"}
    assert rename_plan.plan(cloud.bundle, some.request).steps


@settings(max_examples=60)
@given(fleets(), st.sampled_from(sorted(HARMLESS)))
def test_in_any_fleet_what_is_harmless_forbids_nothing(some, name):
    assert blockers(HARMLESS[name][0](some), some.request) == set()


# --- the new name ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "",
        "compute1",
        "a_b",
        "-a",
        "a-",
        "a..b",
        ".a",
        "a.",
        "192.0.2.7",
        "2001:db8::1",
        "localhost",
        "LocalHost",
        "localhost.localdomain",
        "LocalHost.LocalDomain",
        "localhost6",
        "<b>x</b>",
        "x'; drop table",
        "12345",
        "1.2.3",
        "a b",
        "a/b",
        "höst",
        "a" * 64,
        ".".join(["a" * 60] * 5),
        "a" * 60 + ".abcde",
        "name;reboot",
        "$(reboot)",
    ],
)
def test_an_invalid_name_is_refused(name):
    some = fleet()
    request = dataclasses.replace(some.request, rename_to=name)
    cloud = some.cloud.resolve(name, builders.address(1))
    assert "SG118" in blockers(cloud, request)


@pytest.mark.parametrize("name", ["a", "cn-rack7.example", "renamed2", "7up", "x1.y2.z3.dc1.example.org", "a" * 63])
def test_a_valid_name_is_taken(name):
    some = fleet()
    request = dataclasses.replace(some.request, rename_to=name)
    assert blockers(some.cloud.resolve(name, builders.address(1)), request) == set()
    assert hostnames.problems(name) == []


def test_capital_letters_are_a_warning():
    some = fleet()
    request = dataclasses.replace(some.request, rename_to="Renamed1")
    cloud = some.cloud.resolve("Renamed1", builders.address(1))
    assert blockers(cloud, request) == set()
    assert "SG118" in told(cloud, request)


def test_a_change_of_case_only_is_no_collision_with_oneself():
    some = fleet()
    request = dataclasses.replace(some.request, rename_to="COMPUTE1")
    assert blockers(some.cloud.resolve("COMPUTE1", builders.address(1)), request) == set()


def test_reserved_names_never_resolve():
    some = fleet()
    request = dataclasses.replace(some.request, rename_to="renamed1.invalid")
    assert blockers(some.cloud.resolve("renamed1.invalid", builders.address(1)), request) == {"SG111"}


def test_a_provider_name_has_two_hundred_characters():
    some = fleet()
    name = "n" * 63 + "." + "d" * 63 + "." + "d" * 60
    cloud = some.cloud.part("nova_conf", host="compute1").host(kernel_hostname="other", static_hostname="other")
    cloud = cloud.add("providers", builders.child_provider(1, "compute1_" + "x" * 40)).resolve(
        name, builders.address(1)
    )
    request = dataclasses.replace(some.request, rename_to=name, hypervisor_hostname=name)
    assert "SG118" in blockers(cloud, request)


def test_names_that_cannot_be_told_must_be_said():
    some = fleet()
    cloud = some.cloud.part("libvirt", hostname="odd").change(
        "compute_nodes", {"uuid": builders.node(1)}, hypervisor_hostname="odd"
    )
    cloud = cloud.change("hypervisors", {"id": builders.node(1)}, hypervisor_hostname="odd")
    cloud = cloud.change("providers", {"uuid": builders.node(1)}, name="odd")
    cloud = cloud.change("instances", {"host": "compute1"}, node="odd")
    assert blockers(cloud, some.request) == {"SG118"}
    assert blockers(cloud, dataclasses.replace(some.request, hypervisor_hostname="even")) == set()


# --- the request against the host -----------------------------------------------------------------------------


def test_the_host_must_be_the_one_that_is_meant():
    some = fleet()
    request = dataclasses.replace(some.request, inventory_name="compute2")
    assert "SG106" in blockers(some.cloud, request)


def test_an_unknown_old_name_is_told():
    some = fleet()
    request = dataclasses.replace(some.request, rename_from="nobody")
    assert {"SG106", "SG119"} <= blockers(some.cloud, request)


def test_release_26_is_drained_instead():
    some = fleet(release=26)
    assert blockers(some.cloud, some.request) == {"SG705"}
    (item,) = [item for item in preflight_rename(some.cloud.bundle, some.request).findings if item.code == "SG705"]
    assert "rename_strategy=drain" in item.remedy
    assert blockers(some.cloud, some.request, in_place=False) == set()


def test_a_drain_needs_neither_grants_nor_neutrons_database():
    some = fleet()
    cloud = some.cloud.databases(grants=None, neutron=None)
    request = dataclasses.replace(some.request, has_neutron_db=False)
    assert blockers(cloud, request) == {"SG305", "SG709"}
    assert blockers(cloud, request, in_place=False) == set()


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("scope", [facts.LOCK_LOCAL, facts.LOCK_REFUSED])
def test_a_database_whose_lock_keeps_nobody_out_is_reported_and_refuses_nothing(scope, in_place):
    """A7: the window failed on Percona XtraDB Cluster, and the preflight had passed."""
    some = fleet()
    cloud = some.cloud.databases(lock=facts.DatabaseLock(scope, "prohibits use of GET_LOCK (1105)"))
    checked = preflight_rename(cloud.bundle, some.request, in_place=in_place)
    (item,) = [item for item in checked.findings if item.code == "SG712"]
    assert (item.severity, item.evidence["scope"]) == ("info", scope)
    assert "1105" in item.evidence["reason"]
    assert blockers(cloud, some.request, in_place=in_place) == set()


def test_a_lock_that_was_not_tried_is_no_lock():
    some = fleet()
    cloud = some.cloud.databases(lock=None)
    (item,) = [item for item in preflight_rename(cloud.bundle, some.request).findings if item.code == "SG709"]
    assert item.evidence["part"] == "lock"
    assert "did not test" in item.evidence["reason"]
    failed = cloud.databases(unread=[facts.Unread("lock", "too many connections (1040)")])
    (item,) = [item for item in preflight_rename(failed.bundle, some.request).findings if item.code == "SG709"]
    assert "1040" in item.evidence["reason"]


def test_without_neutrons_database_the_interruption_is_told():
    some = fleet()
    request = dataclasses.replace(some.request, has_neutron_db=False)
    cloud = some.cloud.databases(neutron=None)
    (item,) = [item for item in preflight_rename(cloud.bundle, request).findings if item.code == "SG305"]
    assert "lose their network" in item.evidence["why"]
    (override,) = findings.parse_overrides([{"code": "SG305", "object": item.object.id, "reason": "window"}])
    assert findings.blocking_findings([item], [override]) == []


def test_the_operators_commands_replace_the_unit():
    some = fleet()
    cloud = some.cloud.drop("units", {"name": "nova-compute.service"})
    request = dataclasses.replace(some.request, commands=Commands("docker stop x", "docker start x"))
    assert blockers(cloud, some.request) == {"SG709"}
    assert blockers(cloud, request) == set()


def test_a_narrowed_reading_must_cover_the_nodes_new_name():
    some = fleet("mixed")
    request = dataclasses.replace(some.request, hypervisor_hostname=None)
    cloud = some.cloud.narrowed(some.old, some.new, keep=[builders.guest(1, 1), builders.guest(1, 2)])
    assert blockers(cloud, request) == {"SG709"}
    assert blockers(some.narrowed(some.cloud), some.request) == set()


def test_every_unread_part_is_a_finding_of_its_own():
    some = fleet()
    cloud = some.cloud.host(domains=None, libvirt=None).cloud(ports=None)
    checked = preflight_rename(cloud.bundle, some.request)
    parts = {item.object.name for item in checked.findings if item.code == "SG709"}
    assert parts == {"domains", "libvirt", "cloud.ports"}


def test_the_whole_world_unread_is_refused_and_does_not_crash():
    some = fleet()
    cloud = some.cloud.unreachable().without("cloud", "databases")
    assert blockers(cloud, some.request) == {"SG114", "SG709"}


def undecided(cloud, request):
    checked = preflight_rename(cloud.bundle, request)
    verdict = findings.verdict(checked.findings, checked.unchecked, [])
    return verdict, {(item.code, item.object) for item in checked.unchecked}


@pytest.mark.parametrize("in_place", [True, False])
def test_a_peer_that_was_not_read_was_not_compared_and_forbids_nothing(in_place):
    some = fleet()
    assert undecided(some.cloud, some.request) == ("pass", set())
    cloud = some.cloud.unreachable("compute2", "failed: no python")
    assert undecided(cloud, some.request) == ("warn", {("SG107", "compute2"), ("SG310", "compute2")})
    checked = preflight_rename(cloud.bundle, some.request, in_place)
    assert all("failed: no python" in item.reason for item in checked.unchecked)
    assert blockers(cloud, some.request, in_place=in_place) == set()
    assert rename_plan.plan(cloud.bundle, some.request).steps


@pytest.mark.parametrize(
    ("part", "codes"),
    [
        ("machine_id", {"SG107"}),
        ("compute_id_files", {"SG107"}),
        ("libvirt", {"SG107", "SG310"}),
        ("nova_conf", {"SG107", "SG310"}),
        ("memory", set()),
    ],
)
def test_what_was_not_read_of_a_peer_was_not_compared(part, codes):
    some = fleet()
    verdict, told = undecided(some.cloud.host("compute2", **{part: None}), some.request)
    assert told == {(code, "compute2") for code in codes}
    assert verdict == ("warn" if codes else "pass")


def test_the_hosts_own_machine_id_unread_is_told():
    some = fleet()
    assert undecided(some.cloud.host(machine_id=None), some.request) == ("warn", {("SG107", "compute1")})


def test_with_no_peer_at_all_nothing_was_compared():
    some = fleet(hosts=1)
    codes = {("SG107", "other compute hosts"), ("SG310", "other compute hosts")}
    assert undecided(some.cloud, some.request) == ("warn", codes)
    assert blockers(some.cloud, some.request) == set()


def test_foreign_domains_cannot_be_overridden():
    some = fleet()
    cloud = CORRUPTIONS["domain_lives_elsewhere"][0](some)
    found = [item for item in preflight_rename(cloud.bundle, some.request).findings if item.code == "SG108"]
    assert [item.absolute for item in found] == [True]
    override = findings.Override("SG108", found[0].object.id, "please")
    assert findings.blocking_findings(found, [override]) == found


@settings(max_examples=50)
@given(fleets(), st.sampled_from(sorted(CORRUPTIONS)), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(some, name, random):
    if name in NEEDS_AGENTS:
        return
    cloud = CORRUPTIONS[name][0](some)
    bundle = cloud.bundle
    shuffled = cloud
    for collection, (place, _field) in builders.PLACES.items():
        if place in ("cloud", "databases", "api") and bundle.databases and bundle.cloud:
            rows = shuffled.rows(collection)
            if rows:
                random.shuffle(rows)
                shuffled = shuffled.put(collection, rows)
    one, other = (
        findings.report(preflight_rename(entry.bundle, some.request), builders.AT, 1, 1) for entry in (cloud, shuffled)
    )
    assert [(item["code"], item["object"]["id"]) for item in one["findings"]] == [
        (item["code"], item["object"]["id"]) for item in other["findings"]
    ]


@pytest.mark.parametrize("name", ["<b>x</b>", "x'; drop table", "b\u00fccher.example", "2001:db8::1"])
def test_what_no_host_can_be_called_is_refused_as_a_name_and_as_nothing_else(name):
    """The review: besides SG118 came a blocker SG709 "400: Invalid input for query parameters", which misleads."""
    some = fleet()
    request = dataclasses.replace(some.request, rename_to=name)
    narrowed = some.cloud.resolve(name, builders.address(1)).narrowed(request.rename_from, name)
    # As the role reads the APIs: without this name.
    narrowed = narrowed.cloud(scope=[request.rename_from])
    checked = preflight_rename(narrowed.bundle, request)
    assert "SG118" in blockers(narrowed, request)
    assert not [item for item in checked.findings if item.code == "SG709"]
    assert ("SG310", name) in {(item.code, item.object) for item in checked.unchecked}
    # A name that can be one must have been asked for.
    assert "SG709" in blockers(narrowed, dataclasses.replace(request, rename_to="another-name"))


def other_service(some, binary="nova-conductor", **changes):
    row = dataclasses.replace(builders.service_row(1, some.old), id=900, uuid=builders.uid("other"), binary=binary)
    return some.cloud.add("services", dataclasses.replace(row, **changes))


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("binary", ["nova-conductor", "nova-scheduler", "nova-consoleauth"])
def test_another_service_of_the_name_is_refused_before_anything_is_renamed(binary, in_place):
    """The review: preflight passed, everything was renamed, and step 13 said SG301 on each resume."""
    some = fleet()
    cloud = other_service(some, binary)
    (found,) = [
        item
        for item in preflight_rename(cloud.bundle, some.request, in_place=in_place).findings
        if item.code == "SG301"
    ]
    assert (found.severity, found.evidence["binary"]) == (findings.BLOCKER, binary)
    assert found.commands == (f"openstack compute service delete {builders.uid('other')}",)
    for harmless in (other_service(some, binary, deleted=900), other_service(some, binary, host="controller1")):
        assert "SG301" not in blockers(harmless, some.request, in_place=in_place)


def test_what_the_plan_does_not_cover_is_no_leftover_of_a_rename():
    some = fleet()
    expected = rename.RenamedHost("x", some.old, "old-node", "new", "new-node", "", 1, "", 1)
    covered = {item.object.id for item in rename.leftovers(some.cloud.bundle, expected).findings}
    assert covered
    left = {item.object.id for item in rename.leftovers(other_service(some).bundle, expected).findings}
    assert left == covered


def test_a_host_that_the_environment_names_is_not_renamed_in_its_files():
    """The unit's environment goes before every file: nova-compute would start under its old name, and refuse."""
    some = fleet()
    conf = some.cloud.bundle.hosts["compute1"].nova_conf
    named = some.cloud.part("nova_conf", host=some.old, environment=["OS_DEFAULT__HOST"])
    assert "SG312" in blockers(named, some.request)
    unread = some.cloud.part("nova_conf", environment=None)
    assert conf.environment == []
    (found,) = [item for item in preflight_rename(unread.bundle, some.request).findings if item.code == "SG709"]
    assert found.evidence["part"] == "nova_conf.environment"


def spoilt(cloud, some, **request):
    return cloud, dataclasses.replace(some.request, **request)


def own_agents(some, **changes):
    return some.cloud.change("agents", {"host": some.old}, **changes)


def another_agent(some, kind, **changes):
    return some.cloud.add("agents", builders.agent(1, some.old, kind, **changes))


def child(some, name):
    return some.cloud.add("providers", builders.child_provider(1, name))


#: What a rename in place cannot do: how a fleet is spoiled, and the code that stands.
NO_PLAN = {
    "an agent that would not register anew": (
        lambda some: spoilt(own_agents(some, agent_type="DHCP agent"), some, has_neutron_db=False),
        "SG305",
    ),
    "a distributed router that would not register anew": (
        lambda some: spoilt(another_agent(some, "L3 agent", mode="dvr"), some, has_neutron_db=False),
        "SG305",
    ),
    "a dead agent that would have to register anew": (
        lambda some: spoilt(own_agents(some, alive=False), some, has_neutron_db=False),
        "SG305",
    ),
    "an agent without a row": (
        lambda some: spoilt(some.cloud.drop("neutron_agents", {"host": some.old}), some),
        "SG305",
    ),
    "an agent whose row has another host": (
        lambda some: spoilt(some.cloud.change("neutron_agents", {"host": some.old}, host="another"), some),
        "SG305",
    ),
    "another agent without a row": (lambda some: spoilt(another_agent(some, "DHCP agent"), some), "SG305"),
    # A15: overridden, the plan renamed the agent's row and all ports under a running agent.
    "an agent whose unit is not known": (
        lambda some: spoilt(some.cloud, some, agent_units=("kolla-neutron_openvswitch_agent",)),
        "SG709",
    ),
    # A4: their uuids are derived from the host's name. The run ended well, and each later port failed.
    "a provider of guaranteed bandwidth": (
        lambda some: spoilt(child(some, "compute1:NIC Switch agent:eth1"), some),
        "SG304",
    ),
    "a port of a routed network": (
        lambda some: spoilt(some.cloud.cloud(routed_subnets=[builders.uid("subnet")]), some),
        "SG306",
    ),
}


def standing(checked):
    """What stands although the operator has overridden each finding, by its id and by its name."""
    words = [
        findings.Override(item.code, str(word), "I am sure")
        for item in checked.findings
        for word in (item.object.id, item.object.name)
    ]
    return findings.blocking_findings(checked.findings, words)


@pytest.mark.parametrize("name", sorted(NO_PLAN))
def test_what_a_rename_in_place_cannot_do_no_override_passes(name):
    spoil, code = NO_PLAN[name]
    cloud, request = spoil(fleet(l2_agents=True))
    stands = standing(preflight_rename(cloud.bundle, request))
    assert {item.code for item in stands} == {code}
    assert all(item.absolute and item.evidence[findings.NO_OVERRIDE] for item in stands)
    # A rename by draining does none of this.
    assert standing(preflight_rename(cloud.bundle, request, in_place=False)) == []
    # Nor does one that leaves the host its name in Nova.
    stays = dataclasses.replace(request, rename_to=request.rename_from, hypervisor_hostname="other.example")
    assert standing(preflight_rename(cloud.bundle, stays)) == []


def test_an_agents_unit_that_is_masked_cannot_be_stopped_by_a_rename_in_place():
    some = fleet(l2_agents=True)
    names = [unit.name for unit in some.cloud.bundle.hosts["compute1"].units if "agent" in unit.name]
    cloud = some.cloud
    for name in names:
        cloud = cloud.change("units", {"name": name}, load_state="masked")
    assert {item.code for item in standing(preflight_rename(cloud.bundle, some.request))} == {"SG709"}
    assert "SG709" not in blockers(cloud, some.request, in_place=False)


def test_providers_of_guaranteed_bandwidth_are_a_blocker_and_say_why():
    some = fleet()
    cloud = some.cloud.add("providers", builders.child_provider(1, "compute1:NIC Switch agent:eth1"))
    found = [item for item in preflight_rename(cloud.bundle, some.request).findings if item.code == "SG304"]
    (blocker,) = [item for item in found if item.severity == "blocker"]
    assert blocker.object.name == "compute1:NIC Switch agent:eth1"
    assert "rename_strategy=drain" in blocker.remedy


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("service", ["nova-compute", "libvirt", "neutron agent"])
def test_a_service_that_would_keep_the_old_name_is_refused_whatever_is_overridden(service, in_place):
    """The review, A1: kolla's containers keep the name that they were made with; four stores were renamed by then."""
    some = fleet()
    entry = facts.NameSpace(service, "podman container x", True, some.old, kind="container")
    cloud = some.cloud.host(name_spaces=[*some.cloud.bundle.hosts["compute1"].name_spaces, entry])
    checked = preflight_rename(cloud.bundle, some.request, in_place=in_place)
    (found,) = [item for item in checked.findings if item.code == "SG123"]
    assert (found.object.name, found.evidence["its host name"], found.absolute) == (service, some.old, True)
    with pytest.raises(findings.OverrideError, check=problem_is("absolute")):
        findings.parse_overrides([{"code": "SG123", "object": service, "reason": "a trial"}])
    shared = some.cloud.host(name_spaces=[dataclasses.replace(entry, own=False)])
    assert blockers(shared, some.request) == set()


def test_a_stopped_agent_that_may_be_in_a_container_matters_where_neutron_has_one_of_this_host():
    """docker was installed and did not run, on a host that has no agent: a clean host was refused."""
    entry = facts.NameSpace("neutron agent", "not running", None, reason="docker ps: no daemon", kind="not-running")
    for l2_agents, codes in ((False, set()), (True, {"SG709"})):
        some = fleet(l2_agents=l2_agents)
        spaces = [*some.cloud.bundle.hosts["compute1"].name_spaces, entry]
        assert blockers(some.cloud.host(name_spaces=spaces), some.request) == codes


@pytest.mark.parametrize("in_place", [True, False])
def test_a_service_whose_host_name_is_not_known_is_not_taken_for_the_hosts(in_place):
    some = fleet()
    entry = facts.NameSpace("nova-compute", "not running", None, reason="docker ps: no answer", kind="not-running")
    for spaces in ([entry], None):
        assert "SG709" in blockers(some.cloud.host(name_spaces=spaces), some.request, in_place=in_place)


def renamed_with_a_deleted_server():
    """A host that has its new name, one of whose guests was deleted while its domain runs on."""
    some = fleet()
    row = some.cloud.rows("instances")[0]
    cloud = some.cloud.change("instances", {"id": row.id}, deleted=row.id, vm_state="deleted")
    expected = rename.RenamedHost("compute1", some.old, some.old, some.old, some.old, "", 1, "", 1, (row.id,))
    return cloud, expected, row


def test_the_domain_of_a_server_deleted_during_the_rename_is_a_warning():
    """Nova ends it by itself. As a blocker it kept the host disabled, and no repeated run could finish."""
    cloud, expected, row = renamed_with_a_deleted_server()
    seen = identity.check(cloud.bundle)
    assert ("SG110", row.uuid, "blocker") in {(item.code, item.object.id, item.severity) for item in seen.findings}
    after = rename.deleted_since(cloud.bundle, expected, seen)
    (found,) = [item for item in after.findings if item.code == "SG110"]
    assert (found.object.id, found.severity) == (row.uuid, "warning")
    assert "_interval" in found.remedy
    assert after.unchecked == seen.unchecked


def test_the_domain_of_a_server_that_this_host_did_not_have_stays_a_blocker():
    cloud, expected, _row = renamed_with_a_deleted_server()
    seen = identity.check(cloud.bundle)
    for strange in (
        dataclasses.replace(expected, instance_ids=()),
        dataclasses.replace(expected, old_host="another", new_host="another-new"),
    ):
        assert rename.deleted_since(cloud.bundle, strange, seen) == seen
