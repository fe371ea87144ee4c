# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What moves leave behind that succeed, fail, are aborted, or lose their last step: a table, worst loss first. Pure.

Read from Nova 27 to 34 and neutron. C(docs/reference/leftovers.md) is made of it. What is not judged says why.
"""

from __future__ import annotations

import dataclasses
import typing as t

NOBODY = "not judged"
AUDIT, RETURN, DRAIN, RENAME = "audit", "return_host", "drain_host and migrate_server", "rename_host by drain"


@dataclasses.dataclass(frozen=True)
class Leftover:
    """One row. ``left``: what stays, ``by`` which move; ``loss``: what it does later; ``done``: what may be done.

    ``code``: under which it is found, None: not judged; ``found_by``: who looks; ``source``: where in Nova or neutron.
    """

    left: str
    by: str
    loss: str
    code: t.Optional[str]
    found_by: t.Tuple[str, ...]
    done: str
    source: str


LEFTOVERS: t.Tuple[Leftover, ...] = (
    Leftover(
        "a QEMU of the server on its old host",
        "evacuation",
        "two writers on one disk when the host comes back",
        "SG108",
        (AUDIT, RETURN),
        "`return_host` ends the domain while Ceph refuses the host",
        "compute/manager.py, _destroy_evacuated_instances",
    ),
    Leftover(
        "the definition of the server on its old host",
        "resize or cold migration that failed on its destination",
        "whoever starts it there has two writers on one disk",
        "SG108",
        (AUDIT, DRAIN, RENAME),
        "named with the command that removes the definition and keeps the NVRAM",
        "compute/manager.py, _resize_instance; libvirt/driver.py, _cleanup_resize",
    ),
    Leftover(
        "requests of owners in the old host's queue",
        "evacuation, rename",
        "the next start executes them: a second QEMU, a stopped guest, a detached volume",
        "SG329",
        (AUDIT, RETURN, "rename_host", "evacuate_host"),
        "`evacuate_host`, `return_host` and `rename_host` remove them",
        "compute/rpcapi.py; the queue compute.HOST",
    ),
    Leftover(
        "the source as the server's host",
        "live migration whose last database write was lost",
        "a hard reboot starts a second QEMU on the source",
        "SG132",
        (AUDIT, DRAIN, RENAME),
        "`repair_links` with `repair_action=arrived` corrects it, if all is certain (SG714)",
        "compute/manager.py, _post_live_migration and post_live_migration_at_destination",
    ),
    Leftover(
        "`UUID/` with a disk, where images are files",
        "evacuation, failed migration, shelve",
        "an evacuation or unshelve to that host takes the old disk for the server's own; a live migration to it fails, "
        "and its rollback deletes the directory",
        "SG713",
        (AUDIT, RETURN, DRAIN, "evacuate_host", "resize_server"),
        "named, and nobody is sent there; a disk is never moved",
        "libvirt/driver.py, instance_on_disk, rollback_live_migration_at_destination; libvirt/imagebackend.py, cache",
    ),
    Leftover(
        "the RBD snapshot `nova-resize`",
        "resize or cold migration that failed on its destination, or whose confirmation failed",
        "the next resize ends in ERROR on its destination; a revert rolls the disk back to it",
        "SG713",
        (AUDIT, DRAIN, "resize_server", RENAME),
        "named with the command that removes it; the audit sees the snapshot, moves and resizes see the record",
        "libvirt/driver.py, _create_and_inject_local_root and finish_revert_migration",
    ),
    Leftover(
        "`UUID_resize/`",
        "resize or cold migration whose confirmation or revert failed",
        "the next resize from that host deletes it, whatever is in it",
        "SG713",
        (AUDIT, RETURN),
        "`return_host` renames it, if the server is elsewhere and no resize waits for its confirmation",
        "libvirt/driver.py, _cleanup_failed_instance_base",
    ),
    Leftover(
        "`UUID/` without a disk",
        "evacuation with RBD, reverted resize, failed live migration",
        "each live migration of the server to that host fails (DestinationDiskExists), and deletes it",
        "SG713",
        (AUDIT, RETURN, DRAIN),
        "`return_host` renames it to `UUID.stackguard-OPERATION`; until then nobody is sent there live",
        "libvirt/driver.py, cleanup and pre_live_migration",
    ),
    Leftover(
        "an evacuation record that is `done`",
        "evacuation",
        "the next start of nova-compute on the source destroys the domain of that name, also of a server that is back",
        "SG509",
        (AUDIT, RETURN, "rename_host", DRAIN),
        "one start of nova-compute completes it; `return_host` says when",
        "compute/manager.py, _destroy_evacuated_instances",
    ),
    Leftover(
        "entries on Ceph's blocklist, the hold of the compute service",
        "evacuation by this collection",
        "the host's guests cannot write; no server is scheduled to the host",
        "SG515",
        (AUDIT, RETURN),
        "`return_host` removes both",
        "ours",
    ),
    Leftover(
        "guard snapshots",
        "evacuation by this collection",
        "the image of a deleted server stays",
        "SG508",
        (AUDIT,),
        "resuming the evacuation removes them",
        "ours",
    ),
    Leftover(
        "the allocation of a migration that has ended, or of a server on the old host",
        "resize whose confirmation or revert failed, evacuation",
        "the host looks full; its provider survives the deletion of its compute service, and stops a rename by drain",
        "SG713",
        (AUDIT, RETURN, RENAME),
        "`return_host` removes that of a migration that has ended, unless its server is on the host and holds nothing "
        "itself; any other is named with the command that removes it",
        "compute/manager.py, _confirm_resize; scheduler/client/report.py, delete_resource_provider",
    ),
    Leftover(
        "the allocation of a server of the host, held by its migration",
        "resize or live migration whose revert or rollback could not give it back",
        "the host looks full; without it, the host's memory is given away twice",
        "SG713",
        (AUDIT, RETURN, RENAME),
        "named with the commands that give it back to the server",
        "compute/manager.py, _revert_allocation, finish_revert_snapshot_based_resize_at_source",
    ),
    Leftover(
        "a root provider without a compute node",
        "removal of a host with allocations",
        "the next nova-compute of that name cannot create its provider",
        "SG713",
        (AUDIT,),
        "named with its consumers, and with all else that its host has left (SG331), if its uuid was a compute node's "
        "and it has a trait of Nova; if the node's row was archived, it is listed as unchecked",
        "scheduler/client/report.py, delete_resource_provider",
    ),
    Leftover(
        "a port bound to the old host",
        "live migration or evacuation whose last step was lost",
        "the guest has no network",
        "SG306",
        (AUDIT, RETURN),
        "named with the command that binds it",
        "network/neutron.py, _update_port_binding_for_instance",
    ),
    Leftover(
        "an inactive port binding on a destination",
        "live migration that failed, or was aborted before its rollback",
        "each live migration of the server to that host fails: neutron has the binding already (409)",
        "SG713",
        (AUDIT, DRAIN, RENAME),
        "nobody is sent there live; named with neutron's command that removes it; the audit looks for it if "
        "`neutron_db_url` is set",
        "network/neutron.py, bind_ports_to_host; neutron, PortBindingAlreadyExists",
    ),
    Leftover(
        "connections of Cinder volumes on the wrong host",
        "failed spawn of an evacuation, failed live migration",
        "where an array exports to hosts, the next hard reboot ends in ERROR, and an export stays open",
        "SG524",
        (AUDIT, RETURN, DRAIN, "evacuate_host"),
        "the next move connects them anew; else named with the commands that do",
        "compute/manager.py, _rollback_live_migration; volumes of an array that exports to a host",
    ),
    Leftover(
        "attachments of Cinder volumes that no server uses",
        "every move whose nova-compute ended between two requests to Cinder",
        "the volume stays `reserved` after it is detached, and can't be deleted",
        "SG525",
        (AUDIT, DRAIN, "evacuate_host"),
        "named with the command that deletes them",
        "compute/manager.py, detach and attach of an evacuation and a cold migration; virt/block_device.py",
    ),
    Leftover(
        "devices that `pci_devices` says the server has",
        "resize or live migration that failed in the claim",
        "the device is missing on the host",
        None,
        (),
        "the resource tracker frees them at its next pass; only their link to the compute node is judged",
        "compute/resource_tracker.py, _update_available_resource; pci/manager.py",
    ),
    Leftover(
        "NVRAM of the server, below `/var/lib/libvirt`",
        "evacuation",
        "a server with UEFI that comes back cold starts with the firmware variables that it had there",
        None,
        (),
        "`return_host` keeps it where it ends a domain, and nothing looks for it later",
        "libvirt/guest.py, delete_configuration; libvirt takes the file of the domain's name",
    ),
    Leftover(
        "libvirt secrets, taps, mediated devices",
        "every move that fails on the destination",
        "nothing is lost; a mediated device may be short",
        None,
        (),
        "agents and the next start clean up",
        "libvirt/driver.py, _cleanup_ephemeral_encryption_secrets and _recreate_assigned_mediated_devices",
    ),
)
