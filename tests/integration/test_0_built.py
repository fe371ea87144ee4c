# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What people install: the built collection, in an environment that has nothing but what its metadata asks for.

A home directory and a virtual environment of their own, filled by pip and ansible-galaxy as the README says. No path of
the checkout is in the environment, and the loudest output of the run names none.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from labkit import guests as guestkit
from labkit import state
from labkit.fixtures import as_new, documented_grants
from labkit.guests import NEW
from labkit.playbook import ROOT, Playbooks


class Installed(Playbooks):
    """Playbooks as somebody runs them who has only the tarball."""

    def __init__(self, lab, variables, home):
        self.home = home
        self.program = home / "venv" / "bin" / "ansible-playbook"
        super().__init__(lab, variables)
        self.install()

    def directory(self):
        return self.home / "runs"

    def environment(self):
        return {"HOME": str(self.home), "PATH": f"{self.home}/venv/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

    def call(self, *argv):
        done = subprocess.run(argv, cwd=self.home, env=self.environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done.stdout

    def install(self):
        (tarball,) = (ROOT / ".build" / "dist").glob("stackguard-nova-*.tar.gz")
        venv = self.home / "venv"
        self.call(sys.executable, "-m", "venv", str(venv))
        # From the package index that this machine uses, the releases that the project is tested with.
        index = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "UV_"))}
        pip = [str(ROOT / ".venv" / "bin" / "uv"), "pip", "install", "-q", "--python", str(venv / "bin" / "python")]
        pip += ["--constraint", str(ROOT / "requirements" / "dev.txt")]
        subprocess.run([*pip, "ansible-core"], env={**os.environ, **index}, check=True)
        self.call(str(venv / "bin" / "ansible-galaxy"), "collection", "install", "--offline", str(tarball))
        needed = self.home / ".ansible" / "collections" / "ansible_collections" / "stackguard" / "nova" / "meta"
        subprocess.run([*pip, "-r", str(needed / "ee-requirements.txt")], env={**os.environ, **index}, check=True)


@pytest.fixture(scope="module")
def installed(lab, tmp_path_factory):
    as_new(lab)
    urls = guestkit.grant(lab, "sg_exact", documented_grants())
    urls.pop("neutron_db_url")
    return Installed(lab, {"cloud": "lab", **urls}, tmp_path_factory.mktemp("installed"))


def test_nothing_of_the_checkout_is_there(installed):
    listed = installed.call(str(installed.program.with_name("ansible-galaxy")), "collection", "list")
    assert listed.count("stackguard.nova") == 1
    assert str(installed.home) in listed
    top = {
        path.name for path in (installed.home / ".ansible/collections/ansible_collections/stackguard/nova").iterdir()
    }
    assert not top & {"lab", "tests", ".ci", "Makefile", "requirements", "pyproject.toml"}, top
    assert {"LICENSE", "README.md", "docs", "extensions", "meta", "playbooks", "plugins", "roles"} <= top


@pytest.mark.matrix("rename")
def test_a_rename_and_the_way_back_from_the_tarball_alone(lab, installed):
    before = state.guests(lab, "compute1")
    assert before
    there = installed.rename(flags=["-vvv"]).ok()
    assert state.files(lab)["uname -n"] == NEW
    back = installed.rename(old=NEW, new="compute1", flags=["-vvv"]).ok()
    for result in (there, back):
        assert result.stats["state"] == "finished", result.stats
        assert str(ROOT) not in result.output
    assert state.guests(lab, "compute1") == before, "a guest is not the same process as before"
