# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What remedies order that cannot be taken back: when each may be shown, what must be known, what it destroys. Pure.

A remedy is an act: an operator types it at 3 a.m. None may end the only copy of a guest or start a second one, whatever
was not read. A test looks for the texts that order such acts, and fails for one that is not here.
"""

from __future__ import annotations

import dataclasses
import typing as t

REBOOT, START, STOP, RESET = "reboot", "start", "stop", "reset"
DELETION, ADOPTION, PURGE, UPDATE = "deletion", "adoption", "purge", "update"
KINDS = (REBOOT, START, STOP, RESET, DELETION, ADOPTION, PURGE, UPDATE)

#: Facts that must have been read.
EVERY_HOST = "the domains and QEMU processes of every compute host"
NOVAS_HOST = "the domains of the host that Nova shows"
THIS_HOST = "the domains and QEMU processes of this host"
WATCHERS = "the watchers of the server's disks"
MIGRATIONS = "the unfinished migrations, and the last one of the server"
CELLS = "the instances of every cell"
SERVICES = "the compute services, the compute nodes and their links"
PROVIDERS = "the resource providers, with their allocations"
FORECAST = "all that the forecast of a start of nova-compute needs (audit/remedies.py puts the start off otherwise)"
PEOPLE = "nothing that a run can read: the text has a person find it out first"

#: What is destroyed.
NOTHING = "nothing"
RUNNING_COPY = "the memory of one QEMU, and what its guest has not written yet"
RECORD = "a record that the run does not restore"
QUEUED = "the requests in the queue"
LINK = "the wrong value, which the journal of repair_links keeps"


@dataclasses.dataclass(frozen=True)
class RemedyAct:
    """One text that orders such acts. ``file``: where it is, below module_utils; ``words``: a part of it."""

    codes: t.Tuple[str, ...]
    file: str
    words: str
    kinds: t.Tuple[str, ...]
    shown: str
    read: t.Tuple[str, ...]
    destroys: str


def _acts(file: str, *rows: t.Tuple[str, str, t.Tuple[str, ...], str, t.Tuple[str, ...], str]) -> t.List[RemedyAct]:
    return [RemedyAct(tuple(codes.split()), file, *rest) for codes, *rest in rows]  # type: ignore[arg-type]


#: By file. Each row: codes, a part of the text, kinds, when it may be shown, what must have been read, what is lost.
REMEDY_ACTS: t.Tuple[RemedyAct, ...] = (
    # --- guests and their disks
    *_acts(
        "hazards/guest_places.py",
        (
            "SG108",
            "Then stop the domain on",
            (STOP,),
            "the guest executes on Nova's host, and no migration says that it left that host",
            (THIS_HOST, NOVAS_HOST, MIGRATIONS),
            RUNNING_COPY,
        ),
        (
            "SG108",
            "then end this process",
            (STOP,),
            "the guest executes on Nova's host, and no migration says that it left that host",
            (THIS_HOST, NOVAS_HOST, MIGRATIONS),
            RUNNING_COPY,
        ),
        (
            "SG108",
            "then remove its definition",
            (DELETION,),
            "the guest executes on Nova's host, and the domain on this host is off",
            (THIS_HOST, NOVAS_HOST, MIGRATIONS),
            "the definition of a domain that is off",
        ),
        (
            "SG109",
            "then start the server again (openstack server reboot --hard SERVER)",
            (REBOOT, START),
            "no host has a domain, no migration says that the guest left, and no client has a disk open",
            (EVERY_HOST, MIGRATIONS, WATCHERS),
            NOTHING,
        ),
    ),
    *_acts(
        "moves/verify.py",
        (
            "SG711",
            "Reset the server's state (",
            (RESET,),
            "its only QEMU executes on Nova's host",
            (NOVAS_HOST, "both ends of the move and all hosts that were tried", MIGRATIONS),
            NOTHING,
        ),
        (
            "SG711",
            "Reset the server's state, then pause the server",
            (RESET,),
            "its only QEMU is on Nova's host, and does not execute",
            (NOVAS_HOST, "both ends of the move and all hosts that were tried", MIGRATIONS),
            NOTHING,
        ),
        (
            "SG711",
            "Start the server again (openstack server reboot --hard",
            (REBOOT, START),
            "its QEMU runs on no host",
            (EVERY_HOST,),
            NOTHING,
        ),
    ),
    *_acts(
        "rename/in_place/verify_guests.py",
        (
            "SG120",
            "End the QEMU process only if the guest's owner agrees",
            (STOP,),
            "a QEMU runs that libvirt does not show",
            (THIS_HOST, PEOPLE),
            RUNNING_COPY,
        ),
        (
            "SG120",
            "Start the guest as soon as nova-compute runs",
            (START,),
            "the guest ran here when the operation began, and its domain is off",
            (THIS_HOST, CELLS),
            NOTHING,
        ),
    ),
    *_acts(
        "rename/requests/verify.py",
        (
            "SG701",
            "Reset the server's state (openstack server set --state active",
            (RESET,),
            "a request to the renamed host was lost, and the guest is as it was when the operation began",
            (THIS_HOST, CELLS, MIGRATIONS),
            "the task state",
        ),
        (
            "SG121",
            "Delete each image that stays in the status queued",
            (DELETION,),
            "a request to make an image was lost",
            ("the actions of the server",),
            "an image without data",
        ),
    ),
    *_acts(
        "rename/in_place/verify.py",
        (
            "SG110",
            "destroy and undefine the domain",
            (STOP, DELETION),
            "its server was this host's, and the owner deleted it during the rename",
            (THIS_HOST, CELLS),
            "the domain of a deleted server",
        ),
    ),
    *_acts(
        "evacuation/preflight.py",
        (
            "SG702",
            "reset the server's state",
            (DELETION, RESET),
            "the migration never ends, and no domain of the server can run on its destination",
            (MIGRATIONS, PEOPLE),
            "the allocation on the destination",
        ),
        (
            "SG506",
            "or stop its guests",
            (STOP,),
            "the host that is to be evacuated is alive",
            (THIS_HOST,),
            "the run time of the guests; their owners are to be asked",
        ),
    ),
    *_acts(
        "evacuation/preflight_servers.py",
        (
            "SG519",
            "first restore the server",
            (START,),
            "the owner deleted the server softly",
            ("the soft-deleted servers",),
            NOTHING,
        ),
        (
            "SG519",
            "the run resets the server's state as soon as the run has proof",
            (RESET,),
            "the source is fenced, with proof, and the operator asks for it by an option",
            ("the proof of the fence", MIGRATIONS),
            "what the finding lists",
        ),
    ),
    *_acts(
        "moves/preflight.py",
        (
            "SG710",
            "or delete the server for good",
            (START, DELETION),
            "the owner deleted the server softly",
            ("the soft-deleted servers",),
            "the server and its disks, as its owner has ordered",
        ),
        (
            "SG704",
            "Start nova-compute on this host, because Nova moves guests only from",
            (START,),
            "the service of a host that is to be emptied is down",
            (SERVICES, FORECAST),
            NOTHING,
        ),
    ),
    *_acts(
        "rename/drain/preflight.py",
        (
            "SG710",
            "or delete the server for good",
            (START, DELETION),
            "the owner deleted the server softly",
            (CELLS,),
            "the server and its disks, as its owner has ordered",
        ),
        (
            "SG305",
            "then stop the agent and delete its record",
            (STOP, DELETION),
            "an agent of a network node is on the host",
            ("the network agents",),
            RECORD,
        ),
    ),
    *_acts(
        "return_host/preflight.py",
        (
            "SG507",
            "on the host where the guest must not run",
            (STOP,),
            "two QEMU processes of the guest were seen, one of them on this host",
            (THIS_HOST, WATCHERS, PEOPLE),
            RUNNING_COPY,
        ),
        (
            "SG510",
            "or end the process (kill PID)",
            (STOP,),
            "nova-compute runs on a host that is to be cleared",
            (THIS_HOST,),
            "nova-compute's tasks",
        ),
        (
            "SG110",
            "If the domain is not needed, run virsh destroy",
            (STOP,),
            "the domain has no server in Nova, and could write again",
            (THIS_HOST, CELLS, PEOPLE),
            RUNNING_COPY,
        ),
        (
            "SG110",
            "The server is deleted in Nova, and another server may use",
            (STOP,),
            "its server is deleted",
            (THIS_HOST, CELLS),
            "the domain of a deleted server",
        ),
        (
            "SG110",
            "or end process {pid}",
            (STOP,),
            "a QEMU process has no server in Nova",
            (THIS_HOST, CELLS, PEOPLE),
            RUNNING_COPY,
        ),
        (
            "SG515",
            "because this host cannot write to its disks while",
            (DELETION,),
            "an entry of Ceph's blocklist covers a living host, and no operation needs it",
            ("the blocklist", "the journals"),
            "the fence of an address",
        ),
        (
            "SG517",
            "Hard-reboot the server as soon as nova-compute runs",
            (REBOOT,),
            "Nova shows the server on this host, its domain runs here without its disk, no client has the disk open",
            (THIS_HOST, WATCHERS, CELLS),
            "the memory of a guest whose disk is gone",
        ),
        (
            "SG509",
            "removes them if you add --delete",
            (DELETION,),
            "an allocation of this host that no open evacuation explains",
            (PROVIDERS, MIGRATIONS),
            "allocations; in a half rename good ones, too",
        ),
    ),
    *_acts(
        "hazards/forecast.py",
        (
            "SG113",
            "set the status of the evacuation record to completed, because",
            (UPDATE,),
            "the evacuated instance is back on this host, by its row and its domain",
            (THIS_HOST, CELLS, MIGRATIONS),
            "the record that lets nova-compute end the domain",
        ),
        (
            "SG108",
            "Destroy the domain on this host, because the guest runs on",
            (STOP,),
            "the guest executes on Nova's host, and no migration says that it left that host",
            (THIS_HOST, NOVAS_HOST, MIGRATIONS),
            RUNNING_COPY,
        ),
        (
            "SG509",
            "Undefine the domain (virsh undefine), because the domain has no process",
            (DELETION,),
            "the guest executes on Nova's host, and the domain on this host is off",
            (THIS_HOST, NOVAS_HOST, MIGRATIONS),
            "the definition of a domain that is off",
        ),
        (
            "SG509",
            "Start nova-compute once before you move the server back",
            (START,),
            "an evacuation is not cleaned up, and its domain is gone from this host",
            (THIS_HOST, MIGRATIONS, FORECAST),
            NOTHING,
        ),
    ),
    *_acts(
        "hazards/fencing.py",
        (
            "SG507",
            "to identify the client, then stop the client's process",
            (STOP,),
            "a client that is no compute host has a disk of a dead host's guest open",
            (WATCHERS, PEOPLE),
            "the work of a backup or another reader",
        ),
    ),
    *_acts(
        "hazards/storage.py",
        (
            "SG507",
            "stop the other QEMU (virsh destroy)",
            (STOP,),
            "two clients have one disk open, and SG132 does not explain it",
            (WATCHERS, MIGRATIONS, PEOPLE),
            RUNNING_COPY,
        ),
        (
            "SG504",
            "Stop the server, and look for the original disk",
            (STOP,),
            "after an evacuation the server has another disk than before",
            ("Ceph's ids of the images before and after",),
            "what the guest wrote to the wrong disk",
        ),
        (
            "SG508",
            "Save the data you need from this image of a deleted server",
            (DELETION,),
            "the row of the instance is deleted",
            (CELLS,),
            "the disk of a deleted server",
        ),
        (
            "SG508",
            "Remove the snapshot: rbd snap rm",
            (DELETION,),
            "the operation of the guard snapshot is not open",
            ("the journals",),
            "a guard snapshot",
        ),
    ),
    *_acts(
        "hazards/memory.py",
        (
            "SG513",
            "Start the dead host again. If the server's disk still exists",
            (START,),
            "the disk is on the dead host, and the host is not evacuated yet",
            ("images_type of the host",),
            NOTHING,
        ),
        (
            "SG703",
            "first start the dead host again",
            (START,),
            "a resize waits for its confirmation, and the host is not evacuated yet",
            (MIGRATIONS,),
            NOTHING,
        ),
    ),
    *_acts(
        "evacuation/round.py",
        (
            "SG508",
            "Save the data that you need from the disk, then run: rbd rm",
            (DELETION,),
            "the owner deleted the server during the evacuation",
            ("the server, from the API",),
            "the disk of a deleted server",
        ),
    ),
    # --- who a host is
    *_acts(
        "hazards/renamed.py",
        (
            "SG131",
            "rename_action=adopt'. With rename_adopt=forward",
            (ADOPTION,),
            "the host's names differ from those of the compute node whose uuid it has",
            (SERVICES, THIS_HOST),
            "the second identity of the host; another host's, if the compute_id file is a copy",
        ),
        (
            "SG131",
            "Then run rename_host with rename_action=adopt",
            (ADOPTION,),
            "the host has more than two names",
            (SERVICES, THIS_HOST, PEOPLE),
            "the second identity of the host; another host's, if the compute_id file is a copy",
        ),
    ),
    *_acts(
        "rename/adopt/adopted_names.py",
        (
            "SG205",
            "Move or remove the allocations",
            (DELETION,),
            "several compute nodes have the host's names",
            (SERVICES, PROVIDERS, PEOPLE),
            "allocations of duplicate nodes",
        ),
        (
            "SG205",
            "Delete each compute service that does not belong to this host",
            (DELETION,),
            "more than one compute service has the host's names",
            (SERVICES, PEOPLE),
            "the service, and each compute node that links to it",
        ),
        (
            "SG204",
            "Start nova-compute once under the name of the host's compute node",
            (START,),
            "the service of the node is missing",
            (SERVICES, FORECAST),
            NOTHING,
        ),
        (
            "SG203",
            "Set compute_nodes.service_id of this compute node",
            (UPDATE,),
            "the node links to the newer service of its own host",
            (SERVICES,),
            LINK,
        ),
        (
            "SG205",
            "delete the compute service of the second compute node",
            (DELETION,),
            "the second node of the host has no guests",
            (SERVICES, CELLS, PROVIDERS),
            "the second service with its node",
        ),
        (
            "SG205",
            "delete the compute service with that name",
            (DELETION,),
            "no machine uses the name of the second compute node",
            (SERVICES, PEOPLE),
            "the service with its node",
        ),
    ),
    *_acts(
        "rename/in_place/preflight.py",
        (
            "SG106",
            "use rename_action=adopt (SG131)",
            (ADOPTION,),
            "the host calls itself otherwise than rename_from",
            (THIS_HOST, SERVICES),
            "the second identity of the host",
        ),
        (
            "SG205",
            "Remove the host's other compute nodes before the rename",
            (DELETION,),
            "several compute nodes have the host's name",
            (SERVICES,),
            RECORD,
        ),
        (
            "SG205",
            "remove the allocations of the other compute node",
            (DELETION,),
            "another compute node has the host's hypervisor_hostname",
            (SERVICES, PROVIDERS),
            "allocations of the other node",
        ),
        (
            "SG204",
            "Start nova-compute under the old name. If nova-compute",
            (START,),
            "the compute service of the old name is missing",
            (SERVICES, FORECAST),
            NOTHING,
        ),
        (
            "SG704",
            "Start nova-compute under the old name, and wait",
            (START,),
            "the compute service is down before a rename",
            (SERVICES, FORECAST),
            NOTHING,
        ),
        (
            "SG301",
            "Then delete the {binary} service of this host",
            (DELETION,),
            "another service of Nova runs on the host",
            (SERVICES,),
            RECORD,
        ),
        (
            "SG205",
            "Remove the host's rows from the wrong cell",
            (DELETION,),
            "two cells have rows of the host",
            (SERVICES, CELLS),
            RECORD,
        ),
        ("SG203", "Repair service_id of the compute node first", (UPDATE,), "the link is wrong", (SERVICES,), LINK),
        (
            "SG305",
            "stop its L3 agent and delete the agent's record",
            (STOP, DELETION),
            "a distributed router's agent is on an empty host",
            ("the network agents",),
            RECORD,
        ),
        (
            "SG305",
            "then stop the agent and delete its record",
            (STOP, DELETION),
            "an agent of a network node is on the host",
            ("the network agents",),
            RECORD,
        ),
        (
            "SG317",
            "remove the host's chassis from the southbound database",
            (DELETION,),
            "external_ids name OVN, and neutron has no agent of it",
            ("the network agents", "external_ids of Open vSwitch", PEOPLE),
            "a chassis; one of a living host comes back when ovn-controller starts",
        ),
        (
            "SG304",
            "delete the resource provider. With this resource provider",
            (DELETION,),
            "an agent reports bandwidth by a provider of the host's name",
            (PROVIDERS,),
            "a provider that its agent makes again",
        ),
    ),
    *_acts(
        "rename/adopt/preflight.py",
        (
            "SG509",
            "The playbook return_host ends the old QEMU process. Start nova-compute after",
            (START,),
            "an evacuation of one of the host's names is not cleaned up",
            (MIGRATIONS,),
            "the old domains, by the rules of return_host",
        ),
        (
            "SG302",
            "delete the mapping: nova-manage cell_v2 delete_host",
            (DELETION,),
            "a mapping of another cell has the name, and no host of that cell has it",
            ("the host mappings", PEOPLE),
            RECORD,
        ),
    ),
    *_acts(
        "hazards/identity.py",
        (
            "SG112",
            "When resource provider {others} has no allocations, delete it",
            (DELETION,),
            "another provider has the node's name; each consumer's part goes first",
            (PROVIDERS,),
            "the stale part of allocations, then the provider",
        ),
        (
            "SG116",
            "If the host has no compute node under any name, start nova-compute on the host",
            (START,),
            "the service has no node",
            (SERVICES, FORECAST),
            NOTHING,
        ),
        (
            "SG119",
            "Start nova-compute and map the host",
            (START,),
            "the host has no guests and no service",
            (SERVICES, THIS_HOST, FORECAST),
            NOTHING,
        ),
        (
            "SG113",
            "set the status of the instance's evacuation record to completed",
            (UPDATE,),
            "a domain of an evacuated instance is here, and the instance is on this host",
            (THIS_HOST, CELLS, MIGRATIONS),
            "the record that lets nova-compute end the domain",
        ),
    ),
    *_acts(
        "hazards/links.py",
        (
            "SG201 SG202",
            "Either start nova-compute on the node's host",
            (START, UPDATE),
            "service_id is empty or dangles",
            (SERVICES, FORECAST),
            LINK,
        ),
        ("SG203", "Repair service_id of the compute node. Until", (UPDATE,), "the link is wrong", (SERVICES,), LINK),
        (
            "SG204",
            "If nova-compute uses the host name of the compute node, start nova-compute",
            (START,),
            "the node's host has no service",
            (SERVICES, FORECAST),
            NOTHING,
        ),
        (
            "SG205",
            "Then delete the duplicate node",
            (UPDATE, DELETION),
            "a node is a duplicate, and its allocations, instances and devices are reassigned",
            (SERVICES, PROVIDERS, CELLS, PEOPLE),
            "the duplicate node",
        ),
        ("SG207", "Repair compute_id of the instances that point to", (UPDATE,), "the link is wrong", (CELLS,), LINK),
        (
            "SG211 SG212 SG213",
            "Start nova-compute on the instance's host and wait",
            (START, UPDATE),
            "compute_id is empty or dangles",
            (CELLS, SERVICES, FORECAST),
            LINK,
        ),
        ("SG215", "Remove node and compute_id from", (UPDATE,), "the instance has no host", (CELLS,), LINK),
        (
            "SG217",
            "remove the host name from the row",
            (UPDATE,),
            "the shelved instance has no domain on its host",
            (CELLS, PEOPLE),
            "where Nova looks for the instance",
        ),
        (
            "SG231",
            "Archive the row of the soft-deleted compute node",
            (PURGE,),
            "the device is claimed by a row of a deleted node, and freed in the other row",
            (CELLS, SERVICES),
            RECORD,
        ),
    ),
    # --- services, agents, queues, leftovers
    *_acts(
        "hazards/in_flight.py",
        (
            "SG509",
            "then start nova-compute once on that host",
            (START,),
            "an evacuation is not cleaned up, and no evacuated instance is back",
            (MIGRATIONS, FORECAST),
            "the old domains of evacuated instances",
        ),
        ("SG704", "Start nova-compute first, and wait", (START,), "the service is down", (SERVICES, FORECAST), NOTHING),
        (
            "SG705",
            "Restart nova-compute first, so that nova-compute runs",
            (START,),
            "another release is installed than runs",
            (SERVICES, FORECAST),
            NOTHING,
        ),
    ),
    *_acts(
        "hazards/deployment.py",
        (
            "SG128",
            "and restart nova-compute if the new values are correct",
            (START,),
            "a configuration file changed after nova-compute started",
            (FORECAST, PEOPLE),
            NOTHING,
        ),
    ),
    *_acts(
        "hazards/leftovers.py",
        (
            "SG515",
            "If Ceph no longer has to refuse these writes, remove the entry",
            (DELETION,),
            "no operation needs the entry, and its address is of no known host",
            ("the blocklist", "the journals", PEOPLE),
            "the fence of an address",
        ),
        (
            "SG515",
            "although this host is alive. Then remove the entry",
            (DELETION,),
            "no operation needs the entry, and its host is alive",
            ("the blocklist", "the journals"),
            "the fence of an address",
        ),
        (
            "SG515",
            "If the host never comes back, remove the blocklist entry",
            (DELETION,),
            "the host of an ended evacuation never comes back",
            ("the blocklist", "the journals", PEOPLE),
            "the fence of an address",
        ),
        (
            "SG516",
            "delete the host's compute service",
            (DELETION,),
            "the host of an ended evacuation never comes back",
            (SERVICES, "the journals", PEOPLE),
            "the service, and each compute node that links to it",
        ),
    ),
    *_acts(
        "hazards/queues.py",
        (
            "SG315",
            "to delete the queue with its messages",
            (DELETION,),
            "the queue of the new name holds requests for an earlier host",
            ("the queue",),
            QUEUED,
        ),
        ("SG307", "Delete the queue if it has no consumers", (DELETION,), "a rename is over", ("the queue",), QUEUED),
        (
            "SG307",
            "The run left the queue unchanged. Delete the queue",
            (DELETION,),
            "a rename is over",
            ("the queue",),
            QUEUED,
        ),
        (
            "SG316",
            "If nova-compute does not run on the host, start nova-compute",
            (START,),
            "the queue of the host has no consumer",
            ("the queue", FORECAST),
            NOTHING,
        ),
    ),
    *_acts(
        "hazards/ovn.py",
        (
            "SG318",
            "Delete the chassis whose host no longer exists",
            (DELETION,),
            "two chassis have one hostname",
            ("OVN's databases", PEOPLE),
            "a chassis; one of a living host comes back when ovn-controller starts",
        ),
        (
            "SG323",
            "no longer exists, then delete this chassis",
            (DELETION,),
            "two chassis have one tunnel address",
            ("OVN's databases", PEOPLE),
            "a chassis; one of a living host comes back when ovn-controller starts",
        ),
    ),
    *_acts(
        "rename/ovn/preflight.py",
        (
            "SG318",
            "Delete every chassis that has this host's hostname",
            (DELETION,),
            "several chassis have the host's hostname",
            ("OVN's databases", PEOPLE),
            "a chassis; one of a living host comes back when ovn-controller starts",
        ),
        (
            "SG323",
            "no longer exists, then delete this chassis",
            (DELETION,),
            "two chassis have one tunnel address",
            ("OVN's databases", PEOPLE),
            "a chassis; one of a living host comes back when ovn-controller starts",
        ),
    ),
    *_acts(
        "evacuation/chassis/operation.py",
        (
            "SG328",
            "then run: openstack network agent delete",
            (DELETION,),
            "the machine is dead, and no port is bound to its chassis",
            ("OVN's databases", "the ports", PEOPLE),
            "a chassis; one of a living host comes back when ovn-controller starts",
        ),
    ),
    *_acts(
        "rename/in_place/name_users.py",
        (
            "SG313",
            "delete the service of the old name (cinder-manage service remove)",
            (DELETION,),
            "cinder-backup took the new name",
            (PEOPLE,),
            RECORD,
        ),
        ("SG313", "delete the devices of the old name", (DELETION,), "the host has the new name", (PEOPLE,), RECORD),
        (
            "SG312",
            "Then restart nova-compute to apply the change",
            (START,),
            "an option of nova-compute contains the old name",
            (FORECAST,),
            NOTHING,
        ),
    ),
    *_acts(
        "name_places/api_host_mappings.py",
        (
            "SG302",
            "If no compute host has this name, delete the mapping",
            (DELETION,),
            "no compute service has the mapping's name",
            (SERVICES, "the host mappings"),
            RECORD,
        ),
        (
            "SG302",
            "Delete the mapping (nova-manage cell_v2 delete_host)",
            (DELETION,),
            "the mapping is to another cell than that of the host's service",
            (SERVICES, "the host mappings"),
            "the mapping, which discover_hosts makes again",
        ),
    ),
    *_acts(
        "rename/in_place/plan.py",
        (
            "SG307",
            "delete the queue yourself",
            (DELETION,),
            "a rename is over, and the run had no access to RabbitMQ",
            (PEOPLE,),
            QUEUED,
        ),
    ),
    *_acts(
        "rename/in_place/plan.py",
        (
            "SG305",
            "delete the record of the agent (openstack network agent delete)",
            (DELETION,),
            "a rename without OVN is over, and rows of segmenthostmappings are missing",
            (PEOPLE,),
            "a record that the L2 agent makes again at its start",
        ),
    ),
    *_acts(
        "rename/drain/preflight.py",
        (
            "SG709",
            "With --delete, the command deletes the orphaned allocations",
            (DELETION,),
            "the provider has an allocation of a consumer that is not a server of this host",
            (PROVIDERS, PEOPLE),
            "allocations of this provider that no server and no open migration needs",
        ),
        (
            "SG305",
            "delete its record (openstack network agent delete",
            (DELETION,),
            "an agent of the host is dead, or none of its units is known",
            ("the network agents", PEOPLE),
            "a record that a living agent makes again",
        ),
    ),
    *_acts(
        "hazards/identity.py",
        (
            "SG102 SG107",
            "Then start nova-compute on {name}: nova-compute registers",
            (START,),
            "the host has no node of its own, and a file that is another machine's",
            (SERVICES, FORECAST, PEOPLE),
            NOTHING,
        ),
    ),
    *_acts(
        "rename/in_place/name_users.py",
        ("SG313", "remove the node before the rename", (DELETION,), "DRBD runs on the host", (PEOPLE,), RECORD),
        ("SG313", "remove the host from Blazar", (DELETION,), "Blazar has the host", (PEOPLE,), RECORD),
    ),
    *_acts(
        "hazards/waiting.py",
        (
            "SG329 SG330",
            "{keep} If none of the waiting requests may be executed",
            (DELETION,),
            "nova-compute of the name does not run, and a request must not be executed, or is not understood",
            ("the queues of the name", "where each server is", PEOPLE),
            QUEUED,
        ),
        (
            "SG329 SG330",
            "To delete each queue with every request in it",
            (DELETION,),
            "nova-compute of the name does not run, and requests wait for it, or RabbitMQ was not read",
            (PEOPLE,),
            "the requests in the queue; a server whose resize, rebuild, creation or deletion waits there is stranded",
        ),
        (
            "SG330",
            "{keep} Ask the owner whether the server is still to be deleted",
            (DELETION,),
            "the owner's deletion of a server that is elsewhere waits in the queue",
            ("the queues of the name", "where each server is", PEOPLE),
            "the server, as its owner asked; or the requests in the queue",
        ),
    ),
)
