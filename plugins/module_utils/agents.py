# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kinds of neutron agents that a compute host has, by C(agent_type). Pure."""

from __future__ import annotations

#: Agents that wire ports on a compute host: renamed with it.
L2_AGENTS = ("Open vSwitch agent", "Linux bridge agent", "NIC Switch agent", "Macvtap agent")
#: Their ports follow the Chassis' hostname, which comes from Open vSwitch's external_ids (facts of nova, 3.1).
OVN_AGENTS = ("OVN Controller agent", "OVN Controller Gateway agent", "OVN Metadata agent", "OVN Neutron agent")
