# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tries TCP connections from this host to others. Nothing is sent: each is closed as soon as it is there.

Runs on compute hosts: Python 3.9, standard library only.
"""

from __future__ import annotations

import socket
import typing as t
from concurrent import futures

#: Connections tried at a time.
PARALLEL = 32


def probe_tcp(targets: t.Sequence[t.Mapping[str, t.Any]], timeout: float) -> t.List[t.Dict[str, t.Any]]:
    """Try each ``{"address", "port"}`` and return it with ``error``: None where the connection was made."""

    def one(target: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
        return {**target, "error": _error(str(target["address"]), int(target["port"]), timeout)}

    if not targets:
        return []
    with futures.ThreadPoolExecutor(min(PARALLEL, len(targets))) as threads:
        return list(threads.map(one, targets))


def _error(address: str, port: int, timeout: float) -> t.Optional[str]:
    try:
        # Names are resolved here, as libvirt does it on this host.
        with socket.create_connection((address, port), timeout):
            return None
    except socket.timeout:
        return f"no answer within {timeout:g} s"
    except OSError as error:
        return error.strerror or str(error)
