# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operator asks for, as plain data that checks and plans share. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from . import fence_proof
from .facts import OperationRecord


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


#: A host that was already renamed: to the new name everywhere, or back to the old one.
FORWARD, BACK = "forward", "back"


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
    #: What creates the host's containers again, where they keep the name of their creation (kolla-ansible).
    recreate_command: t.Optional[str] = None
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
    settle_timeout: int = 300
    #: Whether guests are locked while nova-compute is stopped.
    lock_guests: bool = True
    #: Whether the queues of the host's names in RabbitMQ are looked into.
    has_broker: bool = False
    #: FORWARD or BACK for a host that was already renamed; None: a rename of its own.
    adopt: t.Optional[str] = None


#: Power state afterwards: as it was, or stopped.
TARGET_STATES = ("keep", "stopped")
#: What keeps Nova from evacuating a server, and can be reset: a task that its host left behind, and three states.
RESETS = ("task", "paused", "suspended", "rescued")


@dataclasses.dataclass(frozen=True)
class EvacuationRequest:
    """An evacuation of one compute host. ``host`` is what Nova calls it; memory in MiB."""

    host: str
    operation_id: str = "unset"
    #: The host's key in the bundle; None: it is not in the inventory.
    inventory_name: t.Optional[str] = None
    #: Uuids; None: every server of the host.
    servers: t.Optional[t.Tuple[str, ...]] = None
    #: Uuids in the operator's order; those that are not named follow, the largest first.
    order: t.Tuple[str, ...] = ()
    #: Servers on their way to one destination at a time.
    parallel: int = 8
    headroom_mib: int = 512
    #: What QEMU takes beside a guest's own memory.
    overhead_mib: int = 128
    #: How much guest memory one MiB of measured memory may carry.
    overcommit: float = 1.0
    target_state: str = "keep"
    #: Whether those that fit go where others do not.
    partial: bool = False
    #: The blast radius: how many hosts of a zone may be down, as a number or as a share; the larger of the two counts.
    max_hosts: int = 1
    max_share: float = 0.1
    #: A proof or an attestation; None: the source is not fenced yet.
    fence: t.Optional[fence_proof.Fence] = None
    #: The kind of fence that was requested; None: not said.
    fence_kind: t.Optional[str] = None
    #: The controller's time, ISO 8601, and the seconds after which a proof counts as none.
    now: str = ""
    proof_max_age: float = 120.0
    #: Operations that have ended, by their journals: a hold of theirs is nobody's lock any more.
    closed: t.Tuple[str, ...] = ()
    #: Addresses of the host that the operator names, for a fence by the OSD blocklist.
    blocklist: t.Tuple[str, ...] = ()
    #: Addresses of Ceph's managers and MDS that the operator names, where the Ceph user may not read them.
    infrastructure: t.Tuple[str, ...] = ()
    #: Whether its addresses go on the OSD blocklist beside another fence.
    also_blocklist: bool = False
    #: States that may be reset once the run has proof that the host is dead: some of :data:`RESETS`.
    resets: t.Tuple[str, ...] = ()
    #: Whether the chassis that the host leaves in OVN is removed at the end.
    remove_chassis: bool = False
    #: Whether the requests that wait in RabbitMQ for the host can be read; after the fence: whether none is left that
    #: the host would execute though its server is elsewhere by then.
    queue_read: bool = False


@dataclasses.dataclass(frozen=True)
class ReturnRequest:
    """A host that was evacuated comes back. ``host`` is what Nova calls it."""

    host: str
    #: The host's key in the bundle.
    inventory_name: str
    #: Keys of the hosts that looked into Ceph, one for each cluster and pool: never the one that comes back, whose
    #: clients Ceph may refuse.
    ceph_names: t.Tuple[str, ...] = ()
    #: Operations by the journal directory, open and closed, of whatever host.
    records: t.Tuple[OperationRecord, ...] = ()
    #: Consumers of the host's resource providers that are migrations that have ended, each with its server.
    ended: t.Mapping[str, str] = dataclasses.field(default_factory=dict)


#: Ways to keep a resize in its zone.
STRATEGIES = ("auto", "pin_api", "pin_db", "verify")


@dataclasses.dataclass(frozen=True)
class ResizeRequest:
    """A resize of one server that stays in its zone. ``server`` is its uuid, ``flavor`` the new flavor's id."""

    server: str
    flavor: str
    flavor_name: str
    operation_id: str = "unset"
    strategy: str = "auto"
    confirm: bool = True
    keep_pin: bool = False
    #: Whether Nova may leave it on its own host (its allow_resize_to_same_host), which no API shows.
    same_host: bool = False
    has_database: bool = False
    #: Seconds for each move of the server.
    timeout: int = 3600


@dataclasses.dataclass(frozen=True)
class UnshelveRequest:
    """A shelved server that is to run again in its zone."""

    operation_id: str = "unset"
    #: How the pin that Nova writes is given back, if the server stays shelved; None: it cannot be.
    method: t.Optional[str] = None
    #: Seconds.
    timeout: int = 3600


#: When a server is moved cold: never; where it does not run; also where Nova refused to move it live.
COLD_NEVER, COLD_STOPPED, COLD_FALLBACK = "never", "stopped", "fallback"
COLD_RULES = (COLD_NEVER, COLD_STOPPED, COLD_FALLBACK)


@dataclasses.dataclass(frozen=True)
class MigrationRequest:
    """Servers that move to other hosts of their zone, or a host that is emptied. Memory in MiB, times in seconds."""

    #: What Nova calls the host that is emptied; None: the servers in ``servers`` move.
    drain_host: t.Optional[str] = None
    #: Uuids; None: every server of the host.
    servers: t.Optional[t.Tuple[str, ...]] = None
    operation_id: str = "unset"
    #: Whether running servers move live; otherwise they are stopped for their move.
    live: bool = True
    cold: str = COLD_STOPPED
    #: Whether those that can be moved are, where others cannot.
    partial: bool = False
    headroom_mib: int = 512
    #: What QEMU takes beside a guest's own memory.
    overhead_mib: int = 128
    #: How much guest memory one MiB of measured memory may carry.
    overcommit: float = 1.0
    #: Servers on their way at a time: in all, from one host, to one host.
    parallel: int = 8
    per_source: int = 2
    per_destination: int = 2
    #: For one server.
    timeout: int = 3600
    #: For how long what was measured on the hosts is good: after that they are measured anew.
    measured_for: int = 300
    #: Whether a host that this operation disabled is enabled when it is empty.
    enable_after: bool = False
    #: Whether a server that Nova made ERROR is made ACTIVE where its QEMU provably runs where Nova has it.
    restore_state: bool = True
    #: What the variables of the playbook that runs begin with, for messages; empty: the module's own options.
    prefix: str = ""
    #: The reason under which another operation holds the host, where the move is a step of it; empty: of none.
    within: str = ""
    #: The only host to which servers move; None: any host of their zone.
    destination: t.Optional[str] = None
    #: Whether the move is a step of a rename: its run is on the host itself, and each server comes back to it.
    renames: bool = False
    #: The variable that is C(timeout), where a live migration that has not ended by then is aborted; empty: it is not.
    aborts: str = ""

    @property
    def is_all_or_none(self) -> bool:
        """Whether no other server begins to leave the host after one has failed: the other operation needs it empty."""
        return bool(self.within and self.drain_host)

    def option(self, name: str) -> str:
        """Return what the operator calls an option."""
        return f"{self.prefix}_{name}" if self.prefix else name

    @property
    def arithmetic(self) -> EvacuationRequest:
        """The same, as the evacuation's planner takes it."""
        return EvacuationRequest(
            host=self.drain_host or "",
            operation_id=self.operation_id,
            headroom_mib=self.headroom_mib,
            overhead_mib=self.overhead_mib,
            overcommit=self.overcommit,
        )
