# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a cloud, its hosts and its databases are ready for the operations of this collection. Pure.

Each part of each subject has one result: ok where something was read that says so, failed with the command that fixes
it, or not checked with the reason. No part that was asked for is without a result.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..model import ceph_caps, facts
from ..model.doctor import (
    FAILED,
    NOT_CHECKED,
    OK,
    OLDEST_PYTHON,
    PARTS,
    Asked,
    ClockOffset,
    CloudState,
    DatabasesState,
    DatabaseState,
    DoctorHost,
    Result,
    RightsProbe,
)
from ..model.doctor_host import CephCaps, Directory, HostState
from ..model.network_agents import L2_AGENTS, OVN_AGENTS
from . import ovn as doctor_ovn

#: Packages of the bindings, by the host's package tool.
_BINDINGS = {
    "apt-get": {"libvirt": "python3-libvirt", "rbd": "python3-rbd python3-rados"},
    "dnf": {"libvirt": "python3-libvirt", "rbd": "python3-rbd python3-rados"},
    "zypper": {"libvirt": "python3-libvirt-python", "rbd": "python3-rbd python3-rados"},
}
#: Words that a server would take for its own.
_RESERVED = {"mysql": {"key": "`key`", "binary": "`binary`"}, "postgresql": {"binary": '"binary"'}}
#: HTTP statuses of a request that needs other rights.
_REFUSED = (401, 403)
#: Operations that fence by Ceph's blocklist and lift such a fence, and what each does to the list.
_BLOCKLISTING = {"evacuate_host": ("add", "remove"), "return_host": ("remove",)}
#: The operation that protects images by snapshots.
GUARDING = "evacuate_host"
_NO_CINDER = "not needed: the catalogue has no block storage service"
_NO_VOLUMES = "not needed: Cinder has no back end and no attachment in Ceph"
_PLAIN = re.compile(r"\w+\Z")
#: How a host reached Ceph: by the bindings, not by commands.
_BY_BINDINGS = "library"


def judge(
    asked: Asked,
    cloud: t.Optional[CloudState],
    databases: t.Optional[DatabasesState],
    hosts: t.Sequence[DoctorHost],
    journals: t.Optional[DoctorHost],
) -> t.List[Result]:
    """Return a result for each part that was asked for. ``None``: what gives it was not read, which is no pass."""
    found: t.List[Result] = []
    if "api" in asked.sources:
        found += _cloud(asked, cloud or CloudState(problem="the cloud was not checked"))
    if "databases" in asked.sources:
        found += _databases(asked, databases or DatabasesState(problem="the databases were not checked"), cloud)
    if "hosts" in asked.sources:
        found += [result for host in hosts for result in _host(asked, host, cloud)] or [_no_host()]
    if "journals" in asked.sources:
        found += _state_host(
            asked, journals or DoctorHost("stackguard_state_host", kind="failed", reason="the host was not checked")
        )
    return found


# --- the cloud ------------------------------------------------------------------------------------------------


def _cloud(asked: Asked, cloud: CloudState) -> t.List[Result]:
    def result(part: str, state: str, seen: str, fix: str = "") -> Result:
        return Result("api", "cloud", part, state, seen, fix)

    if cloud.problem is not None:
        named = f"--os-cloud {asked.cloud} " if asked.cloud else ""
        fix = f"correct the credentials in clouds.yaml until this command succeeds: openstack {named}token issue"
        rest = [result(part, NOT_CHECKED, "the login failed") for part in PARTS["api"][1:]]
        return [result("credentials", FAILED, cloud.problem, fix), *rest]
    found = [result("credentials", OK, f"logged in as {cloud.user}, project {cloud.project}")]
    found += [
        _rights(part, [probe for probe in cloud.probes if probe.part == part], cloud)
        for part in ("compute_api", "placement_api", "network_api")
    ]
    found += [_volume_api(cloud), _volume_pools(asked, cloud)]
    machine = "the machine that serves the compute API"
    found.append(_clock(result, "api_clock", asked, cloud.clock, cloud.clock_reason, machine))
    return found


def _rights(part: str, probes: t.Sequence[RightsProbe], cloud: CloudState) -> Result:
    failed = [probe for probe in probes if probe.found is None]
    if not probes:
        return Result("api", "cloud", part, NOT_CHECKED, "no request was sent")
    if failed:
        refused = [probe for probe in failed if probe.status in _REFUSED]
        fix = _admin_role(cloud)
        if not refused:
            fix = "check that the API answers at its endpoint in the catalogue: openstack catalog list"
        return Result("api", "cloud", part, FAILED, "; ".join(probe.reason for probe in failed), fix)
    if part == "network_api" and not any(probe.found for probe in probes):
        seen = (
            "neutron shows no agent, so the doctor cannot decide whether the user is an administrator: neutron shows "
            "agents only to administrators"
        )
        return Result("api", "cloud", part, NOT_CHECKED, seen, "openstack network agent list")
    if part == "compute_api" and not probes[0].found:
        fix = (
            "start nova-compute on at least one compute host, then map this host to its cell: nova-manage cell_v2 "
            "discover_hosts"
        )
        return Result("api", "cloud", part, FAILED, "no nova-compute service is registered in Nova", fix)
    return Result("api", "cloud", part, OK, "an administrator: " + ", ".join(probe.request for probe in probes))


def _volume_api(cloud: CloudState) -> Result:
    if cloud.cinder is False:
        return Result("api", "cloud", "volume_api", OK, _NO_CINDER)
    found = _rights("volume_api", [probe for probe in cloud.probes if probe.part == "volume_api"], cloud)
    if found.state != OK or not cloud.hidden_hosts:
        return found
    seen = "Cinder hides the hosts of attachments from this user"
    return Result("api", "cloud", "volume_api", FAILED, seen, _admin_role(cloud))


def _admin_role(cloud: CloudState) -> str:
    command = f"openstack role add --project {_shell(cloud.project)} --user {_shell(cloud.user)} admin"
    return f"give the user the admin role: {command}"


def _volume_pools(asked: Asked, cloud: CloudState) -> Result:
    def result(state: str, seen: str, fix: str = "") -> Result:
        return Result("api", "cloud", "volume_pools", state, seen, fix)

    if cloud.volume_pools is None:
        return result(NOT_CHECKED, "Cinder's attachments or back ends were not read")
    if not cloud.volume_pools:
        return result(OK, _NO_CINDER if cloud.cinder is False else _NO_VOLUMES)
    missing = sorted(set(cloud.volume_pools) - set(asked.volume_pools))
    if not missing:
        return result(OK, f"stackguard_volume_pools names all pools of Cinder: {', '.join(cloud.volume_pools)}")
    fix = f"put it into the variables: stackguard_volume_pools: [{', '.join(cloud.volume_pools)}]"
    return result(FAILED, f"Cinder uses pools that stackguard_volume_pools lacks: {', '.join(missing)}", fix)


def _shell(word: str) -> str:
    return word if _PLAIN.match(word) else "'" + word.replace("'", "'\\''") + "'"


# --- clocks ---------------------------------------------------------------------------------------------------


def _clock(
    result: t.Callable[..., Result], part: str, asked: Asked, clock: t.Optional[ClockOffset], reason: str, where: str
) -> Result:
    if clock is None:
        return result(part, NOT_CHECKED, reason or "the clock was not read")
    about = (
        f"compared with the Ansible controller's clock, the clock of {where} is ahead by at least {clock.least:+.1f} "
        f"s and at most {clock.most:+.1f} s"
    )
    limit = asked.tolerance
    if -limit <= clock.least and clock.most <= limit:
        return result(part, OK, about)
    if clock.most < -limit or clock.least > limit:
        fix = (
            f"on {where}, run chronyc makestep, or run timedatectl set-ntp true. If the clocks of all hosts differ "
            "from the Ansible controller's clock, run one of these commands on the Ansible controller instead"
        )
        return result(part, FAILED, f"{about}, and the limit is {limit:g} s", fix)
    return result(part, NOT_CHECKED, f"{about}. The answer took too long for an exact comparison. Run the doctor again")


# --- databases ------------------------------------------------------------------------------------------------


def _databases(asked: Asked, read: DatabasesState, cloud: t.Optional[CloudState]) -> t.List[Result]:
    found: t.List[Result] = []
    names = {database.name for database in read.databases}
    if "api" not in names:
        reason = read.problem or facts.LEFT_OUT[facts.NO_API_DATABASE]
        fix = "put the URL into the variables: nova_api_db_url: mysql+pymysql://stackguard:PASSWORD@HOST/nova_api"
        found.append(Result("databases", "api", "database", FAILED, reason, fix))
        found += _unreached("api", "the URL of the database is not known")
    for database in read.databases:
        found += _database(asked, database, read.undeclared)
    if read.problem is not None and "api" in names:
        fix = "let the database user read the table cell_mappings (docs/reference/grants.md), or set nova_cell_db_urls"
        found.append(Result("databases", "cells", "database", FAILED, read.problem, fix))
        found += _unreached("cells", "the cells are not known")
    elif "api" in names and not any(name.startswith("cell:") for name in names):
        # The database of another cloud, or an empty one, answers as well.
        fix = (
            "set nova_api_db_url to the correct URL, or map the cell (to list the mapped cells: nova-manage cell_v2 "
            "list_cells)"
        )
        found.append(
            Result("databases", "cells", "database", FAILED, "cell_mappings has no cell other than cell0", fix)
        )
        found += _unreached("cells", "there is no cell to check")
    found.append(_lock(asked, read))
    if not read.neutron and "rename_host" in asked.operations:
        found.append(_neutron(cloud))
    found += doctor_ovn.judge(asked, read.ovn, cloud)
    return found


def _unreached(name: str, why: str) -> t.List[Result]:
    return [Result("databases", name, part, NOT_CHECKED, why) for part in ("database_rights", "database_clock")]


def _database(asked: Asked, database: DatabaseState, undeclared: t.Sequence[str]) -> t.List[Result]:
    def result(part: str, state: str, seen: str, fix: str = "") -> Result:
        return Result("databases", database.name, part, state, seen, fix)

    if database.problem is not None:
        url = {"api": "nova_api_db_url", "neutron": "neutron_db_url"}.get(database.name, "nova_cell_db_urls")
        fix = (
            f"correct {url}, or make sure that the Ansible controller can reach {database.location or 'the server'} "
            "and log in. MySQL and MariaDB refuse a user who has no right in the database (1044): the first lines of "
            "docs/reference/grants.md give one"
        )
        return [
            result("database", FAILED, database.problem, fix),
            *_unreached(database.name, "the doctor did not reach this database"),
        ]
    where = f"{database.location} as {database.user}"
    return [
        result("database", OK, where),
        _grants(result, database, undeclared),
        _clock(result, "database_clock", asked, database.clock, "", f"the server of {database.location}"),
    ]


def _grants(result: t.Callable[..., Result], database: DatabaseState, undeclared: t.Sequence[str]) -> Result:
    if database.grants is None:
        return result("database_rights", NOT_CHECKED, "the privileges were not tested")
    missing = [grant for grant in database.grants if not grant.allowed]
    if not missing and undeclared:
        return result(
            "database_rights",
            NOT_CHECKED,
            f"the doctor does not know which privileges these operations need: {', '.join(undeclared)}",
        )
    if not missing:
        return result(
            "database_rights", OK, f"the user has all {len(database.grants)} privileges that the operations need"
        )
    seen = f"{len(missing)} of {len(database.grants)} privileges are missing: " + "; ".join(
        f"{grant.action} {grant.table}: {grant.error}" for grant in missing
    )
    return result("database_rights", FAILED, seen, "\n".join(grant_statements(database, missing)))


def grant_statements(database: DatabaseState, missing: t.Sequence[facts.Grant]) -> t.List[str]:
    """Return the statements that give the rights, one for each table, as docs/reference/grants.md has them."""
    lines = []
    for table in dict.fromkeys(grant.table for grant in missing):
        rights = ", ".join(
            f"{action} ({', '.join(_name(column, database) for column in columns)})"
            for action, columns in _by_action([grant for grant in missing if grant.table == table]).items()
        )
        lines.append(f"GRANT {rights} ON {_place(table, database)} TO {_account(database)};")
    return lines


def _by_action(grants: t.Sequence[facts.Grant]) -> t.Dict[str, t.List[str]]:
    """Return C(SELECT) and C(UPDATE), each with all columns. Who may update a column may lock the row."""
    found: t.Dict[str, t.List[str]] = {}
    for grant in grants:
        columns = found.setdefault("SELECT" if grant.action == "select" else "UPDATE", [])
        columns += [column for column in grant.columns if column not in columns]
    return found


def _name(column: str, database: DatabaseState) -> str:
    return _RESERVED[database.dialect].get(column, column)


def _place(table: str, database: DatabaseState) -> str:
    if database.dialect != "mysql":
        return table
    name = database.database
    return f"{name if _PLAIN.match(name) else '`' + name.replace('`', '``') + '`'}.{table}"


def _account(database: DatabaseState) -> str:
    if database.dialect != "mysql":
        return database.user if _PLAIN.match(database.user) else '"' + database.user.replace('"', '""') + '"'
    user, _at, host = database.user.rpartition("@")
    return "@".join("'" + word.replace("'", "''") + "'" for word in (user, host))


def _lock(asked: Asked, read: DatabasesState) -> Result:
    def result(state: str, seen: str, fix: str = "") -> Result:
        return Result("databases", "api", "database_lock", state, seen, fix)

    if read.lock is None:
        return result(NOT_CHECKED, read.lock_reason or "the doctor did not test the lock in the API database")
    if read.lock.scope == facts.LOCK_EXCLUSIVE:
        return result(OK, "the lock in the API database prevents two concurrent runs")
    if read.lock.scope == facts.LOCK_LOCAL:
        return result(
            OK,
            "the lock stops only runs that use this Galera node (SG712). Give every run of repair_links the URL of the "
            "same node",
        )
    seen = f"the database does not grant the lock (SG712): {read.lock.reason or 'no reason was given'}"
    if "repair_links" not in asked.operations:
        return result(
            OK, f"{seen}. Only repair_links needs this lock, and doctor_operations does not contain repair_links"
        )
    return result(
        FAILED,
        seen,
        "before you repair links, run SET GLOBAL pxc_strict_mode = 'PERMISSIVE'; on the database node to which "
        "nova_api_db_url points. After the repair, restore the old value",
    )


def _neutron(cloud: t.Optional[CloudState]) -> Result:
    def result(state: str, seen: str, fix: str = "") -> Result:
        return Result("databases", "neutron", "database", state, seen, fix)

    kinds = cloud.agents if cloud else None
    if kinds is None:
        seen = (
            "neutron_db_url is not set, and the agents were not read. A rename of a host with an L2 agent needs "
            "neutron_db_url"
        )
        return result(NOT_CHECKED, seen)
    wired = sorted(set(kinds) & {*L2_AGENTS, *OVN_AGENTS})
    if not wired:
        return result(OK, "not needed: no host has an L2 agent or an OVN agent")
    fix = "put the URL into the variables: neutron_db_url: mysql+pymysql://stackguard:PASSWORD@HOST/neutron"
    return result(FAILED, f"neutron_db_url is not set, and a rename needs this URL for: {', '.join(wired)}", fix)


# --- hosts ----------------------------------------------------------------------------------------------------


def _no_host() -> Result:
    fix = "put the compute hosts into the inventory group 'compute', or list them in stackguard_compute_hosts"
    return Result("hosts", "compute", "reached", FAILED, "there is no host to check", fix)


def _host(asked: Asked, host: DoctorHost, cloud: t.Optional[CloudState]) -> t.List[Result]:
    def result(part: str, state: str, seen: str, fix: str = "") -> Result:
        return Result("hosts", host.name, part, state, seen, fix)

    state = host.state
    if state is None:
        return _silent(result, host, PARTS["hosts"])
    return [
        result("reached", OK, "the host answers Ansible"),
        result("python", OK, f"{state.python} ({state.python_path})"),
        _root(result, state),
        _nova_conf(result, state),
        _libvirt(result, state),
        _rbd(result, state),
        _caps(result, asked, state),
        _ceph_volumes(result, asked, state, cloud),
        _directory(result, "host_journals", asked, state),
        _clock(result, "host_clock", asked, host.clock, "", host.name),
    ]


def _silent(result: t.Callable[..., Result], host: DoctorHost, parts: t.Sequence[str]) -> t.List[Result]:
    if host.kind == "unreachable":
        fix = f"make the host reachable for Ansible: ansible {host.name} -i INVENTORY -m ansible.builtin.ping -vvv"
        first = [result("reached", FAILED, f"{host.name} does not answer Ansible: {host.reason}", fix)]
    elif host.python is not None and _version(host.python) < OLDEST_PYTHON:
        fix = "install Python 3.9 or newer on the host, and set ansible_python_interpreter in the inventory to its path"
        first = [
            result("reached", OK, "the host answers Ansible"),
            result("python", FAILED, f"{host.python}: {host.reason}", fix),
        ]
    else:
        fix = f"run the module alone: ansible {host.name} -i INVENTORY -m stackguard.nova.doctor_host -vvv"
        first = [result("reached", FAILED, f"the host answers, but the module failed: {host.reason}", fix)]
    known = {item.part for item in first}
    return first + [result(part, NOT_CHECKED, "the host was not read") for part in parts if part not in known]


def _version(text: str) -> t.Tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


def _root(result: t.Callable[..., Result], state: HostState) -> Result:
    if state.own_uid == 0:
        return result("root", OK, "the modules run as root")
    fix = "set ansible_become: true for the group compute, and log in as a user that is allowed to become root"
    return result("root", FAILED, f"the modules run as user id {state.own_uid}", fix)


def _nova_conf(result: t.Callable[..., Result], state: HostState) -> Result:
    if state.nova_conf_files is not None:
        return result("nova_conf", OK, ", ".join(state.nova_conf_files))
    fix = (
        "list the configuration files of nova-compute in the order in which nova-compute reads them: "
        '-e \'{"stackguard_nova_conf_files": ["/etc/nova/nova.conf"]}\''
    )
    return result("nova_conf", FAILED, state.why("nova_conf"), fix)


def _install(state: HostState, what: str) -> str:
    packages = _BINDINGS.get(state.packages, _BINDINGS["apt-get"])[what]
    command = f"{state.packages or 'apt-get'} install {packages}"
    return (
        f"{command}    (Ansible uses {state.python_path}; to use the distribution's Python, set "
        "ansible_python_interpreter)"
    )


def _libvirt(result: t.Callable[..., Result], state: HostState) -> Result:
    if state.libvirt_binding is False:
        return result("libvirt", FAILED, "python3-libvirt is missing", _install(state, "libvirt"))
    if state.libvirt is None:
        fix = (
            "systemctl status libvirtd virtqemud kolla-nova_libvirt-container; "
            "virsh --readonly --connect qemu:///system uri"
        )
        return result("libvirt", FAILED, f"libvirt does not answer: {state.why('libvirt')}", fix)
    return result("libvirt", OK, f"libvirt {state.libvirt}, through python3-libvirt")


def _rbd(result: t.Callable[..., Result], state: HostState) -> Result:
    if state.images_type is None:
        return result(
            "rbd", NOT_CHECKED, "nova.conf was not read, so the doctor does not know where Nova stores the disk images"
        )
    if state.images_type != "rbd":
        return result("rbd", OK, f"not needed: images_type is {state.images_type}")
    if state.ceph is not None:
        way = "python3-rbd and python3-rados" if state.ceph.via == _BY_BINDINGS else "the commands rbd and ceph"
        return result("rbd", OK, f"Ceph cluster {state.ceph.fsid} answers, through {way}")
    if not state.ceph_by_command and not state.rbd_binding:
        return result("rbd", FAILED, "python3-rbd or python3-rados is missing", _install(state, "rbd"))
    user = f" --id {_shell(state.ceph_user)}" if state.ceph_user else ""
    fix = (
        f"ceph{user} fsid    (if the Ceph configuration file on the host is at neither the path in nova.conf nor "
        "/etc/ceph/ceph.conf, set stackguard_ceph_conf)"
    )
    return result("rbd", FAILED, f"Ceph does not answer: {state.why('ceph')}", fix)


def _caps(result: t.Callable[..., Result], asked: Asked, state: HostState) -> Result:
    if state.images_type is not None and state.images_type != "rbd":
        return result("ceph_caps", OK, f"not needed: images_type is {state.images_type}")
    wanted = sorted({action for name in asked.operations for action in _BLOCKLISTING.get(name, ())})
    if not wanted:
        return result("ceph_caps", OK, "not needed: none of the requested operations changes the OSD blocklist")
    if state.caps is None:
        why = "nova.conf was not read" if state.images_type is None else state.why("ceph_caps")
        user = f"client.{state.ceph_user}" if state.ceph_user else "client.USER"
        fix = (
            "set doctor_ceph_reader to a Ceph user that is allowed to read caps, or read the caps on a Ceph node: "
            f"ceph auth get {user}"
        )
        return result("ceph_caps", NOT_CHECKED, why, fix)
    may = _may(asked, state.caps, state.images_pool, wanted)
    seen = f"{state.caps.entity} with the caps mon '{state.caps.mon}' osd '{state.caps.osd}'"
    lacking = [what for what, allowed in may.items() if allowed is False]
    if lacking:
        return result("ceph_caps", FAILED, f"{seen} is not allowed to {' and '.join(lacking)}", _caps_fix(state))
    if any(allowed is None for allowed in may.values()):
        return result(
            "ceph_caps",
            NOT_CHECKED,
            f"{seen}: the doctor cannot parse these caps, so the user's permissions are not known",
        )
    return result("ceph_caps", OK, f"{seen} is allowed to {' and '.join(may)}{_daemons(asked, state.caps.mon)}")


def _may(asked: Asked, caps: CephCaps, pool: t.Optional[str], wanted: t.Sequence[str]) -> t.Dict[str, t.Optional[bool]]:
    """Return what the operations do to Ceph, to whether the user may: a guard snapshot needs the pool of the images."""
    blocklisting = ceph_caps.blocklisting(caps.mon)._asdict()
    found = {f"{action} OSD blocklist entries": blocklisting[action] for action in wanted}
    if GUARDING in asked.operations:
        found[f"make snapshots in the pool {pool or 'of the images'}"] = ceph_caps.writes_images(caps.osd, pool)
    return found


def _daemons(asked: Asked, mon: str) -> str:
    """Name what a fence by the blocklist may need, and mostly does not: it is no failure."""
    lacking = [question for question in ("mgr dump", "fs dump") if ceph_caps.reads(mon, question) is not True]
    if GUARDING not in asked.operations or not lacking:
        return ""
    return (
        f", but not allowed to run {' and '.join(lacking)}. evacuate_fence=blocklist reports SG709 if only locks "
        "show the dead host's address"
    )


def _ceph_volumes(
    result: t.Callable[..., Result], asked: Asked, state: HostState, cloud: t.Optional[CloudState]
) -> Result:
    """A pool that the variable lacks is told of the cloud, and once."""
    used = cloud.volume_pools if cloud is not None else None
    if used == []:
        return result("ceph_volumes", OK, _NO_VOLUMES)
    wanted = [pool for pool in asked.volume_pools if used is None or pool in used]
    if state.volume_pools is None or not wanted:
        why = "stackguard_volume_pools names no pool of Cinder" if not wanted else state.why("ceph_volumes")
        return result("ceph_volumes", NOT_CHECKED, why)
    bad = {pool: state.volume_pools.get(pool, "not tried") for pool in wanted if state.volume_pools.get(pool) != ""}
    user = f"client.{state.ceph_user or 'USER'}"
    if not bad:
        return result("ceph_volumes", OK, f"{user} is allowed to read: {', '.join(wanted)}")
    seen = "; ".join(f"{user} can not read the pool {pool}: {why}" for pool, why in bad.items())
    if used is None:
        # What is named by default may be no pool of this cloud.
        return result("ceph_volumes", NOT_CHECKED, f"{seen}. Whether Cinder uses it was not read")
    more = ", ".join(f"profile rbd-read-only pool={pool}" for pool in bad)
    if state.caps is not None:
        osd = ", ".join([*([state.caps.osd] if state.caps.osd else []), more])
        return result("ceph_volumes", FAILED, seen, _set_caps(dataclasses.replace(state.caps, osd=osd)))
    fix = (
        f"on a Ceph node, add osd '{more}' to what ceph auth get {user} shows, and set all of it with ceph auth caps "
        f"{user}: caps that the command lacks are lost"
    )
    return result("ceph_volumes", FAILED, seen, fix)


def _caps_fix(state: HostState) -> str:
    """Ceph replaces all that a user has: what is there now stays."""
    caps = state.caps
    if caps is None:
        return ""
    may = ceph_caps.blocklisting(caps.mon)
    own = [caps.mon] if caps.mon else []
    if "profile rbd" not in caps.mon and not may.add:
        own.append("profile rbd")
    mon = ", ".join([*own, *([] if may.remove else ['allow command "osd blocklist" with blocklistop=rm'])])
    osd = caps.osd
    if ceph_caps.writes_images(osd, state.images_pool) is False:
        osd = ", ".join([*([osd] if osd else []), f"profile rbd pool={state.images_pool or 'POOL'}"])
    return _set_caps(dataclasses.replace(caps, mon=mon, osd=osd))


def _set_caps(caps: CephCaps) -> str:
    kept = (("osd", caps.osd), ("mgr", caps.mgr), *sorted(caps.others.items()))
    more = "".join(f" {name} '{value}'" for name, value in kept if value)
    return f"on a Ceph node: ceph auth caps {caps.entity} mon '{caps.mon}'{more}"


# --- journals -------------------------------------------------------------------------------------------------


def _state_host(asked: Asked, host: DoctorHost) -> t.List[Result]:
    def result(part: str, state: str, seen: str, fix: str = "") -> Result:
        return Result("journals", host.name, part, state, seen, fix)

    if host.state is None:
        (first, *_rest) = _silent(result, host, ("reached",))
        return [result("journals", FAILED, first.seen, first.fix)]
    return [_directory(result, "journals", asked, host.state)]


def _directory(result: t.Callable[..., Result], part: str, asked: Asked, state: HostState) -> Result:
    found = state.journals
    if found is None:
        return result(part, NOT_CHECKED, state.why("journals"))
    problem, fix = _directory_problem(found, asked.free_mb)
    if problem:
        return result(part, FAILED, problem, fix)
    if found.exists:
        return result(part, OK, f"{found.path}, {found.free_mb} MiB free")
    return result(
        part,
        OK,
        f"{found.path} does not exist yet. The first operation creates this directory in {found.nearest} "
        f"({found.free_mb} MiB free)",
    )


def _directory_problem(found: Directory, least_mb: int) -> t.Tuple[str, str]:
    place = found.nearest
    make = f"install -d -m 0700 -o {found.own_uid} {found.path}"
    if not found.is_directory:
        return f"{place} is not a directory", f"remove it, then {make}"
    if found.read_only:
        return f"the file system of {place} is read-only", f"mount -o remount,rw {place}, or set another directory"
    if not found.writable:
        return f"user id {found.own_uid} is not allowed to write into {place}", f"as root: {make}"
    if found.exists and found.uid != found.own_uid:
        return f"{place} belongs to user id {found.uid}, not {found.own_uid}", f"chown -R {found.own_uid} {place}"
    if found.exists and found.mode & 0o077:
        return f"other users can read {place} (mode {found.mode:04o})", f"chmod 0700 {place}"
    if found.free_mb < least_mb:
        return (
            f"{place} has {found.free_mb} MiB free, but {least_mb} MiB are needed",
            f"run df -h {place}, then delete files to free space on that file system",
        )
    return "", ""
