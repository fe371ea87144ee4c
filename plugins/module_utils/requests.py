# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operator asks for, as plain data that checks and plans share. Pure."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True)
class Commands:
    """The operator's own commands where nova-compute is no systemd unit of the host (containers).

    Each is one command line without a shell; None: systemd.
    """

    stop: t.Optional[str] = None
    start: t.Optional[str] = None
    mask: t.Optional[str] = None
    unmask: t.Optional[str] = None

    @property
    def given(self) -> bool:
        """Whether the operator's commands replace systemd. Stop and start are needed for that."""
        return bool(self.stop and self.start)


@dataclasses.dataclass(frozen=True)
class RenameRequest:
    """A rename of one compute host.

    ``inventory_name`` is the host's key in the bundle; ``rename_from`` and ``rename_to`` are C(CONF.host) before and
    after; ``hypervisor_hostname`` is libvirt's name after, where it cannot be told from the old names.
    """

    inventory_name: str
    rename_from: str
    rename_to: str
    operation_id: str = "unset"
    hypervisor_hostname: t.Optional[str] = None
    has_neutron_db: bool = False
    commands: Commands = dataclasses.field(default_factory=Commands)
    #: Unit names taken for nova-compute and for L2 agents.
    compute_units: t.Tuple[str, ...] = ("nova-compute", "openstack-nova-compute", "devstack@n-cpu")
    agent_units: t.Tuple[str, ...] = (
        "neutron-openvswitch-agent",
        "neutron-linuxbridge-agent",
        "neutron-sriov-nic-agent",
        "neutron-macvtap-agent",
        "neutron-ovn-metadata-agent",
        "neutron-ovn-agent",
    )
    #: Seconds.
    stop_timeout: int = 400
    start_timeout: int = 300
    agent_timeout: int = 180
