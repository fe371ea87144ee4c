# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The strategy of ansible.cfg or ANSIBLE_STRATEGY decides nothing of an evacuation, nor of any other playbook."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml

PLAYBOOKS = pathlib.Path(__file__).resolve().parents[2] / "playbooks"
NAMES = sorted(path.stem for path in PLAYBOOKS.glob("*.yml"))


def plays(name):
    return yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text())


def test_the_fence_is_made_once_whatever_strategy_is_configured():
    """With ANSIBLE_STRATEGY=free run_once is ignored: each host of the play switches off, guards and sends."""
    assert [play.get("strategy") for play in plays("evacuate_host") if "roles" in play] == ["linear"]


@pytest.mark.parametrize("name", NAMES)
def test_every_play_says_its_strategy(name):
    assert {play.get("strategy") for play in plays(name)} <= {"linear", "free"}


@pytest.mark.parametrize("name", NAMES)
def test_only_a_play_of_one_reading_task_is_free(name):
    """It has no run_once and no any_errors_fatal, which free ignores, and no role that may have them."""
    for play in plays(name):
        if play["strategy"] == "free":
            (task,) = play["tasks"]
            assert {"stackguard.nova.compute_host_info", "stackguard.nova.doctor_host"} & set(task)
            assert "roles" not in play
            assert not re.search("run_once|any_errors_fatal", yaml.safe_dump(play))
