# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""examples/ as its reader has it: a copy in an empty directory, the collection installed from the built tarball.

The programs are called by their path, in an environment that has neither a virtual environment nor anything of Ansible.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT
from ansible_collections.stackguard.nova.tests.unit.playbooks.entry import entries

#: A process of Ansible for each case: `make test` runs one case of each test, the part `playbooks` all.
pytestmark = pytest.mark.ansible

BIN = pathlib.Path(sys.executable).parent
EXAMPLES = ROOT / "examples"
PLAYBOOKS = sorted(path.stem for path in (ROOT / "playbooks").glob("*.yml"))


def clean(home, tmp, **more):
    """The environment of cron or systemd: no virtual environment, nothing of Ansible or OpenStack."""
    pip = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "UV_"))}
    found = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(tmp), "LC_ALL": "C.UTF-8"}
    return {**pip, **found, "ANSIBLE_NOCOLOR": "1", **more}


def start(program, *words, cwd, env, timeout=300):
    argv = [str(BIN / program), *map(str, words)]
    return subprocess.run(
        argv, cwd=cwd, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout, check=False
    )


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    """The built collection."""
    build = tmp_path_factory.mktemp("build")
    done = subprocess.run(
        [str(ROOT / "tests" / "gates" / "build.sh")],
        env={**os.environ, "GATES_BUILD": str(build)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (build / "dist").glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def home(artifact, tmp_path_factory):
    """A home with the collection in it, installed as README says, below the ansible.cfg of a checkout."""
    home, checkout = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("checkout")
    shutil.copy(ROOT / "ansible.cfg", checkout)
    done = start(
        "ansible-galaxy", "collection", "install", "--offline", artifact, cwd=checkout, env=clean(home, checkout)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (checkout / ".build").exists(), "installed where no other directory finds it"
    assert (
        home / ".ansible" / "collections" / "ansible_collections" / "stackguard" / "nova" / "MANIFEST.json"
    ).exists()
    return home


@pytest.fixture
def play(home, tmp_path, short_tmp):
    """Runs a playbook in a copy of what was installed."""
    installed = home / ".ansible" / "collections" / "ansible_collections" / "stackguard" / "nova" / "examples"
    copy = tmp_path / "my-cloud"
    shutil.copytree(installed, copy)

    def run(*words):
        return start("ansible-playbook", *words, cwd=copy, env=clean(home, short_tmp))

    run.directory = copy
    return run


def ended(done, words, entry):
    """It failed in its own words; one that needs nothing has said them."""
    if not entry.needs_nothing:
        refused(done, words)
        return
    told = done.stdout + done.stderr
    assert done.returncode == 0 and words in " ".join(told.split()), told
    assert not re.findall(r"changed=[1-9]", told), told


def refused(done, words):
    """It failed in its own words: the sentence is what the last task says."""
    told = done.stdout + done.stderr
    assert done.returncode == 2, told
    assert "Traceback" not in told, told
    last = " ".join(done.stdout.partition("PLAY RECAP")[0].rpartition("TASK [")[2].split())
    assert words in last, told
    assert not re.findall(r"changed=[1-9]", done.stdout.partition("PLAY RECAP")[2]), told


def typed():
    """The commands that the examples begin with, by playbook. Those in the README are the same."""
    texts = {path.stem: path.read_text() for path in EXAMPLES.glob("*.yml")}
    pattern = re.compile(r"^#     ansible-playbook (\S+)\.yml (.*)$", re.MULTILINE)
    commands = [found for text in texts.values() for found in pattern.findall(text)]
    assert all(f"ansible-playbook {name}.yml" in texts[name] for name, _rest in commands)
    found = {}
    for name, rest in commands:
        found[name] = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", rest)]
    return found


def test_there_is_an_example_of_each_playbook_and_each_is_one_import():
    assert set(entries()) == set(typed()) == set(PLAYBOOKS)
    for name in PLAYBOOKS:
        (play,) = yaml.safe_load((EXAMPLES / f"{name}.yml").read_text())
        assert play.pop("name")
        assert play == {"import_playbook": f"stackguard.nova.{name}"}


def test_there_is_no_secret_and_no_host_that_may_exist():
    for path in EXAMPLES.rglob("*"):
        if path.is_file():
            hosts = re.findall(
                r"(?:@|://|ansible_host: )([\w.-]+)", path.read_text().replace("://stackguard:PASSWORD@", "://")
            )
            assert [host for host in hosts if not host.endswith(".invalid") and host != "cloud.yml"] == [], path
    clouds = yaml.safe_load((EXAMPLES / "clouds.yaml").read_text())["clouds"]
    assert clouds["production"]["auth"]["password"] == "PASSWORD"
    assert yaml.safe_load((EXAMPLES / "cloud.yml").read_text()) == {"cloud": "production"}


def test_the_readme_is_short():
    assert len((EXAMPLES / "README.md").read_text().splitlines()) <= 40


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_syntax(play, name):
    done = play(f"{name}.yml", "--syntax-check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", PLAYBOOKS)
def test_with_nothing_said_it_ends_with_what_is_missing(play, name):
    ended(play(f"{name}.yml"), entries()[name].nothing, entries()[name])


@pytest.mark.matrix("playbooks")
@pytest.mark.parametrize("name", PLAYBOOKS)
def test_the_command_of_the_readme_ends_with_the_placeholder(play, name):
    ended(play(f"{name}.yml", *typed()[name]), entries()[name].placeholder, entries()[name])


def test_the_first_audit_reads_the_clouds_yaml_of_the_directory_and_names_the_placeholder(play):
    """Modules of a local connection run in another directory, where the SDK found no clouds.yaml."""
    refused(play("audit.yml", "-e", "@cloud.yml", "-e", '{"audit_sources": ["api"]}'), "verdict block")
    report = json.loads((play.directory / "stackguard-reports" / "report.json").read_text())
    (blocker,) = [entry for entry in report["findings"] if entry["severity"] == "blocker"]
    assert (blocker["code"], blocker["object"]["id"]) == ("SG709", "api")
    assert "Failed to resolve 'keystone.example.invalid'" in blocker["evidence"]["reason"]


@pytest.mark.matrix("playbooks")
def test_the_audit_of_everything_says_that_no_host_answered(play):
    refused(play("audit.yml", "-e", "@cloud.yml"), "verdict block")
    report = json.loads((play.directory / "stackguard-reports" / "report.json").read_text())
    blockers = {
        (entry["code"], entry["object"]["id"]) for entry in report["findings"] if entry["severity"] == "blocker"
    }
    wanted = {("SG114", "compute1"), ("SG114", "rack7-node2"), ("SG709", "api"), ("SG311", "databases")}
    assert wanted <= blockers, blockers


def test_a_project_of_awx_gets_the_collection_by_its_requirements(artifact, tmp_path, short_tmp):
    """As AWX does when it updates a project: install what requirements.yml names, then run from the project."""
    project, installed = tmp_path / "project", tmp_path / "requirements_collections"
    shutil.copytree(EXAMPLES, project)
    env = clean(tmp_path, short_tmp, ANSIBLE_COLLECTIONS_PATH=str(installed))
    words = ("collection", "install", "-r", "collections/requirements.yml", "-p", installed)
    done = start("ansible-galaxy", *words, cwd=project, env=env)
    assert done.returncode != 0 and "placeholder.invalid" in (done.stdout + done.stderr).lower(), (
        done.stdout + done.stderr
    )
    file = project / "collections" / "requirements.yml"
    wanted = yaml.safe_load(file.read_text())
    (entry,) = wanted["collections"]
    assert artifact.name == entry["name"].rpartition("/")[2], "the name of the tarball is that of this version"
    entry.update(name=str(artifact), type="file")
    file.write_text(yaml.safe_dump(wanted))
    for name in ("cloud.yml", "clouds.yaml"):
        (project / name).unlink()
    done = start("ansible-galaxy", *words, "--offline", cwd=project, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    done = start(
        "ansible-playbook", "rename_host.yml", "-e", "rename_from=compute1", "-e", "rename_to=cn1", cwd=project, env=env
    )
    refused(done, entries()["rename_host"].placeholder)


def test_a_checkout_finds_what_was_built_there(tmp_path, short_tmp):
    """ansible.cfg of the checkout, with nothing installed, finds what make put there."""
    shutil.copy(ROOT / "ansible.cfg", tmp_path)
    namespace = tmp_path / ".build" / "collections" / "ansible_collections" / "stackguard"
    namespace.mkdir(parents=True)
    (namespace / "nova").symlink_to(BUILD / "dev" / "ansible_collections" / "stackguard" / "nova")
    done = start("ansible-playbook", "stackguard.nova.rename_host", cwd=tmp_path, env=clean(tmp_path, short_tmp))
    refused(done, entries()["rename_host"].nothing)
