# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of operations as their pages show them: journals as the runner and the evacuation write them."""

from __future__ import annotations

from ansible_collections.stackguard.nova.plugins.module_utils.engine import runner
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import Checked, Subject, Unchecked, finding
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import report as report_of
from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import CONTROLLER, HOST, Change, Plan, Step
from ansible_collections.stackguard.nova.plugins.module_utils.moves import plan as moves
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import plan as rename
from ansible_collections.stackguard.nova.plugins.module_utils.reports.operation_run import OperationRun
from ansible_collections.stackguard.nova.tests.unit.builders import guest

RENAMED, EVACUATED, DRAINED = "3f9ac01d22b7", "77ab01c9d3e4", "c0ffee012345"
HOSTILE_NAME = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>\u202etxt"
SHA = "5" * 64
FINAL = ("finished", "rolled-back")
#: States of results whose journals are closed under another one.
CLOSED = {"incomplete": "finished", "evacuated": "finished", "aborted": "rolled-back"}


def at(minute):
    return f"2026-11-21T06:{minute:02}:00Z"


def report(code="SG401", remedy="Pin it, or let it be.", name="web1"):
    item = finding(code, Subject("instance", guest(1, 1), name, "compute1"), {"zone": None, "name": name}, remedy)
    return report_of(Checked((item,), (Unchecked("SG305", "all", "neutron was not read"),)), at(0), 3, 5)


def journal(plan, about, state, done, memory=None, texts=()):
    run = {"operator": "ann", "controller": "ctl1", "pid": 7, "token": "t"}
    found = {**runner.new_journal(plan, {"plan_sha256": None, **about}, at(0)), "run": run}
    for number, step in enumerate(plan.steps):
        begun = {"at": at(2 + 5 * number), "step": step.name, "step_state": journals.APPLYING}
        if number < done:
            found = journals.noted(found, begun)
            text = dict(texts).get(step.name)
            event = {"at": at(3 + 5 * number), "step": step.name, "step_state": journals.DONE, "text": text}
            found = journals.noted(found, event)
        elif number == done and state not in FINAL:
            found = journals.noted(found, begun)
    if state != "open":
        found = journals.noted(found, {"at": at(16), "state": state})
    return {**found, "memory": memory or {}}


def run(playbook, prefix, variables, plan, state, about, done, **more):
    """``state``: of the result. A run in check mode, or one that was refused, has no journal."""
    none = state in ("planned", "refused", "none", "clear", "resumed")
    over = CLOSED.get(state, state)
    over = over if over in (*FINAL, "rolling-back") else "open"
    made = None if none else journal(plan, about, over, done, more.pop("memory", None), more.pop("texts", ()))
    more.pop("memory", None)
    more.pop("texts", None)
    result = {
        "state": state,
        "failed": state not in ("finished", "evacuated", "planned", "none", "clear"),
        "operation_id": None if state == "refused" else plan.operation_id,
        "plan_sha256": SHA,
        "msg": more.pop("msg", "It is over."),
        **({"plan": to_plain(plan)} if state == "planned" else {}),
        **more.pop("result", {}),
    }
    shown = {"at": at(20), "began": at(0), "cloud": "prod", "region": "r1", **more}
    return OperationRun(playbook, prefix, variables, result, shown.pop("report", report()), made, **shown)


def renamed(state="finished", done=3, host="compute1"):
    rows = [Change(f"cell:cell1 instances id={number} (web{number})", "host", host, "cn1") for number in (1, 2)]
    names = {"libvirt": {"before": host, "after": "cn1.example.com"}}
    steps = [
        Step("cell_database", "cell database: 2 rows", CONTROLLER, "cell_rows", {}, rows),
        Step(
            "host_names",
            "the host's own name and files",
            HOST,
            "host_names",
            names,
            [
                Change("/etc/hostname", "name", host, "cn1"),
                Change("libvirt", "host name (reported)", host, "cn1.example.com"),
            ],
        ),
        Step("guests_before", "compare 2 domains with the plan", CONTROLLER, "guests", {}),
    ]
    plan = Plan(rename.KIND, RENAMED, f"{host} -> cn1", steps, ["Tell the deployment tool the new name."])
    texts = (("cell_database", "2 rows"), ("guests_before", "2 guests unchanged"))
    about = {"rename_from": host, "rename_to": "cn1", "machine_id": "a" * 32}
    return run(
        "rename_host",
        "rename_",
        {"rename_from": host, "rename_to": "cn1"},
        plan,
        state,
        about,
        done,
        texts=texts,
        msg=f"renamed {host} -> cn1",
    )


def evacuated(state="open", name="web1"):
    names = [name, "web2", "web3"]
    uuids = [guest(1, number) for number in (1, 2, 3)]
    steps = [
        Step("fence", "fence compute1 (power), and verify the fence", CONTROLLER, "fence", {"fence": "power"}),
        Step("hold_down", "force the compute service down and keep it disabled", CONTROLLER, "hold_down", {}),
        Step("guard", "use guard snapshots to protect 2 images against deletion", CONTROLLER, "guard", {}),
        Step(
            "evacuate",
            "evacuate 3 servers in 1 wave",
            CONTROLLER,
            "evacuate",
            {},
            [
                Change(f"server {one} ({uuid})", "host", "compute1", "compute2: most room", True)
                for one, uuid in zip(names, uuids)
            ],
        ),
        Step("unguard", "remove the guard snapshots", CONTROLLER, "unguard", {}),
    ]
    plan = Plan("evacuate-compute1", EVACUATED, "compute1", steps)
    servers = [{"uuid": uuid, "name": one, "status": "ACTIVE", "images": {}} for one, uuid in zip(names, uuids)]
    proof = {
        "kind": "power",
        "host": "compute1",
        "operation_id": EVACUATED,
        "read": "power state Off, twice",
        "at": at(3),
        "source": "compute3",
        "clusters": {},
    }
    memory = {
        "proof": proof,
        "arrived": uuids[:1],
        "landed": [{"uuid": uuids[0], "name": name, "host": "compute2", "status": "ACTIVE", "state": "verified"}],
        "in_transit": [{"uuid": uuids[1], "name": "web2", "target": "compute3"}],
        "guarded": uuids[1:],
    }
    return run(
        "evacuate_host",
        "evacuate_",
        {"evacuate_host": "compute1", "evacuate_fence": "power"},
        plan,
        state,
        {"host": "compute1", "fence": "power", "servers": servers, "machine_id": None},
        5 if state in ("finished", "evacuated") else 3,
        memory=memory,
        texts=(("guard", "2 images guarded"), ("fence", "power state Off, twice")),
        result={"left": {uuids[2]: "no candidate host"}, "arrived": []},
        report=report("SG512", "Bring another host of zone az1 back.", "web3"),
        back="abort",
        msg="Not all servers could be evacuated.",
    )


def drained(state="finished"):
    servers = [
        {"uuid": guest(1, number), "name": f"web{number}", "host": "compute1", "zone": "az1", "status": "ACTIVE"}
        for number in (1, 2)
    ]
    steps = [
        Step("hold", "disable the compute service of compute1", CONTROLLER, "hold", {}),
        Step("move", "move 2 servers, each within its zone", CONTROLLER, "move", {"servers": servers}),
        Step("leave", "leave the compute service disabled", CONTROLLER, "leave", {}),
    ]
    plan = Plan(moves.KIND, DRAINED, "compute1", steps)
    moved = {entry["uuid"]: "compute3" for entry in servers}
    return run(
        "drain_host",
        "drain_",
        {"drain_host": "compute1"},
        plan,
        state,
        {"request": {"drain_host": "compute1", "servers": None}},
        3,
        memory={"move": {"moved": moved}},
        result={"moved": moved, "gone": [], "left": {}},
        msg="compute1: 2 servers moved",
    )
