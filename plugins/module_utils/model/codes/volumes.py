# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Codes SG524 to SG527: volumes, as Cinder sees them. See code.py."""

from __future__ import annotations

import typing as t

from .code import (
    BLOCKER,
    DELETION,
    MIGRATIONS,
    NOTHING,
    NOVAS_HOST,
    PEOPLE,
    RECORD,
    START,
    STOP,
    WARNING,
    WATCHERS,
    Act,
    Code,
    Remedy,
)

#: Stop, connect anew, start: proven with RBD and with a back end that exports to hosts (facts of cinder, 4).
REFRESH = (
    "Stop the server (openstack server stop {server}). On {host}, run nova-manage volume_attachment get_connector "
    "--json > connector.json. Where nova-manage reaches the databases, run nova-manage volume_attachment refresh "
    "{server} {volume} connector.json. Then start the server (openstack server start {server})"
)
REFRESHES = (
    Act(
        (STOP, START),
        "the server is on the host that the command names, by Nova, and no migration of it is open",
        (NOVAS_HOST, MIGRATIONS, WATCHERS),
        NOTHING,
    ),
)

CODES: t.Tuple[Code, ...] = (
    Code(
        "SG524",
        "volume-connected-elsewhere",
        WARNING,
        "Cinder has a server's volume connected to another host than the server's.",
        of_server=True,
        why="""
            An evacuation connects the volumes to the destination before it starts the guest. If that start fails, Nova
            leaves the server on its host, and the volumes connected to the destination. A back end that exports volumes
            to hosts (FC, iSCSI, NVMe-oF) then has the volume where the server is not: the next hard reboot on its host
            ends in ERROR, and Nova removes the domain. Ceph and NFS serve every host, so that the server starts there;
            the record stays wrong until the next move.
        """,
        remedies={
            "elsewhere": Remedy(
                REFRESH + ". Until then, do not reboot the server hard: if the back end exports the volume to "
                "{other} only, the server ends in ERROR.",
                acts=REFRESHES,
            ),
            "elsewhere-harmless": Remedy(
                "The server works: its back end serves every host. The record is right again after the server's next "
                "move. To correct the record now: " + REFRESH + ".",
                acts=REFRESHES,
            ),
            "unconnected": Remedy(
                "Look at Nova's log of the server's last move on {host}. If the server works, only the record is "
                "missing: connect the volume anew. " + REFRESH + ".",
                acts=REFRESHES,
            ),
            "failed-spawn": Remedy(
                "Before another evacuation nothing is to be done: it connects the volume anew. If the server is to "
                "start on {host} again, connect the volume to {host} first, once return_host has let nova-compute "
                "start. " + REFRESH + ".",
                acts=REFRESHES,
            ),
        },
    ),
    Code(
        "SG525",
        "volume-attachment-left",
        WARNING,
        "Cinder has a volume attachment that no server uses.",
        of_server=True,
        why="""
            A nova-compute that ends between two requests to Cinder leaves an attachment that is only reserved. The
            volume then stays `reserved` after it is detached, and can't be deleted. With two connections of one server,
            Cinder refuses the next one ("duplicate connectors detected"). A server that boots, and a volume that is
            attached just now, have such an attachment for some seconds.
        """,
        remedies={
            "reserved": Remedy(
                "Look again after a minute. If the attachment is still there, no server has this volume (openstack "
                "server show {server} -c volumes_attached) and no task of the server is in progress, run openstack "
                "volume attachment delete {attachment} --os-volume-api-version 3.44. Cinder refuses this for an "
                "attachment that a server uses.",
                acts=(Act((DELETION,), "the attachment has no connection", (PEOPLE,), RECORD),),
            ),
            "twice": Remedy(
                "Find out which attachment the server uses: nova-manage volume_attachment show {server} {volume}. Of "
                "the others, look at each (openstack volume attachment show ATTACHMENT --os-volume-api-version 3.44). "
                "If it is not connected, run openstack volume attachment delete ATTACHMENT --os-volume-api-version "
                "3.44. Cinder refuses this for an attachment that a server uses.",
                acts=(Act((DELETION,), "the attachment has no connection", (PEOPLE,), RECORD),),
            ),
        },
    ),
    Code(
        "SG526",
        "volume-not-ready",
        BLOCKER,
        "A server's volume is in no state to be moved, or Cinder does not serve it.",
        of_server=True,
        overridden_by="the server's uuid",
        why="""
            A move makes a new attachment and deletes the old one, each by Cinder and by the cinder-volume of the back
            end. If Cinder refuses the new one, or the cinder-volume is down (it may have died with this very host), the
            server ends in ERROR. In an audit this is a warning.
        """,
        remedies={
            "status": Remedy(
                "Find out why the volume is {status} (openstack volume show {volume}; openstack volume message list), "
                "and let Cinder finish, or repair it there. The server moves when the volume is in-use."
            ),
            "backend-down": Remedy(
                "Start the cinder-volume of {backend}, or let another one take over its back end, until openstack "
                "volume service list shows it up."
            ),
        },
    ),
    Code(
        "SG527",
        "volume-without-watcher",
        WARNING,
        "A running server has a volume in Ceph that no client has open.",
        from_hosts=True,
        of_server=True,
        why="""
            QEMU keeps a watcher on each image that it has open for writing. Without one, the guest runs without this
            disk, or it does not run where Nova says.
        """,
        remedies={
            "unwatched": Remedy(
                "Look at the guest's disks on its host (virsh domblklist {server}; virsh domblkerror {server}), and at "
                "Nova's log of the last attachment. Ceph drops the watcher of a client that is cut off after 30 "
                "seconds."
            ),
        },
    ),
)
