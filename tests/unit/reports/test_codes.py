# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Codes as an operator types them."""

from __future__ import annotations

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import CATALOGUE
from ansible_collections.stackguard.nova.plugins.module_utils.reports import codes


@pytest.mark.parametrize(
    "typed", ["SG113", "sg113", "Sg 113", "sg-113", "113", " SG113\n", "restart-would-destroy", "Restart-Would-Destroy"]
)
def test_a_code_is_found_however_it_is_typed(typed):
    assert codes.code_of(typed) == "SG113"


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("SG1113", "SG113 (restart-would-destroy)"),
        ("sg999", f" {max(CATALOGUE)}"),
        ("114x", "114x"),
        ("restart-would-destory", "SG113 (restart-would-destroy)"),
        ("mising-domain", "SG109 (missing-domain)"),
    ],
)
def test_a_code_that_does_not_exist_is_an_error_with_the_nearest(typed, near):
    with pytest.raises(codes.NoCodeError) as error:
        codes.code_of(typed)
    assert near in str(error.value)


@pytest.mark.parametrize("typed", ["\x1b[2J", "../../etc/passwd", "SG113/../x", "x" * 400, "113113"])
def test_what_is_no_code_is_shown_as_text_and_opens_no_file(typed):
    with pytest.raises(codes.NoCodeError) as error:
        codes.code_of(typed)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 250


def test_the_list_has_each_code_once_with_its_severity():
    lines = codes.listing().splitlines()
    assert [line.split()[0] for line in lines] == list(CATALOGUE)
    (line,) = [line for line in lines if line.startswith("SG113")]
    assert "blocker, absolute" in line and "restart-would-destroy" in line and CATALOGUE["SG113"].summary in line
