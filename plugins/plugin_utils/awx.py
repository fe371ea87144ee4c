# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The objects that AWX gets, made of :mod:`awx_table` and the roles' argument specifications.

Templates, workflows, schedules and roles have the shape of C(infra.aap_configuration), which is that of the modules of
C(awx.awx) and C(ansible.controller): the same lists are applied, compared, exported. Rules of AWX are those of 24.6.1.
"""

from __future__ import annotations

import dataclasses
import os
import re
import typing as t

import yaml

from ..module_utils.hazards.link_rules import REPAIRABLE
from . import awx_table as table
from .playbooks import PLAYBOOKS, operations

Json = t.Dict[str, t.Any]

ROLES = os.path.join(PLAYBOOKS, "..", "roles")
#: Roles that take the options of another one, too.
BUILT_ON = {"drain_host": "migrate_server"}
#: What nobody may give at launch: any variable may be a command that runs on all hosts. A prompt may have been set.
_CLOSED = dict.fromkeys(
    (
        "ask_variables_on_launch",
        "ask_inventory_on_launch",
        "ask_limit_on_launch",
        "ask_scm_branch_on_launch",
        "ask_skip_tags_on_launch",
        "ask_tags_on_launch",
    ),
    False,
)
_CLOSED_TEMPLATE = dict.fromkeys(
    (
        "ask_credential_on_launch",
        "ask_execution_environment_on_launch",
        "ask_job_slice_count_on_launch",
        "ask_job_type_on_launch",
    ),
    False,
)
_MARKUP = re.compile(r"\b[A-Z]\(([^()]*)\)")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What an operator has set: C(nova_awx_NAME) for each name."""

    organization: str
    inventory: str
    project: str
    state_host: str
    execution_environment: str
    playbooks: str = "playbooks"
    credentials: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    extra_vars: t.Mapping[str, Json] = dataclasses.field(default_factory=dict)
    report_dir: str = "/var/lib/stackguard/awx"
    state_dir: str = "/var/lib/stackguard"
    slices: int = 4
    schedules: t.Sequence[Json] = ()
    notifications: t.Mapping[str, t.Sequence[str]] = dataclasses.field(default_factory=dict)
    teams: t.Mapping[str, t.Sequence[str]] = dataclasses.field(default_factory=dict)
    keep_nodes: bool = False


class _Dumper(yaml.SafeDumper):
    """YAML in which what AWX fills in is marked: whoever reads it as Ansible's variables must not fill it in."""

    def ignore_aliases(self, data: t.Any) -> bool:
        return True

    def represent_str(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("!unsafe" if "{{" in data else "tag:yaml.org,2002:str", data)


_Dumper.add_representer(str, _Dumper.represent_str)


def export(objects: Json) -> str:
    """Return the lists as a file of variables for C(infra.aap_configuration)."""
    return yaml.dump(objects, Dumper=_Dumper, explicit_start=True, sort_keys=False, width=120, allow_unicode=True)


def options(playbook: str) -> Json:
    """Return the options of a playbook's role, and of the role that it is built on, by name."""
    found: Json = {}
    for role in (BUILT_ON.get(playbook), playbook):
        if role:
            with open(os.path.join(ROLES, role, "meta", "argument_specs.yml"), encoding="utf-8") as stream:
                found.update(yaml.safe_load(stream)["argument_specs"]["main"]["options"])
    return found


def question(variable: str, taken: Json) -> Json:
    """Return what a survey asks for a variable, of the options of a role."""
    name = table.ASKED_AS.get(variable, variable)
    made: Json = {"variable": variable, "question_name": table.LABELS[variable]}
    if name in table.OWN_DESCRIPTIONS:
        return {
            **made,
            "question_description": table.OWN_DESCRIPTIONS[name],
            "type": "textarea",
            "max": 8192,
            "required": False,
        }
    option = taken[name]
    made["question_description"] = _plain(option["description"])
    made.update(_answer(name, option))
    default = table.DEFAULTS.get(name, option.get("default"))
    if default not in (None, "", []) and name not in table.NO_DEFAULT:
        made["default"] = _text(default)
    # AWX counts a required answer only if the launch gives it: a default stands in the form, not in the API
    # (awx/main/models/mixins.py, _survey_element_validation).
    made["required"] = "default" not in made and (bool(option.get("required")) or name in table.REQUIRED)
    return made


def _answer(name: str, option: Json) -> Json:
    choices = _choices(name, option)
    if option["type"] == "bool":
        return {"type": "multiplechoice", "choices": ["false", "true"]}
    if choices:
        return {"type": "multiselect" if option["type"] == "list" else "multiplechoice", "choices": choices}
    if option["type"] == "int":
        least, most = table.BOUNDS[name]
        return {"type": "integer", "min": least, "max": most}
    # Lists are typed with commas between.
    return {"type": "text", "max": 4096 if option["type"] in ("list", "raw") else 1024}


def _choices(name: str, option: Json) -> t.List[str]:
    if name == "doctor_operations":
        return operations()
    if name == "repair_codes":
        return list(REPAIRABLE)
    return [str(choice) for choice in option.get("choices") or [] if choice != ""]


def _text(default: t.Any) -> t.Any:
    if isinstance(default, bool):
        return str(default).lower()
    return "\n".join(default) if isinstance(default, list) else default


def _plain(description: t.Union[str, t.List[str]]) -> str:
    words = " ".join([description] if isinstance(description, str) else description)
    return _MARKUP.sub(lambda found: found.group(1).rpartition(":")[2] if found[0][0] == "O" else found.group(1), words)


def templates() -> t.List[table.Template]:
    """Return all templates of the table: those of operations are their check, their run, and what else they have."""
    found = list(table.TEMPLATES)
    for operation in table.OPERATIONS:
        found += _of(operation)
    return found


def _of(operation: table.Operation) -> t.Iterator[table.Template]:
    def one(suffix: str, what: str, **more: t.Any) -> table.Template:
        name = f"{operation.name}, {suffix}" if suffix else operation.name
        return table.Template(name, operation.playbook, what, operation.credentials, **more)

    changes = f"{operation.what}: the plan, or every reason against it"
    yield one("check", changes, survey=operation.survey, reads=True, check=True)
    expected = {f"{operation.playbook.split('_')[0]}_expect_plan": _expected(operation.playbook)}
    run = f"{operation.what}. Launch it again to resume"
    yield one("", run, survey=operation.survey, extra_vars=expected)
    for suffix, (action, survey, what) in operation.others.items():
        yield one(suffix, what, survey=survey, extra_vars={operation.action: action}, reads=action == "status")


def _expected(playbook: str) -> str:
    """Return Jinja for the plan that a run expects: in a workflow that of the check before it, which was approved.

    Where that check published none, the run is refused. Launched alone, or after something else, it expects none.
    """
    return (
        "{{ (stackguard.plan_sha256 ~ '@' ~ stackguard.report_dir ~ '/plan.json'"
        " if stackguard.plan_sha256 | default('') else 'none')"
        f" if (stackguard | default({{}})).operation | default('') == '{playbook}' else '' }}}}"
    )


@dataclasses.dataclass(frozen=True)
class _Node:
    identifier: str
    template: str = ""
    approval: str = ""
    description: str = ""
    extra_data: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    success: t.Tuple[str, ...] = ()
    always: t.Tuple[str, ...] = ()


def _nodes(operation: table.Operation) -> t.List[_Node]:
    checks = f"{table.PREFIX}{operation.name}, check"
    before = "Read the audit's report and the whole plan" if operation.audited else "Read the whole plan"
    described = f"{before} in the output of the check before you approve. You need the role Read on '{checks}'"
    nodes = [
        _Node("check", checks, success=("approval",)),
        _Node("approval", approval=operation.question, description=described, success=(operation.node,)),
        _Node(operation.node, f"{table.PREFIX}{operation.name}"),
    ]
    if not operation.audited:
        return nodes
    audit = f"{table.PREFIX}audit"
    # What the first finds elsewhere does not keep this host from its name: what does, the check says.
    first = _Node("audit-before", audit, extra_data={"audit_fail_on": "never"}, success=("check",))
    last = _Node("audit-after", audit, extra_data={"audit_fail_on": "blocker"})
    run = dataclasses.replace(nodes[2], success=(last.identifier,))
    return [first, *nodes[:2], run, last]


def _sliced() -> t.List[_Node]:
    audit = f"{table.PREFIX}audit, "
    # On, whatever the one before came to: what nobody has read is a finding of the last.
    return [
        _Node("cloud", f"{audit}the cloud", always=("hosts",)),
        _Node("hosts", f"{audit}the hosts", always=("verdict",)),
        _Node("verdict", f"{audit}put together"),
    ]


class Objects:
    """All objects, in the shape of C(infra.aap_configuration)."""

    def __init__(self, settings: Settings, credential_types: t.Sequence[Json]) -> None:
        self.settings = settings
        self.credential_types = list(credential_types)
        self.by_name = {table.PREFIX + item.name: item for item in templates()}

    def all(self) -> Json:
        """Return every list, by the name that C(infra.aap_configuration) has for it."""
        return {
            "controller_credential_types": self.credential_types,
            "controller_templates": self.templates(),
            "controller_workflows": self.workflows(),
            "controller_schedules": self.schedules(),
            "controller_roles": self.roles(),
        }

    def templates(self) -> t.List[Json]:
        """Return the job templates."""
        return [self._template(name, item) for name, item in self.by_name.items()]

    def _template(self, name: str, item: table.Template) -> Json:
        settings, playbook = self.settings, f"{item.playbook}.yml"
        asked = [question(variable, options(item.playbook)) for variable in item.survey]
        # AWX drops a multiselect's default everywhere but in the form: there it is text, and an answer is a list.
        lists = {
            ask["variable"]: ask["default"].split("\n")
            for ask in asked
            if ask["type"] == "multiselect" and "default" in ask
        }
        own = {**self._common(), **lists, **item.extra_vars, **settings.extra_vars.get(playbook, {})}
        return {
            "name": name,
            "description": f"{item.what}. Changes nothing" if item.reads else item.what,
            "organization": settings.organization,
            "job_type": "check" if item.check else "run",
            "inventory": settings.inventory,
            "project": settings.project,
            "playbook": "/".join(filter(None, (settings.playbooks, playbook))),
            "execution_environment": settings.execution_environment,
            "credentials": [settings.credentials[kind] for kind in item.credentials if kind in settings.credentials],
            # The playbooks find their hosts themselves, and refuse a limit.
            "limit": "",
            # No time is too long: a killed job carries on when it is launched again, but it is not pleasant.
            "timeout": 0,
            "diff_mode": item.check,
            # Slices run side by side.
            "allow_simultaneous": item.sliced,
            "job_slice_count": settings.slices if item.sliced else 1,
            "extra_vars": own,
            **_CLOSED,
            **_CLOSED_TEMPLATE,
            **self._notifications("started", "success", "error"),
            **_survey(asked),
        }

    def _common(self) -> Json:
        return {
            "stackguard_awx_dir": self.settings.report_dir,
            "stackguard_report_dir": "{{ stackguard_awx_dir }}/jobs/{{ awx_job_id }}",
            "stackguard_state_host": self.settings.state_host,
            "stackguard_state_dir": self.settings.state_dir,
            # The text of the survey, checked: code, object and reason of each, and whether it can be overridden.
            "stackguard_overrides": "{{ " + table.OVERRIDES + " | default('') | stackguard.nova.overrides }}",
        }

    def _notifications(self, *kinds: str) -> Json:
        given = self.settings.notifications
        return {f"notification_templates_{kind}": list(given[kind]) for kind in kinds if kind in given}

    def workflows(self) -> t.List[Json]:
        """Return the workflows: that of each operation, and the sliced audit."""
        made = [
            self._workflow(
                item.workflow,
                f"{item.what}: check, wait for approval, run"
                + (", and audit before and after" if item.audited else ""),
                item.survey,
                item.playbook,
                _nodes(item),
            )
            for item in table.OPERATIONS
        ]
        sliced = self._workflow(table.SLICED, table.SLICED_WHAT, (table.FAIL_ON, table.OVERRIDES), "audit", _sliced())
        return [*made, sliced]

    def _workflow(self, name: str, what: str, survey: t.Sequence[str], playbook: str, nodes: t.Sequence[_Node]) -> Json:
        # AWX hands a workflow's variables to each node, past what its template asks: it takes its survey's only.
        return {
            "name": table.PREFIX + name,
            "description": what,
            "organization": self.settings.organization,
            "inventory": self.settings.inventory,
            "allow_simultaneous": False,
            **_CLOSED,
            **_survey([question(variable, options(playbook)) for variable in survey]),
            **self._notifications("started", "success", "error", "approvals"),
            "simplified_workflow_nodes": [self._node(node) for node in nodes],
        }

    def _node(self, node: _Node) -> Json:
        made: Json = {"identifier": node.identifier, "extra_data": dict(node.extra_data)}
        if node.approval:
            made["approval_node"] = {"name": node.approval, "description": node.description}
        else:
            made["unified_job_template"] = node.template
            made["lookup_organization"] = self.settings.organization
        return {**made, "success_nodes": list(node.success), "always_nodes": list(node.always), "failure_nodes": []}

    def schedules(self) -> t.List[Json]:
        """Return the schedules. What is wrong with them, :meth:`wrong_schedules` says."""
        return [
            {
                "name": item.get("name", ""),
                "description": item.get("description", ""),
                "unified_job_template": item.get("template", ""),
                "organization": self.settings.organization,
                "rrule": item.get("rrule", ""),
                "enabled": item.get("enabled", True),
                "extra_data": dict(item.get("extra_data") or {}),
            }
            for item in self.settings.schedules
        ]

    def wrong_schedules(self) -> t.List[str]:
        """Return what is wrong with schedules: they launch what changes nothing, with every answer that it needs."""
        found = []
        harmless = self._harmless()
        for item in self.settings.schedules:
            name = item.get("name") or "(no name)"
            if not (item.get("name") and item.get("rrule") and item.get("template") in harmless):
                names = ", ".join(harmless)
                found.append(
                    f"{name}: each schedule needs a name, an rrule and a template. The template must be one of {names}"
                )
                continue
            asked = harmless[item["template"]]
            given = item.get("extra_data") or {}
            missing = [ask["variable"] for ask in asked if ask["required"] and ask["variable"] not in given]
            if missing:
                found.append(f"{name}: set {', '.join(missing)} in its extra_data: {item['template']} asks for it")
            unknown = sorted(set(given) - {ask["variable"] for ask in asked})
            if unknown:
                found.append(f"{name}: {item['template']} does not ask for {', '.join(unknown)}")
        return found

    def harmless(self) -> t.List[str]:
        """Return the templates and workflows that change nothing."""
        return list(self._harmless())

    def _harmless(self) -> t.Dict[str, t.List[Json]]:
        """Return what changes nothing, with the questions of its survey."""
        reads = [made for made in self.templates() if self.by_name[made["name"]].reads]
        names = {made["name"] for made in reads}
        reads += [
            made
            for made in self.workflows()
            if all(node.get("unified_job_template") in names for node in made["simplified_workflow_nodes"])
        ]
        return {made["name"]: made.get("survey_spec", {}).get("spec", []) for made in reads}

    def roles(self) -> t.List[Json]:
        """Return who gets which role on what, by C(nova_awx_teams)."""
        where = self._groups()
        return [
            {
                "teams": list(self.settings.teams[team]),
                "role": role,
                "lookup_organization": self.settings.organization,
                ("workflows" if group in ("workflows", "approvals") else "job_templates"): where[group],
            }
            for team, given in table.TEAMS.items()
            if self.settings.teams.get(team)
            for role, group in given
        ]

    def _groups(self) -> t.Dict[str, t.List[str]]:
        workflows = self.workflows()
        approvals = [
            item["name"]
            for item in workflows
            if any("approval_node" in node for node in item["simplified_workflow_nodes"])
        ]
        return {
            "workflows": [item["name"] for item in workflows],
            "approvals": approvals,
            "harmless": [name for name, item in self.by_name.items() if item.reads],
            "acting": [name for name, item in self.by_name.items() if not item.reads],
        }


def _survey(asked: t.List[Json]) -> Json:
    if not asked:
        return {"survey_enabled": False}
    return {"survey_enabled": True, "survey_spec": {"name": "", "description": "", "spec": asked}}
