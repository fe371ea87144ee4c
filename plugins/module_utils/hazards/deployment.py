# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the deployment of a host hides: SG126 to SG129, from what runs and from its files. Pure.

An engine of containers copies the host's name into a container when it creates it. After a rename of the host the
container keeps the old name, and everything works until an upgrade recreates it: then nova-compute refuses to start.
A QEMU in the control group of libvirt's container ends with that container; two guests ended so in 0.7 s (podman 4.3).
"""

from __future__ import annotations

import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.deployment_facts import NOVA_COMPUTE, ServiceProcess
from ..model.facts import HostFacts
from ..model.findings import (
    BLOCKER,
    INFO,
    WARNING,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import Index, Items, host_subject, uuid_key
from ..model.names import conf_host
from . import owners

CODES = ("SG126", "SG127", "SG128", "SG129")
#: Programs to which the name of their UTS namespace is an identity; the others take theirs from Open vSwitch.
_LIBVIRT = ("libvirtd", "virtqemud")


def host_items(index: Index, facts: HostFacts) -> Items:
    """Everything that the deployment of one host says."""
    if facts.deployment is None:
        reason = next((entry.reason for entry in facts.unread if entry.part == "deployment"), "not read")
        for code in CODES:
            yield Unchecked(
                code, facts.inventory_name, f"the run does not know how nova-compute is deployed on the host: {reason}"
            )
        return
    yield from stale_names(facts)
    yield from guests_in_containers(index, facts)
    yield from restart_pending(facts)
    yield from immutable(index, facts)


def stale_names(facts: HostFacts) -> Items:
    """SG126: a container whose host name is not the host's; the next one that is created has the host's."""
    for entry in facts.deployment.processes if facts.deployment else ():
        if not entry.own_uts or entry.engine is None:
            continue
        if entry.hostname is None:
            reason = f"the host name that {entry.program} has in its container could not be read"
            yield Unchecked("SG126", facts.inventory_name, reason)
        elif entry.hostname != facts.kernel_hostname:
            yield _stale(facts, entry)


def _stale(facts: HostFacts, entry: ServiceProcess) -> t.Any:
    host = conf_host(facts) or facts.kernel_hostname
    evidence = {
        "service": entry.program,
        "process": entry.pid,
        "engine": entry.engine,
        "container": entry.container_id,
        "its host name": entry.hostname,
        "the host's name": facts.kernel_hostname,
    }
    remedy = remedy_text(
        "SG126", "container-name-stale", program=entry.program, name=facts.kernel_hostname, old=entry.hostname
    )
    subject = Subject("host", f"{facts.inventory_name}:{entry.program}", entry.program, host)
    return finding("SG126", subject, evidence, remedy, _severity(facts, entry))


def _severity(facts: HostFacts, entry: ServiceProcess) -> str:
    """A blocker where the service goes by that name; a name in its configuration goes before it."""
    if entry.program in _LIBVIRT:
        return BLOCKER
    if entry.program == NOVA_COMPUTE:
        return WARNING if facts.nova_conf is not None and facts.nova_conf.host is not None else BLOCKER
    if entry.program.startswith("neutron-"):
        return WARNING if facts.neutron_host is not None else BLOCKER
    return WARNING


def guests_in_containers(index: Index, facts: HostFacts) -> Items:
    """SG127: a guest that ends with a container; a warning for a QEMU that is no guest of Nova's on this host.

    A rename looks again just before it stops libvirt's container, and a rollback before it removes the new one.
    """
    names = {domain.uuid: domain.nova_name or domain.name for domain in facts.domains or []}
    host = conf_host(facts) or facts.inventory_name
    own = _own_guests(index, facts)
    for guest in facts.deployment.guests if facts.deployment else ():
        if guest.engine is not None:
            evidence = {
                "process": guest.pid,
                "control group": guest.cgroup,
                "engine": guest.engine,
                "container": guest.container_id,
            }
            subject = Subject("domain", guest.uuid, names.get(guest.uuid), host)
            if own is None or uuid_key(guest.uuid) in own:
                yield finding("SG127", subject, evidence, remedy_text("SG127", "guest-in-container"))
            else:
                evidence["guest"] = (
                    "libvirt on the host has no domain of the guest, and Nova has no instance of the guest on the host"
                )
                remedy = remedy_text("SG127", "unknown-process-in-container")
                yield finding("SG127", subject, evidence, remedy, WARNING)


def _own_guests(index: Index, facts: HostFacts) -> t.Optional[t.Set[str]]:
    """Return the keys of the uuids of libvirt's domains and of the cells' instances; None: one of the two is unread."""
    host = conf_host(facts)
    cells = index.cells
    if facts.domains is None or host is None or not cells or not index.in_scope(host):
        return None
    if any(cell.instances is None for cell in cells):
        return None
    found = {uuid_key(domain.uuid) for domain in facts.domains}
    return found | {uuid_key(row.uuid) for _cell, row in index.instances_by_host.get(host, [])}


def restart_pending(facts: HostFacts) -> Items:
    """SG128: what the files say is not what nova-compute runs with, and what it runs with is in no file.

    By the host's clock, with two seconds of tolerance; of a kolla container the contents are compared, on the host.
    """
    found = facts.deployment
    if found is None:
        return
    if found.pending is None:
        reason = found.pending_unread or "not read"
        yield Unchecked(
            "SG128",
            facts.inventory_name,
            f"the check could not find out whether nova-compute has read its current configuration files: {reason}",
        )
    elif found.pending:
        evidence = {entry.path: entry.reason for entry in found.pending}
        yield finding("SG128", host_subject(facts), evidence, remedy_text("SG128", "configuration-changed"))


def immutable(index: Index, facts: HostFacts) -> Items:
    """SG129: a compute_id that no tool can write; a warning where it holds another uuid than the node's."""
    node = owners.own_node(index, facts)
    uuids = {entry.path: entry.uuid for entry in facts.compute_id_files or []}
    for path in facts.deployment.immutable if facts.deployment else ():
        uuid = uuids.get(path)
        right = uuid is not None and node is not None and uuid_key(uuid) == uuid_key(str(node.uuid))
        evidence = {"path": path, "uuid": uuid, "compute node": node.uuid if node else None}
        remedy = remedy_text("SG129", "file-immutable", path=path)
        subject = Subject("host", f"{facts.inventory_name}:{path}", path, conf_host(facts) or facts.inventory_name)
        yield finding("SG129", subject, evidence, remedy, INFO if right else WARNING)
