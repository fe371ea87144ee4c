# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of `make test-matrix`: what each runs, on what lab. Standard library only: tests/matrix reads it too."""

from __future__ import annotations

from dataclasses import dataclass

NEWEST = "2026.2"
#: Ways in which OVN is set up other than usual: options of `lab/lab up`.
OVN_SETUPS = {
    "usual": (),
    "rbac": ("--ovn-rbac",),
    "system-id": ("--ovn-system-id", "hostname"),
    "no-key": ("--ovn-hostname-key", "absent"),
}


@dataclass(frozen=True)
class Shape:
    """What a lab is made of: the options of its first `lab/lab up`."""

    release: str = NEWEST
    computes: int = 3
    l2: str = "tap"
    pools: int = 1
    clusters: int = 1
    cells: int = 1
    ovn: str = "usual"
    deploy: str = "packages"
    engine: str = "podman"
    #: Back ends of Cinder, C(ceph,nfs,san); empty: there is no Cinder.
    cinder: str = ""
    #: Whether two hosts have their guests' disks in one directory, as on a share: C(shared).
    instances: str = "own"

    @property
    def words(self):
        """For `lab/lab up`. An engine is refused where no host has containers, a back end without Cinder."""
        other = {
            "ovn",
            *(("deploy", "engine") if self.deploy == "packages" else ()),
            *(() if self.cinder else ("cinder",)),
            *(("instances",) if self.instances == "own" else ()),
        }
        plain = {name: value for name, value in vars(self).items() if name not in other}
        return [*(word for name, value in plain.items() for word in (f"--{name}", str(value))), *OVN_SETUPS[self.ovn]]


def measured(info):
    """The shape's values in `lab info --json`."""
    return {
        "release": info["release"],
        "computes": len(info["hosts"]),
        "l2": info["l2"],
        "pools": len(info["clusters"][0]["pools"]["guests"]),
        "clusters": len(info["clusters"]),
        "cells": len(info.get("cells", [1])),
        "ovn": _ovn_setup(info.get("ovn") or {}),
        "deploy": info.get("deploy", "packages"),
        "engine": info.get("engine") or "podman",
        "cinder": ",".join(info.get("cinder") or ()),
        "instances": info.get("instances") or "own",
    }


def _ovn_setup(ovn):
    if ovn.get("rbac"):
        return "rbac"
    if ovn.get("system_id", "uuid") != "uuid":
        return "system-id"
    return "no-key" if ovn.get("hostname_key") == "absent" else "usual"


def differences(wanted, info):
    """Each value that a lab has otherwise, as text. More hosts than wanted are as good."""
    have = measured(info)
    return [
        f"{name} {value} (it has {have[name]})"
        for name, value in wanted.items()
        if (have[name] < value if name == "computes" else have[name] != value)
    ]


@dataclass(frozen=True)
class MatrixPart:
    """One named run of pytest.

    ``whole``: files whose tests are one story, told in order: all of them run, not only those of the part.
    ``beside``: its tests make a second lab, of the next instance.
    """

    text: str
    files: tuple[str, ...] = ("tests/integration",)
    lab: Shape | None = Shape()
    whole: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    beside: bool = False


#: The parts that run every case of the tests marked ``ansible``, by directory: labkit.matrix.
ANSIBLE = {"tests/unit/": "playbooks", "tests/integration_db/": "databases"}
RENAME = "tests/integration/test_2_rename.py"
OPENVSWITCH = "tests/integration/test_3_openvswitch.py"
OVN = ("tests/integration/test_3_ovn.py", "tests/integration/test_4_ovn_rename.py")
OVN_OPERATIONS = ("tests/integration/test_5_ovn_operations.py",)
OVN_KILLED = ("tests/crash/test_6_ovn.py",)
OVN_RENAME = "tests/integration/test_4_ovn_rename.py"
OVN_SETUP_TESTS = "tests/integration/test_6_ovn_setups.py"
KOLLA = "tests/integration/test_7_kolla.py"
KOLLA_OPERATIONS = "tests/integration/test_8_kolla_operations.py"
#: Two hosts with containers, the third with packages.
KOLLA_HOSTS = "kolla:compute1,compute2"
KOLLA_MODULE = "tests/integration/test_9_kolla_module.py"
KOLLA_KILLED = "tests/crash/test_7_kolla.py"
CELLS = "tests/integration/test_cells.py"
REMOVE = "tests/integration/test_remove.py"
MAINTAIN_AGENTS = "tests/integration/test_maintain_agents.py"
REMOVE_LEFTOVERS = "tests/integration/test_remove_leftovers.py"
REMOVE_OVN = "tests/integration/test_remove_ovn.py"
KOLLA_RENAME = "tests/integration/test_8_kolla_rename.py"
KOLLA_DRAIN = "tests/integration/test_9_kolla_drain.py"
STATES = "tests/integration/test_forecast_states.py"
ADOPT = "tests/integration/test_9_adopt.py"
COPIED = "tests/integration/test_9_copied.py"
KOLLA_TEXT = "hosts with containers: their names, restarts and power failures"
KOLLA_RENAME_TEXT = "renames of a host with containers, killed, rolled back and rebooted"
KOLLA_MODULE_TEXT = (
    "renames where kolla-ansible's own module creates the containers, and compares them before and after"
)
ARRIVED = "tests/integration/test_arrived.py"
VOLUMES_AUDIT = "tests/integration/test_volumes_audit.py"
VOLUMES_KILLED = "tests/integration/test_volumes_killed.py"
VOLUMES_MOVES = "tests/integration/test_volumes_moves.py"
VOLUMES_RENAME = "tests/integration/test_volumes_rename.py"


def _rename_of(release):
    text = "one rename and what people do with servers afterwards"
    return MatrixPart(text, (RENAME,), Shape(release=release), whole=(RENAME,))


def _ovn_of(text, whole=(OVN_RENAME,), **shape):
    return MatrixPart(f"OVN: {text}", (*whole, OVN_SETUP_TESTS), Shape(l2="ovn", **shape), whole=whole)


def _kolla_of(**shape):
    return MatrixPart(KOLLA_TEXT, (KOLLA,), Shape(deploy=KOLLA_HOSTS, **shape), whole=(KOLLA,))


def _kolla_rename_of(**shape):
    made = Shape(deploy="kolla:compute1", **shape)
    return MatrixPart(KOLLA_RENAME_TEXT, (KOLLA_RENAME,), made, whole=(KOLLA_RENAME,))


def _forecast_of(release):
    text = "random states of hosts: the forecast against what nova-compute does"
    return MatrixPart(text, (STATES,), Shape(release=release), whole=(STATES,))


def _adopt_of(release, whole=()):
    text = "hosts renamed by hand, adopted back and forward, killed and rolled back"
    return MatrixPart(text, (ADOPT, COPIED, ARRIVED), Shape(release=release), whole=whole)


def _volumes_rename_of(whole=(), **shape):
    text = "a rename under servers on volumes of each back end, then attachments, moves, zones and links"
    return MatrixPart(text, (VOLUMES_RENAME,), Shape(cinder="ceph,nfs,san", **shape), whole=whole)


#: Those with the same lab follow one another: it is made once.
PARTS = {
    "unit-long": MatrixPart(
        "the tests over random clouds, with many times the runs", ("tests/unit",), None, words=("-p", "labkit.longer")
    ),
    "playbooks": MatrixPart("every case of the tests that run playbooks without a lab", ("tests/unit",), None),
    "databases": MatrixPart(
        "random clouds in many more databases; every case of the playbooks that need nothing but databases",
        ("tests/integration_db",),
        None,
    ),
    "input": MatrixPart("wrong input of every kind, each by itself; every secret, looked for in every output"),
    "evacuation": MatrixPart("evacuations without guards and with them, by each kind of fence"),
    "evacuation-disturbed": MatrixPart(
        "evacuations killed at each step, two at once, without memory, whose destination dies"
    ),
    "evacuation-attacked": MatrixPart(
        "evacuations under strangers, fences that fail and hosts that come back in the middle"
    ),
    "evacuation-left": MatrixPart(
        "evacuations tried again, left, two at once, refused beside the first version's; returns"
    ),
    "leftovers": MatrixPart("what moves leave in placement, on hosts, in Ceph and in neutron; a host that was removed"),
    # Of its own: it leaves the host with its new name.
    "rename-drain": MatrixPart("a rename by drain, killed among its moves; a guest that is off on its other host"),
    "moves": MatrixPart("drains and migrations, broken off and attacked in every way; destinations that are no good"),
    "maintain": MatrixPart("hosts maintained in series: rebooted, not as before, ended, tried with a server"),
    "maintain-killed": MatrixPart("three hosts rebooted in series, killed at random ten times"),
    "remove": MatrixPart(
        "a host removed, killed and not; its name again on an empty machine; leftovers", (REMOVE, REMOVE_LEFTOVERS)
    ),
    "zones": MatrixPart("resizes, unshelvings and zone pins, broken off and attacked in every way"),
    "rename": MatrixPart("renames: what does not go into every run", whole=(RENAME, OPENVSWITCH), beside=True),
    "audit-links": MatrixPart("the audit and its forecast; wrong links, each made and repaired"),
    "forecast": MatrixPart("random states of hosts: the forecast against what nova-compute does"),
    "adopt": _adopt_of(NEWEST),
    "crash": MatrixPart("a rename killed at every boundary; connections that are lost", ("tests/crash",)),
    "crash-back": MatrixPart("a rollback killed at every boundary", ("tests/crash",)),
    "rename-disturbed": MatrixPart(
        "a rename whose host reboots, and whose guests end, are changed, and get requests meanwhile", ("tests/crash",)
    ),
    "rename-owners": MatrixPart(
        "ten renames with access to RabbitMQ, killed and not, while owners of guests ask for everything",
        ("tests/crash",),
    ),
    "rename-owners-blind": MatrixPart(
        "ten renames without access to RabbitMQ, killed and not, while owners ask for everything", ("tests/crash",)
    ),
    "evacuation-two-pools": MatrixPart("evacuations where each zone has its own pool", lab=Shape(computes=4, pools=2)),
    "cells": MatrixPart("every operation in a cloud with two cells", (CELLS,), lab=Shape(computes=4, cells=2)),
    "evacuation-two-clusters": MatrixPart(
        "evacuations where each zone has its own Ceph cluster", lab=Shape(computes=4, clusters=2)
    ),
    "volumes-audit": MatrixPart(
        "doctor and audit of servers on volumes: rights of the Ceph user, watchers",
        (VOLUMES_AUDIT,),
        Shape(cinder="ceph,nfs,san"),
    ),
    "volumes-rename": _volumes_rename_of(),
    "volumes-moves": MatrixPart(
        "servers on volumes: unshelved with `cross_az_attach=false`, moved by a rename by drain that is killed",
        (VOLUMES_MOVES,),
        Shape(cinder="ceph,nfs,san"),
    ),
    "volumes-evacuation": MatrixPart(
        "evacuations of servers on volumes: two writers, fences, failed spawns, every back end",
        lab=Shape(cinder="ceph,nfs,san"),
    ),
    "volumes-killed": MatrixPart(
        "evacuations of servers on volumes of every back end, killed at random",
        (VOLUMES_KILLED,),
        Shape(cinder="ceph,nfs,san"),
    ),
    "volumes-rename-killed": MatrixPart(
        "ten renames under servers on volumes of every back end, killed at random",
        (VOLUMES_KILLED,),
        Shape(cinder="ceph,nfs,san"),
    ),
    "evacuation-shared": MatrixPart(
        "evacuations of servers whose disks are files of a directory that two hosts share",
        lab=Shape(instances="shared"),
    ),
    "rename-ovn": MatrixPart(
        "OVN: renames under packets, what wrong orders cut off, moves and evacuations", OVN, Shape(l2="ovn")
    ),
    "operations-ovn": MatrixPart(
        "OVN: doctor, audit, drain, evacuation, return, rename by drain", OVN_OPERATIONS, Shape(l2="ovn")
    ),
    "maintain-ovs": MatrixPart(
        "Open vSwitch: a maintained host whose agent is dead", (MAINTAIN_AGENTS,), Shape(l2="ovs")
    ),
    "maintain-ovn": MatrixPart(
        "OVN: a maintained host whose chassis is dead; the chassis of a host that is removed",
        (MAINTAIN_AGENTS, REMOVE_OVN),
        Shape(l2="ovn"),
        whole=(MAINTAIN_AGENTS,),
    ),
    "crash-ovn": MatrixPart("OVN: renames killed at each step, under packets", OVN_KILLED, Shape(l2="ovn")),
    "crash-ovn-random": MatrixPart("OVN: renames killed at random, under packets", OVN_KILLED, Shape(l2="ovn")),
    "rename-ovn-rbac": _ovn_of("renames where RBAC forbids ovn-controller to write its hostname", ovn="rbac"),
    "rename-ovn-no-key": _ovn_of("renames where ovn-controller takes its hostname from the host", ovn="no-key"),
    "rename-ovn-system-id": _ovn_of("a chassis whose name is the host's first name", whole=(), ovn="system-id"),
    "rename-ovn-2025.1": MatrixPart(
        "OVN: renames under packets", (OVN_RENAME,), Shape(release="2025.1", l2="ovn"), whole=(OVN_RENAME,)
    ),
    "kolla": MatrixPart(
        KOLLA_TEXT,
        (KOLLA,),
        Shape(l2="ovs", deploy=KOLLA_HOSTS),
    ),
    "operations-kolla": MatrixPart(
        "hosts with containers: doctor, audit, moves, drain, resize, links, evacuation, return",
        (KOLLA_OPERATIONS,),
        Shape(l2="ovs", deploy=KOLLA_HOSTS),
    ),
    "kolla-docker": _kolla_of(engine="docker"),
    "kolla-ovn": _kolla_of(l2="ovn"),
    "rename-kolla": MatrixPart(
        KOLLA_RENAME_TEXT,
        (KOLLA_RENAME,),
        Shape(l2="ovs", deploy="kolla:compute1"),
    ),
    "drain-kolla": MatrixPart(
        "renames by draining a host with containers, killed, rolled back and rebooted",
        (KOLLA_DRAIN,),
        Shape(l2="ovs", deploy="kolla:compute1"),
    ),
    "crash-kolla": MatrixPart(
        "renames of a host with containers, killed at random",
        (KOLLA_KILLED,),
        Shape(l2="ovs", deploy="kolla:compute1"),
    ),
    "crash-kolla-again": MatrixPart(
        "renames of a host with containers, killed at other moments",
        (KOLLA_KILLED,),
        Shape(l2="ovs", deploy="kolla:compute1"),
    ),
    "kolla-module": MatrixPart(
        KOLLA_MODULE_TEXT,
        (KOLLA_MODULE,),
        Shape(l2="ovs", deploy="kolla:compute1"),
    ),
    "kolla-module-docker": MatrixPart(
        KOLLA_MODULE_TEXT,
        (KOLLA_MODULE,),
        Shape(l2="ovs", deploy="kolla:compute1", engine="docker"),
        (KOLLA_MODULE,),
    ),
    "rename-kolla-docker": _kolla_rename_of(l2="ovs", engine="docker"),
    "rename-kolla-ovn": _kolla_rename_of(l2="ovn"),
    "rename-kolla-docker-ovn": _kolla_rename_of(l2="ovn", engine="docker"),
    "rename-2025.1": _rename_of("2025.1"),
    "rename-2024.1": _rename_of("2024.1"),
    "forecast-2024.1": _forecast_of("2024.1"),
    "rename-2023.1": _rename_of("2023.1"),
    "adopt-2023.1": _adopt_of("2023.1", whole=(ADOPT,)),
    "forecast-2023.1": _forecast_of("2023.1"),
    "volumes-rename-2023.1": _volumes_rename_of(release="2023.1", whole=(VOLUMES_RENAME,)),
}
#: Parts that a test can name: the others run whole files and nothing else.
NAMED = tuple(name for name, part in PARTS.items() if part.files != part.whole)
#: The part of a test whose mark names none, by how its file begins.
OF_FILES = {
    "tests/unit/": "unit-long",
    "tests/integration_db/": "databases",
    "tests/crash/test_3_": "rename-disturbed",
    "tests/crash/test_4_": "rename-disturbed",
    "tests/crash/test_5_": "rename-owners",
    "tests/crash/": "crash",
    "tests/integration/test_0_secrets": "input",
    "tests/integration/test_1_refusals": "input",
    "tests/integration/test_0_": "rename",
    "tests/integration/test_1_": "rename",
    "tests/integration/test_2_": "rename",
    "tests/integration/test_3_": "rename",
    "tests/integration/test_audit": "audit-links",
    "tests/integration/test_compute_id": "audit-links",
    "tests/integration/test_forecast": "forecast",
    "tests/integration/test_leftovers": "leftovers",
    "tests/integration/test_links": "audit-links",
    "tests/integration/test_evacuate_attacked": "evacuation-attacked",
    "tests/integration/test_evac": "evacuation",
    "tests/integration/test_return": "evacuation",
    "tests/integration/test_drain": "rename-drain",
    "tests/integration/test_arrived": "moves",
    "tests/integration/test_destinations": "moves",
    "tests/integration/test_maintain": "maintain",
    "tests/integration/test_moves": "moves",
    "tests/integration/test_remove": "remove",
    "tests/integration/test_unshelve": "zones",
    "tests/integration/test_volumes_audit": "volumes-audit",
    "tests/integration/test_volumes_rename": "volumes-rename",
    "tests/integration/test_zone": "zones",
}


def of_file(path):
    """The part of a file's tests, None if it is in none."""
    return next((part for start, part in OF_FILES.items() if path.startswith(start)), None)
