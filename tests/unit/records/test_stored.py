# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Saved evidence that is read record by record says what it says when it is read at once. The oracle: json.load."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import pathlib
import pickle
import random
import string

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model import domain_xml, facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence, stored
from ansible_collections.stackguard.nova.plugins.module_utils.reports import audit
from ansible_collections.stackguard.nova.tests.unit import builders

XML = (pathlib.Path(__file__).resolve().parents[1] / "systems" / "host" / "recorded" / "domain.xml").read_text()


@pytest.fixture(params=["in memory", "in the file"])
def way(request, monkeypatch):
    """Both ways: of a small file all is kept, of a large one what grows with guests is not."""
    if request.param == "in the file":
        monkeypatch.setattr(stored, "IN_MEMORY", -1)
        monkeypatch.setattr(stored, "TOGETHER", 3)


@pytest.fixture(params=[7, 2**20])
def piece(request, monkeypatch):
    """Pieces that end anywhere, in the middle of characters too."""
    monkeypatch.setattr(stored, "_PIECE", request.param)
    return request.param


def outcome(bundle):
    """All that is told of evidence, as bytes."""
    found = audit.audited(bundle)
    parts = (audit.report_json(found), audit.forecast_json(found), audit.report_prom(found), audit.table(found))
    return "\n".join(parts).encode()


def at_once(path):
    """As it was read before: the oracle."""
    with open(path, encoding="utf-8") as stream:
        return facts.load_bundle(json.load(stream))


def spoiled(seed):
    """A cloud in which a few things are wrong: which, the seed says."""
    dice = random.Random(seed)
    bundle = builders.healthy(hosts=dice.randint(1, 5), guests=dice.randint(0, 5), cells=dice.randint(1, 2)).bundle
    hosts = {name: _host(dice, entry) for name, entry in bundle.hosts.items()}
    unreachable = {}
    if dice.random() < 0.3:
        unreachable["lost\u00e9"] = "no route \U0001f4a5 \" \\ \n"
    cells = [_cell(dice, cell) for cell in bundle.databases.cells]
    cloud = dataclasses.replace(
        bundle.cloud,
        servers=[_changed(dice, one, host="elsewhere", name='"}],\\', volumes=["v"]) for one in bundle.cloud.servers],
        ports=[_changed(dice, one, binding_host_id="elsewhere") for one in bundle.cloud.ports],
    )
    recorded = None
    if dice.random() < 0.5:
        recorded = {one.uuid: one for entry in hosts.values() for one in entry.definitions or []}
    return dataclasses.replace(
        bundle,
        hosts=hosts,
        unreachable=unreachable,
        cloud=dice.choice([cloud, cloud, cloud, None]),
        databases=dice.choice([dataclasses.replace(bundle.databases, cells=cells)] * 3 + [None]),
        recorded=recorded,
    )


def _changed(dice, entry, **changes):
    chosen = {key: value for key, value in changes.items() if dice.random() < 0.1}
    return dataclasses.replace(entry, **chosen)


def _host(dice, entry):
    made = domain_xml.definition(XML)
    guests = [_changed(dice, one, state="shutoff", uuid="somebody", nova_name="\u2028x") for one in entry.domains]
    dice.shuffle(guests)
    changes = {
        "domains": guests[dice.randint(0, 1) :],
        "definitions": [facts.GuestDefinition(one.uuid, one.name, builders.AT, made, made) for one in guests],
        "qemu_processes": {one.uuid: 4711 for one in guests},
        "kernel_hostname": "other",
        "memory": None,
        "libvirt": None,
    }
    chosen = {key: value for key, value in changes.items() if dice.random() < 0.4}
    if dice.random() < 0.2:
        chosen["domains"] = None
    return dataclasses.replace(entry, **chosen)


def _cell(dice, cell):
    rows = [
        _changed(dice, row, host="elsewhere", node="gone", deleted=row.id, task_state="spawning", vm_state="deleted")
        for row in cell.instances
    ]
    return dataclasses.replace(cell, instances=dice.choice([rows, rows, rows, rows, None]))


@pytest.mark.parametrize("seed", range(60))
def test_same_verdict(seed, tmp_path, way):
    bundle = spoiled(seed)
    path = evidence.save_whole(str(tmp_path), bundle)
    read = evidence.load(path)
    assert outcome(read) == outcome(at_once(path)) == outcome(bundle)
    # And it is written again as it was.
    again = evidence.save_whole(str(tmp_path / "again"), read)
    assert pathlib.Path(again).read_bytes() == pathlib.Path(path).read_bytes()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", [{"indent": 1}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"indent": "\t"}])
def test_same_facts_in_any_form(seed, form, tmp_path, way, piece):
    plain = facts.to_plain(spoiled(seed))
    keys = list(plain)
    random.Random(seed).shuffle(keys)
    path = tmp_path / "evidence.json"
    path.write_text(json.dumps({key: plain[key] for key in keys}, **form), encoding="utf-8")
    assert evidence.load(str(path)) == at_once(path)


def test_merged_as_before(tmp_path, way):
    paths = [evidence.save_whole(str(tmp_path / str(seed)), spoiled(seed)) for seed in range(4)]
    assert evidence.merge([evidence.load(path) for path in paths]) == evidence.merge([at_once(path) for path in paths])


@pytest.mark.parametrize("seed", range(40))
def test_what_is_broken_is_refused(seed, tmp_path, way):
    """Whatever one edit makes of a file: it says the same as when it is read at once, or is refused as well."""
    dice = random.Random(seed)
    text = json.dumps(facts.to_plain(spoiled(seed)), sort_keys=True)
    path = tmp_path / "evidence.json"
    for _ in range(25):
        at = dice.randrange(len(text))
        edit = dice.choice(["", "", dice.choice(string.printable), '"', "}", "]", ",", "null", "1", text[at:] and "{"])
        broken = dice.choice([text[:at] + edit + text[at + 1 :], text[:at]])
        path.write_text(broken, encoding="utf-8")
        try:
            expected = outcome(at_once(path))
        except (ValueError, facts.FactsError):
            expected = None
        try:
            found = outcome(evidence.load(str(path)))
        except facts.FactsError:
            found = None
        assert found == expected, broken[max(0, at - 100) : at + 100]


def test_small_file_is_refused_in_the_same_words(tmp_path):
    path = tmp_path / "evidence.json"
    for text in ("", "[]", "{", '{"schema": 2}', '{"schema": 1, "hosts": 3}', "\ufeff{}", '{"schema": 1, "x": 1}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(facts.FactsError) as streamed:
            evidence.load(str(path))
        try:
            with open(path, encoding="utf-8") as stream:
                facts.load_bundle(json.load(stream))
        except facts.FactsError as error:
            assert str(streamed.value) == str(error)
        except ValueError as error:
            assert str(streamed.value) == f"{path}: not JSON: {error}"


def large(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "IN_MEMORY", -1)
    return evidence.save_whole(str(tmp_path), builders.healthy(hosts=2, guests=3).bundle)


def test_a_file_that_is_changed_meanwhile_is_refused(tmp_path, monkeypatch):
    path = large(tmp_path, monkeypatch)
    read = evidence.load(path)
    with open(path, "r+b") as stream:
        stream.truncate(os.path.getsize(path) - 10)
    with pytest.raises(facts.FactsError, match="changed while it was read"):
        audit.audited(read)


def test_a_file_whose_name_another_took_is_the_one_that_was_opened(tmp_path, monkeypatch):
    path = large(tmp_path, monkeypatch)
    read, before = evidence.load(path), outcome(evidence.load(path))
    evidence.save_whole(str(tmp_path), builders.healthy(hosts=1, guests=1).bundle)
    assert outcome(read) == before


def test_what_stands_for_a_list_is_one(tmp_path, monkeypatch):
    read = evidence.load(large(tmp_path, monkeypatch))
    domains = read.hosts["compute1"].domains
    assert isinstance(domains, stored.StoredList) and len(domains) == 3 and domains and domains[-1] in domains
    assert [one.uuid for one in domains] == [one.uuid for one in domains[:]]
    assert domains == list(domains) and list(domains) == domains and repr(domains) == repr(list(domains))
    assert isinstance(read.hosts["compute1"].qemu_processes, stored.StoredDict)


def test_guests_of_one_host_are_parsed_once_for_all_that_looks_at_them(tmp_path, monkeypatch):
    read = evidence.load(large(tmp_path, monkeypatch))
    parsed = []
    before = stored._parsed

    def counted(*args):
        parsed.append(args)
        return before(*args)

    monkeypatch.setattr(stored, "_parsed", counted)
    audit.audited(read)
    assert len(parsed) == len(read.hosts)


def test_compact_facts_are_copied_and_pickled():
    row = builders.instance_row(1, 1, "compute1", "compute1")
    server = builders.healthy().bundle.cloud.servers[0]
    for one in (row, server):
        assert not hasattr(one, "__dict__")
        assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == dataclasses.replace(one) == one
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.host = "x"
