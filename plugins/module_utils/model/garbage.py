# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Python's collector of cycles, while millions of facts are made."""

from __future__ import annotations

import contextlib
import gc
import typing as t


@contextlib.contextmanager
def garbage_collection_paused() -> t.Iterator[None]:
    """Look for no cycles: facts are none, and looking for them among millions takes as long as the work itself."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
