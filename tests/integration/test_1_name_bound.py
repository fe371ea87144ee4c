# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What depends on the host's name without being it: seen on a real host before anything is changed.

Each case is made on the host, the rename is refused (or warns) with its code, and passes when it is gone.
"""

from __future__ import annotations

import contextlib
import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from labkit import state, waiting
from labkit.guests import NEW

HOST = "compute1"
DROP_IN = "/etc/systemd/system/nova-compute.service.d/frozen.conf"
MATRIX = pytest.mark.matrix("rename")


def refused_and_nothing_changed(lab, playbooks, codes, **variables):
    before = state.everything(lab)
    result = playbooks.rename(variables=variables).failed()
    assert codes <= result.codes, f"{result.codes}, not {codes}\n{result.told()}"
    state.assert_same(before, state.everything(lab), "a refused run changed something")
    return result


def of_code(result, code):
    return [item for item in result.report["findings"] if item["code"] == code]


# --- SG123: a host name of its own ----------------------------------------------------------------------------


def restarted(lab, command):
    lab.ssh(HOST, f"{command} && systemctl daemon-reload && systemctl restart nova-compute", timeout=300)
    waiting.until("nova-compute reports", lambda: lab.service(HOST)["state"] == "up" or None, 120)


@contextlib.contextmanager
def frozen_name(lab):
    """nova-compute in a UTS namespace of its own, as a container with host networking has one."""
    restarted(lab, f"mkdir -p $(dirname {DROP_IN}) && printf '[Service]\\nProtectHostname=yes\\n' > {DROP_IN}")
    try:
        yield
    finally:
        restarted(lab, f"rm {DROP_IN}")


@MATRIX
def test_a_nova_compute_that_would_keep_the_old_name_is_refused(lab, guests, playbooks):
    """A15: the run renamed four stores, and nova-compute never came up under the new name."""
    with frozen_name(lab):
        pid = "$(systemctl show -p MainPID --value nova-compute)"
        own, host = lab.ssh(HOST, f"readlink /proc/{pid}/ns/uts /proc/1/ns/uts").split()
        assert own != host, "nova-compute has the host's name, this test proves nothing"
        # The catastrophe: what the host is called now does not reach it.
        lab.ssh(HOST, "hostname another-name")
        try:
            seen = lab.ssh(HOST, f"nsenter --uts=/proc/{pid}/ns/uts hostname").strip()
        finally:
            lab.ssh(HOST, f"hostname {HOST}")
        assert seen == HOST
        refused = refused_and_nothing_changed(lab, playbooks, {"SG123"})
        assert "ProtectHostname" in refused.output
        override = [{"code": "SG123", "object": HOST, "reason": "a test"}]
        passed = playbooks.rename(flags=["--check"], variables={"stackguard_overrides": override}).failed()
        assert "absolute" in passed.output
        by_drain = playbooks.rename(flags=["--check"], variables={"rename_strategy": "drain"}).failed()
        assert "SG123" in by_drain.codes
    assert playbooks.rename(flags=["--check"]).ok().stats["state"] == "planned"


# --- SG124: what libvirt would say ------------------------------------------------------------------------------


@MATRIX
def test_a_name_that_libvirt_would_not_take_is_refused_before_the_first_store(lab, guests, playbooks):
    """Nova takes the node's name from libvirt: the run found it in its eleventh step, with four stores renamed."""
    before = state.everything(lab)
    refused = playbooks.rename(variables={"rename_hypervisor_hostname": "cn-rack7.other"}).failed()
    assert "SG124" in refused.codes, refused.told()
    (found,) = of_code(refused, "SG124")
    assert found["evidence"]["libvirt would use"] == NEW
    # What the finding says is what helps.
    assert f"rename_hypervisor_hostname={NEW}" in found["remedy"]
    state.assert_same(before, state.everything(lab), "a refused run changed something")
    passed = playbooks.rename(variables={"rename_hypervisor_hostname": NEW}, flags=["--check"]).ok()
    assert passed.stats["state"] == "planned"


# --- SG313: other services ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def running_as(lab, program):
    """A process that is called like a service. The rename looks at nothing else of it."""
    unit = f"name-bound-{program}"
    lab.ssh(HOST, f"systemd-run --unit={unit} bash -c 'exec -a /usr/bin/{program} sleep 3600'")
    try:
        yield
    finally:
        lab.ssh(HOST, f"systemctl stop {unit}")


@MATRIX
def test_a_volume_service_of_the_same_name_is_refused_and_passed_by_name(lab, guests, playbooks):
    """A10: volumes belong to HOST@BACKEND, and nothing manages them after the rename."""
    with running_as(lab, "cinder-volume"):
        refused = refused_and_nothing_changed(lab, playbooks, {"SG313"})
        (found,) = of_code(refused, "SG313")
        assert found["object"]["name"] == "cinder-volume"
        override = [{"code": "SG313", "object": "cinder-volume", "reason": "backend_host is set"}]
        passed = playbooks.rename(flags=["--check"], variables={"stackguard_overrides": override}).ok()
        assert passed.report["counts"]["overridden"] == 1
    assert of_code(playbooks.rename(flags=["--check"]).ok(), "SG313") == []


@MATRIX
def test_an_osd_that_is_stopped_today_is_refused(lab, guests, playbooks):
    """Data on disk counts as well as a process: what is stopped today takes the new name when it is started."""
    lab.ssh(HOST, "mkdir -p /var/lib/ceph/osd/ceph-7 && echo 7 > /var/lib/ceph/osd/ceph-7/whoami")
    try:
        refused = refused_and_nothing_changed(lab, playbooks, {"SG313"})
        assert [item["object"]["name"] for item in of_code(refused, "SG313")] == ["ceph-osd"]
    finally:
        lab.ssh(HOST, "rm -r /var/lib/ceph/osd/ceph-7")


# --- SG314: certificates --------------------------------------------------------------------------------------


def certificate(*names):
    """A self-signed certificate for these names, PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in names]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


@MATRIX
def test_a_certificate_without_the_new_name_is_a_warning(lab, guests, playbooks):
    """Live migration with TLS would refuse the host afterwards."""
    path = "/etc/pki/qemu/server-cert.pem"
    lab.ssh(HOST, "mkdir -p /etc/pki/qemu")
    try:
        lab.ssh(HOST, f"cat > {path}", stdin=certificate(HOST, f"{HOST}.example"))
        warned = playbooks.rename(flags=["--check"]).ok()
        (found,) = of_code(warned, "SG314")
        assert found["severity"] == "warning"
        assert path in str(found)
        lab.ssh(HOST, f"cat > {path}", stdin=certificate(HOST, NEW))
        assert of_code(playbooks.rename(flags=["--check"]).ok(), "SG314") == []
        lab.ssh(HOST, f"cat > {path}", stdin="no certificate\n")
        unread = playbooks.rename(flags=["--check"]).ok()
        assert [row for row in unread.report["unchecked"] if row["code"] == "SG314"]
    finally:
        lab.ssh(HOST, f"rm {path}; rmdir /etc/pki/qemu", check=False)
