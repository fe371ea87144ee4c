# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of an audit in its forms: the same bytes for the same evidence, and nothing that a name can do."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given, settings

from ansible_collections.stackguard.nova.plugins.module_utils.audit import capacity_outlook, checks, tables
from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit
from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, findings
from ansible_collections.stackguard.nova.plugins.module_utils.reports import evidence_words
from ansible_collections.stackguard.nova.plugins.module_utils.reports import page as shown
from ansible_collections.stackguard.nova.plugins.modules import audit as audit_module
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy
from ansible_collections.stackguard.nova.tests.unit.paged import page, to_do
from ansible_collections.stackguard.nova.tests.unit.saved_evidence import as_saved
from ansible_collections.stackguard.nova.tests.unit.strategies import fleets
from ansible_collections.stackguard.nova.tests.unit.troubled import HOSTILE, many, troubled

FORMS = (
    *(audit.report_json, audit.forecast_json, audit.report_prom, audit.table),
    *(tables.report_csv, tables.report_junit, page),
)


def audited(some, *overrides):
    return audit.audited(some.bundle, overrides)


@settings(max_examples=20)
@given(fleets(min_hosts=1))
def test_evidence_that_went_through_a_file_gives_the_same_bytes(some):
    spoiled = some.cloud.unreachable(min(some.cloud.bundle.hosts))
    again = as_saved(spoiled.bundle)
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
    assert set(report) == agreed | {"overrides", "remedies", "scope", "fleet", "passed"}
    assert (report["verdict"], report["hosts"], report["servers"]) == ("block", 9, 27)
    order = [(item["code"], item["object"]["id"]) for item in report["findings"]]
    assert order == sorted(order)
    assert {item["severity"] for item in report["findings"]} == set(findings.SEVERITIES)


def documented(made, entry):
    """Each dictionary of a value, of a list all of them together: its keys, and the keys that the module documents."""
    if isinstance(made, list):
        whole = [item for item in made if isinstance(item, dict)]
        made = {key: value for item in whole for key, value in item.items()}
    if "contains" in entry:
        yield set(made), set(entry["contains"])
        for key, inner in entry["contains"].items():
            yield from documented(made[key], inner)


def test_the_module_documents_each_key_of_the_report():
    returned = yaml.safe_load(audit_module.RETURN)
    report = json.loads(audit.report_json(audited(troubled())))
    pairs = list(documented(report, returned["report"]))
    assert len(pairs) == 6
    assert [made ^ named for made, named in pairs] == [set()] * 6


def test_the_report_has_all_that_the_page_shows_of_hosts_and_sources():
    report = json.loads(audit.report_json(audited(troubled())))
    fleet = {entry["name"]: entry for entry in report["fleet"]}
    assert list(fleet) == [f"compute{number}" for number in range(1, 10)]
    assert (fleet["compute5"]["start"]["outcome"], fleet["compute5"]["start"]["destroys"]) == ("destroys", 1)
    assert (fleet["compute6"]["start"]["outcome"], fleet["compute1"]["start"]["outcome"]) == ("refuses", "starts")
    silent = fleet["compute3"]
    assert (silent["read"], silent["reason"], silent["start"]["outcome"]) == (False, "<i>timed out</i>", "unknown")
    assert silent["memory"]["needed_mib"] is None
    assert fleet["compute4"]["memory"]["unplaced_guests"] == 3
    assert "<b>compute6</b>" in fleet["compute6"]["names"]
    parts = {part["what"]: part for part in report["scope"]["parts"]}
    assert (parts["databases"]["read"], parts["databases"]["fix"]) == (True, "")
    assert parts["compute hosts"]["read"] is False
    assert all(part["fix"] for part in parts.values() if not part["read"])
    undecided = {item["code"] for item in (*report["findings"], *report["unchecked"])}
    assert set(report["passed"]) == set(checks.AUDITED) - undecided


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
    found = audited(troubled())
    # Of all findings, also those of hosts on which the order matters.
    cards = shown.cards(found.checked.findings, shown.Fleet(found.report))
    assert [card.code for card in cards[:3]] == ["SG507", "SG109", "SG113"]
    keys = [(card.code, card.severity) for card in cards]
    assert len(keys) == len(set(keys))
    assert all(len(card.remedies) == len(set(card.remedies)) for card in cards)
    severities = [card.severity for card in cards]
    assert severities == sorted(severities, key=findings.SEVERITIES.index)
    missing = next(card for card in cards if card.code == "SG109")
    assert len(missing.names) <= shown.NAMED
    assert missing.number == sum(1 for item in found.checked.findings if item.code == "SG109")
    assert [host.name for host in missing.hosts[:2]] == ["compute1", "compute2"]


def test_each_finding_is_settled_once():
    """No finding that stands is left out: it has a card, or a place in the order of its host."""
    found = audited(troubled())
    held = [
        (step["code"], there["id"])
        for order in found.report["remedies"]
        if order["put_off"]
        for step in (*order["steps"], *order["put_off"])
        for there in step["objects"]
    ]
    carded = [(item.code, item.object.id) for item in shown.to_settle(found.report)]
    standing = [(item.code, item.object.id) for item in found.checked.findings if item.severity != "info"]
    assert sorted([*held, *carded]) == sorted(standing)


def test_objects_of_one_name_are_counted_by_id():
    (card,) = to_do(audited(many(300)))
    assert (card.number, card.kind) == (300, "instance")
    assert "300  guest1, guest1" in audit.table(audited(many(300)))


def test_what_an_override_passes_is_not_to_be_done():
    some = healthy().drop("domains", {"uuid": guest(1, 1)})
    assert [card.code for card in to_do(audited(some))] == ["SG109"]
    passed = findings.Override("SG109", guest(1, 1), "known")
    assert to_do(audited(some, passed)) == []
    assert audited(some, passed).verdict == "warn"
    words = " ".join("".join(_Page(page(audited(some, passed))).words).split())
    assert f"Overrides SG109{guest(1, 1)}known" in words


def test_every_finding_says_what_was_seen_and_what_to_do():
    for item in audited(troubled()).checked.findings:
        assert item.evidence, item
        assert len(item.remedy.split()) > 2, item


# --- the terminal and Prometheus ------------------------------------------------------------------------------


def test_the_table_is_short_and_steers_no_terminal():
    text = audit.table(audited(troubled()))
    assert "verdict block" in text
    assert "SG109 missing-domain" in text
    assert "forecast for the next start of nova-compute on compute6: refuses: My compute node" in text
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


def test_two_clouds_in_one_directory_have_series_of_their_own():
    named = facts.CloudName('pr"od', None)
    text = audit.report_prom(audit.audited(dataclasses.replace(troubled().bundle, named=named)), "1.2.3")
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert all('cloud="pr\\"od"' in line for line in samples)
    assert "region=" not in text
    assert 'stackguard_audit_info{version="1.2.3",cloud="pr\\"od"} 1' in samples
    assert "cloud=" not in audit.report_prom(audited(troubled()))


def test_a_code_that_is_gone_is_zero_and_one_that_was_not_decided_is_no_number():
    text = audit.report_prom(audited(healthy()))
    assert 'stackguard_audit_findings{code="SG109",slug="missing-domain",severity="blocker"} 0\n' in text
    assert 'stackguard_audit_findings{code="SG109",slug="missing-domain",severity="warning"} 0\n' in text
    # The links were not read: that nothing is wrong with them is not known.
    assert 'code="SG203",slug' not in text
    assert 'stackguard_audit_unchecked{code="SG203"} 1\n' in text
    assert 'stackguard_audit_unchecked{code="SG109"} 0\n' in text
    # What no audit decides has no number.
    assert "SG310" not in text


def test_every_host_has_its_forecast():
    lines = audit.report_prom(audited(troubled())).splitlines()
    assert 'stackguard_audit_host_forecast{host="compute6",outcome="refuses"} 1' in lines
    assert 'stackguard_audit_host_forecast{host="compute6",outcome="starts"} 0' in lines
    assert 'stackguard_audit_host_forecast{host="compute3",outcome="unknown"} 1' in lines
    assert 'stackguard_audit_host_forecast_guests_destroyed{host="compute5"} 1' in lines
    # Of a host that was not read it is not known: no number.
    assert not [
        line for line in lines if line.startswith('stackguard_audit_host_forecast_guests_destroyed{host="compute3"')
    ]
    assert "stackguard_audit_hosts_unread 1" in lines


def test_what_is_found_is_among_what_an_audit_decides():
    for some in (troubled(), many(20), healthy().without("databases", "cloud")):
        report = audited(some).report
        assert {item["code"] for item in (*report["findings"], *report["unchecked"])} <= set(checks.AUDITED)


# --- other programs -------------------------------------------------------------------------------------------


def test_the_csv_has_a_line_for_each_finding_and_computes_nothing():
    found = audited(troubled())
    rows = list(csv.DictReader(io.StringIO(tables.report_csv(found))))
    assert tuple(rows[0]) == tables.COLUMNS
    assert sum(1 for row in rows if row["severity"] != "unchecked") == len(found.checked.findings)
    assert sum(1 for row in rows if row["severity"] == "unchecked") == len(found.report["unchecked"])
    (memory,) = [row for row in rows if row["code"] == "SG502" and row["severity"] != "unchecked"]
    assert (memory["host"], memory["zone"]) == ("compute4", "az2")
    for name in ("=1+1", "+1", "-1", "@SUM(1)", "\tx"):
        assert tables.cell(name)[0] in "'\\"
    some = healthy().change("instances", {"uuid": guest(1, 1)}, display_name='=HYPERLINK("http://x")')
    text = tables.report_csv(audited(some.drop("domains", {"uuid": guest(1, 1)})))
    assert ",\"'=HYPERLINK" in text


def test_junit_has_a_test_for_each_check():
    some = troubled()
    passed = findings.Override("SG109", guest(1, 1), "known")
    found = audited(some, passed)
    root = ElementTree.fromstring(tables.report_junit(found))
    cases = root.findall(".//testcase")
    by_result = {
        tag: sum(1 for case in cases if case.find(tag) is not None) for tag in ("failure", "skipped", "system-out")
    }
    counts = found.report["counts"]
    assert counts["overridden"] == 1
    assert by_result == {
        "failure": sum(1 for item in found.checked.findings if item.severity != "info") - 1,
        "skipped": counts["unchecked"] + 1,
        "system-out": counts["info"],
    }
    suite = root.find("testsuite")
    assert [int(suite.get(name)) for name in ("tests", "failures", "skipped")] == [
        len(cases), by_result["failure"], by_result["skipped"]]  # fmt: skip
    green = {case.get("classname") for case in cases if not len(case)}
    assert "stackguard.SG101.compute-id-missing" in green
    assert not [name for name in green if "SG109" in name or "SG203" in name]


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
    assert seen.attributes.count(("class", "finding")) == len(found.checked.findings)
    links = {value for name, value in seen.attributes if name in ("src", "href", "action", "srcset")}
    assert all(value.startswith("#") for value in links)
    places = {value for name, value in seen.attributes if name == "id"}
    assert {value[1:] for value in links} <= places
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
    assert sum(1 for host in zone.hosts if host.no_room) == 1


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


def zone_words(zone):
    rows = [
        {"name": host.name, "memory": {"unplaced_guests": host.no_room, "unplaced_mib": host.no_room_mib}}
        for host in zone.hosts
    ]
    return shown.zone_words(zone.name, rows)


def test_a_zone_says_which_losses_it_survives():
    zones = capacity_outlook.zones(healthy(hosts=6, guests=1).bundle)
    assert zone_words(zones[0]) == "az1: the guests of any one host fit into the free memory of the other hosts"
    some = healthy(hosts=6, guests=2).change("domains", None, "compute4", 1, memory_mib=200 * 1024)
    (_one, two) = capacity_outlook.zones(some.bundle)
    assert zone_words(two).endswith("hosts: compute4 (400 GiB)")
    alone = capacity_outlook.zones(healthy(hosts=2, guests=1).bundle)
    assert zone_words(alone[0]).endswith("hosts: compute1 (192 MiB)")
    silent = capacity_outlook.zones(healthy(hosts=4).unreachable("compute1").bundle)
    assert "The run did not read 1 host, so the effect of their loss is not known" in zone_words(silent[0])
    none = healthy(hosts=2).unreachable("compute1")
    assert "the capacity is not known" in zone_words(capacity_outlook.zones(none.bundle)[0])


# --- words, order, commands -----------------------------------------------------------------------------------


def test_names_are_in_natural_order():
    names = ["compute10", "compute2", "Compute1", "a", "10", "9", ""]
    assert sorted(names, key=evidence_words.natural) == ["", "9", "10", "a", "Compute1", "compute2", "compute10"]


def test_evidence_in_words():
    evidence = {
        "vm_state": "active",
        "hosts": ["a", "b"],
        "none": None,
        "yes": True,
        "of": {"x_y": 1},
        "many": list("abcdef"),
    }
    assert evidence_words.in_words(evidence) == (
        "vm state: active; hosts: a, b; none: none; yes: yes; of: (x y 1); many: a, b, c, d and 2 more"
    )


def test_the_command_of_no_finding_steers_a_shell():
    for some in (troubled(), many(50)):
        found = audited(some)
        for card in shown.cards(found.checked.findings, shown.Fleet(found.report)):
            for text in card.commands:
                assert not set(text) & set(";|&$`<>(){}\\\"'*?!#~\n"), text


# --- what the page is made of ---------------------------------------------------------------------------------


def test_each_finding_has_an_id_for_a_ticket_and_keeps_it():
    seen = _Page(page(audited(troubled())))
    ids = [value for name, value in seen.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert f"SG113-{guest(5, 1)}" in ids
    assert "host-compute5" in ids
    assert not [value for value in ids if re.search(r"[^A-Za-z0-9._-]", value)]
    one = {value for value in ids if re.match(r"SG\d", value)}
    later = _Page(page(audited(troubled().drop("domains", {"uuid": guest(4, 2)}, "compute4"))))
    assert one <= {value for name, value in later.attributes if name == "id"}


def test_a_reason_is_told_once_with_its_fix():
    text = "".join(_Page(page(audited(troubled()))).words)
    words = " ".join(text.split())
    assert words.count("the links between the database records were not read") == 1
    assert "16 checks: the links between the database records were not read" in words
    assert "links: not available, or not requested. Fix: Set nova_api_db_url" in words
    assert "compute hosts: 8 of 9. Fix: Make sure that Ansible can reach these hosts" in words


def test_the_page_has_the_pages_of_the_codes_that_occur():
    text = "".join(_Page(page(audited(troubled()))).words)
    assert "What SG109 means" in text
    assert "At its start, nova-compute destroys every guest" in " ".join(text.split())  # of SG113
    assert "**" not in text
    assert "What SG101 means" not in text


def test_the_head_says_which_cloud_when_and_what_was_read():
    named = facts.CloudName("<b>prod</b>", "r1")
    found = audit.audited(dataclasses.replace(troubled().bundle, named=named, failures={"api": "refused"}))
    text = " ".join("".join(_Page(page(found, version="1.2.3")).words).split())
    assert "Cloud <b>prod</b>, region r1" in text
    assert "Judged by stackguard.nova 1.2.3" in text
    assert "compute hosts: not all read: 8 of 9" in text
    assert "APIs: not all read: refused" in text
    assert "databases: read, 1 cell" in text


def test_conflicting_remedies_of_one_host_are_one_order():
    seen = " ".join("".join(_Page(page(audited(troubled()))).words).split())
    order = seen[seen.index("Hosts on which the order matters") : seen.index("In any order")]
    assert "compute5" in order
    assert order.index("SG113") < order.index("Not yet: SG509")
    cards = seen[seen.index("In any order") : seen.index("worsthostzone")]
    assert "SG509" not in cards
