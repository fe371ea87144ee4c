# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tests marked ``matrix`` belong to `make test-matrix`: too long for every run of `make test`.

They are deselected, and pytest's summary counts them; nothing is skipped for want of a lab.
"""

from __future__ import annotations

import os


def pytest_collection_modifyitems(config, items):
    """Leave the tests marked ``matrix`` to `make test-matrix`."""
    if os.environ.get("STACKGUARD_TEST_MATRIX"):
        return
    left = [item for item in items if item.get_closest_marker("matrix")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


__all__ = ["pytest_collection_modifyitems"]
