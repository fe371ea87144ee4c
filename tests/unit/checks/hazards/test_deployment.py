# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a host's deployment hides: each code with a host that has it and one that has not, in an audit and a rename."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.hazards import deployment, forecast
from ansible_collections.stackguard.nova.plugins.module_utils.model import deployment as deployments
from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.deployment_facts import (
    GuestProcess,
    PendingFile,
)
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import Commands
from ansible_collections.stackguard.nova.plugins.module_utils.moves.preflight import MoveDecision
from ansible_collections.stackguard.nova.plugins.module_utils.rename.drain import plan as rename_by_drain
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place.preflight import preflight_rename
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy, kolla, packages, process, unit
from ansible_collections.stackguard.nova.tests.unit.model.test_deployment import WHOLE
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet

FILE = "/var/lib/nova/compute_id"
KOLLA_UNITS = [
    unit("kolla-nova_compute-container.service"),
    unit("kolla-neutron_openvswitch_agent-container.service"),
]


def found(cloud, code):
    return [item for item in audit.check(cloud.bundle).findings if item.code == code]


def undecided(cloud, code):
    return [item.reason for item in audit.check(cloud.bundle).unchecked if item.code == code]


def deployed(base=None, **changes):
    return healthy().host(deployment=dataclasses.replace(base or packages(), **changes))


def refusals(cloud, request, **options):
    checked = preflight_rename(cloud.bundle, request, **options)
    return {item.code for item in checked.findings if item.severity == findings.BLOCKER}


def test_a_healthy_host_has_none_of_it():
    for cloud in (healthy(), deployed(kolla()), deployed(kolla(None))):
        codes = {item.code for item in audit.check(cloud.bundle).findings}
        assert not codes & set(deployment.CODES)
        assert not any(undecided(cloud, code) for code in deployment.CODES)


def test_evidence_of_an_earlier_version_decides_none_of_it():
    cloud = healthy().host(deployment=None)
    for code in deployment.CODES:
        (reason,) = undecided(cloud, code)
        assert reason == "the run does not know how nova-compute is deployed on the host: not read"
        assert found(cloud, code) == []
    some = fleet()
    assert refusals(some.cloud.host(deployment=None), some.request) == {"SG709"}


# --- SG126 --------------------------------------------------------------------------------------------------------


def test_a_container_that_kept_an_earlier_name_is_told_before_it_is_recreated():
    """The host was renamed by hand, and all works: its containers have the old name still."""
    cloud = deployed(kolla("compute1")).host(kernel_hostname="new1")
    by_service = {item.object.name: item for item in found(cloud, "SG126")}
    assert set(by_service) == {"nova-compute", "libvirtd"}
    item = by_service["libvirtd"]
    assert item.severity == findings.BLOCKER
    assert (item.evidence["its host name"], item.evidence["the host's name"]) == ("compute1", "new1")
    assert item.evidence["container"] == "5" * 64
    assert found(deployed(kolla("compute1")), "SG126") == []


def test_a_configured_name_goes_before_the_containers():
    base = kolla("old1")
    agent = process("neutron-openvswitch-agent", "/x", None, "podman", "old1")
    controller = process("ovn-controller", "/x", None, "podman", "old1")
    base = dataclasses.replace(base, processes=[*base.processes, agent, controller])
    for style, expected in (("short", findings.BLOCKER), ("configured", findings.WARNING)):
        cloud = healthy(style=style).host(deployment=base)
        severities = {item.object.name: item.severity for item in found(cloud, "SG126")}
        assert severities == {
            "nova-compute": expected,
            "libvirtd": findings.BLOCKER,
            "neutron-openvswitch-agent": expected,
            "ovn-controller": findings.WARNING,
        }


def test_a_name_that_could_not_be_read_is_not_taken_for_the_hosts():
    base = kolla("x")
    base = dataclasses.replace(base, processes=[dataclasses.replace(item, hostname=None) for item in base.processes])
    reasons = undecided(deployed(base), "SG126")
    assert len(reasons) == 2
    assert "could not be read" in reasons[0]
    assert found(deployed(base), "SG126") == []


def test_a_protected_host_name_of_a_unit_is_none_of_a_container():
    own = process("nova-compute", "/usr/bin/nova-compute", "nova-compute.service", None, "old1")
    assert found(deployed(processes=[own]), "SG126") == []


@pytest.mark.parametrize("in_place", [True, False])
def test_a_rename_is_refused_by_it(in_place):
    some = fleet()
    cloud = some.cloud.host(deployment=kolla("old1"), units=KOLLA_UNITS)
    assert "SG126" in refusals(cloud, some.request, in_place=in_place)


def test_the_forecast_starts_nova_compute_with_the_name_in_its_container():
    """Renamed by hand: a unit would start as a stranger, the container starts as itself until it is recreated."""
    renamed = healthy(guests=1).host(kernel_hostname="new1")
    contained = renamed.host(deployment=kolla("compute1"))
    shared = renamed.host(deployment=kolla(None))
    told = [forecast.start(Index(cloud.bundle), cloud.bundle.hosts["compute1"]) for cloud in (contained, shared)]
    assert [start.outcome for start in told] == [forecast.STARTS, forecast.REFUSES]
    base = kolla("x")
    unread = dataclasses.replace(base, processes=[dataclasses.replace(item, hostname=None) for item in base.processes])
    cloud = renamed.host(deployment=unread)
    start = forecast.start(Index(cloud.bundle), cloud.bundle.hosts["compute1"])
    assert start.outcome == forecast.UNKNOWN
    assert "the host name in nova-compute's container" in start.told


# --- SG127 --------------------------------------------------------------------------------------------------------


STRANGE = "99999999-0000-4000-8000-000000000000"


def in_container(engine="podman", uuid=None):
    group = f"/machine.slice/libpod-{'5' * 64}.scope/container"
    return [GuestProcess(uuid or guest(1, 1), 960, group, engine, "5" * 64 if engine else None)]


def severity_of(cloud):
    (item,) = found(cloud, "SG127")
    return item.severity


def test_a_qemu_that_neither_libvirt_nor_nova_knows_is_a_warning():
    """A trial in a container of its own is nobody's guest, and would refuse the rename for good."""
    cloud = deployed(kolla(), guests=in_container(uuid=STRANGE))
    assert severity_of(cloud) == findings.WARNING
    some = fleet()
    renamed = some.cloud.host(
        deployment=dataclasses.replace(kolla(None), guests=in_container(uuid=STRANGE)), units=KOLLA_UNITS
    )
    assert "SG127" not in refusals(renamed, some.request)


def test_a_guest_of_either_libvirt_or_nova_is_absolute_and_so_is_any_where_one_was_not_read():
    strange = deployed(kolla(), guests=in_container(uuid=STRANGE))
    assert severity_of(strange.host(domains=None)) == findings.BLOCKER
    assert severity_of(strange.cell(instances=None)) == findings.BLOCKER
    assert severity_of(strange.databases(cells=None)) == findings.BLOCKER
    mine = deployed(kolla(), guests=in_container())
    assert severity_of(mine.host(domains=[])) == findings.BLOCKER, "an instance of the host"
    assert severity_of(mine.change("instances", host="compute2")) == findings.BLOCKER, "a domain of the host"
    assert severity_of(mine.change("instances", host="compute2").host(domains=[])) == findings.WARNING


def test_a_guest_in_libvirts_container_is_told_and_no_override_passes_it():
    """Two guests were dead 0.66 s after the container's unit was stopped (podman 4.3)."""
    cloud = deployed(kolla(), guests=in_container())
    (item,) = found(cloud, "SG127")
    assert (item.object.kind, item.object.id, item.severity, item.absolute) == (
        "domain",
        guest(1, 1),
        findings.BLOCKER,
        True,
    )
    assert item.object.name
    assert found(deployed(kolla(), guests=in_container(None)), "SG127") == []
    with pytest.raises(findings.OverrideError, check=problem_is("absolute")):
        findings.parse_overrides([{"code": "SG127", "object": guest(1, 1), "reason": "a trial"}])


def test_it_stands_against_a_rename_in_place_and_not_against_a_host_that_is_drained_first():
    some = fleet()
    base = dataclasses.replace(kolla(None), guests=in_container())
    cloud = some.cloud.host(deployment=base, units=KOLLA_UNITS)
    assert "SG127" in refusals(cloud, some.request)
    assert "SG127" not in refusals(cloud, some.request, in_place=False)


# --- SG128 --------------------------------------------------------------------------------------------------------


def test_a_configuration_that_waits_for_a_restart_is_a_warning():
    cloud = deployed(pending=[PendingFile("/etc/nova/nova.conf", "changed after nova-compute started")])
    (item,) = found(cloud, "SG128")
    assert item.severity == findings.WARNING
    assert item.evidence == {"/etc/nova/nova.conf": "changed after nova-compute started"}
    assert found(deployed(), "SG128") == []


def test_where_it_is_not_known_what_was_read_that_is_said():
    cloud = deployed(pending=None, pending_unread="/etc/x: Permission denied")
    assert undecided(cloud, "SG128") == [
        (
            "the check could not find out whether nova-compute has read its current configuration files: /etc/x: "
            "Permission denied"
        )
    ]
    some = fleet()
    checked = preflight_rename(
        some.cloud.host(deployment=cloud.bundle.hosts["compute1"].deployment).bundle, some.request
    )
    assert [item.code for item in checked.unchecked if item.code == "SG128"] == ["SG128"]


# --- SG129 --------------------------------------------------------------------------------------------------------


def test_an_immutable_compute_id_is_told_and_matters_where_it_is_wrong():
    cloud = deployed(immutable=[FILE])
    (item,) = found(cloud, "SG129")
    assert (item.severity, item.object.name) == (findings.INFO, FILE)
    wrong = cloud.change("compute_id_files", {"path": FILE}, uuid="11111111-2222-3333-4444-555555555555")
    assert [item.severity for item in found(wrong, "SG129")] == [findings.WARNING]
    assert found(deployed(), "SG129") == []


def test_a_drain_which_removes_the_file_is_refused_by_it():
    some = fleet()
    cloud = some.cloud.host(deployment=dataclasses.replace(packages(), immutable=[FILE]))
    assert "SG129" in refusals(cloud, some.request, in_place=False)
    assert "SG129" not in refusals(cloud, some.request)


# --- SG130 --------------------------------------------------------------------------------------------------------


def unknown():
    """A packaged unit beside kolla's."""
    return dataclasses.replace(kolla(None), units=[*kolla(None).units, *packages().units])


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize(
    ("base", "kind"),
    [
        (unknown(), "unknown"),
        (dataclasses.replace(unknown(), units=[]), "unknown"),
        *((WHOLE[kind], kind) for kind in sorted(set(WHOLE) - {deployments.KOLLA, deployments.PACKAGES})),
    ],
)
def test_a_deployment_that_is_not_known_or_not_tested_is_refused_with_what_was_seen(base, kind, in_place):
    some = fleet()
    checked = preflight_rename(some.cloud.host(deployment=base).bundle, some.request, in_place=in_place)
    (item,) = [item for item in checked.findings if item.code == "SG130"]
    assert (item.severity, item.evidence["deployment"]) == (findings.BLOCKER, kind)
    assert item.evidence["seen"]
    assert item.evidence["why"]
    assert "rename_compute_units" in item.remedy


def test_what_the_operator_says_of_it_passes():
    some = fleet()
    cloud = some.cloud.host(deployment=unknown())
    for given in (
        dataclasses.replace(some.request, compute_units=("nova-compute",)),
        dataclasses.replace(some.request, commands=Commands("stop", "start")),
    ):
        assert "SG130" not in refusals(cloud, given)
    assert refusals(some.cloud, some.request) == set()


# --- what a plan takes from it ------------------------------------------------------------------------------------


def kolla_fleet(guests=2):
    """A kolla host whose containers share the host's name: the only one whose rename is not refused."""
    some = fleet(guests=guests)
    cloud = some.cloud.host(deployment=kolla(None), units=KOLLA_UNITS)
    request = deployments.with_preset(some.request, cloud.bundle.hosts["compute1"])
    return dataclasses.replace(some, cloud=cloud, request=request)


def test_on_a_kolla_host_the_plan_stops_and_starts_kollas_units_and_says_what_was_seen():
    some = kolla_fleet()
    assert refusals(some.cloud, some.request) == set()
    made = rename.plan(some.cloud.bundle, some.request)
    steps = {step.name: step for step in made.steps}
    for name in ("stop_compute", "start_compute"):
        assert [item["name"] for item in steps[name].params["units"]] == ["kolla-nova_compute-container.service"]
    # The container may run on without its unit.
    assert steps["stop_compute"].params["programs"] == ["nova-compute"]
    assert [item["name"] for item in steps["stop_agents"].params["units"]] == [
        "kolla-neutron_openvswitch_agent-container.service"
    ]
    assert "programs" not in steps["stop_agents"].params
    (note,) = [note for note in made.notes if note.startswith("Deployment")]
    assert "kolla-ansible (podman)" in note
    assert "The run uses kolla-nova_compute-container.service." in note


def test_where_an_override_passes_the_unknown_a_unit_alone_proves_no_stop():
    """kolla's container beside a packaged unit: that unit stops, and the container runs on under the old name."""
    some = fleet()
    for base in (unknown(), dataclasses.replace(unknown(), processes=packages().processes)):
        cloud = some.cloud.host(deployment=base)
        steps = {step.name: step for step in rename.plan(cloud.bundle, some.request).steps}
        assert [item["name"] for item in steps["stop_compute"].params["units"]] == ["nova-compute.service"]
        assert steps["stop_compute"].params["programs"] == ["nova-compute"]


def test_on_a_host_of_packages_the_plan_is_what_it_was():
    some = fleet()
    made = rename.plan(some.cloud.bundle, some.request)
    old = rename.plan(some.cloud.host(deployment=None).bundle, some.request)
    assert made.steps == old.steps
    (note,) = [note for note in made.notes if note not in old.notes]
    assert note == (
        "Deployment: packages: process 4711: /usr/bin/nova-compute on the host, unit nova-compute.service; unit "
        "nova-compute.service. The run uses nova-compute.service."
    )


def test_a_drain_follows_the_agents_of_containers():
    some = kolla_fleet(guests=0)
    nobody = MoveDecision(findings.Checked())
    made = rename_by_drain._Drain(some.cloud.bundle, nobody, some.request, rename_by_drain.placement.DrainOptions())
    assert [agent.binary for agent in made.agents] == ["neutron-openvswitch-agent"]
