# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether OVN's databases can be reached and changed, as the doctor asks it: nothing is changed.

A change is tried with the row's own value in a transaction that ends with C(abort), which the server never commits. It
checks role-based access control and read-only connections before that.
"""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ...model.doctor_ovn import (
    NORTHBOUND,
    SOUTHBOUND,
    OvnDatabaseState,
    OvnState,
)
from ...model.errors import OvnError
from . import database as databases
from . import northbound, southbound
from .database import OvnAccess, OvnDatabase, within

try:
    from ovs import jsonrpc, stream, util
except ImportError:
    OVS = False  # reported by read_ovn_state
else:
    OVS = True

_ABORT = {"op": "abort"}
_CONNECTIONS = ("ovn_nb_connection", "ovn_sb_connection")
_FILES = ("ovn_private_key", "ovn_certificate", "ovn_ca_cert")
Json = t.Dict[str, t.Any]


def is_asked_for(options: t.Mapping[str, t.Any]) -> bool:
    """Whether the options lead to at least one of the databases."""
    return any(options.get(name) for name in _CONNECTIONS)


def read_ovn_state(options: t.Mapping[str, t.Any]) -> OvnState:
    """Ask both databases. Never raises for one that fails."""
    if not OVS or not databases.OVSDBAPP:
        return OvnState(problem="the Python library ovsdbapp is missing", fix="pip install 'ovsdbapp>=2.0'")
    missing = [name for name in _CONNECTIONS if not options.get(name)]
    if missing:
        fix = f"set this variable to the connection in neutron's [ovn] section, for example {missing[0]}: tcp:HOST:PORT"
        return OvnState(problem=f"{missing[0]} is not set", fix=fix)
    unusable = _unusable_file(options)
    if unusable is not None:
        return OvnState(
            problem=unusable,
            fix=f"copy the file to the Ansible controller, and set {unusable.partition(':')[0]} to its new path",
        )
    access = OvnAccess.of(options)
    return OvnState([_northbound(access), _southbound(access)])


def _unusable_file(options: t.Mapping[str, t.Any]) -> t.Optional[str]:
    """Return which file of a TLS connection cannot be used, and why."""
    if not any("ssl:" in str(options[name]) for name in _CONNECTIONS):
        return None
    for name in _FILES:
        path = options.get(name)
        if not path:
            return f"{name}: the option is not set, but an ssl: connection needs this option"
        if not os.path.isfile(path):
            return f"{name}: {path} is not a file on the Ansible controller"
        if not os.access(path, os.R_OK):
            return f"{name}: {path} cannot be read by this user"
    return None


def _northbound(access: OvnAccess) -> OvnDatabaseState:
    # No port is copied.
    state = _opened(NORTHBOUND, northbound.of_hosts(access, []), ())
    probe: t.List[Json] = [{"op": "mutate", "table": "NB_Global", "where": [], "mutations": [["nb_cfg", "+=", 0]]}]
    return _members(state, northbound.SCHEMA, lambda _ask: probe)


def _southbound(access: OvnAccess) -> OvnDatabaseState:
    state = _opened(SOUTHBOUND, southbound.of_chassis(access), southbound.NEEDED)

    def probe(ask: t.Callable[[t.Sequence[Json]], t.List[Json]]) -> t.List[Json]:
        select = {"op": "select", "table": "Chassis", "where": [], "columns": ["_uuid", "hostname"]}
        (found,) = ask([select])
        if not found.get("rows"):
            raise OvnError(
                "the southbound database has no chassis. To test the write access to the southbound database, the run "
                "needs a chassis"
            )
        row = found["rows"][0]
        where = [["_uuid", "==", row["_uuid"]]]
        return [{"op": "update", "table": "Chassis", "where": where, "row": {"hostname": row["hostname"]}}]

    return _members(state, southbound.SCHEMA, probe)


def _opened(name: str, database: OvnDatabase, needed: t.Sequence[str]) -> OvnDatabaseState:
    """Open the database as a rename does: by its leader, with the columns that are needed."""
    try:
        with database:
            absent = database.absent
    except OvnError as error:
        return OvnDatabaseState(name, database.remote, problem=error.message)
    lacking = sorted(absent & set(needed) if needed else absent)
    return OvnDatabaseState(name, database.remote, lacking=lacking)


def _members(
    state: OvnDatabaseState,
    schema: str,
    probe: t.Callable[[t.Callable[[t.Sequence[Json]], t.List[Json]]], t.List[Json]],
) -> OvnDatabaseState:
    """Ask each member by itself: each may be the leader tomorrow, and each has its own connections."""
    if state.problem is not None:
        return state
    silent: t.Dict[str, str] = {}
    refusals, reasons, permitted = [], [], 0
    for member in [entry.strip() for entry in state.remote.split(",") if entry.strip()]:

        def ask(operations: t.Sequence[Json], member: str = member) -> t.List[Json]:
            return _transact(member, schema, operations)

        try:
            ask([])
        except OvnError as error:
            silent[member] = error.message
            continue
        try:
            refused = _refused(ask([*probe(ask), _ABORT]))
        except OvnError as error:
            reasons.append(error.message)
            continue
        permitted += refused is None
        refusals += [f"{member}: {refused}"] if refused is not None else []
    writable = False if refusals else (True if permitted and not reasons else None)
    reason = "; ".join(refusals or reasons) or ("no member answered" if writable is None else "")
    return dataclasses.replace(state, silent=silent, writable=writable, reason=reason)


def _refused(results: t.Sequence[t.Any]) -> t.Optional[str]:
    """Return why the server refused the change; None: it came as far as the abort."""
    for result in results:
        error = (result or {}).get("error")
        if error == "aborted":
            return None
        if error:
            return " ".join(str(result.get("details") or error).split())[:400]
    raise OvnError("the test transaction must end with an abort, but the database server reported no abort")


def _transact(remote: str, schema: str, operations: t.Sequence[Json]) -> t.List[Json]:
    """Send one transaction over a connection of its own. Raises :class:`OvnError`."""

    def send() -> t.List[Json]:
        error, made = stream.Stream.open_block(stream.Stream.open(remote), databases.TIMEOUT * 1000)
        if error:
            raise OvnError(f"{remote}: {util.ovs_retval_to_string(error)}")
        rpc = jsonrpc.Connection(made)
        try:
            request = jsonrpc.Message.create_request("transact", [schema, *operations])
            error, reply = rpc.transact_block(request)
        finally:
            rpc.close()
        if error:
            raise OvnError(f"{remote}: {util.ovs_retval_to_string(error)}")
        if reply.error:
            raise OvnError(f"{remote}: {' '.join(str(reply.error).split())[:400]}")
        return list(reply.result)

    return within(databases.TIMEOUT, send, f"{remote}: no answer")
