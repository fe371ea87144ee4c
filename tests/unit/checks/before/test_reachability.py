# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a live migration connects to, and what a test of that from the source says."""

from __future__ import annotations

import dataclasses
import socket

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.moves import reachability
from ansible_collections.stackguard.nova.plugins.module_utils.systems.host.steps import HostRunner
from ansible_collections.stackguard.nova.tests.unit.moving_scene import Scene

CONF = dataclasses.replace(
    Scene().cloud.bundle.hosts["compute1"].nova_conf, virt_type="kvm", live_migration_inbound_addr=None
)
PAIR = ("compute1", "compute3")


def where(dest="compute3", inbound=None, **changes):
    found = reachability.endpoint(
        dataclasses.replace(CONF, **changes), dataclasses.replace(CONF, live_migration_inbound_addr=inbound), dest
    )
    return found if isinstance(found, str) else (found.address, found.port, found.certain)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ("compute3", 16509, True)),
        ({"inbound": "10.0.0.3"}, ("10.0.0.3", 16509, True)),
        ({"inbound": "fd00::3"}, ("fd00::3", 16509, True)),
        ({"live_migration_scheme": "tls"}, ("compute3", 16514, True)),
        ({"live_migration_scheme": "ssh"}, ("compute3", 22, False)),
        ({"live_migration_uri": "qemu+tcp://%s/system"}, ("compute3", 16509, True)),
        ({"live_migration_uri": "qemu+tls://%s:4711/system", "inbound": "fd00::3"}, ("fd00::3", 4711, True)),
        ({"live_migration_uri": "qemu+ssh://nova@%s:8022/system?keyfile=/k"}, ("compute3", 8022, True)),
        ({"live_migration_uri": "qemu://%s/system"}, ("compute3", 16514, True)),
    ],
)
def test_where_nova_has_libvirt_connect_to(changes, expected):
    assert where(**changes) == expected


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"live_migration_uri": "qemu+ext://%s/system"}, "transport"),
        ({"live_migration_uri": "qemu+tcp://host/system"}, "cannot be parsed"),
        ({"live_migration_uri": "qemu+tcp://%s:port/system"}, "cannot be parsed"),
        ({"virt_type": "lxc"}, "virt_type"),
        ({"virt_type": None}, "not read"),
    ],
)
def test_what_cannot_be_told_is_no_guess(changes, word):
    assert word in where(**changes)


@pytest.mark.parametrize("missing", [0, 1])
def test_without_nova_conf_of_both_it_cannot_be_told(missing):
    confs = [CONF, CONF]
    confs[missing] = None
    assert "was not read" in reachability.endpoint(*confs, "compute3")


def judged(results=(), failures=None, able=True, **changes):
    confs = {name: dataclasses.replace(CONF, **changes) for name in PAIR}
    return reachability.reach([PAIR], confs, results, failures or {}, able)


def answer(turn=0, **more):
    return {
        "source": PAIR[0],
        "dest": PAIR[1],
        "address": "compute3",
        "port": 16509,
        "turn": turn,
        "error": None,
        **more,
    }


def test_what_was_not_tried_is_asked_for():
    found = judged()
    assert [(probe.source, probe.dest, probe.port) for probe in found.missing] == [(*PAIR, 16509)]
    assert not found.proven


def test_what_answered_is_proven_and_what_refused_is_closed():
    assert judged([answer()]).proven == {PAIR}
    found = judged([answer(error="Connection refused")])
    assert found.closed == {"compute3": "compute1 does not reach libvirt at compute3 port 16509: Connection refused"}
    assert not found.proven


def test_after_a_failure_what_was_tried_before_says_nothing():
    assert judged([answer()], {"compute3": 1}).missing[0].turn == 1
    assert judged([answer(), answer(turn=1)], {"compute3": 1}).proven == {PAIR}


@pytest.mark.parametrize(
    ("results", "able", "changes"),
    [
        ((), False, {}),
        ([answer(untried="unreachable")], True, {}),
        ((), True, {"live_migration_uri": "qemu+ext://%s/system"}),
        ([answer(error="Connection refused")], True, {"live_migration_scheme": "ssh"}),
    ],
)
def test_unknown_is_neither_proven_nor_closed(results, able, changes):
    found = judged(results, None, able, **changes)
    assert set(found.unknown) == {PAIR}
    assert (found.closed, found.proven, found.missing) == ({}, frozenset(), ())


def test_the_source_host_tries_the_connection(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        targets = [
            {"dest": "one", "address": "127.0.0.1", "port": port},
            {"dest": "two", "address": "127.0.0.1", "port": 1},
        ]
        outcome = HostRunner(str(tmp_path), check_mode=True).run(
            [{"op": "probe_tcp", "targets": targets, "timeout": 5}]
        )
    assert outcome.error is None
    assert not outcome.changed
    first, second = outcome.results[0]["probes"]
    assert first == {**targets[0], "error": None}
    assert "refused" in second["error"]
