# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Codes SG2xx: ids that tie rows together. See code.py."""

from __future__ import annotations

import typing as t

from .code import (
    BLOCKER,
    CELLS,
    DELETION,
    FORECAST,
    LINK,
    NOTHING,
    PEOPLE,
    PROVIDERS,
    PURGE,
    RECORD,
    SERVICES,
    START,
    UPDATE,
    WARNING,
    Act,
    Code,
    Remedy,
)
from .phrases import FILE_OF_ANOTHER_HOST

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
_SERVICE_ID_NOT_ITS_OWN = Remedy(
    "Repair service_id of the compute node first (repair_links): it is not the id of the host's own compute service. "
    "If someone deletes the compute service that it points to, Nova also deletes this compute node.",
    acts=(Act((UPDATE,), "the link is wrong", (SERVICES,), LINK),),
)

CODES: t.Tuple[Code, ...] = (
    Code(
        "SG201",
        "node-without-service-id",
        WARNING,
        "compute_nodes.service_id is NULL.",
        repairable=True,
        overridden_by="the compute node's uuid",
        do="""
            Look at the repair, then run it without `--check`:

                ansible-playbook repair_links.yml -e @cloud.yml -e repair_codes=SG201 --check --diff

            It writes the id of the nova-compute service with the node's host name, if there is exactly one and no
            compute_id file contradicts.
        """,
        why="""
            When Nova deletes a service, it also deletes each compute node that has the service's id in `service_id`, or
            its host name. Without an id, Nova finds this node by the name alone. Nova 27 and earlier do not write
            `service_id`: there, SG201 is `unchecked`.
        """,
        remedies={
            "link-wrong": _SERVICE_HEALS,
            **_REPAIRS,
        },
    ),
    Code(
        "SG202",
        "service-id-dangling",
        WARNING,
        "compute_nodes.service_id is not the id of an existing compute service.",
        repairable=True,
        overridden_by="the compute node's uuid",
        do="""
            Look at the repair, then run it without `--check`:

                ansible-playbook repair_links.yml -e @cloud.yml -e repair_codes=SG202 --check --diff

            It writes what it writes for [SG201](SG201.md).
        """,
        why="""
            No row of `services` has this id, or the row is soft-deleted: Nova finds no service for the compute node.
        """,
        remedies={
            "link-wrong": _SERVICE_HEALS,
            **_REPAIRS,
            "service-id-not-its-own": _SERVICE_ID_NOT_ITS_OWN,
        },
    ),
    Code(
        "SG203",
        "service-id-of-another",
        BLOCKER,
        "compute_nodes.service_id is the id of another host's compute service.",
        repairable=True,
        overridden_by="the finding's object",
        do="""
            nova-compute 28 or later on the node's host repairs it when its periodic task has run twice since its start
            (log: `Moving ComputeNode`). Otherwise look at the repair, then run it without `--check`:

                ansible-playbook repair_links.yml -e @cloud.yml -e repair_codes=SG203 --check --diff

            It writes the id of the service of the node's own host, if the node's uuid is in the compute_id file of
            exactly one host, and that host's names in nova.conf and libvirt are the node's.
        """,
        why="""
            When Nova deletes a service, it also deletes each compute node that has the service's id or host name
            (`service_destroy`: `service_id = :id OR host = :host`): with this link, also the node of another host. Two
            names that differ only in case are names of two hosts.
        """,
        remedies={
            "link-wrong": Remedy(
                "Repair service_id of the compute node. Until the repair is finished, do not delete the compute "
                "service of "
                "the host, and do not delete the service that service_id points to. The compute node belongs to the "
                "host "
                "whose compute_id file contains the uuid of the compute node.",
                acts=(Act((UPDATE,), "the link is wrong", (SERVICES,), LINK),),
            ),
            **_REPAIRS,
            "service-id-not-its-own": _SERVICE_ID_NOT_ITS_OWN,
            "service-id-of-second-service": Remedy(
                "Set compute_nodes.service_id of this compute node to the id of the host's older compute service "
                "(playbook repair_links). Now it is the id of the host's newer compute service. If you delete that "
                "service before the repair, Nova also deletes the compute node.",
                acts=(Act((UPDATE,), "the node links to the newer service of its own host", (SERVICES,), LINK),),
            ),
            "drained-service-has-nodes-of-others": Remedy(
                "Repair the links first (playbook repair_links). The compute nodes in the evidence belong to other "
                "hosts, "
                "but link to this host's compute service. If the rename deleted this host's compute service, Nova "
                "would "
                "delete the linked compute nodes, too."
            ),
        },
    ),
    Code(
        "SG204",
        "node-without-service",
        BLOCKER,
        "A compute node's host has no compute service.",
        overridden_by="the compute node's uuid",
        do="""
            **Start nothing before the same report says that a start there destroys nothing** ([SG113](SG113.md),
            `forecast.json`). Then compare: the host name that nova-compute uses is `host` in nova.conf, or the
            kernel's host name if that is not set. It must be the node's to the letter: `Compute1` is not `compute1`.
            Another name: [the host was renamed](../guides/already-renamed.md). The same name, and no guests: start
            nova-compute.

            While the host has guests, nova-compute 29 and later refuses that start (`My hypervisor has existing
            instances, but I appear to be a new service`), and changes nothing. Then the way back is the service's
            soft-deleted row in the cell (`services.deleted`). No playbook restores it, and no test has. 28 and earlier
            make a new service with the guests in place.
        """,
        why="""
            The API does not show such a node, and the scheduler does not use it. Nova cannot manage its guests.
        """,
        remedies={
            "link-wrong": Remedy(
                "Find out which host name nova-compute on this host uses now. If it is the host name of the compute "
                "node, start nova-compute. If it is a different host name, an earlier rename may be unfinished. To "
                "finish it, run the playbook stackguard.nova.rename_host.",
                acts=(Act((START,), "the node's host has no service", (SERVICES, FORECAST), NOTHING),),
            ),
            "service-missing-before-rename": Remedy(
                "Start nova-compute under the old name. If nova-compute on this host no longer uses the old name, "
                "find out "
                "which compute service the compute node belongs to before you start nova-compute.",
                acts=(Act((START,), "the compute service of the old name is missing", (SERVICES, FORECAST), NOTHING),),
            ),
            "service-missing-before-adoption": Remedy(
                "Start nova-compute once under the name of the host's compute node. The collection cannot restore a "
                "deleted compute service.",
                acts=(Act((START,), "the service of the node is missing", (SERVICES, FORECAST), NOTHING),),
            ),
        },
    ),
    Code(
        "SG205",
        "duplicate-nodes",
        BLOCKER,
        "Several rows of compute_nodes have the same host or the same hypervisor_hostname (soft-deleted rows do not "
        "count).",
        overridden_by="the finding's object",
        do="""
            Delete a duplicate only if it has no instances, no PCI devices and no allocations.
        """,
        why="""
            Each of the two nodes has only some of the host's guests and allocations. nova-compute refuses to start if
            it finds a duplicate of its own node: `Duplicate compute node record`.
        """,
        remedies={
            "link-wrong": Remedy(
                "Keep the node whose uuid is in the host's compute_id file. Reassign the allocations, then the "
                "instances, "
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
            "another-node-with-libvirt-name": Remedy(
                "Keep the compute node whose uuid is in the host's compute_id file. Before the rename, remove the "
                "allocations of the other compute node, which this finding names.",
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
                "Keep the compute node whose uuid is in the host's compute_id file. Remove the host's other compute "
                "nodes "
                "before the rename.",
                acts=(Act((DELETION,), "several compute nodes have the host's name", (SERVICES,), RECORD),),
            ),
            "rows-in-two-cells": Remedy(
                "Remove the host's rows from the wrong cell, because a host belongs to only one cell.",
                acts=(Act((DELETION,), "two cells have rows of the host", (SERVICES, CELLS), RECORD),),
            ),
            "file-of-another-host": FILE_OF_ANOTHER_HOST,
            "several-nodes-of-both-names": Remedy(
                "Find out whether every listed compute node belongs to this machine. If all of them do, keep the "
                "compute node whose uuid is in the allocations of the host's guests. Move or remove the allocations "
                "of the other listed compute nodes, then run the same command again.",
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
                "Find out which of the compute services in the evidence belong to this host. Delete each compute "
                "service that does not (openstack compute service delete), then run the same command again.",
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
                "Find out which guests belong to the second compute node. The run removes it only if it has no "
                "guests and no allocations."
            ),
            "second-node-of-another-service": Remedy(
                "Do not start nova-compute. To remove the second compute node, delete the compute service of the "
                "second compute node. Nova deletes a compute node only together with its service.",
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
                "Check rename_from and rename_to. The second compute node can belong to another machine, because its "
                "host name is neither of them, or because its address is not an address of this host. If no machine "
                "uses its name any more, delete the compute service with that name (openstack compute service "
                "delete).",
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
    ),
    Code(
        "SG206",
        "node-identity-broken",
        BLOCKER,
        "A compute node has no uuid, or placement has no resource provider with the compute node's uuid and name.",
        overridden_by="the compute node's uuid",
        do="""
            nova-compute creates a missing resource provider itself, the next time that its periodic task
            `update_available_resource` runs. Otherwise ([SG102](SG102.md), [SG112](SG112.md)):
        """,
        why="""
            nova-compute cannot update the inventory of a compute node that has no uuid, or whose resource provider does
            not have the node's uuid and name.
        """,
        remedies={
            "link-wrong": Remedy(
                "Follow the remedy of SG102 for the compute_id file, and the remedy of SG112 for the resource provider."
            ),
            # Nova looks the provider up to delete it, and answers 500 if it is gone (scheduler/client/report.py,
            # delete_resource_provider, 26 to 34).
            "removal-without-provider": Remedy(
                "Nova deletes no compute service whose node has no resource provider. Give it one, which the removal "
                "deletes again: openstack resource provider create --uuid {node} {name}. Then run the same command "
                "again."
            ),
        },
    ),
    Code(
        "SG207",
        "deleted-node-in-use",
        BLOCKER,
        "Existing instances still link to a soft-deleted compute node.",
        since_28=True,
        overridden_by="the compute node's uuid",
        why="""
            Nova treats the node as deleted, although existing instances point to it ([SG213](SG213.md)).
        """,
        remedies={
            "link-wrong": Remedy(
                "Repair compute_id of the instances that point to this node (SG213).",
                acts=(Act((UPDATE,), "the link is wrong", (CELLS,), LINK),),
            ),
        },
    ),
    Code(
        "SG211",
        "compute-id-null",
        WARNING,
        "instances.compute_id is NULL.",
        repairable=True,
        since_28=True,
        overridden_by="the instance's uuid",
        do="""
            Look at the repair, then run it without `--check`:

                ansible-playbook repair_links.yml -e @cloud.yml -e repair_codes=SG211 --check --diff

            It writes the id of the compute node that has the instance's host and node names, if there is exactly one
            and the instance's domain was not seen running on another host. Do not rely on `nova-manage db
            online_data_migrations`: it can stop early, and can choose a soft-deleted node.
        """,
        why="""
            Nova 34 and earlier use `instances.compute_id` only to delete or count instances, and then leave this one
            out. After an upgrade from Nova 27, every instance is reported.
        """,
        remedies={
            "link-wrong": _ID_HEALS,
            **_REPAIRS,
        },
    ),
    Code(
        "SG212",
        "compute-id-dangling",
        WARNING,
        "instances.compute_id is not the id of any compute node.",
        repairable=True,
        since_28=True,
        overridden_by="the instance's uuid",
        do="""
            Look at the repair, then run it without `--check`:

                ansible-playbook repair_links.yml -e @cloud.yml -e repair_codes=SG212 --check --diff

            It writes what it writes for [SG211](SG211.md).
        """,
        why="""
            Nova 34 and earlier use `instances.compute_id` only to delete or count the instances of a compute node, and
            then leave this one out.
        """,
        remedies={
            "link-wrong": _ID_HEALS,
            **_REPAIRS,
        },
    ),
    Code(
        "SG213",
        "compute-id-of-deleted-node",
        WARNING,
        "instances.compute_id is the id of a soft-deleted compute node.",
        repairable=True,
        since_28=True,
        overridden_by="the instance's uuid",
        do="""
            If no existing compute node (one that is not soft-deleted) has the instance's host and node names, follow
            [SG216](SG216.md). Otherwise look at the repair, then run it without `--check`:

                ansible-playbook repair_links.yml -e @cloud.yml -e repair_codes=SG213 --check --diff

            It writes what it writes for [SG211](SG211.md).
        """,
        why="""
            A query of Nova that also reads soft-deleted rows finds the wrong compute node. `nova-manage db
            online_data_migrations` can write such an id.
        """,
        remedies={
            "link-wrong": _ID_HEALS,
            **_REPAIRS,
        },
    ),
    Code(
        "SG214",
        "compute-id-of-another",
        BLOCKER,
        "instances.compute_id is the id of another host's compute node.",
        repairable=True,
        since_28=True,
        overridden_by="the instance's uuid",
        do="""
            Once you know where the domain runs, look at the repair, then run it without `--check`:

                ansible-playbook repair_links.yml -e @cloud.yml -e repair_codes=SG214 --check --diff

            If the domain runs on the host in `instances.host`, it changes `compute_id`; if it runs on the host of
            `compute_id`, `host` and `node`. It changes nothing unless it has read both hosts, and the domain runs on
            exactly one of them.
        """,
        why="""
            The id and the names are of two hosts: only the domain shows which host has the instance. The next periodic
            task of nova-compute on `instances.host` overwrites `compute_id` (log: `Correcting compute_id`), even if
            `instances.host` is wrong. Of an ironic node only the name is compared, because its host changes with the
            service that manages it.
        """,
        remedies={
            "link-wrong": Remedy(
                "Find out where the instance's domain runs. Until you have repaired the instance's row, keep "
                "nova-compute "
                "stopped on the host that instances.host shows."
            ),
            **_REPAIRS,
            "compute-id-not-of-its-node": Remedy(
                "Find out where the domain of the instance runs, and repair the link (repair_links) before you do "
                "anything "
                "else."
            ),
        },
    ),
    Code(
        "SG215",
        "offloaded-with-link",
        WARNING,
        "instances.host is NULL, but instances.node or instances.compute_id is not NULL.",
        repairable=True,
        overridden_by="the instance's uuid",
        do="""
            Look at the repair, then run it without `--check`:

                ansible-playbook repair_links.yml -e @cloud.yml -e repair_codes=SG215 --check --diff

            It sets `node` and `compute_id` to NULL, if the instance is shelved_offloaded or in error, the domains of
            the hosts to which both lead were read, and no host has a domain of the instance.
        """,
        why="""
            An instance without a host belongs to no compute node. The two values may be the last trace of a QEMU that a
            failed build left behind.
        """,
        remedies={
            "link-wrong": Remedy(
                "Remove node and compute_id from the instance's row, because an instance without a host belongs to no "
                "node.",
                acts=(Act((UPDATE,), "the instance has no host", (CELLS,), LINK),),
            ),
            **_REPAIRS,
        },
    ),
    Code(
        "SG216",
        "instance-without-node",
        BLOCKER,
        "No compute node in the database matches the host and node names of an instance.",
        overridden_by="the instance's uuid",
        why="""
            A rename did not finish, or someone deleted the compute node. Nova cannot manage the instance: if its user
            deletes it, only the database changes, and the domain stays on its host. See [SG301](SG301.md).
        """,
        remedies={
            "link-wrong": Remedy("Find out where the instance's domain runs, and follow the remedy of SG301."),
        },
    ),
    Code(
        "SG217",
        "offloaded-with-host",
        BLOCKER,
        "A shelved-offloaded instance still has a host.",
        overridden_by="the instance's uuid",
        why="""
            The row of an offloaded instance should have no host. Its domain may still run on the host that the row
            shows.
        """,
        remedies={
            "link-wrong": Remedy(
                "Find the host name in the instance's row, and look for the instance's domain on that host. If the "
                "host has no domain of the instance, remove the host name from the row. If it has one, keep the host "
                "name in the row, because Nova did not remove (offload) the shelved instance from the host.",
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
    ),
    Code(
        "SG221",
        "migration-link-broken",
        WARNING,
        "The dest_compute_id of an open migration is missing or wrong.",
        repairable=True,
        since_28=True,
        overridden_by="the migration's uuid",
        do="""
            A migration that is `finished` waits for its confirmation or its revert. You can repair it now, if its
            instance has no task in progress. Look at the repair, then run it without `--check`:

                ansible-playbook repair_links.yml -e @cloud.yml -e repair_codes=SG221 --check --diff

            It writes the id of the destination's compute node, if there is exactly one.
        """,
        why="""
            A confirmation or a revert uses the ids and names in the migration record.
        """,
        remedies={
            "link-wrong": Remedy(
                "Wait until the migration ends, or confirm or revert the migration. Then repair dest_compute_id of the "
                "migration."
            ),
            **_REPAIRS,
        },
    ),
    Code(
        "SG231",
        "pci-device-of-deleted-node",
        BLOCKER,
        "A claimed PCI device belongs to a soft-deleted compute node.",
        overridden_by="the finding's object",
        do="""
            First look in the libvirt domains of the host whether a guest uses the device.
        """,
        why="""
            Nova can assign a claimed device of a soft-deleted compute node to a second server.
        """,
        remedies={
            "link-wrong": Remedy(
                "In the table pci_devices, find the other row of this PCI device, which contains the id of the "
                "host's existing compute node. Free the device in this other row. Only then archive the row of the "
                "soft-deleted compute node in the table compute_nodes.",
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
    ),
)
