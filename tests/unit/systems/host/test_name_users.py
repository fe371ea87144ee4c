# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What else on a host goes by its name: services and what gives them away, options, cloud-init, certificates."""

from __future__ import annotations

import fnmatch
import os

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place.name_users import CONSEQUENCES
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import name_users, nova_conf
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.reading import Parts


@pytest.fixture
def host(tmp_path):
    """An empty host: files, processes."""
    (tmp_path / "proc").mkdir()

    class Host:
        root, proc = str(tmp_path), str(tmp_path / "proc")

        @staticmethod
        def file(path, text=""):
            made = tmp_path / path.lstrip("/")
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text(text)

        @staticmethod
        def process(pid, *arguments, maps=""):
            Host.file(f"proc/{pid}/cmdline", "\0".join(arguments) + "\0")
            Host.file(f"proc/{pid}/maps", maps)

        @staticmethod
        def residents():
            found = name_users.residents(Host.root, Host.proc, Systemd(Host.units))
            return {entry.kind: entry.seen for entry in found}

    Host.units = {}
    return Host


class Systemd:
    """systemd with units in memory: name to its state, and what wants it."""

    def __init__(self, known):
        self.known = known

    def call(self, command, *arguments):
        names = arguments[arguments.index("--") + 1 :]
        if command == "list-units":
            listed = [name for name in self.known if any(fnmatch.fnmatchcase(name, pattern) for pattern in names)]
            return "".join(f"{name} loaded {self.known[name][0]} dead Some words\n" for name in listed)
        assert command == "show"
        return "\n\n".join(self._block(name) for name in names) + "\n"

    def _block(self, name):
        state, wanted, *load = self.known[name]
        return f"Id={name}\nLoadState={load[0] if load else 'loaded'}\nActiveState={state}\nWantedBy={wanted}"


FSID = "4d1f7d1e-0e5c-11f0-8a6e-525400a1b2c3"


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("ceph-osd", ["/usr/bin/ceph-osd", "-f", "--id", "3"]),
        ("ceph-mon", ["/usr/bin/ceph-mon", "-n", "mon.compute1"]),
        ("ceph", ["/usr/bin/python3", "/usr/bin/ceph-crash"]),
        ("rabbitmq", ["/usr/lib/erlang/bin/beam.smp", "-W", "w", "-s", "rabbit", "boot"]),
        ("pacemaker", ["/usr/sbin/corosync", "-f"]),
        ("pacemaker", ["/usr/sbin/pacemaker-remoted"]),
        ("cinder-volume", ["/var/lib/kolla/venv/bin/python3", "/var/lib/kolla/venv/bin/cinder-volume"]),
        ("cinder-backup", ["/usr/bin/python3", "/usr/bin/cinder-backup"]),
        ("masakari", ["/usr/bin/python3", "/usr/bin/masakari-hostmonitor"]),
        ("ceilometer", ["ceilometer-polling: master process [/usr/bin/ceilometer-polling]"]),
        ("ceilometer", ["/usr/bin/python3", "/usr/bin/ceilometer-polling"]),
        ("cyborg", ["/usr/bin/python3", "/usr/bin/cyborg-agent"]),
        ("salt", ["/usr/bin/python3", "/usr/bin/salt-minion"]),
        ("manila-share", ["/usr/bin/python3", "/usr/bin/manila-share"]),
        ("zun-compute", ["/var/lib/kolla/venv/bin/python3", "/var/lib/kolla/venv/bin/zun-compute"]),
        ("ironic-conductor", ["/usr/bin/python3", "/usr/bin/ironic-conductor"]),
        ("etcd", ["/usr/bin/etcd", "--name", "compute1"]),
        ("kubelet", ["/usr/bin/kubelet", "--config=/var/lib/kubelet/config.yaml"]),
        ("glusterd", ["/usr/sbin/glusterd", "-p", "/var/run/glusterd.pid"]),
        ("consul", ["/usr/bin/consul", "agent"]),
    ],
)
def test_a_service_that_runs_is_seen_also_in_a_container(host, kind, arguments):
    host.process(7, *arguments)
    host.process(8, "/usr/bin/grep", arguments[-1])
    assert list(host.residents()) == ([] if arguments[0].startswith("ceilometer-polling:") else [kind])


@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        ("ceph-osd", "ceph-osd@3.service"),
        ("ceph-osd", f"ceph-{FSID}@osd.3.service"),
        ("ceph-mon", f"ceph-{FSID}@mon.compute1.service"),
        ("ceph", f"ceph-{FSID}@node-exporter.compute1.service"),
        ("rabbitmq", "rabbitmq-server.service"),
        ("galera", "kolla-mariadb-container.service"),
        ("pacemaker", "pacemaker_remote.service"),
        ("cinder-volume", "openstack-cinder-volume.service"),
        ("cinder-volume", "kolla-cinder_volume-container.service"),
        ("puppet", "puppet.service"),
        ("manila-share", "openstack-manila-share.service"),
        ("zun-compute", "kolla-zun_compute-container.service"),
        ("ironic-conductor", "kolla-ironic_conductor-container.service"),
        ("etcd", "kolla-etcd-container.service"),
        ("kubelet", "k3s-agent.service"),
        ("glusterd", "glusterd.service"),
        ("linstor", "linstor-satellite.service"),
        ("chef", "chef-client.service"),
    ],
)
def test_a_service_that_is_started_at_boot_is_seen_while_it_is_stopped(host, kind, unit):
    host.units["nova-compute.service"] = ("active", "multi-user.target")
    host.units[unit] = ("inactive", "multi-user.target")
    assert host.residents() == {kind: [f"unit {unit}"]}
    host.units[unit] = ("failed", "")
    assert host.residents() == {kind: [f"unit {unit}"]}
    # Installed, and nothing starts it: another unit merely comes after it.
    host.units[unit] = ("inactive", "")
    assert host.residents() == {}


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("ceph-osd", "/var/lib/ceph/osd/ceph-3/whoami"),
        ("ceph-osd", f"/var/lib/ceph/{FSID}/osd.3/unit.run"),
        ("ceph-mon", "/var/lib/ceph/mon/ceph-compute1/store.db"),
        ("ceph", f"/var/lib/ceph/{FSID}/crash.compute1/unit.run"),
        ("rabbitmq", "/var/lib/rabbitmq/mnesia/rabbit@compute1"),
        ("galera", "/var/lib/mysql/grastate.dat"),
        ("freeipa", "/etc/ipa/default.conf"),
        ("etcd", "/var/lib/etcd/default.etcd/member"),
        ("kubelet", "/var/lib/kubelet/config.yaml"),
        ("glusterd", "/var/lib/glusterd/glusterd.info"),
        ("linstor", "/etc/drbd.d/r0.res"),
    ],
)
def test_what_a_service_left_on_disk_is_seen(host, kind, path):
    host.file(path)
    assert host.residents() == {kind: [path]}


def test_a_database_is_a_member_of_a_cluster_where_it_has_loaded_galera(host):
    host.process(7, "/usr/sbin/mariadbd")
    assert host.residents() == {}
    host.process(8, "/usr/sbin/mariadbd", maps="7f00 r-xp /usr/lib/galera/libgalera_smm.so\n")
    assert host.residents() == {"galera": ["process 8 (mariadbd)"]}
    os.unlink(f"{host.proc}/7/maps")
    os.mkdir(f"{host.proc}/7/maps")  # cannot be read
    assert len(host.residents()["galera"]) == 2


def test_an_empty_host_has_none(host):
    host.file("/var/lib/ceph/osd/nothing")
    host.process(1, "/sbin/init")
    assert host.residents() == {}
    assert name_users.cloud_init(host.root) == {}
    assert name_users.certificates(None, Parts(), host.root) == []


def test_every_kind_has_a_consequence():
    assert {kind.name for kind in name_users.KINDS} == set(CONSEQUENCES)


# --- options ----------------------------------------------------------------------------------------------------


def config(text):
    made = nova_conf.Config()
    made.add_text(text, "/etc/nova/nova.conf")
    return made


def test_options_with_the_hosts_name_are_told_by_name_only():
    made = config(
        "[DEFAULT]\nhost = compute1\nmy_ip = 192.0.2.1\ntransport_url = rabbit://nova:s3cret@compute1.dc1.test:5672\n"
        "[libvirt]\nlive_migration_inbound_addr = COMPUTE1\nconnection_uri = qemu+tls://compute10/system\n"
        "[vnc]\nserver_listen = compute1-old\nserver_proxyclient_address = my.compute1\n"
    )
    found = made.options_with(["compute1", "compute1.dc1.test"])
    assert found == ["[DEFAULT] transport_url", "[libvirt] live_migration_inbound_addr"]
    assert "s3cret" not in repr(name_users.read(["compute1"], made, "/nonexistent", "/nonexistent"))
    assert made.options_with([]) == []


def test_what_a_later_file_sets_decides():
    made = config("[libvirt]\nlive_migration_inbound_addr = compute1\n")
    made.add_text("[libvirt]\nlive_migration_inbound_addr = 192.0.2.1\n", "/etc/nova/nova.conf.d/x.conf")
    assert made.options_with(["compute1"]) == []


def test_each_part_fails_by_itself():
    found = name_users.read(["compute1"], None, "/nonexistent", "/nonexistent")
    assert (found.residents, found.options, found.cloud_init, found.certificates) == (None, None, {}, [])
    assert {entry.part for entry in found.unread} == {"residents", "options"}


# --- cloud-init -------------------------------------------------------------------------------------------------


def test_cloud_init_says_what_it_does_to_the_name(host):
    host.file("/usr/bin/cloud-init")
    assert name_users.cloud_init(host.root) == {"manage_etc_hosts": "false", "preserve_hostname": "false"}
    host.file("/etc/cloud/cloud.cfg", "preserve_hostname: false\nusers:\n  preserve_hostname: true\n")
    host.file("/etc/cloud/cloud.cfg.d/50-x.cfg", "preserve_hostname: 'True' # ours\nmanage_etc_hosts: true\n")
    assert name_users.cloud_init(host.root) == {"manage_etc_hosts": "true", "preserve_hostname": "true"}
    host.file("/var/lib/cloud/instance/cloud-config.txt", "#cloud-config\nmanage_etc_hosts: localhost\n")
    assert name_users.cloud_init(host.root)["manage_etc_hosts"] == "localhost"
    host.file("/etc/cloud/cloud-init.disabled")
    assert name_users.cloud_init(host.root) == {}


# --- certificates -----------------------------------------------------------------------------------------------

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"


def test_certificates_of_libvirt_qemu_and_nova_are_found_and_no_key_leaves_the_host(host):
    for path in ("libvirt/servercert.pem", "libvirt-vnc/server-cert.pem", "qemu/server-cert.pem", "qemu/ca-cert.pem"):
        host.file(f"/etc/pki/{path}", KEY + PEM + PEM.replace("AAAA", "BBBB"))
    host.file("/etc/pki/libvirt/cacert.pem", PEM)
    host.file("/etc/libvirt/qemu.conf", '#a_tls_x509_cert_dir = "/x"\nmigrate_tls_x509_cert_dir = "/srv/tls"\n')
    host.file("/etc/libvirt/libvirtd.conf", 'cert_file = "/srv/libvirt.pem"\n')
    for path in ("/srv/tls/server-cert.pem", "/srv/libvirt.pem", "/srv/nova.pem"):
        host.file(path, PEM)
    made = config(
        f"[oslo_messaging_rabbit]\nssl_cert_file = {host.root}/srv/nova.pem\n[neutron]\ncertfile = /gone.pem\n"
    )
    found = name_users.certificates(made, Parts(), host.root)
    assert {entry.path for entry in found} == {
        "/etc/pki/libvirt/servercert.pem",
        "/etc/pki/libvirt-vnc/server-cert.pem",
        "/etc/pki/qemu/server-cert.pem",
        "/srv/tls/server-cert.pem",
        "/srv/libvirt.pem",
        "/srv/nova.pem",
    }
    assert {entry.pem for entry in found} == {PEM}


def test_a_certificate_that_cannot_be_read_is_told_and_the_others_are_read(host):
    host.file("/etc/pki/qemu/server-cert.pem", PEM)
    os.makedirs(f"{host.root}/etc/pki/libvirt/servercert.pem")
    parts = Parts()
    assert [entry.path for entry in name_users.certificates(None, parts, host.root)] == [
        "/etc/pki/qemu/server-cert.pem"
    ]
    assert [(entry.part, "servercert.pem" in entry.reason) for entry in parts.unread] == [("certificates", True)]


def test_a_certificate_file_without_a_certificate_is_told(host):
    """In another format, or cut off: no word about it was a pass."""
    host.file("/etc/pki/qemu/server-cert.pem", KEY)
    parts = Parts()
    assert name_users.certificates(None, parts, host.root) == []
    (entry,) = parts.unread
    assert entry.reason == "/etc/pki/qemu/server-cert.pem: the file has no certificate in PEM format"


def test_a_unit_that_is_masked_does_not_start_at_the_next_boot(host):
    """Seen on the lab: the link of multi-user.target stays when a unit is masked, and a clean host was refused."""
    unit, boot = "rabbitmq-server.service", "multi-user.target"
    host.units = {unit: ("inactive", boot, "masked")}
    assert host.residents() == {}
    host.units = {unit: ("inactive", boot)}
    assert host.residents() == {"rabbitmq": [f"unit {unit}"]}
    host.units = {unit: ("active", boot, "masked")}
    assert host.residents() == {"rabbitmq": [f"unit {unit}"]}, "it runs still"
