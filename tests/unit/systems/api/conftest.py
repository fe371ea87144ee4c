# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What tests of the APIs share."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.tests.unit.systems.api.answering_cloud import Cloud


@pytest.fixture
def cloud():
    return Cloud()
