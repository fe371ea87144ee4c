# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Twenty random leftovers of hosts that are gone: all are named, what is theirs and provable goes, nothing else does.

The names are parts of one another and of living hosts'. A small oracle says what must stay: a provider that no node of
the host had, or that is none of Nova's, or of which somebody unknown holds something; a queue in which a request waits.
"""

from __future__ import annotations

import datetime
import random
import uuid as uuids

import pytest
from labkit import broker, zoning
from labkit import guests as guestkit
from labkit.fixtures import documented_grants
from labkit.zoning import FAR, NEIGHBOUR, SOURCE

HOSTS = (SOURCE, NEIGHBOUR, FAR)
GONE = ("comput", "compute", "compute1-a", "compute11", "xcompute1")
KINDS = ("service", "mapping", "aggregate", "provider", "agent", "queue")
#: How the audit calls the place of each.
PLACES = {
    "service": "compute service",
    "mapping": "host mapping",
    "aggregate": "aggregates",
    "provider": "resource providers",
    "agent": "network agents",
    "queue": "queues",
}
#: The tables of which nothing but leftovers may change, each with its columns for a host's name.
TABLES = (
    ("cell1", "services", "host"),
    ("cell1", "compute_nodes", "host"),
    ("cell1", "instances", "host"),
    ("api", "host_mappings", "host"),
    ("api", "aggregate_hosts", "host"),
    ("placement", "resource_providers", "name"),
    ("neutron", "agents", "host"),
)


def columns(lab, base, table, column, names):
    """The rows that name one of these hosts, without what changes by itself."""
    kept = []
    for row in lab.sql(base, f"SELECT * FROM {table}"):
        if (row[column] in names) and not row.get("deleted"):
            own = ("id", "host", "name", "uuid", "host_id", "aggregate_id", "hypervisor_hostname", "agent_type")
            kept.append(tuple(sorted((key, str(row[key])) for key in own if key in row)))
    return sorted(kept)


def rows_of(lab, *names):
    return {table: columns(lab, base, table, column, names) for base, table, column in TABLES}


def add(lab, base, table, like, **changes):
    """Add a row that is another one with changes."""
    row = {**{key: value for key, value in like.items() if key != "id"}, **changes}
    names, marks = ", ".join(f"`{key}`" for key in row), ", ".join(["%s"] * len(row))
    lab.sql(base, f"INSERT INTO {table} ({names}) VALUES ({marks})", *row.values())


def row_of(lab, base, table, host=SOURCE):
    return lab.sql(base, f"SELECT * FROM {table} WHERE host = %s LIMIT 1", host)[0]


def yesterday():
    return datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) - datetime.timedelta(days=1)


class Planted:
    """What one host has left. ``stays``: what must not go, with the reason's kind."""

    def __init__(self, lab, draw, host, kinds):
        self.lab, self.draw, self.host = lab, draw, host
        self.kinds, self.stays, self.node = set(kinds), set(), str(uuids.uuid4())
        #: What no audit can tell whose it was: a provider of this name that is no node's, or not Nova's.
        self.unnamed = set()
        for kind in kinds:
            getattr(self, kind)()

    def service(self):
        """Its nova-compute has been silent for a day, and its node is there with it."""
        old = dict.fromkeys(("last_seen_up", "updated_at", "created_at"), yesterday())
        uuid = str(uuids.uuid4())
        add(self.lab, "cell1", "services", row_of(self.lab, "cell1", "services"), host=self.host, uuid=uuid, **old)
        number = self.lab.value("cell1", "SELECT id FROM services WHERE uuid = %s", uuid)
        self.add_node(service_id=number)

    def add_node(self, **changes):
        like = row_of(self.lab, "cell1", "compute_nodes")
        names = {"host": self.host, "hypervisor_hostname": self.host, "uuid": self.node}
        add(self.lab, "cell1", "compute_nodes", like, **names, **changes)

    def mapping(self):
        cell = self.lab.value("api", "SELECT cell_id FROM host_mappings WHERE host = %s", SOURCE)
        self.lab.sql("api", "INSERT INTO host_mappings (host, cell_id) VALUES (%s, %s)", self.host, cell)

    def aggregate(self):
        zone = self.lab.value("api", "SELECT MIN(id) FROM aggregates")
        self.lab.sql("api", "INSERT INTO aggregate_hosts (host, aggregate_id) VALUES (%s, %s)", self.host, zone)

    def provider(self):
        """Nova's own, or what is named like it: not Nova's, never a node's, or held by somebody unknown."""
        way = self.draw.choice(["own", "own", "without a trait", "no node", "held"])
        uuid = self.node if way != "no node" else str(uuids.uuid4())
        if way != "no node" and "service" not in self.kinds:
            # Its node is deleted, as Nova deletes one.
            self.add_node(deleted=self.draw.randint(10**6, 10**7), deleted_at=yesterday())
        self.lab.placement("POST", "/resource_providers", {"name": self.host, "uuid": uuid})
        url = f"/resource_providers/{uuid}"
        if way != "without a trait":
            traits = {"resource_provider_generation": 0, "traits": ["COMPUTE_NODE"]}
            self.lab.placement("PUT", f"{url}/traits", traits)
        if way == "held":
            generation = self.lab.placement("GET", url)["generation"]
            held = {"VCPU": {"total": 8, "allocation_ratio": 1.0}}
            body = {"resource_provider_generation": generation, "inventories": held}
            self.lab.placement("PUT", f"{url}/inventories", body)
            known = {"project_id": "p", "user_id": "u", "consumer_generation": None}
            body = {**known, "allocations": {uuid: {"resources": {"VCPU": 1}}}}
            self.lab.placement("PUT", f"/allocations/{uuids.uuid4()}", body)
        # With a service, Nova itself deletes whatever has its node's uuid, unless placement refuses.
        self.unnamed |= {"provider"} if way in ("no node", "without a trait") else set()
        if way in ("no node", "held") or (way == "without a trait" and "service" not in self.kinds):
            self.stays.add("provider")

    def agent(self):
        given = {
            "id": str(uuids.uuid4()),
            "agent_type": "Open vSwitch agent",
            "binary": "neutron-openvswitch-agent",
            "topic": "N/A",
            "host": self.host,
            "admin_state_up": 1,
            **dict.fromkeys(("created_at", "started_at", "heartbeat_timestamp"), yesterday()),
            "configurations": "{}",
            "load": 0,
        }
        names, marks = ", ".join(f"`{key}`" for key in given), ", ".join(["%s"] * len(given))
        self.lab.sql("neutron", f"INSERT INTO agents ({names}) VALUES ({marks})", *given.values())

    def queue(self):
        if self.draw.random() < 0.5:
            broker.declare(self.lab, f"compute.{self.host}")
            self.unnamed.add("queue")
        else:
            # What waits there is no request that anybody knows.
            broker.leave(self.lab, f"compute.{self.host}")
            self.stays.add("queue")

    def left(self):
        """What of it is still there."""
        rows = rows_of(self.lab, self.host)
        found = {
            "service": rows["services"] or rows["compute_nodes"],
            "mapping": rows["host_mappings"],
            "aggregate": rows["aggregate_hosts"],
            "provider": rows["resource_providers"],
            "agent": rows["agents"],
            "queue": broker.messages(self.lab, f"compute.{self.host}") is not None,
        }
        return {kind for kind, there in found.items() if there}


def remove(playbooks, names):
    said = [{"code": "SG506", "object": name, "reason": "its disks are wiped"} for name in names]
    given = {"stackguard_state_dir": str(zoning.state_dir(playbooks.lab)), "stackguard_overrides": said}
    return playbooks.run("remove_host", variables={"remove_host": list(names), **given}, timeout=900)


@pytest.fixture
def cloud(lab):
    zoning.tidy(lab)
    guestkit.grant(lab, "sg_exact", documented_grants())
    for table in ("host_mappings", "aggregate_hosts"):
        lab.sql("api", f"GRANT DELETE ON nova_api.{table} TO 'sg_exact'@'%%'" % ())
    guestkit.create(lab, "keep", "1", "--on", SOURCE)
    yield lab
    for host in GONE:
        broker.forget(lab, host)
        for base, table, column in TABLES:
            if table != "resource_providers":
                lab.sql(base, f"DELETE FROM {table} WHERE {column} = %s", host)
    for row in lab.placement("GET", "/resource_providers")["resource_providers"]:
        if row["name"] in GONE:
            for consumer in lab.placement("GET", f"/resource_providers/{row['uuid']}/allocations")["allocations"]:
                lab.placement("DELETE", f"/allocations/{consumer}")
            lab.placement("DELETE", f"/resource_providers/{row['uuid']}")
    guestkit.grant(lab, "sg_exact", documented_grants())
    zoning.tidy(lab)


def named(playbooks):
    """Each host that the audit says is gone, with the places where it has left something."""
    audit = playbooks.run("audit", "audit_fail_on=never").ok()
    found = [item for item in audit.report["findings"] if item["code"] == "SG331"]
    return {item["object"]["id"]: set(item["evidence"]["left in"]) for item in found}


def test_a_host_that_is_gone_is_named_and_removed(cloud, playbooks):
    lab, draw = cloud, random.Random(1)
    gone = Planted(lab, draw, "compute11", ["service", "mapping", "aggregate"])
    before = rows_of(lab, *HOSTS)
    assert {"compute service", "host mapping", "aggregates"} <= named(playbooks)["compute11"]
    assert gone.left() == gone.kinds
    remove(playbooks, ["compute11"]).ok()
    assert gone.left() == set() and "compute11" not in named(playbooks)
    assert rows_of(lab, *HOSTS) == before


@pytest.mark.matrix("remove")
@pytest.mark.parametrize("seed", [1, 2])
def test_twenty_random_leftovers_are_all_named_and_only_what_is_theirs_goes(cloud, playbooks, seed):
    lab, draw = cloud, random.Random(seed)
    # Four for each: by an agent or a queue alone, no host is one of Nova's.
    kinds = {host: draw.sample(KINDS, 4) for host in GONE}
    planted = [Planted(lab, draw, host, sorted(kinds[host], key=KINDS.index)) for host in GONE]
    before = rows_of(lab, *HOSTS)
    audited = named(playbooks)
    for host in planted:
        there = {PLACES[kind] for kind in host.kinds - host.unnamed}
        assert there <= audited.get(host.host, set()), (host.host, host.kinds)
    remove(playbooks, GONE)
    assert {host.host: host.left() for host in planted} == {host.host: host.stays for host in planted}
    assert rows_of(lab, *HOSTS) == before
    assert {row["status"] for row in guestkit.every(lab).values()} == {"ACTIVE"}
