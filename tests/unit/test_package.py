# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ships: what is in the artifact and what not, that it works where nothing else is, what image is made of it."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import pytest
import yaml

from ansible_collections.stackguard.nova.tests.unit.builders import healthy
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT
from ansible_collections.stackguard.nova.tests.unit.saved_evidence import save_as

GATES = ROOT / "tests" / "gates"
#: Nothing of these may ship: the laboratory, tests, and what only a checkout needs.
NOT_SHIPPED = (
    "lab/",
    "tests/",
    ".ci/",
    "requirements/",
    "docs/sphinx/",
    ".build/",
    ".venv/",
    ".git",
    "Makefile",
    "pyproject",
)
SHIPPED = (
    "LICENSE",
    "README.md",
    "CHANGELOG.rst",
    "meta/runtime.yml",
    "meta/execution-environment.yml",
    "playbooks/rename_host.yml",
    "playbooks/awx/configure.yml",
    "plugins/plugin_utils/awx_table.py",
    "roles/rename_host/meta/argument_specs.yml",
    "roles/common/tasks/begin.yml",
    "plugins/modules/cloud_info.py",
    "plugins/filter/as_list.py",
    "docs/guides/rename.md",
    "docs/codes/SG101.md",
    "extensions/monitoring/alerts.yml",
)


def quietly(*argv, **options):
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    """The built collection, in a directory of its own: the gates may be at work on theirs."""
    build = tmp_path_factory.mktemp("build")
    quietly(GATES / "build.sh", env={**os.environ, "GATES_BUILD": str(build)})
    (path,) = (build / "dist").glob("*.tar.gz")
    return path


def test_what_is_in_it_and_what_is_not(artifact):
    with tarfile.open(artifact) as archive:
        names = [name.removeprefix("./") for name in archive.getnames()]
    assert [name for name in names if name.startswith(NOT_SHIPPED)] == []
    assert [name for name in SHIPPED if name not in names] == []
    modules = {f"plugins/modules/{path.name}" for path in (ROOT / "plugins" / "modules").glob("*.py")}
    assert {name for name in names if name.startswith("plugins/modules/") and name.endswith(".py")} == modules


def test_it_works_in_an_empty_environment(artifact, tmp_path):
    """A new virtual environment with ansible-core and what the collection says it needs, and the artifact: no more."""
    core = quietly(sys.executable, "-c", "import ansible; print(ansible.__version__)").strip()
    uv, python = pathlib.Path(sys.executable).parent / "uv", tmp_path / "venv" / "bin" / "python"
    quietly(uv, "venv", "-q", "--python", sys.executable, tmp_path / "venv")
    needs = ["-r", ROOT / "meta" / "ee-requirements.txt", f"ansible-core=={core}"]
    quietly(uv, "pip", "install", "-q", "--python", python, *needs)
    env = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "PYTHON"))}
    env.update(HOME=str(tmp_path), ANSIBLE_COLLECTIONS_PATH=str(tmp_path / "collections"), ANSIBLE_NOCOLOR="1")
    ansible = tmp_path / "venv" / "bin"
    quietly(
        ansible / "ansible-galaxy",
        "collection",
        "install",
        "--offline",
        "-p",
        tmp_path / "collections",
        artifact,
        env=env,
    )
    save_as(tmp_path / "saved.jsonl", healthy().bundle)
    argv = [ansible / "ansible-playbook", "stackguard.nova.audit", "-e", "audit_evidence=saved.jsonl"]
    told = quietly(*argv, cwd=tmp_path, env=env)
    assert "failed=0" in told
    report = json.loads((tmp_path / "stackguard-reports" / "report.json").read_text())
    assert (report["hosts"], report["findings"]) == (3, [])
    # A role by itself, in somebody's own playbook, has the roles with it that it needs.
    play = {"hosts": "localhost", "roles": ["stackguard.nova.resize_server"], "gather_facts": False}
    play["vars"] = {"resize_server": " web1", "resize_flavor": "large"}
    (tmp_path / "own.yml").write_text(json.dumps([play]))
    argv = [ansible / "ansible-playbook", "own.yml"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path, env=env)
    assert (done.returncode, "resize_server is" in done.stdout) == (2, True), done.stdout + done.stderr
    report = json.loads((tmp_path / "stackguard-reports" / "report.json").read_text())
    assert (report["verdict"], report["unchecked"][0]["object"]) == ("block", "resize_server")


def test_an_execution_environment_can_be_made_of_it(artifact, tmp_path):
    """ansible-builder makes its context, with the artifact in it; what the collection needs is found in there."""
    shutil.copy(ROOT / "execution-environment.yml", tmp_path)
    shutil.copy(artifact, tmp_path)
    builder = pathlib.Path(sys.executable).parent / "ansible-builder"
    quietly(builder, "create", "-f", "execution-environment.yml", "-c", "context", cwd=tmp_path)
    (wanted,) = yaml.safe_load((tmp_path / "context" / "_build" / "requirements.yml").read_text())["collections"]
    assert (tmp_path / "context" / "_build" / wanted["name"]).read_bytes() == artifact.read_bytes()
    container = (tmp_path / "context" / "Dockerfile").read_text()
    assert "ansible-runner>=2.4" in container and "/usr/bin/dnf" in container
    # The same look as inside the image: what the installed collection says it needs.
    collections = tmp_path / "root" / "ansible_collections" / "stackguard" / "nova"
    collections.mkdir(parents=True)
    with tarfile.open(artifact) as archive:
        archive.extractall(collections)
    script = tmp_path / "context" / "_build" / "scripts" / "introspect.py"
    found = quietly(
        sys.executable,
        script,
        "introspect",
        tmp_path / "root",
        "--write-bindep=bindep",
        "--write-pip=pip",
        cwd=tmp_path,
    )
    assert found is not None
    needs = (tmp_path / "pip").read_text()
    for name in ("openstacksdk", "SQLAlchemy", "PyMySQL", "jmespath", "netaddr"):
        assert name.lower() in needs.lower()
    assert "openssh-client" in (tmp_path / "bindep").read_text()


def documented(module):
    return yaml.safe_load((ROOT / "plugins" / "modules" / f"{module}.py").read_text().split('r"""')[1].split('"""')[0])


def test_the_action_group_is_every_module_that_takes_a_cloud():
    group = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())["action_groups"]["openstack"]
    taking = [
        path.stem
        for path in sorted((ROOT / "plugins" / "modules").glob("*.py"))
        if "stackguard.nova.openstack" in documented(path.stem).get("extends_documentation_fragment", [])
    ]
    assert sorted(group) == taking


def test_module_defaults_of_the_group_reach_modules_and_action_plugins(tmp_path):
    """One default for all: the cloud that does not exist is named by each."""
    tasks = [
        {"stackguard.nova.cloud_info": {}},
        {"stackguard.nova.server_resize": {"server": "web1", "flavor": "large", "state_dir": str(tmp_path)}},
    ]
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "module_defaults": {"group/stackguard.nova.openstack": {"cloud": "nosuchcloud"}},
        "tasks": [{**task, "ignore_errors": True} for task in tasks],
    }
    (tmp_path / "play.json").write_text(json.dumps([play]))
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"), "ANSIBLE_HOME": str(tmp_path / "home")}
    env.update(ANSIBLE_NOCOLOR="1", ANSIBLE_LOCALHOST_WARNING="0")
    argv = [
        sys.executable,
        "-m",
        "ansible",
        "playbook",
        "play.json",
        "-e",
        f"ansible_python_interpreter={sys.executable}",
    ]
    told = quietly(*argv, cwd=tmp_path, env=env)
    fatal = [line for line in told.splitlines() if line.startswith("fatal: ")]
    assert [("Cloud nosuchcloud was not found" in line) for line in fatal] == [True] * len(tasks), told
