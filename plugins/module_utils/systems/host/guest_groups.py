# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Guests in the control group of a container, read at the moment before the container stops (SG127)."""

from __future__ import annotations

import typing as t

from . import deployment, processes
from .step_error import HostStepError


def inside(ids: t.Collection[str], proc: str = "/proc") -> t.List[str]:
    """Return the UUIDs of guests that end with one of these containers. Raises HostStepError."""
    found = []
    for uuid, pids in sorted(processes.qemu_by_uuid(proc).items()):
        for pid in pids:
            try:
                _engine, number = deployment.container(deployment.control_groups(pid, proc))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
            except OSError as error:
                raise HostStepError(
                    f"control group of guest {uuid}, process {pid}: {error.strerror}", problem="control-group-unread"
                ) from error
            if number in ids:
                found.append(uuid)
    return list(dict.fromkeys(found))
