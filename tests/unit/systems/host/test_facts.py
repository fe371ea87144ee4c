# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts of a host: every part by itself, and a part that cannot be read is None with a reason."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import tempfile
import threading

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, names
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal, journal_read
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import (
    compute_id,
    deployment,
    libvirt,
    name_spaces,
    name_users,
    network_agent,
    nova_compute,
    processes,
    reading,
    unit_environment,
    units,
)
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import facts as host
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import names as host_names
from ansible_collections.stackguard.nova.tests.unit.builders import healthy, kolla, packages
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

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
        nova_compute, "find_service", lambda *_args: nova_compute.Service("nova-compute", [], None, True)
    )
    monkeypatch.setattr(libvirt, "connection", broken)
    monkeypatch.setattr(journal_read, "survey", broken)
    monkeypatch.setattr(nova_compute, "_nova_metadata", lambda _service: None)
    for name in ("_text", "dmi_uuid", "memory", "hugepages", "etc_hosts", "resolve"):
        monkeypatch.setattr(host, name, broken)
    monkeypatch.setattr(name_spaces, "read", broken)
    monkeypatch.setattr(deployment, "read", broken)
    monkeypatch.setattr(name_users, "read", broken)
    for name in ("static_name", "ovs_external_ids"):
        monkeypatch.setattr(host_names, name, broken)
    read = host.read_host(
        host.HostOptions("h", nova_conf_files=(str(tmp_path / "nowhere"),), rbd=True, definitions=True, name_users=True)
    )
    plain = facts.to_plain(read)
    # A rehearsal is no reading: it belongs to a rename. Without Open vSwitch it has no version, nor options without
    # nova.conf.
    none = {name for name, value in plain.items() if value is None} - {"rehearsal", "ovs_version", "start"}
    told = {item.part for item in read.unread}
    assert none == {
        "static_hostname", "fqdn", "addresses", "machine_id", "dmi_uuid", "compute_id_files", "nova_conf", "libvirt",
        "domains", "memory", "hugepages", "units", "resolutions", "etc_hosts", "ovs_external_ids", "open_operations",
        "nova_version", "neutron_host", "rbd", "definitions", "boot_id", "name_spaces", "name_users", "deployment",
        "instances_path",
        "offers",
    }  # fmt: skip
    assert none == told
    assert {item.reason for item in read.unread if item.part == "addresses"} == {"ip: No such file or directory"}
    assert {item.reason for item in read.unread if item.part == "domains"} == {"RuntimeError: broken"}
    assert facts.from_plain(facts.HostFacts, json.loads(json.dumps(plain))) == read


def test_a_reader_that_hangs_is_left_behind():
    hanging = threading.Event()
    with pytest.raises(reading.ReadError, match=r"0\.05", check=problem_is("timed-out")):
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
    with pytest.raises(host.ReadError, check=problem_is("ip-failed")):
        host.addresses()


def test_a_machine_without_dmi_is_not_one_whose_dmi_cannot_be_read(tmp_path):
    classes = tmp_path / "class"
    with pytest.raises(OSError, match="No such file"):
        host.dmi_uuid(str(classes))
    classes.mkdir()
    with pytest.raises(host.ReadError, check=problem_is("no-numa-nodes")):
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
    assert host.memory(str(path)) == facts.Memory(2000, 4)


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
    assert host.open_operations(str(tmp_path / "nowhere")) == ([], [])
    about, run = {"plan_sha256": None}, {"token": "t"}
    made = {"schema": 1, "kind": "rename", "operation_id": "o", "state": "open", "subject": "a -> b"}
    made.update(about=about, run=run, plan={}, steps={}, history=[])
    journal.open_new(str(tmp_path), made)
    mine = [facts.OpenOperation("o", "rename", "open", "", "a -> b")]
    assert host.open_operations(str(tmp_path)) == (mine, [])
    (tmp_path / "resize-a.json").write_text("torn")
    found, (unknown,) = host.open_operations(str(tmp_path))
    assert found == mine, "what is understood is seen beside it"
    assert (unknown.path, unknown.kind, unknown.operation_id) == (str(tmp_path / "resize-a.json"), "resize-a", None)


def test_a_journal_that_is_not_understood_is_a_fact(tmp_path):
    (tmp_path / "rename.json").write_text('{"schema": 2, "operation_id": "o"}')
    read = host.read_host(host.HostOptions("h", state_dir=str(tmp_path)))
    assert read.open_operations == []
    assert [(entry.operation_id, entry.schema) for entry in read.unknown_journals] == [("o", "2")]
    assert facts.from_plain(facts.HostFacts, facts.to_plain(read)).unknown_journals == read.unknown_journals


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
    with pytest.raises(host_names.HostNameError, check=problem_is("no-open-vswitch")):
        host_names.ovs_external_ids()


@pytest.mark.parametrize(
    ("words", "installed", "expected"),
    [
        ((), "/usr/bin/ovs-vsctl", ["ovs-vsctl"]),
        (("podman", "exec", "a"), "/usr/bin/ovs-vsctl", ["ovs-vsctl"]),
        (("podman", "exec", "a"), None, ["podman", "exec", "a", "ovs-vsctl"]),
        ((), None, ["ovs-vsctl"]),
    ],
)
def test_the_tools_of_open_vswitch_may_be_in_its_container_only(monkeypatch, words, installed, expected):
    calls = []

    def run(command, **_kwargs):
        calls.append(command)
        return subprocess.CompletedProcess(command, 0, b'{"data": []}', b"")

    monkeypatch.setattr(host_names.subprocess, "run", run)
    monkeypatch.setattr(host_names.shutil, "which", lambda _name: installed)
    monkeypatch.setattr(processes, "running", lambda program, seen=None: [4711] if program == "ovs-vswitchd" else [])
    monkeypatch.setattr(deployment, "words_into", lambda pid: words if pid == 4711 else ())
    host_names.ovs_external_ids()
    assert calls[0][: len(expected)] == expected
    monkeypatch.setattr(host_names.subprocess, "run", missing)
    told = "no-engine" if expected[0] == "podman" else "no-open-vswitch"
    with pytest.raises(host_names.HostNameError, check=problem_is(told)):
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
    return nova_compute.Service("nova-compute", list(argv), pid, same_root)


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "etc" / "nova.conf"
    path.parent.mkdir()
    path.write_text("[DEFAULT]\nstate_path = /var/lib/nova\ntransport_url = rabbit://u:secret@h\n")
    return path


def test_the_named_options_and_nothing_else(conf):
    text = conf.read_text() + (
        "host = a.example\nlog_dir = /var/log/$host\nmy_ip = 10.0.0.1\n"
        "compute_driver = libvirt.LibvirtDriver\n"
        "[libvirt]\nimages_type=rbd\nimages_rbd_pool=vms\nrbd_user=nova\nlive_migration_inbound_addr=$my_ip\n"
        "images_rbd_ceph_conf = /etc/ceph/ceph.conf\nrbd_secret_uuid = 1111\n"
    )
    conf.write_text(text)
    run = service(["python3", "/usr/bin/nova-compute", "--config-file", str(conf)])
    read = nova_compute.nova_facts(nova_compute.load((), (), run), run)
    assert read == facts.NovaConf(
        files=[str(conf)], host="a.example", state_path="/var/lib/nova", my_ip="10.0.0.1",
        instances_path="/var/lib/nova/instances", compute_driver="libvirt.LibvirtDriver", images_type="rbd",
        images_rbd_pool="vms", rbd_user="nova", images_rbd_ceph_conf="/etc/ceph/ceph.conf",
        live_migration_inbound_addr="10.0.0.1", reserved_host_memory_mb=512, virt_type="kvm",
        host_lines=[facts.FileLine(str(conf), 4, "host = a.example")],
        log_file="/var/log/a.example/nova-compute.log",
        running_deleted_instance_action="reap", running_deleted_instance_timeout=0,
        resume_guests_state_on_host_boot=False, update_resources_interval=0, sync_power_state_interval=600,
        rbd_secret_uuid="1111",
    )  # fmt: skip
    assert ":secret@" not in json.dumps(facts.to_plain(read))


def test_what_is_unset(conf):
    read = nova_compute.nova_facts(nova_compute.load((str(conf),), (), service()), service())
    assert (read.host, read.my_ip, read.host_lines, read.log_file) == (None, None, [], None)
    assert (read.images_type, read.images_rbd_pool, read.images_rbd_ceph_conf) == ("default", "rbd", None)
    assert read.reserved_host_memory_mb == 512


def test_an_empty_host_is_read_as_it_stands_and_refused_by_nova_compute(conf):
    conf.write_text(conf.read_text() + "host =\n")
    read = nova_compute.nova_facts(nova_compute.load((str(conf),), (), service()), service())
    some = healthy().host(nova_conf=dataclasses.replace(read, environment=[])).bundle.hosts["compute1"]
    assert (read.host, names.conf_host(some), names.refused_host(some)) == ("", None, " is not a valid host address")


def test_options_of_a_start_that_are_not_as_nova_knows_them(conf):
    conf.write_text(conf.read_text() + "resume_guests_state_on_host_boot = On\nrunning_deleted_instance_timeout=60\n")
    conf.write_text(conf.read_text() + "update_resources_interval = 600\n")
    read = nova_compute.nova_facts(nova_compute.load((str(conf),), (), service()), service())
    assert read.update_resources_interval == 600
    assert (read.resume_guests_state_on_host_boot, read.running_deleted_instance_timeout) == (True, 60)
    conf.write_text(conf.read_text() + "resume_guests_state_on_host_boot = perhaps\n")
    with pytest.raises(nova_compute.ConfError, check=problem_is("no-boolean")):
        nova_compute.nova_facts(nova_compute.load((str(conf),), (), service()), service())


# --- the environment of the next start ----------------------------------------------------------------------------


class Systemd:
    """What busctl answers."""

    def __init__(self, own=(), files=(), passed=(), unset=(), manager=()):
        self.answers = {
            "Service": [("as", list(own)), ("a(sb)", list(files)), ("as", list(passed)), ("as", list(unset))]
        }
        self.answers["Manager"] = [("as", list(manager))]
        self.asked = []

    def run(self, argv, _timeout, **_options):
        self.asked.append(argv)
        told = self.answers[argv[5].rpartition(".")[2]]
        out = "".join(json.dumps({"type": kind, "data": data}) + "\n" for kind, data in told)
        return subprocess.CompletedProcess(argv, 0, out.encode(), b"")


HOST = "OS_DEFAULT__HOST"


def started_with(systemd, state="loaded", unit="nova-compute.service"):
    return unit_environment.next_start(unit, state, [HOST], systemd.run)


def test_a_drop_in_of_a_stopped_nova_compute_is_read():
    """The review: Environment=OS_DEFAULT__HOST=envhost in a drop-in, nova-compute stopped: told "starts"."""
    systemd = Systemd(own=[f"{HOST}=envhost", "SECRET=x"])
    assert started_with(systemd) == {HOST: "envhost"}
    assert systemd.asked[1] == [
        "busctl", "--json=short", "get-property", "org.freedesktop.systemd1",
        "/org/freedesktop/systemd1/unit/nova_2dcompute_2eservice", "org.freedesktop.systemd1.Service",
        "Environment", "EnvironmentFiles", "PassEnvironment", "UnsetEnvironment",
    ]  # fmt: skip
    assert started_with(Systemd()) == {}


def test_files_go_before_the_unit_and_the_unit_before_the_manager(tmp_path):
    one, two = tmp_path / "1.env", tmp_path / "2.env"
    one.write_text(f"# {HOST}=no\n{HOST}='one'\n")
    two.write_text(f'{HOST} = "two"\n')
    files = [[str(one), False], [str(tmp_path / "nowhere"), True], [str(tmp_path / "2*.env"), False]]
    manager = [f"{HOST}=zero"]
    assert started_with(Systemd(manager=manager)) == {HOST: "zero"}
    assert started_with(Systemd([f"{HOST}=own"], manager=manager)) == {HOST: "own"}
    assert started_with(Systemd([f"{HOST}=own"], files[:1], manager=manager)) == {HOST: "one"}
    assert started_with(Systemd([f"{HOST}=own"], files, manager=manager)) == {HOST: "two"}
    assert started_with(Systemd([f"{HOST}=own"], files, unset=[f"{HOST}=two"])) == {}
    assert started_with(Systemd([f"{HOST}=own"], unset=[f"{HOST}=two"])) == {HOST: "own"}
    assert started_with(Systemd([f"{HOST}=own"], unset=[HOST])) == {}


def test_what_systemd_itself_has_is_passed_on_where_the_unit_says_so(monkeypatch):
    monkeypatch.setattr(processes, "environment", lambda pid, names, proc="": dict.fromkeys(names, f"of {pid}"))
    monkeypatch.setattr(unit_environment.os, "access", lambda *_args: True)
    assert started_with(Systemd(passed=["LANG", HOST])) == {HOST: "of 1"}
    assert started_with(Systemd(passed=["LANG"])) == {}
    monkeypatch.setattr(unit_environment.os, "access", lambda *_args: False)
    with pytest.raises(units.HostError, check=problem_is("passenvironment-unread")):
        started_with(Systemd(passed=[HOST]))


@pytest.mark.parametrize(
    "text", [f"A='x\n{HOST}=y'\n", f"A=\\\n{HOST}=y\n", f'{HOST}="a"b"\n', f"{HOST}=a\\b\n", f"{HOST}=$(hostname)\n"]
)
def test_a_file_that_sets_it_in_a_way_not_understood_is_unread(tmp_path, text):
    (tmp_path / "x").write_text(text)
    with pytest.raises(units.HostError, match=f"{HOST}", check=problem_is("environmentfile-value")):
        started_with(Systemd(files=[[str(tmp_path / "x"), False]]))
    # Of no concern where it is another variable.
    (tmp_path / "x").write_text(text.replace(HOST, "OTHER"))
    assert started_with(Systemd(files=[[str(tmp_path / "x"), False]])) == {}


def test_what_cannot_be_read_of_a_units_environment_is_not_none(tmp_path, monkeypatch):
    for files, word in (
        ([[str(tmp_path / "nowhere"), False]], "environmentfile-missing"),
        ([[str(tmp_path), False]], "environmentfile-unreadable"),
    ):
        with pytest.raises(units.HostError, check=problem_is(word)):
            started_with(Systemd(files=files))
    for state in ("error", "bad-setting", None):
        with pytest.raises(units.HostError, check=problem_is("unit-not-loaded")):
            started_with(Systemd(), state)
    refused = lambda argv, _timeout: subprocess.CompletedProcess(argv, 1, b"", b"Access denied\n")  # noqa: E731
    for run, word in (
        (refused, "Access denied"),
        (missing, "not installed"),
        (lambda argv, _timeout: subprocess.CompletedProcess(argv, 0, b"as 0\n", b""), "the answer cannot be parsed"),
        (lambda argv, _timeout: subprocess.CompletedProcess(argv, 0, b"", b""), "the answer has other properties"),
    ):
        with pytest.raises(units.HostError, match=word):
            unit_environment.next_start("nova-compute.service", "loaded", [HOST], run)


def test_a_masked_unit_is_read_from_its_files_and_never_guessed(tmp_path, monkeypatch):
    """systemd forgets a unit that is masked: it would answer that nothing is set."""
    monkeypatch.setattr(units, "PACKAGED", (str(tmp_path / "lib"),))
    monkeypatch.setattr(unit_environment, "_CONFIGURED", (str(tmp_path / "etc"),))
    packaged, more = tmp_path / "lib" / "nova-compute.service", tmp_path / "etc" / "nova-compute.service.d" / "a.conf"
    for path in (packaged, more):
        path.parent.mkdir(parents=True)
    defaults = tmp_path / "defaults"
    defaults.write_text("A=b\n")
    (tmp_path / "etc" / "nova-compute.service").symlink_to("/dev/null")
    packaged.write_text(f"[Service]\nEnvironment=A=b\nEnvironmentFile=-{defaults}\nUser=nova\n")
    assert started_with(Systemd(), "masked") == {}
    assert started_with(Systemd(manager=[f"{HOST}=zero"]), "masked") == {HOST: "zero"}
    assert unit_environment.masked_setting("nova-compute.service", "User") == "nova"
    assert unit_environment.masked_setting("nova-compute.service", "Group") == ""
    defaults.write_text(f"{HOST}=x\n")
    with pytest.raises(units.HostError, check=problem_is("masked-systemd-not")):
        started_with(Systemd(), "masked")
    defaults.write_text("")
    more.write_text(f"[Service]\nEnvironment={HOST}=envhost\nUser=other\n")
    with pytest.raises(units.HostError, check=problem_is("masked-systemd-not")):
        started_with(Systemd(), "masked")
    assert unit_environment.masked_setting("nova-compute.service", "User") is None
    # A variable of the command line is no option of nova.conf; it may be set there all the same.
    more.write_text("[Service]\nEnvironment=NOVA_OPTS=--config-file=/x\n")
    assert started_with(Systemd(), "masked") == {}
    with pytest.raises(units.HostError, check=problem_is("masked-systemd-not")):
        unit_environment.next_start("nova-compute.service", "masked", ["NOVA_OPTS"], Systemd().run)


def test_what_nova_compute_would_start_with_is_what_its_unit_says_now(conf, monkeypatch):
    """A running one may have another environment than its next start."""
    monkeypatch.setattr(processes, "environment", lambda _pid, _names: {HOST: "old"})
    asked = []

    def next_start(unit, state, names):
        asked.append((unit, state))
        return {HOST: "new"}

    monkeypatch.setattr(unit_environment, "next_start", next_start)
    argv = ["nova-compute", f"--config-file={conf}"]
    run = nova_compute.Service("nova-compute", argv, 1, True, "nova-compute.service", {"LoadState": "loaded"})
    read = nova_compute.nova_facts(nova_compute.load((), (), run), run)
    assert (read.host, read.environment, asked) == ("new", [HOST], [("nova-compute.service", "loaded")])


def test_an_unread_environment_is_a_note_and_the_facts_say_so(conf, monkeypatch):
    def unreadable(*_args):
        raise nova_compute.ReadError("busctl is not installed on this host")

    monkeypatch.setattr(unit_environment, "next_start", unreadable)
    run = nova_compute.Service("nova-compute", [f"--config-file={conf}"], None, True, "u.service", {})
    loaded, parts = nova_compute.load((), (), run), host.Parts()
    nova_compute.note_odd_options(parts, loaded)
    assert [(item.part, item.reason) for item in parts.unread] == [
        ("nova_conf.environment", "busctl is not installed on this host")
    ]
    assert nova_compute.nova_facts(loaded, run).environment is None
    # Nothing that runs, and no unit: not known either.
    assert nova_compute.nova_facts(nova_compute.load((str(conf),), (), service()), service()).environment is None


def started_by(conf, monkeypatch, *words, pid=None, shown=None, unit="u.service", given=(), environment=None):
    """The configuration that a unit's command line leads to, where systemd gives these variables."""

    def next_start(_unit, _state, names, *_run):
        if environment is None:
            raise reading.ReadError("EnvironmentFile=/x is missing")
        return {name: value for name, value in environment.items() if name in names}

    monkeypatch.setattr(unit_environment, "next_start", next_start)
    argv = ["/usr/bin/nova-compute", f"--config-file={conf}", *words]
    run = nova_compute.Service("nova-compute", argv, pid, True, unit, shown or {})
    loaded, parts = nova_compute.load(given, (), run), host.Parts()
    nova_compute.note_odd_options(parts, loaded)
    return loaded, nova_compute.nova_facts(loaded, run), parts


@pytest.mark.parametrize("words", [["$NOVA_OPTS"], ["${NOVA_OPTS}"]])
def test_variables_of_which_nothing_is_known_are_unread(conf, monkeypatch, words):
    """They may add a file that sets another host: the forecast said that nova-compute starts."""
    _loaded, found, parts = started_by(conf, monkeypatch, *words)
    assert found.environment is None
    assert [item.part for item in parts.unread] == ["nova_conf.environment"]
    # An operator's files are these files, whatever the command line adds.
    assert not started_by(conf, monkeypatch, *words, given=(str(conf),), environment={})[2].unread


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["$NOVA_OPTS"], "--config-file={other}"),
        (["$NOVA_OPTS"], "--debug --config-file {other}"),
        (["$NOVA_OPTS"], "'--config-file={other}'"),
        (["--config-file", "${NOVA_OPTS}"], "{other}"),
        (["--config-file=${NOVA_OPTS}"], "{other}"),
    ],
)
def test_a_file_that_a_variable_adds_is_read(conf, monkeypatch, tmp_path, words, options):
    """H8: `host` of a file in $NOVA_OPTS was not seen, and the forecast said that nova-compute starts."""
    other = tmp_path / "other.conf"
    other.write_text("[DEFAULT]\nhost = env-other\n")
    environment = {"NOVA_OPTS": options.format(other=other)}
    loaded, found, parts = started_by(conf, monkeypatch, *words, environment=environment)
    assert (found.host, parts.unread) == ("env-other", [])
    assert loaded.config.files == [str(conf), str(other)]


def test_a_variable_that_is_unset_adds_nothing(conf, monkeypatch):
    loaded, found, parts = started_by(conf, monkeypatch, "$NOVA_OPTS", "--debug=a$$b", environment={})
    assert (loaded.config.files, found.environment, parts.unread) == ([str(conf)], [], [])


def test_a_process_is_read_by_what_its_unit_would_start_where_that_has_variables(conf, monkeypatch, tmp_path):
    other = tmp_path / "other.conf"
    other.write_text("[DEFAULT]\nhost = env-other\n")
    start = f"{{ path=/usr/bin/nova-compute ; argv[]=/usr/bin/nova-compute --config-file {conf} $NOVA_OPTS ; x }}"
    environment = {"NOVA_OPTS": f"--config-file={other}"}
    shown = {"LoadState": "loaded", "ExecStart": start}
    assert started_by(conf, monkeypatch, pid=5, shown=shown, environment=environment)[1].host == "env-other"
    # Without variables it is as it was started.
    plain = {**shown, "ExecStart": start.replace("$NOVA_OPTS", "")}
    assert started_by(conf, monkeypatch, pid=5, shown=plain, environment=environment)[1].host is None
    # A unit that starts something else says nothing about it.
    shell = {**shown, "ExecStart": "{ argv[]=/bin/sh -c $NOVA_OPTS ; x }"}
    assert started_by(conf, monkeypatch, pid=5, shown=shell, environment=environment)[1].environment == []


def test_variables_that_nothing_expands_or_only_systemd_knows(conf, monkeypatch):
    # ExecStart=: keeps them as they are.
    kept = {"ExecStartEx": "{ path=/usr/bin/nova-compute ; flags=no-env-expand ; x }"}
    assert not started_by(conf, monkeypatch, "$NOVA_OPTS", shown=kept, environment={})[2].unread
    assert started_by(conf, monkeypatch, "${HOME}/x", environment={})[2].unread
    assert started_by(conf, monkeypatch, "$NOVA_OPTS", unit=None, environment={})[2].unread
    assert started_by(conf, monkeypatch, "$NOVA_OPTS", environment={"NOVA_OPTS": "'x"})[2].unread


def test_a_stopped_container_of_kolla_is_asked_for_what_it_was_made_with(monkeypatch):
    """A returning host's container may be stopped, and no unit of nova-compute is there."""
    env = {"docker": [f"{HOST}=x", "SECRET=y"]}

    def run(argv, _timeout):
        assert argv[1:] == ["inspect", "--type", "container", "nova_compute"]
        if argv[0] not in env:
            raise FileNotFoundError(2, "No such file or directory", argv[0])
        told = env[argv[0]]
        if isinstance(told, str):
            return subprocess.CompletedProcess(argv, 1, b"", told.encode())
        return subprocess.CompletedProcess(argv, 0, json.dumps([{"Config": {"Env": told}}]).encode(), b"")

    monkeypatch.setattr(nova_compute.commands, "run", run)
    assert nova_compute.next_environment(service(), [HOST], kolla=True) == ({HOST: "x"}, None)
    env["podman"] = env.pop("docker")
    assert nova_compute.next_environment(service(), [HOST], kolla=True) == ({HOST: "x"}, None)
    env["podman"] = "no such container"
    unread = nova_compute.next_environment(service(), [HOST], kolla=True)
    assert unread == ({}, "podman inspect nova_compute: no such container")
    env["podman"] = None
    assert "cannot be parsed" in nova_compute.next_environment(service(), [HOST], kolla=True)[1]
    env.clear()
    assert "neither docker nor podman" in nova_compute.next_environment(service(), [HOST], kolla=True)[1]
    # Without kolla nothing is known of a container.
    assert "no unit of nova-compute" in nova_compute.next_environment(service(), [HOST])[1]


def test_debians_defaults_that_may_set_an_option_are_not_guessed(conf, monkeypatch, tmp_path):
    monkeypatch.setattr(unit_environment, "next_start", lambda *_args: {})
    real, defaults = open, tmp_path / "nova-compute"
    defaults.write_text("DAEMON_ARGS=\n")
    monkeypatch.setattr(
        "builtins.open", lambda path, *a, **k: real(defaults if path == "/etc/default/nova-compute" else path, *a, **k)
    )
    run = nova_compute.Service("nova-compute", ["/etc/init.d/nova-compute"], None, True, "u.service", {})
    assert nova_compute.next_environment(run, [HOST]) == ({}, None)
    defaults.write_text(f"export {HOST}=x\n")
    assert nova_compute.next_environment(run, [HOST])[1].startswith("/etc/default/nova-compute may set options")


def test_a_process_that_systemd_does_not_know_belongs_to_the_only_unit(shown):
    shown["argv"] = {5: ["nova-compute"]}
    shown["units"]["nova-compute.service"] = {"LoadState": "loaded", "MainPID": "0"}
    found = nova_compute.find_service("nova-compute", host.COMPUTE_UNITS)
    assert (found.pid, found.unit) == (5, "nova-compute.service")
    shown["argv"] = {7: ["nova-compute"]}
    found = nova_compute.find_service("nova-compute", host.COMPUTE_UNITS)
    assert (found.pid, found.unit) == (7, None)


def test_an_unset_state_path_is_where_nova_is_installed(conf, tmp_path):
    conf.write_text("[DEFAULT]\n")
    packages = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    (packages / "nova-34.0.0.dist-info").mkdir(parents=True)
    run = service([str(tmp_path / "venv" / "bin" / "python"), str(tmp_path / "venv" / "bin" / "nova-compute")])
    read = nova_compute.nova_facts(nova_compute.load((str(conf),), (), run), run)
    assert (read.state_path, read.instances_path) == (str(packages), f"{packages}/instances")
    assert nova_compute.nova_version(run) == "34.0.0"
    with pytest.raises(nova_compute.ConfError, match="state_path is not set"):
        elsewhere = service([str(tmp_path / "nowhere" / "bin" / "nova-compute")])
        nova_compute.nova_facts(nova_compute.load((str(conf),), (), elsewhere), elsewhere)


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
    monkeypatch.setattr(nova_compute, "_nova_metadata", lambda _service: None)
    monkeypatch.setattr(nova_compute.subprocess, "run", answer(out))
    if version is None:
        with pytest.raises(nova_compute.ReadError, check=problem_is("no-nova-package")):
            nova_compute.nova_version(service())
    else:
        assert nova_compute.nova_version(service()) == version


def test_kolla_where_only_its_file_exists(conf, monkeypatch, tmp_path):
    monkeypatch.setattr(nova_compute, "KOLLA_CONF", str(conf))
    monkeypatch.setattr(
        nova_compute.nova_conf, "default_arguments", lambda *_args: nova_compute.nova_conf.Arguments(())
    )
    for run in (service(), service(["nova-compute"], pid=1, same_root=False)):
        loaded = nova_compute.load((), (), run)
        assert (loaded.kolla, loaded.config.files) == (True, [str(conf)])
    monkeypatch.setattr(nova_compute, "KOLLA_CONF", str(tmp_path / "nowhere"))
    with pytest.raises(nova_compute.ReadError, match=r"nova_conf_files", check=problem_is("path-in-container-unknown")):
        nova_compute.load((), (), service(["nova-compute"], pid=1, same_root=False))
    with pytest.raises(nova_compute.ReadError, check=problem_is("no-nova-conf")):
        nova_compute.load((), (), service())


def test_a_package_of_the_host_is_not_what_runs_in_a_container(conf, monkeypatch, tmp_path):
    monkeypatch.setattr(nova_compute, "_nova_metadata", lambda _service: None)
    monkeypatch.setattr(nova_compute.subprocess, "run", answer(b"3:27.5.1-0+deb12u1"))
    for path, known in ((conf, False), (tmp_path / "nowhere", True)):
        monkeypatch.setattr(nova_compute, "KOLLA_CONF", str(path))
        runs = service(["nova-compute"], pid=1, same_root=False)
        with pytest.raises(nova_compute.ReadError, check=problem_is("no-package-in-container")):
            nova_compute.nova_version(runs)
        if known:
            assert nova_compute.nova_version(service()) == "27.5.1"
        else:
            with pytest.raises(nova_compute.ReadError, check=problem_is("no-package-in-container")):
                nova_compute.nova_version(service())
        assert nova_compute.nova_version(service(["nova-compute"], pid=1)) == "27.5.1"


def test_the_log_of_a_container_is_where_the_host_has_it(conf, monkeypatch, tmp_path):
    conf.write_text(conf.read_text() + "log_dir = /var/log/kolla/nova\nlog_file = nova-compute.log\n")
    monkeypatch.setattr(nova_compute, "KOLLA_CONF", str(conf))
    volumes = [tmp_path / "docker", tmp_path / "podman"]
    monkeypatch.setattr(nova_compute, "KOLLA_LOG_VOLUMES", tuple(map(str, volumes)))
    inside = "/var/log/kolla/nova/nova-compute.log"

    def log_of(run, files=(str(conf),)):
        loaded = nova_compute.load(files, (), run)
        return nova_compute.nova_facts(loaded, run).log_file

    runs, stopped = service(["nova-compute"], pid=1, same_root=False), service()
    known = {}
    monkeypatch.setattr(nova_compute.mounts, "on_host", lambda _pid, path: known.get(path))
    assert (log_of(runs), log_of(stopped)) == (inside, inside), "nobody knows"
    known["/var/log/kolla/nova"] = "/moved/volumes/kolla_logs/_data/nova"
    volumes[1].mkdir()
    assert log_of(runs) == "/moved/volumes/kolla_logs/_data/nova/nova-compute.log"
    assert log_of(stopped) == f"{volumes[1]}/nova/nova-compute.log"
    volumes[0].mkdir()
    assert log_of(stopped) == inside, "one of two is a guess"
    monkeypatch.setattr(nova_compute, "KOLLA_CONF", str(tmp_path / "nowhere"))
    assert log_of(stopped) == inside
    assert log_of(service(["nova-compute"], pid=1)) == inside


def test_debians_init_script_chooses_the_log(conf, monkeypatch):
    loaded = nova_compute.load((str(conf),), (), service())
    run = service(["/etc/init.d/nova-compute", "systemd-start"])
    monkeypatch.setattr(nova_compute.os.path, "exists", lambda path: path == "/var/log/nova/nova-compute.log")
    assert nova_compute.nova_facts(loaded, run).log_file == "/var/log/nova/nova-compute.log"


def test_what_no_file_decides_is_noted(conf, monkeypatch):
    conf.write_text(conf.read_text() + "log_config_append = /etc/nova/logging.conf\n")
    monkeypatch.setattr(processes, "environment", lambda _pid, _names: {"OS_DEFAULT__HOST": "e"})
    run = service(["nova-compute", f"--config-file={conf}"], pid=1)
    parts = host.Parts()
    loaded = nova_compute.load((), (), run)
    nova_compute.note_odd_options(parts, loaded)
    assert [item.part for item in parts.unread] == ["nova_conf.host_lines", "nova_conf.log_file"]
    assert nova_compute.nova_facts(loaded, run).host == "e"


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
    found = nova_compute.find_service("nova-compute", host.COMPUTE_UNITS)
    assert (found.pid, found.argv[-1], found.same_root) == (5, "--x", True)


def test_nova_compute_is_found_in_a_container(shown):
    shown["argv"] = {
        7: ["/var/lib/kolla/venv/bin/python3", "/var/lib/kolla/venv/bin/nova-compute"],
        8: ["grep", "nova-compute"],
    }
    found = nova_compute.find_service("nova-compute", host.COMPUTE_UNITS)
    assert (found.pid, found.same_root) == (7, False)


def test_nova_compute_that_is_stopped_is_found_by_its_units_command(shown):
    start = "{ path=/usr/bin/nova-compute ; argv[]=/usr/bin/nova-compute --config-file /etc/n ; ignore_errors=no }"
    shown["units"]["nova-compute.service"] = {"LoadState": "loaded", "MainPID": "0", "ExecStart": start}
    found = nova_compute.find_service("nova-compute", host.COMPUTE_UNITS)
    assert (found.pid, found.argv) == (None, ["/usr/bin/nova-compute", "--config-file", "/etc/n"])


def test_nova_compute_that_is_masked_is_found_by_its_packaged_unit(shown, tmp_path, monkeypatch):
    monkeypatch.setattr(units, "PACKAGED", (str(tmp_path / "nowhere"), str(tmp_path)))
    shown["units"]["nova-compute.service"] = {"LoadState": "masked", "MainPID": "0"}
    assert nova_compute.find_service("nova-compute", host.COMPUTE_UNITS).argv == []
    path = tmp_path / "nova-compute.service"
    path.write_text("[Service]\nExecStart=\nExecStart=-/usr/bin/nova-compute \\\n  --config-file '/etc/a b'\n")
    found = nova_compute.find_service("nova-compute", host.COMPUTE_UNITS)
    assert found.argv == ["/usr/bin/nova-compute", "--config-file", "/etc/a b"]
    path.write_text("[Service]\nExecStart='\n")
    assert nova_compute.find_service("nova-compute", host.COMPUTE_UNITS).argv == []


def test_nova_compute_is_not_found(monkeypatch, shown):
    assert nova_compute.find_service("nova-compute", host.COMPUTE_UNITS).argv == []

    def broken(*_args):
        raise units.UnitError("no systemd")

    monkeypatch.setattr(units.Systemctl, "show", broken)
    assert nova_compute.find_service("nova-compute", host.COMPUTE_UNITS).argv == []


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
    read = compute_id.read_compute_id(str(path), True)
    assert (read.exists, read.uuid, read.error, read.mode) == (True, uuid, error, "0640")
    assert read.owner
    assert read.group


def test_compute_id_that_is_not_there_or_cannot_be_read(tmp_path):
    assert compute_id.read_compute_id(str(tmp_path / "x"), True) == facts.ComputeIdFile(
        str(tmp_path / "x"), True, False
    )
    (tmp_path / "folder").mkdir()
    read = compute_id.read_compute_id(str(tmp_path / "folder"), False)
    assert (read.exists, read.uuid) == (True, None)
    assert "Is a directory" in read.error
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert "UnicodeDecodeError" in compute_id.read_compute_id(str(tmp_path / "bytes"), True).error


def test_an_error_that_nova_does_not_catch_is_kept_in_pythons_words(tmp_path):
    """The review: "IsADirectoryError: [Errno 21] Is a directory: ..." was told as "Unable to parse UUID"."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("")
    for path, words in (
        (tmp_path / "folder", f"IsADirectoryError: [Errno 21] Is a directory: '{tmp_path}/folder'"),
        (tmp_path / "loop", f"OSError: [Errno 40] Too many levels of symbolic links: '{tmp_path}/loop'"),
        (tmp_path / "file" / "x", f"NotADirectoryError: [Errno 20] Not a directory: '{tmp_path}/file/x'"),
    ):
        read = compute_id.read_compute_id(str(path), True, compute_id.FileReader("nova", 64055))
        assert (read.exists, read.uuid, read.os_error, read.unread) == (True, None, words, False)
    # What is no UUID is an error of Nova's own.
    assert compute_id.read_compute_id(str(tmp_path / "file"), True).os_error is None


@pytest.fixture
def public():
    """A directory that everybody may search, and a compute_id in it."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = os.path.join(folder, "compute_id")
        with open(path, "w", encoding="ascii") as stream:
            stream.write(UUID)
        yield path


def test_a_file_that_root_reads_and_nova_may_not(public):
    nova, own = compute_id.FileReader("nova", 64055), compute_id.FileReader("me", os.geteuid())
    os.chmod(public, 0o644)
    assert compute_id.read_compute_id(public, True, nova).uuid == UUID
    os.chmod(public, 0o600)
    read = compute_id.read_compute_id(public, True, nova)
    assert read.os_error == f"PermissionError: [Errno 13] Permission denied: '{public}'"
    assert compute_id.read_compute_id(public, True, own).os_error is None
    group = compute_id.FileReader("nova", 64055, frozenset({os.stat(public).st_gid}))
    os.chmod(public, 0o640)
    assert (group.may_read(public), nova.may_read(public)) == (True, False)
    os.chmod(public, 0o644)
    os.chmod(os.path.dirname(public), 0o700)
    assert nova.may_read(public) is False


def test_whether_an_unknown_user_may_read_a_closed_file_is_not_known(public):
    nobody = compute_id.FileReader("nova-compute", None)
    os.chmod(public, 0o644)
    assert compute_id.read_compute_id(public, True, nobody).unread is False
    os.chmod(public, 0o640)
    read = compute_id.read_compute_id(public, True, nobody)
    # What we read in it still counts for everything but the forecast.
    assert (read.unread, read.uuid, read.error) == (
        True,
        UUID,
        "it is not known whether nova-compute is allowed to read the file",
    )


def test_an_access_control_list_is_not_known(public, monkeypatch):
    monkeypatch.setattr(compute_id.os, "listxattr", lambda _path: ["system.posix_acl_access"])
    assert compute_id.FileReader("nova", 64055).may_read(public) is None
    assert compute_id.FileReader("root", 0).may_read(public) is True


def test_a_file_that_we_may_not_read_is_unread_where_nova_is_another(public, monkeypatch):
    def refused(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied", public)

    monkeypatch.setattr("builtins.open", refused)
    read = compute_id.read_compute_id(public, True, compute_id.FileReader("nova", 64055))
    assert (read.unread, read.os_error) == (True, None)
    read = compute_id.read_compute_id(public, True, compute_id.FileReader("me", os.geteuid()))
    assert (read.unread, read.os_error) == (False, f"PermissionError: [Errno 13] Permission denied: '{public}'")


def test_as_whom_nova_compute_will_read(monkeypatch):
    def reader(argv=(), pid=None, unit="nova-compute.service", **shown):
        return compute_id.reader_of(nova_compute.Service("nova-compute", list(argv), pid, True, unit, shown))

    daemon = reader(LoadState="loaded", User="daemon", Group="", SupplementaryGroups="sys 4")
    assert (daemon.uid, {1, 3, 4} <= daemon.groups) == (1, True)
    assert reader(LoadState="loaded").uid == 0
    assert reader(LoadState="loaded", User="no-such-user").uid is None
    assert reader(["/etc/init.d/nova-compute"], LoadState="loaded").uid is None
    assert reader(unit=None).uid is None
    monkeypatch.setattr(processes, "identity", lambda pid: (42436, [42436, 4]))
    assert reader(unit=None, pid=5) == compute_id.FileReader("42436", 42436, frozenset({42436, 4}))
    monkeypatch.setattr(compute_id.unit_environment, "masked_setting", lambda _unit, _key: "daemon")
    assert reader(LoadState="masked").uid == 1
    monkeypatch.setattr(compute_id.unit_environment, "masked_setting", lambda _unit, _key: None)
    assert reader(LoadState="masked").uid is None


def test_each_place_that_nova_looks_at(tmp_path, monkeypatch):
    for name in ("a", "b", "state", "kolla", "volume"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "compute_id").write_text(UUID)
    (tmp_path / "a" / "nova.conf").write_text(f"[DEFAULT]\nstate_path = {tmp_path}/state\n")
    (tmp_path / "b" / "x.conf").write_text("")
    monkeypatch.setattr(compute_id, "KOLLA_CONF", str(tmp_path / "kolla" / "nova.conf"))
    monkeypatch.setattr(compute_id, "KOLLA_VOLUMES", (str(tmp_path / "volume"), str(tmp_path / "nowhere")))
    run = service()
    loaded = nova_compute.load((str(tmp_path / "a" / "nova.conf"),), (str(tmp_path / "b"),), run)
    nova = nova_compute.nova_facts(loaded, run)
    read = compute_id.compute_id_files(loaded, nova)
    places = [(file.path[len(str(tmp_path)) + 1 :], file.read_by_nova) for file in read]
    assert places == [
        ("a/compute_id", True),
        ("state/compute_id", True),
        ("kolla/compute_id", False),
        ("volume/compute_id", False),
    ]
    with pytest.raises(nova_compute.ReadError):
        compute_id.compute_id_files(None, None)


def test_kollas_two_copies_are_what_nova_reads_there(tmp_path, monkeypatch):
    (tmp_path / "nova.conf").write_text("[DEFAULT]\nstate_path = /var/lib/nova\n")
    monkeypatch.setattr(nova_compute, "KOLLA_CONF", str(tmp_path / "nova.conf"))
    monkeypatch.setattr(compute_id, "KOLLA_VOLUMES", (str(tmp_path / "none"), str(tmp_path / "podman")))
    (tmp_path / "podman").mkdir()
    loaded = nova_compute.load((str(tmp_path / "nova.conf"),), (), service())
    read = compute_id.compute_id_files(loaded, nova_compute.nova_facts(loaded, service()))
    assert [(file.path, file.read_by_nova) for file in read] == [
        (f"{tmp_path}/compute_id", True),
        (f"{tmp_path}/podman/compute_id", True),
    ]


def test_kollas_volume_is_where_the_kernel_says(tmp_path, monkeypatch):
    """A moved directory of the engine, or the host's own directory: no table of paths has it."""
    (tmp_path / "nova.conf").write_text("[DEFAULT]\nstate_path = /var/lib/nova\n")
    monkeypatch.setattr(nova_compute, "KOLLA_CONF", str(tmp_path / "nova.conf"))
    (tmp_path / "podman").mkdir()
    monkeypatch.setattr(compute_id, "KOLLA_VOLUMES", (str(tmp_path / "podman"),))
    loaded = nova_compute.load((str(tmp_path / "nova.conf"),), (), service())
    read = compute_id.compute_id_files(loaded, nova_compute.nova_facts(loaded, service()), None, "/srv/moved/_data")
    assert [file.path for file in read] == [f"{tmp_path}/compute_id", "/srv/moved/_data/compute_id"]


def test_units_of_containers_are_read_beside_the_usual_ones(monkeypatch):
    asked = []
    monkeypatch.setattr(units, "read_units", lambda names, *_more: asked.extend(names) or [])
    host._units(host.HostOptions("h", compute_units=("mine",), agent_units=()), kolla(), units.Systemctl())
    assert asked == [
        "mine",
        host.OVS_RECORD_HOSTNAME,
        host.LIBVIRT_GUESTS,
        "kolla-nova_compute-container.service",
        "kolla-neutron_openvswitch_agent-container.service",
    ]
    asked.clear()
    host._units(host.HostOptions("h", compute_units=("mine",), agent_units=()), None, units.Systemctl())
    assert asked == ["mine", host.OVS_RECORD_HOSTNAME, host.LIBVIRT_GUESTS]


def test_immutable_files_are_those_of_compute_id(monkeypatch):
    monkeypatch.setattr(deployment, "is_immutable", lambda path: path == "/b/compute_id")
    files = [facts.ComputeIdFile(f"/{name}/compute_id", True, name != "c") for name in "abc"]
    found = host._with_immutable(reading.Parts(), packages(), files)
    assert found.immutable == ["/b/compute_id"]


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
    with pytest.raises(network_agent.ReadError, check=problem_is("agents-differ")):
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


def test_as_whom_a_process_is_let_at_files(tmp_path):
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "status").write_text("Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \n")
    assert processes.identity(5, str(tmp_path)) == (4, [8, 9, 10])
    assert processes.identity(6, str(tmp_path)) is None


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
    monkeypatch.setattr(host.processes, "qemu_by_uuid", lambda seen=None: {"one": [70, 7], "two": [8]})
    assert host.qemu_processes() == {"one": 7, "two": 8}
