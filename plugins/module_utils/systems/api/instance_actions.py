# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was asked of servers, and what Nova says of how it ended.

A request for a guest is accepted while nova-compute is down: the API notes a task state and an action, and sends a
message to ``compute.HOST`` (nova/compute/api.py, check_instance_host, 26 to 34). An action without any event was never
begun by a nova-compute (nova/compute/utils.py, EventReporter).
"""

from __future__ import annotations

import typing as t

from ...model import facts, times
from ...model.errors import ApiError
from . import http, migration_records

Json = t.Dict[str, t.Any]

#: Events of an action say why they failed.
INSTANCE_ACTIONS = "2.84"
#: Actions with a time of their last change.
ACTIONS = "2.58"
#: Seconds in which a nova-compute that runs takes up what was asked of it.
ON_ITS_WAY = 300.0
#: Actions that take a server off its host.
SHELVINGS = ("shelve", "shelveOffload")
#: Actions that the API carries out by itself: no nova-compute begins an event of them.
BY_API = frozenset({"lock", "unlock", "create"})


def why(connection: t.Any, server: Json, moved: bool = True) -> str:
    """Return what Nova says of a server's newest action: its events, its message, the migration, the fault.

    ``moved``: whether the action makes a migration record: the last one is not of another action.
    """
    said: t.List[str] = []
    path = f"/servers/{server['id']}/os-instance-actions"
    try:
        actions = http.call(connection, http.COMPUTE, "GET", path, INSTANCE_ACTIONS)["instanceActions"]
        if actions:
            newest = f"{path}/{actions[0]['request_id']}"
            action = http.call(connection, http.COMPUTE, "GET", newest, INSTANCE_ACTIONS)["instanceAction"]
            failed = [event for event in action.get("events") or [] if event.get("result") == "Error"]
            said += [str(event.get("details") or event.get("event")) for event in failed]
            said.append(str(action.get("message") or ""))
        migration = migration_records.last_migration(connection, server["id"]) if moved else None
        if migration is not None:
            said.append(f"migration {migration['status']}")
    except ApiError as error:
        said.append(f"(the reason could not be read: {error})")
    said.append(str((server.get("fault") or {}).get("message") or ""))
    return "; ".join(dict.fromkeys(" ".join(part.split()) for part in said if part)) or "Nova gives no reason"


def list_actions(connection: t.Any, uuid: str) -> t.List[Json]:
    """Return a server's instance actions, the newest first: for :func:`server_state.power_before`."""
    return http.items(
        connection, http.COMPUTE, f"/servers/{uuid}/os-instance-actions", "instanceActions", INSTANCE_ACTIONS
    )


def newest_actions(connection: t.Any, uuids: t.Sequence[str]) -> t.Dict[str, t.Optional[str]]:
    """Return the request id of each server's newest action; None: it has none."""

    def newest(uuid: str) -> t.Optional[str]:
        row = next(_actions(connection, uuid), None)
        return str(row["request_id"]) if row else None

    return http.each(list(uuids), newest)


class OpenActions(t.NamedTuple):
    """Actions of a server that have not ended. ``before``: the request id of the action before them; None: none."""

    entries: t.List[facts.GuestAction]
    before: t.Optional[str]


def open_actions(connection: t.Any, uuids: t.Sequence[str], seconds: float) -> t.Dict[str, OpenActions]:
    """Return what was asked of each server in the last so many seconds, by Nova's clock, and has not ended.

    Attaching and detaching set no task state: nothing else shows that nova-compute is at work. Older actions that never
    ended were left by a nova-compute that was killed. One that nobody has taken up within some minutes is on no way.
    """
    now = http.date(connection, http.COMPUTE)

    def read(uuid: str) -> t.Optional[OpenActions]:
        found: t.List[facts.GuestAction] = []
        for row in _actions(connection, uuid):
            started = times.moment(str(row.get("start_time")))
            age = 0.0 if started is None else now - started.timestamp()
            if age > seconds:
                return OpenActions(found, str(row["request_id"])) if found else None
            if row["action"] in BY_API:
                continue
            entry = _asked(connection, uuid, row)
            if not entry.ended and (entry.begun or age <= ON_ITS_WAY):
                found.append(entry)
        return OpenActions(found, None) if found else None

    read_ = http.each(list(uuids), read)
    return {uuid: entry for uuid, entry in read_.items() if entry is not None}


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

    return {uuid: found for uuid, found in http.each(sorted(known), since).items() if found}


def shelved_server(connection: t.Any, uuid: str) -> facts.ShelvedServer:
    """Return which host shelved a server, and whether an unshelving since then chose a host.

    An event names the host that it was on. The conductor writes the chosen host's zone into the instance, and it stays
    when the host then fails (conductor/manager.py, unshelve_instance; compute/manager.py, _unshelve_instance; 26 to
    34).
    """
    tried = shelved = False
    for row in _actions(connection, uuid):
        if row["action"] in SHELVINGS:
            shelved = True
            host = next((event["host"] for event in _events(connection, uuid, row) if _of_compute(event)), None)
            if host is not None:
                return facts.ShelvedServer(str(host), tried)
        elif shelved and row["action"] not in BY_API:
            break  # What was before this shelving may have been on another host.
        elif row["action"] == "unshelve":
            tried = tried or any(_chose_host(event) for event in _events(connection, uuid, row))
    return facts.ShelvedServer(None, tried)


def _events(connection: t.Any, uuid: str, row: t.Mapping[str, t.Any]) -> t.List[Json]:
    path = f"/servers/{uuid}/os-instance-actions/{row['request_id']}"
    return list(http.call(connection, http.COMPUTE, "GET", path, INSTANCE_ACTIONS)["instanceAction"]["events"])


def _of_compute(event: t.Mapping[str, t.Any]) -> bool:
    return str(event["event"]).startswith("compute_") and bool(event.get("host"))


def _chose_host(event: t.Mapping[str, t.Any]) -> bool:
    """Whether the scheduler has found a host, or may have: any other error than NoValidHost comes after it."""
    none_found = event.get("result") == "Error" and "No valid host" in str(event.get("details"))
    return event["event"] in ("schedule_instances", "compute_unshelve_instance") and not none_found


def _asked(connection: t.Any, uuid: str, row: t.Mapping[str, t.Any]) -> facts.GuestAction:
    path = f"/servers/{uuid}/os-instance-actions/{row['request_id']}"
    whole = http.call(connection, http.COMPUTE, "GET", path, ACTIONS)["instanceAction"]
    events = whole.get("events") or []
    ended = bool(events) and all(event.get("finish_time") for event in events)
    return facts.GuestAction(
        str(row["request_id"]), str(row["action"]), str(row.get("start_time")), bool(events), ended
    )


def _actions(connection: t.Any, uuid: str) -> t.Iterator[t.Dict[str, t.Any]]:
    """Yield a server's actions, the newest first (compute/instance_actions.py). Of a server that is gone: none."""
    path = f"/servers/{uuid}/os-instance-actions"
    try:
        yield from http.pages(
            connection, http.COMPUTE, path, "instanceActions", ACTIONS, marker="request_id", links="links"
        )
    except ApiError as error:
        if error.data.get("status") != 404:
            raise
