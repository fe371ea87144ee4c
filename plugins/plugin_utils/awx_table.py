# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What AWX gets: which templates there are, what their surveys ask, and which workflows they make. Data only.

A question's type, choices, default and description are those of the option in the role's argument specifications; here
stands what it is called in a survey. A new playbook needs one :class:`Operation` (or :class:`Template`), and a label
for each question. Never a question: commands, files, URLs, modules and their options, and how Ansible connects. They
would run on every compute host, and belong to C(nova_awx_extra_vars).
"""

from __future__ import annotations

import dataclasses
import typing as t

PREFIX = "Nova: "
#: The text that becomes C(stackguard_overrides), and the name by which a sliced audit asks for C(audit_fail_on).
OVERRIDES = "stackguard_awx_overrides"
FAIL_ON = "stackguard_awx_fail_on"
#: Survey variables that are asked as another option is.
ASKED_AS = {FAIL_ON: "audit_fail_on"}

#: Kinds of credentials that people create.
MACHINE, OPENSTACK, DATABASES, OVN, FENCE = KINDS = ("machine", "openstack", "databases", "ovn", "fence")
_CLOUD = (MACHINE, OPENSTACK, DATABASES)
_ALL = (*_CLOUD, OVN)

_AUDITS = "{{ stackguard_awx_dir }}/audits/{{ awx_workflow_job_id | default(awx_job_id) }}/parts"
_PARTS = "{{ stackguard.report_dir | dirname }}"
_DEFINITIONS = "{{ stackguard_awx_dir }}/definitions"
_PREVIOUS = "{{ stackguard_awx_dir }}/previous-report.json"


@dataclasses.dataclass(frozen=True)
class Template:
    """One job template. C(what): its description; C(reads): it changes nothing, in check mode or not."""

    name: str
    playbook: str
    what: str
    credentials: t.Tuple[str, ...]
    survey: t.Tuple[str, ...] = ()
    extra_vars: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    reads: bool = False
    check: bool = False
    sliced: bool = False


@dataclasses.dataclass(frozen=True)
class Operation:
    """Templates and workflow of one playbook that changes something.

    C(others): by the words after the comma: the value of the option C(action), the survey, and what it does.
    C(audited): the workflow audits before and after. C(node): the identifier of the node that runs it.
    """

    name: str
    playbook: str
    what: str
    credentials: t.Tuple[str, ...]
    survey: t.Tuple[str, ...]
    workflow: str
    question: str
    action: str
    others: t.Mapping[str, t.Tuple[str, t.Tuple[str, ...], str]] = dataclasses.field(default_factory=dict)
    audited: bool = False
    node: str = "run"


TEMPLATES = (
    Template(
        "audit",
        "audit",
        "Audit the whole cloud for dangerous states",
        _ALL,
        ("audit_fail_on", "audit_sources", "audit_hosts", OVERRIDES),
        {"audit_definitions_dir": _DEFINITIONS, "audit_previous_report": _PREVIOUS},
        reads=True,
    ),
    Template(
        "doctor",
        "doctor",
        "Check whether the cloud, the hosts and the databases are ready for the other templates",
        _ALL,
        ("doctor_sources", "doctor_operations"),
        reads=True,
    ),
    Template(
        "explain", "explain", "Show what a finding means, and what to do about it", (), ("explain_code",), reads=True
    ),
    # The three of the workflow that audits in slices: each leaves its part where the last one finds it.
    Template(
        "audit, the cloud",
        "audit",
        "Of a sliced audit: read the APIs and the databases",
        _ALL,
        extra_vars={
            "audit_sources": ["api", "databases"],
            "audit_fail_on": "never",
            "audit_definitions": False,
            "stackguard_report_dir": f"{_AUDITS}/cloud",
        },
        reads=True,
    ),
    Template(
        "audit, the hosts",
        "audit",
        "Of a sliced audit: read the hosts, in parallel",
        (MACHINE,),
        extra_vars={
            "audit_sources": ["hosts"],
            "audit_fail_on": "never",
            "audit_definitions_dir": _DEFINITIONS,
            # A slice may hold no compute host. Only what the workflow started is told so.
            "audit_accept_empty": "{{ (stackguard | default({})).report_dir is defined }}",
            "stackguard_report_dir": _PARTS + "/hosts-{{ awx_job_id }}",
        },
        reads=True,
        sliced=True,
    ),
    Template(
        "audit, put together",
        "audit",
        "Of a sliced audit: judge what the other jobs have read",
        (),
        (FAIL_ON, OVERRIDES),
        {
            "audit_evidence": _PARTS,
            # A slice that failed has left no evidence.
            "audit_all_hosts": True,
            # By another name: AWX gives a workflow's answers to every node, above what its template says.
            "audit_fail_on": "{{ " + FAIL_ON + " | default('blocker', true) }}",
            "audit_previous_report": _PREVIOUS,
            "stackguard_report_dir": "{{ stackguard.report_dir | dirname | dirname }}",
        },
        reads=True,
    ),
)

_RENAME = ("rename_from", "rename_to")
_MOVE = ("migrate_live", "migrate_cold", "migrate_partial", "migrate_max_parallel")
_PIN = ("pin_servers", "pin_hosts", "pin_all")

OPERATIONS = (
    Operation(
        "rename",
        "rename_host",
        "Rename a compute host",
        _ALL,
        (*_RENAME, "rename_hypervisor_hostname", "rename_strategy", OVERRIDES),
        "rename a compute host",
        "Rename the compute host?",
        "rename_action",
        {
            "status": ("status", _RENAME, "Show the state of an open rename"),
            "roll back": ("rollback", (*_RENAME, OVERRIDES), "Undo every step of an open rename"),
        },
        audited=True,
        node="rename",
    ),
    Operation(
        "repair links",
        "repair_links",
        "Repair wrong id references in Nova's databases, where the right id is certain",
        (MACHINE, DATABASES),
        ("repair_hosts", "repair_codes", "repair_limit", OVERRIDES),
        "repair wrong links",
        "Repair these links?",
        "repair_action",
        {
            "status": ("status", (), "Show the state of an open repair"),
            "roll back": ("rollback", ("repair_operation",), "Put back the rows that a repair has changed"),
        },
    ),
    Operation(
        "evacuate",
        "evacuate_host",
        "Evacuate a dead compute host",
        (*_ALL, FENCE),
        (
            "evacuate_host",
            "evacuate_fence",
            "evacuate_attested_by",
            "evacuate_blocklist_addresses",
            "evacuate_reset_states",
            "evacuate_servers",
            "evacuate_order",
            "evacuate_target_state",
            "evacuate_partial",
            "evacuate_max_parallel",
            "evacuate_memory_headroom_mb",
            OVERRIDES,
        ),
        "evacuate a compute host",
        "Evacuate the compute host?",
        "evacuate_action",
        {
            "status": ("status", ("evacuate_host",), "Show the state of an open evacuation"),
            "abort": (
                "abort",
                ("evacuate_host",),
                "End an open evacuation. Once a server's was requested, the dead host stays forced down and disabled",
            ),
        },
    ),
    Operation(
        "return",
        "return_host",
        "Clean up an evacuated host that comes back, and return it to service",
        _ALL,
        ("return_host", "return_status", OVERRIDES),
        "return a compute host",
        "Return the compute host?",
        "return_action",
        {
            "status": ("status", ("return_host",), "Show the state of an open return"),
            "abort": ("abort", ("return_host",), "End an open return. The host stays forced down and disabled"),
        },
    ),
    Operation(
        "resize",
        "resize_server",
        "Resize a server within its availability zone",
        _CLOUD,
        ("resize_server", "resize_flavor", "resize_strategy", "resize_confirm", "resize_keep_pin", OVERRIDES),
        "resize a server",
        "Resize the server?",
        "resize_action",
        {
            "status": ("status", ("resize_server",), "Show the state of an open resize"),
            "roll back": ("rollback", ("resize_server",), "Undo an open resize"),
        },
    ),
    Operation(
        "remove",
        "remove_host",
        "Remove what is left of compute hosts that are gone for good",
        _ALL,
        ("remove_host", "remove_keep", OVERRIDES),
        "remove hosts",
        "Remove these hosts?",
        "remove_action",
        {
            "status": ("status", ("remove_host",), "Show the state of an open removal"),
            "roll back": ("rollback", ("remove_host",), "End an open removal. What was removed stays removed"),
        },
    ),
    Operation(
        "unshelve",
        "unshelve_server",
        "Unshelve a server in its availability zone",
        _CLOUD,
        ("unshelve_server", "unshelve_zone", OVERRIDES),
        "unshelve a server",
        "Unshelve the server?",
        "unshelve_action",
        {
            "status": ("status", ("unshelve_server",), "Show the state of an open request"),
            "roll back": ("rollback", ("unshelve_server",), "End an open request. A server that runs stays running"),
        },
    ),
    Operation(
        "pin",
        "pin_servers",
        "Pin servers to their availability zones",
        _CLOUD,
        (*_PIN, "pin_state", "pin_partial", OVERRIDES),
        "pin servers",
        "Pin these servers?",
        "pin_action",
        {
            "status": ("status", (), "Show old and present pins of the servers"),
            "restore": ("restore", _PIN, "Put back the old pins, where nobody has changed them since"),
        },
    ),
    Operation(
        "migrate",
        "migrate_server",
        "Move servers to other hosts in their availability zones",
        _CLOUD,
        ("migrate_servers", *_MOVE, OVERRIDES),
        "migrate servers",
        "Migrate these servers?",
        "migrate_action",
        {"roll back": ("rollback", ("migrate_servers",), "End an open move. What has moved stays where it is")},
    ),
    Operation(
        "drain",
        "drain_host",
        "Move all servers of a compute host to other hosts in their availability zones",
        _CLOUD,
        ("drain_host", "drain_enable_after", *_MOVE, OVERRIDES),
        "drain a compute host",
        "Drain the compute host?",
        "migrate_action",
        {"roll back": ("rollback", ("drain_host",), "End an open drain. What has moved stays where it is")},
    ),
    Operation(
        "maintain",
        "maintain_hosts",
        "Empty compute hosts one after the other, reboot each, prove it, and enable it",
        _ALL,
        (
            "maintain_hosts",
            "maintain_reboot",
            "maintain_serial",
            "maintain_keep_free",
            "maintain_refill",
            "maintain_cold",
            "maintain_move_timeout",
            OVERRIDES,
        ),
        "maintain compute hosts",
        "Maintain these compute hosts?",
        "maintain_action",
        {
            "status": ("status", ("maintain_hosts",), "Show how far each host of an open series is"),
            "abort": ("abort", ("maintain_hosts",), "End an open series. A host that is not proven stays disabled"),
        },
    ),
    Operation(
        "enable",
        "enable_host",
        "Prove that a compute host may take servers, and enable it",
        _ALL,
        ("enable_host", OVERRIDES),
        "enable a compute host",
        "Enable the compute host?",
        "enable_action",
        {
            "status": ("status", ("enable_host",), "Show the state of an open run"),
            "abort": ("abort", ("enable_host",), "End an open run"),
        },
    ),
)

SLICED = "audit in slices"
SLICED_WHAT = "Audit a cloud with many hosts: the cloud once, the hosts in parallel, then the verdict"

#: What a survey calls each question.
LABELS: t.Mapping[str, str] = {
    OVERRIDES: "Overrides",
    FAIL_ON: "Findings that make the audit fail",
    "audit_fail_on": "Findings that make the job fail",
    "audit_hosts": "Compute hosts",
    "audit_sources": "Sources to read",
    "doctor_sources": "Sources to check",
    "doctor_operations": "Planned operations",
    "drain_enable_after": "Enable the compute service again afterwards",
    "drain_host": "Compute host to drain",
    "enable_host": "Compute host",
    "evacuate_attested_by": "Who says that the host is dead",
    "evacuate_blocklist_addresses": "Addresses of the host on Ceph's public network",
    "evacuate_fence": "Fencing method",
    "evacuate_host": "Dead compute host",
    "evacuate_max_parallel": "Servers that one destination takes at a time",
    "evacuate_memory_headroom_mb": "Memory to keep free on each destination (MiB)",
    "evacuate_order": "Order",
    "evacuate_partial": "Go on without servers that have no destination",
    "evacuate_reset_states": "States to reset",
    "evacuate_servers": "Servers",
    "evacuate_target_state": "Power state afterwards",
    "explain_code": "Code",
    "maintain_cold": "Cold migration",
    "maintain_hosts": "Compute hosts, or one inventory group",
    "maintain_keep_free": "Hosts of each zone that may fail meanwhile",
    "maintain_move_timeout": "Seconds for the move of one server",
    "maintain_reboot": "Reboot each host",
    "maintain_refill": "Move the servers back",
    "maintain_serial": "Hosts at a time",
    "migrate_cold": "Cold migration",
    "migrate_live": "Live-migrate running servers",
    "migrate_max_parallel": "Servers that move at a time",
    "migrate_partial": "Go on without servers that cannot be moved",
    "migrate_servers": "Servers",
    "pin_all": "All servers of the cloud",
    "pin_hosts": "Servers of these compute hosts",
    "pin_partial": "Go on without servers that cannot be pinned",
    "pin_servers": "Servers",
    "pin_state": "Pin or unpin",
    "remove_host": "Compute hosts",
    "remove_keep": "Records to keep",
    "rename_from": "Compute host",
    "rename_hypervisor_hostname": "New name in libvirt",
    "rename_strategy": "Strategy",
    "rename_to": "New name",
    "repair_codes": "Findings to repair",
    "repair_hosts": "Compute hosts",
    "repair_limit": "Most rows to change",
    "repair_operation": "Repair to roll back",
    "resize_confirm": "Confirm the resize",
    "resize_flavor": "New flavor",
    "resize_keep_pin": "Stay pinned afterwards",
    "resize_server": "Server",
    "resize_strategy": "Method",
    "return_host": "Compute host",
    "return_status": "Compute service afterwards",
    "unshelve_server": "Server",
    "unshelve_zone": "Zone, where it is not known",
}

#: An empty answer means all: nothing to repeat. (And no template has a variable that a workflow's survey asks for.)
NO_DEFAULT = ("doctor_operations", "remove_keep", "repair_codes")
#: Bounds of numbers: a slip of the finger is refused where it is typed.
BOUNDS: t.Mapping[str, t.Tuple[int, int]] = {
    "evacuate_max_parallel": (1, 64),
    "evacuate_memory_headroom_mb": (0, 1048576),
    "maintain_keep_free": (0, 64),
    "maintain_move_timeout": (60, 86400),
    "maintain_serial": (1, 64),
    "migrate_max_parallel": (1, 64),
    "repair_limit": (1, 1000000),
}
#: Answers that a template cannot do without, though the role can (for another action, or with another option).
REQUIRED = ("resize_flavor", "migrate_servers", "evacuate_fence")
#: What a survey says of its own questions, which no role has.
OWN_DESCRIPTIONS: t.Mapping[str, str] = {
    OVERRIDES: (
        "One override on each line, such as 'SG110 guest1: a domain of the backup team': code, object, a colon, and "
        "the reason"
    ),
}
#: Extra variables of a playbook's option that stand for what the survey's default shows.
DEFAULTS: t.Mapping[str, str] = {"audit_hosts": "compute"}

#: Who gets which role; docs/guides/awx.md has it as a table. Team of nova_awx_teams: role, and on which objects.
TEAMS: t.Mapping[str, t.Tuple[t.Tuple[str, str], ...]] = {
    "operators": (("execute", "workflows"), ("execute", "harmless")),
    "approvers": (("approval", "approvals"), ("read", "harmless")),
    "on_call": (("execute", "acting"),),
}
