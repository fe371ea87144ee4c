# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Aggregates, against answers recorded from a real cloud."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import host_aggregates
from ansible_collections.stackguard.nova.tests.unit.systems.api.cassette import Player, writes


def test_an_aggregate_is_sent_anew_by_setting_nothing() -> None:
    player = Player("errors")
    host_aggregates.refresh_aggregate(player, 1)
    assert writes(player)[0]["json"] == {"set_metadata": {"metadata": {}}}
    with pytest.raises(ApiError, match="404: Aggregate 99 could not be found"):
        host_aggregates.refresh_aggregate(player, 99)
