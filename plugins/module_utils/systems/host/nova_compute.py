# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How nova-compute is run on this host, its effective configuration, and the release it is of."""

from __future__ import annotations

import dataclasses
import glob
import json
import os
import re
import socket
import subprocess
import typing as t

from ...model import start_options
from ...model.host_facts import NovaConf
from . import (
    commands,
    mounts,
    nova_conf,
    processes,
    unit_environment,
    units,
)
from . import names as host_names
from .nova_conf import ConfError
from .reading import Parts, ReadError, text_of

#: Where kolla keeps the configuration that it copies into the container of nova-compute.
KOLLA_CONF = "/etc/kolla/nova-compute/nova.conf"
KOLLA_CONTAINER = "nova_compute"
#: Where the services of all its containers log, and the volume of that on the host.
KOLLA_LOGS = "/var/log/kolla"
KOLLA_LOG_VOLUMES = (
    "/var/lib/docker/volumes/kolla_logs/_data",
    "/var/lib/containers/storage/volumes/kolla_logs/_data",
)
_PATIENCE = 30


@dataclasses.dataclass(frozen=True)
class Service:
    """How a service is run here: its command line, and its process where it runs."""

    program: str
    argv: t.List[str]
    pid: t.Optional[int]
    #: False where its process sees another root directory than ours: a container.
    same_root: bool
    #: The unit that starts it and systemd's properties of that; None: no unit is known to.
    unit: t.Optional[str] = None
    shown: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


def find_service(
    program: str,
    names: t.Sequence[str],
    systemctl: t.Optional[units.Systemctl] = None,
    seen: t.Optional[processes.Table] = None,
) -> Service:
    """Find how a service is run: by the process of its unit, by any process of that name, by its unit's ExecStart."""
    wanted = [units.full_name(name) for name in names]
    try:
        shown = dict(zip(wanted, (systemctl or units.Systemctl()).show(wanted)))
    except units.UnitError:
        shown = {}
    main = {int(item.get("MainPID") or 0): name for name, item in shown.items()}
    for pid in [pid for pid in main if pid] + processes.running(program, seen=seen):
        argv = processes.argv(pid)
        if processes.runs(argv, program):
            same = processes.same_root(pid)
            unit = main.get(pid) or (_only_unit(shown) if same else None)
            return Service(program, argv, pid, same, unit, shown.get(unit or "", {}))
    for name, item in shown.items():
        command = units.command_of(name, item)
        if command:
            return Service(program, command, None, True, name, item)
    return Service(program, [], None, True)


def _only_unit(shown: t.Mapping[str, t.Mapping[str, str]]) -> t.Optional[str]:
    """Return the unit of a service whose main process systemd does not know, where there is one such unit."""
    found = [name for name, item in shown.items() if item.get("LoadState", "not-found") != "not-found"]
    return found[0] if len(found) == 1 else None


@dataclasses.dataclass(frozen=True)
class ServiceConfig:
    """The configuration of nova-compute."""

    config: nova_conf.Config
    #: Whether it is kolla's: read on the host, used in a container, where paths mean something else.
    kolla: bool
    #: Why the environment of the next start is not known, so that none was taken into account; None: it is known.
    environment_unread: t.Optional[str] = None


def load(files: t.Sequence[str], folders: t.Sequence[str], service: Service) -> ServiceConfig:
    """Read the configuration of nova-compute: the files and directories that the operator names, or its own.

    Raises ReadError or ConfError.
    """
    service, unexpanded = as_next_started(service)
    arguments, kolla = _arguments(files, folders, service)
    names = [nova_conf.variable(*option) for option in (*_DEFAULTS, *_OTHERS, *start_options.WATCHED)]
    environment, unread = next_environment(service, names, kolla)
    if not (files or folders):
        unread = unread or unexpanded
        environment = {} if unread else environment
    config = nova_conf.Config.load(arguments, environment)
    config.defaults.update(_DEFAULTS)
    config.defaults["DEFAULT", "host"] = host_names.kernel_name()
    if config.raw("DEFAULT", "my_ip") is None:
        config.defaults["DEFAULT", "my_ip"] = own_ipv4()
    if config.raw("DEFAULT", "state_path") is None:
        # nova/conf/paths.py: $pybasedir, the directory that holds the nova package.
        config.defaults["DEFAULT", "pybasedir"] = _site_packages(service)
        config.defaults["DEFAULT", "state_path"] = "$pybasedir"
    return ServiceConfig(config, kolla, unread)


def as_next_started(service: Service) -> t.Tuple[Service, t.Optional[str]]:
    """Return a service with the command line of its next start, and why that is not known; None: it is.

    A process has its arguments without variables, and those of its next start may be others: what its unit says decides
    where variables are in it.
    """
    argv = service.argv if service.pid is None else _of_unit(service)
    names = units.variables(argv)
    if not names or service.shown.get("ExecStartEx", "").find("no-env-expand") >= 0:
        return service, None
    try:
        if service.unit is None:
            raise ReadError("no unit of the service is known")
        given = unit_environment.next_start(service.unit, service.shown.get("LoadState"), names)
        return dataclasses.replace(service, argv=units.expanded(argv, given)), None
    except ReadError as error:
        found = ", ".join(f"${name}" for name in names)
        return service, (
            f"the command line of {service.unit or service.program} contains {found}, and the run does not know which "
            f"options these variables add ({error}). Set nova_conf_files"
        )


def _of_unit(service: Service) -> t.List[str]:
    """Return the command line of the unit of a running service, where that is the service itself."""
    argv = units.command_of(service.unit, dict(service.shown)) if service.unit and service.same_root else []
    return argv if processes.runs(argv, service.program) else []


def next_environment(
    service: Service, names: t.Sequence[str], kolla: bool = False
) -> t.Tuple[t.Dict[str, str], t.Optional[str]]:
    """Return the named variables of the service's next start, or none of them and why they are not known.

    A unit gives them; what runs without one (in a container) is taken to start as it was started. What a running
    process of a unit has may be older than what its unit says now.
    """
    if service.unit is None and service.pid is not None:
        return processes.environment(service.pid, names), None
    if service.unit is None and not kolla:
        return {}, f"no unit of {service.program} was found, and the service does not run"
    try:
        if any(item.startswith("/etc/init.d/") for item in service.argv):
            _plain_defaults(service.program)
        if service.unit is None:
            return _of_container(names), None
        return unit_environment.next_start(service.unit, service.shown.get("LoadState"), names), None
    except ReadError as error:
        return {}, str(error)


def _of_container(names: t.Container[str]) -> t.Dict[str, str]:
    """Return the named variables that kolla's container was made with. Raises :class:`ReadError`."""
    why = "neither docker nor podman is installed on this host"
    for program in ("docker", "podman"):
        try:
            done = commands.run([program, "inspect", "--type", "container", KOLLA_CONTAINER], _PATIENCE)
        except (OSError, subprocess.TimeoutExpired) as error:
            if not isinstance(error, FileNotFoundError):
                why = f"{program} inspect {KOLLA_CONTAINER}: no answer"
            continue
        if done.returncode:
            why = f"{program} inspect {KOLLA_CONTAINER}: {' '.join(done.stderr.decode('utf-8', 'replace').split())}"
            continue
        try:
            entries = json.loads(done.stdout)[0]["Config"]["Env"]
            pairs = [str(entry).partition("=") for entry in entries]
        except (ValueError, LookupError, TypeError):
            raise ReadError(f"{program} inspect {KOLLA_CONTAINER}: the answer cannot be parsed") from None
        return {name: value for name, sign, value in pairs if sign and name in names}
    raise ReadError(why)


def _plain_defaults(program: str) -> None:
    """Debian's init script sources this file: raise :class:`ReadError` where it may set an option."""
    path = os.path.join("/etc/default", program)
    text = text_of(path)
    if any("OS_" in line for line in (text or "").splitlines() if not line.lstrip().startswith("#")):
        raise ReadError(
            f"{path} may set options of nova-compute with OS_ variables, and the run cannot evaluate these variables"
        )


#: What Nova takes for options that are unset, the same in all releases (nova/conf).
_DEFAULTS: t.Dict[t.Tuple[str, str], t.Optional[str]] = {
    ("DEFAULT", "instances_path"): "$state_path/instances",
    ("DEFAULT", "compute_driver"): None,
    ("DEFAULT", "reserved_host_memory_mb"): "512",
    ("DEFAULT", "running_deleted_instance_action"): "reap",
    ("DEFAULT", "running_deleted_instance_timeout"): "0",
    ("DEFAULT", "resume_guests_state_on_host_boot"): "false",
    ("DEFAULT", "update_resources_interval"): "0",
    ("DEFAULT", "sync_power_state_interval"): "600",
    ("libvirt", "images_type"): "default",
    ("libvirt", "images_rbd_pool"): "rbd",
    ("libvirt", "images_rbd_ceph_conf"): "",
    ("libvirt", "rbd_user"): None,
    ("libvirt", "live_migration_inbound_addr"): None,
    ("libvirt", "live_migration_uri"): None,
    ("libvirt", "live_migration_scheme"): None,
    ("libvirt", "virt_type"): "kvm",
}
#: Options whose defaults differ between releases or hosts.
_OTHERS = (
    ("DEFAULT", "host"),
    ("DEFAULT", "my_ip"),
    ("DEFAULT", "state_path"),
    ("DEFAULT", "transport_url"),
)


def _arguments(
    files: t.Sequence[str], folders: t.Sequence[str], service: Service
) -> t.Tuple[nova_conf.Arguments, bool]:
    """Return the files to read, and whether they are kolla's: read on the host, used in a container."""
    if files or folders:
        entries = [("file", path) for path in files] + [("dir", path) for path in folders]
        return nova_conf.Arguments(tuple(entries)), KOLLA_CONF in files
    given = nova_conf.parse_arguments(service.argv)
    if service.pid is not None and not service.same_root:
        if os.path.exists(KOLLA_CONF):
            return nova_conf.Arguments((("file", KOLLA_CONF),)), True
        raise ReadError(
            "nova-compute runs in a container: set nova_conf_files to the paths of its nova.conf files on the host",
            problem="path-in-container-unknown",
        )
    default = nova_conf.default_arguments("nova", "nova-compute", _home(service))
    if not given.has_files and not default.has_files:
        if os.path.exists(KOLLA_CONF):
            return nova_conf.Arguments((("file", KOLLA_CONF),)), True
        raise ReadError("no nova.conf was found: set nova_conf_files to the path of nova.conf", problem="no-nova-conf")
    return nova_conf.with_defaults(given, default), False


def _home(service: Service) -> t.Optional[str]:
    if service.pid is None:
        return None
    return processes.environment(service.pid, ["HOME"]).get("HOME")


def nova_facts(loaded: ServiceConfig, service: Service) -> NovaConf:
    """Return the named options. Raises ConfError for one that nova-compute itself would refuse."""
    config = loaded.config
    return NovaConf(
        files=list(config.files),
        host=config.get("DEFAULT", "host") if config.raw("DEFAULT", "host") is not None else None,
        state_path=_required(config, "state_path"),
        my_ip=config.get("DEFAULT", "my_ip") if config.raw("DEFAULT", "my_ip") is not None else None,
        instances_path=_required(config, "instances_path"),
        compute_driver=config.get("DEFAULT", "compute_driver"),
        images_type=config.get("libvirt", "images_type") or "default",
        images_rbd_pool=config.get("libvirt", "images_rbd_pool"),
        rbd_user=config.get("libvirt", "rbd_user"),
        images_rbd_ceph_conf=config.get("libvirt", "images_rbd_ceph_conf") or None,
        live_migration_inbound_addr=config.get("libvirt", "live_migration_inbound_addr"),
        reserved_host_memory_mb=nova_conf.integer(config, "DEFAULT", "reserved_host_memory_mb"),
        host_lines=config.lines("DEFAULT", "host"),
        log_file=_log_on_host(_log_file(config, service), loaded, service),
        running_deleted_instance_action=config.get("DEFAULT", "running_deleted_instance_action"),
        live_migration_uri=config.get("libvirt", "live_migration_uri") or None,
        live_migration_scheme=config.get("libvirt", "live_migration_scheme") or None,
        virt_type=config.get("libvirt", "virt_type"),
        running_deleted_instance_timeout=nova_conf.integer(config, "DEFAULT", "running_deleted_instance_timeout"),
        resume_guests_state_on_host_boot=nova_conf.boolean(config, "DEFAULT", "resume_guests_state_on_host_boot"),
        sync_power_state_interval=nova_conf.integer(config, "DEFAULT", "sync_power_state_interval"),
        environment=None if loaded.environment_unread else sorted(config.environment),
        update_resources_interval=nova_conf.integer(config, "DEFAULT", "update_resources_interval"),
        rbd_secret_uuid=config.get("libvirt", "rbd_secret_uuid") or None,
    )


def _required(config: nova_conf.Config, option: str) -> str:
    value = config.get("DEFAULT", option)
    if not value:
        raise ConfError(f"[DEFAULT] {option} is not set, and its default depends on where Nova is installed")
    return value


def _log_file(config: nova_conf.Config, service: Service) -> t.Optional[str]:
    found = nova_conf.log_file(config, service.program)
    init_script = [item for item in service.argv if item.startswith("/etc/init.d/")]
    if found is None and init_script:
        # Debian's init script adds --log-file to the command line that it starts.
        packaged = f"/var/log/nova/{service.program}.log"
        return packaged if os.path.exists(packaged) else None
    return found


def _log_on_host(path: t.Optional[str], loaded: ServiceConfig, service: Service) -> t.Optional[str]:
    """Return the host's path of a log that nova-compute writes in its container; as it is where none is known."""
    inside = service.pid is not None and not service.same_root
    if path is None or not (loaded.kolla or inside):
        return path
    folder, name = os.path.split(path)
    if service.pid is not None and inside:
        outside = mounts.on_host(service.pid, folder)
        return path if outside is None else os.path.join(outside, name)
    if path.startswith(f"{KOLLA_LOGS}/"):
        volumes = [volume for volume in KOLLA_LOG_VOLUMES if os.path.isdir(volume)]
        if len(volumes) == 1:
            return os.path.join(volumes[0], path[len(KOLLA_LOGS) + 1 :])
    return path


def note_odd_options(parts: Parts, loaded: ServiceConfig) -> None:
    """Note where what the files say is not what decides, or not known to."""
    if loaded.environment_unread:
        parts.note("nova_conf.environment", loaded.environment_unread)
    if loaded.config.from_environment("DEFAULT", "host"):
        parts.note(
            "nova_conf.host_lines",
            "the environment of nova-compute sets OS_DEFAULT__HOST, which takes precedence over every file",
        )
    if loaded.config.raw("DEFAULT", "log_config_append"):
        parts.note("nova_conf.log_file", "log_config_append is set, so nova-compute's log file is not known")


def _site_packages(service: Service) -> t.Optional[str]:
    found = _nova_metadata(service)
    return os.path.dirname(found) if found else None


def _nova_metadata(service: Service) -> t.Optional[str]:
    """Return the metadata directory of the nova package that nova-compute runs from, or None."""
    root = "" if service.pid is None or service.same_root else f"/proc/{service.pid}/root"
    scripts = [item for item in service.argv if os.path.basename(item) == service.program]
    prefixes = [os.path.dirname(os.path.dirname(script)) for script in scripts] or ["/usr", "/usr/local"]
    for prefix in prefixes:
        for place in ("lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages"):
            for kind in ("nova-*.dist-info", "nova-*.egg-info"):
                found = sorted(glob.glob(f"{root}{prefix}/{place}/{kind}"))
                if found:
                    return found[-1]
    return None


def nova_version(service: Service) -> t.Optional[str]:
    """Return the version of the nova that nova-compute runs from, or None where it cannot be told."""
    found = _nova_metadata(service)
    if found is not None:
        match = re.match(r"nova-([0-9]+(?:\.[0-9]+)*)", os.path.basename(found))
        if match:
            return match.group(1)
    if _in_container(service):
        # A package of the host is not what runs in the container.
        raise ReadError(
            "nova-compute runs in a container, and no nova package was found in the container",
            problem="no-package-in-container",
        )
    for command in (
        ["dpkg-query", "--show", "--showformat=${Version}", "nova-compute"],
        ["rpm", "-q", "--qf", "%{VERSION}", "openstack-nova-compute"],
    ):
        version = _package_version(command)
        if version:
            return version
    raise ReadError("no nova package was found for nova-compute", problem="no-nova-package")


def _in_container(service: Service) -> bool:
    """Whether nova-compute runs in a container, or would: kolla has its configuration, and nothing else starts it."""
    if service.pid is not None:
        return not service.same_root
    return service.unit is None and os.path.exists(KOLLA_CONF)


def _package_version(command: t.List[str]) -> t.Optional[str]:
    try:
        done = commands.run(command, _PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    # EPOCH:UPSTREAM-REVISION
    match = re.match(r"(?:\d+:)?(\d+(?:\.\d+)+)", done.stdout.decode("ascii", "replace"))
    return match.group(1) if match else None


def own_ipv4() -> t.Optional[str]:
    """Return the address of the default route, much as oslo.utils' get_my_ipv4(). Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return str(probe.getsockname()[0])
