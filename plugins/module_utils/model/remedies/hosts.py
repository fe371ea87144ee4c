# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remedies about hosts, their guests and what the databases say of them, by code and state: see catalogue.py."""

from __future__ import annotations

from .remedy import (
    ADOPTION,
    CELLS,
    DELETION,
    EVERY_HOST,
    FORECAST,
    LINK,
    MIGRATIONS,
    NOTHING,
    NOVAS_HOST,
    PEOPLE,
    PROVIDERS,
    PURGE,
    QUEUED,
    REBOOT,
    RECORD,
    RUNNING_COPY,
    SERVICES,
    START,
    STOP,
    THIS_HOST,
    UPDATE,
    WATCHERS,
    Act,
    Remedies,
    Remedy,
)

# --- parts of several texts -----------------------------------------------------------------------------------

_LEAVE_STOPPED = (
    "Keep nova-compute stopped (systemctl mask nova-compute) until you know which value in the evidence is correct."
)
_STOPPED = "Keep nova-compute stopped."
_PART_UNREAD = Remedy(
    "Fix the cause that the evidence shows, then run the audit again. To skip a source on purpose, remove the source "
    "from audit_sources."
)
#: What to do with a copied compute_id file: it is in nobody's way once no guest can be on the host.
_COPY_MAY_HAVE_GUESTS = Remedy(
    "If {paths} on {host} is a copy of the file of another machine, first find out where the guests whose domains "
    "libvirt on {host} has belong. Do not stop, start or undefine these domains before you know it."
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
_ONLY_HERE = (
    "Find out whether the guest runs on {host} (virsh domstate {uuid}), because this domain may be the only copy of "
    "the guest. If {host} has no domain of the guest, leave this domain as it is, and follow the page of SG132."
)
_READ_FIRST = (
    "Make sure that the run can read libvirt on {hosts}, then run the same command again. Until then, leave the server "
    "as it is, because its guest may run on a host that the run could not read."
)
_LOCK = (
    "Lock the server (openstack server lock {uuid}), because Nova would send each request of its owner to a host that "
    "may not have the guest."
)
_PAGE = "Then choose a way out on the page of SG132."
_HANDS_OFF = Remedy(
    "Leave the server and nova-compute on its hosts as they are until SG132 of this server is decided and resolved."
)
_KNOW = Remedy(
    "Before the guest's next start, inform the owner that libvirt may give the guest's devices new addresses (for "
    "example new PCI addresses). To keep the guest's machine type, run nova-manage libvirt update_machine_type."
)
_HALF = Remedy(
    "Run rename_host with rename_action=status for the host, because a rename may be unfinished. If no rename is "
    "open, correct the name in the database or API that has the wrong name."
)
_DEAD_CHASSIS = "Delete the chassis whose host no longer exists: openstack network agent delete NAME."
_DELETED_CHASSIS = "a chassis; one of a living host comes back when ovn-controller starts"
_SERVICE_HEALS = Remedy(
    "Either start nova-compute on the node's host and wait until its periodic task update_available_resource has run "
    "twice, or repair service_id of the node.",
    acts=(Act((START, UPDATE), "service_id is empty or dangles", (SERVICES, FORECAST), LINK),),
)
_ID_HEALS = Remedy(
    "Start nova-compute on the instance's host and wait until its periodic task update_available_resource has run, or "
    "repair compute_id of the instance.",
    acts=(Act((START, UPDATE), "compute_id is empty or dangles", (CELLS, SERVICES, FORECAST), LINK),),
)
#: Of each code that repair_links repairs: what is right is certain, and what the link leads to changed meanwhile.
_REPAIR = Remedy("Run repair_links with repair_codes=[{codes}] to repair the link.")
_REPAIR_AGAIN = Remedy(
    "Run the repair again. The repaired link points to a compute service or compute node that changed during the "
    "commit."
)
_REPAIRS = {"repair-certain": _REPAIR, "target-changed-at-commit": _REPAIR_AGAIN}
_ON_NOVAS_HOST = "the guest executes on Nova's host, and no migration says that it left that host"
_OFF_HERE = "the guest executes on Nova's host, and the domain on this host is off"
_OFF_DEFINITION = "the definition of a domain that is off"
_SECOND_IDENTITY = "the second identity of the host; another host's, if the compute_id file is a copy"


REMEDIES: Remedies = {
    # --- SG1xx: who a host is, and whose domains it has
    "SG101": {
        "file-missing": Remedy(
            "Write the uuid of this host's compute node into the file compute_id in state_path (owner nova, mode 0644)."
        ),
    },
    "SG102": {
        "file-of-another-node": Remedy(
            _LEAVE_STOPPED + " If the host's instances prove that compute node {nodes} belongs to this host, write its "
            "uuid into {paths} on {host}."
        ),
        "copy-suspected": Remedy(_LEAVE_STOPPED),
        "copy-may-have-guests": _COPY_MAY_HAVE_GUESTS,
        "copy-without-guests": _COPY_WITHOUT_GUESTS,
        "copy-original-unseen": Remedy(
            "If this machine is the host {host} and got another name and another address, follow the section about a "
            "changed address in docs/guides/already-renamed.md."
        ),
    },
    "SG103": {
        "files-differ": Remedy(
            "Find the uuid of the host's compute node (compute_nodes.uuid), and write this uuid into all compute_id "
            "files of the host."
        ),
    },
    "SG104": {
        "file-unparsable": Remedy(
            "Write the uuid of this host's compute node (from compute_nodes) into {path}. Never create a new uuid."
        ),
    },
    "SG105": {
        "libvirt-name-differs": Remedy(
            _LEAVE_STOPPED + " Restore the host's old name, or rename the host with rename_host."
        ),
    },
    "SG106": {
        "conf-host-differs": Remedy(
            _LEAVE_STOPPED + " To keep the host's old name, set host= in nova.conf, or restore the machine's old host "
            "name. To give the host the new name, use rename_host."
        ),
        "service-of-similar-name": Remedy(
            _LEAVE_STOPPED + " Correct the host name before you start nova-compute. If nova-compute starts with the "
            "wrong host name, nova-compute creates a second compute service under the wrong host name."
        ),
    },
    "SG107": {
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
            "Leave {keeps} as it is, because the compute node with this compute_id has its names. Keep nova-compute "
            "stopped on {copies} (systemctl mask nova-compute)."
        ),
        "copy-on-host-with-node": Remedy(
            "If the instances of {host} prove that compute node {node} belongs to it, write this uuid into {paths} on "
            "{host}."
        ),
        "copy-may-have-guests": _COPY_MAY_HAVE_GUESTS,
        "copy-without-guests": _COPY_WITHOUT_GUESTS,
    },
    "SG108": {
        "guest-on-novas-host": Remedy(
            _STOPPED + " Destroy the domain on this host, because the guest runs on {host}, the host that Nova shows. "
            "The guest's disks stay in Ceph.",
            acts=(Act((STOP,), _ON_NOVAS_HOST, (THIS_HOST, NOVAS_HOST, MIGRATIONS), RUNNING_COPY),),
        ),
        "guest-unseen-on-novas-host": Remedy(_STOPPED + " " + _ONLY_HERE),
        "stray-off": Remedy(
            "On {host}, verify that the domain is off (virsh domstate {uuid}), then remove its definition (virsh "
            "undefine --keep-nvram {uuid}). The guest itself runs on {home}.",
            acts=(Act((DELETION,), _OFF_HERE, (THIS_HOST, NOVAS_HOST, MIGRATIONS), _OFF_DEFINITION),),
        ),
        "stray-hidden-from-libvirt": Remedy(
            "Check the watchers of the disks (rbd status) before anything else, because two hosts may write to the "
            "disks of this instance. On {host}, find out why libvirt does not show the QEMU process (pgrep -af "
            "{uuid}), then end this process. The guest also runs on {home}, the host that Nova shows.",
            acts=(Act((STOP,), _ON_NOVAS_HOST, (THIS_HOST, NOVAS_HOST, MIGRATIONS), RUNNING_COPY),),
        ),
        "stray-alive": Remedy(
            "Check the watchers of the disks (rbd status) before anything else, because two hosts may write to the "
            "disks of this instance. Then stop the domain on {host} (virsh destroy {uuid}). The guest also runs on "
            "{home}, the host that Nova shows.",
            acts=(Act((STOP,), _ON_NOVAS_HOST, (THIS_HOST, NOVAS_HOST, MIGRATIONS), RUNNING_COPY),),
        ),
        "place-undecided": _HANDS_OFF,
    },
    "SG109": {
        "hosts-unread": Remedy(_READ_FIRST),
        "disks-closed": Remedy(
            "Find out in nova-compute's log why the domain is gone, then start the server again (openstack server "
            "reboot --hard SERVER). No compute host has a domain of the server, and no Ceph client has the server's "
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
            "Run rbd status for each disk of the server to see whether a client has the disk open. Then find out in "
            "nova-compute's log why the domain is gone. No compute host has a domain of the server."
        ),
        "place-undecided": _HANDS_OFF,
    },
    "SG110": {
        "domain-without-instance": Remedy(
            "Find out who owns the domain, then move the domain to another machine or undefine it. Nova does not "
            "manage this domain, and does not count the domain's resources."
        ),
    },
    "SG112": {
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
    },
    "SG113": {
        "evacuated-domain-here": Remedy(
            _LEAVE_STOPPED + " If the instance is on this host, set the status of the instance's evacuation record to "
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
            _STOPPED + " Before you start nova-compute, set the status of the evacuation record to completed, because "
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
            "Save the data you need from the server's disks before nova-compute starts. The owner deleted the server, "
            "but the deletion did not finish. At its next start, nova-compute finishes the deletion and deletes the "
            "disks."
        ),
        "node-orphaned": Remedy(_LEAVE_STOPPED + " Restore the host's old name."),
        "place-undecided": _HANDS_OFF,
    },
    "SG114": {
        "host-unreachable": Remedy("Make {host} reachable for Ansible, then run the same command again."),
        "identity-unread": Remedy(
            "Fix the causes that the evidence shows (permissions, python3-libvirt, paths), then run the same command "
            "again."
        ),
        "part-unread": _PART_UNREAD,
    },
    "SG115": {
        "driver-unsupported": Remedy(
            "Leave this host out of the run, because the collection supports only compute hosts with libvirt."
        ),
    },
    "SG116": {
        "service-without-node": Remedy(
            "Check whether the host of this compute service has a compute node under another name, because a rename "
            "may be unfinished. If the host has no compute node under any name, start nova-compute on the host.",
            acts=(Act((START,), "the service has no node", (SERVICES, FORECAST), NOTHING),),
        ),
    },
    "SG117": {
        "host-unmapped": Remedy("Run nova-manage cell_v2 discover_hosts --by-service."),
    },
    "SG119": {
        "guests-without-service": Remedy(
            _LEAVE_STOPPED + " The host has guests but no compute service. Find out whether someone renamed the host "
            "or deleted its compute service."
        ),
        "no-guests-no-service": Remedy(
            "Start nova-compute and map the host, or remove the host from the inventory group.",
            acts=(Act((START,), "the host has no guests and no service", (SERVICES, THIS_HOST, FORECAST), NOTHING),),
        ),
        "repair-host-unknown": Remedy(
            "Set repair_hosts to host names of compute services (column Host of openstack compute service list) or to "
            "names of compute nodes."
        ),
    },
    "SG121": {
        "request-left": Remedy(
            "Ask the owner to send the request again. No nova-compute will execute the request in the queue."
        ),
        "request-of-known-server": Remedy("To see the request: openstack server event show {uuid} {request}"),
    },
    "SG126": {
        "container-name-stale": Remedy(
            "Check the host's name before you recreate the container, because {program} uses the host name {name} in "
            "the new container. If {name} is wrong, restore the host's name {old} (hostnamectl). If {name} is correct, "
            "see docs/guides/deployments.md."
        ),
    },
    "SG127": {
        "guest-in-container": Remedy(
            "Do not stop, restart or recreate the libvirt container, because each of these actions kills the guest. "
            "Migrate the guest to another host first. Then give the container the control groups of the host "
            "(--cgroupns host and /sys/fs/cgroup), so that libvirt creates a separate control group for each guest."
        ),
        "unknown-process-in-container": Remedy(
            "Find out who started this QEMU process. Neither Nova nor libvirt shows the guest of this process on this "
            "host. Until you know the purpose of this QEMU process, do not stop the container (see the evidence), "
            "because the QEMU process ends when the container stops."
        ),
    },
    "SG128": {
        "configuration-changed": Remedy(
            "Find out what changed in the file, and restart nova-compute if the new values are correct. Until you "
            "restart nova-compute, nova-compute uses the old values, but the collection reads the new values.",
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
    "SG129": {
        "file-immutable": Remedy(
            "Run chattr -i {path} before you change or remove the file. If a kolla container copies its compute_id "
            "file to {path}, run chattr -i {path} now: the container cannot start with an immutable copy. For a file "
            "outside a kolla container, no action is needed if a deployment tool made the file immutable and the file "
            "contains the correct uuid."
        ),
    },
    "SG131": {
        "two-names": Remedy(
            "Run rename_host with -e '{options} rename_action=adopt'. With rename_adopt=forward, the host gets the "
            "name {forward} in every place. With rename_adopt=back, the host gets the name {back} in every place. Keep "
            "nova-compute stopped until rename_host has finished (systemctl mask nova-compute). Do not evacuate this "
            "host, because its guests may still run.",
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
            "Decide on an old name and a new name for this host, because the evidence shows more than two names. If a "
            "place on the host or in Nova's databases contains a third name, replace the third name with the old name "
            "or the new name. Then run rename_host with rename_action=adopt. Keep nova-compute stopped until "
            "rename_host has finished (systemctl mask nova-compute). Do not evacuate this host.",
            acts=(
                Act((ADOPTION,), "the host has more than two names", (SERVICES, THIS_HOST, PEOPLE), _SECOND_IDENTITY),
            ),
        ),
    },
    "SG132": {
        "hosts-unread": Remedy(_READ_FIRST + " " + _LOCK),
        "runs-several-times": Remedy(
            _LOCK + " Ask the owner which copy of the guest has the right data: QEMU processes of the server run on "
            "{hosts}, and each of them can write to the server's disks. " + _PAGE
        ),
        "runs-elsewhere": Remedy(
            _LOCK + " The only QEMU process of the server runs on {host}, but Nova shows the server on {home}. Leave "
            "the domain on {host} as it is. " + _PAGE
        ),
        "off-elsewhere": Remedy(
            _LOCK + " Find out which host has the server's disks: the server is off, Nova shows the server on {home}, "
            "and its domain is defined on {hosts}. " + _PAGE
        ),
        "no-domain": Remedy(
            _LOCK + " Find out whether {home} or {went} has the server's disks: Nova shows the server on {home}, its "
            "last migration went to {went}, and no host has a domain of the server. " + _PAGE
        ),
    },
    # --- SG2xx: links between the rows of the databases
    "SG201": {"link-wrong": _SERVICE_HEALS, **_REPAIRS},
    "SG202": {"link-wrong": _SERVICE_HEALS, **_REPAIRS},
    "SG203": {
        "link-wrong": Remedy(
            "Repair service_id of the compute node. Until the repair is finished, do not delete the compute service of "
            "the host, and do not delete the service that service_id points to. The compute node belongs to the host "
            "whose compute_id file contains the uuid of the compute node.",
            acts=(Act((UPDATE,), "the link is wrong", (SERVICES,), LINK),),
        ),
        **_REPAIRS,
    },
    "SG204": {
        "link-wrong": Remedy(
            "Find out which host name nova-compute on this host uses now. If nova-compute uses the host name of the "
            "compute node, start nova-compute. If nova-compute uses a different host name, an earlier rename may be "
            "unfinished. To finish it, run the playbook stackguard.nova.rename_host.",
            acts=(Act((START,), "the node's host has no service", (SERVICES, FORECAST), NOTHING),),
        ),
    },
    "SG205": {
        "link-wrong": Remedy(
            "Keep the node whose uuid is in the host's compute_id file. Reassign the allocations, then the instances, "
            "then the PCI devices of the duplicate node to the node that you keep. Then delete the duplicate node.",
            acts=(
                Act(
                    (UPDATE, DELETION),
                    "a node is a duplicate, and its allocations, instances and devices are reassigned",
                    (SERVICES, PROVIDERS, CELLS, PEOPLE),
                    "the duplicate node",
                ),
            ),
        ),
    },
    "SG206": {
        "link-wrong": Remedy(
            "Follow the remedy of SG102 for the compute_id file, and the remedy of SG112 for the resource provider."
        ),
    },
    "SG207": {
        "link-wrong": Remedy(
            "Repair compute_id of the instances that point to this node (SG213).",
            acts=(Act((UPDATE,), "the link is wrong", (CELLS,), LINK),),
        ),
    },
    "SG211": {"link-wrong": _ID_HEALS, **_REPAIRS},
    "SG212": {"link-wrong": _ID_HEALS, **_REPAIRS},
    "SG213": {"link-wrong": _ID_HEALS, **_REPAIRS},
    "SG214": {
        "link-wrong": Remedy(
            "Find out where the instance's domain runs. Until you have repaired the instance's row, keep nova-compute "
            "stopped on the host that instances.host shows."
        ),
        **_REPAIRS,
    },
    "SG215": {
        "link-wrong": Remedy(
            "Remove node and compute_id from the instance's row, because an instance without a host belongs to no "
            "node.",
            acts=(Act((UPDATE,), "the instance has no host", (CELLS,), LINK),),
        ),
        **_REPAIRS,
    },
    "SG216": {
        "link-wrong": Remedy(
            "Find out where the instance's domain runs (SG301). Either a rename did not finish, or someone deleted the "
            "compute node of the instance."
        ),
    },
    "SG217": {
        "link-wrong": Remedy(
            "Find the host name in the instance's row, and look for the instance's domain on that host. If the host "
            "has no domain of the instance, remove the host name from the row. If the host has a domain of the "
            "instance, keep the host name in the row, because Nova did not remove (offload) the shelved instance from "
            "the host.",
            acts=(
                Act(
                    (UPDATE,),
                    "the shelved instance has no domain on its host",
                    (CELLS, PEOPLE),
                    "where Nova looks for the instance",
                ),
            ),
        ),
    },
    "SG221": {
        "link-wrong": Remedy(
            "Wait until the migration ends, or confirm or revert the migration. Then repair dest_compute_id of the "
            "migration."
        ),
        **_REPAIRS,
    },
    "SG231": {
        "link-wrong": Remedy(
            "In the table pci_devices, find the other row of this PCI device, which contains the id of the host's "
            "existing compute node. Free the device in this other row. The row in the finding belongs to a "
            "soft-deleted compute node. Archive the row of the soft-deleted compute node in the table compute_nodes "
            "only after you have freed the device.",
            acts=(
                Act(
                    (PURGE,),
                    "the device is claimed by a row of a deleted node, and freed in the other row",
                    (CELLS, SERVICES),
                    RECORD,
                ),
            ),
        ),
    },
    # --- SG3xx: names of a host, wherever they are stored
    "SG301": {"half-renamed": _HALF},
    "SG302": {
        "cell-wrong": Remedy(
            "Delete the mapping (nova-manage cell_v2 delete_host). Then map the host to the cell that has the host's "
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
            "If no compute host has this name, delete the mapping: nova-manage cell_v2 delete_host --host {host}. If a "
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
    },
    "SG303": {
        "database-and-api-differ": Remedy(
            "Run the same command again. If the database and the API still show different hosts, check that the API "
            "database and the compute API belong to the same cloud."
        ),
        "member-of-no-service": Remedy(
            "Remove the stale name from the aggregate. If the host was renamed, add the current name of the host to "
            "the aggregate. The aggregate's zone and filters apply only to hosts whose current name is in the "
            "aggregate."
        ),
    },
    "SG304": {
        "child-misnamed": Remedy(
            "Stop nova-compute, and rename the child provider so that its name begins with the name of the compute "
            "node."
        ),
    },
    "SG305": {
        "agent-dead-or-misnamed": Remedy(
            "If the agent is not alive, start the agent. If the finding shows two host names, correct host= in the "
            "agent's configuration. Neutron binds a port to a host only if a live agent has exactly the name of the "
            "host."
        ),
    },
    "SG306": {
        "binding-wrong": Remedy(
            "Find out on which host the guest runs (virsh domstate), and make sure that this host has a live agent. "
            "Then set the port's binding:host_id to this host."
        ),
        "place-undecided": _HANDS_OFF,
    },
    "SG307": {
        "queue-left": Remedy(
            "Delete the queue if it has no consumers: rabbitmqctl delete_queue {queue}. If you keep the queue, and "
            "another host later gets the host name that the queue's name contains, nova-compute on that other host "
            "executes the requests in the queue.",
            acts=(Act((DELETION,), "a rename is over", ("the queue",), QUEUED),),
        ),
    },
    "SG309": {"half-renamed": _HALF},
    "SG311": {
        "part-unread": _PART_UNREAD,
        "link-privilege-missing": Remedy("Grant {right} ({columns}) on {table} to the database user."),
    },
    "SG315": {
        "name-in-use": Remedy(
            "Find the host whose nova-compute already uses the new name, and stop nova-compute on that host. As an "
            "alternative, choose another name."
        ),
        "messages-left": Remedy(
            "Run rabbitmqctl delete_queue {queue} to delete the queue with its messages. The messages are requests for "
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
    "SG316": {
        "no-consumer": Remedy(
            "If nova-compute does not run on the host, start nova-compute. If nova-compute already runs, set "
            "stackguard_rabbit_urls to the transport_url of the host's cell: the present value contains the wrong "
            "RabbitMQ server or the wrong virtual host. To rename the host without a check of the queues, override "
            "SG316 for the host.",
            acts=(Act((START,), "the queue of the host has no consumer", ("the queue", FORECAST), NOTHING),),
        ),
        "broker-unread": Remedy(
            "Fix the cause that the evidence shows. To rename the host without a check of the queues, override SG316 "
            "for the host."
        ),
    },
    "SG317": {
        "chassis-unread": Remedy("Make sure that the run can read OVN's databases."),
    },
    "SG318": {
        "hostname-shared": Remedy(
            _DEAD_CHASSIS,
            acts=(Act((DELETION,), "two chassis have one hostname", ("OVN's databases", PEOPLE), _DELETED_CHASSIS),),
        ),
        "not-registered": Remedy(
            "Read the log of ovn-controller on this host, because ovn-controller has not registered under the host's "
            "system-id."
        ),
    },
    "SG319": {
        "system-id-is-a-host-name": Remedy(
            "Before you rename this host, set the current system-id of its Open vSwitch in the deployment tool's "
            "variables."
        ),
    },
    "SG321": {
        "hostname-not-novas": Remedy(
            "Set external_ids:hostname of Open vSwitch to {host}, because neutron binds ports only to a chassis whose "
            "hostname is the host name that Nova uses."
        ),
    },
    "SG322": {
        "requested-chassis-missing": Remedy(
            "Run rename_host with rename_action=status for the host, because a rename may be unfinished. If no rename "
            "is open, bind the port to a host that has a chassis."
        ),
    },
    "SG323": {
        "address-of-two-chassis": Remedy(
            _DEAD_CHASSIS,
            acts=(
                Act((DELETION,), "two chassis have one tunnel address", ("OVN's databases", PEOPLE), _DELETED_CHASSIS),
            ),
        ),
        "address-of-another-chassis": Remedy(
            "Verify that the host of chassis {chassis} no longer exists, then delete this chassis: openstack network "
            "agent delete {chassis}.",
            acts=(
                Act((DELETION,), "two chassis have one tunnel address", ("OVN's databases", PEOPLE), _DELETED_CHASSIS),
            ),
        ),
    },
    # --- SG4xx: zones
    "SG403": {
        "several-zones": Remedy(
            "Remove the host from the aggregates of all zones except one: openstack aggregate remove host."
        ),
    },
    # --- SG5xx: memory, disks, and what operations left
    "SG501": {
        "evacuee-without-destination": Remedy(
            "Make memory available on a host of the server's zone, or add a host. You can also evacuate this server "
            "before other servers (evacuate_order), or leave this server out (evacuate_partial=true). A server that "
            "you leave out stays on the dead host, and you can recover this server later."
        ),
    },
    "SG502": {
        "destination-overcommitted": Remedy(
            "Move some guests of this host to other hosts after the operation. As soon as the guests use their full "
            "memory, the host may swap, or the OOM killer may end guests."
        ),
        "host-overcommitted": Remedy(
            "Move guests away (openstack server migrate --live-migration). As soon as the guests use their full "
            "memory, the host may swap, or the OOM killer may end guests."
        ),
    },
    "SG503": {
        "evacuee-without-destination": Remedy(
            "Free or add huge pages of the server's page size on a host of the server's zone, or leave the server out "
            "(evacuate_partial=true). On the destination host, each NUMA cell of the server needs its own NUMA node "
            "with enough free huge pages."
        ),
    },
    "SG504": {
        "evacuee-without-destination": Remedy(
            "First find the missing image: look in the other pools and in the trash (rbd trash ls). While this image "
            "is missing, one failed start of the server deletes all images of the server."
        ),
    },
    "SG505": {
        "evacuee-without-destination": Remedy(
            "Give the destination host the same pool and Ceph configuration as the source host."
        ),
    },
    "SG507": {"place-undecided": _HANDS_OFF},
    "SG509": {
        "off-and-guest-on-novas-host": Remedy(
            "Undefine the domain (virsh undefine), because the domain has no process, and the guest runs on the host "
            "that Nova shows.",
            acts=(Act((DELETION,), _OFF_HERE, (THIS_HOST, NOVAS_HOST, MIGRATIONS), _OFF_DEFINITION),),
        ),
        "off-and-guest-unseen-on-novas-host": Remedy(_ONLY_HERE),
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
        "place-undecided": _HANDS_OFF,
    },
    "SG512": {
        "evacuee-without-destination": Remedy(
            "Start and enable another compute host of the server's zone, or free up resources on a compute host of "
            "this zone."
        ),
        "zone-without-destination": Remedy(
            "Add a host to zone {zone}, or unpin the server. The zone contains no destination. Nova would accept an "
            "evacuation request for the server, but would then set the server to ERROR. To unpin the server in Nova 34 "
            'and later, call PUT /servers/ID with {{"server": {{"pinned_availability_zone": null}}}} (microversion '
            "2.104). In earlier releases, remove the zone from the server's request spec (playbook pin_servers with "
            "pin_state=unpinned)."
        ),
    },
    "SG513": {
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
    },
    "SG514": {
        "too-many-rows": Remedy(
            "Select fewer rows (repair_hosts, repair_codes), or raise repair_limit if you know why so many rows are "
            "wrong. --diff shows the first rows."
        ),
    },
    "SG515": {
        "host-alive": Remedy(
            "Find out who added the blocklist entry, because Ceph refuses the writes of {host} although this host is "
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
            "Find out who added the blocklist entry. If Ceph must still refuse writes from the address of the entry, "
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
    },
    "SG516": {
        "operation-not-open": Remedy(
            "Verify that no run of this operation is active on another Ansible controller, then run openstack compute "
            "service set --enable {host} nova-compute"
        ),
        "evacuation-not-open": Remedy(
            "Run return_host for the host as soon as the host is back. If the host never comes back, delete the host's "
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
    "SG517": {"place-undecided": _HANDS_OFF},
    # --- SG6xx: definitions of guests
    "SG601": {"devices-moved": _KNOW},
    "SG602": {"disks-reordered": _KNOW},
    "SG603": {
        "machine-type-unversioned": Remedy(
            "Pin a versioned machine type (nova-manage libvirt update_machine_type), because a machine type without a "
            "version changes when QEMU is upgraded."
        ),
    },
    "SG604": {"machine-type-changed": _KNOW},
    "SG605": {
        "cpu-changed": Remedy(
            "If the guest must keep the same CPU model, set cpu_models in nova.conf of every host in the zone to a CPU "
            "model that all these hosts support. Software in the guest that depends on the processor model may notice "
            "that the guest's CPU has changed."
        ),
    },
    "SG606": {"changes-at-next-start": _KNOW},
    "SG607": {
        "never-recorded": Remedy(
            "No action is needed. This run records the guests' definitions, and the next run compares the guests with "
            "this record."
        ),
    },
    # --- SG7xx: what is in progress, and what was not read
    "SG701": {
        "evacuee-without-destination": Remedy(
            "Set evacuate_reset_states=[task]. With this option, the run first verifies that the host is dead. The run "
            "then resets tasks such as a reboot or a snapshot. To start, stop, suspend, resume, rescue or unrescue a "
            "server, Nova has sent a request that waits in RabbitMQ until nova-compute of the host starts again: the "
            "run resets these tasks only if it can read RabbitMQ (nova_api_db_url or stackguard_rabbit_urls) and "
            "remove the request. The run never resets the task of an evacuation, migration or deletion (see SG702)."
        ),
        "place-undecided": _HANDS_OFF,
    },
    "SG702": {
        "evacuee-without-destination": Remedy(
            "Follow the remedy of SG702 (docs/codes/SG702.md), because the server has an unfinished migration."
        ),
    },
    "SG703": {
        "evacuee-without-destination": Remedy(
            "To revert the resize, first start the dead host again. Until the owner reverts or confirms the resize, "
            "the server stays on the dead host.",
            acts=(
                Act(
                    (START,),
                    "a resize waits for its confirmation, and the host is not evacuated yet",
                    (MIGRATIONS,),
                    NOTHING,
                ),
            ),
        ),
        "place-undecided": _HANDS_OFF,
    },
    "SG705": {
        "schema-unknown": Remedy(
            "Use a version of this collection that supports this Nova release. This version of the collection repairs "
            "nothing in this cell."
        ),
    },
    "SG709": {
        "part-unread": _PART_UNREAD,
        "forecast-unread": Remedy(
            _STOPPED + " Make sure that the run can read the facts that the evidence lists as missing."
        ),
        "hosts-unread": Remedy(_READ_FIRST),
        "last-migration-elsewhere": Remedy(
            "Run the playbook audit for {host} and {destination}. If the audit shows the server's only domain on "
            "{host}, override this finding for the server. This playbook reads no compute host."
        ),
        "evacuee-without-destination": Remedy(
            "Make sure that the run can read the items that the evidence lists as not read, then run the same command "
            "again."
        ),
    },
    "SG710": {
        "evacuee-without-destination": Remedy(
            "If the server is PAUSED, SUSPENDED or RESCUE, set evacuate_reset_states, and accept the loss that SG519 "
            "shows. If the server has a different state, leave the server out (evacuate_partial=true). Nova evacuates "
            "only ACTIVE, SHUTOFF and ERROR servers."
        ),
        "libvirt-unread": Remedy(
            "Make sure that the run can read libvirt on this host, then run the same command again. Without the facts "
            "from libvirt, the run does not know whether the guest runs."
        ),
        "shown-running-without-domain": Remedy(
            "Run the playbook audit for all compute hosts, and follow the remedy of SG132 or SG109 for the server. "
            "Leave the server as it is until then, because Nova shows the server as running on a host that has no "
            "domain of the server."
        ),
        "shown-running-and-off": Remedy(
            "Wait until Nova shows the server as SHUTOFF (sync_power_state_interval, by default 10 minutes), then run "
            "the same command again."
        ),
        "place-undecided": _HANDS_OFF,
    },
    "SG711": {"place-undecided": _HANDS_OFF},
}
