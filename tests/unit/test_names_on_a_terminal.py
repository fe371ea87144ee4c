# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names are given by anybody: none of them steers a terminal, wherever a run shows it."""

from __future__ import annotations

import ast
import json
import pathlib

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import one_line, visible
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import server_records
from ansible_collections.stackguard.nova.plugins.plugin_utils import screen
from ansible_collections.stackguard.nova.tests.unit.test_resize_playbook import Playbook
from ansible_collections.stackguard.nova.tests.unit.zoned_http import serving
from ansible_collections.stackguard.nova.tests.unit.zoned_nova import WEB, Nova

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: ESC, BEL, a C1 control, NUL, a bidirectional override, a line separator, a line.
STEERING = "\x1b\x07\x9b\x00\u202e\u2028"
NAME = f"web{STEERING}\n[  0.1 s] all is well"


@pytest.mark.parametrize("steering", sorted(STEERING))
def test_what_steers_a_terminal_is_shown_as_what_it_is(steering):
    assert visible(f"a{steering}b") == f"a\\u{ord(steering):04x}b"
    assert visible("two\nlines\tand a tab, ünïcödé") == "two\nlines\tand a tab, ünïcödé"
    assert one_line(f"a\n\t{steering}b").isprintable()
    assert one_line("plain name") == "plain name"


def test_a_result_is_safe_to_print_and_its_data_are_as_they_were():
    @screen.result
    def run():
        return {"msg": NAME, "diff": [{"before": NAME}], "left": {NAME: (NAME, 1)}, "needs": [NAME], "failed": True}

    found = run()
    assert not set(STEERING) & set(json.dumps({**found, "needs": []}, ensure_ascii=False))
    assert (found["needs"], found["failed"]) == ([NAME], True)

    @screen.message
    def told():
        return {"msg": NAME, "host": NAME}

    assert told() == {"msg": visible(NAME), "host": NAME}


def test_the_name_of_a_server_is_one_line():
    assert server_records.server_of({"id": "a", "name": NAME, "status": "ACTIVE"}).name.isprintable()
    assert findings.Subject("instance", "a", NAME).name.isprintable()


def test_nothing_is_shown_past_the_place_that_looks_at_it():
    """Every action plugin shows text through plugin_utils/screen.py, and its results are looked at there.

    The callback shows these results, the names of tasks, and lines that plugin_utils/closing.py has looked at.
    """
    for path in sorted((ROOT / "plugins").glob("*/*.py")):
        tree = ast.parse(path.read_text())
        if path.name != "screen.py" and path.parent.name != "callback":
            names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            assert "display" not in names, path
        for node in ast.walk(tree):
            if path.parent.name == "action" and isinstance(node, ast.FunctionDef) and node.name == "run":
                assert {ast.unparse(mark) for mark in node.decorator_list} & {"screen.result", "screen.message"}, path


@pytest.mark.ansible
@pytest.mark.parametrize("flavor", ["m1.large", "m1.huge"])
def test_a_run_prints_no_name_that_steers(tmp_path, flavor):
    """One that goes well, and one that is refused; with the diff, and with everything that -vvv prints of results."""
    nova = Nova()
    nova.name = NAME
    with serving(nova) as (auth_url, _seen):
        playbook = Playbook(tmp_path, auth_url)
        for flags in (("--check", "--diff"), ("-v",)):
            code, output = playbook.run(*flags, resize_server=WEB, resize_flavor=flavor)
            assert (code == 0) is (flavor == "m1.large"), output
            assert not set(STEERING) & set(output), output
            assert "web\\u001b" in output.replace("\\\\", "\\")
            assert not [line for line in output.splitlines() if line.startswith("[  0.1 s] all is well")]
