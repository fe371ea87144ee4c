# stackguard.nova lab: written by lab/lab at every start
"""neutron-ovn-maintenance-worker in one process: its master does nothing but hold 120 MiB."""

from __future__ import annotations

import signal
import sys
from typing import Any

from neutron import service
from neutron.cmd import server


class Here:
    """The launcher that would fork: it starts the worker in this process."""

    def __init__(self, *_args: Any, **_named: Any) -> None:
        pass

    def launch_service(self, worker: Any, _workers: int) -> None:
        worker.start()

    def wait(self) -> None:
        while True:
            signal.pause()


service.common_service.ProcessLauncher = Here
sys.exit(server.main_ovn_maintenance())
