# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rename itself, from the plan in check mode to everything people do with servers on the renamed host.

The tests of this file are one story, told in order: plan, rename, again, work on the renamed host, back, and once
more for what cannot be put back (evacuation, deletion).
"""

from __future__ import annotations

import json
import re
import time

import jsonschema
import pytest
from labkit import guests as guestkit
from labkit import state, waiting
from labkit.guests import NEW

OLD = "compute1"
LOG = "/var/log/nova/nova-compute.log"
RUNNING = ("plain1", "plain2", "plain3", "swap1", "ephemeral1")

REPORT = {
    "type": "object",
    "required": ["schema", "verdict", "generated_at", "hosts", "servers", "findings", "unchecked", "counts"],
    "properties": {
        "schema": {"const": 1},
        "verdict": {"enum": ["pass", "warn", "block"]},
        "generated_at": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT"},
        "hosts": {"type": "integer"},
        "servers": {"type": "integer"},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["code", "slug", "severity", "object", "evidence", "remedy"],
                "properties": {
                    "code": {"type": "string", "pattern": r"^SG\d{3}$"},
                    "severity": {"enum": ["blocker", "warning", "info"]},
                    "evidence": {"type": "object"},
                    "remedy": {"type": "string"},
                    "object": {
                        "type": "object",
                        "required": ["kind", "id", "name", "host"],
                        "properties": {
                            "kind": {
                                "enum": ["host", "service", "compute_node", "instance", "migration", "pci_device",
                                         "resource_provider", "aggregate", "port", "image", "domain"]
                            }
                        },
                    },
                },
            },
        },
        "unchecked": {
            "type": "array",
            "items": {"type": "object", "required": ["code", "object", "reason"]},
        },
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def story(lab, guests, playbooks):
    """What later tests compare with: filled by earlier ones. Journals of other tests' renames are gone."""
    lab.ssh(OLD, "rm -rf /var/lib/stackguard")
    return {"before": state.everything(lab, restarted=True), "identity": state.identity(lab, OLD), "log": log_size(lab)}


def log_size(lab):
    return int(lab.ssh(OLD, f"stat -c %s {LOG}"))


def log_since(lab, offset):
    return lab.ssh(OLD, f"tail -c +{offset + 1} {LOG}")


def assert_guests_untouched(before, after):
    """Same processes, same uuids, same XML, live and inactive."""
    assert {domain["process"] and tuple(domain["process"]) for domain in before.values()} - {None}, "no guest runs"
    state.assert_same(before, after, "guests have changed")


def assert_log_clean(text, new, node):
    """The nova-compute that runs under the new name complains of nothing.

    Its own lines only: one that is stopped while it asks Ceph for its size says "Error updating resources", too.
    """
    verified = re.search(rf"^\S+ \S+ (\d+) .*Verified node {node} matches my host {re.escape(new)}", text, re.MULTILINE)
    assert verified, "no node was verified under the new name"
    own = [line for line in text.splitlines() if line.split()[2:3] == [verified.group(1)]]
    for bad in ("Error updating resources", "Moving ComputeNode", "refusing to start", "binding_failed"):
        assert [line for line in own if bad in line] == []


def test_five_guests_run_on_the_host_one_with_swap_one_with_an_ephemeral_disk_one_stopped(lab, guests, story):
    domains = story["before"]["guests"]
    running = [uuid for uuid, domain in domains.items() if domain["process"]]
    assert sorted(running) == sorted(guests[name]["id"] for name in RUNNING)
    assert len(domains) == 6
    for name, disk in (("swap1", "disk.swap"), ("ephemeral1", "disk.eph0"), ("plain1", "_disk")):
        assert disk in domains[guests[name]["id"]]["xml"], name
    for domain in domains.values():
        assert "protocol='rbd'" in domain["xml"]
        assert "<interface" in domain["xml"]


def test_check_mode_prints_every_row_and_name_before_and_after_and_changes_nothing(lab, guests, playbooks, story):
    before = state.everything(lab)
    result = playbooks.rename(flags=["--check", "--diff"]).ok()
    state.assert_same(before, state.everything(lab), "check mode changed something")
    identity = story["identity"]
    wanted = [identity["service"][0]["uuid"], identity["node"][0]["uuid"], identity["provider"][0]["uuid"]]
    wanted += [row["uuid"] for row in identity["instances"]] + [row["port_id"] for row in identity["ports"]]
    wanted += ["host_mappings", "aggregate_hosts", "az1", "/etc/hosts", "nova-compute"]
    missing = [text for text in wanted if text not in result.stdout]
    assert not missing, f"not in the plan: {missing}\n{result.told()}"
    assert "--- step" in result.stdout or "--- before" in result.stdout, result.told()
    removed = [line for line in result.stdout.splitlines() if line.startswith("-") and OLD in line]
    added = [line for line in result.stdout.splitlines() if line.startswith("+") and NEW in line]
    # services, compute_nodes (2), instances (3 each), host_mappings, aggregate_hosts, provider, ports, name, hosts file
    least = 1 + 2 + 3 * 6 + 1 + 1 + 1 + 6 + 1 + 1
    assert len(removed) >= least, result.told()
    assert len(added) >= least, result.told()
    assert result.stats["state"] == "planned"
    jsonschema.validate(result.report, REPORT)


def test_the_host_is_renamed(lab, guests, playbooks, story):
    result = playbooks.rename(flags=["-vvv"]).ok()
    print(f"\nrename: {result.seconds:.1f} s")
    story["rename"] = result
    assert result.stats == {**result.stats, "state": "finished", "changed": True, "rename_from": OLD, "rename_to": NEW}
    assert result.stats["operation"] == "rename_host"
    jsonschema.validate(result.report, REPORT)
    assert result.report["verdict"] in ("pass", "warn")


def test_every_process_uuid_and_definition_is_as_before(lab, story):
    assert_guests_untouched(story["before"]["guests"], state.guests(lab))


def test_ids_uuids_allocations_and_zone_are_as_before(lab, story):
    after = state.identity(lab, NEW)
    assert len(after["instances"]) == 6
    state.assert_same(story["identity"], after, "not the same records under the new name")


def test_no_live_row_of_any_database_says_the_old_name(lab, story):
    assert state.written(lab, OLD) == []
    renamed = state.written(lab, NEW)
    assert len(renamed) >= 1 + 2 + 3 * 6 + 1 + 1 + 1 + 6 + 6, renamed


def test_only_names_changed_in_the_databases(lab, story):
    """Every differing value differs by the name, and by nothing else."""
    before = state.renamed(story["before"]["databases"], OLD, NEW)
    after = json.loads(json.dumps(state.databases(lab, restarted=True)))
    changed = state.difference(before, after)
    assert not changed, "\n".join(changed)


def test_the_host_knows_only_its_new_name(lab, story):
    before, after = story["before"]["files"], state.files(lab, restarted=True)
    assert after["uname -n"] == after["hostnamectl --static"] == after["virsh hostname"] == NEW
    assert after["is-active nova-compute"] == "active"
    changed = {line.split(":")[0] for line in state.difference(before, after)}
    assert changed == {"//etc/hosts", "//etc/hostname", "/hostnamectl --static", "/uname -n", "/virsh hostname"}
    text = lab.ssh(OLD, "cat /etc/hosts")
    own = [line.split() for line in text.splitlines() if line.startswith(lab.info["hosts"][OLD]["address"])]
    assert own, text
    assert all(NEW in words[1:] and OLD not in words[1:] for words in own), text
    assert lab.ssh(OLD, "ls /var/lib/stackguard/*.json 2>/dev/null || true") == ""


def test_the_journal_is_closed_private_and_without_secrets(lab, playbooks, story):
    assert lab.ssh(OLD, "stat -c %a /var/lib/stackguard").strip() == "700"
    text = lab.ssh(OLD, "cat /var/lib/stackguard/closed/*.json")
    journal = json.loads(text)
    assert journal["state"] == "finished"
    assert journal["operation_id"] == story["rename"].stats["operation_id"]
    assert not [secret for secret in playbooks.secrets if secret in text]
    log = lab.ssh(OLD, "journalctl --no-pager 2>/dev/null | tail -n 3000 || true")
    assert not [secret for secret in playbooks.secrets if secret in log]


def test_the_api_shows_every_server_and_the_service_under_the_new_name(lab, guests, story):
    shown = guestkit.every(lab)
    for name, guest in guests.items():
        expected = "compute2" if name == "elsewhere1" else NEW
        assert shown[guest["id"]]["host"] == expected
        assert shown[guest["id"]]["zone"] == "az1"
        assert lab.server(guest["id"])["OS-EXT-SRV-ATTR:hypervisor_hostname"] == expected
    service = lab.service(NEW)
    assert (service["status"], service["state"], service.get("disabled_reason")) == ("enabled", "up", None)
    assert lab.service(OLD) is None
    ports = {port.id: port for port in lab.cloud.network.ports(fields=["id", "binding:host_id", "status"])}
    for row in story["identity"]["ports"]:
        assert ports[row["port_id"]].binding_host_id == NEW
    hypervisors = lab.compute("GET", "/os-hypervisors/detail?with_servers=true")["hypervisors"]
    mine = [item for item in hypervisors if item["hypervisor_hostname"] == NEW]
    assert len(mine) == 1
    assert len(mine[0]["servers"]) == 6


def test_a_second_run_changes_nothing(lab, playbooks, story):
    before = state.everything(lab)
    result = playbooks.rename().ok()
    assert result.changed == 0, result.told()
    assert result.stats["changed"] is False
    assert result.stats["state"] == "finished"
    state.assert_same(before, state.everything(lab), "the second run changed something")


def test_status_of_a_host_without_an_open_operation(lab, playbooks, story):
    result = playbooks.rename(action="status").ok()
    assert result.changed == 0
    assert result.stats["state"] == "none"


def test_stop_and_start_on_the_renamed_host(lab, guests, story):
    identity = guests["plain1"]["id"]
    lab.action(identity, "os-stop")
    guestkit.wait_for(lab, identity, "SHUTOFF", host=NEW)
    lab.action(identity, "os-start")
    guestkit.wait_for(lab, identity, "ACTIVE", host=NEW)


def test_hard_reboot_on_the_renamed_host(lab, guests, story):
    identity = guests["plain2"]["id"]
    process = state.guests(lab)[identity]["process"]
    lab.action(identity, "reboot", {"type": "HARD"})
    guestkit.wait_for(lab, identity, "ACTIVE", host=NEW)
    assert state.guests(lab)[identity]["process"] != process


def test_live_migration_away_from_the_renamed_host_and_back(lab, guests, story):
    identity = guests["plain3"]["id"]
    for target, machine in (("compute2", "compute2"), (NEW, OLD)):
        lab.action(identity, "os-migrateLive", {"host": target, "block_migration": "auto"})
        guestkit.wait_for(lab, identity, "ACTIVE", host=target)
        assert state.guests(lab, machine)[identity]["state"] == "running"


def test_new_servers_boot_on_the_renamed_host(lab, story):
    (made,) = guestkit.create(lab, "fresh", "1", "--on", NEW)
    assert (made["host"], made["zone"], made["status"]) == (NEW, "az1", "ACTIVE")
    lab.command("guests", "delete", "fresh1")


def test_nova_compute_complains_of_nothing(lab, story):
    # Its periodic task once more under the new name, at least.
    offset = story["log"]
    waiting.until(
        "a periodic task", lambda: log_since(lab, offset).count("Final resource view: name=" + NEW) > 1, 150, 5
    )
    assert_log_clean(log_since(lab, offset), NEW, story["identity"]["node"][0]["uuid"])


def test_renamed_back_everything_is_as_at_first(lab, playbooks, story):
    before = state.guests(lab)
    result = playbooks.rename(NEW, OLD).ok()
    print(f"\nrename back: {result.seconds:.1f} s")
    assert_guests_untouched(before, state.guests(lab))
    state.assert_same(story["before"]["files"], state.files(lab, restarted=True), "files and names")
    assert state.written(lab, NEW) == []
    after = state.identity(lab, OLD)
    for moving in ("instances", "allocations"):  # launched_at and allocation ids change by a migration there and back
        story["identity"].pop(moving), after.pop(moving)
    state.assert_same(story["identity"], after, "records")


# --- what cannot be put back ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def renamed_again(lab, playbooks, story):
    """The host under the new name once more."""
    start = time.monotonic()
    playbooks.rename().ok()
    print(f"\nrenamed again: {time.monotonic() - start:.1f} s")


@pytest.mark.matrix("rename")
def test_resize_away_from_the_renamed_host_and_confirm(lab, guests, renamed_again):
    identity = guests["plain2"]["id"]
    lab.action(identity, "resize", {"flavorRef": lab.cloud.compute.find_flavor("micro").id})
    guestkit.wait_for(lab, identity, "VERIFY_RESIZE")
    lab.action(identity, "confirmResize")
    guestkit.wait_for(lab, identity, "ACTIVE")
    waiting.until("source cleaned up", lambda: identity not in state.guests(lab), 60)


@pytest.mark.matrix("rename")
def test_cold_migration_to_the_renamed_host_and_confirm(lab, guests, renamed_again):
    identity = guests["elsewhere1"]["id"]
    lab.action(identity, "migrate", {"host": NEW})
    guestkit.wait_for(lab, identity, "VERIFY_RESIZE", host=NEW)
    lab.action(identity, "confirmResize")
    guestkit.wait_for(lab, identity, "ACTIVE", host=NEW)


@pytest.mark.matrix("rename")
def test_delete_on_the_renamed_host(lab, guests, renamed_again):
    identity = guests["ephemeral1"]["id"]
    lab.command("guests", "delete", identity)
    waiting.until("domain gone", lambda: identity not in state.guests(lab), 60)
    used = lab.sql("placement", "SELECT 1 FROM allocations WHERE consumer_id = %s", identity)
    assert used == []
    images = lab.command("rbd", "ls", "vms").stdout
    assert identity not in images


@pytest.mark.matrix("rename")
def test_evacuation_from_the_renamed_host_and_its_return(lab, guests, renamed_again):
    identity = guests["swap1"]["id"]
    service = lab.service(NEW)["id"]
    lab.command("host", OLD, "power-off")
    lab.compute("PUT", f"/os-services/{service}", {"forced_down": True})
    # 2.94 explicitly: from 2.95 the server would come back stopped.
    lab.action(identity, "evacuate", {"host": "compute2"}, "2.94")
    guestkit.wait_for(lab, identity, "ACTIVE", host="compute2")
    assert state.guests(lab, "compute2")[identity]["state"] == "running"
    offset = log_size_of_disk(lab)
    lab.command("host", OLD, "power-on")
    # Nova lets a host be forced up only after nova-compute has cleared the evacuations away from it.
    waiting.until("evacuation reaped", lambda: lab.value(
        "cell1", "SELECT status FROM migrations WHERE instance_uuid = %s AND migration_type = 'evacuation'", identity
    ) == "completed", 180)  # fmt: skip
    lab.compute("PUT", f"/os-services/{service}", {"forced_down": False})
    guestkit.wait_compute(lab, NEW)
    assert identity not in state.guests(lab)
    assert state.files(lab)["uname -n"] == NEW
    assert "Error updating resources" not in log_since(lab, offset)


def log_size_of_disk(lab):
    """Of the log of a host that is off: nothing is appended until it boots."""
    path = f"{lab.info['hosts'][OLD]['directory']}/upper{LOG}"
    with open(path, "rb") as stream:
        return stream.seek(0, 2)
