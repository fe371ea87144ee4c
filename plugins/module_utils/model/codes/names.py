# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Codes SG3xx: where a host name is stored. See code.py."""

from __future__ import annotations

import typing as t

from .code import (
    BLOCKER,
    DELETION,
    FORECAST,
    INFO,
    NOTHING,
    PEOPLE,
    PROVIDERS,
    QUEUED,
    RECORD,
    SERVICES,
    START,
    STOP,
    WARNING,
    Act,
    Code,
    Remedy,
)
from .phrases import HANDS_OFF, PART_UNREAD, RESUME_RENAME, ROLL_BACK

_HALF = Remedy(
    "Run rename_host with rename_action=status for the host, because a rename may be unfinished. If no rename is "
    "open, correct the name in the database or API that has the wrong name."
)
_DEAD_CHASSIS = "Delete the chassis whose host no longer exists: openstack network agent delete NAME."
_DELETED_CHASSIS = "a chassis; one of a living host comes back when ovn-controller starts"
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
_REPAIR_OVN = (
    "Repair the cause of this finding, then run the same command again to resume the rename. The host's new compute "
    "service stays disabled until a run finds no problem with the host's chassis and ports in OVN."
)
_ROLL_BACK_OVN = Remedy(
    "Do not restart anything on the host. Check the evidence, then run rename_host with rename_action=rollback."
)
_CHASSIS = "a chassis; one of a living host comes back when ovn-controller starts"

CODES: t.Tuple[Code, ...] = (
    Code(
        "SG301",
        "half-rename",
        BLOCKER,
        "Databases and APIs have different names for one host.",
        overridden_by="the finding's object",
        remedies={
            "half-renamed": _HALF,
            "old-name-left-by-rename": ROLL_BACK,
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
            "old-name-after-drain": RESUME_RENAME,
        },
    ),
    Code(
        "SG302",
        "host-mapping",
        BLOCKER,
        "A host mapping contains a stale host name, or maps the host to the wrong cell.",
        overridden_by="the host name in the host mapping",
        remedies={
            "cell-wrong": Remedy(
                "Delete the mapping (nova-manage cell_v2 delete_host). Then map the host to the cell that has the "
                "host's "
                "compute service (nova-manage cell_v2 discover_hosts --by-service).",
                acts=(
                    Act(
                        (DELETION,),
                        "the mapping is to another cell than that of the host's service",
                        (SERVICES, "the host mappings"),
                        "the mapping, which discover_hosts makes again",
                    ),
                ),
            ),
            "name-of-no-service": Remedy(
                "If no compute host has this name, delete the mapping: nova-manage cell_v2 delete_host --host {host}. "
                "If a "
                "compute host has this name, an earlier rename of the host is unfinished: follow the remedy of SG301.",
                acts=(
                    Act(
                        (DELETION,),
                        "no compute service has the mapping's name",
                        (SERVICES, "the host mappings"),
                        RECORD,
                    ),
                ),
            ),
            "second-mapping-to-another-cell": Remedy(
                "Find out whether a host of cell {cell} has the name {host}. If no host of this cell has the name, "
                "delete "
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
    ),
    Code(
        "SG303",
        "aggregate-host",
        BLOCKER,
        "An aggregate contains a stale name of the host.",
        overridden_by="the aggregate's uuid or name",
        remedies={
            "database-and-api-differ": Remedy(
                "Run the same command again. If the database and the API still show different hosts, check that the "
                "API "
                "database and the compute API belong to the same cloud."
            ),
            "member-of-no-service": Remedy(
                "Remove the stale name from the aggregate. If the host was renamed, add the current name of the host "
                "to "
                "the aggregate. The aggregate's zone and filters apply only to hosts whose current name is in the "
                "aggregate."
            ),
            "new-host-differs": RESUME_RENAME,
            "aggregate-deleted-during-drain": Remedy(
                "Find out whether a new aggregate replaces the aggregate that was deleted during the run (openstack "
                "aggregate list). If a new aggregate exists, make sure that the host is a member of the new aggregate."
            ),
            "zone-lost-with-aggregate": Remedy(
                "Add the host to an aggregate of zone {zone}, then run the same command again to resume the rename."
            ),
        },
    ),
    Code(
        "SG304",
        "child-provider-name",
        WARNING,
        "The name of a child resource provider does not begin with its compute node's name.",
        overridden_by="the finding's object",
        remedies={
            "child-misnamed": Remedy(
                "Stop nova-compute, and rename the child provider so that its name begins with the name of the compute "
                "node."
            ),
            "provider-made-by-neutron": Remedy(
                "Use rename_strategy=drain, or remove resource_provider_bandwidths from the agent's configuration and "
                "delete the resource provider. With this resource provider, a rename in place breaks ports with "
                "guaranteed "
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
                "Check the names of these resource providers after the rename. The rename changes these names, and "
                "Nova "
                "finds PCI and vGPU devices by these names."
            ),
        },
    ),
    Code(
        "SG305",
        "network-agent",
        BLOCKER,
        "A neutron agent of the host blocks the rename, or has a stale name.",
        overridden_by="the agent's id, or the agent's type, such as `Open vSwitch agent`",
        override=(
            "If `neutron_db_url` is not set, override SG305 only if you accept an interruption of the "
            "guests' network. If you override SG305 and `neutron_db_url` is not set, the run first "
            "lets the agent start under the new name and register again in neutron. After the agent "
            "has registered again, the run binds the ports to the new host name and deletes the "
            "agent's old record. During a rename with an override of SG305 and without "
            "`neutron_db_url`, each guest loses its network for some seconds. The interruption begins "
            "at the agent's first synchronisation, and ends when the run binds the guest's port. A "
            "rollback of the rename interrupts the guests' network again. An override of SG305 works "
            "only for live agents that bind ports. If an agent is dead or binds no ports, the run "
            "needs `neutron_db_url`, even with an override. The lab tests cover an override of SG305 "
            "only for Open vSwitch agents.\n\n"
            "If the database at `neutron_db_url` does not contain the agent, `neutron_db_url` points "
            "to the wrong database, and no override is possible. Correct `neutron_db_url`.\n\n"
            "If a host with OVN's agents also has an agent of another type, such as a DHCP agent, no "
            "override is possible."
        ),
        remedies={
            "agent-dead-or-misnamed": Remedy(
                "If the agent is not alive, start the agent. If the finding shows two host names, correct host= in the "
                "agent's configuration. Neutron binds a port to a host only if a live agent has exactly the name of "
                "the "
                "host."
            ),
            "segments-not-mapped": Remedy(
                "If the cloud has routed provider networks, check neutron's table segmenthostmappings after the "
                "rename. "
                "Neutron maps the segments to {host} only if the L2 agent reports another configuration than before. "
                "If "
                "the rows are missing, new guests of such networks get no network on this host: delete the record of "
                "the "
                "agent (openstack network agent delete), then restart the agent.",
                acts=(
                    Act(
                        (DELETION,),
                        "a rename without OVN is over, and rows of segmenthostmappings are missing",
                        (PEOPLE,),
                        "a record that the L2 agent makes again at its start",
                    ),
                ),
            ),
            "distributed-routing": Remedy(
                "Empty the host first (playbook drain_host), stop its L3 agent and delete the agent's record. Then "
                "rename "
                "the host with rename_strategy=drain. After the rename, start the L3 agent, so that the agent "
                "registers "
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
                "Before the rename, move the agent's networks and routers to another agent, then stop the agent and "
                "delete "
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
                "Start the agent before the rename, because a port can be bound to the new name only if an agent is "
                "alive."
            ),
            "agent-not-in-database": Remedy("Check that neutron_db_url and the network API belong to the same cloud."),
            "agent-registers-anew": Remedy(
                "Set neutron_db_url, and grant the database user the privileges that docs/reference/grants.md lists "
                "for the "
                "table agents of neutron. If you accept the interruption of the guests' network, override the finding "
                "instead."
            ),
            "agent-has-another-host-name": Remedy(
                "Set the same host name in the configuration of nova-compute and of the host's L2 agent (option host), "
                "because neutron binds ports to Nova's host name."
            ),
            "agent-has-name-of-system": Remedy("Set host={host} in the agent's configuration before the rename."),
            "both-names-without-database": Remedy(
                "Set neutron_db_url, because neutron has agents or ports under both names. To change these agents and "
                "the "
                "host bindings of these ports to one host name, the run needs neutron's database."
            ),
            "network-node-agent-on-drained-host": Remedy(
                "Before the rename, move the agent's networks and routers to another agent, then stop the agent and "
                "delete its record.",
                acts=(
                    Act((STOP, DELETION), "an agent of a network node is on the host", ("the network agents",), RECORD),
                ),
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
    ),
    Code(
        "SG306",
        "port-binding",
        BLOCKER,
        "A port is bound to a stale host name, or its binding failed.",
        overridden_by="the port's uuid",
        remedies={
            "binding-wrong": Remedy(
                "Find out on which host the guest runs (virsh domstate), and make sure that this host has a live "
                "agent. "
                "Then set the port's binding:host_id to this host."
            ),
            "place-undecided": HANDS_OFF,
            "port-of-network-service-before-rename": Remedy(
                "Move the service that owns this port (DHCP, router) to another host, because neutron derives the "
                "identity "
                "of this port from the host's name."
            ),
            "port-of-unknown-server-before-rename": Remedy(
                "Find out on which host the port's server is. If the server is on another host, set the port's "
                "binding:host_id to the other host before the rename. If you leave binding:host_id unchanged, the "
                "rename "
                "binds this port to the new name of the renamed host."
            ),
            "subport-without-parent-here": Remedy(
                "Find the server of the trunk (openstack network trunk show). The subport is bound to this host, but "
                "the "
                "run found no parent port of the trunk on this host. Neutron always binds a subport to the host of its "
                "parent port."
            ),
            "port-on-routed-network": Remedy(
                "Use rename_strategy=drain, because the port is on a routed provider network, and neutron maps the "
                "segments of that network to hosts by host name."
            ),
            "guest-port-bound-elsewhere": Remedy(
                "Set the port's binding:host_id back to the guest's host. The rename changes only ports that are "
                "bound to "
                "the renamed host."
            ),
            "not-of-a-guest": Remedy(
                "Move the service that owns this port (DHCP, router) to another host, because a drain moves only "
                "guests."
            ),
            "of-a-guest-elsewhere": Remedy(
                "Find out on which host the port's server is, and set the port's binding:host_id to this host. If the "
                "server does not exist any more, delete the port. No move of a guest takes this port to another host."
            ),
        },
    ),
    Code(
        "SG307",
        "message-queue",
        INFO,
        "RabbitMQ still has a message queue of the host's old name.",
        overridden_by="the finding's object",
        remedies={
            "queue-unread": Remedy(
                "The run left the queue unchanged. Delete the queue if it has no consumers: rabbitmqctl delete_queue "
                "{queue}",
                acts=(Act((DELETION,), "a rename is over", ("the queue",), QUEUED),),
            ),
            "broker-not-given": Remedy(
                "RabbitMQ keeps the queue compute.{host} after the rename. To let the run delete the queue, give the "
                "run "
                "access to RabbitMQ (stackguard_rabbit_urls). Without access, delete the queue yourself.",
                acts=(Act((DELETION,), "a rename is over, and the run had no access to RabbitMQ", (PEOPLE,), QUEUED),),
            ),
            "queue-left": Remedy(
                "Delete the queue if it has no consumers: rabbitmqctl delete_queue {queue}. If you keep the queue, and "
                "another host later gets the host name that the queue's name contains, nova-compute on that other host "
                "executes the requests in the queue.",
                acts=(Act((DELETION,), "a rename is over", ("the queue",), QUEUED),),
            ),
        },
    ),
    Code(
        "SG308",
        "volume-attachment",
        WARNING,
        "A volume attachment records a stale host name.",
        do="""
            Nothing for RBD volumes. For others, compare each attachment's `attached_host` with the host's name. Where
            they differ, stop the server, run `nova-manage volume_attachment refresh`, and start it.
        """,
        why="""
            Some FC and iSCSI drivers find an attachment by host name, and do not find one with a stale name.
        """,
        reserved=True,
    ),
    Code(
        "SG309",
        "migration-record",
        BLOCKER,
        "An unfinished migration record contains a host name that no compute host has.",
        overridden_by="the migration's uuid",
        remedies={
            "half-renamed": _HALF,
        },
    ),
    Code(
        "SG310",
        "name-taken",
        BLOCKER,
        "The new host name is already in use.",
        overridden_by="the finding's object",
        remedies={
            "name-taken": Remedy(
                "Choose another name, or remove the object that already has the new name. The new name must be free "
                "before "
                "the rename."
            ),
            "segment-mapping-kept-by-neutron": Remedy(
                "No action is needed. Neutron has kept the segmenthostmappings row of an earlier host with this name. "
                "Neutron uses the old segmenthostmappings row again as soon as the chassis has the new hostname."
            ),
            "row-soft-deleted": Remedy(
                "No action is needed, because this row is soft-deleted. SG113 reports the old evacuation records of "
                "this "
                "name."
            ),
        },
    ),
    Code(
        "SG311",
        "database-access",
        BLOCKER,
        "The database user lacks a grant, or the database cannot be reached.",
        overridden_by="the finding's object",
        remedies={
            "part-unread": PART_UNREAD,
            "link-privilege-missing": Remedy("Grant {right} ({columns}) on {table} to the database user."),
            "right-lacking": Remedy("Grant {action} ({columns}) on {table} to the database user."),
        },
    ),
    Code(
        "SG312",
        "shared-configuration",
        WARNING,
        "A configuration file on the host would keep or restore the old host name after a rename.",
        overridden_by="the finding's object",
        remedies={
            "host-line-not-plain": Remedy(
                "Set the option host with one plain line (host = NAME) in a configuration file that only this host "
                "uses."
            ),
            "nova-options-with-old-name": Remedy(
                "Set each option that contains the old name to an address or to the new name. Then restart "
                "nova-compute to "
                "apply the change.",
                acts=(Act((START,), "an option of nova-compute contains the old name", (FORECAST,), NOTHING),),
            ),
            "cloud-init-writes-hosts-file": Remedy(
                "Set manage_etc_hosts to false in a file in /etc/cloud/cloud.cfg.d, or correct the data source."
            ),
            "cloud-init-sets-host-name": Remedy("Set preserve_hostname: true in a file in /etc/cloud/cloud.cfg.d."),
        },
    ),
    Code(
        "SG313",
        "name-bound-service",
        BLOCKER,
        "A service on the host, such as Ceph or RabbitMQ, depends on the host's name.",
        overridden_by="the kind of service, such as `cinder-volume`",
        override=(
            "For example, an override is safe for cinder-volume if `backend_host` is set. An override "
            "is also safe if the check found only old data on disk, and the service of this data is "
            "no longer on the host."
        ),
        remedies={
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
                "Remove the Ceph daemons before the rename, and create them again after the rename. If cephadm "
                "manages the "
                "host, add the host under the new name."
            ),
            "rabbitmq": Remedy(
                "Take the node out of its cluster first (rabbitmqctl forget_cluster_node), or keep the old name as "
                "NODENAME in rabbitmq-env.conf."
            ),
            "galera": Remedy(
                "Either set wsrep_node_name and list the members by address, or take the member out of the cluster "
                "before "
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
            "masakari-segment": Remedy(
                "After the rename, run openstack segment host update --name {new} {segment} {id}"
            ),
            "blazar": Remedy(
                "Wait until no lease reserves the host, and remove the host from Blazar before the rename (openstack "
                "reservation host delete). After the rename, add the host again under the new name.",
                acts=(Act((DELETION,), "Blazar has the host", (PEOPLE,), RECORD),),
            ),
            "ceilometer": Remedy(
                "Restart the service after the rename. If the service runs in a container, recreate the container "
                "instead, "
                "because a restarted container keeps the old host name. Before you restart the service or recreate its "
                "container, correct the option host in the configuration of the service, if this option is set."
            ),
            "cyborg": Remedy(
                "Unbind the accelerators before the rename, and delete the devices of the old name after the rename.",
                acts=(Act((DELETION,), "the host has the new name", (PEOPLE,), RECORD),),
            ),
            "manila-share": Remedy(
                "Set [DEFAULT] host of manila-share to the old name and override this finding, or run manila-manage "
                "share "
                "update_host after the rename."
            ),
            "zun-compute": Remedy(
                "Move or delete the containers of this host before the rename, or set [DEFAULT] host of zun-compute "
                "to the "
                "old name and override this finding."
            ),
            "ironic-conductor": Remedy(
                "Set [DEFAULT] host of ironic-conductor to the old name and override this finding, or put the "
                "conductor's "
                "work on other conductors and stop the conductor before the rename."
            ),
            "etcd": Remedy(
                "Set the member's name and its addresses in etcd's configuration to fixed values, or remove the member "
                "from its cluster before the rename (etcdctl member remove) and add it again after the rename."
            ),
            "kubelet": Remedy(
                "Drain the node and remove it from the Kubernetes cluster before the rename (kubectl drain, kubectl "
                "delete "
                "node), and join it again after the rename. Or set kubelet's option hostname-override to the old "
                "name, and "
                "override this finding."
            ),
            "glusterd": Remedy(
                "Keep the old name resolvable for all Gluster peers and clients and override this finding, or replace "
                "the "
                "bricks of this host before the rename (gluster volume replace-brick)."
            ),
            "linstor": Remedy(
                "Move the DRBD resources to other hosts and remove the node before the rename, and add the node again "
                "after the rename.",
                acts=(Act((DELETION,), "DRBD runs on the host", (PEOPLE,), RECORD),),
            ),
            "consul": Remedy(
                "Set node_name to a fixed value, or make the agent leave before the rename (consul leave)."
            ),
            "chef": Remedy(
                "Stop the Chef client during the rename. Set node_name, or rename the node on the Chef server."
            ),
            "freeipa": Remedy(
                "Enroll the host under its new name (ipa-client-install), and track the host's certificates again."
            ),
            "puppet": Remedy(
                "Stop the Puppet agent during the rename. Either set certname to the old name to keep the "
                "certificate, or "
                "let the Puppet server sign a certificate for the new name."
            ),
            "salt": Remedy(
                "Stop the Salt minion during the rename. Correct the minion's pillar and id before you start the "
                "minion."
            ),
        },
    ),
    Code(
        "SG314",
        "certificate-name",
        WARNING,
        "A certificate has the host's old name but not the new name.",
        remedies={
            "certificate-without-new-name": Remedy(
                "Before the rename, request a new certificate that contains both {new} and the old name."
            ),
        },
    ),
    Code(
        "SG315",
        "queue-of-new-name",
        BLOCKER,
        "The message queue of the new host name holds requests, or has a consumer.",
        overridden_by="the queue's name",
        remedies={
            "name-in-use": Remedy(
                "Find the host whose nova-compute already uses the new name, and stop nova-compute on that host. As an "
                "alternative, choose another name."
            ),
            "messages-left": Remedy(
                "Run rabbitmqctl delete_queue {queue} to delete the queue with its messages. The messages are "
                "requests for "
                "an earlier host with the same name, and nova-compute would execute these requests at its first start "
                "under this name.",
                acts=(
                    Act(
                        (DELETION,),
                        "the queue of the new name holds requests for an earlier host",
                        ("the queue",),
                        QUEUED,
                    ),
                ),
            ),
        },
    ),
    Code(
        "SG316",
        "broker-access",
        BLOCKER,
        "The run could not read RabbitMQ, or the URL is not that of the RabbitMQ of the host's cell.",
        overridden_by="the host's name",
        override=(
            "With the override, the rename does not read from RabbitMQ, and runs in the same way as "
            "without access to RabbitMQ."
        ),
        remedies={
            "no-consumer": Remedy(
                "If nova-compute does not run on the host, start nova-compute. If nova-compute already runs, set "
                "stackguard_rabbit_urls to the transport_url of the host's cell: the present value contains the wrong "
                "RabbitMQ server or the wrong virtual host. To rename the host without a check of the queues, override "
                "SG316 for the host.",
                acts=(Act((START,), "the queue of the host has no consumer", ("the queue", FORECAST), NOTHING),),
            ),
            "broker-unread": Remedy(
                "Fix the cause that the evidence shows. To rename the host without a check of the queues, override "
                "SG316 "
                "for the host."
            ),
        },
    ),
    Code(
        "SG317",
        "ovn-access",
        BLOCKER,
        "The run could not read OVN's databases, or ovn-northd does not process changes.",
        override=(
            "For an in-place rename, an override has no effect, because the run cannot make a plan "
            "without the facts about OVN. With `rename_strategy: drain`, the run needs the facts "
            "about OVN only to verify the chassis after the drain. With an override, the run looks "
            "for the chassis only in neutron's list of agents, and a note in the plan shows that the "
            "run does not verify the chassis in OVN's databases. If a rename with `rename_strategy: "
            "drain` reports SG317 for a host that has no Open vSwitch and no OVN, override the "
            "finding.\n\n"
            "When a host returns to service, an override lets the run continue without a check of the "
            "ports in OVN."
        ),
        remedies={
            "chassis-unread": Remedy("Make sure that the run can read OVN's databases."),
            "ovn-without-agents": Remedy(
                "Compare the output of openstack network agent list with the output of ovn-sbctl list Chassis. Neutron "
                "must show an OVN agent whose host field contains exactly the host name that Nova uses. If the host no "
                "longer uses OVN, remove OVN's keys from external_ids of Open vSwitch, and remove the host's chassis "
                "from "
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
                "Set external_ids:hostname of Open vSwitch to {name}, and wait until neutron shows the OVN agents of "
                "the "
                "host under this name. Then run the same command again. The run changes OVN only if the host has the "
                "same "
                "name in every place in OVN."
            ),
            "returning-host-with-ovn-unread": Remedy(
                "Make OVN's databases answer, then run the same command again. Without these databases, the run cannot "
                "verify whether the chassis of the returning host claims ports of guests on other hosts."
            ),
            "drained-host-undecided": Remedy(
                "Make external_ids of Open vSwitch readable on the host, then run the same command again. If the host "
                "has "
                "no Open vSwitch and no OVN, override this finding."
            ),
            "rename-unread": Remedy(
                "Fix the cause that the evidence shows, then run the same command again. The run needs neutron's "
                "database, "
                "OVN's northbound database and OVN's southbound database."
            ),
            "drain-unread": Remedy(
                "Fix the cause that the evidence shows, then run the same command again. If you override this "
                "finding, the "
                "run cannot verify the chassis in OVN's databases after the drain."
            ),
        },
    ),
    Code(
        "SG318",
        "ovn-chassis",
        BLOCKER,
        "The host has no OVN chassis, or its chassis is not unique.",
        override=(
            "No override is possible before a rename, because the run can make a plan only if the "
            "host has exactly one chassis. To override this finding in an audit, add an entry to "
            "`stackguard_overrides` with the keys `code`, `object` (the finding's object) and "
            "`reason`."
        ),
        remedies={
            "hostname-shared": Remedy(
                _DEAD_CHASSIS,
                acts=(
                    Act((DELETION,), "two chassis have one hostname", ("OVN's databases", PEOPLE), _DELETED_CHASSIS),
                ),
            ),
            "not-registered": Remedy(
                "Read the log of ovn-controller on this host, because ovn-controller has not registered under the "
                "host's "
                "system-id."
            ),
            "renamed-hostname-of-other-chassis": Remedy(
                "Find out which chassis belongs to this host (ovs-vsctl get Open_vSwitch . external_ids, ovn-sbctl "
                "list "
                "Chassis). Delete every chassis that has this host's hostname but does not belong to this host "
                "(openstack "
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
                "Restore the tunnel endpoints of the chassis (external_ids:ovn-encap-ip, ovn-encap-type). "
                + _REPAIR_OVN
            ),
            "system-id-changed-during-drain": Remedy(
                "Restore the old system-id of Open vSwitch on the host. A deployment tool may have written the new "
                "system-id. " + _REPAIR_OVN
            ),
        },
    ),
    Code(
        "SG319",
        "ovn-system-id",
        BLOCKER,
        "The system-id of the chassis is the host's name, and a deployment tool may derive a new system-id from the "
        "new name after a rename.",
        overridden_by="the finding's object",
        remedies={
            "system-id-is-a-host-name": Remedy(
                "Before you rename this host, set the current system-id of its Open vSwitch in the deployment tool's "
                "variables."
            ),
            "system-id-from-name": Remedy(
                "Set the system-id in the deployment tool's variables for this host (kolla-ansible: "
                "openvswitch_system_id: {system_id}, openvswitch_hostname: {new}), then override this finding. If the "
                "variables lack the system-id, the next run of the deployment tool writes another system-id, and the "
                "chassis fails after the next restart of ovn-controller."
            ),
        },
    ),
    Code(
        "SG320",
        "ovn-hostname-rewritten",
        BLOCKER,
        "At the next boot, Open vSwitch would overwrite the hostname of the chassis.",
        overridden_by="the finding's object",
        remedies={
            "unit-writes-hostname": Remedy(
                "Mask the unit (systemctl mask {unit}), or correct /etc/hosts or DNS so that the output of "
                "hostname -f is {new}. With Open vSwitch older than 3.2, the unit would overwrite the hostname of the "
                "chassis at the next boot, and OVN would release all ports of the host."
            ),
        },
    ),
    Code(
        "SG321",
        "ovn-hostname",
        BLOCKER,
        "The hostname of the chassis differs from the host's name in Nova.",
        override=(
            "No override is possible before a rename, because the run cannot make a plan while the "
            "hostname of the chassis differs from the host's name in Nova. To override this finding "
            "in an audit, add an entry to `stackguard_overrides` with the keys `code`, `object` (the "
            "finding's object) and `reason`."
        ),
        remedies={
            "hostname-not-novas": Remedy(
                "Set external_ids:hostname of Open vSwitch to {host}, because neutron binds ports only to a chassis "
                "whose "
                "hostname is the host name that Nova uses."
            ),
            "renamed-chassis-with-another-hostname": Remedy(
                "Before the rename, set external_ids:hostname of Open vSwitch to the name that Nova uses for the host. "
                "Neutron binds a port only to a chassis with exactly this hostname. Neutron treats the full name and "
                "the "
                "short name of a host as two different names."
            ),
        },
    ),
    Code(
        "SG322",
        "ovn-half-rename",
        BLOCKER,
        "A port requests a chassis that does not exist, or still requests the old hostname.",
        override=(
            "To override this finding before a rename, add an entry to `stackguard_overrides` with "
            "the keys `code`, `object` (the finding's object) and `reason`. You cannot override a "
            "finding of the check that runs after the rename."
        ),
        remedies={
            "requested-chassis-missing": Remedy(
                "Run rename_host with rename_action=status for the host, because a rename may be unfinished. If no "
                "rename "
                "is open, bind the port to a host that has a chassis."
            ),
            "chassis-with-old-name": _ROLL_BACK_OVN,
            "port-of-unbound-type-with-old-name": Remedy(
                "No action is needed: OVN does not use the host name to bind a port of this type (see the evidence). "
                "When "
                "neutron next updates the port, neutron writes the new name."
            ),
            "port-with-old-name": _ROLL_BACK_OVN,
            "binding-asks-for-another": _ROLL_BACK_OVN,
            "chassis-with-old-name-after-drain": Remedy(_REPAIR_OVN),
            "port-with-old-name-after-drain": Remedy(
                "Bind the port to the host of its server (openstack port set --host HOST {port}). " + _REPAIR_OVN
            ),
        },
    ),
    Code(
        "SG323",
        "ovn-tunnel-address",
        BLOCKER,
        "Another chassis has the host's tunnel address.",
        overridden_by="the finding's object",
        remedies={
            "address-of-two-chassis": Remedy(
                _DEAD_CHASSIS,
                acts=(
                    Act(
                        (DELETION,),
                        "two chassis have one tunnel address",
                        ("OVN's databases", PEOPLE),
                        _DELETED_CHASSIS,
                    ),
                ),
            ),
            "address-of-another-chassis": Remedy(
                "Verify that the host of chassis {chassis} no longer exists, then delete this chassis: openstack "
                "network "
                "agent delete {chassis}.",
                acts=(
                    Act(
                        (DELETION,),
                        "two chassis have one tunnel address",
                        ("OVN's databases", PEOPLE),
                        _DELETED_CHASSIS,
                    ),
                ),
            ),
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
    ),
    Code(
        "SG324",
        "ovn-port-unsettled",
        BLOCKER,
        "A port of the host is migrating, is not bound, or differs between neutron and OVN.",
        overridden_by="the port's uuid",
        remedies={
            "port-unsettled": Remedy(
                "If the port's server is migrating, wait until the migration ends. If the server is not migrating, "
                "repair "
                "the port. Then run the same command again. If the port has a problem before the rename, the run "
                "cannot "
                "verify after the rename whether the rename damaged the port."
            ),
            "sources-differ": Remedy(
                "Run the same command again, because the port may have changed while the run was reading the port. If "
                "the "
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
    ),
    Code(
        "SG325",
        "ovn-rbac",
        BLOCKER,
        "OVN does not allow the run to write the hostname of a chassis.",
        overridden_by="the finding's object",
        override=(
            "With an override, the run tries to write the hostname of the chassis. If the run cannot "
            "write this hostname, the run stops. The guests then keep their network, and you can roll "
            "back the rename."
        ),
        remedies={
            "southbound-port-with-role": Remedy(
                "Set ovn_sb_connection to a southbound database port that has no role, or to the database's unix "
                "socket. "
                "If the database port has a role (for example ovn-controller), the run and ovn-controller have no "
                "permission to write the hostname of the chassis. As soon as the hostname in the host's "
                "Open vSwitch changes, every transaction of ovn-controller fails."
            ),
        },
    ),
    Code(
        "SG326",
        "ovn-port-updated",
        WARNING,
        "During the rename, neutron wrote a wrong host name for a port into OVN, and the run replaced this host name.",
        remedies={
            "corrected": Remedy(
                "Inform the owner of the port if the network of the port was interrupted. During the rename, neutron "
                "updated the port. The host name that neutron wrote into OVN differed from the hostname of the "
                "chassis. "
                "The run corrected the port."
            ),
        },
    ),
    Code(
        "SG327",
        "ovn-not-proven",
        BLOCKER,
        "An in-place rename with OVN has not been tested with hardware ports (SR-IOV), trunks or a second L2 agent.",
        overridden_by="the port's uuid",
        override=("If the finding reports a second L2 agent, no override is possible."),
        remedies={
            "l2-agent-beside-ovn": Remedy(
                "Use rename_strategy=drain, because a rename in place has not been tested on a host with OVN and "
                "another "
                "L2 agent."
            ),
            "not-tried": Remedy(
                "Move the port's server to another host before the rename, or use rename_strategy=drain."
            ),
            "virtual-port": Remedy(
                "No action is needed: neutron updates neutron:parent_hostname of the virtual port when the port moves "
                "to another guest."
            ),
        },
    ),
    Code(
        "SG328",
        "ovn-chassis-left-behind",
        WARNING,
        "The chassis of an evacuated host is still in OVN.",
        remedies={
            "chassis-alive": Remedy(
                "Do not delete the chassis while neutron shows the chassis as alive. Run this command every minute: "
                "openstack network agent list. Neutron checks its agents only when a user lists the agents. Neutron "
                "needs "
                "about two minutes to notice a dead chassis. If neutron still shows the chassis as alive, either the "
                "host "
                "is back, or another machine uses the host's name. Find out which machine uses the host's name."
            ),
            "chassis-dead": Remedy(
                "If the host will not come back, verify that the machine is dead and that no port is bound to the "
                "chassis, "
                "then run: openstack network agent delete {chassis}. If the host will come back, keep the chassis, "
                "because "
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
                "Neutron did not show whether this chassis is alive. First verify that openstack network agent list "
                "shows "
                "the chassis as dead, and that ovn_sb_connection is the connection to the database of this cloud."
            ),
        },
    ),
    Code(
        "SG329",
        "requests-wait",
        BLOCKER,
        "Requests wait in RabbitMQ for a name whose nova-compute does not run.",
        override=(
            "Yes. After step 3, override SG329 for the host (`object`: the host's name) with what you "
            "saw as the `reason`. A request that was read, and whose server is on another host, is "
            "[SG330](SG330.md)."
        ),
        remedies={
            "queue-commands": _QUEUE_COMMANDS,
            "queues-unjudged": Remedy(
                "Keep nova-compute of {host} stopped until a run of evacuate_host or return_host has read the queues: "
                "it "
                "executes what waits at its next start, wherever the servers are."
            ),
            "queues-unread": Remedy(
                "Run the two commands on a RabbitMQ node of the host's cell. Then override SG329 for {host}, with "
                "what you "
                "saw as the reason."
            ),
            "passed-by-operator": Remedy("No action is needed if the reason is right."),
            "request-held": _REQUEST_HELD,
            "request-wanted": Remedy(
                "No action is needed. nova-compute of {host} executes the request at its next start, as it should."
            ),
            "server-may-come": Remedy(
                "Keep nova-compute of {host} stopped: a request to make this server on {host} may wait in RabbitMQ, "
                "and "
                "this evacuation does not move the server. Ask whether the owner still needs the server. A server "
                "that is "
                "being resized or migrated stays on the host that Nova shows until the resize ends or fails."
            ),
        },
    ),
    Code(
        "SG330",
        "request-for-elsewhere",
        BLOCKER,
        "A request waits for this host's name, but its server is elsewhere: the next start here would execute it.",
        absolute=True,
        override=("Delete the queue, or let the run remove the request."),
        remedies={
            "deletion-held": Remedy(
                "Keep nova-compute of {host} stopped. Ask the owner whether the server is still to be deleted: if it "
                "is, "
                "openstack server delete, then run the same command again. If it is not, delete the queue: every "
                "request "
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
    ),
)
