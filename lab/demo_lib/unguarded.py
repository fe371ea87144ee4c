# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Part 1: compute2 is renamed by hand, the way people do it, and what follows from that."""

from __future__ import annotations

import re

from . import cloud, playbook
from .screen import DemoError, Screen

HOST, OTHER = "compute2", "compute3"
NEW_NAME = "cn-rack9.example"
GUESTS = ("shop1", "shop2", "shop3")
#: The one that is evacuated while it runs.
LOST = "shop1"
LOG = "/var/log/nova/nova-compute.log"
REFUSAL = re.compile(r"InvalidConfiguration: (My .*refusing to start!)")
REAPED = "Destroying instance as it has been evacuated from this host but still exists in the hypervisor"
# Where both machines are asked to write: a place of the disk that nothing else uses here.
OFFSET, LENGTH = 1024 * 1024, 512


def play(screen: Screen) -> None:
    """The whole part. Every claim is checked."""
    servers = cloud.servers()
    guests = {name: servers[name] for name in GUESTS}
    disks = {name: server.root_disk for name, server in guests.items()}
    on_volumes = all(server.volumes for server in guests.values())
    before = cloud.domains(HOST)
    screen.tell(
        f"Three guests run on {HOST}. {'They boot from volumes' if on_volumes else 'Their disks are'} in Ceph. Only "
        "one QEMU may have a disk open, and this is so for each disk:"
    )
    _who_has_what(screen, guests, disks)
    opened = [len(cloud.watchers(disk)) for disk in disks.values()]
    screen.claim("each disk has one QEMU and one client", opened == [1, 1, 1] and len(before) == 3, (opened, before))

    screen.tell(f"Now {HOST} gets a new name, as on any Linux machine:")
    refused(screen)
    screen.claim("the guests are not affected: the same three QEMU processes run", cloud.domains(HOST) == before)

    screen.tell(
        f"But nova-compute no longer reports for {HOST}. After 60 seconds without a report, Nova marks a host down. "
        "The demo waits for this."
    )
    screen.wait(f"Nova to mark {HOST} down", lambda: cloud.compute_services()[HOST]["State"] == "down", 150)
    screen.command("openstack compute service list --service nova-compute; openstack server list --long")
    screen.quote(
        "\n".join(f"{name}  {row['Status']}  {row['State']}" for name, row in sorted(cloud.compute_services().items()))
    )
    screen.quote(cloud.server_table(*GUESTS))
    screen.claim(f"the service is down, and the guests on {HOST} keep running", cloud.domains(HOST) == before)
    if on_volumes:
        _evacuation_refused(screen, disks)
        screen.claim(f"the guests on {HOST} keep running", cloud.domains(HOST) == before)

    screen.tell(
        "An evacuation is for a host that is down. Nova allows the evacuation now, because Nova cannot detect that the "
        f"guests still run. The operator on call evacuates {LOST} first. (Up to API version 2.94, Nova starts an "
        "evacuated guest on the new host. From 2.95 on, the guest stays off in Nova while the old QEMU keeps running.)"
    )
    _evacuate(screen)
    screen.claim(f"Nova shows {LOST} ACTIVE, on {OTHER}", True)
    _who_has_what(screen, guests, disks)
    opened = [len(cloud.watchers(disk)) for disk in disks.values()]
    screen.claim(f"the disk of {LOST} has two QEMU processes: two RBD watchers", opened == [2, 1, 1], opened)
    screen.claim(f"the processes on {HOST} are the original ones", cloud.domains(HOST) == before)
    _both_write(screen, guests[LOST], before[guests[LOST].id].name)

    screen.tell(
        "The operator finds the cause, and restores the old name. (When nova-compute of Nova 34 refuses to start, its "
        "process ignores SIGTERM. So the demo kills the process instead of waiting for systemd.)"
    )
    lost = guests[LOST].id
    _name_put_back(screen, lost)
    screen.claim(
        f"nova-compute has killed the QEMU process that served {LOST} all the time (pid {before[lost].pid}). The QEMU "
        f"process on {OTHER} remains: Nova started it from a disk that two QEMU processes had open for writing",
        lost in cloud.domains(OTHER),
    )
    kept = {uuid: domain for uuid, domain in before.items() if uuid != lost}
    screen.claim(
        "the guests that were not evacuated keep running: the same QEMU processes", cloud.domains(HOST) == kept, kept
    )
    addresses = [cloud.watchers(disk) for disk in disks.values()]
    screen.claim("each disk has one client again", [len(found) for found in addresses] == [1, 1, 1], addresses)


def refused(screen: Screen) -> None:
    screen.command(
        f"hostnamectl set-hostname {NEW_NAME}; sed -i s/{HOST}/{NEW_NAME}/ /etc/hosts; systemctl restart nova-compute"
    )
    start = int(cloud.on_host(HOST, f"wc -l < {LOG}"))
    cloud.on_host(
        HOST,
        f"hostnamectl set-hostname {NEW_NAME} && sed -i 's/\\b{HOST}\\b/{NEW_NAME}/' /etc/hosts &&"
        " systemctl restart nova-compute",
    )
    refusals: list[str] = []

    def refused() -> bool:
        refusals[:] = REFUSAL.findall(cloud.on_host(HOST, f"tail -n +{start + 1} {LOG}"))
        return bool(refusals)

    screen.wait("nova-compute's answer", refused, 90)
    screen.tell("nova-compute refuses to run under the new name. Its log:")
    screen.quote(refusals[0])
    unit = cloud.on_host(HOST, "systemctl is-active nova-compute || true").strip()
    screen.claim(
        "systemd still shows the unit as active: the process of Nova 34 stays and does nothing", unit == "active", unit
    )


def _evacuation_refused(screen: Screen, disks: dict[str, str]) -> None:
    screen.tell(
        f"What would the collection do? An operator who believes that {HOST} is dead says so, and asks for the "
        "evacuation:"
    )
    playbook.write_variables(screen)
    opened = {disk: cloud.watchers(disk) for disk in disks.values()}
    words = ("-e", f"evacuate_host={HOST}", "-e", "evacuate_fence=attested")
    code, said = playbook.run(screen, "evacuation-refused.txt", playbook.EVACUATE, *words)
    reasons = playbook.refusal(said)
    screen.listing(playbook.short(reasons) or said[-3000:])
    screen.claim(f"the exit status is not 0 (it is {code})", code != 0, said[-3000:])
    screen.claim("the reasons report that the host is not fenced (SG506)", "SG506" in reasons, said[-3000:])
    found = cloud.servers()
    screen.claim(
        f"no guest was evacuated: each volume has the same client, and Nova shows each guest on {HOST}",
        {disk: cloud.watchers(disk) for disk in opened} == opened and {found[name].host for name in GUESTS} == {HOST},
    )
    screen.tell("The operator on call does not use the collection.")


def _evacuate(screen: Screen) -> None:
    command = ("--os-compute-api-version", "2.94", "server", "evacuate", "--host", OTHER, LOST)
    screen.command(f"openstack {' '.join(command)}")
    cloud.lab("openstack", *command)

    def arrived() -> bool:
        server = cloud.servers()[LOST]
        return (server.host, server.status, server.task) == (OTHER, "ACTIVE", None)

    screen.wait("the evacuation", arrived, 180)
    screen.quote(cloud.server_table(*GUESTS))


def _both_write(screen: Screen, guest: cloud.Server, domain: str) -> None:
    screen.tell(
        "Does the exclusive lock of Ceph prevent the worst? No: the lock moves to the QEMU that writes. The two QEMU "
        f"processes of {LOST} write in turn to the same place of the disk. (The demo uses the QEMU monitor for this, "
        "because the guests have no operating system.)"
    )
    rows = [("writes", "then the disk holds")]
    for host, letter in ((HOST, "A"), (OTHER, "B"), (HOST, "C")):
        device = f"/machine/peripheral/{guest.root_device}/virtio-backend"
        said = cloud.on_host(
            host,
            f"""virsh qemu-monitor-command {domain} --hmp \
            'qemu-io -d {device} "write -P {ord(letter)} {OFFSET} {LENGTH}"'""",
        )
        # The monitor says nothing but a refusal, and virsh succeeds all the same.
        if said.strip():
            raise DemoError(f"the QEMU on {host} did not write to {device}: {said.strip()}")
        held = _read(guest.root_disk)
        rows.append((f"{letter * 4}  from {host}", held[:4]))
        if held != letter * LENGTH:
            break
    screen.table(rows)
    held = [row[1] for row in rows[1:]]
    screen.claim("each QEMU process overwrites what the other one wrote", held == ["AAAA", "BBBB", "CCCC"], held)


def _read(disk: str) -> str:
    export = f"'{cloud.LAB}' rbd export --no-progress '{disk}' - 2>/dev/null"
    return cloud.run("bash", "-c", f"{export} | dd bs={LENGTH} skip={OFFSET // LENGTH} count=1 status=none")


def _name_put_back(screen: Screen, lost: str) -> None:
    screen.command(f"hostnamectl set-hostname {HOST}; sed -i s/{NEW_NAME}/{HOST}/ /etc/hosts")
    screen.command("systemctl kill -s KILL nova-compute; systemctl restart nova-compute")
    start = int(cloud.on_host(HOST, f"wc -l < {LOG}"))
    cloud.on_host(
        HOST,
        f"""hostnamectl set-hostname {HOST} && sed -i 's/{NEW_NAME}/{HOST}/' /etc/hosts
        systemctl kill -s KILL nova-compute; systemctl restart nova-compute""",
    )
    screen.wait("nova-compute to start", lambda: lost not in cloud.domains(HOST), 120)
    lines = [line for line in cloud.on_host(HOST, f"tail -n +{start + 1} {LOG}").splitlines() if REAPED in line]
    screen.tell("nova-compute accepts the name, checks its guests, and logs:")
    screen.quote("\n".join(re.sub(r"\[None req-[^]]*\] (\[instance: [^]]*\]) ", r"\1\n    ", line) for line in lines))
    screen.claim(f"that line, once, for {LOST}", len(lines) == 1 and lost in lines[0], lines)
    screen.wait(f"{HOST} to be up", lambda: cloud.compute_services()[HOST]["State"] == "up", 120)


def _who_has_what(screen: Screen, guests: dict[str, cloud.Server], disks: dict[str, str]) -> None:
    here, there = cloud.domains(HOST), cloud.domains(OTHER)
    rows = [("guest", f"QEMU on {HOST}", f"QEMU on {OTHER}", "its disk is open from")]
    for name, server in guests.items():
        pids = [f"pid {found[server.id].pid}" if server.id in found else "-" for found in (here, there)]
        rows.append((name, *pids, ", ".join(cloud.watchers(disks[name]))))
    screen.table(rows)
