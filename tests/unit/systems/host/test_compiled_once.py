# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A file of Ansible's zip is compiled once, by each Python on this machine; outside of a zip nothing changes."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import textwrap
import zipfile
import zipimport

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.host import compiled_once

HERE = pathlib.Path(compiled_once.__file__)
PLACE = "ansible_collections/stackguard/nova/plugins/module_utils/systems/host"
#: A file that counts, in builtins, how often its name was compiled, and what it says of itself.
PROGRAM = """
import builtins, json, sys
compiled = []
sys.addaudithook(lambda event, args: compiled.append(args[1]) if event == "compile" else None)
sys.path.insert(0, sys.argv[1])
import main
print(json.dumps([main.told, [str(name) for name in compiled if str(name).endswith("guest.py")]]))
"""
MAIN = f"""
{{first}}
from {PLACE.replace("/", ".")} import guest, broken
try:
    broken.fail()
except ValueError:
    import traceback
    trace = traceback.format_exc()
told = [guest.__file__, guest.__package__, guest.__spec__.origin, trace]
"""


def payload(path, first):
    """A zip as Ansible makes one: packages with empty __init__ files, a module, and what it imports."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        parts = PLACE.split("/")
        for depth in range(1, len(parts) + 1):
            archive.writestr("/".join([*parts[:depth], "__init__.py"]), "")
        archive.writestr(f"{PLACE}/compiled_once.py", HERE.read_text())
        archive.writestr(f"{PLACE}/guest.py", "VALUE = 1\n")
        archive.writestr(f"{PLACE}/broken.py", "def fail():\n    raise ValueError('as told')\n")
        archive.writestr("main.py", MAIN.format(first=first))
    return path


def run(archive):
    code = textwrap.dedent(PROGRAM)
    done = subprocess.run([sys.executable, "-c", code, str(archive)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_with_it_each_file_is_compiled_once_and_says_the_same_of_itself(tmp_path):
    first = f"import {PLACE.replace('/', '.')}.compiled_once"
    plain, _compiled = run(payload(tmp_path / "a.zip", "import json"))
    told, compiled = run(payload(tmp_path / "b.zip", first))
    assert len(compiled) == 1
    assert [str(one).replace("b.zip", "a.zip") for one in told[:3]] == plain[:3]
    assert "raise ValueError('as told')" in told[3]


@pytest.mark.parametrize("loader", [None, object(), compiled_once.__loader__], ids=["none", "unknown", "of files"])
def test_outside_of_a_zip_nothing_changes(loader):
    finders = []
    compiled_once.install(loader, finders)
    assert finders == []


def test_other_collections_and_missing_files_are_left_to_the_other_finders(tmp_path):
    archive = zipimport.zipimporter(str(payload(tmp_path / "c.zip", "")))
    finders = []
    compiled_once.install(archive, finders)
    (finder,) = finders
    assert finder.find_spec("json") is None
    assert finder.find_spec("ansible_collections.other.one.thing") is None
    assert finder.find_spec(f"{PLACE.replace('/', '.')}.missing") is None
    found = finder.find_spec(f"{PLACE.replace('/', '.')}.guest")
    assert (found.origin, found.submodule_search_locations) == (f"{archive.archive}/{PLACE}/guest.py", None)
