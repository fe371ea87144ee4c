# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remedies, by code and state: see catalogue.py."""

from __future__ import annotations

from .remedy import Remedies

REMEDIES: Remedies = {}
