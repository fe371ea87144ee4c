# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requests that owners send while their host is dead: what becomes of them when nova-compute of that name starts."""

from __future__ import annotations

import pytest
from labkit import broker, evacuation, waiting
from labkit import guests as guestkit
from labkit.deadhost import OTHER, SOURCE, boot
from labkit.owners import Owner

pytestmark = pytest.mark.matrix("evacuation")


def test_unguarded_a_start_that_waited_makes_a_second_writer(clean):
    """Nova checks the server's task after the driver has acted: the row says compute2, and two QEMUs have the disk."""
    lab = clean
    owner = Owner(lab)
    (uuid,) = boot(lab, "waits").values()
    owner.asks(uuid, "os-stop")
    guestkit.wait_for(lab, uuid, "SHUTOFF")
    evacuation.kill(lab, SOURCE)
    assert owner.asks(uuid, "os-start") == 202
    assert broker.messages(lab, f"compute.{SOURCE}") == 1
    lab.action(uuid, "os-resetState", {"state": "active"})
    evacuation.evacuate_unguarded(lab, uuid, OTHER)
    guestkit.wait_for(lab, uuid, "ACTIVE", host=OTHER)
    assert len(evacuation.watchers(lab, f"{uuid}_disk")) == 1
    lab.command("host", SOURCE, "power-on")
    waiting.until("the request taken", lambda: broker.messages(lab, f"compute.{SOURCE}") == 0 or None, 180, 2)
    try:
        two = lambda: len(evacuation.watchers(lab, f"{uuid}_disk")) == 2 or None  # noqa: E731
        waiting.until("a second QEMU on the disk", two, 60, 2)
        shown = lab.server(uuid)
        assert (shown["OS-EXT-SRV-ATTR:host"], shown["status"]) == (OTHER, "ACTIVE"), "no API shows anything"
    finally:
        lab.ssh(SOURCE, f"virsh destroy {uuid}", check=False)
