# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a start of nova-compute would look at, read on a host: options, files, CPUs, a TPM, and brokers."""

from __future__ import annotations

import json
import os
import socket

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import (
    libvirt,
    nova_compute,
    nova_conf,
    start_checks,
)


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Reads a configuration of this text; ``service``: how nova-compute runs."""
    monkeypatch.setattr(start_checks, "KOLLA_PROVIDER_CONFIG", str(tmp_path / "kolla.yaml"))

    def reading(text="", kolla=False, service=None, environment=None):
        path = tmp_path / "nova.conf"
        location = f"[compute]\nprovider_config_location = {tmp_path}/providers\n"
        path.write_text(f"{location if 'provider_config_location' not in text else ''}{text}")
        config = nova_conf.Config.load(nova_conf.Arguments((("file", str(path)),)), environment)
        service = service or nova_compute.Service("nova-compute", [], None, True)
        found = start_checks.read(nova_compute.ServiceConfig(config, kolla), service, "test:///default")
        return facts.from_plain(facts.StartFacts, json.loads(json.dumps(facts.to_plain(found))))

    return reading


def options(found):
    return {name: values for name, values in found.options.items() if "provider_config_location" not in name}


def test_options_that_are_set_and_no_others(read):
    text = "[DEFAULT]\nforce_raw_images = False\ntransport_url = none://u:secret@h\n[libvirt]\ncpu_mode = custom\n"
    found = read(text + "cpu_mode = host-model\n[database]\nconnection = secret\n")
    assert options(found) == {"[DEFAULT] force_raw_images": ["False"], "[libvirt] cpu_mode": ["host-model"]}
    assert "secret" not in json.dumps(facts.to_plain(found))
    assert (found.unread, found.provider_configs, found.cores, found.vtpm, found.brokers) == ([], [], None, None, None)


def test_older_names_several_values_and_variables_of_the_environment(read):
    text = '[pci]\npassthrough_whitelist = {}\ndevice_spec = []\ndevice_spec = [1]\n[DEFAULT]\npci_alias = {"a": 1}\n'
    given = {"OS_LIBVIRT__CPU_MODE": "none"}
    assert options(read(f"{text}[libvirt]\ncpu_mode = custom\ncpu_model = x\n", environment=given)) == {
        "[pci] device_spec": ["{}", "[]", "[1]"],
        "[pci] alias": ['{"a": 1}'],
        "[libvirt] cpu_mode": ["none"],
        "[libvirt] cpu_models": ["x"],
    }


def test_an_option_that_refers_to_what_is_not_known_is_set_to_nothing_that_is_known(read):
    assert options(read("[compute]\ncpu_shared_set = $other\n")) == {"[compute] cpu_shared_set": []}
    found = read("[compute]\nprovider_config_location = $other\n")
    assert found.provider_configs is None
    assert [entry.part for entry in found.unread] == ["provider_configs"]


def test_provider_configs_are_the_yaml_files_of_the_directory(read, tmp_path):
    folder = tmp_path / "providers"
    folder.mkdir()
    assert read().provider_configs == []
    (folder / "b.yaml").write_text("")
    (folder / "a.yml").write_text("")
    assert read().provider_configs == [str(folder / "b.yaml")]
    # In a stopped container of kolla the one file is what would be copied.
    assert read(kolla=True).provider_configs == []
    (tmp_path / "kolla.yaml").write_text("")
    assert read(kolla=True).provider_configs == [str(tmp_path / "kolla.yaml")]
    # In a running one it is what the process sees; this process's root is the same.
    running = nova_compute.Service("nova-compute", [], os.getpid(), False)
    assert read(kolla=True, service=running).provider_configs == [str(folder / "b.yaml")]


def test_cores_are_read_only_where_nova_manages_their_power(read, tmp_path, monkeypatch):
    for number, files in {
        2: {},
        3: {"online": "1", "cpufreq/scaling_governor": "powersave"},
        4: {"online": "0"},
    }.items():
        for name, text in {"x": "", **files}.items():
            place = tmp_path / f"cpu{number}" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{text}\n")
    core = start_checks._core
    monkeypatch.setattr(start_checks, "_core", lambda number: core(number, str(tmp_path)))
    text = f"[compute]\ncpu_dedicated_set = 2-5\nprovider_config_location = {tmp_path}\n"
    assert read(text).cores is None
    expected = {"2": "", "3": "powersave", "4": "offline", "5": "missing"}
    assert read(f"{text}[libvirt]\ncpu_power_management = yes\n").cores == expected
    assert read("[libvirt]\ncpu_power_management = yes\n").cores == {}
    found = read("[compute]\ncpu_dedicated_set = x\n[libvirt]\ncpu_power_management = yes\n")
    assert (found.cores, [entry.part for entry in found.unread]) == (None, ["cores"])


def test_a_tpm_is_asked_for_only_where_it_is_enabled(read, monkeypatch):
    monkeypatch.setattr(libvirt, "emulates_tpm", lambda _uri: True)
    monkeypatch.setattr(start_checks.shutil, "which", lambda _name, path: None)
    text = "[libvirt]\nswtpm_enabled = true\nswtpm_user = root\nswtpm_group = nobody-has-this-name\n"
    assert read(text).vtpm == {"libvirt": True, "program": False, "user": True, "group": False}
    assert read(text.replace("true", "false")).vtpm is None
    stopped = read(text, kolla=True)
    assert (stopped.vtpm, [entry.part for entry in stopped.unread]) == (None, ["vtpm"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<tpm supported='yes'><enum name='backendModel'><value>emulator</value></enum></tpm>", True),
        ("<tpm supported='yes'><enum name='backendModel'><value>passthrough</value></enum></tpm>", False),
        ("<tpm supported='no'/>", False),
        ("", False),
    ],
)
def test_libvirt_says_whether_it_emulates_a_tpm(monkeypatch, text, expected):
    class Opened:
        def getDomainCapabilities(self):  # noqa: N802
            return f"<domainCapabilities><devices>{text}</devices></domainCapabilities>"

        def __enter__(self):
            return self

        def __exit__(self, *_error):
            return None

    opened = []

    def connection(_uri, write=False):
        opened.append(write)
        return Opened()

    monkeypatch.setattr(libvirt, "connection", connection)
    assert libvirt.emulates_tpm("x") is expected
    assert opened == [True]


# --- brokers --------------------------------------------------------------------------------------------------


def test_a_broker_that_does_not_answer_is_named_without_its_password(read):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as other:
        port, gone = server.getsockname()[1], other.getsockname()[1]
        other.close()
        url = f"rabbit://u:secret@127.0.0.1:{port},u:secret@127.0.0.1:{gone}/v?ssl=1"
        found = read(f"[DEFAULT]\ntransport_url = {url}\n")
    assert found.brokers == {f"127.0.0.1:{port}": "", f"127.0.0.1:{gone}": "Connection refused"}
    assert "secret" not in json.dumps(facts.to_plain(found))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("rabbit://u:p@h", [("h", 5672)]),
        ("rabbit://u:p@h:5671,u:p@[2001:db8::1]:5672/", [("h", 5671), ("2001:db8::1", 5672)]),
        ("kombu+rabbit://[2001:db8::1]/v", [("2001:db8::1", 5672)]),
        ("rabbit://u:p%40x@h:1,u:p%40x@h:1/v@w", [("h", 1)]),
        ("rabbit:///", []),
        ("rabbit://h:port", []),
        ("fake://h", []),
        ("", []),
    ],
)
def test_places_of_a_transport_url(url, expected):
    assert start_checks.broker_places(url) == expected
