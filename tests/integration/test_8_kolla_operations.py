# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is not a rename, on hosts as kolla-ansible makes them: doctor, audit, moves, drain, resize, links, evacuation.

compute1 and compute2 have containers, compute3 has packages. Ceph's configuration, its keyring and nova.conf are in
/etc/kolla, where no program of the host looks for them.
"""

from __future__ import annotations

import contextlib
import json

import pytest
from labkit import evacuation, state, waiting, zoning
from labkit import guests as guestkit
from labkit.deadhost import MARK, blocklist, boot, closed, come_back, evacuate, held_container, stopped_compute, tidy
from labkit.fixtures import documented_grants
from labkit.playbook import Playbooks

from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence

pytestmark = pytest.mark.matrix("operations-kolla", l2="ovs", deploy="kolla:compute1,compute2")

HOST, OTHER, PACKAGED = "compute1", "compute2", "compute3"
#: Where a host's own Python finds what it needs for Ceph, and the commands.
BINDINGS = "/usr/lib/python3/dist-packages/{rbd,rados}.cpython-*.so"
COMMANDS = "/usr/bin/{rbd,ceph}"
SWITCH = "/usr/bin/ovs-vsctl"


@pytest.fixture(scope="module")
def books(lab):
    yield Playbooks(lab, {"cloud": "lab", **guestkit.grant(lab, "sg_kolla", documented_grants())})
    tidied(lab)


@pytest.fixture
def clean(lab):
    """No guests, all hosts on and enabled: before each test, and after the last."""
    return tidied(lab)


def tidied(lab):
    tidy(lab)
    zoning.tidy(lab)
    return lab


def run(books, name, flags=(), **given):
    own = {"stackguard_state_dir": str(zoning.state_dir(books.lab))}
    return books.run(name, variables={**own, **given}, flags=flags, timeout=900)


def stands(lab, guests):
    """By name, where each guest is, and in which state."""
    servers = {name: lab.server(uuid) for name, uuid in guests.items()}
    return {name: (row["OS-EXT-SRV-ATTR:host"], row["status"]) for name, row in servers.items()}


@contextlib.contextmanager
def hidden(lab, host, *patterns):
    """Files of the host that are empty for this long, as if they were not installed. Its containers have their own."""
    files = lab.ssh(host, f"bash -c 'ls {' '.join(patterns)}'").split()
    assert len(files) >= len(patterns)
    lab.ssh(host, "; ".join(f"mount --bind /dev/null {file}" for file in files))
    try:
        yield
    finally:
        lab.ssh(host, "; ".join(f"umount {file}" for file in files))


# --- doctor


def doctor(books, **variables):
    # A host of the lab shares the machine's clock; nobody on it may read its own Ceph caps.
    chosen = {"doctor_accept_unchecked": ["ceph_caps"], **variables}
    result = books.run("doctor", variables=chosen)
    written = json.loads((result.directory / "reports" / "doctor.json").read_text())
    return result, {(row["subject"], row["part"]): row for row in written["results"]}


def test_the_doctor_finds_the_hosts_ready_and_reaches_ceph_on_each(lab, books):
    result, parts = doctor(books)
    result.ok()
    assert parts[HOST, "nova_conf"]["seen"] == "/etc/kolla/nova-compute/nova.conf"
    fsid = lab.command("ceph", "fsid").stdout.strip()
    for host in (HOST, OTHER, PACKAGED):
        assert f"{fsid} answers, through python3-rbd" in parts[host, "rbd"]["seen"], parts[host, "rbd"]


def test_without_bindings_the_doctor_reaches_ceph_by_the_commands_of_the_container(lab, books):
    with hidden(lab, HOST, BINDINGS, COMMANDS):
        result, parts = doctor(books)
    result.ok()
    assert "answers, through the commands rbd and ceph" in parts[HOST, "rbd"]["seen"], parts[HOST, "rbd"]


def test_the_doctor_names_a_host_that_does_not_reach_ceph(lab, books):
    """Its keyring is gone, which nova-compute notices at its next start only."""
    copies = ("/etc/kolla/nova-compute/ceph.client.nova.keyring", "/etc/ceph/ceph.client.nova.keyring")
    kept, inside = (f"mv {path} {path}.kept" for path in copies)
    lab.ssh(HOST, f"{kept} && podman exec nova_compute {inside}")
    try:
        result, parts = doctor(books)
    finally:
        kept, inside = (f"mv {path}.kept {path}" for path in copies)
        lab.ssh(HOST, f"{kept} && podman exec nova_compute {inside}")
    result.failed()
    assert parts[HOST, "rbd"]["state"] == "failed", parts[HOST, "rbd"]
    assert parts[OTHER, "rbd"]["state"] == "ok"


# --- audit


def audited(lab, books, servers, undecided=()):
    """An audit that has decided everything but some, and has changed nothing."""
    before = state.everything(lab)
    done = books.run("audit").ok()
    state.assert_same(before, state.everything(lab), "the audit changed something")
    blockers = [item for item in done.report["findings"] if item["severity"] == "blocker"]
    assert blockers == [], done.told()
    assert (done.report["hosts"], done.report["servers"]) == (len(lab.hosts), servers)
    assert {item["code"] for item in done.report["unchecked"]} <= {"SG401", "SG402", "SG404", *undecided}, done.told()
    return done


def forecast(result, host=HOST):
    return json.loads((result.directory / "reports" / "forecast.json").read_text())["hosts"][host]


def test_an_audit_decides_everything_and_forecasts_a_start(clean, books):
    boot(clean, "run", 2)
    done = audited(clean, books, 2)
    assert [forecast(done, host)["told"] for host in clean.hosts] == ["starts"] * 3


def test_an_audit_of_a_host_whose_bindings_are_in_its_container(clean, books):
    boot(clean, "run", 1)
    with hidden(clean, HOST, BINDINGS, COMMANDS, SWITCH), hidden(clean, OTHER, BINDINGS, COMMANDS, SWITCH):
        # The commands list a pool without its watchers.
        done = audited(clean, books, 1, {"SG507"})
    hosts = evidence.load(str(done.directory / "reports" / "evidence.jsonl")).hosts
    for host in (HOST, OTHER):
        assert hosts[host].ovs_external_ids["hostname"] == host, hosts[host].unread
        assert hosts[host].ovs_version == hosts[PACKAGED].ovs_version


def test_an_audit_forecasts_what_a_stopped_nova_compute_does(clean, books):
    boot(clean, "run", 1)
    with stopped_compute(clean, HOST):
        done = books.run("audit", "audit_fail_on=never").ok()
    assert forecast(done)["told"] == "starts", done.told()
    assert not {item["code"] for item in done.report["unchecked"]} & {"SG113", "SG124"}, done.told()


# --- moves, drain, resize


def test_a_server_moves_between_hosts_with_containers_and_is_resized(clean, books):
    lab = clean
    guests = {**boot(lab, "run", 1), **boot(lab, "still", 1, "--stopped")}
    run(books, "migrate_server", migrate_servers=["run1"]).ok()
    assert stands(lab, guests) == {"run1": (OTHER, "ACTIVE"), "still1": (HOST, "SHUTOFF")}
    run(books, "migrate_server", migrate_servers=["still1"], migrate_live=False).ok()
    assert stands(lab, guests) == {"run1": (OTHER, "ACTIVE"), "still1": (OTHER, "SHUTOFF")}
    run(books, "resize_server", resize_server=guests["run1"], resize_flavor="micro").ok()
    server = lab.server(guests["run1"])
    assert (server["status"], server["flavor"]["original_name"]) == ("ACTIVE", "micro")
    assert server["OS-EXT-SRV-ATTR:host"] in (HOST, OTHER), "the zone is kept"


def test_a_host_is_drained_and_filled_again(clean, books):
    lab = clean
    guests = {**boot(lab, "run", 2), **boot(lab, "still", 1, "--stopped")}
    run(books, "drain_host", drain_host=HOST).ok()
    expected = {"run1": (OTHER, "ACTIVE"), "run2": (OTHER, "ACTIVE"), "still1": (OTHER, "SHUTOFF")}
    assert stands(lab, guests) == expected
    assert lab.service(HOST)["status"] == "disabled"
    zoning.enable(lab, HOST)
    waiting.until("the scheduler takes the host", lambda: not evacuation.shunned(lab) or None, 120, 2)
    run(books, "drain_host", drain_host=OTHER).ok()
    assert stands(lab, guests) == {name: (HOST, status) for name, (_host, status) in expected.items()}


# --- links


def test_a_directory_in_the_volume_of_a_container_is_found_and_moved_aside(clean, books):
    """A reverted resize leaves it. nova-compute runs on, and its instances_path has another path outside."""
    lab = clean
    (uuid,) = zoning.boot(lab).values()
    lab.action(uuid, "migrate", {"host": OTHER}, "2.56")
    guestkit.wait_for(lab, uuid, "VERIFY_RESIZE", host=OTHER)
    lab.action(uuid, "revertResize")
    guestkit.wait_for(lab, uuid, "ACTIVE", host=HOST)
    inside = lambda: lab.ssh(OTHER, "podman exec nova_compute ls /var/lib/nova/instances").split()  # noqa: E731
    assert uuid in inside()
    found = run(books, "audit", audit_fail_on="never").ok()
    left = {item["object"]["id"]: item["evidence"] for item in found.report["findings"] if item["code"] == "SG713"}
    assert [entry["directory"] for entry in left[OTHER]["directories"]] == [uuid]
    evacuation.may_unblock(lab, "compute3")
    given = {"return_host": OTHER, "stackguard_ceph_host": "compute3", "stackguard_ceph_user": "stackguard"}
    assert run(books, "return_host", **given).ok().stats["state"] == "clear"
    assert [name.partition(".stackguard-")[0] for name in inside() if uuid in name] == [uuid]
    assert uuid not in inside()
    run(books, "migrate_server", migrate_servers=[uuid]).ok()
    assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER


def test_a_wrong_link_is_repaired_with_what_is_read_on_the_host(clean, books):
    lab = clean
    (uuid,) = boot(lab, "run", 1).values()
    query = "SELECT compute_id AS c FROM instances WHERE uuid = %s"
    right = lab.value("cell1", query, uuid)
    with stopped_compute(lab, HOST):
        lab.sql("cell1", "UPDATE instances SET compute_id = NULL WHERE uuid = %s", uuid)
        seen = run(books, "repair_links", ["--check"], repair_read_hosts=True).ok()
        assert [(item["code"], item["object"]["id"]) for item in seen.report["findings"]] == [("SG211", uuid)]
        assert lab.value("cell1", query, uuid) is None
        run(books, "repair_links", repair_read_hosts=True).ok()
        assert lab.value("cell1", query, uuid) == right


# --- evacuation and return


@contextlib.contextmanager
def dead(lab):
    evacuation.kill(lab, HOST)
    try:
        yield
    finally:
        if not lab.is_on(HOST):
            lab.command("host", HOST, "power-on")


def assert_arrived(lab, guests):
    """Each server is on the other host with its disk, which nobody else has open; none has a guard any more."""
    for name, uuid in guests.items():
        running = name.startswith("run")
        assert stands(lab, guests)[name] == (OTHER, "ACTIVE" if running else "SHUTOFF")
        assert evacuation.mark(lab, PACKAGED, f"{uuid}_disk") == f"{MARK}-{name}"
        assert len(evacuation.watchers(lab, f"{uuid}_disk")) == int(running)
        assert evacuation.snapshots(lab, f"{uuid}_disk") == []


def marked(lab):
    guests = {**boot(lab, "run", 2), **boot(lab, "still", 1, "--stopped")}
    for name, uuid in guests.items():
        evacuation.mark(lab, PACKAGED, f"{uuid}_disk", f"{MARK}-{name}")
    return guests


@pytest.mark.parametrize("how", ["bindings", "commands"])
def test_a_dead_host_is_evacuated_and_returns(clean, books, how):
    """Fenced and guarded by a host with containers, by its bindings or by the commands in its container."""
    lab = clean
    guests = marked(lab)
    chosen = {"evacuate_host": HOST, "stackguard_ceph_host": OTHER}
    missing = (BINDINGS, COMMANDS) if how == "commands" else ()
    # The container does not know the keyring of the user that may let in again: it is one of the host.
    reader = PACKAGED if missing else OTHER
    without = hidden(lab, OTHER, *missing) if missing else contextlib.nullcontext()
    with without, held_container(lab, HOST, stop=False):
        with dead(lab):
            refused = evacuate(books, fence="attested", variables=chosen).failed()
            assert "SG506" in refused.codes, refused.told()
            done = evacuate(books, variables=chosen).ok()
            assert {entry["state"] for entry in done.stats["landed"]} == {"verified"}, done.told()
            assert_arrived(lab, guests)
            assert len(blocklist(lab)) == 1
            (journal,) = closed(lab)
            assert set(journal["steps"].values()) == {"done"}, journal["steps"]
        evacuation.may_unblock(lab, reader)
        come_back(books, ceph=(reader, "stackguard"), host=HOST).ok()
        assert blocklist(lab) == []
        assert lab.ssh(HOST, "virsh list --all --uuid").split() == []
        before = guestkit.reports(lab, HOST)
    guestkit.wait_report(lab, HOST, before)
    come_back(books, ceph=(reader, "stackguard"), host=HOST).ok()
    service = lab.service(HOST)
    assert (service["status"], service["forced_down"]) == ("enabled", False)
    assert_arrived(lab, guests)
