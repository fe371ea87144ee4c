# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures of every test that needs the lab; conftest.py of each suite takes them from here."""

from __future__ import annotations

import os
import re
import time

import pytest

from . import guests as guestkit
from . import state
from .lab import ROOT, current
from .ovn import Ovn
from .playbook import Playbooks
from .probe import Probe


def documented_grants():
    """The rights that docs/reference/grants.md tells operators to give, as (kind, table, columns, action)."""
    text = (ROOT / "docs" / "reference" / "grants.md").read_text()
    arrived = text.partition("## For `repair_action=arrived`")[2].partition("\n## ")[0]
    text = text.partition("## PostgreSQL")[0] + arrived
    kinds = {schema: kind for kind, schema in {"cell": "nova", "api": "nova_api", "neutron": "neutron"}.items()}
    found = []
    for rights, schema, table in re.findall(r"^ *GRANT (.*) ON (\w+)\.(\w+) TO", text, re.MULTILINE):
        for action, columns in re.findall(r"(SELECT|UPDATE) \(([^)]*)\)", rights):
            names = tuple(column.strip(" `") for column in columns.split(","))
            found.append((kinds[schema], table, names, action.lower()))
    assert len(found) >= 15, found
    return found


def pristine(lab):
    """Whether the hosts bear their first names and nothing is left open on them."""
    computes = "SELECT host FROM services WHERE `binary`='nova-compute' AND deleted=0"
    names = {row["host"] for cell in lab.info["cells"] for row in lab.sql(cell, computes)}
    if names != set(lab.hosts):
        return False
    held = "SELECT 1 FROM services WHERE deleted = 0 AND (disabled OR forced_down)"
    left = [row for cell in lab.info["cells"] for row in lab.sql(cell, held)]
    # Guests of a lab that was down are off.
    resting = {"stopped1": "SHUTOFF"}
    moved = [
        row
        for row in guestkit.every(lab).values()
        if row["status"] != resting.get(row["name"], "ACTIVE") or row["task"]
    ]
    return not left and not moved and all(state.files(lab, host)["uname -n"] == host for host in lab.hosts)


def prepared(lab):
    """Boot the lab, or take it as it is where it is as new; put it back to its first state otherwise.

    STACKGUARD_TEST_KEEP: take it as it is wherever it has the wanted servers, for work on one test.
    """
    start = time.monotonic()
    lab.up()
    have = {(row["name"], row["host"]) for row in guestkit.every(lab).values()}
    reuse = {
        ("plain1", "compute1"),
        ("plain2", "compute1"),
        ("plain3", "compute1"),
        ("swap1", "compute1"),
        ("ephemeral1", "compute1"),
        ("stopped1", "compute1"),
        ("elsewhere1", "compute2"),
    }
    keep = os.environ.get("STACKGUARD_TEST_KEEP") and {name for name, _host in have} == {name for name, _host in reuse}
    if not keep and (have not in (set(), reuse) or not pristine(lab)):
        lab.reset()
    for host in lab.hosts:
        lab.ssh(host, "rm -rf /var/lib/stackguard /root/.local/lib/python3.*/site-packages/usercustomize.py")
    print(f"\nlab {lab.instance}: ready after {time.monotonic() - start:.0f} s")
    return lab


@pytest.fixture(scope="session")
def lab():
    """The lab of STACKGUARD_LAB_INSTANCE, up, with its hosts under their first names."""
    return prepared(current())


@pytest.fixture(scope="session")
def guests(lab):
    """Servers by name: six on compute1 (five running, one with swap, one with an ephemeral disk), one on compute2."""
    return guestkit.make(lab)


def as_new(lab):
    """Put the lab back to its first state, if it is not, with the usual servers and the documented database users."""
    prepared(lab)
    servers = guestkit.make(lab)
    # Where it was reset, its database users are gone.
    guestkit.grant(lab, "sg_exact", documented_grants())
    return servers


@pytest.fixture(scope="session")
def playbooks(lab):
    """Playbooks run with a database user that has exactly the documented rights."""
    urls = guestkit.grant(lab, "sg_exact", documented_grants())
    urls.pop("neutron_db_url")
    return Playbooks(lab, {"cloud": "lab", **urls})


@pytest.fixture(scope="session")
def chassis(lab):
    """The lab's OVN: databases, chassis by the lab's own names of the hosts, every change of bindings and flows."""
    return Ovn(lab)


@pytest.fixture(scope="module")
def probe(lab, chassis):
    """Ports of its own with packets between them: two on compute1, which is the gateway chassis, one on compute2."""
    made = Probe(lab, chassis, chassis.facts["gateway"], "compute2")
    try:
        yield made.make()
    finally:
        made.remove()


__all__ = ["ROOT", "as_new", "chassis", "documented_grants", "guests", "lab", "playbooks", "prepared", "probe"]
