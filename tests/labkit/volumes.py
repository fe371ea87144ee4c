# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Volumes of a lab with Cinder: what Cinder's database, the array, Ceph and the hosts have of them."""

from __future__ import annotations

import json
import tempfile

import openstack
import pytest

from . import waiting
from .deadhost import SOURCE, boot
from .guests import NEW

#: Each kind of server: root and data on Ceph, a share, the array; encrypted; Nova's own disk with a volume.
KINDS = {
    "ceph": ("--volume", "ceph", "--data-volume", "ceph"),
    "nfs": ("--volume", "nfs"),
    "san": ("--volume", "ceph", "--data-volume", "san"),
    "luks": ("--volume", "ceph", "--data-volume", "luks"),
    "own": ("--data-volume", "ceph"),
}
#: What Nova's Ceph user may do where it reads the volumes' pool, too; and where it does not.
READER = "profile rbd pool=vms, profile rbd-read-only pool=images, profile rbd-read-only pool=volumes"
BLIND = "profile rbd pool=vms, profile rbd-read-only pool=images"
DETAIL = "/servers/detail?all_tenants=1"


@pytest.fixture(scope="module")
def volumes(lab):
    return Volumes(lab)


@pytest.fixture
def readable(clean):
    """Nova's Ceph user may read the pool of the volumes."""
    may_read(clean, READER)
    yield clean
    may_read(clean, BLIND)


def may_read(lab, osd):
    (found,) = json.loads(lab.command("ceph", "auth", "get", "client.nova", "--format", "json").stdout)
    caps = {**found["caps"], "osd": osd}
    lab.command("ceph", "auth", "caps", "client.nova", *(word for pair in caps.items() for word in pair))


def machine(name):
    """The lab's own name of a host, whether it was renamed or not."""
    return SOURCE if name == NEW else name


def booted(lab, *kinds, on=SOURCE):
    """Boot one server of each kind; uuids by kind."""
    return {kind: next(iter(boot(lab, kind, 1, *KINDS[kind], on=on).values())) for kind in kinds}


class Volumes:
    """The volumes of one lab."""

    def __init__(self, lab):
        self.lab = lab

    def call(self, method, path, body=None):
        answer = self.lab.cloud.block_storage.request(path, method, json=body, microversion="3.50")
        openstack.exceptions.raise_from_response(answer)
        return answer.json() if answer.content else {}

    # --- volumes

    def create(self, kind="ceph", zone="az1"):
        """Make a volume of 1 GiB and return its uuid."""
        wanted = {"size": 1, "volume_type": kind, "availability_zone": zone}
        uuid = self.call("POST", "/volumes", {"volume": wanted})["volume"]["id"]
        self.wait(uuid, "available")
        return uuid

    def status(self, uuid):
        return self.call("GET", f"/volumes/{uuid}")["volume"]["status"]

    def wait(self, uuid, status):
        def seen():
            found = self.status(uuid)
            assert not found.startswith("error") or found == status, f"{uuid} is {found}"
            return found == status or None

        waiting.until(lambda: f"volume {uuid} is {status}, not {self.status(uuid)}", seen, 120, 1)

    def attach(self, server, volume, status="in-use"):
        """Attach a volume and wait until it is so; ``status``: what becomes of it."""
        body = {"volumeAttachment": {"volumeId": volume}}
        self.lab.compute("POST", f"/servers/{server}/os-volume_attachments", body)
        waiting.until("the attachment ends", lambda: self.status(volume) in (status, "available") or None, 120, 1)
        assert self.status(volume) == status

    def detach(self, server, volume):
        self.lab.compute("DELETE", f"/servers/{server}/os-volume_attachments/{volume}")
        self.wait(volume, "available")

    def of(self, server):
        """The volumes that Nova says a server has."""
        return [row["id"] for row in self.lab.server(server)["os-extended-volumes:volumes_attached"]]

    def refresh(self, server, volume, host):
        """Connect a stopped server's volume anew to a host of the lab: type what the remedy says."""
        program = f"{self.lab.info['nova_venv']}/bin/nova-manage --config-file /etc/nova/nova.conf"
        connector = self.lab.ssh(host, f"{program} volume_attachment get_connector --json 2>/dev/null")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(connector)
            file.flush()
            self.lab.command("nova-manage", "volume_attachment", "refresh", server, volume, file.name)

    # --- who has them

    def rows(self):
        """Every attachment that is not deleted: volume, server, status, host, and the host of its connector."""
        found = self.lab.sql(
            "cinder",
            "SELECT volume_id, instance_uuid, attach_status, attached_host, connector FROM volume_attachment"
            " WHERE deleted = 0 ORDER BY volume_id",
        )
        return [
            {
                "volume": row["volume_id"],
                "server": row["instance_uuid"],
                "status": row["attach_status"],
                "host": row["attached_host"],
                "connector": json.loads(row["connector"] or "{}").get("host"),
            }
            for row in found
        ]

    def hosts(self, server):
        """The hosts to which a server's volumes are connected."""
        return {row["host"] for row in self.rows() if row["server"] == server}

    def array(self):
        """What the array has: host objects and exports."""
        return json.loads(self.lab.command("san", "show", "--json").stdout)

    def watchers(self, volume):
        """The address of each client that has an image in Ceph open."""
        text = self.lab.command("rbd", "status", f"volumes/volume-{volume}", "--format", "json").stdout
        return sorted(entry["address"].partition(":")[0] for entry in json.loads(text)["watchers"])

    def mounts(self, host):
        """How many shares Nova has mounted on a host."""
        return int(self.lab.ssh(host, "grep -c ' /var/lib/nova/mnt/' /proc/mounts || true"))

    # --- all of them

    def wrong(self, stale=False):
        """Everything that is not as it must be with servers at rest: attachments, watchers, exports, mounts.

        ``stale``: attachments may have either name of a machine that was renamed.
        """
        servers = {server["id"]: server for server in self.lab.compute("GET", DETAIL)["servers"]}
        volumes = {row["id"]: row for row in self.call("GET", "/volumes/detail?all_tenants=1")["volumes"]}
        having = {volume: [] for volume in volumes}
        found, rows = [], self.rows()
        for server in servers.values():
            host = server["OS-EXT-SRV-ATTR:host"]
            at, named = machine(host), machine if stale else str
            for volume in (row["id"] for row in server["os-extended-volumes:volumes_attached"]):
                having[volume].append((at, server["status"]))
                mine = [row for row in rows if (row["volume"], row["server"]) == (volume, server["id"])]
                seen = [(row["status"], named(row["host"]), named(row["connector"])) for row in mine]
                if seen != [("attached", named(host), named(host))]:
                    found.append(f"{server['name']} on {host}: {volume}: {seen}")
        found += [f"attachment of no server: {row}" for row in rows if row["server"] not in servers]
        status = {volume: "in-use" if having[volume] else "available" for volume in volumes}
        found += [f"{uuid}: {row['status']}" for uuid, row in volumes.items() if row["status"] != status[uuid]]
        kinds = {uuid: row["volume_type"] for uuid, row in volumes.items()}
        return [*found, *self._open_elsewhere(kinds, having), *self._exported(kinds, having)]

    def _open_elsewhere(self, kinds, having):
        """Images in Ceph that are not open exactly where their running servers are; shares mounted without need."""
        found = []
        for volume in (uuid for uuid, kind in kinds.items() if kind not in ("nfs", "san")):
            wanted = sorted(self.lab.info["hosts"][at]["address"] for at, state in having[volume] if state == "ACTIVE")
            seen = self.watchers(volume)
            if seen != wanted:
                found.append(f"{volume} is open at {seen}, not at {wanted}")
        needed = {at for uuid, kind in kinds.items() if kind == "nfs" for at, _state in having[uuid]}
        mounted = {host: self.mounts(host) for host in filter(self.lab.is_on, self.lab.hosts)}
        wrong = {host: number for host, number in mounted.items() if number != (host in needed)}
        return [*found, *([f"shares mounted: {wrong}; needed on {sorted(needed)}"] if wrong else [])]

    def _exported(self, kinds, having):
        """Exports of the array that no server needs, those that one lacks, and host objects that say otherwise."""
        if "san" not in self.lab.info["cinder"]:
            return []
        array = self.array()
        wanted = {host: set() for host in array["exports"]}
        for volume in (uuid for uuid, kind in kinds.items() if kind == "san"):
            for at, _state in having[volume]:
                wanted[at].add(f"volume-{volume}")
        seen = {host: set(volumes) for host, volumes in array["exports"].items()}
        known = sorted(name for entry in array["hosts"].values() for name in entry["volumes"])
        found = [f"exports {seen}, not {wanted}"] if seen != wanted else []
        if known != sorted(name for names in wanted.values() for name in names):
            found.append(f"host objects {array['hosts']}, not {wanted}")
        return found
