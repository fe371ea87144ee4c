# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests of an owner for his guests, and what became of each: refused, executed, or reported."""

from __future__ import annotations

import contextlib
import dataclasses
import threading

import openstack

from . import guests as guestkit
from . import waiting

KINDS = {
    "os-stop": None,
    "suspend": None,
    "shelve": None,
    "createImage": {"name": "owners-test"},
    "reboot": {"type": "HARD"},
    "pause": None,
    "rescue": {},
    "delete": None,
}
#: What makes a guest run again, by its status.
BACK = {"SHUTOFF": "os-start", "SUSPENDED": "resume", "PAUSED": "unpause", "RESCUE": "unrescue"}
SHELVED = ("SHELVED", "SHELVED_OFFLOADED")


@dataclasses.dataclass(frozen=True)
class Sent:
    """A request that was sent. ``when``: in words; ``status``: Nova's answer."""

    uuid: str
    kind: str
    when: str
    status: int
    request_id: str

    @property
    def accepted(self):
        """Whether its owner was told that it will be done."""
        return self.status < 300


class Sender:
    """Sends random requests for random guests, and remembers each."""

    def __init__(self, owner, rng, uuids, spares):
        self.owner, self.rng, self.uuids, self.spares = owner, rng, uuids, spares
        self.sent = []
        self._threads = []

    def some(self, when, number):
        """Send so many, each for another guest. Only the guests that are there for that are deleted."""
        for uuid in self.rng.sample(self.uuids, min(number, len(self.uuids))):
            kind = self.rng.choice(sorted(KINDS))
            if kind == "delete" and not self.spares:
                kind = "os-stop"
            about = self.rng.choice(self.spares) if kind == "delete" else uuid
            status, request_id = self.owner.sends(about, kind, KINDS[kind])
            self.sent.append(Sent(about, kind, when, status, request_id))

    def later(self, seconds):
        """Send one after some seconds, whatever happens then."""
        timer = threading.Timer(seconds, self.some, (f"{seconds:.0f} s later", 1))
        timer.start()
        self._threads.append(timer)

    def end(self):
        """Wait until all were sent."""
        for timer in self._threads:
            timer.join()
        self._threads = []


def unexplained(lab, sent, reported):
    """The accepted requests that were neither executed nor reported. ``reported``: request ids of SG121."""
    return [one for one in sent if one.accepted and one.request_id not in reported and not executed(lab, one)]


def executed(lab, one):
    """Whether a nova-compute took a request up, and ended it, well or not."""
    try:
        path = f"/servers/{one.uuid}/os-instance-actions/{one.request_id}"
        events = lab.compute("GET", path)["instanceAction"].get("events") or []
    except openstack.exceptions.NotFoundException:
        # The actions of a server that was deleted go with it.
        return one.kind == "delete" and not exists(lab, one.uuid)
    return bool(events) and all(event.get("finish_time") for event in events)


def exists(lab, uuid):
    """Whether Nova still has a server."""
    try:
        lab.server(uuid)
    except openstack.exceptions.NotFoundException:
        return False
    return True


def settled(lab, timeout=180):
    """Wait until no server has a task: what is left pending then, is pending for ever."""
    waiting.until("no server has a task", lambda: guestkit.idle(lab) or None, timeout, 1)


def restored(lab, uuids, host):
    """Let every guest run again, on the host; forget the images that were asked for."""
    for uuid in uuids:
        status = lab.server(uuid)["status"]
        if status in BACK:
            lab.action(uuid, BACK[status])
        elif status in SHELVED:
            lab.action(uuid, "unshelve", {"host": host}, "2.91")
        elif status == "ERROR":
            lab.action(uuid, "os-resetState", {"state": "active"})
            lab.action(uuid, "reboot", {"type": "HARD"})
    for uuid in uuids:
        guestkit.wait_for(lab, uuid, "ACTIVE", 180, host=host)
    for image in lab.cloud.image.images():
        if image.name.startswith(("owners-test", "plain", "swap", "ephemeral")):
            with contextlib.suppress(openstack.exceptions.SDKException):
                lab.cloud.image.delete_image(image.id)
