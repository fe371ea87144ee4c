# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a server ran before its host died, and what must be reset before Nova takes it."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.capacity import leaving_guests, measured
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, server_state

SERVER = facts.ApiServer("a", "a", "p", "ACTIVE", "compute1", "compute1", None, None, None, "az1")
FAILED = {"action": "evacuate", "message": "Error"}


@pytest.mark.parametrize(
    ("changes", "actions", "before"),
    [
        ({"status": "ACTIVE"}, [], "running"),
        ({"status": "ACTIVE", "power_state": 1}, [], "running"),
        # A guest that shut itself down just before, or one that was suspended and whose state was reset since.
        ({"status": "ACTIVE", "power_state": 4}, [], "stopped"),
        ({"status": "ACTIVE", "power_state": 3}, [], None),
        ({"status": "ACTIVE", "power_state": 3}, [{"action": "resetState"}, {"action": "pause"}], "stopped"),
        ({"status": "ACTIVE", "power_state": 3}, [{"action": "create"}], "running"),
        ({"status": "SHUTOFF"}, [], "stopped"),
        ({"status": "PAUSED"}, [], "stopped"),
        ({"status": "SUSPENDED"}, [], "stopped"),
        ({"status": "RESCUE"}, [], "running"),
        # The conductor leaves the power state alone where the scheduler refused.
        ({"status": "ERROR", "power_state": 4}, [], "stopped"),
        ({"status": "ERROR", "power_state": 1}, [], "running"),
        # A spawn that failed has written NOSTATE: the actions are what is left.
        ({"status": "ERROR", "power_state": 0}, [], None),
        ({"status": "ERROR", "power_state": 0}, [FAILED, FAILED, {"action": "stop"}, {"action": "start"}], "stopped"),
        ({"status": "ERROR", "power_state": 0}, [FAILED, {"action": "migrate"}, {"action": "create"}], "running"),
        ({"status": "ERROR", "power_state": 0}, [FAILED, {"action": "stop", "message": "Error"}], None),
        ({"status": "ERROR", "power_state": 0}, [{"action": "of a newer Nova"}, {"action": "stop"}], None),
        ({"status": "ERROR"}, [], None),
    ],
)
def test_what_its_owner_stopped_is_known_as_stopped_after_a_failed_evacuation_too(changes, actions, before):
    assert leaving_guests.power_before(dataclasses.replace(SERVER, **changes), actions) == before


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({}, None),
        ({"status": "PAUSED"}, ("paused",)),
        ({"status": "SUSPENDED"}, ("suspended",)),
        ({"status": "RESCUE"}, ("rescued",)),
        ({"task_state": "powering-off"}, ("task",)),
        ({"status": "PAUSED", "task_state": "unpausing"}, ("paused", "task")),
        ({"task_state": "deleting"}, None),
        ({"task_state": "rebuilding"}, None),
        ({"status": "PAUSED", "task_state": "migrating"}, None),
        ({"status": "VERIFY_RESIZE"}, None),
    ],
)
def test_what_must_be_reset(changes, needed):
    reset = server_state.reset_of(dataclasses.replace(SERVER, **changes))
    assert (reset.needed if reset else None) == needed
    assert reset is None or len(reset.losses) == len(needed)


@pytest.mark.parametrize(
    ("reason", "refused"),
    [
        ("No valid host was found. There are not enough hosts available.", True),
        ("conductor: No valid host was found.; migration error", True),
        ("libvirt: hook script failed; migration failed", False),
        ("", False),
    ],
)
def test_nova_says_itself_that_its_scheduler_took_no_host(reason, refused):
    assert measured.refused_by_scheduler(reason) is refused
