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
    ("expression", "position", "words"),
    [
        # The field is misspelt, at the top, below and in each construct.
        ("[?nam=='web1']", 3, "a server has no field 'nam': did you mean name? It has availability_zone, config_drive"),
        ("[?status==ACTIVE]", 11, "If ACTIVE is a text, write ACTIVE in single quotes in the expression: 'ACTIVE'"),
        ("[?flavor.rm > `1`]", 10, "flavor has no field 'rm'"),
        ("[?name=='a' && nam=='b']", 16, "no field 'nam'"),
        ("[?!lockd]", 4, "no field 'lockd'"),
        ("sort_by(@, &nam)", 13, "no field 'nam'"),
        ("[?contains(nam, 'x')]", 12, "no field 'nam'"),
        ("[?name=='a'].{id: id, n: nam}", 26, "no field 'nam'"),
        ("[?name=='nam' && nam=='x']", 18, "no field 'nam'"),
        ("[].[id, nam]", 9, "no field 'nam'"),
        ("metadata.tier", 1, "a list has no field 'metadata'"),
        ("[?name.first=='a']", 8, "a text has no field 'first'"),
        # A comparison that is never true.
        ("[?power_state=='4']", 3, "compares a number with a text, and these are never equal. In an expression, "),
        ("[?locked=='true']", 3, "compares a boolean with a text, and these are never equal"),
        ("[?name > 'a']", 3, "a text has no order"),
        ("[?metadata=='gold']", 3, "compares metadata with a text, and these are never equal"),
        # A constant decides for every server.
        (
            "[?name=='web1' || 'web2']",
            19,
            "the constant 'web2' is always true or always false: compare a field with the constant",
        ),
        ("[?'web2']", 3, "such as name=='web2'"),
        ("[?`1`]", 3, "the constant `1` is always true or always false"),
        ("[?locked && `null`]", 13, "the constant `null` is always true or always false"),
        ("[?!'web2']", 4, "the constant 'web2' is always true or always false"),
        ("[?!(locked || ('a' && name))]", 16, "the constant 'a' is always true or always false"),
        ("[?name=='web2' && to_string('a')]", 19, "a constant is always true or always false"),
        ("[?[name=='web2']]", None, "a constant is always true or always false"),
        ("[?'web1'=='web1']", 3, "both sides of the comparison are constants"),
        ("[?name=='a' || `1` > `0`]", 16, "both sides of the comparison are constants"),
        # Functions.
        ("[?matches(name, 'x')]", 3, "there is no function matches: the functions are abs"),
        ("[?contains(name)]", 3, "contains takes 2 arguments, not 1"),
        ("[?starts_with(power_state, 'x')]", 3, "starts_with takes a text, not a number"),
        ("sort_by(@, name)", 12, "a list has no field 'name'"),
        ("[?name[0]]", None, "a text is not a list"),
        # No selection of servers.
        ("[0]", None, "the expression does not select records"),
        ("[].id", None, "the expression does not select records"),
        ("length(@)", None, "the expression does not select records"),
        ("`[1]`", None, "the expression does not select records"),
        ("[?name=='a'].{n: name}", None, "the expression does not select records"),
        # No expression.
        ("[?name=='a'", 12, "Incomplete expression"),
        ("[?name 'a']", 8, "the expression is not valid JMESPath"),
        ("[?name==`a]", 9, "Unclosed ` delimiter"),
        ("", None, "cannot be empty"),
    ],
)
def test_a_wrong_one_is_refused_with_its_place_before_a_record_is_read(expression, position, words):
    with pytest.raises(selection.SelectionError) as raised:
        selection.compiled(expression).must_select(SERVER, "id")
    told = str(raised.value)
    assert told.startswith(repr(expression)) and words in told, told
    assert position is None or f"at character {position}: " in told, told
    assert told.isprintable()


@pytest.mark.parametrize(
    "expression", ["'off'", "power.state || 'off'", "[power.state, 'off']", "not_null(state, `0`)", "a=='on' && 'off'"]
)
def test_what_is_to_be_read_is_no_constant(expression):
    """The power state of a machine that answers nothing was read as off."""
    with pytest.raises(selection.SelectionError, match="is a constant, not a field"):
        selection.compiled(expression).must_read()


@pytest.mark.parametrize(
    "expression",
    ["stdout", "e[?[0].uri=='/node1'] | [0][1].PowerState", "e[?contains(uri, 'n1')].state | [0]", "a=='off'"],
)
def test_what_reads_a_field_may_compare_it_with_a_constant(expression):
    selection.compiled(expression).must_read()


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("[?metadata.tear=='gold']", "metadata has no field 'tear': did you mean tier? It has tier"),
        ("[?flavor.ram > `1`]", "no record has the field flavor, so 'ram' selects nothing"),
    ],
)
def test_what_only_the_records_can_say_is_refused_with_them(expression, words):
    selection.compiled(expression).must_select(SERVER, "id")
    with pytest.raises(selection.SelectionError) as raised:
        chosen(expression)
    assert words in str(raised.value)


def test_metadata_that_nobody_has_is_said():
    with pytest.raises(selection.SelectionError, match="metadata is empty in every record"):
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
    guide = (ROOT / "docs" / "guides" / "selections.md").read_text()
    names = [*SERVER.fields, *SERVER.fields["flavor"].fields]
    assert [name for name in names if f"`{name}`" not in guide] == []


FIELDS = sorted(name for name, shape in SERVER.fields.items() if shape.types == {"string"})


@given(st.sampled_from(FIELDS), st.text(alphabet="abxyz_", min_size=1, max_size=8))
def test_a_field_is_taken_exactly_if_a_record_has_it(known, other):
    selection.compiled(f"[?{known}=='x']").must_select(SERVER, "id")
    if other not in SERVER.fields:
        with pytest.raises(selection.SelectionError, match="has no field"):
            selection.compiled(f"[?{known}=='x' && \"{other}\"=='x']").must_select(SERVER, "id")


def test_without_the_library_nothing_is_selected(monkeypatch):
    monkeypatch.setattr(selection, "JMESPATH", False)
    selection.compiled.cache_clear()
    with pytest.raises(selection.SelectionError, check=problem_is("no-jmespath")):
        selection.compiled("@")
