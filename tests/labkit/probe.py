# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packets between ports of a lab with OVN, while something is done to it: what was lost, and for how long.

The guests of a lab have no operating system, and answer nothing. So the probe has ends of its own: real ports of
neutron, on the hosts that are named, each plugged into br-int with its iface-id as os-vif plugs a guest's, but with
a network namespace behind it. OVN and neutron treat them like guests' ports.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import threading
from dataclasses import dataclass

from . import waiting

SOURCE = pathlib.Path(__file__).with_name("probe_packets.py")
SCRIPT = "/run/stackguard-probe.py"
INTERVAL = 0.005
#: Of ports that a killed run left.
PREFIX = "probe-"
PLUG = """
set -e
ip netns add {space}
ip link add {tap} type veth peer name eth0 netns {space}
ip -n {space} link set eth0 address {mac} mtu {mtu} up
ip -n {space} link set lo up
ip -n {space} address add {address}/{prefix} dev eth0
ip -n {space} route add default via {gateway}
ip netns exec {space} ethtool -K eth0 tx off >/dev/null
ethtool -K {tap} tx off >/dev/null
ip link set {tap} up
ovs-vsctl --timeout=20 add-port br-int {tap} -- set Interface {tap} external_ids:iface-id={port} \\
  external_ids:attached-mac={mac} external_ids:iface-status=active
"""


@dataclass
class End:
    """A port on a host, with a namespace behind it; ``host`` None: the machine outside the cloud."""

    name: str
    host: str | None
    address: str
    port: str | None = None
    floating: str | None = None

    @property
    def space(self):
        return f"{PREFIX}{self.name}"


class Result(dict):
    """What became of the packets of one direction: see probe_packets.py."""

    @property
    def share(self):
        return self["lost"] / max(1, self["sent"])


class Probe:
    """The ends: ``guest`` and ``neighbour`` on one host, ``far`` on another, and ``outside``.

    ``directions``: from another chassis to the guest, on its chassis, from the guest to the outside (SNAT), and from
    the outside to its floating IP.
    """

    def __init__(self, lab, ovn, host, far):
        self.lab, self.ovn, self.host, self.far = lab, ovn, host, far
        self.ends = {}

    # --- the ends

    def make(self):
        self.remove()
        network = self.lab.cloud.network
        made = {"guest": self.host, "neighbour": self.host, "far": self.far}
        for name, host in made.items():
            self.ends[name] = self._plugged(name, host)
        outside = self.ovn.facts["provider"]["outside"]
        self.ends["outside"] = End("outside", None, outside)
        public = network.find_network(self.ovn.facts["provider"]["network"], ignore_missing=False)
        guest = self.ends["guest"]
        floating = network.create_ip(floating_network_id=public.id, port_id=guest.port, description=PREFIX)
        guest.floating = floating.floating_ip_address
        for end in self.ends.values():
            if end.port:
                self._wait_active(end)
        return self

    def _plugged(self, name, host):
        network = self.lab.cloud.network
        net = network.find_network("net0", ignore_missing=False)
        subnet = network.find_subnet("sub0", ignore_missing=False)
        port = network.create_port(
            network_id=net.id,
            name=f"{PREFIX}{name}",
            device_owner="compute:probe",
            device_id=f"{PREFIX}{name}",
            binding_host_id=host,
        )
        end = End(name, host, port.fixed_ips[0]["ip_address"], port.id)
        words = {
            "space": end.space,
            "tap": f"tap{port.id[:11]}",
            "mac": port.mac_address,
            "mtu": net.mtu,
            "address": end.address,
            "prefix": subnet.cidr.partition("/")[2],
            "gateway": subnet.gateway_ip,
            "port": port.id,
        }
        self.lab.ssh(host, PLUG.format(**words))
        self.lab.ssh(host, f"cat > {SCRIPT}", stdin=SOURCE.read_text())
        return end

    def _wait_active(self, end):
        network = self.lab.cloud.network

        def active():
            return network.get_port(end.port).status == "ACTIVE"

        waiting.until(lambda: f"{end.name} ACTIVE; bound: {self.ovn.binding(end.port)}", active, 60)

    @property
    def ports(self):
        """Of the ends that are on the host."""
        return sorted(end.port for end in self.ends.values() if end.host == self.host)

    def remove(self):
        """Also what a run that was killed has left."""
        network = self.lab.cloud.network
        for address in network.ips(description=PREFIX):
            network.delete_ip(address)
        left = [port for port in network.ports() if port.name.startswith(PREFIX)]
        for port in left:
            network.delete_port(port)
        for host in (self.host, self.far):
            spaces = self.lab.ssh(host, "ip netns list").split()
            for space in [name for name in spaces if name.startswith(PREFIX)]:
                self.lab.ssh(host, f"ip netns delete {space}")
            taps = " ".join(f"tap{port.id[:11]}" for port in left)
            self.lab.ssh(host, f"for t in {taps}; do ovs-vsctl --timeout=20 --if-exists del-port br-int $t; done")
        self.ends = {}

    # --- packets

    @property
    def directions(self):
        guest, outside = self.ends["guest"], self.ends["outside"]
        return {
            "other chassis to guest": (self.ends["far"], guest.address),
            "same chassis": (self.ends["neighbour"], guest.address),
            "guest to outside": (guest, outside.address),
            "outside to floating IP": (outside, guest.floating),
        }

    def _start(self, end, *words):
        if end.host:
            command = " ".join(("exec ip netns exec", end.space, "/usr/bin/python3", SCRIPT, *words))
            return subprocess.Popen([*self.lab.ssh_argv(end.host), command], **PIPES)
        inside = ["ip", "netns", "exec", self.lab.info["control_namespace"]]
        return subprocess.Popen([*inside, "/usr/bin/python3", str(SOURCE), *words], **PIPES)

    @contextlib.contextmanager
    def running(self, names=None, interval=INTERVAL):
        """Packets in all directions (or those named), seen to come back before the body begins.

        ``results`` of what is yielded has, when the body has ended, a Result for each direction.
        """
        run = Run(self, {name: self.directions[name] for name in names or self.directions}, interval)
        run.start()
        try:
            yield run
        finally:
            run.stop()


PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


class Run:
    """The probe while it runs."""

    def __init__(self, probe, directions, interval):
        self.probe, self.directions, self.interval = probe, directions, interval
        self.results, self.answers, self.asks, self.ready = {}, [], {}, {}

    def start(self):
        try:
            for name in ("guest", "outside"):
                end = self.probe.ends[name]
                process = self.probe._start(end, "answer", end.address)
                self.answers.append(process)
                assert process.stdout.readline() == "ready\n", process.communicate(timeout=10)
            for name, (end, address) in self.directions.items():
                self.asks[name] = process = self.probe._start(end, "ask", address, str(self.interval))
                self.ready[name] = threading.Event()
                threading.Thread(target=self._until_ready, args=(name, process), daemon=True).start()
            waiting.until(self._lacking, lambda: all(event.is_set() for event in self.ready.values()), 60, 0.05)
        except BaseException:
            self._kill()
            raise

    def _until_ready(self, name, process):
        if process.stdout.readline() == "ready\n":
            self.ready[name].set()

    def _lacking(self):
        return f"packets that come back: {[name for name, event in self.ready.items() if not event.is_set()]}"

    def stop(self):
        try:
            for process in self.asks.values():
                process.stdin.close()
            for name, process in self.asks.items():
                self.results[name] = self._result(name, process)
        finally:
            self._kill()

    def _result(self, name, process):
        said = process.stdout.read()
        assert process.wait(timeout=30) == 0, f"{name}: {said}{process.stderr.read()}"
        result = Result(json.loads(said.splitlines()[-1]))
        assert result["ready"], f"{name}: {result}"
        return result

    def _kill(self):
        for process in (*self.answers, *self.asks.values()):
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.kill()
            process.wait()

    def told(self):
        return "\n".join(f"  {name}: {json.dumps(result)}" for name, result in self.results.items())


__all__ = ["End", "Probe", "Result", "Run"]
