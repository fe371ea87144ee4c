# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Guarded edits of whole lines in files, and durable writing of files.

A line is named by file and number, and is changed only where it is exactly what was read before. A file is replaced
by a rename, owner, mode and extended attributes (SELinux labels) kept. A file that is itself a mount point (/etc/hosts
in a container) cannot be replaced so; it is written in place, after the whole new content was put by, so that a run
that is killed in between finds it and finishes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import json
import os
import stat
import typing as t

from .reading import HostError


class EditError(HostError):
    """A file is not what it was when it was read, or cannot be written: file, line number, and why; no content."""


@dataclasses.dataclass(frozen=True)
class LineEdit:
    """A line before and after, both without end of line; ``number`` counts from 1."""

    path: str
    number: int
    before: str
    after: str

    def reversed(self) -> LineEdit:
        """Return the edit that takes this one back."""
        return dataclasses.replace(self, before=self.after, after=self.before)


def check(edits: t.Sequence[LineEdit], state_dir: str) -> None:
    """Raise :class:`EditError` unless every line is as before or as after already."""
    for path, group in _by_file(edits).items():
        _changed(path, read(path, state_dir), group)


def done(edits: t.Sequence[LineEdit], state_dir: str) -> t.List[LineEdit]:
    """Return the edits whose line is not yet as after. Raises :class:`EditError` for a line that is neither."""
    return [
        edit
        for path, group in _by_file(edits).items()
        for edit in group
        if _line(path, _split(read(path, state_dir)), edit)[0] != edit.after
    ]


def apply(edits: t.Sequence[LineEdit], state_dir: str) -> int:
    """Make the edits and return how many lines were changed. All are checked before the first file is written."""
    check(edits, state_dir)
    changed = 0
    for path, group in _by_file(edits).items():
        before = read(path, state_dir)
        after, count = _changed(path, before, group)
        if after != before or os.path.exists(_put_by(path, state_dir)):
            write(path, after, state_dir)
        changed += count
    return changed


def planned(edits: t.Sequence[LineEdit], state_dir: str) -> t.Dict[str, bytes]:
    """Return each file's content as the edits would leave it. Raises :class:`EditError` as :func:`check` does."""
    return {path: _changed(path, read(path, state_dir), group)[0] for path, group in _by_file(edits).items()}


def _by_file(edits: t.Sequence[LineEdit]) -> t.Dict[str, t.List[LineEdit]]:
    result: t.Dict[str, t.List[LineEdit]] = {}
    for edit in edits:
        result.setdefault(edit.path, []).append(edit)
    return result


def _changed(path: str, content: bytes, edits: t.Sequence[LineEdit]) -> t.Tuple[bytes, int]:
    lines = _split(content)
    count = 0
    for edit in edits:
        text, end = _line(path, lines, edit)
        if text != edit.after:
            lines[edit.number - 1] = edit.after.encode("utf-8", "surrogateescape") + end
            count += 1
    return b"".join(lines), count


def _split(content: bytes) -> t.List[bytes]:
    lines = content.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _line(path: str, lines: t.Sequence[bytes], edit: LineEdit) -> t.Tuple[str, bytes]:
    """Return a line and its end. Raises :class:`EditError` unless the line is as before or as after."""
    if not 1 <= edit.number <= len(lines):
        raise EditError(f"{path} has no line {edit.number}", problem="no-line")
    raw = lines[edit.number - 1]
    body = raw.rstrip(b"\r\n")
    text = body.decode("utf-8", "surrogateescape")
    if text not in (edit.before, edit.after):
        raise EditError(f"{path} line {edit.number} has changed since it was read", problem="line-changed")
    return text, raw[len(body) :]


# --- files ------------------------------------------------------------------------------------------------------


def read(path: str, state_dir: str) -> bytes:
    """Return a file's content: what was put by, where an earlier write in place was cut off."""
    put_by = _put_by(path, state_dir)
    try:
        with open(put_by if os.path.exists(put_by) else path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise EditError(f"{path}: {error.strerror}") from error


def write(path: str, content: bytes, state_dir: str) -> None:
    """Write a file durably: by replacing it, or in place where it is a mount point. Raises :class:`EditError`."""
    target = os.path.realpath(path)
    try:
        try:
            _replace(target, content)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EXDEV, errno.EROFS, errno.EACCES):
                raise
            _write_in_place(path, target, content, state_dir)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_put_by(path, state_dir))
    except OSError as error:
        raise EditError(f"{path}: {error.strerror}") from error


def _replace(target: str, content: bytes) -> None:
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".{os.path.basename(target)}.stackguard")
    old = os.stat(target) if os.path.exists(target) else None
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    # Nobody else reads it before it has its owner and mode: nova.conf holds passwords.
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchown(stream.fileno(), old.st_uid if old else 0, old.st_gid if old else 0)
            os.fchmod(stream.fileno(), stat.S_IMODE(old.st_mode) if old else 0o644)
            if old:
                _copy_attributes(target, temporary)
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except OSError:
        os.unlink(temporary)
        raise
    sync_directory(folder)


def _copy_attributes(source: str, target: str) -> None:
    with contextlib.suppress(OSError):
        for name in os.listxattr(source):
            with contextlib.suppress(OSError):
                os.setxattr(target, name, os.getxattr(source, name))


def _write_in_place(path: str, target: str, content: bytes, state_dir: str) -> None:
    os.makedirs(state_dir, mode=0o700, exist_ok=True)
    put_by = _put_by(path, state_dir)
    _durable(f"{put_by}.tmp", content, os.O_CREAT | os.O_TRUNC)
    os.replace(f"{put_by}.tmp", put_by)
    sync_directory(state_dir)
    _durable(target, content, 0)


def _durable(path: str, content: bytes, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | flags, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.truncate(len(content))
        stream.flush()
        os.fsync(stream.fileno())


def _put_by(path: str, state_dir: str) -> str:
    key = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(state_dir, f".unfinished-{key}")


def sync_directory(folder: str) -> None:
    """Force a directory's entries to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def describe(edits: t.Sequence[LineEdit]) -> str:
    """Return files and line numbers, for messages."""
    return json.dumps(sorted({f"{edit.path}:{edit.number}" for edit in edits}))
