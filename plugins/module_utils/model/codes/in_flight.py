# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Codes SG7xx: what is under way, and what was not read. See code.py."""

from __future__ import annotations

import typing as t

from .code import (
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
    RESET,
    SERVICES,
    SILENT,
    START,
    THIS_HOST,
    WARNING,
    WATCHERS,
    Act,
    Code,
    Remedy,
)
from .phrases import HANDS_OFF, PART_UNREAD, READ_FIRST, STOPPED

_APIS_ANSWER = "Make sure that the APIs answer, then run the same command again."
_ALLOCATION = Remedy(
    "Find out whether the consumer is a server or a migration (openstack server show {consumer}; openstack "
    "--os-compute-api-version 2.59 server migration list). If it is a server that Nova neither builds, unshelves nor "
    "moves, and that is on another host, or a migration that has ended and whose server has no task, remove this "
    "provider's part: openstack resource provider allocation unset --provider {provider} {consumer}. If the server of "
    "such a migration is on this host and has no allocation of its own here, then run nova-manage placement "
    "heal_allocations --instance SERVER --force. Use no nova-manage placement audit --delete while anything moves to "
    "this host: it also deletes the allocations of servers that a live migration brings.",
    acts=(
        Act(
            (DELETION,),
            "the provider has an allocation of a consumer that is not a server of this host",
            (PROVIDERS, PEOPLE),
            "what one consumer holds of this provider",
        ),
    ),
)
_LEAVE_OUT = (
    "Leave the server out (evacuate_partial=true). A server that you leave out stays on the dead host, and you can "
    "recover this server later."
)
_MAY_STAY = Remedy("Or leave the server where it is ({option}=true).")
_BOTH_ENDS = "both ends of the move and all hosts that were tried"

CODES: t.Tuple[Code, ...] = (
    Code(
        "SG701",
        "task-in-progress",
        BLOCKER,
        "A task of an instance is in progress.",
        of_server=True,
        overridden_by="the instance's uuid",
        remedies={
            "evacuee-without-destination": Remedy(
                "Set evacuate_reset_states=[task]. With this option, the run first verifies that the host is dead. "
                "The run "
                "then resets tasks such as a reboot or a snapshot. To start, stop, suspend, resume, rescue or "
                "unrescue a "
                "server, Nova has sent a request that waits in RabbitMQ until nova-compute of the host starts again: "
                "the "
                "run resets these tasks only if it can read RabbitMQ (nova_api_db_url or stackguard_rabbit_urls) and "
                "remove the request. The run never resets the task of an evacuation, migration or deletion (see SG702)."
            ),
            "place-undecided": HANDS_OFF,
            "nova-at-work": Remedy(
                "Wait until the task ends. To see what the task does, run openstack server event list SERVER. If "
                "nova-compute of the server's host is stopped, the request may wait in RabbitMQ, and nova-compute "
                "executes "
                "it at its next start."
            ),
            "busy-before-move": Remedy("Wait until the server's task ends."),
            "request-lost": Remedy(
                "Reset the server's state (openstack server set --state active {uuid}), because the request that set "
                "the "
                "server's task state was lost, and nova-compute will never execute this request. Then run the same "
                "command "
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
            "pin-waits-for-task": Remedy("Wait until the server's task ends."),
        },
    ),
    Code(
        "SG702",
        "migration-open",
        BLOCKER,
        "A migration is in progress.",
        of_server=True,
        overridden_by="the migration's uuid",
        remedies={
            "evacuee-without-destination": Remedy(
                "Follow the remedy of SG702 (docs/codes/SG702.md), because the server has an unfinished migration."
            ),
            "under-way": Remedy("Wait until the migration ends, or abort the migration."),
            "evacuation-under-way": Remedy(
                "Wait until the migration ends. The migration never ends if nova-compute on {destination} died or "
                "restarted after the migration began. If the migration never ends and {destination} does not answer, "
                "fence "
                "{destination}. If the migration never ends and {destination} answers, look for the server's domain on "
                "{destination} (virsh domstate {server}). If the domain runs there, leave the server out "
                "(evacuate_partial=true): it is the guest's only copy, see the page of SG132. Only if no domain of the "
                "server can run on {destination}, remove the server's allocation on {destination} (openstack resource "
                "provider allocation unset --provider PROVIDER_UUID {server}), reset the server's state (openstack "
                "server "
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
                "anyway, verify that no domain of the server runs on {destination} (virsh list --all). If no domain "
                "of the "
                "server runs on {destination}, override this finding in stackguard_overrides (object: {migration})."
            ),
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
                "Wait until the migration ends, then run the same command again. A migration ends only while "
                "nova-compute "
                "runs on both of its hosts ({source}, {destination})."
            ),
            "may-stay": _MAY_STAY,
            "comes-to-drained-host": Remedy(
                "Wait until the migration to this host ends, because the migrating server must not arrive while the "
                "run empties the host."
            ),
        },
    ),
    Code(
        "SG703",
        "resize-unconfirmed",
        BLOCKER,
        "A resize or cold migration still waits for its confirmation.",
        of_server=True,
        overridden_by="the finding's object",
        remedies={
            "evacuee-without-destination": Remedy(
                "To revert the resize, first start the dead host again. Until the owner reverts or confirms the "
                "resize, "
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
            "place-undecided": HANDS_OFF,
            "resize-unconfirmed": Remedy(
                "Before you run this playbook, ask the owner to confirm or revert the resize. For both actions, Nova "
                "uses "
                "the host names in the migration record."
            ),
            "resize-before-move": Remedy("Ask the server's owner to confirm or revert the resize."),
            "resize-to-dead-host": Remedy(
                "Verify that nova-compute on {source} is up, then confirm the resize (openstack server resize confirm "
                "{server}). Nova cannot revert the resize while {destination} is dead. " + _LEAVE_OUT
            ),
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
    ),
    Code(
        "SG704",
        "service-disabled",
        WARNING,
        "The compute service is disabled, forced down or not up.",
        overridden_by="the finding's object",
        remedies={
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
                "Find out who disabled the compute service, and why. A rename does not enable the compute service: at "
                "its "
                "end, the rename restores the disabled status and the disabled reason."
            ),
            "down-before-rename": Remedy(
                "Start nova-compute under the old name, and wait until nova-compute is up.",
                acts=(Act((START,), "the compute service is down before a rename", (SERVICES, FORECAST), NOTHING),),
            ),
            "second-service-forced-down": Remedy(
                "Find out who forced the second compute service down, because an evacuation may be in progress. Then "
                "run "
                "openstack compute service set --up {host} nova-compute."
            ),
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
    ),
    Code(
        "SG705",
        "release-unsupported",
        BLOCKER,
        "Nova's release or schema is unknown or not supported.",
        overridden_by="the finding's object",
        remedies={
            "schema-unknown": Remedy(
                "Use a version of this collection that supports this Nova release. This version of the collection "
                "repairs "
                "nothing in this cell."
            ),
            "cloud-release-unknown": Remedy(
                "Before you change anything, install a version of this collection that supports the Nova release in "
                "the "
                "evidence. With an unknown Nova release, this version of the collection reads facts, but changes "
                "nothing."
            ),
            "host-release-unknown": Remedy(
                "Use a version of this collection that supports this release of nova-compute."
            ),
            "releases-contradict": Remedy(
                "Finish the upgrade of Nova first, because the database schemas and the API come from different "
                "releases."
            ),
            "installed-not-running": Remedy(
                "Restart nova-compute first, so that nova-compute runs the installed release. To stay on the release "
                "that "
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
            "release-unknown-before-rename": Remedy(
                "Find out which Nova release runs on this host, because the steps of the rename depend on the release."
            ),
            "release-finds-node-by-name": Remedy(
                "Use rename_strategy=drain. This Nova release finds a compute node only by the node's name, so Nova "
                "would "
                "not find the node after a rename in place."
            ),
            "pin-strategy-without-option": Remedy(
                "Use strategy=auto, or set the option that the selected strategy needs."
            ),
            "resize-strategy-without-option": Remedy(
                "Set the option that the selected strategy needs, or use resize_strategy=auto."
            ),
        },
    ),
    Code(
        "SG706",
        "operation-open",
        BLOCKER,
        "An earlier operation is not finished, and its journal is still open.",
        from_hosts=True,
        override=(
            "No override helps against a journal that this version does not understand: the run "
            "refuses to start.\n\n"
            "To override this finding, add an entry to `stackguard_overrides` with the keys `code`, "
            "`object` (the finding's object) and `reason`."
        ),
        remedies={
            "disabled-by-evacuation": Remedy(
                "Run evacuate_host with evacuate_action=status for this host. If the evacuation is open, resume or "
                "abort "
                "it. If the evacuation has ended, repair the host, then run return_host."
            ),
            "disabled-by-drain": Remedy(
                "Run drain_host with drain_action=status for this host. If the drain is open, resume it or roll it "
                "back. "
                "If the drain has ended and you want Nova to start servers on the host again, enable the host's "
                "compute "
                "service (openstack compute service set --enable)."
            ),
            "disabled-by-rename": Remedy(
                "Run rename_host with rename_action=status for this host, then resume the rename or roll it back."
            ),
            "disabled-by-operation": Remedy(
                "Read the id of the operation in the disabled reason, and find out which playbook began this "
                "operation. "
                "Set the action option of that playbook to status (for example, migrate_action=status), and run the "
                "playbook. Then use the same playbook to resume the operation or to roll the operation back."
            ),
            "journal-open": Remedy(
                "Resume operation {operation}, or roll the operation back, before you do anything else to this host."
            ),
            "journal-not-understood": Remedy(
                "Finish the operation in {journal} with {finish_with}, before you do anything else to this host. "
                "Before "
                "you use a damaged file again, restore the file from a backup. If you know that the operation has "
                "ended, "
                "move the file to a different directory."
            ),
            "evacuation-of-returning-host-open": Remedy(
                "Keep nova-compute stopped on this host until the evacuation has ended. To complete the evacuation, "
                "run the playbook evacuate_host with -e evacuate_host={host} -e evacuate_action=resume. To "
                "end the evacuation without completing it, use evacuate_action=abort."
            ),
        },
    ),
    Code(
        "SG707",
        "lock-held",
        BLOCKER,
        "Another operation has locked this host.",
        overridden_by="the finding's object",
        remedies={
            "held-by-operation": Remedy(
                "Wait until the other operation on this host ends, or resume the other operation. The journal of a "
                "rename "
                "is on this host. The journals of other operations are on stackguard_state_host."
            ),
            "returning-host-held-by-another": Remedy("First end the operation that has disabled the compute service."),
            "returning-host-held-without-journal": Remedy(
                "If the journal is lost, verify that the operation has ended, and override SG707 for this host with "
                "your "
                "reason. If the journal still exists, set stackguard_state_host and stackguard_state_dir to the place "
                "of the journal: return_host -e return_host={host} -e stackguard_state_host=NAME -e "
                "stackguard_state_dir=DIRECTORY"
            ),
        },
    ),
    Code(
        "SG708",
        "ha-automation",
        WARNING,
        "High-availability automation could evacuate the host while its compute service is down.",
        overridden_by="the finding's object",
        remedies={
            "masakari": Remedy(
                "Pause Masakari for this host: openstack segment host update --on_maintenance true SEGMENT HOST. "
                "After the "
                "operation, resume Masakari for this host: openstack segment host update --on_maintenance false "
                "SEGMENT "
                "HOST."
            ),
            "masakari-at-evacuation": Remedy(
                "Pause Masakari for this host, because Masakari would evacuate the same servers: openstack segment "
                "host "
                "update --on_maintenance true SEGMENT HOST. After the operation, resume Masakari for this host: "
                "openstack "
                "segment host update --on_maintenance false SEGMENT HOST."
            ),
            "none-detected": Remedy(
                "Pause all software that evacuates or fences automatically (pacemaker, InstanceHA, your own scripts), "
                "because the run cannot detect such software."
            ),
            "recovery-runs": Remedy(
                "Wait until Masakari has finished the recovery of this host, or stop Masakari for this host. Then run "
                "the "
                "same command again."
            ),
            "recovery-ended": Remedy(
                "Verify that Masakari does not start another recovery of this host. Masakari has ended a recovery of "
                "this "
                "host, but servers are still on the host."
            ),
        },
    ),
    Code(
        "SG709",
        "evidence-missing",
        BLOCKER,
        "The operation lacks evidence that it needs.",
        absolute_with=(SILENT,),
        overridden_by="the finding's object",
        override=(
            "An in-place rename accepts no override for the systemd unit of an L2 agent (`HOST:agent "
            "unit`): set `rename_agent_units`."
        ),
        remedies={
            "part-unread": PART_UNREAD,
            "forecast-unread": Remedy(
                STOPPED + " Make sure that the run can read the facts that the evidence lists as missing."
            ),
            "hosts-unread": Remedy(READ_FIRST),
            "last-migration-elsewhere": Remedy(
                "Run the playbook audit for {host} and {destination}. If the audit shows the server's only domain on "
                "{host}, override this finding for the server. This playbook reads no compute host."
            ),
            "evacuee-without-destination": Remedy(
                "Make sure that the run can read the items that the evidence lists as not read, then run the same "
                "command "
                "again."
            ),
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
                "Give the Ceph user of the run (stackguard_ceph_user, by default rbd_user of nova.conf) read access "
                "to the "
                "pool of the volumes (osd 'profile rbd-read-only pool=POOL'), or set stackguard_volume_pools to the "
                "pools "
                "that Cinder uses. Then run the same command again. If a volume is not in Ceph (openstack volume show "
                "VOLUME -c os-vol-host-attr:host shows its back end), verify on the back end that no other host uses "
                "the "
                "volume, then override this finding for the server."
            ),
            "cluster-of-image-unread": Remedy(
                "Make sure that at least one host can read the id of this Ceph cluster (ceph fsid)."
            ),
            "pool-of-image-unread": Remedy(
                "Make sure that the run can collect facts from at least one host with access to this Ceph pool, then "
                "run "
                "the same command again. Without facts from a host with access, the run does not evacuate the server."
            ),
            "images-not-looked-for": Remedy("Make sure that the run can read Ceph through at least one host."),
            "landing-unread": Remedy(
                "Make sure that the run can read the destination host, then run the same command again."
            ),
            "ports-unread-after-landing": Remedy("Restore the connection to neutron, then check the ports."),
            "ceph-daemons-unread": Remedy(
                "Set stackguard_ceph_infrastructure=[...] to the addresses of the managers and MDS, or let the Ceph "
                "user "
                "read these addresses. The following command replaces all caps of the user, so it must contain the "
                "user's "
                "existing caps for mon and osd (ceph auth get client.NAME shows the caps): ceph auth caps client.NAME "
                "mon "
                "'EXISTING MON CAPS, allow command \"mgr dump\", allow command \"fs dump\"' osd 'EXISTING OSD CAPS'"
            ),
            "holder-not-listed": Remedy(
                "Find out which server has the uuid {server}: openstack server show {server}; openstack resource "
                "provider "
                "allocation show {server}. Make sure that the server's cell answers. Run nova-manage placement audit. "
                "If "
                "the server does not exist, override the finding."
            ),
            "cell-of-source-down": Remedy(
                "Make sure that the database and the message queue of the host's cell respond, then run the same "
                "command "
                "again."
            ),
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
                "Run the same command again, because the servers of the host changed while the run was reading the "
                "cloud."
            ),
            "name-not-rehearsed": Remedy(
                "Fix the cause that the evidence shows, then run the same command again. To test the new host name, "
                "the "
                "run needs root permissions on the host, and a kernel that supports UTS and mount namespaces."
            ),
            "domains-unread-during-rename": Remedy("Make sure that libvirt answers on the host."),
            "processes-unread-during-rename": Remedy("Run the module as root, because the module must read /proc."),
            "pid-file-unread": Remedy(
                "Make sure that the run can read the guest's pid file below /run/libvirt/qemu, then run the same "
                "command "
                "again."
            ),
            "evacuations-unread-during-rename": Remedy(
                "Make sure that the run can read the cell, then run the same command again. If the cell has an "
                "evacuation "
                "record of this host, nova-compute destroys guests at its next start on this host."
            ),
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
                "Give the Ceph user in stackguard_ceph_user the Ceph profile rbd for the pool of the image, so that "
                "the "
                "run can read the image. Then run return_host again. As an alternative, verify that no other client "
                "has "
                "the disk open and that a running guest can write to its disk, then override this finding for the "
                "image."
            ),
            "move-undecided": Remedy(
                "Make sure that the run can read the items that the evidence lists as not read, then run the same "
                "command "
                "again."
            ),
            "host-without-single-zone": Remedy(
                "Put the server's host into exactly one zone, and make sure that the run can read the aggregates."
            ),
            "consumer-not-listed": Remedy(
                "Make sure that the server's cell answers. If the server no longer exists, verify that its allocation "
                "is "
                "left over from an old move (openstack resource provider allocation show {uuid}), then override this "
                "finding for the server's id."
            ),
            "cells-silent-for-pins": Remedy(
                "Make sure that the database and the message queue of every cell respond, then run the same command "
                "again. "
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
                "Put the server's host into exactly one zone, and make sure that the run can read the aggregates. The "
                "run "
                "pins a server to the zone of the server's host."
            ),
            "servers-unread-for-resize": Remedy("Make sure that the APIs answer."),
            "pin-unread-for-resize": Remedy(
                "Make sure that the run can read the server's availability zone pin. The API shows the pin from "
                "microversion 2.96 on. If the API does not offer this microversion, set nova_api_db_url."
            ),
            "apis-unread-for-drain": Remedy("Make sure that the APIs answer, then run the same command again."),
            "allocations-unread-for-drain": Remedy(
                "Make sure that placement answers, then run the same command again."
            ),
            "allocation-of-no-server-of-host": _ALLOCATION,
            "allocation-of-open-migration": Remedy(
                "Leave the allocation, because a migration of server {server} needs it. Let the migration end, or have "
                "the resize confirmed or reverted (openstack server resize confirm {server}), then run the same "
                "command again."
            ),
        },
    ),
    Code(
        "SG710",
        "server-not-movable",
        BLOCKER,
        "The server's state does not allow a move.",
        of_server=True,
        overridden_by="the server's uuid",
        remedies={
            "evacuee-without-destination": Remedy(
                "If the server is PAUSED, SUSPENDED or RESCUE, set evacuate_reset_states, and accept the loss that "
                "SG519 "
                "shows. If the server has a different state, leave the server out (evacuate_partial=true). Nova "
                "evacuates "
                "only ACTIVE, SHUTOFF and ERROR servers."
            ),
            "libvirt-unread": Remedy(
                "Make sure that the run can read libvirt on this host, then run the same command again. Without the "
                "facts "
                "from libvirt, the run does not know whether the guest runs."
            ),
            "shown-running-without-domain": Remedy(
                "Run the playbook audit for all compute hosts, and follow the remedy of SG132 or SG109 for the server. "
                "Leave the server as it is until then, because Nova shows the server as running on a host that has no "
                "domain of the server."
            ),
            "shown-running-and-off": Remedy(
                "Wait until Nova shows the server as SHUTOFF (sync_power_state_interval, by default 10 minutes), then "
                "run "
                "the same command again."
            ),
            "place-undecided": HANDS_OFF,
            "not-on-host": Remedy(
                "Remove the server from evacuate_servers, because the server is not on this host.",
            ),
            "status-unfit-for-move": Remedy("Change the server's status to {statuses}. {rule}"),
            "locked-before-move": Remedy(
                "Find out who locked the server. To move the server although it is locked, override this finding."
            ),
            "landed-in-another-status": Remedy(
                "Check the server's events: openstack server event list {server}. The server has left the dead host, "
                "but "
                "does not have the expected state"
            ),
            "state-before-unknown": Remedy(
                "Check whether the server ran before its host died: openstack server event list {server}"
            ),
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
                "Run the same command again, so that the run reads the server again. The server left its host while "
                "the "
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
    ),
    Code(
        "SG711",
        "error-after-move",
        BLOCKER,
        "Nova shows ERROR for a server whose QEMU still runs.",
        overridden_by="the server's uuid",
        override=(
            "Even with the override, the run does not move a server in ERROR, because Nova refuses to "
            "move such a server."
        ),
        remedies={
            "place-undecided": HANDS_OFF,
            "possible-hosts-unread": Remedy(
                "Make sure that the run can read {hosts}, then run the same command again. Do not reboot the server, "
                "because the server's QEMU may run on a host that the run could not read."
            ),
            "on-no-host-that-was-read": Remedy(
                "Make sure that the run can read {hosts}, then run the same command again. The server's "
                "QEMU runs on none of the hosts that the run has read."
            ),
            "on-no-host": Remedy(
                "Start the server again (openstack server reboot --hard {uuid}), because the server's QEMU does not "
                "run "
                "on any host.",
                acts=(Act((REBOOT, START), "its QEMU runs on no host", (EVERY_HOST,), NOTHING),),
            ),
            "on-several-hosts": Remedy(
                "Do not reboot the server, because QEMU processes of the server run on {hosts}. On each of these "
                "hosts, "
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
                "Reset the server's state, then pause the server: openstack server set --state active {uuid}; "
                "openstack "
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
                "Reset the server's state (openstack server set --state active {uuid}), because the server's QEMU "
                "runs on "
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
    ),
    Code(
        "SG712",
        "database-lock",
        INFO,
        "The lock in the database cannot prevent two concurrent runs. Only the lock on the compute host prevents "
        "concurrent runs.",
        remedies={
            "lock-not-exclusive": Remedy(
                "If every run uses this version of the collection, no action is needed: the journal on the host "
                "prevents "
                "two runs from working on the host at the same time. A run of version 0.1 of the collection ignores "
                "this "
                "protection."
            ),
        },
    ),
    Code(
        "SG713",
        "left-by-a-move",
        WARNING,
        "A move has left something behind that a later move stumbles over, or starts from.",
        from_hosts=True,
        overridden_by="the server's uuid",
        remedies={
            "allocation": _ALLOCATION,
            "provider-without-node": Remedy(
                "For each consumer, find out where its server is (openstack server show CONSUMER), and remove only "
                "this provider's part of its allocation (openstack resource provider allocation unset --provider "
                "{provider} CONSUMER). When resource provider {provider} has no allocations, delete it (openstack "
                "resource provider delete {provider}).",
                acts=(
                    Act(
                        (DELETION,),
                        "the provider's compute node is deleted in its cell, and no compute node has its uuid",
                        (PROVIDERS, SERVICES),
                        "the stale part of allocations, then the provider",
                    ),
                ),
            ),
            "binding": Remedy(
                "When nothing migrates any more, let neutron remove the bindings that failed live migrations have left "
                "(neutron-remove-duplicated-port-bindings; first with dry_run of [cli_script]), then run the same "
                "command again.",
            ),
            "resize-snapshot": Remedy(
                "Do not resize or cold-migrate server {uuid}, and do not revert a resize of it. If openstack server "
                "migration list --server {uuid} shows that no resize waits for its confirmation, remove the snapshot "
                "(rbd snap rm {snapshot}).",
                acts=(
                    Act(
                        (DELETION,),
                        "no migration of the server is under way or waits for its confirmation",
                        (MIGRATIONS, WATCHERS),
                        "the state of the disk before a resize that has ended",
                    ),
                ),
            ),
            "resize-may-have-left-snapshot": Remedy(
                "The last resize or cold migration of the server failed after it had left its source, and may have "
                "left its snapshot: look (rbd snap ls {image}), and remove it if it is there (rbd snap rm "
                "{image}@{snapshot}): with it, the next one ends in ERROR. Then override SG713 for server {uuid}.",
                acts=(
                    Act(
                        (DELETION,),
                        "the last resize of the server is in error, and the server is not on its source any more",
                        (MIGRATIONS, PEOPLE),
                        "the state of the disk before a resize that has ended",
                    ),
                ),
            ),
            "directory": Remedy(
                "Run return_host for {host}: it moves these directories of {path} aside, and deletes nothing. Until "
                "then, each live migration of these servers to {host} fails."
            ),
            "directory-with-files": Remedy(
                "Do not move, evacuate or unshelve these servers to {host}. Look at the files in the directory on "
                "{host}, below {path}: where images are files, Nova takes this old disk for the server's own. If "
                "the server has its disks elsewhere and nobody needs the files, rename the directory on {host}: "
                "mv UUID UUID.aside."
            ),
            "unread": Remedy(
                "Make sure that the run can read instances_path of nova-compute on this host, then run return_host "
                "again: a directory that a move left there makes each move of its server back to this host fail."
            ),
            "directory-of-resize": Remedy(
                "Do not resize or cold-migrate these servers from {host}: the next resize deletes UUID_resize, and "
                "what a failed resize left in it may be the only copy of a disk. Look at it on {host}, below {path}. "
                "To keep it from Nova, rename it: mv UUID_resize UUID_resize.aside."
            ),
            "directory-of-busy-server": Remedy(
                "Leave these directories of {path} on {host} as they are: their servers have a task, and a revert or "
                "an unshelve may need them. When the tasks have ended, run the same command again."
            ),
        },
    ),
    Code(
        "SG714",
        "arrival-not-certain",
        BLOCKER,
        "It is not certain that the server has arrived where its guest runs.",
        absolute=True,
        of_server=True,
        remedies={
            "unread": Remedy(
                "Make sure that the run can read every compute host of the server's cell, then run the same command "
                "again. Leave the server as it is until then."
            ),
            "not-certain": Remedy(
                "Leave the guest as it is, and keep the server locked. The evidence lists the conditions that do not "
                "hold. Wait until nothing of the server is in progress, then run the same command again, or choose "
                "another way out on the page of SG132."
            ),
        },
    ),
)
