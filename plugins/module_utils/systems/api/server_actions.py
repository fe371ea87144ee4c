# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is asked of Nova for one server: to move, evacuate, resize, pin, stop, lock it, or reset its state.

Every call has the microversion that was chosen for what it means, and none has C(force): the scheduler checks every
host that is named here.

* evacuate at 2.68 keeps the power state that a server had, and knows no C(force): the scheduler checks the host that is
  named. From 2.95 the server is left stopped. Below 2.29 a host that is named would not be checked at all.
* openstacksdk's own C(evacuate_server) sends the highest microversion it knows, so 2.95 or newer: not used.
* A server's pin is written from 2.104 on (34).
"""

from __future__ import annotations

import typing as t

from ...model import facts, releases
from ...model.errors import ApiError
from . import http, server_records

Json = t.Dict[str, t.Any]

#: A host named in a live migration is checked by the scheduler: always from 2.68, where C(force) is gone; before it
#: only where C(force) is false.
LIVE_NEW = "2.68"
LIVE_OLD = "2.30"
#: A live migration is aborted also while it is queued or prepared.
ABORT = "2.65"
#: From 2.56 a cold migration takes a host.
COLD = "2.56"
PIN_WRITTEN = "2.104"
#: A resize means the same in every microversion; of this one the answers are known.
RESIZE = server_records.SERVERS
#: An unshelving in a zone that is named (and that the server is pinned to from then on), and one that names none.
UNSHELVE_ZONE, UNSHELVE = "2.77", server_records.SERVERS
#: An evacuation that keeps the power state, and one that leaves the server stopped.
KEEP = "2.68"
STOP = "2.95"


def _act(connection: t.Any, uuid: str, body: t.Mapping[str, t.Any], microversion: str) -> None:
    http.call(connection, http.COMPUTE, "POST", f"/servers/{uuid}/action", microversion, body=dict(body))


def live_migrate(connection: t.Any, uuid: str, host: str) -> None:
    """Ask for a live migration to a host that the scheduler checks."""
    body: Json = {"host": host, "block_migration": "auto"}
    version = LIVE_NEW
    offered = http.max_microversion(connection, http.COMPUTE)
    if releases.microversion_tuple(offered) < releases.microversion_tuple(LIVE_NEW):
        version = LIVE_OLD
        body["force"] = False
    _act(connection, uuid, {"os-migrateLive": body}, version)


def cold_migrate(connection: t.Any, uuid: str, host: str) -> None:
    """Ask for a cold migration to a host that the scheduler checks."""
    _act(connection, uuid, {"migrate": {"host": host}}, COLD)


def abort_live_migration(connection: t.Any, uuid: str, migration: int) -> None:
    """Ask Nova to abort a live migration, by its record's number. Raises :class:`ApiError`: 400 if it is too late."""
    http.call(connection, http.COMPUTE, "DELETE", f"/servers/{uuid}/migrations/{migration}", ABORT)


def confirm(connection: t.Any, uuid: str) -> None:
    """Confirm a cold migration."""
    _act(connection, uuid, {"confirmResize": None}, COLD)


def revert(connection: t.Any, uuid: str) -> None:
    """Take a cold migration back that is not confirmed yet: the server returns to where it came from."""
    _act(connection, uuid, {"revertResize": None}, COLD)


def pin(connection: t.Any, uuid: str, zone: t.Optional[str]) -> None:
    """Pin a server to the zone that it is in, or unpin it. Nova refuses any other zone with 409."""
    body = {"server": {"pinned_availability_zone": zone}}
    http.call(connection, http.COMPUTE, "PUT", f"/servers/{uuid}", PIN_WRITTEN, body=body)


def resize(connection: t.Any, uuid: str, flavor: str) -> None:
    """Ask for a resize. Where it goes is the scheduler's choice: there is no way to name a host."""
    _act(connection, uuid, {"resize": {"flavorRef": flavor}}, RESIZE)


def unshelve(connection: t.Any, uuid: str, zone: t.Optional[str]) -> None:
    """Ask for a shelved server to run again. ``zone``: of one on no host; Nova pins it there, also if it then fails."""
    if zone is None:
        _act(connection, uuid, {"unshelve": None}, UNSHELVE)
    else:
        _act(connection, uuid, {"unshelve": {"availability_zone": zone}}, UNSHELVE_ZONE)


def evacuate(connection: t.Any, uuid: str, host: str, target_state: str = "keep") -> None:
    """Ask for a server's evacuation to a host that the scheduler checks. Raises :class:`ApiError`.

    ``target_state``: C(keep), or C(stopped), which needs microversion 2.95 (release 27).
    """
    version = STOP if target_state == "stopped" else KEEP
    offered = http.max_microversion(connection, http.COMPUTE)
    if releases.microversion_tuple(offered) < releases.microversion_tuple(version):
        raise ApiError(
            f"this Nova offers microversion {offered}, but an evacuation with the target state {target_state} needs "
            f"{version}"
        )
    _act(connection, uuid, {"evacuate": {"host": host}}, version)


def reset_state(connection: t.Any, uuid: str) -> None:
    """Have Nova say ACTIVE of a server. Nothing of the server itself is touched."""
    _act(connection, uuid, {"os-resetState": {"state": "active"}}, server_records.SERVERS)


def reset_state_verified(connection: t.Any, uuid: str) -> facts.ApiServer:
    """Make Nova take a server for ACTIVE, without a task: only one whose host is proven dead. Returns it as read back.

    C(os-resetState) writes vm_state and task_state and touches nothing else: the power state stays as it was last seen.
    From then on Nova takes the server's evacuation. Raises :class:`ApiError`, also where it is not so afterwards.
    """
    reset_state(connection, uuid)
    server = server_records.server_as_listed(connection, uuid)
    if server is None:
        raise ApiError(f"server {uuid} no longer exists after its state was reset")
    if server.status != "ACTIVE" or server.task_state is not None:
        raise ApiError(f"server {uuid} is {server.status} ({server.task_state}) after its state was reset to active")
    return server


def stop(connection: t.Any, uuid: str) -> None:
    """Ask Nova to stop a server. Raises :class:`ApiError`; one that is stopped already is none."""
    try:
        _act(connection, uuid, {"os-stop": None}, KEEP)
    except ApiError as error:
        # 409: it is not ACTIVE (any more), or a task of it is in progress; the next look shows.
        if error.data.get("status") != 409:
            raise


def lock(connection: t.Any, uuids: t.Sequence[str], reason: str) -> t.Set[str]:
    """Lock servers; return those that exist."""
    return _all(connection, uuids, {"lock": {"locked_reason": reason}})


def unlock(connection: t.Any, uuids: t.Sequence[str]) -> t.Set[str]:
    """Unlock servers; return those that exist."""
    return _all(connection, uuids, {"unlock": None})


def _all(connection: t.Any, uuids: t.Sequence[str], body: t.Mapping[str, t.Any]) -> t.Set[str]:
    def act(uuid: str) -> bool:
        try:
            _act(connection, uuid, body, server_records.LOCKS)
        except ApiError as error:
            if error.data.get("status") == 404:
                return False
            raise
        return True

    return {uuid for uuid, there in http.change_each(connection, list(uuids), act).items() if there}
