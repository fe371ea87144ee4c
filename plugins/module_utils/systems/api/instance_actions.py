# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What owners of guests have asked Nova for, and locks that keep them from asking.

A request for a guest is accepted while nova-compute is down: the API notes a task state and an action, and sends a
message to ``compute.HOST`` (nova/compute/api.py, check_instance_host, 26 to 34). An action without any event was never
begun by a nova-compute (nova/compute/utils.py, EventReporter).
"""

from __future__ import annotations

import typing as t

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import ApiError
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.evacuations import each
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api.http import COMPUTE

#: Locks with a reason, shown and filtered by (2.73); actions with a time of their last change (2.58).
LOCKS, ACTIONS = "2.73", "2.58"
#: Actions that the API carries out by itself: no nova-compute begins an event of them.
BY_API = frozenset({"lock", "unlock", "create"})


def guests_of(connection: t.Any, hosts: t.Iterable[str], uuids: t.Iterable[str] = ()) -> t.List[facts.GuestState]:
    """Return the servers of these hosts, of whatever project, and those of ``uuids``, wherever they are now.

    A paged list leaves out every server of a cell that does not answer (nova/compute/multi_cell_list.py), and those
    that are soft-deleted: what of ``uuids`` it lacks is asked for singly. One that is gone is left out. Raises ApiError
    where Nova does not know a server's state.
    """
    found: t.Dict[str, facts.GuestState] = {}
    for host in hosts:
        found.update({guest.uuid: guest for guest in _listed(connection, {"host": host})})
    missing = sorted(set(uuids) - set(found))
    singly = each(missing, lambda uuid: _single(connection, uuid))
    found.update({uuid: guest for uuid, guest in singly.items() if guest is not None})
    return [found[uuid] for uuid in sorted(found)]


def locked_for(connection: t.Any, reason: str) -> t.List[facts.GuestState]:
    """Return the servers that are locked for this very reason, wherever they are, of the cells that answer."""
    return [guest for guest in _listed(connection, {"locked": "true"}) if guest.reason == reason]


def _listed(connection: t.Any, params: t.Mapping[str, str]) -> t.List[facts.GuestState]:
    rows = http.pages(connection, COMPUTE, "/servers/detail", "servers", LOCKS, {"all_tenants": "1", **params})
    return [_state(row) for row in rows]


def _single(connection: t.Any, uuid: str) -> t.Optional[facts.GuestState]:
    try:
        return _state(http.call(connection, COMPUTE, "GET", f"/servers/{uuid}", LOCKS)["server"])
    except ApiError as error:
        if error.data.get("status") == 404:
            return None
        raise


def _state(row: t.Mapping[str, t.Any]) -> facts.GuestState:
    # A server of a cell that does not answer is shown with little more than its uuid (2.69; views/servers.py).
    if "locked" not in row or "OS-EXT-STS:task_state" not in row:
        raise ApiError(f"server {row['id']}: Nova does not know its state: its cell does not answer")
    return facts.GuestState(
        row["id"],
        row.get("name") or "",
        row.get("OS-EXT-SRV-ATTR:host"),
        row["OS-EXT-STS:task_state"],
        bool(row["locked"]),
        row.get("locked_reason"),
    )


def lock(connection: t.Any, uuids: t.Sequence[str], reason: str) -> t.Set[str]:
    """Lock servers; return those that exist."""
    return _all(connection, uuids, {"lock": {"locked_reason": reason}})


def unlock(connection: t.Any, uuids: t.Sequence[str]) -> t.Set[str]:
    """Unlock servers; return those that exist."""
    return _all(connection, uuids, {"unlock": None})


def _all(connection: t.Any, uuids: t.Sequence[str], body: t.Mapping[str, t.Any]) -> t.Set[str]:
    def act(uuid: str) -> bool:
        try:
            http.call(connection, COMPUTE, "POST", f"/servers/{uuid}/action", LOCKS, body=dict(body))
        except ApiError as error:
            if error.data.get("status") == 404:
                return False
            raise
        return True

    return {uuid for uuid, there in each(list(uuids), act).items() if there}


def newest_actions(connection: t.Any, uuids: t.Sequence[str]) -> t.Dict[str, t.Optional[str]]:
    """Return the request id of each server's newest action; None: it has none."""

    def newest(uuid: str) -> t.Optional[str]:
        row = next(_actions(connection, uuid), None)
        return str(row["request_id"]) if row else None

    return each(list(uuids), newest)


def asked_since(connection: t.Any, known: t.Mapping[str, t.Optional[str]]) -> t.Dict[str, t.List[facts.GuestAction]]:
    """Return what was asked of each server after its action of this request id, what the API does itself left out."""

    def since(uuid: str) -> t.List[facts.GuestAction]:
        found = []
        for row in _actions(connection, uuid):
            if row["request_id"] == known[uuid]:
                break
            if row["action"] not in BY_API:
                found.append(_asked(connection, uuid, row))
        return found

    return {uuid: found for uuid, found in each(sorted(known), since).items() if found}


def _asked(connection: t.Any, uuid: str, row: t.Mapping[str, t.Any]) -> facts.GuestAction:
    path = f"/servers/{uuid}/os-instance-actions/{row['request_id']}"
    whole = http.call(connection, COMPUTE, "GET", path, ACTIONS)["instanceAction"]
    events = whole.get("events") or []
    ended = bool(events) and all(event.get("finish_time") for event in events)
    return facts.GuestAction(
        str(row["request_id"]), str(row["action"]), str(row.get("start_time")), bool(events), ended
    )


def _actions(connection: t.Any, uuid: str) -> t.Iterator[t.Dict[str, t.Any]]:
    """Yield a server's actions, the newest first (compute/instance_actions.py). Of a server that is gone: none."""
    path = f"/servers/{uuid}/os-instance-actions"
    try:
        yield from http.pages(connection, COMPUTE, path, "instanceActions", ACTIONS, marker="request_id", links="links")
    except ApiError as error:
        if error.data.get("status") != 404:
            raise
