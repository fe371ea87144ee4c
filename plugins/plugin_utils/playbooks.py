# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbooks of this collection, as they lie beside the plugins wherever the collection is installed."""

from __future__ import annotations

import glob
import os
import typing as t

PLAYBOOKS = os.path.join(os.path.dirname(__file__), "..", "..", "playbooks")
#: Playbooks that are no operation. tests/unit/test_doctor_operations.py holds the lists in YAML equal to this one.
OTHERS = ("doctor", "explain")


def operations() -> t.List[str]:
    """Return the names of the playbooks that the doctor can make ready for: all but those of :data:`OTHERS`."""
    found = (os.path.splitext(os.path.basename(path))[0] for path in glob.glob(os.path.join(PLAYBOOKS, "*.yml")))
    return sorted(name for name in found if name not in OTHERS)
