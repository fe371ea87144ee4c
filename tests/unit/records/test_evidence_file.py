# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""evidence.jsonl says what was read, byte for byte, or is refused. The oracle puts its lines together at once."""

from __future__ import annotations

import collections
import copy
import dataclasses
import json
import os
import pathlib
import pickle
import random
import string

import pytest
from hypothesis import given, settings

from ansible_collections.stackguard.nova.plugins.module_utils.audit import report as audit
from ansible_collections.stackguard.nova.plugins.module_utils.audit import tables
from ansible_collections.stackguard.nova.plugins.module_utils.model import domain_xml, facts
from ansible_collections.stackguard.nova.plugins.module_utils.records import evidence, evidence_file
from ansible_collections.stackguard.nova.plugins.module_utils.records.installed import collection_version
from ansible_collections.stackguard.nova.tests.unit import builders
from ansible_collections.stackguard.nova.tests.unit.saved_evidence import as_saved
from ansible_collections.stackguard.nova.tests.unit.strategies import fleets

XML = (pathlib.Path(__file__).resolve().parents[1] / "systems" / "host" / "recorded" / "domain.xml").read_text()


@pytest.fixture(autouse=True)
def _few_together(monkeypatch):
    """Ports are read again in several goes."""
    monkeypatch.setattr(evidence_file, "TOGETHER", 3)


def outcome(bundle):
    """All that is told of evidence, as bytes."""
    found = audit.audited(bundle)
    parts = (audit.report_json(found), audit.forecast_json(found), audit.report_prom(found), audit.table(found))
    parts += (tables.report_csv(found), tables.report_junit(found))
    return "\n".join(parts).encode()


def at_once(path):
    """The oracle. Raises ValueError and FactsError."""
    text = pathlib.Path(path).read_bytes().decode()
    if not text.endswith("\n"):
        raise ValueError("cut off")
    rows = [json.loads(line) for line in text.split("\n")[:-1]]
    counts = collections.Counter(row["kind"] for row in rows[1:-1])
    if rows.pop() != {"kind": "end", "records": counts} or not rows or rows[0].get("schema") != facts.SCHEMA:
        raise ValueError("no whole evidence of this version")
    plain = _put_together("evidence", facts.Bundle, rows)
    if rows:
        raise ValueError("more records than there should be")
    del plain["version"]
    plain["collected_at"] = plain.pop("generated_at")
    return facts.from_plain(facts.Bundle, plain)


def _put_together(kind, cls, rows):
    plain = rows.pop(0) if rows else {}
    if not isinstance(plain, dict) or plain.pop("kind", None) != kind:
        raise ValueError(f"expected {kind}")
    for part in evidence_file.PARTS.get(cls, ()):
        number = plain.get(part.field)
        if number is None:
            continue
        if type(number) is not int or number < 0:
            raise ValueError("no number")
        found = [_put_together(part.kind, part.cls, rows) for _ in range(number)]
        if part.single:
            (found,) = found
        elif part.key:
            found = {row.get(part.key): row for row in found}
            if len(found) != number:
                raise ValueError("twice")
        plain[part.field] = found
    return plain


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


def saved(directory, bundle):
    """Write evidence, and return its file."""
    return pathlib.Path(evidence.save_whole(str(directory), bundle))


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


def rewritten(path, change):
    """Change a record of the file: ``change`` takes and returns the plain record, or None for one that stays."""
    lines = []
    for line in lines_of(path):
        changed = change(json.loads(line))
        lines.append(line if changed is None else json.dumps(changed) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def small(tmp_path):
    return saved(tmp_path, builders.healthy(hosts=2, guests=3).bundle)


@pytest.mark.parametrize("seed", range(60))
def test_same_verdict(seed, tmp_path):
    bundle = spoiled(seed)
    path = saved(tmp_path, bundle)
    read = evidence.load(str(path))
    assert read == at_once(path) == bundle
    assert outcome(read) == outcome(at_once(path)) == outcome(bundle)
    # And it is written again as it was.
    assert saved(tmp_path / "again", read).read_bytes() == path.read_bytes()


@settings(max_examples=20, deadline=None)
@given(fleets())
def test_a_fleet_comes_back_as_it_was(some):
    assert as_saved(some.cloud.bundle) == some.cloud.bundle


def test_the_order_in_which_hosts_answered_does_not_matter(tmp_path):
    bundle = builders.healthy(hosts=3).bundle
    turned = dataclasses.replace(bundle, hosts=dict(reversed(bundle.hosts.items())))
    assert saved(tmp_path / "turned", turned).read_bytes() == saved(tmp_path, bundle).read_bytes()


def test_the_first_line_says_what_it_is_and_the_last_one_counts(tmp_path):
    bundle = builders.healthy(hosts=2, guests=3).unreachable("compute2", "no route").bundle
    bundle = dataclasses.replace(bundle, requested=["api", "hosts"], failures={"databases": "down"})
    first, *rest, last = map(json.loads, lines_of(saved(tmp_path, bundle)))
    assert next(iter(first)) == "kind"
    assert {key: first[key] for key in ("kind", "schema", "version", "generated_at")} == {
        "kind": "evidence",
        "schema": facts.SCHEMA,
        "version": collection_version(),
        "generated_at": bundle.collected_at,
    }
    assert (first["requested"], first["failures"]) == (["api", "hosts"], {"databases": "down"})
    assert (first["unreachable"], first["hosts"], first["links"]) == ({"compute2": "no route"}, 1, None)
    assert last == {"kind": "end", "records": collections.Counter(row["kind"] for row in rest)}
    (host,) = [row for row in rest if row.pop("kind") == "host"]
    assert host == facts.to_plain(bundle.hosts["compute1"]), "a line is what hosts/NAME.json holds"


#: Lists of records that do not grow with a cloud, or are read for few hosts only.
SHORT = {"operations", "unknown_journals", "grants", "brokers", "ha_hosts", "unread", "name_rows"}


def test_what_grows_with_a_cloud_has_lines_of_its_own():
    for cls, parts in evidence_file.PARTS.items():
        hints = {field.name: field.type for field in dataclasses.fields(cls)}
        lists = {name for name, hint in hints.items() if "List[" in hint and "List[str]" not in hint}
        assert lists - SHORT <= {part.field for part in parts}
    kinds = [part.kind for parts in evidence_file.PARTS.values() for part in parts]
    assert len(kinds) == len(set(kinds))
    classes = [part.cls for parts in evidence_file.PARTS.values() for part in parts]
    assert not any("kind" in {field.name for field in dataclasses.fields(cls)} for cls in classes)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", [{"ensure_ascii": False}, {"separators": (",", ":")}, {"separators": (" , ", " : ")}])
def test_same_facts_in_any_form(seed, form, tmp_path):
    path, dice = saved(tmp_path, spoiled(seed)), random.Random(seed)
    before = at_once(path)
    lines = []
    for plain in map(json.loads, lines_of(path)):
        kind, *keys = plain
        dice.shuffle(keys)
        lines.append(json.dumps({key: plain[key] for key in (kind, *keys)}, **form) + "\n")
    path.write_bytes("".join(lines).encode())
    assert evidence.load(str(path)) == at_once(path) == before


def test_merged_as_before(tmp_path):
    paths = [saved(tmp_path / str(seed), spoiled(seed)) for seed in range(4)]
    read = [evidence.load(str(path)) for path in paths]
    assert evidence.merge(read) == evidence.merge([at_once(path) for path in paths])


@pytest.mark.parametrize("seed", range(40))
def test_what_is_broken_is_refused(seed, tmp_path):
    """Whatever one edit makes of a file: it says the same as when it is read at once, or is refused as well."""
    dice = random.Random(seed)
    path = saved(tmp_path, spoiled(seed))
    text = path.read_text(encoding="utf-8")
    for _ in range(25):
        at = dice.randrange(len(text))
        edit = dice.choice(["", "", dice.choice(string.printable), '"', "}", "]", ",", "null", "1", text[at:] and "{"])
        broken = dice.choice([text[:at] + edit + text[at + 1 :], text[:at]])
        path.write_bytes(broken.encode())
        try:
            expected = outcome(at_once(path))
        except (ValueError, KeyError, AttributeError, TypeError, facts.FactsError):
            expected = None
        try:
            found = outcome(evidence.load(str(path)))
        except facts.FactsError:
            found = None
        assert found == expected, broken[max(0, at - 100) : at + 100]


def refusal(path):
    """Why a file is refused: the problem, the line, and the field or record."""
    with pytest.raises(facts.FactsError) as caught:
        evidence.load(str(path))
    found = caught.value
    assert str(path) in str(found)
    assert found.line is None or str(found.line) in str(found)
    return found.problem, found.line, found.place


@pytest.mark.parametrize("seed", range(4))
def test_a_line_that_is_lost_doubled_or_elsewhere_is_refused(seed, tmp_path):
    path = saved(tmp_path, spoiled(seed))
    lines = lines_of(path)
    kinds = [json.loads(line)["kind"] for line in lines]
    for at, line in enumerate(lines):
        other = next((place for place, kind in enumerate(kinds) if kind != kinds[at]), at)
        swapped = list(lines)
        swapped[at], swapped[other] = lines[other], line
        for broken in (lines[:at] + lines[at + 1 :], [*lines[:at], line, *lines[at:]], swapped):
            path.write_text("".join(broken), encoding="utf-8")
            with pytest.raises(facts.FactsError) as caught:
                evidence.load(str(path))
            assert caught.value.line or caught.value.problem == "no-evidence"


@pytest.mark.parametrize("seed", range(4))
def test_a_file_that_ends_in_the_middle_is_refused(seed, tmp_path):
    """Wherever it ends: no beginning of evidence is evidence of fewer hosts."""
    path = saved(tmp_path, spoiled(seed))
    text = path.read_text(encoding="utf-8")
    dice = random.Random(seed)
    ends = {dice.randrange(len(text)) for _ in range(60)}
    ends |= {at + 1 for at, char in enumerate(text) if char in "]}\n"} - {len(text)}
    for end in [*dice.sample(sorted(ends), min(150, len(ends))), len(text) - 1]:
        path.write_text(text[:end], encoding="utf-8")
        assert refusal(path)[0] in ("cut-off", "no-evidence")


def test_a_file_that_ends_in_the_middle_says_in_which_line(tmp_path):
    path = small(tmp_path)
    lines = lines_of(path)
    for number in range(1, len(lines)):
        for rest in ("", lines[number][:-1], lines[number][:20]):
            path.write_text("".join(lines[:number]) + rest)
            assert refusal(path) == ("cut-off", number + 1, "")


def test_a_corrupt_line_is_named(tmp_path):
    path = small(tmp_path)
    lines = lines_of(path)
    for number in range(1, len(lines)):
        path.write_text("".join([*lines[:number], lines[number].replace(",", ";", 1), *lines[number + 1 :]]))
        assert refusal(path) == ("json", number + 1, "")
    path.write_bytes("".join(lines).encode().replace(b"guest", b"\xff\xfe", 1))
    assert refusal(path)[0] == "json"


def test_a_wrong_record_is_named(tmp_path):
    path = small(tmp_path)
    wrong = {
        "server": ("status", 7),
        "instance_row": ("deleted", True),
        "host": ("nova_conf", "x"),
        "cell": ("name", 0),
    }
    lines = lines_of(path)
    for kind, (field, value) in wrong.items():
        numbers = [number for number, line in enumerate(lines, 1) if json.loads(line)["kind"] == kind]
        broken = json.dumps({**json.loads(lines[numbers[-1] - 1]), field: value}) + "\n"
        path.write_text("".join([*lines[: numbers[-1] - 1], broken, *lines[numbers[-1] :]]))
        assert refusal(path) == ("type", numbers[-1], f"{kind}.{field}")


@pytest.mark.parametrize(
    ("kind", "change", "problem", "place"),
    [
        ("host", {"kind": "sight"}, "unknown-kind", "sight"),
        ("host", {"kind": None}, "unknown-kind", "None"),
        ("host", {"kind": "server"}, "order", "server"),
        ("evidence", {"hosts": 1}, "order", "host"),
        ("evidence", {"hosts": 3}, "order", "end"),
        ("evidence", {"hosts": None}, "type", "evidence.hosts"),
        ("evidence", {"hosts": []}, "number", "evidence.hosts"),
        ("evidence", {"hosts": -1}, "number", "evidence.hosts"),
        ("evidence", {"hosts": True}, "number", "evidence.hosts"),
        ("evidence", {"cloud": 2}, "number", "evidence.cloud"),
        ("evidence", {"generated_at": 1}, "type", "evidence.collected_at"),
        ("cell", {"instances": 0}, "order", "instance_row"),
        ("end", {"records": {"host": 2}}, "end", ""),
        ("end", {"more": 1}, "end", ""),
    ],
)
def test_what_does_not_fit_is_refused(kind, change, problem, place, tmp_path):
    path = small(tmp_path)
    rewritten(path, lambda plain: {**plain, **change} if plain["kind"] == kind else None)
    found = refusal(path)
    assert (found[0], found[2]) == (problem, place)
    assert found[1] is not None


def test_a_file_made_of_two_is_refused(tmp_path):
    """One after the other, and one with a part or a host of another: json.load would take the last of them."""
    path = tmp_path / "evidence.jsonl"
    one, two = (saved(tmp_path / str(seed), spoiled(seed)).read_text(encoding="utf-8") for seed in (1, 2))
    for text in (one + two, one + "\n", one + "]\n", one + two.splitlines()[-1] + "\n"):
        path.write_text(text, encoding="utf-8")
        assert refusal(path)[0] == "more"
    for part in ("hosts", "databases"):
        path.write_text(one.replace(f'"{part}": ', f'"{part}": 1, "{part}": ', 1), encoding="utf-8")
        with pytest.raises(facts.FactsError, match=f"'{part}'") as caught:
            evidence.load(str(path))
        assert (caught.value.problem, caught.value.line) == ("json", 1)
    lines = one.splitlines(keepends=True)
    first, *rest = lines
    again = next(line for line in lines if line.startswith('{"kind": "host"'))
    hosts = json.loads(first)["hosts"]
    first = first.replace(f'"hosts": {hosts}', f'"hosts": {hosts + 1}')
    path.write_text("".join([first, *rest[:-1], again, rest[-1]]), encoding="utf-8")
    found = refusal(path)
    assert (found[0], found[2]) == ("twice", f"host {json.loads(again)['inventory_name']}")


def test_a_recorded_definition_that_is_there_twice_is_refused(tmp_path):
    made = domain_xml.definition(XML)
    one, two = (facts.GuestDefinition(uuid, "x", builders.AT, made, made) for uuid in ("a", "b"))
    bundle = dataclasses.replace(builders.healthy(hosts=1).bundle, recorded={"a": one, "b": two})
    path = saved(tmp_path, bundle)
    rewritten(path, lambda plain: {**plain, "uuid": "a"} if plain["kind"] == "recorded_definition" else None)
    found = refusal(path)
    assert (found[0], found[2]) == ("twice", "recorded_definition a")


@pytest.mark.parametrize("part", ["domains", "definitions", "qemu_processes", "ports"])
def test_a_wrong_record_in_what_is_not_kept_is_refused_before_there_is_a_verdict(part, tmp_path):
    """What stays in the file is judged late, and a wrong record of it is never left out."""
    path = small(tmp_path)

    def spoil(plain):
        if part == "ports" and plain["kind"] == "port":
            return {**plain, "binding_host_id": 7}
        if part != "ports" and plain.get("inventory_name") == "compute2":
            return {**plain, part: {"a": "no number"} if part == "qemu_processes" else [{"uuid": 7}]}
        return None

    rewritten(path, spoil)
    with pytest.raises(facts.FactsError) as caught:
        audit.audited(evidence.load(str(path)))
    place = "port" if part == "ports" else f"host.{part}"
    assert caught.value.problem == "type"
    assert place in caught.value.place


@pytest.mark.parametrize(("part", "value"), [("domains", {}), ("definitions", {"a": 1}), ("qemu_processes", [])])
def test_guests_of_another_shape_are_refused_at_once(part, value, tmp_path):
    path = small(tmp_path)
    rewritten(path, lambda plain: {**plain, part: value} if plain["kind"] == "host" else None)
    found = refusal(path)
    assert found[0] == "type"
    assert found[2].startswith(f"host.{part}")


def test_evidence_of_another_version_is_refused(tmp_path):
    path = small(tmp_path)
    whole = path.read_text()
    for change, said in (
        ({"schema": 3}, ("schema", 1, "")),
        ({"schema": None}, ("schema", 1, "")),
        ({"sight": [], "version": "9.9.9"}, ("unknown-field", 1, "evidence.sight")),
    ):
        path.write_text(whole)
        rewritten(path, lambda plain, change=change: {**plain, **change} if plain["kind"] == "evidence" else None)
        assert refusal(path) == said
    with pytest.raises(facts.FactsError, match=r"9\.9\.9"):
        evidence.load(str(path))


def old(path, bundle, **form):
    """Write evidence as version 0.2.0 did."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**facts.to_plain(bundle), "schema": 1}, sort_keys=True, **form) + "\n")
    return path


@pytest.mark.parametrize("form", [{}, {"indent": 1}, {"separators": (",", ":")}])
def test_evidence_of_an_earlier_version_is_refused_and_never_empty(form, tmp_path):
    whole = builders.healthy(hosts=2, guests=1).bundle
    for bundle in (whole, evidence.nothing(), dataclasses.replace(whole, cloud=None)):
        path = old(tmp_path / "evidence.json", bundle, **form)
        for given_ in (path, tmp_path):
            assert refusal(given_)[0] == "old"


def test_a_slice_of_an_earlier_version_is_refused_beside_others(tmp_path):
    bundle = builders.healthy(hosts=2, guests=1).bundle
    saved(tmp_path / "slice1", bundle)
    old(tmp_path / "slice2" / "evidence.json", bundle)
    assert refusal(tmp_path)[0] == "old"
    # What this version wrote replaces it.
    saved(tmp_path / "slice2", bundle)
    assert evidence.load(str(tmp_path)) == evidence.merge([bundle, bundle])


def test_what_is_nested_without_end_is_refused(tmp_path):
    path = tmp_path / "evidence.jsonl"
    path.write_text('{"kind": "evidence", "hosts": ' + "[" * 200_000 + "\n", encoding="utf-8")
    assert refusal(path) == ("json", 1, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, ("no-evidence", None, "")) for text in ("", "\n", "[]", "{", "\ufeff{}", "x", '{"x": 1}\n')),
        *(('{"schema": 1' + rest, ("old", None, "")) for rest in ("}\n", ', "hosts": 3}', ', "x')),
        ('{"kind": ', ("cut-off", 1, "")),
        ('{"kind": "evidence"}', ("cut-off", 1, "")),
        ('{"kind": "host"}\n', ("order", 1, "host")),
        ('{"kind": "evidence"}\n', ("schema", 1, "")),
        ('{"kind": "evidence", "schema": 2}\n', ("missing", 1, "evidence.collected_at")),
    ],
)
def test_no_evidence_is_refused(text, expected, tmp_path):
    path = tmp_path / "evidence.jsonl"
    path.write_text(text, encoding="utf-8")
    assert refusal(path) == expected


def test_a_file_that_is_not_there_is_no_evidence(tmp_path):
    for path in (tmp_path / "evidence.jsonl", tmp_path):
        with pytest.raises(facts.FactsError, match=r"evidence\.jsonl: No such file or directory"):
            evidence.load(str(path))


def test_a_file_that_is_changed_meanwhile_is_refused(tmp_path):
    path = small(tmp_path)
    read = evidence.load(str(path))
    with open(path, "r+b") as stream:
        stream.truncate(os.path.getsize(path) - 10)
    with pytest.raises(facts.FactsError) as caught:
        audit.audited(read)
    assert caught.value.problem == "changed"


def test_a_file_whose_name_another_took_is_the_one_that_was_opened(tmp_path):
    path = str(small(tmp_path))
    read, before = evidence.load(path), outcome(evidence.load(path))
    saved(tmp_path, builders.healthy(hosts=1, guests=1).bundle)
    assert outcome(read) == before
    # What a report was made of is written beside it, over what it was read from.
    again = saved(tmp_path, read)
    assert outcome(evidence.load(str(again))) == before


def test_what_stands_for_a_list_is_one(tmp_path):
    read = evidence.load(str(small(tmp_path)))
    domains = read.hosts["compute1"].domains
    assert isinstance(domains, evidence_file.StoredList) and len(domains) == 3 and domains and domains[-1] in domains
    assert [one.uuid for one in domains] == [one.uuid for one in domains[:]]
    assert domains == list(domains) and list(domains) == domains and repr(domains) == repr(list(domains))
    processes = read.hosts["compute1"].qemu_processes
    assert isinstance(processes, evidence_file.StoredDict)
    assert (
        processes == dict(processes)
        and repr(processes) == repr(dict(processes))
        and len(processes) == len([*processes])
    )
    assert (
        isinstance(read.cloud.ports, evidence_file.StoredList) and len(read.cloud.ports) == len([*read.cloud.ports]) > 3
    )


def test_guests_of_one_host_are_parsed_once_for_all_that_looks_at_them(tmp_path, monkeypatch):
    read = evidence.load(str(small(tmp_path)))
    parsed = []
    before = evidence_file._File.records

    def counted(self, cls, *args):
        parsed.append(cls)
        return before(self, cls, *args)

    monkeypatch.setattr(evidence_file._File, "records", counted)
    audit.audited(read)
    assert parsed.count(facts.HostFacts) == len(read.hosts)


def test_compact_facts_are_copied_and_pickled():
    row = builders.instance_row(1, 1, "compute1", "compute1")
    server = builders.healthy().bundle.cloud.servers[0]
    for one in (row, server):
        assert not hasattr(one, "__dict__")
        assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == dataclasses.replace(one) == one
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.host = "x"
