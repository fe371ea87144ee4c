# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kills a step on the compute host itself. Laid into root's site-packages there by tests, and taken away again.

Every change of a file and every command that changes something is announced by the interpreter's own audit events
before it happens. The first one of a kind not yet in SEEN ends the process, if the file ARMED is there.
"""

from __future__ import annotations

import os
import signal
import sys

ARMED = "/run/stackguard-test-armed"
SEEN = "/run/stackguard-test-seen"
FILES = ("os.rename", "os.symlink", "os.remove")
WORDS = ("stop", "start", "restart", "mask", "unmask", "set-hostname", "hostname", "set", "daemon-reload")
#: The module itself is __main__ there; this is what it imports to do a step.
MODULE = "module_utils.systems.host.steps"


def is_step():
    return any(MODULE in name for name in list(sys.modules))


def label(event, args):
    if event in FILES:
        return f"{event} {os.path.basename(os.fsdecode(args[-2] if event != 'os.remove' else args[0]))}"
    words = [os.fsdecode(word) for word in (args[1] or [])]
    if not words or words[0].endswith("python3") or not set(words) & set(WORDS):
        return None
    return f"{event} {' '.join([os.path.basename(words[0]), *words[1:]])}"


def watch(event, args):
    if event not in FILES and event != "subprocess.Popen":
        return
    try:
        if not is_step():
            return
        name = label(event, args)
        if name is None or ".tmp" in name:
            return
        with open(SEEN, "a+", encoding="utf-8") as stream:
            stream.seek(0)
            if name in stream.read().splitlines():
                return
            stream.write(name + "\n")
    except Exception:  # noqa: BLE001 - a hook that raises would change what is tested
        return
    os.kill(os.getpid(), signal.SIGKILL)


if os.path.exists(ARMED):
    sys.addaudithook(watch)
