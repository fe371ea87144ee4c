# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the reference of the modules says is what they return, and the gate that holds it finds what is missing."""

from __future__ import annotations

import copy
import dataclasses
import importlib.util
import pathlib
import re
import types
import typing as t

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings, plan
from ansible_collections.stackguard.nova.plugins.plugin_utils import without_effect

ROOT = pathlib.Path(__file__).resolve().parents[3]


def loaded() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "tests" / "gates" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GATE = loaded()


def returned(module: str) -> dict[str, t.Any]:
    return GATE.documented(ROOT / "plugins" / "modules" / f"{module}.py")["RETURN"]


def classes(hint: t.Any) -> list[type]:
    if dataclasses.is_dataclass(hint):
        return [hint]
    return [cls for argument in t.get_args(hint) for cls in classes(argument)]


@pytest.mark.parametrize(
    ("module", "value", "cls"),
    [
        ("compute_host_info", "host", facts.HostFacts),
        ("cell_info", "databases", facts.DatabaseFacts),
        ("cloud_info", "cloud", facts.CloudFacts),
        ("cell_info", "refused", facts.Grant),
        ("cloud_info", "unread", facts.Unread),
        ("compute_host_rename", "plan", plan.Plan),
    ],
)
def test_facts_are_documented_field_by_field(module, value, cls):
    contains = returned(module)[value]["contains"]
    hints = t.get_type_hints(cls)
    assert list(contains) == [field.name for field in dataclasses.fields(cls)]
    for name, entry in contains.items():
        for inner in classes(hints[name])[:1]:
            fields = {field.name for field in dataclasses.fields(inner)}
            named = set(entry.get("contains") or re.findall(r"C\((\w+)\)", GATE.words(entry["description"])))
            assert fields <= named or GATE.BY_KEY.search(GATE.words(entry["description"])), (name, fields - named)


def test_the_report_is_documented_key_by_key():
    subject = findings.Subject("host", "compute1", "compute1", "compute1")
    found = findings.finding("SG502", subject, {"a": 1}, "do it")
    unchecked = findings.Unchecked("SG501", "compute1", "not read")
    made = findings.report(findings.Checked((found,), (unchecked,)), "now", 1, 1)
    contains = returned("server_resize")["report"]["contains"]
    assert set(contains) == set(made)
    assert set(contains["counts"]["contains"]) == set(made["counts"])
    assert set(contains["findings"]["contains"]) == set(made["findings"][0])
    assert set(contains["findings"]["contains"]["object"]["contains"]) == set(made["findings"][0]["object"])
    assert set(contains["unchecked"]["contains"]) == set(made["unchecked"][0])


def test_overrides_are_documented_as_they_are_specified():
    text = (ROOT / "plugins" / "doc_fragments" / "overrides.py").read_text()
    assert set(re.findall(r"^      (\w+):$", text, re.MULTILINE)) == set(findings.OPTION["options"])


SOUND = {
    "DOCUMENTATION": {"description": ["Does something."], "seealso": [{"module": "b"}]},
    "EXAMPLES": [{}, {}, {}],
    "RETURN": {
        "report": {"type": "dict", "contains": {"schema": {"type": "int"}}},
        "moved": {"type": "dict", "description": "By uuid, the host."},
    },
}


def spoilt(change):
    made = copy.deepcopy(SOUND)
    change(made)
    return {"a": SOUND, "b": made}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: made["EXAMPLES"].pop(), "b: 2 examples"),
        (lambda made: made["DOCUMENTATION"].pop("seealso"), "b: no seealso"),
        (lambda made: made["RETURN"]["moved"].update(description="Where."), "b: RETURN moved: say"),
        (
            lambda made: made["RETURN"]["report"]["contains"].update(x={"type": "list", "elements": "dict"}),
            "b: RETURN report.x: say",
        ),
        (lambda made: made["RETURN"]["report"]["contains"].pop("schema"), "b: RETURN report"),
    ],
)
def test_the_gate_says_what_is_missing(change, said):
    assert any(line.startswith(said) for line in GATE.problems(spoilt(change)))


def test_the_gate_has_nothing_against_a_sound_page():
    assert list(GATE.problems({"a": SOUND, "b": SOUND})) == []


def test_an_internal_module_needs_fewer_examples():
    made = spoilt(lambda page: page.update(EXAMPLES=[{}]))
    made["b"]["DOCUMENTATION"]["description"] = [f"{GATE.INTERNAL} The roles call it."]
    assert list(GATE.problems(made)) == []


@pytest.mark.parametrize(
    ("args", "defaults", "said"),
    [
        ({"timeout": 600}, [], ["timeout"]),
        ({"timeout": 600, "wait": True}, [{"group/stackguard.nova.openstack": {"timeout": 600}}], ["wait"]),
        ({"cloud": "c"}, [], []),
        ({"wait": False}, [{"stackguard.nova.cloud_info": {"wait": False}}], []),
    ],
)
def test_only_what_the_task_itself_sets_without_effect_is_reported(args, defaults, said):
    task = types.SimpleNamespace(args=args, module_defaults=defaults, action="stackguard.nova.cloud_info")
    assert without_effect.set_on_task(task) == said
