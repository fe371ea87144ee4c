# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plugin of pytest for the part unit-long: only tests over random examples, with many times as many of them.

STACKGUARD_TEST_EXAMPLES: how many times as many. A test that draws its examples without hypothesis multiplies with it
itself, and is marked ``matrix("unit-long")`` or has the marker ``examples``.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import is_hypothesis_test, settings

TIMES = int(os.environ.get("STACKGUARD_TEST_EXAMPLES") or 10)


def _more(function):
    """The settings of a test are an attribute of it, and its only place where hypothesis keeps them."""
    old = function._hypothesis_internal_use_settings
    function._hypothesis_internal_use_settings = settings(old, max_examples=old.max_examples * TIMES, derandomize=False)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Keep the tests over random examples; the mark of their part lets labkit.matrix keep them, too."""
    for item in items:
        function = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
        if is_hypothesis_test(function):
            if not getattr(function, "_stackguard_longer", False):  # one function may be several items
                _more(function)
                function._stackguard_longer = True
            item.add_marker(pytest.mark.matrix("unit-long"))
        elif item.get_closest_marker("examples"):
            item.add_marker(pytest.mark.matrix("unit-long"))
