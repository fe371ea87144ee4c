# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What modules say alike that move servers and keep a journal of it."""

from __future__ import annotations


class ModuleDocFragment:
    """Those of JournaledRun.COMMON (plugins/plugin_utils/journaled_run.py) that mean the same to all of them."""

    DOCUMENTATION = r"""
options:
  take_over:
    type: bool
    default: false
    description:
      - Whether to take over an open operation that began on another Ansible controller. Set O(take_over=true) only if
        the run on the other Ansible controller has ended.
  state_dir:
    type: path
    default: /var/lib/stackguard
    description: Directory for the journal. If the task has C(delegate_to), the directory is on the host in
      C(delegate_to). If the task has no C(delegate_to), the directory is on the play's host.
"""
