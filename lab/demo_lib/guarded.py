# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Part 3: the collection renames compute1 under its running guests."""

from __future__ import annotations

import re
import time

from . import cloud, ovn, playbook
from .screen import DemoError, Screen, duration
from .seen import Seen, names

HOST, TAKEN, NEIGHBOUR = "compute1", "compute3", "compute2"
NEW_NAME = "cn-rack7.example"
# arguments of `lab/lab guests create`
GUESTS = (
    ("2", "--on", HOST, "--name-prefix", "web"),
    ("1", "--on", HOST, "--name-prefix", "cache", "--swap", "64"),
    ("1", "--on", HOST, "--name-prefix", "build", "--ephemeral", "1"),
    ("1", "--on", HOST, "--name-prefix", "idle", "--stopped"),
)
NAMES = ("build1", "cache1", "idle1", "web1", "web2")


def play(screen: Screen) -> None:
    """The whole part. Every claim is checked."""
    servers = {name: server for name, server in cloud.servers().items() if name in NAMES}
    before = Seen(HOST, servers)
    screen.tell(
        f"Five guests are on {HOST}. cache1 has a swap disk, build1 has an ephemeral disk, and idle1 is off. For each "
        "guest, the demo records the QEMU process, a checksum of the definition (virsh dumpxml), and the clients of "
        "its disks."
    )
    screen.table(before.rows())
    screen.claim(
        "four guests run, one guest is off", sum(domain.pid is not None for domain in before.domains.values()) == 4
    )
    playbook.write_variables(screen)
    playbook.announce(screen, HOST, NEW_NAME, (NEIGHBOUR, TAKEN))
    named, bound = names(HOST), ovn.bindings()

    screen.tell(f"First a mistake: the name {TAKEN}, which another host already has.")
    _refused(screen)
    screen.claim(
        "the run refuses and reports all reasons at once; nothing was changed",
        names(HOST) == named and Seen(HOST, servers) == before,
    )

    screen.tell(
        f"Now the right name, {NEW_NAME}, with --check --diff: the run shows the whole plan and changes nothing."
    )
    _checked(screen)
    screen.claim("again nothing was changed", names(HOST) == named and Seen(HOST, servers) == before)

    screen.tell("Now the rename itself:")
    took = _renamed(screen)

    screen.tell("The guests, before and after:")
    after = Seen(HOST, servers)
    screen.table(before.beside(after))
    screen.claim(
        "each QEMU is the same process, each definition is identical, and the same clients have each disk open",
        before == after,
    )
    if bound:
        screen.claim(
            f"OVN: all {len(bound)} ports are bound to the same chassis as before, and up", ovn.bindings() == bound
        )
    found = {name: server for name, server in cloud.servers().items() if name in NAMES}
    screen.command("openstack server list --long")
    screen.quote(cloud.server_table(*NAMES))
    screen.claim(
        f"Nova shows all five guests on {NEW_NAME}, with the same ids and status",
        all(
            (found[name].id, found[name].host, found[name].status) == (server.id, NEW_NAME, server.status)
            for name, server in servers.items()
        ),
        found,
    )
    _no_trace(screen, named)
    _alive(screen, servers)
    screen.tell(f"The rename itself took {duration(took)}, from the start of the playbook to its end.")


def _refused(screen: Screen) -> None:
    code, said = playbook.rename(screen, "refused.txt", HOST, TAKEN)
    reasons = playbook.refusal(said)
    screen.listing(playbook.short(reasons) or said[-3000:])
    where = (playbook.OUTPUT / "refused.txt").relative_to(cloud.ROOT)
    screen.tell(f"The file {where} has the evidence and the remedy of every reason, as shown above for the first one.")
    screen.claim(f"the exit status is not 0 (it is {code})", code != 0, said[-3000:])
    screen.claim("the reasons report that the name is in use (SG310)", "SG310" in reasons, said[-3000:])


def _checked(screen: Screen) -> None:
    code, said = playbook.rename(screen, "check.txt", HOST, NEW_NAME, "--check", "--diff")
    screen.claim("the check passes: no finding blocks the rename", code == 0, said[-3000:])
    plan = playbook.plan(said)
    if not plan:
        raise DemoError(f"no plan in the output of --check: {said[-3000:]}")
    screen.listing("\n".join(plan))
    where = (playbook.OUTPUT / "check.txt").relative_to(cloud.ROOT)
    screen.tell(f"The file {where} has the full plan: every row, name and line, before and after.")


def _renamed(screen: Screen) -> float:
    begin = time.monotonic()
    code, said = playbook.rename(screen, "rename.txt", HOST, NEW_NAME, follow=True)
    took = time.monotonic() - begin
    screen.claim("the playbook succeeds", code == 0, said[-3000:])
    return took


# --- afterwards


def _no_trace(screen: Screen, before: list[str]) -> None:
    after = names(HOST)
    left = [line for line in after if re.search(rf"(^|[\s\"']){HOST}($|[\s\"'])", line)]
    screen.claim(
        f"no service, compute node, instance, mapping, aggregate, provider or port has the name {HOST} any more; "
        "neither do the host itself, its /etc/hosts and libvirt",
        not left,
        left,
    )
    expected = [re.sub(rf"(?<![\w.-]){HOST}(?![\w.-])", NEW_NAME, line) for line in before]
    changed = [pair for pair in zip(expected, after) if pair[0] != pair[1]]
    screen.claim(
        "in all of these, only the name has changed: ids, uuids, links and allocations are the same",
        len(after) == len(before) and not changed,
        changed[:5],
    )
    service = cloud.compute_services()
    screen.quote("\n".join(f"{name}  {row['Status']}  {row['State']}" for name, row in sorted(service.items())))
    screen.claim(
        f"the service is up and enabled as {NEW_NAME}",
        (service[NEW_NAME]["State"], service[NEW_NAME]["Status"]) == ("up", "enabled") and HOST not in service,
    )


def _alive(screen: Screen, servers: dict[str, cloud.Server]) -> None:
    screen.tell(
        "Now the guests are used under the new name: web1 migrates live to another host and back, web2 reboots hard, "
        "and idle1 starts."
    )

    def settled(name: str, host: str) -> bool:
        server = cloud.servers()[name]
        if server.status == "ERROR":
            raise DemoError(f"{name} is in ERROR")
        return (server.host, server.status, server.task) == (host, "ACTIVE", None)

    for target in (NEIGHBOUR, NEW_NAME):
        command = (
            "--os-compute-api-version",
            "2.90",
            "server",
            "migrate",
            "--live-migration",
            "--host",
            target,
            "web1",
        )
        screen.command(f"openstack {' '.join(command)}")
        cloud.lab("openstack", *command)
        screen.wait(f"web1 on {target}", lambda target=target: settled("web1", target), 180)  # type: ignore[misc]
    old_pid = cloud.domains(HOST)[servers["web2"].id].pid
    for command in (("server", "reboot", "--hard", "web2"), ("server", "start", "idle1")):
        screen.command(f"openstack {' '.join(command)}")
        cloud.lab("openstack", *command)

    def rebooted() -> bool:
        # Nova defines a domain anew for a start: for a moment libvirt has none.
        pids = {uuid: domain.pid for uuid, domain in cloud.domains(HOST).items()}
        web2, idle1 = pids.get(servers["web2"].id), pids.get(servers["idle1"].id)
        return web2 not in (None, old_pid) and idle1 is not None

    screen.wait("web2 and idle1", lambda: rebooted() and settled("web2", NEW_NAME) and settled("idle1", NEW_NAME), 180)
    screen.quote(cloud.server_table(*NAMES))
    screen.claim(
        "all five guests run",
        all(domain.pid for domain in cloud.domains(HOST).values()) and len(cloud.domains(HOST)) == 5,
    )
