# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Codes SG1xx: who a host is. See code.py."""

from __future__ import annotations

import typing as t

from .code import (
    ADOPTION,
    BLOCKER,
    CELLS,
    DELETION,
    EVERY_HOST,
    FORECAST,
    INFO,
    MIGRATIONS,
    NOTHING,
    NOVAS_HOST,
    PEOPLE,
    PROVIDERS,
    REBOOT,
    RUNNING_COPY,
    SERVICES,
    START,
    STOP,
    THIS_HOST,
    UPDATE,
    WARNING,
    WATCHERS,
    Act,
    Code,
    Remedy,
)
from .phrases import (
    FILE_OF_ANOTHER_HOST,
    HANDS_OFF,
    OFF_DEFINITION,
    OFF_HERE,
    ONLY_HERE,
    PART_UNREAD,
    READ_FIRST,
    RESUME_RENAME,
    ROLL_BACK,
    STOPPED,
)

_LEAVE_STOPPED = (
    "Keep nova-compute stopped (systemctl mask nova-compute) until you know which value in the evidence is correct."
)
#: What to do with a copied compute_id file: it is in nobody's way once no guest can be on the host.
_COPY_MAY_HAVE_GUESTS = Remedy(
    "If {paths} on {host} is a copy of the file of another machine, first find out where the guests belong of which "
    "libvirt on {host} has domains. Do not stop, start or undefine these domains before you know it."
)
_COPY_WITHOUT_GUESTS = Remedy(
    "If {paths} on {host} is a copy of the file of another machine, move the file away on {host}, and nowhere else. "
    "Then start nova-compute on {host}: nova-compute registers {host} as a new compute host.",
    acts=(
        Act(
            (START,),
            "the host has no node of its own, and a file that is another machine's",
            (SERVICES, FORECAST, PEOPLE),
            NOTHING,
        ),
    ),
)
_LOCK = "Lock the server (openstack server lock {uuid}), so that no request of its owner starts a second QEMU."
_PAGE = "Then choose a way out on the page of SG132."
_RUNS_ELSEWHERE = (
    _LOCK + " The only QEMU process of the server runs on {host}, but Nova shows the server on {home}. Leave the "
    "domain on {host} as it is."
)
_ON_NOVAS_HOST = "the guest executes on Nova's host, and no migration says that it left that host"
_SECOND_IDENTITY = "the second identity of the host; another host's, if the compute_id file is a copy"
_NODE_UNPROVEN = Remedy(
    "If you know that this machine is the host of this compute node, write the uuid of the compute node into the "
    "compute_id file of the machine. What the run has read does not prove it."
)

CODES: t.Tuple[Code, ...] = (
    Code(
        "SG101",
        "compute-id-missing",
        BLOCKER,
        "The host has no compute_id file where nova-compute looks for it.",
        from_hosts=True,
        overridden_by="the host's inventory name",
        do="""
            The uuid is in the host's row of `compute_nodes`, and in the API:

                openstack --os-compute-api-version 2.53 hypervisor list

            The file contains this uuid and nothing else. Never create a new one.
        """,
        why="""
            nova-compute 27 and later refuses to start: `No local node identity found, but this is not our first startup
            on this host`. Nova then shows the host as down and lets you evacuate guests that still run: two QEMUs would
            write to one disk. Only information if nova-compute 27 has not started here yet: its first start writes the
            file.
        """,
        remedies={
            "file-missing": Remedy(
                "Write the uuid of this host's compute node into the file compute_id in state_path (owner nova, mode "
                "0644)."
            ),
            "node-unproven": _NODE_UNPROVEN,
        },
    ),
    Code(
        "SG102",
        "compute-id-mismatch",
        BLOCKER,
        "The compute_id file and the compute node have different uuids.",
        from_hosts=True,
        overridden_by="the host's inventory name or the compute node's uuid, as in the report",
        override=(
            "`return_host` accepts an override only if a compute_id file of the machine has the uuid of the host's "
            "compute node. On the right machine, write the uuid into the file first."
        ),
        do="""
            Find this host's compute node: the rows of its instances name it (`instances.compute_id`, `instances.node`),
            and the inventory of its resource provider matches this hardware. [SG131](SG131.md) says what proves it.

            If the machine is a clone, also give it a new machine-id and a new libvirt uuid ([SG107](SG107.md)). Neither
            rename nor adopt it.
        """,
        why="""
            With a wrong uuid, nova-compute can refuse to start; with the uuid of another host's node, it can also
            update that host's inventory and usage. The file travels with a copied disk. On a return, a machine with the
            right name and another uuid may be a replacement, while the original still runs.
        """,
        remedies={
            "file-of-another-node": Remedy(
                _LEAVE_STOPPED
                + " If the host's instances prove that compute node {nodes} belongs to this host, write its "
                "uuid into {paths} on {host}."
            ),
            "copy-suspected": Remedy(_LEAVE_STOPPED),
            "copy-may-have-guests": _COPY_MAY_HAVE_GUESTS,
            "copy-without-guests": _COPY_WITHOUT_GUESTS,
            "copy-original-unseen": Remedy(
                "If this machine is the host {host} and got another name and another address, follow the section "
                "about a "
                "changed address in docs/guides/already-renamed.md."
            ),
            "node-unproven": _NODE_UNPROVEN,
            "file-of-another-host": FILE_OF_ANOTHER_HOST,
            "node-changed-by-rename": ROLL_BACK,
            "machine-with-another-compute-id": Remedy(
                "Keep nova-compute stopped. Verify that this machine is the evacuated host. If it is, write the uuid "
                "of the host's compute node into the compute_id file. If it is a different host, correct the "
                "inventory."
            ),
            "new-host-differs": RESUME_RENAME,
        },
    ),
    Code(
        "SG103",
        "compute-id-conflict",
        BLOCKER,
        "Copies of the compute_id file on one host contain different uuids.",
        from_hosts=True,
        overridden_by="the host's inventory name",
        why="""
            nova-compute refuses to start if it reads two uuids. A deployment tool such as kolla-ansible keeps a copy of
            its own: a wrong uuid there overwrites the right one on the host at the next `reconfigure`.
        """,
        remedies={
            "files-differ": Remedy(
                "Find the uuid of the host's compute node (compute_nodes.uuid): the rows of the host's instances "
                "point to it. Write it into all compute_id files of the host."
            ),
        },
    ),
    Code(
        "SG104",
        "compute-id-unparsable",
        BLOCKER,
        "A compute_id file cannot be read, or does not contain a uuid.",
        from_hosts=True,
        overridden_by="the host's inventory name",
        why="""
            nova-compute refuses to start (`Unable to parse UUID from ...`): the first 40 characters of the file,
            without blanks around them, must be a uuid. What can happen to the guests meanwhile: [SG101](SG101.md).
        """,
        remedies={
            "file-unparsable": Remedy(
                "Write the uuid of this host's compute node (from compute_nodes) into {path}. Never create a new uuid."
            ),
        },
    ),
    Code(
        "SG105",
        "hypervisor-hostname-changed",
        BLOCKER,
        "The host name that libvirt reports differs from the compute node's name.",
        from_hosts=True,
        overridden_by="the compute node's uuid",
        do="""
            `virsh hostname` shows the name: the kernel's if that has a dot, otherwise the canonical name that
            `/etc/hosts` or DNS gives for it. The old name belongs in both places.
        """,
        why="""
            nova-compute 27 and later refuses to start: `My compute node ... has hypervisor_hostname ... but virt driver
            reports it should be ...`. nova-compute 26 destroys the old compute node with all its allocations.
        """,
        remedies={
            "libvirt-name-differs": Remedy(
                _LEAVE_STOPPED + " Restore the host's old name, or rename the host with rename_host."
            ),
        },
    ),
    Code(
        "SG106",
        "service-host-changed",
        BLOCKER,
        "The host name in Nova's configuration (CONF.host) differs from the host name of the compute service.",
        from_hosts=True,
        overridden_by="the finding's object",
        override=(
            "`return_host` accepts no override if the machine's `CONF.host` is not the host to return: it could lift "
            "the fence of another host."
        ),
        do="""
            `CONF.host` is `host` in nova.conf, or the kernel's host name if that is not set. On a return, first find
            out which machine Ansible connects to: the evidence has its addresses.
        """,
        why="""
            nova-compute refuses to start: `My node ... has host ... but my host is ...`. If half a manual rename has
            changed the compute node but not the service, nova-compute 27 or 28 can start and create a second service.
            Usual causes: someone set `[DEFAULT] host`, a reinstallation made the short name a full one, or
            `ansible_host` is another machine's.
        """,
        remedies={
            "conf-host-differs": Remedy(
                _LEAVE_STOPPED
                + " To keep the host's old name, set host= in nova.conf, or restore the machine's old host "
                "name. To give the host the new name, use rename_host."
            ),
            "service-of-similar-name": Remedy(
                _LEAVE_STOPPED
                + (
                    " Correct the host name before you start nova-compute. With the wrong host name, nova-compute "
                    "creates a second compute service."
                )
            ),
            "conf-host-not-rename-from": Remedy(
                "Set rename_from to the host name that nova-compute on this host uses, or run the rename for the "
                "correct "
                "inventory host."
            ),
            "no-copied-node": Remedy(
                "If someone has already renamed this host, use rename_action=adopt (SG131).",
                acts=(
                    Act(
                        (ADOPTION,),
                        "the host calls itself otherwise than rename_from",
                        (THIS_HOST, SERVICES),
                        "the second identity of the host",
                    ),
                ),
            ),
            "service-changed-by-rename": ROLL_BACK,
            "machine-with-another-name": Remedy(
                "Keep nova-compute stopped. If this machine is not {host}, correct ansible_host or "
                "stackguard_nova_host in the inventory. If this machine is {host} and a rename of the host is "
                "unfinished, finish the rename. If this machine is {host} and has no unfinished rename, set "
                "host={host} in its nova.conf. Then run the playbook return_host again."
            ),
            "new-host-differs": RESUME_RENAME,
        },
    ),
    Code(
        "SG107",
        "duplicate-identity",
        BLOCKER,
        "Two hosts have the same compute_id, libvirt uuid or machine-id.",
        from_hosts=True,
        overridden_by="the host's inventory name",
        do="""
            To find the host that keeps the value, compare each host with its compute node and its instances in Nova.
            Change nothing on that host.

            Restart a libvirt daemon in a container only if no guest is in the container's control group
            ([SG127](SG127.md)).
        """,
        why="""
            Two hosts with one `compute_id` use one compute node; with one `CONF.host` they read each other's RabbitMQ
            messages; with one machine-id one is a clone of the other, and they share other ids, too. With one libvirt
            uuid (often the mainboard's: some vendors ship batches with the same), libvirt refuses live migrations
            between them: `Attempt to migrate guest to the same host`. A drain or a migration then warns, and sends no
            server live from one to the other.
        """,
        remedies={
            "identity-shared": Remedy(
                "Choose one host that keeps this {kind}. Give each of the other hosts a new {kind} before nova-compute "
                "starts on that host."
            ),
            "libvirt-uuid": Remedy(
                "Choose one host that keeps this uuid. On each of the other hosts, set host_uuid to a new uuid in the "
                "configuration of the libvirt daemon (/etc/libvirt/libvirtd.conf, or /etc/libvirt/virtqemud.conf with "
                "modular daemons), then restart this daemon. Guests and nova-compute keep running. Until then, libvirt "
                "refuses each live migration between these hosts."
            ),
            "copies-known": Remedy(
                "Leave {keeps} as it is, because the compute node with this compute_id has its names. Keep "
                "nova-compute "
                "stopped on {copies} (systemctl mask nova-compute)."
            ),
            "copy-on-host-with-node": Remedy(
                "If the instances of {host} prove that compute node {node} belongs to it, write this uuid into "
                "{paths} on "
                "{host}."
            ),
            "copy-may-have-guests": _COPY_MAY_HAVE_GUESTS,
            "copy-without-guests": _COPY_WITHOUT_GUESTS,
            "service-up-without-nova-compute": Remedy(
                "Wait service_down_time seconds (60 by default), then run the same command again. If the compute "
                "service that this finding names is still up, another machine runs nova-compute under its name. Find "
                "that machine before you adopt the host."
            ),
            "agent-alive-under-both-names": Remedy(
                "Wait agent_down_time seconds (75 by default), then run the same command again. If two agents are "
                "still alive, one with the old name and one with the new name of the host, another machine runs one "
                "of them. Find that machine before you adopt the host."
            ),
        },
    ),
    Code(
        "SG108",
        "foreign-domain",
        BLOCKER,
        "A libvirt domain runs on a host, but the database shows the domain's instance on another host.",
        absolute=True,
        from_hosts=True,
        do="""
            First make sure that the guest runs on the host that Nova shows: `virsh domstate UUID` on both hosts, then
            the watchers in `rbd status` of its root image. If it does not run there, follow [SG132](SG132.md): this
            domain may be the only copy.

            After an evacuation with a fence, run `return_host`: it ends the domains that remain. Start nova-compute
            only after the other domain is off.
        """,
        why="""
            Two domains of one instance can write to the same disk. A domain that an evacuation left here is destroyed
            by nova-compute at its next start ([SG113](SG113.md)).
        """,
        remedies={
            "guest-on-novas-host": Remedy(
                STOPPED
                + " Destroy the domain on this host, because the guest runs on {host}, the host that Nova shows. "
                "The guest's disks stay in Ceph.",
                acts=(Act((STOP,), _ON_NOVAS_HOST, (THIS_HOST, NOVAS_HOST, MIGRATIONS), RUNNING_COPY),),
            ),
            "guest-unseen-on-novas-host": Remedy(STOPPED + " " + ONLY_HERE),
            "stray-off": Remedy(
                "On {host}, verify that the domain is off (virsh domstate {uuid}), then remove its definition (virsh "
                "undefine --keep-nvram {uuid}). The guest itself runs on {home}.",
                acts=(Act((DELETION,), OFF_HERE, (THIS_HOST, NOVAS_HOST, MIGRATIONS), OFF_DEFINITION),),
            ),
            "stray-hidden-from-libvirt": Remedy(
                "Check the watchers of the disks (rbd status) before anything else, because two hosts may write to "
                "the disks. On {host}, find out why libvirt does not show the QEMU process (pgrep -af {uuid}), then "
                "end this process. The guest also runs on {home}, the host that Nova shows.",
                acts=(Act((STOP,), _ON_NOVAS_HOST, (THIS_HOST, NOVAS_HOST, MIGRATIONS), RUNNING_COPY),),
            ),
            "stray-alive": Remedy(
                "Check the watchers of the disks (rbd status) before anything else, because two hosts may write to "
                "the disks. Then stop the domain on {host} (virsh destroy {uuid}). The guest also runs on {home}, "
                "the host that Nova shows.",
                acts=(Act((STOP,), _ON_NOVAS_HOST, (THIS_HOST, NOVAS_HOST, MIGRATIONS), RUNNING_COPY),),
            ),
            "place-undecided": HANDS_OFF,
            "lives-elsewhere-before-rollback": Remedy(
                "Run virsh domstate {uuid} on this host and on {other}, and rbd status for each disk of the guest, "
                "because the run has not read the other host. If the guest runs on both hosts, follow the page of "
                "SG108. If it runs only on this host, leave its domain as it is, and follow the page of SG132. Then "
                "run the same command again."
            ),
        },
    ),
    Code(
        "SG109",
        "missing-domain",
        BLOCKER,
        "The database shows an instance on this host, but libvirt has no domain of the instance.",
        from_hosts=True,
        overridden_by="the instance's uuid",
        do="""
            Read the hosts that the evidence lists as not read. A hard reboot starts the guest on the host that Nova
            shows: only when no compute host has a domain and `rbd status` shows no watcher. If another host has the
            domain, the next audit reports [SG132](SG132.md).
        """,
        why="""
            If the guest runs on another host, Nova does not count its memory there, and a hard reboot starts a second
            copy here. A warning for an instance in `error`: its build may have failed.
        """,
        remedies={
            "hosts-unread": Remedy(READ_FIRST),
            "disks-closed": Remedy(
                "Find out in nova-compute's log why the domain is gone, then start the server again (openstack server "
                "reboot --hard SERVER). No compute host has a domain of the server, and no Ceph client has the "
                "server's "
                "disks open.",
                acts=(
                    Act(
                        (REBOOT, START),
                        "no host has a domain, no migration says that the guest left, and no client has a disk open",
                        (EVERY_HOST, MIGRATIONS, WATCHERS),
                        NOTHING,
                    ),
                ),
            ),
            "task-or-disks-open": Remedy(
                "Run rbd status for each disk of the server to see whether a client has the disk open. Then find out "
                "in "
                "nova-compute's log why the domain is gone. No compute host has a domain of the server."
            ),
            "place-undecided": HANDS_OFF,
            "landed-not-running": Remedy(
                "Check the server's log, because the server does not run on its destination.",
            ),
            "landed-disk-unopened": Remedy(
                "Check the server's QEMU log on the host, because Nova shows the server as running, but no QEMU "
                "process "
                "has the server's disk open."
            ),
        },
    ),
    Code(
        "SG110",
        "unknown-domain",
        BLOCKER,
        "libvirt has a domain that has no row in Nova's databases.",
        from_hosts=True,
        overridden_by="the libvirt domain's uuid",
        do="""
            The evidence says whether Nova made the domain, and whether its server is deleted.
        """,
        why="""
            Nova neither counts nor manages such a domain, and a rename does not change it. If the server's row is
            soft-deleted, nova-compute by default destroys the domain and its disks
            (`_cleanup_running_deleted_instances`). On a return, a QEMU could write again as soon as the blocklist entry
            is gone: its server may run elsewhere, and its volume may be another server's by now.
        """,
        remedies={
            "domain-without-instance": Remedy(
                "Find out who owns the domain, then move the domain to another machine or undefine it."
            ),
            "server-deleted-during-rename": Remedy(
                "Wait running_deleted_instance_poll_interval seconds, then run virsh list --all. Within this time, "
                "nova-compute usually destroys the domain, except if running_deleted_instance_action is noop or log. "
                "If "
                "the domain still exists after this time, destroy and undefine the domain (virsh destroy, virsh "
                "undefine).",
                acts=(
                    Act(
                        (STOP, DELETION),
                        "its server was this host's, and the owner deleted it during the rename",
                        (THIS_HOST, CELLS),
                        "the domain of a deleted server",
                    ),
                ),
            ),
            "unknown-domain-fenced": Remedy(
                "Find out what runs in this libvirt domain. If the domain is not needed, run virsh destroy "
                "{domain}. After the run removes the blocklist entry, the domain could write to its disks "
                "again.",
                acts=(
                    Act(
                        (STOP,),
                        "the domain has no server in Nova, and could write again",
                        (THIS_HOST, CELLS, PEOPLE),
                        RUNNING_COPY,
                    ),
                ),
            ),
            "deleted-server-with-volume-fenced": Remedy(
                "Run virsh destroy {domain}, then run return_host again. The server is deleted in Nova, and "
                "another server may use the deleted server's volume. After the run removes the blocklist entry, the "
                "domain could write to this volume again.",
                acts=(Act((STOP,), "its server is deleted", (THIS_HOST, CELLS), "the domain of a deleted server"),),
            ),
            "process-without-domain": Remedy(
                "Find out the purpose of process {pid}, or end process {pid} (kill {pid}), because the process can "
                "write to disks.",
                acts=(Act((STOP,), "a QEMU process has no server in Nova", (THIS_HOST, CELLS, PEOPLE), RUNNING_COPY),),
            ),
        },
    ),
    Code(
        "SG111",
        "name-resolution",
        BLOCKER,
        "A name of the host does not resolve to an address of that host.",
        overridden_by="the new host name",
        do="""
            In general: add the name to DNS, or to `/etc/hosts` of every compute host and every controller.
        """,
        why="""
            For a live migration, the source connects to the destination by host name: a wrong address sends guests to
            the wrong machine. (Not if the host sets `live_migration_inbound_addr`; a name that only others lack is then
            a warning.) libvirt also takes its own name from the resolver if the kernel's has no dot.
        """,
        remedies={
            "reserved-domain": Remedy(
                "Choose a different name. Names below .invalid never resolve, and names below .localhost resolve only "
                "to "
                "the host itself."
            ),
            "resolves-to-loopback": Remedy(
                "Make {new} resolve to an address of this host ({addresses}), both in DNS and in /etc/hosts of this "
                "host."
            ),
            "resolves-to-another-machine": Remedy(
                "Correct DNS or /etc/hosts, or choose another name. The new name resolves to another machine."
            ),
            "old-name-in-hosts-file": Remedy(
                "Add {address} {new} to DNS or to /etc/hosts of the other machines. On the host itself, the rename "
                "adds "
                "{new} to the /etc/hosts line of {old}."
            ),
            "old-name-in-hosts-file-without-own-address": Remedy(
                "Add {new} to DNS, so that other machines can resolve {new}. On the host itself, the rename adds "
                "{new} to the /etc/hosts line of {old}. Do not copy the address of this line to other machines, "
                "because it is not one of the host's network addresses."
            ),
            "neither-name-resolves": Remedy(
                "Make sure that the other hosts can reach an address of this host for live migration. The name {new} "
                "does not resolve on this host, and neither does the old name {old}: the rename does not cause this."
            ),
            "only-old-name-resolves": Remedy(
                "Add {new} to DNS, or to /etc/hosts on this host and on every other host: {address} {new}"
            ),
            "peers-resolve-elsewhere": Remedy("Correct DNS or /etc/hosts on these hosts."),
            "peers-resolve-only-old-name": Remedy("Add {new} to DNS, or to /etc/hosts on these hosts: {address} {new}"),
            "peers-resolve-neither-name": Remedy(
                "If these hosts use host names for live migration, make {new} resolve on these hosts. The old name "
                "{old} does not resolve there either: the rename does not cause this."
            ),
            "peers-unread": Remedy("Make {new} resolve on these hosts: {address} {new}"),
        },
    ),
    Code(
        "SG112",
        "provider-name-mismatch",
        BLOCKER,
        "The compute node's resource provider is missing or has a wrong name.",
        overridden_by="the compute node's uuid",
        do="""
            The evidence lists the consumers of a provider that has the node's name. Guests of this host get their
            allocations back from `nova-manage placement heal_allocations`, once the provider exists.
        """,
        why="""
            nova-compute expects the provider of its node's uuid under the node's `hypervisor_hostname`. Otherwise every
            inventory update fails (`Error updating resources for node`), or placement refuses a second provider (409),
            and the guests lose their allocations.
        """,
        remedies={
            "provider-missing": Remedy(
                "Find out in nova-compute's log why nova-compute does not create the resource provider of its compute "
                "node. No resource provider has the compute node's uuid or name."
            ),
            "provider-misnamed": Remedy(
                "Compare the allocations of the resource provider that has the compute node's uuid with the host's "
                "instances (openstack resource provider show --allocations UUID). Then give this resource provider the "
                "name {name}: openstack resource provider set --name NAME UUID."
            ),
            "name-taken": Remedy(
                "Find out where each consumer of resource provider {others} is (openstack resource provider show "
                "--allocations UUID; openstack server show CONSUMER). For each consumer, remove only its part of the "
                "allocation (openstack resource provider allocation unset --provider UUID CONSUMER). When resource "
                "provider {others} has no allocations, delete it (openstack resource provider delete UUID).",
                acts=(
                    Act(
                        (DELETION,),
                        "another provider has the node's name; each consumer's part goes first",
                        (PROVIDERS,),
                        "the stale part of allocations, then the provider",
                    ),
                ),
            ),
            "name-taken-own-missing": Remedy(
                "nova-compute then creates the resource provider with the compute node's uuid."
            ),
            "name-taken-own-exists": Remedy(
                "Then give the resource provider with the compute node's uuid the name {name}."
            ),
            "provider-changed-by-rename": ROLL_BACK,
            "allocations-changed-during-rename": Remedy(
                "Check whether the owners deleted or resized the servers during the rename (openstack server event "
                "list)."
            ),
            "new-host-differs": RESUME_RENAME,
        },
    ),
    Code(
        "SG113",
        "restart-would-destroy",
        BLOCKER,
        "At its next start, nova-compute would destroy libvirt domains.",
        absolute=True,
        from_hosts=True,
        do="""
            Keep nova-compute stopped and masked: `systemctl mask --now nova-compute`
            (kolla-ansible: `systemctl disable --now kolla-nova_compute-container`).
            To close an evacuation record, in the cell's database:

                UPDATE migrations SET status='completed' WHERE uuid='UUID OF THE MIGRATION'
                  AND migration_type='evacuation' AND source_compute='HOST'
                  AND status IN ('accepted', 'pre-migrating', 'done');

            Only if the server's row says this host, and its only domain runs here. Audit again, then unmask.
        """,
        why="""
            At its start, nova-compute destroys every guest with an unfinished evacuation *from its own host name*, even
            one that has moved back since, or that left another host which had this name. It also finishes a deletion
            that was broken off, disks included (a warning). Nova 26 to 28 delete compute nodes with this host's name
            that libvirt does not report.
        """,
        remedies={
            "evacuated-domain-here": Remedy(
                _LEAVE_STOPPED
                + " If the instance is on this host, set the status of the instance's evacuation record to "
                "completed before you start nova-compute.",
                acts=(
                    Act(
                        (UPDATE,),
                        "a domain of an evacuated instance is here, and the instance is on this host",
                        (THIS_HOST, CELLS, MIGRATIONS),
                        "the record that lets nova-compute end the domain",
                    ),
                ),
            ),
            "evacuated-instance-is-back": Remedy(
                STOPPED
                + " Before you start nova-compute, set the status of the evacuation record to completed, because "
                "the instance is on this host.",
                acts=(
                    Act(
                        (UPDATE,),
                        "the evacuated instance is back on this host, by its row and its domain",
                        (THIS_HOST, CELLS, MIGRATIONS),
                        "the record that lets nova-compute end the domain",
                    ),
                ),
            ),
            "half-deleted": Remedy(
                "Save the data you need from the server's disks before nova-compute starts. The owner deleted the "
                "server, "
                "but the deletion did not finish. At its next start, nova-compute finishes the deletion and deletes "
                "the "
                "disks."
            ),
            "node-orphaned": Remedy(_LEAVE_STOPPED + " Restore the host's old name."),
            "place-undecided": HANDS_OFF,
            "evacuated-from-new-name": Remedy(
                "Choose another name for rename_to. If the host has the name in rename_to when nova-compute starts, "
                "nova-compute destroys any domain of this instance on the host."
            ),
        },
    ),
    Code(
        "SG114",
        "host-unreadable",
        BLOCKER,
        "The host did not answer, or the run could not read some of its facts.",
        overridden_by="the finding's object",
        override="For a part that an audit could not read it is `HOST:PART`, such as `compute1:memory`.",
        do="""
            The evidence shows what is missing and why: the connection, the user's permissions (root is required),
            python3-libvirt, or the paths of nova.conf.
        """,
        why="""
            What was not read cannot be checked, and a host that does not answer may still run guests.
        """,
        remedies={
            "host-unreachable": Remedy("Make {host} reachable for Ansible, then run the same command again."),
            "identity-unread": Remedy(
                "Fix the causes that the evidence shows (permissions, python3-libvirt, paths), then run the same "
                "command "
                "again."
            ),
            "part-unread": PART_UNREAD,
            "unread-before-rename": Remedy(
                "Make the host reachable for Ansible, because a rename reads and changes files on the host."
            ),
            "unread-before-adoption": Remedy("Make the host reachable for Ansible."),
        },
    ),
    Code(
        "SG115",
        "unsupported-driver",
        BLOCKER,
        "The host is not a libvirt compute host (ironic, or another driver).",
        from_hosts=True,
        overridden_by="the host's inventory name",
        why="""
            With ironic and other drivers, one compute service can have several compute nodes, and a host may have no
            `compute_id` file. The checks are valid only for libvirt hosts.
        """,
        remedies={
            "driver-unsupported": Remedy(
                "Leave this host out of the run: remove it from the inventory group of the compute hosts."
            ),
        },
    ),
    Code(
        "SG116",
        "service-without-node",
        BLOCKER,
        "A compute service has no compute node.",
        overridden_by="the compute service's uuid",
        why="""
            The scheduler and the hypervisors API ignore a host without a compute node, and Nova cannot manage its
            guests. The usual cause is an unfinished rename.
        """,
        remedies={
            "service-without-node": Remedy(
                "Check whether the host of this compute service has a compute node under another name, because a "
                "rename may be unfinished. If the host has no compute node under any name, start nova-compute on the "
                "host, and watch its log.",
                acts=(Act((START,), "the service has no node", (SERVICES, FORECAST), NOTHING),),
            ),
        },
    ),
    Code(
        "SG117",
        "unmapped-host",
        BLOCKER,
        "The host has no host mapping, so the API cannot find the host.",
        overridden_by="the host's name",
        do="""
            If the evidence shows a mapping whose name differs only in case, finish the earlier rename with
            `rename_host` ([guide](../guides/rename.md)). Otherwise:
        """,
        why="""
            The API finds neither the host nor its compute node by name: Nova cannot migrate servers to it or evacuate
            servers from it. The hypervisors API leaves it out, so an audit through the APIs alone does not show it.
        """,
        remedies={
            "host-unmapped": Remedy("Run nova-manage cell_v2 discover_hosts --by-service."),
        },
    ),
    Code(
        "SG118",
        "name-invalid",
        BLOCKER,
        "The new host name is invalid, or Nova cannot use it.",
        overridden_by="the new host name",
        do="""
            A name has RFC 1123 labels of at most 63 characters, at most 253 in all (64 for the kernel's host name, 200
            for the resource provider's), and at least one letter. It is no IP address, does not end with a dot, and is
            no name that every machine has (`localhost`, `localhost.localdomain`). Capital letters alone are only a
            warning.
        """,
        why="""
            If DNS, the kernel, Nova or placement cannot store the name, the rename stops halfway.
        """,
        remedies={
            "not-a-free-host-name": Remedy(
                "Choose a host name that no other host has. Use only letters, digits, hyphens and dots."
            ),
            "capital-letters": Remedy(
                "Choose a name in lower case, because DNS and MySQL ignore case, but Nova and placement distinguish "
                "capital letters from small letters."
            ),
            "libvirt-name-unpredictable": Remedy(
                "Set rename_hypervisor_hostname to the host name that libvirt will report after the rename, because "
                "the "
                "run cannot predict this host name."
            ),
            "no-name-changes": Remedy(
                "If only the host name in libvirt has changed, set rename_hypervisor_hostname to the name that libvirt "
                "reports now."
            ),
        },
    ),
    Code(
        "SG119",
        "host-not-found",
        BLOCKER,
        "No cell database has this host, or the host's compute service is missing.",
        overridden_by="the finding's object",
        do="""
            Find the host's old name in `openstack compute service list`, or in `instances.host` of its guests. If the
            host has guests, keep nova-compute stopped until you know it.
        """,
        why="""
            A host with guests that no cell knows was renamed, or its service was deleted. nova-compute 29 and later
            refuses to start there; 28 and earlier does not look for guests, and can register the host as a new one.
            Without guests, every release can: an audit then only warns, because the host may be new.
        """,
        remedies={
            "guests-without-service": Remedy(
                _LEAVE_STOPPED
                + " The host has guests but no compute service. Find out whether someone renamed the host "
                "or deleted its compute service."
            ),
            "no-guests-no-service": Remedy(
                "Start nova-compute and map the host, or remove the host from the inventory group.",
                acts=(
                    Act((START,), "the host has no guests and no service", (SERVICES, THIS_HOST, FORECAST), NOTHING),
                ),
            ),
            "repair-host-unknown": Remedy(
                "Set repair_hosts to host names of compute services (column Host of openstack compute service list) "
                "or to "
                "names of compute nodes."
            ),
            "host-unknown": Remedy("Use the host name that openstack compute service list shows."),
            "old-name-unknown": Remedy(
                "Set rename_from to the host name that openstack compute service list shows in the column Host."
            ),
            "both-names-unknown": Remedy(
                "Set rename_from to the old name of the host, and set rename_to to the current name of the host. The "
                "run "
                "found no compute node with the name in rename_from or in rename_to."
            ),
            "file-of-another-host": Remedy(
                "Check rename_from, rename_to and the inventory host. The compute_id file of this machine has the "
                "uuid of another host's compute node: that host (see host in the evidence) is neither rename_from "
                "nor rename_to, and has a compute service."
            ),
            "returning-host-without-service": Remedy("Use the host name that openstack compute service list shows."),
        },
    ),
    Code(
        "SG120",
        "guest-changed",
        BLOCKER,
        "A guest has changed since the operation began.",
        overridden_by="the guest's uuid",
        override="It takes effect in the run that resumes the operation.",
        do="""
            If the finding is a blocker, look at the domain (`virsh dumpxml UUID`) and find out who changed it. Then
            override the finding, and run the command of the operation again. The verdict of such a run is never `pass`.
        """,
        why="""
            While nova-compute is stopped, only the guest itself or a person on the host can change a guest. If libvirt
            does not show a QEMU that runs, a start in Nova starts a second one on the same disks: always a blocker. A
            guest that shut down, or that a reboot of the host restarted, is only a warning. Once nova-compute has
            started, so is what the owner can change.
        """,
        remedies={
            "domain-gone": Remedy(
                "Find out who removed the domain from libvirt. The guest's disks and the guest's row in Nova's "
                "database "
                "are unchanged."
            ),
            "domain-added": Remedy(
                "Find out who defined the domain. When the run made its plan, the domain did not exist."
            ),
            "guest-ended": Remedy(
                "Start the guest as soon as nova-compute runs (openstack server start {uuid}). If the owner wants the "
                "guest to stay off, do not start the guest.",
                acts=(
                    Act(
                        (START,),
                        "the guest ran here when the operation began, and its domain is off",
                        (THIS_HOST, CELLS),
                        NOTHING,
                    ),
                ),
            ),
            "process-changed": Remedy("Find out who started the QEMU process while nova-compute was stopped."),
            "process-changed-by-reboot": Remedy("No action is needed: the guest runs again."),
            "definition-changed": Remedy("Check what changed in the domain's definition: virsh dumpxml {uuid}"),
            "state-changed": Remedy("Check the domain: virsh domstate --reason {uuid}"),
            "process-unknown-to-libvirt": Remedy(
                "Find out why libvirt does not show QEMU process {pid}. The QEMU process still runs and writes the "
                "guest's disks. If someone starts the guest in Nova, a second QEMU starts on the same disks. End the "
                "QEMU process only if the guest's owner agrees, because the guest is then off.",
                acts=(Act((STOP,), "a QEMU runs that libvirt does not show", (THIS_HOST, PEOPLE), RUNNING_COPY),),
            ),
        },
    ),
    Code(
        "SG121",
        "request-lost",
        WARNING,
        "Nova accepted a request that no nova-compute executes.",
        why="""
            Nova's API accepted the request and reports no error. An action without an event reached no nova-compute;
            one whose event never ended was abandoned. Nova accepts `createImage` and `createBackup` even for a locked
            guest, and everything from an administrator. With access to RabbitMQ, a rename reports what waits in the
            queues of the old name and deletes it, but never moves it ([SG307](SG307.md)); `evacuate_host` and
            `return_host` report what they removed from the queues of a dead host ([SG329](SG329.md)).
        """,
        remedies={
            "request-left": Remedy(
                "Ask the owner to send the request again. No nova-compute will execute the request in the queue."
            ),
            "request-of-known-server": Remedy("To see the request: openstack server event show {uuid} {request}"),
            "request-removed": Remedy(
                "Ask the owner to send the request again. The run removed the request, and no nova-compute executes it."
            ),
            "action-not-ended": Remedy(
                "Ask the server's owner to send the request again. Delete each image that stays in the status queued "
                "(openstack image delete). To see the request, run openstack server event show {uuid} {request}",
                acts=(
                    Act(
                        (DELETION,),
                        "a request to make an image was lost",
                        ("the actions of the server",),
                        "an image without data",
                    ),
                ),
            ),
        },
    ),
    Code(
        "SG122",
        "guest-unlocked",
        WARNING,
        "During the operation, someone unlocked a guest that the operation had locked.",
        do="""
            For the lost requests, follow [SG121](SG121.md) and [SG701](SG701.md).
        """,
        why="""
            The guests are locked so that Nova refuses requests while nova-compute is stopped: for a guest that is not
            locked, such requests are lost. A lock without a reason can come from a request, such as a shelve, that Nova
            accepted just before the lock: nova-compute then saves the whole `system_metadata`, and overwrites the
            reason. A rollback still unlocks all guests that its journal lists.
        """,
        remedies={
            "unlocked-during-operation": Remedy(
                "Check which requests the server received after someone unlocked the server: openstack server event "
                "list "
                "{uuid}"
            ),
            "locked-without-reason": Remedy(
                "Find out whether the owner locked the server (openstack server event list {uuid}), or whether an "
                "earlier run of the operation locked the server. The record of the locks is incomplete, because that "
                "run was killed while it was locking guests. If the owner did not lock the server, unlock the server "
                "(openstack server unlock {uuid})."
            ),
        },
    ),
    Code(
        "SG123",
        "frozen-host-name",
        BLOCKER,
        "A service has its own copy of the host name, and a rename does not change that copy.",
        absolute=True,
        do="""
            - **kolla-ansible**: set `rename_recreate_command` to the command that creates missing containers, and run
              the rename again. The old containers are kept under other names until it is over
              ([guide](../guides/rename-kolla.md)).
            - **podman without that**: set `utsns = "host"` under `[containers]` of `/etc/containers/containers.conf`,
              and recreate the containers.
            - **a unit with `ProtectHostname=`**: `systemctl edit UNIT`, set `ProtectHostname=no`, restart the unit.

            If the service must keep a host name of its own, do not rename the host.
        """,
        why="""
            A container engine copies the host's name into each container on the host's network that it creates.
            Restarts and reboots keep the copy, and nova-compute compares it with the databases at each start: after a
            rename it refuses to start. If someone renamed only the host, nova-compute starts until the next upgrade
            recreates the container, and then refuses.
        """,
        remedies={
            "no-container-of-kolla": Remedy(
                "Keep the host's name, or let the service use the host's UTS namespace (docs/guides/deployments.md). "
                "This service keeps the old host name until you create its container again, or until you remove "
                "ProtectHostname= from its systemd unit and restart the unit."
            ),
            "adopted-with-containers": Remedy(
                "Leave nova-compute as it is, and follow docs/guides/already-renamed.md for kolla-ansible: a host "
                "whose containers have names of their own (here {name}) is not adopted."
            ),
            "container-not-created-again": Remedy(
                "{why} As an alternative, keep the host's name, or let the service use the host's UTS namespace "
                "(docs/guides/deployments.md)."
            ),
        },
    ),
    Code(
        "SG124",
        "rehearsal-failed",
        BLOCKER,
        "Libvirt would not use the planned host name after the rename, or the run was unable to predict libvirt's host "
        "name.",
        overridden_by="the host's inventory name",
        override="Only if the test was inconclusive.",
        why="""
            Nova takes `hypervisor_hostname` from libvirt: the kernel's name if that has a dot, otherwise the canonical
            name that the resolver gives for it. If that is not the planned name, a rename in place stops halfway, and a
            rename by drain fails after it has deleted the compute service.

            The test is inconclusive if what it finds for the current name is not what libvirt reports; and for a name
            without a dot, if nscd runs (it may return cached answers) or nsswitch.conf lists systemd-resolved before
            `/etc/hosts`. A rename in place then goes on, with SG124 `unchecked`, because you can roll it back. A rename
            by drain is blocked.
        """,
        remedies={
            "rehearsal-undecided": Remedy(
                "Add {name} to /etc/hosts, and put 'files' first in the hosts line of /etc/nsswitch.conf."
            ),
            "libvirt-name-not-planned": Remedy(
                "Set rename_hypervisor_hostname={found} to accept the name {found}. To keep the planned name, make "
                "{planned} the canonical name of {name}. If /etc/hosts of the host resolves {name}, make {planned} the "
                "first name in the /etc/hosts line that contains {name}. If DNS resolves {name}, set the canonical "
                "name in "
                "DNS."
            ),
        },
    ),
    Code(
        "SG125",
        "guest-elsewhere",
        BLOCKER,
        "A rollback would write this host's name into the records of a guest that is now on another host.",
        overridden_by="the guest's uuid",
        override=(
            "The rollback then leaves the guest's row and ports as they are; the journal and the report list the guest."
        ),
        do="""
            1. Find out where the guest runs: `openstack server show UUID -c OS-EXT-SRV-ATTR:host`, and `virsh domstate
               UUID` on this host and on the host in `guest lives on`.
            2. If a domain still runs on this host too, both write to one disk (SG108). Find out which one must keep
               running, and `virsh destroy UUID` the other. nova-compute will not do it: after the rollback it looks
               for evacuations from the old name, and this one has the new name.
            3. If the rollback reports the evacuation's migration record as SG509, override that, too. While the
               evacuation is in progress (`accepted`, `pre-migrating`), no override helps: wait until it ends.
        """,
        why="""
            While the rename was open, an administrator evacuated or migrated the guest. With this host's old name in
            its row and its ports, Nova would look for the guest here. Until each such guest is overridden, the rollback
            changes no row and no port of any guest.
        """,
        remedies={
            "lives-elsewhere-before-rollback": Remedy(
                "To leave the server on its current host, add an override of SG125 for the server's uuid to "
                "stackguard_overrides, then roll back again."
            ),
        },
    ),
    Code(
        "SG126",
        "stale-container-name",
        BLOCKER,
        "A container still uses an earlier name of the host as its host name.",
        from_hosts=True,
        overridden_by="the host's inventory name with the service, such as `compute1:libvirtd`",
        override="A rename still stops at [SG123](SG123.md) of this container.",
        do="""
            If the host's current name is the right one, the host still needs a complete rename: give it back the old
            name (`hostnamectl set-hostname OLD`, `/etc/hosts`), then rename it with `rename_host`
            ([guide](../guides/rename.md)). Recreate no container before the host has the right name, and Nova uses the
            same.
        """,
        why="""
            Docker and podman copy the host's name into each container that they create; restarts and reboots keep the
            copy. After a manual rename, the services keep the old name until the next upgrade recreates the containers.
            libvirt then reports the new name, and nova-compute refuses to start. kolla-ansible's `reconfigure` and
            `deploy-containers` do not notice. Only a warning for ovn-controller, and for nova-compute or a neutron
            agent with `host` in its configuration.
        """,
        remedies={
            "container-name-stale": Remedy(
                "Check the host's name before you recreate the container, because {program} uses the host name {name} "
                "in "
                "the new container. If {name} is wrong, restore the host's name {old} (hostnamectl). If {name} is "
                "correct, "
                "see docs/guides/deployments.md."
            ),
        },
    ),
    Code(
        "SG127",
        "guest-in-container",
        BLOCKER,
        "A guest runs in a container's control group and ends when the container stops.",
        absolute=True,
        from_hosts=True,
        do="""
            In kolla-ansible, the container's settings are `cgroupns_mode: host` and the volume `/sys/fs/cgroup`. Verify
            then that a new guest gets a group of its own, such as `/machine/qemu-1-instance.libvirt-qemu`.
        """,
        why="""
            libvirt in a container starts QEMU there, and moves it into a control group on the host. If it cannot, the
            container runtime ends QEMU with the container: in a test (podman 4.3), two guests ended 0.66 seconds after
            the unit `kolla-nova_libvirt-container` was stopped. A QEMU that is no guest of this host is only a warning.
            A rename by drain is not blocked: it stops services only after the guests have left.
        """,
        remedies={
            "guest-in-container": Remedy(
                "Do not stop, restart or recreate the libvirt container, because each of these actions kills the "
                "guest. "
                "Migrate the guest to another host first. Then give the container the control groups of the host "
                "(--cgroupns host and /sys/fs/cgroup), so that libvirt creates a separate control group for each guest."
            ),
            "unknown-process-in-container": Remedy(
                "Find out who started this QEMU process. Neither Nova nor libvirt shows the guest of this process on "
                "this host. Until you know the purpose of this QEMU process, do not stop the container (see the "
                "evidence), because the process ends with it."
            ),
        },
    ),
    Code(
        "SG128",
        "restart-pending",
        WARNING,
        "A configuration file of nova-compute changed after nova-compute started.",
        from_hosts=True,
        why="""
            nova-compute uses the old values until its *next* start, which an operation may cause; the collection
            already reads the new ones. With kolla-ansible, this is normal between `genconfig` and the restart of the
            container. If someone changed the host's clock meanwhile, the finding can be missing or wrong.
        """,
        remedies={
            "configuration-changed": Remedy(
                "Find out what changed in the file, and restart nova-compute if the new values are correct. If they "
                "are wrong, restore the file.",
                acts=(
                    Act(
                        (START,),
                        "a configuration file changed after nova-compute started",
                        (FORECAST, PEOPLE),
                        NOTHING,
                    ),
                ),
            ),
        },
    ),
    Code(
        "SG129",
        "compute-id-immutable",
        INFO,
        "A compute_id file is immutable (chattr +i).",
        from_hosts=True,
        overridden_by="the file's path",
        override=(
            "It does not make the file writable: the step or the container still fails. Run `chattr -i` instead."
        ),
        why="""
            Some deployment tools protect the compute node's identity so. Not even root can write or remove such a file:
            a rename by drain would fail after it has deleted the compute service, and a kolla-ansible container, which
            copies the file at each start, would not start. So it is a blocker before a rename by drain, and before one
            in place that recreates nova-compute's container; otherwise information, or a warning if the file does not
            have the node's uuid.
        """,
        remedies={
            "file-immutable": Remedy(
                "Run chattr -i {path} before you change or remove the file, and chattr +i {path} after a change. If "
                "a kolla container copies its compute_id file to {path}, run chattr -i {path} now: the container "
                "cannot start with an immutable copy. For a file outside a kolla container, no action is needed if a "
                "deployment tool made the file immutable and the file contains the correct uuid."
            ),
        },
    ),
    Code(
        "SG130",
        "deployment-unknown",
        BLOCKER,
        "The deployment of nova-compute on the host is unknown or not supported.",
        overridden_by="the host's inventory name",
        override=(
            "The run then uses the units of the distribution's packages, and refuses to start if there are none. "
            "Once they are stopped, it verifies that no nova-compute process remains."
        ),
        do="""
            `why` in the evidence has the reason. If an old deployment has left a unit file or
            `/etc/kolla/nova-compute`, remove the remains and run the same command again. EDPM, OpenStack-Ansible,
            charms, the Sunbeam snap and Kubernetes are detected, but not tested, and their units are not known.
        """,
        why="""
            A rename must stop nova-compute and keep it stopped, even through a reboot, until every place has the new
            name. With a guessed unit it could stop another service, or not stop nova-compute.
        """,
        remedies={
            "units-of-nova-compute-unknown": Remedy(
                "Set rename_compute_units to the unit that starts nova-compute. If no unit starts nova-compute, set "
                "rename_stop_command, rename_start_command, rename_mask_command and rename_unmask_command. {refusal} "
                "See "
                "docs/guides/deployments.md."
            ),
        },
    ),
    Code(
        "SG131",
        "already-renamed",
        BLOCKER,
        "Someone renamed the host. Nova, the host itself and other systems now use different names for the host.",
        from_hosts=True,
        overridden_by="the host's inventory name",
        override=(
            "In an audit it changes only the verdict: the finding stays until every place has one name. An adoption "
            "reports information, and a blocker without the proof above. Override that only if you know that this "
            "machine is the host, for example because its address changed, too: adopting a copy takes the identity "
            "of its original."
        ),
        do=r"""
            Keep nova-compute stopped, and evacuate no guest of this host. On kolla-ansible, or if a guest was evacuated
            already, follow [the guide](../guides/already-renamed.md). Otherwise look at the plan, then run it without
            `--check`:

                ansible-playbook rename_host.yml -e @cloud.yml -e rename_from=OLD -e rename_to=NEW \
                    -e rename_action=adopt -e rename_adopt=forward --check --diff

            `forward` gives the host the new name in every place, `rename_adopt=back` the old one. The guests keep
            running.
        """,
        why="""
            A person, DHCP, cloud-init, an upgrade or some SQL changed the name in some places. nova-compute 29 and
            later refuses to start, 27 and 28 in most cases. The guests still run while Nova lets you evacuate them: two
            QEMUs would write to one disk.

            The compute node is this machine's if its `host_ip` is an address of the machine or one of its guests runs
            here; if no other host that was read has its uuid, its address or one of its names; if every host that may
            be the owner was read; and if no service of either name is up that nova-compute here cannot be. machine-id
            and libvirt uuid prove nothing: a copied disk has both.
        """,
        remedies={
            "two-names": Remedy(
                "Run rename_host with -e '{options} rename_action=adopt'. With rename_adopt=forward, the host gets "
                "the name {forward} in every place, with rename_adopt=back the name {back}. Keep nova-compute "
                "stopped until rename_host has finished (systemctl mask nova-compute). Do not evacuate this host, "
                "because its guests may still run.",
                acts=(
                    Act(
                        (ADOPTION,),
                        "the host's names differ from those of the compute node whose uuid it has",
                        (SERVICES, THIS_HOST),
                        _SECOND_IDENTITY,
                    ),
                ),
            ),
            "more-than-two-names": Remedy(
                "Decide on an old name and a new name for this host, because the evidence shows more than two names. "
                "If a place on the host or in Nova's databases has a third name, replace it with the old name or the "
                "new name. Then run rename_host with rename_action=adopt. Keep nova-compute stopped until "
                "rename_host has finished (systemctl mask nova-compute). Do not evacuate this host.",
                acts=(
                    Act(
                        (ADOPTION,), "the host has more than two names", (SERVICES, THIS_HOST, PEOPLE), _SECOND_IDENTITY
                    ),
                ),
            ),
            "machine-unproven": Remedy(
                "Keep nova-compute stopped, and find out whether this machine is the host of the compute node, or a "
                "copy of that host. Make the machines that the evidence names readable, then run the same command "
                "again. If this machine is a copy, remove its compute_id file, and adopt nothing. If it is the host "
                "and its address has changed too, override SG131 for this host, with the reason."
            ),
            "machine-proven": Remedy(
                "No action is needed: this run gives the host the name {goal} in every place. A rollback restores the "
                "state that the run found."
            ),
        },
    ),
    Code(
        "SG132",
        "domain-elsewhere",
        BLOCKER,
        "The libvirt domain of a server is not on the host that Nova shows for the server.",
        absolute=True,
        from_hosts=True,
        of_server=True,
        do="""
            Lock the server: `openstack server lock SERVER`. This stops its owner, not an administrator. No API of Nova
            corrects a server's host. The ways out:

            - **One domain runs, on the destination of a completed live migration, and must not stop**:
              `ansible-playbook repair_links.yml -e @cloud.yml -e repair_action=arrived -e repair_server=UUID --check
              --diff`, then without `--check`. It corrects the server's row, the migration's allocation and the port
              bindings, or refuses ([SG714](SG714.md)). Not for servers with volumes or devices.
            - **One domain runs on another host, and may stop**: shut the guest down from inside. When its domain is
              off and `rbd status` shows no watcher of its disks, undefine the domain on that host, and only then
              hard-reboot the server in Nova. Both hosts must be able to open the disks: local disks are where the
              guest ran.
            - **Two QEMU processes run**: both have probably written to the disks. Ask the owner which copy has the
              right data, and restore the disks from a backup if neither has. Nothing can merge them.
            - **All domains are off, or there is none**: find the host that has the newest disks. If all are in Ceph,
              verify that no image has a watcher, undefine the domains on the hosts that Nova does not show, then start
              the server in Nova. If they are local, first make Nova show the host that has them.

            After all ways but the first, remove the second port binding (`openstack port show` shows the bindings).
            Unlock the server if you locked it, and audit again.
        """,
        why="""
            Nova sends every request to the host that it shows. If the only domain is elsewhere, a start or a hard
            reboot starts a second QEMU on the same disks; who ends the domain ends the only copy of the guest. This
            comes from a lost last write of a migration, resize or evacuation, such as a broken database connection: the
            migration is `completed`, `confirmed` or `done`, and `instances.host` is still the source. Nova never
            corrects it. Findings with the same cause are in the evidence under `joins`.
        """,
        remedies={
            "hosts-unread": Remedy(READ_FIRST + " " + _LOCK),
            "runs-several-times": Remedy(
                _LOCK
                + " Ask the owner which copy of the guest has the right data: QEMU processes of the server run on "
                "{hosts}, and each of them can write to the server's disks. " + _PAGE
            ),
            "runs-elsewhere": Remedy(_RUNS_ELSEWHERE + " " + _PAGE),
            "arrived": Remedy(
                _RUNS_ELSEWHERE + " Then run ansible-playbook stackguard.nova.repair_links -e repair_action=arrived -e "
                "repair_server={uuid}: it makes Nova show the server on {host}, or refuses and changes nothing."
            ),
            "off-elsewhere": Remedy(
                _LOCK
                + " Find out which host has the server's disks: the server is off, Nova shows the server on {home}, "
                "and its domain is defined on {hosts}. " + _PAGE
            ),
            "no-domain": Remedy(
                _LOCK
                + " Find out whether {home} or {went} has the server's disks: Nova shows the server on {home}, its "
                "last migration went to {went}, and no host has a domain of the server. " + _PAGE
            ),
        },
    ),
)
