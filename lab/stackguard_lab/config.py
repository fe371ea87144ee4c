# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration files: every template filled with this lab's names, addresses and secrets."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from pathlib import Path
from string import Template

from . import cinder, containers, ovn, shares
from .settings import IMAGE_POOL, SOURCE, VOLUME_POOL, Cluster, Lab

# libvirt's secret that holds the key of Ceph's client.nova; the same on every host, as Nova wants it
CEPH_SECRET = "457eb676-33da-42ec-9a8c-9293d545c337"
FAST_STOP_SECONDS = 10


def render(template: str, /, **values: object) -> str:
    return Template((SOURCE / "templates" / template).read_text()).substitute(values)


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _client(lab: Lab, user: str) -> str:
    """The options with which a service signs in to keystone."""
    return "\n".join(
        [
            f"auth_url = {lab.auth_url}",
            "auth_type = password",
            "project_domain_name = Default",
            "user_domain_name = Default",
            "project_name = service",
            f"username = {user}",
            f"password = {lab.options.password}",
            "region_name = RegionOne",
        ]
    )


def _token(lab: Lab, user: str) -> str:
    """The options with which a service's API checks tokens."""
    return "\n".join(
        [f"www_authenticate_uri = {lab.auth_url}", f"memcached_servers = {lab.controller}:11211", _client(lab, user)]
    )


def values(lab: Lab) -> dict[str, object]:
    users = ("placement", "glance", "neutron", "nova", "cinder")
    found: dict[str, object] = {
        "controller": lab.controller,
        "password": lab.options.password,
        "rabbit": lab.rabbit_url,
        "definitions": f"load_definitions = {definitions(lab)}" if lab.options.cells > 1 else "",
        **cell_values(lab, lab.cells[0]),
        "db": lab.db_url("").rstrip("/"),
        "auth_url": lab.auth_url,
        "state": lab.state,
        "etc": lab.etc,
        "log": lab.log,
        "run": lab.run,
        "base": lab.base,
        "secret": CEPH_SECRET,
        "secret_user": "nova",
        "nova_cinder": _client(lab, "nova") if lab.has_cinder else "auth_type = none",
        **cinder.values(lab),
        "control_venv": lab.control_venv,
        "nova_venv": lab.nova_venv,
        "mechanism": "openvswitch" if lab.options.l2 == "ovs" else "labtap",
        "service_plugins": "ovn-router" if lab.options.l2 == "ovn" else "",
        "ovn_nb": ovn.nb(lab),
        "ovn_sb": ovn.sb(lab),
    }
    found.update({f"client_{user}": _client(lab, user) for user in users})
    found.update({f"token_{user}": _token(lab, user) for user in users})
    found["common"] = render("nova-common.conf", **found)
    return found


def cell_values(lab: Lab, cell: str) -> dict[str, object]:
    """Which database and which messages the Nova services of a cell use."""
    return {"cell_rabbit": lab.cell_rabbit_url(cell), "cell_database": lab.db_url(f"nova_{cell}")}


def definitions(lab: Lab) -> Path:
    return lab.etc / "rabbitmq-definitions.json"


def _broker(lab: Lab) -> str:
    """The broker's virtual hosts, one for each further cell. Where these are given, it makes no default user."""
    salt = b"\x01\x02\x03\x04"
    secret = base64.b64encode(salt + hashlib.sha256(salt + lab.options.password.encode()).digest()).decode()
    hosts = ["/", *lab.cells[1:]]
    rights = {"configure": ".*", "write": ".*", "read": ".*"}
    return json.dumps(
        {
            "users": [
                {
                    "name": "lab",
                    "password_hash": secret,
                    "hashing_algorithm": "rabbit_password_hashing_sha256",
                    "tags": ["administrator"],
                }
            ],
            "vhosts": [{"name": host} for host in hosts],
            "permissions": [{"user": "lab", "vhost": host, **rights} for host in hosts],
        },
        indent=1,
    )


def fsid(lab: Lab, cluster: int = 1) -> str:
    """A Ceph cluster's id: the same for the life of the lab, derived from its secret."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, lab.options.password + ("" if cluster == 1 else f"/{cluster}")))


def machine_id(lab: Lab, number: int) -> str:
    return uuid.uuid5(uuid.UUID(fsid(lab)), f"compute{number}").hex


def _ceph_key(cluster: Cluster, user: str) -> str:
    keyring = (cluster.keys / f"ceph.client.{user}.keyring").read_text()
    return next(line.split("=", 1)[1].strip() for line in keyring.splitlines() if line.strip().startswith("key"))


def secrets(lab: Lab, number: int) -> dict[str, str]:
    """libvirt's files of the host's secrets: the key of client.nova in its cluster, that of client.cinder in the first.

    A host has client.cinder's key nowhere else: Nova takes the user and the secret of a volume from Cinder.
    """
    users = [(CEPH_SECRET, "nova", lab.cluster_of(number))]
    if lab.has_cinder:
        users.append((cinder.SECRET, "cinder", lab.cluster(1)))
    found = {}
    for secret, user, cluster in users:
        found[f"{secret}.xml"] = render("host-libvirt-secret.xml", secret=secret, secret_user=user)
        found[f"{secret}.base64"] = _ceph_key(cluster, user)
    return found


def cluster_values(lab: Lab, cluster: Cluster) -> dict[str, object]:
    """What the configuration files of a Ceph cluster and of its clients say."""
    return {
        "fsid": fsid(lab, cluster.number),
        "monitor": cluster.address,
        "keys": cluster.keys,
        "ceph": cluster.data,
        "ceph_run": cluster.run,
        "ceph_log": lab.log / cluster.prefix,
    }


def fast_stop(lab: Lab) -> list[str]:
    """What lets nova-compute stop within seconds; 34 by itself takes up to three minutes, for nothing in a lab."""
    lines = [f"graceful_shutdown_timeout = {FAST_STOP_SECONDS}"]
    if lab.nova_major >= 34:
        lines.append(f"manager_shutdown_timeout = {FAST_STOP_SECONDS // 2}")
    return lines


def host_values(lab: Lab, number: int) -> dict[str, object]:
    shutdown = "\n".join(fast_stop(lab)) if lab.options.fast_stop else ""
    ovs = ""
    if lab.has_openvswitch:
        # os-vif adds the port before libvirt makes the tap, so network-vif-plugged never comes with this datapath
        ovs = (
            "[vif_plug_ovs]\novsdb_connection = tcp:127.0.0.1:6640\n[compute]\nlive_migration_wait_for_vif_plug = false"
        )
    sections = (
        "privsep",
        "privsep_ovs_vsctl",
        "privsep_namespace",
        "privsep_conntrack",
        "privsep_link",
        "privsep_default",
    )
    helper = f"{lab.control_venv}/bin/privsep-helper --config-file /etc/neutron/neutron.conf"
    privsep = "\n".join(f"[{section}]\nhelper_command = {helper}" for section in sections)
    return {
        **values(lab),
        **cell_values(lab, lab.cell_of(number)),
        **cluster_values(lab, lab.cluster_of(number)),
        **ovn.host_values(lab, number),
        "images": _images(lab, number),
        "mounts": shares.host_mounts(lab, number),
        "address": lab.host_address(number),
        "name": f"compute{number}",
        "shutdown": shutdown,
        "ovs": ovs,
        "privsep": privsep,
        "host_dir": lab.host_dir(number),
        "cgroup": lab.host_ns(number),
        "host_uuid": str(uuid.UUID(machine_id(lab, number))),
        **_deployed(lab, number),
    }


def _images(lab: Lab, number: int) -> str:
    """Where the host's nova-compute keeps the disks of its guests."""
    if lab.shares_instances(number):
        return "images_type = qcow2"
    return "\n".join(
        [
            "images_type = rbd",
            f"images_rbd_pool = {lab.pool_of(number)}",
            "images_rbd_ceph_conf = /etc/ceph/ceph.conf",
            "rbd_user = nova",
            f"rbd_secret_uuid = {CEPH_SECRET}",
        ]
    )


def _deployed(lab: Lab, number: int) -> dict[str, object]:
    """What differs between a host of packages and one of containers, in files that both have."""
    if lab.deploy_of(number) == "kolla":
        return {
            "cgroup_version": 2,
            "libvirt_units": "",
            "nova_log": "/var/log/kolla/nova",
            "neutron_log": "/var/log/kolla/neutron",
            "connection": f"\nconnection_uri = qemu+tcp://{lab.host_address(number)}/system",
            # [] would forbid libvirt to make groups of its own where it can
            "cgroup_controllers": '["cpuacct"]',
        }
    return {
        "cgroup_version": 1,
        "libvirt_units": " virtlogd.socket libvirtd.socket libvirtd-tcp.socket libvirtd.service",
        "nova_log": "/var/log/nova",
        "neutron_log": "/var/log/neutron",
        "connection": "",
        "cgroup_controllers": "[]",
    }


def write_control(lab: Lab) -> None:
    """All files of the control plane; harmless to write again."""
    known = values(lab)
    etc = lab.etc
    for name, path in {
        "mysql-init.sql": etc / "mysql-init.sql",
        "rabbitmq.conf": etc / "rabbitmq.conf",
        "keystone.conf": etc / "keystone" / "keystone.conf",
        "placement.conf": etc / "placement" / "placement.conf",
        "glance-api.conf": etc / "glance" / "glance-api.conf",
        "neutron.conf": etc / "neutron" / "neutron.conf",
        "ml2_ovn_conf.ini" if lab.options.l2 == "ovn" else "ml2_conf.ini": etc / "neutron" / "ml2_conf.ini",
        "nova-controller.conf": lab.nova_conf,
        "gunicorn.conf.py": etc / "gunicorn.conf.py",
        **({"neutron-ovn-maintenance.py": ovn.maintenance(lab)} if lab.options.l2 == "ovn" else {}),
        **({"cinder.conf": lab.cinder_conf} if lab.has_cinder else {}),
        "clouds.yaml": lab.clouds_yaml,
    }.items():
        write(path, render(name, **known), 0o600)
    for cell in lab.cells[1:]:
        text = render("nova-controller.conf", **{**known, **cell_values(lab, cell)})
        write(lab.cell_conf(cell), text, 0o600)
    if lab.options.cells > 1:
        write(definitions(lab), _broker(lab), 0o600)
    for cluster in lab.clusters:
        write(cluster.conf, render("ceph.conf", **cluster_values(lab, cluster)), 0o600)
        cluster.run.mkdir(parents=True, exist_ok=True)
    # Nova wants it in its own configuration directory, where the release's environment decides what it says
    write(etc / "nova" / "api-paste.ini", (lab.nova_venv / "etc" / "nova" / "api-paste.ini").read_text())
    for folder in ("glance/staging", "glance/tasks", "neutron/lock", "nova/lock", "rabbit", "keystone"):
        (lab.state / folder).mkdir(parents=True, exist_ok=True)
    shares.make(lab)
    write(lab.state / "inventory.yml", inventory(lab))


def inventory(lab: Lab) -> str:
    """An Ansible inventory of the compute hosts (JSON is YAML, and needs no library to write)."""
    ssh = (
        "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=10"
        f" -o ControlMaster=auto -o ControlPersist=60s -o ControlPath=/tmp/{lab.prefix}-%C"
    )
    hosts = {f"compute{n}": {"ansible_host": lab.host_address(n)} for n in lab.host_numbers}
    data = {
        "compute": {
            "hosts": hosts,
            "vars": {
                "ansible_user": "root",
                "ansible_ssh_private_key_file": str(lab.ssh_key),
                "ansible_ssh_common_args": ssh,
                "ansible_ssh_args": "",
                "ansible_python_interpreter": "/usr/bin/python3",
                "ansible_ssh_pipelining": True,
            },
        }
    }
    return json.dumps(data, indent=2) + "\n"


def _cluster_info(lab: Lab, cluster: Cluster) -> dict[str, object]:
    return {
        "number": cluster.number,
        "fsid": fsid(lab, cluster.number),
        "conf": str(cluster.conf),
        "monitor": cluster.address,
        "pools": {"guests": list(cluster.pools), "images": IMAGE_POOL, **_volume_pool(cluster)},
        "hosts": [f"compute{n}" for n in lab.host_numbers if lab.cluster_of(n) == cluster],
    }


def _volume_pool(cluster: Cluster) -> dict[str, str]:
    return {"volumes": VOLUME_POOL} if cluster.volumes else {}


def _cinder_info(lab: Lab) -> dict[str, object]:
    """Nothing but an empty list of back ends, where there is no Cinder."""
    if not lab.has_cinder:
        return {"cinder": []}
    return {
        "cinder": lab.backends,
        "cinder_major": lab.cinder_major,
        "cinder_conf": str(lab.cinder_conf),
        "cinder_db_url": lab.db_url("cinder"),
        "cinder_secret": cinder.SECRET,
        "cinder_hosts": [f"controller@{name}" for name in cinder.backends(lab)],
        "volume_types": cinder.types(lab),
        "nfs_dir": str(shares.volumes(lab)) if "nfs" in lab.backends else None,
        "san_dir": str(lab.san_dir) if "san" in lab.backends else None,
    }


def info(lab: Lab) -> dict[str, object]:
    """Everything a test needs to know, for `lab info --json`."""
    return {
        "instance": lab.instance,
        "release": lab.options.release,
        "nova": lab.nova_major,
        "l2": lab.options.l2,
        "fast_stop": lab.options.fast_stop,
        "deploy": lab.options.deploy,
        "engine": lab.options.engine if lab.kolla_hosts else None,
        "computes": lab.options.computes,
        "state": str(lab.state),
        "base": str(lab.base),
        "subnet": str(lab.network),
        "controller": lab.controller,
        "operator": lab.operator,
        "auth_url": lab.auth_url,
        "clouds_yaml": str(lab.clouds_yaml),
        "cloud": "lab",
        "inventory": str(lab.state / "inventory.yml"),
        "ssh_key": str(lab.ssh_key),
        "password": lab.options.password,
        "mysql_host": lab.controller,
        "mysql_port": 3306,
        "nova_api_db_url": lab.db_url("nova_api"),
        "cell0_db_url": lab.db_url("nova_cell0"),
        **{f"{cell}_db_url": lab.db_url(f"nova_{cell}") for cell in lab.cells},
        "cells": lab.cells,
        "placement_db_url": lab.db_url("placement"),
        "neutron_db_url": lab.db_url("neutron"),
        "ceph_conf": str(lab.ceph_conf),
        "nova_conf": str(lab.nova_conf),
        "pools": {"guests": lab.cluster(1).pools[0], "images": IMAGE_POOL, **_volume_pool(lab.cluster(1))},
        **_cinder_info(lab),
        "instances": lab.options.instances,
        "instances_dir": str(shares.instances(lab)) if lab.options.instances == "shared" else None,
        "clusters": [_cluster_info(lab, cluster) for cluster in lab.clusters],
        "stranger": lab.stranger,
        "control_namespace": lab.control_ns,
        "ovn": ovn.info(lab),
        "python": str(lab.control_venv / "bin" / "python"),
        "nova_venv": str(lab.nova_venv),
        "hosts": {
            f"compute{n}": {
                "address": lab.host_address(n),
                "zone": lab.zone_of(n),
                "namespace": lab.host_ns(n),
                "directory": str(lab.host_dir(n)),
                "cluster": lab.cluster_of(n).number,
                "cell": lab.cell_of(n),
                "pool": lab.pool_of(n),
                "shares_instances": lab.shares_instances(n),
                "deploy": lab.deploy_of(n),
                "engine": lab.options.engine if lab.deploy_of(n) == "kolla" else None,
                "containers": [container.name for container in containers.containers(lab, n)],
                "container_arguments": {
                    container.name: containers.arguments(lab, container) for container in containers.containers(lab, n)
                },
            }
            for n in lab.host_numbers
        },
        "flavors": ["nano", "micro", "big", "locked", "huge"],
        "image": "blank",
        "network": "net0",
    }
