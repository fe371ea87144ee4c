# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves: an unpinned server strays when Nova chooses the host; moved by the collection it stays in its zone.

compute1 and compute2 are in az1, compute3 is in az2. Each test boots the guests that it needs, and deletes them.
"""

from __future__ import annotations

import json
import re

import pytest
from labkit import guests as guestkit
from labkit import killing, waiting, zoning
from labkit.zoning import FAR, NEIGHBOUR, OTHER_ZONE, SOURCE, enable, pin, state_dir

matrix = pytest.mark.matrix
HELD, DRAINED = re.compile(r"stackguard:drain:\w+"), re.compile(r"drained \(stackguard operation \w+\)")


@pytest.fixture
def clean(lab):
    """No guests, all hosts enabled, before and after."""
    zoning.tidy(lab)
    yield lab
    zoning.tidy(lab)


def start(playbooks, name, flags=(), **given):
    own = {"stackguard_state_dir": str(state_dir(playbooks.lab))}
    return playbooks.start(name, (), variables={**own, **given}, flags=flags)


def run(playbooks, name, flags=(), **given):
    return playbooks.finish(start(playbooks, name, flags, **given), timeout=900)


def drain(playbooks, flags=(), **given):
    return run(playbooks, "drain_host", flags, drain_host=SOURCE, **given)


def hosts(lab, guests):
    """By name, where each guest is, and in which state."""
    servers = {name: lab.server(uuid) for name, uuid in guests.items()}
    return {name: (row["OS-EXT-SRV-ATTR:host"], row["status"]) for name, row in servers.items()}


def status(lab, host=SOURCE):
    service = lab.service(host)
    return service["status"], service["disabled_reason"]


def available(lab, host):
    """MiB that the kernel of a host says are available."""
    return int(lab.ssh(host, "awk '/^MemAvailable/ {print $2}' /proc/meminfo")) // 1024


def confirmed(lab, guests):
    """No migration of these is left unfinished."""
    rows = [row for uuid in guests.values() for row in lab.sql("cell1", MIGRATIONS, uuid)]
    return {row["status"] for row in rows} <= {"completed", "confirmed"}


MIGRATIONS = "SELECT status FROM migrations WHERE instance_uuid = %s"


# --- one server -----------------------------------------------------------------------------------------------


def test_unguarded_a_live_migration_without_a_host_lands_in_the_other_zone(clean):
    lab = clean
    zoning.crowd(lab)
    (uuid,) = zoning.boot(lab).values()
    lab.action(uuid, "os-migrateLive", {"host": None, "block_migration": "auto"}, "2.68")
    guestkit.wait_for(lab, uuid, "ACTIVE", timeout=300, host=FAR)
    assert lab.server(uuid)["OS-EXT-AZ:availability_zone"] == OTHER_ZONE


def test_guarded_the_same_stays_in_its_zone(clean, playbooks):
    lab = clean
    zoning.crowd(lab)
    guests = zoning.boot(lab)
    checked = run(playbooks, "migrate_server", ["--check", "--diff"], migrate_servers=list(guests)).ok()
    assert "MiB of free real memory before this server" in checked.output
    assert hosts(lab, guests) == {"web1": (SOURCE, "ACTIVE")}
    assert not zoning.migrations(lab, guests["web1"]), "a check moves nothing"
    result = run(playbooks, "migrate_server", migrate_servers="[?name=='web1']").ok()
    assert hosts(lab, guests) == {"web1": (NEIGHBOUR, "ACTIVE")}
    assert result.stats["moved"] == {guests["web1"]: NEIGHBOUR}
    assert pin(lab, guests["web1"]) is None
    assert confirmed(lab, guests)


@matrix
def test_moved_cold_it_stays_too_and_runs_again(clean, playbooks):
    lab = clean
    zoning.crowd(lab)
    guests = zoning.boot(lab)
    run(playbooks, "migrate_server", migrate_servers="web1", migrate_live=False).ok()
    assert hosts(lab, guests) == {"web1": (NEIGHBOUR, "ACTIVE")}
    assert confirmed(lab, guests)


@matrix
def test_a_server_that_is_pinned_elsewhere_is_refused_by_name(clean, playbooks):
    lab = clean
    guests = zoning.boot(lab)
    old = zoning.spec(lab, guests["web1"])
    spec = json.loads(old)
    spec["nova_object.data"]["availability_zone"] = OTHER_ZONE
    query = "UPDATE request_specs SET spec = %s WHERE instance_uuid = %s"
    lab.sql("api", query, json.dumps(spec), guests["web1"])
    assert pin(lab, guests["web1"]) == OTHER_ZONE
    refused = run(playbooks, "migrate_server", migrate_servers="web1").failed()
    assert refused.codes == {"SG404"}
    assert not zoning.migrations(lab, guests["web1"])
    word = [{"code": "SG404", "object": "web1", "reason": "it shall go to where its pin says"}]
    run(playbooks, "migrate_server", migrate_servers="web1", stackguard_overrides=word).ok()
    assert hosts(lab, guests) == {"web1": (FAR, "ACTIVE")}


# --- a host ---------------------------------------------------------------------------------------------------


def test_a_host_is_drained_within_its_zone_and_stays_disabled(clean, playbooks):
    lab = clean
    guests = {**zoning.boot(lab, "run", 2), **zoning.boot(lab, "off", 1, "--stopped")}
    checked = drain(playbooks, ["--check", "--diff"]).ok()
    assert "cold migration" in checked.output
    assert "live migration" in checked.output
    assert status(lab) == ("enabled", None)
    result = drain(playbooks).ok()
    expected = {"run1": "ACTIVE", "run2": "ACTIVE", "off1": "SHUTOFF"}
    assert hosts(lab, guests) == {name: (NEIGHBOUR, state) for name, state in expected.items()}
    assert set(result.stats["moved"]) == set(guests.values())
    assert confirmed(lab, guests)
    assert status(lab)[0] == "disabled"
    assert DRAINED.fullmatch(status(lab)[1])
    assert drain(playbooks).ok().changed == 0


def test_a_zone_without_room_is_refused_and_nothing_is_changed(clean, playbooks):
    lab = clean
    guests = zoning.boot(lab)
    enable(lab, NEIGHBOUR, "disabled")
    result = drain(playbooks).failed()
    assert result.codes == {"SG406"}
    assert status(lab) == ("enabled", None)
    assert hosts(lab, guests) == {"web1": (SOURCE, "ACTIVE")}
    assert not zoning.migrations(lab, guests["web1"])
    assert not state_dir(lab).exists() or not list(state_dir(lab).glob("*.json"))


@matrix
def test_enabled_again_only_where_it_is_asked_for_and_was_so_before(clean, playbooks):
    lab = clean
    guests = zoning.boot(lab)
    drain(playbooks, drain_enable_after=True).ok()
    assert hosts(lab, guests) == {"web1": (NEIGHBOUR, "ACTIVE")}
    assert status(lab) == ("enabled", None)
    enable(lab, NEIGHBOUR, "disabled", "a fan is broken")
    run(playbooks, "drain_host", drain_host=NEIGHBOUR, drain_enable_after=True).ok()
    assert hosts(lab, guests) == {"web1": (SOURCE, "ACTIVE")}
    assert status(lab, NEIGHBOUR) == ("disabled", "a fan is broken")


@matrix
def test_no_host_is_promised_more_than_was_measured(clean, playbooks):
    lab = clean
    guests = zoning.boot(lab, "large", 2, "--flavor", "big")
    # Room for one and a half of them, by what is measured.
    headroom = available(lab, NEIGHBOUR) - int(1.5 * (4096 + 128))
    refused = drain(playbooks, migrate_memory_headroom_mb=headroom).failed()
    assert refused.codes == {"SG501"}
    assert status(lab) == ("enabled", None)
    partly = drain(playbooks, drain_memory_headroom_mb=headroom, drain_partial=True).failed()
    assert sorted(host for host, _status in hosts(lab, guests).values()) == [SOURCE, NEIGHBOUR]
    assert len(partly.stats["left"]) == 1
    assert partly.report["verdict"] == "block"
    assert HELD.fullmatch(status(lab)[1]), "the operation is still to be ended"
    run(playbooks, "drain_host", drain_host=SOURCE, drain_action="rollback").ok()
    assert status(lab) == ("enabled", None)
    drain(playbooks).ok()
    assert {host for host, _status in hosts(lab, guests).values()} == {NEIGHBOUR}


@matrix
def test_a_host_that_is_not_read_is_no_destination(clean, playbooks):
    lab = clean
    guests = zoning.boot(lab)
    refused = drain(playbooks, stackguard_compute_hosts=f"{SOURCE}:{FAR}").failed()
    assert refused.codes == {"SG709"}
    assert hosts(lab, guests) == {"web1": (SOURCE, "ACTIVE")}


# --- a destination whose libvirt does not take the connection ---------------------------------------------------

#: A firewall, so that the neighbour's own nova-compute keeps its libvirt and stays enabled.
RULE = "INPUT -p tcp --dport 16509 --syn -j REJECT --reject-with tcp-reset"
CLOSE = f"iptables -I {RULE}"
OPEN = f"while iptables -D {RULE} 2>/dev/null; do :; done"


@pytest.fixture
def port(clean):
    """Closes the port of libvirt on the neighbour, and opens it again at the end."""
    yield lambda: clean.ssh(NEIGHBOUR, CLOSE)
    clean.ssh(NEIGHBOUR, OPEN)


@matrix
def test_a_destination_that_cannot_be_reached_is_sent_nobody_and_all_stay_active(clean, port, playbooks):
    lab = clean
    guests = zoning.boot(lab)
    port()
    refused = drain(playbooks).failed()
    assert refused.codes == {"SG406"}
    assert "does not reach libvirt at" in refused.output
    assert "port 16509: Connection refused" in refused.output
    assert hosts(lab, guests) == {"web1": (SOURCE, "ACTIVE")}
    assert not zoning.migrations(lab, guests["web1"])
    assert status(lab) == ("enabled", None)


@matrix
def test_a_port_that_closes_after_the_first_server_costs_nobody_his_state(clean, port, playbooks):
    lab = clean
    guests = zoning.boot(lab, "run", 4)
    process = start(playbooks, "drain_host", drain_host=SOURCE, drain_max_parallel=1)
    output = process.directory / "stdout"
    waiting.until("the first arrived", lambda: f"ACTIVE on {NEIGHBOUR}" in _steps(output.read_text()) or None, 300, 0.1)
    port()
    result = playbooks.finish(process, timeout=900).failed()
    assert {state for _host, state in hosts(lab, guests).values()} == {"ACTIVE"}
    failed = [row["status"] for uuid in guests.values() for row in lab.sql("cell1", MIGRATIONS, uuid)].count("error")
    assert failed <= 2, "the second failure closes it at the latest"
    assert "has set the server to ACTIVE again" in result.output
    assert "the run moves no server to" in result.output or "the run moves no more servers to" in result.output
    assert HELD.fullmatch(status(lab)[1])
    lab.ssh(NEIGHBOUR, OPEN)
    drain(playbooks).ok()
    assert set(hosts(lab, guests).values()) == {(NEIGHBOUR, "ACTIVE")}


@matrix
def test_what_is_not_made_active_again_is_named_with_the_command_also_by_the_next_run(clean, port, playbooks):
    lab = clean
    guests = zoning.boot(lab, "run", 2)
    process = start(playbooks, "drain_host", drain_host=SOURCE, drain_max_parallel=1, drain_restore_state=False)
    output = process.directory / "stdout"
    waiting.until("the first arrived", lambda: f"ACTIVE on {NEIGHBOUR}" in _steps(output.read_text()) or None, 300, 0.1)
    port()
    playbooks.finish(process, timeout=900).failed()
    (left,) = [uuid for name, uuid in guests.items() if hosts(lab, guests)[name] == (SOURCE, "ERROR")]
    drain(playbooks, drain_action="rollback").ok()
    refused = drain(playbooks).failed()
    assert refused.codes == {"SG711"}
    assert f"openstack server set --state active {left}" in refused.output


@matrix
def test_a_guest_that_is_off_since_its_hosts_boot_is_no_live_migration(clean, playbooks):
    lab = clean
    guests = zoning.boot(lab, "run", 2)
    with zoning.unaware(lab, SOURCE):
        for uuid in guests.values():
            lab.ssh(SOURCE, f"virsh destroy {uuid}")
        assert set(hosts(lab, guests).values()) == {(SOURCE, "ACTIVE")}, "as Nova shows them after a power failure"
        assert drain(playbooks).failed().codes == {"SG710"}
        renamed = playbooks.rename(SOURCE, "cn-rack8.example", variables={"rename_strategy": "drain"}).failed()
        assert renamed.codes == {"SG710"}, renamed.told()
        assert status(lab) == ("enabled", None)
        assert not [row for uuid in guests.values() for row in zoning.migrations(lab, uuid)], "nobody was sent"
        # Unguarded: Nova takes the migration for complete. The server is in ERROR on a host that has no domain of it,
        # its domain is gone from this one, and nobody takes from placement what the migration holds of the host.
        lab.action(guests["run1"], "os-migrateLive", {"host": NEIGHBOUR, "block_migration": "auto"}, "2.68")
        waiting.until("ERROR", lambda: lab.server(guests["run1"])["status"] == "ERROR" or None, 300)
        assert hosts(lab, guests)["run1"] == (NEIGHBOUR, "ERROR")
        both = [lab.ssh(host, "virsh list --all --uuid") for host in (SOURCE, NEIGHBOUR)]
        assert not [host for host in both if guests["run1"] in host]
        (left,) = lab.sql("cell1", "SELECT uuid FROM migrations WHERE instance_uuid = %s", guests["run1"])
        assert lab.placement("GET", f"/allocations/{left['uuid']}")["allocations"]
        gone = guests.pop("run1")
        lab.compute("DELETE", f"/servers/{gone}")
        waiting.until("deleted", lambda: gone not in {row["id"] for row in guestkit.every(lab).values()}, 120)
        assert lab.placement("GET", f"/allocations/{left['uuid']}")["allocations"], "the owner's deletion leaves it"
        lab.placement("DELETE", f"/allocations/{left['uuid']}")
        lab.action(guests["run2"], "reboot", {"type": "HARD"})
        guestkit.wait_for(lab, guests["run2"], "ACTIVE", timeout=120, host=SOURCE)
    drain(playbooks).ok()
    assert hosts(lab, guests) == {"run2": (NEIGHBOUR, "ACTIVE")}


@matrix
def test_a_soft_deleted_server_is_named_before_anybody_moves(clean, playbooks):
    """Nova lists it nowhere and moves it nowhere, and its owner can have it back: no host with one is empty."""
    lab = clean
    guests = zoning.boot(lab, "web", 2)
    with zoning.soft_deletion(lab):
        kept = guests["web2"]
        lab.compute("DELETE", f"/servers/{kept}")
        waiting.until("soft-deleted", lambda: lab.server(kept)["status"] == "SOFT_DELETED" or None, 180)
        assert kept not in {row["id"] for row in guestkit.every(lab).values()}, "Nova does not list it"
        refused = drain(playbooks).failed()
        assert refused.codes == {"SG710"}, refused.told()
        assert f"openstack server restore {kept}" in refused.output
        asked = run(playbooks, "migrate_server", migrate_servers=list(guests.values())).failed()
        assert asked.codes == {"SG710"}, asked.told()
        renamed = playbooks.rename(SOURCE, "cn-rack8.example", variables={"rename_strategy": "drain"}).failed()
        assert renamed.codes == {"SG710"}, renamed.told()
        assert f"web2 ({kept})" in renamed.output
        assert status(lab) == ("enabled", None)
        assert not [row for uuid in guests.values() for row in zoning.migrations(lab, uuid)], "nobody was sent"
        lab.action(kept, "restore", None)
        guestkit.wait_for(lab, kept, "ACTIVE", timeout=180, host=SOURCE)
    drain(playbooks).ok()
    assert hosts(lab, guests) == dict.fromkeys(guests, (NEIGHBOUR, "ACTIVE"))


# --- asked, and taken back --------------------------------------------------------------------------------------


@matrix
def test_the_variable_that_is_named_takes_the_host_back_and_sends_nobody(clean, playbooks):
    lab = clean
    guests = zoning.boot(lab)
    lab.action(guests["web1"], "lock", None)
    kept = drain(playbooks, drain_partial=True).failed()
    assert "SG710" in kept.codes
    drain(playbooks, drain_action="resume").failed()
    wrong = drain(playbooks, drain_acton="rollback").failed()
    assert "did you mean drain_action?" in wrong.output
    lab.action(guests["web1"], "unlock", None)
    drain(playbooks, drain_action="status").ok()
    drain(playbooks, drain_action="rollback").ok()
    assert status(lab) == ("enabled", None)
    assert hosts(lab, guests) == {"web1": (SOURCE, "ACTIVE")}
    assert not zoning.migrations(lab, guests["web1"])
    assert "nothing to resume" in drain(playbooks, drain_action="resume").failed().output


# --- interrupted ----------------------------------------------------------------------------------------------


@matrix
@pytest.mark.parametrize("said", ["] 1/3 ", "live migration to", "cold migration to", "] 3/3 "])
def test_killed_and_run_again_it_is_drained(clean, playbooks, said):
    lab = clean
    guests = {**zoning.boot(lab, "run", 2), **zoning.boot(lab, "off", 1, "--stopped")}
    process = start(playbooks, "drain_host", drain_host=SOURCE)
    killing.kill_when_said(process, said if said.startswith("]") else f": {said} {NEIGHBOUR}")
    drain(playbooks).ok()
    expected = {"run1": "ACTIVE", "run2": "ACTIVE", "off1": "SHUTOFF"}
    assert hosts(lab, guests) == {name: (NEIGHBOUR, state) for name, state in expected.items()}
    assert {len(zoning.migrations(lab, uuid)) for uuid in guests.values()} == {1}, "nobody was sent twice"
    assert confirmed(lab, guests)
    assert DRAINED.fullmatch(status(lab)[1])
    assert not list(state_dir(lab).glob("*.json"))


@matrix
def test_killed_and_ended_the_host_is_as_before(clean, playbooks):
    lab = clean
    guests = zoning.boot(lab, "off", 1, "--stopped")
    process = start(playbooks, "drain_host", drain_host=SOURCE)
    killing.kill_when_said(process, f": cold migration to {NEIGHBOUR}")
    run(playbooks, "drain_host", drain_host=SOURCE, drain_action="rollback").ok()
    assert hosts(lab, guests) == {"off1": (SOURCE, "SHUTOFF")}
    assert status(lab) == ("enabled", None)
    assert not list(state_dir(lab).glob("*.json"))


@matrix
def test_a_second_operator_is_refused_and_the_first_is_not_disturbed(clean, playbooks):
    lab = clean
    guests = zoning.boot(lab, "run", 2)
    first = start(playbooks, "drain_host", drain_host=SOURCE)
    begun(first)
    second = run(playbooks, "drain_host", drain_host=SOURCE).failed()
    assert "SG707" in second.output
    playbooks.finish(first, timeout=900).ok()
    assert {host for host, _status in hosts(lab, guests).values()} == {NEIGHBOUR}


@matrix
def test_a_run_that_slept_while_another_took_over_changes_nothing_more(clean, playbooks):
    """The machine of the first run was suspended: its operator takes over elsewhere, and then it wakes."""
    lab = clean
    guests = zoning.boot(lab, "run", 3)
    first = start(playbooks, "drain_host", drain_host=SOURCE, drain_max_parallel=1)
    begun(first)
    killing.stop(first)
    try:
        assert "SG707" in run(playbooks, "drain_host", drain_host=SOURCE).failed().output
        run(playbooks, "drain_host", drain_host=SOURCE, stackguard_take_over=True).ok()
        assert {host for host, _status in hosts(lab, guests).values()} == {NEIGHBOUR}
        # What the first one had in mind for the next guest it must not do any more.
        before = {uuid: moves_of(lab, uuid) for uuid in guests.values()}
        service = said_of(lab, SOURCE)
    finally:
        killing.go_on(first)
    told = playbooks.finish(first, timeout=900).failed()
    assert "SG707" in told.output
    assert {uuid: moves_of(lab, uuid) for uuid in guests.values()} == before
    assert {host for host, _status in hosts(lab, guests).values()} == {NEIGHBOUR}
    assert said_of(lab, SOURCE) == service


def said_of(lab, host):
    """What somebody decided about a compute service: its heartbeat moves by itself."""
    service = lab.service(host)
    return {key: service[key] for key in ("status", "forced_down", "disabled_reason")}


def moves_of(lab, uuid):
    """The ids of all migrations of a server, with their states."""
    rows = lab.cloud.compute.get("/os-migrations", params={"instance_uuid": uuid}, microversion="2.59").json()
    return sorted((row["id"], row["status"]) for row in rows["migrations"])


@matrix
def test_deleted_meanwhile_is_told_and_the_others_arrive(clean, playbooks):
    lab = clean
    guests = zoning.boot(lab, "run", 3)
    process = start(playbooks, "drain_host", drain_host=SOURCE, drain_max_parallel=1)
    begun(process)
    # Whichever has not begun: the first that is named in the output has.
    first = re.search(r"(run\d): live migration", (process.directory / "stdout").read_text()).group(1)
    victim = next(name for name in sorted(guests, reverse=True) if name != first)
    lab.command("guests", "delete", victim)
    result = playbooks.finish(process, timeout=900).ok()
    assert f"{victim}: deleted by its owner" in result.output
    assert result.stats["gone"] == [victim]
    rest = {name: uuid for name, uuid in guests.items() if name != victim}
    assert {host for host, _status in hosts(lab, rest).values()} == {NEIGHBOUR}


def begun(process):
    output = process.directory / "stdout"
    waiting.until("the first is sent", lambda: "live migration to" in _steps(output.read_text()) or None, 300, 0.1)


def _steps(text):
    """What is said once the steps begin: the plan, which is shown first, bears some of the same words."""
    return text.partition("] 2/3 ")[2]


# --- a last write that Nova lost ------------------------------------------------------------------------------


@pytest.fixture
def lost(clean):
    """A server that has moved to the neighbour live, and that Nova shows on the source: its last write was lost."""
    lab = clean
    (uuid,) = zoning.boot(lab, "lost").values()
    wanted = "SELECT host, node, compute_id FROM instances WHERE uuid = %s"
    before = lab.sql("cell1", wanted, uuid)[0]
    lab.action(uuid, "os-migrateLive", {"host": NEIGHBOUR, "block_migration": "auto"}, "2.68")
    guestkit.wait_for(lab, uuid, "ACTIVE", timeout=300, host=NEIGHBOUR)
    after = lab.sql("cell1", wanted, uuid)[0]
    write(lab, uuid, **before)
    yield uuid
    lab.ssh(NEIGHBOUR, f"virsh destroy {uuid}; virsh undefine {uuid}", check=False)
    write(lab, uuid, **after, task_state=None)


def write(lab, uuid, **columns):
    given = ", ".join(f"{name} = %s" for name in columns)
    lab.sql("cell1", f"UPDATE instances SET {given} WHERE uuid = %s", *columns.values(), uuid)


def running(lab, uuid):
    """Process ids of the server's QEMU, by host."""
    found = {host: lab.ssh(host, f"pgrep -f 'guest=.*{uuid}|uuid {uuid}'", check=False) for host in lab.hosts}
    return {host: pids.split() for host, pids in found.items() if pids.strip()}


#: What no text about such a server may order.
ORDERS = re.compile(
    r"reboot|virsh (destroy|undefine|shutdown)|server (stop|start|set|delete)|\breset|bind", re.IGNORECASE
)


def about(done, uuid):
    """The blockers of a server. No text of the report orders anything of what would end or double its guest."""
    found = [
        item
        for item in done.report["findings"]
        if uuid in (item["object"]["id"], item["object"]["name"], item["evidence"].get("device"))
        or uuid in item["object"]["id"]
    ]
    assert not [item["remedy"] for item in found if ORDERS.search(item["remedy"])], done.told()
    return [item for item in found if item["severity"] == "blocker"]


@matrix
@pytest.mark.parametrize("task", [None, "migrating"])
def test_a_server_whose_last_write_was_lost_is_one_finding_and_nobody_moves_it(lost, lab, playbooks, task):
    write(lab, lost, task_state=task)
    before = running(lab, lost)
    assert list(before) == [NEIGHBOUR]
    audited = playbooks.run("audit", variables={"audit_fail_on": "never"})
    (item,) = about(audited, lost)
    assert (item["code"], item["object"]["host"]) == ("SG132", SOURCE), audited.told()
    assert list(item["evidence"]["domains on"]) == [NEIGHBOUR]
    assert item["evidence"]["last migration"]["status"] == "completed"
    assert set(item["evidence"]["ports bound to"].values()) == {NEIGHBOUR}
    for name, given in (("drain_host", {"drain_host": SOURCE}), ("migrate_server", {"migrate_servers": [lost]})):
        refused = run(playbooks, name, ("--check",), **given).failed()
        found = {entry["code"]: entry for entry in about(refused, lost)}
        assert "SG132" in found, refused.told()
        assert not {"SG108", "SG109", "SG710"} & set(found), refused.told()
        assert list(found["SG132"]["evidence"]["domains on"]) == [NEIGHBOUR]
    assert running(lab, lost) == before


@matrix
def test_a_server_that_runs_twice_is_moved_by_nobody(lost, lab, playbooks):
    """Unguarded, a hard reboot starts a second QEMU on the same disk; drain_host --check passed then."""
    lab.action(lost, "reboot", {"type": "HARD"})
    waiting.until("two QEMUs", lambda: sorted(running(lab, lost)) == sorted((SOURCE, NEIGHBOUR)) or None, 120)
    guestkit.wait_for(lab, lost, "ACTIVE", timeout=120, host=SOURCE)
    before = running(lab, lost)
    audited = playbooks.run("audit", variables={"audit_fail_on": "never"})
    (item,) = about(audited, lost)
    assert (item["code"], item["evidence"]["domains"]) == ("SG132", 2), audited.told()
    assert any(entry.startswith("SG507") for entry in item["evidence"]["joins"]), audited.told()
    for name, given in (("drain_host", {"drain_host": SOURCE}), ("migrate_server", {"migrate_servers": [lost]})):
        refused = run(playbooks, name, ("--check",), **given).failed()
        assert {entry["code"] for entry in about(refused, lost)} == {"SG132"}, refused.told()
    assert run(playbooks, "drain_host", drain_host=SOURCE).failed().codes == {"SG132"}
    assert status(lab) == ("enabled", None)
    assert running(lab, lost) == before
