# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kills services of the lab's control plane with SIGKILL, and starts them again."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess

from . import waiting
from .lab import ROOT

PORTS = {"mariadb": 3306, "rabbitmq": 5672, "keystone": 5000, "nova-api": 8774}

_START = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from stackguard_lab import control
from stackguard_lab.settings import current_lab
lab = current_lab()
control.backends_up(lab)
control.start(lab, sys.argv[2:])
"""


def kill(lab, name):
    """Kill a service and all its workers, by the process group that the lab has noted."""
    noted = json.loads((pathlib.Path(lab.info["state"]) / "run" / f"{name}.json").read_text())
    stat = pathlib.Path(f"/proc/{noted['pid']}/stat").read_text()
    assert stat.rpartition(")")[2].split()[19] == noted["start_time"], f"{name} of the lab does not run"
    with contextlib.suppress(ProcessLookupError):
        os.killpg(noted["pid"], signal.SIGKILL)


def start(lab, name):
    """Start what was killed, and wait until it listens."""
    env = {**os.environ, "STACKGUARD_LAB_INSTANCE": str(lab.instance)}
    argv = ["/usr/bin/python3.11", "-c", _START, str(ROOT / "lab"), name]
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    waiting.until(f"{name} listens", lambda: _listens(lab.info["controller"], PORTS[name]), 120, 0.5)


def _listens(address, port):
    try:
        socket.create_connection((address, port), 2).close()
    except OSError:
        return None
    return True
