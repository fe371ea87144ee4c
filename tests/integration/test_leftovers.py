# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What moves leave behind, made for real: told by the audit, cleared by return_host, and what must stay stays.

compute1 and compute2 are in az1. Each test boots the guests that it needs, and puts the lab back.
"""

from __future__ import annotations

import uuid as uuids

import pytest
from labkit import evacuation, waiting
from labkit import guests as guestkit
from labkit.deadhost import OTHER, SOURCE, boot, come_back, state_dir, stopped_compute
from labkit.fixtures import documented_grants

from ansible_collections.stackguard.nova.plugins.module_utils.model.errors import Conflict
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import http, resource_providers

pytestmark = pytest.mark.matrix
READER = ("compute3", "stackguard")
HELD = {"MEMORY_MB": 64, "VCPU": 1}


def provider(lab, host):
    return lab.value("cell1", "SELECT uuid FROM compute_nodes WHERE host = %s AND deleted = 0", host)


def held(lab, consumer):
    """By provider, what a consumer holds."""
    found = lab.placement("GET", f"/allocations/{consumer}")["allocations"]
    return {uuid: entry["resources"] for uuid, entry in found.items()}


def hold(lab, consumer, *hosts, of=None):
    """Let a consumer hold something of these hosts only, as a lost step of Nova does. ``of``: whose it is."""
    now = lab.placement("GET", f"/allocations/{consumer}")
    owner = lab.placement("GET", f"/allocations/{of or consumer}")
    body = {
        "allocations": {provider(lab, host): {"resources": HELD} for host in hosts},
        "consumer_generation": now.get("consumer_generation"),
        **{key: owner[key] for key in ("project_id", "user_id")},
    }
    lab.placement("PUT", f"/allocations/{consumer}", body)


def migrate(lab, uuid, *then):
    """Migrate a server cold, and confirm or revert that; returns the uuid and the status of its migration."""
    lab.action(uuid, "migrate", {"host": OTHER}, "2.56")
    guestkit.wait_for(lab, uuid, "VERIFY_RESIZE", host=OTHER)
    for act in then:
        lab.action(uuid, act)
        guestkit.wait_for(lab, uuid, "ACTIVE")
    query = "SELECT uuid, status FROM migrations WHERE instance_uuid = %s ORDER BY id DESC LIMIT 1"
    (row,) = lab.sql("cell1", query, uuid)
    return row["uuid"], row["status"]


def told(done, code="SG713"):
    """By object, the evidence of a code's findings."""
    return {item["object"]["id"]: item["evidence"] for item in done.report["findings"] if item["code"] == code}


def nova_manage(lab, *words):
    return lab.command("nova-manage", "placement", *words, check=False).stdout


def back(lab, playbooks, *flags):
    evacuation.may_unblock(lab, READER[0])
    return come_back(playbooks, flags, ceph=READER)


def test_return_host_releases_what_ended_migrations_hold_and_nothing_else(clean, playbooks, monkeypatch):
    lab = clean
    waits, confirmed, reverted = boot(lab, "left", 3).values()
    waiting_move, *ended = (
        migrate(lab, waits),
        migrate(lab, confirmed, "confirmResize"),
        migrate(lab, reverted, "revertResize"),
    )
    assert [waiting_move[1], *(status for _uuid, status in ended)] == ["finished", "confirmed", "reverted"]
    resize, (old, _status), (only, _status) = waiting_move[0], *ended
    # Its confirmation could not delete it.
    hold(lab, old, SOURCE, of=waits)
    # The revert could not give it back: the server is here, and holds something where it was.
    hold(lab, only, SOURCE, of=waits)
    hold(lab, reverted, OTHER)
    unknown = str(uuids.uuid4())
    hold(lab, unknown, SOURCE, of=waits)
    place = provider(lab, SOURCE)
    assert set(held(lab, resize)) == {place}

    audit = told(playbooks.run("audit", "audit_fail_on=never").ok())
    assert {entry["consumer"] for entry in audit[place]["consumers"]} == {old, only, unknown}
    assert {entry["consumer"] for entry in audit[provider(lab, OTHER)]["consumers"]} == {reverted}
    given = {"rename_from": SOURCE, "rename_to": "cn-left9.example", "rename_strategy": "drain"}
    given["stackguard_state_dir"] = str(state_dir(lab))
    refused = playbooks.run("rename_host", variables=given, flags=["--check"]).failed()
    assert {resize, old, only, unknown} <= set(told(refused, "SG709"))

    with stopped_compute(lab, SOURCE):
        checked = back(lab, playbooks, "--check").ok()
        assert old in checked.output and held(lab, old)
        # Somebody changes it between the two requests: it is refused, and what is there stays.
        real = http.call

        def raced(connection, service, method, path, *rest, **more):
            if method == "PUT":
                lab.placement("PUT", path, {**lab.placement("GET", path), "user_id": "somebody-else"})
            return real(connection, service, method, path, *rest, **more)

        with monkeypatch.context() as patched, pytest.raises(Conflict):
            patched.setattr(http, "call", raced)
            resource_providers.release_allocation(lab.cloud, old, place, HELD)
        assert held(lab, old) == {place: HELD}
        done = back(lab, playbooks).ok()
    assert done.stats["state"] == "clear"
    assert held(lab, old) == {}
    assert [held(lab, one) for one in (only, unknown)] == [{place: HELD}] * 2
    assert set(held(lab, resize)) == {place}
    assert {only, unknown} <= set(told(done, "SG509"))
    # The remedy of the second, typed.
    hold(lab, only, of=waits)
    nova_manage(lab, "heal_allocations", "--instance", reverted, "--force")
    assert set(held(lab, reverted)) == {place}
    hold(lab, unknown, of=waits)
    guestkit.wait_compute(lab, SOURCE)
    again = told(playbooks.run("audit", "audit_fail_on=never").ok())
    assert not {place, provider(lab, OTHER)} & set(again)


def test_unguarded_placement_audit_takes_the_allocation_of_a_server_that_arrives(clean):
    """So no remedy names its --delete."""
    lab = clean
    (uuid,) = boot(lab, "moves").values()
    row = {"uuid": str(uuids.uuid4()), "instance_uuid": uuid, "migration_type": "live-migration", "status": "running"}
    row.update(source_compute=SOURCE, source_node=SOURCE, dest_compute=OTHER, dest_node=OTHER, deleted=0)
    marks = ", ".join(["%s"] * len(row))
    lab.sql("cell1", f"INSERT INTO migrations ({', '.join(row)}) VALUES ({marks})", *row.values())
    try:
        hold(lab, uuid, OTHER)
        assert uuid in nova_manage(lab, "audit", "--resource_provider", provider(lab, OTHER), "--verbose")
    finally:
        hold(lab, uuid, SOURCE)
        lab.sql("cell1", "UPDATE migrations SET status = 'failed' WHERE uuid = %s", row["uuid"])


def test_a_revert_that_its_source_has_not_finished_keeps_its_allocation_and_its_directory(clean, playbooks):
    """The destination writes C(reverted) and ends its guest; what the source is to do waits in its queue."""
    lab = clean
    (uuid,) = boot(lab, "back").values()
    move, _status = migrate(lab, uuid)
    place = provider(lab, SOURCE)
    with stopped_compute(lab, SOURCE):
        lab.action(uuid, "revertResize")
        now = "SELECT status FROM migrations WHERE uuid = %s"
        waiting.until("reverted", lambda: lab.value("cell1", now, move) == "reverted" or None, 120, 2)
        assert lab.server(uuid)["OS-EXT-STS:task_state"] == "resize_reverting"
        waits = back(lab, playbooks).failed()
        assert waits.stats["state"] == "not-clear" and "SG330" in waits.codes
        # Where the queue is not read and the operator lets that pass, nothing that the revert needs is touched.
        given = {"return_host": SOURCE, "stackguard_state_dir": str(state_dir(lab))}
        given.update(stackguard_ceph_host=READER[0], stackguard_ceph_user=READER[1])
        given["stackguard_rabbit_urls"] = dict.fromkeys(lab.info["cells"], "amqp://nobody:nothing@127.0.0.1:1/")
        unread = playbooks.run("return_host", variables=given).failed()
        passed = [item for item in unread.report["findings"] if item["severity"] == "blocker"]
        words = [{"code": item["code"], "object": item["object"]["id"], "reason": "I look"} for item in passed]
        done = playbooks.run("return_host", variables={**given, "stackguard_overrides": words})
        assert done.stats["state"] in ("clear", "not-clear"), done.told()
        assert set(held(lab, move)) == {place}
        assert f"{uuid}_resize" in listed(lab, SOURCE)
    guestkit.wait_for(lab, uuid, "ACTIVE", host=SOURCE)
    assert set(held(lab, uuid)) == {place}


# --- directories ----------------------------------------------------------------------------------------------

PLACE = "/var/lib/nova/instances"


def listed(lab, host):
    return set(lab.ssh(host, f"ls {PLACE}").split())


def test_a_reverted_resize_leaves_a_directory_that_return_host_moves_aside_under_a_running_compute(clean, playbooks):
    lab = clean
    first, second, waits, files = boot(lab, "dir", 4).values()
    for uuid in (first, second):
        migrate(lab, uuid, "revertResize")
    migrate(lab, waits)
    assert {first, second} <= listed(lab, OTHER)
    # Unguarded: Nova refuses to move it there again.
    lab.action(first, "os-migrateLive", {"host": OTHER, "block_migration": "auto"}, "2.68")
    last = "SELECT status FROM migrations WHERE instance_uuid = %s ORDER BY id DESC"
    waiting.until("Nova refuses it", lambda: lab.value("cell1", last, first) in ("error", "failed") or None, 120, 2)
    # Guarded: nobody is sent there.
    given = {"migrate_servers": [second], "stackguard_state_dir": str(state_dir(lab))}
    refused = playbooks.run("migrate_server", variables=given).failed()
    assert refused.codes == {"SG523"}
    assert OTHER in told(playbooks.run("audit", "audit_fail_on=never").ok())

    # The only copy of a resize that waits, and what may be somebody's: nothing of it moves.
    kept = {f"{waits}_resize"}
    assert kept <= listed(lab, SOURCE)
    made = {f"{files}": "disk.info", f"{first}_resize": "disk", f"{second}_resize": "vtpm/state"}
    for name, file in made.items():
        lab.ssh(OTHER, f"mkdir -p $(dirname {PLACE}/{name}/{file}); touch {PLACE}/{name}/{file}")
    evacuation.may_unblock(lab, READER[0])
    stays = come_back(playbooks, ceph=READER, host=OTHER).failed()
    assert stays.stats["state"] == "not-clear"
    assert set(told(stays)) == {files, first, second}
    assert set(made) <= listed(lab, OTHER) and second not in listed(lab, OTHER)
    assert [name.partition(".")[0] for name in listed(lab, OTHER) if ".stackguard-" in name] == [second]
    for name in made:
        lab.ssh(OTHER, f"mv {PLACE}/{name} {PLACE}/{name}.aside")
    come_back(playbooks, ceph=READER, host=OTHER).ok()
    back(lab, playbooks).ok()
    assert kept <= listed(lab, SOURCE)
    playbooks.run("migrate_server", variables=given).ok()
    assert lab.server(second)["OS-EXT-SRV-ATTR:host"] == OTHER
    lab.action(waits, "revertResize")
    guestkit.wait_for(lab, waits, "ACTIVE", host=SOURCE)


# --- snapshots ------------------------------------------------------------------------------------------------


def revive(lab, uuid, host):
    """Reboot a server hard that is in ERROR."""
    lab.action(uuid, "reboot", {"type": "HARD"})
    seen = lambda: (lab.server(uuid)["status"], lab.server(uuid)["OS-EXT-STS:task_state"])  # noqa: E731
    waiting.until(lambda: f"it runs: {seen()}", lambda: seen() == ("ACTIVE", None) or None, 120, 2)
    assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == host


def test_a_migration_that_failed_on_its_destination_leaves_a_snapshot_that_the_next_one_stumbles_over(clean, playbooks):
    """Its record is in error: it can be neither confirmed nor reverted, and a hard reboot makes the server run."""
    lab = clean
    (uuid,) = boot(lab, "snap", 1, "--flavor", "big").values()
    image = f"{uuid}_disk"
    taken = lambda: not evacuation.shunned(lab) or None  # noqa: E731
    with evacuation.no_memory(lab, OTHER):
        waiting.until("the scheduler takes all hosts", taken, 120, 2)
        lab.action(uuid, "migrate", {"host": OTHER}, "2.56")
        guestkit.wait_for(lab, uuid, "ERROR", host=OTHER)
    assert evacuation.snapshots(lab, image) == ["nova-resize"]
    revive(lab, uuid, OTHER)
    found = playbooks.run("audit", "audit_fail_on=never").ok()
    assert f"vms/{image}" in told(found)
    given = {"migrate_servers": [uuid], "migrate_live": False, "stackguard_state_dir": str(state_dir(lab))}
    # Its definition is still on the source, too.
    assert playbooks.run("migrate_server", variables=given).failed().codes == {"SG108", "SG713"}
    lab.ssh(SOURCE, f"virsh undefine --keep-nvram {uuid}")
    assert playbooks.run("migrate_server", variables=given).failed().codes == {"SG713"}
    resize = {"resize_server": uuid, "resize_flavor": "micro", "stackguard_state_dir": str(state_dir(lab))}
    assert playbooks.run("resize_server", variables=resize).failed().codes == {"SG713"}
    # Unguarded: the next one fails there, too.
    lab.action(uuid, "migrate", {"host": SOURCE}, "2.56")
    guestkit.wait_for(lab, uuid, "ERROR", host=SOURCE)
    # The remedy, typed.
    lab.command("rbd", "snap", "rm", f"vms/{image}@nova-resize")
    lab.ssh(OTHER, f"virsh undefine --keep-nvram {uuid}")
    revive(lab, uuid, SOURCE)
    word = [{"code": "SG713", "object": uuid, "reason": "the snapshot is gone"}]
    playbooks.run("migrate_server", variables={**given, "stackguard_overrides": word}).ok()
    assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER
    assert evacuation.snapshots(lab, image) == []
    # A move that succeeded is the last one now.
    playbooks.run("migrate_server", variables=given, flags=["--check"]).ok()


# --- bindings -------------------------------------------------------------------------------------------------


def test_the_audit_names_a_binding_that_a_failed_live_migration_left_if_it_reads_neutrons_database(clean, playbooks):
    """neutron's API shows a port's active binding only, wherever it lists ports."""
    lab = clean
    (uuid,) = boot(lab, "bound").values()
    (port,) = lab.cloud.network.ports(device_id=uuid)
    row = "INSERT INTO ml2_port_bindings (port_id, host, vif_type, vnic_type, profile, vif_details, status)"
    lab.sql("neutron", f"{row} VALUES (%s, %s, 'unbound', 'normal', '', '', 'INACTIVE')", port.id, OTHER)
    assert [(one.id, one.binding_host_id) for one in lab.cloud.network.ports(device_id=uuid)] == [(port.id, SOURCE)]
    url = guestkit.urls(lab, "sg_exact")["neutron_db_url"]
    found = playbooks.run("audit", "audit_fail_on=never", variables={"neutron_db_url": url}).ok()
    assert told(found)[OTHER]["servers"] == [uuid]
    assert OTHER not in told(playbooks.run("audit", "audit_fail_on=never").ok())


# --- providers. The last test: it resets the lab --------------------------------------------------------------

FAR = "compute3"


def test_a_host_that_was_removed_with_an_allocation_leaves_a_provider_that_its_successor_stumbles_over(
    clean, playbooks
):
    """R06a, R06b: Nova deletes service and node and swallows that placement keeps the provider."""
    lab = clean
    (uuid,) = boot(lab, "owner").values()
    old, nobody = provider(lab, FAR), str(uuids.uuid4())
    hold(lab, nobody, FAR, of=uuid)
    shared = {"name": "shared9", "uuid": str(uuids.uuid4())}
    lab.placement("POST", "/resource_providers", shared)
    audit = lambda: playbooks.run("audit", "audit_fail_on=never").ok()  # noqa: E731
    try:
        lab.ssh(FAR, "systemctl kill -s KILL nova-compute; systemctl mask --runtime nova-compute")
        lab.compute("DELETE", f"/os-services/{lab.service(FAR)['id']}")
        found = told(audit())
        assert [entry["consumer"] for entry in found[old]["consumers"]] == [nobody]
        assert shared["uuid"] not in found
        # Its row is archived.
        lab.sql("cell1", "UPDATE compute_nodes SET uuid = %s WHERE uuid = %s", str(uuids.uuid4()), old)
        without = audit()
        assert old not in told(without)
        assert [item for item in without.report["unchecked"] if item["code"] == "SG713" and old in item["reason"]]
        # Installed anew: the name is taken.
        lab.ssh(FAR, "rm /var/lib/nova/compute_id; systemctl unmask --runtime nova-compute")
        lab.ssh(FAR, "systemctl start nova-compute")
        waiting.until("its compute node", lambda: provider(lab, FAR), 120, 2)
        refusal = "grep -c ResourceProviderCreationFailed /var/log/nova/nova-compute.log || :"
        waiting.until("it stumbles", lambda: int(lab.ssh(FAR, refusal)) or None, 120, 2)
        new = provider(lab, FAR)
        taken = told(audit(), "SG112")
        assert taken[new]["their consumers"] == {old: [nobody]}
        # The remedy, typed.
        hold(lab, nobody, of=uuid)
        lab.placement("DELETE", f"/resource_providers/{old}")
        lab.ssh(FAR, "systemctl restart nova-compute")
        listing = lambda: lab.placement("GET", "/resource_providers")["resource_providers"]  # noqa: E731
        waiting.until("its provider", lambda: new in {row["uuid"] for row in listing()} or None, 120, 2)
        after = audit()
        assert not told(after, "SG112") and old not in told(after)
    finally:
        lab.reset()
        guestkit.grant(lab, "sg_exact", documented_grants())
