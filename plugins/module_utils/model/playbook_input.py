# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each playbook takes, beside the types in its role's argument specification, and leaves when it refuses. Pure.

One table: which variables are names, which files an earlier run may have left, what a workflow is told of a refusal,
and the rules between variables. The action check_input applies it before anything is read.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .fences.catalogue import FENCES
from .input_rules import problems

Values = t.Mapping[str, t.Any]
COMPUTE_HOSTS = "stackguard_compute_hosts"
#: Variables with a host's name that a workflow is told.
HOSTS = ("drain_host", "enable_host", "evacuate_host", "rename_from", "rename_to", "return_host")
STATE_HOST = "stackguard_state_host"
#: Names that are the controller, whatever the inventory says of them.
_CONTROLLER = ("localhost", "127.0.0.1", "::1")
#: Options that are a path, or a plan's sum with one: none has braces. Other values may, such as a JMESPath expression.
_PATH = re.compile(r"_(dir|report|evidence|expect_plan)\Z")
_OVERRIDES = "stackguard_overrides"
_JINJA = ("{{", "{%")
#: Actions for which the host that an operation is about must be in the inventory.
FORWARD = ("apply", "resume")


@dataclasses.dataclass(frozen=True)
class Given:
    """What an operator gave, and what the inventory holds.

    ``values``: all variables of the playbook, as the specification takes them, with its defaults. ``raw``: those that
    were given, as they were typed. ``extra``: names of those given with -e.
    """

    values: Values
    raw: Values
    extra: t.Collection[str]
    #: Inventory hosts that match a pattern.
    matching: t.Callable[[str], t.Sequence[str]]
    #: Inventory hosts that are called so in Nova.
    called: t.Callable[[str], t.Sequence[str]]
    #: Playbooks that are operations.
    operations: t.Sequence[str] = ()
    #: Whether it is a job of AWX, whose container is deleted with all that the run leaves in it.
    job: bool = False
    #: How Ansible connects to a host: the name of its connection plugin.
    connection: t.Callable[[str], str] = lambda _host: ""


Rule = t.Callable[[Given], t.Iterator[str]]


@dataclasses.dataclass(frozen=True)
class PlaybookInput:
    """One playbook. ``limit``: why it takes no --limit."""

    limit: str
    #: Variables that are names, by the kind of input_rules.
    names: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    rules: t.Tuple[Rule, ...] = ()
    #: Files of an earlier run, beside report.json.
    files: t.Tuple[str, ...] = ()
    #: Variables whose value of -e is taken as it is, up to the end of that -e: the role's own, then its short form.
    literal: t.Tuple[str, ...] = ()
    #: Whether it writes report.json; another playbook's stays.
    reports: bool = True
    #: What a workflow gets of a refused run, beside what all tell and the host's name. REPORT_DIR: the directory.
    told: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    #: Whether it collects facts, in a directory that is made for the run.
    collects: t.Callable[[Given], bool] = lambda _given: True
    #: Variables with names in Nova whose host in the inventory it needs: the first one that is there.
    host: t.Tuple[str, ...] = ()
    #: Inventory hosts that it collects facts from.
    peers: t.Callable[[Given], t.Sequence[str]] = lambda given: given.matching(given.values[COMPUTE_HOSTS])


#: In PlaybookInput.told: the directory of the reports.
REPORT_DIR = object()
_HERE = "The playbook {} runs on the Ansible controller only, so run it without --limit (in AWX, with an empty limit)."
_ALL = "The playbook {} collects facts from all compute hosts, so run it without --limit (in AWX, with an empty limit)."
_OWN = "The playbook {} selects its hosts itself, so run it without --limit (in AWX, with an empty limit)."


def as_list(value: t.Any) -> t.List[t.Any]:
    """Return a list of what was given, one value or many."""
    if value is None:
        return []
    if isinstance(value, str):
        # Spaces only: a name with a newline is no name, and is refused as such.
        return [part.strip(" ") for part in value.split(",")] if value.strip() else []
    if isinstance(value, t.Mapping) or not isinstance(value, t.Iterable):
        return [value]
    return list(value)


def _empty(value: t.Any) -> bool:
    """Return True for an empty list: another play's list may be empty by mistake. What is not set is no list."""
    return value is not None and not isinstance(value, str) and not value


def untemplated(spec: t.Mapping[str, t.Mapping[str, t.Any]], raw: Values) -> t.List[str]:
    """Return the options that Ansible has left with a Jinja expression as text: paths, and overrides as a whole.

    A directory would be made of that name, and no override would be one.
    """
    paths = {name for name, option in spec.items() if option.get("type") == "path" or _PATH.search(name)}
    found = []
    for name in sorted((paths | {_OVERRIDES}).intersection(spec, raw)):
        texts = [raw[name]] if name == _OVERRIDES else as_list(raw[name])
        if any(isinstance(text, str) and any(word in text for word in _JINJA) for text in texts):
            found.append(name)
    return found


def _lasting_state_host(given: Given) -> t.Iterator[str]:
    """A job of AWX that is killed could not be resumed: its journal would be gone with its container."""
    host = str(given.values[STATE_HOST])
    if given.job and (host in _CONTROLLER or given.connection(host).rpartition(".")[2] == "local"):
        yield (
            f"{STATE_HOST} is {host}, which is the container of this job. AWX deletes the container, and with it the "
            f"journal of the operation. Set {STATE_HOST} (nova_awx_state_host) to a permanent host in the inventory "
            "that Ansible reaches over SSH."
        )


def _some_host(given: Given) -> t.Iterator[str]:
    """The play that acts would have no host, and the run would end as a success."""
    pattern = given.values[COMPUTE_HOSTS]
    if not given.matching(pattern):
        yield (
            f"{COMPUTE_HOSTS} ({pattern}) matches no host of the inventory, so the run cannot collect facts from any "
            "compute host."
        )


def _one_host(given: Given, name: str) -> t.Iterator[str]:
    found = given.called(name)
    if len(found) != 1:
        yield (
            f"Exactly one inventory host must have the Nova name {name}; found: {', '.join(found) or 'no host'}. If "
            "the inventory name of the host differs from its Nova name, set the host variable "
            f"stackguard_nova_host={name} for this host."
        )


# --- audit and doctor


def _audit_sources(given: Given) -> t.Iterator[str]:
    values = given.values
    nobody = "hosts" in values["audit_sources"] and not _audited(given)
    pattern = values["audit_hosts"] or values[COMPUTE_HOSTS]
    if saved_evidence(given):
        if nobody and values["audit_all_hosts"]:
            yield (
                f"audit_hosts ({pattern}) matches no host of the inventory, so audit_all_hosts cannot report which "
                "hosts are missing from audit_evidence."
            )
        return
    if not values["audit_sources"]:
        yield "audit_sources is empty. Set audit_sources to one or more of: hosts, api, databases."
    if nobody and not (values["audit_accept_empty"] and set(values["audit_sources"]) == {"hosts"}):
        yield (
            f"audit_hosts ({pattern}) matches no host of the inventory. To audit the cloud without connecting to "
            "compute hosts, set audit_sources to [api, databases]."
        )


def _audited(given: Given) -> t.Sequence[str]:
    return given.matching(given.values["audit_hosts"] or given.values[COMPUTE_HOSTS])


def saved_evidence(given: Given) -> t.List[t.Any]:
    """Return the paths of evidence that an audit is to judge; empty: it reads the cloud."""
    saved = given.values.get("audit_evidence")
    return [path for path in ([saved] if isinstance(saved, str) else saved or []) if path]


def _doctor(given: Given) -> t.Iterator[str]:
    if not given.values["doctor_sources"]:
        yield "Set doctor_sources to at least one source."
    strange = [name for name in given.values["doctor_operations"] or [] if name not in given.operations]
    if strange:
        yield (
            f"doctor_operations: {', '.join(map(str, strange))}: the value of doctor_operations must be one or more "
            f"of: {', '.join(given.operations)}."
        )


# --- explain


def _one_question(given: Given) -> t.Iterator[str]:
    asked = {name: given.values[f"explain_{name}"] or name in given.extra for name in ("code", "text")}
    if all(asked.values()):
        yield "explain takes a finding code (code or explain_code) or a text (text or explain_text), and not both."


# --- moves


def _not_of_a_drain(given: Given) -> t.Iterator[str]:
    """What says which way to go is meant for this very run. A drain takes what begins with migrate_, too."""
    ours = {
        "drain_host": "migrate_servers",
        "drain_action": "migrate_action",
        "drain_expect_plan": "migrate_expect_plan",
    }
    wrong = [name for name in ours if name in given.raw]
    if wrong:
        meant = [ours[name] for name in wrong]
        yield f"{', '.join(wrong)}: only drain_host reads these variables. Did you mean {', '.join(meant)}?"


def _servers(given: Given) -> t.Iterator[str]:
    if not given.values["migrate_servers"] and given.values["migrate_action"] == "apply":
        yield "migrate_server needs -e migrate_servers=NAMES (a list of servers, or a JMESPath filter)."


def _no_servers(given: Given) -> t.Iterator[str]:
    if given.raw.get("migrate_servers"):
        yield "drain_host moves all servers of the host, and does not accept migrate_servers."


# --- maintenance


def _maintained(given: Given) -> t.Iterator[str]:
    """An empty list is another play's mistake, and two kinds of work are one too many."""
    values = given.values
    if as_list(given.raw.get("maintain_hosts")) in ([], ["all"]):
        yield "maintain_hosts must name hosts, or one inventory group of hosts, and neither be empty nor all."
    works = [name for name in ("maintain_tasks", "maintain_command", "maintain_reboot") if values.get(name)]
    if values["maintain_action"] == "apply" and len(works) != 1:
        yield (
            "maintain_hosts needs exactly one of these variables: -e maintain_tasks=FILE, -e maintain_command=COMMAND, "
            "or -e maintain_reboot=true."
        )
    for name, least in (("maintain_serial", 1), ("maintain_keep_free", 0), ("maintain_back_timeout", 1)):
        if values[name] < least:
            yield f"{name}: must be {least} or more."


# --- pins


def _selections(given: Given) -> t.List[str]:
    found = {
        "pin_servers": given.raw.get("pin_servers") not in (None, ""),
        "pin_hosts": given.raw.get("pin_hosts") is not None and given.raw.get("pin_hosts") != "",
        "pin_all": given.values["pin_all"],
    }
    return [name for name, chosen in found.items() if chosen]


def _pins(given: Given) -> t.Iterator[str]:
    if _empty(given.raw.get("pin_servers")) or _empty(given.raw.get("pin_hosts")):
        yield "pin_servers and pin_hosts must not be empty lists. To pin all servers of the cloud, set pin_all=true."
    chosen = _selections(given)
    if len(chosen) == 1 or (not chosen and given.values["pin_action"] == "status"):
        return
    why = f"Leave out all but one of {', '.join(chosen)}" if chosen else "None of these variables is set"
    yield (
        "pin_servers needs exactly one of these variables: -e pin_servers=NAMES (a list of servers, or a JMESPath "
        f"filter), -e pin_hosts=HOSTS, or -e pin_all=true. {why}."
    )


# --- links


def _links(given: Given) -> t.Iterator[str]:
    """Another play's list of hosts may be empty by mistake: the run would check and repair the whole cloud."""
    if _empty(given.raw.get("repair_hosts")) or not given.values["repair_codes"]:
        yield (
            "repair_hosts and repair_codes must not be empty lists. To check all compute hosts, do not set "
            "repair_hosts. To repair all codes, do not set repair_codes."
        )


def _arrived(given: Given) -> t.Iterator[str]:
    """One server, with all hosts read in this very run."""
    values = given.values
    action, server = values["repair_action"], values["repair_server"]
    if (action == "arrived") != bool(server) and action in ("arrived", "apply"):
        yield "repair_action=arrived needs repair_server, and repair_server needs repair_action=arrived."
    if server and (values["repair_evidence_dir"] or not values["repair_read_hosts"]):
        yield (
            "repair_server needs facts of all compute hosts that this run collects: do not set repair_evidence_dir or "
            "repair_read_hosts."
        )
    if server:
        yield from _some_host(given)


# --- rename, evacuation, return


def _adopt(given: Given) -> t.Iterator[str]:
    values = given.values
    if values["rename_action"] == "adopt" and (not values["rename_adopt"] or values["rename_strategy"] != "in_place"):
        yield "rename_action=adopt needs rename_adopt=forward or rename_adopt=back, and rename_strategy=in_place."


def _renamed_host(given: Given) -> t.Iterator[str]:
    """By its old name, or by its new one: a run that was broken off may have renamed it in the inventory."""
    names = [given.values["rename_from"], given.values["rename_to"]]
    found = host_of(given, ("rename_from", "rename_to"))
    if len(found) != 1:
        yield (
            f"{len(found)} inventory hosts have the Nova name {' or '.join(names)} ({', '.join(found) or 'none'}); "
            "expected exactly one. If the inventory name of the host differs from its Nova name, set the host variable "
            f"stackguard_nova_host={names[0]} for this host."
        )


def _others_than_renamed(given: Given) -> t.List[str]:
    renamed = host_of(given, ("rename_from", "rename_to"))
    return [name for name in given.matching(given.values[COMPUTE_HOSTS]) if name not in renamed]


def host_of(given: Given, variables: t.Sequence[str]) -> t.Sequence[str]:
    """Return the inventory hosts of the first of these variables that names any."""
    named = (given.called(given.values[name]) for name in variables if given.values.get(name))
    return next((found for found in named if found), ())


def _fence(given: Given) -> t.Iterator[str]:
    values = given.values
    if values["evacuate_action"] not in FORWARD:
        return
    fence = values["evacuate_fence"]
    if fence not in FENCES:
        yield f"evacuate_host needs -e evacuate_fence=KIND, one of {', '.join(FENCES)}."
        return
    lacking = [name for name in (f"evacuate_{part}" for part in FENCES[fence].requires) if not values.get(name)]
    if lacking:
        yield f"evacuate_fence={fence} also needs {' and '.join(lacking)}."


def _evacuated(given: Given) -> t.Iterator[str]:
    if _empty(given.raw.get("evacuate_servers")):
        yield (
            "evacuate_servers is an empty list, which selects no server. To evacuate all servers of the host, do not "
            "set evacuate_servers."
        )
    if given.values["evacuate_proof_max_age"] < 1:
        yield "evacuate_proof_max_age: must be 1 or more."


def _returned(given: Given) -> t.Iterator[str]:
    """An operation is asked about and aborted by its journal: its host may have left the inventory."""
    values = given.values
    if values["return_action"] not in FORWARD:
        return
    yield from _one_host(given, values["return_host"])
    others = other_hosts(given)
    strange = [name for name in others if name not in given.matching("all")]
    if not others or strange:
        yield (
            f"Another inventory host must read from Ceph, because Ceph may refuse connections from "
            f"{values['return_host']}; found: {', '.join(strange[:3]) or 'no host'}. Set stackguard_ceph_host to one "
            "or more inventory hosts that can reach the returning host's Ceph cluster."
        )


def _goes_forward(given: Given, prefix: str) -> bool:
    return given.values[f"{prefix}_action"] in FORWARD


def other_hosts(given: Given) -> t.List[str]:
    """Return the inventory hosts that may read Ceph while a host returns."""
    returning = given.called(given.values["return_host"])
    allowed = [name for name in as_list(given.values["stackguard_ceph_host"]) if name]
    return sorted(set(allowed or given.matching(given.values[COMPUTE_HOSTS])) - set(returning))


PLAYBOOKS: t.Dict[str, PlaybookInput] = {
    "audit": PlaybookInput(
        "The playbook 'audit' selects its hosts itself, so run it without --limit. To select compute hosts, set "
        "audit_hosts.",
        rules=(_audit_sources,),
        files=("report.html", "report.prom", "report.csv", "report.junit.xml", "forecast.json", "changes.json"),
        told={"codes": [], "report": [], "report_dir": REPORT_DIR},
        collects=lambda given: not saved_evidence(given),
        peers=_audited,
    ),
    "doctor": PlaybookInput(
        f"The playbook 'doctor' selects its hosts itself, so run it without --limit. To select compute hosts, set "
        f"{COMPUTE_HOSTS}.",
        rules=(_doctor,),
        files=("doctor.json",),
        reports=False,
        told={"report": [], "report_dir": REPORT_DIR},
    ),
    "drain_host": PlaybookInput(
        _ALL.format("drain_host"),
        names={"drain_host": "host"},
        rules=(_lasting_state_host, _no_servers, _some_host),
        files=("placements.json", "report.html"),
    ),
    "evacuate_host": PlaybookInput(
        _ALL.format("evacuate_host"),
        names={"evacuate_host": "host"},
        rules=(_lasting_state_host, _fence, _evacuated, _some_host),
        files=("placements.json", "report.html"),
        host=("evacuate_host",),
    ),
    "explain": PlaybookInput(
        "The playbook 'explain' runs on the Ansible controller only, so run it without --limit.",
        rules=(_one_question,),
        literal=("explain_text", "text"),
        reports=False,
        told={"code": None},
        collects=lambda _given: False,
        peers=lambda _given: (),
    ),
    "enable_host": PlaybookInput(
        _ALL.format("enable_host"),
        names={"enable_host": "host"},
        rules=(_lasting_state_host, _some_host),
        files=("report.html",),
        host=("enable_host",),
    ),
    "maintain_hosts": PlaybookInput(
        _ALL.format("maintain_hosts"),
        names={"maintain_hosts": "hosts"},
        rules=(_lasting_state_host, _maintained, _some_host),
        files=("report.html",),
        told={"hosts": {}},
    ),
    "migrate_server": PlaybookInput(
        _ALL.format("migrate_server"),
        rules=(_lasting_state_host, _not_of_a_drain, _servers, _some_host),
        files=("placements.json", "report.html"),
    ),
    "pin_servers": PlaybookInput(
        _HERE.format("pin_servers"),
        names={"pin_hosts": "hosts"},
        rules=(
            _lasting_state_host,
            _pins,
        ),
        files=("pins.json",),
        told={"pins": None, "old_pins": None},
        collects=lambda _given: False,
        peers=lambda _given: (),
    ),
    "remove_host": PlaybookInput(
        _HERE.format("remove_host"),
        names={"remove_host": "hosts"},
        rules=(_lasting_state_host,),
        files=("report.html",),
        collects=lambda _given: False,
        peers=lambda _given: (),
    ),
    "rename_host": PlaybookInput(
        _OWN.format("rename_host"),
        # What is wrong with the new name is a finding (SG118), told with all the others and in the report.
        names={"rename_from": "host", "rename_to": "text", "rename_hypervisor_hostname": "text"},
        rules=(_adopt, _renamed_host),
        files=("evidence.jsonl", "report.html"),
        host=("rename_from", "rename_to"),
        peers=_others_than_renamed,
    ),
    "repair_links": PlaybookInput(
        "The playbook repair_links checks every cell, so run it without --limit. To select compute hosts, set "
        "repair_hosts.",
        names={"repair_hosts": "hosts", "repair_server": "name"},
        rules=(_lasting_state_host, _links, _arrived),
        files=("repairs.json",),
        collects=lambda given: not given.values.get("repair_evidence_dir"),
    ),
    "resize_server": PlaybookInput(
        _ALL.format("resize_server"),
        names={"resize_server": "name", "resize_flavor": "name"},
        rules=(_lasting_state_host,),
        told={"server": None, "zone": None, "strategy": None, "why": None},
        peers=lambda given: given.matching(given.values[COMPUTE_HOSTS]) if _goes_forward(given, "resize") else (),
    ),
    "return_host": PlaybookInput(
        _OWN.format("return_host"),
        names={"return_host": "host"},
        rules=(
            _lasting_state_host,
            _returned,
        ),
        files=("report.html",),
        host=("return_host",),
        peers=other_hosts,
    ),
    "unshelve_server": PlaybookInput(
        _HERE.format("unshelve_server"),
        names={"unshelve_server": "name", "unshelve_zone": "name"},
        rules=(_lasting_state_host,),
        told={"server": None, "zone": None, "why": None},
        collects=lambda _given: False,
        peers=lambda _given: (),
    ),
}


def wrong_names(playbook: PlaybookInput, raw: Values, required: t.Collection[str]) -> t.Dict[str, t.List[str]]:
    """Return, by variable, what is wrong with the names that were typed. An empty one that may be left out is unset."""
    found = {}
    for name, kind in playbook.names.items():
        value = raw.get(name)
        if value is None or (value == "" and name not in required):
            continue
        found[name] = problems({name: as_list(value) if kind == "hosts" else value}, kind)
    return found


def published_names(playbook: PlaybookInput, raw: Values, wrong: t.Mapping[str, t.Sequence[str]]) -> t.Dict[str, t.Any]:
    """Return the names of hosts for a workflow. What was refused for its name is not passed on to another job."""
    return {name: None if wrong.get(name) else raw.get(name) for name in playbook.names if name in HOSTS}
