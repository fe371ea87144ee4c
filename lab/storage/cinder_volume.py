# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run in Cinder's environment: cinder-volume with all its back ends in one process.

Cinder's own program is a parent with a child for each back end, of 50 to 80 MiB each.
"""

from __future__ import annotations

# patches eventlet, so it comes first
from cinder.cmd import volume  # isort: skip

from cinder import service
from oslo_service.service import ServiceLauncher


def launcher():
    return ServiceLauncher(volume.CONF)


def report_state(back_end, cinders_own=service.Service.report_state):
    # Which row of the database is this service's, is remembered by the class: in Cinder's own program by each process.
    service.Service.service_id = back_end.origin_service_id
    cinders_own(back_end)


service.Service.report_state = report_state
# the name in Cinder 29, and the one before it
service.process_launcher = service.get_launcher = launcher

if __name__ == "__main__":
    volume.main()
