# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the lab that need no machine: python3 -m pytest lab/tests"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from stackguard_lab import ceph, checks, cli, config, control, install, ovn, strangers
from stackguard_lab.settings import MAX_COMPUTES, Lab, LabError, Options, current_lab


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("STACKGUARD_LAB_HOME", str(tmp_path))
    return Lab(3, Options(password="secret", environments={"2026.2": "2026.2-x"}))


def test_interface_names_fit(lab: Lab) -> None:
    assert all(len(name) <= 15 for name in (lab.operator_veth, *(lab.host_ns(n) for n in range(1, MAX_COMPUTES + 1))))


def test_instances_share_nothing_but_the_base(lab: Lab) -> None:
    other = Lab(4, lab.options)
    assert not set(lab.namespaces) & set(other.namespaces)
    assert lab.state != other.state
    assert not lab.network.overlaps(other.network)
    assert lab.base == other.base


@pytest.mark.parametrize("value", ["x", "-1", "10", "1.5"])
def test_instance_number_is_checked(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKGUARD_LAB_INSTANCE", value)
    with pytest.raises(LabError, match="is not a number from 0 to 9"):
        current_lab()


def test_unknown_host_says_which_there_are(lab: Lab) -> None:
    with pytest.raises(LabError) as caught:
        lab.host_number("compute4")
    assert "compute1, compute2, compute3" in caught.value.hint


def test_options_survive(lab: Lab) -> None:
    lab.save_options()
    assert Lab(3).options == lab.options
    assert lab.options_file.stat().st_mode & 0o077 == 0


def test_subnet_conflicts(lab: Lab) -> None:
    def link(name: str, address: str, prefix: int) -> dict[str, object]:
        return {"ifname": name, "addr_info": [{"family": "inet", "local": address, "prefixlen": prefix}]}

    own = [link(lab.operator_veth, lab.operator, 24)]
    default = [{"dst": "default", "dev": "eth0"}, {"dst": "10.0.0.0/8", "dev": "vpn0"}]
    assert checks.subnet_conflicts(lab, own, default) == []
    assert len(checks.subnet_conflicts(lab, [link("eth0", "10.99.3.7", 24)], [])) == 1
    assert len(checks.subnet_conflicts(lab, [], [{"dst": "10.99.3.0/24", "dev": "eth1"}])) == 1
    assert checks.subnet_conflicts(lab, [link("eth0", "10.99.4.7", 24)], []) == []


@pytest.mark.parametrize("release", ["2023.1", "2026.2"])
@pytest.mark.parametrize("l2", ["tap", "ovs", "ovn"])
@pytest.mark.parametrize("fast", [True, False])
def test_every_template_is_filled(lab: Lab, release: str, l2: str, fast: bool) -> None:
    lab.options.release, lab.options.l2, lab.options.fast_stop = release, l2, fast
    known = config.host_values(lab, 2)
    templates = Path(config.SOURCE / "templates")
    for template in sorted(templates.iterdir()):
        config.render(template.name, **known, port=22)  # raises for a placeholder without a value
    conf = config.render("nova-compute.conf", **known)
    assert ("graceful_shutdown_timeout" in conf) is fast
    assert ("live_migration_wait_for_vif_plug" in conf) is (l2 in ("ovs", "ovn"))
    assert not any(line.split("=")[0].strip() == "host" for line in conf.splitlines())
    assert "my_ip = 10.99.3.12" in conf


def test_inventory(lab: Lab) -> None:
    data = json.loads(config.inventory(lab))["compute"]
    assert list(data["hosts"]) == ["compute1", "compute2", "compute3"]
    assert data["hosts"]["compute3"]["ansible_host"] == "10.99.3.13"
    assert data["vars"]["ansible_python_interpreter"] == "/usr/bin/python3"


def test_info_is_json(lab: Lab) -> None:
    data = json.loads(json.dumps(config.info(lab)))
    assert data["nova_api_db_url"] == "mysql+pymysql://root:secret@10.99.3.1/nova_api"


def test_a_lab_keeps_what_it_was_made_with(lab: Lab) -> None:
    lab.save_options()
    args = cli.parse(["up", "--release", "2023.1"])
    with pytest.raises(LabError, match=r"made with release 2026\.2"):
        cli._agree(lab, args)
    cli._agree(lab, cli.parse(["up", "--release", "2026.2"]))
    cli._agree(lab, cli.parse(["up"]))


def test_options_behind_a_command_are_passed_on() -> None:
    assert cli.parse(["openstack", "server", "list", "--all"]).rest == ["server", "list", "--all"]
    parsed = cli.parse(["ssh", "compute1", "ls", "-l"])
    assert (parsed.host, parsed.rest) == ("compute1", ["ls", "-l"])


@pytest.fixture
def wired(lab: Lab) -> Lab:
    """A lab with OVN."""
    lab.options.l2 = "ovn"
    return lab


def test_only_a_lab_with_ovn_has_its_services_and_packages(lab: Lab) -> None:
    own = {"ovn-nb", "ovn-sb", "ovn-northd", "neutron-ovn"}
    assert not own & set(control.daemons(lab))
    assert "ovn-central" not in install.packages(lab)
    lab.options.l2 = "ovn"
    assert own <= set(control.daemons(lab))
    assert "neutron-rpc" not in control.daemons(lab)
    assert {"ovn-central", "ovn-host", "ovn-common"} <= set(install.packages(lab))
    assert set(control.daemons(lab)) <= {name for group in control.STOP_ORDER for name in group}


def test_a_chassis_is_called_by_a_uuid_of_its_own_unless_the_hosts_name_is_asked_for(wired: Lab) -> None:
    names = [ovn.system_id(wired, n) for n in wired.host_numbers]
    assert all(str(uuid.UUID(name)) == name for name in names)
    assert len(set(names)) == len(names)
    assert names == [ovn.system_id(wired, n) for n in wired.host_numbers]
    wired.options.ovn_system_id = "hostname"
    assert [ovn.system_id(wired, n) for n in wired.host_numbers] == ["compute1", "compute2", "compute3"]


def identity(lab: Lab, number: int) -> str:
    return config.render("host-ovn-identity.sh", **config.host_values(lab, number))


def test_the_host_name_is_a_key_of_open_vswitch_unless_it_is_to_be_absent(wired: Lab) -> None:
    assert "external_ids:hostname=compute2 " in identity(wired, 2)
    wired.options.ovn_hostname_key = "absent"
    assert "hostname" not in identity(wired, 2)


def test_only_the_first_host_is_a_gateway(wired: Lab) -> None:
    texts = [identity(wired, n) for n in wired.host_numbers]
    assert ["enable-chassis-as-gw" in text for text in texts] == [True, False, False]


def test_with_rbac_chassis_come_by_ssl_and_the_administrator_as_before(wired: Lab) -> None:
    assert "tcp:10.99.3.1:6642" in identity(wired, 1)
    assert "ssl" not in config.render("host-ovn-host", **config.host_values(wired, 1))
    wired.options.ovn_rbac = True
    assert "ssl:10.99.3.1:16642" in identity(wired, 1)
    assert "--ovn-controller-ssl-key=" in config.render("host-ovn-host", **config.host_values(wired, 1))
    assert ovn.sb(wired) == "tcp:10.99.3.1:6642"
    assert "--remote=db:OVN_Southbound,SB_Global,connections" in control.daemons(wired)["ovn-sb"].command
    assert "--remote=db:OVN_Southbound,SB_Global,connections" not in control.daemons(wired)["ovn-nb"].command


def test_info_tells_of_ovn_what_a_test_needs(lab: Lab) -> None:
    assert config.info(lab)["ovn"] is None
    lab.options.l2 = "ovn"
    data = json.loads(json.dumps(config.info(lab)))["ovn"]
    assert (data["nb"], data["sb"]) == ("tcp:10.99.3.1:6641", "tcp:10.99.3.1:6642")
    assert list(data["system_ids"]) == ["compute1", "compute2", "compute3"]
    assert data["provider"] == {"network": "public", "cidr": "172.30.3.0/24", "outside": "172.30.3.1"}


def test_clients_of_ovn_are_told_its_databases(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.save_options()
    cli.do_env(lab, cli.parse(["env"]))
    assert "OVN_" not in capsys.readouterr().out
    lab.options.l2 = "ovn"
    cli.do_env(lab, cli.parse(["env"]))
    assert "export OVN_NB_DB='tcp:10.99.3.1:6641'\nexport OVN_SB_DB='tcp:10.99.3.1:6642'\n" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--ovn-rbac"], ["--ovn-system-id", "hostname"], ["--ovn-hostname-key", "absent"]])
def test_what_belongs_to_ovn_is_refused_without_it_and_cannot_be_changed_later(lab: Lab, words: list[str]) -> None:
    with pytest.raises(LabError, match=f"{words[0]} belongs to OVN"):
        cli._agree(lab, cli.parse(["up", "--l2", "ovs", *words]))
    lab.options = Options(password="secret", l2="ovn")
    lab.save_options()
    with pytest.raises(LabError, match=f"made with {words[0][2:]} "):
        cli._agree(lab, cli.parse(["up", *words]))


@pytest.fixture
def two(lab: Lab) -> Lab:
    """Two clusters, each with two pools; compute3 and compute4 are in az2."""
    lab.options.clusters, lab.options.pools, lab.options.computes = 2, 2, 4
    return lab


def test_a_lab_has_one_cluster_and_one_pool_unless_asked(lab: Lab) -> None:
    assert [cluster.number for cluster in lab.clusters] == [1]
    assert lab.cluster(1).all_pools == ("vms", "images")
    assert {lab.pool_of(n) for n in lab.host_numbers} == {"vms"}
    assert set(ceph.daemons(lab)) == {"ceph-mon", "ceph-mgr", "ceph-osd"}


def test_hosts_of_the_second_zone_have_the_second_pool(lab: Lab) -> None:
    lab.options.pools = 2
    assert [lab.pool_of(n) for n in lab.host_numbers] == ["vms", "vms", "vms2"]
    assert lab.cluster(1).all_pools == ("vms", "vms2", "images")
    assert "images_rbd_pool = vms2" in config.render("nova-compute.conf", **config.host_values(lab, 3))
    assert "images_rbd_pool = vms\n" in config.render("nova-compute.conf", **config.host_values(lab, 2))


def test_hosts_of_the_second_zone_have_the_second_cluster(two: Lab) -> None:
    assert [two.cluster_of(n).number for n in two.host_numbers] == [1, 1, 2, 2]
    near, far = (config.render("host-ceph.conf", **config.host_values(two, n)) for n in (2, 3))
    assert f"fsid = {config.fsid(two, 1)}" in near
    assert "v2:10.99.3.1:3300" in near
    assert f"fsid = {config.fsid(two, 2)}" in far
    assert "v2:10.99.3.2:3300" in far


def test_clusters_share_nothing(two: Lab) -> None:
    first, second = two.clusters
    for name in ("address", "conf", "keys", "data", "run", "prefix"):
        assert getattr(first, name) != getattr(second, name), name
    assert config.fsid(two, 1) != config.fsid(two, 2)
    confs = [config.render("ceph.conf", **config.cluster_values(two, cluster)) for cluster in two.clusters]
    of_second = [line for line in confs[1].splitlines() if "=" in line and line not in confs[0].splitlines()]
    assert {"fsid", "mon_host", "public_addr", "keyring", "mon_data", "osd_data"} <= {
        line.split("=")[0].strip() for line in of_second
    }
    assert not any("10.99.3.1" in line for line in of_second)


def test_the_second_monitor_has_an_address_that_is_nobody_elses(two: Lab) -> None:
    taken = [two.controller, two.operator, two.stranger, *(two.host_address(n) for n in range(1, MAX_COMPUTES + 1))]
    assert two.cluster(2).address not in taken
    assert len(set(taken)) == len(taken)


def test_every_service_is_stopped_in_some_group(two: Lab) -> None:
    two.save_options()
    assert set(control.daemons(two)) <= {name for group in control.STOP_ORDER for name in group}


def test_info_tells_the_clusters(two: Lab) -> None:
    data = json.loads(json.dumps(config.info(two)))
    assert [cluster["monitor"] for cluster in data["clusters"]] == ["10.99.3.1", "10.99.3.2"]
    assert data["clusters"][1]["hosts"] == ["compute3", "compute4"]
    assert data["clusters"][1]["pools"] == {"guests": ["vms", "vms2"], "images": "images"}
    assert data["ceph_conf"] == data["clusters"][0]["conf"]
    assert (data["hosts"]["compute4"]["cluster"], data["hosts"]["compute4"]["pool"]) == (2, "vms2")


@pytest.mark.parametrize("option", ["pools", "clusters"])
def test_pools_and_clusters_cannot_be_changed_later(lab: Lab, option: str) -> None:
    lab.save_options()
    with pytest.raises(LabError, match=f"made with {option} 1, not 2"):
        cli._agree(lab, cli.parse(["up", f"--{option}", "2"]))
    cli._agree(lab, cli.parse(["up", f"--{option}", "1"]))


@pytest.mark.parametrize("option", ["pools", "clusters"])
def test_without_a_host_in_the_second_zone_a_second_pool_or_cluster_is_refused(lab: Lab, option: str) -> None:
    words = ["up", f"--{option}", "2", "--computes"]
    with pytest.raises(LabError, match="no host is in az2"):
        cli._agree(lab, cli.parse([*words, "2"]))
    cli._agree(lab, cli.parse([*words, "3"]))
    assert getattr(lab.options, option) == 2


def test_a_lab_of_before_has_one_cluster(lab: Lab) -> None:
    lab.save_options()
    old = {
        key: value
        for key, value in json.loads(lab.options_file.read_text()).items()
        if key not in {"pools", "clusters"}
    }
    lab.options_file.write_text(json.dumps(old))
    assert (Lab(3).options.pools, Lab(3).options.clusters, Lab(3).options.password) == (1, 1, "secret")


def test_the_cluster_is_named_before_what_goes_to_ceph() -> None:
    assert cli._cluster_of(["ls", "vms"]) == (1, ["ls", "vms"])
    assert cli._cluster_of(["--cluster", "2", "ls", "vms"]) == (2, ["ls", "vms"])
    assert cli._cluster_of(["--cluster=2", "osd", "tree"]) == (2, ["osd", "tree"])
    assert cli._cluster_of(["status", "--cluster", "2"]) == (1, ["status", "--cluster", "2"])


def test_a_cluster_that_is_not_there_is_refused(lab: Lab) -> None:
    with pytest.raises(LabError, match="lab 3 has one Ceph cluster, no cluster 2"):
        lab.cluster(2)


def test_strangers_are_known_apart() -> None:
    made = [strangers.Stranger("vms/x_disk", cluster, place) for cluster in (1, 2) for place in ("own", "controller")]
    assert len({stranger.name for stranger in made}) == 4
    assert strangers.Stranger("vms/x_disk").name == made[0].name
    parsed = cli.parse(["stranger", "start", "vms/x_disk", "--cluster", "2", "--from", "controller"])
    assert (parsed.what, parsed.image, parsed.cluster, parsed.place) == ("start", "vms/x_disk", 2, "controller")


def test_a_second_cell_has_its_own_database_messages_and_conductor_and_the_hosts_of_the_second_zone(lab: Lab) -> None:
    assert "nova-conductor-cell2" not in control.daemons(lab)
    assert {config.info(lab)["hosts"][name]["cell"] for name in lab.host_names} == {"cell1"}  # type: ignore[index]
    lab.options.cells = 2
    assert "nova-conductor-cell2" in control.daemons(lab)
    assert set(control.daemons(lab)) <= {name for group in control.STOP_ORDER for name in group}
    assert [lab.cell_of(n) for n in lab.host_numbers] == ["cell1", "cell1", "cell2"]
    near, far = (config.render("nova-compute.conf", **config.host_values(lab, n)) for n in (2, 3))
    assert "transport_url = rabbit://lab:secret@10.99.3.1:5672/\n" in near
    assert "transport_url = rabbit://lab:secret@10.99.3.1:5672/cell2\n" in far
    here, there = (
        config.render("nova-controller.conf", **{**config.values(lab), **config.cell_values(lab, cell)})
        for cell in lab.cells
    )
    assert ("/nova_cell1\n" in here, "/nova_cell2\n" in there) == (True, True)
    assert "load_definitions" in config.render("rabbitmq.conf", **config.values(lab))
