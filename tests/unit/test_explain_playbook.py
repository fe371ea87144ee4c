# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""explain as a process: a page, the list, a text of a log, and what is neither; short names are taken from -e alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import CATALOGUE
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible


@pytest.fixture
def explain(tmp_path, short_tmp):
    def run(*options):
        argv = [sys.executable, "-m", "ansible", "playbook", "stackguard.nova.explain", *options]
        env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
        env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_STDOUT_CALLBACK="default", TMPDIR=str(short_tmp))
        return subprocess.run(argv, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("given", ["code=SG113", "code=sg113", "explain_code=113"])
def test_the_page_of_a_code_is_printed_as_it_is(explain, tmp_path, given):
    done = explain("-e", given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (ROOT / "docs" / "codes" / "SG113.md").read_text().rstrip() in done.stdout
    assert not (tmp_path / "stackguard-reports").exists(), "it writes no file"


def test_without_a_code_all_are_listed_also_where_the_inventory_has_codes_of_its_own(explain, tmp_path):
    (tmp_path / "hosts").write_text("[all:vars]\ncode=SG113\n[compute]\ncompute1\n")
    done = explain("-i", "hosts", "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [code for code in CATALOGUE if f"\n{code}  " not in done.stdout] == []
    assert "## Why" not in done.stdout


def test_a_code_that_does_not_exist_fails_with_the_nearest(explain, tmp_path):
    done = explain("-e", "code=SG1113")
    told = " ".join(done.stdout.partition("PLAY RECAP")[0].rpartition("TASK [")[2].split())
    assert done.returncode == 2, done.stdout + done.stderr
    assert "'SG1113' is not a finding code. The most similar codes are SG113" in told
    assert not (tmp_path / "stackguard-reports").exists(), "it writes no file"


RENAMED = "My node 7a1f has host 'compute1' but my host is 'cn'; Possible rename detected, refusing to start!"


@pytest.mark.parametrize(
    "given",
    [
        f"text={RENAMED}",
        f"explain_text={RENAMED} code=404 vm_state=active migrate_data=x",
        json.dumps({"text": f"2026-11-29 03:12:44 ERROR [instance: a] \u001b[31m{RENAMED}\u001b[0m it's {{{{ x"}),
    ],
)
def test_a_line_of_a_log_is_explained(explain, tmp_path, given):
    done = explain("-e", given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n  SG106 service-host-changed: " in done.stdout
    assert "\n  SG131 already-renamed: " in done.stdout
    assert not (tmp_path / "stackguard-reports").exists(), "it writes no file"


@pytest.mark.parametrize("form", ["text={}", "yaml"])
def test_nothing_in_a_text_is_templated_and_no_secret_is_shown(explain, tmp_path, form):
    line = f"{{{{ lookup('pipe', 'touch executed') }}}} mysql+pymysql://nova:hunter2secret@db/nova {RENAMED}"
    done = explain("-vv", "-e", json.dumps({"text": line}) if form == "yaml" else form.format(line))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SG106 service-host-changed" in done.stdout
    assert not (tmp_path / "executed").exists()
    assert "hunter2secret" not in done.stdout + done.stderr


def test_a_text_that_is_not_known_fails_and_proves_nothing(explain, tmp_path):
    done = explain("-e", "text=the moon is full")
    told = " ".join(done.stdout.partition("PLAY RECAP")[0].rpartition("TASK [")[2].split())
    assert done.returncode == 2, done.stdout + done.stderr
    assert "That proves nothing" in told
    assert not (tmp_path / "stackguard-reports").exists(), "it writes no file"


def test_a_code_and_a_text_are_refused_by_name(explain):
    done = explain("-e", "code=SG113", "-e", f"text={RENAMED}")
    told = " ".join(done.stdout.split())
    assert done.returncode == 2, done.stdout + done.stderr
    assert "a finding code (code or explain_code) or a text (text or explain_text), and not both" in told
    assert "compute1" not in told


def test_no_specification_of_a_role_is_a_template():
    """Ansible templates it before it looks at the arguments of a role: a log's braces in a description end the run."""
    specs = sorted(ROOT.glob("roles/*/meta/argument_specs.yml"))
    assert [str(path) for path in specs if "{{" in path.read_text() or "{%" in path.read_text()] == []
