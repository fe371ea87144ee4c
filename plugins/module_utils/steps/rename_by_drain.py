# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the controller's steps of a drain do: guests moved, the old host unregistered, the new one registered.

Nothing is remembered between two looks but what was asked for in this very run: a server's own state says what is to
be done next, so a run that was killed is carried on with by looking again.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.capacity.placement import LIVE, METHODS
from ansible_collections.stackguard.nova.plugins.module_utils.checks.before import rename_by_drain as checks
from ansible_collections.stackguard.nova.plugins.module_utils.checks.hazards import power_state
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import SCHEMA, ApiService, Bundle, TargetHost
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import BLOCKER, Checked, standing
from ansible_collections.stackguard.nova.plugins.module_utils.model.lookups import uuid_key
from ansible_collections.stackguard.nova.plugins.module_utils.model.wording import count
from ansible_collections.stackguard.nova.plugins.module_utils.plans.rename_by_drain import POINT_OF_NO_RETURN
from ansible_collections.stackguard.nova.plugins.module_utils.records import journal as journals
from ansible_collections.stackguard.nova.plugins.module_utils.reports.terminal import findings_text
from ansible_collections.stackguard.nova.plugins.module_utils.steps import ovn_drain
from ansible_collections.stackguard.nova.plugins.module_utils.steps.rename import (
    ComputeUp,
    Memory,
    Params,
    Systems,
    as_step_error,
    noted,
)
from ansible_collections.stackguard.nova.plugins.module_utils.steps.runner import (
    Action,
    Done,
    StepError,
    TimedOutError,
    plan_of,
)
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import (
    cloud_facts,
    compute_services,
    host_aggregates,
    hypervisors,
    instance_actions,
    migration_records,
    resource_providers,
    server_actions,
    server_records,
    target_hosts,
)
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import neutron_agents, nova

Json = t.Dict[str, t.Any]

#: Seconds between two looks at the servers that move.
POLL = 2.0
#: Seconds between two lines of progress.
TELL = 10.0
#: Seconds before the same host is asked again after a move to it failed.
AGAIN = 10.0
#: Seconds after which libvirt is asked again what runs.
FRESH = 30.0
#: Seconds in which nova-compute notices after a boot that a guest is off.
SYNC = 180.0
#: How often the same host is asked again where the API says 409: the server's state is changing under our eyes.
BUSY_TRIES = 5


class DiscoveryError(StepError):
    """The new host is not mapped to a cell: somebody must run discover_hosts."""

    needs = "discover_hosts"


@dataclasses.dataclass
class MoveInTransit:
    """One guest on its way. ``candidates``: hosts not tried yet."""

    uuid: str
    name: str
    candidates: t.List[str]
    target: t.Optional[str] = None
    confirmed: bool = False
    busy: int = 0
    not_before: float = 0.0
    started: float = 0.0
    told: float = 0.0
    reasons: t.List[str] = dataclasses.field(default_factory=list)
    #: Why it must not be sent at all.
    barred: str = ""


class Mover:
    """Moves guests, a few at a time. ``at_home``: whether a host's name means that the guest is where it shall be."""

    #: Whether nothing but nova-compute's word says that a guest runs: no host's libvirt was read.
    only_nova = False

    def __init__(
        self, systems: Systems, params: Params, at_home: t.Callable[[t.Optional[str]], bool], lenient: bool = False
    ) -> None:
        """``lenient``: a guest in a state that cannot be moved is left where it is, and told."""
        self.systems = systems
        self.lenient = lenient
        self.parallel = int(params["parallel"])
        self.timeout = float(params["timeout"])
        self.at_home = at_home
        self.failed: t.List[str] = []
        self.moved: t.Dict[str, str] = {}
        self.gone: t.List[str] = []
        self.left: t.List[str] = []
        self.active: t.List[MoveInTransit] = []

    def move(self, guests: t.Sequence[MoveInTransit]) -> None:
        """Move them all. One that fails ends it: those on their way are waited for, no other is begun."""
        waiting = self.work(guests)
        if self.failed:
            told = "; ".join(self.failed)
            left = (
                f" (after the failure, the run did not try to move {count(len(waiting), 'other guest')})"
                if waiting
                else ""
            )
            raise StepError(
                f"{told}{left}. Every guest stays on its current host. Run the same command again to resume"
            )

    def work(self, guests: t.Sequence[MoveInTransit]) -> t.List[MoveInTransit]:
        """Move as many as may begin, and return the others."""
        waiting = list(guests)
        total = len(waiting)
        while self.active or (waiting and self.goes_on()):
            for guest in list(waiting):
                if self.goes_on() and len(self.active) < self.parallel and self.has_way(guest):
                    waiting.remove(guest)
                    guest.started = guest.told = self.systems.monotonic()
                    self.active.append(guest)
            self.active = [guest for guest in self.active if not self._look(guest, total - len(waiting), total)]
            if self.active:
                self.systems.sleep(POLL)
        return waiting

    # --- what another operation does otherwise

    def goes_on(self) -> bool:
        """Whether another guest may begin."""
        return not self.failed

    def has_way(self, guest: MoveInTransit) -> bool:
        """Whether a guest may begin beside those that are on their way."""
        return True

    def is_away(self, guest: MoveInTransit, host: t.Optional[str]) -> bool:
        """Whether a guest on this host is where it shall be."""
        return self.at_home(host)

    def method(self, guest: MoveInTransit, status: str) -> t.Optional[str]:
        """How a guest of this status moves; None: not at all."""
        return METHODS.get(status)

    def find_host(self, guest: MoveInTransit) -> bool:
        """Whether there is a host to try, the first of its candidates."""
        return bool(guest.candidates)

    def note_refusal(self, guest: MoveInTransit, target: str, said: str) -> None:
        """Note why a guest did not go to a host."""
        guest.reasons.append(f"{target}: {said}")

    # --- one guest

    def _look(self, guest: MoveInTransit, number: int, total: int) -> bool:
        """Look at one guest and do what is next; whether it is finished, well or not."""
        with as_step_error():
            server = server_records.raw_server(self.systems.cloud, guest.uuid)
        if server is None or server["status"] in ("DELETED", "SOFT_DELETED"):
            self.gone.append(guest.name)
            self.systems.remark(f"{guest.name}: deleted by its owner during the run")
            return True
        host = server.get("OS-EXT-SRV-ATTR:host")
        if server.get("OS-EXT-STS:task_state") is not None:
            return self._wait(guest, server)
        if self.is_away(guest, host):
            return self._arrived(guest, server, host or "no host", f"{number}/{total}")
        if guest.target is not None:
            self._note_failure(guest, server)
        if self.method(guest, server["status"]) is None:
            return self._cannot(guest, server["status"])
        if not self.find_host(guest):
            return self._fail(
                guest, guest.barred or "the run has tried to move the guest to every host, without success"
            )
        if guest.not_before <= self.systems.monotonic():
            self._ask(guest, server)
        return False

    def _cannot(self, guest: MoveInTransit, status: str) -> bool:
        if not self.lenient or guest.reasons:
            return self._fail(guest, f"Nova cannot move a server in state {status}")
        self.left.append(guest.name)
        self.systems.remark(f"{guest.name}: Nova cannot move a guest in state {status}. The guest stays on its host")
        return True

    def _arrived(self, guest: MoveInTransit, server: Json, host: str, number: str) -> bool:
        if server["status"] == "VERIFY_RESIZE":
            return self._confirm(guest, server)
        if server["status"] == "ERROR":
            with as_step_error():
                said = instance_actions.why(self.systems.cloud, server)
            return self._fail(guest, f"the server is on {host} but in ERROR: {said}")
        self.moved[guest.uuid] = host
        seconds = int(self.systems.monotonic() - guest.started)
        self.systems.remark(f"{number} {guest.name}: {server['status']} on {host} ({seconds} s)")
        return True

    def _confirm(self, guest: MoveInTransit, server: Json) -> bool:
        if guest.confirmed:
            return self._wait(guest, server)
        with as_step_error():
            migration = migration_records.last_migration(self.systems.cloud, guest.uuid) or {}
        if migration.get("migration_type") != "migration":
            return self._fail(guest, "the resize of the server waits for its owner's confirmation")
        guest.confirmed = True
        try:
            server_actions.confirm(self.systems.cloud, guest.uuid)
        except ApiError as error:
            # 409: Nova is at it already (an earlier run asked, or resize_confirm_window).
            if error.data.get("status") != 409:
                raise StepError(f"{guest.name}: {error}") from error
        return self._wait(guest, server)

    def _ask(self, guest: MoveInTransit, server: Json) -> None:
        target = guest.candidates[0]
        method = self.method(guest, server["status"])
        state = self.not_running(guest, server) if method == LIVE else None
        if state is not None:
            self._hold_back(guest, server, state)
            return
        try:
            if method == LIVE:
                server_actions.live_migrate(self.systems.cloud, guest.uuid, target)
            else:
                server_actions.cold_migrate(self.systems.cloud, guest.uuid, target)
        except ApiError as error:
            if error.data.get("status") == 409 and guest.busy < BUSY_TRIES:
                guest.busy += 1
                return
            guest.candidates.pop(0)
            self.note_refusal(guest, target, str(error))
            return
        guest.candidates.pop(0)
        guest.target = target
        self.systems.remark(f"{guest.name}: {method} migration to {target}")

    def not_running(self, guest: MoveInTransit, server: Json) -> t.Optional[str]:
        """Return the state of a guest that does not run, and would be lost in a live migration; None: it runs.

        nova-compute of its host is asked at this moment: see :mod:`checks.hazards.power_state`. Of a paused guest it
        says nothing.
        """
        if server["status"] != "ACTIVE":
            return None
        try:
            return None if server_records.is_running(self.systems.cloud, guest.uuid) else power_state.OFF
        except ApiError as error:
            return f"{power_state.UNREAD} ({error})" if self.only_nova else None

    def _hold_back(self, guest: MoveInTransit, server: Json, state: str) -> None:
        """Wait until Nova shows that the guest is off, as nova-compute says by itself: then it moves cold."""
        now = self.systems.monotonic()
        guest.not_before = now + AGAIN
        if now - guest.started > SYNC:
            guest.candidates.clear()
            guest.barred = (
                f"SG710 server-not-movable: Nova shows the server as {server['status']}, but the state of the guest in "
                f"libvirt is: {state}. Run the playbook audit, and find out where the server has a domain"
            )

    def _note_failure(self, guest: MoveInTransit, server: Json) -> None:
        with as_step_error():
            said = instance_actions.why(self.systems.cloud, server)
        self.note_refusal(guest, str(guest.target), said)
        self.systems.remark(f"{guest.name} did not move to {guest.target}: {said}")
        if guest.candidates[:1] == [guest.target]:
            # The scheduler may not know yet that this host is enabled.
            guest.not_before = self.systems.monotonic() + AGAIN
        guest.target = None

    def _wait(self, guest: MoveInTransit, server: Json) -> bool:
        now = self.systems.monotonic()
        if now - guest.started > self.timeout:
            task = server.get("OS-EXT-STS:task_state")
            said = (
                f"the server is still {server['status']} ({task}) after {int(self.timeout)} "
                f"s{self._mute(guest, server)}"
            )
            return self._fail(guest, said)
        if now - guest.told >= TELL:
            guest.told = now
            with as_step_error():
                far = migration_records.progress(self.systems.cloud, guest.uuid)
            state = far or server.get("OS-EXT-STS:task_state") or server["status"]
            self.systems.remark(f"{guest.name}: {state}, {int(now - guest.started)} s{self._mute(guest, server)}")
        return False

    def _mute(self, guest: MoveInTransit, server: Json) -> str:
        """Say whose nova-compute has stopped to report: Nova goes on saying that the move runs, and it never ends."""
        found = ""
        taking_part = {server.get("OS-EXT-SRV-ATTR:host"), guest.target}
        for host in sorted(str(name) for name in taking_part if name):
            try:
                service = compute_services.find_service(self.systems.cloud, host)
            except ApiError:
                # A remark is not worth the run: what decides is read elsewhere.
                continue
            if service is not None and service.state != "up":
                found += (
                    f"; nova-compute of {host} has not reported since {service.updated_at} (UTC): the move can end "
                    "only after this nova-compute runs again"
                )
        return found

    def _fail(self, guest: MoveInTransit, reason: str) -> bool:
        said = "".join(f"; {text}" for text in guest.reasons)
        self.failed.append(f"guest {guest.name} ({guest.uuid}): {reason}{said}")
        return True


class LeavingMover(Mover):
    """Moves guests off a host. It live-migrates a guest only if libvirt shows that the guest runs there.

    The host may have rebooted since the plan, or since the last guest: see :mod:`checks.hazards.power_state`. After a
    boot nova-compute says by itself that a guest is off, which is waited for: then the guest moves cold.
    """

    def __init__(self, systems: Systems, params: Params) -> None:
        super().__init__(systems, params, lambda host: host != params["host"])
        self._states: t.Optional[t.Dict[str, str]] = None
        self._read_at = 0.0

    def not_running(self, guest: MoveInTransit, server: Json) -> t.Optional[str]:
        """Ask libvirt of the host as well."""
        state = self._state(guest.uuid)
        if state in power_state.RUNS:
            return super().not_running(guest, server)
        self._states = None
        return state

    def _state(self, uuid: str) -> str:
        """Return what libvirt says of a guest, of some seconds ago at most."""
        if self._states is None or self.systems.monotonic() - self._read_at > FRESH:
            self._read_at = self.systems.monotonic()
            try:
                domains = self.systems.host.facts(self.systems.info_arguments).domains
            except StepError as error:
                self.systems.remark(f"the run could not read libvirt of the host: {error}")
                domains = None
            self._states = None if domains is None else {uuid_key(row.uuid): row.state for row in domains}
        if self._states is None:
            return power_state.UNREAD
        return self._states.get(uuid_key(uuid), power_state.NO_DOMAIN)


class HomingMover(Mover):
    """Moves guests back to a host, from hosts whose libvirt the run does not read."""

    only_nova = True


class GuestsAtHome:
    """Nothing forward. Back, it is the last: where guests shall come home, the service is enabled again by then."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Nothing to do: the plan bears the list."""
        return Done(f"{count(len(params['guests']), 'guest')} on {params['host']}")

    def undo(self, params: Params) -> None:
        """Bring the guests back, if that is asked for with the rollback."""
        if not (self.systems.options.get("drain_return") and params["guests"]):
            return
        try:
            _come_home(self.systems, params)
        except StepError as error:
            raise StepError(
                f"{error}. All other changes of the rename are rolled back. To finish the rollback and leave these "
                "guests where they are now, run the same command with -e rename_drain_return=false"
            ) from error


class ReturnGuests:
    """Bring the guests of a list to a host: those that exist and are elsewhere."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Move each to the host. What its owner stopped, started or deleted meanwhile is taken as it is."""
        if self.systems.options.get("drain_return") is False:
            return Done("the run does not move the guests back, because rename_drain_return is now false")
        try:
            mover = _come_home(self.systems, params)
        except StepError as error:
            raise StepError(
                f"{error}. The host has its new name. To finish the operation and leave these guests where they "
                "are now, run the same command with -e rename_drain_return=false"
            ) from error
        gone = f", {len(mover.gone)} deleted during the run" if mover.gone else ""
        return Done(f"{count(len(mover.moved), 'guest')} on {params['host']}{gone}")

    def undo(self, params: Params) -> None:
        """Never reached: the old host is gone."""


def _come_home(systems: Systems, params: Params) -> Mover:
    host, seen_first = params["host"], t.cast("t.List[t.Optional[str]]", [])

    def up() -> t.Optional[str]:
        # A fresh heartbeat: a migration asked for while nova-compute initialises can end in ERROR.
        with as_step_error():
            service = compute_services.find_service(systems.cloud, host)
        if service is None:
            return None
        seen_first.append(service.updated_at)
        return "up" if _usable(service) and service.updated_at != seen_first[0] else None

    systems.wait(
        lambda: f"nova-compute on {host} has sent a heartbeat, and its service is enabled", params["up_timeout"], up
    )
    mover = HomingMover(systems, params, lambda found: found == host, lenient=True)
    # The scheduler learns that the host is enabled some seconds after the API said so: it is asked more than once.
    mover.move([MoveInTransit(uuid, _name(systems, uuid), [host] * 4) for uuid in params["guests"]])
    if mover.left:
        raise StepError(
            f"the run found {count(len(mover.moved), 'guest')} on {host}. Nova cannot move the following guests back "
            f"to the host, because of their current states: {', '.join(mover.left)}"
        )
    return mover


def _usable(service: ApiService) -> bool:
    return service.state == "up" and service.status == "enabled" and not service.forced_down


def _name(systems: Systems, uuid: str) -> str:
    with as_step_error():
        server = server_records.raw_server(systems.cloud, uuid)
    return str(server["name"]) if server else uuid


class MoveGuests:
    """Empty a host: the planned guests, and whoever came to it between plan and disabling."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Move every guest to another host of the zone."""
        planned = {guest["uuid"]: guest for guest in params["guests"]}
        with as_step_error():
            servers = server_records.servers_on(self.systems.cloud, params["host"])
        order = {uuid: index for index, uuid in enumerate(planned)}
        guests = [
            MoveInTransit(
                server.id,
                server.name,
                list(planned[server.id]["candidates"] if server.id in planned else params["others"]),
            )
            for server in sorted(servers, key=lambda server: order.get(server.id, len(order)))
        ]
        # Of an earlier run: a cold migration that is to be confirmed is on its new host already.
        there = {guest.uuid for guest in guests}
        guests += [MoveInTransit(uuid, guest["name"], []) for uuid, guest in planned.items() if uuid not in there]
        # The preflight refuses (SG703) where one waits for a confirmation before the operation begins.
        late = unconfirmed(self.systems, params["host"], {*there, *planned})
        guests += [MoveInTransit(uuid, name, []) for uuid, name in late.items()]
        mover = LeavingMover(self.systems, params)
        mover.move(guests)
        gone = f", {len(mover.gone)} deleted during the run" if mover.gone else ""
        return Done(f"{count(len(mover.moved), 'guest')} moved{gone}", {"moved": mover.moved})

    def undo(self, params: Params) -> None:
        """Guests stay where they are: each move is whole, and a move back is another risk. See ``guests_at_home``.

        A move that is not whole is made so: what is on its way arrives, and a cold migration that was not confirmed
        before the run was cut is reverted, which is Nova's own way home.
        """
        names = {guest["uuid"]: guest["name"] for guest in params["guests"]}
        names.update(unconfirmed(self.systems, params["host"], names))
        settle(self.systems, [(uuid, name, params["host"]) for uuid, name in names.items()], params)


def unconfirmed(
    systems: Systems, host: str, known: t.Container[str], since: t.Optional[str] = None
) -> t.Dict[str, str]:
    """Return servers that left a host cold and wait for a confirmation, but for those that are known: uuid to name.

    They came after the plan, so that the journal does not know them. ``since``: when the operation began, where one of
    somebody else's may have been there before.
    """
    with as_step_error():
        found = migration_records.list_migrations(systems.cloud, "finished", "migration", host, since)
        rows = [
            server_records.raw_server(systems.cloud, row.instance_uuid)
            for row in found
            if row.source_compute == host and row.instance_uuid and row.instance_uuid not in known
        ]
    return {str(row["id"]): str(row["name"]) for row in rows if row and row["status"] == "VERIFY_RESIZE"}


def settle(systems: Systems, guests: t.Iterable[t.Tuple[str, str, str]], params: Params) -> None:
    """End the unfinished moves of guests (uuid, name, the host that each came from), within C(timeout) each."""
    settling = _Settling(systems)
    waiting = {uuid: (name, host) for uuid, name, host in guests}

    def settled() -> t.Optional[str]:
        for uuid in [uuid for uuid, (name, host) in waiting.items() if settling.look(uuid, name, host)]:
            del waiting[uuid]
        return None if waiting else "all moves have ended"

    def lacking() -> str:
        return f"the moves of these guests have ended: {', '.join(name for name, _host in waiting.values())}"

    systems.wait(lacking, params["timeout"], settled)


class _Settling:
    """Unfinished moves, ended."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems
        self.asked: t.Set[str] = set()

    def look(self, uuid: str, name: str, host: str) -> bool:
        """Look at one guest that came from ``host``; whether no move of it is left unfinished."""
        with as_step_error():
            server = server_records.raw_server(self.systems.cloud, uuid)
        if server is None or server["status"] in ("DELETED", "SOFT_DELETED"):
            return True
        if server.get("OS-EXT-STS:task_state") is not None:
            return False
        if server["status"] != "VERIFY_RESIZE":
            return True
        with as_step_error():
            migration = migration_records.last_migration(self.systems.cloud, uuid) or {}
        if migration.get("migration_type") != "migration" or migration.get("source_compute") != host:
            # Its owner's resize, begun since: his to confirm or to revert.
            return True
        if uuid not in self.asked:
            self._revert(uuid, name, host)
        return False

    def _revert(self, uuid: str, name: str, host: str) -> None:
        self.systems.remark(f"{name}: the run reverts the unconfirmed cold migration, so the guest returns to {host}")
        try:
            server_actions.revert(self.systems.cloud, uuid)
        except ApiError as error:
            # 409: an earlier run asked already.
            if error.data.get("status") != 409:
                raise StepError(f"{name}: {error}") from error
        self.asked.add(uuid)


class HostEmpty:
    """No guest is left: asked of the API, the databases and libvirt."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Wait until all three agree; a domain goes some seconds after its migration ended."""
        left: t.List[str] = []

        def seen() -> t.Optional[str]:
            left[:] = _left(self.systems, params)
            return None if left else "the host has no server, no instance row, no domain and no allocation"

        return Done(
            self.systems.wait(
                lambda: f"the host is empty (objects that must still disappear from the host: {', '.join(left[:5])})",
                params["timeout"],
                seen,
            )
        )

    def undo(self, params: Params) -> None:
        """Nothing was changed."""


def _left(systems: Systems, params: Params) -> t.List[str]:
    """Name what still is on the host."""
    with as_step_error():
        servers = server_records.servers_on(systems.cloud, params["host"])
        databases = nova.read_databases(systems.options, sorted({params["host"], params["node"]}))
    left = [f"server {server.name} ({server.id})" for server in servers]
    if databases.cells is None or any(cell.instances is None for cell in databases.cells):
        raise StepError("the run cannot read the cell databases, so the run does not know whether the host is empty")
    for cell in databases.cells:
        rows = [row for row in cell.instances or [] if row.host == params["host"] and not row.deleted]
        left += [f"instance row {row.uuid} in cell {cell.name}" for row in rows]
    domains = systems.host.facts(systems.info_arguments).domains
    if domains is None:
        raise StepError("the run cannot read libvirt, so the run does not know whether the host is empty")
    left += [f"domain {domain.name} ({domain.uuid}, {domain.state})" for domain in domains]
    return left + _allocations(systems, params.get("provider"))


def _allocations(systems: Systems, root: t.Optional[str]) -> t.List[str]:
    """Name who holds resources of a provider tree: Nova would keep a provider with allocations, and say nothing.

    ``root``: None in the journal of an earlier version.
    """
    if root is None:
        return []
    with as_step_error():
        tree = [provider.uuid for provider in resource_providers.list_providers(systems.cloud, in_tree=root)]
        held = {uuid: resource_providers.provider_consumers(systems.cloud, uuid) or [] for uuid in tree}
    return [f"allocation of {consumer} on {uuid}" for uuid in tree for consumer in held[uuid]]


class DeleteService:
    """The point of no return: Nova forgets the host."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Look once more, delete, and see everything gone."""
        if self._exists(params):
            left = _left(self.systems, params)
            if left:
                raise StepError(
                    f"the compute service was not deleted, because the host is not empty: {', '.join(left[:5])}"
                )
            with as_step_error():
                others = neutron_agents.other_nodes_of_service(
                    self.systems.url(f"cell:{params['cell']}"), params["service"], params["host"]
                )
            if others:
                raise StepError(
                    "the compute service was not deleted, because Nova would also delete compute nodes of other hosts: "
                    f"{', '.join(others)}"
                )
            # Reading may have taken long, and nothing brings the service back.
            self.systems.still_ours()
            with as_step_error():
                compute_services.delete_service(self.systems.cloud, params["service_id"])
        return Done(self._verify(params))

    def undo(self, params: Params) -> None:
        """Refuse where it was deleted: nothing brings its node, provider and mapping back."""
        if not self._exists(params):
            raise StepError(
                f"the compute service {params['service_id']} of {params['host']} was deleted, with its compute node, "
                "resource provider and host mapping. A rollback is no longer possible. To finish the rename, run the "
                "same command without rename_action=rollback"
            )

    def _exists(self, params: Params) -> bool:
        with as_step_error():
            service = compute_services.find_service(self.systems.cloud, params["host"])
        return service is not None and service.id == params["service_id"]

    def _verify(self, params: Params) -> str:
        cloud, provider = self.systems.cloud, params["provider"]
        with as_step_error():
            consumers = resource_providers.provider_consumers(cloud, provider)
            if consumers:
                raise StepError(
                    f"resource provider {provider} still exists, with allocations of {', '.join(consumers)}"
                )
            if consumers is not None:
                # Nova only logs where placement did not delete it.
                resource_providers.delete_provider(cloud, provider)
            # An aggregate that was deleted since has no member.
            hosts = {entry.id: entry.hosts for entry in host_aggregates.list_aggregates(cloud)}
            members = [identity for identity in params["aggregates"] if params["host"] in hosts.get(identity, [])]
            for identity in members:
                host_aggregates.leave_aggregate(cloud, identity, params["host"])
            if self._exists(params):
                raise StepError(f"compute service {params['service_id']} still exists")
        return "compute service, compute node, resource provider and aggregate memberships are deleted"


class Register:
    """nova-compute's new service seen, disabled at once, and its host mapped to its cell."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Wait for the service, then for the mapping. What nova-compute says in its log when it refuses ends it."""
        service_id = self._service(params, memory)
        node = self._mapped(params)
        if node == params["old_node"]:
            raise StepError(
                "the host started with its old identity, because nova-compute still reads a compute_id file with the "
                f"uuid {node}"
            )
        if params.get("new_node") not in (None, node):
            raise StepError(
                f"the new compute node has the uuid {node}, expected {params['new_node']}: someone changed the "
                "compute_id file after the run wrote it. Check whether the uuid in the file belonged to another host"
            )
        told = f"service {service_id}, node {node}: the service is up, and the host is mapped to its cell"
        return Done(told, {"service_id": service_id, "provider": node})

    def undo(self, params: Params) -> None:
        """Never reached: the old host is gone."""

    def _service(self, params: Params, memory: Memory) -> str:
        found: t.List[str] = []

        def seen() -> t.Optional[str]:
            with as_step_error():
                service = compute_services.find_service(self.systems.cloud, params["host"])
                if service is not None and service.disabled_reason != params["reason"]:
                    compute_services.set_service_status(self.systems.cloud, service.id, "disabled", params["reason"])
            self._read_log(params, memory)
            if service is None or service.state != "up":
                return None
            found.append(service.id)
            return service.id

        return self.systems.wait(lambda: f"the compute service of {params['host']} is up", params["timeout"], seen)

    def _read_log(self, params: Params, memory: Memory) -> None:
        mark = memory.get("stop_compute")
        if mark is None:
            return
        request = {
            "op": "log_find",
            "log_file": params["log_file"],
            "unit": params["units"][0] if params["units"] else None,
            "mark": mark,
            "needles": list(ComputeUp.REFUSALS),
        }
        (result,) = self.systems.host.call([request])
        for line in result["found"].values():
            if line:
                raise StepError(f"nova-compute logged: {line}")

    def _mapped(self, params: Params) -> str:
        host = params["host"]

        def seen() -> t.Optional[str]:
            with as_step_error():
                node = hypervisors.find_node(self.systems.cloud, host)
                if node is None or resource_providers.provider_aggregates(self.systems.cloud, node.id) is None:
                    return None
            if node.hypervisor_hostname != params["node"]:
                raise StepError(
                    f"the new compute node has the name {node.hypervisor_hostname}, expected {params['node']}"
                )
            return node.id

        try:
            return self.systems.wait(lambda: f"host {host} is mapped to its cell", params["discover_timeout"], seen)
        except TimedOutError as error:
            raise DiscoveryError(
                f"{error}. Run nova-manage cell_v2 discover_hosts on a controller node of the cloud. Then run the "
                "same Ansible command again. To let the run map the host, set rename_discover_command and "
                "rename_discover_host"
            ) from error


def _is_gone(systems: Systems, identity: int) -> bool:
    """Whether Nova says of this very aggregate that it does not exist: one that a list lacks may only be unread."""
    try:
        host_aggregates.get_aggregate(systems.cloud, identity)
    except ApiError as error:
        if error.data.get("status") == 404:
            return True
        raise StepError(str(error)) from error
    return False


class JoinAggregates:
    """The host in exactly the aggregates its old name was in, in Nova and in placement."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Join each; one where only Nova knows the host is left and joined again.

        The run cannot join an aggregate that somebody has deleted since the plan: it warns, and leaves that one out.
        """
        provider = memory["register"]["provider"]
        gone = [entry for entry in params["aggregates"] if _is_gone(self.systems, entry["id"])]
        there = [entry for entry in params["aggregates"] if entry not in gone]
        for entry in gone:
            self.systems.remark(f"warning: aggregate {entry['name']} was deleted during the run")
        for entry in there:
            self._join(entry, params["host"], provider, params["timeout"])
        joined = ", ".join(entry["name"] for entry in there)
        return Done(f"joined {count(len(there), 'aggregate')}: {joined}")

    def undo(self, params: Params) -> None:
        """Never reached: the old host is gone."""

    def _join(self, entry: Json, host: str, provider: str, timeout: float) -> None:
        said: t.List[str] = []

        def seen() -> t.Optional[str]:
            try:
                return self._once(entry, host, provider)
            except ApiError as error:
                # 404: not mapped yet, as that API server sees it; 409: placement's generation moved meanwhile.
                if error.data.get("status") not in (404, 409):
                    raise StepError(f"aggregate {entry['name']}: {error}") from error
                said[:] = [str(error)]
                return None

        self.systems.wait(
            lambda: f"the host is in aggregate {entry['name']}{''.join(f' ({one})' for one in said)}", timeout, seen
        )

    def _once(self, entry: Json, host: str, provider: str) -> t.Optional[str]:
        cloud = self.systems.cloud
        if host not in host_aggregates.get_aggregate(cloud, entry["id"])["hosts"]:
            host_aggregates.join_aggregate(cloud, entry["id"], host)
        if entry["uuid"] in (resource_providers.provider_aggregates(cloud, provider) or []):
            return "joined"
        # Half done: Nova says "already has host" from now on, and zone-pinned guests find no valid host.
        self.systems.remark(
            f"aggregate {entry['name']}: Nova shows the host in the aggregate, but placement does not show the host in "
            "the aggregate yet. The run removes the host from the aggregate, and then adds the host again"
        )
        host_aggregates.leave_aggregate(cloud, entry["id"], host)
        return None


class NewServiceStatus:
    """Give the new service the status that the old one had."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Set it, once OVN's chassis is proven in this very run."""
        # Journals of earlier versions do not have it.
        ovn_drain.read_again(self.systems, params.get("ovn"))
        with as_step_error():
            service_id = memory["register"]["service_id"]
            # Journals of earlier versions do not say under which reason the service waits.
            held = ("disabled", params["held"]) if "held" in params else None
            compute_services.set_service_status(
                self.systems.cloud, service_id, params["status"], params["reason"], held
            )
        return Done(f"{params['status']}" + (f" ({params['reason']})" if params["reason"] else ""))

    def undo(self, params: Params) -> None:
        """Never reached: the old host is gone."""


class DrainAudit:
    """Read everything once more. Whatever blocks stops the operation before the service is enabled."""

    def __init__(self, systems: Systems) -> None:
        self.systems = systems

    def apply(self, params: Params, memory: Memory) -> Done:
        """Read, check, and refuse on any blocker, and where a place of the name was not read."""
        ovn_drain.read_again(self.systems, params.get("ovn"))
        registered = memory["register"]
        expected = checks.ReplacedHost(
            inventory_name=params["inventory_name"],
            old=(params["old"]["host"], params["old"]["hypervisor_hostname"]),
            new=(params["new"]["host"], params["new"]["hypervisor_hostname"]),
            old_ids=(params["old_service"], params["old_node"]),
            new_ids=(registered["service_id"], registered["provider"]),
            zone=params["zone"],
            aggregates=tuple(params["aggregates"]),
            guests=tuple(params["guests"]),
            gone=tuple(identity for identity in params["aggregates"] if _is_gone(self.systems, identity)),
        )
        bundle = self._collect(params)
        with as_step_error():
            servers = {uuid: server_records.raw_server(self.systems.cloud, uuid) for uuid in expected.guests}
        zones = {
            uuid: server.get("OS-EXT-AZ:availability_zone") if server else None for uuid, server in servers.items()
        }
        checked = checks.audit(bundle, expected, zones)
        refused = standing(checked.findings, [])
        if refused:
            raise StepError(f"findings after the rename:\n{findings_text(Checked(tuple(refused)))}")
        if checked.unchecked:
            said = findings_text(Checked(unchecked=checked.unchecked))
            raise StepError(f"after the rename, the run could not read some places that store the name:\n{said}")
        told = Checked(tuple(item for item in checked.findings if item.severity != BLOCKER))
        if told.findings:
            self.systems.remark(findings_text(told))
        kept = "zone is" if expected.gone else "aggregates and zone are"
        return Done(
            f"the old name is gone; compute service, compute node and resource provider are new; {kept} unchanged",
            noted(told, []),
        )

    def undo(self, params: Params) -> None:
        """Nothing was changed."""

    def _collect(self, params: Params) -> Bundle:
        scope = sorted({*params["old"].values(), *params["new"].values()} - {None})
        facts = self.systems.host.facts(self.systems.info_arguments)
        with as_step_error():
            databases = nova.read_databases(self.systems.options, scope)
            cloud = cloud_facts.read_cloud(self.systems.cloud, scope)
        return Bundle(SCHEMA, facts.read_at, {params["inventory_name"]: facts}, {}, cloud, databases)


def read_targets(systems: Systems, host: str) -> t.List[TargetHost]:
    """Return every host of the cloud that guests of a host could go to, and what it has room for.

    No API says which cell a host is in; the API database does.
    """
    with as_step_error():
        found = target_hosts.list_targets(systems.cloud)
        names = sorted({host, *(target.host for target in found)})
        cells = {name.casefold(): cell for name, cell in nova.cells_of_hosts(systems.url("api"), names).items()}
    own = cells.get(host.casefold())
    return [
        dataclasses.replace(target, other_cell=own is not None and cells.get(target.host.casefold()) != own)
        for target in found
    ]


def other_nodes(systems: Systems, bundle: Bundle, host: str) -> t.List[str]:
    """Return compute nodes of other hosts that name the service of this host."""
    found: t.List[str] = []
    for cell in (bundle.databases.cells if bundle.databases else None) or []:
        for service in cell.services or []:
            if service.host == host and service.binary == "nova-compute" and not service.deleted:
                with as_step_error():
                    found += neutron_agents.other_nodes_of_service(systems.url(f"cell:{cell.name}"), service.id, host)
    return found


def only_forward(journal: t.Mapping[str, t.Any]) -> bool:
    """Whether the service was deleted: nothing can be taken back then."""
    return bool(journal["steps"].get(POINT_OF_NO_RETURN) == journals.DONE)


def refuse_rollback(journal: t.Mapping[str, t.Any], systems: Systems) -> None:
    """Raise StepError where the service was deleted already, before anything of the journal is touched."""
    begun = journal["steps"].get(POINT_OF_NO_RETURN, journals.PENDING)
    if begun in (journals.APPLYING, journals.DONE):
        step = next(step for step in plan_of(journal).steps if step.name == POINT_OF_NO_RETURN)
        DeleteService(systems).undo(step.params)


def actions(systems: Systems) -> t.Dict[str, Action]:
    """Return every controller action that only a drain has, by the name that plans use."""
    return {
        "guests_at_home": GuestsAtHome(systems),
        "move_guests": MoveGuests(systems),
        "host_empty": HostEmpty(systems),
        "delete_service": DeleteService(systems),
        "register": Register(systems),
        "join_aggregates": JoinAggregates(systems),
        "drain_audit": DrainAudit(systems),
        "new_service_status": NewServiceStatus(systems),
        "return_guests": ReturnGuests(systems),
    }
