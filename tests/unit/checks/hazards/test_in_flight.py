# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG509: a start of nova-compute is ordered only where it ends nothing that Nova shows on the host."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.model.requests import RenameRequest
from ansible_collections.stackguard.nova.plugins.module_utils.rename.in_place import preflight as rename
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy

BACK, AWAY = guest(1, 1), guest(3, 1)


def told(checked):
    return {item.object.name: item.remedy for item in checked.findings if item.code == "SG509"}


def before_rename(cloud):
    request = RenameRequest(inventory_name="compute1", rename_from="compute1", rename_to="renamed1")
    return rename.preflight_rename(cloud.bundle, request)


@pytest.mark.parametrize("check", [lambda cloud: audit.check(cloud.bundle), before_rename])
def test_no_start_is_ordered_while_an_evacuated_instance_is_back(check):
    """nova-compute ends the domains of all evacuated instances at once, the one that is back among them."""
    away = healthy().migrate(AWAY, "compute1", "compute3", "done", "evacuation")
    assert "then start nova-compute once" in told(check(away))[AWAY]
    both = away.migrate(BACK, "compute1", "compute3", "done", "evacuation")
    remedies = told(check(both))
    assert set(remedies) == {BACK, AWAY}
    for remedy in remedies.values():
        assert remedy.startswith("Do not start nova-compute on compute1.")
        assert "return_host" in remedy
    # Its record is closed: nothing is in the way of the other's.
    closed = away.migrate(BACK, "compute1", "compute3", "completed", "evacuation")
    assert "then start nova-compute once" in told(check(closed))[AWAY]
