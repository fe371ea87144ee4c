# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SG509: a start of nova-compute is ordered only where it ends nothing that Nova shows on the host."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
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


# --- journals that are not understood -------------------------------------------------------------------------

UNKNOWN = facts.UnknownJournal(
    "/var/lib/stackguard/rename.json", "no run", "version 0.1 of the collection", "rename", "op1", "1", None, "compute9"
)


@pytest.mark.parametrize("check", [lambda cloud: audit.check(cloud.bundle), before_rename])
def test_a_journal_on_the_host_that_is_not_understood_is_a_blocker_with_its_path_and_version(check):
    (item,) = [item for item in check(healthy().host("compute1", unknown_journals=[UNKNOWN])).findings if _ours(item)]
    assert (item.severity, item.object.kind, item.object.id) == ("blocker", "host", "compute1")
    assert UNKNOWN.path in item.remedy
    assert UNKNOWN.finish_with in item.remedy
    known = {"journal": UNKNOWN.path, "kind": "rename", "operation": "op1", "host": "compute9", "schema": "1"}
    assert known.items() <= item.evidence.items()


def test_one_in_the_journal_directory_is_told_of_the_host_that_it_names():
    nowhere = dataclasses.replace(UNKNOWN, host=None)
    some = healthy()._bundle(unknown_journals=[UNKNOWN, nowhere])
    found = [item for item in audit.check(some.bundle).findings if _ours(item)]
    assert {(item.object.id, item.object.host) for item in found} == {("compute9", "compute9"), (UNKNOWN.path, None)}


def _ours(item):
    return item.code == "SG706"
