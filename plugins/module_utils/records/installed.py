# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The collection as it is installed on the controller."""

from __future__ import annotations

import contextlib
import functools
import pathlib
import re
import typing as t

ROOT = pathlib.Path(__file__).parents[3]
#: The line of MANIFEST.json (an installed collection) and of galaxy.yml (a checkout) that has the version.
_VERSION = re.compile(r'^\s*"?version"?: "?([^\s",]+)', re.MULTILINE)


@functools.cache
def collection_version() -> t.Optional[str]:
    """Return the version of this collection, as it was installed or as the checkout has it."""
    for name in ("MANIFEST.json", "galaxy.yml"):
        with contextlib.suppress(OSError):
            found = _VERSION.search((ROOT / name).read_text(encoding="utf-8"))
            if found:
                return found.group(1)
    return None
