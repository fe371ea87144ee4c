# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Random states of hosts: the audit forecasts what nova-compute would do, it is started, and it does just that.

The states are those of labkit/hoststates.py: rows, compute_id files, domains and configuration, each host of the lab
in one of its own at a time. STACKGUARD_TEST_STATES says which: ``0-59``, or single numbers with commas.
STACKGUARD_TEST_RECORD names a directory that takes each state's facts and what happened: `cat DIRECTORY/*.json` makes
tests/fixtures/forecast/RELEASE.jsonl.
The guests are lost: the lab is reset at the end.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import time
import types

import pytest
from labkit import forecasts, hoststates, statelab
from labkit import guests as guestkit
from labkit.fixtures import documented_grants, prepared
from labkit.lab import current

from ansible_collections.stackguard.nova.plugins.module_utils.audit import checks as audit
from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audits
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts
from ansible_collections.stackguard.nova.plugins.module_utils.systems.api import resource_providers
from ansible_collections.stackguard.nova.plugins.module_utils.systems.db import nova

pytestmark = pytest.mark.matrix

#: One of each thing that a state may be about, and the crowded ones.
SEEDS = f"0-{len(hoststates.FOCUSES) - 1},{hoststates.CROWDED}-{hoststates.CROWDED + len(hoststates.CROWDS) - 1}"


def wanted():
    """The numbers of the states."""
    result = []
    for word in (os.environ.get("STACKGUARD_TEST_STATES") or SEEDS).split(","):
        first, _dash, last = word.partition("-")
        result += range(int(first), int(last or first) + 1)
    return result


@pytest.fixture(scope="session")
def lab():
    """The lab as it is: what is made of it follows."""
    made = current()
    made.up()
    return made


@pytest.fixture(scope="module")
def hosts(lab):
    """Every host of the lab, with guests of its own and nothing else.

    STACKGUARD_TEST_KEEP: guests that are there already are taken, and left; for work on the test.
    """
    keep = os.environ.get("STACKGUARD_TEST_KEEP")
    if not keep:
        lab.reset()
    made = statelab.Hosts(lab)
    made.prepare()
    try:
        yield made
        made.make(dict.fromkeys(made.hosts, hoststates.UNTOUCHED))
    finally:
        made.close()
        if not keep:
            lab.reset()
            prepared(lab)


def kept(name, entry):
    folder = os.environ.get("STACKGUARD_TEST_RECORD")
    if folder:
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(entry, sort_keys=True) + "\n")


def rounds(hosts):
    """The states, as many at a time as there are hosts."""
    numbers, names = wanted(), list(hosts.hosts)
    for first in range(0, len(numbers), len(names)):
        yield dict(zip(names, map(hoststates.drawn, numbers[first : first + len(names)])))


class Reading:
    """What an audit reads and forecasts, by its own readers, without its playbook: that takes half a minute.

    The playbook itself: test_audit.py.
    """

    def __init__(self, hosts):
        self.hosts = hosts
        self.urls = {**guestkit.grant(hosts.lab, "sg_exact", documented_grants()), "neutron_db_url": None}
        self.code = statelab.packed()

    def evidence(self):
        code, self.code = self.code, ""
        read = self.hosts.each(lambda host: facts.from_plain(facts.HostFacts, host.facts(code)))
        uuids = sorted({domain.uuid for host in read for domain in host.domains})
        providers = resource_providers.list_providers(self.hosts.lab.cloud)
        nothing = dict.fromkeys(field.name for field in dataclasses.fields(facts.CloudFacts))
        return facts.Bundle(
            schema=facts.SCHEMA,
            collected_at="",
            hosts={host.inventory_name: host for host in read},
            unreachable={},
            cloud=facts.CloudFacts(
                **{**nothing, "scope": [], "unread": [], "port_devices": [], "providers": providers}
            ),
            databases=nova.read_databases(self.urls, instance_uuids=uuids),
        )

    @staticmethod
    def forecast(bundle):
        told = audits.forecast_json(types.SimpleNamespace(starts=audit.starts(bundle)))
        return json.loads(told)["hosts"]


def test_what_the_audit_forecasts_for_random_states_is_what_nova_compute_does(hosts):
    found, reading = {}, Reading(hosts)
    for states in rounds(hosts):
        began = time.monotonic()
        hosts.make(states)
        made = time.monotonic()
        bundle = reading.evidence()
        told, evidence = reading.forecast(bundle), facts.to_plain(bundle)
        unmet = {name: statelab.unmet(hosts.hosts[name]) for name in states}
        read = time.monotonic()
        seen = hosts.seen(list(states), {name: forecasts.expected(told[name], unmet[name]) for name in states})
        for name, state in states.items():
            about = {"seed": state.seed, "about": state.focus, "unmet": sorted(unmet[name])}
            kept(f"{state.seed:03}", forecasts.record(evidence, name, told[name]["host"] or name, seen[name], about))
            wrong = forecasts.differences(told[name], seen[name], unmet[name])
            print(f"state {state.seed} ({state.focus}) on {name}: {'; '.join(wrong) or told[name]['told']}", flush=True)
            if wrong:
                found[state.seed] = (state, wrong, told[name]["told"])
        end = time.monotonic()
        print(f"{made - began:.0f} s made, {read - made:.0f} s read, {end - read:.0f} s started", flush=True)
    assert not found, "\n".join(f"{seed}: {entry}" for seed, entry in found.items())
