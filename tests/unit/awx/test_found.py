# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nodes that drifted are found and made anew; what AWX lacks is found before anything is changed."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.plugin_utils import awx_found
from ansible_collections.stackguard.nova.tests.unit.awx.data import SETTINGS, WORKFLOWS, objects

NAME = "Nova: resize a server"
HARMLESS = objects().harmless()


def listed(workflow):
    """The nodes of a workflow as the API lists them."""
    nodes = workflow["simplified_workflow_nodes"]
    numbers = {node["identifier"]: number for number, node in enumerate(nodes, 10)}
    found = []
    for node in nodes:
        approval = node.get("approval_node")
        template = {**approval, "unified_job_type": "workflow_approval"} if approval else {}
        template = template or {"name": node["unified_job_template"], "unified_job_type": "job", "description": "x"}
        found.append(
            {
                "id": numbers[node["identifier"]],
                "identifier": node["identifier"],
                "extra_data": dict(node["extra_data"]),
                "limit": None,
                "inventory": None,
                "all_parents_must_converge": False,
                "summary_fields": {"unified_job_template": template},
                **{kind: [numbers[other] for other in node[kind]] for kind in awx_found.EDGES},
            }
        )
    return found


def healthy():
    return {name: listed(workflow) for name, workflow in WORKFLOWS.items()}


def node(nodes, identifier):
    (found,) = [item for item in nodes if item["identifier"] == identifier]
    return found


def drift(nodes, keep=False):
    return awx_found.find_drift(list(WORKFLOWS.values()), nodes, HARMLESS, keep)


def sneaky(number=99, template="Nova: resize", **more):
    template = {"name": template, "unified_job_type": "job"}
    edges = {kind: [] for kind in awx_found.EDGES}
    return {
        "id": number,
        "identifier": "sneaky",
        "extra_data": {},
        "summary_fields": {"unified_job_template": template},
        **edges,
        **more,
    }


def test_what_is_as_defined_is_left_alone():
    assert dataclasses.asdict(drift(healthy())) == {
        "told": [],
        "unapproved": [],
        "removed": [],
        "made": [],
        "linked": [],
    }


def test_what_is_not_there_is_made_and_linked():
    found = drift({})
    assert found.removed == []
    assert {(item["workflow"], item["identifier"]) for item in found.made} == {
        (name, one["identifier"]) for name, item in WORKFLOWS.items() for one in item["simplified_workflow_nodes"]
    }
    ends = {(item["workflow"], to) for item in found.linked for kind in awx_found.EDGES for to in item[kind]}
    assert (NAME, "run") in ends and (NAME, "approval") in ends


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.update(extra_data={"resize_flavor": "m1.huge"}),
        lambda one: one.update(limit="compute1"),
        lambda one: one.update(job_type="run"),
        lambda one: one.update(all_parents_must_converge=True),
        lambda one: one["summary_fields"]["unified_job_template"].update(name="Nova: drain"),
        lambda one: one["summary_fields"]["unified_job_template"].update(unified_job_type="workflow_job"),
        lambda one: one.update(always_nodes=[10]),
    ],
    ids=[
        "extra_data",
        "limit",
        "job_type",
        "convergence",
        "template",
        "a workflow of its name",
        "an edge where none is defined",
    ],
)
def test_a_node_that_was_changed_is_made_anew_and_what_led_to_it_is_linked_again(change):
    nodes = healthy()
    change(node(nodes[NAME], "run"))
    found = drift(nodes)
    # What acts goes first: without what it follows, it would start with the workflow.
    assert [(item["workflow"], item["identifier"]) for item in found.removed] == [
        (NAME, "run"),
        (NAME, "approval"),
        (NAME, "check"),
    ]
    assert [item["identifier"] for item in found.made] == ["check", "approval", "run"]
    assert ("approval", ["run"]) in [(item["identifier"], item["success_nodes"]) for item in found.linked]
    assert {item["workflow"] for item in found.linked} == {NAME}
    assert len(found.told) == 1


def test_an_edge_past_the_approval_is_taken_back():
    nodes = healthy()
    node(nodes[NAME], "check")["success_nodes"] = [12, 11]
    found = drift(nodes)
    assert [item["identifier"] for item in found.removed] == ["run", "approval", "check"]
    assert len(found.told) == 1 and "node check" in found.told[0]


def test_a_node_that_nobody_defined_goes_or_is_kept_and_named_where_it_acts():
    nodes = healthy()
    nodes[NAME].append(sneaky())
    gone, kept = drift(nodes), drift(nodes, keep=True)
    assert gone.removed[0] == {"workflow": NAME, "identifier": "sneaky"}
    assert {item["workflow"] for item in gone.removed} == {NAME}
    assert (kept.removed, kept.told) == ([], [])
    assert len(kept.unapproved) == 1 and "sneaky" in kept.unapproved[0]


@pytest.mark.parametrize(
    ("template", "after", "kind", "named"),
    [
        ("Nova: resize", "approval", "success_nodes", False),
        ("Nova: resize", "approval", "always_nodes", True),
        ("Nova: resize", "approval", "failure_nodes", True),
        ("Nova: resize", "check", "success_nodes", True),
        ("Nova: resize", "run", "success_nodes", False),
        ("Nova: audit", "check", "success_nodes", False),
        ("somebody's own", "check", "success_nodes", True),
    ],
)
def test_a_kept_node_is_named_where_a_way_without_approval_leads_to_it(template, after, kind, named):
    nodes = healthy()
    nodes[NAME].append(sneaky(template=template))
    node(nodes[NAME], after)[kind].append(99)
    found = drift(nodes, keep=True)
    assert bool(found.unapproved) is named
    assert found.told == [], "its edge is kept with it: without one it would start with the workflow"


def test_a_kept_node_keeps_its_edges_where_a_neighbour_is_made_anew():
    nodes = healthy()
    nodes[NAME].append(sneaky(success_nodes=[12]))
    node(nodes[NAME], "check").update(limit="x")
    node(nodes[NAME], "check")["success_nodes"].append(99)
    found = drift(nodes, keep=True)
    links = {item["identifier"]: item["success_nodes"] for item in found.linked}
    assert links["check"] == ["approval", "sneaky"]
    assert links["sneaky"] == ["run"]


JOBS = {"ALLOW_JINJA_IN_EXTRA_VARS": "template", "AWX_ISOLATION_SHOW_PATHS": ["/var/lib/stackguard/awx"]}
HOST = {"name": "lasting1", "variables": "ansible_host: 192.0.2.1"}
FOUND = awx_found.Found(JOBS, [HOST], [{"name": "nova"}], [], [{"name": "Ansible Galaxy"}])


def problems(playbooks="playbooks", state_host="lasting1", **changed):
    settings = {**vars(SETTINGS), "playbooks": playbooks, "state_host": state_host}
    return awx_found.find_problems(dataclasses.replace(FOUND, **changed), settings)


def test_what_has_all_that_it_needs_has_no_problem():
    assert problems() == []
    assert problems(jobs=None) == [], "who may not read the settings is told what to look at"
    assert len(awx_found.find_warnings(dataclasses.replace(FOUND, jobs=None), vars(SETTINGS))) == 1
    assert awx_found.find_warnings(FOUND, vars(SETTINGS)) == []
    assert problems(playbooks="") == []


@pytest.mark.parametrize("value", ["always", "never", "tomorrow"])
def test_only_templates_may_have_jinja(value):
    assert len(problems(jobs={**JOBS, "ALLOW_JINJA_IN_EXTRA_VARS": value})) == 1


@pytest.mark.parametrize(
    ("paths", "enough"),
    [
        (["/var/lib/stackguard/awx:/var/lib/stackguard/awx:z"], True),
        (["/srv/awx:/var/lib/stackguard:rw,z"], True),
        (["/srv/awx:/var/lib/stackguard/"], True),
        (["/"], True),
        ([], False),
        (["/var/lib/stackguard/awx:/var/lib/stackguard/awx:ro"], False),
        (["/var/lib/stackguard/aw"], False),
        (["/var/lib/stackguard/awx:/reports"], False),
        (["/var/lib/stackguard/awx/jobs"], False),
    ],
)
def test_the_report_directory_is_mounted_and_writable(paths, enough):
    jobs = {**JOBS, "AWX_ISOLATION_SHOW_PATHS": paths}
    assert (problems(jobs=jobs) == []) is enough
    group = [{"name": "k8s"}]
    assert problems(jobs=jobs, container_groups=group) == [], "its pods mount what their specification says"
    told = awx_found.find_warnings(dataclasses.replace(FOUND, jobs=jobs, container_groups=group), vars(SETTINGS))
    assert (told == []) is enough


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1", "[::1]"])
def test_a_state_host_that_is_the_container_is_refused(host):
    assert len(problems(state_host=host, hosts=[{"name": host, "variables": ""}])) == 1


@pytest.mark.parametrize(
    "variables", ["ansible_connection: local", '{"ansible_connection": "local"}', "ansible_host: 127.0.0.1"]
)
def test_a_state_host_that_is_reached_in_the_container_is_refused(variables):
    assert len(problems(hosts=[{**HOST, "variables": variables}])) == 1


def test_what_awx_does_not_have_is_named():
    assert len(problems(hosts=[])) == 1
    assert len(problems(environments=[{"name": "AWX EE (latest)"}])) == 1
    assert len(problems(playbooks="", galaxy=[])) == 1
    assert problems(galaxy=[]) == [], "this repository needs no other collection from it"
    assert len(problems(hosts=[], environments=[], jobs={**JOBS, "ALLOW_JINJA_IN_EXTRA_VARS": "always"})) == 3


def schedule(**changed):
    return {
        "name": "nightly",
        "template": "Nova: audit",
        "rrule": "DTSTART:20260101T020000Z RRULE:FREQ=DAILY",
        **changed,
    }


def test_a_schedule_answers_what_its_template_asks_and_nothing_else():
    assert objects(schedules=[schedule(extra_data={"audit_fail_on": "new_blocker"})]).wrong_schedules() == []
    missing = objects(schedules=[schedule(template="Nova: resize, check")]).wrong_schedules()
    assert len(missing) == 1 and "resize_server" in missing[0] and "resize_flavor" in missing[0]
    unknown = objects(schedules=[schedule(extra_data={"stackguard_ceph_command": "id"})]).wrong_schedules()
    assert len(unknown) == 1 and "stackguard_ceph_command" in unknown[0]
