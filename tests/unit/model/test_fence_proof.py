# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A proof is never empty, never of another kind than was requested, and it expires."""

from __future__ import annotations

import dataclasses

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import fence_proof
from ansible_collections.stackguard.nova.plugins.module_utils.model.fence_proof import Attestation, refusal
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.catalogue import FENCES
from ansible_collections.stackguard.nova.plugins.module_utils.model.fences.fence import FenceTarget, ProofError
from ansible_collections.stackguard.nova.tests.unit.problems import problem_is

AT = "2026-11-21T06:00:00+00:00"
OPERATION = "0123456789ab"


def off(at=AT, host="compute1"):
    answers = 2 * [{"on": "localhost", "read": {"PowerState": "Off"}}]
    return fence_proof.prove("power", FenceTarget(host, OPERATION, {}), answers, at)


def listed(wanted, found):
    """A proof that addresses of compute1 were read on blocklists: both by cluster."""
    clusters = tuple({"fsid": fsid, "addresses": addresses} for fsid, addresses in wanted.items())
    read = [{"reader": "c2", "result": {"fsid": fsid, "listed": addresses}} for fsid, addresses in found.items()]
    return fence_proof.prove("blocklist", FenceTarget("compute1", OPERATION, {}, clusters), [{"clusters": read}], AT)


def judged(proof, host="compute1", operation=OPERATION, kind="power", now=AT, max_age=120.0):
    return refusal(proof, host, operation, kind, now, max_age)


def test_a_proof_of_just_now_is_good():
    assert judged(off()) is None
    assert judged(off(), now="2026-11-21T06:02:00+00:00") is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"now": "2026-11-21T06:02:01+00:00"}, ("121 s", "120 s")),
        ({"now": "2026-11-21T05:59:00+00:00"}, ("2026-11-21T06:00:00+00:00", "2026-11-21T05:59:00+00:00")),
        ({"now": "yesterday"}, ("2026-11-21T06:00:00+00:00", "yesterday")),
        ({"host": "compute2"}, ("compute1",)),
        ({"operation": "another"}, ("0123456789ab",)),
        ({"kind": "blocklist"}, (" power", " blocklist")),
        ({"proof": None}, ()),
    ],
)
def test_a_proof_that_is_old_of_the_future_or_of_something_else_is_refused(changes, said):
    given = {"proof": off(), **changes}
    told = judged(**given)
    assert told
    assert all(word in told for word in said)


@pytest.mark.parametrize("at", ["2026-11-21T06:00:00", "now", "2026-13-01T00:00:00Z"])
def test_a_proof_whose_time_is_not_understood_is_refused(at):
    assert f"({at})" in judged(off(at=at))


def test_the_clock_may_go_back_by_a_second():
    assert judged(off(), now="2026-11-21T05:59:59+00:00") is None
    assert fence_proof.age(off(), "2026-11-21T07:00:01+01:00") == 1.0


@pytest.mark.parametrize("name", ["host", "operation_id", "read", "at", "source"])
def test_a_proof_that_lacks_anything_is_none(name):
    with pytest.raises(ProofError, match=f"{name}", check=problem_is("empty-field")):
        dataclasses.replace(off(), **{name: ""})


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "attested"},
        {"kind": "watchdog"},
        {"kind": "blocklist"},
        {"clusters": {"fsid": ["192.0.2.2"]}},
        {"kind": "blocklist", "clusters": {"fsid": []}},
        {"kind": "blocklist", "clusters": {"": ["192.0.2.2"]}},
        {"kind": "blocklist", "clusters": {"fsid": [""]}},
    ],
)
def test_a_proof_that_covers_nothing_can_not_be_made(changes):
    with pytest.raises(ProofError):
        dataclasses.replace(off(), **changes)


def test_a_blocklist_proof_covers_its_own_clusters_only():
    wanted = {"f1": ["192.0.2.2"]}
    proof = listed(wanted, {"f1": ["192.0.2.2", "192.0.2.9"]})
    assert proof.clusters == wanted, "what else is on the list is no part of it"
    assert [proof.covers_cluster(fsid) for fsid in ("f1", "f2", None)] == [True, False, False]
    assert [off().covers_cluster(fsid) for fsid in ("f1", None)] == [True, True]


@pytest.mark.parametrize("wanted", [{}, {"f1": []}, {"f1": ["192.0.2.2"], "f2": []}])
def test_an_empty_list_is_no_proof(wanted):
    with pytest.raises(ProofError, check=problem_is("knows-no-address")):
        listed(wanted, wanted)


@pytest.mark.parametrize("code", [None, 1, 255])
def test_a_command_that_did_not_end_with_0_is_no_proof(code):
    with pytest.raises(ProofError):
        answers = [{"act": False, "confirmed": {"rc": code}}]
        fence_proof.prove("command", FenceTarget("compute1", OPERATION, {}), answers, AT)


# --- attested -------------------------------------------------------------------------------------------------


def test_an_attestation_is_good_for_the_host_that_it_names():
    word = Attestation("compute1", "Ada", "I have pulled its plugs")
    assert judged(word, kind="attested") is None
    assert judged(word, kind="attested", host="compute2").endswith(" compute1")
    assert "the proof is for a fence of kind attested, but this run requests power" in judged(word, kind="power")


@pytest.mark.parametrize(("person", "reason"), [("", "because"), ("Ada", ""), (" ", "because"), ("Ada", "  ")])
def test_an_attestation_of_no_person_or_without_a_reason_is_refused(person, reason):
    with pytest.raises(ProofError):
        Attestation("compute1", person, reason)


def test_an_attestation_is_no_proof():
    assert not isinstance(Attestation("compute1", "Ada", "because"), fence_proof.FenceProof)
    assert "attested" in FENCES
    assert "attested" not in fence_proof.PROVABLE
