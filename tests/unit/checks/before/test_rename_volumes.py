# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Before a rename: SG308 of the host's volumes by what their back end does with names, and of a cinder-volume on it."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.codes.catalogue import remedy_text
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Override, blocking_findings
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place.preflight import preflight_rename
from ansible_collections.stackguard.nova.tests.unit.builders import guest
from ansible_collections.stackguard.nova.tests.unit.cinders import attachment, cinder, service, volume
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet

HOST = "compute1"
ONE, TWO, OTHER = guest(1, 1), guest(1, 2), guest(2, 1)


def renamed(storage, guests, **options):
    """Judge the rename of compute1, whose guests have these volumes."""
    some = fleet()
    servers = [
        dataclasses.replace(row, volumes=list(guests.get(row.id, ()))) for row in some.cloud.bundle.cloud.servers
    ]
    cloud = some.cloud.cloud(servers=servers, block_storage=storage)
    request = dataclasses.replace(some.request, adopt=options.pop("adopt", None))
    return preflight_rename(cloud.bundle, request, **options)


def told(checked):
    found = [item for item in checked.findings if item.code == "SG308"]
    return [(item.severity, item.object.kind, item.object.id, item.remedy) for item in found]


def numbers(checked):
    return [(item.evidence["servers"], item.evidence["volumes"]) for item in checked.findings if item.code == "SG308"]


def many(count, driver, **changes):
    rows = [
        volume(f"v{number}", attachment(number, f"v{number}", ONE, driver=driver), **changes) for number in range(count)
    ]
    return cinder(*rows), {ONE: [row.id for row in rows]}


@pytest.mark.parametrize("driver", ["rbd", "nfs"])
@pytest.mark.parametrize("count", [1, 400])
def test_ceph_and_nfs_are_told_once_as_information(driver, count):
    checked = renamed(*many(count, driver))
    assert told(checked) == [("info", "host", HOST, remedy_text("SG308", "rename-harmless"))]
    assert numbers(checked) == [(1, count)]
    assert not blocking_findings(checked.findings, [])


@pytest.mark.parametrize(("driver", "protocol"), [("iscsi", "iSCSI"), ("fibre_channel", "FC"), (None, None)])
def test_a_back_end_that_may_know_the_name_is_a_warning(driver, protocol):
    """Also one whose kind nobody knows."""
    checked = renamed(*many(30, driver, protocol=protocol))
    assert told(checked) == [("warning", "host", HOST, remedy_text("SG308", "rename"))]
    (item,) = (entry for entry in checked.findings if entry.code == "SG308")
    assert item.evidence["volumes"] == 30
    assert len(item.evidence["servers and volumes"]) == 10


def test_each_kind_is_told_for_itself():
    storage = cinder(
        volume("v1", attachment(1, "v1", ONE)),
        volume("v2", attachment(2, "v2", TWO, driver="iscsi")),
        volume("v3", attachment(3, "v3", OTHER, "compute2", driver="iscsi")),
    )
    checked = renamed(storage, {ONE: ["v1"], TWO: ["v2"], OTHER: ["v3"]})
    assert [entry[0] for entry in told(checked)] == ["info", "warning"]
    assert numbers(checked) == [(1, 1), (1, 1)]


def test_what_has_the_new_name_already_is_not_told():
    """An adoption back: the records never had another name."""
    new = fleet().request.rename_to
    storage = cinder(volume("v1", attachment(1, "v1", ONE, new, driver="iscsi")))
    assert told(renamed(storage, {ONE: ["v1"]})) == []


def shared(driver="iscsi", second=TWO, host=HOST):
    rows = attachment(1, "v1", ONE, driver=driver), attachment(2, "v1", second, host, driver=driver)
    return cinder(volume("v1", *rows, multiattach=True)), {ONE: ["v1"], second: ["v1"]}


def test_two_guests_on_one_exported_volume_forbid_it_unless_each_is_overridden():
    checked = renamed(*shared())
    blockers = [entry for entry in told(checked) if entry[0] == "blocker"]
    remedy = remedy_text("SG308", "rename-shared")
    assert blockers == [("blocker", "instance", uuid, remedy) for uuid in sorted((ONE, TWO))]
    one, two = (Override("SG308", uuid, "nobody detaches it") for uuid in (ONE, TWO))
    assert blocking_findings(checked.findings, [one])
    assert not blocking_findings(checked.findings, [one, two])


@pytest.mark.parametrize("found", [shared("rbd"), shared(second=OTHER, host="compute2")])
def test_a_shared_volume_in_ceph_or_with_another_host_does_not(found):
    assert not blocking_findings(renamed(*found).findings, [])


@pytest.mark.parametrize("name", ["kernel_hostname", "static_hostname", "fqdn", "nova"])
@pytest.mark.parametrize("in_place", [True, False])
def test_a_host_that_runs_cinder_volume_is_refused_by_any_of_its_names(name, in_place):
    """CONF.host of Cinder is the kernel's name, whatever Nova calls the host."""
    some = fleet()
    facts_of = dataclasses.replace(some.cloud.bundle.hosts[HOST], **({name: "Cn1.example"} if name != "nova" else {}))
    cloud = some.cloud.cloud(
        block_storage=cinder(services=[service("cn1.example@lvm" if name != "nova" else "COMPUTE1@lvm")])
    )
    bundle = dataclasses.replace(cloud.bundle, hosts={**cloud.bundle.hosts, HOST: facts_of})
    checked = preflight_rename(bundle, some.request, in_place=in_place)
    key = f"{HOST}:cinder-volume"
    assert told(checked) == [("blocker", "host", key, remedy_text("SG308", "rename-cinder-volume"))]
    passed = [Override("SG308", key, "its volumes are gone")]
    assert "SG308" not in {item.code for item in blocking_findings(checked.findings, passed)}


@pytest.mark.parametrize("host", ["controller@ceph", "compute10@lvm", "compute1.other@lvm", "rbd:volumes@ceph"])
def test_a_cinder_volume_elsewhere_is_no_reason(host):
    assert told(renamed(cinder(services=[service(host)]), {})) == []


def test_an_adoption_only_warns_of_what_has_happened():
    storage, guests = shared()
    storage = dataclasses.replace(storage, services=[service("compute1@lvm")])
    assert {entry[0] for entry in told(renamed(storage, guests, adopt="forward"))} == {"warning"}


def test_a_drained_host_has_its_records_made_anew():
    assert told(renamed(*shared(), in_place=False)) == []


@pytest.mark.parametrize(
    ("storage", "objects"),
    [
        (None, {ONE, f"{HOST}:cinder-volume"}),
        (cinder(), {ONE}),
        (cinder(services=None), {ONE, f"{HOST}:cinder-volume"}),
        (facts.BlockStorage(False, None, [], unread=[facts.Unread("volumes", "403")]), {ONE}),
    ],
)
def test_what_cinder_did_not_tell_is_unchecked(storage, objects):
    checked = renamed(storage, {ONE: ["v1"], OTHER: ["v2"]})
    assert {item.object for item in checked.unchecked if item.code == "SG308"} == objects
    assert told(checked) == []
