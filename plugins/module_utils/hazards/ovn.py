# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Does OVN call each compute host what Nova calls it? SG317, SG318, SG319, SG321, SG322, SG323. Pure."""

from __future__ import annotations

import collections
import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.facts import HostFacts
from ..model.findings import WARNING, Subject, Unchecked, finding
from ..model.lookups import Index, Items, same_name
from ..model.names import conf_host
from ..model.network_agents import (
    OVN_CONTROLLERS,
    binds_without_ovn,
    has_ovn,
    is_without_ovn,
    signs_of_ovn,
)
from ..model.ovn import OvnFacts
from ..model.wording import count

#: What an audit decides of OVN.
AUDITED = ("SG317", "SG318", "SG319", "SG321", "SG322", "SG323")
#: What is decided by a host's own Open vSwitch.
_OF_HOST = ("SG318", "SG319", "SG321", "SG323")
#: Hosts that a reason names.
_NAMED = 5


def check(index: Index) -> Items:
    """Compare the chassis with Nova's hosts; say what is undecided in a cloud with OVN that was not read."""
    databases = index.bundle.databases
    ovn = databases.ovn if databases is not None else None
    if ovn is None:
        why = why_it_matters(index)
        for code in AUDITED if why is not None else ():
            yield Unchecked(
                code, "all", f"OVN's databases were not read (ovn_nb_connection and ovn_sb_connection): {why}"
            )
        return
    if ovn.chassis is None:
        reason = "; ".join(entry.reason for entry in ovn.unread) or "not read"
        yield finding(
            "SG317",
            Subject("service", "ovn"),
            {"reason": reason},
            remedy_text("SG317", "chassis-unread"),
            WARNING,
        )
        for code in AUDITED[1:]:
            yield Unchecked(code, "all", f"OVN's databases were not read: {reason}")
        return
    yield from _chassis(index, ovn)
    yield from _hosts(index, ovn)
    yield from _without_chassis(index, ovn)
    yield from half_renames(ovn)
    if ovn.port_bindings is None:
        reason = "; ".join(entry.reason for entry in ovn.unread) or "not read"
        yield Unchecked("SG322", "all", f"the port bindings in OVN's southbound database were not read: {reason}")


def why_it_matters(index: Index) -> t.Optional[str]:
    """Return why a cloud whose OVN databases were not read may be one with OVN; None: it is known to be none.

    An empty list of agents proves nothing: neutron's workers make OVN's up from events, and hide them from users that
    are no administrators.
    """
    bundle = index.bundle
    agents = bundle.cloud.agents if bundle.cloud else None
    if has_ovn(agents or []):
        return "neutron shows OVN's agents"
    shown = {name: signs for name, facts in bundle.hosts.items() if (signs := signs_of_ovn("", facts, None))}
    if shown:
        named = "; ".join(f"{name}: {', '.join(shown[name])}" for name in sorted(shown)[:_NAMED])
        return f"the run found settings or programs of OVN on {count(len(shown), 'host')}: {named}"
    unknown = _undecided(index)
    if not unknown and index.compute_hosts and _services_read(index):
        return None
    what = "neutron's agents were not read" if agents is None else "neutron shows no live agent that binds ports"
    whose = f"the run does not know whether these hosts have OVN: {', '.join(unknown[:_NAMED])}"
    return f"{what}, and {whose if unknown else 'the compute hosts were not read from Nova'}"


def _services_read(index: Index) -> bool:
    """Whether Nova's compute hosts are known, all of them."""
    return index.api_services is not None or index.cells_read("services")


def _undecided(index: Index) -> t.List[str]:
    """Return the compute hosts of which nothing proves that they are without OVN, also those that no one read.

    A host is decided by an agent of another kind that is alive, or by its own facts.
    """
    bundle = index.bundle
    decided = {
        agent.host for agent in (bundle.cloud.agents if bundle.cloud else None) or [] if binds_without_ovn(agent)
    }
    hosts = _ports_hosts(index)
    # The inventory's name of a host that was not reached is not Nova's: it counts unless agents decide for all.
    unreached = set() if hosts and hosts <= decided else set(bundle.unreachable)
    for facts in bundle.hosts.values():
        name = conf_host(facts) or facts.kernel_hostname
        hosts.add(name)
        if is_without_ovn(facts):
            decided.add(name)
    return sorted((hosts | unreached) - decided)


def _ports_hosts(index: Index) -> t.Set[str]:
    """Return Nova's compute hosts, without those of ironic alone: their ports are bound elsewhere."""
    kinds: t.Dict[str, t.Set[str]] = collections.defaultdict(set)
    for node in index.nodes or []:
        kinds[str(node.host)].add(str(node.hypervisor_type).casefold())
    return {name for name in index.compute_hosts if kinds.get(name) != {"ironic"}}


def _without_chassis(index: Index, ovn: OvnFacts) -> Items:
    """Say of which hosts nothing was compared: the southbound database has no chassis of theirs, or is another cloud's.

    What a host's own Open vSwitch says of a chassis that is missing is SG318.
    """
    rows, cloud = ovn.chassis or [], index.bundle.cloud
    known, judged = {row.name for row in rows}, set(_with_system_id(index.bundle.hosts.values()))
    reported: t.Set[str] = set(judged)
    for agent in (cloud.agents if cloud else None) or []:
        if agent.agent_type in OVN_CONTROLLERS and agent.id not in known and agent.host not in reported:
            reported.add(agent.host)
            yield from _not_compared(agent.host, ovn, f"neutron shows {agent.agent_type} {agent.id}")
    short = {row.hostname.partition(".")[0].casefold() for row in rows}
    for name in _undecided(index):
        if name not in reported and name.partition(".")[0].casefold() not in short:
            yield from _not_compared(name, ovn, "the run does not know whether the host has OVN")


def _not_compared(host: str, ovn: OvnFacts, why: str) -> Items:
    where = ovn.southbound or "ovn_sb_connection"
    for code in _OF_HOST:
        yield Unchecked(code, host, f"{why}, and the southbound database at {where} has no chassis of this host")


def _with_system_id(hosts: t.Iterable[HostFacts]) -> t.Iterator[str]:
    """Return the hosts that :func:`host_items` compares by what their own Open vSwitch says."""
    for facts in hosts:
        external = facts.ovs_external_ids or {}
        if _remote(external):
            yield conf_host(facts) or facts.kernel_hostname


def _remote(external: t.Mapping[str, str]) -> bool:
    return any(key.startswith("ovn-remote") for key in external)


def _chassis(index: Index, ovn: OvnFacts) -> Items:
    """SG318: one hostname for two chassis; SG321: a hostname that is a compute host's but for case or domain."""
    by_name = collections.Counter(entry.hostname for entry in ovn.chassis or [])
    for name in sorted(name for name, number in by_name.items() if number > 1):
        evidence: t.Dict[str, t.Any] = {"chassis": [row.name for row in ovn.chassis or [] if row.hostname == name]}
        remedy = remedy_text("SG318", "hostname-shared")
        yield finding("SG318", Subject("host", name, host=name), evidence, remedy)
    yield from _addresses(ovn)
    short = {name.partition(".")[0].casefold(): name for name in index.compute_hosts}
    for entry in ovn.chassis or []:
        compute = short.get(entry.hostname.partition(".")[0].casefold())
        if compute is not None and entry.hostname not in index.compute_hosts:
            evidence = {"chassis": entry.name, "hostname": entry.hostname, "compute service": compute}
            remedy = remedy_text("SG321", "hostname-not-novas", host=compute)
            yield finding("SG321", Subject("host", entry.hostname, host=compute), evidence, remedy)


def _addresses(ovn: OvnFacts) -> Items:
    """SG323: two chassis of one tunnel address; the database refuses that for one kind of tunnel only."""
    holders: t.Dict[str, t.Set[str]] = collections.defaultdict(set)
    for entry in ovn.chassis or []:
        for encap in entry.encaps:
            holders[encap.ip].add(entry.name)
    for address, names in sorted(holders.items()):
        if len(names) > 1:
            evidence: t.Dict[str, t.Any] = {"address": address, "chassis": sorted(names)}
            remedy = remedy_text("SG323", "address-of-two-chassis")
            yield finding("SG323", Subject("host", address), evidence, remedy)


def _hosts(index: Index, ovn: OvnFacts) -> Items:
    """SG318, SG319, SG321, SG323: what each host's Open vSwitch says against the southbound database."""
    for name in sorted(index.bundle.hosts):
        yield from host_items(name, index.bundle.hosts[name], ovn)


def host_items(name: str, facts: HostFacts, ovn: OvnFacts) -> Items:
    """Return what one host's Open vSwitch says against the southbound database. ``name``: its inventory name."""
    external = facts.ovs_external_ids or {}
    own, host = external.get("system-id"), conf_host(facts)
    if facts.ovs_external_ids is None and _is_ovns(facts, ovn):
        reasons = "; ".join(entry.reason for entry in facts.unread if entry.part == "ovs_external_ids")
        for code in _OF_HOST:
            yield Unchecked(code, name, f"external_ids of Open vSwitch were not read: {reasons or 'no reason'}")
    if not _remote(external):
        return
    if not own:
        # ovn-controller takes its name from a file then, which no one reads here.
        for code in _OF_HOST:
            yield Unchecked(code, name, "external_ids of Open vSwitch have ovn-remote, but no system-id")
        return
    subject = Subject("host", name, host=host)
    mine = [entry for entry in ovn.chassis or [] if entry.name == own]
    if not mine:
        evidence: t.Dict[str, t.Any] = {"system-id": own, "chassis": "none of this name"}
        remedy = remedy_text("SG318", "not-registered")
        yield finding("SG318", subject, evidence, remedy)
    elif host is not None and mine[0].hostname != host:
        evidence = {"chassis": own, "hostname": mine[0].hostname, "CONF.host": host}
        remedy = remedy_text("SG321", "hostname-not-novas", host=host)
        yield finding("SG321", subject, evidence, remedy)
    if any(same_name(own, entry) for entry in (facts.kernel_hostname, facts.fqdn, host) if entry):
        remedy = remedy_text("SG319", "system-id-is-a-host-name")
        yield finding("SG319", subject, {"system-id": own}, remedy, WARNING)
    addresses = {entry.strip() for entry in (external.get("ovn-encap-ip") or "").split(",")} - {""}
    for other in ovn.chassis or []:
        shared = sorted({encap.ip for encap in other.encaps} & addresses)
        # A chassis of another name with the host's own hostname is the record of the machine that it replaces.
        if shared and other.name != own:
            evidence = {"chassis": other.name, "hostname": other.hostname, "address": shared}
            remedy = remedy_text("SG323", "address-of-another-chassis", chassis=other.name)
            yield finding("SG323", subject, evidence, remedy)


def _is_ovns(facts: HostFacts, ovn: OvnFacts) -> bool:
    """Whether the host has a chassis, or a running ovn-controller, though its Open vSwitch was not read."""
    return bool(signs_of_ovn(conf_host(facts) or facts.kernel_hostname, facts, ovn))


def half_renames(ovn: OvnFacts) -> Items:
    """SG322: a port that asks for a chassis that there is not: half of a rename, or a host that is gone.

    A port in the middle of a move asks for several. OVN binds it to the first, and where that is gone, to none.
    """
    known = {name for entry in ovn.chassis or [] for name in (entry.name, entry.hostname)}
    for binding in ovn.port_bindings or []:
        words = [word for word in (binding.option or "").split(",") if word]
        missing = sorted(set(words) - known)
        # One word that is missing here and is resolved in the same database was read in the middle of a change.
        if missing and (binding.requested is None or len(words) > 1):
            evidence = {"requested-chassis": binding.option, "chassis": binding.chassis, "up": binding.up}
            remedy = remedy_text("SG322", "requested-chassis-missing")
            yield finding("SG322", Subject("port", binding.logical_port, host=missing[0]), evidence, remedy)
