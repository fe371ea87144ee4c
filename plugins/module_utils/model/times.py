# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Times as Nova's databases and our evidence write them. Pure: no clock is read here."""

from __future__ import annotations

import datetime
import typing as t


def moment(text: t.Optional[str]) -> t.Optional[datetime.datetime]:
    """Return an ISO 8601 time, which is UTC if it names no zone (Nova names none); None: it is no time."""
    try:
        parsed = datetime.datetime.fromisoformat((text or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=datetime.timezone.utc)
