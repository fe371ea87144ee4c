# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What AWX has, against what it should have: nodes of workflows that drifted, and reasons to change nothing yet. Pure.

The modules of C(awx.awx) leave a node that nobody defined, C(extra_data) where none is defined, and edges where a list
is empty (24.6.1, plugins/modules/workflow_job_template_node.py). A node outside the chain would run past the approval.
So nodes are compared here, and what differs is made anew.
"""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t

import yaml

Json = t.Dict[str, t.Any]

EDGES = ("success_nodes", "always_nodes", "failure_nodes")
#: Fields of a node that prompt for something, and that no node of ours has.
_PROMPTS = (
    "diff_mode",
    "execution_environment",
    "forks",
    "inventory",
    "job_slice_count",
    "job_tags",
    "job_type",
    "limit",
    "scm_branch",
    "skip_tags",
    "timeout",
    "verbosity",
)


@dataclasses.dataclass(frozen=True)
class Drift:
    """What is to be done. C(told): a line for each difference; C(unapproved): kept nodes that act without an approval.

    C(removed): workflow and identifier; C(made), C(linked): nodes with their workflow, to be created and to be linked.
    """

    told: t.List[str]
    unapproved: t.List[str]
    removed: t.List[Json]
    made: t.List[Json]
    linked: t.List[Json]


def find_drift(
    workflows: t.Sequence[Json], found: t.Mapping[str, t.Sequence[Json]], harmless: t.Collection[str], keep: bool
) -> Drift:
    """Compare workflows with the nodes that AWX has of them.

    C(found): by workflow, what the API lists of it; a workflow that does not exist has none. C(keep): leave nodes that
    nobody defined, with their edges.
    """
    drift = Drift([], [], [], [], [])
    for workflow in workflows:
        _compare(drift, workflow, _read(found.get(workflow["name"], ())), harmless, keep)
    return drift


def _compare(drift: Drift, workflow: Json, there: t.Dict[str, Json], harmless: t.Collection[str], keep: bool) -> None:
    name = workflow["name"]
    wanted = {node["identifier"]: _essence(node) for node in workflow["simplified_workflow_nodes"]}
    strangers = {key: node for key, node in there.items() if key not in wanted}
    if keep:
        wanted = _with_kept(wanted, there, strangers)
        drift.unapproved.extend(
            f"{name}: {key} ({there[key]['template'] or 'nothing'})" for key in _unapproved(there, strangers, harmless)
        )
    wrong = {key: _differences(node, there[key]) for key, node in wanted.items() if key in there and node != there[key]}
    missing = [key for key in wanted if key not in there]
    gone = [] if keep else list(strangers)
    if not (wrong or missing or gone):
        return
    drift.told.extend(f"{name}: node {key} is missing" for key in missing)
    drift.told.extend(f"{name}: node {key}: {'; '.join(fields)}" for key, fields in wrong.items())
    drift.told.extend(f"{name}: node {key} ({strangers[key]['template'] or 'nothing'}) is not defined" for key in gone)
    # All of them, the last first: without what it follows, a node that acts would start with the workflow.
    ours = [node["identifier"] for node in workflow["simplified_workflow_nodes"]]
    drift.removed.extend(
        {"workflow": name, "identifier": key} for key in [*gone, *(key for key in reversed(ours) if key in there)]
    )
    drift.made.extend({"workflow": name, **node} for node in workflow["simplified_workflow_nodes"])
    drift.linked.extend(
        {"workflow": name, "identifier": key, **{kind: node[kind] for kind in EDGES}}
        for key, node in wanted.items()
        if any(node[kind] for kind in EDGES)
    )


def _essence(node: Json) -> Json:
    approval = node.get("approval_node")
    return {
        "template": approval["name"] if approval else node["unified_job_template"],
        "approval": bool(approval),
        "description": approval["description"] if approval else "",
        "extra_data": node["extra_data"],
        "prompts": {},
        **{kind: sorted(node[kind]) for kind in EDGES},
    }


def _read(listed: t.Sequence[Json]) -> t.Dict[str, Json]:
    """Return nodes of the API by identifier, in the shape of those that are defined."""
    by_id = {node["id"]: node["identifier"] for node in listed}
    return {node["identifier"]: _found(node, by_id) for node in listed}


def _found(node: Json, by_id: t.Mapping[int, str]) -> Json:
    template = (node.get("summary_fields") or {}).get("unified_job_template") or {}
    kind = template.get("unified_job_type")
    approval = kind == "workflow_approval"
    # A workflow may have the name of a template.
    named = template.get("name", "") if approval or kind in (None, "job") else f"{template.get('name', '')} ({kind})"
    prompts = {name: node[name] for name in _PROMPTS if node.get(name) not in (None, "")}
    if node.get("all_parents_must_converge"):
        prompts["all_parents_must_converge"] = True
    return {
        "template": named,
        "approval": approval,
        "description": template.get("description", "") if approval else "",
        "extra_data": node.get("extra_data") or {},
        "prompts": prompts,
        **{kind: sorted(by_id.get(other, str(other)) for other in node.get(kind) or ()) for kind in EDGES},
    }


def _differences(wanted: Json, there: Json) -> t.List[str]:
    return [
        f"{field.replace('_', ' ')} {there[field]} instead of {wanted[field]}"
        for field in wanted
        if wanted[field] != there[field]
    ]


def _with_kept(
    wanted: t.Dict[str, Json], there: t.Dict[str, Json], strangers: t.Mapping[str, Json]
) -> t.Dict[str, Json]:
    """Return what is wanted with the nodes that are kept, and the edges to them: without, such a node would start."""
    made = {}
    for key, node in wanted.items():
        kept = {kind: [to for to in there.get(key, {}).get(kind, ()) if to in strangers] for kind in EDGES}
        made[key] = {**node, **{kind: sorted([*node[kind], *kept[kind]]) for kind in EDGES}}
    return {**made, **strangers}


def _unapproved(there: t.Dict[str, Json], strangers: t.Mapping[str, Json], harmless: t.Collection[str]) -> t.List[str]:
    """Return the nodes that nobody defined, that may change something, and that a way without approval leads to."""
    led = {to for node in there.values() for kind in EDGES for to in node[kind]}
    reached: t.Set[str] = set()
    waiting = [key for key in there if key not in led]
    while waiting:
        key = waiting.pop()
        if key in reached or key not in there:
            continue
        reached.add(key)
        # What follows an approval on success has been approved; denied, the rest of the edges is taken.
        kinds = EDGES[1:] if there[key]["approval"] else EDGES
        waiting.extend(to for kind in kinds for to in there[key][kind])
    acting = [key for key, node in strangers.items() if not node["approval"] and node["template"] not in harmless]
    return [key for key in acting if key in reached]


@dataclasses.dataclass(frozen=True)
class Found:
    """What AWX answered. None: it was not allowed to be read; lists as the API has them."""

    jobs: t.Optional[Json] = None
    hosts: t.Sequence[Json] = ()
    environments: t.Sequence[Json] = ()
    container_groups: t.Sequence[Json] = ()
    galaxy: t.Sequence[Json] = ()


#: Names of the machine itself, which in a job is its container.
_HERE = ("localhost", "localhost.localdomain", "127.0.0.1", "::1")


def is_here(host: str) -> bool:
    """Return True if a name or address stands for the machine on which a job runs."""
    return host.casefold().strip("[]") in _HERE or host.startswith("127.")


def find_problems(found: Found, settings: Json) -> t.List[str]:
    """Return every reason to change nothing in AWX yet, each with what to do."""
    return [*_settings(found, settings), *_things(found, settings)]


def _settings(found: Found, settings: Json) -> t.Iterator[str]:
    if found.jobs is None:
        return
    jinja = found.jobs.get("ALLOW_JINJA_IN_EXTRA_VARS", "template")
    if jinja != "template":
        why = {
            "always": "everybody who may launch a template could run commands with its credentials",
            "never": "no template would work",
        }
        yield (
            f"ALLOW_JINJA_IN_EXTRA_VARS is '{jinja}': {why.get(jinja, 'this is not known')}. Set Settings > Jobs > "
            "'When can extra variables contain Jinja templates?' to 'Only On Job Template Definitions'"
        )
    paths = found.jobs.get("AWX_ISOLATION_SHOW_PATHS") or []
    if not _is_mounted(settings["report_dir"], paths) and not found.container_groups:
        yield (
            f"{settings['report_dir']} is not mounted into jobs. Create it on every execution node, and add "
            f"'{settings['report_dir']}:{settings['report_dir']}:z' to Settings > Jobs > 'Paths to expose to isolated "
            "jobs'"
        )


def _is_mounted(directory: str, paths: t.Sequence[str]) -> bool:
    for path in paths:
        parts = path.split(":")
        inside = parts[1] if len(parts) > 1 else parts[0]
        writable = "ro" not in (parts[2].split(",") if len(parts) > 2 else ())
        if writable and posixpath.normpath(directory + "/").startswith(posixpath.normpath(inside).rstrip("/")):
            rest = posixpath.normpath(directory)[len(posixpath.normpath(inside).rstrip("/")) :]
            if not rest or rest.startswith("/"):
                return True
    return False


def _things(found: Found, settings: Json) -> t.Iterator[str]:
    host, inventory = settings["state_host"], settings["inventory"]
    listed = [item for item in found.hosts if item["name"] == host]
    if is_here(host) or any(_is_local(item) for item in listed):
        yield (
            f"nova_awx_state_host: '{host}' is the job's own container, and is gone with it, journals and all. Name a "
            "permanent host that jobs reach with ssh"
        )
    elif not listed:
        yield f"nova_awx_state_host: the inventory '{inventory}' has no host '{host}'"
    environment = settings["execution_environment"]
    if not any(item["name"] == environment for item in found.environments):
        yield f"nova_awx_execution_environment: AWX has no execution environment '{environment}'"
    if not settings["playbooks"] and not found.galaxy:
        yield (
            f"the organization '{settings['organization']}' has no Galaxy credential: AWX would not install the "
            "project's collections/requirements.yml. Add 'Ansible Galaxy' to the organization's Galaxy credentials"
        )


def _is_local(host: Json) -> bool:
    # Text, as AWX keeps it: JSON or YAML.
    variables = yaml.safe_load(host.get("variables") or "") or {}
    address = str(variables.get("ansible_host", ""))
    return variables.get("ansible_connection") in ("local", "ansible.builtin.local") or is_here(address)


def find_warnings(found: Found, settings: Json) -> t.List[str]:
    """Return what could not be judged, each with what to look at."""
    if found.jobs is None:
        return [
            (
                "AWX does not show Settings > Jobs to this user (403). Look yourself: 'When can extra variables "
                "contain Jinja templates?' must be 'Only On Job Template Definitions', and 'Paths to expose to "
                f"isolated jobs' have '{settings['report_dir']}'"
            )
        ]
    if found.container_groups and not _is_mounted(
        settings["report_dir"], found.jobs.get("AWX_ISOLATION_SHOW_PATHS") or []
    ):
        return [f"mount {settings['report_dir']} in the pod specification of your container groups: that is not read"]
    return []
