# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small AWX: what it keeps it keeps as plain dicts, and what it takes or refuses follows AWX 24.6.1.

The rules are in awx_rules.py and awx_graph.py; here are the objects, their API over HTTP (``serving``), and launches.
A test may also call it: ``launch``, ``run_workflow``, ``fire``. What is refused is raised as ``Refused``, with the
status and the answer of the API. No job runs here: a test gives a function that says how each ends.
"""

from __future__ import annotations

import contextlib
import http.server
import itertools
import json
import threading
import urllib.parse

from ansible_collections.stackguard.nova.tests.unit.awx import awx_graph, awx_rules

PREFIX = "/api/v2/"
#: Of each collection, what an object of it is called.
KINDS = {
    "organizations": "organization",
    "teams": "team",
    "users": "user",
    "inventories": "inventory",
    "hosts": "host",
    "groups": "group",
    "projects": "project",
    "credentials": "credential",
    "credential_types": "credential_type",
    "execution_environments": "execution_environment",
    "notification_templates": "notification_template",
    "job_templates": "job_template",
    "workflow_job_templates": "workflow_job_template",
    "workflow_job_template_nodes": "workflow_job_template_node",
    "workflow_approval_templates": "workflow_approval_template",
    "schedules": "schedule",
    "jobs": "job",
    "workflow_jobs": "workflow_job",
    "workflow_job_nodes": "workflow_job_node",
    "workflow_approvals": "workflow_approval",
}
TEMPLATES = ("job_templates", "workflow_job_templates")
#: What can be given a schedule, or be in a node by its name. Approvals are not listed (access.py,
#: UnifiedJobTemplateAccess.get_queryset).
UNIFIED = (*TEMPLATES, "projects")
CONFIG = {
    "extra_data": {},
    **dict.fromkeys(["inventory", "scm_branch", "job_type", "job_tags", "skip_tags", "limit", "diff_mode"]),
    **dict.fromkeys(["verbosity", "execution_environment", "forks", "job_slice_count", "timeout"]),
}
#: What an object has where nothing is given, and so all that can be written; the API drops any other field (serializers
#: of awx/api/serializers.py). Other collections take what they get.
FIELDS = {
    "job_templates": {
        "name": None,
        "description": "",
        "job_type": "run",
        "inventory": None,
        "project": None,
        "playbook": "",
        "scm_branch": "",
        "forks": 0,
        "limit": "",
        "verbosity": 0,
        "extra_vars": "",
        "job_tags": "",
        "force_handlers": False,
        "skip_tags": "",
        "start_at_task": "",
        "timeout": 0,
        "use_fact_cache": False,
        "execution_environment": None,
        "host_config_key": "",
        "survey_enabled": False,
        "become_enabled": False,
        "diff_mode": False,
        "allow_simultaneous": False,
        "job_slice_count": 1,
        "webhook_service": "",
        "webhook_credential": None,
        "prevent_instance_group_fallback": False,
        **dict.fromkeys([*awx_rules.JOB_ASKS.values(), "ask_variables_on_launch"], False),
    },
    "workflow_job_templates": {
        "name": None,
        "description": "",
        "extra_vars": "",
        "organization": None,
        "survey_enabled": False,
        "allow_simultaneous": False,
        **dict.fromkeys(["inventory", "limit", "scm_branch", "job_tags", "skip_tags"]),
        "webhook_service": "",
        "webhook_credential": None,
        **dict.fromkeys([*awx_rules.WORKFLOW_ASKS.values(), "ask_variables_on_launch"], False),
    },
    "workflow_job_template_nodes": {
        **CONFIG,
        "workflow_job_template": None,
        "unified_job_template": None,
        "all_parents_must_converge": False,
        "identifier": "",
    },
    "schedules": {
        **CONFIG,
        "name": None,
        "description": "",
        "unified_job_template": None,
        "enabled": True,
        "rrule": None,
    },
    "credential_types": {"name": None, "description": "", "kind": None, "inputs": {}, "injectors": {}},
    "workflow_approval_templates": {"name": None, "description": "", "timeout": 0},
}
#: Fields that have to be given, and those that name an object of another collection.
REQUIRED = {
    "job_templates": ("name",),
    "workflow_job_templates": ("name",),
    "workflow_job_template_nodes": ("workflow_job_template",),
    "schedules": ("name", "unified_job_template", "rrule"),
    "credential_types": ("name", "kind"),
}
REFERENCES = {
    "organization": ("organizations",),
    "inventory": ("inventories",),
    "project": ("projects",),
    "execution_environment": ("execution_environments",),
    "credential_type": ("credential_types",),
    "workflow_job_template": ("workflow_job_templates",),
    "unified_job_template": (*UNIFIED, "workflow_approval_templates"),
    "job_template": ("job_templates",),
}
#: What is the same in no two objects of a collection (unique_together, SOFT_UNIQUE_TOGETHER and validate_unique of the
#: models). That of a job template counts in its project's organization.
UNIQUE = {
    "job_templates": ("name", "organization"),
    "workflow_job_templates": ("name", "organization"),
    "workflow_job_template_nodes": ("identifier", "workflow_job_template"),
    "schedules": ("unified_job_template", "name"),
    "credential_types": ("name", "kind"),
}
NOTIFIED = ("notification_templates_started", "notification_templates_success", "notification_templates_error")
APPROVED = "notification_templates_approvals"
#: What is associated with an object, below its address, and the collection that it is of.
RELATED = {
    "job_templates": {
        "credentials": "credentials",
        "labels": "labels",
        "instance_groups": "instance_groups",
        **dict.fromkeys(NOTIFIED, "notification_templates"),
    },
    "workflow_job_templates": {"labels": "labels", **dict.fromkeys((*NOTIFIED, APPROVED), "notification_templates")},
    "workflow_job_template_nodes": {
        **dict.fromkeys(awx_graph.KINDS, "workflow_job_template_nodes"),
        "credentials": "credentials",
        "labels": "labels",
        "instance_groups": "instance_groups",
    },
    "schedules": {"credentials": "credentials", "labels": "labels", "instance_groups": "instance_groups"},
    "organizations": {
        "galaxy_credentials": "credentials",
        "instance_groups": "instance_groups",
        **dict.fromkeys((*NOTIFIED, APPROVED), "notification_templates"),
    },
    "hosts": {"groups": "groups", "all_groups": "groups"},
    "groups": {"hosts": "hosts"},
    "roles": {"users": "users", "teams": "teams"},
}
#: What is listed below an object, and the field by which it belongs there.
BELOW = {
    ("inventories", "hosts"): ("hosts", "inventory"),
    ("inventories", "groups"): ("groups", "inventory"),
    ("workflow_job_templates", "workflow_nodes"): ("workflow_job_template_nodes", "workflow_job_template"),
    ("workflow_jobs", "workflow_nodes"): ("workflow_job_nodes", "workflow_job"),
    **{(name, "schedules"): ("schedules", "unified_job_template") for name in UNIFIED},
    ("job_templates", "jobs"): ("jobs", "job_template"),
    ("workflow_job_templates", "workflow_jobs"): ("workflow_jobs", "workflow_job_template"),
}
PAGE, MOST = 25, 200
EXECUTE = "execute_role"
LOOKUPS = ("exact", "iexact", "in", "contains", "icontains", "startswith", "istartswith", "endswith", "isnull")


class Refused(Exception):
    """What the API answers: ``code`` and ``answer``."""

    def __init__(self, code, answer):
        super().__init__(f"HTTP {code}: {answer}")
        self.code, self.answer = code, answer


def forbidden(words="You do not have permission to perform this action."):
    return Refused(403, {"detail": words})


class Ran(list):
    """The jobs of a workflow in the order in which they ran, approvals among them; ``status`` is the workflow's, and
    ``not_run`` names the nodes that were passed over."""

    def __init__(self, workflow, jobs, not_run):
        super().__init__(jobs)
        self.workflow, self.status, self.not_run = workflow, workflow["status"], not_run


class Awx:
    """Collections of objects by number, surveys, and which object is associated with which.

    ``named``: names of objects that are there, by collection. They belong to the first organization, where there is
    one, but for execution environments, which are everybody's. ``writes`` is what was asked for and done, ``refused``
    what was asked for in vain.
    """

    def __init__(self, **named):
        self.items = {}
        self.surveys = {}
        self.associated = {}
        self.writes = []
        self.refused = []
        self.roles = {}
        self.numbers = itertools.count(1)
        self.ends = itertools.count(1)
        self.lock = threading.RLock()
        self.settings = {
            "ALLOW_JINJA_IN_EXTRA_VARS": "template",
            "AWX_ISOLATION_SHOW_PATHS": [],
            "AWX_MOUNT_ISOLATED_PATHS_ON_K8S": False,
            "DEFAULT_JOB_TIMEOUT": 0,
        }
        self.admin = self.create("users", {"username": "admin", "is_superuser": True})
        #: Whom a token stands for.
        self.tokens = {"t0ken": self.admin}
        for collection in sorted(named, key=lambda name: name != "organizations"):
            for name in named[collection]:
                self.create(collection, {"name": name})

    # Objects

    def create(self, collection, fields):
        """Make an object, and ask nothing: POST does."""
        number = next(self.numbers)
        url = f"{PREFIX}{collection}/{number}/"
        made = {"id": number, "type": KINDS.get(collection, collection), "url": url, "related": {}}
        if collection in ("projects", "inventories", "credentials", "teams", "notification_templates"):
            made["organization"] = next(iter(self.items.get("organizations", {})), None)
        if collection == "execution_environments":
            made["organization"] = None
        if collection == "users":
            made.update(is_superuser=False, is_system_auditor=False)
        if collection == "credential_types":
            made.update(managed=False, namespace=None)
        made.update(json.loads(json.dumps(FIELDS.get(collection, {}))), **fields)
        self.items.setdefault(collection, {})[number] = made
        if collection == "job_templates":
            self.take_organization(made)
        self.relate(collection, made)
        return made

    def relate(self, collection, made):
        """The addresses that belong to an object, and its roles."""
        below = [*RELATED.get(collection, {}), *(name for parent, name in BELOW if parent == collection)]
        below += ["survey_spec", "launch", "object_roles"] if collection in TEMPLATES else []
        below += ["create_approval_template"] if collection == "workflow_job_template_nodes" else []
        made["related"].update({name: f"{made['url']}{name}/" for name in below})
        roles = {}
        for role in awx_rules.ROLES.get(collection, ()):
            number = next(self.numbers)
            self.roles[number] = (collection, made["id"], role)
            roles[role] = {"id": number, "name": role.removesuffix("_role").title()}
        made["summary_fields"] = {"object_roles": roles} if roles else {}

    def take_organization(self, template):
        """A job template is of its project's organization (awx/main/models/jobs.py, JobTemplate.save)."""
        project = self.items.get("projects", {}).get(template["project"], {})
        template["organization"] = project.get("organization")

    def user(self, name, *teams, **fields):
        """Make a user, and its token, which is its name; a member of these teams."""
        made = self.create("users", {"username": name, **fields})
        self.tokens[name] = made
        for team in teams:
            self.grant(self.named("teams")[team], "member_role", user=made)
        return made

    def hosts(self, inventory, hosts):
        """Put hosts into an inventory, with their variables."""
        number = self.named("inventories")[inventory]["id"]
        for name, variables in hosts.items():
            fields = {"name": name, "inventory": number, "enabled": True, "variables": json.dumps(variables)}
            self.create("hosts", fields)

    def named(self, collection):
        return {item.get("name"): item for item in self.items.get(collection, {}).values()}

    def get_item(self, collection, number):
        with contextlib.suppress(KeyError, ValueError):
            return self.items[collection][int(number)]
        raise Refused(404, {"detail": "Not found."})

    def referred(self, field, number):
        """The object that a field names, of whatever collection, or None."""
        found = (self.items.get(collection, {}).get(number) for collection in REFERENCES[field])
        return next(filter(None, found), None)

    def template(self, name):
        """A template, by its name or as it is."""
        if isinstance(name, dict):
            return name
        found = [self.named(collection)[name] for collection in TEMPLATES if name in self.named(collection)]
        if not found:
            raise Refused(404, {"detail": "Not found."})
        return found[0]

    def questions(self, template):
        """What a template asks, if it does."""
        survey = self.surveys.get(template["id"]) if template.get("survey_enabled") else None
        return (survey or {}).get("spec", [])

    def nodes(self, workflow):
        """Nodes of a workflow by identifier, each with the identifiers that follow it."""
        number = self.named("workflow_job_templates")[workflow]["id"]
        nodes = {node["id"]: node for node in self.template_nodes(number)}
        found = {}
        for node in nodes.values():
            follow = {
                kind.removesuffix("_nodes"): [nodes[n]["identifier"] for n in node[kind]] for kind in awx_graph.KINDS
            }
            item = self.items["workflow_job_template_nodes"][node["id"]]
            found[node["identifier"]] = (item, {kind: names for kind, names in follow.items() if names})
        return found

    def template_nodes(self, workflow):
        """The nodes of a workflow, each with its edges."""
        nodes = self.items.get("workflow_job_template_nodes", {}).values()
        return [self.with_edges(node) for node in nodes if node["workflow_job_template"] == workflow]

    def with_edges(self, node):
        return {**node, **{kind: list(self.associated.get((node["id"], kind), [])) for kind in awx_graph.KINDS}}

    # Rights

    def has_role(self, user, item, role):
        """Whether a user holds a role, by itself, by a team or by a role above it (awx/main/models/rbac.py,
        Role.__contains__)."""
        if user["is_superuser"] or (role in ("read_role", "auditor_role") and user["is_system_auditor"]):
            return True
        number = item["summary_fields"]["object_roles"][role]["id"]
        if user["id"] in self.associated.get((number, "users"), []):
            return True
        teams = [self.items["teams"][team] for team in self.associated.get((number, "teams"), [])]
        if any(self.has_role(user, team, "member_role") for team in teams):
            return True
        collection = self.roles[number][0]
        return any(self.has_far_role(user, item, above) for above in awx_rules.ROLES[collection][role])

    def has_far_role(self, user, item, path):
        """A role of the object, or with points that of another which the object names."""
        *fields, role = path.split(".")
        for field in fields:
            item = self.referred(field, item.get(field))
            if item is None:
                return False
        return self.has_role(user, item, role)

    def grant(self, item, role, *, user=None, team=None):
        number = item["summary_fields"]["object_roles"][role]["id"]
        kind, who = ("users", user) if user else ("teams", team)
        self.associated.setdefault((number, kind), []).append(who["id"])

    def may_read(self, user, collection, item):
        """What a user sees (filtered_queryset in awx/main/access.py): templates, workflows and the like by read_role;
        nodes, jobs, approvals and schedules where their template is seen; settings not at all."""
        if user["is_superuser"] or user["is_system_auditor"]:
            return True
        if "object_roles" in item["summary_fields"]:
            return self.has_role(user, item, "read_role")
        if collection == "workflow_job_nodes":
            return self.may_read(user, "workflow_jobs", self.items["workflow_jobs"][item["workflow_job"]])
        source = self.source(collection, item)
        if collection in ("jobs", "workflow_jobs") and source and self.organization_reads(user, item):
            return True
        return source is None or self.has_role(user, source, "read_role")

    def organization_reads(self, user, job):
        """Who administers or audits an organization sees its jobs (access.py, JobAccess.filtered_queryset)."""
        return any(self.has_far_role(user, job, f"organization.{role}") for role in ("admin_role", "auditor_role"))

    def source(self, collection, item):
        """The template whose roles count for an object, or None where none do."""
        if collection == "workflow_job_template_nodes":
            return self.items["workflow_job_templates"][item["workflow_job_template"]]
        if collection == "workflow_approvals":
            return self.items["workflow_job_templates"].get(item["workflow_job_template"])
        if collection == "workflow_approval_templates":
            nodes = self.items.get("workflow_job_template_nodes", {}).values()
            used = [node["workflow_job_template"] for node in nodes if node["unified_job_template"] == item["id"]]
            return self.items["workflow_job_templates"].get(next(iter(used), None))
        if collection in ("schedules", "jobs", "workflow_jobs"):
            return self.referred("unified_job_template", item["unified_job_template"])
        return None

    def must_write(self, user, collection, item):
        """Who may change an object (can_change and can_delete in awx/main/access.py): whoever administers it, or its
        workflow; a schedule whoever administers what it launches, and who has made it and may launch that; types of
        credentials, users and all else only an administrator of AWX."""
        source = item if "object_roles" in item["summary_fields"] else self.source(collection, item)
        is_own = collection == "schedules" and item.get("created_by") == user["id"]
        if is_own and self.has_role(user, source, EXECUTE):
            return
        if not (user["is_superuser"] or (source and self.has_role(user, source, "admin_role"))):
            raise forbidden()

    def must_add(self, user, collection, fields):
        """Who may make one (can_add in awx/main/access.py): a job template whoever may use project and inventory, a
        workflow a workflow administrator of its organization, a node who administers the workflow and may launch the
        template, a schedule who may launch what it launches."""
        wanted = {
            "job_templates": {"project": "use_role", "inventory": "use_role"},
            "workflow_job_templates": {"organization": "workflow_admin_role"},
            "workflow_job_template_nodes": {"workflow_job_template": "admin_role", "unified_job_template": EXECUTE},
            "schedules": {"unified_job_template": EXECUTE},
        }.get(collection, {})
        if user["is_superuser"]:
            return
        optional = "unified_job_template" if collection == "workflow_job_template_nodes" else None
        for field, role in wanted.items():
            item = self.referred(field, fields.get(field))
            if item is None and field == optional:
                continue
            if item is None or not self.has_role(user, item, role):
                raise forbidden()
        if not wanted:
            raise forbidden()

    # Reading

    def get(self, path, query, user=None):
        user = user or self.admin
        if path == ["ping"]:
            return 200, {"version": "24.6.1"}
        if path == ["me"]:
            return 200, self.page([user], "/me/", query)
        if path[0] == "settings":
            return self.get_settings(path, user)
        if len(path) == 1:
            return 200, self.page(self.list(path[0], query, user), f"{PREFIX}{path[0]}/", query)
        if path[0] == "roles":
            return 200, self.get_role(path, query)
        item = self.get_item(path[0], path[1])
        if not self.may_read(user, path[0], item):
            raise forbidden()
        if len(path) == 2:
            return 200, self.shown(item)
        return 200, self.get_below(path, item, query, user)

    def get_settings(self, path, user):
        """Settings are for administrators and auditors of AWX (awx/conf/views.py, SettingSingletonDetail)."""
        if not (user["is_superuser"] or user["is_system_auditor"]):
            raise forbidden()
        if path[1:] not in (["jobs"], ["all"]):
            raise Refused(404, {"detail": "Not found."})
        return 200, dict(self.settings)

    def get_role(self, path, query):
        number = int(path[1])
        if number not in self.roles:
            raise Refused(404, {"detail": "Not found."})
        if len(path) == 2:
            return {"id": number, "name": self.roles[number][2]}
        return self.page(self.attached(number, "roles", path[2]), f"{PREFIX}roles/{number}/{path[2]}/", query)

    def get_below(self, path, item, query, user):
        collection, number, name = path[0], item["id"], path[2]
        if name == "survey_spec" and collection in TEMPLATES:
            return self.surveys.get(number, {})
        if name == "launch" and collection in TEMPLATES:
            return self.before_launch(item)
        if name == "variable_data" and collection in ("hosts", "groups"):
            return awx_rules.parsed(item.get("variables"))
        if name == "stdout" and collection == "jobs":
            return {"content": item.get("stdout", "")}
        if name == "object_roles" and "object_roles" in item["summary_fields"]:
            return self.page(list(item["summary_fields"]["object_roles"].values()), f"{item['url']}{name}/", query)
        if (collection, name) in BELOW:
            other, field = BELOW[collection, name]
            found = [one for one in self.list(other, query, user) if one[field] == number]
        else:
            found = self.attached(number, collection, name)
        return self.page(found, f"{item['url']}{name}/", query)

    def attached(self, number, collection, name):
        """The objects below an address; one that AWX does not have is not found, such as the edges of an approval."""
        if name not in RELATED.get(collection, {}):
            raise Refused(404, {"detail": "Not found."})
        there = self.items.get(RELATED[collection][name], {})
        return [there.get(other, {"id": other}) for other in self.associated.get((number, name), [])]

    def list(self, collection, query, user=None):
        """The objects of a collection that a user sees and the query asks for."""
        user = user or self.admin
        collections = UNIFIED if collection == "unified_job_templates" else [collection]
        if not set(collections) & ({*KINDS, *self.items, "labels", "instance_groups"}):
            raise Refused(404, {"detail": "Not found."})
        found = [(name, item) for name in collections for item in self.items.get(name, {}).values()]
        asked = {key: value for key, value in query.items() if key not in ("page", "page_size", "order_by", "search")}
        return [item for name, item in found if self.may_read(user, name, item) and self.fits(name, item, asked)]

    def fits(self, collection, item, query):
        """Whether an object is what a query asks for: all of it, and one of what begins with or__
        (ansible_base rest_filters, FieldLookupBackend)."""
        checks, either = [], []
        for key, value in query.items():
            name = key.removeprefix("or__")
            *path, lookup = name.removeprefix("not__").split("__")
            path, lookup = (path, lookup) if lookup in LOOKUPS and path else ([*path, lookup], "exact")
            met = compared(lookup, self.value_at(collection, item, path), value) != name.startswith("not__")
            (either if key.startswith("or__") else checks).append(met)
        return all(checks) and (any(either) or not either)

    def value_at(self, collection, item, path):
        """The value to which a path of fields leads; a field that the objects do not have is refused."""
        field, *further = path
        if collection in FIELDS and field not in {**FIELDS[collection], **item}:
            raise Refused(400, {"detail": f"{collection} has no field named '{field}'"})
        if not further or further == ["id"]:
            return item.get(field)
        if field not in REFERENCES:
            raise Refused(400, {"detail": f"'{field}' leads to nothing"})
        other = self.referred(field, item.get(field))
        return self.value_at(None, other, further) if other else None

    def page(self, found, url, query):
        """A page of a list, and the address of the next (awx/api/pagination.py; 25, and 200 at most)."""
        if query.get("order_by"):
            key = query["order_by"]
            found = sorted(found, key=lambda item: str(item.get(key.lstrip("-"))), reverse=key.startswith("-"))
        number, size = int(query.get("page", 1)), min(int(query.get("page_size", PAGE)), MOST)
        if number > 1 and (number - 1) * size >= len(found):
            raise Refused(404, {"detail": "Invalid page."})
        further = urllib.parse.urlencode({**query, "page": number + 1, **({"page_size": size} if size != PAGE else {})})
        following = f"{url}?{further}" if number * size < len(found) else None
        results = [self.shown(item) for item in found[(number - 1) * size : number * size]]
        return {"count": len(found), "next": following, "previous": None, "results": results}

    def shown(self, item):
        """An object as the API shows it: names of what it refers to, the edges of a node, and the template of one."""
        if "url" not in item:
            return item
        shown = {**item, "related": dict(item["related"]), "summary_fields": dict(item["summary_fields"])}
        if item["type"] == "workflow_job_template_node":
            shown = self.with_edges(shown)
        for field in REFERENCES:
            found = self.referred(field, item[field]) if item.get(field) else None
            if found:
                shown["related"][field] = found["url"]
                shown["summary_fields"][field] = {key: found.get(key) for key in ("id", "name", "description")}
                if field == "unified_job_template":
                    kind = found["type"].removesuffix("_template")
                    shown["summary_fields"][field]["unified_job_type"] = kind
        return shown

    def before_launch(self, template):
        questions = self.questions(template)
        needed = [question["variable"] for question in questions if question["required"]]
        asks = {key: value for key, value in template.items() if key.startswith("ask_")}
        return {
            **asks,
            "survey_enabled": bool(questions),
            "variables_needed_to_start": needed,
            "can_start_without_user_input": not needed and not any(asks.values()),
        }

    # Writing

    def post(self, path, fields, user=None):
        user = user or self.admin
        code, made = self.posted(path, fields, user)
        self.writes.append((path, fields))
        return code, made

    def posted(self, path, fields, user):
        if len(path) == 1:
            return 201, self.shown(self.add(path[0], fields, user))
        if path[0] == "roles":
            return self.attach_role(path, fields, user)
        item = self.get_item(path[0], path[1])
        if len(path) < 3:
            raise Refused(405, {"detail": 'Method "POST" not allowed.'})
        if path[2] in ("launch", "approve", "deny"):
            return self.act(path[0], path[2], item, fields, user)
        self.must_write(user, path[0], item)
        if path[2] == "survey_spec" and path[0] in TEMPLATES:
            error = awx_rules.survey_error(fields)
            if error:
                raise Refused(400, {"error": error})
            self.surveys[item["id"]] = fields
            return 200, {}
        if path[2] == "create_approval_template" and path[0] == "workflow_job_template_nodes":
            return 201, self.shown(self.add_approval(item, fields))
        return self.attach(path[0], item, path[2], fields)

    def add(self, collection, fields, user):
        if collection not in KINDS:
            raise Refused(405, {"detail": 'Method "POST" not allowed.'})
        self.must_add(user, collection, fields)
        known = FIELDS.get(collection)
        given = {key: value for key, value in fields.items() if known is None or key in known}
        missing = [field for field in REQUIRED.get(collection, ()) if not given.get(field)]
        if missing:
            raise Refused(400, {field: ["This field is required."] for field in missing})
        if collection == "workflow_job_template_nodes" and not given.get("identifier"):
            given["identifier"] = f"node-{next(self.numbers)}"
        given = kept_of(collection, {**(known or {}), **given}, given)
        self.check(collection, {**(known or {}), **given}, given)
        return self.create(collection, {**given, "created_by": user["id"]})

    def add_approval(self, node, fields):
        """An approval gets name, description and timeout; all else is dropped (awx/api/serializers.py,
        WorkflowJobTemplateNodeCreateApprovalSerializer; models/workflow.py, create_approval_template)."""
        known = FIELDS["workflow_approval_templates"]
        if not fields.get("name"):
            raise Refused(400, {"name": ["This field is required."]})
        made = self.create("workflow_approval_templates", {key: fields[key] for key in known if key in fields})
        self.replace_template(node, made["id"])
        return made

    def replace_template(self, node, number):
        """The approval that a node had goes with it (awx/main/signals.py, delete_approval_node_type_change)."""
        if number != node["unified_job_template"]:
            self.items.get("workflow_approval_templates", {}).pop(node["unified_job_template"], None)
        node["unified_job_template"] = number

    def check(self, collection, fields, given, old=None):
        """What AWX refuses of an object that is made, or changed from ``old`` by what is given."""
        for field in REFERENCES.keys() & given.keys():
            if given[field] and not self.referred(field, given[field]):
                raise Refused(400, {field: [f'Invalid pk "{given[field]}" - object does not exist.']})
        getattr(self, f"check_{collection}", lambda *_: None)(fields, given, old)
        self.check_unique(collection, fields, old)

    def check_unique(self, collection, fields, old):
        keys = UNIQUE.get(collection, ())
        if collection == "job_templates":
            fields = dict(fields)
            self.take_organization(fields)
        for item in self.items.get(collection, {}).values() if keys else ():
            if item is not old and all(item.get(key) == fields.get(key) for key in keys):
                names = " and ".join(key.replace("_", " ") for key in keys)
                raise Refused(400, {"__all__": [f"{KINDS[collection]} with this {names} already exists."]})

    def check_job_templates(self, fields, _given, _old):
        """(awx/api/serializers.py, validate of JobTemplateSerializer and JobOptionsSerializer.) The playbook is looked
        for where a project has a list of ``playbook_files``."""
        project = self.items.get("projects", {}).get(fields["project"])
        if project is None:
            raise Refused(400, {"project": ["Job Templates must have a project assigned."]})
        if not fields["playbook"]:
            raise Refused(400, {"playbook": ["Must select playbook for project."]})
        if fields["playbook"] not in project.get("playbook_files", [fields["playbook"]]):
            raise Refused(400, {"playbook": ["Playbook not found for project."]})
        if not fields["inventory"] and not fields["ask_inventory_on_launch"]:
            raise Refused(400, {"inventory": ["You must either set a default value or ask to prompt on launch."]})
        self.check_variables(fields)

    def check_workflow_job_templates(self, fields, _given, _old):
        self.check_variables(fields)

    def check_variables(self, fields):
        """Extra variables are a dict in JSON or YAML (awx/main/validators.py, vars_validate_or_raise)."""
        try:
            awx_rules.parsed(fields["extra_vars"])
        except ValueError as error:
            raise Refused(400, {"extra_vars": [str(error)]}) from error

    def check_workflow_job_template_nodes(self, fields, given, old):
        self.check_saved(fields, given, old, ("required",))

    def check_schedules(self, fields, given, old):
        """A schedule that is only switched off is not looked at (awx/api/serializers.py, ScheduleSerializer)."""
        if old is not None and given == {"enabled": False}:
            return
        errors = awx_rules.rrule_errors(fields["rrule"])
        if errors:
            raise Refused(400, {"rrule": errors})
        self.check_saved(fields, given, old, ())

    def check_saved(self, fields, given, old, exclude):
        """What a saved launch would get; in a change only where it is about that
        (LaunchConfigurationBaseSerializer.validate)."""
        template = self.referred("unified_job_template", fields["unified_job_template"])
        if template is None or (old is not None and not given.keys() & {"extra_data", *awx_rules.JOB_ASKS}):
            return
        errors = awx_rules.saved_errors(template, self.questions(template), fields, exclude)
        if errors:
            raise Refused(400, errors)

    def check_credential_types(self, fields, _given, old):
        """(awx/api/serializers.py, CredentialTypeSerializer.validate.)"""
        if fields["kind"] not in ("cloud", "net"):
            raise Refused(400, {"kind": [f"Must be 'cloud' or 'net', not {fields['kind']}"]})
        if old is not None and self.of_type(old) and fields["inputs"] != old["inputs"]:
            raise forbidden("Modifications to inputs are not allowed for credential types that are in use")

    def of_type(self, kind):
        there = self.items.get("credentials", {}).values()
        return [item for item in there if item.get("credential_type") == kind["id"]]

    def attach(self, collection, item, name, fields):
        """Bring together, or apart where ``disassociate`` is there (awx/api/generics.py,
        SubListCreateAttachDetachAPIView)."""
        self.attached(item["id"], collection, name)
        links = self.associated.setdefault((item["id"], name), [])
        other = self.items.get(RELATED[collection][name], {}).get(fields.get("id"))
        if other is None:
            raise Refused(400, {"detail": f"no object with id {fields.get('id')}"})
        if "disassociate" in fields:
            links[:] = [number for number in links if number != other["id"]]
            return 204, None
        error = self.relation_error(collection, item, name, other)
        if error:
            raise Refused(400, error)
        if other["id"] not in links:
            links.append(other["id"])
        return 204, None

    def relation_error(self, collection, item, name, other):
        """What may not be brought together (is_valid_relation of the views): edges as in awx_graph.py, and within one
        workflow (access.py, check_same_WFJT, which answers 403); a second credential of a type; anything but a Galaxy
        credential for collections. What has no type is not looked at."""
        if name in awx_graph.KINDS:
            if item["workflow_job_template"] != other["workflow_job_template"]:
                raise forbidden()
            nodes = self.template_nodes(item["workflow_job_template"])
            return awx_graph.edge_error(nodes, self.with_edges(item), other, name)
        if name == "credentials" and collection == "job_templates":
            kinds = [one.get("credential_type") for one in self.attached(item["id"], collection, name)]
            if other.get("credential_type") and other["credential_type"] in kinds:
                return {"error": "Cannot assign multiple credentials of a type."}
        if name == "galaxy_credentials" and other.get("kind") != "galaxy_api_token":
            return {"msg": "Credential must be a Galaxy credential."}
        return None

    def attach_role(self, path, fields, user):
        """Give a role to a user or a team, or take it (awx/api/views, RoleUsersList and RoleTeamsList): for whoever
        administers the object, and sees the team."""
        number = int(path[1])
        if number not in self.roles:
            raise Refused(404, {"detail": "Not found."})
        collection, item, role = self.roles[number]
        self.must_write(user, collection, self.items[collection][item])
        team = self.items.get("teams", {}).get(fields.get("id")) if path[2] == "teams" else None
        if team and not self.has_role(user, team, "read_role"):
            raise forbidden()
        if team and collection == "organizations" and role in ("member_role", "admin_role"):
            raise Refused(400, {"msg": "You cannot assign an Organization participation role for a Team."})
        return self.attach("roles", {"id": number}, path[2], fields)

    def patch(self, path, fields, user=None):
        user = user or self.admin
        if path[0] == "settings":
            if not user["is_superuser"]:
                raise forbidden()
            self.settings.update(fields)
            return 200, dict(self.settings)
        item = self.get_item(path[0], path[1])
        self.must_write(user, path[0], item)
        known = FIELDS.get(path[0], fields).keys()
        # the workflow of a node does not change (WorkflowJobTemplateNodeSerializer.build_relational_field)
        fixed = {"workflow_job_template"} if path[0] == "workflow_job_template_nodes" else set()
        given = {key: fields[key] for key in fields if key in known and key not in fixed}
        given = kept_of(path[0], {**item, **given}, given)
        self.check(path[0], {**item, **given}, given, item)
        if path[0] == "workflow_job_template_nodes" and "unified_job_template" in given:
            self.replace_template(item, given["unified_job_template"])
        item.update(given)
        if path[0] == "job_templates":
            self.take_organization(item)
        self.writes.append((path, fields))
        return 200, self.shown(item)

    def delete(self, path, _fields, user=None):
        user = user or self.admin
        item = self.get_item(path[0], path[1])
        self.must_write(user, path[0], item)
        if path[2:] == ["survey_spec"]:
            self.surveys[item["id"]] = {}
            self.writes.append((path, "delete"))
            return 200, {}
        if path[0] == "credential_types" and self.of_type(item):
            raise forbidden("Credential types that are in use cannot be deleted")
        if path[0] in TEMPLATES and self.active(item):
            raise Refused(409, {"error": "Resource is being used.", "active_jobs": self.active(item)})
        self.writes.append((path, "delete"))
        self.remove(path[0], item)
        return 204, None

    def active(self, template):
        """Jobs of a template that have not ended keep it (awx/api/views/mixin.py, RelatedJobsPreventDeleteMixin)."""
        jobs = [*self.items.get("jobs", {}).values(), *self.items.get("workflow_jobs", {}).values()]
        mine = [job for job in jobs if job["unified_job_template"] == template["id"]]
        return [{"id": job["id"]} for job in mine if job["status"] not in awx_graph.FINISHED]

    def remove(self, collection, item):
        """What belongs to an object goes with it: nodes of a workflow, the approval of a node, schedules of a template.
        A node whose template goes stays, without one (on_delete of the models; awx/main/signals.py,
        delete_approval_templates)."""
        number = item["id"]
        if collection == "workflow_job_template_nodes":
            self.items.get("workflow_approval_templates", {}).pop(item["unified_job_template"], None)
        if collection == "workflow_job_templates":
            for node in self.template_nodes(number):
                self.remove("workflow_job_template_nodes", node)
        if collection in UNIFIED:
            for schedule in list(self.items.get("schedules", {}).values()):
                if schedule["unified_job_template"] == number:
                    self.remove("schedules", schedule)
            for node in self.items.get("workflow_job_template_nodes", {}).values():
                if node["unified_job_template"] == number:
                    node["unified_job_template"] = None
        self.surveys.pop(number, None)
        for key in [key for key in self.associated if key[0] == number]:
            del self.associated[key]
        for links in self.associated.values():
            links[:] = [other for other in links if other != number]
        del self.items[collection][number]

    # Launching

    def act(self, collection, name, item, fields, user):
        """Launch a template, approve or deny."""
        if name == "launch" and collection in TEMPLATES:
            job = self.launch(item, user=user, **fields)
            return 201, {KINDS[job["type"] + "s"]: job["id"], **self.shown(job)}
        if collection == "workflow_approvals" and name != "launch":
            self.decide(item, name == "approve", user)
            return 204, None
        raise Refused(404, {"detail": "Not found."})

    def launch(self, template, answers=None, user=None, extra_vars=None, **prompts):
        """Launch a template, by its name or as it is, and return its job: ``variables`` are what the playbook gets.

        For whoever has execute_role (awx/main/access.py, can_start). A job template that is sliced gives a workflow
        (awx/main/models/jobs.py, JobTemplate.create_unified_job).
        """
        template, user = self.template(template), user or self.admin
        if not self.has_role(user, template, "execute_role"):
            raise forbidden()
        given = answers if extra_vars is None else extra_vars
        questions = self.questions(template)
        accepted, ignored, errors = awx_rules.accept_launch(template, questions, given or {}, prompts)
        if errors:
            raise Refused(400, errors)
        job = self.spawn(template, accepted, launch_type="manual", created_by=user["id"])
        job["ignored_fields"] = ignored
        return job

    def fire(self, schedule):
        """What happens at the time of a schedule, by its name or as it is: the job, or None where it is switched off.

        Errors are logged only: a question that has become required since does not stop it (awx/main/tasks/system.py,
        awx_periodic_scheduler; models/schedules.py, get_job_kwargs).
        """
        schedule = self.named("schedules")[schedule] if isinstance(schedule, str) else schedule
        if not schedule["enabled"]:
            return None
        template = self.referred("unified_job_template", schedule["unified_job_template"])
        data = schedule["extra_data"] or {}
        accepted, _ignored, _errors = awx_rules.accept(template, self.questions(template), data, schedule)
        return self.spawn(template, accepted, launch_type="scheduled", schedule=schedule)

    def spawn(self, template, accepted, **fields):
        """Make the job, the workflow or the approval that a template stands for."""
        if template["type"] == "workflow_approval_template":
            made = {"name": template["name"], "status": "pending", "workflow_approval_template": template["id"]}
            return self.create("workflow_approvals", {**made, **fields})
        given = accepted.get("extra_vars", {})
        variables = awx_rules.job_variables(template, self.questions(template), given)
        prompts = {key: value for key, value in accepted.items() if key != "extra_vars"}
        common = {"name": template["name"], "status": "running", "unified_job_template": template["id"]}
        common.update(organization=template["organization"], extra_vars=awx_rules.as_text(variables))
        common.update(variables=variables, given=given, inventory=template["inventory"], schedule=None, created_by=None)
        common.update({**prompts, **fields})
        if template["type"] == "workflow_job_template":
            return self.spawn_workflow(template, common)
        count = awx_rules.slice_count({**template, **prompts}, self.inventory_hosts(common["inventory"]))
        if count > 1 and "job_slice_number" not in fields:
            return self.spawn_slices(template, common, count)
        return self.spawn_job(template, common)

    def spawn_job(self, template, common):
        defaults = {"status": "pending", "job_slice_number": 0, "job_slice_count": 1, "artifacts": {}, "stdout": ""}
        fields = {**common, "status": "pending", "job_template": template["id"], "execution_node": "exec1"}
        job = self.create("jobs", {**defaults, **fields, "limit": common.get("limit", template["limit"])})
        enabled = [host["name"] for host in self.inventory_hosts(job["inventory"]) if host.get("enabled", True)]
        job["hosts"] = awx_rules.sliced(enabled, job["job_slice_number"], job["job_slice_count"])
        meta = awx_rules.meta_variables(
            job,
            workflow=self.items.get("workflow_jobs", {}).get(job.get("workflow_job")),
            template=template,
            user=self.items["users"].get(job["created_by"]),
            inventory=self.referred("inventory", job["inventory"]),
            project=self.referred("project", template["project"]),
        )
        job["variables"] = {**job["variables"], **meta}
        return job

    def spawn_workflow(self, template, common):
        """A workflow's job has a copy of each node (awx/main/models/workflow.py, copy_nodes_from_original)."""
        workflow = self.create("workflow_jobs", {**common, "workflow_job_template": template["id"]})
        numbers = {}
        nodes = self.template_nodes(template["id"])
        copied = [*CONFIG, "identifier", "unified_job_template", "all_parents_must_converge"]
        for node in nodes:
            made = self.spawn_node(workflow, **{key: node[key] for key in copied})
            numbers[node["id"]] = made["id"]
        for node in nodes:
            made = self.items["workflow_job_nodes"][numbers[node["id"]]]
            made.update({kind: [numbers[other] for other in node[kind]] for kind in awx_graph.KINDS})
        return workflow

    def spawn_slices(self, template, common, count):
        """The workflow around slices: a node for each, and what it was launched with goes to all (awx/main/models/
        jobs.py, create_unified_job; workflow.py, WorkflowJob.prompts_dict)."""
        fields = {"is_sliced_job": True, "job_template": template["id"], "workflow_job_template": None}
        workflow = self.create("workflow_jobs", {**common, **fields})
        for number in range(1, count + 1):
            self.spawn_node(workflow, unified_job_template=template["id"], ancestor_artifacts={"job_slice": number})
        return workflow

    def spawn_node(self, workflow, **fields):
        blank = {**CONFIG, "identifier": "", "all_parents_must_converge": False, "ancestor_artifacts": {}}
        run = {"workflow_job": workflow["id"], "job": None, "status": None, "do_not_run": False}
        edges = {kind: [] for kind in awx_graph.KINDS}
        return self.create("workflow_job_nodes", {**blank, **run, **edges, **fields})

    def inventory_hosts(self, number):
        return [host for host in self.items.get("hosts", {}).values() if host.get("inventory") == number]

    def extravars(self, job):
        """The extra variables of a job as AWX writes them, by its setting (awx/main/tasks/jobs.py)."""
        own = awx_rules.parsed(self.items["job_templates"][job["job_template"]]["extra_vars"])
        return awx_rules.dump(job["variables"], own, self.settings["ALLOW_JINJA_IN_EXTRA_VARS"])

    # Workflows

    def run_workflow(self, template, answers=None, run=None, approve=True, user=None):
        """Launch a workflow, or a sliced template, and carry it through; returns what ran, as ``Ran``.

        ``run`` gets each job with its ``variables`` and ``hosts``, and returns its status and artifacts; without it all
        succeed. ``approve`` says yes or no, or is asked with each approval; where it says None, the workflow waits.
        """
        workflow = self.launch(template, answers, user)
        return self.carry_on(workflow, run, approve)

    def carry_on(self, workflow, run=None, approve=True):
        """Carry a workflow as far as it goes; one that waited for an approval, too."""
        jobs = []

        def noted(job):
            jobs.append(job)
            return run(job) if run else ("successful", {})

        while True:
            self.advance(workflow, noted)
            waiting = self.waiting(workflow)
            answers = [(approval, approve(approval) if callable(approve) else approve) for approval in waiting]
            decided = [(approval, answer) for approval, answer in answers if answer is not None]
            if not decided:
                nodes = self.job_nodes(workflow)
                return Ran(workflow, jobs, [node["identifier"] for node in nodes if node["do_not_run"]])
            for approval, answer in decided:
                self.decide(approval, answer)
                jobs.append(approval)

    def job_nodes(self, workflow):
        nodes = self.items.get("workflow_job_nodes", {}).values()
        return [node for node in nodes if node["workflow_job"] == workflow["id"]]

    def job_of(self, node):
        found = (self.items.get(name, {}).get(node["job"]) for name in ("jobs", "workflow_jobs", "workflow_approvals"))
        return next(filter(None, found), None)

    def advance(self, workflow, run):
        """What AWX's workflow manager does, until nothing goes on by itself (awx/main/scheduler/task_manager.py,
        WorkflowManager.spawn_workflow_graph_jobs). All nodes that can run get their jobs before one of them ends."""
        while workflow["status"] == "running":
            nodes = self.job_nodes(workflow)
            self.refresh(nodes, run)
            awx_graph.mark_do_not_run(nodes)
            if awx_graph.is_done(nodes):
                self.end(workflow, "failed" if awx_graph.has_failed(nodes) else "successful")
                return
            started = [self.start(workflow, nodes, node) for node in awx_graph.to_run(nodes)]
            for job in started:
                if job["type"] == "job":
                    status, artifacts = run(job)
                    job["artifacts"] = artifacts or {}
                    self.end(job, status)
            if not started:
                return

    def refresh(self, nodes, run):
        """Carry on workflows in the workflow, and note how jobs have ended."""
        for node in nodes:
            job = self.job_of(node)
            if job and job["type"] == "workflow_job":
                self.advance(job, run)
            node["status"] = job["status"] if job else None

    def end(self, job, status):
        job.update(status=status, finished=next(self.ends))

    def start(self, workflow, nodes, node):
        """Make the job of a node (awx/main/models/workflow.py, WorkflowJobNode.get_job_kwargs)."""
        template = self.referred("unified_job_template", node["unified_job_template"])
        fields = {"launch_type": "workflow", "workflow_job": workflow["id"], "created_by": workflow["created_by"]}
        if "job_slice" in node["ancestor_artifacts"]:
            fields.update(job_slice_number=node["ancestor_artifacts"]["job_slice"], job_slice_count=len(nodes))
        before = [self.with_artifacts(parent) for parent in awx_graph.parents(nodes, node)]
        artifacts = awx_rules.ancestor_artifacts(before)
        node["ancestor_artifacts"] = artifacts or node["ancestor_artifacts"]
        if template["type"] == "workflow_approval_template":
            fields["workflow_job_template"] = workflow["workflow_job_template"]
            job = self.spawn(template, {}, **fields)
        else:
            job = self.spawn(template, self.node_launch(template, workflow, node, artifacts), **fields)
        node.update(job=job["id"], status=job["status"])
        return job

    def node_launch(self, template, workflow, node, artifacts):
        """What a node launches its template with. A workflow gives all its variables to each node, one around slices
        only what it was itself launched with; prompts only to what asks for them."""
        is_sliced = workflow.get("is_sliced_job")
        variables = workflow["given"] if is_sliced else workflow["variables"]
        asks = awx_rules.JOB_ASKS if is_sliced else awx_rules.WORKFLOW_ASKS
        prompts = {**node, **{key: workflow[key] for key in asks if workflow.get(key)}}
        accepted, _rejected, _errors = awx_rules.accept_prompts(template, prompts)
        questions = self.questions(template)
        given = awx_rules.node_variables(template, questions, node["extra_data"] or {}, artifacts, variables)
        return {**accepted, "extra_vars": given}

    def with_artifacts(self, node):
        job = self.job_of(node)
        if job and job["type"] == "workflow_job":
            found = awx_rules.nested_artifacts([self.effective(one) for one in self.job_nodes(job) if one["job"]])
            return {**node, "artifacts": found}
        return {**node, "artifacts": (job or {}).get("artifacts", {})}

    def effective(self, node):
        """The job of a node of a workflow in a workflow, with what it publishes."""
        job = self.job_of(node)
        return {**job, "artifacts": self.with_artifacts(node)["artifacts"], "finished": job.get("finished", 0)}

    def waiting(self, workflow):
        """Approvals that nobody has decided, also in workflows in it."""
        found = []
        for job in filter(None, map(self.job_of, self.job_nodes(workflow))):
            if job["type"] == "workflow_job":
                found += self.waiting(job)
            elif job["type"] == "workflow_approval" and job["status"] == "pending":
                found.append(job)
        return found

    def decide(self, approval, approved, user=None):
        """Approve or deny, for whoever has approval_role on the workflow (awx/api/views, WorkflowApprovalApprove;
        access.py, WorkflowApprovalAccess.can_approve_or_deny). What is denied has failed."""
        user = user or self.admin
        template = self.items["workflow_job_templates"][approval["workflow_job_template"]]
        if not self.has_role(user, template, "approval_role"):
            raise forbidden("User does not have permission to approve or deny this workflow.")
        if approval["status"] != "pending":
            raise Refused(400, {"error": "This workflow step has already been approved or denied."})
        self.end(approval, "successful" if approved else "failed")


def kept_of(collection, fields, given):
    """A node without template keeps nothing to launch it with (LaunchConfigurationBaseSerializer.validate)."""
    if collection != "workflow_job_template_nodes" or fields["unified_job_template"]:
        return given
    return {key: value for key, value in given.items() if key not in CONFIG}


def compared(lookup, found, value):
    """Whether a field is what a query asks for, which is text."""
    if lookup == "isnull":
        return (found is None) == (value.lower() in ("true", "1"))
    text = str(found).lower() if isinstance(found, bool) else str("" if found is None else found)
    if lookup == "in":
        return text in value.split(",")
    if lookup.startswith("i"):
        text, value, lookup = text.lower(), value.lower(), lookup[1:]
    if lookup == "contains":
        return value in text
    if lookup in ("startswith", "endswith"):
        return getattr(text, lookup)(value)
    return text == (value.lower() if isinstance(found, bool) else value)


@contextlib.contextmanager
def serving(awx):
    """Yield the address under which it answers."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, method):
            url = urllib.parse.urlsplit(self.path)
            path = url.path.removeprefix(PREFIX).strip("/").split("/")
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or "{}") if length else {}
            given = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True)) if method == "get" else body
            code, answer = self.asked(method, path, given)
            content = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("X-API-Product-Name", "AWX")
            self.send_header("X-API-Product-Version", "24.6.1")
            self.end_headers()
            self.wfile.write(content)

        def asked(self, method, path, given):
            user = awx.tokens.get(self.headers.get("Authorization", "").removeprefix("Bearer "))
            if user is None and path != ["ping"]:
                return 401, {"detail": "Authentication credentials were not provided."}
            with awx.lock:
                try:
                    return getattr(awx, method)(path, given, user)
                except Refused as refused:
                    if method != "get":
                        awx.refused.append((path, given, refused.code, refused.answer))
                    return refused.code, refused.answer

        def do_GET(self):
            self.answer("get")

        def do_POST(self):
            self.answer("post")

        def do_PATCH(self):
            self.answer("patch")

        def do_DELETE(self):
            self.answer("delete")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
