# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: `lab/lab --help`."""

from __future__ import annotations

import argparse
import contextlib
import glob
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from . import checks, cloud, config, control, hosts, install, network, ovn, procs, shares, snapshot, strangers
from .settings import (
    BACKENDS,
    DEFAULT_RELEASE,
    DEPLOYS,
    ENGINES,
    INSTANCES,
    MAX_COMPUTES,
    RELEASES,
    SOURCE,
    ZONES,
    Lab,
    LabError,
    Options,
    current_lab,
)
from .shell import each, file_lock, phase, say, tail

OVN_OPTIONS = ("ovn_rbac", "ovn_system_id", "ovn_hostname_key")
STORAGE_OPTIONS = ("pools", "clusters", "cinder", "instances")


def _locked(lab: Lab) -> contextlib.AbstractContextManager[None]:
    return file_lock(lab.base / f"i{lab.instance}.lock", "another command is changing this lab; waiting for it")


def _existing(lab: Lab) -> Lab:
    if not lab.exists:
        raise LabError(f"there is no lab {lab.instance}", hint="lab/lab up")
    return lab


def _running(lab: Lab) -> Lab:
    """A lab that can be talked to; without its interface here its addresses are not its own: no packet to them."""
    if not network.reachable(_existing(lab)):
        raise LabError(f"lab {lab.instance} is not up", hint="lab/lab up")
    return lab


def _agree(lab: Lab, args: argparse.Namespace) -> None:
    """What a lab is made of is decided at its first boot; a later `up` may say it again, not differently."""
    names = ("release", "computes", "l2", "fast_stop", "cells", "deploy", "engine", *STORAGE_OPTIONS, *OVN_OPTIONS)
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if not lab.exists:
        lab.options = Options(**given)
        _sensible(lab)
        _sensible_containers(lab, asked="engine" in given)
        _sensible_storage(lab)
        return
    for name, value in given.items():
        if name == "fast_stop":
            continue
        have = getattr(lab.options, name)
        if have != value:
            raise LabError(
                f"lab {lab.instance} was made with {name.replace('_', '-')} {have or 'none'}, not {value}",
                hint="lab/lab down --purge first, or another STACKGUARD_LAB_INSTANCE",
            )


def _sensible(lab: Lab) -> None:
    """A second pool, cluster or cell belongs to the hosts of the second zone: without any it would be for nothing."""
    options = lab.options
    others = [name for name in OVN_OPTIONS if getattr(options, name) != getattr(Options(), name)]
    if others and options.l2 != "ovn":
        raise LabError(f"--{others[0].replace('_', '-')} belongs to OVN", hint="--l2 ovn")
    if max(options.pools, options.clusters, options.cells) > 1 and all(
        lab.zone_of(n) == ZONES[0] for n in lab.host_numbers
    ):
        raise LabError(
            f"with --computes {options.computes} no host is in {ZONES[1]}, whose hosts have the second pool, cluster or"
            " cell",
            hint="--computes 3 or more; 4 for evacuations within that zone",
        )


def _sensible_containers(lab: Lab, *, asked: bool) -> None:
    """Hosts that there are, an engine only for containers, and no OVN that kolla-ansible cannot have."""
    options = lab.options
    for name in filter(None, options.deploy.partition(":")[2].split(",")):
        lab.host_number(name)
    if asked and not lab.kolla_hosts:
        raise LabError("--engine belongs to hosts with containers", hint="--deploy kolla")
    if options.ovn_rbac and lab.kolla_hosts:
        raise LabError("kolla-ansible has no RBAC in OVN", hint="--ovn-rbac only with --deploy packages")


def _sensible_storage(lab: Lab) -> None:
    """Two hosts to share a directory; and no containers where mounts would have to be made in them."""
    if lab.options.instances == "shared" and lab.options.computes < 2:
        raise LabError("--instances shared is for compute1 and compute2", hint="--computes 2 or more")
    contained = [number for number in lab.kolla_hosts if shares.shared_paths(lab, number) or "san" in lab.backends]
    if contained:
        raise LabError(
            f"compute{contained[0]}'s containers would need the shares, or the array's devices: not made",
            hint="hosts with containers have volumes in Ceph: --cinder alone; and --instances shared only without any"
            " on compute1 and compute2",
        )


def _cinder(text: str) -> str:
    """Back ends in the lab's own order; Ceph is always there."""
    named = [BACKENDS[0], *filter(None, text.split(","))]
    if not set(named) <= set(BACKENDS):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of {', '.join(BACKENDS)}")
    return ",".join(name for name in BACKENDS if name in named)


def _deploy(text: str) -> str:
    """packages, kolla, or kolla:HOST,HOST."""
    kind, colon, names = text.partition(":")
    listed = names.split(",")
    if kind not in DEPLOYS or (colon and (kind != "kolla" or not all(listed) or len(set(listed)) != len(listed))):
        raise argparse.ArgumentTypeError(f"{text!r} is not packages, kolla or kolla:HOST[,HOST]")
    return text


def do_up(lab: Lab, args: argparse.Namespace) -> int:
    with _locked(lab):
        lab = Lab(lab.instance)
        _agree(lab, args)
        checks.check_machine(lab)
        if args.fast_stop and lab.exists and not lab.options.fast_stop:
            with phase("nova-compute made to stop fast"):
                lab.options.fast_stop = True
                lab.save_options()
                each(lambda number: hosts.make_stop_fast(lab, number), lab.host_numbers)
        if _is_up(lab):
            say(f"lab {lab.instance} is up already; nothing changed")
            return 0
        lab.save_options()
        install.install(lab)
        if lab.done("resetting"):
            say("the last reset was interrupted; this run finishes the reset")
            snapshot.reset(lab)
        else:
            boot(lab)
    say(f"lab {lab.instance} is up: release {lab.options.release}, hosts {' '.join(lab.host_names)}")
    say(f'next: lab/lab guests create 2   |   eval "$(lab/lab env)"   |   inventory: {lab.state}/inventory.yml')
    return 0


def _is_up(lab: Lab) -> bool:
    if not lab.done("snapshot") or not procs.is_mounted(lab.control_ns) or not install.is_installed(lab):
        return False
    if lab.done("resetting") or not network.reachable(lab):
        return False
    services_up = all(daemon.pid() for daemon in control.daemons(lab).values())
    return services_up and all(hosts.state(lab, n) == "on" for n in lab.host_numbers)


def boot(lab: Lab) -> None:
    config.write_control(lab)
    with phase("network"):
        network.control_up(lab)
    control.up(lab)
    since, reports = cloud.now(lab), cloud.volume_reports(lab)
    with phase(f"hosts {' '.join(lab.host_names)}"):
        hosts.make_keys(lab)
        each(lambda number: hosts.boot(lab, number), lab.host_numbers)
    with phase("APIs"):
        control.wait_apis(lab)
        cloud.warm_up(lab)
    first = not lab.done("snapshot")
    # later boots may find hosts that were left disabled or renamed: that is the owner's business
    cloud.wait_computes(lab, since, strict=first, timeout=300 if first else 120)
    if first:
        with phase("zones, flavors, image, network"):
            cloud.make_objects(lab)
        cloud.wait_volumes(lab, reports)
        control.verify(lab)
        with phase("snapshot for reset"):
            snapshot.take(lab)
    else:
        cloud.wait_volumes(lab, reports)
    control.verify(lab)


def do_down(lab: Lab, args: argparse.Namespace) -> int:
    with _locked(lab):
        with phase("hosts off"):
            hosts.all_off(lab)
        strangers.remove(lab)
        if procs.is_mounted(lab.control_ns):
            with phase("services stopped"):
                control.down(lab)
        shares.release(lab)
        with phase("network removed"):
            network.remove(lab)
            hosts.remove_cgroups(lab)
            for path in glob.glob(f"/tmp/{lab.prefix}-*"):
                Path(path).unlink(missing_ok=True)
        if args.purge:
            with phase("state removed"):
                purge(lab)
    return 0


def purge(lab: Lab) -> None:
    """All of this instance; and what the instances share, when this was the last one."""
    shutil.rmtree(lab.state, ignore_errors=True)
    (lab.base / f"i{lab.instance}.lock").unlink(missing_ok=True)
    with file_lock(lab.base / "install.lock", "another lab is installing; waiting for it"):
        others = [p for p in lab.base.glob("i[0-9]*") if p.is_dir()]
        if not others:
            for name in ("venvs", "uv-cache", "engines"):
                shutil.rmtree(lab.base / name, ignore_errors=True)
    if not others:
        for path in (lab.base / "install.log", lab.base / "install.lock", *lab.base.glob("i[0-9].lock")):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            lab.base.rmdir()


def do_reset(lab: Lab, _args: argparse.Namespace) -> int:
    with _locked(lab):
        snapshot.reset(_existing(lab))
    say(f"lab {lab.instance} is as it was at the end of its first boot")
    return 0


def status(lab: Lab) -> dict[str, Any]:
    services = {name: bool(daemon.pid()) for name, daemon in control.daemons(lab).items()}
    machines = {f"compute{n}": hosts.state(lab, n) for n in lab.host_numbers}
    nova: list[dict[str, str]] = []
    if services.get("mariadb") and network.reachable(lab):
        query = (
            "SELECT host, IF(disabled,'disabled','enabled'), IF(forced_down,'forced down','-'),"
            " TIMESTAMPDIFF(SECOND, COALESCE(updated_at, created_at), utc_timestamp()) FROM services"
            " WHERE `binary`='nova-compute' AND deleted=0 ORDER BY host"
        )
        for cell in lab.cells:
            for line in control.mysql(lab, "-N", "-e", query, database=f"nova_{cell}", check=False).splitlines():
                name, enabled, forced, age = line.split("\t")
                nova.append({"host": name, "status": enabled, "forced_down": forced, "seconds_since_report": age})
    return {
        "instance": lab.instance,
        "release": lab.options.release,
        "l2": lab.options.l2,
        "pools": lab.options.pools,
        "clusters": lab.options.clusters,
        "cells": lab.options.cells,
        "cinder": lab.backends,
        "instances": lab.options.instances,
        "deploy": lab.options.deploy,
        "up": _is_up(lab),
        "services": services,
        "hosts": machines,
        "nova_compute": nova,
    }


def do_status(lab: Lab, args: argparse.Namespace) -> int:
    found = status(_existing(lab))
    if args.json:
        print(json.dumps(found, indent=1))
        return 0 if found["up"] else 1
    options = lab.options
    state = "up" if found["up"] else "not up"
    print(f"lab {lab.instance}: {state}, release {options.release}, l2 {options.l2}, {lab.network}")
    for cluster in lab.clusters:
        names = " ".join(f"compute{n}" for n in lab.host_numbers if lab.cluster_of(n) == cluster)
        fsid = config.fsid(lab, cluster.number)
        print(f"Ceph {cluster.number}: {fsid} at {cluster.address}, pools {' '.join(cluster.all_pools)}, hosts {names}")
    if lab.has_cinder:
        print(f"Cinder {lab.cinder_major}: back ends {' '.join(lab.backends)}")
    services: dict[str, bool] = found["services"]
    stopped = [name for name, alive in services.items() if not alive]
    print(f"services: {len(services) - len(stopped)} run" + (f"; not running: {' '.join(stopped)}" if stopped else ""))
    for number in lab.host_numbers:
        name = f"compute{number}"
        disks = f"cluster {lab.cluster_of(number).number}, pool {lab.pool_of(number)}"
        disks = "shared instances" if lab.shares_instances(number) else disks
        by = f", {lab.options.engine}" if number in lab.kolla_hosts else ""
        print(f"{name}: {found['hosts'][name]:4} {lab.host_address(number)} {lab.zone_of(number)}, {disks}{by}")
    for entry in found["nova_compute"]:
        print(
            f"nova-compute {entry['host']}: {entry['status']}, reported {entry['seconds_since_report']} s ago"
            + (", forced down" if entry["forced_down"] != "-" else "")
        )
    return 0 if found["up"] else 1


def _become(command: list[str], env: dict[str, str] | None = None) -> int:
    """Turns into the command, so that its signals, output and exit status are the caller's own."""
    sys.stdout.flush()
    os.execvpe(command[0], command, env or dict(os.environ))


def do_openstack(lab: Lab, args: argparse.Namespace) -> int:
    return _become([str(_running(lab).control_venv / "bin" / "openstack"), *args.rest], lab.client_env())


def do_guests(lab: Lab, args: argparse.Namespace) -> int:
    python = str(_running(lab).control_venv / "bin" / "python")
    return _become([python, str(SOURCE / "scripts" / "guests.py"), *args.rest], lab.client_env())


def do_ssh(lab: Lab, args: argparse.Namespace) -> int:
    return _become(hosts.ssh_command(_running(lab), args.host, *args.rest))


def do_nova_manage(lab: Lab, args: argparse.Namespace) -> int:
    program = str(_running(lab).nova_venv / "bin" / "nova-manage")
    return _become(["ip", "netns", "exec", lab.control_ns, program, "--config-file", str(lab.nova_conf), *args.rest])


def do_ceph(lab: Lab, args: argparse.Namespace) -> int:
    number, rest = _cluster_of(args.rest)
    return _become([args.command, "-c", str(_running(lab).cluster(number).conf), *rest])


def _cluster_of(words: list[str]) -> tuple[int, list[str]]:
    """`--cluster N` in front is the lab's own; whatever follows is the program's."""
    if words[:1] == ["--cluster"] and len(words) > 1 and words[1].isdigit():
        return int(words[1]), words[2:]
    if words and words[0].startswith("--cluster=") and words[0].partition("=")[2].isdigit():
        return int(words[0].partition("=")[2]), words[1:]
    return 1, words


def do_ovn(lab: Lab, args: argparse.Namespace) -> int:
    if _running(lab).options.l2 != "ovn":
        raise LabError(f"lab {lab.instance} was made without OVN", hint="--l2 ovn")
    database = ovn.nb(lab) if args.command == "ovn-nbctl" else ovn.sb(lab)
    return _become([args.command, f"--db={database}", *args.rest])


def do_stranger(lab: Lab, args: argparse.Namespace) -> int:
    _running(lab)
    if args.what == "list":
        return _list_strangers(lab, args.json)
    if args.what == "stop":
        if not args.image and not args.all:
            raise LabError("which? POOL/IMAGE, or --all")
        number = strangers.stop_all(lab, None if args.all else args.image, args.cluster)
        print(f"{number} stopped")
        return 0
    if not args.image:
        raise LabError("which image? POOL/IMAGE")
    stranger = strangers.Stranger(args.image, lab.cluster(args.cluster or 1).number, args.place)
    try:
        address = strangers.start(lab, stranger)
    except BaseException:
        strangers.stop(lab, stranger)
        raise
    print(f"{args.image} is open at {address}")
    return 0


def _list_strangers(lab: Lab, as_json: bool) -> int:
    found = strangers.listed(lab)
    if as_json:
        print(json.dumps(found, indent=1))
        return 0
    for entry in found:
        state = "held" if entry["runs"] else "ended by itself"
        print(f"{entry['image']} cluster {entry['cluster']}: {state}, from {entry['address']}")
    return 0


def do_san(lab: Lab, args: argparse.Namespace) -> int:
    if "san" not in _existing(lab).backends:
        raise LabError(f"lab {lab.instance} was made without an array", hint="--cinder san")
    if args.what == "strict":
        if not args.state:
            raise LabError("on or off?")
        if args.state == "on":
            shares.strict(lab).touch()
        else:
            shares.strict(lab).unlink(missing_ok=True)
        return 0
    found = shares.san(lab)
    if args.json:
        print(json.dumps(found, indent=1))
        return 0
    for key, value in found.items():
        print(f"{key}: {value}")
    return 0


def do_host(lab: Lab, args: argparse.Namespace) -> int:
    number = _running(lab).host_number(args.host)
    if args.action == "power-off":
        hosts.power_off(lab, number)
    elif args.action == "power-on":
        hosts.boot(lab, number)
    else:
        network.host_cut(lab, number, "down" if args.action == "cut" else "up")
    print(f"{args.host}: {hosts.state(lab, number)}")
    return 0


def do_kolla_recreate(lab: Lab, args: argparse.Namespace) -> int:
    return hosts.recreate(_running(lab), lab.host_number(args.host), args.names)


def do_db(lab: Lab, args: argparse.Namespace) -> int:
    command = ["mariadb", "--no-defaults", "-uroot", f"-h{_running(lab).controller}", control.DATABASES[args.database]]
    if args.sql:
        command += ["-e", " ".join(args.sql)]
    if args.batch:
        command += ["-N", "-B"]
    return _become(command, {**os.environ, "MYSQL_PWD": lab.options.password})


def do_inventory(lab: Lab, _args: argparse.Namespace) -> int:
    print(config.inventory(_existing(lab)), end="")
    return 0


def do_info(lab: Lab, args: argparse.Namespace) -> int:
    found = config.info(_existing(lab))
    if args.json:
        print(json.dumps(found, indent=1))
        return 0
    for key, value in found.items():
        print(f"{key}: {value}")
    return 0


def do_env(lab: Lab, _args: argparse.Namespace) -> int:
    _existing(lab)
    databases = {"OVN_NB_DB": ovn.nb(lab), "OVN_SB_DB": ovn.sb(lab)} if lab.options.l2 == "ovn" else {}
    for name, value in {
        "OS_CLIENT_CONFIG_FILE": lab.clouds_yaml,
        "OS_CLOUD": "lab",
        "NOVA_API_DB_URL": lab.db_url("nova_api"),
        "NEUTRON_DB_URL": lab.db_url("neutron"),
        "ANSIBLE_INVENTORY": lab.state / "inventory.yml",
        "STACKGUARD_LAB_INSTANCE": lab.instance,
        **databases,
    }.items():
        print(f"export {name}='{value}'")
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="lab", description=__doc__, epilog="Which lab: STACKGUARD_LAB_INSTANCE (0 to 9)."
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, action: Callable[[Lab, argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(action=action)
        return made

    up = add("up", do_up, "install what is missing, boot, end with a usable cloud; safe to run at any time")
    up.add_argument("--release", choices=sorted(RELEASES), help=f"release of Nova (default {DEFAULT_RELEASE})")
    up.add_argument(
        "--computes", type=int, choices=range(1, MAX_COMPUTES + 1), metavar="N", help="compute hosts (default 3)"
    )
    up.add_argument(
        "--l2",
        choices=("tap", "ovs", "ovn"),
        help="guests' ports: bare taps, a real Open vSwitch agent on each host, or OVN with a chassis on each host",
    )
    up.add_argument(
        "--ovn-rbac", action="store_true", default=None, help="OVN: chassis may change only what RBAC lets them"
    )
    up.add_argument(
        "--ovn-system-id", choices=("uuid", "hostname"), help="OVN: what a chassis is called (default uuid)"
    )
    up.add_argument(
        "--ovn-hostname-key",
        choices=("present", "absent"),
        help="OVN: whether Open vSwitch knows the host's name (default present); without, ovn-controller asks the host",
    )
    up.add_argument("--pools", type=int, choices=(1, 2), help="pools of guests' disks: hosts of az2 use the second")
    up.add_argument("--clusters", type=int, choices=(1, 2), help="Ceph clusters: hosts of az2 use the second")
    up.add_argument("--cells", type=int, choices=(1, 2), help="Nova's cells: hosts of az2 are in the second")
    up.add_argument(
        "--cinder",
        nargs="?",
        const="",
        type=_cinder,
        metavar=",".join(BACKENDS),
        help="Cinder of Nova's release: volumes in Ceph (always), on a share (nfs), and in the model of an array (san)",
    )
    up.add_argument(
        "--instances",
        choices=INSTANCES,
        help="compute1 and compute2 have their guests' disks in one directory, which both see (default own, in Ceph)",
    )
    up.add_argument(
        "--deploy",
        type=_deploy,
        metavar="|".join((*DEPLOYS, "kolla:HOST,...")),
        help="services of the compute hosts: as units of packages (default), or in containers as with kolla-ansible,"
        " on all hosts or on those that are named",
    )
    up.add_argument("--engine", choices=ENGINES, help="containers: the engine (default podman)")
    up.add_argument(
        "--fast-stop",
        action="store_true",
        default=None,
        help="let nova-compute stop within seconds instead of Nova's own three minutes",
    )
    add("down", do_down, "stop everything").add_argument(
        "--purge", action="store_true", help="and leave nothing behind"
    )
    add("status", do_status, "what runs").add_argument("--json", action="store_true")
    add("reset", do_reset, "back to the state at the end of the first boot")
    add("info", do_info, "addresses, paths, database URLs").add_argument("--json", action="store_true")
    add("env", do_env, "shell exports for clients and playbooks")
    add("inventory", do_inventory, "an Ansible inventory of the compute hosts")
    host = add("host", do_host, "power and network of a compute host")
    host.add_argument("host", metavar="HOST")
    host.add_argument(
        "action_name", metavar="power-off|power-on|cut|join", choices=("power-off", "power-on", "cut", "join")
    )
    recreate = add(
        "kolla-recreate", do_kolla_recreate, "remove containers of a host, create and start them with its name of now"
    )
    recreate.add_argument("host", metavar="HOST")
    recreate.add_argument("names", nargs="+", metavar="NAME")
    stranger = add("stranger", do_stranger, "a client of Ceph that is no host has a guest's disk open")
    stranger.add_argument("what", choices=("start", "stop", "list"))
    stranger.add_argument("image", nargs="?", metavar="POOL/IMAGE")
    stranger.add_argument("--cluster", type=int, choices=(1, 2), help="the image's Ceph cluster (default 1)")
    stranger.add_argument(
        "--from",
        dest="place",
        choices=strangers.PLACES,
        default="own",
        help="its address: one of its own (default), or the controller's, which is also the first monitor's",
    )
    stranger.add_argument("--all", action="store_true", help="stop: all of them")
    stranger.add_argument("--json", action="store_true", help="list: as JSON")
    array = add("san", do_san, "the model of an array: host objects, exports, how it takes a second name")
    array.add_argument("what", choices=("show", "strict"))
    array.add_argument("state", nargs="?", choices=("on", "off"), help="strict: refuse a machine under a second name")
    array.add_argument("--json", action="store_true", help="show: as JSON")
    database = add("db", do_db, "SQL on a database of the lab (as root), or a prompt")
    database.add_argument("--batch", action="store_true", help="bare values, tab-separated")
    database.add_argument("database", choices=list(control.DATABASES))
    database.add_argument("sql", nargs="*", metavar="SQL")
    return top


# These hand everything behind their name to another program, options included.
PASS_ON: dict[str, tuple[Callable[[Lab, argparse.Namespace], int], str]] = {
    "openstack": (do_openstack, "the openstack client"),
    "guests": (do_guests, "create, list, delete guests"),
    "nova-manage": (do_nova_manage, "nova-manage"),
    "ceph": (do_ceph, "ceph"),
    "rbd": (do_ceph, "rbd"),
    "ovn-nbctl": (do_ovn, "ovn-nbctl"),
    "ovn-sbctl": (do_ovn, "ovn-sbctl"),
}


def parse(argv: list[str]) -> argparse.Namespace:
    if argv and argv[0] in PASS_ON:
        return argparse.Namespace(command=argv[0], action=PASS_ON[argv[0]][0], rest=argv[1:])
    if argv and argv[0] == "ssh" and len(argv) > 1 and not argv[1].startswith("-"):
        return argparse.Namespace(command="ssh", action=do_ssh, host=argv[1], rest=argv[2:])
    top = parser()
    top.epilog = (top.epilog or "") + " Also: ssh HOST [COMMAND], " + ", ".join(f"{n} ..." for n in PASS_ON) + "."
    args = top.parse_args(argv)
    if args.command == "host":
        args.action = do_host
    return args


def _interrupted(_sig: int, _frame: FrameType | None) -> None:
    """Ends at once: what was begun is taken up again by the next run, as after a kill."""
    for pid in procs.children():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    install.allow_service_starts()
    os.write(2, b"\ninterrupted; the same command carries on from here\n")
    os._exit(130)


def main() -> int:
    for sig in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sig, _interrupted)
    args = parse(sys.argv[1:])
    if args.command == "host":
        args.run, args.action = args.action, args.action_name
    else:
        args.run = args.action
    try:
        checks.require_root()
        code: int = args.run(current_lab(), args)
        return code
    except LabError as error:
        say(f"FAILED: {error}")
        if error.log:
            say(f"log: {error.log}")
            for line in tail(error.log):
                print(f"    {line[:300]}", file=sys.stderr)
        if error.hint:
            say(f"hint: {error.hint}")
        return 1
