# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The strategy of ansible.cfg or ANSIBLE_STRATEGY decides nothing of an evacuation."""

from __future__ import annotations

import pathlib

import yaml

PLAYBOOK = pathlib.Path(__file__).resolve().parents[2] / "playbooks" / "evacuate_host.yml"


def test_the_fence_is_made_once_whatever_strategy_is_configured():
    """With ANSIBLE_STRATEGY=free run_once is ignored: each host of the play switches off, guards and sends."""
    plays = yaml.safe_load(PLAYBOOK.read_text())
    assert [play.get("strategy") for play in plays if "roles" in play] == ["linear"]
