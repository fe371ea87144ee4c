# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What `make test` runs with Cinder: a server that boots from a volume, and has another, goes to another host.

All else about volumes is in the parts volumes-* of `make test-matrix`.
"""

from __future__ import annotations

from labkit import zoning
from labkit.deadhost import OTHER, SOURCE
from labkit.volumes import booted


def test_a_drain_takes_a_server_on_volumes_along_and_cinder_and_ceph_say_so(readable, volumes, playbooks):
    lab = readable
    server = booted(lab, "ceph")["ceph"]
    assert len(volumes.of(server)) == 2
    assert volumes.hosts(server) == {SOURCE}
    variables = {"drain_host": SOURCE, "stackguard_state_dir": str(zoning.state_dir(lab))}
    playbooks.run("drain_host", variables=variables).ok()
    found = lab.server(server)
    assert (found["status"], found["OS-EXT-SRV-ATTR:host"]) == ("ACTIVE", OTHER)
    assert volumes.hosts(server) == {OTHER}
    assert volumes.wrong() == []
