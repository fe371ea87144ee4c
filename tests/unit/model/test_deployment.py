# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which deployment the evidence says, and that no mixture of two is taken for one of them."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.model import deployment as deployments
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.deployment_facts import DeployedUnit, Deployment
from ansible_collections.stackguard.nova.plugins.module_utils.model.names import conf_host
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import Commands, RenameRequest
from ansible_collections.stackguard.nova.tests.unit.builders import healthy, kolla, packages, process

SNAP_UNIT = "snap.openstack-hypervisor.nova-compute.service"
EMPTY = Deployment([], [], [], [], {}, [])


def edpm():
    unit = "edpm_nova_compute.service"
    return dataclasses.replace(
        EMPTY,
        processes=[process("nova-compute", "/usr/bin/nova-compute", unit, "podman", "compute1")],
        units=[DeployedUnit(unit, f"/run/systemd/generator/{unit}", "/usr/bin/podman", "podman", "nova_compute", True)],
        signs=["/var/lib/openstack/nova/02-nova-host-specific.conf"],
    )


def osa():
    script = "/openstack/venvs/nova-31.0.0/bin/nova-compute"
    return dataclasses.replace(
        EMPTY,
        processes=[process("nova-compute", script, "nova-compute.service")],
        units=[DeployedUnit("nova-compute.service", "/etc/systemd/system/nova-compute.service", script)],
        signs=["/openstack/venvs/nova-31.0.0"],
    )


def snap():
    script = "/snap/openstack-hypervisor/9/bin/nova-compute"
    return dataclasses.replace(
        EMPTY,
        processes=[process("nova-compute", script, SNAP_UNIT, "own root directory")],
        units=[DeployedUnit(SNAP_UNIT, f"/etc/systemd/system/{SNAP_UNIT}", "/usr/bin/snap")],
        signs=["/var/snap/openstack-hypervisor"],
    )


def pods():
    return dataclasses.replace(EMPTY, processes=[process("nova-compute", "nova-compute", None, "kubernetes")])


def with_juju(found):
    unit = DeployedUnit("jujud-machine-3.service", "/etc/systemd/system/jujud-machine-3.service", "/x")
    return dataclasses.replace(found, units=[*found.units, unit])


#: One host of each deployment, all its evidence in agreement.
WHOLE = {
    deployments.KOLLA: kolla(),
    deployments.EDPM: edpm(),
    deployments.OSA: osa(),
    deployments.PACKAGES: packages(),
    deployments.SNAP: snap(),
    deployments.CHARM: with_juju(packages()),
    deployments.PODS: pods(),
}
PARTS = ("processes", "units", "signs")


def both(one, other):
    """The evidence of two hosts on one."""
    return Deployment(
        processes=[*one.processes, *other.processes],
        guests=[],
        units=list({unit.name: unit for unit in [*one.units, *other.units]}.values()),
        signs=[*one.signs, *other.signs],
        folders={**one.folders, **other.folders},
        pending=[],
    )


@pytest.mark.parametrize("kind", WHOLE)
def test_evidence_that_agrees_is_one_deployment(kind):
    found = deployments.classify(WHOLE[kind])
    assert (found.kind, found.why) == (kind, None)
    assert found.text.startswith(kind)


def test_every_kind_is_tried_and_all_that_nothing_tests_is_refused():
    assert set(WHOLE) | {deployments.UNKNOWN} == set(deployments.KINDS)
    assert set(deployments.PRESETS) == {deployments.KOLLA, deployments.PACKAGES}
    for kind in deployments.KINDS:
        refusal = deployments.refusal(deployments.Classified(kind, None, ()))
        assert (refusal is None) == (kind in deployments.PRESETS), kind


def test_sunbeam_is_a_snap_although_juju_installs_it():
    assert deployments.classify(with_juju(snap())).kind == deployments.SNAP


@pytest.mark.parametrize("kind", [deployments.KOLLA, deployments.EDPM, deployments.OSA, deployments.PODS])
def test_juju_does_not_deploy_these(kind):
    assert deployments.classify(with_juju(WHOLE[kind])).kind == deployments.UNKNOWN


@given(st.data())
def test_evidence_of_two_deployments_is_never_taken_for_one(data):
    """Any part of one host's evidence added to another host: the same answer as before, or unknown; never the other."""
    kinds = data.draw(st.lists(st.sampled_from(sorted(WHOLE)), min_size=2, max_size=2, unique=True))
    one, other = (WHOLE[kind] for kind in kinds)
    kept = data.draw(st.sets(st.sampled_from(PARTS)))
    added = dataclasses.replace(other, **{name: [] for name in PARTS if name not in kept})
    if "processes" not in kept:
        # They are the directories of its process.
        added = dataclasses.replace(added, folders={})
    found = deployments.classify(both(one, added))
    juju = {deployments.PACKAGES, deployments.CHARM}
    if set(kinds) <= juju:
        # The charm is the packages and Juju's agent: together they are no contradiction.
        assert found.kind in juju
    elif not deployments.classify(added).seen:
        assert found.kind == kinds[0]
    elif {deployments.SNAP, deployments.CHARM} == set(kinds) and found.kind != deployments.UNKNOWN:
        assert found.kind == deployments.SNAP
    else:
        assert found.kind == deployments.UNKNOWN
        assert found.why
        assert set(deployments.classify(one).seen) <= set(found.seen)


@given(st.data())
def test_a_part_of_the_evidence_is_the_same_deployment_or_unknown(data):
    """Nothing that is missing makes a host another one: a stopped container, a unit file that was removed."""
    kind = data.draw(st.sampled_from(sorted(WHOLE)))
    gone = data.draw(st.sets(st.sampled_from((*PARTS, "folders"))))
    changes = {name: {} if name == "folders" else [] for name in gone}
    found = deployments.classify(dataclasses.replace(WHOLE[kind], **changes))
    assert found.kind in (kind, deployments.UNKNOWN)
    assert (found.kind == deployments.UNKNOWN) == (found.why is not None)


# --- presets ------------------------------------------------------------------------------------------------------


def request(**changes):
    return RenameRequest("compute1", "compute1", "renamed1", **changes)


def host(deployed):
    return healthy().host(deployment=deployed).bundle.hosts["compute1"]


def test_kollas_units_are_taken_where_the_operator_names_none():
    made = deployments.with_preset(request(), host(kolla()))
    assert made.compute_units == ("kolla-nova_compute-container",)
    assert "kolla-neutron_openvswitch_agent-container" in made.agent_units


@pytest.mark.parametrize("kind", sorted(set(WHOLE) - {deployments.KOLLA}))
def test_units_of_the_host_stay_those_of_packages(kind):
    assert deployments.with_preset(request(), host(WHOLE[kind])) == request()


@pytest.mark.parametrize(
    "given_",
    [
        request(compute_units=("mine",), agent_units=("my-agent",)),
        request(commands=Commands("stop", "start"), agent_units=("my-agent",)),
    ],
)
def test_what_the_operator_says_wins(given_):
    assert deployments.with_preset(given_, host(kolla())) == given_
    assert deployments.explicit(given_)
    assert not deployments.explicit(request())


def test_a_host_that_was_not_read_changes_nothing():
    assert deployments.with_preset(request(), None) == request()
    assert deployments.with_preset(request(), host(None)) == request()


@pytest.mark.parametrize(
    ("unit", "program"),
    [
        ("kolla-neutron_openvswitch_agent-container.service", "neutron-openvswitch-agent"),
        ("kolla-neutron_sriov_agent-container.service", "neutron-sriov-nic-agent"),
        ("neutron-openvswitch-agent.service", "neutron-openvswitch-agent"),
    ],
)
def test_the_agent_that_a_unit_is_named_after(unit, program):
    assert deployments.program_of(unit) == program


# --- the name that nova-compute has -------------------------------------------------------------------------------


def renamed(deployed, **changes):
    """A host that was renamed by hand: the kernel has the new name."""
    return healthy().host(kernel_hostname="new1", deployment=deployed, **changes).bundle.hosts["compute1"]


def test_conf_host_is_the_name_in_the_container():
    assert conf_host(renamed(kolla("compute1"))) == "compute1"
    assert conf_host(renamed(kolla(None))) == "new1"
    assert conf_host(renamed(packages())) == "new1"


def test_conf_host_is_not_known_where_the_name_in_the_container_is_not():
    found = kolla("x")
    unread = [dataclasses.replace(entry, hostname=None) for entry in found.processes]
    assert conf_host(renamed(dataclasses.replace(found, processes=unread))) is None


def test_a_configured_host_goes_before_the_name_in_the_container():
    some = healthy(style="configured").host(deployment=kolla("old1")).bundle.hosts["compute1"]
    assert conf_host(some) == "compute1"


def test_a_container_that_each_start_creates_has_the_hosts_name_at_its_next_start():
    assert conf_host(renamed(edpm())) == "new1"


def test_a_unit_that_protects_its_host_name_has_the_hosts_name_at_its_next_start():
    found = packages()
    protected = [dataclasses.replace(entry, own_uts=True, hostname="compute1") for entry in found.processes]
    assert conf_host(renamed(dataclasses.replace(found, processes=protected))) == "new1"


def test_of_a_container_that_does_not_run_the_engine_says_the_name():
    stopped = dataclasses.replace(kolla(), processes=[])
    entry = facts.NameSpace("nova-compute", "podman container nova_compute", True, "compute1", kind="container")
    assert conf_host(renamed(stopped, name_spaces=[entry])) == "compute1"
    unit = facts.NameSpace("nova-compute", "unit nova-compute.service", True, kind="unit")
    assert conf_host(renamed(stopped, name_spaces=[unit])) == "new1"


def test_evidence_of_an_earlier_version_is_read_as_not_read():
    plain = facts.to_plain(host(packages()))
    del plain["deployment"]
    old = facts.from_plain(facts.HostFacts, plain)
    assert old.deployment is None
    assert deployments.of_host(old) is None
    assert conf_host(old) == "compute1"
