# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control plane: MariaDB, RabbitMQ, memcached, keystone, placement, glance, neutron and Nova's controllers."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterable
from pathlib import Path

from . import ceph, cinder, ovn, procs
from .procs import Daemon, in_control
from .settings import SOURCE, Lab, LabError
from .shell import each, phase, run, together

DATABASES = {
    "cell1": "nova_cell1",
    "cell2": "nova_cell2",
    "cell0": "nova_cell0",
    "api": "nova_api",
    "placement": "placement",
    "neutron": "neutron",
    "glance": "glance",
    "keystone": "keystone",
    "cinder": "cinder",
}
PORTS = {
    "keystone": 5000,
    "placement": 8778,
    "glance": 9292,
    "neutron": 9696,
    "nova-api": 8774,
    "cinder-api": 8776,
}
NOVA = ("nova-conductor", "nova-scheduler", "nova-api")
# Stopped group by group, so that nobody loses a service it still needs.
STOP_ORDER: tuple[tuple[str, ...], ...] = (
    (
        *NOVA,
        *cinder.SERVICES,
        "nova-conductor-cell2",
        "neutron-rpc",
        "neutron-ovn",
        "neutron",
        "ovn-northd",
        "glance",
        "placement",
        "keystone",
        "memcached",
    ),
    ("ceph-mgr", "ceph-osd", "ceph2-mgr", "ceph2-osd", "rabbitmq", "mariadb", "ovn-nb", "ovn-sb"),
    ("ceph-mon", "ceph2-mon"),
)


def daemons(lab: Lab) -> dict[str, Daemon]:
    """Every service of the control plane, by name."""
    state, etc = lab.state, lab.etc
    # Nova makes bare taps in a way libvirt 9 accepts since 34, and refuses Linux bridges since then
    lean = ovn.LEAN_PYTHON if lab.options.l2 == "ovn" else {}
    vif = {"STACKGUARD_LAB_VIF_TYPE": "tap" if lab.nova_major >= 34 else "bridge"}
    neutron: list[str | Path] = [
        "--config-file",
        etc / "neutron" / "neutron.conf",
        "--config-file",
        etc / "neutron" / "ml2_conf.ini",
    ]
    listed = [
        Daemon(
            lab,
            "mariadb",
            [
                "mariadbd",
                "--no-defaults",
                f"--datadir={state}/mysql",
                # A server that starts deletes what it takes for its own leftovers there: each lab has its own.
                f"--tmpdir={state}",
                "--user=root",
                f"--socket={lab.run}/mysql.sock",
                f"--bind-address={lab.controller}",
                "--port=3306",
                f"--pid-file={lab.run}/mariadbd.pid",
                f"--init-file={etc}/mysql-init.sql",
                "--max-connections=500",
                # each commit reaches the kernel: a killed server loses nothing, and neither does a snapshot
                "--innodb-flush-log-at-trx-commit=2",
                "--sync-binlog=0",
                "--innodb-buffer-pool-size=64M",
                "--innodb-log-file-size=48M",
                "--innodb-flush-method=nosync",
                "--skip-name-resolve",
                "--character-set-server=utf8mb3",
            ],
            env={"MALLOC_ARENA_MAX": "1"},
        ),
        Daemon(lab, "memcached", ["memcached", "-u", "root", "-l", lab.controller, "-m", "64"]),
        Daemon(
            lab,
            "rabbitmq",
            ["/usr/lib/rabbitmq/bin/rabbitmq-server"],
            env={
                "HOME": f"{state}/rabbit",
                "RABBITMQ_NODENAME": "rabbit@localhost",
                "RABBITMQ_MNESIA_BASE": f"{state}/rabbit/mnesia",
                "RABBITMQ_LOG_BASE": str(lab.log),
                "RABBITMQ_CONFIG_FILE": f"{etc}/rabbitmq.conf",
                "RABBITMQ_ENABLED_PLUGINS_FILE": f"{state}/rabbit/plugins",
                "RABBITMQ_PID_FILE": f"{lab.run}/rabbitmq.pid",
                "ERL_EPMD_ADDRESS": "127.0.0.1",
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none",
            },
        ),
        *ceph.daemons(lab).values(),
        *ovn.daemons(lab).values(),
        _wsgi(
            lab,
            "keystone",
            "keystone.wsgi.api:application",
            lab.control_venv,
            {"OS_KEYSTONE_CONFIG_DIR": f"{etc}/keystone", "OS_KEYSTONE_CONFIG_FILES": "keystone.conf"},
        ),
        _wsgi(
            lab,
            "placement",
            "placement.wsgi.api:application",
            lab.control_venv,
            {"OS_PLACEMENT_CONFIG_DIR": f"{etc}/placement"},
        ),
        _wsgi(
            lab, "glance", "glance.wsgi.api:application", lab.control_venv, {"OS_GLANCE_CONFIG_DIR": f"{etc}/glance"}
        ),
        _wsgi(
            lab,
            "neutron",
            "neutron.wsgi.api:application",
            lab.control_venv,
            {
                "OS_NEUTRON_CONFIG_DIR": f"{etc}/neutron",
                "OS_NEUTRON_CONFIG_FILES": "neutron.conf;ml2_conf.ini",
                # It cannot count them under gunicorn, and then handles no event of OVN: no port becomes ACTIVE.
                "ASGI_WORKERS": "1",
                **vif,
                **lean,
            },
        ),
        _neutron_beside(lab, neutron, {**vif, **lean}),
        *(
            Daemon(lab, name, [lab.nova_venv / "bin" / name, "--config-file", lab.nova_conf])
            for name in ("nova-conductor", "nova-scheduler")
        ),
        *(
            Daemon(
                lab,
                f"nova-conductor-{cell}",
                [lab.nova_venv / "bin" / "nova-conductor", "--config-file", lab.cell_conf(cell)],
            )
            for cell in lab.cells[1:]
        ),
        _nova_api(lab),
        *_cinder_api(lab),
        *cinder.daemons(lab),
    ]
    return {daemon.name: daemon for daemon in listed}


def neutron_beside(lab: Lab) -> str:
    """The name of neutron's second service: with OVN there are no agents that speak to it by RPC."""
    return "neutron-ovn" if lab.options.l2 == "ovn" else "neutron-rpc"


def _neutron_beside(lab: Lab, files: list[str | Path], env: dict[str, str]) -> Daemon:
    programs = lab.control_venv / "bin"
    program = (
        [programs / "python", ovn.maintenance(lab)] if lab.options.l2 == "ovn" else [programs / "neutron-rpc-server"]
    )
    return Daemon(lab, neutron_beside(lab), [*program, *files], env=env)


def _wsgi(lab: Lab, name: str, application: str, venv: Path, env: dict[str, str]) -> Daemon:
    return Daemon(
        lab,
        name,
        [
            venv / "bin" / "gunicorn",
            "-c",
            lab.etc / "gunicorn.conf.py",
            "-b",
            f"{lab.controller}:{PORTS[name]}",
            application,
        ],
        env=env,
    )


def _nova_api(lab: Lab) -> Daemon:
    if lab.nova_major >= 32:
        # Nova patches eventlet into the worker, whose threads then hang: it must not.
        return _wsgi(
            lab,
            "nova-api",
            "nova.wsgi.osapi_compute:application",
            lab.nova_venv,
            {"OS_NOVA_CONFIG_DIR": f"{lab.etc}/nova", "OS_NOVA_DISABLE_EVENTLET_PATCHING": "1"},
        )
    # Before that Nova brings an HTTP server of its own.
    return Daemon(lab, "nova-api", [lab.nova_venv / "bin" / "nova-api-os-compute", "--config-file", lab.nova_conf])


def _cinder_api(lab: Lab) -> list[Daemon]:
    if not lab.has_cinder:
        return []
    return [_wsgi(lab, "cinder-api", cinder.APPLICATION, lab.cinder_venv, cinder.api_env(lab))]


def mysql(lab: Lab, *args: str, database: str = "", stdin: str | None = None, check: bool = True) -> str:
    command = ["mariadb", "--no-defaults", "-uroot", f"-h{lab.controller}", *args] + ([database] if database else [])
    return run(command, env={"MYSQL_PWD": lab.options.password}, stdin=stdin, check=check).stdout


def backends_up(lab: Lab) -> None:
    """MariaDB, RabbitMQ, memcached and OVN's databases."""
    services = daemons(lab)
    _make_mysql(lab)
    services["mariadb"].start()
    services["memcached"].start()
    if not services["rabbitmq"].pid():
        # Queues outlive nothing here: with a fresh store the broker starts surely, also after a kill.
        shutil.rmtree(lab.state / "rabbit" / "mnesia", ignore_errors=True)
        services["rabbitmq"].start()
    together(
        lambda: services["mariadb"].wait_port(3306),
        lambda: services["rabbitmq"].wait_port(5672),
        lambda: services["memcached"].wait_port(11211),
        lambda: ovn.up(lab),
    )


def _make_mysql(lab: Lab) -> None:
    data = lab.state / "mysql"
    if data.exists():
        return
    scratch = lab.state / "mysql.new"
    shutil.rmtree(scratch, ignore_errors=True)
    run(
        [
            "mariadb-install-db",
            "--no-defaults",
            f"--datadir={scratch}",
            "--user=root",
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ],
        log=lab.log / "mysql-install.log",
    )
    scratch.rename(data)


def _fresh(lab: Lab, *names: str) -> None:
    """Empty databases: a schema whose making was interrupted cannot be continued."""
    mysql(
        lab, stdin="".join(f"DROP DATABASE IF EXISTS {n}; CREATE DATABASE {n} CHARACTER SET utf8mb3;\n" for n in names)
    )


def _databases_up(lab: Lab) -> None:
    backends_up(lab)
    schemas(lab)


def schemas(lab: Lab) -> None:
    together(
        *(
            job
            for step, job in (
                ("schema-keystone", lambda: _schema_keystone(lab)),
                ("schema-others", lambda: _schema_others(lab)),
                ("schema-nova", lambda: _schema_nova(lab)),
                *((("schema-cinder", lambda: _schema_cinder(lab)),) if lab.has_cinder else ()),
            )
            if not lab.done(step)
        )
    )


def _schema_keystone(lab: Lab) -> None:
    log = lab.log / "schema-keystone.log"
    manage: list[str | Path] = [
        lab.control_venv / "bin" / "keystone-manage",
        "--config-file",
        lab.etc / "keystone" / "keystone.conf",
    ]
    _fresh(lab, "keystone")
    in_control(lab, *manage, "db_sync", log=log)
    owner = ["--keystone-user", "root", "--keystone-group", "root"]
    in_control(lab, *manage, "fernet_setup", *owner, log=log)
    in_control(lab, *manage, "credential_setup", *owner, log=log)
    urls = [part for kind in ("admin", "internal", "public") for part in (f"--bootstrap-{kind}-url", lab.auth_url)]
    in_control(
        lab,
        *manage,
        "bootstrap",
        *urls,
        "--bootstrap-region-id",
        "RegionOne",
        log=log,
        env={"OS_BOOTSTRAP_PASSWORD": lab.options.password},
    )
    lab.mark("schema-keystone")


def _schema_others(lab: Lab) -> None:
    log = lab.log / "schema-others.log"
    programs = lab.control_venv / "bin"
    _fresh(lab, "placement", "glance", "neutron")
    in_control(
        lab,
        programs / "placement-manage",
        "--config-file",
        lab.etc / "placement" / "placement.conf",
        "db",
        "sync",
        log=log,
        env={"OS_PLACEMENT_CONFIG_DIR": f"{lab.etc}/placement"},
    )
    in_control(
        lab, programs / "glance-manage", "--config-file", lab.etc / "glance" / "glance-api.conf", "db_sync", log=log
    )
    in_control(
        lab,
        programs / "neutron-db-manage",
        "--config-file",
        lab.etc / "neutron" / "neutron.conf",
        "--config-file",
        lab.etc / "neutron" / "ml2_conf.ini",
        "upgrade",
        "heads",
        log=log,
    )
    lab.mark("schema-others")


def _schema_cinder(lab: Lab) -> None:
    _fresh(lab, "cinder")
    cinder.schema(lab)
    lab.mark("schema-cinder")


def nova_manage(lab: Lab, *args: str, conf: Path | None = None, log: Path | None = None, check: bool = True) -> str:
    program = lab.nova_venv / "bin" / "nova-manage"
    return in_control(lab, program, "--config-file", conf or lab.nova_conf, *args, log=log, check=check).stdout


def _schema_nova(lab: Lab) -> None:
    log = lab.log / "schema-nova.log"
    _fresh(lab, "nova_api", "nova_cell0", *(f"nova_{cell}" for cell in lab.cells))
    nova_manage(lab, "api_db", "sync", log=log)
    nova_manage(lab, "cell_v2", "map_cell0", "--database_connection", lab.db_url("nova_cell0"), log=log)
    for cell in lab.cells:
        where = ("--database_connection", lab.db_url(f"nova_{cell}"), "--transport-url", lab.cell_rabbit_url(cell))
        nova_manage(lab, "cell_v2", "create_cell", "--name", cell, *where, log=log)
    nova_manage(lab, "db", "sync", log=log)
    for cell in lab.cells[1:]:
        nova_manage(lab, "db", "sync", "--local_cell", conf=lab.cell_conf(cell), log=log)
    lab.mark("schema-nova")


def keystone_up(lab: Lab) -> None:
    keystone = daemons(lab)["keystone"]
    keystone.start()
    keystone.wait_http(PORTS["keystone"])
    if not lab.done("catalogue"):
        in_control(
            lab,
            lab.control_venv / "bin" / "python",
            SOURCE / "scripts" / "catalogue.py",
            *(["--cinder"] if lab.has_cinder else []),
            lab.controller,
            env={**_os_env(lab), "SERVICE_PASSWORD": lab.options.password},
            log=lab.log / "catalogue.log",
        )
        lab.mark("catalogue")


def _os_env(lab: Lab) -> dict[str, str]:
    return {k: v for k, v in lab.client_env().items() if k.startswith("OS_")}


def start(lab: Lab, names: Iterable[str]) -> None:
    services = daemons(lab)
    for name in names:
        services[name].start()


def wait_apis(lab: Lab) -> None:
    services = daemons(lab)
    each(lambda name: services[name].wait_http(PORTS[name]), [name for name in PORTS if name in services])


def kill_strangers(lab: Lab) -> None:
    """Ends one-shot commands of an interrupted run: anything in the namespace that is no recorded service."""
    mariadb = daemons(lab)["mariadb"].pid()
    if mariadb:
        os.killpg(mariadb, signal.SIGCONT)  # a snapshot that was killed leaves it standing still
    groups = {pid for pid in (daemon.pid() for daemon in daemons(lab).values()) if pid}
    for pid in procs.pids_in(lab.control_ns):
        try:
            # The broker and its children change their process group; they are known by their session.
            if os.getpgid(pid) in groups or os.getsid(pid) in groups or _is_helper(pid):
                continue
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _is_helper(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() in ("epmd", "erl_child_setup", "inet_gethost")
    except OSError:
        return True


def down(lab: Lab) -> None:
    services = daemons(lab)
    for group in STOP_ORDER:
        present = [name for name in group if name in services]
        each(lambda name: services[name].stop(grace=15 if name == "mariadb" else 4), present)
    procs.kill_all(lab.control_ns, grace=2)


def verify(lab: Lab) -> None:
    """A last look: everything that was started still runs."""
    dead = [name for name, daemon in daemons(lab).items() if not daemon.pid()]
    if dead:
        raise LabError(f"ended by itself: {', '.join(dead)}", log=lab.log / f"{dead[0]}.log")


def up(lab: Lab) -> None:
    kill_strangers(lab)
    with phase("MariaDB, RabbitMQ, memcached, Ceph, schemas"):
        together(lambda: _databases_up(lab), lambda: ceph.up(lab))
    with phase("keystone"):
        keystone_up(lab)
    beside, volumes = neutron_beside(lab), cinder.SERVICES if lab.has_cinder else ()
    conductors = ("nova-conductor", *(f"nova-conductor-{cell}" for cell in lab.cells[1:]))
    start(lab, (*conductors, "placement", "neutron", "nova-scheduler", "glance", beside, "nova-api", *volumes))
