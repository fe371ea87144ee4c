# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Part 2: the collection renames compute1 under its running guests."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time

from . import cloud, ovn
from .screen import DemoError, Screen, duration

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
COLLECTION = cloud.ROOT / ".build/collections/ansible_collections/stackguard/nova"
OUTPUT = cloud.ROOT / ".build/demo"
VARIABLES = OUTPUT / "cloud.yml"
PLAYBOOK = "stackguard.nova.rename_host"
NARRATED = re.compile(r"^\[ *\d+\.\d s\] ")


def play(screen: Screen) -> None:
    """The whole part. Every claim is checked."""
    servers = {name: server for name, server in cloud.servers().items() if name in NAMES}
    before = _Seen(servers)
    screen.tell(
        f"Five guests are on {HOST}. cache1 has a swap disk, build1 has an ephemeral disk, and idle1 is off. For each "
        "guest, the demo records the QEMU process, a checksum of the definition (virsh dumpxml), and the clients of "
        "its disks."
    )
    screen.table(before.rows())
    screen.claim(
        "four guests run, one guest is off", sum(domain.pid is not None for domain in before.domains.values()) == 4
    )
    screen.tell("The playbook reads the cloud's settings from a file of mode 0600: no password is on a command line.")
    _write_variables(screen)
    _announce(screen)
    names, bound = _names(), ovn.bindings()

    screen.tell(f"First a mistake: the name {TAKEN}, which another host already has.")
    _refused(screen)
    screen.claim(
        "the run refuses and reports all reasons at once; nothing was changed",
        _names() == names and _Seen(servers) == before,
    )

    screen.tell(
        f"Now the right name, {NEW_NAME}, with --check --diff: the run shows the whole plan and changes nothing."
    )
    _checked(screen)
    screen.claim("again nothing was changed", _names() == names and _Seen(servers) == before)

    screen.tell("Now the rename itself:")
    took = _renamed(screen)

    screen.tell("The guests, before and after:")
    after = _Seen(servers)
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
    _no_trace(screen, names)
    _alive(screen, servers)
    screen.tell(f"The rename itself took {duration(took)}, from the start of the playbook to its end.")


# --- what is seen of the guests, and of the names


class _Seen:
    """The guests of the host: domains, and who has which image open."""

    def __init__(self, servers: dict[str, cloud.Server]) -> None:
        self.names = {server.id: name for name, server in servers.items()}
        self.domains = cloud.domains(HOST)
        unknown = set(self.domains) ^ set(self.names)
        if unknown:
            raise DemoError(f"other domains on {HOST} than expected: {sorted(unknown)}")
        self.watchers = {image: cloud.watchers(image) for server in servers.values() for image in cloud.images(server)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Seen) and (self.domains, self.watchers) == (other.domains, other.watchers)

    __hash__ = None  # type: ignore[assignment]

    def _clients(self, uuid: str) -> str:
        found = [watcher for image, watchers in self.watchers.items() if image.startswith(uuid) for watcher in watchers]
        return f"{len(found)} of {sum(image.startswith(uuid) for image in self.watchers)}"

    def _sorted(self) -> list[cloud.Domain]:
        return sorted(self.domains.values(), key=lambda domain: self.names[domain.uuid])

    def rows(self) -> list[tuple[str, ...]]:
        """A table of what was seen."""
        rows = [("guest", "domain uuid", "state", "QEMU pid", "dumpxml", "disks open")]
        for domain in self._sorted():
            pid = str(domain.pid or "-")
            rows.append(
                (self.names[domain.uuid], domain.uuid, domain.state, pid, domain.xml, self._clients(domain.uuid))
            )
        return rows

    def beside(self, after: _Seen) -> list[tuple[str, ...]]:
        """Before and after, side by side."""
        rows = [("guest", "QEMU pid", "", "started (ticks)", "", "dumpxml", "", "disks open", "")]
        for old in self._sorted():
            new = after.domains.get(old.uuid)
            cells = [
                str(getattr(domain, field) or "-") if domain else "gone"
                for field in ("pid", "since", "xml")
                for domain in (old, new)
            ]
            rows.append((self.names[old.uuid], *cells, self._clients(old.uuid), after._clients(old.uuid)))
        return rows


_ROWS = {
    "cell1": (
        "SELECT 'service', id, uuid, host, disabled, disabled_reason FROM services WHERE deleted = 0 ORDER BY id",
        "SELECT 'node', id, uuid, host, hypervisor_hostname, service_id FROM compute_nodes WHERE deleted = 0",
        "SELECT 'instance', id, uuid, host, node, launched_on, compute_id FROM instances WHERE deleted = 0 ORDER BY id",
    ),
    "api": (
        "SELECT 'mapping', id, host FROM host_mappings ORDER BY id",
        "SELECT 'aggregate', id, aggregate_id, host FROM aggregate_hosts ORDER BY id",
    ),
    "placement": (
        "SELECT 'provider', id, uuid, name FROM resource_providers ORDER BY id",
        "SELECT 'allocation', id, resource_provider_id, consumer_id, used FROM allocations ORDER BY id",
    ),
    "neutron": (
        "SELECT 'port', port_id, host, vif_type FROM ml2_port_bindings ORDER BY port_id, host",
        "SELECT 'agent', id, agent_type, host FROM agents ORDER BY id",
    ),
}


def _names() -> list[str]:
    """Every row that bears a host's name, and the host's own name and files."""
    lines = [
        line
        for database, queries in _ROWS.items()
        for query in queries
        for line in cloud.lab("db", "--batch", database, query).splitlines()
    ]
    lines += cloud.on_host(
        HOST,
        "hostname; hostnamectl --static; cat /etc/hosts; virsh hostname; cat /var/lib/nova/compute_id; "
        "systemctl is-active nova-compute; systemctl is-enabled nova-compute || true",
    ).splitlines()
    return lines + ovn.names()


# --- the playbook


def playbook_command() -> str | None:
    """ansible-playbook of the checkout's environment."""
    own = cloud.ROOT / ".venv/bin/ansible-playbook"
    return str(own) if own.exists() else shutil.which("ansible-playbook")


def _write_variables(screen: Screen) -> None:
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    found = cloud.info()
    values = {
        "cloud": found["cloud"],
        "nova_api_db_url": found["nova_api_db_url"],
        "neutron_db_url": found["neutron_db_url"],
        **ovn.variables(),
    }
    text = "".join(f"{name}: {json.dumps(value)}\n" for name, value in values.items())
    with os.fdopen(os.open(VARIABLES, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    screen.command(f"cat {VARIABLES.relative_to(cloud.ROOT)}")
    screen.quote(re.sub(r":[^:@/]+@", ":SECRET@", text))


def _announce(screen: Screen) -> None:
    """What an operator does the day before: the new name resolves where others look it up."""
    address = cloud.info()["hosts"][HOST]["address"]
    screen.tell("The other hosts must resolve the new name. Usually DNS does this. In the lab, /etc/hosts does:")
    screen.command(f"echo {address} {NEW_NAME} >> /etc/hosts     # on {NEIGHBOUR} and {TAKEN}")
    for other in (NEIGHBOUR, TAKEN):
        cloud.on_host(other, f"grep -q ' {NEW_NAME}$' /etc/hosts || echo '{address} {NEW_NAME}' >> /etc/hosts")


def _playbook(screen: Screen, log: str, new_name: str, *options: str, follow: bool = False) -> tuple[int, str]:
    """Run it; its whole output goes to a file below .build/demo, with ``follow`` its progress to the screen as well."""
    found = cloud.info()
    arguments = [
        "-i",
        found["inventory"],
        "-e",
        f"@{VARIABLES.relative_to(cloud.ROOT)}",
        "-e",
        f"rename_from={HOST}",
        "-e",
        f"rename_to={new_name}",
        *options,
    ]
    screen.command(f"ansible-playbook {PLAYBOOK} {' '.join(arguments)}")
    reports = OUTPUT / log.removesuffix(".txt")
    environment = {
        **os.environ,
        "OS_CLIENT_CONFIG_FILE": found["clouds_yaml"],
        "ANSIBLE_CONFIG": str(cloud.ROOT / "ansible.cfg"),
        # not what somebody has installed on this machine
        "ANSIBLE_COLLECTIONS_PATH": str(cloud.ROOT / ".build/collections"),
        "ANSIBLE_NOCOLOR": "1",
        "PYTHONUNBUFFERED": "1",
    }
    said: list[str] = []
    with (
        subprocess.Popen(
            [str(playbook_command()), PLAYBOOK, *arguments, "-e", f"stackguard_report_dir={reports}"],
            cwd=cloud.ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
        (OUTPUT / log).open("w") as file,
    ):
        for line in process.stdout or ():
            file.write(line)
            said.append(line.rstrip("\n"))
            if follow and NARRATED.match(line):
                screen.quote(line)
    return process.returncode, "\n".join(said)


def _refused(screen: Screen) -> None:
    code, said = _playbook(screen, "refused.txt", TAKEN)
    reasons = _refusal(said)
    screen.listing(_short(reasons) or said[-3000:])
    where = (OUTPUT / "refused.txt").relative_to(cloud.ROOT)
    screen.tell(f"The file {where} has the evidence and the remedy of every reason, as shown above for the first one.")
    screen.claim(f"the exit status is not 0 (it is {code})", code != 0, said[-3000:])
    screen.claim("the reasons report that the name is in use (SG310)", "SG310" in reasons, said[-3000:])


def _short(reasons: str) -> str:
    """The first reason in full, of the others the first line."""
    lines = reasons.splitlines()
    heads = [number for number, line in enumerate(lines) if re.match(r"(blocker|warning|info)\b", line)]
    return "\n".join([*lines[: heads[1]], *(lines[number] for number in heads[1:])] if len(heads) > 1 else lines)


def _refusal(said: str) -> str:
    """The message of the refused task, from Ansible's output: what stands between the error and its origin."""
    found = re.search(r"^\[ERROR\].*?(refused, nothing was changed.*?)^Origin:", said, re.MULTILINE | re.DOTALL)
    return found.group(1).rstrip() if found else ""


def _checked(screen: Screen) -> None:
    code, said = _playbook(screen, "check.txt", NEW_NAME, "--check", "--diff")
    screen.claim("the check passes: no finding blocks the rename", code == 0, said[-3000:])
    plan = _plan(said)
    if not plan:
        raise DemoError(f"no plan in the output of --check: {said[-3000:]}")
    screen.listing("\n".join(plan))
    where = (OUTPUT / "check.txt").relative_to(cloud.ROOT)
    screen.tell(f"The file {where} has the full plan: every row, name and line, before and after.")


def _plan(said: str) -> list[str]:
    """The plan as --check prints it; of each step the first changes only."""
    lines = said.splitlines()
    begin = next((number for number, line in enumerate(lines) if re.match(r"rename .* steps:$", line)), len(lines))
    shown: list[str] = []
    details: list[str] = []

    def flush() -> None:
        shown.extend(details[:2])
        if len(details) > 2:
            shown.append(f"       ... and {len(details) - 2} more of these")
        details.clear()

    for line in lines[begin:]:
        if line.startswith("       "):
            details.append(line)
            continue
        flush()
        if not re.match(r"rename | *\d+\. |note: ", line):
            break
        shown.append(line)
    return shown


def _renamed(screen: Screen) -> float:
    begin = time.monotonic()
    code, said = _playbook(screen, "rename.txt", NEW_NAME, follow=True)
    took = time.monotonic() - begin
    screen.claim("the playbook succeeds", code == 0, said[-3000:])
    return took


# --- afterwards


def _no_trace(screen: Screen, before: list[str]) -> None:
    after = _names()
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
