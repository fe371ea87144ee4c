# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests that wait in RabbitMQ for a name that no nova-compute bears now: SG121, SG329, SG330. Pure.

The API casts an owner's request to C(compute.HOST) without asking whether HOST lives. Whoever starts nova-compute under
that name executes it, before Nova looks where the server is now: the managers guard a request by the server's task
after the driver has acted (nova/compute/manager.py, 26 to 34). :data:`METHODS` says what each request is, and
:data:`VERDICTS` what may become of it by the place where its server is now.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..model.codes.catalogue import remedy_text
from ..model.facts import (
    BrokerFacts,
    OperationRecord,
    Queue,
    QueuedRequest,
)
from ..model.findings import (
    INFO,
    WARNING,
    Checked,
    Finding,
    Subject,
    Unchecked,
    finding,
)
from ..model.lookups import Items
from ..model.wording import count
from .queues import look, names_of

# --- where the server of a request is now

#: On the host whose name the queue bears; the same, and this run sends it away; on another host; on no host.
HERE, LEAVING, ELSEWHERE, NOWHERE = "here", "leaving", "elsewhere", "nowhere"
#: Nova shows it as deleted; not known.
GONE, UNKNOWN = "gone", "unknown"

# --- what a request is

#: It tells nova-compute something, or asks what nobody waits for any more. It never holds anything up.
HARMLESS = "harmless"
#: It acts on the guest, the disks or the ports that it finds on its own host.
ACTS = "acts"
#: It is a part of a longer act of Nova's, or makes or ends a server: without it, the server is stranded or lost.
BINDS = "binds"
#: It clears up on a host that a server has left, or was not to come to.
CLEARS = "clears"
#: It is about the host, and its sender has given up long ago.
OF_HOST = "of the host"

# --- what becomes of it

REMOVE, LEAVE, HOLD = "remove", "leave", "hold"

VERDICTS: t.Dict[str, t.Dict[str, str]] = {
    ACTS: {HERE: LEAVE, LEAVING: REMOVE, ELSEWHERE: REMOVE, NOWHERE: REMOVE, GONE: REMOVE, UNKNOWN: HOLD},
    BINDS: {HERE: LEAVE, LEAVING: HOLD, ELSEWHERE: HOLD, NOWHERE: LEAVE, GONE: REMOVE, UNKNOWN: HOLD},
    CLEARS: {HERE: HOLD, LEAVING: HOLD, ELSEWHERE: LEAVE, NOWHERE: LEAVE, GONE: REMOVE, UNKNOWN: HOLD},
}


class Method(t.NamedTuple):
    """A method of nova-compute's RPC interface: what it is, and what it does if it is executed late."""

    kind: str
    late: str


def _all(kind: str, late: str, *names: str) -> t.Dict[str, Method]:
    return {name: Method(kind, late) for name in names}


#: By the methods' names (nova/compute/rpcapi.py, 26 to 34); where they are carried out: nova/compute/manager.py.
METHODS: t.Dict[str, Method] = {
    # _power_on, driver.resume, _power_off + driver.rescue, driver.unrescue: save(expected_task_state=...) comes after.
    **_all(ACTS, "starts a QEMU on the server's disks", "start_instance", "resume_instance"),
    **_all(ACTS, "starts a QEMU on the server's disks", "rescue_instance", "unrescue_instance", "restore_instance"),
    # stop: save(expected_task_state=[POWERING_OFF, None]) after driver.power_off; _sync_power_states then stops it.
    **_all(ACTS, "makes Nova show the server as stopped, and stop it where it runs", "stop_instance"),
    **_all(ACTS, "puts the server into ERROR", "suspend_instance", "pause_instance", "unpause_instance"),
    # save(expected_task_state=...) first: refused late, and not worth its place in the queue.
    **_all(ACTS, "is refused by Nova, or reboots the guest", "reboot_instance", "trigger_crash_dump"),
    # detach_volume: no guard at all; _detach_volume ends the attachment in Cinder and deletes the mapping.
    **_all(ACTS, "ends an attachment whose volume is in use", "detach_volume", "swap_volume"),
    **_all(ACTS, "attaches to the wrong host", "attach_volume", "attach_interface", "reserve_block_device_name"),
    **_all(ACTS, "unbinds a port that is in use", "detach_interface", "remove_fixed_ip_from_instance"),
    **_all(ACTS, "changes the server's addresses", "add_fixed_ip_to_instance", "inject_network_info"),
    **_all(ACTS, "fails", "snapshot_instance", "backup_instance", "volume_snapshot_create", "volume_snapshot_delete"),
    **_all(ACTS, "fails", "quiesce_instance", "unquiesce_instance", "set_admin_password", "allow_share", "deny_share"),
    # shelve_offload: _shelve_offload_instance clears instance.host of a server that runs elsewhere.
    **_all(ACTS, "takes the host from a server that runs elsewhere", "shelve_instance", "shelve_offload_instance"),
    **_all(ACTS, "powers the guest off", "soft_delete_instance"),
    **_all(ACTS, "fails", "live_migration_abort", "live_migration_force_complete"),
    # _delete_instance: driver.destroy removes the disks, wherever the server runs.
    **_all(BINDS, "deletes the server and its disks", "terminate_instance"),
    # rebuild_instance: an evacuation to this host, or the owner's rebuild.
    **_all(BINDS, "makes the server again on this host", "rebuild_instance", "build_and_run_instance"),
    # _unshelve_instance: save() without expected_task_state, then instance_claim takes the host.
    **_all(BINDS, "makes the server again on this host", "unshelve_instance"),
    **_all(BINDS, "continues a resize", "prep_resize", "resize_instance", "finish_resize", "revert_resize"),
    **_all(BINDS, "continues a resize", "finish_revert_resize", "prep_snapshot_based_resize_at_dest"),
    **_all(BINDS, "continues a resize", "prep_snapshot_based_resize_at_source"),
    **_all(BINDS, "continues a resize", "finish_snapshot_based_resize_at_dest"),
    **_all(BINDS, "continues a resize", "finish_revert_snapshot_based_resize_at_source"),
    **_all(BINDS, "continues a resize", "revert_snapshot_based_resize_at_dest"),
    **_all(BINDS, "continues a live migration", "live_migration", "pre_live_migration"),
    **_all(BINDS, "continues a live migration", "post_live_migration_at_destination"),
    # confirm_resize: to the source, whose server is at the destination by then; it compares the migration's status.
    **_all(CLEARS, "clears up what a resize left", "confirm_resize", "confirm_snapshot_based_resize_at_source"),
    **_all(CLEARS, "clears up what a live migration left", "rollback_live_migration_at_destination"),
    **_all(
        CLEARS, "clears up what a live migration left", "remove_volume_connection", "drop_move_claim_at_destination"
    ),
    **_all(HARMLESS, "does nothing", "external_instance_event", "get_console_output", "get_diagnostics"),
    **_all(HARMLESS, "does nothing", "get_instance_diagnostics", "get_vnc_console", "get_spice_console"),
    **_all(HARMLESS, "does nothing", "get_rdp_console", "get_mks_console", "get_serial_console"),
    **_all(HARMLESS, "does nothing", "validate_console_port", "check_instance_shared_storage", "get_host_uptime"),
    **_all(HARMLESS, "does nothing", "check_can_live_migrate_source", "check_can_live_migrate_destination"),
    **_all(HARMLESS, "does nothing", "refresh_instance_security_rules", "cache_images", "ping"),
    **_all(OF_HOST, "changes the host", "host_power_action", "host_maintenance_mode", "set_host_enabled"),
}


def is_of_server(request: QueuedRequest) -> bool:
    """Whether it matters where the server of a request is now."""
    method = METHODS.get(request.method)
    return method is not None and method.kind in VERDICTS


def harmless(requests: t.Iterable[QueuedRequest]) -> t.FrozenSet[str]:
    """Return the ids of the requests that nobody misses, such as events of neutron."""
    return frozenset(request.id for request in requests if _is_harmless(request))


def meant(requests: t.Iterable[QueuedRequest]) -> t.List[QueuedRequest]:
    """Return the requests that somebody sent to have something done."""
    return [request for request in requests if not _is_harmless(request)]


def _is_harmless(request: QueuedRequest) -> bool:
    method = METHODS.get(request.method)
    return method is not None and method.kind == HARMLESS


@dataclasses.dataclass(frozen=True)
class Judged:
    """A request, where its server is now (a host's name where it is on one), and what becomes of it."""

    request: QueuedRequest
    place: str
    host: t.Optional[str]
    verdict: str


@dataclasses.dataclass(frozen=True)
class Whereabouts:
    """Where a server is now: ``place`` is one of HERE to UNKNOWN; ``host``: Nova's name of the host it is on."""

    place: str
    host: t.Optional[str] = None


def judge(requests: t.Iterable[QueuedRequest], places: t.Mapping[str, Whereabouts]) -> t.List[Judged]:
    """Return what becomes of each request. One of a method that is not known holds all others, too."""
    found = [_judged(request, places) for request in requests]
    if any(entry.request.method not in METHODS for entry in found):
        return [dataclasses.replace(entry, verdict=HOLD) if entry.verdict == REMOVE else entry for entry in found]
    return found


def _judged(request: QueuedRequest, places: t.Mapping[str, Whereabouts]) -> Judged:
    method = METHODS.get(request.method)
    if method is None:
        return Judged(request, UNKNOWN, None, HOLD)
    if method.kind == HARMLESS:
        return Judged(request, UNKNOWN, None, LEAVE)
    if method.kind == OF_HOST:
        return Judged(request, UNKNOWN, None, REMOVE)
    of_servers = [places.get(uuid, Whereabouts(UNKNOWN)) for uuid in request.instances] or [Whereabouts(UNKNOWN)]
    verdicts = [(VERDICTS[method.kind][entry.place], entry) for entry in of_servers]
    verdict, worst = max(verdicts, key=lambda pair: (REMOVE, LEAVE, HOLD).index(pair[0]))
    return Judged(request, worst.place, worst.host, verdict)


# --- what is said of it


def told(host: str, judged: t.Iterable[Judged], removed: t.Container[str], why_left: t.Optional[str] = None) -> Checked:
    """Return what is to be said of what was read: SG121 of what is gone, SG330 and SG329 of what still waits.

    ``removed``: ids of messages that are gone. ``why_left``: why one that was to go is still there.
    """
    findings: t.List[Finding] = []
    for entry in judged:
        method = METHODS.get(entry.request.method)
        if entry.request.id in removed:
            findings += _removed(host, entry)
        elif entry.verdict == LEAVE:
            findings += [] if method is None or method.kind == HARMLESS else _left(host, entry)
        else:
            findings += _held(host, entry, why_left)
    return Checked(tuple(findings))


def _subjects(host: str, entry: Judged) -> t.List[Subject]:
    return [Subject("instance", uuid, host=entry.host or host) for uuid in entry.request.instances] or [
        Subject("host", host)
    ]


def _evidence(entry: Judged) -> t.Dict[str, t.Any]:
    request = entry.request
    return {
        "queue": request.queue,
        "request": request.method,
        "request_id": request.request_id,
        "sent": request.sent,
        "server is": entry.place,
        "server's host": entry.host,
    }


def _removed(host: str, entry: Judged) -> t.Iterator[Finding]:
    for subject in _subjects(host, entry):
        remedy = remedy_text("SG121", "request-removed")
        yield finding("SG121", subject, {**_evidence(entry), "removed": True}, remedy)


def _left(host: str, entry: Judged) -> t.Iterator[Finding]:
    for subject in _subjects(host, entry):
        yield finding("SG329", subject, _evidence(entry), remedy_text("SG329", "request-wanted", host=host), INFO)


def _held(host: str, entry: Judged, why_left: t.Optional[str]) -> t.Iterator[Finding]:
    """SG330: of a server that is elsewhere. SG329: where the server is is not known, or what the request is."""
    method = METHODS.get(entry.request.method)
    late = method.late if method else "is a request that this version does not know"
    evidence = {**_evidence(entry), "late": late, "why it is left": why_left or _why_held(entry)}
    code = "SG330" if entry.place in (ELSEWHERE, LEAVING, HERE) else "SG329"
    for subject in _subjects(host, entry):
        yield finding(code, subject, evidence, f"{_way_out(code, host, entry)} {commands(host, code)}")


def _why_held(entry: Judged) -> str:
    method = METHODS.get(entry.request.method)
    if method is None:
        return "the run does not know this kind of request"
    if entry.place == UNKNOWN:
        return "the run does not know where the server is"
    if method.kind in (BINDS, CLEARS):
        return "without this request, the server could be stranded or lost"
    return "another request in the queues is of a kind that the run does not know"


def _way_out(code: str, host: str, entry: Judged) -> str:
    if entry.request.method == "terminate_instance" and entry.place == ELSEWHERE:
        return remedy_text("SG330", "deletion-held", host=host)
    return remedy_text(code, "request-held", host=host)


def commands(host: str, code: str = "SG329") -> str:
    """Return the two commands of an operator who has only the broker's own shell: look, and delete."""
    deletions = "; ".join(f"rabbitmqctl delete_queue {name}" for name in names_of(host))
    return remedy_text(code, "queue-commands", look=look(host), deletions=deletions)


def counted(host: str, found: t.Iterable[Queue]) -> t.Iterator[Finding]:
    """SG329 of counts alone: what is in the queues was not read."""
    waiting = [queue for queue in found if queue.messages and not queue.consumers]
    if not waiting:
        return
    evidence = {queue.name: count(queue.messages, "message") for queue in waiting}
    remedy = f"{remedy_text('SG329', 'queues-unjudged', host=host)} {commands(host)}"
    yield finding("SG329", Subject("host", host), evidence, remedy, WARNING)


def unread(host: str, why: str) -> Unchecked:
    """SG329 undecided: the broker was not read, or nothing proves that it is the broker of the host's cell."""
    return Unchecked(
        "SG329", host, f"{why}. If requests wait for {host}, its next start executes them. {commands(host)}"
    )


def not_clear(item: Unchecked) -> Finding:
    """SG329 of a host that is to start, of which the broker could not be read: an override by host passes it."""
    remedy = f"{remedy_text('SG329', 'queues-unread', host=item.object)} {commands(item.object)}"
    return finding("SG329", Subject("host", item.object), {"not read": item.reason}, remedy)


# --- the audit


def _passed(operations: t.Sequence[OperationRecord]) -> t.Iterator[Finding]:
    """SG329, told: the last return of a host was let through by its operator's word."""
    last = {record.host: record for record in operations if record.host and record.kind.startswith("return-")}
    for host, record in sorted(last.items()):
        if record.requests_passed is not None:
            evidence = {"operation": record.operation_id, "begun": record.started_at, "reason": record.requests_passed}
            remedy = f"{remedy_text('SG329', 'passed-by-operator')} {commands(str(host))}"
            yield finding("SG329", Subject("host", str(host)), evidence, remedy, INFO)


def check(
    brokers: t.Optional[t.Sequence[BrokerFacts]], operations: t.Optional[t.Sequence[OperationRecord]] = None
) -> Items:
    """SG329 for each name whose queues hold messages that nobody takes; undecided for each cell that was not read."""
    yield from _passed(operations or ())
    if brokers is None:
        yield Unchecked("SG329", "all", "RabbitMQ was not read")
        return
    for broker in brokers:
        if broker.waiting is None or broker.witness is None:
            yield Unchecked("SG329", f"cell {broker.cell}", broker.reason or "no reason was given")
            continue
        by_host: t.Dict[str, t.List[Queue]] = {}
        for queue in broker.waiting:
            by_host.setdefault(queue.name.partition(".")[2], []).append(queue)
        for host, found in sorted(by_host.items()):
            yield from counted(host, found)
