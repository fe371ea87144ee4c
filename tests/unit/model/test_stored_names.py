# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names as a database compares them: case and trailing blanks by its collation, and nothing by a guess."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import stored_names
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import Index
from ansible_collections.stackguard.nova.tests.unit.builders import healthy


@pytest.mark.parametrize(
    ("dialect", "collation", "case", "blank"),
    [
        ("mariadb", "utf8mb3_general_ci", True, True),
        ("mysql", "utf8_general_ci", True, True),
        ("mariadb", "latin1_swedish_ci", True, True),
        ("mariadb", "utf8mb4_unicode_520_ci", True, True),
        ("mariadb", "utf8mb4_uca1400_ai_ci", True, True),
        ("mariadb", "utf8mb4_uca1400_nopad_ai_ci", True, False),
        ("mariadb", "utf8mb4_general_nopad_ci", True, False),
        ("mariadb", "utf8mb4_nopad_bin", False, False),
        ("mysql", "utf8mb4_0900_ai_ci", True, False),
        ("mysql", "utf8mb4_0900_as_cs", False, False),
        ("mysql", "utf8mb4_0900_bin", False, False),
        ("mysql", "utf8mb3_bin", False, True),
        ("mysql", "latin1_general_cs", False, True),
        ("mysql", "binary", False, False),
        ("mysql", "utf8mb3_turkish_ci", None, True),
        ("mysql", None, None, None),
        (None, "utf8mb3_general_ci", None, None),
        ("postgresql", None, False, False),
        ("sqlite", None, False, False),
    ],
)
def test_case_and_blanks_count_as_the_collation_says(dialect, collation, case, blank):
    assert stored_names.equal(dialect, collation, "COMPUTE2", "compute2") is case
    assert stored_names.equal(dialect, collation, "compute2 ", "compute2") is blank
    assert stored_names.equal(dialect, collation, "compute2", "compute2") is True
    assert stored_names.equal(dialect, collation, "compute3", "compute2") is False


def test_other_blanks_count():
    assert stored_names.equal("mariadb", "utf8mb3_general_ci", "compute2\t", "compute2") is False


@pytest.mark.parametrize("collation", ["utf8mb3_general_ci", "utf8mb4_uca1400_ai_cs"])
def test_what_a_collation_makes_of_other_letters_is_not_known(collation):
    assert stored_names.equal("mariadb", collation, "b\u00fccher", "bucher") is None
    assert stored_names.equal("mariadb", "utf8mb3_bin", "b\u00fccher", "bucher") is False
    assert stored_names.equal("postgresql", None, "b\u00fccher", "bucher") is False


def test_the_index_finds_rows_that_differ_in_case_or_blanks():

    some = healthy(guests=1).change("services", {"host": "compute1"}, host="COMPUTE1  ")
    some = some.change("compute_nodes", {"host": "compute1"}, host="Compute1 ")
    some = some.migrate("x", "COMPUTE1 ", "compute2", "done", "evacuation")
    index = Index(some.bundle)
    key = stored_names.name_key("compute1")
    assert [row.host for _cell, row in index.services_by_name[key]] == ["COMPUTE1  "]
    assert [row.host for _cell, row in index.node_rows_by_name[key]] == ["Compute1 "]
    assert [row.source_compute for _place, row in index.migrations_by_host[key]] == ["COMPUTE1 "]


def test_what_the_api_says_is_not_known_to_be_compared_in_any_way():
    some = healthy(guests=1).migrate("x", "COMPUTE1", "compute2", "done", "evacuation")

    index = Index(some.bundle)
    ((_place, row),) = index.migrations_by_host["compute1"]
    assert index.evacuated_from("cell cell1", row, "compute1") is True
    assert index.evacuated_from("compute API", row, "compute1") is None
    assert index.evacuated_from("compute API", row, "COMPUTE1") is True
