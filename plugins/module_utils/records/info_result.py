# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What modules that only read have in common: a digest and counts, and the facts in a file or in the result."""

from __future__ import annotations

import hashlib
import json
import typing as t

from ..model import facts
from ..model.errors import StackguardError
from . import evidence

Unread = t.Sequence[t.Mapping[str, t.Optional[str]]]


def info_result(
    name: str,
    read: t.Any,
    file_name: str,
    evidence_dir: t.Optional[str],
    unread: Unread,
    counts: t.Mapping[str, int],
) -> t.Dict[str, t.Any]:
    """Return a module's result. ``evidence_dir``: the facts go there, and only their digest goes into the result.

    Facts of a whole cloud are too much for a task's result. Raises :class:`StackguardError` where the file cannot be
    written.
    """
    plain = facts.to_plain(read)
    result: t.Dict[str, t.Any] = {
        "changed": False,
        "complete": all(item.get("cause") == facts.NOT_ASKED_FOR for item in unread),
        "unread": list(unread),
        "counts": dict(counts),
        "digest": digest(plain),
    }
    if evidence_dir:
        try:
            result["path"] = evidence.save_part(evidence_dir, file_name, plain)
        except OSError as error:
            raise StackguardError(f"evidence_dir {evidence_dir}: {error.strerror}") from error
    else:
        result[name] = plain
    return result


def digest(plain: t.Mapping[str, t.Any]) -> str:
    """Return the SHA-256 of facts without the time they were read at: equal facts have equal digests."""
    timeless = {key: value for key, value in plain.items() if key != "read_at"}
    return hashlib.sha256(json.dumps(timeless, sort_keys=True).encode()).hexdigest()
