# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as it was at the end of its first boot, and the way back to it."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import time
from pathlib import Path

from . import ceph, cinder, cloud, control, hosts, network, ovn, shares, strangers
from .procs import in_control
from .settings import IMAGE_POOL, PYTHON, SOURCE, Cluster, Lab, LabError
from .shell import each, phase, run, together

# Services that hold what they read from the databases or from the queues; the others find their way by themselves.
RESTARTED = (
    "nova-api",
    "nova-scheduler",
    "nova-conductor",
    "nova-conductor-cell2",
    *cinder.SERVICES,
    "neutron-rpc",
    "neutron-ovn",
    "neutron",
    "ovn-northd",
    "ovn-nb",
    "ovn-sb",
    "memcached",
    "rabbitmq",
    "mariadb",
)


def _purge_script(lab: Lab, cluster: Cluster, *args: str | Path, log: Path | None = None) -> str:
    script = SOURCE / "scripts" / "rbd_purge.py"
    return in_control(lab, PYTHON, script, cluster.conf, *args, log=log, timeout=300).stdout


def _images(lab: Lab, cluster: Cluster) -> Path:
    """The names of a cluster's images at the end of the first boot."""
    return lab.snapshot / ("images.json" if cluster.number == 1 else f"images{cluster.number}.json")


def take(lab: Lab) -> None:
    """Kept: the databases, OVN's among them, each host's compute_id, and the names of the images."""
    shutil.rmtree(lab.snapshot, ignore_errors=True)
    for number in lab.host_numbers:
        source = lab.host_dir(number) / "upper" / "var/lib/nova/compute_id"
        target = lab.snapshot / "hosts" / f"compute{number}"
        target.mkdir(parents=True)
        if source.exists():
            shutil.copy2(source, target / "compute_id")
    for cluster in lab.clusters:
        _images(lab, cluster).write_text(_purge_script(lab, cluster, "list"))
    ovn.save(lab)
    _copy_databases(lab)
    lab.mark("snapshot")


def _copy_databases(lab: Lab) -> None:
    """The data directory of a server that stands still: what a crash would leave, which InnoDB recovers by design.

    Stopping it for real would make every service of a cloud that has just come up log errors.
    """
    pid = control.daemons(lab)["mariadb"].pid()
    if not pid:
        raise LabError("MariaDB is not running", log=lab.log / "mariadb.log")
    control.mysql(lab, "-e", "FLUSH ENGINE LOGS")
    os.killpg(pid, signal.SIGSTOP)
    try:
        time.sleep(0.3)  # lets writes that the kernel has already taken come to their end
        run(["cp", "-a", "--sparse=always", lab.state / "mysql", lab.snapshot / "mysql"])
    finally:
        os.killpg(pid, signal.SIGCONT)


def reset(lab: Lab) -> None:
    if not lab.done("snapshot"):
        raise LabError("this lab has no snapshot yet: its first boot did not end", hint="lab/lab up")
    lab.mark("resetting")  # a reset that is interrupted half way is finished by the next `up`
    services = control.daemons(lab)
    with phase("hosts and services stopped"):
        present = [name for name in RESTARTED if name in services]
        together(lambda: hosts.all_off(lab), *(functools.partial(services[name].stop, grace=3) for name in present))
        control.kill_strangers(lab)
        strangers.remove(lab)
        network.control_up(lab)
        ceph.up(lab)
    with phase("disks, databases and hosts put back"):
        together(lambda: _restore_databases(lab), lambda: _restore_disks(lab), lambda: _restore_hosts(lab))
    with phase("services"):
        control.backends_up(lab)
        since, reports = cloud.now(lab), cloud.volume_reports(lab)
        control.start(lab, [name for name in services if name not in ("mariadb", "rabbitmq", "memcached")])
        each(lambda number: hosts.boot(lab, number), lab.host_numbers)
        control.wait_apis(lab)
        cloud.warm_up(lab)
    cloud.wait_computes(lab, since)
    cloud.wait_volumes(lab, reports)
    if not cloud.zones_complete(lab):  # a snapshot of an earlier version of the lab may lack its last second
        with phase("zones, flavors, image, network"):
            cloud.make_objects(lab)
    lab.unmark("resetting")


def _restore_databases(lab: Lab) -> None:
    shutil.rmtree(lab.state / "mysql", ignore_errors=True)
    scratch = lab.state / "mysql.new"
    shutil.rmtree(scratch, ignore_errors=True)
    run(["cp", "-a", "--sparse=always", lab.snapshot / "mysql", scratch])
    scratch.rename(lab.state / "mysql")
    ovn.restore(lab)


def _restore_disks(lab: Lab) -> None:
    shares.empty(lab)
    each(lambda cluster: _restore_cluster(lab, cluster), lab.clusters)


def _restore_cluster(lab: Lab, cluster: Cluster) -> None:
    emptied = [pool for pool in cluster.all_pools if pool != IMAGE_POOL]
    log = lab.log / f"rbd-purge{cluster.number}.log"
    _purge_script(lab, cluster, "purge", _images(lab, cluster), *emptied, log=log)
    in_control(lab, "ceph", "-c", cluster.conf, "osd", "blocklist", "clear", check=False, timeout=60)


def _restore_hosts(lab: Lab) -> None:
    for number in lab.host_numbers:
        folder = lab.host_dir(number)
        (folder / "prepared").unlink(missing_ok=True)
        hosts.prepare(lab, number)
