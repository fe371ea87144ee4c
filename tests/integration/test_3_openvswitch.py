# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rename of a host with a real Open vSwitch agent: the guests' ports keep their tag, and none is cut off.

A lab of its own (one instance number above the other's), made with ``--l2 ovs`` when these tests begin, and stopped
when they end.
"""

from __future__ import annotations

import re
import subprocess

import pytest
from labkit import guests as guestkit
from labkit import state, waiting
from labkit.fixtures import documented_grants, prepared
from labkit.guests import NEW
from labkit.lab import Lab, current
from labkit.playbook import Playbooks

OLD = "compute1"
#: Prints a line at each look that differs from the last one: every tap with its tag, its flows, and whether it is cut.
WATCH = r"""
import hashlib, re, subprocess, time
def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
def table(what, column):
    rows = said("ovs-vsctl", "--format=csv", "--no-headings", "--columns=name," + column, "list", what)
    return dict(line.split(",", 1) for line in rows.splitlines())
NOISE = r"(cookie|duration|n_packets|n_bytes|idle_age|hard_age)=[^,]*, ?"
last, looks = None, 0
while True:
    flows = re.sub(NOISE, "", said("ovs-ofctl", "dump-flows", "br-int"))
    numbers, now = table("interface", "ofport"), []
    for port, tag in sorted(table("port", "tag").items()):
        if not port.strip('"').startswith("tap"):
            continue
        mine = r'in_port=("?%s"?|%s)[, ]' % (port.strip('"'), numbers.get(port))
        own = sorted(line for line in flows.splitlines() if re.search(mine, line))
        digest = hashlib.sha256("|".join(own).encode()).hexdigest()[:8]
        cut = sum("actions=drop" in line for line in own)
        now.append("%s tag=%s flows=%d sum=%s cut=%d" % (port, tag, len(own), digest, cut))
    if now != last:
        print("%.1f %s" % (time.time(), " ".join(now)), flush=True)
        last = now
    looks += 1
    with open("/run/stackguard-test-looks", "w") as stream:
        stream.write(str(looks))
    time.sleep(0.2)
"""


@pytest.fixture(scope="module")
def ovs():
    """A lab with Open vSwitch agents."""
    made = prepared(Lab((current().instance + 1) % 10, "ovs"))
    yield made
    made.down()


@pytest.fixture(scope="module")
def servers(ovs):
    made = guestkit.create(ovs, "wired", "5", "--on", OLD)
    assert {row["status"] for row in made} == {"ACTIVE"}
    return made


@pytest.fixture(scope="module")
def books(ovs):
    return Playbooks(ovs, {"cloud": "lab", **guestkit.grant(ovs, "sg_exact", documented_grants())})


class Watcher:
    """Looks at the taps of a host for as long as the block lasts."""

    def __init__(self, lab):
        self.lab = lab

    def __enter__(self):
        self.process = subprocess.Popen(
            [*self.lab.ssh_argv(OLD), "python3 -"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.process.stdin.write(WATCH)
        self.process.stdin.close()
        self.first = self.process.stdout.readline().rstrip("\n")
        return self

    def __exit__(self, *_error):
        self.looks = int(self.lab.ssh(OLD, "cat /run/stackguard-test-looks"))
        self.process.terminate()
        self.changes = self.process.stdout.read().splitlines()
        self.process.wait()


def ports(lab, servers):
    wanted = {server["id"] for server in servers}
    found = lab.cloud.network.ports(fields=["id", "device_id", "status", "binding:host_id", "binding:vif_type"])
    return {p.id: (p.status, p.binding_host_id, p.binding_vif_type) for p in found if p.device_id in wanted}


def assert_never_cut(watcher):
    """No tap lost its tag or was cut off at any look, and all flows are at the end what they were.

    Flows against spoofing may be away for a moment: the agent lays them anew whenever it looks at a port, at each of
    its starts among other times (neutron, ovs_neutron_agent.py, setup_arp_spoofing_protection).
    """
    looks = [watcher.first, *watcher.changes]
    told = "\n".join(looks)
    steady = [re.sub(r"^\S+ |flows=\S+ sum=\S+ ", "", look).strip() for look in looks]
    assert set(steady) == {steady[0]}, told
    assert looks[-1].split(" ", 1)[1] == looks[0].split(" ", 1)[1], told
    print(f"{len(watcher.changes)} looks at which flows had changed")


def test_without_the_neutron_database_the_interruption_is_told_and_refused(ovs, servers, books):
    before = state.everything(ovs)
    result = books.rename(variables={"neutron_db_url": None}).failed()
    assert re.search(r"SG305|SG311", result.output), result.told()
    state.assert_same(before, state.everything(ovs), "a refused run changed something")


@pytest.mark.parametrize(
    ("old", "new"),
    [pytest.param(OLD, NEW, id="there"), pytest.param(NEW, OLD, id="and_back", marks=pytest.mark.matrix)],
)
def test_no_guest_is_cut_off_for_a_moment_while_a_host_is_renamed(ovs, servers, books, old, new):
    before, identity = state.guests(ovs), state.identity(ovs, old)
    with Watcher(ovs) as watcher:
        assert watcher.first.count("tag=1") == 5, watcher.first
        assert watcher.first.count("cut=0") == 5, watcher.first
        result = books.rename(old, new).ok()
    print(f"\nrename with Open vSwitch: {result.seconds:.1f} s, {watcher.looks} looks; {watcher.first}")
    # It has looked all the while: the steps are sixteen, and each takes longer than a look.
    assert watcher.looks > 40, watcher.looks
    assert_never_cut(watcher)
    after = state.identity(ovs, new)
    assert [row["agent_type"] for row in after["agents"]] == ["Open vSwitch agent"]
    state.assert_same(identity, after, "records, the agent's row among them")
    state.assert_same(before, state.guests(ovs), "guests")
    assert set(ports(ovs, servers).values()) == {("ACTIVE", new, "ovs")}
    assert state.written(ovs, old) == []


def test_after_it_the_agent_wires_new_ports_under_its_name(ovs, servers, books):
    here = state.files(ovs)["uname -n"]
    made = guestkit.create(ovs, "later", "1", "--on", here)
    assert made[0]["status"] == "ACTIVE"
    agents = ovs.sql("neutron", "SELECT host FROM agents WHERE agent_type = 'Open vSwitch agent' ORDER BY host")
    assert [row["host"] for row in agents] == sorted([here, *(host for host in ovs.hosts if host != OLD)])


#: What an operator says who has no access to neutron's database.
ACCEPTED = {
    "neutron_db_url": None,
    "stackguard_overrides": [{"code": "SG305", "object": "Open vSwitch agent", "reason": "interruption announced"}],
}


def agent_names(lab):
    rows = lab.sql("neutron", "SELECT host FROM agents WHERE agent_type = 'Open vSwitch agent' ORDER BY host")
    return [row["host"] for row in rows]


def assert_wired(lab, servers, host):
    """Every port bound to the host and ACTIVE, every tap with its tag, none cut off."""
    assert set(ports(lab, servers).values()) == {("ACTIVE", host, "ovs")}
    waiting.until("taps without a cut", lambda: _watched(lab).count("tag=1") >= len(servers), 30)
    seen = _watched(lab)
    assert "tag=4095" not in seen, seen
    assert seen.count("cut=0") == seen.count("tap"), seen


def _watched(lab):
    with Watcher(lab) as watcher:
        pass
    return [watcher.first, *watcher.changes][-1]


@pytest.mark.matrix
def test_by_override_the_agent_registers_anew_and_the_ports_follow(ovs, servers, books):
    before, records = state.guests(ovs), state.identity(ovs, OLD)
    told = books.rename(OLD, NEW, variables=ACCEPTED, flags=["--check"]).ok()
    assert "lose their network" in told.output
    with Watcher(ovs) as watcher:
        books.rename(OLD, NEW, variables=ACCEPTED).ok()
    print("\nwithout neutron's database:", *[watcher.first, *watcher.changes], sep="\n  ")
    state.assert_same(before, state.guests(ovs), "guests")
    after = state.identity(ovs, NEW)
    assert [row["agent_type"] for row in after.pop("agents")] == ["Open vSwitch agent"]
    records.pop("agents")
    state.assert_same(records, after, "records, but for the agent's")
    assert agent_names(ovs) == sorted([NEW, *[host for host in ovs.hosts if host != OLD]])
    assert_wired(ovs, servers, NEW)
    assert state.written(ovs, OLD) == []


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("apply start_agents host apply", marks=pytest.mark.matrix),
        pytest.param("apply ports acted", marks=pytest.mark.matrix),
        pytest.param("apply delete_agents acted", marks=pytest.mark.matrix),
    ],
)
def test_killed_there_a_rollback_brings_the_ports_home_to_the_old_agent(ovs, servers, books, place):
    before = state.guests(ovs)
    assert books.rename(NEW, OLD, variables=ACCEPTED, kill=place).rc == -9
    state.assert_same(before, state.guests(ovs), "guests, after the kill")
    books.rename(NEW, OLD, "rollback", variables=ACCEPTED).ok()
    state.assert_same(before, state.guests(ovs), "guests")
    assert agent_names(ovs) == sorted([NEW, *[host for host in ovs.hosts if host != OLD]])
    assert_wired(ovs, servers, NEW)
    assert state.written(ovs, OLD) == []


@pytest.mark.matrix
def test_killed_among_the_ports_the_same_command_carries_on(ovs, servers, books):
    before = state.guests(ovs)
    assert books.rename(NEW, OLD, variables=ACCEPTED, kill="apply ports http after PUT ports #2").rc == -9
    books.rename(NEW, OLD, variables=ACCEPTED).ok()
    state.assert_same(before, state.guests(ovs), "guests")
    assert agent_names(ovs) == sorted(ovs.hosts)
    assert_wired(ovs, servers, OLD)
    assert state.written(ovs, NEW) == []


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("old", "new", "given"), [(OLD, NEW, {}), (NEW, OLD, ACCEPTED)], ids=["with_the_database", "by_override"]
)
def test_a_host_that_rebooted_in_the_middle_is_finished_by_the_same_command(ovs, servers, books, old, new, given):
    """No port of a guest that is off is waited for: it binds when its owner starts the guest."""
    assert books.rename(old, new, variables=given, kill="apply host_names begins").rc == -9
    ovs.command("host", OLD, "power-off")
    ovs.command("host", OLD, "power-on")
    done = books.rename(old, new, variables=given).ok()
    assert done.stats["verdict"] == "warn", "guests are off: that is no pass"
    assert agent_names(ovs) == sorted([new, *[host for host in ovs.hosts if host != OLD]])
    for server in servers:
        guestkit.wait_for(ovs, server["id"], "SHUTOFF", timeout=300)
        ovs.action(server["id"], "os-start")
        guestkit.wait_for(ovs, server["id"], "ACTIVE", host=new)
    wired = {("ACTIVE", new, "ovs")}
    waiting.until(lambda: f"ports up: {ports(ovs, servers)}", lambda: set(ports(ovs, servers).values()) == wired, 120)
    assert_wired(ovs, servers, new)
    assert state.written(ovs, old) == []
