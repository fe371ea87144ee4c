# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks as the demonstration runs them, and what it shows of their output."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

from . import cloud, ovn
from .screen import Screen

COLLECTION = cloud.ROOT / ".build/collections/ansible_collections/stackguard/nova"
OUTPUT = cloud.ROOT / ".build/demo"
VARIABLES = OUTPUT / "cloud.yml"
RENAME, EVACUATE = "stackguard.nova.rename_host", "stackguard.nova.evacuate_host"
NARRATED = re.compile(r"^\[ *\d+\.\d s\] ")


def command() -> str | None:
    """ansible-playbook of the checkout's environment."""
    own = cloud.ROOT / ".venv/bin/ansible-playbook"
    return str(own) if own.exists() else shutil.which("ansible-playbook")


def forget() -> None:
    """Remove what an earlier demonstration left."""
    shutil.rmtree(OUTPUT, ignore_errors=True)


def write_variables(screen: Screen) -> None:
    if VARIABLES.exists():
        return
    screen.tell("The playbook reads the cloud's settings from a file of mode 0600: no password is on a command line.")
    OUTPUT.mkdir(parents=True, exist_ok=True)
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


def announce(screen: Screen, host: str, new_name: str, others: tuple[str, ...]) -> None:
    """What an operator does the day before: the new name resolves where others look it up."""
    address = cloud.info()["hosts"][host]["address"]
    screen.tell("The other hosts must resolve the new name. Usually DNS does this. In the lab, /etc/hosts does:")
    screen.command(f"echo {address} {new_name} >> /etc/hosts     # on {' and '.join(others)}")
    for other in others:
        cloud.on_host(other, f"grep -q ' {new_name}$' /etc/hosts || echo '{address} {new_name}' >> /etc/hosts")


def rename(screen: Screen, log: str, host: str, new_name: str, *options: str, follow: bool = False) -> tuple[int, str]:
    """Run rename_host, as :func:`run` does."""
    words = ("-e", f"rename_from={host}", "-e", f"rename_to={new_name}", *options)
    return run(screen, log, RENAME, *words, follow=follow)


def run(screen: Screen, log: str, name: str, *options: str, follow: bool = False) -> tuple[int, str]:
    """Run one; its whole output goes to a file below .build/demo, with ``follow`` its progress to the screen too."""
    found = cloud.info()
    arguments = [
        "-i",
        found["inventory"],
        "-e",
        f"@{VARIABLES.relative_to(cloud.ROOT)}",
        *options,
    ]
    screen.command(f"ansible-playbook {name} {' '.join(arguments)}")
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
            [str(command()), name, *arguments, "-e", f"stackguard_report_dir={reports}"],
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


def short(reasons: str) -> str:
    """The first reason in full, of the others the first line."""
    lines = reasons.splitlines()
    heads = [number for number, line in enumerate(lines) if re.match(r"(blocker|warning|info)\b", line)]
    return "\n".join([*lines[: heads[1]], *(lines[number] for number in heads[1:])] if len(heads) > 1 else lines)


def refusal(said: str) -> str:
    """The message of the refused task, from Ansible's output: what stands between the error and its origin."""
    found = re.search(r"^\[ERROR\].*?(refused, nothing was changed.*?)^Origin:", said, re.MULTILINE | re.DOTALL)
    return found.group(1).rstrip() if found else ""


def plan(said: str) -> list[str]:
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
