# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the lab that need no machine: python3 -m pytest lab/tests"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from stackguard_lab import checks, cli, config
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
@pytest.mark.parametrize("l2", ["tap", "ovs"])
@pytest.mark.parametrize("fast", [True, False])
def test_every_template_is_filled(lab: Lab, release: str, l2: str, fast: bool) -> None:
    lab.options.release, lab.options.l2, lab.options.fast_stop = release, l2, fast
    known = config.host_values(lab, 2)
    templates = Path(config.SOURCE / "templates")
    for template in sorted(templates.iterdir()):
        config.render(template.name, **known)  # raises for a placeholder without a value
    conf = config.render("nova-compute.conf", **known)
    assert ("graceful_shutdown_timeout" in conf) is fast
    assert ("live_migration_wait_for_vif_plug" in conf) is (l2 == "ovs")
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
