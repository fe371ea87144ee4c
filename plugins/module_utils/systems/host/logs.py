# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A service's log: note where it stands, and find literal texts in what came after.

A mark is plain data, ``{"file", "inode", "offset"}`` or ``{"unit", "cursor"}``, and outlives a rotation of the log.
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
import typing as t

from . import commands
from .reading import HostError

#: Of a line, characters that are returned.
WIDTH = 400
_PATIENCE = 60

Mark = t.Dict[str, t.Any]


class LogError(HostError):
    """A log cannot be read: why."""


def mark(log_file: t.Optional[str], unit: t.Optional[str]) -> t.Optional[Mark]:
    """Return where the log stands now; None where there is neither a file nor a unit. Raises :class:`LogError`."""
    if log_file:
        try:
            status = os.stat(log_file)
        except FileNotFoundError:
            return {"file": log_file, "inode": None, "offset": 0}
        except OSError as error:
            raise LogError(f"{log_file}: {error.strerror}") from error
        return {"file": log_file, "inode": status.st_ino, "offset": status.st_size}
    if unit:
        last = list(_journal("--lines=1"))
        return {"unit": unit, "cursor": last[-1]["__CURSOR"] if last else None}
    return None


def find(place: t.Mapping[str, t.Any], needles: t.Sequence[str]) -> t.Dict[str, t.Optional[str]]:
    """Return, for each needle, the first line after the mark that holds it, or None. Raises :class:`LogError`."""
    lines = _file_lines(place) if "file" in place else _unit_lines(place)
    found: t.Dict[str, t.Optional[str]] = dict.fromkeys(needles)
    missing = set(needles)
    for line in lines:
        for needle in [needle for needle in missing if needle in line]:
            found[needle] = _excerpt(line, needle)
            missing.discard(needle)
        if not missing:
            break
    return found


def _excerpt(line: str, needle: str) -> str:
    end = line.index(needle) + len(needle)
    start = 0 if end <= WIDTH else min(line.index(needle), end - WIDTH // 2)
    return line[start : start + WIDTH].strip()


def _file_lines(place: t.Mapping[str, t.Any]) -> t.Iterator[str]:
    path = str(place["file"])
    try:
        for name, offset in _files_since(path, place.get("inode"), int(place.get("offset") or 0)):
            with open(name, encoding="utf-8", errors="replace") as stream:
                stream.seek(offset)
                yield from stream
    except FileNotFoundError:
        return
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from error


def _files_since(path: str, inode: t.Optional[int], offset: int) -> t.List[t.Tuple[str, int]]:
    """Return the files to read and where to begin: the marked one, wherever a rotation moved it, then the new one."""
    status = os.stat(path)
    if inode is None:
        return [(path, 0)]
    if status.st_ino == inode:
        # Shorter than it was: emptied by a rotation that copies (copytruncate).
        return [(path, offset if status.st_size >= offset else 0)]
    # A compressed one is another file by then; its lines are lost to us, and a search that misses fails closed.
    moved = [name for name in glob.glob(f"{glob.escape(path)}*") if name != path and os.stat(name).st_ino == inode]
    return [(name, offset) for name in moved] + [(path, 0)]


def _unit_lines(place: t.Mapping[str, t.Any]) -> t.Iterator[str]:
    after = [f"--after-cursor={place['cursor']}"] if place.get("cursor") else []
    for entry in _journal(f"--unit={place['unit']}", *after):
        message = entry.get("MESSAGE")
        # journalctl prints what is not plain text as a list of bytes.
        if isinstance(message, list):
            message = bytes(message).decode("utf-8", "replace")
        if isinstance(message, str):
            yield message


def _journal(*arguments: str) -> t.Iterator[t.Dict[str, t.Any]]:
    command = ["journalctl", "--output=json", "--no-pager", "--quiet", *arguments]
    try:
        done = commands.run(command, _PATIENCE)
    except FileNotFoundError:
        raise LogError("journalctl is not installed on this host", problem="journalctl-not-installed") from None
    except subprocess.TimeoutExpired:
        raise LogError(f"journalctl: no answer within {_PATIENCE} s", problem="journalctl-no-answer") from None
    if done.returncode:
        raise LogError(
            f"journalctl: {done.stderr.decode('utf-8', 'replace').strip()[:WIDTH]}", problem="journalctl-failed"
        )
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        yield json.loads(line)
