# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What of a fence's answers is proof: nothing that was not read back, of this machine, just now."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.stackguard.nova.plugins.module_utils.engine import needs
from ansible_collections.stackguard.nova.plugins.module_utils.evacuation.fences import calls as fences
from ansible_collections.stackguard.nova.plugins.module_utils.model import fence_proof, task_results
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.catalogue import FENCES, OF_MACHINE, either
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.fence import (
    ADDRESSES,
    MACHINE,
    FenceKind,
    FenceTarget,
    ProofError,
    Reading,
)
from ansible_collections.stackguard.nova.tests.unit.conftest import ROOT
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

AT = "2026-11-21T06:00:00+00:00"


def target(clusters=(), **options):
    return FenceTarget("compute1", "0123456789ab", options, tuple(clusters))


def power(*states, **options):
    """The proof of readings; each is a state, or what a module returned."""
    answers = [
        {"kind": "fence", "on": "localhost", "read": {"PowerState": state} if isinstance(state, str) else state}
        for state in states
    ]
    return fence_proof.prove("power", target(**options), answers, AT)


@pytest.mark.parametrize("kind", ["attested", "watchdog", ""])
def test_what_nothing_is_read_back_of_is_neither_asked_for_nor_proven(kind):
    with pytest.raises(ProofError):
        fences.needs_of(kind, target([ONE]), True)
    with pytest.raises(ProofError, check=problem_is("unknown-kind")):
        fence_proof.prove(kind, target([ONE]), [{"read": {"PowerState": "Off"}, "confirmed": ENDED}] * 2, AT)


@pytest.mark.parametrize("kind", fence_proof.PROVABLE)
def test_no_fence_is_proven_by_no_answer(kind):
    with pytest.raises(ProofError):
        fence_proof.prove(kind, target([ONE]), [], AT)


def test_a_fence_that_is_read_back_less_often_than_it_says_is_not_proven(monkeypatch):
    """Whatever its own reading makes of it."""

    class Watchdog(FenceKind):
        name, readings = "watchdog", 2

        def read_back(self, _target, _answers):
            return Reading("it was said to be off", "localhost")

    monkeypatch.setitem(FENCES, "watchdog", Watchdog())
    with pytest.raises(ProofError, check=problem_is("other-state")):
        fence_proof.prove("watchdog", target(), [{}], AT)
    with pytest.raises(ProofError, check=problem_is("unknown-kind")):
        fence_proof.prove("watchdog", target(), [{}, {}], AT)


def test_each_kind_of_fence_is_complete():
    for name, entry in FENCES.items():
        assert entry.name == name
        assert all((entry.text.proof, entry.text.covers, entry.text.use)), name
        assert entry.covers in (MACHINE, ADDRESSES), name
        assert not entry.readings or (ROOT / f"roles/evacuate_host/tasks/fence_{name}.yml").exists(), name


def test_a_choice_of_fences_reads_as_one():
    assert either(("power",)) == "power"
    assert either(("power", "command")) == "power or command"
    assert either(("power", "command", "blocklist")) == "power, command or blocklist"
    assert not set(OF_MACHINE) & {"blocklist", "attested"}


def test_what_a_fence_requires_is_a_variable_of_the_role():
    specification = yaml.safe_load((ROOT / "roles/evacuate_host/meta/argument_specs.yml").read_text())
    options = specification["argument_specs"]["main"]["options"]
    for name, entry in FENCES.items():
        assert {f"evacuate_{part}" for part in entry.requires} <= set(options), name
    assert FENCES["command"].requires == ("fence_command", "fence_confirm_command")
    assert FENCES["power"].requires == ("power_options", "power_state_options")


# --- power ----------------------------------------------------------------------------------------------------


def test_a_machine_that_was_read_as_off_twice_is_fenced():
    proof = power("Off", "Off")
    assert (proof.kind, proof.read, proof.at, proof.source) == ("power", "power state Off and Off", AT, "localhost")
    assert proof.covers_machine


def test_the_two_readings_are_some_seconds_apart():
    """D7: one Off during a power cycle was enough."""
    asked = fences.needs_of("power", target(), True)
    assert [need["kind"] for need in asked] == ["fence", "wait", "fence"]
    assert [need["act"] for need in asked if need["kind"] == "fence"] == [True, False]
    assert asked[1]["seconds"] >= 5


@pytest.mark.parametrize(
    ("states", "said"),
    [
        (["Off"], "too-few-readings"),
        ([], "too-few-readings"),
        (["Off", "On"], "not-off"),
        (["On", "Off"], "not-off"),
        (["PoweringOff", "PoweringOff"], "not-off"),
        (["Off", {"failed": True, "msg": "timed out"}], "not-read"),
        (["Off", {"unreachable": True}], "not-read"),
        (["Off", {"skipped": True}], "not-read"),
        (["Off", {}], "not-read"),
        (["Off", {"changed": False}], "no-power-states"),
    ],
)
def test_a_machine_that_was_not_read_as_off_twice_is_not_fenced(states, said):
    with pytest.raises(ProofError, check=problem_is(said)) as caught:
        power(*states)
    assert said != "not-off" or ", ".join(states) in str(caught.value)


def two_systems(**states):
    """What redfish_info says of a BMC with several systems."""
    entries = [[{"system_uri": f"/redfish/v1/Systems/{name}"}, {"PowerState": state}] for name, state in states.items()]
    return {"changed": False, "redfish_facts": {"system": {"ret": True, "entries": entries}}}


def test_the_off_of_another_node_of_the_same_enclosure_is_no_proof():
    """D7: node2 was off, node1 (ours) was on: proof."""
    answer = two_systems(node1="On", node2="Off")
    with pytest.raises(ProofError, check=problem_is("no-power-states")):
        power(answer, answer)


def test_the_machine_is_named_by_a_jmespath_expression():
    query = "redfish_facts.system.entries[?[0].system_uri=='/redfish/v1/Systems/node1'] | [0][1].PowerState"
    assert power(*2 * [two_systems(node1="Off", node2="On")], power_state_query=query).read.startswith(
        "power state Off"
    )
    with pytest.raises(ProofError, match="On, On", check=problem_is("not-off")):
        power(*2 * [two_systems(node1="On", node2="Off")], power_state_query=query)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("nothing.here", "no-power-states"),
        ("redfish_facts.system.entries[*][1].PowerState", "no-power-states"),
        ("][", "query-without-states"),
    ],
)
def test_an_expression_that_does_not_name_one_machine_is_no_proof(query, said):
    answer = two_systems(node1="Off", node2="Off")
    with pytest.raises(ProofError, check=problem_is(said)):
        power(answer, answer, power_state_query=query)


def test_what_the_task_was_called_with_is_no_answer():
    asked = {"invocation": {"module_args": {"power_state": "off"}}, "changed": False}
    with pytest.raises(ProofError, check=problem_is("no-power-states")):
        power(asked, asked)


def test_the_output_of_a_command_counts_by_the_operators_own_pattern():
    off = {"rc": 0, "stdout": "Chassis Power is off"}
    assert power(off, off, power_off="Chassis Power is off").kind == "power"
    with pytest.raises(ProofError, check=problem_is("no-power-states")):
        power(off, off)
    on = {"rc": 0, "stdout": "Chassis Power is on"}
    with pytest.raises(ProofError, check=problem_is("no-power-states")):
        power(off, on, power_off="Chassis Power is off")


def test_a_machine_that_could_not_be_switched_off_says_so_where_its_state_was_not_read():
    answer = {"switched": {"failed": True, "msg": "401"}, "read": {"failed": True, "msg": "no route"}}
    with pytest.raises(ProofError, match=r"no route; .*: 401", check=problem_is("not-read")):
        fence_proof.prove("power", target(), [answer, answer], AT)


# --- command --------------------------------------------------------------------------------------------------


def command(*answers):
    return fence_proof.prove("command", target(fence_confirm_command="/bin/confirm"), answers, AT)


ENDED = {"rc": 0, "changed": True}


def test_a_confirming_command_that_exits_with_0_is_proof():
    proof = command({"act": True, "on": "admin", "commanded": ENDED, "confirmed": ENDED})
    assert (proof.kind, proof.source) == ("command", "admin")
    assert "/bin/confirm" in proof.read
    assert [need["act"] for need in fences.needs_of("command", target(), False)] == [False]


def test_the_proof_names_the_program_and_no_argument():
    """Fence agents take passwords as arguments; the proof is in the journal, in the output and in the report."""
    answers = [{"act": False, "confirmed": ENDED}]
    given = target(fence_confirm_command="/usr/sbin/fence_ipmilan -a 192.0.2.9 -l admin -p secret -o status")
    proof = fence_proof.prove("command", given, answers, AT)
    assert proof.read == "evacuate_fence_confirm_command exited with 0: /usr/sbin/fence_ipmilan"
    failed = {"failed": True, "rc": 3, "msg": "non-zero return code", "stderr": "bad -p secret", "cmd": ["x", "secret"]}
    with pytest.raises(ProofError) as caught:
        command({"act": False, "on": "admin", "confirmed": failed})
    assert "secret" not in str(caught.value)
    assert "exit status 3" in str(caught.value)
    assert "yourself on admin" in str(caught.value)


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [{"act": True, "commanded": ENDED}],
        [{"act": True, "commanded": {"rc": 1, "failed": True}, "confirmed": ENDED}],
        [{"act": True, "commanded": ENDED, "confirmed": {"rc": 1, "failed": True}}],
        [{"act": False, "confirmed": {"skipped": True}}],
        [{"act": False, "confirmed": {"unreachable": True}}],
        [{"act": False, "confirmed": {"changed": False}}],
        [{"act": False, "confirmed": {"rc": 3, "changed": False}}],
    ],
)
def test_a_confirming_command_that_did_not_run_or_did_not_succeed_is_no_proof(answers):
    with pytest.raises(ProofError):
        command(*answers)


# --- blocklist ------------------------------------------------------------------------------------------------

ONE = {"fsid": "f1", "pool": "vms", "reader": "compute2", "addresses": ["192.0.2.2"]}
TWO = {"fsid": "f2", "pool": "vms", "reader": "compute9", "addresses": ["198.51.100.2", "198.51.100.3"]}


def listed(cluster, fsid=None, addresses=None):
    found = cluster["addresses"] if addresses is None else addresses
    return {**cluster, "result": {"fsid": fsid or cluster["fsid"], "listed": found}}


def blocklist(clusters, *answered):
    return fence_proof.prove("blocklist", target(clusters), [{"clusters": list(answered)}], AT)


def test_addresses_that_every_cluster_has_on_its_list_are_proof():
    proof = blocklist([ONE, TWO], listed(ONE), listed(TWO))
    assert proof.clusters == {"f1": ["192.0.2.2"], "f2": ["198.51.100.2", "198.51.100.3"]}
    assert proof.source == "compute2, compute9"
    assert proof.covers_cluster("f1")
    assert not proof.covers_cluster("f3")
    assert not proof.covers_machine


def test_what_another_cluster_has_listed_is_no_proof():
    """D2: the list was written, and read back, in the cluster of the host that came first. Its own fsid counts."""
    with pytest.raises(ProofError, match=r"192\.0\.2\.2", check=problem_is("not-listed")):
        blocklist([ONE], listed(ONE, fsid="f2"))


def test_nothing_to_list_is_no_proof_and_no_call():
    """D1: the module was called with an empty list, and the journal had its proof."""
    for clusters in ([], [{**ONE, "addresses": []}], [ONE, {**TWO, "addresses": []}]):
        with pytest.raises(ProofError, check=problem_is("knows-no-address")):
            fences.needs_of("blocklist", target(clusters), True)
        with pytest.raises(ProofError):
            blocklist(clusters, *[listed(entry) for entry in clusters])


@pytest.mark.parametrize(
    ("answered", "said"),
    [
        ([listed(ONE)], "not-listed"),
        ([listed(ONE), listed(TWO, addresses=["198.51.100.2"])], "not-listed"),
        ([listed(ONE), {**TWO, "result": {"failed": True, "msg": "denied"}}], "cluster-not-read"),
        ([listed(ONE), {**TWO, "result": {"unreachable": True}}], "cluster-not-read"),
        ([], "not-listed"),
    ],
)
def test_one_cluster_that_was_not_read_or_lacks_an_address_is_no_proof(answered, said):
    with pytest.raises(ProofError, check=problem_is(said)):
        blocklist([ONE, TWO], *answered)


def test_needs_are_plain_data_and_answers_are_taken_by_their_kind():
    need = needs.fence("blocklist", True, [ONE])
    assert need["clusters"] == [ONE]
    assert needs.answers_of([need, needs.wait(1.0)], needs.FENCE) == [need]
    assert {needs.guard([], "x")["kind"], needs.guard([], "x", False)["kind"]} == {"guard", "unguard"}


def test_a_task_that_was_skipped_or_not_run_did_not_end_well():
    assert task_results.ended_well({"changed": False})
    assert not any(map(task_results.ended_well, (None, {}, {"failed": True}, {"skipped": True}, {"unreachable": True})))


def test_a_machine_that_stays_on_is_reported_as_on_and_not_as_unread():
    """A reading that was repeated in vain fails without a message: "the power state was not read: no reason given"."""
    repeated = {"failed": True, "attempts": 24, "PowerState": "On"}
    with pytest.raises(ProofError, match=" On, 24 ", check=problem_is("not-read")):
        power(repeated, "Off")
    with pytest.raises(ProofError, match="was not read: the answer of the power module has 0 power states"):
        power({"failed": True, "attempts": 24}, "Off")
