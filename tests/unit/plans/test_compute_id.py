# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which uuid a compute_id file must hold: told where it is beyond doubt, refused with the reason everywhere else."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.links import compute_id
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.tests.unit import builders as make

PATH = "/var/lib/nova/compute_id"
OTHER = "00000000-0000-4000-8000-000000000000"


def lost(path=PATH, **changes):
    return facts.ComputeIdFile(path, True, False, **changes)


@pytest.fixture
def cloud():
    """compute1 was installed anew: no compute_id file is there."""
    return make.healthy(cells=2).put("compute_id_files", [lost("/etc/nova/compute_id"), lost()])


def decide(cloud, path=None, name="compute1", now=make.AT):
    host = cloud.bundle.hosts[name]
    return compute_id.decide(cloud.bundle, host, path, now)


def refused(cloud, problems, *names, path=None, now=make.AT):
    with pytest.raises(compute_id.IdentityError) as caught:
        decide(cloud, path, now=now)
    assert set(caught.value.problems) == ({problems} if isinstance(problems, str) else set(problems))
    for name in names:
        assert name in str(caught.value)


@pytest.mark.parametrize("style", sorted(make.STYLES))
def test_the_rows_uuid(style):
    cloud = make.healthy(style=style).put("compute_id_files", [lost("/etc/nova/compute_id"), lost()])
    decision = decide(cloud)
    (row,) = [row for row in cloud.rows("compute_nodes") if row.uuid == make.node(1)]
    names = make.STYLES[style](1)
    assert decision == compute_id.ComputeIdChoice(make.node(1), "cell1", row.id, names.host, names.libvirt, PATH, [])


def test_a_file_that_is_right_already():
    decision = decide(make.healthy())
    assert decision.uuid == make.node(1)


def test_another_of_novas_places(cloud):
    assert decide(cloud, "/etc/nova/compute_id").path == "/etc/nova/compute_id"
    refused(cloud, "other-path", "/srv/compute_id", PATH, path="/srv/compute_id")


def test_a_state_path_with_a_slash_at_its_end(cloud):
    assert decide(cloud.part("nova_conf", state_path="/var/lib/nova/")).path == PATH


def test_a_soft_deleted_row_does_not_count(cloud):
    (row,) = [row for row in cloud.rows("compute_nodes") if row.uuid == make.node(1)]
    older = dataclasses.replace(row, id=99, uuid=OTHER, deleted=99)
    assert decide(cloud.add("compute_nodes", older)).uuid == make.node(1)


def test_hosts_that_were_not_seen_are_told(cloud):
    cloud = cloud.host("compute2", compute_id_files=None).unreachable("compute3")
    assert decide(cloud).unseen == ["compute2", "compute3"]


MINE = {"uuid": make.node(1)}


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            lambda c: c.host(nova_conf=None, unread=[facts.Unread("nova_conf", "why")]),
            ["unread-nova_conf", "why"],
        ),
        (lambda c: c.host(libvirt=None), ["unread-libvirt"]),
        (lambda c: c.host(compute_id_files=None), ["unread-files"]),
        (lambda c: c.without("databases"), ["unread-databases"]),
        (lambda c: c.databases(cells=None), ["unread-cells"]),
        (
            lambda c: c.cell(2, compute_nodes=None, unread=[facts.Unread("x", "gone away")]),
            ["unread-nodes", "cell2", "gone away"],
        ),
        (lambda c: c.cell(2, scope=["compute2"]), ["narrowed", "cell2", "compute2", "compute1"]),
        (lambda c: c.drop("compute_nodes", MINE), ["no-node", "compute1"]),
        (
            lambda c: c.change("compute_nodes", MINE, host="Compute1"),
            ["no-node", "Compute1"],
        ),
        (lambda c: c.change("compute_nodes", MINE, deleted=7), ["no-node"]),
        (lambda c: c.change("compute_nodes", MINE, hypervisor_type="ironic"), ["ironic", "compute1"]),
        (
            lambda c: c.change("compute_nodes", MINE, hypervisor_hostname="x"),
            ["other-name", " x ", "compute1"],
        ),
        (lambda c: c.part("libvirt", hostname="compute1.example"), ["other-name", "compute1.example"]),
        (
            lambda c: c.part("nova_conf", host="compute2"),
            ["several-nodes", "compute2", "compute1"],
        ),
        (lambda c: c.change("compute_nodes", MINE, uuid=None), ["no-uuid"]),
        (lambda c: c.change("compute_nodes", MINE, uuid="x"), ["no-uuid", "'x'"]),
        (lambda c: second_row(c, cell=1, host="compute1", hypervisor_hostname="y"), ["several-nodes"]),
        (lambda c: second_row(c, cell=2, host="compute1"), ["several-nodes", "cell1", "cell2"]),
        (
            lambda c: second_row(c, cell=2, host="z", hypervisor_hostname="COMPUTE1"),
            ["several-nodes", " z"],
        ),
        (
            lambda c: second_row(c, cell=2, host="z", hypervisor_hostname="z", uuid=make.node(1)),
            ["uuid-of-another-node", " z"],
        ),
        (
            lambda c: c.put("compute_id_files", [lost(), here("/etc/nova/compute_id", OTHER)]),
            ["other-uuid", "/etc/nova/compute_id", OTHER],
        ),
        (lambda c: c.put("compute_id_files", [here(PATH, OTHER)]), ["other-uuid", PATH, OTHER, make.node(1)]),
        (lambda c: c.put("compute_id_files", [here(PATH, None)]), ["invalid-file", "not a UUID"]),
        (
            lambda c: c.put("compute_id_files", [here(PATH, make.node(1))], "compute2"),
            ["uuid-on-another-host", " compute2"],
        ),
    ],
)
def test_every_doubt_is_refused(cloud, spoil, words):
    refused(spoil(cloud), *words)


def here(path, uuid):
    return facts.ComputeIdFile(path, True, True, uuid, error=None if uuid else "not a UUID")


def second_row(cloud, cell, **changes):
    (row,) = [row for row in cloud.rows("compute_nodes") if row.uuid == make.node(1)]
    other = dataclasses.replace(row, **{"id": 99, "uuid": OTHER, **changes})
    return cloud.add("compute_nodes", other, cell=cell)


def test_all_reasons_at_once(cloud):
    cloud = cloud.put("compute_id_files", [here(PATH, OTHER)]).put(
        "compute_id_files", [here(PATH, make.node(1))], "compute2"
    )
    refused(cloud, ("other-uuid", "uuid-on-another-host"), PATH, OTHER, " compute2")


# --- a machine that lives -------------------------------------------------------------------------------------


def idle(cloud):
    """No guest runs on the machine that was read; its nova-compute may be refusing to serve. No API was read."""
    return cloud.host("compute1", domains=[]).put("api_services", None)


def seen(cloud, when, **changes):
    return cloud.change("services", {"host": "compute1"}, last_seen_up=when, **changes)


def test_the_identity_of_a_host_that_lives_elsewhere_is_not_given_to_a_second_machine(cloud):
    """Ansible did not reach the first one, which was a warning."""
    words = ("alive", "compute1")
    refused(idle(cloud), *words)
    # Nova writes no zone; a clock may be ahead; and a time that cannot be understood is no silence.
    for when in ("2026-11-21T05:55:01", "2026-11-21T06:00:30", "some time ago"):
        refused(idle(seen(cloud, when)), *words)
    off = [dataclasses.replace(row, state="shutoff") for row in cloud.rows("domains")]
    for unproven in (
        cloud.host("compute1", domains=None),
        cloud.host("compute1", domains=off),
        cloud.put("instances", []),
    ):
        refused(unproven, ("alive", "alive-in-api"), "compute1")
    for silent in ("2026-11-21T05:54:59", "2026-11-21T05:00:00+00:00", None):
        assert decide(idle(seen(cloud, silent))).uuid == make.node(1)
    # Its own guests run here; and a service that Nova has deleted is nobody's. compute2 reports all the time.
    assert decide(cloud).uuid == make.node(1)
    assert decide(idle(seen(cloud, make.AT, deleted=7))).uuid == make.node(1)


def test_services_that_were_not_read_are_not_silent(cloud):
    refused(idle(cloud.put("services", None)), "unread-services", "cell1")


def test_a_file_that_is_right_already_gives_nobody_an_identity():
    assert decide(idle(make.healthy())).uuid == make.node(1)


@pytest.mark.parametrize("now", ["2026-11-21T07:00:01+00:00", "2026-11-21T05:58:59+00:00", "yesterday"])
def test_databases_that_were_not_read_just_now_tell_nothing(cloud, now):
    refused(cloud, "old-databases", make.AT, "cell_info", now=now)


@pytest.mark.parametrize("now", ["2026-11-21T07:00:00+00:00", "2026-11-21T05:59:00+00:00"])
def test_databases_that_were_read_within_the_hour_count(cloud, now):
    assert decide(cloud, now=now).uuid == make.node(1)


def test_a_service_that_only_the_api_shows_as_up_is_alive(cloud):
    """With servicegroup_driver = mc the database says nothing of it."""
    silent = seen(cloud, None).host("compute1", domains=[])
    down = silent.change("api_services", {"host": "compute1"}, state="down")
    refused(silent, "alive-in-api", "compute1")
    assert decide(down).uuid == make.node(1)
