# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every place between the start of nova-compute and its first periodic task that can destroy or refuse. Pure.

:data:`RULES` is the table, worst loss first; C(docs/reference/starts.md) is made from it. Read from Nova 27.1.0,
28.0.0, 29.0.1, 30.0.0, 31.0.0, 32.0.0, 33.0.0 and 34.0.0. A rule is judged by the function that it names, or is not
judged: by C(start_rules.py), where it depends on nova.conf and on how guests are made; who the host is, and what
becomes of guests and nodes, is judged in C(forecast.py) and C(recovery.py).

An option can only make nova-compute refuse. Where its value is in doubt, it is not known whether nova-compute starts;
what a start destroys is told as if it does.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model import start_options
from . import start_rules
from .start_rules import DoubtError, Refusal, Situation

#: What is lost where a rule strikes, worst first.
GUESTS_AND_DISKS, GUESTS, ALLOCATIONS, SERVICE, NOTHING = (
    "guests and their disks",
    "guests",
    "allocations",
    "the service, after guests were destroyed",
    "the service",
)
LOSSES = (GUESTS_AND_DISKS, GUESTS, ALLOCATIONS, SERVICE, NOTHING)
#: Where in the start identity is checked: before the driver is initialised, and since 33 after it (manager.init_host).
IDENTITY_FIRST, IDENTITY_LATER, IDENTITY_LATER_SINCE = 36, 65, 33
#: Then names are compared, and after guests the service and the node.
NAMES, SERVICE_NAME, NODE = 66, 80, 85


Judge = t.Callable[[Situation], t.Optional[Refusal]]


@dataclasses.dataclass(frozen=True)
class StartRule:
    """One place. ``at``: when in the start, for those that are judged here; ``reads``: what decides.

    ``judge`` is of C(start_rules.py), ``judged`` names a function elsewhere; with neither, ``unjudged`` says why. What
    no function judges makes the start unknown where ``option`` is set to anything else than ``harmless``.
    """

    loss: str
    place: str
    when: str
    reads: str
    since: int = 27
    until: t.Optional[int] = None
    at: int = 0
    judge: t.Optional[Judge] = None
    judged: str = ""
    unjudged: str = ""
    option: t.Optional[t.Tuple[str, str]] = None
    harmless: t.Tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """Nova's function."""
        return self.place.rpartition(" ")[2]

    def applies(self, release: int) -> bool:
        """Whether a release has this place."""
        return self.since <= release <= (self.until or release)


_MANAGER, _DRIVER = "nova/compute/manager.py", "nova/virt/libvirt/driver.py"
_TRACKER, _NODE = "nova/compute/resource_tracker.py", "nova/virt/node.py"
_ROWS = "rows of the cell's database, domains, `images_type`"
_ONE_KIND = "CPUs are set aside for pinned or for unpinned guests only, and the host has guests of the other kind"
_NO_CONTENT = "the run does not read what is in it"

RULES: t.Tuple[StartRule, ...] = (
    # --- destroys
    StartRule(
        GUESTS_AND_DISKS,
        f"{_MANAGER} _destroy_evacuated_instances",
        "a domain has an evacuation record with this host as its source",
        _ROWS,
        judged="forecast.fates",
    ),
    StartRule(
        GUESTS_AND_DISKS,
        f"{_MANAGER} _cleanup_running_deleted_instances",
        "a domain's server is deleted in Nova",
        f"{_ROWS}, `running_deleted_instance_action`, `running_deleted_instance_timeout`",
        judged="forecast.fates",
    ),
    StartRule(
        GUESTS_AND_DISKS,
        f"{_MANAGER} _complete_partial_deletion",
        "a server's deletion got as far as its `vm_state`",
        f"{_ROWS}, `running_deleted_instance_action`, `running_deleted_instance_timeout`",
        judged="recovery.recovery",
    ),
    StartRule(
        GUESTS_AND_DISKS,
        f"{_MANAGER} _init_instance",
        "the task of a server is `deleting`",
        _ROWS,
        judged="recovery.recovery",
    ),
    StartRule(
        GUESTS,
        f"{_MANAGER} _init_instance",
        "a reboot, a stop, a start, a resize or a live migration of a server was cut off",
        f"{_ROWS}, `resume_guests_state_on_host_boot`",
        judged="recovery.recovery",
    ),
    StartRule(
        GUESTS,
        f"{_MANAGER} _sync_power_states",
        "a server is stopped in Nova, and its guest runs",
        f"{_ROWS}, `sync_power_state_interval`",
        judged="recovery.recovery",
    ),
    StartRule(
        ALLOCATIONS,
        f"{_MANAGER} update_available_resource",
        "a compute node has the host's name and not libvirt's name",
        "rows of the cell's database, libvirt's host name",
        until=28,
        judged="forecast.start",
    ),
    # --- refuses after guests were destroyed
    StartRule(
        SERVICE,
        f"{_DRIVER} _validate_pinning_configuration",
        _ONE_KIND,
        "`cpu_dedicated_set`, `cpu_shared_set`, `vcpu_pin_set`, how the CPUs of each domain are pinned",
        since=34,
        at=70,
        judge=start_rules.pinned_guests,
    ),
    StartRule(
        SERVICE,
        f"{_DRIVER} _validate_vtpm_configuration",
        "a guest has an emulated TPM, and `swtpm_enabled` is not set",
        "`swtpm_enabled`, domains. A guest without a domain is not looked at",
        since=34,
        at=71,
        judge=start_rules.vtpm_guests,
    ),
    StartRule(
        SERVICE,
        f"{_DRIVER} _validate_mem_encryption_configuration",
        "a guest's memory is encrypted in a way that the host does not support any more",
        "domains: a guest with encrypted memory makes the start unknown",
        since=34,
        at=72,
        judge=start_rules.encrypted_guests,
    ),
    StartRule(
        SERVICE,
        f"{_TRACKER} set_service_ref",
        "the service that the database finds has another spelling of the host's name",
        "`services` of the cell",
        since=28,
        judged="forecast.start",
    ),
    StartRule(
        SERVICE,
        f"{_TRACKER} _init_compute_node",
        "another compute node has the host's name and libvirt's name",
        "`compute_nodes` of the cell, `compute_id`",
        judged="forecast.start",
    ),
    StartRule(
        SERVICE,
        "nova/scheduler/client/report.py delete_resource_provider",
        "an orphaned compute node has no resource provider",
        "resource providers of placement",
        until=28,
        judged="forecast.start",
    ),
    StartRule(
        SERVICE,
        f"{_TRACKER} _update_to_placement",
        "nova.conf sets no CPUs aside any more for allocations that placement has",
        "`cpu_dedicated_set`, `cpu_shared_set`, the host's allocations in placement: with any of them, or if the audit "
        "did not read them, the start is unknown. Other resources are not looked at",
        at=88,
        judge=start_rules.inventory,
    ),
    StartRule(
        SERVICE,
        f"{_MANAGER} _update_available_resource_for_node",
        "placement refuses the PCI devices of the host",
        "`report_in_placement`",
        at=90,
        option=("pci", "report_in_placement"),
        harmless=start_options.FALSE,
        unjudged="the run does not read PCI devices",
    ),
    StartRule(
        SERVICE,
        f"{_MANAGER} _init_instance",
        "a guest, libvirt, Ceph, neutron or cinder answers with an error that nobody catches",
        "nothing",
        unjudged="other systems decide",
    ),
    # --- refuses before any guest is touched
    StartRule(
        NOTHING,
        "nova/conf/netconf.py HostDomain",
        "`host` is no name that Nova accepts",
        "`host`",
        judged="forecast.start",
    ),
    StartRule(
        NOTHING,
        "oslo_config/cfg.py ConfigOpts",
        "a file of the configuration cannot be read, or an option has a value that its type refuses",
        "the files that nova-compute reads. The values of options that no rule names are not checked",
        unjudged="nova.conf has more than a thousand options",
    ),
    StartRule(
        NOTHING,
        "oslo_log/log.py setup",
        "the file in `log_config_append` is missing or wrong",
        "`log_config_append`",
        at=10,
        option=("DEFAULT", "log_config_append"),
        unjudged=_NO_CONTENT,
    ),
    StartRule(
        NOTHING,
        "nova/service.py Service.__init__",
        "no broker answers, or no conductor: nova-compute waits, and reports nothing",
        "whether a host of `transport_url` takes a connection. The conductor is not asked",
        at=20,
        judge=start_rules.broker,
    ),
    StartRule(
        NOTHING,
        "nova/utils.py raise_if_old_compute",
        "another compute service of the cloud is too old",
        "nothing",
        unjudged="it depends on every service of all cells",
    ),
    StartRule(
        NOTHING,
        f"{_MANAGER} ComputeManager.__init__",
        "the clients of placement, neutron, cinder or glance cannot be made from nova.conf",
        "nothing",
        unjudged="it depends on keystoneauth's plugins and their options, which are secrets",
    ),
    StartRule(
        NOTHING,
        "nova/virt/driver.py load_compute_driver",
        "`compute_driver` is missing, or cannot be loaded",
        "`compute_driver`: another one than libvirt's makes the start unknown (SG115)",
        at=29,
        judge=start_rules.compute_driver,
    ),
    StartRule(
        NOTHING,
        "nova/virt/hardware.py numa_get_reserved_huge_pages",
        "`reserved_huge_pages` cannot be parsed",
        "`reserved_huge_pages`",
        at=30,
        judge=start_rules.huge_pages,
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} _discover_vpmems",
        "a namespace of `pmem_namespaces` is missing, or has another size",
        "`pmem_namespaces`",
        at=31,
        option=("libvirt", "pmem_namespaces"),
        unjudged="the run does not read persistent memory",
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} _get_supported_vgpu_types",
        "a type of `enabled_mdev_types` has wrong addresses",
        "`enabled_mdev_types`",
        at=32,
        option=("devices", "enabled_mdev_types"),
        unjudged="the run does not read mediated devices",
    ),
    StartRule(
        NOTHING,
        "nova/compute/provider_config.py get_provider_configs",
        "a file of `provider_config_location` is wrong",
        "`provider_config_location`: any file there makes the start unknown",
        at=35,
        judge=start_rules.provider_configs,
    ),
    StartRule(
        NOTHING,
        f"{_NODE} read_local_node_uuid",
        "a file `compute_id` cannot be read, has no UUID, or disagrees with another",
        "`compute_id` in `state_path` and beside the files of the configuration",
        judged="forecast.start",
    ),
    StartRule(
        NOTHING,
        f"{_MANAGER} _ensure_existing_node_identity",
        "the host has a service, and no `compute_id`",
        "`compute_id`, `services` and `compute_nodes` of the cell",
        judged="forecast.start",
    ),
    StartRule(
        NOTHING,
        f"{_MANAGER} _sanity_check_new_host",
        "the host has guests, and no service",
        "domains, `services` of the cell",
        since=29,
        judged="forecast.start",
    ),
    StartRule(
        NOTHING,
        "nova/pci/whitelist.py Whitelist",
        "an entry of `device_spec` is wrong",
        "`device_spec`. An entry with a device name, with a regular expression, or with an option that depends on the "
        "device makes the start unknown",
        at=40,
        judge=start_rules.device_spec,
    ),
    StartRule(
        NOTHING,
        "nova/pci/request.py get_alias_from_config",
        "an entry of `alias` is wrong",
        "`alias`. An entry without `vendor_id` and `product_id`, or a second entry of a name, makes the start unknown",
        since=32,
        at=41,
        judge=start_rules.alias,
    ),
    StartRule(
        NOTHING,
        f"{_MANAGER} init_host",
        "`max_disk_devices_to_attach` is 0",
        "`max_disk_devices_to_attach`",
        at=42,
        judge=start_rules.disk_devices,
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} init_host",
        "libvirt does not answer",
        "libvirt's host name and domains: without them, the start is unknown",
        judged="forecast.start",
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} _check_cpu_set_configuration",
        "one of the options for sets of CPUs is wrong, or contradicts another one",
        "`cpu_dedicated_set`, `cpu_shared_set`, `vcpu_pin_set`, `reserved_host_cpus`",
        at=50,
        judge=start_rules.cpu_sets,
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} _supports_tb_cache_size",
        "`tb_cache_size` is set, and libvirt is older than 8.0.0",
        "`tb_cache_size`, the version of libvirt",
        since=28,
        until=31,
        at=51,
        judge=start_rules.tb_cache,
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} _check_file_backed_memory_support",
        "`file_backed_memory` is set, and guests' memory may be overcommitted or reserved",
        "`file_backed_memory`",
        until=30,
        at=52,
        option=("libvirt", "file_backed_memory"),
        harmless=("0",),
        unjudged="the run does not read the options that it depends on",
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} init_host",
        "libvirt is older than 6.0.0 (27), 7.0.0 (28 to 30) or 8.0.0 (31 and later)",
        "the version of libvirt",
        at=53,
        judge=start_rules.libvirt_version,
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} init_host",
        "QEMU is older than 4.2.0 (27), 5.2.0 (28 to 30) or 6.2.0 (31 and later)",
        "nothing",
        unjudged="the run does not read the version of QEMU",
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} init_host",
        "`live_migration_parallel_connections` and `live_migration_permit_post_copy`, and QEMU is older than 10.1.0",
        "these options: both make the start unknown",
        since=33,
        at=54,
        judge=start_rules.parallel,
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} init_host",
        "`live_migration_tunnelled` and `live_migration_with_native_tls` are both set",
        "these options",
        at=55,
        judge=start_rules.tunnelled,
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} init_host",
        "`images_type` is `rbd`, and `force_raw_images` is off",
        "these options",
        at=56,
        judge=start_rules.raw_images,
    ),
    StartRule(
        NOTHING,
        "nova/virt/libvirt/cpu/api.py validate_all_dedicated_cpus",
        "`cpu_power_management` is set, and the CPUs of `cpu_dedicated_set` have several governors, or are offline",
        "`cpu_power_management`, `cpu_power_management_strategy`, `cpu_dedicated_set`, sysfs. Whether a CPU can be "
        "switched off is not looked at",
        at=57,
        judge=start_rules.power,
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} _recreate_assigned_mediated_devices",
        "a guest's mediated device is gone after a reboot of the host",
        "`enabled_mdev_types`",
        until=31,
        at=58,
        option=("devices", "enabled_mdev_types"),
        unjudged="the run does not read mediated devices",
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} _check_cpu_compatibility",
        "`cpu_models` does not fit `cpu_mode`, `virt_type` or the CPU of the host",
        "`cpu_mode`, `cpu_models`, `virt_type`. With `custom` the start is unknown, unless "
        "`skip_cpu_compare_at_startup` is set",
        at=59,
        judge=start_rules.cpu_models,
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} _check_vtpm_support",
        "`swtpm_enabled` is set, and libvirt emulates no TPM, or its user or group is missing",
        "`swtpm_enabled`, `swtpm_user`, `swtpm_group`, libvirt's domain capabilities, users and groups",
        at=60,
        judge=start_rules.vtpm,
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} _check_multipath",
        "`volume_enforce_multipath` is set without `volume_use_multipath`, or multipathd does not run",
        "these options. With both the start is unknown",
        since=31,
        at=61,
        judge=start_rules.multipath,
    ),
    StartRule(
        NOTHING,
        f"{_DRIVER} _check_pci_whitelist",
        "`device_spec` has `live_migratable`, and libvirt or QEMU is too old",
        "`device_spec`: `live_migratable` makes the start unknown",
        since=31,
        at=62,
        judge=start_rules.pci_migration,
    ),
    StartRule(
        NOTHING,
        f"{_MANAGER} _get_nodes",
        "the compute node of `compute_id` has another `hypervisor_hostname` than libvirt's host name",
        "`compute_id`, `compute_nodes` of the cell, libvirt's host name",
        judged="forecast.start",
    ),
    StartRule(
        NOTHING,
        f"{_MANAGER} _check_for_host_rename",
        "the compute node of `compute_id` has another `host`",
        "`compute_id`, `compute_nodes` of the cell, `host`",
        judged="forecast.start",
    ),
    StartRule(
        NOTHING,
        f"{_MANAGER} _validate_pinning_configuration",
        _ONE_KIND,
        "`cpu_dedicated_set`, `cpu_shared_set`, `vcpu_pin_set`, how the CPUs of each domain are pinned",
        until=33,
        at=70,
        judge=start_rules.pinned_guests,
    ),
    StartRule(
        NOTHING,
        f"{_MANAGER} _validate_vtpm_configuration",
        "a guest has an emulated TPM, and `swtpm_enabled` is not set",
        "`swtpm_enabled`, domains. A guest without a domain is not looked at",
        until=33,
        at=71,
        judge=start_rules.vtpm_guests,
    ),
)


def judge(about: Situation) -> t.Tuple[t.List[t.Tuple[int, Refusal]], t.List[str]]:
    """Return what refuses, each with its place in the order of the start, and why it is not known whether more does."""
    refusals: t.List[t.Tuple[int, Refusal]] = []
    doubts: t.List[str] = []
    for rule in RULES:
        if not rule.applies(about.release):
            continue
        try:
            found = rule.judge(about) if rule.judge else None
            refusals += [(rule.at, found)] if found else []
            doubts += _unjudged(rule, about)
        except DoubtError as error:
            doubts.append(str(error))
    return refusals, list(dict.fromkeys(doubts))


def _unjudged(rule: StartRule, about: Situation) -> t.List[str]:
    """Return that an option is set which nothing judges. Raises :class:`DoubtError`."""
    value = about.text(*rule.option).strip() if rule.option else ""
    if not value or value.lower() in rule.harmless or rule.option is None:
        return []
    return [f"{start_options.key(*rule.option)} is set ({rule.unjudged})"]
