# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Debian packages and Python environments, shared by all labs of the machine."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .settings import CONTROL_RELEASE, PYTHON, SOURCE, Lab, LabError
from .shell import file_lock, phase, run

PACKAGES = """
libvirt-daemon-system libvirt-daemon-driver-qemu libvirt-clients libvirt-dev python3-libvirt pkg-config gcc libc6-dev
qemu-system-x86 qemu-utils qemu-block-extra seabios ipxe-qemu
ceph-mon ceph-mgr ceph-osd ceph-common python3-rbd python3-rados
mariadb-server mariadb-client rabbitmq-server memcached openvswitch-switch
openssh-server openssh-client systemd systemd-container iproute2 iptables ebtables dnsmasq-base genisoimage sudo
python3-venv python3-dev dbus procps util-linux uuid-runtime e2fsprogs dosfstools
""".split()  # noqa: SIM905
OVN_PACKAGES = ["ovn-central", "ovn-host", "ovn-common", "openssl", "ethtool", "haproxy", "iptables"]
# Of a container engine; unpacked into a folder of their own for the hosts that have it, never installed on the machine:
# it needs no engine, and a package that appears in the root below the hosts of other labs would change these.
ENGINE_PACKAGES = {
    "podman": ["podman", "runc", "conmon", "netavark", "dumb-init", "python3-dbus"],
    "docker": ["docker.io", "containerd", "runc", "tini", "dumb-init", "python3-dbus"],
}
ENGINE_PROGRAMS = {"podman": ("podman", "runc", "conmon"), "docker": ("docker", "dockerd", "containerd", "runc")}
# Dies with this process, even when that is killed: a lone installer would write into what the next run clears.
BOUND: tuple[str, ...] = ("setpriv", "--pdeathsig", "KILL")
COMPLETE = "stackguard-lab.complete"
POLICY = Path("/usr/sbin/policy-rc.d")
POLICY_TEXT = """#!/bin/sh
# put here by stackguard-lab while it installs packages: their services are not to start
exit 101
"""


def network_env() -> dict[str, str]:
    """How this machine reaches package registries (proxies, certificates, mirrors): for installers only."""
    prefixes = ("SSL_", "PIP_", "UV_", "REQUESTS_", "CURL_")
    return {k: v for k, v in os.environ.items() if k.startswith(prefixes) or k.lower().endswith("_proxy")}


def install(lab: Lab) -> None:
    log = lab.base / "install.log"
    with file_lock(lab.base / "install.lock", "another lab is installing; waiting for it"):
        install_packages(lab, log)
        if lab.kolla_hosts:
            install_engine(lab, log)
        install_uv(lab, log)
        for name in lab.environments:
            install_environment(lab, name, log)


def packages(lab: Lab) -> list[str]:
    return PACKAGES + (OVN_PACKAGES if lab.options.l2 == "ovn" else [])


def missing_packages(lab: Lab) -> list[str]:
    wanted = packages(lab)
    known = run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *wanted], check=False).stdout
    installed = {line.split()[0] for line in known.splitlines() if line.endswith(" installed")}
    return [package for package in wanted if package not in installed]


@contextlib.contextmanager
def _no_service_starts() -> Iterator[None]:
    """The machine's own MariaDB, RabbitMQ, libvirt... must not start: the lab runs its own, in its namespaces."""
    stale = POLICY.exists() and POLICY.read_text() == POLICY_TEXT
    if POLICY.exists() and not stale:
        yield
        return
    POLICY.write_text(POLICY_TEXT)
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        allow_service_starts()


def allow_service_starts() -> None:
    with contextlib.suppress(OSError):
        if POLICY.read_text() == POLICY_TEXT:
            POLICY.unlink()


def install_packages(lab: Lab, log: Path) -> None:
    missing = missing_packages(lab)
    if not missing:
        return
    env = {**network_env(), "DEBIAN_FRONTEND": "noninteractive"}
    patient = ["-o", "DPkg::Lock::Timeout=300"]
    with phase(f"{len(missing)} Debian packages"), _no_service_starts():
        run(["dpkg", "--configure", "-a"], log=log, env=env)
        run(["apt-get", *patient, "-q", "update"], log=log, env=env)
        run(
            ["apt-get", *patient, "-q", "-y", "--no-install-recommends", "install", *missing],
            log=log,
            env=env,
            timeout=1800,
        )


def install_engine(lab: Lab, log: Path) -> None:
    """Debian's packages of the engine, and what they need and the machine lacks, unpacked beside one another."""
    engine, target = lab.options.engine, lab.engine_dir
    wanted = ENGINE_PACKAGES[engine]
    if has_engine(lab):
        return
    archives, scratch = target.with_suffix(".debs"), target.with_suffix(".new")
    for folder in (archives, scratch, target):
        shutil.rmtree(folder, ignore_errors=True)
    (archives / "partial").mkdir(parents=True)
    # as on the machine: a package's /lib is its /usr/lib
    for name in ("bin", "sbin", "lib", "lib64"):
        (scratch / "usr" / name).mkdir(parents=True)
        (scratch / name).symlink_to(f"usr/{name}")
    env = {**network_env(), "DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "-q", "-y", "--no-install-recommends", "-o", f"Dir::Cache::archives={archives}"]
    with phase(f"{engine}, unpacked for the hosts that have it"):
        run(["apt-get", "-q", "update"], log=log, env=env)
        run([*apt, "--download-only", "install", *wanted], log=log, env=env, timeout=1800)
        for package in sorted(archives.glob("*.deb")):
            if not _is_on_the_machine(package):
                script = 'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"'
                run(["bash", "-o", "pipefail", "-c", script, "bash", package, scratch], log=log)
        (scratch / COMPLETE).write_text("".join(f"{name}\n" for name in wanted))
        scratch.rename(target)
        shutil.rmtree(archives)
    if not has_engine(lab):
        raise LabError(f"{engine} was unpacked at {target}, and lacks {' or '.join(ENGINE_PROGRAMS[engine])}", log=log)


def has_engine(lab: Lab) -> bool:
    mark = lab.engine_dir / COMPLETE
    if not mark.exists() or mark.read_text().split() != ENGINE_PACKAGES[lab.options.engine]:
        return False
    places = (lab.engine_dir / "usr", Path("/usr"))
    names = [Path(folder, name) for name in ENGINE_PROGRAMS[lab.options.engine] for folder in ("bin", "sbin")]
    present = {name.name for name in names for place in places if (place / name).exists()}
    return present == set(ENGINE_PROGRAMS[lab.options.engine])


def _is_on_the_machine(package: Path) -> bool:
    """The machine's own version stays, though apt would update it with the engine."""
    name = run(["dpkg-deb", "-f", package, "Package"]).stdout.strip()
    return run(["dpkg-query", "-W", "-f", "${db:Status-Status}", name], check=False).stdout == "installed"


def _uv(lab: Lab) -> Path:
    return lab.venvs / "uv" / "bin" / "uv"


def install_uv(lab: Lab, log: Path) -> None:
    if _uv(lab).exists():
        return
    with phase("uv"):
        shutil.rmtree(lab.venvs / "uv", ignore_errors=True)
        run([*BOUND, PYTHON, "-m", "venv", lab.venvs / "uv"], log=log)
        run([*BOUND, lab.venvs / "uv" / "bin" / "pip", "install", "-q", "uv"], log=log, env=network_env())


def _version(name: str) -> str:
    """Changes with anything an environment is made of: a fresh clone reuses what fits, and never spoils one in use."""
    digest = hashlib.sha256()
    sources = [SOURCE / "requirements" / f"{name}.txt"]
    if name == CONTROL_RELEASE:
        sources += [SOURCE / "ml2" / "pyproject.toml", *sorted((SOURCE / "ml2" / "stackguard_lab_ml2").glob("*.py"))]
    for path in sources:
        digest.update(path.read_bytes())
    return f"{name}-{digest.hexdigest()[:8]}"


def _complete(venv: Path) -> bool:
    return (venv / COMPLETE).exists()


def is_installed(lab: Lab) -> bool:
    environments = all(_complete(lab.venv(name)) for name in lab.environments)
    return environments and (not lab.kolla_hosts or has_engine(lab))


def install_environment(lab: Lab, name: str, log: Path) -> None:
    if _complete(lab.venv(name)):
        return
    lab.options.environments[name] = _version(name)
    lab.save_options()
    venv = lab.venv(name)
    if _complete(venv):
        return
    env = {**network_env(), "UV_CACHE_DIR": str(lab.base / "uv-cache"), "VIRTUAL_ENV": str(venv)}
    with phase(f"environment for {name}"):
        shutil.rmtree(venv, ignore_errors=True)
        run([*BOUND, _uv(lab), "venv", "-q", "--clear", "--python", PYTHON, venv], log=log, env=env)
        requirements = SOURCE / "requirements" / f"{name}.txt"
        run([*BOUND, _uv(lab), "pip", "install", "-q", "--link-mode=copy", "-r", requirements], log=log, env=env)
        if name == CONTROL_RELEASE:
            # from a copy: the build leaves files beside its source
            with tempfile.TemporaryDirectory() as scratch:
                copy = shutil.copytree(SOURCE / "ml2", Path(scratch) / "ml2")
                run(
                    [*BOUND, _uv(lab), "pip", "install", "-q", "--no-deps", "--no-build-isolation", copy],
                    log=log,
                    env=env,
                )
        _link_ceph(venv)
        # Nova takes half a minute to compile when first imported; the hosts see this read-only and could not keep it.
        run([*BOUND, venv / "bin" / "python", "-m", "compileall", "-q", "-j", "2", venv / "lib"], log=log, check=False)
        (venv / COMPLETE).touch()


def _link_ceph(venv: Path) -> None:
    """python3-rbd and python3-rados exist only as Debian's C extensions: expose just these two."""
    folder = venv / "ceph-debian"
    folder.mkdir(exist_ok=True)
    for name in ("rbd", "rados"):
        link = folder / f"{name}.cpython-311-x86_64-linux-gnu.so"
        link.unlink(missing_ok=True)
        link.symlink_to(f"/usr/lib/python3/dist-packages/{link.name}")
    site = venv / "lib" / "python3.11" / "site-packages" / "ceph-debian.pth"
    site.write_text(f"{folder}\n")
