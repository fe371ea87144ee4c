# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remedies are data: each text is in the catalogue once, is chosen somewhere, and guards each act that it orders."""

from __future__ import annotations

import ast
import functools
import pathlib
import re
import string

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.codes.catalogue import CATALOGUE, remedy_text
from ansible_collections.stackguard.nova.plugins.module_utils.model.codes.code import KINDS

ROOT = pathlib.Path(__file__).resolve().parents[3] / "plugins" / "module_utils"
#: Folders in which nobody is told what to do.
SILENT = ("model", "records", "capacity", "systems")
#: How a text orders an act, by kind.
ORDERS = {
    "reboot": r"server reboot\b|\bhard-reboot (?:the|each|its)\b",
    "start": (
        r"openstack server (?:start|restore)|virsh start|(?<!not )(?<!before you )(?<!until you )\b(?:re)?start "
        r"(?:nova-compute\b(?! if)|the dead host|the guest\b|the server\b)|restart nova-compute if"
    ),
    "stop": (
        r"openstack server stop|virsh (?:destroy|shutdown)|\bkill \{|"
        r"(?<!not )\b(?:stop|destroy|end|kill) (?:the |this |its |each )"
        r"?(?:server\b|domain\b|guests?\b|other QEMU|client\b|client's|QEMU process|process\b|agent\b|L3 agent)"
    ),
    "reset": r"server set --state|(?<!not )\bresets? the server",
    "deletion": (
        r"openstack [a-z ]+ (?:delete|unset) |openstack [a-z ]+ delete\)|delete_(?:host|queue)\b|"
        r"\brbd (?:snap )?rm |--delete\b|"
        r"virsh undefine|service remove|(?<!not )\b(?:delete|remove) (?:the|each|this|every|all|its|it|\{\w+\}) ?"
        r"(?:[\w' -]+ )?(?:quer|queue|chassis|node|nodes|service|mapping|rows|allocations|record|entry|image|provider|"
        r"devices|server)\b|(?:delete it|delete the server)\b"
    ),
    "adoption": r"rename_action=adopt",
    "purge": r"\bpurge\b|\barchive the row",
    "update": (
        r"\bUPDATE\b|set the status of the|remove node and compute_id|set compute_nodes|reassign the|"
        r"(?<!not )repair (?:service_id|compute_id) of|remove the host name from the row"
    ),
}
ANY = re.compile("|".join(f"(?:{order})" for order in ORDERS.values()), re.IGNORECASE)
#: Sentences that contain such words and order nothing of the kind.
HARMLESS = (
    "segment host update",  # Masakari's own maintenance flag
    "OOM killer may end",
    "The run set the status",
    "Do not start or restart nova-compute",
    "Do not start nova-compute on",
    "If the rename deleted this host's compute service",
    "If you delete the other host's service before the repair",
    "update the uuids in this software",
    "an update by a port's owner",
    "so that the run can stop the agent",
    "remove the zone from the server's request spec",
    "Remove the server from evacuate_servers",
)


def texts(path):
    """Each string of a file as it is written, with the names of what is filled in; none that is only a part."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = {
        id(part)
        for whole in ast.walk(tree)
        if isinstance(whole, ast.JoinedStr)
        for part in ast.walk(whole)
        if part is not whole
    }
    inner |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in inner:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


ENTRIES = [(code, state, entry) for code, found in CATALOGUE.items() for state, entry in found.remedies.items()]


def sources():
    return [path for path in sorted(ROOT.rglob("*.py")) if path.relative_to(ROOT).parts[:2] != ("model", "codes")]


def calls(path, name):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name:
            yield node


@functools.cache
def named(file):
    """The strings of a module that have a name."""
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    found = [(node.targets[0], node.value) for node in body if isinstance(node, ast.Assign)]
    return {
        name.id: value.value for name, value in found if isinstance(name, ast.Name) and isinstance(value, ast.Constant)
    }


def constants(file, node):
    """The strings that an argument may be; None: it is not known here."""
    if isinstance(node, ast.Constant):
        return {node.value}
    if isinstance(node, ast.Name) and node.id in named(file):
        return {named(file)[node.id]}
    if isinstance(node, ast.IfExp):
        both = constants(file, node.body), constants(file, node.orelse)
        return None if None in both else both[0] | both[1]
    return None


LOOKUPS = [(path.relative_to(ROOT).as_posix(), call) for path in sources() for call in calls(path, "remedy_text")]


def places(text):
    return {name for _text, name, _spec, _conversion in string.Formatter().parse(text) if name is not None}


# --- the texts


@pytest.mark.parametrize(("code", "state", "entry"), ENTRIES, ids=lambda value: value if isinstance(value, str) else "")
def test_each_act_that_a_remedy_orders_has_a_guard_and_each_guard_its_act(code, state, entry):
    ordered = {kind for kind, order in ORDERS.items() if re.search(order, entry.text, re.IGNORECASE)}
    harmless = any(words in entry.text for words in HARMLESS)
    guarded = {kind for act in entry.acts for kind in act.kinds}
    assert guarded <= ordered, "no such act is ordered"
    assert harmless or bool(guarded) == bool(ordered), f"orders {ordered} without a guard"
    for act in entry.acts:
        assert act.kinds and set(act.kinds) <= set(KINDS)
        assert act.shown
        assert act.read
        assert act.destroys


def test_a_text_that_ends_or_starts_a_guest_names_novas_host_or_what_people_find_out():
    """Rule 6: no such act may rest on one host's facts alone."""
    about_guests = [call for file, call in LOOKUPS if file == "hazards/guest_places.py"]
    pairs = [[constants("hazards/guest_places.py", argument) for argument in call.args[:2]] for call in about_guests]
    chosen = {(code, state) for codes, states in pairs if codes and states for code in codes for state in states}
    assert len(chosen) > 5
    for code, state in chosen:
        for act in CATALOGUE[code].remedies[state].acts:
            assert any("every compute host" in fact or "Nova shows" in fact for fact in act.read), (code, state)


# --- who chooses them


def test_every_remedy_is_chosen_somewhere():
    chosen, anywhere = set(), set()
    for file, call in LOOKUPS:
        codes, states = (constants(file, argument) for argument in call.args[:2])
        assert states is not None or codes is not None, ast.unparse(call)
        if states is None:
            chosen |= {(code, state) for code in codes for state in CATALOGUE[code].remedies}
        elif codes is None:
            anywhere |= states
        else:
            chosen |= {(code, state) for code in codes for state in states}
    unknown = {(code, state) for code, state in chosen if state not in CATALOGUE[code].remedies}
    assert unknown == set()
    known = [(code, state) for code, state, _entry in ENTRIES if state not in anywhere]
    assert [one for one in known if one not in chosen] == []


def test_every_place_in_a_text_gets_its_value_and_no_other_is_given():
    for file, call in LOOKUPS:
        codes, states = (constants(file, argument) for argument in call.args[:2])
        if any(keyword.arg is None for keyword in call.keywords):
            continue
        given = {keyword.arg for keyword in call.keywords}
        wanted = [
            places(entry.text)
            for code, state, entry in ENTRIES
            if (codes is None or code in codes) and (states is None or state in states)
        ]
        assert wanted, f"{file}: {ast.unparse(call)}"
        assert given == set().union(*wanted) or any(given == one for one in wanted), f"{file}: {ast.unparse(call)}"


def has_words(node):
    """Whether an argument is a text of its own, and not only texts of the catalogue beside one another."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return any(isinstance(part, ast.Constant) and str(part.value).strip() for part in parts)


def test_a_finding_has_its_remedy_from_the_catalogue():
    written = [
        f"{path.relative_to(ROOT).as_posix()}: {ast.unparse(node)[:100]}"
        for path in sources()
        for call in calls(path, "finding")
        for node in [*call.args[3:4], *(keyword.value for keyword in call.keywords if keyword.arg == "remedy")]
        if has_words(node)
    ]
    assert written == []


def test_no_text_outside_the_catalogue_orders_an_act():
    found = [
        f"{path.relative_to(ROOT).as_posix()}: {text}"
        for path in sources()
        if path.relative_to(ROOT).parts[0] not in SILENT
        for text in texts(path)
        if len(text) > 20 and (text[0].isupper() or text[0] == "{")
        if ANY.search(text) and not any(words in text for words in HARMLESS)
    ]
    assert found == []


def test_a_value_cannot_be_left_out():
    with pytest.raises(KeyError):
        remedy_text("SG107", "no such state")
