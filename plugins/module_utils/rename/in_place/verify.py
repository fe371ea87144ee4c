# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After a rename: no store may say the old name, and everything but names must be what it was. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...model.codes.catalogue import remedy_text
from ...model.facts import Bundle, HostFacts
from ...model.findings import (
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
    with_remedy,
)
from ...model.lookups import Index
from ...model.names import conf_host
from ...name_places.catalogue import PLACES

#: The domain of a server that was deleted while the operation was open.
DELETED_SINCE = "SG110"


@dataclasses.dataclass(frozen=True)
class RenamedHost:
    """What must be so after a rename: names old and new, and the ids that must not have changed."""

    inventory_name: str
    old_host: str
    old_node: str
    new_host: str
    new_node: str
    service_uuid: str
    service_id: int
    node_uuid: str
    node_id: int
    instance_ids: t.Tuple[int, ...] = ()
    #: Consumer uuid to resource class to amount, of the root provider.
    allocations: t.Optional[t.Mapping[str, t.Mapping[str, int]]] = None


def calls_itself(facts: HostFacts) -> t.Optional[str]:
    """Return C(CONF.host) as nova-compute would take it now, or None where that is not known."""
    return conf_host(facts)


def already_renamed(bundle: Bundle, inventory_name: str, old: str, new: str) -> bool:
    """Whether the host and every cell say the new name and none says the old one: nothing to be done."""
    host, index = bundle.hosts.get(inventory_name), Index(bundle)
    if host is None or calls_itself(host) != new or not index.cells_read("compute_nodes"):
        return False
    return bool(index.node_rows_by_host.get(new)) and not index.node_rows_by_host.get(old)


def leftovers(bundle: Bundle, expected: RenamedHost) -> Checked:
    """Every place that was read and still says the old name."""
    old = {expected.old_host, expected.old_node} - {expected.new_host, expected.new_node}
    index = Index(bundle)
    found = [entry for place in PLACES if place.steps for entry in place.stored(index) if place.holds(entry, old)]
    return Checked(
        tuple(
            finding(
                "SG301",
                entry.subject,
                {"store": entry.store, "name": entry.name, "expected": expected.new_host},
                remedy_text("SG301", "old-name-left-by-rename"),
            )
            for entry in found
        )
    )


def unread(bundle: Bundle, expected: RenamedHost) -> t.List[Unchecked]:
    """Every place that a rename changes and that was not read: whether it still says the old name is not known."""
    index = Index(bundle)
    found = [item for place in PLACES if place.steps for item in place.unread(index) if isinstance(item, Unchecked)]
    shown = ("services", "hypervisors", "servers", "aggregates")
    parts = [part for part in shown if getattr(bundle.cloud, part, None) is None]
    if not index.cells_read("instances"):
        parts.append("instances of every cell")
    host = bundle.hosts.get(expected.inventory_name)
    if host is None or calls_itself(host) is None or host.libvirt is None:
        parts.append(f"nova-compute's CONF.host or libvirt's host name on {expected.inventory_name}, or both")
    return [*found, *(Unchecked("SG301", expected.new_host, f"not read: {part}") for part in parts)]


def unchanged(bundle: Bundle, expected: RenamedHost) -> Checked:
    """Service, node, provider and instances have the ids they had; allocations are the same."""
    findings = [*_same_rows(bundle, expected), *_same_provider(bundle, expected)]
    return Checked(tuple(findings))


def deleted_since(bundle: Bundle, expected: RenamedHost, checked: Checked) -> Checked:
    """Return findings with SG110 as a warning where the server was one of this host's when the operation began.

    It was deleted while nova-compute was stopped. Nova's own task ends such domains (compute manager,
    ``_cleanup_running_deleted_instances``), unless running_deleted_instance_action is noop or log.
    """
    cells = (bundle.databases.cells if bundle.databases else None) or []
    hosts = {expected.old_host, expected.new_host}
    deleted = {
        row.uuid
        for cell in cells
        for row in cell.instances or []
        if row.deleted and row.id in expected.instance_ids and row.host in hosts
    }
    remedy = remedy_text(DELETED_SINCE, "server-deleted-during-rename")
    return Checked(
        tuple(
            with_remedy(dataclasses.replace(item, severity="warning"), remedy)
            if item.code == DELETED_SINCE and item.object.id in deleted
            else item
            for item in checked.findings
        ),
        checked.unchecked,
    )


def _same_rows(bundle: Bundle, expected: RenamedHost) -> t.Iterator[Finding]:
    cells = (bundle.databases.cells if bundle.databases else None) or []
    services = [
        row for cell in cells for row in cell.services or [] if row.host == expected.new_host and not row.deleted
    ]
    if [(row.id, row.uuid) for row in services] != [(expected.service_id, expected.service_uuid)]:
        seen = {"seen": [[row.id, row.uuid] for row in services]}
        subject = Subject("service", expected.service_uuid, host=expected.new_host)
        yield finding("SG106", subject, seen, remedy_text("SG106", "service-changed-by-rename"))
    nodes = [
        row for cell in cells for row in cell.compute_nodes or [] if row.host == expected.new_host and not row.deleted
    ]
    if [(row.id, row.uuid, row.hypervisor_hostname) for row in nodes] != [
        (expected.node_id, expected.node_uuid, expected.new_node)
    ]:
        seen = {"seen": [[row.id, row.uuid, row.hypervisor_hostname] for row in nodes]}
        subject = Subject("compute_node", expected.node_uuid, host=expected.new_host)
        yield finding("SG102", subject, seen, remedy_text("SG102", "node-changed-by-rename"))
    here = {row.id for cell in cells for row in cell.instances or [] if row.host == expected.new_host}
    for missing in sorted(set(expected.instance_ids) - here):
        # A tenant may have deleted it in between: that is told, and is no reason to go back.
        yield finding(
            "SG301",
            Subject("instance", str(missing), host=expected.new_host),
            {
                "store": "instances",
                "seen": "no row of the table instances has this id and the new host name (deleted rows do not count)",
            },
            remedy_text("SG301", "instance-gone-during-rename"),
            "warning",
        )


def _same_provider(bundle: Bundle, expected: RenamedHost) -> t.Iterator[Finding]:
    providers = {row.uuid: row for row in (bundle.cloud.providers if bundle.cloud else None) or []}
    provider = providers.get(expected.node_uuid)
    subject = Subject("resource_provider", expected.node_uuid, expected.new_node, expected.new_host)
    if provider is None or provider.name != expected.new_node:
        seen = {"seen": provider.name if provider else None, "expected": expected.new_node}
        yield finding("SG112", subject, seen, remedy_text("SG112", "provider-changed-by-rename"))
    elif expected.allocations is not None and provider.allocations is not None:
        gone = sorted(set(expected.allocations) - set(provider.allocations))
        changed = sorted(
            key for key, value in expected.allocations.items() if provider.allocations.get(key, value) != value
        )
        if gone or changed:
            evidence = {"allocations gone": gone, "allocations changed": changed}
            remedy = remedy_text("SG112", "allocations-changed-during-rename")
            yield finding("SG112", subject, evidence, remedy, "warning")
