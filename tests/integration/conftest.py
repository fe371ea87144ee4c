# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures of the lab; see tests/labkit."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from labkit.deadhost import clean, whole
from labkit.fixtures import chassis, guests, lab, playbooks, probe
from labkit.matrix import pytest_collection_modifyitems, pytest_runtest_setup
from labkit.volumes import readable, volumes

__all__ = [
    "chassis",
    "clean",
    "guests",
    "lab",
    "playbooks",
    "probe",
    "pytest_collection_modifyitems",
    "pytest_runtest_setup",
    "readable",
    "volumes",
    "whole",
]
