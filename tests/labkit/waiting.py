# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Polling with a deadline."""

from __future__ import annotations

import time


def until(what, seen, timeout=60.0, pause=0.5):
    """Return the first true value of ``seen()``; after ``timeout`` seconds fail, saying ``what`` lacked."""
    end = time.monotonic() + timeout
    while True:
        found = seen()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout:.0f} s: {what() if callable(what) else what}")
        time.sleep(pause)
