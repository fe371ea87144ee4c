# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the host has the files that nova-compute sees in its container.

A path in nova.conf is one of the container's. On the host such a path leads nowhere, or to a file of somebody else's: a
host may be a node of another Ceph cluster. What is in the container now is known while it runs. Of a stopped one only
that is known which kolla copies into it at each start.
"""

from __future__ import annotations

import dataclasses
import glob
import json
import os
import typing as t

from . import mounts

#: What the containers of kolla's images are configured by, and what they copy at each start.
CONFIG_FILES = "/var/lib/kolla/config_files"


@dataclasses.dataclass(frozen=True)
class ContainerFiles:
    """The files of nova-compute's container. ``pid``: its process, where it runs.

    ``folder``: the host's directory that kolla copies from, where kolla runs it. ``root``: put before paths of the host
    that are not of ``proc``. ``command``: words that run a program in the container.
    """

    pid: t.Optional[int]
    folder: t.Optional[str]
    command: t.Tuple[str, ...] = ()
    proc: str = "/proc"
    root: str = ""

    def on_host(self, path: str) -> t.Optional[str]:
        """Return the host's path of a file that has this path in the container; None: there is none that is known.

        What the container has now goes before what it copies at its next start.
        """
        if self.pid is not None:
            outside = mounts.on_host(self.pid, path, self.proc, self.root)
            if outside is not None:
                return f"{self.root}{outside}"
            inside = f"{self.proc}/{self.pid}/root{path}"
            if os.path.exists(inside):
                return inside
        copied = copies(self.folder, self.root).get(path) if self.folder else None
        return None if copied is None else f"{self.root}{copied}"


def copies(folder: str, root: str = "") -> t.Dict[str, str]:
    """Return what kolla's container copies when it starts: each file in the container, and the host's that it is of.

    The rules are those of kolla_set_configs: a source may be a pattern, or a directory, which is copied with all that
    is below it; a destination that ends with a slash is a directory. The last of several entries for one file counts.
    """
    try:
        with open(f"{root}{folder}/config.json", encoding="utf-8") as stream:
            entries = json.load(stream)["config_files"]
        pairs = [(str(entry["source"]), str(entry["dest"])) for entry in entries]
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    found: t.Dict[str, str] = {}
    for source, target in pairs:
        if source.startswith(f"{CONFIG_FILES}/"):
            found.update(_copied(f"{folder}{source[len(CONFIG_FILES) :]}", target, root))
    return found


def _copied(source: str, target: str, root: str) -> t.Iterator[t.Tuple[str, str]]:
    for match in sorted(glob.glob(f"{root}{source}")):
        path = match[len(root) :]
        place = os.path.join(target, os.path.basename(path)) if target.endswith("/") else target
        if not os.path.isdir(match):
            yield place, path
            continue
        for above, _folders, names in os.walk(match):
            below = os.path.relpath(above, match)
            for name in names:
                rest = os.path.normpath(os.path.join(below, name))
                yield os.path.join(place, rest), os.path.join(path, rest)
