# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What else goes by the name of a host that is renamed, and what becomes of it: SG312, SG313, SG314. Pure.

A rename changes Nova, placement, neutron and the host. Whatever else on the machine takes its name from it takes the
new one when it is started next, which may be months later.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ...model import certificates
from ...model import names as naming
from ...model.codes.catalogue import remedy_text
from ...model.facts import Certificate, CloudFacts, NameUsers
from ...model.findings import (
    BLOCKER,
    WARNING,
    Subject,
    Unchecked,
    finding,
)
from ...model.lookups import Item, Items, same_name

Pair = t.Tuple[naming.Names, naming.Names]
#: Blazar's aggregate of hosts that nobody has reserved, as it is by default (blazar, nova.py, aggregate_freepool_name).
BLAZAR_POOL = "freepool"


@dataclasses.dataclass(frozen=True)
class Consequence:
    """What becomes of a kind of service under a new name."""

    severity: str
    why: str


CONSEQUENCES = {
    "ceph-osd": Consequence(
        BLOCKER,
        "at its next start, each OSD moves to a CRUSH bucket with the new name, outside the old bucket's failure "
        "domains. Ceph then moves data across the whole cluster. After the rename, cephadm no longer manages the host",
    ),
    "ceph-mon": Consequence(
        BLOCKER,
        "the name of a Ceph monitor is the host's name. Under another name, the monitor does not start, or the monitor "
        "joins the cluster as a new member",
    ),
    "ceph": Consequence(
        WARNING,
        "the names of Ceph daemons contain the host's name, and cephadm does not manage the host under its new name",
    ),
    "rabbitmq": Consequence(
        BLOCKER,
        "a RabbitMQ node is called rabbit@HOST and keeps its data under that name. If the name changes, the node "
        "starts empty, and the cluster waits for the old node",
    ),
    "galera": Consequence(
        BLOCKER,
        "if wsrep_node_name is not set, a Galera member has the host's name. Galera's list of donors and the cluster's "
        "address list contain the member's name. If one of these lists still contains the member's old name after the "
        "rename, the next start of the member fails, or the member copies the whole database at the next start",
    ),
    "pacemaker": Consequence(
        BLOCKER,
        "Pacemaker identifies members, constraints and fence devices by host name. Under another name, the host is "
        "unknown to the cluster, and the cluster may fence the host",
    ),
    "cinder-volume": Consequence(
        BLOCKER,
        "Cinder volumes belong to HOST@BACKEND. If the host's name changes, a new service registers under the new "
        "name, and no service manages the existing volumes",
    ),
    "cinder-backup": Consequence(
        WARNING,
        "after the rename, cinder-backup registers as a new service under the new name. Backups in progress still "
        "belong to the service with the old name",
    ),
    "masakari": Consequence(
        WARNING,
        (
            "the Masakari monitors on the host send notifications with the host's name. Masakari rejects a "
            "notification if no failover segment contains this name"
        ),
    ),
    "ceilometer": Consequence(
        WARNING,
        (
            "the ceilometer agent uses the host's name when it asks Nova for the host's instances. Until you restart "
            "the agent, the agent uses the old host name, and finds no instances"
        ),
    ),
    "cyborg": Consequence(
        WARNING,
        "Cyborg identifies devices and their resource providers by the host's name. After the rename, Cyborg creates "
        "new devices and new providers, and the old devices and providers remain",
    ),
    "manila-share": Consequence(
        BLOCKER,
        "shares belong to HOST@BACKEND#POOL. After a rename, no manila-share service manages the existing shares",
    ),
    "zun-compute": Consequence(
        BLOCKER,
        "Zun identifies a compute node and its containers by the host's name. After a rename, zun-compute registers "
        "as a new compute node, and no zun-compute manages the existing containers",
    ),
    "ironic-conductor": Consequence(
        BLOCKER,
        "the conductor's name is its place in Ironic's hash ring, and the lock on each bare metal node that the "
        "conductor has reserved. After a rename, the conductor registers as a new one, and reserved nodes stay locked",
    ),
    "etcd": Consequence(
        BLOCKER,
        "if its name or its peer address is taken from the host's name, the etcd member does not start under the new "
        "name, and the cluster waits for the old member",
    ),
    "kubelet": Consequence(
        BLOCKER,
        "a Kubernetes node is called as the host. Under the new name, kubelet registers as a new node, and Kubernetes "
        "evicts the pods of the old node",
    ),
    "glusterd": Consequence(
        BLOCKER,
        "bricks and peers of a Gluster volume are named HOST:PATH. As soon as DNS no longer has the old name, the "
        "bricks of this host do not start, and its peers reject it",
    ),
    "linstor": Consequence(
        BLOCKER,
        "DRBD compares the host's name with the names in its resource files, and LINSTOR with the names of its nodes. "
        "Under the new name, the resources of this host do not start",
    ),
    "consul": Consequence(
        WARNING,
        "if node_name is not set, a Consul agent has the host's name. After its next start, its services and health "
        "checks are those of a new node",
    ),
    "chef": Consequence(
        WARNING,
        "if node_name is not set, the Chef client registers under the new name as a new node without a run list. A "
        "Chef client that runs during the rename may restore the old names",
    ),
    "freeipa": Consequence(
        WARNING,
        "the machine's principal, keytab and tracked certificates contain the host's name. After a rename, certmonger "
        "still renews the certificates for the old name",
    ),
    "puppet": Consequence(
        WARNING,
        "if certname is not set, Puppet uses the host's name for the certificate, and the Puppet server does not "
        "know the new name. A Puppet agent that runs during the rename may restore the old names",
    ),
    "salt": Consequence(
        WARNING,
        (
            "a Salt minion that runs during the rename may restore the old names. After the rename, the minion still "
            "uses the id in /etc/salt/minion_id, which may be the old name"
        ),
    ),
}


def check(subject: Subject, found: NameUsers, told: t.Optional[Pair]) -> Items:
    """Say what becomes of each. ``told``: names before and after; None: not known, so certificates are undecided.

    What was found are processes, also in containers, units that start at boot, and data on disk. A MariaDB without
    Galera is not among them.
    """
    for resident in found.residents or []:
        known = CONSEQUENCES[resident.kind]
        about = Subject("host", f"{subject.id}:{resident.kind}", resident.kind, subject.host)
        evidence = {"service": resident.kind, "seen": resident.seen, "consequence": known.why}
        yield finding("SG313", about, evidence, remedy_text("SG313", resident.kind), known.severity)
    yield from _options(subject, found.options or [])
    yield from _cloud_init(subject, found.cloud_init or {})
    for entry in found.unread:
        if entry.part == "certificates" and found.certificates is not None:
            yield Unchecked("SG314", subject.id, entry.reason)
    for certificate in found.certificates or []:
        yield from _certificate(subject, certificate, told)


def masakari(cloud: CloudFacts, old: str, new: str) -> Items:
    """SG313: the host's record in a failover segment. Masakari rejects notifications of a name that none has."""
    if cloud.ha_hosts is None:
        reason = next((entry.reason for entry in cloud.unread if entry.part == "ha_hosts"), "not read")
        yield Unchecked("SG313", old, f"Masakari may have a record of this host: {reason}")
    for entry in cloud.ha_hosts or []:
        if same_name(entry.name, old):
            evidence = {"segment": entry.segment, "host": entry.name, "consequence": CONSEQUENCES["masakari"].why}
            remedy = remedy_text("SG313", "masakari-segment", new=new, segment=entry.segment, id=entry.id)
            yield finding("SG313", Subject("host", entry.id, "masakari", old), evidence, remedy, WARNING)


def blazar(cloud: CloudFacts, old: str) -> Items:
    """SG313: Blazar knows its hosts by name, and keeps them in aggregates of its own. No process here tells of it."""
    for entry in cloud.aggregates or []:
        marks = sorted(key for key in entry.metadata or {} if key.casefold().startswith("blazar"))
        if old in entry.hosts and (marks or entry.name == BLAZAR_POOL):
            evidence = {
                "aggregate": entry.name,
                "metadata": marks,
                "consequence": "Blazar knows the host by its old name, so leases of the host fail after the rename",
            }
            remedy = remedy_text("SG313", "blazar")
            yield finding("SG313", Subject("host", f"{old}:blazar:{entry.id}", "blazar", old), evidence, remedy)


def _options(subject: Subject, options: t.Sequence[str]) -> Items:
    if options:
        evidence = {
            "nova-compute options that contain the old name": list(options),
            "consequence": (
                "the rename does not change the name in these options. Live migrations and consoles fail as soon as "
                "DNS no longer has the old name"
            ),
        }
        remedy = remedy_text("SG312", "nova-options-with-old-name")
        yield _configuration(subject, "nova.conf", evidence, remedy)


def _cloud_init(subject: Subject, told: t.Mapping[str, str]) -> Items:
    evidence: t.Dict[str, t.Any] = {"cloud-init": dict(told)}
    if told and told.get("manage_etc_hosts") not in ("false", "no", "off"):
        evidence["consequence"] = "at each boot, cloud-init writes the host name from its data source into /etc/hosts"
        remedy = remedy_text("SG312", "cloud-init-writes-hosts-file")
        yield _configuration(subject, "cloud-init", evidence, remedy)
    elif told and told.get("preserve_hostname") not in ("true", "yes", "on"):
        evidence["consequence"] = (
            "if cloud-init's data source changes, cloud-init restores the old host name at the next boot"
        )
        remedy = remedy_text("SG312", "cloud-init-sets-host-name")
        yield _configuration(subject, "cloud-init", evidence, remedy)


def _configuration(subject: Subject, what: str, evidence: t.Mapping[str, t.Any], remedy: str) -> Item:
    return finding("SG312", Subject("host", f"{subject.id}:{what}", what, subject.host), evidence, remedy, WARNING)


def _certificate(subject: Subject, certificate: Certificate, told: t.Optional[Pair]) -> Items:
    if told is None:
        yield Unchecked("SG314", certificate.path, "the new names are not known")
        return
    try:
        names = certificates.names_of(certificate.pem)
    except certificates.CertificateError as error:
        yield Unchecked("SG314", certificate.path, str(error))
        return
    before, after = told
    stale = [name for name in names if _stale(name, names, before, after)]
    if stale:
        evidence = {
            "certificate": certificate.path,
            "its names": names,
            "without the new name": stale,
            "consequence": "TLS connections to the new name fail: live migration, consoles, disk copies",
        }
        remedy = remedy_text("SG314", "certificate-without-new-name", new=after.host)
        about = Subject("host", f"{subject.id}:{certificate.path}", certificate.path, subject.host)
        yield finding("SG314", about, evidence, remedy)


def _stale(name: str, names: t.Sequence[str], before: naming.Names, after: naming.Names) -> bool:
    """Whether a name of a certificate is one of the host's old ones, in any domain, and its new one is not there."""
    pairs = {(before.host, after.host), (before.hypervisor_hostname, after.hypervisor_hostname)}
    pairs |= {(before.os, after.os)} if before.os and after.os else set()
    for old, new in pairs:
        if not same_name(naming.short(name), naming.short(old)) or same_name(naming.short(old), naming.short(new)):
            continue
        domain = naming.domain(name)
        wanted = (new, f"{naming.short(new)}.{domain}" if domain else new)
        if not any(certificates.covers(pattern, candidate) for pattern in names for candidate in wanted):
            return True
    return False
