# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Saved evidence that is read record by record says what it says when it is read at once. The oracle: json.load."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import os
import pathlib
import pickle
import random
import string

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit
from ansible_collections.stackguard.nova.plugins.module_utils.audit import tables
from ansible_collections.stackguard.nova.plugins.module_utils.model import domain_xml, facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence, stored
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
    parts += (tables.report_csv(found), tables.report_junit(found))
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
        unreachable["lost\u00e9"] = 'no route \U0001f4a5 " \\ \n'
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


@pytest.mark.parametrize("seed", range(4))
def test_a_file_that_ends_in_the_middle_is_refused(seed, tmp_path, way):
    """Wherever it ends: no beginning of evidence is evidence of fewer hosts."""
    text = json.dumps(facts.to_plain(spoiled(seed)), sort_keys=True)
    path = tmp_path / "evidence.json"
    dice = random.Random(seed)
    ends = {dice.randrange(len(text)) for _ in range(60)} | {at + 1 for at, char in enumerate(text) if char in "]}"}
    for end in dice.sample(sorted(ends), min(150, len(ends))):
        if text[:end] == text:
            continue
        path.write_text(text[:end], encoding="utf-8")
        with pytest.raises(facts.FactsError, match=r"not JSON|expected a JSON object"):
            evidence.load(str(path))


def test_a_large_file_that_ends_in_the_middle_says_so(tmp_path, monkeypatch):
    path = pathlib.Path(large(tmp_path, monkeypatch))
    whole = path.read_text()
    for end in (len(whole) // 3, len(whole) // 2, len(whole) - 3):
        path.write_text(whole[:end])
        with pytest.raises(facts.FactsError, match="the file is cut off"):
            evidence.load(str(path))


def test_a_file_made_of_two_is_refused(tmp_path, way):
    """One after the other, and one with a part or a host of another: json.load would take the last of them."""
    path = tmp_path / "evidence.json"
    one, two = (json.dumps(facts.to_plain(spoiled(seed)), sort_keys=True) for seed in (1, 2))
    for text, said in ((one + two, "Extra data"), (one + "\n" + two + "\n", "Extra data"), (one + "]", "Extra data")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(facts.FactsError, match=said):
            evidence.load(str(path))
    plain = json.loads(one)
    for twice in (f', "hosts": {json.dumps(plain["hosts"])}', f', "databases": {json.dumps(plain["databases"])}'):
        path.write_text(one[:-1] + twice + "}", encoding="utf-8")
        with pytest.raises(facts.FactsError, match="appears twice"):
            evidence.load(str(path))
    name, host = next(iter(plain["hosts"].items()))
    again = one.replace('"hosts": {"compute', f'"hosts": {{{json.dumps(name)}: {json.dumps(host)}, "compute')
    path.write_text(again, encoding="utf-8")
    with pytest.raises(facts.FactsError, match=f"hosts.{name}: the key appears twice"):
        evidence.load(str(path))


@pytest.mark.parametrize("part", ["domains", "definitions", "qemu_processes", "ports"])
def test_a_wrong_record_in_what_is_not_kept_is_refused_before_there_is_a_verdict(part, tmp_path, monkeypatch):
    """What stays in the file is judged late, and a wrong record of it is never left out."""
    path = pathlib.Path(large(tmp_path, monkeypatch))
    plain = json.loads(path.read_text())
    if part == "ports":
        plain["cloud"]["ports"][-1]["binding_host_id"] = 7
    elif part == "qemu_processes":
        plain["hosts"]["compute2"][part] = {"a": "no number"}
    else:
        plain["hosts"]["compute2"][part] = [{"uuid": 7}]
    path.write_text(json.dumps(plain))
    with pytest.raises(facts.FactsError, match=part):
        audit.audited(evidence.load(str(path)))


def test_evidence_of_a_newer_version_is_refused(tmp_path, monkeypatch):
    path = pathlib.Path(large(tmp_path, monkeypatch))
    plain = json.loads(path.read_text())
    for change, said in (({"schema": 2}, "the schema is 2"), ({"sight": []}, "unknown field 'sight'.*newer version")):
        path.write_text(json.dumps({**plain, **change}))
        with pytest.raises(facts.FactsError, match=said):
            evidence.load(str(path))


def test_what_is_nested_without_end_is_refused(tmp_path, way):
    path = tmp_path / "evidence.json"
    path.write_text('{"hosts": ' + "[" * 200_000, encoding="utf-8")
    with pytest.raises(facts.FactsError):
        evidence.load(str(path))


WHOLE = ["1.5", "-0.25e+10", "1e-3", "12", "true", "NaN", '"\\u20ac\\n"', "[1.5, 2.5e1]", "{}"]


@pytest.mark.parametrize("text", WHOLE)
def test_a_value_is_whole_wherever_a_piece_ends(text, monkeypatch):
    whole = f"[{text}, {text}, {text}]"
    for piece in range(1, len(whole) + 1):
        monkeypatch.setattr(stored, "_PIECE", piece)
        found = list(stored._Text(io.BytesIO(whole.encode())).values())
        assert repr(found) == repr(json.loads(whole)), piece


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
