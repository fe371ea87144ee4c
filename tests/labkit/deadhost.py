# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of evacuate_host and return_host on the lab: what every test of a dead host needs."""

from __future__ import annotations

import contextlib
import json
import shutil

import pytest

from . import evacuation, killing, waiting
from . import guests as guestkit
from .fixtures import documented_grants, prepared
from .lab import ROOT

SOURCE, OTHER = "compute1", "compute2"
MARK = "PRECIOUS-DATA"


@pytest.fixture(scope="module")
def whole(lab, playbooks):
    """The lab with its hosts under their first names, whatever was tested before."""
    prepared(lab)
    # Where it was reset, its database users are gone.
    guestkit.grant(lab, "sg_exact", documented_grants())
    return lab


@pytest.fixture
def clean(whole):
    """No guests before and after; all hosts on, joined and up; nothing held."""
    tidy(whole)
    yield whole
    tidy(whole)


def tidy(lab):
    for host in lab.hosts:
        lab.command("host", host, "join", check=False)
        if not lab.is_on(host):
            lab.command("host", host, "power-on")
        evacuation.let_up(lab, host)
        guestkit.wait_compute(lab, host)
    waiting.until("the scheduler takes all hosts", lambda: not evacuation.shunned(lab) or None, 120, 2)
    lab.command("guests", "delete", "--all", check=False)
    for cluster in lab.info["clusters"]:
        lab.command("ceph", "--cluster", str(cluster["number"]), "osd", "blocklist", "clear")
    shutil.rmtree(state_dir(lab), ignore_errors=True)


def state_dir(lab):
    """Journals of this lab: other labs of this machine have their own."""
    return ROOT / ".build" / f"evacuations-i{lab.instance}"


def boot(lab, prefix, count=1, *more, on=SOURCE):
    """Boot servers; ids by name."""
    guestkit.create(lab, prefix, str(count), "--on", on, *more)
    return {row["name"]: row["id"] for row in guestkit.every(lab).values() if row["name"].startswith(prefix)}


def evacuate(playbooks, *words, fence="blocklist", variables=None, flags=(), **given):
    process = start(playbooks, words, fence, variables, flags, **given)
    return playbooks.finish(process, timeout=900)


def start(playbooks, words=(), fence="blocklist", variables=None, flags=(), **given):
    own = {"stackguard_state_dir": str(state_dir(playbooks.lab)), "evacuate_host": SOURCE, "evacuate_fence": fence}
    chosen = {**own, **(variables or {})}
    if fence == "blocklist":
        # A host that has been dead for a while is no client of Ceph any more: its address must be named.
        chosen.setdefault("evacuate_blocklist_addresses", [address(playbooks.lab, chosen["evacuate_host"])])
    # With the time of each task: the output has none.
    timed = {"ANSIBLE_LOG_PATH": "timed.log", **given.pop("env", {})}
    return playbooks.start("evacuate_host", words, variables=chosen, env=timed, flags=flags, **given)


def come_back(playbooks, flags=(), ceph=(None, None), host=SOURCE):
    chosen = {"return_host": host, "stackguard_state_dir": str(state_dir(playbooks.lab))}
    chosen.update(stackguard_ceph_host=ceph[0], stackguard_ceph_user=ceph[1])
    chosen = {key: value for key, value in chosen.items() if value}
    return playbooks.run("return_host", variables=chosen, flags=flags)


def address(lab, host=SOURCE):
    """Where a host reaches Ceph from."""
    return lab.info["hosts"][host]["address"]


def journal(lab, host=SOURCE):
    """The open journal of a dead host, None where there is none."""
    path = state_dir(lab) / f"evacuate-{host}.json"
    return json.loads(path.read_text()) if path.exists() else None


def closed(lab):
    """Journals of evacuations that have ended, the oldest first."""
    found = [json.loads(path.read_text()) for path in (state_dir(lab) / "closed").glob("evacuate*.json")]
    return sorted(found, key=lambda entry: entry["started_at"])


@contextlib.contextmanager
def stopped_compute(lab, host):
    """nova-compute of a host is stopped and masked, for this long; then it starts."""
    if lab.info["hosts"][host].get("containers"):
        with held_container(lab, host):
            yield
        return
    lab.ssh(host, "systemctl kill -s KILL nova-compute; systemctl mask --runtime nova-compute")
    try:
        yield
    finally:
        lab.ssh(host, "systemctl unmask --runtime nova-compute; systemctl start nova-compute")


@contextlib.contextmanager
def held_container(lab, host, stop=True):
    """The same for nova-compute in a container, whose unit cannot be masked. It stays so when the host boots.

    Without ``stop`` it runs on, and only does not start again.
    """
    unit = guestkit.compute_unit(lab, host)
    folder = f"/etc/systemd/system/{unit}.service.d"
    text = "[Unit]\nAssertPathExists=!/etc/held-by-a-test\n"
    hold = f"touch /etc/held-by-a-test; printf '{text}' >{folder}/test.conf; systemctl daemon-reload"
    lab.ssh(host, f"mkdir -p {folder}; {hold}")
    if stop:
        # nova-compute gets a minute for its own end, and its unit often ends as failed.
        lab.ssh(host, f"systemctl stop {unit}; systemctl reset-failed {unit} || :", timeout=180)
    try:
        yield
    finally:
        waiting.until("the host answers", lambda: "here" in lab.ssh(host, "echo here", check=False) or None, 60)
        lab.ssh(host, f"rm -f /etc/held-by-a-test {folder}/test.conf; systemctl daemon-reload; systemctl start {unit}")


def returned(lab, playbooks, host=SOURCE, reader="compute3"):
    """Bring a dead host back as an operator does: on, cleared, nova-compute started, released."""
    lab.command("host", host, "join", check=False)
    if not lab.is_on(host):
        lab.command("host", host, "power-on")
    waiting.until("the host answers", lambda: "here" in lab.ssh(host, "echo here", check=False) or None, 60)
    evacuation.may_unblock(lab, reader)
    with stopped_compute(lab, host):
        come_back(playbooks, ceph=(reader, "stackguard"), host=host).ok()
        before = guestkit.reports(lab, host)
    guestkit.wait_report(lab, host, before)
    again = come_back(playbooks, ceph=(reader, "stackguard"), host=host).ok()
    if "restart nova-compute" in again.told():
        # A server that was sent twice has two records, and one start of nova-compute completes one of them.
        with stopped_compute(lab, host):
            before = guestkit.reports(lab, host)
        guestkit.wait_report(lab, host, before)
        come_back(playbooks, ceph=(reader, "stackguard"), host=host).ok()
    guestkit.wait_compute(lab, host)
    service = lab.service(host)
    assert (service["status"], service["forced_down"]) == ("enabled", False)


def disks(lab, uuid):
    return {name for name in evacuation.images(lab) if name.startswith(uuid)}


#: One call of the operation. It decides, and keeps the journal; between two of them the role does what it asked for.
OPERATION = "Evacuate the servers"


def kill_at(playbooks, task, times=1, delay=0.0, after=None, **given):
    """Start an evacuation, and kill everything of it at the start of a task (or so many seconds later).

    ``after``: another task that must have begun before that.
    """
    process = start(playbooks, **given)
    killing.kill_when_said(process, f": {task}]", times=times, delay=delay, after=f": {after}]" if after else "")
    return (process.directory / "stdout").read_text()


def blocklist(lab):
    """Entries that refuse all clients of an address. Those of single clients are Ceph's own."""
    # Two JSON documents: addresses, then ranges of them.
    text = lab.command("ceph", "osd", "blocklist", "ls", "--format", "json").stdout.strip()
    entries, _end = json.JSONDecoder().raw_decode(text)
    return [entry["addr"] for entry in entries if entry["addr"].endswith(":0/0")]


def evacuations(lab, uuid):
    """Status of each evacuation of a server, the oldest first."""
    query = "SELECT status FROM migrations WHERE instance_uuid = %s AND migration_type = 'evacuation' ORDER BY id"
    return [row["status"] for row in lab.sql("cell1", query, uuid)]


LAB = f"env STACKGUARD_LAB_INSTANCE={{}} {ROOT}/lab/lab"


def by_command(lab, host=SOURCE):
    command = LAB.format(lab.instance)
    return {
        "evacuate_fence_command": f"{command} host {host} power-off",
        "evacuate_fence_confirm_command": f"sh -c '! {command} ssh {host} true'",
    }


def by_power(lab, host=SOURCE):
    """Modules of one's own; the machine's power is the lab's. Those of Redfish and IPMI were not tried."""
    command = LAB.format(lab.instance)
    return {
        "evacuate_power_module": "ansible.builtin.command",
        "evacuate_power_options": {"cmd": f"{command} host {host} power-off"},
        "evacuate_power_state_module": "ansible.builtin.command",
        # Its exit status tells of the whole lab.
        "evacuate_power_state_options": {
            "cmd": f"sh -c '{command} status | sed -n \"s/^{host}: *//p\" | cut -d\\  -f1'"
        },
        "evacuate_power_state_query": "stdout",
        "evacuate_power_off": "off",
    }
