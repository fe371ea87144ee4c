# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts with `--deploy kolla`, as far as they need no machine: python3 -m pytest lab/tests"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from stackguard_lab import checks, cli, config, containers, control, hosts, install, kolla, network
from stackguard_lab.settings import SOURCE, Lab, LabError, Options


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("STACKGUARD_LAB_HOME", str(tmp_path))
    return Lab(3, Options(password="secret", deploy="kolla", environments={"2026.2": "2026.2-x"}))


def names(lab: Lab, number: int = 1) -> list[str]:
    return [container.name for container in containers.containers(lab, number)]


def arguments(lab: Lab, name: str, number: int = 1) -> list[str]:
    found = next(container for container in containers.containers(lab, number) if container.name == name)
    return containers.arguments(lab, found)


def rendered(lab: Lab, template: str, number: int = 1) -> str:
    return config.render(template, **config.host_values(lab, number))


# --- which hosts have containers


def test_a_lab_has_no_containers_unless_asked(lab: Lab) -> None:
    lab.options.deploy = Options().deploy
    assert lab.kolla_hosts == []
    assert names(lab) == []
    assert "-o none,name=systemd" in rendered(lab, "host-boot.sh")
    assert "[ 1 = 2 ]" in rendered(lab, "host-boot.sh")
    assert "[ 1 = 2 ]" in rendered(lab, "host-init.sh")
    assert "virtlogd.socket libvirtd.socket libvirtd-tcp.socket libvirtd.service" in rendered(lab, "lab.target")
    conf = rendered(lab, "nova-compute.conf")
    assert "log_dir = /var/log/nova\n" in conf
    assert "connection_uri" not in conf
    assert "cgroup_controllers = []\n" in rendered(lab, "host-qemu.conf")


def test_a_host_with_containers_has_cgroup_v2_and_no_libvirt_of_its_own(lab: Lab) -> None:
    assert "[ 2 = 2 ]" in rendered(lab, "host-boot.sh")
    assert "libvirt" not in rendered(lab, "lab.target")
    conf = rendered(lab, "nova-compute.conf")
    assert "log_dir = /var/log/kolla/nova\n" in conf
    assert "[libvirt]\nconnection_uri = qemu+tcp://10.99.3.11/system\n" in conf


def test_the_engine_is_no_package_of_the_machine(lab: Lab) -> None:
    packages = install.packages(lab)
    lab.options.deploy = "packages"
    assert install.packages(lab) == packages
    assert not set(packages) & set(install.ENGINE_PACKAGES["podman"])


@pytest.mark.parametrize("l2", ["tap", "ovs", "ovn"])
def test_in_a_mixed_lab_only_the_hosts_that_are_named_have_containers(lab: Lab, l2: str) -> None:
    lab.options.deploy, lab.options.l2 = "kolla:compute1,compute3", l2
    assert lab.kolla_hosts == [1, 3]
    assert [bool(names(lab, n)) for n in lab.host_numbers] == [True, False, True]
    shown = config.info(lab)["hosts"]
    assert [shown[name]["deploy"] for name in lab.host_names] == ["kolla", "packages", "kolla"]
    assert [shown[name]["engine"] for name in lab.host_names] == ["podman", None, "podman"]


@pytest.mark.parametrize("text", ["kola", "kolla:", "packages:compute1", "kolla:compute1,", "kolla:compute1,compute1"])
def test_what_deploy_does_not_mean_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parse(["up", "--deploy", text])
    assert "is not packages, kolla or kolla:HOST[,HOST]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--deploy", "kolla:compute4"], "no such host: compute4"),
        (["--engine", "docker"], "--engine belongs to hosts with containers"),
        (["--deploy", "packages", "--engine", "podman"], "--engine belongs to hosts with containers"),
        (["--deploy", "kolla:compute2", "--l2", "ovn", "--ovn-rbac"], "has no RBAC in OVN"),
    ],
)
def test_what_does_not_fit_is_refused(lab: Lab, words: list[str], text: str) -> None:
    with pytest.raises(LabError, match=text):
        cli._agree(lab, cli.parse(["up", *words]))


def test_how_hosts_are_deployed_cannot_be_changed_later(lab: Lab) -> None:
    lab.save_options()
    for words in (["--deploy", "kolla:compute1"], ["--engine", "docker"]):
        with pytest.raises(LabError, match=f"made with {words[0][2:]} "):
            cli._agree(lab, cli.parse(["up", *words]))
    cli._agree(lab, cli.parse(["up", "--deploy", "kolla", "--engine", "podman"]))


def test_a_lab_of_before_has_packages(lab: Lab) -> None:
    lab.save_options()
    old = json.loads(lab.options_file.read_text())
    old = {key: value for key, value in old.items() if key not in {"deploy", "engine"}}
    lab.options_file.write_text(json.dumps(old))
    assert (Lab(3).options.deploy, Lab(3).options.password) == ("packages", "secret")


def test_containers_need_more_memory(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "available_memory_mb", lambda: checks.MEMORY_NEEDED_MB)
    # A lab of this number may run on this machine.
    monkeypatch.setattr(checks.procs, "pids_in", lambda _namespace: [])
    assert "about 4800 are needed" in (checks._memory(lab) or "")
    lab.options.engine = "docker"
    assert "about 5100 are needed" in (checks._memory(lab) or "")
    lab.options.deploy = "packages"
    assert checks._memory(lab) is None


# --- the containers


@pytest.mark.parametrize(
    ("l2", "network"),
    [
        ("tap", []),
        ("ovs", ["openvswitch_db", "openvswitch_vswitchd", "neutron_openvswitch_agent"]),
        ("ovn", ["openvswitch_db", "openvswitch_vswitchd", "ovn_controller", "neutron_ovn_metadata_agent"]),
    ],
)
def test_a_host_has_kollas_containers_and_nova_compute_starts_last(lab: Lab, l2: str, network: list[str]) -> None:
    lab.options.l2 = l2
    assert names(lab) == ["nova_libvirt", "nova_ssh", *network, "nova_compute"]
    shown = json.loads(json.dumps(config.info(lab)))
    assert shown["hosts"]["compute1"]["containers"] == names(lab)
    assert (shown["deploy"], shown["engine"]) == ("kolla", "podman")


@pytest.mark.parametrize("engine", ["podman", "docker"])
@pytest.mark.parametrize("l2", ["ovs", "ovn"])
def test_the_engine_takes_the_hosts_name_when_it_creates_a_container(lab: Lab, engine: str, l2: str) -> None:
    lab.options.engine, lab.options.l2 = engine, l2
    for name in names(lab):
        words = arguments(lab, name)
        assert "--network=host" in words
        assert not any(word.startswith(("--hostname", "--uts", "-h")) for word in words), name
        assert not any(" " in word for word in words), "the host splits them at white space"


@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_volumes_are_kollas(lab: Lab, engine: str) -> None:
    lab.options.engine = engine
    compute, libvirt = arguments(lab, "nova_compute"), arguments(lab, "nova_libvirt")
    assert "--volume=/etc/kolla/nova-compute/:/var/lib/kolla/config_files/:ro" in compute
    assert {"--privileged", "--ipc=host", "--volume=nova_compute:/var/lib/nova/"} <= set(compute)
    assert {"--privileged", "--pid=host", "--volume=nova_libvirt_qemu:/etc/libvirt/qemu"} <= set(libvirt)
    assert ("--volume=/run/libvirt:/run/libvirt:shared" in compute) is (engine == "podman")
    assert ("--volume=/run:/run:shared" in compute) is (engine == "docker")
    assert ("--mount=type=devpts,destination=/dev/pts" in libvirt) is (engine == "podman")
    assert compute[-1].endswith("openstack.kolla/nova-compute:2026.2-debian-bookworm")


def test_units_have_kollas_text(lab: Lab) -> None:
    found = containers.containers(lab, 1)[-1]
    assert found.unit == "kolla-nova_compute-container.service"
    lines = containers.unit_text(lab, found).splitlines()
    assert lines[:2] == ["# kolla-nova_compute-container.service", "# autogenerated by Kolla-Ansible"]
    assert "ExecStart=/usr/bin/podman start -a nova_compute" in lines
    assert "ExecStop=/usr/bin/podman stop nova_compute -t 60" in lines
    lab.options.engine = "docker"
    assert "After=docker.service" in containers.unit_text(lab, found).splitlines()


# --- what is written into the root of a host


@pytest.fixture
def upper(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The upper layer of compute1, prepared with a made-up engine and a made-up key of Ceph."""
    lab.options.l2 = "ovs"
    for name in ("usr/bin/podman", "etc/containers/policy.json", "etc/cni/net.d/87-podman-bridge.conflist"):
        config.write(lab.engine_dir / name, "of the engine\n")
    config.write(lab.cluster(1).keys / "ceph.client.nova.keyring", "[client.nova]\n\tkey = AQkey==\n")
    config.write(Path(f"{lab.ssh_key}.pub"), "public\n")
    config.write(lab.ssh_key, "private\n")
    config.write(lab.host_dir(1) / "ssh_host_ed25519_key", "private\n")
    config.write(lab.host_dir(1) / "ssh_host_ed25519_key.pub", "public\n")
    hosts.prepare(lab, 1)
    return lab.host_dir(1) / "upper"


def test_each_file_that_a_container_copies_is_there(lab: Lab, upper: Path) -> None:
    for container in containers.containers(lab, 1):
        folder = upper / container.config.lstrip("/")
        shown = json.loads((folder / "config.json").read_text())
        assert shown["command"]
        for entry in shown["config_files"]:
            assert (folder / entry["source"].removeprefix("/var/lib/kolla/config_files/")).exists(), entry


def test_a_cold_migration_reaches_the_volume_of_nova_compute(lab: Lab, upper: Path) -> None:
    lab.options.deploy = "kolla:compute1"
    client = kolla.ssh_config(lab).splitlines()
    assert client[:2] == [f"Host {lab.host_address(1)}", "Port 8022"]
    assert "Host *" in client[2:]
    assert "Port 8022" in (upper / "etc/kolla/nova-ssh/sshd_config").read_text().splitlines()
    ours = {word for word in arguments(lab, "nova_ssh") if word.startswith("--volume=nova_")}
    assert ours == {"--volume=nova_compute:/var/lib/nova/"}
    lab.options.deploy = "packages"
    assert kolla.ssh_config(lab).splitlines()[0] == "Host *"


def test_what_a_deployment_finds_where_kolla_puts_it(lab: Lab, upper: Path) -> None:
    assert (upper / "etc/kolla/nova-compute/compute_id").read_text() == kolla.compute_id(1)
    secret = upper / f"etc/kolla/nova-libvirt/secrets/{config.CEPH_SECRET}.base64"
    assert (secret.read_text(), secret.stat().st_mode & 0o077) == ("AQkey==", 0)
    assert (
        "log_dir = /var/log/kolla/neutron" in (upper / "etc/kolla/neutron-openvswitch-agent/neutron.conf").read_text()
    )
    uuid_line = next(
        line
        for line in (upper / "etc/kolla/nova-libvirt/libvirtd.conf").read_text().splitlines()
        if line.startswith("host_uuid")
    )
    assert uuid_line.split('"')[1].replace("-", "") == (upper / "etc/machine-id").read_text().strip()


def test_compute_ids_are_those_that_ansible_derives_from_the_name() -> None:
    # {{ 'compute1' | to_uuid }}
    assert kolla.compute_id(1) == "a3dbe9e0-4a05-58f3-b4b1-2cc0f42d4513"


def test_only_the_containers_units_are_started(lab: Lab, upper: Path) -> None:
    system = upper / "etc/systemd/system"
    wants = {path.name for path in (system / "lab.target.wants").iterdir()}
    assert wants == {"kolla-setup.service", *(container.unit for container in containers.containers(lab, 1))}
    assert not (upper / "usr/lib/systemd/system/nova-compute.service").exists()
    for unit in ("libvirtd.service", "libvirtd.socket", "virtlogd.socket", "openvswitch-switch.service"):
        assert (system / unit).readlink() == Path("/dev/null"), unit


def test_hosts_share_the_engines_programs_and_nothing_that_is_changed_in_place(lab: Lab, upper: Path) -> None:
    assert (upper / "usr/bin/podman").samefile(lab.engine_dir / "usr/bin/podman")
    assert not (upper / "etc/containers/policy.json").samefile(lab.engine_dir / "etc/containers/policy.json")
    assert not (upper / "etc/cni").exists()
    assert 'driver = "vfs"' in (upper / "etc/containers/storage.conf").read_text()


def test_an_engine_that_is_not_unpacked_is_said(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"podman is not unpacked at .*engines/podman"):
        kolla.prepare(lab, 1, tmp_path / "upper", config.host_values(lab, 1))


def test_the_image_names_each_folder_before_what_is_in_it(tmp_path: Path) -> None:
    """docker makes any other folder with mode 0600."""
    kolla.image_root(tmp_path / "rootfs.tar")
    with tarfile.open(tmp_path / "rootfs.tar") as archive:
        seen = {"."}
        for member in archive.getmembers():
            assert str(Path(member.name).parent) in seen, member.name
            seen.add(member.name)
            assert not member.isdir() or member.mode & 0o755 == 0o755, member.name


def test_images_have_none_of_the_machines_secrets(tmp_path: Path) -> None:
    kolla.image_root(tmp_path / "rootfs.tar")
    with tarfile.open(tmp_path / "rootfs.tar") as archive:
        members = {member.name: member for member in archive.getmembers()}
    assert {"etc/passwd", "usr/local/bin/kolla_start", "var/lib/kolla/config_files"} <= set(members)
    assert members["usr/local/bin/kolla_start"].mode == 0o755
    assert members["bin"].linkname == "usr/bin"
    for word in ("shadow", "ssh", "ssl/private", "kolla/", "apt/", "sudoers", "netrc", "hosts", "machine-id"):
        assert not any(name.startswith("etc/") and word in name for name in members), word


def test_an_engine_of_other_packages_or_without_its_programs_is_unpacked_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "ENGINE_PROGRAMS", {"podman": ("podman-of-the-lab",)})
    assert not install.has_engine(lab)
    config.write(lab.engine_dir / install.COMPLETE, "\n".join(install.ENGINE_PACKAGES["podman"]) + "\n")
    assert not install.has_engine(lab)
    config.write(lab.engine_dir / "usr/bin/podman-of-the-lab", "")
    assert install.has_engine(lab)
    config.write(lab.engine_dir / install.COMPLETE, "podman\n")
    assert not install.has_engine(lab)


# --- the command that makes containers on the host


class Recorder:
    """The host's command with paths in a scratch folder; the engine and systemctl write down how they were called."""

    def __init__(self, scratch: Path, lab: Lab) -> None:
        self.log, self.home, self.scratch = scratch / "log", scratch / "home", scratch
        text = (SOURCE / "kolla" / "containers").read_text()
        for old, new in {
            "/usr/local/lib/lab/kolla": self.home,
            "/var/lib/stackguard-lab-kolla": scratch / "done",
            "/usr/bin/$(cat engine)": scratch / "podman",
            "/etc/systemd/system": scratch,
        }.items():
            assert old in text
            text = text.replace(old, str(new))
        self.home.mkdir()
        config.write(self.home / "containers", text, 0o755)
        found = containers.containers(lab, 1)
        lists = {"engine": ["podman"], "names": [c.name for c in found], "images": ["localhost/x/nova-compute:1"]}
        for name, lines in {**lists, "volumes": containers.volumes(found)}.items():
            config.write(self.home / name, "".join(f"{line}\n" for line in lines))
        for container in found:
            config.write(self.home / f"{container.name}.args", f"--name={container.name}\n")
            config.write(self.home / f"{container.name}.unit", containers.unit_text(lab, container))
        self.fake("podman", "")
        self.fake("systemctl", "")

    def fake(self, name: str, also: str) -> None:
        config.write(self.scratch / name, f'#!/bin/sh\necho "{name} $*" >>{self.log}\n{also}\n', 0o755)

    def __call__(self, *words: str) -> tuple[int, list[str]]:
        self.log.unlink(missing_ok=True)
        path = f"{self.scratch}:/usr/bin:/bin"
        done = subprocess.run([self.home / "containers", *words], env={"PATH": path}, capture_output=True, text=True)
        return done.returncode, self.log.read_text().splitlines() if self.log.exists() else [done.stderr]


@pytest.fixture
def recorder(lab: Lab, tmp_path: Path) -> Recorder:
    return Recorder(tmp_path, lab)


def test_a_container_is_removed_before_it_is_created_again(recorder: Recorder) -> None:
    code, calls = recorder("recreate", "nova_libvirt")
    assert code == 0
    unit = "kolla-nova_libvirt-container.service"
    assert calls == [
        f"systemctl stop {unit}",
        "podman rm -f nova_libvirt",
        "podman create --name=nova_libvirt",
        "systemctl daemon-reload",
        f"systemctl -q enable {unit}",
        f"systemctl reset-failed {unit}",
        f"systemctl start {unit}",
    ]
    assert "ExecStart=/usr/bin/podman start -a nova_libvirt" in (recorder.scratch / unit).read_text()


def test_a_start_that_is_refused_fails_and_the_other_containers_are_still_made(recorder: Recorder) -> None:
    recorder.fake("systemctl", 'case "$*" in "start kolla-nova_libvirt"*) exit 1 ;; esac')
    code, calls = recorder("recreate", "nova_libvirt", "nova_compute")
    assert code == 1
    assert "podman create --name=nova_compute" in calls
    assert calls[-1] == "systemctl start kolla-nova_compute-container.service"


def test_nothing_is_touched_for_a_name_that_is_not_there(recorder: Recorder) -> None:
    code, calls = recorder("recreate", "nova_libvirt", "nova_conductor")
    assert code == 2
    assert calls == ["nova_conductor: no such container; this host has: nova_libvirt nova_ssh nova_compute \n"]


def test_the_first_boot_is_marked_only_when_all_containers_are_there(recorder: Recorder) -> None:
    recorder.fake("podman", '[ "$1" != create ]')
    assert recorder("setup")[0] != 0
    assert not (recorder.scratch / "done").exists()
    recorder.fake("podman", '[ "$2" != inspect ]')
    code, calls = recorder("setup")
    assert code == 0
    assert (recorder.scratch / "done").exists()
    assert sum(call.startswith("podman import") for call in calls) == 1
    assert "podman volume create --label kolla_managed=true nova_compute" in calls
    starts = [call for call in calls if call.startswith("systemctl start")]
    assert starts == [
        f"systemctl start kolla-{name}-container.service" for name in ("nova_libvirt", "nova_ssh", "nova_compute")
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [(["compute2", "nova_compute"], "compute2 has no containers"), (["compute1", "nova"], "has no container nova")],
)
def test_recreate_says_what_there_is_not(
    lab: Lab, words: list[str], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.options.deploy = "kolla:compute1"
    lab.save_options()
    monkeypatch.setattr(network, "reachable", lambda _lab: True)
    with pytest.raises(LabError, match=text):
        cli.do_kolla_recreate(lab, cli.parse(["kolla-recreate", *words]))


# --- the start of a container


def script(name: str) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(SOURCE / "kolla" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_docker_gets_no_capability_that_the_machine_lacks() -> None:
    module = script("runc-lab")
    assert (module.NAMES[0], module.NAMES[24], module.NAMES[40]) == ("CHOWN", "SYS_RESOURCE", "CHECKPOINT_RESTORE")
    wanted = {"args": ["sh"], "capabilities": {"bounding": ["CAP_CHOWN", "CAP_SYS_RESOURCE"]}}
    everything = 2**41 - 1
    assert module.without_absent(wanted, everything) == wanted
    assert module.without_absent(wanted, everything & ~(1 << 24))["capabilities"] == {"bounding": ["CAP_CHOWN"]}
    assert module.without_absent({"args": ["sh"]}, 0) == {"args": ["sh"]}


@pytest.fixture
def set_configs(tmp_path: Path) -> ModuleType:
    module = script("kolla_set_configs")
    module.SOURCES, module.COMMAND = tmp_path / "sources", tmp_path / "run_command"
    entries = [
        {"source": str(tmp_path / "sources" / name), "dest": str(tmp_path / "etc" / name), "perm": "0600"}
        for name in ("nova.conf", "secrets")
    ]
    config.write(module.SOURCES / "nova.conf", "[DEFAULT]\n")
    config.write(module.SOURCES / "secrets/key", "key\n")
    config.write(module.SOURCES / "config.json", json.dumps({"command": "nova-compute", "config_files": entries}))
    return module


def test_configuration_is_copied_and_a_later_change_is_seen(
    set_configs: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_configs.shutil, "chown", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["kolla_set_configs"])
    assert set_configs.main() == 0
    assert (tmp_path / "etc/secrets/key").read_text() == "key\n"
    assert (tmp_path / "etc/nova.conf").stat().st_mode & 0o777 == 0o600
    assert set_configs.COMMAND.read_text() == "nova-compute\n"
    monkeypatch.setattr(sys, "argv", ["kolla_set_configs", "--check"])
    assert set_configs.main() == 0
    config.write(set_configs.SOURCES / "nova.conf", "[DEFAULT]\nhost = other\n")
    assert set_configs.main() == 1
    assert (tmp_path / "etc/nova.conf").read_text() == "[DEFAULT]\n", "a check changes nothing"


def test_every_control_service_is_the_same_with_containers(lab: Lab) -> None:
    before = set(control.daemons(lab))
    lab.options.deploy = "packages"
    assert set(control.daemons(lab)) == before
