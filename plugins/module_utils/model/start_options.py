# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of nova.conf by which a start of nova-compute may refuse, and lists of CPUs as Nova reads them. Pure.

The rules that judge them: C(hazards/start_rules.py). None of these options holds a secret.
"""

from __future__ import annotations

import typing as t

#: Section and option, then older names of the option (nova/conf, 27 to 34: deprecated_name, deprecated_opts).
WATCHED: t.Mapping[t.Tuple[str, str], t.Tuple[t.Tuple[str, str], ...]] = {
    ("DEFAULT", "force_raw_images"): (),
    ("DEFAULT", "log_config_append"): (("DEFAULT", "log_config"), ("DEFAULT", "log-config")),
    ("DEFAULT", "reserved_host_cpus"): (),
    ("DEFAULT", "reserved_huge_pages"): (),
    ("DEFAULT", "vcpu_pin_set"): (),
    ("compute", "cpu_dedicated_set"): (),
    ("compute", "cpu_shared_set"): (),
    ("compute", "max_disk_devices_to_attach"): (),
    ("compute", "provider_config_location"): (),
    ("devices", "enabled_mdev_types"): (("devices", "enabled_vgpu_types"),),
    ("libvirt", "cpu_mode"): (),
    ("libvirt", "cpu_models"): (("libvirt", "cpu_model"),),
    ("libvirt", "cpu_power_management"): (),
    ("libvirt", "cpu_power_management_strategy"): (),
    ("libvirt", "file_backed_memory"): (),
    ("libvirt", "live_migration_parallel_connections"): (),
    ("libvirt", "live_migration_permit_post_copy"): (),
    ("libvirt", "live_migration_tunnelled"): (),
    ("libvirt", "live_migration_with_native_tls"): (),
    ("libvirt", "pmem_namespaces"): (),
    ("libvirt", "swtpm_enabled"): (),
    ("libvirt", "swtpm_group"): (),
    ("libvirt", "swtpm_user"): (),
    ("libvirt", "tb_cache_size"): (),
    ("libvirt", "volume_enforce_multipath"): (),
    ("libvirt", "volume_use_multipath"): (("libvirt", "iscsi_use_multipath"),),
    ("pci", "alias"): (("DEFAULT", "pci_alias"),),
    ("pci", "device_spec"): (("pci", "passthrough_whitelist"), ("DEFAULT", "pci_passthrough_whitelist")),
    ("pci", "report_in_placement"): (),
    ("workarounds", "skip_cpu_compare_at_startup"): (),
}
#: Options that may be set several times, each time one more (MultiStrOpt, MultiOpt).
MULTIPLE = frozenset({("DEFAULT", "reserved_huge_pages"), ("pci", "alias"), ("pci", "device_spec")})
PROVIDER_CONFIG_LOCATION = "/etc/nova/provider_config/"
SWTPM_OWNER = "tss"
TRUE, FALSE = ("true", "1", "on", "yes"), ("false", "0", "off", "no")


def key(section: str, option: str) -> str:
    """Return what an option is called in C(StartFacts.options)."""
    return f"[{section}] {option}"


class CpuSetError(ValueError):
    """A list of CPUs that Nova refuses, in Nova's words."""


def cpu_set(text: str) -> t.FrozenSet[int]:
    """Return the CPUs of a list such as C(1-4,^3,6). Raises :class:`CpuSetError`.

    nova/virt/hardware.py, parse_cpu_spec: 27 to 34 alike. What is excluded is taken off last, wherever it stands.
    """
    taken: t.Set[int] = set()
    excluded: t.Set[int] = set()
    for rule in filter(None, (part.strip() for part in text.split(","))):
        target = excluded if rule.startswith("^") else taken
        first, dash, last = rule[target is excluded :].partition("-")
        kind = "range" if dash else "exclusion" if target is excluded else "inclusion"
        try:
            start = int(first.strip())
            end = int(last.strip()) if dash else start
        except ValueError:
            raise CpuSetError(f"Invalid {kind} expression {rule!r}") from None
        if start > end:
            raise CpuSetError(f"Invalid range expression {rule!r}")
        target.update(range(start, end + 1))
    return frozenset(taken - excluded)
