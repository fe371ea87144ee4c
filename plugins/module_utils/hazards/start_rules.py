# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What nova-compute refuses to start by, besides who its host is: nova.conf, and how guests are made. Pure.

Each function judges one line of the table in C(start_table.py), which names its place in Nova: it returns the refusal,
or None, or raises :class:`DoubtError`.
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from ..model import start_options
from ..model.facts import Domain, HostFacts, InstanceRow, StartFacts
from ..model.wording import quoted_text


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A start that ends before it serves. ``text``: what nova-compute prints; ``rule``: Nova's function.

    ``early``: before any guest is touched. ``evacuated_only``: after evacuated guests were destroyed, before all else.
    """

    rule: str
    text: str
    early: bool = True
    evacuated_only: bool = False


class DoubtError(ValueError):
    """It cannot be told whether a rule refuses: why."""


@dataclasses.dataclass(frozen=True)
class Situation:
    """What a rule is judged by. ``guests``: live rows of this host that were not evacuated, with libvirt's domain."""

    facts: HostFacts
    start: StartFacts
    release: int
    guests: t.Sequence[t.Tuple[InstanceRow, t.Optional[Domain]]]
    #: Whether all of them are known.
    guests_read: bool = True
    #: Classes of resources that placement has allocations of on this host; None: unread.
    allocated: t.Optional[t.Collection[str]] = None

    def why(self, part: str) -> str:
        """Return why a part of C(start) was not read, in brackets; nothing where that is not known."""
        return "".join(f" ({entry.reason})" for entry in self.start.unread if entry.part == part)

    @property
    def virt_type(self) -> str:
        """``[libvirt] virt_type``."""
        return (self.facts.nova_conf.virt_type if self.facts.nova_conf else None) or "kvm"

    def values(self, section: str, option: str) -> t.List[str]:
        """Return what an option is set to; an empty list: nothing. Raises :class:`DoubtError`."""
        name = start_options.key(section, option)
        found = self.start.options.get(name)
        if found == []:
            raise DoubtError(f"{name} refers to an option that the run does not know")
        return found or []

    def text(self, section: str, option: str, default: str = "") -> str:
        """Return an option's value. Raises :class:`DoubtError`."""
        return (self.values(section, option) or [default])[-1]

    def on(self, section: str, option: str, default: bool = False) -> bool:
        """Return a boolean option. Raises :class:`DoubtError`, also for what is none."""
        word = self.text(section, option, "true" if default else "false").strip().lower()
        if word not in (*start_options.TRUE, *start_options.FALSE):
            raise DoubtError(f"{start_options.key(section, option)} is neither true nor false")
        return word in start_options.TRUE

    def number(self, section: str, option: str, default: int) -> int:
        """Return an integer option. Raises :class:`DoubtError`, also for what is none."""
        try:
            return int(self.text(section, option, str(default)))
        except ValueError:
            raise DoubtError(f"{start_options.key(section, option)} is not a whole number") from None


# --- what nova.conf says --------------------------------------------------------------------------------------


def compute_driver(about: Situation) -> t.Optional[Refusal]:
    """nova/virt/driver.py: without a driver it logs a line and exits."""
    driver = about.facts.nova_conf.compute_driver if about.facts.nova_conf else None
    if not driver:
        return Refusal("load_compute_driver", quoted_text("Compute driver option required, but not specified"))
    if driver not in ("libvirt.LibvirtDriver", "nova.virt.libvirt.LibvirtDriver", "libvirt.driver.LibvirtDriver"):
        raise DoubtError(f"compute_driver is {driver}, and the rules of the forecast are those of libvirt's driver")
    return None


def cpu_sets(about: Situation) -> t.Optional[Refusal]:
    rule = "_check_cpu_set_configuration"
    sets: t.Dict[str, t.FrozenSet[int]] = {}
    for section, option in _SETS:
        text = about.text(section, option)
        try:
            sets[option] = start_options.cpu_set(text)
        except start_options.CpuSetError as error:
            return Refusal(rule, quoted_text(str(error)))
        if text and not sets[option]:
            name = option if section == "DEFAULT" else f"[{section}] {option}"
            return Refusal(rule, quoted_text(f"No CPUs available after parsing '{name}' config"))
    pinned, shared, dedicated = (sets[option] for _section, option in _SETS)
    if pinned and dedicated:
        return Refusal(rule, quoted_text("The 'vcpu_pin_set' config option has been deprecated and cannot be defined"))
    if pinned or not (shared or dedicated):
        return None
    if shared & dedicated:
        text = (
            "The '[compute] cpu_dedicated_set' and '[compute] cpu_shared_set' configuration options must be disjoint."
        )
        return Refusal(rule, quoted_text(text))
    if about.number("DEFAULT", "reserved_host_cpus", 0):
        return Refusal(rule, quoted_text("The 'reserved_host_cpus' config option cannot be defined alongside"))
    return None


#: In the order in which Nova parses them.
_SETS = (("DEFAULT", "vcpu_pin_set"), ("compute", "cpu_shared_set"), ("compute", "cpu_dedicated_set"))


def pinned_guests(about: Situation) -> t.Optional[Refusal]:
    """27 to 33 in manager.py before guests are destroyed; since 34 in driver.py, after evacuated ones are."""
    pinned, shared, dedicated = (bool(about.text(section, option)) for section, option in _SETS)
    no_pinned = shared and not dedicated and not pinned
    wrong = {
        "shared": _UNPINNED if dedicated and not shared else "",
        "dedicated": _PINNED if no_pinned else "",
        "mixed": _PINNED if no_pinned else _MIXED.format("pinned" if shared else "unpinned"),
    }
    if shared and dedicated:
        return None
    one_kind = bool(wrong["shared"] or wrong["dedicated"])
    unclear = one_kind and not about.guests_read
    for _row, domain in about.guests:
        policy = domain.cpu_policy if domain else None
        text = wrong.get(policy or "")
        if text:
            late = about.release >= PROCESSED_LATE_SINCE
            return Refusal("_validate_pinning_configuration", quoted_text(text), not late, late)
        # Without a domain it may be of any kind; of the kind for which both sets are needed there are few.
        unclear = unclear or policy == "" or (policy is None and one_kind)
    if unclear:
        raise DoubtError(
            "nova.conf sets CPUs aside for one kind of guests, and the run cannot tell the kind of each guest"
        )
    return None


#: From here on guests are looked at after evacuated ones were destroyed (driver.py, process_instances_at_startup).
PROCESSED_LATE_SINCE = 34
_UNPINNED = "This host has unpinned instances but has no CPUs set aside for this purpose"
_PINNED = "This host has pinned instances but has no CPUs set aside for this purpose"
_MIXED = "but hasn't set aside {} CPUs for this purpose"


def inventory(about: Situation) -> t.Optional[Refusal]:
    """nova/compute/resource_tracker.py: placement keeps no inventory away that somebody has allocations of.

    Seen on 34: with C(cpu_dedicated_set) alone there is no VCPU any more. Which allocations the start itself takes back
    is not told, so that what there is makes it unknown.
    """
    pinned, shared, dedicated = (bool(about.text(section, option)) for section, option in _SETS)
    gone = {"VCPU"} if dedicated and not shared else {"PCPU"} if shared and not dedicated and not pinned else set()
    found = sorted(gone & set(about.allocated or ()))
    if found:
        raise DoubtError(
            f"placement has allocations of {found[0]} on the host, and nova.conf sets no CPUs aside for them"
        )
    if about.allocated is None and "VCPU" in gone:
        raise DoubtError(
            "nova.conf sets aside no CPUs for VCPU, and the run did not read whether placement has "
            "allocations of VCPU on the host"
        )
    return None


def power(about: Situation) -> t.Optional[Refusal]:
    """nova/virt/libvirt/cpu/api.py. The first minor releases of 27 to 29 read the governor of offline CPUs too."""
    if not about.on("libvirt", "cpu_power_management"):
        return None
    if not about.text("compute", "cpu_dedicated_set"):
        if about.release < _POWER_SETTLED:
            raise DoubtError(
                "some minor releases of Nova need [compute] cpu_dedicated_set for [libvirt] "
                "cpu_power_management, and [compute] cpu_dedicated_set is not set"
            )
        return None
    cores = about.start.cores
    strategy = about.text("libvirt", "cpu_power_management_strategy", "cpu_state")
    if cores is None or "missing" in cores.values() or strategy not in ("cpu_state", "governor"):
        raise DoubtError(
            f"the run cannot tell the state of each CPU of [compute] cpu_dedicated_set{about.why('cores')}"
        )
    if strategy == "governor":
        if "offline" in cores.values():
            return Refusal(
                "validate_all_dedicated_cpus", quoted_text("All the cores need to be online before modifying")
            )
        if "" in cores.values():
            raise DoubtError(
                "a CPU of [compute] cpu_dedicated_set has no governor, and [libvirt] "
                "cpu_power_management_strategy is governor"
            )
        return None
    looked = {name: state for name, state in cores.items() if name != "0"}
    if about.release < _POWER_SETTLED and ("offline" in looked.values() or "0" in cores):
        raise DoubtError("some minor releases of Nova cannot manage CPU 0 or a CPU that is offline")
    if len({state for state in looked.values() if state != "offline"}) > 1:
        text = "All the cores need to have the same governor strategy"
        return Refusal("validate_all_dedicated_cpus", quoted_text(text))
    return None


_POWER_SETTLED = 30


def disk_devices(about: Situation) -> t.Optional[Refusal]:
    if about.number("compute", "max_disk_devices_to_attach", -1) == 0:
        return Refusal("init_host", quoted_text("[compute]max_disk_devices_to_attach has been set to 0"))
    return None


def libvirt_version(about: Situation) -> t.Optional[Refusal]:
    least = next(version for since, version in _LEAST_LIBVIRT if about.release >= since)
    if _version(about) >= least:
        return None
    text = f"Nova requires libvirt version {'.'.join(map(str, least))} or greater."
    return Refusal("init_host", quoted_text(text))


#: MIN_LIBVIRT_VERSION of driver.py, by the release from which on it holds.
_LEAST_LIBVIRT = ((31, (8, 0, 0)), (28, (7, 0, 0)), (0, (6, 0, 0)))


def _version(about: Situation) -> t.Tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", about.facts.libvirt.version if about.facts.libvirt else "")
    if found is None:
        raise DoubtError("the run cannot tell the version of libvirt")
    return tuple(map(int, found.groups()))


def tb_cache(about: Situation) -> t.Optional[Refusal]:
    if about.virt_type == "qemu" and about.number("libvirt", "tb_cache_size", 0) > 0 and _version(about) < (8, 0, 0):
        text = "Nova requires libvirt version 8.0.0 or greater with '[libvirt] tb_cache_size' configured."
        return Refusal("_supports_tb_cache_size", quoted_text(text))
    return None


def tunnelled(about: Situation) -> t.Optional[Refusal]:
    if about.on("libvirt", "live_migration_tunnelled") and about.on("libvirt", "live_migration_with_native_tls"):
        text = (
            "Setting both 'live_migration_tunnelled' and 'live_migration_with_native_tls' at the same time is invalid."
        )
        return Refusal("init_host", quoted_text(text))
    return None


def raw_images(about: Situation) -> t.Optional[Refusal]:
    conf = about.facts.nova_conf
    if conf is not None and conf.images_type == "rbd" and not about.on("DEFAULT", "force_raw_images", True):
        return Refusal("init_host", quoted_text("'[DEFAULT]/force_raw_images = False' is not allowed with"))
    return None


def cpu_models(about: Situation) -> t.Optional[Refusal]:
    mode, models = about.text("libvirt", "cpu_mode"), about.text("libvirt", "cpu_models").strip(" ,")
    rule = "_check_cpu_compatibility"
    if mode not in ("", "none", "host-model", "host-passthrough", "custom"):
        raise DoubtError("[libvirt] cpu_mode is none of the values that Nova knows")
    if about.virt_type not in ("kvm", "qemu") and mode not in ("", "none"):
        return Refusal(rule, quoted_text("Config requested an explicit CPU model, but the current libvirt hypervisor"))
    if mode != "custom":
        text = "The cpu_models option is not required when cpu_mode!=custom"
        return Refusal(rule, quoted_text(text)) if models else None
    if not models:
        return Refusal(rule, quoted_text("The cpu_models option is required when cpu_mode=custom"))
    if not about.on("workarounds", "skip_cpu_compare_at_startup"):
        raise DoubtError("nova-compute compares [libvirt] cpu_models with the CPU of the host, and the run does not")
    return None


def vtpm(about: Situation) -> t.Optional[Refusal]:
    if not about.on("libvirt", "swtpm_enabled"):
        return None
    rule = "_check_vtpm_support"
    if about.virt_type not in ("qemu", "kvm"):
        return Refusal(rule, quoted_text("vTPM support requires '[libvirt] virt_type' of 'qemu' or 'kvm'"))
    found = about.start.vtpm
    if found is None:
        raise DoubtError(
            "[libvirt] swtpm_enabled is set, and the run cannot tell whether the host can emulate a TPM"
            f"{about.why('vtpm')}"
        )
    user, group = (about.text("libvirt", f"swtpm_{name}", start_options.SWTPM_OWNER) for name in ("user", "group"))
    texts = {
        "program": "vTPM support is configured but the 'swtpm' and 'swtpm_setup' binaries could not be found on PATH.",
        "libvirt": "vTPM support is configured but it's not supported by libvirt.",
        "user": f"The user configured in '[libvirt] swtpm_user' does not exist on this host; expected '{user}'.",
        "group": f"The group configured in '[libvirt] swtpm_group' does not exist on this host; expected '{group}'.",
    }
    del texts["program" if about.release >= _LIBVIRT_ASKED_SINCE else "libvirt"]
    return next((Refusal(rule, quoted_text(text)) for part, text in texts.items() if not found[part]), None)


_LIBVIRT_ASKED_SINCE = 30


def vtpm_guests(about: Situation) -> t.Optional[Refusal]:
    """The guests' flavors and images are not read, but what became of them. A guest without a domain is not seen."""
    if about.on("libvirt", "swtpm_enabled"):
        return None
    if not about.guests_read and any(domain.vtpm for domain in about.facts.domains or []):
        raise DoubtError("a guest has an emulated TPM, and the run did not read which server it is")
    if any(domain is not None and domain.vtpm for _row, domain in about.guests):
        late = about.release >= PROCESSED_LATE_SINCE
        text = quoted_text("This host has instances with the vTPM feature enabled, but the host is not correctly")
        return Refusal("_validate_vtpm_configuration", text, not late, late)
    return None


def encrypted_guests(about: Situation) -> t.Optional[Refusal]:
    if any(domain is not None and domain.encrypted for _row, domain in about.guests):
        raise DoubtError("a guest has encrypted memory, and the run cannot tell whether the host still supports it")
    return None


def multipath(about: Situation) -> t.Optional[Refusal]:
    if not about.on("libvirt", "volume_enforce_multipath"):
        return None
    if not about.on("libvirt", "volume_use_multipath"):
        return Refusal("_check_multipath", quoted_text("The 'volume_use_multipath' option should be 'True' when"))
    raise DoubtError("[libvirt] volume_enforce_multipath needs multipathd, and the run cannot tell whether it runs")


def parallel(about: Situation) -> t.Optional[Refusal]:
    many = about.number("libvirt", "live_migration_parallel_connections", 1) > 1
    if many and about.on("libvirt", "live_migration_permit_post_copy"):
        raise DoubtError(
            "[libvirt] live_migration_parallel_connections with post-copy needs QEMU 10.1.0, and the run "
            "does not read the version of QEMU"
        )
    return None


def huge_pages(about: Situation) -> t.Optional[Refusal]:
    for entry in about.values("DEFAULT", "reserved_huge_pages"):
        given = {
            name.strip(): value.strip() for name, _sign, value in (part.partition(":") for part in entry.split(","))
        }
        if not all(given.get(name, "").isdigit() for name in ("node", "size", "count")):
            raise DoubtError("the run cannot tell whether nova-compute accepts [DEFAULT] reserved_huge_pages")
    return None


def provider_configs(about: Situation) -> t.Optional[Refusal]:
    found = about.start.provider_configs
    if found is None:
        raise DoubtError(
            f"the run did not read the directory in [compute] provider_config_location{about.why('provider_configs')}"
        )
    if found:
        raise DoubtError(f"nova-compute checks {', '.join(found)}, and the run does not")
    return None


# --- PCI devices


def device_spec(about: Situation) -> t.Optional[Refusal]:
    """nova/pci/whitelist.py, devspec.py: what is plain is judged; devices by name, and what depends on them, is not."""
    for text in about.values("pci", "device_spec"):
        if not text:
            continue
        try:
            found = json.loads(text)
        except ValueError:
            return Refusal("Whitelist", quoted_text(f"Invalid entry: '{text}'"))
        specs = [found] if isinstance(found, dict) else found
        if not isinstance(specs, list):
            return Refusal("Whitelist", quoted_text(f"Invalid entry: '{text}'; Expecting list or dict"))
        wrong = [spec for spec in specs if not isinstance(spec, dict)]
        if wrong:
            return Refusal("Whitelist", quoted_text(f"Invalid entry: '{wrong[0]}'; Expecting dict"))
        if not all(_plain_spec(spec) for spec in specs):
            raise DoubtError("the run cannot tell whether nova-compute accepts [pci] device_spec")
    return None


_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{1,4}\Z")
#: A whole address, or one whose parts are wildcards.
_ADDRESS = re.compile(r"(?:(?:[0-9a-fA-F]{4}|\*):)?(?:[0-9a-fA-F]{2}|\*):(?:[01][0-9a-fA-F]|\*)\.(?:[0-7]|\*)\Z")
_FREE = frozenset({"physical_network", "trusted", "resource_class", "traits"})


def _plain_spec(spec: t.Mapping[str, t.Any]) -> bool:
    ids = all(spec.get(name, "*") == "*" or _HEX.match(str(spec[name])) for name in ("vendor_id", "product_id"))
    address = spec.get("address", "*:*.*")
    known = {"vendor_id", "product_id", "address"} | _FREE
    strings = all(isinstance(value, str) for value in spec.values())
    return ids and strings and set(spec) <= known and bool(_ADDRESS.match(str(address)))


def alias(about: Situation) -> t.Optional[Refusal]:
    """nova/pci/request.py, get_alias_from_config."""
    names = []
    for text in about.values("pci", "alias"):
        try:
            spec = json.loads(text)
        except ValueError:
            return Refusal("get_alias_from_config", quoted_text("Invalid PCI alias definition"))
        if not _plain_alias(spec):
            raise DoubtError("the run cannot tell whether nova-compute accepts [pci] alias")
        names.append(spec["name"].strip())
    if len(set(names)) < len(names):
        raise DoubtError("the run cannot tell whether nova-compute accepts [pci] alias, which has one name twice")
    return None


_VENDOR = re.compile(r"[0-9a-fA-F]{4}\Z")
_ALIAS_CHOICES: t.Mapping[str, t.Tuple[str, ...]] = {
    "capability_type": ("pci",),
    "device_type": ("type-PCI", "type-PF", "type-VF"),
    "numa_policy": ("legacy", "required", "preferred", "socket"),
}


def _plain_alias(spec: t.Any) -> bool:
    if not isinstance(spec, dict) or not all(isinstance(value, str) for value in spec.values()):
        return False
    ids = all(_VENDOR.match(spec.get(name, "")) for name in ("vendor_id", "product_id"))
    choices = all(spec[name] in values for name, values in _ALIAS_CHOICES.items() if name in spec)
    known = {"name", "vendor_id", "product_id", *_ALIAS_CHOICES}
    return ids and choices and set(spec) <= known and 0 < len(spec.get("name", "").strip()) <= 256


def pci_migration(about: Situation) -> t.Optional[Refusal]:
    if any("live_migratable" in text for text in about.values("pci", "device_spec")):
        raise DoubtError(
            "live_migratable in [pci] device_spec needs libvirt 10.0.0 and QEMU 8.2.2, and the run does not "
            "read the version of QEMU"
        )
    return None


# --- others


def broker(about: Situation) -> t.Optional[Refusal]:
    found = about.start.brokers
    if found and all(found.values()):
        said = ", ".join(f"{place} ({why})" for place, why in found.items())
        raise DoubtError(f"nova-compute waits until a broker answers, and none answers on this host: {said}")
    return None
