# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where everything lives and what it is called: the only place that knows paths, names and addresses."""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
PYTHON = "/usr/bin/python3.11"
DEFAULT_RELEASE = "2026.2"
# The control services other than Nova always come from this release: they serve older Novas through their APIs.
CONTROL_RELEASE = "2026.2"
RELEASES = {"2023.1": 27, "2024.1": 29, "2025.1": 31, "2026.2": 34}
# Cinder is of Nova's release: what the two say to one another about attachments is theirs
CINDERS = {"2023.1": 22, "2024.1": 24, "2025.1": 26, "2026.2": 29}
# Linux' IFNAMSIZ and the single digit of the subnet bound these two.
MAX_INSTANCE = 9
MAX_COMPUTES = 9
ZONES = ("az1", "az2")
DEPLOYS = ("packages", "kolla")
ENGINES = ("podman", "docker")
BACKENDS = ("ceph", "nfs", "san")
INSTANCES = ("own", "shared")
OVN_NB_PORT, OVN_SB_PORT = 6641, 6642
# where the southbound database takes chassis that have no more rights than RBAC gives them
OVN_SB_ROLE_PORT = 16642
GUEST_POOLS = ("vms", "vms2")
IMAGE_POOL = "images"
VOLUME_POOL = "volumes"


def base_dir() -> Path:
    """The directory shared by all labs of this machine (environments, package cache)."""
    return Path(os.environ.get("STACKGUARD_LAB_HOME") or "/var/lib/stackguard-lab").resolve()


@dataclass
class Options:
    """What `up` was asked for; kept with the lab, so that a later `up` means the same lab."""

    release: str = DEFAULT_RELEASE
    computes: int = 3
    l2: str = "tap"
    fast_stop: bool = False
    pools: int = 1
    clusters: int = 1
    cells: int = 1
    # Cinder's back ends, separated by commas; none: no Cinder
    cinder: str = ""
    instances: str = INSTANCES[0]
    ovn_rbac: bool = False
    ovn_system_id: str = "uuid"
    ovn_hostname_key: str = "present"
    # packages; kolla; or kolla:HOST,HOST: those hosts, and packages on the others
    deploy: str = DEPLOYS[0]
    engine: str = ENGINES[0]
    password: str = field(default_factory=lambda: secrets.token_hex(12))
    # name -> directory name: a lab keeps the environments it was made with, whatever a newer source would install
    environments: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cluster:
    """One of the lab's Ceph clusters: its own fsid, monitor, manager, OSD, keys and pools."""

    number: int
    address: str
    conf: Path
    data: Path
    run: Path
    #: put before the names of its services and logs: the first cluster's are the plain ones
    prefix: str
    pools: tuple[str, ...]
    #: whether it has Cinder's pool
    volumes: bool = False

    @property
    def keys(self) -> Path:
        return self.conf.parent

    @property
    def all_pools(self) -> tuple[str, ...]:
        return (*self.pools, IMAGE_POOL, *((VOLUME_POOL,) if self.volumes else ()))


class Lab:
    """One lab instance: names, addresses and paths derived from its number."""

    def __init__(self, instance: int, options: Options | None = None) -> None:
        self.instance = instance
        self.base = base_dir()
        self.state = self.base / f"i{instance}"
        self.options_file = self.state / "lab.json"
        self.options = options or self._load_options()

    def _load_options(self) -> Options:
        try:
            return Options(**json.loads(self.options_file.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return Options()

    def save_options(self) -> None:
        self.state.mkdir(parents=True, exist_ok=True)
        scratch = self.options_file.with_suffix(".tmp")
        scratch.write_text(json.dumps(asdict(self.options), indent=1) + "\n")
        scratch.chmod(0o600)
        scratch.replace(self.options_file)

    @property
    def exists(self) -> bool:
        return self.options_file.exists()

    # names: prefix + suffix stays within 15 characters, the limit for network interfaces
    @property
    def prefix(self) -> str:
        return f"sgl{self.instance}"

    @property
    def control_ns(self) -> str:
        return f"{self.prefix}-ctl"

    @property
    def operator_veth(self) -> str:
        return f"{self.prefix}-op"

    @property
    def stranger_ns(self) -> str:
        """Clients of Ceph that are neither a host nor the controller live here, with an address of their own."""
        return f"{self.prefix}-x"

    def host_ns(self, number: int) -> str:
        return f"{self.prefix}-c{number}"

    @property
    def namespaces(self) -> list[str]:
        return [self.control_ns, self.stranger_ns, *(self.host_ns(n) for n in range(1, MAX_COMPUTES + 1))]

    # addresses
    @property
    def network(self) -> ipaddress.IPv4Network:
        return ipaddress.IPv4Network(f"10.99.{self.instance}.0/24")

    @property
    def controller(self) -> str:
        return f"10.99.{self.instance}.1"

    @property
    def operator(self) -> str:
        return f"10.99.{self.instance}.254"

    @property
    def stranger(self) -> str:
        return f"10.99.{self.instance}.99"

    def host_address(self, number: int) -> str:
        return f"10.99.{self.instance}.{10 + number}"

    # with OVN, beside the lab's own network, on the cables of the provider network and nowhere else
    @property
    def provider_network(self) -> ipaddress.IPv4Network:
        """What floating IPs and the router's gateway are from."""
        return ipaddress.IPv4Network(f"172.30.{self.instance}.0/24")

    @property
    def outside(self) -> str:
        """The provider network's own router: the controller's address there, a machine outside the cloud."""
        return f"172.30.{self.instance}.1"

    def tunnel_address(self, number: int) -> str:
        return f"10.98.{self.instance}.{10 + number}"

    @property
    def has_openvswitch(self) -> bool:
        return self.options.l2 in ("ovs", "ovn")

    @property
    def host_numbers(self) -> range:
        return range(1, self.options.computes + 1)

    @property
    def host_names(self) -> list[str]:
        return [f"compute{n}" for n in self.host_numbers]

    def host_number(self, name: str) -> int:
        """compute2 -> 2; whatever the host calls itself, the lab's own name for the machine stays."""
        if name not in self.host_names:
            raise LabError(f"no such host: {name}", hint="hosts of this lab: " + ", ".join(self.host_names))
        return int(name.removeprefix("compute"))

    @staticmethod
    def zone_of(number: int) -> str:
        """compute1 and compute2 are az1, every later host is az2."""
        return ZONES[0] if number <= 2 else ZONES[1]

    # how a host's services run
    def deploy_of(self, number: int) -> str:
        kind, _, names = self.options.deploy.partition(":")
        return kind if not names or f"compute{number}" in names.split(",") else DEPLOYS[0]

    @property
    def kolla_hosts(self) -> list[int]:
        return [number for number in self.host_numbers if self.deploy_of(number) == "kolla"]

    @property
    def engine_dir(self) -> Path:
        """The container engine's packages, unpacked: the machine itself does not have the engine."""
        return self.base / "engines" / self.options.engine

    # what a host's disks are in: with two pools or clusters, the hosts of az2 have the second
    def _second(self, number: int) -> bool:
        return self.zone_of(number) == ZONES[1]

    def pool_of(self, number: int) -> str:
        return GUEST_POOLS[1 if self.options.pools == 2 and self._second(number) else 0]

    def cluster_of(self, number: int) -> Cluster:
        return self.cluster(2 if self.options.clusters == 2 and self._second(number) else 1)

    # volumes, and disks outside Ceph
    @property
    def backends(self) -> list[str]:
        return self.options.cinder.split(",") if self.options.cinder else []

    @property
    def has_cinder(self) -> bool:
        return bool(self.backends)

    @property
    def cinder_major(self) -> int:
        return CINDERS[self.options.release]

    @property
    def has_luks(self) -> bool:
        """Cinder 22 with the castellan of its time cannot make the key manager that needs no barbican."""
        return self.has_cinder and self.cinder_major >= 24

    def shares_instances(self, number: int) -> bool:
        """Whether the host's instances_path is the directory that two hosts have."""
        return self.options.instances == "shared" and number <= 2

    # Nova's cells: with two, the hosts of az2 are in the second
    @property
    def cells(self) -> list[str]:
        return [f"cell{number}" for number in range(1, self.options.cells + 1)]

    def cell_of(self, number: int) -> str:
        return self.cells[1 if self.options.cells == 2 and self._second(number) else 0]

    def cluster(self, number: int) -> Cluster:
        """The first has the names and paths that a lab with only one has."""
        if not 1 <= number <= self.options.clusters:
            have = "one Ceph cluster" if self.options.clusters == 1 else f"{self.options.clusters} Ceph clusters"
            raise LabError(f"lab {self.instance} has {have}, no cluster {number}")
        suffix = "" if number == 1 else str(number)
        return Cluster(
            number=number,
            # A second monitor at the controller's address would hide whether somebody mixes up the two.
            address=f"10.99.{self.instance}.{number}",
            conf=self.etc / f"ceph{suffix}" / "ceph.conf",
            data=self.state / f"ceph{suffix}",
            run=self.run / f"ceph{suffix}" if suffix else self.run,
            prefix=f"ceph{suffix}",
            pools=GUEST_POOLS[: self.options.pools],
            volumes=number == 1 and self.has_cinder,
        )

    @property
    def clusters(self) -> list[Cluster]:
        return [self.cluster(number) for number in range(1, self.options.clusters + 1)]

    # paths
    @property
    def etc(self) -> Path:
        return self.state / "etc"

    @property
    def log(self) -> Path:
        return self.state / "log"

    @property
    def run(self) -> Path:
        return self.state / "run"

    @property
    def snapshot(self) -> Path:
        return self.state / "snapshot"

    @property
    def hosts_dir(self) -> Path:
        return self.state / "hosts"

    def host_dir(self, number: int) -> Path:
        return self.hosts_dir / f"compute{number}"

    @property
    def ssh_key(self) -> Path:
        return self.state / "id_lab"

    @property
    def clouds_yaml(self) -> Path:
        return self.state / "clouds.yaml"

    @property
    def ceph_conf(self) -> Path:
        return self.cluster(1).conf

    @property
    def nova_conf(self) -> Path:
        return self.cell_conf(self.cells[0])

    def cell_conf(self, cell: str) -> Path:
        """What the conductor of a cell reads; that of the first cell is everybody's."""
        return self.etc / ("nova" if cell == self.cells[0] else f"nova-{cell}") / "nova.conf"

    @property
    def cinder_dir(self) -> Path:
        return self.state / "cinder"

    @property
    def cinder_conf(self) -> Path:
        return self.etc / "cinder" / "cinder.conf"

    @property
    def nfs_dir(self) -> Path:
        """What an NFS server would export: the hosts bind its directories."""
        return self.state / "nfs"

    @property
    def san_dir(self) -> Path:
        """The model of an array: its disks, its host objects, and what it exports to each machine."""
        return self.state / "san"

    @property
    def venvs(self) -> Path:
        return self.base / "venvs"

    def venv(self, name: str) -> Path:
        """An environment: a release's, or that of its Cinder."""
        return self.venvs / self.options.environments.get(name, "not-installed")

    @property
    def control_venv(self) -> Path:
        return self.venv(CONTROL_RELEASE)

    @property
    def nova_venv(self) -> Path:
        return self.venv(self.options.release)

    @property
    def _cinder_environment(self) -> str:
        """Its own: a lab without volumes does not pay for it."""
        return f"cinder-{self.options.release}"

    @property
    def cinder_venv(self) -> Path:
        return self.venv(self._cinder_environment)

    @property
    def environments(self) -> list[str]:
        """The environments this lab needs."""
        cinder = [self._cinder_environment] if self.has_cinder else []
        return list(dict.fromkeys((CONTROL_RELEASE, self.options.release, *cinder)))

    @property
    def nova_major(self) -> int:
        return RELEASES[self.options.release]

    # steps that must happen exactly once in the life of a lab leave a mark here
    def done(self, step: str) -> bool:
        return (self.state / "done" / step).exists()

    def mark(self, step: str) -> None:
        (self.state / "done").mkdir(parents=True, exist_ok=True)
        (self.state / "done" / step).touch()

    def unmark(self, step: str) -> None:
        (self.state / "done" / step).unlink(missing_ok=True)

    # urls
    def db_url(self, database: str) -> str:
        return f"mysql+pymysql://root:{self.options.password}@{self.controller}/{database}"

    @property
    def rabbit_url(self) -> str:
        return f"rabbit://lab:{self.options.password}@{self.controller}:5672/"

    def cell_rabbit_url(self, cell: str) -> str:
        """Each further cell has a virtual host of its own: no message leaves it."""
        return self.rabbit_url if cell == self.cells[0] else f"{self.rabbit_url}{cell}"

    @property
    def auth_url(self) -> str:
        return f"http://{self.controller}:5000/v3"

    def client_env(self) -> dict[str, str]:
        """Environment in which OpenStack clients talk to this lab."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("OS_")}
        env.update(OS_CLIENT_CONFIG_FILE=str(self.clouds_yaml), OS_CLOUD="lab")
        return env


class LabError(Exception):
    """Something the person at the keyboard can understand and act on."""

    def __init__(self, message: str, *, log: Path | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.log = log
        self.hint = hint


def current_lab() -> Lab:
    """The lab this shell means: STACKGUARD_LAB_INSTANCE, by default 0."""
    raw = os.environ.get("STACKGUARD_LAB_INSTANCE") or "0"
    if not raw.isdigit() or int(raw) > MAX_INSTANCE:
        raise LabError(f"STACKGUARD_LAB_INSTANCE={raw!r} is not a number from 0 to {MAX_INSTANCE}")
    return Lab(int(raw))
