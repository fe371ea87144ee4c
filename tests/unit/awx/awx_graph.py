# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which nodes of a workflow run, and how it ends: awx/main/scheduler/dag_workflow.py of AWX 24.6.1, on plain dicts.

A node has ``id``, ``unified_job_template``, ``all_parents_must_converge``, ``do_not_run``, ``job``, the ``status`` of
that, and the numbers of those that follow it in ``success_nodes``, ``failure_nodes`` and ``always_nodes``.
"""

from __future__ import annotations

KINDS = ("success_nodes", "failure_nodes", "always_nodes")
FAILED = ("failed", "error", "canceled")
FINISHED = ("successful", *FAILED)


def parents(nodes, node, kinds=KINDS):
    return [other for other in nodes if any(node["id"] in other[kind] for kind in kinds)]


def children(nodes, node, kinds=KINDS):
    numbers = [number for kind in kinds for number in node[kind]]
    return [other for other in nodes if other["id"] in numbers]


def roots(nodes):
    return [node for node in nodes if not parents(nodes, node)]


def ways(node):
    """The kinds of edges on which it goes on after a node; its template may be gone (bfs_nodes_to_run,
    _should_mark_node_dnr)."""
    if node["job"]:
        if node["status"] == "successful":
            return ("success_nodes", "always_nodes")
        return ("failure_nodes", "always_nodes") if node["status"] in FAILED else ()
    return () if node["unified_job_template"] else ("failure_nodes", "always_nodes")


def undecided(node):
    """A job may still come of it (_are_all_nodes_dnr_decided)."""
    return not node["do_not_run"] and not node["job"] and bool(node["unified_job_template"])


def relevant_finished(nodes, node):
    """No parent may still run (_are_relevant_parents_finished)."""
    relevant = [p for p in parents(nodes, node) if not p["do_not_run"] and p["unified_job_template"]]
    return all(parent["job"] and parent["status"] in FINISHED for parent in relevant)


def criteria_met(nodes, node):
    """Each parent that succeeded or failed leads here (_all_parents_met_convergence_criteria)."""
    for parent in parents(nodes, node):
        if parent["job"] and parent["status"] in ("successful", "failed"):
            kind = "success_nodes" if parent["status"] == "successful" else "failure_nodes"
            if node["id"] not in (*parent[kind], *parent["always_nodes"]):
                return False
    return True


def to_run(nodes):
    """The nodes that get a job now (bfs_nodes_to_run)."""
    waiting, seen, found = roots(nodes), set(), []
    for node in waiting:
        if node["id"] in seen or node["do_not_run"]:
            continue
        seen.add(node["id"])
        if node["job"] or not node["unified_job_template"]:
            waiting.extend(children(nodes, node, ways(node)))
        elif relevant_finished(nodes, node) and (not node["all_parents_must_converge"] or criteria_met(nodes, node)):
            found.append(node)
    return found


def in_order(nodes):
    """Parents before children (dag_simple.py, sort_nodes_topological)."""
    found, seen = [], set()

    def visit(node):
        if node["id"] not in seen:
            seen.add(node["id"])
            for child in children(nodes, node):
                visit(child)
            found.insert(0, node)

    for node in nodes:
        visit(node)
    return found


def mark_do_not_run(nodes):
    """Mark what will not run any more, since no decided parent leads to it; where all must lead to it, since one does
    not (mark_dnr_nodes, _should_mark_node_dnr)."""
    for node in in_order(nodes):
        before = parents(nodes, node)
        if node["do_not_run"] or node["job"] or not before:
            continue
        if node["all_parents_must_converge"]:
            node["do_not_run"] = any(p["do_not_run"] for p in before) or not criteria_met(nodes, node)
        elif not any(undecided(parent) for parent in before):
            live = [parent for parent in before if not parent["do_not_run"]]
            node["do_not_run"] = not any(running(p) or node["id"] in reached(p) for p in live)


def running(node):
    return bool(node["job"]) and node["status"] not in FINISHED


def reached(node):
    return {number for kind in ways(node) for number in node[kind]}


def is_done(nodes):
    """Nothing runs, and nothing will (is_workflow_done)."""
    return not any(undecided(node) or running(node) for node in nodes)


def has_failed(nodes):
    """A node failed, or has lost its template, and no edge says what to do then (has_workflow_failed).

    What follows on failure or always makes a failed node good, however that one ends in its turn.
    """
    failed = [
        node
        for node in nodes
        if (not node["do_not_run"] and not node["unified_job_template"]) or (node["job"] and node["status"] in FAILED)
    ]
    return any(not node["failure_nodes"] and not node["always_nodes"] for node in failed)


def has_cycle(nodes):
    """Whether a way from a first node comes back to itself, or no node is a first one (dag_simple.py, has_cycle).

    AWX does not see a circle apart from all first nodes; such nodes never run.
    """
    done, path = set(), []

    def circles(node):
        if node["id"] in path:
            return True
        if node["id"] in done:
            return False
        path.append(node["id"])
        found = any(circles(child) for child in children(nodes, node))
        done.add(path.pop())
        return found

    first = roots(nodes)
    return bool(nodes) and (not first or any(circles(node) for node in first))


def edge_error(nodes, parent, child, kind):
    """Why an edge is refused, or None (awx/api/views, WorkflowJobTemplateNodeChildrenBaseList.is_valid_relation).

    Two nodes have one edge between them, of one kind, and no way leads back. The same edge again is no error.
    """
    if parent["id"] == child["id"]:
        return {"Error": "Cycle detected."}
    if any(child["id"] in parent[other] for other in KINDS if other != kind):
        return {"Error": "Relationship not allowed."}
    there = [{**node, kind: [*node[kind], child["id"]]} if node["id"] == parent["id"] else node for node in nodes]
    return {"Error": "Cycle detected."} if has_cycle(there) else None
