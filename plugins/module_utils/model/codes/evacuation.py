# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Codes SG5xx: evacuation, memory and disks. See code.py."""

from __future__ import annotations

import typing as t

from .code import (
    ALIVE,
    BLOCKER,
    CELLS,
    DELETION,
    FORECAST,
    MIGRATIONS,
    NO_ADDRESSES,
    NO_PROOF,
    NOTHING,
    NOVAS_HOST,
    PEOPLE,
    PROVIDERS,
    REBOOT,
    RESET,
    RUNNING_COPY,
    SERVICES,
    START,
    STOP,
    THIS_HOST,
    WARNING,
    WATCHERS,
    Act,
    Code,
    Remedy,
)
from .phrases import HANDS_OFF, OFF_DEFINITION, OFF_HERE, ONLY_HERE

_OTHER_FENCE = "Use a fence that covers the whole machine: evacuate_fence={fences}."
_CEPH_CAPS = (
    "The following command replaces all caps of the user, so add to it every existing cap that it lacks (ceph auth get "
    "client.{user} shows the existing caps): ceph auth caps client.{user} mon 'profile rbd, allow command "
    "\"osd {word}\" with {word}op=rm' osd 'EXISTING OSD CAPS'"
)
#: A second client of a volume may be that of another server, and right.
_WHO_HAS_VOLUME = (
    "Run openstack volume show {volume} -c multiattach -c attachments to find out to which servers the volume is "
    "attached. A client can belong to another server that has the volume attached (multiattach): end no client and no "
    "guest before you know to which server the client belongs. As soon as no other client has the volume open, "
)
_LOOK_FOR_IMAGE = "(rbd trash ls, guard snapshots)"

CODES: t.Tuple[Code, ...] = (
    Code(
        "SG501",
        "no-real-memory",
        BLOCKER,
        "No possible destination has enough real memory for the server.",
        of_server=True,
        of_destination=True,
        overridden_by="the server's uuid",
        override=(
            "One entry for each server. It then goes to the host with the most free memory, and guard snapshots "
            "protect its disks."
        ),
        why="""
            Placement adds up flavors, and its allocation ratio can promise more memory than the machine has. QEMU then
            can't allocate the server's memory, the start fails, and after a failed start Nova can delete the server's
            root disk ([SG504](SG504.md)).

            A host has what its kernel calls available, less the headroom (`evacuate_memory_headroom_mb` or the host's
            `reserved_host_memory_mb`, whichever is larger), less what its running guests haven't touched yet and what
            is on its way there. A server needs its memory divided by `evacuate_overcommit`, plus 128 MiB. Moves have
            the same options, with `migrate_`.
        """,
        remedies={
            "evacuee-without-destination": Remedy(
                "Make memory available on a host of the server's zone, or add a host. You can also evacuate this "
                "server before other servers (evacuate_order), or leave it out (evacuate_partial=true): it then "
                "stays on the dead host, and you can recover it later."
            ),
            "zone-without-memory": Remedy("Free up memory on a host of the server's zone, or add a host."),
            "zone-without-spare": Remedy(
                "Free up memory in the zone, or add a host to it. Or let the series take fewer hosts at a time "
                "(maintain_serial), or fewer spare hosts (maintain_keep_free): with 0, the guests of a host that fails "
                "during the maintenance may find no place."
            ),
            "zone-without-memory-and-may-stay": Remedy(
                "Free up memory on a host of the server's zone, or add a host, or leave the server where it is "
                "({option}=true)."
            ),
        },
    ),
    Code(
        "SG502",
        "overcommitted-destination",
        WARNING,
        "The destination is overcommitted.",
        from_hosts=True,
        of_server=True,
        why="""
            The running guests may together take more memory than the host has: their maximum memory, plus what the run
            would send there and the headroom. Then the host swaps, or the OOM killer ends guests. Guests on huge pages
            are counted apart. With `evacuate_overcommit` (moves: `migrate_overcommit`) above 1, every destination is
            reported.
        """,
        remedies={
            "destination-overcommitted": Remedy(
                "After the operation, move guests of this host to other hosts, until the maximum memory of those "
                "that stay fits into the host's memory."
            ),
            "host-overcommitted": Remedy(
                "Move guests away (openstack server migrate --live-migration), until the maximum memory of those "
                "that stay fits into the host's memory."
            ),
        },
    ),
    Code(
        "SG503",
        "hugepages-short",
        BLOCKER,
        "No possible destination has enough free huge pages for the server.",
        of_server=True,
        of_destination=True,
        overridden_by="the server's uuid",
        override=("One entry for each server."),
        why="""
            The kernel never overcommits huge pages. A guest starts only if each of its NUMA cells fits into a NUMA node
            of its own that has enough free pages of the guest's page size. Pages that the kernel has reserved, or that
            servers on their way will take, aren't free.
        """,
        remedies={
            "evacuee-without-destination": Remedy(
                "Free or add huge pages of the server's page size on a host of the server's zone, or leave the "
                "server out (evacuate_partial=true). Each NUMA cell of the server needs its own NUMA node there."
            ),
            "zone-without-huge-pages": Remedy(
                "Free or add huge pages of the server's page size on a host of the server's zone. Each NUMA cell "
                "of the server needs its own NUMA node there."
            ),
        },
    ),
    Code(
        "SG504",
        "disk-image-missing",
        BLOCKER,
        "An expected disk image of the server is missing in the Ceph pool.",
        of_server=True,
        of_destination=True,
        overridden_by="the server's uuid",
        override=(
            "One entry for each server. If the server then fails to start, guard snapshots still protect its "
            "remaining images."
        ),
        why="""
            If one image (root, ephemeral or swap) is missing and the server fails to start, Nova deletes **all** its
            remaining images: the root disk because the swap disk is missing. If the root image is missing, Nova makes a
            new one from Glance, and the server starts without its data. Tests with Nova 32 showed both.

            It is also reported if an image of the same name has replaced the server's, if the ephemeral disks together
            are smaller than the flavor's (one may be missing), and if an image has no verified guard snapshot: its
            server stays on the dead host, the others go.
        """,
        do="""
            The trash is `rbd trash ls POOL`. A snapshot (`rbd snap ls POOL/IMAGE`) may have the data, too.
        """,
        remedies={
            "evacuee-without-destination": Remedy(
                "First find the missing image: look in the other pools and in the trash (rbd trash ls). While it "
                "is missing, one failed start of the server deletes all images of the server."
            ),
            "changed-before-send": Remedy(
                "Look for the original image "
                + _LOOK_FOR_IMAGE
                + ", because the image is missing or was created again. "
                "Do not move the server to any host."
            ),
            "changed-after-landing": Remedy(
                "Stop the server, and look for the original disk " + _LOOK_FOR_IMAGE + ", because the server now has "
                "another disk.",
                acts=(
                    Act(
                        (STOP,),
                        "after an evacuation the server has another disk than before",
                        ("Ceph's ids of the images before and after",),
                        "what the guest wrote to the wrong disk",
                    ),
                ),
            ),
            "file-changed-after-landing": Remedy(
                "Stop the server, and look in instances_path of the other hosts for the original disk, because the "
                "server now has another disk. Probably the share was not mounted on the destination.",
                acts=(
                    Act(
                        (STOP,),
                        "after an evacuation the server has another disk than before",
                        ("inodes of the files before and after",),
                        "what the guest wrote to the wrong disk",
                    ),
                ),
            ),
            "guard-unverified": Remedy(
                "Make sure that one of the hosts from which the run reads Ceph can read the pool with the "
                "server's images. Then run the same command again."
            ),
        },
    ),
    Code(
        "SG505",
        "pool-mismatch",
        BLOCKER,
        "The source and a destination use different Ceph pools or clusters.",
        of_destination=True,
        overridden_by="the finding's object",
        override=("If an image name exists in two pools, first find out which of the two images is the server's disk."),
        why="""
            On a host with another pool or cluster, Nova doesn't find the server's disk, makes a new one from the Glance
            image, and reports success. The data isn't in it. Pools of one name in two clusters are two pools, and a
            cluster whose id wasn't read differs from every other.

            It is a warning if other hosts use the right pool: servers go only there, and nothing is to be done.
        """,
        remedies={
            "evacuee-without-destination": Remedy(
                "Give the destination host the same pool and Ceph configuration as the source host."
            ),
            "two-images-of-one-name": Remedy(
                "Find out which image is the server's disk. Never evacuate the server while two images have the same "
                "name."
            ),
            "host-uses-another-pool": Remedy(
                "Give this host the same Ceph configuration as the other hosts, and access to the pool with the "
                "disks. The run uses this host as a destination only with that access."
            ),
        },
    ),
    Code(
        "SG506",
        "source-not-fenced",
        BLOCKER,
        "The run has no proof that the source host is fenced.",
        absolute_with=(ALIVE, NO_PROOF, NO_ADDRESSES),
        of_server=True,
        override=(
            "`object`: the host's name with `evacuate_fence=attested`, or in [remove_host](../guides/remove.md): your "
            "word then replaces the proof. Or the "
            "server's name or uuid, if the fence doesn't cover one of its disks and the host shows no signs of "
            "life.\n\nNo override passes signs of life, `power`, `command` or `blocklist` without proof, or a "
            "blocklist without any address of the host."
        ),
        do="""
            An open operation resumes with another fence (`-e evacuate_fence=power`), and ends without an evacuation
            with `-e evacuate_action=abort`. Below, FENCE, REFENCE and ACTION stand for `evacuate_fence`,
            `evacuate_refence` and `evacuate_action`.

            If the host's Ceph address isn't known, a lock on a server's disk shows it, as the part before `:0/`:

                rbd lock ls vms/UUID_disk

            Then add `-e evacuate_blocklist_addresses=ADDRESS`. For volumes that aren't in Ceph, and for a
            hyper-converged host, use `power` or `command`.
        """,
        why="""
            Two hosts that write one disk destroy it, and missing signs of life prove nothing: a host without network
            loses its watchers after 30 seconds, and its guests run on. In the lab, evacuating such a host ended with
            two QEMUs on one image, while Nova showed ACTIVE. So each group of servers waits for a proof of this
            operation and this fence that is no older than `evacuate_proof_max_age`.

            Signs of life are running domains, QEMU processes that libvirt doesn't show, and watchers of the servers'
            disks at the host's own addresses (any other watcher is [SG507](SG507.md)). Running guests refuse before
            every fence, watchers before `attested` only. After `power` or `command`, any sign of life means that the
            machine is on; after `power`, an answer does.

            `blocklist` covers a disk if the address that the host uses in the disk's own Ceph cluster goes on that
            cluster's list: from a lock, a watcher, the host's facts or you. Nova's `host_ip` alone proves nothing. It
            covers a volume only if the image `volume-UUID` was found in Ceph; iSCSI, FC and NFS never. A covered server
            moves even if its old QEMU still runs, because Ceph refuses its writes. Addresses of other hosts, the
            controller, a gateway or Ceph's daemons are never listed: on a hyper-converged host, that would stop every
            Ceph client.
        """,
        remedies={
            "alive": Remedy(
                "Fence the host (evacuate_fence), wait until no guest runs on the host, then run the same "
                "command again. No override is possible, because the host is alive."
            ),
            "removal-unproven": Remedy(
                "Nothing was removed. If somebody has seen that the machine of {host} is off, wiped or gone for good, "
                "attest it: override SG506 for {host} with your reason. Otherwise, keep its records: the host may come "
                "back."
            ),
            "removal-alive": Remedy(
                "Nothing was removed, because {host} is alive (evidence), and no override is possible. Drain the host "
                "(drain_host), stop nova-compute and its agents, then run the same command again 2 minutes later.",
            ),
            "alive-before-fence": Remedy(
                "Drain the host (drain_host), or stop its guests, then run the same command again. No override is "
                "possible, because the host is alive.",
                acts=(
                    Act(
                        (STOP,),
                        "the host that is to be evacuated is alive",
                        (THIS_HOST,),
                        "the run time of the guests; their owners are to be asked",
                    ),
                ),
            ),
            "alive-though-off": Remedy(
                "Wait 30 seconds, then run the same command again: Ceph needs up to that long to drop the "
                "watchers of a machine that is off. If the finding appears again, the machine is on: switch it "
                "off (ipmitool chassis power off), then run the same command again."
            ),
            "refused-client-watches": Remedy(
                "Wait 30 seconds, then run the same command again: Ceph needs up to that long to drop the "
                "watchers of a client on the blocklist."
            ),
            "disk-not-covered": Remedy(
                "The blocklist does not cover this disk: the evidence says why. Use a fence that covers the "
                "whole machine (evacuate_fence={fences}), set evacuate_blocklist_addresses=[...] to the host's "
                "addresses in this Ceph cluster, or override this finding for the server."
            ),
            "proof-not-read": Remedy(
                "Run the same command again: it fences the host, or reads the state of its fence again."
            ),
            "fence-gives-no-proof": Remedy(
                "Use a fence whose effect the run can verify: evacuate_fence={fences}. If there is none, attest "
                "that the host is dead: set evacuate_fence=attested, and override SG506 for this host with your "
                "reason."
            ),
            "fence-failed": Remedy(
                "Repair the fence, or choose another fence ({fence}). Then run the same command again. To end the "
                "operation, use {action}=abort."
            ),
            "fence-lost": Remedy(
                "Find out why the host is no longer fenced. To fence the host again, use {refence}=true. To end the "
                "operation, use {action}=abort."
            ),
            "fence-needless": Remedy(
                "To end the operation, use {action}=abort. No server of the operation is left on {host}, so a resumed "
                "run "
                "does not fence the host again."
            ),
            "address-invalid": Remedy("Correct this entry of evacuate_blocklist_addresses: it is not an IP address."),
            "address-of-another-machine": Remedy(
                "Remove this address from evacuate_blocklist_addresses: another machine has it, and Ceph would "
                "refuse all writes of that machine."
            ),
            "address-of-ceph-daemon": Remedy(
                "If evacuate_blocklist_addresses contains this address, remove the address: the run never lists "
                "it. " + _OTHER_FENCE
            ),
            "address-unknown": Remedy(
                "Set evacuate_blocklist_addresses=[...] to the addresses that the host has on Ceph's public network. "
                + _OTHER_FENCE
            ),
        },
    ),
    Code(
        "SG507",
        "double-writer",
        BLOCKER,
        "Two clients can write to the same disk.",
        absolute=True,
        from_hosts=True,
        do="""
            Of a volume, a second client may be right: another server has it attached. End nothing before you know:

                openstack volume show UUID -c multiattach -c attachments

            Of an image of Nova, identify each client (`rbd status POOL/IMAGE`). Unless a text below says to leave it,
            end each one that isn't the guest's QEMU, verify that it has ended, and run the same command again. An
            address that belongs to the dead host itself goes into `evacuate_blocklist_addresses`, whatever the fence.
        """,
        why="""
            Two clients that write to one disk destroy its data. A watcher is a live client: another host, a backup
            reader, `rbd map` on an admin node, a mirror daemon, or the QEMU that a failed evacuation left on its
            destination. A fence of the dead host ends none of these, so only the server with this disk stays behind. If
            every server has one, the evacuation refuses.

            A lock without a watcher is a warning: its client has ended or has no network, and a QEMU that opens the
            image breaks that lock and has Ceph refuse that client (`rbd_blocklist_on_break_lock`). A lock made by hand
            (`rbd lock add`) keeps every QEMU from writing until it is removed.

            While it is a blocker in `return_host`, no blocklist entry is removed: a QEMU that had no network during the
            whole outage could write again. A second client of nothing but data volumes is a warning there; the root
            volume is the server's own.
        """,
        remedies={
            "place-undecided": HANDS_OFF,
            "evacuated-runs-elsewhere": Remedy(
                "Leave the server out of the evacuation (evacuate_partial=true), and leave its domain on {host} "
                "as it is: the guest runs there, and an evacuation would start a second QEMU on the same disks."
            ),
            "opened-twice": Remedy(
                "Find out which QEMU must keep running, stop the other QEMU (virsh destroy), and verify that the disk "
                "has "
                "only one watcher.",
                acts=(
                    Act(
                        (STOP,),
                        "two clients have one disk open, and SG132 does not explain it",
                        (WATCHERS, MIGRATIONS, PEOPLE),
                        RUNNING_COPY,
                    ),
                ),
            ),
            "volume-open-at-evacuation": Remedy(_WHO_HAS_VOLUME + "the run evacuates this server."),
            "volume-open-in-audit": Remedy(_WHO_HAS_VOLUME + "audit again: Cinder itself opens volumes for moments."),
            "volume-open-at-return": Remedy(_WHO_HAS_VOLUME + "run return_host again."),
            "unknown-watcher": Remedy(
                "Run rbd status {image} to identify the client, then stop the client's process.",
                acts=(
                    Act(
                        (STOP,),
                        "a client that is no compute host has a disk of a dead host's guest open",
                        (WATCHERS, PEOPLE),
                        "the work of a backup or another reader",
                    ),
                ),
            ),
            "watcher-of-nobody-known": Remedy(
                "If the client is the dead host itself, add the client's address to evacuate_blocklist_addresses=[...]."
            ),
            "lock-without-watcher": Remedy(
                "Check whether an operator added the lock: rbd lock ls {image}. The client that holds the lock does "
                "not "
                "have the image open."
            ),
            "refused-copy-runs": Remedy(
                "Keep nova-compute on {host} stopped. The server is safe: Ceph refuses writes from the QEMU on "
                "this host. To return the host to service, run: ansible-playbook stackguard.nova.return_host -e "
                "return_host={host}"
            ),
            "returned-guest-runs-twice": Remedy(
                "Run virsh destroy {uuid} on the host where the guest must not run, or end the client that must not "
                "write "
                "to the disk. Then verify that at most one watcher remains (rbd status POOL/IMAGE), and run "
                "return_host "
                "again.",
                acts=(
                    Act(
                        (STOP,),
                        "two QEMU processes of the guest were seen, one of them on this host",
                        (THIS_HOST, WATCHERS, PEOPLE),
                        RUNNING_COPY,
                    ),
                ),
            ),
            "no-running-domain-on-returned-host": Remedy(
                "Lock the server (openstack server lock {uuid}), and leave each domain of the server as it is: "
                "no domain of the server runs on this host, so what the evidence shows may be the only copy of "
                "the guest. Then follow the page of SG132."
            ),
        },
    ),
    Code(
        "SG508",
        "guard-snapshot-leaked",
        WARNING,
        "A guard snapshot still exists, although its operation is no longer open.",
        from_hosts=True,
        overridden_by="the finding's object",
        do="""
            If the operation is open, run it again with `-e evacuate_action=resume` or `abort`: both remove its guard
            snapshots. If it is closed, this removes all of them in the pool, through a host that reaches it (OPERATION:
            the snapshot's name after `stackguard-`):

                ansible compute3 -m stackguard.nova.rbd_guard -a '{"state": "absent", "operation_id": "OPERATION"}'
        """,
        why="""
            While a guard snapshot exists, Ceph refuses to delete the image, and Nova says that it deleted it. Rebuild
            or unshelve the server later, and it boots the old data. Images of deleted servers are reported too; an
            image whose server has no row in any cell may be another cloud's, and isn't. An evacuation reports a server
            that its owner deleted under guard.
        """,
        remedies={
            "guard-left": Remedy(
                "Remove the snapshot: rbd snap rm {snapshot}",
                acts=(
                    Act(
                        (DELETION,),
                        "the operation of the guard snapshot is not open",
                        ("the journals",),
                        "a guard snapshot",
                    ),
                ),
            ),
            "server-deleted": Remedy(
                "Save the data you need from this image of a deleted server, then delete the image: rbd rm {image}.",
                acts=(
                    Act(
                        (DELETION,),
                        "the row of the instance is deleted",
                        (CELLS,),
                        "the disk of a deleted server",
                    ),
                ),
            ),
            "server-deleted-under-guard": Remedy(
                "Save the data that you need from the disk, then run: rbd rm {image}. Nova could not delete this "
                "disk because of its guard snapshot",
                acts=(
                    Act(
                        (DELETION,),
                        "the owner deleted the server during the evacuation",
                        ("the server, from the API",),
                        "the disk of a deleted server",
                    ),
                ),
            ),
        },
    ),
    Code(
        "SG509",
        "evacuation-not-reaped",
        BLOCKER,
        "The host has an evacuation record that is still open.",
        overridden_by="the finding's object",
        do="""
            Run `return_host` before nova-compute starts on this host: it makes sure that no evacuated server came back
            to it ([SG113](SG113.md)), and ends the domains that are left. Then start nova-compute under the host name
            in the record: that closes it.
        """,
        why="""
            The record of an evacuation (`accepted`, `pre-migrating` or `done`) stays open until nova-compute starts on
            the source host. That start finds it by host name alone, and destroys the domain of every evacuated server
            on the host. In an audit, this is a warning.

            `return_host` also reports what is left beside it: a domain that is off while its server is elsewhere or
            deleted, and allocations of servers that are elsewhere. With a record that is `done`, the next start removes
            an allocation; without one, nothing does.
        """,
        remedies={
            "off-and-guest-on-novas-host": Remedy(
                "Undefine the domain (virsh undefine): it has no process, and the guest runs on the host that "
                "Nova shows.",
                acts=(Act((DELETION,), OFF_HERE, (THIS_HOST, NOVAS_HOST, MIGRATIONS), OFF_DEFINITION),),
            ),
            "off-and-guest-unseen-on-novas-host": Remedy(ONLY_HERE),
            "off-and-resize-waits": Remedy(
                "Leave the domain as it is: a resize of the server waits for its confirmation, and a revert comes back "
                "to this host. Have the resize confirmed or reverted (openstack server resize confirm {uuid})."
            ),
            "server-deleted": Remedy(
                "Before nova-compute starts, save the data you need from the disks of this server, which is "
                "already deleted in Nova."
            ),
            "domain-gone": Remedy(
                "Start nova-compute once before you move the server back to this host.",
                acts=(
                    Act(
                        (START,),
                        "an evacuation is not cleaned up, and its domain is gone from this host",
                        (THIS_HOST, MIGRATIONS, FORECAST),
                        NOTHING,
                    ),
                ),
            ),
            "place-undecided": HANDS_OFF,
            "evacuated-not-back": Remedy(
                "Verify that no evacuated instance was moved back to {host}, then start nova-compute once on "
                "that host under the name {host}: it destroys the domains of evacuated instances and sets the "
                "evacuation record to completed.",
                acts=(
                    Act(
                        (START,),
                        "an evacuation is not cleaned up, and no evacuated instance is back",
                        (MIGRATIONS, FORECAST),
                        "the old domains of evacuated instances",
                    ),
                ),
            ),
            "evacuated-back": Remedy(
                "Do not start nova-compute on {host}. Nova shows an evacuated instance on this host again, and "
                "the start would destroy its domain. First run return_host for this host, which reports each of "
                "these domains (SG113)."
            ),
            "evacuated-from-renamed-host": Remedy(
                "Do not start nova-compute on this host: it would destroy the guest's domain. Find out where the "
                "guest runs, and which client writes to the guest's disks. Then override SG509 for the "
                "migration, and run the same command again."
            ),
            "evacuated-from-adopted-host": Remedy(
                "Keep nova-compute stopped, restore the host name {name} on the host by hand, and run the "
                "playbook return_host for this host: it ends the old QEMU process of the guest that was "
                "evacuated from here, which may still run. Start nova-compute after the playbook return_host has "
                "ended.",
                acts=(
                    Act(
                        (START,),
                        "an evacuation of one of the host's names is not cleaned up",
                        (MIGRATIONS,),
                        "the old domains, by the rules of return_host",
                    ),
                ),
            ),
            "evacuation-ends-at-start": Remedy(
                "No action is needed: nova-compute removes this allocation at its next start."
            ),
            "no-evacuation-explains-it": Remedy(
                "Look at the server first (openstack server show {consumer}; if the consumer is a migration: "
                "openstack --os-compute-api-version 2.59 server migration list shows its server): if Nova "
                "builds, unshelves, moves or reverts the server, or has it on this host, the allocation may be "
                "right, so leave it. Otherwise, remove this host's part of it: openstack resource provider "
                "allocation unset --provider {provider} {consumer}.",
                acts=(
                    Act(
                        (DELETION,),
                        "an allocation of this host that no open evacuation explains",
                        (PROVIDERS, MIGRATIONS, PEOPLE),
                        "what one consumer holds of this host's resource provider",
                    ),
                ),
            ),
            "held-for-server-of-host": Remedy(
                "Leave the allocation while nova-compute is stopped, because it is the only one of server {server}, "
                "which is on this host. Then give it back to the server: openstack resource provider allocation unset "
                "--provider {provider} {consumer}; nova-manage placement heal_allocations --instance {server} --force.",
                acts=(
                    Act(
                        (DELETION,),
                        "a migration has ended, and its server is on this host and holds nothing of it",
                        (PROVIDERS, MIGRATIONS),
                        "an allocation that the next command makes again",
                    ),
                ),
            ),
        },
    ),
    Code(
        "SG510",
        "service-not-down",
        BLOCKER,
        "The compute service of the host is not down.",
        override=(
            "`object`: the host's name. In an evacuation, if you know that the host is dead: it is fenced "
            "although Nova shows it as up, and then forced down. In `return_host`, once you have made sure that "
            "nova-compute is stopped on a host without a unit of it. None passes `HOST:nova-compute`, "
            "which runs: stop it instead."
        ),
        why="""
            Nova evacuates only from a host whose service is down, and a mistyped name would have a living host fenced.
            `return_host` would end domains or remove blocklist entries under a nova-compute that runs, wherever: as a
            unit, in a container, or outside both. A host without a unit of nova-compute is reported even if no process
            was found.
        """,
        do="""
            On kolla-ansible, UNITS is `kolla-nova_compute-container`: systemd can't mask a unit file in
            `/etc/systemd/system`.
        """,
        remedies={
            "up-for-nova": Remedy(
                "Verify that evacuate_host is the name of the dead host. If it is, wait until Nova reports the "
                "host's compute service as down (service_down_time, usually 60 s)."
            ),
            "unit-can-be-masked": Remedy(
                "Stop and mask nova-compute (systemctl mask --now nova-compute), then run return_host again."
            ),
            "unit-file-below-etc": Remedy(
                "Stop and disable nova-compute (systemctl disable --now {units}), then run return_host again. After "
                "the "
                "return, enable nova-compute again: systemctl enable --now {units}."
            ),
            "may-run-outside-the-unit": Remedy(
                "If a nova-compute process runs outside the systemd unit, the process keeps running "
                "when the unit stops. Stop the container of such a process, or end the process (kill PID).",
                acts=(
                    Act(
                        (STOP,),
                        "nova-compute runs on a host that is to be cleared",
                        (THIS_HOST,),
                        "nova-compute's tasks",
                    ),
                ),
            ),
            "no-unit": Remedy(
                "Verify that nova-compute is stopped, then override SG510 for this host. The run found no systemd "
                "unit of "
                "nova-compute on this host."
            ),
        },
    ),
    Code(
        "SG511",
        "port-binding-left-behind",
        BLOCKER,
        "A port is still bound to the host that its server left.",
        override=(
            "An evacuation reports it when its servers have moved, so that no override is needed. In "
            "`return_host`, `object`: the port's id."
        ),
        do="""
            Find where the guest runs with `virsh domstate UUID`, then: `openstack port set --host HOST PORT`.
        """,
        why="""
            A port that is bound to the host its server left has no traffic. Nova 30 and earlier bind it to the new host
            after an evacuation; Nova 31 and later don't.

            With OVN, the chassis of the returning host claims every port whose `requested-chassis` is this host as soon
            as ovn-controller starts, and a guest elsewhere loses its network: a blocker. A port that only neutron still
            binds here is a warning. OVN is read only if both `ovn_nb_connection` and `ovn_sb_connection` are set;
            otherwise [SG317](SG317.md) is under `unchecked`.
        """,
        remedies={
            "port-left": Remedy(
                "Bind the port to the server's new host, where the run has seen the guest (openstack port set --host)."
            ),
            "bound-to-returned-host": Remedy(
                "Find out on which host the guest runs (virsh domstate), then bind the port to this host "
                "(openstack port set --host)."
            ),
            "chassis-of-returning-host-requested": Remedy(
                "Before the returning host starts, bind the port to the host that Nova shows for the server "
                "(openstack port set --host HOST {port}): otherwise, the chassis of the returning host claims it."
            ),
        },
    ),
    Code(
        "SG512",
        "no-candidate-host",
        BLOCKER,
        "No host can take the server.",
        of_server=True,
        override=(
            "None sends the server anywhere: Nova's scheduler decides. With `evacuate_partial=true`, the other "
            "servers are evacuated, and this one stays on the dead host."
        ),
        do="""
            If the zone of the server's pin has only the dead host, add a host to it, or unpin the server:

                ansible-playbook pin_servers.yml -e @cloud.yml -e pin_servers=web1 -e pin_state=unpinned
        """,
        why="""
            Nova accepts an evacuation before it looks for a host, and sets the server to ERROR if there is none. The
            evidence has what speaks against each host. What may surprise you:

            - A host that was enabled less than a minute ago may still have the trait `COMPUTE_STATUS_DISABLED` in
              placement.
            - A host in another cell is none: the cells are read with `nova_api_db_url`, and SG512 is `unchecked`
              without it.
            - With the policy `affinity`, Nova accepts only hosts that have a member of the group: none, if all are on
              the dead host.
            - Before Nova 28, or if the release isn't known, a pin to a zone without an aggregate leaves no host, except
              in Nova's default zone. From 28 on, such a pin has no effect: the server stays in its host's zone.
            - A flavor's `aggregate_instance_extra_specs` bind the server if the dead host matches them; otherwise the
              cloud doesn't enforce them, and a host that matches is only preferred.
            - Hosts that an aggregate reserves (`filter_tenant_id*`, images, traits) come last, because no API shows
              whether the scheduler refuses them. If only such hosts are left, it is a warning.
            - At most three hosts are tried for a server. Those that the scheduler refuses don't count.

            The final report has each server that is still on the dead host, with its status and the reason; also those
            that came to it after the evacuation began, but not with `evacuate_servers`.
        """,
        remedies={
            "evacuee-without-destination": Remedy(
                "Start and enable another compute host of the server's zone, or free up resources on a compute host of "
                "this zone."
            ),
            "zone-without-destination": Remedy(
                "Add a host to zone {zone}, or unpin the server. The zone contains no destination. To unpin the "
                'server in Nova 34 and later, call PUT /servers/ID with {{"server": '
                '{{"pinned_availability_zone": null}}}} (microversion 2.104). In earlier releases, remove the '
                "zone from the server's request spec (playbook pin_servers with pin_state=unpinned)."
            ),
            "only-avoided-host-left": Remedy(
                "Free up resources on a host whose aggregates allow the server. If the scheduler refuses the host "
                "that the "
                "evidence shows, the server stays in ERROR until an evacuation of the server to another host succeeds."
            ),
            "stays": Remedy("Remove the cause that this finding reports, then run the same command again."),
            "stays-late": Remedy(
                "After the end of this evacuation, run the same command again to evacuate the server in a new "
                "evacuation."
            ),
            "not-moved": Remedy(
                "Repair the cause that the evidence shows, then run the same command again. To see the server's "
                "events: "
                "openstack server event list {uuid}"
            ),
        },
    ),
    Code(
        "SG513",
        "local-disk",
        BLOCKER,
        "The server's disks are files of its host, and no destination is proven to have the same files.",
        of_server=True,
        of_destination=True,
        overridden_by="the server's uuid",
        override=(
            "One entry for each server. Nova then starts the server from the disk in its directory on the destination, "
            "whatever disk that is. If there is none, Nova rebuilds the server from its image, and its data is lost."
        ),
        why="""
            An evacuation makes a new disk from the Glance image, and the data is lost, unless the server's directory is
            on the destination: then Nova starts the disk in it, also an old one that a move has left. So the run looks
            for proof that both hosts share `instances_path`. On a shared file system (or one that the destination
            exports), the dead host's nova-compute must have signed in `compute_nodes` within 90 minutes before its last
            sign of life, and the destination's within the last 90. Each signs every `[image_cache] manager_interval`.
            The server's disks must be there in the format of `images_type`, and the fence must be `power` or
            `command`: nobody can tell who has a file open. One thing looks the same: a copy of the share, made within
            that time, that the destination already uses. A spawn that fails keeps a directory that it has found.

            When the dead host returns, its nova-compute asks the destination whether the directory is shared, and
            deletes the disks if the answer is no: until then, the share must stay mounted on both.

            A drain copies local disks, so there it is only a warning.
        """,
        remedies={
            "evacuee-without-destination": Remedy(
                "If the hosts share instances_path, put right what the evidence says, and use evacuate_fence=power or "
                "command. If not, start the dead host again: if the server's disk still exists, it is there. With an "
                "override, Nova starts the disk that the destination has in the server's directory, or rebuilds the "
                "server from its image, and all data of the server is lost.",
                acts=(
                    Act(
                        (START,),
                        "the disk is on the dead host, and the host is not evacuated yet",
                        ("images_type of the host",),
                        NOTHING,
                    ),
                ),
            ),
            "drain-copies-disks": Remedy(
                "Expect block migrations: the images_type of this host is not rbd, so Nova copies each root disk "
                "that is on this host (not on a volume) over the network."
            ),
        },
    ),
    Code(
        "SG514",
        "blast-radius",
        BLOCKER,
        "Too many hosts of the zone are down.",
        overridden_by="the dead host's name",
        why="""
            If many hosts of a zone are down at once, the cause is probably the network, RabbitMQ or the control plane.
            Their guests still run, and an evacuation would start a second copy of each. Which hosts count, and how many
            may be down, is said of [`evacuate_max_hosts`](../reference/variables/evacuate_host.md). Once the host is
            fenced, it is a warning.
        """,
        do="""
            For two hosts that are really dead: `-e evacuate_max_hosts=2` for the first run. Once it has disabled its
            host's service, that host isn't counted any more.
        """,
        remedies={
            "many-hosts-down": Remedy(
                "Check the network and the control plane first. If all hosts in the list 'down' of the evidence are "
                "dead, "
                "set evacuate_max_hosts to the number of dead hosts."
            ),
        },
    ),
    Code(
        "SG515",
        "blocklist-entry-left",
        WARNING,
        "An audit found an entry of Ceph's OSD blocklist that no open operation needs, or return_host found an entry "
        "that return_host is not allowed to remove.",
        from_hosts=True,
        overridden_by="the finding's object",
        do="""
            COMMAND is `ceph osd blocklist rm IP:0/0`, and `ceph osd blocklist range rm IP/LENGTH` for a range. Before
            you run it for a host that never comes back, make sure that no process of that host can run any more.
        """,
        why="""
            With an entry for a whole address (`IP:0/0`), Ceph refuses every client there, for up to five years. A
            machine that gets the address later can't write to any disk, and Nova shows no reason. It is a blocker if
            the address is that of a living host, or of the returning one.

            An entry for a range is reported only if it covers such a host: this collection never adds one. Entries for
            single clients (`IP:PORT/NONCE`) are Ceph's own. If the journals weren't read, an entry of no living host is
            under `unchecked`: an open operation may need it.

            `return_host` keeps an entry of another host's evacuation while that is open. Afterwards it removes the
            entry if the returning host has the address now, or was itself evacuated later than the other host.
        """,
        remedies={
            "host-alive": Remedy(
                "Find out who added the blocklist entry, because Ceph refuses the writes of {host} although this "
                "host is alive. Then remove the entry: {command}",
                acts=(
                    Act(
                        (DELETION,),
                        "no operation needs the entry, and its host is alive",
                        ("the blocklist", "the journals"),
                        "the fence of an address",
                    ),
                ),
            ),
            "host-away": Remedy(
                "Run return_host for {host} if the host comes back. If the host never comes back, remove the blocklist "
                "entry: {command}",
                acts=(
                    Act(
                        (DELETION,),
                        "the host of an ended evacuation never comes back",
                        ("the blocklist", "the journals", PEOPLE),
                        "the fence of an address",
                    ),
                ),
            ),
            "host-unknown": Remedy(
                "Find out who added the blocklist entry. If Ceph must still refuse writes from its address, keep "
                "the entry. Otherwise, remove the entry: {command}",
                acts=(
                    Act(
                        (DELETION,),
                        "no operation needs the entry, and its address is of no known host",
                        ("the blocklist", "the journals", PEOPLE),
                        "the fence of an address",
                    ),
                ),
            ),
            "fences-another-evacuated-host": Remedy(
                "Run return_host -e return_host={host}, or end the evacuation of {host}. The blocklist entry "
                "fences {host}, so the run keeps it until then."
            ),
            "range-covers-returned-host": Remedy(
                "Find out who added the blocklist entry, because this host cannot write to its disks while the "
                "entry exists. Then remove the entry: {command}",
                acts=(
                    Act(
                        (DELETION,),
                        "an entry of Ceph's blocklist covers a living host, and no operation needs it",
                        ("the blocklist", "the journals"),
                        "the fence of an address",
                    ),
                ),
            ),
        },
    ),
    Code(
        "SG516",
        "hold-left",
        WARNING,
        "A compute service is still disabled for an operation that is no longer open.",
        do="""
            To delete the compute service of a host that never comes back: `openstack compute service delete ID`. First
            [check the links](../guides/links.md): with a wrong `service_id`, Nova can delete a running host's compute
            node with it.
        """,
        why="""
            Nova schedules nothing to a host whose service is disabled, and an operation that is no longer open never
            enables it again. Its id is the end of the disabled reason (`stackguard:KIND:OPERATION`), and its journal is
            neither open in `stackguard_state_dir` nor on the host. An audit doesn't see the journal of a controller
            that uses another `stackguard_state_host`: so make sure that no run is active there. What has journals and
            couldn't be read makes it `unchecked`.
        """,
        remedies={
            "operation-not-open": Remedy(
                "Verify that no run of this operation is active on another Ansible controller, then run openstack "
                "compute "
                "service set --enable {host} nova-compute"
            ),
            "evacuation-not-open": Remedy(
                "Run return_host for the host as soon as the host is back. If the host never comes back, delete the "
                "host's "
                "compute service. To find the compute service: openstack compute service list --host {host}",
                acts=(
                    Act(
                        (DELETION,),
                        "the host of an ended evacuation never comes back",
                        (SERVICES, "the journals", PEOPLE),
                        "the service, and each compute node that links to it",
                    ),
                ),
            ),
        },
    ),
    Code(
        "SG517",
        "disk-not-open",
        BLOCKER,
        "A libvirt domain runs, but no Ceph client on its host has the domain's disk open.",
        overridden_by="the libvirt domain's uuid",
        override=("Safe if, for example, the host reaches Ceph through NAT."),
        do="""
            After the hard reboot, run `return_host` again.
        """,
        why="""
            Ceph has refused this QEMU because of a blocklist entry, or it has lost its watch on the image. It doesn't
            open its disks again, even without the entry: Nova shows ACTIVE, reads succeed, and each write fails until a
            hard reboot. The reboot needs the entry gone, so `return_host` removes it all the same, and then fails with
            the state `disks-not-open`.

            In the lab, two QEMUs that Ceph had refused for 20 seconds had no watcher afterwards, could read, and failed
            each write. Two others had no network as long as the entry existed: within 10 seconds of the network's
            return they had watchers again and could write. Such a client has never heard of the refusal, and isn't
            reported.

            The disks are looked at through another host (`stackguard_ceph_host`). One that couldn't be read is
            [SG709](SG709.md). Config drives have no watchers and don't count.
        """,
        remedies={
            "place-undecided": HANDS_OFF,
            "no-client-has-disk-open": Remedy(
                "Hard-reboot the server as soon as nova-compute runs on this host, because its disk works again "
                "only after a hard reboot: openstack server reboot --hard {uuid}",
                acts=(
                    Act(
                        (REBOOT,),
                        "Nova shows the server on this host, its domain runs here without its disk, no client has the "
                        "disk "
                        "open",
                        (THIS_HOST, WATCHERS, CELLS),
                        "the memory of a guest whose disk is gone",
                    ),
                ),
            ),
            "guest-may-be-elsewhere": Remedy(
                "Leave the server {uuid} as it is, and resolve the other findings of this domain first. "
                "This domain cannot write to its disk, and another host or client may have the guest."
            ),
        },
    ),
    Code(
        "SG518",
        "ceph-rights",
        BLOCKER,
        "The Ceph user has no permission to change the OSD blocklist.",
        overridden_by="the finding's object",
        override=(
            "The run then starts. If the Ceph user can't break locks, the host is fenced and no guard snapshot "
            "can be made; a server on volumes arrives and can't write. With `blocklist`, the run stops if Ceph "
            "refuses an entry."
        ),
        do="""
            `ceph auth caps` replaces all caps of a user: repeat the others, as `ceph auth get client.USER` shows them.
            A server that already runs on its new host and can't write needs a hard reboot after that (`openstack server
            reboot --hard`): a running QEMU keeps its old rights.
        """,
        why="""
            A QEMU writes to an image only with its lock, and a dead host's client still holds it. With the first write,
            librbd puts that client on the OSD blocklist and breaks the lock. If the Ceph user in nova.conf may not add
            entries, nothing is broken: the guest starts, Nova shows ACTIVE, and every write fails. No fence changes
            that. `evacuate_fence=blocklist` also fails halfway if it can't add entries; if they can't be removed, the
            returned host's servers can't write.

            It is a warning if

            - only the right to remove entries is missing;
            - the user in `stackguard_ceph_user` has the right that nova.conf's lacks: it breaks each lock as it makes
              the guard snapshot, and the guest can write;
            - the servers have only volumes in the cluster: QEMU may open these as Cinder's user, whose rights can't be
              asked for;
            - an audit reports it.

            With `blocklist`, rights or a command name (`osd blocklist`, before Pacific `osd blacklist`) that no host of
            the cluster could read block, too. Images without the feature `exclusive-lock` need none of this.

            If the dead client still holds a lock after a server has arrived, SG518 is under `unchecked`, with the
            seconds since the fence: the guest hasn't written yet, or can't.
        """,
        remedies={
            "may-not-add": Remedy("Give the Ceph user the permission to change the OSD blocklist. " + _CEPH_CAPS),
            "may-not-remove": Remedy(
                "Give the Ceph user the permission to remove blocklist entries. Without it, return_host needs "
                "another Ceph user. " + _CEPH_CAPS
            ),
            "may-not-break-locks": Remedy(
                "Run ceph auth caps client.{user} mon 'profile rbd' osd 'EXISTING OSD CAPS', so that a guest can "
                "write to its disk after its host has died. The command replaces all caps of the user, so add to "
                "it every existing cap that it lacks (ceph auth get client.{user} shows the existing caps)."
            ),
            "no-reader": Remedy(
                "Make sure that the run can collect facts from a host that has access to this Ceph cluster."
            ),
        },
    ),
    Code(
        "SG519",
        "state-lost",
        WARNING,
        "An evacuation loses some of the server's state.",
        overridden_by="the server's uuid",
        why="""
            An evacuation starts the server again from its disks. What was only on the dead host is lost:

            | server | what it loses |
            |---|---|
            | UEFI firmware (`hw_firmware_type=uefi`) | boot entries and secure boot keys |
            | off, or to be stopped | a clean shutdown: Nova starts it briefly, then cuts its power |
            | PAUSED, SUSPENDED (if reset) | its memory or memory image; it is stopped afterwards |
            | RESCUE (if reset) | the rescue system |
            | a task (if reset) | the owner's request, to be sent again; an unfinished image stays in Glance |
            | encrypted volumes | it starts only if the user of the evacuation may read their keys in barbican |
            | soft-deleted | it stays on the dead host, its disks in the pool |

            `evacuate_reset_states` says what is reset. If a server's volumes or image properties weren't read, it is
            under `unchecked`.
        """,
        remedies={
            "soft-deleted": Remedy(
                "If the owner may want to keep the server, first restore the server (openstack server restore "
                "{server}). "
                "If the owner no longer needs the server, leave the server soft-deleted.",
                acts=(
                    Act(
                        (START,),
                        "the owner deleted the server softly",
                        ("the soft-deleted servers",),
                        NOTHING,
                    ),
                ),
            ),
            "loses": Remedy("Inform the server's owner, or leave the server out of the evacuation (evacuate_servers)."),
            "loses-by-reset": Remedy(
                "To leave the server on the dead host, remove the server's state from evacuate_reset_states. "
                "Otherwise, the run resets the server's state as soon as it has proof that the host is dead.",
                acts=(
                    Act(
                        (RESET,),
                        "the source is fenced, with proof, and the operator asks for it by an option",
                        ("the proof of the fence", MIGRATIONS),
                        "what the finding lists",
                    ),
                ),
            ),
        },
    ),
    Code(
        "SG520",
        "server-of-a-service",
        WARNING,
        "A cloud service created this server and replaces the server automatically.",
        overridden_by="the server's uuid",
        why="""
            Octavia's health manager makes a new amphora as soon as one doesn't answer. Evacuate the old one, and it
            starts with addresses that the new one already uses. Octavia names its servers `amphora-UUID`.
        """,
        remedies={
            "amphora": Remedy(
                "Leave the amphora out of the evacuation (evacuate_servers): Octavia's health manager replaces "
                "it. To find the amphora's id: openstack loadbalancer amphora list --compute-id {server}. To "
                "replace the amphora now: openstack loadbalancer amphora failover ID."
            ),
        },
    ),
    Code(
        "SG521",
        "guest-starts-without-nova",
        WARNING,
        "libvirt or libvirt-guests starts guests without Nova.",
        overridden_by="the domain's uuid",
        why="""
            libvirt doesn't know where a server is. If it starts a domain whose server was evacuated, two QEMUs write to
            one disk. Reported are domains with autostart, managed save images that Nova didn't make (Nova's next hard
            reboot removes them), and libvirt-guests if it is enabled and its `ON_BOOT` isn't `ignore` (the default is
            `start`). A domain is a blocker if Nova shows its server on another host and `return_host` doesn't end it.
        """,
        remedies={
            "autostart": Remedy(
                "Run virsh autostart --disable {domain} on this host: each start of libvirt starts this domain, "
                "wherever the server is by then."
            ),
            "managed-save": Remedy(
                "If Nova must start this server from its disk, run virsh managedsave-remove {domain} on this "
                "host: this deletes the saved memory of the guest. Otherwise, the next start by libvirt "
                "continues from it."
            ),
            "guests-on-boot": Remedy(
                "Run systemctl mask libvirt-guests on this host: at the next boot, libvirt-guests starts every guest "
                "that "
                "ran when the host was shut down, also guests that were evacuated since. Nova does not need "
                "libvirt-guests (resume_guests_state_on_host_boot in nova.conf)."
            ),
        },
    ),
    Code(
        "SG522",
        "domain-kept-by-snapshots",
        BLOCKER,
        "libvirt refuses to undefine a domain that has snapshots.",
        override=("None helps: libvirt still refuses."),
        why="""
            The server of this domain was evacuated, so `return_host` has to remove the domain. libvirt undefines none
            of which it keeps snapshots or checkpoints, for example those of a backup program.
        """,
        remedies={
            "snapshots": Remedy(
                "List the snapshots and checkpoints on this host: virsh snapshot-list {domain}; virsh "
                "checkpoint-list {domain}. Save what you need of them. Then remove libvirt's records of them, "
                "which keeps the data: virsh snapshot-delete {domain} SNAPSHOT --metadata; virsh "
                "checkpoint-delete {domain} CHECKPOINT --metadata. Finally, run return_host again."
            ),
        },
    ),
    Code(
        "SG523",
        "destination-cannot-run-guest",
        BLOCKER,
        "A host cannot run the server, or the run does not know whether the host can.",
        from_hosts=True,
        of_server=True,
        of_destination=True,
        overridden_by="the server's uuid",
        override=(
            "It passes hosts of which it isn't known whether they can run the server, and CPUs, Ceph users, UEFI "
            "firmware and devices. None passes a host that certainly lacks the machine type or the Ceph secret, "
            "or that has the same libvirt host uuid as the server's host."
        ),
        why="""
            Nova asks a destination few questions. A cold migration or an evacuation to a host whose QEMU lacks the
            server's machine type ends in ERROR, after the server has left its host; if an image of it is missing then,
            Nova deletes the root disk. A live migration to a host without the Ceph secret fails and leaves the server
            in ERROR. Between hosts with equal libvirt host uuids, libvirt refuses each live migration ("Attempt to
            migrate guest to the same host"). In the logs: "does not support machine type", "Unacceptable CPU info", "no
            secret with matching uuid".

            Live migrations and moves with a new definition (cold migrations, evacuations) are judged apart: [how each
            is compared](../reference/destinations.md). In an audit, it is a warning for each host whose guests could
            not move live to some hosts of the zone.
        """,
        remedies={
            "machine-type": Remedy(
                "Install on the destinations a version of QEMU that supports the machine type. Nova can change the "
                "machine type of a server only while the server is off: nova-manage libvirt update_machine_type "
                "SERVER TYPE."
            ),
            "ceph-secret": Remedy(
                "On the destination, define the secret with the uuid that the evidence shows, and set its value (virsh "
                "secret-define, virsh secret-set-value). Use the secret of another host of the zone as the pattern "
                "(virsh secret-dumpxml UUID)."
            ),
            "cpu": Remedy(
                "Choose hosts with the same kind of processor, or move the server cold (drain_live=false, "
                "migrate_live=false). For the time after this, set cpu_mode=custom and cpu_models in nova.conf of "
                "every host of the zone to a CPU that all of them support; a guest gets this CPU at its next hard "
                "reboot or cold migration."
            ),
            "ceph-user": Remedy(
                "Compare rbd_user and rbd_secret_uuid in nova.conf of both hosts. A secret has the key of one user "
                "only: use the same user and secret on every host of the zone."
            ),
            "firmware": Remedy(
                "Install on the destination the package of the UEFI firmware that the server's host has, in the same "
                "version, or move the server cold (drain_live=false, migrate_live=false)."
            ),
            "devices": Remedy(
                "Detach the devices that the evidence shows from the guest (virsh detach-device), or move the server "
                "cold (drain_live=false, migrate_live=false): the new definition does not have them."
            ),
            "undecided": Remedy(
                "Remove the cause for which the evidence shows something as not known, then run the same command "
                "again. If you know that the host can run the server, override the finding for this server."
            ),
            "other-cpus": Remedy(
                "No action is needed now. Before each live migration of a guest of this host, the run asks libvirt on "
                "the destination whether the destination can provide the guest's CPU."
            ),
        },
    ),
)
