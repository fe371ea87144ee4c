# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operator is told to do for one host never contradicts itself, whatever was found there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.audit import remedies
from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit
from ansible_collections.stackguard.nova.plugins.module_utils.model.findings import (
    CATALOGUE,
    INFO,
    Override,
    Subject,
    finding,
)
from ansible_collections.stackguard.nova.tests.unit.builders import guest, healthy
from ansible_collections.stackguard.nova.tests.unit.paged import page, to_do
from ansible_collections.stackguard.nova.tests.unit.troubled import troubled

STARTS = {"compute1": None}
#: Remedies that say the opposite of one another, by the words of the pages of their codes (docs/codes).
OPPOSED = [
    ({"SG113", "SG102", "SG106", "SG108", "SG301"}, {"SG509", "SG704", "SG201", "SG116", "SG204", "SG516", "SG705"}),
    ({"SG214"}, {"SG211", "SG212"}),
    ({"SG706"}, {"SG105", "SG106", "SG301", "SG302", "SG303", "SG516"}),
    ({"SG301"}, {"SG105", "SG106", "SG302"}),
    ({"SG107"}, {"SG102", "SG101"}),
    ({"SG203"}, {"SG205", "SG302"}),
    ({"SG509"}, {"SG704"}),
]


def some(code, host="compute1", kind="host", number=1, **evidence):
    subject = Subject(kind, host if kind == "host" else f"{kind}{number}", host=host)
    # Keys with which the rules of some codes are about nova-compute at all.
    seen = {"services.version": 70, "nova-compute": "is not to start", **evidence}
    return finding(
        code, subject, seen, f"The remedy of {code}.", None if CATALOGUE[code].severity != INFO else "warning"
    )


def one(items, starts=STARTS, same=()):
    (way,) = remedies.merged(items, starts, same)
    return way


def codes(steps):
    return [step.code for step in steps]


def later(way):
    return {entry.step.code: entry for entry in way.put_off}


# --- for every set of findings --------------------------------------------------------------------------------

SETS = st.sets(st.sampled_from(sorted(CATALOGUE)), min_size=1)


@pytest.mark.examples
@given(SETS, st.sampled_from([STARTS, {}, {"compute1": "it would destroy 2 guests"}]))
def test_no_two_remedies_of_one_host_contradict_and_none_is_lost(found, starts):
    way = one([some(code) for code in sorted(found)], starts)
    done, put_off = codes(way.steps), [entry.step.code for entry in way.put_off]
    assert sorted([*done, *put_off]) == sorted(found), "each once"
    for stopping, others in OPPOSED:
        assert not (found & stopping and set(done) & others), (done, put_off)
    needed = {remedies.rule_of(code).compute for code in done}
    assert not {remedies.STOPPED, remedies.RUNNING} <= needed
    if remedies.RUNNING in needed:
        assert starts == STARTS, "nothing is started whose start is not known to destroy nothing"
        assert way.keep_stopped == ()
    phases = [remedies.PHASES.index(remedies.rule_of(code).phase) for code in done]
    assert phases == sorted(phases)
    for entry in way.put_off:
        assert entry.until or entry.because, "why not yet is said"
        assert set(entry.until) <= found, "it waits for what is there"
    assert way.contested == bool(put_off)


@pytest.mark.examples
@given(SETS)
def test_there_is_always_a_first_step_or_the_reason_why_there_is_none(found):
    way = one([some(code) for code in sorted(found)])
    assert way.steps, "nothing waits in a circle"
    unread = one([some(code) for code in sorted(found)], {})
    assert unread.steps or all(entry.because for entry in unread.put_off)


@given(SETS, st.randoms(use_true_random=False))
def test_the_order_of_findings_does_not_matter(found, random):
    items = [some(code, number=number) for code in sorted(found) for number in (1, 2)]
    shuffled = random.sample(items, len(items))
    assert remedies.merged(items, STARTS) == remedies.merged(shuffled, STARTS)


def test_each_rule_is_of_a_code_and_a_phase_that_exist_and_none_waits_for_itself():
    assert set(remedies.RULES) <= set(CATALOGUE)
    for code, rule in remedies.RULES.items():
        assert rule.phase in remedies.PHASES
        assert rule.after <= set(CATALOGUE)
        assert code not in rule.after
        assert rule.compute in (None, remedies.STOPPED, remedies.RUNNING)


# --- cases ----------------------------------------------------------------------------------------------------


def test_a_start_that_would_destroy_comes_before_the_start_that_another_finding_asks_for():
    """The review's page: rows 1 and 2 ordered opposite things for one host."""
    way = one([some("SG509", kind="migration"), some("SG113", kind="domain"), some("SG704", kind="service")])
    assert (way.keep_stopped, codes(way.steps)) == (("SG113",), ["SG113"])
    assert later(way)["SG509"].until == ("SG113",)
    assert later(way)["SG704"].until == ("SG113", "SG509")


def test_once_it_is_settled_the_start_is_a_step():
    way = one([some("SG509", kind="migration"), some("SG704", kind="service")])
    assert (way.keep_stopped, codes(way.steps)) == ((), ["SG509"])
    assert later(way)["SG704"].until == ("SG509",)


@pytest.mark.parametrize("starts", [{}, {"compute1": "a start of nova-compute: nova.conf was not read"}])
def test_nothing_is_started_of_which_it_is_not_known_what_a_start_would_do(starts):
    way = one([some("SG704", kind="service")], starts)
    assert way.steps == ()
    assert "start of nova-compute" in later(way)["SG704"].because


def test_a_host_is_one_host_under_its_inventory_name_too():
    items = [some("SG113", "compute1.dc1"), some("SG509", "compute1", kind="migration")]
    assert len(remedies.merged(items, {})) == 2
    way = one(items, {"compute1.dc1": None}, [["compute1.dc1", "compute1"]])
    assert (way.names, codes(way.steps)) == (("compute1", "compute1.dc1"), ["SG113"])


def test_names_that_differ_in_case_are_taken_for_one_host():
    way = one([some("SG113", "Compute1"), some("SG509", "compute1", kind="migration")])
    assert codes(way.steps) == ["SG113"]


def test_a_finding_that_says_both_names_joins_them():
    both = finding("SG113", Subject("host", "compute1.dc1", host="compute1"), {"x": 1}, "Keep it stopped.")
    way = one([both, some("SG509", "compute1", kind="migration")])
    assert codes(way.steps) == ["SG113"]


def test_other_hosts_are_not_held():
    first, second = remedies.merged(
        [some("SG113", "compute1"), some("SG704", "compute2")], {"compute1": None, "compute2": None}
    )
    assert codes(first.steps) == ["SG113"]
    assert (second.keep_stopped, codes(second.steps)) == ((), ["SG704"])


def test_a_migration_that_is_corrected_by_hand_keeps_both_ends_stopped():
    record = some("SG309", "compute1", kind="migration", source="compute1", destination="compute2")
    first, second = remedies.merged([record, some("SG704", "compute2")], {"compute1": None, "compute2": None})
    assert first.keep_stopped == second.keep_stopped == ("SG309",)
    assert (second.steps, later(second)["SG704"].until) == ((), ("SG309",))


def test_an_upgrade_of_a_database_is_no_start_of_nova_compute():
    control = finding("SG705", Subject("service", "control plane"), {"api": 1}, "Finish the upgrade.")
    (way,) = remedies.merged([control], {})
    assert (way.names, codes(way.steps)) == ((), ["SG705"])


def test_what_is_for_information_orders_nothing():
    told = finding("SG708", Subject("host", "compute1"), {"x": 1}, "Pause it.", INFO)
    assert remedies.merged([told], STARTS) == []


# --- in the audit ---------------------------------------------------------------------------------------------


def evacuated():
    """A host whose guest was evacuated and is back: a start would destroy it, and the record asks for a start."""
    cloud = healthy(hosts=3, guests=1)
    return cloud.migrate(guest(1, 1), "compute1", "compute2", "done", "evacuation")


def test_the_audit_says_one_thing_of_a_host_in_every_form():
    found = audit.audited(evacuated().bundle)
    assert {"SG113", "SG509"} <= {item.code for item in found.checked.findings}
    assert "SG509" not in {card.code for card in to_do(found)}
    (plain,) = [way for way in json.loads(audit.report_json(found))["remedies"] if "compute1" in way["names"]]
    assert plain["keep_stopped"][0].startswith("SG1")
    assert "SG113" in [step["code"] for step in plain["steps"]]
    assert {entry["code"]: "SG113" in entry["until"] for entry in plain["put_off"]}["SG509"] is True
    assert all(entry["objects"] for entry in [*plain["steps"], *plain["put_off"]])
    html = page(found)
    assert html.index("Do not start or restart nova-compute") < html.index("Not yet: ")
    assert "resolve SG113 first" in html.replace("resolve SG108 and SG113", "resolve SG113")
    (line,) = [line for line in audit.table(found).splitlines() if line.startswith("order")]
    assert "keep nova-compute stopped" in line and "SG509" in line.partition("; execute later: ")[2]


def test_a_finding_that_is_overridden_holds_nothing_up():
    some_cloud = (
        healthy().drop("domains", {"uuid": guest(1, 1)}).change("api_services", {"host": "compute1"}, state="down")
    )
    found = audit.audited(some_cloud.bundle)
    assert "SG704" not in {card.code for card in to_do(found)}
    passed = audit.audited(some_cloud.bundle, [Override("SG109", guest(1, 1), "known")])
    assert "SG704" in {card.code for card in to_do(passed)}


def test_a_healthy_cloud_has_no_such_host():
    found = audit.audited(healthy().bundle)
    assert ([way for way in found.remedies if way.contested], 'id="order"' in page(found)) == ([], False)


def test_a_troubled_cloud_contradicts_itself_nowhere():
    found = audit.audited(troubled().bundle)
    assert [way for way in found.remedies if way.contested]
    for way in found.remedies:
        needed = {remedies.needs(item) for step in way.steps for item in step.findings}
        assert not {remedies.STOPPED, remedies.RUNNING} <= needed, way.names
