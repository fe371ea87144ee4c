# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Volumes and shared instances, as far as they need no machine."""

from __future__ import annotations

import argparse
import configparser
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from stackguard_lab import ceph, cinder, cli, config, control, install, shares
from stackguard_lab.settings import CINDERS, RELEASES, Lab, LabError, Options


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("STACKGUARD_LAB_HOME", str(tmp_path))
    return Lab(3, Options(password="secret", environments={"2026.2": "2026.2-x"}))


@pytest.fixture
def full(lab: Lab) -> Lab:
    """A lab with every back end."""
    lab.options.cinder = "ceph,nfs,san"
    return lab


def conf(text: str) -> configparser.ConfigParser:
    parsed = configparser.ConfigParser(strict=False, interpolation=None, default_section="-")
    parsed.read_string(text)
    return parsed


def cinder_conf(lab: Lab) -> configparser.ConfigParser:
    return conf(config.render("cinder.conf", **config.values(lab)))


def test_a_lab_without_cinder_has_none_of_it(lab: Lab) -> None:
    assert not set(cinder.SERVICES) & set(control.daemons(lab))
    assert lab.environments == ["2026.2"]
    assert lab.cluster(1).all_pools == ("vms", "images")
    assert config.info(lab)["cinder"] == []
    assert {"volume_types", "cinder_db_url"} & set(config.info(lab)) == set()
    known = config.host_values(lab, 1)
    nova = conf(config.render("nova-compute.conf", **known))
    assert dict(nova["cinder"]) == {"auth_type": "none"}
    assert "key_manager" not in nova
    assert "lab-san" not in config.render("host-init.sh", **known)
    shares.make(lab)
    assert not lab.state.exists()


@pytest.mark.parametrize(
    ("words", "backends"),
    [([], []), (["--cinder"], ["ceph"]), (["--cinder", "nfs"], ["ceph", "nfs"]), (["--cinder", "san,nfs,ceph"], None)],
)
def test_ceph_is_always_among_the_back_ends(lab: Lab, words: list[str], backends: list[str] | None) -> None:
    cli._agree(lab, cli.parse(["up", *words]))
    assert lab.backends == (["ceph", "nfs", "san"] if backends is None else backends)


def test_a_back_end_that_is_not_known_is_refused() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="'lvm' is not a list of ceph, nfs, san"):
        cli._cinder("lvm")


def test_volumes_cannot_be_added_later(lab: Lab) -> None:
    lab.save_options()
    with pytest.raises(LabError, match="made with cinder none, not ceph"):
        cli._agree(lab, cli.parse(["up", "--cinder"]))
    with pytest.raises(LabError, match="made with instances own, not shared"):
        cli._agree(lab, cli.parse(["up", "--instances", "shared"]))


def test_every_release_of_nova_has_a_cinder_and_its_pinned_versions(full: Lab) -> None:
    assert set(CINDERS) == set(RELEASES)
    for release, major in CINDERS.items():
        full.options.release = release
        assert full.environments[-1] == f"cinder-{release}"
        assert f"\ncinder=={major}." in (config.SOURCE / "requirements" / f"cinder-{release}.txt").read_text()
        assert install._version(f"cinder-{release}").startswith(f"cinder-{release}-")


def test_cinder_has_services_that_are_stopped_in_some_group(full: Lab) -> None:
    daemons = control.daemons(full)
    assert set(cinder.SERVICES) <= set(daemons)
    assert set(daemons) <= {name for group in control.STOP_ORDER for name in group}


def test_each_zone_with_hosts_has_a_back_end_in_ceph_and_both_are_one_for_a_volume_type(full: Lab) -> None:
    parsed = cinder_conf(full)
    assert parsed["DEFAULT"]["enabled_backends"] == "ceph-az1,ceph-az2,nfs,san"
    of_ceph = [parsed["ceph-az1"], parsed["ceph-az2"]]
    assert [section["backend_availability_zone"] for section in of_ceph] == ["az1", "az2"]
    assert {section["volume_backend_name"] for section in of_ceph} == {"ceph"}
    assert {section["rbd_pool"] for section in of_ceph} == {"volumes"}
    full.options.computes = 2
    assert cinder_conf(full)["DEFAULT"]["enabled_backends"] == "ceph-az1,nfs,san"


def test_the_pool_of_volumes_is_in_the_first_cluster_and_client_nova_may_not_read_it(
    full: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    full.options.clusters = 2
    assert [cluster.all_pools for cluster in full.clusters] == [("vms", "images", "volumes"), ("vms", "images")]
    rights: dict[tuple[int, str], str] = {}

    def asked(_lab: Lab, cluster: object, *args: str, **_more: object) -> str:
        if args[:2] == ("auth", "get-or-create"):
            rights[cluster.number, args[2]] = " ".join(args[3:-2])  # type: ignore[attr-defined]
        return ""

    monkeypatch.setattr(ceph, "ceph", asked)
    monkeypatch.setattr(ceph, "in_control", lambda *_args, **_more: None)
    for cluster in full.clusters:
        ceph._make_pools(full, cluster)
    assert "pool=volumes" not in rights[1, "client.nova"]
    assert (
        "profile rbd pool=volumes, profile rbd pool=vms, profile rbd-read-only pool=images"
        in (rights[1, "client.cinder"])
    )
    assert (2, "client.cinder") not in rights


def test_a_host_has_client_cinders_key_in_libvirt_and_nowhere_else(full: Lab) -> None:
    keys = full.cluster(1).keys
    for user in ("nova", "cinder"):
        config.write(keys / f"ceph.client.{user}.keyring", f"[client.{user}]\n\tkey = K{user}==\n")
    found = config.secrets(full, 1)
    assert found[f"{cinder.SECRET}.base64"] == "Kcinder=="
    assert found[f"{config.CEPH_SECRET}.base64"] == "Knova=="
    assert "<name>client.cinder secret</name>" in found[f"{cinder.SECRET}.xml"]
    nova = config.render("nova-compute.conf", **config.host_values(full, 1))
    assert "Kcinder" not in nova
    assert cinder.SECRET not in nova
    full.options.cinder = ""
    assert not any(cinder.SECRET in name for name in config.secrets(full, 1))


def test_nova_and_cinder_know_the_same_key_of_encrypted_volumes_but_not_with_cinder_22(full: Lab) -> None:
    nova = conf(config.render("nova-compute.conf", **config.host_values(full, 1)))
    assert nova["key_manager"]["fixed_key"] == cinder_conf(full)["key_manager"]["fixed_key"]
    assert nova["cinder"]["auth_type"] == "password"
    assert "luks" in cinder.types(full)
    full.options.release = "2023.1"
    assert "key_manager" not in cinder_conf(full)
    assert "key_manager" not in conf(config.render("nova-compute.conf", **config.host_values(full, 1)))
    assert cinder.types(full) == ["ceph", "multiattach", "nfs", "san"]


def test_info_tells_of_cinder_what_a_test_needs(full: Lab) -> None:
    data = json.loads(json.dumps(config.info(full)))
    assert data["cinder"] == ["ceph", "nfs", "san"]
    assert data["pools"]["volumes"] == data["clusters"][0]["pools"]["volumes"] == "volumes"
    assert data["cinder_secret"] == cinder.SECRET
    assert data["cinder_db_url"] == "mysql+pymysql://root:secret@10.99.3.1/cinder"
    assert data["nfs_dir"].endswith("/i3/nfs/volumes")
    full.options.cinder = "ceph"
    assert config.info(full)["nfs_dir"] is None


def test_a_host_binds_the_shares_and_its_own_exports_of_the_array(full: Lab) -> None:
    text = config.render("host-init.sh", **config.host_values(full, 2))
    assert f'mount --bind {full.state}/nfs/volumes "$R/srv/lab-nfs/volumes"' in text
    assert f'mount --bind {full.state}/san/exports/compute2 "$R/dev/lab-san"' in text
    assert "compute1" not in text


@pytest.mark.parametrize("number", [1, 2, 3])
def test_two_hosts_share_their_instances(lab: Lab, number: int) -> None:
    lab.options.instances = "shared"
    known = config.host_values(lab, number)
    nova = conf(config.render("nova-compute.conf", **known))
    shares_them = number < 3
    assert nova["libvirt"]["images_type"] == ("qcow2" if shares_them else "rbd")
    assert ("/nfs/instances" in config.render("host-init.sh", **known)) is shares_them
    assert shares.shared_paths(lab, number) == (["/var/lib/nova/instances"] if shares_them else [])


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (["--deploy", "kolla", "--cinder"], False),
        (["--deploy", "kolla", "--cinder", "nfs"], True),
        (["--deploy", "kolla:compute3", "--cinder", "san"], True),
        (["--deploy", "kolla:compute2", "--instances", "shared"], True),
        (["--deploy", "kolla:compute3", "--instances", "shared"], False),
    ],
)
def test_containers_have_no_mounts_of_shares(lab: Lab, words: list[str], refused: bool) -> None:
    args = cli.parse(["up", *words])
    if not refused:
        cli._agree(lab, args)
        return
    with pytest.raises(LabError, match=r"compute\d's containers would need the shares"):
        cli._agree(lab, args)


def test_instances_are_shared_by_two(lab: Lab) -> None:
    with pytest.raises(LabError, match="is for compute1 and compute2"):
        cli._agree(lab, cli.parse(["up", "--instances", "shared", "--computes", "1"]))


def test_what_a_reset_empties(full: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    full.options.instances = "shared"
    commands: list[list[str]] = []
    disk = full.san_dir / "disks" / "volume-1"
    devices = [
        {"name": "/dev/loop0", "back-file": f"{full.base}/i30/san/disks/volume-1"},
        {"name": "/dev/loop1", "back-file": f"{disk} (deleted)"},
        {"name": "/dev/loop2", "back-file": None},
    ]

    def run(command: list[str], **_more: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, json.dumps({"loopdevices": devices}), "")

    monkeypatch.setattr(shares, "run", run)
    for path in (
        disk,
        full.san_dir / "hosts.json",
        shares.exports(full, 1) / "volume-1",
        shares.volumes(full) / "volume-2",
        shares.instances(full) / "UUID" / "disk",
        shares.instances(full) / "compute_nodes",
    ):
        config.write(path, "{}")
    shares.strict(full).touch()
    assert shares.san(full)["exports"] == {"compute1": ["volume-1"], "compute2": [], "compute3": []}
    shares.empty(full)
    assert commands[1:] == [["losetup", "--detach", "/dev/loop1"]]
    assert [path for path in full.state.rglob("*") if path.is_file()] == []
    assert list(shares.instances(full).iterdir()) == []
    assert shares.exports(full, 1).is_dir()
    assert shares.san(full)["strict"] is False


def test_the_array_belongs_to_a_lab_that_has_one(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.save_options()
    with pytest.raises(LabError, match="made without an array"):
        cli.do_san(lab, cli.parse(["san", "show"]))
    lab.options.cinder = "ceph,san"
    lab.san_dir.mkdir()
    cli.do_san(lab, cli.parse(["san", "strict", "on"]))
    cli.do_san(lab, cli.parse(["san", "show", "--json"]))
    assert json.loads(capsys.readouterr().out)["strict"] is True
    cli.do_san(lab, cli.parse(["san", "strict", "off"]))
    assert not shares.strict(lab).exists()
    with pytest.raises(LabError, match="on or off"):
        cli.do_san(lab, cli.parse(["san", "strict"]))


def load(path: str, monkeypatch: pytest.MonkeyPatch, *absent: str) -> ModuleType:
    """A program of the lab that needs libraries of OpenStack, which stand-ins are here."""
    for name in absent:
        monkeypatch.setitem(sys.modules, name, mock.MagicMock())
    spec = importlib.util.spec_from_file_location(Path(path).stem, config.SOURCE / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class RefusedError(Exception):
    def __init__(self, data: str) -> None:
        super().__init__(data)


@pytest.fixture
def array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The array's driver; what it shows to a machine is a plain file instead of a device."""
    driver = SimpleNamespace(VolumeDriver=type("VolumeDriver", (), {"__init__": lambda *_args, **_more: None}))
    monkeypatch.setitem(sys.modules, "cinder.volume", SimpleNamespace(driver=driver))
    interface = SimpleNamespace(volumedriver=lambda made: made)
    exception = SimpleNamespace(VolumeBackendAPIException=RefusedError)
    monkeypatch.setitem(sys.modules, "cinder", SimpleNamespace(interface=interface, exception=exception))
    module = load("storage/labsan.py", monkeypatch, "cinder.image", "oslo_config")
    monkeypatch.setattr(module.LabSanDriver, "configuration", mock.Mock(lab_san_dir=str(tmp_path)), raising=False)
    monkeypatch.setattr(module.LabSanDriver, "_show", lambda _self, _volume, node: config.write(node, ""))
    made = module.LabSanDriver()
    made.check_for_setup_error()
    return made


def volume(name: str, *hosts: str) -> SimpleNamespace:
    return SimpleNamespace(name=name, volume_attachment=[SimpleNamespace(attached_host=host) for host in hosts])


def connector(host: str) -> dict[str, str]:
    return {"host": host, "initiator": shares.initiator(1)}


def exported(array: Any) -> list[str]:
    return sorted(str(path.relative_to(array.base / "exports")) for path in array.base.glob("exports/*/*"))


def test_the_array_shows_a_volume_to_the_machine_of_the_initiator_until_its_last_attachment(array: Any) -> None:
    assert array.initialize_connection(volume("v1"), connector("compute1")) == {
        "driver_volume_type": "local",
        "data": {"device_path": "/dev/lab-san/v1"},
    }
    assert exported(array) == ["compute1/v1"]
    assert array.terminate_connection(volume("v1", "compute1", "compute1"), connector("compute1")) is True
    assert exported(array) == ["compute1/v1"]
    assert array.terminate_connection(volume("v1", "compute1"), connector("compute1")) is False
    assert exported(array) == []
    assert json.loads((array.base / "hosts.json").read_text()) == {}


def test_under_a_second_name_an_export_is_made_and_never_ends(array: Any) -> None:
    array.initialize_connection(volume("v1"), connector("compute1"))
    array.initialize_connection(volume("v2"), connector("rack7"))
    assert exported(array) == ["compute1/v1", "compute1/v2"]
    array.terminate_connection(volume("v2", "rack7"), connector("rack7"))
    assert exported(array) == ["compute1/v1", "compute1/v2"]
    array.terminate_connection(volume("v1", "compute1"), connector("compute1"))
    assert exported(array) == ["compute1/v2"]


def test_a_volume_that_is_deleted_leaves_no_export(array: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    array.initialize_connection(volume("v1"), connector("compute1"))
    array.initialize_connection(volume("v2"), connector("rack7"))
    monkeypatch.setattr(array, "_loop", lambda _volume: None)
    array.delete_volume(volume("v2"))
    assert exported(array) == ["compute1/v1"]
    assert json.loads((array.base / "hosts.json").read_text())["compute1"]["volumes"] == ["v1"]


def test_a_strict_array_refuses_a_second_name(array: Any) -> None:
    (array.base / "strict").touch()
    array.initialize_connection(volume("v1"), connector("compute1"))
    array.initialize_connection(volume("v2"), connector("compute1"))
    with pytest.raises(RefusedError, match="already in use by host compute1, cannot add it to rack7"):
        array.initialize_connection(volume("v3"), connector("rack7"))
    assert exported(array) == ["compute1/v1", "compute1/v2"]


@pytest.mark.parametrize(
    ("boots", "volumes", "devices"),
    [
        (None, [], None),
        ("ceph", ["r"], [("volume", "r", 0)]),
        ("ceph", ["r", "d"], [("volume", "r", 0), ("volume", "d", None)]),
        (None, ["d"], [("image", "image", 0), ("volume", "d", None)]),
    ],
)
def test_what_nova_makes_a_guests_disks_of(
    boots: str | None,
    volumes: list[str],
    devices: list[tuple[str, str, int | None]] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guests = load("scripts/guests.py", monkeypatch, "openstack")
    args = SimpleNamespace(volume=boots, delete_on_termination=False)
    body = guests.block_devices(args, volumes, "image")
    if devices is None:
        assert body == {}
        return
    made = body["block_device_mapping_v2"]
    assert [(entry["source_type"], entry["uuid"], entry["boot_index"]) for entry in made] == devices
    assert [entry["delete_on_termination"] for entry in made] == [entry["source_type"] == "image" for entry in made]
