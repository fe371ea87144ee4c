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
_PIN_UNREAD = (
    "Make sure that the run can read the server's availability zone pin. The API shows the pin from microversion 2.96 "
    "on; for an older Nova, set nova_api_db_url."
)
_ONE_ZONE = "Put the server's host into exactly one zone, and make sure that the run can read the aggregates."
_MASAKARI = (
    "Pause Masakari for this host: openstack segment host update --on_maintenance true SEGMENT HOST. After the "
    "operation, resume Masakari for this host: openstack segment host update --on_maintenance false SEGMENT HOST."
)
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
_LEAVE_OUT = "Leave the server out (evacuate_partial=true): it stays on the dead host, and you can recover it later."
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
        why="""
            During a task, Nova writes the server's row, and may overwrite what an operation changes there. While
            nova-compute is stopped, no task ends: its request waits in RabbitMQ, and the next start executes it,
            wherever the server is by then ([SG329](SG329.md)). So don't reset such a server by hand. With the task
            `migrating`, it may have arrived already ([SG132](SG132.md)). In an audit, this is information.
        """,
        do="""
            An evacuation resets tasks with `evacuate_reset_states=[task]`, once the host is proven dead ([what is
            lost](SG519.md)):

            | task | reset |
            |---|---|
            | `powering-on`, `powering-off`, `resuming`, `suspending` | only if its request was removed from RabbitMQ |
            | `rescuing`, `unrescuing` | the same |
            | reboot, pause, password change, snapshot, shelve | yes: on a host that the server has left, it fails |
            | `deleting`, `rebuilding`, `migrating`, `resize_*`, `spawning` | never: disks may be half there, or moved |
        """,
        remedies={
            "evacuee-without-destination": Remedy(
                "Set evacuate_reset_states=[task]. The run first verifies that the host is dead, then resets "
                "tasks such as a reboot or a snapshot. The request of a start, stop, suspend, resume, rescue or "
                "unrescue waits in RabbitMQ until nova-compute of the host starts again: the run resets these "
                "tasks only if it can read RabbitMQ (nova_api_db_url or stackguard_rabbit_urls) and remove the "
                "request. The run never resets the task of an evacuation, migration or deletion (see SG702)."
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
                "Reset the server's state (openstack server set --state active {uuid}): the request that set its "
                "task state was lost, and nova-compute will never execute it. Then run the same command again.",
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
        why="""
            nova-compute keeps the names of both hosts in memory during a migration, and its record has both: a rename
            makes them wrong. In an audit, this is information.

            The record of an evacuation stays open if its destination died or nova-compute restarted there in the
            middle, and the server keeps its allocations there ([evacuations](../guides/evacuate.md)). `return_host`
            only warns if the server is `active` or `stopped` on its destination with no task: RabbitMQ lost the
            request, and it was sent again, or nova-compute restarted. The next start on the returning host closes the
            record.
        """,
        do="""
            A live migration is aborted with `openstack server migration abort SERVER MIGRATION`.
        """,
        remedies={
            "evacuee-without-destination": Remedy(
                "Follow the remedy of SG702 (docs/codes/SG702.md), because the server has an unfinished migration."
            ),
            "under-way": Remedy("Wait until the migration ends, or abort the migration."),
            "evacuation-under-way": Remedy(
                "Wait until the migration ends. It never ends if nova-compute on {destination} died or restarted "
                "after it began. If the migration never ends and {destination} does not answer, fence "
                "{destination}. If the migration never ends and {destination} answers, look for the server's "
                "domain there (virsh domstate {server}). If the domain runs there, leave the server out "
                "(evacuate_partial=true): it is the guest's only copy, see the page of SG132. Only if no domain "
                "of the server can run on {destination}, remove the server's allocation on {destination} "
                "(openstack resource provider allocation unset --provider PROVIDER_UUID {server}), reset the "
                "server's state (openstack server set --state active {server}), override this finding, and run "
                "the same command again.",
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
                _LEAVE_OUT
                + " The migration may never end, because one of its hosts is dead. To evacuate the server anyway, "
                "verify that no domain of the server runs on {destination} (virsh list --all). If none does, "
                "override this finding in stackguard_overrides (object: {migration})."
            ),
            "evacuated-server-has-arrived": Remedy(
                "No action is needed: the server is on the destination, and is running or stopped. nova-compute "
                "on this host (the source of the migration) closes the migration record when it starts."
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
                "Wait until the migration to this host ends: the server must not arrive while the run empties the host."
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
        why="""
            To confirm or revert, Nova sends requests to the hosts in the migration record, and a revert copies the name
            of the source from it into the server's row. A revert needs nova-compute on both hosts: it starts where the
            server is, and ends where it was. A confirmation needs it only where the server was. A server in the state
            `resized` counts even without a migration. In an audit, this is information.
        """,
        do="""
            The owner confirms with `openstack server resize confirm UUID`, and reverts with `openstack server resize
            revert UUID`.
        """,
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
                "Before you run this playbook, ask the owner to confirm or revert the resize."
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
                "Ask the server's owner to confirm or revert the resize: a revert brings the server back to this host."
            ),
        },
    ),
    Code(
        "SG704",
        "service-disabled",
        WARNING,
        "The compute service is disabled, forced down or not up.",
        overridden_by="the finding's object",
        why="""
            After an operation, the state of the compute service shows whether it succeeded. One that is unhealthy
            before can't show that. A service that is up but disabled is a warning, and stays disabled after a rename or
            a drain. Before a rename, a move or a drain, one that is down or forced down, or whose unit is masked, is a
            blocker.
        """,
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
                "Find out who disabled the compute service, and why. A rename does not enable it: at its end, "
                "the rename restores the disabled status and the disabled reason."
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
                "No action is needed: the disabled reason shows no evacuation by this collection, so return_host "
                "leaves the service unchanged."
            ),
            "source-of-move-down": Remedy(
                "Start nova-compute on this host: Nova moves guests only from a host on which it runs. If the "
                "host is dead, run evacuate_host instead.",
                acts=(
                    Act(
                        (START,),
                        "the service of a host that is to be emptied is down",
                        (SERVICES, FORECAST),
                        NOTHING,
                    ),
                ),
            ),
            "disabled-meanwhile": Remedy(
                "Find out who has disabled the compute service of {host} since the maintenance began, and why: the "
                "disabled reason is not that of the maintenance. When nothing speaks against the host any more, run "
                "enable_host for it."
            ),
            "forced-down": Remedy(
                "Find out who forced the compute service of {host} down: the host may have been evacuated. If it was, "
                "run return_host for it. If it was not, let whoever forced it down take that back, then run the same "
                "command again."
            ),
            "not-up-after-work": Remedy(
                "Find out from the log of nova-compute on {host} why it does not report itself, then run the same "
                "command again."
            ),
            "silent-since-start": Remedy(
                "Wait a minute, then run the same command again: nova-compute on {host} has not reported itself since "
                "it started. If it still does not, compare the clocks of the host and of the controllers, and look "
                "at its log."
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
        why="""
            Nova's tables differ between releases, and so does what nova-compute checks and destroys at its start. For
            an unknown release, the rules of this collection may be wrong. Compared with one another and with the known
            releases are the schema revisions, `services.version`, the API's highest microversion and the version of the
            Nova package. Before Nova 27, a rename in place isn't possible.
        """,
        remedies={
            "schema-unknown": Remedy(
                "Use a version of this collection that supports this Nova release. This version of the collection "
                "repairs "
                "nothing in this cell."
            ),
            "cloud-release-unknown": Remedy(
                "Before you change anything, install a version of this collection that supports the Nova release "
                "in the evidence. Until then, this version reads facts, but changes nothing."
            ),
            "host-release-unknown": Remedy(
                "Use a version of this collection that supports this release of nova-compute."
            ),
            "releases-contradict": Remedy(
                "Finish the upgrade of Nova first: the database schemas and the API come from different releases."
            ),
            "installed-not-running": Remedy(
                "Restart nova-compute first, so that it runs the installed release. To stay on the release that "
                "it still runs, install the packages of that release instead.",
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
                "Upgrade the databases first: nova-compute is newer than the database schema of its cell."
            ),
            "stopped-not-offered": Remedy(
                "Use evacuate_target_state=keep. evacuate_target_state=stopped needs the microversion 2.95, which this "
                "Nova release does not offer."
            ),
            "release-unknown-before-rename": Remedy(
                "Find out which Nova release runs on this host: the steps of the rename depend on it."
            ),
            "release-finds-node-by-name": Remedy(
                "Use rename_strategy=drain. This Nova release finds a compute node only by the node's name, and "
                "would not find it after a rename in place."
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
            "`object`: the finding's object. None helps against a journal that this version doesn't understand: "
            "the run refuses to start."
        ),
        do="""
            Run the operation's playbook with the action `status`, which changes nothing. Then finish it, with the same
            host or server names as at its start:

            | operation | action |
            |---|---|
            | rename | `rename_action=resume` or `rollback` |
            | evacuation | `evacuate_action=resume` or `abort`; each dead host has its own journal |
            | return of a host | `return_action=resume` or `abort` |
            | drain | `drain_action=resume` or `rollback` |
            | migration | `migrate_action=resume` or `rollback` |
            | resize | `resize_action=resume` or `rollback` |
            | repair of links | `repair_action=resume` or `rollback` |

            A drain and an evacuation leave the service disabled. If nothing is open any more, enable a drained host
            (`openstack compute service set --enable HOST nova-compute`), and bring an evacuated one back with
            `return_host`, which refuses while its evacuation is open.

            To resume an evacuation, leave out `evacuate_servers`: an open one keeps its servers. Once you have begun to
            abort it, only `abort` is accepted.

            For several clouds, give each its own `stackguard_state_dir`: a journal of another cloud is refused (by the
            id of the compute service in keystone's catalog and the region; `repair_links`: by the uuids of the cells).
            If only the identity of this cloud has changed, set `cloud_id` in the journal to what the message shows for
            this run.
        """,
        why="""
            An unfinished operation may have made only some of its changes. Begin a second one, and its rollback
            restores that, not what was before the first. Open is each `*.json` in `stackguard_state_dir` on
            `stackguard_state_host` or in the host's own directory of journals, and each compute service with a disabled
            reason `stackguard:...`.

            ### A journal that this version does not understand

            Another version wrote the file, or it is damaged. What its operation has changed can't be seen, so every
            operation with journals in this directory refuses to begin, resume, roll back, abort or report its status,
            for all hosts. The finding has the path, the reason, and the version that finishes the operation:

            | journal | finish the operation with |
            |---|---|
            | `evacuate.json`, or another without `plan_sha256` in `about` | version 0.1 |
            | `zone-pins.json` | version 0.2.0: module `server_zone_pin`, `action: resume` or `rollback` |
            | with `collection_version` | that version |
            | with a `schema` above 1 | the newer version that wrote it |
            | a damaged file | the version that wrote it; restore the file from a backup first |

            Pins have no open operation in this version: run `pin_servers` again, or use `pin_action=restore`. Only
            version 0.1 rolls back a repair of links that version 0.1 has finished.

            If you know that the operation has ended, move the file to another directory. Before you move that of an
            evacuation, make sure on every host that no guest runs twice: the file has the blocklist entries and guard
            snapshots of the evacuation.
        """,
        remedies={
            "disabled-by-evacuation": Remedy(
                "Run evacuate_host with evacuate_action=status for this host. If the evacuation is open, resume or "
                "abort "
                "it. If the evacuation has ended, repair the host, then run return_host."
            ),
            "disabled-by-drain": Remedy(
                "Run drain_host with drain_action=status for this host. If the drain is open, resume it or roll it "
                "back. If the drain has ended and you want Nova to start servers on the host again, run enable_host."
            ),
            "disabled-by-maintenance": Remedy(
                "Run maintain_hosts with maintain_action=status. If the series is open, resume it, or end it with "
                "maintain_action=abort. A host that stays disabled after that is proven and enabled by enable_host."
            ),
            "disabled-by-rename": Remedy(
                "Run rename_host with rename_action=status for this host, then resume the rename or roll it back."
            ),
            "disabled-by-operation": Remedy(
                "Read the id of the operation in the disabled reason, and find out which playbook began it. Run "
                "that playbook with its action option set to status (for example, migrate_action=status). Then "
                "use the same playbook to resume the operation or to roll the operation back."
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
        do="""
            Wait until the run that works on the host ends, or resume its operation, with `stackguard_state_host` set to
            the machine that has the journal. If it began on another Ansible controller, first make sure that its run
            has ended, then add `-e stackguard_take_over=true`.

            A rename whose run was killed is taken over at once on the same controller. On another one, it takes a
            minute from the last request that the host handled (the message counts down), or `-e
            stackguard_take_over=true`. If the host still executes a request of the old run, the new one waits up to 30
            seconds, then fails and shows the process: wait until that has ended.

            If the journal of an evacuation is lost, verify that its servers run on other hosts and that no migration of
            them is open:

                stackguard_overrides:
                  - {code: SG707, object: compute1, reason: "the journal is lost; its servers run elsewhere"}
        """,
        why="""
            Each of two runs on one host would take the unfinished changes of the other for the state of the host. If
            you take over from a run that is alive, it ends as soon as it tries to write to the journal.

            Held is a host whose service is disabled as `stackguard:...` of another operation. A rename holds it while
            its run is active on this controller, while the host executes its request or has handled one within the last
            minute, and while its lock in the API database is taken. `return_host` needs the journal of the evacuation:
            it may be open on another controller, and need the blocklist entries that a return removes.
        """,
        remedies={
            "held-by-operation": Remedy(
                "Wait until the other operation on this host ends, or resume it. The journal of a rename is on "
                "this host. The journals of other operations are on stackguard_state_host."
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
        why="""
            While nova-compute is stopped, its service is down, and Nova allows an evacuation. If automation uses that,
            a second copy of every guest starts on another host. Masakari shows in the service catalogue
            (`instance-ha`); pacemaker, InstanceHA and your own scripts never do, so they are only mentioned, as
            information. It is a blocker in an evacuation if the disabled reason says that Masakari or InstanceHA is at
            work on the host.
        """,
        remedies={
            "masakari": Remedy(_MASAKARI),
            "masakari-at-evacuation": Remedy(_MASAKARI),
            "none-detected": Remedy(
                "Pause all software that evacuates or fences automatically (pacemaker, InstanceHA, your own "
                "scripts): the run cannot detect it."
            ),
            "recovery-runs": Remedy(
                "Wait until Masakari has finished the recovery of this host, or stop Masakari for this host. Then run "
                "the "
                "same command again."
            ),
            "recovery-ended": Remedy(
                "Verify that Masakari does not start another recovery of this host: it has ended one, but "
                "servers are still on the host."
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
            "An in-place rename accepts none for the systemd unit of an L2 agent (`HOST:agent unit`): set "
            "`rename_agent_units`. None passes a source host that answers and doesn't say what runs on it."
        ),
        do="""
            Fix the cause in the evidence: rights, options, or the connection. For a volume in Ceph:

                ceph auth get client.nova      # write down all its caps: the next command replaces them
                ceph auth caps client.nova mon 'OLD MON CAPS' osd 'OLD OSD CAPS, profile rbd-read-only pool=volumes'

            Or set `stackguard_volume_pools` to the pools that Cinder uses. For a volume on iSCSI, FC or NFS, make sure
            on the storage that no other host uses it, then override SG709 for the server: that also passes the check
            after it has arrived. If libvirt's new host name isn't known because only some hosts were read, set
            `rename_hypervisor_hostname`.
        """,
        why="""
            What wasn't read may be the one fact that saves a guest, so a source that can't be read is never taken as
            empty. The object names what is missing, such as `HOST:PART`, `api:servers`, `ceph:FSID:POOL` or
            `operations`. If a run ends before any check has a result, the reason is under `unchecked`.

            | before | not read, or not explained | what could happen |
            |---|---|---|
            | an evacuation | a server that only placement knows | it is forgotten: its cell may not answer |
            | | the migrations in progress | two servers get the same memory |
            | | who has an image or a volume open | two clients write to it |
            | | the guests of a host that answers | they run twice |
            | | the addresses of Ceph's managers and MDS | one of them goes on the blocklist |
            | `pin_servers`, moves by name or expression | a cell | its servers are missing |
            | a rename by drain | a consumer of the host's allocations | its resource provider stays |

            Nova leaves the servers of a silent cell out of each filtered or paged list: an empty list counts only if
            placement has no allocation on the host. A volume that is in none of the pools is reported, unless libvirt
            shows that it isn't in Ceph; that is checked before every fence, and after arrival. An address that only
            locks show could be a manager's or MDS's. A rename by drain looks for consumers again before it deletes the
            compute service, and no override passes that.
        """,
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
                "Make sure that the run can collect facts from at least one host with access to this Ceph pool, "
                "then run the same command again."
            ),
            "images-not-looked-for": Remedy("Make sure that the run can read Ceph through at least one host."),
            "landing-unread": Remedy(
                "Make sure that the run can read the destination host, then run the same command again."
            ),
            "ports-unread-after-landing": Remedy("Restore the connection to neutron, then check the ports."),
            "ceph-daemons-unread": Remedy(
                "Set stackguard_ceph_infrastructure=[...] to the addresses of the managers and MDS, or let the "
                "Ceph user read these addresses. The following command replaces all caps of the user, so it must "
                "contain the user's existing caps for mon and osd (ceph auth get client.NAME shows the caps): "
                'ceph auth caps client.NAME mon \'EXISTING MON CAPS, allow command "mgr dump", allow command "fs '
                "dump\"' osd 'EXISTING OSD CAPS'"
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
                "Run the same command again: the servers of the host changed while the run was reading the cloud."
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
            "proof-unread": Remedy(
                "Make sure that the run can read the items of {host} that the evidence lists as not read, then run "
                "the same command again. Until then, the host stays disabled."
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
                "Give the Ceph user in stackguard_ceph_user the Ceph profile rbd for the pool of the image, so "
                "that the run can read the image. Then run return_host again. Or verify that no other client has "
                "the disk open and that a running guest can write to its disk, then override this finding for "
                "the image."
            ),
            "move-undecided": Remedy(
                "Make sure that the run can read the items that the evidence lists as not read, then run the same "
                "command "
                "again."
            ),
            "host-without-single-zone": Remedy(_ONE_ZONE),
            "consumer-not-listed": Remedy(
                "Make sure that the server's cell answers. If the server no longer exists, verify that its allocation "
                "is "
                "left over from an old move (openstack resource provider allocation show {uuid}), then override this "
                "finding for the server's id."
            ),
            "cells-silent-for-pins": Remedy(
                "Make sure that the database and the message queue of every cell respond, then run the same "
                "command again."
            ),
            "cell-of-server-silent": Remedy(
                "Restore the connection to the database of the server's cell, then run the same command again."
            ),
            "pin-unread": Remedy(_PIN_UNREAD),
            "host-of-pin-without-single-zone": Remedy(_ONE_ZONE),
            "asked-servers-unread": Remedy(_APIS_ANSWER),
            "pin-unread-for-resize": Remedy(_PIN_UNREAD),
            "zone-of-shelved-unread": Remedy(
                "Make sure that the APIs of Nova and Cinder answer, and set nova_api_db_url before Nova 29. Then run "
                "the same command again."
            ),
            "disks-of-shelved-unread": Remedy(
                "Make sure that the APIs of Glance and Cinder answer, then run the same command again."
            ),
            "apis-unread-for-drain": Remedy(_APIS_ANSWER),
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
        why="""
            Nova moves only servers that are active, paused or stopped, and unshelves only those that are shelved, from
            the image that it made of them. For some minutes after a reboot of their host, it shows servers as ACTIVE
            whose guests are off. Live-migrate such a server, and it is destroyed: Nova ends the migration as if it had
            succeeded, removes the domain on the source and with it local disks, sets the server to ERROR on the
            destination, and keeps the allocation of the migration. So the status is compared with libvirt, and
            nova-compute is asked just before (`openstack server show --diagnostics SERVER`).

            Nova evacuates only servers that are active, stopped or in ERROR, and none with a virtual TPM
            (`hw:tpm_version`, `hw_tpm_version`), a share (read from microversion 2.97 on) or an accelerator port
            (`accelerator-direct`). All that is read before the fence. A drain also reports soft-deleted servers; a
            rename by drain, servers that are in the cell database and not in the API.

            A server whose power state has changed after its evacuation is a warning if its owner may have done it. If
            `evacuate_host` or `return_host` stops before its end, its last message is under `unchecked` with this code.
        """,
        do="""
            Bring the server into a state that Nova can move, shelve and offload it, or delete it. Of a dead host,
            `evacuate_reset_states` with `paused`, `suspended` or `rescued` takes servers in these states along ([what
            they lose](SG519.md)); a server in VERIFY_RESIZE stays.

            If the guest is off and Nova shows ACTIVE, Nova corrects that itself, except if the host has no domain of
            the server: then run the audit, and follow [SG132](SG132.md) or [SG109](SG109.md).
        """,
        remedies={
            "evacuee-without-destination": Remedy(
                "If the server is PAUSED, SUSPENDED or RESCUE, set evacuate_reset_states, and accept the loss "
                "that SG519 shows. If it has a different state, leave it out (evacuate_partial=true)."
            ),
            "libvirt-unread": Remedy(
                "Make sure that the run can read libvirt on this host, then run the same command again. Until "
                "then, it is not known whether the guest runs."
            ),
            "shown-running-without-domain": Remedy(
                "Run the playbook audit for all compute hosts, and follow the remedy of SG132 or SG109 for the "
                "server. Leave the server as it is until then: Nova shows it as running on a host that has no "
                "domain of it."
            ),
            "shown-running-and-off": Remedy(
                "Wait until Nova shows the server as SHUTOFF (sync_power_state_interval, by default 10 minutes), then "
                "run "
                "the same command again."
            ),
            "place-undecided": HANDS_OFF,
            "not-on-host": Remedy(
                "Remove the server from evacuate_servers: it is not on this host.",
            ),
            "status-unfit-for-move": Remedy("Change the server's status to {statuses}. {rule}"),
            "locked-before-move": Remedy(
                "Find out who locked the server. To move the server although it is locked, override this finding."
            ),
            "landed-in-another-status": Remedy(
                "Check the server's events: openstack server event list {server}. The server has left the dead "
                "host, but does not have the expected state"
            ),
            "state-before-unknown": Remedy(
                "Check whether the server ran before its host died: openstack server event list {server}"
            ),
            "absent-or-hostless": Remedy("Leave the server out: it does not exist or has no host."),
            "not-on-drained-host": Remedy("Leave the server out: it is not on this host."),
            "without-host": Remedy("Leave the server out: it has no host, and cannot be moved without one."),
            "statuses-of-options": Remedy(
                "The options {options} allow the run to move only servers with the status {statuses}."
            ),
            "statuses-of-run": Remedy("The run moves only servers with the status {statuses}."),
            "statuses-of-resize": Remedy("Nova resizes only servers with the status {statuses}."),
            "statuses-of-unshelve": Remedy("Nova unshelves only servers with the status {statuses}."),
            "image-of-shelved-absent": Remedy(
                "Find the image that Nova made to shelve the server (openstack image list --property "
                "instance_uuid=SERVER; its name ends with -shelved). Without it, Nova sets the server to ERROR. If the "
                "image was renamed and is active, override this finding."
            ),
            "volumes-of-shelved-lost": Remedy(
                "Find out what happened to these volumes (openstack volume show VOLUME): Nova keeps those of a shelved "
                "server reserved. With a volume in another state, the server stays shelved, or starts without its data."
            ),
            "status-cannot-move": Remedy("Bring the server into a state in which Nova can move it."),
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
                "Run the same command again, so that the run reads the server again: it left its host while the "
                "run was reading the host's servers."
            ),
            "asked-server-absent": Remedy("Give the name or the uuid of an existing server."),
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
        override=("Even then the server isn't moved: Nova refuses to move a server in ERROR."),
        do="""
            `openstack server set --state active` asks for confirmation.
        """,
        why="""
            A live migration that fails sets the server to ERROR, while the guest can run on at its source. In ERROR,
            its owner can't use the API for it, and nothing can move it. With Nova 34, libvirt on the destination
            refused the connection during four live migrations: all four servers were in ERROR, their QEMUs ran on, and
            Nova's only reason was `migration error`.

            libvirt is read again on the source, on every host to which the server was sent, and on those of its zone.
            With `drain_restore_state` or `migrate_restore_state`, the run sets the server to ACTIVE and warns, but only
            if it was ACTIVE before, its QEMU runs on the host that Nova shows, every host where it could run was read
            and has no second one, and no migration or task of it is in progress.
        """,
        remedies={
            "place-undecided": HANDS_OFF,
            "possible-hosts-unread": Remedy(
                "Make sure that the run can read {hosts}, then run the same command again. Do not reboot the server, "
                "because the server's QEMU may run on a host that the run could not read."
            ),
            "on-no-host-that-was-read": Remedy(
                "Make sure that the run can read {hosts}, then run the same command again. The server's QEMU "
                "runs on none of the hosts that were read."
            ),
            "on-no-host": Remedy(
                "Start the server again (openstack server reboot --hard {uuid}): its QEMU does not run on any host.",
                acts=(Act((REBOOT, START), "its QEMU runs on no host", (EVERY_HOST,), NOTHING),),
            ),
            "on-several-hosts": Remedy(
                "Do not reboot the server, because QEMU processes of it run on {hosts}. On each of these hosts, "
                "run virsh domstate --reason {uuid}"
            ),
            "not-shown-by-libvirt": Remedy(
                "Do not reboot the server. A QEMU process of it runs on {host}, but libvirt does not show this "
                "process. On {host}, run pgrep -af {uuid}"
            ),
            "on-another-host": Remedy(
                "Leave the server as it is, and follow the page of SG132: Nova shows it on {host}, but its only "
                "QEMU process runs on {other}."
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
                "Reset the server's state (openstack server set --state active {uuid}): its QEMU runs on {host}.",
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
        why="""
            A run locks the compute host, and takes a lock in the API database (`GET_LOCK`, `pg_try_advisory_lock`). On
            Galera, this one holds on one database node only (scope `local`: `wsrep_on=ON`); Percona XtraDB Cluster
            refuses it (`refused`: error 1105, `pxc_strict_mode` ENFORCING or MASTER). The lock on the host doesn't
            depend on the database, but version 0.1 ignores it: [what two runs can do to each
            other](../guides/recovery.md).

            Not detected are MySQL Group Replication, where a lock holds on one server only, and a pooler in front of
            PostgreSQL, where it holds for one connection only. If the lock couldn't be tried, that is
            [SG709](SG709.md). `repair_links` has no lock on a host: see [what to do on Galera and Percona XtraDB
            Cluster](../reference/grants.md).
        """,
        remedies={
            "lock-not-exclusive": Remedy(
                "If every run uses this version of the collection, no action is needed: the journal on the host "
                "prevents two runs from working on the host at the same time. Version 0.1 of the collection "
                "ignores this: upgrade each Ansible controller that has it."
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
        do="""
            `return_host` renames a directory `UUID` to `UUID.stackguard-OPERATION` beside it, if it holds nothing but
            console logs and `libvirt.xml`. It deletes nothing. Every other one it names, and then it doesn't end as
            `clear`: look at the files, and rename the directory yourself.
        """,
        why="""
            Nova leaves a server's directory in `instances_path` of its old host after an evacuation with RBD, and after
            moves that failed. Weeks later,

            - a live migration back to the host fails ("The supplied disk path (...) already exists, it is expected not
              to exist"), and its rollback deletes the directory with all that is in it;
            - where images are files, an evacuation or an unshelve to the host takes the old disk for the server's own,
              and it runs with old data;
            - the next resize from the host deletes `UUID_resize`, whatever is in it.

            With a snapshot `nova-resize` on the disk, the next resize or cold migration ends in ERROR. Before one, Ceph
            isn't read: what is reported is a last resize or cold migration in `error`, if the server isn't on its
            source. The next that succeeds ends this finding.

            Directories of servers that are deleted, that move or wait for a confirmation, and those on a file system
            that other hosts may have mounted, aren't reported. [All that a move can leave](../reference/leftovers.md).
        """,
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
        why="""
            `repair_links -e repair_action=arrived` writes into Nova's database where a server is. If the guest runs
            elsewhere or twice, or something of its move is still in progress, a corrected row ends the guest, or hides
            that it is lost. So all of this must hold, before and after the server is locked:

            | condition | must hold |
            |---|---|
            | hosts | domains and QEMU processes of every compute host of the cell were read |
            | names | source and destination are each exactly one machine |
            | schema | this version knows the schema of the cell's database |
            | domain | the server has exactly one, running, on another host than Nova shows |
            | job | libvirt has none of the domain in progress |
            | migration | the last one is a `completed` live migration from the host that Nova shows to that host |
            | other migrations | none is in progress or waits for its confirmation |
            | age | the migration ended more than ten minutes ago |
            | state | the server is `active`, its task none or `migrating` |
            | node | the destination has exactly one compute node, and the host's facts prove it |
            | operation | none of this collection holds source or destination |
            | devices | no PCI device, NUMA, vGPU, vPMEM, vTPM, encrypted memory or `migration_context` |
            | volumes | the server has none |
            | allocations | the server's is on the destination, the migration's, if any, on the source |
            | bindings | each port's active one is for the destination; others at most for the source |
            | queue | no request waits for source or destination in RabbitMQ |
        """,
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
    Code(
        "SG715",
        "too-many-rows",
        BLOCKER,
        "A repair of links would change more database rows than repair_limit.",
        overridden_by="`repair_limit`",
        why="""
            Thousands of wrong rows have one cause, and a repair that does not know it may write thousands of wrong
            values. After an upgrade to 28, all `compute_id` are NULL ([SG211](SG211.md)): there the number is right.
        """,
        remedies={
            "too-many-rows": Remedy(
                "Select fewer rows (repair_hosts, repair_codes), or raise repair_limit if you know why so many are "
                "wrong. --diff shows the first rows."
            ),
        },
    ),
    Code(
        "SG716",
        "host-not-proven",
        BLOCKER,
        "The host is not what it was before its maintenance, or not fit for servers.",
        from_hosts=True,
        overridden_by="the finding's object",
        why="""
            A heartbeat proves only that nova-compute runs. Before a maintained host is enabled, it is compared with
            what it was before: machine-id, uuids of the firmware and of libvirt, all its names, `compute_id`, the place
            of its disks, memory, huge pages, CPUs, libvirt's secrets and its network agents. A host that comes back
            with another name or without its `compute_id` becomes a second compute node at its next start; one whose
            huge pages or NFS mount are missing fails each server that the scheduler sends to it.
        """,
        remedies={
            "another-machine": Remedy(
                "Find out which machine answers as {host}. If its mainboard or system disk was replaced on purpose, "
                "override this finding."
            ),
            "another-name": Remedy(
                "Give {host} back the name that the evidence shows as before, then run the same command again. The "
                "host stays disabled until then."
            ),
            "another-compute-id": Remedy(
                "Write the uuid that the evidence shows as before into compute_id of {host}, if the evidence shows no "
                "other change of the machine, then run the same command again."
            ),
            "another-storage": Remedy(
                "Find out why {host} keeps its disks elsewhere than before: a file system that is not mounted, or a "
                "changed nova.conf. Then run the same command again."
            ),
            "not-rebooted": Remedy(
                "Find out why {host} did not boot: it still has the boot id from before. Then run the same command "
                "again."
            ),
            "less-memory": Remedy(
                "Find out why {host} has less than before: a broken module, or options of the kernel such as "
                "hugepages. Then run the same command again."
            ),
            "agent-not-alive": Remedy(
                "Find out from the agent's log on {host} why neutron does not see it alive, then run the same command "
                "again."
            ),
            "secret-missing": Remedy(
                "Define the secret on {host} and set its value (virsh secret-define, virsh secret-set-value). Use the "
                "secret of another host of the zone as the pattern (virsh secret-dumpxml UUID)."
            ),
            "start-refused": Remedy(
                "Remove the cause in the evidence: nova-compute runs on {host} now, and would refuse its next start."
            ),
        },
    ),
    Code(
        "SG717",
        "ceph-not-writable",
        BLOCKER,
        "The host is not proven to be able to write to Ceph.",
        from_hosts=True,
        overridden_by="the finding's object",
        why="""
            A disk that opens is no proof that it can be written: Ceph refuses the writes of a client on its blocklist,
            of a user that may only read, and to a pool that is full. Guests then boot read-only, or not at all. So an
            object of a few bytes is written into Nova's pool with Nova's user, read back and removed.
        """,
        remedies={
            "write-failed": Remedy(
                "Find out from the reason why {host} cannot write: the caps of the user in nova.conf (profile rbd), "
                "the OSD blocklist, or the cluster's health. Then run the same command again."
            ),
            "write-not-tried": Remedy(
                "Make sure that the run can reach Ceph from {host} (python3-rbd, or the commands rbd, ceph and rados), "
                "then run the same command again."
            ),
            "on-blocklist": Remedy(
                "Find out who has put {host} on the OSD blocklist. If it was evacuated, run return_host for it."
            ),
        },
    ),
    Code(
        "SG718",
        "older-than-neighbours",
        BLOCKER,
        "The host runs older software than its neighbours, or than before, or has another CPU.",
        from_hosts=True,
        overridden_by="the finding's object",
        why="""
            Nova migrates no guest to an older QEMU, so a host that missed an upgrade takes no guest of its neighbours
            any more, and empties into nobody. A newer one is no finding. A kernel that is older than before is the
            sign of a boot from the wrong entry.
        """,
        remedies={
            "older-than-neighbour": Remedy(
                "Install on {host} the version of {program} that its neighbours have, or override this finding if the "
                "zone is to have both."
            ),
            "older-kernel": Remedy(
                "Find out why {host} runs an older kernel than before, or override this finding if it is meant to."
            ),
            "another-cpu": Remedy(
                "Compare the features of the CPU in the evidence. If it is only described anew by a newer libvirt, or "
                "is meant to differ, override this finding."
            ),
        },
    ),
)
