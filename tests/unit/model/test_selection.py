# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An expression selects what it says, or is refused with its place and the fields that there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, selection
from ansible_collections.stackguard.nova.plugins.module_utils.model.record_shapes import (
    Fields,
    Keys,
    observed,
    shape_of,
)
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

SERVER = shape_of(facts.ApiServer, "a server")


def server(number, **more):
    base = facts.ApiServer(
        id=f"u{number}",
        name=f"web{number}",
        project_id="p1",
        status="ACTIVE",
        host="compute1",
        hypervisor_hostname="compute1",
        task_state=None,
        vm_state="active",
        power_state=1,
        availability_zone="az1",
        locked=False,
        metadata={"tier": "gold"} if number == 1 else {},
    )
    return facts.to_plain(facts.dataclasses.replace(base, **more))


SERVERS = [server(1), server(2), server(3, locked=True, power_state=4)]


def chosen(expression, servers=SERVERS):
    return selection.compiled(expression).records(servers, SERVER, "id")


@pytest.mark.parametrize(
    ("expression", "uuids"),
    [
        ("[?metadata.tier=='gold']", ["u1"]),
        ("[?metadata.\"tier\"=='gold' || name=='web3']", ["u1", "u3"]),
        ("[?locked]", ["u3"]),
        ("[?!locked] | [:1]", ["u1"]),
        ("[?power_state==`4`]", ["u3"]),
        ("[?power_state>`1`]", ["u3"]),
        ("[?contains(name, '2')]", ["u2"]),
        ("[?starts_with(name, 'db')]", []),
        ("[?length(volumes) == `0`] | sort_by(@, &name) | reverse(@)", ["u3", "u2", "u1"]),
        ("[?host == hypervisor_hostname].{id: id, name: name}", ["u1", "u2", "u3"]),
        ("[?task_state == null]".replace("null", "`null`"), ["u1", "u2", "u3"]),
        ("[?(metadata.tier || 'none')=='none']", ["u2", "u3"]),
        ("[?`true` && locked]", ["u3"]),
        ("[?`4`==power_state]", ["u3"]),
        ("@", ["u1", "u2", "u3"]),
        ("[*]", ["u1", "u2", "u3"]),
    ],
)
def test_an_expression_selects_what_it_says(expression, uuids):
    assert chosen(expression) == uuids


@pytest.mark.parametrize(
    ("expression", "position", "problem"),
    [
        # The field is misspelt, at the top, below and in each construct.
        ("[?nam=='web1']", 3, "no-field"),
        ("[?status==ACTIVE]", 11, "no-field"),
        ("[?flavor.rm > `1`]", 10, "no-field"),
        ("[?name=='a' && nam=='b']", 16, "no-field"),
        ("[?!lockd]", 4, "no-field"),
        ("sort_by(@, &nam)", 13, "no-field"),
        ("[?contains(nam, 'x')]", 12, "no-field"),
        ("[?name=='a'].{id: id, n: nam}", 26, "no-field"),
        ("[?name=='nam' && nam=='x']", 18, "no-field"),
        ("[].[id, nam]", 9, "no-field"),
        ("metadata.tier", 1, "no-field"),
        ("[?name.first=='a']", 8, "no-field"),
        # A comparison that is never true.
        ("[?power_state=='4']", 3, "never-equal"),
        ("[?locked=='true']", 3, "never-equal"),
        ("[?name > 'a']", 3, "no-order"),
        ("[?metadata=='gold']", 3, "never-equal"),
        # A constant decides for every server.
        (
            "[?name=='web1' || 'web2']",
            19,
            "constant-condition",
        ),
        ("[?'web2']", 3, "constant-condition"),
        ("[?`1`]", 3, "constant-condition"),
        ("[?locked && `null`]", 13, "constant-condition"),
        ("[?!'web2']", 4, "constant-condition"),
        ("[?!(locked || ('a' && name))]", 16, "constant-condition"),
        ("[?name=='web2' && to_string('a')]", 19, "constant-condition"),
        ("[?[name=='web2']]", None, "constant-condition"),
        ("[?'web1'=='web1']", 3, "both-constant"),
        ("[?name=='a' || `1` > `0`]", 16, "both-constant"),
        # Functions.
        ("[?matches(name, 'x')]", 3, "no-function"),
        ("[?contains(name)]", 3, "number-of-arguments"),
        ("[?starts_with(power_state, 'x')]", 3, "type-of-argument"),
        ("sort_by(@, name)", 12, "no-field"),
        ("[?name[0]]", None, "no-list"),
        # No selection of servers.
        ("[0]", None, "no-records"),
        ("[].id", None, "no-records"),
        ("length(@)", None, "no-records"),
        ("`[1]`", None, "no-records"),
        ("[?name=='a'].{n: name}", None, "no-records"),
        # No expression.
        ("[?name=='a'", 12, "syntax"),
        ("[?name 'a']", 8, "syntax"),
        ("[?name==`a]", 9, "syntax"),
        ("", None, "syntax"),
    ],
)
def test_a_wrong_one_is_refused_with_its_place_before_a_record_is_read(expression, position, problem):
    with pytest.raises(selection.SelectionError) as raised:
        selection.compiled(expression).must_select(SERVER, "id")
    told = str(raised.value)
    assert raised.value.problem == problem, told
    assert told.startswith(repr(expression))
    assert position is None or raised.value.position == position, told
    assert told.isprintable()


@pytest.mark.parametrize(
    "expression", ["'off'", "power.state || 'off'", "[power.state, 'off']", "not_null(state, `0`)", "a=='on' && 'off'"]
)
def test_what_is_to_be_read_is_no_constant(expression):
    """The power state of a machine that answers nothing was read as off."""
    with pytest.raises(selection.SelectionError, check=problem_is("constant")):
        selection.compiled(expression).must_read()


@pytest.mark.parametrize(
    "expression",
    ["stdout", "e[?[0].uri=='/node1'] | [0][1].PowerState", "e[?contains(uri, 'n1')].state | [0]", "a=='off'"],
)
def test_what_reads_a_field_may_compare_it_with_a_constant(expression):
    selection.compiled(expression).must_read()


@pytest.mark.parametrize(
    ("expression", "problem", "names"),
    [
        ("[?metadata.tear=='gold']", "no-field", ("'tear'", "tier?")),
        ("[?flavor.ram > `1`]", "no-record-has-it", ("flavor", "'ram'")),
    ],
)
def test_what_only_the_records_can_say_is_refused_with_them(expression, problem, names):
    selection.compiled(expression).must_select(SERVER, "id")
    with pytest.raises(selection.SelectionError) as raised:
        chosen(expression)
    assert raised.value.problem == problem
    assert all(name in str(raised.value) for name in names)


def test_metadata_that_nobody_has_is_said():
    with pytest.raises(selection.SelectionError, match="metadata", check=problem_is("no-field")):
        chosen("[?metadata.tier=='gold']", [server(2)])


def test_a_key_of_the_owner_reaches_no_terminal_as_it_is():
    with pytest.raises(selection.SelectionError) as raised:
        chosen("[?metadata.tier=='x']", [server(2, metadata={"\x1b[31m": "x"})])
    assert str(raised.value).isprintable()


def test_without_a_record_no_key_is_missing():
    assert chosen("[?metadata.tier=='gold']", []) == []


def test_a_type_that_only_one_record_has_is_an_error_and_no_empty_answer():
    with pytest.raises(selection.SelectionError, match="contains"):
        chosen("[?contains(task_state, 'x')]")


def test_the_shape_is_that_of_the_facts():
    assert set(SERVER.fields) == {field.name for field in facts.dataclasses.fields(facts.ApiServer)}
    assert isinstance(SERVER.fields["metadata"], Keys) and isinstance(SERVER.fields["flavor"], Fields)
    assert set(observed(SERVER, SERVERS).fields["metadata"].fields) == {"tier"}


def test_the_guide_has_every_field_of_a_server_and_of_its_flavor():
    guide = (ROOT / "docs" / "reference" / "selections.md").read_text()
    names = [*SERVER.fields, *SERVER.fields["flavor"].fields]
    assert [name for name in names if f"`{name}`" not in guide] == []


FIELDS = sorted(name for name, shape in SERVER.fields.items() if shape.types == {"string"})


@given(st.sampled_from(FIELDS), st.text(alphabet="abxyz_", min_size=1, max_size=8))
def test_a_field_is_taken_exactly_if_a_record_has_it(known, other):
    selection.compiled(f"[?{known}=='x']").must_select(SERVER, "id")
    if other not in SERVER.fields:
        with pytest.raises(selection.SelectionError, check=problem_is("no-field")):
            selection.compiled(f"[?{known}=='x' && \"{other}\"=='x']").must_select(SERVER, "id")


def test_without_the_library_nothing_is_selected(monkeypatch):
    monkeypatch.setattr(selection, "JMESPATH", False)
    selection.compiled.cache_clear()
    with pytest.raises(selection.SelectionError, check=problem_is("no-jmespath")):
        selection.compiled("@")
