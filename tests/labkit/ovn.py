# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The OVN of a lab made with ``--l2 ovn``: its databases, its chassis, and every change of bindings and of flows."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading

from . import waiting

#: What of a port's binding decides about traffic; its options may change with a name and nothing else.
BINDING = ("logical_port", "chassis", "requested_chassis", "additional_chassis", "up")
FLOW_MONITOR = "exec ovs-ofctl -O OpenFlow14 monitor br-int 'watch:!actions' 2>&1"


def rows(text):
    """The rows of ``--format=json``: a dictionary each, with OVSDB's own notation of sets and maps taken off."""
    table = json.loads(text)
    return [dict(zip(table["headings"], map(plain, row))) for row in table["data"]]


def plain(value):
    if isinstance(value, list) and len(value) == 2:
        kind, content = value
        if kind == "set":
            return [plain(entry) for entry in content]
        if kind == "map":
            return {plain(key): plain(entry) for key, entry in content}
        if kind == "uuid":
            return content
    return value


class Ovn:
    """Its two databases, by the administrator's way in."""

    def __init__(self, lab):
        self.lab = lab
        self.facts = lab.info["ovn"]
        assert self.facts, f"lab {lab.instance} was made without OVN: lab/lab up --l2 ovn"

    def _ctl(self, program, database, *args, timeout=20, check=True):
        command = [program, f"--db={self.facts[database]}", f"--timeout={timeout}", *args]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout + 10)
        assert not check or done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def nb(self, *args, **more):
        return self._ctl("ovn-nbctl", "nb", *args, **more)

    def sb(self, *args, **more):
        return self._ctl("ovn-sbctl", "sb", *args, **more)

    def northbound(self, table, *conditions, columns=()):
        return rows(self.nb("--format=json", *_columns(columns), "find", table, *conditions))

    def southbound(self, table, *conditions, columns=()):
        return rows(self.sb("--format=json", *_columns(columns), "find", table, *conditions))

    def sync(self, timeout=30):
        """Wait until every chassis has done what the northbound database asks for."""
        self.nb("--wait=hv", "sync", timeout=timeout)

    # --- chassis

    def name(self, host):
        """The chassis' name, which a rename of the host does not change. ``host``: the lab's own name of it."""
        return self.facts["system_ids"][host]

    def chassis(self, host):
        found = self.southbound("Chassis", f'name="{self.name(host)}"')
        return found[0] if found else None

    def hostname(self, host):
        found = self.chassis(host)
        return found["hostname"] if found else None

    def set_hostname(self, host, new):
        """What a deployment tool does on a host; returns when the southbound database has it."""
        self.lab.ssh(host, f"ovs-vsctl set Open_vSwitch . external_ids:hostname={new}")
        waiting.until(lambda: f"hostname {new}, is {self.hostname(host)}", lambda: self.hostname(host) == new, 20, 0.05)

    # --- ports

    def requesting(self, name):
        """The logical ports that ask for a chassis by this name or hostname.

        Those of a router's gateway are left out: OVN binds none by the name, and neutron's maintenance worker writes
        at times what it read some seconds before.
        """
        columns = ("name", "type")
        found = self.northbound("Logical_Switch_Port", f'options:requested-chassis="{name}"', columns=columns)
        return sorted(row["name"] for row in found if row["type"] != "router")

    def request(self, ports, name):
        """Let ports ask for a chassis by this name or hostname: one transaction, done in the southbound database."""
        option = f'options:requested-chassis="{name}"'
        self.nb("--wait=sb", *(word for port in ports for word in ("--", "set", "Logical_Switch_Port", port, option)))

    def rebind(self, old, new):
        """Change the host in neutron's database.

        Neutron writes what is there into the northbound database when a port goes down or up: within a second or two
        it takes back what `request` alone has changed of a port that was cut off.
        """
        for table in ("ml2_port_bindings", "ml2_port_binding_levels", "segmenthostmappings"):
            self.lab.sql("neutron", f"UPDATE {table} SET host = %s WHERE host = %s", new, old)

    def bindings(self):
        """Each guest's port: (name of its chassis, name of the one asked for, up). Routers' ports are on no chassis."""
        names = {row["_uuid"]: row["name"] for row in self.southbound("Chassis")}
        found = self.southbound("Port_Binding")
        return {
            row["logical_port"]: (named(names, row["chassis"]), named(names, row["requested_chassis"]), row["up"])
            for row in found
            if row["type"] == "" and "requested-chassis" in row["options"]
        }

    def binding(self, port):
        return self.bindings().get(port)

    @contextlib.contextmanager
    def watched(self, hosts=None):
        """Every change of bindings, and of flows on these hosts (all), from when all monitors have answered."""
        changes = Changes(self, hosts or self.lab.hosts)
        changes.start()
        try:
            yield changes
        finally:
            changes.stop()


def _columns(names):
    return [f"--columns={','.join(names)}"] if names else []


def named(names, chassis):
    """The name of the chassis that an optional reference points at, None where it points at none."""
    return names.get(chassis) if isinstance(chassis, str) else None


class Changes:
    """Changes of Port_Binding (``bindings``) and of OpenFlow (``flows``, by host), as they came.

    Each monitor first reports what there is: until it has, it is not known to see anything.
    """

    def __init__(self, ovn, hosts):
        self.ovn = ovn
        self.bindings, self.flows = [], {host: [] for host in hosts}
        self._processes, self._initial = {}, set()

    def start(self):
        sb = self.ovn.facts["sb"]
        monitor = ["ovsdb-client", "--format=json", "monitor", sb, "OVN_Southbound", "Port_Binding", ",".join(BINDING)]
        self._read("Port_Binding", monitor, self._binding)
        for host in self.flows:
            self._read(host, [*self.ovn.lab.ssh_argv(host), FLOW_MONITOR], self._flow)
        everything = set(self._processes)
        waiting.until(
            lambda: f"monitors of {everything - self._initial}", lambda: everything == self._initial, 60, 0.05
        )

    def stop(self):
        """End the monitors; fail if one had ended by itself: it would have seen nothing since."""
        ended = [name for name, process in self._processes.items() if process.poll() is not None]
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait()
        assert not ended, f"monitors that ended by themselves: {ended}"

    @property
    def number_of_flows(self):
        return sum(map(len, self.flows.values()))

    def _read(self, name, command, line):
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._processes[name] = process

        def read():
            for text in process.stdout:
                line(name, text)

        threading.Thread(target=read, daemon=True).start()

    def _binding(self, name, text):
        for row in rows(text) if text.startswith("{") else []:
            if row["action"] == "initial":
                self._initial.add(name)
            elif row["action"] != "old":
                self.bindings.append({key: row[key] for key in ("action", *BINDING)})

    def _flow(self, name, text):
        if "event=INITIAL" in text:
            self._initial.add(name)
        elif "event=" in text:
            self.flows[name].append(text.strip())

    def told(self):
        flows = "".join(f"\n  {host}: {len(lines)} of flows {lines[:20]}" for host, lines in self.flows.items())
        return f"{len(self.bindings)} changes of Port_Binding {self.bindings}{flows}"
