# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Findings of the model test, one by one: each fails as long as what it shows is there."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.tests.unit.evacuation_life import BOTH, ONE, TWO, Life
from ansible_collections.stackguard.nova.tests.unit.evacuations import disks


@pytest.fixture
def life(tmp_path, monkeypatch):
    return Life(tmp_path, monkeypatch)


def unconfirmed(life):
    """Somebody's resize of guest2 waits for its owner."""

    life.change = lambda some: some.having(some.cloud.migrate(TWO, "compute1", "compute3", "finished"))


def test_killed_before_the_fence_was_proven_one_unconfirmed_resize_does_not_refuse_each_resume(life):
    """H9 again: begun with evacuate_partial, every later resume was refused; only an abort was left."""
    unconfirmed(life)
    life.run(partial=True, dies_at=3)
    assert life.open() is not None
    done = life.run(partial=True)
    assert "refused" not in done["msg"], done["msg"]
    assert ONE in [uuid for uuid, _host in life.nova.asked]
    assert TWO not in [uuid for uuid, _host in life.nova.asked]


def test_an_evacuation_whose_pool_no_host_reaches_is_not_aborted_as_if_its_guards_were_gone(life):
    life.run(dies_at=6)
    assert life.guarded() == BOTH
    life.change = lambda some: some.at(2, rbd=disks(client_address="192.0.2.3", pool="fast")).at(
        3, rbd=disks(client_address="192.0.2.4", pool="fast")
    )

    def nowhere(need):
        if need["kind"] != "unguard":
            return None
        homes = [
            {
                **home,
                "result": {"fsid": home["fsid"], "pool": home["pool"], "images": [], "gone": sorted(home["images"])},
            }
            for home in need["homes"]
        ]
        return {"homes": homes}

    life.answer = nowhere
    done = life.run(action="abort", fence=None)
    assert done["failed"], done["msg"]
    assert life.open() is not None
    life.answer, life.change = (lambda _need: None), (lambda some: some)
    assert life.run(action="abort", fence=None)["state"] == "aborted"
    assert not any(life.guards.values())


def test_that_another_operation_is_open_is_in_the_report_too(life):
    """H4: report.json said only that the host and its servers were not judged by this run."""
    life.run(dies_at=4)
    refused = life.run(servers=["guest1"])
    assert "SG706" in refused["msg"]
    (told,) = [entry for entry in life.report()["unchecked"] if entry["code"] == "SG706"]
    assert "operation-open" in told["reason"]
