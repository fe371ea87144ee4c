# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the lab's tests leave alone as history follows from the places: a table that a rename writes is none."""

from __future__ import annotations

from labkit import state

from ansible_collections.stackguard.nova.plugins.module_utils.name_places import catalogue
from ansible_collections.stackguard.nova.plugins.module_utils.name_places.place import DeclaredTable, NameTable


class Faults(DeclaredTable):
    """A place that nobody has declared yet."""

    table = NameTable("cell", "instance_faults", ("host",), reads=("id", "host", "deleted"))
    unread_code = "SG301"


def test_a_table_of_history_that_becomes_a_place_is_compared_by_every_test_of_the_lab(monkeypatch):
    assert "nova_cell1.instance_faults" in state.history()
    monkeypatch.setattr(catalogue, "PLACES", (*catalogue.PLACES, Faults()))
    assert "nova_cell1.instance_faults" not in state.history()
    assert "nova_cell1.instance_actions" in state.history()
