# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads what a start of nova-compute may refuse by, besides names and guests. What judges it: hazards/start_rules.py.

Nothing is written, and of C(transport_url) only addresses and ports are kept: it holds a password.
"""

from __future__ import annotations

import glob
import os
import shutil
import socket
import typing as t

from ...model import start_options
from ...model.host_facts import StartFacts
from . import libvirt, nova_compute
from .nova_conf import ConfError
from .reading import Parts, ReadError, side_by_side

#: Where kolla keeps the one file that it copies to C(provider_config_location) in the container.
KOLLA_PROVIDER_CONFIG = "/etc/kolla/nova-compute/provider_config.yaml"
_CPUS = "/sys/devices/system/cpu"
#: Seconds for a broker to take a connection. All are asked at once.
_PATIENCE = 3
_AMQP = 5672

Options = t.Dict[str, t.List[str]]


def read(loaded: nova_compute.ServiceConfig, service: nova_compute.Service, libvirt_uri: str) -> StartFacts:
    """Return what a start would look at. A part that cannot be read is None, with a note of its own."""
    options, parts = _options(loaded), Parts()
    return StartFacts(
        options=options,
        provider_configs=parts.read("provider_configs", lambda: _provider_configs(options, loaded, service)),
        cores=parts.read("cores", lambda: _cores(options)),
        vtpm=parts.read("vtpm", lambda: _vtpm(options, loaded, service, libvirt_uri)),
        brokers=parts.read("brokers", lambda: _brokers(loaded)),
        unread=parts.unread,
    )


def _options(loaded: nova_compute.ServiceConfig) -> Options:
    result: Options = {}
    for option, older in start_options.WATCHED.items():
        try:
            values: t.Optional[t.List[str]] = loaded.config.values((option, *older), option in start_options.MULTIPLE)
        except ConfError:
            values = None
        if values is None or values:
            result[start_options.key(*option)] = values or []
    return result


def _first(options: Options, section: str, option: str, default: str) -> str:
    values = options.get(start_options.key(section, option), [default])
    if not values:
        raise ReadError(f"the run cannot tell the value of [{section}] {option}")
    return values[0]


def _on(options: Options, section: str, option: str) -> bool:
    return _first(options, section, option, "false").strip().lower() in start_options.TRUE


def _root(service: nova_compute.Service, loaded: nova_compute.ServiceConfig) -> str:
    """Return the root directory that nova-compute sees. Raises :class:`ReadError` where none is here."""
    if service.pid is not None:
        return "" if service.same_root else f"/proc/{service.pid}/root"
    if loaded.kolla:
        raise ReadError("nova-compute runs in a container, and the container is stopped")
    return ""


def _provider_configs(
    options: Options, loaded: nova_compute.ServiceConfig, service: nova_compute.Service
) -> t.List[str]:
    """nova/compute/provider_config.py, get_provider_configs: every C(*.yaml) of one directory."""
    folder = _first(options, "compute", "provider_config_location", start_options.PROVIDER_CONFIG_LOCATION)
    if loaded.kolla and service.pid is None:
        return [KOLLA_PROVIDER_CONFIG] if os.path.exists(KOLLA_PROVIDER_CONFIG) else []
    root = _root(service, loaded)
    place = root + os.path.join("/", folder)
    if os.path.isdir(place):
        # A directory that cannot be listed is no empty one.
        os.listdir(place)
    return [path[len(root) :] for path in sorted(glob.glob(os.path.join(glob.escape(place), "*.yaml")))]


def _cores(options: Options) -> t.Optional[t.Dict[str, str]]:
    """nova/virt/libvirt/cpu/core.py: what is asked of each CPU where Nova manages their power."""
    if not _on(options, "libvirt", "cpu_power_management"):
        return None
    return {
        str(number): _core(number)
        for number in sorted(start_options.cpu_set(_first(options, "compute", "cpu_dedicated_set", "")))
    }


def _core(number: int, folder: str = _CPUS) -> str:
    place = os.path.join(folder, f"cpu{number}")
    if not os.path.isdir(place):
        return "missing"
    if _line(os.path.join(place, "online")) == "0":
        return "offline"
    return _line(os.path.join(place, "cpufreq/scaling_governor")) or ""


def _line(path: str) -> t.Optional[str]:
    try:
        with open(path, encoding="ascii") as stream:
            return stream.read().strip()
    except FileNotFoundError:
        return None


def _vtpm(
    options: Options, loaded: nova_compute.ServiceConfig, service: nova_compute.Service, libvirt_uri: str
) -> t.Optional[t.Dict[str, bool]]:
    """nova/virt/libvirt/driver.py, _check_vtpm_support: until 29 it looks for a program, since 30 it asks libvirt."""
    if not _on(options, "libvirt", "swtpm_enabled"):
        return None
    root = _root(service, loaded)
    path = ":".join(root + folder for folder in ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"))
    return {
        "libvirt": libvirt.emulates_tpm(libvirt_uri),
        "program": any(shutil.which(name, path=path) for name in ("swtpm_setup", "swtpm")),
        "user": _named(root, "passwd", _first(options, "libvirt", "swtpm_user", start_options.SWTPM_OWNER)),
        "group": _named(root, "group", _first(options, "libvirt", "swtpm_group", start_options.SWTPM_OWNER)),
    }


def _named(root: str, database: str, name: str) -> bool:
    with open(f"{root}/etc/{database}", encoding="utf-8", errors="replace") as stream:
        if any(line.partition(":")[0] == name for line in stream):
            return True
    if root:
        return False
    # Users of a directory service are in no file.
    import grp
    import pwd

    try:
        pwd.getpwnam(name) if database == "passwd" else grp.getgrnam(name)
    except KeyError:
        return False
    return True


# --- the message broker ---------------------------------------------------------------------------------------


def _brokers(loaded: nova_compute.ServiceConfig) -> t.Optional[t.Dict[str, str]]:
    """Return whether each broker takes a connection from this host; None: none is named here."""
    places = broker_places(loaded.config.get("DEFAULT", "transport_url") or "")
    if not places:
        return None
    answers = side_by_side(_answer, places)
    return {
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}": said for (host, port), said in zip(places, answers)
    }


def broker_places(url: str) -> t.List[t.Tuple[str, int]]:
    """Return hosts and ports of a C(transport_url) of RabbitMQ; others are not known here.

    oslo_messaging/transport.py, TransportURL.parse: several hosts with commas, each with its own user.
    """
    scheme, sign, rest = url.partition("://")
    if not sign or scheme.split("+")[0] not in ("rabbit", "kombu"):
        return []
    found = []
    for entry in rest.partition("?")[0].partition("/")[0].split(","):
        place = entry.rpartition("@")[2].strip()
        host, colon, port = place.rpartition(":")
        if place.endswith("]") or not colon:
            host, port = place, str(_AMQP)
        if host.strip("[]") and port.isdigit():
            found.append((host.strip("[]"), int(port)))
    return list(dict.fromkeys(found))


def _answer(place: t.Tuple[str, int]) -> str:
    try:
        with socket.create_connection(place, _PATIENCE):
            return ""
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
