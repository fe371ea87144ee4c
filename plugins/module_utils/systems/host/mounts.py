# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a directory of a container is on the host: the kernel's own answer, with no table of volumes or engines.

C(/proc/PID/mountinfo) says of each mount which file system it is of, and which directory of that (proc(5)). A mount of
the host of the same file system leads there. The answer is compared with what the process sees: another file is none.
"""

from __future__ import annotations

import dataclasses
import os
import re
import typing as t


@dataclasses.dataclass(frozen=True)
class Mount:
    """A mount. ``device``: its file system; ``root``: the directory of that which is mounted on ``point``.

    ``kind``: of the file system, as the kernel calls it.
    """

    device: str
    root: str
    point: str
    kind: str = ""


def parse(text: str) -> t.List[Mount]:
    """Return the mounts of a C(mountinfo), in its order. Lines that are none are left out."""
    lines = [line.split(" ") for line in text.splitlines()]
    return [Mount(words[2], plain(words[3]), plain(words[4]), _kind(words)) for words in lines if len(words) > 5]


def _kind(words: t.Sequence[str]) -> str:
    # Optional fields come before, as many as there are.
    after = words[words.index("-") + 1 :] if "-" in words else []
    return after[0] if after else ""


def kind_of(path: str, proc: str = "/proc") -> str:
    """Return the kind of the file system that a directory of this host is on; empty: not known."""
    mount = _covering(_read(f"{proc}/self/mountinfo"), os.path.realpath(path))
    return mount.kind if mount else ""


def plain(word: str) -> str:
    """Return a path as it is, of one as the kernel and nfs-utils write it."""
    # A blank, a tab, a line end and a backslash are written in octal.
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), word)


def on_host(pid: int, path: str, proc: str = "/proc", root: str = "") -> t.Optional[str]:
    """Return the host's path of a directory or file that a process has mounted; None: there is none that is the same.

    What is in the root file system of a container is on no path that lasts, and has none here.
    """
    mount = _covering(_read(f"{proc}/{pid}/mountinfo"), path)
    if mount is None or mount.point == "/":
        return None
    inside = _joined(mount.root, os.path.relpath(path, mount.point))
    # A directory may have several paths: the nearest mount is the one that people mean.
    for other in sorted(_read(f"{proc}/1/mountinfo"), key=lambda entry: len(entry.root), reverse=True):
        if other.device == mount.device and below(inside, other.root):
            candidate = _joined(other.point, os.path.relpath(inside, other.root))
            if _same(f"{root}{candidate}", f"{proc}/{pid}/root{path}"):
                return candidate
    return None


def _covering(mounts: t.Sequence[Mount], path: str) -> t.Optional[Mount]:
    """Return the mount that a path is on: the deepest, and of several on one point the last."""
    found = None
    for mount in mounts:
        if below(path, mount.point) and (found is None or len(mount.point) >= len(found.point)):
            found = mount
    return found


def below(path: str, folder: str) -> bool:
    """Return True if a path is a folder or in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _joined(folder: str, rest: str) -> str:
    return folder if rest == "." else os.path.join(folder, rest)


def _same(path: str, other: str) -> bool:
    try:
        ours, theirs = os.stat(path), os.stat(other)
    except OSError:
        return False
    return (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino)


def _read(path: str) -> t.List[Mount]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            return parse(stream.read())
    except OSError:
        return []
