# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An evacuation reads the cells of the hosts where the API database is given, and sends nobody into another cell."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import nova
from ansible_collections.stackguard.nova.tests.unit.evacuation_life import Life

URL = "mysql+pymysql://nowhere/nova_api"


@pytest.fixture
def life(tmp_path, monkeypatch):
    return Life(tmp_path, monkeypatch)


@pytest.mark.parametrize("far", ["cell1", "cell2"])
def test_a_server_is_sent_within_its_cell(life, monkeypatch, far):
    asked = []

    def cells(url, hosts):
        asked.append((url, "compute1" in hosts))
        return {host: far if host == "compute3" else "cell1" for host in hosts}

    monkeypatch.setattr(nova, "cells_of_hosts", cells)
    done = life.run(nova_api_db_url=URL)
    assert set(asked) == {(URL, True)}
    sent = {host for _uuid, host in life.nova.asked}
    assert ("compute3" in sent) is (far == "cell1")
    assert done["failed"] is (far != "cell1")


def test_without_the_database_no_cell_is_read(life, monkeypatch):
    monkeypatch.setattr(nova, "cells_of_hosts", lambda *_given: pytest.fail("asked"))
    assert life.run()["failed"] is False
