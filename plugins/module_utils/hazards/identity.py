# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Is each compute host who its databases say it is, and are its domains its instances? SG101 to SG119. Pure.

Sources: nova/virt/node.py (compute_id, since 27), nova/compute/manager.py (start-up checks and what they destroy),
nova/compute/resource_tracker.py (providers by name), releases 26 to 34.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ..capacity.measured import by_nova_name, libvirt_twins
from ..model.codes.catalogue import remedy_text
from ..model.commands import MASK, typed
from ..model.facts import (
    Bundle,
    CellFacts,
    Domain,
    HostFacts,
    InstanceRow,
    ResourceProvider,
    ServiceRow,
)
from ..model.findings import (
    BLOCKER,
    INFO,
    WARNING,
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
    with_remedy,
)
from ..model.lookups import (
    UNREAPED,
    ComputeNode,
    Index,
    Item,
    Items,
    domain_subject,
    file_uuid,
    gather,
    host_subject,
    open_evacuation,
    same_name,
    same_uuid,
    uuid_files,
    uuid_key,
)
from ..model.names import conf_host
from ..model.stored_names import name_key
from . import guest_places, owners
from .recovery import (
    LEFT,
    PARTIAL,
    reaping,
)

#: What two hosts may share, first of all.
COMPUTE_ID = "compute_id"
#: Parts of a host that its identity is told from.
IDENTITY_PARTS = ("compute_id_files", "nova_conf", "libvirt", "domains")
#: In the evidence of SG112: providers that have the node's name and another uuid.
OTHER_PROVIDERS = "other providers with the node's name"
#: Instances by uuid, each with its cell.
Asked = t.Dict[str, t.Tuple[CellFacts, InstanceRow]]


def check(
    bundle: Bundle,
    elsewhere: t.Callable[[HostFacts], t.Container[str]] = lambda _facts: (),
    index: t.Optional[Index] = None,
    also: t.Callable[[str, HostFacts], None] = lambda _name, _facts: None,
) -> Checked:
    """Check every host of the bundle, and every compute service and node of the databases.

    ``elsewhere``: unread parts of a host that another check reports. ``also``: called with each host by its inventory
    name, for what else looks at its guests: those of saved evidence are parsed anew for each host that is looked at.
    """
    index = index or Index(bundle)
    items: t.List[Item] = [*_unreachable(bundle), *duplicates(index)]
    asked: Asked = _gone(index)
    for key in sorted(bundle.hosts):
        facts = bundle.hosts[key]
        items += [*unread_parts(facts, elsewhere(facts)), *_host_items(index, facts, asked)]
        also(key, facts)
    items += [*_placed(index, asked), *_services_without_node(index), *_unmapped(index)]
    return gather(items)


def host_items(index: Index, facts: HostFacts) -> Items:
    """Everything that is decided of one host, and of its instances wherever they are."""
    yield from _host_items(index, facts, None)


def _host_items(index: Index, facts: HostFacts, asked: t.Optional[Asked]) -> Items:
    """``asked``: takes the instances of which all hosts are to be asked, once for all; None: they are asked now."""
    driver = list(unsupported_driver(index, facts))
    yield from driver
    if driver:
        return
    yield from compute_id_files(index, facts)
    yield from compute_id_node(index, facts)
    yield from hypervisor_hostname(index, facts)
    yield from service_host(index, facts)
    yield from provider(index, facts)
    yield from domains(index, facts) if asked is None else _of_domains(index, facts, asked)
    yield from forecast(index, facts)


# --- the host answers, and is one that this collection knows --------------------------------------------------


def _unreachable(bundle: Bundle) -> Items:
    for name in sorted(bundle.unreachable):
        evidence = {"reason": bundle.unreachable[name]}
        yield finding(
            "SG114",
            Subject("host", name),
            evidence,
            remedy_text("SG114", "host-unreachable", host=name),
        )


def unread_parts(facts: HostFacts, elsewhere: t.Container[str] = ()) -> Items:
    """SG114: an essential part of the host's facts is missing; others are told as undecided."""
    reasons = {entry.part: entry.reason for entry in facts.unread}
    missing = {part: reasons.get(part, "not read") for part in IDENTITY_PARTS if getattr(facts, part) is None}
    if missing:
        yield finding(
            "SG114",
            host_subject(facts),
            {"unread": missing},
            remedy_text("SG114", "identity-unread"),
        )
    # An audit asks each host which Ceph it sees; one with local disks sees none.
    local = facts.nova_conf is not None and facts.nova_conf.images_type != "rbd"
    expected = {"ovs_external_ids", "rbd"} if local else {"ovs_external_ids"}
    for entry in facts.unread:
        if entry.part not in missing and entry.part not in expected and entry.part not in elsewhere:
            yield Unchecked("SG114", facts.inventory_name, f"{entry.part}: {entry.reason}")


def unsupported_driver(index: Index, facts: HostFacts) -> Items:
    """SG115: ironic or another driver. Its nodes' identities follow other rules (virt/ironic/driver.py)."""
    driver = facts.nova_conf.compute_driver if facts.nova_conf else None
    nodes = index.nodes_by_host.get(conf_host(facts), [])
    types = sorted({node.hypervisor_type for node in nodes if node.hypervisor_type})
    foreign = driver is not None and "libvirt" not in driver.casefold()
    if foreign or any(kind.casefold() == "ironic" for kind in types):
        yield finding(
            "SG115",
            host_subject(facts),
            {"compute_driver": driver, "hypervisor_type": types},
            remedy_text("SG115", "driver-unsupported"),
        )


# --- compute_id -----------------------------------------------------------------------------------------------


def compute_id_files(index: Index, facts: HostFacts) -> Items:
    """SG101, SG103, SG104 (virt/node.py, byte-identical from 27 to 34; release 26 has no such file).

    Nova looks in the directory of each C(--config-file), then in C(state_path). Deployment tools keep copies elsewhere.
    """
    if facts.compute_id_files is None:
        for code in ("SG101", "SG103", "SG104"):
            yield Unchecked(code, facts.inventory_name, "the compute_id files were not read")
        return
    subject = host_subject(facts)
    every = uuid_files(facts, read_by_nova=False)
    for entry in every:
        if entry.uuid is None:
            yield finding(
                "SG104",
                subject,
                {"path": entry.path, "error": entry.error},
                remedy_text("SG104", "file-unparsable", path=entry.path),
            )
    uuids = {entry.path: entry.uuid for entry in every if entry.uuid}
    if len({uuid_key(value) for value in uuids.values()}) > 1:
        yield finding(
            "SG103",
            subject,
            {"uuids": uuids},
            remedy_text("SG103", "files-differ"),
        )
    if not uuid_files(facts):
        yield from _missing_file(index, facts)


def _missing_file(index: Index, facts: HostFacts) -> Items:
    known = index.host_releases(facts)
    if known is not None and max(known) < 27:
        return
    if known is None:
        yield Unchecked(
            "SG101",
            facts.inventory_name,
            "the host has no compute_id file, and the run does not know the host's Nova release",
        )
        return
    nodes = index.nodes_by_host.get(conf_host(facts), [])
    services = index.services_by_host.get(conf_host(facts), [])
    if index.nodes is not None and not nodes and not services and not facts.domains:
        return  # a host that never started: nova-compute writes the file (virt/node.py, get_local_node_uuid)
    # Older than 65: the first start of 27 writes the node's uuid (manager.py, _ensure_existing_node_identity).
    upgrade = bool(services) and all((row.version or 0) < 65 for _cell, row in services)
    looked = [entry.path for entry in facts.compute_id_files or [] if entry.read_by_nova]
    yield finding(
        "SG101",
        host_subject(facts),
        {
            "searched for": looked,
            "node": [str(node.uuid) for node in nodes],
            "nova-compute has not started with release 27 yet": upgrade,
        },
        remedy_text("SG101", "file-missing"),
        INFO if upgrade else None,
    )


def compute_id_node(index: Index, facts: HostFacts) -> Items:
    """SG102: the file's uuid is not the node's of this host (manager.py, _get_nodes)."""
    uuid = file_uuid(facts)
    host = conf_host(facts)
    if uuid is None or host is None:
        return
    if index.nodes is None or not (index.in_scope(host) or _from_api(index)):
        yield Unchecked("SG102", facts.inventory_name, "this host's compute node was not read")
        return
    by_uuid = index.nodes_by_uuid.get(uuid_key(uuid), [])
    by_host = index.nodes_by_host.get(host, [])
    if not by_host:
        # Known by uuid only: the name changed (SG106), or the file is a copy. Not known at all: SG116, SG119.
        copied = owners.copied_node(index, facts)
        if copied is not None:
            yield _copied_file(index, facts, copied)
        elif not by_uuid and _from_api(index):
            yield Unchecked("SG102", facts.inventory_name, "the API shows no compute node of this host")
        return
    if any(node.host == host for node in by_uuid):
        return
    yield finding(
        "SG102",
        host_subject(facts),
        {
            "file": uuid,
            "node of this host": [str(node.uuid) for node in by_host],
            "node of this uuid": [[node.host, node.hypervisor_hostname] for node in by_uuid],
            "soft-deleted node of this uuid": uuid_key(uuid) in index.deleted_node_uuids,
            "read from": by_host[0].source,
        },
        remedy_text(
            "SG102",
            "file-of-another-node",
            nodes=" or ".join(sorted(str(node.uuid) for node in by_host)),
            paths=_paths(facts, uuid),
            host=facts.inventory_name,
        ),
        commands=MASK,
    )


def _copied_file(index: Index, facts: HostFacts, node: ComputeNode) -> Item:
    """SG102: the file's uuid is, or may be, another machine's, and this host has no compute node."""
    whose = owners.owner(index, facts, node)
    evidence = {
        "file": file_uuid(facts),
        "node of this host": [],
        "node of this uuid": [[node.host, node.hypervisor_hostname]],
        "hosts with an identity of this compute node": list(whose.others),
        "why the compute node may be another machine's": list(whose.doubts),
        "read from": node.source,
    }
    remedy = f"{remedy_text('SG102', 'copy-suspected')} {_remove_copy('SG102', facts)}"
    if not whose.others:
        remedy += f" {remedy_text('SG102', 'copy-original-unseen', host=node.host)}"
    return finding("SG102", host_subject(facts), evidence, remedy, commands=MASK)


def _remove_copy(code: str, facts: HostFacts) -> str:
    """What to do with a copied file: it is in nobody's way once no guest can be on the host."""
    may_have = facts.domains is None or bool(facts.domains)
    return remedy_text(
        code,
        "copy-may-have-guests" if may_have else "copy-without-guests",
        paths=_paths(facts, file_uuid(facts)),
        host=facts.inventory_name,
    )


def _paths(facts: HostFacts, uuid: t.Optional[str]) -> str:
    paths = [entry.path for entry in uuid_files(facts) if same_uuid(entry.uuid, uuid)]
    return " and ".join(paths) or "the compute_id file"


def _from_api(index: Index) -> bool:
    return bool(index.nodes) and index.nodes is not None and index.nodes[0].of_api


def duplicates(index: Index) -> Items:
    """SG107: one identity on two hosts: a cloned image, or a file copied along (facts of nova, 1.1)."""
    keys: t.Dict[t.Tuple[str, str], t.List[HostFacts]] = collections.defaultdict(list)
    for name in sorted(index.bundle.hosts):
        facts = index.bundle.hosts[name]
        for kind, value in _identities(facts):
            keys[kind, value].append(facts)
        for what in _unread_identities(facts):
            yield Unchecked("SG107", name, f"{what}, so another host may have the same value")
    for name in sorted(index.bundle.unreachable):
        why = index.bundle.unreachable[name]
        yield Unchecked("SG107", name, f"this host was not read, and not compared with the other hosts: {why}")
    for (kind, value), having in sorted(keys.items(), key=lambda item: item[0]):
        copies = _copies(index, having) if kind == COMPUTE_ID and len(having) > 1 else []
        for facts in having if len(having) > 1 else []:
            others = [other.inventory_name for other in having if other is not facts]
            item = _duplicate(facts, kind, value, others)
            yield _with_copies(index, item, facts, having, copies) if copies else item


def _with_copies(
    index: Index, item: Finding, facts: HostFacts, having: t.Sequence[HostFacts], copies: t.Sequence[HostFacts]
) -> Finding:
    """The same where it is known which hosts have a copy: the one that keeps its compute_id is left as it is."""
    evidence = {key: value for key, value in item.evidence.items() if facts in copies or key != NOT_STARTED}
    return with_remedy(dataclasses.replace(item, evidence=evidence), _remove_copies(index, having, copies), MASK)


def _copies(index: Index, having: t.Sequence[HostFacts]) -> t.List[HostFacts]:
    """Which of several hosts with one compute_id have a copy; none: it is not known which one keeps it."""
    copies = [facts for facts in having if owners.copied_node(index, facts) is not None]
    keeps = [facts for facts in having if facts not in copies]
    return copies if len(keeps) == 1 and index.node_of(keeps[0]) is not None else []


def _remove_copies(index: Index, having: t.Sequence[HostFacts], copies: t.Sequence[HostFacts]) -> str:
    """What to do on the hosts with a copy, and not on the one that keeps its compute_id."""
    keeps = [facts for facts in having if facts not in copies]
    names = ", ".join(facts.inventory_name for facts in copies)
    head = remedy_text("SG107", "copies-known", keeps=keeps[0].inventory_name, copies=names)
    return " ".join([head, *(_own_or_none(index, facts) for facts in copies)])


def _own_or_none(index: Index, facts: HostFacts) -> str:
    rows = index.nodes_by_host.get(conf_host(facts), [])
    if len(rows) != 1:
        return _remove_copy("SG107", facts)
    return remedy_text(
        "SG107",
        "copy-on-host-with-node",
        host=facts.inventory_name,
        node=rows[0].uuid,
        paths=_paths(facts, file_uuid(facts)),
    )


LIBVIRT_UUID = "libvirt host uuid"
#: Key of the evidence of a value without which nova-compute is not to start.
NOT_STARTED = "nova-compute"


def _duplicate(facts: HostFacts, kind: str, value: str, others: t.Sequence[str], severity: str = BLOCKER) -> Finding:
    evidence = {"identity": kind, "value": value, "also on": others}
    if kind == LIBVIRT_UUID:
        remedy = remedy_text("SG107", "libvirt-uuid")
    else:
        remedy = remedy_text("SG107", "identity-shared", kind=kind)
        evidence[NOT_STARTED] = "is not to start with this value"
    return finding("SG107", host_subject(facts), evidence, remedy, severity)


def twins(bundle: Bundle, host: str) -> Items:
    """SG107, as a warning: hosts that are no destination of a live migration from this host."""
    hosts = by_nova_name(bundle)
    names = libvirt_twins(bundle, host)
    libvirt = hosts[host].libvirt if names else None
    if libvirt is not None and libvirt.host_uuid is not None:
        uuid = uuid_key(libvirt.host_uuid)
        yield _duplicate(hosts[host], LIBVIRT_UUID, uuid, [hosts[name].inventory_name for name in names], WARNING)


def _unread_identities(facts: HostFacts) -> t.Iterator[str]:
    """What of a host could not be compared with the others."""
    if facts.compute_id_files is None:
        yield "the host's compute_id files were not read"
    if facts.machine_id is None:
        yield "the host's machine-id was not read"
    if facts.libvirt is None or not facts.libvirt.host_uuid:
        yield "libvirt's host uuid was not read"
    if conf_host(facts) is None:
        yield "the host's CONF.host was not read"


def _identities(facts: HostFacts) -> t.Iterator[t.Tuple[str, str]]:
    for uuid in sorted({uuid_key(entry.uuid) for entry in uuid_files(facts) if entry.uuid}):
        yield COMPUTE_ID, uuid
    if facts.libvirt and facts.libvirt.host_uuid:
        yield LIBVIRT_UUID, uuid_key(facts.libvirt.host_uuid)
    if facts.machine_id:
        yield "machine-id", facts.machine_id.strip().lower()
    host = conf_host(facts)
    if host:
        yield "CONF.host", host.casefold()


# --- names ----------------------------------------------------------------------------------------------------


def hypervisor_hostname(index: Index, facts: HostFacts) -> Items:
    """SG105: libvirt's host name is not the node's: a refusal since 27, an orphan in 26 (manager.py, _get_nodes)."""
    if facts.libvirt is None or conf_host(facts) is None:
        return
    node = owners.own_node(index, facts)
    if node is None:
        yield Unchecked("SG105", facts.inventory_name, "this host's compute node was not read, or does not exist")
    elif node.hypervisor_hostname != facts.libvirt.hostname:
        yield finding(
            "SG105",
            node.subject,
            {
                "libvirt": facts.libvirt.hostname,
                "compute node": node.hypervisor_hostname,
                "differ only in case": same_name(node.hypervisor_hostname, facts.libvirt.hostname),
                "read from": node.source,
                "host": facts.inventory_name,
            },
            remedy_text("SG105", "libvirt-name-differs"),
            commands=MASK,
        )


def service_host(index: Index, facts: HostFacts) -> Items:
    """SG106, SG119: CONF.host is not what the databases call this host (manager.py, _check_for_host_rename)."""
    host = conf_host(facts)
    if host is None:
        yield Unchecked("SG106", facts.inventory_name, "nova.conf was not read")
        return
    node = owners.own_node(index, facts)
    if node is not None and node.host != host:
        yield finding(
            "SG106",
            host_subject(facts),
            {
                "CONF.host": host,
                "compute node": node.host,
                "differ only in case": same_name(node.host, host),
                "read from": node.source,
            },
            remedy_text("SG106", "conf-host-differs"),
            commands=MASK,
        )
    elif not index.cells_read("services") or not index.in_scope(host):
        if not any(row.host == host for row in index.api_services or []):
            yield Unchecked("SG106", facts.inventory_name, "this host's compute service was not read")
    elif not index.services_by_host.get(host) and owners.copied_node(index, facts) is None:
        yield from _unknown_host(index, facts, host, node)


def _unknown_host(index: Index, facts: HostFacts, host: str, node: t.Optional[ComputeNode]) -> Items:
    alike = sorted({row.host for _cell, row in index.services if row.host and same_name(row.host, host)})
    if alike:
        yield finding(
            "SG106",
            host_subject(facts),
            {"CONF.host": host, "compute node": node.host if node else None, "similar service names": alike},
            remedy_text("SG106", "service-of-similar-name"),
            commands=MASK,
        )
        return
    if node is not None:
        return  # its service is missing: SG204
    running = len(facts.domains or [])
    yield finding(
        "SG119",
        host_subject(facts),
        {"CONF.host": host, "domains": running},
        remedy_text("SG119", "guests-without-service" if running else "no-guests-no-service"),
        BLOCKER if running else WARNING,
        MASK if running else (),
    )


def provider(index: Index, facts: HostFacts) -> Items:
    """SG112: the provider is addressed by name: one that differs breaks every update (facts of nova, 0.8)."""
    node = owners.own_node(index, facts)
    if node is None or node.uuid is None or index.providers is None:
        yield Unchecked("SG112", facts.inventory_name, "the compute node or the resource providers were not read")
        return
    found = index.providers_by_uuid.get(uuid_key(node.uuid))
    name = node.hypervisor_hostname
    namesakes = [row for row in index.providers_by_name.get(name, []) if not same_uuid(row.uuid, node.uuid)]
    if found is not None and found.name == name and not namesakes:
        return
    yield finding(
        "SG112",
        Subject("resource_provider", node.uuid, found.name if found else name, node.host),
        {
            "compute node": [node.uuid, name],
            "provider of that uuid": found.name if found else None,
            OTHER_PROVIDERS: [row.uuid for row in namesakes],
            **({"their consumers": _consumers(namesakes)} if namesakes else {}),
        },
        _provider_remedy(found, namesakes, name),
    )


def _consumers(providers: t.Sequence[ResourceProvider]) -> t.Dict[str, t.Optional[t.List[str]]]:
    """Return who has allocations of each provider; None: not read. Of one that is no node's, all are strays."""
    held = {
        row.uuid: row.strays if row.allocations is None and row.has_compute_trait else row.allocations
        for row in providers
    }
    return {uuid: None if consumers is None else sorted(consumers) for uuid, consumers in held.items()}


def _provider_remedy(
    found: t.Optional[ResourceProvider], namesakes: t.Sequence[ResourceProvider], name: t.Optional[str]
) -> str:
    """One remedy for each state. nova-compute makes a provider of its node's uuid itself, once the name is free."""
    if not namesakes and found is None:
        return remedy_text("SG112", "provider-missing")
    if not namesakes:
        return remedy_text("SG112", "provider-misnamed", name=name)
    taken = remedy_text("SG112", "name-taken", others=", ".join(row.uuid for row in namesakes))
    after = remedy_text("SG112", "name-taken-own-missing" if found is None else "name-taken-own-exists", name=name)
    return f"{taken} {after}"


def _services_without_node(index: Index) -> Items:
    """SG116: the scheduler and the hypervisors API skip such a host."""
    if not index.cells_read("compute_nodes") or not index.cells_read("services"):
        yield Unchecked("SG116", "all", "the services or the compute nodes of at least one cell were not read")
        return
    for cell, row in index.services:
        if not index.node_rows_by_host.get(row.host):
            yield service_without_node(cell, row)


def service_without_node(cell: CellFacts, row: ServiceRow) -> Item:
    """SG116 of one service."""
    return finding(
        "SG116",
        Subject("service", row.uuid or str(row.id), host=row.host),
        {"read from": f"cell {cell.name}", "service id": row.id, "host": row.host},
        remedy_text("SG116", "service-without-node"),
    )


def _unmapped(index: Index) -> Items:
    databases = index.bundle.databases
    if databases is None or databases.api is None or databases.api.host_mappings is None:
        yield Unchecked("SG117", "all", "the host mappings were not read")
        return
    for _cell, row in index.services:
        yield from unmapped(index, row)


def unmapped(index: Index, row: ServiceRow) -> Items:
    """SG117: without a mapping the API finds neither host nor node (facts of nova, 0.6)."""
    databases = index.bundle.databases
    mappings = (databases.api.host_mappings if databases and databases.api else None) or []
    scope = databases.api.scope if databases and databases.api else []
    if scope and not any(same_name(row.host, name) for name in scope):
        return
    if row.host not in _mapped_hosts(index, mappings):
        alike = sorted(entry.host for entry in mappings if same_name(entry.host, row.host))
        yield finding(
            "SG117",
            Subject("host", str(row.host), host=row.host),
            {"service": row.uuid, "similar mapping names": alike},
            remedy_text("SG117", "host-unmapped"),
            commands=typed(("nova-manage", "cell_v2", "discover_hosts", "--by-service")),
        )


def _mapped_hosts(index: Index, mappings: t.Sequence[t.Any]) -> t.Set[str]:
    cache: t.Optional[t.Set[str]] = index.__dict__.get("mapped_hosts")
    if cache is None:
        cache = {entry.host for entry in mappings}
        index.__dict__["mapped_hosts"] = cache
    return cache


# --- domains and instances ------------------------------------------------------------------------------------


def domains(index: Index, facts: HostFacts) -> Items:
    """SG108, SG109, SG110, SG132: what libvirt has here must be what the databases place here, once in the cloud."""
    asked: Asked = {}
    yield from _of_domains(index, facts, asked)
    host = guest_places.name_of(index, facts)
    if facts.domains is not None and _instances_known(index):
        asked.update({row.uuid: (cell, row) for cell, row in index.instances_by_host.get(host, [])})
    yield from _placed(index, asked)


def _placed(index: Index, asked: Asked) -> Items:
    return guest_places.items(index, (guest_places.of_row(cell, row) for cell, row in asked.values()))


def _of_domains(index: Index, facts: HostFacts, asked: Asked) -> Items:
    """SG110, and what is undecided of a host. ``asked``: takes the instances that are not as they should be here."""
    host = guest_places.name_of(index, facts)
    if facts.domains is None or host is None or not _instances_known(index):
        unread = (
            "the run did not read one or more of these facts: the host's libvirt domains, the host name in nova.conf, "
            "the instances in the cell databases"
        )
        for code in ("SG108", "SG109", "SG110", "SG132"):
            yield Unchecked(code, facts.inventory_name, unread)
        return
    for domain in facts.domains:
        yield from _domain(index, facts, host, domain, asked)
    for uuid in facts.qemu_processes or {}:
        asked.update(_elsewhere(index, uuid, host))
    here = {domain.uuid for domain in facts.domains}
    for cell, row in index.instances_by_host.get(host, []):
        if row.uuid not in here:
            asked[row.uuid] = (cell, row)
    if not index.cells_read("instances"):
        yield Unchecked("SG109", facts.inventory_name, "the instances of at least one cell were not read")


def _elsewhere(index: Index, uuid: str, host: str) -> Asked:
    """Return the existing instance of a uuid, unless the databases show it on this host.

    A name that differs only in case is half a rename (SG301), not another host.
    """
    live = [(cell, row) for cell, row in index.instance_rows_by_uuid.get(uuid, []) if not row.deleted]
    return {row.uuid: (cell, row) for cell, row in live[:1] if not same_name(row.host, host)}


def _gone(index: Index) -> Asked:
    """Return the instances whose last migration went elsewhere: a host that was not read may have them."""
    found: Asked = {}
    for uuid, (_place, record) in index.last_migrations.items():
        for cell, row in index.instance_rows_by_uuid.get(uuid, []):
            if not row.deleted and guest_places.took_away(record, row.host):
                found[row.uuid] = (cell, row)
    return found


def _instances_known(index: Index) -> bool:
    return any(cell.instances is not None for cell in index.cells or [])


def _domain(index: Index, facts: HostFacts, host: str, domain: Domain, asked: Asked) -> Items:
    rows = index.instance_rows_by_uuid.get(domain.uuid, [])
    if all(row.deleted for _cell, row in rows):
        yield from _unknown_domain(index, host, domain_subject(domain, facts), domain, bool(rows))
        return
    asked.update(_elsewhere(index, domain.uuid, host))


def _unknown_domain(index: Index, host: str, subject: Subject, domain: Domain, deleted: bool) -> Items:
    if not deleted and not (index.cells_read("instances") and index.in_scope(host)):
        yield Unchecked(
            "SG110",
            domain.uuid,
            f"at least one cell database was not read, or the run did not search the cell databases for host {host}",
        )
        return
    if deleted:
        why = (
            "the instance's row is deleted, so nova-compute would destroy the domain and the domain's disks "
            "(_cleanup_running_deleted_instances)"
        )
    elif index.narrowed:
        why = (
            "the run found no existing instance with the uuid of the domain. The run did not read all instances: it "
            "searched the cell databases only for this uuid and for the instances of some hosts"
        )
    else:
        why = "no existing row in any cell"
    made = (
        "by Nova"
        if domain.nova_name or domain.nova_flavor
        else "Nova did not create the domain: the domain has no Nova metadata"
    )
    yield finding(
        "SG110",
        subject,
        {"why": why, "made": made, "state": domain.state, "name": domain.name},
        remedy_text("SG110", "domain-without-instance"),
    )


# --- the restart forecast -------------------------------------------------------------------------------------


def forecast(index: Index, facts: HostFacts) -> Items:
    """SG113: what nova-compute would destroy if it started now, by the rules of its release.

    Only what is not gone from the database already: a deleted instance's domain is SG110.
    """
    host = conf_host(facts)
    if host is None or facts.domains is None or not index.migrations_read:
        yield Unchecked("SG113", facts.inventory_name, "nova.conf, domains or migrations were not read")
        return
    local = {domain.uuid: domain for domain in facts.domains}
    for place, row in index.migrations_by_host.get(name_key(host), []):
        # manager.py, _destroy_evacuated_instances (26 to 34): by name, whatever instance.host says.
        # Where the database may or may not find it by this name, the worse is taken.
        finds = open_evacuation(row) and index.evacuated_from(place, row, host) is not False
        if finds and row.instance_uuid in local and not _nobody(index, row.instance_uuid):
            domain = local[row.instance_uuid]
            yield finding(
                "SG113",
                domain_subject(domain, facts),
                {
                    "rule": "_destroy_evacuated_instances",
                    "migration": [place, row.uuid or row.id, row.status],
                    "statuses": list(UNREAPED),
                    "domain": [domain.name, domain.state, domain.pid],
                },
                remedy_text("SG113", "evacuated-domain-here"),
                commands=MASK,
            )
    yield from _half_deleted(index, facts, host, local)
    yield from _orphaned_node(index, facts, host)


def _nobody(index: Index, uuid: str) -> bool:
    """Whether no row of an instance is left: Nova looks for the rows of its domains (_get_instances_on_driver)."""
    return index.cells_read("instances") and not index.narrowed and not index.instance_rows_by_uuid.get(uuid)


def _half_deleted(index: Index, facts: HostFacts, host: str, local: t.Mapping[str, Domain]) -> Items:
    """manager.py, _complete_partial_deletion: the row goes, and its domain with its disks in the same start."""
    for _cell, row in index.instances_by_host.get(host, []):
        domain = local.get(row.uuid)
        if row.vm_state != "deleted" or domain is None:
            continue
        action, note = reaping(facts.nova_conf, domain.state, index.host_releases(facts) or ())
        if action != LEFT:
            evidence = {"rule": PARTIAL, "vm_state": row.vm_state, "domain": [domain.name, domain.state, domain.pid]}
            evidence.update({"at the next start": action, **({"condition": note} if note else {})})
            remedy = remedy_text("SG113", "half-deleted")
            yield finding("SG113", domain_subject(domain, facts), evidence, remedy, WARNING)


def _orphaned_node(index: Index, facts: HostFacts, host: str) -> Items:
    """Release 26 to 28 destroy an orphaned node with all its allocations (resource_tracker, facts of nova 1.3)."""
    known = index.host_releases(facts)
    if facts.libvirt is None or known is None or max(known) > 28:
        return
    uuid = file_uuid(facts)
    stranger = uuid is None or uuid_key(uuid) not in index.nodes_by_uuid
    for node in index.nodes_by_host.get(host, []):
        # 27 and 28 refuse to start while the file's uuid is that of an existing node (manager.py, _get_nodes).
        if node.hypervisor_hostname != facts.libvirt.hostname and (max(known) < 27 or stranger):
            yield finding(
                "SG113",
                node.subject,
                {
                    "rule": "update_available_resource destroys orphaned compute nodes and their allocations",
                    "release": list(known),
                    "libvirt": facts.libvirt.hostname,
                    "compute node": node.hypervisor_hostname,
                },
                remedy_text("SG113", "node-orphaned"),
                commands=MASK,
            )
