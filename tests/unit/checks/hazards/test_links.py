# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Links: each invalid state is its code and no other, what only looks like one is none, and nothing unread is right."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.hazards import links as checks
from ansible_collections.stackguard.nova.plugins.module_utils.hazards.link_rules import CODES, REPAIRABLE, SINCE_28
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.model.codes.catalogue import CATALOGUE
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.linked import healthy, node_row

GUEST = builders.guest(1, 1)
NODE = builders.node(1)
OLD = facts.DeletedNode(299, builders.uid("old"), "compute1", "compute1", 3)
DEVICE = facts.LinkPciDevice(7, "0000:00:07.0", "allocated", GUEST, 299, builders.uid("old"), "compute1")

#: Code to what spoils a healthy cloud so that this is found, and about what.
STATES = {
    "SG201": (lambda cloud: cloud.row("compute_nodes", 201, service_id=None), NODE),
    "SG202": (lambda cloud: cloud.row("compute_nodes", 201, service_id=4711), NODE),
    "SG203": (lambda cloud: cloud.row("compute_nodes", 201, service_id=102), NODE),
    "SG206": (lambda cloud: cloud.row("compute_nodes", 201, uuid=None), "201"),
    "SG207": (lambda cloud: cloud.cell(deleted_nodes=[OLD]), OLD.uuid),
    "SG211": (lambda cloud: cloud.wrong("SG211", compute_id=None), GUEST),
    "SG212": (lambda cloud: cloud.wrong("SG212", compute_id=4711), GUEST),
    "SG213": (lambda cloud: cloud.wrong("SG213", compute_id=299), GUEST),
    "SG214": (lambda cloud: cloud.wrong("SG214", compute_id=202), GUEST),
    "SG215": (lambda cloud: cloud.wrong("SG215", host=None, vm_state="shelved_offloaded"), GUEST),
    "SG216": (lambda cloud: cloud.wrong("SG216", node="gone"), GUEST),
    "SG217": (lambda cloud: cloud.wrong("SG217", vm_state="shelved_offloaded"), GUEST),
    "SG221": (lambda cloud: cloud.migration(), builders.uid("migration", 1)),
    "SG231": (lambda cloud: cloud.cell(pci_devices=[DEVICE]), "7"),
}


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("release", [28, 29, 31, 34])
def test_a_healthy_cloud_is_a_pass(release, cells):
    checked = healthy(cells=cells, release=release).checked
    assert (checked.findings, checked.unchecked) == ((), ())


@pytest.mark.parametrize("code", sorted(STATES))
def test_a_state_is_its_code_alone(code):
    spoil, subject = STATES[code]
    cloud = spoil(healthy())
    assert cloud.found == {(code, subject)}
    item = cloud.finding(code)
    assert item.evidence["read from"] == "cell cell1"
    assert item.evidence["heals by itself"] == checks.HEALS[code]
    assert ("certain" in item.evidence or "not repaired because" in item.evidence) == (code in REPAIRABLE)


def test_every_code_has_a_state_here_or_below():
    assert set(STATES) == set(CODES) - {"SG204", "SG205"}
    told = {code for code, entry in CATALOGUE.items() if "link-wrong" in entry.remedies}
    assert set(checks.HEALS) == told == set(CODES)


# --- services and nodes


def test_a_node_without_a_service_is_told_with_what_is_called_alike():
    cloud = healthy().row("services", 101, host="COMPUTE1")
    assert cloud.found == {("SG203", NODE), ("SG204", NODE)}, "equal to MySQL's collation, and to nobody else"
    assert cloud.finding("SG204").evidence["similar service names"] == ["COMPUTE1"]
    gone = healthy().drop("services", 101)
    assert gone.found == {("SG202", NODE), ("SG204", NODE)}
    assert "similar service names" not in gone.finding("SG204").evidence


def test_the_service_of_another_binary_is_no_nova_compute():
    cloud = healthy()
    conductor = dataclasses.replace(builders.service_row(1, "compute1"), id=150, binary="nova-conductor")
    assert cloud.add("services", conductor).found == set()
    linked = cloud.add("services", conductor).row("compute_nodes", 201, service_id=150)
    assert linked.found == {("SG203", NODE)}
    assert linked.finding("SG203").evidence["service_id names"] == "nova-conductor of compute1"


@pytest.mark.parametrize("in_cell", [1, 2], ids=["in one cell", "across cells"])
@pytest.mark.parametrize("shared", ["host", "hypervisor_hostname"])
def test_two_nodes_of_one_name(shared, in_cell):
    names = {"host": "other", "hypervisor_hostname": "other", shared: "compute1"}
    service = dataclasses.replace(builders.service_row(8, names["host"]), id=108)
    twin = node_row(8, uuid=builders.node(8), service_id=108, **names)
    cloud = healthy(cells=2).add("services", service, in_cell).add("compute_nodes", twin, in_cell)
    both = {("SG205", NODE), ("SG205", builders.node(8))}
    assert {entry for entry in cloud.found if entry[0] == "SG205"} == both
    seen = next(item for item in cloud.checked.findings if item.object.id == NODE and item.code == "SG205").evidence
    assert [row["cell"] for row in seen[f"also of this {shared}"]] == [f"cell{in_cell}"]


def test_ironic_shares_and_moves_hosts():
    one, other = (
        node_row(
            number, host="compute1", hypervisor_hostname=f"metal{number}", hypervisor_type="ironic", service_id=101
        )
        for number in (8, 9)
    )
    cloud = healthy().add("compute_nodes", one).add("compute_nodes", other)
    cloud = cloud.cloud(providers=None)
    assert cloud.found == set()
    moved = cloud.wrong("SG216", host="compute2", node="metal8")
    assert moved.found == set(), "the host of an ironic node is whichever service holds it now"
    assert cloud.wrong("SG216", host="compute2", node="metal7").found == {("SG216", GUEST)}


# --- identity


def test_a_node_is_compared_with_the_file_of_its_host():
    files = [facts.ComputeIdFile("/var/lib/nova/compute_id", True, True, builders.uid("stray"))]
    cloud = healthy().host("compute1", compute_id_files=files)
    assert cloud.found == {("SG206", NODE)}
    assert cloud.finding("SG206").evidence["compute_id file of the host"] == [builders.uid("stray")]
    same = [facts.ComputeIdFile("/var/lib/nova/compute_id", True, True, "{" + NODE.upper() + "}")]
    assert healthy().host("compute1", compute_id_files=same).found == set(), "the same uuid in another form"


def test_a_file_of_a_host_whose_name_is_not_known_proves_nothing_and_is_told_by_its_inventory_name():
    cloud = healthy().row("compute_nodes", 201, service_id=102).host("compute1", nova_conf=None)
    why = cloud.finding("SG203").evidence["not repaired because"]
    assert (
        why
        == "the node's uuid is in the compute_id file of compute1, but the run does not know the name of compute1 in "
        "Nova, because the run did not read nova.conf on this host"
    )


def test_a_node_is_compared_with_its_provider():
    cloud = healthy()
    providers = cloud.bundle.cloud.providers
    missing = cloud.cloud(providers=[row for row in providers if row.uuid != NODE])
    assert missing.found == {("SG206", NODE)}
    assert missing.finding("SG206").evidence["resource provider"] is None
    renamed = [dataclasses.replace(row, name="elsewhere") if row.uuid == NODE else row for row in providers]
    assert cloud.cloud(providers=renamed).finding("SG206").evidence["resource provider's name"] == "elsewhere"
    upper = [dataclasses.replace(row, name=row.name.upper()) if row.uuid == NODE else row for row in providers]
    assert cloud.cloud(providers=upper).found == {("SG206", NODE)}


def test_providers_of_hosts_that_were_not_asked_for_are_not_missing():
    cloud = healthy()
    mine = [row for row in cloud.bundle.cloud.providers if row.name == "compute2"]
    assert cloud.cloud(providers=mine, scope=["compute2"]).found == set()
    assert cloud.cloud(providers=mine, scope=["compute1"]).found == {("SG206", NODE)}


def test_what_was_not_read_of_an_identity_is_no_identity():
    reasons = {item.reason for item in healthy().given(cloud=None).checked.unchecked}
    assert reasons == {"the resource providers were not read"}
    (left,) = healthy().without_hosts("compute1").checked.unchecked
    assert (left.code, "not read on 1 of 3 hosts: compute1" in left.reason) == ("SG206", True)


# --- migrations


@pytest.mark.parametrize("status", ["finished", "migrating", None])
def test_a_destination_in_another_cell_is_not_this_cells(status):
    """A cross-cell resize has its record in both cells, and the id of the destination's node in both."""
    cloud = healthy(cells=2)  # compute1 and compute3 in cell1, compute2 in cell2
    assert cloud.migration(status=status, dest_compute_id=202).found == set()
    for wrong in (None, 201, 4711):
        left = cloud.migration(status=status, dest_compute_id=wrong)
        assert left.found == {("SG221", builders.uid("migration", 1))}
        assert left.verdict("SG221").after is None, "the node is not of this cell"


def test_a_migration_in_progress_is_told_and_not_mended():
    assert healthy().migration().verdict("SG221").after == {"dest_compute_id": 202}
    for changes in ({"status": "migrating"}, {"status": None}, {"task_state": "resize_reverting"}):
        cloud = healthy().migration(**changes)
        assert cloud.found == {("SG221", builders.uid("migration", 1))}
        assert cloud.verdict("SG221").after is None
    assert healthy().migration(dest_compute="COMPUTE2").verdict("SG221").after is None


# --- in flight, narrowed, unread


@pytest.mark.parametrize("code", [code for code in STATES if code.startswith("SG21")])
@pytest.mark.parametrize("flight", [{"task_state": "migrating"}, {"task_state": "deleting"}, {"moving": True}])
def test_an_instance_with_something_in_progress_is_not_judged(code, flight):
    cloud = healthy().wrong(code, **flight)
    assert cloud.found == set()
    (left,) = cloud.checked.unchecked
    assert (left.code, left.object) == (code, GUEST)
    assert isinstance(left, checks.InProgress)


def test_narrowed_to_hosts():
    cloud = healthy().row("compute_nodes", 201, service_id=None).row("compute_nodes", 202, service_id=None)
    assert cloud.read(scope=["COMPUTE2"]).found == {("SG201", builders.node(2))}


def test_release_27_says_what_it_has_not():
    cloud = healthy(release=27)
    assert cloud.found == set()
    left = {item.code for item in cloud.checked.unchecked}
    assert left == {*SINCE_28, "SG201", "SG215"}
    assert cloud.row("compute_nodes", 201, service_id=102).found == {("SG203", NODE)}


@pytest.mark.parametrize(
    ("spoil", "codes"),
    [
        (lambda cloud: cloud.given(links=None), set(CODES)),
        (lambda cloud: cloud.read(cells=None, unread=[facts.Unread("api", "refused")]), set(CODES)),
        (lambda cloud: cloud.read(cells=[]), set(CODES)),
        (lambda cloud: cloud.cell(unread=[facts.Unread("cell", "refused")]), set(CODES)),
        (lambda cloud: cloud.cell(unread=[facts.Unread("SG212", "denied")]), {"SG212"}),
        (lambda cloud: cloud.cell(unread=[facts.Unread("scan", "denied")]), {"SG214", "SG216", "SG217"}),
        (lambda cloud: cloud.cell(services=None, unread=[facts.Unread("services", "denied")]), set(checks.BY_NODE[:4])),
        (lambda cloud: cloud.cell(totals={"SG211": 5}), {"SG211"}),
    ],
    ids=["no links", "no cells", "only cell0", "a cell", "a kind", "the scan", "services", "more than were kept"],
)
def test_what_was_not_read_is_not_right(spoil, codes):
    checked = spoil(healthy()).checked
    assert checked.findings == ()
    assert {item.code for item in checked.unchecked} == codes
    assert findings.report(checked, builders.AT, 3, 6)["verdict"] == "warn"


def test_an_unknown_schema_is_a_finding():
    cloud = healthy().cell(revision="ffffffffffff")
    assert cloud.found == {("SG705", "cell:cell1")}


# --- what remains


def test_remaining_tells_asked_from_others_accepted_and_in_flight():
    cloud = healthy().wrong("SG214", compute_id=202).wrong("SG217", vm_state="shelved_offloaded")
    cloud = cloud.wrong("SG211", id=1002, uuid=builders.guest(1, 2), compute_id=None, task_state="deleting")
    left = checks.remaining(cloud.links, REPAIRABLE)
    assert (left.asked, left.other, left.accepted, left.in_flight, left.unread) == (1, 1, 0, 1, [])
    assert left.codes == ("SG214", "SG217")
    passed = [findings.Override("SG214", GUEST, "known")]
    left = checks.remaining(cloud.links, REPAIRABLE, (), passed)
    assert (left.asked, left.other, left.accepted, left.wrong) == (0, 1, 1, 2)


def test_what_is_planned_does_not_remain():
    cloud = healthy().wrong("SG211", compute_id=None)
    (wrong,) = cloud.links.wrong()
    assert checks.remaining(cloud.links, REPAIRABLE).wrong == 1
    assert checks.remaining(cloud.links, REPAIRABLE, [wrong]).wrong == 0


def test_what_was_not_read_may_remain():
    cloud = healthy().cell(unread=[facts.Unread("SG212", "denied")], totals={"SG211": 5})
    assert len(checks.remaining(cloud.links, REPAIRABLE).unread) == 2
    assert checks.remaining(cloud.links, ["SG201"]).unread == []
    assert checks.remaining(healthy(release=27).links, REPAIRABLE).unread == [], "27 has nothing to be read"
    assert checks.remaining(healthy().given(links=None).links, REPAIRABLE).unread == ["the cells"]


def test_the_closing_words():
    def said(cloud, planned=False, unchecked=()):
        return checks.remaining_text(checks.remaining(cloud.links, REPAIRABLE), planned, unchecked)

    assert said(healthy()) == "no wrong link remains"
    assert said(healthy(), unchecked=["SG206"]).startswith(
        "as far as the run could check, no wrong link remains; for at least one object, the run did not complete these"
    )
    one = healthy().wrong("SG214", compute_id=202)
    assert said(one).startswith("1 wrong link remains (SG214; links requested for repair: 1")
    two = one.wrong("SG217", vm_state="shelved_offloaded")
    assert said(two).startswith("2 wrong links remain (SG214, SG217; links requested for repair: 1")
