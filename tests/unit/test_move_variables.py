# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""H11: what is typed with -e is read, or refused by name. Ansible ignores what nobody reads, and went forward."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
import yaml

from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

ROOT = pathlib.Path(BUILD / "dev" / "ansible_collections" / "stackguard" / "nova")
#: Those of the role that are about what is moved, not how.
WHOM = {"migrate_servers"}


def read(role, path):
    return yaml.safe_load((ROOT / "roles" / role / path).read_text())


def options(role):
    return read(role, "meta/argument_specs.yml")["argument_specs"]["main"]["options"]


def test_a_drain_has_every_variable_of_a_migration_under_its_own_name():
    shared = {name for name in options("migrate_server") if name.startswith("migrate_")} - WHOM
    own, theirs = options("drain_host"), options("migrate_server")
    defaults = read("drain_host", "defaults/main.yml")
    handed = read("migrate_server", "vars/main.yml")["stackguard_migrate_given"]
    for name in shared:
        mine, short = name.replace("migrate_", "drain_", 1), name.partition("_")[2]
        for key in ("type", "elements", "default", "choices"):
            assert own[mine].get(key) == theirs[name].get(key), (mine, key)
        assert name in defaults[mine], "what begins with migrate_ is still taken"
        assert handed[short] == f"{{{{ {name} }}}}"
    (step,) = [
        step for step in read("drain_host", "tasks/main.yml") if "stackguard_migrate_given" in step.get("vars", {})
    ]
    assert step["vars"]["stackguard_migrate_given"] == {short: f"{{{{ drain_{short} }}}}" for short in handed}
    assert set(handed) == {name.partition("_")[2] for name in shared}


@pytest.mark.parametrize(
    ("playbook", "given", "told"),
    [
        (
            "drain_host",
            {"drain_host": "compute1", "drain_acton": "rollback"},
            "drain_acton: did you mean drain_action?",
        ),
        ("drain_host", {"drain_host": "compute1", "migrate_liv": False}, "migrate_liv: did you mean migrate_live?"),
        ("drain_host", {"drain_host": "compute1", "drain_action": "back"}, "drain_action"),
        (
            "migrate_server",
            {"migrate_servers": ["web1"], "drain_action": "rollback"},
            "drain_action: only drain_host reads these variables. Did you mean migrate_action?",
        ),
    ],
)
def test_what_nobody_reads_is_refused_before_anything_is_read(playbook, given, told, tmp_path):
    own = {"stackguard_report_dir": str(tmp_path / "reports"), "stackguard_state_dir": str(tmp_path / "state")}
    (tmp_path / "vars.json").write_text(json.dumps({"cloud": "no-such-cloud", **own, **given}))
    hosts = {"compute": {"hosts": {"compute1": {"ansible_connection": "local"}}}}
    (tmp_path / "inventory.json").write_text(json.dumps(hosts))
    argv = [sys.executable, "-m", "ansible", "playbook", f"stackguard.nova.{playbook}"]
    argv += ["-i", str(tmp_path / "inventory.json"), "-e", f"@{tmp_path / 'vars.json'}"]
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
    env.update(ANSIBLE_NOCOLOR="1", OS_CLIENT_CONFIG_FILE=str(tmp_path / "none"))
    done = subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stdout
    assert told in " ".join((done.stdout + done.stderr).split())
    assert "Collect facts from this compute host" not in done.stdout
