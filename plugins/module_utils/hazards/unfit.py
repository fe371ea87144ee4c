# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Can a host run a guest of another host? SG523. Pure.

What is compared stands in :data:`TABLE`, and in docs/reference/destinations.md, which is made from it: the worst loss
first, and with it what is not compared here. A live move takes the guest as it runs; a cold one, a
resize and an evacuation give it a new definition, so that what a new definition repairs does not stop them.

What is not known speaks against a host, too: an override of the server passes that, and not what is certain.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import typing as t

from ..capacity.leaving_guests import Reason
from ..capacity.measured import by_nova_name
from ..capacity.planner import Unassigned
from ..model.codes.catalogue import remedy_text
from ..model.facts import Bundle, Domain, HostFacts
from ..model.findings import INFO, NO_OVERRIDE, WARNING, Subject, Unchecked, finding
from ..model.lookups import Items, host_subject, same_name, uuid_key
from ..model.names import conf_host

CODE = "SG523"
#: Guests and hosts of which a finding names so many.
NAMED = 20
#: The type of a domain that runs on the host's own processor. Nova compares no CPU for the other (driver.py,
#: _compare_cpu, 26 to 34): QEMU emulates it.
HARDWARE = "kvm"
#: What libvirt says of a CPU that a host can give to a guest.
FITS = ("identical", "superset")
_CERTAIN = "an override does not make a host able to run the server"

#: SHA-256 of a CPU and the host with which it was compared, to libvirt's answer and its error.
Answers = t.Mapping[t.Tuple[str, str], t.Tuple[t.Optional[str], t.Optional[str]]]


@dataclasses.dataclass(frozen=True)
class CpuProbe:
    """One CPU that libvirt on the destination is to compare with what it offers there."""

    dest: str
    digest: str
    cpu: str
    arch: str
    virt: str

    @property
    def on(self) -> str:
        """The host that does it."""
        return self.dest


def answers(results: t.Iterable[t.Mapping[str, t.Any]]) -> Answers:
    """Return what libvirt said of CPUs, from the results of all probes."""
    return {
        (str(entry["digest"]), str(entry["dest"])): (entry.get("result"), entry.get("error") or entry.get("untried"))
        for entry in results
        if "digest" in entry
    }


@dataclasses.dataclass(frozen=True)
class Needs:
    """What a guest needs of a host. Guests with the same needs are compared once. What is None was not read."""

    live: bool
    #: The host that it leaves.
    source: t.Optional[str]
    #: Whether its domain was read.
    read: bool = False
    machine: t.Optional[str] = None
    #: Whether Nova may choose another machine type for the new definition.
    may_change: bool = False
    arch: t.Optional[str] = None
    virt: t.Optional[str] = None
    cpu: t.Optional[str] = None
    firmware: t.Optional[str] = None
    #: Secret, user, and whether of a volume.
    ceph: t.Tuple[t.Tuple[str, t.Optional[str], bool], ...] = ()
    devices: t.Tuple[str, ...] = ()
    #: The server's uuid, where a host has a directory that an earlier move of it left.
    left: t.Optional[str] = None
    #: Hosts for which a port of it has an inactive binding.
    bound: t.Tuple[str, ...] = ()


def needs(domain: t.Optional[Domain], source: t.Optional[str], live: bool, stored: t.Optional[str] = None) -> Needs:
    """Return what a guest needs. ``stored``: the machine type that Nova has kept for it.

    Nova puts that one into a new definition, and keeps it across moves: for example C(pc), which is another one on
    each host (virt/libvirt/utils.py, get_machine_type; driver.py, _configure_guest_by_virt_type; 26 to 34).
    """
    ties = domain.ties if domain is not None else None
    machine = domain.machine_type if domain is not None else None
    if not live and stored is not None:
        machine = stored
    if ties is None:
        return Needs(live, source, machine=machine, may_change=not live and stored is None)
    return Needs(
        live,
        source,
        True,
        machine,
        not live and stored is None,
        ties.arch,
        ties.virt,
        ties.cpu,
        ties.firmware,
        tuple((entry.secret, entry.user, entry.volume) for entry in ties.ceph),
        tuple(ties.devices),
    )


@dataclasses.dataclass(frozen=True)
class Case:
    """One guest's needs and one host. ``answers``: what libvirt there said of CPUs."""

    needs: Needs
    host: str
    there: HostFacts
    source: t.Optional[HostFacts]
    answers: Answers


@dataclasses.dataclass(frozen=True)
class Objection:
    """What speaks against a host. ``unknown``: it could not be told. ``probe``: what libvirt there is to be asked."""

    text: str
    certain: bool = False
    unknown: bool = False
    probe: t.Optional[CpuProbe] = None
    #: What to do, where the row has no remedy of its own.
    remedy: str = ""


Objections = t.Iterator[Objection]


# --- what is compared -----------------------------------------------------------------------------------------


def _machine(case: Case) -> Objections:
    wanted, arch = case.needs.machine, case.needs.arch
    if wanted is None:
        if case.needs.live:
            yield _unknown("the run has not read the machine type of the guest")
        return
    machines = None if case.there.offers is None else case.there.offers.machines
    if machines is None:
        yield _unknown("the run has not read which machine types this host supports")
        return
    offered = {name for key, names in machines.items() if arch in (None, key) for name in names}
    if wanted in offered:
        return
    text = f"QEMU on this host does not support the guest's machine type {wanted}"
    if case.needs.may_change:
        yield _unknown(f"{text}, and the run does not know which machine type Nova uses in a new definition")
    else:
        yield Objection(text, certain=True)


def _secret(case: Case) -> Objections:
    """Live: those of the domain. Cold: that of the destination's own nova.conf for images, Cinder's for volumes."""
    wanted = {secret for secret, _user, volume in case.needs.ceph if case.needs.live or volume}
    conf = case.there.nova_conf
    if not case.needs.live and conf is not None and conf.images_type == "rbd" and conf.rbd_secret_uuid:
        wanted.add(conf.rbd_secret_uuid)
    if case.needs.live and not case.needs.read:
        yield _unknown("the run has not read which Ceph secrets the guest uses")
    if not wanted:
        return
    offered = None if case.there.offers is None else case.there.offers.secrets
    if offered is None:
        yield _unknown("the run has not read the libvirt secrets of this host")
        return
    there = {uuid_key(secret) for secret in offered}
    for secret in sorted(wanted, key=uuid_key):
        if uuid_key(secret) not in there:
            yield Objection(f"libvirt on this host does not have the Ceph secret {secret}", certain=True)


def _user(case: Case) -> Objections:
    conf = case.there.nova_conf
    if not case.needs.live or conf is None or not conf.rbd_secret_uuid:
        return
    for secret, user, _volume in case.needs.ceph:
        if uuid_key(secret) == uuid_key(conf.rbd_secret_uuid) and user and conf.rbd_user and user != conf.rbd_user:
            yield Objection(
                f"the guest opens its disks as the Ceph user {user}, but the secret {secret} on this host belongs to "
                f"{conf.rbd_user}"
            )


def _cpu(case: Case) -> Objections:
    if not case.needs.live or not case.needs.read or case.needs.virt != HARDWARE:
        return
    if _same_cpu(case.source, case.there):
        return
    # One without a model has the CPU of its host: Nova compares that one then.
    cpus = {} if case.source is None else case.source.guest_cpus
    cpu = cpus.get(case.needs.cpu) if case.needs.cpu else _host_cpu(case.source)
    if cpu is None:
        yield _unknown("the run has not read the CPU of the guest")
        return
    digest = case.needs.cpu or hashlib.sha256(cpu.encode()).hexdigest()
    result, error = case.answers.get((digest, case.host), (None, None))
    if result is None and error is None:
        probe = CpuProbe(case.host, digest, cpu, str(case.needs.arch), case.needs.virt)
        yield Objection("libvirt on this host has not compared the guest's CPU", unknown=True, probe=probe)
    elif result is None:
        yield _unknown(f"libvirt on this host could not compare the guest's CPU: {error}")
    elif result not in FITS:
        yield Objection("libvirt on this host answers that the host cannot provide the guest's CPU")


def _host_cpu(facts: t.Optional[HostFacts]) -> t.Optional[str]:
    return None if facts is None or facts.offers is None else facts.offers.cpu


def _cpu_kind(facts: t.Optional[HostFacts]) -> t.Optional[t.Tuple[str, str, str]]:
    """What decides which CPU a host can give to a guest; None: unread."""
    if facts is None or facts.libvirt is None or facts.offers is None:
        return None
    cpu, hypervisor = facts.offers.cpu, facts.offers.hypervisor
    return None if cpu is None or hypervisor is None else (cpu, hypervisor, facts.libvirt.version)


def _same_cpu(one: t.Optional[HostFacts], other: HostFacts) -> bool:
    kind = _cpu_kind(one)
    return kind is not None and kind == _cpu_kind(other)


def _firmware(case: Case) -> Objections:
    wanted = case.needs.firmware
    if not case.needs.live or wanted is None:
        return
    offered = None if case.there.offers is None else case.there.offers.firmware
    if offered is None:
        yield _unknown("the run has not read which UEFI firmware this host has")
    elif wanted not in offered:
        yield Objection(f"libvirt on this host does not list the guest's UEFI firmware {wanted}")


def _host_uuid(case: Case) -> Objections:
    if not case.needs.live:
        return
    known = [
        facts.libvirt.host_uuid if facts is not None and facts.libvirt is not None else None
        for facts in (case.source, case.there)
    ]
    if not all(known):
        yield _unknown("the run has not read the libvirt host uuid of both hosts")
    elif uuid_key(str(known[0])) == uuid_key(str(known[1])):
        told = f"libvirt on this host has the same host uuid as on {case.needs.source}"
        yield Objection(f"{told}, so it refuses the live migration (SG107)", certain=True)


def _devices(case: Case) -> Objections:
    if case.needs.live and case.needs.devices:
        yield Objection(f"the guest has devices of its host: {', '.join(case.needs.devices)}")


def _directory(case: Case) -> Objections:
    """What an earlier move left there (hazards/left_directories.py)."""
    place = case.there.instances_path
    if case.needs.left is None or place is None or not place.local:
        return
    for entry in place.left:
        if entry.name != case.needs.left:
            continue
        state = "directory-with-files" if entry.keeps else "directory"
        remedy = remedy_text("SG713", state, host=case.host, path=place.path)
        text = f"{place.path}/{entry.name} is left there from an earlier move"
        if case.needs.live:
            yield Objection(f"{text}, so Nova refuses the live migration", certain=True, remedy=remedy)
        elif entry.keeps and case.there.nova_conf is not None and case.there.nova_conf.images_type != "rbd":
            yield Objection(f"{text}, and Nova takes the old disk in it for the server's", certain=True, remedy=remedy)


def _binding(case: Case) -> Objections:
    """nova/network/neutron.py, bind_ports_to_host: neutron answers 409, and Nova takes no other way (26 to 34)."""
    if case.needs.live and any(same_name(case.host, host) for host in case.needs.bound):
        text = "a port of the server has an inactive binding for this host from an earlier move"
        yield Objection(text, certain=True, remedy=remedy_text("SG713", "binding"))


def _unknown(text: str) -> Objection:
    return Objection(text, unknown=True)


# --- the table ------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Row:
    """What a guest needs of a host, and how that is judged. ``loss``: where nobody compares it.

    ``judge`` None: it is not compared here; then ``live`` and ``cold`` say who does, or that nobody does.
    ``state``: that of the remedy.
    """

    what: str
    loss: str
    live: str
    cold: str
    judge: t.Optional[t.Callable[[Case], Objections]] = None
    state: str = ""

    @property
    def remedy(self) -> str:
        """What to do about it."""
        if self.judge is _host_uuid:
            return remedy_text("SG107", "libvirt-uuid")
        return remedy_text(CODE, self.state)


_NEW = "a new definition repairs it"
_SPAWN = "The spawn fails and the server is in ERROR. If one of its images is missing, Nova then deletes its root disk."
_NOT = "not judged"

#: The worst loss first.
TABLE: t.Tuple[Row, ...] = (
    Row(
        "machine type",
        _SPAWN,
        "the domain's machine type must be one of the destination's",
        "the machine type that Nova has stored must be one of the destination's (microversion 2.98; where Nova does "
        "not show it, and the domain's is not one of them, it is undecided)",
        _machine,
        "machine-type",
    ),
    Row(
        "Ceph secret",
        _SPAWN,
        "libvirt on the destination must have each secret of the domain's disks",
        "libvirt on the destination must have the secret of its own nova.conf, and those of the domain's volumes",
        _secret,
        "ceph-secret",
    ),
    Row(
        "directory of the server in instances_path",
        "The server runs from an old disk; or the live migration fails, and its rollback deletes the directory.",
        "the destination must have no such directory of its own (SG713)",
        "where images are files, there must be no disk in it (SG713)",
        _directory,
    ),
    Row(
        "CPU",
        "The guest ends at an instruction that the processor lacks; or Nova refuses each live migration.",
        "if processor, QEMU and libvirt differ, libvirt on the destination compares the guest's CPU; an error is "
        "undecided",
        _NEW,
        _cpu,
        "cpu",
    ),
    Row(
        "Ceph user",
        "The live migration fails, and the server is in ERROR.",
        "the domain's user must be that of the destination's nova.conf, if both have the same secret",
        _NEW,
        _user,
        "ceph-user",
    ),
    Row(
        "UEFI firmware",
        "The live migration fails, and the server is in ERROR.",
        "libvirt on the destination must list the domain's firmware file",
        _NEW,
        _firmware,
        "firmware",
    ),
    Row(
        "port bindings",
        "Nova refuses each live migration to the host.",
        "no port may have an inactive binding for the destination (SG713)",
        "does not matter",
        _binding,
    ),
    Row(
        "libvirt host uuid",
        "libvirt refuses each live migration between the hosts.",
        "the hosts must have different uuids",
        "does not matter",
        _host_uuid,
    ),
    Row(
        "other devices of the host",
        "libvirt refuses the live migration.",
        "the domain must have no USB or SCSI device of the host and no shared file system",
        "a new definition leaves them out",
        _devices,
        "devices",
    ),
    Row("value of the Ceph secret", _SPAWN, f"{_NOT}: libvirt does not show it", f"{_NOT}: libvirt does not show it"),
    Row(
        "virtual TPM",
        "The TPM's state is lost.",
        "Nova's API refuses the move, or Nova moves the state",
        "an evacuation is refused (SG710); a cold migration takes the state along",
    ),
    Row(
        "PCI and SR-IOV devices",
        "The move fails.",
        "Nova's scheduler and its check on the destination",
        "Nova's scheduler",
    ),
    Row(
        "mediated devices (vGPU)",
        "The move fails.",
        "placement, and Nova's check on the destination",
        "placement",
    ),
    Row("persistent memory, SEV, other traits", "The move fails.", "placement", "placement"),
    Row("huge pages, real memory", "The guest does not start.", "SG501, SG503", "SG501, SG503"),
    Row(
        "NUMA topology, pinned CPUs",
        "The move fails.",
        "Nova's scheduler (NUMATopologyFilter)",
        "Nova's scheduler (NUMATopologyFilter)",
    ),
    Row(
        "version of QEMU and libvirt",
        "The move fails.",
        "Nova's conductor refuses an older destination",
        _NOT,
    ),
    Row("template of the UEFI variables", "The live migration fails.", _NOT, _NEW),
    Row("networks (physical networks, agents)", "The port has no connection.", _NOT, _NOT),
    Row("volumes that are not in Ceph (iSCSI, Fibre Channel)", "The guest does not start.", _NOT, _NOT),
    Row("local disks", "The disk is rebuilt from its image.", "Nova copies them", "SG513 at an evacuation"),
    Row("shares (Manila)", "The move fails.", "Nova's API refuses the move", "an evacuation is refused (SG710)"),
)


# --- guests and hosts -----------------------------------------------------------------------------------------


class Judge:
    """Compares guests with hosts. ``able``: whether somebody asks libvirt what :attr:`probes` say."""

    def __init__(
        self,
        bundle: Bundle,
        results: t.Iterable[t.Mapping[str, t.Any]] = (),
        able: bool = False,
        bindings: t.Optional[t.Mapping[str, t.Sequence[str]]] = None,
    ) -> None:
        self.hosts = by_nova_name(bundle)
        self.able = able
        #: What libvirt is to be asked before anything can be decided.
        self.probes: t.Dict[CpuProbe, None] = {}
        self._answers = answers(results)
        self._domains: t.Dict[t.Optional[str], t.Dict[str, Domain]] = {}
        self._bound = bindings or {}
        places = (facts.instances_path for facts in self.hosts.values())
        self._left = {entry.name for place in places if place is not None for entry in place.left}
        self._known: t.Dict[t.Tuple[Needs, str], t.List[t.Tuple[Row, Objection]]] = {}

    def reasons(self, needed: Needs, host: str) -> t.Tuple[Reason, ...]:
        """Return what speaks against a host; of one that was not read its own problems say so."""
        found = []
        for row, objection in self.objections(needed, host):
            if objection.probe is not None and self.able:
                self.probes[objection.probe] = None
                continue
            what = remedy_text(CODE, "undecided") if objection.unknown else objection.remedy or row.remedy
            found.append(Reason(CODE, objection.text, objection.certain, what))
        return tuple(found)

    def objections(self, needed: Needs, host: str) -> t.List[t.Tuple[Row, Objection]]:
        """Return what the table says against a host, row by row."""
        key = needed, host
        if key not in self._known:
            there = self.hosts.get(host)
            source = self.hosts.get(needed.source or "")
            case = None if there is None else Case(needed, host, there, source, self._answers)
            self._known[key] = [
                (row, objection) for row in TABLE if row.judge and case is not None for objection in row.judge(case)
            ]
        return self._known[key]

    def unfit(self, hosts: t.Iterable[str], needed: Needs, uuid: str) -> t.Dict[str, t.Tuple[Reason, ...]]:
        """Return those of these hosts to which a guest with these needs does not go, with the reasons."""
        if uuid in self._left:
            needed = dataclasses.replace(needed, left=uuid)
        if uuid in self._bound:
            needed = dataclasses.replace(needed, bound=tuple(self._bound[uuid]))
        found = {host: self.reasons(needed, host) for host in hosts if host != needed.source}
        return {host: reasons for host, reasons in found.items() if reasons}

    def domain(self, host: t.Optional[str], uuid: str) -> t.Optional[Domain]:
        """Return the domain of a server on its host; None: it is not there, or was not read."""
        facts = self.hosts.get(host or "")
        if host not in self._domains:
            rows = (facts.domains if facts is not None else None) or []
            self._domains[host] = {uuid_key(row.uuid): row for row in rows}
        return self._domains[host].get(uuid_key(uuid))

    def lacking(self, uuid: str, source: t.Optional[str], hosts: t.Iterable[str]) -> bool:
        """Whether some host lacks the machine type of a server's domain, so that what Nova has stored decides."""
        needed = needs(self.domain(source, uuid), source, live=False)
        found = (entry for host in hosts if host in self.hosts for entry in self.objections(needed, host))
        return needed.machine is None or any(row.judge is _machine for row, _objection in found)


def chosen_by_nova(judge: Judge, needed: Needs, server: Subject, hosts: t.Sequence[str]) -> Items:
    """SG523 of a move for which Nova chooses among these hosts: a warning where it may choose one that can run it."""
    found = judge.unfit(hosts, needed, server.id)
    for host in hosts:
        if host not in judge.hosts and host != needed.source:
            found[host] = (Reason(CODE, "the run has not read this host", remedy=remedy_text(CODE, "undecided")),)
    if not found:
        return
    none_is_left = set(found) == set(hosts)
    shown: t.Dict[str, t.Any] = {host: [reason.text for reason in found[host]] for host in list(found)[:NAMED]}
    evidence: t.Dict[str, t.Any] = {"hosts": shown, "hosts that can run the server": len(hosts) - len(found)}
    if none_is_left and all(any(reason.certain for reason in reasons) for reasons in found.values()):
        evidence[NO_OVERRIDE] = _CERTAIN
    yield finding(CODE, server, evidence, _remedies(found.values()), None if none_is_left else WARNING)


def _remedies(reasons: t.Iterable[t.Sequence[Reason]]) -> str:
    return " ".join(dict.fromkeys(reason.remedy for some in reasons for reason in some if reason.remedy))


def remedy(entry: Unassigned) -> str:
    """Return what to do for a guest that no host can run; empty: something else keeps it."""
    return _remedies(entry.reasons.values()) if entry.code == CODE else ""


def no_override(entry: Unassigned) -> t.Dict[str, str]:
    """Return the evidence by which no override passes a guest: each host that could take it certainly cannot."""
    if entry.code != CODE:
        return {}
    near = [reasons for reasons in entry.reasons.values() if {reason.code for reason in reasons} == {CODE}]
    if not all(any(reason.certain for reason in reasons) for reasons in near):
        return {}
    return {NO_OVERRIDE: _CERTAIN}


# --- every host, without a move -------------------------------------------------------------------------------


class Survey:
    """Which guests could not move live to which hosts of their zone: gathered host by host, told at the end."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        #: Host to needs to how many guests have them, and the names of some.
        self._guests: t.Dict[str, t.Dict[Needs, t.Tuple[int, t.List[str]]]] = {}

    def add(self, facts: HostFacts) -> None:
        """Take note of the guests of a host, while they are at hand."""
        host = conf_host(facts)
        if host is None or facts.domains is None:
            return
        found: t.Dict[Needs, t.Tuple[int, t.List[str]]] = {}
        for domain in facts.domains:
            if domain.ties is not None:
                needed = needs(domain, host, live=True)
                number, names = found.get(needed, (0, []))
                found[needed] = number + 1, [*names, domain.nova_name or domain.name][:NAMED]
        self._guests[host] = found

    def items(self, zones: t.Optional[t.Mapping[str, t.Collection[str]]]) -> Items:
        """SG523, as a warning: one for each host. ``zones``: by host, none for the default zone; None: unread."""
        judge = Judge(self._bundle)
        for _host, facts in sorted(judge.hosts.items()):
            if facts.offers is None or facts.domains is None:
                yield Unchecked(CODE, facts.inventory_name, "what the host's guests need, or what it offers, is unread")
        if zones is None:
            yield Unchecked(CODE, "all", "the zones of the hosts were not read")
            return
        silent = any(facts.offers is not None and facts.offers.firmware is None for facts in judge.hosts.values())
        if silent and any(needed.firmware for guests in self._guests.values() for needed in guests):
            # libvirt tells it only on a connection for writing, and an audit opens none.
            yield Unchecked(CODE, "all", "the audit does not read which UEFI firmware hosts have; a move does")
        neighbours: t.Dict[t.FrozenSet[str], t.List[str]] = {}
        for host in sorted(judge.hosts):
            neighbours.setdefault(frozenset(zones.get(host, ())), []).append(host)
        for host in sorted(self._guests):
            others = [name for name in neighbours[frozenset(zones.get(host, ()))] if name != host]
            yield from self._lacking(judge, host, others)
            yield from self._alone(judge, host, others)

    def _lacking(self, judge: Judge, host: str, others: t.Sequence[str]) -> Items:
        told: t.Dict[str, t.Tuple[t.Set[Needs], t.Set[str]]] = {}
        rows: t.Set[str] = set()
        for needed, other in itertools.product(self._guests[host], others):
            for row, objection in judge.objections(needed, other):
                # Equal uuids are SG107 of each host; libvirt is asked about CPUs before a move.
                if not objection.unknown and row.judge is not _host_uuid:
                    guests, hosts = told.setdefault(objection.text, (set(), set()))
                    guests.add(needed)
                    hosts.add(other)
                    rows.add(row.what)
        if told:
            evidence = {
                text: {"guests": self._named(host, guests), "hosts of the zone": _some(sorted(hosts), len(hosts))}
                for text, (guests, hosts) in sorted(told.items())
            }
            ways = " ".join(row.remedy for row in TABLE if row.what in rows)
            yield finding(CODE, host_subject(judge.hosts[host]), evidence, ways, WARNING)

    def _named(self, host: str, guests: t.Iterable[Needs]) -> t.List[str]:
        found = [self._guests[host][needed] for needed in guests]
        return _some(
            sorted(name for _number, names in found for name in names), sum(number for number, _names in found)
        )

    def _alone(self, judge: Judge, host: str, others: t.Sequence[str]) -> Items:
        """SG523, as information: no other host of the zone has the same CPU."""
        own = _cpu_kind(judge.hosts[host])
        kinds = {_cpu_kind(judge.hosts[other]) for other in others}
        if own is None or not kinds or own in kinds or None in kinds:
            return
        if any(needed.virt == HARDWARE for needed in self._guests[host]):
            evidence = {"hosts of the zone with the same CPU, QEMU and libvirt": 0, "other kinds": len(kinds)}
            yield finding(CODE, host_subject(judge.hosts[host]), evidence, remedy_text(CODE, "other-cpus"), INFO)


def _some(names: t.Sequence[str], number: int) -> t.List[str]:
    return [*names[:NAMED], *([f"and {number - NAMED} more"] if number > NAMED else [])]
