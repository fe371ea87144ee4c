# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What logs and API faults say, and the finding codes that it belongs to. Pure.

:data:`ROWS` is the table; C(docs/reference/log-words.md) is made of it. The words were read in Nova 26.3.0 to 34.0.0,
placement 8.0.0 to 14.0.0, neutron 22.0.0 to 26.0.0, neutron-lib (August 2026), oslo.messaging 14.0.0 to 16.0.0, Ceph
16.2, libvirt 9.0, QEMU 7.2, OVN 23.03 and Open vSwitch 3.1.
"""

from __future__ import annotations

import typing as t

#: In words: a name, a number or anything else that differs from line to line.
ANY = "..."


class LogWords(t.NamedTuple):
    """``words``: as printed, ``log``: by whom; ``source``: where they are in the code; ``means``: with what not to do.

    ``releases``: of Nova, where these are its words; ``page``: where to read on, if not only in the codes' pages.
    """

    words: str
    log: str
    source: str
    releases: str
    codes: t.Tuple[str, ...]
    means: str
    page: str = ""


_MANAGER, _TRACKER = "nova/compute/manager.py", "nova/compute/resource_tracker.py"
_API, _EXCEPTION, _REPORT = "nova/compute/api.py", "nova/exception.py", "nova/scheduler/client/report.py"
_NODE, _DRIVER = "nova/virt/node.py", "nova/virt/libvirt/driver.py"
_SERVICES, _MANAGE = "nova/api/openstack/compute/services.py", "nova/cmd/manage.py"
_START, _COMPUTE, _FAULT = "nova-compute, at its start", "nova-compute", "Nova's API, server fault"
_ALL, _SINCE_27, _SINCE_28, _SINCE_29 = "26 to 34", "27 to 34", "28 to 34", "29 to 34"
_ADOPT = "guides/already-renamed.md"
_KEPT = "This start has destroyed nothing: keep nova-compute stopped, and do not evacuate the host"

ROWS: t.Tuple[LogWords, ...] = (
    # --- nova-compute refuses to start, or says who it is
    LogWords(
        "No local node identity found, but this is not our first startup on this host",
        _START,
        _MANAGER,
        _SINCE_27,
        ("SG101",),
        "The compute_id file is gone. Restore it with the uuid of the host's compute node. Do not delete the compute "
        "service to get a new one.",
    ),
    LogWords(
        "Upgrading from service version ... but found no nodes in the database for host ... to persist locally",
        _START,
        _MANAGER,
        _SINCE_27,
        ("SG116", "SG131"),
        f"The compute service has no compute node of this host name, usually after a rename. {_KEPT}.",
        _ADOPT,
    ),
    LogWords(
        "Multiple nodes found in database, manual node uuid configuration required",
        _START,
        _MANAGER,
        _SINCE_27,
        ("SG205",),
        "The host has several compute nodes, so Nova cannot write the compute_id file. Find out which node has the "
        "guests and the allocations before you write the file.",
    ),
    LogWords(
        "My compute node ... has hypervisor_hostname ... but virt driver reports it should be ...",
        _START,
        _MANAGER,
        _SINCE_27,
        ("SG105", "SG131"),
        f"libvirt reports another host name than the compute node has: someone renamed the host. {_KEPT}.",
        _ADOPT,
    ),
    LogWords(
        "My node ... has host ... but my host is ...",
        _START,
        _MANAGER,
        _SINCE_27,
        ("SG106", "SG131"),
        f"CONF.host differs from the compute node's host: someone renamed the host, or only its rows. {_KEPT}.",
        _ADOPT,
    ),
    LogWords(
        "My hypervisor has existing instances, but I appear to be a new service in this database",
        _START,
        _MANAGER,
        _SINCE_29,
        ("SG119", "SG131"),
        "libvirt has domains, but no compute service has this host name: the host was renamed, its service was "
        f"deleted, or nova.conf names another database. {_KEPT}.",
        _ADOPT,
    ),
    LogWords(
        "Duplicate compute node record found for host ... node ...",
        _START,
        _TRACKER,
        _SINCE_27,
        ("SG205", "SG102"),
        "The uuid in the compute_id file has no compute node, but another node has this host's names. Do not "
        "delete that node: the host's guests usually belong to it.",
    ),
    LogWords(
        "Invalid node identity configuration: Unable to parse UUID from ...",
        _START,
        f"{_EXCEPTION}, {_NODE}",
        _SINCE_27,
        ("SG104",),
        "A compute_id file does not contain a uuid. Write the uuid of the host's compute node into it.",
    ),
    LogWords(
        "Invalid node identity configuration: UUID ... in ... does not match ...",
        _START,
        f"{_EXCEPTION}, {_NODE}",
        _SINCE_27,
        ("SG103",),
        "Two copies of the compute_id file differ. Keep the uuid of the host's compute node, not the newer file.",
    ),
    LogWords(
        "Compute nodes ... for host ... were not found in the database",
        _START,
        _MANAGER,
        _SINCE_27,
        ("SG102",),
        "No compute node has the uuid of the compute_id file. This is normal only at the first start of a new host.",
    ),
    LogWords(
        "No compute node record found for host ...",
        _START,
        _MANAGER,
        _ALL,
        ("SG116", "SG106"),
        "No compute node has this host name (CONF.host). This is normal only at the first start of a new host.",
    ),
    LogWords(
        "No compute node record for host ...",
        _COMPUTE,
        _MANAGER,
        _ALL,
        ("SG116", "SG301"),
        "The running nova-compute does not find its compute node by its host name. Do not restart it before you know "
        "under which name the node is.",
    ),
    LogWords(
        "Current Nova version does not support computes older than ...",
        "all Nova services, at their start",
        _EXCEPTION,
        _ALL,
        ("SG705", "SG203"),
        "A row of services has an old version: an old host, or a forgotten one. Before you delete the service of a "
        "forgotten host, check that no compute node and no server belongs to it.",
    ),
    LogWords(
        "Hostname has changed from ... to ... A restart is required to take effect",
        _COMPUTE,
        "nova/virt/libvirt/host.py",
        _ALL,
        ("SG105", "SG131"),
        "libvirt reports a new host name. Do not restart nova-compute: from Nova 27 on it would refuse to start, "
        "and Nova 26 would delete the compute node. Set the old name back, or adopt the new one.",
        _ADOPT,
    ),
    LogWords(
        "pinned instances but has no CPUs set aside for this purpose",
        _START,
        "nova/compute/manager.py, since 34 nova/virt/libvirt/driver.py",
        _ALL,
        ("SG128",),
        "[compute] cpu_shared_set or cpu_dedicated_set is missing for the kind of guests that the host has. Correct "
        "nova.conf; the guests run on.",
        "reference/starts.md",
    ),
    LogWords(
        "This host has mixed instance requesting both pinned and unpinned CPUs but hasn't set aside",
        _START,
        "nova/compute/manager.py, since 34 nova/virt/libvirt/driver.py",
        _ALL,
        ("SG128",),
        "A guest needs CPUs of both kinds, and nova.conf sets aside one kind. Correct nova.conf; the guests run on.",
        "reference/starts.md",
    ),
    LogWords(
        "This host has instances with the vTPM feature enabled, but the host is not correctly configured",
        _START,
        "nova/compute/manager.py, since 34 nova/virt/libvirt/driver.py",
        _ALL,
        ("SG128",),
        "A guest has a virtual TPM, and [libvirt] swtpm_enabled is not set. Correct nova.conf; the guests run on.",
        "reference/starts.md",
    ),
    # --- nova-compute destroys, or skips
    LogWords(
        "Destroying instance as it has been evacuated from this host but still exists in the hypervisor",
        _START,
        _MANAGER,
        _ALL,
        ("SG113", "SG509"),
        "nova-compute ends the domain of an evacuated server. If the server has moved back to this host, this is its "
        "only copy: stop nova-compute before it goes on to the next one.",
        "guides/return.md",
    ),
    LogWords(
        "Failed to clean allocation of evacuated instance",
        _COMPUTE,
        f"{_MANAGER}, {_TRACKER}, {_REPORT}",
        _ALL,
        ("SG713", "SG509"),
        "Placement still has an allocation of an evacuated server on the node in the message. Remove only that "
        "node's part of it, and not the whole allocation of the server.",
    ),
    LogWords(
        "Instance has been marked deleted already, removing it from the hypervisor",
        _START,
        _MANAGER,
        _ALL,
        ("SG113",),
        "An evacuated server was deleted in Nova meanwhile. nova-compute ends its domain here and deletes its disks.",
    ),
    LogWords(
        "Service started deleting the instance during the previous run, but did not finish",
        _START,
        _MANAGER,
        _ALL,
        ("SG113",),
        "nova-compute finishes a deletion that was broken off, disks included.",
    ),
    LogWords(
        "instance with name label ... which is marked as DELETED but still present on host",
        _COMPUTE,
        _MANAGER,
        _ALL,
        ("SG110",),
        "libvirt has a domain whose server Nova has deleted. After the word Destroying nova-compute ends it and "
        "deletes its disks; after Detected or Powering off it keeps them (running_deleted_instance_action).",
    ),
    LogWords(
        "Deleting orphan compute node ... hypervisor host is ..., nodes are ...",
        _COMPUTE,
        _MANAGER,
        _ALL,
        ("SG113", "SG105"),
        "nova-compute deletes a compute node of this host that libvirt does not report, with all its allocations. "
        "Nova 26 to 28 do this after a rename: stop nova-compute.",
    ),
    LogWords(
        "Found orphan compute node ... hypervisor host is ..., nodes are ...",
        _COMPUTE,
        _MANAGER,
        _SINCE_29,
        ("SG205", "SG105"),
        "The host has a compute node with a name that libvirt does not report. Before you delete it, check that no "
        "instance and no allocation belongs to it.",
    ),
    LogWords(
        "Instance ... appears to not be owned by this host, but by ... Startup processing is being skipped",
        _START,
        _MANAGER,
        _ALL,
        ("SG301", "SG108"),
        "The instance's row has another host name than CONF.host (also if only upper and lower case differ), so this "
        "nova-compute leaves the guest alone.",
    ),
    LogWords(
        "Instance found in migrating state during startup. Resetting task_state",
        _START,
        _MANAGER,
        _ALL,
        ("SG132", "SG711"),
        "nova-compute was restarted during a move and clears the task. Find out on which host the domain runs before "
        "you start, reboot or reset the server.",
    ),
    LogWords(
        "Instance is unexpectedly not found. Ignore",
        _COMPUTE,
        _MANAGER,
        _ALL,
        ("SG109", "SG132"),
        "Nova has the server here, and libvirt has no domain of it. Look for its domain on the other hosts before a "
        "hard reboot: a second QEMU would write to the same disks.",
    ),
    LogWords(
        "While synchronizing instance power states, found ... instances in the database and ... instances on the "
        "hypervisor",
        _COMPUTE,
        _MANAGER,
        _ALL,
        ("SG108", "SG109", "SG110"),
        "Nova and libvirt do not have the same servers on this host. The audit says which ones.",
        "guides/audit.md",
    ),
    # --- links in the database
    LogWords(
        "Undeleting compute node ...",
        _COMPUTE,
        _TRACKER,
        _SINCE_27,
        ("SG117", "SG207"),
        "The node of the compute_id file was deleted and is back. The host may lack its host mapping: nova-manage "
        "cell_v2 discover_hosts --by-service.",
    ),
    LogWords(
        "Moving ComputeNode ... from service ... to ...",
        _COMPUTE,
        _TRACKER,
        _SINCE_28,
        ("SG202", "SG203"),
        "nova-compute corrects service_id of its node. Until then the deletion of the other service would have "
        "deleted this node.",
        "guides/links.md",
    ),
    LogWords(
        "Correcting compute_id=... from ... for instance ...",
        _COMPUTE,
        _TRACKER,
        _SINCE_28,
        ("SG212", "SG213", "SG214"),
        "nova-compute corrects compute_id of an instance that has this host and node.",
        "guides/links.md",
    ),
    LogWords(
        "Unable to migrate instance because host ... with node ... not found",
        "nova-manage db online_data_migrations",
        "nova/objects/instance.py",
        _SINCE_28,
        ("SG216",),
        "No compute node has the host and node names of the instance. Find out where its domain runs first.",
        "guides/links.md",
    ),
    LogWords(
        "uniq_compute_nodes0host0hypervisor_hostname0deleted",
        "the database (duplicate entry or unique constraint)",
        "nova/db/main/models.py",
        _ALL,
        ("SG205", "SG310"),
        "A compute node with these two names exists already. Do not delete it before you know whose guests it has.",
    ),
    LogWords(
        "uniq_services0host0binary0deleted",
        "the database (duplicate entry or unique constraint)",
        "nova/db/main/models.py",
        _ALL,
        ("SG310", "SG301"),
        "A service with this host name exists already. Do not delete it before you know whose compute node it has.",
    ),
    LogWords(
        "uniq_host_mappings0host",
        "the database (duplicate entry or unique constraint)",
        "nova/db/api/models.py",
        _ALL,
        ("SG302", "SG310"),
        "A host mapping with this host name exists already, perhaps to another cell.",
    ),
    # --- placement
    LogWords(
        "Error updating resources for node ...",
        _COMPUTE,
        _MANAGER,
        _ALL,
        ("SG112", "SG206"),
        "nova-compute could not update the inventory of its node. The lines below it say why; a resource provider with "
        "another name is one reason. Do not delete a provider that has allocations.",
    ),
    LogWords(
        "Failed to create resource provider record in placement API for UUID ... Got 409",
        _COMPUTE,
        _REPORT,
        _ALL,
        ("SG112",),
        "Another resource provider has the node's name. Find out whose allocations it has before you delete it.",
    ),
    LogWords(
        "Failed to create resource provider ...",
        _COMPUTE,
        _EXCEPTION,
        _ALL,
        ("SG112",),
        "Placement refuses the node's resource provider, usually because another provider has its name.",
    ),
    LogWords(
        "Conflicting resource provider ... already exists",
        "placement, nova-compute",
        "placement/handlers/resource_provider.py",
        "",
        ("SG112",),
        "Another resource provider has this name or uuid. Find out whose allocations it has before you delete it.",
    ),
    LogWords(
        "Unable to delete resource provider ...: Resource provider has allocations",
        "placement",
        "placement/handlers/resource_provider.py, placement/exception.py",
        "",
        ("SG713",),
        "Servers or ended migrations still hold resources of the provider. Remove only this provider's part of each "
        "allocation.",
    ),
    LogWords(
        "Inventory for ... on resource provider ... in use",
        "placement, nova-compute",
        "placement/exception.py",
        "",
        ("SG713", "SG128"),
        "nova-compute would take away an inventory that has allocations: after a change of CPU sets or devices in "
        "nova.conf, or because of an allocation that outlived its server.",
    ),
    LogWords(
        "Instance ... has been moved to another host ... There are allocations remaining against the source host",
        _COMPUTE,
        _TRACKER,
        _ALL,
        ("SG713",),
        "The server lives elsewhere and still holds resources here. Remove only this host's part of its allocation.",
    ),
    LogWords(
        "Instance ... is not being actively managed by this compute host but has allocations referencing this compute "
        "host",
        _COMPUTE,
        _TRACKER,
        _ALL,
        ("SG713",),
        "An allocation on this host that Nova cannot explain. Find out where the server's domain runs before you "
        "remove it.",
    ),
    LogWords(
        "Instance ... has allocations against this compute host but is not found in the database",
        _COMPUTE,
        _TRACKER,
        _ALL,
        ("SG713", "SG110"),
        "An allocation whose server this cell does not know. If libvirt has its domain, keep both.",
    ),
    LogWords(
        "allocation in placement for migration ... failed",
        _COMPUTE,
        _MANAGER,
        _ALL,
        ("SG713", "SG711"),
        "A move has failed, the server is in ERROR, and allocations of it stay. Look where its domain runs first.",
    ),
    # --- scheduler, host mappings, services
    LogWords(
        "No valid host was found. ...",
        "nova-conductor, nova-scheduler, server fault",
        _EXCEPTION,
        _ALL,
        ("SG512", "SG406"),
        "No host can take the server. After an evacuation Nova shows the server in ERROR, with its disks as they "
        "were: evacuate it again, and do not rebuild it.",
    ),
    LogWords(
        "No valid host found for cold migrate",
        _FAULT,
        "nova/conductor/manager.py",
        _ALL,
        ("SG406", "SG404"),
        "No other host in the server's zone can take it. The server stays where it is.",
        "guides/moves.md",
    ),
    LogWords(
        "No valid host found for resize",
        _FAULT,
        "nova/conductor/manager.py",
        _ALL,
        ("SG406", "SG404"),
        "No host in the server's zone can take the new flavor. Do not unpin the server to make room: it would change "
        "its zone.",
        "guides/zones.md",
    ),
    LogWords(
        "Got no allocation candidates from the Placement API",
        "nova-scheduler",
        "nova/scheduler/manager.py",
        _ALL,
        ("SG512", "SG408", "SG713"),
        "Placement offers no host: all are full or disabled, the zone's aggregate lacks hosts in placement, or "
        "allocations outlived their servers.",
    ),
    LogWords(
        "Could not rebuild instance on this host, not enough resources available",
        _COMPUTE,
        _MANAGER,
        _ALL,
        ("SG512",),
        "The destination of an evacuation, or the host of a rebuild, has too few resources. After an evacuation "
        "the disks are as they were: evacuate the server again.",
        "guides/evacuate.md",
    ),
    LogWords(
        "No compute service record found for host ...",
        "nova-scheduler",
        "nova/scheduler/host_manager.py",
        _ALL,
        ("SG204",),
        "A compute node has no compute service, so the scheduler skips its host. Its guests may still run.",
    ),
    LogWords(
        "Host mapping not found for host ... Not tracking instance info for this host",
        "nova-scheduler",
        "nova/scheduler/host_manager.py",
        _ALL,
        ("SG117",),
        "The host has no host mapping: nova-manage cell_v2 discover_hosts --by-service.",
    ),
    LogWords(
        "Host ... is not mapped to any cell",
        "Nova's API",
        _EXCEPTION,
        _ALL,
        ("SG117", "SG302"),
        "The host has no host mapping under this name: nova-manage cell_v2 discover_hosts --by-service, unless "
        "someone renamed the host.",
    ),
    LogWords(
        "Compute host ... could not be found",
        "Nova's API, nova-conductor, nova-compute",
        _EXCEPTION,
        _ALL,
        ("SG117", "SG119", "SG301"),
        "Nova has no compute service, compute node or host mapping of this name. After a rename the old name may "
        "still be in use: do not create the missing row by hand.",
    ),
    LogWords(
        "Source host ... and node ... for evacuate was not found",
        "nova-conductor",
        "nova/conductor/manager.py",
        _ALL,
        ("SG216", "SG119"),
        "No compute node has the host and node names of the server, so it cannot be evacuated from there.",
        "guides/evacuate.md",
    ),
    LogWords(
        "Unable to force up host ... evacuation migration records remain associated with the host",
        "Nova's API",
        _SERVICES,
        _ALL,
        ("SG509", "SG113"),
        "nova-compute has not yet cleaned up after an evacuation of this host. Before you start it, let return_host "
        "say what it would destroy.",
        "guides/return.md",
    ),
    LogWords(
        "Unable to delete compute service that is hosting instances",
        "Nova's API",
        _SERVICES,
        _ALL,
        ("SG203", "SG216"),
        "Servers still have this host in their rows, perhaps under a name that it had earlier. Move them first; do not "
        "edit rows to get past this.",
    ),
    LogWords(
        "Unable to delete compute service that has in-progress migrations",
        "Nova's API",
        _SERVICES,
        _ALL,
        ("SG702", "SG703", "SG309"),
        "A migration from or to this host has not ended, or a resize waits for its confirmation.",
    ),
    LogWords(
        "Compute service of ... is still in use",
        "Nova's API",
        _EXCEPTION,
        _ALL,
        ("SG510",),
        "The host's compute service is up, so Nova refuses to evacuate. Do not stop or force down nova-compute to get "
        "past this: fence the host first.",
        "guides/evacuate.md",
    ),
    LogWords(
        "Compute service of ... is unavailable at this time",
        "Nova's API, server fault",
        _EXCEPTION,
        _ALL,
        ("SG704",),
        "The host's compute service is down. That does not mean that the host is dead: its guests may run.",
        "guides/evacuate.md",
    ),
    LogWords(
        "Starting with microversion 2.95, evacuate API will stop instance on destination",
        "Nova's API",
        _EXCEPTION,
        _SINCE_27,
        ("SG705",),
        "A compute service, perhaps of a host that is gone, is older than Nova 27. Finish the upgrade, or use an "
        "older microversion.",
    ),
    LogWords(
        "Cannot '...' instance ... while it is in ... ...",
        "Nova's API",
        "nova/api/openstack/common.py",
        _ALL,
        ("SG701", "SG710"),
        "The server's state does not allow the action, or another task of it is in progress. Do not reset the state "
        "before you know where its domain runs.",
    ),
    LogWords(
        "Instance ... is locked",
        "Nova's API",
        _EXCEPTION,
        _ALL,
        ("SG710", "SG706"),
        "Someone locked the server. An operation of this collection may have done it: find out before you unlock it.",
    ),
    # --- zones
    LogWords(
        "The requested availability zone is not available",
        "Nova's API",
        _API,
        _ALL,
        ("SG402",),
        "No enabled compute host is in an aggregate with this zone.",
        "guides/zones.md",
    ),
    LogWords(
        "Server and volumes are not in the same availability zone. Server is in: ... Volumes are in: ...",
        "Nova's API",
        _API,
        _ALL,
        ("SG405",),
        "With [cinder] cross_az_attach=false the server and its volumes must be in one zone.",
        "guides/zones.md",
    ),
    LogWords(
        "Instance ... and volume ... are not in the same availability_zone",
        _FAULT,
        "nova/volume/cinder.py",
        _ALL,
        ("SG405", "SG407"),
        "With [cinder] cross_az_attach=false Nova refuses the volume: perhaps a move or a resize took the server out "
        "of its zone.",
        "guides/zones.md",
    ),
    LogWords(
        "the aggregate as the availability zone of the host would change",
        "Nova's API",
        _API,
        "29.0.2 to 34",
        ("SG403", "SG404"),
        "The host has servers, and their zone would change. Drain the host first.",
        "guides/moves.md",
    ),
    LogWords(
        "One or more hosts already in availability zone(s) ...",
        "Nova's API",
        _API,
        _ALL,
        ("SG403",),
        "The host is in an aggregate of another zone already, and a host can be in one zone only.",
        "guides/zones.md",
    ),
    # --- moves, evacuations
    LogWords(
        "Migration pre-check error: ...",
        "Nova's API, nova-conductor, nova-compute",
        _EXCEPTION,
        _ALL,
        ("SG523", "SG711"),
        "The checks before a live migration refused it. The guest runs on at its source, also where Nova shows ERROR.",
        "guides/moves.md",
    ),
    LogWords(
        "Unacceptable CPU info: ...",
        "nova-compute, on the destination",
        _EXCEPTION,
        _ALL,
        ("SG523",),
        "The destination's CPU cannot run the guest. Use another destination, or move the server cold.",
        "reference/destinations.md",
    ),
    LogWords(
        "Unable to migrate ... to ...: Lack of memory",
        "nova-conductor",
        "nova/conductor/tasks/live_migrate.py",
        _ALL,
        ("SG501",),
        "Nova counts too little memory on the host that was given for a live migration.",
        "guides/moves.md",
    ),
    LogWords(
        "The supplied disk path ... already exists, it is expected not to exist",
        "nova-compute, on the destination",
        _EXCEPTION,
        _ALL,
        ("SG713",),
        "A directory of the server stayed on the destination after an earlier move. Nova's rollback deletes it "
        "with all that is in it, and the next attempt works.",
    ),
    LogWords(
        "Pre live migration failed at ...",
        _COMPUTE,
        _MANAGER,
        _ALL,
        ("SG711", "SG713"),
        "The destination could not prepare the move. The guest runs on at its source; Nova may show ERROR.",
        "guides/moves.md",
    ),
    LogWords(
        "Live Migration failure: ...",
        _COMPUTE,
        _DRIVER,
        _ALL,
        ("SG711", "SG132"),
        "libvirt refused or broke off the move. Look on both hosts where the domain runs before you reset the state.",
        "guides/moves.md",
    ),
    LogWords(
        "disk not on shared storage, evacuating from image: ...",
        "nova-compute, on the destination",
        _MANAGER,
        _ALL,
        ("SG513",),
        "The destination makes a new disk from the image: the server's data is not on it. At its next start, nova- "
        "compute on the old host may delete the old disk: save it first.",
        "guides/evacuate.md",
    ),
    LogWords(
        "error creating snapshot ...nova-resize",
        _COMPUTE,
        "Ceph 16.2 (rbd of Python), nova/virt/libvirt/utils.py",
        _ALL,
        ("SG713",),
        "If Ceph says that it exists, the snapshot of an earlier resize is still on the disk. Do not roll the disk "
        "back to it: it holds old data.",
    ),
    # --- libvirt and QEMU
    LogWords(
        "Attempt to migrate guest to the same host",
        "libvirt",
        "libvirt 9.0",
        "",
        ("SG107", "SG523"),
        "Both hosts have the same libvirt host uuid. Give one of them a uuid of its own (host_uuid in libvirt's "
        "configuration). Do not stop guests for it.",
    ),
    LogWords(
        "Emulator ... does not support machine type ...",
        "libvirt",
        "libvirt 9.0",
        "",
        ("SG523", "SG603"),
        "This host's QEMU does not have the guest's machine type. Use another destination; do not stop the guest.",
        "reference/destinations.md",
    ),
    LogWords(
        "guest CPU doesn't match specification",
        "libvirt",
        "libvirt 9.0",
        "",
        ("SG523", "SG605"),
        "The destination's CPU or QEMU lacks or adds features of the guest's CPU. Use another destination.",
        "reference/destinations.md",
    ),
    LogWords(
        "the CPU is incompatible with host CPU",
        "libvirt",
        "libvirt 9.0",
        "",
        ("SG523",),
        "The destination's CPU cannot run the guest. Use another destination, or move the server cold.",
        "reference/destinations.md",
    ),
    LogWords(
        "no secret with matching uuid ...",
        "libvirt",
        "libvirt 9.0",
        "",
        ("SG523",),
        "This host has no libvirt secret for Ceph with the uuid that nova.conf or the volume names.",
        "reference/destinations.md",
    ),
    LogWords(
        "Migration without shared storage is unsafe",
        "libvirt, nova-compute",
        "libvirt 9.0",
        "",
        ("SG711", "SG513"),
        "libvirt takes a disk of the guest for local and refuses the live migration. The guest runs on at its source; "
        "Nova may show ERROR.",
    ),
    LogWords(
        "domain ... already exists with uuid ...",
        "libvirt, nova-compute",
        "libvirt 9.0",
        "",
        ("SG110", "SG108"),
        "libvirt has a domain of this name with another uuid: a leftover, perhaps of another cloud. Do not undefine it "
        "before you know whose disks it has.",
    ),
    LogWords(
        "domain ... is already defined with uuid ...",
        "libvirt, nova-compute",
        "libvirt 9.0",
        "",
        ("SG110", "SG108"),
        "libvirt has a domain of this uuid under another name. Do not undefine it before you know whose disks it has.",
    ),
    LogWords(
        "cannot delete inactive domain with ...",
        "libvirt",
        "libvirt 9.0",
        "",
        ("SG522",),
        "libvirt undefines no domain that has snapshots or checkpoints. They may belong to a backup program.",
    ),
    LogWords(
        'Failed to get "write" lock',
        "QEMU, libvirt",
        "QEMU 7.2",
        "",
        ("SG507",),
        "Another process has the disk open. Find it before anything else; do not turn QEMU's locking off.",
    ),
    LogWords(
        'Failed to get shared "write" lock',
        "QEMU, libvirt",
        "QEMU 7.2",
        "",
        ("SG507",),
        "Another process has the disk open for writing. Find it before anything else; do not turn QEMU's locking off.",
    ),
    LogWords(
        "cannot set up guest memory ...",
        "QEMU, libvirt",
        "QEMU 7.2",
        "",
        ("SG501", "SG502"),
        "The host does not have the memory of the guest. After an evacuation, look whether the server's disks are "
        "still there before you try again.",
    ),
    LogWords(
        "unable to map backing store for guest RAM",
        "QEMU, libvirt",
        "QEMU 7.2",
        "",
        ("SG503",),
        "The host does not have enough free huge pages (or file-backed memory) for the guest.",
    ),
    # --- Ceph
    LogWords(
        "failed to blocklist lock owner",
        "librbd (QEMU's log, rbd)",
        "Ceph 16.2",
        "",
        ("SG518",),
        "The dead host's client could not be put on the blocklist, usually because the Ceph user may not do it, so "
        "the guest cannot write. Give the user profile rbd; do not remove the lock by hand while its owner may "
        "live.",
    ),
    LogWords(
        "failed to blacklist lock owner",
        "librbd (QEMU's log, rbd)",
        "older Ceph",
        "",
        ("SG518",),
        "The dead host's client could not be put on the blocklist, usually because the Ceph user may not do it, so "
        "the guest cannot write. Give the user profile rbd; do not remove the lock by hand while its owner may "
        "live.",
    ),
    LogWords(
        "Read-only file system",
        "the guest's console, librbd",
        "the C library (EROFS)",
        "",
        ("SG518", "SG515"),
        "The guest's writes fail. In Ceph: its user may not break the lock of a dead host's client, or the host's "
        "address is on the blocklist. A file system check in the guest mends neither.",
    ),
    LogWords(
        "Cannot send after transport endpoint shutdown",
        "librbd, rbd, rados",
        "the C library (ESHUTDOWN; Ceph's EBLOCKLISTED)",
        "",
        ("SG515",),
        "From a client of Ceph: its address is on the blocklist. On a fenced host this is the fence: do not remove "
        "the entry by hand, return_host does it.",
        "guides/return.md",
    ),
    LogWords(
        "image has watchers - not removing",
        "librbd (nova-compute, rbd)",
        "Ceph 16.2",
        "",
        ("SG507",),
        "A client still has the image open: rbd status shows it. Do not force it while its QEMU runs.",
    ),
    LogWords(
        "image has snapshots - not removing",
        "librbd (nova-compute, rbd)",
        "Ceph 16.2",
        "",
        ("SG508", "SG713"),
        "A snapshot keeps the image: a guard snapshot of an operation, or one of a resize. Find out which before you "
        "remove it.",
    ),
    LogWords(
        "rbd remove ... in pool ... failed",
        _COMPUTE,
        "nova/storage/rbd_utils.py",
        _ALL,
        ("SG507", "SG508"),
        "Nova tries again, a minute by default, and then goes on as if the image were deleted. A later rebuild or "
        "unshelve starts from the image that stayed.",
    ),
    LogWords(
        "image ... in pool ... has snapshots, failed to remove",
        _COMPUTE,
        "nova/storage/rbd_utils.py",
        _ALL,
        ("SG508", "SG713"),
        "A snapshot keeps the image, and Nova goes on without deleting it. Find out whose snapshot it is first.",
    ),
    # --- ports
    LogWords(
        "Binding failed for port ..., please check neutron logs for more information",
        "nova-compute, server fault",
        _EXCEPTION,
        _ALL,
        ("SG306", "SG305"),
        "Usually neutron has no live agent or chassis of exactly this host's name. Start the agent, with the right "
        "name, before nova-compute.",
    ),
    LogWords(
        "Unexpected vif_type=...",
        _COMPUTE,
        "nova/virt/libvirt/vif.py",
        _ALL,
        ("SG306",),
        "The port's binding has failed, so the guest would not start again. Do not reboot it hard before the port is "
        "bound.",
    ),
    LogWords(
        "Virtual interface plugging failed for instance. The port binding:host_id may need to be manually updated",
        _START,
        _MANAGER,
        _ALL,
        ("SG306",),
        "A port of the guest is not bound, or its binding has failed. The guest runs on; do not reboot it hard.",
    ),
    LogWords(
        "Failed to activate binding for port ... on host ...",
        "nova-conductor, nova-compute",
        _EXCEPTION,
        _ALL,
        ("SG511", "SG306"),
        "After a move a port of the server may still be bound to the host that it left.",
    ),
    LogWords(
        "Failed to delete binding for port(s) ... on host ...",
        "nova-conductor, nova-compute",
        _EXCEPTION,
        _ALL,
        ("SG713",),
        "A second, inactive binding of the port may stay. The next move of the server to that host stumbles over it.",
    ),
    LogWords(
        "Binding for port ... on host ... already exists",
        "neutron's API (409), nova-conductor",
        "neutron_lib/exceptions/__init__.py",
        "",
        ("SG713",),
        "An earlier live migration left a binding on this host. Delete it only if it is inactive.",
    ),
    LogWords(
        "Refusing to bind port ... to dead agent: ...",
        "neutron-server",
        "neutron/plugins/ml2/drivers/mech_agent.py and ovn/mech_driver/mech_driver.py",
        "",
        ("SG305",),
        "The agent of this host's name is dead: it does not run, or it runs under another name.",
    ),
    LogWords(
        "not bound, no agent of type ... registered on host ...",
        "neutron-server",
        "neutron/plugins/ml2/drivers/mech_agent.py",
        "",
        ("SG305",),
        "No agent has exactly this host name. Compare openstack network agent list with Nova's name of the host.",
    ),
    LogWords(
        "Refusing to bind port ... due to no OVN chassis for host: ...",
        "neutron-server",
        "neutron/plugins/ml2/drivers/ovn/mech_driver/mech_driver.py",
        "",
        ("SG321", "SG318"),
        "No chassis has exactly this hostname. Do not stop ovn-controller to correct it: that cuts the guests off.",
        "guides/ovn.md",
    ),
    LogWords(
        "Failed to bind port ... on host ... for vnic_type ... using segments ...",
        "neutron-server",
        "neutron/plugins/ml2/managers.py",
        "",
        ("SG306", "SG305"),
        "No mechanism driver could bind the port to this host; the lines above it say why.",
    ),
    LogWords(
        "Unknown chassis ... set in options:requested-chassis",
        "ovn-northd",
        "OVN 23.03, northd/northd.c",
        "",
        ("SG322",),
        "A port asks for a chassis that does not exist, and is bound to none: its guest has no network.",
        "guides/ovn.md",
    ),
    LogWords(
        "Not claiming lport ..., chassis ... requested-chassis ...",
        "ovn-controller",
        "OVN 23.03, controller/binding.c",
        "",
        ("SG322", "SG321"),
        "The port is for another chassis. On a host that came back after an evacuation this is right.",
        "guides/ovn.md",
    ),
    LogWords(
        'Transaction causes multiple rows in "Encap" table to have identical values',
        "ovn-controller, ovsdb-server",
        "Open vSwitch 3.1",
        "",
        ("SG323", "SG319"),
        "Another chassis has this host's tunnel address, so ovn-controller can write nothing and binds no new "
        "port. Do not stop ovn-controller.",
        "guides/ovn.md",
    ),
    LogWords(
        "RBAC rules for client ... role ... prohibit modification of table ...",
        "ovn-controller, ovsdb-server",
        "Open vSwitch 3.1",
        "",
        ("SG325",),
        "ovn-controller may not write its chassis row, and all its transactions fail. An administrator writes the new "
        "hostname into the chassis row.",
        "guides/ovn.md",
    ),
    # --- messages
    LogWords(
        "Timed out waiting for a reply to message ID ...",
        "all OpenStack services (MessagingTimeout)",
        "oslo_messaging/_drivers/amqpdriver.py",
        "",
        ("SG329", "SG704"),
        "The service that was asked did not answer in time. The request may still wait in its queue and be executed "
        "later: look before you repeat it.",
    ),
)
