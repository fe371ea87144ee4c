# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of events, and the summary."""

from __future__ import annotations

import argparse
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

from . import adopted, cloud, guarded, playbook, unguarded
from .screen import DemoError, Screen, duration

RELEASE = "2026.2"
#: How the guests' ports are plugged: `make demo L2=ovn` shows the same with OVN.
PLUGGED = ("tap", "ovn")


def main() -> int:
    """Play all parts. Exit status 1 when anything was not as told."""
    arguments = argparse.ArgumentParser(
        prog="lab/demo",
        description=(
            "Rename one compute host of the lab by hand, restore its name with the collection, then rename another "
            "host with the collection. `make demo` runs this command. STACKGUARD_LAB_INSTANCE selects the lab (0 to "
            "9, default 0). The demo resets a lab that was used before, and removes the guests of this lab."
        ),
    )
    arguments.add_argument("--l2", choices=PLUGGED, default=PLUGGED[0], help="network of the lab; default: %(default)s")
    arguments.add_argument(
        "--volume", action="store_true", help="the guests of part 1 boot from Cinder volumes; the lab has Cinder"
    )
    arguments.add_argument("--only", choices=("unguarded", "guarded"), help="play only parts 1 and 2, or only part 3")
    chosen = arguments.parse_args()
    only = chosen.only
    screen = Screen()
    try:
        _check_machine()
        _introduce(screen)
        _lab_up(screen, chosen.l2, chosen.volume)
        _guests(screen, chosen.volume)
        times: dict[str, float] = {}
        playbook.forget()
        for part, title in PARTS:
            name = part.__name__.rpartition(".")[2]
            if only in (None, name) or (only, name) == ("unguarded", "adopted"):
                screen.title(title)
                begin = screen.seconds()
                part.play(screen)
                times[name] = screen.seconds() - begin
        _summary(screen, times)
    except DemoError as error:
        print(f"\nFAILED after {duration(screen.seconds())}: {error}", flush=True)
        print("The lab stays as it is (see lab/lab status). `make demo` resets the lab and starts again.", flush=True)
        return 1
    except subprocess.TimeoutExpired as error:
        print(
            f"\nFAILED after {duration(screen.seconds())}: no answer within {error.timeout:.0f} s: {error.cmd}",
            flush=True,
        )
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; `make demo` starts again", flush=True)
        return 130
    return 0


PARTS = (
    (unguarded, "1. By hand: compute2 gets a new name, and the operator evacuates a guest"),
    (adopted, "2. Adopted: compute2 gets a new name again, and the operator uses stackguard.nova"),
    (guarded, "3. Guarded: stackguard.nova renames compute1"),
)


def _check_machine() -> None:
    if os.geteuid() != 0:
        raise DemoError("run this command as root: the lab creates network namespaces and hosts")
    if not playbook.COLLECTION.exists() or not playbook.command():
        raise DemoError("the collection is not built yet. Run `make demo`, which builds it")


def _introduce(screen: Screen) -> None:
    screen.title("stackguard.nova: what it guards against, on a real OpenStack")
    for line in (
        "The demo starts a small OpenStack on this machine: Nova 34, Ceph, three compute hosts with QEMU guests. Then",
        "  1. compute2 gets a new name by hand. The operator evacuates one of its guests, and the guest is lost;",
        "  2. compute2 gets a new name again. The collection restores the old name, and the other guests keep running;",
        "  3. the collection renames compute1, and its guests keep running.",
        "The demo checks every line with 'seen:'. If such a line is not true, the demo ends with an error.",
        "",
        "Two things differ from production. The guests are tiny and have no operating system. And nova-compute stops",
        "within 10 seconds. With the default settings of Nova 34 it takes up to 169 seconds, and a rename waits.",
    ):
        screen.plain(line)


# --- the lab


def _lab_up(screen: Screen, l2: str, volume: bool) -> None:
    screen.title("0. The lab")
    used = _exists()
    if used:
        have = cloud.info()
        wishes = {"release": RELEASE, "l2": l2, **({"cinder": "ceph"} if volume else {})}
        for name, wanted in wishes.items():
            made = (" ".join(have[name]) or "(none)") if name == "cinder" else have[name]
            if wanted not in made.split():
                raise DemoError(
                    f"this lab was created with --{name} {made}; the demo needs --{name} {wanted}. Choose "
                    "another lab with STACKGUARD_LAB_INSTANCE=1 (0 to 9), or remove this lab: lab/lab down --purge"
                )
        _show("up")
        if _was_used():
            screen.tell("This lab was used before. The demo resets the lab to its state after the first boot.")
            _show("reset")
    else:
        screen.tell(
            "The demo creates the lab. The first time, it downloads packages of Debian and OpenStack (some minutes)."
        )
        _show("up", "--fast-stop", "--release", RELEASE, "--l2", l2, *(["--cinder"] if volume else []))
    found = cloud.info()
    screen.claim(
        f"Nova {found['nova']}, three compute hosts up",
        sorted(cloud.compute_services()) == ["compute1", "compute2", "compute3"],
    )


def _exists() -> bool:
    return not subprocess.run([str(cloud.LAB), "info"], capture_output=True, cwd=cloud.ROOT).returncode


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


def _guests(screen: Screen, volume: bool) -> None:
    screen.tell("The demo starts guests: three on compute2, five on compute1.")
    disks = ("--volume", "ceph") if volume else ()
    wanted = [(str(len(unguarded.GUESTS)), "--on", unguarded.HOST, "--name-prefix", "shop", *disks), *guarded.GUESTS]
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda arguments: cloud.lab("guests", "create", *arguments), wanted))
    found = cloud.servers()
    screen.quote("\n".join(f"{server.name:8} {server.host}  {server.status}" for server in found.values()))


# --- the end


def _summary(screen: Screen, times: dict[str, float]) -> None:
    screen.title("Summary")
    if len(times) == len(PARTS):
        screen.table(
            [
                ("", "by hand (compute2)", "adopted (compute2)", "guarded (compute1)"),
                ("the new name", "refused by nova-compute", "old name restored", guarded.NEW_NAME + ", in every place"),
                ("guests", "1 of 3 evacuated and killed", "2 of 2 keep running", "4 of 4 keep running"),
                ("their disks", "that of shop1 written by two QEMUs", "one client each", "one client each"),
                ("status in Nova meanwhile", "ACTIVE", "ACTIVE", "ACTIVE"),
                ("duration", *(duration(times[name]) for name in ("unguarded", "adopted", "guarded"))),
            ]
        )
        screen.blank()
    screen.plain(f"{screen.claims} claims checked, all are true. Total time: {duration(screen.seconds())}.")
    screen.blank()
    instance = os.environ.get("STACKGUARD_LAB_INSTANCE")
    prefix = f"STACKGUARD_LAB_INSTANCE={instance} " if instance else ""
    screen.plain("Next:")
    screen.table(
        [
            (f"{prefix}lab/lab openstack server list", "the lab is still up: look around (lab/README.md)"),
            (f"{prefix}lab/lab down --purge", "removes the lab"),
            (f"{playbook.OUTPUT.relative_to(cloud.ROOT)}/", "the full output of the playbooks, and their reports"),
            ("README.md, 'Try it on your cloud'", "inventory, credentials, grants, and a first --check"),
        ],
        heading=False,
    )
