# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tests marked ``matrix`` belong to `make test-matrix`: too long for every run of `make test`.

``@pytest.mark.matrix("evacuation")`` names the part (tests/labkit/parts.py); without a name it is that of the file.
What the lab must be made of follows: ``@pytest.mark.matrix("evacuation-two-clusters", clusters=2, computes=4)``; on
another lab the test fails.

STACKGUARD_TEST_MATRIX says what runs: unset, none of them (they are deselected, and pytest's summary counts them);
a part's name, those of the part and nothing else; 1, everything.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import zlib

import pytest

from .parts import ANSIBLE, NAMED, PARTS, Shape, differences, of_file

EVERYTHING = "1"
NEEDS = {field.name for field in dataclasses.fields(Shape)}


def wanted():
    """The part that is run, or ``1`` for everything, or None for what `make test` runs."""
    part = os.environ.get("STACKGUARD_TEST_MATRIX")
    if part and part != EVERYTHING and part not in PARTS:
        raise pytest.UsageError(f"STACKGUARD_TEST_MATRIX={part} is no part: {', '.join(PARTS)}, or {EVERYTHING}")
    return part or None


def part_of(item):
    """The part that a test names; None for a test of `make test`."""
    marker = item.get_closest_marker("matrix")
    if marker is None:
        return None
    names = marker.args or (of_file(item.nodeid),)
    if len(names) != 1 or names[0] not in NAMED:
        raise pytest.UsageError(f"{item.nodeid}: matrix{marker.args} must name one part: {', '.join(NAMED)}")
    unknown = set(marker.kwargs) - NEEDS
    if unknown:
        raise pytest.UsageError(f"{item.nodeid}: a lab is not made of {sorted(unknown)}, but of {sorted(NEEDS)}")
    return names[0]


def samples(items):
    """One case of each test that is marked ``ansible``.

    The test's name chooses it: cases are often one for each playbook, and the first of each would be the audit.
    """
    cases = {}
    for item in items:
        if item.get_closest_marker("ansible") is not None:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return {listed[zlib.crc32(name.encode()) % len(listed)] for name, listed in cases.items()}


def part_among(item, sampled):
    """The part of a test, of which one case may be for `make test`, and the others are not."""
    part = part_of(item)
    if part is None and item.get_closest_marker("ansible") is not None and item not in sampled:
        return next(name for start, name in ANSIBLE.items() if item.nodeid.startswith(start))
    return part


def chosen(part, of_test, path):
    """Whether a test runs, with STACKGUARD_TEST_MATRIX as it is."""
    if part is None:
        return of_test is None
    return part == EVERYTHING or of_test == part or path in PARTS[part].whole


def pytest_collection_modifyitems(config, items):
    """Keep what STACKGUARD_TEST_MATRIX asks for."""
    part = wanted()
    sampled = set() if part in ANSIBLE.values() else samples(items)
    left = [item for item in items if not chosen(part, part_among(item, sampled), item.nodeid.partition("::")[0])]
    if left:
        config.hook.pytest_deselected(items=left)
        kept = set(items) - set(left)
        items[:] = [item for item in items if item in kept]


@functools.cache
def _info():
    from .lab import current

    return current().info


def pytest_runtest_setup(item):
    """Fail a test whose lab is made of something else than it needs; before any fixture makes a lab."""
    marker = item.get_closest_marker("matrix")
    if marker is None or not marker.kwargs:
        return
    lacking = differences(marker.kwargs, _info())
    if lacking:
        words = " ".join(f"--{name} {value}" for name, value in marker.kwargs.items())
        told = f"this test needs another lab: {', '.join(lacking)}. Make one with lab/lab up --fast-stop {words}"
        pytest.fail(told, pytrace=False)


__all__ = ["pytest_collection_modifyitems", "pytest_runtest_setup"]
