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
    "The following command replaces all caps of the user, so add to the command every existing cap that the command "
    "lacks (ceph auth get client.{user} shows the existing caps): ceph auth caps client.{user} mon 'profile rbd, allow "
    "command \"osd {word}\" with {word}op=rm' osd 'EXISTING OSD CAPS'"
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
            "Add a separate entry to `stackguard_overrides` for each server. With the override, the "
            "run sends the server to the host with the most free memory, and protects the server's "
            "disks with guard snapshots."
        ),
        remedies={
            "evacuee-without-destination": Remedy(
                "Make memory available on a host of the server's zone, or add a host. You can also evacuate this "
                "server "
                "before other servers (evacuate_order), or leave this server out (evacuate_partial=true). A server "
                "that "
                "you leave out stays on the dead host, and you can recover this server later."
            ),
            "zone-without-memory": Remedy("Free up memory on a host of the server's zone, or add a host."),
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
        remedies={
            "destination-overcommitted": Remedy(
                "Move some guests of this host to other hosts after the operation. As soon as the guests use their "
                "full "
                "memory, the host may swap, or the OOM killer may end guests."
            ),
            "host-overcommitted": Remedy(
                "Move guests away (openstack server migrate --live-migration). As soon as the guests use their full "
                "memory, the host may swap, or the OOM killer may end guests."
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
        override=("Add a separate entry to `stackguard_overrides` for each server."),
        remedies={
            "evacuee-without-destination": Remedy(
                "Free or add huge pages of the server's page size on a host of the server's zone, or leave the server "
                "out "
                "(evacuate_partial=true). On the destination host, each NUMA cell of the server needs its own NUMA "
                "node "
                "with enough free huge pages."
            ),
            "zone-without-huge-pages": Remedy(
                "Free or add huge pages of the server's page size on a host of the server's zone. On the "
                "destination host, each NUMA cell of the server needs its own NUMA node with enough free huge pages."
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
            "Add a separate entry to `stackguard_overrides` for each server. If you override this "
            "finding and the server then fails to start, guard snapshots still protect the server's "
            "remaining images."
        ),
        remedies={
            "evacuee-without-destination": Remedy(
                "First find the missing image: look in the other pools and in the trash (rbd trash ls). While this "
                "image "
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
            "guard-unverified": Remedy(
                "Make sure that one of the hosts from which the run reads Ceph can read the pool with the server's "
                "images. "
                "Then run the same command again. The run evacuates the server only after it has protected the "
                "server's "
                "images with guard snapshots."
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
        override=(
            "Before you override a finding about an image name that exists in two pools, find out "
            "which of the two images is the server's disk."
        ),
        remedies={
            "evacuee-without-destination": Remedy(
                "Give the destination host the same pool and Ceph configuration as the source host."
            ),
            "two-images-of-one-name": Remedy(
                "Find out which image is the server's disk. Never evacuate the server while two images have the same "
                "name."
            ),
            "host-uses-another-pool": Remedy(
                "Give this host the same Ceph configuration as the other hosts. Also give this host access to the pool "
                "with the disks. The run uses this host as a destination only if the host has access to the pool."
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
            "To override this finding, add an entry to `stackguard_overrides` with the keys `code`, "
            "`object` and `reason`. You can override this finding in two cases:\n\n"
            "- If the fence does not cover a server's disk, and the source host shows no signs of life, set `object` "
            "to the server's\n  name or uuid.\n- With `evacuate_fence=attested`, set `object` to the host's name. "
            "This override replaces the proof that the host is\n  fenced.\n\n"
            "No override is possible in these cases:\n\n"
            "- The source host shows signs of life.\n- The requested fence is not `attested`, and there is no proof "
            "that the requested fence worked.\n- The run has no host address that it can put on the blocklist."
        ),
        remedies={
            "alive": Remedy(
                "Fence the host (evacuate_fence), wait until no guest runs on the host, then run the same command "
                "again. "
                "No override is possible, because the host is alive."
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
                "Wait 30 seconds, then run the same command again, because Ceph needs up to 30 seconds to drop the "
                "watchers of a machine that is off. If the finding appears again, the machine is on: switch it off "
                "(ipmitool chassis power off), then run the same command again."
            ),
            "refused-client-watches": Remedy(
                "Wait 30 seconds, then run the same command again. Ceph needs up to 30 seconds to drop the watchers "
                "of a "
                "client that is on the blocklist."
            ),
            "disk-not-covered": Remedy(
                "Use a fence that covers the whole machine (evacuate_fence={fences}), set "
                "evacuate_blocklist_addresses=[...] to the host's addresses in this Ceph cluster, or override this "
                "finding "
                "for the server. The blocklist does not cover this disk."
            ),
            "proof-not-read": Remedy(
                "Run the same command again. If the host is not fenced yet, the next run fences the host. If the host "
                "is "
                "already fenced, the next run reads the state of the fence again."
            ),
            "fence-gives-no-proof": Remedy(
                "Use a fence whose effect the run can verify: evacuate_fence={fences}. If no such fence is available, "
                "attest that the host is dead: set evacuate_fence=attested, and override SG506 for this host with your "
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
            "address-invalid": Remedy(
                "Correct this entry of evacuate_blocklist_addresses, because the entry is not an IP address."
            ),
            "address-of-another-machine": Remedy(
                "Remove this address from evacuate_blocklist_addresses, because another machine has this address, and "
                "Ceph "
                "would refuse all writes of that machine."
            ),
            "address-of-ceph-daemon": Remedy(
                "If evacuate_blocklist_addresses contains this address, remove the address. The run never puts this "
                "address on the blocklist. " + _OTHER_FENCE
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
        remedies={
            "place-undecided": HANDS_OFF,
            "evacuated-runs-elsewhere": Remedy(
                "Leave the server out of the evacuation (evacuate_partial=true), and leave its domain on {host} as it "
                "is. "
                "The guest runs on {host}: an evacuation would start a second QEMU on the same disks."
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
                "Keep nova-compute on {host} stopped. The server is safe: Ceph refuses writes from the QEMU process on "
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
                "Lock the server (openstack server lock {uuid}), and leave each domain of the server as it is: this "
                "host "
                "has no domain of the server that runs, so what the evidence shows may be the only copy of the guest. "
                "Then "
                "follow the page of SG132."
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
                "Save the data that you need from the disk, then run: rbd rm {image}. Nova could not delete this disk, "
                "because the disk still had its guard snapshot",
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
        remedies={
            "off-and-guest-on-novas-host": Remedy(
                "Undefine the domain (virsh undefine), because the domain has no process, and the guest runs on the "
                "host "
                "that Nova shows.",
                acts=(Act((DELETION,), OFF_HERE, (THIS_HOST, NOVAS_HOST, MIGRATIONS), OFF_DEFINITION),),
            ),
            "off-and-guest-unseen-on-novas-host": Remedy(ONLY_HERE),
            "off-and-resize-waits": Remedy(
                "Leave the domain as it is: a resize of the server waits for its confirmation, and a revert comes back "
                "to this host. Have the resize confirmed or reverted (openstack server resize confirm {uuid})."
            ),
            "server-deleted": Remedy(
                "Before nova-compute starts, save the data you need from the disks of this server, which is already "
                "deleted in Nova."
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
                "Verify that no evacuated instance was moved back to {host}, then start nova-compute once on that host "
                "under the name {host}. At its start, nova-compute destroys the domains of evacuated instances and "
                "sets "
                "the evacuation record to completed.",
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
                "Do not start nova-compute on {host}. Nova shows an evacuated instance on this host again, and at its "
                "start, nova-compute destroys the domains of evacuated instances. First run return_host for this host, "
                "because return_host reports each of these domains (SG113)."
            ),
            "evacuated-from-renamed-host": Remedy(
                "Do not start nova-compute on this host, because the start of nova-compute would destroy the guest's "
                "domain. Find out where the guest runs, and which client writes to the guest's disks. Then override "
                "SG509 "
                "for the migration, and run the same command again."
            ),
            "evacuated-from-adopted-host": Remedy(
                "Keep nova-compute stopped, restore the host name {name} on the host by hand, and run the playbook "
                "return_host for this host. A guest was evacuated from this host, and the guest's old QEMU process may "
                "still run on this host. The playbook return_host ends the old QEMU process. Start nova-compute after "
                "the "
                "playbook return_host has ended.",
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
                "Look at the server first (openstack server show {consumer}; if the consumer is a migration: openstack "
                "--os-compute-api-version 2.59 server migration list shows its server): if Nova builds, unshelves, "
                "moves or reverts the server, or has it on this host, the allocation may be right, so leave it. "
                "Otherwise, remove this host's part of it: openstack resource provider allocation unset --provider "
                "{provider} {consumer}. No open evacuation explains this allocation.",
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
            "If Nova still reports the host's compute service as up, but you know that the host is "
            "dead, you can override this finding. To override this finding, add an entry to "
            "`stackguard_overrides` with the keys `code`, `object` (the host's name) and `reason`. "
            "With the override, the run fences the host although Nova reports the compute service as "
            "up. After the fencing, the run forces the compute service down.\n\n"
            "If `return_host` reports SG510, you can override the finding if its object is the host "
            "itself. You cannot override the finding if its object is `HOST:nova-compute`, because "
            "nova-compute may still run on the host."
        ),
        remedies={
            "up-for-nova": Remedy(
                "Verify that evacuate_host is the name of the dead host. If the name is correct, wait until Nova "
                "reports "
                "the host's compute service as down (service_down_time, usually 60 s)."
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
        override=("You need no override, because the run reports this finding only after the evacuation."),
        remedies={
            "port-left": Remedy(
                "Bind the port to the server's new host, where the run has seen the guest (openstack port set --host)."
            ),
            "bound-to-returned-host": Remedy(
                "Find out on which host the guest runs (virsh domstate), then bind the port to this host "
                "(openstack port set --host)."
            ),
            "chassis-of-returning-host-requested": Remedy(
                "Before the returning host starts, bind the port to the host that Nova shows for the server (openstack "
                "port set --host HOST {port}). Without this change, the chassis of the returning host claims the "
                "port."
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
            "You cannot override this finding, because Nova's scheduler decides which hosts can take "
            "the server. With `evacuate_partial=true`, the run evacuates the other servers and leaves "
            "this server on the dead host."
        ),
        remedies={
            "evacuee-without-destination": Remedy(
                "Start and enable another compute host of the server's zone, or free up resources on a compute host of "
                "this zone."
            ),
            "zone-without-destination": Remedy(
                "Add a host to zone {zone}, or unpin the server. The zone contains no destination. Nova would accept "
                "an "
                "evacuation request for the server, but would then set the server to ERROR. To unpin the server in "
                "Nova 34 "
                'and later, call PUT /servers/ID with {{"server": {{"pinned_availability_zone": null}}}} (microversion '
                "2.104). In earlier releases, remove the zone from the server's request spec (playbook pin_servers "
                "with "
                "pin_state=unpinned)."
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
        "The server's disk is local to its host, so an evacuation would rebuild the server from its image.",
        of_server=True,
        of_destination=True,
        overridden_by="the server's uuid",
        override=(
            "Add a separate entry to `stackguard_overrides` for each server. With the override, Nova "
            "rebuilds the server from its image, and the server's data is lost."
        ),
        remedies={
            "evacuee-without-destination": Remedy(
                "Start the dead host again. If the server's disk still exists, the disk is on the dead host. With an "
                "override, Nova rebuilds the server from its image, and all data of the server is lost.",
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
                "Expect block migrations: the images_type of this host is not rbd. If a guest has its root disk on "
                "this host (not on a volume), Nova copies the guest's disks over the network."
            ),
        },
    ),
    Code(
        "SG514",
        "blast-radius",
        BLOCKER,
        "Too many hosts are down, or the run would change too many database rows.",
        overridden_by="the finding's object",
        remedies={
            "too-many-rows": Remedy(
                "Select fewer rows (repair_hosts, repair_codes), or raise repair_limit if you know why so many rows "
                "are "
                "wrong. --diff shows the first rows."
            ),
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
        remedies={
            "host-alive": Remedy(
                "Find out who added the blocklist entry, because Ceph refuses the writes of {host} although this host "
                "is "
                "alive. Then remove the entry: {command}",
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
                "Find out who added the blocklist entry. If Ceph must still refuse writes from the address of the "
                "entry, "
                "keep the entry. If Ceph no longer has to refuse these writes, remove the entry: {command}",
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
                "Run return_host -e return_host={host}, or end the evacuation of {host}. The "
                "blocklist entry fences {host}, so the run keeps the entry until {host} has "
                "returned or the evacuation has ended."
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
        override=("An override is safe if, for example, the host reaches Ceph through NAT."),
        remedies={
            "place-undecided": HANDS_OFF,
            "no-client-has-disk-open": Remedy(
                "Hard-reboot the server as soon as nova-compute runs on this host, because the server's disk works "
                "again only after a hard reboot: openstack server reboot --hard {uuid}",
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
            "With the override, the run starts. If the Ceph user cannot break a lock, the run fences "
            "the host, and cannot make the guard snapshots; a server on volumes arrives and cannot "
            "write. With the fence `blocklist`, the run stops if Ceph refuses a blocklist entry."
        ),
        remedies={
            "may-not-add": Remedy("Give the Ceph user the permission to change the OSD blocklist. " + _CEPH_CAPS),
            "may-not-remove": Remedy(
                "Give the Ceph user the permission to remove blocklist entries. Without this permission, return_host "
                "needs "
                "another Ceph user. " + _CEPH_CAPS
            ),
            "may-not-break-locks": Remedy(
                "Run ceph auth caps client.{user} mon 'profile rbd' osd 'EXISTING OSD CAPS', so that a guest can "
                "write to "
                "its disk after its host has died. The command replaces all caps of the user, so add to the command "
                "every "
                "existing cap that the command lacks (ceph auth get client.{user} shows the existing caps)."
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
                "To leave the server on the dead host, remove the server's state from evacuate_reset_states. If "
                "evacuate_reset_states contains the server's state, the run resets the server's state as soon as the "
                "run "
                "has proof that the host is dead.",
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
        remedies={
            "amphora": Remedy(
                "Leave the amphora out of the evacuation (evacuate_servers), because Octavia's health manager "
                "replaces the "
                "amphora. To find the amphora's id: openstack loadbalancer amphora list --compute-id {server}. To "
                "replace "
                "the amphora now: openstack loadbalancer amphora failover ID."
            ),
        },
    ),
    Code(
        "SG521",
        "guest-starts-without-nova",
        WARNING,
        "libvirt or libvirt-guests starts guests without Nova.",
        overridden_by="the domain's uuid",
        remedies={
            "autostart": Remedy(
                "Run virsh autostart --disable {domain} on this host: each start of libvirt starts this domain, "
                "wherever the server is by then."
            ),
            "managed-save": Remedy(
                "If Nova must start this server from its disk, run virsh managedsave-remove {domain} on this host: "
                "this deletes the saved memory of the guest. Otherwise, the next start by libvirt continues from the "
                "saved "
                "memory."
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
        override=("An override does not help, because libvirt still refuses to undefine the domain."),
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
            "The override applies to hosts of which the run does not know whether they can run the server, and to "
            "CPUs, Ceph users, UEFI firmware and devices. No override applies to a host that certainly lacks the "
            "machine type or the Ceph secret, or that has the same libvirt host uuid as the server's host."
        ),
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
