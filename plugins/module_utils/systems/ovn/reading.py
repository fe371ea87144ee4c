# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything of OVN's databases that a check asks for, as facts. What cannot be read is said, and raises nothing."""

from __future__ import annotations

import datetime
import typing as t

from ...model.errors import OvnError
from ...model.host_facts import Unread
from ...model.ovn import OvnChassis, OvnFacts
from . import northbound, southbound
from .database import OvnAccess, OvnDatabase

Options = t.Mapping[str, t.Any]
Parts = t.Dict[str, t.Any]


def given(options: Options) -> bool:
    """Whether the options lead to OVN's databases."""
    return bool(options.get("ovn_nb_connection") or options.get("ovn_sb_connection"))


def read_ovn(options: Options, hosts: t.Sequence[str] = (), probe: bool = False) -> OvnFacts:
    """Read what both databases hold of these hosts; no hosts: chassis, and ports that name none, of the whole cloud.

    ``probe``: also find out whether ovn-northd carries out changes, and whether the northbound database can be written.
    """
    unread: t.List[Unread] = []
    parts: Parts = {"chassis": None, "port_bindings": None, "switch_ports": None, "gateways": None}
    parts.update(connections=None, northd_ms=None)
    try:
        access = OvnAccess.of(options)
        parts["southbound"] = access.southbound
        _southbound(access, hosts, parts)
        if hosts:
            _northbound(access, _names(parts["chassis"], hosts), parts, probe)
    except OvnError as error:
        unread.append(Unread("ovn", error.message))
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    return OvnFacts(read_at=now, scope=list(hosts), unread=unread, **parts)


def _names(chassis: t.Sequence[OvnChassis], hosts: t.Sequence[str]) -> t.List[str]:
    """Return the hosts with the names of their chassis: a port may name either."""
    return list(dict.fromkeys([*hosts, *(entry.name for entry in chassis if entry.hostname in hosts)]))


def _southbound(access: OvnAccess, hosts: t.Sequence[str], parts: Parts) -> None:
    opened = southbound.of_chassis(access) if hosts else southbound.of_unresolved(access)
    with opened as database:
        _known(database)
        parts["chassis"] = southbound.read_chassis(database)
        parts["connections"] = southbound.read_connections(database)
        if not hosts:
            parts["port_bindings"] = southbound.read_bindings(database)
    if hosts:
        mine = [entry.uuid for entry in parts["chassis"] if entry.hostname in hosts or entry.name in hosts]
        with southbound.of_chassis(access, mine, _names(parts["chassis"], hosts)) as database:
            parts["port_bindings"] = southbound.read_bindings(database)


def _known(database: OvnDatabase) -> None:
    lacking = sorted(set(southbound.NEEDED) & database.absent)
    if lacking:
        raise OvnError(f"this version of OVN has no {', '.join(lacking)}, and is older than the tested versions")


def _northbound(access: OvnAccess, names: t.Sequence[str], parts: Parts, probe: bool) -> None:
    lists = [entry.logical_port for entry in parts["port_bindings"] if "," in (entry.option or "")]
    with northbound.of_hosts(access, names, lists) as database:
        parts["switch_ports"] = northbound.read_ports(database)
        parts["gateways"] = northbound.read_gateways(database)
        if probe:
            _number, parts["northd_ms"] = northbound.synchronise(database)
