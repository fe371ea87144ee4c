# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets `pytest tests/unit` work in a plain checkout: the collection is importable by its full name."""

from __future__ import annotations

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / ".build"
LINK = BUILD / "dev" / "ansible_collections" / "stackguard" / "nova"

if not LINK.is_symlink() or LINK.resolve() != ROOT:
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.unlink(missing_ok=True)
    LINK.symlink_to(ROOT, target_is_directory=True)
if str(BUILD / "dev") not in sys.path:
    sys.path.insert(0, str(BUILD / "dev"))

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
