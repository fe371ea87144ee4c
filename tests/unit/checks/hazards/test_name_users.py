# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is said of whatever else goes by the old name; certificates are real ones, made here."""

from __future__ import annotations

import datetime
import functools

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ansible_collections.stackguard.nova.plugins.module_utils.model import certificates, facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import name_users
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place.preflight import preflight_rename
from ansible_collections.stackguard.nova.tests.unit.strategies import fleet

SERIOUS = {
    *("ceph-osd", "ceph-mon", "rabbitmq", "galera", "pacemaker", "cinder-volume", "manila-share", "zun-compute"),
    *("ironic-conductor", "etcd", "kubelet", "glusterd", "linstor"),
}


def of(cloud, code, some=None, in_place=True):
    checked = preflight_rename(cloud.bundle, (some or fleet()).request, in_place=in_place)
    return [item for item in checked.findings if item.code == code]


def undecided(cloud, code):
    checked = preflight_rename(cloud.bundle, fleet().request)
    return [(item.object, item.reason) for item in checked.unchecked if item.code == code]


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("kind", sorted(name_users.CONSEQUENCES))
def test_another_service_of_the_machine_is_told_with_what_becomes_of_it(kind, in_place):
    """The review, A10: OSDs moved to a new CRUSH bucket days after a green rename."""
    cloud = fleet().cloud.part("name_users", residents=[facts.Resident(kind, ["unit x"])])
    (found,) = of(cloud, "SG313", in_place=in_place)
    assert (found.severity == findings.BLOCKER) == (kind in SERIOUS)
    assert (found.object.name, found.evidence["seen"]) == (kind, ["unit x"])
    assert len(found.evidence["consequence"]) > 20
    assert of(fleet().cloud, "SG313") == []


def test_a_record_in_masakari_is_told_with_the_command_that_renames_it():
    some = fleet()
    cloud = some.cloud.cloud(ha_hosts=[facts.HaHost("uuid-1", some.old, "rack7"), facts.HaHost("u2", some.new, "x")])
    (found,) = of(cloud, "SG313")
    assert found.severity == findings.WARNING
    assert found.remedy.endswith(f"openstack segment host update --name {some.new} rack7 uuid-1")
    unread = some.cloud.cloud(ha_hosts=None, unread=[facts.Unread("ha_hosts", "503")])
    assert undecided(unread, "SG313") == [(some.old, "Masakari may have a record of this host: 503")]


def test_an_aggregate_of_blazar_tells_that_blazar_knows_the_host():
    some = fleet()
    (member,) = [row for row in some.cloud.bundle.cloud.aggregates if some.old in row.hosts]
    assert of(some.cloud, "SG313") == []
    for changes in ({"name": "freepool"}, {"metadata": {"blazar:owner": "lease"}}):
        (found,) = of(some.cloud.change("aggregates", {"id": member.id}, **changes), "SG313")
        assert (found.severity, found.object.name) == (findings.BLOCKER, "blazar")
    elsewhere = some.cloud.change("aggregates", lambda row: some.old not in row.hosts, name="freepool")
    assert of(elsewhere, "SG313") == []


def test_options_with_the_old_name_are_told():
    cloud = fleet().cloud.part("name_users", options=["[libvirt] live_migration_inbound_addr"])
    (found,) = of(cloud, "SG312")
    assert found.severity == findings.WARNING
    assert "[libvirt] live_migration_inbound_addr" in str(found.evidence)
    assert of(fleet().cloud, "SG312") == []


@pytest.mark.parametrize(
    ("manage", "preserve", "told"),
    [
        ("true", "true", "/etc/hosts"),
        ("localhost", "true", "/etc/hosts"),
        ("template", "false", "/etc/hosts"),
        ("false", "false", "preserve_hostname"),
        ("false", "true", None),
    ],
)
def test_cloud_init_that_would_bring_the_old_name_back_is_told(manage, preserve, told):
    settings = {"manage_etc_hosts": manage, "preserve_hostname": preserve}
    found = of(fleet().cloud.part("name_users", cloud_init=settings), "SG312")
    assert [told in f"{item.evidence} {item.remedy}" for item in found] == ([True] if told else [])


# --- certificates -----------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1)
def key():
    return ec.generate_private_key(ec.SECP256R1())


def certificate(*names, common="unused"):
    """A real certificate for these DNS names; none: its common name alone."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)])
    at = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    made = x509.CertificateBuilder(name, name, key().public_key(), 7, at, at + datetime.timedelta(days=9))
    if names:
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(entry) for entry in names]), False)
    return made.sign(key(), hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def with_certificate(pem, some=None):
    entry = facts.Certificate("/etc/pki/libvirt/servercert.pem", pem)
    return (some or fleet()).cloud.part("name_users", certificates=[entry])


@pytest.mark.parametrize(
    ("names", "stale"),
    [
        (["compute1"], ["compute1"]),
        (["compute1", "renamed1"], []),
        (["COMPUTE1", "Renamed1"], []),
        (["compute1.internalapi.dc1.test", "renamed1"], []),
        (["compute1.internalapi.dc1.test"], ["compute1.internalapi.dc1.test"]),
        (["compute1.internalapi.dc1.test", "*.internalapi.dc1.test"], []),
        (["compute1.a.test", "renamed1.a.test"], []),
        (["*.dc1.test"], []),
        (["compute10", "other"], []),
    ],
)
def test_a_certificate_without_the_new_name_is_told(names, stale):
    found = of(with_certificate(certificate(*names)), "SG314")
    assert [item.evidence["without the new name"] for item in found] == ([stale] if stale else [])
    assert [item.severity for item in found] == ([findings.WARNING] if stale else [])


def test_where_a_certificate_has_no_dns_names_its_common_name_counts():
    assert of(with_certificate(certificate(common="compute1")), "SG314")
    assert not of(with_certificate(certificate("renamed1", common="compute1")), "SG314")


def test_full_names_are_compared_by_what_they_become():
    some = fleet(style="full")
    assert of(with_certificate(certificate("compute1.dc1.test"), some), "SG314", some)
    assert not of(with_certificate(certificate("compute1.dc1.test", "renamed1.dc1.test"), some), "SG314", some)
    assert not of(with_certificate(certificate("compute1.dc1.test", "*.dc1.test"), some), "SG314", some)


def test_a_certificate_that_cannot_be_understood_is_not_a_good_one(monkeypatch):
    path = "/etc/pki/libvirt/servercert.pem"
    strange = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    ((where, why),) = undecided(with_certificate(strange), "SG314")
    assert (where, why.startswith("the certificate cannot be parsed: ")) == (path, True)
    monkeypatch.setattr(certificates, "CRYPTOGRAPHY", False)
    assert undecided(with_certificate(certificate("compute1")), "SG314") == [
        (path, "cryptography is not installed on the Ansible controller")
    ]


def test_a_certificate_file_that_was_not_read_is_undecided():
    cloud = fleet().cloud.part("name_users", unread=[facts.Unread("certificates", "/x: Permission denied")])
    assert undecided(cloud, "SG314") == [("compute1", "/x: Permission denied")]
