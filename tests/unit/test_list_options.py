# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plain string is a list of one, for every option that is a list: ``-e NAME=VALUE`` cannot type anything else."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml
from ansible.parsing.splitter import parse_kv

from ansible_collections.stackguard.nova.plugins.filter.as_list import as_list
from ansible_collections.stackguard.nova.plugins.plugin_utils import run_input
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD
from ansible_collections.stackguard.nova.tests.unit.test_playbook_reads import HERE

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPECS = sorted(ROOT.glob("roles/*/meta/argument_specs.yml"))
#: What only our own roles give, and what filters make.
INTERNAL = ("refuse_", "stackguard_overrides")


def list_options():
    found = {}
    for path in SPECS:
        for entry in yaml.safe_load(path.read_text())["argument_specs"].values():
            options = entry.get("options") or {}
            found.update({name: option for name, option in options.items() if option.get("type") == "list"})
    return sorted(name for name in found if not name.startswith(INTERNAL))


def texts(node, key=""):
    """Every text of a YAML document, with the key of the mapping that it is in; task keywords are told from options."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield from texts(value, name)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value, key)
    elif isinstance(node, str):
        yield key, node


FILES = [
    path
    for pattern in ("roles/*/tasks/*.yml", "roles/*/vars/*.yml", "playbooks/*.yml")
    for path in sorted(ROOT.glob(pattern))
]
TEXTS = [(path, key, text) for path in FILES for key, text in texts(yaml.safe_load(path.read_text()))]


def test_there_are_such_options():
    assert {"audit_sources", "repair_hosts", "doctor_operations", "stackguard_ceph_host"} <= set(list_options())


@pytest.mark.parametrize("name", list_options())
def test_no_role_takes_text_for_a_list(name):
    """Text in a test, a loop or a filter is a sequence of characters: ``'api' in 'compute_api'``."""
    word = re.compile(rf"(?<![A-Za-z0-9_'\"]){name}(?![A-Za-z0-9_])")
    for path, key, text in TEXTS:
        # Prose and task names name options, too.
        if key in ("name", "fail_msg", "refuse_reason", "msg") or not word.search(text):
            continue
        # The playbook and the role of that name.
        if key in ("stackguard_playbook", "operation", "hosts") and name == "remove_host":
            continue
        # A whole value that an option of a module takes as it is: Ansible splits text there.
        way = rf"(hostvars\[[^\]]+\]\.)?{name} *(\| *default\([^)]*\) *)?(\| *stackguard\.nova\.as_list *)?"
        whole = re.match(rf"^\{{\{{ *{way}\}}\}}$", text.strip())
        filtered = re.sub(rf"\(?\b{name} \| stackguard\.nova\.as_list", "", text)
        asked = re.sub(rf"\b{name} is (none|string)\b|\b{name} \| length > 0", "", filtered)
        assert (whole and key not in ("that", "when", "loop")) or not word.search(asked), f"{path}: {key}: {text}"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("api", ["api"]),
        ("api,hosts", ["api", "hosts"]),
        ("api, hosts", ["api", "hosts"]),
        (["api"], ["api"]),
        (("api",), ["api"]),
        ("", []),
        (" ", []),
        (None, []),
        ([], []),
        (5, [5]),
        ({"a": 1}, [{"a": 1}]),
    ],
)
def test_what_is_given_for_a_list(given, found):
    assert as_list(given) == found


@pytest.mark.parametrize("typed", ["audit_sources=api, hosts", "evacuate_order=metadata.priority || `9`", "a=b c=d"])
def test_a_value_that_ansible_cuts_at_a_blank_is_refused(typed):
    """What is left is often valid by itself, and narrower than what was typed."""
    told = run_input.wrong_variables("audit", list(parse_kv(typed)), {"hostvars": {}, "groups": {"all": []}}, {})
    assert bool(told) == (typed != "a=b c=d")


@pytest.mark.ansible
@pytest.mark.parametrize(
    ("playbook", "variable", "value", "words"),
    [
        ("audit", "audit_sources", "api", "Cloud no-such-cloud was not found"),
        ("audit", "audit_sources", "api,databases", "Cloud no-such-cloud was not found"),
        ("doctor", "doctor_sources", "api", "Cloud no-such-cloud was not found"),
        ("doctor", "doctor_operations", "drain_host", "not ready"),
        ("repair_links", "repair_hosts", "compute1", "nova_api_db_url is not set"),
        ("repair_links", "repair_codes", "SG201,SG202", "nova_api_db_url is not set"),
        ("pin_servers", "pin_hosts", "compute1,compute2", "Cloud no-such-cloud was not found"),
    ],
)
def test_a_plain_string_is_a_list(tmp_path, playbook, variable, value, words):
    (tmp_path / "inventory.json").write_text(json.dumps({"compute": {"hosts": {"compute1": HERE}}}))
    given = {"stackguard_report_dir": str(tmp_path / "reports"), "cloud": "no-such-cloud", variable: value}
    argv = [sys.executable, "-m", "ansible", "playbook", f"stackguard.nova.{playbook}"]
    argv += ["-i", str(tmp_path / "inventory.json"), "-e", json.dumps(given)]
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
    env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_STDOUT_CALLBACK="default")
    done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    assert done.returncode not in (0, 250), told
    said = told + "".join(path.read_text() for path in sorted((tmp_path / "reports").glob("*.json")))
    assert words in said, told
    if variable == "audit_sources":
        report = json.loads((tmp_path / "reports" / "report.json").read_text())
        assert report["hosts"] == 0, "the hosts were not asked for"
