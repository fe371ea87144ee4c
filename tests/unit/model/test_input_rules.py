# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever is typed for a name: each playbook refuses it with the variable, what is wrong and what is accepted.

One process for each variable: a play of many hosts, each of which has another bad value and runs the role's first
tasks, those that the playbook runs. What a valid name leads to is in the tests of the playbooks.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from ansible_collections.stackguard.nova.plugins.module_utils.model import input_rules, old_variables
from ansible_collections.stackguard.nova.plugins.module_utils.model import server_selection as options
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import hostnames
from ansible_collections.stackguard.nova.tests.unit.builders import healthy
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT
from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import entries
from ansible_collections.stackguard.nova.tests.unit.saved_evidence import save_as
from ansible_collections.stackguard.nova.tests.unit.zoned_http import serving
from ansible_collections.stackguard.nova.tests.unit.zoned_nova import Nova

BAD = {
    "single quotes": "'; DROP TABLE services; --",
    "double quotes": 'cn"1',
    "spaces": "compute 1",
    "html": "<script>alert(1)</script>",
    "unicode": "compüte-1",
    "bidi": "cn\u202e1",
    "long": "c" * 300,
    "path": "../../etc/passwd",
    "dash": "--limit=all",
    "newline": "compute1\n",
    "escape": "cn\x1b[2J",
    "null": "cn\x001",
    "jinja": "{{ lookup('pipe', 'id') }}",
    "shell": "$(id)",
    "percent": "cn%31",
    "nothing": "",
    "list": ["compute1"],
    "number": 7,
}
GOOD = ["compute1", "cn-1.rack_7.example.org", "1", "C" * 255]
#: Of servers and flavors all that can be printed is a name.
PRINTABLE = {"single quotes", "double quotes", "spaces", "html", "unicode", "path", "dash", "jinja", "shell", "percent"}
#: The new name of a host is judged by SG118, in the report, with whatever else is wrong.
JUDGED = PRINTABLE | {"long"}


@pytest.mark.parametrize("kind", input_rules.ACCEPTED)
@pytest.mark.parametrize("name", GOOD)
def test_a_name_is_a_name(kind, name):
    assert input_rules.problems({"variable": name, "none": None}, kind) == []
    assert input_rules.problems({"variable": [name, name], "empty": []}, "hosts") == []


@pytest.mark.parametrize("what", BAD)
def test_what_no_host_can_be_called_is_refused(what):
    (told,) = input_rules.problems({"rename_to": BAD[what]}, "host")
    assert told.startswith("rename_to is ")
    assert " 1 to 255 " in told
    assert told.isascii() and told.isprintable() and len(told) < 500


@pytest.mark.parametrize("what", BAD)
def test_a_server_may_be_called_anything_that_can_be_printed(what):
    told = input_rules.problems({"resize_server": BAD[what]}, "name")
    assert (told == []) == (what in PRINTABLE)
    assert all(line.isascii() and line.isprintable() for line in told)


@pytest.mark.parametrize("what", BAD)
def test_what_a_finding_judges_is_any_text_on_one_line(what):
    told = input_rules.problems({"rename_to": BAD[what]}, "text")
    assert (told == []) == (what in JUDGED)
    assert all(line.isascii() and line.isprintable() for line in told)


@pytest.mark.parametrize("what", sorted(JUDGED))
def test_the_finding_names_what_no_host_can_be_called(what):
    assert hostnames.problems(BAD[what])


def test_every_wrong_name_is_told_at_once():
    told = input_rules.problems({"repair_hosts": ["x/y", "fine", "-z"], "others": "a b"}, "hosts")
    assert [line.split(" ", 1)[0] for line in told] == ["repair_hosts", "repair_hosts", "others"]
    assert 'begins with "-"' in told[1]


@pytest.mark.parametrize("what", BAD)
def test_a_selection_of_servers_is_a_list_or_an_expression_and_says_what_is_wrong(what):
    if what == "nothing":
        assert options.chosen_servers(BAD[what], []) is None
    elif what == "list":
        assert options.chosen_servers(BAD[what], []) == BAD[what]
    else:
        with pytest.raises(options.OptionError, match=r"^servers: ") as raised:
            options.chosen_servers(BAD[what], [])
        assert str(raised.value).isprintable()
    if isinstance(BAD[what], str):
        # A name is compared with names, whatever is in it: what nobody is called is told by the checks.
        assert options.chosen_servers([BAD[what]], []) == [BAD[what]]


class Play:
    """The first tasks of a playbook on one host for each bad value. Nothing is reached."""

    def __init__(self, folder, playbook, variable, needed):
        self.folder = folder
        hosts = {}
        for number, value in enumerate(BAD.values()):
            # Marked as from a survey: nobody templates it.
            hosts[f"case{number}"] = {
                **needed,
                variable: {"__ansible_unsafe": value} if isinstance(value, str) else value,
            }
        (folder / "inventory.json").write_text(json.dumps({"cases": {"hosts": hosts}}))
        include = {"name": "stackguard.nova.common", "tasks_from": "begin", "rolespec_validate": False}
        play = {
            "hosts": "cases",
            "gather_facts": False,
            "connection": "local",
            "vars": {"ansible_python_interpreter": sys.executable, "stackguard_report_dir": str(folder / "reports")},
            "tasks": [
                {
                    "block": [
                        {
                            "name": "Begin",
                            "ansible.builtin.include_role": include,
                            "vars": {"stackguard_playbook": playbook},
                        }
                    ],
                    "rescue": [{"ansible.builtin.debug": {"msg": "TOLD {{ ansible_failed_result | to_json }}"}}],
                }
            ],
        }
        (folder / "play.json").write_text(json.dumps([play]))

    def run(self, short_tmp):
        return ansible(self.folder, short_tmp, "play.json", "-i", "inventory.json", "-f", "20")


@pytest.mark.ansible
@pytest.mark.parametrize(
    ("playbook", "variable", "needed"),
    [(name, variable, needed) for name, entry in entries().items() for variable, needed in entry.hosts.items()],
)
def test_every_playbook_refuses_what_no_host_can_be_called(tmp_path, short_tmp, playbook, variable, needed):
    told = Play(tmp_path, playbook, variable, needed).run(short_tmp)
    messages = dict(re.findall(r'ok: \[case(\d+)\] => \{\s*"msg": "TOLD (.*)"', told))
    for number, what in enumerate(BAD):
        if variable in ("pin_hosts", "repair_hosts") and what in ("list", "nothing"):
            continue
        if variable == "maintain_hosts" and what == "list":
            continue
        message = messages.get(str(number), "")
        if variable == "rename_to" and what in JUDGED:
            # Past the first refusal: the next is that this test's inventory has no such host.
            assert "0 inventory hosts have the Nova name" in message, (what, message)
            continue
        assert variable in message, (what, message, told[-3000:])
        assert "\x1b" not in message


def ansible(folder, short_tmp, *argv, **more):
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(folder / "home")}
    env.update(ANSIBLE_NOCOLOR="1", TMPDIR=str(short_tmp), **more)
    argv = [sys.executable, "-m", "ansible", "playbook", *argv]
    return subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.ansible
def test_what_a_server_may_be_called_reaches_nova_as_a_name_only(tmp_path, short_tmp):
    """Nova is asked for a server of that name, and answers that there is none: no other request, no other file."""
    names = [BAD[what] for what in sorted(PRINTABLE)]
    nova = Nova()
    task = {
        "stackguard.nova.server_resize": {
            "server": "{{ item }}",
            "flavor": "{{ item }}",
            "state_dir": str(tmp_path / "state"),
            "auth": "{{ auth }}",
        },
        "loop": [{"__ansible_unsafe": name} for name in names],
        "ignore_errors": True,
    }
    with serving(nova) as (auth_url, seen):
        auth = {"auth_url": auth_url, "username": "admin", "password": "none", "project_name": "admin"}
        auth.update(user_domain_name="Default", project_domain_name="Default")
        play = {"hosts": "localhost", "gather_facts": False, "vars": {"auth": auth}, "tasks": [task]}
        (tmp_path / "play.json").write_text(json.dumps([play]))
        told = ansible(tmp_path, short_tmp, "play.json", "-e", f"ansible_python_interpreter={sys.executable}")
    assert told.count("failed: [localhost]") == len(names), told
    assert {method for method, _path in seen} == {"GET"}
    # Which cells answer is asked before and after a list.
    assert {path for _method, path in seen} == {"/servers", "/os-services"}, seen
    assert nova.calls == []


@pytest.mark.ansible
def test_a_report_directory_may_be_called_anything(tmp_path, short_tmp):
    save_as(tmp_path / "saved.jsonl", healthy().bundle)
    name = "-re p'o\"rt <b>ü $(id)/x"
    (tmp_path / "vars.json").write_text(json.dumps({"audit_evidence": "saved.jsonl", "stackguard_report_dir": name}))
    told = ansible(tmp_path, short_tmp, "stackguard.nova.audit", "-e", "@vars.json")
    assert "failed=0" in told, told
    assert (tmp_path / name / "report.html").exists()


KNOWN = ["drain_host", "drain_action", "evacuate_peers", "migrate_action", "nova_cell_db_urls", "rename_strategy"]
PREFIXES = {"drain", "evacuate", "migrate", "rename"}


def unknown(extra=(), inventory=()):
    return input_rules.unknown_variables(extra, inventory, KNOWN, PREFIXES)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("rename_stratgy", "rename_strategy"),
        ("rename_startegy", "rename_strategy"),
        ("drain_acton", "drain_action"),
        ("evacute_peers", "evacuate_peers"),
        ("nova_cell_db_url", "nova_cell_db_urls"),
    ],
)
def test_a_misspelt_variable_is_named_with_the_one_that_was_meant(name, meant):
    (told,) = unknown([name])
    (of_inventory,) = unknown([], [name])
    for text in (told, of_inventory):
        assert name in text and text.endswith(f" {meant}?")
    assert told != of_inventory
    # Extra variables are variables of every host as well.
    assert unknown([name], [name]) == unknown([name])


def test_an_unknown_variable_with_one_of_our_prefixes_is_refused_as_an_extra_variable_only():
    (told,) = unknown(["rename_everything_at_once"])
    assert "rename_everything_at_once" in told
    assert " rename_strategy, " in told
    assert unknown([], ["rename_everything_at_once", "drain_hook"]) == []


@pytest.mark.parametrize(("name", "successor"), sorted(old_variables.SUCCESSORS.items()))
def test_an_old_variable_is_refused_with_its_successor_wherever_it_is_set(name, successor):
    for told in (input_rules.unknown_variables([name], [], [], []), input_rules.unknown_variables([], [name], [], [])):
        assert len(told) == 1 and name in told[0] and successor in told[0]


@pytest.mark.parametrize(("name", "value"), sorted(old_variables.CONSTANTS.items()))
def test_an_old_variable_that_is_a_constant_now_is_refused_with_its_value(name, value):
    for told in (input_rules.unknown_variables([name], [], [], []), input_rules.unknown_variables([], [name], [], [])):
        assert len(told) == 1 and name in told[0] and value in told[0]


@pytest.mark.parametrize("name", sorted(old_variables.GONE))
def test_an_old_variable_that_is_gone_is_refused_wherever_it_is_set(name):
    for told in (input_rules.unknown_variables([name], [], [], []), input_rules.unknown_variables([], [name], [], [])):
        assert len(told) == 1 and name in told[0]


def test_no_variable_is_old_and_in_use_and_no_successor_is_old():
    specs = [yaml.safe_load(path.read_text()) for path in ROOT.glob("roles/*/meta/argument_specs.yml")]
    known = {name for spec in specs for entry in spec["argument_specs"].values() for name in entry.get("options") or {}}
    old = {*old_variables.SUCCESSORS, *old_variables.CONSTANTS, *old_variables.GONE}
    assert not old & known
    assert set(old_variables.SUCCESSORS.values()) <= known
    assert not set(old_variables.SUCCESSORS) & set(old_variables.CONSTANTS)
    assert set(old_variables.ONE_RUN) <= known


def test_what_is_meant_for_one_run_is_refused_in_the_inventory_and_taken_with_e():
    (name,) = old_variables.ONE_RUN
    assert input_rules.unknown_variables([name], [name], [name], ["stackguard"]) == []
    (told,) = input_rules.unknown_variables([], [name], [name], ["stackguard"])
    assert name in told


def test_known_variables_and_those_of_others_are_taken():
    assert unknown(KNOWN, KNOWN) == []
    assert unknown(["cloud", "nova_tenant_name", "rename", "ansible_user"], ["kolla_base_distro", "nova_console"]) == []
