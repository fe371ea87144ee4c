# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remedies, by code and state: see catalogue.py."""

from __future__ import annotations

from .remedy import (
    CELLS,
    DELETION,
    FORECAST,
    MIGRATIONS,
    NOTHING,
    PEOPLE,
    QUEUED,
    RESET,
    RUNNING_COPY,
    SERVICES,
    START,
    STOP,
    THIS_HOST,
    WATCHERS,
    Act,
    Remedies,
    Remedy,
)

_APIS_ANSWER = "Make sure that the APIs answer, then run the same command again."
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
_LEAVE_OUT = (
    "Leave the server out (evacuate_partial=true). A server that you leave out stays on the dead host, and you can "
    "recover this server later."
)
_PIN_OR_UNPIN = "(playbook pin_servers), or unpin the server (pin_state=unpinned)."
_LOOK_FOR_IMAGE = "(rbd trash ls, guard snapshots)"

# Of requests that wait for a nova-compute: whichever code tells them.
_REQUEST_HELD = Remedy(
    "Keep nova-compute of {host} stopped. If none of the waiting requests may be executed, delete the queue: every "
    "request in it is lost.",
    acts=(
        Act(
            (DELETION,),
            "nova-compute of the name does not run, and a request must not be executed, or is not understood",
            ("the queues of the name", "where each server is", PEOPLE),
            QUEUED,
        ),
    ),
)
_QUEUE_COMMANDS = Remedy(
    "To look: {look}. To delete each queue with every request in it, only if the queue has no consumers: {deletions}. "
    "Each needs -p VHOST where the cell has a virtual host of its own. If a resize, a rebuild, a new server or a "
    "deletion waits there, its server is stranded.",
    acts=(
        Act(
            (DELETION,),
            "nova-compute of the name does not run, and requests wait for it, or RabbitMQ was not read",
            (PEOPLE,),
            "the requests in the queue; a server whose resize, rebuild, creation or deletion waits there is stranded",
        ),
    ),
)

REMEDIES: Remedies = {
    "SG109": {
        "landed-not-running": Remedy(
            "Check the server's log, because the server does not run on its destination.",
        ),
        "landed-disk-unopened": Remedy(
            "Check the server's QEMU log on the host, because Nova shows the server as running, but no QEMU process "
            "has the server's disk open."
        ),
    },
    "SG119": {
        "host-unknown": Remedy("Use the host name that openstack compute service list shows."),
    },
    "SG121": {
        "request-removed": Remedy(
            "Ask the owner to send the request again. The run removed the request, and no nova-compute executes it."
        ),
    },
    "SG328": {
        "chassis-alive": Remedy(
            "Do not delete the chassis while neutron shows the chassis as alive. Run this command every minute: "
            "openstack network agent list. Neutron checks its agents only when a user lists the agents. Neutron needs "
            "about two minutes to notice a dead chassis. If neutron still shows the chassis as alive, either the host "
            "is back, or another machine uses the host's name. Find out which machine uses the host's name."
        ),
        "chassis-dead": Remedy(
            "If the host will not come back, verify that the machine is dead and that no port is bound to the chassis, "
            "then run: openstack network agent delete {chassis}. If the host will come back, keep the chassis, because "
            "the host will use the chassis again.",
            acts=(
                Act(
                    (DELETION,),
                    "the machine is dead, and no port is bound to its chassis",
                    ("OVN's databases", "the ports", PEOPLE),
                    "a chassis; one of a living host comes back when ovn-controller starts",
                ),
            ),
        ),
        "liveness-unread": Remedy(
            "Neutron did not show whether this chassis is alive. First verify that openstack network agent list shows "
            "the chassis as dead, and that ovn_sb_connection is the connection to the database of this cloud."
        ),
    },
    "SG329": {
        "queue-commands": _QUEUE_COMMANDS,
        "queues-unjudged": Remedy(
            "Keep nova-compute of {host} stopped until a run of evacuate_host or return_host has read the queues: it "
            "executes what waits at its next start, wherever the servers are."
        ),
        "queues-unread": Remedy(
            "Run the two commands on a RabbitMQ node of the host's cell. Then override SG329 for {host}, with what you "
            "saw as the reason."
        ),
        "passed-by-operator": Remedy("No action is needed if the reason is right."),
        "request-held": _REQUEST_HELD,
        "request-wanted": Remedy(
            "No action is needed. nova-compute of {host} executes the request at its next start, as it should."
        ),
        "server-may-come": Remedy(
            "Keep nova-compute of {host} stopped: a request to make this server on {host} may wait in RabbitMQ, and "
            "this evacuation does not move the server. Ask whether the owner still needs the server. A server that is "
            "being resized or migrated stays on the host that Nova shows until the resize ends or fails."
        ),
    },
    "SG330": {
        "deletion-held": Remedy(
            "Keep nova-compute of {host} stopped. Ask the owner whether the server is still to be deleted: if it is, "
            "openstack server delete, then run the same command again. If it is not, delete the queue: every request "
            "in it is lost.",
            acts=(
                Act(
                    (DELETION,),
                    "the owner's deletion of a server that is elsewhere waits in the queue",
                    ("the queues of the name", "where each server is", PEOPLE),
                    "the server, as its owner asked; or the requests in the queue",
                ),
            ),
        ),
        "queue-commands": _QUEUE_COMMANDS,
        "request-held": _REQUEST_HELD,
    },
    "SG401": {
        "unpinned": Remedy(
            "Pin the server to its zone: ansible-playbook stackguard.nova.pin_servers -i INVENTORY -e "
            "pin_servers=SERVER --check --diff, then run the command without --check --diff. If the server must stay "
            "unpinned, use only this collection to resize and move the server."
        ),
    },
    "SG402": {
        "zone-of-host-known": Remedy("Pin the server to its real zone {zone} " + _PIN_OR_UNPIN),
        "zone-of-host-unknown": Remedy("Pin the server to the real zone of its host " + _PIN_OR_UNPIN),
        "pinned-to-default-zone": Remedy(
            "The server's pin is the name of Nova's default zone, which no server should ask for."
        ),
        "pinned-to-default-zone-of-its-host": Remedy(
            "Unpin the server (playbook pin_servers with pin_state=unpinned), because its pin is the name of Nova's "
            "default zone."
        ),
        "pinned-to-no-zone": Remedy(
            "If an aggregate's zone was renamed, you can give the aggregate this zone again.",
        ),
    },
    "SG404": {
        "outside-its-pin": Remedy(
            "Move the server back into the zone of its availability zone pin, or change the pin. If you do neither, "
            "Nova chooses a host in the zone of the pin at the server's next migration, evacuation or resize."
        ),
    },
    "SG405": {
        "volume-in-another-zone": Remedy(
            "Move the volume to the server's zone, or move the server to the volume's zone. With [cinder] "
            "cross_az_attach=false, Nova refuses to attach a volume of another zone."
        ),
    },
    "SG406": {
        "zone-full": Remedy(
            "Free up resources on a host of the server's zone, or add a host. The run has not resized the server."
        ),
    },
    "SG408": {
        "aggregates-differ": Remedy("Synchronise the aggregates: nova-manage placement sync_aggregates."),
    },
    "SG504": {
        "changed-before-send": Remedy(
            "Look for the original image " + _LOOK_FOR_IMAGE + ", because the image is missing or was created again. "
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
            "Make sure that one of the hosts from which the run reads Ceph can read the pool with the server's images. "
            "Then run the same command again. The run evacuates the server only after it has protected the server's "
            "images with guard snapshots."
        ),
    },
    "SG505": {
        "two-images-of-one-name": Remedy(
            "Find out which image is the server's disk. Never evacuate the server while two images have the same name."
        ),
        "host-uses-another-pool": Remedy(
            "Give this host the same Ceph configuration as the other hosts. Also give this host access to the pool "
            "with the disks. The run uses this host as a destination only if the host has access to the pool."
        ),
    },
    "SG506": {
        "alive": Remedy(
            "Fence the host (evacuate_fence), wait until no guest runs on the host, then run the same command again. "
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
            "Wait 30 seconds, then run the same command again. Ceph needs up to 30 seconds to drop the watchers of a "
            "client that is on the blocklist."
        ),
        "disk-not-covered": Remedy(
            "Use a fence that covers the whole machine (evacuate_fence={fences}), set "
            "evacuate_blocklist_addresses=[...] to the host's addresses in this Ceph cluster, or override this finding "
            "for the server. The blocklist does not cover this disk."
        ),
        "proof-not-read": Remedy(
            "Run the same command again. If the host is not fenced yet, the next run fences the host. If the host is "
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
            "To end the operation, use {action}=abort. No server of the operation is left on {host}, so a resumed run "
            "does not fence the host again."
        ),
        "address-invalid": Remedy(
            "Correct this entry of evacuate_blocklist_addresses, because the entry is not an IP address."
        ),
        "address-of-another-machine": Remedy(
            "Remove this address from evacuate_blocklist_addresses, because another machine has this address, and Ceph "
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
    "SG507": {
        "evacuated-runs-elsewhere": Remedy(
            "Leave the server out of the evacuation (evacuate_partial=true), and leave its domain on {host} as it is. "
            "The guest runs on {host}: an evacuation would start a second QEMU on the same disks."
        ),
        "opened-twice": Remedy(
            "Find out which QEMU must keep running, stop the other QEMU (virsh destroy), and verify that the disk has "
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
            "Check whether an operator added the lock: rbd lock ls {image}. The client that holds the lock does not "
            "have the image open."
        ),
        "refused-copy-runs": Remedy(
            "Keep nova-compute on {host} stopped. The server is safe: Ceph refuses writes from the QEMU process on "
            "this host. To return the host to service, run: ansible-playbook stackguard.nova.return_host -e "
            "return_host={host}"
        ),
    },
    "SG508": {
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
    "SG509": {
        "evacuated-not-back": Remedy(
            "Verify that no evacuated instance was moved back to {host}, then start nova-compute once on that host "
            "under the name {host}. At its start, nova-compute destroys the domains of evacuated instances and sets "
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
    },
    "SG510": {
        "up-for-nova": Remedy(
            "Verify that evacuate_host is the name of the dead host. If the name is correct, wait until Nova reports "
            "the host's compute service as down (service_down_time, usually 60 s)."
        ),
    },
    "SG511": {
        "port-left": Remedy(
            "Bind the port to the server's new host, where the run has seen the guest (openstack port set --host)."
        ),
    },
    "SG512": {
        "only-avoided-host-left": Remedy(
            "Free up resources on a host whose aggregates allow the server. If the scheduler refuses the host that the "
            "evidence shows, the server stays in ERROR until an evacuation of the server to another host succeeds."
        ),
        "stays": Remedy("Remove the cause that this finding reports, then run the same command again."),
        "stays-late": Remedy(
            "After the end of this evacuation, run the same command again to evacuate the server in a new evacuation."
        ),
    },
    "SG514": {
        "many-hosts-down": Remedy(
            "Check the network and the control plane first. If all hosts in the list 'down' of the evidence are dead, "
            "set evacuate_max_hosts to the number of dead hosts."
        ),
    },
    "SG518": {
        "may-not-add": Remedy("Give the Ceph user the permission to change the OSD blocklist. " + _CEPH_CAPS),
        "may-not-remove": Remedy(
            "Give the Ceph user the permission to remove blocklist entries. Without this permission, return_host needs "
            "another Ceph user. " + _CEPH_CAPS
        ),
        "may-not-break-locks": Remedy(
            "Run ceph auth caps client.{user} mon 'profile rbd' osd 'EXISTING OSD CAPS', so that a guest can write to "
            "its disk after its host has died. The command replaces all caps of the user, so add to the command every "
            "existing cap that the command lacks (ceph auth get client.{user} shows the existing caps)."
        ),
        "no-reader": Remedy(
            "Make sure that the run can collect facts from a host that has access to this Ceph cluster."
        ),
    },
    "SG519": {
        "soft-deleted": Remedy(
            "If the owner may want to keep the server, first restore the server (openstack server restore {server}). "
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
            "evacuate_reset_states contains the server's state, the run resets the server's state as soon as the run "
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
    "SG520": {
        "amphora": Remedy(
            "Leave the amphora out of the evacuation (evacuate_servers), because Octavia's health manager replaces the "
            "amphora. To find the amphora's id: openstack loadbalancer amphora list --compute-id {server}. To replace "
            "the amphora now: openstack loadbalancer amphora failover ID."
        ),
    },
    "SG701": {
        "nova-at-work": Remedy(
            "Wait until the task ends. To see what the task does, run openstack server event list SERVER. If "
            "nova-compute of the server's host is stopped, the request may wait in RabbitMQ, and nova-compute executes "
            "it at its next start."
        ),
        "busy-before-move": Remedy("Wait until the server's task ends."),
    },
    "SG702": {
        "under-way": Remedy("Wait until the migration ends, or abort the migration."),
        "evacuation-under-way": Remedy(
            "Wait until the migration ends. The migration never ends if nova-compute on {destination} died or "
            "restarted after the migration began. If the migration never ends and {destination} does not answer, fence "
            "{destination}. If the migration never ends and {destination} answers, look for the server's domain on "
            "{destination} (virsh domstate {server}). If the domain runs there, leave the server out "
            "(evacuate_partial=true): it is the guest's only copy, see the page of SG132. Only if no domain of the "
            "server can run on {destination}, remove the server's allocation on {destination} (openstack resource "
            "provider allocation unset --provider PROVIDER_UUID {server}), reset the server's state (openstack server "
            "set --state active {server}), override this finding, and run the same command again.",
            acts=(
                Act(
                    (DELETION, RESET),
                    "the migration never ends, and no domain of the server can run on its destination",
                    (MIGRATIONS, PEOPLE),
                    "the allocation on the destination",
                ),
            ),
        ),
        "end-of-migration-dead": Remedy(
            _LEAVE_OUT + " The migration may never end, because one of its hosts is dead. To evacuate the server "
            "anyway, verify that no domain of the server runs on {destination} (virsh list --all). If no domain of the "
            "server runs on {destination}, override this finding in stackguard_overrides (object: {migration})."
        ),
    },
    "SG703": {
        "resize-unconfirmed": Remedy(
            "Before you run this playbook, ask the owner to confirm or revert the resize. For both actions, Nova uses "
            "the host names in the migration record."
        ),
        "resize-before-move": Remedy("Ask the server's owner to confirm or revert the resize."),
        "resize-to-dead-host": Remedy(
            "Verify that nova-compute on {source} is up, then confirm the resize (openstack server resize confirm "
            "{server}). Nova cannot revert the resize while {destination} is dead. " + _LEAVE_OUT
        ),
    },
    "SG704": {
        "down": Remedy(
            "Start nova-compute first, and wait until its compute service is up.",
            acts=(
                Act(
                    (START,),
                    "the service is down",
                    (SERVICES, FORECAST),
                    NOTHING,
                ),
            ),
        ),
        "disabled": Remedy(
            "Find out who disabled the compute service, and why. A rename does not enable the compute service: at its "
            "end, the rename restores the disabled status and the disabled reason."
        ),
    },
    "SG705": {
        "cloud-release-unknown": Remedy(
            "Before you change anything, install a version of this collection that supports the Nova release in the "
            "evidence. With an unknown Nova release, this version of the collection reads facts, but changes nothing."
        ),
        "host-release-unknown": Remedy("Use a version of this collection that supports this release of nova-compute."),
        "releases-contradict": Remedy(
            "Finish the upgrade of Nova first, because the database schemas and the API come from different releases."
        ),
        "installed-not-running": Remedy(
            "Restart nova-compute first, so that nova-compute runs the installed release. To stay on the release that "
            "nova-compute still runs, install the packages of that release instead.",
            acts=(
                Act(
                    (START,),
                    "another release is installed than runs",
                    (SERVICES, FORECAST),
                    NOTHING,
                ),
            ),
        ),
        "newer-than-schema": Remedy(
            "Upgrade the databases first, because nova-compute is newer than the database schema of its cell."
        ),
        "stopped-not-offered": Remedy(
            "Use evacuate_target_state=keep. evacuate_target_state=stopped needs the microversion 2.95, which this "
            "Nova release does not offer."
        ),
    },
    "SG706": {
        "disabled-by-evacuation": Remedy(
            "Run evacuate_host with evacuate_action=status for this host. If the evacuation is open, resume or abort "
            "it. If the evacuation has ended, repair the host, then run return_host."
        ),
        "disabled-by-drain": Remedy(
            "Run drain_host with drain_action=status for this host. If the drain is open, resume it or roll it back. "
            "If the drain has ended and you want Nova to start servers on the host again, enable the host's compute "
            "service (openstack compute service set --enable)."
        ),
        "disabled-by-rename": Remedy(
            "Run rename_host with rename_action=status for this host, then resume the rename or roll it back."
        ),
        "disabled-by-operation": Remedy(
            "Read the id of the operation in the disabled reason, and find out which playbook began this operation. "
            "Set the action option of that playbook to status (for example, migrate_action=status), and run the "
            "playbook. Then use the same playbook to resume the operation or to roll the operation back."
        ),
        "journal-open": Remedy(
            "Resume operation {operation}, or roll the operation back, before you do anything else to this host."
        ),
        "journal-not-understood": Remedy(
            "Finish the operation in {journal} with {finish_with}, before you do anything else to this host. Before "
            "you use a damaged file again, restore the file from a backup. If you know that the operation has ended, "
            "move the file to a different directory."
        ),
    },
    "SG707": {
        "held-by-operation": Remedy(
            "Wait until the other operation on this host ends, or resume the other operation. The journal of a rename "
            "is on this host. The journals of other operations are on stackguard_state_host."
        ),
    },
    "SG708": {
        "masakari": Remedy(
            "Pause Masakari for this host: openstack segment host update --on_maintenance true SEGMENT HOST. After the "
            "operation, resume Masakari for this host: openstack segment host update --on_maintenance false SEGMENT "
            "HOST."
        ),
        "masakari-at-evacuation": Remedy(
            "Pause Masakari for this host, because Masakari would evacuate the same servers: openstack segment host "
            "update --on_maintenance true SEGMENT HOST. After the operation, resume Masakari for this host: openstack "
            "segment host update --on_maintenance false SEGMENT HOST."
        ),
        "none-detected": Remedy(
            "Pause all software that evacuates or fences automatically (pacemaker, InstanceHA, your own scripts), "
            "because the run cannot detect such software."
        ),
        "recovery-runs": Remedy(
            "Wait until Masakari has finished the recovery of this host, or stop Masakari for this host. Then run the "
            "same command again."
        ),
        "recovery-ended": Remedy(
            "Verify that Masakari does not start another recovery of this host. Masakari has ended a recovery of this "
            "host, but servers are still on the host."
        ),
    },
    "SG709": {
        "evacuation-apis-unread": Remedy(_APIS_ANSWER),
        "room-of-zone-unread": Remedy(_APIS_ANSWER),
        "source-silent": Remedy(
            "Make libvirt answer on the host (systemctl restart libvirtd), or switch the machine off, then run the "
            "same command again."
        ),
        "image-clients-unread": Remedy(
            "Give the Ceph user read access to the image (profile rbd), then run the same command again."
        ),
        "volume-clients-unread": Remedy(
            "Give the Ceph user of the run (stackguard_ceph_user, by default rbd_user of nova.conf) read access to the "
            "pool of the volumes (osd 'profile rbd-read-only pool=POOL'), or set stackguard_volume_pools to the pools "
            "that Cinder uses. Then run the same command again. If a volume is not in Ceph (openstack volume show "
            "VOLUME -c os-vol-host-attr:host shows its back end), verify on the back end that no other host uses the "
            "volume, then override this finding for the server."
        ),
        "cluster-of-image-unread": Remedy(
            "Make sure that at least one host can read the id of this Ceph cluster (ceph fsid)."
        ),
        "pool-of-image-unread": Remedy(
            "Make sure that the run can collect facts from at least one host with access to this Ceph pool, then run "
            "the same command again. Without facts from a host with access, the run does not evacuate the server."
        ),
        "images-not-looked-for": Remedy("Make sure that the run can read Ceph through at least one host."),
        "landing-unread": Remedy(
            "Make sure that the run can read the destination host, then run the same command again."
        ),
        "ports-unread-after-landing": Remedy("Restore the connection to neutron, then check the ports."),
        "ceph-daemons-unread": Remedy(
            "Set stackguard_ceph_infrastructure=[...] to the addresses of the managers and MDS, or let the Ceph user "
            "read these addresses. The following command replaces all caps of the user, so it must contain the user's "
            "existing caps for mon and osd (ceph auth get client.NAME shows the caps): ceph auth caps client.NAME mon "
            "'EXISTING MON CAPS, allow command \"mgr dump\", allow command \"fs dump\"' osd 'EXISTING OSD CAPS'"
        ),
        "holder-not-listed": Remedy(
            "Find out which server has the uuid {server}: openstack server show {server}; openstack resource provider "
            "allocation show {server}. Make sure that the server's cell answers. Run nova-manage placement audit. If "
            "the server does not exist, override the finding."
        ),
        "cell-of-source-down": Remedy(
            "Make sure that the database and the message queue of the host's cell respond, then run the same command "
            "again."
        ),
    },
    "SG710": {
        "not-on-host": Remedy(
            "Remove the server from evacuate_servers, because the server is not on this host.",
        ),
        "status-unfit-for-move": Remedy("Change the server's status to {statuses}. {rule}"),
        "locked-before-move": Remedy(
            "Find out who locked the server. To move the server although it is locked, override this finding."
        ),
        "landed-in-another-status": Remedy(
            "Check the server's events: openstack server event list {server}. The server has left the dead host, but "
            "does not have the expected state"
        ),
        "state-before-unknown": Remedy(
            "Check whether the server ran before its host died: openstack server event list {server}"
        ),
    },
}
