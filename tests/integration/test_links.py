# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Links corrupted by SQL on a real Nova: each found and nothing else, repaired, and then nothing for Nova to correct.

Runs on whatever release the lab is of (27, 29, 34): what a release does not have is said to be unchecked. nova-compute
is stopped while links are wrong, or it would mend some of them before they are found; the last test starts it again.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import uuid as uuids
from concurrent.futures import ThreadPoolExecutor

import pytest
from labkit import guests as guestkit
from labkit import waiting
from labkit.fixtures import documented_grants, prepared

NEEDS_ID = {"SG207", "SG211", "SG212", "SG213", "SG214", "SG221"}
#: What nova-compute logs when it corrects a link by itself, or trips over one.
CORRECTIONS = ("Correcting compute_id", "Moving ComputeNode", "Setting Instance.compute_id", "Setting ComputeNode")
LOG = "/var/log/nova/nova-compute.log"
#: Referring tables first.
TABLES = ("pci_devices", "migrations", "instances", "compute_nodes", "services")
#: Columns that heartbeats change.
MOVING = ("updated_at", "report_count", "last_seen_up")
HOSTS = ("compute1", "compute2", "compute3")


class Cell:
    """Rows of cell1: as they were, and ways to spoil them. What is spoiled is put back by :meth:`restore`."""

    def __init__(self, lab):
        self.lab = lab
        self.saved = self.rows()
        live = {table: [row for row in rows.values() if not row["deleted"]] for table, rows in self.saved.items()}
        self.nodes = {row["host"]: row for row in live["compute_nodes"]}
        self.services = {row["host"]: row for row in live["services"] if row["binary"] == "nova-compute"}
        self.guests = {row["display_name"]: row for row in live["instances"]}
        self.has_compute_id = any("compute_id" in row for row in live["instances"])

    def rows(self):
        return {table: {row["id"]: row for row in self.sql(f"SELECT * FROM {table}")} for table in TABLES}

    def still(self):
        """Every row, without what heartbeats change."""
        return {
            table: {key: {name: row[name] for name in row if name not in MOVING} for key, row in rows.items()}
            for table, rows in self.rows().items()
        }

    def sql(self, statement, *params):
        return self.lab.sql("cell1", statement, *params)

    def set(self, table, row, **values):
        setting = ", ".join(f"`{name}` = %s" for name in values)
        self.sql(f"UPDATE {table} SET {setting} WHERE id = %s", *values.values(), row["id"])

    def insert(self, table, **values):
        """Insert a row and return it."""
        names, places = ", ".join(f"`{name}`" for name in values), ", ".join(["%s"] * len(values))
        self.sql(f"INSERT INTO {table} ({names}) VALUES ({places})", *values.values())
        return self.sql(f"SELECT * FROM {table} ORDER BY id DESC LIMIT 1")[0]

    def copy(self, table, row, **changes):
        """Insert a row like this one, with a uuid of its own, and return it."""
        values = {name: value for name, value in row.items() if name != "id"}
        return self.insert(table, **{**values, "uuid": str(uuids.uuid4()), **changes})

    def ghost(self, **changes):
        """An instance that is nowhere but in the database: of compute1, all its links right but for the changes."""
        return self.copy("instances", self.guests["plain1"], display_name="ghost", **changes)

    def lost(self, name):
        """A soft-deleted node with the names of a live one: what a lost identity leaves."""
        # No two rows of the same names may live, not even for this moment.
        row = self.copy("compute_nodes", self.nodes[name], deleted=4711)
        self.set("compute_nodes", row, deleted=row["id"])
        return row

    def migrating(self, status, link):
        """A migration of a ghost from compute2 to compute1."""
        ends = {"source_compute": self.nodes["compute2"], "dest_compute": self.nodes["compute1"]}
        names = {end: row["host"] for end, row in ends.items()}
        names.update(source_node=ends["source_compute"]["hypervisor_hostname"])
        names.update(dest_node=ends["dest_compute"]["hypervisor_hostname"], dest_compute_id=link)
        own = {"uuid": str(uuids.uuid4()), "instance_uuid": self.ghost()["uuid"], "deleted": 0, "hidden": 0}
        return self.insert("migrations", migration_type="resize", status=status, **own, **names)

    def restore(self):
        """Delete what was inserted, and put back every value."""
        now = self.rows()
        for table in TABLES:
            for key in sorted(set(now[table]) - set(self.saved[table])):
                self.sql(f"DELETE FROM {table} WHERE id = %s", key)
        for table in TABLES:
            for key, row in self.saved[table].items():
                moved = {
                    name: value for name, value in row.items() if name not in MOVING and now[table][key][name] != value
                }
                if moved:
                    self.set(table, row, **moved)


# --- each way in which links can be wrong ---------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class State:
    """``spoil``: makes it so, and returns the findings it is. ``ghostly``: with rows that no nova-compute may see."""

    spoil: object
    certain: bool = False
    since_28: bool = False
    ghostly: bool = False
    #: Touches rows that no other state of its kind touches.
    together: bool = True
    #: What the hosts bear witness to decides: that it is wrong, or what is right.
    proof: bool = False


STATES = {}


def state(**about):
    def keep(spoil):
        STATES[spoil.__name__] = State(spoil, **about)
        return spoil

    return keep


@state(certain=True, since_28=True)
def sg201(cell):
    cell.set("compute_nodes", cell.nodes["compute2"], service_id=None)
    return {("SG201", cell.nodes["compute2"]["uuid"])}


@state(certain=True)
def sg202(cell):
    cell.set("compute_nodes", cell.nodes["compute1"], service_id=4711)
    return {("SG202", cell.nodes["compute1"]["uuid"])}


@state(certain=True, proof=True)
def sg203(cell):
    cell.set("compute_nodes", cell.nodes["compute3"], service_id=cell.services["compute1"]["id"])
    return {("SG203", cell.nodes["compute3"]["uuid"])}


@state(certain=True, since_28=True)
def sg211(cell):
    cell.set("instances", cell.guests["plain1"], compute_id=None)
    return {("SG211", cell.guests["plain1"]["uuid"])}


@state(certain=True, since_28=True)
def sg212(cell):
    cell.set("instances", cell.guests["plain2"], compute_id=99999)
    return {("SG212", cell.guests["plain2"]["uuid"])}


@state(certain=True, since_28=True)
def sg213_and_sg207(cell):
    """What nova-manage's own online migration may link: an older row of the same names, soft-deleted."""
    old = cell.lost("compute1")
    cell.set("instances", cell.guests["plain3"], compute_id=old["id"])
    return {("SG213", cell.guests["plain3"]["uuid"]), ("SG207", old["uuid"])}


@state(certain=True, since_28=True, proof=True)
def sg214_names_right(cell):
    cell.set("instances", cell.guests["swap1"], compute_id=cell.nodes["compute2"]["id"])
    return {("SG214", cell.guests["swap1"]["uuid"])}


@state(certain=True, since_28=True, proof=True)
def sg214_id_right(cell):
    other = cell.nodes["compute2"]
    cell.set("instances", cell.guests["ephemeral1"], host=other["host"], node=other["hypervisor_hostname"])
    return {("SG214", cell.guests["ephemeral1"]["uuid"])}


@state(certain=True, ghostly=True, proof=True)
def sg215(cell):
    return {("SG215", cell.ghost(host=None, vm_state="shelved_offloaded")["uuid"])}


@state(certain=True, since_28=True, ghostly=True)
def sg221(cell):
    return {("SG221", cell.migrating("finished", 4711)["uuid"])}


@state()
def sg204(cell):
    one = cell.nodes["compute1"]
    cell.set("services", cell.services["compute1"], deleted=cell.services["compute1"]["id"])
    return {("SG204", one["uuid"])} | ({("SG202", one["uuid"])} if one["service_id"] is not None else set())


@state(proof=True)
def sg205(cell):
    """Two nodes of one host: the second is not what the host's compute_id file says."""
    two = cell.nodes["compute2"]
    twin = cell.copy("compute_nodes", two, hypervisor_hostname="second.example")
    return {("SG205", two["uuid"]), ("SG205", twin["uuid"]), ("SG206", twin["uuid"])}


@state()
def sg206_without_uuid(cell):
    cell.set("compute_nodes", cell.nodes["compute3"], uuid=None)
    return {("SG206", str(cell.nodes["compute3"]["id"]))}


@state(together=False, proof=True)
def sg206_other_uuid(cell):
    other = str(uuids.uuid4())
    cell.set("compute_nodes", cell.nodes["compute3"], uuid=other)
    return {("SG206", other)}


@state(since_28=True, proof=True)
def sg214_not_proven(cell):
    """No domain of it runs anywhere: nobody can say which is right."""
    return {("SG214", cell.ghost(compute_id=cell.nodes["compute2"]["id"])["uuid"])}


@state()
def sg215_of_an_active_one(cell):
    return {("SG215", cell.ghost(host=None, vm_state="active")["uuid"])}


@state()
def sg216(cell):
    cell.set("instances", cell.guests["swap1"], node="gone.example")
    return _nameless(cell, "swap1")


@state()
def sg216_in_capitals(cell):
    """One name to MySQL, another to Nova."""
    cell.set("instances", cell.guests["plain2"], host="COMPUTE1")
    return _nameless(cell, "plain2")


def _nameless(cell, name):
    uuid = cell.guests[name]["uuid"]
    return {("SG216", uuid)} | ({("SG214", uuid)} if cell.has_compute_id else set())


@state()
def sg217(cell):
    return {("SG217", cell.ghost(vm_state="shelved_offloaded")["uuid"])}


@state(since_28=True)
def sg221_in_progress(cell):
    return {("SG221", cell.migrating("migrating", None)["uuid"])}


@state()
def sg231(cell):
    device = {"address": "0000:00:07.0", "product_id": "10fb", "vendor_id": "8086", "dev_type": "type-PCI"}
    known = {**device, "label": "label_8086_10fb", "status": "allocated", "deleted": 0}
    return {("SG231", str(cell.insert("pci_devices", compute_node_id=cell.lost("compute1")["id"], **known)["id"]))}


def spoil(cell, names):
    """Let all these states be at once; return the findings they are. Those that a release cannot have are left out."""
    return {
        item for name in names if cell.has_compute_id or not STATES[name].since_28 for item in STATES[name].spoil(cell)
    }


# --- the lab --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cell(lab, playbooks):
    """The first cell of a lab that is as new, with the usual servers."""
    prepared(lab)
    guestkit.make(lab)
    # Where it was reset, its database users are gone.
    guestkit.grant(lab, "sg_exact", documented_grants())
    assert set(HOSTS) <= set(lab.hosts), "this wants a lab of three compute hosts"
    waiting.until("idle servers", lambda: guestkit.idle(lab), 120)
    return Cell(lab)


def on_all(lab, command):
    with ThreadPoolExecutor(len(HOSTS)) as pool:
        return dict(zip(HOSTS, pool.map(lambda host: lab.ssh(host, command, timeout=300), HOSTS), strict=True))


def start(lab):
    since = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    on_all(lab, "systemctl start nova-compute")
    for host in HOSTS:
        guestkit.wait_compute(lab, host, since=since)


@pytest.fixture(scope="module")
def stopped(lab, cell):
    """nova-compute does not run; it does again when all is as it was."""
    try:
        on_all(lab, "systemctl stop nova-compute")
        # As they left it.
        cell.saved = cell.rows()
        yield cell
    finally:
        cell.restore()
        start(lab)


@pytest.fixture
def broken(stopped):
    """A cell to be spoiled, put back at the end of the test."""
    try:
        yield stopped
    finally:
        stopped.restore()


@pytest.fixture
def links(playbooks, tmp_path):
    """Run repair_links with a journal of this test's own."""

    def run(*words, flags=()):
        variables = {"stackguard_state_dir": str(tmp_path / "state"), "cloud": None}
        return playbooks.run("repair_links", *words, variables=variables, flags=flags)

    return run


def found(result):
    assert result.report is not None, result.told()
    return {(item["code"], item["object"]["id"]) for item in result.report["findings"]}


def repaired(result):
    rows = json.loads((result.directory / "reports" / "repairs.json").read_text())
    return {(row["code"], row["object"]["id"]) for row in rows if row["outcome"] == "repaired"}


# --- the tests ------------------------------------------------------------------------------------------------


@pytest.mark.matrix("audit-links")
def test_nothing_is_wrong_in_a_cloud_that_nobody_touched(links, cell):
    seen = links(flags=["--check"]).ok()
    assert found(seen) == set(), seen.told()
    unchecked = {item["code"] for item in seen.report["unchecked"]}
    # The playbook does not read resource providers: half of SG206 is never decided by it.
    assert unchecked == {"SG206"} | (set() if cell.has_compute_id else NEEDS_ID | {"SG201", "SG215"})
    done = links().ok()
    assert (done.stats["changed"], done.stats["state"]) == (False, "none")
    assert "as far as the run could check, no wrong link remains" in done.stats["message"]


@pytest.mark.matrix("audit-links")
@pytest.mark.parametrize("name", STATES)
def test_each_state_is_found_and_nothing_else(links, broken, name):
    if STATES[name].since_28 and not broken.has_compute_id:
        # What 27 says of these is in the test above: there is no such column, and so it is unchecked.
        assert not broken.sql("SHOW COLUMNS FROM instances LIKE 'compute_id'")
        return
    expected = STATES[name].spoil(broken)
    before = broken.still()
    # The hosts are read only where they matter: it takes longer than all the rest.
    seen = links(f"repair_read_hosts={STATES[name].proof}", flags=["--check", "--diff"]).ok()
    assert found(seen) == expected, seen.told()
    assert seen.stats["changed"] is STATES[name].certain
    assert broken.still() == before


def test_what_is_certain_is_repaired_and_taken_back(links, broken):
    expected = spoil(broken, [name for name, about in STATES.items() if about.certain])
    before = broken.still()
    seen = links(flags=["--check"]).ok()
    assert found(seen) == expected, seen.told()
    done = links().ok()
    assert found(done) == set(), done.told()
    # The deleted node is in use no more when the instance that links it is mended.
    assert repaired(done) == {entry for entry in expected if entry[0] != "SG207"}
    assert "as far as the run could check, no wrong link remains" in done.stats["message"]
    now = broken.rows()
    for row in now["compute_nodes"].values():
        if not row["deleted"] and (broken.has_compute_id or row["host"] != "compute2"):
            assert row["service_id"] == broken.services[row["host"]]["id"]
    for row in broken.guests.values():
        assert place(now["instances"][row["id"]]) == place(row)
    for row in now["migrations"].values():
        if broken.has_compute_id and row["status"] == "finished":
            assert row["dest_compute_id"] == broken.nodes["compute1"]["id"]
    assert not links().ok().stats["changed"]
    back = links("repair_action=rollback").ok()
    assert back.stats["rows"]["changed"] == done.stats["rows"]["changed"]
    assert broken.still() == before


@pytest.mark.matrix("audit-links")
def test_the_journal_may_be_kept_on_another_host(links, broken, lab, tmp_path):
    """As AWX needs it: the next run is on another controller, and finds there what it must take back."""
    expected = spoil(broken, ["sg202", "sg203"])
    before = broken.still()
    there = "stackguard_state_host=compute3"
    assert repaired(links(there).ok()) == expected
    assert lab.ssh("compute3", f"find {tmp_path}/state -type f").strip()
    assert not lab.ssh("compute3", f"find {tmp_path}/state -perm /077").strip()
    assert not (tmp_path / "state").exists(), "nothing of it is here"
    assert not links(there).ok().stats["changed"]
    assert links("repair_action=rollback", there).ok().stats["rows"]["changed"] == len(expected)
    assert broken.still() == before


def place(row):
    return {name: row.get(name) for name in ("host", "node", "compute_id")}


def test_what_is_not_certain_is_left_and_the_run_is_not_green(links, broken):
    expected = spoil(broken, [name for name, about in STATES.items() if not about.certain and about.together])
    before = broken.still()
    done = links().failed()
    assert found(done) == expected, done.told()
    assert (done.stats["state"], done.stats["changed"]) == ("none", False)
    assert done.report["verdict"] == "block"
    assert f"{len(expected)} wrong links remain" in done.stats["message"]
    assert broken.still() == before


@pytest.mark.matrix("audit-links")
def test_an_instance_in_a_task_is_not_judged(links, broken):
    plain = broken.guests["plain1"]
    link = {"compute_id": None} if broken.has_compute_id else {"node": "gone.example"}
    broken.set("instances", plain, task_state="rebooting", **link)
    seen = links(flags=["--check"]).ok()
    assert found(seen) == set()
    told = {(item["code"], item["object"]) for item in seen.report["unchecked"] if "rebooting" in item["reason"]}
    assert told == {("SG211" if broken.has_compute_id else "SG216", plain["uuid"])}


@pytest.mark.parametrize(
    "guarded", [pytest.param(False, marks=pytest.mark.matrix("audit-links")), True], ids=["as it is", "repaired"]
)
def test_deleting_an_old_service_takes_the_live_node_with_it(lab, links, broken, guarded):
    """SG203: the API deletes the service of a name that is no more, and with it the node of a host with guests."""
    live = broken.nodes["compute1"]
    old = broken.copy("services", broken.services["compute1"], host="old-name", forced_down=1, report_count=0)
    broken.set("compute_nodes", live, service_id=old["id"])
    if guarded:
        seen = links().ok()
        assert repaired(seen) == {("SG203", live["uuid"])}
        assert found(seen) == set()
    lab.compute("DELETE", f"/os-services/{old['uuid']}", microversion="2.53")
    now = broken.rows()
    assert now["services"][old["id"]]["deleted"] != 0
    assert (now["compute_nodes"][live["id"]]["deleted"] == 0) is guarded


@pytest.mark.matrix("audit-links")
def test_nova_finds_nothing_left_to_correct(lab, links, broken):
    """Repaired and started: three passes later (one at the start, two periodic) nova-compute has corrected nothing."""
    expected = spoil(broken, [name for name, about in STATES.items() if about.certain and not about.ghostly])
    done = links().ok()
    assert repaired(done) == {entry for entry in expected if entry[0] != "SG207"}
    sizes = {host: int(text) for host, text in on_all(lab, f"stat -c %s {LOG}").items()}
    start(lab)

    def written():
        """What was written since: the processes before have ended."""
        with ThreadPoolExecutor(len(HOSTS)) as pool:
            return list(pool.map(lambda host: lab.ssh(host, f"tail -c +{sizes[host] + 1} {LOG}"), HOSTS))

    def passed():
        return all(text.count("Final resource view") >= 3 for text in written())

    try:
        waiting.until("two periodic passes on every host after the start", passed, timeout=400, pause=5)
        lines = [line for text in written() for line in text.splitlines()]
        # Before 28 nova-compute knows of none of this, and says nothing either.
        assert [line for line in lines if any(words in line for words in CORRECTIONS)] == []
        assert found(links(flags=["--check"]).ok()) == set()
    finally:
        on_all(lab, "systemctl stop nova-compute")
