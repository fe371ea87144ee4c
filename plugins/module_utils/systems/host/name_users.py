# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What else on a compute host goes by its name: other services, options, cloud-init, certificates.

Looked for are processes, units that are started at boot, and data on disk: what is stopped today is started again
under the new name. Values of options and keys of certificates may be secrets: of an option only its name leaves the
host, of a certificate file only the first certificate.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import glob
import os
import re
import typing as t

from ...model.host_facts import Certificate, NameUsers, Resident
from . import nova_conf, processes, units
from .reading import Parts, ReadError


@dataclasses.dataclass(frozen=True)
class ServiceKind:
    """A kind of service, and what gives it away: programs, units, data on disk. Patterns are those of a shell."""

    name: str
    programs: t.Tuple[str, ...] = ()
    units: t.Tuple[str, ...] = ()
    paths: t.Tuple[str, ...] = ()


KINDS = (
    ServiceKind(
        "ceph-osd",
        ("ceph-osd",),
        ("ceph-osd@*", "ceph-*@osd.*"),
        ("/var/lib/ceph/osd/*/whoami", "/var/lib/ceph/*-*/osd.*/unit.run"),
    ),
    ServiceKind(
        "ceph-mon",
        ("ceph-mon",),
        ("ceph-mon@*", "ceph-*@mon.*"),
        ("/var/lib/ceph/mon/*/store.db", "/var/lib/ceph/*-*/mon.*/unit.run"),
    ),
    ServiceKind(
        "ceph",
        ("ceph-mgr", "ceph-mds", "radosgw", "ceph-crash"),
        ("ceph-mgr@*", "ceph-mds@*", "ceph-radosgw@*", "ceph-????????-*@*"),
        ("/var/lib/ceph/*-*/*/unit.run",),
    ),
    ServiceKind("rabbitmq", (), ("rabbitmq-server*", "kolla-rabbitmq-container*"), ("/var/lib/rabbitmq/mnesia/*@*",)),
    ServiceKind("galera", (), ("kolla-mariadb-container*", "garb*"), ("/var/lib/mysql/grastate.dat",)),
    ServiceKind(
        "pacemaker",
        ("pacemakerd", "pacemaker-remoted", "pacemaker_remoted", "corosync"),
        ("pacemaker.service", "pacemaker_remote.service", "corosync.service", "kolla-hacluster_*-container*"),
    ),
    ServiceKind(
        "cinder-volume",
        ("cinder-volume",),
        ("cinder-volume*", "openstack-cinder-volume*", "kolla-cinder_volume-container*", "devstack@c-vol*"),
    ),
    ServiceKind("cinder-backup", ("cinder-backup",), ("*cinder-backup*", "kolla-cinder_backup-container*")),
    ServiceKind(
        "masakari",
        ("masakari-hostmonitor", "masakari-instancemonitor", "masakari-processmonitor"),
        ("masakari-*monitor*", "kolla-masakari_*monitor-container*"),
    ),
    ServiceKind("ceilometer", ("ceilometer-polling", "ceilometer-agent-compute"), ("*ceilometer*compute*",)),
    ServiceKind("cyborg", ("cyborg-agent",), ("cyborg-agent*", "kolla-cyborg_agent-container*")),
    ServiceKind(
        "manila-share", ("manila-share",), ("*manila-share*", "kolla-manila_share-container*", "devstack@m-shr*")
    ),
    ServiceKind("zun-compute", ("zun-compute",), ("*zun-compute*", "kolla-zun_compute-container*")),
    ServiceKind(
        "ironic-conductor",
        ("ironic-conductor",),
        ("*ironic-conductor*", "kolla-ironic_conductor-container*", "devstack@ir-cond*"),
    ),
    ServiceKind("etcd", ("etcd",), ("etcd.service", "etcd@*", "kolla-etcd-container*"), ("/var/lib/etcd/*/member",)),
    ServiceKind(
        "kubelet",
        ("kubelet", "k3s", "k3s-agent", "rke2"),
        ("kubelet.service", "k3s*", "rke2-*", "snap.kubelet.*", "snap.microk8s.*"),
        ("/var/lib/kubelet/config.yaml", "/var/lib/rancher/*/agent/kubelet.kubeconfig"),
    ),
    ServiceKind("glusterd", ("glusterd",), ("glusterd.service",), ("/var/lib/glusterd/glusterd.info",)),
    ServiceKind("linstor", (), ("linstor-satellite*", "linstor-controller*", "drbd@*"), ("/etc/drbd.d/*.res",)),
    ServiceKind(
        "consul", ("consul",), ("consul.service", "consul@*"), ("/opt/consul/node-id", "/var/lib/consul/node-id")
    ),
    ServiceKind("freeipa", (), (), ("/etc/ipa/default.conf",)),
    ServiceKind("chef", ("chef-client",), ("chef-client*",), ("/etc/chef/client.rb",)),
    ServiceKind("puppet", (), ("puppet.service", "puppet-agent.service"), ()),
    ServiceKind("salt", ("salt-minion",), ("salt-minion.service",), ()),
)
#: Databases that may be members of a Galera cluster: those that have its library loaded are.
_MYSQL = ("mariadbd", "mysqld")
#: What QEMU and libvirt take by default, and what kolla-ansible hands to its containers.
_CERTIFICATES = (
    "/etc/pki/libvirt/*cert.pem",
    "/etc/pki/libvirt-*/*cert.pem",
    "/etc/pki/qemu/*cert.pem",
    "/etc/kolla/nova-*/*cert.pem",
)
_LIBVIRT_CONF = ("/etc/libvirt/libvirtd.conf", "/etc/libvirt/virtproxyd.conf", "/etc/libvirt/qemu.conf")
#: Options of nova-compute that name a certificate of its own.
_OWN = ("certfile", "cert", "ssl_cert_file")
_CLOUD_INIT = ("/usr/bin/cloud-init", "/usr/local/bin/cloud-init")
_CLOUD_INIT_CONF = ("/etc/cloud/cloud.cfg", "/etc/cloud/cloud.cfg.d/*.cfg", "/var/lib/cloud/instance/cloud-config.txt")
_LARGE = 1 << 20


def read(
    names: t.Sequence[str], config: t.Optional[nova_conf.Config], root: str = "", proc: str = "/proc"
) -> NameUsers:
    """Return all of it. ``names``: every name that the host has now. Never raises for a part."""
    parts = Parts()
    return NameUsers(
        residents=parts.read("residents", lambda: residents(root, proc)),
        options=parts.read("options", lambda: _options(config, names)),
        cloud_init=parts.read("cloud_init", lambda: cloud_init(root)),
        certificates=parts.read("certificates", lambda: certificates(config, parts, root)),
        unread=parts.unread,
    )


# --- services -------------------------------------------------------------------------------------------------


def residents(root: str = "", proc: str = "/proc", systemctl: t.Optional[units.Systemctl] = None) -> t.List[Resident]:
    """Return each kind of service that was found, with what gave it away."""
    running, wanted = _running(proc), _wanted(systemctl or units.Systemctl())
    found = []
    told: t.Set[str] = set()
    for kind in KINDS:
        seen = list(running.get(kind.name, ()))
        seen += [f"unit {name}" for name in wanted if any(fnmatch.fnmatchcase(name, unit) for unit in kind.units)]
        seen += [path[len(root) :] for pattern in kind.paths for path in sorted(glob.glob(root + pattern))]
        # What is a kind of its own is not told again as one of many.
        seen = [item for item in seen if item not in told]
        told.update(seen)
        if seen:
            found.append(Resident(kind.name, seen[:20]))
    return found


def _running(proc: str) -> t.Dict[str, t.List[str]]:
    programs = {program: kind.name for kind in KINDS for program in kind.programs}
    found: t.Dict[str, t.List[str]] = {}
    for pid in processes.all_pids(proc):
        arguments = processes.argv(pid, proc)
        name = _kind(arguments, programs, pid, proc)
        if name is not None:
            found.setdefault(name, []).append(f"process {pid} ({os.path.basename(arguments[0])})")
    return found


def _kind(arguments: t.Sequence[str], programs: t.Mapping[str, str], pid: int, proc: str) -> t.Optional[str]:
    if not arguments:
        return None
    program = os.path.basename(arguments[0])
    if program == "beam.smp" and any(
        item in ("rabbit", "rabbit_prelaunch") or "rabbitmq" in item for item in arguments
    ):
        return "rabbitmq"
    if program in _MYSQL and _has_galera(pid, proc):
        return "galera"
    names = {os.path.basename(item) for item in arguments[:6]} & set(programs)
    return next((programs[name] for name in sorted(names) if processes.runs(arguments, name)), None)


def _has_galera(pid: int, proc: str) -> bool:
    try:
        with open(f"{proc}/{pid}/maps", "rb") as stream:
            return b"galera" in stream.read()
    except FileNotFoundError:
        return False  # it has ended
    except OSError:
        return True  # not known: taken for one


def _wanted(systemctl: units.Systemctl) -> t.List[str]:
    """Return the units that run, or that something else wants which systemd knows of: they start at the next boot.

    One that is masked does not, although the link of the target that wants it may still be there.

    Raises :class:`HostError` where systemd does not answer.
    """
    patterns = [pattern for kind in KINDS for pattern in kind.units]
    listed = systemctl.call(
        *("list-units", "--all", "--plain", "--no-legend", "--no-pager", "--full", "--type=service", "--"), *patterns
    )
    names = [line.split()[0] for line in listed.splitlines() if line.strip()]
    if not names:
        return []
    told = systemctl.call("show", "--property=Id,LoadState,ActiveState,WantedBy,RequiredBy", "--", *names)
    blocks = [dict(line.partition("=")[::2] for line in block.splitlines()) for block in told.split("\n\n")]
    return sorted(block["Id"] for block in blocks if block.get("Id") and _starts(block))


def _starts(block: t.Mapping[str, str]) -> bool:
    wanted = bool(block.get("WantedBy") or block.get("RequiredBy"))
    return block["ActiveState"] != "inactive" or (wanted and block.get("LoadState") != "masked")


# --- options and cloud-init -----------------------------------------------------------------------------------


def _options(config: t.Optional[nova_conf.Config], names: t.Sequence[str]) -> t.List[str]:
    if config is None:
        raise ReadError("nova.conf was not read")
    return config.options_with(names)


def cloud_init(root: str = "") -> t.Dict[str, str]:
    """Return how cloud-init is told to treat the host's name; an empty dictionary: it is not here, or switched off."""
    if not any(os.path.exists(root + path) for path in _CLOUD_INIT) or os.path.exists(
        f"{root}/etc/cloud/cloud-init.disabled"
    ):
        return {}
    found = {"manage_etc_hosts": "false", "preserve_hostname": "false"}
    for pattern in _CLOUD_INIT_CONF:
        for path in sorted(glob.glob(root + pattern)):
            for key, value in re.findall(r"(?m)^(manage_etc_hosts|preserve_hostname)\s*:\s*([^\s#]+)", _text(path)):
                found[key] = str(value).strip("\"'").lower()
    return found


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read(_LARGE)


# --- certificates ---------------------------------------------------------------------------------------------


def certificates(config: t.Optional[nova_conf.Config], parts: Parts, root: str = "") -> t.List[Certificate]:
    """Return the certificates of libvirt, QEMU and nova-compute that are here. What cannot be read is noted."""
    paths = [path for pattern in _CERTIFICATES for path in sorted(glob.glob(root + pattern))]
    paths += [path for name in _LIBVIRT_CONF for path in _named_by_libvirt(root, name)]
    paths += config.values_of(_OWN) if config is not None else []
    found = []
    for path in dict.fromkeys(paths):
        # A certificate authority's own has no host's name.
        if os.path.basename(path).startswith(("ca-", "cacert")) or not os.path.exists(path):
            continue
        try:
            pem = first_certificate(_text(path))
        except OSError as error:
            parts.note("certificates", f"{path}: {error.strerror}")
            continue
        if pem is None:
            parts.note("certificates", f"{path[len(root) :]}: the file has no certificate in PEM format")
            continue
        found.append(Certificate(path[len(root) :], pem))
    return found


def _named_by_libvirt(root: str, name: str) -> t.List[str]:
    try:
        text = _text(root + name)
    except FileNotFoundError:
        return []
    files = re.findall(r'(?m)^\s*cert_file\s*=\s*"([^"]+)"', text)
    folders = re.findall(r'(?m)^\s*[a-z_]*tls_x509_cert_dir\s*=\s*"([^"]+)"', text)
    return [root + path for path in files] + [
        path for folder in folders for path in sorted(glob.glob(f"{root}{folder}/*cert.pem"))
    ]


def first_certificate(text: str) -> t.Optional[str]:
    """Return the first certificate of a PEM file, which is the host's own, and nothing else of it."""
    match = re.search(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----", text)
    return match.group(0) + "\n" if match else None
