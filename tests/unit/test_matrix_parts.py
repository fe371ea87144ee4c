# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No wrong green: what did not run has failed, in `make test` and `make test-matrix`; no marked test is forgotten."""

from __future__ import annotations

import dataclasses
import importlib.machinery
import importlib.util
import pathlib
import sys
import types

import pytest
from labkit import matrix
from labkit.parts import PARTS, differences, of_file

ROOT = pathlib.Path(__file__).resolve().parents[2]


def lab(**other):
    """`lab/lab info --json` of a lab, as far as it says what it is made of."""
    cluster = {"pools": {"guests": ["vms"], "images": "images"}}
    hosts = {f"compute{number}": {} for number in (1, 2, 3)}
    return {"release": "2026.2", "l2": "tap", "hosts": hosts, "clusters": [cluster], **other}


def item(path="tests/integration/test_x.py", *names, **needs):
    """A test as pytest has it: with the mark, unless ``names`` is (None,)."""
    mark = None if names == (None,) else types.SimpleNamespace(args=names, kwargs=needs)
    return types.SimpleNamespace(nodeid=f"{path}::test_y", get_closest_marker=lambda _name: mark)


def test_make_test_runs_what_has_no_mark():
    assert matrix.part_of(item("tests/integration/test_x.py", None)) is None
    assert matrix.chosen(None, None, "tests/integration/test_x.py")
    assert not matrix.chosen(None, "evacuation", "tests/integration/test_x.py")


def test_a_part_runs_its_own_tests_and_its_stories():
    assert matrix.chosen("rename", "rename", "tests/integration/test_1_refusals.py")
    assert not matrix.chosen("rename", None, "tests/integration/test_1_refusals.py")
    assert not matrix.chosen("rename", "moves", "tests/integration/test_moves.py")
    assert matrix.chosen("rename", None, "tests/integration/test_2_rename.py")
    assert matrix.chosen("rename-2023.1", "rename", "tests/integration/test_2_rename.py")
    assert matrix.chosen("1", "moves", "tests/integration/test_moves.py")


@dataclasses.dataclass(frozen=True)
class Case:
    """A case of a test as pytest has it: it can be a member of a set."""

    nodeid: str
    get_closest_marker: object


def case(name, ansible=True, matrix_of=None, path="tests/unit/test_x.py"):
    marks = {"ansible": object() if ansible else None}
    if matrix_of:
        marks["matrix"] = types.SimpleNamespace(args=(matrix_of,), kwargs={})
    return Case(f"{path}::{name}", marks.get)


def test_of_a_test_that_runs_ansible_one_case_is_for_make_test_and_the_others_for_their_part():
    cases = [case(f"test_y[{number}]") for number in range(5)]
    others = [case("test_z"), case("test_pure[1]", ansible=False), case("test_pure[2]", ansible=False)]
    sampled = matrix.samples([*cases, *others])
    parts = [matrix.part_among(item, sampled) for item in cases]
    assert sorted(map(str, parts)) == ["None", *["playbooks"] * 4]
    assert [matrix.part_among(item, sampled) for item in others] == [None, None, None]
    assert matrix.samples(cases) == {item for item in sampled if item in cases}, "the same one each time"
    # The part has them all.
    assert all(matrix.chosen("playbooks", matrix.part_among(item, set()), "tests/unit/test_x.py") for item in cases)
    of_databases = case("test_y[1]", path="tests/integration_db/test_x.py")
    assert matrix.part_among(of_databases, set()) == "databases"


def test_a_case_that_names_its_part_stays_there():
    named = case("test_y[1]", matrix_of="unit-long")
    assert matrix.part_among(named, {named}) == "unit-long"
    assert matrix.part_among(named, set()) == "unit-long"


@pytest.mark.parametrize("names", [(), ("nosuchpart",), ("rename-2023.1",), ("moves", "crash")])
def test_a_test_of_no_part_is_an_error_and_not_forgotten(names):
    with pytest.raises(pytest.UsageError, match="must name one part"):
        matrix.part_of(item("tests/integration/test_something.py", *names))


def test_an_unknown_part_is_an_error(monkeypatch):
    monkeypatch.setenv("STACKGUARD_TEST_MATRIX", "evacuations")
    with pytest.raises(pytest.UsageError, match="no part"):
        matrix.wanted()


def test_a_test_that_needs_two_clusters_fails_on_a_lab_with_one(monkeypatch):
    monkeypatch.setattr(matrix, "_info", lab)
    wants = item("tests/integration/test_x.py", "evacuation-two-clusters", clusters=2, computes=4)
    with pytest.raises(pytest.fail.Exception, match=r"needs another lab: clusters 2 \(it has 1\), computes 4"):
        matrix.pytest_runtest_setup(wants)
    matrix.pytest_runtest_setup(item("tests/integration/test_x.py", "evacuation", clusters=1, computes=3))


def test_what_a_lab_is_made_of_is_compared():
    two = lab()["clusters"] * 2
    four = {f"compute{number}": {} for number in range(1, 5)}
    assert differences({"clusters": 2, "computes": 4}, lab(clusters=two, hosts=four)) == []
    assert differences({"cells": 2}, lab()) == ["cells 2 (it has 1)"]
    assert differences({"cells": 2}, lab(cells=["cell1", "cell2"])) == []
    # one more does no harm
    assert differences({"computes": 3}, lab(hosts=four)) == []
    assert differences({"pools": 2}, lab()) == ["pools 2 (it has 1)"]
    assert differences({"release": "2023.1", "l2": "ovs"}, lab()) == [
        "release 2023.1 (it has 2026.2)",
        "l2 ovs (it has tap)",
    ]


def test_every_file_with_marked_tests_is_run_by_some_part():
    for path in (ROOT / "tests").rglob("test_*.py"):
        name = str(path.relative_to(ROOT))
        text = path.read_text()
        if "mark.matrix" in text and name != "tests/unit/test_matrix_parts.py":
            assert of_file(name) or 'mark.matrix("' in text, f"{name}: its marks name no part"


# --- tests/gates/running.py, of both --------------------------------------------------------------------------


@pytest.fixture
def running(monkeypatch, tmp_path):
    """tests/gates/running.py as a module, whose logs are in a directory of the test."""
    spec = importlib.util.spec_from_file_location("running", ROOT / "tests" / "gates" / "running.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "running", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def ran(running, tmp_path, script, pytest_part=True):
    part = running.Part("part", ["/bin/sh", "-c", script], pytest=pytest_part, logs=tmp_path)
    part.run()
    return part


PASSED = "echo '=== 3 passed in 0.10s ==='"


@pytest.mark.parametrize(
    ("script", "ok"),
    [
        (PASSED, True),
        (f"{PASSED}; exit 1", False),
        ("true", False),
        ("echo '=== no tests ran in 0.10s ==='", False),
        ("echo '=== 3 deselected in 0.10s ==='", False),
        ("echo '=== 2 skipped in 0.10s ==='", False),
        ("kill -9 $$", False),
    ],
)
def test_a_part_whose_pytest_passed_no_test_has_failed(running, tmp_path, script, ok):
    part = ran(running, tmp_path, script)
    assert part.ok is ok
    assert running.verdict("make test", [part]) == (0 if ok else 1)


def test_a_part_that_did_not_run_has_failed(running, tmp_path, capsys):
    passed = ran(running, tmp_path, "true", pytest_part=False)
    refused = running.Part("crash", ["true"], logs=tmp_path)
    refused.refuse("the lab did not come up")
    forgotten = running.Part("docs", ["true"], logs=tmp_path)
    assert running.verdict("make test", [passed]) == 0
    assert running.verdict("make test", [passed, refused]) == 1
    assert running.verdict("make test", [passed, forgotten]) == 1
    assert "FAILED in" in capsys.readouterr().out.splitlines()[-1]


def test_a_part_of_the_matrix_runs_its_tests_only_on_the_lab_that_it_needs(running, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    monkeypatch.setattr(sys, "path", list(sys.path))
    loader = importlib.machinery.SourceFileLoader("matrix_runner", str(ROOT / "tests" / "matrix"))
    runner = importlib.util.module_from_spec(importlib.util.spec_from_loader("matrix_runner", loader))
    loader.exec_module(runner)
    made = runner.made("rename-2023.1", PARTS["rename-2023.1"], PARTS["moves"].lab, "8")
    purged, up, tests = made.command[-1].split(" && ")
    assert purged.endswith("down --purge")
    assert "--release 2023.1" in up
    assert "-m pytest" in tests
    assert made.pytest
    # The next instance may be somebody else's.
    assert runner.made_by({"evacuation": PARTS["evacuation"]}, 8) == [8]
    assert runner.made_by({"unit-long": PARTS["unit-long"]}, 8) == []
