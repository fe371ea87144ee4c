# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings: what a check says, the catalogue of their codes, the operator's overrides, and the report.

A finding never guesses: what could not be read becomes an entry of C(unchecked), or a blocker where an operation
depends on it. Codes are stable and never reused. Pure: no I/O, no clock, no Ansible.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from .facts import to_plain
from .wording import one_line

BLOCKER = "blocker"
WARNING = "warning"
INFO = "info"
SEVERITIES = (BLOCKER, WARNING, INFO)

KINDS = (
    "host",
    "service",
    "compute_node",
    "instance",
    "migration",
    "pci_device",
    "resource_provider",
    "aggregate",
    "port",
    "image",
    "domain",
)

REPORT_SCHEMA = 1
#: Key of evidence with which no override passes a finding, though its code can be overridden otherwise; and why.
NO_OVERRIDE = "no override"
#: The same of single codes: signs of life; a proof that is none; nothing to put on a blocklist; a source that answers
#: and does not say what runs there.
ALIVE, NO_PROOF, NOTHING = "alive", "no proof", "addresses for the blocklist"
SILENT = "the source host answers, but the run could not read what runs on this host"


class OverrideError(ValueError):
    """An entry of C(stackguard_overrides) that cannot be taken: which one, and why.

    ``problem``: why, as a key; ``at``: the entry or line, where it is about one.
    """

    LIST, KEYS, CODE, EMPTY, ABSOLUTE = "no-list", "keys", "no-code", "empty", "absolute"
    TEXT, LINE, JSON = "no-text", "line", "json"

    def __init__(self, problem: str, message: str, at: t.Optional[int] = None) -> None:
        super().__init__(message)
        self.problem = problem
        self.at = at


@dataclasses.dataclass(frozen=True)
class Code:
    """One entry of the catalogue, with what else code asks of it.

    ``absolute``: no override passes it; ``absolute_with``: none passes one whose evidence has one of these keys.
    ``from_hosts``: nothing can be said of it without the compute hosts.
    ``repairable``: repair_links repairs at least some of it. ``since_28``: it looks at columns of release 28.
    ``of_server``: it keeps its own server only, where the operator lets the others go (evacuate_partial).
    ``of_destination``: it speaks against one destination, and an override by name passes it there.
    """

    code: str
    slug: str
    severity: str
    summary: str
    absolute: bool = False
    absolute_with: t.Tuple[str, ...] = ()
    from_hosts: bool = False
    repairable: bool = False
    since_28: bool = False
    of_server: bool = False
    of_destination: bool = False


def _catalogue(*entries: Code) -> t.Dict[str, Code]:
    return {entry.code: entry for entry in entries}


CATALOGUE: t.Dict[str, Code] = _catalogue(
    # SG1xx identity
    Code(
        "SG101",
        "compute-id-missing",
        BLOCKER,
        "The host has no compute_id file where nova-compute looks for it.",
        from_hosts=True,
    ),
    Code(
        "SG102",
        "compute-id-mismatch",
        BLOCKER,
        "The compute_id file and the compute node have different uuids.",
        from_hosts=True,
    ),
    Code(
        "SG103",
        "compute-id-conflict",
        BLOCKER,
        "Copies of the compute_id file on one host contain different uuids.",
        from_hosts=True,
    ),
    Code(
        "SG104",
        "compute-id-unparsable",
        BLOCKER,
        "A compute_id file cannot be read, or does not contain a uuid.",
        from_hosts=True,
    ),
    Code(
        "SG105",
        "hypervisor-hostname-changed",
        BLOCKER,
        "The host name that libvirt reports differs from the compute node's name.",
        from_hosts=True,
    ),
    Code(
        "SG106",
        "service-host-changed",
        BLOCKER,
        "The host name in Nova's configuration (CONF.host) differs from the host name of the compute service.",
        from_hosts=True,
    ),
    Code(
        "SG107",
        "duplicate-identity",
        BLOCKER,
        "Two hosts have the same compute_id, libvirt uuid or machine-id.",
        from_hosts=True,
    ),
    Code(
        "SG108",
        "foreign-domain",
        BLOCKER,
        "A libvirt domain runs on a host, but the database shows the domain's instance on another host.",
        absolute=True,
        from_hosts=True,
    ),
    Code(
        "SG109",
        "missing-domain",
        BLOCKER,
        "The database shows an instance on this host, but libvirt has no domain of the instance.",
        from_hosts=True,
    ),
    Code(
        "SG110", "unknown-domain", BLOCKER, "libvirt has a domain that has no row in Nova's databases.", from_hosts=True
    ),
    Code("SG111", "name-resolution", BLOCKER, "A name of the host does not resolve to an address of that host."),
    Code(
        "SG112",
        "provider-name-mismatch",
        BLOCKER,
        "The compute node's resource provider is missing or has a wrong name.",
    ),
    Code(
        "SG113",
        "restart-would-destroy",
        BLOCKER,
        "At its next start, nova-compute would destroy libvirt domains.",
        absolute=True,
        from_hosts=True,
    ),
    Code("SG114", "host-unreadable", BLOCKER, "The host did not answer, or the run could not read some of its facts."),
    Code(
        "SG115",
        "unsupported-driver",
        BLOCKER,
        "The host is not a libvirt compute host (ironic, or another driver).",
        from_hosts=True,
    ),
    Code("SG116", "service-without-node", BLOCKER, "A compute service has no compute node."),
    Code("SG117", "unmapped-host", BLOCKER, "The host has no host mapping, so the API cannot find the host."),
    Code("SG118", "name-invalid", BLOCKER, "The new host name is invalid, or Nova cannot use it."),
    Code(
        "SG119", "host-not-found", BLOCKER, "No cell database has this host, or the host's compute service is missing."
    ),
    Code("SG120", "guest-changed", BLOCKER, "A guest has changed since the operation began."),
    Code("SG121", "request-lost", WARNING, "Nova accepted a request that no nova-compute executes."),
    Code(
        "SG122",
        "guest-unlocked",
        WARNING,
        ("During the operation, someone unlocked a guest that the operation had locked."),
    ),
    Code(
        "SG123",
        "frozen-host-name",
        BLOCKER,
        "A service has its own copy of the host name, and a rename does not change that copy.",
        absolute=True,
    ),
    Code(
        "SG124",
        "rehearsal-failed",
        BLOCKER,
        "Libvirt would not use the planned host name after the rename, or the run was unable to predict libvirt's host "
        "name.",
    ),
    Code(
        "SG125",
        "guest-elsewhere",
        BLOCKER,
        "A rollback would write this host's name into the records of a guest that is now on another host.",
    ),
    Code(
        "SG126",
        "stale-container-name",
        BLOCKER,
        "A container still uses an earlier name of the host as its host name.",
        from_hosts=True,
    ),
    Code(
        "SG127",
        "guest-in-container",
        BLOCKER,
        "A guest runs in a container's control group and ends when the container stops.",
        absolute=True,
        from_hosts=True,
    ),
    Code(
        "SG128",
        "restart-pending",
        WARNING,
        "A configuration file of nova-compute changed after nova-compute started.",
        from_hosts=True,
    ),
    Code("SG129", "compute-id-immutable", INFO, "A compute_id file is immutable (chattr +i).", from_hosts=True),
    Code(
        "SG130",
        "deployment-unknown",
        BLOCKER,
        "The deployment of nova-compute on the host is unknown or not supported.",
    ),
    Code(
        "SG131",
        "already-renamed",
        BLOCKER,
        "Someone renamed the host. Nova, the host itself and other systems now use different names for the host.",
        from_hosts=True,
    ),
    Code(
        "SG132",
        "domain-elsewhere",
        BLOCKER,
        "The libvirt domain of a server is not on the host that Nova shows for the server.",
        absolute=True,
        from_hosts=True,
        of_server=True,
    ),
    # SG2xx links
    Code("SG201", "node-without-service-id", WARNING, "compute_nodes.service_id is NULL.", repairable=True),
    Code(
        "SG202",
        "service-id-dangling",
        WARNING,
        "compute_nodes.service_id is not the id of an existing compute service.",
        repairable=True,
    ),
    Code(
        "SG203",
        "service-id-of-another",
        BLOCKER,
        "compute_nodes.service_id is the id of another host's compute service.",
        repairable=True,
    ),
    Code("SG204", "node-without-service", BLOCKER, "A compute node's host has no compute service."),
    Code(
        "SG205",
        "duplicate-nodes",
        BLOCKER,
        "Several rows of compute_nodes have the same host or the same hypervisor_hostname (soft-deleted rows do not "
        "count).",
    ),
    Code(
        "SG206",
        "node-identity-broken",
        BLOCKER,
        "A compute node has no uuid, or placement has no resource provider with the compute node's uuid and name.",
    ),
    Code(
        "SG207",
        "deleted-node-in-use",
        BLOCKER,
        "Existing instances still link to a soft-deleted compute node.",
        since_28=True,
    ),
    Code("SG211", "compute-id-null", WARNING, "instances.compute_id is NULL.", repairable=True, since_28=True),
    Code(
        "SG212",
        "compute-id-dangling",
        WARNING,
        "instances.compute_id is not the id of any compute node.",
        repairable=True,
        since_28=True,
    ),
    Code(
        "SG213",
        "compute-id-of-deleted-node",
        WARNING,
        "instances.compute_id is the id of a soft-deleted compute node.",
        repairable=True,
        since_28=True,
    ),
    Code(
        "SG214",
        "compute-id-of-another",
        BLOCKER,
        "instances.compute_id is the id of another host's compute node.",
        repairable=True,
        since_28=True,
    ),
    Code(
        "SG215",
        "offloaded-with-link",
        WARNING,
        "instances.host is NULL, but instances.node or instances.compute_id is not NULL.",
        repairable=True,
    ),
    Code(
        "SG216",
        "instance-without-node",
        BLOCKER,
        "No compute node in the database matches the host and node names of an instance.",
    ),
    Code("SG217", "offloaded-with-host", BLOCKER, "A shelved-offloaded instance still has a host."),
    Code(
        "SG221",
        "migration-link-broken",
        WARNING,
        "The dest_compute_id of an open migration is missing or wrong.",
        repairable=True,
        since_28=True,
    ),
    Code(
        "SG231", "pci-device-of-deleted-node", BLOCKER, "A claimed PCI device belongs to a soft-deleted compute node."
    ),
    # SG3xx names
    Code("SG301", "half-rename", BLOCKER, "Databases and APIs have different names for one host."),
    Code(
        "SG302",
        "host-mapping",
        BLOCKER,
        "A host mapping contains a stale host name, or maps the host to the wrong cell.",
    ),
    Code("SG303", "aggregate-host", BLOCKER, "An aggregate contains a stale name of the host."),
    Code(
        "SG304",
        "child-provider-name",
        WARNING,
        "The name of a child resource provider does not begin with its compute node's name.",
    ),
    Code("SG305", "network-agent", BLOCKER, "A neutron agent of the host blocks the rename, or has a stale name."),
    Code("SG306", "port-binding", BLOCKER, "A port is bound to a stale host name, or its binding failed."),
    Code("SG307", "message-queue", INFO, "RabbitMQ still has a message queue of the host's old name."),
    Code("SG308", "volume-attachment", WARNING, "A volume attachment records a stale host name."),
    Code(
        "SG309",
        "migration-record",
        BLOCKER,
        "An unfinished migration record contains a host name that no compute host has.",
    ),
    Code("SG310", "name-taken", BLOCKER, "The new host name is already in use."),
    Code("SG311", "database-access", BLOCKER, "The database user lacks a grant, or the database cannot be reached."),
    Code(
        "SG312",
        "shared-configuration",
        WARNING,
        "A configuration file on the host would keep or restore the old host name after a rename.",
    ),
    Code(
        "SG313",
        "name-bound-service",
        BLOCKER,
        "A service on the host, such as Ceph or RabbitMQ, depends on the host's name.",
    ),
    Code("SG314", "certificate-name", WARNING, "A certificate has the host's old name but not the new name."),
    Code(
        "SG315",
        "queue-of-new-name",
        BLOCKER,
        "The message queue of the new host name holds requests, or has a consumer.",
    ),
    Code(
        "SG316",
        "broker-access",
        BLOCKER,
        "The run could not read RabbitMQ, or the URL is not that of the RabbitMQ of the host's cell.",
    ),
    Code(
        "SG317",
        "ovn-access",
        BLOCKER,
        "The run could not read OVN's databases, or ovn-northd does not process changes.",
    ),
    Code("SG318", "ovn-chassis", BLOCKER, "The host has no OVN chassis, or its chassis is not unique."),
    Code(
        "SG319",
        "ovn-system-id",
        BLOCKER,
        "The system-id of the chassis is the host's name, and a deployment tool may derive a new system-id from the "
        "new name after a rename.",
    ),
    Code(
        "SG320",
        "ovn-hostname-rewritten",
        BLOCKER,
        "At the next boot, Open vSwitch would overwrite the hostname of the chassis.",
    ),
    Code("SG321", "ovn-hostname", BLOCKER, "The hostname of the chassis differs from the host's name in Nova."),
    Code(
        "SG322",
        "ovn-half-rename",
        BLOCKER,
        "A port requests a chassis that does not exist, or still requests the old hostname.",
    ),
    Code("SG323", "ovn-tunnel-address", BLOCKER, "Another chassis has the host's tunnel address."),
    Code(
        "SG324",
        "ovn-port-unsettled",
        BLOCKER,
        "A port of the host is migrating, is not bound, or differs between neutron and OVN.",
    ),
    Code("SG325", "ovn-rbac", BLOCKER, "OVN does not allow the run to write the hostname of a chassis."),
    Code(
        "SG326",
        "ovn-port-updated",
        WARNING,
        "During the rename, neutron wrote a wrong host name for a port into OVN, and the run replaced this host name.",
    ),
    Code(
        "SG327",
        "ovn-not-proven",
        BLOCKER,
        "An in-place rename with OVN has not been tested with hardware ports (SR-IOV), trunks or a second L2 agent.",
    ),
    Code("SG328", "ovn-chassis-left-behind", WARNING, "The chassis of an evacuated host is still in OVN."),
    Code("SG329", "requests-wait", BLOCKER, "Requests wait in RabbitMQ for a name whose nova-compute does not run."),
    Code(
        "SG330",
        "request-for-elsewhere",
        BLOCKER,
        "A request waits for this host's name, but its server is elsewhere: the next start here would execute it.",
        absolute=True,
    ),
    # SG4xx zones
    Code("SG401", "unpinned-server", WARNING, "The server is not pinned to an availability zone."),
    Code(
        "SG402",
        "pin-without-aggregate",
        BLOCKER,
        "The server is pinned to a zone without an aggregate, so the pin has no effect.",
    ),
    Code("SG403", "host-in-two-zones", BLOCKER, "A host is in aggregates of two availability zones."),
    Code("SG404", "server-outside-its-pin", BLOCKER, "The server is outside the zone to which it is pinned."),
    Code("SG405", "volume-zone-mismatch", WARNING, "A volume is in another zone than its server."),
    Code("SG406", "no-candidate-in-zone", BLOCKER, "No host in the server's zone can take the server."),
    Code("SG407", "landed-outside-zone", BLOCKER, "The server landed outside its zone."),
    Code(
        "SG408",
        "host-missing-from-placement-aggregate",
        BLOCKER,
        "Placement and Nova list different hosts in the aggregate of an availability zone.",
    ),
    # SG5xx evacuation and storage
    Code(
        "SG501",
        "no-real-memory",
        BLOCKER,
        "No possible destination has enough real memory for the server.",
        of_server=True,
        of_destination=True,
    ),
    Code(
        "SG502",
        "overcommitted-destination",
        WARNING,
        "The destination is overcommitted.",
        from_hosts=True,
        of_server=True,
    ),
    Code(
        "SG503",
        "hugepages-short",
        BLOCKER,
        "No possible destination has enough free huge pages for the server.",
        of_server=True,
        of_destination=True,
    ),
    Code(
        "SG504",
        "disk-image-missing",
        BLOCKER,
        "An expected disk image of the server is missing in the Ceph pool.",
        of_server=True,
        of_destination=True,
    ),
    Code(
        "SG505",
        "pool-mismatch",
        BLOCKER,
        "The source and a destination use different Ceph pools or clusters.",
        of_destination=True,
    ),
    Code(
        "SG506",
        "source-not-fenced",
        BLOCKER,
        "The run has no proof that the source host is fenced.",
        absolute_with=(ALIVE, NO_PROOF, NOTHING),
        of_server=True,
    ),
    Code("SG507", "double-writer", BLOCKER, "Two clients can write to the same disk.", absolute=True, from_hosts=True),
    Code(
        "SG508",
        "guard-snapshot-leaked",
        WARNING,
        "A guard snapshot still exists, although its operation is no longer open.",
        from_hosts=True,
    ),
    Code("SG509", "evacuation-not-reaped", BLOCKER, "The host has an evacuation record that is still open."),
    Code("SG510", "service-not-down", BLOCKER, "The compute service of the host is not down."),
    Code("SG511", "port-binding-left-behind", BLOCKER, "A port is still bound to the host that its server left."),
    Code("SG512", "no-candidate-host", BLOCKER, "No host can take the server.", of_server=True),
    Code(
        "SG513",
        "local-disk",
        BLOCKER,
        "The server's disk is local to its host, so an evacuation would rebuild the server from its image.",
        of_server=True,
        of_destination=True,
    ),
    Code(
        "SG514",
        "blast-radius",
        BLOCKER,
        "Too many hosts are down, or the run would change too many database rows.",
    ),
    Code(
        "SG515",
        "blocklist-entry-left",
        WARNING,
        "An audit found an entry of Ceph's OSD blocklist that no open operation needs, or return_host found an entry "
        "that return_host is not allowed to remove.",
        from_hosts=True,
    ),
    Code("SG516", "hold-left", WARNING, "A compute service is still disabled for an operation that is no longer open."),
    Code(
        "SG517",
        "disk-not-open",
        BLOCKER,
        "A libvirt domain runs, but no Ceph client on its host has the domain's disk open.",
    ),
    Code("SG518", "ceph-rights", BLOCKER, "The Ceph user has no permission to change the OSD blocklist."),
    Code("SG519", "state-lost", WARNING, "An evacuation loses some of the server's state."),
    Code(
        "SG520",
        "server-of-a-service",
        WARNING,
        "A cloud service created this server and replaces the server automatically.",
    ),
    Code("SG521", "guest-starts-without-nova", WARNING, "libvirt or libvirt-guests starts guests without Nova."),
    Code("SG522", "domain-kept-by-snapshots", BLOCKER, "libvirt refuses to undefine a domain that has snapshots."),
    # SG6xx definition
    Code("SG601", "address-drift", WARNING, "The addresses of a guest's devices changed."),
    Code("SG602", "disk-order-drift", WARNING, "The order of a guest's disks changed."),
    Code("SG603", "machine-type-unversioned", WARNING, "A guest's machine type is an alias without a version."),
    Code("SG604", "machine-type-drift", WARNING, "A guest's machine type changed."),
    Code("SG605", "cpu-model-drift", WARNING, "A guest's CPU model changed."),
    Code("SG606", "next-start-changes", WARNING, "The next start of a guest would change its libvirt definition."),
    Code("SG607", "never-recorded", INFO, "No audit has recorded the guest's libvirt definition."),
    # SG7xx in flight
    Code("SG701", "task-in-progress", BLOCKER, "A task of an instance is in progress.", of_server=True),
    Code("SG702", "migration-open", BLOCKER, "A migration is in progress.", of_server=True),
    Code(
        "SG703",
        "resize-unconfirmed",
        BLOCKER,
        "A resize or cold migration still waits for its confirmation.",
        of_server=True,
    ),
    Code("SG704", "service-disabled", WARNING, "The compute service is disabled, forced down or not up."),
    Code("SG705", "release-unsupported", BLOCKER, "Nova's release or schema is unknown or not supported."),
    Code(
        "SG706",
        "operation-open",
        BLOCKER,
        "An earlier operation is not finished, and its journal is still open.",
        from_hosts=True,
    ),
    Code("SG707", "lock-held", BLOCKER, "Another operation has locked this host."),
    Code(
        "SG708",
        "ha-automation",
        WARNING,
        "High-availability automation could evacuate the host while its compute service is down.",
    ),
    Code(
        "SG709",
        "evidence-missing",
        BLOCKER,
        "The operation lacks evidence that it needs.",
        absolute_with=(SILENT,),
    ),
    Code("SG710", "server-not-movable", BLOCKER, "The server's state does not allow a move.", of_server=True),
    Code("SG711", "error-after-move", BLOCKER, "Nova shows ERROR for a server whose QEMU still runs."),
    Code(
        "SG712",
        "database-lock",
        INFO,
        "The lock in the database cannot prevent two concurrent runs. Only the lock on the compute host prevents "
        "concurrent runs.",
    ),
)


@dataclasses.dataclass(frozen=True)
class Subject:
    """What a finding is about. ``id``: the object's uuid where it has one, else its database id or name."""

    kind: str
    id: str
    name: t.Optional[str] = None
    host: t.Optional[str] = None

    def __post_init__(self) -> None:
        """Names come from anybody, and from databases, which no API has looked at."""
        if self.name is not None and not self.name.isprintable():
            object.__setattr__(self, "name", one_line(self.name))


@dataclasses.dataclass(frozen=True)
class Finding:
    """One finding. ``evidence``: what was read, and from where. ``remedy``: what to do next."""

    code: str
    slug: str
    severity: str
    object: Subject
    evidence: t.Dict[str, t.Any]
    remedy: str
    #: What of the remedy can be copied into a shell, see :mod:`.commands`. The text says when.
    commands: t.Tuple[str, ...] = ()

    @property
    def absolute(self) -> bool:
        """Whether no override passes it: by its code, or by what its evidence shows."""
        entry = CATALOGUE[self.code]
        return entry.absolute or any(key in self.evidence for key in (NO_OVERRIDE, *entry.absolute_with))


@dataclasses.dataclass(frozen=True)
class Unchecked:
    """A code that could not be decided, for what, and why."""

    code: str
    object: str
    reason: str


class CountedOnly(Unchecked):
    """Rows of a code that were counted, and not listed or not compared: of each it is not known which one it is.

    A report says it in the reason alone. What compares reports of two days decides by this type.
    """


@dataclasses.dataclass(frozen=True)
class Checked:
    """The outcome of one check or of many: findings, and what could not be decided."""

    findings: t.Tuple[Finding, ...] = ()
    unchecked: t.Tuple[Unchecked, ...] = ()

    def __add__(self, other: Checked) -> Checked:
        return Checked(self.findings + other.findings, self.unchecked + other.unchecked)


@dataclasses.dataclass(frozen=True)
class Override:
    """The operator's word that one finding may be passed. ``object``: the finding's object id or name."""

    code: str
    object: str
    reason: str


def finding(
    code: str,
    subject: Subject,
    evidence: t.Mapping[str, t.Any],
    remedy: str,
    severity: t.Optional[str] = None,
    commands: t.Sequence[str] = (),
) -> Finding:
    """Make a finding of a catalogued code; ``severity`` only where it differs from the catalogue's.

    ``commands``: those of the remedy, of which :mod:`.commands` makes each.

    Raises KeyError for a code that is not catalogued and ValueError for an unknown severity or kind.
    """
    entry = CATALOGUE[code]
    level = severity or entry.severity
    if level not in SEVERITIES:
        raise ValueError(f"unknown severity {level!r}")
    if subject.kind not in KINDS:
        raise ValueError(f"unknown kind of object {subject.kind!r}")
    commands = tuple(dict.fromkeys(commands))
    return Finding(code, entry.slug, level, subject, dict(to_plain(dict(evidence))), remedy, commands)


def with_remedy(item: Finding, remedy: str, commands: t.Sequence[str] = ()) -> Finding:
    """Return a finding with another remedy: the commands of the first one go with its text."""
    return dataclasses.replace(item, remedy=remedy, commands=tuple(commands))


#: The option ``overrides`` of the modules: what :func:`parse_overrides` reads.
OPTION: t.Dict[str, t.Any] = {
    "type": "list",
    "elements": "dict",
    "default": [],
    "options": {name: {"type": "str", "required": True} for name in ("code", "object", "reason")},
}


def parse_overrides(raw: t.Any) -> t.List[Override]:
    """Read C(stackguard_overrides): a list of ``{code, object, reason}``. Raises :class:`OverrideError`."""
    if raw is None:
        return []
    if not isinstance(raw, (list, tuple)):
        raise OverrideError(
            OverrideError.LIST,
            "stackguard_overrides: expected a list of entries with the keys 'code', 'object' and 'reason'",
        )
    return [_parse_override(item, index) for index, item in enumerate(raw)]


def overrides_of_text(text: t.Any) -> t.List[t.Dict[str, str]]:
    """Read overrides that were typed into one field: a JSON list, or C(CODE OBJECT: REASON) on each line.

    Raises :class:`OverrideError`, also for codes and entries that :func:`parse_overrides` refuses.
    """
    if not isinstance(text, str):
        raise OverrideError(OverrideError.TEXT, f"overrides: expected text, not {type(text).__name__}")
    if text.lstrip()[:1] in ("[", "{"):
        found = _overrides_of_json(text)
    else:
        lines = enumerate(text.splitlines(), 1)
        found = [_override_of_line(line.strip(), number) for number, line in lines if line.strip()]
    return [dataclasses.asdict(entry) for entry in parse_overrides(found)]


def _overrides_of_json(text: str) -> t.Any:
    try:
        found = json.loads(text)
    except ValueError as error:
        said = f"overrides: the text begins like JSON, but cannot be parsed: {error}"
        raise OverrideError(OverrideError.JSON, said) from None
    if not isinstance(found, list):
        said = "overrides: expected a JSON list of objects with the keys 'code', 'object' and 'reason'"
        raise OverrideError(OverrideError.LIST, said)
    for index, item in enumerate(found):
        if isinstance(item, dict) and not all(isinstance(value, str) for value in item.values()):
            said = f"overrides[{index}]: code, object and reason must be text"
            raise OverrideError(OverrideError.TEXT, said, index)
    return found


def _override_of_line(line: str, number: int) -> t.Dict[str, str]:
    code, _space, rest = line.partition(" ")
    subject, colon, reason = rest.partition(": ")
    if not colon or not line.isprintable():
        raise OverrideError(
            OverrideError.LINE,
            f"overrides, line {number}: expected CODE OBJECT: REASON, for example SG110 guest1: a domain of the "
            "backup team",
            number,
        )
    return {"code": code, "object": subject, "reason": reason}


def _parse_override(item: t.Any, index: int) -> Override:
    where = f"stackguard_overrides[{index}]"
    if not isinstance(item, dict) or set(item) != {"code", "object", "reason"}:
        said = f"{where}: expected exactly the keys 'code', 'object' and 'reason'"
        raise OverrideError(OverrideError.KEYS, said, index)
    code, subject, reason = (str(item[key]).strip() for key in ("code", "object", "reason"))
    if code not in CATALOGUE:
        raise OverrideError(OverrideError.CODE, f"{where}: {code!r} is not a finding code", index)
    if CATALOGUE[code].absolute:
        raise OverrideError(
            OverrideError.ABSOLUTE,
            f"{where}: {code} ({CATALOGUE[code].slug}) is an absolute finding, which cannot be overridden",
            index,
        )
    if not subject or not reason:
        raise OverrideError(OverrideError.EMPTY, f"{where}: object and reason must not be empty", index)
    return Override(code, subject, reason)


def standing(findings: t.Iterable[Finding], overrides: t.Sequence[Override]) -> t.List[Finding]:
    """Return the blockers that no override passes, sorted like a report."""
    return [item for item in ordered(findings) if item.severity == BLOCKER and not overridden(item, overrides)]


def overridden(item: Finding, overrides: t.Sequence[Override]) -> bool:
    """Whether an override names this finding's code and object; never for an absolute one."""
    if item.absolute:
        return False
    names = {item.object.id, item.object.name}
    return any(entry.code == item.code and entry.object in names for entry in overrides)


def ordered(findings: t.Iterable[Finding]) -> t.List[Finding]:
    """Sort by code and object id, then by what else tells findings apart: equal evidence gives equal bytes."""
    return sorted(
        findings,
        key=lambda item: (item.code, item.object.id, item.object.kind, item.remedy, repr(item.evidence), repr(item)),
    )


def verdict(findings: t.Iterable[Finding], unchecked: t.Iterable[Unchecked], overrides: t.Sequence[Override]) -> str:
    """``block``, ``warn`` or ``pass``. What could not be decided is never a pass."""
    findings = list(findings)
    if standing(findings, overrides):
        return "block"
    if list(unchecked) or any(item.severity in (BLOCKER, WARNING) for item in findings):
        return "warn"
    return "pass"


def report(
    checked: Checked,
    generated_at: str,
    hosts: int,
    servers: int,
    overrides: t.Sequence[Override] = (),
) -> t.Dict[str, t.Any]:
    """Build the report (contract: ``report.json``). ``generated_at``: when the evidence was collected."""
    findings = ordered(checked.findings)
    unchecked = sorted(set(checked.unchecked), key=lambda item: (item.code, item.object, item.reason))
    counts = {level: sum(1 for item in findings if item.severity == level) for level in SEVERITIES}
    counts["unchecked"] = len(unchecked)
    counts["overridden"] = sum(1 for item in findings if overridden(item, overrides))
    return {
        "schema": REPORT_SCHEMA,
        "verdict": verdict(findings, unchecked, overrides),
        "generated_at": generated_at,
        "hosts": hosts,
        "servers": servers,
        "findings": [plain_of(item) for item in findings],
        "unchecked": [to_plain(item) for item in unchecked],
        "counts": counts,
        "overrides": [dataclasses.asdict(entry) for entry in overrides],
    }


def overrides_of(plain: t.Mapping[str, t.Any]) -> t.List[Override]:
    """Return the overrides of a report or a journal. What another version of this collection kept is left out."""
    try:
        return parse_overrides(plain.get("overrides"))
    except OverrideError:
        return []


def plain_of(item: Finding) -> t.Dict[str, t.Any]:
    """Return a finding as a report keeps it: with ``commands`` only if its remedy has any."""
    found: t.Dict[str, t.Any] = to_plain(item)
    if not item.commands:
        del found["commands"]
    return found


def from_report(plain: t.Mapping[str, t.Any]) -> Finding:
    """Return a finding from what a report or a journal keeps of it."""
    there = plain["object"]
    return Finding(
        str(plain["code"]),
        str(plain["slug"]),
        str(plain["severity"]),
        Subject(there["kind"], there["id"], there.get("name"), there.get("host")),
        dict(plain["evidence"]),
        str(plain["remedy"]),
        tuple(map(str, plain.get("commands") or ())),
    )


def merged(parts: t.Iterable[Checked]) -> Checked:
    """Return what several looks found, each finding and each undecided code once, in the order of the looks."""
    found: t.Dict[str, Finding] = {}
    undecided: t.Dict[Unchecked, None] = {}
    for part in parts:
        found.update((repr(item), item) for item in part.findings)
        undecided.update(dict.fromkeys(part.unchecked))
    return Checked(tuple(found.values()), tuple(undecided))


def refused(told: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """Return the report of a refused run: what was unread or passed is a warning, and ended the run all the same."""
    return {**told, "verdict": "block"}
