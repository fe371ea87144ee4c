# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Codes SG3xx: where a host name is stored. See code.py."""

from __future__ import annotations

import typing as t

from . import volumes
from .code import (
    BLOCKER,
    CELLS,
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
    "Run rename_host with rename_action=status for the host: a rename may be unfinished. If no rename is open, correct "
    "the name in the database or API that has the wrong one."
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
    "Repair the cause, then run the same command again to resume the rename. The host's new compute service stays "
    "disabled until its chassis and ports in OVN are right."
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
        do="""
            An open rename: resume it or [roll it back](../guides/recovery.md).
        """,
        why="""
            nova-compute uses one of the two names only, and skips every instance whose row has the other. At its next
            start, nova-compute of Nova 27 or 28 can create a second compute service. Other services of Nova on the host
            (nova-conductor, nova-scheduler, nova-consoleauth) would keep the old name: a rename changes nova-compute's.
            Names are compared byte by byte.
        """,
        remedies={
            "half-renamed": _HALF,
            "old-name-left-by-rename": ROLL_BACK,
            "instance-gone-during-rename": Remedy(
                "Check whether the owner deleted the server during the rename (openstack server event list)."
            ),
            "other-service-of-nova": Remedy(
                "Move {binary} to another host, because a rename covers only nova-compute. Then delete its service of "
                "this host: openstack compute service delete {uuid}",
                acts=(Act((DELETION,), "another service of Nova runs on the host", (SERVICES,), RECORD),),
            ),
            "api-without-service": Remedy(
                "Check that the database and the API belong to the same cloud, and that the cell is mapped: the "
                "compute API does not show the compute service that the cell database has."
            ),
            "api-without-second-service": Remedy(
                "Check that the database and the API belong to the same cloud, and that the cell is mapped: the "
                "compute API does not show the second compute service that the cell database has."
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
        do="""
            `nova-manage cell_v2 list_hosts` shows the cell's uuid, which `delete_host` needs. It refuses a host with
            servers in that cell. Nova's schedulers may keep the old mapping until they are restarted or get SIGHUP.
        """,
        why="""
            The API does not find a host whose mapping has another name, and looks for a host of the wrong cell in the
            wrong database. A warning if no compute service has the mapping's name, not even in other upper and lower
            case.
        """,
        remedies={
            "cell-wrong": Remedy(
                "Delete the mapping (nova-manage cell_v2 delete_host --cell_uuid {cell} --host {host}), then map the "
                "host to the cell of its compute service (nova-manage cell_v2 discover_hosts --by-service).",
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
                "If no compute host has this name, delete the mapping: nova-manage cell_v2 delete_host "
                "--cell_uuid {cell} --host {host}. If one has it, an earlier rename is unfinished: follow the remedy "
                "of SG301.",
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
                "Find out whether a host of cell {cell} has the name {host}. If none has, delete the mapping: "
                "nova-manage cell_v2 delete_host --cell_uuid {uuid} --host {host}.",
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
        do="""
            After a change, run `nova-manage placement sync_aggregates`. Nova's API answers 404 if you remove a name
            that no compute service has: that row is in the table `aggregate_hosts` of the API database.
        """,
        why="""
            A host whose current name is not in the aggregate has left its availability zone, and the aggregate's
            filters no longer apply to it: Nova can move its guests to another zone without an error. An aggregate that
            was deleted during a rename by drain is a warning, as long as the host's zone is the same.
        """,
        remedies={
            "database-and-api-differ": Remedy(
                "Run the same command again. If the API database and the compute API still show different hosts, check "
                "that they belong to the same cloud."
            ),
            "member-of-no-service": Remedy(
                "Remove the stale name from the aggregate. If the host was renamed, add its current name."
            ),
            "new-host-differs": RESUME_RENAME,
            "aggregate-deleted-during-drain": Remedy(
                "Find out whether a new aggregate replaces the one that was deleted during the run (openstack "
                "aggregate list). If so, the host must be a member of the new one."
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
        do="""
            To rename a provider: `openstack resource provider set --name NAME UUID`.
        """,
        why="""
            Nova looks child providers up by name (`NODE_DEVICE`). Under the old name it removes a PCI provider or
            raises an error, and makes a vGPU provider a second time. Neutron's `NODE:AGENT` providers, for guaranteed
            bandwidth and packet rates, have uuids derived from the host's name: they block a rename in place, even with
            an override.
        """,
        remedies={
            "child-misnamed": Remedy(
                "Stop nova-compute, and rename the child provider so that its name begins with the compute node's."
            ),
            "provider-made-by-neutron": Remedy(
                "Use rename_strategy=drain, or remove resource_provider_bandwidths from the agent's configuration and "
                "delete the resource provider. A rename in place breaks ports with guaranteed bandwidth or packet "
                "rates.",
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
                "Check the names of these resource providers after the rename, which changes them."
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
            "Without `neutron_db_url`, an override costs each guest its network for some seconds, and again in a "
            "rollback: the agent registers under the new name by itself, and only then are the ports bound. It works "
            "for live L2 agents (tested with Open vSwitch agents). In a rename in place, none passes an agent that is "
            "dead or binds no ports (without `neutron_db_url`), an agent that the database at `neutron_db_url` does "
            "not have (it is the wrong database), or an agent such as DHCP beside OVN's."
        ),
        do="""
            For an L2 agent, set `neutron_db_url` ([grants](../reference/grants.md)): the run then renames the agent's
            row before it binds the ports. Any other agent but OVN's, such as a DHCP or L3 agent, stands against both
            strategies until its record is deleted.
        """,
        why="""
            Neutron binds a port only to a host with a live agent of exactly its name; otherwise the vif type becomes
            `binding_failed`, and the agent on the host moves a guest's port to the dead VLAN within a second.
            Distributed routing also keeps the name in `dvr_host_macs` and `ml2_distributed_port_bindings`, which a
            rename in place leaves as they are; the procedure for it has not been tested. OVN's agents follow the
            chassis: see [SG317](SG317.md) to [SG327](SG327.md).
        """,
        remedies={
            "agent-dead-or-misnamed": Remedy(
                "If the agent is not alive, start the agent. If the finding shows two host names, correct host= in the "
                "agent's configuration."
            ),
            "segments-not-mapped": Remedy(
                "If the cloud has routed provider networks, check neutron's table segmenthostmappings after the "
                "rename: neutron maps the segments to {host} only if the L2 agent reports another configuration than "
                "before. If rows are missing, new guests of such networks get no network here: delete the record of "
                "the agent (openstack network agent delete), then restart the agent.",
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
                "rename the host with rename_strategy=drain. After the rename, start the L3 agent.",
                acts=(
                    Act(
                        (STOP, DELETION),
                        "a distributed router's agent is on an empty host",
                        ("the network agents",),
                        RECORD,
                    ),
                ),
            ),
            "distributed-routing-of-l2-agent": Remedy("Use rename_strategy=drain."),
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
            "agent-not-alive-before-rename": Remedy("Start the agent before the rename."),
            "agent-not-in-database": Remedy("Check that neutron_db_url and the network API belong to the same cloud."),
            "agent-registers-anew": Remedy(
                "Set neutron_db_url, and grant the database user the privileges on neutron's table agents "
                "(docs/reference/grants.md). If you accept the interruption of the guests' network, override the "
                "finding instead."
            ),
            "agent-has-another-host-name": Remedy(
                "Set the same option host in the configuration of nova-compute and of the L2 agent."
            ),
            "agent-has-name-of-system": Remedy("Set host={host} in the agent's configuration before the rename."),
            "both-names-without-database": Remedy(
                "Set neutron_db_url: neutron has agents or ports under both names, and the run needs its database to "
                "give them one."
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
        do="""
            To bind a port: `openstack port set --host HOST PORT`. If the guest does not run on the host that Nova
            shows, follow [SG132](SG132.md) instead.
        """,
        why="""
            Such a port carries no traffic, or its guest's next hard reboot ends in ERROR ("Unexpected
            vif_type=binding_failed"). Neutron identifies DHCP and router ports by the host's name, so they stand
            against a rename. It maps the segments of a routed network to the new name only after an agent has reported
            under it: such a port blocks a rename in place, even with an override. With OVN, a failed binding of a
            router's gateway port is only a warning, because OVN goes by the chassis.
        """,
        remedies={
            "binding-wrong": Remedy(
                "Find out on which host the guest runs (virsh domstate), and make sure that this host has a live "
                "agent. Then set the port's binding:host_id to this host."
            ),
            "place-undecided": HANDS_OFF,
            "port-of-network-service-before-rename": Remedy(
                "Move the service that owns this port (DHCP, router) to another host."
            ),
            "port-of-unknown-server-before-rename": Remedy(
                "Find out on which host the port's server is. If it is on another host, set the port's binding:host_id "
                "to that host before the rename, which would bind the port to the new name otherwise."
            ),
            "subport-without-parent-here": Remedy(
                "Find the server of the trunk (openstack network trunk show): a subport is always bound to the host of "
                "its parent port, and the trunk has no parent port on this host."
            ),
            "port-on-routed-network": Remedy(
                "Use rename_strategy=drain, because the port is on a routed provider network."
            ),
            "guest-port-bound-elsewhere": Remedy(
                "Set the port's binding:host_id back to the guest's host: the rename changes only ports that are bound "
                "to the renamed host."
            ),
            "not-of-a-guest": Remedy(
                "Move the service that owns this port (DHCP, router) to another host, because a drain moves only "
                "guests."
            ),
            "of-a-guest-elsewhere": Remedy(
                "Find out on which host the port's server is, and set the port's binding:host_id to that host, because "
                "no move of a guest takes the port there. If the server does not exist any more, delete the port."
            ),
        },
    ),
    Code(
        "SG307",
        "message-queue",
        INFO,
        "RabbitMQ still has a message queue of the host's old name.",
        overridden_by="the finding's object",
        do="""
            On a RabbitMQ node, with `-p VHOST` if the cell has its own virtual host. Delete only a queue without
            consumers, before another host gets this name:

                rabbitmqctl list_queues name messages consumers | grep -E '^compute(-alt)?\\.compute1\\s'
                rabbitmqctl delete_queue compute.compute1
        """,
        why="""
            Nobody reads the old name's queue, and its requests never expire. If another host gets the name, its
            nova-compute executes them: in the lab, requests several days old suspended, shelved and stopped running
            guests. With access to RabbitMQ, the run reports each request that is left ([SG121](SG121.md)) and deletes
            the queue. A warning if it could not, because a nova-compute reads the queue or a request arrived meanwhile.
        """,
        remedies={
            "queue-unread": Remedy(
                "The run left the queue unchanged. Delete the queue if it has no consumers: rabbitmqctl delete_queue "
                "{queue}",
                acts=(Act((DELETION,), "a rename is over", ("the queue",), QUEUED),),
            ),
            "broker-not-given": Remedy(
                "RabbitMQ keeps the queue compute.{host}. To let the run delete it, give the run access to RabbitMQ "
                "(stackguard_rabbit_urls). Without access, delete the queue yourself.",
                acts=(Act((DELETION,), "a rename is over, and the run had no access to RabbitMQ", (PEOPLE,), QUEUED),),
            ),
            "queue-left": Remedy(
                "Delete the queue if it has no consumers: rabbitmqctl delete_queue {queue}. Otherwise, another host "
                "that gets this name executes the requests in it.",
                acts=(Act((DELETION,), "a rename is over", ("the queue",), QUEUED),),
            ),
        },
    ),
    Code(
        "SG308",
        "volume-attachment",
        WARNING,
        "Cinder knows a volume's host by a name that the host does not have, or will not have any more.",
        overridden_by="the finding's object",
        why="""
            Cinder records the host's name when it connects a volume, and a rename leaves it. Ceph and NFS never look at
            it: attach, detach, moves and evacuations work, and each makes the record anew. A back end that exports
            volumes to hosts may keep the machine under its old name: then it refuses the next attachment (the
            initiator belongs to another host), or a detachment leaves the export behind. If two guests of the host
            share a volume, one attached before the rename and one after, detaching one can take the volume from the
            other.

            Only Ceph and NFS were run; iSCSI, FC and NVMe-oF were modelled.
        """,
        remedies={
            "stale-harmless": Remedy("No action is needed: this back end does not use the name."),
            "stale": Remedy(volumes.REFRESH + ".", acts=volumes.REFRESHES),
            "rename-harmless": Remedy("No action is needed: this back end does not use the name."),
            "rename": Remedy(
                "Move these servers to another host before the rename (migrate_server), and back after it. Or connect "
                "the volumes anew after the rename, before you attach or detach any on this host, server by server: "
                "stop it, on the host run nova-manage volume_attachment get_connector --json > connector.json, then "
                "nova-manage volume_attachment refresh SERVER VOLUME connector.json, and start it. An array that "
                "refuses a machine under a second name refuses this, too, while the machine has other volumes there: "
                "rename its host object on the array first."
            ),
            "rename-shared": Remedy(
                "Move all but one of these servers to other hosts (migrate_server), then run the same command again: "
                "after the rename, detaching the volume from one server could take it from the other."
            ),
            "rename-cinder-volume": Remedy(
                "Move cinder-volume to another host or give it a host name of its own first (backend_host in "
                "cinder.conf; cinder-manage volume update_host): its volumes belong to the name HOST@BACKEND, and "
                "nobody serves them after the rename."
            ),
        },
    ),
    Code(
        "SG309",
        "migration-record",
        BLOCKER,
        "An unfinished migration record contains a host name that no compute host has.",
        overridden_by="the migration's uuid",
        do="""
            An open rename: resume it or [roll it back](../guides/recovery.md). Before you correct the names in the
            migration record by hand, stop nova-compute on the source and on the destination.
        """,
        why="""
            To confirm, revert or clean up the migration, Nova sends requests to the name in the record, and no host
            reads them. A revert also writes the stale name back into the instance's row.
        """,
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
        why="""
            Two hosts of one name can stop the rename halfway, at a unique key, and Nova can mix up their guests, ports
            and inventories. Names are compared without case, as MySQL does. Information only: soft-deleted rows, and
            with `rename_strategy=drain` rows of former hosts in `segmenthostmappings`.
        """,
        remedies={
            "name-taken": Remedy("Choose another name, or remove the object that already has the new name."),
            "segment-mapping-kept-by-neutron": Remedy(
                "No action is needed. Neutron has kept the segmenthostmappings row of an earlier host with this name, "
                "and uses it again as soon as the chassis has the new hostname."
            ),
            "row-soft-deleted": Remedy(
                "No action is needed, because this row is soft-deleted. SG113 reports the old evacuation records of "
                "this name."
            ),
        },
    ),
    Code(
        "SG311",
        "database-access",
        BLOCKER,
        "The database user lacks a grant, or the database cannot be reached.",
        overridden_by="the finding's object",
        do="""
            All `GRANT` statements: [grants](../reference/grants.md).
        """,
        why="""
            Without a privilege, the database refuses a statement, and a rename stops halfway. Before a rename, the
            statements are tried on no row, and rolled back. In an audit, the object is the part that was not read
            (`cell:NAME` is a cell, `cell:NAME:instances` its instances), and the evidence has the reason: a refused
            login, a mistyped URL, a missing privilege.
        """,
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
        do="""
            If the evidence names `OS_DEFAULT__HOST`, remove it from nova-compute's unit (`systemctl edit
            nova-compute`): it takes precedence over every file. For cloud-init, in a file in `/etc/cloud/cloud.cfg.d`:

                manage_etc_hosts: false
                preserve_hostname: true
        """,
        why="""
            A service that reads such a line uses the old name again after its next start. Live migrations to the host
            fail once DNS no longer has the name in an option such as `live_migration_inbound_addr` (its value is never
            shown). At a boot, cloud-init can write the old name into `/etc/hosts`: libvirt then uses it, and
            nova-compute refuses to start. A blocker: a `host` line that the run cannot edit, or `OS_DEFAULT__HOST`.
        """,
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
            "An override is safe for cinder-volume with `backend_host` set, and where only old data on disk of a "
            "service was found that is no longer there."
        ),
        do="""
            If you can, move the service to another machine before the rename.
        """,
        why="""
            A rename changes the name in Nova, placement, neutron and the operating system. These services take their
            own name from it at their next start, possibly months later: a Ceph OSD moves to another CRUSH bucket,
            volumes and shares have no service, a cluster member starts empty, starts as a new one, or is fenced.
            `consequence` in the evidence says which. Without the host's new name in a failover segment, Masakari
            rejects its notifications and no longer evacuates it, without an error. Warnings are: cephadm and Ceph
            daemons other than OSD and monitor, cinder-backup, Masakari, ceilometer, Cyborg, FreeIPA, Puppet, Salt,
            Chef, Consul.
        """,
        remedies={
            "ceph-osd": Remedy(
                "Either move the OSDs to other hosts before the rename, or set osd_crush_update_on_start=false before "
                "the rename, and give the host's CRUSH bucket the new host name during the rename (ceph osd crush "
                "rename-bucket). If cephadm manages the host, remove the host from cephadm, and add it again under the "
                "new name."
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
                "Restart the service after the rename. In a container, recreate the container instead, because a "
                "restarted one keeps the old host name. Before you restart or recreate it, correct the option host in "
                "the configuration of the service, if this option is set."
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
        why="""
            With TLS, live migrations and consoles connect to the host by name, and fail if its certificate lacks the
            new name; a wildcard that covers it is enough. Looked at is the first certificate of each file in
            `/etc/pki/libvirt*`, `/etc/pki/qemu` and `/etc/kolla/nova-*`, and of the files that `libvirtd.conf`,
            `qemu.conf` and `nova.conf` name. Private keys stay on the host.
        """,
        remedies={
            "certificate-without-new-name": Remedy(
                "Before the rename, request a new certificate that contains both {new} and the old name, and install "
                "it on the host."
            ),
        },
    ),
    Code(
        "SG315",
        "queue-of-new-name",
        BLOCKER,
        "The message queue of the new host name holds requests, or has a consumer.",
        overridden_by="the queue's name",
        do="""
            On a RabbitMQ node, with `-p VHOST` if the cell has its own virtual host:

                rabbitmqctl list_queues name messages consumers | grep -E '^compute(-alt)?\\.cn-rack7\\.example\\s'
        """,
        why="""
            At its first start under the new name, nova-compute executes what waits in `compute.NAME`, and from Nova 33
            on in `compute-alt.NAME`. In the lab, old requests for an earlier host of the name suspended, shelved and
            stopped running guests. A consumer means that another nova-compute runs under this name.
        """,
        remedies={
            "name-in-use": Remedy(
                "Find the host whose nova-compute already uses the new name, and stop nova-compute on that host. Or "
                "choose another name."
            ),
            "messages-left": Remedy(
                "Run rabbitmqctl delete_queue {queue} to delete the queue with its messages, which are requests for an "
                "earlier host with the same name.",
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
        override=("The rename then runs as it does without access to RabbitMQ."),
        do="""
            To see `transport_url` of the host's cell, on a controller (the output contains passwords):

                nova-manage cell_v2 list_cells --verbose

            Its user needs the permissions `read` and `configure` on the queues; Nova's own user has them.
        """,
        why="""
            Without the queues, nobody notices that a request is lost or executed late. If the host's queue is missing
            or has no consumer, nova-compute does not run, or this is another cell's RabbitMQ or virtual host. Other
            causes, in the evidence: a refused login, a missing Python library. If `stackguard_rabbit_urls` is not set,
            a RabbitMQ that was not read is only `unchecked`.
        """,
        remedies={
            "no-consumer": Remedy(
                "If nova-compute does not run on the host, start nova-compute. If nova-compute already runs, set "
                "stackguard_rabbit_urls to the transport_url of the host's cell. To rename the host without a check of "
                "the queues, override SG316 for the host.",
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
            "None helps before a rename in place, which cannot be planned without these facts. With `rename_strategy: "
            "drain`, the run then looks for the chassis only in neutron's list of agents, and a note in the plan says "
            "so; override it for a host without Open vSwitch and OVN. A return then goes on without a check of the "
            "ports in OVN."
        ),
        do="""
            Set both connections to the values in neutron's `ml2_conf.ini`, section `[ovn]`. Of a cluster, list every
            member: the run needs the leader.

                ovn_nb_connection: tcp:192.0.2.11:6641,tcp:192.0.2.12:6641,tcp:192.0.2.13:6641
                ovn_sb_connection: tcp:192.0.2.11:6642,tcp:192.0.2.12:6642,tcp:192.0.2.13:6642

            For `ssl:`, also set `ovn_private_key`, `ovn_certificate` and `ovn_ca_cert` to files on the Ansible
            controller. There, run `pip install 'ovsdbapp>=2.0'`. Neutron's database needs its
            [grants](../reference/grants.md). If neutron shows an OVN Controller agent whose chassis is missing,
            `ovn_sb_connection` may be another cloud's. `ovn-sbctl chassis-del NAME` removes a chassis.
        """,
        why="""
            A rename in place first changes the ports in the northbound database, and OVN releases a port at once that
            requests a hostname that no chassis has: its guest loses its network. So the run reads both databases, and
            begins only if ovn-northd processes a test change (it increments `nb_cfg`, as neutron does) within 20
            seconds; otherwise ovn-northd is paused, stopped or overloaded. OVN before 22.03 is refused: it does not
            show which chassis a port requests. A rename by drain only verifies the chassis afterwards: it needs neither
            neutron's database nor the port bindings.

            A host has OVN if neutron shows an OVN agent of it, if a chassis has its name or system-id, or if
            `external_ids` has `ovn-remote`, or a system-id with `ovn-encap-*`. Neutron shows no agent if its workers
            receive no events from OVN. If `external_ids` were not read, a host counts as one without OVN only if
            neutron shows a live Open vSwitch, Linux bridge or Macvtap agent of it, or if no ovs-vswitchd runs. In an
            audit the finding is a warning, and undecided codes are `unchecked`.
        """,
        remedies={
            "chassis-unread": Remedy("Make sure that the run can read OVN's databases."),
            "ovn-without-agents": Remedy(
                "Compare openstack network agent list with ovn-sbctl list Chassis: neutron must show an OVN agent "
                "whose host field is exactly Nova's host name. If the host no longer uses OVN, remove OVN's keys from "
                "external_ids of Open vSwitch, and remove the host's chassis from the southbound database. Then run "
                "the same command again.",
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
                "the host under this name. Then run the same command again: the host must have one name everywhere in "
                "OVN."
            ),
            "returning-host-with-ovn-unread": Remedy(
                "Make OVN's databases answer, then run the same command again: the chassis of the returning host may "
                "claim ports of guests on other hosts."
            ),
            "drained-host-undecided": Remedy(
                "Make external_ids of Open vSwitch readable on the host, then run the same command again. If the host "
                "has "
                "no Open vSwitch and no OVN, override this finding."
            ),
            "rename-unread": Remedy(
                "Fix the cause that the evidence shows, then run the same command again. The run needs neutron's "
                "database and both databases of OVN."
            ),
            "drain-unread": Remedy("Fix the cause that the evidence shows, then run the same command again."),
        },
    ),
    Code(
        "SG318",
        "ovn-chassis",
        BLOCKER,
        "The host has no OVN chassis, or its chassis is not unique.",
        override=(
            "None helps before a rename, which needs exactly one chassis. In an audit, `object`: the finding's object."
        ),
        do="""
            Compare the system-id of Open vSwitch with the chassis:

                ovs-vsctl get Open_vSwitch . external_ids
                ovn-sbctl --columns=name,hostname list Chassis
        """,
        why="""
            Neutron binds ports to the chassis whose hostname is the host's name in Nova; of two with one hostname, it
            may take either. A chassis is named after the system-id of its host's Open vSwitch. If the two differ, the
            chassis may be another host's, and the run could change the wrong one; or the host has a second
            ovn-controller, or its system-id was changed. After a rename in place, a warning: OVN made the row of the
            chassis again, because someone stopped and started ovn-controller. Before a return, too: a deleted chassis
            is there again as soon as ovn-controller starts.
        """,
        remedies={
            "hostname-shared": Remedy(
                _DEAD_CHASSIS,
                acts=(
                    Act((DELETION,), "two chassis have one hostname", ("OVN's databases", PEOPLE), _DELETED_CHASSIS),
                ),
            ),
            "not-registered": Remedy(
                "Read the log of ovn-controller on this host: it has not registered under the host's system-id."
            ),
            "renamed-hostname-of-other-chassis": Remedy(
                "Find out which chassis belongs to this host (ovs-vsctl get Open_vSwitch . external_ids, ovn-sbctl "
                "list Chassis). Delete every chassis that has this host's hostname but does not belong to this host "
                "(openstack network agent delete NAME).",
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
                "Choose another host name: a chassis of another host already has this name."
            ),
            "chassis-lost-in-rename": _ROLL_BACK_OVN,
            "chassis-made-again": Remedy(
                "Check the networks of the guests: the ports of the host had no chassis while ovn-controller was "
                "stopped."
            ),
            "hostname-not-set-after-drain": Remedy(
                "Set external_ids:hostname of Open vSwitch on the host to {new}. " + _REPAIR_OVN
            ),
            "tunnel-changed-during-drain": Remedy(
                "Restore the tunnel endpoints of the chassis (external_ids:ovn-encap-ip, ovn-encap-type). "
                + _REPAIR_OVN
            ),
            "system-id-changed-during-drain": Remedy(
                "Restore the old system-id of Open vSwitch on the host, which a deployment tool may have changed. "
                + _REPAIR_OVN
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
        why="""
            kolla-ansible derives the system-id (`openvswitch_system_id`) from `ansible_facts.hostname`, and writes it
            at every run. A rename keeps it; the next run of kolla-ansible writes another one. When ovn-controller
            restarts, it tries to register as a second chassis with the same tunnel address, and all its transactions
            fail: guests keep their network, but OVN binds no new port. It blocks a rename only; elsewhere it is a
            warning.
        """,
        remedies={
            "system-id-is-a-host-name": Remedy(
                "Before you rename this host, set the current system-id of its Open vSwitch in the deployment tool's "
                "variables."
            ),
            "system-id-from-name": Remedy(
                "Set the system-id in the deployment tool's variables for this host (kolla-ansible: "
                "openvswitch_system_id: {system_id}, openvswitch_hostname: {new}), then override this finding."
            ),
        },
    ),
    Code(
        "SG320",
        "ovn-hostname-rewritten",
        BLOCKER,
        "At the next boot, Open vSwitch would overwrite the hostname of the chassis.",
        overridden_by="the finding's object",
        do="""
            The unit is `ovs-record-hostname.service`. With Open vSwitch before 2.15, masking it does not help: ovs-ctl
            itself writes the hostname at every start. Correct the first name on the host's line in `/etc/hosts`, or its
            name in DNS.
        """,
        why="""
            Open vSwitch before 3.2 (Debian 12 has 3.1; an unknown version counts as old) writes `hostname -f` into
            `external_ids:hostname` at every boot. If that is not the host's new name in Nova, OVN releases all ports of
            the host at the next reboot. A key `hostname-SYSTEM_ID` in `external_ids` takes precedence: with it, there
            is no finding.
        """,
        remedies={
            "unit-writes-hostname": Remedy(
                "Mask the unit (systemctl mask {unit}), or correct /etc/hosts or DNS so that the output of hostname -f "
                "is {new}."
            ),
        },
    ),
    Code(
        "SG321",
        "ovn-hostname",
        BLOCKER,
        "The hostname of the chassis differs from the host's name in Nova.",
        override=(
            "None helps before a rename, which cannot be planned while the names differ. In an audit, `object`: the "
            "finding's object."
        ),
        do="""
            First verify that no port requests the present hostname, because OVN would release it
            (`ovn-nbctl find Logical_Switch_Port options:requested-chassis=PRESENT` shows none). Then:

                ovs-vsctl set Open_vSwitch . external_ids:hostname=HOST

            Correct the deployment tool's variable, too (kolla-ansible: `openvswitch_hostname`).
        """,
        why="""
            Neutron binds a port only to a chassis whose hostname is exactly the host's name in Nova. While it differs,
            such as a full name from a short one, no new port can be bound.
        """,
        remedies={
            "hostname-not-novas": Remedy("Set external_ids:hostname of Open vSwitch to {host}."),
            "renamed-chassis-with-another-hostname": Remedy(
                "Before the rename, set external_ids:hostname of Open vSwitch to exactly the name that Nova uses for "
                "the host: its full and its short name are two names."
            ),
        },
    ),
    Code(
        "SG322",
        "ovn-half-rename",
        BLOCKER,
        "A port requests a chassis that does not exist, or still requests the old hostname.",
        override=("The check after a rename accepts none. Otherwise `object`: the finding's object."),
        do="""
            To bind a port: `openstack port set --host HOST PORT`. An open rename: resume it or [roll it
            back](../guides/recovery.md).
        """,
        why="""
            A port that requests a chassis that does not exist is bound to none, and its guest has no network. A rename
            is unfinished, or a host was removed. If a port requests several chassis, one that is missing is enough.
            Router and virtual ports are not bound by the host's name: after a rename in place they are a warning, after
            a drain they are ignored.
        """,
        remedies={
            "requested-chassis-missing": Remedy(
                "Run rename_host with rename_action=status for the host, because a rename may be unfinished. If no "
                "rename is open, bind the port to a host that has a chassis."
            ),
            "chassis-with-old-name": _ROLL_BACK_OVN,
            "port-of-unbound-type-with-old-name": Remedy(
                "No action is needed: neutron writes the new name when it next updates the port."
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
        why="""
            In OVN, a tunnel address belongs to one chassis. While another chassis has the host's, its ovn-controller
            cannot register. Usually a host was replaced, and its old chassis was not deleted.
        """,
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
                "network agent delete {chassis}.",
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
                "network agent delete {chassis}.",
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
        do="""
            Never run `neutron-ovn-db-sync-util` with the mode `repair` during a rename.
        """,
        why="""
            If a port was broken before the rename, nobody can tell afterwards whether the rename damaged it. Where
            neutron's API, its database and OVN show different ports of the host, one of them is wrong, and the next
            update of a port could disconnect it. Before a drain: a port that requests the host in OVN without being on
            it in the network API does not follow its guest, and neither does one that requests the new name already.
            After a rename, a warning: the port requests the right chassis, but is not plugged there.
        """,
        remedies={
            "port-unsettled": Remedy(
                "If the port's server is migrating, wait until the migration ends. Otherwise repair the port. Then run "
                "the same command again."
            ),
            "sources-differ": Remedy(
                "Run the same command again: the port may have changed meanwhile. If the finding appears again, "
                "compare neutron's database with OVN's databases (neutron-ovn-db-sync-util --ovn-neutron_sync_mode "
                "log)."
            ),
            "gateway-changed": Remedy(
                "Check which routers use this chassis as a gateway: during the rename it became a gateway chassis, or "
                "lost this role."
            ),
            "not-plugged": Remedy(
                "Check the guest that uses the port: its interface is not plugged on the host, for example because the "
                "guest stopped."
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
            "The run then tries to write the hostname, and stops if it cannot. The guests keep their network, and the "
            "rename can be rolled back."
        ),
        do="""
            `ovn-sbctl list Connection` shows the ports of the southbound database, and the role of each.
        """,
        why="""
            With `role=ovn-controller`, ovn-controller is not allowed to change the hostname of its chassis. As soon as
            the hostname changes in Open vSwitch, all its transactions fail, and OVN binds no new port until somebody
            writes the hostname into the chassis row. The run does that, and needs a connection without the role.
        """,
        remedies={
            "southbound-port-with-role": Remedy(
                "Set ovn_sb_connection to a southbound database port that has no role, or to the database's unix "
                "socket."
            ),
        },
    ),
    Code(
        "SG326",
        "ovn-port-updated",
        WARNING,
        "During the rename, neutron wrote a wrong host name for a port into OVN, and the run replaced this host name.",
        why="""
            At each update of a port, neutron writes the host name of its own database into OVN. For a moment of a
            rename in place, that is not the hostname of the chassis, and OVN would release the port. The run watches
            the northbound database and corrects such a port at once. The evidence has how often, and for how many
            milliseconds the port had no chassis: 0 means that OVN never released it.
        """,
        remedies={
            "corrected": Remedy(
                "Inform the owner of the port if the network of the port was interrupted. The port needs no repair."
            ),
        },
    ),
    Code(
        "SG327",
        "ovn-not-proven",
        BLOCKER,
        "An in-place rename with OVN has not been tested with hardware ports (SR-IOV), trunks or a second L2 agent.",
        overridden_by="the port's uuid",
        override=("None for a second L2 agent."),
        why="""
            SR-IOV and other hardware ports (`vnic_type` other than `normal`), trunks, and a second L2 agent beside OVN
            store the host's name in more places. A virtual port, whose address several guests share, is only a warning.
            Ports on routed networks are [SG306](SG306.md).
        """,
        remedies={
            "l2-agent-beside-ovn": Remedy("Use rename_strategy=drain."),
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
        do="""
            `evacuate_remove_chassis=true` lets an [evacuation](../guides/evacuate.md) delete the chassis at its end. It
            needs both OVN connections and `evacuate_fence=power`, because only this fence proves that the machine is
            off; that the machine cannot reach the storage proves nothing. A later run, of a host without servers, only
            reports the chassis. If the run kept it, see `not removed` in the evidence:

            | `not removed` has | do |
            |---|---|
            | `the power state was read as On` | find out who switched it on: it registers its chassis again |
            | `these ports are bound to the chassis` | bind each listed port to the host of its server |
            | `the chassis is a gateway chassis` | remove it from the gateways of the routers |
            | `chassis with the hostname` | find out which one is the dead machine's: another may have the host's name |
            | `the database of another cloud` | compare `ovn_sb_connection` with `[ovn]` of neutron's configuration |
            | `no OVN controller agent` | `openstack network agent list --host HOST` must show it to the run's user |
            | `as alive` | if the machine is off, wait until neutron shows the agents as dead |
            | `no longer forced down`, `still shows these servers` | the host is in use again: keep the chassis |
            | `neutron did not delete the agent` | fix the cause that neutron reports |
            | `a new chassis` | is the machine on, or does another machine have the host's name? |
        """,
        why="""
            OVN keeps the chassis of a dead host for ever: the other hosts keep their tunnels to it, and neutron shows
            its agents as dead. A machine that replaces the host with the same tunnel address and another system-id
            cannot register ([SG323](SG323.md)). `alive` in the evidence is neutron's word; `null`: neutron has no agent
            of this chassis.
        """,
        remedies={
            "chassis-alive": Remedy(
                "Do not delete the chassis while neutron shows it as alive. Run this command every minute: openstack "
                "network agent list. Neutron checks its agents only when a user lists them, and needs about two "
                "minutes to notice a dead chassis. If it is still alive then, either the host is back, or another "
                "machine uses the host's name: find out which."
            ),
            "chassis-dead": Remedy(
                "If the host will not come back, verify that the machine is dead and that no port is bound to the "
                "chassis, then run: openstack network agent delete {chassis}. If the host will come back, keep the "
                "chassis: the host uses it again.",
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
            "`object`: the host's name, once you have looked yourself; the `reason` is what you saw. A request that "
            "was read and whose server is on another host is [SG330](SG330.md)."
        ),
        do="""
            1. Keep nova-compute of that name stopped: `systemctl mask nova-compute`.
            2. Give the playbook that reported it access to RabbitMQ, and run it again: `pip install 'amqp>=5.0'` on
               the Ansible controller, and `nova_api_db_url` (for `transport_url` in `cell_mappings`) or
               `stackguard_rabbit_urls`. Of a dead or evacuated host, [evacuate_host](../guides/evacuate.md) and
               [return_host](../guides/return.md) also remove what must not be executed. Evacuate nothing for this: a
               host that was only renamed [is adopted](../guides/already-renamed.md).
            3. Without access, look on a RabbitMQ node of the host's cell (with `-p VHOST` if the cell has its own).
               Delete only queues without consumers; every request in them is lost:

                   rabbitmqctl list_queues name messages consumers | grep -E '^compute(-alt)?\\.compute1\\s'
                   rabbitmqctl delete_queue compute.compute1
                   rabbitmqctl delete_queue compute-alt.compute1
        """,
        why="""
            nova-compute executes what waits in `compute.HOST` as soon as it starts under that name, wherever the
            servers are by then. A start that waits there makes a second QEMU on a disk that another host writes.
            Deleting the queue strands a server whose resize, rebuild or deletion waits in it. Most messages are events
            of neutron (`external_instance_event`): harmless, and they never hold a run up.

            A blocker is a request that the run does not understand or whose server it cannot place, and a return
            without a look into RabbitMQ. Messages that were only counted are a warning. A request for a server that is
            on the host is only information, and so is, in an audit, that an override passed the host's last return. A
            RabbitMQ counts as read only if the queue of another nova-compute of the same cell has a consumer there.
            Queues of a name that no compute service has or had show only in `rabbitmqctl list_queues`.
        """,
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
                "and this evacuation does not move the server. Ask whether the owner still needs the server. One that "
                "is being resized or migrated stays on the host that Nova shows until the resize ends or fails."
            ),
        },
    ),
    Code(
        "SG330",
        "request-for-elsewhere",
        BLOCKER,
        "A request waits for this host's name, but its server is elsewhere: the next start here would execute it.",
        absolute=True,
        do="""
            Keep nova-compute of this name stopped, see `why it is left` in the evidence, then run the same command
            again: it reads the queue again.

            - `without this request, the server could be stranded or lost`: first finish the server's resize, rebuild or
              migration, or ask the owner.
            - `another request in the queues is of a kind that the run does not know`: nothing is removed then.
            - A deletion: ask the owner. After `openstack server delete UUID`, the run removes the request.

            If no waiting request may be executed, delete the queue on a RabbitMQ node:

                rabbitmqctl delete_queue compute.compute1
        """,
        why="""
            At its start under this name, nova-compute executes the request before Nova looks where the server is now;
            `late` in the evidence says what it does then. evacuate_host and return_host read `compute.HOST` and
            `compute-alt.HOST` after the fence, and ask Nova at that moment where each server is; the adoption of a
            renamed host reads them before it starts.
        """,
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
    Code(
        "SG331",
        "removed-host-left",
        WARNING,
        "A compute host is gone, or was not seen, and some of its records are still there.",
        overridden_by="the host's name",
        do="""
            [remove_host](../guides/remove.md) removes what is left, place by place, and names what it cannot remove.
            `left in` in the evidence has the places. Remove nothing before somebody has seen that the machine is off,
            wiped or gone: an entry of Ceph's blocklist and the `compute_id` file are what keeps a machine that comes
            back from its old disks and from its old identity. By hand:

            | left in | removed by |
            |---|---|
            | `compute service`, `compute node` | `openstack compute service delete ID`, once SG201 to SG207 are gone |
            | `host mapping` | `nova-manage cell_v2 delete_host` |
            | `aggregates` | `openstack aggregate remove host`; without a host mapping, Nova answers 404 |
            | `resource providers` | each consumer's part first, then the provider |
            | `network agents`, `chassis of OVN` | `openstack network agent delete ID`, once no port is bound there |
            | `queues` | `rabbitmqctl delete_queue compute.HOST`, once nobody misses its requests ([SG329](SG329.md)) |
            | `blocklist of Ceph` | `ceph osd blocklist rm`, last of all ([SG515](SG515.md)) |
            | `cinder-volume` | `cinder-manage service remove`, once no volume names it |
            | `hosts of Masakari` | `openstack segment host delete` |
        """,
        why="""
            What a host leaves bites months later, when another machine gets its name: the new one cannot register, it
            executes old requests, it is in the wrong zone at once, Ceph refuses its writes. Names are compared whole: a
            host whose name is part of another's is another host.

            Nova deletes a compute service's node by the id in the node's row: [with a wrong
            one](../guides/links.md), it deletes another host's.

            A host counts as gone if Nova has no compute service of its name, or one that is down while no host of the
            audit has the name. It has no servers then (a host with servers is to be evacuated), and no operation of
            this collection holds it. The finding stands for those of each single place ([SG302](SG302.md),
            [SG303](SG303.md), [SG305](SG305.md), [SG329](SG329.md), [SG515](SG515.md), [SG713](SG713.md)), and has the
            gravest of their severities. If Nova's rows of the host were archived (`nova-manage db
            archive_deleted_rows`), its resource provider is [SG713](SG713.md), unchecked: nothing tells whose it was.
        """,
        remedies={
            "left": Remedy(
                "Verify that the machine of {host} is off, wiped or gone: nothing that was read proves it. If another "
                "machine is to get the name {host}, delete each record in the evidence first: run the playbook "
                "stackguard.nova.remove_host, or follow the page of SG331.",
                acts=(
                    Act(
                        (DELETION,),
                        "no compute service has the name, and no cell has a server of it",
                        (SERVICES, CELLS, PEOPLE),
                        RECORD,
                    ),
                ),
            ),
            "service-down": Remedy(
                "Find out whether {host} is only off, or gone for good. If it comes back, add it to the inventory and "
                "leave its records as they are. If it is gone for good and its disks are wiped, delete each record: "
                "run the playbook stackguard.nova.remove_host.",
                acts=(
                    Act(
                        (DELETION,),
                        "the service is down, no cell has a server of the host, and its machine is gone for good",
                        (SERVICES, CELLS, PEOPLE),
                        "the service, and each compute node that links to it",
                    ),
                ),
            ),
            "similar-name": Remedy(
                "Find out whether the machine of {host} now has the similar name in the evidence. If it has, only the "
                "records of the old name are left: leave the machine, its blocklist entries and its compute_id file "
                "as they are."
            ),
            "alive": Remedy(
                "Find out which machine this is: services of the name {host} are alive (evidence). Remove nothing of "
                "it before."
            ),
        },
    ),
    Code(
        "SG332",
        "removal-not-safe",
        BLOCKER,
        "The host cannot be removed: Nova still needs it, or it is not known which host is meant.",
        absolute=True,
        why="""
            Nova loses the servers of a host whose compute service is deleted: a soft-deleted, shelved or building
            server, too, and one whose resize waits for its confirmation. So [remove_host](../guides/remove.md) counts
            the servers of every cell itself, by the host and by its compute nodes. MySQL takes `Compute1` and
            `compute1` for one name: what is deleted by name would be the other host's.
        """,
        remedies={
            "has-servers": Remedy(
                "Move, restore or delete these servers first: drain_host for a host that runs, evacuate_host for one "
                "that is dead. A soft-deleted server is deleted for good by Nova after [DEFAULT] "
                "reclaim_instance_interval, or, if its owner agrees, with openstack server delete --force UUID.",
                acts=(
                    Act(
                        (DELETION,),
                        "the host that is to be removed has servers",
                        (CELLS, PEOPLE),
                        "the servers, as their owners agree",
                    ),
                ),
            ),
            "another-spelling": Remedy(
                "Find out which of the names in the evidence is right, and correct the others (SG301, SG302, SG303). "
                "Then run the same command again."
            ),
            "unknown-name": Remedy(
                "Check remove_host: no cell has, or had, a compute service or a compute node with the name {host}, and "
                "nothing else that was read has it."
            ),
        },
    ),
)
