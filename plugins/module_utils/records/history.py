# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Earlier reports of audits, one file each: C(20261121T060000Z.json), named by when the evidence was collected.

    {"schema": 1, "sha256": of the content, "content": {...}}

A file that is not exactly so is damaged, and whoever compares has to know that: it may be the one that counts. What
the content means is not known here.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import os
import re
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence

SCHEMA = 1
_NAME = re.compile(r"^(\d{8}T\d{6}Z)\.json$")
_STAMP = "%Y%m%dT%H%M%SZ"


@dataclasses.dataclass(frozen=True)
class Kept:
    """One file. ``content`` None: it is damaged, for this ``reason``. ``moment``: of its name, ISO 8601."""

    moment: t.Optional[str]
    content: t.Optional[t.Dict[str, t.Any]]
    reason: str = ""


def load(directory: str) -> t.List[Kept]:
    """Return what is kept, oldest first. No directory holds none; one that cannot be read is damaged."""
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    except OSError as error:
        return [Kept(None, None, f"{directory}: {error.strerror}")]
    return [_load(directory, name) for name in names if _NAME.match(name)]


def _load(directory: str, name: str) -> Kept:
    path, moment = os.path.join(directory, name), _moment(name)
    try:
        with open(path, encoding="utf-8") as stream:
            data = json.load(stream)
    except OSError as error:
        return Kept(moment, None, f"{path}: {error.strerror}")
    except (ValueError, RecursionError):
        return Kept(moment, None, f"{path}: not JSON")
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("content"), dict):
        return Kept(moment, None, f"{path}: the file is not a report of this version of the collection")
    if data.get("sha256") != _digest(data["content"]):
        return Kept(moment, None, f"{path}: the report has changed since it was written")
    return Kept(moment, data["content"])


def save(directory: str, generated_at: datetime.datetime, content: t.Mapping[str, t.Any], keep: int) -> None:
    """Keep one more report beside at most ``keep`` earlier ones. Raises OSError.

    One of the same moment stays as it is: to judge evidence again, with other overrides, is no other audit.
    """
    plain = to_plain(dict(content))
    name = generated_at.astimezone(datetime.timezone.utc).strftime(_STAMP) + ".json"
    if not os.path.exists(os.path.join(directory, name)) or _load(directory, name).content is None:
        evidence.save_part(directory, name, {"schema": SCHEMA, "sha256": _digest(plain), "content": plain})
    names = sorted(entry for entry in os.listdir(directory) if _NAME.match(entry))
    for old in names[: max(0, len(names) - keep - 1)]:
        os.unlink(os.path.join(directory, old))


def _moment(name: str) -> str:
    stamp = name.partition(".")[0]
    day, hour = stamp[:8], stamp[9:15]
    return f"{day[:4]}-{day[4:6]}-{day[6:]}T{hour[:2]}:{hour[2:4]}:{hour[4:]}+00:00"


def _digest(content: t.Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
