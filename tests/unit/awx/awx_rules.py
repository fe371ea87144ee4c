# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What AWX 24.6.1 decides about variables, surveys, schedules, slices and rights, as functions of plain dicts.

Written after AWX's source, whose file and function each docstring names, and not after what this collection needs. A
template is a dict as the API shows it, and ``questions`` is the ``spec`` of its survey where that is enabled.
"""

from __future__ import annotations

import json
import re
import zoneinfo

import yaml

#: What a default of a question may be (awx/main/constants.py, SURVEY_TYPE_MAPPING).
DEFAULTS = {
    "text": str,
    "textarea": str,
    "password": str,
    "multiplechoice": str,
    "multiselect": str,
    "integer": int,
    "float": (float, int),
}
#: What may be prompted for, by the field that allows it (get_ask_mapping of WorkflowJobTemplate, then of JobTemplate).
WORKFLOW_ASKS = {
    "inventory": "ask_inventory_on_launch",
    "limit": "ask_limit_on_launch",
    "scm_branch": "ask_scm_branch_on_launch",
    "labels": "ask_labels_on_launch",
    "job_tags": "ask_tags_on_launch",
    "skip_tags": "ask_skip_tags_on_launch",
}
JOB_ASKS = {
    **WORKFLOW_ASKS,
    "job_type": "ask_job_type_on_launch",
    "diff_mode": "ask_diff_mode_on_launch",
    "verbosity": "ask_verbosity_on_launch",
    "credentials": "ask_credential_on_launch",
    "execution_environment": "ask_execution_environment_on_launch",
    "forks": "ask_forks_on_launch",
    "job_slice_count": "ask_job_slice_count_on_launch",
    "timeout": "ask_timeout_on_launch",
    "instance_groups": "ask_instance_groups_on_launch",
}
#: awx/main/constants.py, JOB_VARIABLE_PREFIXES.
PREFIXES = ("awx", "tower")


def parsed(given):
    """Variables out of a dict, JSON or YAML; ValueError for anything else (awx/main/utils/common.py,
    parse_yaml_or_json)."""
    if isinstance(given, dict):
        return dict(given)
    if given in (None, "", '""'):
        return {}
    try:
        found = yaml.safe_load(given)
    except (yaml.YAMLError, AttributeError) as error:
        raise ValueError(f"Cannot parse as JSON or YAML: {error}") from error
    if not isinstance(found or {}, dict):
        raise ValueError(f"Input type `{type(found).__name__}` is not a dictionary")
    return found or {}


# Surveys


def lines(text):
    return [line for line in text.splitlines() if line.strip()]


def survey_error(spec):
    """What is wrong with a survey that is posted, or None (awx/api/views, JobTemplateSurveySpec._validate_spec_data).

    As in AWX, the last of the errors of its form counts, and only the first of its questions'. Text of choices and
    defaults loses its empty lines.
    """
    error = None
    for field, kind in (("name", str), ("description", str), ("spec", list)):
        if field not in spec:
            error = f"Field '{field}' is missing from survey spec."
        elif not isinstance(spec[field], kind):
            error = f"Expected {kind.__name__} for field '{field}'."
    if spec.get("spec") == []:
        error = "'spec' doesn't contain any items."
    seen = set()
    for number, question in enumerate(spec["spec"] if error is None else []):
        error = form_error(number, question, seen) or default_error(number, question) or choices_error(number, question)
        if error:
            return error
    return error


def form_error(number, question, seen):
    """A question is a dict with type, question_name, variable (text) and required (boolean); each variable is asked
    once (the same function)."""
    if not isinstance(question, dict):
        return f"Survey question {number} is not a json object."
    for field in ("type", "question_name", "variable", "required"):
        if field not in question:
            return f"'{field}' missing from survey question {number}"
        if not isinstance(question[field], bool if field == "required" else str):
            return f"'{field}' in survey question {number} has the wrong type."
    if question["variable"] in seen:
        return f"'variable' '{question['variable']}' duplicated in survey question {number}."
    seen.add(question["variable"])
    if question["type"] not in DEFAULTS:
        return f"'{question['type']}' in survey question {number} is not one of '{', '.join(DEFAULTS)}'."
    return None


def default_error(number, question):
    """A default has the type of the question, which for choices is text; limits are integers (the same function)."""
    default = question.get("default", "")
    if default != "" and not isinstance(default, DEFAULTS[question["type"]]):
        return f"Default value {default} in survey question {number} has the wrong type."
    limits = [question.get(key) for key in ("min", "max")]
    if any(limit is not None and not isinstance(limit, int) for limit in limits):
        return f"A limit in survey question {number} expected to be integer."
    if str(default).startswith("$encrypted$"):
        return f"$encrypted$ is a reserved keyword, survey question {number}."
    return None


def choices_error(number, question):
    """Choices are listed, or text with a line each; defaults are text with a line each, among the choices; one at most
    where one is chosen (the same function)."""
    if question["type"] not in ("multiselect", "multiplechoice"):
        return None
    if "choices" not in question:
        return f"Survey question {number} of type {question['type']} must specify choices."
    for key in ("choices", "default"):
        if isinstance(question.get(key), str):
            question[key] = "\n".join(lines(question[key]))
    defaults = question.get("default", "").splitlines()
    if question["type"] == "multiplechoice" and len(defaults) > 1:
        return "Multiple Choice (Single Select) can only have one default value."
    if any(default not in question["choices"] for default in defaults):
        return "Default choice must be answered from the choices listed."
    return None


def answer_errors(question, data, required=True):
    """What is wrong with the answer to a question (awx/main/models/mixins.py, _survey_element_validation).

    A required answer has to be in the data: a default is none. Empty lists and empty text are answers.
    """
    variable = question["variable"]
    if variable not in data:
        return [f"'{variable}' value missing"] if required and question["required"] else []
    value, kind = data[variable], question["type"]
    if kind in ("text", "textarea", "password"):
        if not isinstance(value, str):
            return [f"Value {value} for '{variable}' expected to be a string."]
        return limit_errors(question, len(value), int)
    if kind == "integer":
        if type(value) is not int:
            return [f"Value {value} for '{variable}' expected to be an integer."]
        return limit_errors(question, value, int)
    if kind == "float":
        if type(value) not in (float, int):
            return [f"Value {value} for '{variable}' expected to be a numeric type."]
        return limit_errors(question, value, float)
    return choice_errors(question, value)


def limit_errors(question, size, number):
    """A limit that is empty or null is none (the same function)."""
    least, most = (question.get(key) for key in ("min", "max"))
    found = []
    if least not in ("", None) and size < number(least):
        found.append(f"'{question['variable']}' value is too small (must be at least {least}).")
    if most not in ("", None) and size > number(most):
        found.append(f"'{question['variable']}' value is too large (must be no more than {most}).")
    return found


def choice_errors(question, value):
    """Chosen are choices; of a multiselect as a list, never as text (the same function)."""
    variable, choices = question["variable"], question["choices"]
    choices = lines(choices) if isinstance(choices, str) else choices
    if question["type"] == "multiselect" and type(value) is not list:
        return [f"'{variable}' value is expected to be a list."]
    chosen = value if question["type"] == "multiselect" else [value]
    return [f"Value {one} for '{variable}' expected to be one of {choices}." for one in chosen if one not in choices]


# Variables and prompts


def accept_variables(template, questions, data, exclude=()):
    """Which variables of a launch a template takes, which not, and the errors (awx/main/models/mixins.py,
    _accept_or_ignore_variables).

    Valid answers to its survey are taken, any other only where the template prompts for variables. What is the same in
    the template itself is neither taken nor refused. ``exclude``: "required" asks for no answer that is missing,
    "prompts" makes no error of what is ignored.
    """
    try:
        others = parsed(data)
    except ValueError as error:
        return {}, data, {"extra_vars": [str(error)]}
    given, accepted, rejected, errors, wrong = dict(others), {}, {}, {}, []
    for question in questions:
        found = answer_errors(question, given, "required" not in exclude)
        wrong += found
        if question["variable"] in others:
            (rejected if found else accepted)[question["variable"]] = others.pop(question["variable"])
    if wrong:
        errors["variables_needed_to_start"] = wrong
    if template.get("ask_variables_on_launch"):
        return {**accepted, **others}, rejected, errors
    own = parsed(template.get("extra_vars"))
    others = {key: value for key, value in others.items() if key not in own or own[key] != value}
    if others and "prompts" not in exclude:
        errors["extra_vars"] = [f"Variables {', '.join(others)} are not allowed on launch."]
    return accepted, {**rejected, **others}, errors


def accept_prompts(template, prompts, exclude=()):
    """The same for what is no variable (_accept_or_ignore_job_kwargs of awx/main/models/jobs.py and workflow.py).

    What is not given, and what is as in the template, is neither taken nor refused.
    """
    accepted, rejected, errors = {}, {}, {}
    asks = JOB_ASKS if template["type"] == "job_template" else WORKFLOW_ASKS
    for field, ask in asks.items():
        value = prompts.get(field)
        if value is None or value == template.get(field):
            continue
        if template.get(ask):
            accepted[field] = value
            continue
        rejected[field] = value
        if "prompts" not in exclude:
            errors[field] = ["Field is not configured to prompt on launch."]
    return accepted, rejected, errors


def needed_errors(template, prompted):
    """A job template needs a project and an inventory (awx/main/models/jobs.py, resources_needed_to_start)."""
    if template["type"] != "job_template":
        return {}
    needed = [name for name in ("project", "inventory") if not template.get(name) and name not in prompted]
    if needed:
        return {"resources_needed_to_start": [f"Job Template {name} is missing or undefined." for name in needed]}
    return {}


def accept(template, questions, variables, prompts, exclude=()):
    """Variables, prompts and what the template lacks together (_accept_or_ignore_job_kwargs)."""
    taken, ignored, errors = accept_variables(template, questions, variables, exclude)
    accepted, rejected, more = accept_prompts(template, prompts, exclude)
    accepted.update({"extra_vars": taken} if taken else {})
    rejected.update({"extra_vars": ignored} if ignored else {})
    return accepted, rejected, {**errors, **more, **needed_errors(template, accepted)}


def accept_launch(template, questions, variables, prompts):
    """What a launch by hand takes: a job template ignores what it does not ask for, a workflow refuses it
    (awx/api/serializers.py, validate of JobLaunchSerializer and of WorkflowJobLaunchSerializer)."""
    is_job = template["type"] == "job_template"
    accepted, rejected, errors = accept(template, questions, variables, prompts, ("prompts",) if is_job else ())
    if is_job and not template.get("project"):
        errors["project"] = ["A project is required to run a job."]
    return accepted, rejected, errors


def saved_errors(template, questions, config, exclude=()):
    """What is wrong with a launch that is kept for later: ``exclude`` is empty for a schedule, and ("required",) for a
    node, whose answers may come from the workflow (awx/api/serializers.py, LaunchConfigurationBaseSerializer.validate,
    exclude_errors of WorkflowJobTemplateNodeSerializer). A project or an approval takes nothing
    (awx/main/models/unified_jobs.py, _accept_or_ignore_job_kwargs)."""
    if template["type"] not in ("job_template", "workflow_job_template"):
        given = [field for field in ("extra_data", *JOB_ASKS) if config.get(field) not in (None, {}, [])]
        return {field: ["Field is not allowed on launch."] for field in given}
    _accepted, _rejected, errors = accept(template, questions, config.get("extra_data") or {}, config, exclude)
    if "extra_vars" in errors:
        errors["extra_data"] = errors.pop("extra_vars")
    return errors


def job_variables(template, questions, given):
    """The variables of a job: the template's, above them the survey's defaults that are valid answers, above all what
    is given (awx/main/models/mixins.py, _update_unified_job_kwargs).

    The default of a multiselect is text, and so no valid answer. An empty default is an answer where text is asked.
    """
    found = parsed(template.get("extra_vars"))
    for question in questions:
        default, variable = question.get("default"), question["variable"]
        if default is not None and not answer_errors(question, {variable: default}):
            found[variable] = default
    return {**found, **given}


def node_variables(template, questions, extra_data, artifacts, workflow):
    """What the node of a workflow launches its template with, above the template's own variables
    (awx/main/models/workflow.py, WorkflowJobNode.get_job_kwargs).

    For a job template: what its survey takes of the node's data, above that artifacts of ancestors, and above all the
    workflow's variables, which no survey filters. For a workflow in a workflow: data and variables, filtered; artifacts
    above them. Errors are logged only, and the job starts.
    """
    artifacts = {key: value for key, value in artifacts.items() if key != "_ansible_no_log"}
    if template["type"] == "job_template":
        taken, _rejected, _errors = accept_variables(template, questions, extra_data)
        return {**taken, **artifacts, **workflow}
    taken, _rejected, _errors = accept_variables(template, questions, {**extra_data, **workflow})
    return {**taken, **artifacts}


def ancestor_artifacts(parents):
    """What a node knows of its ancestors: by the order of the parents' numbers, what each knew, and what its job
    published (the same function). A job that failed has published too; an approval publishes nothing."""
    found = {}
    for parent in sorted(parents, key=lambda parent: parent["id"]):
        found.update(parent.get("ancestor_artifacts") or {})
        found.update(parent.get("artifacts") or {})
    return found


def nested_artifacts(jobs):
    """What a workflow in a workflow publishes, a sliced job too: all that its jobs did that succeeded or failed, in the
    order of their ends (awx/main/models/workflow.py, WorkflowJob.get_effective_artifacts)."""
    ended = [job for job in jobs if job["status"] in ("successful", "failed")]
    found = {}
    for job in sorted(ended, key=lambda job: (job["finished"], job["id"])):
        found.update(job.get("artifacts") or {})
    return found


def meta_variables(job, *, workflow=None, template=None, user=None, inventory=None, project=None):
    """The variables that AWX adds to every job, above all others, each by two names (awx_meta_vars of
    awx/main/models/unified_jobs.py and jobs.py; tasks/jobs.py, build_extra_vars_file). ``workflow`` is that of the
    job's node: for a slice the one that AWX has made around the slices."""
    found = {"job_id": job["id"], "job_launch_type": job.get("launch_type", "manual")}
    schedule = job.get("schedule")
    if workflow:
        found.update({f"workflow_job_{key}": workflow.get(key) for key in ("id", "name", "launch_type")})
        found.update(named("parent_job_schedule", workflow.get("schedule")))
    if user:
        name = user.get("username")
        found.update(user_id=user["id"], user_name=name, user_email="", user_first_name="", user_last_name="")
    else:
        found.update(named("schedule", schedule))
    found.update(named("inventory", inventory))
    if project:
        found.update(project_revision=project.get("scm_revision", ""), project_scm_branch=project.get("scm_branch", ""))
    found.update(named("job_template", template))
    if job.get("execution_node"):
        found["execution_node"] = job["execution_node"]
    return {f"{prefix}_{key}": value for prefix in PREFIXES for key, value in found.items()}


def named(prefix, item):
    return {f"{prefix}_{key}": item[key] for key in ("id", "name")} if item else {}


# Jinja


class UnsafeDumper(yaml.SafeDumper):
    """Every string, also a key, marked as one that Ansible must not template (awx/main/utils/safe_yaml.py,
    SafeStringDumper)."""

    def represent_data(self, value):
        if isinstance(value, str):
            return self.represent_scalar("!unsafe", value)
        return super().represent_data(value)


def may_template(variables, own, setting="template"):
    """Names of the variables in which Ansible may find Jinja, by ALLOW_JINJA_IN_EXTRA_VARS (awx/main/tasks/jobs.py,
    build_extra_vars_file and _write_extra_vars_file; utils/safe_yaml.py, safe_dump).

    ``template``: those whose value is exactly the one of the template's own extra variables. ``always``: all, answers
    to a survey among them. ``never``: none.
    """
    if setting == "always":
        return set(variables)
    if setting == "never":
        return set()
    return {key for key, value in variables.items() if key in own and own[key] == value}


def dump(variables, own=None, setting="template"):
    """The extra variables as AWX writes them for Ansible; ``own`` are the template's (the same functions)."""
    safe = may_template(variables, own or {}, setting)
    return "".join(
        yaml.dump_all(
            [{key: value}], None, Dumper=yaml.SafeDumper if key in safe else UnsafeDumper, default_flow_style=False
        )
        for key, value in variables.items()
    )


# Slices


def slice_count(template, hosts):
    """In how many jobs a template is run: never more than its inventory has hosts, those that are disabled among them
    (awx/main/models/jobs.py, get_effective_slice_ct)."""
    return min(template.get("job_slice_count") or 1, len(hosts))


def sliced(names, number, count):
    """The hosts of a slice: by name, every count-th, and no regard to groups (awx/main/models/inventory.py,
    get_sliced_hosts and get_script_data)."""
    names = sorted(names)
    return names[number - 1 :: count] if count > 1 and number > 0 else names


# Schedules

FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY")
START = re.compile(r"DTSTART(?:;TZID=(?P<zone>[^:]+))?:(?P<time>[0-9]+T[0-9]+Z?)")


def rrule_errors(text):
    """What is wrong with the times of a schedule (awx/api/serializers.py, SchedulePreviewSerializer.validate_rrule).

    One start, in UTC or with its zone; a rule or more, each with FREQ and INTERVAL and no SECONDLY; no exceptions.
    """
    for word in ("EXDATE", "RDATE"):
        if f"{word}:" in text.upper():
            return [f"{word} not allowed in rrule."]
    starts = list(START.finditer(text))
    found = []
    if not starts:
        found.append("Valid DTSTART required in rrule. Value should start with: DTSTART:YYYYMMDDTHHMMSSZ")
    if re.search(r"DTSTART:[0-9]+T[0-9]+ ", text):
        found.append("DTSTART cannot be a naive datetime.")
    if len(starts) > 1:
        found.append("Multiple DTSTART is not supported.")
    if "rrule:" not in text.lower():
        found.append("One or more rule required in rrule.")
    for rule in re.findall(r"RULE:(\S*)", text):
        found += rule_errors(rule)
    return found + parse_errors(text, starts)


def rule_errors(rule):
    """(The same function.)"""
    found = []
    if "interval" not in rule.lower():
        found.append(f"INTERVAL required in rrule: {rule}")
    elif "secondly" in rule.lower():
        found.append(f"SECONDLY is not supported: {rule}")
    if re.search(r"BYDAY[:=][0-9]+[a-zA-Z]{2}", rule):
        found.append(f"BYDAY with numeric prefix not supported: {rule}")
    if "COUNT" in rule and "UNTIL" in rule:
        found.append(f"RRULE may not contain both COUNT and UNTIL: {rule}")
    if any(int(count) > 999 for count in re.findall(r"COUNT=([0-9]+)", rule)):
        found.append(f"COUNT > 999 is unsupported: {rule}")
    return found


def parse_errors(text, starts):
    """What dateutil would not take, as far as a zone and a frequency go (awx/main/models/schedules.py, rrulestr)."""
    found = [
        "rrule parsing failed validation: a valid TZID must be provided"
        for start in starts
        if not start["zone"] and not start["time"].endswith("Z")
    ]
    zones = [start["zone"] for start in starts if start["zone"]]
    found += [
        f"rrule parsing failed validation: {zone}" for zone in zones if zone not in zoneinfo.available_timezones()
    ]
    for rule in re.findall(r"RULE:(\S*)", text):
        parts = dict(part.partition("=")[::2] for part in rule.split(";"))
        if parts.get("FREQ") not in (*FREQUENCIES, "SECONDLY") or not all(parts.values()):
            found.append(f"rrule parsing failed validation: {rule}")
    return found


# Rights

#: Who holds a role holds those below it too: role to the roles that bring it. With a point: of what the field names
#: (ImplicitRoleField in awx/main/models: organization.py, jobs.py, workflow.py, projects.py, inventory.py,
#: credential/__init__.py). With AWX 24's role definitions the same rights come by another way.
ROLES = {
    "organizations": {
        "admin_role": [],
        "execute_role": ["admin_role"],
        "project_admin_role": ["admin_role"],
        "inventory_admin_role": ["admin_role"],
        "credential_admin_role": ["admin_role"],
        "workflow_admin_role": ["admin_role"],
        "notification_admin_role": ["admin_role"],
        "job_template_admin_role": ["admin_role"],
        "execution_environment_admin_role": ["admin_role"],
        "auditor_role": [],
        "approval_role": ["admin_role"],
        "member_role": ["admin_role"],
        "read_role": [
            "member_role",
            "auditor_role",
            "execute_role",
            "project_admin_role",
            "inventory_admin_role",
            "workflow_admin_role",
            "notification_admin_role",
            "credential_admin_role",
            "job_template_admin_role",
            "approval_role",
            "execution_environment_admin_role",
        ],
    },
    "teams": {
        "admin_role": ["organization.admin_role"],
        "member_role": ["admin_role"],
        "read_role": ["organization.auditor_role", "member_role"],
    },
    "job_templates": {
        "admin_role": ["organization.job_template_admin_role"],
        "execute_role": ["admin_role", "organization.execute_role"],
        "read_role": [
            "organization.auditor_role",
            "inventory.organization.auditor_role",
            "execute_role",
            "admin_role",
        ],
    },
    "workflow_job_templates": {
        "admin_role": ["organization.workflow_admin_role"],
        "execute_role": ["admin_role", "organization.execute_role"],
        "approval_role": ["organization.approval_role", "admin_role"],
        "read_role": ["organization.auditor_role", "execute_role", "admin_role", "approval_role"],
    },
    "projects": {
        "admin_role": ["organization.project_admin_role"],
        "use_role": ["admin_role"],
        "update_role": ["admin_role"],
        "read_role": ["organization.auditor_role", "use_role", "update_role"],
    },
    "inventories": {
        "admin_role": ["organization.inventory_admin_role"],
        "update_role": ["admin_role"],
        "adhoc_role": ["admin_role"],
        "use_role": ["adhoc_role"],
        "read_role": ["organization.auditor_role", "update_role", "use_role", "admin_role"],
    },
    "credentials": {
        "admin_role": ["organization.credential_admin_role"],
        "use_role": ["admin_role"],
        "read_role": ["organization.auditor_role", "use_role", "admin_role"],
    },
}


def as_text(variables):
    """How the API shows variables of jobs: JSON in a string."""
    return json.dumps(variables)
