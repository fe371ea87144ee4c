# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""OVN (`--l2 ovn`): the central databases and northd beside the control plane, a chassis on each host."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

from .procs import Daemon
from .settings import OVN_NB_PORT, OVN_SB_PORT, OVN_SB_ROLE_PORT, Lab
from .shell import run, together

DATABASES = {"nb": OVN_NB_PORT, "sb": OVN_SB_PORT}
SCHEMAS = Path("/usr/share/ovn")
# A busy machine answers late: no connection is to be given up for that, since each new one is work for all sides.
PROBE_MS = 60000
NORTHD = "ovn-northd"
#: The only chassis that may be a gateway: tests know which one a rename of compute1 changes, and none needs BFD.
GATEWAY = 1
#: One metadata agent takes as much memory as three chassis. The host that tests rename has it.
METADATA = (GATEWAY,)
#: For neutron's processes in a lab with OVN, 10 MiB less each: one heap for all threads, no DNS of eventlet's own.
LEAN_PYTHON = {"MALLOC_ARENA_MAX": "1", "EVENTLET_NO_GREENDNS": "yes"}


def system_id(lab: Lab, number: int) -> str:
    """The chassis' name: the same for the life of the lab, and not derived from the host's name unless asked for."""
    if lab.options.ovn_system_id == "hostname":
        return f"compute{number}"
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{lab.options.password}/chassis{number}"))


def nb(lab: Lab) -> str:
    return f"tcp:{lab.controller}:{OVN_NB_PORT}"


def sb(lab: Lab) -> str:
    """The administrator's way into the southbound database, with and without RBAC."""
    return f"tcp:{lab.controller}:{OVN_SB_PORT}"


def remote(lab: Lab) -> str:
    """The chassis' way into the southbound database."""
    return f"ssl:{lab.controller}:{OVN_SB_ROLE_PORT}" if lab.options.ovn_rbac else sb(lab)


def control_socket(lab: Lab, name: str) -> Path:
    """For `ovs-appctl -t`."""
    return lab.run / f"{name}.ctl"


def pki(lab: Lab) -> Path:
    return lab.etc / "ovn"


def _data(lab: Lab) -> Path:
    return lab.state / "ovn"


def daemons(lab: Lab) -> dict[str, Daemon]:
    if lab.options.l2 != "ovn":
        return {}
    env = {"OVN_RUNDIR": str(lab.run), "OVS_RUNDIR": str(lab.run)}
    found = {
        f"ovn-{name}": Daemon(lab, f"ovn-{name}", _server(lab, name, port), env=env) for name, port in DATABASES.items()
    }
    northd: list[str | Path] = [
        NORTHD,
        f"--ovnnb-db={nb(lab)}",
        f"--ovnsb-db={sb(lab)}",
        f"--unixctl={control_socket(lab, NORTHD)}",
    ]
    return {**found, NORTHD: Daemon(lab, NORTHD, northd, env=env)}


def _server(lab: Lab, name: str, port: int) -> list[str | Path]:
    command: list[str | Path] = [
        "ovsdb-server",
        _data(lab) / f"{name}.db",
        f"--remote=ptcp:{port}:{lab.controller}",
        f"--unixctl={control_socket(lab, f'ovn-{name}')}",
    ]
    if name == "sb" and lab.options.ovn_rbac:
        command += [
            "--remote=db:OVN_Southbound,SB_Global,connections",
            f"--private-key={pki(lab)}/sb.key",
            f"--certificate={pki(lab)}/sb.pem",
            f"--ca-cert={pki(lab)}/ca.pem",
        ]
    return command


def up(lab: Lab) -> None:
    """Both databases and northd; nothing in a lab without OVN."""
    services = daemons(lab)
    if not services:
        return
    lab.run.mkdir(parents=True, exist_ok=True)
    for name in DATABASES:
        _create(lab, name)
    if lab.options.ovn_rbac:
        _certificates(lab)
    for name, port in DATABASES.items():
        services[f"ovn-{name}"].start()
        services[f"ovn-{name}"].wait_port(port)
    together(
        lambda: nbctl(lab, "set", "NB_Global", ".", f"options:northd_probe_interval={PROBE_MS}"),
        lambda: _southbound(lab),
    )
    services[NORTHD].start()


def _create(lab: Lab, name: str) -> None:
    path = _data(lab) / f"{name}.db"
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".new")
    scratch.unlink(missing_ok=True)
    run(["ovsdb-tool", "create", scratch, SCHEMAS / f"ovn-{name}.ovsschema"], log=lab.log / "ovn-create.log")
    scratch.rename(path)


def maintenance(lab: Lab) -> Path:
    """The program that runs neutron's maintenance worker in one process."""
    return lab.etc / "neutron" / "ovn-maintenance.py"


def nbctl(lab: Lab, *args: str, check: bool = True) -> str:
    """`init` first: a database as it was made has not even its one row."""
    return run(["ovn-nbctl", f"--db={nb(lab)}", "--timeout=30", "init", "--", *args], check=check).stdout


def sbctl(lab: Lab, *args: str, check: bool = True) -> str:
    return run(["ovn-sbctl", f"--db={sb(lab)}", "--timeout=30", *args], check=check).stdout


def _southbound(lab: Lab) -> None:
    sbctl(lab, "init")
    if lab.options.ovn_rbac:
        connection = f"pssl:{OVN_SB_ROLE_PORT}:{lab.controller}"
        sbctl(lab, f"--inactivity-probe={PROBE_MS}", "set-connection", "role=ovn-controller", connection)


def _certificates(lab: Lab) -> None:
    """One authority; the database's certificate; of each chassis, with its name, by which RBAC knows it."""
    folder, log = pki(lab), lab.log / "ovn-pki.log"
    if (folder / "complete").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    key: list[str | Path] = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    run(
        [*key, "-x509", "-days", "3650", "-subj", "/CN=lab", "-keyout", folder / "ca.key", "-out", folder / "ca.pem"],
        log=log,
    )
    names = {"sb": "southbound", **{f"compute{n}": system_id(lab, n) for n in lab.host_numbers}}
    for name, subject in names.items():
        asked, made = folder / f"{name}.csr", folder / f"{name}.pem"
        run([*key, "-subj", f"/CN={subject}", "-keyout", folder / f"{name}.key", "-out", asked], log=log)
        by: list[str | Path] = ["-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-CAcreateserial"]
        run(["openssl", "x509", "-req", "-in", asked, "-days", "3650", "-out", made, *by], log=log)
    (folder / "complete").touch()


def chassis(lab: Lab) -> int:
    """How many chassis answer: all of them if each has done what the northbound database asks for, else none.

    The rows alone prove nothing: they outlive a lab that was switched off.
    """
    waited = ["ovn-nbctl", f"--db={nb(lab)}", "--timeout=5", "--wait=hv", "sync"]
    if run(waited, check=False).returncode:
        return 0
    return len(sbctl(lab, "--bare", "--columns=name", "list", "Chassis", check=False).split())


def save(lab: Lab) -> None:
    """Copies of the databases, which are files that only grow: a torn last record is one that did not happen."""
    for name in DATABASES:
        if f"ovn-{name}" in daemons(lab):
            run(["ovs-appctl", "-t", control_socket(lab, f"ovn-{name}"), "ovsdb-server/compact"])
            shutil.copy2(_data(lab) / f"{name}.db", lab.snapshot / f"{name}.db")


def restore(lab: Lab) -> None:
    for name in DATABASES:
        if f"ovn-{name}" in daemons(lab):
            scratch = _data(lab) / f"{name}.new"
            shutil.copy2(lab.snapshot / f"{name}.db", scratch)
            scratch.replace(_data(lab) / f"{name}.db")


def host_values(lab: Lab, number: int) -> dict[str, object]:
    """What the files of a host's chassis say."""
    key = f" external_ids:hostname=compute{number}" if lab.options.ovn_hostname_key == "present" else ""
    gateway = " external_ids:ovn-cms-options=enable-chassis-as-gw" if number == GATEWAY else ""
    folder = "/etc/ovn"
    ssl = (
        f"--ovn-controller-ssl-key={folder}/key.pem --ovn-controller-ssl-cert={folder}/cert.pem"
        f" --ovn-controller-ssl-ca-cert={folder}/ca.pem"
    )
    return {
        "system_id": system_id(lab, number),
        "hostname_key": key,
        "gateway_key": gateway,
        "ovn_remote": remote(lab),
        "tunnel": lab.tunnel_address(number),
        "probe_ms": PROBE_MS,
        "ovn_ssl": ssl if lab.options.ovn_rbac else "",
    }


def info(lab: Lab) -> dict[str, object] | None:
    """For `lab info --json`: what a test of OVN needs to know; None in a lab without."""
    if lab.options.l2 != "ovn":
        return None
    return {
        "nb": nb(lab),
        "sb": sb(lab),
        "remote": remote(lab),
        "rbac": lab.options.ovn_rbac,
        "pki": str(pki(lab)) if lab.options.ovn_rbac else None,
        "system_id": lab.options.ovn_system_id,
        "hostname_key": lab.options.ovn_hostname_key,
        "system_ids": {f"compute{n}": system_id(lab, n) for n in lab.host_numbers},
        "northd": str(control_socket(lab, NORTHD)),
        "gateway": f"compute{GATEWAY}",
        "router": "router0",
        "provider": {"network": "public", "cidr": str(lab.provider_network), "outside": lab.outside},
    }
