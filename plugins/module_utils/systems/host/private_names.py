# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What libvirt calls a host, asked under another host name, in namespaces that nobody else is in.

This file runs as a process of its own, which knows nothing yet of any name: C(python -c SOURCE REQUEST). It therefore
imports the standard library only, and its answer is one line of JSON on standard output.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
import typing as t

_NEW_MOUNTS, _NEW_NAMES = 0x00020000, 0x04000000  # linux/sched.h
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000  # linux/mount.h
_CANONICAL_IDN = 0x0080  # glibc's netdb.h: AI_CANONIDN, which Python does not name
_OWN_NAMES = "/proc/self/ns/uts"

Binds = t.Sequence[t.Tuple[str, str]]


def enter(name: str, binds: Binds) -> None:
    """Go into namespaces of our own, put files in the place of others there, and take a host name. Raises OSError.

    Never on the host: without a namespace of our own, which is looked at, no name is set.
    """
    before = os.readlink(_OWN_NAMES)
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.unshare(_NEW_MOUNTS | _NEW_NAMES), "unshare")
    # Nothing that is mounted from here on may be seen outside.
    _mount(libc, "none", "/", _RECURSIVE | _PRIVATE)
    for source, target in binds:
        _mount(libc, source, target, _BIND)
    if os.readlink(_OWN_NAMES) == before:
        raise OSError(0, "the process still uses the UTS namespace of the host", _OWN_NAMES)
    socket.sethostname(name)


def _mount(libc: t.Any, source: str, target: str, flags: int) -> None:
    done = libc.mount(source.encode(), target.encode(), None, ctypes.c_ulong(flags), None)
    _checked(done, f"mount {target}")


def _checked(status: int, what: str) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def libvirt_name() -> t.Tuple[str, t.Optional[str]]:
    """Return the host name that libvirt would give, and why the resolver gave none; None: it did, or was not asked.

    libvirt, src/util/virutil.c: a name with a dot, or one of the local host, is taken as it is; any other is resolved,
    and its canonical name is taken unless that is the local host's.
    """
    name = socket.gethostname()
    if name.startswith("localhost") or "." in name:
        return name, None
    try:
        found = socket.getaddrinfo(name, None, flags=socket.AI_CANONNAME | _CANONICAL_IDN)
    except (OSError, UnicodeError) as error:
        return name, str(error)
    canonical = found[0][3] if found else ""
    return (name if not canonical or canonical.startswith("localhost") else canonical), None


def main(request: str) -> None:
    """Answer one request: C(name) and C(binds), or nothing of both for the host as it is."""
    wanted = json.loads(request)
    try:
        if wanted["name"] is not None:
            enter(wanted["name"], wanted["binds"])
        hostname, unresolved = libvirt_name()
        answer = {"hostname": hostname, "unresolved": unresolved}
    except OSError as error:
        answer = {"error": f"{error.filename or 'sethostname'}: {error.strerror}"}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
