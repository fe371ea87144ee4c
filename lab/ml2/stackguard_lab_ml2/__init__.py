# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mechanism driver for the lab: binds any port on any host, with no L2 agent.

STACKGUARD_LAB_VIF_TYPE says how Nova is to plug: "tap" (Nova makes a bare tap; works since 34, before that libvirt 9
stumbles over the tap Nova has made) or "bridge" (os-vif makes a Linux bridge; refused by Nova since 34). Live migration
works with both.
"""

from __future__ import annotations

import os

from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api


class TapMechanismDriver(api.MechanismDriver):
    def initialize(self):
        pass

    @property
    def connectivity(self):
        return portbindings.CONNECTIVITY_L2

    def bind_port(self, context):
        if context.current.get(portbindings.VNIC_TYPE, portbindings.VNIC_NORMAL) != portbindings.VNIC_NORMAL:
            return
        for segment in context.segments_to_bind:
            context.set_binding(
                segment[api.ID],
                os.environ.get("STACKGUARD_LAB_VIF_TYPE", "tap"),
                {portbindings.CAP_PORT_FILTER: False},
                status=constants.PORT_STATUS_ACTIVE,
            )
            return
