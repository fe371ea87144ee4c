# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host that keeps the journals of a job: another machine as far as the job can tell, and here this one.

A job refuses a state host of Ansible's own connection C(local), which is its container.
"""

from __future__ import annotations

from ansible.plugins.connection.local import Connection as Local

DOCUMENTATION = r"""
name: permanent_host
short_description: Run on this machine, as on a host beside it
description: For tests.
author: stackguard.nova contributors
options:
  become_success_timeout:
    description: As for the connection C(local).
    type: int
    default: 10
  become_strip_preamble:
    description: As for the connection C(local).
    type: bool
    default: true
extends_documentation_fragment: connection_pipelining
"""


class Connection(Local):
    """Commands and files of this machine."""

    transport = "permanent_host"
