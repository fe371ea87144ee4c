# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts of a host: every part by itself, and a part that cannot be read is None with a reason."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils import facts, journal
from ansible_collections.stackguard.nova.plugins.module_utils.systems import (
    compute_service,
    host,
    host_names,
    identity_file,
    libvirt,
    network_agent,
    processes,
    reading,
    units,
)

UUID = "3a5d1c9e-5a1b-4b52-9f2e-0c6f5c1d2e3f"


def answer(text, status=0, error=b""):
    return lambda *_args, **_kwargs: subprocess.CompletedProcess([], status, text, error)


def missing(*_args, **_kwargs):
    raise FileNotFoundError(2, "No such file or directory", "ip")


# --- the whole --------------------------------------------------------------------------------------------------


def test_nothing_at_all_can_be_read(monkeypatch, tmp_path):
    """No systemd, no libvirt, no Nova, no tools: the facts are still facts, and name every part."""

    def broken(*_args, **_kwargs):
        raise RuntimeError("broken")

    monkeypatch.setattr(subprocess, "run", missing)
    monkeypatch.setattr(units.Systemctl, "show", broken)
    monkeypatch.setattr(
        compute_service, "find_service", lambda *_args: compute_service.Service("nova-compute", [], None, True)
    )
    monkeypatch.setattr(libvirt, "connection", broken)
    monkeypatch.setattr(journal, "list_open", broken)
    monkeypatch.setattr(compute_service, "_nova_metadata", lambda _service: None)
    for name in ("_text", "dmi_uuid", "memory", "hugepages", "etc_hosts", "resolve"):
        monkeypatch.setattr(host, name, broken)
    for name in ("static_name", "ovs_external_ids"):
        monkeypatch.setattr(host_names, name, broken)
    read = host.read_host(
        host.HostOptions("h", nova_conf_files=(str(tmp_path / "nowhere"),), rbd=True, definitions=True)
    )
    plain = facts.to_plain(read)
    none = {name for name, value in plain.items() if value is None}
    told = {item.part for item in read.unread}
    assert none == {
        "static_hostname", "fqdn", "addresses", "machine_id", "dmi_uuid", "compute_id_files", "nova_conf", "libvirt",
        "domains", "memory", "hugepages", "units", "resolutions", "etc_hosts", "ovs_external_ids", "open_operations",
        "nova_version", "neutron_host", "rbd", "definitions", "boot_id",
    }  # fmt: skip
    assert none == told
    assert {item.reason for item in read.unread if item.part == "addresses"} == {"ip: No such file or directory"}
    assert {item.reason for item in read.unread if item.part == "domains"} == {"RuntimeError: broken"}
    assert facts.from_plain(facts.HostFacts, json.loads(json.dumps(plain))) == read


def test_a_reader_that_hangs_is_left_behind():
    hanging = threading.Event()
    with pytest.raises(reading.ReadError, match=r"qemu:///system: no answer within 0\.05 s"):
        reading.within(0.05, "qemu:///system", hanging.wait)
    hanging.set()
    assert reading.within(9, "x", lambda: 1) == 1

    def broken():
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        reading.within(9, "x", broken)


# --- parts ------------------------------------------------------------------------------------------------------


def test_addresses(monkeypatch):
    shown = [
        {"ifname": "lo", "addr_info": [{"local": "127.0.0.1"}, {"local": "::1"}, {"local": "192.0.2.9"}]},
        {"ifname": "eth0", "addr_info": [{"local": "10.0.0.1"}, {"local": "2001:db8::1"}, {"local": "fe80::1"}, {}]},
        {"ifname": "eth1", "addr_info": [{"local": "10.0.0.1"}, {"local": "169.254.3.4"}]},
        {"ifname": "tap0"},
    ]
    monkeypatch.setattr(subprocess, "run", answer(json.dumps(shown).encode()))
    assert host.addresses() == ["192.0.2.9", "10.0.0.1", "2001:db8::1", "169.254.3.4"]
    monkeypatch.setattr(subprocess, "run", answer(b"", 255, b"no\n"))
    with pytest.raises(host.ReadError, match=r"ip -json address show: no$"):
        host.addresses()


def test_a_machine_without_dmi_is_not_one_whose_dmi_cannot_be_read(tmp_path):
    classes = tmp_path / "class"
    with pytest.raises(OSError, match="No such file"):
        host.dmi_uuid(str(classes))
    classes.mkdir()
    with pytest.raises(host.ReadError, match="is sysfs mounted"):
        host.dmi_uuid(str(classes))
    (classes / "net").mkdir()
    assert host.dmi_uuid(str(classes)) == ""
    (classes / "dmi" / "id").mkdir(parents=True)
    with pytest.raises(OSError, match="No such file"):
        host.dmi_uuid(str(classes))
    (classes / "dmi" / "id" / "product_uuid").write_text("4C4C4544-0042-3510-8056-B4C04F4A4D32\n")
    assert host.dmi_uuid(str(classes)) == "4c4c4544-0042-3510-8056-b4c04f4a4d32"
    (classes / "dmi" / "id" / "product_uuid").write_text("\n")
    with pytest.raises(host.ReadError, match="is empty"):
        host.dmi_uuid(str(classes))


def test_memory(tmp_path):
    path = tmp_path / "meminfo"
    path.write_text(
        "MemTotal: 2048000 kB\nMemFree: 1024 kB\nMemAvailable: 4096 kB\nSwapFree: 0 kB\nHugePages_Total: 0\n"
    )
    assert host.memory(str(path)) == facts.Memory(2000, 4, 1, 0)


def make_pages(folder, total, free):
    folder.mkdir(parents=True)
    (folder / "nr_hugepages").write_text(f"{total}\n")
    (folder / "free_hugepages").write_text(f"{free}\n")
    (folder / "resv_hugepages").write_text("2\n")


def test_hugepages(tmp_path):
    assert host.hugepages(str(tmp_path)) == []
    make_pages(tmp_path / "kernel/mm/hugepages/hugepages-2048kB", 8, 3)
    assert host.hugepages(str(tmp_path)) == [facts.HugePages(2048, 8, 3, None, 2)]
    for node in (0, 1):
        make_pages(tmp_path / f"devices/system/node/node{node}/hugepages/hugepages-2048kB", 4, node)
    assert host.hugepages(str(tmp_path)) == [facts.HugePages(2048, 4, 0, 0, 2), facts.HugePages(2048, 4, 1, 1, 2)]


def test_etc_hosts(tmp_path):
    path = tmp_path / "hosts"
    path.write_bytes(b"# 1.1.1.1 no\n\n10.0.0.1\ta.example  a # b\r\n::1 lo\n10.0.0.2\n10.0.0.3 \xe9\n10.0.0.4 #x\n")
    assert host.etc_hosts(str(path)) == [
        facts.HostsLine(3, "10.0.0.1", ["a.example", "a"], "10.0.0.1\ta.example  a # b"),
        facts.HostsLine(4, "::1", ["lo"], "::1 lo"),
        facts.HostsLine(6, "10.0.0.3", ["�"], "10.0.0.3 �"),
    ]


def test_resolve(monkeypatch):
    found = [(2, 1, 6, "a.example", ("10.0.0.1", 0)), (2, 2, 17, "", ("10.0.0.1", 0)), (10, 1, 6, "", ("::2", 0, 0, 0))]
    monkeypatch.setattr(host.socket, "getaddrinfo", lambda *_args, **_kwargs: found)
    assert host.resolve("a") == facts.Resolution("a", ["10.0.0.1", "::2"], "a.example")

    def unknown(*_args, **_kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(host.socket, "getaddrinfo", unknown)
    assert host.resolve("b") == facts.Resolution("b", [], None, "[Errno -2] Name or service not known")


def test_own_names_are_resolved_too_and_each_once(monkeypatch):
    monkeypatch.setattr(host, "resolve", lambda name: facts.Resolution(name, [], None))
    about = facts.Libvirt("", "", "b.example", None)
    read = host._resolutions(host.HostOptions("h", resolve_names=("x", "b")), "b", None, about)
    assert [item.name for item in read] == ["x", "b", "b.example"]


def test_open_operations(tmp_path):
    assert host.open_operations(str(tmp_path / "nowhere")) == []
    journal.open_new(
        str(tmp_path), {"schema": 1, "kind": "rename", "operation_id": "o", "state": "open", "subject": "a -> b"}
    )
    assert host.open_operations(str(tmp_path)) == [facts.OpenOperation("o", "rename", "open", "", "a -> b")]
    (tmp_path / "rename.json").write_text("torn")
    with pytest.raises(journal.JournalError):
        host.open_operations(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "name"),
    [("a\n", "a"), ("# made by x\n\n  a.example \nb\n", "a.example"), ("", None), ("#\n", None), (None, None)],
)
def test_static_name(tmp_path, text, name):
    path = tmp_path / "hostname"
    if text is not None:
        path.write_text(text)
    assert host_names.static_name(str(path)) == name


def test_ovs_external_ids(monkeypatch):
    data = {"data": [[["map", [["hostname", "compute1"], ["system-id", "u"]]]]], "headings": ["external_ids"]}
    monkeypatch.setattr(host_names.subprocess, "run", answer(json.dumps(data).encode()))
    assert host_names.ovs_external_ids() == {"hostname": "compute1", "system-id": "u"}
    monkeypatch.setattr(host_names.subprocess, "run", answer(b'{"data": []}'))
    assert host_names.ovs_external_ids() == {}
    monkeypatch.setattr(host_names.subprocess, "run", answer(b"", 1, b"database connection failed\n"))
    with pytest.raises(host_names.HostNameError, match="ovs-vsctl: database connection failed"):
        host_names.ovs_external_ids()
    monkeypatch.setattr(host_names.subprocess, "run", missing)
    with pytest.raises(host_names.HostNameError, match="Open vSwitch is not installed"):
        host_names.ovs_external_ids()


def test_an_external_id_is_set_in_quotes(monkeypatch):
    calls = []

    def run(command, **_kwargs):
        calls.append(command)
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(host_names.subprocess, "run", run)
    host_names.set_ovs_external_id("hostname", 'a"b')
    assert calls[0][2:] == ["set", "Open_vSwitch", ".", r'external_ids:hostname="a\"b"']


# --- nova-compute -----------------------------------------------------------------------------------------------


def service(argv=(), pid=None, same_root=True):
    return compute_service.Service("nova-compute", list(argv), pid, same_root)


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "etc" / "nova.conf"
    path.parent.mkdir()
    path.write_text("[DEFAULT]\nstate_path = /var/lib/nova\ntransport_url = rabbit://u:secret@h\n")
    return path


def test_the_named_options_and_nothing_else(conf):
    text = conf.read_text() + (
        "host = a.example\nlog_dir = /var/log/$host\nheal_instance_info_cache_interval = 60\nmy_ip = 10.0.0.1\n"
        "compute_driver = libvirt.LibvirtDriver\n"
        "[libvirt]\nimages_type=rbd\nimages_rbd_pool=vms\nrbd_user=nova\nlive_migration_inbound_addr=$my_ip\n"
        "images_rbd_ceph_conf = /etc/ceph/ceph.conf\n"
    )
    conf.write_text(text)
    run = service(["python3", "/usr/bin/nova-compute", "--config-file", str(conf)])
    read = compute_service.nova_facts(compute_service.load((), (), run), run)
    assert read == facts.NovaConf(
        files=[str(conf)], host="a.example", state_path="/var/lib/nova", my_ip="10.0.0.1",
        instances_path="/var/lib/nova/instances", compute_driver="libvirt.LibvirtDriver", images_type="rbd",
        images_rbd_pool="vms", rbd_user="nova", images_rbd_ceph_conf="/etc/ceph/ceph.conf",
        live_migration_inbound_addr="10.0.0.1", reserved_host_memory_mb=512, virt_type="kvm",
        host_lines=[facts.FileLine(str(conf), 4, "host = a.example")],
        log_file="/var/log/a.example/nova-compute.log", heal_instance_info_cache_interval=60,
        running_deleted_instance_action="reap",
    )  # fmt: skip
    assert "secret" not in json.dumps(facts.to_plain(read))


def test_what_is_unset(conf):
    read = compute_service.nova_facts(compute_service.load((str(conf),), (), service()), service())
    assert (read.host, read.my_ip, read.host_lines, read.log_file) == (None, None, [], None)
    assert (read.images_type, read.images_rbd_pool, read.images_rbd_ceph_conf) == ("default", "rbd", None)
    assert (read.heal_instance_info_cache_interval, read.reserved_host_memory_mb) == (None, 512)


def test_an_empty_host_is_refused(conf):
    conf.write_text(conf.read_text() + "host =\n")
    with pytest.raises(compute_service.ConfError, match="host is set to nothing"):
        compute_service.nova_facts(compute_service.load((str(conf),), (), service()), service())


def test_an_unset_state_path_is_where_nova_is_installed(conf, tmp_path):
    conf.write_text("[DEFAULT]\n")
    packages = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    (packages / "nova-34.0.0.dist-info").mkdir(parents=True)
    run = service([str(tmp_path / "venv" / "bin" / "python"), str(tmp_path / "venv" / "bin" / "nova-compute")])
    read = compute_service.nova_facts(compute_service.load((str(conf),), (), run), run)
    assert (read.state_path, read.instances_path) == (str(packages), f"{packages}/instances")
    assert compute_service.nova_version(run) == "34.0.0"
    with pytest.raises(compute_service.ConfError, match="state_path is not set"):
        elsewhere = service([str(tmp_path / "nowhere" / "bin" / "nova-compute")])
        compute_service.nova_facts(compute_service.load((str(conf),), (), elsewhere), elsewhere)


@pytest.mark.parametrize(
    ("out", "version"),
    [
        (b"3:27.5.1-0+deb12u1", "27.5.1"),
        (b"2:31.0.0~rc1-0ubuntu1", "31.0.0"),
        (b"29.2.0", "29.2.0"),
        (b"", None),
    ],
)
def test_version_of_a_package(monkeypatch, out, version):
    monkeypatch.setattr(compute_service, "_nova_metadata", lambda _service: None)
    monkeypatch.setattr(compute_service.subprocess, "run", answer(out))
    if version is None:
        with pytest.raises(compute_service.ReadError, match="no nova package"):
            compute_service.nova_version(service())
    else:
        assert compute_service.nova_version(service()) == version


def test_kolla_where_only_its_file_exists(conf, monkeypatch, tmp_path):
    monkeypatch.setattr(compute_service, "KOLLA_CONF", str(conf))
    monkeypatch.setattr(
        compute_service.nova_conf, "default_arguments", lambda *_args: compute_service.nova_conf.Arguments(())
    )
    for run in (service(), service(["nova-compute"], pid=1, same_root=False)):
        loaded = compute_service.load((), (), run)
        assert (loaded.kolla, loaded.config.files) == (True, [str(conf)])
    monkeypatch.setattr(compute_service, "KOLLA_CONF", str(tmp_path / "nowhere"))
    with pytest.raises(compute_service.ReadError, match="runs in a container: say with nova_conf_files"):
        compute_service.load((), (), service(["nova-compute"], pid=1, same_root=False))
    with pytest.raises(compute_service.ReadError, match=r"no nova\.conf was found"):
        compute_service.load((), (), service())


def test_debians_init_script_chooses_the_log(conf, monkeypatch):
    loaded = compute_service.load((str(conf),), (), service())
    run = service(["/etc/init.d/nova-compute", "systemd-start"])
    monkeypatch.setattr(compute_service.os.path, "exists", lambda path: path == "/var/log/nova/nova-compute.log")
    assert compute_service.nova_facts(loaded, run).log_file == "/var/log/nova/nova-compute.log"


def test_what_no_file_decides_is_noted(conf, monkeypatch):
    conf.write_text(conf.read_text() + "log_config_append = /etc/nova/logging.conf\n")
    monkeypatch.setattr(processes, "environment", lambda _pid, _names: {"OS_DEFAULT__HOST": "e"})
    run = service(["nova-compute", f"--config-file={conf}"], pid=1)
    parts = host.Parts()
    loaded = compute_service.load((), (), run)
    compute_service.note_odd_options(parts, loaded)
    assert [item.part for item in parts.unread] == ["nova_conf.host_lines", "nova_conf.log_file"]
    assert compute_service.nova_facts(loaded, run).host == "e"


@pytest.fixture
def shown(monkeypatch):
    """What systemd shows of units, and what runs."""
    world = {"units": {}, "argv": {}}
    monkeypatch.setattr(
        units.Systemctl,
        "show",
        lambda _self, names: [world["units"].get(name, {"LoadState": "not-found"}) for name in names],
    )
    monkeypatch.setattr(processes, "argv", lambda pid, proc="": world["argv"].get(pid, []))
    monkeypatch.setattr(processes, "all_pids", lambda proc="": sorted(world["argv"]))
    monkeypatch.setattr(processes, "same_root", lambda pid, proc="": pid != 7)
    return world


def test_nova_compute_is_found_by_its_unit(shown):
    shown["units"]["openstack-nova-compute.service"] = {"LoadState": "loaded", "MainPID": "5"}
    shown["argv"] = {5: ["/usr/bin/python3", "/usr/bin/nova-compute", "--x"], 7: ["nova-compute"]}
    found = compute_service.find_service("nova-compute", host.COMPUTE_UNITS)
    assert (found.pid, found.argv[-1], found.same_root) == (5, "--x", True)


def test_nova_compute_is_found_in_a_container(shown):
    shown["argv"] = {
        7: ["/var/lib/kolla/venv/bin/python3", "/var/lib/kolla/venv/bin/nova-compute"],
        8: ["grep", "nova-compute"],
    }
    found = compute_service.find_service("nova-compute", host.COMPUTE_UNITS)
    assert (found.pid, found.same_root) == (7, False)


def test_nova_compute_that_is_stopped_is_found_by_its_units_command(shown):
    start = "{ path=/usr/bin/nova-compute ; argv[]=/usr/bin/nova-compute --config-file /etc/n ; ignore_errors=no }"
    shown["units"]["nova-compute.service"] = {"LoadState": "loaded", "MainPID": "0", "ExecStart": start}
    found = compute_service.find_service("nova-compute", host.COMPUTE_UNITS)
    assert (found.pid, found.argv) == (None, ["/usr/bin/nova-compute", "--config-file", "/etc/n"])


def test_nova_compute_that_is_masked_is_found_by_its_packaged_unit(shown, tmp_path, monkeypatch):
    monkeypatch.setattr(units, "PACKAGED", (str(tmp_path / "nowhere"), str(tmp_path)))
    shown["units"]["nova-compute.service"] = {"LoadState": "masked", "MainPID": "0"}
    assert compute_service.find_service("nova-compute", host.COMPUTE_UNITS).argv == []
    path = tmp_path / "nova-compute.service"
    path.write_text("[Service]\nExecStart=\nExecStart=-/usr/bin/nova-compute \\\n  --config-file '/etc/a b'\n")
    found = compute_service.find_service("nova-compute", host.COMPUTE_UNITS)
    assert found.argv == ["/usr/bin/nova-compute", "--config-file", "/etc/a b"]
    path.write_text("[Service]\nExecStart='\n")
    assert compute_service.find_service("nova-compute", host.COMPUTE_UNITS).argv == []


def test_nova_compute_is_not_found(monkeypatch, shown):
    assert compute_service.find_service("nova-compute", host.COMPUTE_UNITS).argv == []

    def broken(*_args):
        raise units.UnitError("no systemd")

    monkeypatch.setattr(units.Systemctl, "show", broken)
    assert compute_service.find_service("nova-compute", host.COMPUTE_UNITS).argv == []


# --- compute_id -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "uuid", "error"),
    [
        (UUID, UUID, None),
        (f"  {UUID}\n", UUID, None),
        (UUID.upper(), UUID, None),
        (f"{{{UUID}}}", UUID, None),
        (UUID.replace("-", ""), UUID, None),
        (f"{UUID}    and what stands behind 40 characters", UUID, None),
        (f"{UUID}xyz", None, "not a UUID"),
        ("", None, "not a UUID"),
        ("x" * 36, None, "not a UUID"),
    ],
)
def test_compute_id_as_nova_reads_it(tmp_path, content, uuid, error):
    """nova/virt/node.py: ``str(uuid.UUID(f.read(40).strip()))``."""
    path = tmp_path / "compute_id"
    path.write_text(content)
    path.chmod(0o640)
    read = identity_file.read_compute_id(str(path), True)
    assert (read.exists, read.uuid, read.error, read.mode) == (True, uuid, error, "0640")
    assert read.owner
    assert read.group


def test_compute_id_that_is_not_there_or_cannot_be_read(tmp_path):
    assert identity_file.read_compute_id(str(tmp_path / "x"), True) == facts.ComputeIdFile(
        str(tmp_path / "x"), True, False
    )
    (tmp_path / "folder").mkdir()
    read = identity_file.read_compute_id(str(tmp_path / "folder"), False)
    assert (read.exists, read.uuid) == (True, None)
    assert "Is a directory" in read.error
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert "UnicodeDecodeError" in identity_file.read_compute_id(str(tmp_path / "bytes"), True).error


def test_each_place_that_nova_looks_at(tmp_path, monkeypatch):
    for name in ("a", "b", "state", "kolla", "volume"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "compute_id").write_text(UUID)
    (tmp_path / "a" / "nova.conf").write_text(f"[DEFAULT]\nstate_path = {tmp_path}/state\n")
    (tmp_path / "b" / "x.conf").write_text("")
    monkeypatch.setattr(identity_file, "KOLLA_CONF", str(tmp_path / "kolla" / "nova.conf"))
    monkeypatch.setattr(identity_file, "KOLLA_VOLUMES", (str(tmp_path / "volume"), str(tmp_path / "nowhere")))
    run = service()
    loaded = compute_service.load((str(tmp_path / "a" / "nova.conf"),), (str(tmp_path / "b"),), run)
    nova = compute_service.nova_facts(loaded, run)
    read = identity_file.compute_id_files(loaded, nova)
    places = [(file.path[len(str(tmp_path)) + 1 :], file.read_by_nova) for file in read]
    assert places == [
        ("a/compute_id", True),
        ("state/compute_id", True),
        ("kolla/compute_id", False),
        ("volume/compute_id", False),
    ]
    with pytest.raises(compute_service.ReadError):
        identity_file.compute_id_files(None, None)


def test_kollas_two_copies_are_what_nova_reads_there(tmp_path, monkeypatch):
    (tmp_path / "nova.conf").write_text("[DEFAULT]\nstate_path = /var/lib/nova\n")
    monkeypatch.setattr(compute_service, "KOLLA_CONF", str(tmp_path / "nova.conf"))
    monkeypatch.setattr(identity_file, "KOLLA_VOLUMES", (str(tmp_path / "none"), str(tmp_path / "podman")))
    (tmp_path / "podman").mkdir()
    loaded = compute_service.load((str(tmp_path / "nova.conf"),), (), service())
    read = identity_file.compute_id_files(loaded, compute_service.nova_facts(loaded, service()))
    assert [(file.path, file.read_by_nova) for file in read] == [
        (f"{tmp_path}/compute_id", True),
        (f"{tmp_path}/podman/compute_id", True),
    ]


# --- network agents ---------------------------------------------------------------------------------------------


def agent_unit(*files):
    words = " ".join(f"--config-file {path}" for path in files)
    return {"LoadState": "loaded", "ExecStart": f"{{ argv[]=/usr/bin/agent {words} ; ignore_errors=no }}"}


def test_host_of_the_network_agents(shown, tmp_path, monkeypatch):
    monkeypatch.setattr(
        network_agent.nova_conf, "default_arguments", lambda *_args: network_agent.nova_conf.Arguments(())
    )
    common, own, other = tmp_path / "neutron.conf", tmp_path / "agent.ini", tmp_path / "other.ini"
    common.write_text("[DEFAULT]\nhost = a\n")
    own.write_text("[DEFAULT]\n")
    shown["units"]["neutron-openvswitch-agent.service"] = agent_unit(common, own)
    shown["units"]["neutron-dhcp-agent.service"] = agent_unit(common)
    assert network_agent.agent_host(host.AGENT_UNITS) == ("a", [facts.FileLine(str(common), 2, "host = a")])
    other.write_text("[DEFAULT]\nhost = b\n")
    shown["units"]["neutron-l3-agent.service"] = agent_unit(common, other)
    with pytest.raises(network_agent.ReadError, match=r"told different names: .*neutron.conf: a; .*other.ini: b"):
        network_agent.agent_host(host.AGENT_UNITS)


def test_without_network_agents(shown, monkeypatch, tmp_path):
    monkeypatch.setattr(network_agent, "KOLLA_NEUTRON", str(tmp_path / "nowhere"))
    assert network_agent.agent_host(host.AGENT_UNITS) == (None, [])


def test_kollas_network_agent(shown, monkeypatch, tmp_path):
    (tmp_path / "neutron.conf").write_text("[DEFAULT]\nhost = a\n")
    (tmp_path / "openvswitch_agent.ini").write_text("[ovs]\n")
    monkeypatch.setattr(network_agent, "KOLLA_NEUTRON", str(tmp_path))
    assert network_agent.agent_host(host.AGENT_UNITS)[0] == "a"


# --- processes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"a\0--b\0", ["a", "--b"]),
        (b"", []),
        (b"\0\0", []),
        (
            b"neutron-openvswitch-agent (/v/python /v/agent --config-file '/etc/a b')\0\0",
            ["/v/python", "/v/agent", "--config-file", "/etc/a b"],
        ),
        (b"nginx: master process (x 'y)\0", ["nginx: master process (x 'y)"]),
        (b"one word\0", ["one word"]),
    ],
)
def test_argv(tmp_path, raw, words):
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "cmdline").write_bytes(raw)
    assert processes.argv(5, str(tmp_path)) == words
    assert processes.argv(6, str(tmp_path)) == []


def test_only_named_variables_of_the_environment(tmp_path):
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "environ").write_bytes(b"HOME=/h\0OS_PASSWORD=secret\0EMPTY=\0\0")
    assert processes.environment(5, ["HOME", "EMPTY"], str(tmp_path)) == {"HOME": "/h", "EMPTY": ""}
    assert processes.environment(6, ["HOME"], str(tmp_path)) == {}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["/usr/bin/nova-compute"], True),
        (["nova-compute", "--config-file", "x"], True),
        (["/v/bin/python3", "/v/bin/nova-compute"], True),
        (["python3.11", "-u", "/v/bin/nova-compute"], True),
        (["python3", "/v/bin/other", "nova-compute"], False),
        (["grep", "nova-compute"], False),
        (["bash", "-c", "nova-compute"], False),
        (["systemctl", "stop", "nova-compute"], False),
        ([], False),
    ],
)
def test_what_runs_a_program(words, expected):
    assert processes.runs(words, "nova-compute") is expected


def test_noted_pid(tmp_path):
    (tmp_path / "a.pid").write_text("12\n")
    (tmp_path / "b.pid").write_text("x")
    assert [processes.noted_pid(name, str(tmp_path)) for name in "abc"] == [12, None, None]


def test_this_very_process():
    assert processes.same_root(os.getpid())
    assert not processes.same_root(2**22 + 1)
    assert processes.start_time(os.getpid()) > 0
    assert processes.start_time(2**22 + 1) is None
    assert processes.resident_mib(os.getpid()) > 1
    assert processes.resident_mib(2**22 + 1) is None


def test_qemu_processes_are_read_where_libvirt_is_silent(monkeypatch):
    monkeypatch.setattr(host.processes, "qemu_by_uuid", lambda: {"one": [70, 7], "two": [8]})
    assert host.qemu_processes() == {"one": 7, "two": 8}
