# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remedies of what moves servers, of the return of a host and of renames that empty a host, by code and state.

See catalogue.py.
"""

from __future__ import annotations

from .remedy import (
    CELLS,
    DELETION,
    EVERY_HOST,
    FORECAST,
    MIGRATIONS,
    NOTHING,
    NOVAS_HOST,
    PEOPLE,
    PROVIDERS,
    REBOOT,
    RECORD,
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

_RESUME_RENAME = Remedy("Check the evidence, repair the cause, then run the same command again to resume the rename.")
_REPAIR_OVN = (
    "Repair the cause of this finding, then run the same command again to resume the rename. The host's new compute "
    "service stays disabled until a run finds no problem with the host's chassis and ports in OVN."
)
_ROLL_BACK_OVN = Remedy(
    "Do not restart anything on the host. Check the evidence, then run rename_host with rename_action=rollback."
)
_MAY_STAY = Remedy("Or leave the server where it is ({option}=true).")
_BOTH_ENDS = "both ends of the move and all hosts that were tried"
_CHASSIS = "a chassis; one of a living host comes back when ovn-controller starts"

REMEDIES: Remedies = {
    "SG102": {
        "machine-with-another-compute-id": Remedy(
            "Keep nova-compute stopped. Verify that this machine is the evacuated host. If this machine is the "
            "evacuated host, write the uuid of the host's compute node into the compute_id file. If this machine is a "
            "different host, correct the inventory."
        ),
        "new-host-differs": _RESUME_RENAME,
    },
    "SG106": {
        "machine-with-another-name": Remedy(
            "Keep nova-compute stopped. If this machine is not {host}, correct ansible_host or "
            "stackguard_nova_host in the inventory. If this machine is {host} and a rename of the host is "
            "unfinished, finish the rename. If this machine is {host} and has no unfinished rename, set "
            "host={host} in the machine's nova.conf. After the correction, run the playbook return_host "
            "again."
        ),
        "new-host-differs": _RESUME_RENAME,
    },
    "SG110": {
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
    "SG112": {"new-host-differs": _RESUME_RENAME},
    "SG119": {
        "returning-host-without-service": Remedy("Use the host name that openstack compute service list shows."),
    },
    "SG203": {
        "drained-service-has-nodes-of-others": Remedy(
            "Repair the links first (playbook repair_links). The compute nodes in the evidence belong to other hosts, "
            "but link to this host's compute service. If the rename deleted this host's compute service, Nova would "
            "delete the linked compute nodes, too."
        ),
    },
    "SG301": {"old-name-after-drain": _RESUME_RENAME},
    "SG303": {
        "new-host-differs": _RESUME_RENAME,
        "aggregate-deleted-during-drain": Remedy(
            "Find out whether a new aggregate replaces the aggregate that was deleted during the run (openstack "
            "aggregate list). If a new aggregate exists, make sure that the host is a member of the new aggregate."
        ),
        "zone-lost-with-aggregate": Remedy(
            "Add the host to an aggregate of zone {zone}, then run the same command again to resume the rename."
        ),
    },
    "SG305": {
        "network-node-agent-on-drained-host": Remedy(
            "Before the rename, move the agent's networks and routers to another agent, then stop the agent and "
            "delete its record.",
            acts=(Act((STOP, DELETION), "an agent of a network node is on the host", ("the network agents",), RECORD),),
        ),
        "unit-of-agent-unknown": Remedy(
            "If the agent no longer runs on this host, delete its record (openstack network agent delete "
            "{agent}). If the agent runs, set rename_agent_units to the units of all agents of this host.",
            acts=(
                Act(
                    (DELETION,),
                    "an agent of the host is dead, or none of its units is known",
                    ("the network agents", PEOPLE),
                    "a record that a living agent makes again",
                ),
            ),
        ),
        "agent-of-drained-host-dead": Remedy("Start the agent, and wait until neutron shows it as alive."),
    },
    "SG306": {
        "not-of-a-guest": Remedy(
            "Move the service that owns this port (DHCP, router) to another host, because a drain moves only guests."
        ),
        "of-a-guest-elsewhere": Remedy(
            "Find out on which host the port's server is, and set the port's binding:host_id to this host. If the "
            "server does not exist any more, delete the port. No move of a guest takes this port to another host."
        ),
    },
    "SG317": {
        "returning-host-with-ovn-unread": Remedy(
            "Make OVN's databases answer, then run the same command again. Without these databases, the run cannot "
            "verify whether the chassis of the returning host claims ports of guests on other hosts."
        ),
        "drained-host-undecided": Remedy(
            "Make external_ids of Open vSwitch readable on the host, then run the same command again. If the host has "
            "no Open vSwitch and no OVN, override this finding."
        ),
        "rename-unread": Remedy(
            "Fix the cause that the evidence shows, then run the same command again. The run needs neutron's database, "
            "OVN's northbound database and OVN's southbound database."
        ),
        "drain-unread": Remedy(
            "Fix the cause that the evidence shows, then run the same command again. If you override this finding, the "
            "run cannot verify the chassis in OVN's databases after the drain."
        ),
    },
    "SG318": {
        "renamed-hostname-of-other-chassis": Remedy(
            "Find out which chassis belongs to this host (ovs-vsctl get Open_vSwitch . external_ids, ovn-sbctl list "
            "Chassis). Delete every chassis that has this host's hostname but does not belong to this host (openstack "
            "network agent delete NAME).",
            acts=(
                Act(
                    (DELETION,),
                    "several chassis have the host's hostname",
                    ("OVN's databases", PEOPLE),
                    _CHASSIS,
                ),
            ),
        ),
        "new-name-is-a-chassis": Remedy(
            "Choose another host name, because a chassis of another host already has this name."
        ),
        "chassis-lost-in-rename": _ROLL_BACK_OVN,
        "chassis-made-again": Remedy(
            "Check the networks of the guests. During the rename, ovn-controller was stopped, and the ports of the "
            "host had no chassis until ovn-controller started again."
        ),
        "hostname-not-set-after-drain": Remedy(
            "Set external_ids:hostname of Open vSwitch on the host to {new}. " + _REPAIR_OVN
        ),
        "tunnel-changed-during-drain": Remedy(
            "Restore the tunnel endpoints of the chassis (external_ids:ovn-encap-ip, ovn-encap-type). " + _REPAIR_OVN
        ),
        "system-id-changed-during-drain": Remedy(
            "Restore the old system-id of Open vSwitch on the host. A deployment tool may have written the new "
            "system-id. " + _REPAIR_OVN
        ),
    },
    "SG319": {
        "system-id-from-name": Remedy(
            "Set the system-id in the deployment tool's variables for this host (kolla-ansible: "
            "openvswitch_system_id: {system_id}, openvswitch_hostname: {new}), then override this finding. If the "
            "variables lack the system-id, the next run of the deployment tool writes another system-id, and the "
            "chassis fails after the next restart of ovn-controller."
        ),
    },
    "SG320": {
        "unit-writes-hostname": Remedy(
            "Mask the unit (systemctl mask {unit}), or correct /etc/hosts or DNS so that the output of "
            "hostname -f is {new}. With Open vSwitch older than 3.2, the unit would overwrite the hostname of the "
            "chassis at the next boot, and OVN would release all ports of the host."
        ),
    },
    "SG321": {
        "renamed-chassis-with-another-hostname": Remedy(
            "Before the rename, set external_ids:hostname of Open vSwitch to the name that Nova uses for the host. "
            "Neutron binds a port only to a chassis with exactly this hostname. Neutron treats the full name and the "
            "short name of a host as two different names."
        ),
    },
    "SG322": {
        "chassis-with-old-name": _ROLL_BACK_OVN,
        "port-of-unbound-type-with-old-name": Remedy(
            "No action is needed: OVN does not use the host name to bind a port of this type (see the evidence). When "
            "neutron next updates the port, neutron writes the new name."
        ),
        "port-with-old-name": _ROLL_BACK_OVN,
        "binding-asks-for-another": _ROLL_BACK_OVN,
        "chassis-with-old-name-after-drain": Remedy(_REPAIR_OVN),
        "port-with-old-name-after-drain": Remedy(
            "Bind the port to the host of its server (openstack port set --host HOST {port}). " + _REPAIR_OVN
        ),
    },
    "SG323": {
        "renamed-host-shares-tunnel-address": Remedy(
            "Verify that the host of chassis {chassis} no longer exists, then delete this chassis: openstack "
            "network agent delete {chassis}. In OVN, a tunnel address can belong to only one chassis.",
            acts=(
                Act(
                    (DELETION,),
                    "two chassis have one tunnel address",
                    ("OVN's databases", PEOPLE),
                    _CHASSIS,
                ),
            ),
        ),
    },
    "SG324": {
        "port-unsettled": Remedy(
            "If the port's server is migrating, wait until the migration ends. If the server is not migrating, repair "
            "the port. Then run the same command again. If the port has a problem before the rename, the run cannot "
            "verify after the rename whether the rename damaged the port."
        ),
        "sources-differ": Remedy(
            "Run the same command again, because the port may have changed while the run was reading the port. If the "
            "finding appears again, compare neutron's database with OVN's databases (neutron-ovn-db-sync-util "
            "--ovn-neutron_sync_mode log)."
        ),
        "gateway-changed": Remedy(
            "Check which routers use this chassis as a gateway. During the rename, the chassis became a gateway "
            "chassis, or lost this role."
        ),
        "not-plugged": Remedy(
            "Check the guest that uses the port. The guest's interface is not plugged on the host, for example "
            "because the guest stopped."
        ),
    },
    "SG325": {
        "southbound-port-with-role": Remedy(
            "Set ovn_sb_connection to a southbound database port that has no role, or to the database's unix socket. "
            "If the database port has a role (for example ovn-controller), the run and ovn-controller have no "
            "permission to write the hostname of the chassis. As soon as the hostname in the host's "
            "Open vSwitch changes, every transaction of ovn-controller fails."
        ),
    },
    "SG326": {
        "corrected": Remedy(
            "Inform the owner of the port if the network of the port was interrupted. During the rename, neutron "
            "updated the port. The host name that neutron wrote into OVN differed from the hostname of the chassis. "
            "The run corrected the port."
        ),
    },
    "SG327": {
        "not-tried": Remedy("Move the port's server to another host before the rename, or use rename_strategy=drain."),
        "virtual-port": Remedy(
            "No action is needed: neutron updates neutron:parent_hostname of the virtual port when the port moves "
            "to another guest."
        ),
    },
    "SG402": {
        "zone-without-aggregate": Remedy(
            "Put the server's host into an aggregate with a zone first: without an aggregate, an availability zone pin "
            "has no effect. Give the zone another name than Nova's default zone."
        ),
    },
    "SG404": {
        "pin-wanted-to-another-zone": Remedy(
            "If the server must stay in its current zone, unpin the server, then pin the server to its current zone. "
            "If the server must be in another zone, move the server into that zone, then pin the server. An "
            "availability zone pin cannot move a server into another zone."
        ),
    },
    "SG406": {
        "no-destination": Remedy(
            "Start and enable another compute host of the server's zone, or free up resources on a compute host of "
            "this zone. The run has not moved the server."
        ),
    },
    "SG407": {
        "moved-out-of-zone": Remedy(
            "Move the server back into its zone. The server's events show who moved it (openstack server event list)."
        ),
        "resize-confirmed-outside-zone": Remedy(
            "Move the server back to its zone. The run cannot revert the resize, because another user confirmed the "
            "resize before the run compared the zones."
        ),
        "resize-reverted": Remedy(
            "Pin the server (resize_strategy=pin_api or pin_db), or make enough resources available in its zone. "
            "The run has reverted the resize."
        ),
        "drained-guest-in-another-zone": Remedy(
            "Find out whether the owner or an operator moved the server to another zone (openstack server event list)."
        ),
    },
    "SG501": {
        "zone-without-memory": Remedy("Free up memory on a host of the server's zone, or add a host."),
        "zone-without-memory-and-may-stay": Remedy(
            "Free up memory on a host of the server's zone, or add a host, or leave the server where it is "
            "({option}=true)."
        ),
    },
    "SG503": {
        "zone-without-huge-pages": Remedy(
            "Free or add huge pages of the server's page size on a host of the server's zone. On the "
            "destination host, each NUMA cell of the server needs its own NUMA node with enough free huge pages."
        ),
    },
    "SG507": {
        "returned-guest-runs-twice": Remedy(
            "Run virsh destroy {uuid} on the host where the guest must not run, or end the client that must not write "
            "to the disk. Then verify that at most one watcher remains (rbd status POOL/IMAGE), and run return_host "
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
            "Lock the server (openstack server lock {uuid}), and leave each domain of the server as it is: this host "
            "has no domain of the server that runs, so what the evidence shows may be the only copy of the guest. Then "
            "follow the page of SG132."
        ),
    },
    "SG509": {
        "evacuation-ends-at-start": Remedy(
            "No action is needed: nova-compute removes this allocation at its next start."
        ),
        "no-evacuation-explains-it": Remedy(
            "Look at the server first (openstack server show {consumer}): if Nova builds, unshelves or moves "
            "the server, the allocation may be right, so wait. Otherwise, run nova-manage placement audit, "
            "because no open evacuation explains this allocation. nova-manage placement audit lists orphaned "
            "allocations, and removes them if you add --delete.",
            acts=(
                Act(
                    (DELETION,),
                    "an allocation of this host that no open evacuation explains",
                    (PROVIDERS, MIGRATIONS),
                    "allocations; in a half rename good ones, too",
                ),
            ),
        ),
    },
    "SG510": {
        "unit-can-be-masked": Remedy(
            "Stop and mask nova-compute (systemctl mask --now nova-compute), then run return_host again."
        ),
        "unit-file-below-etc": Remedy(
            "Stop and disable nova-compute (systemctl disable --now {units}), then run return_host again. After the "
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
            "Verify that nova-compute is stopped, then override SG510 for this host. The run found no systemd unit of "
            "nova-compute on this host."
        ),
    },
    "SG511": {
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
    "SG512": {
        "not-moved": Remedy(
            "Repair the cause that the evidence shows, then run the same command again. To see the server's events: "
            "openstack server event list {uuid}"
        ),
    },
    "SG513": {
        "drain-copies-disks": Remedy(
            "Expect block migrations: the images_type of this host is not rbd. If a guest has its root disk on "
            "this host (not on a volume), Nova copies the guest's disks over the network."
        ),
    },
    "SG515": {
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
    "SG517": {
        "no-client-has-disk-open": Remedy(
            "Hard-reboot the server as soon as nova-compute runs on this host, because the server's disk works "
            "again only after a hard reboot: openstack server reboot --hard {uuid}",
            acts=(
                Act(
                    (REBOOT,),
                    "Nova shows the server on this host, its domain runs here without its disk, no client has the disk "
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
    "SG521": {
        "autostart": Remedy(
            "Run virsh autostart --disable {domain} on this host: each start of libvirt starts this domain, "
            "wherever the server is by then."
        ),
        "managed-save": Remedy(
            "If Nova must start this server from its disk, run virsh managedsave-remove {domain} on this host: "
            "this deletes the saved memory of the guest. Otherwise, the next start by libvirt continues from the saved "
            "memory."
        ),
        "guests-on-boot": Remedy(
            "Run systemctl mask libvirt-guests on this host: at the next boot, libvirt-guests starts every guest that "
            "ran when the host was shut down, also guests that were evacuated since. Nova does not need "
            "libvirt-guests (resume_guests_state_on_host_boot in nova.conf)."
        ),
    },
    "SG522": {
        "snapshots": Remedy(
            "List the snapshots and checkpoints on this host: virsh snapshot-list {domain}; virsh "
            "checkpoint-list {domain}. Save what you need of them. Then remove libvirt's records of them, "
            "which keeps the data: virsh snapshot-delete {domain} SNAPSHOT --metadata; virsh "
            "checkpoint-delete {domain} CHECKPOINT --metadata. Finally, run return_host again."
        ),
    },
    "SG701": {"pin-waits-for-task": Remedy("Wait until the server's task ends.")},
    "SG702": {
        "evacuated-server-has-arrived": Remedy(
            "No action is needed: the server is on the destination, and is running or stopped. The migration "
            "record is open for one of two reasons: RabbitMQ lost the evacuation request and the run sent the "
            "request again, or nova-compute restarted on the destination. nova-compute on this host (the source of "
            "the migration) closes the migration record when it starts."
        ),
        "returned-host-migrates": Remedy(
            "Wait until the migration ends, or abort the migration (for a live migration, openstack server "
            "migration abort SERVER MIGRATION)."
        ),
        "server-to-move-migrates": Remedy(
            "Wait until the migration ends, then run the same command again. A migration ends only while nova-compute "
            "runs on both of its hosts ({source}, {destination})."
        ),
        "may-stay": _MAY_STAY,
        "comes-to-drained-host": Remedy(
            "Wait until the migration to this host ends, because the migrating server must not arrive while the "
            "run empties the host."
        ),
    },
    "SG703": {
        "server-to-move-is-resized": Remedy(
            "Ask the server's owner to confirm the resize (openstack server resize confirm {uuid}) or to "
            "revert it (openstack server resize revert {uuid}), then run the same command again."
        ),
        "may-stay": _MAY_STAY,
        "may-come-back-to-drained-host": Remedy(
            "Ask the server's owner to confirm or revert the resize. If the owner reverts the resize, the server "
            "comes back to this host."
        ),
    },
    "SG704": {
        "not-held-by-an-evacuation": Remedy(
            "No action is needed. The disabled reason of the service does not show an evacuation by this "
            "collection, so return_host leaves the service unchanged."
        ),
        "source-of-move-down": Remedy(
            "Start nova-compute on this host, because Nova moves guests only from a host on which nova-compute "
            "runs. If the host is dead, run evacuate_host instead.",
            acts=(
                Act(
                    (START,),
                    "the service of a host that is to be emptied is down",
                    (SERVICES, FORECAST),
                    NOTHING,
                ),
            ),
        ),
        "disabled-before-drain-with-return": Remedy(
            "Enable the compute service before the drain, or leave the guests on their new hosts "
            "(rename_drain_return=false)."
        ),
    },
    "SG705": {
        "pin-strategy-without-option": Remedy("Use strategy=auto, or set the option that the selected strategy needs."),
        "resize-strategy-without-option": Remedy(
            "Set the option that the selected strategy needs, or use resize_strategy=auto."
        ),
    },
    "SG706": {
        "evacuation-of-returning-host-open": Remedy(
            "Keep nova-compute stopped on this host until the evacuation has ended. To complete the evacuation, "
            "run the playbook evacuate_host with -e evacuate_host={host} -e evacuate_action=resume. To "
            "end the evacuation without completing it, use evacuate_action=abort."
        ),
    },
    "SG707": {
        "returning-host-held-by-another": Remedy("First end the operation that has disabled the compute service."),
        "returning-host-held-without-journal": Remedy(
            "If the journal is lost, verify that the operation has ended, and override SG707 for this host with your "
            "reason. If the journal still exists, set stackguard_state_host and stackguard_state_dir to the place "
            "of the journal: return_host -e return_host={host} -e stackguard_state_host=NAME -e "
            "stackguard_state_dir=DIRECTORY"
        ),
    },
    "SG709": {
        "return-undecided": Remedy(
            "Make sure that the run can read the facts that this finding lists as not read, then run the playbook "
            "return_host again."
        ),
        "journal-of-unread-cluster": Remedy(
            "Set stackguard_ceph_host to hosts that reach this Ceph cluster: "
            "return_host -e stackguard_ceph_host=NAME,NAME"
        ),
        "no-cluster-read": Remedy(
            "Set stackguard_ceph_host to a host that reaches Ceph: return_host -e stackguard_ceph_host=NAME"
        ),
        "disk-of-returned-host-unread": Remedy(
            "Give the Ceph user in stackguard_ceph_user the Ceph profile rbd for the pool of the image, so that the "
            "run can read the image. Then run return_host again. As an alternative, verify that no other client has "
            "the disk open and that a running guest can write to its disk, then override this finding for the image."
        ),
        "move-undecided": Remedy(
            "Make sure that the run can read the items that the evidence lists as not read, then run the same command "
            "again."
        ),
        "host-without-single-zone": Remedy(
            "Put the server's host into exactly one zone, and make sure that the run can read the aggregates."
        ),
        "consumer-not-listed": Remedy(
            "Make sure that the server's cell answers. If the server no longer exists, verify that its allocation is "
            "left over from an old move (openstack resource provider allocation show {uuid}), then override this "
            "finding for the server's id."
        ),
        "cells-silent-for-pins": Remedy(
            "Make sure that the database and the message queue of every cell respond, then run the same command again. "
            "Nova leaves the servers of a cell that does not answer out of its lists."
        ),
        "cell-of-server-silent": Remedy(
            "Restore the connection to the database of the server's cell, then run the same command again."
        ),
        "pin-unread": Remedy(
            "Make sure that the run can read the server's availability zone pin. From microversion 2.96 "
            "on, the API shows the pin. For an older Nova, set nova_api_db_url."
        ),
        "host-of-pin-without-single-zone": Remedy(
            "Put the server's host into exactly one zone, and make sure that the run can read the aggregates. The run "
            "pins a server to the zone of the server's host."
        ),
        "servers-unread-for-resize": Remedy("Make sure that the APIs answer."),
        "pin-unread-for-resize": Remedy(
            "Make sure that the run can read the server's availability zone pin. The API shows the pin from "
            "microversion 2.96 on. If the API does not offer this microversion, set nova_api_db_url."
        ),
        "apis-unread-for-drain": Remedy("Make sure that the APIs answer, then run the same command again."),
        "allocations-unread-for-drain": Remedy("Make sure that placement answers, then run the same command again."),
        "allocation-of-no-server-of-host": Remedy(
            "Find out whether the consumer is a server or a migration (openstack server show {consumer}; openstack "
            "server migration list). If the server is on another host, or the migration has ended, nova-manage "
            "placement audit --resource_provider {provider} --verbose shows the allocation as orphaned. With --delete, "
            "the command deletes the orphaned allocations of this resource provider, and nothing else.",
            acts=(
                Act(
                    (DELETION,),
                    "the provider has an allocation of a consumer that is not a server of this host",
                    (PROVIDERS, PEOPLE),
                    "allocations of this provider that no server and no open migration needs",
                ),
            ),
        ),
    },
    "SG710": {
        "absent-or-hostless": Remedy("Leave the server out, because the server does not exist or has no host."),
        "not-on-drained-host": Remedy("Leave the server out, because the server is not on this host."),
        "without-host": Remedy(
            "Leave the server out, because the server has no host, and the run cannot move a server without a host."
        ),
        "statuses-of-options": Remedy(
            "The options {options} allow the run to move only servers with the status {statuses}."
        ),
        "statuses-of-run": Remedy("The run moves only servers with the status {statuses}."),
        "statuses-of-resize": Remedy("Nova resizes only servers with the status {statuses}."),
        "status-cannot-move": Remedy("Bring the server into a state in which Nova can move the server."),
        "soft-deleted": Remedy(
            "Restore the server (openstack server restore {uuid}), or delete the server for good (openstack server "
            "delete --force {uuid}). Nova cannot move a soft-deleted server.",
            acts=(
                Act(
                    (START, DELETION),
                    "the owner deleted the server softly",
                    ("the soft-deleted servers",),
                    "the server and its disks, as its owner has ordered",
                ),
            ),
        ),
        "left-its-host-meanwhile": Remedy(
            "Run the same command again, so that the run reads the server again. The server left its host while the "
            "run was reading the host's servers."
        ),
        "resized-server-absent": Remedy("Give the name or the uuid of an existing server."),
        "in-database-and-not-listed": Remedy(
            "Find out why Nova does not list the server. If the server is soft-deleted, restore the server "
            "(openstack server restore), or delete the server for good (openstack server delete --force).",
            acts=(
                Act(
                    (START, DELETION),
                    "the owner deleted the server softly",
                    (CELLS,),
                    "the server and its disks, as its owner has ordered",
                ),
            ),
        ),
    },
    "SG711": {
        "possible-hosts-unread": Remedy(
            "Make sure that the run can read {hosts}, then run the same command again. Do not reboot the server, "
            "because the server's QEMU may run on a host that the run could not read."
        ),
        "on-no-host-that-was-read": Remedy(
            "Make sure that the run can read {hosts}, then run the same command again. The server's "
            "QEMU runs on none of the hosts that the run has read."
        ),
        "on-no-host": Remedy(
            "Start the server again (openstack server reboot --hard {uuid}), because the server's QEMU does not run "
            "on any host.",
            acts=(Act((REBOOT, START), "its QEMU runs on no host", (EVERY_HOST,), NOTHING),),
        ),
        "on-several-hosts": Remedy(
            "Do not reboot the server, because QEMU processes of the server run on {hosts}. On each of these hosts, "
            "run virsh domstate --reason {uuid}"
        ),
        "not-shown-by-libvirt": Remedy(
            "Do not reboot the server. A QEMU process of the server runs on {host}, but libvirt does not show this "
            "process. On {host}, run pgrep -af {uuid}"
        ),
        "on-another-host": Remedy(
            "Leave the server as it is, and follow the page of SG132. Nova shows the server on {host}, but the "
            "server's only QEMU process runs on {other}."
        ),
        "does-not-execute": Remedy(
            "Reset the server's state, then pause the server: openstack server set --state active {uuid}; openstack "
            "server pause {uuid}. The server's QEMU process is {seen} on {host}.",
            acts=(
                Act(
                    (RESET,),
                    "its only QEMU is on Nova's host, and does not execute",
                    (NOVAS_HOST, _BOTH_ENDS, MIGRATIONS),
                    NOTHING,
                ),
            ),
        ),
        "executes": Remedy(
            "Reset the server's state (openstack server set --state active {uuid}), because the server's QEMU runs on "
            "{host}.",
            acts=(
                Act(
                    (RESET,),
                    "its only QEMU executes on Nova's host",
                    (NOVAS_HOST, _BOTH_ENDS, MIGRATIONS),
                    NOTHING,
                ),
            ),
        ),
        "made-active": Remedy(
            "No action is needed. To see why the move of the server failed, run openstack server event list {uuid}"
        ),
    },
}
