# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""compute: the compute hosts of a cloud, out of Nova's list of services."""

from __future__ import annotations

DOCUMENTATION = r"""
name: compute
author:
  - stackguard.nova contributors (@stackguard)
version_added: 0.1.0
short_description: Add the compute hosts from Nova's list of compute services to the inventory
description:
  - For each nova-compute service of a cloud, the plugin adds a host to the inventory. Each host is in the group
    O(group) (by default C(compute)), and in a group for its availability zone. The host variable
    C(stackguard_nova_host) contains the host's name in Nova. The host variable C(nova_service) contains Nova's record
    of the service.
  - The name of the inventory file must end with C(nova_compute.yml) or C(nova_compute.yaml), such as
    C(rack7.nova_compute.yml).
  - If the plugin cannot read the whole list, it reports an error and never returns an empty or incomplete inventory. If
    an inventory plugin fails, Ansible by default prints a warning and continues with the remaining hosts. After an
    error, this plugin ends the complete C(ansible-playbook) run, so that no play runs without the compute hosts. See
    O(end_run).
  - Nova does not know how Ansible connects to a host. Set the connection variables in C(group_vars/compute.yml), or use
    O(compose).
extends_documentation_fragment:
  - stackguard.nova.openstack
  - constructed
  - inventory_cache
options:
  plugin:
    type: str
    required: true
    choices: [stackguard.nova.compute]
    description: Name of this plugin, which marks the inventory file as a source for the plugin.
  inventory_name:
    type: str
    choices: [as_is, short]
    default: as_is
    description:
      - Name that the plugin gives a host in the inventory. V(as_is) is the service's host name in Nova. V(short) is the
        part of the service's host name before the first dot.
      - The plugin reports an error if two hosts would have the same name in the inventory.
  group:
    type: str
    default: compute
    description: Name of the group that contains all hosts.
  zone_groups:
    type: bool
    default: true
    description: Whether to create an inventory group for each availability zone.
  zone_prefix:
    type: str
    default: zone_
    description:
      - Prefix for the names of the inventory groups of availability zones. If a zone's name contains characters that
        are not valid in the name of an Ansible group, the plugin replaces these characters with underscores. The plugin
        reports an error if the groups of two zones would have the same name.
  include_disabled:
    type: bool
    default: true
    description: Whether to include hosts whose service is disabled.
  include_down:
    type: bool
    default: true
    description: Whether to include hosts whose service is down, such as a host that is being evacuated.
  include_unread:
    type: bool
    default: false
    description:
      - Whether to include hosts whose cell does not answer. For the hosts of a cell that does not answer, Nova returns
        only the names. A host whose cell does not answer is in no zone group, and C(nova_service.status) of the host is
        V(UNKNOWN).
      - To include a host whose cell does not answer, O(include_unread), O(include_disabled) and O(include_down) must
        all be V(true). If one of the three options is V(false), the plugin reports an error for the host, because Nova
        does not return whether the service of the host is disabled or down.
  end_run:
    type: bool
    default: true
    description:
      - Whether an error of this plugin ends Ansible with exit status 1. With O(end_run=false) Ansible reports an error
        of this plugin as a warning, like the errors of other inventory plugins. If you set C(any_unparsed_is_failed) in
        the section C(inventory) of C(ansible.cfg), Ansible ends with an error even with O(end_run=false).
"""

EXAMPLES = r"""
# nova_compute.yml: the cloud of clouds.yaml, as it is
plugin: stackguard.nova.compute
cloud: production

---
# rack7.nova_compute.yml: short names, reached in a domain of their own, with groups by the state of the service
plugin: stackguard.nova.compute
cloud: production
inventory_name: short
include_disabled: false
compose:
  ansible_host: inventory_hostname ~ '.mgmt.example.com'
keyed_groups:
  - key: nova_service.status
    prefix: nova
"""

import hashlib
import json
import typing as t

from ansible.errors import AnsibleError, AnsibleParserError
from ansible.inventory.group import to_safe_group_name
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.utils.display import Display

from ..module_utils.model.errors import StackguardError
from ..module_utils.model.wording import visible
from ..module_utils.systems.api import compute_services, connection

Item = t.Dict[str, t.Any]

ENDINGS = ("nova_compute.yml", "nova_compute.yaml")
#: What of a service becomes a variable.
SHOWN = ("id", "host", "status", "state", "zone", "forced_down", "disabled_reason")


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):  # type: ignore[misc]
    """What Ansible loads."""

    NAME = "stackguard.nova.compute"

    def verify_file(self, path: str) -> bool:
        """Whether the file may be one of this plugin, by its name."""
        return bool(super().verify_file(path)) and path.endswith(ENDINGS)

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        """Fill the inventory, or end the run: an empty one would be taken for a cloud without hosts."""
        super().parse(inventory, loader, path, cache)
        ends = True
        try:
            config = self._read_config_data(path)
            ends = bool(self.get_option("end_run"))
            self._fill(hosts(self._services(path, config, cache), self._wanted()))
        except (StackguardError, AnsibleError) as error:
            text = f"{path}: the compute hosts could not be read: {_said(error)}"
            if not ends:
                raise AnsibleParserError(text) from None
            # Ansible would make a warning of an exception, and run on without the hosts.
            Display().error(visible(text), wrap_text=False)
            raise SystemExit(1) from None

    def _wanted(self) -> Wanted:
        names = ("inventory_name", "include_disabled", "include_down", "include_unread")
        return Wanted(*(self.get_option(name) for name in names))

    def _services(self, path: str, config: t.Mapping[str, t.Any], cache: bool) -> t.List[Item]:
        mine = hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode()).hexdigest()[:12]
        key = f"{self.get_cache_key(path)}_{mine}"
        if not self.get_option("cache"):
            return self._read()
        if cache and key in self._cache:
            return list(self._cache[key])
        self._cache[key] = found = self._read()
        return found

    def _read(self) -> t.List[Item]:
        options = {name: self.get_option(name) for name in connection.OPENSTACK_SPEC}
        found = compute_services.raw_services(connection.connect(options))
        return [{key: item.get(key) for key in SHOWN if key in item} for item in found]

    def _fill(self, found: t.Mapping[str, Item]) -> None:
        group, prefix, strict = (self.get_option(name) for name in ("group", "zone_prefix", "strict"))
        self.inventory.add_group(group)
        zones = zone_groups(found.values(), prefix) if self.get_option("zone_groups") else {}
        for name, service in found.items():
            self.inventory.add_host(name, group=group)
            self.inventory.set_variable(name, "stackguard_nova_host", service["host"])
            self.inventory.set_variable(name, "nova_service", service)
            if service.get("zone") in zones:
                self.inventory.add_host(name, group=self.inventory.add_group(zones[service["zone"]]))
            known = self.inventory.get_host(name).get_vars()
            self._set_composite_vars(self.get_option("compose"), known, name, strict)
            self._add_host_to_composed_groups(self.get_option("groups"), known, name, strict)
            self._add_host_to_keyed_groups(self.get_option("keyed_groups"), known, name, strict)


class Wanted(t.NamedTuple):
    """Which hosts are included, and what they are called."""

    inventory_name: str = "as_is"
    disabled: bool = True
    down: bool = True
    unread: bool = False


def hosts(services: t.Sequence[Item], wanted: Wanted) -> t.Dict[str, Item]:
    """Return inventory name to service. Raises :class:`StackguardError` where the list is not whole, or not clear."""
    if not services:
        raise StackguardError(
            "no nova-compute service is registered in Nova, or Nova does not show nova-compute services to this user"
        )
    unread = sorted(str(item.get("host")) for item in services if "id" not in item)
    if unread and not (wanted.unread and wanted.disabled and wanted.down):
        raise StackguardError(
            f"Nova returns names but no other data for {', '.join(unread)}, because the cell of these hosts does not "
            "answer. To include these hosts, set include_unread=true, include_disabled=true and include_down=true."
        )
    found: t.Dict[str, Item] = {}
    for item in sorted(services, key=lambda entry: str(entry.get("host"))):
        if not item.get("host"):
            raise StackguardError("Nova's answer contains a service without a host")
        if not _included(item, wanted):
            continue
        host = str(item["host"])
        name = host.partition(".")[0] if wanted.inventory_name == "short" else host
        if name in found:
            raise StackguardError(f"{found[name]['host']} and {host} would both have the inventory name {name}")
        found[name] = item
    return found


def _included(item: Item, wanted: Wanted) -> bool:
    return (wanted.disabled or item["status"] != "disabled") and (wanted.down or item["state"] != "down")


def zone_groups(services: t.Iterable[Item], prefix: str) -> t.Dict[str, str]:
    """Return zone to group. Raises :class:`StackguardError` where two zones would be one group."""
    found: t.Dict[str, str] = {}
    for zone in sorted({str(item["zone"]) for item in services if item.get("zone")}):
        group = to_safe_group_name(f"{prefix}{zone}", force=True, silent=True)
        same = [other for other, known in found.items() if known == group]
        if same:
            raise StackguardError(
                f"the zones {same[0]} and {zone} would both get the group {group}. To create no zone groups, "
                "set zone_groups: false"
            )
        found[zone] = group
    return found


def _said(error: Exception) -> str:
    return str(getattr(error, "message", "") or error)
