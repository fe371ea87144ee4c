# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What every module says about how it behaves, so that all say it in the same words."""

from __future__ import annotations


class ModuleDocFragment:
    """Fragments C(stackguard.nova.attributes) and C(stackguard.nova.attributes.NAME)."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: In check mode, the module reports what it would change, and changes nothing.
  diff_mode:
    description:
      - In diff mode, the module shows the state before and after the change. If check mode and diff mode are both on,
        the module changes nothing, and shows the current state and the planned state.
  idempotent:
    description: If you run the task twice with the same arguments outside check mode, the second run changes nothing.
"""

    # A module that only reads.
    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module changes nothing, so it does the same work in check mode.
  diff_mode:
    support: N/A
    details:
      - This module changes nothing.
  idempotent:
    support: full
    details:
      - This module changes nothing.
"""

    # A module with an action plugin of the same name.
    ACTION = r"""
options: {}
attributes:
  action:
    description: The module has an action plugin of the same name. The action plugin runs a part of the module on the
      Ansible controller.
    support: full
"""

    ACTIONGROUP_OPENSTACK = r"""
options: {}
attributes:
  action_group:
    description: In C(module_defaults) of a play, you can set the connection options of the module under
      C(group/stackguard.nova.openstack).
    support: full
    membership:
      - stackguard.nova.openstack
"""

    ACTIONGROUP_DATABASES = r"""
options: {}
attributes:
  action_group:
    description: In C(module_defaults) of a play, you can set the database URLs of the module under
      C(group/stackguard.nova.databases).
    support: full
    membership:
      - stackguard.nova.databases
"""

    # A module that takes both.
    ACTIONGROUPS = r"""
options: {}
attributes:
  action_group:
    description:
      - In C(module_defaults) of a play, you can set the connection options of the module under
        C(group/stackguard.nova.openstack), and the database URLs under C(group/stackguard.nova.databases).
    support: full
    membership:
      - stackguard.nova.openstack
      - stackguard.nova.databases
"""
