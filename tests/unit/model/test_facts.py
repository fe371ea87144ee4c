# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts travel as JSON and come back the same; a bundle that is not understood is refused, not half read."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackguard.nova.plugins.module_utils.model import facts, host_facts
from ansible_collections.stackguard.nova.plugins.module_utils.model.facts import (
    FactsError,
    from_plain,
    to_plain,
)
from ansible_collections.stackguard.nova.tests.unit.builders import healthy
from ansible_collections.stackguard.nova.tests.unit.strategies import fleets

RECORDS = [
    value
    for value in vars(facts).values()
    if isinstance(value, type) and dataclasses.is_dataclass(value) and value is not facts.Bundle
]


@given(fleets())
def test_a_bundle_comes_back_as_it_was(some):
    plain = json.loads(json.dumps(to_plain(some.cloud.bundle)))
    assert from_plain(facts.Bundle, plain) == some.cloud.bundle


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
@settings(max_examples=25)
@given(data=st.data())
def test_every_record_comes_back_as_it_was(record, data):
    value = data.draw(st.from_type(record))
    assert from_plain(record, json.loads(json.dumps(to_plain(value)))) == value


def test_unread_and_empty_are_not_the_same():
    cloud = healthy().host(domains=None)
    assert from_plain(facts.Bundle, to_plain(cloud.bundle)).hosts["compute1"].domains is None
    cloud = healthy().host(domains=[])
    assert from_plain(facts.Bundle, to_plain(cloud.bundle)).hosts["compute1"].domains == []


def spoiled(*path, value=None, drop=False):
    plain = json.loads(json.dumps(to_plain(healthy().bundle)))
    owner = plain
    for key in path[:-1]:
        owner = owner[key]
    if drop:
        del owner[path[-1]]
    else:
        owner[path[-1]] = value
    return plain


HOST = "evidence.hosts.compute1"


@pytest.mark.parametrize(
    ("plain", "problem", "place"),
    [
        (None, "type", "evidence"),
        ([], "type", "evidence"),
        (spoiled("schema", drop=True), "missing", "evidence.schema"),
        (spoiled("surprise", value=1), "unknown-field", "evidence.surprise"),
        (spoiled("collected_at", drop=True), "missing", "evidence.collected_at"),
        (spoiled("hosts", value=[]), "type", "evidence.hosts"),
        (spoiled("hosts", "compute1", "domains", value={}), "type", f"{HOST}.domains"),
        (spoiled("hosts", "compute1", "domains", 0, "pid", value="1"), "type", f"{HOST}.domains[0].pid"),
        (spoiled("hosts", "compute1", "domains", 0, "vcpus", value=True), "type", f"{HOST}.domains[0].vcpus"),
        (spoiled("hosts", "compute1", "domains", 0, "persistent", value=1), "type", f"{HOST}.domains[0].persistent"),
        (spoiled("hosts", "compute1", "domains", 0, "name", value=None), "type", f"{HOST}.domains[0].name"),
        (spoiled("hosts", "compute1", "nova_conf", value="x"), "type", f"{HOST}.nova_conf"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_place(plain, problem, place):
    with pytest.raises(FactsError) as caught:
        from_plain(facts.Bundle, plain, "evidence")
    assert (caught.value.problem, caught.value.place) == (problem, place)
    assert str(caught.value).startswith(place.rpartition(".")[0])


def test_tagged_strings_become_plain_ones():
    class Tagged(str):
        """As Ansible's data tagging makes them."""

    unread = from_plain(facts.Unread, {"part": Tagged("x"), "reason": Tagged("y")})
    assert (type(unread.part), type(unread.reason)) == (str, str)


@settings(max_examples=10)
@given(fleets(min_hosts=1))
def test_the_quick_way_and_the_slow_way_are_one(some):
    plain = json.loads(json.dumps(facts.to_plain(some.cloud.bundle)))
    assert from_plain(facts.Bundle, plain) == host_facts._from_plain(facts.Bundle, plain, "") == some.cloud.bundle
