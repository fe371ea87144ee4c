# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers on volumes: unshelved where Nova binds them to their volumes' zone, and moved by a rename by drain."""

from __future__ import annotations

import pytest
from labkit import guests as guestkit
from labkit import killing, state, waiting, zoning
from labkit.deadhost import OTHER, SOURCE
from labkit.fixtures import prepared
from labkit.guests import NEW
from labkit.volumes import KINDS, booted

pytestmark = pytest.mark.matrix("volumes-moves", cinder="ceph,nfs,san")

FAR_ZONE = zoning.OTHER_ZONE
OFFLOADED = "SHELVED_OFFLOADED"


def shelved(lab, volumes):
    """A server of az1 without a pin that is shelved, one of its volumes in az2."""
    server = booted(lab, "ceph")["ceph"]
    volumes.attach(server, volumes.create("ceph", FAR_ZONE))
    lab.action(server, "shelve")
    guestkit.wait_for(lab, server, OFFLOADED, timeout=300)
    return server


def stands(lab, server):
    found = lab.server(server)
    return found["OS-EXT-SRV-ATTR:host"], found["status"], zoning.pin(lab, server)


def test_with_volumes_in_two_zones_it_stays_shelved_and_keeps_its_pin(readable, volumes, playbooks, tmp_path):
    """By the collection's own look first (SG409); by Nova's where a person names one of the zones."""
    lab = readable
    server = shelved(lab, volumes)
    before, rows = zoning.spec(lab, server), volumes.rows()
    given = {"unshelve_server": server, "stackguard_state_dir": str(tmp_path / "state")}
    with zoning.api_configured(lab, "cinder", "cross_az_attach = false"):
        assert "SG409" in playbooks.run("unshelve_server", variables=given).failed().codes
        assert stands(lab, server) == (None, OFFLOADED, None)
        result = playbooks.run("unshelve_server", variables={**given, "unshelve_zone": zoning.ZONE}).failed()
        print(result.told())
        assert stands(lab, server) == (None, OFFLOADED, None)
        assert (zoning.spec(lab, server), volumes.rows()) == (before, rows)
    # Nothing is left that hinders the next one.
    playbooks.run("unshelve_server", variables={**given, "unshelve_zone": zoning.ZONE}).ok()
    host, status, pin = stands(lab, server)
    assert (host in (SOURCE, OTHER), status, pin) == (True, "ACTIVE", zoning.ZONE)
    assert volumes.wrong() == []


@pytest.fixture
def first_names(readable):
    """The hosts have their first names at the end: no other test knows a renamed one."""
    yield readable
    prepared(readable)


def test_a_rename_by_drain_that_is_killed_among_its_moves_takes_the_volumes_along(first_names, volumes, playbooks):
    lab = first_names
    servers = booted(lab, *KINDS)
    drain = {"rename_strategy": "drain", "rename_drain_return": True}
    process = playbooks.start_rename([f"rename_from={SOURCE}", f"rename_to={NEW}"], variables=drain)
    waiting.until("one is on its way", lambda: {row["host"] for row in volumes.rows()} != {SOURCE} or None, 400, 0.5)
    killing.kill(process)
    assert playbooks.finish(process).rc == -9
    waiting.until("Nova's own moves are over", lambda: guestkit.idle(lab) or None, 120)
    assert volumes.wrong() == []
    playbooks.rename(SOURCE, NEW, variables=drain, timeout=900).ok()
    assert state.files(lab)["uname -n"] == NEW
    for server in servers.values():
        guestkit.wait_for(lab, server, "ACTIVE", host=NEW)
    assert {row["host"] for row in volumes.rows()} == {NEW}
    assert volumes.wrong() == []
