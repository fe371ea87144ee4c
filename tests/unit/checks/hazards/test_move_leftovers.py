# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of what moves leave: what is found has its code, and what nobody finds says so."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit.checks import AUDITED
from ansible_collections.stackguard.nova.plugins.module_utils.hazards.move_leftovers import AUDIT, LEFTOVERS
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import CATALOGUE


@pytest.mark.parametrize("row", LEFTOVERS, ids=lambda row: row.left)
def test_what_is_found_has_its_code_and_what_is_not_judged_has_nobody(row):
    assert (row.code is None) == (row.found_by == ())
    if row.code is not None:
        assert row.code in CATALOGUE
        assert (AUDIT in row.found_by) <= (row.code in AUDITED), "the audit does not decide it"
    assert row.loss and row.done and row.source
