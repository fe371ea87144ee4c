# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets `pytest tests/unit` work in a plain checkout: the collection is importable by its full name."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / ".build"
LINK = BUILD / "dev" / "ansible_collections" / "stackguard" / "nova"

if not LINK.is_symlink() or LINK.resolve() != ROOT:
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.unlink(missing_ok=True)
    LINK.symlink_to(ROOT, target_is_directory=True)
    # pytest has put the directory into sys.path before it was there, and Python remembers that.
    sys.path_importer_cache.pop(str(BUILD / "dev"), None)
if str(BUILD / "dev") not in sys.path:
    sys.path.insert(0, str(BUILD / "dev"))

sys.path.insert(0, str(ROOT / "tests"))
from labkit.matrix import pytest_collection_modifyitems  # noqa: E402, F401

# Tests that go through Ansible's own loader see the same files, and leave the user's home alone.
os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(BUILD / "dev")
os.environ["ANSIBLE_HOME"] = str(BUILD / "ansible-home")
os.environ["ANSIBLE_LOCAL_TEMP"] = str(BUILD / "ansible-home" / "tmp")

try:
    from hypothesis import settings
    from hypothesis.configuration import set_hypothesis_home_dir
except ImportError:
    pass
else:
    set_hypothesis_home_dir(BUILD / "hypothesis")
    settings.register_profile("dev", deadline=None)
    settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
    settings.load_profile("ci" if os.environ.get("CI") else "dev")


def _recording():
    """Note the codes that the collection itself makes findings of, for tests/gates/codes.py.

    Before anything else imports it: the others take the function by name. Returns them.
    """
    from ansible_collections.stackguard.nova.plugins.module_utils.model import findings

    make = findings.finding
    if hasattr(make, "raised"):  # this file is imported under two names
        return make.raised

    @functools.wraps(make)
    def finding(code, *args, **kwargs):
        if "/plugins/" in sys._getframe(1).f_code.co_filename:
            finding.raised.add(code)
        return make(code, *args, **kwargs)

    finding.raised = set()
    findings.finding = finding
    begin = findings.Unchecked.__init__

    @functools.wraps(begin)
    def unchecked(self, code, *args, **kwargs):
        if "/plugins/" in sys._getframe(1).f_code.co_filename:
            finding.raised.add(f"{code} unchecked")
        begin(self, code, *args, **kwargs)

    findings.Unchecked.__init__ = unchecked
    return finding.raised


RAISED = _recording()


@pytest.fixture
def short_tmp():
    """A TMPDIR for playbooks, gone after the test.

    ansible-core 2.21 makes a socket in there, and a socket's path has 107 characters at most (unix(7)): with the long
    names of pytest's directories it may have more.
    """
    with tempfile.TemporaryDirectory(prefix="sg") as directory:
        yield pathlib.Path(directory)


def pytest_sessionfinish(session):
    directory = os.environ.get("STACKGUARD_CODES")
    if directory:
        pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        (pathlib.Path(directory) / f"{worker}.json").write_text(json.dumps(sorted(RAISED)))
