# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host that was renamed without the collection, with guests running: adopted back or forward, from many states.

Each test leaves the host under its first name. What was done by hand is done as people do it: hostnamectl, a line of
nova.conf, SQL, and then nova-compute is restarted, and refuses.
"""

from __future__ import annotations

import random
import uuid

import pytest
from labkit import killing, state, waiting
from labkit.guests import NEW

OLD = "compute1"
LOG = "/var/log/nova/nova-compute.log"
REFUSED = "refusing to start"


@pytest.fixture(scope="module")
def beginning(lab, guests, playbooks):
    """What the host was before anybody touched it."""
    lab.ssh(OLD, "rm -rf /var/lib/stackguard")
    assert any(domain["process"] for domain in state.guests(lab).values()), "no guest runs"
    return {"files": state.files(lab, restarted=True), "guests": state.guests(lab)}


# --- by hand --------------------------------------------------------------------------------------------------


def restart(lab):
    """Restart nova-compute as an operator does who does not know yet; return what it says.

    Nova of 2023.1 stops within seconds, so its service still counts as up when the new start is refused: a run then
    says to wait (SG107), because another machine may run nova-compute under this name. The operator waits.
    """
    size = int(lab.ssh(OLD, f"stat -c %s {LOG}"))
    lab.ssh(OLD, "systemctl restart nova-compute", check=False)

    def said():
        text = lab.ssh(OLD, f"tail -c +{size + 1} {LOG}")
        return text if REFUSED in text.lower() else None

    text = waiting.until("nova-compute refuses to start", said, 120)
    waiting.until("the service counts as down", lambda: (lab.service(OLD) or {}).get("state") != "up", 180)
    return text


def hostnamectl(lab):
    lab.ssh(OLD, f"hostnamectl set-hostname {NEW}")


def conf_host(lab):
    lab.ssh(OLD, f"sed -i '0,/^\\[DEFAULT\\]/s//[DEFAULT]\\nhost = {NEW}/' /etc/nova/nova.conf")


def fully_qualified(lab):
    """libvirt's name only: the canonical name of the host's address gets a domain."""
    lab.ssh(OLD, f"sed -i 's/^\\([0-9.]*\\) {OLD}$/\\1 {OLD}.lab.test {OLD}/' /etc/hosts")


def half_of_the_sql(lab):
    """What a guide recommends: the host of the instances, and nothing else of them."""
    lab.sql("cell1", "UPDATE instances SET host=%s WHERE host=%s AND deleted=0 AND id %% 2 = 0", NEW, OLD)


def second_service(lab):
    """What a start under a new name makes without a compute_id file (releases before 29, or an empty host)."""
    hostnamectl(lab)
    other = str(uuid.uuid4())
    columns = "created_at, host, `binary`, topic, report_count, version, uuid, disabled, forced_down, deleted"
    lab.sql(
        "cell1",
        f"INSERT INTO services ({columns}) SELECT NOW(), %s, `binary`, topic, 1, version, %s, 0, 0, 0 FROM services"
        " WHERE host=%s AND `binary`='nova-compute' AND deleted=0",
        NEW,
        str(uuid.uuid4()),
        OLD,
    )
    names = [
        row["Field"]
        for row in lab.sql("cell1", "SHOW COLUMNS FROM compute_nodes")
        if row["Field"] not in ("id", "uuid", "host", "hypervisor_hostname", "service_id", "mapped")
    ]
    listed = ", ".join(f"`{name}`" for name in names)
    lab.sql(
        "cell1",
        f"INSERT INTO compute_nodes ({listed}, uuid, host, hypervisor_hostname, service_id, mapped) SELECT {listed},"
        " %s, %s, %s, (SELECT id FROM services WHERE host=%s AND deleted=0), 0 FROM compute_nodes WHERE host=%s"
        " AND deleted=0",
        other,
        NEW,
        NEW,
        NEW,
        OLD,
    )
    lab.placement("POST", "/resource_providers", {"name": NEW, "uuid": other})
    lab.ssh(OLD, f"printf %s {other} > /var/lib/nova/compute_id")


# --- what is proven -------------------------------------------------------------------------------------------


def adopt(playbooks, direction, *, old=OLD, new=NEW, node=None, flags=(), kill=False, action="adopt"):
    words = {"rename_adopt": direction}
    if node:
        words["rename_hypervisor_hostname"] = node
    given = {"variables": words, "flags": flags}
    if not kill:
        return playbooks.rename(old, new, action, **given)
    names = [f"rename_from={old}", f"rename_to={new}", f"rename_action={action}"]
    return playbooks.start_rename(names, variables=words, flags=flags)


def assert_alive(lab, name, beginning):
    """nova-compute runs under the name, no guest was touched, and no other name is left."""
    state.assert_same(beginning["guests"], state.guests(lab), "guests have changed")
    service = lab.service(name)
    assert (service["status"], service["state"], service.get("disabled_reason")) == ("enabled", "up", None)
    assert state.written(lab, NEW if name == OLD else OLD) == []
    assert lab.ssh(OLD, "systemctl is-active nova-compute").strip() == "active"
    assert lab.ssh(OLD, "ls /var/lib/stackguard/*.json 2>/dev/null || true") == ""


def assert_beginning(lab, beginning):
    assert_alive(lab, OLD, beginning)
    state.assert_same(beginning["files"], state.files(lab, restarted=True), "files are not what they were")


def test_the_demos_host_goes_back(lab, guests, playbooks, beginning):
    hostnamectl(lab)
    restart(lab)
    before = state.everything(lab)
    result = adopt(playbooks, "back", flags=["--check", "--diff"]).ok()
    assert result.stats["state"] == "planned"
    assert "SG131" in result.stdout
    state.assert_same(before, state.everything(lab), "check mode changed something")
    result = adopt(playbooks, "back").ok()
    print(f"\nback: {result.seconds:.1f} s")
    assert result.stats["state"] == "finished"
    assert_beginning(lab, beginning)
    again = adopt(playbooks, "back").ok()
    assert not again.stats["changed"]


@pytest.mark.matrix("adopt")
def test_the_demos_host_goes_forward_and_a_whole_rename_goes_back(lab, guests, playbooks, beginning):
    hostnamectl(lab)
    restart(lab)
    result = adopt(playbooks, "forward").ok()
    print(f"\nforward: {result.seconds:.1f} s")
    assert_alive(lab, NEW, beginning)
    assert lab.ssh(OLD, "hostname").strip() == NEW
    adopt(playbooks, "back").ok()
    assert_beginning(lab, beginning)


@pytest.mark.matrix("adopt")
def test_half_of_the_sql_of_a_guide(lab, guests, playbooks, beginning):
    half_of_the_sql(lab)
    adopt(playbooks, "back").ok()
    assert_beginning(lab, beginning)


@pytest.mark.matrix("adopt")
def test_half_of_the_sql_and_the_host_itself(lab, guests, playbooks, beginning):
    hostnamectl(lab)
    half_of_the_sql(lab)
    restart(lab)
    adopt(playbooks, "forward").ok()
    assert_alive(lab, NEW, beginning)
    adopt(playbooks, "back").ok()
    assert_beginning(lab, beginning)


@pytest.mark.matrix("adopt")
def test_one_line_of_nova_conf(lab, guests, playbooks, beginning):
    conf_host(lab)
    restart(lab)
    adopt(playbooks, "back").ok()
    assert_alive(lab, OLD, beginning)
    assert f"host = {OLD}" in lab.ssh(OLD, "cat /etc/nova/nova.conf")
    lab.ssh(OLD, f"sed -i '/^host = {OLD}$/d' /etc/nova/nova.conf")


@pytest.mark.matrix("adopt")
def test_only_libvirts_name(lab, guests, playbooks, beginning):
    fully_qualified(lab)
    node = f"{OLD}.lab.test"
    assert lab.ssh(OLD, "virsh hostname").strip() == node
    restart(lab)
    adopt(playbooks, "forward", new=OLD, node=node).ok()
    assert lab.service(OLD)["state"] == "up"
    assert lab.value("cell1", "SELECT hypervisor_hostname FROM compute_nodes WHERE host=%s AND deleted=0", OLD) == node
    state.assert_same(beginning["guests"], state.guests(lab), "guests have changed")
    adopt(playbooks, "back", new=OLD, node=node).ok()
    assert_beginning(lab, beginning)


@pytest.mark.matrix("adopt")
def test_a_second_service_and_node(lab, guests, playbooks, beginning):
    uuid_before = lab.value("cell1", "SELECT uuid FROM compute_nodes WHERE host=%s AND deleted=0", OLD)
    second_service(lab)
    # Two services that are up are two machines: the run refuses until the one that nobody runs is down.
    waiting.until("the second service is down", lambda: lab.service(NEW)["state"] == "down", 120, 5)
    adopt(playbooks, "forward").ok()
    assert_alive(lab, NEW, beginning)
    assert lab.value("cell1", "SELECT uuid FROM compute_nodes WHERE host=%s AND deleted=0", NEW) == uuid_before
    assert lab.ssh(OLD, "cat /var/lib/nova/compute_id").strip() == uuid_before
    assert lab.value("cell1", "SELECT COUNT(*) FROM services WHERE deleted=0 AND host LIKE 'put-aside%%'") == 0
    names = [row["name"] for row in lab.placement("GET", "/resource_providers")["resource_providers"]]
    assert not [name for name in names if name.startswith("put-aside")]
    adopt(playbooks, "back").ok()
    assert_beginning(lab, beginning)


@pytest.mark.matrix("adopt")
@pytest.mark.parametrize("said", ["update cell database", "change the host name in the operating system"])
def test_killed_and_resumed(lab, guests, playbooks, beginning, said):
    hostnamectl(lab)
    half_of_the_sql(lab)
    restart(lab)
    process = adopt(playbooks, "forward", kill=True)
    killing.kill_when_said(process, said, 300, times=2)
    adopt(playbooks, "forward").ok()
    assert_alive(lab, NEW, beginning)
    adopt(playbooks, "back").ok()
    assert_beginning(lab, beginning)


@pytest.mark.matrix("adopt")
def test_rolled_back_to_what_was_found(lab, guests, playbooks, beginning):
    hostnamectl(lab)
    half_of_the_sql(lab)
    restart(lab)
    found = {"files": state.files(lab, restarted=True), "databases": state.written(lab, NEW)}
    process = adopt(playbooks, "forward", kill=True)
    killing.kill_when_said(process, "change the host name in the operating system", 300, times=2)
    result = playbooks.rename(OLD, NEW, "rollback", variables={"rename_adopt": "forward"})
    assert result.stats["state"] == "rolled-back", result.told()
    state.assert_same(found["databases"], state.written(lab, NEW), "the databases are not what they were")
    state.assert_same(beginning["guests"], state.guests(lab), "guests have changed")
    adopt(playbooks, "back").ok()
    assert_beginning(lab, beginning)


@pytest.mark.matrix("adopt")
@pytest.mark.parametrize("seed", range(6))
def test_killed_at_random(lab, guests, playbooks, beginning, seed):
    """A random state of the host, direction, step and instant, and then the same command again or a rollback."""
    dice = random.Random(f"kill {seed}")
    made = dice.choice([[hostnamectl], [half_of_the_sql], [hostnamectl, half_of_the_sql], [conf_host]])
    direction, step, later = dice.choice(["forward", "back"]), dice.randint(1, 15), dice.uniform(0, 1.5)
    ending = dice.choice(["apply", "rollback"])
    names = ", ".join(function.__name__ for function in made)
    print(f"\nseed {seed}: {names}; {direction}, killed {later:.2f} s after step {step} began; then {ending}")
    for function in made:
        function(lab)
    if made != [half_of_the_sql]:
        restart(lab)
    found = state.written(lab, NEW)
    process = adopt(playbooks, direction, kill=True)
    killing.kill_when_said(process, f" {step}/", 400, delay=later)
    if ending == "rollback":
        result = playbooks.rename(OLD, NEW, "rollback", variables={"rename_adopt": direction})
        assert result.stats["state"] == "rolled-back", result.told()
        state.assert_same(found, state.written(lab, NEW), "the databases are not what they were")
    else:
        adopt(playbooks, direction).ok()
    state.assert_same(beginning["guests"], state.guests(lab), "guests have changed")
    if direction == "forward" or ending == "rollback":
        adopt(playbooks, "back").ok()
    assert_alive(lab, OLD, beginning)
    if conf_host in made:
        lab.ssh(OLD, f"sed -i '/^host = {OLD}$/d' /etc/nova/nova.conf")
    state.assert_same(beginning["files"], state.files(lab, restarted=True), "files are not what they were")
