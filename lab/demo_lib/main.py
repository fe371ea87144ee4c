# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of events, and the summary."""

from __future__ import annotations

import argparse
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

from . import cloud, guarded, unguarded
from .screen import DemoError, Screen, duration

RELEASE = "2026.2"


def main() -> int:
    """Play both parts. Exit status 1 when anything was not as told."""
    arguments = argparse.ArgumentParser(
        prog="lab/demo",
        description=(
            "A compute host of the lab renamed by hand, then one renamed by the collection. "
            "Called by `make demo`. Which lab: STACKGUARD_LAB_INSTANCE (0 to 9, default 0). "
            "A lab that was used before is reset: its guests are removed."
        ),
    )
    arguments.add_argument("--only", choices=("unguarded", "guarded"), help="one of the two parts")
    only = arguments.parse_args().only
    screen = Screen()
    try:
        _check_machine()
        _introduce(screen)
        _lab_up(screen)
        _guests(screen)
        times: dict[str, float] = {}
        for number, part in enumerate((unguarded, guarded), 1):
            name = part.__name__.rpartition(".")[2]
            if only in (None, name):
                screen.title(TITLES[number - 1])
                begin = screen.seconds()
                part.play(screen)
                times[name] = screen.seconds() - begin
        _summary(screen, times)
    except DemoError as error:
        print(f"\nFAILED after {duration(screen.seconds())}: {error}", flush=True)
        print("The lab is left as it is: lab/lab status. `make demo` puts it back and begins anew.", flush=True)
        return 1
    except subprocess.TimeoutExpired as error:
        print(
            f"\nFAILED after {duration(screen.seconds())}: no answer within {error.timeout:.0f} s: {error.cmd}",
            flush=True,
        )
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; `make demo` begins anew", flush=True)
        return 130
    return 0


TITLES = (
    "1. By hand: compute2 is renamed the way people do it",
    "2. Guarded: stackguard.nova renames compute1",
)


def _check_machine() -> None:
    if os.geteuid() != 0:
        raise DemoError("the lab makes network namespaces and hosts of its own: run this as root")
    if not guarded.COLLECTION.exists() or not guarded.playbook_command():
        raise DemoError("the collection is not built yet: `make demo` does that")


def _introduce(screen: Screen) -> None:
    screen.title("stackguard.nova: what it guards against, on a real OpenStack")
    for line in (
        "On this machine a small OpenStack is started: Nova 34, Ceph, three compute hosts with QEMU guests. Then",
        "  1. compute2 is renamed by hand, which costs its guests;",
        "  2. compute1 is renamed by the collection, under its running guests.",
        "Lines with 'seen:' are checked, not only told: one that does not hold ends the demonstration with an error.",
        "",
        "Not as in production: the guests are tiny and have no operating system, and nova-compute is set to stop",
        "within 10 seconds. With the settings Nova 34 comes with, that takes up to 169; a rename waits for it.",
    ):
        screen.plain(line)


# --- the lab


def _lab_up(screen: Screen) -> None:
    screen.title("0. The lab")
    used = _exists()
    if used:
        wanted = _options()
        if wanted["release"] != RELEASE:
            raise DemoError(
                f"this lab runs release {wanted['release']}; the demonstration is told for {RELEASE}. "
                "Choose another with STACKGUARD_LAB_INSTANCE=1 (0 to 9), or remove it: lab/lab down --purge"
            )
        _show("up")
        if _was_used():
            screen.tell("This lab was used before: it is put back to where its first boot ended.")
            _show("reset")
    else:
        screen.tell(
            "Started from nothing; the first time, Debian's and OpenStack's packages are fetched (some minutes)."
        )
        _show("up", "--fast-stop", "--release", RELEASE)
    found = cloud.info()
    screen.claim(
        f"Nova {found['nova']}, three compute hosts up",
        sorted(cloud.compute_services()) == ["compute1", "compute2", "compute3"],
    )


def _exists() -> bool:
    return not subprocess.run([str(cloud.LAB), "info"], capture_output=True, cwd=cloud.ROOT).returncode


def _options() -> dict[str, object]:
    return cloud.info()


def _was_used() -> bool:
    rows = cloud.lab("db", "--batch", "cell1", "SELECT COUNT(*) FROM instances").strip()
    return rows != "0" or sorted(cloud.compute_services()) != ["compute1", "compute2", "compute3"]


def _show(*arguments: str) -> None:
    """A command of the lab whose own progress lines are shown."""
    done = subprocess.run(
        [str(cloud.LAB), *arguments], cwd=cloud.ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise DemoError(f"lab/lab {' '.join(arguments)}: exit status {done.returncode}")


def _guests(screen: Screen) -> None:
    screen.tell("Guests are started: two on compute2, five on compute1.")
    wanted = [("2", "--on", unguarded.HOST, "--name-prefix", "shop"), *guarded.GUESTS]
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda arguments: cloud.lab("guests", "create", *arguments), wanted))
    found = cloud.servers()
    screen.quote("\n".join(f"{server.name:8} {server.host}  {server.status}" for server in found.values()))


# --- the end


def _summary(screen: Screen, times: dict[str, float]) -> None:
    screen.title("Summary")
    if set(times) == {"unguarded", "guarded"}:
        screen.table(
            [
                ("", "by hand (compute2)", "guarded (compute1)"),
                ("the new name", "refused by nova-compute", guarded.NEW_NAME + ", in every store"),
                (
                    "running guests",
                    "2 of 2 killed; others cold-started in their place",
                    "4 of 4 run on: same process, same definition",
                ),
                (
                    "their disks",
                    "each open in two QEMUs; shop1's written by both",
                    "one client each, the same as before",
                ),
                ("what Nova said meanwhile", "ACTIVE", "ACTIVE"),
                ("checked beforehand", "nothing", "everything; a taken name was refused, with all reasons"),
                ("took", duration(times["unguarded"]), duration(times["guarded"]) + ", with refusal, check, proofs"),
            ]
        )
        screen.blank()
    screen.plain(f"{screen.claims} claims checked, all hold. {duration(screen.seconds())} in all.")
    screen.blank()
    instance = os.environ.get("STACKGUARD_LAB_INSTANCE")
    prefix = f"STACKGUARD_LAB_INSTANCE={instance} " if instance else ""
    screen.plain("Next:")
    screen.table(
        [
            (f"{prefix}lab/lab openstack server list", "the lab is still up: look round (lab/README.md)"),
            (f"{prefix}lab/lab down --purge", "removes it"),
            (f"{guarded.OUTPUT.relative_to(cloud.ROOT)}/", "what the playbooks said in full, and their reports"),
            ("README.md, 'On your own cloud'", "inventory, credentials, grants, and a first --check"),
        ],
        heading=False,
    )
