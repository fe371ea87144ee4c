# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Strangers: clients of Ceph that are no compute host, such as a backup that has a guest's disk open."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import network, procs
from .procs import Daemon, in_control
from .settings import PYTHON, SOURCE, Lab, LabError
from .shell import run, wait_for

#: Where the stranger's connection comes from: an address of its own, or the controller's.
PLACES = ("own", "controller")


@dataclass(frozen=True)
class Stranger:
    """One image, held open from one place."""

    image: str
    cluster: int = 1
    place: str = "own"

    @property
    def name(self) -> str:
        words = f"{self.cluster} {self.place} {self.image}"
        return f"stranger-{hashlib.sha256(words.encode()).hexdigest()[:12]}"


def _address(lab: Lab, stranger: Stranger) -> str:
    return lab.controller if stranger.place == "controller" else lab.stranger


def _note(lab: Lab, stranger: Stranger) -> Path:
    """Which image it is; beside the record of its process, which is the Daemon's."""
    return lab.run / "strangers" / f"{stranger.name}.json"


def _daemon(lab: Lab, stranger: Stranger) -> Daemon:
    script = SOURCE / "scripts" / "hold_open.py"
    namespace = lab.control_ns if stranger.place == "controller" else lab.stranger_ns
    conf = lab.cluster(stranger.cluster).conf
    return Daemon(lab, stranger.name, [PYTHON, script, conf, stranger.image], namespace=namespace)


def _known(lab: Lab) -> Iterator[Stranger]:
    for path in sorted((lab.run / "strangers").glob("*.json")):
        yield Stranger(**json.loads(path.read_text()))


def listed(lab: Lab) -> list[dict[str, object]]:
    """Each stranger that was started and not stopped, and whether it still runs."""
    return [
        {
            "image": stranger.image,
            "cluster": stranger.cluster,
            "from": stranger.place,
            "address": _address(lab, stranger),
            "runs": _daemon(lab, stranger).pid() is not None,
        }
        for stranger in _known(lab)
    ]


def start(lab: Lab, stranger: Stranger) -> str:
    """Holds the image open; returns the address at which Ceph sees it, once it does."""
    conf = lab.cluster(stranger.cluster).conf
    if "/" not in stranger.image:
        raise LabError(f"{stranger.image} is no POOL/IMAGE")
    in_control(lab, "rbd", "-c", conf, "info", stranger.image, timeout=60)  # says what is wrong with the name
    if stranger.place == "own":
        network.stranger_up(lab)
    note = _note(lab, stranger)
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps(stranger.__dict__))
    daemon = _daemon(lab, stranger)
    daemon.start()
    address = _address(lab, stranger)

    def seen() -> bool:
        if not daemon.pid():
            raise LabError(f"the stranger of {stranger.image} has ended", log=daemon.log)
        status = json.loads(run(["rbd", "-c", conf, "status", stranger.image, "--format", "json"]).stdout)
        return any(watcher["address"].startswith(f"{address}:") for watcher in status["watchers"])

    wait_for(f"the watcher at {address} of {stranger.image}", seen, timeout=60, log=daemon.log)
    return address


def stop(lab: Lab, stranger: Stranger) -> None:
    _daemon(lab, stranger).stop(grace=10)
    _note(lab, stranger).unlink(missing_ok=True)


def stop_all(lab: Lab, image: str | None = None, cluster: int | None = None) -> int:
    """Ends the strangers of an image, or all."""
    chosen = [
        stranger
        for stranger in _known(lab)
        if image in (None, stranger.image) and (image is None or cluster in (None, stranger.cluster))
    ]
    for stranger in chosen:
        stop(lab, stranger)
    return len(chosen)


def remove(lab: Lab) -> None:
    """All strangers, and their way in."""
    stop_all(lab)
    procs.kill_all(lab.stranger_ns)
    network.remove_namespace(lab.stranger_ns)
