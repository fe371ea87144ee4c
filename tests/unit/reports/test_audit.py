# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of an audit in its forms: the same bytes for the same evidence, and nothing that a name can do."""

from __future__ import annotations

import dataclasses
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings

from ansible_collections.stackguard.nova.plugins.action.audit import page
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.reports import audit, capacity_outlook
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy
from ansible_collections.stackguard.nova.tests.unit.strategies import fleets
from ansible_collections.stackguard.nova.tests.unit.troubled import HOSTILE, troubled

FORMS = (audit.report_json, audit.forecast_json, audit.report_prom, audit.table, page)


def audited(some, *overrides):
    return audit.audited(some.bundle, overrides)


@settings(max_examples=20)
@given(fleets(min_hosts=1))
def test_evidence_that_went_through_a_file_gives_the_same_bytes(some):
    spoiled = some.cloud.unreachable(min(some.cloud.bundle.hosts))
    again = facts.load_bundle(json.loads(json.dumps(facts.to_plain(spoiled.bundle), sort_keys=True)))
    one, other = audit.audited(spoiled.bundle), audit.audited(again)
    assert [form(one) for form in FORMS] == [form(other) for form in FORMS]


def test_the_order_of_hosts_and_rows_does_not_matter():
    some = troubled()
    hosts = dict(reversed(some.bundle.hosts.items()))
    turned = dataclasses.replace(some.bundle, hosts=hosts)
    assert [form(audit.audited(turned)) for form in FORMS] == [form(audited(some)) for form in FORMS]


def test_the_report_has_the_agreed_shape():
    found = audited(troubled())
    report = json.loads(audit.report_json(found))
    agreed = {"schema", "verdict", "generated_at", "hosts", "servers", "findings", "unchecked", "counts"}
    assert set(report) == agreed | {"remedies"}
    assert (report["verdict"], report["hosts"], report["servers"]) == ("block", 9, 27)
    order = [(item["code"], item["object"]["id"]) for item in report["findings"]]
    assert order == sorted(order)
    assert {item["severity"] for item in report["findings"]} == set(findings.SEVERITIES)


@pytest.mark.parametrize(
    ("verdict", "fail_on", "expected"),
    [
        ("pass", "warning", False),
        ("warn", "warning", True),
        ("warn", "blocker", False),
        ("block", "blocker", True),
        ("block", "never", False),
    ],
)
def test_what_fails(verdict, fail_on, expected):
    assert audit.fails(verdict, fail_on) is expected


def test_servers_are_counted_of_what_was_read():
    some = healthy(hosts=2, guests=3)
    assert audit.servers(some.bundle) == 6
    assert audit.servers(some.without("databases").bundle) == 6
    assert audit.servers(some.without("databases", "cloud").bundle) == 6


# --- what to do -----------------------------------------------------------------------------------------------


def test_what_destroys_comes_first_and_each_remedy_once():
    entries = audit.to_do(audited(troubled()))
    assert [findings.CATALOGUE[entry.code].absolute for entry in entries[:2]] == [True, True]
    keys = [(entry.code, entry.severity, entry.remedy) for entry in entries]
    assert len(keys) == len(set(keys))
    severities = [entry.severity for entry in entries]
    assert severities == sorted(severities, key=findings.SEVERITIES.index)
    missing = next(entry for entry in entries if entry.code == "SG109")
    assert len(missing.objects) <= audit.NAMED


def test_what_an_override_passes_is_not_to_be_done():
    some = healthy().drop("domains", {"uuid": guest(1, 1)})
    assert [entry.code for entry in audit.to_do(audited(some))] == ["SG109"]
    passed = findings.Override("SG109", guest(1, 1), "known")
    assert audit.to_do(audited(some, passed)) == []
    assert audited(some, passed).verdict == "warn"


def test_every_finding_says_what_was_seen_and_what_to_do():
    for item in audited(troubled()).checked.findings:
        assert item.evidence, item
        assert len(item.remedy.split()) > 2, item


# --- the terminal and Prometheus ------------------------------------------------------------------------------


def test_the_table_is_short_and_steers_no_terminal():
    text = audit.table(audited(troubled()))
    assert "verdict block" in text
    assert "SG109 missing-domain" in text
    assert "a start of nova-compute on compute6: refuses: My compute node" in text
    assert "\x1b" not in text
    assert "\x07" not in text
    assert len(text.splitlines()) < 80


def test_prometheus_reads_it():
    text = audit.report_prom(audited(troubled()))
    line = re.compile(r'^stackguard_audit_[a-z_]+(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? -?\d+(\.\d+)?$')
    lines = text.splitlines()
    assert all(entry.startswith("# ") or line.match(entry) for entry in lines), text
    assert 'stackguard_audit_verdict{verdict="block"} 1' in lines
    assert 'stackguard_audit_verdict{verdict="pass"} 0' in lines
    assert "stackguard_audit_generated_timestamp_seconds 1795240800" in lines
    assert 'stackguard_audit_findings{code="SG109",slug="missing-domain",severity="blocker"}' in text
    assert 'stackguard_audit_forecast_hosts{outcome="refuses"} 1' in lines
    assert "stackguard_audit_forecast_guests_destroyed 1" in lines
    assert text.endswith("\n")


def test_a_time_that_is_none_is_left_out():
    bundle = dataclasses.replace(healthy().bundle, collected_at="")
    assert "generated_timestamp" not in audit.report_prom(audit.audited(bundle))


# --- the page -------------------------------------------------------------------------------------------------


class _Page(HTMLParser):
    """The page as a browser without scripts has it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open[-1:]):
            self.words.append(data)


def test_the_page_holds_every_finding_and_asks_no_network():
    found = audited(troubled())
    text = page(found)
    seen = _Page(text)
    assert seen.tags.count("article") == len(found.checked.findings)
    links = {value for name, value in seen.attributes if name in ("src", "href", "action", "srcset")}
    assert all(value.startswith(audit.PAGES) for value in links)
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert "url(" not in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_and_nothing_else(name):
    text = page(audited(troubled()))
    seen = _Page(text)
    assert (seen.tags.count("script"), seen.tags.count("img")) == (1, 0)
    assert not [key for key, _value in seen.attributes if key.startswith("on")]
    assert audit.visible(name) in "".join(seen.words)
    assert not {"\x1b", "\u202e"} & set(text)
    assert "1337" not in text


def test_a_cloud_without_anything_has_a_page_too():
    empty = facts.Bundle(facts.SCHEMA, "", {}, {}, None, None)
    text = page(audit.audited(empty))
    assert "No host was read." in text
    assert "an unknown time" in text


# --- the picture ----------------------------------------------------------------------------------------------


def test_zones_hosts_and_what_an_evacuation_would_need():
    zones = {zone.name: zone for zone in capacity_outlook.zones(healthy(hosts=4, guests=2).bundle)}
    assert {name: [host.name for host in zone.hosts] for name, zone in zones.items()} == {
        "az1": ["compute1", "compute3"],
        "az2": ["compute2", "compute4"],
    }
    host = zones["az1"].hosts[0]
    # Two guests of 64 MiB, with 128 MiB of QEMU's own; of 32768 MiB 512 stay free, and guests there may take 128.
    assert (host.guests, host.need, host.others, host.no_room) == (2, 384, 32768 - 512 - 128, 0)


def test_guests_that_would_find_no_room():
    some = healthy(hosts=4, guests=2).change("domains", None, memory_mib=20000)
    (zone, _other) = capacity_outlook.zones(some.bundle)
    # One of the first host's finds room; it has itself no room for those of the other, which its own guests may take.
    assert [host.no_room for host in zone.hosts] == [1, 2]
    # Together there is room enough for both, but in no single place.
    split = healthy(hosts=6, guests=1).change("domains", None, memory_mib=40000)
    (zone, _other) = capacity_outlook.zones(split.bundle)
    assert zone.hosts[0].others > zone.hosts[0].need
    assert zone.hosts[0].no_room == 1
    assert zone.short == 1


def test_a_host_alone_in_its_zone_has_nowhere_to_send_to():
    zones = capacity_outlook.zones(healthy(hosts=2, guests=1).bundle)
    assert [zone.hosts[0].no_room for zone in zones] == [1, 1]


def test_hosts_that_were_not_read_are_drawn_as_such():
    zones = capacity_outlook.zones(healthy(hosts=4).unreachable("compute1", "timed out").bundle)
    silent, other = zones[0].hosts
    assert (silent.name, silent.need, silent.no_room, silent.reason) == ("compute1", None, None, "timed out")
    assert other.unknown == 1
    assert {zone.name for zone in capacity_outlook.zones(healthy().without("databases", "cloud").bundle)} == {
        capacity_outlook.UNREAD_ZONES
    }


def test_huge_pages_need_only_qemus_own():
    some = healthy(hosts=2, guests=1).change("domains", None, memory_mib=40000, hugepage_kib=2048)
    assert capacity_outlook.zones(some.bundle)[0].hosts[0].need == 128


def test_a_host_that_did_not_answer_is_in_the_forecast_as_not_known():
    told = {start.inventory_name: start.told for start in audit.audited(troubled().bundle).starts}
    assert told["compute3"] == "unknown: the host was not read: <i>timed out</i>"
    assert sorted(told) == [f"compute{number}" for number in range(1, 10)]
