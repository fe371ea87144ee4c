# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of a run of an operation: what it says of each state, its commands, and that no name is markup."""

from __future__ import annotations

import dataclasses
import html.parser
import re

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import to_plain
from ansible_collections.stackguard.nova.plugins.module_utils.reports import operation_run
from ansible_collections.stackguard.nova.plugins.module_utils.reports.typed_command import TypedCommand
from ansible_collections.stackguard.nova.plugins.plugin_utils.operation_pages import html as operation_html
from ansible_collections.stackguard.nova.tests.unit.pictured import (
    EVACUATED,
    HOSTILE_NAME,
    RENAMED,
    drained,
    evacuated,
    renamed,
    report,
)


class Words(html.parser.HTMLParser):
    """The text of a page, and its elements."""

    def __init__(self, text):
        super().__init__()
        self.words, self.tags, self._quiet = [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._quiet += tag in ("style", "script")

    def handle_endtag(self, tag):
        self._quiet -= tag in ("style", "script")

    def handle_data(self, data):
        if not self._quiet:
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


def shown(run):
    return Words(operation_html(run))


def test_a_finished_rename_shows_plan_proofs_and_what_comes_next():
    text = shown(renamed()).text
    assert "done" in text
    assert RENAMED in text
    assert "16 min 0 s" in text
    assert "3 of 3 steps done" in text
    assert "A step is done once the run has verified its result." in text
    assert "2 guests unchanged" in text
    assert f"machine-id {'a' * 32}" in text
    assert "stackguard.nova.audit -i INVENTORY" in text
    assert "SG401" in text
    html = operation_html(renamed())
    assert "<del>compute1</del></td><td><ins>cn1</ins>" in html
    assert "host name (reported)</td><td><del>compute1</del></td><td><ins>cn1.example.com</ins>" in html


def test_an_open_rename_names_both_ways_and_what_is_left():
    text = shown(renamed(state="open", done=1)).text
    assert "2 steps of 3 not done: the host's own name and files; compare 2 domains with the plan." in text
    assert "-e rename_from=compute1 -e rename_to=cn1 -e rename_action=resume" in text
    assert "-e rename_action=rollback" in text
    states = re.findall(r'<span class="badge [a-z-]+">(done|begun|pending)</span>', operation_html(renamed("open", 1)))
    assert states == ["done", "begun", "pending"]


def test_a_rename_beyond_the_point_of_no_return_can_only_be_resumed():
    run = dataclasses.replace(renamed(state="open", done=1), back=None)
    assert "rename_action=rollback" not in shown(run).text


def test_a_rollback_that_was_cut_off_is_finished_as_one():
    text = shown(renamed(state="rolling-back", done=1)).text
    assert "rename_action=resume" not in text
    assert "rename_action=rollback" in text


def test_check_mode_gives_the_command_of_this_very_plan():
    run = renamed(state="planned")
    text = shown(run).text
    assert f"-e rename_expect_plan={run.result['plan_sha256']}" in text
    assert "3 planned" in text
    assert "A step is done" not in text


def test_a_refusal_has_every_blocker_with_its_remedy_as_a_command():
    run = dataclasses.replace(
        renamed(state="refused"), report=report("SG113", "systemctl mask nova-compute keeps it."), journal=None
    )
    text = shown(run).text
    assert "Nothing was changed" in text
    assert "systemctl mask nova-compute" in text
    assert "--check -e rename_from=compute1" in text
    assert "What SG113 means" in text


def test_an_evacuation_has_its_fence_proof_guards_and_servers():
    text = shown(evacuated()).text
    assert "fence proof (power)Power state Off, twice, through compute3. Covers the whole machine." in text
    assert "2 images guarded" in text
    assert "1 of 3 servers off the host" in text
    assert "no candidate host" in text
    assert "-e evacuate_host=compute1 -e evacuate_fence=power -e evacuate_action=resume" in text
    assert "-e evacuate_action=abort" in text
    assert EVACUATED in text


def test_a_proof_of_addresses_names_its_clusters():
    run = evacuated()
    proof = {**run.journal["memory"]["proof"], "kind": "blocklist", "clusters": {"fsid-1": ["192.0.2.1:0/0"]}}
    journal = {**run.journal, "memory": {**run.journal["memory"], "proof": proof}}
    assert "Ceph fsid-1: addresses: 192.0.2.1:0/0" in shown(dataclasses.replace(run, journal=journal)).text


def test_a_proof_of_addresses_without_a_cluster_covers_nothing():
    run = evacuated()
    proof = {**run.journal["memory"]["proof"], "kind": "blocklist", "clusters": {}}
    journal = {**run.journal, "memory": {**run.journal["memory"], "proof": proof}}
    text = shown(dataclasses.replace(run, journal=journal)).text
    assert "Covers no Ceph cluster." in text
    assert "whole machine" not in text


def test_a_state_that_the_page_does_not_know_is_never_green():
    run = renamed(state="half-way")
    for failed, look in ((False, "warn"), (True, "block")):
        result = {**run.result, "state": "half-way", "failed": failed}
        assert f'class="verdict {look}"' in operation_html(dataclasses.replace(run, report=None, result=result))


def test_only_a_page_with_a_fence_proof_speaks_of_the_fence():
    assert "fence proof" in shown(evacuated()).text
    assert "fence" not in shown(renamed()).text


def test_a_server_has_labels_where_its_table_has_no_head():
    assert '<td data-label="from"><bdi>compute1</bdi></td><td data-label="to"></td>' in operation_html(evacuated())


def test_an_attestation_is_never_called_a_proof():
    run = evacuated()
    about = {**run.journal["about"], "attested": {"by": "ann", "reason": "burnt", "at": "2026-11-21T06:00:00Z"}}
    memory = {key: value for key, value in run.journal["memory"].items() if key != "proof"}
    text = shown(dataclasses.replace(run, journal={**run.journal, "about": about, "memory": memory})).text
    assert "No technical proof. ann states: burnt" in text
    assert "fence proof" not in text


def test_after_an_evacuation_the_host_is_kept_from_coming_back_unseen():
    text = shown(evacuated(state="evacuated")).text
    assert "stackguard.nova.return_host -i INVENTORY --check -e return_host=compute1" in text
    assert "1 server did not move: web3" in text


def test_a_drain_says_how_the_host_takes_servers_again():
    text = shown(drained()).text
    assert "stackguard.nova.enable_host -i INVENTORY --check -e enable_host=compute1" in text
    assert "2 of 2 servers off the host" in text


@pytest.mark.parametrize("name", ["compute1; rm -rf /", "$(id)", "a b", "{{ 7 * 6 }}", "x'y"])
def test_a_name_that_means_something_to_a_shell_is_in_no_command(name):
    run = dataclasses.replace(renamed(state="open", done=1), variables={"rename_from": name, "rename_to": "cn1"})
    page = shown(run)
    plain = shown(renamed(state="open", done=1))
    assert any(attrs.get("class") == "command" for _tag, attrs in plain.tags)
    assert not any(attrs.get("class") == "command" for _tag, attrs in page.tags)


def test_no_name_is_markup():
    run = evacuated(name=HOSTILE_NAME)
    page = shown(dataclasses.replace(run, report=report("SG512", HOSTILE_NAME, HOSTILE_NAME)))
    assert [tag for tag, _attrs in page.tags if tag in ("img", "iframe", "object", "embed", "base", "form")] == []
    assert [tag for tag, _attrs in page.tags].count("script") == 1
    assert not any(key.startswith("on") or key == "style" for _tag, attrs in page.tags for key in attrs)
    assert HOSTILE_NAME.split("\u202e", maxsplit=1)[0] in "".join(page.words)
    assert "\u202e" not in "".join(page.words)


@pytest.mark.parametrize("state", [*operation_run.STATES, "something new"])
@pytest.mark.parametrize("make", [renamed, evacuated, drained])
def test_every_state_has_a_page(make, state):
    assert shown(make(state=state)).text
    bare = dataclasses.replace(make(state=state), journal=None, report=None)
    assert shown(bare).text


def test_an_unread_journal_is_said_and_its_state_asked_for():
    run = dataclasses.replace(
        renamed(), journal=None, report=None, unread="no answer", result={"failed": True, "state": "unknown"}
    )
    text = shown(run).text
    assert "not read: no answer" in text
    assert "-e rename_action=status" in text


def test_a_failed_run_is_never_shown_as_passed():
    run = dataclasses.replace(renamed(), result={**renamed().result, "failed": True})
    assert ("section", {"class": "verdict block", "id": "verdict"}) in shown(run).tags


@pytest.mark.parametrize(("unchecked", "look"), [([], "pass"), (None, "warn")])
def test_a_finished_operation_with_a_note_is_green_unless_something_was_not_decided(unchecked, look):
    run = renamed()
    told = {**run.report, **({} if unchecked is None else {"unchecked": unchecked})}
    page = shown(dataclasses.replace(run, report=told))
    assert ("section", {"class": f"verdict {look}", "id": "verdict"}) in page.tags
    blocked = dataclasses.replace(run, report={**told, "verdict": "block"})
    assert ("section", {"class": "verdict block", "id": "verdict"}) in shown(blocked).tags
    planned = dataclasses.replace(renamed(state="planned"), report=told)
    assert ("section", {"class": "verdict warn", "id": "verdict"}) in shown(planned).tags


TYPED = TypedCommand("rename_host.yml", ("-e", "@cloud.yml"), {"rename_from": "a b", "rename_action": "status"}, ("x",))


def test_a_command_is_the_one_that_was_typed_with_what_is_to_change():
    resumed = shown(dataclasses.replace(renamed(state="open", done=1), typed=TYPED)).text
    rest = '-e \'{"rename_from": "a b"}\''
    assert f"ansible-playbook rename_host.yml -e @cloud.yml -e rename_action=resume {rest}" in resumed
    assert "not shown: x." in resumed
    refused = shown(dataclasses.replace(renamed(state="refused"), typed=TYPED)).text
    assert f"ansible-playbook rename_host.yml -e @cloud.yml --check {rest}" in refused
    launched = shown(
        dataclasses.replace(renamed(state="open", done=1), typed=dataclasses.replace(TYPED, launched=True))
    )
    assert not [attrs for _tag, attrs in launched.tags if attrs.get("class") == "command"]
    assert "rename_action=resume" in launched.text


def test_many_changes_and_servers_are_cut_or_behind_more():
    run = renamed()
    plan = {**run.journal["plan"]}
    change = {"where": "row", "what": "host", "before": "compute1", "after": "cn1"}
    plan["steps"] = [{**plan["steps"][0], "changes": [change] * 3000}, *plan["steps"][1:]]
    page = shown(dataclasses.replace(run, journal={**run.journal, "plan": plan}))
    assert "3000 changes" in page.text
    assert "2950 more are in the journal" in page.text
    assert len(page.tags) < 2000


def test_what_an_override_passed_is_named_with_its_reason_and_no_blocker_to_settle():
    override = {"code": "SG110", "object": "guest1", "reason": "a domain of the backup team"}
    run = renamed()
    journal = {**run.journal, "about": {**run.journal["about"], "overrides": [override]}}
    found = report("SG110", "Remove it.", "guest1")
    page = shown(dataclasses.replace(run, journal=journal, report=found))
    assert "SG110guest1a domain of the backup team" in page.text
    assert ("section", {"id": "do"}) not in page.tags
    (row,) = [attrs for tag, attrs in page.tags if tag == "tr" and attrs.get("class") == "finding"]
    assert row["data-level"] == "passed"


def test_the_same_input_gives_the_same_bytes():
    assert operation_html(evacuated()) == operation_html(evacuated())
    assert to_plain(evacuated().result) == evacuated().result
