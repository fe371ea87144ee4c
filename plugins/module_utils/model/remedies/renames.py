# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remedies, by code and state: see catalogue.py."""

from __future__ import annotations

from .remedy import (
    ADOPTION,
    CELLS,
    DELETION,
    FORECAST,
    LINK,
    MIGRATIONS,
    NOTHING,
    PEOPLE,
    PROVIDERS,
    RECORD,
    RESET,
    RUNNING_COPY,
    SERVICES,
    START,
    STOP,
    THIS_HOST,
    UPDATE,
    Act,
    Remedies,
    Remedy,
)

_ROLL_BACK = Remedy(
    "Do not restart anything on the host. Check the evidence, then run rename_host with rename_action=rollback."
)
_NODE_UNPROVEN = Remedy(
    "If you know that this machine is the host of this compute node, write the uuid of the compute node into the "
    "compute_id file of the machine. The facts that the run has read do not prove that the compute node belongs to "
    "this machine."
)
_FILE_OF_ANOTHER_HOST = Remedy(
    "Check rename_from, rename_to and the inventory host, because the compute_id file of this machine has the uuid of "
    "the compute node of {host}. If rename_from, rename_to and the inventory host are correct, the compute_id file is "
    "wrong: stop nova-compute, and write the uuid of this host's compute node into the file."
)
_SERVICE_ID_NOT_ITS_OWN = Remedy(
    "Repair service_id of the compute node first (repair_links). service_id is not the id of the host's own compute "
    "service. If someone deletes the compute service that service_id points to, Nova also deletes this compute node.",
    acts=(Act((UPDATE,), "the link is wrong", (SERVICES,), LINK),),
)

REMEDIES: Remedies = {
    # --- who a host is
    "SG101": {"node-unproven": _NODE_UNPROVEN},
    "SG102": {
        "node-unproven": _NODE_UNPROVEN,
        "file-of-another-host": _FILE_OF_ANOTHER_HOST,
        "node-changed-by-rename": _ROLL_BACK,
    },
    "SG106": {
        "conf-host-not-rename-from": Remedy(
            "Set rename_from to the host name that nova-compute on this host uses, or run the rename for the correct "
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
        "service-changed-by-rename": _ROLL_BACK,
    },
    "SG107": {
        "service-up-without-nova-compute": Remedy(
            "Wait service_down_time seconds (60 by default), then run the same command again. If the compute service "
            "that this finding names is still up, another machine runs nova-compute under the name of this service. "
            "Find that machine before you adopt the host."
        ),
        "agent-alive-under-both-names": Remedy(
            "Wait agent_down_time seconds (75 by default), then run the same command again. If two agents are still "
            "alive, one with the old name and one with the new name of the host, another machine runs one of these "
            "agents. Find that machine before you adopt the host."
        ),
    },
    "SG108": {
        "lives-elsewhere-before-rollback": Remedy(
            "Run virsh domstate {uuid} on this host and on {other}, and rbd status for each disk of the guest, because "
            "the run has not read the other host. If the guest runs on both hosts, follow the page of SG108. If the "
            "guest runs only on this host, leave its domain as it is, and follow the page of SG132. Then run the same "
            "command again."
        ),
    },
    "SG110": {
        "server-deleted-during-rename": Remedy(
            "Wait running_deleted_instance_poll_interval seconds, then run virsh list --all. Within this time, "
            "nova-compute usually destroys the domain, except if running_deleted_instance_action is noop or log. If "
            "the domain still exists after this time, destroy and undefine the domain (virsh destroy, virsh undefine).",
            acts=(
                Act(
                    (STOP, DELETION),
                    "its server was this host's, and the owner deleted it during the rename",
                    (THIS_HOST, CELLS),
                    "the domain of a deleted server",
                ),
            ),
        ),
    },
    "SG111": {
        "reserved-domain": Remedy(
            "Choose a different name. Names below .invalid never resolve, and names below .localhost resolve only to "
            "the host itself."
        ),
        "resolves-to-loopback": Remedy(
            "Make {new} resolve to an address of this host ({addresses}), both in DNS and in /etc/hosts of this host."
        ),
        "resolves-to-another-machine": Remedy(
            "Correct DNS or /etc/hosts, or choose another name. The new name resolves to another machine."
        ),
        "old-name-in-hosts-file": Remedy(
            "Add {address} {new} to DNS or to /etc/hosts of the other machines. On the host itself, the rename adds "
            "{new} to the /etc/hosts line of {old}."
        ),
        "old-name-in-hosts-file-without-own-address": Remedy(
            "Add {new} to DNS, so that other machines can resolve {new}. On the host itself, the rename adds {new} to "
            "the /etc/hosts line of {old}. Do not copy the address of this line to other machines, because this "
            "address is not one of the host's network addresses."
        ),
        "neither-name-resolves": Remedy(
            "Make sure that the other hosts can reach an address of this host for live migration. The name {new} does "
            "not resolve on this host. The rename does not cause this problem, because the old name {old} does not "
            "resolve either."
        ),
        "only-old-name-resolves": Remedy(
            "Add {new} to DNS, or to /etc/hosts on this host and on every other host: {address} {new}"
        ),
        "peers-resolve-elsewhere": Remedy("Correct DNS or /etc/hosts on these hosts."),
        "peers-resolve-only-old-name": Remedy("Add {new} to DNS, or to /etc/hosts on these hosts: {address} {new}"),
        "peers-resolve-neither-name": Remedy(
            "If these hosts use host names for live migration, make {new} resolve on these hosts. The old name {old} "
            "does not resolve on these hosts either, so the rename does not cause this problem."
        ),
        "peers-unread": Remedy("Make {new} resolve on these hosts: {address} {new}"),
    },
    "SG112": {
        "provider-changed-by-rename": _ROLL_BACK,
        "allocations-changed-during-rename": Remedy(
            "Check whether the owners deleted or resized the servers during the rename (openstack server event list)."
        ),
    },
    "SG113": {
        "evacuated-from-new-name": Remedy(
            "Choose another name for rename_to. If the host has the name in rename_to when nova-compute starts, "
            "nova-compute destroys any domain of this instance on the host."
        ),
    },
    "SG114": {
        "unread-before-rename": Remedy(
            "Make the host reachable for Ansible, because a rename reads and changes files on the host."
        ),
        "unread-before-adoption": Remedy("Make the host reachable for Ansible."),
    },
    "SG118": {
        "not-a-free-host-name": Remedy(
            "Choose a host name that no other host has. Use only letters, digits, hyphens and dots."
        ),
        "capital-letters": Remedy(
            "Choose a name in lower case, because DNS and MySQL ignore case, but Nova and placement distinguish "
            "capital letters from small letters."
        ),
        "libvirt-name-unpredictable": Remedy(
            "Set rename_hypervisor_hostname to the host name that libvirt will report after the rename, because the "
            "run cannot predict this host name."
        ),
        "no-name-changes": Remedy(
            "If only the host name in libvirt has changed, set rename_hypervisor_hostname to the name that libvirt "
            "reports now."
        ),
    },
    "SG119": {
        "old-name-unknown": Remedy(
            "Set rename_from to the host name that openstack compute service list shows in the column Host."
        ),
        "both-names-unknown": Remedy(
            "Set rename_from to the old name of the host, and set rename_to to the current name of the host. The run "
            "found no compute node with the name in rename_from or in rename_to."
        ),
        "file-of-another-host": Remedy(
            "Check rename_from, rename_to and the inventory host. The compute_id file of this machine contains the "
            "uuid of another host's compute node. The other host (see host in the evidence) is neither rename_from nor "
            "rename_to, and has a compute service in Nova."
        ),
    },
    # --- guests and requests, since the operation began
    "SG120": {
        "domain-gone": Remedy(
            "Find out who removed the domain from libvirt. The guest's disks and the guest's row in Nova's database "
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
            "Find out why libvirt does not show QEMU process {pid}. The QEMU process still runs and writes the guest's "
            "disks. If someone starts the guest in Nova, a second QEMU starts on the same disks. End the QEMU process "
            "only if the guest's owner agrees, because the guest is off as soon as the QEMU process ends.",
            acts=(Act((STOP,), "a QEMU runs that libvirt does not show", (THIS_HOST, PEOPLE), RUNNING_COPY),),
        ),
    },
    "SG121": {
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
    "SG122": {
        "unlocked-during-operation": Remedy(
            "Check which requests the server received after someone unlocked the server: openstack server event list "
            "{uuid}"
        ),
        "locked-without-reason": Remedy(
            "Find out whether the owner locked the server (openstack server event list {uuid}), or whether an earlier "
            "run of the operation locked the server. The record of the locks is incomplete, because the earlier run "
            "was killed while it was locking guests. If the owner did not lock the server, unlock the server "
            "(openstack server unlock {uuid})."
        ),
    },
    "SG123": {
        "no-container-of-kolla": Remedy(
            "Keep the host's name, or let the service use the host's UTS namespace (docs/guides/deployments.md). This "
            "service keeps the old host name until you create its container again, or until you remove "
            "ProtectHostname= from its systemd unit and restart the unit. While the service has its own UTS namespace, "
            "this collection does not rename the host."
        ),
        "container-not-created-again": Remedy(
            "{why} As an alternative, keep the host's name, or let the service use the host's UTS namespace "
            "(docs/guides/deployments.md)."
        ),
    },
    "SG124": {
        "rehearsal-undecided": Remedy(
            "Add {name} to /etc/hosts, and put 'files' first in the hosts line of /etc/nsswitch.conf."
        ),
        "libvirt-name-not-planned": Remedy(
            "Set rename_hypervisor_hostname={found} to accept the name {found}. To keep the planned name, make "
            "{planned} the canonical name of {name}. If /etc/hosts of the host resolves {name}, make {planned} the "
            "first name in the /etc/hosts line that contains {name}. If DNS resolves {name}, set the canonical name in "
            "DNS."
        ),
    },
    "SG125": {
        "lives-elsewhere-before-rollback": Remedy(
            "To leave the server on its current host, add an override of SG125 for the server's uuid to "
            "stackguard_overrides, then roll back again. With the override, the rollback leaves the server's ports and "
            "the server's row in Nova's database unchanged."
        ),
    },
    "SG130": {
        "units-of-nova-compute-unknown": Remedy(
            "Set rename_compute_units to the unit that starts nova-compute. If no unit starts nova-compute, set "
            "rename_stop_command, rename_start_command, rename_mask_command and rename_unmask_command. {refusal} See "
            "docs/guides/deployments.md."
        ),
    },
    "SG131": {
        "machine-unproven": Remedy(
            "Keep nova-compute stopped, and find out whether this machine is the host of the compute node, or a copy "
            "of that host. Make the machines that the evidence names readable, then run the same command again. If "
            "this machine is a copy, remove its compute_id file, and adopt nothing. If this machine is the host and "
            "its address has changed too, override SG131 for this host, with the reason."
        ),
        "machine-proven": Remedy(
            "No action is needed: this run gives the host the name {goal} in every place. A rollback restores the "
            "state that the run found."
        ),
    },
    # --- links and rows
    "SG202": {"service-id-not-its-own": _SERVICE_ID_NOT_ITS_OWN},
    "SG203": {
        "service-id-not-its-own": _SERVICE_ID_NOT_ITS_OWN,
        "service-id-of-second-service": Remedy(
            "Set compute_nodes.service_id of this compute node to the id of the host's older compute service (playbook "
            "repair_links). Currently, service_id is the id of the host's newer compute service. If you delete the "
            "newer compute service before the repair, Nova also deletes the compute node.",
            acts=(Act((UPDATE,), "the node links to the newer service of its own host", (SERVICES,), LINK),),
        ),
    },
    "SG204": {
        "service-missing-before-rename": Remedy(
            "Start nova-compute under the old name. If nova-compute on this host no longer uses the old name, find out "
            "which compute service the compute node belongs to before you start nova-compute.",
            acts=(Act((START,), "the compute service of the old name is missing", (SERVICES, FORECAST), NOTHING),),
        ),
        "service-missing-before-adoption": Remedy(
            "Start nova-compute once under the name of the host's compute node. The collection cannot restore a "
            "deleted compute service.",
            acts=(Act((START,), "the service of the node is missing", (SERVICES, FORECAST), NOTHING),),
        ),
    },
    "SG205": {
        "another-node-with-libvirt-name": Remedy(
            "Keep the compute node whose uuid is in the host's compute_id file. This finding names the other compute "
            "node. Before the rename, remove the allocations of the other compute node.",
            acts=(
                Act(
                    (DELETION,),
                    "another compute node has the host's hypervisor_hostname",
                    (SERVICES, PROVIDERS),
                    "allocations of the other node",
                ),
            ),
        ),
        "several-rows-of-host": Remedy(
            "Keep the compute node whose uuid is in the host's compute_id file. Remove the host's other compute nodes "
            "before the rename.",
            acts=(Act((DELETION,), "several compute nodes have the host's name", (SERVICES,), RECORD),),
        ),
        "rows-in-two-cells": Remedy(
            "Remove the host's rows from the wrong cell, because a host belongs to only one cell.",
            acts=(Act((DELETION,), "two cells have rows of the host", (SERVICES, CELLS), RECORD),),
        ),
        "file-of-another-host": _FILE_OF_ANOTHER_HOST,
        "several-nodes-of-both-names": Remedy(
            "Find out whether every listed compute node belongs to this machine. If all listed compute nodes belong to "
            "this machine, keep the compute node whose uuid is in the allocations of the host's guests. Move or remove "
            "the allocations of the other listed compute nodes, then run the same command again.",
            acts=(
                Act(
                    (DELETION,),
                    "several compute nodes have the host's names",
                    (SERVICES, PROVIDERS, PEOPLE),
                    "allocations of duplicate nodes",
                ),
            ),
        ),
        "several-services-of-both-names": Remedy(
            "Find out which of the compute services in the evidence belong to this host. Delete each compute service "
            "that does not belong to this host (openstack compute service delete), then run the same command again.",
            acts=(
                Act(
                    (DELETION,),
                    "more than one compute service has the host's names",
                    (SERVICES, PEOPLE),
                    "the service, and each compute node that links to it",
                ),
            ),
        ),
        "second-node-in-use": Remedy(
            "Find out which guests belong to the second compute node. The run removes the second compute node only if "
            "the second compute node has no guests and no allocations."
        ),
        "second-node-of-another-service": Remedy(
            "Do not start nova-compute. To remove the second compute node, delete the compute service of the second "
            "compute node. Nova deletes a compute node only together with its compute service.",
            acts=(
                Act(
                    (DELETION,),
                    "the second node of the host has no guests",
                    (SERVICES, CELLS, PROVIDERS),
                    "the second service with its node",
                ),
            ),
        ),
        "second-node-perhaps-of-another-machine": Remedy(
            "Check rename_from and rename_to. The second compute node can belong to another machine, because its host "
            "name is neither rename_from nor rename_to, or because its address is not an address of this host. If no "
            "machine uses the name of the second compute node any more, delete the compute service with that name "
            "(openstack compute service delete).",
            acts=(
                Act(
                    (DELETION,),
                    "no machine uses the name of the second compute node",
                    (SERVICES, PEOPLE),
                    "the service with its node",
                ),
            ),
        ),
    },
    "SG214": {
        "compute-id-not-of-its-node": Remedy(
            "Find out where the domain of the instance runs, and repair the link (repair_links) before you do anything "
            "else."
        ),
    },
    # --- what else has the name
    "SG301": {
        "old-name-left-by-rename": _ROLL_BACK,
        "instance-gone-during-rename": Remedy(
            "Check whether the owner deleted the server during the rename (openstack server event list)."
        ),
        "other-service-of-nova": Remedy(
            "Move {binary} to another host, because a rename covers only nova-compute. Then delete the {binary} "
            "service of this host: openstack compute service delete {uuid}",
            acts=(Act((DELETION,), "another service of Nova runs on the host", (SERVICES,), RECORD),),
        ),
        "api-without-service": Remedy(
            "Check that the database and the API belong to the same cloud, and that the cell is mapped. The cell "
            "database contains the host's compute service, but the compute API does not show the host's compute "
            "service."
        ),
        "api-without-second-service": Remedy(
            "Check that the database and the API belong to the same cloud, and that the cell is mapped. The cell "
            "database contains the second compute service, but the compute API does not show the second compute "
            "service."
        ),
    },
    "SG302": {
        "second-mapping-to-another-cell": Remedy(
            "Find out whether a host of cell {cell} has the name {host}. If no host of this cell has the name, delete "
            "the mapping: nova-manage cell_v2 delete_host.",
            acts=(
                Act(
                    (DELETION,),
                    "a mapping of another cell has the name, and no host of that cell has it",
                    ("the host mappings", PEOPLE),
                    RECORD,
                ),
            ),
        ),
    },
    "SG304": {
        "provider-made-by-neutron": Remedy(
            "Use rename_strategy=drain, or remove resource_provider_bandwidths from the agent's configuration and "
            "delete the resource provider. With this resource provider, a rename in place breaks ports with guaranteed "
            "bandwidth or packet rates.",
            acts=(
                Act(
                    (DELETION,),
                    "an agent reports bandwidth by a provider of the host's name",
                    (PROVIDERS,),
                    "a provider that its agent makes again",
                ),
            ),
        ),
        "providers-below-the-host": Remedy(
            "Check the names of these resource providers after the rename. The rename changes these names, and Nova "
            "finds PCI and vGPU devices by these names."
        ),
    },
    "SG305": {
        "distributed-routing": Remedy(
            "Empty the host first (playbook drain_host), stop its L3 agent and delete the agent's record. Then rename "
            "the host with rename_strategy=drain. After the rename, start the L3 agent, so that the agent registers "
            "under the new name.",
            acts=(
                Act(
                    (STOP, DELETION),
                    "a distributed router's agent is on an empty host",
                    ("the network agents",),
                    RECORD,
                ),
            ),
        ),
        "distributed-routing-of-l2-agent": Remedy(
            "Use rename_strategy=drain. After the drain, the agent registers under the new name."
        ),
        "agent-of-network-node-before-rename": Remedy(
            "Before the rename, move the agent's networks and routers to another agent, then stop the agent and delete "
            "its record.",
            acts=(
                Act(
                    (STOP, DELETION),
                    "an agent of a network node is on the host",
                    ("the network agents",),
                    RECORD,
                ),
            ),
        ),
        "agent-not-alive-before-rename": Remedy(
            "Start the agent before the rename, because a port can be bound to the new name only if an agent is alive."
        ),
        "agent-not-in-database": Remedy("Check that neutron_db_url and the network API belong to the same cloud."),
        "agent-registers-anew": Remedy(
            "Set neutron_db_url, and grant the database user the privileges that docs/database-grants.md lists for the "
            "table agents of neutron. If you accept the interruption of the guests' network, override the finding "
            "instead."
        ),
        "agent-has-another-host-name": Remedy(
            "Set the same host name in the configuration of nova-compute and of the host's L2 agent (option host), "
            "because neutron binds ports to Nova's host name."
        ),
        "agent-has-name-of-system": Remedy("Set host={host} in the agent's configuration before the rename."),
        "both-names-without-database": Remedy(
            "Set neutron_db_url, because neutron has agents or ports under both names. To change these agents and the "
            "host bindings of these ports to one host name, the run needs neutron's database."
        ),
    },
    "SG306": {
        "port-of-network-service-before-rename": Remedy(
            "Move the service that owns this port (DHCP, router) to another host, because neutron derives the identity "
            "of this port from the host's name."
        ),
        "port-of-unknown-server-before-rename": Remedy(
            "Find out on which host the port's server is. If the server is on another host, set the port's "
            "binding:host_id to the other host before the rename. If you leave binding:host_id unchanged, the rename "
            "binds this port to the new name of the renamed host."
        ),
        "subport-without-parent-here": Remedy(
            "Find the server of the trunk (openstack network trunk show). The subport is bound to this host, but the "
            "run found no parent port of the trunk on this host. Neutron always binds a subport to the host of its "
            "parent port."
        ),
        "port-on-routed-network": Remedy(
            "Use rename_strategy=drain, because the port is on a routed provider network, and neutron maps the "
            "segments of that network to hosts by host name."
        ),
        "guest-port-bound-elsewhere": Remedy(
            "Set the port's binding:host_id back to the guest's host. The rename changes only ports that are bound to "
            "the renamed host."
        ),
    },
    "SG310": {
        "name-taken": Remedy(
            "Choose another name, or remove the object that already has the new name. The new name must be free before "
            "the rename."
        ),
        "segment-mapping-kept-by-neutron": Remedy(
            "No action is needed. Neutron has kept the segmenthostmappings row of an earlier host with this name. "
            "Neutron uses the old segmenthostmappings row again as soon as the chassis has the new hostname."
        ),
        "row-soft-deleted": Remedy(
            "No action is needed, because this row is soft-deleted. SG113 reports the old evacuation records of this "
            "name."
        ),
    },
    "SG311": {
        "right-lacking": Remedy("Grant {action} ({columns}) on {table} to the database user."),
    },
    "SG312": {
        "host-line-not-plain": Remedy(
            "Set the option host with one plain line (host = NAME) in a configuration file that only this host uses."
        ),
        "nova-options-with-old-name": Remedy(
            "Set each option that contains the old name to an address or to the new name. Then restart nova-compute to "
            "apply the change.",
            acts=(Act((START,), "an option of nova-compute contains the old name", (FORECAST,), NOTHING),),
        ),
        "cloud-init-writes-hosts-file": Remedy(
            "Set manage_etc_hosts to false in a file in /etc/cloud/cloud.cfg.d, or correct the data source."
        ),
        "cloud-init-sets-host-name": Remedy("Set preserve_hostname: true in a file in /etc/cloud/cloud.cfg.d."),
    },
    # By the kind of the service on the host.
    "SG313": {
        "ceph-osd": Remedy(
            "Either move the OSDs to other hosts before the rename, or do two things: set "
            "osd_crush_update_on_start=false before the rename, and give the host's CRUSH bucket the new host name "
            "during the rename (ceph osd crush rename-bucket). If cephadm manages the host, remove the host from "
            "cephadm, and add the host again under the new name."
        ),
        "ceph-mon": Remedy(
            "Remove the monitor before the rename, and create a monitor under the new name after the rename."
        ),
        "ceph": Remedy(
            "Remove the Ceph daemons before the rename, and create them again after the rename. If cephadm manages the "
            "host, add the host under the new name."
        ),
        "rabbitmq": Remedy(
            "Take the node out of its cluster first (rabbitmqctl forget_cluster_node), or keep the old name as "
            "NODENAME in rabbitmq-env.conf."
        ),
        "galera": Remedy(
            "Either set wsrep_node_name and list the members by address, or take the member out of the cluster before "
            "the rename."
        ),
        "pacemaker": Remedy(
            "Take the host out of the cluster first (pcs cluster node remove), and add the host under the new name "
            "after the rename."
        ),
        "cinder-volume": Remedy(
            "Set backend_host to the old name and override this finding, or run cinder-manage volume update_host."
        ),
        "cinder-backup": Remedy(
            "Restart the service after the rename, and delete the service of the old name (cinder-manage service "
            "remove).",
            acts=(Act((DELETION,), "cinder-backup took the new name", (PEOPLE,), RECORD),),
        ),
        "masakari": Remedy(
            "Stop the Masakari monitors before the rename. After the rename, change the name of the host in its "
            "failover segment, then start the monitors."
        ),
        "masakari-segment": Remedy("After the rename, run openstack segment host update --name {new} {segment} {id}"),
        "blazar": Remedy(
            "Wait until no lease reserves the host, and remove the host from Blazar before the rename (openstack "
            "reservation host delete). After the rename, add the host again under the new name.",
            acts=(Act((DELETION,), "Blazar has the host", (PEOPLE,), RECORD),),
        ),
        "ceilometer": Remedy(
            "Restart the service after the rename. If the service runs in a container, recreate the container instead, "
            "because a restarted container keeps the old host name. Before you restart the service or recreate its "
            "container, correct the option host in the configuration of the service, if this option is set."
        ),
        "cyborg": Remedy(
            "Unbind the accelerators before the rename, and delete the devices of the old name after the rename.",
            acts=(Act((DELETION,), "the host has the new name", (PEOPLE,), RECORD),),
        ),
        "manila-share": Remedy(
            "Set [DEFAULT] host of manila-share to the old name and override this finding, or run manila-manage share "
            "update_host after the rename."
        ),
        "zun-compute": Remedy(
            "Move or delete the containers of this host before the rename, or set [DEFAULT] host of zun-compute to the "
            "old name and override this finding."
        ),
        "ironic-conductor": Remedy(
            "Set [DEFAULT] host of ironic-conductor to the old name and override this finding, or put the conductor's "
            "work on other conductors and stop the conductor before the rename."
        ),
        "etcd": Remedy(
            "Set the member's name and its addresses in etcd's configuration to fixed values, or remove the member "
            "from its cluster before the rename (etcdctl member remove) and add it again after the rename."
        ),
        "kubelet": Remedy(
            "Drain the node and remove it from the Kubernetes cluster before the rename (kubectl drain, kubectl delete "
            "node), and join it again after the rename. Or set kubelet's option hostname-override to the old name, and "
            "override this finding."
        ),
        "glusterd": Remedy(
            "Keep the old name resolvable for all Gluster peers and clients and override this finding, or replace the "
            "bricks of this host before the rename (gluster volume replace-brick)."
        ),
        "linstor": Remedy(
            "Move the DRBD resources to other hosts and remove the node before the rename, and add the node again "
            "after the rename.",
            acts=(Act((DELETION,), "DRBD runs on the host", (PEOPLE,), RECORD),),
        ),
        "consul": Remedy("Set node_name to a fixed value, or make the agent leave before the rename (consul leave)."),
        "chef": Remedy("Stop the Chef client during the rename. Set node_name, or rename the node on the Chef server."),
        "freeipa": Remedy(
            "Enroll the host under its new name (ipa-client-install), and track the host's certificates again."
        ),
        "puppet": Remedy(
            "Stop the Puppet agent during the rename. Either set certname to the old name to keep the certificate, or "
            "let the Puppet server sign a certificate for the new name."
        ),
        "salt": Remedy(
            "Stop the Salt minion during the rename. Correct the minion's pillar and id before you start the minion."
        ),
    },
    "SG314": {
        "certificate-without-new-name": Remedy(
            "Before the rename, request a new certificate that contains both {new} and the old name."
        ),
    },
    "SG317": {
        "ovn-without-agents": Remedy(
            "Compare the output of openstack network agent list with the output of ovn-sbctl list Chassis. Neutron "
            "must show an OVN agent whose host field contains exactly the host name that Nova uses. If the host no "
            "longer uses OVN, remove OVN's keys from external_ids of Open vSwitch, and remove the host's chassis from "
            "the southbound database. Then run the same command again.",
            acts=(
                Act(
                    (DELETION,),
                    "external_ids name OVN, and neutron has no agent of it",
                    ("the network agents", "external_ids of Open vSwitch", PEOPLE),
                    "a chassis; one of a living host comes back when ovn-controller starts",
                ),
            ),
        ),
        "ovn-has-both-names": Remedy(
            "Set external_ids:hostname of Open vSwitch to {name}, and wait until neutron shows the OVN agents of the "
            "host under this name. Then run the same command again. The run changes OVN only if the host has the same "
            "name in every place in OVN."
        ),
    },
    "SG327": {
        "l2-agent-beside-ovn": Remedy(
            "Use rename_strategy=drain, because a rename in place has not been tested on a host with OVN and another "
            "L2 agent."
        ),
    },
    # --- what is in progress
    "SG509": {
        "evacuated-from-renamed-host": Remedy(
            "Do not start nova-compute on this host, because the start of nova-compute would destroy the guest's "
            "domain. Find out where the guest runs, and which client writes to the guest's disks. Then override SG509 "
            "for the migration, and run the same command again."
        ),
        "evacuated-from-adopted-host": Remedy(
            "Keep nova-compute stopped, restore the host name {name} on the host by hand, and run the playbook "
            "return_host for this host. A guest was evacuated from this host, and the guest's old QEMU process may "
            "still run on this host. The playbook return_host ends the old QEMU process. Start nova-compute after the "
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
    },
    "SG701": {
        "request-lost": Remedy(
            "Reset the server's state (openstack server set --state active {uuid}), because the request that set the "
            "server's task state was lost, and nova-compute will never execute this request. Then run the same command "
            "again.",
            acts=(
                Act(
                    (RESET,),
                    "a request to the renamed host was lost, and the guest is as it was when the operation began",
                    (THIS_HOST, CELLS, MIGRATIONS),
                    "the task state",
                ),
            ),
        ),
    },
    "SG704": {
        "down-before-rename": Remedy(
            "Start nova-compute under the old name, and wait until nova-compute is up.",
            acts=(Act((START,), "the compute service is down before a rename", (SERVICES, FORECAST), NOTHING),),
        ),
        "second-service-forced-down": Remedy(
            "Find out who forced the second compute service down, because an evacuation may be in progress. Then run "
            "openstack compute service set --up {host} nova-compute."
        ),
    },
    "SG705": {
        "release-unknown-before-rename": Remedy(
            "Find out which Nova release runs on this host, because the steps of the rename depend on the release."
        ),
        "release-finds-node-by-name": Remedy(
            "Use rename_strategy=drain. This Nova release finds a compute node only by the node's name, so Nova would "
            "not find the node after a rename in place."
        ),
    },
    "SG709": {
        "unread-before-rename": Remedy("Fix the cause that the evidence shows, then run the same command again."),
        "unread-before-adoption": Remedy(
            "Make sure that the run can read these facts: {part}. Then run the same command again."
        ),
        "host-name-of-service-unknown": Remedy(
            "Start the service if the service is stopped. If the service runs in a container, make sure that the "
            "container engine answers. Then run the same command again."
        ),
        "agent-unit-unknown": Remedy(
            "Set rename_agent_units to the agent's unit, so that the run can stop the agent. An agent that is not "
            "stopped keeps running under the old name."
        ),
        "compute-unit-unknown": Remedy(
            "Set rename_stop_command, rename_start_command, rename_mask_command and rename_unmask_command. A host "
            "needs these options, for example, if nova-compute runs in a container."
        ),
        "servers-changed-while-reading": Remedy(
            "Run the same command again, because the servers of the host changed while the run was reading the cloud."
        ),
        "name-not-rehearsed": Remedy(
            "Fix the cause that the evidence shows, then run the same command again. To test the new host name, the "
            "run needs root permissions on the host, and a kernel that supports UTS and mount namespaces."
        ),
        "domains-unread-during-rename": Remedy("Make sure that libvirt answers on the host."),
        "processes-unread-during-rename": Remedy("Run the module as root, because the module must read /proc."),
        "pid-file-unread": Remedy(
            "Make sure that the run can read the guest's pid file below /run/libvirt/qemu, then run the same command "
            "again."
        ),
        "evacuations-unread-during-rename": Remedy(
            "Make sure that the run can read the cell, then run the same command again. If the cell has an evacuation "
            "record of this host, nova-compute destroys guests at its next start on this host."
        ),
    },
    "SG712": {
        "lock-not-exclusive": Remedy(
            "If every run uses this version of the collection, no action is needed: the journal on the host prevents "
            "two runs from working on the host at the same time. A run of version 0.1 of the collection ignores this "
            "protection."
        ),
    },
}
