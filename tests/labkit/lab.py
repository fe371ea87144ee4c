# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lab, and the ways into it: its own command, ssh to its hosts, SQL as root, the API."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pathlib
import shlex
import subprocess

import openstack
import openstack.config
import pymysql
import pymysql.cursors

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATABASES = {
    "api": "nova_api",
    "cell1": "nova_cell1",
    "placement": "placement",
    "neutron": "neutron",
}


class LabFailed(AssertionError):
    """The lab cannot be had. A test that needs it fails with this; it never skips."""


class Lab:
    """One lab of this machine, by its instance number."""

    def __init__(self, instance=0, l2="tap"):
        self.instance = instance
        self.l2 = l2
        self._connections = {}

    # --- its own command

    def command(self, *args, check=True, timeout=600):
        env = {**os.environ, "STACKGUARD_LAB_INSTANCE": str(self.instance)}
        done = subprocess.run(
            [str(ROOT / "lab" / "lab"), *args],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        if check and done.returncode:
            raise LabFailed(
                f"lab {self.instance}: {shlex.join(args)}: exit {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done

    def up(self):
        l2 = ["--l2", self.l2] if self.l2 != "tap" else []
        self.command("up", "--fast-stop", *l2, timeout=900)
        self.forget()

    def reset(self):
        self.forget()
        self.command("reset")

    def down(self):
        self.forget()
        self.command("down")

    def forget(self):
        """Drop connections and what was read: after a reset, or when a service was restarted."""
        for connection in self._connections.values():
            with contextlib.suppress(Exception):
                connection.close()
        self._connections = {}
        for name in ("info", "cloud"):
            self.__dict__.pop(name, None)

    @functools.cached_property
    def info(self):
        return json.loads(self.command("info", "--json").stdout)

    def is_on(self, host):
        return self.power(host) == "on"

    def power(self, host):
        """``on``, ``off``, or ``cut``: on, with its network links down."""
        return json.loads(self.command("status", "--json", check=False).stdout)["hosts"][host]

    # --- its hosts

    def ssh_argv(self, host):
        options = (
            "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=10"
            f" -o ControlMaster=auto -o ControlPersist=30s -o ControlPath=/tmp/sgl{self.instance}-t-%C"
            " -o ServerAliveInterval=5 -o ServerAliveCountMax=3"
        )
        address = self.info["hosts"][host]["address"]
        return ["ssh", "-i", self.info["ssh_key"], *options.split(), f"root@{address}"]

    def ssh(self, host, command, check=True, stdin=None, timeout=120):
        done = subprocess.run(
            [*self.ssh_argv(host), command], input=stdin or "", capture_output=True, text=True, timeout=timeout
        )
        if check and done.returncode:
            raise AssertionError(f"{host}: {command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def python(self, host, script):
        """Run a script on a host and return what it printed, read as JSON."""
        return json.loads(self.ssh(host, "/usr/bin/python3 -", stdin=script))

    @property
    def hosts(self):
        return list(self.info["hosts"])

    # --- its databases

    def database(self, name):
        connection = self._connections.get(name)
        if connection is not None:
            try:
                connection.ping(reconnect=False)
            except pymysql.Error:
                connection = None
        if connection is None:
            connection = pymysql.connect(
                host=self.info["mysql_host"],
                port=self.info["mysql_port"],
                user="root",
                password=self.info["password"],
                database=DATABASES.get(name, f"nova_{name}" if name.startswith("cell") else name),
                autocommit=True,
                cursorclass=pymysql.cursors.DictCursor,
            )
            self._connections[name] = connection
        return connection

    def sql(self, name, statement, *params):
        """Run one statement as root; return the rows, as dictionaries."""
        with self.database(name).cursor() as cursor:
            cursor.execute(statement, params or None)
            return list(cursor.fetchall())

    def value(self, name, statement, *params):
        rows = self.sql(name, statement, *params)
        return next(iter(rows[0].values())) if rows else None

    # --- its APIs

    @functools.cached_property
    def cloud(self):
        config = openstack.config.OpenStackConfig(config_files=[self.info["clouds_yaml"]], load_envvars=False)
        return openstack.connection.Connection(config=config.get_one(cloud=self.info["cloud"]))

    def compute(self, method, path, body=None, microversion="2.90"):
        """One call of the compute API at an explicit microversion; returns the body."""
        answer = self.cloud.compute.request(path, method, json=body, microversion=microversion)
        openstack.exceptions.raise_from_response(answer)
        return answer.json() if answer.content else {}

    def placement(self, method, path, body=None, microversion="1.28"):
        """The same of placement."""
        answer = self.cloud.placement.request(path, method, json=body, microversion=microversion)
        openstack.exceptions.raise_from_response(answer)
        return answer.json() if answer.content else {}

    def server(self, identity):
        return self.compute("GET", f"/servers/{identity}")["server"]

    def action(self, identity, name, argument=None, microversion="2.90"):
        return self.compute("POST", f"/servers/{identity}/action", {name: argument}, microversion)

    def service(self, host):
        found = self.compute("GET", f"/os-services?binary=nova-compute&host={host}")["services"]
        return found[0] if found else None


@functools.cache
def current(instance=None, l2="tap"):
    number = int(os.environ.get("STACKGUARD_LAB_INSTANCE") or 0) if instance is None else instance
    return Lab(number, l2)
