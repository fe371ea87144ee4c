# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each remedy that orders a reboot, start, stop, reset, deletion, adoption, purge or UPDATE is in the table of acts."""

from __future__ import annotations

import ast
import functools
import pathlib
import re

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import CATALOGUE
from ansible_collections.stackguard.nova.plugins.module_utils.model.remedy_acts import KINDS, REMEDY_ACTS

ROOT = pathlib.Path(__file__).resolve().parents[3] / "plugins" / "module_utils"
#: Folders in which nobody is told what to do.
SILENT = ("model", "records", "capacity", "systems")
ROOMS = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in (*SILENT, "__pycache__"))
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


@functools.cache
def remedies():
    """Texts that are sentences and order something. What is told of the past begins small."""
    return [
        (path.relative_to(ROOT).as_posix(), text)
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        for text in texts(path)
        if len(text) > 20 and (text[0].isupper() or text[0] == "{")
        if ANY.search(text) and not any(word in text for word in HARMLESS)
    ]


def test_every_remedy_that_orders_such_an_act_is_in_the_table():
    missing = [
        f"{file}: {text}"
        for file, text in remedies()
        if not any(row.file == file and row.words in text for row in REMEDY_ACTS)
    ]
    assert missing == []


@pytest.mark.parametrize("row", REMEDY_ACTS, ids=lambda row: f"{row.file}: {row.words}")
def test_every_row_has_its_remedy_and_says_all_that_is_asked(row):
    found = [text for file, text in remedies() if file == row.file and row.words in text]
    assert found, "no such text orders anything"
    assert row.kinds
    assert set(row.kinds) <= set(KINDS)
    for kind in row.kinds:
        assert any(re.search(ORDERS[kind], text, re.IGNORECASE) for text in found), kind
    assert set(row.codes) <= set(CATALOGUE)
    assert row.shown
    assert row.read
    assert row.destroys


def test_a_text_that_ends_or_starts_a_guest_names_novas_host_or_what_people_find_out():
    """Rule 6: no such act may rest on one host's facts alone."""
    for row in REMEDY_ACTS:
        if row.file == "hazards/guest_places.py":
            assert any("every compute host" in fact or "Nova shows" in fact for fact in row.read), row.words
