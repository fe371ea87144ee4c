# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is not the rename in place, on a lab with OVN: doctor, audit, drain, evacuation, return, rename by drain.

compute2 is drained, evacuated and renamed: compute1 is the only gateway chassis, and the other host of the zone.
"""

from __future__ import annotations

import contextlib
import json

import pytest
from labkit import evacuation, state, waiting, zoning
from labkit import guests as guestkit
from labkit.deadhost import by_power, closed, come_back, evacuate, returned, stopped_compute, tidy
from labkit.ovn_fixtures import access, books
from labkit.ovn_ports import assert_follows, bound, port_of

__all__ = ["access", "books"]

pytestmark = pytest.mark.matrix("operations-ovn", l2="ovn")

HOST, OTHER, NEW = "compute2", "compute1", "cn-rack9.example"
NOWHERE = "nowhere.example"
#: What the audit and a return decide of OVN.
OF_OVN = {"SG317", "SG318", "SG319", "SG321", "SG322", "SG323"}


@pytest.fixture
def servers(lab):
    """Two running servers and a stopped one on HOST; nothing else before and after, every host enabled and up."""
    tidy(lab)
    zoning.tidy(lab)
    guestkit.create(lab, "run", "2", "--on", HOST)
    guestkit.create(lab, "still", "1", "--on", HOST, "--stopped")
    yield {row["name"]: row["id"] for row in guestkit.every(lab).values()}
    tidy(lab)
    zoning.tidy(lab)


def blind():
    return {"ovn_nb_connection": None, "ovn_sb_connection": None}


def codes_of(entries):
    return {entry["code"] for entry in entries}


# --- doctor and audit


def doctor(books, **variables):
    # A host of the lab shares the machine's clock; nobody on it may read its own Ceph caps.
    chosen = {"doctor_accept_unchecked": ["ceph_caps"], **variables}
    result = books.run("doctor", variables=chosen)
    written = json.loads((result.directory / "reports" / "doctor.json").read_text())
    return result, {(row["subject"], row["part"]): row for row in written["results"] if "ovn" in row["part"]}


def test_the_doctor_reaches_both_databases_and_may_change_them(books):
    result, parts = doctor(books)
    result.ok()
    assert {row["state"] for row in parts.values()} == {"ok"}, parts
    assert {name for name, _part in parts} == {"ovn northbound", "ovn southbound"}


def test_the_doctor_names_a_database_that_does_not_answer(books, access):
    result, parts = doctor(books, ovn_nb_connection="tcp:127.0.0.1:9")
    result.failed()
    row = parts["ovn northbound", "ovn_database"]
    assert row["state"] == "failed"
    assert "ovn_nb_connection" in row["fix"], row


def test_the_doctor_says_that_a_rename_needs_the_databases(books):
    result, parts = doctor(books, doctor_operations=["rename_host"], **blind())
    result.failed()
    assert parts["ovn", "ovn_database"]["state"] == "failed", parts


def test_an_audit_of_an_untouched_cloud_has_decided_everything_about_ovn(lab, chassis, books, servers):
    before = state.everything(lab)
    done = books.run("audit").ok()
    state.assert_same(before, state.everything(lab), "the audit changed something")
    assert not OF_OVN & codes_of(done.report["findings"]), done.told()
    assert not OF_OVN & codes_of(done.report["unchecked"]), done.told()


def test_an_audit_without_the_databases_says_what_it_has_not_decided(books, servers):
    done = books.run("audit", variables=blind()).ok()
    assert codes_of(done.report["unchecked"]) >= OF_OVN, done.told()


def ask(lab, chassis, port, host):
    """Let a port ask for a host: in neutron, too, which writes its own when the port goes down or up."""
    lab.sql("neutron", "UPDATE ml2_port_bindings SET host = %s WHERE port_id = %s", host, port)
    chassis.request([port], host)


def test_an_audit_finds_half_a_rename(lab, chassis, books, servers):
    port = port_of(lab, servers["run1"]).id
    chassis.set_hostname("compute3", NOWHERE)
    ask(lab, chassis, port, "elsewhere.example")
    try:
        done = books.run("audit", "audit_fail_on=never").ok()
        found = {(item["code"], item["object"]["id"]) for item in done.report["findings"]}
        assert ("SG321", "compute3") in found, done.told()
        assert ("SG322", port) in found, done.told()
    finally:
        chassis.set_hostname("compute3", "compute3")
        ask(lab, chassis, port, HOST)
    waiting.until("the port bound again", lambda: chassis.binding(port) == bound(chassis, HOST), 60)


# --- drain


def test_a_drained_host_has_no_port_and_every_port_is_where_its_server_is(lab, chassis, books, servers):
    home = {"stackguard_state_dir": str(zoning.state_dir(lab))}
    books.run("drain_host", f"drain_host={HOST}", variables=home, timeout=900).ok()
    for uuid in servers.values():
        assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER
        assert_follows(lab, chassis, uuid, OTHER)
    assert set(chassis.requesting(HOST)).isdisjoint(port_of(lab, uuid).id for uuid in servers.values())


# --- evacuation and return


def alive(lab, name):
    (agent,) = [agent for agent in lab.cloud.network.agents() if agent.id == name]
    return agent.is_alive


@contextlib.contextmanager
def dead(lab):
    evacuation.kill(lab, HOST)
    try:
        yield
    finally:
        if not lab.is_on(HOST):
            lab.command("host", HOST, "power-on")


def test_an_evacuation_takes_ports_along_and_the_returning_host_takes_none_back(lab, chassis, books, servers):
    ports = {uuid: port_of(lab, uuid).id for uuid in servers.values()}
    with dead(lab):
        done = evacuate(books, variables={"evacuate_host": HOST}).ok()
        for uuid in servers.values():
            assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER
            assert_follows(lab, chassis, uuid, OTHER)
        # The chassis of the dead host stays in OVN: the report says so, and removes nothing. Neutron notices that it is
        # dead after agent_down_time, and only where somebody lists the agents twice in that time.
        (left,) = [item for item in done.report["findings"] if item["code"] == "SG328"]
        assert left["object"]["id"] == chassis.name(HOST)
        assert left["evidence"]["ports bound to it"] == [], left
        waiting.until("neutron to notice", lambda: not alive(lab, chassis.name(HOST)), 180, 5)
        again = evacuate(books, variables={"evacuate_host": HOST}).ok()
        (left,) = [item for item in again.report["findings"] if item["code"] == "SG328"]
        assert left["evidence"]["alive"] is False, left
        assert f"openstack network agent delete {chassis.name(HOST)}" in left["remedy"]
        assert chassis.chassis(HOST) is not None
    returned(lab, books, host=HOST)
    # Its Open vSwitch still had taps with these ports until the return removed the domains.
    for uuid, port in ports.items():
        assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER
        assert chassis.binding(port) == bound(chassis, OTHER)
    (made,) = guestkit.create(lab, "later", "1", "--on", HOST)
    assert_follows(lab, chassis, made["id"], HOST)


def test_an_evacuation_removes_the_chassis_and_the_returning_host_registers_again(lab, chassis, books, servers):
    """Asked for by the operator, with a fence that reads the machine as off; every port goes on working."""
    name = chassis.name(HOST)
    with dead(lab):
        removal = {"evacuate_host": HOST, "evacuate_remove_chassis": True, **by_power(lab, HOST)}
        done = evacuate(books, fence="power", variables=removal).ok()
        assert chassis.chassis(HOST) is None
        assert chassis.southbound("Chassis_Private", f'name="{name}"') == []
        assert chassis.chassis(OTHER) is not None, "only the dead one goes"
        assert [agent.id for agent in lab.cloud.network.agents(host=HOST) if agent.agent_type.startswith("OVN")] == []
        assert "SG328" not in codes_of(done.report["findings"]) | codes_of(done.report["unchecked"]), done.told()
        (journal,) = closed(lab)
        assert journal["steps"]["remove_chassis"] == "done"
        assert journal["memory"]["chassis"] == name
        for uuid in servers.values():
            assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == OTHER
            assert_follows(lab, chassis, uuid, OTHER)
    waiting.until("the chassis registers again", lambda: chassis.chassis(HOST) is not None or None, 120)
    returned(lab, books, host=HOST)
    assert chassis.name(HOST) == name
    for uuid in servers.values():
        assert chassis.binding(port_of(lab, uuid).id) == bound(chassis, OTHER)
    (made,) = guestkit.create(lab, "later", "1", "--on", HOST)
    assert_follows(lab, chassis, made["id"], HOST)


def test_a_host_whose_chassis_would_claim_a_port_does_not_return(lab, chassis, books, servers):
    """A tool has bound the port of an evacuated server to the dead host again, in neutron and so in OVN."""
    with dead(lab):
        evacuate(books, variables={"evacuate_host": HOST}).ok()
    port = port_of(lab, servers["run1"]).id
    evacuation.may_unblock(lab, "compute3")
    with stopped_compute(lab, HOST):
        ask(lab, chassis, port, HOST)
        try:
            result = come_back(books, ceph=("compute3", "stackguard"), host=HOST).failed()
            found = [item for item in result.report["findings"] if item["code"] == "SG511"]
            assert {item["object"]["id"] for item in found} == {port}, result.told()
        finally:
            ask(lab, chassis, port, OTHER)
    waiting.until("the port where its server is", lambda: chassis.binding(port) == bound(chassis, OTHER), 60)
    returned(lab, books, host=HOST)


def test_a_return_says_what_it_has_not_checked_in_ovn_and_refuses_where_that_was_asked_for(
    lab, chassis, books, servers
):
    """Without connections OVN is unchecked. Given, and without an answer, the host stays out of service."""
    with dead(lab):
        evacuate(books, variables={"evacuate_host": HOST}).ok()
    evacuation.may_unblock(lab, "compute3")
    with stopped_compute(lab, HOST):
        books.variables, given = (
            {key: value for key, value in books.variables.items() if key not in blind()},
            (books.variables),
        )
        try:
            result = come_back(books, ceph=("compute3", "stackguard"), host=HOST)
        finally:
            books.variables = given
        assert "SG317" in codes_of(result.report["unchecked"]), result.told()
        books.variables = {**given, "ovn_nb_connection": "tcp:127.0.0.1:9"}
        try:
            refused = come_back(books, ceph=("compute3", "stackguard"), host=HOST).failed()
        finally:
            books.variables = given
        assert "SG317" in refused.codes, refused.told()
        assert lab.service(HOST)["status"] == "disabled"
    returned(lab, books, host=HOST)


# --- rename by drain


def test_a_host_is_renamed_by_drain_there_and_back_and_its_chassis_with_it(lab, chassis, books, servers):
    drain = {"rename_strategy": "drain", "rename_drain_return": True}
    ports = {uuid: port_of(lab, uuid).id for uuid in servers.values()}
    for old, new in ((HOST, NEW), (NEW, HOST)):
        result = books.rename(old, new, variables=drain, timeout=900).ok()
        print(f"\nrename by drain with OVN: {result.seconds:.0f} s")
        assert chassis.hostname(HOST) == new
        assert chassis.requesting(old) == []
        for uuid, port in ports.items():
            assert lab.server(uuid)["OS-EXT-SRV-ATTR:host"] == new
            waiting.until(
                lambda port=port: f"port bound, is {chassis.binding(port)}",
                lambda port=port: chassis.binding(port) == bound(chassis, HOST),
                60,
            )
            assert port_of(lab, uuid).binding_host_id == new
            assert port in chassis.requesting(new)
