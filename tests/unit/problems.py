# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an error is about, for tests: its key, and not its words."""

from __future__ import annotations


def problem_is(key):
    """For C(pytest.raises(..., check=problem_is("key")))."""

    def check(error):
        found = getattr(error, "problem", None)
        assert found == key, f"{found!r}: {error}"
        return True

    return check
