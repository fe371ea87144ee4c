# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Private OVN: two real ovsdb-servers and a real ovn-northd, and what an ovn-controller does with ports.

The programs only are needed (Debian: ovn-central, openvswitch-switch). A chassis here has no Open vSwitch: it claims
and releases ports as controller/lport.c does (lport_can_bind_on_this_chassis), which is all that a rename depends on.
What packets do is for the lab.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import uuid

from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn import southbound
from ansible_collections.stackguard.nova.plugins.module_utils.systems.ovn.database import OvnAccess, OvnDatabase
from ansible_collections.stackguard.nova.tests.integration_db.servers import ServerError, program

SCHEMAS = pathlib.Path("/usr/share/ovn")


class OvnServers:
    """Two database servers on unix sockets, and ovn-northd."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="stackguard-ovn-"))
        self._running = {}
        self.access = OvnAccess(f"unix:{self.directory}/nb.sock", f"unix:{self.directory}/sb.sock", timeout=10)

    @property
    def options(self):
        """What the modules are given."""
        return {"ovn_nb_connection": self.access.northbound, "ovn_sb_connection": self.access.southbound}

    def start(self):
        """Start all three, and wait until northd works."""
        if not (SCHEMAS / "ovn-nb.ovsschema").exists():
            raise ServerError("OVN is not installed (apt-get install ovn-central ovn-common openvswitch-switch)")
        for name in ("nb", "sb"):
            file = self.directory / f"{name}.db"
            schema = SCHEMAS / f"ovn-{name}.ovsschema"
            subprocess.run([program("ovsdb-tool"), "create", file, schema], check=True, capture_output=True)
            self._run(
                name,
                program("ovsdb-server", "/usr/sbin/ovsdb-server"),
                f"--remote=punix:{self.directory}/{name}.sock",
                f"--unixctl={self.directory}/{name}.ctl",
                str(file),
            )
        self._run(
            "northd",
            program("ovn-northd"),
            f"--ovnnb-db=unix:{self.directory}/nb.sock",
            f"--ovnsb-db=unix:{self.directory}/sb.sock",
            f"--unixctl={self.directory}/northd.ctl",
        )
        self.nb("--wait=sb", "--timeout=20", "sync")

    def _run(self, name, *command):
        log = open(self.directory / f"{name}.log", "wb")  # noqa: SIM115 (the process keeps it)
        # Should the tests be killed, the servers go with them.
        full = [program("setpriv"), "--pdeathsig", "KILL", *command]
        self._running[name] = subprocess.Popen(full, stdout=log, stderr=log, cwd=self.directory)
        end = time.monotonic() + 20
        ctl = self.directory / f"{name}.ctl"
        while not ctl.exists():
            if time.monotonic() > end or self._running[name].poll() is not None:
                raise ServerError(f"{name} does not start:\n{(self.directory / f'{name}.log').read_text()[-2000:]}")
            time.sleep(0.02)

    def stop(self):
        """End all of it."""
        for process in self._running.values():
            process.kill()
            process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def freeze(self, name):
        """Let one of them answer nothing, and keep its connections."""
        self._running[name].send_signal(signal.SIGSTOP)

    def thaw(self, name):
        """Let it go on."""
        self._running[name].send_signal(signal.SIGCONT)

    def northd(self, command):
        """Tell northd to pause or to resume."""
        ctl = self.directory / "northd.ctl"
        subprocess.run([program("ovs-appctl"), "-t", ctl, command], check=True, capture_output=True)

    def nb(self, *arguments):
        """Run ovn-nbctl."""
        return self._ctl("ovn-nbctl", "nb", *arguments)

    def sb(self, *arguments):
        """Run ovn-sbctl."""
        return self._ctl("ovn-sbctl", "sb", *arguments)

    def _ctl(self, tool, name, *arguments):
        command = [program(tool), f"--db=unix:{self.directory}/{name}.sock", "--timeout=20", *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise ServerError(f"{' '.join(map(str, arguments))[:200]}: {done.stderr}")
        return done.stdout.strip()

    # --- a cloud

    def chassis(self, hostname, number, name=None):
        """Register a chassis; return its name, which is a uuid where none is given."""
        name = name or str(uuid.uuid5(uuid.NAMESPACE_URL, f"chassis:{number}"))
        self.sb("chassis-add", name, "geneve", f"192.0.2.{number}")
        self.sb("set", "Chassis", name, f"hostname={hostname}")
        self.sb("create", "Chassis_Private", f"name={name}")
        return name

    def forget_chassis(self, name):
        """What a clean stop of ovn-controller does: the rows of the chassis go, and its ports have none."""
        self.sb("chassis-del", name)

    def label(self, port, host):
        """What neutron writes when a port goes up."""
        self.nb("set", "Logical_Switch_Port", port, f"external_ids:neutron\\:host_id={host}")

    def ports(self, host, ports, switch="ls0"):
        """Make ports as neutron does."""
        arguments = ["--may-exist", "ls-add", switch]
        for port in ports:
            arguments += ["--", "lsp-add", switch, port, "--", "set", "Logical_Switch_Port", port]
            arguments += [f"options:requested-chassis={host}", f"external_ids:neutron\\:host_id={host}"]
        self.nb("--wait=sb", *arguments)

    def update(self, port, host):
        """What neutron writes whenever the owner of a port changes it."""
        self.nb("set", "Logical_Switch_Port", port, f"options:requested-chassis={host}")

    def requested(self):
        """What each port asks for."""
        table = json.loads(self.nb("--format=json", "--columns=name,options", "list", "Logical_Switch_Port"))
        return {name: dict(options[1]).get("requested-chassis") for name, options in table["data"]}


class Controller:
    """What the ovn-controller of one chassis does with ports that are plugged there. Runs until it is closed.

    ``hostname`` is what Open vSwitch's external_ids say: set it, and the chassis follows.
    """

    def __init__(self, servers, name, hostname, plugged):
        self.name, self.hostname, self.plugged = name, hostname, set(plugged)
        #: Every change of a binding: (port, claimed or released).
        self.events = []
        tables = {**southbound._TABLES, "SB_Global": ("nb_cfg",)}
        self._database = OvnDatabase(servers.access, southbound.SCHEMA, tables)
        self._database.open()
        self._ended, self._changed = threading.Event(), threading.Event()
        self._database.listen(lambda _table, _row: self._changed.set())
        self._said = None
        self.paused = threading.Event()
        self.may_write_hostname = True
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def close(self):
        """End it, without releasing anything."""
        self._ended.set()
        self._thread.join(5)
        self._database.close()

    def _work(self):
        self._changed.set()
        while not self._ended.is_set():
            # As ovn-controller does: at once when something has changed, its own hostname too.
            woken = self._changed.wait(0.01)
            if self.paused.is_set() or not (woken or self._said != self.hostname):
                continue
            self._changed.clear()
            said = self.hostname
            try:
                self._once()
                self._said = said
            except Exception:  # noqa: BLE001 (ovn-controller tries again, whatever it is)
                self._changed.set()

    def _once(self):
        changed = []

        def what(idl, _txn):
            del changed[:]
            (mine,) = [row for row in idl.tables["Chassis"].rows.values() if row.name == self.name]
            if mine.hostname != self.hostname:
                if not self.may_write_hostname:
                    raise PermissionError("RBAC: all of the transaction fails")
                mine.hostname = self.hostname
            for row in idl.tables["Chassis_Private"].rows.values():
                (number,) = [entry.nb_cfg for entry in idl.tables["SB_Global"].rows.values()]
                if row.name == self.name and row.nb_cfg != number:
                    row.nb_cfg = number
            for row in list(idl.tables["Port_Binding"].rows.values()):
                if row.logical_port not in self.plugged:
                    continue
                here = bool(row.chassis) and row.chassis[0] == mine
                may = self._may(row, mine)
                if may and not (here and row.up == [True]):
                    row.chassis, row.up = [mine], [True]
                    changed.append((row.logical_port, "claimed"))
                elif not may and here:
                    row.chassis, row.up = [], [False]
                    changed.append((row.logical_port, "released"))

        self._database.change(what)
        self.events += changed

    def _may(self, row, mine):
        """lport_can_bind_on_this_chassis, of OVN 23.03."""
        option = row.options.get("requested-chassis", "")
        if mine in row.requested_chassis or mine in row.requested_additional_chassis or not option:
            return True
        return any(word in (mine.name, mine.hostname) for word in option.split(","))
